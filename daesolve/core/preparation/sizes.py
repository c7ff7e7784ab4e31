"""Typical sizes of a motion, from a short run: scales, floors, steps, the length of a segment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import Start
from daesolve.core.equations.dynamics import Dynamics, InvariantRow
from daesolve.core.equations.rank import Samples
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.formulations.semi_explicit import sparse_jacobian
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.scale_exponents import Begin

PROBE_RTOL = 1e-8
FLOOR = 0.05
"""The floor of an invariant's correction over the largest square of its gradient."""
SMALLEST = 1e-3
"""The least size of a state, beside the largest of the same unit: one may be zero by rounding."""
NOTHING = 1e-12
"""What is below this in the units of the system is taken for rounding."""
ROUNDING = float(np.finfo(float).eps)
"""The rounding of a value, as a fraction of its terms."""
UNKNOWN_STEP = 1e-3
"""s, the mean step of a motion of which the short run shows none."""
STEPS_PER_SEGMENT = 5000
STEPS_PER_PROJECTION = 40
"""Between projections of a multistep method, which restarts there; it takes smaller steps."""
RADIANS_PER_SEGMENT = 50.0
SECONDS_PER_INSTRUCTION_STEP = 6e-8
"""What one instruction costs in one step of the slowest code, roughly."""


@dataclass(frozen=True)
class Probe:
    """A short run without feedback: typical steps, and the largest sizes met.

    Parameters
    ----------
    typical_step, mean_step
        s; half of the time is spent in steps longer than the typical one.
    between
        The shortest time between positions where a goal's grip is weak (the first counts from the
        start), s; the length of the probe where it met none, infinite if none is to be passed.
    times, path
        (k,) s and (k, n) the states that it went through.
    exponents
        (size,) of the states and what is metered, by powers of two: see `scale_exponents`.
    states, reactions, kinetic
        The largest absolute values.
    grips
        Of the goals that are singular at rest, by name, not yet relative to anything.
    weakest
        The least grip of a goal over its largest, of those that are not singular at rest.
    turning
        How fast each state leaves its start, per s: the speed at which an angle grows.
    reset_after
        When the first reset comes if the motion goes on as at its end, s after the start;
        infinite if none is ahead.
    """

    typical_step: float
    between: float
    mean_step: float
    times: np.ndarray
    path: np.ndarray
    exponents: np.ndarray
    states: np.ndarray
    reactions: np.ndarray
    kinetic: float
    grips: Mapping[str, float]
    weakest: float
    turning: np.ndarray
    reset_after: float = math.inf


def measured(
    begin: Begin, moments: np.ndarray, table: np.ndarray, own: np.ndarray, between: float
) -> Probe:
    """Return the sizes that a short run met, with its own values or those of each step."""
    problem = begin.problem
    steps = np.abs(np.diff(moments)) if len(moments) > 1 else np.array([UNKNOWN_STEP])
    path = problem.visible(moments, table, own)
    count = len(problem.watched)
    measured, _ = problem.block("residuals", moments, table, own)
    pivots = dict(zip(problem.pivot_goals, measured[:, count + 1 :].T, strict=True))
    reactions = problem.block("recover", moments, table, own)[1]
    return Probe(
        typical_step=_typical_step(steps),
        between=between,
        mean_step=float(np.mean(steps)),
        times=moments,
        path=path,
        exponents=begin.exponents(moments, table),
        states=np.abs(path).max(axis=0),
        reactions=np.abs(reactions).max(axis=0, initial=0.0),
        kinetic=float(np.max(measured[:, count])),
        grips={name: float(np.nanmax(pivots[name])) for name in problem.singular_goals},
        weakest=_weakest(pivots, problem.singular_goals),
        turning=np.abs(table - table[0]).max(axis=0) / max(abs(moments[-1] - moments[0]), 1e-300),
    )


