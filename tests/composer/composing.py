"""Compositions: a frozen list of parts with the settings of a run, drawn from a seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .bodies import BODIES
from .constraints import CONSTRAINTS, CONTACTS
from .forces import FORCES
from .happenings import HAPPENINGS
from .parts import Draw, Part

MOST_COORDINATES = 6
COUNTS = (
    (BODIES, [1, 2, 3], [5, 3, 1]),
    (FORCES, [0, 1, 2, 3], [2, 4, 2, 1]),
    (CONSTRAINTS, [0, 1, 2], [6, 3, 1]),
    (CONTACTS, [0, 1, 2], [6, 3, 1]),
    (HAPPENINGS, [0, 1, 2, 3], [3, 3, 2, 1]),
)
"""How many parts of each kind, and how often."""
EXACT = {
    "None": 6.0,
    "ds.Dop853()": 1.5,
    "ds.Cvodes()": 0.5,
    "ds.RadauIIA()": 1.0,
    "ds.Lsoda()": 1.0,
}
"""Solvers, and how often."""
FORMULATIONS = {
    "None": 8.0,
    '"null-space"': 0.7,
    '"projected"': 0.7,
    '"index-1"': 0.3,
    '"index-2"': 0.3,
}
WAYS = {
    "solve": 6.0,
    "verified": 2.0,
    "other": 2.0,
    "sampled": 1.0,
    "continued": 1.0,
    "stored": 0.7,
    "stepped": 1.0,
    "lanes": 0.4,
    "swept": 0.4,
    "orbit": 0.7,
    "unit": 0.1,
}
"""Ways to run, and how often."""
MUST_RUN = re.compile(
    "|".join(
        [
            "slider|particle|point in space|slider with an inertia that grows|rolling disc",
            "pendulum|pendulum in Cartesian coordinates|cart with a pendulum",
            "sleigh|skate in quasi-velocities|rigid body in (body rates|Euler parameters)",
            "spring|(linear|quadratic|saturated|one-sided|smooth friction) damper|push, .*",
            "counter|mark|stop",
        ]
    )
)
"""Kinds of parts of which every composition has a motion, so that no run of it may be refused."""


@dataclass(frozen=True)
class Composition:
    """A posed system with the settings of its run.

    Parameters
    ----------
    parts
        What it is made of.
    begin, length
        When it starts, and how long it goes, s.
    options
        Arguments of `solve` as expressions.
    way, other
        How it is run, a key of `writing.WAYS`, and other options for a comparison.
    """

    parts: tuple[Part, ...]
    begin: float = 0.0
    length: float = 1.0
    options: Mapping[str, str] = field(default_factory=dict)
    way: str = "solve"
    other: str = "{}"

    @property
    def must_run(self) -> bool:
        """Whether it has a motion to its end, or to a stop; backwards, modes may forbid it."""
        # Lanes take no resets, which forces that jump need.
        runs = self.length > 0.0 and self.way != "lanes"
        return runs and all(MUST_RUN.fullmatch(part.kind) for part in self.parts)

    def without(self, place: int) -> Composition:
        """Leave a part out, and with it all parts that use what it defines."""
        every = {name for part in self.parts for name in part.defines}
        kept = [part for k, part in enumerate(self.parts) if k != place]
        while True:
            defined = {name for part in kept for name in part.defines}
            sound = [part for part in kept if part.uses & every <= defined]
            if len(sound) == len(kept):
                return replace(self, parts=tuple(sound))
            kept = sound


def compose(seed: int, index: int) -> Composition:
    """Compose the system with a number."""
    rng = np.random.default_rng([seed, index])
    draw = Draw(rng, float(rng.choice([0.0, 0.0, 0.0, -8.0, 1e6])), 0.0)
    draw = replace(draw, length=draw.number(0.5, 2.5))
    for kinds, counts, often in COUNTS:
        for _ in range(draw.choice(counts, often)):
            _add(draw, kinds)
    resetting = any(part.forward for part in draw.parts)
    length = -draw.length if draw.chance(0.15) and not resetting else draw.length
    options = {"solver": _one(draw, EXACT), "formulation": _one(draw, FORMULATIONS)}
    way, other = _one(draw, WAYS), f'{{"solver": {draw.choice([*EXACT][1:])}}}'
    if "index" in options["formulation"]:
        options["solver"], other = "None", "dict(formulation=None)"
    if way == "lanes":
        options["solver"] = "None"
        way = "solve" if resetting else way
    if way == "stepped" and length < 0.0:
        way = "solve"  # a simulator goes forwards
    options = {name: text for name, text in options.items() if text != "None"}
    return Composition(tuple(draw.parts), draw.begin, length, options, way, other)


def _one(draw: Draw, often: Mapping[str, float]) -> str:
    return draw.choice([*often], [*often.values()])


def _add(draw: Draw, kinds: Mapping[Callable[[Draw], Part | None], float]) -> None:
    """Add a part of one of some kinds, if it fits."""
    part = draw.choice([*kinds], [*kinds.values()])(draw)
    if part is None or len(draw.coordinates()) + len(part.coordinates) > MOST_COORDINATES:
        return
    guided = any(other.pairs for other in draw.parts)
    if not (guided and any("ds.Contact" in line for line in part.lines)):
        draw.parts.append(part)
