"""The vehicle with every roller as a separate body, as in the thesis; `bodies` has the rest.

    2 T = M v_S^2 + I_S theta'^2 + J sum chi_i'^2
          + B sum (phi_ij'^2 + 2 theta' sin(chi_ij) phi_ij')

and at each contact roller, n_i along the axle and tau_i = e_z x n_i,

    no_slip_n_i     v_S . n_i - rho_i phi_i' = 0
    no_slip_tau_i   v_S . tau_i + R theta' + l chi_i' = 0.

T is exact for n >= 3 rollers that are symmetric about their axes, the centre of mass of the whole
being that of the platform. The reactions are the forces at the contacts: force_n_i, force_tau_i.
A free roller keeps phi_ij' + theta' sin(chi_ij), the thesis' (2.8).
"""

from __future__ import annotations

import casadi as ca

import daesolve as ds
from daesolve.typing import Order
from daesolve_problems.omni_vehicle.bodies import Bodies, bodies, system
from daesolve_problems.omni_vehicle.geometry import Vehicle, parameters, vehicle
from daesolve_problems.omni_wheels import equal_directions, numbered


def thesis(
    wheels: int, rollers: int, imposition: Order, motors: bool = False
) -> ds.MechanicalSystem:
    """Pose the vehicle with every roller as a separate body, as in the thesis.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    p = parameters()
    car = vehicle(p, wheels, rollers)
    model = bodies(wheels, rollers, car.platform_radius, car.velocity_scale)

    def carried(i: int, j: int) -> ca.SX:
        return model.turning * model.sine(i, j)

    twice = car.total_mass * ca.sumsqr(ca.vertcat(*model.velocity))
    twice += car.vehicle_inertia * model.turning**2
    twice += car.wheel_inertia * sum(model.v[name] ** 2 for name in numbered("chi_dot", wheels))
    for i, j in model.pairs():
        spin = model.v[f"phi_dot_{i}_{j}"]
        twice += car.roller_inertia * spin * (spin + 2 * carried(i, j))
    return system(model, p, twice / 2, _slip(model, car), carried, imposition, motors)


def _slip(model: Bodies, car: Vehicle) -> list[tuple[ca.SX, ca.SX]]:
    """Return the velocity of each contact along n_i and tau_i, m/s."""
    slip: list[tuple[ca.SX, ca.SX]] = []
    (v_x, v_y), arm = model.velocity, car.platform_radius
    for i, (cosine, sine) in enumerate(equal_directions(model.wheels), start=1):
        rho = car.wheel_radius * ca.cos(model.q[f"chi_{i}"]) - car.roller_axis_radius
        along = cosine * v_x + sine * v_y
        across = cosine * v_y - sine * v_x + arm * model.turning
        rolling = car.wheel_radius * model.v[f"chi_dot_{i}"]
        slip.append((along - rho * model.spin(i), across + rolling))
    return slip
