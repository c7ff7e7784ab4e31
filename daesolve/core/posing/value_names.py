"""The names of the values that the library adds to p for each goal or pair of supports."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class ValueKind(Enum):
    """The purpose of a value; its name is this word, an underscore, and the name of its owner."""

    RATE = "rate"
    """The rate of a goal's feedback, 1/s."""
    REFERENCE = "reference"
    """The value at which an invariant is held, or from which a goal is measured."""
    FLOOR = "floor"
    """A term that bounds the correction of an invariant where its gradient vanishes."""
    REGULARISATION = "regularisation"
    """The shift of a goal among dependent ones."""
    TYPICAL = "typical"
    """The typical influence of a goal that is singular at rest."""
    KEPT = "kept"
    """Whether a goal among dependent ones is kept, 1.0 or 0.0."""
    VARIANT = "variant"
    """The loaded side of a pair of supports, 1.0 or -1.0."""

    def name_of(self, owner: str) -> str:
        """Return the name of the value that belongs to a goal or a pair."""
        return f"{self.value}_{owner}"

    def is_a(self, name: str) -> bool:
        """Return whether a name denotes a value of this kind."""
        return name.startswith(f"{self.value}_")

    def owner_of(self, name: str) -> str:
        """Return the goal or pair that owns a value of this kind."""
        return name.removeprefix(f"{self.value}_")

    def place(self, owner: str, names: Iterable[str]) -> int:
        """Return the index, among the names of p, of the value that belongs to a goal or pair."""
        return list(names).index(self.name_of(owner))


PENDING, ENDS = "accumulating", "accumulated_at"
"""Whether an end of omitted impacts is expected, and when, s."""
INSTANTS = {"ended_{}": "sense_{}", "begun_{}": "heads_{}", "{}_first": "{}_sample"}
"""The names of discrete values that are times, by their owner, and what else such an owner has:
where a slip ended, where a contact in space began to slide, the first sample of a sampled law."""


def instants(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the discrete values of the library that are times, s.

    They refer to the clock of a run, and move with it.
    """
    known = {*names}
    found = [ENDS] if {ENDS, PENDING} <= known else []
    for pattern, other in INSTANTS.items():
        before, after = pattern.split("{}")
        for name in sorted(known):
            if name.startswith(before) and name.endswith(after):
                owner = name[len(before) : len(name) - len(after)]
                found += [name] if other.format(owner) in known else []
    return tuple(found)
