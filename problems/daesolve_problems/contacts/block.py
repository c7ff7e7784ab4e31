"""A block on two feet that slides to rest, tips and rocks, or is shaken by its table.

A rigid block stands on two feet on a rough plane, which may slope or shake. Each foot is a contact
with Coulomb's friction: it slides, sticks, lifts off and strikes the plane again. The unknown
reactions are the normal force and the friction of each foot; while both feet stick, only the sum of
their friction forces is determined. Nothing is conserved: the friction loss is metered foot by
foot, and impacts record their losses.

With the half width b, the height h of the mass centre and the angle alpha of the plane, a block
that slides down on both feet has

    x'' = g (sin alpha - mu cos alpha),    N = m g cos alpha (1 -+ mu h / b) / 2,

so that its rear foot lifts off where mu > b / h. On a table of the speed V sin(W t) it sticks as
long as the table asks for less than mean mu g; for larger V its slip reverses without sticking.
Feet of different friction give it different accelerations to either side,

    x'' = -+ mean mu g / (1 -+ (mu_front - mu_rear) h / 2 b).

A start has the speed `x_dot`; it stands on both feet unless `theta` is given. `half_width` and
`height` are those of a uniform block, of twice the height.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import casadi as ca

import daesolve as ds
from daesolve_problems.contacts.feet import block, coordinates, drawing, lifted, numbers, standing
from daesolve_problems.figures import Document, column, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SHAKEN = {"half_width": 0.2, "height": 0.1, "mu_rear": 0.2, "mu_front": 0.4, "shake_rate": 20.0}
"""A flat block on a table, its feet of different friction."""


def posed() -> ds.MechanicalSystem:
    """Pose the block on a plane that slopes, or shakes."""
    p = numbers(
        0.1,
        0.2,
        (0.3, 0.3),
        incline=(0.0, "rad"),
        shake_speed=(0.0, "m/s"),
        shake_rate=(20.0, "rad/s"),
    )
    table = p.shake_speed * ca.sin(p.shake_rate * ds.time)
    return block(coordinates(), p, ground_speed=table, incline=p.incline)


def feet_over_time(document: Document) -> Figure:
    """Draw the loads of the feet, and their slip."""
    times = series(document, "times")
    figure, (loads, slips) = panels_over_time(2)
    for number, foot in enumerate(("rear", "front")):
        shade = f"C{number}"
        loads.plot(times, column(document, foot), color=shade, linewidth=1.2, label=foot)
        slips.plot(times, column(document, f"{foot}_slip"), color=shade, linewidth=1.2)
    loads.set_ylabel("normal force (N)")
    loads.legend()
    slips.set_ylabel("slip (m/s)")
    return figure


problem = ds.Problem(
    "block",
    title="A block on two feet that slides, tips and is shaken",
    models={"feet": posed},
    sources=[
        "C. Glocker, Set-Valued Force Laws: Dynamics of Non-Smooth Systems (2001)",
        "F. Pfeiffer, C. Glocker, Multibody Dynamics with Unilateral Contacts (1996)",
    ],
    start=standing,
    start_values=lambda structure: ("theta", "theta_dot"),
    derived=lifted,
    figures={"feet": feet_over_time},
    drawing=drawing,
    cases=[
        ds.Case(
            "slides",
            parameters={"incline": 0.1},
            start={"x_dot": 1.0},
            until=1.0,
            note="slides down a slope of 0.1 rad, and comes to rest on both feet after 0.5131 s",
        ),
        ds.Case(
            "tips",
            parameters={"mu_rear": 0.7, "mu_front": 0.7},
            start={"x_dot": 1.0},
            until=2.0,
            note="the rear foot lifts off, the front foot sticks after 0.0616 s, and the block "
            "rocks to rest after 1.5895 s",
        ),
        ds.Case(
            "shaken",
            parameters={**SHAKEN, "shake_speed": 0.2},
            until=20.0 * math.pi / 20.0,
            note="a table shakes it ten times: it sticks and slips 41 times",
        ),
        ds.Case(
            "shaken-hard",
            parameters={**SHAKEN, "shake_speed": 1.0},
            until=20.0 * math.pi / 20.0,
            note="shaken five times as fast: its slip reverses without sticking",
        ),
    ],
)
