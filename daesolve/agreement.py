"""How far the states of two runs differ at the times that both sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Sampled(Protocol):
    """Whatever has states at sample times."""

    @property
    def times(self) -> np.ndarray:
        """(k,) s."""
        ...

    @property
    def states(self) -> Mapping[str, np.ndarray]:
        """Name -> (k,)."""
        ...


@dataclass(frozen=True, eq=False)
class Samples:
    """States at sample times and nothing else."""

    times: np.ndarray
    states: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Difference:
    """How far two runs differ.

    Parameters
    ----------
    largest
        The largest difference of a state over the common samples, relative to the largest value
        among the states of its unit; infinite where a state is not finite.
    state
        The state of which it is.
    by_state
        The largest difference of each state, in its unit.
    """

    largest: float
    state: str
    by_state: Mapping[str, float]


def difference(run: Sampled, standard: Sampled, units: Mapping[str, str]) -> Difference | None:
    """Compare the states of a standard with those of a run; None where no time is common.

    Parameters
    ----------
    run
        It has all states of the standard.
    standard
        The sizes of states are taken from it.
    units
        The unit of each state; states of one unit share a size.
    """
    _, here, there = np.intersect1d(run.times, standard.times, return_indices=True)
    if not here.size:
        return None
    absolute = {
        name: float(np.max(np.abs(run.states[name][here] - values[there])))
        for name, values in standard.states.items()
    }
    sizes = _sizes(standard, units)
    quotients = {name: error / sizes[name] for name, error in absolute.items()}
    relative = {n: math.inf if math.isnan(value) else value for n, value in quotients.items()}
    worst = max(relative, key=lambda name: relative[name])
    return Difference(relative[worst], worst, absolute)


def _sizes(run: Sampled, units: Mapping[str, str]) -> dict[str, float]:
    """Return for each state the largest value among all states of its unit."""
    largest: dict[str, float] = {}
    for name, values in run.states.items():
        unit = units.get(name, name)
        largest[unit] = max(largest.get(unit, 0.0), float(np.max(np.abs(values), initial=0.0)))
    return {name: largest[units.get(name, name)] or 1.0 for name in run.states}
