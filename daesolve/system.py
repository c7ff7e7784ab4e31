"""Systems as they are posed: mechanics by Lagrange or Newton-Euler, and control systems."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca

from daesolve.contacts import check_held, contact_rows, contacts_of, with_contacts
from daesolve.dynamics import Dynamics, GoalRow, ImplicitRow
from daesolve.errors import PosingError, unknown_name
from daesolve.events import Event, Reset
from daesolve.flow import Flow, Named, Tracked
from daesolve.friction.checking import check_pairs, check_supports
from daesolve.friction.guides import (
    FRICTION_WORK,
    Guides,
    guide_events,
    guides,
)
from daesolve.friction.supports import VariantPair
from daesolve.goals import (
    AnyGoal,
    Expression,
    Goal,
    Holonomic,
    Implicit,
    Invariant,
    Nonholonomic,
    Relation,
    as_scalar,
)
from daesolve.jams import watched_for_jams
from daesolve.lagrange import Kinematics, Motion, lagrange, newton_euler, vanishes
from daesolve.posing import (
    check_degrees,
    check_goals,
    check_names,
    check_symbols,
    expressions_of,
    implicit_goals,
)
from daesolve.resets import check_resets, reset_rows
from daesolve.rows import (
    AUTOMATIC_NAMES,
    Feedbacks,
    Values,
    automatic_invariant,
    check_counts,
    control_row,
    drive_by_relations,
    goal_row,
    held_row,
    invariant_row,
    relation_rows,
    split_linear,
)
from daesolve.symbols import (
    Auxiliaries,
    DifferentiableVector,
    Labels,
    Parameters,
    SymbolVector,
    time,
)

Output = Expression | tuple[Expression, str]
Forces = Mapping[str, Expression] | Sequence[Expression] | ca.SX

_NO_PARAMETERS = Parameters({}, {}, {})
_NO_REACTIONS = SymbolVector((), (), "reaction")
_NO_UNKNOWNS = DifferentiableVector((), (), "implicit unknown")
_NO_QUADRATURES = SymbolVector((), (), "quadrature")
_NO_AUXILIARIES = Auxiliaries({}, {})
_NO_DISCRETE = Parameters({}, {}, {}, "discrete value")


@dataclass(frozen=True, eq=False)
class MechanicalSystem:
    """A constrained mechanical system.

    Its equations are `mass_matrix @ v' = force` (Newton-Euler) where the mass matrix is given, else
    Lagrange's (Hamel's in quasi-velocities).

    Parameters
    ----------
    coordinates
        q, from `coordinates`.
    parameters
        Numbers that may vary from run to run without compiling again.
    kinetic, potential
        T(t, q, v) and V(t, q), in J.
    mass_matrix
        (nv, nv). `kinetic` may be given besides, as the energy to be watched.
    gyroscopic
        Beside a mass matrix, inertial forces that do no work, such as -w x I w of a body in axes
        of its own, given as `force` is.
    goals
        Constraints, implicit equations, relations between reactions, invariants.
    force
        Generalised forces by the name of a coordinate (or quasi-velocity), or as a column. They
        may contain time, states, parameters and reactions (linearly).
    implicit, reactions, discrete
        Massless unknowns, reactions directed by where they enter `force`, discrete values.
    velocities, kinematics
        Quasi-velocities v and q' = S(q) v as a column.
    auxiliaries
        Names for expressions of time and positions, from `auxiliaries`.
    independent
        For the formulation `null-space`: as many velocities as the constraints leave, by name,
        linear in v, such as the speed and the rate of turn of a vehicle.
    quadratures, integrands
        What is integrated along the motion, from `states`, and the rates by name or as a column:
        the angle of a wheel, work. They are states of the run. Energies and constraints do not
        contain them; forces, events, outputs and invariants may.
    events
        What to watch for.
    outputs
        Further quantities by name: an expression, or (expression, unit).
    meters
        Powers by name, which may contain reactions: (expression, unit of the integral). What they
        have come to since the start is an output by this name.
    pairs
        Pairs of supports that hold the body, where it is unknown which of them are loaded. As many
        constraints, posed with `ideal=False`, are those that they keep.
    peaks
        Outputs by name whose largest magnitude over every accepted step is told with a run.
    after
        By the name of a goal, the velocities (of those that it touches) and goals after which the
        elimination may take its reaction: it must have a grip on what these leave, wherever the
        motion goes. All velocities that it touches, where nothing is told.
    recovered
        Reactions that are no unknowns, such as those of constraints that were eliminated, by name:
        an expression of time, states and reactions, or (expression, unit).

    Raises
    ------
    PosingError
        The system has no meaning as posed; the goal or name at fault is told.
    UndefinedDegreeError, NoInfluenceError
        A goal has no relative degree, or no reaction influences it.

    Notes
    -----
    The automatic invariant is Jacobi's integral v . dL/dv - L, unless a goal is called `energy` or
    `jacobi_integral`. Whether it is conserved is decided
    at consistent states when a run is prepared.
    """

    coordinates: DifferentiableVector
    parameters: Parameters = _NO_PARAMETERS
    kinetic: Expression | None = None
    potential: Expression = 0.0
    goals: Sequence[AnyGoal] = ()
    force: Forces = field(default_factory=dict)
    mass_matrix: ca.SX | None = None
    gyroscopic: Forces = field(default_factory=dict)
    implicit: DifferentiableVector = _NO_UNKNOWNS
    reactions: SymbolVector = _NO_REACTIONS
    discrete: Parameters = _NO_DISCRETE
    velocities: SymbolVector | None = None
    kinematics: ca.SX | None = None
    auxiliaries: Auxiliaries = _NO_AUXILIARIES
    independent: Mapping[str, Expression] = field(default_factory=dict)
    quadratures: SymbolVector = _NO_QUADRATURES
    integrands: Forces = field(default_factory=dict)
    events: Sequence[Event] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict)
    recovered: Mapping[str, Output] = field(default_factory=dict)
    meters: Mapping[str, Output] = field(default_factory=dict)
    pairs: Sequence[VariantPair] = ()
    peaks: Sequence[str] = ()
    after: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.coordinates, DifferentiableVector) or not len(self.coordinates):
            raise PosingError(
                f"coordinates must be at least one, from coordinates(), not {self.coordinates!r}"
            )
        as_scalar("the potential", self.potential)
        if self.kinetic is not None:
            as_scalar("the kinetic energy", self.kinetic)
        if self.kinetic is None and self.mass_matrix is None:
            raise PosingError("give kinetic (Lagrange) or mass_matrix (Newton-Euler)")
        if self.mass_matrix is None and not _is_empty(self.gyroscopic):
            raise PosingError(
                "gyroscopic forces stand beside a mass matrix: the kinetic energy has its own"
            )
        if (self.velocities is None) != (self.kinematics is None):
            raise PosingError("quasi-velocities need both velocities= and kinematics=")
        if self.kinematics is not None and not isinstance(self.kinematics, ca.SX):
            raise PosingError("kinematics must be q' as a column: a CasADi SX, S @ v.vector")
        contacts = contacts_of(self.goals) if isinstance(self.goals, Iterable) else []
        if contacts:
            discrete, events = with_contacts(self.discrete, self.events, contacts)
            object.__setattr__(self, "discrete", discrete)
            object.__setattr__(self, "events", events)
        posed = self.posed
        check_names(
            [
                self.parameters,
                posed.discrete,
                self.coordinates,
                self.v,
                self.implicit,
                self.quadratures,
                posed.reactions,
            ],
            self.goals,
            posed.events,
            self.outputs,
            self.recovered,
            posed.meters,
        )
        moving = [self.coordinates.dot.vector, self.implicit.dot.vector]
        moving.append(self.auxiliaries.dot.vector)
        if self.velocities is not None:
            moving.append(self.velocities.vector)
        check_goals(self.goals, ca.vertcat(*moving))
        check_held(self.goals, self.pairs)
        dynamics = self.dynamics
        known = ca.vertcat(dynamics.t, dynamics.x, dynamics.p, dynamics.reactions)
        check_symbols(expressions_of(dynamics), known)
        check_degrees(dynamics)
        check_resets(dynamics)

    @property
    def v(self) -> SymbolVector:
        """The velocities: those given, else the rates of the coordinates."""
        return self.velocities if self.velocities is not None else self.coordinates.rates

    @cached_property
    def guides(self) -> Guides | None:
        """What its pairs of supports add to it."""
        check_pairs(self.pairs, self.goals)
        if not len(self.pairs):
            return None
        rates = self.coordinates.dot.vector
        moving = rates if self.velocities is None else ca.vertcat(rates, self.v.vector)
        others = [part for own in (self.implicit, self.auxiliaries) for part in (own, own.dot)]
        found = ca.vertcat(*[part.vector for part in others])
        check_supports(self.pairs, self.coordinates.vector, moving, found)
        written = ca.SX if self.kinematics is None else self._in_quasi_velocities
        freedom = len(self.v) - sum(isinstance(goal, Goal) for goal in self.goals)
        timed = [goal.residual for goal in self.goals if isinstance(goal, Goal)]
        return guides(
            self.pairs,
            (self.coordinates.vector, rates),
            self.v.vector,
            freedom,
            not ca.depends_on(ca.vertcat(ca.SX(0, 1), *timed), time),
            written,
        )

    def _in_quasi_velocities(self, expression: Expression) -> ca.SX:
        rates = self.coordinates.dot.vector
        assert self.kinematics is not None
        return ca.substitute(ca.SX(expression), rates, self.kinematics)

    @cached_property
    def posed(self) -> MechanicalSystem:
        """The system with what its pairs of supports add to it."""
        return self if self.guides is None else _guided(self, self.guides)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The equations, symbolic and not yet eliminated."""
        if self.guides is None:
            return _mechanical(self)
        return watched_for_jams(replace(self.posed.dynamics, guides=self.guides), self.guides)

    def function(self, quantity: str, around: Mapping[str, float] | None = None) -> ca.Function:
        """Return "accelerations", "reactions", "rhs" or "residuals"; see `export.equations`."""
        from daesolve.export import equations

        return equations(self.dynamics, quantity, around)

    def without(self, names: Iterable[str]) -> MechanicalSystem:
        """Return the system without some goals: their reactions are zero wherever they stand."""
        dropped = set(names)
        gone = [
            goal.reaction
            for goal in self.goals
            if isinstance(goal, Goal) and goal.ideal and goal.name in dropped
        ]
        reactions = ca.vertcat(ca.SX(0, 1), *gone)

        def freed(expression: Expression) -> ca.SX:
            return ca.substitute(ca.SX(expression), reactions, ca.SX.zeros(*reactions.shape))

        force = self.force
        if isinstance(force, Mapping):
            force = {name: freed(value) for name, value in force.items()}
        elif isinstance(force, ca.SX):
            force = freed(force)
        else:
            force = [freed(value) for value in force]
        return replace(
            self,
            force=force,
            goals=tuple(
                replace(goal, residual=freed(goal.residual)) if isinstance(goal, Relation) else goal
                for goal in self.goals
                if goal.name not in dropped
            ),
            events=tuple(_without(event, dropped, freed) for event in self.events),
            outputs=_of_outputs(freed, self.outputs),
            recovered=_of_outputs(freed, self.recovered),
            meters=_of_outputs(freed, self.meters),
            after={
                name: [other for other in before if other not in dropped]
                for name, before in self.after.items()
                if name not in dropped
            },
        )


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
        vectors = [self.parameters, self.discrete, self.states, self.controls]
        own = [replace(goal, ideal=False) for goal in self.goals if isinstance(goal, Goal)]
        check_names(vectors, own, self.events, self.outputs, {})
        for goal in self.goals:
            if isinstance(goal, Implicit | Holonomic | Nonholonomic):
                raise PosingError(
                    f"goal {goal.name!r} of a control system must be a Goal, a Relation or an "
                    f"Invariant, not {type(goal).__name__}"
                )
        check_degrees(self.dynamics)
        check_resets(self.dynamics)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The equations, symbolic and not yet eliminated."""
        return _control(self)

    def function(self, quantity: str, around: Mapping[str, float] | None = None) -> ca.Function:
        """Return "accelerations", "reactions", "rhs" or "residuals"; see `export.equations`."""
        from daesolve.export import equations

        return equations(self.dynamics, quantity, around)

    def without(self, names: Iterable[str]) -> ControlSystem:
        """Return the system without some goals."""
        dropped = set(names)
        return replace(self, goals=tuple(goal for goal in self.goals if goal.name not in dropped))


System = MechanicalSystem | ControlSystem


def _of_outputs(
    change: Callable[[Expression], ca.SX], outputs: Mapping[str, Output]
) -> dict[str, Output]:
    """Return outputs with their expressions changed and their units kept."""
    return {
        name: (change(entry[0]), entry[1]) if isinstance(entry, tuple) else change(entry)
        for name, entry in outputs.items()
    }


def _without(event: Event, dropped: set[str], freed: Callable[[ca.SX], ca.SX]) -> Event:
    """Return an event that imposes none of the dropped goals.

    Raises
    ------
    PosingError
        It would impose nothing any more.
    """
    reset = event.then.reset
    if reset is not None and reset.impose and dropped.issuperset(reset.impose):
        raise PosingError(
            f"the event {event.name!r} imposes only goals that are dropped as redundant, "
            f"{', '.join(map(repr, reset.impose))}: impose one that they depend on, or ask for "
            "redundant = 'minimum-norm'"
        )
    parts = [
        replace(part, impose=[goal for goal in part.impose if goal not in dropped])
        if isinstance(part, Reset)
        else part
        for part in event.then.parts
    ]
    return replace(event, guard=freed(event.guards), then=functools.reduce(operator.or_, parts))


# -- from a posed system to its equations ------------------------------------------------------


def _column(owner: str, given: Forces, names: tuple[str, ...], kind: str) -> ca.SX:
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise unknown_name(kind, name, names)
        return ca.vertcat(
            ca.SX(0, 1),
            *[as_scalar(f"{owner} on {name!r}", given.get(name, 0.0)) for name in names],
        )
    if isinstance(given, ca.DM):
        given = ca.SX(given)
    if not isinstance(given, ca.SX | Sequence) or isinstance(given, str):
        raise PosingError(f"{owner} must be given by names or as a column, not as {given!r}")
    column = given if isinstance(given, ca.SX) else ca.vertcat(ca.SX(0, 1), *given)
    if column.numel() == 0:
        column = ca.SX(len(names), 1)
    if column.shape != (len(names), 1):
        raise PosingError(f"{owner} must have {len(names)} entries, not {column.shape}")
    return column


def _is_empty(given: Forces) -> bool:
    return given.numel() == 0 if isinstance(given, ca.SX) else not len(given)


def _outputs(
    outputs: Mapping[str, Output], what: str = "output"
) -> tuple[dict[str, ca.SX], dict[str, str]]:
    """Return the expressions and units of outputs, or of what is told like them."""
    expressions: dict[str, ca.SX] = {}
    units: dict[str, str] = {}
    for name, entry in outputs.items():
        pair = entry if isinstance(entry, tuple) else (entry, "")
        if len(pair) != 2 or not isinstance(pair[1], str):
            raise PosingError(f"{what} {name!r} must be an expression or (expression, unit)")
        expression, unit = pair
        expressions[name] = as_scalar(f"{what} {name!r}", expression)
        units[name] = unit
    return expressions, units


class _Posed:
    """The symbols of a mechanical system, and its expressions in them."""

    def __init__(self, system: MechanicalSystem) -> None:
        self.system = system
        self.q, self.v = system.coordinates.vector, system.v.vector
        self.s, self.sigma = system.implicit.vector, system.implicit.dot.vector
        self.quadratures = system.quadratures.vector
        self.own = [goal for goal in system.goals if isinstance(goal, Goal) and goal.ideal]
        self.u = ca.vertcat(system.reactions.vector, *[goal.reaction for goal in self.own])
        self.values = Values()
        self.values.take(system.parameters)
        self.values.take(system.discrete)
        q_dot = self.v if system.kinematics is None else ca.SX(system.kinematics)
        massless = ca.vertcat(self.s, self.sigma, self.quadratures)
        self.kinematics = Kinematics(self.q, self.v, q_dot, massless, system.kinematics is not None)

    def __call__(self, expression: Expression) -> ca.SX:
        """Write the rates of the coordinates in the velocities."""
        written = ca.SX(expression)
        if self.system.kinematics is None:
            return written
        rates = self.system.coordinates.dot.vector
        return ca.substitute(written, rates, self.kinematics.q_dot)

    def reaction_of(self, goal: Goal) -> int | None:
        """Return the index of a goal's own reaction."""
        if not goal.ideal:
            return None
        return len(self.system.reactions) + self.own.index(goal)


