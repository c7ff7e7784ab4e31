"""The points of boxes and cylinders that are nearest to a point, as frames that follow it.

A nearest point is the projection onto the axes or the circle, clamped to what there is of it. While
a body moves past an edge or a corner, the distance and its gradient stay continuous; `fmin` and
`fmax` make each feature a mode, with an event between.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from daesolve.multibody.places import Frame

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


def nearest_on_box(frame: Frame, half_lengths: Sequence[float], point: ca.SX) -> Frame:
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
