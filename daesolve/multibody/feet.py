"""Several points of a body on a plane: its feet, and the corners of a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from daesolve.core.posing.goals import Expression
from daesolve.errors import PosingError
from daesolve.multibody.bodies import AnyBody, PlanarBody
from daesolve.multibody.places import Frame, Place, PlanarFrame, Vector, column
from daesolve.multibody.plane_contact import PlaneContact


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
    found: list[Place] = []
    for signs in product((-0.5, 0.5), repeat=count):
        place = [middle[k] + sign * edges[k] for k, sign in enumerate(reversed(signs))]
        found.append(body.point(*place))
    return tuple(found)
