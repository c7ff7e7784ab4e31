"""A unit lists the events of a run, however long its steps: where guards begin, touch, and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.export.fmu.exporting import unit_of
from tests.export.fmu.driving import listed

AGREED = 1e-9
RISING, FALLING, EITHER = ds.RISING, ds.FALLING, ds.EITHER


def _turning(*guards: tuple[str, Any, Any]) -> ds.MechanicalSystem:
    """Pose a wheel that turns evenly, and counters of what passes."""
    q = ds.coordinates(phi="rad")
    counts = ds.discrete(**{name: 0.0 for name, _, _ in guards})
    events = [
        ds.Event(name, make(q.phi), way, ds.Reset({name: counts[name] + 1}))
        for name, make, way in guards
    ]
    return ds.MechanicalSystem(q, kinetic=q.dot.phi**2 / 2, discrete=counts, events=events)


def _oscillating(*events: Any, **more: Any) -> ds.MechanicalSystem:
    """Pose an oscillator with events that are functions of its coordinate."""
    q, d = ds.coordinates(x="m"), ds.discrete(count=0.0, shift=0.0)
    made = [ds.Event(name, guard(q, d), way, then(q, d)) for name, guard, way, then in events]
    force = more.pop("force", None)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=more.pop("stiffness", 1.0) * q.x**2 / 2,
        discrete=d,
        events=made,
        force={} if force is None else {"x": force(q)},
    )


def _counts(q: Any, d: Any) -> ds.Reset:
    return ds.Reset({"count": d.count + 1})


def _stops(q: Any, d: Any) -> ds.Stop:
    return ds.Stop()


def _recorded(q: Any, d: Any) -> ds.Record:
    return ds.Record()


FAST, SLOW = {"phi": 0.3, "phi_dot": 60.0}, {"x": 1.0, "x_dot": 0.3}
CASES: dict[str, tuple[Callable[[], ds.MechanicalSystem], Mapping[str, float], int]] = {
    # 191 zeros after the start; one that starts past zero passes there; a pole is no passage.
    "a pole at every turn": (
        lambda: _turning(("rises", ca.tan, RISING), ("either", ca.tan, EITHER)),
        FAST,
        192 + 191,
    ),
    "a pole alone": (lambda: _turning(("one", lambda phi: 1 / (phi - 100.03), RISING)), FAST, 0),
    "zeros between poles": (
        lambda: _turning(("one", lambda phi: 1 / ca.sin(phi) - 3, RISING)),
        FAST,
        96,
    ),
    "begins at zero without a rate": (
        lambda: _turning(("one", lambda phi: ca.cos(phi) - 1, EITHER), ("other", ca.sin, FALLING)),
        {"phi": 0.0, "phi_dot": 60.0},
        95,
    ),
    # Either of two guards counts either way, and both pass at once; the third a quarter later.
    "several of a list at once": (
        lambda: _oscillating(
            ("one", lambda q, d: [q.x, -q.x, q.dot.x], EITHER, _counts),
        ),
        SLOW,
        7,
    ),
    "what is only recorded": (
        lambda: _oscillating(
            ("one", lambda q, d: [q.x, q.dot.x], EITHER, _recorded),
            ("other", lambda q, d: q.x - 0.3, RISING, _recorded),
        ),
        SLOW,
        7 + 1,
    ),
    "a stop with others at its instant": (
        lambda: _oscillating(
            ("ends", lambda q, d: q.x + 0.3, FALLING, _stops),
            ("counts", lambda q, d: q.x + 0.3, FALLING, _counts),
            ("seen", lambda q, d: q.x + 0.3, EITHER, _recorded),
        ),
        SLOW,
        3,
    ),
    "a stop at zero at the start": (
        lambda: _oscillating(("ends", lambda q, d: q.x - 1, RISING, _stops)),
        SLOW,
        1,
    ),
    # Its reset takes another past zero, which counts either way: no motion took it there.
    "past zero by a reset": (
        lambda: _oscillating(
            ("shifts", lambda q, d: ds.time - 1, RISING, lambda q, d: ds.Reset({"shift": 0.5})),
            ("one", lambda q, d: q.x + d.shift - 0.8, EITHER, _counts),
        ),
        SLOW,
        5,
    ),
    "either way at the end": (
        lambda: _oscillating(
            ("one", lambda q, d: ds.time - 10, RISING, _counts),
            ("other", lambda q, d: ds.time - 10, EITHER, _counts),
        ),
        SLOW,
        2,
    ),
    "drag from rest under a force from zero": (
        lambda: _oscillating(
            ("one", lambda q, d: q.x - 1, RISING, _counts),
            stiffness=0.0,
            force=lambda q: ds.time - 0.5 * ca.fabs(q.dot.x),
        ),
        {"x": 0.0, "x_dot": 0.0},
        2,
    ),
}


@pytest.mark.slow
@pytest.mark.long_beyond(6)
@pytest.mark.parametrize("case", CASES)
def test_events_are_those_of_a_run_whatever_the_step(tmp_path: Path, case: str) -> None:
    make, start, count = CASES[case]
    system = make()
    run = ds.solve(system, 10.0, start)
    known = sorted(((event.name, event.time) for event in run.events), key=lambda one: one[::-1])
    assert len(known) == count
    path = system.to_fmu(tmp_path / "unit.fmu", start).path
    for step, shows in ((0.1, False), (10.0, False), (1.0, True)):
        events, time, shown = listed(path, 10.0, step, shows=shows)
        assert sorted(name for name, _ in events) == sorted(name for name, _ in known)
        times = np.array([[moment for _, moment in table] for table in (events, known)])
        assert np.max(np.abs(times[0] - times[1]), initial=0.0) < AGREED
        assert abs(time - run.end_time) < AGREED
        for name in run.states:
            assert shown[name] == pytest.approx(run.end_state[name], abs=AGREED)


@pytest.mark.slow
def test_a_unit_lists_what_contacts_do_as_a_run_does(tmp_path: Path) -> None:
    """A kick begins a slide, and opens a contact, though no guard of these fires."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, restitution=0.3, friction=0.3, slip=q.dot.x)
    kicks = [
        ds.Event(
            f"kick_{hop}", ds.time - 1 - hop, RISING,
            ds.Reset({"x_dot": q.dot.x + 1, "y_dot": q.dot.y + hop}),
        )
        for hop in (0, 1)
    ]  # fmt: skip
    block = ds.MechanicalSystem(
        q, kinetic=ca.sumsqr(q.dot.vector) / 2, potential=10 * q.y, goals=[floor], events=kicks
    )
    start = dict.fromkeys(("x", "y", "x_dot", "y_dot"), 0.0)
    run = ds.solve(block, 3.0, start, at=[0.0, 3.0])
    events, _, _ = listed(block.to_fmu(tmp_path / "unit.fmu", start).path, 3.0, 1.5)
    known = [(event.name, event.time) for event in run.events if event.name != "rest"]
    assert {"floor_lost", "floor_closed", "floor_slips", "floor_sticks"} <= {*dict(known)}
    assert sorted(name for name, _ in events) == sorted(name for name, _ in known)
    assert np.allclose(sorted(t for _, t in events), sorted(t for _, t in known), atol=AGREED)


@pytest.mark.slow
def test_guards_of_contacts_stay_as_they_are() -> None:
    """Their fractions are products of sixty factors, which underflow."""
    case = ds.problem("rolling-wheel").case("pendulum-flies")
    functions = unit_of(case, horizon=1.0).sheet.functions
    prepared = functions.prepared
    assert all(sign is None for sign in functions.bounded.signs)
    place = prepared.start_time, prepared.initial, prepared.values
    guards = ca.Function("g", [functions.t, functions.x, functions.p], [functions.bounded.values])
    known = np.ravel(prepared.problem.guards(*place))
    assert np.array_equal(np.ravel(guards(*place)), known)
    assert np.count_nonzero(known) == len(known)
