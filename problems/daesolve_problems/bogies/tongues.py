"""Where the circle map of the two bogies is locked: the ends of its tongues, to rounding.

theta' = C - psi'(theta, delta) with delta = D t has one angle, and its return F after 2 pi / |D|
grows with C = C_1. So for every start theta there is one C(theta) with F^q = theta + p pi, and the
tongue p/q is the range of C(theta) on the circle. At its ends dC / dtheta = (1 - dF^q/dtheta) /
(dF^q/dC) is zero: the stable and the unstable motion merge in a saddle-node,

    F^q = theta + p pi,   dF^q / dtheta = 1,

which Newton's method solves for theta and C, with the derivatives of the motion by both.

Where a motion meets a degenerate point, dF / dtheta is not continuous. A tongue may end there
instead, in a corner of C(theta): its locked motion runs from degenerate point to degenerate point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.bogies.reduction import central_square

ROUGH, FINE = 1e-6, 1e-13
"""Tolerances of steps: on the whole circle, and at the ends."""
NARROW = 1e-7
"""The distance from a degenerate point in delta, rad, below which nothing is resolved."""
ANGLES, BESIDE, CLOSER = 40, 9, 5
"""The number of starts around the circle, and beside the best of them, and how often these."""
ROUNDS, CLOSE = 25, 1e-6
"""The number of Newton's steps on the whole circle, and the last, rad/s."""
SOLVED = 1e-12
"""Newton's last step in C_1, rad/s."""
MOST = 20
"""The number of Newton's steps after which it has failed."""
NEAR_ENDS: dict[tuple[int, int], tuple[tuple[float, float], tuple[float, float]]] = {
    (3, 1): ((0.0991, 2.8986), (1.6723, 3.2516)),
    (4, 1): ((1.0204, 3.9080), (2.4274, 4.1244)),
    (5, 1): ((1.1222, 5.0128), (1.8557, 5.0477)),
    (5, 2): ((3.03705, 2.46970), (0.82399, 2.54599)),
    (7, 2): ((3.04096, 3.49035), (0.74200, 3.55957)),
    (8, 3): ((1.4944008, 2.6462163), (2.6568970, 2.6767641)),
    (10, 3): ((2.3097131, 3.3803656), (1.7776713, 3.3869842)),
}
"""theta_1 and C_1 near the ends of tongues of the case `regular` at D = -2 rad/s, by `tongue`."""


