"""Places the shapes of a drawing at a sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from daesolve.core.encoding import is_tuple
from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError, unknown_name
from daesolve.multibody.drawing.shapes import (
    Arrow,
    Camera,
    Circle,
    Cosine,
    Dot,
    Drawing,
    Line,
    Linear,
    Outline,
    Point,
    Points,
    Polar,
    Quantity,
    Shape,
    Trace,
    dimensions,
    title,
)


@dataclass(frozen=True, eq=False)
class Placed:
    """A shape placed at a sample.

    Parameters
    ----------
    shape
        The declared shape.
    points
        (k, 2) the centre of a circle; the vertices of a line, an outline or a trace; a dot; the
        tail and the tip of an arrow. NaN where a series has no finite value. In space, as seen
        from the drawing's eye: across, and up.
    radius, angle
        Of a circle; otherwise zero.
    shown
        Whether it is drawn there.
    depth
        (k,) in space: how far each point is towards the eye; empty in a plane.
    """

    shape: Shape
    points: np.ndarray
    radius: float = 0.0
    angle: float = 0.0
    shown: bool = True
    depth: np.ndarray = field(default_factory=partial(np.empty, 0))

    @property
    def spokes(self) -> np.ndarray:
        """(n, 2, 2) the two ends of each spoke of a circle, at its centre and at its rim."""
        count = self.shape.spokes if isinstance(self.shape, Circle) else 0
        turns = self.angle + 2.0 * math.pi * np.arange(count) / max(count, 1)
        rim = self.points[0] + self.radius * np.column_stack([np.cos(turns), np.sin(turns)])
        return np.stack([np.broadcast_to(self.points[0], rim.shape), rim], axis=1)

    @property
    def box(self) -> np.ndarray:
        """(2, 2) the lower left and the upper right corner around it; NaN if it is nowhere."""
        known = self.points[np.isfinite(self.points).all(axis=1)]
        if not known.size:
            return np.full((2, 2), np.nan)
        return np.array([known.min(axis=0) - self.radius, known.max(axis=0) + self.radius])


def evaluate(
    drawing: Drawing,
    series: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    index: int,
) -> list[Placed]:
    """Place the shapes of a drawing at a sample.

    Parameters
    ----------
    drawing
        Shapes.
    series
        Name -> (k,) the samples of a run, all of the same length.
    parameters
        Name -> value; a series of the same name takes precedence.
    index
        Index of the sample; negative counts from the end.

    Returns
    -------
    list
        One for each shape, in their order.

    Raises
    ------
    UnknownNameError
        A shape uses a name that is neither a series nor a parameter.
    OutOfRangeError
        There is no such sample.
    """
    return evaluate_all(drawing, series, parameters, [index])[0]


def evaluate_all(
    drawing: Drawing,
    series: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    indices: Iterable[int],
) -> list[list[Placed]]:
    """Place the shapes of a drawing at samples; see `evaluate`."""
    check(drawing, [*series, *parameters])
    return [_evaluated(drawing, series, parameters, index) for index in indices]


def _evaluated(
    drawing: Drawing,
    series: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    index: int,
) -> list[Placed]:
    count = min((len(column) for column in series.values()), default=1)
    if not -count <= index < count:
        raise OutOfRangeError(f"there is no sample {index} of {count} to draw")
    last = index % count
    now = {**parameters, **{name: float(column[last]) for name, column in series.items()}}
    so_far = {**parameters, **{name: column[: last + 1] for name, column in series.items()}}
    axes = drawing.axes if drawing.in_space else None
    return [
        replace(
            _as_seen(_placed(shape, now, so_far), axes),
            shown=shape.shown is None or _value(shape.shown, now) > 0.0,
        )
        for shape in drawing.shapes
    ]


def _as_seen(entry: Placed, axes: np.ndarray | None) -> Placed:
    """Return a shape that was placed in space, (k, 3), where it is seen."""
    if axes is None:
        return entry
    seen = entry.points @ axes.T
    return replace(entry, points=seen[:, :2], depth=seen[:, 2])


def check(drawing: Drawing, known: Iterable[str]) -> None:
    """Refuse a drawing that uses a name which is not among the known series and parameters.

    Raises
    ------
    UnknownNameError
        The message names the part and the nearest names.
    """
    known = set(known)
    for part in (*drawing.shapes, drawing.camera):
        for name in sorted(names(part) - known):
            raise UnknownNameError(
                f"{title(part)}: {unknown_name('series or parameter', name, known)}"
            )


def moves(shape: Shape, series: Iterable[str]) -> bool:
    """Return whether a shape depends on a series, and is not part of the fixed surroundings."""
    return not names(shape).isdisjoint(series)


def angles(value: object) -> list[Quantity]:
    """Return each angle on which a value, a drawing or a part of one, depends, once."""
    quantities: list[Quantity] = []
    if isinstance(value, Drawing | Shape | Polar | Cosine):
        for entry in fields(value):
            part = getattr(value, entry.name)
            quantities += [part] if entry.name == "angle" and part is not None else angles(part)
    elif is_tuple(value):
        quantities = [angle for part in value for angle in angles(part)]
    return [angle for place, angle in enumerate(quantities) if angle not in quantities[:place]]


def _placed(shape: Shape, now: Mapping[str, float], so_far: Mapping[str, Any]) -> Placed:
    match shape:
        case Circle(centre=centre, radius=radius, angle=angle):
            turn = 0.0 if angle is None else _value(angle, now)
            return Placed(shape, _vertices([centre], now), _value(radius, now), turn)
        case Line(points=points):
            return Placed(shape, _vertices(points, now))
        case Outline(points=points) if dimensions(points) == {3}:
            return Placed(shape, _vertices(points, now))
        case Outline(points=points, at=at, angle=angle):
            turn = _value(angle, now)
            cosine, sine = math.cos(turn), math.sin(turn)
            turned = _vertices(points, now) @ np.array([[cosine, sine], [-sine, cosine]])
            return Placed(shape, _position(at, now) + turned)
        case Dot(at=at):
            return Placed(shape, _vertices([at], now))
        case Trace(at=at):
            return Placed(shape, np.column_stack(np.broadcast_arrays(*_position(at, so_far))))
        case Arrow(at=at, vector=vector, scale=scale):
            tail = np.array(_position(at, now))
            reach = _value(scale, now) * np.array(_position(vector, now))
            return Placed(shape, np.array([tail, tail + reach]))
        case _:
            raise PosingError(f"{title(shape)}: shapes of this kind cannot be drawn")


def _value(quantity: Quantity, values: Mapping[str, Any]) -> Any:
    """Return a number, or an array where the values are arrays."""
    if isinstance(quantity, str):
        return values[quantity]
    if isinstance(quantity, Linear):
        terms = quantity.terms.items()
        return quantity.constant + sum(factor * values[name] for name, factor in terms)
    if isinstance(quantity, Cosine):
        return quantity.constant + quantity.amplitude * np.cos(_value(quantity.angle, values))
    return quantity


def _position(point: Point, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return two coordinates, or three in space."""
    if not isinstance(point, Polar):
        return tuple(_value(entry, values) for entry in point)
    x, y = _position(point.origin, values)
    length, angle = _value(point.length, values), _value(point.angle, values)
    return x + length * np.cos(angle), y + length * np.sin(angle)


def _vertices(points: Points, values: Mapping[str, float]) -> np.ndarray:
    return np.array([_position(point, values) for point in points])


def names(value: object) -> set[str]:
    """Return the names of series and parameters that a value, a drawing or a part of one, uses."""
    if isinstance(value, Drawing):
        return names(tuple(value.shapes)) | names(value.camera)
    if isinstance(value, str):
        return {value}
    if isinstance(value, Linear):
        return set(value.terms)
    if is_tuple(value):
        return {name for part in value for name in names(part)}
    if isinstance(value, Shape | Polar | Cosine | Camera):
        parts = (entry.name for entry in fields(value) if entry.name not in ("role", "label"))
        return {name for part in parts for name in names(getattr(value, part))}
    return set()
