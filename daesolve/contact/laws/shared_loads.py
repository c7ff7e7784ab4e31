"""Loads that contacts in space share without being determined, as under four feet of one body.

Where none of the ways to share a load moves anything, the motion goes on, and the contacts bear
what equal springs under all of them would. That is so while a body slides without a spin: friction
has one direction under all feet. Where it begins to turn, loads decide how, and the run ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from daesolve.contact.decisions import decide
from daesolve.contact.laws.frictional_instant import (
    ContactNumbers,
    DecisionState,
    TouchingContacts,
    speeds_of,
)
from daesolve.contact.laws.redundant_contacts import PARALLEL
from daesolve.contact.laws.shared_friction import independent
from daesolve.contact.posing.contact_rows import SpatialContactFriction
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.watches.passage_watch import Breach
from daesolve.core.run.integration.watches.watch import Loss, MeasuredSteps, Watch
from daesolve.errors import UndeterminedContact

DECIDES = 1e-6
"""The part of its terms that a share of the load must change of the motion to decide it, where the
slips are as large as they have been."""
SPARE = 1e-6
"""The part of their friction that contacts have left which other loads would hold."""
FAINT = 1e8
"""How many times what counts as no slip is the slip from which directions are known well enough."""


def effect_of_shares(
    instant: TouchingContacts, friction: np.ndarray, slips: np.ndarray, fastest: float
) -> float:
    """Return how much of the motion a share of the load could change, as a part of its terms.

    Parameters
    ----------
    instant
        What touches.
    friction, slips
        (n,) mu of what slides, zero of what sticks, and (n, 2) its slips, m/s.
    fastest
        The fastest slip so far, m/s: where slips are much smaller, their directions are rounding.
    """
    count, matrix = instant.contacts.count, instant.contacts.matrix
    lengths = np.sqrt(np.diag(matrix)[:count])
    values, vectors = np.linalg.eigh(matrix[:count, :count] / np.outer(lengths, lengths))
    idle = vectors[:, values <= PARALLEL * count] / lengths[:, None]
    speeds = speeds_of(slips)
    slowest = float(np.min(speeds[speeds > 0.0], initial=np.inf))
    if not idle.size or not slowest <= fastest:
        return 0.0
    ways = slips / np.where(speeds > 0.0, speeds, 1.0)[:, None]
    pulls = -friction[:, None, None] * ways[:, :, None] * idle[:, None, :]
    moved = matrix[:, count:] @ pulls.reshape(2 * count, -1)
    terms = np.abs(matrix[:, count:]) @ np.abs(pulls).reshape(2 * count, -1)
    part = float(np.max(np.abs(moved), initial=0.0) / (np.max(terms, initial=0.0) or 1.0))
    return part * slowest / fastest


@dataclass(frozen=True)
class LoadsDecide(Breach):
    """Where undetermined loads begin to decide how bodies slide on."""

    @property
    def sentence(self) -> str:
        """What happened, and what to change."""
        names = ", ".join(map(repr, self.goals))
        return (
            f"at t = {self.time:.10g} s the contacts {names} begin to slide in different "
            "directions, and their loads, which are not determined, decide how: pose fewer "
            "contacts, or set redundant = 'minimum-norm', which uses the loads that equal springs "
            "under all of them would have"
        )


class SharedLoadWatch(Watch):
    """Ends a run where loads that nothing determines begin to decide how bodies slide on."""

    when = "dynamics.shares_loads"

    def __init__(self, prepared: Prepared) -> None:
        self._numbers = ContactNumbers(prepared.dynamics)
        rubbing = [r for r in self._numbers.rubbing if isinstance(r, SpatialContactFriction)]
        self._still = [r.still for r in rubbing]
        self._last: tuple[float, np.ndarray] | None = None
        self._fastest = 0.0

    @classmethod
    def of(cls, prepared: Prepared) -> Self | None:
        """Watch runs with loads that may be shared and were not asked to be as by springs."""
        shares = prepared.problem.plan.proximal and not prepared.request.choices.springs
        return cls(prepared) if shares else None

    def judge(self, steps: MeasuredSteps) -> Loss | None:
        """Return the first step at which loads decide."""
        for k, (time, state) in enumerate(zip(steps.times.tolist(), steps.states, strict=True)):
            values = steps.values[k] if steps.joined else steps.values
            names = self._deciding(time, state, values)
            if names:
                last_time, last_state = self._last or (time, state.copy())
                return LoadsDecide(
                    time, last_time, last_state, UndeterminedContact.event, names, ""
                )
            self._last = time, state.copy()
        return None

    def forget(self) -> None:
        """Continue with a state whose meaning has changed."""
        self._last, self._fastest = None, 0.0

    def _deciding(self, time: float, state: np.ndarray, p: np.ndarray) -> tuple[str, ...]:
        """Return the contacts whose loads decide at a step."""
        numbers, count = self._numbers, self._numbers.dynamics.x.numel()
        closed = numbers.closed(p)
        slides = closed & self._numbers.rubs & ~self._numbers.stuck(p)
        if np.sum(closed) < 4 or not slides.any():
            self._fastest = 0.0
            return ()
        place = DecisionState(time, state[:count], state[count:], p)
        rates = numbers.rates(place)
        slips = np.where(slides[:, None], rates.slips, 0.0)[closed]
        clear = FAINT * float(np.max(p[self._still]))
        self._fastest = max(self._fastest, clear, float(np.max(speeds_of(slips))))
        instant = numbers.instant(place, closed, rates)
        effect = effect_of_shares(instant, instant.contacts.friction, slips, self._fastest)
        return instant.contacts.names if effect > DECIDES else ()


def share_loads(instant: TouchingContacts) -> bool:
    """Return whether some gaps follow from others, so that loads are not determined."""
    count = instant.contacts.count
    return len(independent(instant.contacts.matrix, [], range(count))) < count


def said_of(instant: TouchingContacts) -> str:
    """Say that contacts share loads which do not matter."""
    names = ", ".join(map(repr, instant.contacts.names))
    return (
        f"the contacts {names} share loads that are not determined: the reactions shown are those "
        "of equal springs under all of them, and the motion is the same for any"
    )


def check_letting_go(instant: TouchingContacts, slips: np.ndarray) -> None:
    """Refuse contacts that let go with some loads, while others would hold them.

    Raises
    ------
    UndeterminedContact
        They would also stick with a little less friction.
    """
    contacts, less = instant.contacts, 1.0 - SPARE
    weaker = replace(
        contacts, friction=less * contacts.friction, static_friction=less * contacts.static
    )
    found = decide(weaker, instant.free, slips).answers
    if found and not any(state.slides for state in found[0].states):
        names = ", ".join(map(repr, contacts.names))
        raise UndeterminedContact(
            f"at t = {instant.time:.10g} s the contacts {names} let go or hold depending on their "
            "loads, which are not determined: pose fewer contacts, or set redundant = "
            "'minimum-norm', which uses the loads that equal springs under all of them would have",
            found[0],
        )
