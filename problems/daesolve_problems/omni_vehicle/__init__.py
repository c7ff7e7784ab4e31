"""Vehicles on omni-wheels with massive rollers that roll without slipping.

A rigid platform moves on a level floor on omni-wheels, each of which turns freely about its axle,
or by a motor, and stands on one of the rollers on its rim. Wheels stay upright, and the roller on
the floor does not slip and has no friction in its axle; the inertia of every roller counts. The
unknown reactions are the two horizontal forces of the floor on each wheel, along its axle and
across it. The energy is conserved between switches, and so is the momentum of every roller that is
off the floor; where a wheel rolls on to its next roller, an inelastic impact dissipates energy.

N wheels stand at equal angles about the platform, at the distance R from its centre S, their axles
n_i radial. Roller j of wheel i is at the angle chi_ij from straight below, the one on the floor at
chi_i, where it is rho_i = l cos(chi_i) - r thick: l is the radius of the wheel, r the distance of
the rollers' axes from the axle. M is the mass of the whole, I_S its moment of inertia about the
vertical, J that of a wheel about its axle and B that of a roller about its axis.

Modules
-------
`geometry` has sizes and inertias, `starting` the start; `thesis` has the equations
with every roller as a separate body, `compact` those in three velocities; `general` and `wheels`
have wheels anywhere, with rollers at an angle; `bodies` has what `thesis` and `general` share,
`motion` and `pictures` show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import daesolve as ds
from daesolve_problems.omni_vehicle import general as anywhere
from daesolve_problems.omni_vehicle import starting
from daesolve_problems.omni_vehicle.compact import compact
from daesolve_problems.omni_vehicle.general import general
from daesolve_problems.omni_vehicle.pictures import FIGURES, drawing
from daesolve_problems.omni_vehicle.thesis import thesis
from daesolve_problems.omni_wheels import mecanum

REST = {"x": 0.0, "y": 0.0, "theta": 0.0, "nu_1": 0.0, "nu_2": 0.0, "nu_3": 0.0}


def _derived(
    given: starting.Values, parameters: starting.Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return what follows from the other values: wheels anywhere have directions of their own."""
    rule = anywhere.derived if "heading_1" in parameters else starting.derived
    return rule(given, parameters, structure)


problem = ds.Problem(
    "omni-rolling",
    title="An omni-wheel vehicle that rolls without slipping",
    models={"thesis": thesis, "compact": compact, "general": general},
    sources=[
        "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and "
        "with friction, Moscow State University (2018, in Russian), chapters 1 and 2",
        "Ya. V. Tatarinov, Equations of classical mechanics in a new form, Moscow Univ. Mech. "
        "Bull. 58 (2003), no. 3",
    ],
    structure={
        "wheels": 3,
        "rollers": 5,
        "imposition": ds.choice(simultaneous="simultaneous", sequential="sequential"),
        "motors": False,
    },
    start={
        "thesis": starting.start,
        "compact": starting.compact_start,
        "general": anywhere.start,
    },
    start_values=starting.start_values,
    derived=_derived,
    drawing=drawing,
    figures=FIGURES,
    cases=[
        ds.Case(
            "spin",
            start=REST | {"nu_3": 1.0},
            until=1000.0,
            note="it turns on the spot; all wheels switch at once, 456 times",
        ),
        ds.Case(
            "straight",
            start=REST | {"nu_1": 1.0},
            until=1000.0,
            note="along the axle of the first wheel; once every roller has turned, no more "
            "energy is lost",
        ),
        ds.Case(
            "twist",
            start=REST | {"nu_1": 1.0, "nu_3": 1.0},
            until=1000.0,
            note="it ends up turning on the spot, faster than it began",
        ),
        ds.Case(
            "mecanum",
            model="general",
            structure={"wheels": 4},
            parameters=mecanum(in_the_plane=0.0),
            start=REST | {"nu_1": 1.0, "nu_3": 1.0},
            until=10.0,
            note="four wheels with rollers at 45 degrees to their axles",
        ),
    ],
)
