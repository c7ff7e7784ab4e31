"""Contacts and guides beside a non-holonomic constraint, ideal or rubbing: Painleve included."""

import math
from functools import cache

import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.friction import variant_problem
from daesolve.errors import AmbiguousMotion, NoMotion
from tests.contact.laws.skating_rod import skating_rod
from tests.reference import skating_rod as truth

posed = cache(skating_rod)


def states(count, seed):
    """Random angles, slips and coefficients of friction, every second skate without friction."""
    random = np.random.default_rng(seed)
    for k in range(count):
        phi, slip = random.uniform(-1.4, 1.4), random.choice([-2.0, 2.0])
        yield phi, slip, (random.uniform(0.0, 3.0), random.uniform(0.0, 1.5) * (k % 2))


def velocities(begin):
    return np.array([begin[name] for name in truth.NAMES[3:]])


def reaction_at_start(begin, friction):
    """The reaction of the tip as a run begins; None if no motion fits, nan if several do."""
    values = dict(zip(("mu", "nu"), friction, strict=True))
    try:
        run = ds.solve(posed("contact"), 1e-3, begin, parameters=values, at=[0.0])
    except NoMotion:
        return None
    except AmbiguousMotion:
        return math.nan
    return 0.0 if run.events and run.events[0].time == 0.0 else run["tip"][0]


@pytest.mark.slow
def test_contacts_have_the_answers_that_gauss_principle_has():
    seen = set()
    for phi, slip, friction in states(60, 1):
        begin = truth.start(phi, slip)
        answers = truth.gauss(phi, velocities(begin), friction)
        found = reaction_at_start(begin, friction)
        seen.add((len(answers), friction[1] > 0.0))
        if not answers:
            assert found is None
        elif len(answers) == 1:
            # N is as large as its load over the ratio, which scales rounding.
            assert found == pytest.approx(answers[0][0], rel=1e-9, abs=1e-9)
        else:
            assert math.isnan(found)
    assert {(0, False), (0, True), (1, False), (1, True)} <= seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two-sided", "unilateral"])
def test_guides_have_the_answers_that_gauss_principle_has(kind):
    counts = set()
    for phi, slip, friction in states(60, 2):
        begin = truth.start(phi, slip)
        opens = kind == "unilateral"
        answers = truth.gauss(phi, velocities(begin), friction, opens=opens)
        values = dict(zip(("mu", "nu"), friction, strict=True))
        report = variant_problem(posed(kind), values).report(begin)
        valid = [entry["reactions"]["tip"] for entry in report["answers"] if entry["valid"]]
        counts.add(len(answers))
        assert len(valid) == len(answers)
        loads = sorted(max(load, 0.0) if opens else load for load in valid)
        assert loads == pytest.approx(sorted(one[0] for one in answers), rel=1e-9, abs=1e-9)
    assert {0, 1} <= counts


@pytest.mark.parametrize(
    ("friction", "kinds"),
    [
        ((0.4, 0.0), ["lost", "closed", "lost", "closed", "reverses", "lost"]),
        ((0.2, 0.3), ["lost", "closed", "lost", "closed", "lost"]),
    ],
    ids=["ideal skate", "rubbing skate"],
)
def test_a_contact_is_lost_closed_and_reversed_as_by_hand(friction, kinds):
    begin = truth.start(0.8, -2.0)
    end, events = truth.contact_by_hand(*friction, begin, 3.0)
    values = dict(zip(("mu", "nu"), friction, strict=True))
    run = ds.solve(posed("contact", load="varying"), 3.0, begin, parameters=values)
    assert [event.name for event in run.events] == [f"tip_{kind}" for kind in kinds]
    assert [name for name, _ in events] == [event.name for event in run.events]
    times = [time for _, time in events]
    assert [event.time for event in run.events] == pytest.approx(times, abs=1e-9)
    assert [run.end_state[name] for name in truth.NAMES] == pytest.approx(end, abs=1e-9)


def test_supports_of_a_guide_are_loaded_in_turn_as_by_hand():
    begin, until = truth.start(0.8, -2.0), 1.38
    end, switches = truth.guide_by_hand(0.2, 0.3, begin, until)
    run = ds.solve(
        posed("two-sided", load="varying"), until, begin, parameters={"mu": 0.2, "nu": 0.3}
    )
    assert [event.name for event in run.events] == ["support_switch"] * len(switches)
    assert len(switches) == 3
    assert [event.time for event in run.events] == pytest.approx(switches, abs=1e-9)
    assert [run.end_state[name] for name in truth.NAMES] == pytest.approx(end, abs=1e-9)
