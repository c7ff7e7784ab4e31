"""A stiff bogie of two wheelsets.

Two railway wheelsets in a rigid frame move sideways and yaw together as they roll along a straight
track at a constant speed; treads are cones, axles are rigid. At the contacts wheels creep: they
slip a little, and the force of the rail is a given function of that slip, linear or bounded by
Coulomb's friction. So there are no constraints and no reactions. Nothing is conserved: creep
dissipates energy, and the drive that keeps the speed supplies it.

If wheels do not slip, it can only move straight ahead (`models.rolling`), so creep must be
included. In Dirac's model the bogie oscillates with the classical frequency om0 / sqrt(1 + (a /
l)^2), a half the wheelbase and l half the track.
"""

from __future__ import annotations

from functools import partial

import daesolve as ds
from daesolve_problems.wheelset import models, pictures, questions
from daesolve_problems.wheelset.vehicles import (
    BOGIE,
    derived,
    dimensional,
    linear,
    normalised,
    saturated,
)

problem = ds.Problem(
    "wheelset-bogie",
    title="A stiff bogie of two wheelsets",
    models={"full": models.full, "dirac": models.dirac, "refined": models.refined},
    sources=[
        "A. V. Vlakhova, On 'non-holonomic motions' of gyroscopic and wheeled systems, Vestnik "
        "Moskov. Univ., Ser. 1, Mat. Mekh. (2013) 5, 67-73 (in Russian)",
    ],
    structure={
        "units": ds.choice(
            dimensional=partial(dimensional, BOGIE), normalised=partial(normalised, BOGIE)
        ),
        "creep": ds.choice(linear=linear, saturated=saturated),
    },
    start={"dirac": models.dirac_start, "refined": models.refined_start},
    derived=derived,
    analyses={
        "orders": questions.orders,
        "root-locus": questions.locus,
        "validity": questions.validity,
        "limit": questions.limit,
    },
    figures=pictures.FIGURES,
    drawing=pictures.drawing,
    cases=[
        ds.Case(
            "free",
            start={"y": 0.005, "psi": 0.0, "y_dot": 0.0, "psi_dot": 0.0},
            until=60.0,
            note="2.56 m/s: it oscillates at 0.49924 rad/s, a wheelset alone at 0.93447 rad/s",
        ),
    ],
)
