import casadi as ca
import numpy as np
from scipy.integrate import DOP853

import daesolve as ds
from daesolve.algebra.blocks import bound
from daesolve.algebra.evaluation import BufferedFunction
from daesolve.integration.run_options import requested
from daesolve.preparation.dormand_prince import steps_of
from daesolve.preparation.preparing import prepare

RTOL, MOST = 1e-8, 60


def test_the_compiled_method_takes_the_steps_of_scipy():
    q = ds.coordinates(theta=ds.ANGLE)
    p = ds.parameters(gravity=(9.81, "m/s^2"))
    swing = ds.MechanicalSystem(
        q, p, kinetic=q.dot.theta**2 / 2, potential=-p.gravity * ca.cos(q.theta)
    )
    prepared = prepare(swing, requested(20.0, {"theta": 2.0}, {})[0])
    rhs, x, values = prepared.problem.rhs, prepared.initial, prepared.values
    times, states = steps_of(bound(rhs, values), (0.0, x), 20.0, MOST, (RTOL, RTOL))
    theirs = DOP853(BufferedFunction(rhs, values), 0.0, x, 20.0, rtol=RTOL, atol=RTOL)
    for time, state in zip(times[1:], states[1:], strict=True):
        theirs.step()
        # Rounding, 1e-16, moves an error of 1e-8 by 1e-8 of itself, and so the step.
        np.testing.assert_allclose([time, *state], [theirs.t, *theirs.y], rtol=1e-6, atol=1e-6)
    assert len(times) == MOST + 1


def test_it_ends_where_the_motion_does_not_go_on():
    x = ds.states(x="")
    growing = ds.ControlSystem(x, {"x": x.x**2}, ds.parameters())
    prepared = prepare(growing, requested(0.5, {"x": 1.0}, {})[0])
    rate, start = bound(prepared.problem.rhs, prepared.values), (0.0, np.ones(1))
    times, states = steps_of(rate, start, 0.5, 300, (RTOL, RTOL))
    assert times[-1] == 0.5
    np.testing.assert_allclose(states[:, 0], 1.0 / (1.0 - times), rtol=1e-6)
    times, states = steps_of(rate, start, 2.0, 3000, (RTOL, RTOL))
    assert len(times) < 3000
    assert abs(times[-1] - 1.0) < 1e-6
    assert np.isfinite(states).all()
