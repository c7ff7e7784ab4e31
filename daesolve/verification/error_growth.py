"""How far small changes of a motion grow, and the Lyapunov time that follows.

The changes are carried along the motion piece by piece. After each piece they are measured and
brought back to their first size, orthogonal to each other where there are several, before they are
small no longer or turn into the same direction (G. Benettin et al., Meccanica 15, 1980). What
carries them is a second motion beside the first, its shadow, or the variational equations
(`daesolve.analysis.exponents`).

At a reset the shadow is carried to its own event: it meets the guard dt earlier or later, jumps
with its own state, and is taken back to the time of the motion,

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
from typing import Protocol

import casadi as ca
import numpy as np

from daesolve.contact.posing.contact_rows import brakes_in, contacts_in
from daesolve.core.events.transitions import transitions_of
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import DaeProblem, OdeProblem
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.beside import in_lane
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.preparation.request import DEFAULT_RATE
from daesolve.core.results.trajectory.results import Outcome, StepBlock
from daesolve.core.run.integration.record import Boundary, Happening, RunRecord
from daesolve.core.run.integration.simulation import simulate_recorded
from daesolve.core.solvers import Dop853, State, Status
from daesolve.errors import ResetError

STRETCHED = 1e6
"""Growth over a piece beyond which a change is small no longer."""
PARTED = 1e9
"""Growth over a piece of one change beside another, beyond which that one loses its digits."""
POLYNOMIAL = 3.0
"""Growth like this power of time is regular."""
SEPARATION = 1e-9
"""Initial distance of the shadow, relative to the size of each state."""
PIECES = 400
"""After so many the estimate ends."""
FEWEST = 10
"""Pieces below which nothing is concluded."""
SHORTEST = 1e-9
"""A piece shorter than this fraction of the run cannot keep the shadow beside the motion."""
MEASURED = 201
"""Samples from which the sizes of states are taken where there are resets."""


class SmallChanges(Protocol):
    """Changes of a motion, n of them, at one instant of it."""

    @property
    def time(self) -> float:
        """The instant, s."""
        ...

    def following(self, piece: float) -> float | None:
        """Return when the next piece ends, s, about `piece` from now; None at the motion's end."""
        ...

    def stretched(self, ahead: float) -> np.ndarray | None:
        """Carry the changes to the end of a piece and return their growth.

        Returns
        -------
        np.ndarray or None
            (n,) factors; None if the motion does not get there.
        """
        ...

    def renew(self) -> np.ndarray | None:
        """Go on from where the changes were carried last, at their first size.

        Returns
        -------
        np.ndarray or None
            (n,) factors by which they grow in an event there; None if nothing happens.
        """
        ...


@dataclass(frozen=True, eq=False)
class Growth:
    """How far small changes grew along a motion, in m pieces.

    Parameters
    ----------
    times
        (m + 1,) when the pieces begin and end, s.
    pieces
        (m,) how long each was to be, s.
    factors, at_events
        (m, n) by which the changes grew over each piece, and in the event at its end.
    """

    times: np.ndarray
    pieces: np.ndarray
    factors: np.ndarray
    at_events: np.ndarray

    @property
    def logarithms(self) -> np.ndarray:
        """(m, n) logarithms of the whole growth in each piece."""
        return np.log(self.factors) + np.log(self.at_events)


def measured_growth(
    changes: SmallChanges, piece: float, shortest: float = math.inf
) -> Growth | None:
    """Carry small changes to the end of their motion and measure how far they grow.

    Parameters
    ----------
    changes
        At the start of the motion.
    piece
        The length of a piece, s. It is halved where the changes grow too far in one.
    shortest
        The shortest piece, s; without it pieces are not halved.

    Returns
    -------
    Growth or None
        None if a change vanishes, is not finite, or grows too far in the shortest piece.
    """
    times, pieces = [changes.time], list[float]()
    factors, at_events = list[np.ndarray](), list[np.ndarray]()
    while (ahead := changes.following(piece)) is not None:
        grown = changes.stretched(ahead)
        if grown is None:
            break
        if not np.all((grown > 0.0) & (grown < math.inf)):
            return None
        if not distinct(grown):
            piece /= 2.0
            if piece < shortest:
                return None
            continue
        jumped = changes.renew()
        times.append(ahead)
        pieces.append(piece)
        factors.append(grown)
        at_events.append(np.ones(len(grown)) if jumped is None else jumped)
    return Growth(np.array(times), np.array(pieces), np.array(factors), np.array(at_events))


def distinct(grown: np.ndarray) -> bool:
    """Decide whether changes that grew by such factors are small, with all their digits."""
    largest, smallest = np.max(grown), np.min(grown)
    return bool(largest < STRETCHED and smallest * PARTED > largest)


def sizes_of_states(largest: np.ndarray, angles: Sequence[int]) -> np.ndarray:
    """Return in which units changes of states compare.

    Parameters
    ----------
    largest
        (n,) how large each becomes; none counts as less than a thousandth of the largest of all.
    angles
        The indices of angles, which count as one radian.
    """
    sizes = largest.copy()
    sizes[list(angles)] = 1.0
    return np.maximum(sizes, 1e-3 * np.max(sizes) or 1.0)


