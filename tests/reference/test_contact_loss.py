"""The stored instants of contact loss, against equations derived in another way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import heyoka as hy
import numpy as np
import pytest
from scipy.optimize import brentq

from .contact_loss import (
    CASES,
    START,
    contact_loss,
    contact_loss_time,
    normal_reaction,
    stored_contact_loss,
)
from .rolling_geometry import DEFAULT_PARAMETERS as WHEEL
from .rolling_geometry import RollingWheelParameters, direction
from .rolling_wheel import hoop_reactions, hoop_states, pendulum_states
from .stored_pendulum import CASES as MOTIONS

each_case = pytest.mark.parametrize("case", CASES)
PUBLISHED: Final = {"pendulum-lost": 7.3274, "pendulum-lost-heavy-bob": 7.2761}
VARIABLES: Final = ("contact_x", "speed", "phi", "phi_dot")


@pytest.fixture(scope="module")
def lagrange() -> Any:
    """Integrator of (xi, phi, xi', phi') in 64 bits of mantissa, stopping where contact is lost.

    Lagrange's equations in the coordinates xi and phi and the force by Newton's law for the bodies
    are derived from the positions by symbolic differentiation; pars[0] is the bob's inertia.
    """
    number = np.longdouble
    p = {
        name: hy.expression(number(getattr(WHEEL, name)))
        for name in RollingWheelParameters.__dataclass_fields__
    }
    wheel, bob, length, radius = (
        p[name] for name in ("wheel_mass", "bob_mass", "pendulum_length", "radius")
    )
    q, v = hy.make_vars("xi", "phi"), hy.make_vars("xi_dot", "phi_dot")
    a, b = p["curve_a"], p["curve_b"]
    height = (((q[0] + a) * q[0] - b) * q[0] - a) * q[0] - (1 - b)
    slope = hy.diff(height, q[0])
    stretch = hy.sqrt(1 + slope * slope)
    upward = (-slope / stretch, 1 / stretch)
    centre = (q[0] + radius * upward[0], height + radius * upward[1])
    bob_centre = (centre[0] + length * hy.sin(q[1]), centre[1] - length * hy.cos(q[1]))

    def along(expression: Any, arguments: Any, rates: Any) -> Any:
        return sum(hy.diff(expression, x) * rate for x, rate in zip(arguments, rates, strict=True))

    centre_rate = [along(position, q, v) for position in centre]
    bob_rate = [along(position, q, v) for position in bob_centre]
    kinetic = (
        wheel * sum(rate * rate for rate in centre_rate)  # twice: translation and rotation
        + bob * sum(rate * rate for rate in bob_rate) / 2
        + hy.par[0] * v[1] * v[1] / 2
    )
    potential = p["gravity"] * (wheel * centre[1] + bob * bob_centre[1])
    momenta = [hy.diff(kinetic, rate) for rate in v]
    (m00, m01), (m10, m11) = ([hy.diff(momentum, rate) for rate in v] for momentum in momenta)
    f0, f1 = (
        hy.diff(kinetic - potential, coordinate) - along(momentum, q, v)
        for coordinate, momentum in zip(q, momenta, strict=True)
    )
    determinant = m00 * m11 - m01 * m10
    accelerations = ((m11 * f0 - m01 * f1) / determinant, (m00 * f1 - m10 * f0) / determinant)

    def acceleration(rate: Any) -> Any:
        return along(rate, q, v) + along(rate, v, accelerations)

    force_x, force_z = (
        wheel * acceleration(centre_rate[axis]) + bob * acceleration(bob_rate[axis])
        for axis in (0, 1)
    )
    weight = (wheel + bob) * p["gravity"]
    normal = force_x * upward[0] + (force_z + weight) * upward[1]
    return hy.taylor_adaptive(
        [*zip(q, v, strict=True), *zip(v, accelerations, strict=True)],
        state=[number(0)] * 4,
        pars=[number(0)],
        fp_type=number,
        compact_mode=True,
        t_events=[hy.t_event(normal, fp_type=number, direction=hy.event_direction.negative)],
    )


@pytest.mark.slow_rows("pendulum-lost")
@each_case
def test_stored_loss_is_found_by_lagranges_equations(case: str, lagrange: Any) -> None:
    contact_x, speed, phi, phi_dot = START
    assert speed == 0  # so that xi' is
    lagrange.time = np.longdouble(0)
    lagrange.reset_cooldowns()
    lagrange.pars[0] = np.longdouble(CASES[case].bob_inertia)
    lagrange.state[:] = [np.longdouble(value) for value in (contact_x, phi, 0.0, phi_dot)]
    outcome = lagrange.propagate_until(np.longdouble(10))[0]
    assert int(outcome) == -1  # stopped by event 0
    loss = stored_contact_loss(case)
    assert loss["time"] == pytest.approx(PUBLISHED[case], abs=5e-5)
    # errors of 2000 steps of 1e-19, grown by exp(1.6 * 7.3) = 1e5 at random: 4e-13 relative, were
    # all of them to grow so; the fall of the reaction by 400 N/s or more fixes the time better
    assert loss["time"] == pytest.approx(float(lagrange.time), rel=0, abs=1e-13)
    assert loss["contact_x"] == pytest.approx(float(lagrange.state[0]), rel=0, abs=1e-13)
    assert loss["phi"] == pytest.approx(float(lagrange.state[1]), rel=0, abs=5e-13)
    assert loss["phi_dot"] == pytest.approx(float(lagrange.state[3]), rel=0, abs=5e-12)


@pytest.mark.long
def test_stored_loss_is_right_to_thirteen_decimals() -> None:
    loss = stored_contact_loss("pendulum-lost")
    times = loss["time"] + np.array([-1e-13, 0, 1e-13])
    states = pendulum_states(times, *START)
    for name, values in states.items():
        # the last digit of the time, 9e-16 s, is 5e-14 rad in phi, 4e-13 rad/s in phi_dot and
        # 1e-12 rad/s in theta_dot
        tolerance = 1e-11 if name in {"phi_dot", "theta_dot"} else 2e-13
        assert loss[name] == pytest.approx(values[1], rel=0, abs=tolerance)
    # it falls by 566 N/s: 6e-11 N; rounding of terms of 60 N is far below
    push = normal_reaction(*(states[name] for name in VARIABLES))
    assert push[0] > 5e-11
    assert push[2] < -5e-11


@pytest.mark.long
def test_a_light_bob_lets_the_hoop_leave_where_its_own_reaction_vanishes() -> None:
    light = replace(WHEEL, bob_mass=1e-14)
    start = (-0.5, 4.0)

    def push(time: float) -> float:
        state = hoop_states(time, *start)
        cosine, sine, _, _ = direction(state["contact_x"], state["speed"], WHEEL)
        force = hoop_reactions(state["contact_x"], state["speed"])
        return float(force["reaction_z"] * cosine - force["reaction_x"] * sine)

    samples = np.linspace(0, 0.3, 61)
    first = next(i for i, time in enumerate(samples) if push(time) < 0)
    expected = brentq(push, samples[first - 1], samples[first], xtol=1e-15)
    # rounding of 30 N and a bob of 1e-14 in a fall of more than 10 N/s
    assert contact_loss_time(*start, 0.0, 0.0, light) == pytest.approx(expected, abs=1e-13)


@pytest.mark.slow
def test_contact_that_lasts_and_contact_that_is_not_there() -> None:
    assert contact_loss_time(*MOTIONS["pendulum"].start, until=0.5) is None
    with pytest.raises(ValueError, match="no contact to lose"):
        contact_loss(0.0, 0.0, np.pi, 100.0)
