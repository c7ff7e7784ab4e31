"""What the bodies of a model file look like: the wires of their geoms.

A point that is fixed to a body is a linear form of the place of the body and of the directions of
its axes. So a drawing has twelve series for each body, however many geoms it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.multibody.drawing.shapes import (
    BODIES,
    Circle,
    Dot,
    Drawing,
    Line,
    Role,
    Shape,
    Trace,
    Triple,
)
from daesolve.multibody.drawing.solids import Pose, ring
from daesolve.multibody.drawing.traced import applied, numbers
from daesolve.multibody.model_files import FileMechanism
from daesolve.multibody.model_files.kinematics import matrix_of
from daesolve.multibody.model_files.model import FileGeom

PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER = 0, 2, 3, 4, 5
"""MuJoCo's numbers of geoms; any other is drawn as the box about it."""
SHOWN_GROUPS = 3
"""Groups of geoms that viewers show: 0, 1, 2."""
CORNERS = 16
"""Corners of the drawing of a circle seen from its side."""
WIDEST = 0.75
"""The largest half width of a drawn plane, as a fraction of the extent of the model."""
MOST_NAMED = 6
"""Bodies up to which a legend names them."""

Wire = np.ndarray
"""(k, 3), points that are joined by lines."""


def drawing_of_file(
    mechanism: FileMechanism, towards_the_eye: Sequence[float]
) -> Callable[[Mapping[str, Any]], Drawing]:
    """Return a rule that draws runs of a model file by its geoms.

    Parameters
    ----------
    mechanism
        That of the file.
    towards_the_eye
        The direction from which it is seen, three coordinates of any length.
    """
    poses = [Pose(f"body_{number}") for number in range(len(mechanism.bodies))]
    shapes = list(_shapes(mechanism, poses))
    states = [name for body in mechanism.bodies for name in body.coordinates.names]
    q = ca.vertcat(*[body.coordinates.vector for body in mechanism.bodies])
    frames = [body.frame() for body in mechanism.bodies]
    columns = [ca.horzcat(frame.position, frame.rotation) for frame in frames]  # pyright: ignore
    seen = ca.Function("seen", [q], [ca.horzcat(*columns)])

    def rule(document: Mapping[str, Any]) -> Drawing:
        rows = numbers([document["states"][name] for name in states])
        table = np.array([applied(seen, row) for row in rows.T])
        series: dict[str, np.ndarray] = {}
        for number, pose in enumerate(poses):
            series |= pose.series(
                table[:, :, 4 * number], table[:, :, 4 * number + 1 : 4 * number + 4]
            )
        return Drawing(shapes, series=series, eye=towards_the_eye)

    return rule


def _shapes(mechanism: FileMechanism, poses: Sequence[Pose]) -> Iterator[Shape]:
    """Return the shapes of all geoms, those of the ground first, and of bodies without any."""
    assembly = mechanism.assembly
    model = assembly.model
    numbers = {
        root: place
        for place, root in enumerate(r for r, c in assembly.carriers.items() if c.body is not None)
    }
    shown = [geom for geom in model.geoms if geom.group < SHOWN_GROUPS] or list(model.geoms)
    size = _extent(mechanism, shown)
    bare = set(numbers)
    labelled: set[int] = set()
    for geom in sorted(shown, key=lambda geom: model.bodies[geom.body].welded != 0):
        root = model.bodies[geom.body].welded
        position, axes = assembly.relative[geom.body]
        place = position + axes @ geom.position - assembly.carriers[root].centre
        turned = axes @ matrix_of(geom.rotation)
        number = numbers.get(root)
        pose = None if number is None else poses[number]
        bare.discard(root)
        role: Role = "ground" if number is None else BODIES[number % len(BODIES)]
        for points, radius in _wires(geom, size):
            ends = [_place(place + turned @ point, pose) for point in points]
            label = ""
            if number is not None and number not in labelled and len(numbers) <= MOST_NAMED:
                label = mechanism.bodies[number].name
                labelled.add(number)
            if radius is None:
                yield Line(ends, role=role, label=label)
            else:
                yield Circle(ends[0], radius, role=role, label=label)
    for root in sorted(bare):
        at = poses[numbers[root]].place(np.zeros(3))
        yield Dot(
            at, label=mechanism.bodies[numbers[root]].name if len(numbers) <= MOST_NAMED else ""
        )
        yield Trace(at)


def _place(point: np.ndarray, pose: Pose | None) -> Triple:
    """Return where a point is, by its coordinates from the mass centre of its body."""
    if pose is not None:
        return pose.place(point)
    x, y, z = point.tolist()
    return x, y, z


def _extent(mechanism: FileMechanism, geoms: Sequence[FileGeom]) -> float:
    """Return about how large a model is, m."""
    start = mechanism.start
    places = [[start[name] for name in body.coordinates.names[:3]] for body in mechanism.bodies]
    sizes = [float(np.max(geom.box[3:])) for geom in geoms if geom.kind != PLANE]
    return float(np.max(np.ptp(np.array(places), axis=0))) + 2 * max(sizes, default=0.1)


def _wires(geom: FileGeom, extent: float) -> Iterator[tuple[Wire, float | None]]:
    """Return the wires of a geom in its axes; spheres as their middle and a radius."""
    size, nothing = geom.size, np.zeros((1, 3))
    if geom.kind == PLANE:
        half = [side if 0 < side < WIDEST * extent else WIDEST * extent for side in size[:2]]
        yield _rectangle(half[0], half[1], 0.0), None
    elif geom.kind == SPHERE:
        yield nothing, float(size[0])
    elif geom.kind == CAPSULE:
        for sign in (-1.0, 1.0):
            yield np.array([[0.0, 0.0, sign * size[1]]]), float(size[0])
        yield from _bars(size[0], size[1])
    elif geom.kind == CYLINDER:
        for sign in (-1.0, 1.0):
            yield _closed(ring(float(size[0]), 2, (0.0, 0.0, sign * size[1]), CORNERS)), None
        yield from _bars(size[0], size[1])
    elif geom.kind == ELLIPSOID:
        for normal in range(3):
            yield _closed(ring(size.tolist(), normal, corners=CORNERS)), None
    else:
        yield from _box(geom.box[:3], geom.box[3:])


def _bars(radius: float, half: float) -> Iterator[tuple[Wire, None]]:
    for x, y in ((radius, 0.0), (0.0, radius), (-radius, 0.0), (0.0, -radius)):
        yield np.array([[x, y, -half], [x, y, half]]), None


def _closed(corners: Wire) -> Wire:
    return np.vstack([corners, corners[:1]])


def _rectangle(x: float, y: float, z: float) -> Wire:
    return np.array([[x, y, z], [-x, y, z], [-x, -y, z], [x, -y, z], [x, y, z]])


def _box(middle: np.ndarray, half: np.ndarray) -> Iterator[tuple[Wire, None]]:
    for z in (-half[2], half[2]):
        yield middle + _rectangle(half[0], half[1], z), None
    for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
        edge = np.array([[x * half[0], y * half[1], z] for z in (-half[2], half[2])])
        yield middle + edge, None
