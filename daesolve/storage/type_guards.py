"""What a value is of which nothing is known: a mapping or a sequence of anything."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard, cast

import numpy as np


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Return whether a value maps something to something."""
    return isinstance(value, Mapping)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Return whether a value is a tuple."""
    return isinstance(value, tuple)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a list, as in what was read from JSON."""
    return isinstance(value, list)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a sequence, and neither text nor bytes."""
    return isinstance(value, Sequence) and not isinstance(
        value, str | bytes | bytearray | memoryview
    )


def is_array(value: object) -> TypeGuard[np.ndarray]:
    """Return whether a value is an array of NumPy."""
    return isinstance(value, np.ndarray)


def native(value: object) -> Any:
    """Return a scalar of NumPy as one of Python's own, anything else as it is."""
    return cast(Any, value).item() if isinstance(value, np.generic) else value
