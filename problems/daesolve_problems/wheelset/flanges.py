"""A railway wheelset that runs against its flanges, and climbs on the rail beyond Nadal's limit.

A railway wheelset moves sideways and yaws as it rolls along a straight track at a constant speed,
and each of its wheels may lift off its rail. Where the free play ends, the flange of a wheel comes
to bear on the rail: four contacts, a tread and a flange of each wheel, push but never pull, and a
flange rubs on its rail. Unknown are the forces in these contacts. Nothing is conserved: creep,
friction and impacts dissipate energy, and the drive that keeps the speed supplies it.

With the lateral place Y, the yaw Psi, the lifts Z of both wheels, the angle delta of a flange and
the side s = 1 of the right wheel, -1 of the left one, the reactions N of a tread and F of a flange,
and the friction T of the flange,

    M Y'' = F_y + creep + sum of s (T cos delta - F sin delta),    J Psi'' = M_z + creep,
    N + F cos delta + T sin delta = Q/2 + inertia of the lifting wheel,
    0 <= Z, N and 0 <= (play - s Y) sin delta + Z cos delta, F, with Z N = 0 and so on.

Creep is that of `wheelset`, with the load Q/2 of each wheel. The wheel rolls askew, so that its
flange slides on the rail with w = s Y' cos delta + Z' sin delta - s V Psi / cos delta: downwards if
it runs ahead into the rail. Then friction holds the wheel up. At L/N = (tan delta - kappa) / (1 +
kappa tan delta), Nadal's limit, the flange carries the whole wheel: the tread loses its rail, and
the wheel climbs. If it has climbed by the height of its flange, the wheelset has derailed, and the
run stops.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Arrow, Drawing, Outline, Shape
from daesolve.typing import BoundCase
from daesolve_problems.figures import Document, new_figure, series
from daesolve_problems.wheelset.vehicles import (
    WHEELSET,
    Creep,
    Loads,
    Vehicle,
    derived,
    dimensional,
    gust,
    linear,
    nadal_limit,
    ramp,
    saturated,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDES = {"left": -1, "right": 1}
APART = 0.14
"""The distance of both wheels in the drawing, m, whose track is much wider than what moves."""
LONGEST = 0.08
"""The length at which the drawing shows the load of a wheel, m."""
RAIL = [(0.0, 0.0), (0.07, 0.0), (0.07, -0.05), (0.0, -0.05)]
"""The head of a rail to the outside of its corner, m."""


def posed(creep: Creep, loads: Loads) -> ds.MechanicalSystem:
    """Pose the wheelset with treads and flanges as contacts."""
    vehicle = dimensional(WHEELSET, loads, [f"lift_{side}" for side in SIDES])
    q, p = vehicle.coordinates, vehicle.parameters
    pushed = 2 * vehicle.grip * creep(vehicle.slips[""])
    contacts = {
        f"{part}_{side}": pose(vehicle, side, sign)
        for side, sign in SIDES.items()
        for part, pose in (("tread", _tread), ("flange", _flange))
    }
    outputs: dict[str, tuple[ca.SX, str]] = {"load": (vehicle.force + pushed[1], "N")}
    for side, sign in SIDES.items():
        tread, flange = (contacts[f"{part}_{side}"] for part in ("tread", "flange"))
        across, up = _directions(vehicle)
        rubs = flange.traction
        outputs[f"across_{side}"] = (sign * (rubs * up - flange.reaction * across), "N")
        outputs[f"up_{side}"] = (tread.reaction + flange.reaction * up + rubs * across, "N")
    climbed = ca.vertcat(q.lift_left, q.lift_right) - p.flange_height
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=_kinetic(vehicle),
        force={
            "y": vehicle.force + pushed[1],
            "psi": vehicle.moment - vehicle.lever * pushed[0],
            **{f"lift_{side}": -p.axle_load / 2 for side in SIDES},
        },
        goals=[*contacts.values()],
        outputs=outputs,
        events=[ds.Event("derailed", climbed, ds.RISING, ds.Stop())],
    )


def _directions(vehicle: Vehicle) -> tuple[ca.SX, ca.SX]:
    """Return the components across and up of the normal of a flange, the sine and the cosine."""
    angle = vehicle.parameters.flange_angle
    return ca.sin(angle), ca.cos(angle)


def _tread(vehicle: Vehicle, side: str, sign: int) -> ds.Contact:
    return ds.Contact(f"tread_{side}", vehicle.coordinates[f"lift_{side}"])


def _flange(vehicle: Vehicle, side: str, sign: int) -> ds.Contact:
    q, p, v = vehicle.coordinates, vehicle.parameters, vehicle.coordinates.dot
    across, up = _directions(vehicle)
    return ds.Contact(
        f"flange_{side}",
        (p.play - sign * q.y) * across + q[f"lift_{side}"] * up,
        restitution=p.restitution,
        closed=False,
        slip=sign * (v.y * up - p.speed * q.psi / up) + v[f"lift_{side}"] * across,
        friction=p.friction,
    )


def _kinetic(vehicle: Vehicle) -> ca.SX:
    """Return the energy of an axle whose wheels lift: it rises and rolls."""
    p, v = vehicle.parameters, vehicle.coordinates.dot
    rise, roll = (v.lift_left + v.lift_right) / 2, (v.lift_right - v.lift_left) / 2
    vertical = p.mass * (rise**2 + (p.rho_z * roll) ** 2)
    return (vehicle.mass * v.y**2 + vehicle.inertia * v.psi**2 + vertical) / 2


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start with both treads on their rails, and no flange beyond its rail.

    Raises
    ------
    OutOfRangeError
        The axle would start beyond its free play.
    """
    most, play = abs(given.get("y", 0.0)), parameters["play"]
    if most > play:
        raise OutOfRangeError(
            f"parameter 'play' is {play!r}, but must be {most!r} or more, where the axle starts"
        )
    still = dict.fromkeys(
        [
            f"{name}{dot}"
            for name in ("y", "psi", "lift_left", "lift_right")
            for dot in ("", "_dot")
        ],
        0.0,
    )
    return {**still, **given}


