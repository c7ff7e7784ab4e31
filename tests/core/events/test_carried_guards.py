"""Guards that a start, a reset or a step of an input puts past zero: one rule for all of them."""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds

AMPLITUDE = 0.9


def latched(at: float, by: float = 1.5) -> ds.MechanicalSystem:
    """An oscillator with a latch on x + shift - 1; a reset shifts it at a time."""
    q, d = ds.coordinates(x="m"), ds.discrete(shift=0.0, closed=0.0)
    shifts = ds.Event("shifts", ds.time - at, ds.RISING, ds.Reset({"shift": d.shift + by}))
    closes = ds.Reset({"closed": d.closed + 1.0})
    latch = ds.Event("latch", q.x + d.shift - 1.0, ds.RISING, closes)
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, discrete=d, events=[shifts, latch]
    )


def times_of(run, name: str = "latch") -> list[float]:
    return [event.time for event in run.events if event.name == name]


def noted(run) -> list[str]:
    return [note for note in run.notes if "no motion took the guard" in note]


RETURN = 2 * math.pi - math.asin(0.5 / AMPLITUDE)
"""When x rises through -0.5 m, s."""


@pytest.mark.parametrize("solver", ["taylor", "dop853"])
@pytest.mark.parametrize(("at", "passes"), [(0.5, True), (2.0, False)])
def test_what_a_reset_puts_past_zero_has_passed_unless_it_is_on_its_way_back(at, passes, solver):
    run = ds.solve(latched(at), until=7.0, initial={"x_dot": AMPLITUDE}, solver=solver)
    expected = [at, RETURN] if passes else [RETURN]
    assert times_of(run) == pytest.approx(expected, abs=1e-9)
    (note,) = noted(run)
    assert ("counts as passed" if passes else "on its way back") in note
    assert f"t = {at:g} s" in note
    assert run.audit().holds


def test_what_returns_does_not_fire_at_a_later_event_where_it_goes_out_again():
    """Past zero it turns round, and another event looks at it while it goes out again."""
    system = latched(2.0, by=2.5)
    q, d = system.coordinates, system.discrete
    looks = ds.Event("looks", ds.time - 5.0, ds.RISING, ds.Reset({"shift": d.shift + 0.1}))
    watched = ds.MechanicalSystem(
        q,
        kinetic=system.kinetic,
        potential=system.potential,
        discrete=d,
        events=[*system.events, looks],
    )
    run = ds.solve(watched, until=6.0, initial={"x_dot": AMPLITUDE})
    assert times_of(run) == []
    assert run.audit().holds


def test_a_rope_at_rest_breaks_under_a_load_that_a_reset_hangs_on_it():
    q, d = ds.coordinates(y="m"), ds.discrete(load=1.0, broken=0.0)
    rope = ds.Holonomic("rope", q.y)
    hangs = ds.Event("hangs", ds.time - 1.0, ds.RISING, ds.Reset({"load": 3.0}))
    breaks = ds.Event("breaks", -rope.reaction - 20.0, ds.RISING, ds.Reset({"broken": 1.0}))
    up = ds.Event("pulls", rope.reaction - 20.0, ds.RISING, ds.Reset({"broken": 1.0}))
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        force={"y": -9.81 * d.load},
        goals=[rope],
        discrete=d,
        events=[hangs, breaks, up],
    )
    run = ds.solve(system, until=2.0, initial={"y": 0.0})
    assert [(event.name, event.time) for event in run.events][1:] in (
        [("breaks", 1.0)],
        [("pulls", 1.0)],
    )


def test_the_same_rule_holds_at_a_start():
    """From rest at 1 m it goes back; from rest where it stays past zero it has passed."""
    back = ds.solve(latched(9.0, by=0.0), until=1.0, initial={"x": 1.2})
    assert times_of(back) == []
    assert "on its way back" in noted(back)[0]
    q, d = ds.coordinates(x="m"), ds.discrete(closed=0.0)
    latch = ds.Event("latch", q.x - 1.0, ds.RISING, ds.Reset({"closed": 1.0}))
    free = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=d, events=[latch])
    assert times_of(ds.solve(free, until=1.0, initial={"x": 1.2})) == [0.0]
    pushed = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, force={"x": 1.0}, discrete=d, events=[latch]
    )
    assert times_of(ds.solve(pushed, until=1.0, initial={"x": 1.2})) == [0.0]


def test_a_run_that_goes_on_from_disk_behind_the_reset_knows_what_has_not_passed(tmp_path):
    system = latched(2.0)
    initial, at = {"x_dot": AMPLITUDE}, ds.every(1.0)
    whole = ds.solve(system, 7.0, initial, at=at, store=tmp_path / "whole")
    ds.solve(system, 3.0, initial, at=at, store=tmp_path / "run")
    resumed = ds.resume(tmp_path / "run", 7.0, source=system)
    assert times_of(resumed) == pytest.approx(times_of(whole), abs=1e-12)
    assert noted(resumed) == noted(whole) != []


