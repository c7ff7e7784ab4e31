"""A roller of an omni-wheel alone on the floor: it falls, lands, slides, rolls and rocks.

A homogeneous roller, a circular arc turned about its chord, is thrown over a level floor. It flies
under its weight, lands with impacts, slides on its arc or on the edge of an end, rolls, and rocks
over its edges. Three reactions are unknown: the normal force of the floor, which never pulls, and
two of dry friction. Nothing is conserved: friction and impacts dissipate energy. Only rolling,
which nothing resists, dissipates none.

The arc belongs to the circle of a wheel of the radius l that n such rollers surround: at the angle
b from its middle the roller is rho = l cos(b) - d thick, |b| <= pi / n. With its axis e and the
normal n of the floor, e . n = c, its centre is

    h = l - d sqrt(1 - c^2)          above the floor on its arc, where |c| <= sin(pi / n),
    h = rho_end sqrt(1 - c^2) + l sin(pi / n) |c|      on the edge of an end, beyond;

the point of contact is continuous where one takes over from the other (the event `floor_edge`), and
the normal force is not: a roller that rocks may leave the floor there.

With the mass m, the moment B about the axis and A across it, the arm r from the centre to the point
of contact, the slip s = v + w x r and the force F,

    m v' = F - m g n,    (A w + (B - A)(w . e) e)' = r x F,
    F = N (n - mu s / |s|) while it slides; s = 0, |F - N n| <= mu N while it rolls.

A roller that is cut off may come to stand on its end: then a whole rim touches, the point of
contact is undetermined, and the run ends (`floor_flat`).

A start has the place of the centre `x`, `y` and its `height` over where it would touch, the
`heading` of its axis about the vertical and its `tilt` above the level; its velocity `speed_x`,
`speed_y`, `speed_z`, and `spin` about its axis, `pitch` about the level line across it (positive
lowers its front), `yaw` about the vertical. Without a height it lies on the floor. Speeds left out
are zero in the air; on the floor they are those of rolling.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.multibody import Body, Mechanism, PlaneContact, Spindle
from daesolve.multibody.drawing import (
    Arrow,
    Camera,
    Drawing,
    Line,
    Outline,
    Pose,
    Shape,
    Trace,
    ring,
    tiles,
)
from daesolve.typing import BoundCase, Parameters
from daesolve_problems import spindle
from daesolve_problems.contacts.free_body import EYE, quaternion_of
from daesolve_problems.figures import Document, frames_of, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Mapping[str, float]
START = (
    *("x", "y", "height", "heading", "tilt"),
    *("speed_x", "speed_y", "speed_z", "spin", "pitch", "yaw"),
)
SPEEDS, SPINS = ("x_dot", "y_dot", "z_dot"), ("w1", "w2", "spin")
SHARE = ds.Interval(0.0, 1.0)
"""The range of coefficients of restitution."""
CONTOUR = 9
"""Points of a drawn arc."""
RING = 16
"""Points of a drawn circle."""


def numbers() -> Parameters:
    """Return the parameters: a roller of a small vehicle's wheel."""
    return ds.parameters(
        mass=(0.02, "kg", ds.POSITIVE),
        wheel_radius=(0.05, "m", ds.POSITIVE),
        end_radius=(0.0, "m", ds.NON_NEGATIVE),
        friction=(0.3, "", ds.NON_NEGATIVE),
        restitution=(0.3, "", SHARE),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
    )


def posed(rollers: int, pointed: bool) -> ds.MechanicalSystem:
    """Pose the roller over its floor.

    Parameters
    ----------
    rollers
        n, of the wheel whose circle its arc belongs to.
    pointed
        Whether its ends are tips; else they are rims of the radius `end_radius`.
    """
    p = numbers()
    shape = _shape(p, rollers, pointed)
    across = p.mass * shape.across
    roller = Body("roller", p.mass, (across, across, p.mass * shape.along), axisymmetric=True)
    surface = Spindle(p.wheel_radius, shape.axis_distance, None if pointed else shape.half_length)
    floor = PlaneContact(
        "floor",
        roller.frame(),
        surface,
        friction=p.friction,
        unilateral=True,
        restitution=p.restitution,
        closed=False,
    )
    mechanism = Mechanism([roller], [floor], p, gravity=(0.0, 0.0, -p.gravity))
    axis, touching = roller.frame().axis(2), floor.touch.point
    places = dict(zip(("axis_x", "axis_y", "axis_z"), (axis[k] for k in range(3)), strict=True))
    return mechanism.system(
        outputs={name: (part, "") for name, part in places.items()}
        | {"lowest_x": (touching[0], "m"), "lowest_y": (touching[1], "m")},
    )


