"""The normal reactions at a start, and the friction up to which they are determined.

The equations are those of `reduced`, in numbers. D_i = R - mu h u_n / max(|u|, delta) is positive
whatever the slip is, and the reactions unique, as long as mu < R / h at the largest h, that of the
end of a roller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.omni_friction import starting
from daesolve_problems.omni_friction.geometry import SOLVABLE, Vehicle, harmonics, vehicle
from daesolve_problems.omni_wheels import equal_directions


@dataclass(frozen=True)
class Loads:
    """The normal reactions of the wheels.

    Parameters
    ----------
    normals
        N_i, N.
    leverages
        D_i over R.
    limit
        The friction below which D_i > 0 whatever the slip is.
    """

    normals: tuple[float, ...]
    leverages: tuple[float, ...]
    limit: float


def loads(
    given: starting.Values, parameters: starting.Values, structure: Mapping[str, Any]
) -> Loads:
    """Return the normal reactions at a start.

    Raises
    ------
    OutOfRangeError
        As in `starting.start`.
    """
    wheels, rollers = structure["wheels"], structure["rollers"]
    car = vehicle(parameters, wheels, rollers)
    stands = starting.stands(given, parameters, structure)
    omega = float(given.get("omega", 0.0))
    levers = np.array([_lever(car, parameters, stand) for stand in stands])
    turning = np.array([_gyroscopic(car, stand, omega) for stand in stands])
    axles = np.array(equal_directions(wheels))
    ahead = np.stack([-axles[:, 1], axles[:, 0]])
    weight = car.mass * parameters["gravity"]
    moments = weight * np.array([-car.centre[1], car.centre[0]]) - ahead @ turning
    shares = np.reshape(harmonics(wheels), (-1, wheels))
    matrix = np.vstack([np.ones(wheels), ahead * levers, shares])
    right = np.concatenate([[weight], moments, np.zeros(len(shares))])
    end = car.wheel_radius - parameters["roller_end_radius"] * math.cos(math.pi / rollers)
    return Loads(
        tuple(np.linalg.solve(matrix, right).tolist()),
        tuple((levers / car.reach).tolist()),
        car.reach / end,
    )


def _lever(car: Vehicle, parameters: starting.Values, stand: starting.Stand) -> float:
    height = car.wheel_radius - stand.thickness * math.cos(stand.psi)
    slip = max(math.hypot(*stand.slip), parameters["slip_velocity"])
    return car.reach - parameters["friction"] * height * stand.slip[0] / slip


def _gyroscopic(car: Vehicle, stand: starting.Stand, omega: float) -> float:
    pitch = 2.0 * math.pi / len(stand.spins)
    across = sum(s * math.sin(stand.chi + pitch * j) for j, s in enumerate(stand.spins))
    return stand.rate * (car.wheel.axial * omega - car.wheel.roller_along * across)


def check_pressed(
    given: starting.Values, parameters: starting.Values, structure: Mapping[str, Any]
) -> None:
    """Refuse a start in which a wheel is not pressed to the floor.

    Raises
    ------
    OutOfRangeError
        The message names the wheel, or says that friction leaves the reactions undetermined.
    """
    found = loads(given, parameters, structure)
    if min(found.leverages) < SOLVABLE:
        raise OutOfRangeError(
            f"friction is {parameters['friction']:g}, which leaves the normal reactions "
            f"undetermined for the slip at the start; below {found.limit:g} every slip "
            "determines them"
        )
    lowest = min(found.normals)
    if lowest < 0.0:
        raise OutOfRangeError(
            f"the floor would have to pull wheel {found.normals.index(lowest) + 1} down with "
            f"{-lowest:g} N at the start: change platform_centre_x or platform_centre_y, or "
            "start slower"
        )


def normal_reactions(case: BoundCase) -> ds.Answer:
    """Report the normal reactions at the start, and whether they may become undetermined."""
    structure = case.problem.meaning(case.full_structure)
    found = loads(case.full_start, case.full_parameters, structure)
    friction = case.full_parameters["friction"]
    return ds.Answer(
        {
            "normals": list(found.normals),
            "relative_leverages": list(found.leverages),
            "friction": friction,
            "friction_limit": found.limit,
            "always_determined": friction < found.limit,
        }
    )
