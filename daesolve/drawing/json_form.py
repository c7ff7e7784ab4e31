"""A drawing as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from daesolve.drawing.shapes import (
    Arrow,
    Camera,
    Circle,
    Cosine,
    Dot,
    Drawing,
    Line,
    Linear,
    Outline,
    Polar,
    Trace,
)
from daesolve.errors import PosingError, unknown_name
from daesolve.storage.encoding import is_list, is_mapping, is_tuple


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
    # A term or a series may be called "kind": its value is no text.
    if not is_mapping(value) or not isinstance(kind := value.get("kind"), str):
        return value
    if kind not in _KINDS:
        raise unknown_name("kind of a drawing's part", kind, _KINDS)
    parts = {name: _decoded(part) for name, part in value.items() if name != "kind"}
    try:
        return _KINDS[kind](**parts)
    except TypeError as error:
        raise PosingError(f"a stored {kind} lacks a part or has one too many: {error}") from None


_KINDS: Mapping[str, Callable[..., Any]] = {
    kind.__name__.lower(): kind
    for kind in (Drawing, Circle, Line, Outline, Dot, Trace, Arrow, Linear, Cosine, Polar, Camera)
}
