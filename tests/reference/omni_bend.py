"""A vehicle on wheels with many light rollers that tips in a bend: Lagrange's equations, by hand.

Coordinates are the middle of the platform, three angles of the platform, and the angles of its
wheels in it. Every body has its own kinetic energy. Which wheels touch, stick or slide is told to
`integrate`; SciPy finds where that ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
import scipy

RELATIVE, ABSOLUTE = 1e-12, 1e-13


@dataclass(frozen=True, eq=False)
class Vehicle:
    """The vehicle; see `daesolve_problems.omni_lifting.light_sizes.numbers` for its parameters."""

    p: dict
    wheels: int = 3
    motors: bool = True
    mode: dict = field(default_factory=dict)

    @cached_property
    def axles(self):
        return [2 * np.pi * i / self.wheels for i in range(self.wheels)]

    def torques(self, time):
        """Return what drives a vehicle with its mass centre in the middle along the bend."""
        p, n, R, radius = self.p, self.wheels, self.p["platform_radius"], self.p["wheel_radius"]
        mass = p["platform_mass"] + n * p["wheel_mass"]
        axial = p["wheel_mass"] * radius**2 / 2
        about = p["platform_mass"] * R**2 / 2 + n * (axial / 2 + p["wheel_mass"] * R**2)
        inside = np.array([np.cos(p["bend_inside"]), np.sin(p["bend_inside"])])
        ahead = np.array([inside[1], -inside[0]])
        w_dot = p["bend_growth"]
        v_dot = about * w_dot / (2 * mass * R)
        w, v = p["bend_rate"] + w_dot * time, p["bend_speed"] + v_dot * time
        wrench = [*(mass * (v_dot * ahead + w * v * inside)), about * w_dot]
        tau = np.array([[-np.sin(a), np.cos(a), R] for a in self.axles])
        forces = np.linalg.pinv(tau.T) @ wrench
        rates = -(tau @ [*(v_dot * ahead), w_dot]) / radius
        return axial * rates - radius * forces

    @cached_property
    def functions(self):
        """Return M, the forces without contacts, gaps, slips and what they need, as functions."""
        p, n, radius = self.p, self.wheels, self.p["wheel_radius"]
        q, v, M = (ca.SX.sym(name, k) for name, k in (("q", 6 + n), ("v", 6 + n), ("M", n)))
        yaw, pitch, roll = q[3], q[4], q[5]
        turned = _about(2, yaw) @ _about(1, pitch) @ _about(0, roll)
        skew = sum((ca.jacobian(ca.vec(turned), q[k]) * v[k] for k in (3, 4, 5)), ca.SX(9, 1))
        cross = ca.reshape(skew, 3, 3) @ turned.T
        omega = ca.vertcat(cross[2, 1], cross[0, 2], cross[1, 0])
        up = ca.vertcat(0, 0, 1)

        def at(offset):
            arm = turned @ offset
            return q[:3] + arm, v[:3] + ca.cross(omega, arm)

        def energy(mass, moments, axes, turning, place, speed):
            own = axes.T @ turning
            return (mass * ca.sumsqr(speed) + ca.dot(own, moments * own)) / 2, mass * place[2]

        disc = p["platform_mass"] * p["platform_radius"] ** 2 / 4
        centre = [p["platform_centre_x"], p["platform_centre_y"], p["platform_height"]]
        T, height = energy(
            p["platform_mass"], ca.DM([disc, disc, 2 * disc]), turned, omega, *at(ca.DM(centre))
        )
        gaps, slips = [], []
        axial = p["wheel_mass"] * radius**2 / 2
        for i, angle in enumerate(self.axles):
            hub = p["platform_radius"] * ca.DM([np.cos(angle), np.sin(angle), 0])
            axes = turned @ _about(2, angle)
            spinning = omega + v[6 + i] * axes[:, 0]
            place, speed = at(hub)
            moments = ca.DM([axial, axial / 2, axial / 2])
            own, high = energy(p["wheel_mass"], moments, axes, spinning, place, speed)
            T, height = T + own, height + high
            along = ca.cross(axes[:, 0], up)
            sine = ca.norm_2(along)
            along = along / sine
            ring = radius - p["roller_radius"]
            gaps.append(place[2] - p["roller_radius"] - ring * sine)
            arm = ring * ca.cross(axes[:, 0], along) - p["roller_radius"] * up
            slips.append(ca.dot(speed + ca.cross(spinning, arm), along))
        gaps, slips = ca.vertcat(*gaps), ca.vertcat(*slips)
        momenta = ca.gradient(T, v)
        mass = ca.jacobian(momenta, v)
        force = ca.gradient(T - p["gravity"] * height, q) - ca.jacobian(momenta, q) @ v
        force += ca.vertcat(ca.SX(6, 1), M)
        rates = ca.jacobian(gaps, q) @ v
        tip = turned[2, 2]
        rim = at(ca.DM([0, 0, p["platform_height"]]))[0][2]
        rim -= p["platform_radius"] * ca.sqrt(1 - tip**2)
        normal, along = ca.jacobian(gaps, q), ca.jacobian(slips, v)
        bias = [ca.jacobian(rates, q) @ v, ca.jacobian(slips, q) @ v]
        return ca.Function(
            "vehicle",
            [q, v, M],
            [mass, force, normal, along, *bias, gaps, rates, slips, rim, T],
        )

    def values(self, x, time):
        """Return everything at a state, as arrays."""
        k = 6 + self.wheels
        torques = self.torques(time) if self.motors else np.zeros(self.wheels)
        return [np.array(a) for a in self.functions(x[:k], x[k:], torques)]

    def accelerations(self, time, x):
        """Return a, N and T of all wheels, in a mode: {wheel: None if it sticks, or its sign}."""
        mass, force, normal, along, gap_bias, slip_bias, *_ = self.values(x, time)
        touching = sorted(self.mode)
        stuck = [i for i in touching if self.mode[i] is None]
        columns = [normal[i] - self.p["friction"] * (self.mode[i] or 0.0) * along[i]
                   for i in touching] + [along[i] for i in stuck]  # fmt: skip
        rows = [normal[i] for i in touching] + [along[i] for i in stuck]
        bias = [*gap_bias[touching, 0], *slip_bias[stuck, 0]]
        size, count = len(mass), len(rows)
        whole = np.zeros((size + count, size + count))
        whole[:size, :size] = mass
        if count:
            whole[:size, size:], whole[size:, :size] = -np.array(columns).T, np.array(rows)
        right = np.concatenate([force[:, 0], -np.array(bias)])
        solution = np.linalg.solve(whole, right)
        N, T = np.zeros(self.wheels), np.zeros(self.wheels)
        N[touching] = solution[size : size + len(touching)]
        T[stuck] = solution[size + len(touching) :]
        for i in touching:
            if self.mode[i] is not None:
                T[i] = -self.p["friction"] * self.mode[i] * N[i]
        return solution[:size], N, T

    def integrate(self, start, until, x, ends):
        """Integrate until one of several functions of (time, x) falls through zero.

        Returns the time, the state, and the name of what ended it, "" for none.
        """

        def rhs(time, x):
            k = 6 + self.wheels
            return np.concatenate([x[k:], self.accelerations(time, x)[0]])

        watched = []
        for rule in ends.values():

            def guard(time, x, rule=rule):
                return rule(time, x)

            guard.terminal, guard.direction = True, -1.0
            watched.append(guard)
        run = scipy.integrate.solve_ivp(
            rhs, (start, until), x, "DOP853", rtol=RELATIVE, atol=ABSOLUTE, events=watched
        )
        name = next((n for n, t in zip(ends, run.t_events, strict=True) if len(t)), "")
        return run.t[-1], run.y[:, -1], name

    def load(self, i):
        """Return N of a wheel as a function of (time, x)."""
        return lambda time, x: self.accelerations(time, x)[1][i]

    def hold(self, i):
        """Return by how much friction is below its limit, as a function of (time, x)."""

        def rule(time, x):
            _, N, T = self.accelerations(time, x)
            return self.p["friction"] * N[i] - abs(T[i])

        return rule

    def gap(self, i):
        return lambda time, x: self.values(x, time)[6][i, 0]

    def slip(self, x, i):
        return self.values(x, 0.0)[8][i, 0]

    def rim(self, time, x):
        return self.values(x, time)[9][0, 0]

    def start(self):
        """Return the start: level, and rolling along the bend."""
        p = self.p
        ahead = p["bend_inside"] - np.pi / 2
        v = [p["bend_speed"] * np.cos(ahead), p["bend_speed"] * np.sin(ahead), p["bend_rate"]]
        rates = [
            -(np.dot([-np.sin(a), np.cos(a), p["platform_radius"]], v)) / p["wheel_radius"]
            for a in self.axles
        ]
        place = [0, 0, p["wheel_radius"], 0, 0, 0, *[0] * self.wheels]
        return np.array([*place, v[0], v[1], 0, v[2], 0, 0, *rates], dtype=float)

    def struck(self, x, i):
        """Return the velocities after wheel i alone is struck and sticks, and its impulses."""
        mass, _, normal, along, *_, rates, slips, _, _ = self.values(x, 0.0)
        k = 6 + self.wheels
        rows = np.array([normal[i], along[i]])
        wanted = [-(1 + self.p["restitution"]) * rates[i, 0], -slips[i, 0]]
        inverse = np.linalg.solve(mass, rows.T)
        impulses = np.linalg.solve(rows @ inverse, wanted)
        return x[k:] + inverse @ impulses, impulses


def _about(axis, angle):
    c, s = ca.cos(angle), ca.sin(angle)
    first, second = [(1, 2), (2, 0), (0, 1)][axis]
    turned = ca.SX.eye(3)
    turned[first, first], turned[second, second] = c, c
    turned[first, second], turned[second, first] = -s, s
    return turned
