"""Senseless requests are refused, each with its own error and message; choices are reported."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.preparation.sizes import segment_length
from daesolve.errors import (
    InconsistentStateError,
    OutOfRangeError,
    UnknownNameError,
    UnsupportedError,
)
from tests.systems import pendulum, prepared_run, sleigh, wheel, wheel_state

FAULTS = {
    "unknown state": (
        UnknownNameError, r"unknown state 'xx'", {"initial": {"xx": 1.0}},
    ),
    "unknown parameter": (
        UnknownNameError, r"unknown parameter 'masss': did you mean 'mass'",
        {"parameters": {"masss": 1.0}},
    ),
    "a rate is no parameter": (
        UnknownNameError, r"unknown parameter 'rate_rod'", {"parameters": {"rate_rod": 1.0}},
    ),
    "unknown goal in rates": (
        UnknownNameError, r"'rop'.*'rod'", {"formulation": ds.Feedback(rates={"rop": 1.0})},
    ),
    "unknown goal in scales": (
        UnknownNameError, r"'enrgy'.*'energy'", {"scales": {"enrgy": 1.0}},
    ),
    "scale of zero": (OutOfRangeError, r"scale.*'energy'", {"scales": {"energy": 0.0}}),
    "scale no number": (OutOfRangeError, r"scale.*'energy'", {"scales": {"energy": np.nan}}),
    "mass below zero": (
        OutOfRangeError, r"parameter 'mass' is -1.0, but must be > 0",
        {"parameters": {"mass": -1.0}},
    ),
    "mass no number": (OutOfRangeError, "'mass'", {"parameters": {"mass": np.nan}}),
    "mass a word": (OutOfRangeError, "'mass' must be a number", {"parameters": {"mass": "1"}}),
    "start not finite": (OutOfRangeError, "'x'", {"initial": {"x": np.nan}}),
    "start too long": (InconsistentStateError, "'rod'", {"initial": {"x": 2.0}}),
    "start off": (
        InconsistentStateError, r"the rate of the goal 'rod'",
        {"initial": {"x": 0.0, "y": -1.0, "x_dot": 0.0, "y_dot": 1.0}},
    ),
    "zero horizon": (OutOfRangeError, r"the horizon is zero.*until", {"until": 0.0}),
    "zero horizon later": (OutOfRangeError, "t = 3 s", {"until": 3.0, "start_time": 3.0}),
    "endless": (OutOfRangeError, r"until is inf", {"until": np.inf}),
    "start time": (OutOfRangeError, r"start time is nan", {"start_time": np.nan}),
    "default rate": (OutOfRangeError, r"rate is -1", {"default_rate": -1.0}),
}  # fmt: skip


@pytest.mark.default_rows(7)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_has_its_own_type_and_names_what_is_wrong(fault):
    kind, words, change = FAULTS[fault]
    request = {"until": 1.0, "initial": {"x": -1.0}} | change
    with pytest.raises(kind, match=words):
        ds.solve(pendulum(), **request)


def test_branches_that_are_kept_are_refused_by_taylor_and_the_automatic_choice_avoids_it():
    q = ds.coordinates(x="m")
    spring = ds.smooth(-ca.fabs(q.x) * ca.sign(q.x))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": spring})
    with pytest.raises(UnsupportedError, match=r"fabs, sign.*dop853"):
        ds.solve(system, 1.0, {"x": 1.0}, solver=ds.Taylor())
    run = ds.solve(system, 1.0, {"x": 1.0})
    assert run.description["solver"] == "cvodes"
    assert any("cvodes, because taylor" in note for note in run.description["notes"])
    assert run["x"][-1] == pytest.approx(np.cos(1.0), abs=1e-7)


def test_an_output_may_use_what_the_solver_cannot():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, outputs={"size": ca.fabs(q.x)}
    )
    run = ds.solve(system, 4.0, {"x": 1.0}, solver=ds.Taylor())
    assert run.outputs["size"] == pytest.approx(np.abs(run["x"]))


@pytest.mark.parametrize("changed", [{"mass": 5.0}, {"mass": 1e-3}, {"length": 7.0}])
def test_a_sweep_over_parameters_builds_its_problem_once(changed):
    system = pendulum()
    first = prepared_run(system, 1.0, {"x": 0.0}, guess={"y": -1.0})
    other = prepared_run(system, 1.0, {"x": 0.0}, guess={"y": -1.0}, parameters=changed)
    assert other.problem is first.problem
    assert other.compilation.seconds == 0.0


@pytest.mark.parametrize("start", [(-0.9, 0.0), (0.0, 1.5), (0.5, -2.0)])
def test_the_hoop_is_built_once_for_every_start(start):
    first = prepared_run(HOOP, 1.0, wheel_state(0.1, 1.0))
    assert prepared_run(HOOP, 1.0, wheel_state(*start)).problem is first.problem


HOOP = wheel()


def test_every_choice_is_reported():
    run = ds.solve(sleigh(), 1.0, {"phi_dot": 1.0})
    told = run.description
    assert told["solver"] == "taylor"
    assert told["formulation"] == "feedback"
    assert told["rates"] == {"blade": 10.0, "energy": 10.0}
    assert told["parameters"] == {"mass": 1.0, "inertia": 0.1, "centre_distance": 0.1}
    assert told["tolerances"] == {"tolerance": np.finfo(float).eps}


def test_a_start_that_was_changed_is_reported():
    run = ds.solve(pendulum(), 1.0, {"x": 0.6}, guess={"y": -1.0})
    assert run.start["y"] == (-1.0, pytest.approx(-0.8, rel=1e-14))


def test_a_user_s_output_is_never_replaced():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, force={"x": 1.0}, outputs={"energy": 7.0 + 0 * q.x}
    )
    run = ds.solve(system, 1.0, {"x": 0.0})
    assert run.outputs["energy"][-1] == 7.0
    try:
        system = ds.MechanicalSystem(
            q, kinetic=q.dot.x**2 / 2, force={"x": -q.dot.x}, outputs={"work": 7.0 + 0 * q.x}
        )
        run = ds.solve(system, 1.0, {"x": 0.0, "x_dot": 1.0})
    except ds.DaesolveError as error:
        assert "work" in str(error)  # noqa: PT017
    else:
        assert run.outputs["work"][-1] == 7.0


def test_a_system_may_start_at_rest_in_equilibrium():
    run = ds.solve(pendulum(), 10.0, {"x": 0.0, "y": -1.0, "x_dot": 0.0, "y_dot": 0.0})
    assert run.outcome is ds.Outcome.COMPLETED
    assert run["y"][-1] == -1.0
    assert run.reactions["rod"][-1] == pytest.approx(-9.81 / 2, rel=1e-14)
    assert np.isfinite(run.drift["energy"].max_relative)


def test_dissipation_is_metered_and_never_driven_however_weak():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force={"x": -2e-7 * q.dot.x}
    )
    run = ds.solve(system, 100.0, {"x": 1.0, "x_dot": 0.0})
    assert not run.drift["energy"].driven
    frequency = np.sqrt(1 - 1e-14)
    decay = np.exp(-1e-7 * 100.0)
    right = decay * (np.cos(frequency * 100) + 1e-7 * np.sin(frequency * 100))
    assert run["x"][-1] == pytest.approx(right, abs=1e-13)
    assert run.drift["energy"].max_relative <= 1e-14


@pytest.mark.slow_rows("solver1")
@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853(), ds.Cvodes()])
def test_the_energy_of_a_body_at_rest_pushes_nothing(solver):
    """What rounding leaves of its kinetic energy is no scale: a table of 12 N on two legs."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    table = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2 + q.dot.turn**2 / 6,
        potential=12.0 * q.y,
        goals=[ds.Holonomic(name, q.y + side * q.turn) for name, side in (("l", -1), ("r", 0.3))]
        + [ds.Holonomic("m", q.y)],
    )
    run = ds.solve(table, 1.0, {}, redundant="minimum-norm", solver=solver)
    assert run["l"] + run["m"] + run["r"] == pytest.approx(np.full(1001, 12.0), rel=1e-8)
    assert run.drift["energy"].scale == 1.0
    assert not [note for note in run.description["notes"] if "not to be trusted" in note]


