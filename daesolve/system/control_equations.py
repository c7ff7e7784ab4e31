"""The equations of a control system: from what is posed of it to `Dynamics`."""

from __future__ import annotations

import casadi as ca

from daesolve.equations.dynamics import Dynamics, GoalRow
from daesolve.errors import PosingError
from daesolve.posing.goals import Goal, Invariant, expression_of
from daesolve.posing.symbols import Labels, time
from daesolve.system.checking import check_symbols
from daesolve.system.flow import Flow
from daesolve.system.posed import PosedControl, column, with_units
from daesolve.system.resets import reset_rows
from daesolve.system.rows import (
    Feedbacks,
    Values,
    check_counts,
    control_row,
    drive_by_relations,
    invariant_row,
    relation_rows,
    split_linear,
)


def control_equations(system: PosedControl) -> Dynamics:
    """Return the equations of a control system: masses of one, no positions.

    Raises
    ------
    PosingError, NoInfluenceError, UnknownNameError
        As for `ControlSystem`.
    """
    x, u = system.states.vector, system.controls.vector
    values = Values()
    values.take(system.parameters)
    values.take(system.discrete)
    rate = column("the rate", system.rate, system.states.names, "state")
    outputs, units = with_units(system.outputs)
    posed = [("the rate", rate)]
    posed += [(f"the goal {g.name!r}", expression_of(g)) for g in system.goals]
    posed += [(f"the output {name!r}", value) for name, value in outputs.items()]
    posed += [(f"the event {e.name!r}", e.guards) for e in system.events]
    check_symbols(posed, ca.vertcat(time, x, u, values.vector()))
    drift, influence = split_linear("the rate", rate, u)
    empty = ca.SX(0, 1)
    flow = Flow(time, empty, x, empty)
    rows = tuple(
        control_row(goal, x, drift, influence, values)
        for goal in system.goals
        if isinstance(goal, Goal)
    )
    own = [goal for goal in system.goals if isinstance(goal, Invariant)]
    invariants = [
        invariant_row(goal, ca.SX(goal.value), Feedbacks.of(goal.name, values), flow)
        for goal in own
    ]
    relations = relation_rows(system.goals, u)
    check_counts(u.numel(), len(rows), len(relations))
    invariants, relations = drive_by_relations(own, invariants, relations)
    states, discrete = system.states.names, system.discrete
    return Dynamics(
        labels=_labels(system, units),
        t=time,
        x=x,
        p=values.vector(),
        values=values.defaults,
        ranges=system.parameters.ranges | discrete.ranges,
        position_count=0,
        position_rates=empty,
        mass=ca.SX.eye(x.numel()),
        force=drift,
        influence=influence,
        reactions=u,
        rows=rows,
        relations=tuple(relations),
        implicit_rows=(),
        invariants=tuple(invariants),
        outputs=outputs,
        events=tuple(system.events),
        discrete=discrete.names,
        resets=reset_rows(system.events, states, discrete, rows, ca.SX, _not_mechanical),
        kinetic=None,
    )


def _labels(system: PosedControl, output_units: dict[str, str]) -> Labels:
    states, controls = system.states, system.controls
    return Labels(
        states=states.names,
        state_units=states.units,
        reactions=controls.names,
        reaction_units=controls.units,
        outputs=tuple(output_units),
        output_units=tuple(output_units.values()),
        accelerations=tuple(f"{name}'" for name in states.names),
    )


def _not_mechanical(goal: Goal) -> GoalRow:
    raise PosingError(
        f"the constraint {goal.name!r} cannot be imposed: a control system has no masses, in whose "
        "metric velocities would be projected"
    )
