"""The models of a wheelset or a bogie.

`full` is Lagrange's: M Y'' = sum of creep forces + F, J Psi'' = sum of their moments + M_z. Its
inertia is small compared with creep, so the velocities follow from the positions after a time T1:
in `dirac` they balance the forces at once, and `refined` corrects this to the next order;
`small_velocities` derives both. In `no_slip` the slips are zero instead, which is right if only
creep acts. Its constraints leave no velocity free: it is a control system, whose controls are the
force and the moment of the rails that rolling without slipping would need. A bogie has no such
model, because no motion fulfils its constraints (`rolling`, `no_slip_closure`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve_problems.wheelset.vehicles import Creep, Flange, Loads, Vehicle, harmonic

Rule = Callable[[Loads], Vehicle]
Values = Mapping[str, float]
Structure = Mapping[str, Any]

POSITIONS = ("y", "psi")
SMALL = ("y_dot", "psi_dot")


def full(units: Rule, creep: Creep, loads: Loads = harmonic) -> ds.MechanicalSystem:
    """Pose the vehicle with its inertia and with creep on its wheels."""
    vehicle = units(loads)
    q = vehicle.coordinates
    force, moment = vehicle.force, vehicle.moment
    for axle, slip in vehicle.slips.items():
        pushed = 2 * vehicle.grip * creep(slip)
        force += pushed[1]
        moment += vehicle.levers[axle] * pushed[1] - vehicle.lever * pushed[0]
    return ds.MechanicalSystem(
        q,
        vehicle.parameters,
        kinetic=_kinetic(vehicle),
        force={"y": force, "psi": moment},
        outputs=_outputs(vehicle, creep),
        events=_flange_events(vehicle, creep),
    )


def creeping(
    units: Rule, creep: Creep, loads: Loads = harmonic
) -> tuple[ds.MechanicalSystem, list[ds.nonholonomic.Slip]]:
    """Pose the vehicle and its creep apart: the sum of both is `full`.

    The equation of yaw is that of `full` times what makes the force on each slip its own in both
    equations, B^T P with u = B v.
    """
    vehicle = units(loads)
    q, rates = vehicle.coordinates, vehicle.coordinates.dot
    first = next(iter(vehicle.slips.values()))
    along, across = ca.jacobian(first[0], rates.psi), ca.jacobian(first[1], rates.y)
    scale = -along / (vehicle.lever * across)
    slips: list[ds.nonholonomic.Slip] = []
    for axle, slip in vehicle.slips.items():
        pushed = 2 * vehicle.grip * creep(slip) / across
        for place, axis in enumerate("xy"):
            slips.append(ds.nonholonomic.Slip(f"slip_{axis}{axle}", slip[place], pushed[place]))
    system = ds.MechanicalSystem(
        q,
        vehicle.parameters,
        kinetic=(vehicle.mass * rates.y**2 + scale * vehicle.inertia * rates.psi**2) / 2,
        force={"y": vehicle.force, "psi": scale * vehicle.moment},
    )
    return system, slips


def rolling(units: Rule) -> ds.MechanicalSystem:
    """Pose the vehicle with wheels that must not slip, to examine which motion is left."""
    vehicle = units(harmonic)
    goals = [
        ds.Nonholonomic(name.replace("slip", "no_slip"), slip)
        for name, slip in _slips(vehicle).items()
    ]
    return ds.MechanicalSystem(
        vehicle.coordinates, vehicle.parameters, kinetic=_kinetic(vehicle), goals=goals
    )


def no_slip(units: Rule, creep: Creep, loads: Loads = harmonic) -> ds.ControlSystem:
    """Pose a wheelset that does not slip; the law of creep affects only the flange's output."""
    vehicle = units(loads)
    q = vehicle.coordinates
    x = ds.states(**dict(zip((*q.names, *q.rates.names), (*q.units, *q.rates.units), strict=True)))
    newton = "N" if q.units[0] else ""
    u = ds.reactions(rail_force=newton, rail_moment=newton and f"{newton} m")

    def own(expression: ca.SX) -> ca.SX:
        moving = ca.vertcat(q.vector, q.dot.vector)
        return ca.substitute(expression, moving, x.vector)

    return ds.ControlSystem(
        x,
        {
            "y": x.y_dot,
            "psi": x.psi_dot,
            "y_dot": (own(vehicle.force) + u.rail_force) / vehicle.mass,
            "psi_dot": (own(vehicle.moment) + u.rail_moment) / vehicle.inertia,
        },
        vehicle.parameters,
        controls=u,
        goals=[ds.Goal(f"no_{name}", own(slip)) for name, slip in _slips(vehicle).items()],
        outputs={
            name: (own(value), unit) for name, (value, unit) in _outputs(vehicle, creep).items()
        },
    )


