"""The motion near a degenerate point, to leading order.

With theta_k - theta_k* = e_k, s = b_1 e_1 + b_2 e_2, delta = e_2 - e_1 = D tau, B = b_1 + b_2,
kappa^2 = a^2 + rho_c^2, P = b_1 C_1 + b_2 C_2, D = C_2 - C_1 and S = sin theta_1 sin theta_2 at the
point, +1 or -1:

    psi' = sigma S V delta / sqrt(s^2 + kappa^2 delta^2),   s' = P - B psi',
    x = s / tau,  tau x' = F(x),  F(x) = P - x - k B V D / sqrt(x^2 + kappa^2 D^2),
    k = sigma S sgn(tau).

Before the point (tau < 0) a root of F with F' > 0 attracts: motions run into the point, along
x = root, with psi' = (P - x) / B. There is one where |D| < D_c = 2 B V / (3 sqrt(3) kappa^2) and
-k sgn(D) P lies in a window; else motions pass the point by, from one root with F' < 0 to another.

These are leading terms; they agree with numerical results, but are not proved to be complete.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import scipy

from daesolve.errors import OutOfRangeError
from daesolve_problems.bogies.reduction import central_square

NEAR = 0.1
"""The distance |cos theta_k| up to which the leading terms are looked at."""


@dataclass(frozen=True)
class Root:
    """A root of F: a direction x in which motions meet the point, or leave it.

    Parameters
    ----------
    x
        m/s.
    slope
        F' there.
    turning
        The limit of psi', rad/s.
    """

    x: float
    slope: float
    turning: float


@dataclass(frozen=True)
class LocalTheory:
    """The numbers of the leading terms.

    Parameters
    ----------
    level, sign
        V in m/s, and sigma.
    wheelbase
        B, m.
    square
        kappa^2, m^2.
    drift
        P, m/s.
    difference
        D, rad/s, not zero.
    """

    level: float
    sign: float
    wheelbase: float
    square: float
    drift: float
    difference: float

    @staticmethod
    def of(given: Mapping[str, float], parameters: Mapping[str, float]) -> LocalTheory:
        """Take a start's level, sign and integrals.

        Raises
        ------
        OutOfRangeError
            Both integrals are equal, so that the angle between the bogies does not change.
        """
        first, second = given["integral_1"], given["integral_2"]
        if first == second:
            raise OutOfRangeError(
                f"integral_1 and integral_2 are both {first!r}, so the angle between the "
                "bogies does not change, and no motion passes a degenerate point; choose "
                "different values"
            )
        front, rear = parameters["front"], parameters["rear"]
        return LocalTheory(
            level=given["level"],
            sign=given["sign"],
            wheelbase=front + rear,
            square=parameters["centre"] ** 2 + central_square(parameters),
            drift=front * first + rear * second,
            difference=second - first,
        )

    @property
    def critical_difference(self) -> float:
        """D_c: where |D| is at least that, no motion runs into a degenerate point."""
        return 2 * self.wheelbase * self.level / (3 * math.sqrt(3) * self.square)

    @property
    def window(self) -> tuple[float, float] | None:
        """Between which values of |P| motions do run into one; None if |D| forbids it."""
        turns = self._turns(1.0)
        if turns is None:
            return None
        low, high = sorted(abs(x + self._pull(x, 1.0)) for x in turns)
        return low, high

    @property
    def collapsing(self) -> bool:
        """Whether an open set of motions runs into one of the degenerate points."""
        return self.window is not None and self.window[0] < abs(self.drift) < self.window[1]

    def value(self, x: float, side: float) -> float:
        """Return F(x) for k = `side`."""
        return self.drift - x - self._pull(x, side)

    def slope(self, x: float, side: float) -> float:
        """Return F'(x) for k = `side`."""
        return -1.0 + self._pull(x, side) * x / (x**2 + self.square * self.difference**2)

    def roots(self, side: float) -> list[Root]:
        """Return the roots of F for k = `side`, one or three, in rising order.

        F falls from +infinity to -infinity but for a stretch between two turns, where it rises.
        """
        reach = abs(self.drift) + self.wheelbase * self.level / math.sqrt(self.square) + 1.0
        ends = [-reach, *sorted(self._turns(side) or ()), reach]
        found: list[Root] = []
        for low, high in pairwise(ends):
            if self.value(low, side) * self.value(high, side) < 0.0:
                root: Any = scipy.optimize.brentq(self.value, low, high, args=(side,), xtol=1e-15)
                x = float(root)
                found.append(Root(x, self.slope(x, side), (self.drift - x) / self.wheelbase))
        return found

    def _pull(self, x: float, side: float) -> float:
        """Return B psi' at x: k B V D / sqrt(x^2 + kappa^2 D^2)."""
        size = math.sqrt(x**2 + self.square * self.difference**2)
        return side * self.wheelbase * self.level * self.difference / size

    def _turns(self, side: float) -> tuple[float, float] | None:
        """Return where F' = 0; None if F only falls."""
        across = math.sqrt(self.square) * abs(self.difference)
        # F' = 0 lies where k D x > 0; F' is largest at `steepest`, and below zero beyond `reach`
        towards = math.copysign(1.0, side * self.difference)
        steepest = across / math.sqrt(2)
        reach = math.sqrt(self.wheelbase * self.level * abs(self.difference))
        if self.slope(towards * steepest, side) <= 0.0:
            return None
        sizes: list[Any] = [
            scipy.optimize.brentq(lambda x: self.slope(towards * x, side), *ends)
            for ends in ((0.0, steepest), (steepest, reach))
        ]
        return towards * float(sizes[0]), towards * float(sizes[1])
