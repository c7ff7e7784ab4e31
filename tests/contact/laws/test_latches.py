"""Latches: the guard that catches a body is the residual of the constraint that then holds it."""

from dataclasses import replace

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.posing.events import Direction

SOLVERS = ["taylor", "dop853", "radau", "lsoda", "cvodes"]
EXACT = 1e-7
"""Relative, ten thousand times the tolerance of the coarsest of these solvers."""


def latched(release: str, *, held: float = 0.0) -> ds.MechanicalSystem:
    """Return a mass of 1 kg under 2 t N that a hook catches at x = 1 m."""
    q, d = ds.coordinates(x="m"), ds.discrete(held=held)
    hook = ds.Holonomic("hook", q.x - 1.0, held_by="held")
    guards = {"limit": -hook.reaction - 5.0, "clock": ds.time - 2.5}
    catches = ds.Event("catches", q.x - 1.0, ds.RISING, ds.Reset({"held": 1.0}, impose=["hook"]))
    lets_go = ds.Event("lets_go", guards[release], ds.RISING, ds.Reset({"held": 0.0}))
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": 2 * ds.time},
        goals=[hook],
        discrete=d,
        events=[catches, lets_go],
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("release", "held"), [("limit", 0.0), ("clock", 0.0), ("limit", 1.0)])
def test_a_hook_that_lets_go_does_not_catch_again(release: str, held: float, solver: str) -> None:
    """Its load reaches 5 N at 2.5 s; then x = 1 + (t^3 - 2.5^3) / 3 - 2.5^2 (t - 2.5)."""
    start = {"x": 1.0, "x_dot": 0.0} if held else {"x": 0.0, "x_dot": 1.0}
    run = ds.solve(latched(release, held=held), 6.0, start, solver=solver)
    caught = min(np.roots([1 / 3, 0, 1, -1]), key=lambda root: abs(root.imag)).real
    times = [2.5] if held else [caught, 2.5]
    assert [event.name for event in run.events] == ["catches", "lets_go"][-len(times) :]
    assert [event.time for event in run.events] == pytest.approx(times, rel=EXACT)
    expected = 1.0 + (6.0**3 - 2.5**3) / 3.0 - 2.5**2 * 3.5
    assert run.end_state["x"] == pytest.approx(expected, rel=EXACT)
    assert run.audit().holds


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("way", [ds.RISING, ds.EITHER], ids=["rising", "either"])
def test_a_curved_latch_catches_once_whatever_errors_a_solver_makes(
    way: Direction, solver: str
) -> None:
    """From (0, 0.6) with 1 m/s along x a point meets the circle at (0.8, 0.6) after 0.8 s.

    It goes on along the circle with 0.6 rad/s, clockwise, and after 4 s along the tangent.
    """
    q, d = ds.coordinates(x="m", y="m"), ds.discrete(held=0.0)
    beyond = q.x**2 + q.y**2 - 1.0
    events = [
        ds.Event("catches", beyond, way, ds.Reset({"held": 1.0}, impose=["circle"])),
        ds.Event("lets_go", ds.time - 4.0, ds.RISING, ds.Reset({"held": 0.0})),
    ]
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Holonomic("circle", beyond, held_by="held")],
        discrete=d,
        events=events,
    )
    run = ds.solve(system, 6.0, {"y": 0.6, "x_dot": 1.0}, solver=solver)
    assert [event.name for event in run.events] == ["catches", "lets_go"]
    angle = np.arctan2(0.6, 0.8) - 0.6 * 3.2
    out, along = np.array([np.cos(angle), np.sin(angle)]), [np.sin(angle), -np.cos(angle)]
    end = out + 2.0 * 0.6 * np.array(along)
    found = [run.end_state["x"], run.end_state["y"]]
    np.testing.assert_allclose(found, end, rtol=0.0, atol=EXACT)
    assert run.audit().holds


@pytest.mark.parametrize("solver", SOLVERS[:2])
def test_a_second_stop_behind_a_hook_is_met_after_the_hook_lets_go(solver: str) -> None:
    """Its guard x - 2 is a function of what the hook holds, but not zero there."""
    system = latched("clock")
    x = system.coordinates.x
    behind = ds.Event("behind", x - 2.0, ds.RISING, ds.Reset({"x_dot": -ds.time}))
    run = ds.solve(
        replace(system, events=[*system.events, behind]), 3.5, {"x_dot": 1.0}, solver=solver
    )
    times = [root.real for root in np.roots([1 / 3, 0, -6.25, -1 - 2.5**3 / 3 + 6.25 * 2.5])]
    assert [event.name for event in run.events] == ["catches", "lets_go", "behind"]
    assert run.events[-1].time == pytest.approx(max(times), rel=EXACT)
