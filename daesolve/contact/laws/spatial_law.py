"""Which contacts in space open, close, stick and slide: decided at an instant for all together.

A slip in space has no sign: it comes to zero in a finite time, and ends where it is smaller than
what counts as zero. An impulse removes the rest at once. A slip that begins gets its direction from
the decision, and keeps it, with the rate of the motion, until it has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from daesolve.contact.decisions import ContactSolution, ContactState, decide
from daesolve.contact.laws.contact_functions import are_still, at_rest
from daesolve.contact.laws.frictional_impacts import STILL
from daesolve.contact.laws.frictional_instant import (
    Arrival,
    ContactOutcome,
    DecisionState,
    Rates,
    TouchingContacts,
    speeds_of,
)
from daesolve.contact.laws.frictional_law import FrictionalContactLaw
from daesolve.contact.laws.frictional_modes import answer_of, are_chosen, chosen_among, states_of
from daesolve.contact.laws.redundant_contacts import PARALLEL
from daesolve.contact.laws.shared_friction import Sharing, are_split, independent, remaining
from daesolve.contact.laws.shared_loads import check_letting_go, said_of, share_loads
from daesolve.contact.laws.spatial_modes import (
    NEAR,
    SPRINGS,
    candidates,
    step_until,
    values_for_transitions,
)
from daesolve.contact.posing.contact_rows import SpatialContactFriction, contacts_in
from daesolve.contact.posing.names import SET_OUT
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.law import Jump, Setting
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.errors import JamEvent

HALTS = 5
"""How often slips are sought that end together with others."""
IN_SPACE = (
    "reactions grow without bounds while they still slide, and no finite forces let rigid "
    "bodies continue from there"
)
SPARE = 1e-12
"""Friction can be shared in another way if more than this fraction of its limit is left."""


class SpatialContactLaw(FrictionalContactLaw):
    """Lets contacts in space open, close, stick and slide.

    Parameters
    ----------
    setting
        The problem.
    """

    spatial = True

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        first = setting.table.firsts

        def guards(event: str, count: int) -> np.ndarray:
            own = [first[getattr(r, event)] if r is not None else -9 for r in self._rubbing]
            return np.array(own)[:, None] + np.arange(count)

        self._rubbing = [
            row.rubbing if isinstance(row.rubbing, SpatialContactFriction) else None
            for row in contacts_in(setting.dynamics)
        ]
        self._halting = guards("begins_to_stick", 2)
        self._giving = guards("begins_to_slip", 1)
        self._leaving = guards("sets_out", 1)
        own = (self._halting, self._giving, self._leaving)
        rubs = [rubbing for rubbing in self._rubbing if rubbing is not None]
        self._quiet = frozenset(event for r in rubs for event in (r.sets_out, r.shares))
        self._own = {int(guard) for guards in own for guard in guards.ravel()}
        # Dependent constraints are kept only if their loads must be shared.
        self._springs = setting.choices.springs
        self._recover = Evaluator(setting.problem.recover)

    def _continue(self, arrival: Arrival, book: GuardBook) -> Iterator[Jump]:
        """Yield how contacts in space continue."""
        place, p, before, met = arrival.place, arrival.place.p, arrival.before, arrival.met
        time, fired, held, zero = place.time, arrival.fired, arrival.held, arrival.zero
        if self._jam is not None and self._jam.here in fired:
            raise JamEvent(f"at t = {time:.10g} s contacts jam: {IN_SPACE}")
        parts = held & self._let_go.parts(arrival.rates.gaps)
        kicked = held & self._stuck(p) & self._let_go.slides(speeds_of(arrival.rates.slips))
        stuck = held & self._stuck(p) & ~kicked
        stopped = self._stopped(place, arrival.fires(self._halting))
        gives = arrival.fires_any(self._giving)
        place, rates = self._stop_slips(place, (held, held & ~parts), stuck, stopped, gives)
        place, rates, impacts, hit, settled = self._collisions.resolve(
            place, held | met, zero, rates
        )
        closed = (held | met) & (rates.gaps == 0.0)
        gone = arrival.fires_any(self._leaving)
        blown = bool(impacts) or bool(hit.any()) or bool(np.any(kicked | (before & ~closed)))
        slow = speeds_of(rates.slips) <= self._least(place)
        # Where others turn quickly, a slip may turn back on the direction in which it began.
        gone |= arrival.fires(self._halting[:, 1]) & ~slow
        if not blown:
            slow &= self._values(p, "heads") == 0.0
        rates = self._with_implied_rest(place, closed, rates.with_zeros(rates.gaps == 0.0, slow))
        # A gap that closes without speed, as for the next roller of a wheel, is new as well.
        new = bool(stopped.any()) or bool(np.any(closed & ~before))
        # What others have changed may load or part what touched without a load.
        new |= bool(np.any(p[self._numbers.slacks] > 0.0))
        alone = not (blown or new) and {*fired} <= self._own
        where = replace(place, p=self._with_own_directions(place.p, gone, blown, rates))
        p_after = self._next_spatial_mode(where, closed, rates, (gives, alone), book, zero)
        now = self._numbers.closed(p_after) | self._numbers.following(p_after)
        if not are_split(self._numbers) and are_chosen(self._numbers, p_after, now):
            book.carried.said.setdefault(chosen_among(self._numbers, closed), time)
        turned = stopped & (rates.static_friction > 0.0), arrival.fires_any(self._halting)
        events = self._events_between(
            before, now, hit, partial(self._spatial_events, p, p_after, turned)
        )
        rests = partial(self._rests, zero=zero)
        # What others keep closed from now on needs no event, but another mode.
        alike = bool(np.array_equal(p[self._numbers.follows], p_after[self._numbers.follows]))
        outcome = ContactOutcome(place, p_after, now, events, impacts, hit, settled, rests, alike)
        begun = (self._values(p_after, "heads") == 1.0) & (self._values(p_after, "begun") == time)
        for jump in self._conclude(arrival, outcome, book):
            book.armed[self._halting[begun, 1]] = False
            yield jump

    def _closed_contacts(
        self, place: DecisionState, p: np.ndarray, touching: np.ndarray, rates: Rates
    ) -> np.ndarray:
        return self._numbers.closed(p) | self._numbers.following(p)

    def _rests(self, place: DecisionState, zero: np.ndarray) -> bool:
        """Return whether nothing moves on closed contacts that stick, and nothing begins to."""
        p, closed = place.p, self._numbers.closed(place.p)
        rates = self._numbers.rates(place)
        # What has no friction cannot stick.
        rough = self._numbers.rubs & (rates.static_friction > 0.0)
        if not closed.any() or not np.all(self._stuck(p)[closed & rough]):
            return False
        instant = self._numbers.instant(place, closed, rates)
        first, count = self.dynamics.position_count, len(place.x)
        left = np.array(self._functions.rate(place.time, place.whole, p)[0]).ravel()[first:count]
        return are_still(instant, place.x[first:], left, 1e12 * float(np.max(zero)))

    def _values(self, p: np.ndarray, what: str) -> np.ndarray:
        """Return a value of each contact, (n,) or (n, 2); zeros for a smooth one."""
        none: Any = next(getattr(r, what) for r in self._rubbing if r is not None)
        zeros = np.zeros_like(p[none if isinstance(none, int) else list(none)])
        found = [zeros if r is None else p[_places(r, what)] for r in self._rubbing]
        return np.array(found)

    def _stuck(self, p: np.ndarray) -> np.ndarray:
        """Return which contacts stick where they are closed, (n,)."""
        return (self._values(p, "slides") == 0.0) & self._numbers.rubs

    def _stopped(self, place: DecisionState, fired: np.ndarray) -> np.ndarray:
        """Return which slips end, of those whose size or direction fires, (n, 2)."""
        rates = self._numbers.rates(place)
        least = np.maximum(self._least(place), STILL * speeds_of(rates.slip_sizes))
        return fired[:, 0] | (fired[:, 1] & (speeds_of(rates.slips) <= least))

    def _least(self, place: DecisionState) -> np.ndarray:
        """Return the slips that count as none, (n,)."""
        return self._values(place.p, "still") * np.sqrt(1.0 + place.time**2)

    def _stop_slips(
        self,
        place: DecisionState,
        held: tuple[np.ndarray, np.ndarray],
        stuck: np.ndarray,
        stopped: np.ndarray,
        gives: np.ndarray,
    ) -> tuple[DecisionState, Rates]:
        """Remove at once the rest of slips that end, and of those that end with them.

        Also what a solver's errors have left of those that were held and are about to begin, as it
        may point against the way in which they begin. `held` says which contacts were closed, and
        whose gaps are still at rest.
        """
        numbers, (before, still) = self._numbers, held
        rates = numbers.rates(place)
        least = self._least(place)
        begins = gives & stuck & (speeds_of(rates.slips) > least)
        for _ in range(HALTS if (stopped | begins).any() else 0):
            instant = numbers.instant(place, before, rates)
            ends = (stuck | stopped)[instant.which]
            own = np.flatnonzero(np.concatenate([still[instant.which], ends.repeat(2)]))
            speeds = self._speeds(rates, instant)[own]
            matrix = instant.contacts.matrix[np.ix_(own, own)]
            pushes = shortest_solution(matrix, -speeds, rcond=PARALLEL)
            place = place.pushed(instant.thrown[:, own], pushes)
            rates = numbers.rates(place)
            slow = before & numbers.rubs & (speeds_of(rates.slips) <= least)
            if not np.any(slow & ~(stopped | stuck)):
                break
            stopped = stopped | slow
        # What a constraint holds at zero is zero up to rounding, however slow the motion is.
        return place, rates.with_zeros(still, before & (stuck | stopped))

    def _with_implied_rest(self, place: DecisionState, closed: np.ndarray, rates: Rates) -> Rates:
        """Set slips to zero that follow from others which are zero, like that of a fourth foot."""
        still = closed & self._numbers.rubs & rates.resting
        moving = closed & self._numbers.rubs & ~rates.resting
        if not (still.any() and moving.any()):
            return rates
        instant = self._numbers.instant(place, closed, rates)
        matrix, count = instant.contacts.matrix, instant.contacts.count
        rows = np.arange(count, len(matrix)).reshape(count, -1)
        known = [*range(count), *rows[still[instant.which]].ravel().tolist()]
        kept = independent(matrix, [], known)
        for k in np.flatnonzero(moving[instant.which]):
            own = rows[k].tolist()
            left = np.diag(remaining(matrix, kept, own))
            if np.all(left <= PARALLEL * np.diag(matrix)[own]):
                still[instant.which[k]] = True
        return rates.with_zeros(np.zeros_like(still), still)

    @staticmethod
    def _speeds(rates: Rates, instant: TouchingContacts) -> np.ndarray:
        """Return the rates of gaps and slips of what touches, in the order of its rows."""
        which = instant.which
        return np.concatenate([rates.gaps[which], rates.slips[which].ravel()])

    def _with_own_directions(
        self, p: np.ndarray, gone: np.ndarray, blown: bool, rates: Rates
    ) -> np.ndarray:
        """Return values in which what has a direction of its own slides in that."""
        p = p.copy()
        for k, rubbing in enumerate(self._rubbing):
            if rubbing is not None and (gone[k] or blown or rates.resting[k]):
                own = [rubbing.heads, *rubbing.heading, *rubbing.turning, rubbing.begun]
                p[own] = 0.0
        return p

    def _next_spatial_mode(
        self,
        place: DecisionState,
        closed: np.ndarray,
        rates: Rates,
        given_up: tuple[np.ndarray, bool],
        book: GuardBook,
        zero: np.ndarray,
    ) -> np.ndarray:
        """Return p of the mode in which the motion continues."""
        numbers, p, (gives, alone) = self._numbers, place.p, given_up
        if not closed.any():
            none = np.zeros_like(closed)
            return self._functions.referred(place, numbers.mode(p, none))
        heads = self._values(p, "heads") == 1.0
        since = place.time - self._values(p, "begun")[:, None]
        given = self._values(p, "heading") + self._values(p, "turning") * since
        slips = np.where(heads[:, None], given, rates.slips)
        rates = replace(rates, slips=slips)
        instant = numbers.instant(place, closed, rates)
        slips = slips[instant.which]
        sharing = self._sharing(place, instant, p) if gives.any() else None
        best = None if sharing is None else sharing.best()
        if alone and sharing is not None and best is not None:
            # Nearer to its limit the guard of a contact counts as zero, and would fire again.
            zeros = book.tolerances[self._giving[instant.which[[*sharing.stuck]], 0]]
            if best.spare > max(SPARE, sharing.resolved(zeros)):
                sharing.check_joints(springs=self._springs)
                return sharing.values()
        if alone:
            # At the limit the previous states still agree: with what begins to slide beside them.
            answer = self._previous_solution(place, instant, slips)
        else:
            answer = self._decide_all(place, instant, slips)
        if sharing is not None and best is not None:
            tractions = answer.tangential.copy()
            tractions[[*sharing.stuck]] = best.tractions
            answer = replace(answer, tangential=tractions)
        if gives.any():
            # What has come to the end of its static friction has only the other left.
            limits = instant.contacts.static * answer.normal
            ends = speeds_of(answer.tangential) >= (1.0 - NEAR) * limits
            weak = np.where(ends, instant.contacts.friction, instant.contacts.static)
            if np.any(weak < instant.contacts.static):
                contacts = replace(instant.contacts, static_friction=weak)
                instant = replace(instant, contacts=contacts)
                answer = self._decide_all(place, instant, slips)
        terms = speeds_of(rates.slip_sizes[instant.which])
        possible = candidates(instant, answer, slips)
        if alone and not gives.any():
            # Only a direction was recorded.
            possible = possible[:1]
        springs = self._springs or self._stays(place, instant, answer, zero)
        springs = springs or self._shares(place, instant, answer, (slips, gives.any()), book)
        modes = [
            self._with_best_share(place, instant, self._functions.referred(place, values))
            for courses in possible
            for values in [
                values_for_transitions(
                    numbers, instant, p, courses, answer, slips, terms, springs=springs
                )
            ]
        ]
        modes, slack = self._unloaded.likely_modes(place, instant, modes, book, answer)
        chosen = modes[0]
        if len(modes) > 1:
            chosen = self._agreeing_mode(place, modes, book, instant, zero)
        return self._with_turning_slips(place, self._unloaded.with_slack(chosen, slack))

    def _shares(
        self,
        place: DecisionState,
        instant: TouchingContacts,
        answer: ContactSolution,
        letting_go: tuple[np.ndarray, np.bool],
        book: GuardBook,
    ) -> bool:
        """Return whether contacts share a load that does not matter to the motion.

        `letting_go` has the slips, and whether some that stick do not any more.
        """
        if not answer.motion_determined or not share_loads(instant):
            return False
        slips, ends = letting_go
        if ends:
            check_letting_go(instant, slips)
        if not self._numbers.closed(place.p)[instant.which].all():
            book.carried.said.setdefault(said_of(instant), place.time)
        return True

    def _stays(
        self,
        place: DecisionState,
        instant: TouchingContacts,
        answer: ContactSolution,
        zero: np.ndarray,
    ) -> bool:
        """Return whether everything rests from here on, whatever the loads are."""
        if self._functions.timed:
            return False
        velocities = place.x[self.dynamics.position_count :]
        return at_rest(instant, answer, velocities, 1e12 * float(np.max(zero)))

    def _decide_all(
        self, place: DecisionState, instant: TouchingContacts, slips: np.ndarray
    ) -> ContactSolution:
        """Return what contacts do next, as decided for all of them together."""
        closure = SPRINGS if self._springs else None
        found = decide(instant.contacts, instant.free, slips, closure=closure)
        self._collisions.doubtful |= not found.complete
        so_far = states_of(self._numbers, place.p, instant.which)
        return answer_of(found, so_far, self._choices, place.time)

    def _previous_solution(
        self, place: DecisionState, instant: TouchingContacts, slips: np.ndarray
    ) -> ContactSolution:
        """Return the reactions with which what touches continues as before."""
        p, contacts = place.p, instant.contacts
        reactions = np.array(self._recover(place.time, place.whole, p)[1])
        slides = self._values(p, "slides")[instant.which] == 1.0
        normal, tangential = np.zeros(contacts.count), np.zeros((contacts.count, 2))
        for k, contact in enumerate(instant.which):
            along, across = self._numbers.reactions[int(contact)]
            normal[k] = reactions[along]
            if slides[k] and slips[k].any():
                unit = slips[k] / np.linalg.norm(slips[k])
                tangential[k] = -contacts.friction[k] * normal[k] * unit
            elif across:
                tangential[k] = reactions[[*across]]
        rates = contacts.matrix @ np.concatenate([normal, tangential.ravel()]) + instant.free
        return ContactSolution(
            states=tuple(ContactState.SLIDES if one else ContactState.STICKS for one in slides),
            normal=normal,
            tangential=tangential,
            gap_rates=rates[: contacts.count],
            slip_rates=rates[contacts.count :].reshape(-1, 2),
            residual=0.0,
            names=contacts.names,
        )

    def _sharing(
        self, place: DecisionState, instant: TouchingContacts, p: np.ndarray
    ) -> Sharing | None:
        """Return what contacts share in the mode of p; None if all friction is determined."""

        def reactions(later: float) -> np.ndarray:
            then = self._functions.later(place, p, later) if later else place
            return np.array(self._recover(then.time, then.whole, p)[1])

        return Sharing.of(self._numbers, instant, p, reactions)

    def _with_best_share(
        self, place: DecisionState, instant: TouchingContacts, p: np.ndarray
    ) -> np.ndarray:
        """Return values of a mode with a share of friction that is not determined.

        That of equal springs, on request, if it holds; or the one that uses least of the cones.
        """
        sharing = self._sharing(place, instant, p)
        if sharing is None:
            return p
        if self._springs:
            whole = sharing.holding_all()
            reactions = np.array(self._recover(place.time, place.whole, whole)[1])
            if sharing.spare(reactions) > NEAR:
                return whole
        sharing.check_joints(springs=self._springs)
        return sharing.values()

    def _moment(self, place: DecisionState, instant: TouchingContacts, zero: np.ndarray) -> float:
        """Return a time in which bodies move by their own size, and slow slips do not turn, s."""
        speeds = speeds_of(self._numbers.rates(place).slips)[instant.which]
        # Friction turns and stops them as quickly as the loads are large, whatever else acts.
        pull = float(np.max(instant.size))
        moving = (speeds > self._least(place)[instant.which]) & (pull > 0.0)
        turns = float(np.min(speeds[moving], initial=np.inf)) / (pull or 1.0)
        return min(super()._moment(place, instant, zero), turns)

    def _with_turning_slips(self, place: DecisionState, p: np.ndarray) -> np.ndarray:
        """Return values in which slips that begin slowly turn as the motion turns them.

        Slip and direction are to agree a little later, where the slip is about to have a direction
        of its own. What begins with an acceleration is there before it can turn.
        """
        new = [
            r
            for r in self._rubbing
            if r is not None and p[r.heads] == 1.0 and p[r.begun] == place.time
        ]
        own = [k for k, r in enumerate(self._rubbing) if r in new]
        if not new:
            return p
        headings = np.array([p[[*r.heading]] for r in new])
        across = headings @ np.array([[0.0, 1.0], [-1.0, 0.0]])

        def after(turns: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
            values = p.copy()
            for rubbing, turn, way in zip(new, turns, across, strict=True):
                values[[*rubbing.turning]] = turn * way
            later = self._functions.later(place, values, step)
            return self._numbers.rates(later).slips[own], values

        none, far = np.zeros(len(new)), SET_OUT * np.array([p[r.still] for r in new])
        step = step_until(lambda step: float(np.max(speeds_of(after(none, step)[0]) / far)))
        if step is None:
            return p

        def missed(turns: np.ndarray) -> np.ndarray:
            slips = after(turns, step)[0]
            ahead = np.sum(slips * headings, axis=1)
            return np.sum(slips * across, axis=1) - ahead * turns * step

        first = missed(none)
        slopes = np.column_stack([missed(unit) - first for unit in np.eye(len(new))])
        return after(np.linalg.lstsq(slopes, -first, rcond=None)[0], step)[1]

    def _spatial_events(
        self,
        before: np.ndarray,
        after: np.ndarray,
        turned: tuple[np.ndarray, np.ndarray],
        contact: int,
    ) -> list[int]:
        """Return the events of a slip; `turned` says which ended, and which have turned."""
        rubbing, (stopped, turns) = self._rubbing[contact], turned
        assert rubbing is not None
        events = self._slip_events(before, after, contact)
        if not events and stopped[contact] and after[rubbing.slides]:
            events = [*rubbing.reversal]
        elif not events and (turns[contact] or before[rubbing.heads] != after[rubbing.heads]):
            events = [rubbing.sets_out]
        shares = [*rubbing.split, *rubbing.shift, *rubbing.along]
        return [*events, rubbing.shares] if np.any(before[shares] != after[shares]) else events


def _places(rubbing: SpatialContactFriction, what: str) -> Any:
    places = getattr(rubbing, what)
    return places if isinstance(places, int) else list(places)