def _guided(system: MechanicalSystem, guides: Guides) -> MechanicalSystem:
    """Return the system with the reactions, forces and events of its supports."""
    force = _column("the force", system.force, _force_names(system), "force")
    v = system.v.vector
    kinetic = system.kinetic
    if kinetic is None:
        assert system.mass_matrix is not None
        kinetic = ca.dot(v, system.mass_matrix @ v) / 2
    return replace(
        system,
        pairs=(),
        reactions=system.reactions.joined(guides.reactions),
        discrete=system.discrete.joined(guides.values),
        force=force + guides.force,
        events=(*system.events, *guide_events(guides, as_scalar("the kinetic energy", kinetic))),
        meters={**system.meters, FRICTION_WORK: (guides.power(v), "J")},
    )


def _mechanical(system: MechanicalSystem) -> Dynamics:
    posed = _Posed(system)
    values = posed.values
    invariants = [goal for goal in system.goals if isinstance(goal, Invariant)]
    implicit = implicit_goals(system.goals, system.implicit)
    tracking = [values.add(f"rate_{goal.name}", 0.0) for goal in implicit]
    feedbacks = [Feedbacks.of(goal.name, values, goal.reference) for goal in invariants]
    flow = _flow(posed, implicit, tracking, list(zip(invariants, feedbacks, strict=True)))
    rows = _rows(posed, flow)
    motion = _motion(posed, flow)
    force, influence = split_linear(
        "the force", posed(_column("the force", system.force, _force_names(system), "force")),
        posed.u,
    )  # fmt: skip
    relations = relation_rows(system.goals, posed.u)
    check_counts(posed.u.numel(), len(rows), len(relations))
    invariant_rows = [
        invariant_row(goal, posed(goal.value), feedback, flow)
        for goal, feedback in zip(invariants, feedbacks, strict=True)
    ]
    invariant_rows, relations = drive_by_relations(invariants, invariant_rows, relations)
    outputs, units = _outputs(system.outputs)
    recovered, recovered_units = _outputs(system.recovered, "the recovered reaction")
    meters, meter_units = _outputs(system.meters, "meter")
    kinetic = ca.dot(posed.v, motion.mass @ posed.v) / 2
    if system.kinetic is not None:
        kinetic = flow.explicit(posed(system.kinetic))
        potential = flow.explicit(posed(system.potential))
        if not {goal.name for goal in system.goals} & AUTOMATIC_NAMES:
            automatic = automatic_invariant(kinetic, potential, motion.mass, flow, values)
            timed = [kinetic, potential, flow.position_rates, *(row.bias for row in rows)]
            doubt = _doubt(force, ca.vertcat(*timed, *(row.jacobian.T for row in rows)))
            invariant_rows.append(replace(automatic, doubt=doubt))
        if "energy" not in outputs:
            outputs["energy"], units["energy"] = kinetic + potential, "J"
    explicit = flow.explicit
    for row in rows:
        if row.hold is not None and row.reaction is not None:
            influence[:, row.reaction] *= row.hold
    labels = _labels(posed, units, recovered_units)
    resets = reset_rows(
        system.events,
        labels.states,
        system.discrete,
        rows,
        lambda expression: explicit(posed(expression)),
        lambda goal: goal_row(goal, posed(goal.residual), values, flow, None),
    )
    dynamics = Dynamics(
        labels=labels,
        t=time,
        x=ca.vertcat(posed.q, posed.quadratures, posed.s, posed.v),
        p=values.vector(),
        values=values.defaults,
        ranges=system.parameters.ranges | system.discrete.ranges,
        position_count=posed.q.numel() + posed.quadratures.numel() + posed.s.numel(),
        quadrature_count=posed.quadratures.numel(),
        position_rates=flow.position_rates,
        mass=motion.mass,
        force=explicit(motion.force + force),
        influence=explicit(influence) + _ideal_directions(rows, influence.shape),
        reactions=posed.u,
        rows=rows,
        relations=tuple(
            replace(
                row,
                jacobian=explicit(posed(row.jacobian)),
                offset=explicit(posed(row.offset)),
            )
            for row in relations
        ),
        implicit_rows=tuple(
            ImplicitRow(goal.name, explicit(posed(goal.residual)), rate, goal.rate, goal.scale)
            for goal, rate in zip(implicit, tracking, strict=True)
        ),
        invariants=tuple(invariant_rows),
        outputs={name: explicit(posed(value)) for name, value in outputs.items()},
        recovered={name: explicit(posed(value)) for name, value in recovered.items()},
        events=tuple(replace(e, guard=explicit(posed(e.guards))) for e in system.events),
        resets=resets,
        discrete=system.discrete.names,
        kinetic=kinetic,
        independent=_independent(posed, flow),
        meters={n: (explicit(posed(e)), meter_units[n]) for n, e in meters.items()},
        peaks=_peaks(system.peaks, (*outputs, *meters)),
        after=_after(system),
    )
    contacts = contacts_of(system.goals)
    if not contacts:
        return dynamics
    return replace(
        dynamics,
        contacts=contact_rows(contacts, dynamics, lambda given: explicit(posed(given))),
    )


