"""Vehicles in the plane in the fewest numbers: virtual power along speeds that are free.

The velocities of all masses are w(q, s, t), affine in the free speeds s; with weights mu (masses
and moments of inertia) d'Alembert's principle says, for every free speed,

    sum mu w' dw/ds_k = power of the applied forces along s_k.

w' at constant s is a derivative along the motion, taken by a complex step: it is exact to rounding.
Nothing of daesolve is used. Bodies have as masses their mass centre, twice, their turn, and each
wheel its spin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

STEP = 1e-200

Velocities = Callable[[np.ndarray, np.ndarray, complex], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""(q, s, t) -> (velocities of the masses, weights, rates of q)."""


def accelerations(
    velocities: Velocities, q: np.ndarray, s: np.ndarray, t: float, force: np.ndarray
) -> np.ndarray:
    """Return s'; `force` is along the free speeds."""
    _, mu, rates = velocities(q, s, t)
    nothing = velocities(q, 0.0 * s, t)[0]
    along = np.stack([velocities(q, unit, t)[0] - nothing for unit in np.eye(len(s))], axis=1)
    bias = velocities(q + 1j * STEP * rates, s + 0j, t + 1j * STEP)[0].imag / STEP
    mass = along.T @ (mu[:, None] * along)
    return np.linalg.solve(mass, force - along.T @ (mu * bias))


def motion(
    velocities: Velocities,
    force: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
    q: np.ndarray,
    s: np.ndarray,
    times: np.ndarray,
) -> np.ndarray:
    """Return q and s at times, (n, times)."""
    count = len(q)

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        own, speeds = x[:count], x[count:]
        found = accelerations(velocities, own, speeds, t, force(own, speeds, t))
        return np.concatenate([velocities(own, speeds, t)[2].real, found])

    span = (times[0], times[-1])
    start = np.concatenate([q, s])
    run = solve_ivp(rate, span, start, "DOP853", times, rtol=1e-13, atol=1e-13)
    assert run.success
    return run.y


def body(angle, speed, rate, centre, mass, inertia, wheels):
    """Return velocities and weights of a body, by the speed of its axle, which does not slide.

    `centre` is ahead of the axle; `wheels` are radius, track and inertia of each of both.
    """
    cosine, sine = np.cos(angle), np.sin(angle)
    radius, track, spinning = wheels
    moving = [speed * cosine - centre * rate * sine, speed * sine + centre * rate * cosine, rate]
    spins = [(speed - side * track / 2 * rate) / radius for side in (1.0, -1.0)]
    return [*moving, *spins], [mass, mass, inertia, spinning, spinning]


# ---- a train: q = x, y of the tractor's axle, psi_0, psi_1, ...; s = speed of its steered wheel


def train(p, trailers, steering):
    """Return the velocities of a train, with the steering a function of time."""
    wheels = p["wheel_radius"], p["track"], p["wheel_inertia"]

    def velocities(q, s, t):
        delta = steering(t)
        speed, rate = s[0] * np.cos(delta), s[0] * np.sin(delta) / p["wheelbase"]
        rates = [speed * np.cos(q[2]), speed * np.sin(q[2]), rate]
        sizes = p["tractor_centre"], p["tractor_mass"], p["tractor_inertia"], wheels
        w, mu = body(q[2], speed, rate, *sizes)
        sizes = p["trailer_centre"], p["trailer_mass"], p["trailer_inertia"], wheels
        for k in range(trailers):
            # The hitch moves with speed and -c rate in the leader's axes; turn them by beta.
            beta = q[3 + k] - q[2 + k]
            across = -p["hitch"] * rate
            speed, sideways = (
                speed * np.cos(beta) + across * np.sin(beta),
                across * np.cos(beta) - speed * np.sin(beta),
            )
            rate = sideways / p["drawbar"]
            more, weights = body(q[3 + k], speed, rate, *sizes)
            w, mu, rates = w + more, mu + weights, [*rates, rate]
        return np.array(w), np.array(mu), np.array(rates)

    return velocities


# ---- a caster on a soft pin: q = x of the cart, y of the pin, theta; s = x', y'


def soft_caster(p):
    """Return the velocities of a cart with its caster."""
    wheels = p["wheel_radius"], p["track"], p["wheel_inertia"]

    def velocities(q, s, t):
        cosine, sine = np.cos(q[2]), np.sin(q[2])
        rate = (s[1] * cosine - s[0] * sine) / p["trail"]
        speed = s[0] * cosine + s[1] * sine
        sizes = p["trail"] - p["centre"], p["mass"], p["inertia"], wheels
        w, mu = body(q[2], speed, rate, *sizes)
        rates = np.array([s[0], s[1], rate])
        return np.array([s[0], *w]), np.array([p["cart_mass"], *mu]), rates

    return velocities


# ---- a roller racer: q = x, y of the rear axle, theta, phi


def allowed(p, phi, phi_dot, along):
    """Return speed and rate of the seat: along (l cos phi + d, sin phi), and with phi'."""
    lever, sine = p["rear_length"] * np.cos(phi) + p["front_length"], np.sin(phi)
    least = -p["front_length"] * phi_dot / (lever**2 + sine**2)
    return lever * along - sine * least, sine * along + lever * least


def racer(p, q, speed, rate, phi, phi_dot):
    """Return velocities and weights of seat and handlebar, in the order of both bodies."""
    rear = p["wheel_radius"], p["rear_track"], p["wheel_inertia"]
    front = p["wheel_radius"], p["front_track"], p["wheel_inertia"]
    w, mu = body(q[2], speed, rate, p["seat_centre"], p["seat_mass"], p["seat_inertia"], rear)
    ahead = speed * np.cos(phi) + p["rear_length"] * rate * np.sin(phi)
    sizes = p["handle_centre"] - p["front_length"], p["handle_mass"], p["handle_inertia"], front
    more, weights = body(q[2] + phi, ahead, rate + phi_dot, *sizes)
    return np.array(w + more), np.array(mu + weights)


def steered_racer(p, wave):
    """Return the velocities with phi and phi' given by `wave`; s is along the allowed motion."""

    def velocities(q, s, t):
        phi, phi_dot = wave(t)
        speed, rate = allowed(p, phi, phi_dot, s[0])
        w, mu = racer(p, q, speed, rate, phi, phi_dot)
        return w, mu, np.array([speed * np.cos(q[2]), speed * np.sin(q[2]), rate])

    return velocities


def driven_racer(p):
    """Return the velocities with phi as the fourth coordinate and phi' as the second speed."""

    def velocities(q, s, t):
        speed, rate = allowed(p, q[3], s[1], s[0])
        w, mu = racer(p, q, speed, rate, q[3], s[1])
        return w, mu, np.array([speed * np.cos(q[2]), speed * np.sin(q[2]), rate, s[1]])

    return velocities
