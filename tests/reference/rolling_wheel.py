"""A heavy hoop, with or without a pendulum, rolling without slip on a curve: exact motions.

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
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import heyoka as hy
import mpmath
import numpy as np
from scipy.optimize import brentq, minimize_scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Arrays = dict[str, NDArray[np.float64]]

GUARD_DIGITS: Final = 12
LARGEST_SERIES: Final = 8192


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


# --- geometry ------------------------------------------------------------------------------------


class _Curve(NamedTuple):
    """h, h', h'' and stretch = sqrt(1 + h'^2) at one abscissa (of any arithmetic type)."""

    height: Any
    slope: Any
    second: Any
    stretch: Any


def _curve(contact_x: Any, a: Any, b: Any, sqrt: Callable[[Any], Any]) -> _Curve:
    height = (((contact_x + a) * contact_x - b) * contact_x - a) * contact_x - (1 - b)
    slope = ((4 * contact_x + 3 * a) * contact_x - 2 * b) * contact_x - a
    second = (12 * contact_x + 6 * a) * contact_x - 2 * b
    return _Curve(height, slope, second, sqrt(1 + slope * slope))


def _curve_in_doubles(contact_x: ArrayLike, parameters: RollingWheelParameters) -> _Curve:
    abscissa = np.asarray(contact_x, dtype=float)
    return _curve(abscissa, parameters.curve_a, parameters.curve_b, np.sqrt)


def centre_height(
    contact_x: ArrayLike, parameters: RollingWheelParameters = DEFAULT_PARAMETERS
) -> NDArray[np.float64]:
    """Height of the wheel's centre in m: ``z_c = h + r / sqrt(1 + h'^2)``."""
    curve = _curve_in_doubles(contact_x, parameters)
    return curve.height + parameters.radius / curve.stretch


def _level_points(parameters: RollingWheelParameters) -> NDArray[np.float64]:
    """Abscissae of h' = 0, ascending: the extrema of z_c, since z_c' = h' (1 - r kappa)."""
    roots = np.roots([4.0, 3 * parameters.curve_a, -2 * parameters.curve_b, -parameters.curve_a])
    return np.sort(roots[np.abs(roots.imag) < 1e-12].real)


def _centre_state(
    contact_x: NDArray[np.float64],
    speed: NDArray[np.float64],
    theta: NDArray[np.float64],
    parameters: RollingWheelParameters,
) -> Arrays:
    """Cartesian state of the wheel in doubles from (xi, u, theta)."""
    curve = _curve_in_doubles(contact_x, parameters)
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


# --- the hoop alone: exact motion ----------------------------------------------------------------


