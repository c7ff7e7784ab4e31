"""Numbers in strict JSON that read back bit for bit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from daesolve.storage.failures import ArchiveError
from daesolve.storage.type_guards import is_array, is_list, is_mapping, is_sequence, native

# JSON has no word for these, so they are written as strings.
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(value: object) -> Any:
    r"""Return a value as what strict JSON can hold.

    Doubles come back from `decode` as the same doubles, to the last bit and the sign of a zero;
    of a value that is not a number only that comes back, as the string "nan". Infinities are "inf"
    and "-inf". A word that reads like one of these three is written with a backslash before it.

    Parameters
    ----------
    value
        None, a truth value, a number, a string, or an array, a sequence or a mapping of such; the
        keys of mappings are strings.

    Returns
    -------
    Any
        The same of None, bool, int, float, str, list and dict: arrays, tuples and the scalars of
        NumPy come back as lists and Python's numbers.

    Raises
    ------
    ArchiveError
        A value of another type, or a key that is no string.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return "\\" + value if value.lstrip("\\") in SPECIAL else str(value)
    if is_array(value):
        plain = value.dtype.char in "?bhilqBHILQefd" and bool(np.isfinite(value).all())
        return value.tolist() if plain else encode(value.tolist())
    if is_mapping(value):
        return {_key(name): encode(entry) for name, entry in value.items()}
    if is_sequence(value):
        return [encode(entry) for entry in value]
    number = native(value)
    if isinstance(number, int):
        return number if isinstance(number, bool) else int(number)
    if isinstance(number, float):
        return float(number) if math.isfinite(number) else str(float(number))
    raise ArchiveError(
        f"{type(value).__name__} cannot be stored: a run's files hold numbers, strings, truth "
        "values, None, and arrays, sequences and mappings of such"
    )


def decode(value: Any) -> Any:
    """Return what `encode` made JSON of, with lists for arrays and tuples.

    Parameters
    ----------
    value
        What `json.loads` gave.
    """
    if isinstance(value, str):
        if value in SPECIAL:
            return SPECIAL[value]
        escaped = value.startswith("\\") and value.lstrip("\\") in SPECIAL
        return value[1:] if escaped else value
    if is_list(value):
        return [decode(entry) for entry in value]
    if is_mapping(value):
        return {name: decode(entry) for name, entry in value.items()}
    return value


def to_json(value: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return the content of a JSON file."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(encode(value), allow_nan=False, indent=indent, separators=separators)
    return text.encode() + b"\n"


def from_json(content: bytes) -> dict[str, Any]:
    """Return what a JSON file holds.

    Raises
    ------
    ValueError
        It is no JSON, or no mapping.
    """
    try:
        value = decode(json.loads(content))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not is_mapping(value):
        raise ValueError("not a mapping")
    return dict(value)


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise ArchiveError(f"the key {name!r} cannot be stored: keys are strings")
    return str(name)
