"""Consistent states: start values that fulfil every constraint, and samples of such states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.kept_outputs import aimed, can_keep
from daesolve.core.equations.projection import TOLERANCE, Projection, levels, metrics, sizes
from daesolve.core.equations.scaled_rows import are_independent
from daesolve.core.expressions.linear import SPARSE_FROM
from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.core.expressions.sparse_factors import solved_sparsely
from daesolve.core.posing.value_names import ValueKind
from daesolve.errors import (
    ContradictoryGoalsError,
    InconsistentStateError,
    OutOfRangeError,
    check_names,
)

POLISH = 1e-6
"""A fully given state that violates the constraints by less is corrected instead of refused."""
ROUNDINGS = 16.0
"""A fully given state is also corrected if this moves it by at most so many roundings."""
MISSED = 1e-9
"""A goal cannot hold if its smallest residual, relative to the goal's size, exceeds this."""
FACTORISED_FROM = 100
"""The number of unknowns from which sparse factors are faster than dense least squares."""


@dataclass(frozen=True)
class Start:
    """A consistent state.

    Parameters
    ----------
    state
        (nx,)
    changes
        Values changed by more than rounding to make the state consistent: name -> (guess, value).
    """

    state: np.ndarray
    changes: Mapping[str, tuple[float, float]]


def complete_start(
    dynamics: Dynamics,
    values: np.ndarray,
    start: Mapping[str, float],
    *,
    guess: Mapping[str, float] | None = None,
    time: float = 0.0,
    drift: float = 0.0,
) -> Start:
    """Complete given values to a state near a guess that fulfils every constraint.

    Positions come first, then velocities, each changed as little as possible in the metric of the
    masses at the guess (`projection.metrics`). A fully given state is corrected only for rounding.

    Parameters
    ----------
    dynamics, values
        The equations, and p as numbers.
    start, guess
        Values to keep, by state or by output of states, and values that may change, by state
        (missing ones are those of the equations, or zero).
    time, drift
        The time of the state, s; how far off its goals a given state may be, relative.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        There is no state of this name, or a value is not finite.
    InconsistentStateError
        No consistent state keeps the given values; the message names the violated goals.
    ContradictoryGoalsError
        No state near the guess fulfils all goals, whatever is given.
    """
    names = dynamics.labels.states
    x = near(dynamics, values, start, guess)
    given = np.array([names.index(name) for name in start if name in names], dtype=int)
    kept = {name: start_value(name, start[name]) for name in start if name not in names}
    first = x.copy()
    held, values = _held(dynamics, time, x, values)
    for number, level in enumerate(levels(dynamics, held, tuple(kept))):
        level = aimed(dynamics, level, kept)
        if not level.goals:
            continue
        metric = metrics(dynamics, time, x, values)[number]
        free = np.setdiff1d(level.columns, given)
        projection = Projection(level, metric, time, x, values, free)
        whole = Projection(level, metric, time, x, values, level.columns)
        found = projection.nearest()
        if found is None and (found := _corrected(whole, x, drift)) is None:
            raise _refusal(dynamics, projection, whole, start)
        x = found
    moved = np.abs(x - first) > np.maximum(
        TOLERANCE * np.maximum(np.abs(x), np.abs(first)), _rounding(x)
    )
    changes = {name: (float(first[i]), float(x[i])) for i, name in enumerate(names) if moved[i]}
    return Start(x, changes)


def _corrected(whole: Projection, x: np.ndarray, drift: float) -> np.ndarray | None:
    """Return the nearest consistent state if only rounding, or a drift, separates a state from it.

    At rest, where velocities are rounding, the rounding of the largest state is the measure.
    """
    found = whole.nearest()
    if found is None or whole.nearly_met(max(POLISH, drift)):
        return found
    return found if np.all(np.abs(found - x) <= ROUNDINGS * _rounding(x)) else None


def _rounding(x: np.ndarray) -> float:
    return float(np.finfo(float).eps * np.max(np.abs(x), initial=0.0))


def near(
    dynamics: Dynamics,
    values: np.ndarray,
    start: Mapping[str, float],
    guess: Mapping[str, float] | None,
) -> np.ndarray:
    """Return the state (nx,) near which to search, as in `complete_start`.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        There is no state of this name, or a value is not finite.
    """
    names = dynamics.labels.states
    own = {n: v for n, v in check_named("initial", start).items() if not can_keep(dynamics, n)}
    given = {**check_named("guess", guess), **own}
    check_names("state", map(str, given), names)
    known = {name: start_value(name, value) for name, value in given.items()}
    if further := {n: own for n, own in dynamics.guess.items() if n not in known}:
        function = ca.Function("guess", [dynamics.p], [ca.vertcat(*further.values())])
        known |= zip(further, np.asarray(function(values)).ravel().tolist(), strict=True)
    return np.array([known.get(name, 0.0) for name in names])


