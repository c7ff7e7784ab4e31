"""The equations of a mechanical or control system: from what is posed to `Dynamics`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from daesolve.core.equations.dynamics import (
    Dynamics,
    GoalRow,
    ImplicitRow,
    InvariantRow,
    RelationRow,
)
from daesolve.core.expressions.identities import vanishes, vanishing
from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import Expression, Goal, Invariant, as_scalar, expression_of
from daesolve.core.posing.symbols import Labels, time
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.system.checking import (
    check_symbols,
    checked_after,
    checked_guess,
    checked_peaks,
    implicit_goals,
)  # fmt: skip
from daesolve.core.system.drives import drive_rows
from daesolve.core.system.free_motion import (
    AuxiliaryQuantities,
    FreeMotionEquations,
    Kinematics,
    MotionDerivatives,
    Tracked,
    lagrange,
    newton_euler,
)
from daesolve.core.system.piecewise import jumps
from daesolve.core.system.posed import PosedControl, PosedMechanics, column, with_inputs, with_units
from daesolve.core.system.rows import (
    AUTOMATIC_NAMES,
    Feedbacks,
    ValueSymbols,
    automatic_invariant,
    check_counts,
    control_row,
    drive_by_relations,
    goal_row,
    held_row,
    invariant_row,
    relation_rows,
    reset_rows,
    split_linear,
)
from daesolve.errors import PosingError


class _Symbols:
    """The symbols of a system, the values that become p, and expressions in both."""

    def __init__(self, system: PosedMechanics) -> None:
        self.system = system
        self.q, self.v = system.coordinates.vector, system.v.vector
        self.s, self.sigma = system.implicit.vector, system.implicit.dot.vector
        self.quadratures = system.quadratures.vector
        self.own = [goal for goal in system.goals if isinstance(goal, Goal) and goal.ideal]
        self.u = ca.vertcat(system.reactions.vector, *[goal.reaction for goal in self.own])
        self.values = ValueSymbols()
        self.values.take(system.parameters, system.discrete, system.inputs)
        q_dot = self.v if system.kinematics is None else system.smoothed(system.kinematics)
        massless = ca.vertcat(self.s, self.sigma, self.quadratures)
        self.kinematics = Kinematics(self.q, self.v, q_dot, massless, system.kinematics is not None)
        self.implicit = {
            goal: self.values.add(ValueKind.RATE.name_of(goal.name), 0.0)
            for goal in implicit_goals(system.goals, system.implicit)
        }
        self.invariants = {
            goal: Feedbacks.of(goal.name, self.values, goal.reference)
            for goal in system.goals
            if isinstance(goal, Invariant)
        }
        self.flow = self._flow()

    @property
    def x(self) -> ca.SX:
        """The state."""
        return ca.vertcat(self.q, self.quadratures, self.s, self.v)

    def posed(self, expression: Expression) -> ca.SX:
        """Write expressions that determine the motion with switches, and rates in terms of v."""
        return self.system.in_velocities(self.system.smoothed(expression))

    def written(self, expression: Expression) -> ca.SX:
        """Write an expression in time, the state, p and the reactions."""
        return self.flow.explicit(self.posed(expression))

    def as_it_stands(self, expression: Expression) -> ca.SX:
        """Write reports and instantaneous actions like `written`, but without switches."""
        return self.flow.explicit(self.system.in_velocities(expression))

    def guards(self, event: Event) -> ca.SX:
        """Write the guards of an event.

        Solvers find the zeros of guards with kinks as posed; the guards of switches are smooth.
        """
        if event.name in self.system.switch_names or not jumps(event.guards):
            return self.as_it_stands(event.guards)
        return self.written(event.guards)

    def row(self, goal: Goal) -> GoalRow:
        """Differentiate a constraint that has no reaction here."""
        return goal_row(goal, self.posed(goal.residual), self.values, self.flow, None)

    def reaction_of(self, goal: Goal) -> int | None:
        """Return the index of a goal's reaction."""
        if not goal.ideal:
            return None
        return len(self.system.reactions) + self.own.index(goal)

    def _flow(self) -> MotionDerivatives:
        """Return derivatives along the motion; invariants on positions correct q' directly."""
        q_dot = self.kinematics.q_dot
        for goal, feedback in self.invariants.items():
            if goal.on == "positions":
                value = self.posed(goal.value)
                gradient = ca.gradient(value, self.q)
                error = feedback.rate * (value - feedback.reference)
                q_dot = q_dot - error * gradient / ca.sumsqr(gradient)
        tracked = Tracked(
            self.s,
            self.sigma,
            ca.vertcat(ca.SX(0, 1), *[self.posed(goal.residual) for goal in self.implicit]),
            ca.vertcat(ca.SX(0, 1), *self.implicit.values()),
        )
        quantities = self.system.auxiliaries
        meanings = self.system.smoothed(quantities.meanings)
        named = AuxiliaryQuantities(quantities.vector, quantities.dot.vector, meanings)
        positions = ca.vertcat(self.q, self.quadratures)
        rates = ca.vertcat(q_dot, self._integrands())
        return MotionDerivatives(time, positions, self.v, rates, tracked, named)

    def _integrands(self) -> ca.SX:
        """Return the rates of the quadratures.

        Raises
        ------
        PosingError
            A quadrature has no rate, or a constraint contains it.
        """
        system = self.system
        names = system.quadratures.names
        if isinstance(system.integrands, Mapping):
            for name in names:
                if name not in system.integrands:
                    raise PosingError(f"the quadrature {name!r} has no rate: give it in integrands")
        for goal in system.goals:
            if isinstance(goal, Invariant):
                continue
            if ca.depends_on(expression_of(goal), self.quadratures):
                raise PosingError(
                    f"the goal {goal.name!r} contains a quadrature, but only forces, events, "
                    "outputs and invariants may contain one; make it a coordinate"
                )
        rates = self.posed(column("the rate", system.integrands, names, "quadrature"))
        for name, rate in zip(names, ca.vertsplit(rates), strict=True):
            if ca.depends_on(rate, self.u):
                raise PosingError(
                    f"the rate of the quadrature {name!r} contains a reaction, but only time, "
                    "states and parameters may appear in it; make it an output"
                )
        return rates


