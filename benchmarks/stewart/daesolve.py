"""The platform in daesolve: bodies with quaternions, and joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import daesolve as ds
from benchmarks.common.attempts import BrokeDownError
from daesolve.multibody import (
    GROUND,
    Body,
    Mechanism,
    Part,
    Prismatic,
    Spherical,
    SpringDamper,
    Universal,
)

from . import platform as numbers
from .platform import LEGS, UNTIL, Ended, Leg

TAYLOR = (1e-3, 1e-4, 1e-5, 1e-7, 1e-9, 1e-11)
DOP853 = (1e-5, 1e-7, 1e-9, 1e-11)
SEEN = (
    *(f"plate_{axis}" for axis in "xyz"),
    *(f"plate_{axis}_dot" for axis in "xyz"),
    *(f"plate_w{axis}" for axis in (1, 2, 3)),
)


def mechanism() -> Mechanism:
    """Pose the platform."""
    plate = Body(
        "plate", numbers.PLATE_MASS, numbers.PLATE_INERTIA, position=numbers.PLATE_CENTRE.tolist()
    )
    bodies: list[Body] = [plate]
    parts: list[Part] = []
    for number, leg in enumerate(LEGS):
        own, between = _leg(plate, number, leg)
        bodies += own
        parts += between
    return Mechanism(bodies, parts, gravity=(0, 0, -numbers.GRAVITY))


def _leg(plate: Body, number: int, leg: Leg) -> tuple[list[Body], list[Part]]:
    turned = Rotation.from_matrix(leg.axes).as_quat(scalar_first=True).tolist()
    tube = Body(
        f"tube_{number}", numbers.TUBE_MASS, numbers.TUBE_INERTIA, position=leg.tube.tolist(),
        rotation=turned,
    )  # fmt: skip
    rod = Body(
        f"rod_{number}", numbers.ROD_MASS, numbers.ROD_INERTIA, position=leg.rod.tolist(),
        rotation=turned,
    )  # fmt: skip
    foot = GROUND.frame(tuple(leg.foot.tolist()))
    head = plate.point(*leg.head_in_plate.tolist())
    parts: list[Part] = [
        Universal(f"foot_{number}", foot, tube.frame((0, 0, -numbers.TUBE_CENTRE))),
        Prismatic(f"slide_{number}", tube.frame(), rod.frame(), axis=2),
        Spherical(f"head_{number}", rod.point(0, 0, numbers.ROD_CENTRE), head),
        SpringDamper(
            f"spring_{number}", GROUND.point(*leg.foot.tolist()), head, numbers.STIFFNESS,
            numbers.DAMPING, leg.natural,
        ),
    ]  # fmt: skip
    return [tube, rod], parts


def solved(system: ds.MechanicalSystem, start: Mapping[str, float], **options: Any) -> Ended:
    """Solve it as a user would; return the final state, in the order of `SEEN`, and the steps."""
    run = ds.solve(system, UNTIL, guess=start, at=[UNTIL], **options)
    if run.outcome is not ds.Outcome.COMPLETED:
        raise BrokeDownError(run.message)
    return np.array([run.end_state[name] for name in SEEN]), run.statistics.steps


def settings() -> dict[tuple[str, str], Callable[[], Ended]]:
    """Return functions that solve the platform, by method and setting."""
    posed = mechanism()
    system, start = posed.system(), {name: float(value) for name, value in posed.start.items()}
    solvers: dict[tuple[str, str], dict[str, Any]] = {("taylor", "as it comes"): {}}
    solvers |= {("taylor", f"rtol {value:g}"): {"rtol": value} for value in TAYLOR}
    solvers |= {
        ("dop853", f"rtol {value:g}"): {"solver": ds.Dop853(rtol=value, atol=value)}
        for value in DOP853
    }
    return {name: partial(solved, system, start, **options) for name, options in solvers.items()}
