"""Gauss-Newton's method with multiple shooting: first many short segments, in the end one motion.

Where the outputs depend strongly on the parameters, one long motion has many local minima of its
misfit. Segments that begin near the data have not. As many are used as the natural monotonicity
test requires: the second correction of Gauss and Newton, by the same derivatives, must be half as
long as the first at most (P. Deuflhard, Newton Methods for Nonlinear Problems, 2004). Then segments
are joined, until there is one.

Where a motion cannot begin at a state on its way, the first rows are fitted alone, as many as pass
the test. From what they give, more rows pass, until there are all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from daesolve.analysis.identification.identifiability import INVISIBLE, null_space
from daesolve.analysis.identification.shooting import (
    JointResiduals,
    JointShooting,
    Model,
    Residuals,
    Shooting,
)
from daesolve.errors import DaesolveError, NoFitError

CONTRACTION = 0.5
"""The ratio of two corrections up to which the first derivatives describe the misfit."""
MOST_SEGMENTS = 64
FEWER = 4
"""How many segments are joined into one."""
LEAST_ROWS = 4
"""A segment has at least so many rows of data."""
COARSE = 3.0
"""How many times the roughness of the data the fit of a beginning may leave."""
TINY = 1e-9
"""The roughness of a column that does not change, relative to its size."""
INWARD = 0.9
"""How much of the way to a bound a tried step may go."""
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
    segments, beginnings
        In how many segments the fit began, and how many beginnings of the motion it fitted first.
    bound
        Which unknowns are at a bound: -1 the lower, +1 the upper.
    """

    values: np.ndarray
    residuals: JointResiduals
    segments: int
    beginnings: int
    bound: np.ndarray


