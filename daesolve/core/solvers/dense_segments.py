"""Accepted steps, the solution between their ends, and what is known of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import OdeProblem

CACHED = 8192
"""States that are computed together, so that they stay in a processor's cache."""


class DenseSegment(ABC):
    """Accepted steps, with the states in each of them.

    Parameters
    ----------
    times
        (k + 1,)
    states
        (k + 1, size)
    """

    exact: bool
    """Whether the method defines the solution between the ends, and no interpolation does."""

    def __init__(self, times: np.ndarray, states: np.ndarray) -> None:
        self.times, self.states = times, states
        self.spans = np.diff(times)

    def moments(self, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the times, (j,), at parts of steps."""
        return self.times[steps] + parts * self.spans[steps]

    @abstractmethod
    def inner(self, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the states, (j, size), at parts of steps, both (j,)."""

    @abstractmethod
    def slopes(self, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the derivatives of these, (j, size)."""


class TaylorSegment(DenseSegment):
    """Steps of Taylor's method.

    Parameters
    ----------
    times, states
        As in `DenseSegment`.
    coefficients
        (k, size, order + 1) Taylor coefficients of each step.
    """

    exact = True

    def __init__(self, times: np.ndarray, states: np.ndarray, coefficients: np.ndarray) -> None:
        super().__init__(times, states)
        self.coefficients = coefficients[: len(times) - 1]

    def inner(self, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the states at parts of steps."""
        return self._at(steps, parts, derived=False)

    def slopes(self, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the derivatives at parts of steps."""
        return self._at(steps, parts, derived=True)

    def _at(self, steps: np.ndarray, parts: np.ndarray, *, derived: bool) -> np.ndarray:
        from daesolve.core.solvers import (
            compiled_checks,  # numba is imported where something is seen
        )

        elapsed = parts * self.spans[steps]
        return compiled_checks.series_at(self.coefficients, steps, elapsed, derived=derived)


class Cubics(DenseSegment):
    """Steps of any method, with cubics through their ends.

    Parameters
    ----------
    times, states
        As in `DenseSegment`.
    rates
        (k + 1, size) x' at the ends.
    seen
        Whether the method evaluated its rates there: on a grid instead of its steps it did not.
    """

    exact = False

    def __init__(
        self, times: np.ndarray, states: np.ndarray, rates: np.ndarray, *, seen: bool
    ) -> None:
        super().__init__(times, states)
        self.rates, self.seen = rates, seen

    @cached_property
    def _coefficients(self) -> list[np.ndarray]:
        """Return the coefficients of the powers of a part of a step, from 0 to 3, (k, size)."""
        span, moved = self.spans[:, None], np.diff(self.states, axis=0)
        left, right = span * self.rates[:-1], span * self.rates[1:]
        return [
            self.states[:-1],
            left,
            3.0 * moved - 2.0 * left - right,
            left + right - 2.0 * moved,
        ]

    def inner(self, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the states at parts of steps."""
        found = np.empty((len(steps), self.states.shape[1]))
        for first in range(0, len(steps), CACHED):
            some = slice(first, first + CACHED)
            part, here = parts[some, None], found[some]
            here[:] = self._coefficients[-1][steps[some]]
            for power in self._coefficients[-2::-1]:
                here *= part
                here += power[steps[some]]
        return found

    def slopes(self, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the derivatives at parts of steps."""
        part, span = parts[:, None], self.spans[steps][:, None]
        rest = 1.0 - part
        secant = (self.states[steps + 1] - self.states[steps]) / span
        return (
            6.0 * part * rest * secant
            + rest * (1.0 - 3.0 * part) * self.rates[steps]
            + part * (3.0 * part - 2.0) * self.rates[steps + 1]
        )


def cubics(
    problem: OdeProblem, p: np.ndarray, times: np.ndarray, states: np.ndarray, *, seen: bool = True
) -> Cubics:
    """Return cubics through steps whose rates are evaluated at their ends."""
    rates = evaluate_block(problem.rhs, times, states, p)[0]
    return Cubics(times, states, rates, seen=seen)


INNER = 0.381966
"""The fraction of a step at which guards are judged besides its ends: no ratio of small whole
numbers, so that no oscillation falls in step with both."""


@dataclass(frozen=True, eq=False)
class AcceptedSteps:
    """Accepted steps, and the states between their ends.

    Parameters
    ----------
    times
        (k + 1,) from the start of the first step.
    states
        (k + 1, size)
    inner
        (k, size) at the part `INNER` of each step, as near as is needed to judge guards by.
    dense
        times (j,) -> states (j, size) between the first and the last, by the method's own
        interpolant.
    advance
        (number of a step, time in it) -> state of the method's own accuracy.
    noise
        By which part of their size states within a step may be off each by itself, so that they
        follow no smooth function.
    """

    times: np.ndarray
    states: np.ndarray
    inner: np.ndarray
    dense: Callable[[np.ndarray], np.ndarray]
    advance: Callable[[int, float], np.ndarray]
    noise: float = 0.0

    @property
    def inner_times(self) -> np.ndarray:
        """The times of `inner`, (k,)."""
        return inner_times(self.times)


def inner_times(times: np.ndarray) -> np.ndarray:
    """Return the time within each step at which guards are judged besides its ends."""
    return times[:-1] + INNER * np.diff(times)


def inner_states(times: np.ndarray, states: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the states at the part `INNER` of each step, by cubics through both its ends."""
    part, rest = INNER, 1.0 - INNER
    spans = np.diff(times)[:, None]
    return (
        rest**2 * (1.0 + 2.0 * part) * states[:-1]
        + part**2 * (1.0 + 2.0 * rest) * states[1:]
        + part * rest * spans * (rest * rates[:-1] - part * rates[1:])
    )


@dataclass(frozen=True)
class StepScreening:
    """What is known of steps before anybody looks closely.

    Parameters
    ----------
    first, last
        From which to before which of them a guard comes near to zero.
    sound
        Whether all of them are known to agree with the equations.
    """

    first: int
    last: int
    sound: bool

    @property
    def calm(self) -> bool:
        """Whether nothing asks for a closer look."""
        return self.sound and self.first == self.last


CALM = StepScreening(0, 0, sound=True)