@dataclass(frozen=True, eq=False)
class _Reported:
    """The quantities reported with the motion, in the symbols of the equations, with units."""

    outputs: dict[str, ca.SX]
    output_units: dict[str, str]
    recovered: dict[str, ca.SX]
    recovered_units: dict[str, str]
    meters: dict[str, tuple[ca.SX, str]]

    @staticmethod
    def of(symbols: _Symbols, energy: ca.SX | None) -> _Reported:
        """Return the reported quantities of a system: its outputs, including its energy."""
        system = symbols.system
        outputs, units = with_inputs(system)
        recovered, recovered_units = with_units(system.recovered, "the recovered reaction")
        meters, meter_units = with_units(system.meters, "meter")
        if energy is not None and "energy" not in outputs:
            outputs["energy"], units["energy"] = energy, "J"
        plain = symbols.as_it_stands
        return _Reported(
            {name: plain(value) for name, value in outputs.items()},
            units,
            {name: plain(value) for name, value in recovered.items()},
            recovered_units,
            {name: (symbols.written(power), meter_units[name]) for name, power in meters.items()},
        )


def equations_of_motion(system: PosedMechanics) -> Dynamics:
    """Return the equations of a posed system.

    Raises
    ------
    PosingError, NoInfluenceError, UnknownNameError
        As for `MechanicalSystem`.
    """
    symbols = _Symbols(system)
    flow, u = symbols.flow, symbols.u
    rows, motion = _rows(symbols), _motion(symbols)
    force, influence = split_linear("the force", symbols.posed(system.applied_force), u)
    relations = relation_rows(system.goals, u)
    check_counts(u.numel(), len(rows), len(relations))
    kinetic, potential = _energies(symbols, motion)
    invariants, relations = drive_by_relations(
        list(symbols.invariants),
        [
            invariant_row(goal, symbols.posed(goal.value), feedback, flow)
            for goal, feedback in symbols.invariants.items()
        ],
        relations,
    )
    if potential is not None and not {goal.name for goal in system.goals} & AUTOMATIC_NAMES:
        invariants.append(_automatic(symbols, motion, (kinetic, potential), force, rows))
    reported = _Reported.of(symbols, None if potential is None else kinetic + potential)
    labels, written, plain = _labels(symbols, reported), symbols.written, symbols.as_it_stands
    resets = reset_rows(system.events, labels.states, system.discrete, rows, plain, symbols.row)
    dynamics = Dynamics(
        labels=labels,
        t=time,
        x=symbols.x,
        p=symbols.values.vector(),
        values=symbols.values.defaults,
        ranges=symbols.values.ranges,
        position_count=symbols.x.numel() - symbols.v.numel(),
        quadrature_count=symbols.quadratures.numel(),
        position_rates=flow.position_rates,
        mass=motion.mass,
        force=flow.explicit(motion.force + force),
        influence=_influence(symbols, influence, rows),
        reactions=u,
        rows=rows,
        relations=_written(relations, written),
        implicit_rows=tuple(
            ImplicitRow(goal.name, written(goal.residual), rate, goal.rate, goal.scale)
            for goal, rate in symbols.implicit.items()
        ),
        invariants=tuple(invariants),
        outputs=reported.outputs,
        recovered=reported.recovered,
        events=tuple(replace(e, guard=symbols.guards(e)) for e in system.events),
        resets=resets,
        discrete=system.discrete.names,
        kinetic=kinetic,
        potential=potential,
        independent=_independent(symbols),
        meters=reported.meters,
        peaks=checked_peaks(system.peaks, (*reported.outputs, *reported.meters)),
        after=checked_after(system.after, system.goals, system.v.names),
        guess=checked_guess(system.guess, labels.states, system.parameters.vector),
        switches=system.switch_names,
        inputs=system.inputs,
        drives=drive_rows(system.drives, plain),
    )
    for addition in system.additions:
        dynamics = addition.completed(dynamics, system, plain)
    return dynamics


