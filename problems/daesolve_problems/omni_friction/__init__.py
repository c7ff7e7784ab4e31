"""A vehicle on omni-wheels whose rollers slip with dry friction.

`geometry` has sizes and inertias, `starting` and `loads` where the vehicle starts and what presses
its wheels to the floor; `reduced` has the equations in independent velocities, `stands` their
symbols; `maximal` has them body by body, each placed by `placing`; `comparing` and `pictures`
compare a run with the vehicle whose rollers have no inertia, and show it.
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
    analyses={"deviation": compared, "normal-reactions": normal_reactions},
    cases=[
        ds.Case(
            "spin",
            start=REST | {"omega": 1.0},
            until=2.0,
            note="on the spot: the slip stays below slip_velocity; no wheel crosses its rollers",
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
