"""Reference numbers of contacts with friction: the digits that two programs share."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "reference" / "contact_reference.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
ALONE = 11
"""Digits to which what only one program gave, in closed form, is held."""


def cases(name: str) -> list[dict[str, Any]]:
    """Return the cases of a name, at least one."""
    found = [case for case in CASES if case["case"] == name]
    assert found
    return found


def case(name: str) -> dict[str, Any]:
    """Return the only case of a name."""
    (found,) = cases(name)
    return found


def agrees(value: float, entry: dict[str, Any], digits: int = 0) -> bool:
    """Return whether a value is a reference number to the digits that stand there.

    Parameters
    ----------
    value
        What was computed.
    entry
        The reference: a value that is rounded to its `confirmed_digits`.
    digits
        Fewer digits, where only so many are meant; of numbers of one program `ALONE`.
    """
    known = digits or entry.get("confirmed_digits", ALONE)
    wanted = entry["value"]
    if wanted == 0.0:
        return abs(value) < 10.0 ** (1 - known)
    unit = 10.0 ** (math.floor(math.log10(abs(wanted))) + 1 - known)
    return abs(value - wanted) <= unit
