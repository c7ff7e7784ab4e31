"""Consistent states: start values that fulfil every constraint, and samples of such states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.dynamics import Dynamics
from daesolve.errors import InconsistentStateError, OutOfRangeError, unknown_name
from daesolve.translation import function_of

TOLERANCE = 1e-12
"""Relative to the size of the terms of a residual."""
POLISH = 1e-6
"""A fully given state that misses the constraints by less is corrected and told, not refused."""


@dataclass(frozen=True)
class Start:
    """A consistent state.

    Parameters
    ----------
    state
        (nx,)
    changes
        What was changed beyond rounding to make it consistent: name -> (guess, value).
    """

    state: np.ndarray
    changes: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class _Level:
    """Equations for one part of the state: positions, or velocities at given positions."""

    goals: tuple[str, ...]
    columns: np.ndarray
    evaluate: Callable[[float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _levels(dynamics: Dynamics, *, invariants: bool = False) -> tuple[_Level, _Level]:
    """Return the position and the velocity level; position invariants belong to samples alone."""
    holonomic = [row for row in dynamics.rows if row.kind == "holonomic"]
    slow: list[tuple[str, ca.SX]] = [(row.name, row.chain[0]) for row in holonomic]
    slow += [(row.name, row.residual) for row in dynamics.implicit_rows]
    if invariants:
        slow += [
            (row.name, row.value - row.reference)
            for row in dynamics.invariants
            if row.on == "positions"
        ]
    fast: list[tuple[str, ca.SX]] = [(row.name, row.chain[1]) for row in holonomic]
    fast += [
        (row.name, row.chain[0])
        for row in dynamics.rows
        if row.kind == "nonholonomic" and not row.from_start
    ]
    split = dynamics.position_count
    positions = np.arange(split)
    velocities = np.arange(split, dynamics.x.numel())
    return _level(dynamics, slow, positions), _level(dynamics, fast, velocities)


def _level(dynamics: Dynamics, residuals: list[tuple[str, ca.SX]], columns: np.ndarray) -> _Level:
    stack = ca.vertcat(ca.SX(0, 1), *[residual for _, residual in residuals])
    unknowns = ca.vertcat(ca.SX(0, 1), *[dynamics.x[int(c)] for c in columns])
    function = function_of(
        "level",
        [dynamics.t, dynamics.x, dynamics.p],
        [stack, ca.jacobian(stack, unknowns)],
        (["t", "x", "p"], ["residual", "jacobian"]),
    )

    def evaluate(t: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residual, jacobian = function(t, x, p)
        return np.asarray(residual).ravel(), np.asarray(jacobian).reshape(
            len(residuals), len(columns)
        )

    return _Level(tuple(name for name, _ in residuals), columns, evaluate)


def _size(level: _Level, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the size of each residual's terms: sum |d residual / d x_i| max(|x_i|, typical)."""
    _, jacobian = level.evaluate(t, x, p)
    part = np.abs(x[level.columns])
    typical = np.max(part, initial=0.0) or 1.0
    size = np.abs(jacobian) @ np.maximum(part, typical)
    return np.where(size > 0, size, 1.0)


def _newton(
    level: _Level, t: float, x: np.ndarray, p: np.ndarray, free: np.ndarray
) -> np.ndarray | None:
    """Move the free entries least until the residuals vanish; None where they do not."""
    x = x.copy()
    if not level.goals:
        return x
    chosen = np.flatnonzero(np.isin(level.columns, free))
    best: tuple[float, np.ndarray] | None = None
    stalled = 0
    for _ in range(60):
        residual, jacobian = level.evaluate(t, x, p)
        if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(jacobian))):
            return None
        error = float(np.max(np.abs(residual) / _size(level, t, x, p)))
        if best is None or error < 0.5 * best[0]:
            best, stalled = (error, x.copy()), 0
        else:
            stalled += 1
        if error == 0.0 or (stalled >= 2 and best[0] <= TOLERANCE) or stalled > 20:
            break
        if chosen.size == 0:
            break
        step = np.linalg.lstsq(jacobian[:, chosen], -residual, rcond=1e-12)[0]
        limit = 2.0 * max(1.0, float(np.max(np.abs(x[level.columns]))))
        longest = float(np.max(np.abs(step), initial=0.0))
        if level.columns[0] == 0 and longest > limit:
            step *= limit / longest
        x[level.columns[chosen]] += step
    assert best is not None
    return best[1] if best[0] <= TOLERANCE else None


def _solve_level(
    level: _Level, t: float, x: np.ndarray, p: np.ndarray, free: np.ndarray
) -> np.ndarray | None:
    """Newton from the guess; where it sits on a symmetric spot, from beside it, nearest first."""
    found = _newton(level, t, x, p, free)
    if found is not None or free.size == 0:
        return found
    candidates: list[np.ndarray] = []
    for size in (-0.5, 0.5):
        beside = x.copy()
        beside[free] += size * max(1.0, float(np.max(np.abs(x[level.columns]))))
        found = _newton(level, t, beside, p, free)
        if found is not None:
            candidates.append(found)
    if not candidates:
        return None
    return min(candidates, key=lambda y: round(float(np.linalg.norm(y - x)), 9))


