"""From posed goals and resets to rows of equations.

Goals are differentiated until accelerations or controls appear. The changes of resets become rows
in the symbols of the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca

from daesolve.core.equations.dynamics import (
    Dynamics,
    GoalRow,
    InvariantRow,
    RelationRow,
    ResetRow,
)
from daesolve.core.expressions.identities import vanishes
from daesolve.core.expressions.structure import is_linear
from daesolve.core.posing.events import EITHER, Event, Reset
from daesolve.core.posing.goals import (
    AnyGoal,
    Expression,
    Goal,
    Holonomic,
    Invariant,
    Relation,
    as_scalar,
)
from daesolve.core.posing.symbols import Interval, Parameters, symbol, time
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.system.free_motion import MotionDerivatives
from daesolve.errors import NoInfluenceError, PosingError, unknown_name

AUTOMATIC_NAMES = frozenset({"energy", "jacobi_integral"})
"""Names of the invariant that the library adds; a user's goal of such a name replaces it."""
ELSEWHERE = "the constraint {!r}, which is imposed for an instant, "


@dataclass
class ValueSymbols:
    """Collects the symbols that become p, with their defaults.

    Parameters
    ----------
    defaults
        Name -> default, in the order of the symbols.
    symbols
        Columns of symbols.
    ranges
        The ranges of those that have one.
    """

    defaults: dict[str, float] = field(default_factory=dict[str, float])
    symbols: list[ca.SX] = field(default_factory=list[ca.SX])
    ranges: dict[str, Interval] = field(default_factory=dict[str, Interval])

    def take(self, *groups: Parameters) -> None:
        """Add parameters, discrete values and inputs unchanged."""
        for own in groups:
            self.defaults |= own.defaults
            self.ranges |= own.ranges
            self.symbols.append(own.vector)

    def add(self, name: str, default: float) -> ca.SX:
        """Add one value and return its symbol.

        Raises
        ------
        PosingError
            A parameter already has this name.
        """
        if name in self.defaults:
            raise PosingError(f"the name {name!r} is reserved by the library; rename the parameter")
        added = symbol(name)
        self.defaults[name] = default
        self.symbols.append(added)
        return added

    def vector(self) -> ca.SX:
        """Return p."""
        return ca.vertcat(ca.SX(0, 1), *self.symbols)


@dataclass(frozen=True, eq=False)
class Feedbacks:
    """The symbols of an invariant's feedback: rate, value to hold, floor of its gradient."""

    rate: ca.SX
    reference: ca.SX
    floor: ca.SX

    @staticmethod
    def of(name: str, values: ValueSymbols, reference: float | None = None) -> Feedbacks:
        """Add the three symbols to the values."""
        return Feedbacks(
            values.add(ValueKind.RATE.name_of(name), 0.0),
            values.add(ValueKind.REFERENCE.name_of(name), reference or 0.0),
            values.add(ValueKind.FLOOR.name_of(name), 1.0),
        )


@dataclass(frozen=True, eq=False)
class GoalValues:
    """The symbols of a goal's feedback: rate, value at the start, typical influence."""

    rate: ca.SX
    reference: ca.SX
    typical: ca.SX | None


def goal_values(goal: Goal, values: ValueSymbols) -> GoalValues:
    """Add the values that a goal needs."""
    name, reference, typical = goal.name, ca.SX(0), None
    rate = values.add(ValueKind.RATE.name_of(name), 0.0)
    values.add(ValueKind.REGULARISATION.name_of(name), 0.0)
    if goal.from_start:
        reference = values.add(ValueKind.REFERENCE.name_of(name), 0.0)
    if goal.singular_at_rest:
        typical = values.add(ValueKind.TYPICAL.name_of(name), 1.0)
    return GoalValues(rate, reference, typical)


