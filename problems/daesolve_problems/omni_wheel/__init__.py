"""One omni-wheel alone: n massive rollers on a disc, in space or held upright, on a floor.

A disc carries n free rollers around its rim, whose arcs together make the circle of a wheel. It
rolls and slides on a level floor, tips over, leaves the floor, flies and lands. The unknown
reactions are the normal force and the friction of every roller that touches, and, where the wheel
is held upright, the moment that keeps its axle level. Friction and impacts dissipate energy; the
spin of a roller that touches nothing is conserved.

Every roller j is a contact with the floor, which never pulls, with Coulomb's friction. In a wheel
that stands upright one roller takes over from the next where both end: the next one's gap closes
there without a speed, so nothing collides, and it slides until it has been spun up. The other model
lets rollers roll at once, without slip: a change of rollers is then an impact, in which only the
entering roller and the wheel are struck, and energy is lost.

With the wheel's axes (1 ahead at the start, 2 down, 3 along the axle), its mass m, its moments
I = diag(I_u, I_u, J) to which rollers contribute as bodies that do not spin, the direction e_j of a
roller's axis and the rate W_j of its turning about that, seen from space,

    m v' = F - m g n,        I w' + w x (I w + B sum W_j e_j) = M - sum M_j e_j,      B W_j' = M_j,

F and M the force of the floor and its moment about the centre, M_j that about e_j on roller j. The
velocities are v, w and W_j: in them masses are constant, and a free roller's W_j is.

Modules
-------
`models` has the equations, `starting` the places at the start, `pictures` the drawing and figures.
"""

from __future__ import annotations

import daesolve as ds
from daesolve_problems.omni_wheel import starting
from daesolve_problems.omni_wheel.models import rolls, rubs
from daesolve_problems.omni_wheel.pictures import drawing, spins_over_time
from daesolve_problems.omni_wheel.starting import balance

HELD = {"upright": True}

problem = ds.Problem(
    "omni-wheel",
    title="One omni-wheel, held upright or free",
    models={"rubs": rubs, "rolls": rolls},
    sources=[
        "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and "
        "with friction, Moscow State University (2018, in Russian), chapters 2 and 3",
    ],
    structure={"rollers": 4, "upright": True},
    start=starting.start,
    start_values=starting.start_values,
    derived=starting.derived,
    analyses={"balance": balance},
    figures={"spins and slip over time": spins_over_time},
    drawing=drawing,
    cases=[
        ds.Case(
            "held",
            structure=HELD,
            start={"speed_x": 1.0, "speed_y": 0.4, "yaw": 1.0},
            until=0.5,
            note="held upright, with friction: every roller slides until it has been spun up",
        ),
        ds.Case(
            "ideal",
            model="rolls",
            structure=HELD,
            start={"speed_x": 1.0, "speed_y": 0.4, "yaw": 1.0},
            until=1.0,
            note="the same without slip: an impact at every change of rollers",
        ),
        ds.Case(
            "dropped",
            structure=HELD,
            start={"height": 0.1, "speed_x": 0.5, "speed_y": 0.3, "turn": 0.3},
            until=1.0,
            note="held upright, it flies, bounces until it stays on the floor, and rolls off",
        ),
        ds.Case(
            "free",
            structure={"upright": False},
            start={"speed_x": 1.0, "speed_y": 0.0, "lean": 0.05},
            until=0.6,
            note="unsupported, it rolls ahead, leans more and more, and falls on its side",
        ),
        ds.Case(
            "thrown",
            structure={"upright": False, "rollers": 3},
            start={
                "height": 0.05,
                "lean": 0.6,
                "turn": 0.4,
                "speed_x": 0.4,
                "speed_y": -0.2,
                "speed_z": 0.5,
                "rate": 10.0,
                "lean_rate": 3.0,
            },
            until=1.0,
            note="thrown, with three rollers: it flies, bounces, and lands on its side",
        ),
    ],
)