def consistent_state(
    dynamics: Dynamics,
    values: np.ndarray,
    start: Mapping[str, float],
    *,
    guess: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Start:
    """Find the state that keeps the given values, fulfils every constraint and is near a guess.

    Positions first, then velocities; what is not given moves as little as possible. Where every
    value is given and the state misses the constraints by rounding only, all of it is corrected.

    Parameters
    ----------
    dynamics
        The equations.
    values
        p as numbers.
    start
        Values to keep, by the names of states.
    guess
        Values that may move (zero where absent).
    time
        The time of the state, s.

    Raises
    ------
    UnknownNameError
        No state has such a name.
    OutOfRangeError
        A value is not finite.
    InconsistentStateError
        No consistent state keeps the given values; the goal that fails is named.
    """
    names = dynamics.labels.states
    for name, value in {**(guess or {}), **start}.items():
        if name not in names:
            raise unknown_name("state", name, names)
        if not np.isfinite(value):
            raise OutOfRangeError(f"the start value of {name!r} is {value!r}, not a finite number")
    kept = {**(guess or {}), **start}
    x = np.array([float(kept.get(name, 0.0)) for name in names])
    given = np.array([names.index(name) for name in start], dtype=int)
    first = x.copy()
    for level in _levels(dynamics):
        free = np.setdiff1d(level.columns, given)
        found = _solve_level(level, time, x, values, free)
        if found is None:
            found = _polish(level, time, x, values)
        if found is None:
            raise _refusal(dynamics, level, time, x, values, start, free)
        x = found
    rounding = np.finfo(float).eps * np.max(np.abs(x), initial=0.0)
    moved = np.abs(x - first) > np.maximum(
        TOLERANCE * np.maximum(np.abs(x), np.abs(first)), rounding
    )
    changes = {name: (float(first[i]), float(x[i])) for i, name in enumerate(names) if moved[i]}
    return Start(x, changes)


def _polish(level: _Level, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray | None:
    residual, _ = level.evaluate(t, x, p)
    if np.max(np.abs(residual) / _size(level, t, x, p)) > POLISH:
        return None
    return _newton(level, t, x, p, level.columns)


def _refusal(
    dynamics: Dynamics,
    level: _Level,
    t: float,
    x: np.ndarray,
    p: np.ndarray,
    start: Mapping[str, float],
    free: np.ndarray,
) -> InconsistentStateError:
    residual, _ = level.evaluate(t, x, p)
    errors = np.abs(residual) / _size(level, t, x, p)
    worst = int(np.argmax(np.where(np.isfinite(errors), errors, np.inf)))
    names = dynamics.labels.states
    held = [n for n in start if names.index(n) in level.columns]
    movable = [names[int(i)] for i in free]
    what = "" if level.columns[0] == 0 else "the rate of " * (worst < _holonomic_count(dynamics))
    advice = (
        f"free to move: {', '.join(movable)}, but no value of these meets it together with "
        f"{', '.join(held)}"
        if movable and held
        else f"leave one of {', '.join(held)} open, or give values that meet it"
        if held
        else "no state near the guess meets it; give a better start"
    )
    return InconsistentStateError(
        f"the start violates {what}the goal {level.goals[worst]!r}: its residual is "
        f"{residual[worst]:.6g} ({errors[worst]:.2g} of its size); {advice}"
    )


def _holonomic_count(dynamics: Dynamics) -> int:
    return sum(row.kind == "holonomic" for row in dynamics.rows)


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
        A state to stay near; without it the states are random of order one.
    time
        The time of the first, s; the others follow at intervals, since constraints may move.
    count, at_rest
        How many to try for, and how many of these at rest (where the constraints allow it).
    """
    generator = np.random.default_rng(20)
    split = dynamics.position_count
    size = dynamics.x.numel()
    centre = np.zeros(size) if around is None else around
    spread = np.ones(size)
    if around is not None:
        spread[:split] = 0.3 * max(np.max(np.abs(around[:split]), initial=0.0), 1e-3)
        spread[split:] = max(np.max(np.abs(around[split:]), initial=0.0), 1.0)
    levels = _levels(dynamics, invariants=True)
    samples: list[tuple[float, np.ndarray]] = []
    for attempt in range(4 * count):
        x: np.ndarray | None = centre + spread * generator.normal(size=size)
        if len(samples) < at_rest:
            x[split:] = 0.0
        moment = time + 0.37 * len(samples)
        for level in levels:
            x = None if x is None else _newton(level, moment, x, values, level.columns)
        if x is not None:
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

    Independent of the symbolic elimination; with dependent constraints it gives the reactions of
    least norm.
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
    rows = np.linalg.norm(matrix, axis=1)
    rows[rows == 0.0] = 1.0
    columns = np.linalg.norm(matrix / rows[:, None], axis=0)
    columns[columns == 0.0] = 1.0
    scaled = matrix / rows[:, None] / columns[None, :]
    solution = np.linalg.lstsq(scaled, right / rows, rcond=1e-13)[0] / columns
    return solution[:nv], solution[nv:]


def time_states(samples: Sequence[tuple[float, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Stack samples as (k,) times and (k, nx) states."""
    return np.array([t for t, _ in samples]), np.array([x for _, x in samples])
