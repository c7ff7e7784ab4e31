"""Dormand and Prince's method alone, with steps in compiled code and without an interpolant.

Its control is that of Hairer, Norsett and Wanner, Solving ODEs I, II.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.solvers.dormand_prince import ORDER, WEIGHTS

SMALL, VERY_SMALL = 1e-5, 1e-15
"""What is too small, in units of the tolerance, to determine the length of the first step."""


class Dop853Steps:
    """Steps of a given accuracy from a state to a time.

    Parameters
    ----------
    rate
        (t, x) -> x'
    t, y, until
        Where it begins, s and (n,), and how far it goes, s.
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    longest, first
        Of all steps, and of the first one, s; if that is not given, its rates decide.

    Attributes
    ----------
    t, y
        The time and the state that are reached.
    t_old, y_old
        Those before the last step; None before the first, and where several were taken at once.
    status
        "running", "finished" or "failed".
    """

    def __init__(
        self,
        rate: StateFunction,
        t: float,
        y: np.ndarray,
        until: float,
        *,
        rtol: float,
        atol: float | np.ndarray,
        longest: float = math.inf,
        first: float | None = None,
    ) -> None:
        from daesolve.core.solvers import (
            dop853_step,  # numba is imported where something is evaluated
        )

        self._compiled: Any = dop853_step
        self.t, self.y, self.status = t, y, "running"
        self.t_old: float | None = None
        self.y_old: np.ndarray | None = None
        self._rate, self._until, self._longest = rate, until, longest
        self._tolerances = rtol, np.array(np.broadcast_to(atol, y.shape), dtype=float)
        self._rates = np.empty((len(WEIGHTS) + 1, len(y)))
        self._rates[-1] = rate(t, y)
        self._length = self._first_length() if first is None else first

    def step(self, *, whatever: bool = False) -> None:
        """Take a step; the method has failed where it would have no length.

        Parameters
        ----------
        whatever
            Take the shortest, whatever its error.
        """
        begins, x = self.t, self.y.copy()
        tolerances, length = self._tolerances, self._length
        if whatever:
            tolerances, length = (0.0, np.full(len(x), np.inf)), 0.0
        if not len(x) or begins == self._until:
            self.t_old, self.t, self.status = begins, self._until, "finished"
            return
        self._rates[0] = self._rates[-1]
        ends, taken, self._length, count = self._compiled.take_step(
            self._compiled.VERSION, *self._rate.program, self._rate.places, tolerances,
            begins, x, length, self._until, self._longest, self._rates,
        )  # fmt: skip
        self._rate.calls += count
        self.status = "running" if taken else "failed"
        if not taken:
            self._rates[-1] = self._rates[0]
            return
        self.t_old, self.y_old, self.t, self.y = begins, self.y, ends, x
        if ends == self._until:
            self.status = "finished"

    def put(self, y: np.ndarray) -> None:
        """Replace the state that was reached."""
        self.y, self._rates[-1] = y, self._rate(self.t, y)

    def several(self, most: int, few: tuple[int, float, float]) -> tuple[np.ndarray, np.ndarray]:
        """Take steps at once; return their ends, (k,), and the states there, (k, size).

        They end with one that is many times as long as the shortest.

        Parameters
        ----------
        most
            How many at most.
        few
            The first step for which that holds, how many times, and the shortest before, s.
        """
        from daesolve.core.expressions import (
            compilation,  # numba is imported where something is evaluated
        )

        times, states, x = np.empty(most), np.empty((most, len(self.y))), self.y.copy()
        self._rates[0] = self._rates[-1]
        take_steps = compilation.for_size(self._compiled.take_steps, states.size)
        with np.errstate(all="ignore"):
            taken, self._length = take_steps(
                self._compiled.VERSION, *self._rate.program, self._rate.places, self._tolerances,
                self.t, x, self._length, self._until, self._longest, self._rates, few, times,
                states,
            )  # fmt: skip
        self._rates[-1] = self._rates[0]
        if taken:
            self.t_old, self.y_old = None, None
            self.t, self.y = float(times[taken - 1]), states[taken - 1]
        if not self._length:
            self.status = "failed"
        elif self.t == self._until:
            self.status = "finished"
        return times[:taken], states[:taken]

    def _first_length(self) -> float:
        """Return the length of the first step, from how large the first two derivatives are."""
        x, rate, whole = self.y, self._rates[-1], abs(self._until - self.t)
        if not len(x) or not whole:
            return 0.0
        rtol, atol = self._tolerances
        scale = atol + np.abs(x) * rtol
        size, speed = _mean(x / scale), _mean(rate / scale)
        length = 1e-6 if size < SMALL or speed < SMALL else 0.01 * size / speed
        length = min(length, whole)
        way = math.copysign(length, self._until - self.t)
        turning = _mean((self._rate(self.t + way, x + way * rate) - rate) / scale) / length
        if speed <= VERY_SMALL and turning <= VERY_SMALL:
            other = max(1e-6, length * 1e-3)
        else:
            other = (0.01 / max(speed, turning)) ** (1.0 / ORDER)
        return float(min(100.0 * length, other, whole))


def _mean(values: np.ndarray) -> np.floating:
    """Return the root of the mean square."""
    return np.linalg.norm(values) / len(values) ** 0.5
