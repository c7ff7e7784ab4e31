"""Systems as they are posed: mechanics by Lagrange or Newton-Euler, and control systems."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.dynamics import Dynamics, Flow, GoalRow, ImplicitRow, InvariantRow, RelationRow
from daesolve.errors import NoInfluenceError, PosingError, UndefinedDegreeError, unknown_name
from daesolve.goals import (
    AnyGoal,
    Event,
    Expression,
    Goal,
    Holonomic,
    Implicit,
    Invariant,
    Nonholonomic,
    Relation,
    as_scalar,
)
from daesolve.linear import solve_small
from daesolve.symbols import DifferentiableVector, Labels, Parameters, SymbolVector, time

Output = Expression | tuple[Expression, str]
Forces = Mapping[str, Expression] | Sequence[Expression] | ca.SX

_NO_PARAMETERS = Parameters({}, {}, {})
_NO_REACTIONS = SymbolVector((), (), "reaction")
_NO_UNKNOWNS = DifferentiableVector((), (), "implicit unknown")
_NO_DISCRETE = Parameters({}, {}, {}, "discrete value")


@dataclass(frozen=True, eq=False)
class MechanicalSystem:
    """A constrained mechanical system.

    Its equations are Lagrange's where `kinetic` is given (Hamel's in quasi-velocities), and
    `mass_matrix @ v' = force` (Newton-Euler) where that is.

    Parameters
    ----------
    coordinates
        q, from `coordinates`.
    parameters
        Numbers that may vary from run to run without compiling again.
    kinetic, potential
        T(t, q, v) and V(t, q), in J.
    mass_matrix
        (nv, nv), in place of `kinetic`.
    goals
        Constraints, implicit equations, relations between reactions, invariants.
    force
        Generalised forces by the name of a coordinate (or quasi-velocity), or as a column. They
        may contain time, states, parameters and reactions (linearly).
    implicit, reactions, discrete
        Massless unknowns, reactions directed by where they enter `force`, discrete values.
    velocities, kinematics
        Quasi-velocities v and q' = S(q) v as a column.
    events
        What to watch for.
    outputs
        Further quantities by name: an expression, or (expression, unit).

    Raises
    ------
    PosingError
        The system has no meaning as posed; the goal or name at fault is told.
    UndefinedDegreeError, NoInfluenceError
        A goal has no relative degree, or no reaction influences it.

    Notes
    -----
    The automatic invariant is Jacobi's integral v . dL/dv - L. Whether it is conserved is decided
    at consistent states when a run is prepared.
    """

    coordinates: DifferentiableVector
    parameters: Parameters = _NO_PARAMETERS
    kinetic: Expression | None = None
    potential: Expression = 0.0
    goals: Sequence[AnyGoal] = ()
    force: Forces = field(default_factory=dict)
    mass_matrix: ca.SX | None = None
    implicit: DifferentiableVector = _NO_UNKNOWNS
    reactions: SymbolVector = _NO_REACTIONS
    discrete: Parameters = _NO_DISCRETE
    velocities: SymbolVector | None = None
    kinematics: ca.SX | None = None
    events: Sequence[Event] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.kinetic is None) == (self.mass_matrix is None):
            raise PosingError("give either kinetic (Lagrange) or mass_matrix (Newton-Euler)")
        if (self.velocities is None) != (self.kinematics is None):
            raise PosingError("quasi-velocities need both velocities= and kinematics=")
        _check_names(self)
        _check_goals(self)
        _check_degrees(self.dynamics)

    @property
    def v(self) -> SymbolVector:
        """The velocities: those given, else the rates of the coordinates."""
        return self.velocities if self.velocities is not None else self.coordinates.rates

    @cached_property
    def dynamics(self) -> Dynamics:
        """The equations, symbolic and not yet eliminated."""
        return _mechanical_dynamics(self)

    def without(self, names: Iterable[str]) -> MechanicalSystem:
        """Return the system without some goals: their reactions vanish with them."""
        dropped = set(names)
        return replace(self, goals=tuple(goal for goal in self.goals if goal.name not in dropped))


@dataclass(frozen=True, eq=False)
class ControlSystem:
    """x' = f(t, x) + G(t, x) u with goals that the controls u are to meet.

    Parameters
    ----------
    states
        x, from `states`.
    rate
        x' by the name of a state or as a column; linear in the controls.
    parameters, discrete, events, outputs
        As in `MechanicalSystem`.
    controls
        u, from `reactions`.
    goals
        `Goal`s (their relative degrees are found by Lie derivatives), `Relation`s, `Invariant`s.

    Raises
    ------
    PosingError, UndefinedDegreeError, NoInfluenceError
        As in `MechanicalSystem`.
    """

    states: SymbolVector
    rate: Forces
    parameters: Parameters = _NO_PARAMETERS
    controls: SymbolVector = _NO_REACTIONS
    goals: Sequence[AnyGoal] = ()
    discrete: Parameters = _NO_DISCRETE
    events: Sequence[Event] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_names(self)
        for goal in self.goals:
            if isinstance(goal, Implicit | Holonomic | Nonholonomic):
                raise PosingError(
                    f"goal {goal.name!r} of a control system must be a Goal, a Relation or an "
                    f"Invariant, not {type(goal).__name__}"
                )
        _check_degrees(self.dynamics)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The equations, symbolic and not yet eliminated."""
        return _control_dynamics(self)

    def without(self, names: Iterable[str]) -> ControlSystem:
        """Return the system without some goals."""
        dropped = set(names)
        return replace(self, goals=tuple(goal for goal in self.goals if goal.name not in dropped))


