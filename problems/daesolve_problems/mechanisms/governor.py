"""A flyball governor with stiff springs: a shaft, two rods with balls, a slider on the shaft.

Rigid bodies under their weight turn about a vertical axis: hinges, bearing and guide have no
friction, and only the dampers take energy. The twenty unknown reactions are the forces and moments
of these joints, five components each; springs and dampers are given forces. The moment of momentum
about the vertical is conserved, and without the dampers the energy too.

The shaft turns freely about the vertical. At its upper end, on both sides, the rods hang on hinges,
each with a ball at its lower end. A spring with a damper joins the middle of each rod to the
slider. It starts turning as one body, both rods at an angle below the horizontal, the springs
unstretched: the balls rise and fall, and with them the slider.

Springs and dampers are stiff: their own motion dies out within damping/stiffness = 0.05 s and some
slider/damping = 7.5e-5 s, while the rods swing once a second. Bars and the slider are bodies of one
density: square bars with the side `width`, a cube with the side `cube`. The moment of momentum
about the vertical does not change, the energy falls by the work of the dampers.

All lengths, masses and the start come from benchmark A05 of the IFToMM library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody import (
    GROUND,
    Body,
    Mechanism,
    Prismatic,
    Revolute,
    SpringDamper,
    quaternion,
)
from daesolve.multibody.drawing import (
    Dot,
    Drawing,
    Line,
    Outline,
    Pose,
    Shape,
    Trace,
    tiles,
)
from daesolve.typing import Parameters
from daesolve_problems.figures import frames_of, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDES = {"right": 1.0, "left": -1.0}


def governor(turning: float = 0.0, angle: float = 0.0) -> tuple[Mechanism, dict[str, Body]]:
    """Assemble the governor, and place it, turning as one body."""
    p = ds.parameters(
        density=(3000.0, "kg/m^3", ds.POSITIVE),
        length=(1.0, "m", ds.POSITIVE),
        width=(0.01, "m", ds.POSITIVE),
        cube=(0.1, "m", ds.POSITIVE),
        arm=(0.05, "m"),
        ball=(5.0, "kg", ds.NON_NEGATIVE),
        stiffness=(8e5, "N/m", ds.NON_NEGATIVE),
        damping=(4e4, "N s/m", ds.NON_NEGATIVE),
        spring_length=(0.5, "m", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
    )
    bar, cube = p.density * p.width**2 * p.length, p.density * p.cube**3
    across, along = bar * (p.length**2 + p.width**2) / 12, bar * p.width**2 / 6
    cosine, sine = float(np.cos(angle)), float(np.sin(angle))
    outward, down = p.length / 2 * cosine, p.length / 2 * sine
    drop = ca.sqrt(p.spring_length**2 - outward**2)
    spin = (0.0, 0.0, turning)
    shaft = Body(
        "shaft",
        bar,
        (across, across, along),
        position=(0, 0, p.length / 2),
        angular_velocity=spin,
    )
    slider = Body(
        "slider",
        cube,
        [cube * p.cube**2 / 6] * 3,
        position=(0, 0, p.length - down - drop),
        angular_velocity=spin,
    )
    bodies = [shaft, slider]
    parts = [
        Revolute("bearing", GROUND.frame(), shaft.frame((0, 0, -p.length / 2))),
        Prismatic("sleeve", shaft.frame(), slider.frame(), axis=2),
    ]
    for name, side in SIDES.items():
        rod, beyond = _rod(name, side, p, bar, turning, angle)
        hinge = rod.frame((-p.length / 2 - beyond, 0, 0))
        on_shaft = shaft.frame((side * p.arm, 0, p.length / 2))
        on_slider, middle = slider.point(side * p.arm, 0, 0), rod.point(-beyond, 0, 0)
        bodies += [rod]
        parts += [
            Revolute(f"{name}_hinge", on_shaft, hinge, axis=1),
            SpringDamper(
                f"{name}_spring",
                on_slider,
                middle,
                stiffness=p.stiffness,
                damping=p.damping,
                length=p.spring_length,
            ),
        ]
    named = {body.name: body for body in bodies}
    return Mechanism(bodies, parts, p, gravity=(0, 0, -p.gravity)), named


def _rod(
    name: str, side: float, p: Parameters, bar: ca.SX, turning: float, angle: float
) -> tuple[Body, ca.SX]:
    """Return a rod with its ball, and how far its mass centre is from its middle."""
    beyond = p.ball / (bar + p.ball) * p.length / 2
    across, along = bar * (p.length**2 + p.width**2) / 12, bar * p.width**2 / 6
    swing = across + bar * beyond**2 + p.ball * (p.length / 2 - beyond) ** 2
    cosine, sine = np.cos(angle), np.sin(angle)
    reach = p.arm + (p.length / 2 + beyond) * cosine
    rod = Body(
        name,
        bar + p.ball,
        (along, swing, swing),
        position=(side * reach, 0, p.length - (p.length / 2 + beyond) * sine),
        # Axis 1 points from the hinge to the ball.
        rotation=quaternion((0, 1, 0), angle if side > 0 else np.pi - angle),
        velocity=(0, side * reach * turning, 0),
        angular_velocity=(-turning * sine, 0, side * turning * cosine),
    )
    return rod, beyond


def posed() -> ds.MechanicalSystem:
    """Pose the governor, with the angles of its rods and its momentum about the vertical."""
    mechanism, bodies = governor()
    momentum = ca.SX(0)
    outputs = {"turning": (bodies["shaft"].frame().angular_velocity[2], "rad/s")}
    for body in bodies.values():
        frame = body.frame()
        own = frame.rotation @ body.moments @ body.velocities.vector[3:]
        momentum += own[2] + body.mass * ca.cross(frame.position, frame.velocity)[2]
    for name in SIDES:
        along = bodies[name].frame().axis(0)
        outputs[f"{name}_angle"] = (-ca.asin(along[2]), "rad")
    kept = ds.Invariant("vertical_momentum", momentum, drive=False)
    return mechanism.system(goals=[kept], outputs=outputs)


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Turn as one body, the rods at an angle below the horizontal, the springs unstretched."""
    mechanism, _ = governor(given["turning"], given["angle"])
    return mechanism.start_at(parameters)


