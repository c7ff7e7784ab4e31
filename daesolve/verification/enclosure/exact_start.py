"""A consistent start, proved: what the user gave is kept to the last digit, the rest follows.

Of the states that were not given, as many follow from the constraints as these determine; the
others keep their values. Krawczyk's operator shows that there is one solution near the double one,
and where: first for the positions, then for the velocities.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.translation import function_of
from daesolve.verification.constraint_levels import constraint_levels
from daesolve.verification.enclosure.crossings import NotCertifiedError
from daesolve.verification.enclosure.equations import CertifiedEquations
from daesolve.verification.enclosure.exact import (
    evaluate,
    flint,
    from_exact,
    to_exact,
    weighted,
)
from daesolve.verification.enclosure.interval_matrices import IntervalMatrix
from daesolve.verification.enclosure.state_sets import StateSet

INDEPENDENT = 1e-9
"""A constraint whose pivot is below this part of the largest follows from others."""
STEPS = 8
"""Steps of Newton's method: each gains about 14 digits."""
RADIUS = 1e-28
"""Of the first box that is tried around a solution without uncertain values, relative."""


def exact_start(
    equations: CertifiedEquations,
    dynamics: Dynamics,
    time: float,
    state: np.ndarray,
    p: list[Any],
    kept: Collection[str],
    radii: Mapping[str, float],
) -> tuple[StateSet, list[int]]:
    """Return a set of consistent states, and which of them follow from the others.

    Parameters
    ----------
    equations, dynamics
        The equations.
    time, state
        When, s, and the consistent start with what is carried, (size, 2) in two doubles.
    p
        The values.
    kept
        The names of the states that were given.
    radii
        How uncertain states and carried values are, by name.

    Raises
    ------
    NotCertifiedError
        No box was found in which the constraints have one solution.
    """
    problem = equations.problem
    names = [*problem.labels.states, *[list(problem.values)[k] for k in equations.carried]]
    wide = np.array([radii.get(name, 0.0) for name in names])
    given = np.array([name in kept for name in names])
    found = StateSet.around(state, wide)
    dependent: list[int] = []
    for residuals, columns in constraint_levels(dynamics):
        if residuals.numel():
            level = _Level(equations, dynamics, time, p, residuals)
            found, solved = level.solved(found, columns, given)
            dependent += solved
    refused = [names[k] for k in dependent if wide[k] > 0.0]
    if refused:
        raise NotCertifiedError(f"{refused[0]!r} is uncertain, but follows from the constraints")
    return found, dependent


class ConstraintManifold:
    """The constraints that hold all along, which draw sets back to where the motion is.

    For a state x that fulfils r(x) = 0, x - A r(x) is x itself, whatever A is. So the image of a
    set under this map contains every such state of it; with A the pseudo-inverse of the derivatives
    of r, what the set has across the manifold is gone.
    """

    def __init__(
        self, equations: CertifiedEquations, dynamics: Dynamics, time: float, p: list[Any]
    ) -> None:
        self.levels = [
            (_Level(equations, dynamics, time, p, residuals), columns)
            for residuals, columns in constraint_levels(dynamics)
            if residuals.numel()
        ]

    def drawn(self, time: float, found: StateSet) -> StateSet:
        """Return a set that contains the states of another one that fulfil the constraints."""
        for level, columns in self.levels:
            level.moment = [to_exact((time, 0.0, 0.0))]
            point = [to_exact(ball) for ball in found.point]
            residuals, slopes = level.at(point)
            inverse = np.zeros((len(point), len(residuals)))
            inverse[columns] = np.linalg.pinv(slopes[:, columns, 0], rcond=INDEPENDENT)
            moved = weighted(inverse, residuals)
            image = [from_exact(x - change) for x, change in zip(point, moved, strict=True)]
            around = [to_exact(ball) for ball in found.box]
            left, table = level.at(around)
            if not all(residual.contains(0) for residual in left):
                raise NotCertifiedError(f"at t = {time:.10g} s a constraint does not hold")
            across = IntervalMatrix.exact(inverse) @ IntervalMatrix.of_balls(table)
            along = IntervalMatrix.exact(np.eye(len(point))) + -across
            found = found.mapped(np.array(image), along)
        return found


