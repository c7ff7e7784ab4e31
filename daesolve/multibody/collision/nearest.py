"""The nearest points of spheres, segments, boxes and cylinders, as frames that follow them.

A capsule is a segment with a radius, so its distance from another body is that of the segment, less
the radius. A nearest point is the projection onto the line, the axes or the circle, clamped to what
there is of it. While a body moves past an end, an edge or a corner, the distance and its gradient
stay continuous; `fmin` and `fmax` make each feature a mode, with an event between.
"""

from __future__ import annotations

import casadi as ca

from daesolve.multibody.places import Frame

PARALLEL = 1e-20
"""The squared sine of two axes below which all their nearest points count as equally near."""
ON_AXIS = 1e-30
"""The squared distance from the axis of a cylinder that counts as none, m^2."""


def carried(frame: Frame, arm: ca.SX) -> Frame:
    """Return the frame whose origin is at the end of an arm, (3, 1), in the axes of another.

    The arm may change: the velocity is that of the material at its end.
    """
    way = frame.rotation @ arm
    return Frame(
        frame.body,
        frame.position + way,
        frame.velocity + ca.cross(frame.angular_velocity, way),
        frame.rotation,
        frame.angular_velocity,
    )


def nearest_on_segment(frame: Frame, half_length: float, point: ca.SX) -> Frame:
    """Return the place on a segment along axis 3 of a frame that is nearest to a point."""
    along = ca.dot(frame.axis(2), point - frame.position)
    return carried(frame, ca.vertcat(0, 0, _clamped(along, half_length)))


def nearest_on_segments(
    first: Frame, second: Frame, half_lengths: tuple[float, float]
) -> tuple[Frame, Frame]:
    """Return the nearest places on two segments along axis 3 of their frames.

    They are the minimum of |w + s e - t f|^2 for |s| <= h, |t| <= k. The free minimum, clamped in
    s, then in t for that s, then in s for that t, satisfies the conditions of Karush, Kuhn and
    Tucker.
    """
    e, f, apart = first.axis(2), second.axis(2), first.position - second.position
    cosine, sine = ca.dot(e, f), ca.cross(e, f)
    free = -ca.dot(e - cosine * f, apart) / (ca.sumsqr(sine) + PARALLEL)
    s = _clamped(free, half_lengths[0])
    t = _clamped(cosine * s + ca.dot(f, apart), half_lengths[1])
    s = _clamped(cosine * t - ca.dot(e, apart), half_lengths[0])
    return carried(first, ca.vertcat(0, 0, s)), carried(second, ca.vertcat(0, 0, t))


def nearest_on_box(frame: Frame, half_lengths: tuple[float, float, float], point: ca.SX) -> Frame:
    """Return the place in a box along the axes of a frame that is nearest to a point outside."""
    inside = ca.vertsplit(frame.rotation.T @ (point - frame.position))
    near = [_clamped(part, half) for part, half in zip(inside, half_lengths, strict=True)]
    return carried(frame, ca.vertcat(*near))


def nearest_on_cylinder(frame: Frame, radius: float, half_length: float, point: ca.SX) -> Frame:
    """Return the place in a cylinder about axis 3 of a frame that is nearest to a point outside."""
    x, y, z = ca.vertsplit(frame.rotation.T @ (point - frame.position))
    share = ca.fmin(1.0, radius / ca.sqrt(x * x + y * y + ON_AXIS))
    return carried(frame, ca.vertcat(share * x, share * y, _clamped(z, half_length)))


def _clamped(value: ca.SX, most: float) -> ca.SX:
    return ca.fmin(ca.fmax(value, -most), most)
