"""A heavy ball, with or without a pendulum inside, rolling without slip: independent motions.

``n`` is the unit normal of the surface from the contact to the centre ``c``, ``v = c'``,
``omega`` the angular velocity, ``k = I / (M r^2)``; gravity acts along ``-z``. Rolling is
``v = omega x r n``, that is ``omega = n x v / r + spin n``. With R out of Newton's and Euler's
equations,

    M v' = M g + R,   I omega' = -r n x R,

what is left is, with ``tau = r spin`` and P the projection on the tangent plane,

    (1 + k) P v' = P g + k tau n x n',   tau' = n . (v x n').                                   (1)

Conventions as in the problem: tangents ``t_x, t_y`` are e_x, e_y carried along by the reflection
that takes e_z to -n; the axle of the pendulum is the ball's own y axis; phi is the angle of the arm
from the ball's own -z axis, right-handed about the axle. The orientation is the unit quaternion
(w, x, y, z) with the rate (0, omega) (w, x, y, z) / 2.

Every ``float`` parameter is taken as the binary number it is. SI units, angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import heyoka as hy
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Arrays = dict[str, Array]

AXES: Final = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class RollingBallParameters:
    """Constants of the ball, the surface and the pendulum.

    Attributes
    ----------
    ball_mass, radius, inertia_ratio
        M in kg, r in m, and k.
    gravity
        g, m/s^2.
    slope
        Angle of the incline, which falls towards +x, rad.
    curvature_radius
        p of the bowl z = (x^2 + y^2) / (2 p), m.
    bob_mass, pendulum_length
        m in kg and l in m.
    """

    ball_mass: float = 1.0
    radius: float = 0.1
    inertia_ratio: float = 0.4
    gravity: float = 9.81
    slope: float = 0.3
    curvature_radius: float = 1.0
    bob_mass: float = 0.3
    pendulum_length: float = 0.08


DEFAULT_PARAMETERS: Final = RollingBallParameters()


# --- geometry ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A point of a surface: the contact, n there, and the matrix W of n' = W contact'."""

    contact: Array
    normal: Array
    bend: Array


def on_incline(x: float, y: float, parameters: RollingBallParameters = DEFAULT_PARAMETERS) -> Place:
    """The place above (x, y) on the plane."""
    normal = np.array([np.sin(parameters.slope), 0.0, np.cos(parameters.slope)])
    return Place(np.array([x, y, -x * np.tan(parameters.slope)]), normal, np.zeros((3, 3)))


def on_paraboloid(
    x: float, y: float, parameters: RollingBallParameters = DEFAULT_PARAMETERS
) -> Place:
    """The place above (x, y) on the bowl."""
    bowl = parameters.curvature_radius
    upward = np.array([-x / bowl, -y / bowl, 1.0])
    stretch = np.linalg.norm(upward)
    normal = upward / stretch
    second = np.diag([-1.0 / bowl, -1.0 / bowl, 0.0])
    bend = (np.eye(3) - np.outer(normal, normal)) @ second / stretch
    return Place(np.array([x, y, (x * x + y * y) / (2.0 * bowl)]), normal, bend)


def tangents(normal: Array) -> Array:
    """t_x and t_y as the rows of a (2, 3) array."""
    mirror = normal + np.array([0.0, 0.0, 1.0])
    return np.eye(3)[:2] - np.outer(normal[:2], mirror) / (1.0 + normal[2])


def ball_state(
    place: Place,
    speed_x: float,
    speed_y: float,
    spin: float,
    parameters: RollingBallParameters = DEFAULT_PARAMETERS,
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    **pendulum: float,
) -> dict[str, float]:
    """The consistent state of the ball at a place, by the problem's names."""
    velocity = np.array([speed_x, speed_y]) @ tangents(place.normal)
    omega = np.cross(place.normal, velocity) / parameters.radius + spin * place.normal
    centre = place.contact + parameters.radius * place.normal
    return {
        **named("{}", centre),
        **named("contact_{}", place.contact),
        **named("{}_dot", velocity),
        **named("omega_{}", omega),
        **{
            f"orientation_{a}": float(o) for a, o in zip("wxyz", np.array(orientation), strict=True)
        },
        **pendulum,
    }


