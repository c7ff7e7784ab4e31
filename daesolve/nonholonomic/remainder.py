"""The part of N that is a combination of the remaining constraints, at random states.

N = sum p_i [g_i] is the change caused by substituting y' = g into a Lagrangian; see
`quasi_holonomic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import complete_start, instantaneous, sample_states
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.singular_values import null_space, shortest_solution, unit_length
from daesolve.core.posing.value_names import ValueKind
from daesolve.errors import InconsistentStateError, PosingError
from daesolve.nonholonomic.constraint_forms import with_references
from daesolve.nonholonomic.solved_rates import Substitution

CANCELLED = 1e-4
"""A quantity smaller than this relative to its terms is compared with the terms."""
ROUNDING = 1e-13
"""A share in N smaller than this relative to the largest is rounding, and counts as zero."""
BESIDE = 0.1
"""The relative variation of a state's positions used to find typical sizes there."""
RANK_TOLERANCE = 1e-9
"""Smaller singular values of the remaining constraints, with rows of unit length, count as zero."""


def given_state(
    solution: Substitution, numbers: np.ndarray, given: Mapping[str, float], time: float
) -> np.ndarray:
    """Return the consistent state (nx,) that keeps the given values; see `complete_start`."""
    return complete_start(solution.dynamics, numbers, given, time=time).state


def random_states(
    solution: Substitution, numbers: np.ndarray, around: np.ndarray | None, time: float, points: int
) -> list[tuple[float, np.ndarray]]:
    """Return random finite consistent states, near a given one if there is one.

    Raises
    ------
    InconsistentStateError
        There are none.
    """
    dynamics, numbers = solution.dynamics, referred(solution, numbers, around, time)
    still = np.zeros(solution.velocities.numel())

    def finite(t: float, x: np.ndarray) -> bool:
        return _all_finite(solution.at(t, x, numbers, still))

    states: list[tuple[float, np.ndarray]] = []
    for count in (points, 2 * points, 4 * points):
        samples = sample_states(dynamics, numbers, around, time=time, count=count, at_rest=0)
        states = [(t, x) for t, x in samples if finite(t, x)][:points]
        if len(states) == points:
            return states
    if not states:
        raise InconsistentStateError(
            "no finite random state that fulfils the constraints was found: give one with at="
        )
    return states


def referred(
    solution: Substitution, numbers: np.ndarray, around: np.ndarray | None, time: float
) -> np.ndarray:
    """Return p with the values of invariants on positions at a state, or at unit states.

    Raises
    ------
    PosingError
        They differ between unit states.
    """
    if around is None:
        return _with_unit_references(solution, numbers, time)
    return with_references(solution.dynamics, numbers, around, time)


def _with_unit_references(solution: Substitution, numbers: np.ndarray, time: float) -> np.ndarray:
    """Return p with the values of invariants on positions in unit states.

    The norm of a quaternion has the same value wherever one coordinate is one and the others are
    zero.

    Raises
    ------
    PosingError
        The values differ between them.
    """
    dynamics = solution.dynamics
    p = numbers.copy()
    for row in dynamics.invariants:
        if row.on != "positions":
            continue
        of = ArrayFunction("value", [dynamics.t, dynamics.x, dynamics.p], [row.value])
        units = np.eye(dynamics.x.numel())
        own = [i for i in range(len(units)) if ca.depends_on(row.value, dynamics.x[i])]
        values = [of(time, x, numbers)[0].item() for x in units[own]]
        if max(values) - min(values) > 1e-12 * max(1.0, *map(abs, values)):
            raise PosingError(
                f"the value of the invariant {row.name!r} is unknown: give a state with at="
            )
        p[ValueKind.REFERENCE.place(row.name, dynamics.values)] = values[0]
    return p


