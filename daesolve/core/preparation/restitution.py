"""Coefficients of restitution that are known before a run: they must lie in [0, 1]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.translation import function_of
from daesolve.errors import OutOfRangeError


def check_restitution(dynamics: Dynamics, values: Mapping[str, float]) -> None:
    """Refuse a restitution that follows from the parameters and does not lie in [0, 1].

    One that depends on time, the state or discrete values is known only at an impact.

    Parameters
    ----------
    dynamics
        The equations.
    values
        p by name.

    Raises
    ------
    OutOfRangeError
        The message names the event or the goal.
    """
    lasting = dynamics.lasting(values)
    symbols = zip(dynamics.values, ca.vertsplit(dynamics.p), strict=True)
    own = [symbol for name, symbol in symbols if name in lasting]
    known = [(name, value) for name, value in _restitutions(dynamics) if _is_of(value, own)]
    if not known:
        return
    column = ca.vertcat(*[value for _, value in known])
    function = function_of("restitution", [dynamics.p], [column], (["p"], ["restitution"]))
    found = np.asarray(function(dynamics.value_vector(values))).ravel()
    for (name, _), number in zip(known, found.tolist(), strict=True):
        if not 0.0 <= number <= 1.0:
            raise OutOfRangeError(
                f"the restitution of {name} is {number:.6g}, but must lie in [0, 1]"
            )


def _restitutions(dynamics: Dynamics) -> Iterator[tuple[str, ca.SX]]:
    for addition in dynamics.additions:
        yield from addition.restitutions.items()
    for index, reset in dynamics.resets.items():
        yield f"the event {dynamics.events[index].name!r}", reset.restitution


def _is_of(expression: ca.SX, symbols: list[ca.SX]) -> bool:
    """Return whether an expression depends on these symbols and on nothing else."""
    found = {symbol.element_hash() for symbol in ca.symvar(expression)}
    return bool(found) and found <= {symbol.element_hash() for symbol in symbols}
