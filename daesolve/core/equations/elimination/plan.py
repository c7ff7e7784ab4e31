"""The plan for eliminating reactions: scales, refinements, shifts of dependent goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.saddle import PROXIMAL_EPSILON, EliminationPlan, Saddle
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.linear import SPARSE_FROM
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.posing.value_names import ValueKind

MOST_REFINEMENTS = 4
PROXIMAL_REFINEMENTS = 2
SHARING_REFINEMENTS = 3
"""The same where contacts share loads: what each refinement leaves grows with the shift over the
squares of singular values, which legs of several links make small."""
BACKWARD_ERROR = 1e-13
ROUNDING = 20.0 * float(np.finfo(float).eps)
"""The accepted backward error per unknown of a large system: rounding adds up along a chain, and
a refinement would double the cost of a step for digits that the motion does not show."""
LIGHT = 2e-5
"""A body is light if a constraint moves the other bodies by less than this fraction of what it
moves that body. A light body moves with the others, and its acceleration is a small difference
between the effects of its forces and of its reaction. A refinement recovers the lost accuracy."""


def choose_plan(
    dynamics: Dynamics,
    samples: Sequence[tuple[float, np.ndarray]],
    values: np.ndarray,
    *,
    proximal: bool,
) -> EliminationPlan:
    """Determine scales and refinements from sample states.

    Refinements are added until the componentwise backward error at every sample is at rounding
    level, which grows with the size of the system. There is at least one if a light body moves with
    others, whatever forces act on it now; a proximal elimination always uses two, or three where
    contacts may share loads.

    Parameters
    ----------
    dynamics
        The equations.
    samples
        Times and consistent states.
    values
        p as numbers.
    proximal
        Whether constraints may depend on each other, everywhere or at isolated positions.
    """
    scales = _block_scales(dynamics, samples, values)
    if proximal:
        refinements = SHARING_REFINEMENTS if dynamics.shares_loads else PROXIMAL_REFINEMENTS
        return EliminationPlan(refinements, True, scales)
    unknowns = dynamics.velocity_count + dynamics.reactions.numel()
    allowed = BACKWARD_ERROR
    if unknowns >= SPARSE_FROM:
        allowed = max(allowed, ROUNDING * unknowns)
    fewest = 1 if _carries_light(dynamics, samples, values) else 0
    for refinements in range(fewest, MOST_REFINEMENTS + 1):
        plan = EliminationPlan(refinements, False, scales)
        if _backward_error(dynamics, plan, samples, values) <= allowed:
            return plan
    return EliminationPlan(MOST_REFINEMENTS, False, scales)


def regularisations(
    dynamics: Dynamics,
    samples: Sequence[tuple[float, np.ndarray]],
    values: np.ndarray,
    epsilon: float = PROXIMAL_EPSILON,
    weights: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the shift of each goal: epsilon of its part of J M^-1 B at the sample states.

    The shift is divided by the goal's weight (one by default) over the largest: dependent goals
    share a load like supports whose stiffnesses are the weights.
    """
    weights = weights or {}
    heaviest = max([1.0, *weights.values()])
    sizes: dict[str, list[float]] = {row.name: [] for row in dynamics.rows}
    # What is open now may close later.
    values = values.copy()
    for one in dynamics.unilateral:
        values[[one.hold, *one.slip_holds]] = 1.0
    for t, x in samples:
        parts = dynamics.matrices(t, x, values)
        inertia = np.diag(parts["mass"])
        for number, row in enumerate(dynamics.rows):
            gradient = parts["jacobian"][number]
            sizes[row.name].append(float(np.sum(gradient**2 / inertia)))
    typical = {name: float(np.median(size)) for name, size in sizes.items()}
    # Of unilateral goals that may share a load the springs are equal, wherever these are.
    together: dict[tuple[int, ...], list[str]] = {}
    for one in dynamics.unilateral:
        row = dynamics.rows[one.row]
        touched = row.jacobian.sparsity().get_triplet()[1]
        together.setdefault(tuple(sorted(set(touched))), []).append(row.name)
    for names in together.values():
        typical |= dict.fromkeys(names, float(np.median([typical[name] for name in names])))
    return {
        ValueKind.REGULARISATION.name_of(name): epsilon * size * heaviest / weights.get(name, 1.0)
        for name, size in typical.items()
    }


