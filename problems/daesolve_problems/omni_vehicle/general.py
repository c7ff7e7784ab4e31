"""The vehicle with wheels anywhere, in any direction, with rollers at an angle (mecanum).

`wheels` has their places, their directions and what holds at their contacts: in its symbols,

    no_slip_n_i     V_i . n_i - rho_i cos(psi_i) phi_i' = 0
    no_slip_tau_i   V_i . tau_i + lambda_i theta' + l chi_i'
                    + rho_i sin(psi_i) / cos(chi_i) phi_i' = 0.

The platform's mass centre lies at c = (platform_centre_x, platform_centre_y). A roller with the
moments B about its axis and A across it has the angular velocity w = theta' e_z + chi' n + phi' d
and the energy (A (|w|^2 - (w.d)^2) + B (w.d)^2) / 2 besides that of its centre, where

    w . d = phi_ij' + s_ij,  s_ij = theta' cos(psi_i) sin(chi_ij) + chi_i' sin(psi_i),

is constant while it is free (`roller_momentum_i_j`). Sums of sin and cos over the n >= 3 rollers of
a wheel vanish, those of sin^2 are n / 2, so that with m_h, w of the hub and m_r of a roller

    2 T = m_p |v_S + theta' e_z x c|^2 + m_p R^2 theta'^2 / 2
        + sum_i ((m_h + n m_r) |V_i|^2 + U_i theta'^2 + J_i chi_i'^2
                 + B sum_j phi_ij' (phi_ij' + 2 s_ij))
    U_i = m_h (3 r^2 + w^2) / 12 + n (m_r r^2 + (2 - cos^2 psi_i) A + cos^2(psi_i) B) / 2
    J_i = m_h r^2 / 2 + n (m_r r^2 + cos^2(psi_i) A + sin^2(psi_i) B).

`thesis` is the case of psi_i = 0, wheels at equal angles, axles radial, and the mass centre in the
middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.typing import Order, Parameters
from daesolve_problems.omni_vehicle.bodies import Bodies, bodies, system
from daesolve_problems.omni_vehicle.starting import Values, contact_angles, contact_rollers
from daesolve_problems.omni_vehicle.wheels import (
    Vehicle,
    contact,
    derived_values,
    parameters,
    vehicle,
)
from daesolve_problems.omni_wheels import numbered


def general(
    wheels: int, rollers: int, imposition: Order, motors: bool = False
) -> ds.MechanicalSystem:
    """Pose the vehicle with wheels anywhere, in any direction, with rollers at an angle (mecanum).

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    p = parameters(wheels)
    car = vehicle(p, wheels, rollers)
    model = bodies(wheels, rollers, car.platform_radius, car.velocity_scale)

    def carried(i: int, j: int) -> ca.SX:
        """Return s_ij."""
        cosine, sine = car.wheels[i - 1].tilt
        return cosine * model.sine(i, j) * model.turning + sine * model.v[f"chi_dot_{i}"]

    kinetic = _frame(model, p, car)
    for i, j in model.pairs():
        spin = model.v[f"phi_dot_{i}_{j}"]
        kinetic += car.along * spin * (spin + 2 * carried(i, j)) / 2
    return system(model, p, kinetic, _slip(model, car), carried, imposition, motors)


def _frame(model: Bodies, p: Parameters, car: Vehicle) -> ca.SX:
    """Return T without what the rollers' own rates phi_ij' add."""
    turning, (u_x, u_y) = model.turning, model.velocity
    centre_x, centre_y = p.platform_centre_x, p.platform_centre_y
    centre = ca.vertcat(u_x - turning * centre_y, u_y + turning * centre_x)
    twice = p.platform_mass * (ca.sumsqr(centre) + (car.platform_radius * turning) ** 2 / 2)
    ring = p.roller_mass * car.roller_axis_radius**2
    hub = p.hub_mass * car.roller_axis_radius**2
    for i, wheel in enumerate(car.wheels, start=1):
        lying, inclined = wheel.tilt[0] ** 2, wheel.tilt[1] ** 2
        upright = p.hub_mass * p.hub_width**2 / 12 + hub / 4
        upright += model.rollers * (ring + (2 - lying) * car.across + lying * car.along) / 2
        about_axle = hub / 2 + model.rollers * (ring + lying * car.across + inclined * car.along)
        middle: tuple[ca.SX, ca.SX] = wheel.middle((u_x, u_y), turning)
        twice += (p.hub_mass + model.rollers * p.roller_mass) * ca.sumsqr(ca.vertcat(*middle))
        twice += upright * turning**2 + about_axle * model.v[f"chi_dot_{i}"] ** 2
    return twice / 2


def _slip(model: Bodies, car: Vehicle) -> list[tuple[ca.SX, ca.SX]]:
    """Return the velocity of each contact along n_i and tau_i, m/s."""
    return [
        contact(car, i, model.q[f"chi_{i}"], model.velocity, model.turning).slip(
            model.v[f"chi_dot_{i}"], model.spin(i)
        )
        for i in range(1, model.wheels + 1)
    ]


# -- its start -----------------------------------------------------------------------------------


def derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return what follows from sizes, masses and places, and the contact rollers at the start.

    Raises
    ------
    OutOfRangeError
        As in `wheels.derived_values`; or no roller of a wheel has the number of its contact.
    """
    found = derived_values(parameters, structure["wheels"], structure["rollers"])
    for i, number in enumerate(contact_rollers(given, parameters, structure), start=1):
        if f"contact_{i}" in given:
            found[f"contact_{i}"] = float(number)
    return found


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return every state at the start; the constraints give the rates that are not free.

    Raises
    ------
    OutOfRangeError
        As in `derived`; or a roller does not touch the ground at its angle.
    """
    wheels, rollers = structure["wheels"], structure["rollers"]
    derived(given, parameters, structure)
    car = vehicle(parameters, wheels, rollers)
    free = [*numbered("nu", 3), *numbered("phi_dot", wheels, rollers)]
    guess = {name: float(given.get(name, 0.0)) for name in ("x", "y", "theta", *free)}
    velocity = (car.platform_radius * guess["nu_1"], car.platform_radius * guess["nu_2"])
    turning = guess["nu_3"] / car.velocity_scale
    touching = contact_rollers(given, parameters, structure)
    for i, chi in enumerate(contact_angles(given, structure), start=1):
        turned, spin = contact(car, i, chi, velocity, turning).rolling()
        guess |= {f"chi_{i}": chi, f"chi_dot_{i}": turned, f"phi_dot_{i}_{touching[i - 1]}": spin}
    return guess
