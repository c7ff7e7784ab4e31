"""A digest of expressions and plain data: equal for objects that are built alike.

Symbols count by their positions and names. A system that is posed again, with new symbols, has the
same digest, even in another process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, cast

import casadi as ca
import numpy as np

OWN = "daesolve."
"""Dataclasses from here are digested by their fields."""
POSED = "daesolve.core.posing."
"""Other objects from here are digested by their attributes; foreign ones may change."""


class NoDigestError(TypeError):
    """An object is not plain data: a function, or an object of a foreign class."""


def digest_of(value: object) -> str:
    """Return the digest of expressions, numbers, words, arrays, and containers of these.

    The library's dataclasses count by their fields, from which cached properties follow; vectors of
    symbols count by all their attributes.

    Raises
    ------
    NoDigestError
        A part is none of these.
    """
    walk = _Walk()
    words = "\n".join(walk.words(value))
    # All at once: a node shared by several expressions is written once, and then by its index.
    pack = ca.StringSerializer()
    pack.pack(walk.leaves)
    found = hashlib.sha256()
    for part in (words, pack.encode()):
        encoded = part.encode()
        found.update(f"{len(encoded)} ".encode() + encoded)
    return found.hexdigest()


class _Walk:
    """A walk through all parts of a value; expressions are processed later."""

    def __init__(self) -> None:
        self.leaves: list[ca.SX] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []

    def words(self, value: object) -> Iterator[str]:
        """Return a description of a value."""
        if isinstance(value, Enum):
            yield f"{_named(type(value))}.{value.name}"
        elif value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            yield f"{type(value).__name__} {value!r}"
        elif isinstance(value, type):
            yield f"class {_named(value)}"
        elif isinstance(value, (ca.SX, ca.DM)):
            yield "SX"
            self.leaves.append(value if isinstance(value, ca.SX) else ca.SX(value))
        elif isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(cast("np.ndarray", value))
            if array.dtype.hasobject:
                raise NoDigestError("an array of objects")
            kind = type(cast("object", value)).__name__
            yield f"{kind} {array.shape} {array.dtype.str} {array.tobytes().hex()}"
        else:
            yield from self._compound(value)

    def _compound(self, value: object) -> Iterator[str]:
        """Return a description of an object that may contain itself."""
        if id(value) in self._numbers:
            yield f"as {self._numbers[id(value)]}"
            return
        self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)  # No other object can have its identity meanwhile.
        parts = self._parts(value)
        yield f"{_named(type(value))} {len(parts)}"
        for part in parts:
            yield from self.words(part)

    def _parts(self, value: object) -> list[Any]:
        if isinstance(value, Mapping):
            mapping = cast("Mapping[object, object]", value)
            return [part for item in mapping.items() for part in item]
        if isinstance(value, (list, tuple)):
            return list(cast("tuple[object, ...]", value))
        kind = type(value)
        if kind in (set, frozenset):
            items = cast("frozenset[object]", value)
            if all(isinstance(item, str) for item in items):
                return sorted(cast("frozenset[str]", items))
        elif kind.__module__.startswith(OWN) and is_dataclass(value):
            return [part for f in fields(value) for part in (f.name, getattr(value, f.name))]
        elif kind.__module__.startswith(POSED) and hasattr(value, "__dict__"):
            return [part for item in sorted(vars(value).items()) for part in item]
        raise NoDigestError(f"{kind.__qualname__} is not plain data")


def _named(kind: type) -> str:
    """Return the location of a class.

    Raises
    ------
    NoDigestError
        It has no location: another class of the same name may be created.
    """
    if "<locals>" in kind.__qualname__:
        raise NoDigestError(f"{kind.__qualname__} is a class within a function")
    return f"{kind.__module__}.{kind.__qualname__}"
