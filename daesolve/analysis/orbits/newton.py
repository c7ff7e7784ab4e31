"""Damped Newton iteration on the equations of a periodic motion.

P. Deuflhard, Newton Methods for Nonlinear Problems (Springer, 2004), section 3.3: a step is
accepted where the next step of the same matrix is shorter by as much as the damping promises.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.analysis.orbits.shooting import (
    Guess,
    Shot,
    Slopes,
    Task,
    assembled,
    conditions,
    moved,
    names_of,
    shoot,
    slopes_of,
)
from daesolve.errors import DaesolveError, NotPeriodicError

MOST_STEPS = 20
"""Steps of Newton's method."""
LEAST_PART = 1 / 256
"""The smallest part of a step that is tried."""
CONVERGED = 1e-12
"""In sizes of the states: a step after which the places are as exact as can be."""
ROUNDING = 1e-8
"""A step below which it is rounding alone that keeps it from getting shorter."""
ROUNDED = 1e-10
"""In sizes: a residual at which a step that does not get shorter lies along a near family."""
MISSED = 1e-8
"""In sizes: what an orbit misses itself by at most."""
SINGULAR = 1e-14
"""Of the largest singular value of the equations, what counts as none."""


@dataclass(frozen=True, eq=False)
class Found:
    """A solution: the shot, its slopes, the steps' lengths, the residuals, the step left over."""

    shot: Shot
    slopes: Slopes
    residuals: tuple[float, ...]
    accuracy: float


def solve(task: Task, guess: Guess) -> Found:
    """Find the periodic motion near a guess.

    Raises
    ------
    NotPeriodicError
        There is none that the iteration finds.
    """
    shot = shoot(task, guess)
    residuals = [shot.residual]
    for _ in range(MOST_STEPS):
        slopes = slopes_of(task, shot)
        matrix, right = assembled(task, shot, slopes, conditions(task, shot))
        inverse = _inverse(task, shot, matrix)
        step = inverse @ right
        length = _length(task, shot, step)
        if length <= CONVERGED:
            polished = shoot(task, moved(task, shot, step, 1.0))
            if polished.residual < shot.residual:
                # Near to grazing, derivatives change far more than the places.
                shot, slopes = polished, slopes_of(task, polished)
            return _checked(task, Found(shot, slopes, (*residuals, shot.residual), length))
        following = _damped(task, shot, step, inverse)
        if following is None:
            if length <= ROUNDING or shot.residual <= ROUNDED:
                return _checked(task, Found(shot, slopes, tuple(residuals), length))
            break
        shot = following
        residuals.append(shot.residual)
    raise NotPeriodicError(_missed(task, shot))


def _checked(task: Task, found: Found) -> Found:
    """Return a solution; refuse what but misses itself least, where more is asked than there is.

    Raises
    ------
    NotPeriodicError
        It is no orbit.
    """
    if not found.shot.residual <= MISSED:
        raise NotPeriodicError(_missed(task, found.shot))
    return found


def _damped(task: Task, shot: Shot, step: np.ndarray, inverse: np.ndarray) -> Shot | None:
    """Return what follows a step, or a part of it, that promises a shorter one; or nothing."""
    length, part = _length(task, shot, step), 1.0
    while part >= LEAST_PART:
        try:
            tried = shoot(task, moved(task, shot, step, part))
        except DaesolveError:
            part /= 2.0
            continue
        onward = inverse @ _right(task, tried)
        found = _length(task, tried, onward)
        # Along near families steps are rounding, while what is missed still shrinks.
        if found <= (1.0 - part / 2.0) * length or tried.residual <= shot.residual / 4.0:
            return tried
        part /= 2.0
    return None


def _right(task: Task, shot: Shot) -> np.ndarray:
    """Return what a shot misses, in the order of the equations."""
    ends = [-(shot.bases[(k + 1) % task.pieces].T @ shot.defects[k]) for k in range(task.pieces)]
    return np.concatenate([*ends, conditions(task, shot).right])


def _inverse(task: Task, shot: Shot, matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of the equations.

    Raises
    ------
    NotPeriodicError
        They are singular.
    """
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    if not values[-1] > SINGULAR * values[0] or matrix.shape[0] < matrix.shape[1]:
        along = np.abs(shot.bases[0] @ right[-1][: shot.bases[0].shape[1]])
        names = names_of(task)
        most = [names[k] for k in np.argsort(-along)[:2] if along[k] > 0.1 * np.max(along)]
        raise NotPeriodicError(
            "orbits lie beside each other that nothing tells apart, which differ most in "
            f"{' and '.join(map(repr, most))}: name the value of such a state in family={{...}}, "
            "let a coordinate be shifted (up_to=Shift(...)), or, where two branches meet here, go "
            "aside"
        )
    return (right.T / values) @ left.T


def _length(task: Task, shot: Shot, step: np.ndarray) -> float:
    """Return how long a step is, in sizes; alpha is not counted, and the period relatively."""
    size = task.pieces * shot.bases[0].shape[1]
    parts = [float(np.max(np.abs(step[:size]), initial=0.0))]
    if task.free_period:
        parts.append(abs(float(step[size])) / shot.guess.period)
    return max(parts)


def _missed(task: Task, shot: Shot) -> str:
    worst = int(np.argmax(np.max(np.abs(shot.defects), axis=0)))
    more = max(4, 2 * task.pieces)
    return (
        f"no orbit was found: after Newton's steps the state misses itself by {shot.residual:.2g} "
        f"of its size, most in {names_of(task)[worst]!r}; give a nearer guess, or pieces={more}"
    )