System = MechanicalSystem | ControlSystem


# -- what can be wrong with the names and the goals -------------------------------------------


def _check_names(system: System) -> None:
    seen: dict[str, str] = {}
    vectors: list[SymbolVector] = [system.parameters, system.discrete]
    if isinstance(system, MechanicalSystem):
        vectors += [system.coordinates, system.v, system.implicit, system.reactions]
    else:
        vectors += [system.states, system.controls]
    own = [goal.name for goal in system.goals if isinstance(goal, Goal) and goal.ideal]
    names = [(name, vector.kind) for vector in vectors for name in vector]
    names += [(name, "reaction") for name in own]
    names += [(name, "output") for name in system.outputs]
    for name, kind in names:
        if name in seen:
            raise PosingError(f"the name {name!r} is used twice: as {seen[name]} and as {kind}")
        seen[name] = kind
    goal_names = [goal.name for goal in system.goals]
    event_names = [event.name for event in system.events]
    for names_of, what in ((goal_names, "goal"), (event_names, "event")):
        twice = [name for name in names_of if names_of.count(name) > 1]
        if twice:
            raise PosingError(f"two {what}s are called {twice[0]!r}")


def _check_goals(system: MechanicalSystem) -> None:
    moving = ca.vertcat(system.coordinates.dot.vector, system.implicit.dot.vector)
    if system.velocities is not None:
        moving = ca.vertcat(moving, system.velocities.vector)
    for goal in system.goals:
        if isinstance(goal, Invariant):
            continue
        fast = ca.depends_on(goal.residual, moving)
        if isinstance(goal, Holonomic) and fast:
            raise PosingError(
                f"the holonomic goal {goal.name!r} depends on velocities: pose it as Nonholonomic"
            )
        if isinstance(goal, Nonholonomic) and not fast:
            raise PosingError(
                f"the non-holonomic goal {goal.name!r} does not depend on velocities: pose it as "
                "Holonomic"
            )
        if isinstance(goal, Implicit) and fast:
            raise PosingError(
                f"the implicit goal {goal.name!r} depends on velocities; it may use positions, "
                "time and parameters"
            )
        if type(goal) is Goal:
            raise PosingError(
                f"goal {goal.name!r} of a mechanical system must be Holonomic, Nonholonomic, "
                "Implicit, Relation or Invariant"
            )
    defined = [goal for goal in system.goals if isinstance(goal, Implicit)]
    if len(defined) != len(system.implicit):
        raise PosingError(
            f"there are {len(system.implicit)} implicit unknowns, but {len(defined)} Implicit "
            "goals define one"
        )
    for name in system.implicit:
        symbol = system.implicit[name]
        if sum(bool(ca.is_equal(symbol, goal.unknown)) for goal in defined) != 1:
            raise PosingError(f"the implicit unknown {name!r} needs exactly one Implicit goal")


