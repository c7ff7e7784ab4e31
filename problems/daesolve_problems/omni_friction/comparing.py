"""The distance of a run from the vehicle without inertia of the rollers, to which it tends.

The rollers' share of the mass tends to zero; at each share the motion is compared with that of the
matched vehicle of `omni-inertialess`, with the same masses and moments, except the moments of
rollers about their own axes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems import omni_inertialess
from daesolve_problems.omni_friction import starting
from daesolve_problems.omni_friction.geometry import vehicle

Values = Mapping[str, float]
PLACE = ("x", "y", "theta")


def matched(parameters: Values, structure: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with which `omni-inertialess` is the limit of this vehicle.

    The rollers keep their mass, which counts as a part of wheel and vehicle; only their moments
    about their own axes are left out.

    Parameters
    ----------
    parameters, structure
        Of the problem `omni-friction`.

    Returns
    -------
    dict of str to float or int
        mass, inertia, wheel_inertia, wheel_radius, platform_radius, centre_x, centre_y, and the
        structure wheels.
    """
    car = vehicle(parameters, structure["wheels"], structure["rollers"])
    return {
        "mass": car.mass,
        "inertia": car.inertia,
        "wheel_inertia": car.wheel.axial,
        "wheel_radius": car.wheel_radius,
        "platform_radius": car.reach,
        "centre_x": car.centre[0],
        "centre_y": car.centre[1],
        "wheels": structure["wheels"],
    }


def matched_motion(
    start: Values, parameters: Values, structure: Mapping[str, Any], times: np.ndarray
) -> dict[str, np.ndarray]:
    """Return x, y and theta of the matched vehicle without inertia of its rollers.

    In closed form where the mass centre lies in the middle, else integrated.

    Parameters
    ----------
    start
        x, y, theta, x_dot, y_dot and omega at the start.
    parameters, structure
        Of the problem `omni-friction`.
    times
        (k,), s since the start, increasing.

    Raises
    ------
    OutOfRangeError
        As in the problem `omni-inertialess`.
    """
    same = matched(parameters, structure)
    begun = {name: start[name] for name in (*PLACE, "omega")}
    cosine, sine = math.cos(start["theta"]), math.sin(start["theta"])
    begun["v_1"] = cosine * start["x_dot"] + sine * start["y_dot"]
    begun["v_2"] = cosine * start["y_dot"] - sine * start["x_dot"]
    case = omni_inertialess.problem.case("mixed", **same)
    if same["centre_x"] == 0.0 and same["centre_y"] == 0.0:
        return omni_inertialess.closed_form(times, begun, case.full_parameters, same["wheels"])
    if not times[-1] > 0.0:
        return {name: np.full(len(times), start[name]) for name in PLACE}
    run = case.solve(until=float(times[-1]), at=times, initial=begun)
    return {name: run[name] for name in PLACE}


def _matched(case: BoundCase, run: ds.Trajectory) -> dict[str, np.ndarray]:
    structure = case.problem.meaning(case.full_structure)
    begun = starting.start(case.full_start, case.full_parameters, structure) | dict(case.initial)
    return matched_motion(begun, case.full_parameters, structure, run.times)


def position_deviation(case: BoundCase, run: ds.Trajectory) -> float:
    """Return the largest distance of O from that of the matched vehicle at a sample, m."""
    other = _matched(case, run)
    return float(np.max(np.hypot(run["x"] - other["x"], run["y"] - other["y"])))


def angle_deviation(case: BoundCase, run: ds.Trajectory) -> float:
    """Return the largest deviation of theta from that of the matched vehicle at a sample, rad."""
    return float(np.max(np.abs(turned_back(run["theta"] - _matched(case, run)["theta"]))))


def turned_back(angle: np.ndarray) -> np.ndarray:
    """Return angles less whole turns, between -pi and pi: a model may report theta as such."""
    return angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))


def dissipated_share(case: BoundCase, run: ds.Trajectory) -> float:
    """Return the share of the energy at the first sample that friction dissipated."""
    return float((run["friction_work"][0] - run["friction_work"][-1]) / run["energy"][0])


MEASURES = {
    "position_deviation": ds.Measure(position_deviation, "m"),
    "angle_deviation": ds.Measure(angle_deviation, "rad"),
    "dissipated_share": ds.Measure(dissipated_share),
}
"""The measures of each member of a sweep."""
