"""Goals that depend on each other, among which a run chooses those that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.posing.value_names import ValueKind


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Goals that depend on each other, some of which are kept at a time.

    Parameters
    ----------
    groups, surplus
        Their names by group, and the number to omit from each.
    dropped
        (times, states, p) -> the goals that are best omitted along a path that starts at the first
        state, (k,) and (k, nx).
    settled
        (time, states, p) -> the nearest states that fulfil all goals, including omitted ones.
    directed
        The effect of reactions besides their action along the gradients of their goals, (nv, nu),
        if all goals of a group share a load; None if only the kept ones carry it.
    """

    groups: tuple[tuple[str, ...], ...]
    surplus: tuple[int, ...]
    dropped: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[str, ...]]
    settled: Callable[[float, np.ndarray, np.ndarray], np.ndarray]
    directed: ca.SX | None = None

    @property
    def shared(self) -> bool:
        """Whether all goals of a group share a load."""
        return self.directed is not None

    def values(self, dropped: Collection[str]) -> dict[str, float]:
        """Return the discrete values that keep all goals except some."""
        kept = ValueKind.KEPT.name_of
        return {kept(name): float(name not in dropped) for own in self.groups for name in own}