def _weakest(pivots: Mapping[str, np.ndarray], singular: Sequence[str]) -> float:
    """Return the least pivot of a goal over its largest."""
    least = 1.0
    for name, pivot in pivots.items():
        known = pivot[np.isfinite(pivot)]
        if name not in singular and known.size and np.max(known) > 0.0:
            least = min(least, float(np.min(known) / np.max(known)))
    return least


def _typical_step(steps: np.ndarray) -> float:
    """Return the step in which half of the time is spent in shorter ones, half in longer ones."""
    ordered = np.sort(steps)
    spent = np.cumsum(ordered)
    return float(ordered[np.searchsorted(spent, 0.5 * spent[-1])])


def typical_influences(probe: Probe) -> dict[str, float]:
    """Return the scale for the grip of goals that are singular at rest."""
    return {
        ValueKind.TYPICAL.name_of(name): math.sqrt(grip) if grip > 0.0 else 1.0
        for name, grip in probe.grips.items()
    }


def floors(
    dynamics: Dynamics,
    numbers: np.ndarray,
    samples: Samples,
    probe: Probe,
    least_kinetic: float,
    given: Mapping[str, float],
) -> dict[str, float]:
    """Return what keeps each invariant's correction bounded where its gradient vanishes.

    Parameters
    ----------
    dynamics, numbers, samples
        The equations, p, and consistent states.
    probe, least_kinetic
        Typical sizes, and from where on a kinetic energy is more than rounding, J.
    given
        Scales of invariants that are known, by name.
    """
    found: dict[str, float] = {}
    for row in dynamics.invariants:
        if row.on == "positions":
            continue
        if row.twice_kinetic is not None:
            kinetic = probe.kinetic if probe.kinetic > least_kinetic else 0.0
            largest = 2.0 * max(given.get(row.name, 0.0), kinetic)
        else:
            gradient = function_of(
                "gradient",
                [dynamics.t, dynamics.x, dynamics.p],
                [row.jacobian],
                (["t", "x", "p"], ["jacobian"]),
            )
            largest = 0.0
            for t, x in samples:
                slope = np.asarray(gradient(t, x, numbers)).ravel()
                mass = dynamics.matrices(t, x, numbers)["mass"]
                largest = max(largest, float(slope @ np.linalg.solve(mass, slope)))
        found[ValueKind.FLOOR.name_of(row.name)] = FLOOR * largest if largest > 0 else 1.0
    return found


def least_kinetic(dynamics: Dynamics, numbers: np.ndarray, samples: Samples, probe: Probe) -> float:
    """Return the kinetic energy that is no more than the energy's rounding, J.

    The energy of a body at rest is not a scale: the energy is driven by its residual over twice the
    kinetic energy, and where that is below the residual's own rounding, it would be without bound.

    Parameters
    ----------
    dynamics, numbers, samples
        The equations, p, and consistent states.
    probe
        Typical sizes.
    """
    found = 0.0
    for row in dynamics.invariants:
        if row.twice_kinetic is None:
            continue
        slopes = _slopes(dynamics, row)
        sizes, held = _typical(dynamics, probe.states), dynamics.all_held(numbers)
        terms = [float(np.abs(np.asarray(slopes(t, x, held))).ravel() @ sizes) for t, x in samples]
        found = max([found, *(ROUNDING * term for term in terms if math.isfinite(term))])
    return found


@built_once
def _slopes(dynamics: Dynamics, row: InvariantRow) -> ca.Function:
    """Return (t, x, p) -> the gradient of an invariant."""
    return function_of(
        "slopes",
        [dynamics.t, dynamics.x, dynamics.p],
        [ca.jacobian(row.value, dynamics.x)],
        (["t", "x", "p"], ["slopes"]),
    )


