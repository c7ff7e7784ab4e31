"""Contacts of capsules and spheres with each other.

A capsule is all that is nearer to a segment than its radius, so its distance from another is that
of the segments, less the radii. The nearest places c + s e and d + t f on two segments, |s| <= h
and |t| <= k, are the minimum of |w + s e - t f|^2 with w = c - d. Which end is nearest, if any, is
a discrete value; while none is, s = (e.f (f.w) - e.w) / |e x f|^2. To a given place on the other
segment

    s = t e.f - e.w,    t = s e.f + f.w

are nearest, and an end stays nearest as long as this lies beyond it. Where a place passes an end,
the distance and its gradient are continuous.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import casadi as ca
import numpy as np

from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.symbols import Parameters
from daesolve.errors import PosingError
from daesolve.multibody.bodies import at_start
from daesolve.multibody.collision.nearest import carried
from daesolve.multibody.contact_geometry import RoundOnRound
from daesolve.multibody.contribution import SIGNED, discrete_values
from daesolve.multibody.places import Frame
from daesolve.multibody.round_contact import RoundContact

ROUNDING = 1e-12
"""How far beyond its end a place on a segment may be, over half its length."""
PARALLEL = 1e-20
"""The squared sine of two axes below which all their nearest places count as equally near."""


@dataclass(frozen=True, eq=False)
class CapsuleContact(RoundContact):
    """Two capsules that touch, or a capsule and a sphere, in space.

    Its goal, its outputs and its reaction are those of a `RoundContact`.

    Parameters
    ----------
    name, radii, friction, unilateral, restitution, closed, static_friction,
    tangential_restitution, compliance
        As in `RoundContact`.
    first, second
        Frames at the centres, the third axis along the capsule.
    half_lengths
        Of the segments, m: numbers, 0 for a sphere.

    Notes
    -----
    The discrete values `<name>_end_1` and `<name>_end_2` say which end of a capsule is nearest: 1.0
    for the one along its axis, -1.0 for the other, 0.0 for none. The event `<name>_end` changes
    them. If the axes are parallel, and no end is nearest, one of the nearest places counts.
    """

    half_lengths: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for place in (self.first, self.second):
            if not isinstance(place, Frame):
                raise PosingError(f"the contact {self.name!r} needs frames in space, not {place!r}")

    @cached_property
    def ends(self) -> Parameters:
        """Which end of each capsule is nearest."""
        named = enumerate(self.half_lengths, 1)
        return discrete_values({f"{self.name}_end_{k}": (0.0, SIGNED) for k, h in named if h > 0.0})

    @cached_property
    def values(self) -> Parameters:
        """Which end of the axis z is turned onto the normal, and which ends are nearest."""
        return super().values.joined(self.ends)

    @cached_property
    def _places(self) -> tuple[tuple[ca.SX, ca.SX], tuple[ca.SX, ca.SX]]:
        """Return the nearest places on both segments, and where they are for that on the other."""
        first, second = self.first, self.second
        assert isinstance(first, Frame)
        assert isinstance(second, Frame)
        h, k = self.half_lengths
        e, f, apart = first.axis(2), second.axis(2), first.position - second.position
        along, across = -ca.dot(e, apart), ca.dot(f, apart)
        if k == 0.0:
            end = self._end(1)
            return (end * h + (1 - end**2) * along, ca.SX(0)), (along, ca.SX(0))
        if h == 0.0:
            end = self._end(2)
            return (ca.SX(0), end * k + (1 - end**2) * across), (ca.SX(0), across)
        one, two, cosine = self._end(1), self._end(2), ca.dot(e, f)
        free = -ca.dot(e - cosine * f, apart) / (ca.sumsqr(ca.cross(e, f)) + PARALLEL)
        beside = two**2 * (cosine * two * k + along) + (1 - two**2) * free
        s = one * h + (1 - one**2) * beside
        t = two * k + (1 - two**2) * (cosine * s + across)
        return (s, t), (cosine * t + along, cosine * s + across)

    def _end(self, number: int) -> ca.SX:
        return self.values[f"{self.name}_end_{number}"]

    @cached_property
    def touch(self) -> RoundOnRound:
        """Its geometry."""
        s, t = self._places[0]
        first, second = self.first, self.second
        assert isinstance(first, Frame)
        assert isinstance(second, Frame)
        near = carried(first, ca.vertcat(0, 0, s)), carried(second, ca.vertcat(0, 0, t))
        radii = ca.SX(self.radii[0]), ca.SX(self.radii[1])
        return RoundOnRound(*near, radii, False, self._side, self.compliance is not None)

    def gap_at_start(self, bodies: Iterable[object]) -> float:
        """Return the distance where the bodies start, whichever end is nearest there, m.

        It is the least of those whose places lie on the segments: the nearest places are among
        them, and no others are nearer.

        Parameters
        ----------
        bodies
            Those that move.
        """
        there = at_start(ca.vertcat(self.touch.gap, *self._places[0]), bodies)
        distance = ca.Function("distance", [self.ends.vector], [there])
        found: list[float] = []
        for ends in product((0.0, 1.0, -1.0), repeat=len(self.ends)):
            gap, *places = np.asarray(distance(ca.DM(ends))).ravel().tolist()
            pairs = zip(places, self.half_lengths, strict=True)
            if all(abs(place) <= half * (1.0 + ROUNDING) for place, half in pairs):
                found.append(gap)
        return min(found)

    @cached_property
    def _gap_rate(self) -> ca.SX:
        first, second = self.touch.first, self.touch.second
        return ca.dot(self.touch.normal, first.velocity - second.velocity)

    def _events(self, discrete: Parameters) -> tuple[Event, ...]:
        return (self._passes(), *super()._events(discrete))

    def _passes(self) -> Event:
        """Return the event at which the nearest place passes an end."""
        own: list[tuple[str, ca.SX, ca.SX]] = []
        guards: list[ca.SX] = []
        for number, (half, place, beside) in enumerate(
            zip(self.half_lengths, *self._places, strict=True), 1
        ):
            name = f"{self.name}_end_{number}"
            if name in self.ends:
                end = self._end(number)
                within = (half**2 - place**2) / half
                guards.append((1 - end**2) * within + end**2 * (end * beside - half))
                own.append((name, end, place))

        def changes(fired: ca.SX) -> dict[str, ca.SX]:
            return {
                name: end + fired[k] * (ca.if_else(place > 0, 1.0, -1.0) * (1 - end**2) - end)
                for k, (name, end, place) in enumerate(own)
            }

        reset = Reset(changes, whenever_past=True)
        return Event(f"{self.name}_end", guards, FALLING, reset, listed=False)
