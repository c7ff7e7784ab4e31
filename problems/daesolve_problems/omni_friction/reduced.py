"""The vehicle with dry friction in the 18 velocities that its joints and the floor leave.

Coordinates x, y (of O, in fixed axes), theta, chi_i; velocities x', y', omega = theta', chi_i' and
the absolute rate of each roller about its axis, Om_ij = phi_ij' + omega sin(psi_ij). The contact
roller of wheel i, at psi_i, slips with

    u_n = v . n - rho (Om - omega sin(psi)),    u_tau = v . tau + R omega + l chi',

and is acted upon by F = -mu N u / max(|u|, delta). With C the mass centre of the whole from O,

    M (v' + omega' e_z x C - omega^2 C) = sum F
    I' omega' + M e_z . (C x v') = sum (R F_tau + rho sin(psi) F_n) - B sum Om chi' cos(psi)
    J chi_i'' = l F_tau + B omega sum_j Om_ij cos(psi_ij)
    B Om_ij' = -rho F_n at the contact roller, 0 at the others.

The floor's normal reactions N_i keep the vehicle from rising and from tilting:

    sum N_i = M g,    sum tau_i (D_i N_i + G_i) = M g e_z x C,
    D_i = R - mu h u_n / max(|u|, delta),    h = l - rho cos(psi),
    G_i = J chi_i' omega - B chi_i' sum_j Om_ij sin(psi_ij).

With more than three wheels these are too few; wheels that share the load like equal springs
(`compliant`) also have N_i = a + b . n_i.

D_i contains friction: for mu < R / l the reactions are determined, whatever the slip is. Beyond,
some slip makes D_i fall to zero, and the reactions without bounds (Painleve's paradox).

K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and with
friction, Moscow State University (2018), chapter 3, has the vehicle as 16 bodies.
"""

from __future__ import annotations

import math

import casadi as ca

import daesolve as ds
from daesolve.errors import UndeterminedMotionError
from daesolve_problems.omni_friction.branches import other_branch, within_branch
from daesolve_problems.omni_friction.geometry import SOLVABLE, harmonics
from daesolve_problems.omni_friction.stands import Stand, Symbols, symbols
from daesolve_problems.omni_wheels import equal_directions, numbered

BALANCES = 3
"""The number of balances: of the vertical forces, and of the moments about two horizontal axes."""


def reduced(wheels: int, rollers: int, compliant: bool) -> ds.MechanicalSystem:
    """Pose the vehicle in independent velocities: no joint has a reaction.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    UndeterminedMotionError
        There are more than three wheels, and no rule for sharing the load.
    """
    model = symbols(wheels, rollers)
    stands = [model.stand(i) for i in range(1, wheels + 1)]
    mass = _mass(model)
    return ds.MechanicalSystem(
        model.q,
        model.p,
        velocities=model.v,
        kinematics=model.v.vector[: 3 + wheels],
        kinetic=ca.dot(model.v.vector, mass @ model.v.vector) / 2.0,
        mass_matrix=mass,
        force=_forces(model, stands),
        reactions=model.reactions,
        discrete=model.d,
        goals=[*_balances(model, stands), *_shares(stands, compliant)],
        events=_events(model, stands),
        outputs={
            **{f"normal_{s.i}": (s.normal, "N") for s in stands},
            **{f"slip_n_{s.i}": (s.slip[0], "m/s") for s in stands},
            **{f"slip_tau_{s.i}": (s.slip[1], "m/s") for s in stands},
            **{f"slip_{s.i}": (ca.norm_2(s.slip), "m/s") for s in stands},
        },
        meters={"friction_work": (sum(ca.dot(s.friction, s.slip) for s in stands), "J")},
        peaks=numbered("slip", wheels),
    )


def _mass(model: Symbols) -> ca.SX:
    """Return the matrix of the kinetic energy in the velocities."""
    car = model.vehicle
    whole = model.turned(*car.centre) * car.mass
    wheels = [car.wheel.axial] * model.wheels
    rollers = [car.wheel.roller_along] * (model.wheels * model.rollers)
    diagonal: list[ca.SX] = [car.mass, car.mass, car.inertia, *wheels, *rollers]
    matrix = ca.diag(ca.vertcat(*diagonal))
    matrix[0, 2] = matrix[2, 0] = -whole[1]
    matrix[1, 2] = matrix[2, 1] = whole[0]
    return matrix