def _shape(p: Any, rollers: int, pointed: bool) -> spindle.Spindle:
    return spindle.Spindle(p["wheel_radius"], rollers, 0.0 if pointed else p["end_radius"])


# -- its start -----------------------------------------------------------------------------------


def shape_of(parameters: Values, structure: Mapping[str, Any]) -> spindle.Spindle:
    """Return the roller's shape.

    Raises
    ------
    OutOfRangeError
        It has no thickness where it is cut off, or its axis lies beyond the wheel's centre.
    """
    pointed, rollers = structure["pointed"], structure["rollers"]
    end, largest = parameters["end_radius"], parameters["wheel_radius"]
    largest *= math.cos(math.pi / rollers)
    if not pointed and not 0.0 < end < largest:
        raise ds.errors.OutOfRangeError(
            f"parameter 'end_radius' is {end!r}, but must be above 0 and below {largest!r} where "
            "the roller is cut off"
        )
    return _shape(parameters, rollers, pointed)


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Throw the roller, or lay it on the floor."""
    shape = shape_of(parameters, structure)
    heading, tilt = given.get("heading", 0.0), given.get("tilt", 0.0)
    axis = _axis(heading, tilt)
    across = np.array([-math.sin(heading), math.cos(heading), 0.0])
    spin, pitch, yaw = (given.get(name, 0.0) for name in ("spin", "pitch", "yaw"))
    turning = spin * axis + pitch * across + np.array([0.0, 0.0, yaw])
    own = np.column_stack([np.cross(across, axis), across, axis])
    high, (upwards, along) = shape.lowest(axis[2])
    height = given.get("height", 0.0)
    arm = upwards * np.array([0.0, 0.0, 1.0]) + along * axis
    rolling = -np.cross(turning, arm) if height == 0.0 else np.zeros(3)
    velocity = [given.get(f"speed_{axis}", own) for axis, own in zip("xyz", rolling, strict=True)]
    state = {"x": given.get("x", 0.0), "y": given.get("y", 0.0), "z": high + height}
    state |= {f"q{k}": part for k, part in enumerate(quaternion_of(own))}
    state |= dict(zip(SPEEDS, velocity, strict=True))
    state |= dict(zip(SPINS, (own.T @ turning).tolist(), strict=True))
    return {f"roller_{name}": float(part) for name, part in state.items()}


def derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return which end is the lowest at the start, and whether the roller lies on the floor."""
    shape = shape_of(parameters, structure)
    cosine = float(_axis(given.get("heading", 0.0), given.get("tilt", 0.0))[2])
    beyond = abs(cosine) > math.sin(shape.half_angle)
    lies = given.get("height", 0.0) == 0.0
    return {
        "floor_end": -math.copysign(1.0, cosine) if beyond else 0.0,
        "contact_floor": float(lies),
    }


def _axis(heading: float, tilt: float) -> np.ndarray:
    level = math.cos(tilt)
    return np.array([level * math.cos(heading), level * math.sin(heading), math.sin(tilt)])


# -- what is asked -------------------------------------------------------------------------------


def balance(case: BoundCase) -> ds.Answer:
    """Run a case, and report its energy: losses in friction and impacts, and the rest."""
    run = case.solve()
    p, shape = case.full_parameters, shape_of(case.full_parameters, case.full_structure)
    energies = [_energy(run, sample, p, shape) for sample in (0, -1)]
    struck = sum(e.impact.kinetic_before - e.impact.kinetic_after for e in run.events if e.impact)
    rubbed = -float(run["floor_friction_work"][-1])
    missing = energies[0] - energies[1] - rubbed - struck
    found: dict[str, Any] = {
        "energy_at_the_start": energies[0],
        "energy_at_the_end": energies[1],
        "taken_by_friction": rubbed,
        "taken_by_impacts": struck,
        "missing": missing,
        "impacts": sum(event.impact is not None for event in run.events),
        "edges": sum(event.name == "floor_edge" for event in run.events),
    }
    return ds.Answer(found)


def _energy(run: ds.Trajectory, sample: int, p: Values, shape: spindle.Spindle) -> float:
    """Return kinetic and potential energy at a sample, J."""
    at = {name: float(run[f"roller_{name}"][sample]) for name in (*SPEEDS, *SPINS, "z")}
    linear = sum(at[name] ** 2 for name in SPEEDS)
    turning = shape.across * (at["w1"] ** 2 + at["w2"] ** 2) + shape.along * at["spin"] ** 2
    return p["mass"] * ((linear + turning) / 2.0 + p["gravity"] * at["z"])


# -- pictures ------------------------------------------------------------------------------------


