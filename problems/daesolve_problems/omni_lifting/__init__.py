"""A vehicle on omni-wheels whose wheels lift off the floor, fly and land.

A rigid platform on three wheels or more, which touch a level floor with Coulomb's friction. Nothing
keeps it level: in a bend that is too fast, or dropped, it tilts about the wheels that stand, leaves
the floor, flies, and lands with impacts, or tips over. The unknown reactions are the normal force,
which never pulls, and the friction of whatever touches. Nothing is conserved: motors drive, and
friction and impacts dissipate energy.

N wheels stand at equal angles about the platform, at the distance R from its middle, their axles
n_i radial; the platform's mass centre lies `platform_height` over the axles. Masses are constant in
the rates V_i of the wheels about their axles, seen from space.

In `light` the rollers are so many and so light that neither their changes nor their inertia matter:
a wheel is pushed along its own direction t_i alone, by T_i, and has the shape of a torus. Motors
drive it into a bend. With the mass centre in the middle, at the height H, the wheel inside has lost
its load, and leaves the floor, where

    w V = m g R / (2 (m H + N J / (2 l))),

V being the speed and w the rate of turning: the no-overturn condition with N = 3. Four wheels or
more share a load in many ways, and friction makes the motion depend on them: `sprung` has stiff
springs under the wheels.

In `rubs` every roller has its mass, its spin W_ij and its own contact. With e_ij along its axis and
h_i = B sum_j W_ij e_ij,

    m v' = F - m g e_z,            J V_i' + n_i . (w x h_i) = M_i,            B W_ij' = M_ij,
    I w' + w x (I w + J sum V_i n_i) + sum V_i n_i x h_i = M - sum M_i n_i - sum M_ij e_ij,

I without J and B. F, M, M_i and M_ij are the force and the moments of the floor on the whole, on a
wheel and on a roller. As long as all wheels stand upright, this is the same as the level vehicle;
when one is lifted, that model ends and this one continues.

A start has the place `x`, `y` of the mass centre and the `height` of the lowest point over the
floor, the `heading`, the `tilt` about the level direction `tilt_towards` of the platform, the
velocity `speed_x`, `speed_y`, `speed_z`, the rates `yaw` about the vertical and `tilt_rate`, and
the rates V_i of the wheels, `wheel_i`. On the floor, wheels whose rates are not given start without
slip, and so do the rollers that touch; rollers that do not are at rest in their wheels. In `light`
and `sprung`, speed and yaw that are not given are those of the bend.

Modules
-------
`models` has the equations of `rubs`, `starting` its start, `pictures` the drawing and figures;
`light` has the equations on light rollers, `light_sizes` their sizes, the bend and the closed form,
`light_starting` and `light_pictures` the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import daesolve as ds
from daesolve.multibody.drawing import Drawing
from daesolve_problems.figures import Document
from daesolve_problems.omni_lifting.light import posed_light, posed_sprung
from daesolve_problems.omni_lifting.light_pictures import bend, light_drawing
from daesolve_problems.omni_lifting.light_starting import light_derived, light_start
from daesolve_problems.omni_lifting.models import posed
from daesolve_problems.omni_lifting.pictures import drawing, lifted, loads_over_time
from daesolve_problems.omni_lifting.starting import Values, derived, start, start_values


def _drawing(document: Document) -> Drawing:
    return drawing(document) if document["model"] == "rubs" else light_drawing(document)


def _derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    rule = light_derived if "roller_radius" in parameters else derived
    return rule(given, parameters, structure)


problem = ds.Problem(
    "omni-lifting",
    title="A vehicle on omni-wheels that lifts off and lands",
    models={"rubs": posed, "light": posed_light, "sprung": posed_sprung},
    sources=[
        "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and "
        "with friction, Moscow State University (2018, in Russian), chapter 3",
    ],
    structure={"wheels": 3, "rollers": 3},
    start={"rubs": start, "light": light_start, "sprung": light_start},
    start_values=start_values,
    derived=_derived,
    analyses={"lifted": lifted, "bend": bend},
    figures={"loads over time": loads_over_time},
    drawing=_drawing,
    cases=[
        ds.Case(
            "bend",
            model="light",
            until=1.2,
            note="driven into a bend that narrows: the wheel inside leaves the floor at 0.4617 s, "
            "lands after the motors have stopped, and the vehicle rolls on",
        ),
        ds.Case(
            "tips-over",
            model="light",
            parameters={"motor_time": 1.0},
            until=1.2,
            note="the same, but the motors stop too late",
        ),
        ds.Case(
            "holds",
            model="light",
            parameters={"bend_rate": 2.3, "bend_growth": 0.0, "motor_time": 2.0},
            until=1.0,
            note="a bend of constant radius, just not too fast",
        ),
        ds.Case(
            "uneven",
            model="light",
            parameters={
                "platform_centre_x": 0.02,
                "platform_centre_y": 0.01,
                "restitution": 0.0,
            },
            until=1.0,
            note="the platform's mass centre lies inside the bend and ahead: a wheel slides, then "
            "leaves the floor",
        ),
        ds.Case(
            "four-wheels",
            model="sprung",
            structure={"wheels": 4},
            parameters={"motor_time": 0.4, "platform_height": 0.3},
            until=0.6,
            note="four wheels on stiff springs: the wheel inside leaves the floor at half the "
            "acceleration that would tip the vehicle over, and the others carry it",
        ),
        ds.Case(
            "dropped",
            start={"height": 0.03, "tilt": 0.15, "tilt_towards": 0.4, "speed_x": 0.5},
            until=0.3,
            note="dropped with a tilt: its wheels land one after the other, and bounce",
        ),
        ds.Case(
            "slides",
            start={"speed_x": 1.0, "speed_y": 0.3, "yaw": 2.0, "wheel_1": 0.0},
            until=0.1,
            note="on level ground, as long as it stays on it",
        ),
    ],
)
