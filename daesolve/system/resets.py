"""What resets change, from names and expressions to rows in the symbols of the equations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import casadi as ca

from daesolve.equations.dynamics import Dynamics, GoalRow, ResetRow
from daesolve.errors import PosingError, unknown_name
from daesolve.posing.events import EITHER, Event, Reset
from daesolve.posing.goals import Expression, Goal, as_scalar
from daesolve.posing.symbols import Parameters, symbol

ELSEWHERE = "the constraint {!r}, which is imposed for an instant, "


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
                if any(entry.name == row.name for row in own.values()):
                    raise PosingError(
                        f"two constraints that are imposed for an instant are called {entry.name!r}"
                    )
                own[id(entry)] = _momentary(entry, goals, momentary)
        found[index] = _row(event, reset, (states, discrete), goals, own, written)
    return found


def check_resets(dynamics: Dynamics) -> None:
    """Refuse resets that cannot be done at an instant.

    Raises
    ------
    PosingError
        A reset depends on reactions, or it imposes constraints where one is not linear in the
        velocities, or one that no velocity changes.
    """
    for index, reset in dynamics.resets.items():
        name = dynamics.events[index].name
        for row in reset.momentary:
            if not ca.sparsify(row.jacobian).nnz():
                raise PosingError(
                    ELSEWHERE.format(row.name) + "does not change with the velocities"
                )
        for row in [*dynamics.rows, *reset.momentary] if reset.imposed else []:
            if ca.depends_on(row.jacobian, dynamics.velocities):
                raise PosingError(
                    f"the event {name!r} imposes constraints, but {row.name!r} is not linear in "
                    "the velocities"
                )
        event = dynamics.events[index]
        whenever = event.then.counts_past
        if whenever and (reset.states or reset.imposed or event.direction is EITHER):
            raise PosingError(
                f"the event {name!r} is reset whenever its guard is past zero, so it counts in one "
                "direction and changes discrete values alone"
            )
        column = ca.vertcat(*reset.states.values(), *reset.values.values(), reset.restitution)
        if ca.depends_on(column, dynamics.reactions):
            raise PosingError(
                f"the reset of the event {name!r} depends on reactions, which an instant does not "
                "have: it may depend on time, states, parameters and discrete values"
            )


def _row(
    event: Event,
    reset: Reset,
    names: tuple[Sequence[str], Parameters],
    goals: Mapping[str, GoalRow],
    own: Mapping[int, GoalRow],
    written: Callable[[Expression], ca.SX],
) -> ResetRow:
    states, discrete = names
    fired = symbol(f"fired_{event.name}", event.count)
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
    if event.count > 1 and any(row.name not in goals for row in imposed):
        raise PosingError(
            f"the event {event.name!r} has {event.count} guards, and would impose constraints for "
            "an instant whichever of them passes: give each guard an event of its own (events at "
            "one instant are reset together)"
        )
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
            ELSEWHERE.format(goal.name) + "has the name of a "
            "goal of the system: impose that by its name, or rename it"
        )
    if not goal.ideal or goal.from_start or goal.singular_at_rest:
        raise PosingError(
            ELSEWHERE.format(goal.name) + "must be ideal and linear in the velocities"
        )
    return row_of(goal)