def _forces(model: Symbols, stands: list[Stand]) -> dict[str, ca.SX]:
    car, omega = model.vehicle, model.v.omega
    own = car.wheel.roller_along
    push = car.mass * omega**2 * model.turned(*car.centre)
    moment = ca.SX(0)
    force: dict[str, ca.SX] = {}
    for stand in stands:
        along, across = stand.friction[0], stand.friction[1]
        push += along * stand.directions[0] + across * stand.directions[1]
        moment += car.reach * across + stand.thickness * stand.angle[1] * along
        moment -= own * stand.rate * stand.carried[0]
        force[f"chi_dot_{stand.i}"] = car.wheel_radius * across + own * omega * stand.carried[0]
        for j, is_it in enumerate(stand.chosen, start=1):
            force[f"spin_{stand.i}_{j}"] = -is_it * stand.thickness * along
    return {"x_dot": push[0], "y_dot": push[1], "omega": moment, **force}


def _balances(model: Symbols, stands: list[Stand]) -> list[ds.Relation]:
    """Return what determines the normal reactions: no rise, no tilt."""
    car = model.vehicle
    weight: ca.SX = car.mass * model.p.gravity
    across: tuple[ca.SX, ca.SX] = (car.centre[1], -car.centre[0])
    # The moments are counted in axes of the platform and over R.
    tilt = ca.vertcat(*across) * weight
    for stand, (cosine, sine) in zip(stands, equal_directions(model.wheels), strict=True):
        tilt += ca.vertcat(-sine, cosine) * (stand.leverage * stand.normal + stand.gyroscopic)
    vertical = sum((stand.normal for stand in stands), ca.SX(0)) - weight
    return [
        ds.Relation("vertical_balance", vertical),
        ds.Relation("tilt_balance_x", tilt[0] / car.reach),
        ds.Relation("tilt_balance_y", tilt[1] / car.reach),
    ]


def _shares(stands: list[Stand], compliant: bool) -> list[ds.Relation]:
    """Return how more than three wheels share the load: as equal springs under a stiff platform.

    Raises
    ------
    UndeterminedMotionError
        There are more than three wheels, and nothing determines how they share it.
    """
    count = len(stands)
    if count > BALANCES and not compliant:
        surplus = f"{count - BALANCES} normal reaction{'s' * (count > BALANCES + 1)}"
        raise UndeterminedMotionError(
            f"{count} wheels on a plane have {surplus} more than the {BALANCES} balances of forces "
            "and moments determine, and friction makes the motion depend on them: set compliant "
            f"to share the load like equal springs, or use {BALANCES} wheels"
        )
    return [
        ds.Relation(
            f"share_{number}",
            sum((part * s.normal for part, s in zip(wave, stands, strict=True)), ca.SX(0)),
        )
        for number, wave in enumerate(harmonics(count), start=1)
    ]


def _events(model: Symbols, stands: list[Stand]) -> list[ds.Event]:
    edge = math.cos(math.pi / model.rollers)
    return [
        ds.Event(
            "roller_switch",
            [stand.angle[0] - edge for stand in stands],
            ds.FALLING,
            ds.Reset(lambda fired: _rolled_on(model, stands, fired)),
        ),
        ds.Event(
            "saturation",
            [
                within_branch(s.slip, model.d[f"saturated_{s.i}"], model.p.slip_velocity)
                for s in stands
            ],
            ds.FALLING,
            ds.Reset(lambda fired: other_branch(model.d, model.wheels, fired)),
        ),
        ds.Event(
            "contact_lost",
            [stand.normal / (model.vehicle.mass * model.p.gravity) for stand in stands],
            ds.FALLING,
            ds.Stop("a wheel is no longer pressed to the floor"),
        ),
        ds.Event(
            "normal_indeterminate",
            [stand.leverage / model.vehicle.reach - SOLVABLE for stand in stands],
            ds.FALLING,
            ds.Stop("friction leaves the normal reactions undetermined"),
        ),
    ]


def _rolled_on(model: Symbols, stands: list[Stand], fired: ca.SX) -> dict[str, ca.SX]:
    """Let wheels stand on their next rollers; the slip jumps where these end in a radius."""
    changed: dict[str, ca.SX] = {}
    for index, stand in enumerate(stands):
        step = fired[index] * ca.sign(stand.angle[1])
        count = model.rollers
        number = model.d[f"contact_{stand.i}"] - step
        number = number + count * (number < 1) - count * (number > count)
        slip = Stand(model, stand.i, number).slip
        beyond = ca.sumsqr(slip) > model.p.slip_velocity**2
        kept = model.d[f"saturated_{stand.i}"]
        changed[f"contact_{stand.i}"] = number
        changed[f"saturated_{stand.i}"] = kept + fired[index] * (beyond - kept)
    return changed
