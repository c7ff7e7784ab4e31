"""The parts of a drawing, each validated by its declared type, and drawings as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Real
from typing import Any, Literal, TypeGuard, get_args

import numpy as np

from daesolve.core.encoding import is_list, is_mapping, is_tuple
from daesolve.errors import PosingError, check_names
from daesolve.multibody.drawing.views import FROM_THE_FRONT, axes_seen_from

Role = Literal["body", "body-2", "body-3", "body-4", "body-5", "body-6",
               "accent", "ground", "path", "force", "detail"]  # fmt: skip
"""What a shape represents, which sets its colour, stroke and mark: a body, one of several bodies, a
part that should differ from it, the fixed surroundings, the path of a point, a force or another
vector, a part of a body drawn with finer lines."""
BODIES: tuple[Role, ...] = ("body", "body-2", "body-3", "body-4", "body-5", "body-6")
"""The roles of bodies, by their numbers; then they repeat."""


class _DrawingPart:
    """Any part of a drawing: its fields are read as what they are annotated with."""

    def __post_init__(self) -> None:
        for entry in fields(self):  # pyright: ignore[reportArgumentType]
            try:
                value = _READERS[str(entry.type)](getattr(self, entry.name))
            except PosingError as error:
                raise PosingError(f"{title(self)}: its {entry.name} {error}") from None
            object.__setattr__(self, entry.name, value)


@dataclass(frozen=True)
class Linear(_DrawingPart):
    """A linear form of series and parameters: constant + sum of coefficient * name.

    Parameters
    ----------
    terms
        Name -> coefficient.
    constant
        The constant term.
    """

    terms: Mapping[str, float]
    constant: float = 0.0


@dataclass(frozen=True)
class Cosine(_DrawingPart):
    """constant + amplitude * cos(angle): a point that goes round, seen edge-on.

    Parameters
    ----------
    amplitude, constant
        Numbers.
    angle
        In rad.
    """

    amplitude: float
    angle: Quantity
    constant: float = 0.0


@dataclass(frozen=True)
class Polar(_DrawingPart):
    """A point at a distance from another one, in the direction of an angle.

    The angle turns from the first axis of the plane to the second. A point that is fixed to a
    body is a chain of two: along the body's axis, then across it.

    Parameters
    ----------
    origin
        The other point.
    length
        The distance from it.
    angle
        The direction, rad.
    """

    origin: Point
    length: Quantity
    angle: Quantity


Quantity = float | str | Linear | Cosine
Pair = tuple[Quantity, Quantity]
Triple = tuple[Quantity, Quantity, Quantity]
Coordinates = Pair | Triple
"""Two in a plane, three in space."""
Direction = Sequence[float]
Point = Coordinates | Polar
Points = Sequence[Point] | np.ndarray
Column = Sequence[float | None] | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Shape(_DrawingPart):
    """The parameters that all shapes share.

    Parameters
    ----------
    role
        What it represents.
    label
        Its name in the legend and in messages.
    shown
        The shape is drawn only where this is positive, for example on the side of a body that faces
        the eye. By default it is always drawn.
    """

    role: Role = "body"
    label: str = ""
    shown: Quantity | None = None


@dataclass(frozen=True)
class Circle(Shape):
    """A circle, with or without spokes; in space a ball, which looks like a circle from everywhere.

    Parameters
    ----------
    centre, radius
        Where it is, and how large.
    angle
        The direction of the first spoke, rad.
    spokes
        How many spokes show the angle, evenly spaced; none without an angle.
    """

    centre: Point
    radius: Quantity
    angle: Quantity | None = None
    spokes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.angle is None) != (self.spokes == 0):
            raise PosingError(f"{title(self)}: spokes show the angle; give both, or neither")


@dataclass(frozen=True)
class Line(Shape):
    """A line: a rod or, if all of its points are numbers, a curve of the ground.

    Parameters
    ----------
    points
        The points that it connects, at least two.
    """

    points: Points


@dataclass(frozen=True)
class Outline(Shape):
    """A closed polygon fixed to a body.

    Parameters
    ----------
    points
        In axes of the body; in space, their places (`Pose.place` gives them).
    at, angle
        In a plane: the origin of these axes, and the angle by which they are turned.
    """

    points: Points
    at: Point = (0.0, 0.0)
    angle: Quantity = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if dimensions(self.points) == {3} and (self.at, self.angle) != ((0.0, 0.0), 0.0):
            raise PosingError(
                f"{title(self)}: in space its points have fixed places; leave out at= and angle="
            )


@dataclass(frozen=True)
class Dot(Shape):
    """A point, shown large enough to be seen.

    Parameters
    ----------
    at
        Where it is.
    """

    at: Point


@dataclass(frozen=True)
class Trace(Shape):
    """The path of a point since the first sample.

    Parameters
    ----------
    at
        Where the point is.
    """

    at: Point
    role: Role = field(default="path", kw_only=True)


@dataclass(frozen=True)
class Arrow(Shape):
    """A vector that acts at a point.

    Parameters
    ----------
    at
        Where it acts.
    vector
        Its components, as many as a point has coordinates.
    scale
        The length at which its unit is drawn.
    """

    at: Point
    vector: Coordinates
    scale: Quantity = 1.0
    role: Role = field(default="force", kw_only=True)


@dataclass(frozen=True)
class Camera(_DrawingPart):
    """A square around a point that an animation shows if the whole path is much larger.

    Parameters
    ----------
    at
        Its middle.
    width
        Its side.
    """

    at: Point
    width: Quantity


@dataclass(frozen=True)
class Drawing(_DrawingPart):
    """Shapes in a plane, drawn in order with later ones on top; or shapes in space.

    Parameters
    ----------
    shapes
        At least one; all of their points have two coordinates, or all have three.
    x_label, y_label
        The axes of the plane, with their units; in space, of the plane that is seen.
    series
        Further series besides the run's: name -> a value for each of the run's times, None if there
        is none. If a state jumps although nothing moves (an angle that is measured from another
        part after an event), give its continuous counterpart here; "angle_dot" or "angle_dot_1" is
        the derivative of "angle" or "angle_1", by which it is interpolated.
    camera
        What an animation shows; by default the bodies.
    eye
        In space: the direction from which it is seen, three numbers of any length; the third axis
        points upwards. Readers can turn the view on an animation's page.

    Raises
    ------
    PosingError
        A part of it has the wrong type or value.
    """

    shapes: Sequence[Shape]
    x_label: str = ""
    y_label: str = ""
    series: Mapping[str, Column] = field(default_factory=dict[str, Column])
    camera: Camera | None = None
    eye: Direction = FROM_THE_FRONT

    def __post_init__(self) -> None:
        super().__post_init__()
        examples = {count: shape for shape in self.shapes for count in dimensions(shape)}
        if len(examples) > 1:
            raise PosingError(
                f"{title(examples[3])} has points in space and {title(examples[2])} in a plane: "
                "give every point three coordinates, or every point two"
            )
        labels = ("across (m)", "up (m)") if 3 in examples else ("x (m)", "y (m)")
        object.__setattr__(self, "x_label", self.x_label or labels[0])
        object.__setattr__(self, "y_label", self.y_label or labels[1])

    @property
    def in_space(self) -> bool:
        """Whether its points have three coordinates."""
        return dimensions(self.shapes[0]) == {3}

    @property
    def axes(self) -> np.ndarray:
        """In space: the directions across, up, and towards the eye, as rows (3, 3)."""
        return axes_seen_from(self.eye)


def dimensions(value: object) -> set[int]:
    """Return how many coordinates points, or the points of a shape, have.

    An outline in a plane may be at the origin, which has two coordinates by default.
    """
    match value:
        case Circle(centre=point) | Dot(at=point) | Trace(at=point):
            return dimensions(point)
        case Line(points=points) | Outline(points=points):
            return dimensions(points)
        case Arrow(at=at, vector=vector):
            return dimensions(at) | dimensions(vector)
        case Polar():
            return {2}
        case _ if is_tuple(value) and value and (is_tuple(value[0]) or isinstance(value[0], Polar)):
            return {count for point in value for count in dimensions(point)}
        case _ if is_tuple(value):
            return {len(value)}
        case _:
            return set()


def title(value: object) -> str:
    """Return the name of a part of a drawing in messages."""
    kind, label = type(value).__name__, getattr(value, "label", "")
    return f"{kind} {label!r} of the drawing" if label else f"{kind} of the drawing"


def _require(right: bool, wanted: str, given: object) -> None:
    if not right:
        text = repr(given)
        raise PosingError(f"must be {wanted}, not {text if len(text) <= 60 else text[:57] + '...'}")


def _number(value: Any, wanted: str = "a finite number") -> float:
    right = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    _require(right, wanted, value)
    # A number may carry the expression from which it comes.
    return (
        value if isinstance(value, float) and not isinstance(value, np.floating) else float(value)
    )


def _count(value: Any) -> int:
    right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    _require(right, "a whole number >= 0", value)
    return value


def _text(value: Any) -> str:
    _require(isinstance(value, str), "text", value)
    return value


def _role(value: Any) -> Role:
    _require(value in get_args(Role), f"one of {', '.join(get_args(Role))}", value)
    return value


def _quantity(value: Any) -> Quantity:
    if isinstance(value, str | Linear | Cosine):
        return value
    return _number(value, "a finite number, a name, a Linear or a Cosine")


def _is_row(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple | np.ndarray)


def _terms(value: Any) -> dict[str, float]:
    right = is_mapping(value) and all(isinstance(name, str) for name in value)
    _require(right, "names with their coefficients", value)
    return {name: _number(factor) for name, factor in value.items()}


def _coordinates(value: Any) -> Coordinates:
    _require(_is_row(value) and len(value) in (2, 3), "two or three coordinates", value)
    first, second, *third = (_quantity(entry) for entry in value)
    return (first, second, third[0]) if third else (first, second)


def _direction(value: Any) -> tuple[float, float, float]:
    _require(_is_row(value) and len(value) == 3, "three numbers", value)
    x, y, z = (_number(entry) for entry in value)
    _require(x != 0.0 or y != 0.0 or z != 0.0, "a direction, not all zero", value)
    return x, y, z


def _point(value: Any) -> Point:
    return value if isinstance(value, Polar) else _coordinates(value)


def _points(value: Any) -> tuple[Point, ...]:
    _require(_is_row(value) and len(value) >= 2, "at least two points", value)
    return tuple(_point(entry) for entry in value)


def _shapes(value: Any) -> tuple[Shape, ...]:
    right = _is_row(value) and len(value) > 0
    _require(right and all(isinstance(entry, Shape) for entry in value), "shapes", value)
    return tuple(value)


def _columns(value: Any) -> dict[str, tuple[float | None, ...]]:
    right = is_mapping(value) and all(isinstance(name, str) for name in value)
    _require(right, "names with their values", value)
    return {name: _column(column) for name, column in value.items()}


def _column(value: Any) -> tuple[float | None, ...]:
    _require(_is_row(value), "a value for each time", value)
    # Columns are long, and of plain numbers but for gaps.
    if all(type(entry) is float for entry in value) and np.isfinite(value).all():
        return tuple(value)
    return tuple(None if _is_gap(entry) else _number(entry) for entry in value)


def _is_gap(value: Any) -> bool:
    return value is None or (isinstance(value, Real) and math.isnan(value))


def _camera(value: Any) -> Camera | None:
    _require(value is None or isinstance(value, Camera), "a Camera", value)
    return value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "Camera | None": _camera,
    "Mapping[str, Column]": _columns,
    "Mapping[str, float]": _terms,
    "Coordinates": _coordinates,
    "Direction": _direction,
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
        raise PosingError("the stored data is not a drawing")
    return drawing


def _encoded(value: Any) -> Any:
    if is_dataclass(value):
        parts = {entry.name: getattr(value, entry.name) for entry in fields(value)}
        stored = {name: _encoded(part) for name, part in parts.items() if part is not None}
        return {"kind": type(value).__name__.lower(), **stored}
    if is_tuple(value):
        return [_encoded(entry) for entry in value]
    if is_mapping(value):
        return {name: _encoded(entry) for name, entry in value.items()}
    return value


def _decoded(value: Any) -> Any:
    if is_list(value):
        return tuple(_decoded(entry) for entry in value)
    # A term or a series may be called "kind": its value is not text.
    if not is_mapping(value) or not isinstance(kind := value.get("kind"), str):
        return value
    check_names("kind of a drawing's part", [kind], _KINDS)
    parts = {name: _decoded(part) for name, part in value.items() if name != "kind"}
    try:
        return _KINDS[kind](**parts)
    except TypeError as error:
        raise PosingError(f"a stored {kind} lacks a part or has one too many: {error}") from None


_KINDS: Mapping[str, Callable[..., Any]] = {
    kind.__name__.lower(): kind
    for kind in (Drawing, Circle, Line, Outline, Dot, Trace, Arrow, Linear, Cosine, Polar, Camera)
}