def named(pattern: str, vector: Any) -> dict[str, Any]:
    """The components of a vector by name."""
    return {pattern.format(axis): part for axis, part in zip(AXES, vector, strict=True)}


def vector(state: Mapping[str, Any], pattern: str) -> Array:
    """A vector of its components by name, (3,) or (3, k)."""
    return np.array([state[pattern.format(axis)] for axis in AXES])


# --- the bare ball: closed forms -----------------------------------------------------------------


def incline_acceleration(parameters: RollingBallParameters = DEFAULT_PARAMETERS) -> float:
    """Acceleration down the slope, m/s^2: 5/7 of a sliding point's."""
    return parameters.gravity * np.sin(parameters.slope) / (1.0 + parameters.inertia_ratio)


def incline_motion(
    times: ArrayLike,
    speed_x: float,
    speed_y: float,
    spin: float,
    parameters: RollingBallParameters = DEFAULT_PARAMETERS,
) -> Arrays:
    """States (without orientation) and reactions of the ball that starts above the origin.

    (1) with n' = 0: a constant acceleration down the slope, and a constant spin.

    Parameters
    ----------
    times
        (k,), s.
    speed_x, speed_y, spin
        At the start: m/s down and across the slope, rad/s about n.
    parameters
        Constants.

    Returns
    -------
    dict
        Name -> (k,).
    """
    moments = np.asarray(times, dtype=float)
    acceleration = incline_acceleration(parameters)
    place = on_incline(0.0, 0.0, parameters)
    normal, (down, across) = place.normal, tangents(place.normal)
    travelled = np.outer(down, (speed_x + acceleration * moments / 2) * moments)
    contact = travelled + np.outer(across, speed_y * moments)
    velocity = np.outer(down, speed_x + acceleration * moments)
    velocity += np.outer(across, np.full_like(moments, speed_y))
    omega = np.cross(normal, velocity.T).T / parameters.radius + spin * normal[:, None]
    weight = parameters.ball_mass * parameters.gravity
    reaction = parameters.ball_mass * acceleration * down + np.array([0.0, 0.0, weight])
    torque = -parameters.radius * np.cross(normal, reaction)
    same = np.ones_like(moments)
    return {
        **named("{}", contact + parameters.radius * normal[:, None]),
        **named("contact_{}", contact),
        **named("{}_dot", velocity),
        **named("omega_{}", omega),
        **named("reaction_{}", np.outer(reaction, same)),
        **named("torque_{}", np.outer(torque, same)),
    }


def tube_motion(
    times: ArrayLike,
    tube_radius: float,
    speed_up: float,
    speed_round: float,
    spin: float,
    parameters: RollingBallParameters = DEFAULT_PARAMETERS,
) -> Arrays:
    """Centre and normal force of a ball inside an upright round tube: it does not fall down.

    It starts at the contact (tube_radius, 0, 0). By (1) with W the rate of turn about the axis,

        W = constant,   tau = tau_0 - W (z - z_0),
        (1 + k) z'' = -g + k W (tau_0 - W (z - z_0)),

    so the height swings with the circular frequency W sqrt(k / (1 + k)), that is W sqrt(2/7).

    Parameters
    ----------
    times
        (k,), s.
    tube_radius
        m.
    speed_up, speed_round, spin
        At the start: m/s along z and towards +y, rad/s about n, which points to the axis.
    parameters
        Constants.

    Returns
    -------
    dict
        x, y, z and normal -> (k,).
    """
    moments = np.asarray(times, dtype=float)
    k, circle = parameters.inertia_ratio, tube_radius - parameters.radius
    turning = speed_round / circle
    frequency = turning * np.sqrt(k / (1.0 + k))
    pull = (k * turning * parameters.radius * spin - parameters.gravity) / (1.0 + k)
    middle = pull / frequency**2
    height = middle * (1.0 - np.cos(frequency * moments))
    height += speed_up / frequency * np.sin(frequency * moments)
    return {
        "x": circle * np.cos(turning * moments),
        "y": circle * np.sin(turning * moments),
        "z": height,
        "normal": np.full_like(moments, parameters.ball_mass * circle * turning**2),
    }


