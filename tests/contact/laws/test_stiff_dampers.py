"""A stiff damper beside impacts, sliding and sticking: radau and Taylor's method agree."""

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers import jacobians


def thrown_block() -> ds.MechanicalSystem:
    """A block thrown on a floor carries a rider of a gram, whose damper acts at 1e4 1/s."""
    q = ds.coordinates(x="m", y="m", rider="m")
    slip = q.dot.rider - q.dot.x
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + 1e-3 * q.dot.rider**2) / 2,
        potential=9.81 * q.y,
        force={"x": 10.0 * slip, "rider": -10.0 * slip},
        goals=[ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3, restitution=0.4, closed=False)],
    )


@pytest.mark.parametrize("kept", [False, True], ids=["eliminated", "unknowns kept"])
def test_a_damped_rider_follows_a_block_through_impacts_until_it_sticks(
    monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """The block lands, bounces until it stays, slides and sticks; the rider is left behind it.

    Impulses of friction and of sliding act on both masses alike once the damper has died out.
    """
    monkeypatch.setattr(jacobians, "_costs_less", lambda problem: kept)
    start = {"y": 0.05, "x_dot": 1.0, "rider_dot": 1.5}
    runs = [
        ds.solve(thrown_block(), 0.8, start, solver=solver, at=np.linspace(0.0, 0.8, 17))
        for solver in (ds.RadauIIA(rtol=1e-9, atol=1e-12), ds.Taylor())
    ]
    own, other = runs
    assert own.outcome is other.outcome
    names = [[event.name for event in run.events] for run in runs]
    assert names[0] == names[1]
    times = [[event.time for event in run.events] for run in runs]
    np.testing.assert_allclose(times[0], times[1], rtol=0, atol=1e-7)
    for name in ("x", "y", "rider", "x_dot", "rider_dot"):
        np.testing.assert_allclose(own[name], other[name], rtol=0, atol=1e-7)
    assert abs(own["x_dot"][-1]) <= 1e-9