@lru_cache(maxsize=8)
def reduced(units: Rule, creep: Creep, loads: Loads = harmonic) -> ds.nonholonomic.DiracModel:
    """Reduce the full model by its small velocities."""
    return ds.nonholonomic.small_velocities(full(units, creep, loads), SMALL)


def dirac(units: Rule, creep: Creep, loads: Loads = harmonic) -> ds.ControlSystem:
    """Pose Dirac's model: the velocities are those at which creep balances the other forces."""
    return reduced(units, creep, loads).system


def refined(units: Rule, creep: Creep, loads: Loads = harmonic) -> ds.ControlSystem:
    """Pose the refinement of Dirac's model: velocities correct to the next order in eps."""
    return reduced(units, creep, loads).refined


def _kinetic(vehicle: Vehicle) -> ca.SX:
    v = vehicle.coordinates.dot
    return (vehicle.mass * v.y**2 + vehicle.inertia * v.psi**2) / 2


def _outputs(vehicle: Vehicle, creep: Creep) -> dict[str, tuple[ca.SX, str]]:
    """Return the slips in units of eps V, the positions in normalised numbers, and the rolling."""
    joule = "J" if vehicle.coordinates.units[0] else ""
    outputs = _slips(vehicle) | {"scaled_y": vehicle.scaled[0], "scaled_psi": vehicle.scaled[1]}
    if vehicle.flange is not None:
        quotient = _flange_quotient(vehicle, vehicle.flange, creep)
        outputs |= {"flange_quotient": ca.sign(vehicle.coordinates.y) * quotient}
    return {name: (value, "") for name, value in outputs.items()} | {
        "rolling_energy": (vehicle.rolling, joule)
    }


def _flange_quotient(vehicle: Vehicle, flange: Flange, creep: Creep) -> ca.SX:
    """Return L / N of a wheel.

    L is the force across that would keep the axle from going on to positive Y, so that Y' = 0 in
    its creep.
    """
    (slip,) = vehicle.slips.values()
    held = ca.substitute(slip, vehicle.coordinates.dot.y, 0)
    return (flange.pushed + 2 * vehicle.grip * creep(held)[1]) / flange.load


def _flange_events(vehicle: Vehicle, creep: Creep) -> list[ds.Event]:
    """Record where a flange touches its rail, and where it exceeds Nadal's limit."""
    flange = vehicle.flange
    if flange is None:
        return []
    quotient = _flange_quotient(vehicle, flange, creep)
    return [
        ds.Event("flange", flange.shift**2 - 1, ds.RISING),
        ds.Event("beyond_nadal", (quotient / flange.limit) ** 2 - 1, ds.RISING),
    ]


def _slips(vehicle: Vehicle) -> dict[str, ca.SX]:
    return {
        f"slip_{axis}{axle}": slip[index]
        for axle, slip in vehicle.slips.items()
        for index, axis in enumerate("xy")
    }


# -- where the models start --------------------------------------------------------------------


def dirac_start(given: Values, parameters: Values, structure: Structure) -> dict[str, float]:
    """Start with the velocities that balance the forces."""
    return reduced(**structure).start(given, parameters)


def refined_start(given: Values, parameters: Values, structure: Structure) -> dict[str, float]:
    """Start where the full motion arrives after its fast part has died away."""
    return reduced(**structure).start(given, parameters, order=1)


def rolling_start(given: Values, parameters: Values, structure: Structure) -> dict[str, float]:
    """Start with the velocities at which no wheel slips."""
    vehicle = structure["units"](harmonic)
    q, p = vehicle.coordinates, vehicle.parameters
    slips = ca.vertcat(*_slips(vehicle).values())
    rates = -ca.solve(ca.jacobian(slips, q.dot.vector), ca.substitute(slips, q.dot.vector, 0))
    rule = ca.Function("rates", [q.vector, p.vector], [rates])
    place = [given[name] for name in POSITIONS]
    found = rule(place, [parameters[name] for name in p.names])
    return dict(
        zip((*POSITIONS, *SMALL), [*place, *np.asarray(found).ravel().tolist()], strict=True)
    )
