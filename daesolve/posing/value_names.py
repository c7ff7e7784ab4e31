"""The names of the values that the library adds to p for each goal or pair of supports."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class ValueKind(Enum):
    """What a value is for; its name is this word, an underscore, and what it belongs to."""

    RATE = "rate"
    """The rate of a goal's feedback, 1/s."""
    REFERENCE = "reference"
    """The value that an invariant is held at, or from which a goal is measured."""
    FLOOR = "floor"
    """What keeps an invariant's correction bounded where its gradient vanishes."""
    REGULARISATION = "regularisation"
    """The shift of a goal among dependent ones."""
    TYPICAL = "typical"
    """The typical influence of a goal that is singular at rest."""
    KEPT = "kept"
    """Whether a goal among dependent ones is kept, 1.0 or 0.0."""
    VARIANT = "variant"
    """The side of a pair of supports that is loaded, 1.0 or -1.0."""

    def name_of(self, owner: str) -> str:
        """Return the name of the value that belongs to a goal or a pair."""
        return f"{self.value}_{owner}"

    def is_a(self, name: str) -> bool:
        """Return whether the name of a value is of this kind."""
        return name.startswith(f"{self.value}_")

    def owner_of(self, name: str) -> str:
        """Return the goal or the pair to which a value of this kind belongs."""
        return name.removeprefix(f"{self.value}_")

    def place(self, owner: str, names: Iterable[str]) -> int:
        """Return the place of the value that belongs to a goal or a pair, among the names of p."""
        return list(names).index(self.name_of(owner))
