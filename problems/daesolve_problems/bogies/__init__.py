"""A vehicle on two symmetric bogies, equivalent to a sleigh on two skates that turn.

A rigid frame moves on a level plane on two bogies that turn freely and without friction about their
mass centres. Each bogie is a skate: it glides without friction along itself and cannot move
sideways; it represents a pair of wheels that roll without slip, with their inertia included in the
masses. The two unknown reactions are the forces of the ground across the skates. Conserved are the
energy and the absolute rates at which the two bogies turn.

The frame's axes e1, e2 turn by psi; its mass centre lies in a e1. The bogies are carried in
b_1 e2 and -b_2 e2, turned by theta_1, theta_2 relative to the frame, with normals
n_k = (cos theta_k, sin theta_k):

    T = m (v_1^2 + v_2^2) / 2 + m a v_2 psi' + I psi'^2 / 2 + j psi' (theta_1' + theta_2')
        + j (theta_1'^2 + theta_2'^2) / 2,
    (v_1 - b_1 psi') cos theta_1 + v_2 sin theta_1 = 0,
    (v_1 + b_2 psi') cos theta_2 + v_2 sin theta_2 = 0.

C_k = theta_k' + psi' are the absolute rates of turn of the bogies. Where cos theta_1 = cos theta_2
= 0 the skates hold the same: their forces grow beyond bounds, and the direction of the motion is
open. The vehicle turns abruptly near by, or runs into it in finite time.

Modules
-------
`models` has the equations, `reduction` the reduced equations and the start, `theory` the motion
near the degenerate points, `growth` the motion where one skate stands across, `circle` the circle
map of one angle, `questions` the analyses, `pictures` the figures.
"""

from __future__ import annotations

import daesolve as ds
from daesolve_problems.bogies.growth import growth
from daesolve_problems.bogies.models import full, reduced
from daesolve_problems.bogies.pictures import drawing, motion, reactions
from daesolve_problems.bogies.questions import degeneracy, passage
from daesolve_problems.bogies.reduction import full_start, reduced_start, scales

ORIGIN = {"x": 0.0, "y": 0.0, "psi": 0.0}
LEVEL = {"level": 1.1, "sign": 1.0}

problem = ds.Problem(
    "bogies",
    title="A vehicle on two symmetric bogies",
    models={"full": full, "reduced": reduced},
    sources=[
        "A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics "
        "of wheeled vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766, section 4.2",
    ],
    start={"full": full_start, "reduced": reduced_start},
    scales=scales,
    analyses={"degeneracy": degeneracy, "growth": growth, "passage": passage},
    figures={
        "path and rates of turn": motion,
        "reactions near the degenerate point": reactions,
    },
    drawing=drawing,
    cases=[
        ds.Case(
            "regular",
            start=ORIGIN
            | {"psi": 0.2, "theta_1": 0.3, "theta_2": -0.5}
            | LEVEL
            | {"integral_1": 0.9, "integral_2": -0.4},
            until=10.0,
            note="far from degenerate points",
        ),
        ds.Case(
            "near-miss",
            start=ORIGIN | {"distance": 0.01} | LEVEL | {"integral_1": -0.4, "integral_2": 0.9},
            until=0.3,
            note="starts in theta_1 = theta_2 = pi/2 + distance while it passes a degenerate "
            "point; until = -0.3 goes back",
        ),
        ds.Case(
            "collapse",
            start=ORIGIN
            | {"theta_1": 4.799655, "theta_2": 4.499655}
            | LEVEL
            | {"integral_1": -1.333209510342466, "integral_2": -1.0332095103424659},
            start_time=-1.0,
            until=0.5,
            note="runs into a degenerate point at t = 0, and ends there",
        ),
    ],
)
