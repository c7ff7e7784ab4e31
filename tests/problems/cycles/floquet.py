"""How a small change of the state is carried over a period of a case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daesolve.plugins.bound_case import BoundCase


def monodromy(case: BoundCase, names: Sequence[str], until: float) -> np.ndarray:
    """Return the derivatives of the end by the start of a case, both along these states, (n, n).

    Parameters
    ----------
    case
        Its start is consistent for each small change of these states.
    names
        Of the states.
    until
        The end, s.
    """
    found = case.sensitivity(list(names), until=until)
    rows = [found.states.index(name) for name in names]
    return found.matrix[rows]


def at(case: BoundCase, names: Sequence[str], time: float) -> dict[str, float]:
    """Return the states of a case at a time."""
    end = case.solve(until=time).end_state
    return {name: end[name] for name in names}
