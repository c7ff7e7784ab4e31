"""Analyses of the wheel besides its motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems.figures import new_figure
from daesolve_problems.rolling_wheel.starting import room

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KICK = {"z": 1e-4, "x_dot": 0.01, "theta_dot": 1.0}
"""m, m/s and 1/s."""
LAWS = {"contact": (4.0, 20.0), "rolling": (3.0,)}
"""Laws of the constraints: the contact's residual goes to zero in a spiral."""
AFTERWARDS = 2.0
"""s"""


def disturbance(case: BoundCase) -> ds.Answer:
    """Kick the wheel off the curve, and compare its residuals with the laws that they obey.

    Once with the usual rate, once with other laws; `error` is the largest difference over the size
    of the residual after the kick.
    """
    values: dict[str, object] = {"kick": KICK}
    found: dict[str, ds.analysis.Disturbance] = {}
    for name, feedback in (("rate", ds.Feedback()), ("laws", ds.Feedback(laws=LAWS))):
        one = ds.analysis.disturbance(case, KICK, AFTERWARDS, formulation=feedback)
        values[name] = {"error": one.error, **one.laws}
        found[name] = one
    return ds.Answer(values, {"disturbance": _dying_out(found)})


def _dying_out(found: dict[str, ds.analysis.Disturbance]) -> Figure:
    figure = new_figure(9.0, 3.4)
    for axes, (name, one) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        for number, goal in enumerate(one.laws):
            colour = f"C{number}"
            axes.semilogy(one.times, np.abs(one.residuals[goal]), color=colour, label=goal)
            axes.semilogy(one.times, np.abs(one.closed[goal]), "k:", linewidth=0.8)
        axes.set(xlabel="t (s)", title=f"|residual| after a kick, {name}; dotted: the law")
        axes.set_ylim(bottom=1e-16)
        axes.legend()
    return figure


def admissibility(case: BoundCase) -> ds.Answer:
    """Report whether the wheel touches the curve in only one point wherever it can get.

    If it can get beyond the traced curve, `admissible` is None unless it is stopped before.
    """
    about = room(case.full_start, case.full_parameters, case.problem.meaning(case.full_structure))
    found = about.admissibility
    return ds.Answer(
        {
            "admissible": found.admissible if about.whole or not found.admissible else None,
            "radius": found.radius,
            "largest_radius": found.largest_radius,
            "largest_local_radius": found.largest_local_radius,
            "tightest": found.tightest and dict(zip("xz", found.tightest, strict=True)),
            "reach": list(found.stretch),
            "second_contacts": [
                {"s": second.s, "contact": list(second.contact), "other": list(second.other)}
                for second in found.second_contacts
                if second is not None
            ],
        }
    )
