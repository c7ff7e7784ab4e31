"""The motions of units are those of runs, by both interfaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.posing.events import Direction
from daesolve.export.fmu import findings
from tests.export.fmu.driving import (
    EXCHANGED,
    STEPPED,
    Log,
    apart,
    begun,
    cart_pole,
    driven,
    opened,
    pendulum,
)
from tests.export.fmu.importer import exchanged

AGREED = 1e-9
"""What importing tools can tell: the tolerance of the method is 1e-14, CVode's as well; neither
motion is chaotic."""
STATES = ("x", "y", "x_dot", "y_dot")


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize("contact", [True, False])
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
def test_a_pendulum_strikes_a_wall_as_often_and_as_hard_as_in_a_run(
    tmp_path: Path, kind: str, contact: bool
) -> None:
    system, times = pendulum(contact=contact), np.linspace(0.0, 10.0, 101)
    path = system.to_fmu(tmp_path / "wall.fmu", {"x": 0.9}).path
    run, log = ds.solve(system, 10.0, initial={"x": 0.9}, at=times), Log()
    parts = 40 if kind == EXCHANGED else 1
    shown = driven(path, kind, times, parts, logger=log, debug_logging=True)
    assert findings(path) == ()
    assert apart(shown, run, [*STATES, "energy", "rod"]) < AGREED
    # One event for each strike: indicators do not chatter.
    assert len(log.named("t = ")) == len(run.events) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("shows", [False, True])
def test_a_step_ends_at_each_event_where_the_tool_allows_it(tmp_path: Path, shows: bool) -> None:
    """A clock, a guard of the state and a contact end steps early, also where a step would end."""
    system = _kicked()
    # The last step ends at an event.
    times, start = np.append(np.linspace(0.0, 3.0, 14)[:-1], 2.9), {"x": 1.0}
    path = system.to_fmu(tmp_path / "kicked.fmu", start).path
    run = ds.solve(system, times[-1], start, at=times)
    instants = [*sorted({event.time for event in run.events if event.time < 2.89}), 2.9]
    assert len(instants) > 8
    unit, variables = opened(path, eventModeUsed=shows, earlyReturnAllowed=True)
    begun(unit, tolerance=1e-13)
    if shows:
        unit.updateDiscreteStates()
        unit.enterStepMode()
    names, met = [*run.states], list[float]()
    time = 0.0
    for k, end in enumerate(times[1:].tolist(), 1):
        while time < end:
            event, _, early, time = unit.doStep(time, end - time)
            assert event == (shows and (early or end == 2.9))
            if early or end == 2.9:
                met.append(time)
            if event:
                before = unit.getFloat64([variables["x_dot"]])[0]
                unit.enterEventMode()
                unit.updateDiscreteStates()
                unit.enterStepMode()
                # The tool sees the state before the event, and after it.
                assert unit.getFloat64([variables["x_dot"]])[0] != before
        if time < 2.9:
            own = unit.getFloat64([variables[name] for name in names])
            assert np.allclose(own, [run[name][k] for name in names], rtol=0, atol=AGREED)
    unit.freeInstance()
    assert np.allclose(met, instants, rtol=0.0, atol=AGREED)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
def test_a_contact_comes_to_rest_after_infinitely_many_impacts_and_holds(
    tmp_path: Path, kind: str
) -> None:
    system, times = pendulum(0.3, 0.6), np.linspace(0.0, 6.0, 61)
    path = system.to_fmu(tmp_path / "rests.fmu", {"x": 0.9}).path
    run = ds.solve(system, 6.0, initial={"x": 0.9}, at=times)
    shown = driven(path, kind, times, 40 if kind == EXCHANGED else 1)
    assert run.events[-1].after["contact_stop"] == shown["contact_stop"][-1] == 1.0
    # The end of the bounces is where they fall below what counts as zero, which rounding decides
    # on: what the instant is off, 1e-7 s at a speed of 1e-6 m/s, is gone once it rests.
    assert apart(shown, run, STATES) < AGREED
    assert abs(shown["stop"][-1] - run["stop"][-1]) < 1e-9 * run["stop"][-1]


def _kicked() -> ds.MechanicalSystem:
    """Pose a mass on a spring that a clock kicks, that a wall throws back, and that is slowed."""
    q, kick = ds.coordinates(x="m"), ca.sin(5 * ca.pi * (ds.time - 0.3))
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=30 * q.x**2,
        goals=[ds.Contact("wall", q.x + 0.5, restitution=0.9, closed=False)],
        events=[
            ds.Event("kick", kick, ds.RISING, ds.Reset({"x_dot": q.dot.x + 0.5})),
            ds.Event("slow", q.x - 0.2, ds.RISING, ds.Reset({"x_dot": 0.95 * q.dot.x})),
            ds.Event("last", ds.time - 2.9, ds.RISING, ds.Reset({"x_dot": 0.9 * q.dot.x})),
        ],
    )


def _turning(*guards: tuple[str, Any, Direction]) -> ds.MechanicalSystem:
    """Pose a wheel that turns evenly, and counters of what passes."""
    q = ds.coordinates(phi="rad")
    counts = ds.discrete(**{name: 0.0 for name, _, _ in guards})
    events = [
        ds.Event(name, make(q.phi), way, ds.Reset({name: counts[name] + 1}))
        for name, make, way in guards
    ]
    return ds.MechanicalSystem(q, kinetic=q.dot.phi**2 / 2, discrete=counts, events=events)


def _every(period: float, first: float) -> Callable[[ca.SX], ca.SX]:
    """Return the guard of a clock."""
    return lambda _: ca.sin(2 * ca.pi * (ds.time - first) / period)


PASSING = {
    "fast": (96, _turning(("one", ca.sin, ds.RISING))),
    "either way": (191, _turning(("one", ca.sin, ds.EITHER))),
    "several": (
        96 + 95 + 191 + 96,
        _turning(
            ("list", lambda phi: [ca.sin(phi), ca.cos(phi), ca.sin(2 * phi) - 0.3], ds.RISING),
            ("grazes", lambda phi: ca.sin(phi) - 1 + 1e-10, ds.RISING),
        ),
    ),
    "clocks of whole ratios": (
        100 + 50 + 34,
        _turning(
            ("one", _every(0.1, 0.03), ds.RISING),
            ("other", _every(0.2, 0.03), ds.RISING),
            ("third", _every(0.3, 0.03), ds.RISING),
        ),
    ),
    "through kinks": (191, _turning(("one", lambda phi: ca.fabs(ca.sin(phi)) - 1e-3, ds.FALLING))),
    "steep": (191, _turning(("one", lambda phi: ca.atan(50 * ca.sin(phi)), ds.EITHER))),
    "saturated": (
        192,
        _turning(("one", lambda phi: ca.tanh(1000 * (ca.sin(phi) - 0.999)) + 0.5, ds.EITHER)),
    ),
    "an angle that jumps back": (
        192,
        _turning(("one", lambda phi: ca.atan2(ca.sin(phi), ca.cos(phi)) - 1, ds.EITHER)),
    ),
    "a sawtooth": (600, _turning(("one", lambda phi: phi - ca.floor(phi) - 0.5, ds.RISING))),
    "a brief pulse in slow motion": (
        10,
        _turning(
            ("one", lambda phi: ca.exp(-1e4 * (ca.sin(phi / 20) - 0.5) ** 2) - 0.5, ds.RISING)
        ),
    ),
    "ever faster": (
        574,
        _turning(("one", lambda phi: ca.sin(phi**2 / 100), ds.RISING)),
    ),
    "a high power": (382, _turning(("one", lambda phi: ca.sin(phi) ** 50 - 0.5, ds.EITHER))),
    "a narrow resonance": (
        2,
        _turning(("one", lambda phi: 1 / (1e-4 + (phi - 17) ** 2) - 100, ds.EITHER)),
    ),
}
"""How often guards of a wheel that turns from 0.3 to 600.3 rad pass, counted by hand.