# -- how hard the flanges are pressed ------------------------------------------------------------


def derailment(case: BoundCase) -> ds.Answer:
    """Report when treads lose their rails, and the load L / N there, beside Nadal's limit.

    L is what loads the axle across, forces and creep. It is not taken from the force of the flange,
    whose direction alone gives Nadal's quotient where the flange slides.
    """
    p, until = case.full_parameters, float(case.case.until)
    events = case.solve(at=[until]).events
    lost = [event for event in events if event.name in {f"tread_{side}_lost" for side in SIDES}]
    run = case.solve(at=np.unique([*np.linspace(0.0, until, 1001), *[one.time for one in lost]]))
    at_loss = run.times == lost[0].time if lost else np.zeros(0, dtype=bool)
    answer: dict[str, Any] = {
        "nadal_limit": float(nadal_limit(ca.SX(p["flange_angle"]), ca.SX(p["friction"]))),
        "outcome": run.outcome.value,
        "flange_at": [e.time for e in events if e.name.startswith("flange") and "closed" in e.name],
        "tread_lost_at": lost[0].time if lost else None,
        "quotient_of_loads": (
            float(abs(run["load"][at_loss][0]) / (p["axle_load"] / 2)) if lost else None
        ),
        "largest_quotient": max(float(np.nanmax(quotient(run, side))) for side in SIDES),
        "largest_lift": max(float(np.max(run[f"lift_{side}"])) for side in SIDES),
    }
    return ds.Answer(answer, {"derailment": pressed(run, answer["nadal_limit"])})


def quotient(run: ds.Trajectory, side: str) -> np.ndarray:
    """Return L / N of a wheel by the forces of its rail besides creep; NaN while it is lifted."""
    up = run[f"up_{side}"]
    return -SIDES[side] * run[f"across_{side}"] / np.where(up > 0.0, up, np.nan)


def pressed(run: ds.Trajectory, limit: float) -> Figure:
    """Draw the shift, the lifts and L / N of both wheels."""
    figure = new_figure(8.0, 6.2)
    shift, lift, quotients = figure.subplots(3, 1, sharex=True)
    shift.plot(run.times, 1e3 * run["y"])
    shift.set_ylabel("y (mm)")
    for side in SIDES:
        lift.plot(run.times, 1e3 * run[f"lift_{side}"], label=side)
        quotients.plot(run.times, quotient(run, side), label=side)
    lift.set_ylabel("lift (mm)")
    quotients.axhline(limit, color="black", linestyle="--", label="Nadal's limit")
    quotients.set_ylabel("L / N")
    quotients.set_xlabel("t (s)")
    for axis in (lift, quotients):
        axis.legend()
    return figure


