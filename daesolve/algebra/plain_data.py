"""Plain data and CasADi's functions as JSON, bit for bit: numbers, words, arrays, dataclasses."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

import casadi as ca
import numpy as np

Classes = Mapping[str, type]
"""The dataclasses, made by their fields, and kinds of words that may occur, by name."""


class NotPlainError(TypeError):
    """Something is no plain data."""


def named(kinds: Iterable[type]) -> Classes:
    """Return classes by their names."""
    return {kind.__qualname__: kind for kind in kinds}


def encoded(value: object, classes: Classes) -> Any:
    """Return a value as what JSON can hold, bit for bit.

    Raises
    ------
    NotPlainError
        It has parts that are no data, or of other classes than those.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(cast("np.ndarray", value))
        if array.dtype.kind not in "fiub":
            raise NotPlainError(str(array.dtype))
        content = base64.b64encode(array.tobytes()).decode()
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: [array.dtype.str, array.shape, content]}
    if isinstance(value, ca.Function):
        return {"function": value.serialize()}
    if type(value) in (tuple, list):
        entries = [encoded(entry, classes) for entry in cast("list[object]", value)]
        return {"tuple": entries} if type(value) is tuple else entries
    if type(value) is dict:
        items = cast("dict[object, object]", value).items()
        return {
            "dict": [[encoded(name, classes), encoded(entry, classes)] for name, entry in items]
        }
    kind = type(value)
    if isinstance(value, str) and classes.get(kind.__qualname__) is kind:
        return {"word": [kind.__qualname__, str(value)]}
    if is_dataclass(value) and classes.get(kind.__qualname__) is kind:
        own = {f.name: encoded(getattr(value, f.name), classes) for f in fields(value) if f.init}
        return {"class": [kind.__qualname__, own]}
    raise NotPlainError(kind)


def decoded(value: Any, classes: Classes) -> Any:
    """Return what was encoded; nothing else than these classes is made."""
    if isinstance(value, list):
        return [decoded(entry, classes) for entry in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    ((kind, told),) = cast("dict[str, Any]", value).items()
    if kind == "float":
        return float.fromhex(told)
    if kind in ("array", "scalar"):
        dtype, shape, content = told
        array = np.frombuffer(base64.b64decode(content), dtype).reshape(shape).copy()
        return array if kind == "array" else array[()]
    if kind == "function":
        return ca.Function.deserialize(told)
    if kind == "tuple":
        return tuple(decoded(entry, classes) for entry in told)
    if kind == "dict":
        return {decoded(name, classes): decoded(entry, classes) for name, entry in told}
    name, own = told
    if kind == "word":
        return classes[name](own)
    return classes[name](**{field: decoded(entry, classes) for field, entry in own.items()})
