"""Who receives the steps of a segment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from daesolve.core.results.trajectory.results import StepBlock

Observer = Callable[[StepBlock], object]
"""Receives accepted steps; if it returns true, the segment ends with them."""


class StepObserver(ABC):
    """An observer that has a say in how steps are taken."""

    @abstractmethod
    def __call__(self, block: StepBlock) -> object:
        """Receive accepted steps; if this returns true, the segment ends with them."""

    @property
    def remaining(self) -> int | None:
        """How many more right-hand sides are allowed; None if that is not limited."""
        return None

    @property
    def keeps(self) -> bool:
        """Whether it receives the states within steps as well."""
        return False

    def accepted_count(self, times: np.ndarray, states: np.ndarray) -> int:
        """Return how many of some steps, whose ends are (k,) s and (k, size), are good.

        The segment ends with the last of them, and everything beyond is dropped.
        """
        return len(times)


class _PlainObserver(StepObserver):
    def __init__(self, observe: Observer) -> None:
        self._observe = observe

    def __call__(self, block: StepBlock) -> object:
        return self._observe(block)


def step_observer(observe: Observer) -> StepObserver:
    """Return an observer with everything that a segment asks for."""
    return observe if isinstance(observe, StepObserver) else _PlainObserver(observe)