def lyapunov_time(prepared: Prepared) -> float | None:
    """Estimate the time in which small errors grow e-fold.

    Regular motion separates like t, its logarithm like ln t; only what grows much faster counts
    as chaos.

    Returns
    -------
    float or None
        s; None if the motion is regular; NaN if it ends, or touches a guard, before that is known.
    """
    chart = prepared.problem.chart
    if chart is not None:
        # Both motions would have to change charts together.
        prepared = _without_chart(prepared, chart.whole)
    if isinstance(prepared.problem, DaeProblem):
        prepared = _with_feedback(prepared)
    if contacts_in(prepared.dynamics) or brakes_in(prepared.dynamics):
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
    scaling = prepared.scaling.of_whole
    return replace(prepared, problem=whole, values=values, transitions=transitions, scaling=scaling)


def _of_smooth_motion(prepared: Prepared) -> float | None:
    """Carry the shadow through pieces of one length to the end."""
    span = abs(prepared.until - prepared.start_time)
    piece = min(prepared.segment, span / 50)
    from daesolve.core.solvers.lanes import small_batch  # which takes long to import

    # A run that is in a lane already stays there.
    beside = in_lane(prepared, small_batch(2))
    growth = measured_growth(_Shadow(beside, _first_sizes(prepared)), piece, 0.0)
    if growth is None:
        return math.nan
    # The first piece turns the shadow into the direction that grows.
    grown = _logarithm(growth.factors[1:])
    return _judged(sum(growth.pieces[1:].tolist()), grown, len(growth.pieces))


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
    if record.held:
        # Friction held the body for a while, where what was beside it comes together with it.
        return math.nan
    largest = np.max(np.abs(np.array(record.samples)), axis=0)
    sizes = sizes_of_states(largest, prepared.problem.labels.angles)
    growth = measured_growth(_ResetShadow(prepared, sizes, record), piece, SHORTEST * span)
    if growth is None:
        return math.nan
    # The first piece turns the shadow into the direction that grows.
    kept = growth.times[:-1] - prepared.start_time >= span / 50
    counted = sum(np.diff(growth.times)[kept].tolist())
    return _judged(counted, _logarithm(growth.factors[kept]), 50.0 * counted / span)


def _logarithm(factors: np.ndarray) -> float:
    """Return the logarithm of the product of factors."""
    return sum(map(math.log, factors.ravel().tolist()))


def _judged(span: float, total: float, pieces: float) -> float | None:
    """Distinguish chaos from regular motion by the growth over so many pieces."""
    if pieces <= FEWEST:
        return math.nan
    return None if total < POLYNOMIAL * max(math.log(pieces), 1.0) else span / total


# -- the shadow -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Offset:
    """How far the shadow is beside the motion, in the state and in p."""

    x: np.ndarray
    p: np.ndarray

    def scaled(self, factor: float) -> _Offset:
        """Return the same at another distance."""
        return _Offset(self.x * factor, self.p * factor)


class _Shadow:
    """A motion beside a smooth motion.

    Parameters
    ----------
    prepared
        The motion.
    sizes
        The units in which states compare.
    """

    def __init__(self, prepared: Prepared, sizes: np.ndarray) -> None:
        self.prepared, self.sizes = prepared, sizes
        self.visible = len(prepared.problem.labels.states)
        self.target = SEPARATION * math.sqrt(self.visible)
        self.time: float = prepared.start_time
        self.state, self.values = prepared.initial, prepared.values
        self.offset = _Offset(_first_offset(prepared) * sizes, np.zeros(len(prepared.values)))
        self._ahead = self.time, self.state, self.offset, self.target
        self._renewed = 0

    def following(self, piece: float) -> float | None:
        """Return when a whole piece ends, as long as there is one."""
        left = self.prepared.until - self.time
        if self._renewed > PIECES or abs(left) < piece * (1 - 1e-9):
            return None
        return self.time + (piece if left >= 0.0 else -piece)

    def stretched(self, ahead: float) -> np.ndarray | None:
        """Carry the shadow to the end of a piece and return how many times farther it is."""
        found = self._carried(ahead)
        if found is None:
            return None
        state, offset = found
        distance = float(np.linalg.norm((offset.x / self.sizes)[: self.visible]))
        self._ahead = ahead, state, offset, distance
        return np.array([distance / self.target])

    def _carried(self, ahead: float) -> tuple[np.ndarray, _Offset] | None:
        pairs = (
            (self.state, self.values),
            (self.state + self.offset.x, self.values + self.offset.p),
        )
        starts = [State(self.time, x, p) for x, p in pairs]
        own = self.prepared
        own.scaling.foresee(own.solver, own.problem, starts, ahead, np.empty(0))
        reached, beside = (_advance(self.prepared, start, ahead) for start in starts)
        if reached is None or beside is None:
            return None
        return reached, _Offset(beside - reached, self.offset.p)

    def renew(self) -> None:
        """Go on with the shadow at its first distance."""
        self.time, self.state, offset, distance = self._ahead
        self.offset = offset.scaled(self.target / distance)
        self._renewed += 1


