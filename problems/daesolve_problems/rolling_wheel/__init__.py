"""A heavy wheel on a curve, rolling without slip, with or without a pendulum on its axle.

A rigid hoop under its weight rolls in a vertical plane on a fixed rough curve, without slip and
without resistance; a point mass may hang from its axle on a massless rod, without friction. Three
quantities are unknown: the two components of the force of the curve at the contact, and the moment
of that force about the centre. The energy is conserved unless a motor on the axle drives the wheel.
The contact holds both ways; where the curve would have to pull, the wheel leaves it, and by default
the run ends there.

Modules
-------
`models` has the equations of a wheel that rolls, `rubbing` those of one that may slip and fly,
`parts` their common parts, `starting` the start and how far the wheel gets, `questions` and
`turning` the analyses, `pictures` the paper's figures and the drawing.
"""

from __future__ import annotations

from functools import partial

import daesolve as ds
from daesolve_problems.curves import CIRCLE, QUARTIC, Curve
from daesolve_problems.rolling_wheel.models import blend, physical, printed
from daesolve_problems.rolling_wheel.pictures import (
    drawing,
    reactions_along_the_curve,
)
from daesolve_problems.rolling_wheel.questions import admissibility, disturbance
from daesolve_problems.rolling_wheel.rubbing import friction
from daesolve_problems.rolling_wheel.starting import energy_scale, printed_start, start, stops
from daesolve_problems.rolling_wheel.turning import turning_points

CURVES: dict[str, Curve] = {"quartic": QUARTIC, "circle": CIRCLE}
HALF_AN_HOUR = 1800.0

problem = ds.Problem(
    "rolling-wheel",
    title="A heavy wheel on a curve",
    models={"physical": physical, "printed": printed, "blend": blend, "friction": friction},
    sources=[
        "Yu. V. Morozov, I. V. Matrosov, A. V. Pesterev, The use of control theory for the "
        "numerical integration of the equations of rolling of robotic systems (in Russian)",
    ],
    structure={
        "pendulum": True,
        "one_sided": True,
        "curve": ds.choice(**CURVES),
        "drive": False,
        "limited": False,
    },
    start={"physical": start, "printed": printed_start, "blend": start, "friction": start},
    scales=energy_scale,
    derived=stops,
    analyses={
        "admissibility": admissibility,
        "disturbance": disturbance,
        "turning-points": turning_points,
    },
    figures={
        "reactions along the curve (the paper's figure 3)": reactions_along_the_curve,
    },
    drawing=partial(drawing, CURVES),
    cases=[
        ds.Case(
            "hoop",
            structure={"pendulum": False},
            start={"contact_x": 0.0, "speed": 1.5},
            until=HALF_AN_HOUR,
            note="thrown from the middle, over both hollows, for half an hour",
        ),
        ds.Case(
            "hoop-from-rest",
            structure={"pendulum": False},
            start={"contact_x": -0.9, "speed": 0.0},
            until=HALF_AN_HOUR,
            note="released from rest, where energy alone cannot determine the torque",
        ),
        ds.Case(
            "pendulum",
            start={"contact_x": 0.0, "speed": 1.5, "phi": 0.0, "phi_dot": 0.0},
            until=HALF_AN_HOUR,
            note="the paper's system: the pendulum hangs, the wheel is thrown; regular",
        ),
        ds.Case(
            "pendulum-from-rest",
            start={"contact_x": -0.9, "speed": 0.0, "phi": 0.0, "phi_dot": 0.0},
            until=HALF_AN_HOUR,
            note="released from rest, the pendulum hanging; regular",
        ),
        ds.Case(
            "pendulum-lost",
            start={"contact_x": -0.9, "speed": 0.0, "phi": 2.5, "phi_dot": 0.0},
            until=20.0,
            note="the pendulum falls from near its top and lifts the wheel off the curve at 7.3 s",
        ),
        ds.Case(
            "pendulum-flies",
            model="friction",
            parameters={"friction": 50.0},
            start={"contact_x": -0.9, "speed": 0.0, "phi": 2.5, "phi_dot": 0.0},
            until=20.0,
            note="the same with friction, and a contact that opens: it flies, lands and rolls on",
        ),
        ds.Case(
            "pendulum-chaotic",
            start={"contact_x": 0.2, "speed": 0.0, "phi": 2.9, "phi_dot": 0.0},
            until=HALF_AN_HOUR,
            note="errors grow e-fold in about a second: trust the invariants, not the phase",
        ),
        ds.Case(
            "climbing",
            structure={"drive": True, "limited": True},
            start={"contact_x": -0.42, "speed": 0.0, "phi": 0.0, "phi_dot": 0.0},
            until=3.0,
            note="a drive on the axle pushes the wheel off the pendulum, out of the left "
            "hollow and over the hill, until rolling needs more friction than there is",
        ),
        ds.Case(
            "bowl",
            structure={"pendulum": False, "one_sided": False, "curve": "circle"},
            start={"polar_angle": 2.0, "speed": 0.0},
            until=30.0,
            note="inside a circle, starting above its middle, where a free wheel would fall: "
            "the contact holds both ways",
        ),
    ],
)