def cosine_where_dome_is_left(
    start: float, parameters: RollingBallParameters = DEFAULT_PARAMETERS
) -> float:
    """Cosine of the angle from the vertical at which a ball rolls off a round dome.

    Released from rest at the angle `start`: (1 + k) v^2 / 2 = g a (cos(start) - cos) and, where the
    normal force vanishes, v^2 = g a cos. From the top: 10/17.
    """
    return float(2.0 * np.cos(start) / (3.0 + parameters.inertia_ratio))


# --- the bare ball in the bowl -------------------------------------------------------------------


def _cross(a: list[Any], b: list[Any]) -> list[Any]:
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def _dot(a: list[Any], b: list[Any]) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def paraboloid_equations(
    parameters: RollingBallParameters, number: Callable[[float], Any]
) -> list[tuple[Any, Any]]:
    """Equations (1) in the chart (X, Y) of the contact, which is regular at the bottom too.

    With c(X, Y) and its derivatives c_i, c_ij, (1) is, for i = X, Y,

        (1 + k) c_i . (c_j X_j'' + c_jk X_j' X_k') = -g c_i . e_z + k tau c_i . (n x n').
    """
    names = ("X", "Y", "X_dot", "Y_dot", "tau", "w", "i", "j", "k")
    variables = hy.make_vars(*names)
    at, rates, tau, attitude = variables[:2], variables[2:4], variables[4], variables[5:]
    bowl, radius, ratio, gravity = (
        hy.expression(number(getattr(parameters, name)))
        for name in ("curvature_radius", "radius", "inertia_ratio", "gravity")
    )
    stretch = hy.sqrt(1 + (at[0] * at[0] + at[1] * at[1]) / (bowl * bowl))
    normal = [-at[0] / bowl / stretch, -at[1] / bowl / stretch, 1 / stretch]
    contact = [at[0], at[1], (at[0] * at[0] + at[1] * at[1]) / (2 * bowl)]
    centre = [a + radius * n for a, n in zip(contact, normal, strict=True)]

    def along(column: list[Any]) -> list[Any]:
        return [hy.diff(e, at[0]) * rates[0] + hy.diff(e, at[1]) * rates[1] for e in column]

    velocity, turning = along(centre), along(normal)
    bias = along(velocity)
    lever = _cross(normal, turning)
    slopes = [[hy.diff(e, place) for e in centre] for place in at]
    (a, b), (_, d) = [[_dot(one, other) for other in slopes] for one in slopes]
    right = [
        (ratio * tau * _dot(one, lever) - gravity * one[2]) / (1 + ratio) - _dot(one, bias)
        for one in slopes
    ]
    determinant = a * d - b * b
    omega = [
        (part + tau * n) / radius for part, n in zip(_cross(normal, velocity), normal, strict=True)
    ]
    turned = _cross(omega, attitude[1:])
    return [
        (at[0], rates[0]),
        (at[1], rates[1]),
        (rates[0], (d * right[0] - b * right[1]) / determinant),
        (rates[1], (a * right[1] - b * right[0]) / determinant),
        (tau, _dot(normal, _cross(velocity, turning))),
        (attitude[0], -_dot(omega, attitude[1:]) / 2),
        *[
            (attitude[1 + index], (attitude[0] * omega[index] + turned[index]) / 2)
            for index in range(3)
        ],
    ]


@lru_cache(maxsize=4)
def _paraboloid_integrator(parameters: RollingBallParameters) -> Any:
    return hy.taylor_adaptive(
        paraboloid_equations(parameters, hy.real128),
        state=[hy.real128(0)] * 9,
        fp_type=hy.real128,
        compact_mode=True,
    )