class _ResetShadow(_Shadow):
    """A motion beside one that is known, from reset to reset.

    Parameters
    ----------
    prepared, sizes
        As for a smooth motion.
    record
        What the motion gathered.
    """

    def __init__(self, prepared: Prepared, sizes: np.ndarray, record: RunRecord) -> None:
        assert prepared.transitions is not None
        problem = prepared.problem
        t, x, p = (problem.guards.sx_in(k) for k in range(3))
        names = (["t", "x", "p"], ["guards"])
        none = function_of("guards", [t, x, p], [ca.SX(0, 1)], names)
        # The shadow continues as the motion does, wherever the guards are.
        super().__init__(replace(prepared, problem=replace(problem, events=(), guards=none)), sizes)
        self.record, self.transitions = record, prepared.transitions.fresh()
        self.rate = Evaluator(problem.rhs)
        counts = [event.count for event in problem.events]
        self.firsts = np.cumsum([0, *counts])
        self.places = {event.name: index for index, event in enumerate(problem.events)}
        self._legs = _smooth_pieces(record)
        self._until: float = self.time
        self._resets: list[Happening] = []

    def following(self, piece: float) -> float | None:
        """Return when a piece ends: at the next reset at the latest."""
        while self.time == self._until:
            leg = next(self._legs, None)
            if leg is None:
                return None
            start, self._until, self._resets = leg
            self.time, self.state = start.time, start.state
            self.values = self.record.modes[start.mode]
        return self.time + piece if self._until - self.time > (1 + 1e-9) * piece else self._until

    def _carried(self, ahead: float) -> tuple[np.ndarray, _Offset] | None:
        found = super()._carried(ahead)
        lost = self.state, self.offset.scaled(np.nan)
        if found is None or ahead != self._until:
            return found or lost
        try:
            return found[0], self._through(self._resets, found[1])
        except ResetError:
            return lost

    def _through(self, resets: Sequence[Happening], offset: _Offset) -> _Offset:
        """Return the offset after the resets of an instant."""
        if not resets or not np.all(np.isfinite(offset.x)):
            return offset
        first = resets[0]
        time, x, p = first.time, first.at.state, self.record.modes[first.at.mode]
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
            *_, jump = self.transitions.jumps(
                time, start.state, self.record.modes[start.mode], guards
            )
            x, p = jump.x, jump.p
            *_, jump = self.transitions.jumps(time + delay, shadow_x, shadow_p, guards)
            shadow_x, shadow_p = jump.x, jump.p
        shadow_x = shadow_x - self.rate(time, x, p)[0] * delay
        return _Offset(shadow_x - x, shadow_p - p)

    def _guards(self, event: Happening) -> list[int]:
        return [int(self.firsts[self.places[event.name]]) + place for place in event.fired]


def _smooth_pieces(record: RunRecord) -> Iterator[tuple[Boundary, float, list[Happening]]]:
    """Yield where each piece starts and when it ends, and what is reset there."""
    resets = [event for event in record.events if event.after is not None]
    place = sum(event.time == record.boundaries[0].time for event in resets)
    for start, following in pairwise(record.boundaries):
        first = place
        while place < len(resets) and resets[place].time == following.time:
            place += 1
        yield start, following.time, resets[first:place]


def _first_offset(prepared: Prepared) -> np.ndarray:
    """Return the shadow's first distance over the sizes: work integrals have none."""
    generator = np.random.default_rng(4)
    # Not the same for all states: where they shrink together, it would never begin to grow.
    offset = SEPARATION * generator.standard_normal(size=len(prepared.initial))
    offset[len(prepared.problem.labels.states) :] = 0.0
    return offset


def _with_feedback(prepared: Prepared) -> Prepared:
    """Return the same motion as an ordinary differential equation, drawn to the constraints.

    The shadow starts beside them, where the solver of a differential-algebraic equation cannot.
    """
    names, values = prepared.problem.values, prepared.values.copy()
    direction = 1.0 if prepared.until >= prepared.start_time else -1.0
    for row in prepared.dynamics.rows:
        values[ValueKind.RATE.place(row.name, names)] = direction * DEFAULT_RATE
    return replace(prepared, values=values, solver=Dop853())


def _first_sizes(prepared: Prepared) -> np.ndarray:
    """Return the sizes of states from how large each becomes in the first segment."""
    largest = np.abs(prepared.initial)

    def measure(block: StepBlock) -> None:
        np.maximum(largest, np.nanmax(np.abs(block.states), axis=0), out=largest)

    span = prepared.until - prepared.start_time
    prepared.integrated(
        State(prepared.start_time, prepared.initial, prepared.values),
        prepared.start_time + math.copysign(min(prepared.segment, abs(span)), span),
        np.empty(0),
        measure,
    )
    return sizes_of_states(largest, prepared.problem.labels.angles)


def _advance(prepared: Prepared, start: State, ahead: float) -> np.ndarray | None:
    end = prepared.integrated(start, ahead, np.empty(0), _ignore)
    return end.state if end.status is Status.REACHED else None


def _ignore(block: StepBlock) -> None:
    """Watch nothing."""
