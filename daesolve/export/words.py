"""Distinct names that another language accepts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable


def plain(name: str) -> str:
    """Return a name in letters, digits and underscores of ASCII: the Greek phi is `phi`.

    Primes become `_rate`, as in `speed'`.
    """
    letters: list[str] = []
    for letter in unicodedata.normalize("NFKC", name.replace("'", "_rate")):
        if letter.isascii():
            letters.append(letter if letter.isalnum() else "_")
            continue
        spelt = unicodedata.name(letter, f"u{ord(letter):x}").split(" WITH ")[0]
        letters.append(spelt.rsplit(" ", 1)[-1].lower())
    word = re.sub(r"[^A-Za-z0-9_]", "_", "".join(letters)) or "_"
    return f"_{word}" if word[0].isdigit() else word


def distinct(names: Iterable[str], reserved: Collection[str] = ()) -> list[str]:
    """Return plain names, distinct from each other and from reserved names.

    A name that is already used gets an underscore.
    """
    taken = set(reserved)
    found: list[str] = []
    for name in names:
        word = plain(name)
        while word in taken:
            word += "_"
        taken.add(word)
        found.append(word)
    return found