def paraboloid_motion(
    times: ArrayLike,
    start: Mapping[str, float],
    parameters: RollingBallParameters = DEFAULT_PARAMETERS,
) -> Arrays:
    """States of the bare ball in the bowl, integrated in quadruple precision.

    Taylor's method at tolerance 2e-34 on `paraboloid_equations`: the motion is regular, so the
    error is far below the last digit of the returned doubles.

    Parameters
    ----------
    times
        (k,) in s, ascending from 0.
    start
        A consistent state, from `ball_state`.
    parameters
        Constants.

    Returns
    -------
    dict
        Every state by the problem's names -> (k,).
    """
    place = on_paraboloid(start["contact_x"], start["contact_y"], parameters)
    velocity, omega = vector(start, "{}_dot"), vector(start, "omega_{}")
    contact_rate = np.linalg.solve(np.eye(3) + parameters.radius * place.bend, velocity)
    integrator = _paraboloid_integrator(parameters)
    integrator.time = hy.real128(0)
    begin = [*place.contact[:2], *contact_rate[:2], parameters.radius * (omega @ place.normal)]
    begin += [start[f"orientation_{axis}"] for axis in "wxyz"]
    integrator.state[:] = [hy.real128(float(value)) for value in begin]
    rows = np.empty((len(np.atleast_1d(times)), 9))
    for row, time in zip(rows, np.atleast_1d(times), strict=True):
        outcome = integrator.propagate_until(hy.real128(float(time)))[0]
        if outcome != hy.taylor_outcome.time_limit:
            msg = f"heyoka stopped before t = {time} s: {outcome}"
            raise RuntimeError(msg)
        row[:] = integrator.state.astype(float)
    states: list[dict[str, float]] = []
    for x, y, x_dot, y_dot, tau, *orientation in rows:
        place = on_paraboloid(x, y, parameters)
        rate = np.array([x_dot, y_dot, (x * x_dot + y * y_dot) / parameters.curvature_radius])
        velocity = rate + parameters.radius * (place.bend @ rate)
        speeds = tangents(place.normal) @ velocity
        states.append(ball_state(place, *speeds, tau / parameters.radius, parameters, orientation))
    return {name: np.array([state[name] for state in states]) for name in states[0]}


def routh_integrals(
    states: Mapping[str, Array], parameters: RollingBallParameters = DEFAULT_PARAMETERS
) -> Array:
    """Routh's two integrals of a ball on a surface of revolution, here the bowl; linear in v.

    Let the slope be the angle t, the centre at the distance rho from the axis, L = rho^2 times its
    azimuthal rate. In polar coordinates (1) becomes linear along the meridian, whatever the motion:

        dL/dt = -k/(1 + k) rho tau,   dtau/dt = L (1 - (sin t / rho) ds/dt) / rho,

    s the length of the centre's meridian. In the bowl, with q = p / cos t - r, rho = q sin t and
    ds/dt = p / cos^3 t - r,

        dL/dq = -k/(1 + k) p q tau / (q + r)^2,   dtau/dq = -L (q + r) / (p q^2),

    regular down to the bottom, q = p - r. The integrals are L and tau carried back to there.

    Parameters
    ----------
    states
        Name -> (k,), from a run in the bowl.
    parameters
        Constants.

    Returns
    -------
    ndarray
        (2, k): m^2/s and m/s.
    """
    k, bowl, radius = (
        parameters.inertia_ratio, parameters.curvature_radius, parameters.radius,
    )  # fmt: skip
    momentum = states["x"] * states["y_dot"] - states["y"] * states["x_dot"]
    normal = (vector(states, "{}") - vector(states, "contact_{}")) / radius
    tau = radius * np.sum(normal * vector(states, "omega_{}"), axis=0)
    place = np.sqrt(bowl**2 + states["contact_x"] ** 2 + states["contact_y"] ** 2) - radius
    one, other = hy.make_vars("L", "tau")
    q = hy.time
    integrator = hy.taylor_adaptive(
        [
            (one, -k / (1 + k) * bowl * q * other / ((q + radius) * (q + radius))),
            (other, -one * (q + radius) / (bowl * q * q)),
        ],
        [0.0, 0.0],
    )
    ordered, back = np.unique(place, return_inverse=True)
    columns: list[Array] = []
    for unit in ([1.0, 0.0], [0.0, 1.0]):
        integrator.time = bowl - radius
        integrator.state[:] = unit
        carried = np.array([_propagated(integrator, place) for place in ordered])
        columns.append(carried[back].T)
    (a, c), (b, d) = columns  # determinant 1, since the matrix has no trace
    return np.array([d * momentum - b * tau, a * tau - c * momentum])


def _propagated(integrator: Any, until: float) -> Array:
    integrator.propagate_until(until)
    return integrator.state.copy()