def _random_states(dynamics: Dynamics, count: int = 6) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [generator.normal(size=dynamics.x.numel()) for _ in range(count)]


def _check_degrees(dynamics: Dynamics) -> None:
    """Refuse goals whose relative degree is not the same at every state, also at rest.

    A residual that is quadratic in the velocities has a gradient that vanishes with them, so no
    reaction influences it at rest, and integration breaks down at every turning point.
    """
    values = dynamics.value_vector({})
    for index, row in enumerate(dynamics.rows):
        if row.kind == "control":
            continue
        moving: list[float] = []
        resting: list[float] = []
        for state in _random_states(dynamics):
            still = state.copy()
            still[dynamics.position_count :] = 0.0
            for place, sizes in ((state, moving), (still, resting)):
                gradient = dynamics.matrices(0.3, place, values)["jacobian"][index]
                if np.all(np.isfinite(gradient)):
                    sizes.append(float(np.linalg.norm(gradient)))
        if not moving:
            continue
        if max(moving) == 0.0:
            raise NoInfluenceError(
                f"no reaction influences the goal {row.name!r}: its residual does not change "
                "with the velocities"
            )
        if resting and max(resting) < 1e-12 * max(moving):
            raise UndefinedDegreeError(
                f"the relative degree of the goal {row.name!r} is undefined: it is {row.degree} "
                "in motion, but at rest no reaction influences it; pose the residual linear in "
                "the velocities"
            )


# -- from a posed system to its equations ------------------------------------------------------


class _Values:
    """Collects the symbols that become p, with their defaults."""

    def __init__(self, *vectors: Parameters) -> None:
        self.defaults: dict[str, float] = {}
        self.symbols: list[ca.SX] = []
        for vector in vectors:
            self.defaults |= vector.defaults
            self.symbols.append(vector.vector)

    def add(self, name: str, default: float) -> ca.SX:
        symbol = ca.SX.sym(name)  # pyright: ignore[reportArgumentType]
        self.defaults[name] = default
        self.symbols.append(symbol)
        return symbol

    def rate(self, goal: str) -> ca.SX:
        return self.add(f"rate_{goal}", 0.0)

    def vector(self) -> ca.SX:
        return ca.vertcat(ca.SX(0, 1), *self.symbols)


def _column(owner: str, given: Forces, names: tuple[str, ...], kind: str) -> ca.SX:
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise unknown_name(kind, name, names)
        return ca.vertcat(
            ca.SX(0, 1),
            *[as_scalar(f"{owner} on {name!r}", given.get(name, 0.0)) for name in names],
        )
    column = given if isinstance(given, ca.SX) else ca.vertcat(ca.SX(0, 1), *given)
    if column.numel() == 0:
        column = ca.SX(len(names), 1)
    if column.shape != (len(names), 1):
        raise PosingError(f"{owner} must have {len(names)} entries, not {column.shape}")
    return column


