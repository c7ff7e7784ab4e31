"""The reduced coefficients of a pad as the double integrals that the paper prints.

V. V. Nikolskii and Yu. P. Smirnov, On forms of the equations of dynamics of a system with dry
friction. With the distance ρ of the instantaneous centre, all lengths by the radius of the pad,
h = ∫ cosⁿ(π r/2) r dr over 0 ≤ r ≤ 1, u = ρ - r sin θ, w = r cos θ and s = √(u² + w²):

    f'  = 1/(2π h) ∫∫ cosⁿ(π r/2) u/s r dr dθ,
    f'' = 1/(2π h) ∫∫ cosⁿ(π r/2) (w² - u r sin θ)/s r dr dθ

over the disc (the limits of the second one are misprinted). Neither elliptic integrals nor rules
of the library are used: panels are halved towards r = ρ, r = 1 and θ = π/2, and each has ten nodes
of Gauss and Legendre.
"""

from __future__ import annotations

from dataclasses import dataclass

import mpmath as mp
import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def _halved(length: float, panels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances from the end of an interval towards which its panels are halved."""
    ends = length * np.append(0.5 ** np.arange(panels), 0.0)
    middles, halves = (ends[:-1] + ends[1:]) / 2, (ends[:-1] - ends[1:]) / 2
    nodes = middles[:, np.newaxis] + np.outer(halves, _NODES)
    return nodes.ravel(), np.outer(halves, _WEIGHTS).ravel()


def _depths(ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Return distances 1 - r from the edge with their weights, split at r = ρ."""
    outer = max(1.0 - ratio, 0.0)
    edge, edge_weights = _halved(outer / 2 if outer else 1.0, 90)
    if not outer:
        return edge, edge_weights
    below, below_weights = _halved(outer / 2, 30)
    above, above_weights = _halved(1.0 - outer, 30)
    depths = np.concatenate([edge, outer - below, outer + above])
    return depths, np.concatenate([edge_weights, below_weights, above_weights])


@dataclass(frozen=True)
class _Disc:
    """Every node of the disc: (k, l) components of its velocity by ω, its lever and its share."""

    across: np.ndarray
    along: np.ndarray
    lever: np.ndarray
    share: np.ndarray

    @property
    def speed(self) -> np.ndarray:
        return np.hypot(self.across, self.along)


def _disc(ratio: float, exponent: float) -> _Disc:
    depths, weights = _depths(ratio)
    radii = 1.0 - depths
    pressure = weights * np.sin(np.pi * depths / 2) ** exponent * radii
    beside, angle_weights = _halved(np.pi, 30)
    sine, cosine = np.cos(beside), np.sin(beside)
    return _Disc(
        across=ratio - np.outer(radii, sine),
        along=np.outer(radii, cosine),
        lever=np.outer(radii, sine),
        share=np.outer(pressure / pressure.sum(), angle_weights / np.pi),
    )


def reduced_friction_double(ratio: float, exponent: float) -> tuple[float, float]:
    """Return f' and f'' for a coefficient of friction 1.

    Parameters
    ----------
    ratio
        ρ by the radius of the pad, positive.
    exponent
        n of the pressure, from -0.5 to 5.
    """
    disc = _disc(ratio, exponent)
    moments = disc.along**2 - disc.across * disc.lever
    return (
        float((disc.share * disc.across / disc.speed).sum()),
        float((disc.share * moments / disc.speed).sum()),
    )


def mean_speed_double(ratio: float, exponent: float) -> float:
    """Return the mean speed of the disc's points by ω and the radius; see above."""
    disc = _disc(ratio, exponent)
    return float((disc.share * disc.speed).sum())


def uniform_friction(ratio: float) -> tuple[mp.mpf, mp.mpf]:
    """Return f' and f'' under uniform pressure from their closed form, to many digits.

    The mean speed is d = 4/(9π) [(7 + x²) E(x) - 4 (1 - x²) K(x)] for x ≤ 1 and
    4/(9π) [x (7 + x²) E(1/x) - (x² - 1)(x² + 3)/x K(1/x)] for x ≥ 1; f' = d', f'' = d - x d'.
    """
    with mp.workdps(120):
        x = mp.mpf(ratio)
        square = x * x
        if x == 0:
            return mp.mpf(0), mp.mpf(2) / 3
        if x < 1:
            first, second = mp.ellipk(square), mp.ellipe(square)
            speed = (7 + square) * second - 4 * (1 - square) * first
            slope = 3 / x * ((1 + square) * second - (1 - square) * first)
        elif x == 1:
            speed, slope = mp.mpf(8), mp.mpf(6)
        else:
            first, second = mp.ellipk(1 / square), mp.ellipe(1 / square)
            speed = x * (7 + square) * second - (square - 1) * (square + 3) / x * first
            slope = 3 * ((1 + square) * second - (square - 1) * first)
        factor = 4 / (9 * mp.pi)
        return factor * slope, factor * (speed - x * slope)
