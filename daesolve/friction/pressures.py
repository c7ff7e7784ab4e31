"""Friction of a round pad under any pressure cosⁿ(π ρ/(2 r)), by quadrature over its rings.

V. V. Nikolskii and Yu. P. Smirnov, On forms of the equations of dynamics of a system with dry
friction, give the reduced coefficients as double integrals. Over a ring of the pad they are
complete elliptic integrals, so that one integral is left.
"""

from __future__ import annotations

import math
from functools import cache
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ellipkm1, elliprd

from daesolve.errors import OutOfRangeError, PosingError

LEAST_EXPONENT, GREATEST_EXPONENT = -0.95, 100.0
"""Between them quadrature and tables are right to what is promised."""

_LEAST, _GREATEST = 1e-150, 1e150
"""Ratios beyond which nothing changes any more, and whose squares are still numbers."""


def checked_exponent(exponent: float) -> float:
    """Return the exponent of a pressure as a float.

    Raises
    ------
    PosingError
        It is no number.
    OutOfRangeError
        It is not from -0.95 to 100: at -1 the whole pressure lies on the edge, and far
        above 100 it lies in the centre.
    """
    if not isinstance(exponent, Real):
        raise PosingError(
            f"the exponent of a pad's pressure must be a number, not {exponent!r}: the table is "
            "made for it"
        )
    if not LEAST_EXPONENT <= exponent <= GREATEST_EXPONENT:
        raise OutOfRangeError(
            f"the exponent of a pad's pressure is {exponent}; it goes from {LEAST_EXPONENT:g}, "
            f"pressure at the edge, to {GREATEST_EXPONENT:g}, pressure in the centre"
        )
    return float(exponent)


def pressure(place: np.ndarray, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """Return radii and the pressure over them, in a variable that takes in an infinite edge.

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
    """Return nodes and weights of Takahasi and Mori's rule on (0, 1); it bears singular ends."""
    step = 1.0 / 24.0
    times = step * np.arange(-96, 97)
    growth = math.pi * np.sinh(times)
    nodes = 1.0 / (1.0 + np.exp(-growth))
    return nodes, step * math.pi * np.cosh(times) * nodes / (1.0 + np.exp(growth))


def _ring_integrals(modulus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the complete elliptic integrals B and E of a modulus."""
    complement = np.maximum((1.0 - modulus) * (1.0 + modulus), _LEAST)
    sine = elliprd(0.0, complement, 1.0) / 3.0
    cosine = ellipkm1(complement) - sine
    return cosine, cosine + complement * sine


def scaled_friction(ratio: np.ndarray, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """Return f'/min(x, 1) and f'' max(x, 1), which are finite and not zero for x from 0 to ∞.

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
    """Return the reduced coefficients of friction of a pad, for a coefficient 1.

    Parameters
    ----------
    ratio
        x = |V|/(r |ω|), from 0 to infinity, of any shape.
    exponent
        n of the pressure cosⁿ(π ρ/(2 r)), from -0.95 to 100.

    Returns
    -------
    sliding, turning
        f' and f'', of the shape of x: for a normal reaction N the force is f' N, the moment
        r f'' N.

    Raises
    ------
    OutOfRangeError
        A ratio is negative or no number, or the exponent is out of its range.
    """
    x = np.asarray(ratio, dtype=float)
    if not (x >= 0.0).all():
        raise OutOfRangeError(
            "a ratio of slip to turning is negative or no number; it goes from 0 to infinity"
        )
    slide, turn = scaled_friction(x.ravel(), checked_exponent(exponent))
    return slide.reshape(x.shape) * np.minimum(x, 1.0), turn.reshape(x.shape) / np.maximum(x, 1.0)
