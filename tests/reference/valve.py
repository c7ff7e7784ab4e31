"""A poppet valve between two stops, pushed by a pulsing pressure, with dry friction on its stem.

    m x'' = a + b sin(omega t) - k x - R sgn(x'),    0 <= x <= h,    x' -> -e x' at the stops

The stem slides under R and sticks up to a larger S. Each piece is a closed form, of one sense of
slip; roots are bracketed where the piece is monotone. Nothing of the library is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq

MASS, STIFFNESS, TOP = 1.5, 500.0, 0.01
PUSH, PULSE, OMEGA = 7.0, 30.0, 10.0 * np.pi
SLIDES, STICKS = 2.0, 3.0
START = 0.001
OMITTED = 1e-7
"""m/s: slower bounces are summed up."""
_AHEAD = 0.06 * np.append(np.logspace(-13.0, -2.0, 400), np.linspace(0.01, 1.0, 600)[1:])
_REST = np.linspace(0.0, 0.25, 2001)[1:]

State = Callable[[float], tuple[float, float]]


def load(t: float, x: float) -> float:
    """Return the force without friction, N."""
    return PUSH + PULSE * np.sin(OMEGA * t) - STIFFNESS * x


@dataclass
class Valve:
    """The motion: pieces (start, end, state), impacts with their speeds, and other instants."""

    pieces: list[tuple[float, float, State]] = field(default_factory=list)
    impacts: list[tuple[float, float]] = field(default_factory=list)
    switchings: list[float] = field(default_factory=list)

    def state(self, t: float) -> tuple[float, float]:
        """Return place and speed."""
        return next(piece for first, last, piece in self.pieces if first <= t <= last)(t)


def motion(restitution: float, until: float) -> Valve:
    """Return the motion from `START` at rest."""
    valve, t, x, v, free = Valve(), 0.0, START, 0.0, False
    while t < until:
        if v == 0.0 and not free:
            end = _leaves(t, x)
            valve.pieces.append((t, end, lambda _, x=x: (x, 0.0)))
            if end > t and end < until:
                valve.switchings.append(end)
            t, free = end, True
            continue
        sense = np.sign(v) if v else np.sign(load(t, x))
        state, end, struck = _slides(t, x, v, sense)
        valve.pieces.append((t, end, state))
        t, (x, v) = end, state(end)
        if t >= until:
            break
        if struck:
            x = TOP if sense > 0.0 else 0.0
            valve.impacts.append((t, abs(v)))
            v *= -restitution
            v = 0.0 if abs(v) < OMITTED else v
        else:
            v = 0.0
            valve.switchings.append(t)
        # At rest only the loads say whether it stays.
        free = False
    return valve


def _leaves(t: float, x: float) -> float:
    """Return when the loads move what rests: the stops push, and friction bears `STICKS`."""
    least = -np.inf if x <= 0.0 else -STICKS
    most = np.inf if x >= TOP else STICKS

    def spare(s: float) -> float:
        return min(load(s, x) - least, most - load(s, x))

    if spare(t) <= 0.0:
        return t
    before = t
    while True:
        for s in t + _REST:
            if spare(s) < 0.0:
                return brentq(spare, before, s, xtol=1e-16)
            before = s
        t = before


def _slides(t: float, x: float, v: float, sense: float) -> tuple[State, float, bool]:
    """Return the motion in one sense, when it ends, and whether at a stop."""
    own = np.sqrt(STIFFNESS / MASS)
    middle = (PUSH - SLIDES * sense) / STIFFNESS
    swing = PULSE / (STIFFNESS - MASS * OMEGA**2)
    c = x - middle - swing * np.sin(OMEGA * t)
    d = (v - swing * OMEGA * np.cos(OMEGA * t)) / own

    def place(s: float) -> float:
        forced = middle + swing * np.sin(OMEGA * s)
        return forced + c * np.cos(own * (s - t)) + d * np.sin(own * (s - t))

    def speed(s: float) -> float:
        forced = swing * OMEGA * np.cos(OMEGA * s)
        return forced - own * c * np.sin(own * (s - t)) + own * d * np.cos(own * (s - t))

    ahead = t + _AHEAD
    forward = sense * speed(ahead)
    begins = 0 if v else int(np.argmax(forward > 0.0))
    turns = begins + np.flatnonzero(forward[begins:] <= 0.0)
    end = ahead[-1]
    if turns.size:
        place_before = ahead[turns[0] - 1] if turns[0] else t
        end = brentq(speed, place_before, ahead[turns[0]], xtol=1e-16, rtol=1e-15)
    stop = TOP if sense > 0.0 else 0.0
    struck = sense * (place(end) - stop) > 0.0
    if struck:
        first = t if sense * (x - stop) < 0.0 else ahead[0]
        end = brentq(lambda s: sense * (place(s) - stop), first, end, xtol=1e-16, rtol=1e-15)
    return lambda s: (place(s), speed(s)), end, struck
