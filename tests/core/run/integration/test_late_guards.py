"""Passages that no solver found: where they were, and what the search for them costs."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.run.integration import late_guards
from daesolve.core.run.integration.run_state import fresh_state
from daesolve.core.solvers import EventHit, State
from tests.systems import prepared_run

SOLVERS = [ds.Taylor(), ds.Dop853(), ds.Cvodes(), ds.Lsoda(), ds.RadauIIA()]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
D = ds.discrete(count=0.0)
COUNTS = ds.Reset({"count": D.count + 1.0})


def swing(guard, direction=ds.RISING):
    """An oscillator with one event."""
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        discrete=D,
        events=[ds.Event("passes", guard(q.x, q.dot.x), direction, COUNTS)],
    )


@each_solver
def test_the_first_of_several_passages_is_found_for_little_more_than_the_segment(
    solver, monkeypatch
):
    """x = cos t falls through zero at pi / 2 and at 5 pi / 2."""
    prepared = prepared_run(swing(lambda x, v: -x), 8.0, {"x": 1.0, "x_dot": 0.0}, solver=solver)
    run = fresh_state(prepared, None)
    assert run.transitions is not None
    start = State(0.0, prepared.initial, prepared.values)
    run.transitions.measure(start.time, start.x, start.p)
    state = start.x.copy()
    state[:2] = np.cos(8.0), -np.sin(8.0)
    end = replace(prepared.integrated(start, 1.0, np.empty(0), lambda block: None), time=8.0)
    spans: list[float] = []
    states = late_guards._states

    def counted(run, begin, until, times):
        spans.append(until - begin.time)
        return states(run, begin, until, times)

    monkeypatch.setattr(late_guards, "_states", counted)
    guard, moment, size = late_guards.first_zero(
        run, run.transitions, start, replace(end, state=state), [0]
    )
    assert guard == 0
    assert size <= late_guards.POLE
    assert moment == pytest.approx(np.pi / 2, abs=2e-8)
    assert sum(spans) <= 8.0 * late_guards.PARTS / (late_guards.PARTS - 1)
    # 8 s are 2^53 roundings of this time, of which each integration leaves a sixteenth.
    assert len(spans) <= 15


@each_solver
@pytest.mark.parametrize(
    ("guard", "start", "begins"),
    [
        (lambda x, v: 1.0 - x, (1.0, 0.0), True),
        (lambda x, v: x - 1.0, (1.0, 0.0), False),
        (lambda x, v: x**3, (0.0, 1.0), True),
        (lambda x, v: -(x**3), (0.0, 1.0), False),
        (lambda x, v: x**2 * v, (0.0, 1.0), True),
    ],
)
def test_a_guard_at_zero_without_a_rate_goes_the_way_of_its_first_derivative(
    guard, start, begins, solver
):
    run = ds.solve(swing(guard), 1.0, dict(zip(("x", "x_dot"), start, strict=True)), solver=solver)
    assert [event.time for event in run.events] == [0.0] * begins
    assert run.audit().holds


@pytest.mark.slow_rows("belt-radau", "belt-lsoda", "floor-dop853", "belt-cvodes", "floor-cvodes")
@each_solver
@pytest.mark.parametrize("belt", [0.0, 0.5], ids=["floor", "belt"])
def test_what_friction_keeps_at_zero_passes_once_where_the_slip_ends(belt, solver):
    """A body of 1 kg and 2 m/s under 3 N of friction sticks; then errors alone change its slip."""
    q = ds.coordinates(x="m")
    rubs = ds.multibody.Coulomb(0.3).act("rubs", q.dot.x - belt, ca.SX(10.0))
    slip = q.dot.x - belt
    events = [
        ds.Event("counts", slip, ds.EITHER, COUNTS),
        ds.Event("rises", slip, ds.RISING),
        ds.Event("resets", slip, ds.RISING, COUNTS),
    ]
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": rubs.force},
        goals=rubs.goals,
        discrete=[rubs.discrete, D],
        events=[*rubs.events, *events],
    )
    run = ds.solve(system, 3.0, {"x_dot": 2.0}, solver=solver, at=[3.0])
    found = [(event.name, event.time) for event in run.events]
    assert {name for name, _ in found} == {"rubs_sticks", "counts"}
    assert len(found) == 2
    assert [time for _, time in found] == pytest.approx([(2.0 - belt) / 3.0] * 2, abs=1e-9)


@pytest.mark.slow_rows("cvodes", "lsoda", "radau")
@each_solver
def test_a_guard_that_touches_zero_and_turns_round_has_no_event(solver):
    """A wheel turns ten times; what dips through zero by 1e-7 passes, what touches it does not."""
    q = ds.coordinates(phi="rad")
    turn = 3.0 * ds.time
    guards = {
        "top": ca.sin(q.phi) - 1.0,
        "bottom": 1.0 - ca.sin(q.phi),
        "clock": ca.sin(turn) - 1.0,
        "square": ca.sin(q.phi) ** 2,
    }
    events = [ds.Event(name, guard, ds.EITHER, COUNTS) for name, guard in guards.items()]
    events += [ds.Event(f"{name}_seen", guard) for name, guard in guards.items()]
    events.append(ds.Event("dips", ca.sin(q.phi) - 1.0 + 1e-7, ds.EITHER))
    system = ds.MechanicalSystem(q, kinetic=q.dot.phi**2 / 2, discrete=D, events=events)
    run = ds.solve(system, 20.0, {"phi": 0.3, "phi_dot": 3.0}, solver=solver, at=[20.0])
    assert [event.name for event in run.events] == 20 * ["dips"]
    assert run.audit().holds


@pytest.mark.parametrize(("below", "searched"), [(1e-12, []), (1e-3, [0])])
def test_a_guard_that_passes_at_once_with_another_is_not_searched_for(below, searched):
    """The first guard of cos t passed before the second, by asin(below)."""
    prepared = prepared_run(
        swing(lambda x, v: ca.vertcat(below - x, -x)), 1.6, {"x": 1.0, "x_dot": 0.0}
    )
    run = fresh_state(prepared, None)
    assert run.transitions is not None
    start = State(0.0, prepared.initial, prepared.values)
    end = prepared.integrated(start, 1.0, np.empty(0), lambda block: None)
    state = start.x.copy()
    state[:2] = 0.0, -1.0
    passed = replace(end, time=np.pi / 2, state=state, hits=(EventHit(1, np.pi / 2, state),))
    late = late_guards._not_at_once(run, run.transitions, start.p, passed, [0])
    assert late == searched
    # Where nothing has passed, it always is.
    assert late_guards._not_at_once(
        run, run.transitions, start.p, replace(passed, hits=()), [0]
    ) == [0]
