"""What the bodies of a problem look like: data from which pictures and animations are made.

A drawing is a list of shapes in a plane. Their quantities are numbers, names of a run's series
(states, outputs, reactions, the time "t"), names of its parameters, or linear forms of these;
angles are in rad. `evaluate` puts the shapes where they are at a sample, which is all that a
renderer needs to know. `to_json` and `from_json` keep a drawing in the file of its run.

Examples
--------
A pendulum that hangs from the origin, phi its angle from the downward vertical:

>>> bob = Polar((0.0, 0.0), "length", Linear({"phi": 1.0}, -math.pi / 2))
>>> swing = Drawing([Line([(0.0, 0.0), bob]), Dot(bob, role="accent"), Trace(bob)])
>>> line, dot, trace = evaluate(swing, {"phi": np.array([0.0, 0.5])}, {"length": 2.0}, index=0)
>>> dot.points.round(9).tolist()
[[0.0, -2.0]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError, unknown_name

Role = Literal["body", "accent", "ground", "path", "force"]
"""What a shape stands for, from which its colour follows: a body, a part of it to be told apart,
the fixed surroundings, where a point has been, a force or another vector."""


class _Declared:
    """Any part of a drawing: its fields are read as what they are annotated with."""

    def __post_init__(self) -> None:
        for entry in fields(self):  # pyright: ignore[reportArgumentType]
            try:
                value = _READERS[str(entry.type)](getattr(self, entry.name))
            except PosingError as error:
                raise PosingError(f"{_title(self)}: its {entry.name} {error}") from None
            object.__setattr__(self, entry.name, value)


@dataclass(frozen=True)
class Linear(_Declared):
    """A linear form of series and parameters: constant + sum of coefficient * name."""

    terms: Mapping[str, float]
    constant: float = 0.0


@dataclass(frozen=True)
class Polar(_Declared):
    """A point at a distance from another one, in the direction of an angle.

    The angle turns from the first axis of the plane to the second. A point that is fixed to a
    body is a chain of two: along the body's axis, then across it.
    """

    origin: Point
    length: Quantity
    angle: Quantity


Quantity = float | str | Linear
Pair = tuple[Quantity, Quantity]
Point = Pair | Polar
Points = Sequence[Point] | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Shape(_Declared):
    """What all shapes have.

    Parameters
    ----------
    role
        What it stands for.
    label
        Its name in the legend and in messages.
    """

    role: Role = "body"
    label: str = ""


@dataclass(frozen=True)
class Circle(Shape):
    """A circle. Spokes show its angle, the first in its direction, the others evenly spaced."""

    centre: Point
    radius: Quantity
    angle: Quantity | None = None
    spokes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.angle is None) != (self.spokes == 0):
            raise PosingError(
                f"{_title(self)}: spokes show its angle; give both of them, or neither"
            )


@dataclass(frozen=True)
class Line(Shape):
    """A line through points: a rod, or, where all of them are numbers, a curve of the ground."""

    points: Points


@dataclass(frozen=True)
class Outline(Shape):
    """A closed polygon that is fixed to a body.

    Parameters
    ----------
    points
        In axes of the body.
    at, angle
        Where the origin of these axes is, and how they are turned.
    """

    points: Points
    at: Point = (0.0, 0.0)
    angle: Quantity = 0.0


@dataclass(frozen=True)
class Dot(Shape):
    """A point, shown as large as a reader can see."""

    at: Point


@dataclass(frozen=True)
class Trace(Shape):
    """The path that a point has left behind since the first sample."""

    at: Point
    role: Role = field(default="path", kw_only=True)


@dataclass(frozen=True)
class Arrow(Shape):
    """A vector that acts at a point; `scale` is the length at which its unit is drawn."""

    at: Point
    vector: Pair
    scale: Quantity = 1.0
    role: Role = field(default="force", kw_only=True)


@dataclass(frozen=True)
class Drawing(_Declared):
    """Shapes in a plane, drawn in their order, later ones above.

    Parameters
    ----------
    shapes
        At least one.
    x_label, y_label
        The axes of the plane, with their units.

    Raises
    ------
    PosingError
        A part of it, when it is made, is not what it must be.
    """

    shapes: Sequence[Shape]
    x_label: str = "x (m)"
    y_label: str = "y (m)"


@dataclass(frozen=True, eq=False)
class Placed:
    """A shape where it is at a sample.

    Parameters
    ----------
    shape
        What was declared.
    points
        (k, 2) the centre of a circle; the vertices of a line, an outline or a trace; a dot; the
        tail and the tip of an arrow. NaN where a series has no finite value.
    radius, angle
        Those of a circle, else zero.
    """

    shape: Shape
    points: np.ndarray
    radius: float = 0.0
    angle: float = 0.0

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
    """Put the shapes of a drawing where they are at a sample.

    Parameters
    ----------
    drawing
        Shapes.
    series
        Name -> (k,) the samples of a run, all of the same length.
    parameters
        Name -> value; a series of the same name goes before it.
    index
        Which sample; negative from the end.

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
    check(drawing, [*series, *parameters])
    count = min((len(column) for column in series.values()), default=1)
    if not -count <= index < count:
        raise OutOfRangeError(f"there is no sample {index} of {count} to draw")
    last = index % count
    now = {**parameters, **{name: float(column[last]) for name, column in series.items()}}
    so_far = {**parameters, **{name: column[: last + 1] for name, column in series.items()}}
    return [_placed(shape, now, so_far) for shape in drawing.shapes]


