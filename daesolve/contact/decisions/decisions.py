"""The next states of contacts, decided for all of them together.

At every event all contacts with a zero gap and zero gap speed are decided together, from the rates
of gaps and slips without reactions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.decisions.answers import ContactSolution, Decision
from daesolve.contact.decisions.enumeration import MOST_MODES, all_answers
from daesolve.contact.decisions.modes import choices_of, count_of
from daesolve.contact.decisions.pivoting import (
    branched_answers,
    one_answer,
    pivoted_answer,
    supports_pivots,
)
from daesolve.contact.decisions.spatial import spatial_answers
from daesolve.contact.decisions.touching import TOLERANCE, Contacts, ScaledProblem, scaled_problem
from daesolve.contact.decisions.uniqueness import is_only_motion
from daesolve.errors import OutOfRangeError, PosingError, unknown_name

MOST_ENUMERATED = 5
"""The number of contacts up to which all modes are solved, and hence all answers known."""
METHODS = ("auto", "enumerate", "branch", "newton", "pivot", "cone")
NOT_PROVED = "that there is no other answer is not proved"
NOT_ALONE = (
    "where several contacts touch at once, the motion is not known to be the only one: it fulfils "
    "all conditions of the contacts, but that no other does is not proved"
)
"""What a run says once of such decisions."""
CLOSURES = ("equal springs",)
ASSUMED = "equal springs are assumed"


def decide(
    contacts: Contacts,
    free: ArrayLike,
    slip: ArrayLike | None = None,
    *,
    method: str = "auto",
    closure: str | None = None,
    tolerance: float = TOLERANCE,
) -> Decision:
    """Decide which contacts open, stick and slide, and in which direction.

    Parameters
    ----------
    contacts
        All contacts with zero gap and zero gap speed.
    free
        Accelerations of gaps and slips without reactions, in the order of the rows: (k,).
    slip
        Slip velocities (n,) in the plane, (n, 2) in space; exactly zero for a contact at rest.
        None: all are at rest.
    method
        "enumerate": all modes and hence all answers, if directions of sliding are known, as always
        in the plane. "branch": the same, without modes that a linear programme proves impossible.
        "newton": one answer, by Newton's method, then by Lemke's pivots. "pivot": one answer in
        the plane, by pivots alone, without separate static friction. "cone": answers for contacts
        at rest in space, all answers for a single one; beyond a few contacts one answer, by
        Newton's method. "auto": "cone" for those; otherwise "enumerate" up to `MOST_ENUMERATED`
        contacts, and beyond that "newton", or all answers if that finds none.
    closure
        "equal springs": if undetermined normal reactions decide how a body keeps sliding, use those
        of equal springs under all contacts. None: the motion is not determined.
    tolerance
        The accepted violation of a condition, relative to its terms. An instant this close to a
        border between modes lies on it: `ContactSolution.also`.

    Raises
    ------
    PosingError, OutOfRangeError
        Shapes disagree, or numbers are not finite.
    UnknownNameError
        The method or closure is unknown.
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if closure is not None and closure not in CLOSURES:
        raise unknown_name("closure", closure, CLOSURES)
    rates = contacts.vector("the rates without reactions", free)
    sliding, springs = directions_of(contacts, slip), closure is not None
    return decided(
        scaled_problem(contacts, rates, sliding=sliding, springs=springs, tolerance=tolerance),
        method,
    )


def decided(problem: ScaledProblem, method: str = "auto") -> Decision:
    """Decide a problem in its own units; see `decide`."""
    found = _decided(problem, method)
    return replace(found, notes=(*found.notes, ASSUMED)) if problem.springs else found


def _decided(problem: ScaledProblem, method: str) -> Decision:
    contacts = problem.contacts
    resting = ~problem.sliding.any(axis=1)
    turning = contacts.directions == 2 and bool(np.any(resting & (contacts.static > 0.0)))
    if method == "auto" and not turning:
        if contacts.count > MOST_ENUMERATED:
            answer = one_answer(problem)
            if answer is not None:
                return _one_decision(problem, answer, "newton")
        method = "enumerate" if count_of(choices_of(problem)) <= MOST_MODES else "branch"
    method = "cone" if method == "auto" else method
    if turning is not (method == "cone"):
        need = "'cone'" if turning else "'enumerate', 'branch' or 'newton'"
        raise PosingError(
            f"the method {method!r} does not support these contacts: they need {need}"
        )
    match method:
        case "enumerate":
            return Decision(all_answers(problem), True, method)
        case "branch":
            return Decision(branched_answers(problem), True, method)
        case "pivot":
            if not supports_pivots(problem):
                raise PosingError(
                    "pivots support only contacts in the plane, without static friction larger "
                    "than sliding friction: use 'branch'"
                )
            return _one_decision(problem, pivoted_answer(problem), method)
        case "newton":
            return _one_decision(problem, one_answer(problem), method)
        case _:
            answers, complete = spatial_answers(problem)
            return Decision(answers, complete, method, () if complete else (NOT_PROVED,))


def _one_decision(problem: ScaledProblem, answer: ContactSolution | None, method: str) -> Decision:
    """Return a decision of an answer, with whether there is surely no other."""
    if answer is None:
        return Decision((), False, method, (NOT_PROVED,))
    complete = is_only_motion(problem)
    return Decision((answer,), complete, method, () if complete else (NOT_PROVED,))


def directions_of(contacts: Contacts, slip: ArrayLike | None) -> np.ndarray:
    """Return the unit vectors in which contacts slide, zero at rest.

    Raises
    ------
    PosingError
        The shape of the slips is wrong.
    OutOfRangeError
        A slip is not finite.
    """
    shape = (contacts.count, contacts.directions)
    if slip is None:
        return np.zeros(shape)
    given = np.asarray(slip, dtype=float)
    if given.shape != shape and given.shape != (contacts.count,) * (contacts.directions == 1):
        raise PosingError(f"slips must have the shape {shape}, not {given.shape}")
    if not np.all(np.isfinite(given)):
        raise OutOfRangeError("a slip is not a finite number")
    given = given.reshape(shape)
    speeds = np.linalg.norm(given, axis=1, keepdims=True)
    return np.divide(given, speeds, out=np.zeros(shape), where=speeds > 0.0)
