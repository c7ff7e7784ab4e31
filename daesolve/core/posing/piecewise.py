"""How to keep an expression that is not smooth unchanged."""

from __future__ import annotations

import casadi as ca

from daesolve.core.posing.goals import Expression, as_scalar

SMOOTH = 5e-324
"""The least positive number. Adding it marks an expression without changing its value."""


def smooth(expression: Expression) -> ca.SX:
    """Keep an expression unchanged, without events at its jumps and kinks.

    By default, every piecewise operation (`if_else`, `fmin`, `fabs`, `sign`, comparisons, `floor`)
    switches a mode at an event that solvers locate. An expression kept with `smooth` has no Taylor
    series at a kink, so another solver replaces Taylor's method. Its steps cross the kink, and only
    error control keeps them accurate.

    Parameters
    ----------
    expression
        A CasADi scalar.

    Raises
    ------
    PosingError
        It is not a scalar expression.

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
    return as_scalar("the argument of smooth", expression) + SMOOTH
