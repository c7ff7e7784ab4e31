"""A heavy hoop, with or without a pendulum, rolling without slip on a curve: exact motions.

Conventions and constants as in `rolling_geometry`. SI units, angles in rad.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import heyoka as hy
import numpy as np
from scipy.optimize import minimize_scalar

from .hoop_motion import HoopMotion
from .rolling_geometry import (
    DEFAULT_PARAMETERS,
    RollingWheelParameters,
    centre_height,
    centre_state,
    curve_at,
    curve_of,
    direction,
    level_points,
    wheel_quantities,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from .rolling_geometry import Arrays

# --- the hoop alone: exact motion ----------------------------------------------------------------


@lru_cache(maxsize=16)
def _hoop_motion(
    contact_x: float, speed: float, parameters: RollingWheelParameters, digits: int
) -> HoopMotion:
    return HoopMotion(contact_x, speed, parameters, digits)


def hoop_states(
    times: ArrayLike,
    contact_x: float,
    speed: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> Arrays:
    """State of the hoop without pendulum at given times, exact to rounding in doubles.

    Parameters
    ----------
    times
        Times in s (of any sign and order) after the start.
    contact_x, speed
        Start: abscissa of contact in m and signed speed of the centre in m/s (may be 0).
    parameters
        Constants; those of the pendulum are not used.
    digits
        Decimals that the arithmetic keeps.

    Returns
    -------
    dict
        Arrays like ``times``: contact_x, x, z (m), speed, x_dot, z_dot (m/s), theta, alpha (rad),
        theta_dot (rad/s).
    """
    return _hoop_motion(float(contact_x), float(speed), parameters, digits).states(times)


def hoop_period(
    contact_x: float,
    speed: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> float:
    """Period of the hoop's oscillation in s."""
    return float(_hoop_motion(float(contact_x), float(speed), parameters, digits).period)


