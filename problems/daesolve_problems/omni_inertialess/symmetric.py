"""The symmetric vehicle in closed form.

Wheels at equal angles, three or more, axles radial, rollers all alike, the mass centre in the
middle: r_C = 0, R = 0 and Gamma = G E with

    G = N I_w / (2 s^2 h^2),

so that (m + G) v' = -m w J v and w' = 0. |v| and w are constant, v turns in the platform's axes at
the rate -m w / (m + G), hence at the rate kappa = w G / (m + G) in space, and O moves on a circle
of the radius |v / kappa|, on a straight line where w = 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from daesolve.errors import OutOfRangeError
from daesolve_problems.omni_inertialess.vehicle import STATES
from daesolve_problems.omni_wheels import FEWEST_WHEELS


def closed_form(
    times: ArrayLike,
    start: Mapping[str, float],
    parameters: Mapping[str, float],
    wheels: int,
) -> dict[str, NDArray[np.float64]]:
    """Return the motion of the symmetric vehicle.

    Parameters
    ----------
    times
        (k,), s.
    start
        x, y, theta, v_1, v_2, omega at t = 0; zero where nothing is given.
    parameters
        mass, wheel_inertia, wheel_radius and roller_angle of the problem; the others do not
        matter, but the mass centre must lie in the middle.
    wheels
        N.

    Returns
    -------
    dict of str to numpy.ndarray
        (k,) of each state.

    Raises
    ------
    OutOfRangeError
        There are fewer than three wheels, or the mass centre does not lie in the middle.
    """
    if wheels < FEWEST_WHEELS:
        raise OutOfRangeError(
            f"the closed form needs at least {FEWEST_WHEELS} wheels, not {wheels}"
        )
    if parameters.get("centre_x", 0.0) or parameters.get("centre_y", 0.0):
        raise OutOfRangeError(
            "the closed form needs the mass centre in the middle: centre_x and centre_y must "
            "be zero"
        )
    t = np.asarray(times, dtype=float)
    x, y, theta, v_1, v_2, omega = (float(start.get(name, 0.0)) for name in STATES)
    reach = parameters["wheel_radius"] * math.sin(parameters["roller_angle"])
    added = wheels * parameters["wheel_inertia"] / (2.0 * reach**2)
    share = added / (parameters["mass"] + added)
    half = share * omega * t / 2.0
    velocity = complex(v_1, v_2)
    # The chord of the circle; sinc keeps its digits where it is nearly a straight line.
    way = velocity * t * np.sinc(half / math.pi) * np.exp(1j * (theta + half))
    turned = velocity * np.exp(1j * (share - 1.0) * omega * t)
    return {
        "x": x + way.real,
        "y": y + way.imag,
        "theta": theta + omega * t,
        "v_1": turned.real,
        "v_2": turned.imag,
        "omega": np.full_like(t, omega),
    }
