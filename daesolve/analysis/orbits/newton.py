"""Damped Newton iteration on the equations of a periodic motion.

P. Deuflhard, Newton Methods for Nonlinear Problems (Springer, 2004), section 3.3: a step is
accepted if the next step with the same matrix is shorter by as much as the damping predicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daesolve.analysis.orbits.shooting import (
    Guess,
    Shot,
    Slopes,
    Task,
    assembled,
    conditions,
    moved,
    shoot,
    slopes_of,
)
from daesolve.core.expressions.singular_values import singular_directions, weakest_direction
from daesolve.errors import DaesolveError, NotPeriodicError

MOST_STEPS = 20
"""The number of steps of Newton's method."""
LEAST_PART = 1 / 256
"""The smallest fraction of a step that is tried."""
CONVERGED = 1e-12
"""A step, in sizes of the states, after which the places are as exact as possible."""
ROUNDING = 1e-8
"""A step below which only rounding keeps it from getting shorter."""
MISSED = 1e-8
"""The largest distance, in sizes, by which an orbit may miss itself."""
NOISE = 4e-15
"""The rounding of the equations over a period, relative to their entries and in sizes."""
EQUILIBRIUM = (
    "its period is arbitrary; analyse it with ds.analysis.linearize, or follow it along a "
    "branch with steady=True"
)
NEAR_REST = 1e-3
"""Rates, in sizes per period, so near an equilibrium that periods cannot be distinguished."""
FARTHEST = 30.0
"""The distance from a guess, in sizes, within which an orbit is searched."""
DOUBTFUL = 1e-3
"""The accuracy of a place, in sizes, needed to distinguish it from its neighbours."""


@dataclass(frozen=True, eq=False)
class NewtonSolution:
    """A solution.

    Parameters
    ----------
    shot, slopes
        The shot, and its derivatives.
    residuals
        The residual at each step.
    accuracy
        In sizes: the remaining step, and how far rounding blurs a place.
    least
        The least accurate state, if it is less accurate than `CONVERGED`; otherwise empty.
    """

    shot: Shot
    slopes: Slopes
    residuals: tuple[float, ...]
    accuracy: float
    least: str = ""


