"""Plain data and CasADi functions as bytes, exactly: numbers, words, arrays, dataclasses.

The bytes contain a JSON text, followed by the contents of arrays and functions.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

import casadi as ca
import numpy as np

from daesolve.core.expressions.program import LARGE, digest, remember, serialized
from daesolve.core.expressions.stored_function import StoredFunction

Classes = Mapping[str, type]
"""The dataclasses, identified by their fields, and enumerations that may occur, by name."""
HEAD = 8
"""The number of bytes for the length of the text."""


class NotPlainError(TypeError):
    """An object is not plain data."""


def named(kinds: Iterable[type]) -> Classes:
    """Return classes by their names."""
    return {kind.__qualname__: kind for kind in kinds}


def packed(value: object, classes: Classes) -> list[bytes]:
    """Return a value as bytes, in parts.

    Raises
    ------
    NotPlainError
        Some parts are not data, or belong to other classes.
    """
    contents: list[bytes] = []
    encoded = _encoded(value, classes, contents)
    text = json.dumps([encoded, [len(content) for content in contents]]).encode()
    return [len(text).to_bytes(HEAD, "little"), text, *contents]


def unpacked(content: bytes, classes: Classes) -> Any:
    """Return the packed value; only objects of these classes are created."""
    begin = HEAD + int.from_bytes(content[:HEAD], "little")
    encoded, sizes = json.loads(content[HEAD:begin])
    ends = [begin, *itertools.accumulate(sizes, initial=begin)][1:]
    whole = memoryview(content)
    contents = [whole[start:end] for start, end in itertools.pairwise(ends)]
    return _decoded(encoded, classes, contents)


def _encoded(value: object, classes: Classes, contents: list[bytes]) -> Any:
    """Return a value that JSON can represent, and collect the contents of its arrays."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(cast("np.ndarray", value))
        if array.dtype.kind not in "fiub":
            raise NotPlainError(str(array.dtype))
        contents.append(array.tobytes())
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: [array.dtype.str, array.shape, len(contents) - 1]}
    if isinstance(value, (ca.Function, StoredFunction)):
        function = cast("ca.Function", value)
        contents.append(serialized(function).encode())
        return {"function": [len(contents) - 1, digest(function), *_sizes_and_names(function)]}
    if type(value) in (tuple, list):
        entries = [_encoded(entry, classes, contents) for entry in cast("list[object]", value)]
        return {"tuple": entries} if type(value) is tuple else entries
    if type(value) is dict:
        items = cast("dict[object, object]", value).items()
        return {
            "dict": [
                [_encoded(name, classes, contents), _encoded(entry, classes, contents)]
                for name, entry in items
            ]
        }
    kind = type(value)
    if isinstance(value, str) and classes.get(kind.__qualname__) is kind:
        return {"word": [kind.__qualname__, str(value)]}
    if is_dataclass(value) and classes.get(kind.__qualname__) is kind:
        own = {
            f.name: _encoded(getattr(value, f.name), classes, contents)
            for f in fields(value)
            if f.init
        }
        return {"class": [kind.__qualname__, own]}
    raise NotPlainError(kind)


def _decoded(value: Any, classes: Classes, contents: Sequence[memoryview]) -> Any:
    if isinstance(value, list):
        return [_decoded(entry, classes, contents) for entry in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = cast("dict[str, Any]", value).items()
    if kind == "float":
        return float.fromhex(content)
    if kind in ("array", "scalar"):
        dtype, shape, place = content
        array = np.frombuffer(contents[int(place)], dtype).reshape(shape).copy()
        return array if kind == "array" else array[()]
    if kind == "function":
        return _function(contents[int(content[0])], *content[1:])
    if kind == "tuple":
        return tuple(_decoded(entry, classes, contents) for entry in content)
    if kind == "dict":
        return {
            _decoded(name, classes, contents): _decoded(entry, classes, contents)
            for name, entry in content
        }
    name, own = content
    if kind == "word":
        return classes[name](own)
    return classes[name](
        **{field: _decoded(entry, classes, contents) for field, entry in own.items()}
    )


def _sizes_and_names(
    function: ca.Function,
) -> tuple[tuple[int, list[int], list[int]], tuple[str, list[str]]]:
    """Return the sizes and the names of a `StoredFunction`."""
    inputs, outputs = range(function.n_in()), range(function.n_out())
    return (
        (
            function.n_instructions(),
            [function.nnz_in(k) for k in inputs],
            [function.nnz_out(k) for k in outputs],
        ),
        (function.name(), [function.name_in(k) for k in inputs]),
    )


def _function(text: memoryview, known: str, sizes: Any, names: Any) -> ca.Function:
    """Return a function; a large one is read only on demand."""
    if sizes[0] < LARGE:
        function = ca.Function.deserialize(bytes(text).decode())
    else:
        function = cast("ca.Function", StoredFunction(text, sizes, names))
    remember(function, known)
    return function
