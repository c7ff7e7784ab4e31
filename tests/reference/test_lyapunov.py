"""Lyapunov exponents of the wheel with pendulum, where they are known otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from .lyapunov import (
    CASES,
    NEIGHBOURS,
    pendulum_lyapunov_exponent,
    stored_lyapunov_exponent,
)
from .rolling_geometry import DEFAULT_PARAMETERS as WHEEL
from .rolling_geometry import RollingWheelParameters, curve_at, level_points
from .rolling_wheel import pendulum_states
from .stored_pendulum import CASES as MOTIONS
from .stored_pendulum import HEAVY_BOB


@pytest.mark.slow
@pytest.mark.parametrize("wheel", [WHEEL, HEAVY_BOB], ids=["point bob", "heavy bob"])
def test_upright_pendulum_leaves_at_the_rate_of_its_linear_equations(
    wheel: RollingWheelParameters,
) -> None:
    # with the path s of the centre and chi = phi - pi, at rest at the bottom of a hollow:
    # (2M + m) s'' - m l chi'' + (M + m) g k s = 0,  (m l^2 + J) chi'' - m l s'' - m g l chi = 0
    bottom = float(level_points(wheel)[-1])
    curvature = float(curve_at(bottom, wheel).second)
    bend = curvature / (1 - wheel.radius * curvature)
    pull, gravity = wheel.bob_mass * wheel.pendulum_length, wheel.gravity
    inertia = [
        [2 * wheel.wheel_mass + wheel.bob_mass, -pull],
        [-pull, pull * wheel.pendulum_length + wheel.bob_inertia],
    ]
    stiffness = np.diag([(wheel.wheel_mass + wheel.bob_mass) * gravity * bend, -pull * gravity])
    rate = np.sqrt(np.linalg.eigvals(np.linalg.solve(inertia, -stiffness)).real.max())
    start = (bottom, 0.0, np.pi, 0.0)
    early, late = 10 / rate, 20 / rate
    grown = [time * pendulum_lyapunov_exponent(start, time, wheel) for time in (early, late)]
    # the other modes, a few times exp(-10) = 5e-5 of the growing one, disturb a growth of 10;
    # phi is away from pi by EPSILON exp(20) = 1e-7
    assert grown[1] - grown[0] == pytest.approx(10, abs=5e-4)


@pytest.mark.slow
def test_exponent_is_the_growth_of_a_difference_of_motions() -> None:
    start, horizon = np.array(MOTIONS["pendulum-chaotic"].start), 2.0
    length, gravity = WHEEL.pendulum_length, WHEEL.gravity
    units = np.array([length, np.sqrt(length * gravity), 1.0, np.sqrt(gravity / length)])
    distance = 1e-7
    ends = []
    for sign in (-1, 1):
        state = pendulum_states(horizon, *(start + sign * distance * units / 2))
        ends.append([state[name] for name in ("contact_x", "speed", "phi", "phi_dot")])
    growth = np.log(np.linalg.norm((np.array(ends[1]) - ends[0]) / units) / (2 * distance))
    # growth of 1e2 to 1e3: curvature of the flow 1e-8; rounding of xi 3e-17 / (l distance) = 3e-8
    assert growth / horizon == pytest.approx(
        pendulum_lyapunov_exponent(tuple(start.tolist()), horizon), abs=1e-6
    )


def test_exponent_of_a_regular_motion_falls_with_time() -> None:
    # displacements grow in proportion to time: by ln 4 from 25 s to 100 s, give or take a
    # part that oscillates, where a rate of 1/s would add 75
    start = MOTIONS["pendulum"].start
    grown = [time * pendulum_lyapunov_exponent(start, time) for time in (25.0, 100.0)]
    assert grown[1] - grown[0] == pytest.approx(np.log(4), abs=2)


@pytest.mark.slow
def test_stored_exponents_agree_with_the_published_ones_and_with_one_found_now() -> None:
    mean, spread = stored_lyapunov_exponent("pendulum-chaotic")
    assert mean == pytest.approx(0.98, abs=0.02 + 2 * spread / np.sqrt(NEIGHBOURS))
    assert pendulum_lyapunov_exponent(*CASES["pendulum-chaotic"][:1]) == pytest.approx(
        mean, abs=4 * spread
    )
    mean, spread = stored_lyapunov_exponent("pendulum-lost")
    assert mean == pytest.approx(1.57, abs=spread)
