"""A vehicle on omni-wheels whose rollers slip with dry friction.

A rigid platform moves on a level floor on omni-wheels, each of which turns freely about its axle
and stands on one of the massive rollers on its rim. Wheels stay upright, and axles have no
friction; between roller and floor there is Coulomb's friction, made linear at very small slips. The
unknown reactions are the normal forces of the floor, to which friction is proportional. Nothing is
conserved: friction dissipates energy, and this loss is integrated along the motion. Where a wheel
changes to its next roller no velocity jumps, only the slip if rollers have blunt ends.

N wheels stand at equal angles about the platform, at the distance R from its centre O, their axles
n_i radial; tau_i = e_z x n_i. Roller j of wheel i is at the angle psi_ij from straight below and
turns at phi_ij', and that on the floor is rho = l cos(psi) - d thick: l is the radius of the wheel,
d the distance of the rollers' axes from the axle. M is the mass of the whole, J the moment of a
wheel about its axle and B that of a roller about its axis.

Modules
-------
`geometry` has sizes and inertias, `starting` the start, and `loads` the normal reactions there;
`reduced` has the equations in independent velocities, `stands` their symbols; `maximal` has them
body by body, each placed by `placing`; `comparing` and `pictures` compare a run with the vehicle
without inertia of the rollers, and show it; `series` does so for ever lighter rollers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import daesolve as ds
from daesolve_problems.omni_friction import starting
from daesolve_problems.omni_friction.comparing import MEASURES
from daesolve_problems.omni_friction.loads import check_pressed, normal_reactions
from daesolve_problems.omni_friction.maximal import maximal
from daesolve_problems.omni_friction.pictures import FIGURES, compared, drawing
from daesolve_problems.omni_friction.placing import places
from daesolve_problems.omni_friction.reduced import reduced
from daesolve_problems.omni_friction.series import share_series

REST = {"v_x": 0.0, "v_y": 0.0, "omega": 0.0}
OFF_CENTRE = {"platform_centre_x": 0.03, "platform_centre_y": 0.02}


def _reduced(
    given: starting.Values, parameters: starting.Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return every state at the start; every wheel must be pressed to the floor there."""
    found = starting.start(given, parameters, structure)
    check_pressed(given, parameters, structure)
    return found


def _maximal(
    given: starting.Values, parameters: starting.Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return where all bodies are at the start, as in the reduced model."""
    return places(_reduced(given, parameters, structure), parameters, structure)


problem = ds.Problem(
    "omni-friction",
    title="An omni-wheel vehicle with massive rollers and dry friction",
    models={"reduced": reduced, "maximal": maximal},
    sources=[
        "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and "
        "with friction, Moscow State University (2018, in Russian), chapter 3",
    ],
    structure={"wheels": 3, "rollers": 4, "compliant": False},
    start={"reduced": _reduced, "maximal": _maximal},
    start_values=starting.start_values,
    derived=starting.derived,
    measures=MEASURES,
    drawing=drawing,
    figures=FIGURES,
    analyses={
        "deviation": compared,
        "share-series": share_series,
        "normal-reactions": normal_reactions,
    },
    cases=[
        ds.Case(
            "spin",
            start=REST | {"omega": 1.0},
            until=2.0,
            note="on the spot: rollers change four times, and the slip stays below slip_velocity",
        ),
        ds.Case(
            "straight",
            start=REST | {"v_x": 1.0},
            until=2.0,
            note="along the axle of the first wheel; the others slip at every change of rollers",
        ),
        ds.Case("mixed", start=REST | {"v_x": 1.0, "omega": 1.0}, until=2.0),
        ds.Case(
            "off-centre",
            parameters=OFF_CENTRE,
            start=REST | {"v_x": 1.0, "omega": 1.0},
            until=2.0,
        ),
    ],
)
