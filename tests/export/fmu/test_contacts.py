"""Units that decide on contacts by themselves: friction, and several contacts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.trajectory.findings import Verdict
from daesolve.errors import UnsupportedError
from daesolve.verification.audit import audit
from tests.export.fmu.auditing import certificate_of
from tests.export.fmu.driving import (
    EXCHANGED,
    STEPPED,
    Log,
    begun,
    driven,
    listed,
    opened,
    pendulum,
)

AGREED = 1e-9
Start = dict[str, float]


def _block(static: float | None = None) -> ds.MechanicalSystem:
    """Pose a block that is pushed to and fro on a rough floor."""
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(mu=0.3)
    floor = ds.Contact("floor", q.y, friction=p.mu, static_friction=static, slip=q.dot.x)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=10 * q.y,
        goals=[floor],
        force={"x": 3.5 * ca.sin(2 * ds.time)},
    )


def _disc(friction: float) -> ds.MechanicalSystem:
    """Pose a disc of 0.1 m that bounces with a spin."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    slip = q.dot.x + 0.1 * q.dot.turn
    floor = ds.Contact("floor", q.y, restitution=0.5, friction=friction, slip=slip, closed=False)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2 + 0.5 * 0.01 * q.dot.turn**2 / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=10 * q.y, goals=[floor])