class ParameterFitting:
    """A search for the values that fit best.

    Parameters
    ----------
    models
        The model and the data of each motion.
    noise
        The standard deviation of each of its columns.
    start, bounds
        Start values (k,) of the unknowns, and their bounds (2, k).
    opening
        See `Shooting`.
    """

    def __init__(
        self,
        models: Sequence[Model],
        noise: Sequence[Mapping[str, float]],
        start: np.ndarray,
        bounds: np.ndarray,
        opening: float,
    ) -> None:
        self.start, self.bounds = start, bounds
        self.sizes = np.where(start != 0.0, np.abs(start), 1.0)
        self.whole = JointShooting(
            [
                Shooting(model, (), levels, opening)
                for model, levels in zip(models, noise, strict=True)
            ]
        )
        self.evaluations = 0

    @property
    def models(self) -> list[Model]:
        """The model and the data of each motion."""
        return [motion.model for motion in self.whole.motions]

    def fitted(self, segments: int | None, single: str | None) -> Fit:
        """Return the best fit, from so many segments; None chooses their number.

        Parameters
        ----------
        segments
            The number of segments; None chooses it.
        single
            Why the motions cannot be divided; None if they can be.

        Raises
        ------
        NoFitError
            The fit does not converge, or there is no motion for the start values.
        """
        if single is not None and segments is None:
            return self._grown()
        if segments is None:
            segments = self._sufficient()
        unknowns, count, shooting = self.start, segments, self._divided(self.start, segments)
        while True:
            unknowns, values, residuals, bound = self._solved(shooting, unknowns)
            if not len(shooting.sizes):
                return Fit(unknowns, residuals, segments, 0, bound)
            count //= FEWER
            shooting = self._joined(shooting, values, residuals, count)

    def refitted(self, fit: Fit, noise: Sequence[Mapping[str, float]]) -> Fit:
        """Return the best fit by other weights, from one nearby."""
        self.whole = JointShooting(
            [
                replace(motion, noise=levels)
                for motion, levels in zip(self.whole.motions, noise, strict=True)
            ]
        )
        unknowns, _, residuals, bound = self._solved(self.whole, fit.values)
        return replace(fit, values=unknowns, residuals=residuals, bound=bound)

    def _grown(self) -> Fit:
        """Return the best fit, by way of ever longer beginnings of the motions.

        A beginning is too long if the test fails, or if what it leaves is much more than the
        roughness of the data, as at a local minimum. It is then halved, as far as possible.
        """
        unknowns, share, count, usual = self.start, 0.0, 0, 1.0
        rows = max(len(model.data.times) for model in self.models)
        least = max(LEAST_ROWS / rows, 1 / MOST_SEGMENTS)
        while True:
            more = 1.0 - share
            while True:
                shooting, shortest = self._begun(share + more), more <= least
                if shortest or self._contracts(shooting, unknowns):
                    found, _, residuals, bound = self._solved(shooting, unknowns)
                    left = _relative_misfit(shooting, residuals)
                    if shortest or left <= COARSE * usual:
                        break
                more = max(more / 2, least)
            unknowns, share, usual = found, share + more, max(usual, left)
            if share >= 1.0:
                return Fit(unknowns, residuals, 1, count, bound)
            count += 1

    def _begun(self, share: float) -> JointShooting:
        """Return the beginnings of the motions, a share of the rows of each."""
        if share >= 1.0:
            return self.whole
        motions = [
            replace(
                motion, model=motion.model.early(math.ceil(share * len(motion.model.data.times)))
            )
            for motion in self.whole.motions
        ]
        return JointShooting(motions, partial=True)

    def _sufficient(self) -> int:
        """Return the least number of segments, a power of four, that passes the test."""
        rows = max(len(model.data.times) for model in self.models)
        most = min(MOST_SEGMENTS, max(rows // LEAST_ROWS, 1))
        count = 1
        while not self._contracts(self._divided(self.start, count), self.start):
            if FEWER * count > most:
                break
            count *= FEWER
        return count

    def _divided(self, unknowns: np.ndarray, count: int) -> JointShooting:
        if count == 1:
            return self.whole
        motions: list[Shooting] = []
        for motion in self.whole.motions:
            model = motion.model
            own = min(count, max(len(model.data.times) // LEAST_ROWS, 1))
            if len(self.models) == 1:
                own = count
            named = dict(zip(model.names, unknowns[model.places].tolist(), strict=True))
            try:
                motions.append(replace(motion, nodes=model.nodes(named, own)))
            except NoFitError:
                raise
            except DaesolveError as error:
                raise NoFitError(
                    f"there is no motion for the start values to divide: {error}"
                ) from error
        return JointShooting(motions)

    def _joined(
        self, shooting: JointShooting, values: np.ndarray, residuals: JointResiduals, count: int
    ) -> JointShooting:
        """Return fewer segments, from the nodes as they were found."""
        if count <= 1:
            return self.whole
        ends = np.cumsum([len(motion.start) for motion in shooting.motions])[:-1]
        pieces = zip(shooting.motions, np.split(values, ends), residuals.motions, strict=True)
        return JointShooting([_joined_alone(*piece) for piece in pieces])

    def _contracts(self, shooting: JointShooting, unknowns: np.ndarray) -> bool:
        """Whether the second correction by the same derivatives is much shorter than the first."""
        scales = np.concatenate([self.sizes, shooting.sizes])
        start = np.concatenate([unknowns, shooting.start])
        held = _held(shooting, len(scales))
        try:
            first = self._evaluated(shooting, start)
            slopes = np.vstack([first.slopes * scales, held])
            vector = np.concatenate([first.vector, np.zeros(len(held))])
            step = -np.linalg.lstsq(slopes, vector, rcond=None)[0]
            moved = start + scales * step
            # At the bound itself there may be no motion.
            inside = unknowns + INWARD * (self.bounds - unknowns)
            moved[: len(unknowns)] = np.clip(moved[: len(unknowns)], *inside)
            second = self._evaluated(shooting, moved)
        except DaesolveError:
            return False
        change = (moved - start) / scales
        again = np.linalg.lstsq(slopes, np.concatenate([second.vector, held @ change]), rcond=None)
        return bool(
            np.linalg.norm(again[0]) <= CONTRACTION * max(float(np.linalg.norm(change)), NEAR)
        )

    def _evaluated(self, shooting: JointShooting, point: np.ndarray) -> JointResiduals:
        self.evaluations += len(shooting.motions)
        count = len(self.start)
        return shooting.residuals(point[:count], point[count:])

    def _solved(
        self, shooting: JointShooting, unknowns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, JointResiduals, np.ndarray]:
        """Return the unknowns, the values of the nodes, the residuals, and the active bounds."""
        count = len(unknowns)
        scales = np.concatenate([self.sizes, shooting.sizes])
        free = np.full((2, len(shooting.sizes)), [[-np.inf], [np.inf]])
        bounds = np.hstack([self.bounds, free]) / scales
        begin = np.concatenate([unknowns, shooting.start]) / scales
        begin = np.clip(begin, *bounds)
        last: dict[bytes, JointResiduals] = {}
        anchor = np.empty((0, len(begin)))

        def found(point: np.ndarray) -> JointResiduals:
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
            anchor = _held(shooting, len(begin))
            if not len(anchor):
                anchor = _unseen(found(begin).slopes * scales)
        except DaesolveError as error:
            raise NoFitError(f"there is no motion to compare with the data: {error}") from error
        rough = shooting.partial or bool(len(shooting.sizes))
        ends = (NEAR, NEAR) if rough else (FLAT, CONVERGED)
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
        if not solution.success and not rough:
            raise NoFitError(
                f"the fit did not converge in {MOST_STEPS} steps: give start values nearer to the "
                "truth, or more segments (segments=..., --segments)"
            )
        point = solution.x * scales
        return point[:count], point[count:], found(solution.x), solution.active_mask[:count]


def _joined_alone(motion: Shooting, values: np.ndarray, residuals: Residuals) -> Shooting:
    """Return a motion in fewer segments, from the nodes as they were found."""
    ends = np.cumsum([len(node.names) for node in motion.nodes])[:-1]
    nodes = [
        replace(node, values=own, others={n: part.run.end_state[n] for n in node.others})
        for node, own, part in zip(
            motion.nodes, np.split(values, ends), residuals.parts, strict=False
        )
    ]
    return replace(motion, nodes=nodes[FEWER - 1 :: FEWER])


def _relative_misfit(shooting: JointShooting, residuals: JointResiduals) -> float:
    """Return what a fit leaves, relative to the noise and the roughness of the data."""
    squares: list[np.ndarray] = []
    for motion, part in zip(shooting.motions, residuals.motions, strict=True):
        data = motion.model.data
        for name, rough in data.roughness.items():
            scale = max(rough, data.noise.get(name, 0.0), TINY * data.sizes[name])
            gaps = data.apart(name, part.outputs[name])[data.present(name)]
            squares.append((gaps / scale) ** 2)
    return float(np.sqrt(np.mean(np.concatenate(squares))))


def _held(shooting: JointShooting, count: int) -> np.ndarray:
    """Return rows that hold unknowns of which a beginning of the motion shows little.

    A change of an unknown by its own size counts as much as one standard deviation.
    """
    return np.eye(count) if shooting.partial else np.empty((0, count))


def _unseen(slopes: np.ndarray) -> np.ndarray:
    """Return rows that hold unknowns where they are in directions that the data do not show."""
    _, singular, right = np.linalg.svd(slopes, full_matrices=False)
    rank = int(np.sum(singular > INVISIBLE * singular[0]))
    return np.vstack([right[rank:], null_space(right)]) * (singular[0] or 1.0)
