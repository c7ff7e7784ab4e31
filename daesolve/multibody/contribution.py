"""The contribution of a part to a mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import casadi as ca

from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import AnyGoal, Expression, Invariant, as_scalar
from daesolve.core.posing.symbols import DiscreteValues, Interval, Parameters, SymbolVector
from daesolve.core.system.system import Output
from daesolve.errors import PosingError

_Vector = TypeVar("_Vector", bound=SymbolVector)
_NO_REACTIONS = SymbolVector((), (), "reaction")
_NO_QUADRATURES = SymbolVector((), (), "quadrature")


SWITCHED, SIGNED = Interval(0.0, 1.0), Interval(-1.0, 1.0)
"""The ranges of discrete values that are switches, and of those that are signs."""


def discrete_values(given: Mapping[str, tuple[float, Interval]], unit: str = "") -> Parameters:
    """Return discrete values by their start and their range."""
    starts = {name: start for name, (start, _) in given.items()}
    ranges = {name: interval for name, (_, interval) in given.items()}
    return Parameters(starts, dict.fromkeys(given, unit), ranges, "discrete value")


NO_VALUES = discrete_values({})


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """One or several forces, with the velocities on which they do work.

    Parameters
    ----------
    velocity
        (k, 1), linear in the velocities of the bodies: of a point, of a turn, of an elongation.
    force
        (k, 1): its power is force . velocity. It may contain time, states, parameters and reactions
        (linearly).

    Raises
    ------
    PosingError
        They are not columns of the same size.
    """

    velocity: ca.SX
    force: ca.SX

    def __post_init__(self) -> None:
        sizes = [ca.SX(side).shape for side in (self.velocity, self.force)]
        if sizes[0] != sizes[1] or sizes[0][1] != 1:
            raise PosingError(
                "the velocity and the force of an action must be columns of the same size, "
                f"not of {sizes[0]} and {sizes[1]}"
            )


@dataclass(frozen=True, eq=False)
class GearedInertia:
    """An inertia that moves with a velocity that the bodies determine, such as a rolling wheel.

    It has no coordinates: its force -m u' acts on the bodies along u. This is exact also for
    constraints that cannot be integrated, and leaves the other reactions unchanged.

    Parameters
    ----------
    velocity
        u, (1, 1), linear in the velocities of the bodies: m/s or rad/s.
    inertia
        m, kg or kg m^2.
    """

    velocity: ca.SX
    inertia: Expression


@dataclass(frozen=True, eq=False)
class Contribution:
    """The contribution of a part to a system; see `MechanicalSystem` for each entry.

    Parameters
    ----------
    goals, events, outputs, meters, reactions, discrete, quadratures, integrands
        As in `MechanicalSystem`.
    potential
        J.
    forces
        Forces.
    inertias
        Inertias that move with the bodies and have no coordinates.
    start
        Start values of its own states.
    joins
        The names of the two bodies that its goals hold together, if they hold each of them relative
        to the other, like a joint.
    """

    goals: Sequence[AnyGoal] = ()
    potential: Expression = 0.0
    forces: Sequence[AppliedForce] = ()
    inertias: Sequence[GearedInertia] = ()
    events: Sequence[Event] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict[str, Output])
    meters: Mapping[str, Output] = field(default_factory=dict[str, Output])
    reactions: SymbolVector = _NO_REACTIONS
    discrete: DiscreteValues = DiscreteValues()  # noqa: RUF009
    quadratures: SymbolVector = _NO_QUADRATURES
    integrands: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    start: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    joins: tuple[str, str] | None = None

    @property
    def written(self) -> ca.SX:
        """Its goals, forces, potential and integrands, one below the other."""
        acting = [side for action in self.forces for side in (action.velocity, action.force)]
        residuals = [
            goal.value if isinstance(goal, Invariant) else goal.residual for goal in self.goals
        ]
        energy = as_scalar("the potential of a part", self.potential)
        going = [side for geared in self.inertias for side in (geared.velocity, geared.inertia)]
        return ca.vertcat(energy, *residuals, *acting, *going, *self.integrands.values())


def merged(parts: Sequence[Contribution]) -> Contribution:
    """Return the contributions of several parts merged into one; none of the parts is a joint.

    Raises
    ------
    PosingError
        Two of them have an output or a meter of the same name.
    """
    return Contribution(
        goals=[goal for part in parts for goal in part.goals],
        potential=sum((ca.SX(part.potential) for part in parts), start=ca.SX(0)),
        forces=[force for part in parts for force in part.forces],
        inertias=[geared for part in parts for geared in part.inertias],
        events=[event for part in parts for event in part.events],
        outputs=joined_mappings("output", [part.outputs for part in parts]),
        meters=joined_mappings("meter", [part.meters for part in parts]),
        reactions=joined_vectors([part.reactions for part in parts]),
        discrete=joined_vectors([part.discrete for part in parts]),
        quadratures=joined_vectors([part.quadratures for part in parts]),
        integrands=joined_mappings("quadrature", [part.integrands for part in parts]),
        start=joined_mappings("start value", [part.start for part in parts]),
    )


class Part(Protocol):
    """A part of a mechanism besides its bodies: a joint, spring, contact or motor.

    `contribution` is created once, because goals create the symbols of their reactions.
    """

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution."""
        ...


def joined_vectors(vectors: Iterable[_Vector]) -> _Vector:
    """Return several vectors of symbols as one."""
    first, *others = vectors
    for other in others:
        first = first.joined(other)
    return first


def joined_mappings(what: str, mappings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return several mappings as one.

    Raises
    ------
    PosingError
        Two have the same name.
    """
    whole: dict[str, Any] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            if name in whole:
                raise PosingError(f"two parts of a mechanism have the same {what}, {name!r}")
            whole[name] = value
    return whole
