"""What decisions on contacts evaluate, and whether all bodies rest on them and stay there."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.contact.decisions import ContactSolution, ContactState
from daesolve.contact.laws.frictional_instant import ContactNumbers, DecisionState, TouchingContacts
from daesolve.contact.posing.contact_rows import SpatialContactFriction, contacts_in
from daesolve.core.equations.additions import TOUCHING
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.jumps import with_references
from daesolve.core.events.law import Setting
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol

SHARED = (
    "the bodies rest from the start on, and how the contacts share the load is not determined: "
    "the reactions shown belong to just enough constraints to hold them"
)
STILL = 1e-10
"""A speed or an acceleration below this fraction of its terms counts as zero."""


BACK = 2.0
"""How many times as high as it is past zero a gap must bounce at least: it is met again above."""


def gaps_at_zero(
    book: GuardBook, guards: np.ndarray, gaps: np.ndarray, fired: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return which gaps, (n,), are at zero, and what of each counts as zero.

    Late in time a gap is met past zero, by what it moves in the rounding of time.

    Parameters
    ----------
    book, guards
        What is known of guards, and which of them are the gaps.
    gaps, fired
        Their values, and the guards that fire.
    """
    zero = np.maximum(book.tolerances[guards], TOUCHING)
    met = np.isin(guards, list(fired)) | (gaps <= zero)
    return met, np.where(met, np.maximum(zero, -BACK * gaps), zero)


def references_of(dynamics: Dynamics, size: int) -> Evaluator:
    """Return (t, x, works, p) -> values with the references of the motion that begins there.

    `size` is that of the state of the problem, with works.
    """
    t, x, p = dynamics.t, dynamics.x, dynamics.p
    works = symbol("works", size - x.numel())
    values = with_references(dynamics, t, x, p, works)
    return Evaluator(ca.Function("references", [t, x, works, p], [values]))


class ContactFunctions:
    """The contacts of a problem, its motion, and the values to which it refers."""

    def __init__(self, setting: Setting) -> None:
        dynamics, problem = setting.dynamics, setting.problem
        self.numbers = ContactNumbers(dynamics)
        self.rate = Evaluator(problem.rhs)
        self._guards = Evaluator(problem.guards)
        self.timed = is_timed(dynamics)
        self._references = references_of(dynamics, problem.size)

    def later(self, place: DecisionState, p: np.ndarray, step: float) -> DecisionState:
        """Return the place a step later in the mode of p, s."""
        whole = stepped(self.rate, place.time, place.whole, p, step)
        return place.later(step, whole, p)

    def guards(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return all guards by functions of all modes: nothing is built for that of p."""
        return self._guards(time, x, p)[0]

    def referred(self, place: DecisionState, p: np.ndarray) -> np.ndarray:
        """Return values with the references of the motion that begins here."""
        return np.array(self._references(place.time, place.x, place.works, p)[0])


def functions_of(setting: Setting) -> ContactFunctions:
    """Return those of a problem, which are built once."""
    if setting.problem not in _functions:
        _functions[setting.problem] = ContactFunctions(setting)
    return _functions[setting.problem]


_functions: WeakKeyDictionary[OdeProblem, ContactFunctions] = WeakKeyDictionary()


def length_of(zero: np.ndarray) -> float:
    """Return the size of bodies, m, from what counts as zero of gaps; without any it is one."""
    return 1e12 * float(np.max(zero, initial=TOUCHING if not zero.size else 0.0))


def fall_speed(instant: TouchingContacts, zero: np.ndarray) -> float:
    """Return the speed that bodies reach in a fall through their own size, m/s."""
    return float(np.sqrt(length_of(zero) * float(np.max(instant.size))))


def stepped(rate: Evaluator, time: float, x: np.ndarray, p: np.ndarray, step: float) -> np.ndarray:
    """Return the state a step later, by the classical method of order 4."""

    def slope(part: float, state: np.ndarray) -> np.ndarray:
        return np.array(rate(time + part * step, state, p)[0])

    first = slope(0.0, x)
    second = slope(0.5, x + 0.5 * step * first)
    third = slope(0.5, x + 0.5 * step * second)
    fourth = slope(1.0, x + step * third)
    return x + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)


def at_rest(
    instant: TouchingContacts, answer: ContactSolution, velocities: np.ndarray, length: float
) -> bool:
    """Return whether nothing moves or begins to move.

    Parameters
    ----------
    instant, answer
        What touches, and what it does next.
    velocities
        (nv,)
    length
        The size of the motion, m: a fall through it has the speeds with which others compare.
    """
    if not all(
        state is ContactState.STICKS for state in answer.states if state is not ContactState.OPEN
    ):
        return False
    left = instant.accelerations + instant.thrown @ answer.reactions
    return are_still(instant, velocities, left, length)


def are_still(
    instant: TouchingContacts, velocities: np.ndarray, left: np.ndarray, length: float
) -> bool:
    """Return whether velocities and the accelerations that are left, (nv,) each, are none."""
    pull = max(float(np.max(instant.size)), float(np.max(np.abs(instant.accelerations))))
    slow = STILL * np.sqrt(length * pull)
    return bool(np.all(np.abs(velocities) <= slow) and np.all(np.abs(left) <= STILL * pull))


def is_timed(dynamics: Dynamics) -> bool:
    """Return whether the loads on bodies depend on time."""
    rows = [part for row in dynamics.rows for part in (row.bias, row.jacobian)]
    acting = ca.veccat(dynamics.mass, dynamics.force, dynamics.influence, *rows)
    rubbing = [row.rubbing for row in contacts_in(dynamics)]
    turning = [
        place for r in rubbing if isinstance(r, SpatialContactFriction) for place in r.turning
    ]
    if turning:
        # The direction of a slip that begins turns with the time; what rests has none.
        acting = ca.substitute(acting, dynamics.p[turning], ca.SX.zeros(len(turning)))
    return bool(ca.depends_on(acting, dynamics.t))
