"""What resets change, from names and expressions to rows in the symbols of the equations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import casadi as ca

from daesolve.dynamics import GoalRow, ResetRow
from daesolve.errors import PosingError, unknown_name
from daesolve.events import Event, Reset
from daesolve.goals import Expression, Goal, as_scalar
from daesolve.symbols import Parameters


def reset_rows(
    events: Sequence[Event],
    states: Sequence[str],
    discrete: Parameters,
    rows: Iterable[GoalRow],
    written: Callable[[Expression], ca.SX],
    momentary: Callable[[Goal], GoalRow],
) -> dict[int, ResetRow]:
    """Return the resets of events by their index.

    Parameters
    ----------
    events, states, discrete
        The events, and the names of what they may change.
    rows
        The constraints of the system.
    written
        Writes an expression in the symbols of the equations.
    momentary
        Differentiates a constraint that holds for the instant alone.

    Raises
    ------
    UnknownNameError
        A change is of nothing that the system has, or a goal to impose is none of its.
    PosingError
        A constraint cannot be imposed.
    """
    goals = {row.name: row for row in rows}
    own: dict[int, GoalRow] = {}
    found: dict[int, ResetRow] = {}
    for index, event in enumerate(events):
        reset = event.then.reset
        if reset is None:
            continue
        for entry in reset.impose:
            if isinstance(entry, Goal) and id(entry) not in own:
                own[id(entry)] = _momentary(entry, goals, momentary)
        found[index] = _row(event, reset, (states, discrete), goals, own, written)
    return found


def _row(
    event: Event,
    reset: Reset,
    names: tuple[Sequence[str], Parameters],
    goals: Mapping[str, GoalRow],
    own: Mapping[int, GoalRow],
    written: Callable[[Expression], ca.SX],
) -> ResetRow:
    states, discrete = names
    fired = ca.SX.sym(f"fired_{event.name}", event.count)  # pyright: ignore
    new_states: dict[int, ca.SX] = {}
    new_values: dict[str, ca.SX] = {}
    for name, expression in reset.changes_where(event.name, fired).items():
        if name in discrete:
            new_values[name] = written(expression)
        elif name in states:
            new_states[states.index(name)] = written(expression)
        else:
            raise unknown_name("state or discrete value to reset", name, [*states, *discrete.names])
    for entry in reset.impose:
        if isinstance(entry, str) and entry not in goals:
            raise unknown_name(f"goal to impose at the event {event.name!r}", entry, goals)
    imposed = [goals[e] if isinstance(e, str) else own[id(e)] for e in reset.impose]
    for row in [*goals.values(), *imposed] if imposed else []:
        if row.kind == "control" or row.typical is not None:
            raise PosingError(
                f"the event {event.name!r} imposes constraints, but {row.name!r} is not linear in "
                "the velocities of a mechanical system"
            )
    return ResetRow(
        fired=fired,
        states=new_states,
        values=new_values,
        imposed=tuple(row.name for row in imposed),
        momentary=tuple(row for row in imposed if row.name not in goals),
        restitution=written(as_scalar("the restitution", reset.restitution)),
        sequential=reset.order == "sequential",
    )


def _momentary(
    goal: Goal, goals: Mapping[str, GoalRow], row_of: Callable[[Goal], GoalRow]
) -> GoalRow:
    if goal.name in goals:
        raise PosingError(
            f"the constraint {goal.name!r}, which is imposed for an instant, has the name of a "
            "goal of the system: impose that by its name, or rename it"
        )
    if not goal.ideal or goal.from_start or goal.singular_at_rest:
        raise PosingError(
            f"the constraint {goal.name!r}, which is imposed for an instant, must be ideal and "
            "linear in the velocities"
        )
    return row_of(goal)
