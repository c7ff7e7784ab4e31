"""The equations of a system as CasADi functions, to use elsewhere or to export as C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import casadi as ca
import numpy as np

from daesolve.algebra.translation import function_of
from daesolve.elimination.plan import choose_plan
from daesolve.elimination.saddle import Saddle
from daesolve.equations.consistency import sample_states
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import OutOfRangeError, unknown_name

Quantity = Literal["accelerations", "reactions", "rhs", "residuals"]
QUANTITIES: tuple[Quantity, ...] = ("accelerations", "reactions", "rhs", "residuals")


def equations(
    dynamics: Dynamics, quantity: str, around: Mapping[str, float] | None = None
) -> ca.Function:
    """Return one quantity as a function of (t, x, p), without feedback.

    Parameters
    ----------
    dynamics
        The equations.
    quantity
        "accelerations" (v'), "reactions" (u), "rhs" (x') or "residuals" (each constraint, hidden
        constraint and implicit equation, as posed).
    around
        A consistent state by name, near which the elimination is checked; without it random
        consistent states serve.

    Returns
    -------
    casadi.Function
        x in the order of `dynamics.labels.states`; p holds the parameters and the discrete values
        in the order in which they were declared.

    Raises
    ------
    UnknownNameError
        There is no such quantity.
    OutOfRangeError
        A state has no value in `around`.
    """
    if quantity not in QUANTITIES:
        raise unknown_name("quantity", quantity, QUANTITIES)
    numbers = dynamics.value_vector({})
    state = None
    if around is not None:
        for name in dynamics.labels.states:
            if name not in around:
                raise OutOfRangeError(f"around has no value of the state {name!r}")
        state = np.array([float(around[name]) for name in dynamics.labels.states])
    samples = sample_states(dynamics, numbers, state)
    saddle = Saddle(dynamics, choose_plan(dynamics, samples, numbers, proximal=False))
    targets = [-row.bias for row in dynamics.rows]
    offsets = [row.offset for row in dynamics.relations]
    accelerations, reactions = saddle.solve(dynamics.force, targets, offsets)
    residuals = [link for row in dynamics.rows for link in row.chain]
    residuals += [row.residual for row in dynamics.implicit_rows]
    wanted = {
        "accelerations": accelerations,
        "reactions": reactions,
        "rhs": ca.vertcat(dynamics.position_rates, accelerations),
        "residuals": ca.vertcat(ca.SX(0, 1), *residuals),
    }[quantity]
    own = len(dynamics.ranges)
    without_feedback = ca.substitute(
        wanted, dynamics.p[own:], ca.SX(numbers[own:]) if len(numbers) > own else ca.SX(0, 1)
    )
    return function_of(
        quantity,
        [dynamics.t, dynamics.x, dynamics.p[:own]],
        [without_feedback],
        (["t", "x", "p"], [quantity]),
    )
