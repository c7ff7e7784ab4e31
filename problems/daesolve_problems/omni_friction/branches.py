"""Dry friction that is made linear at very small slips: which of its two branches holds.

F = -mu N u / delta at slips |u| below delta, F = -mu N u / |u| beyond. A discrete value, saturated,
names the branch, so that the equations are smooth between events.
"""

from __future__ import annotations

import casadi as ca

from daesolve.typing import Parameters
from daesolve_problems.omni_wheels import numbered

OVERSHOT = 1e-5
"""The fraction of delta by which the slip passes it before friction changes its branch; the error
of friction in between is its square."""


def direction(slip: ca.SX, saturated: ca.SX, delta: ca.SX) -> ca.SX:
    """Return the slip over max(|u|, delta), of which the discrete value names the larger."""
    # One is added under the root of the branch that is not taken: its slope stays finite at zero.
    speed = ca.sqrt(ca.sumsqr(slip) + (1.0 - saturated))
    return slip / (saturated * speed + (1.0 - saturated) * delta)


def within_branch(slip: ca.SX, saturated: ca.SX, delta: ca.SX) -> ca.SX:
    """Return a guard, positive as long as the slip is on the side of delta that counts.

    It passes through zero a little beyond delta: rounding of the time, at a rate of 1e9 to 1e11
    1/s, may not bring it back.
    """
    speed, least = ca.sumsqr(slip), delta**2
    side = 1.0 - 2.0 * saturated
    return side * (least - speed) / (least + speed) + OVERSHOT


def other_branch(values: Parameters, wheels: int, fired: ca.SX) -> dict[str, ca.SX]:
    """Return the discrete values after the slips of the wheels in `fired` passed delta."""
    return {
        name: values[name] + fired[index] * (1.0 - 2.0 * values[name])
        for index, name in enumerate(numbered("saturated", wheels))
    }
