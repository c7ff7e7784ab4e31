"""A heavy wheel on a curve: constants, conventions and geometry.

The wheel (hoop: moment of inertia ``M r^2``) lies above the curve ``z = h(x)``,

    h(x) = x^4 + a x^3 - b x^2 - a x - (1 - b),

gravity acts along ``-z``. Conventions:

* ``contact_x`` (xi) is the abscissa of the contact; ``psi = atan h'(xi)`` the slope angle;
  ``kappa = h'' / (1 + h'^2)^(3/2)`` the curvature (positive: the curve bends towards the wheel).
* ``t = (cos psi, sin psi)`` is the tangent, ``N = (-sin psi, cos psi)`` the upward normal.
  The centre is ``(x, z) = (xi, h) + r N``.
* ``alpha`` is the angle of ``n = (cos alpha, sin alpha) = -N`` (centre to contact), from x towards
  z: ``alpha = psi - pi/2``.
* ``speed`` is ``u = v_c . t``, the signed speed of the centre.
* ``theta`` is positive from x towards z: no slip means ``u + r theta' = 0``; ``theta(0) = 0``.
* ``phi`` is the absolute angle of the pendulum from the downward vertical, from x towards z; the
  bob (mass m, own inertia J) is at ``(x + l sin phi, z - l cos phi)``.
* ``(reaction_x, reaction_z)`` is the contact force R on the wheel, ``torque = r R . t`` its moment
  about the centre.

Every ``float`` parameter is taken as the binary number it is (0.13 is the double next to 13/100),
so that a double-precision program solves exactly the same problem. SI units, angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Arrays = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class RollingWheelParameters:
    """Constants of the wheel, the curve and the pendulum.

    Attributes
    ----------
    wheel_mass
        M, kg.
    radius
        r, m.
    gravity
        g, m/s^2.
    curve_a, curve_b
        a and b of h(x) (lengths in m understood).
    bob_mass
        m, kg.
    pendulum_length
        l, m.
    bob_inertia
        J, kg m^2, the bob's own moment of inertia about its centre (0: a point).
    """

    wheel_mass: float = 1.0
    radius: float = 0.01
    gravity: float = 9.81
    curve_a: float = 0.13
    curve_b: float = 0.5
    bob_mass: float = 0.5
    pendulum_length: float = 0.008
    bob_inertia: float = 0.0


DEFAULT_PARAMETERS: Final = RollingWheelParameters()


class Curve(NamedTuple):
    """h, h', h'' and stretch = sqrt(1 + h'^2) at one abscissa (of any arithmetic type)."""

    height: Any
    slope: Any
    second: Any
    stretch: Any


def curve_of(contact_x: Any, a: Any, b: Any, sqrt: Callable[[Any], Any]) -> Curve:
    height = (((contact_x + a) * contact_x - b) * contact_x - a) * contact_x - (1 - b)
    slope = ((4 * contact_x + 3 * a) * contact_x - 2 * b) * contact_x - a
    second = (12 * contact_x + 6 * a) * contact_x - 2 * b
    return Curve(height, slope, second, sqrt(1 + slope * slope))


def curve_at(contact_x: ArrayLike, parameters: RollingWheelParameters) -> Curve:
    abscissa = np.asarray(contact_x, dtype=float)
    return curve_of(abscissa, parameters.curve_a, parameters.curve_b, np.sqrt)


def centre_height(
    contact_x: ArrayLike, parameters: RollingWheelParameters = DEFAULT_PARAMETERS
) -> NDArray[np.float64]:
    """Height of the wheel's centre in m: ``z_c = h + r / sqrt(1 + h'^2)``."""
    curve = curve_at(contact_x, parameters)
    return curve.height + parameters.radius / curve.stretch


def level_points(parameters: RollingWheelParameters) -> NDArray[np.float64]:
    """Abscissae of h' = 0, ascending: the extrema of z_c, since z_c' = h' (1 - r kappa)."""
    roots = np.roots([4.0, 3 * parameters.curve_a, -2 * parameters.curve_b, -parameters.curve_a])
    return np.sort(roots[np.abs(roots.imag) < 1e-12].real)


def centre_state(
    contact_x: NDArray[np.float64],
    speed: NDArray[np.float64],
    theta: NDArray[np.float64],
    parameters: RollingWheelParameters,
) -> Arrays:
    """Cartesian state of the wheel in doubles from (xi, u, theta)."""
    curve = curve_at(contact_x, parameters)
    cosine, sine = 1 / curve.stretch, curve.slope / curve.stretch
    return {
        "contact_x": contact_x,
        "speed": speed,
        "x": contact_x - parameters.radius * sine,
        "z": curve.height + parameters.radius * cosine,
        "theta": theta,
        "alpha": np.arctan2(-cosine, sine),
        "x_dot": speed * cosine,
        "z_dot": speed * sine,
        "theta_dot": -speed / parameters.radius,
    }


def direction(
    contact_x: ArrayLike, speed: ArrayLike, parameters: RollingWheelParameters
) -> tuple[Any, Any, Any, Any]:
    """Give cos psi, sin psi, psi' (rad/s) and dpsi/ds = kappa / (1 - r kappa) (rad/m)."""
    curve = curve_at(contact_x, parameters)
    curvature = curve.second / curve.stretch**3
    turn_per_length = curvature / (1 - parameters.radius * curvature)
    alpha_dot = np.asarray(speed, dtype=float) * turn_per_length
    return 1 / curve.stretch, curve.slope / curve.stretch, alpha_dot, turn_per_length


def wheel_quantities(
    speed: ArrayLike,
    cosine: Any,
    sine: Any,
    alpha_dot: Any,
    speed_dot: Any,
    force: tuple[Any, Any],
    parameters: RollingWheelParameters,
) -> Arrays:
    """Cartesian components from those along t and N."""
    across = np.asarray(speed, dtype=float) * alpha_dot
    return {
        "speed_dot": speed_dot + 0 * across,
        "x_ddot": speed_dot * cosine - across * sine,
        "z_ddot": speed_dot * sine + across * cosine,
        "theta_ddot": -speed_dot / parameters.radius + 0 * across,
        "alpha_dot": alpha_dot,
        "reaction_x": force[0] * cosine - force[1] * sine,
        "reaction_z": force[0] * sine + force[1] * cosine,
        "torque": parameters.radius * force[0] + 0 * across,
    }