One that starts past zero passes there as well.
"""


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize(("count", "system"), PASSING.values(), ids=PASSING)
def test_however_long_the_steps_that_a_tool_asks_for_events_are_those_of_a_run(
    tmp_path: Path, count: int, system: ds.MechanicalSystem
) -> None:
    start = {"phi": 0.3, "phi_dot": 60.0}
    path, run = system.to_fmu(tmp_path / "turns.fmu", start).path, ds.solve(system, 10.0, start)
    known = sorted({(event.name, event.time) for event in run.events})
    counters = [name for name in run.end_values if "switch" not in name]
    assert sum(run.end_values[name] for name in counters) == count
    for step in (1e-3, 0.1, 1.0, 10.0):
        log = Log()
        driven(path, STEPPED, np.arange(0.0, 10.0 + step / 2, step), logger=log, debug_logging=True)
        met = [line.removesuffix(" s").split(" at t = ") for line in log.named(" at t = ")]
        found = sorted({(name, float(time)) for name, time in met})
        assert [name for name, _ in found] == [name for name, _ in known]
        times = np.array([[time for _, time in table] for table in (found, known)])
        assert np.max(np.abs(times[0] - times[1])) < AGREED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guard", "way"),
    [(lambda phi: ca.sin(phi) - 1, ds.RISING), (lambda phi: ca.sin(phi) ** 2, ds.EITHER)],
)
def test_a_guard_that_touches_zero_and_turns_round_has_no_event(
    tmp_path: Path, guard: Callable[[ca.SX], ca.SX], way: Direction
) -> None:
    system = _turning(("one", guard, way))
    path = system.to_fmu(tmp_path / "touches.fmu", {"phi": 0.3, "phi_dot": 60.0}).path
    for step in (0.1, 10.0):
        shown = driven(path, STEPPED, np.arange(0.0, 10.0 + step / 2, step))
        assert shown["one"][-1] == 0.0


def _oscillating(guard: Callable[..., Any], shift_at: float = 9.0) -> ds.MechanicalSystem:
    """Pose an oscillator that counts; at a time what it counts by is shifted by 2.5."""
    q, d = ds.coordinates(x="m"), ds.discrete(shift=0.0, count=0.0)
    events = [
        ds.Event("shifts", ds.time - shift_at, ds.RISING, ds.Reset({"shift": 2.5})),
        ds.Event("one", guard(q, d), ds.RISING, ds.Reset({"count": d.count + 1})),
    ]
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, discrete=d, events=events
    )


@pytest.mark.long_beyond(5)
@pytest.mark.slow
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
@pytest.mark.parametrize(
    ("system", "start", "count"),
    [
        # A reset puts it past zero: it comes back and turns round there; or it goes on.
        (_oscillating(lambda q, d: q.x + d.shift - 1, 2.0), (0.0, 0.9), 0),
        (_oscillating(lambda q, d: q.x + d.shift - 1, 0.5), (0.0, 0.9), 1),
        # It starts past zero from rest, on its way back: it passes after 5.7 s alone.
        (_oscillating(lambda q, d: q.x - 1), (1.2, 0.0), 1),
        # It starts at zero without a rate.
        (_oscillating(lambda q, d: 1 - q.x), (1.0, 0.0), 1),
    ],
)
def test_what_no_motion_took_past_zero_is_judged_as_in_a_run(
    tmp_path: Path,
    kind: str,
    system: ds.MechanicalSystem,
    start: tuple[float, float],
    count: int,
) -> None:
    initial = dict(zip(("x", "x_dot"), start, strict=True))
    path = system.to_fmu(tmp_path / "past.fmu", initial).path
    shown = driven(path, kind, np.linspace(0.0, 6.0, 7), 20 if kind == EXCHANGED else 1)
    run = ds.solve(system, 6.0, initial)
    assert shown["count"][-1] == run.end_values["count"] == count


@pytest.mark.slow
def test_a_guard_without_a_slope_passes_zero_each_time(tmp_path: Path) -> None:
    system = _turning(("one", lambda phi: ca.sin(phi) ** 3, ds.RISING))
    path = system.to_fmu(tmp_path / "flat.fmu", {"phi": -0.3, "phi_dot": 60.0}).path
    for step in (0.1, 10.0):
        shown = driven(path, STEPPED, np.arange(0.0, 10.0 + step / 2, step))
        assert shown["one"][-1] == 1 + (600.0 - 0.3) // (2 * np.pi)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
def test_resets_that_never_end_are_an_error_with_a_sentence(tmp_path: Path, kind: str) -> None:
    path = pendulum(0.3, 0.6, contact=False).to_fmu(tmp_path / "never.fmu", {"x": 0.9}).path
    log, times = Log(), np.linspace(0.0, 6.0, 61)
    with pytest.raises(Exception, match="error"):
        driven(path, kind, times, 40 if kind == EXCHANGED else 1, logger=log)
    assert "the resets of strike do not end" in log.lines[-1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
def test_inputs_that_the_tool_holds_drive_the_motion(tmp_path: Path, kind: str) -> None:
    system, times = cart_pole(), np.linspace(0.0, 4.0, 41)
    held = {"push": 0.7, "torque": -0.1}
    path = system.to_fmu(tmp_path / "cart.fmu", {"angle": 0.4}).path
    run = ds.solve(system, 4.0, initial={"angle": 0.4}, inputs=held, at=times)
    given = np.array(
        [(0.0, *held.values()), (9.0, *held.values())],
        dtype=[("time", float), ("push", float), ("torque", float)],
    )
    shown = driven(path, kind, times, 20 if kind == EXCHANGED else 1, input=given)
    names = ["x", "angle", "x_dot", "angle_dot", "energy", "work"]
    assert apart(shown, run, names) < AGREED


@pytest.mark.slow
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
def test_tables_expressions_and_sampled_laws_act_within_a_unit(tmp_path: Path, kind: str) -> None:
    # Samples lie between the ticks, at which a unit shows what is after them, and a run what is
    # before.
    system, times = cart_pole(), 0.005 + np.linspace(0.0, 2.0, 41)
    acting = {
        "push": ds.table("pull", [0.0, 0.5, 1.2, 2.0], [0.0, 1.0, -1.0, 0.5], "linear"),
        "torque": ds.sampled("hold", 0.05, lambda seen: -0.4 * seen.angle - 0.1 * seen.angle_dot),
    }
    start = {"angle": 0.4}
    path = system.to_fmu(tmp_path / "law.fmu", start, inputs=acting, start_time=0.005).path
    run = ds.solve(system, 2.005, initial=start, inputs=acting, at=times, start_time=0.005)
    shown = driven(path, kind, times, 20 if kind == EXCHANGED else 1)
    assert findings(path) == ()
    assert apart(shown, run, ["x", "angle", "x_dot", "angle_dot"]) < AGREED


@pytest.mark.slow
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
def test_tables_and_parameters_begin_anew_where_a_tool_starts_otherwise(
    tmp_path: Path, kind: str
) -> None:
    system, times = cart_pole(), 0.7 + np.linspace(0.0, 2.0, 41)
    pull = ds.table("pull", [0.0, 0.5, 1.2, 2.0], [0.0, 1.0, -1.0, 0.5], "linear")
    acting = {"push": pull, "torque": 0.0}
    path = system.to_fmu(tmp_path / "late.fmu", {"angle": 0.4}, inputs=acting).path
    start = {"angle": -0.2, "x_dot": 0.1}
    run = ds.solve(
        system, 2.7, initial=start, inputs=acting, at=times, start_time=0.7,
        parameters={"length": 0.8},
    )  # fmt: skip
    given = start | {"length": 0.8}
    shown = driven(path, kind, times, 20 if kind == EXCHANGED else 1, start_values=given)
    assert apart(shown, run, ["x", "angle", "x_dot", "angle_dot", "energy", "work"]) < AGREED


def _switched() -> ds.MechanicalSystem:
    """Pose an oscillator with a switch and a blow at 7 s, beyond which a unit may start."""
    q, blows = ds.coordinates(x="m"), ds.discrete(blows=0.0)
    reset = ds.Reset({"blows": blows.blows + 1}, impose=[ds.Holonomic("stop", q.x)])
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        force={"x": ca.if_else(ds.time > 7, 1, 0) + 0.3 * ca.floor(ds.time)},
        discrete=blows,
        events=[ds.Event("blow", ds.time - 7, ds.RISING, reset)],
    )


def _sampled() -> ds.MechanicalSystem:
    """Pose an oscillator under a law that counts its samples."""
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force={"x": u.push}, inputs=u
    )


def _counting() -> dict[str, Any]:
    return {
        "push": ds.sampled(
            "law", 0.5, lambda seen: (0.1 * seen.k - seen.x, {"k": seen.k + 1}), states={"k": 0.0}
        )
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "acting", "start"), [(_switched, dict, 9.0), (_sampled, _counting, 5.3)]
)
def test_a_unit_that_starts_later_than_it_was_exported_moves_as_a_run_from_there(
    tmp_path: Path, make: Callable[[], Any], acting: Callable[[], Any], start: float
) -> None:
    system, times, initial = make(), start + np.linspace(0.0, 2.05, 42), {"x": 1.0}
    path = system.to_fmu(tmp_path / "late.fmu", initial, inputs=acting()).path
    run = ds.solve(system, times[-1], initial, at=times, start_time=start, inputs=acting())
    shown = driven(path, STEPPED, times)
    # A unit shows values after an event, a run those before.
    later = {name: column[[1, -1]] for name, column in shown.items()}
    known = {name: np.asarray(run[name])[[1, -1]] for name in ("x", "x_dot")}
    for name, column in known.items():
        assert np.max(np.abs(later[name] - column)) < AGREED


@pytest.mark.slow
@pytest.mark.parametrize("kind", [STEPPED, EXCHANGED])
def test_blows_of_several_events_at_one_instant_are_one(tmp_path: Path, kind: str) -> None:
    # Two masses on one rod meet two stops at once; alone, each blow would turn the rod.
    q = ds.coordinates(y="m", turn="rad")
    ends = [q.y + side * 0.5 * ca.sin(q.turn) for side in (-1.0, 1.0)]
    blows = [
        ds.Event(
            f"end_{k}",
            end,
            ds.FALLING,
            ds.Reset(impose=[ds.Holonomic(f"stop_{k}", end)], restitution=0.5),
        )
        for k, end in enumerate(ends)
    ]
    rod = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2 + q.dot.turn**2 / 40,
        potential=10.0 * q.y,
        events=blows,
    )
    times, start = np.linspace(0.0, 1.4, 41), {"y": 5.0, "turn": 0.0}
    path = rod.to_fmu(tmp_path / "rod.fmu", start).path
    run = ds.solve(rod, 1.4, initial=start, at=times)
    shown = driven(path, kind, times)
    # It falls for 1 s, and leaves with half the speed and without a turn.
    assert abs(shown["y_dot"][-1] - (5.0 - 10.0 * 0.4)) < AGREED
    assert apart(shown, run, ["y", "turn", "y_dot", "turn_dot"]) < AGREED


@pytest.mark.long
@pytest.mark.parametrize(("kind", "until"), [(STEPPED, 1800.0), (EXCHANGED, 60.0)])
def test_the_hoop_rolls_as_in_a_run(tmp_path: Path, kind: str, until: float) -> None:
    # CVode's own error grows with the phase: 4e-8 after 60 s at 1e-12, 4e-9 at 1e-13, 6e-10 at
    # 1e-14, the least that it takes.
    case, times = ds.problem("rolling-wheel").case("hoop"), np.linspace(0.0, until, 301)
    path = case.to_fmu(tmp_path / "hoop.fmu").path
    run = case.solve(until, at=times)
    shown = driven(path, kind, times, 20 if kind == EXCHANGED else 1)
    assert findings(path) == ()
    assert apart(shown, run, [*run.states]) < AGREED


@pytest.mark.long
@pytest.mark.parametrize(("kind", "until"), [(STEPPED, 1000.0), (EXCHANGED, 30.0)])
def test_a_vehicle_on_omni_wheels_has_the_impacts_of_a_run(
    tmp_path: Path, kind: str, until: float
) -> None:
    # CVode's own error has grown to 1e-9 after 60 s, and to 7e-9 after 1000 s.
    case, times = ds.problem("omni-rolling").case("twist"), np.linspace(0.0, until, 401)
    path = case.to_fmu(tmp_path / "twist.fmu").path
    run, log = case.solve(until, at=times), Log()
    parts = 20 if kind == EXCHANGED else 1
    shown = driven(path, kind, times, parts, logger=log, debug_logging=True)
    assert len(log.named("roller_switch")) == len(run.events)
    assert until < 1000.0 or len(run.events) == 1618
    assert apart(shown, run, [*run.states]) < AGREED


@pytest.mark.long
@pytest.mark.parametrize(
    ("problem", "case", "until", "events"),
    [("omni-rolling", "twist", 1000.0, 1618), ("rolling-wheel", "hoop", 300.0, 0)],
)
def test_by_a_more_accurate_tool_model_exchange_is_as_near_over_long_motions(
    tmp_path: Path, problem: str, case: str, until: float, events: int
) -> None:
    bound = ds.problem(problem).case(case)
    path = bound.to_fmu(tmp_path / "unit.fmu").path
    run = bound.solve(until, at=[0.0, until])
    states, count = exchanged(path, until)
    own = np.array([series[-1] for series in run.states.values()])
    assert count == len(run.events) == events
    assert np.max(np.abs(own - states[: len(own)]) / np.maximum(1.0, np.abs(own))) < AGREED
