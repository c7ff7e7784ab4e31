"""What becomes of contacts that touch without a load: the first change of their loads says it.

A contact whose gap and its rate are zero, and that would bear nothing if it were closed, opens if
the first derivative of this load that does not vanish is negative, and pushes if it is positive. If
all vanish it moves as if it was open: it stays closed, with a load that is rounding. Its guard has
a slack then, so that rounding is no event.

The derivatives are not taken. The motion with all these contacts closed goes on by steps of every
length, of a method of order 8, and the shortest after which a load has changed by more than
rounding shows the sign of the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from daesolve.contact.decisions import ContactSolution
from daesolve.contact.laws.frictional_instant import (
    ContactNumbers,
    DecisionState,
    TouchingContacts,
)
from daesolve.contact.laws.shared_friction import independent
from daesolve.contact.posing.contact_rows import SpatialContactFriction
from daesolve.core.equations.additions import TOUCHING
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import Place
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.solvers.dormand_prince import FIFTH, INCREMENTS, PARTS, WEIGHTS

PARTS_OF_TIME = 4.0 ** -np.arange(20.0, -1.0, -1.0)
"""Steps, as parts of the time in which bodies move by their own size."""
LEAST_STEP = 64.0
"""The shortest step, in spacings of the time."""
TIED = 1e-9
"""Below this fraction of what the free motion needs, the first change of a reaction decides."""
CHANGED = 1e-11
"""A load has changed by more than this part of what the free motion needs."""
TRUE = 1e-7
"""A step counts if its companion of order 5 is off by no more than this part of what has moved, or
of what the free motion would have: its own error, of order 8, is rounding then."""
SLACK = 1e-12
"""What of that a load without derivatives may fall below zero by rounding."""
ABOVE = 4.0
"""How many times what counts as zero of a load it is at least: a guard near zero may fire."""
GROWS = 16.0
"""The factor by which a slack grows that rounding has passed."""


def first_changes(
    loads: Callable[[float], np.ndarray], asked: np.ndarray, sizes: np.ndarray, steps: np.ndarray
) -> np.ndarray:
    """Return the first changes of some loads, (n,) N, with zeros for what keeps its load.

    All are after the same step, so that those with more vanishing derivatives are the smaller.

    Parameters
    ----------
    loads
        A step, s, from an instant on -> loads there (n,), N; no numbers where it is too long.
    asked, sizes
        (n,) which of them, and which changes are rounding, N.
    steps
        The steps, s, the shortest first.
    """
    begun, signs = loads(0.0), np.zeros(len(asked))
    before, changes = np.zeros(len(asked)), np.zeros(len(asked))
    for step in steps:
        change = loads(float(step)) - begun
        if not np.all(np.isfinite(change)):
            break
        change = np.where(asked & (np.abs(change) > sizes), change, 0.0)
        new = (signs == 0.0) & (change * before > 0.0)
        if new.any():
            signs, changes = np.where(new, np.sign(change), signs), change
        if np.all((signs != 0.0) | ~asked):
            break
        before = change
    return signs * np.maximum(np.abs(changes), sizes)


def steps_from(time: float, moment: float) -> np.ndarray:
    """Return steps, s, of a motion in which bodies move by their own size in a moment, s."""
    steps = moment * PARTS_OF_TIME
    return steps[steps >= LEAST_STEP * np.spacing(abs(time))]


def advanced(
    rate: Evaluator, place: Place, step: float, pull: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the place a step later, s, by the method of order 8 of Dormand and Prince.

    Its state is no number where the step is too long for the motion. `pull` is the largest
    acceleration of the free motion, m/s^2.
    """
    time, x, p = place
    if step == 0.0:
        return place
    stages = np.zeros((len(WEIGHTS), len(x)))
    for k, part in enumerate(PARTS):
        inner = x + step * (INCREMENTS[k, :k] @ stages[:k])
        stages[k] = np.array(rate(time + part * step, inner, p)[0])
    missed, moved = np.abs(FIFTH[:-1] @ stages), np.abs(stages)
    true = np.max(missed) <= TRUE * max(np.max(moved), pull)
    return time + step, x + step * (WEIGHTS @ stages) if true else np.full(len(x), np.nan), p


def moment_of(length: float, pull: float) -> float:
    """Return the time, s, in which bodies fall through their own size.

    Parameters
    ----------
    length, pull
        What counts as zero of their gaps, m, and the largest acceleration, m/s^2.
    """
    return float(np.sqrt(1e12 * length / pull)) if pull > 0.0 else 1.0


