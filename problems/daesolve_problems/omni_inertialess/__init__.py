"""The vehicle on omni-wheels whose rollers have no inertia.

A rigid platform moves on a level floor on omni-wheels or mecanum wheels whose rollers have neither
mass nor friction in their axles. Such a wheel, which turns freely about its own axle, keeps its
lowest point from moving along the axis of the roller there, and only that: one non-holonomic
constraint a wheel. The unknown reactions are the horizontal forces of the floor along these axes,
one a wheel; they do no work, and the energy is conserved. This is the limit of massive rollers with
friction as their mass vanishes.

Modules
-------
`vehicle` has the wheels and their constraints, `models` the equations of motion, `symmetric` the
closed form, `pictures` shows it.
"""

from __future__ import annotations

import math

import daesolve as ds
from daesolve_problems.omni_inertialess.models import constrained, corrected, printed
from daesolve_problems.omni_inertialess.pictures import FIGURES, drawing
from daesolve_problems.omni_inertialess.symmetric import closed_form
from daesolve_problems.omni_inertialess.vehicle import derived
from daesolve_problems.omni_wheels import mecanum

__all__ = ["closed_form", "problem"]

OFF_CENTRE = {"centre_x": 0.02, "centre_y": 0.01}
MOTIONS = {
    "spin": ({"v_1": 0.0, "v_2": 0.0, "omega": 1.0}, "it turns on the spot"),
    "straight": ({"v_1": 1.0, "v_2": 0.0, "omega": 0.0}, "along the axle of the first wheel"),
    "mixed": ({"v_1": 1.0, "v_2": 0.0, "omega": 1.0}, "its centre moves on a circle"),
}

problem = ds.Problem(
    "omni-inertialess",
    title="An omni-wheel vehicle whose rollers have no inertia",
    models={"corrected": corrected, "constrained": constrained, "printed": printed},
    sources=[
        "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and "
        "with friction, Moscow State University (2018, in Russian), section 3.1",
        "A. V. Borisov, A. A. Kilin, I. S. Mamaev, An omni-wheel vehicle on a plane and a sphere, "
        "Nelin. Dinam. 7 (2011) 785-801 (in Russian)",
    ],
    structure={"wheels": 3},
    derived=derived,
    drawing=drawing,
    figures=FIGURES,
    cases=[
        *(
            ds.Case(name, start=start, until=10.0, note=note)
            for name, (start, note) in MOTIONS.items()
        ),
        *(
            ds.Case(f"off-centre-{name}", parameters=OFF_CENTRE, start=start, until=10.0)
            for name, (start, _) in MOTIONS.items()
        ),
        ds.Case(
            "mecanum",
            structure={"wheels": 4},
            parameters=mecanum(in_the_plane=math.pi / 2),
            start=MOTIONS["mixed"][0],
            until=10.0,
            note="four wheels with rollers at 45 degrees to their axles",
        ),
    ],
)
