"""Compositions: a frozen list of parts with the settings of a run, drawn from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .bodies import BODIES
from .happenings import HAPPENINGS
from .parts import Draw, Part

MOST_COORDINATES = 6


@dataclass(frozen=True)
class Composition:
    """A posed system with the settings of its run.

    Parameters
    ----------
    parts
        What it is made of.
    begin, until
        s.
    options
        Arguments of `solve` as expressions.
    way
        How it is run, a key of `writing.WAYS`.
    """

    parts: tuple[Part, ...]
    begin: float = 0.0
    until: float = 1.0
    options: Mapping[str, str] = field(default_factory=dict)
    way: str = "solve"

    def without(self, place: int) -> Composition:
        """Leave a part out, and with it all parts that use what it defines."""
        parts = [part for k, part in enumerate(self.parts) if k != place]
        while True:
            defined = {name for part in parts for name in part.defines}
            every = {name for part in self.parts for name in part.defines}
            kept = [part for part in parts if (part.uses & every) <= defined]
            if len(kept) == len(parts):
                return replace(self, parts=tuple(kept))
            parts = kept


def compose(seed: int, index: int) -> Composition:
    """Compose the system with a number."""
    rng = np.random.default_rng([seed, index])
    begin = float(rng.choice([0.0, 0.0, 0.0, -8.0, 1e6]))
    draw = Draw(rng, begin)
    bodies = draw.choice([1, 2, 3], [5, 3, 1])
    while len(draw.parts) < bodies:
        _add(draw, BODIES)
        if len(draw.coordinates()) > MOST_COORDINATES:
            draw.parts.pop()
            break
    for _ in range(draw.choice([0, 1, 2, 3], [2, 3, 2, 1])):
        _add(draw, HAPPENINGS)
    length = draw.number(0.5, 2.5)
    if draw.chance(0.1) and not any(part.forward for part in draw.parts):
        length = -length
    return Composition(tuple(draw.parts), begin, begin + length)


def _add(draw: Draw, kinds: Mapping[object, float]) -> None:
    kind = draw.choice([*kinds], [*kinds.values()])
    part = kind(draw)
    if part is not None:
        draw.parts.append(part)