def _written(
    relations: Sequence[RelationRow], written: Callable[[ca.SX], ca.SX]
) -> tuple[RelationRow, ...]:
    return tuple(
        replace(row, jacobian=written(row.jacobian), offset=written(row.offset))
        for row in relations
    )


def _rows(symbols: _Symbols) -> tuple[GoalRow, ...]:
    rows: list[GoalRow] = []
    for goal in symbols.system.goals:
        if isinstance(goal, Goal):
            row = replace(symbols.row(goal), reaction=symbols.reaction_of(goal))
            hold = symbols.system.discrete[goal.held_by] if goal.held_by else None
            rows.append(row if hold is None else held_row(row, hold))
    return tuple(rows)


def _motion(symbols: _Symbols) -> FreeMotionEquations:
    """Return the motion without constraints and without applied forces."""
    system, flow = symbols.system, symbols.flow
    potential = flow.explicit(as_scalar("the potential", symbols.posed(system.potential)))
    if system.mass_matrix is not None:
        mass = system.smoothed(system.mass_matrix)
        motion = newton_euler(mass, potential, symbols.kinematics)
        return replace(motion, force=motion.force + _gyroscopic(symbols))
    assert system.kinetic is not None
    kinetic = flow.explicit(as_scalar("the kinetic energy", symbols.posed(system.kinetic)))
    return lagrange(kinetic, potential, symbols.kinematics)


def _gyroscopic(symbols: _Symbols) -> ca.SX:
    """Return the gyroscopic forces.

    Raises
    ------
    PosingError
        They contain reactions, or could not be proved workless.
    """
    system = symbols.system
    assert system.mass_matrix is not None
    forces = symbols.posed(system.force_column("the gyroscopic force", system.gyroscopic))
    if ca.depends_on(forces, symbols.u):
        raise PosingError("gyroscopic forces must not depend on reactions: move them into force")
    power, masses = ca.dot(forces, symbols.v), system.smoothed(system.mass_matrix)
    energy = ca.dot(symbols.v, masses @ symbols.v) / 2
    kept = power + ca.jtimes(energy, symbols.q, symbols.kinematics.q_dot)
    if not vanishes(kept) and not vanishes(power):
        changing = ~vanishing(ca.gradient(power, symbols.v)).ravel()
        names = [repr(name) for name, by in zip(system.v.names, changing, strict=True) if by]
        raise PosingError(
            "the gyroscopic forces do work, or could not be proved workless: their power "
            f"depends on {', '.join(names)}; move them into force"
        )
    return forces


def _energies(symbols: _Symbols, motion: FreeMotionEquations) -> tuple[ca.SX, ca.SX | None]:
    """Return T and V; without V if T is not posed but follows from the mass matrix."""
    system, v = symbols.system, symbols.v
    if system.kinetic is None:
        return ca.dot(v, motion.mass @ v) / 2, None
    return symbols.written(system.kinetic), symbols.written(system.potential)


def _automatic(
    symbols: _Symbols,
    motion: FreeMotionEquations,
    energies: tuple[ca.SX, ca.SX],
    force: ca.SX,
    rows: Sequence[GoalRow],
) -> InvariantRow:
    """Return the automatic invariant, and why sampling cannot show that it is conserved."""
    flow = symbols.flow
    automatic = automatic_invariant(*energies, motion.mass, flow, symbols.values)
    timed = [*energies, flow.position_rates, *(row.bias for row in rows)]
    doubt = _doubt(force, ca.vertcat(*timed, *(row.jacobian.T for row in rows)))
    return replace(automatic, doubt=doubt)


def _doubt(force: ca.SX, timed: ca.SX) -> str:
    """Return the reason why sampling cannot show that the energy is conserved."""
    if ca.SX(ca.sparsify(force)).nnz() != 0:
        return "forces act"
    if ca.depends_on(timed, time):
        return "time appears in the equations"
    return ""