def check(drawing: Drawing, known: Iterable[str]) -> None:
    """Refuse a drawing that uses a name which is not among the known series and parameters.

    Raises
    ------
    UnknownNameError
        It names the shape and the nearest names.
    """
    known = set(known)
    for shape in drawing.shapes:
        for name in sorted(_names(shape) - known):
            raise UnknownNameError(
                f"{_title(shape)}: {unknown_name('series or parameter', name, known)}"
            )


def moves(shape: Shape, series: Iterable[str]) -> bool:
    """Tell whether a shape depends on a series, and is not part of the fixed surroundings."""
    return not _names(shape).isdisjoint(series)


def to_json(drawing: Drawing) -> dict[str, Any]:
    """Return a drawing as dicts, lists, strings and finite numbers."""
    return _encoded(drawing)


def from_json(stored: Mapping[str, Any]) -> Drawing:
    """Return the drawing that `to_json` stored.

    Raises
    ------
    PosingError, UnknownNameError
        It is not a drawing.
    """
    drawing = _decoded(stored)
    if not isinstance(drawing, Drawing):
        raise PosingError("what is stored is not a drawing")
    return drawing


def _placed(shape: Shape, now: Mapping[str, float], so_far: Mapping[str, Any]) -> Placed:
    match shape:
        case Circle(centre=centre, radius=radius, angle=angle):
            turn = 0.0 if angle is None else _value(angle, now)
            return Placed(shape, _vertices([centre], now), _value(radius, now), turn)
        case Line(points=points):
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
            raise PosingError(f"{_title(shape)}: shapes of this kind cannot be drawn")


def _value(quantity: Quantity, values: Mapping[str, Any]) -> Any:
    """Return a number, or an array where the values are arrays."""
    if isinstance(quantity, str):
        return values[quantity]
    if isinstance(quantity, Linear):
        terms = quantity.terms.items()
        return quantity.constant + sum(factor * values[name] for name, factor in terms)
    return quantity


def _position(point: Point, values: Mapping[str, Any]) -> tuple[Any, Any]:
    if not isinstance(point, Polar):
        return _value(point[0], values), _value(point[1], values)
    x, y = _position(point.origin, values)
    length, angle = _value(point.length, values), _value(point.angle, values)
    return x + length * np.cos(angle), y + length * np.sin(angle)


def _vertices(points: Points, values: Mapping[str, float]) -> np.ndarray:
    return np.array([_position(point, values) for point in points])


