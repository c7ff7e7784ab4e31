"""A heavy hoop rolling without slip inside a circle: exact motion by Jacobi's elliptic functions.

The hoop (mass M, radius r) rolls inside the circle ``x^2 + z^2 = R_b^2``, gravity acts along
``-z``. The centre moves on the circle of radius ``R_c = R_b - r``; conventions as in
`rolling_geometry`, ``psi`` (polar_angle) being both the slope angle and the polar angle of the
centre from the lowest point, towards +x and not wrapped:

    (x, z) = R_c (sin psi, -cos psi),   u = R_c psi',   alpha = psi - pi/2,
    r theta' = -u,   contact_x = R_b sin psi.

The kinetic energy is ``M u^2``, so that the centre moves like a pendulum of length ``2 R_c``:

    psi'' = -(g / (2 R_c)) sin psi,   u^2 = g R_c (V - 1 + cos psi),   V = v_0^2 / (g R_c),

v_0 the speed at the lowest point (V may be reckoned from any state). With ``k^2 = V/2``,
``omega^2 = g / (2 R_c)``, ``tau = omega t + tau_0``:

    V < 2, libration:  sin(psi/2) = k sn(tau, k),  psi' = 2 k omega cn(tau, k),
                       period 4 K(k) / omega;
    V > 2, rotation:   psi/2 = am(k tau, 1/k),     psi' = 2 k omega dn(k tau, 1/k),
                       period 2 K(1/k) / (k omega).

The contact is kept by force; the normal reaction is ``N = M (u^2/R_c + g cos psi) =
M g (V - 1 + 2 cos psi)``. For ``1 < V < 3`` it vanishes, with the hoop in motion, at
``cos psi = (1 - V)/2``; below, the hoop rolls to and fro with ``|psi| <= pi/2``; from V = 3 on it
loops the loop in contact. SI units, angles in rad; parameters are the binary numbers they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mpmath
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .rolling_geometry import Arrays

GUARD_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class BowlParameters:
    """Mass M of the hoop in kg, its radius r in m, g in m/s^2, radius R_b of the circle in m."""

    wheel_mass: float = 1.0
    radius: float = 0.01
    gravity: float = 9.81
    circle_radius: float = 0.5


DEFAULT_PARAMETERS: Final = BowlParameters()


@dataclass(frozen=True, slots=True)
class _Motion:
    """Constants of psi(t) in mpmath's numbers.

    Attributes
    ----------
    path_radius
        R_c, m.
    frequency
        omega, 1/s.
    square
        k^2 = V/2.
    whole
        The whole turns in psi at the start, rad.
    sense
        Sign of psi' at the start (1 at rest); what follows is reckoned in this sense.
    phase
        Argument of the elliptic functions at the start: tau_0 (libration), k tau_0 (rotation).
    """

    path_radius: Any
    frequency: Any
    square: Any
    whole: Any
    sense: int
    phase: Any

    def period(self) -> Any:
        """Time after which psi repeats itself (in rotation: up to a turn), s."""
        if self.square > 1:
            return 2 * mpmath.ellipk(1 / self.square) / (mpmath.sqrt(self.square) * self.frequency)
        return 4 * mpmath.ellipk(self.square) / self.frequency

    def at(self, time: Any) -> tuple[Any, Any]:
        """Psi in rad and psi' in rad/s."""
        angle, rate = self._rotation(time) if self.square > 1 else self._libration(time)
        return self.whole + self.sense * angle, self.sense * rate

    def _libration(self, time: Any) -> tuple[Any, Any]:
        modulus = mpmath.sqrt(self.square)
        argument = self.frequency * mpmath.fmod(time, self.period()) + self.phase
        sn, cn, dn = _elliptic_functions(argument, self.square)
        return 2 * mpmath.atan2(modulus * sn, dn), 2 * modulus * self.frequency * cn

    def _rotation(self, time: Any) -> tuple[Any, Any]:
        rate = mpmath.sqrt(self.square) * self.frequency
        argument, turn = rate * time + self.phase, 2 * mpmath.ellipk(1 / self.square)
        turns = mpmath.nint(argument / turn)
        sn, cn, dn = _elliptic_functions(argument - turns * turn, 1 / self.square)
        return 2 * (mpmath.pi * turns + mpmath.atan2(sn, cn)), 2 * rate * dn


