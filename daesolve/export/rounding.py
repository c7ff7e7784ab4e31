"""How much results change if elementary functions are off by one unit in the last place.

Sums, products, quotients and roots have the same bits on every machine that keeps IEEE 754; sines
and powers do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.translation import ELEMENTARY, NUMPY_TABLE, translate

EXACT = frozenset({ca.OP_SQRT, ca.OP_SIGN})
"""Elementary functions that IEEE 754 rounds correctly."""
RUNS = 8
MARGIN = 16.0
"""The factor on the largest change seen, as a margin for changes that were not tried."""
EPSILON = float(np.finfo(float).eps)


def reach_of_rounding(function: ca.Function, arguments: Sequence[Any]) -> list[np.ndarray]:
    """Return how much each result may differ between libraries of elementary functions.

    Parameters
    ----------
    function
        Of SX expressions, with dense inputs and outputs.
    arguments
        Numbers.

    Returns
    -------
    list of numpy.ndarray
        For each output, column by column.
    """
    given = [np.ravel(np.asarray(value, dtype=float), order="F") for value in arguments]
    shaken = [_results(function, given, np.random.default_rng(seed)) for seed in range(RUNS)]
    plain = _results(function, given, None)
    found: list[np.ndarray] = []
    for number, result in enumerate(plain):
        changes = [np.abs(other[number] - result) for other in shaken]
        change = np.max(changes, axis=0) if result.size else np.zeros(0)
        found.append(MARGIN * change + EPSILON * np.abs(result))
    return found


def _results(
    function: ca.Function, given: Sequence[Any], generator: np.random.Generator | None
) -> list[np.ndarray]:
    table = dict(NUMPY_TABLE)
    if generator is not None:
        shaky = {*ELEMENTARY, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_ERF, ca.OP_HYPOT} - EXACT
        table |= {operation: _shaken(NUMPY_TABLE[operation], generator) for operation in shaky}
    with np.errstate(all="ignore"):
        found = translate(function, given, table)
    return [np.array(column, dtype=float) for column in found]


def _shaken(exact: Callable[..., Any], generator: np.random.Generator) -> Callable[..., Any]:
    def shaken(*operands: Any) -> Any:
        return exact(*operands) * (1.0 + generator.choice([-1.0, 0.0, 1.0]) * EPSILON)

    return shaken
