"""The response of small motions to inputs: B next to A, and C and D of the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from daesolve.analysis.steady_motions import Field, balance_of, manifold
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.errors import UnsupportedError


@dataclass(frozen=True, eq=False)
class Response:
    """The effects of inputs and small motions on rates and outputs, at a state.

    Parameters
    ----------
    inputs, outputs
        Their names; inputs do not count as outputs.
    rates
        (nx, m), the derivatives of x' with respect to inputs.
    by_state, by_inputs
        (k, nx) and (k, m), the derivatives of the outputs; reactions follow from the motion.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rates: np.ndarray
    by_state: np.ndarray
    by_inputs: np.ndarray


def response(field: Field, time: float, state: np.ndarray) -> Response:
    """Return the response of a consistent state (nx,).

    Raises
    ------
    UnsupportedError
        A constraint contains an input, so its rates matter too.
    """
    dynamics, count = field.dynamics, field.dynamics.velocity_count
    unknowns, solve = field.unknowns(time, state)
    parts = _function(dynamics)(time, state, field.p, unknowns)
    balance_x, balance_u, rates_u, constraints_u, out_x, out_u, out_reactions = parts
    for name, column in zip(dynamics.inputs, constraints_u.T, strict=True):
        if np.any(column):
            raise UnsupportedError(
                f"the input {name!r} appears in a constraint, so small motions depend on its "
                "rates as well: make it a force, or an expression of time in a run"
            )
    by_input, by_state = -solve(balance_u), -solve(balance_x)
    return Response(
        dynamics.inputs.names,
        _names(dynamics),
        np.vstack([rates_u, by_input[:count]]),
        out_x + out_reactions @ by_state[count:],
        out_u + out_reactions @ by_input[count:],
    )


def _names(dynamics: Dynamics) -> tuple[str, ...]:
    return tuple(name for name in dynamics.outputs if name not in dynamics.inputs)


@lru_cache(maxsize=16)
def _function(dynamics: Dynamics) -> ArrayFunction:
    """(t, x, p, y) -> derivatives of F, q', C and outputs."""
    x, reactions, names = dynamics.x, dynamics.reactions, list(dynamics.values)
    u = ca.vertcat(ca.SX(0, 1), *[dynamics.p[names.index(name)] for name in dynamics.inputs.names])
    y, balance = balance_of(dynamics)
    outputs = ca.vertcat(ca.SX(0, 1), *[dynamics.outputs[name] for name in _names(dynamics)])
    held = ca.vertcat(ca.SX(0, 1), *manifold(dynamics))
    slopes = [
        ca.jacobian(balance, x),
        ca.jacobian(balance, u),
        ca.jacobian(dynamics.position_rates, u),
        ca.jacobian(held, u),
        ca.jacobian(outputs, x),
        ca.jacobian(outputs, u),
        ca.jacobian(outputs, reactions),
    ]
    # Reactions are the last of the unknowns.
    unknown = ca.reshape(y[dynamics.velocity_count :], reactions.shape)
    parts = [ca.substitute(part, reactions, unknown) for part in slopes]
    return ArrayFunction("response", [dynamics.t, x, dynamics.p, y], parts)
