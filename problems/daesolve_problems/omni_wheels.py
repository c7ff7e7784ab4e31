"""What all vehicles on omni-wheels share: the number, places and names of their wheels.

Wheel i stands at (wheel_x_i, wheel_y_i) on the platform, n_i = (cos, sin) of heading_i is the
direction of its axle, roller_angle_i that of its rollers' axes. If the wheels stand at equal angles
about the platform, their axles are radial.
"""

from __future__ import annotations

import math
from typing import Any

import scipy

import daesolve as ds
from daesolve.errors import OutOfRangeError

FEWEST_WHEELS = 3
FEWEST_ROLLERS = 3


def check_counts(wheels: int, rollers: int) -> None:
    """Refuse too few wheels or rollers.

    Raises
    ------
    OutOfRangeError
        There are fewer than three wheels, or fewer than three rollers per wheel.
    """
    if wheels < FEWEST_WHEELS:
        raise OutOfRangeError(
            f"wheels is {wheels}, but must be at least {FEWEST_WHEELS}: the platform would tip over"
        )
    if rollers < FEWEST_ROLLERS:
        raise OutOfRangeError(
            f"rollers is {rollers}, but must be at least {FEWEST_ROLLERS}: fewer leave gaps in "
            "which the wheel touches nothing"
        )


def numbered(name: str, *counts: int) -> list[str]:
    """Return `name_1`, `name_2`, ... or `name_1_1`, `name_1_2`, ..."""
    names = [name]
    for count in counts:
        names = [f"{start}_{index}" for start in names for index in range(1, count + 1)]
    return names


def equal_directions(count: int) -> list[tuple[float, float]]:
    """Return (cos, sin) of angles that divide a turn into equal parts, the first of them zero.

    Computed in degrees, so that symmetric angles are symmetric to the last digit.
    """
    degrees = [360.0 * index / count for index in range(count)]
    return [
        (float(scipy.special.cosdg(angle)), float(scipy.special.sindg(angle))) for angle in degrees
    ]


def wheel_parameters(wheels: int) -> dict[str, tuple[float, str, ds.Interval]]:
    """Return the places and directions of wheels anywhere, to be declared.

    A wheel whose x and y are both zero has its place in the symmetric vehicle (`wheel_place`).
    """
    entries: dict[str, tuple[float, str, ds.Interval]] = {}
    for i in range(1, wheels + 1):
        entries |= {f"wheel_{axis}_{i}": (0.0, "m", ds.Interval()) for axis in "xy"}
        entries[f"heading_{i}"] = (math.tau * (i - 1) / wheels, "rad", ds.Interval())
        entries[f"roller_angle_{i}"] = (0.0, "rad", ds.Interval())
    return entries


def wheel_place(p: Any, i: int, direction: tuple[float, float]) -> tuple[Any, Any]:
    """Return where wheel i stands, m.

    Parameters
    ----------
    p
        Every parameter by name, numbers or symbols.
    i
        The wheel, from 1.
    direction
        Of its axle in the symmetric vehicle.
    """
    x, y = p[f"wheel_x_{i}"], p[f"wheel_y_{i}"]
    unset = (x == 0) * (y == 0) * p["platform_radius"]
    return x + unset * direction[0], y + unset * direction[1]


def mecanum(in_the_plane: float) -> dict[str, float]:
    """Return four wheels with rollers at 45 degrees to their axles, as on a car.

    Parameters
    ----------
    in_the_plane
        The roller angle of rollers whose axes lie in the wheel's plane, rad.
    """
    return {
        f"{name}_{i}": value
        for i, (ahead, left) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)], start=1)
        for name, value in {
            "wheel_x": 0.2 * ahead,
            "wheel_y": 0.15 * left,
            "heading": math.pi / 2,
            "roller_angle": in_the_plane + ahead * left * math.pi / 4,
        }.items()
    }