def _peaks(names: Sequence[str], outputs: Collection[str]) -> tuple[str, ...]:
    """Return the outputs whose peaks are told.

    Raises
    ------
    PosingError
        They are no list of names.
    UnknownNameError
        There is no such output.
    """
    if isinstance(names, str):
        raise PosingError(f"peaks must be a list of outputs, not {names!r}")
    for name in names:
        if name not in outputs:
            raise unknown_name("output", name, outputs)
    return tuple(names)


def _after(system: MechanicalSystem) -> dict[str, tuple[str, ...]]:
    """Return what comes before the reactions of goals in the elimination.

    Raises
    ------
    UnknownNameError
        There is no such goal or velocity.
    """
    goals = [goal.name for goal in system.goals]
    for goal, before in system.after.items():
        if goal not in goals:
            raise unknown_name("goal", goal, goals)
        for name in before:
            if name not in goals and name not in system.v:
                raise unknown_name("velocity or goal", name, [*system.v.names, *goals])
    return {goal: tuple(before) for goal, before in system.after.items()}


def _independent(posed: _Posed, flow: Flow) -> dict[str, ca.SX]:
    """Return the problem's independent velocities.

    Raises
    ------
    PosingError
        One is not linear in the velocities, or depends on none.
    """
    found: dict[str, ca.SX] = {}
    for name, expression in posed.system.independent.items():
        written = flow.explicit(posed(as_scalar(f"independent velocity {name!r}", expression)))
        slope = ca.jacobian(written, posed.v)
        if slope.nnz() == 0 or ca.depends_on(slope, posed.v):
            raise PosingError(f"the independent velocity {name!r} must be linear in the velocities")
        found[name] = written
    return found


