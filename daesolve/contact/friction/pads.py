"""Pads: round supports with a pressure distribution, which slide and turn at once.

The friction of a pad is the derivative of its mean speed, the dissipation potential. With the slip
V of its centre, its radius r, the rate of turn ω and x = |V|/(r |ω|), for unit normal reaction and
unit coefficient, the force is -a V and the moment about the normal is -b ω, where
a = f'(x)/|V| and b = r f''(x)/|ω|.

For a pressure with n about 1 Nikolskii and Smirnov replace the double integrals by exponentials,

    f' = f (1 - exp(-rho/K)),    r f'' = f K_1 exp(-rho/K_2),

where rho = |V|/|omega| is the distance of the velocity centre from the pad's centre, and K, K_1 and
K_2 are lengths. They give no values. Those of `simplified_lengths` minimise the largest error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.contact.friction.pad_friction import (
    checked_exponent,
    complete_integrals,
    friction_table,
    pressure,
    reduced_friction,
)
from daesolve.errors import OutOfRangeError, PosingError, is_number

__all__ = ["Pad", "PadNodes", "pad_nodes", "reduced_friction"]

TINY = 1e-300
"""The square of a speed that counts as zero, m^2/s^2."""
RATIOS = np.geomspace(1e-3, 1e3, 601)
"""The values of rho / r at which an approximation is compared."""
_ROUNDING = 1e-8
"""The accuracy to which |V| and r |ω| are distinguished; friction is off by this to the power n
+ 2."""


@dataclass(frozen=True)
class SpeedComparison:
    """A comparison, without a branch, of the speeds of the centre and the rim.

    Parameters
    ----------
    larger
        The larger of |V| and r |ω| (m/s).
    parameter
        (smaller/larger)², from 0 to 1.
    complement
        1 - parameter.
    lean
        The complement with the sign of |V| - r |ω|.
    """

    larger: ca.SX
    parameter: ca.SX
    complement: ca.SX
    lean: ca.SX


def compare(speed_squared: ca.SX, rim_squared: ca.SX) -> SpeedComparison:
    """Compare the speed of the centre with that of the rim, each given squared (m²/s²)."""
    total = speed_squared + rim_squared
    centre, rim = speed_squared / total, rim_squared / total
    difference = centre - rim
    distance = ca.sqrt(difference**2 + _ROUNDING**2)
    greater = (1.0 + distance) / 2.0
    return SpeedComparison(
        larger=ca.sqrt(total * greater),
        parameter=centre * rim / greater**2,
        complement=distance / greater,
        lean=difference / greater,
    )


def _uniform(speeds: SpeedComparison) -> tuple[ca.SX, ca.SX]:
    """Return f'/min(x, 1) and f'' max(x, 1) for uniform pressure.

    With B, C and D of the modulus min(x, 1/x), m its square, f'/min(x, 1) is
    4/(3π) (2 B + (1 - m) D) and f'' max(x, 1) is 4/(9π) times
    (3 - m) B + (3 - 2 m)(1 - m) D for x < 1 and 3 B + C - D for x > 1. The latter two differ by
    (1 - m) (C - B - D - 2 (1 - m) D), so that no sign needs to be taken.
    """
    parameter, complement = speeds.parameter, speeds.complement
    integrals = complete_integrals(parameter, complement)
    cosine, sine, product = integrals.cosine, integrals.sine, integrals.product
    slide = 2.0 * cosine + complement * sine
    both = (6.0 - parameter) * cosine + (3.0 - 2.0 * parameter) * complement * sine + product - sine
    apart = product - cosine - sine - 2.0 * complement * sine
    return (4.0 / (3.0 * math.pi) * slide, 2.0 / (9.0 * math.pi) * (both + speeds.lean * apart))


def _tabulated(speeds: SpeedComparison, exponent: float) -> tuple[ca.SX, ca.SX]:
    """Return f'/min(x, 1) and f'' max(x, 1) for another pressure."""
    slow_slide, fast_slide, slow_turn, fast_turn = friction_table(exponent).series(
        speeds.complement
    )
    side = speeds.lean / speeds.complement
    return (
        ((1.0 - side) * slow_slide + (1.0 + side) * fast_slide) / 2.0,
        ((1.0 - side) * slow_turn + (1.0 + side) * fast_turn) / 2.0,
    )


def _check_radius(radius: float) -> None:
    if not isinstance(radius, Real):
        raise PosingError(f"the radius of a pad must be a number or an expression, not {radius!r}")
    if not (math.isfinite(radius) and radius > 0.0):
        raise OutOfRangeError(
            f"the radius of a pad is {radius}, but must be positive; for a point support, "
            "leave out the pad"
        )


