"""Surfaces and points on a plane, such as feet: they slide, stick, leave the plane, or roll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import casadi as ca

from daesolve.contact.posing.contacts import Contact
from daesolve.core.posing.events import FALLING, Event, Reset, Stop
from daesolve.core.posing.goals import Expression, Holonomic, Nonholonomic
from daesolve.core.posing.symbols import Parameters
from daesolve.errors import PosingError
from daesolve.multibody.bodies import AnyBody, PlanarBody
from daesolve.multibody.checks import check_name
from daesolve.multibody.compliance import ComplianceLaw
from daesolve.multibody.contact_geometry import CircleOnLine, PointOnPlane, SurfaceOnPlane, Touch
from daesolve.multibody.contribution import NO_VALUES, SIGNED, Contribution, discrete_values
from daesolve.multibody.places import GROUND, Frame, Place, PlanarFrame, PlanarPoint, Vector, column
from daesolve.multibody.supports import Rubs, Supporting
from daesolve.multibody.surfaces import Ends, Surface

LEVEL = Frame(GROUND, ca.SX(3, 1), ca.SX(3, 1), ca.SX.eye(3), ca.SX(3, 1))
"""The plane z = 0."""
FLOOR = PlanarFrame(GROUND, ca.SX(2, 1), ca.SX(2, 1), ca.SX(0), ca.SX(0))
"""The line y = 0 in the plane."""
FLAT = 1e-3
"""rad; a rim that is closer than this to lying flat counts as flat."""


@dataclass(frozen=True, eq=False)
class PlaneContact(Supporting):
    """A surface of revolution, or a point of a body, on a plane.

    Its goal carries its name, and its reaction is the force of the plane along the normal, N.
    Outputs are `<name>_gap` (m), and `<name>_slip_1`, `<name>_slip_2`, the velocity (m/s) of the
    touching material relative to the plane, along the plane's first and second axis. With friction,
    `<name>_friction_work` (J) is metered, between impacts.

    In two dimensions the surface is a circle on a line: there is one slip, `<name>_slip`.

    Parameters
    ----------
    name
        A word.
    frame
        Of the body: its third axis is the axis of the surface, its origin the centre. Without a
        surface, the point. In two dimensions the axis of the surface is normal to the plane.
    surface
        Of revolution. None for a point: a foot, a corner, an end of a rod.
    friction
        For a unilateral contact the coefficient mu: it sticks and slides like a `daesolve.Contact`,
        also in impacts. Or a law, `Coulomb`, `RegularisedCoulomb` or your own, which acts while the
        contact is closed. None for a smooth plane.
    unilateral
        Whether it may leave the plane and come back: then it is a `daesolve.Contact`. Otherwise it
        is held on the plane, and the run ends at the event `<name>_lost` where the plane would have
        to pull.
    plane
        A frame whose last axis is the normal of the plane, towards the surface; by default z = 0,
        in two dimensions y = 0. It may belong to another body, or move as a function of time.
    restitution, closed
        Of a unilateral contact, as in `daesolve.Contact`.
    end
        For a surface with ends, the end that touches at the start: 1.0 for the one along the axis,
        -1.0 for the other, 0.0 for none. It is the discrete value `<name>_end`, which the event
        `<name>_edge` changes when the contact rolls over the edge of an end. If a rim comes to lie
        flat on the plane, the run ends at the event `<name>_flat`.
    static_friction, tangential_restitution
        Of a unilateral contact with mu, as in `daesolve.Contact`.
    compliance
        The law of a compliant contact, `HuntCrossley` or `KelvinVoigt`. Then the contact is not a
        constraint, and has the outputs `<name>_force` (N), `<name>_gap` (m, negative under
        pressure) and the slip; its work is metered as `<name>_work` (J). It opens and closes
        automatically. Its friction is None or `RegularisedCoulomb`.

    Raises
    ------
    PosingError
        The name is not a word; a surface has no frame, or body and plane are not both in space or
        both in the plane; the options of friction and impacts do not fit a contact that is held on
        the plane.
    """

    name: str
    frame: Place
    surface: Surface | None = None
    friction: Rubs = None
    unilateral: bool = False
    plane: Frame | PlanarFrame | None = None
    restitution: Expression = 0.0
    closed: bool = True
    end: float = 0.0
    static_friction: Expression | None = None
    tangential_restitution: Expression = 0.0
    compliance: ComplianceLaw | None = None

    def __post_init__(self) -> None:
        _ = self.support, self.touch

    @cached_property
    def values(self) -> Parameters:
        """The end that touches, of a surface that has some."""
        return _end_of(self.name, self.frame, self.surface, self.end)

    @cached_property
    def touch(self) -> Touch:
        """Its geometry."""
        end = self.values.vector if len(self.values) else None
        return touch_of(self.name, self.frame, self.surface, self.plane, end)

    @property
    def _owners(self) -> list[object]:
        return [self.frame.body, *([] if self.plane is None else [self.plane.body])]

    def _events(self, discrete: Parameters) -> tuple[Event, ...]:
        return (*self._edge(), *(self._flat() if self.push is None else ()))

    def _edge(self) -> tuple[Event, ...]:
        ends = _ends_of(self.frame, self.surface)
        if ends is None or not isinstance(self.touch, SurfaceOnPlane):
            return ()
        (end,), cosine = ca.vertsplit(self.values.vector), self.touch.cosine
        between, beyond = end == 0, end != 0
        # A guard that does not apply is one, far from zero.
        guards = [
            between * (ends.edge - cosine) + beyond,
            between * (ends.edge + cosine) + beyond,
            beyond * (-end * cosine - ends.edge) + between,
        ]

        def changes(fired: ca.SX) -> dict[str, ca.SX]:
            return {self.values.names[0]: end - fired[0] + fired[1] - fired[2] * end}

        return (Event(f"{self.name}_edge", guards, FALLING, Reset(changes)),)

    def _flat(self) -> tuple[Event, ...]:
        """Return the event that ends the run where a whole rim touches, and not a single point."""
        touch = self.touch
        if not isinstance(touch, SurfaceOnPlane):
            return ()
        flat = touch.surface.lies_flat(touch.end)
        if flat.is_zero():
            return ()
        closed = self.goal.touching if isinstance(self.goal, Contact) else 1
        counts = flat * closed
        across = ca.cross(touch.frame.axis(2), touch.plane.axis(2))
        upright = ca.sumsqr(across) - FLAT**2
        why = (
            f"the contact {self.name!r} comes to lie flat: its whole rim touches the plane, and "
            "no point of it is the lowest; end before, or round the rim"
        )
        return (Event(f"{self.name}_flat", counts * upright + 1 - counts, FALLING, Stop(why)),)


def touch_of(
    name: str,
    place: Place,
    surface: Surface | None,
    plane: Frame | PlanarFrame | None,
    end: ca.SX | None = None,
) -> Touch:
    """Return the geometry of a surface or a point on a plane.

    Raises
    ------
    PosingError
        One is in the plane, the other in space, or a surface is given on a point instead of a
        frame.
    """
    own = f"the contact {name!r}"
    if surface is not None and not isinstance(place, Frame | PlanarFrame):
        raise PosingError(
            f"{own} has a surface on a point, which has no orientation: give a frame, or no surface"
        )
    if isinstance(place, PlanarPoint):
        line = FLOOR if plane is None else plane
        if isinstance(line, PlanarFrame):
            radius = ca.SX(0) if surface is None else surface.support(ca.SX(0))
            return CircleOnLine(place, radius, line)
    else:
        plane = LEVEL if plane is None else plane
        if isinstance(plane, Frame) and isinstance(place, Frame) and surface is not None:
            return SurfaceOnPlane(place, surface, plane, end)
        if isinstance(plane, Frame):
            return PointOnPlane(place, plane)
    raise PosingError(
        f"{own} must be between a body and a plane, both in space or both in the plane"
    )


def _ends_of(place: Place, surface: Surface | None) -> Ends | None:
    """Return the ends over which a surface may roll: none where its axis is normal to the plane."""
    return None if surface is None or isinstance(place, PlanarPoint) else surface.ends


def _end_of(name: str, place: Place, surface: Surface | None, end: float) -> Parameters:
    """Return the discrete value that says which end touches, of a surface that has some.

    Raises
    ------
    PosingError
        It has none, or there is no such end.
    """
    if end not in (-1.0, 0.0, 1.0):
        raise PosingError(
            f"the contact {name!r} must touch with the end 0.0, 1.0 or -1.0, not {end}"
        )
    if _ends_of(place, surface) is None:
        if end != 0.0:
            kind = "a point" if surface is None else f"the surface {type(surface).__name__}"
            raise PosingError(f"the contact {name!r} cannot touch with an end: {kind} has none")
        return NO_VALUES
    value = f"{name}_end"
    return discrete_values({value: (float(end), SIGNED)})


@dataclass(frozen=True, eq=False)
class Rolling:
    """A surface of revolution that rolls on a plane without slip.

    Its goals are `<name>_normal`, which keeps the gap at zero, and `<name>_1`, `<name>_2`, which
    keep the touching material from moving along the plane's first and second axis. Their reactions
    are the force of the plane along its normal and these axes, N. The plane may pull; an event on
    `normal` shows where it does.

    Parameters
    ----------
    name
        A word.
    frame
        Of the body: its third axis is the axis of the surface, its origin the centre.
    surface
        Of revolution, and of one piece.
    plane
        As in `PlaneContact`.

    Raises
    ------
    PosingError
        The name is not a word, the surface has ends, over which it would roll, or body and plane
        are not both in space or both in the plane.
    """

    name: str
    frame: Frame | PlanarFrame
    surface: Surface
    plane: Frame | PlanarFrame | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "a contact")
        if _ends_of(self.frame, self.surface) is not None:
            raise PosingError(
                f"{self.name!r} cannot roll on a {type(self.surface).__name__}, because "
                "rolling stops at its ends: use a PlaneContact with friction"
            )
        _ = self.touch

    @cached_property
    def touch(self) -> Touch:
        """Its geometry."""
        return touch_of(self.name, self.frame, self.surface, self.plane)

    @cached_property
    def goals(self) -> tuple[Holonomic | Nonholonomic, ...]:
        """The gap and the two slips, in the plane the only one."""
        slips = ca.vertsplit(self.touch.slip)
        return (
            Holonomic(f"{self.name}_normal", self.touch.gap, unit="N"),
            *[Nonholonomic(f"{self.name}_{k}", slip, unit="N") for k, slip in enumerate(slips, 1)],
        )

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        place = zip("xyz", ca.vertsplit(self.touch.point), strict=False)
        outputs = {f"{self.name}_{letter}": (part, "m") for letter, part in place}
        return Contribution(self.goals, outputs=outputs)


def feet(
    name: str,
    points: Sequence[Place] | Mapping[str, Place],
    friction: Expression | None = None,
    *,
    plane: Frame | PlanarFrame | None = None,
    restitution: Expression = 0.0,
    closed: bool = True,
    static_friction: Expression | None = None,
    tangential_restitution: Expression = 0.0,
) -> tuple[PlaneContact, ...]:
    """Return a unilateral contact of each of several points with one plane.

    Parameters
    ----------
    name
        The prefix of the names of the contacts.
    points
        Of one body or of several. The contacts are called `<name>_1`, `<name>_2`, ..., or
        `<name>_<key>` if the points are a mapping.
    friction, plane, restitution, closed, static_friction, tangential_restitution
        As in `PlaneContact`.

    Raises
    ------
    PosingError
        There are no points, or as in `PlaneContact`.
    """
    if not isinstance(points, Mapping):
        points = {str(number): point for number, point in enumerate(points, 1)}
    if not points:
        raise PosingError(f"{name!r} has no points to stand on")
    return tuple(
        PlaneContact(
            f"{name}_{key}",
            point,
            friction=friction,
            unilateral=True,
            plane=plane,
            restitution=restitution,
            closed=closed,
            static_friction=static_friction,
            tangential_restitution=tangential_restitution,
        )
        for key, point in points.items()
    )


def corners(body: AnyBody, lengths: Vector, centre: Vector | None = None) -> tuple[Place, ...]:
    """Return the corners of a box, or of a rectangle in the plane, as points of a body.

    Parameters
    ----------
    body
        The body, along whose axes the edges lie.
    lengths
        Of its edges, m: three, or two in the plane; numbers or expressions of parameters.
    centre
        From the mass centre in axes of the body, m; None means the mass centre.

    Returns
    -------
    tuple of Point or PlanarPoint
        Eight or four: the first coordinate changes fastest, each from below to above, so that the
        first half is at the bottom.

    Raises
    ------
    PosingError
        The number of lengths or coordinates is wrong.
    """
    count = 2 if isinstance(body, PlanarBody) else 3
    edges = column(lengths, (count,), f"the edges of a box of {body.name!r}")
    given = [0.0] * count if centre is None else centre
    middle = column(given, (count,), f"the centre of a box of {body.name!r}")
    corners: list[Place] = []
    for signs in product((-0.5, 0.5), repeat=count):
        place = [middle[k] + sign * edges[k] for k, sign in enumerate(reversed(signs))]
        corners.append(body.point(*place))
    return tuple(corners)
