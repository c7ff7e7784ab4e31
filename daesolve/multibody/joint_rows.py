"""The constraints of joints between two places, row by row, and the motion that they leave free.

A row is a residual with the unit of its reaction. Its rate is a component of the velocity of the
second place against the first, or of the angular velocity of the second frame against the first.
So its reaction is that component of the force (N) or of the torque (N m) on the second body, and
rows need no scale. With e_1, e_2, e_3 the axes of the first frame and c_1, c_2, c_3
those of the second,

    d/dt (-e_2 . c_3) = (w_c - w_e) . e_1,   d/dt (e_1 . c_3) = (w_c - w_e) . e_2   where c_3 = e_3.
"""

from __future__ import annotations

import casadi as ca

from daesolve.multibody.places import Frame, Place, PlanarFrame

Row = tuple[ca.SX, str]
AnyFrame = Frame | PlanarFrame


def axis_of(frame: AnyFrame, axis: int) -> ca.SX:
    """Return an axis of a frame, (3, 1) or (2, 1)."""
    return frame.axis(axis) if isinstance(frame, Frame) else frame.direction(axis)


def normals(frame: AnyFrame, axis: int) -> list[ca.SX]:
    """Return the axes of a frame that are normal to one: in space in right-handed order."""
    if isinstance(frame, Frame):
        return [frame.axis((axis + 1) % 3), frame.axis((axis + 2) % 3)]
    return [frame.direction(1 - axis)]


def separation(first: Place, second: Place) -> ca.SX:
    """Return the way from one place to another, m: (3, 1) or (2, 1)."""
    return second.position - first.position


def coincidence(first: Place, second: Place) -> list[Row]:
    """Hold one point on another, in axes of space or of the plane."""
    return [(component, "N") for component in ca.vertsplit(separation(first, second))]


def on_axis(first: AnyFrame, second: Place, axis: int) -> list[Row]:
    """Hold a point on an axis of the first frame."""
    way = separation(first, second)
    return [(ca.dot(normal, way), "N") for normal in normals(first, axis)]


def alignment(first: Frame, second: Frame, axis: int) -> list[Row]:
    """Hold an axis of the second frame along the same one of the first, or against it.

    Both rows vanish for the reversed axis too, where they are as well conditioned. Any two smooth
    rows do so: no smooth map of the sphere to the plane has a single regular zero.
    """
    along = second.axis(axis)
    one, two = normals(first, axis)
    return [(-ca.dot(two, along), "N m"), (ca.dot(one, along), "N m")]


def crossing(first: Frame, second: Frame) -> list[Row]:
    """Hold the first axis of the first frame normal to the second axis of the second."""
    return [(-ca.dot(first.axis(0), second.axis(1)), "N m")]


def wrapped(angle: ca.SX) -> ca.SX:
    """Return an angle without its whole turns, between -pi and pi.

    Its rate is that of the angle. Rows that are written so let the angles of turning bodies be
    wrapped in long runs, and have no zero after half a turn, as the sine has.
    """
    return ca.atan2(ca.sin(angle), ca.cos(angle))


def same_orientation(first: AnyFrame, second: AnyFrame) -> list[Row]:
    """Hold the second frame parallel to the first.

    In space the rows are sin(theta) n for the turn by theta about n, in axes of the first. They
    vanish after half a turn as well, but lose their rank there, so that such a start is refused by
    name. Three products of axes, such as e_1 . c_2, are independent there: a body that is placed
    the wrong way round would be held so without a word.
    """
    if isinstance(first, PlanarFrame) and isinstance(second, PlanarFrame):
        return [(wrapped(second.angle - first.angle), "N m")]
    e, c = ([axis_of(frame, axis) for axis in range(3)] for frame in (first, second))
    return [
        ((ca.dot(e[two], c[one]) - ca.dot(e[one], c[two])) / 2, "N m")
        for one, two in ((1, 2), (2, 0), (0, 1))
    ]


def turn(first: AnyFrame, second: AnyFrame, axis: int) -> ca.SX:
    """Return the angle by which the second frame is turned about an axis of both, rad.

    In space it is known but for whole turns, and given between -pi and pi.
    """
    if isinstance(first, PlanarFrame) and isinstance(second, PlanarFrame):
        return second.angle - first.angle
    cosine, sine = direction(first, second, axis)
    return ca.atan2(sine, cosine)


def direction(first: AnyFrame, second: AnyFrame, axis: int) -> tuple[ca.SX, ca.SX]:
    """Return cosine and sine of the turn of the second frame about an axis of both."""
    if isinstance(first, PlanarFrame) and isinstance(second, PlanarFrame):
        turned = second.angle - first.angle
        return ca.cos(turned), ca.sin(turned)
    one, two = normals(first, axis)
    along = normals(second, axis)[0]
    return ca.dot(one, along), ca.dot(two, along)


def ahead(angle: ca.SX, first: AnyFrame, second: AnyFrame, axis: int) -> ca.SX:
    """Return 2 tan(d / 2), with d by how much an angle is ahead of the turn of the second frame.

    It vanishes with d, whole turns apart, at the same rate as d, and nowhere else; and it is smooth
    but for half a turn, where the angle of frames in space jumps and wrapped angles do.
    """
    cosine, sine = direction(first, second, axis)
    whole = ca.sin(angle) * cosine - ca.cos(angle) * sine
    along = ca.cos(angle) * cosine + ca.sin(angle) * sine
    return 2 * whole / (ca.sqrt(cosine**2 + sine**2) + along)


def turn_rate(first: AnyFrame, second: AnyFrame, axis: int) -> ca.SX:
    """Return the rate at which the second frame turns against the first, rad/s.

    In space, about an axis of the first.
    """
    if isinstance(first, Frame) and isinstance(second, Frame):
        return ca.dot(first.axis(axis), second.angular_velocity - first.angular_velocity)
    assert isinstance(first, PlanarFrame)
    assert isinstance(second, PlanarFrame)
    return second.rate - first.rate


def distance(first: Place, second: Place, length: ca.SX) -> list[Row]:
    """Hold two points at a distance.

    (d . d - l^2) / 2 l has the same rate as |d| - l where it is zero, so that its reaction is the
    force in N that drives the points apart, and needs no root.
    """
    way = separation(first, second)
    return [((ca.sumsqr(way) - length**2) / (2 * length), "N")]
