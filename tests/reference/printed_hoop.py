"""The hoop as the paper's printed goals move it: exact motion, period and reactions.

Conventions as in `rolling_geometry`. The paper writes "no slip" as

    delta_3 = x_a'^2 + z_a'^2 - (r theta')^2 - (r alpha')^2 = 0,

``(x_a, z_a) = (x + r cos alpha, z + r sin alpha)`` the point of contact. With contact and tangency
kept, that point moves along the curve at the rate ``s' = u / (1 - r kappa)``, and
``alpha' = kappa s'``. Hence

    (r theta')^2 = (1 - r^2 kappa^2) s'^2,
    spin = |r theta' / u| = sqrt((1 + r kappa) / (1 - r kappa)),

where no slip would be ``|r theta'| = |u| = (1 - r kappa) |s'|``: the goal lacks the cross term
``2 r^2 theta' alpha'``. The energy goal determines the rest. As ``2T = M u^2 (1 + spin^2)``,

    E = M u^2 / (1 - r kappa) + M g z_c,
    u' = -(g/2) (1 - r kappa) sin psi - r kappa_s u^2 / (2 (1 - r kappa)^2),  kappa_s = dkappa/ds.

The goal is quadratic in theta', so the sign of the spin is not determined by it: it stays what it
was at the start until the first turning point; from there on, and from the beginning after a start
from rest, either sign satisfies all the goals. Here the wheel always turns as it should roll,
``r theta' = -spin u``: the only choice for which theta' has a derivative at the turning points.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from .hoop_motion import HoopMotion
from .rolling_geometry import (
    DEFAULT_PARAMETERS,
    Curve,
    RollingWheelParameters,
    centre_height,
    curve_at,
    direction,
    wheel_quantities,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .rolling_geometry import Arrays


class _PrintedHoopMotion(HoopMotion):
    """The exact motion with the spin of the printed goal."""

    def _spin(self, curve: Curve) -> Any:
        bend = self.radius * curve.second / curve.stretch**3
        if abs(bend) >= 1:
            msg = "the printed goals have no motion where the curvature reaches 1/r on either side"
            raise ValueError(msg)
        return mpmath.sqrt((1 + bend) / (1 - bend))


@lru_cache(maxsize=16)
def _motion(
    contact_x: float, speed: float, parameters: RollingWheelParameters, digits: int
) -> _PrintedHoopMotion:
    return _PrintedHoopMotion(contact_x, speed, parameters, digits)


def printed_spin(
    contact_x: ArrayLike, parameters: RollingWheelParameters = DEFAULT_PARAMETERS
) -> NDArray[np.float64]:
    """``|r theta' / u|`` on the manifold of the printed goals (no slip: 1)."""
    curve = curve_at(contact_x, parameters)
    bend = parameters.radius * curve.second / curve.stretch**3
    return np.sqrt((1 + bend) / (1 - bend))


def printed_hoop_states(
    times: ArrayLike,
    contact_x: float,
    speed: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> Arrays:
    """State of the hoop under the printed goals, exact to rounding in doubles.

    theta and theta_dot are those of the branch that turns as it should roll; beyond the first of
    `printed_hoop_turning_times` (after a start from rest: at all times) the printed goals do not
    determine the sign of theta_dot. All else does not depend on it.

    Parameters
    ----------
    times
        Times in s (of any sign and order) after the start.
    contact_x, speed
        Start: abscissa of contact in m and signed speed of the centre in m/s (may be 0);
        ``r theta' = -spin u`` there. Its energy is not that of a hoop rolling with this speed.
    parameters
        Constants; those of the pendulum are not used.
    digits
        Decimals that the arithmetic keeps.

    Returns
    -------
    dict
        What `rolling_wheel.hoop_states` gives.
    """
    motion = _motion(float(contact_x), float(speed), parameters, digits)
    state = motion.states(times)
    state["theta_dot"] = printed_spin(state["contact_x"], parameters) * state["theta_dot"]
    return state


def printed_hoop_period(
    contact_x: float,
    speed: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> float:
    """Period of the oscillation in s under the printed goals."""
    return float(_motion(float(contact_x), float(speed), parameters, digits).period)


def printed_hoop_turning_times(
    until: float,
    contact_x: float,
    speed: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> NDArray[np.float64]:
    """List the times 0 < t <= until (s) at which the speed changes its sign.

    A start from rest is not counted.
    """
    return _motion(float(contact_x), float(speed), parameters, digits).turning_times(until)


def printed_hoop_energy(
    contact_x: ArrayLike,
    speed: ArrayLike,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> NDArray[np.float64]:
    """Energy ``E = M u^2 (1 + spin^2) / 2 + M g z_c`` in J."""
    kinetic = np.square(speed) * (1 + printed_spin(contact_x, parameters) ** 2) / 2
    height = centre_height(contact_x, parameters)
    return parameters.wheel_mass * (kinetic + parameters.gravity * height)


def printed_hoop_reactions(
    contact_x: ArrayLike,
    speed: ArrayLike,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> Arrays:
    """Accelerations and controls under the printed goals, in closed form.

    Newton's law gives the force, ``R = M a_c + M g e_z``, and the torque:

        torque = M r^2 theta'' = -M r (spin u' + spin_s s' u) = r R.t / spin,
        spin_s = r kappa_s / ((1 - r kappa)^2 spin),

    so the torque is not the moment ``r R.t`` of the force about the centre. At rest these are the
    limits along the motion; the printed goals alone leave force and torque undetermined there.

    Parameters
    ----------
    contact_x, speed
        Abscissa of contact in m and speed of the centre in m/s (broadcast against each other).
    parameters
        Constants; those of the pendulum are not used.

    Returns
    -------
    dict
        What `rolling_wheel.hoop_reactions` gives, of the branch that turns as it should roll.
    """
    mass, radius, gravity = parameters.wheel_mass, parameters.radius, parameters.gravity
    curve = curve_at(contact_x, parameters)
    third = 24 * np.asarray(contact_x, dtype=float) + 6 * parameters.curve_a
    room = 1 - radius * curve.second / curve.stretch**3
    curvature_rate = third / curve.stretch**4 - 3 * curve.slope * curve.second**2 / curve.stretch**6
    spin = printed_spin(contact_x, parameters)
    speed = np.asarray(speed, dtype=float)
    cosine, sine, alpha_dot, _ = direction(contact_x, speed, parameters)
    bending = radius * curvature_rate * speed**2
    speed_dot = -gravity / 2 * room * sine - bending / (2 * room**2)
    along = mass * (speed_dot + gravity * sine)
    across = mass * (speed * alpha_dot + gravity * cosine)
    quantities = wheel_quantities(
        speed, cosine, sine, alpha_dot, speed_dot, (along, across), parameters
    )
    theta_ddot = -(spin * speed_dot + bending / (room**3 * spin)) / radius
    return {**quantities, "theta_ddot": theta_ddot, "torque": mass * radius**2 * theta_ddot}
