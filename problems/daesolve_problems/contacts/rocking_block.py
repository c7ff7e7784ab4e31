"""A slender block that rocks from foot to foot, and comes to rest after infinitely many impacts.

A rigid block that leans on one foot is let go: it falls back, strikes the ground with the other
foot, and rocks on about that one. The ground is so rough that no foot slides. The unknown reactions
are the normal force and the friction of each foot. Each impact takes the same share of the energy,
whatever its strength; nothing is conserved overall.

With the half width b, the height h of the mass centre, tan alpha = b / h and R^2 = b^2 + h^2, it
turns about a foot by theta'' = p^2 sin(alpha - theta), p^2 = m g R / I. Where a foot strikes, the
moment of momentum about it is kept, and the other foot lifts off: the rate after it is

    r = 1 - 2 m b^2 / I        of the one before; I = J + m R^2

(for a uniform block 1 - 3/2 sin^2 alpha). Half a swing takes ever less time, in the end r of the
time of the one before, so that the block rests at a finite time. A block wider than sqrt(2) of its
height does not rock: both feet stay on the ground after the first impact.

A start has the tilt `theta`, the front foot off the ground where it is positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems.contacts.feet import block, coordinates, drawing, lifted, numbers, standing
from daesolve_problems.figures import Document, column, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def posed() -> ds.MechanicalSystem:
    """Pose the block on level ground."""
    return block(coordinates(), numbers(0.1, 0.3, (0.5, 0.5)))


def rate_ratio(parameters: Mapping[str, float]) -> float:
    """Return the part of its rate that an impact leaves a uniform block; zero if it stops dead."""
    half, height = parameters["half_width"], parameters["height"]
    return max(1.0 - 1.5 * half**2 / (half**2 + height**2), 0.0)


def rocking(case: BoundCase) -> ds.Answer:
    """Run a case, and compare the rates after its impacts with the closed form."""
    run = case.solve()
    impacts = [event for event in run.events if event.impact is not None]
    rates = [(event.detail["theta_dot"], (event.after or {})["theta_dot"]) for event in impacts]
    ratios = [after / before for before, after in rates]
    rest = [event.time for event in run.events if event.name == "accumulated"]
    found = {
        "impacts": len(impacts),
        "first_ratio": ratios[0] if ratios else None,
        "closed_form": rate_ratio(case.full_parameters),
        "rest_time": rest[0] if rest else None,
    }
    return ds.Answer(found)


def swings(document: Document) -> Figure:
    """Draw the tilt, and the energy, which falls with each impact."""
    times = series(document, "times")
    figure, (tilt, energy) = panels_over_time(2)
    tilt.plot(times, series(document, "states", "theta"), linewidth=1.2)
    tilt.set_ylabel("tilt (rad)")
    total = column(document, "energy")
    energy.plot(times, total - np.nanmin(total), linewidth=1.2)
    energy.set_ylabel("energy above rest (J)")
    return figure


problem = ds.Problem(
    "rocking-block",
    title="A block that rocks to rest",
    models={"feet": posed},
    sources=[
        "G. W. Housner, The behavior of inverted pendulum structures during earthquakes, "
        "Bull. Seismol. Soc. Am. 53 (1963) 403-417",
    ],
    start=standing,
    start_values=lambda structure: ("x_dot", "theta_dot"),
    derived=lifted,
    analyses={"rocking": rocking},
    figures={"swings": swings},
    drawing=drawing,
    cases=[
        ds.Case(
            "housner",
            start={"theta": 0.2},
            until=3.0,
            note="each impact keeps 0.85 of the rate; it rests after 2.786 s",
        ),
        ds.Case(
            "squat",
            parameters={"half_width": 1.5, "height": 1.0, "mu_rear": 5.0, "mu_front": 5.0},
            start={"theta": 0.05},
            until=1.0,
            note="wider than sqrt(2) of its height: the first impact stops it dead",
        ),
    ],
)
