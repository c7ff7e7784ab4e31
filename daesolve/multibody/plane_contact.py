"""A surface of revolution on a plane: it slides, with or without friction, leaves it, or rolls."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca

from daesolve.errors import PosingError
from daesolve.multibody.friction_laws import FrictionLaw
from daesolve.multibody.mechanism import AppliedForce, Contribution
from daesolve.multibody.places import GROUND, Frame
from daesolve.multibody.surfaces import Surface, lowest_point
from daesolve.posing.events import FALLING, Event, Reset, Stop
from daesolve.posing.goals import Expression, Holonomic, Nonholonomic, is_word
from daesolve.posing.symbols import Interval, Parameters
from daesolve.system.unilateral import Contact

NO_VALUES = Parameters({}, {}, {}, "discrete value")
LEVEL = Frame(GROUND, ca.SX(3, 1), ca.SX(3, 1), ca.SX.eye(3), ca.SX(3, 1))
"""The plane z = 0."""
WHICH_END = Interval(-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Touch:
    """How a surface is to a plane: the geometry that contacts and rolling share.

    Parameters
    ----------
    frame
        Axis 3 is that of the surface, and its origin the surface's centre.
    surface
        Of revolution.
    plane
        Its axis 3 is the normal, towards the surface.
    end
        As for `lowest_point`.
    """

    frame: Frame
    surface: Surface
    plane: Frame
    end: ca.SX | None = None

    @cached_property
    def _lowest(self) -> tuple[ca.SX, ca.SX]:
        return lowest_point(self.surface, self.frame.axis(2), self.plane.axis(2), self.end)

    @cached_property
    def gap(self) -> ca.SX:
        """The distance of the lowest point from the plane, m."""
        return (
            ca.dot(self.plane.axis(2), self.frame.position - self.plane.position) - self._lowest[0]
        )

    @cached_property
    def point(self) -> ca.SX:
        """The lowest point, in space, m: (3, 1)."""
        return self.frame.position + self._lowest[1]

    @cached_property
    def velocity(self) -> ca.SX:
        """The velocity of the material there over the plane, in axes of the plane, m/s: (3, 1)."""
        velocity = self.frame.velocity + ca.cross(self.frame.angular_velocity, self._lowest[1])
        arm = self.point - self.plane.position
        under = self.plane.velocity + ca.cross(self.plane.angular_velocity, arm)
        return self.plane.rotation.T @ (velocity - under)

    @property
    def slip(self) -> ca.SX:
        """Its part in the plane, m/s: (2, 1)."""
        return self.velocity[:2]

    @cached_property
    def cosine(self) -> ca.SX:
        """The cosine e . n of axis and normal."""
        return ca.dot(self.frame.axis(2), self.plane.axis(2))


@dataclass(frozen=True, eq=False)
class PlaneContact:
    """A surface of revolution that slides on a plane.

    Its goal carries its name, and its reaction is the force of the plane along the normal, N.
    Outputs are `<name>_gap` (m), and `<name>_slip_1`, `<name>_slip_2`, the velocity (m/s) of the
    material that touches along the plane's first and second axis. With friction,
    `<name>_friction_work` (J) is metered.

    Parameters
    ----------
    name
        A word.
    frame
        Of the body: its third axis is that of the surface, its origin the surface's centre.
    surface
        Of revolution.
    friction
        `Coulomb`, `RegularisedCoulomb`, or a law of your own; None for a smooth plane.
    unilateral
        Whether it may leave the plane and come back: then it is a `daesolve.Contact`. Else it is
        held to the plane, and the run ends at the event `<name>_lost` where the plane would have
        to pull.
    plane
        A frame whose third axis is the normal of the plane, towards the surface; z = 0 else.
    restitution, closed
        Of a unilateral contact, as for `daesolve.Contact`.
    end
        Where the surface has ends: which of them touches at the start, 1.0 for the one along the
        axis, -1.0 for the other, 0.0 for none. It is the discrete value `<name>_end`, which the
        event `<name>_edge` changes where the contact rolls over the edge of an end.

    Raises
    ------
    PosingError
        The name is no word, or a contact that is held to the plane is said to be open.
    """

    name: str
    frame: Frame
    surface: Surface
    friction: FrictionLaw | None = None
    unilateral: bool = False
    plane: Frame = LEVEL
    restitution: Expression = 0.0
    closed: bool = True
    end: float = 0.0
    values: Parameters = field(init=False)

    def __post_init__(self) -> None:
        if not is_word(self.name):
            raise PosingError(f"the name of a contact is a word, not {self.name!r}")
        if not self.unilateral and not (self.closed and self._never_left()):
            raise PosingError(
                f"the contact {self.name!r} is held to its plane: restitution and closed=False are "
                "for unilateral=True"
            )
        object.__setattr__(self, "values", _end_of(self.name, self.surface, self.end))

    def _never_left(self) -> bool:
        return ca.SX(self.restitution).is_zero()

    @cached_property
    def touch(self) -> Touch:
        """Its geometry."""
        end = self.values.vector if len(self.values) else None
        return Touch(self.frame, self.surface, self.plane, end)

    @cached_property
    def goal(self) -> Holonomic:
        """The gap, which is kept at zero."""
        if self.unilateral:
            return Contact(
                self.name,
                self.touch.gap,
                unit="N",
                restitution=self.restitution,
                closed=self.closed,
            )
        return Holonomic(self.name, self.touch.gap, unit="N")

    @property
    def normal(self) -> ca.SX:
        """The symbol of the force of the plane along the normal, N."""
        return self.goal.reaction

    @cached_property
    def contribution(self) -> Contribution:
        """What it adds to a mechanism."""
        touch, name = self.touch, self.name
        slip = touch.slip
        outputs = {f"{name}_gap": (touch.gap, "m")}
        outputs |= {f"{name}_slip_{k + 1}": (slip[k], "m/s") for k in range(2)}
        events = [*self._edge(), *self._lost()]
        if self.friction is None:
            return Contribution((self.goal,), events=events, outputs=outputs, discrete=self.values)
        touching = self.goal.values.vector if isinstance(self.goal, Contact) else 1.0
        friction = self.friction.act(name, slip, self.normal, touching)
        return Contribution(
            (self.goal, *friction.goals),
            forces=[AppliedForce(friction.slip, friction.force)],
            events=[*events, *friction.events],
            outputs=outputs,
            meters={f"{name}_friction_work": (friction.power, "J")},
            discrete=self.values.joined(friction.discrete),
        )

    def _lost(self) -> list[Event]:
        if self.unilateral:
            return []
        why = f"the plane would have to pull at the contact {self.name!r}; make it unilateral"
        return [Event(f"{self.name}_lost", self.normal, FALLING, Stop(why))]

    def _edge(self) -> list[Event]:
        ends = self.surface.ends
        if ends is None:
            return []
        (end,), cosine = ca.vertsplit(self.values.vector), self.touch.cosine
        between, beyond = end == 0, end != 0
        # What does not count is one, far from zero.
        guards = [
            between * (ends.edge - cosine) + beyond,
            between * (ends.edge + cosine) + beyond,
            beyond * (-end * cosine - ends.edge) + between,
        ]

        def changes(fired: ca.SX) -> dict[str, ca.SX]:
            return {self.values.names[0]: end - fired[0] + fired[1] - fired[2] * end}

        return [Event(f"{self.name}_edge", guards, FALLING, Reset(changes))]


def _end_of(name: str, surface: Surface, end: float) -> Parameters:
    """Return the discrete value that says which end touches, of a surface that has some.

    Raises
    ------
    PosingError
        It has none, or there is no such end.
    """
    if end not in (-1.0, 0.0, 1.0):
        raise PosingError(f"the contact {name!r} touches with the end 0.0, 1.0 or -1.0, not {end}")
    if surface.ends is None:
        if end != 0.0:
            raise PosingError(
                f"the contact {name!r} cannot touch with an end: the surface "
                f"{type(surface).__name__} has none"
            )
        return NO_VALUES
    value = f"{name}_end"
    return Parameters({value: float(end)}, {value: ""}, {value: WHICH_END}, "discrete value")


@dataclass(frozen=True, eq=False)
class Rolling:
    """A surface of revolution that rolls on a plane without slip.

    Its goals are `<name>_normal`, which keeps the gap at zero, and `<name>_1`, `<name>_2`, which
    keep the material that touches from moving along the plane's first and second axis. Their
    reactions are the force of the plane along its normal and these axes, N. The plane may pull;
    an event on `normal` shows where it does.

    Parameters
    ----------
    name
        A word.
    frame
        Of the body: its third axis is that of the surface, its origin the surface's centre.
    surface
        Of revolution, and of one piece.
    plane
        A frame whose third axis is the normal of the plane, towards the surface; z = 0 else.

    Raises
    ------
    PosingError
        The name is no word, or the surface has ends, over which it would roll.
    """

    name: str
    frame: Frame
    surface: Surface
    plane: Frame = LEVEL

    def __post_init__(self) -> None:
        if not is_word(self.name):
            raise PosingError(f"the name of a contact is a word, not {self.name!r}")
        if self.surface.ends is not None:
            raise PosingError(
                f"{self.name!r} cannot roll on a {type(self.surface).__name__}, over whose ends "
                "rolling does not go on: take a PlaneContact with friction"
            )

    @cached_property
    def touch(self) -> Touch:
        """Its geometry."""
        return Touch(self.frame, self.surface, self.plane)

    @cached_property
    def goals(self) -> tuple[Holonomic, Nonholonomic, Nonholonomic]:
        """The gap and the two slips."""
        slip = self.touch.slip
        return (
            Holonomic(f"{self.name}_normal", self.touch.gap, unit="N"),
            Nonholonomic(f"{self.name}_1", slip[0], unit="N"),
            Nonholonomic(f"{self.name}_2", slip[1], unit="N"),
        )

    @cached_property
    def contribution(self) -> Contribution:
        """What it adds to a mechanism."""
        outputs = {
            f"{self.name}_{letter}": (self.touch.point[k], "m") for k, letter in enumerate("xyz")
        }
        return Contribution(self.goals, outputs=outputs)