def _rod(friction: float | None, back: float = 0.3) -> ds.MechanicalSystem:
    """Pose a rod that falls on both of its ends."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    goals: list[Any] = []
    for k, side in enumerate((0.5, -0.5)):
        place, height = q.x + side * ca.cos(q.turn), q.y + side * ca.sin(q.turn)
        slip = None if friction is None else ca.jtimes(place, q.vector, q.dot.vector)
        rough = {} if slip is None else {"friction": friction, "slip": slip}
        goals.append(ds.Contact(f"end_{k}", height, restitution=back, closed=False, **rough))
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2 + q.dot.turn**2 / 24
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=10 * q.y, goals=goals)


def _room() -> ds.MechanicalSystem:
    """Pose a ball between four walls."""
    q = ds.coordinates(x="m", y="m")
    gaps = {"floor": q.y, "left": q.x, "right": 1 - q.x, "top": 2 - q.y}
    walls = [ds.Contact(name, gap, restitution=0.8, closed=False) for name, gap in gaps.items()]
    kinetic = ca.sumsqr(q.dot.vector) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=10 * q.y, goals=walls)


def _pair() -> ds.MechanicalSystem:
    """Pose two blocks with a spring between them, one of which is lifted and falls."""
    q = ds.coordinates(x="m", y="m", u="m", v="m")
    one = ds.Contact("one", q.y, restitution=0.4, friction=0.3, slip=q.dot.x)
    other = ds.Contact("other", q.v, restitution=0.4, friction=0.2, slip=q.dot.u)
    return ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=10 * (q.y + q.v) + 5 * (q.x - q.u - 1) ** 2 / 2,
        goals=[one, other],
        force={"x": 3.2 * ca.sin(3 * ds.time), "v": 11 * ca.sin(1.7 * ds.time)},
    )


def _kicked(hop: float) -> ds.MechanicalSystem:
    """Pose a block that rests until a clock kicks it, along the floor and off it.

    At rest its energy is conserved; a unit must not hold it there.
    """
    q = ds.coordinates(x="m", y="m")
    rough = {"friction": 0.3, "static_friction": 0.4, "slip": q.dot.x}
    kick = ds.Reset({"x_dot": q.dot.x + 1, "y_dot": q.dot.y + hop})
    slow = ds.Reset({"x_dot": 0.9 * q.dot.x})
    return ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=10 * q.y,
        goals=[ds.Contact("floor", q.y, restitution=0.3, **rough)],
        events=[
            ds.Event("kick", ca.sin(4 * ds.time - 1), ds.RISING, kick),
            ds.Event("line", q.x - 0.5, ds.EITHER, slow),
        ],
    )


THROWN = {"x": 0.0, "y": 1.0, "turn": 0.4, "x_dot": 0.5, "y_dot": 0.0, "turn_dot": 0.3}
CASES: dict[str, tuple[Callable[[], ds.MechanicalSystem], Start, float]] = {
    "slides and sticks": (_block, {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0}, 5.0),
    "sticks longer": (lambda: _block(0.34), {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0}, 5.0),
    "bounces and slides": (lambda: _disc(0.2), THROWN | {"turn_dot": -20.0, "x_dot": 1.0}, 3.0),
    "bounces and rolls": (lambda: _disc(0.8), THROWN | {"turn_dot": -20.0, "x_dot": 1.0}, 3.0),
    "on two ends": (lambda: _rod(None), THROWN, 1.2),
    "on two rough ends": (lambda: _rod(0.3), THROWN, 1.2),
    "four walls": (_room, {"x": 0.3, "y": 1.0, "x_dot": 1.3, "y_dot": 0.5}, 3.0),
    "is kicked": (lambda: _kicked(0.0), dict.fromkeys(("x", "y", "x_dot", "y_dot"), 0.0), 5.0),
    "hops": (lambda: _kicked(1.0), dict.fromkeys(("x", "y", "x_dot", "y_dot"), 0.0), 5.0),
    "two blocks": (_pair, dict.fromkeys("xyv", 0.0) | {"u": -1.0, "x_dot": 0.5}, 5.0),
}


def apart_between_events(shown: Any, run: ds.Trajectory) -> float:
    """Return how far states are apart, where no event is: there a unit shows what follows it."""
    events = np.array([event.time for event in run.events])
    away = np.min(np.abs(run.times[:, None] - events), axis=1, initial=1.0) > 1e-6
    sizes = {name: max(1.0, float(np.max(np.abs(run[name])))) for name in run.states}
    return max(
        float(np.max(np.abs(shown[name] - run[name])[away])) / size for name, size in sizes.items()
    )


@pytest.mark.slow
@pytest.mark.long_beyond(10)
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
@pytest.mark.parametrize("case", CASES)
def test_contacts_open_stick_slide_and_collide_as_in_a_run(
    tmp_path: Path, case: str, kind: str
) -> None:
    make, start, until = CASES[case]
    system, times = make(), np.linspace(0.0, until, 101)
    run = ds.solve(system, until, start, at=times)
    path = system.to_fmu(tmp_path / "unit.fmu", start).path
    shown = driven(path, kind, times, 1 if kind == STEPPED else 40)
    assert apart_between_events(shown, run) < AGREED
    for name in run.end_values:
        assert shown[name][-1] == pytest.approx(run.end_values[name], abs=1e-6)


@pytest.mark.slow
def test_a_block_stops_and_a_ball_comes_to_rest_where_formulas_say_so(tmp_path: Path) -> None:
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(mu=0.3)
    floor = ds.Contact("floor", q.y, restitution=0.5, friction=p.mu, slip=q.dot.x, closed=False)
    kinetic = ca.sumsqr(q.dot.vector) / 2
    ball = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=10 * q.y, goals=[floor])
    path = ball.to_fmu(tmp_path / "ball.fmu", {"x": 0.0, "y": 1.0, "x_dot": 6.0}).path
    log = Log()
    shown = driven(path, STEPPED, np.linspace(0.0, 3.0, 4), logger=log, debug_logging=True)
    # It falls for sqrt(2 h / g); each bounce lasts half as long as the one before.
    fall = np.sqrt(0.2)
    assert shown["accumulated_at"][-1] == pytest.approx(fall * 3.0, abs=1e-12)
    # An impact takes mu (1 + e) v of the slip: as much in all as sliding takes from the weight.
    stops = (6.0 / 0.3) / 10.0
    (line,) = log.named("floor_sticks")
    assert float(line.split(" at t = ")[1].split()[0]) == pytest.approx(stops, abs=1e-9)
    assert abs(shown["x_dot"][-1]) < 1e-12


@pytest.mark.slow
def test_contacts_begin_as_the_start_and_the_parameters_say_that_a_tool_sets(
    tmp_path: Path,
) -> None:
    system, times = _block(), np.linspace(0.0, 4.0, 41)
    start = {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0}
    path = system.to_fmu(tmp_path / "block.fmu", start).path
    for x_dot, mu in ((0.0, 0.3), (-0.7, 0.3), (1.0, 0.1), (0.0, 0.5)):
        own = start | {"x_dot": x_dot}
        run = ds.solve(system, 4.0, own, parameters={"mu": mu}, at=times)
        shown = driven(path, STEPPED, times, start_values={"x_dot": x_dot, "mu": mu})
        assert apart_between_events(shown, run) < AGREED


@pytest.mark.slow
def test_a_state_of_contacts_is_saved_with_all_that_decides_on_them(tmp_path: Path) -> None:
    make, start, until = CASES["two blocks"]
    unit, variables = opened(make().to_fmu(tmp_path / "pair.fmu", start).path)
    begun(unit, tolerance=1e-12)
    states = [variables[name] for name in ("x", "y", "u", "v", "x_dot", "u_dot", "accumulated_at")]
    unit.doStep(0.0, 1.85)
    saved, ends = unit.getFMUState(), []
    for _ in range(2):
        unit.doStep(1.85, until - 1.85)
        ends.append(unit.getFloat64(states))
        unit.setFMUState(saved)
    unit.freeFMUState(saved)
    unit.freeInstance()
    # It has bounced for the last time after the state was saved.
    assert ends[0] == ends[1]
    assert 1.85 < ends[0][-1] < 2.0


AUDITED: dict[str, tuple[Callable[[], ds.MechanicalSystem], Start, float]] = {
    "a rod": (lambda: _rod(0.3, 0.0), THROWN, 1.2),
    **{name: CASES[name] for name in ("hops", "bounces and rolls", "sticks longer")},
    **{name: CASES[name] for name in ("four walls", "two blocks")},
    "a wall": (lambda: pendulum(0.0, 0.8), {"x": 0.9}, 4.0),
}


@pytest.mark.slow
@pytest.mark.long_beyond(3)
@pytest.mark.parametrize("case", AUDITED)
def test_the_trajectory_of_a_unit_holds_before_the_auditor(tmp_path: Path, case: str) -> None:
    make, start, until = AUDITED[case]
    system = make()
    run = ds.solve(system, until, start)
    path = system.to_fmu(tmp_path / "unit.fmu", start).path
    own = certificate_of(path, run)
    findings = audit(own).findings
    assert not [one for one in findings if one.verdict is Verdict.CONTRADICTED]
    assert sum(one.verdict is Verdict.HOLDS for one in findings) >= 8
    # The auditor is not blind to what a unit might do: a motion that drifts, and an impact missing.
    drift = {**own.columns, "x": own.columns["x"] + 1e-3 * own.times**2}
    damages = [replace(own, columns=drift)]
    if own.events[0].impact is not None:
        damages.append(replace(own, events=own.events[1:]))
    for damaged in damages:
        found = audit(replace(damaged, scales={})).findings
        assert any(one.verdict is Verdict.CONTRADICTED for one in found)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"impact": "poisson"}, "uses the impact law 'poisson'"),
        ({"on_jam": "impact"}, "has no on_jam = 'impact'"),
        ({"on_ambiguous": "keep"}, "has no on_ambiguous = 'keep'"),
    ],
)
def test_what_else_a_run_may_do_at_contacts_is_refused(
    tmp_path: Path, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(UnsupportedError, match=said):
        _disc(0.3).to_fmu(tmp_path / "no.fmu", {"y": 1.0}, **more)


@pytest.mark.slow
def test_a_jam_ends_with_a_sentence(tmp_path: Path) -> None:
    path = ds.problem("painleve-rod").case("jam").to_fmu(tmp_path / "ends.fmu", horizon=0.5).path
    log = Log()
    unit, _ = opened(path, log=log)
    begun(unit, tolerance=1e-12)
    with pytest.raises(Exception, match="error"):
        unit.doStep(0.0, 0.5)
    assert "the contacts tip jam, and a unit does not follow them there" in log.lines[-1]
    unit.freeInstance()


@pytest.mark.slow
def test_a_slip_that_constraints_drive_through_zero_reverses(tmp_path: Path) -> None:
    """The load on one side of a slot is not determined while it turns round; the motion is."""
    case = ds.problem("slider-crank-clearance").case("clearance")
    run = case.solve(0.5)
    path = case.to_fmu(tmp_path / "slot.fmu", horizon=0.5).path
    events, _, shown = listed(path, 0.5, 0.1)
    assert {"bottom_reverses", "top_closed"} <= {name for name, _ in events}
    assert [name for name, _ in events] == [event.name for event in run.events]
    assert np.allclose([t for _, t in events], [event.time for event in run.events], atol=AGREED)
    for name in run.states:
        size = max(1.0, float(np.max(np.abs(run[name]))))
        assert abs(shown[name] - run.end_state[name]) < AGREED * size
