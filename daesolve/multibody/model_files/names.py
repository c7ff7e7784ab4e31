"""Words for the parts of a model file, which may have any name or none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

BODY = (
    "",
    "x",
    "y",
    "z",
    "q0",
    "q1",
    "q2",
    "q3",
    "x_dot",
    "y_dot",
    "z_dot",
    "w1",
    "w2",
    "w3",
    "norm",
)
"""What is made of the name of a body."""
JOINT = (
    *("", "1", "2", "3", "4", "5", "6", "angle", "rate", "displacement", "speed", "locked"),
    *("friction", "rub", "friction_work", *BODY[1:]),
)
"""What is made of the name of a joint."""
ACTUATOR = ("", "force", "work")
"""What is made of the name of an actuator."""
TAKEN = ("ground", "energy", "work", "t", "time", "jacobi_integral")
"""What other things are called."""


class UniqueWords:
    """Words that are assigned, each once, with all names that begin with them."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def word(self, name: str, otherwise: str, makes: Iterable[str] = ("",)) -> str:
        """Return a word for a name.

        Parameters
        ----------
        name
            Any text; what is not a letter, digit or underscore becomes an underscore.
        otherwise
            The word where there is nothing left of it; its last part is put behind one that is
            taken.
        makes
            The ends of the names that are made of it, "" for itself.
        """
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        found = re.sub(r"\W", "_", plain).strip("_")
        if not re.match("[A-Za-z]", found):
            found = f"{otherwise}_{found}" if found else otherwise
        kind = next((part for part in reversed(otherwise.split("_")) if part.isalpha()), "")
        tried, number = found, 1
        while not self._taken.isdisjoint(_made(tried, makes)):
            number += 1
            tried = f"{found}_{kind}" if number == 2 else f"{found}_{kind}{number - 1}"
        self._taken |= {*_made(tried, makes)}
        return tried


def _made(word: str, makes: Iterable[str]) -> list[str]:
    return [f"{word}_{end}" if end else word for end in makes]