def _doubt(force: ca.SX, timed: ca.SX) -> str:
    """Say why sampling cannot show that the energy is conserved."""
    if ca.SX(ca.sparsify(force)).nnz() != 0:
        return "forces act"
    if ca.depends_on(timed, time):
        return "time stands in the equations"
    return ""


def _flow(
    posed: _Posed,
    implicit: Sequence[Implicit],
    tracking: Sequence[ca.SX],
    invariants: Sequence[tuple[Invariant, Feedbacks]],
) -> Flow:
    """Return derivatives along the motion; invariants on positions correct q' itself."""
    q_dot = posed.kinematics.q_dot
    for goal, feedback in invariants:
        if goal.on == "positions":
            value = posed(goal.value)
            gradient = ca.gradient(value, posed.q)
            error = feedback.rate * (value - feedback.reference)
            q_dot = q_dot - error * gradient / ca.sumsqr(gradient)
    tracked = Tracked(
        posed.s,
        posed.sigma,
        ca.vertcat(ca.SX(0, 1), *[posed(goal.residual) for goal in implicit]),
        ca.vertcat(ca.SX(0, 1), *tracking),
    )
    quantities = posed.system.auxiliaries
    named = Named(quantities.vector, quantities.dot.vector, quantities.meanings)
    positions = ca.vertcat(posed.q, posed.quadratures)
    return Flow(time, positions, posed.v, ca.vertcat(q_dot, _integrands(posed)), tracked, named)