def hoop_turning_points(
    contact_x: float,
    speed: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> tuple[float, float]:
    """Abscissae of contact (left, right) in m where the hoop turns."""
    motion = _hoop_motion(float(contact_x), float(speed), parameters, digits)
    return float(motion.left), float(motion.right)


def hoop_turning_times(
    until: float,
    contact_x: float,
    speed: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> NDArray[np.float64]:
    """List the times 0 < t <= until (s) at which the speed changes its sign.

    A start from rest is not counted.
    """
    return _hoop_motion(float(contact_x), float(speed), parameters, digits).turning_times(until)


def hoop_energy(
    contact_x: ArrayLike,
    speed: ArrayLike,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> NDArray[np.float64]:
    """Energy ``E = M u^2 + M g z_c`` in J."""
    height = centre_height(contact_x, parameters)
    return parameters.wheel_mass * (np.square(speed) + parameters.gravity * height)


def hoop_potential_minimum(parameters: RollingWheelParameters = DEFAULT_PARAMETERS) -> float:
    """Least potential energy of the hoop over the whole curve, J (taken where h' = 0)."""
    heights = centre_height(level_points(parameters), parameters)
    return float(parameters.wheel_mass * parameters.gravity * heights.min())


def hoop_energy_scale(
    contact_x: float, speed: float, parameters: RollingWheelParameters = DEFAULT_PARAMETERS
) -> float:
    """E0 - Vmin in J: the scale of relative energy drift."""
    return float(hoop_energy(contact_x, speed, parameters)) - hoop_potential_minimum(parameters)


def hoop_reactions(
    contact_x: ArrayLike,
    speed: ArrayLike,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> Arrays:
    """Accelerations and contact force of the hoop without pendulum, in closed form.

    With ``psi' = kappa u / (1 - r kappa)`` (which is also ``alpha'``):

        u' = -(g/2) sin psi,                   a_c = u' t + u psi' N,   theta'' = -u'/r,
        R.t = M u' + M g sin psi = (M g/2) sin psi,   R.N = M u psi' + M g cos psi,
        torque = r R.t = M r^2 theta''.

    Parameters
    ----------
    contact_x, speed
        Abscissa of contact in m and speed of the centre in m/s (broadcast against each other).
    parameters
        Constants; those of the pendulum are not used.

    Returns
    -------
    dict
        speed_dot, x_ddot, z_ddot (m/s^2), theta_ddot (rad/s^2), alpha_dot (rad/s), reaction_x,
        reaction_z (N), torque (N m).
    """
    mass, gravity = parameters.wheel_mass, parameters.gravity
    cosine, sine, alpha_dot, _ = direction(contact_x, speed, parameters)
    speed_dot = -gravity / 2 * sine
    along = mass * gravity / 2 * sine
    across = mass * (speed * alpha_dot + gravity * cosine)
    return wheel_quantities(speed, cosine, sine, alpha_dot, speed_dot, (along, across), parameters)


def hoop_largest_reaction(
    contact_x: float, speed: float, parameters: RollingWheelParameters = DEFAULT_PARAMETERS
) -> float:
    """Greatest magnitude of the contact force in N in the course of the hoop's motion."""
    left, right = hoop_turning_points(contact_x, speed, parameters)
    highest = float(centre_height(contact_x, parameters)) + speed**2 / parameters.gravity

    def magnitude(abscissa: ArrayLike) -> NDArray[np.float64]:
        drop = np.maximum(highest - centre_height(abscissa, parameters), 0.0)
        forces = hoop_reactions(abscissa, np.sqrt(parameters.gravity * drop), parameters)
        return np.hypot(forces["reaction_x"], forces["reaction_z"])

    grid = np.linspace(left, right, 2001)
    best = int(np.argmax(magnitude(grid)))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    refined = minimize_scalar(
        lambda x: -float(magnitude(x)), bounds=bounds, method="bounded", options={"xatol": 1e-12}
    )
    return max(-float(refined.fun), float(magnitude(grid[best])))


# --- the wheel with pendulum ---------------------------------------------------------------------


def _pendulum_accelerations(
    sine_psi: Any,
    relative: tuple[Any, Any],
    sine_phi: Any,
    speed: Any,
    phi_dot: Any,
    turn_per_length: Any,
    constants: tuple[Any, Any, Any, Any, Any],
) -> tuple[Any, Any]:
    """(u', phi'') from the two reduced Lagrange equations, solved by Cramer's rule.

    ``relative`` is cos and sin of phi - psi; ``constants`` are M, m, l, J, g. Works for NumPy
    arrays and for heyoka's expressions.
    """
    wheel, bob, length, inertia, gravity = constants
    cosine, sine = relative
    coupling = bob * length
    first, mixed, second = 2 * wheel + bob, coupling * cosine, coupling * length + inertia
    right_speed = coupling * phi_dot * phi_dot * sine - (wheel + bob) * gravity * sine_psi
    right_phi = -coupling * (speed * speed * turn_per_length * sine + gravity * sine_phi)
    determinant = first * second - mixed * mixed
    return (
        (second * right_speed - mixed * right_phi) / determinant,
        (first * right_phi - mixed * right_speed) / determinant,
    )


def _constants(parameters: RollingWheelParameters) -> tuple[float, float, float, float, float]:
    return (
        parameters.wheel_mass,
        parameters.bob_mass,
        parameters.pendulum_length,
        parameters.bob_inertia,
        parameters.gravity,
    )


def pendulum_reactions(
    contact_x: ArrayLike,
    speed: ArrayLike,
    phi: ArrayLike,
    phi_dot: ArrayLike,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> Arrays:
    """Accelerations and contact force of the wheel with pendulum, in closed form.

    The reduced Lagrange equations, with w = phi', psi_s = kappa/(1 - r kappa), d = phi - psi, are

        (2M + m) u' + m l (w' cos d - w^2 sin d) + (M + m) g sin psi = 0,
        (m l^2 + J) w' + m l (u' cos d + u^2 psi_s sin d) + m g l sin phi = 0.

    The force is Newton's law for both bodies, ``R = M a_c + m a_bob + (M + m) g e_z``, and
    ``torque = r R.t``.

    Parameters
    ----------
    contact_x, speed
        Abscissa of contact in m and speed of the centre in m/s.
    phi, phi_dot
        Angle of the pendulum in rad and its rate in rad/s.
    parameters
        Constants (bob_mass and pendulum_length must be positive).

    Returns
    -------
    dict
        What `hoop_reactions` gives, and phi_ddot (rad/s^2).
    """
    cosine, sine, alpha_dot, turn_per_length = direction(contact_x, speed, parameters)
    speed, phi, phi_dot = (np.asarray(value, dtype=float) for value in (speed, phi, phi_dot))
    relative = phi - np.arctan2(sine, cosine)
    speed_dot, phi_ddot = _pendulum_accelerations(
        sine,
        (np.cos(relative), np.sin(relative)),
        np.sin(phi),
        speed,
        phi_dot,
        turn_per_length,
        _constants(parameters),
    )
    total = parameters.wheel_mass + parameters.bob_mass
    pull = parameters.bob_mass * parameters.pendulum_length
    swing_along = phi_ddot * np.cos(relative) - phi_dot**2 * np.sin(relative)
    swing_across = phi_ddot * np.sin(relative) + phi_dot**2 * np.cos(relative)
    along = total * (speed_dot + parameters.gravity * sine) + pull * swing_along
    across = total * (speed * alpha_dot + parameters.gravity * cosine) + pull * swing_across
    return {
        **wheel_quantities(speed, cosine, sine, alpha_dot, speed_dot, (along, across), parameters),
        "phi_ddot": phi_ddot,
    }


def pendulum_energy(
    contact_x: ArrayLike,
    speed: ArrayLike,
    phi: ArrayLike,
    phi_dot: ArrayLike,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> NDArray[np.float64]:
    """Energy of the wheel with pendulum, J.

    ``E = (2M + m) u^2/2 + (m l^2 + J) w^2/2 + m l u w cos(phi - psi) + (M + m) g z_c
    - m g l cos phi``.
    """
    wheel, bob, length, inertia, gravity = _constants(parameters)
    speed, phi, phi_dot = (np.asarray(value, dtype=float) for value in (speed, phi, phi_dot))
    slope_angle = np.arctan(curve_at(contact_x, parameters).slope)
    kinetic = (
        (2 * wheel + bob) * speed**2 / 2
        + (bob * length**2 + inertia) * phi_dot**2 / 2
        + bob * length * speed * phi_dot * np.cos(phi - slope_angle)
    )
    height = centre_height(contact_x, parameters)
    return kinetic + gravity * ((wheel + bob) * height - bob * length * np.cos(phi))


def pendulum_energy_scale(
    contact_x: float,
    speed: float,
    phi: float,
    phi_dot: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> float:
    """E0 - Vmin in J for the wheel with pendulum (hanging at the lowest point of the curve)."""
    wheel, bob, length, _, gravity = _constants(parameters)
    lowest = centre_height(level_points(parameters), parameters).min()
    least = gravity * ((wheel + bob) * lowest - bob * length)
    return float(pendulum_energy(contact_x, speed, phi, phi_dot, parameters) - least)


class PendulumEquations(NamedTuple):
    """The wheel with pendulum in heyoka's expressions.

    Attributes
    ----------
    system
        Pairs (variable, its rate) of contact_x, speed, phi, phi_dot, theta.
    normal
        R . N, N: the push of the curve.
    """

    system: list[tuple[Any, Any]]
    normal: Any


def pendulum_equations(
    parameters: RollingWheelParameters, number: Callable[[float], Any]
) -> PendulumEquations:
    """Equations of `pendulum_reactions`, constants in the arithmetic ``number`` (hy.real128)."""
    contact_x, speed, phi, phi_dot = hy.make_vars("contact_x", "speed", "phi", "phi_dot")
    theta = hy.make_vars("theta")
    constants = {
        name: hy.expression(number(getattr(parameters, name)))
        for name in RollingWheelParameters.__dataclass_fields__
    }
    radius, gravity = constants["radius"], constants["gravity"]
    curve = curve_of(contact_x, constants["curve_a"], constants["curve_b"], hy.sqrt)
    # (1 - r kappa) sqrt(1 + h'^2) = dS_centre/dxi, and psi_s = h'' / (1 + h'^2) / that
    centre_stretch = curve.stretch - radius * curve.second / curve.stretch**2
    turn_per_length = curve.second / curve.stretch**2 / centre_stretch
    cosine_psi, sine_psi = 1 / curve.stretch, curve.slope / curve.stretch
    cosine_phi, sine_phi = hy.cos(phi), hy.sin(phi)
    relative = (
        cosine_phi * cosine_psi + sine_phi * sine_psi,
        sine_phi * cosine_psi - cosine_phi * sine_psi,
    )
    names = ("wheel_mass", "bob_mass", "pendulum_length", "bob_inertia", "gravity")
    speed_dot, phi_ddot = _pendulum_accelerations(
        sine_psi,
        relative,
        sine_phi,
        speed,
        phi_dot,
        turn_per_length,
        tuple(constants[name] for name in names),
    )
    system = [
        (contact_x, speed / centre_stretch),
        (speed, speed_dot),
        (phi, phi_dot),
        (phi_dot, phi_ddot),
        (theta, -speed / radius),
    ]
    bob = constants["bob_mass"]
    swing = phi_ddot * relative[1] + phi_dot * phi_dot * relative[0]
    fall = speed * speed * turn_per_length + gravity * cosine_psi
    normal = (constants["wheel_mass"] + bob) * fall + bob * constants["pendulum_length"] * swing
    return PendulumEquations(system, normal)


@lru_cache(maxsize=4)
def _pendulum_integrator(parameters: RollingWheelParameters) -> Any:
    """Adaptive Taylor integrator in quadruple precision of (xi, u, phi, w, theta)."""
    return hy.taylor_adaptive(
        pendulum_equations(parameters, hy.real128).system,
        state=[hy.real128(0)] * 5,
        fp_type=hy.real128,
        compact_mode=True,
    )


def pendulum_states(
    times: ArrayLike,
    contact_x: float,
    speed: float,
    phi: float,
    phi_dot: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> Arrays:
    """State of the wheel with pendulum at given times, integrated in quadruple precision.

    Taylor's method at tolerance 2e-34 on the reduced equations of `pendulum_reactions`; the error
    is far below the last digit of the returned doubles unless the motion is chaotic (start at
    phi = 2.5 or 2.9: errors grow by about e per second). A second of motion takes about 0.08 s of
    computing: for long spans use `stored_pendulum`.

    Parameters
    ----------
    times
        Times in s, not negative, in any order.
    contact_x, speed, phi, phi_dot
        Start (m, m/s, rad, rad/s); theta starts at 0.
    parameters
        Constants (bob_mass and pendulum_length must be positive).

    Returns
    -------
    dict
        What `hoop_states` gives, and phi (rad), phi_dot (rad/s).
    """
    moments = np.asarray(times, dtype=float)
    ordered, back = np.unique(moments, return_inverse=True)
    if ordered.size and ordered[0] < 0:
        msg = "times must not be negative"
        raise ValueError(msg)
    integrator = _pendulum_integrator(parameters)
    integrator.time = hy.real128(0)
    integrator.state[:] = [
        hy.real128(float(value)) for value in (contact_x, speed, phi, phi_dot, 0.0)
    ]
    rows = np.empty((ordered.size, 5))
    for row, time in zip(rows, ordered, strict=True):
        outcome = integrator.propagate_until(hy.real128(float(time)))[0]
        if outcome != hy.taylor_outcome.time_limit:
            msg = f"heyoka stopped before t = {time} s: {outcome}"
            raise RuntimeError(msg)
        row[:] = integrator.state.astype(float)
    rows = rows[back.reshape(moments.shape)]
    state = centre_state(rows[..., 0], rows[..., 1], rows[..., 4], parameters)
    return {**state, "phi": rows[..., 2], "phi_dot": rows[..., 3]}
