"""A vehicle on omni-wheels whose wheels lift off the floor, fly and land.

A rigid platform on three wheels or more, whose rollers touch a level floor with Coulomb's friction.
Nothing keeps it level: it tilts about the wheels that stand, leaves the floor, flies, and lands
with impacts. The unknown reactions are the normal force, which never pulls, and the friction of
every roller that touches. Nothing is conserved: friction and impacts dissipate energy; only rollers
that touch nothing keep their spin.

N wheels stand at equal angles about the platform, at the distance R from its middle, their axles
radial and without friction; the platform's mass centre lies `platform_height` over the axles. In
axes of the platform, n_i along an axle, e_ij along a roller's axis, h_i = B sum_j W_ij e_ij, with
the rates V_i of the wheels and W_ij of the rollers about their axes, seen from space,

    m v' = F - m g e_z,            J V_i' + n_i . (w x h_i) = M_i,            B W_ij' = M_ij,
    I w' + w x (I w + J sum V_i n_i) + sum V_i n_i x h_i = M - sum M_i n_i - sum M_ij e_ij,

I without J and B. Masses are constant in these velocities. F, M, M_i and M_ij are the force and the
moments of the floor on the whole, on a wheel and on a roller. As long as all wheels stand upright,
this is the same as the level vehicle; when one is lifted, that model ends and this one continues.

A start has the place `x`, `y` of the platform's mass centre and the `height` of the lowest point
over the floor, the `heading`, the `tilt` about the level direction `tilt_towards` of the platform,
the velocity `speed_x`, `speed_y`, `speed_z`, the rates `yaw` about the vertical and `tilt_rate`,
and the rates V_i of the wheels, `wheel_i`. On the floor, wheels whose rates are not given start
without slip, and so do the rollers that touch; rollers that do not are at rest in their wheels.

Modules
-------
`models` has the equations, `starting` the start, `pictures` the drawing and figures.
"""

from __future__ import annotations

import daesolve as ds
from daesolve_problems.omni_lifting.models import posed
from daesolve_problems.omni_lifting.pictures import drawing, lifted, loads_over_time
from daesolve_problems.omni_lifting.starting import derived, start, start_values

problem = ds.Problem(
    "omni-lifting",
    title="A vehicle on omni-wheels that lifts off and lands",
    models={"rubs": posed},
    sources=[
        "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and "
        "with friction, Moscow State University (2018, in Russian), chapter 3",
    ],
    structure={"wheels": 3, "rollers": 3},
    start=start,
    start_values=start_values,
    derived=derived,
    analyses={"lifted": lifted},
    figures={"loads over time": loads_over_time},
    drawing=drawing,
    cases=[
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