def _integrands(posed: _Posed) -> ca.SX:
    """Return the rates of the quadratures.

    Raises
    ------
    PosingError
        One has no rate, or a constraint contains it.
    """
    system = posed.system
    names = system.quadratures.names
    if isinstance(system.integrands, Mapping):
        for name in names:
            if name not in system.integrands:
                raise PosingError(f"the quadrature {name!r} has no rate: give it in integrands")
    for goal in system.goals:
        if not isinstance(goal, Invariant) and ca.depends_on(_residual(goal), posed.quadratures):
            raise PosingError(
                f"the goal {goal.name!r} contains a quadrature, but only forces, events, outputs "
                "and invariants may; make it a coordinate"
            )
    rates = posed(_column("the rate", system.integrands, names, "quadrature"))
    for name, rate in zip(names, ca.vertsplit(rates), strict=True):
        if ca.depends_on(rate, posed.u):
            raise PosingError(
                f"the rate of the quadrature {name!r} contains a reaction, but only time, states "
                "and parameters may stand in it; make it an output"
            )
    return rates


def _rows(posed: _Posed, flow: Flow) -> tuple[GoalRow, ...]:
    rows: list[GoalRow] = []
    for goal in posed.system.goals:
        if isinstance(goal, Goal):
            reaction = posed.reaction_of(goal)
            row = goal_row(goal, posed(goal.residual), posed.values, flow, reaction)
            hold = posed.system.discrete[goal.held_by] if goal.held_by else None
            rows.append(row if hold is None else held_row(row, hold))
    return tuple(rows)


