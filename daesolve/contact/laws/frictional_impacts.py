"""Impacts with friction, of contacts that close, and of those that cannot continue otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.contact.decisions import ContactImpact, collide, impact_without_collision
from daesolve.contact.laws.frictional_instant import (
    ContactNumbers,
    DecisionState,
    Rates,
    TouchingContacts,
    speeds_of,
)
from daesolve.contact.laws.jams import beyond_jam, growth, stopped_by_jam
from daesolve.contact.laws.redundant_contacts import PARALLEL
from daesolve.core.events.choices import Choices
from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.core.results.trajectory.results import Impact
from daesolve.errors import (
    ContactError,
    NoMotion,
    ResetError,
    UndeterminedContact,
    UnsupportedError,
)

STILL = 1e-10
"""The rate of a gap, or a slip, counts as zero below this fraction of its terms."""
SHARED = (
    "redundant = 'minimum-norm' uses the loads that equal springs under all contacts would have"
)
ROUNDING = 1e-14
"""The part of what impulses change of the rate of a gap, in all, that is their rounding."""
MOST_IMPACTS = 1000
"""Impacts of the same contacts at one instant, one after the other."""


class CollisionResolver:
    """Lets contacts collide.

    Parameters
    ----------
    numbers, choices
        The contacts, and what they do where rigid bodies leave it open.
    springs
        Whether impulses that are not determined are those of equal springs under all contacts.

    Attributes
    ----------
    doubtful
        Whether an impact or a decision so far is not proved to be the only one that is possible.
    """

    def __init__(self, numbers: ContactNumbers, choices: Choices, *, springs: bool = False) -> None:
        self.dynamics, self._numbers, self._choices = numbers.dynamics, numbers, choices
        self._springs = springs
        self.doubtful = False

    def resolve(
        self, place: DecisionState, touching: np.ndarray, zero: np.ndarray, rates: Rates
    ) -> tuple[DecisionState, Rates, list[Impact | None], np.ndarray, np.ndarray]:
        """Let contacts collide until none closes.

        Returns
        -------
        tuple
            The place and the rates after, the impacts, which contacts closed, and which of these
            stay though they would bounce.
        """
        impacts: list[Impact | None] = []
        hit, none = np.zeros_like(touching), np.zeros_like(touching)
        last, largest, blur = np.zeros_like(touching), rates, np.zeros(len(touching))
        for _ in range(MOST_IMPACTS):
            if not np.any(rates.gaps[touching]):
                return place, rates, impacts, hit, last & (rates.gaps == 0.0)
            instant = self._numbers.instant(place, touching, rates)
            which = instant.which
            # A bounce lower than a gap that counts as zero does not count.
            lowest = np.sqrt(2.0 * instant.size[: len(which)] * zero[which])
            lowest = np.maximum(lowest, blur[which])
            if not np.any(rates.gaps[which] < -lowest):
                moving = last | (touching & (rates.gaps != 0.0))
                place, rates = self._settle_gaps(place, instant, rates, lowest)
                return place, rates, impacts, hit, moving & (rates.gaps == 0.0)
            hit |= touching & (rates.gaps < 0.0)
            # A gap that opens takes no part: where the impact closes it, another one follows.
            taking = rates.gaps[which] <= np.maximum(lowest, _rounding(instant, rates))
            taking &= which < self._numbers.count  # A brake has no impulse: its load is finite.
            which, lowest = which[taking], lowest[taking]
            own = np.isin(np.arange(len(touching)), which)
            instant = self._numbers.at_impact(place, own, rates)
            found, slow = self._impact(place, instant, rates, lowest)
            self.doubtful |= not found.alone
            last[which] = slow & (rates.restitution[which] > 0.0)
            changes = np.abs(instant.contacts.matrix[: len(which)]) @ np.abs(found.impulses)
            blur[which] = np.maximum(blur[which], ROUNDING * changes)
            place, impact = self._pushed(place, instant, found.impulses)
            impacts.append(impact)
            rates = self._numbers.rates(place)
            largest = with_larger_sizes(largest, rates)
            rates = without_rounding(rates, largest, none, none)
        names = ", ".join(repr(self._numbers.names[k]) for k in np.flatnonzero(hit))
        raise ResetError(
            f"at t = {place.time:.10g} s the impacts of the contacts {names} do not end"
        )

    def _impact(
        self, place: DecisionState, instant: TouchingContacts, rates: Rates, lowest: np.ndarray
    ) -> tuple[ContactImpact, np.ndarray]:
        """Return the impact, and which contacts stay because they would hardly bounce.

        A contact that stays pushes as much as the bounces that are left out, and so has their
        friction; this impact must not throw it as well.
        """
        which, choices = instant.which, self._choices
        own = rates.restitution[which]
        slow = (rates.gaps[which] < 0.0) & (-own * rates.gaps[which] <= lowest)
        if slow.any() and (choices.impact != "newton" or choices.on_gain == "poisson"):
            # By these laws even a contact that closes slowly is thrown, where others push it.
            after = self._collided(place, instant, rates, own).after[: len(which)]
            slow &= after <= lowest
        return self._collided(place, instant, rates, np.where(slow, 0.0, own)), slow

    def _collided(
        self, place: DecisionState, instant: TouchingContacts, rates: Rates, restitution: np.ndarray
    ) -> ContactImpact:
        """Return the impact by the law of the run."""
        which, choices = instant.which, self._choices
        velocities = np.concatenate([rates.gaps[which], rates.slips[which].ravel()])
        try:
            return collide(
                instant.contacts,
                velocities,
                choices.impact,
                restitution,
                rates.tangential_restitution[which],
                order=self._order(instant),
                on_gain=choices.on_gain,
                springs=self._springs,
            )
        except ContactError as error:
            raise at(place.time, error, self._numbers.directions) from error
        except UnsupportedError as error:
            raise ResetError(f"at t = {place.time:.10g} s {error}") from error

    def _order(self, instant: TouchingContacts) -> list[str] | None:
        """Return the order of impacts among the contacts that touch."""
        order = self._choices.impact_order
        return None if order is None else [k for k in order if k in instant.contacts.names]

    def _settle_gaps(
        self, place: DecisionState, instant: TouchingContacts, rates: Rates, lowest: np.ndarray
    ) -> tuple[DecisionState, Rates]:
        """Let contacts stay that hardly part, or hardly meet; those that stick still do."""
        which = instant.which
        speeds = rates.gaps[which]
        stay = np.abs(speeds) <= lowest
        if not np.any(speeds[stay]):
            return place, rates
        sticks = stay & rates.resting[which] & self._numbers.rubs[which]
        own = np.flatnonzero(np.concatenate([stay, sticks.repeat(self._numbers.directions)]))
        answer = instant.contacts.matrix[np.ix_(own, own)]
        wanted = np.concatenate([-speeds, np.zeros(len(instant.rows) - len(which))])[own]
        place = place.pushed(
            instant.thrown[:, own], shortest_solution(answer, wanted, rcond=PARALLEL)
        )
        # What hardly parts may take others with it, as the middle one of three feet.
        after, stays = self._numbers.rates(place), rates.gaps == 0.0
        stays[which[stay]] = True
        after = without_rounding(after, with_larger_sizes(rates, after), stays, rates.resting)
        return place, replace(rates, gaps=after.gaps, slips=after.slips)

    def _pushed(
        self, place: DecisionState, instant: TouchingContacts, impulses: np.ndarray
    ) -> tuple[DecisionState, Impact]:
        """Return the place after an impact, and its record with the energy without a work."""
        place_after = place.pushed(instant.thrown, impulses)
        labels = self.dynamics.labels.reactions
        kept = instant.kept @ impulses
        named = dict(zip(labels, kept.tolist(), strict=True))
        count = len(instant.which)
        for k, contact in enumerate(map(int, instant.which)):
            normal, tangents = self._numbers.reactions[contact]
            if normal is not None:
                named[labels[normal]] = float(impulses[k])
            along = impulses[count + k * self._numbers.directions :]
            for tangent, impulse in zip(tangents, along.tolist(), strict=False):
                named[labels[tangent]] = impulse
        parts = self.dynamics.matrices(place.time, place.x, place.p)
        mass, rubbing = parts["mass"], parts["influence"] @ kept
        for row, slopes in zip(self.dynamics.rows, parts["jacobian"], strict=True):
            if row.reaction is not None:
                rubbing = rubbing - kept[row.reaction] * slopes
        first = self.dynamics.position_count
        before, after = place.x[first:], place_after.x[first:]
        kinetic, remaining = (float(v @ mass @ v) / 2.0 for v in (before, after))
        work = float((impulses @ instant.rows + rubbing) @ (before + after)) / 2.0
        miss = abs(remaining - kinetic - work) / kinetic if kinetic > 0.0 else 0.0
        return place_after, Impact(named, kinetic, remaining, miss)

    def end_slips(
        self, place: DecisionState, closed: np.ndarray, rates: Rates, error: NoMotion | None = None
    ) -> tuple[DecisionState, Rates, Impact]:
        """Return place, rates and impact after the impact without a collision of some contacts.

        Raises
        ------
        JamEvent, NoMotion
            It is not wanted, or there is none.
        """
        instant = self._numbers.at_impact(place, closed, rates)
        slips = rates.slips[instant.which]
        names = growth(self._numbers, instant, slips, place.p).names
        contacts = instant.contacts if error else beyond_jam(instant.contacts)
        try:
            found = impact_without_collision(
                contacts, np.concatenate([np.zeros_like(slips), slips])
            )
        except ContactError as none:
            raise stopped_by_jam(place.time, names, error, none) from none
        if self._choices.on_jam == "end":
            raise stopped_by_jam(place.time, names, error)
        place, impact = self._pushed(place, instant, found.impulses)
        after = self._numbers.rates(place)
        none = np.zeros_like(closed)
        return place, without_rounding(after, with_larger_sizes(rates, after), none, none), impact

    def separate(self, place: DecisionState, opening: np.ndarray) -> DecisionState:
        """Let no gap that opens close by rounding: it would be met again at once."""
        for _ in range(MOST_IMPACTS):
            rates = self._numbers.rates(place)
            closing = opening & (rates.gaps < 0.0)
            if not closing.any():
                break
            instant = self._numbers.instant(place, closing, rates)
            count = len(instant.which)
            answers = np.diag(instant.contacts.matrix)[:count]
            pushes = -2.0 * rates.gaps[instant.which] / answers
            place = place.pushed(instant.thrown[:, :count], pushes)
        return place


def _rounding(instant: TouchingContacts, rates: Rates) -> np.ndarray:
    """Return the rates of gaps that are rounding beside those which other contacts would give."""
    count = len(instant.which)
    answers = np.abs(instant.contacts.matrix[:count, :count])
    alone = np.abs(rates.gaps[instant.which]) / np.maximum(np.diag(answers), 1e-300)
    return STILL * np.max(answers * alone * (1.0 - np.eye(count)), axis=1, initial=0.0)


def at(time: float, error: ContactError, directions: int = 1, onward: str = "") -> ContactError:
    """Return the error with the time when it happened, and with what to ask for."""
    # Where contacts have two directions of slip, undetermined loads decide how they slide.
    advice = f"; {SHARED}" if isinstance(error, UndeterminedContact) and directions > 1 else ""
    return type(error)(f"at t = {time:.10g} s {error}{onward}{advice}", error.solution)


def with_larger_sizes(rates: Rates, others: Rates) -> Rates:
    """Return rates with the larger of the sizes of their terms."""
    return replace(
        others,
        gap_sizes=np.maximum(rates.gap_sizes, others.gap_sizes),
        slip_sizes=np.maximum(rates.slip_sizes, others.slip_sizes),
    )


def without_rounding(rates: Rates, sizes: Rates, held: np.ndarray, stopped: np.ndarray) -> Rates:
    """Return rates of which those that are rounding, or known to be zero, are zero."""
    still = held | (np.abs(rates.gaps) <= STILL * sizes.gap_sizes)
    slow = speeds_of(rates.slips) <= STILL * speeds_of(sizes.slip_sizes)
    return rates.with_zeros(still, stopped | slow)