def _names(value: object) -> set[str]:
    """Return the names of series and parameters that a part of a drawing uses."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, Linear):
        return set(value.terms)
    if isinstance(value, tuple):
        return set().union(*map(_names, value))
    if isinstance(value, Shape | Polar):
        parts = (entry.name for entry in fields(value) if entry.name not in ("role", "label"))
        return set().union(*(_names(getattr(value, part)) for part in parts))
    return set()


def _encoded(value: Any) -> Any:
    if is_dataclass(value):
        parts = {entry.name: _encoded(getattr(value, entry.name)) for entry in fields(value)}
        return {"kind": type(value).__name__.lower(), **parts}
    if isinstance(value, tuple):
        return [_encoded(entry) for entry in value]
    return dict(value) if isinstance(value, Mapping) else value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(entry) for entry in value)
    # A linear form may have a term that is called "kind": its coefficient is a number.
    if not isinstance(value, Mapping) or not isinstance(kind := value.get("kind"), str):
        return value
    if kind not in _KINDS:
        raise unknown_name("kind of a drawing's part", kind, _KINDS)
    parts = {name: _decoded(part) for name, part in value.items() if name != "kind"}
    try:
        return _KINDS[kind](**parts)
    except TypeError as error:
        raise PosingError(f"a stored {kind} lacks a part or has one too many: {error}") from None


def _title(value: object) -> str:
    kind, label = type(value).__name__, getattr(value, "label", "")
    return f"{kind} {label!r} of the drawing" if label else f"{kind} of the drawing"


def _require(right: bool, wanted: str, given: object) -> None:
    if not right:
        text = repr(given)
        raise PosingError(f"must be {wanted}, not {text if len(text) <= 60 else text[:57] + '...'}")


def _number(value: Any, wanted: str = "a finite number") -> float:
    right = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    _require(right, wanted, value)
    return float(value)


def _count(value: Any) -> int:
    right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    _require(right, "a whole number from zero on", value)
    return value


def _text(value: Any) -> str:
    _require(isinstance(value, str), "text", value)
    return value


def _role(value: Any) -> Role:
    _require(value in get_args(Role), f"one of {', '.join(get_args(Role))}", value)
    return value


def _quantity(value: Any) -> Quantity:
    if isinstance(value, str | Linear):
        return value
    return _number(value, "a finite number, a name or a Linear")


def _terms(value: Any) -> dict[str, float]:
    right = isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
    _require(right, "names with their coefficients", value)
    return {name: _number(factor) for name, factor in value.items()}


def _pair(value: Any) -> Pair:
    _require(isinstance(value, _SEQUENCES) and len(value) == 2, "a pair of coordinates", value)
    return _quantity(value[0]), _quantity(value[1])


def _point(value: Any) -> Point:
    return value if isinstance(value, Polar) else _pair(value)


def _points(value: Any) -> tuple[Point, ...]:
    _require(isinstance(value, _SEQUENCES) and len(value) >= 2, "two points or more", value)
    return tuple(_point(entry) for entry in value)


def _shapes(value: Any) -> tuple[Shape, ...]:
    right = isinstance(value, _SEQUENCES) and len(value) > 0
    _require(right and all(isinstance(entry, Shape) for entry in value), "shapes", value)
    return tuple(value)


_SEQUENCES = (list, tuple, np.ndarray)
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "Mapping[str, float]": _terms,
    "Pair": _pair,
    "Point": _point,
    "Points": _points,
    "Quantity": _quantity,
    "Quantity | None": lambda value: None if value is None else _quantity(value),
    "Role": _role,
    "Sequence[Shape]": _shapes,
    "float": _number,
    "int": _count,
    "str": _text,
}
_KINDS: Mapping[str, Callable[..., Any]] = {
    kind.__name__.lower(): kind
    for kind in (Drawing, Circle, Line, Outline, Dot, Trace, Arrow, Linear, Polar)
}
