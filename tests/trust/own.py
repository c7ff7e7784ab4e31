"""Motions by an integration of their own, to hold those of the library against."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp


class Floats:
    """The functions of `math`, which go to infinity where those overflow."""

    sqrt, log, sin, cos, tanh, atan, erf, fabs = (
        math.sqrt, math.log, math.sin, math.cos, math.tanh, math.atan, math.erf, math.fabs
    )  # fmt: skip

    @staticmethod
    def exp(x: float) -> float:
        return math.exp(x) if x < 709.0 else math.inf

    @staticmethod
    def cosh(x: float) -> float:
        return math.cosh(x) if abs(x) < 350.0 else math.inf  # and its square is none


Rate = Callable[[float, np.ndarray], Sequence[float]]
Guard = Callable[[float, np.ndarray], float]


def motion(
    rate: Rate,
    start: Sequence[float],
    until: float | Sequence[float | tuple[float, float]],
    longest: float = math.inf,
    begin: float = 0.0,
    method: str = "DOP853",
) -> np.ndarray:
    """Integrate from piece to piece with steps so short that nothing is missed.

    Parameters
    ----------
    rate
        x' = rate(t, x).
    start
        x at the beginning.
    until
        The end, or the ends of pieces between which the rate is smooth; where a piece has a longest
        step of its own, (end, longest).
    longest
        The longest step, s.
    begin
        The beginning, s.
    method
        Of SciPy.
    """
    x = np.array(start, dtype=float)
    for piece in [until] if isinstance(until, float | int) else until:
        end, most = piece if isinstance(piece, tuple) else (piece, longest)
        if end > begin:
            done = solve_ivp(rate, (begin, end), x, method, rtol=1e-12, atol=1e-14, max_step=most)
            assert done.success, done.message
            x, begin = done.y[:, -1], end
    return x


def follow(
    rate: Callable[[float, np.ndarray, tuple[bool, ...]], Sequence[float] | np.ndarray],
    guards: Callable[[float, np.ndarray], np.ndarray],
    start: Sequence[float] | np.ndarray,
    pieces: Sequence[tuple[float, float]],
    count: int,
    nudge: float = 1e-9,
) -> np.ndarray:
    """Integrate with discrete values, whether each guard is positive, constant between switches.

    Guards are to be crossed at a speed. Their signs at the start, and after each switch, are those
    `nudge` seconds later.

    Parameters
    ----------
    rate
        x' = rate(t, x, modes).
    guards
        (t, x) -> (count,)
    start
        x at t = 0.
    pieces
        The end of each piece, and the longest step in it, s.
    count
        The number of guards.
    """
    time, x = 0.0, np.array(start, dtype=float)

    def signs(held: tuple[bool, ...]) -> tuple[bool, ...]:
        later = x + nudge * np.array(rate(time, x, held))
        return tuple(bool(value > 0.0) for value in guards(time + nudge, later))

    modes = signs(tuple(bool(value > 0.0) for value in guards(time, x))) if count else ()
    for end, longest in pieces:
        for _ in range(10_000):
            if time >= end:
                break
            done = solve_ivp(
                partial(_held, rate, modes),
                (time, end),
                x,
                "DOP853",
                rtol=1e-12,
                atol=1e-14,
                max_step=longest,
                events=[_passing(guards, k, modes[k]) for k in range(count)],
            )
            assert done.success, done.message
            time, x = float(done.t[-1]), done.y[:, -1]
            if done.status:
                struck = [k for k, found in enumerate(done.t_events) if found.size]
                modes = tuple(not mode if k in struck else mode for k, mode in enumerate(modes))
                # Of guards that pass at one time SciPy may show one alone.
                modes = signs(modes)
        else:
            raise AssertionError("too many switches")
    return x


def _held(rate: Any, modes: tuple[bool, ...], t: float, x: np.ndarray) -> Any:
    return rate(t, x, modes)


def _passing(guards: Any, k: int, above: bool) -> Any:
    """Return an event of SciPy, where a guard comes to the other side."""

    def event(t: float, x: np.ndarray) -> float:
        return float(guards(t, x)[k])

    event.terminal = True  # type: ignore[attr-defined]
    event.direction = -1.0 if above else 1.0  # type: ignore[attr-defined]
    return event


def switched(
    rate: Callable[[float, np.ndarray, tuple[bool, ...]], Sequence[float]],
    guards: Sequence[Guard],
    start: Sequence[float],
    until: float,
    longest: float = math.inf,
) -> np.ndarray:
    """Integrate as `follow` does, with a function for each guard."""

    def column(t: float, x: np.ndarray) -> np.ndarray:
        return np.array([guard(t, x) for guard in guards])

    return follow(rate, column, start, [(until, longest)], len(guards))


def integral(function: Callable[[float], float], low: float, high: float, *places: float) -> float:
    """Integrate a function that is smooth but near some places, or between them."""
    # About each place cells that shrink towards it: whatever is narrow there is met.
    cuts = {low, high}
    for place in places:
        for power in range(-16, 20):
            cuts |= {place - 0.5 * 1.6**-power, place + 0.5 * 1.6**-power, place}
    ordered = sorted(cut for cut in cuts if low <= cut <= high)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    total: list[float] = []
    for left, right in pairwise(ordered):
        half = (right - left) / 2
        total += [
            float(w) * half * function(left + half * (1 + float(n)))
            for n, w in zip(nodes, weights, strict=True)
        ]
    return math.fsum(total)
