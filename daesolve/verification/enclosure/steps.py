"""A step of a motion, enclosed: Taylor's polynomial, its remainder, and its derivatives.

The remainder is that of the whole step: over a box D that contains the motion from every state of
the set (Nedialkov, Jackson and Pryce 2001, doi 10.1023/A:1011445221420). It is proved to do so by
the polynomial and the remainder staying within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.core.solvers.taylor_kernel.instructions import Instructions, instructions
from daesolve.verification.enclosure import ball_series
from daesolve.verification.enclosure.equations import CertifiedEquations
from daesolve.verification.enclosure.field import BallField, PoleError, with_variations
from daesolve.verification.enclosure.interval_matrices import UP, IntervalMatrix
from daesolve.verification.enclosure.state_sets import StateSet

_compiled: Any = ball_series
ATTEMPTS = 4
"""How often a box is widened before the step is shortened."""
HALVINGS = 60
"""How often a step is shortened before there is none."""
LAVISH = 1e-4
"""The part of the tolerance of slopes below which their order is lowered."""
LEAST_ORDER = 6
"""Of slopes."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The instructions of a motion: with its guards, and with its derivatives by the start.

    `columns` are the states on which rates depend; by the start of another one, only its own value
    varies.
    """

    plain: Instructions
    varied: Instructions
    columns: tuple[int, ...]


def tables_of(equations: CertifiedEquations) -> Tables:
    """Return the instructions of equations.

    Raises
    ------
    UnsupportedError
        An operation has no Taylor series; the message names it.
    """
    rates = equations.function("rates", equations.rates)
    columns = tuple(sorted(set(rates.jac_sparsity(0, 1).get_col())))
    varied = with_variations(rates, columns)
    return Tables(instructions(equations.motion), instructions(varied), columns)


@dataclass(frozen=True, eq=False)
class Step:
    """An enclosed step from a time on.

    Parameters
    ----------
    start
        The set at its beginning.
    time, end
        When it begins and ends, s.
    centre
        (n, order + 1, 3) coefficients of the motion from the centre.
    slopes, columns
        (n m, orders, 3) those of derivatives by the start of m states, column by column, over the
        set, with their remainders; and which states these are.
    remainder
        (n, 3) the coefficient of the remainder over `within`.
    within
        (n, 3) a box that contains the motion during the step.
    guards
        (guards, order + 2, 3) coefficients of the guards over the set, with their remainders.
    """

    start: StateSet
    time: float
    end: float
    centre: np.ndarray
    slopes: np.ndarray
    columns: tuple[int, ...]
    remainder: np.ndarray
    within: np.ndarray
    guards: np.ndarray

    def image(self, h: np.ndarray) -> tuple[np.ndarray, IntervalMatrix]:
        """Return the motion from the centre, (n, 3), and its slopes, after h, (3,), within it."""
        version = _compiled.VERSION
        with_rest = np.concatenate([self.centre, self.remainder[:, None]], axis=1)
        image = _compiled.polynomials(version, with_rest, h)
        whole = np.zeros((len(image), len(image), 3))
        whole[:, :, 0] = np.eye(len(image))
        slopes = _compiled.polynomials(version, self.slopes, h)
        whole[:, self.columns] = slopes.reshape(-1, len(image), 3).transpose(1, 0, 2)
        return image, IntervalMatrix.of_balls(whole)

    def at(self, h: np.ndarray) -> StateSet:
        """Return the set after h within the step."""
        return self.start.mapped(*self.image(h))


def ball(value: float, radius: float = 0.0) -> np.ndarray:
    """Return a ball around a double."""
    return np.array([value, 0.0, radius])


def apart(later: float, earlier: float) -> np.ndarray:
    """Return the difference of two doubles, exactly, as a ball."""
    high = later - earlier
    back = later - high
    low = (later - (high + back)) + (back - earlier)
    return np.array([high, low, 0.0])


class Stepping:
    """Takes steps of a motion in one mode.

    Parameters
    ----------
    tables
        See `tables_of`.
    p
        The values as balls of python-flint.
    order
        Of Taylor's polynomials.
    tolerance
        What the remainder of a step may be, relative to the sizes of the states (at least 1).
    slope_tolerance
        By which part the remainders of slopes may widen a set; their order follows from it.
    """

    def __init__(
        self, tables: Tables, p: list[Any], order: int, tolerance: float, *, slope_tolerance: float
    ) -> None:
        self.order, self.tolerance, self.slope_tolerance = order, tolerance, slope_tolerance
        self.slope_order = order
        self.plain, self.varied = BallField(tables.plain, p), BallField(tables.varied, p)
        self.columns = tables.columns
        self._unit = np.zeros((self.plain.states * len(self.columns), 3))
        self._unit[:, 0] = np.eye(self.plain.states)[:, self.columns].T.ravel()
        self.proposed = 0.0

    @property
    def states(self) -> int:
        """How many states there are."""
        return self.plain.states

    def step(self, start: StateSet, time: float, until: float) -> Step | None:
        """Return a step towards a time, at most to it; None where none can be proved."""
        n, order = self.states, self.order
        try:
            centre = self.plain.series(ball(time), start.point, order)[:n]
            around = self.plain.series(ball(time), start.box, order)
            varied = self.varied.series(
                ball(time), np.concatenate([start.box, self._unit]), self.slope_order
            )
        except PoleError:
            return None
        slopes, guards = varied[n : n + len(self._unit)], self.plain.followed(around)
        length = self.proposed or self._guess(centre)
        for _ in range(HALVINGS):
            end = until if length >= until - time else time + min(length, 0.5 * (until - time))
            if length < 0.5 * (until - time):
                end = time + length
            length = end - time
            if not length > 0.0:
                return None
            found = self._remainder(around[:n], time, end)
            if found is None:
                length *= 0.5
                continue
            within, rows = found
            remainder = rows[:n, order + 1]
            sizes = np.maximum(np.abs(start.centre[:, 0]), 1.0)
            rest = (np.abs(remainder[:, 0]) + remainder[:, 2]) * length ** (order + 1)
            ratio = float(np.max(rest / (self.tolerance * sizes)))
            factor = 0.9 * max(ratio, 1e-300) ** (-1.0 / (order + 1))
            if ratio > 10.0 and factor < 0.9:
                length *= max(factor, 0.2)
                continue
            rest = self._rest_of_slopes(slopes, within, time, end)
            if rest is None:
                length *= 0.5
                continue
            whole_slopes = np.concatenate([slopes, rest[:, None]], axis=1)
            self._choose_slope_order(start, rest, length ** slopes.shape[1])
            if end < until or factor < 1.0:
                self.proposed = length * min(factor, 1.5)
            last = self.plain.followed(rows)[:, order + 1 :]
            whole = np.concatenate([guards, last], axis=1)
            return Step(
                start, time, end, centre, whole_slopes, self.columns, remainder, within, whole
            )
        return None

    def _choose_slope_order(self, start: StateSet, rest: np.ndarray, power: float) -> None:
        """Choose the order of the slopes of the next step by what their remainders added to a set.

        `power` is the power of the length of the step that they are coefficients of.
        """
        sizes = ((np.abs(rest[:, 0]) + rest[:, 2]) * power).reshape(-1, self.states)
        radii = start.radii
        least = self.tolerance * np.maximum(np.abs(start.centre[:, 0]), 1.0)
        part = float(np.max(radii[list(self.columns)] @ sizes / (radii + least), initial=0.0))
        if part > self.slope_tolerance:
            self.slope_order = min(self.slope_order + 4, self.order)
        elif part < LAVISH * self.slope_tolerance:
            self.slope_order = max(self.slope_order - 2, LEAST_ORDER)

    def _guess(self, centre: np.ndarray) -> float:
        """Return how long a step may be, by the last coefficients."""
        order = self.order
        sizes = np.max(np.abs(centre[:, :, 0]), axis=0)
        one = max(1.0, sizes[0])
        with np.errstate(divide="ignore"):
            radii = [(one / sizes[k]) ** (1.0 / k) for k in (order - 1, order)]
        longest = min(radii) * 0.1
        return longest if np.isfinite(longest) else 1.0

    def _remainder(
        self, around: np.ndarray, time: float, end: float
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return a box that contains the motion, and all coefficients over it."""
        return self._enclosed(self.plain, around, time, end, None)

    def _rest_of_slopes(
        self, slopes: np.ndarray, within: np.ndarray, time: float, end: float
    ) -> np.ndarray | None:
        """Return the coefficients of the remainders of the slopes, (n m, 3)."""
        found = self._enclosed(self.varied, slopes, time, end, within)
        if found is None:
            return None
        n = self.states
        return found[1][n : n + len(slopes), -1]

    def _enclosed(
        self,
        of: BallField,
        around: np.ndarray,
        time: float,
        end: float,
        known: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return a box that contains what a field moves, and all coefficients over it.

        Its states begin with those in `known`, a box that is already proved.
        """
        span, orders = apart(end, time), around.shape[1]
        reach = _between(span)
        polynomial = _compiled.polynomials(_compiled.VERSION, around, reach)
        power = ball(0.0, float((span[0] * (1.0 + 1e-15)) ** orders))
        # The middle of the step is rounded.
        moment = ball(time + reach[0], reach[2] * UP + np.spacing(abs(time) + reach[0]))
        more = 1e-3 * polynomial[:, 2] + 1e-20 * np.abs(polynomial[:, 0]) + 1e-25
        within = _wider(polynomial, more)
        first = 0 if known is None else len(known)
        for _ in range(ATTEMPTS):
            box = within if known is None else np.concatenate([known, within])
            try:
                rows = of.series(moment, box, orders)
            except PoleError:
                return None
            remainder = rows[first : first + len(within), orders]
            sizes = (np.abs(remainder[:, 0]) + np.abs(remainder[:, 1]) + remainder[:, 2]) * UP
            moved = sizes * power[2] * UP
            if not np.all(np.isfinite(moved)):
                return None
            if np.all(moved + polynomial[:, 2] * UP + _off(polynomial, within) <= within[:, 2]):
                return within, rows
            within = _wider(polynomial, 2.0 * moved + 1e-25)
        return None


def _between(span: np.ndarray) -> np.ndarray:
    """Return a ball that contains [0, span]."""
    half = 0.5 * span[0]
    return np.array([half, 0.0, (half + abs(span[1])) * UP])


def _wider(box: np.ndarray, radii: np.ndarray) -> np.ndarray:
    found = box.copy()
    found[:, 2] = (found[:, 2] + radii) * UP
    return found


def _off(box: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return how far two centres are from each other, at most."""
    return np.abs((box[:, 0] - within[:, 0]) + (box[:, 1] - within[:, 1])) * UP