@dataclass(frozen=True, eq=False)
class Pad:
    """A round pad under the pressure cosⁿ(π ρ/(2 r)) at the distance ρ from its centre.

    Parameters
    ----------
    radius
        r (m), a number or a parameter of the system.
    exponent
        n, a number from -0.95 to 100: 0 is uniform pressure, with exact friction; other pressures
        are tabulated to 2e-12.

    Raises
    ------
    OutOfRangeError
        The radius is not positive, or the exponent is out of range.
    PosingError
        The radius is neither a number nor one expression, or the exponent is not a number.
    """

    radius: float | ca.SX
    exponent: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", checked_exponent(self.exponent))
        if not isinstance(self.radius, ca.SX):
            _check_radius(self.radius)
        elif self.radius.numel() != 1:
            raise PosingError(
                f"the radius of a pad must be one expression, not {self.radius.shape}"
            )

    def traction(self, speed_squared: ca.SX, spin: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the resistance to slip and turning, for unit reaction and coefficient.

        Parameters
        ----------
        speed_squared
            The square of the slip of the centre (m²/s²).
        spin
            The rate of turn about the normal (rad/s); not zero together with the slip.

        Returns
        -------
        a, b
            The force is -a V (a in s/m), the moment about the normal -b ω (b in m s).
        """
        speeds = compare(speed_squared, (self.radius * spin) ** 2)
        uniform = self.exponent == 0.0
        slide, turn = _uniform(speeds) if uniform else _tabulated(speeds, self.exponent)
        return slide / speeds.larger, self.radius**2 * turn / speeds.larger

    def mean_speed(self, speed_squared: ca.SX, spin: ca.SX) -> ca.SX:
        """Return the sliding speed averaged with the pressure (m/s), the potential."""
        force, moment = self.traction(speed_squared, spin)
        return force * speed_squared + moment * spin**2


@dataclass(frozen=True, eq=False)
class PadNodes:
    """A pad as point supports at nodes, for comparison.

    The nodes turn with the slip. Every node also represents its mirror images in the line of the
    slip and in the line across, so friction is parallel to the slip. Friction is singular where a
    node does not slide.

    Parameters
    ----------
    points
        (k, 2), from the centre (m): along the slip and across.
    weights
        (k,), the share of the normal reaction on each node; they add up to 1.
    """

    points: np.ndarray
    weights: np.ndarray

    def __post_init__(self) -> None:
        points, weights = np.array(self.points, dtype=float), np.array(self.weights, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2 or weights.shape != points.shape[:1]:
            raise PosingError(
                f"nodes of a pad must be points (k, 2) with weights (k,), not {points.shape} "
                f"with {weights.shape}"
            )
        if not (np.isfinite(points).all() and (weights > 0.0).all()):
            raise OutOfRangeError(
                "nodes of a pad must have finite coordinates and positive weights"
            )
        if abs(weights.sum() - 1.0) > 1e-12:
            raise OutOfRangeError(f"the weights of a pad's nodes add up to {weights.sum()}, not 1")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "weights", weights)

    def _speeds(
        self, speed_squared: ca.SX, spin: ca.SX
    ) -> list[tuple[float, float, float, ca.SX, ca.SX]]:
        """Return for each node: weight, squared distance, squared distance across; product and sum.

        The product and the sum combine the speeds of the node and of its image across.
        """
        found: list[tuple[float, float, float, ca.SX, ca.SX]] = []
        nodes: list[list[float]] = np.column_stack([self.points, self.weights]).tolist()
        for along, across, weight in nodes:
            distance = along**2 + across**2
            turning = spin**2 * distance
            product = ca.sqrt(
                (speed_squared - turning) ** 2 + 4.0 * speed_squared * (spin * along) ** 2
            )
            total = ca.sqrt(2.0 * (speed_squared + turning + product))
            found.append((weight, distance, across**2, product, total))
        return found

    def traction(self, speed_squared: ca.SX, spin: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the resistance to slip and turning; see `Pad.traction`."""
        force, moment = ca.SX(0.0), ca.SX(0.0)
        for weight, distance, across, product, total in self._speeds(speed_squared, spin):
            share = weight / total
            slide = speed_squared + spin**2 * (distance - 2.0 * across)
            turn = distance * (speed_squared + spin**2 * distance) - 2.0 * speed_squared * across
            force += share * (1.0 + slide / product)
            moment += share * (distance + turn / product)
        return force, moment

    def mean_speed(self, speed_squared: ca.SX, spin: ca.SX) -> ca.SX:
        """Return the mean speed of the nodes (m/s)."""
        speeds = self._speeds(speed_squared, spin)
        return ca.SX(sum(weight * total / 2.0 for weight, _, _, _, total in speeds))


def pad_nodes(radius: float, exponent: float = 0.0, rings: int = 8, spokes: int = 16) -> PadNodes:
    """Return nodes on rings that represent a pad.

    Parameters
    ----------
    radius, exponent
        As in `Pad`.
    rings, spokes
        The number of rings, at the radii of Gauss-Legendre quadrature, and of nodes on each.

    Raises
    ------
    OutOfRangeError
        The number of rings or spokes is less than one, or a number of the pad is out of range.
    """
    _check_radius(radius)
    if min(rings, spokes) < 1:
        raise OutOfRangeError(
            f"{rings} rings with {spokes} nodes each are not a pad: give at least one of each"
        )
    nodes, weights = np.polynomial.legendre.leggauss(rings)
    radii, density = pressure((1.0 + nodes) / 2.0, checked_exponent(exponent))
    shares = weights * density * radii
    angles = 2.0 * math.pi * (np.arange(spokes) + 0.5) / spokes
    points = radius * np.stack(
        [np.outer(radii, np.cos(angles)).ravel(), np.outer(radii, np.sin(angles)).ravel()], axis=1
    )
    return PadNodes(points, np.repeat(shares / (spokes * shares.sum()), spokes))


@dataclass(frozen=True)
class SimplifiedLengths:
    """The lengths of the exponentials, in radii of the pad, and their errors.

    Parameters
    ----------
    slide, turn, decay
        K / r, K_1 / r and K_2 / r.
    slide_error, turn_error
        The largest errors of f' and of f'', in units of f.
    """

    slide: float
    turn: float
    decay: float
    slide_error: float
    turn_error: float


@cache
def simplified_lengths(exponent: float = 1.0) -> SimplifiedLengths:
    """Return the lengths for which the simplified coefficients are closest to the exact ones.

    Parameters
    ----------
    exponent
        n of the pressure, as in `Pad`.

    Raises
    ------
    OutOfRangeError
        The exponent is out of its range.
    """
    slides, turns = reduced_friction(RATIOS, exponent=checked_exponent(exponent))

    def slide_error(length: float) -> float:
        return float(np.max(np.abs(1.0 - np.exp(-RATIOS / length) - slides)))

    def turn_error(lengths: np.ndarray) -> float:
        turn, decay = np.abs(lengths)
        return float(np.max(np.abs(turn * np.exp(-RATIOS / decay) - turns)))

    slide: Any = scipy.optimize.minimize_scalar(
        slide_error, bounds=(0.05, 3.0), method="bounded", options={"xatol": 1e-9}
    )
    turn: Any = scipy.optimize.minimize(
        turn_error, [0.7, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    first, second = (abs(float(value)) for value in turn.x)
    return SimplifiedLengths(float(slide.x), first, second, float(slide.fun), float(turn.fun))


@dataclass(frozen=True)
class SimplifiedPad:
    """A round pad with the simplified coefficients, for comparison with a `Pad`.

    Friction is inaccurate if the pad only turns, or slides far from its velocity centre;
    `simplified_lengths` gives the error. Force and moment do not derive from one potential.

    Parameters
    ----------
    slide, turn, decay
        K, K_1 and K_2, m.

    Raises
    ------
    OutOfRangeError
        A length is not positive.
    """

    slide: float
    turn: float
    decay: float

    def __post_init__(self) -> None:
        for name in ("slide", "turn", "decay"):
            value = getattr(self, name)
            if not is_number(value) or not 0.0 < value < np.inf:
                raise OutOfRangeError(
                    f"the length {name} of a simplified pad is {value!r}, but must be positive"
                )

    @staticmethod
    def nearest(radius: float, exponent: float = 1.0) -> SimplifiedPad:
        """Return the simplified pad closest to a `Pad`.

        Parameters
        ----------
        radius, exponent
            The radius in m, and n, of that pad.
        """
        found = simplified_lengths(float(exponent))
        return SimplifiedPad(found.slide * radius, found.turn * radius, found.decay * radius)

    def traction(self, speed_squared: ca.SX, spin: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return a and b of the friction -a V and its moment -b spin, as `Pad.traction`."""
        speed, rate = ca.sqrt(speed_squared + TINY), ca.sqrt(spin**2 + TINY)
        ratio = speed / rate
        slide = 1.0 - ca.exp(-ratio / self.slide)
        turn = self.turn * ca.exp(-ratio / self.decay)
        return slide / speed, turn / rate
