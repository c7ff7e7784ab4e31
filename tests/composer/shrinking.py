"""Smaller systems in which the same thing is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import fields, replace
from typing import Any

from .composing import Composition
from .parts import Part
from .running import begin
from .writing import script_of

MOST_SECONDS = 90.0
"""CPU seconds that are spent on one system."""
HANGS = 10
"""CPU seconds, fewer than a hang is told by, after which a smaller system hangs as well."""
_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?")


def shrink(composition: Composition, wrong: Set[str]) -> Composition:
    """Return the smallest system found in which one of the same things is wrong.

    Parameters
    ----------
    composition
        A system in which something is wrong.
    wrong
        The keys of its findings.
    """
    used, tried = 0.0, {repr(composition)}
    improved = True
    while improved:
        improved = False
        for smaller in _smaller(composition):
            if repr(smaller) in tried:
                continue
            tried.add(repr(smaller))
            asked = script_of(smaller), HANGS
            result = begin(*asked, must_run=smaller.must_run).result()
            used += result.seconds
            if {finding.key for finding in result.findings} & wrong:
                composition, improved = smaller, used < MOST_SECONDS
                break
            if used > MOST_SECONDS:
                break
    return composition


def _smaller(composition: Composition) -> Iterator[Composition]:
    """Return simpler compositions, those that leave most out first."""
    for place in reversed(range(len(composition.parts))):
        smaller = composition.without(place)
        if any(part.coordinates for part in smaller.parts):
            yield smaller
    if composition.way != "solve":
        yield replace(composition, way="solve")
    for name in composition.options:
        kept = {other: text for other, text in composition.options.items() if other != name}
        yield replace(composition, options=kept)
    if composition.begin != 0.0:
        shift = f"(ds.time - {composition.begin!r})"
        parts = (
            _rewritten(part, lambda text: text.replace(shift, "ds.time"))
            for part in composition.parts
        )
        yield replace(composition, begin=0.0, parts=tuple(parts))
    for place, part in enumerate(composition.parts):
        for digits in (0, 1):
            simpler = _rounded(part, digits)
            if simpler != part:
                parts = (*composition.parts[:place], simpler, *composition.parts[place + 1 :])
                yield replace(composition, parts=parts)
    if abs(composition.length) != 1.0:
        yield replace(composition, length=1.0 if composition.length > 0.0 else -1.0)


def _rounded(part: Part, digits: int) -> Part:
    """Round the numbers of a part, but none to zero."""

    def shorter(match: re.Match[str]) -> str:
        value = float(match[0])
        return repr(round(value, digits) or value)

    simpler = _rewritten(part, lambda text: _NUMBER.sub(shorter, text))
    initial = {name: round(value, digits) for name, value in part.initial.items()}
    return replace(simpler, initial=initial)


def _rewritten(part: Part, change: Callable[[str], str]) -> Part:
    """Change every text of a part."""

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return {name: changed(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(changed, value))
        return value

    return replace(part, **{each.name: changed(getattr(part, each.name)) for each in fields(part)})