@dataclass(frozen=True, eq=False)
class Factors:
    """The singular value decomposition of the equations of a step.

    Along a direction with almost no effect, such as the angle of a wheel that rolls idly, rounding
    exceeds the equations. A step there is noise, however small the residual.

    Parameters
    ----------
    left, values, right
        Singular vectors as columns, values, vectors as rows.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray

    @property
    def weak(self) -> np.ndarray:
        """(k,) whether rounding hides a direction at `CONVERGED`."""
        return CONVERGED * self.values < NOISE

    def step(self, missed: np.ndarray) -> np.ndarray:
        """Return the step for a residual."""
        return self.right.T @ (self.left.T @ missed / self.values)

    def firm(self, missed: np.ndarray) -> np.ndarray:
        """Return the step without its noise."""
        along = self.left.T @ missed
        noisy = self.weak & (np.abs(along) <= NOISE)
        return self.right.T @ (np.where(noisy, 0.0, along) / self.values)


def solve(task: Task, guess: Guess) -> NewtonSolution:
    """Find the periodic motion near a guess.

    Raises
    ------
    NotPeriodicError
        The iteration does not find one.
    """
    shot = shoot(task, guess)
    residuals = [shot.residual]
    for _ in range(MOST_STEPS):
        slopes = slopes_of(task, shot)
        matrix, right = assembled(task, shot, slopes, conditions(task, shot))
        if not matrix.shape[1]:  # The constraints alone determine the motion.
            if not shot.residual <= MISSED:
                raise NotPeriodicError(_missed(task, shot))
            return NewtonSolution(shot, slopes, (shot.residual,), 0.0)
        factors = _factored(task, shot, matrix)
        step = factors.firm(right)
        length = _length(task, shot, step)
        if length <= CONVERGED:
            polished = shoot(task, moved(task, shot, factors.step(right), 1.0))
            if polished.residual < shot.residual:
                # Near grazing, derivatives change far more than the places.
                shot, slopes = polished, slopes_of(task, polished)
            return _checked(task, shot, slopes, (*residuals, shot.residual), factors, step)
        following = _damped(task, shot, step, factors)
        if following is None and length <= ROUNDING:
            following = _closer(task, shot, step)
            if following is None:
                return _checked(task, shot, slopes, tuple(residuals), factors, step)
        if following is None:
            break
        shot = following
        residuals.append(shot.residual)
        if _away(task, shot, guess) > FARTHEST:
            break
    raise NotPeriodicError(_missed(task, shot))


def _checked(
    task: Task,
    shot: Shot,
    slopes: Slopes,
    residuals: tuple[float, ...],
    factors: Factors,
    step: np.ndarray,
) -> NewtonSolution:
    """Return a solution and its accuracy; refuse one that only minimises its residual.

    Raises
    ------
    NotPeriodicError
        It is not an orbit.
    """
    if not shot.residual <= MISSED:
        raise NotPeriodicError(_missed(task, shot))
    # The unfolding parameters at this shot; its guess has those of the step that led to it.
    unfolding = step[len(step) - len(task.integrals) :]
    shot = replace(shot, guess=replace(shot.guess, alpha=unfolding))
    weak = factors.weak
    doubts = [step, *(NOISE / factors.values[weak])[:, None] * factors.right[weak]]
    lengths = [_length(task, shot, doubt) for doubt in doubts]
    accuracy = max(lengths)
    worst = _most(task, shot, doubts[int(np.argmax(lengths))])[0]
    return NewtonSolution(shot, slopes, residuals, accuracy, worst if accuracy > CONVERGED else "")


def _damped(task: Task, shot: Shot, step: np.ndarray, factors: Factors) -> Shot | None:
    """Return the shot after a step, or part of it, that promises a shorter one; or None."""
    length, part = _length(task, shot, step), 1.0
    while part >= LEAST_PART:
        try:
            tried = shoot(task, moved(task, shot, step, part))
        except DaesolveError:
            part /= 2.0
            continue
        found = _length(task, tried, factors.firm(_right(task, tried)))
        if found <= (1.0 - part / 2.0) * length:
            return tried
        part /= 2.0
    return None


def _closer(task: Task, shot: Shot, step: np.ndarray) -> Shot | None:
    """Return the shot after a short step if it misses by half as much at most; or None.

    The length of a next step may show rounding alone, along directions with almost no effect.
    """
    try:
        tried = shoot(task, moved(task, shot, step, 1.0))
    except DaesolveError:
        return None
    return tried if tried.residual <= shot.residual / 2.0 else None


def _right(task: Task, shot: Shot) -> np.ndarray:
    """Return the residual of a shot, in the order of the equations."""
    return np.concatenate([shot.missing(), conditions(task, shot).right])


def _factored(task: Task, shot: Shot, matrix: np.ndarray) -> Factors:
    """Return the singular value decomposition of the equations.

    Raises
    ------
    NotPeriodicError
        They are singular to rounding.
    """
    directions = singular_directions(matrix, whole=False)
    left, values, right = directions.left, directions.values, directions.right
    # The residual has the rounding of states; the matrix has that of its own entries.
    rounding = NOISE * max(1.0, float(np.abs(left[:, -1]) @ np.abs(matrix) @ np.abs(right[-1])))
    if matrix.shape[0] < matrix.shape[1] or not rounding < DOUBTFUL * values[-1]:
        if task.flow.autonomous and not task.steady and still(task, shot) < NEAR_REST:
            raise NotPeriodicError(f"the guess leads to an equilibrium: {EQUILIBRIUM}")
        most = _most(task, shot, weakest_direction(matrix))
        raise NotPeriodicError(
            "neighbouring orbits cannot be distinguished; they differ most in "
            f"{' and '.join(map(repr, most))}: fix one of these in family={{...}}, allow a shift "
            "(up_to=Shift(...)), or start elsewhere if two branches meet here"
        )
    return Factors(left, values, right)


def _away(task: Task, shot: Shot, guess: Guess) -> float:
    """Return the distance of the first place from the guess, in sizes."""
    apart = shot.guess.nodes[0].x - guess.nodes[0].x
    return float(np.max(np.abs(apart / task.sizes)))


def still(task: Task, shot: Shot) -> float:
    """Return the change in a period due to the rates at the first place, in sizes."""
    rate = task.flow.rate(shot.guess.nodes[0]) / task.manifold.sizes
    return float(np.max(np.abs(rate), initial=0.0)) * shot.period


def _most(task: Task, shot: Shot, step: np.ndarray) -> list[str]:
    """Return the names of the one or two states that a step changes most, at the first place."""
    along = np.abs(shot.bases[0] @ step[shot.spans[0]])
    names = task.flow.names
    return [names[int(k)] for k in np.argsort(-along)[:2] if along[k] >= 0.1 * np.max(along)]


def _length(task: Task, shot: Shot, step: np.ndarray) -> float:
    """Return the length of a step in sizes, without alpha and with the relative period."""
    size = shot.count
    parts = [float(np.max(np.abs(step[:size]), initial=0.0))]
    if task.free_period:
        parts.append(abs(float(step[size])) / shot.guess.period)
    return max(parts)


def _missed(task: Task, shot: Shot) -> str:
    worst = int(np.argmax(np.max(np.abs(shot.defects), axis=0)))
    more = max(4, 2 * task.pieces)
    return (
        "no orbit was found: after Newton's steps the state misses itself by "
        f"{shot.residual:.2g} of its size, most in {task.flow.names[worst]!r}; give a closer "
        f"guess, or pieces={more}"
    )