def _motion(posed: _Posed, flow: Flow) -> Motion:
    system = posed.system
    potential = flow.explicit(as_scalar("the potential", posed(system.potential)))
    if system.mass_matrix is not None:
        motion = newton_euler(ca.SX(system.mass_matrix), potential, posed.kinematics)
        return replace(motion, force=motion.force + _gyroscopic(posed))
    assert system.kinetic is not None
    kinetic = flow.explicit(as_scalar("the kinetic energy", posed(system.kinetic)))
    return lagrange(kinetic, potential, posed.kinematics)


def _gyroscopic(posed: _Posed) -> ca.SX:
    """Return the gyroscopic forces.

    Raises
    ------
    PosingError
        They do work, or contain reactions.
    """
    system = posed.system
    given = _column("the gyroscopic force", system.gyroscopic, _force_names(system), "force")
    forces = posed(given)
    if ca.depends_on(forces, posed.u):
        raise PosingError("gyroscopic forces do not depend on reactions: put them into force")
    power = ca.dot(forces, posed.v)
    if not vanishes(power, ca.vertcat(posed.q, posed.v)):
        raise PosingError("the gyroscopic forces do work: put them into force")
    return forces


def _force_names(system: MechanicalSystem) -> tuple[str, ...]:
    return system.coordinates.names if system.velocities is None else system.velocities.names


