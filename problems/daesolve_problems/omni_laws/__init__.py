"""One omni-wheel vehicle under three laws of contact.

A rigid platform moves on a floor, level or sloping, on omni-wheels or mecanum wheels anywhere, each
of which turns freely about its axle and stands on one of the rollers on its rim. There are three
laws of contact: the floor keeps rollers without inertia from slipping (`inertialess`); it keeps
massive rollers from slipping, and brings each roller that comes to the floor to its speed at once
(`impacts`); or it acts by dry friction (`friction`). The unknown reactions are the forces of the
floor. Without friction the energy is conserved except in the impacts; friction dissipates it all
the time.

The vehicle is described once: all laws have the same parameters and the same start, and a parameter
that a law does not use is refused. `daesolve analyse omni-laws laws` runs all three, `limit`
reports how they pass into each other.

Modules
-------
`description` has the vehicle, `equations` what all laws share; `ideal` and `sliding` have the laws,
`loads` the normal reactions, `starting` the start; `questions`, `limits` and `expansions` compare
the laws, `pictures` shows the vehicle.
"""

from __future__ import annotations

import daesolve as ds
from daesolve_problems.omni_laws import starting
from daesolve_problems.omni_laws.description import FRICTION, IMPACTS, INERTIALESS
from daesolve_problems.omni_laws.ideal import impacts, inertialess
from daesolve_problems.omni_laws.pictures import FIGURES, drawing
from daesolve_problems.omni_laws.questions import laws, limit
from daesolve_problems.omni_laws.sliding import friction
from daesolve_problems.omni_wheels import mecanum

REST = {"v_1": 0.0, "v_2": 0.0, "omega": 0.0}

problem = ds.Problem(
    "omni-laws",
    title="One omni-wheel vehicle under three laws of contact",
    models={IMPACTS: impacts, INERTIALESS: inertialess, FRICTION: friction},
    sources=[
        "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and "
        "with friction, Moscow State University (2018, in Russian)",
    ],
    structure={
        "wheels": 3,
        "rollers": 4,
        "imposition": ds.choice(simultaneous="simultaneous", sequential="sequential"),
        "compliant": False,
    },
    start=starting.start,
    start_values=starting.start_values,
    derived=starting.derived,
    drawing=drawing,
    figures=FIGURES,
    analyses={"laws": laws, "limit": limit},
    cases=[
        ds.Case("mixed", start=REST | {"v_1": 1.0, "omega": 1.0}, until=2.0),
        ds.Case("spin", start=REST | {"omega": 1.0}, until=2.0, note="it turns on the spot"),
        ds.Case(
            "straight",
            start=REST | {"v_1": 1.0},
            until=2.0,
            note="along the axle of the first wheel",
        ),
        ds.Case(
            "slope",
            parameters={"slope": 0.05},
            start=REST | {"omega": 1.0},
            until=2.0,
            note="it turns, and rolls down a floor that falls by 3 degrees",
        ),
        ds.Case(
            "mecanum",
            structure={"wheels": 4, "compliant": True},
            parameters=mecanum(in_the_plane=0.0),
            start=REST | {"v_1": 1.0, "omega": 1.0},
            until=2.0,
            note="four wheels with rollers at 45 degrees to their axles",
        ),
    ],
)