def _elliptic_functions(argument: Any, parameter: Any) -> tuple[Any, Any, Any]:
    """Sn, cn, dn, of ``parameter`` m = modulus^2."""
    sn, cn, dn = (mpmath.ellipfun(name, argument, m=parameter) for name in ("sn", "cn", "dn"))
    return sn, cn, dn


def _motion(polar_angle: float, speed: float, parameters: BowlParameters) -> _Motion:
    """To be called in the precision wanted."""
    path_radius = mpmath.mpf(parameters.circle_radius) - mpmath.mpf(parameters.radius)
    frequency = mpmath.sqrt(mpmath.mpf(parameters.gravity) / (2 * path_radius))
    whole = 2 * mpmath.pi * mpmath.nint(polar_angle / (2 * mpmath.pi))
    sense = -1 if speed < 0 else 1
    half_angle = sense * (polar_angle - whole) / 2
    half_rate = abs(mpmath.mpf(speed)) / (2 * frequency * path_radius)
    square = mpmath.sin(half_angle) ** 2 + half_rate**2  # k^2, with psi' = 2 omega half_rate
    if square == 1:
        msg = "the hoop creeps up to the top of the circle: neither libration nor rotation"
        raise ValueError(msg)
    if square > 1:
        phase = mpmath.ellipf(half_angle, 1 / square)
    else:  # tan = sn / cn
        phase = mpmath.ellipf(mpmath.atan2(mpmath.sin(half_angle), half_rate), square)
    return _Motion(path_radius, frequency, square, whole, sense, phase)


