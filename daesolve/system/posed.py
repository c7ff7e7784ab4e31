"""What a system is posed of, as data: its symbols, energies, forces and goals.

`system` checks it and hands out its equations, which `equations_of_motion` makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca

from daesolve.algebra.digest import NoDigestError, digest_of
from daesolve.errors import PosingError, unknown_name
from daesolve.posing.events import Event
from daesolve.posing.goals import (
    AnyGoal,
    Expression,
    Goal,
    Holonomic,
    Nonholonomic,
    as_scalar,
    expression_of,
)
from daesolve.posing.guides import Guides, Rubbing
from daesolve.posing.inputs import NO_INPUTS, Drive, Inputs
from daesolve.posing.supports import VariantPair
from daesolve.posing.symbols import (
    Auxiliaries,
    DifferentiableVector,
    DiscreteValues,
    Parameters,
    SymbolVector,
    time,
)
from daesolve.system.piecewise import Switching, found, jumps

Output = Expression | tuple[Expression, str]
"""A quantity that a run reports: an expression, or (expression, unit)."""
Forces = Mapping[str, Expression] | Sequence[Expression] | ca.SX
"""Expressions by the name of a state, or as a column."""

_NO_PARAMETERS = Parameters({}, {}, {})
_NO_REACTIONS = SymbolVector((), (), "reaction")
_NO_UNKNOWNS = DifferentiableVector((), (), "implicit unknown")
_NO_QUADRATURES = SymbolVector((), (), "quadrature")
_NO_AUXILIARIES = Auxiliaries({}, {})


@dataclass(frozen=True, eq=False, kw_only=True)
class Piecewise:
    """What changes in a system from time to time, beside its states.

    Parameters
    ----------
    switches
        Whether they switch modes, at events that solvers find.
    switching
        The switches, once they are found.
    inputs
        What acts from outside, from `inputs`.
    drives
        What tables and sampled laws add to it; see `inputs.Drive`.
    notes
        Sentences that are to be among the notes of every run.
    """

    switches: bool = True
    switching: Switching | None = None
    inputs: Inputs = NO_INPUTS
    drives: Sequence[Drive] = ()
    notes: Sequence[str] = ()

    @cached_property
    def digest(self) -> str | None:
        """Of what it is posed of, taken when it is posed: lists and the like may change later.

        None where that is not plain data (see `digest_of`).
        """
        return self.digest_now()

    def digest_now(self) -> str | None:
        """Return the digest of what it is posed of, as that stands now."""
        try:
            return digest_of((time, self))  # Time is the only symbol that is nobody's own.
        except NoDigestError:
            return None

    def owner_of(self, name: str) -> Parameters:
        """Return which values have a name: discrete ones, inputs or parameters."""
        own: tuple[Parameters, ...] = (self.discrete, self.inputs)  # pyright: ignore
        return next((values for values in own if name in values), self.parameters)  # pyright: ignore

    @property
    def switch_names(self) -> tuple[str, ...]:
        """The names of the switches, which are those of their values and events."""
        return () if self.switching is None else self.switching.names

    def smoothed(self, expression: Expression) -> ca.SX:
        """Write an expression on which the motion depends with its switches."""
        written = ca.SX(expression)
        return written if self.switching is None else self.switching.written(written)


@dataclass(frozen=True, eq=False)
class PosedMechanics(Piecewise):
    """The data of a `MechanicalSystem`, which says what each of them is."""

    coordinates: DifferentiableVector
    parameters: Parameters = _NO_PARAMETERS
    kinetic: Expression | None = None
    potential: Expression = 0.0
    goals: Sequence[AnyGoal] = ()
    force: Forces = field(default_factory=dict[str, Expression])
    mass_matrix: ca.SX | None = None
    gyroscopic: Forces = field(default_factory=dict[str, Expression])
    implicit: DifferentiableVector = _NO_UNKNOWNS
    reactions: SymbolVector = _NO_REACTIONS
    discrete: DiscreteValues = DiscreteValues()  # noqa: RUF009
    velocities: SymbolVector | None = None
    kinematics: ca.SX | None = None
    auxiliaries: Auxiliaries = _NO_AUXILIARIES
    independent: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    quadratures: SymbolVector = _NO_QUADRATURES
    integrands: Forces = field(default_factory=dict[str, Expression])
    events: Sequence[Event] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict[str, Output])
    recovered: Mapping[str, Output] = field(default_factory=dict[str, Output])
    meters: Mapping[str, Output] = field(default_factory=dict[str, Output])
    pairs: Sequence[VariantPair] = ()
    peaks: Sequence[str] = ()
    after: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    @property
    def v(self) -> SymbolVector:
        """The velocities: those given, else the rates of the coordinates."""
        return self.velocities if self.velocities is not None else self.coordinates.rates

    @property
    def applied_force(self) -> ca.SX:
        """The generalised forces as a column."""
        return self.force_column("the force", self.force)

    def force_column(self, owner: str, given: Forces) -> ca.SX:
        """Return forces as a column; they have the names of coordinates or of quasi-velocities."""
        named = self.coordinates if self.velocities is None else self.velocities
        return column(owner, given, named.names, f"{named.kind} of {owner}")

    @property
    def _acting(self) -> Iterator[tuple[str, ca.SX, AnyGoal | None]]:
        """Every expression on which the motion depends, with its place, and its goal if it is one.

        Outputs, what is recovered, and what a reset changes are evaluated where they are asked for.
        """
        for goal in self.goals:
            yield goal.name, expression_of(goal), goal
        auxiliaries = self.auxiliaries
        yield from _entries("", auxiliaries.names, auxiliaries.meanings)
        for what, energy in (("kinetic", self.kinetic), ("potential", self.potential)):
            yield what, as_scalar(f"the {what} energy", 0.0 if energy is None else energy), None
        if self.mass_matrix is not None:
            yield "mass_matrix", ca.SX(self.mass_matrix), None
        if self.kinematics is not None:
            yield "kinematics", ca.SX(self.kinematics), None
        named = (self.coordinates if self.velocities is None else self.velocities).names
        yield from _entries("force_", named, self.applied_force)
        inertial = self.force_column("the gyroscopic force", self.gyroscopic)
        yield from _entries("gyroscopic_", named, inertial)
        names = self.quadratures.names
        rates = column("the rate", self.integrands, names, "quadrature")
        yield from _entries("rate_", names, rates)
        for name, power in with_units(self.meters, "meter")[0].items():
            yield name, power, None
        for event in self.events:
            if jumps(event.guards):
                yield event.name, event.guards, None

    def found_switches(self) -> Switching:
        """Return the switches of its piecewise expressions.

        Raises
        ------
        PosingError
            A condition is true for an instant alone.
        """
        own = [goal.reaction for goal in self.goals if isinstance(goal, Goal) and goal.ideal]
        fixed = ca.vertcat(self.parameters.vector, self.discrete.vector, self.inputs.vector)
        return found(self._acting, fixed, ca.vertcat(self.reactions.vector, *own))

    def switched_goals(self, name: str) -> list[str]:
        """Return the constraints in which a switch stands."""
        symbol = self.discrete[name]
        return [
            goal.name
            for goal in self.goals
            if isinstance(goal, Holonomic | Nonholonomic)
            and not goal.held_by
            and ca.depends_on(self.smoothed(expression_of(goal)), symbol)
        ]

    def in_velocities(self, expression: Expression) -> ca.SX:
        """Write the rates of the coordinates in the velocities."""
        written = ca.SX(expression)
        if self.kinematics is None:
            return written
        rates = self.smoothed(ca.SX(self.kinematics))
        return ca.substitute(written, self.coordinates.dot.vector, rates)


@dataclass(frozen=True, eq=False)
class PosedControl(Piecewise):
    """The data of a `ControlSystem`, which says what each of them is."""

    states: SymbolVector
    rate: Forces
    parameters: Parameters = _NO_PARAMETERS
    controls: SymbolVector = _NO_REACTIONS
    goals: Sequence[AnyGoal] = ()
    discrete: DiscreteValues = DiscreteValues()  # noqa: RUF009
    events: Sequence[Event] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict[str, Output])

    def found_switches(self) -> Switching:
        """Return the switches of its piecewise expressions.

        Raises
        ------
        PosingError
            A condition is true for an instant alone.
        """
        fixed = ca.vertcat(self.parameters.vector, self.discrete.vector, self.inputs.vector)
        return found(self._acting, fixed, self.controls.vector)

    @property
    def _acting(self) -> Iterator[tuple[str, ca.SX, AnyGoal | None]]:
        for goal in self.goals:
            yield goal.name, expression_of(goal), goal
        rate = column("the rate", self.rate, self.states.names, "state")
        yield from _entries("rate_", self.states.names, rate)
        for event in self.events:
            if jumps(event.guards):
                yield event.name, event.guards, None


def with_switches(guides: Guides, posed: Piecewise) -> Guides:
    """Write what the supports of guides do with the switches of a system that holds their forces.

    Else what is decided at the instant of a switch is decided with the value before it.
    """

    def written(support: Rubbing) -> Rubbing:
        # Of slips only those that jump have switches: the others pass no guard at once.
        return replace(
            support,
            normal=posed.smoothed(support.normal),
            friction=posed.smoothed(support.friction),
            slip=posed.smoothed(support.slip) if jumps(support.slip) else support.slip,
        )

    if posed.switching is None or posed.switching.plain:
        return guides
    supports = tuple(
        (None if first is None else written(first), written(second))
        for first, second in guides.supports
    )
    return replace(guides, supports=supports)


def _entries(
    owner: str, names: Sequence[str], entries: ca.SX
) -> Iterator[tuple[str, ca.SX, AnyGoal | None]]:
    for name, entry in zip(names, ca.vertsplit(entries) if names else (), strict=True):
        yield f"{owner}{name}", entry, None


def column(owner: str, given: Forces, names: tuple[str, ...], kind: str) -> ca.SX:
    """Return what is given by names, or as a column, as a column in the order of the names.

    Parameters
    ----------
    owner
        Whose it is, for messages ("the force").
    given
        Expressions; those that are not named are zero, and so is an empty column.
    names
        What they may be named after.
    kind
        What a name denotes, for messages.

    Raises
    ------
    UnknownNameError
        It is given by a name that is not there.
    PosingError
        It is no column, or one of another length.
    """
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
    entries = given if isinstance(given, ca.SX) else ca.vertcat(ca.SX(0, 1), *given)
    if entries.numel() == 0:
        entries = ca.SX(len(names), 1)
    if entries.shape != (len(names), 1):
        raise PosingError(f"{owner} must have {len(names)} entries, not {entries.shape}")
    return entries


def is_empty(given: Forces) -> bool:
    """Return whether no forces are given."""
    if isinstance(given, ca.SX):
        return given.numel() == 0
    return isinstance(given, Mapping | Sequence) and not len(given)


def with_units(
    outputs: Mapping[str, Output], what: str = "output"
) -> tuple[dict[str, ca.SX], dict[str, str]]:
    """Return the expressions and units of outputs, or of what is given like them.

    Raises
    ------
    PosingError
        One is neither an expression nor (expression, unit).
    """
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


def with_inputs(system: Piecewise) -> tuple[dict[str, ca.SX], dict[str, str]]:
    """Return the outputs of a system and its inputs, which are reported like them, with units."""
    outputs: Mapping[str, Output] = system.outputs  # pyright: ignore
    inputs = system.inputs
    own = {n: (inputs[n], str(u)) for n, u in zip(inputs.names, inputs.units, strict=True)}
    return with_units({**outputs, **own})
