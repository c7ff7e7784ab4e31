"""Validation of a run's JSON files by pydantic models, with faults in words.

This module imports pydantic, so it is imported only when a file is read.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError, create_model
from pydantic.types import AllowInfNan

from daesolve.errors import shortened

Number = Annotated[float, Strict()]
"""A double, which may be infinite or NaN, but not a truth value or a string."""
Finite = Annotated[float, Strict(), AllowInfNan(False)]
Count = Annotated[int, Strict(), Field(ge=0, lt=2**53)]
"""A whole number >= 0 that a double represents exactly."""
Flag = Annotated[bool, Strict()]
Word = Annotated[str, Strict()]
LEAVES: dict[Any, Any] = {float: Number, bool: Flag, str: Word, int: Annotated[int, Strict()]}


PLAIN = {
    "valid dictionary": "mapping of names",
    "valid integer": "whole number",
    "valid list": "list",
    "valid tuple": "list",
    "valid string": "word",
    "valid boolean": "truth value",
}
"""Plain words for the types in pydantic's messages."""


class StoredRecord(BaseModel):
    """The known fields of a file; there may be others."""

    model_config = ConfigDict(extra="allow")


def record_of(kind: type, **others: Any) -> type[BaseModel]:
    """Return a model of the fields of a dataclass, and of no others.

    Parameters
    ----------
    kind
        A dataclass of numbers, words, truth values, sequences and mappings of such.
    **others
        The types of fields that are narrower in a file.
    """
    hints = get_type_hints(kind)
    described: dict[str, Any] = {}
    for entry in dataclasses.fields(kind):
        has_none = (
            entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING
        )
        wanted = others.get(entry.name, _strict(hints[entry.name]))
        described[entry.name] = (wanted, ...) if has_none else (wanted, None)
    return create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **described)


def _strict(hint: Any) -> Any:
    """Return a type with leaves that convert nothing, since "1" is not a number and True no 1."""
    if hint in LEAVES:
        return LEAVES[hint]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return record_of(hint)
    origin, inner = get_origin(hint), tuple(map(_strict, get_args(hint)))
    if origin in (Union, types.UnionType):
        return Union[inner]  # noqa: UP007 - of a tuple that is known when it runs
    if origin is tuple:
        return tuple[inner]
    if origin is not None and issubclass(origin, Mapping):
        return dict[inner]  # pyright: ignore[reportInvalidTypeArguments]
    if origin is not None and issubclass(origin, Sequence):
        return list[inner]  # pyright: ignore[reportInvalidTypeArguments]
    return hint


def fault(model: type[BaseModel], value: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the content of a file, in words that follow its name.

    Parameters
    ----------
    model
        The model of the file.
    value
        Its contents.
    """
    try:
        model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        place = found[0]["loc"]
        field = ".".join(str(name) for name in place)
        if found[0]["type"] == "missing" and len(place) == 1:
            return f"is not the file of a run (it has no {field!r})"
        return f"is damaged ({_in_words(field, cast(dict[str, Any], found[0]))})"
    return None


def _in_words(field: str, error: Mapping[str, Any]) -> str:
    if error["type"] == "missing":
        return f"it has no field {field!r}"
    if error["type"] == "extra_forbidden":
        return f"its field {field!r} is unknown"
    wanted = str(error["msg"]).replace("Input should be", "must be").rstrip(".")
    wanted = re.sub(r" or instance of \w+", "", wanted)
    for name, plain in PLAIN.items():
        wanted = wanted.replace(name, plain)
    return f"its field {field!r} is {shortened(repr(error['input']))}, but {wanted}"