def _split_linear(owner: str, column: ca.SX, unknowns: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Split a column into what is free of the unknowns and their matrix."""
    matrix = ca.jacobian(column, unknowns)
    if unknowns.numel() and ca.depends_on(matrix, unknowns):
        raise PosingError(
            f"{owner} must be linear in the reactions; a force that depends on the size of a "
            "reaction is an algebraic loop"
        )
    return ca.substitute(column, unknowns, ca.SX.zeros(*unknowns.shape)), matrix


def _output_columns(outputs: Mapping[str, Output]) -> tuple[dict[str, ca.SX], dict[str, str]]:
    expressions: dict[str, ca.SX] = {}
    units: dict[str, str] = {}
    for name, entry in outputs.items():
        expression, unit = entry if isinstance(entry, tuple) else (entry, "")
        expressions[name] = as_scalar(f"output {name!r}", expression)
        units[name] = unit
    return expressions, units


def _relations(goals: Sequence[AnyGoal], unknowns: ca.SX) -> list[tuple[Relation, ca.SX, ca.SX]]:
    rows: list[tuple[Relation, ca.SX, ca.SX]] = []
    for goal in goals:
        if not isinstance(goal, Relation):
            continue
        offset, matrix = _split_linear(
            f"the relation {goal.name!r}", as_scalar(goal.name, goal.residual), unknowns
        )
        if matrix.nnz() == 0:
            raise NoInfluenceError(f"no reaction influences the goal {goal.name!r}")
        rows.append((goal, offset, matrix))
    return rows


def _check_counts(unknowns: int, rows: int, relations: int) -> None:
    if unknowns != rows + relations:
        raise PosingError(
            f"{unknowns} reactions for {rows + relations} goals ({rows} constraints and "
            f"{relations} relations): there must be as many reactions as goals"
        )


def _mechanical_dynamics(system: MechanicalSystem) -> Dynamics:
    q, v = system.coordinates.vector, system.v.vector
    s, sigma = system.implicit.vector, system.implicit.dot.vector
    values = _Values(system.parameters, system.discrete)
    goals = [goal for goal in system.goals if isinstance(goal, Goal)]
    implicit_goals = _in_order_of_unknowns(system)
    invariants = [goal for goal in system.goals if isinstance(goal, Invariant)]
    own = [goal for goal in goals if goal.ideal]
    u = ca.vertcat(system.reactions.vector, *[goal.reaction for goal in own])
    q_dot = q_dot_free = v if system.kinematics is None else ca.SX(system.kinematics)

    def posed(expression: Expression) -> ca.SX:
        scalar = ca.SX(expression)
        if system.kinematics is None:
            return scalar
        return ca.substitute(scalar, system.coordinates.dot.vector, q_dot_free)

    tracking = {goal.name: values.rate(goal.name) for goal in implicit_goals}
    rates = {goal.name: values.rate(goal.name) for goal in (*goals, *invariants)}
    references = {g.name: values.add(f"reference_{g.name}", 0.0) for g in invariants}
    floors = {g.name: values.add(f"floor_{g.name}", 1.0) for g in invariants}
    for goal in invariants:
        if goal.on == "positions":
            q_dot = q_dot + _position_correction(
                posed(goal.value), q, rates[goal.name], references[goal.name], floors[goal.name]
            )
    flow = Flow(
        time,
        ca.vertcat(q, s),
        v,
        q_dot,
        sigma,
        ca.vertcat(ca.SX(0, 1), *[posed(goal.residual) for goal in implicit_goals]),
        ca.vertcat(ca.SX(0, 1), *[tracking[goal.name] for goal in implicit_goals]),
    )
    motion = _equations_of_motion(system, q, v, q_dot_free)
    force, influence = _split_linear(
        "the force",
        ca.substitute(
            _column("the force", system.force, _force_names(system), "coordinate"),
            system.coordinates.dot.vector,
            q_dot_free,
        ),
        u,
    )
    rows = tuple(_goal_row(goal, flow, posed, rates, system, own) for goal in goals)
    for goal in goals:
        values.add(f"regularisation_{goal.name}", 0.0)
    directions = ca.SX(v.numel(), u.numel())
    for row in rows:
        if row.reaction is not None:
            directions[:, row.reaction] = row.jacobian.T
    relations = _relations(system.goals, u)
    _check_counts(u.numel(), len(rows), len(relations))
    invariant_rows = [
        _invariant_row(goal, flow, posed(goal.value), rates, references, floors)
        for goal in invariants
    ]
    outputs, output_units = _output_columns(system.outputs)
    kinetic = None if system.kinetic is None else posed(system.kinetic)
    if kinetic is not None:
        automatic = _automatic_invariant(
            kinetic, posed(system.potential), motion.mass, flow, values
        )
        if automatic.name not in [goal.name for goal in invariants]:
            invariant_rows.append(automatic)
        if "energy" not in outputs:
            outputs["energy"] = kinetic + posed(system.potential)
            output_units["energy"] = "J"
    labels = Labels(
        states=system.coordinates.names + system.implicit.names + system.v.names,
        state_units=system.coordinates.units + system.implicit.units + system.v.units,
        reactions=system.reactions.names + tuple(goal.name for goal in own),
        reaction_units=system.reactions.units + tuple(goal.unit for goal in own),
        outputs=tuple(outputs),
        output_units=tuple(output_units[name] for name in outputs),
        accelerations=tuple(f"{name}'" for name in system.v.names),
        angles=tuple(
            index
            for index, name in enumerate(system.coordinates.names + system.implicit.names)
            if name in system.coordinates.angles | system.implicit.angles
        ),
    )
    explicit = flow.explicit
    return Dynamics(
        labels=labels,
        t=time,
        x=ca.vertcat(q, s, v),
        p=values.vector(),
        values=values.defaults,
        ranges=system.parameters.ranges | system.discrete.ranges,
        position_count=q.numel() + s.numel(),
        position_rates=flow.position_rates,
        mass=motion.mass,
        force=explicit(motion.force + force),
        influence=explicit(influence) + explicit(directions),
        reactions=u,
        rows=rows,
        relations=tuple(
            RelationRow(goal.name, explicit(posed(matrix)), explicit(posed(offset)), goal.scale)
            for goal, offset, matrix in relations
        ),
        implicit_rows=tuple(
            ImplicitRow(g.name, posed(g.residual), tracking[g.name], g.rate, g.scale)
            for g in implicit_goals
        ),
        invariants=tuple(invariant_rows),
        outputs={name: explicit(posed(value)) for name, value in outputs.items()},
        events=tuple(replace(e, guard=explicit(posed(e.guard))) for e in system.events),
        kinetic=ca.dot(v, motion.mass @ v) / 2 if kinetic is None else kinetic,
    )


def _in_order_of_unknowns(system: MechanicalSystem) -> list[Implicit]:
    goals = [goal for goal in system.goals if isinstance(goal, Implicit)]
    return [
        next(goal for goal in goals if ca.is_equal(system.implicit[name], goal.unknown))
        for name in system.implicit
    ]


def _force_names(system: MechanicalSystem) -> tuple[str, ...]:
    return system.coordinates.names if system.velocities is None else system.velocities.names


def _position_correction(
    value: ca.SX, q: ca.SX, rate: ca.SX, reference: ca.SX, floor: ca.SX
) -> ca.SX:
    gradient = ca.gradient(value, q)
    return -rate * (value - reference) * gradient / (ca.sumsqr(gradient) + floor)


@dataclass(frozen=True, eq=False)
class _Motion:
    mass: ca.SX
    force: ca.SX


def _equations_of_motion(system: MechanicalSystem, q: ca.SX, v: ca.SX, q_dot: ca.SX) -> _Motion:
    """M and h of the freed system, from the energies or from the mass matrix."""
    if system.mass_matrix is not None:
        mass = ca.SX(system.mass_matrix)
        if mass.shape != (v.numel(), v.numel()):
            raise PosingError(
                f"the mass matrix must be {v.numel()} by {v.numel()}, not {mass.shape}"
            )
        return _Motion(mass, _potential_force(system, q, v, q_dot))
    assert system.kinetic is not None
    kinetic = as_scalar("the kinetic energy", system.kinetic)
    if system.velocities is not None:
        kinetic = ca.substitute(kinetic, system.coordinates.dot.vector, q_dot)
    massless = ca.vertcat(system.implicit.vector, system.implicit.dot.vector)
    if massless.numel() and ca.depends_on(kinetic, massless):
        raise PosingError("the kinetic energy must not depend on implicit unknowns")
    momentum = ca.gradient(kinetic, v)
    mass = ca.jacobian(momentum, v)
    if ca.depends_on(mass, v):
        raise PosingError("the kinetic energy must be quadratic in the velocities")
    directions = ca.jacobian(q_dot, v)
    force = (
        directions.T @ ca.gradient(kinetic, q)
        - ca.jtimes(momentum, q, q_dot)
        - ca.jtimes(momentum, time, ca.SX(1))
    )
    if system.kinematics is not None:
        force = force + _bracket_force(momentum, directions, q, v, q_dot)
    return _Motion(mass, force + _potential_force(system, q, v, q_dot))


def _potential_force(system: MechanicalSystem, q: ca.SX, v: ca.SX, q_dot: ca.SX) -> ca.SX:
    potential = as_scalar("the potential", system.potential)
    other = ca.vertcat(v, system.implicit.vector, system.implicit.dot.vector)
    if ca.depends_on(potential, other):
        raise PosingError("the potential must depend on coordinates and time alone")
    return -ca.jacobian(q_dot, v).T @ ca.gradient(potential, q)


def _bracket_force(
    momentum: ca.SX, directions: ca.SX, q: ca.SX, v: ca.SX, q_dot: ca.SX
) -> ca.SX:
    """What quasi-velocities add: sum over b, c of v_b p_c c^c_ba, [S_b, S_a] = sum S_c c^c_ba."""
    if not _vanishes(q_dot - directions @ v, ca.vertcat(q, v)):
        raise PosingError("kinematics must be linear in the quasi-velocities: q' = S(q) v")
    brackets = [
        ca.jtimes(directions[:, a], q, q_dot) - ca.jtimes(q_dot, q, directions[:, a])
        for a in range(v.numel())
    ]
    left_inverse = solve_small(directions.T @ directions, directions.T)
    return ca.vertcat(*[ca.dot(momentum, left_inverse @ bracket) for bracket in brackets])


def _vanishes(expression: ca.SX, arguments: ca.SX) -> bool:
    """Tell whether an expression is zero at random arguments (and random free symbols)."""
    free = ca.symvar(ca.vertcat(ca.vec(expression), arguments))
    function = ca.Function("vanishes", free, [expression])
    generator = np.random.default_rng(2)
    for _ in range(4):
        value = np.asarray(function(*generator.uniform(0.5, 1.5, size=len(free))))
        if np.all(np.isfinite(value)) and np.max(np.abs(value), initial=0.0) > 1e-12:
            return False
    return True


def _goal_row(goal: Goal, flow: Flow, posed, rates, system, own) -> GoalRow:  # noqa: ANN001
    chain = [posed(goal.residual)]
    bias, jacobian = flow.derivative(chain[0])
    if isinstance(goal, Holonomic):
        chain.append(bias)
        bias, jacobian = flow.derivative(bias)
    return GoalRow(
        name=goal.name,
        kind=type(goal).__name__.lower(),
        unit=goal.unit,
        chain=tuple(flow.explicit(link) for link in chain),
        jacobian=flow.explicit(jacobian),
        bias=flow.explicit(bias),
        rate=rates[goal.name],
        reaction=len(system.reactions) + own.index(goal) if goal.ideal else None,
        chosen_rate=goal.rate,
        scale=goal.scale,
    )


def _invariant_row(
    goal: Invariant,
    flow: Flow,
    value: ca.SX,
    rates: Mapping[str, ca.SX],
    references: Mapping[str, ca.SX],
    floors: Mapping[str, ca.SX],
) -> InvariantRow:
    bias, jacobian = flow.derivative(value)
    return InvariantRow(
        name=goal.name,
        value=flow.explicit(value),
        jacobian=flow.explicit(jacobian),
        bias=flow.explicit(bias),
        twice_kinetic=None,
        on=goal.on,
        drive=goal.drive,
        automatic=False,
        rate=rates[goal.name],
        reference=references[goal.name],
        floor=floors[goal.name],
        chosen_rate=goal.rate,
        scale=goal.scale,
    )


def _automatic_invariant(
    kinetic: ca.SX, potential: ca.SX, mass: ca.SX, flow: Flow, values: _Values
) -> InvariantRow:
    v = flow.velocities
    twice_kinetic = ca.dot(v, mass @ v)
    momentum = ca.gradient(kinetic, v)
    jacobi = ca.dot(v, momentum) - kinetic + potential
    natural = _vanishes(kinetic - twice_kinetic / 2, ca.vertcat(flow.positions, v))
    name = "energy" if natural else "jacobi_integral"
    value = twice_kinetic / 2 + potential if natural else jacobi
    note = (
        ""
        if natural
        else "Jacobi's integral v.dL/dv - L; the kinetic energy is not homogeneous in the "
        "velocities, so T + V is not conserved and is never driven"
    )
    bias, jacobian = flow.derivative(value)
    return InvariantRow(
        name=name,
        value=value,
        jacobian=jacobian,
        bias=bias,
        twice_kinetic=twice_kinetic,
        on="velocities",
        drive=True,
        automatic=True,
        rate=values.rate(name),
        reference=values.add(f"reference_{name}", 0.0),
        floor=values.add(f"floor_{name}", 1.0),
        chosen_rate=None,
        scale=None,
        note=note,
    )


# -- control systems ---------------------------------------------------------------------------


def _control_dynamics(system: ControlSystem) -> Dynamics:
    x = system.states.vector
    values = _Values(system.parameters, system.discrete)
    own = [goal for goal in system.goals if isinstance(goal, Goal)]
    invariants = [goal for goal in system.goals if isinstance(goal, Invariant)]
    u = system.controls.vector
    drift, influence = _split_linear(
        "the rate", _column("the rate", system.rate, system.states.names, "state"), u
    )
    empty = ca.SX(0, 1)
    flow = Flow(time, empty, x, empty, empty, empty, empty)
    rates = {goal.name: values.rate(goal.name) for goal in (*own, *invariants)}
    references = {g.name: values.add(f"reference_{g.name}", 0.0) for g in invariants}
    floors = {g.name: values.add(f"floor_{g.name}", 1.0) for g in invariants}
    rows = tuple(
        _control_row(goal, x, drift, influence, rates[goal.name], values) for goal in own
    )
    for goal in own:
        values.add(f"regularisation_{goal.name}", 0.0)
    relations = _relations(system.goals, u)
    _check_counts(u.numel(), len(rows), len(relations))
    outputs, output_units = _output_columns(system.outputs)
    return Dynamics(
        labels=Labels(
            states=system.states.names,
            state_units=system.states.units,
            reactions=system.controls.names,
            reaction_units=system.controls.units,
            outputs=tuple(outputs),
            output_units=tuple(output_units[name] for name in outputs),
            accelerations=tuple(f"{name}'" for name in system.states.names),
        ),
        t=time,
        x=x,
        p=values.vector(),
        values=values.defaults,
        ranges=system.parameters.ranges | system.discrete.ranges,
        position_count=0,
        position_rates=empty,
        mass=ca.SX.eye(x.numel()),
        force=drift,
        influence=influence,
        reactions=u,
        rows=rows,
        relations=tuple(
            RelationRow(goal.name, matrix, offset, goal.scale)
            for goal, offset, matrix in relations
        ),
        implicit_rows=(),
        invariants=tuple(
            _invariant_row(goal, flow, ca.SX(goal.value), rates, references, floors)
            for goal in invariants
        ),
        outputs=outputs,
        events=tuple(system.events),
        kinetic=None,
    )


def _control_row(
    goal: Goal, x: ca.SX, drift: ca.SX, influence: ca.SX, rate: ca.SX, values: _Values
) -> GoalRow:
    """Differentiate a goal along f until a control appears (Isidori's relative degree)."""
    chain = [ca.SX(goal.residual)]
    for _ in range(x.numel()):
        gradient = ca.jacobian(chain[-1], x)
        grip = _sizes(gradient @ influence, x, values)
        if max(grip, default=0.0) > 1e-12:
            return GoalRow(
                name=goal.name,
                kind="control",
                unit=goal.unit,
                chain=tuple(chain),
                jacobian=gradient,
                bias=ca.jtimes(chain[-1], time, ca.SX(1)),
                rate=rate,
                reaction=None,
                chosen_rate=goal.rate,
                scale=goal.scale,
            )
        chain.append(gradient @ drift + ca.jtimes(chain[-1], time, ca.SX(1)))
    raise NoInfluenceError(f"no control influences the goal {goal.name!r}, however often derived")


def _sizes(row: ca.SX, x: ca.SX, values: _Values) -> list[float]:
    """Return the norm of a row at random states, where it is finite."""
    function = ca.Function("row", [time, x, values.vector()], [ca.norm_2(ca.vec(row))])
    generator = np.random.default_rng(3)
    states = [generator.normal(size=x.numel()) for _ in range(5)]
    defaults = list(values.defaults.values())
    sizes = [float(function(0.3, state, defaults)) for state in states]
    return [size for size in itertools.compress(sizes, np.isfinite(sizes))]