def _influence(symbols: _Symbols, directed: ca.SX, rows: Sequence[GoalRow]) -> ca.SX:
    """Return B: columns directed by forces and friction, others along the goals' gradients."""
    system = symbols.system
    for addition in system.additions:
        directed = addition.directed(system, directed, rows, symbols.u, symbols.posed)
    gradients = ca.SX(*directed.shape)
    for row in rows:
        if row.reaction is not None:
            gradients[:, row.reaction] = row.jacobian.T
            if row.hold is not None:
                directed[:, row.reaction] *= row.hold
    return symbols.flow.explicit(directed) + gradients


def _labels(symbols: _Symbols, reported: _Reported) -> Labels:
    system, own = symbols.system, symbols.own
    groups = (system.coordinates, system.quadratures, system.implicit)
    positions = tuple(name for group in groups for name in group.names)
    units = tuple(unit for group in groups for unit in group.units)
    angles = {name for group in groups for name in group.angles}
    return Labels(
        states=positions + system.v.names,
        state_units=units + system.v.units,
        reactions=system.reactions.names + tuple(goal.reaction_label for goal in own),
        reaction_units=system.reactions.units + tuple(goal.unit for goal in own),
        outputs=tuple(reported.output_units),
        output_units=tuple(reported.output_units.values()),
        accelerations=tuple(f"{name}'" for name in system.v.names),
        angles=tuple(index for index, name in enumerate(positions) if name in angles),
        recovered=tuple(reported.recovered_units),
        recovered_units=tuple(reported.recovered_units.values()),
    )


def _independent(symbols: _Symbols) -> dict[str, ca.SX]:
    """Return the independent velocities given by the problem.

    Raises
    ------
    PosingError
        One is not linear in the velocities, or does not depend on them.
    """
    found: dict[str, ca.SX] = {}
    for name, expression in symbols.system.independent.items():
        written = symbols.written(as_scalar(f"independent velocity {name!r}", expression))
        slope = ca.jacobian(written, symbols.v)
        if slope.nnz() == 0 or ca.depends_on(slope, symbols.v):
            raise PosingError(f"the independent velocity {name!r} must be linear in the velocities")
        found[name] = written
    return found


def control_equations(system: PosedControl) -> Dynamics:
    """Return the equations of a control system: unit masses, no positions.

    Raises
    ------
    PosingError, NoInfluenceError, UnknownNameError
        As for `ControlSystem`.
    """
    x, u = system.states.vector, system.controls.vector
    values = ValueSymbols()
    values.take(system.parameters, system.discrete, system.inputs)
    rate = column("the rate", system.rate, system.states.names, "state")
    outputs, units = with_inputs(system)
    posed = [("the rate", rate)]
    posed += [(f"the goal {g.name!r}", expression_of(g)) for g in system.goals]
    posed += [(f"the output {name!r}", value) for name, value in outputs.items()]
    posed += [(f"the event {e.name!r}", e.guards) for e in system.events]
    check_symbols(posed, ca.vertcat(time, x, u, values.vector()))
    smoothed = system.smoothed
    drift, influence = split_linear("the rate", smoothed(rate), u)
    empty = ca.SX(0, 1)
    flow = MotionDerivatives(time, empty, x, empty)
    rows = tuple(
        control_row(replace(goal, residual=smoothed(goal.residual)), x, drift, influence, values)
        for goal in system.goals
        if isinstance(goal, Goal)
    )
    own = [goal for goal in system.goals if isinstance(goal, Invariant)]
    invariants = [
        invariant_row(goal, smoothed(goal.value), Feedbacks.of(goal.name, values), flow)
        for goal in own
    ]
    relations = relation_rows(system.goals, u)
    check_counts(u.numel(), len(rows), len(relations))
    invariants, relations = drive_by_relations(own, invariants, relations)
    states, discrete = system.states.names, system.discrete
    return Dynamics(
        labels=_control_labels(system, units),
        t=time,
        x=x,
        p=values.vector(),
        values=values.defaults,
        ranges=values.ranges,
        position_count=0,
        position_rates=empty,
        mass=ca.SX.eye(x.numel()),
        force=drift,
        influence=influence,
        reactions=u,
        rows=rows,
        relations=_written(relations, smoothed),
        implicit_rows=(),
        invariants=tuple(invariants),
        outputs=outputs,
        events=tuple(
            e if e.name in system.switch_names else replace(e, guard=smoothed(e.guards))
            for e in system.events
        ),
        discrete=discrete.names,
        resets=reset_rows(system.events, states, discrete, rows, ca.SX, _not_mechanical),
        kinetic=None,
        switches=system.switch_names,
        inputs=system.inputs,
        drives=drive_rows(system.drives, ca.SX),
    )


def _control_labels(system: PosedControl, output_units: dict[str, str]) -> Labels:
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
        f"the constraint {goal.name!r} cannot be imposed: a control system has no mass matrix, "
        "which projecting velocities needs"
    )
