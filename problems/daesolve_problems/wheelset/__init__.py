"""A railway wheelset between its rails.

A railway wheelset moves sideways and yaws as it rolls along a straight track at a constant speed;
its treads are cones, and its axle is rigid. At the contacts wheels creep: they slip a little, and
the force of the rail is a given function of that slip, linear or bounded by Coulomb's friction. So
there are no constraints and no reactions, unless slip is forbidden (model `no_slip`), where the
force and the moment of the rails are unknown. With creep nothing is conserved: it dissipates
energy, and the drive that keeps the speed supplies it, which is why the motion may grow (hunting).
Without slip the motion is an even sway of constant size.

Modules
-------
`vehicles` has the sizes and slips, `models` the equations, `questions` the analyses, `pictures` the
figures and the drawing; `bogie` is the problem of two axles.
"""

from __future__ import annotations

from functools import partial

import daesolve as ds
from daesolve_problems.wheelset import models, pictures, questions
from daesolve_problems.wheelset.vehicles import (
    STRAIGHT,
    WHEELSET,
    derived,
    dimensional,
    gust,
    harmonic,
    linear,
    normalised,
    saturated,
)

START = {"y": 1.0, "psi": 0.3, "y_dot": -0.4, "psi_dot": 0.9}

problem = ds.Problem(
    "wheelset",
    title="A railway wheelset between its rails",
    models={
        "full": models.full,
        "dirac": models.dirac,
        "refined": models.refined,
        "no_slip": models.no_slip,
    },
    sources=[
        "A. V. Vlakhova, On 'non-holonomic motions' of gyroscopic and wheeled systems, Vestnik "
        "Moskov. Univ., Ser. 1, Mat. Mekh. (2013) 5, 67-73 (in Russian)",
    ],
    structure={
        "units": ds.choice(
            normalised=partial(normalised, WHEELSET), dimensional=partial(dimensional, WHEELSET)
        ),
        "creep": ds.choice(linear=linear, saturated=saturated),
        "loads": ds.choice(harmonic=harmonic, gust=gust),
    },
    start={
        "dirac": models.dirac_start,
        "refined": models.refined_start,
        "no_slip": models.rolling_start,
    },
    derived=derived,
    analyses={
        "orders": questions.orders,
        "root-locus": questions.locus,
        "no-slip": questions.slipping,
        "validity": questions.validity,
        "limit": questions.limit,
        "derailment": questions.derailment,
    },
    figures=pictures.FIGURES,
    drawing=pictures.drawing,
    cases=[
        ds.Case(
            "forced",
            start=START,
            until=6.0,
            note="a lateral force and a moment act: the motion differs from rolling without slip",
        ),
        ds.Case(
            "free",
            parameters=STRAIGHT,
            start=START,
            until=6.0,
            note="only creep acts: the motion is close to rolling without slip",
        ),
        ds.Case(
            "hunting",
            structure={"units": "dimensional"},
            parameters={"axle_load": 220e3},
            start={"y": 0.005, "psi": 0.0, "y_dot": 0.0, "psi_dot": 0.0},
            until=4.0,
            note="20 m/s with a load of 220 kN on the axle: the oscillation grows",
        ),
        ds.Case(
            "gust",
            structure={"units": "dimensional", "loads": "gust"},
            parameters={
                "axle_load": 220e3,
                "speed": 10.0,
                "force_amplitude": 7e3,
                "moment_amplitude": 5.5e3,
            },
            start={"y": 0.001, "psi": 0.0, "y_dot": 0.0, "psi_dot": 0.0},
            until=6.0,
            note="a side wind comes and goes, given by a table: a flange reaches its rail",
        ),
        ds.Case(
            "suspended",
            structure={"units": "dimensional"},
            parameters={"axle_load": 220e3, "lateral_stiffness": 600e3},
            start={"y": 0.005, "psi": 0.0, "y_dot": 0.0, "psi_dot": 0.0},
            until=4.0,
            note="springs across the track hold it: it oscillates below its critical speed",
        ),
    ],
)