def split_linear(owner: str, column: ca.SX, unknowns: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Split a column into the part without unknowns and their coefficient matrix.

    Raises
    ------
    PosingError
        It is not linear in them.
    """
    if not is_linear(column, unknowns):
        raise PosingError(
            f"{owner} must be linear in the reactions; a force that depends on the size of a "
            "reaction is an algebraic loop"
        )
    matrix = ca.jacobian(column, unknowns)
    return ca.substitute(column, unknowns, ca.SX.zeros(*unknowns.shape)), matrix


def goal_row(
    goal: Goal, residual: ca.SX, values: ValueSymbols, flow: MotionDerivatives, reaction: int | None
) -> GoalRow:
    """Differentiate a constraint until accelerations appear.

    Parameters
    ----------
    goal
        `Holonomic` or `Nonholonomic`.
    residual
        Its residual in the symbols of the flow.
    values
        The store for the symbols of its feedback.
    flow
        Derivatives along the motion.
    reaction
        The index of its reaction; None if the forces direct it.
    """
    own = goal_values(goal, values)
    chain = [residual - own.reference]
    if isinstance(goal, Holonomic):
        hidden, highest = flow.second(residual)
        chain.append(hidden)
    else:
        highest = flow.first(residual)
    return GoalRow(
        name=goal.name,
        kind="holonomic" if isinstance(goal, Holonomic) else "nonholonomic",
        unit=goal.unit,
        chain=tuple(flow.explicit(link) for link in chain),
        jacobian=flow.explicit(highest.jacobian),
        bias=flow.explicit(highest.bias),
        rate=own.rate,
        reaction=reaction,
        chosen_rate=goal.rate,
        scale=goal.scale,
        from_start=goal.from_start,
        typical=own.typical,
        bears_impulses=goal.bears_impulses,
    )


def held_row(row: GoalRow, hold: ca.SX) -> GoalRow:
    """Let a constraint hold only while a discrete value is 1.0; it vanishes while that is 0.0."""
    return replace(
        row,
        chain=tuple(hold * link for link in row.chain),
        jacobian=hold * row.jacobian,
        bias=hold * row.bias,
        hold=hold,
    )


def relation_rows(goals: Sequence[AnyGoal], unknowns: ca.SX) -> list[RelationRow]:
    """Return the relations, linear in the reactions.

    Raises
    ------
    PosingError, NoInfluenceError
        A relation is not linear in the reactions, or contains none.
    """
    rows: list[RelationRow] = []
    for goal in goals:
        if not isinstance(goal, Relation):
            continue
        offset, matrix = split_linear(
            f"the relation {goal.name!r}", as_scalar(goal.name, goal.residual), unknowns
        )
        if matrix.nnz() == 0:
            raise NoInfluenceError(f"no reaction influences the goal {goal.name!r}")
        rows.append(RelationRow(goal.name, matrix, offset, goal.scale))
    return rows


def invariant_row(
    goal: Invariant, value: ca.SX, feedback: Feedbacks, flow: MotionDerivatives
) -> InvariantRow:
    """Differentiate an invariant once."""
    rate = flow.first(value)
    return InvariantRow(
        name=goal.name,
        value=flow.explicit(value),
        jacobian=flow.explicit(rate.jacobian),
        bias=flow.explicit(rate.bias),
        twice_kinetic=None,
        on=goal.on,
        drive=goal.drive,
        automatic=False,
        rate=feedback.rate,
        reference=feedback.reference,
        floor=feedback.floor,
        chosen_rate=goal.rate,
        scale=goal.scale,
        fixed=goal.reference,
    )


def drive_by_relations(
    goals: Sequence[Invariant], invariants: list[InvariantRow], relations: list[RelationRow]
) -> tuple[list[InvariantRow], list[RelationRow]]:
    """Substitute rate * (value - reference) for the symbols `Invariant.correction`."""
    symbols = ca.vertcat(ca.SX(0, 1), *[goal.correction for goal in goals])
    corrections = ca.vertcat(
        ca.SX(0, 1), *[row.rate * (row.value - row.reference) for row in invariants]
    )
    offsets = ca.vertcat(ca.SX(0, 1), *[row.offset for row in relations])
    marked = [
        replace(row, by_relation=bool(ca.depends_on(offsets, goal.correction)))
        for goal, row in zip(goals, invariants, strict=True)
    ]
    return marked, [
        replace(row, offset=ca.substitute(row.offset, symbols, corrections)) for row in relations
    ]


def automatic_invariant(
    kinetic: ca.SX, potential: ca.SX, mass: ca.SX, flow: MotionDerivatives, values: ValueSymbols
) -> InvariantRow:
    """Return Jacobi's integral v . dL/dv - L; the energy if T is homogeneous in v."""
    v = flow.velocities
    twice_kinetic = ca.dot(v, mass @ v)
    natural = vanishes(kinetic - twice_kinetic / 2)
    if natural:
        name, note, value = "energy", "", twice_kinetic / 2 + potential
    else:
        name = "jacobi_integral"
        note = (
            "Jacobi's integral v.dL/dv - L; the kinetic energy is not homogeneous in the "
            "velocities, so T + V is not conserved and is never driven"
        )
        value = ca.dot(v, ca.gradient(kinetic, v)) - kinetic + potential
    feedback = Feedbacks.of(name, values)
    rate = flow.first(value)
    return InvariantRow(
        name=name,
        value=value,
        jacobian=flow.explicit(rate.jacobian),
        bias=flow.explicit(rate.bias),
        twice_kinetic=twice_kinetic,
        on="velocities",
        drive=True,
        automatic=True,
        rate=feedback.rate,
        reference=feedback.reference,
        floor=feedback.floor,
        chosen_rate=None,
        scale=None,
        note=note,
    )


def control_row(
    goal: Goal, x: ca.SX, drift: ca.SX, influence: ca.SX, values: ValueSymbols
) -> GoalRow:
    """Differentiate a goal along f until a control appears (Isidori's relative degree).

    Raises
    ------
    NoInfluenceError
        No control appears within as many derivatives as there are states.
    """
    own = goal_values(goal, values)
    chain = [ca.SX(goal.residual) - own.reference]
    for _ in range(x.numel()):
        gradient = ca.jacobian(chain[-1], x)
        if not vanishes(gradient @ influence):
            return GoalRow(
                name=goal.name,
                kind="control",
                at_start=goal.at_start,
                unit=goal.unit,
                chain=tuple(chain),
                jacobian=gradient,
                bias=ca.jtimes(chain[-1], time, ca.SX(1)),
                rate=own.rate,
                reaction=None,
                chosen_rate=goal.rate,
                scale=goal.scale,
                from_start=goal.from_start,
                typical=own.typical,
            )
        chain.append(gradient @ drift + ca.jtimes(chain[-1], time, ca.SX(1)))
    raise NoInfluenceError(
        f"no control influences the goal {goal.name!r}, however often it is differentiated"
    )


def check_counts(unknowns: int, rows: int, relations: int) -> None:
    """Refuse a system with more or fewer reactions than goals.

    Raises
    ------
    PosingError
        The message gives both numbers.
    """
    if unknowns != rows + relations:
        raise PosingError(
            f"{unknowns} reactions for {rows + relations} goals ({rows} constraints and "
            f"{relations} relations): there must be as many reactions as goals"
        )


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
        The events, and the names of the values that they may change.
    rows
        The constraints of the system.
    written
        Writes an expression in the symbols of the equations.
    momentary
        Differentiates a constraint that holds only for the instant.

    Raises
    ------
    UnknownNameError
        A reset changes something unknown to the system, or imposes an unknown goal.
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
                        f"two constraints imposed for an instant have the same name, {entry.name!r}"
                    )
                own[id(entry)] = _momentary(entry, goals, momentary)
        found[index] = _row(event, reset, (states, discrete), goals, own, written)
    return found