class _Level:
    """The constraints of one level."""

    def __init__(
        self,
        equations: CertifiedEquations,
        dynamics: Dynamics,
        time: float,
        p: list[Any],
        residuals: ca.SX,
    ) -> None:
        t, s, values = equations.symbols
        _, x, inner = equations.arguments
        own = function_of(
            "residuals",
            [dynamics.t, dynamics.x, dynamics.p],
            [ca.densify(residuals)],
            (["t", "x", "p"], ["residuals"]),
        )
        column = own(t, x[: equations.states], inner[: dynamics.p.numel()])
        self.function = function_of(
            "level",
            [t, s, values],
            [column, ca.vec(ca.densify(ca.jacobian(column, s)))],
            (["t", "s", "p"], ["residuals", "slopes"]),
        )
        self.moment, self.p = [to_exact((time, 0.0, 0.0))], p

    def at(self, s: list[Any]) -> tuple[list[Any], np.ndarray]:
        """Return the residuals and, (rows, size, 3), their derivatives."""
        residuals, slopes = evaluate(self.function, self.moment, s, self.p)
        table = np.array([from_exact(value) for value in slopes])
        return residuals, table.reshape(len(s), len(residuals), 3).transpose(1, 0, 2)

    def solved(
        self, start: StateSet, columns: np.ndarray, given: np.ndarray
    ) -> tuple[StateSet, list[int]]:
        """Return the states of a set moved onto the constraints, and which were moved."""
        centre = [to_exact(ball) for ball in start.point]
        slopes = self.at(centre)[1][:, :, 0]
        free = [k for k in columns.tolist() if not given[k]] + [
            k for k in columns.tolist() if given[k]
        ]
        rows, moved = _independent(slopes, free, int(np.sum(~given[columns])))
        if not moved:
            return start, []
        inverse = np.linalg.inv(slopes[np.ix_(rows, moved)])
        for _ in range(STEPS):
            residuals = self.at(centre)[0]
            steps = weighted(inverse, [residuals[r] for r in rows])
            for k, change in zip(moved, steps, strict=True):
                centre[k] = (centre[k] - change).mid()
        image, by = self._krawczyk(start, centre, rows, moved, inverse)
        return start.mapped(image, by), moved

    def _krawczyk(
        self,
        start: StateSet,
        centre: list[Any],
        rows: list[int],
        moved: list[int],
        inverse: np.ndarray,
    ) -> tuple[np.ndarray, IntervalMatrix]:
        """Return the solution at the centre, and the derivatives of all by the free states."""
        n = len(centre)
        arb = flint().arb
        wide = start.radii
        wide[moved] = 0.0
        others = [k for k in range(n) if k not in moved]
        at_centre = self._box(centre, moved, rows, inverse, centre)
        image = np.array([from_exact(value) for value in at_centre])
        by = np.zeros((n, n))
        by[others, others] = 1.0
        found = IntervalMatrix(by, np.zeros((n, n)))
        around = [x + arb(0, float(r)) for x, r in zip(at_centre, wide, strict=True)]
        box = self._box(around, moved, rows, inverse, at_centre)
        slopes = IntervalMatrix.of_balls(self.at(box)[1][rows])
        turned = IntervalMatrix.exact(inverse) @ slopes
        rest = IntervalMatrix(turned.centre[:, moved], turned.radius[:, moved]) + (
            IntervalMatrix.exact(-np.eye(len(moved)))
        )
        norm = float(np.max(np.sum(rest.size, axis=1)))
        if not norm < 0.5:
            raise NotCertifiedError("the uncertain start reaches where constraints fail")
        change = -IntervalMatrix(turned.centre[:, others], turned.radius[:, others])
        # (I + rest)^-1 c differs from c by at most |rest| |c|/(1 - |rest|), column by column.
        more = norm / (1.0 - norm) * np.max(change.size, axis=0, keepdims=True) * 1.001
        found.centre[np.ix_(moved, others)] = change.centre
        found.radius[np.ix_(moved, others)] = change.radius + more
        return image, found

    def _box(
        self,
        around: list[Any],
        moved: list[int],
        rows: list[int],
        inverse: np.ndarray,
        centre: list[Any],
    ) -> list[Any]:
        """Return a box in which the moved states solve the constraints, for all of the others."""
        arb = flint().arb
        base = list(around)
        for k in moved:
            base[k] = centre[k].mid()
        residuals = self.at(base)[0]
        steps = weighted(inverse, [residuals[r] for r in rows])
        radius = RADIUS
        for _ in range(12):
            box = list(base)
            tried = [abs(step).abs_upper() * 1.5 + radius * (1 + abs(base[k].mid()))
                     for k, step in zip(moved, steps, strict=True)]  # fmt: skip
            for k, size in zip(moved, tried, strict=True):
                box[k] = base[k] + arb(0, size)
            slopes = IntervalMatrix.of_balls(self.at(box)[1][rows][:, moved])
            rest = IntervalMatrix.exact(inverse) @ slopes
            rest = rest + IntervalMatrix.exact(-np.eye(len(moved)))
            reach = rest.size @ np.array([float(size) for size in tried]) * 1.001
            images = [base[k] - step + arb(0, float(r))
                      for k, step, r in zip(moved, steps, reach, strict=True)]  # fmt: skip
            if all(box[k].contains_interior(i) for k, i in zip(moved, images, strict=True)):
                for k, image in zip(moved, images, strict=True):
                    box[k] = image
                return box
            radius *= 100.0
        raise NotCertifiedError("no box was found in which the constraints have one solution")


def _independent(
    slopes: np.ndarray, columns: list[int], preferred: int
) -> tuple[list[int], list[int]]:
    """Return independent rows, and as many columns that solve them, the preferred ones first."""
    if not np.any(slopes[:, columns]):
        return [], []
    _, upper, order = scipy.linalg.qr(slopes[:, columns].T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(upper))
    rows = [int(k) for k in order[: int(np.sum(sizes > INDEPENDENT * sizes[0]))]]
    weights = np.ones(len(columns))
    weights[preferred:] = 1e-6
    chosen = slopes[np.ix_(rows, columns)] * weights
    order = scipy.linalg.qr(chosen, mode="economic", pivoting=True)[2]
    return rows, [columns[int(k)] for k in order[: len(rows)]]