def scales(
    dynamics: Dynamics,
    problem: OdeProblem,
    numbers: np.ndarray,
    start: Start,
    probe: Probe,
    start_time: float,
    given: Mapping[str, float],
) -> np.ndarray:
    """Scale each residual: the sum of |d residual / d x_i| times the size of x_i, at the start."""
    results = _residual_slopes(dynamics)(start_time, start.state, dynamics.all_held(numbers))
    by_state, by_reaction = (np.abs(np.asarray(result)) for result in results)
    sizes = by_state @ _typical(dynamics, probe.states)
    slots = len(sizes) - len(dynamics.invariants)
    automatic = np.concatenate(
        [sizes[:slots], by_reaction @ probe.reactions[: by_reaction.shape[1]], sizes[slots:]]
    )
    groups = (dynamics.rows, dynamics.aside, dynamics.implicit_rows, dynamics.relations,
              dynamics.invariants)  # fmt: skip
    chosen = {row.name: row.scale for group in groups for row in group}
    chosen |= dict(given)
    energies = {row.name for row in dynamics.invariants if row.automatic}
    found: list[float] = []
    for watched, size in zip(problem.watched, automatic, strict=True):
        own = chosen.get(watched.name)
        if own is not None:
            found.append(float(own))
        elif watched.name in energies:
            found.append(math.nan)
        else:
            found.append(float(size) if size > 0 else 1.0)
    return np.array(found)


@built_once
def _residual_slopes(dynamics: Dynamics) -> ca.Function:
    """Return (t, x, p) -> the gradients of all residuals, and those of relations by reactions."""
    expressions: list[ca.SX] = []
    for row in (*dynamics.rows, *dynamics.aside):
        expressions += list(row.chain if row.posed is None else row.posed)
    expressions += [row.residual for row in dynamics.implicit_rows]
    expressions += [row.value for row in dynamics.invariants]
    slopes = sparse_jacobian(ca.vertcat(ca.SX(0, 1), *expressions), dynamics.x)
    ties = ca.vertcat(
        ca.SX(0, dynamics.reactions.numel()), *[row.jacobian for row in dynamics.relations]
    )
    return function_of(
        "slopes",
        [dynamics.t, dynamics.x, dynamics.p],
        [slopes, ties],
        (["t", "x", "p"], ["slopes", "ties"]),
        share=False,
    )


def _typical(dynamics: Dynamics, states: np.ndarray) -> np.ndarray:
    """Return the sizes of states, none of them far below that of others with the same unit.

    Where all states of a unit are zero, it is one of that unit.
    """
    units = np.array([str(unit) for unit in dynamics.labels.state_units])
    sizes = np.maximum(states[: len(units)], NOTHING)
    for unit in set(units):
        same = units == unit
        largest = float(np.max(sizes[same]))
        sizes[same] = np.maximum(sizes[same], SMALLEST * largest if largest > NOTHING else 1.0)
    return sizes


def segment_length(
    problem: OdeProblem, probe: Probe, angles: Sequence[int], *, projects: bool
) -> float:
    """Choose a round number of seconds: many steps, but less than about a second of work.

    Where its end projects the state, it is short. The angles that are wrapped at its ends, and on
    which motion or guards depend, are not to grow so far in between that they lose digits.
    """
    cost = max(problem.rhs.n_instructions(), 1) * SECONDS_PER_INSTRUCTION_STEP
    steps = min(max(0.5 / cost, 20.0), STEPS_PER_PROJECTION if projects else STEPS_PER_SEGMENT)
    wanted = steps * probe.mean_step
    acting = {
        column
        for function in ((problem.rhs, problem.guards) if angles else ())
        for column in function.jac_sparsity(0, 1).get_triplet()[1]
    }
    growth = max((probe.turning[index] for index in angles if index in acting), default=0.0)
    if growth * wanted > RADIANS_PER_SEGMENT:
        wanted = RADIANS_PER_SEGMENT / growth
    power = 10.0 ** math.floor(math.log10(wanted))
    # The logarithm of a number just below a power of ten may round to that power.
    fitting = [factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= wanted]
    return max(fitting, default=0.5 * power)
