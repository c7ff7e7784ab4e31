"""The rates of goals: checking what users give, and spreading it over the goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from daesolve.core.equations.dynamics import Dynamics, GoalRow, ImplicitRow, InvariantRow
from daesolve.errors import OutOfRangeError, UnsupportedError, check_names, is_number, is_one_of

Rate = float | str | None
Rates = Mapping[str, float | None]


def check_rates(rate: Rate, rates: Rates) -> None:
    """Refuse rates that are not finite numbers >= 0.

    Raises
    ------
    OutOfRangeError
        The message names the goal.
    """
    if not isinstance(rates, Mapping):
        raise OutOfRangeError(f"rates must map goals to rates, not {rates!r}")
    for goal, entry in {"rate": rate, **rates}.items():
        if entry is None or (goal == "rate" and is_one_of(entry, ["auto"])):
            continue
        if not (is_number(entry) and entry >= 0.0):
            owner = f"the rate of {goal!r}" if goal in rates else "the rate"
            raise OutOfRangeError(f"{owner} is {entry!r}, but must be a finite number >= 0")


def common_rate(rate: Rate, default: float) -> float:
    """Return the rate of all goals that have no individual rate."""
    return default if rate is None or rate == "auto" else float(rate)


def constraint_rates(
    rows: Iterable[GoalRow | ImplicitRow], common: float
) -> dict[str, float | None]:
    """Return the individual rates of the goals, else the common one."""
    return {row.name: common if row.chosen_rate is None else row.chosen_rate for row in rows}


def invariant_rates(rows: Iterable[InvariantRow], common: float) -> dict[str, float | None]:
    """Return the rates of driven invariants, and None for measured ones."""
    own = {row.name: common if row.chosen_rate is None else row.chosen_rate for row in rows}
    return {row.name: own[row.name] if row.drive or row.by_relation else None for row in rows}


def with_single(chosen: Mapping[str, float | None], rates: Rates) -> dict[str, float | None]:
    """Insert the rates of single goals; zero means measured, not driven.

    Raises
    ------
    UnknownNameError
        There is no goal of this name that has a rate.
    """
    check_names("goal with a rate", rates, chosen)
    return {goal: rate or None for goal, rate in {**chosen, **rates}.items()}


def refuse_rates(formulation: str, rates: Rates, idle: Iterable[str], why: str) -> None:
    """Refuse rates of goals that a formulation does not drive.

    Raises
    ------
    UnsupportedError
        Such a rate is given.
    """
    for goal in idle:
        if rates.get(goal):
            raise UnsupportedError(
                f"a rate of {goal!r} has no meaning in {formulation}, {why}; leave it out"
            )


def measured(dynamics: Dynamics, common: float) -> dict[str, float | None]:
    """Return no rates, except for implicit equations, which nothing else holds."""
    goals = (*dynamics.rows, *dynamics.invariants)
    return {row.name: None for row in goals} | constraint_rates(dynamics.implicit_rows, common)
