"""A mechanism: bodies and the parts that join and drive them, assembled into a system."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import casadi as ca

from daesolve.core.posing.goals import AnyGoal, Expression, Goal
from daesolve.core.posing.symbols import DifferentiableVector, Parameters, SymbolVector, time
from daesolve.core.posing.tables import uses_in
from daesolve.core.system.named_forces import by_velocity
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import PosingError
from daesolve.multibody.bodies import AnyBody, Body, PlanarBody
from daesolve.multibody.contribution import Contribution, Part, merged
from daesolve.multibody.painleve import watched_for_jams
from daesolve.multibody.places import Vector, column

_NO_PARAMETERS = Parameters({}, {}, {})
POSED = ("events", "outputs", "meters", "integrands", "reactions", "discrete", "quadratures")
"""What a system takes as the parts contribute it, besides goals."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Bodies, all in space or all in the plane, and the parts between them.

    Parameters
    ----------
    bodies
        `Body`s or `PlanarBody`s.
    parts
        Joints, springs, motors, contacts, and anything else with a `contribution`.
    parameters
        The parameters in which masses, lengths and forces are written.
    gravity
        The acceleration of free fall, m/s^2: three coordinates, two in the plane.

    Raises
    ------
    PosingError
        There are no bodies, bodies both in space and in the plane, or two of the same name; a part
        is not a part, or listed twice; or gravity has the wrong number of coordinates.

    Examples
    --------
    >>> import daesolve as ds
    >>> from daesolve.multibody import GROUND, Mechanism, PlanarBody, Revolute
    >>> p = ds.parameters(length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    >>> rod = PlanarBody("rod", 1.0, p.length**2 / 12, position=(p.length / 2, 0))
    >>> pin = Revolute("pin", GROUND.frame((0, 0)), rod.frame((-p.length / 2, 0)))
    >>> pendulum = Mechanism([rod], [pin], p, gravity=(0, -p.gravity))
    >>> run = ds.solve(pendulum.system(), until=1.0, guess=pendulum.start)
    >>> run.outcome.name
    'COMPLETED'
    """

    bodies: Sequence[AnyBody]
    parts: Sequence[Part] = ()
    parameters: Parameters = _NO_PARAMETERS
    gravity: Vector | None = None

    def __post_init__(self) -> None:
        for what, given in (("bodies", self.bodies), ("parts", self.parts)):
            if not isinstance(given, Sequence):
                raise PosingError(f"the {what} of a mechanism must be a list, not {given!r}")
        self._check_bodies()
        if not isinstance(self.parameters, Parameters):
            raise PosingError(
                "the parameters of a mechanism must come from parameters(), not "
                f"{self.parameters!r}"
            )
        self._check_parts()
        if self.gravity is not None:
            column(self.gravity, (2,) if self.planar else (3,), "gravity")

    def _check_bodies(self) -> None:
        if not self.bodies:
            raise PosingError("a mechanism needs at least one body")
        for body in self.bodies:
            if not isinstance(body, Body | PlanarBody):
                raise PosingError(f"the bodies of a mechanism must be bodies, not {body!r}")
        if len({type(body) for body in self.bodies}) > 1:
            raise PosingError(
                "the bodies of a mechanism must be all in space or all in the plane; in space, "
                "a joint can keep a body in a plane"
            )
        names = [body.name for body in self.bodies]
        for name in names:
            if names.count(name) > 1:
                raise PosingError(f"two bodies have the same name, {name!r}")

    def _check_parts(self) -> None:
        for place, part in enumerate(self.parts):
            if "contribution" not in dir(part):
                raise PosingError(
                    f"{part!r} is not a part of a mechanism: parts are joints, springs, "
                    "contacts, ... with a `contribution`"
                )
            if any(part is other for other in self.parts[:place]):
                raise PosingError(f"{_title(part)} is listed twice")

    @property
    def planar(self) -> bool:
        """Whether it lies in the plane."""
        return isinstance(self.bodies[0], PlanarBody)

    @cached_property
    def _coordinates(self) -> DifferentiableVector:
        first, *others = [body.coordinates for body in self.bodies]
        for other in others:
            first = first.joined(other)
        return first

    @cached_property
    def _velocities(self) -> SymbolVector:
        if self.planar:
            return self._coordinates.rates
        first, *others = [body.velocities for body in self._in_space]
        for other in others:
            first = first.joined(other)
        return first

    @property
    def _in_space(self) -> list[Body]:
        return [body for body in self.bodies if isinstance(body, Body)]

    @cached_property
    def contributions(self) -> tuple[Contribution, ...]:
        """The contributions of the parts, in order."""
        found = tuple(part.contribution for part in self.parts)
        for part, contribution in zip(self.parts, found, strict=True):
            if not isinstance(contribution, Contribution):
                raise PosingError(
                    f"{_title(part)} contributes {contribution!r}, which is not a Contribution"
                )
        return found

    @property
    def potential(self) -> ca.SX:
        """The potential energy, J."""
        total = ca.SX(0)
        if self.gravity is not None:
            fall = column(self.gravity, (2,) if self.planar else (3,), "gravity")
            for body in self.bodies:
                total = total - body.mass * ca.dot(fall, body.centre.position)
        for contribution in self.contributions:
            total = total + contribution.potential
        return total

    @property
    def force(self) -> ca.SX:
        """The generalised forces of the parts, one for each velocity."""
        v = self._velocities.vector
        total = ca.SX(v.numel(), 1)
        for part, contribution in zip(self.parts, self.contributions, strict=True):
            for action in contribution.forces:
                if ca.depends_on(ca.jacobian(action.velocity, v), v):
                    raise PosingError(
                        f"{_title(part)} acts along a velocity that is not linear in those of the "
                        "bodies"
                    )
                total = total + ca.jtimes(action.velocity, v, action.force, True)
        return total

    @cached_property
    def _kinematics(self) -> ca.SX:
        if self.planar:
            return self._coordinates.rates.vector
        return ca.vertcat(*[body.kinematics for body in self._in_space])

    def _geared(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the masses, forces and kinetic energy of what goes with the bodies."""
        q, v = self._coordinates.vector, self._velocities.vector
        mass, force, kinetic = ca.SX(v.numel(), v.numel()), ca.SX(v.numel(), 1), ca.SX(0)
        for part, contribution in zip(self.parts, self.contributions, strict=True):
            for geared in contribution.inertias:
                along = ca.jacobian(geared.velocity, v)
                if ca.depends_on(along, v) or not ca.depends_on(geared.velocity, v):
                    raise PosingError(
                        f"{_title(part)} has an inertia along a velocity that is not linear in "
                        "those of the bodies"
                    )
                if ca.depends_on(geared.velocity, time):
                    raise PosingError(
                        f"{_title(part)} has an inertia along a velocity that contains time"
                    )
                changing = ca.jtimes(geared.velocity, q, self._kinematics)
                mass = mass + geared.inertia * along.T @ along
                force = force - geared.inertia * along.T * changing
                kinetic = kinetic + geared.inertia * geared.velocity**2 / 2
        return mass, force, kinetic

    def system(self, **further: Any) -> MechanicalSystem:
        """Return the equations of motion.

        Parameters
        ----------
        **further
            Arguments of `MechanicalSystem`. Goals, events, outputs, meters, force (by the names of
            coordinates or velocities, or as a column), discrete, reactions, potential, quadratures,
            integrands and guess are joined with the mechanism's own; others are passed on.

        Raises
        ------
        PosingError
            A name is used twice, an argument makes no sense, or a part contains symbols of a body
            or of parameters that the mechanism does not have.
        """
        for name in ("kinetic", "mass_matrix", "gyroscopic", "velocities", "kinematics"):
            if name in further:
                raise PosingError(f"the bodies of a mechanism determine {name!r}: leave it out")
        parts = [*self.contributions, _contribution_of(further)]
        self._check_symbols(parts, further)
        whole = merged(parts)
        own: dict[str, Any] = {name: getattr(whole, name) for name in POSED}
        own["goals"] = (*[body.norm for body in self._in_space], *whole.goals)
        geared_mass, geared_force, geared_kinetic = self._geared()
        force = self.force + self._column(further.pop("force", {}))
        own["gyroscopic"] = geared_force
        if not self.planar:
            own["velocities"] = self._velocities
            own["kinematics"] = self._kinematics
            turning = ca.vertcat(*[body.gyroscopic for body in self._in_space])
            own["gyroscopic"] = turning + geared_force
        own["guess"] = {**self._start, **further.pop("guess", {})}
        posed = MechanicalSystem(
            self._coordinates,
            self.parameters,
            kinetic=sum((body.kinetic for body in self.bodies), start=geared_kinetic),
            potential=self.potential + parts[-1].potential,
            mass_matrix=ca.diagcat(*[body.mass_matrix for body in self.bodies]) + geared_mass,
            force=force,
            after=self._after(own["goals"]),
            **own,
            **further,
        )
        return watched_for_jams(posed)

    def _after(self, goals: Iterable[AnyGoal]) -> dict[str, tuple[str, ...]]:
        """Return what comes before the reaction of each goal in the elimination.

        A joint of the tree determines by itself the motion of the body that it leads to. Any other
        goal, which may spoil that, waits for all joints between the bodies that it touches and
        the root of the tree.
        """
        named = {body.name: body for body in self.bodies}
        joints = {
            place: contribution.joins
            for place, contribution in enumerate(self.contributions)
            if contribution.joins is not None
        }
        inwards: dict[str, tuple[str, tuple[str, ...]]] = {}
        names: dict[str, tuple[str, ...]] = {}
        for place, name in outer_bodies(tuple(named), joints).items():
            (before,) = {*joints[place]} - {name}
            own = tuple(goal.name for goal in self.contributions[place].goals)
            inwards[name] = (before, own)
            names |= dict.fromkeys(own, _velocities_of(named[name]))
        for goal in goals:
            if not isinstance(goal, Goal) or goal.name in names:
                continue
            waits: dict[str, None] = {}
            for name, body in named.items():
                if ca.depends_on(ca.SX(goal.residual), _symbols_of(body)):
                    waits |= dict.fromkeys(_path(name, named, inwards))
            names[goal.name] = tuple(waits)
        return names

    def _check_symbols(self, parts: Sequence[Contribution], further: Mapping[str, Any]) -> None:
        """Refuse parts that act on other bodies: the forces on these would be lost."""
        goals = [goal for part in parts for goal in part.goals if isinstance(goal, Goal)]
        own = [vector.vector for part in parts
               for vector in (part.reactions, part.discrete, part.quadratures)]  # fmt: skip
        given = [entry.vector for entry in further.values() if isinstance(entry, SymbolVector)]
        rates = [self._coordinates.rates.vector, self._velocities.vector]
        known = ca.vertcat(time, self._coordinates.vector, *rates, self.parameters.vector,
                           *own, *given, *[goal.reaction for goal in goals])  # fmt: skip
        hashes = {symbol.element_hash() for symbol in ca.vertsplit(known)}
        for part, contribution in zip(self.parts, self.contributions, strict=True):
            tables = uses_in([contribution.written])
            within = [argument for use in tables for argument in use.arguments]
            own = {symbol.element_hash() for use in tables for symbol in use.own}
            for symbol in ca.symvar(ca.vertcat(contribution.written, *within)):
                if symbol.element_hash() in own:
                    continue
                if symbol.element_hash() not in hashes:
                    raise PosingError(
                        f"{_title(part)} contains the symbol {symbol.name()!r}, which belongs "
                        "to none of the bodies, parts and parameters of the mechanism: list "
                        "its owner (another symbol of the same name does not count)"
                    )

    def _column(self, given: Mapping[str, Expression] | Sequence[Expression] | ca.SX) -> ca.SX:
        names = self._velocities.names
        if not isinstance(given, Mapping):
            return column(given, (len(names),), "the force")
        turned = (None, None) if self.planar else (self._velocities, self._kinematics)
        by_name = by_velocity("the force", given, self._coordinates, *turned)
        named = self._coordinates.names if self.planar else names
        return ca.vertcat(*[by_name.get(name, 0.0) for name in named])

    @cached_property
    def _start(self) -> dict[str, Expression]:
        """The start by state, as expressions of parameters."""
        given: dict[str, Expression] = {}
        for body in self.bodies:
            given |= body.start
        for contribution in self.contributions:
            given |= contribution.start
        return given

    @property
    def start(self) -> dict[str, float]:
        """The start by state, with the parameters' defaults: a `guess` for `daesolve.solve`."""
        return self.start_at({})

    def start_at(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the start by state.

        Parameters
        ----------
        values
            Parameters that differ from their defaults, by name.

        Raises
        ------
        PosingError
            A start depends on more than the parameters of the mechanism.
        """
        given = self._start
        entries = ca.vertcat(*[ca.SX(value) for value in given.values()])
        known = {symbol.element_hash() for symbol in ca.vertsplit(self.parameters.vector)}
        for symbol in ca.symvar(entries):
            if symbol.element_hash() not in known:
                raise PosingError(
                    "the start of a body may contain only numbers and parameters of the "
                    f"mechanism, not {symbol.name()!r}"
                )
        numbers = self.parameters.values(values)
        function = ca.Function("start", [self.parameters.vector], [ca.densify(entries)])
        found = ca.DM(function(list(numbers.values()))).full().ravel()
        return dict(zip(given, found.tolist(), strict=True))


def _title(part: Part) -> str:
    """Return what a part is called in messages."""
    name = getattr(part, "name", "")
    own = type(part).__str__ is not object.__str__
    return str(part) if own else f"the part {name!r}" if name else f"a {type(part).__name__}"


def _velocities_of(body: AnyBody) -> tuple[str, ...]:
    return (body.velocities if isinstance(body, Body) else body.coordinates.rates).names


def _symbols_of(body: AnyBody) -> ca.SX:
    own = body.velocities if isinstance(body, Body) else body.coordinates.rates
    return ca.vertcat(body.coordinates.vector, own.vector)


def _path(
    name: str, named: Mapping[str, AnyBody], inwards: Mapping[str, tuple[str, tuple[str, ...]]]
) -> list[str]:
    """Return the velocities of a body and those before it, and the joints between, to the root."""
    found: list[str] = []
    while name in named:
        name_before, joint = inwards.get(name, ("", ()))
        found += [*_velocities_of(named[name]), *joint]
        name = name_before
    return found


def _contribution_of(further: dict[str, Any]) -> Contribution:
    """Take from keywords what a contribution may hold."""
    names = ("goals", "potential", "events", "outputs", "meters", "reactions", "discrete",
             "quadratures", "integrands")  # fmt: skip
    return Contribution(**{name: further.pop(name) for name in names if name in further})


JointKey = TypeVar("JointKey", bound=Hashable)


def outer_bodies(
    bodies: Sequence[str], joints: Mapping[JointKey, tuple[str, str]]
) -> dict[JointKey, str]:
    """Return the body that each joint of the tree leads to; joints that close loops have none.

    Parameters
    ----------
    bodies
        The names of those that move.
    joints
        The two names that each joint holds together; another name than those of bodies is fixed.
    """
    beside: dict[str, list[tuple[JointKey, str]]] = {}
    for joint, (one, other) in joints.items():
        beside.setdefault(one, []).append((joint, other))
        beside.setdefault(other, []).append((joint, one))
    fixed = [name for name in beside if name not in set(bodies)]
    found: dict[JointKey, str] = {}
    reached = set(fixed)
    for root in [*fixed, *_inmost(bodies, beside)]:
        if root in reached and root not in fixed:
            continue
        reached.add(root)
        waiting = [root]
        for place in waiting:
            for joint, further in beside.get(place, ()):
                if further not in reached:
                    reached.add(further)
                    found[joint] = further
                    waiting.append(further)
    return found


def _inmost(bodies: Sequence[str], beside: Mapping[str, list[tuple[JointKey, str]]]) -> list[str]:
    """Return bodies in the order in which they serve as roots: those in the middle first.

    The outermost are taken away, again and again; what is left longest is in the middle.
    """
    degrees = {name: len(beside.get(name, ())) for name in bodies}
    order: list[str] = []
    ends = [name for name, degree in degrees.items() if degree <= 1]
    while ends:
        further: list[str] = []
        for name in ends:
            order.append(name)
            for _, other in beside.get(name, ()):
                if other in degrees:
                    degrees[other] -= 1
                    if degrees[other] == 1:
                        further.append(other)
        ends = [name for name in dict.fromkeys(further) if name not in order]
    rings = [name for name in bodies if name not in order]
    return [*rings, *reversed(order)]