@dataclass(frozen=True)
class ReducedMotion:
    """theta_1' = C_1 - psi' at theta_2 = theta_1 + D t.

    Parameters
    ----------
    front, rear, centre, square
        b_1, b_2, a and rho_c^2.
    speed
        sigma V, m/s.
    """

    front: float
    rear: float
    centre: float
    square: float
    speed: float

    @staticmethod
    def of(case: BoundCase) -> ReducedMotion:
        """Take the parameters and the level of a case."""
        p, given = case.full_parameters, case.full_start
        speed = given["sign"] * given["level"]
        return ReducedMotion(p["front"], p["rear"], p["centre"], central_square(p), speed)

    def turning(self, theta: Any, delta: Any) -> tuple[Any, Any, Any]:
        """Return psi' and its first two derivatives by theta; both angles may be arrays."""
        turn, base, both = np.sin(delta), self.front + self.rear, 2.0 * theta + delta
        s_1, c_1, s_2, c_2 = (f(a) for a in (theta, theta + delta) for f in (np.sin, np.cos))
        sine, cosine = base * np.sin(both), base * np.cos(both)
        along = self.rear * s_1 * c_2 + self.front * c_1 * s_2
        across = self.centre * turn - base * c_1 * c_2
        # |N|^2 and its derivatives: along' = cosine, across' = sine.
        length = along**2 + across**2 + self.square * turn**2 + 1e-300
        first = 2.0 * (along * cosine + across * sine)
        second = 2.0 * (base**2 - 2.0 * along * sine + 2.0 * across * cosine)
        rate = self.speed * turn / np.sqrt(length)
        bend = 0.75 * (first / length) ** 2 - 0.5 * second / length
        return rate, -0.5 * rate * first / length, rate * bend

    def carried(
        self,
        theta: np.ndarray,
        first: np.ndarray,
        difference: float,
        periods: int,
        tolerance: float = FINE,
    ) -> np.ndarray:
        """Return theta after some periods, and its derivatives by the start and by C_1.

        Parameters
        ----------
        theta, first
            (n,) starts, and C_1, rad/s.
        difference
            D, rad/s.
        periods
            How many.
        tolerance
            Of the steps of DOP853.

        Returns
        -------
        numpy.ndarray
            (5, n): theta, its derivatives by the start, by C_1, twice by the start, by both.
        """
        count, sense = len(theta), math.copysign(1.0, difference)
        y = np.zeros((5, count))
        y[0], y[1] = theta, 1.0

        def rates(
            u: float, flat: np.ndarray, place: float, side: float, first: np.ndarray = first
        ) -> np.ndarray:
            at, by_start, by_first, twice, both = flat.reshape(5, count)
            delta = place + side * NARROW * math.sinh(u)
            turn, slope, bend = self.turning(at, sense * delta)
            return (side * NARROW * math.cosh(u) / abs(difference)) * np.concatenate(
                [
                    first - turn,
                    -slope * by_start,
                    1.0 - slope * by_first,
                    -bend * by_start**2 - slope * twice,
                    -bend * by_start * by_first - slope * both,
                ]
            )

        # Degenerate points lie at multiples of pi alone, and what happens beside them takes as long
        # as they are far: evenly long in u, with |delta - k pi| = NARROW sinh u.
        far = math.asinh(math.pi / 2.0 / NARROW)
        for half in range(4 * periods):
            place = math.pi * ((half + 1) // 2)
            ends, side = ((0.0, far), 1.0) if half % 2 == 0 else ((far, 0.0), -1.0)
            found = scipy.integrate.solve_ivp(
                rates, ends, y.ravel(), "DOP853", rtol=tolerance, atol=tolerance, args=(place, side)
            )
            y = found.y[:, -1].reshape(5, count)
        return y


@dataclass(frozen=True)
class Tongue:
    """The range of C_1 in which motions are locked at p/q, D being given.

    Parameters
    ----------
    ratio
        p and q: theta_1 grows by p pi in q periods.
    difference
        D, rad/s.
    low, high
        C_1 at its ends, rad/s.
    starts
        theta_1 of the motions that are locked at the ends.
    missed
        The largest residual of both conditions at both ends.
    """

    ratio: tuple[int, int]
    difference: float
    low: float
    high: float
    starts: tuple[float, float]
    missed: float

    @property
    def width(self) -> float:
        """Of the range, rad/s."""
        return self.high - self.low


def tongue(motion: ReducedMotion, ratio: tuple[int, int], difference: float) -> Tongue:
    """Return a tongue.

    Raises
    ------
    OutOfRangeError
        An end is a corner: its locked motion meets a degenerate point.
    """
    # Each end is met by q starts of one motion, so the starts need not be closer for larger q.
    starts = (np.arange(ANGLES) + 0.5) / ANGLES * math.pi
    locked = _locking(motion, starts, ratio, difference)
    ends: list[tuple[float, float, float]] = []
    for sense in (-1.0, 1.0):
        best, width = int(np.argmax(sense * locked)), math.pi / ANGLES
        place = float(starts[best]), float(locked[best])
        for _ in range(CLOSER):
            beside = place[0] + width * np.linspace(-1.0, 1.0, BESIDE)
            there = _locking(motion, beside, ratio, difference)
            best, width = int(np.argmax(sense * there)), 2.0 * width / (BESIDE - 1)
            place = float(beside[best]), float(there[best])
            found = _saddle_node(motion, ratio, difference, place)
            # Newton's method may find a lesser extremum: the start must be closer.
            if found is not None and sense * (found[1] - place[1]) > -10.0 * CLOSE:
                ends.append(found)
                break
        else:
            raise _not_found(ratio, difference)
    return _between(ends, ratio, difference)


def tongue_near(
    motion: ReducedMotion,
    ratio: tuple[int, int],
    difference: float,
    near: Sequence[tuple[float, float]],
) -> Tongue:
    """Return a tongue from a start and C_1 near each of its ends.

    Raises
    ------
    OutOfRangeError
        Newton's method does not end.
    """
    ends = [_saddle_node(motion, ratio, difference, place) for place in near]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        raise _not_found(ratio, difference)
    return _between(known, ratio, difference)


def _between(
    ends: Sequence[tuple[float, float, float]], ratio: tuple[int, int], difference: float
) -> Tongue:
    (one, low, off), (other, high, also) = sorted(ends, key=lambda end: end[1])
    return Tongue(ratio, difference, low, high, (one, other), max(off, also))


def _not_found(ratio: tuple[int, int], difference: float) -> OutOfRangeError:
    return OutOfRangeError(
        f"no saddle-nodes were found at both ends of the tongue {ratio[0]}/{ratio[1]} at C2 - C1 = "
        f"{difference:g}: an end is a corner if its locked motion meets a degenerate point"
    )


def follow_tongue(motion: ReducedMotion, known: Tongue, difference: float) -> Tongue:
    """Return a tongue from that at a D nearby, from which C_1 grows as without psi'."""
    p, q = known.ratio
    shift = p * (abs(difference) - abs(known.difference)) / (2.0 * q)
    ends = zip(known.starts, (known.low + shift, known.high + shift), strict=True)
    return tongue_near(motion, known.ratio, difference, list(ends))


def _locking(
    motion: ReducedMotion, starts: np.ndarray, ratio: tuple[int, int], difference: float
) -> np.ndarray:
    """Return C(theta) to `CLOSE`, by Newton's method between bounds that contain it."""
    p, q = ratio
    # Without psi' the angle grows by C_1 T, and |psi'| is at most V / rho_c.
    even, most = p * abs(difference) / (2.0 * q), abs(motion.speed) / math.sqrt(motion.square)
    low, high = np.full(len(starts), even - most), np.full(len(starts), even + most)
    first, last = np.full(len(starts), even), np.full(len(starts), np.inf)
    for _ in range(ROUNDS):
        end, _, by_first, *_ = motion.carried(starts, first, difference, q, ROUGH)
        miss = end - starts - p * math.pi
        low, high = np.where(miss < 0.0, first, low), np.where(miss < 0.0, high, first)
        following = first - miss / by_first
        # Close to a degenerate point the angle has no slope: Newton's steps run to and fro.
        newton = (following > low) & (following < high) & (np.abs(miss) < last / 2.0)
        following = np.where(newton, following, (low + high) / 2.0)
        last, change, first = np.abs(miss), np.abs(following - first), following
        if np.all(np.minimum(change, high - low) < CLOSE):
            break
    return first


def _saddle_node(
    motion: ReducedMotion, ratio: tuple[int, int], difference: float, near: tuple[float, float]
) -> tuple[float, float, float] | None:
    """Return start and C_1 where two locked motions merge, and what is left of the conditions.

    None if Newton's method does not end.
    """
    p, q = ratio
    at = np.array(near)
    for _ in range(MOST):
        found = motion.carried(at[:1], at[1:], difference, q)[:, 0]
        end, slope, by_first, bend, both = found
        miss = np.array([end - at[0] - p * math.pi, slope - 1.0])
        step = np.linalg.solve([[slope - 1.0, by_first], [bend, both]], miss)
        if not np.all(np.abs(step) < [0.3, 0.5]):
            return None
        at = at - step
        # C_1 is off by the square of what the start is off.
        if abs(step[1]) < SOLVED and abs(step[0]) < math.sqrt(SOLVED):
            return float(at[0] % math.pi), float(at[1]), float(np.max(np.abs(miss)))
    return None