def _ideal_directions(rows: Sequence[GoalRow], shape: tuple[int, int]) -> ca.SX:
    """Let each goal's own reaction act along the goal's gradient."""
    directions = ca.SX(*shape)
    for row in rows:
        if row.reaction is not None:
            directions[:, row.reaction] = row.jacobian.T
    return directions


def _labels(posed: _Posed, outputs: Mapping[str, str], recovered: Mapping[str, str]) -> Labels:
    system = posed.system
    groups = (system.coordinates, system.quadratures, system.implicit)
    positions = tuple(name for group in groups for name in group.names)
    units = tuple(unit for group in groups for unit in group.units)
    angles = frozenset().union(*[group.angles for group in groups])
    return Labels(
        states=positions + system.v.names,
        state_units=units + system.v.units,
        reactions=system.reactions.names + tuple(goal.reaction_label for goal in posed.own),
        reaction_units=system.reactions.units + tuple(goal.unit for goal in posed.own),
        outputs=tuple(outputs),
        output_units=tuple(outputs.values()),
        accelerations=tuple(f"{name}'" for name in system.v.names),
        angles=tuple(index for index, name in enumerate(positions) if name in angles),
        recovered=tuple(recovered),
        recovered_units=tuple(recovered.values()),
    )


def _residual(goal: AnyGoal) -> ca.SX:
    return ca.SX(goal.value if isinstance(goal, Invariant) else goal.residual)


