"""The nearest state that fulfils the constraints, in the metric of the mass matrix.

A displacement d of the positions, or a change d of the velocities, costs d . M d. This has one unit
whatever the units of the coordinates, and the change of velocities of least cost is the one that
the reactions would cause if the constraints were suddenly engaged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.equations.least_steps import DENSE_FROM, DEPENDENT, along, cheapest
from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import SPARSE_FROM
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.term_sizes import ROUNDING, term_sizes
from daesolve.core.expressions.translation import function_of

TOLERANCE = 1e-12
"""The tolerance relative to the size of a residual's terms."""
NEAREST = 1e-13
"""The part of a displacement along the manifold at which the nearest state is found."""
CLOSE = 1e-7
"""A displacement below this, relative to the state, needs no sliding: its error is its square."""
NOTHING = 1e-150
"""Terms below this count as zero."""
ITERATIONS, PATIENCE = 60, 20
"""The iterations of Newton's method, and those without improvement."""
WORK = 15
"""How many numbers an iteration computes for each cube of the number of states, about."""
FEW = 30
"""The number of states of a level up to which compiled code is used; compiling a larger program
takes longer than it saves."""
MASSLESS = 1e-6
"""The relative weight of a direction without inertia, which therefore moves first."""


@dataclass(frozen=True, eq=False)
class Level:
    """Equations for one part of the state: positions, or velocities at given positions.

    Parameters
    ----------
    goals
        Their names.
    titles
        Their names for messages: the goal itself, or its rate.
    columns
        The indices of this part in the state.
    evaluate
        (t, x, p) -> residuals (n,) and their Jacobian (n, len(columns)).
    terms
        (t, x, p) -> the sizes of the terms of the residuals, (n,), which determine rounding.
    column
        Returns (t, x, p) -> the residuals and, row by row, their Jacobian, in one column; None if
        there is no such function.
    """

    goals: tuple[str, ...]
    titles: tuple[str, ...]
    columns: np.ndarray
    evaluate: Callable[[float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    terms: Callable[[float, np.ndarray, np.ndarray], np.ndarray]
    column: Callable[[], ca.Function] | None = None

    def rounded(self, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return which residuals are no more than rounding of their terms, (n,)."""
        residual, _ = self.evaluate(t, x, p)
        return np.abs(residual) <= ROUNDING * self.terms(t, x, p)


@built_once
def levels(
    dynamics: Dynamics, held: tuple[str, ...] = (), kept: tuple[str, ...] = ()
) -> tuple[Level, Level]:
    """Return the position and the velocity level.

    Parameters
    ----------
    dynamics
        The equations.
    held
        Invariants on positions that must have their reference value.
    kept
        Outputs that the last equations are to give values (`kept_outputs.aimed`).
    """
    holonomic = [row for row in dynamics.rows if row.kind == "holonomic"]
    slow: list[tuple[str, ca.SX]] = [(row.name, row.chain[0]) for row in holonomic]
    slow += [(row.name, row.residual) for row in dynamics.implicit_rows]
    slow += [(row.name, row.value - row.reference) for row in dynamics.invariants
             if row.name in held]  # fmt: skip
    fast: list[tuple[str, ca.SX]] = [(row.name, row.chain[1]) for row in holonomic]
    fast += [(row.name, row.chain[0]) for row in dynamics.rows if _is_plain(row)]
    fast += [link for row in dynamics.rows if row.at_start for link in row.links.items()]
    split = dynamics.position_count
    positions = np.arange(split)
    velocities = np.arange(split, dynamics.x.numel())
    rates = len(holonomic)
    for name in kept:
        output = dynamics.outputs[name]
        (fast if ca.depends_on(output, dynamics.x[split:]) else slow).append((name, output))
    return _level(dynamics, slow, positions, 0), _level(dynamics, fast, velocities, rates)


def _is_plain(row: GoalRow) -> bool:
    return row.kind == "nonholonomic" and not row.from_start


def _level(
    dynamics: Dynamics, residuals: list[tuple[str, ca.SX]], columns: np.ndarray, rates: int
) -> Level:
    stack = ca.vertcat(ca.SX(0, 1), *[residual for _, residual in residuals])
    unknowns = ca.vertcat(ca.SX(0, 1), *[dynamics.x[int(c)] for c in columns])
    # Levels live as long as the equations, so they must not refer to them.
    inputs, slopes = [dynamics.t, dynamics.x, dynamics.p], ca.jacobian(stack, unknowns)
    function = dynamics.arrays("level", stack, slopes, share=False)

    @cache
    def column() -> ca.Function:
        both = ca.vertcat(stack, ca.vec(slopes.T))
        return function_of("level", inputs, [both], (["t", "x", "p"], ["level"]), share=False)

    def evaluate(t: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residual, jacobian = function(t, x, p)
        return residual.ravel(), jacobian

    names = tuple(name for name, _ in residuals)
    titles = tuple(
        f"{'the rate of ' * (index < rates)}the goal {name!r}" for index, name in enumerate(names)
    )
    return Level(names, titles, columns, evaluate, terms_of(dynamics, stack), column)


def terms_of(
    dynamics: Dynamics, residuals: ca.SX
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """Return (t, x, p) -> the sizes of the terms of residuals, a column, (n,)."""
    inputs = [dynamics.t, dynamics.x, dynamics.p]

    @cache
    def posed() -> ca.Function:
        return function_of("terms", inputs, [residuals], (["t", "x", "p"], ["terms"]))

    def terms(t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        return term_sizes(posed(), t, x, p)[0]

    return terms


def sizes(level: Level, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the size of each residual's terms: sum |d residual / d x_i| max(|x_i|, typical)."""
    return _sizes(level, x, level.evaluate(t, x, p)[1])


def _sizes(level: Level, x: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    part = np.abs(x[level.columns])
    typical = np.max(part, initial=0.0) or 1.0
    size = np.abs(jacobian) @ np.maximum(part, typical)
    return np.where(np.isfinite(size) & (size > NOTHING), size, 1.0)


def metrics(
    dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the metrics of positions and of velocities at a state.

    Parameters
    ----------
    dynamics, t, x, p
        The equations, time in s, a state (nx,) and p.

    Returns
    -------
    positions, velocities
        (nq, nq) and (nv, nv), positive definite. Velocities have the mass matrix M. Coordinates
        with q' = S v have S^+T M S^+, and the largest inertia in directions that no velocity
        reaches (away from unit quaternions). Directions without inertia, such as implicit unknowns,
        get a millionth of the inertia of the others, so they move first. So do quadratures, which
        no constraint moves.
    """
    split, moving = dynamics.position_count, dynamics.velocity_count
    mass = np.nan_to_num(dynamics.matrices(t, x, p)["mass"], posinf=0.0, neginf=0.0)
    velocities = _positive(0.5 * (mass + mass.T))
    coordinates = dynamics.coordinate_count
    rates = _kinematics(dynamics)(t, x, p)[0].reshape(split, moving)[:coordinates]
    directions = np.nan_to_num(rates, posinf=0.0, neginf=0.0)
    plain = np.array_equal(directions, np.eye(coordinates))
    inverse = directions if plain else np.linalg.pinv(directions)
    unreached = np.eye(coordinates) - directions @ inverse
    heaviest = np.max(np.diag(velocities), initial=0.0) or 1.0
    positions = np.zeros((split, split))
    positions[:coordinates, :coordinates] = inverse.T @ velocities @ inverse + heaviest * unreached
    return _positive(positions), velocities


@built_once
def _kinematics(dynamics: Dynamics) -> ArrayFunction:
    """Return (t, x, p) -> S, of q' = S v."""
    return dynamics.arrays("kinematics", ca.jacobian(dynamics.position_rates, dynamics.velocities))


def _positive(metric: np.ndarray) -> np.ndarray:
    """Give directions without inertia a small part of the others', scaled by the diagonal."""
    if not metric.size:
        return metric
    diagonal = np.diag(metric).copy()
    present = diagonal > 0.0
    diagonal[~present] = MASSLESS * (np.min(diagonal[present]) if np.any(present) else 1.0)
    units = np.sqrt(diagonal)
    scaled = metric / units / units[:, None]
    scaled[~present, ~present] = 1.0
    values = np.linalg.eigvalsh(scaled)
    if values[0] >= MASSLESS * values[-1]:
        return scaled * units * units[:, None]
    values, vectors = np.linalg.eigh(scaled)
    raised = np.maximum(values, MASSLESS * values[-1])
    return (vectors * raised) @ vectors.T * units * units[:, None]


class Projection:
    """The path from a guess to the nearest state on one level, with some values kept.

    Parameters
    ----------
    level, metric
        The equations of this part of the state, and the cost of a displacement.
    t, p
        Time, s, and p as numbers.
    guess
        (nx,)
    free
        The indices of states that may move.
    """

    def __init__(
        self,
        level: Level,
        metric: np.ndarray,
        t: float,
        guess: np.ndarray,
        p: np.ndarray,
        free: np.ndarray,
    ) -> None:
        self.level, self.t, self.guess, self.p = level, t, guess, p
        everything = free is level.columns
        own = len(level.columns)
        self.chosen = np.arange(own) if everything else np.flatnonzero(np.isin(level.columns, free))
        self.moving = level.columns[self.chosen]
        self.root = np.linalg.cholesky(metric[np.ix_(self.chosen, self.chosen)]).T
        diagonal = np.diag(self.root)
        least = DENSE_FROM if bool(np.all(diagonal == 1.0)) else SPARSE_FROM
        usual = len(diagonal) >= least
        self._plain = usual and np.array_equal(self.root, np.diag(diagonal))

    @cached_property
    def inverse_root(self) -> np.ndarray:
        """The inverse of the square root of the metric."""
        return np.diag(1.0 / np.diag(self.root)) if self._plain else np.linalg.inv(self.root)

    def nearest(self) -> np.ndarray | None:
        """Return the nearest state that fulfils the equations; None if none is found.

        The search starts at the guess or, if that is a symmetric point, beside it, nearest first.
        """
        found = self.met(self.guess)
        if found is None and self.moving.size:
            size = float(np.max(np.abs(self.guess[self.level.columns])))
            candidates = self._beside(max(1.0, size)) or self._beside(size)
            if candidates:
                shortest = min(self._distance(x) for x in candidates)
                found = next(x for x in candidates if self._distance(x) <= shortest * (1 + 1e-9))
        return None if found is None else self._closest(found)

    def _beside(self, size: float) -> list[np.ndarray]:
        """Return states that fulfil the equations, from both sides of the guess."""
        met = [self.met(self._moved(self.guess, by * size)) for by in (-0.5, 0.5)]
        return [x for x in met if x is not None]

    def nearly_met(self, within: float) -> bool:
        """Return whether the guess violates the equations by at most this part of their size."""
        residual, _ = self.level.evaluate(self.t, self.guess, self.p)
        near = np.abs(residual) <= within * self._sizes(self.guess)
        return bool(np.all(near) or np.all(near | self._met_to_rounding(self.guess)))

    def least_miss(self) -> np.ndarray:
        """Return the state with the smallest residual, in units of the residuals' sizes."""
        start = self.guess[self.moving]
        size = self._sizes(self.guess)

        def at(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            x = self.guess.copy()
            x[self.moving] = values
            residual, jacobian = self.level.evaluate(self.t, x, self.p)
            return residual / size, jacobian[:, self.chosen] / size[:, None]

        if not start.size or not all(np.all(np.isfinite(part)) for part in at(start)):
            return self.guess
        found = scipy.optimize.least_squares(
            lambda y: at(y)[0],
            start,
            jac=lambda y: at(y)[1],  # pyright: ignore[reportArgumentType]
            x_scale="jac",
            xtol=1e-12,
            ftol=1e-14,
            gtol=1e-14,
        )
        x = self.guess.copy()
        x[self.moving] = found.x
        return x

    def _sizes(self, x: np.ndarray) -> np.ndarray:
        return sizes(self.level, self.t, x, self.p)

    def _moved(self, x: np.ndarray, by: np.ndarray | float) -> np.ndarray:
        moved = x.copy()
        moved[self.moving] += by
        return moved

    def _distance(self, x: np.ndarray) -> float:
        return float(np.linalg.norm(self.root @ (x - self.guess)[self.moving]))

    def _slopes(self, jacobian: np.ndarray) -> np.ndarray:
        """Return the gradients of the residuals in coordinates with the identity as metric."""
        if self._plain:
            return jacobian[:, self.chosen] / np.diag(self.root)
        return jacobian[:, self.chosen] @ self.inverse_root

    def met(self, x: np.ndarray) -> np.ndarray | None:
        """Solve the equations by steps of least cost, from any state (Newton's method)."""
        if not self.level.goals:
            return x
        return self._met_with(self._least(x))

    def met_somewhere(self, x: np.ndarray) -> np.ndarray | None:
        """Solve the equations as `met` does, but faster: a few of them by compiled code.

        Its rounding differs, which matters where constraints lose rank. Use it only where any
        nearby state would do.
        """
        if not self.level.goals:
            return x
        column = self.level.column if len(self.level.columns) <= FEW else None
        if column is None:
            return self._met_with(self._least(x, quick=True))
        return self._met_with(self._compiled_least(column(), x))

    def _met_with(self, found: tuple[float, np.ndarray] | None) -> np.ndarray | None:
        """Return the state of smallest residual if it fulfils the equations."""
        if found is None:
            return None
        error, x = found
        return x if error <= TOLERANCE or bool(np.all(self._met_to_rounding(x))) else None

    def _compiled_least(
        self, column: ca.Function, x: np.ndarray
    ) -> tuple[float, np.ndarray] | None:
        """Return the result of `_least`, for a few equations by compiled code."""
        # numba is imported only when needed.
        from daesolve.core.equations import compiled_newton
        from daesolve.core.expressions import compilation

        compiled: Any = compiled_newton
        program, best = StateFunction(column, self.p), np.empty(len(x))
        program(self.t, x)
        newton = compilation.for_size(compiled.newton, WORK * len(self.level.columns) ** 3)
        with np.errstate(all="ignore"):
            error = newton(
                compiled.VERSION, *program.program, program.places, self.level.columns,
                self.chosen, self.inverse_root, bool(self.level.columns[0] == 0),
                (TOLERANCE, NOTHING, DEPENDENT, ITERATIONS, PATIENCE), x.copy(), best,
            )  # fmt: skip
        return None if error == np.inf else (error, best)

    def _least(self, x: np.ndarray, *, quick: bool = False) -> tuple[float, np.ndarray] | None:
        """Return the smallest residual and its state; None if it is not a number."""
        best: tuple[float, np.ndarray] | None = None
        stalled = 0
        for _ in range(ITERATIONS):
            residual, jacobian = self.level.evaluate(self.t, x, self.p)
            if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(jacobian))):
                return None
            size = _sizes(self.level, x, jacobian)
            error = float(np.max(np.abs(residual) / size))
            if best is None or error < 0.5 * best[0]:
                best, stalled = (error, x), 0
            else:
                stalled += 1
            if error == 0.0 or (stalled >= 2 and best[0] <= TOLERANCE) or stalled > PATIENCE:
                break
            if not self.moving.size:
                break
            slopes = self._slopes(jacobian) / size[:, None]
            step = cheapest(slopes, -residual / size, quick=quick)
            x = self._moved(x, self._limited(self.inverse_root @ step, x))
        return best

    def _met_to_rounding(self, x: np.ndarray) -> np.ndarray:
        """Return which equations hold to the rounding of their terms.

        A residual whose slope vanishes, such as 1 - cos(x) at zero, has only the size of its terms.
        """
        residual, jacobian = self.level.evaluate(self.t, x, self.p)
        within = np.abs(residual) <= TOLERANCE * _sizes(self.level, x, jacobian)
        return within | self.level.rounded(self.t, x, self.p)

    def _limited(self, step: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Shorten steps of positions far beyond the state's own size."""
        if self.level.columns[0] != 0:
            return step
        limit = 2.0 * max(1.0, float(np.max(np.abs(x[self.level.columns]))))
        longest = float(np.max(np.abs(step), initial=0.0))
        return step * (limit / longest) if longest > limit else step

    def _closest(self, x: np.ndarray) -> np.ndarray:
        """Move from a state that fulfils the equations to the one nearest to the guess."""
        size = float(np.max(np.abs(self.guess[self.level.columns]), initial=0.0)) or 1.0
        if np.max(np.abs(x - self.guess)[self.moving], initial=0.0) <= CLOSE * size:
            return x
        x = self._slid(x)
        # By symmetry the path may have ended at the largest distance; a push in a generic direction
        # leads away from it.
        push = np.random.default_rng(7).normal(size=len(self.moving))
        push *= 1e-3 * self._distance(x) / np.linalg.norm(push)
        beside = self.met(self._moved(x, self.inverse_root @ self._along(x, push)))
        other = None if beside is None else self._slid(beside)
        if other is not None and self._distance(other) < self._distance(x) * (1.0 - 1e-6):
            return other
        return x

    def _along(self, x: np.ndarray, weighted: np.ndarray) -> np.ndarray:
        """Return the part of a displacement that leaves the residuals unchanged."""
        slopes = self._slopes(self.level.evaluate(self.t, x, self.p)[1])
        return along(slopes, weighted)

    def _slid(self, x: np.ndarray) -> np.ndarray:
        """Slide along the manifold while this brings the state nearer to the guess."""
        for _ in range(100):
            weighted = self.root @ (x - self.guess)[self.moving]
            left = self._along(x, weighted)
            if np.linalg.norm(left) <= NEAREST * np.linalg.norm(weighted):
                return x
            nearer = self._nearer(x, left)
            if nearer is None:
                return x
            x = nearer
        return x

    def _nearer(self, x: np.ndarray, before: np.ndarray) -> np.ndarray | None:
        here, step = self._distance(x), self.inverse_root @ before
        for halvings in range(20):
            there = self.met(self._moved(x, -(0.5**halvings) * step))
            if there is None:
                continue
            change = self._distance(there) / here - 1.0
            if change < -1e-12:
                return there
            # Below the rounding of the distance, its slope still shows which state is nearer.
            left = self._along(there, self.root @ (there - self.guess)[self.moving])
            if change < 1e-12 and np.linalg.norm(left) < 0.9 * np.linalg.norm(before):
                return there
        return None