def loads_on_wheels(document: Document) -> Figure:
    """Draw the forces of treads and flanges over time."""
    figure = new_figure(8.0, 4.6)
    axes = figure.subplots(2, 1, sharex=True)
    for axis, part in zip(axes, ("tread", "flange"), strict=True):
        for side in SIDES:
            values = series(document, "reactions", f"{part}_{side}") / 1e3
            axis.plot(document["times"], values, label=side)
        axis.set_ylabel(f"{part} (kN)")
        axis.legend()
    axes[-1].set_xlabel("t (s)")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw both wheels on their rails from behind, close to each other, in true size."""
    p = document["parameters"]
    y = series(document, "states", "y")
    scale = LONGEST / (p["axle_load"] / 2)
    shapes: list[Shape] = []
    moved: dict[str, np.ndarray] = {}
    for side, sign in SIDES.items():
        corner = sign * APART / 2
        rail = [(corner + sign * x, z) for x, z in RAIL]
        shapes.append(Outline(rail, role="ground", label="rails" if sign < 0 else ""))
        moved[f"{side}_across"] = corner - sign * p["play"] + y
        profile = [(sign * x, z) for x, z in _profile(p)]
        label = "wheels" if sign < 0 else ""
        shapes.append(Outline(profile, at=(f"{side}_across", f"lift_{side}"), label=label))
        at = (corner, 0.0)
        vector = (f"across_{side}", f"up_{side}")
        force = "force of the rail" if sign < 0 else ""
        shapes.append(Arrow(at, vector, scale, label=force))
    return Drawing(
        shapes,
        x_label="across (m); the track between the wheels is left out",
        y_label="up (m)",
        series=moved,
    )


def _profile(p: Mapping[str, float]) -> list[tuple[float, float]]:
    """Return the section of the right wheel, from the root of its flange."""
    tip = p["flange_height"]
    back = tip / np.tan(p["flange_angle"]) + 0.02
    return [
        (0.0, 0.0), (-(back - 0.02), -tip), (-back, -tip), (-back - 0.004, 0.05), (0.1, 0.05),
        (0.1, 0.0),
    ]  # fmt: skip


problem = ds.Problem(
    "wheelset-flanges",
    title="A railway wheelset that runs against its flanges",
    models={"flanges": posed},
    sources=[
        "A. V. Vlakhova, On 'non-holonomic motions' of gyroscopic and wheeled systems, Vestnik "
        "Moskov. Univ., Ser. 1, Mat. Mekh. (2013) 5, 67-73 (in Russian)",
        "M. J. Nadal, Locomotives à vapeur, Annales des Mines 10 (1896)",
    ],
    structure={
        "creep": ds.choice(linear=linear, saturated=saturated),
        "loads": ds.choice(ramp=ramp, gust=gust),
    },
    start=start,
    derived=derived,
    analyses={"derailment": derailment},
    figures={"loads on the wheels": loads_on_wheels},
    drawing=drawing,
    cases=[
        ds.Case(
            "climbing",
            parameters={
                "axle_load": 220e3,
                "speed": 10.0,
                "force_amplitude": 5e4,
                "yaw_stiffness": 1e7,
                "moment_mean": 2e5,
            },
            start={"y": 0.015, "psi": 0.02},
            until=4.0,
            note="a growing load presses the flange of an axle held askew: it climbs at Nadal's "
            "limit",
        ),
        ds.Case(
            "hunting",
            parameters={"axle_load": 220e3, "speed": 30.0},
            start={"y": 0.001},
            until=4.5,
            note="30 m/s: the oscillation grows until the flanges strike their rails in turn",
        ),
        ds.Case(
            "gust",
            structure={"loads": "gust"},
            parameters={
                "axle_load": 220e3,
                "speed": 10.0,
                "force_amplitude": 7e3,
                "moment_amplitude": 5.5e3,
            },
            start={"y": 0.001},
            until=6.0,
            note="a side wind presses a flange against its rail, which holds it until it goes back",
        ),
        ds.Case(
            "light",
            structure={"loads": "gust", "creep": "saturated"},
            parameters={"axle_load": 20e3, "speed": 10.0, "force_amplitude": 2.6e4},
            start={"y": 0.001},
            until=4.0,
            note="an axle with little load in a strong wind: a flange climbs 5 mm and slides back",
        ),
    ],
)
