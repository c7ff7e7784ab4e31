"""How two recordings differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

SHOWN = 10
"""How many of the differing fields are named."""
LONGEST = 160
"""Length of a line about one value."""


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a line for every run that differs or is in only one recording."""
    lines: list[str] = []
    for name in sorted({*before, *after}):
        if name not in after:
            lines.append(f"{name}: only in the first recording")
        elif name not in before:
            lines.append(f"{name}: only in the second recording")
        elif before[name] != after[name]:
            lines.append(f"{name}: {_difference(before[name], after[name])}")
    return lines


def summary(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return a sentence that counts identical runs."""
    both = before.keys() & after.keys()
    alike = sum(before[name] == after[name] for name in both)
    alone = len(before.keys() ^ after.keys())
    skipped = sum("skipped" in before[name] for name in both)
    text = f"{alike} of {len(both)} runs are alike in every bit"
    text += f", {alone} are in one recording only" if alone else ""
    return text + (f"; {skipped} were skipped because a package is missing" if skipped else "")


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    for kind in ("raised", "skipped"):
        if before.get(kind) != after.get(kind):
            return f"{_ending(before)} -> {_ending(after)}"
    one, other = dict(_leaves(before)), dict(_leaves(after))
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    fields = list(dict.fromkeys(_field(name) for name in names))
    text = ", ".join(fields[:SHOWN])
    if len(fields) > SHOWN:
        text += f" and {len(fields) - SHOWN} more"
    largest = _largest(one, other)
    if largest is not None:
        name, a, b = largest
        relative = _relative(a, b)
        shown = f"{relative:.1e} ({name} {a:.3g} -> {b:.3g})"
        text += f"; end state by {shown}" if relative else "; end state alike"
    for name in ("outcome", "message"):
        if before.get(name) != after.get(name):
            text += f"; {name}: {before.get(name)!r} -> {after.get(name)!r}"[:LONGEST]
    return text


def _ending(found: Mapping[str, Any]) -> str:
    """Return the outcome of a run, in words."""
    if "raised" in found:
        return f"raised {found['raised']} ({str(found['message'])[:LONGEST]})"
    if "skipped" in found:
        return f"skipped ({str(found['skipped'])[:LONGEST]})"
    return str(found.get("outcome", "a result"))


def _leaves(found: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every field of a fingerprint; the fields of a part follow the part's name."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _field(name: str) -> str:
    """Return the name of a field without the name of the state that follows it."""
    head, found, _ = name.partition("end_state.")
    return f"{head}end_state" if found else name


def _largest(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, float, float] | None:
    """Return the state that differs most, relative to its size, and its two values at the end.

    A large difference of values that are nothing but rounding shows in the values. None if there
    are no states.
    """
    pairs = [
        (name.rpartition("end_state.")[2], float(value), float(other[name]))
        for name, value in one.items()
        if "end_state." in name and name in other
    ]
    return max(pairs, key=lambda pair: _relative(pair[1], pair[2]), default=None)


def _relative(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b))
