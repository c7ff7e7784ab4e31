"""The periodic motion of a hoop on a curve, exact: see `HoopMotion`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mpmath
import numpy as np
from scipy.optimize import brentq

from .rolling_geometry import (
    Curve,
    RollingWheelParameters,
    centre_height,
    centre_state,
    curve_of,
    level_points,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .rolling_geometry import Arrays

GUARD_DIGITS: Final = 12
LARGEST_SERIES: Final = 8192


class HoopMotion:
    """The periodic motion of the hoop in Fourier series of a uniformising angle.

    Let ``r theta' = -spin(xi) u`` (``spin = 1``: no slip). Energy is ``E = M (i u^2 + g z_c)`` with
    ``i = (1 + spin^2) / 2``. Between the turning points ``x_1 < x_2`` let

        xi = middle - half cos(gamma),   z_c(x_1) - z_c(xi) = (xi - x_1) (x_2 - xi) q(xi),  q > 0;

    then ``u = half sin(gamma) sqrt(g q / i)`` for all time, ``gamma`` increasing, and

        dt/dgamma = S' sqrt(i / (g q)) = c_0/2 + sum c_k cos(k gamma),
        t(gamma) = c_0 gamma / 2 + sum (c_k / k) sin(k gamma),   period = pi c_0,

    where ``S' = (1 - r kappa) sqrt(1 + h'^2)`` is the length of the centre's path per xi. The
    rolled length, whose rate is ``-r theta'``, follows likewise from the series of ``spin S'``.
    Both functions are analytic and periodic, so the midpoint rule gives their coefficients with
    an error that falls geometrically; nodes are doubled until the last coefficients vanish.
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
            curve = self._curve(start)
            self.highest = (
                self._height(start) + self._inertia(curve) * start_speed**2 / self.gravity
            )
            if start_speed == 0 and curve.slope == 0:
                msg = "the hoop is at rest at a level point: there is no motion to describe"
                raise ValueError(msg)
            self.left = self._turning_point(start, start_speed, -1)
            self.right = self._turning_point(start, start_speed, 1)
            self.middle, self.half = (self.left + self.right) / 2, (self.right - self.left) / 2
            self.time_terms, self.roll_terms = self._series()
            self.period = mpmath.pi * self.time_terms[0]
            cosine = (self.middle - start) / self.half
            gamma = mpmath.acos(min(max(cosine, mpmath.mpf(-1)), mpmath.mpf(1)))
            self.start_gamma = -gamma if start_speed < 0 else gamma
            self.start_time = self._time_and_rate(self.start_gamma)[0]
            self.start_roll = self._rolled_length(self.start_gamma)
            self.guess_angles = np.linspace(-np.pi, np.pi, 4097)
            orders = np.arange(1, len(self.time_terms))
            terms = np.array([float(term) for term in self.time_terms])
            self.guess_times = terms[0] / 2 * self.guess_angles + np.sin(
                np.outer(self.guess_angles, orders)
            ) @ (terms[1:] / orders)

    def _curve(self, contact_x: Any) -> Curve:
        return curve_of(contact_x, self.curve_a, self.curve_b, mpmath.sqrt)

    def _spin(self, curve: Curve) -> Any:
        """``-r theta' / u``: here no slip."""
        return mpmath.mpf(1)

    def _inertia(self, curve: Curve) -> Any:
        """Kinetic energy over M u^2."""
        return (1 + self._spin(curve) ** 2) / 2

    def _height(self, contact_x: Any) -> Any:
        curve = self._curve(contact_x)
        return curve.height + self.radius / curve.stretch

    def _turning_point(self, start: Any, speed: Any, direction: int) -> Any:
        """First point ahead where z_c is highest: found among the monotonic pieces of z_c."""
        if speed == 0 and direction * self._curve(start).slope > 0:
            return start
        inside = float(start)
        ahead = [
            level for level in level_points(self.parameters) if direction * (level - inside) > 0
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
        """Fourier coefficients c_k of dt/dgamma and of spin S'."""
        nodes = 128
        while nodes <= LARGEST_SERIES:
            table = [mpmath.cospi(mpmath.mpf(j) / (2 * nodes)) for j in range(4 * nodes)]
            time_rates, roll_rates = [], []
            for node in range(nodes):
                contact_x = self.middle - self.half * table[2 * node + 1]
                curve = self._curve(contact_x)
                drop = self.highest - curve.height - self.radius / curve.stretch
                quotient = drop / ((contact_x - self.left) * (self.right - contact_x))
                centre_stretch = curve.stretch - self.radius * curve.second / curve.stretch**2
                slowness = mpmath.sqrt(self._inertia(curve) / (self.gravity * quotient))
                time_rates.append(centre_stretch * slowness)
                roll_rates.append(centre_stretch * self._spin(curve))
            series = [_cosine_terms(values, table) for values in (time_rates, roll_rates)]
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

    def _rolled_length(self, gamma: Any) -> Any:
        """``-r theta`` in m, up to a constant.

        It is the integral of ``half sin(gamma) spin S'`` over gamma.
        """
        turn = mpmath.expj(gamma)
        cosines, power = [], mpmath.mpc(1)
        for _ in range(len(self.roll_terms) + 1):
            cosines.append(power.real)
            power *= turn
        length = -self.roll_terms[0] / 2 * cosines[1]
        for order, term in enumerate(self.roll_terms[1:], start=1):
            length -= term * cosines[order + 1] / (2 * (order + 1))
            if order > 1:
                length += term * cosines[order - 1] / (2 * (order - 1))
        return self.half * length

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
            magnitude = mpmath.sqrt(self.gravity * drop / self._inertia(self._curve(contact_x)))
            speed = mpmath.sign(mpmath.sin(gamma)) * magnitude
            theta = (self.start_roll - self._rolled_length(gamma)) / self.radius
            return float(contact_x), float(speed), float(theta)

    def states(self, times: ArrayLike) -> Arrays:
        """What `hoop_states` returns."""
        moments = np.asarray(times, dtype=float)
        rows = np.array([self.at(time) for time in moments.ravel()]).reshape((*moments.shape, 3))
        return centre_state(rows[..., 0], rows[..., 1], rows[..., 2], self.parameters)

    def turning_times(self, until: float) -> NDArray[np.float64]:
        """What `hoop_turning_times` returns."""
        with mpmath.workdps(self.decimals):
            half_period = self.period / 2  # by symmetry, t(gamma = j pi) = j half_period
            tiny = mpmath.mpf(10) ** -self.digits
            first = int(mpmath.floor(self.start_time / half_period + tiny)) + 1
            last = int(mpmath.floor((mpmath.mpf(until) + self.start_time) / half_period))
            return np.array(
                [float(turn * half_period - self.start_time) for turn in range(first, last + 1)]
            )


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
