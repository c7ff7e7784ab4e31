import itertools
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.friction import TimeStepping, impulse_iteration, moreau
from daesolve.errors import (
    BranchLost,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
    UnsupportedError,
)

from .stepped_bodies import GENTLE, JAM, SLIDING, prism, three_supports

LIMIT = 2.9150621
"""The largest load (1, 0.4) N, 0.1 N m under which the body on three pairs stays at rest."""

PLACE = np.array([0.35373502511611, 0.31853407754394, 4.10833210595220])
"""Where it stops, m, m and rad."""


def loaded(share: float) -> ds.MechanicalSystem:
    force = share * LIMIT
    return three_supports((force, 0.4 * force, 0.1 * force))


def positions(run: TimeStepping) -> np.ndarray:
    return np.array([run.end_state[name] for name in ("x", "y", "phi")])


@pytest.fixture(scope="module")
def runs() -> list[TimeStepping]:
    return [moreau(three_supports(), SLIDING, 1.0, step) for step in (0.02, 0.01)]


def furthest(run: TimeStepping) -> float:
    """Return by how much the body stops off its exact place, m or rad."""
    return float(np.abs(positions(run) - PLACE).max())


@pytest.mark.slow
def test_steps_half_as_long_are_half_as_wrong(runs):
    coarse, fine = map(furthest, runs)
    assert fine < 2e-3
    assert coarse / fine == pytest.approx(2.0, abs=0.25)


@pytest.mark.long
def test_steps_converge_with_first_order():
    steps = 0.01, 0.005, 0.0025, 0.00125
    errors = [furthest(moreau(three_supports(), SLIDING, 0.9, step)) for step in steps]
    assert [a / b for a, b in itertools.pairwise(errors)] == pytest.approx([2.0] * 3, abs=0.25)


def test_three_supports_stop_within_a_step_of_the_exact_time(runs):
    for run, step in zip(runs, (0.02, 0.01), strict=True):
        assert run.rest_time == pytest.approx(0.82483805166006, abs=step)


def test_the_kinetic_energy_is_what_friction_takes(runs):
    for run in runs:
        assert run.energy == pytest.approx(run.energy[0] + run.friction_work, abs=1e-11)
        assert np.all(np.diff(run.friction_work) <= 0.0)


def test_supports_switch_as_the_body_slows_down(runs):
    run = runs[-1]
    until = np.searchsorted(run.times, 0.8)
    variants = np.array([run.loaded[f"normal_{k}"][:until] for k in (1, 2, 3)]).T
    changed = np.flatnonzero(np.any(np.diff(variants, axis=0) != 0, axis=1))
    switched = [int(np.flatnonzero(variants[k + 1] != variants[k])[0]) + 1 for k in changed]
    assert tuple(variants[0]) == (1, 2, 2)
    assert switched == [1, 3, 3, 2]


def test_reactions_of_a_short_step_are_those_of_the_motion():
    run = moreau(three_supports(), SLIDING, 1e-6, 1e-6)
    found = [run.reactions[f"normal_{k}"][0] for k in (1, 2, 3)]
    assert found == pytest.approx([-0.604, 7.810, 7.509], abs=2e-3)


@pytest.mark.slow
def test_below_the_limit_of_friction_nothing_moves_to_the_last_digit():
    start = {"phi": 0.3, "x": 0.1}
    run = moreau(loaded(0.8), start, 2.0, 0.01)
    assert {name: set(values) for name, values in run.states.items()} == {
        name: {start.get(name, 0.0)} for name in run.states
    }
    assert run.rest_time == 0.0
    assert set(run.friction_work) == {0.0}
    assert run.iterations[1:].max() == 0


@pytest.mark.slow
def test_the_limit_of_friction_is_sharp():
    assert moreau(loaded(1.0 - 1e-5), {"phi": 0.3}, 0.01, 0.01).rest_time == 0.0
    assert moreau(loaded(1.0 + 1e-5), {"phi": 0.3}, 0.01, 0.01).rest_time is None


