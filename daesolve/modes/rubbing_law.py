"""Which contacts open, stick and slide: decided at an instant for all of them together.

At every event the contacts whose gaps are zero are looked at. Where one closes there is an impact
of all of them; then, of those whose gaps do not open, `contact.decide` says what they do next. At
an event the mode before and the mode after it both agree with the state to rounding: of such modes,
the motion is taken a small step on in each, and the one that still agrees is the one that follows.

Bounces become ever lower. One that is lower than what counts as a gap of zero is none: from there
on the contact stays, and an event marks the instant at which all bounces would have ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import Evaluator
from daesolve.contact import Answer, Decision, ImpactLaw, collide, decide
from daesolve.equations.contact_rows import SpatialRubbing
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import ContactError, NoDerivativeError, ResetError, UnsupportedError
from daesolve.formulations import OdeProblem
from daesolve.modes.guard_book import GuardBook
from daesolve.modes.guard_table import Role
from daesolve.modes.impacts_end import ImpactsEnd
from daesolve.modes.jumps import JumpFunction, joined, with_references
from daesolve.modes.law import Beginning, Jump, Setting, SwitchingLaw
from daesolve.modes.rubbing_instant import ContactNumbers, Instant, Rates, speeds_of
from daesolve.modes.rubbing_modes import in_states, of_all
from daesolve.posing.contacts import PENDING
from daesolve.posing.symbols import symbol
from daesolve.trajectory.results import Impact

STILL = 1e-10
"""Of its terms, the rate of a gap or a slip below which it is zero."""
SMALL_STEPS = 1e-4, 1e-3, 1e-5, 1e-2
"""Parts of the time in which bodies move by their own size, after which a mode is looked at."""
MOST_IMPACTS = 20
"""Impacts of the same contacts at one instant, one after the other."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where a decision is taken: time, states of the equations, works behind them, values."""

    time: float
    x: np.ndarray
    works: np.ndarray
    p: np.ndarray