@pytest.mark.parametrize("switches", [False, True])
@pytest.mark.parametrize(("after", "stopped"), [(0.5, True), (2.0, False)])
def test_a_step_of_an_input_puts_a_guard_past_zero_by_the_same_rule(after, stopped, switches):
    q, u, d = ds.coordinates(x="m"), ds.inputs(shift=(0.0, "m")), ds.discrete(n=0.0)
    then = ds.Stop() | ds.Reset({"n": 1.0}) if switches else ds.Stop()
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        inputs=u,
        discrete=d,
        events=[ds.Event("stop", q.x + u.shift - 1.0, ds.RISING, then)],
    )
    simulator = ds.Simulator(system, initial={"x_dot": AMPLITUDE})
    simulator.step(after, shift=0.0)
    simulator.step(0.1, shift=1.5)
    assert (simulator.outcome is not None) is stopped
    assert simulator.time == pytest.approx(after if stopped else after + 0.1)


def test_a_guard_that_a_reset_arms_while_it_comes_back_waits_for_its_passage():
    """The walker's idiom: what does not count is -1; it is armed past zero, on its way back."""
    q, d = ds.coordinates(x="m"), ds.discrete(armed=0.0)
    guard = d.armed * q.x - (1.0 - d.armed)
    events = [
        ds.Event("arm", q.x - 0.5, ds.FALLING, ds.Reset({"armed": 1.0})),
        ds.Event("strike", guard, ds.RISING, ds.Reset({"armed": 0.0})),
    ]
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, discrete=d, events=events
    )
    run = ds.solve(system, until=6.0, initial={"x": 1.0})
    assert times_of(run, "strike") == pytest.approx([1.5 * np.pi], abs=1e-12)


OSCILLATOR = ds.coordinates(x="m")
X, V, T = OSCILLATOR.x, OSCILLATOR.dot.x, ds.time
JUMPING = {
    "if_else": (
        ca.if_else(X > 0.5, V, X - 2 * V),
        lambda t: np.where(np.cos(t) > 0.5, -np.sin(t), np.cos(t) + 2 * np.sin(t)),
    ),
    "sign": (ca.sign(X) * V, lambda t: -np.sign(np.cos(t)) * np.sin(t)),
    "fmod": (ca.fmod(T, 0.7) - 0.35, lambda t: np.fmod(t, 0.7) - 0.35),
    "floor": (ca.floor(3 * X + 0.1) * V, lambda t: -np.floor(3 * np.cos(t) + 0.1) * np.sin(t)),
    "pole": (1 / (X - 0.2), None),
}  # fmt: skip


@pytest.mark.parametrize("direction", [ds.RISING, ds.FALLING, ds.EITHER])
@pytest.mark.parametrize("kind", [*JUMPING])
def test_guards_pass_where_they_jump_through_zero_but_not_at_poles(kind, direction):
    guard, values = JUMPING[kind]
    for counts in (True, False):
        assert_passages(guard, values, direction, counts)


@pytest.mark.parametrize("solver", ["dop853", "radau", "cvodes"])
def test_every_solver_lets_guards_that_jump_pass(solver):
    guard, values = JUMPING["if_else"]
    assert_passages(guard, values, ds.RISING, True, solver=solver)


def assert_passages(guard, values, direction, counts, **options):
    """Compare the events of an oscillator cos(t) with the changes of sign on a fine grid."""
    n = ds.discrete(n=0.0)
    action = ds.Reset({"n": n.n + 1}) if counts else ds.Record()
    system = ds.MechanicalSystem(
        OSCILLATOR,
        kinetic=V**2 / 2,
        potential=X**2 / 2,
        discrete=n,
        events=[ds.Event("g", guard, direction, action)],
    )
    first, last = 0.1, 7.9
    start = {"x": np.cos(first), "x_dot": -np.sin(first)}
    run = ds.solve(system, last, start_time=first, initial=start, **options)
    found = [event.time for event in run.events if event.name == "g"]
    if values is None:
        assert len(found) == (first in found)  # past zero at the start
        return
    times = np.linspace(first, last, 200_001)
    signs = np.sign(values(times))
    changes = np.flatnonzero(signs[1:] * signs[:-1] < 0.0)
    changes = [k for k in changes if direction.value * signs[k + 1] >= 0.0]
    np.testing.assert_allclose([t for t in found if t > first], times[changes], atol=4e-5)
