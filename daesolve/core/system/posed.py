"""The data of a posed system: its symbols, energies, forces and goals.

`system` checks the data; `equations_of_motion` derives the equations from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.expressions.digest import NoDigestError, digest_of
from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import (
    AnyGoal,
    Expression,
    Goal,
    Holonomic,
    Nonholonomic,
    as_scalar,
    expression_of,
    without_calls,
)
from daesolve.core.posing.inputs import NO_INPUTS, Drive, Inputs
from daesolve.core.posing.symbols import (
    Auxiliaries,
    DifferentiableVector,
    DiscreteValues,
    Parameters,
    SymbolVector,
    time,
)
from daesolve.core.system.piecewise import Switching, found, jumps
from daesolve.errors import PosingError, unknown_name

Output = Expression | tuple[Expression, str]
"""A quantity that a run reports: an expression, or (expression, unit)."""
Forces = Mapping[str, Expression] | Sequence[Expression] | ca.SX
"""Expressions by the names of states, or as a column."""

_NO_PARAMETERS = Parameters({}, {}, {})
_NO_REACTIONS = SymbolVector((), (), "reaction")
_NO_UNKNOWNS = DifferentiableVector((), (), "implicit unknown")
_NO_QUADRATURES = SymbolVector((), (), "quadrature")
_NO_AUXILIARIES = Auxiliaries({}, {})


class PosedAddition:
    """What a feature has added to a posed system; a subclass overrides what concerns it."""

    def directed(
        self,
        system: PosedMechanics,
        directed: ca.SX,
        rows: Sequence[GoalRow],
        reactions: ca.SX,
        posed: Callable[[Expression], ca.SX],
    ) -> ca.SX:
        """Return what the forces direct, (nv, nu), with what this directs.

        Parameters
        ----------
        system
            The system.
        directed
            What is directed so far.
        rows, reactions
            The goals, and the symbols of all reactions.
        posed
            Writes an expression in the velocities of the equations.
        """
        return directed

    def completed(
        self, dynamics: Dynamics, system: PosedMechanics, written: Callable[[Expression], ca.SX]
    ) -> Dynamics:
        """Return the equations of the system with what this adds.

        Parameters
        ----------
        dynamics, system
            The equations so far, and the system.
        written
            Writes an expression in the symbols of the equations.
        """
        return dynamics


@dataclass(frozen=True, eq=False, kw_only=True)
class Piecewise:
    """The parts of a system, besides its states, that change from time to time.

    Parameters
    ----------
    switches
        Whether piecewise expressions switch modes, at events that solvers find.
    switching
        The switches, once they have been found.
    inputs
        External actions, from `inputs`.
    drives
        The parts that tables and sampled laws add; see `inputs.Drive`.
    notes
        Sentences for the notes of every run.
    """

    switches: bool = True
    switching: Switching | None = None
    inputs: Inputs = NO_INPUTS
    drives: Sequence[Drive] = ()
    notes: Sequence[str] = ()

    @cached_property
    def digest(self) -> str | None:
        """The digest of the posed data when posed; mutable parts such as lists may change later.

        None if the data is not plain (see `digest_of`).
        """
        return self.digest_now()

    def digest_now(self) -> str | None:
        """Return the digest of the posed data as it is now."""
        try:
            return digest_of((time, self))  # Time is the only symbol without an owner.
        except NoDigestError:
            return None

    def owner_of(self, name: str) -> Parameters:
        """Return the values that have a name: discrete values, inputs or parameters."""
        own: tuple[Parameters, ...] = (self.discrete, self.inputs)  # pyright: ignore
        return next((values for values in own if name in values), self.parameters)  # pyright: ignore

    @property
    def switch_names(self) -> tuple[str, ...]:
        """The names of the switches, which their values and events share."""
        return () if self.switching is None else self.switching.names

    def smoothed(self, expression: Expression) -> ca.SX:
        """Write an expression that determines the motion with its switches."""
        written = ca.SX(expression)
        return written if self.switching is None else self.switching.written(written)


@dataclass(frozen=True, eq=False)
class PosedMechanics(Piecewise):
    """The data of a `MechanicalSystem`, which documents its parts."""

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
    pairs: Sequence[object] = ()
    additions: Sequence[PosedAddition] = ()
    peaks: Sequence[str] = ()
    after: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    guess: Mapping[str, Expression] = field(default_factory=dict[str, Expression])

    @property
    def v(self) -> SymbolVector:
        """The velocities: those given, or the rates of the coordinates."""
        return self.velocities if self.velocities is not None else self.coordinates.rates

    @property
    def applied_force(self) -> ca.SX:
        """The generalised forces as a column."""
        return self.force_column("the force", self.force)

    def force_column(self, owner: str, given: Forces) -> ca.SX:
        """Return forces as a column, named after coordinates or quasi-velocities."""
        named = self.coordinates if self.velocities is None else self.velocities
        return column(owner, given, named.names, f"{named.kind} of {owner}")

    @property
    def _acting(self) -> Iterator[tuple[str, ca.SX, AnyGoal | None]]:
        """Every expression that determines the motion, with its place, and its goal if any.

        Outputs, recovered reactions and changes of resets are evaluated only on request.
        """
        for goal in self.goals:
            yield goal.name, expression_of(goal), goal
        auxiliaries = self.auxiliaries
        yield from _entries("", auxiliaries.names, auxiliaries.meanings)
        for what, energy in (("kinetic", self.kinetic), ("potential", self.potential)):
            yield what, as_scalar(f"the {what} energy", 0.0 if energy is None else energy), None
        if self.mass_matrix is not None:
            mass = without_calls("the mass matrix", ca.SX(self.mass_matrix))
            yield "mass_matrix", mass, None
        if self.kinematics is not None:
            yield "kinematics", without_calls("kinematics", ca.SX(self.kinematics)), None
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
            A condition is true only for an instant.
        """
        own = [goal.reaction for goal in self.goals if isinstance(goal, Goal) and goal.ideal]
        fixed = ca.vertcat(self.parameters.vector, self.discrete.vector, self.inputs.vector)
        return found(self._acting, fixed, ca.vertcat(self.reactions.vector, *own))

    def switched_goals(self, name: str) -> list[str]:
        """Return the constraints that contain a switch."""
        symbol = self.discrete[name]
        return [
            goal.name
            for goal in self.goals
            if isinstance(goal, Holonomic | Nonholonomic)
            and not goal.held_by
            and ca.depends_on(self.smoothed(expression_of(goal)), symbol)
        ]

    def in_velocities(self, expression: Expression) -> ca.SX:
        """Write the rates of the coordinates in terms of the velocities."""
        written = ca.SX(expression)
        if self.kinematics is None:
            return written
        rates = self.smoothed(ca.SX(self.kinematics))
        return ca.substitute(written, self.coordinates.dot.vector, rates)


