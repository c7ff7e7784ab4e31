"""Words for what a model file calls by any name, or by none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


class Words:
    """Words that are given out, each once.

    What is made of a word (`arm_x`, `arm_1`) must be free as well, so that a word is taken where it
    neither is one nor begins one with an underscore after it, nor the other way round.
    """

    def __init__(self) -> None:
        self._taken: list[str] = []

    def word(self, name: str, otherwise: str) -> str:
        """Return a word for a name.

        Parameters
        ----------
        name
            Any text; what is no letter, digit or underscore becomes an underscore.
        otherwise
            The word where there is nothing left of it, or another has it.
        """
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        found = re.sub(r"\W", "_", plain).strip("_")
        if not re.match("[A-Za-z]", found):
            found = f"{otherwise}_{found}" if found else otherwise
        tried, number = found, 2
        while self._used(tried):
            tried = f"{found}_{number}" if number > 2 else f"{found}_{otherwise.split('_')[0]}"
            number += 1
        self._taken.append(tried)
        return tried

    def _used(self, word: str) -> bool:
        return word in self._taken

    @property
    def taken(self) -> Sequence[str]:
        """Those that were given out."""
        return tuple(self._taken)
