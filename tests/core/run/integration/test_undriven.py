"""Invariants that are taken for conserved: watched, and let go of where they are not."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.core.preparation import sizes
from daesolve.core.run.integration import checkpoints
from daesolve.errors import PosingError
from tests.systems import WITHOUT_ASSIMULO, prepared_run

START = {"x": 0.0, "x_dot": 1.0, "y": 1.0}


def _brake(force: Callable[[ca.SX], ca.SX], **more: Any) -> ds.MechanicalSystem:
    """Return a body whose momentum is driven, which a force brakes far off, beside an oscillator.

    The oscillator keeps the steps of all methods below a second.
    """
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=q.y**2 / 2,
        force={"x": force(q.x)},
        goals=[ds.Invariant("momentum", q.dot.x, drive=True)],
        **more,
    )


FORCES: dict[str, Callable[[Any, Any], Any]] = {
    "a ramp": lambda x, m: -0.01 * (1 + m.tanh(x - 40)) / 2,
    "a window": lambda x, m: -0.05 * m.exp(-((x - 40) ** 2) / 8),
    "a wall": lambda x, m: -m.exp(x - 60),
    "a power": lambda x, m: -0.01 * (x / 60) ** 40,
}
WAYS: dict[str, Mapping[str, Any]] = {
    "taylor": {"solver": "taylor"},
    "dop853": {"solver": ds.solvers.Dop853(rtol=1e-12, atol=1e-12)},
    "projected": {"formulation": "projected"},
    "null-space": {"formulation": "null-space"},
}


def _truth(force: Callable[[Any, Any], Any], until: float) -> np.ndarray:
    found = solve_ivp(
        lambda t, s: [s[1], force(s[0], np)], (0.0, until), [0.0, 1.0], "DOP853",
        rtol=1e-13, atol=1e-13,
    )  # fmt: skip
    return found.y[:, -1]


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("dop853-a ramp")
@pytest.mark.parametrize("name", FORCES)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_force_far_off_takes_is_not_put_back(name: str, way: str) -> None:
    force = FORCES[name]
    run = ds.solve(_brake(lambda x: force(x, ca)), until=80.0, initial=START, **WAYS[way])
    x, x_dot = _truth(force, 80.0)
    # Up to where it is let go of, a rate of at most 1e-10 * 1e-3 m/s^2 is put back, for less than
    # 80 s, and that grows for the rest of them: 80 * 80 * 1e-13; and the solvers' 1e-12 a step.
    assert abs(run.end_state["x"] - x) < 2e-9
    assert abs(run.end_state["x_dot"] - x_dot) < 1e-10
    notes = " ".join(run.description["notes"])
    assert "momentum is assumed to be conserved" in notes
    assert "momentum is driven only up to t = " in notes
    assert run.drift["momentum"].driven
    assert run.drift["momentum"].note.startswith("driven only up to t = ")
    assert run.outcome is ds.Outcome.COMPLETED


def test_a_force_that_a_mode_switches_on_ends_the_drive() -> None:
    """From t = 5 s on x'' = -0.1: at 10 s x is 10 - 0.1 * 5**2 / 2."""
    q, p = ds.coordinates(x="m", y="m"), ds.discrete(on=0.0)
    system = ds.MechanicalSystem(
        q,
        discrete=p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=q.y**2 / 2,
        force={"x": -0.1 * p.on},
        goals=[ds.Invariant("momentum", q.dot.x, drive=True)],
        events=[ds.Event("switch", ds.time - 5.0, ds.RISING, ds.Reset({"on": 1.0}))],
    )
    for solver in ("taylor", "dop853"):
        run = ds.solve(system, until=10.0, initial=START, solver=solver)
        assert abs(run.end_state["x"] - 8.75) < 1e-9
        assert "driven only up to t = 5 s" in run.drift["momentum"].note


def test_friction_of_a_contact_that_closes_later_is_no_energy_to_keep() -> None:
    """It lands at sqrt(2 / g) with 3 m/s, and is braked by 0.3 g from there on."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, restitution=0, closed=False)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": -0.3 * floor.reaction},
        goals=[floor],
    )
    run = ds.solve(system, until=0.7, initial={"y": 1.0, "x_dot": 3.0})
    assert abs(run.end_state["x_dot"] - (3.0 - 0.3 * 9.81 * (0.7 - np.sqrt(2 / 9.81)))) < 1e-12
    assert not run.drift["energy"].driven


