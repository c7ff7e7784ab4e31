"""Friction of a round pad under a pressure cosⁿ(π ρ/(2 r)): numerically and as SX expressions.

The numerical values come from quadrature over the rings of the pad. V. V. Nikolskii and Yu. P.
Smirnov, On forms of the equations of dynamics of a system with dry friction, give the reduced
coefficients as double integrals. Over a ring they are complete elliptic integrals, so only one
integral remains.

The expressions use a table of Chebyshev series or, for uniform pressure, complete elliptic
integrals by arithmetic-geometric means. No operation branches, so every integration engine accepts
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from numbers import Real

import casadi as ca
import numpy as np
import scipy
from numpy.typing import ArrayLike

from daesolve.errors import OutOfRangeError, PosingError

LEAST_EXPONENT, GREATEST_EXPONENT = -0.95, 100.0
"""The range of exponents in which quadrature and tables reach the promised accuracy."""

_LEAST, _GREATEST = 1e-150, 1e150
"""Ratios beyond which nothing changes, and whose squares are still finite."""


def checked_exponent(exponent: float) -> float:
    """Return the exponent of a pressure as a float.

    Raises
    ------
    PosingError
        It is not a number.
    OutOfRangeError
        It is not from -0.95 to 100: at -1 all pressure lies on the edge, and far above 100 in the
        centre.
    """
    if not isinstance(exponent, Real):
        raise PosingError(
            f"the exponent of a pad's pressure must be a number, not {exponent!r}, because a "
            "table is computed for it"
        )
    if not LEAST_EXPONENT <= exponent <= GREATEST_EXPONENT:
        raise OutOfRangeError(
            f"the exponent of a pad's pressure is {exponent}, but must lie between "
            f"{LEAST_EXPONENT:g}, pressure at the edge, and {GREATEST_EXPONENT:g}, pressure in "
            "the centre"
        )
    return float(exponent)


def pressure(place: np.ndarray, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """Return radii and the pressure there, in a variable that handles an infinite edge.

    Parameters
    ----------
    place
        v, from 0 at the edge to 1 at the centre: ρ = 1 - v^p, p = 1/(1 + min(n, 0)).
    exponent
        n of the pressure cosⁿ(π ρ/2) on the unit disc.

    Returns
    -------
    radii, density
        ρ and, up to a constant factor, cosⁿ(π ρ/2) |dρ/dv|, which is finite.
    """
    inward = place ** (1.0 / (1.0 + min(exponent, 0.0)))
    return 1.0 - inward, np.sinc(inward / 2.0) ** exponent * place ** max(exponent, 0.0)


@cache
def _double_exponential() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of Takahasi and Mori's rule on (0, 1), for singular ends."""
    step = 1.0 / 24.0
    times = step * np.arange(-96, 97)
    growth = math.pi * np.sinh(times)
    nodes = 1.0 / (1.0 + np.exp(-growth))
    return nodes, step * math.pi * np.cosh(times) * nodes / (1.0 + np.exp(growth))


