"""The vehicle with wheels anywhere, inclined rollers and a sloping floor, as rigid bodies.

As `omni_friction_bodies`, from which it takes the solution; nothing is taken from the problem.
Where a roller touches is found from what defines it: straight below the axle, under the roller's
axis.
"""

from __future__ import annotations

import numpy as np

from tests.reference.omni_friction_bodies import UP, Body, Found, Values, Vehicle, spindle


class VehicleAnywhere(Vehicle):
    """The vehicle at a state of the problem `omni-laws`.

    Parameters
    ----------
    p
        Parameters by name, places and angles of all wheels among them.
    state
        States by name, and the numbers contact_i.
    wheels, rollers
        N and n.
    """

    def __init__(self, p: Values, state: Values, wheels: int, rollers: int) -> None:
        cosine, sine = np.cos(state["theta"]), np.sin(state["theta"])
        told = dict(state)
        told["x_dot"] = cosine * state["v_1"] - sine * state["v_2"]
        told["y_dot"] = sine * state["v_1"] + cosine * state["v_2"]
        self.spins = {k: v for k, v in state.items() if k.startswith("spin_")}
        super().__init__(p, told | dict.fromkeys(self.spins, 0.0), wheels, rollers)

    def angle(self, i: int, j: int) -> float:
        ahead = 2.0 * np.pi / self.rollers * (j + 1 - self.s[f"contact_{i + 1}"])
        return self.s[f"chi_{i + 1}"] + ahead

    def _wheel(self, i: int) -> None:
        p, number, l = self.p, i + 1, self.p["wheel_radius"]  # noqa: E741
        axle = self.turned(p[f"heading_{number}"])
        ahead = np.cross(UP, axle)
        middle = p[f"wheel_x_{number}"] * self.turned(0.0)
        middle = middle + p[f"wheel_y_{number}"] * self.turned(np.pi / 2.0)
        velocity, turning, own, _ = self._fixed(middle)
        turning[:, 6 + i] = axle
        own_turning = np.cross(self.speeds[3:6], axle) * self.speeds[6 + i]
        disc = p["wheel_mass"] * (1.0 - p["roller_share"])
        rim = l * np.cos(np.pi / self.rollers)
        inertia = disc * rim**2 / 4.0 * (np.eye(3) + np.outer(axle, axle))
        self.bodies.append(Body(disc, inertia, middle, velocity, turning, own, own_turning))
        along, across = spindle(l, self.rollers, p["roller_end_radius"])
        mass = p["wheel_mass"] * p["roller_share"] / self.rollers
        distance = rim - p["roller_end_radius"]
        tilt = p[f"roller_angle_{number}"]
        carried = turning @ self.speeds
        for j in range(self.rollers):
            chi = self.angle(i, j)
            lying = np.cos(chi) * ahead + np.sin(chi) * UP
            axis = np.cos(tilt) * lying + np.sin(tilt) * axle
            arm = distance * (np.sin(chi) * ahead - np.cos(chi) * UP)
            column = self.column(i, j)
            # The rate in space less what platform and wheel turn about the axis.
            spin = self.spins[f"spin_{number}_{j + 1}"] - carried @ axis
            self.speeds[column] = spin
            roller_velocity = velocity + np.cross(turning.T, arm).T
            roller_turning = turning.copy()
            roller_turning[:, column] = axis
            moments = mass * (across * np.eye(3) + (along - across) * np.outer(axis, axis))
            self.bodies.append(
                Body(
                    mass,
                    moments,
                    middle + arm,
                    roller_velocity,
                    roller_turning,
                    own + np.cross(own_turning, arm) + np.cross(carried, np.cross(carried, arm)),
                    own_turning + np.cross(carried, axis) * spin,
                )
            )
            if j + 1 == self.s[f"contact_{number}"]:
                aside, _ = np.linalg.solve(np.column_stack([axle, -axis])[:2], arm[:2])
                reach = aside * axle - l * UP - arm
                self.contacts.append(roller_velocity + np.cross(roller_turning.T, reach).T)

    def solve(self, shares: np.ndarray | None = None) -> Found:
        slope = self.p["slope"]
        across = self.p["gravity"] * np.sin(slope)
        upright = {**self.p, "gravity": self.p["gravity"] * np.cos(slope)}
        level, self.p = self.p, upright
        try:
            for k, body in enumerate(self.bodies):
                # A pull along the floor is an acceleration of the floor the other way.
                own = body.own_velocity - np.array([across, 0.0, 0.0])
                self.bodies[k] = Body(
                    body.mass, body.inertia, body.place, body.velocity, body.turning, own,
                    body.own_turning,
                )  # fmt: skip
            return super().solve(shares)
        finally:
            self.p = level

    def _named(self, rates: np.ndarray) -> dict[str, float]:
        omega, theta = self.s["omega"], self.s["theta"]
        cosine, sine = np.cos(theta), np.sin(theta)
        found = {
            "v_1": cosine * rates[0] + sine * rates[1] + omega * self.s["v_2"],
            "v_2": cosine * rates[1] - sine * rates[0] - omega * self.s["v_1"],
            "omega": rates[5],
        }
        found |= {f"chi_dot_{i + 1}": rates[6 + i] for i in range(self.wheels)}
        for i in range(self.wheels):
            tilt, rate = self.p[f"roller_angle_{i + 1}"], self.s[f"chi_dot_{i + 1}"]
            for j in range(self.rollers):
                chi = self.angle(i, j)
                carried = np.cos(tilt) * (rates[5] * np.sin(chi) + omega * rate * np.cos(chi))
                carried += np.sin(tilt) * rates[6 + i]
                found[f"spin_{i + 1}_{j + 1}"] = rates[self.column(i, j)] + carried
        return {name: float(value) for name, value in found.items()}