class RubbingLaw(SwitchingLaw):
    """Lets contacts open, close, stick and slide, where one of them rubs.

    Parameters
    ----------
    setting
        The problem.
    """

    def __init__(self, setting: Setting) -> None:
        rows, first = setting.dynamics.contacts, setting.table.firsts
        own = [(row.lost, row.closed, *(row.rubbing.events if row.rubbing else ())) for row in rows]
        super().__init__([event for events in own for event in events])
        self.problem, self.dynamics = setting.problem, setting.dynamics
        self._lost = first[[row.lost for row in rows]]
        self._closing = first[[row.closed for row in rows]]
        self._stopping = np.array(
            [first[row.rubbing.begins_to_stick] if row.rubbing else -1 for row in rows]
        )
        self._slipping = np.array(
            [
                first[row.rubbing.begins_to_slip] + np.arange(2) if row.rubbing else (-1, -1)
                for row in rows
            ]
        )
        self._met = {row.closed for row in rows}
        self._all = setting.table.guards_of(self.events)
        self._impacts = setting.impacts
        self._ending: ImpactsEnd | None = None
        if PENDING in setting.dynamics.values:
            self._ending = ImpactsEnd.of(setting)
            self.events = (*self.events, self._ending.event)
        if setting.problem not in _numbers:
            _numbers[setting.problem] = _Functions(setting)
        self._functions = _numbers[setting.problem]
        self._numbers = self._functions.numbers

    @classmethod
    def begin(cls, dynamics: Dynamics, beginning: Beginning) -> Beginning:
        """Choose which closed contacts slide and stick at the start.

        Raises
        ------
        DaesolveError
            They have no motion from there, or several.
        """
        rubbing = [row.rubbing for row in dynamics.contacts if row.rubbing is not None]
        if not rubbing or isinstance(rubbing[0], SpatialRubbing):
            return beginning
        numbers = ContactNumbers(dynamics)
        p = dynamics.value_vector(dict(beginning.values))
        place = Place(beginning.time, beginning.state, np.empty(0), p)
        touching = p[numbers.holds] == 1.0
        rates = numbers.rates(place.time, place.x, p)
        rates = rested(rates, rates, touching, np.zeros_like(touching))
        touching &= rates.gaps == 0.0
        if not touching.any():
            return beginning
        instant = numbers.instant(place.time, place.x, p, touching, rates)
        answer = decide(instant.contacts, instant.free, rates.slips[instant.which]).only()
        states = of_all(instant, answer.states)
        chosen = in_states(numbers, instant, p, states)
        # One that opens does so at the start, with an event; until then it slides as it does.
        chosen[numbers.holds] = p[numbers.holds]
        sides = np.sign(rates.slips)[numbers.rubs]
        chosen[numbers.slides] = np.where(
            chosen[numbers.slides] == 0.0, sides, chosen[numbers.slides]
        )
        values = dict(zip(dynamics.values, map(float, chosen), strict=True))
        return replace(beginning, values=values)

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> RubbingLaw | None:
        """Return the law of all contacts of a system in which one rubs, or impacts are others."""
        rows = setting.dynamics.contacts
        rubs = any(row.rubbing for row in rows)
        if any(isinstance(row.rubbing, SpatialRubbing) for row in rows):
            return None
        return cls(setting) if rows and (rubs or setting.impacts != ImpactLaw()) else None

    def role(self, event: int) -> Role:
        """Return that of a reaction that ends, a gap that closes, or a slip that ends or begins."""
        if self._ending is not None and event == self._ending.event:
            return Role()
        met = event in self._met
        return Role(returns=not met, stays=True, bars_start=met)

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        """Open and close contacts, let them stick and slide, with the impacts that this takes."""
        book.passed[self._all] = time
        gaps = book.measure(time, x, p)[0][self._closing]
        zero = book.tolerances[self._closing]
        met = np.isin(self._closing, list(fired)) | (np.abs(gaps) <= zero)
        stopped = np.isin(self._stopping, list(fired))
        count = self.dynamics.x.numel()
        place = Place(time, x[:count], x[count:], p)
        before = p[self._numbers.holds] == 1.0
        rates = self._numbers.rates(time, place.x, p)
        # What a constraint holds at zero is zero but for rounding, however slow all is.
        stuck = before & self._numbers.stuck(p)
        rates = rested(rates, rates, before, stopped | stuck)
        place, rates, impacts, hit, settled = self._collided(place, before | met, zero, rates)
        closed = (before | met) & (rates.gaps == 0.0)
        # What has come to the end of its static friction has only the other left.
        begins = np.isin(self._slipping, list(fired)).any(axis=1)
        weak = np.where(begins, rates.friction, rates.static_friction)
        rates = replace(rates, static_friction=weak)
        p_after = self._next(place, closed, rates, book, zero)
        place = self._parted(place, before & (p_after[self._numbers.holds] == 0.0))
        events = self._happened(p, p_after, hit)
        book.meet(self._closing[hit].tolist(), time)
        if self._ending is not None:
            if self._ending.guard in fired:
                p_after[self._ending.pending] = 0.0
                events.append(self._ending.event)
            if settled.any():
                p_after = self._ending.expected(time, p_after, book.met[self._closing[settled]])
        if not events and not impacts:
            return
        after = np.concatenate([place.x, place.works])
        closed = p_after[self._numbers.holds] == 1.0
        book.armed[self._closing[~closed]] = False
        yield Jump(dict.fromkeys(events, (0,)), after, p_after, joined(impacts))

    # -- impacts ------------------------------------------------------------------------------

    def _collided(
        self, place: Place, touching: np.ndarray, zero: np.ndarray, rates: Rates
    ) -> tuple[Place, Rates, list[Impact | None], np.ndarray, np.ndarray]:
        """Let contacts collide until none closes.

        Returns
        -------
        tuple
            The place and the rates after, the impacts, which contacts closed, and which of these
            stay though they would bounce.
        """
        impacts: list[Impact | None] = []
        hit, none = np.zeros_like(touching), np.zeros_like(touching)
        largest = rates
        for _ in range(MOST_IMPACTS):
            if not np.any(rates.gaps[touching]):
                return place, rates, impacts, hit, none
            instant = self._numbers.instant(place.time, place.x, place.p, touching, rates)
            which = instant.which
            # A bounce lower than what counts as a gap of zero is none.
            lowest = np.sqrt(2.0 * instant.size[: len(which)] * zero[which])
            if not np.any(rates.gaps[which] < -lowest):
                moving = touching & (rates.gaps != 0.0)
                place, rates = self._settled(place, instant, rates, lowest)
                return place, rates, impacts, hit, moving & (rates.gaps == 0.0)
            hit |= touching & (rates.gaps < 0.0)
            slow = (rates.gaps[which] < 0.0) & (rates.gaps[which] >= -lowest)
            thrown = np.where(slow, 0.0, rates.restitution[which])
            velocities = np.concatenate([rates.gaps[which], rates.slips[which].ravel()])
            try:
                found = collide(
                    instant.contacts,
                    velocities,
                    self._impacts.law,
                    thrown,
                    rates.tangential_restitution[which],
                    order=self._order(instant),
                    on_gain=self._impacts.on_gain,
                )
            except ContactError as error:
                raise at(place.time, error) from error
            except UnsupportedError as error:
                raise ResetError(f"at t = {place.time:.10g} s {error}") from error
            x = place.x.copy()
            x[self.dynamics.position_count :] += instant.thrown @ found.impulses
            impacts.append(self._recorded(place, x, instant, found.impulses))
            place = replace(place, x=x)
            rates = self._numbers.rates(place.time, x, place.p)
            largest = replace(
                rates,
                gap_sizes=np.maximum(largest.gap_sizes, rates.gap_sizes),
                slip_sizes=np.maximum(largest.slip_sizes, rates.slip_sizes),
            )
            rates = rested(rates, largest, none, none)
        names = ", ".join(repr(self._numbers.names[k]) for k in np.flatnonzero(hit))
        raise ResetError(
            f"at t = {place.time:.10g} s the impacts of the contacts {names} do not end"
        )

    def _order(self, instant: Instant) -> list[str] | None:
        """Return the order of impacts among the contacts that touch."""
        order = self._impacts.order
        return None if order is None else [k for k in order if k in instant.contacts.names]

    def _settled(
        self, place: Place, instant: Instant, rates: Rates, lowest: np.ndarray
    ) -> tuple[Place, Rates]:
        """Let contacts stay that hardly part, or hardly meet; those that stick go on to do so."""
        which = instant.which
        speeds = rates.gaps[which]
        stay = np.abs(speeds) <= lowest
        if not np.any(speeds[stay]):
            return place, rates
        sticks = stay & rates.resting[which] & self._numbers.rubs[which]
        own = np.flatnonzero(np.concatenate([stay, sticks.repeat(self._numbers.directions)]))
        answer = instant.contacts.matrix[np.ix_(own, own)]
        x = place.x.copy()
        wanted = np.concatenate([-speeds, np.zeros(len(instant.rows) - len(which))])[own]
        impulses = np.linalg.lstsq(answer, wanted, rcond=None)[0]
        x[self.dynamics.position_count :] += instant.thrown[:, own] @ impulses
        gaps = rates.gaps.copy()
        gaps[which[stay]] = 0.0
        after = self._numbers.rates(place.time, x, place.p)
        slips = after.rested(rates.gaps == 0.0, rates.resting).slips
        return replace(place, x=x), replace(rates, gaps=gaps, slips=slips)

    def _recorded(
        self, place: Place, x: np.ndarray, instant: Instant, impulses: np.ndarray
    ) -> Impact:
        """Return an impact from the states before and after; what is left are works unaccounted."""
        labels = self.dynamics.labels.reactions
        named = dict.fromkeys(labels, 0.0)
        count = len(instant.which)
        for k, contact in enumerate(map(int, instant.which)):
            normal, tangents = self._numbers.reactions[contact]
            named[labels[normal]] = float(impulses[k])
            along = impulses[count + k * self._numbers.directions :]
            for tangent, impulse in zip(tangents, along.tolist(), strict=False):
                named[labels[tangent]] = impulse
        mass = self.dynamics.matrices(place.time, place.x, place.p)["mass"]
        first = self.dynamics.position_count
        before, after = place.x[first:], x[first:]
        kinetic, remaining = (float(v @ mass @ v) / 2.0 for v in (before, after))
        work = float(impulses @ instant.rows @ (before + after)) / 2.0
        miss = abs(remaining - kinetic - work) / kinetic if kinetic > 0.0 else 0.0
        return Impact(named, kinetic, remaining, miss)

    def _parted(self, place: Place, opening: np.ndarray) -> Place:
        """Let no gap that opens close by rounding: it would be met again at once."""
        for _ in range(MOST_IMPACTS):
            rates = self._numbers.rates(place.time, place.x, place.p)
            closing = opening & (rates.gaps < 0.0)
            if not closing.any():
                break
            instant = self._numbers.instant(place.time, place.x, place.p, closing, rates)
            count = len(instant.which)
            answers = np.diag(instant.contacts.matrix)[:count]
            pushes = -2.0 * rates.gaps[instant.which] / answers
            x = place.x.copy()
            x[self.dynamics.position_count :] += instant.thrown[:, :count] @ pushes
            place = replace(place, x=x)
        return place

    # -- the mode that follows ----------------------------------------------------------------

    def _next(
        self,
        place: Place,
        closed: np.ndarray,
        rates: Rates,
        book: GuardBook,
        zero: np.ndarray,
    ) -> np.ndarray:
        """Return p of the mode in which the motion goes on."""
        numbers = self._numbers
        if not closed.any():
            none = np.zeros_like(closed)
            return self._functions.referred(place, numbers.mode(place.p, none))
        instant = numbers.instant(place.time, place.x, place.p, closed, rates)
        found = decide(instant.contacts, instant.free, rates.slips[instant.which])
        answer = only(found, place.time)
        modes = [
            self._functions.referred(
                place, in_states(numbers, instant, place.p, of_all(instant, states))
            )
            for states in answer.candidates
        ]
        if len(modes) == 1:
            return modes[0]
        return self._agreeing(place, modes, book, instant, zero)

    def _agreeing(
        self,
        place: Place,
        modes: Sequence[np.ndarray],
        book: GuardBook,
        instant: Instant,
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
        length = float(np.max(zero)) * 1e12
        pull = float(np.max(instant.size))
        scale = np.sqrt(length / pull) if pull > 0.0 else 1.0
        begin = np.concatenate([place.x, place.works])
        least, resting = -book.tolerances[self._all], None
        for part in SMALL_STEPS:
            step = part * scale
            for p in modes:
                x = stepped(self._functions.rate, place.time, begin, p, step)
                if not np.all(np.isfinite(x)):
                    continue
                values = book.at(place.time + step, x, p)[0][self._all]
                if np.all(values > 0.0):
                    return p
                if resting is None and np.all(values >= least):
                    resting = p
        if resting is None:
            names = ", ".join(map(repr, instant.contacts.names))
            raise ResetError(
                f"at t = {place.time:.10g} s the contacts {names} are at the border of several "
                "modes, none of which agrees with the motion right after"
            )
        return resting

    def _happened(self, before: np.ndarray, after: np.ndarray, hit: np.ndarray) -> list[int]:
        """Return the events that lead from one mode to another."""
        events: list[int] = []
        for k, row in enumerate(self.dynamics.contacts):
            was, now = before[row.hold] == 1.0, after[row.hold] == 1.0
            if hit[k] or (now and not was):
                events.append(row.closed)
            elif was and not now:
                events.append(row.lost)
            if row.rubbing is not None and now and was:
                old, new = before[row.rubbing.slides], after[row.rubbing.slides]
                if old and not new:
                    events.append(row.rubbing.begins_to_stick)
                elif new and not old:
                    events.append(row.rubbing.begins_to_slip)
                elif new != old:
                    events.append(row.rubbing.reverses)
        return events

    def function(self, events: Sequence[int]) -> JumpFunction:
        """Refuse: what contacts do is no function of the state.

        Raises
        ------
        NoDerivativeError
            Always; the events are named.
        """
        names = ", ".join(repr(self.problem.events[event].name) for event in events)
        raise NoDerivativeError(
            f"the events {names} have no derivative: what contacts do there is decided at the "
            "instant"
        )


class _Functions:
    """What decisions on the contacts of a problem evaluate."""

    def __init__(self, setting: Setting) -> None:
        dynamics, problem = setting.dynamics, setting.problem
        self.numbers = ContactNumbers(dynamics)
        self.rate = Evaluator(problem.rhs)
        t, x, p = dynamics.t, dynamics.x, dynamics.p
        works = symbol("works", problem.size - x.numel())
        values = with_references(dynamics, t, x, p, works)
        self._references = Evaluator(ca.Function("references", [t, x, works, p], [values]))

    def referred(self, place: Place, p: np.ndarray) -> np.ndarray:
        """Return values with the references of the motion that begins here."""
        return np.array(self._references(place.time, place.x, place.works, p)[0])


_numbers: WeakKeyDictionary[OdeProblem, _Functions] = WeakKeyDictionary()


def only(found: Decision, time: float) -> Answer:
    """Return the answer of a decision; an error tells when there is not one alone."""
    try:
        return found.only()
    except ContactError as error:
        raise at(time, error) from error


def at(time: float, error: ContactError) -> ContactError:
    """Return an error that tells when it happened."""
    return type(error)(f"at t = {time:.10g} s {error}", error.solution)


def rested(rates: Rates, sizes: Rates, held: np.ndarray, stopped: np.ndarray) -> Rates:
    """Return rates of which those that are rounding, or known to be zero, are zero."""
    still = held | (np.abs(rates.gaps) <= STILL * sizes.gap_sizes)
    slow = speeds_of(rates.slips) <= STILL * speeds_of(sizes.slip_sizes)
    return rates.rested(still, stopped | slow)


def stepped(rate: Evaluator, time: float, x: np.ndarray, p: np.ndarray, step: float) -> np.ndarray:
    """Return the state a step later, by the classical method of order 4."""

    def slope(part: float, state: np.ndarray) -> np.ndarray:
        return np.array(rate(time + part * step, state, p)[0])

    first = slope(0.0, x)
    second = slope(0.5, x + 0.5 * step * first)
    third = slope(0.5, x + 0.5 * step * second)
    fourth = slope(1.0, x + step * third)
    return x + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
