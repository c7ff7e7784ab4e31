"""The Hessian of an objective times a direction, through events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np

from daesolve.analysis.gradients.objective import Objective
from daesolve.analysis.gradients.objective_gradient import (
    Carried,
    DifferentiableCase,
    carried_objective,
    differentiated_case,
    gradient_of,
    pull_together,
    timed_terms,
)
from daesolve.analysis.gradients.reversal import Pull, Reversal
from daesolve.analysis.gradients.tangent_equations import tangent_slopes, tangent_slopes_of_end
from daesolve.analysis.gradients.tangent_run import TangentJumps, TangentRun
from daesolve.analysis.sensitivity import Varied
from daesolve.analysis.start_derivatives import second_start_slopes
from daesolve.analysis.variational import FIRST_STEP, differentiated
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import RunOptions, check_options
from daesolve.core.system.system import System
from daesolve.errors import (
    DaesolveError,
    NoDerivativeError,
    OutOfRangeError,
    check_names,
    is_number,
)

ENOUGH = 1e-9
"""The change of such differences after which no smaller step is tried."""
UNSURE = 1e-6
"""The change with the step, relative to the largest entry, beyond which differences of gradients
show no second derivative."""


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """The Hessian of an objective times a direction: `found["length"]` is its entry of the length.

    Parameters
    ----------
    value
        The objective.
    by
        The names of the k numbers.
    along
        (k,) the direction.
    gradient
        (k,) the gradient of the objective.
    vector
        (k,) the Hessian times the direction: the derivative of the gradient along it.
    run
        The motion.
    notes
        Notes on the method.
    """

    value: float
    by: tuple[str, ...]
    along: np.ndarray
    gradient: np.ndarray
    vector: np.ndarray
    run: Trajectory
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        """Return the entry of a parameter or a start value.

        Raises
        ------
        UnknownNameError
            The objective was not differentiated by it.
        """
        check_names("parameter or start value of the derivatives", [name], self.by)
        return float(self.vector[self.by.index(name)])

    def __str__(self) -> str:
        pairs = zip(self.by, self.vector.tolist(), strict=True)
        return "Hessian times the direction: " + ", ".join(
            f"{name} {entry:.6g}" for name, entry in pairs
        )


def hessian_product(
    source: System | DifferentiableCase,
    objective: Objective,
    until: float | None = None,
    initial: Mapping[str, float] | None = None,
    *,
    by: Sequence[str],
    along: Mapping[str, float] | Sequence[float] | np.ndarray,
    **options: Unpack[RunOptions],
) -> HessianProduct:
    """Differentiate the gradient of an objective along a direction, including events.

    Parameters
    ----------
    source, objective, until, initial, by, **options
        As in `gradient`; the objective has no term of samples.
    along
        The direction: a number for each name in `by`, or by name; names that are left out do not
        change.

    Returns
    -------
    HessianProduct
        The Hessian times the direction, the gradient, the objective, and the run.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        As in `gradient`, or the direction does not fit the names, is zero or not finite, or the
        objective has a term of samples.
    NoDerivativeError
        As in `gradient`, or the gradient has no derivative along the direction.
    DaesolveError
        The request cannot be run.

    Notes
    -----
    The derivative of the motion along the direction is carried forwards; that of the objective,
    which depends on it, is carried back, whatever the number of names. Where laws decide what
    contacts do, gradients are differenced instead; a note says so and states the error.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> p = ds.parameters(stiffness=(4.0, "N/m"))
    >>> kinetic, potential = q.dot.x**2 / 2, p.stiffness * q.x**2 / 2
    >>> spring = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential)
    >>> objective = ds.analysis.Objective(end=lambda now: now["x"] ** 2)
    >>> start, options = {"x": 1.0, "x_dot": 0.0}, {"by": ["x"], "along": [1.0]}
    >>> found = ds.analysis.hessian_product(spring, objective, 1.0, start, **options)
    >>> abs(found["x"] - 2 * found.value) < 1e-12
    True
    """
    check_options("hessian_product", options)
    varied = differentiated_case(source, objective, by, until, initial, options)
    if objective.samples is not None:
        raise OutOfRangeError(
            "a term of samples has first derivatives alone: for second ones, give the objective "
            "expressions at their times (at={t: lambda now: ...})"
        )
    system, request, nominal, at = varied
    direction = _direction(along, tuple(nominal))
    carried = carried_objective(objective, system, request, nominal, at)
    sizes = np.array([abs(value) or 1.0 for value in nominal.values()])
    # The direction changes no number by more than its own size.
    unit = float(np.max(np.abs(direction) / sizes))
    try:
        vector, notes = _carried_back(objective, varied, carried, direction / unit)
    except NoDerivativeError as refusal:
        vector, note = _differenced(objective, varied, direction / unit)
        notes = [f"{note}, because {refusal}"]
    found = carried.gradient
    return HessianProduct(
        found.value,
        found.by,
        direction,
        found.vector,
        unit * vector,
        found.run,
        (*found.notes, *notes),
    )


def _direction(
    along: Mapping[str, float] | Sequence[float] | np.ndarray, by: tuple[str, ...]
) -> np.ndarray:
    """Return the direction as numbers by the names.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        As in `hessian_product`.
    """
    if isinstance(along, Mapping):
        check_names("parameter or start value of the derivatives", list(along), by)
        along = [along.get(name, 0.0) for name in by]
    entries = list(along)
    if len(entries) != len(by) or not all(is_number(entry) for entry in entries):
        raise OutOfRangeError(f"along must have one number for each of {', '.join(by)}")
    found = np.array(entries, dtype=float)
    if not np.all(np.isfinite(found)) or not np.any(found):
        raise OutOfRangeError(f"along is {found.tolist()}, but must be finite and not zero")
    return found


def _carried_back(
    objective: Objective, varied: Varied, carried: Carried, direction: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Carry back the derivative of an objective along a direction.

    Raises
    ------
    NoDerivativeError
        A law decides what follows, or the way back is closed.
    """
    events, active, run = carried.events, tuple(carried.active), carried.gradient.run
    if any(events.decides(event) for event in events.record.events):
        raise NoDerivativeError("laws decide what contacts do")
    start, problem = carried.start_slopes @ direction, events.problem
    tangent = TangentRun(events, start, run.outcome, active, objective.running)
    count, size = len(problem.values), problem.size
    changing = [*active, *range(count, count + len(active) + 1)]
    ended, solver = (run.outcome, False), events.prepared.request.solver
    reversal = Reversal(tangent, changing, None, solver, ended, TangentJumps)
    pulls: dict[int, Pull] = {}
    for k, expression in timed_terms(objective, events, run, carried.at):
        slopes = tangent_slopes(problem, active, expression)
        pulls[k] = partial(pull_together, slopes, pulls.get(k))
    terms, stopped = (objective.end, objective.running), run.outcome is Outcome.STOPPED_BY_EVENT
    end = tangent_slopes_of_end(problem, active, terms, (stopped, reversal.end_guard()))
    _, found = reversal.to_start(end, pulls, np.zeros(len(events.record.events)))
    visible = len(start) - count
    by_values = np.zeros(count)
    by_values[list(active)] = found.values[count:-1]
    first = np.concatenate([found.state[size : size + visible], by_values])
    second = np.concatenate([found.state[:visible], found.values[:count]])
    bends, errors = second_start_slopes(events.prepared, varied[1], varied[2], first, direction)
    gradient = first @ carried.start_slopes
    apart = np.max(np.abs(gradient - carried.gradient.vector)) / (np.max(np.abs(gradient)) or 1.0)
    notes = [
        f"second derivatives by {reversal.notes()[0]}; the gradient that they contain agrees to "
        f"{apart:.2g}"
    ]
    vector = second @ carried.start_slopes + bends
    if np.any(errors):
        sizes = np.array([abs(value) or 1.0 for value in varied[2].values()])
        left = np.max(errors * sizes) / (np.max(np.abs(vector) * sizes) or 1.0)
        notes.append(f"extrapolated differences of the start's curvature left {left:.2g} of them")
    return vector, notes


def _differenced(
    objective: Objective, varied: Varied, direction: np.ndarray
) -> tuple[np.ndarray, str]:
    """Difference gradients along a direction; return a note on the error as well.

    Raises
    ------
    NoDerivativeError
        There is no derivative.
    """
    system, request, nominal, at = varied
    values = np.array([*nominal.values()])

    def beside(part: float) -> np.ndarray:
        there = dict(zip(nominal, (values + part * direction).tolist(), strict=True))
        moved = partial(_merged, there)
        return gradient_of(
            objective, system, lambda numbers: request(moved(numbers)), there, at
        ).vector

    try:
        vector, error = differentiated(beside, 0.0, FIRST_STEP, ENOUGH)
    except DaesolveError as refusal:
        raise NoDerivativeError(
            f"the gradient has no derivative along the direction: {refusal}"
        ) from refusal
    if error > UNSURE:
        raise NoDerivativeError(
            "the gradient has no derivative along the direction: its differences still change by "
            f"a relative {error:.1g}"
        )
    return vector, f"second derivatives by extrapolated differences of gradients, to {error:.2g}"


def _merged(numbers: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    return {**numbers, **others}
