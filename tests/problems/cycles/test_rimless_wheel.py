"""A rimless wheel, against its closed form, and its model of resets against that of contacts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.cycles.rimless_wheel import keeps, problem, rate_at, steady_rate, step_time

import daesolve as ds
from daesolve.errors import OutOfRangeError

from .floquet import at, monodromy

STATES = ("theta", "theta_dot")
PUBLISHED = {
    "steady": (1.09546283964765686, 1.0345498114232793, 0.5),
    "unit": (0.3552835878626967, 2.00179052421576993, 0.681178877238336789),
}
"""Rate after a strike, period and multiplier (40 digits)."""
LEAST_SLOPE = 0.0682294524522871592
WHEELS = {
    "published": {},
    "with a rim's inertia": {"gyration": 0.4, "slope": 0.1},
    "small and heavy": {"length": 0.2, "mass": 5.0, "half_angle": 0.25, "slope": 0.06},
}


def struck(run):
    """Return the events in which a spoke strikes, in either model."""
    return [event for event in run.events if event.name.endswith(("strike", "closed"))]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_steady_wheel_is_that_of_the_closed_form(name):
    rate, period, multiplier = PUBLISHED[name]
    case = problem.case(name)
    answer = case.analyse("closed-form").values
    own = [answer[key] for key in ("rate", "period", "multiplier")]
    assert own == pytest.approx([rate, period, multiplier], rel=1e-13)
    events = struck(case.solve(until=10.5 * period))
    assert len(events) == 10
    for k, event in enumerate(events, start=1):
        assert event.time == pytest.approx(k * period, abs=1e-12)
        assert event.after["theta_dot"] == pytest.approx(rate, abs=1e-12)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("name", WHEELS)
def test_multipliers_are_one_and_the_square_of_what_a_strike_keeps(name):
    case = problem.case("steady", **WHEELS[name])
    p = case.full_parameters
    period = step_time(p)
    middle = at(case, STATES, 0.4 * period)
    carried = monodromy(case.starting(middle), STATES, period)
    run = case.starting(middle).solve(until=period)
    assert [run.end_state[key] for key in STATES] == pytest.approx(
        [middle[key] for key in STATES], abs=1e-12
    )
    values = sorted(np.linalg.eigvals(carried).real)
    assert values == pytest.approx([keeps(p) ** 2, 1.0], abs=1e-10)


def test_a_wheel_comes_over_its_spoke_from_the_least_slope_on():
    def spare(slope):
        p = {**problem.case("steady").full_parameters, "slope": slope}
        return steady_rate(p) ** 2 - 2.0 * 9.81 * (1.0 - math.cos(slope - math.pi / 8))

    assert spare(LEAST_SLOPE) == pytest.approx(0.0, abs=1e-14)
    over = problem.case("steady", slope=LEAST_SLOPE + 1e-7)
    under = problem.case("steady", slope=LEAST_SLOPE - 1e-7)
    assert step_time(under.full_parameters) is None
    assert "none" in under.analyse("closed-form").values["steady"]
    period = step_time(over.full_parameters)
    assert [event.name for event in over.solve(until=1.5 * period).events] == ["strike"]
    assert [event.name for event in under.solve(until=20.0).events] == ["falls_back"]


@pytest.mark.long
def test_tips_that_are_contacts_step_as_the_resets_say():
    case = problem.case("contacts", slope=0.1)
    p = {"half_angle": math.pi / 8, **case.full_parameters}
    run = case.solve(until=20.0)
    times = [event.time for event in struck(run)]
    assert len(times) > 15
    assert np.diff(times) == pytest.approx(step_time(p), abs=1e-11)
    for event in struck(run):
        assert event.after["phi_dot"] == pytest.approx(steady_rate(p), abs=1e-11)


@pytest.mark.slow
def test_what_is_off_the_steady_contacts_shrinks_by_the_multiplier():
    case = problem.case("contacts")
    kept = keeps({"half_angle": math.pi / 8, **case.full_parameters}) ** 2
    found = case.starting(
        {"rate": steady_rate({"half_angle": math.pi / 8, **case.full_parameters})}
    ).sensitivity(["rate"], until=8.0)
    rows = [k for k, event in enumerate(found.run.events) if event.name.endswith("closed")]
    steps = np.diff(found.event_times[rows, 0])
    # Each step's length changes with the rate at its begin, which shrinks by the multiplier.
    assert steps[1:5] / steps[:4] == pytest.approx(kept, rel=1e-7)


@pytest.mark.slow
def test_the_force_of_the_slope_is_the_reaction_of_the_tip():
    contacts = problem.case("contacts")
    tip = problem.case("steady", gyration=0.3)
    p = tip.full_parameters
    rate = rate_at(p, p["slope"], steady_rate(p))
    normal_to_it = tip.starting({"theta": p["slope"], "theta_dot": rate})
    first = contacts.solve(until=0.1)
    second = normal_to_it.solve(until=0.1)
    assert first.reactions["tip_0"][:-1] == pytest.approx(second["normal"][:-1], abs=1e-11)
    assert first.outputs["tip_0_friction"][:-1] == pytest.approx(second["friction"][:-1], abs=1e-11)


def test_a_wheel_that_is_too_fast_leaves_the_ground():
    run = problem.case("steady").starting({"rate": 3.0}).solve(until=5.0)
    assert run.events[-1].name == "lifts_off"
    assert run["normal"][-1] == pytest.approx(0.0, abs=1e-11)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT


@pytest.mark.slow
def test_a_wheel_on_contacts_rocks_to_rest_on_two_tips():
    run = problem.case("rocks-to-rest").solve()
    assert run.outcome is ds.Outcome.COMPLETED
    speeds = [abs(run.end_state[f"{name}_dot"]) for name in ("x", "y", "phi")]
    assert max(speeds) < 1e-9
    touching = [
        name for name, force in run.reactions.items() if force[-1] > 0.0 and "stuck" not in name
    ]
    assert len(touching) == 2


def test_spokes_set_the_angle_and_too_few_are_refused():
    case = problem.case("steady", spokes=12, slope=0.1)
    assert case.full_parameters["half_angle"] == pytest.approx(math.pi / 12)
    with pytest.raises(OutOfRangeError, match="at least 5"):
        problem.case("contacts", spokes=4).solve(until=1.0)
