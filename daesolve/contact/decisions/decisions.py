"""The next states of contacts, decided for all of them together.

At every event all contacts with a zero gap and zero gap speed are decided together, from the rates
of gaps and slips without reactions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.decisions.answers import Decision
from daesolve.contact.decisions.enumeration import MOST_MODES, all_answers
from daesolve.contact.decisions.modes import choices_of, count_of
from daesolve.contact.decisions.pivoting import branched_answers, one_answer
from daesolve.contact.decisions.spatial import spatial_answers
from daesolve.contact.decisions.touching import TOLERANCE, Contacts, ScaledProblem, scaled_problem
from daesolve.errors import OutOfRangeError, PosingError, unknown_name

MOST_BRANCHED = 65536
"""The number of modes up to which all that may have an answer are solved: eight contacts at
rest."""
METHODS = ("auto", "enumerate", "branch", "pivot", "cone")
NOT_PROVED = "that there is no other answer is not proved"
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
        "pivot": one answer in the plane, by Lemke's pivots, without separate static friction.
        "cone": answers found by relaxation and Newton's method for contacts at rest in space, all
        answers for a single one. "auto": "cone" for those; otherwise "enumerate" up to `MOST_MODES`
        modes, "branch" up to `MOST_BRANCHED`, and beyond that "pivot", or "branch" if that is not
        possible or finds nothing.
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
    if method == "auto":
        method = "cone" if turning else _affordable(problem)
    if turning is not (method == "cone") or (method == "pivot" and contacts.directions > 1):
        need = (
            "at rest in space they need 'cone'" if turning else "they need 'enumerate' or 'branch'"
        )
        raise PosingError(f"the method {method!r} does not support these contacts: {need}")
    if method == "pivot" and _holds_more(contacts):
        raise PosingError(
            "pivots do not support static friction larger than sliding friction: use 'branch'"
        )
    if method == "enumerate":
        return Decision(all_answers(problem), True, method)
    if method == "branch":
        return Decision(branched_answers(problem), True, method)
    if method == "pivot":
        answer = one_answer(problem)
        return Decision(() if answer is None else (answer,), False, method, (NOT_PROVED,))
    answers, complete = spatial_answers(problem)
    return Decision(answers, complete, method, () if complete else (NOT_PROVED,))


def _affordable(problem: ScaledProblem) -> str:
    """Return the method for contacts with known directions, from the number of modes."""
    count = count_of(choices_of(problem))
    if count <= MOST_MODES:
        return "enumerate"
    no_pivots = problem.contacts.directions > 1 or _holds_more(problem.contacts)
    if count <= MOST_BRANCHED or no_pivots:
        return "branch"
    return "branch" if one_answer(problem) is None else "pivot"


def _holds_more(contacts: Contacts) -> bool:
    """Return whether static friction exceeds sliding friction anywhere."""
    return bool(np.any(contacts.static > contacts.friction))


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