def test_a_prism_decelerates_by_the_closed_form_and_stops():
    # Both lower supports are loaded for good, and friction is 0.2 of their 20 N.
    run = moreau(prism(GENTLE), {"x_dot": -1.0}, 1.0, 0.01)
    deceleration = (3.0 + 0.2 * 20.0) / 2.0
    assert run.rest_time == pytest.approx(1.0 / deceleration, abs=0.01)
    assert run["x_dot"][10] == pytest.approx(-1.0 + 10 * 0.01 * deceleration, rel=1e-12)
    assert {int(value) for values in run.loaded.values() for value in values} == {2}
    assert run.end_state["x_dot"] == 0.0


@pytest.mark.slow
def test_a_prism_that_cannot_slide_on_is_stopped_by_an_impulse_that_steps_do_not_change():
    peaks = []
    for step in (1e-2, 1e-3, 1e-4):
        run = moreau(prism(JAM), {"x_dot": 1.0}, 3 * step, step)
        assert run.end_state["x_dot"] == 0.0
        assert run.rest_time == pytest.approx(step)
        peaks.append(run.impulses["normal_1"][0])
    # In an instant forces do nothing: N_1 = -N_2, which have one line of action where friction is
    # used to a share k: -0.6 - 0.3 k = 0.5 - 2 k. This share of 0.2 + 1.0 takes the momentum of 2.
    share = (0.5 + 0.6) / (1.0 * 2.0 - 0.2 * 1.5)
    assert peaks[-1] == pytest.approx(2.0 / (share * 1.2), rel=2e-4)
    assert peaks[1] - peaks[2] == pytest.approx((peaks[0] - peaks[1]) / 10.0, rel=0.1)


@pytest.mark.parametrize(
    ("until", "step", "told"),
    [(-1.0, 0.1, "until is -1.0"), (1.0, 0.0, "step is 0.0"), (1.0, 1e-9, "1e\\+09 steps")],
)
def test_times_that_cannot_be_are_refused(until, step, told):
    with pytest.raises(OutOfRangeError, match=told):
        moreau(prism(GENTLE), {}, until, step)


def test_a_step_without_impulses_ends_the_run_and_its_time_is_reported(monkeypatch):
    monkeypatch.setattr(impulse_iteration, "ITERATIONS", 0)
    with pytest.raises(BranchLost, match="in the step from 0 s: no impulses of the supports"):
        moreau(prism(JAM), {"x_dot": 1.0}, 0.1, 0.1)


def test_a_state_that_nothing_carries_is_named():
    run = moreau(prism(GENTLE), {}, 0.01, 0.01)
    with pytest.raises(UnknownNameError, match="did you mean 'x_dot'"):
        run["x_dott"]


def test_what_has_no_pairs_of_supports_is_refused():
    q = ds.coordinates(x="m")
    free = ds.MechanicalSystem(q, mass_matrix=ca.SX.eye(1))
    with pytest.raises(PosingError, match="needs a MechanicalSystem with contacts, or with"):
        moreau(free, {}, 1.0, 0.1)


def test_a_parameter_that_nothing_carries_is_named():
    with pytest.raises(UnknownNameError, match="did you mean 'mass'"):
        moreau(prism(GENTLE), {}, 1.0, 0.1, {"maas": 1.0})


Q = ds.coordinates(x="m", y="m")
W = ds.states(work="J")
TWO = tuple(
    ds.friction.Support(point=(Q.x, Q.y), normal=(0.0, up), friction=0.5) for up in (-1.0, 1.0)
)


