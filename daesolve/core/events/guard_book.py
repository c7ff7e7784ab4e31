"""Keeps track of guards: which are armed, passed, due or late at an instant.

The state is tested besides the crossing: a guard at zero, to rounding, whose rate points outwards
is due as well, whatever a solver saw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from daesolve.core.equations.borders import Borders
from daesolve.core.events.bound_guards import BoundGuards
from daesolve.core.events.carried_guards import CarriedGuards
from daesolve.core.events.guard_table import GuardTable, GuardTraits, Later, Place, Readings, Terms
from daesolve.core.solvers.guard_terms import GuardTerms

TOGETHER = 1e-12
"""Guards nearer to zero than this part of the largest value met pass together."""
PAST = 1e-6
"""A guard past zero by this fraction of its largest value is reset whatever its rate, if it may
be."""
ANSWERED = 1e-6
"""The least fraction of a guard's rate that is left after a reset reverses it or lets it
continue."""

FLAT = 1e-2
"""The part of the time since the last event for which a guard may stay at a zero without slope."""
EARLY = 2.0
"""If a guard fires early with another, this factor times its distance from zero counts as zero from
then on."""

REMEMBERED = 5
"""How many times of answers of a guard are kept: enough to show where they accumulate."""
SPACINGS = 16.0
"""To how many spacings of numbers the time at which a guard passes is known."""
ROUNDING = 16.0 * float(np.finfo(float).eps)
"""The rounding of a guard, as a fraction of its terms."""


class GuardBook:
    """The history of the guards in a run.

    Parameters
    ----------
    table, traits
        Whose guards they are, and how they are watched.
    evaluator
        Returns (t, x, p) -> the guards and their rates; called when they are first requested.
    terms
        (t, x, p) -> how large the terms are whose sum each guard is; if it is None, their
        rounding does not count.
    borders
        For which guards a zero that stays is past it; for none if it is None.
    later
        (t, x, p, which guards, what counts as zero) -> the rates a moment later of those whose rate
        is zero at first.
    bound
        Which guards constraints keep at zero; none if it is None.

    Attributes
    ----------
    tolerances
        What counts as zero, for each guard.
    armed
        Which may be due.
    passed
        Until when a zero that a solver finds is that at which the guard has fired, s.
    met
        (guards, 5) when its law was last asked to answer each, s, the latest last; NaN where it was
        asked less often.
    carried
        Which were past zero where no motion took them.
    """

    def __init__(
        self,
        table: GuardTable,
        traits: GuardTraits,
        evaluator: Callable[[], Callable[..., list[np.ndarray]]],
        terms: Terms | None = None,
        borders: Borders | None = None,
        later: Later | None = None,
        bound: BoundGuards | None = None,
    ) -> None:
        self.table, self.traits, self._evaluator = table, traits, evaluator
        self._borders, self._terms, self._later, self._bound = borders, terms, later, bound
        count = len(table.guarded)
        self._held = np.zeros(count, dtype=bool)
        self._rounding, self._fastest = np.zeros(count), np.zeros(count)
        self._largest = np.zeros(len(table.events))
        self._reached, self._entered = np.zeros(count), math.nan
        self.tolerances, self._zeros = np.zeros(count), [0.0] * count
        self.armed = np.ones(count, dtype=bool)
        self.passed = np.full(count, -np.inf)
        self.met = np.full((count, REMEMBERED), np.nan)
        self.carried = CarriedGuards(table, traits)
        self._reach = np.zeros(count)
        self._begun_past: list[int] = []
        none = np.empty(0)
        self._measured = Readings(math.nan, b"", none, none, none, none, [])

    @cached_property
    def _evaluate(self) -> Callable[..., list[np.ndarray]]:
        return self._evaluator()

    def saved(self) -> dict[str, Any]:
        """Return what this run has seen, so that another process can resume."""
        return {
            "largest": self._largest.copy(),
            "rounding": self._rounding.copy(),
            "reached": self._reached.copy(),
            "fastest": self._fastest.copy(),
            "entered": self._entered,
            "armed": self.armed.copy(),
            "passed": self.passed.copy(),
            "met": self.met.copy(),
            "carried": self.carried.saved(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned; earlier versions did not store the fastest rates."""
        kinds = "largest", "rounding", "reached", "passed"
        found = (np.array(saved[kind], dtype=float) for kind in kinds)
        self._largest, self._rounding, self._reached, self.passed = found
        self._fastest = np.array(saved.get("fastest", self._fastest), dtype=float)
        self._entered = float(saved["entered"])
        self._judge_zero()
        self.armed = np.array(saved["armed"], dtype=bool)
        self.met = np.array(saved["met"], dtype=float).reshape(self.met.shape)
        self.carried.restore(saved.get("carried", {}))

    def know(self, tolerances: np.ndarray) -> None:
        """Let what counted as zero on a motion, of each guard, do so from here on."""
        self._rounding = tolerances.copy()
        self._judge_zero()

    def meet(self, guards: Sequence[int], time: float) -> None:
        """Remember that guards were answered at a time, s."""
        self.met[guards, :-1] = self.met[guards, 1:]
        self.met[guards, -1] = time

    def go_on(self, place: Place, reach: np.ndarray) -> None:
        """Count the guards at zero or past it as passed: another run came to this place, by them.

        Contacts and modes that follow from the state are judged by the state, as at any start. What
        its own law would have moved away has not passed: the next sample of a law may be due here.

        Parameters
        ----------
        place
            Time, state and values.
        reach
            How far before zero each guard may be that has fired here already; -1 for others.
        """
        time, x, p = place
        seen, ways, traits = self._seen(time, x, p), self.traits.ways, self.traits
        judged = traits.stays | traits.returns | traits.whenever
        judged |= traits.moved & (ways * seen.rates > 0.0)
        along = ways * seen.values
        early = (ways != 0) & ~judged & (along < -self.tolerances) & (along >= -reach)
        if early.any():
            # As where it fired early with others.
            self._rounding = np.where(early, EARLY * np.abs(along), self._rounding)
            self._judge_zero()
        # Before zero it has passed only if it has fired: it may be due next.
        passed = (ways != 0) & ~judged & (along >= -self.tolerances)
        passed &= (along > 0.0) | (reach >= 0.0)
        self.armed[passed] = False
        for guard in np.flatnonzero(passed & (along <= self.tolerances)).tolist():
            if (speed := abs(seen.rates[guard])) > 0.0:
                after = max(self.tolerances[guard] / speed, np.spacing(abs(time)))
                self.passed[guard] = time + 2.0 * after

    @property
    def plain(self) -> bool:
        """Whether guards only pass zero: none is of values alone, or past zero where it stays."""
        borders = self._borders is not None and self._borders.any
        traits = self.traits
        return not (borders or np.any(traits.constant | traits.whenever | traits.jumping))

    def lent(self) -> GuardTerms:
        """Return what is known, for one who lets guards fire by these rules."""
        traits = self.traits
        kinds = traits.either, traits.recorded, traits.returns, traits.barriers, traits.moved
        history = self.tolerances, self._reach, self.armed, self.passed, self._reached
        ways = traits.ways.astype(float), *kinds, traits.stays
        return GuardTerms(ways, *history, np.array([self._entered]))

    def returned(self, terms: GuardTerms) -> None:
        """Take the state back; guards that have fired since then have changed it."""
        self._entered = float(terms.entered[0])

    def at(self, time: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the guards and their rates at any place, without recording it."""
        values, rates = self._evaluate(time, x, p)
        return values, rates

    def measure(self, time: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the guards and their rates on the motion; their sizes are remembered."""
        seen = self._seen(time, x, p)
        return seen.values, seen.rates

    def _seen(self, time: float, x: np.ndarray, p: np.ndarray) -> Readings:
        """Measure the guards on the motion, once at each place."""
        known = self._measured
        # Several times an event: bytes compare a state faster than arrays do.
        state = x.tobytes()
        if time == known.time and p is known.p and state == known.state:
            return known
        values, found = self._evaluate(time, x, p)
        if self._bound is not None:
            values, found = self._without_bound((time, x, p), self._bound, values, found)
        # What a constraint keeps at zero moves by rounding alone; a switch may turn back there.
        self._fastest = np.fmax(self._fastest, np.abs(found))
        zero = np.where(self.traits.switching, 0.0, TOGETHER * self._fastest)
        rates = np.where(np.abs(found) <= zero, 0.0, found)
        rates = self._first_rates((time, x, p), values, rates, zero)
        if np.count_nonzero(np.abs(values) > self._reach):
            self._grow(time, x, p, values)
        if math.isnan(self._entered):
            self._entered = time
            # A guard that must not be past zero at a start is at it or past it by rounding, and
            # would not pass again.
            barred = self.traits.bars_start & self.traits.stays
            least = np.maximum(self.tolerances, ROUNDING * np.max(np.abs(x), initial=0.0))
            past = barred & (self.traits.ways * values >= -least)
            self._begun_past = np.flatnonzero(past).tolist()
        near: list[int] = []
        inward = (self.traits.ways * rates < 0.0).tolist()
        for guard, along in enumerate((self.traits.ways * values).tolist()):
            # One that comes in at zero has been inside when it is here next.
            if along < -self._zeros[guard] or (inward[guard] and along <= self._zeros[guard]):
                self.armed[guard] = True
            if along >= -self._zeros[guard]:
                near.append(guard)
        self._measured = Readings(time, state, p, values, rates, found, near)
        return self._measured

    def _without_bound(
        self, place: Place, bound: BoundGuards, values: np.ndarray, rates: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return guards and rates with zeros for those that constraints keep there.

        What they let go has not passed: it leaves zero, and its error, without having been inside.
        """
        held = bound(*place)
        freed, self._held = np.flatnonzero(self._held & ~held & ~self.traits.barriers), held
        if freed.size:
            size, speed = EARLY * np.abs(values[freed]), EARLY * np.abs(rates[freed])
            self._rounding[freed] = np.fmax(self._rounding[freed], size)
            self._fastest[freed] = np.fmax(self._fastest[freed], speed / TOGETHER)
            self._judge_zero()
            self.armed[freed] = False
            leaves = bound.time_to_leave(place, freed, 2.0 * self.tolerances[freed])
            self.passed[freed] = place[0] + leaves
        return np.where(held, 0.0, values), np.where(held, 0.0, rates)

    def _first_rates(
        self, place: Place, values: np.ndarray, rates: np.ndarray, rounding: np.ndarray
    ) -> np.ndarray:
        """Return the rates of guards, a moment later where one at zero or past it has none.

        A barrier at zero without a rate is one at which the motion rests: it does not pass.
        """
        if self._later is None or np.count_nonzero(rates) == len(rates):
            return rates
        along, barriers = self.traits.ways * values, self.traits.barriers
        near = (along > 0.0) | (~barriers & (along >= -self.tolerances))
        still = self.carried.judged & self.armed & near
        if self._borders is not None:
            still |= self._borders.known & (values == 0.0)
        still &= (rates == 0.0) & ~self._held
        return np.where(still, self._later(*place, still, rounding) if still.any() else 0.0, rates)

    def _grow(self, time: float, x: np.ndarray, p: np.ndarray, values: np.ndarray) -> None:
        """Remember larger values of guards than those before."""
        sizes = np.maximum.reduceat(np.abs(values), self.table.firsts)
        if not np.count_nonzero(sizes > self._largest):
            return
        self._largest = np.maximum(self._largest, sizes)
        if self._terms is not None:
            # A guard that is never but at zero is met with the rounding of its terms.
            found = ROUNDING * self._terms(time, x, p)
            counts = np.isfinite(found) & ~self.traits.sharp
            self._rounding = np.fmax(self._rounding, np.where(counts, found, 0.0))
        self._judge_zero()

    def _judge_zero(self) -> None:
        """Set what counts as zero, of each guard."""
        self._reach = self._largest[self.table.owners]
        self.tolerances = np.maximum(TOGETHER * self._reach, self._rounding)
        self._zeros: list[float] = self.tolerances.tolist()

    def held(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return which guards constraints keep at zero, (guards,)."""
        return np.zeros_like(self.armed) if self._bound is None else self._bound(time, x, p)

    def unresolved(self, place: Place, guard: int) -> float:
        """Return how long a guard takes to leave what counts as zero, s; zero if it rests."""
        speed = abs(self._seen(*place).rates[guard])
        return float(self.tolerances[guard] / speed) if speed > 0.0 else 0.0

    def outside(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return how far each guard is past zero, in the direction in which it counts.

        This is not recorded: the motion may not arrive there.
        """
        return self.traits.ways * self.at(time, x, p)[0]

    def due(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards that are at zero or past it and on their way out.

        Where values do not agree with the state these are put right first: until then no rate is
        that of the motion which follows.
        """
        seen = self._seen(time, x, p)
        near = [guard for guard in seen.near if self.armed[guard]]
        found = [guard for guard in near if self._disagrees(guard, seen)]
        if not found:
            out = [guard for guard in near if self._leaves(guard, seen)]
            found = [*out, *self._carried(near, seen)]
        staying = [*self._at_border(near, seen), *self._begun_past]
        return sorted({*found, *staying})

    def _disagrees(self, guard: int, seen: Readings) -> bool:
        """Return whether a guard is so far past zero that its mode contradicts the state."""
        return bool(self.traits.whenever[guard]) and self._is_far(guard, seen.values)

    def _is_far(self, guard: int, values: np.ndarray) -> bool:
        """Return whether a guard is farther past zero than rounding takes it."""
        past = max(PAST * max(self._reach[guard], self._reached[guard]), self.tolerances[guard])
        return bool((self.traits.ways[guard] or np.sign(values[guard])) * values[guard] > past)

    def _carried(self, near: Sequence[int], seen: Readings) -> list[int]:
        """Return the guards past zero that count as passed, though no motion took them there."""
        past = [k for k in near if self.carried.judged[k] and self._is_far(k, seen.values)]
        self.armed[past] = passes = self.carried.judge(float(seen.time), past, seen.rates)
        return [guard for guard, passed in zip(past, passes, strict=True) if passed]

    def _leaves(self, guard: int, seen: Readings) -> bool:
        """Return whether a guard is at zero or past it and on its way out."""
        way, zero = self.traits.ways[guard], self.tolerances[guard]
        along = way * seen.values[guard]
        if way * seen.rates[guard] > 0.0:
            return bool(along >= -zero)
        # A reaction that pulls at the start or after a reset does so on its way back as well.
        return bool(self.traits.returns[guard] and along > zero)

    def arrive(self, time: float, x: np.ndarray, p: np.ndarray) -> None:
        """Arm guards that a motion brings to zero again, after the instant at which they passed.

        One that is at zero on its way out has been inside since then, wherever it was measured.
        Nothing may have been answered yet at this instant.
        """
        if self.armed.all():
            return
        seen = self._seen(time, x, p)
        out = (np.abs(seen.values) <= self.tolerances) & (self.traits.ways * seen.rates > 0.0)
        self.armed[~self.armed & out & (time > self.passed)] = True

    def nearly(self, place: Place, accuracy: float) -> list[int]:
        """Return the guards on their way out that are as near to zero as they are known.

        Parameters
        ----------
        place
            Time, state and values.
        accuracy
            To what part of the largest value met guards are known.
        """
        seen, ways = self._seen(*place), self.traits.ways
        # A steep guard is away from zero at the number of time that is nearest to its zero.
        unresolved = SPACINGS * math.ulp(float(place[0])) * np.abs(seen.rates)
        near = ways * seen.values >= -np.maximum(accuracy * self._reach, unresolved)
        return np.flatnonzero(near & self.armed & (ways * seen.rates > 0.0)).tolist()

    def _at_border(self, guards: Sequence[int], seen: Readings) -> list[int]:
        """Return those of some guards that stay at zero where that is past it."""
        if self._borders is None:
            return []
        stay = [k for k in guards if seen.values[k] == 0.0 and seen.rates[k] == 0.0]
        past = self._borders.past(seen.p) if stay else ()
        return [guard for guard in stay if past[guard]]

    def late(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards that are well past zero: no solver found where they passed.

        Where one is, this is no place of the motion, and the sizes of guards there are not those
        that they have.
        """
        values, _ = self.at(time, x, p)
        past = (self.traits.ways * values > self.tolerances) & ~self.held(time, x, p)
        found = np.flatnonzero(past & (self.armed | self.traits.stays)).tolist()
        if not found:
            self.measure(time, x, p)
        return found

    def counts(self, time: float, guard: int) -> bool:
        """Return whether a zero that a solver found is new: not the switch that just fired."""
        return bool(self.armed[guard] or time > self.passed[guard])

    def passing(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards, only recorded, that pass zero at the instant at which another stops.

        A solver may end before it finds them.
        """
        if not self.traits.recorded.any():
            return []
        directions = self.traits.directions
        values, rates = self.measure(time, x, p)
        on = np.where(directions == 0, rates != 0.0, directions * rates > 0.0)
        # A guard that is looked at only where it is zero has the size that it reached since then.
        between = TOGETHER * np.abs(rates) * abs(time - self._entered)
        zero = np.abs(values) <= np.fmax(self.tolerances, between)
        return np.flatnonzero(self.traits.recorded & zero & on).tolist()

    def switched(self, place: Place, before: np.ndarray, by: Sequence[int] = ()) -> list[int]:
        """Return the guards that a change of values has taken through zero; see `CarriedGuards`."""
        if not self.carried.may_be_taken(by):
            return []
        values, _ = self.measure(*place)
        taken, jumped = self.carried.taken(before, values, self.tolerances, by)
        self.armed[jumped & (self.traits.ways != 0)] = False  # They pass, whatever their way.
        return np.flatnonzero(taken | jumped).tolist()

    def fire(self, time: float, x: np.ndarray, p: np.ndarray, guards: Sequence[int]) -> np.ndarray:
        """Record the guards that fire now; return the rates of all guards.

        What fires before it is at zero is no nearer after its jump: as near counts as zero now.
        """
        seen = self._seen(time, x, p)
        values, rates = seen.values, seen.rates
        self._begun_past = [guard for guard in self._begun_past if guard not in guards]
        early = [k for k in guards if self.traits.ways[k] * values[k] < -self.tolerances[k]]
        if early:
            self._rounding[early] = EARLY * np.abs(values[early])
            self._judge_zero()
            self._measured = replace(seen, near=list(range(len(values))))
        # Guards that are looked at where they are zero alone have a size all the same.
        span = abs(time - self._entered)
        self._reached = np.fmax(self._reached, np.abs(rates) * span)
        self._entered = time
        # What fires where it stays at its border was never past it.
        staying = self._at_border(guards, seen)
        for guard in guards:
            self.armed[guard] = self.traits.barriers[guard] or guard in staying
            ahead = max(-self.traits.ways[guard] * values[guard], 0.0)  # past zero there is none
            reach, speed = ahead + 2.0 * self.tolerances[guard], abs(rates[guard])
            leaves = reach / speed if speed > 0.0 else np.inf
            self.passed[guard] = time + min(leaves, FLAT * span or np.inf)
            if self._is_far(guard, values):  # Zero is elsewhere, and may be passed at any time.
                self.passed[guard] = time
        return seen.first

    def answered(
        self,
        place: Place,
        events: Mapping[int, tuple[int, ...]],
        before: np.ndarray,
        sequential: Collection[int],
    ) -> np.ndarray:
        """Record how a jump left the guards that fired; return the rates of all guards.

        What it has sent back may be met again at once, a switch as well. What it has left at zero
        and on its way has passed, even a barrier: an impact on a motion that continues. Only where
        the jump changed what the guard depends on is it tested again: the motion is at another
        border now.

        Parameters
        ----------
        place
            Time, state and values after the jump.
        events
            The guards that fired, by the index of their event, each from 0.
        before
            The rates of all guards before the jump.
        sequential
            Events of which several guards are answered one after the other.
        """
        seen = self._seen(*place)
        values, rates = seen.values, seen.first
        ways, moved = self.traits.ways, self.traits.moved
        for event, places in events.items():
            together = len(places) == 1 or event not in sequential
            for guard in (self.table.firsts[event] + place for place in places):
                turned = rates[guard] * before[guard]
                size = ANSWERED * before[guard] ** 2
                at_zero = ways[guard] * values[guard] >= -self.tolerances[guard]
                if turned < -size:
                    self.armed[guard] = True
                elif together and turned > size and at_zero and not moved[guard]:
                    self.armed[guard] = False
        return rates
