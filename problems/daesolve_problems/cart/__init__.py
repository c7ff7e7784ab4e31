"""A cart on two wheel pairs, which is a sleigh on two skates.

A frame slides on a level plane without friction on two pairs of wheels, each of which turns about a
vertical axle on the frame, perhaps against a spring. Wheels are thin, turn freely on their axles,
and roll without slip and without resistance; their own inertia counts. The six unknown reactions
are the forces of the ground: for each pair one along the axle, on both wheels together, and for
each wheel one across it. None of them does work, so the energy, including the springs', is
conserved unless a torque drives the wheels.

Modules
-------
`models` has the equations with wheels and with skates, `starting` the start, `pictures` the drawing
and the figures.
"""

from __future__ import annotations

import daesolve as ds
from daesolve_problems.cart import starting
from daesolve_problems.cart.models import TURNS, skates, wheels
from daesolve_problems.cart.pictures import FIGURES, drawing

START = {
    "x": 0.0,
    "y": 0.0,
    "psi": 0.3,
    "theta_1": 0.2,
    "theta_2": -0.35,
    **dict.fromkeys(TURNS, 0.0),
    "v_1": -0.0118205065295264,
    "v_2": -1.2,
    "psi_dot": -0.498326147854497,
    "theta_dot_1": -0.4,
    "theta_dot_2": 0.5,
}
SPRINGS = {"spring_1": 1.5, "spring_2": 0.8}
TORQUES = {"torque_1_1": 0.3, "torque_1_2": 0.1, "torque_2_1": -0.2, "torque_2_2": 0.25}


problem = ds.Problem(
    "cart",
    title="A cart on two wheel pairs, and the sleigh that moves like it",
    models={"wheels": wheels, "skates": skates},
    sources=[
        "A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics "
        "of wheeled vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766, sections 2 and 3",
    ],
    start={"wheels": starting.wheels_start, "skates": starting.skates_start},
    drawing=drawing,
    figures=FIGURES,
    cases=[
        ds.Case(
            "free",
            start=START,
            until=5.0,
            note="errors grow up to 1300-fold in 5 s and 33 000-fold in 10 s",
        ),
        ds.Case(
            "springs",
            parameters=SPRINGS,
            start=START,
            until=10.0,
            note="springs pull the pairs straight; errors grow up to 71-fold",
        ),
        ds.Case(
            "torques",
            parameters={**SPRINGS, **TORQUES},
            start=START,
            until=5.0,
            note="motors turn each wheel with its own torque",
        ),
    ],
)