def test_gyroscopic_forces_that_do_work_far_off_are_refused() -> None:
    q = ds.coordinates(x="m", y="m")
    with pytest.raises(PosingError, match=r"do work.*'x_dot'"):
        ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            mass_matrix=ca.SX.eye(2),
            potential=q.x**2 / 2,
            gyroscopic={"x": -0.005 * q.dot.x * (1 + ca.tanh(q.x - 40)) / 2},
        )


def test_an_invariant_that_is_broken_at_once_is_refused() -> None:
    with pytest.raises(PosingError, match="'momentum' cannot be driven"):
        ds.solve(_brake(lambda x: -0.01 * x), until=1.0, initial=START)


def test_two_invariants_are_let_go_of_one_by_one() -> None:
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=q.y**2 / 2,
        force={"x": -ca.exp(q.x - 40), "z": -ca.exp(q.z - 60)},
        goals=[
            ds.Invariant("along_x", q.dot.x, drive=True),
            ds.Invariant("along_z", q.dot.z, drive=True),
        ],
    )
    run = ds.solve(system, until=70.0, initial={"x_dot": 1.0, "y": 1.0, "z_dot": 1.0})
    # x'' = -exp(x - c) from x' = 1 far off: exp(x - c) = (1 - x'^2) / 2, so that x' = tanh(s / 2)
    # and x = c + ln(1/2) - 2 ln cosh(s / 2), with s = c + ln 2 - t from x ~ t for early t.
    for name, wall in (("x", 40.0), ("z", 60.0)):
        truth = np.tanh((wall + np.log(2.0) - 70.0) / 2)
        assert abs(run.end_state[f"{name}_dot"] - truth) < 1e-9
        assert "driven only up to" in run.drift[f"along_{name}"].note


# -- what must stay driven -------------------------------------------------------------------------


def _hidden_integral() -> ds.MechanicalSystem:
    """Return a motion on a sphere whose angular momentum is conserved where the rod holds alone."""
    q = ds.coordinates(x="m", y="m", z="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=9.81 * q.z,
        goals=[
            ds.Holonomic("rod", q.x**2 + q.y**2 + q.z**2 - 1),
            ds.Invariant(
                "momentum",
                (q.x * q.dot.y - q.y * q.dot.x) * (q.x**2 + q.y**2 + q.z**2) ** 3,
                drive=True,
            ),
        ],
    )


@pytest.mark.parametrize("rtol", [1e-5, 1e-9])
def test_constraints_that_a_solver_misses_break_nothing(rtol: float) -> None:
    """Off the sphere this integral changes; on it, it does not."""
    system = _hidden_integral()
    start = {"x": 0.8, "y": 0.0, "z": -0.6, "y_dot": 2.0}
    assert "momentum" in prepared_run(system, 1.0, start).assumed
    solver = ds.solvers.Dop853(rtol=rtol, atol=rtol)
    run = ds.solve(system, until=20.0, initial=start, solver=solver)
    assert run.drift["momentum"].note == ""


@pytest.mark.skipif(WITHOUT_ASSIMULO, reason="Assimulo is not installed")
def test_a_solver_in_blocks_of_its_own_is_cut_too() -> None:
    force = FORCES["a ramp"]
    run = ds.solve(
        _brake(lambda x: force(x, ca)), until=80.0, initial=START, solver="assimulo-cvode"
    )
    assert abs(run.end_state["x"] - _truth(force, 80.0)[0]) < 1e-6


# -- verification, other times, disk ---------------------------------------------------------------