@dataclass(frozen=True, eq=False)
class PosedControl(Piecewise):
    """The data of a `ControlSystem`, which documents its parts."""

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
            A condition is true only for an instant.
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


PosedSystem = PosedMechanics | PosedControl


def _entries(
    owner: str, names: Sequence[str], entries: ca.SX
) -> Iterator[tuple[str, ca.SX, AnyGoal | None]]:
    for name, entry in zip(names, ca.vertsplit(entries) if names else (), strict=True):
        yield f"{owner}{name}", entry, None


def column(owner: str, given: Forces, names: tuple[str, ...], kind: str) -> ca.SX:
    """Return entries given by name, or as a column, as a column in the order of the names.

    Parameters
    ----------
    owner
        The owner of the entries, for messages ("the force").
    given
        Expressions; missing names and an empty column mean zero.
    names
        The allowed names.
    kind
        The kind of thing a name denotes, for messages.

    Raises
    ------
    UnknownNameError
        A name is unknown.
    PosingError
        It is not a column, or has the wrong length.
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
    return without_calls(owner, entries)


def is_empty(given: Forces) -> bool:
    """Return whether no forces are given."""
    if isinstance(given, ca.SX):
        return given.numel() == 0
    return isinstance(given, Mapping | Sequence) and not len(given)


def with_units(
    outputs: Mapping[str, Output], what: str = "output"
) -> tuple[dict[str, ca.SX], dict[str, str]]:
    """Return expressions and units of outputs, or of entries of the same form.

    Raises
    ------
    PosingError
        An entry is neither an expression nor (expression, unit).
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


def outputs_changed(
    change: Callable[[Expression], ca.SX], outputs: Mapping[str, Output]
) -> dict[str, Output]:
    """Return outputs with their expressions changed and their units kept."""
    return {
        name: (change(entry[0]), entry[1]) if isinstance(entry, tuple) else change(entry)
        for name, entry in outputs.items()
    }


def with_inputs(system: PosedSystem) -> tuple[dict[str, ca.SX], dict[str, str]]:
    """Return the outputs of a system, and its inputs as further outputs, with units."""
    inputs = system.inputs
    own = {n: (inputs[n], str(u)) for n, u in zip(inputs.names, inputs.units, strict=True)}
    return with_units({**system.outputs, **own})
