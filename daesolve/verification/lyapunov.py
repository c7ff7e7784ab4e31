"""How fast small errors grow: the Lyapunov time of a motion, through its resets.

A shadow starts beside the motion and is brought back to its first distance again and again
(G. Benettin et al., Meccanica 15, 1980). At a reset it is carried to its own event: it meets the
guard dt earlier or later, jumps with its own state, and is taken back to the time of the motion,

    dt = -(g(x + d) - g(x)) / g',    d+ = J(x + d + f(x) dt) - J(x) - f(x+) dt,

the saltation matrix of that event applied to d (P. C. Mueller, Chaos, Solitons and Fractals 5,
1995). So the shadow is in the mode of the motion at all times that are compared. Discrete values
and references may remember the state, and are carried beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import Evaluator
from daesolve.algebra.translation import function_of
from daesolve.errors import ResetError
from daesolve.formulations import DaeProblem, OdeProblem
from daesolve.integration.record import Boundary, Happening, Record
from daesolve.integration.simulation import simulate_recorded
from daesolve.modes.transitions import transitions_of
from daesolve.preparation.preparing import Prepared
from daesolve.preparation.request import DEFAULT_RATE
from daesolve.solvers import Dop853, State, Status
from daesolve.trajectory.results import Outcome, StepBlock

SEPARATION = 1e-9
"""Initial distance of the shadow, relative to the size of each state."""
FARTHEST = 1e6
"""Times its first distance that the shadow may come to be away before it is brought back."""
PIECES = 400
"""After so many the estimate ends."""
CHAOTIC = 3.0
"""Growth beyond this many times that of regular motion, ln t, counts as chaos."""
FEWEST = 10
"""Pieces below which nothing is concluded."""
SHORTEST = 1e-9
"""Of the run, a piece so short that the shadow cannot be kept beside the motion."""
MEASURED = 201
"""Samples from which the sizes of states are taken where there are resets."""


def lyapunov_time(prepared: Prepared) -> float | None:
    """Estimate the time in which small errors grow e-fold.

    Regular motion separates like t, its logarithm like ln t; only what grows much faster counts
    as chaos.

    Returns
    -------
    float or None
        s; None where the motion is regular; not a number where it ends, or touches a guard,
        before that can be told.
    """
    chart = prepared.problem.chart
    if chart is not None:
        # Both motions would have to change charts together.
        prepared = _without_chart(prepared, chart.whole)
    if isinstance(prepared.problem, DaeProblem):
        prepared = _with_feedback(prepared)
    if prepared.dynamics.contacts:
        # Two motions beside each other may open different contacts.
        return math.nan
    if prepared.transitions is not None:
        return _through_resets(prepared)
    return _of_smooth_motion(prepared)


def _without_chart(prepared: Prepared, whole: OdeProblem) -> Prepared:
    names = [watched.name for watched in prepared.problem.watched]
    scales = dict(zip(names, map(float, prepared.scales), strict=True))
    transitions = transitions_of(prepared.dynamics, whole.plan, whole, scales)
    values = prepared.values[: len(whole.values)]
    return replace(prepared, problem=whole, values=values, transitions=transitions)


def _of_smooth_motion(prepared: Prepared) -> float | None:
    sign = 1.0 if prepared.until >= prepared.start_time else -1.0
    sizes = _sizes(prepared, sign)
    visible = len(prepared.problem.labels.states)
    reference = prepared.initial
    shadow = reference + _first_offset(prepared) * sizes
    growth: list[tuple[float, float]] = []
    here = prepared.start_time
    target = SEPARATION * math.sqrt(visible)
    piece = min(prepared.segment, abs(prepared.until - here) / 50)
    while len(growth) <= PIECES and abs(prepared.until - here) >= piece * (1 - 1e-9):
        ahead = here + sign * piece
        next_reference = _advance(prepared, here, reference, ahead)
        next_shadow = _advance(prepared, here, shadow, ahead)
        if next_reference is None or next_shadow is None:
            break
        distance = float(np.linalg.norm(((next_shadow - next_reference) / sizes)[:visible]))
        if distance == 0.0 or not math.isfinite(distance):
            return math.nan
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
    return _judged(span, total, len(growth))


def _judged(span: float, total: float, pieces: float) -> float | None:
    """Tell chaos from regular motion over so many pieces."""
    if pieces <= FEWEST:
        return math.nan
    return None if total < CHAOTIC * max(math.log(pieces), 1.0) else span / total


# -- through resets -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Offset:
    """How far the shadow is beside the motion, in the state and in p."""

    x: np.ndarray
    p: np.ndarray

    def scaled(self, factor: float) -> _Offset:
        """Return the same at another distance."""
        return _Offset(self.x * factor, self.p * factor)


def _through_resets(prepared: Prepared) -> float | None:
    """Follow the motion once, then carry the shadow from reset to reset."""
    # What is reset runs forwards in time.
    span = prepared.until - prepared.start_time
    piece = min(prepared.segment, span / 50)
    span = min(span, PIECES * piece)
    until = prepared.start_time + span
    at = np.linspace(prepared.start_time, until, MEASURED)
    run, record = simulate_recorded(replace(prepared, until=until), at)
    if run.outcome not in (Outcome.COMPLETED, Outcome.STOPPED_BY_EVENT):
        return math.nan
    visible = len(prepared.problem.labels.states)
    sizes = _scaling(prepared, np.max(np.abs(np.array(record.samples)), axis=0))
    offset = _Offset(_first_offset(prepared) * sizes, np.zeros(len(prepared.values)))
    target = SEPARATION * math.sqrt(visible)
    shadow = _Shadow(prepared)
    counted = total = 0.0
    for start, end, resets in _smooth_pieces(record):
        here, state, values = start.time, start.state, record.modes[start.mode]
        while here != end:
            ahead = here + piece if end - here > (1 + 1e-9) * piece else end
            reached, found = shadow.carried(here, ahead, state, values, offset)
            if ahead == end:
                try:
                    found = shadow.reset(resets, record, found)
                except ResetError:
                    return math.nan
            distance = float(np.linalg.norm((found.x / sizes)[:visible]))
            if not 0.0 < distance < math.inf or piece < SHORTEST * span:
                return math.nan
            if distance > FARTHEST * target:
                # It is no longer beside the motion.
                piece /= 2
                continue
            # The first piece turns the shadow into the direction that grows.
            if here - prepared.start_time >= span / 50:
                counted += ahead - here
                total += math.log(distance / target)
            here, state, offset = ahead, reached, found.scaled(target / distance)
    return _judged(counted, total, 50.0 * counted / span)


def _smooth_pieces(record: Record) -> Iterator[tuple[Boundary, float, list[Happening]]]:
    """Yield where each piece starts and when it ends, and what is reset there."""
    resets = [event for event in record.events if event.after is not None]
    place = sum(event.time == record.boundaries[0].time for event in resets)
    for start, following in pairwise(record.boundaries):
        first = place
        while place < len(resets) and resets[place].time == following.time:
            place += 1
        yield start, following.time, resets[first:place]


class _Shadow:
    """Carries an offset from a motion, along smooth pieces and over resets."""

    def __init__(self, prepared: Prepared) -> None:
        assert prepared.transitions is not None
        problem = prepared.problem
        t, x, p = (problem.guards.sx_in(k) for k in range(3))
        names = (["t", "x", "p"], ["guards"])
        none = function_of("guards", [t, x, p], [ca.SX(0, 1)], names)
        # The shadow goes on as the motion does, wherever the guards are.
        self.smooth = replace(prepared, problem=replace(problem, events=(), guards=none))
        self.transitions = prepared.transitions.fresh()
        self.rate = Evaluator(problem.rhs)
        counts = [event.count for event in problem.events]
        self.firsts = np.cumsum([0, *counts])
        self.places = {event.name: index for index, event in enumerate(problem.events)}

    def carried(
        self, here: float, ahead: float, state: np.ndarray, values: np.ndarray, offset: _Offset
    ) -> tuple[np.ndarray, _Offset]:
        """Return the state that is reached, and the offset there; NaN where there is none."""
        pairs = ((state, values), (state + offset.x, values + offset.p))
        ends = [_advance(replace(self.smooth, values=p), here, x, ahead) for x, p in pairs]
        reached, beside = (np.full(len(state), np.nan) if end is None else end for end in ends)
        return reached, _Offset(beside - reached, offset.p)

    def reset(self, resets: Sequence[Happening], record: Record, offset: _Offset) -> _Offset:
        """Return the offset after the resets of an instant."""
        if not resets or not np.all(np.isfinite(offset.x)):
            return offset
        first = resets[0]
        time, x, p = first.time, first.at.state, record.modes[first.at.mode]
        shadow_x, shadow_p = x + offset.x, p + offset.p
        guard = self._guards(first)[0]
        values, rates = self.transitions.measure(time, x, p)
        beside, _ = self.transitions.measure(time, shadow_x, shadow_p)
        with np.errstate(divide="ignore", invalid="ignore"):
            delay = float((values[guard] - beside[guard]) / rates[guard])
        shadow_x = shadow_x + self.rate(time, x, p)[0] * delay
        # What one jump changed is the same object in all of its events.
        for _, events in groupby(resets, key=lambda event: id(event.at)):
            jumped = list(events)
            guards = [guard for event in jumped for guard in self._guards(event)]
            start = jumped[0].at
            *_, jump = self.transitions.jumps(time, start.state, record.modes[start.mode], guards)
            x, p = jump.x, jump.p
            *_, jump = self.transitions.jumps(time + delay, shadow_x, shadow_p, guards)
            shadow_x, shadow_p = jump.x, jump.p
        shadow_x = shadow_x - self.rate(time, x, p)[0] * delay
        return _Offset(shadow_x - x, shadow_p - p)

    def _guards(self, event: Happening) -> list[int]:
        return [int(self.firsts[self.places[event.name]]) + place for place in event.fired]


# -- parts of both --------------------------------------------------------------------------------


def _first_offset(prepared: Prepared) -> np.ndarray:
    """Return the shadow's first distance over the sizes: work integrals have none."""
    generator = np.random.default_rng(4)
    # Not the same for all states: where they shrink together, it would never begin to grow.
    offset = SEPARATION * generator.standard_normal(size=len(prepared.initial))
    offset[len(prepared.problem.labels.states) :] = 0.0
    return offset


def _scaling(prepared: Prepared, largest: np.ndarray) -> np.ndarray:
    """Return sizes that are not too small; an angle counts as one radian."""
    sizes = largest.copy()
    sizes[list(prepared.problem.labels.angles)] = 1.0
    return np.maximum(sizes, 1e-3 * np.max(sizes) or 1.0)


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
    return _scaling(prepared, largest)


def _advance(prepared: Prepared, here: float, state: np.ndarray, ahead: float) -> np.ndarray | None:
    end = prepared.solver.segment(
        prepared.problem, State(here, state, prepared.values), ahead, np.empty(0), _ignore
    )
    return end.state if end.status is Status.REACHED else None


def _ignore(block: StepBlock) -> None:
    """Watch nothing."""