class _HoopMotion:
    """The periodic motion of the hoop in Fourier series of a uniformising angle.

    Energy is ``E = M u^2 + M g z_c``. Between the turning points ``x_1 < x_2`` let

        xi = middle - half cos(gamma),   z_c(x_1) - z_c(xi) = (xi - x_1) (x_2 - xi) q(xi),  q > 0;

    then ``u = half sin(gamma) sqrt(g q)`` for all time, ``gamma`` increasing, and

        dt/dgamma = (1 - r kappa) sqrt(1 + h'^2) / sqrt(g q) = c_0/2 + sum c_k cos(k gamma),
        t(gamma) = c_0 gamma / 2 + sum (c_k / k) sin(k gamma),   period = pi c_0.

    The arc length of the curve follows likewise from the series of ``sqrt(1 + h'^2)``. Both
    functions are analytic and periodic, so the midpoint rule gives their coefficients with an
    error that falls geometrically; nodes are doubled until the last coefficients vanish.
    """

    def __init__(
        self, contact_x: float, speed: float, parameters: RollingWheelParameters, digits: int
    ) -> None:
        self.digits = digits
        self.decimals = digits + GUARD_DIGITS
        with mpmath.workdps(self.decimals):
            self.parameters = parameters
            self.radius = mpmath.mpf(parameters.radius)
            self.gravity = mpmath.mpf(parameters.gravity)
            self.curve_a = mpmath.mpf(parameters.curve_a)
            self.curve_b = mpmath.mpf(parameters.curve_b)
            start, start_speed = mpmath.mpf(contact_x), mpmath.mpf(speed)
            self.highest = self._height(start) + start_speed**2 / self.gravity
            if start_speed == 0 and self._curve(start).slope == 0:
                msg = "the hoop is at rest at a level point: there is no motion to describe"
                raise ValueError(msg)
            self.left = self._turning_point(start, start_speed, -1)
            self.right = self._turning_point(start, start_speed, 1)
            self.middle, self.half = (self.left + self.right) / 2, (self.right - self.left) / 2
            self.time_terms, self.stretch_terms = self._series()
            self.period = mpmath.pi * self.time_terms[0]
            cosine = (self.middle - start) / self.half
            gamma = mpmath.acos(min(max(cosine, mpmath.mpf(-1)), mpmath.mpf(1)))
            self.start_gamma = -gamma if start_speed < 0 else gamma
            self.start_time = self._time_and_rate(self.start_gamma)[0]
            self.start_roll = self._path_length(self.start_gamma)
            self.guess_angles = np.linspace(-np.pi, np.pi, 4097)
            orders = np.arange(1, len(self.time_terms))
            terms = np.array([float(term) for term in self.time_terms])
            self.guess_times = terms[0] / 2 * self.guess_angles + np.sin(
                np.outer(self.guess_angles, orders)
            ) @ (terms[1:] / orders)

    def _curve(self, contact_x: Any) -> _Curve:
        return _curve(contact_x, self.curve_a, self.curve_b, mpmath.sqrt)

    def _height(self, contact_x: Any) -> Any:
        curve = self._curve(contact_x)
        return curve.height + self.radius / curve.stretch

    def _turning_point(self, start: Any, speed: Any, direction: int) -> Any:
        """First point ahead where z_c is highest: found among the monotonic pieces of z_c."""
        if speed == 0 and direction * self._curve(start).slope > 0:
            return start
        inside = float(start)
        ahead = [
            level for level in _level_points(self.parameters) if direction * (level - inside) > 0
        ]
        outside = inside
        for level in sorted(ahead, reverse=direction < 0):
            outside = level
            if self._height(mpmath.mpf(level)) > self.highest:
                break
            inside = level
        while self._height(mpmath.mpf(outside)) <= self.highest:
            outside += direction
        highest = float(self.highest)
        root = mpmath.mpf(
            brentq(lambda x: float(centre_height(x, self.parameters)) - highest, inside, outside)
        )
        for _ in range(100):  # Newton with z_c' = h' (1 - r kappa)
            curve = self._curve(root)
            rise = curve.slope * (1 - self.radius * curve.second / curve.stretch**3)
            step = (self._height(root) - self.highest) / rise
            root -= step
            if abs(step) < mpmath.mpf(10) ** (2 - self.decimals):
                return root
        msg = "no turning point found: the motion is too near a separatrix"
        raise ValueError(msg)

    def _series(self) -> tuple[list[Any], list[Any]]:
        """Fourier coefficients c_k of dt/dgamma and of sqrt(1 + h'^2)."""
        nodes = 128
        while nodes <= LARGEST_SERIES:
            table = [mpmath.cospi(mpmath.mpf(j) / (2 * nodes)) for j in range(4 * nodes)]
            time_rates, stretches = [], []
            for node in range(nodes):
                contact_x = self.middle - self.half * table[2 * node + 1]
                curve = self._curve(contact_x)
                drop = self.highest - curve.height - self.radius / curve.stretch
                quotient = drop / ((contact_x - self.left) * (self.right - contact_x))
                centre_stretch = curve.stretch - self.radius * curve.second / curve.stretch**2
                time_rates.append(centre_stretch / mpmath.sqrt(self.gravity * quotient))
                stretches.append(curve.stretch)
            series = [_cosine_terms(values, table) for values in (time_rates, stretches)]
            negligible = mpmath.mpf(10) ** -(self.digits + 2)
            if all(max(map(abs, terms[-8:])) < negligible * terms[0] for terms in series):
                return _trimmed(series[0], negligible), _trimmed(series[1], negligible)
            nodes *= 2
        msg = "the Fourier series does not converge: the motion is too near a separatrix"
        raise ValueError(msg)

    def _time_and_rate(self, gamma: Any) -> tuple[Any, Any]:
        """t(gamma) and dt/dgamma, s."""
        turn, power = mpmath.expj(gamma), mpmath.mpc(1)
        time, rate = self.time_terms[0] * gamma / 2, self.time_terms[0] / 2
        for order, term in enumerate(self.time_terms[1:], start=1):
            power *= turn
            time += term * power.imag / order
            rate += term * power.real
        return time, rate

    def _path_length(self, gamma: Any) -> Any:
        """Length of the centre's path in m, up to a constant: integral of u dt.

        It is ``S - r psi``, S the arc length of the curve, the integral of
        ``half sin(gamma) sqrt(1 + h'^2)`` over gamma.
        """
        turn = mpmath.expj(gamma)
        cosines, power = [], mpmath.mpc(1)
        for _ in range(len(self.stretch_terms) + 1):
            cosines.append(power.real)
            power *= turn
        length = -self.stretch_terms[0] / 2 * cosines[1]
        for order, term in enumerate(self.stretch_terms[1:], start=1):
            length -= term * cosines[order + 1] / (2 * (order + 1))
            if order > 1:
                length += term * cosines[order - 1] / (2 * (order - 1))
        slope = self._curve(self.middle - self.half * cosines[1]).slope
        return self.half * length - self.radius * mpmath.atan(slope)

    def at(self, time: float) -> tuple[float, float, float]:
        """(contact_x, speed, theta) at one time, rounded from ``digits`` decimals."""
        with mpmath.workdps(self.decimals):
            target = mpmath.mpf(time) + self.start_time
            target -= self.period * mpmath.nint(target / self.period)
            gamma = mpmath.mpf(np.interp(float(target), self.guess_times, self.guess_angles))
            step = mpmath.inf
            while abs(step) > mpmath.mpf(10) ** -(self.digits // 2 + 3):  # Newton: then squared
                reached, rate = self._time_and_rate(gamma)
                step = (target - reached) / rate
                gamma += step
            contact_x = self.middle - self.half * mpmath.cos(gamma)
            drop = max(self.highest - self._height(contact_x), mpmath.mpf(0))
            speed = mpmath.sign(mpmath.sin(gamma)) * mpmath.sqrt(self.gravity * drop)
            theta = (self.start_roll - self._path_length(gamma)) / self.radius
            return float(contact_x), float(speed), float(theta)


def _cosine_terms(values: list[Any], table: list[Any]) -> list[Any]:
    """Coefficients of the cosine series through values at gamma = (j + 1/2) pi / n.

    ``table[j] = cos(j pi / (2 n))``, one whole turn of it.
    """
    nodes = len(values)
    return [
        2
        * mpmath.fdot(
            (value, table[(2 * node + 1) * order % (4 * nodes)])
            for node, value in enumerate(values)
        )
        / nodes
        for order in range(nodes)
    ]


def _trimmed(terms: list[Any], negligible: Any) -> list[Any]:
    last = max(order for order, term in enumerate(terms) if abs(term) > negligible * terms[0])
    return terms[: last + 1]


@lru_cache(maxsize=16)
def _hoop_motion(
    contact_x: float, speed: float, parameters: RollingWheelParameters, digits: int
) -> _HoopMotion:
    return _HoopMotion(contact_x, speed, parameters, digits)


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
    motion = _hoop_motion(float(contact_x), float(speed), parameters, digits)
    moments = np.asarray(times, dtype=float)
    rows = np.array([motion.at(time) for time in moments.ravel()]).reshape((*moments.shape, 3))
    return _centre_state(rows[..., 0], rows[..., 1], rows[..., 2], parameters)


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
    motion = _hoop_motion(float(contact_x), float(speed), parameters, digits)
    with mpmath.workdps(motion.decimals):
        half_period = motion.period / 2  # by symmetry, t(gamma = j pi) = j half_period
        tiny = mpmath.mpf(10) ** -digits
        first = int(mpmath.floor(motion.start_time / half_period + tiny)) + 1
        last = int(mpmath.floor((mpmath.mpf(until) + motion.start_time) / half_period))
        return np.array(
            [float(turn * half_period - motion.start_time) for turn in range(first, last + 1)]
        )


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
    heights = centre_height(_level_points(parameters), parameters)
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
    cosine, sine, alpha_dot, _ = _direction(contact_x, speed, parameters)
    speed_dot = -gravity / 2 * sine
    along = mass * gravity / 2 * sine
    across = mass * (speed * alpha_dot + gravity * cosine)
    return _wheel_quantities(speed, cosine, sine, alpha_dot, speed_dot, (along, across), parameters)


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


def _direction(
    contact_x: ArrayLike, speed: ArrayLike, parameters: RollingWheelParameters
) -> tuple[Any, Any, Any, Any]:
    """Give cos psi, sin psi, psi' (rad/s) and dpsi/ds = kappa / (1 - r kappa) (rad/m)."""
    curve = _curve_in_doubles(contact_x, parameters)
    curvature = curve.second / curve.stretch**3
    turn_per_length = curvature / (1 - parameters.radius * curvature)
    alpha_dot = np.asarray(speed, dtype=float) * turn_per_length
    return 1 / curve.stretch, curve.slope / curve.stretch, alpha_dot, turn_per_length


def _wheel_quantities(
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
    cosine, sine, alpha_dot, turn_per_length = _direction(contact_x, speed, parameters)
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
        **_wheel_quantities(speed, cosine, sine, alpha_dot, speed_dot, (along, across), parameters),
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
    slope_angle = np.arctan(_curve_in_doubles(contact_x, parameters).slope)
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
    lowest = centre_height(_level_points(parameters), parameters).min()
    least = gravity * ((wheel + bob) * lowest - bob * length)
    return float(pendulum_energy(contact_x, speed, phi, phi_dot, parameters) - least)


@lru_cache(maxsize=4)
def _pendulum_integrator(parameters: RollingWheelParameters) -> Any:
    """Adaptive Taylor integrator in quadruple precision of (xi, u, phi, w, theta)."""
    contact_x, speed, phi, phi_dot = hy.make_vars("contact_x", "speed", "phi", "phi_dot")
    theta = hy.make_vars("theta")
    quadruple = {
        name: hy.expression(hy.real128(getattr(parameters, name)))
        for name in RollingWheelParameters.__dataclass_fields__
    }
    radius = quadruple["radius"]
    curve = _curve(contact_x, quadruple["curve_a"], quadruple["curve_b"], hy.sqrt)
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
        tuple(quadruple[name] for name in names),
    )
    system = [
        (contact_x, speed / centre_stretch),
        (speed, speed_dot),
        (phi, phi_dot),
        (phi_dot, phi_ddot),
        (theta, -speed / radius),
    ]
    return hy.taylor_adaptive(
        system, state=[hy.real128(0)] * 5, fp_type=hy.real128, compact_mode=True
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
    state = _centre_state(rows[..., 0], rows[..., 1], rows[..., 4], parameters)
    return {**state, "phi": rows[..., 2], "phi_dot": rows[..., 3]}
