"""The known digits of a special point, from a second solution with other steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from daesolve.analysis.orbits.bordered import solve_special
from daesolve.analysis.orbits.curve import Curve, CurvePoint
from daesolve.analysis.orbits.entries import BranchPoint
from daesolve.analysis.orbits.special import Kind, conditions_near
from daesolve.analysis.orbits.touching import touching
from daesolve.errors import DaesolveError

ROUNDING = 4.0
"""The common error of both solutions, relative to the spacing of numbers."""


def confirmed_value(curve: Curve, kind: Kind, entry: BranchPoint, detail: str) -> float:
    """Return the number of digits of a special point's value that other steps confirm.

    NaN if they do not reach it, or if it is not solved for.
    """
    if kind in ("degenerate passage", "several at once"):
        return math.nan
    refined = curve.task.flow.prepared.solver.refined()
    try:
        task = replace(curve.task, flow=curve.task.flow.solved_by(refined))
        other = Curve(task, curve.axis, entry.guess)
        linear = other.linear(entry.guess, other.value_of(entry.guess))
        point = CurvePoint(
            other.value_of(entry.guess), linear.shot, linear.slopes, entry.tangent, 0, 0.0
        )
        if kind == "grazing":
            again = touching(other, point, detail)[0]
        else:
            again = solve_special(other, point, dict(conditions_near(other, kind, point))[kind])
    except (DaesolveError, KeyError, np.linalg.LinAlgError):
        return math.nan
    apart = abs(again.point.value - entry.value) / (abs(entry.value) or curve.axis.scale)
    return -math.log10(max(apart, ROUNDING * float(np.finfo(float).eps)))