def _block_scales(
    dynamics: Dynamics, samples: Sequence[tuple[float, np.ndarray]], values: np.ndarray
) -> dict[int, float]:
    """Scale directed reactions by the size of the accelerations that they cause.

    Two of them are solved by Cramer's rule, which needs no scales, so the same code works for other
    masses.
    """
    own = {row.reaction for row in dynamics.rows}
    directed = [r for r in range(dynamics.reactions.numel()) if r not in own]
    if len(directed) - len(dynamics.relations) < 3:
        return {}
    norms: list[np.ndarray] = []
    for t, x in samples:
        parts = dynamics.matrices(t, x, values)
        caused = np.linalg.solve(parts["mass"], parts["influence"])
        weights = np.sqrt(np.diag(parts["mass"]))[:, None]
        norms.append(np.linalg.norm(weights * caused, axis=0))
    typical = np.median(norms, axis=0)
    return {
        index: float(2.0 ** -np.rint(np.log2(size))) if size > 0 else 1.0
        for index, size in enumerate(typical)
        if index in directed
    }


def _carries_light(
    dynamics: Dynamics, samples: Sequence[tuple[float, np.ndarray]], values: np.ndarray
) -> bool:
    """Return whether some body is light, at every sample, compared with others of a constraint."""
    if not (dynamics.rows and samples):
        return False
    ratios: np.ndarray | None = None
    for t, x in samples:
        parts = dynamics.matrices(t, x, values)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            # A coordinate without its own inertia is not a light body.
            moves = parts["jacobian"] ** 2 / np.diag(parts["mass"])
            moves = np.where(np.isfinite(moves), moves, 0.0)
            others = np.sum(moves, axis=1, keepdims=True) - moves
            ratio = np.where((moves > 0) & (others > 0), others / moves, np.inf)
        ratios = ratio if ratios is None else np.maximum(ratios, ratio)
    return ratios is not None and bool(np.any(ratios < LIGHT))


def _backward_error(
    dynamics: Dynamics,
    plan: EliminationPlan,
    samples: Sequence[tuple[float, np.ndarray]],
    values: np.ndarray,
) -> float:
    function = _eliminated(dynamics, plan.refinements, tuple(plan.block_scales.items()))
    singular = any(row.typical is not None for row in dynamics.rows)
    worst = 0.0
    for t, x in samples:
        a, u = function(t, x, values)
        if not (np.all(np.isfinite(a)) and np.all(np.isfinite(u))):
            if singular:
                continue
            return np.inf
        parts = dynamics.matrices(t, x, values)
        # At rest in equilibrium everything is rounding; the accelerations of the freed system are
        # the measure there.
        reach = np.abs(a) + np.abs(np.linalg.solve(parts["mass"], parts["force"]).ravel())
        checks = (
            (
                parts["mass"] @ a - parts["influence"] @ u - parts["force"].ravel(),
                np.abs(parts["mass"]) @ reach
                + np.abs(parts["influence"]) @ np.abs(u)
                + np.abs(parts["force"]).ravel(),
            ),
            (
                parts["jacobian"] @ a + parts["bias"].ravel(),
                np.abs(parts["jacobian"]) @ reach + np.abs(parts["bias"]).ravel(),
            ),
            (
                parts["ties"] @ u + parts["offsets"].ravel(),
                np.abs(parts["ties"]) @ np.abs(u) + np.abs(parts["offsets"]).ravel(),
            ),
        )
        for residual, size in checks:
            size = np.maximum(size, 1e-3 * np.max(size, initial=0.0))
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.where(size > 0, np.abs(residual) / size, 0.0)
            worst = max(worst, float(np.max(ratio, initial=0.0)))
    return worst


@built_once
def _eliminated(
    dynamics: Dynamics, refinements: int, scales: tuple[tuple[int, float], ...]
) -> Evaluator:
    """Return (t, x, p) -> the accelerations and the reactions, without a shift of pivots."""
    saddle = Saddle(dynamics, EliminationPlan(refinements, False, dict(scales)))
    targets = [-row.bias for row in dynamics.rows]
    offsets = [row.offset for row in dynamics.relations]
    solved = saddle.solve(dynamics.force, targets, offsets)
    return Evaluator(dynamics.function("eliminated", *solved, share=False))
