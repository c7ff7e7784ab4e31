"""What systems are made of: each part is a few fragments of a script.

A part names its symbols in the fragments themselves (``q.x1``, ``d.count2``), so a part without
which another makes no sense is known from the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_SYMBOL = re.compile(r"\b([quvd])\.(?:dot\.)?(\w+)|\b([a-z_]+\d+)\b")


@dataclass(frozen=True)
class Part:
    """Fragments of a script, by where they go.

    Parameters
    ----------
    kind
        What it is, for a reader.
    coordinates, velocities, discrete, inputs
        Names with units, or with first values.
    rates
        Of coordinates, where quasi-velocities are not their rates.
    lines
        Statements that define what the other fragments use.
    kinetic, potential
        Terms of the energies.
    force
        Terms by coordinate or velocity.
    goals, events, pairs, laws
        Expressions; `laws` are names of laws of friction, whose goals and events are added.
    drives
        What inputs are in the run.
    initial, guess
        Values of states at the start, fixed or not.
    frees
        States whose values at the start become guesses, since the part decides them.
    options
        Arguments of `solve` that the part needs.
    forward
        Whether runs with it can only go forwards in time.
    """

    kind: str
    coordinates: Mapping[str, str] = field(default_factory=dict)
    velocities: Mapping[str, str] = field(default_factory=dict)
    rates: Mapping[str, str] = field(default_factory=dict)
    discrete: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    kinetic: Sequence[str] = ()
    potential: Sequence[str] = ()
    force: Sequence[tuple[str, str]] = ()
    goals: Sequence[str] = ()
    events: Sequence[str] = ()
    pairs: Sequence[str] = ()
    laws: Sequence[str] = ()
    drives: Mapping[str, str] = field(default_factory=dict)
    initial: Mapping[str, float] = field(default_factory=dict)
    guess: Mapping[str, float] = field(default_factory=dict)
    frees: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    forward: bool = False

    @property
    def defines(self) -> set[str]:
        """Names that others may use."""
        given = [self.coordinates, self.velocities, self.discrete, self.inputs]
        named = {line.split(" = ", 1)[0] for line in self.lines if " = " in line}
        return {name for names in given for name in names} | named

    @property
    def uses(self) -> set[str]:
        """Names that it or other parts must define."""
        found = [*self.lines, *self.kinetic, *self.potential, *self.goals, *self.events]
        found += [*self.pairs, *self.laws, *self.rates.values(), *self.drives.values()]
        found += [text for pair in self.force for text in (f"q.{pair[0]}", pair[1])]
        names = {part for text in found for match in _SYMBOL.findall(text) for part in match[1:]}
        given = (*self.initial, *self.guess, *self.frees)
        states = {name.removesuffix("_dot") for name in given}
        return (names - {""}) | states


@dataclass(frozen=True, eq=False)
class Draw:
    """Random choices of one composition, and what it has so far.

    Parameters
    ----------
    rng
        Decides everything.
    begin, length
        The start time and how long the motion is, s.
    parts
        So far.
    """

    rng: np.random.Generator
    begin: float
    length: float
    parts: list[Part] = field(default_factory=list)

    def number(self, low: float, high: float) -> float:
        """Draw a number of three digits, so that scripts are short."""
        return float(f"{self.rng.uniform(low, high):.3g}")

    def choice(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        """Draw one of a list."""
        if weights is None:
            return options[int(self.rng.integers(len(options)))]
        shares = np.cumsum(weights) / np.sum(weights)
        return options[int(np.searchsorted(shares, self.rng.random(), side="right"))]

    def chance(self, probability: float) -> bool:
        """Draw whether something is so."""
        return bool(self.rng.random() < probability)

    def name(self, stem: str) -> str:
        """Return a name that no other part has."""
        return f"{stem}{len(self.parts) + 1}"

    def coordinates(self, *units: str) -> list[str]:
        """Return the coordinates so far, those with some units only."""
        named = [item for part in self.parts for item in part.coordinates.items()]
        return [name for name, unit in named if not units or unit in units]

    def points(self) -> list[tuple[str, str]]:
        """Return the coordinates (x, y) of what moves in a plane."""
        names = self.coordinates("m")
        return [(x, y) for x in names for y in names if y == x.replace("x", "y") != x]

    def value(self, state: str) -> float:
        """Return the value of a state at the start, about."""
        given = [part.initial.get(state, part.guess.get(state)) for part in self.parts]
        return next((value for value in given if value is not None), 0.0)

    def time(self) -> str:
        """Return the time since the start as an expression."""
        return "ds.time" if self.begin == 0.0 else f"(ds.time - {self.begin!r})"
