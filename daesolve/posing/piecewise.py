"""How to keep an expression that is not smooth as it is."""

from __future__ import annotations

import casadi as ca

from daesolve.posing.goals import Expression, as_scalar

SMOOTH = 5e-324
"""The least positive number: to add it marks an expression, and changes no value."""


def smooth(expression: Expression) -> ca.SX:
    """Keep an expression as it is: no event is wanted where it jumps or has a kink.

    Without it, whatever is piecewise (`if_else`, `fmin`, `fabs`, `sign`, comparisons, `floor`)
    switches a mode at an event that solvers find. An expression that is kept has no Taylor series
    where it is not smooth, so another solver takes the place of Taylor's method; steps are then
    taken across the kink, and error control alone keeps them accurate.

    Parameters
    ----------
    expression
        A CasADi scalar.

    Raises
    ------
    PosingError
        It is no scalar expression.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> spring = ds.smooth(-ca.fabs(q.x) * q.x)
    >>> system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": spring})
    >>> ds.solve(system, until=10.0, initial={"x": 1.0}, solver="dop853").events
    ()
    """
    return as_scalar("what is to be kept", expression) + SMOOTH