def check_resets(dynamics: Dynamics) -> None:
    """Refuse resets that are impossible at an instant.

    Raises
    ------
    PosingError
        A reset depends on reactions, or imposes constraints of which one is not linear in the
        velocities or does not depend on them.
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
        whenever, own = event.then.counts_past, name in dynamics.switches
        alone = not reset.states and (own or not reset.imposed)
        if whenever and not (alone and event.direction is not EITHER):
            raise PosingError(
                f"the event {name!r} is reset whenever its guard is past zero, so it must have "
                "one direction and change only discrete values"
            )
        changes = [*reset.states.values(), *reset.values.values(), *reset.energies]
        column = ca.vertcat(*changes, reset.restitution)
        if ca.depends_on(column, dynamics.reactions):
            raise PosingError(
                f"the reset of the event {name!r} depends on reactions, which are undefined at "
                "an instant: it may depend on time, states, parameters and discrete values"
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
            f"the event {event.name!r} has {event.count} guards, but imposes constraints "
            "whichever of them passes zero: give each guard its own event (events at one "
            "instant are reset together)"
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
        energies=tuple(written(e) for e in reset.energies_where(event.name, fired)),
    )


def _momentary(
    goal: Goal, goals: Mapping[str, GoalRow], row_of: Callable[[Goal], GoalRow]
) -> GoalRow:
    if goal.name in goals:
        raise PosingError(
            ELSEWHERE.format(goal.name) + "has the name of a goal of the system: impose the "
            "goal by its name, or rename this constraint"
        )
    if not goal.ideal or goal.from_start or goal.singular_at_rest:
        raise PosingError(
            ELSEWHERE.format(goal.name) + "must be ideal and linear in the velocities"
        )
    return row_of(goal)
