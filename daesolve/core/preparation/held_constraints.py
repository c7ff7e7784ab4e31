"""Checks of constraints that do not always hold, and whose reactions say when they let go."""

from __future__ import annotations

from collections.abc import Mapping

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import Rank
from daesolve.core.formulations import Formulation
from daesolve.errors import OutOfRangeError, RedundantConstraintsError, UnsupportedError

FEWEST: Mapping[str, int] = {"minimum-norm": 1, "error": 4}
"""The least number of unilateral goals that may come to share loads, by the option `redundant`.

With "error", the default, three in a line are refused.
"""


def check_held_goals(
    dynamics: Dynamics, formulation: Formulation, values: Mapping[str, float]
) -> None:
    """Refuse to release constraints in a formulation that cannot do so, or to hold one by half.

    Raises
    ------
    UnsupportedError, OutOfRangeError
        The message names the goal that does not always hold.
    """
    for row in dynamics.rows:
        if row.hold is None:
            continue
        name = row.hold.name()
        if not formulation.releases:
            raise UnsupportedError(
                f"the formulation {formulation.title!r} cannot release constraints such as "
                f"{row.name!r}: use 'feedback', without rank_loss = 'pass' or 'viscous'"
            )
        if values[name] not in (0.0, 1.0):
            raise OutOfRangeError(
                f"the goal {row.name!r} is held by {name!r}, which is {values[name]:g}, but "
                "must be 1.0 (it holds) or 0.0 (it is released)"
            )


def may_share_loads(dynamics: Dynamics, formulation: Formulation, redundant: str) -> bool:
    """Return whether unilateral goals share loads because more hold than are independent.

    A body on four feet has a determined motion, although the loads of its feet are not determined.
    """
    count = sum(row.shares_loads for row in dynamics.unilateral)
    shares = formulation.chooses_goals or redundant == "minimum-norm"
    return shares and count >= FEWEST.get(redundant, count + 1)


def are_unilateral(dynamics: Dynamics, rank: Rank) -> bool:
    """Return whether unilateral goals alone depend on each other."""
    gaps = {dynamics.rows[one.row].name for one in dynamics.unilateral}
    return all(gaps.issuperset(group) for group in rank.groups)


def check_held_reactions(dynamics: Dynamics, rank: Rank, redundant: str) -> None:
    """Refuse dependent constraints whose unknown reactions decide when they are released.

    On request, unilateral goals share loads like equal springs, and are then accepted.

    Raises
    ------
    RedundantConstraintsError
        A goal that does not always hold depends on others.
    """
    held = {row.name for row in dynamics.rows if row.hold is not None}
    if redundant == "minimum-norm":
        held -= {dynamics.rows[one.row].name for one in dynamics.unilateral if one.shares_loads}
    for group in rank.groups:
        if held.intersection(group):
            slips = {row.name for row in dynamics.rows if row.hold is not None and row.degree == 1}
            one = "let one law of friction bear the load of both"
            instead = one if slips.issuperset(group) else "leave out one of them"
            raise RedundantConstraintsError(
                f"the goals {', '.join(map(repr, group))} depend on each other everywhere, so "
                f"their reactions do not show which of them opens; {instead}"
            )