def typical_loads(matrix: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return the sizes of loads, (n,) N, with which terms of accelerations of gaps compare, m/s^2.

    `matrix` is the response of gaps to their loads. Without any terms they are one.
    """
    typical = terms / np.abs(np.diag(matrix))
    return np.where(typical > 0.0, typical, 1.0)


def slack_of(loads: np.ndarray, sizes: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Return what loads of zero may fall by rounding, (n,) N.

    Parameters
    ----------
    loads, sizes, zeros
        (n,) what they are, what the free motion needs, and what counts as zero, N.
    """
    return np.maximum(np.maximum(SLACK * sizes, ABOVE * zeros), -GROWS * loads)


class UnloadedContacts:
    """Which contacts without a load stay closed, where one of all contacts rubs.

    Parameters
    ----------
    numbers, rate
        The contacts, and the rate of the state.
    lost, closing
        The guards of their loads and of their gaps.
    """

    def __init__(
        self, numbers: ContactNumbers, rate: Evaluator, lost: np.ndarray, closing: np.ndarray
    ) -> None:
        self._numbers, self._rate, self._lost, self._closing = numbers, rate, lost, closing

    def likely_modes(
        self,
        place: DecisionState,
        instant: TouchingContacts,
        modes: Sequence[np.ndarray],
        book: GuardBook,
        answer: ContactSolution,
    ) -> tuple[Sequence[np.ndarray], np.ndarray]:
        """Return the modes in which contacts without a load do what its first change says.

        All of them where that is none: what opens changes the loads of others. Also return what the
        loads of all contacts may fall by rounding, (n,) N.

        Parameters
        ----------
        place, instant, modes, book
            The place, what touches, in which modes it may continue, and the history of the guards.
        answer
            What was decided of what touches.
        """
        holds, own = self._numbers.holds, instant.which[instant.which < self._numbers.count]
        sizes, slack = np.ones(len(holds)), np.zeros(len(holds))
        count, matrix = len(own), instant.contacts.matrix[: len(own)]
        terms = np.maximum(instant.size[:count], instant.terms[:count])
        terms += np.abs(matrix) @ np.abs(answer.reactions)
        sizes[own] = typical_loads(matrix, terms)
        pull = float(np.max(instant.size))
        whole = max(modes, key=lambda mode: float(np.sum(mode[holds])))

        def loads(step: float) -> np.ndarray:
            later = advanced(self._rate, (place.time, place.whole, whole), step, pull)
            return book.at(*later)[0][self._lost]

        whole = self._with_barely_open(instant, whole, answer.gap_rates[:count] <= TIED * terms)
        now, zeros = loads(0.0), book.tolerances[self._lost]
        tied = (whole[holds] == 1.0) & (np.abs(now) <= np.maximum(TIED * sizes, zeros))
        if not tied.any():
            return modes, slack
        slack[tied] = slack_of(now, sizes, zeros)[tied]
        zero = float(np.max(book.tolerances[self._closing], initial=TOUCHING))
        moment = moment_of(zero, pull)
        changes = first_changes(loads, tied, CHANGED * sizes, steps_from(place.time, moment))
        stays = changes >= 0.0
        likely = [mode for mode in modes if np.all((mode[holds] == 1.0)[tied] == stays[tied])]
        smooth = tied & ~self._numbers.rubs[: len(holds)]
        if not likely and len(modes) == 1 and np.array_equal(smooth, tied):
            # Accelerations of rounding alone have made it seem loaded.
            opened = whole.copy()
            opened[holds[~stays & tied]] = 0.0
            likely = [opened]
        return likely or modes, slack

    def _with_barely_open(
        self, instant: TouchingContacts, p: np.ndarray, still: np.ndarray
    ) -> np.ndarray:
        """Return p in which smooth contacts are closed that open by accelerations of rounding.

        `still` says which of the contacts that touch have none, (n,).
        """
        numbers, own = self._numbers, instant.which[instant.which < self._numbers.count]
        closed = p[numbers.holds[own]] == 1.0
        opens = still & ~closed & ~numbers.rubs[own] & ~numbers.following(p)[own]
        rows = np.flatnonzero(closed | opens).tolist()
        if not opens.any() or p[numbers.sticks].any():
            return p
        if len(independent(instant.contacts.matrix, [], rows)) < len(rows):
            return p
        p = p.copy()
        p[numbers.holds[own[opens]]] = 1.0
        return p

    def with_slack(self, p: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """Return p in which loads of closed contacts may fall by rounding."""
        slack = np.where(p[self._numbers.holds] == 1.0, slack, 0.0)
        if not slack.any():
            return p
        p = p.copy()
        p[self._numbers.slacks] = slack
        for rubbing, spare in zip(self._numbers.rubbing, slack.tolist(), strict=False):
            if isinstance(rubbing, SpatialContactFriction) and spare > 0.0:
                p[rubbing.bears] = spare
        return p
