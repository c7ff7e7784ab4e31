"""Consistent states at which the rank of dependent constraints can be determined.

If constraints are dependent only on their manifold, as in a linkage with redundant bars, a state
that fulfils them to rounding u may lie at a distance sqrt(u) from the manifold, where they appear
independent by the same small amount. States found from afar also tend to end in flat positions,
where rounding has the largest effect. Such states do not count. Instead, others are used: they
start at the initial state and move along the manifold, with nearly dependent constraints treated as
dependent.
"""

from __future__ import annotations

import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.projection import TOLERANCE, Level, levels, sizes
from daesolve.core.equations.rank import Samples
from daesolve.core.equations.scaled_rows import RANK_TOLERANCE, scaled_constraints
from daesolve.core.expressions.singular_values import null_space, shortest_solution, singular_values

DOUBTFUL = 1e-5
"""Singular values between this and those that count as zero are doubtful."""
STEPS = (0.02, 0.05, 0.1, 0.2, -0.05, -0.1)
"""The distance along the manifold from the start, relative to its size."""
SWEEPS = 30


def regular_samples(dynamics: Dynamics, samples: Samples, values: np.ndarray) -> Samples:
    """Return the samples at which the rank is certain; all of them if it is full at the first.

    Parameters
    ----------
    dynamics, values
        The equations and p as numbers.
    samples
        Consistent states, the start first.
    """
    if not dynamics.rows or not samples or dynamics.rows[0].kind == "control":
        return samples
    time, start = samples[0]
    if _smallest(dynamics, time, start, values).min() > RANK_TOLERANCE:
        return samples
    kept = [sample for sample in samples[1:] if not _doubtful(dynamics, *sample, values)]
    if len(kept) == len(samples) - 1:
        return samples
    generator = np.random.default_rng(7)
    beside = [_along(dynamics, time, start, values, step, generator) for step in STEPS]
    found = [(time, x) for x in beside if x is not None]
    kept += [sample for sample in found if not _doubtful(dynamics, *sample, values)]
    return [samples[0], *kept] if kept else samples


def _smallest(dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the singular values of the scaled constraints, as many as there are rows."""
    matrix = scaled_constraints(dynamics, t, x, p)[0]
    return singular_values(matrix, len(matrix))


def _doubtful(dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> bool:
    found = _smallest(dynamics, t, x, p)
    return bool(np.any((found > RANK_TOLERANCE) & (found < DOUBTFUL)))


def _along(
    dynamics: Dynamics,
    t: float,
    start: np.ndarray,
    p: np.ndarray,
    step: float,
    generator: np.random.Generator,
) -> np.ndarray | None:
    """Return a consistent state one step along the manifold from the start; None without one."""
    held = tuple(row.name for row in dynamics.invariants if row.on == "positions")
    x, split = start.copy(), dynamics.position_count
    x[split:] += generator.normal(size=len(x) - split) * max(np.max(np.abs(x[split:])), 1.0)
    for number, level in enumerate(levels(dynamics, held)):
        if number == 0 and level.columns.size:
            free = np.eye(level.columns.size)
            if level.goals:
                free = null_space(level.evaluate(t, x, p)[1], DOUBTFUL)
            way = free @ generator.normal(size=free.shape[1])
            reach = max(np.max(np.abs(x[level.columns]), initial=0.0), 1e-3)
            length = float(np.max(np.abs(way), initial=0.0)) or 1.0
            x[level.columns] += step * reach / length * way
        found = _met(level, t, x, p)
        if found is None:
            return None
        x = found
    return x


def _met(level: Level, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray | None:
    """Solve the equations of a level; nearly dependent ones follow from the others."""
    if not level.goals:
        return x
    best: tuple[float, np.ndarray] | None = None
    for _ in range(SWEEPS):
        residual, jacobian = level.evaluate(t, x, p)
        if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(jacobian))):
            return None
        size = sizes(level, t, x, p)
        error = float(np.max(np.abs(residual) / size))
        if best is not None and error <= TOLERANCE and error >= 0.5 * best[0]:
            break
        if best is None or error < best[0]:
            best = (error, x)
        change = shortest_solution(jacobian / size[:, None], -residual / size, 10.0 * DOUBTFUL)
        x = x.copy()
        x[level.columns] += change
    assert best is not None
    met = best[0] <= TOLERANCE or bool(np.all(level.rounded(t, best[1], p)))
    return best[1] if met else None
