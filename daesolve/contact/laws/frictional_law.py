"""Which contacts open, stick and slide: decided at an instant for all of them together.

At every event the contacts whose gaps are zero are looked at. Where one closes there is an impact
of all of them; then, of those whose gaps do not open, `contact.decide` says what they do next. At
an event the mode before and the mode after it both agree with the state to rounding: of such modes,
the motion is taken a small step on in each, and the one that still agrees is the one that follows.

Bounces become ever lower. One that is lower than what counts as a gap of zero is none: from there
on the contact stays, and an event marks the instant at which all bounces would have ended.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from daesolve.contact.decisions.decisions import NOT_ALONE
from daesolve.contact.laws.brake_decisions import decide_with_brakes
from daesolve.contact.laws.contact_functions import (
    at_rest,
    fall_speed,
    functions_of,
    gaps_at_zero,
    length_of,
)
from daesolve.contact.laws.frictional_impacts import STILL, CollisionResolver, without_rounding
from daesolve.contact.laws.frictional_instant import (
    Arrival,
    ContactOutcome,
    DecisionState,
    Rates,
    TouchingContacts,
)
from daesolve.contact.laws.frictional_modes import (
    answer_of,
    are_chosen,
    bearing_modes,
    chosen_among,
    closed_contacts,
    states_of,
    without_left_slips,
)
from daesolve.contact.laws.frictional_start import begin_with_friction
from daesolve.contact.laws.impacts_end import ImpactsEnd
from daesolve.contact.laws.jams import JamGuards, approach, at_limit, sliding_of
from daesolve.contact.laws.unloaded import UnloadedContacts
from daesolve.contact.posing.contact_rows import brakes_in, contacts_in, in_space, rub
from daesolve.contact.posing.jamming import NEAR
from daesolve.core.equations.additions import TOUCHING
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import Role
from daesolve.core.events.jumps import LEFT_OVER, joined
from daesolve.core.events.law import Beginning, Ending, Jump, Setting, Stretch, SwitchingLaw
from daesolve.core.events.let_go import LettingGo
from daesolve.core.posing.value_names import PENDING
from daesolve.errors import NoMotion, ResetError

SMALL_STEPS = 1e-4, 1e-3, 1e-5, 1e-2
"""Parts of a time in which something changes (`_agreeing_mode`), after which a mode is tested."""
EARLIEST, LATE = 1e3, 8.0
"""Friction is at its limit if its reserve is below this many times what counts as zero of it, or
below what it loses in so many roundings of the time."""
PARTING = 1e-6
"""s, a time in which the speed of a gap grows by more than rounding."""
BEGUN = 16.0 * float(np.finfo(float).eps)
"""The fraction of the speed of a fall through the size of bodies up to which a slip is rounding."""


class FrictionalContactLaw(SwitchingLaw):
    """Lets contacts open, close, stick and slide, where one of them rubs.

    Parameters
    ----------
    setting
        The problem.
    """

    decides = True
    spatial: ClassVar[bool] = False
    """Whether slips have two directions."""
    _quiet: frozenset[int] = frozenset()
    """Events that show nothing of the motion."""

    def __init__(self, setting: Setting) -> None:
        rows, first = contacts_in(setting.dynamics), setting.table.firsts
        rubbing = [*(row.rubbing for row in rows), *brakes_in(setting.dynamics)]
        own = [(row.lost, row.closed, *(row.rubbing.events if row.rubbing else ())) for row in rows]
        own += [brake.events for brake in brakes_in(setting.dynamics)]
        super().__init__([event for events in own for event in events])
        self.problem, self.dynamics = setting.problem, setting.dynamics
        self._lost = first[np.array([row.lost for row in rows], dtype=int)]
        self._closing = first[np.array([row.closed for row in rows], dtype=int)]
        self._stopping = np.array([first[one.begins_to_stick] if one else -1 for one in rubbing])
        self._slipping = np.array(
            [first[one.begins_to_slip] + np.arange(2) if one else (-1, -1) for one in rubbing]
        )
        slips = [one.begins_to_slip for one in rubbing if one is not None]
        self._letting_go = setting.table.guards_of(slips)
        self._met = {row.closed for row in rows}
        self._all = setting.table.guards_of(self.events)
        self._choices = setting.choices
        self._jam = JamGuards.of(setting)
        if self._jam is not None:
            self.events = (*self.events, self._jam.event)
        self._ending: ImpactsEnd | None = None
        if PENDING in setting.dynamics.values:
            self._ending = ImpactsEnd.of(setting)
            self.events = (*self.events, self._ending.event, self._ending.rest)
        self._functions = functions_of(setting)
        self._numbers = self._functions.numbers
        springs = setting.choices.springs
        self._collisions = CollisionResolver(self._numbers, setting.choices, springs=springs)
        self._let_go = LettingGo(setting)
        own = self._lost, self._closing
        self._unloaded = UnloadedContacts(self._numbers, self._functions.rate, *own)
        brakes = [setting.dynamics.rows[brake.row].name for brake in self._numbers.brakes]
        self._kicks = LEFT_OVER * np.array([setting.scales.get(name, 1.0) for name in brakes])

    @classmethod
    def begin(cls, dynamics: Dynamics, beginning: Beginning) -> Beginning:
        """Choose which closed contacts slide and stick at the start.

        Raises
        ------
        DaesolveError
            They have no motion from there, or several.
        """
        own = in_space(contacts_in(dynamics)) is cls.spatial
        return begin_with_friction(dynamics, beginning) if own else beginning

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> Self | None:
        """Return the law of all contacts of a system in which one rubs, or impacts are others."""
        rows = contacts_in(setting.dynamics)
        others = bool(rows) and setting.choices.says_of_impacts
        rubs = rub(setting.dynamics) or others
        return cls(setting) if rubs and in_space(rows) is cls.spatial else None

    def role(self, event: int) -> Role:
        """Return that of a reaction that ends, a gap that closes, or a slip that ends or begins."""
        if self._jam is not None and event == self._jam.event:
            # Where a slip ends its direction is unknown, and so is the ratio, which is not a zero.
            return Role(sharp=True)
        if self._ending is not None and event in (self._ending.event, self._ending.rest):
            return Role()
        met = event in self._met
        return Role(returns=not met, stays=True, bars_start=met)

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        """Open and close contacts, let them stick and slide, with the impacts that this takes."""
        book.passed[self._all] = time
        gaps = book.measure(time, x, p)[0][self._closing]
        at_zero, zeros = gaps_at_zero(book, self._closing, gaps, fired)
        met, zero = self._of_all(at_zero, False), self._of_all(zeros, TOUCHING)
        closing = self._of_all(np.isin(self._closing, list(fired)), False)
        met |= self._numbers.following(p)
        count = self.dynamics.x.numel()
        place = DecisionState(time, x[:count], x[count:], p)
        rates = self._numbers.rates(place)
        before = self._closed_contacts(place, p, met, rates)
        met &= ~self._parting(place, rates, met & ~before & ~closing)
        held = before & ~self._of_all(self._let_go.apart(time, place.x, p), False)
        yield from self._continue(Arrival(place, rates, before, held, met, zero, fired), book)

    def _continue(self, arrival: Arrival, book: GuardBook) -> Iterator[Jump]:
        """Yield how contacts in the plane continue."""
        place, p, before, met = arrival.place, arrival.place.p, arrival.before, arrival.met
        rates = self._with_held_rates(p, arrival.held, arrival.fires(self._stopping), arrival.rates)
        collided = self._collisions.resolve(place, arrival.held | met, arrival.zero, rates)
        place, rates, impacts, hit, settled = collided
        closed = (arrival.held | met) & (rates.gaps == 0.0)
        # What has come to the end of its static friction has only the other left.
        begins = arrival.fires_any(self._slipping)
        begins |= self._numbers.held_by(p, begins)
        weak = np.where(begins, rates.friction, rates.static_friction)
        rates = replace(rates, static_friction=weak)
        jam = self._jam is not None and self._jam.here in arrival.fired
        if jam:
            place, rates, impact = self._collisions.end_slips(place, closed, rates)
            impacts.append(impact)
            closed &= rates.gaps == 0.0
        # What falls to zero is at its limit, however well that is known.
        ended = np.concatenate([self._of_all(arrival.fires(self._lost), False), begins])
        try:
            p_after, rests = self._next_mode(place, closed, rates, book, ended)
        except NoMotion as error:
            freed, rates, impact = self._collisions.end_slips(place, closed, rates, error)
            if not impacts:
                # Until the impulse acts there are no reactions that agree: none are shown.
                none = self._numbers.mode(p, np.zeros_like(closed))
                before_it = self._functions.referred(place, none)
                yield Jump({}, arrival.place.whole, before_it, None)
            place = freed
            impacts.append(impact)
            closed &= rates.gaps == 0.0
            jam, ended = True, np.zeros_like(ended)
            p_after, rests = self._next_mode(place, closed, rates, book, ended)
        place = without_left_slips(self._numbers, place, rates, p_after)
        now = self._closed_contacts(place, p_after, closed, rates)
        p_after = self._numbers.with_following(p_after, now)
        slips = partial(self._slip_events, p, p_after)
        events = self._events_between(before, now, hit, slips)
        for brake in self._numbers.brakes:
            if brake.begins_to_stick in events:
                p_after[brake.ended] = place.time
        self._note_choice(place.time, (p, before), (p_after, now), book)
        if jam:
            assert self._jam is not None
            events.insert(0, self._jam.event)
        alike = self._numbers.are_alike(p, p_after)
        outcome = ContactOutcome(
            place, p_after, now, events, impacts, hit, settled, lambda _: rests, alike
        )
        yield from self._conclude(arrival, outcome, book)

    def _conclude(
        self, arrival: Arrival, outcome: ContactOutcome, book: GuardBook
    ) -> Iterator[Jump]:
        """Yield the jump of an outcome, if anything changes."""
        time, p, events = arrival.place.time, outcome.p, outcome.events
        if self._collisions.doubtful:
            book.carried.said.setdefault(NOT_ALONE, time)
        place = self._collisions.separate(outcome.place, arrival.before & ~outcome.now)
        book.meet(self._closing[outcome.hit[: self._numbers.count]].tolist(), time)
        if (ends := self._ending) is not None:
            met = book.met[self._closing[outcome.settled[: self._numbers.count]]]
            p, further = ends.answered(time, p, ends.guard in arrival.fired, met)
            events = [*events, *further]
            shown = any(event not in self._quiet for event in events)
            if shown and p[ends.pending] == 0.0 and outcome.rests(replace(place, p=p)):
                events.append(ends.rest)
        if not events and not outcome.impacts and outcome.repeats:
            return
        book.armed[self._closing[p[self._numbers.holds] == 0.0]] = False
        yield Jump(dict.fromkeys(events, (0,)), place.whole, p, joined(outcome.impacts))

    def _with_held_rates(
        self, p: np.ndarray, closed: np.ndarray, stopped: np.ndarray, rates: Rates
    ) -> Rates:
        """Return rates of which those that constraints hold are zero, and slips that end.

        What a constraint holds at zero is zero up to rounding, however slow everything is.
        """
        count = self._numbers.count
        speeds = np.abs(rates.slips)
        slides = np.append(self._let_go.slides(speeds[:count]), speeds[count:] > self._kicks)
        parts = self._of_all(self._let_go.parts(rates.gaps[:count]), False)
        stuck = closed & self._numbers.stuck(p) & ~slides
        return without_rounding(rates, rates, closed & ~parts, stopped | stuck)

    def _of_all(self, values: np.ndarray, others: float) -> np.ndarray:
        """Return values of contacts, followed by those of brakes, which are all the same."""
        brakes = np.full(len(self._numbers.brakes), others, dtype=values.dtype)
        return np.concatenate([values, brakes])

    # -- the mode that follows ----------------------------------------------------------------

    def _next_mode(
        self,
        place: DecisionState,
        closed: np.ndarray,
        rates: Rates,
        book: GuardBook,
        ended: np.ndarray,
    ) -> tuple[np.ndarray, bool]:
        """Return p of the mode in which the motion continues, and whether everything rests in it.

        `ended` says which reactions, along gaps and slips, have just come to their limits.
        """
        numbers = self._numbers
        if not closed.any():
            none = np.zeros_like(closed)
            return self._functions.referred(place, numbers.mode(place.p, none)), False
        instant = numbers.instant(place, closed, rates)
        zero = book.tolerances[self._closing]
        slips = rates.slips[instant.which]
        # If the motion has only just begun, slips are mere rounding.
        slips = np.where(np.abs(slips) <= BEGUN * fall_speed(instant, zero), 0.0, slips)
        instant, found = decide_with_brakes(numbers, place, instant, slips)
        self._collisions.doubtful |= not found.complete
        so_far = states_of(numbers, place.p, instant.which)
        ended = ended.reshape(2, -1)[:, instant.which]
        lost = ended[0] & self._near_jam(place, book)
        answer = answer_of(found, so_far, self._choices, place.time, lost)
        rests = at_rest(instant, answer, place.x[self.dynamics.position_count :], length_of(zero))
        modes = [
            self._functions.referred(place, p)
            for p in bearing_modes(
                numbers,
                (instant, slips, ended.ravel()),
                place.p,
                answer,
                rest=rests and not self._functions.timed,
            )
        ]
        likely, slack = self._unloaded.likely_modes(place, instant, modes, book, answer)
        mode = likely[0]
        if len(likely) > 1:
            mode = self._agreeing_mode(place, likely, book, instant, zero)
        return self._unloaded.with_slack(mode, slack), rests and mode is modes[0]

    def _parting(self, place: DecisionState, rates: Rates, near: np.ndarray) -> np.ndarray:
        """Return which contacts are open, of those near zero: slow, but ever faster."""
        parting = near & (rates.gaps > STILL * rates.gap_sizes)
        if parting.any():
            later = self._functions.later(place, place.p, PARTING)
            parting &= self._numbers.rates(later).gaps > rates.gaps
        return parting

    def _closed_contacts(
        self, place: DecisionState, p: np.ndarray, touching: np.ndarray, rates: Rates
    ) -> np.ndarray:
        """Return which contacts are closed in a mode, with those that others keep closed."""
        closed = self._numbers.closed(p)
        if not np.any(touching & ~closed) or not closed.any():
            return closed
        numbers = self._numbers
        instant = numbers.instant(place, touching | closed, rates)
        return closed_contacts(numbers, instant, p)

    def _note_choice(
        self,
        time: float,
        before: tuple[np.ndarray, np.ndarray],
        after: tuple[np.ndarray, np.ndarray],
        book: GuardBook,
    ) -> None:
        """Take note of a load that contacts begin to share as was chosen."""
        p, closed = after
        known = are_chosen(self._numbers, *before) and np.array_equal(before[1], closed)
        if are_chosen(self._numbers, p, closed) and not known:
            book.carried.said.setdefault(chosen_among(self._numbers, closed), time)

    def _agreeing_mode(
        self,
        place: DecisionState,
        modes: Sequence[np.ndarray],
        book: GuardBook,
        instant: TouchingContacts,
        zero: np.ndarray,
    ) -> np.ndarray:
        """Return the first mode that agrees with the motion a small step on.

        Where a guard stays at zero to rounding, as the reaction of what weighs nothing, that is
        enough.

        Raises
        ------
        ResetError
            None agrees.
        """
        moment = self._moment(place, instant, zero)
        push = self._to_let_go(place.time, place.whole, place.p, book)
        times = (push, moment) if push < moment else (moment,)
        jams = [self._to_a_jam(place, p, min(SMALL_STEPS) * moment) for p in modes]
        # A contact elsewhere may close in less than a small step of this one.
        own = instant.which[instant.which < self._numbers.count]
        judged = np.setdiff1d(self._all, np.delete(self._closing, own))
        least, resting = -book.tolerances[judged], None
        for scale, part in itertools.product(times, SMALL_STEPS):
            for p, jam in zip(modes, jams, strict=True):
                step = part * min(scale, jam)
                x = self._functions.later(place, p, step).whole
                if not np.all(np.isfinite(x)):
                    continue
                values = self._functions.guards(place.time + step, x, p)[judged]
                if np.all(values > 0.0):
                    return p
                if resting is None and np.all(values >= least):
                    resting = p
        if resting is None:
            names = ", ".join(map(repr, instant.contacts.names))
            raise ResetError(
                f"at t = {place.time:.10g} s the contacts {names} are at the border of several "
                "modes, and none of them agrees with the motion right after"
            )
        return resting

    def _moment(self, place: DecisionState, instant: TouchingContacts, zero: np.ndarray) -> float:
        """Return a time in which bodies move by their own size, s."""
        pull = float(np.max(instant.size))
        return fall_speed(instant, zero) / pull if pull > 0.0 else 1.0

    def _to_let_go(self, time: float, x: np.ndarray, p: np.ndarray, book: GuardBook) -> float:
        """Return the time, s, in which loads exceed the limit of friction by its own size, or inf.

        A push may be over before bodies have moved.
        """
        own = self._letting_go
        if not own.size:
            return float("inf")
        values, rates = (found[own] for found in book.at(time, x, p))
        zero = book.tolerances[own]
        # A quick push is as far past the limit as it moves within the rounding of the time.
        late = LATE * np.spacing(abs(time)) * -rates
        passing = (np.abs(values) <= np.maximum(EARLIEST * zero, late)) & (rates < 0.0)
        # In the plane a contact has one guard for each way, which together are twice the limit; in
        # space its guard is relative to the limit.
        count = len(own) // int(np.sum(self._numbers.rubs))
        sizes = np.ones_like(values)
        if count > 1:
            sizes = np.repeat(np.sum(values.reshape(-1, count), axis=1) / count, count)
        return float(np.min(sizes[passing] / -rates[passing], initial=np.inf))

    def _to_a_jam(self, place: DecisionState, p: np.ndarray, step: float) -> float:
        """Return the time, s, in which a mode would reach a jam as it does over a step, or inf.

        Beyond a jam reactions have the other sign, so that a mode seems to agree which does not.
        """
        if self._jam is None or not step:
            return float("inf")
        later, near = self._functions.later(place, p, step), self._jam.near
        now, then = (self._functions.guards(at.time, at.whole, p)[near] for at in (place, later))
        ratio, rate = float(now) + NEAR, float(then - now) / step
        return ratio / -rate if rate < 0.0 < ratio else float("inf")

    def _events_between(
        self,
        before: np.ndarray,
        after: np.ndarray,
        hit: np.ndarray,
        slip_events: Callable[[int], list[int]],
    ) -> list[int]:
        """Return the events that lead from one mode to another, first the contacts that close.

        `before` and `after` say what is closed; `slip_events` gives those of a contact that stays
        so. An impact is recorded with the first of them, and what closes is what causes it.
        """
        events: list[int] = []
        for k, row in enumerate(contacts_in(self.dynamics)):
            if hit[k] or (after[k] and not before[k]):
                events.append(row.closed)
            elif before[k] and not after[k]:
                events.append(row.lost)
            if row.rubbing is not None and after[k] and before[k]:
                events += slip_events(k)
        for k in range(self._numbers.count, len(before)):
            events += slip_events(k)
        return sorted(events, key=lambda event: event not in self._met)

    def _slip_events(self, before: np.ndarray, after: np.ndarray, contact: int) -> list[int]:
        """Return the events of a slip that lead from values to others."""
        rubbing = self._numbers.rubbing[contact]
        assert rubbing is not None
        # A part of the friction, of one that sticks, is not a direction.
        old, new = (int(p[rubbing.slides]) for p in (before, after))
        if old == new:
            return []
        if new == 0:
            return [rubbing.begins_to_stick]
        return [rubbing.begins_to_slip] if old == 0 else [*rubbing.reversal]

    # -- jams ---------------------------------------------------------------------------------

    def _near_jam(self, place: DecisionState, book: GuardBook) -> bool:
        if self._jam is None:
            return False
        value = book.at(place.time, place.whole, place.p)[0][self._jam.near]
        return bool(abs(value + NEAR) <= NEAR)

    def follows(self, fired: Sequence[int]) -> bool:
        """Return whether contacts are so near to a jam that it is followed in another variable."""
        return self._jam is not None and self._jam.near in fired

    def finish(
        self,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        until: float,
        samples_up_to: Callable[[float], np.ndarray],
    ) -> Stretch:
        """Follow contacts that slide to their jam."""
        assert self._jam is not None
        count, own = self.dynamics.position_count, [self._jam.near, *self._all]
        sliding = sliding_of(self.problem, count, own, p)
        found = approach(sliding, (time, x), until, samples_up_to)
        state, passed = found.state, found.passed
        if passed == 0 and self._choices.on_jam == "impact":
            state = at_limit(self._numbers, found.time, state, p)
        fires = [] if passed is None else [self._jam.here, *self._all][passed : passed + 1]
        return Stretch(
            time=found.time,
            state=state,
            ending=Ending.REACHED if found.time == until else Ending.GOES_ON,
            message="",
            switchings=(),
            blocks=(),
            samples=found.samples,
            evaluations=found.evaluations,
            fires=tuple(map(int, fires)),
        )
