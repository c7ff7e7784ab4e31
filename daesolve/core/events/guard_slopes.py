"""Slopes of guards by the state: which guards pass at once, and where no run may start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import Place
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.resting import slopes_of_guards
from daesolve.errors import InconsistentStateError

STARTS = 1e-9
"""The fraction of its terms by which a start may lie beyond a barrier by rounding."""
PARALLEL = 1e-6
"""The sine of the angle between two slopes up to which they count as parallel."""
LEAST = 1e-3
"""Each state counts as at least this fraction of the largest."""


def at_once(
    book: GuardBook, problem: OdeProblem, place: Place, found: Collection[int], accuracy: float
) -> list[int]:
    """Return the guards that pass with those found, as a solver cannot determine which is first.

    Guards of time alone have no error of a solver, and those whose slopes are parallel have it in
    common, as both ends of a window: their order is known, however near they are. Without this
    error the latter are at zero together, or they pass one after the other.

    Parameters
    ----------
    book, problem
        The guards, and what they are functions of.
    place
        Time, state and values.
    found
        Guards that pass zero there.
    accuracy
        To what part of the largest value met guards are known.
    """
    if not found:
        return []
    near = [guard for guard in book.nearly(place, accuracy) if guard not in found]
    if not near:
        return []
    values, _ = book.measure(*place)
    slopes = slopes_of_guards(problem, *place)[0] * _sizes(place[1])
    lengths = np.linalg.norm(slopes, axis=1)
    units = np.divide(
        slopes, lengths[:, None], out=np.zeros_like(slopes), where=lengths[:, None] > 0
    )

    def is_later(one: int, other: int) -> bool:
        if not (lengths[one] > 0.0 and lengths[other] > 0.0):
            return True
        along = float(units[one] @ units[other])
        if float(np.linalg.norm(units[one] - along * units[other])) > PARALLEL:
            return False
        shared = along * values[other] * lengths[one] / lengths[other]
        return bool(book.traits.ways[one] * (values[one] - shared) < -book.tolerances[one])

    return [one for one in near if not any(is_later(one, other) for other in found)]


def beside(book: GuardBook, place: Place) -> list[int]:
    """Return the guards of either direction that are at zero where another has interrupted.

    The motion restarts from there, so that no solver would find them.

    Parameters
    ----------
    book, place
        As in `at_once`.
    """
    if not book.traits.either.any():
        return []
    values, rates = book.measure(*place)
    there = (np.abs(values) <= book.tolerances) & (place[0] > book.passed)
    # Late in time, it is past zero at the number of time at which both have passed.
    tick = np.spacing(abs(place[0]))
    past = (values * rates > 0.0) & (np.abs(values) <= 2.0 * tick * np.abs(rates))
    there |= past & (place[0] - book.passed > 8.0 * tick)
    return np.flatnonzero(book.traits.either & there & (rates != 0.0)).tolist()


def refuse_start(
    book: GuardBook, problem: OdeProblem, place: Place, closing: Mapping[str, str]
) -> None:
    """Refuse a start beyond a barrier of the state, where no motion makes sense.

    Parameters
    ----------
    book, problem
        The guards, and what they are functions of.
    place
        Time, state and values.
    closing
        The titles of unilateral goals, by the names of the events at which they close.

    Raises
    ------
    InconsistentStateError
        The message names the event or the goal.
    """
    values, _ = book.at(*place)
    ways, traits = book.traits.ways, book.traits
    past = traits.bars_start & ~traits.whenever & (ways * values > 0.0)
    if not past.any():
        # Slopes of reactions are large functions: they are built where they are needed.
        return
    slopes = np.abs(slopes_of_guards(problem, *place)[0])
    past &= slopes.any(axis=1)
    past &= ways * values > STARTS * slopes @ _sizes(place[1])
    for guard in np.flatnonzero(past).tolist():
        if (title := closing.get(book.table.guarded[guard].name)) is not None:
            raise InconsistentStateError(
                f"the start lies beyond {title}, whose gap is "
                f"{values[guard]:.6g}: start where no gap is negative"
            )
        raise InconsistentStateError(
            f"the start lies beyond the barrier of the event "
            f"{book.table.guarded[guard].name!r}, where its guard is {values[guard]:.6g}: "
            f"start where it is {'positive' if ways[guard] < 0 else 'negative'}"
        )


def rounding_at_start(problem: OdeProblem, place: Place) -> np.ndarray:
    """Return how far from zero each guard may be by rounding where a run continues another.

    Parameters
    ----------
    problem, place
        As in `refuse_start`.
    """
    return STARTS * np.abs(slopes_of_guards(problem, *place)[0]) @ _sizes(place[1])


def near_at_start(
    problem: OdeProblem, place: Place, fired: Mapping[str, Sequence[int]]
) -> np.ndarray:
    """Return how far from zero guards may be that fired where a run continues another, (guards,).

    Times are rounded as well: a fast guard is off zero by its rate times that. It is -1 for guards
    that have not fired.

    Parameters
    ----------
    problem, place
        As in `refuse_start`.
    fired
        See `Continuation`.
    """
    firsts: dict[str, int] = {}
    has = np.zeros(len(problem.guarded), dtype=bool)
    for guard, event in enumerate(problem.guarded):
        has[guard] = guard - firsts.setdefault(event.name, guard) in fired.get(event.name, ())
    if not has.any():
        return np.full(len(has), -1.0)
    by_state, by_time = (np.abs(each) for each in slopes_of_guards(problem, *place))
    speeds = np.abs(np.asarray(problem.rhs(*place))).ravel()
    rounded = by_state @ np.maximum(_sizes(place[1]), abs(place[0]) * speeds)
    return np.where(has, STARTS * (rounded + by_time * abs(place[0])), -1.0)


def _sizes(x: np.ndarray) -> np.ndarray:
    return np.maximum(np.abs(x), LEAST * np.max(np.abs(x), initial=0.0))
