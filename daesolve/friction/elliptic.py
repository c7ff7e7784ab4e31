"""Complete elliptic integrals as SX expressions, by arithmetic and geometric means.

No operation chooses between cases, so every engine of integration takes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca

STEPS = 7
"""Means that leave a relative error below 1e-16 where the complement is not below 1e-8."""


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
    """Return the complete elliptic integrals of a modulus, with no difference of close numbers.

    With a_n the arithmetic means, c_n = (a_(n-1) - g_(n-1))/2 and S = Σ 2ⁿ c_n²/k⁴ over n ≥ 1:
    K = π/(2 a), C = K S, B and D = K (1 ∓ k² S)/2. The terms of S follow from
    c_(n+1) = c_n²/(4 a_(n+1)), so none of them is divided by a small k.

    Parameters
    ----------
    parameter
        k², from 0 to 1.
    complement
        1 - k², given on its own so that it is not lost near k = 1; at least 1e-8.

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