def contact_over_time(document: Document) -> Figure:
    """Draw the height of the lowest point, the slip, and the tilt of the axis."""
    times = series(document, "times")
    figure, (gap, slip, tilt) = panels_over_time(3)
    gap.plot(times, 1e3 * series(document, "outputs", "floor_gap"), linewidth=1.2)
    gap.set_ylabel("gap (mm)")
    parts = [series(document, "outputs", f"floor_slip_{k}") for k in (1, 2)]
    slip.plot(times, np.hypot(*parts), linewidth=1.2)
    slip.set_ylabel("speed of the lowest point along the floor (m/s)")
    axis = np.clip(series(document, "outputs", "axis_z"), -1.0, 1.0)
    tilt.plot(times, np.degrees(np.arcsin(axis)), linewidth=1.2)
    tilt.set_ylabel("tilt of the axis (degrees)")
    return figure


def contour(shape: spindle.Spindle) -> tuple[np.ndarray, np.ndarray]:
    """Return the contour of a roller: places along its axis and its radii there, m."""
    angles = np.linspace(-shape.half_angle, shape.half_angle, CONTOUR)
    along = shape.wheel_radius * np.sin(angles)
    return along, np.maximum(shape.wheel_radius * np.cos(angles) - shape.axis_distance, 0.0)


def wires(pose: Pose, shape: spindle.Spindle, label: str = "") -> list[Shape]:
    """Return the drawing of a roller along the third axis of a pose: its contour, and rings."""
    along, radii = contour(shape)
    nothing = np.zeros_like(along)
    sides = [np.column_stack([radii, nothing, along]), np.column_stack([-radii, nothing, along])]
    rings = [ring(r, 2, (0.0, 0.0, x), RING) for x, r in zip(along[::4], radii[::4], strict=True)]
    return [
        Outline(pose.places(np.vstack([sides[0], sides[1][::-1]])), label=label),
        Line(pose.places(np.column_stack([nothing, radii, along])), role="detail"),
        Line(pose.places(np.column_stack([nothing, -radii, along])), role="detail"),
        *[Outline(pose.places(places), role="detail") for places in rings if np.ptp(places) > 0.0],
    ]


def drawing(document: Document) -> Drawing:
    """Draw the roller over the floor, with the path of its contact and the force there."""
    p, structure = document["parameters"], document["structure"]
    shape, pose = shape_of(p, structure), Pose("roller")
    centre, axes = frames_of(document, "roller")
    push = np.nan_to_num(np.asarray(series(document, "reactions", "floor")))
    columns = pose.series(centre, axes)
    columns["push"] = push / (p["mass"] * p["gravity"]) * shape.half_length / 2.0
    touch = ("lowest_x", "lowest_y", 0.0)
    return Drawing(
        [
            *tiles(centre, 1.5 * shape.half_length),
            Trace(touch, label="lowest point, over the floor"),
            *wires(pose, shape, "roller"),
            Arrow(touch, (0.0, 0.0, "push"), label="normal force"),
        ],
        series=columns,
        camera=Camera(touch, 8.0 * shape.half_length),
        eye=EYE,
    )


problem = ds.Problem(
    "free-roller",
    title="A roller of an omni-wheel alone on the floor",
    models={"roller": posed},
    sources=[
        "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and "
        "with friction, Moscow State University (2018, in Russian), chapter 3",
    ],
    structure={"rollers": 4, "pointed": True},
    start=start,
    start_values=lambda structure: START,
    derived=derived,
    analyses={"balance": balance},
    figures={"contact over time": contact_over_time},
    drawing=drawing,
    cases=[
        ds.Case(
            "thrown",
            start={
                "height": 0.05,
                "tilt": 0.5,
                "speed_x": 0.5,
                "speed_y": 0.2,
                "speed_z": 0.0,
                "spin": 3.0,
                "pitch": 2.0,
                "yaw": 1.0,
            },
            until=1.0,
            note="falls on an end, bounces until it stays, slides, rocks over its edges, and rolls",
        ),
        ds.Case(
            "dropped",
            start={"height": 0.1},
            until=0.8,
            note="bounces on its middle, and comes to rest where its bounces end",
        ),
        ds.Case(
            "slides-across",
            parameters={"friction": 0.1},
            start={"speed_y": -0.5},
            until=0.5,
            note="set down across its axis without spin: it slides, and rolls on straight ahead",
        ),
        ds.Case(
            "rocks",
            parameters={"friction": 2.0, "restitution": 0.0},
            start={"tilt": 0.2, "spin": 4.0},
            until=2.0,
            note="never slips: it rolls round and round, and rocks",
        ),
        ds.Case(
            "cut-off",
            structure={"pointed": False},
            parameters={"end_radius": 0.004},
            start={
                "height": 0.03,
                "tilt": 0.9,
                "heading": 0.3,
                "speed_x": 0.4,
                "spin": 20.0,
                "yaw": -3.0,
            },
            until=1.0,
            note="with blunt ends, thrown on one of them",
        ),
    ],
)
