"""An objective's derivatives carried back along a whole run, from its end to its start."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from daesolve.analysis.decided_jumps import Changes, DecidedJumps
from daesolve.analysis.gradients.backward_flow import BackwardFlow, Cotangent
from daesolve.analysis.gradients.objective import (
    Expression,
    expression_slopes,
)
from daesolve.analysis.gradients.transposed_jumps import Instant, TransposedJumps
from daesolve.analysis.run_events import RunEvents
from daesolve.analysis.run_legs import legs_of, samples_of
from daesolve.analysis.variational_flow import WholeState
from daesolve.core.events.guard_book import REMEMBERED
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.record import Boundary, Happening
from daesolve.core.solvers import Solver

Pull = Callable[[WholeState], tuple[float, np.ndarray, np.ndarray]]
"""A place -> the derivatives of a term there by t, x and p."""
Slopes = Callable[..., Sequence[np.ndarray]]
"""(t, x, p) -> the value of a term, and its derivatives by t, x and p."""
Pulls = Mapping[int, Pull]
"""By sample of the record."""


class Reversal:
    """Carries derivatives from the end of a run to its start.

    Parameters
    ----------
    events
        The run.
    active
        The indices of values by which derivatives are wanted.
    running
        What is integrated, if anything.
    solver
        The requested solver.
    ended
        How the run ended, and whether its samples move with its events.
    jumps
        What carries cotangents through instants.

    Attributes
    ----------
    instants
        For each leg, what happened in it and at its end.
    clocks
        For each event of the record, the instant that determines its time; -1 if that is fixed.
    """

    def __init__(
        self,
        events: RunEvents,
        active: Sequence[int],
        running: Expression | None,
        solver: Solver | None,
        ended: tuple[Outcome, bool],
        jumps: type[TransposedJumps] = TransposedJumps,
    ) -> None:
        self.outcome, self.samples_move = ended
        self.events, self.record = events, events.record
        self.flow = BackwardFlow(events, active, running, solver)
        self.density = None if running is None else expression_slopes(events.problem, running)
        self.clocks: list[int] = []
        self.together: list[float] = []
        switching, decided = events.prepared.transitions, None
        if switching is not None and any(law.decides for law in switching.laws):
            largest = events.largest_positions()
            decided = DecidedJumps(switching, events.problem, (), largest)
        self._decided = decided
        self.instants = self._instants()
        count = sum(len(leg) for leg in self.instants)
        self.jumps = jumps(events, active, decided, count)

    # -- what happened ----------------------------------------------------------------------------

    def _instants(self) -> list[list[Instant]]:
        """Return the instants of each leg, each with the instant that determines its time."""
        found: list[list[Instant]] = []
        jumped, number = math.nan, itertools.count()
        guards = self.events.problem.guards.nnz_out(0)
        met: np.ndarray = np.full((guards, REMEMBERED), np.nan)
        clocks: np.ndarray = np.full((guards, REMEMBERED), -1)
        for leg, happened in enumerate(legs_of(self.record, self.events.prepared)):
            known = None if leg else -1
            own: list[Instant] = []
            for _, group in itertools.groupby(
                happened, lambda e: id(e if e.after is None else e.after)
            ):
                together, index, guard = tuple(group), next(number), None
                first = together[0]
                clock = known
                if first.after is None and self.events.by_jump(first, jumped):
                    clock = self.clocks[-1]
                if clock is None:
                    clock, guard = index, self._guard(together)
                self.clocks += [clock] * len(together)
                place = self.events.place(first.at)
                decision = self.events.decision(together, place, guard)
                instant = Instant(together, clock, guard, decision, met, clocks)
                if decision is not None and self._decided is not None:
                    _, after = self._decided.answered(decision, met)
                    answered = np.any((after != met) & ~np.isnan(after), axis=1)
                    met, clocks = after, clocks.copy()
                    clocks[answered, :-1] = clocks[answered, 1:]
                    clocks[answered, -1] = clock
                if first.after is not None:
                    known, jumped = clock, first.time
                own.append(instant)
            found.append(own)
        return found

    def _guard(self, events: Sequence[Happening]) -> int:
        """Return the guard that determines the time of some events.

        Raises
        ------
        NoDerivativeError
            None of theirs has a slope where it passes zero.
        """
        place = self.events.place(events[0].at)
        still = Changes(np.zeros(1), np.zeros((len(place.x), 1)), np.zeros((len(place.p), 1)))
        passing = self.events.guards_at_zero(events, place, still)
        if not passing:
            raise self.events.no_slope(events[0])
        if len(passing) > 1:
            self.together.append(place.time)
        return next(iter(passing))

    @property
    def directions(self) -> int:
        """In how many directions the first decision of a law is differentiated; 0 without one."""
        instants = (instant for leg in self.instants for instant in leg)
        decided = next((one for one in instants if one.decision is not None), None)
        return 0 if decided is None else self.jumps.count_directions(decided)

    # -- going back -------------------------------------------------------------------------------

    def to_start(
        self, end: Slopes | None, pulls: Pulls, by_event: np.ndarray
    ) -> tuple[float, Cotangent]:
        """Carry everything back.

        Parameters
        ----------
        end
            The term of the end, and its derivatives.
        pulls
            The terms of samples.
        by_event
            The derivatives by the times of the events of the record.

        Returns
        -------
        tuple
            The value of the terms of the end and of what is integrated, and the cotangent of the
            start, before what happens there.
        """
        record, prepared = self.record, self.events.prepared
        for clock, share in zip(self.clocks, by_event.tolist(), strict=True):
            self._add_time(clock, share)
        before, begun, within = samples_of(record, prepared.sign)
        last = record.boundaries[-1]
        value, cotangent = self._at_end(end, last, pulls)
        moving = self._moving_samples()
        for leg in range(len(record.boundaries) - 1, 0, -1):
            samples = within[leg - 1]
            for k in samples:
                if k in moving and k in pulls:
                    self._add_time(moving[k], self._along(pulls[k], self._sampled(k)))
            cotangent, here = self._through(leg, record.boundaries[leg], cotangent)
            cotangent = self._leg(here, leg, samples, pulls, cotangent)
        cotangent = self._pulled(begun, pulls, cotangent)
        cotangent, _ = self._through(0, record.boundaries[0], cotangent)
        cotangent = self._pulled(before, pulls, cotangent)
        return value + self.flow.integral, cotangent

    def _at_end(self, end: Slopes | None, last: Boundary, pulls: Pulls) -> tuple[float, Cotangent]:
        """Return the value of the term of the end, and the cotangent there."""
        place, value = self.events.place(last), 0.0
        rate = self.events.rate(*place)[0]
        cotangent = Cotangent(np.zeros(len(place.x)), np.zeros(len(place.p)))
        clock = self.end_clock()
        if end is not None:
            found, by_time, by_state, by_values = end(*place)
            value, cotangent = float(found[0]), Cotangent(by_state, by_values)
            self._add_time(clock, float(by_time[0] + by_state @ rate))
        if self.density is not None:
            self._add_time(clock, float(self.density(*place)[0][0]))
        for k, pull in pulls.items():
            if self.record.sampled_at[k] is last and self.record.sample_times[k] == last.time:
                by_time, by_state, by_values = pull(place)
                cotangent = cotangent.plus(by_state, by_values)
                self._add_time(clock, by_time + float(by_state @ rate))
        return value, cotangent

    def end_clock(self) -> int:
        """Return the instant that determines the end of the run; -1 if that is fixed.

        Raises
        ------
        NoDerivativeError
            Friction brings the body to rest there.
        """
        if self.outcome is not Outcome.STOPPED_BY_EVENT:
            return -1
        return self._end.clock

    def end_guard(self) -> int | None:
        """Return the guard whose passing ends the run; None if the end is fixed or follows a jump.

        Raises
        ------
        NoDerivativeError
            Friction brings the body to rest there.
        """
        if self.outcome is not Outcome.STOPPED_BY_EVENT:
            return None
        return self._end.guard if self._end.events[0].after is None else None

    @property
    def _end(self) -> Instant:
        """The instant at which an event ends the run."""
        stops = {event.name for event in self.events.problem.events if event.then.stops}
        instants = (instant for leg in self.instants for instant in leg)
        ended = [one for one in instants if any(event.name in stops for event in one.events)]
        if not ended:
            raise self.events.ends_in_rest()
        return ended[-1]

    def _moving_samples(self) -> dict[int, int]:
        """Return the samples that were taken at events, and the instants they move with."""
        if not self.samples_move:
            return {}
        times = {e.time: c for e, c in zip(self.record.events, self.clocks, strict=True)}
        known = enumerate(self.record.sample_times)
        return {k: times[time] for k, time in known if times.get(time, -1) >= 0}

    def _along(self, pull: Pull, place: WholeState) -> float:
        by_time, by_state, _ = pull(place)
        return by_time + float(by_state @ self.events.rate(*place)[0])

    def _add_time(self, clock: int, share: float) -> None:
        if clock >= 0:
            self.jumps.by_time[clock] += share

    def _sampled(self, k: int) -> WholeState:
        return self.events.place(self.events.sample(k))

    def _pulled(self, samples: Sequence[int], pulls: Pulls, cotangent: Cotangent) -> Cotangent:
        """Add the terms of samples."""
        for k in samples:
            if k in pulls:
                cotangent = cotangent.plus(*pulls[k](self._sampled(k))[1:])
        return cotangent

    def _through(self, leg: int, end: Boundary, after: Cotangent) -> tuple[Cotangent, Boundary]:
        """Carry a cotangent back through the jumps at the end of a leg; return where they began."""
        for instant in self.instants[leg][::-1]:
            first = instant.events[0]
            if first.after is None:
                continue
            place, end = self.events.place(first.at), first.at
            if self.density is not None:
                beyond = self.events.place(first.after)
                lost = self.density(*place)[0][0] - self.density(*beyond)[0][0]
                self._add_time(instant.clock, float(lost))
            after = self.jumps.through(instant, place, after)
        return after, end

    def _leg(
        self,
        high: Boundary,
        leg: int,
        samples: Sequence[int],
        pulls: Pulls,
        cotangent: Cotangent,
    ) -> Cotangent:
        """Carry a cotangent back over a smooth part, with what acts on it there."""
        sign, low = self.events.prepared.sign, self.record.boundaries[leg - 1]
        stops: list[tuple[float, WholeState, Instant | int]] = [
            (self.record.sample_times[k], unwrapped(self.events, self.events.sample(k), low), k)
            for k in samples
            if k in pulls
        ]
        stops += [
            (instant.events[0].time, unwrapped(self.events, instant.events[0].at, low), instant)
            for instant in self.instants[leg]
            if instant.events[0].after is None
            and instant.guard is not None
            and self.jumps.by_time[instant.clock] != 0.0
        ]
        here = unwrapped(self.events, high, low)
        known = [k for k in samples if k not in pulls]
        known.sort(key=lambda k: sign * self.record.sample_times[k])
        for time, place, what in sorted(stops, key=lambda stop: -sign * stop[0]):
            cotangent = self.flow.back(place, here, cotangent, self._between(known, time, low))
            here = place
            if isinstance(what, Instant):
                cotangent = self.jumps.at_guard(what, place, cotangent)
            else:
                cotangent = self._pulled([what], pulls, cotangent)
        between = self._between(known, low.time, low)
        return self.flow.back(self.events.place(low), here, cotangent, between)

    def _between(self, known: list[int], time: float, low: Boundary) -> list[WholeState]:
        """Take the known samples after a time from the end of a list; return their places."""
        sign, times = self.events.prepared.sign, self.record.sample_times
        found: list[WholeState] = []
        while known and sign * (times[known[-1]] - time) > 0.0:
            found.append(unwrapped(self.events, self.events.sample(known.pop()), low))
        return found[::-1]

    def notes(self) -> list[str]:
        """Return notes on the adjoint integration, and on derivatives that may be one-sided."""
        found = [
            f"{self.flow.method}; the motion came back to the run to {self.flow.apart:.2g} of its "
            "largest state"
        ]
        if self.together:
            later = f" and {len(self.together) - 1} times later" if len(self.together) > 1 else ""
            found.append(
                f"several guards pass together at t = {self.together[0]:.10g} s{later}: the "
                "gradient uses the first of them; sensitivity tells whether they part"
            )
        return found


def unwrapped(events: RunEvents, place: Boundary, low: Boundary) -> WholeState:
    """Return a place with angles that continue those at the start of its leg."""
    whole, angles = events.place(place), list(events.prepared.wrapped)
    if not angles:
        return whole
    x = whole.x.copy()
    x[angles] += 2.0 * math.pi * (place.whole_turns - low.whole_turns)
    return whole._replace(x=x)