def bowl_states(
    times: ArrayLike,
    polar_angle: float,
    speed: float,
    parameters: BowlParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> Arrays:
    """State of the hoop inside the circle at given times, exact to rounding in doubles.

    Parameters
    ----------
    times
        Times in s (of any sign and order) after the start.
    polar_angle, speed
        Start: psi in rad and signed speed of the centre in m/s.
    parameters
        Constants.
    digits
        Decimals that the arithmetic keeps.

    Returns
    -------
    dict
        What `rolling_wheel.hoop_states` gives, and polar_angle (rad), polar_angle_dot (rad/s);
        theta starts at 0.

    Raises
    ------
    ValueError
        On the separatrix between libration and rotation.
    """
    names = ("contact_x", "speed", "x", "z", "theta", "alpha", "x_dot", "z_dot", "theta_dot")
    names += ("polar_angle", "polar_angle_dot")
    moments = np.asarray(times, dtype=float)
    rows = np.empty((moments.size, len(names)))
    with mpmath.workdps(digits + GUARD_DIGITS):
        motion = _motion(float(polar_angle), float(speed), parameters)
        path_radius, radius = motion.path_radius, mpmath.mpf(parameters.radius)
        for row, time in zip(rows, moments.ravel(), strict=True):
            angle, rate = motion.at(mpmath.mpf(time))
            cosine, sine, velocity = mpmath.cos(angle), mpmath.sin(angle), path_radius * rate
            row[:] = [
                parameters.circle_radius * sine,
                velocity,
                path_radius * sine,
                -path_radius * cosine,
                path_radius * (polar_angle - angle) / radius,
                angle - mpmath.pi / 2,
                velocity * cosine,
                velocity * sine,
                -velocity / radius,
                angle,
                rate,
            ]
    columns = rows.T.reshape((len(names), *moments.shape))
    return dict(zip(names, columns, strict=True))


def bowl_period(
    polar_angle: float,
    speed: float,
    parameters: BowlParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> float:
    """Period of the oscillation, or time of a whole turn round the circle, in s."""
    with mpmath.workdps(digits + GUARD_DIGITS):
        return float(_motion(float(polar_angle), float(speed), parameters).period())


def bowl_energy(
    polar_angle: ArrayLike, speed: ArrayLike, parameters: BowlParameters = DEFAULT_PARAMETERS
) -> NDArray[np.float64]:
    """Energy ``M u^2 - M g R_c cos psi`` in J; least at rest at the lowest point, ``-M g R_c``."""
    path_radius = parameters.circle_radius - parameters.radius
    height = -path_radius * np.cos(polar_angle)
    return parameters.wheel_mass * (np.square(speed) + parameters.gravity * height)


def bowl_reactions(
    polar_angle: ArrayLike, speed: ArrayLike, parameters: BowlParameters = DEFAULT_PARAMETERS
) -> Arrays:
    """Accelerations and contact force of the hoop inside the circle, in closed form.

    ``u' = -(g/2) sin psi``, ``R.t = (M g/2) sin psi``, ``R.N = M (u^2/R_c + g cos psi)`` with the
    inward normal N, torque ``r R.t``.

    Parameters
    ----------
    polar_angle, speed
        psi in rad and speed of the centre in m/s (broadcast against each other).
    parameters
        Constants.

    Returns
    -------
    dict
        What `rolling_wheel.hoop_reactions` gives, and normal (N): R.N, negative where the circle
        would have to pull.
    """
    mass, gravity, radius = parameters.wheel_mass, parameters.gravity, parameters.radius
    speed = np.asarray(speed, dtype=float)
    cosine, sine = np.cos(polar_angle), np.sin(polar_angle)
    alpha_dot = speed / (parameters.circle_radius - radius)
    speed_dot = -gravity / 2 * sine + 0 * speed
    inwards = speed * alpha_dot
    along, normal = -mass * speed_dot, mass * (inwards + gravity * cosine)
    return {
        "speed_dot": speed_dot,
        "x_ddot": speed_dot * cosine - inwards * sine,
        "z_ddot": speed_dot * sine + inwards * cosine,
        "theta_ddot": -speed_dot / radius,
        "alpha_dot": alpha_dot + 0 * sine,
        "reaction_x": along * cosine - normal * sine,
        "reaction_z": along * sine + normal * cosine,
        "torque": radius * along,
        "normal": normal,
    }


def bowl_contact_loss_angle(
    bottom_speed: float, parameters: BowlParameters = DEFAULT_PARAMETERS, digits: int = 34
) -> float | None:
    """Angle |psi| in rad at which a hoop that only leans on the circle leaves it.

    Parameters
    ----------
    bottom_speed
        Speed v_0 of the centre at the lowest point, m/s (of any sign).
    parameters
        Constants.
    digits
        Decimals that the arithmetic keeps.

    Returns
    -------
    float or None
        ``acos((1 - V)/2)``, in the second quadrant; None unless ``1 < V < 3``.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        angle = _loss_angle(2 * _motion(0.0, float(bottom_speed), parameters).square)
        return None if angle is None else float(angle)


def _loss_angle(energy: Any) -> Any | None:
    """Of V, in mpmath's numbers."""
    return mpmath.acos((1 - energy) / 2) if 1 < energy < 3 else None


def bowl_contact_loss_time(
    polar_angle: float,
    speed: float,
    parameters: BowlParameters = DEFAULT_PARAMETERS,
    digits: int = 34,
) -> float | None:
    """Time in s until contact is lost; None if it lasts.

    ``psi' = 2 k omega sqrt(1 - sin^2(psi/2) / k^2)`` does not vanish before the loss, so that the
    time is a difference of incomplete elliptic integrals, ``F(psi/2, 1/k) / (k omega)``, whose
    modulus 1/k may be on either side of 1.

    Parameters
    ----------
    polar_angle, speed
        Start: psi in rad and signed speed of the centre in m/s.
    parameters
        Constants.
    digits
        Decimals that the arithmetic keeps.

    Raises
    ------
    ValueError
        If the circle does not push on the hoop at the start.
    """
    push = float(bowl_reactions(polar_angle, speed, parameters)["normal"])
    if push <= 0:
        msg = f"there is no contact to lose: the normal reaction is {push:.3g} N at the start"
        raise ValueError(msg)
    with mpmath.workdps(digits + GUARD_DIGITS):
        motion = _motion(float(polar_angle), float(speed), parameters)
        loss = _loss_angle(2 * motion.square)
        if loss is None:
            return None
        begin = motion.sense * (polar_angle - motion.whole)
        span = mpmath.ellipf(loss / 2, 1 / motion.square) - mpmath.ellipf(
            begin / 2, 1 / motion.square
        )
        return float(span / (mpmath.sqrt(motion.square) * motion.frequency))
