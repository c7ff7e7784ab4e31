"""Units in FMI's description: powers of the SI base units, and a factor."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isclose

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
"""The base units, in the order of FMI."""
_SIMPLE: dict[str, tuple[float, dict[str, int]]] = {
    **{name: (1.0, {name: 1}) for name in BASE},
    "1": (1.0, {}),
    "-": (1.0, {}),
    "%": (0.01, {}),
    "N": (1.0, {"kg": 1, "m": 1, "s": -2}),
    "J": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
    "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}),
    "Hz": (1.0, {"s": -1}),
    "V": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
    "ohm": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
    "H": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -2}),
    "F": (1.0, {"kg": -1, "m": -2, "s": 4, "A": 2}),
    "C": (1.0, {"A": 1, "s": 1}),
    "Wb": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -1}),
    "T": (1.0, {"kg": 1, "s": -2, "A": -1}),
    "deg": (0.017453292519943295, {"rad": 1}),
    "g": (1e-3, {"kg": 1}),
    "t": (1e3, {"kg": 1}),
    "mm": (1e-3, {"m": 1}),
    "cm": (1e-2, {"m": 1}),
    "km": (1e3, {"m": 1}),
    "ms": (1e-3, {"s": 1}),
    "min": (60.0, {"s": 1}),
    "h": (3600.0, {"s": 1}),
    "kN": (1e3, {"kg": 1, "m": 1, "s": -2}),
    "kJ": (1e3, {"kg": 1, "m": 2, "s": -2}),
}
_WORD = re.compile(r"([A-Za-z%]+|1|-)(?:(?:\^|\*\*)?(-?\d+))?")


@dataclass(frozen=True)
class BaseUnit:
    """A unit as powers of base units, and the factor by which it is larger."""

    factor: float = 1.0
    powers: dict[str, int] = field(default_factory=dict[str, int])


def base_unit(unit: str) -> BaseUnit | None:
    """Read a unit such as "kg m^2/s^2"; None if it contains an unknown word.

    Products are written with spaces, dots or stars; everything after a slash divides, up to the
    next slash.
    """
    factor, powers = 1.0, dict[str, int]()
    for number, part in enumerate(unit.replace("(", " ").replace(")", " ").split("/")):
        sign = 1 if number == 0 else -1
        words = [word for word in re.split(r"[\s.·*]+(?!\*)", part.replace("**", "^")) if word]
        for word in words:
            match = _WORD.fullmatch(word)
            if match is None or match[1] not in _SIMPLE:
                return None
            size, own = _SIMPLE[match[1]]
            times = sign * int(match[2] or 1)
            factor *= size**times
            for name, power in own.items():
                powers[name] = powers.get(name, 0) + power * times
    return BaseUnit(factor, {name: powers[name] for name in BASE if powers.get(name)})


def definitions(units: Iterable[str]) -> list[tuple[str, dict[str, str] | None]]:
    """Return the units to define, in order, with the attributes of their base unit."""
    found: list[tuple[str, dict[str, str] | None]] = []
    for unit in dict.fromkeys(unit for unit in units if unit):
        base = base_unit(unit)
        attributes = None
        if base is not None:
            attributes = {name: str(power) for name, power in base.powers.items()}
            if not isclose(base.factor, 1.0, rel_tol=1e-15):
                attributes["factor"] = repr(base.factor)
        found.append((unit, attributes))
    return found
