"""One omni-wheel that is held upright, in few coordinates: with Coulomb's friction, and ideal.

n = (-sin(theta), cos(theta)) is the axle, tau = e_z x n; chi the angle of the wheel, counted about
n; a roller at psi = chi + kappa from straight below is rho = l cos(psi) - d thick there. W is the
rate of a roller about cos(psi) tau + sin(psi) e_z, seen from space. The floor pushes up by M g.

With friction, u_n = v . n - rho (W - theta' sin psi), u_tau = v . tau + l chi' being the slip u and
F = -mu M g u / |u|,

    M a = F,   B W' = -rho F_n,   J chi'' = l F_tau + B theta' sum W_j cos(psi_j),
    I theta'' + B sum (W_j' sin(psi_j) + W_j chi' cos(psi_j)) = 0.

Without slip, in u = (v . n, v . tau, theta') and the momenta p_j = B W_j of the free rollers,

    G u' = M theta' (v . tau, -v . n, 0) - B b k + theta' S a - chi' S e_3,
    a = (0, -1 / l, 0),   b = (1 / rho, 0, sin psi),   S = sum p_j cos(psi_j),
    G = diag(M, M, I) + J a a' + B b b',   k = (v . n  l sin(psi) / rho^2 + theta' cos psi) chi',

and at a change G+ u+ = diag(M, M, I) u- + J a chi'- + p b+, p and b+ of the entering roller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy


@dataclass(frozen=True)
class Wheel:
    """Sizes, m; mass, kg; moments, kg m^2."""

    rollers: int
    radius: float
    offset: float
    mass: float
    axial: float
    upright: float
    along: float
    friction: float = 0.0
    gravity: float = 9.81

    def angles(self, chi):
        """Return psi_j."""
        return chi + 2.0 * np.pi * np.arange(self.rollers) / self.rollers

    def slips(self, y, contact):
        """Return (u_n, u_tau), rho and psi of the contact roller; y as `slides` has it."""
        theta, chi, v, yaw, rate, spins = y[2], y[3], y[4:6], y[6], y[7], y[8:]
        psi = self.angles(chi)[contact]
        axle = np.array([-np.sin(theta), np.cos(theta)])
        tau = np.array([-axle[1], axle[0]])
        rho = self.radius * np.cos(psi) - self.offset
        own = v @ axle - rho * (spins[contact] - yaw * np.sin(psi))
        return np.array([own, v @ tau + self.radius * rate]), rho, psi, axle, tau

    def slides(self, contact):
        """Return the rates of y = (x, y, theta, chi, v, theta', chi', W_j) where it slides."""

        def rates(_, y):
            chi, v, yaw, rate, spins = y[3], y[4:6], y[6], y[7], y[8:]
            slip, rho, psi, axle, tau = self.slips(y, contact)
            force = -self.friction * self.mass * self.gravity * slip / np.linalg.norm(slip)
            spun = np.zeros(self.rollers)
            spun[contact] = -rho * force[0] / self.along
            cosines = np.cos(self.angles(chi))
            turned = -self.along * (spun[contact] * np.sin(psi) + rate * (spins @ cosines))
            driven = self.radius * force[1] + self.along * yaw * (spins @ cosines)
            accelerated = (force[0] * axle + force[1] * tau) / self.mass
            return np.concatenate(
                [v, [yaw, rate], accelerated, [turned / self.upright, driven / self.axial], spun]
            )

        return rates

    def matrix(self, psi):
        """Return G, a and b."""
        rho = self.radius * np.cos(psi) - self.offset
        a, b = np.array([0.0, -1.0 / self.radius, 0.0]), np.array([1.0 / rho, 0.0, np.sin(psi)])
        free = np.diag([self.mass, self.mass, self.upright])
        return free + self.axial * np.outer(a, a) + self.along * np.outer(b, b), a, b

    def rolls(self, start, contact, until):
        """Return y = (x, y, theta, chi, u, p_j) at the end, and the times of changes."""
        time, y, changes = 0.0, np.array(start), []
        edge = np.pi / self.rollers
        while time < until:

            def rates(_, y, contact=contact):
                theta, chi, u, momenta = y[2], y[3], y[4:7], y[7:].copy()
                psi = self.angles(chi)
                own = psi[contact]
                rho = self.radius * np.cos(own) - self.offset
                whole, a, b = self.matrix(own)
                rate = a @ u
                momenta[contact] = self.along * (b @ u)
                total = momenta @ np.cos(psi)
                turn = (u[0] * self.radius * np.sin(own) / rho**2 + u[2] * np.cos(own)) * rate
                push = self.mass * u[2] * np.array([u[1], -u[0], 0.0])
                push += -self.along * b * turn + u[2] * total * a
                push -= rate * total * np.array([0.0, 0.0, 1.0])
                axle = np.array([-np.sin(theta), np.cos(theta)])
                place = u[0] * axle + u[1] * np.array([-axle[1], axle[0]])
                spins = np.zeros(self.rollers)
                return np.concatenate([place, [u[2], rate], np.linalg.solve(whole, push), spins])

            def ends(_, y, contact=contact):
                psi = self.angles(y[3])[contact]
                return edge - abs((psi + np.pi) % (2.0 * np.pi) - np.pi)

            ends.terminal, ends.direction = True, -1.0
            found = scipy.integrate.solve_ivp(
                rates, (time, until), y, "DOP853", rtol=1e-13, atol=1e-14, events=ends
            )
            time, y = float(found.t[-1]), found.y[:, -1].copy()
            if found.status != 1:
                break
            changes.append(time)
            u, own = y[4:7], self.angles(y[3])[contact]
            _, a, b = self.matrix(own)
            y[7 + contact] = self.along * (b @ u)
            contact = (contact - int(np.sign(np.sin(own)))) % self.rollers
            whole, a, b = self.matrix(self.angles(y[3])[contact])
            free = np.diag([self.mass, self.mass, self.upright])
            y[4:7] = np.linalg.solve(
                whole, free @ u + self.axial * a * (a @ u) + y[7 + contact] * b
            )
        return y, changes
