"""What a system is posed of, as data: its symbols, energies, forces and goals.

`system` checks it and hands out its equations, which `equations_of_motion` makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from daesolve.errors import PosingError, unknown_name
from daesolve.posing.events import Event
from daesolve.posing.goals import AnyGoal, Expression, as_scalar
from daesolve.posing.supports import VariantPair
from daesolve.posing.symbols import Auxiliaries, DifferentiableVector, Parameters, SymbolVector

Output = Expression | tuple[Expression, str]
"""A quantity that a run reports: an expression, or (expression, unit)."""
Forces = Mapping[str, Expression] | Sequence[Expression] | ca.SX
"""Expressions by the name of a state, or as a column."""

_NO_PARAMETERS = Parameters({}, {}, {})
_NO_REACTIONS = SymbolVector((), (), "reaction")
_NO_UNKNOWNS = DifferentiableVector((), (), "implicit unknown")
_NO_QUADRATURES = SymbolVector((), (), "quadrature")
_NO_AUXILIARIES = Auxiliaries({}, {})
_NO_DISCRETE = Parameters({}, {}, {}, "discrete value")


@dataclass(frozen=True, eq=False)
class PosedMechanics:
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
    discrete: Parameters = _NO_DISCRETE
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
        return column(owner, given, named.names, "force")

    def in_velocities(self, expression: Expression) -> ca.SX:
        """Write the rates of the coordinates in the velocities."""
        written = ca.SX(expression)
        if self.kinematics is None:
            return written
        return ca.substitute(written, self.coordinates.dot.vector, ca.SX(self.kinematics))


@dataclass(frozen=True, eq=False)
class PosedControl:
    """The data of a `ControlSystem`, which says what each of them is."""

    states: SymbolVector
    rate: Forces
    parameters: Parameters = _NO_PARAMETERS
    controls: SymbolVector = _NO_REACTIONS
    goals: Sequence[AnyGoal] = ()
    discrete: Parameters = _NO_DISCRETE
    events: Sequence[Event] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict[str, Output])


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
    return given.numel() == 0 if isinstance(given, ca.SX) else not len(given)


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
