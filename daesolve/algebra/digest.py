"""A digest of what is written in expressions and plain data: equal for what is built alike.

Symbols count by the places where they occur and by their names, so that a system that is posed once
more, in symbols of its own, has the same digest, in another process as well.
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
"""Dataclasses from here are what their fields are."""
POSED = "daesolve.posing."
"""Other objects from here are what their attributes are; elsewhere they may change."""


class NoDigestError(TypeError):
    """Something is not plain data: a function, or an object of a foreign class."""


def digest_of(value: object) -> str:
    """Return the digest of expressions, numbers, words, arrays, and of what is made of these.

    The library's own dataclasses count by their fields, which their cached properties follow from;
    vectors of symbols by all of their attributes.

    Raises
    ------
    NoDigestError
        Some part of it is none of these.
    """
    walk = _Walk()
    words = "\n".join(walk.words(value))
    # All at once: a node that several expressions share is written once, and then by its place.
    pack = ca.StringSerializer()
    pack.pack(walk.leaves)
    found = hashlib.sha256()
    for part in (words, pack.encode()):
        encoded = part.encode()
        found.update(f"{len(encoded)} ".encode() + encoded)
    return found.hexdigest()


class _Walk:
    """One way through all parts of a value; expressions are left for later."""

    def __init__(self) -> None:
        self.leaves: list[ca.SX] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []

    def words(self, value: object) -> Iterator[str]:
        """Return what a value is, in words."""
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
        """Return what something is that may contain itself."""
        if id(value) in self._numbers:
            yield f"as {self._numbers[id(value)]}"
            return
        self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)  # Its identity is nobody else's meanwhile.
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
        raise NoDigestError(f"{kind.__qualname__} is no plain data")


def _named(kind: type) -> str:
    """Return where a class is found.

    Raises
    ------
    NoDigestError
        It is found nowhere: another of the same name may be made.
    """
    if "<locals>" in kind.__qualname__:
        raise NoDigestError(f"{kind.__qualname__} is a class within a function")
    return f"{kind.__module__}.{kind.__qualname__}"