def test_a_repetition_lets_go_too() -> None:
    force = FORCES["a ramp"]
    run = ds.solve(_brake(lambda x: force(x, ca)), until=80.0, initial=START, verify=True)
    assert run.verification is not None
    assert max(run.verification.difference.values()) < 1e-9
    before, after = run.at(20.0), run.at(70.0)
    assert abs(before["x_dot"] - 1.0) < 1e-12
    assert abs(after["x_dot"] - _truth(force, 70.0)[1]) < 1e-10


@pytest.mark.slow
@pytest.mark.slow_rows("22.0")
@pytest.mark.parametrize("moment", [22.0, 50.0])
def test_a_stored_run_goes_on_to_the_same_bits(
    tmp_path: Path, moment: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is interrupted before it lets go, or after it, some parts after a checkpoint."""
    monkeypatch.setattr(sizes, "STEPS_PER_SEGMENT", 20)
    monkeypatch.setattr(checkpoints, "SHORTEST_PART", 40)
    monkeypatch.setattr(checkpoints, "LONGEST_PART", 40)
    force = FORCES["a ramp"]
    system = _brake(lambda x: force(x, ca))
    given: dict[str, Any] = {"initial": START, "at": ds.every(0.5), "solver": "cvodes"}

    def interrupt(time: float, *rest: object) -> None:
        if time > moment:
            signal.raise_signal(signal.SIGINT)

    whole = ds.solve(system, until=80.0, **given)
    part = ds.solve(system, until=80.0, store=tmp_path / "run", progress=interrupt, **given)
    assert part.outcome is ds.Outcome.INTERRUPTED
    assert moment < part.end_time < 79.0
    assert list((tmp_path / "run" / "checkpoints").iterdir())
    run = ds.resume(tmp_path / "run", source=system)
    assert "driven only up to" in run.drift["momentum"].note
    assert run.end_state == whole.end_state
    assert run.drift == whole.drift
    assert np.array_equal(run["x"], whole["x"])
    assert [n for n in run.description["notes"] if "momentum" in n] == [
        n for n in whole.description["notes"] if "momentum" in n
    ]


@pytest.mark.parametrize("name", ["a ramp", "a window"])
def test_a_run_is_not_doubted_for_what_it_only_measures(name: str) -> None:
    """The momentum is not conserved: that it changes is no error of the numbers."""
    force = FORCES[name]
    way: dict[str, Any] = {"formulation": ds.Feedback(rates={"momentum": None})}
    run = ds.solve(_brake(lambda x: force(x, ca)), until=80.0, initial=START, **way)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.drift["momentum"].note.startswith("not conserved: at t = ")
    assert abs(run.end_state["x"] - _truth(force, 80.0)[0]) < 2e-9


def test_a_circle_that_the_motion_leaves_is_let_go_of() -> None:
    """An invariant on positions corrects the rates of coordinates; it is watched all the same."""
    q = ds.coordinates(a="", b="", z="m")
    v = ds.velocities(spin="rad/s", along="m/s")
    off = 0.01 * (1 + ca.tanh(q.z - 20))
    system = ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(2),
        velocities=v,
        kinematics=ca.vertcat(off * v.along - v.spin * q.b, v.spin * q.a, v.along),
        goals=[ds.Invariant("unit", q.a**2 + q.b**2, drive=True, on="positions", reference=1.0)],
    )
    run = ds.solve(system, 30.0, {"a": 1.0, "spin": 1.0, "along": 1.0})
    assert run.drift["unit"].note.startswith("driven only up to t = 10.")
    exact = solve_ivp(
        lambda t, s: [0.01 * (1 + np.tanh(t - 20)) - s[1], s[0]], (0.0, 30.0), [1.0, 0.0],
        "DOP853", rtol=1e-13, atol=1e-13,
    ).y[:, -1]  # fmt: skip
    # Up to there feedback has held what changed by less than 1e-10.
    assert run["a"][-1] == pytest.approx(exact[0], abs=1e-10)
    assert run["b"][-1] == pytest.approx(exact[1], abs=1e-10)
