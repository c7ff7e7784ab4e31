"""The law of dry friction: contacts slip, F = -mu N u / max(|u|, delta).

The normal reactions follow from `loads`. Where a wheel goes over to its next roller nothing is
imposed: friction brings that roller to its speed.
"""

from __future__ import annotations

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError, UndeterminedMotionError
from daesolve.typing import Order
from daesolve_problems.omni_friction.branches import direction, other_branch, within_branch
from daesolve_problems.omni_laws.description import FRICTION
from daesolve_problems.omni_laws.equations import Model, Stand, model_of, next_stands, speed
from daesolve_problems.omni_laws.loads import (
    SOLVABLE,
    Pressed,
    balance_rows,
    balance_sides,
    determinant,
    lever,
    share_rows,
)
from daesolve_problems.omni_vehicle.geometry import within_sector
from daesolve_problems.omni_wheels import FEWEST_WHEELS, numbered


def friction(wheels: int, rollers: int, imposition: Order, compliant: bool) -> ds.MechanicalSystem:
    """Pose the vehicle whose contacts slip with dry friction.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers, or an order of what is imposed is given.
    UndeterminedMotionError
        There are more than three wheels, and no rule for sharing the load.
    """
    if imposition != "simultaneous":
        raise OutOfRangeError(
            "imposition is sequential, but the law 'friction' imposes nothing: leave it out, "
            "or use the model impacts or inertialess"
        )
    if wheels > FEWEST_WHEELS and not compliant:
        raise UndeterminedMotionError(
            f"{wheels} wheels have more normal reactions than the 3 balances of forces and moments "
            "determine, and friction makes the motion depend on them: set compliant to share the "
            "load like equal springs under a stiff platform, or use 3 wheels"
        )
    saturated = dict.fromkeys(numbered("saturated", wheels), 0.0)
    model = model_of(FRICTION, wheels, rollers, saturated)
    supports = ds.reactions(**dict.fromkeys(numbered("support", wheels), "N"))
    pulls = [_pull(model, stand) for stand in model.stands]
    forces = [
        supports[name] * pull for name, pull in zip(numbered("support", wheels), pulls, strict=True)
    ]
    pushed = [model.pushed(*pair) for pair in zip(model.stands, forces, strict=True)]
    slips = [(stand.i, stand.slip) for stand in model.stands]
    work = sum(
        (ca.dot(force, slip) for force, (_, slip) in zip(forces, slips, strict=True)), ca.SX(0)
    )
    return model.system(
        force=sum(pushed[1:], pushed[0]),
        reactions=supports,
        goals=_balances(model, supports.vector, pulls),
        events=_events(model, supports.vector, pulls),
        outputs={
            "speed": speed(model),
            **{f"normal_{i}": (supports[f"support_{i}"], "N") for i, _ in slips},
            **{f"slip_n_{i}": (slip[0], "m/s") for i, slip in slips},
            **{f"slip_tau_{i}": (slip[1], "m/s") for i, slip in slips},
            **{f"slip_{i}": (ca.norm_2(slip), "m/s") for i, slip in slips},
        },
        meters={"friction_work": (work, "J")},
        peaks=numbered("slip", wheels),
    )


def _pull(model: Model, stand: Stand) -> ca.SX:
    """Return the friction on a contact over its normal reaction."""
    saturated = model.d[f"saturated_{stand.i}"]
    return -model.p.friction * direction(stand.slip, saturated, model.p.slip_velocity)


def _pressed(model: Model, pulls: list[ca.SX]) -> list[Pressed]:
    found: list[Pressed] = []
    for stand, pull in zip(model.stands, pulls, strict=True):
        cosine, sine = stand.wheel.tilt
        spins = sum(stand.spins, ca.SX(0))
        own = model.v.omega * sine * spins - stand.rate * cosine * stand.carried[1]
        lean = model.car.axial[stand.i - 1] * stand.rate * model.v.omega
        found.append(
            Pressed(
                stand.wheel,
                lever(model.car, stand.wheel, stand.angle, (pull[0], pull[1])),
                lean + model.car.frame.along * own,
            )
        )
    return found


def _balances(model: Model, supports: ca.SX, pulls: list[ca.SX]) -> list[ds.Relation]:
    """Return what determines the normal reactions: no rise, no tilt, and equal springs."""
    pressed = _pressed(model, pulls)
    reach = model.p.platform_radius
    sides = balance_sides(model.car, pressed, model.p.gravity * ca.cos(model.p.slope))
    names = ("vertical_balance", "tilt_balance_x", "tilt_balance_y")
    found: list[ds.Relation] = []
    for name, row, side in zip(names, balance_rows(pressed), sides, strict=True):
        size = 1.0 if name == "vertical_balance" else reach
        left = sum((part * supports[k] for k, part in enumerate(row)), ca.SX(0))
        found.append(ds.Relation(name, (left - side) / size))
    shares = share_rows([stand.wheel for stand in model.stands])
    for number, row in enumerate(shares, start=1):
        left = sum((part * supports[k] for k, part in enumerate(row)), ca.SX(0))
        found.append(ds.Relation(f"share_{number}", left / reach**2))
    return found


def _events(model: Model, supports: ca.SX, pulls: list[ca.SX]) -> list[ds.Event]:
    delta = model.p.slip_velocity
    branch = [(stand.slip, model.d[f"saturated_{stand.i}"], delta) for stand in model.stands]
    still = [Pressed(stand.wheel, 0.0, 0.0) for stand in model.stands]
    share = determinant(_pressed(model, pulls)) / determinant(still)
    weight = model.car.mass * model.p.gravity * ca.cos(model.p.slope)
    return [
        ds.Event(
            "roller_switch",
            [within_sector(model.q[name], model.rollers) for name in numbered("chi", model.wheels)],
            ds.FALLING,
            ds.Reset(lambda fired: _rolled_on(model, fired)),
        ),
        ds.Event(
            "saturation",
            [within_branch(*one) for one in branch],
            ds.FALLING,
            ds.Reset(lambda fired: other_branch(model.d, model.wheels, fired)),
        ),
        ds.Event(
            "contact_lost",
            [supports[k] / weight for k in range(model.wheels)],
            ds.FALLING,
            ds.Stop("a wheel is no longer pressed to the floor"),
        ),
        ds.Event(
            "normal_indeterminate",
            share - SOLVABLE,
            ds.FALLING,
            ds.Stop("friction leaves the normal reactions undetermined"),
        ),
    ]


def _rolled_on(model: Model, fired: ca.SX) -> dict[str, ca.SX]:
    """Let wheels stand on their next rollers; the slip jumps where these end in a radius."""
    changed: dict[str, ca.SX] = {}
    for index, stand in enumerate(next_stands(model, fired)):
        beyond = ca.sumsqr(stand.slip) > model.p.slip_velocity**2
        kept = model.d[f"saturated_{stand.i}"]
        changed |= {
            f"chi_{stand.i}": stand.angle,
            f"contact_{stand.i}": stand.contact_number,
            f"saturated_{stand.i}": kept + fired[index] * (beyond - kept),
        }
    return changed