def _not_mechanical(goal: Goal) -> GoalRow:
    raise PosingError(
        f"the constraint {goal.name!r} cannot be imposed: a control system has no masses, in whose "
        "metric velocities would be projected"
    )


def _control(system: ControlSystem) -> Dynamics:
    x, u = system.states.vector, system.controls.vector
    values = Values()
    values.take(system.parameters)
    values.take(system.discrete)
    rate = _column("the rate", system.rate, system.states.names, "state")
    outputs, units = _outputs(system.outputs)
    posed = [("the rate", rate)]
    posed += [(f"the goal {g.name!r}", _residual(g)) for g in system.goals]
    posed += [(f"the output {name!r}", value) for name, value in outputs.items()]
    posed += [(f"the event {e.name!r}", e.guards) for e in system.events]
    check_symbols(posed, ca.vertcat(time, x, u, values.vector()))
    drift, influence = split_linear("the rate", rate, u)
    empty = ca.SX(0, 1)
    flow = Flow(time, empty, x, empty)
    rows: list[GoalRow] = []
    for goal in system.goals:
        if isinstance(goal, Goal):
            rows.append(control_row(goal, x, drift, influence, values))
    invariants = [
        invariant_row(goal, ca.SX(goal.value), Feedbacks.of(goal.name, values), flow)
        for goal in system.goals
        if isinstance(goal, Invariant)
    ]
    relations = relation_rows(system.goals, u)
    check_counts(u.numel(), len(rows), len(relations))
    own = [goal for goal in system.goals if isinstance(goal, Invariant)]
    invariants, relations = drive_by_relations(own, invariants, relations)
    return Dynamics(
        labels=Labels(
            states=system.states.names,
            state_units=system.states.units,
            reactions=system.controls.names,
            reaction_units=system.controls.units,
            outputs=tuple(units),
            output_units=tuple(units.values()),
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
        rows=tuple(rows),
        relations=tuple(relations),
        implicit_rows=(),
        invariants=tuple(invariants),
        outputs=outputs,
        events=tuple(system.events),
        discrete=system.discrete.names,
        resets=reset_rows(
            system.events, system.states.names, system.discrete, rows, ca.SX, _not_mechanical
        ),
        kinetic=None,
    )