def nearest_combination(
    solution: Substitution, p: np.ndarray, t: float, x: np.ndarray
) -> dict[str, float]:
    """Return the coefficients of the combination of the df/dw nearest to N, by goal.

    Raises
    ------
    InconsistentStateError
        The constraints cannot be solved for the rates at this state.
    """
    accelerations = np.zeros(solution.velocities.numel())
    if ca.depends_on(solution.hamel, solution.accelerations):
        accelerations = instantaneous(solution.dynamics, t, x, p)[0][solution.kept]
    parts = solution.at(t, x, p, accelerations)
    if not _all_finite(parts):
        raise InconsistentStateError(
            f"{', '.join(solution.by)} cannot be solved for the rates of "
            f"{', '.join(solution.eliminated)} at the given state: give another state"
        )
    extra = (parts["hamel"] @ parts["momenta"]).ravel()
    combination = shortest_solution(parts["gradients"].T, extra, RANK_TOLERANCE)
    shares = np.abs(combination) * np.linalg.norm(parts["gradients"], axis=1)
    combination[shares <= ROUNDING * np.max(shares, initial=0.0)] = 0.0
    return {name: float(value) for name, value in zip(solution.remaining, combination, strict=True)}


def largest_remainders(
    solution: Substitution, p: np.ndarray, states: Sequence[tuple[float, np.ndarray]]
) -> tuple[float, np.ndarray]:
    """Return the largest remainders at each state; see `_remainders`."""
    generator = np.random.default_rng(22)
    missed = [_remainders(solution, p, t, x, generator) for t, x in states]
    return max(whole for whole, _ in missed), np.max([alone for _, alone in missed], axis=0)


def _remainders(
    solution: Substitution, p: np.ndarray, t: float, x: np.ndarray, generator: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return the parts of N and of each [g_i] that are not combinations of the df/dw.

    Accelerations, if any, are random with f' = 0.
    """
    parts = solution.at(t, x, p, np.zeros(solution.velocities.numel()))
    gradients, drift = parts["gradients"], parts["drift"].ravel()
    free = null_space(unit_length(gradients, 1), RANK_TOLERANCE)
    falling = shortest_solution(gradients, -drift, RANK_TOLERANCE)
    parts = solution.at(t, x, p, falling + free @ generator.normal(size=int(free.shape[1])))
    columns, momenta = parts["hamel"], parts["momenta"].ravel()
    usual = _usual(solution, p, t, x)
    # |[g_i]| and |p_i|. If the terms cancel or vanish with f, use enough of the terms, or of the
    # usual values near f = 0, that rounding is small in comparison.
    terms = np.maximum(*[np.linalg.norm(one["terms"], axis=0) for one in (parts, usual)])
    inertia = np.maximum(parts["inertia"], usual["inertia"]).ravel()
    sizes = np.maximum(np.linalg.norm(columns, axis=0), CANCELLED * terms)
    loads = np.maximum(np.abs(momenta), CANCELLED * inertia)
    together = np.linalg.norm(free.T @ (columns @ momenta))
    alone = np.linalg.norm(free.T @ columns, axis=0)
    return float(_ratio(together, loads @ sizes)), _ratio(alone, sizes)


def _usual(solution: Substitution, p: np.ndarray, t: float, x: np.ndarray) -> dict[str, np.ndarray]:
    """Return typical values of `Substitution.at` near a state, without the remaining constraints.

    If those make a momentum vanish, as for a wheel across a skate, only its rounding remains. Each
    velocity is random, of a size that corresponds to the kinetic energy of the state.
    """
    generator, still = np.random.default_rng(26), np.zeros(solution.velocities.numel())
    here = solution.at(t, x, p, still)
    masses, energy = np.abs(here["masses"].ravel()), abs(float(here["energy"].item()))
    own = [solution.dynamics.position_count + index for index in solution.kept]
    sizes = np.where(masses > 0.0, 0.0, np.max(np.abs(x[own]), initial=0.0))
    np.sqrt(np.divide(energy, masses, where=masses > 0.0, out=sizes**2), out=sizes)
    beside = x * (1.0 + BESIDE * generator.normal(size=len(x)))
    beside[own] = sizes * generator.normal(size=len(own))
    beside_parts = solution.at(t, beside, p, still)
    return beside_parts if _all_finite(beside_parts) else here


def _all_finite(parts: Mapping[str, np.ndarray]) -> bool:
    return all(bool(np.all(np.isfinite(part))) for part in parts.values())


def _ratio(parts: Any, sizes: Any) -> np.ndarray:
    """Divide, with 0/0 = 0."""
    return np.divide(parts, sizes, out=np.zeros(np.shape(parts)), where=np.asarray(sizes) > 0.0)
