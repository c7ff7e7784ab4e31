"""Gauss-Newton's method with multiple shooting: first many short segments, in the end one motion.

Where the outputs depend strongly on the parameters, one long motion has many local minima of its
misfit. Segments that begin near the data have not. As many are used as the natural monotonicity
test requires: the second correction of Gauss and Newton, by the same derivatives, must be half as
long as the first at most (P. Deuflhard, Newton Methods for Nonlinear Problems, 2004). Then segments
are joined, until there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy

from daesolve.analysis.identification.identifiability import INVISIBLE
from daesolve.analysis.identification.shooting import Model, Residuals, Shooting
from daesolve.errors import DaesolveError, NoFitError

CONTRACTION = 0.5
"""The ratio of two corrections up to which the first derivatives describe the misfit."""
MOST_SEGMENTS = 64
FEWER = 4
"""How many segments are joined into one."""
LEAST_ROWS = 4
"""A segment has at least so many rows of data."""
MOST_STEPS = 60
CONVERGED = 1e-12
"""The relative change of unknowns that ends the last fit."""
FLAT = 1e-10
"""The relative change of the misfit that ends it: 1e-4 of a standard deviation for 100 rows."""
NEAR = 1e-5
"""Both, of a fit in segments."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The values that fit best.

    Parameters
    ----------
    values
        Of the unknowns.
    residuals
        There, of one motion.
    segments
        In how many segments the fit began.
    evaluations
        How many motions were differentiated.
    bound
        Which unknowns are at a bound: -1 the lower, +1 the upper.
    """

    values: np.ndarray
    residuals: Residuals
    segments: int
    evaluations: int
    bound: np.ndarray


class ParameterFitting:
    """A search for the values that fit best.

    Parameters
    ----------
    model
        The model and the data.
    noise
        The standard deviation of each column.
    start, bounds
        Start values (k,) of the unknowns, and their bounds (2, k).
    opening
        See `Shooting`.
    """

    def __init__(
        self,
        model: Model,
        noise: Mapping[str, float],
        start: np.ndarray,
        bounds: np.ndarray,
        opening: float,
    ) -> None:
        self.model = model
        self.start, self.bounds = start, bounds
        self.sizes = np.where(start != 0.0, np.abs(start), 1.0)
        self.whole = Shooting(model, (), noise, opening)
        self.evaluations = 0

    def fitted(self, segments: int | None, single: str | None) -> Fit:
        """Return the best fit, from so many segments; None chooses their number.

        Parameters
        ----------
        segments
            The number of segments; None chooses it.
        single
            Why the motion cannot be divided; None if it can be.

        Raises
        ------
        NoFitError
            The fit does not converge, or there is no motion for the start values.
        """
        if segments is None:
            segments = 1 if single is not None else self._sufficient()
        unknowns, count = self.start, segments
        shooting = self._divided(unknowns, count)
        while True:
            unknowns, values, residuals, bound = self._solved(shooting, unknowns)
            if not shooting.nodes:
                return Fit(unknowns, residuals, segments, self.evaluations, bound)
            count //= FEWER
            shooting = self._joined(shooting, values, residuals, count)

    def refitted(self, fit: Fit, noise: Mapping[str, float]) -> Fit:
        """Return the best fit by other weights, from one nearby."""
        self.whole = replace(self.whole, noise=noise)
        unknowns, _, residuals, bound = self._solved(self.whole, fit.values)
        return Fit(unknowns, residuals, fit.segments, self.evaluations, bound)

    def _sufficient(self) -> int:
        """Return the least number of segments, a power of four, that passes the test."""
        most = min(MOST_SEGMENTS, max(len(self.model.data.times) // LEAST_ROWS, 1))
        count = 1
        while not self._contracts(self._divided(self.start, count)) and FEWER * count <= most:
            count *= FEWER
        return count

    def _divided(self, unknowns: np.ndarray, count: int) -> Shooting:
        if count == 1:
            return self.whole
        named = dict(zip(self.model.names, unknowns.tolist(), strict=True))
        try:
            return replace(self.whole, nodes=self.model.nodes(named, count))
        except NoFitError:
            raise
        except DaesolveError as error:
            raise NoFitError(
                f"there is no motion for the start values to divide: {error}"
            ) from error

    def _joined(
        self, shooting: Shooting, values: np.ndarray, residuals: Residuals, count: int
    ) -> Shooting:
        """Return fewer segments, from the nodes as they were found."""
        if count <= 1:
            return self.whole
        ends = np.cumsum([len(node.names) for node in shooting.nodes])[:-1]
        nodes = [
            replace(node, values=own, others={n: part.run.end_state[n] for n in node.others})
            for node, own, part in zip(
                shooting.nodes, np.split(values, ends), residuals.parts, strict=False
            )
        ]
        return replace(shooting, nodes=nodes[FEWER - 1 :: FEWER])

    def _contracts(self, shooting: Shooting) -> bool:
        """Whether the second correction by the same derivatives is much shorter than the first."""
        scales = np.concatenate([self.sizes, shooting.sizes])
        start = np.concatenate([self.start, shooting.start])
        try:
            first = self._evaluated(shooting, start)
            slopes = first.slopes * scales
            step = -np.linalg.lstsq(slopes, first.vector, rcond=None)[0]
            moved = start + scales * step
            moved[: len(self.start)] = np.clip(moved[: len(self.start)], *self.bounds)
            second = self._evaluated(shooting, moved)
        except DaesolveError:
            return False
        again = np.linalg.lstsq(slopes, second.vector, rcond=None)[0]
        length = float(np.linalg.norm((moved - start) / scales))
        return bool(np.linalg.norm(again) <= CONTRACTION * max(length, NEAR))

    def _evaluated(self, shooting: Shooting, point: np.ndarray) -> Residuals:
        self.evaluations += 1
        count = len(self.start)
        return shooting.residuals(point[:count], point[count:])

    def _solved(
        self, shooting: Shooting, unknowns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Residuals, np.ndarray]:
        """Return the unknowns, the values of the nodes, the residuals, and the active bounds."""
        count = len(unknowns)
        scales = np.concatenate([self.sizes, shooting.sizes])
        free = np.full((2, len(shooting.sizes)), [[-np.inf], [np.inf]])
        bounds = np.hstack([self.bounds, free]) / scales
        begin = np.concatenate([unknowns, shooting.start]) / scales
        begin = np.clip(begin, *bounds)
        last: dict[bytes, Residuals] = {}
        anchor = np.empty((0, len(begin)))

        def found(point: np.ndarray) -> Residuals:
            key = point.tobytes()
            if key not in last:
                evaluated = self._evaluated(shooting, point * scales)
                # A step that fails is followed by one from the place before.
                for old in list(last)[:-1]:
                    del last[old]
                last[key] = evaluated
            return last[key]

        def vector(point: np.ndarray) -> np.ndarray:
            try:
                return np.concatenate([found(point).vector, anchor @ (point - begin)])
            except DaesolveError:  # least_squares then takes a shorter step
                return np.full(size + len(anchor), np.inf)

        try:
            size = len(found(begin).vector)
            anchor = _unseen(found(begin).slopes * scales)
        except DaesolveError as error:
            raise NoFitError(f"there is no motion to compare with the data: {error}") from error
        ends = (NEAR, NEAR) if shooting.nodes else (FLAT, CONVERGED)
        solution = scipy.optimize.least_squares(
            vector,
            begin,
            lambda point: np.vstack([found(point).slopes * scales, anchor]),
            bounds=(bounds[0], bounds[1]),
            ftol=ends[0],
            xtol=ends[1],
            gtol=None,
            max_nfev=MOST_STEPS,
        )
        if not solution.success and not shooting.nodes:
            raise NoFitError(
                f"the fit did not converge in {MOST_STEPS} steps: give start values nearer to the "
                "truth, or more segments (segments=..., --segments)"
            )
        point = solution.x * scales
        return point[:count], point[count:], found(solution.x), solution.active_mask[:count]


def _unseen(slopes: np.ndarray) -> np.ndarray:
    """Return rows that hold unknowns where they are in directions that the data do not show."""
    _, singular, right = np.linalg.svd(slopes, full_matrices=True)
    rank = int(np.sum(singular > INVISIBLE * singular[0]))
    return right[rank:] * (singular[0] or 1.0)