def _ring_integrals(modulus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the complete elliptic integrals B and E of a modulus."""
    complement = np.maximum((1.0 - modulus) * (1.0 + modulus), _LEAST)
    sine = scipy.special.elliprd(0.0, complement, 1.0) / 3.0
    cosine = scipy.special.ellipkm1(complement) - sine
    return cosine, cosine + complement * sine


def scaled_friction(ratio: np.ndarray, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """Return f'/min(x, 1) and f'' max(x, 1), which are finite and nonzero for x from 0 to ∞.

    A ring of radius ρ has f' = (2/π) k B(k) and f'' = (2/π) ρ E(k) with k = x/ρ where x < ρ, and
    f' = (2/π) E(k) and f'' = (2/π) ρ k B(k) with k = ρ/x where x > ρ. The rings are summed under
    the pressure on each side of ρ = x, where they have a logarithm.

    Parameters
    ----------
    ratio
        (k,), x = |V|/(r |ω|), from 0 to infinity.
    exponent
        n of the pressure cosⁿ(π ρ/2) on the unit disc.

    Returns
    -------
    slide, turn
        (k,) each.
    """
    nodes, weights = _double_exponential()
    x = np.clip(ratio, _LEAST, _GREATEST)[:, np.newaxis]
    split = np.maximum(1.0 - x, 0.0) ** (1.0 + min(exponent, 0.0))

    radii, density = pressure(split * nodes, exponent)
    cosine, whole = _ring_integrals(x / np.maximum(x, radii))
    share = split * weights * density
    slide, turn = (share * cosine).sum(axis=1), (share * radii**2 * whole).sum(axis=1)

    radii, density = pressure(split + (1.0 - split) * nodes, exponent)
    modulus = radii / np.maximum(x, radii)
    cosine, whole = _ring_integrals(modulus)
    share = (1.0 - split) * weights * density * radii
    slide += (share * whole / np.minimum(x, 1.0)).sum(axis=1)
    turn += (share * radii * modulus * cosine * np.maximum(x, 1.0)).sum(axis=1)

    radii, density = pressure(nodes, exponent)
    scale = 2.0 / (math.pi * (weights * density * radii).sum())
    return scale * slide, scale * turn


def reduced_friction(ratio: ArrayLike, exponent: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the reduced friction coefficients of a pad, for a friction coefficient of 1.

    Parameters
    ----------
    ratio
        x = |V|/(r |ω|), from 0 to infinity, of any shape.
    exponent
        n of the pressure cosⁿ(π ρ/(2 r)), from -0.95 to 100.

    Returns
    -------
    sliding, turning
        f' and f'', with the shape of x: for a normal reaction N the force is f' N, the moment r f''
        N.

    Raises
    ------
    OutOfRangeError
        A ratio is negative or not a number, or the exponent is out of range.
    """
    x = np.asarray(ratio, dtype=float)
    if not (x >= 0.0).all():
        raise OutOfRangeError("a ratio of slip to turning must lie between 0 and infinity")
    slide, turn = scaled_friction(x.ravel(), checked_exponent(exponent))
    return slide.reshape(x.shape) * np.minimum(x, 1.0), turn.reshape(x.shape) / np.maximum(x, 1.0)


_NODES = 96
"""The number of coefficients, enough for every exponent to leave a tail of small ones."""

_TAIL = 2e-14
"""Coefficients below this fraction of the largest are left out."""


@dataclass(frozen=True, eq=False)
class FrictionTable:
    """Chebyshev series of f'/min(x, 1) and f'' max(x, 1) on each side of x = 1.

    Both are functions of 1 - k², where k is the smaller of x and 1/x. The root smooths their power
    or logarithm at k = 1: the variable is z = 2 (1 - k²)^(1/root) - 1.

    Parameters
    ----------
    root
        2 or 4; see `friction_table`.
    coefficients
        (4, k): f' for x < 1 and for x > 1, f'' for x < 1 and for x > 1.
    """

    root: int
    coefficients: np.ndarray

    def series(self, complement: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Return the four sums, given 1 - k²."""
        place = ca.sqrt(complement)
        if self.root == 4:
            place = ca.sqrt(place)
        twice = 4.0 * place - 2.0
        before, polynomial = ca.SX(1.0), twice / 2.0
        slow_slide, fast_slide, slow_turn, fast_turn = map(ca.SX, self.coefficients[:, 0])
        for column in self.coefficients[:, 1:].T:
            slow_slide += column[0] * polynomial
            fast_slide += column[1] * polynomial
            slow_turn += column[2] * polynomial
            fast_turn += column[3] * polynomial
            before, polynomial = polynomial, twice * polynomial - before
        return slow_slide, fast_slide, slow_turn, fast_turn


@lru_cache(maxsize=64)
def friction_table(exponent: float) -> FrictionTable:
    """Build the table of a pressure, once for each exponent.

    At the edge the pressure varies like the distance to the power n, and friction has the power n +
    2. The square root turns this into a whole power if n is half an odd number, and into a high one
    if n is large.
    """
    root = 2 if exponent >= 1.0 or (2.0 * exponent) % 2.0 == 1.0 else 4
    return FrictionTable(root, _chebyshev_coefficients(exponent, root))


def _chebyshev_coefficients(exponent: float, root: int) -> np.ndarray:
    """Return (4, k) coefficients of the polynomials through Chebyshev nodes, without the tail."""
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    place = (1.0 + np.cos(angles)) / 2.0
    modulus = np.sqrt(1.0 - place**root)
    slow_slide, slow_turn = scaled_friction(modulus, exponent)
    fast_slide, fast_turn = scaled_friction(1.0 / modulus, exponent)
    values = np.stack([slow_slide, fast_slide, slow_turn, fast_turn])
    coefficients = 2.0 / _NODES * values @ np.cos(np.outer(angles, np.arange(_NODES)))
    coefficients[:, 0] /= 2.0
    sizes = np.abs(coefficients).max(axis=0)
    return coefficients[:, : np.flatnonzero(sizes > _TAIL * sizes.max())[-1] + 1]


STEPS = 7
"""The number of means that leave a relative error below 1e-16 for complements from 1e-8 on."""


@dataclass(frozen=True)
class CompleteIntegrals:
    """Complete elliptic integrals of one modulus k, with Δ² = 1 - k² sin²θ, θ from 0 to π/2.

    Parameters
    ----------
    first
        K, the integral of 1/Δ.
    cosine
        B, the integral of cos²θ/Δ.
    sine
        D, the integral of sin²θ/Δ.
    product
        C = (D - B)/k², the integral of sin²θ cos²θ/Δ³.
    """

    first: ca.SX
    cosine: ca.SX
    sine: ca.SX
    product: ca.SX


def complete_integrals(parameter: ca.SX, complement: ca.SX) -> CompleteIntegrals:
    """Return the complete elliptic integrals of a modulus, without cancellation.

    With a_n the arithmetic means, c_n = (a_(n-1) - g_(n-1))/2 and S = Σ 2ⁿ c_n²/k⁴ over n ≥ 1:
    K = π/(2 a), C = K S, B and D = K (1 ∓ k² S)/2. The terms of S follow from
    c_(n+1) = c_n²/(4 a_(n+1)), so none of them is divided by a small k.

    Parameters
    ----------
    parameter
        k², from 0 to 1.
    complement
        1 - k², given separately so that it is not lost near k = 1; at least 1e-8.

    Notes
    -----
    Abramowitz and Stegun, Handbook of Mathematical Functions, 17.6; the integrals B, C and D are
    those of Bulirsch, Numerical calculation of elliptic integrals and elliptic functions (1965).
    """
    root = ca.sqrt(complement)
    mean, root = (1.0 + root) / 2.0, ca.sqrt(root)
    share = 1.0 / (16.0 * mean * mean)
    series = 2.0 * share
    for step in range(2, STEPS):
        mean, root = (mean + root) / 2.0, ca.sqrt(mean * root)
        share = (parameter * share / (4.0 * mean)) ** 2
        series += 2.0**step * share
    first = math.pi / (mean + root)
    excess = parameter * series
    return CompleteIntegrals(
        first, first * (1.0 - excess) / 2.0, first * (1.0 + excess) / 2.0, first * series
    )