def check_named(owner: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a mapping of names to values; an empty one for None.

    Raises
    ------
    OutOfRangeError
        It is something else.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OutOfRangeError(f"{owner} must be a mapping of names to values, not {given!r}")
    return given


def start_value(name: str, value: Any) -> float:
    """Return a start value as a number.

    Raises
    ------
    OutOfRangeError
        It is not a finite number.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = None
    if number is None or isinstance(value, bool | str):
        raise OutOfRangeError(f"the start value of {name!r} must be a number, not {value!r}")
    if not np.isfinite(number):
        raise OutOfRangeError(f"the start value of {name!r} is {value!r}, not a finite number")
    return number


def _held(
    dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray]:
    """Let invariants on positions keep their value at the guess, where positions are free.

    Known values take precedence. Returns the invariants' names, and p with their references.
    """
    own = [row for row in dynamics.invariants if row.on == "positions"]
    if not own:
        return (), p
    values = ca.vertcat(*[row.value for row in own])
    references = ca.vertcat(*[row.held for row in own])
    function = dynamics.arrays("held", references, ca.jacobian(values, dynamics.x))
    numbers, gradients = function(t, x, p)
    p = p.copy()
    held: list[str] = []
    for row, value, gradient in zip(own, numbers.ravel(), gradients, strict=True):
        if row.fixed is not None or np.any(gradient != 0.0):
            held.append(row.name)
            p[ValueKind.REFERENCE.place(row.name, dynamics.values)] = value
    return tuple(held), p


def _opening_advice(dynamics: Dynamics, missed: Mapping[str, float]) -> str:
    """Say how a run starts with a goal open whose gap is positive; empty where there is none."""
    apart = [r for r in dynamics.unilateral if missed.get(f"the goal {r.name!r}", 0.0) > 0.0]
    return f". {apart[0].opening_advice}" if apart and apart[0].opening_advice else ""


def _refusal(
    dynamics: Dynamics, projection: Projection, whole: Projection, start: Mapping[str, float]
) -> InconsistentStateError:
    """Return a message on which goals fail, by how much, and which given values conflict."""
    level = projection.level
    names = dynamics.labels.states
    missed = smallest_residuals(projection)
    for title, miss in missed.items():
        if not np.isfinite(miss):
            where = "at the start, or its rate is not finite there; start where it is regular"
            return InconsistentStateError(f"{title} is {miss} {where}")
    held = [n for n in start if n in names and names.index(n) in level.columns]
    if held and whole.nearest() is not None:
        movable = [names[int(index)] for index in projection.moving]
        advice = (
            f"free to move: {', '.join(movable)}, but no value of these fulfils it together "
            f"with {', '.join(held)}"
            if movable
            else f"leave one of {', '.join(held)} open, or give values that fulfil it"
        ) + _opening_advice(dynamics, missed)
        return InconsistentStateError(f"the start violates {list_residuals(missed)}; {advice}")
    missed = smallest_residuals(whole)
    if kept := [name for name in start if name in level.goals and name not in names]:
        return InconsistentStateError(
            f"no state near the guess has the given {' and '.join(kept)}: leave one of them open, "
            "or give values that the goals allow"
        )
    if len(missed) > 1:
        return ContradictoryGoalsError(
            f"no state near the start fulfils {list_residuals(missed)} together: "
            "they contradict each other"
        )
    advice = "and no state near the guess fulfils it; give a better start"
    return InconsistentStateError(f"the start violates {list_residuals(missed)}, {advice}")


def smallest_residuals(projection: Projection) -> dict[str, float]:
    """Return the smallest residuals of the goals of a level: title -> residual."""
    level = projection.level
    x = projection.least_miss()
    residual, _ = level.evaluate(projection.t, x, projection.p)
    errors = np.abs(residual) / sizes(level, projection.t, x, projection.p)
    errors = np.where(np.isfinite(errors), errors, np.inf)
    worst = float(np.max(errors))
    return {
        title: float(miss)
        for title, miss, error in zip(level.titles, residual, errors, strict=True)
        if error > max(MISSED, 1e-3 * worst) or error == worst
    }


def list_residuals(missed: Mapping[str, float]) -> str:
    """List goals with their residuals: title -> residual."""
    *parts, last = [f"{title} (by {abs(miss):.6g})" for title, miss in missed.items()]
    return f"{', '.join(parts)} and {last}" if parts else last


def sample_states(
    dynamics: Dynamics,
    values: np.ndarray,
    around: np.ndarray | None = None,
    *,
    time: float = 0.0,
    count: int = 8,
    at_rest: int = 2,
) -> list[tuple[float, np.ndarray]]:
    """Return consistent states, some of them at rest, for numerical checks.

    Parameters
    ----------
    dynamics, values
        The equations and p as numbers.
    around
        A state to stay near, random if None; constraints independent there are so at every sample.
    time
        The time of the first sample, s; others follow at intervals, as constraints may move.
    count, at_rest
        The number of samples to try for, and how many of these at rest, if constraints allow it.
    """
    generator = np.random.default_rng(20)
    split = dynamics.position_count
    size = dynamics.x.numel()
    centre = np.zeros(size) if around is None else around
    spread = np.ones(size)
    if around is not None:
        reach = 0.3 * max(np.max(np.abs(around[:split]), initial=0.0), 1e-3)
        # The size of a large mechanism does not show how far its joints may be pulled apart.
        spread[:split] = reach if size < SPARSE_FROM else min(reach, 1.0)
        spread[split:] = max(np.max(np.abs(around[split:]), initial=0.0), 1.0)
    held = tuple(row.name for row in dynamics.invariants if row.on == "positions")
    both = levels(dynamics, held)
    # From afar, Newton's method may end where constraints lose rank: the motion never comes there.
    regular = around is not None and are_independent(dynamics, time, around, values)
    samples: list[tuple[float, np.ndarray]] = []
    failures = 0
    for attempt in range(4 * count):
        # Far away, constraints of many bodies cannot be fulfilled.
        closer = 1.0 if around is None else 0.1 ** (failures // 4)
        near = np.where(np.arange(size) < split, closer, 1.0)
        x: np.ndarray | None = centre + near * spread * generator.normal(size=size)
        if split and len(samples) < at_rest:
            x[split:] = 0.0
        moment = time + 0.37 * len(samples)
        for level in both:
            if x is not None and level.columns.size:
                unweighted = np.eye(level.columns.size)
                projection = Projection(level, unweighted, moment, x, values, level.columns)
                x = projection.met_somewhere(x)
        if x is None:
            failures += 1
        elif regular and not are_independent(dynamics, moment, x, values):
            failures += 4
        else:
            samples.append((moment, x))
        if len(samples) == count or (attempt >= 2 * count and len(samples) >= count // 2):
            break
    if around is not None:
        samples.insert(0, (time, around))
    return samples


def instantaneous(
    dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve for accelerations and reactions at one state, by dense least squares.

    Independent of the symbolic elimination; dependent constraints get reactions of least norm.
    """
    parts = dynamics.matrices(t, x, p)
    nv, nu = parts["influence"].shape
    goals, ties = len(parts["bias"]), len(parts["offsets"])
    matrix = np.zeros((nv + goals + ties, nv + nu))
    matrix[:nv, :nv], matrix[:nv, nv:] = parts["mass"], -parts["influence"]
    matrix[nv : nv + goals, :nv] = parts["jacobian"]
    matrix[nv + goals :, nv:] = parts["ties"]
    right = np.concatenate(
        [parts["force"].ravel(), -parts["bias"].ravel(), -parts["offsets"].ravel()]
    )
    # M becomes of order one in any units; otherwise scaling would cost light bodies their digits.
    inertia = np.sqrt(np.abs(np.diag(parts["mass"])))
    inertia[inertia == 0.0] = 1.0
    rows, columns = np.ones(len(matrix)), np.ones(nv + nu)
    rows[:nv] = columns[:nv] = inertia
    matrix = matrix / rows[:, None] / columns
    columns[nv:] = _lengths(matrix[:, nv:], 0)
    matrix[:, nv:] /= columns[nv:]
    rows[nv:] = _lengths(matrix[nv:], 1)
    matrix[nv:] /= rows[nv:, None]
    solution = _solved(matrix, right / rows) / columns
    return solution[:nv], solution[nv:]


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve by least squares; use sparse factors for a large system with a unique solution.

    Where something is not finite, neither is the solution.
    """
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(right))):
        return np.nan * np.zeros(matrix.shape[1])
    if len(matrix) >= FACTORISED_FROM and matrix.shape[0] == matrix.shape[1]:
        found = solved_sparsely(scipy.sparse.csc_array(matrix), right)
        if found is not None:
            return found
    return shortest_solution(matrix, right, 1e-13)


def _lengths(matrix: np.ndarray, axis: int) -> np.ndarray:
    """Return the lengths of rows (axis 1) or columns (axis 0), with one for zero lengths."""
    lengths = np.linalg.norm(matrix, axis=axis)
    return np.where(lengths > 0.0, lengths, 1.0)


def time_states(samples: Sequence[tuple[float, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Stack samples as (k,) times and (k, nx) states."""
    return np.array([t for t, _ in samples]), np.array([x for _, x in samples])
