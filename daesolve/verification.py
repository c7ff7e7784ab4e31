"""A run repeated in another way, and how fast small errors grow in it.

A driven residual is small at almost any accuracy; only another run shows how far the trajectory
itself can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from daesolve.agreement import difference
from daesolve.choosing import check_pair
from daesolve.errors import UnsupportedError
from daesolve.formulations import DaeProblem
from daesolve.preparation import Prepared
from daesolve.request import DEFAULT_RATE
from daesolve.sampling import At
from daesolve.simulation import simulate
from daesolve.solvers import Dop853, Solver, State, Status
from daesolve.trajectory import StepBlock, Trajectory, Verification

SEPARATION = 1e-9
"""Initial distance of the shadow, relative to the size of each state."""
FARTHEST = 1e6
"""Times its first distance that the shadow may come to be away before it is brought back."""
PIECES = 400
"""After so many the estimate ends."""
CHAOTIC = 3.0
"""Growth beyond this many times that of regular motion, ln t, counts as chaos."""


def verify(
    prepared: Prepared, run: Trajectory, at: At = None, solver: Solver | None = None
) -> Verification:
    """Repeat a run with a tightened tolerance (or another solver) and compare the samples.

    Parameters
    ----------
    prepared
        What was run.
    run
        Its trajectory.
    at
        The sample times of the run.
    solver
        What to repeat it with; None tightens the run's own.

    Raises
    ------
    UnsupportedError
        The other solver cannot take what was run.
    """
    other = verifier(prepared, solver).resolved(prepared.problem, float(run.statistics.steps))
    other.compile(prepared.problem)
    repeated = simulate(replace(prepared, solver=other), at)
    against = ", ".join(
        [other.name, *(f"{name} {value:.3g}" for name, value in other.tolerances().items())]
    )
    if repeated.outcome is not run.outcome:
        against += (
            f", up to t = {repeated.end_time:.10g} s where it ended {repeated.outcome.value}"
            + (f": {repeated.message}" if repeated.message else "")
        )
    return Verification(against, _differences(run, repeated), lyapunov_time(prepared))


def _differences(run: Trajectory, repeated: Trajectory) -> Mapping[str, float]:
    """Return how far the states differ over the samples, without any at the end.

    They are not a number where the repetition ended otherwise: what it did not reach is unknown.
    """
    if repeated.outcome is not run.outcome:
        return dict.fromkeys(run.states, math.nan)
    found = difference(run, repeated, run.units)
    if found is not None:
        return found.by_state
    return {name: abs(value - repeated.end_state[name]) for name, value in run.end_state.items()}


def verifier(prepared: Prepared, asked: Solver | None = None) -> Solver:
    """Return the solver that repeats a run: the one asked for, else the run's own, tightened.

    Raises
    ------
    UnsupportedError
        The one asked for cannot take what was run.
    """
    if asked is None:
        return prepared.solver.tightened()
    check_pair(prepared.formulation, asked)
    refusal = asked.refusal(prepared.problem)
    if refusal is not None:
        raise UnsupportedError(refusal)
    return asked


def lyapunov_time(prepared: Prepared) -> float | None:
    """Estimate the time in which small errors grow e-fold, by a shadow trajectory (Benettin).

    The shadow starts beside the motion and is brought back to its first distance at each
    boundary. Regular motion separates like t, its logarithm like ln t; only what grows
    much faster counts as chaos.

    Returns
    -------
    float or None
        s; None where the motion is regular, or ends before it can be told.
    """
    chart = prepared.problem.chart
    if chart is not None:
        # Both motions would have to change charts together.
        values = prepared.values[: len(chart.whole.values)]
        prepared = replace(prepared, problem=chart.whole, values=values)
    if isinstance(prepared.problem, DaeProblem):
        prepared = _with_feedback(prepared)
    sign = 1.0 if prepared.until >= prepared.start_time else -1.0
    sizes = _sizes(prepared, sign)
    visible = len(prepared.problem.labels.states)
    reference = prepared.initial
    generator = np.random.default_rng(4)
    # Not the same for all states: where they shrink together, it would never begin to grow.
    offset = SEPARATION * generator.standard_normal(size=len(reference))
    offset[visible:] = 0.0
    shadow = reference + offset * sizes
    growth: list[tuple[float, float]] = []
    here = prepared.start_time
    target = SEPARATION * math.sqrt(visible)
    piece = min(prepared.segment, abs(prepared.until - here) / 50)
    while len(growth) <= PIECES and abs(prepared.until - here) >= piece * (1 - 1e-9):
        ahead = here + sign * piece
        next_reference = _advance(prepared, here, reference, ahead)
        next_shadow = _advance(prepared, here, shadow, ahead)
        if next_reference is None or next_shadow is None:
            return None
        distance = float(np.linalg.norm(((next_shadow - next_reference) / sizes)[:visible]))
        if distance == 0.0 or not math.isfinite(distance):
            return None
        if distance > FARTHEST * target:
            # The shadow is on a way of its own by now, and its distance tells nothing.
            piece /= 2
            continue
        growth.append((piece, math.log(distance / target)))
        here, reference = ahead, next_reference
        shadow = reference + (next_shadow - reference) * (target / distance)
    # The first piece turns the shadow into the direction that grows.
    span = sum(length for length, _ in growth[1:])
    total = sum(grown for _, grown in growth[1:])
    if len(growth) <= 10 or total < CHAOTIC * max(math.log(len(growth)), 1.0):
        return None
    return span / total


def _with_feedback(prepared: Prepared) -> Prepared:
    """Return the same motion as an ordinary differential equation, drawn to the constraints.

    The shadow starts beside them, where the solver of a differential-algebraic equation cannot.
    """
    names, values = [*prepared.problem.values], prepared.values.copy()
    direction = 1.0 if prepared.until >= prepared.start_time else -1.0
    for row in prepared.dynamics.rows:
        values[names.index(f"rate_{row.name}")] = direction * DEFAULT_RATE
    return replace(prepared, values=values, solver=Dop853())


def _sizes(prepared: Prepared, sign: float) -> np.ndarray:
    """Return how large each state becomes in the first segment; an angle counts as one radian."""
    largest = np.abs(prepared.initial)

    def measure(block: StepBlock) -> None:
        np.maximum(largest, np.nanmax(np.abs(block.states), axis=0), out=largest)

    span = min(prepared.segment, abs(prepared.until - prepared.start_time))
    prepared.solver.segment(
        prepared.problem,
        State(prepared.start_time, prepared.initial, prepared.values),
        prepared.start_time + sign * span,
        np.empty(0),
        measure,
    )
    largest[list(prepared.problem.labels.angles)] = 1.0
    return np.maximum(largest, 1e-3 * np.max(largest) or 1.0)


def _advance(prepared: Prepared, here: float, state: np.ndarray, ahead: float) -> np.ndarray | None:
    end = prepared.solver.segment(
        prepared.problem, State(here, state, prepared.values), ahead, np.empty(0), _ignore
    )
    return end.state if end.status is Status.REACHED else None


def _ignore(block: StepBlock) -> None:
    """Watch nothing."""
