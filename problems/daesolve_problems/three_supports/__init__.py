"""A body that slides on three pairs of pads between two planes, and comes to rest.

A rigid body slides and turns between two level planes, with Coulomb's friction at round pads. Three
pairs of pads keep it from rising and from tilting; they have no measurable play, but in each pair
only the upper or only the lower pad is loaded. The three unknown reactions are the normal forces of
the pairs, and which pads carry them is unknown too. Nothing is conserved. Unless a load drives it
or it jams, friction brings the body to rest in a finite time; sliding and turning end at the same
instant.

Its mass centre has the coordinates (x, y), it turns by phi about the vertical. N_k is the reaction
of a pair, positive where the lower pad (p = 2) is loaded and not the upper one (p = 1). P and M are
loads about the mass centre in fixed axes. With the pads' centres at (a, b, h) in axes of the body,
their velocities V_k, A_k and B_k the turned a and b, and c_k = h f' / |V_k|, each choice of loaded
pads has its own equations,

    m x'' = P_x - sum |N_k| f' V_kx / |V_k|,    m y'' = P_y - sum |N_k| f' V_ky / |V_k|,
    0 = P_z + sum N_k,
    -J_xz phi'' + J_yz phi'^2 = M_x + sum (N_k B_k + |N_k| c_k V_ky),
    -J_yz phi'' - J_xz phi'^2 = M_y - sum (N_k A_k + |N_k| c_k V_kx),
    J phi'' = M_z + sum |N_k| (f' (V_kx B_k - V_ky A_k) / |V_k| - r_s f'' sgn phi'),

and agrees with the signs of N_k that it assumes. The products of inertia turn with the body. A pad
of radius r_s presses with cos^n(pi r / 2 r_s), n the `pressure_exponent`; f' and f'' are its
friction against sliding and against turning, functions of |V_k| / (r_s |phi'|).

Here the body is posed with all six coordinates and is kept level by the pads' reactions; no
equation above is written down.

Modules
-------
`models` has the system, `pads` the motion of the pads in a run, `questions` the analyses,
`pictures` the figures and the drawing.
"""

from __future__ import annotations

import casadi as ca

import daesolve as ds
from daesolve_problems.three_supports.models import PRESSURES, body, shaken, tall
from daesolve_problems.three_supports.pictures import FIGURES, drawing
from daesolve_problems.three_supports.questions import held

START = {"x": 0.0, "y": 0.0, "phi": 0.3, "x_dot": 1.2, "y_dot": 0.5, "phi_dot": 9.0}

problem = ds.Problem(
    "three-supports",
    title="A body that slides on three pairs of pads to rest",
    models={"body": body, "shaken": shaken},
    structure={"pressure_exponent": ds.choice(**PRESSURES)},
    sources=[
        "V. V. Nikolskii, Yu. P. Smirnov, On the forms of the equations of dynamics of a "
        "system with dry friction (in Russian, received in 1985), section 4",
    ],
    analyses={"stiction": held},
    figures=FIGURES,
    drawing=drawing,
    cases=[
        ds.Case(
            "reference",
            start=START,
            until=2.0,
            note="the loaded pads change four times before it comes to rest after 0.825 s",
        ),
        ds.Case(
            "tall-jam",
            parameters=tall(4.0, upper_friction=0.9, lower_friction=0.1),
            start=START,
            until=2.0,
            note="four times as high, with rough pads above: it jams in motion after 0.879 s",
        ),
        ds.Case(
            "shaken",
            until=6.0,
            model="shaken",
            inputs={
                "push_x": 1.0,
                "push_y": 7.0 * ca.sin(2.0 * ds.time),
                "twist": 0.1 * ca.cos(2.0 * ds.time),
            },
            note="loads that change with time: it breaks loose and sticks, again and again",
        ),
    ],
)