def slider_and_turning(document: Mapping[str, Any]) -> Figure:
    """Draw the height of the slider and the rate of the shaft over time."""
    times = document["times"]
    figure = new_figure(8.0, 4.6)
    panels = figure.subplots(2, 1, sharex=True)
    panels[0].plot(times, document["states"]["slider_z"], linewidth=1.0)
    panels[0].set_ylabel("height of the slider (m)")
    panels[1].plot(times, document["outputs"]["turning"], linewidth=1.0)
    panels[1].set_ylabel("turning (rad/s)")
    panels[1].set_xlabel("t (s)")
    return figure


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the shaft, the slider, the springs, and the balls on their rods."""
    p = document["parameters"]
    poses: dict[str, Pose] = {}
    series: dict[str, np.ndarray] = {}
    for name in ("slider", *SIDES):
        poses[name] = pose = Pose(name)
        series |= pose.series(*frames_of(document, name))
    half = p["cube"] / 2
    square = half * np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)])
    slider = poses["slider"]
    shapes: list[Shape] = [
        *tiles(np.zeros((1, 2)), p["length"]),
        Line([(0.0, 0.0, 0.0), (0.0, 0.0, "length")], role="ground", label="shaft"),
        *[
            Outline(
                slider.places(square + np.array([0.0, 0.0, z])), label="slider" if z > 0 else ""
            )
            for z in (-half, half)
        ],
    ]
    bar = p["density"] * p["width"] ** 2 * p["length"]
    beyond = p["ball"] / (bar + p["ball"]) * p["length"] / 2
    for name, side in SIDES.items():
        hinge = (-p["length"] / 2 - beyond, 0.0, 0.0)
        end, middle = (p["length"] / 2 - beyond, 0.0, 0.0), (-beyond, 0.0, 0.0)
        rod = poses[name]
        shapes += [
            Line([rod.place(hinge), rod.place(end)]),
            Line([slider.place((side * p["arm"], 0.0, 0.0)), rod.place(middle)], role="detail"),
            Trace(rod.place(end)),
            Dot(rod.place(end), role="accent", label=f"{name} ball"),
        ]
    return Drawing(shapes, series=series, eye=(0.4, -1.0, 0.35))


BENCHMARK = {"turning": 2 * np.pi, "angle": np.pi / 6}

problem = ds.Problem(
    "flyball-governor",
    title="A flyball governor with springs",
    models={"bodies": posed},
    sources=[
        "IFToMM Technical Committee for Multibody Dynamics, Library of Computational "
        "Benchmark Problems, A05",
        "M. González, D. Dopico, U. Lugrís, J. Cuadrado, A benchmarking system for MBS simulation "
        "software: problem standardization and performance measurement, Multibody Syst. Dyn. 16 "
        "(2006) 179-190",
    ],
    start=start,
    figures={"slider and turning": slider_and_turning},
    drawing=drawing,
    cases=[
        ds.Case(
            "soft",
            parameters={"stiffness": 4e3, "damping": 200.0},
            start=BENCHMARK,
            until=10.0,
            note="springs and dampers softer by 200 than the benchmark's",
        ),
        ds.Case(
            "benchmark",
            start=BENCHMARK,
            until=10.0,
            note="stiff; radau at rtol=1e-8 follows it to 2e-11 m",
        ),
        ds.Case(
            "undamped",
            parameters={"stiffness": 4e3, "damping": 0.0},
            start=BENCHMARK,
            until=100.0,
            note="soft springs without dampers: the energy is kept",
        ),
    ],
)
