"""The start of the cart, and the rates of its wheels there.

Start values are the states that both models share. Values that violate the constraints change with
the least kinetic energy; since wheels roll in the guess, both models start alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daesolve_problems.cart.models import PAIRS, SIDES

Values = Mapping[str, float]


def skates_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start in the given state."""
    return dict(given)


def wheels_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start in the given state, with wheels that roll."""
    guess = dict(given)
    for k in PAIRS:
        for i, rate in rolling(given, parameters, k).items():
            guess[f"phi_dot_{k}_{i}"] = float(rate)
    return guess


def rolling(
    state: Values | Mapping[str, np.ndarray], parameters: Values, k: int
) -> dict[int, np.ndarray]:
    """Return the rates in rad/s at which the wheels of a pair roll.

    Parameters
    ----------
    state
        By the names that both models share: numbers, or series of equal lengths.
    parameters
        Of the cart.
    k
        The pair.
    """

    def value(name: str) -> float:
        return parameters[f"{name}_{k}"]

    theta, frame_turning = state[f"theta_{k}"], state["psi_dot"]
    pivot_1 = state["v_1"] - frame_turning * value("pivot_y")
    pivot_2 = state["v_2"] + frame_turning * value("pivot_x")
    across = np.cos(theta) * pivot_2 - np.sin(theta) * pivot_1
    turning = frame_turning + state[f"theta_dot_{k}"]
    rates: dict[int, np.ndarray] = {}
    for i, side in SIDES.items():
        arm = value("axle_centre_n") + side * value("half_track")
        rates[i] = np.asarray(-(across + turning * arm) / value("wheel_radius"))
    return rates
