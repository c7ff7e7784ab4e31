"""How large states, multipliers and time are, in powers of two, for the solver of a run.

States of one unit share an exponent. All are zero as long as the largest of each unit lies in
`USUAL`: there the absolute tolerances of solvers, which are about 1e-12, see all that is to be
seen. Where one does not, all states are brought to about 1, and so is a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.equations.additions import TOUCHING
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import BufferedFunction, Evaluator
from daesolve.core.expressions.term_sizes import term_sizes
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import DaeProblem, OdeProblem
from daesolve.core.solvers.jacobians import exact_jacobian
from daesolve.core.solvers.scaling import Scaling
from daesolve.errors import OutOfRangeError

USUAL = (1e-4, 1e4)
"""Sizes of states that need no scaling."""
USUAL_STEP = (1e-5, 1e5)
"""Mean steps of the short run, s, that need none: absolute times in solvers are 1e-6 s and less."""
SMALL = 1e-4
"""A state below this fraction of the largest of its unit has its own scale if that unit is large,
so that it loses no digits to its neighbours."""
ROUNDING = 1e-12
"""A state below this part of the largest of its unit, or of states of about one, is rounding."""
EPSILON = float(np.finfo(float).eps)
NUDGE = 4.0 * EPSILON
"""The relative change of each state and value that shows how rates are rounded."""
IDLE = 1e-9
"""A multiplier that contributes less than this fraction of the rates has no effect."""
LOOKS = 20
"""States of the short run at which rates and multipliers are looked at."""
RESTS = 10.0
"""A state rests up to this many times the rounding of what moves it."""
MOST = 900
"""The largest exponent, and the size of the smallest: products of two scaled states are numbers."""
LEAST = -100
"""The smallest exponent of a state: a smaller state rests, and if it moved later it would outgrow
its exponent again and again."""


def exponents_of(units: Sequence[str], sizes: np.ndarray) -> np.ndarray:
    """Return the exponents of states.

    Parameters
    ----------
    units, sizes
        (n,) of each state; a size is the largest absolute value that it is known to have.
    """
    found = np.zeros(len(sizes), dtype=int)
    names = np.array([str(unit) for unit in units])
    groups = [names == unit for unit in dict.fromkeys(names.tolist())]
    if np.all(sizes < math.ldexp(1.0, LEAST)):
        # As on a floor that the far end of a bell-shaped motion moves: nothing shows a size.
        return found
    if all(_usual(float(np.max(sizes[same])), USUAL) for same in groups):
        return found
    for same in groups:
        largest = float(np.max(sizes[same]))
        if not (np.isfinite(largest) and largest > 0.0):
            continue
        found[same] = max(_exponent(largest), LEAST)
        small = same & (sizes < SMALL * largest) & (sizes > ROUNDING * largest)
        if largest > USUAL[1]:
            found[small] = [max(_exponent(size), 0) for size in sizes[small]]
    return found


def is_usual_step(mean_step: float) -> bool:
    """Return whether time needs no scaling."""
    return _usual(mean_step, USUAL_STEP)


def _usual(size: float, limits: tuple[float, float]) -> bool:
    """Return whether a size needs no scaling; zero and sizes that are not finite have none."""
    return not (np.isfinite(size) and size > 0.0) or limits[0] <= size <= limits[1]


def _exponent(size: float) -> int:
    return min(max(round(math.log2(size)), -MOST), MOST)


@dataclass(frozen=True)
class Begin:
    """Where a motion begins, and how it is looked at.

    Parameters
    ----------
    problem, values
        In all states, without a chart.
    time, x
        The start, s and (size,).
    """

    problem: OdeProblem
    values: np.ndarray
    time: float
    x: np.ndarray

    def exponents(self, times: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Return the exponents of states, (size,), from those that they went through.

        Parameters
        ----------
        times, table
            (k,) s and (k, size).
        """
        sizes = np.abs(table).max(axis=0)
        labels = self.problem.labels.state_units
        # Work is a small difference of large terms, whose rounding need not be resolved.
        sizes[len(labels) :] = np.maximum(sizes[len(labels) :], 1.0)
        own = sizes[: len(labels)]
        if np.any((own >= USUAL[0]) & (own <= USUAL[1])):
            # Beside states of about one, smaller ones are errors of a run: a body that came to rest
            # has velocities of 1e-14 m/s, and steps that resolve them would never end.
            sizes = np.where(sizes > ROUNDING, sizes, 0.0)
        units = [*labels, *(f"work {k}" for k in range(self.problem.size - len(labels)))]
        found = exponents_of(units, sizes)
        if not found.any():
            return found
        sizes = self._without_rounding(sizes, times, table)
        # Work is weighed against the energy, whose rounding it shares; but an energy that is only
        # rounding does not count.
        energy = self._energy(times, np.where(sizes > 0.0, table, 0.0))
        works = np.maximum(sizes[len(labels) :], energy) if energy > 0.0 else 0.0
        sizes[len(labels) :] = works
        return exponents_of(units, sizes)

    def _energy(self, times: np.ndarray, table: np.ndarray) -> float:
        """Return the largest kinetic energy, J; 0.0 where that is not a number."""
        measured, _ = self.problem.block("residuals", times, table, self.values)
        kinetic = measured[:, len(self.problem.watched)]
        return float(np.max(kinetic, initial=0.0, where=np.isfinite(kinetic)))

    def _without_rounding(
        self, sizes: np.ndarray, times: np.ndarray, table: np.ndarray
    ) -> np.ndarray:
        """Return sizes, zero if a state is within the rounding of what moves it.

        A body at rest has velocities of 1e-17 m/s, which are not a scale.
        """
        matrix = np.abs(exact_jacobian(self.problem, self.values)(self.time, self.x))
        if not np.all(np.isfinite(matrix)):
            return sizes
        elapsed = abs(float(times[-1] - times[0]))
        # Terms may cancel to the same rounding wherever one looks, as a weight and what bears it.
        terms = term_sizes(self.problem.rhs, self.time, self.x, self.values)[0]
        terms = np.where(np.isfinite(terms), EPSILON * terms, 0.0)
        moved = elapsed * np.fmax(self._rounding_of_rates(times, table), terms)
        moved = moved + elapsed * (matrix @ moved)
        return np.where(sizes > RESTS * moved, sizes, 0.0)

    def _rounding_of_rates(self, times: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Return by how much rates differ at states and values that differ by rounding, (size,)."""
        found = np.zeros(table.shape[1])
        some = slice(None, None, -(-len(times) // LOOKS))
        ways = np.random.default_rng(0)
        nudge = 1.0 + NUDGE * ways.choice((-1.0, 1.0), len(self.values))
        rate = BufferedFunction(self.problem.rhs, self.values)
        beside = BufferedFunction(self.problem.rhs, self.values * nudge)
        for time, x in zip(times[some].tolist(), table[some], strict=True):
            near = x * (1.0 + NUDGE * ways.choice((-1.0, 1.0), len(x)))
            found = np.fmax(found, np.abs(rate(time, x) - beside(time, near)))
        return found


def scaling_of(
    problem: OdeProblem,
    values: np.ndarray,
    start: tuple[float, np.ndarray],
    path: tuple[np.ndarray, np.ndarray],
    visible: np.ndarray,
    mean_step: float,
) -> Scaling:
    """Return the scaling of a run.

    Parameters
    ----------
    problem, values
        What is to be integrated, and p.
    start
        The time and the states that labels name.
    path
        (k,) times and (k, n) states that a short run went through.
    visible
        Exponents of the states that labels name, then of what is metered.
    mean_step
        Of the short run, s.
    """
    if not visible.any() and is_usual_step(mean_step):
        return Scaling()
    time = _exponent(mean_step)
    chosen = Scaling(_of_state(problem, values, start, visible), tuple(visible.tolist()), time=time)
    if not isinstance(problem, DaeProblem):
        return chosen
    return _with_multipliers(problem, values, path, chosen)


def _of_state(
    problem: OdeProblem,
    values: np.ndarray,
    start: tuple[float, np.ndarray],
    visible: np.ndarray,
) -> tuple[int, ...]:
    """Return the exponents of x, from those of the states that labels name."""
    if problem.chart is None:
        return tuple(visible.tolist())
    t, x, p = (problem.chart.restrict.sx_in(k) for k in range(3))
    slopes = ca.jacobian(problem.chart.restrict(t, x, p), x)
    function = function_of("slopes", [t, x, p], [slopes], (["t", "x", "p"], ["slopes"]))
    count = x.numel()
    matrix = np.abs(np.asarray(function(*start, values)).reshape(slopes.shape))
    sizes = np.where(np.isfinite(matrix), matrix, 0.0) @ np.ldexp(1.0, visible[:count])
    own = [0 if _usual(float(size), USUAL) else _exponent(float(size)) for size in sizes]
    return (*own, *visible[count:].tolist())


def _with_multipliers(
    problem: DaeProblem,
    values: np.ndarray,
    path: tuple[np.ndarray, np.ndarray],
    chosen: Scaling,
) -> Scaling:
    """Add the exponents of multipliers, and of the equations that determine them."""
    times, states = path
    some = slice(None, None, max(len(times) // LOOKS, 1))
    sizes, consistent = np.zeros(len(problem.unknowns)), Evaluator(problem.consistent)
    for time, state in zip(times[some].tolist(), states[some], strict=True):
        x = problem.enter(time, state, values)
        z = np.abs(consistent(time, x, values)[1])
        sizes = np.fmax(sizes, np.where(np.isfinite(z), z, 0.0))
    t, x, z, p = (problem.differential.sx_in(k) for k in range(4))
    equations = ca.vertcat(problem.algebraic(t, x, z, p), problem.surplus(t, x, p))
    slopes = [
        ca.jacobian(equations, ca.vertcat(x, z)),
        ca.jacobian(problem.differential(t, x, z, p), z),
    ]
    names = (["t", "x", "z", "p"], ["rows", "pushes"])
    function = function_of("slopes", [t, x, z, p], slopes, names)
    begin = problem.enter(float(times[0]), states[0], values)
    known = problem.consistent(float(times[0]), begin, values)[1]
    matrices = [
        np.nan_to_num(np.abs(np.asarray(found).reshape(shape.shape)), posinf=0.0)
        for found, shape in zip(
            function(float(times[0]), begin, known, values), slopes, strict=True
        )
    ]
    rates = np.ldexp(1.0, chosen.time - np.array(chosen.states, dtype=int))
    pushes = np.max(rates[:, None] * matrices[1], axis=0, initial=0.0)
    # A multiplier without effect, like that of GGL, is measured by the effect it would have.
    with np.errstate(divide="ignore"):
        sizes = np.where(sizes * pushes > IDLE, sizes, np.where(pushes > 0.0, 1.0 / pushes, 0.0))
    unknowns = [0 if _usual(float(size), USUAL) else _exponent(float(size)) for size in sizes]
    columns = np.ldexp(1.0, np.array([*chosen.states, *unknowns], dtype=int))
    largest = np.max(matrices[0] * columns, axis=1, initial=0.0)
    rows = [0 if _usual(float(row), USUAL) else _exponent(float(row)) for row in largest]
    return Scaling(chosen.states, chosen.visible, tuple(unknowns), tuple(rows), chosen.time)


SHORT, SHORTEST = 1e-6, 1e-10
"""Lengths, m, below which a note names the gap that counts as zero, and below which it is too large
beside them."""


def scaling_note(names: Sequence[str], scaling: Scaling) -> str | None:
    """Say by what states and time are divided; None if by nothing."""
    groups: dict[int, list[str]] = {}
    for name, exponent in zip(names, scaling.visible, strict=False):
        if exponent:
            groups.setdefault(exponent, []).append(name)
    parts = [f"{_few(group)} by 2^{exponent}" for exponent, group in groups.items()]
    if scaling.time:
        parts.append(f"time by 2^{scaling.time}")
    return f"scaled for the solver: {'; '.join(parts)}" if parts else None


def lengths_note(dynamics: Dynamics, scaling: Scaling) -> str | None:
    """Return a note if the gap that counts as zero is not small beside the lengths, or else None.

    Raises
    ------
    OutOfRangeError
        It is too large beside them.
    """
    units = dynamics.labels.state_units[: dynamics.position_count]
    known = zip(units, scaling.visible, strict=False)
    found = {str(unit): exponent for unit, exponent in known if str(unit) not in ("", "rad")}
    unit, exponent = max(found.items(), key=lambda pair: pair[1], default=("", 0))
    size = math.ldexp(1.0, exponent)
    if not dynamics.unilateral or size >= SHORT:
        return None
    words = (
        f"positions are about {size:.0e} {unit}, and contacts count a gap below {TOUCHING:g} "
        f"{unit} as zero: use a unit in which lengths are about one"
    )
    if size < SHORTEST:
        raise OutOfRangeError(words)
    return words


FEW = 4
"""The most names of one exponent in a note."""


def _few(names: Sequence[str]) -> str:
    rest = len(names) - FEW
    return ", ".join(names[:FEW]) + (f" and {rest} more" if rest > 0 else "")