def slider(**more: Any) -> ds.MechanicalSystem:
    gap = ds.Holonomic("gap", Q.y, ideal=False)
    asked: dict[str, Any] = {
        "goals": [gap],
        "pairs": [ds.friction.VariantPair("slide", TWO)],
        **more,
    }
    return ds.MechanicalSystem(Q, mass_matrix=ca.SX.eye(2), **asked)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"pairs": [ds.friction.VariantPair("slide", TWO[1:], "unilateral")]},
            "the pair 'slide' is unilateral",
        ),
        ({"events": [ds.Event("wall", Q.x)]}, "the event 'wall' cannot be watched"),
        ({"quadratures": W, "integrands": [Q.x]}, "integrates no quadratures, such as 'work'"),
        (
            {
                "goals": [
                    ds.Holonomic("gap", Q.y, ideal=False),
                    ds.Invariant("speed", Q.dot.x, drive=True),
                ]
            },
            "cannot drive the invariant 'speed'",
        ),
    ],
)
def test_what_time_steps_cannot_do_is_refused(more, told):
    with pytest.raises(UnsupportedError, match=told):
        moreau(slider(**more), {}, 1.0, 0.1)


def test_an_ideal_constraint_beside_the_guide_is_held():
    # Two bodies joined by a rod along the guide: one of them rubs, with 0.5 of its weight of 10 N.
    q = ds.coordinates(x="m", y="m", far="m")
    supports = [
        ds.friction.Support(point=(q.x, q.y), normal=(0.0, up), friction=0.5) for up in (-1.0, 1.0)
    ]
    pair = ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(3),
        force={"y": -10.0},
        goals=[ds.Holonomic("gap", q.y, ideal=False), ds.Holonomic("rod", q.far - q.x - 1.0)],
        pairs=[ds.friction.VariantPair("slide", supports)],
    )
    run = moreau(pair, {"x_dot": 1.0}, 1.0, 0.1)
    assert run["x_dot"][2] == pytest.approx(1.0 - 0.2 * 5.0 / 2.0, rel=1e-12)
    assert run["far"] - run["x"] == pytest.approx(np.ones(11), abs=1e-14)
    assert run.reactions["slide"] == pytest.approx(np.full(10, 10.0), rel=1e-12)
    assert run.rest_time == pytest.approx(0.4)


@pytest.mark.slow
def test_a_support_on_a_moving_guide_sticks_to_it():
    # A belt at 1 m/s takes a body at rest along: 5 N of friction for 1 kg, sliding for 0.2 s.
    q = ds.coordinates(x="m", y="m")
    supports = [
        ds.friction.Support(velocity=(q.dot.x - 1.0, q.dot.y), normal=(0.0, up), friction=0.5)
        for up in (-1.0, 1.0)
    ]
    belt = ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(2),
        force={"y": -10.0},
        goals=[ds.Holonomic("gap", q.y, ideal=False)],
        pairs=[ds.friction.VariantPair("slide", supports)],
    )
    run = moreau(belt, {}, 0.4, 0.01)
    assert run["x_dot"][10] == pytest.approx(0.5, rel=1e-12)
    assert run["x_dot"][25:] == pytest.approx(np.ones(16), rel=1e-14)
    assert run.rest_time == pytest.approx(0.2, abs=0.011)


@pytest.mark.slow
def test_one_body_rests_while_another_slides_past_it():
    # Each is pushed with 4 N; friction of 0.5 and of 0.3 of 10 N holds the first one alone.
    q = ds.coordinates(x_1="m", y_1="m", x_2="m", y_2="m")
    pairs = [
        ds.friction.VariantPair(
            f"body_{k}",
            [
                ds.friction.Support(
                    point=(q[f"x_{k}"], q[f"y_{k}"]), normal=(0.0, up), friction=friction
                )
                for up in (-1.0, 1.0)
            ],
        )
        for k, friction in ((1, 0.5), (2, 0.3))
    ]
    bodies = ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(4),
        force={"x_1": 4.0, "y_1": -10.0, "x_2": 4.0, "y_2": -10.0},
        goals=[ds.Holonomic(f"gap_{k}", q[f"y_{k}"], ideal=False) for k in (1, 2)],
        pairs=pairs,
    )
    run = moreau(bodies, {}, 0.1, 0.01)
    assert np.abs(run["x_dot_1"]).max() < 1e-15
    assert run["x_dot_2"] == pytest.approx(run.times, rel=1e-12)
    assert run.rest_time is None
    assert set(run.slipping["body_1"]) == {False}
    assert set(run.slipping["body_2"]) == {True}