def test_an_angle_that_hardly_turns_shortens_no_segment():
    """A rate of 1e-310 per s: 50 radians take longer than a double tells."""
    prepared = prepared_run(pendulum(), 1.0, {"x": -1.0})
    still = SimpleNamespace(mean_step=0.01, turning=np.full(prepared.problem.size, 1e-310))
    turning = SimpleNamespace(mean_step=0.01, turning=np.full(prepared.problem.size, 1e3))
    found = [segment_length(prepared.problem, s, (0, 1), projects=False) for s in (still, turning)]
    assert found == [50.0, 0.05]


def test_a_rate_that_feeds_nothing_back_is_not_called_stiff():
    # Nothing is driven where a damper takes energy and there is no constraint; steps of 4 s are.
    q = ds.coordinates(x="m")
    force = {"x": -q.x - q.dot.x}
    damped = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force=force)
    run = ds.solve(damped, 300.0, {"x": 0.7})
    assert not any("is stiff for" in note for note in run.notes)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("0.199-1e-09", "0.0-1e-06", "0.0-1e-09")
@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("kink", [0.0, 0.199])
def test_a_branch_taken_shortly_before_an_impact_does_not_hide_how_quick_a_motion_is(
    unit: float, kink: float
) -> None:
    # A pendulum that a spring holds up before a wall, in times of `unit` s.
    q, gravity = ds.coordinates(x="m", y="m"), 1.0 / unit**2
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    wall = ds.Holonomic("wall", q.x - 0.2)
    hit = ds.Event("hit", 0.2 - q.x, ds.FALLING, ds.Reset(impose=[wall], restitution=0.9))
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=gravity * q.y,
        force={"x": -5.0 * gravity * ca.fmax(q.x - kink, 0.0)},
        goals=[rod],
        events=[hit],
    )
    run = ds.solve(system, 20.0 * unit, {"x": -0.5}, guess={"y": -0.9})
    # Some ten steps for each of five swings; it was 835 110 steps where time had no scale.
    assert run.event_count == 15
    assert run.statistics.steps < 200
    assert max(drift.max_relative for drift in run.drift.values()) < 1e-13


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_the_rate_of_an_energy_suits_a_quick_motion_whose_event_lies_where_steps_are_short(
    unit: float,
) -> None:
    q = ds.coordinates(x="m", y="m")
    distance = ca.sqrt(q.x**2 + q.y**2)
    turn = ds.Event("turn", q.y - 0.05, ds.FALLING, ds.Reset({"y_dot": 1.0001 * q.dot.y}))
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=-1.0 / (unit**2 * distance),
        events=[turn],
    )
    start = {"x": -1.9, "y": 0.0, "x_dot": 0.0, "y_dot": np.sqrt(0.1 / 1.9) / unit}
    rate = ds.solve(system, 50.0 * unit, start).description["rates"]["energy"]
    assert 0.1 < rate * unit < 100.0
