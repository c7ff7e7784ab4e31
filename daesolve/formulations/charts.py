"""Independent velocities: which of them a motion under constraints needs, and all others by them.

    J v + b = 0,  W v + c = w

b and c are what does not depend on v; w are given by the problem (speed and rate of turn of a
vehicle), or are some of the velocities themselves, chosen where the others follow from them best.
With P the metric projection on the admissible velocities, P M^-1 W^T = Y and G = W Y,

    v = v0 + Y G^-1 (w - c - W v0),  J v0 = -b.

det G is the squared volume of W on the admissible velocities. A choice holds while it is more than
a tenth of what it was; there the choice is made anew, so that nothing beyond counts. Beyond, G is
kept from becoming singular, so that a step that overshoots finds a tame continuation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
from scipy.linalg import qr

from daesolve.dynamics import Dynamics
from daesolve.elimination import Saddle
from daesolve.errors import PosingError
from daesolve.formulations.problem import Chart, OdeProblem
from daesolve.goals import FALLING, Event, Stop
from daesolve.linear import entries_of, factorize, minimum_degree_order, solve_definite
from daesolve.translation import function_of

DEGRADED = 0.1
"""Of the squared volume that the independent velocities had when chosen: then they are again."""
STEEP = 2.5
"""How fast G is kept regular beyond: by exp(-STEEP^4), below rounding, where the choice ends."""
VOLUME = "independent_volume"


@dataclass(frozen=True, eq=False)
class IndependentVelocities:
    """w of a system, and how all velocities follow from them.

    Parameters
    ----------
    dynamics
        The equations.
    values
        The names of p and their defaults: those of the dynamics, and of a choice its coefficients.
    p
        p, symbolic.
    matrix, offset
        W, (nw, nv), and c, (nw, 1).
    saddle
        [M J^T; J 0], factorised.
    directions, gram
        Y, (nv, nw), and G, (nw, nw), regular everywhere.
    volume
        det G over what it was when the velocities were chosen.
    """

    dynamics: Dynamics
    values: Mapping[str, float]
    p: ca.SX
    matrix: ca.SX
    offset: ca.SX
    saddle: Saddle
    directions: ca.SX
    gram: ca.SX
    volume: ca.SX

    @staticmethod
    def of(dynamics: Dynamics, saddle: Saddle) -> IndependentVelocities:
        """Take the problem's own, else coefficients that are chosen with numbers."""
        count = dynamics.velocity_count - len(dynamics.rows)
        if dynamics.independent:
            matrix, offset = _given(dynamics, count)
            directions, gram = _directions(dynamics, saddle, matrix)
            return IndependentVelocities(
                dynamics, dynamics.values, dynamics.p, matrix, offset, saddle,
                directions, gram, ca.SX(1),
            )  # fmt: skip
        names = dynamics.labels.states[dynamics.position_count :]
        entries = [f"independent_{k + 1}_{name}" for k in range(count) for name in names]
        chosen = ca.vertcat(*[ca.SX.sym(n) for n in (*entries, VOLUME)])  # pyright: ignore
        matrix = ca.reshape(chosen[:-1], len(names), count).T
        directions, gram = _directions(dynamics, saddle, matrix)
        volume = _determinant(gram) / chosen[-1]
        sizes = [
            sum((matrix[k, i] ** 2 / dynamics.mass[i, i] for i in range(len(names))), ca.SX(0))
            for k in range(count)
        ]
        beyond = DEGRADED * ca.exp(-((STEEP * volume / DEGRADED) ** 4))
        return IndependentVelocities(
            dynamics,
            dict(dynamics.values) | dict.fromkeys(entries, 0.0) | {VOLUME: 1.0},
            ca.vertcat(dynamics.p, chosen),
            matrix,
            ca.SX(count, 1),
            saddle,
            directions,
            gram + ca.diag(beyond * ca.vertcat(*sizes)),
            volume,
        )

    @property
    def count(self) -> int:
        """The number of independent velocities."""
        return self.matrix.shape[0]

    def solve(self, held: Sequence[ca.SX], independent: ca.SX) -> ca.SX:
        """Solve J v = held and W v = independent."""
        still = ca.SX(self.dynamics.velocity_count, 1)
        some, _ = self.saddle.solve(still, held, [])
        if not self.count:
            return some
        return some + self.directions @ solve_definite(self.gram, independent - self.matrix @ some)

    def chart(self, whole: OdeProblem, w: ca.SX, velocities: ca.SX) -> Chart:
        """Return what passes between (positions, w) and all states."""
        dynamics = self.dynamics
        positions = dynamics.x[: dynamics.position_count]
        names = (["t", "x", "p"], ["states"])
        return Chart(
            embed=function_of(
                "embed",
                [dynamics.t, ca.vertcat(positions, w), self.p],
                [ca.vertcat(positions, velocities)],
                names,
            ),
            restrict=function_of(
                "restrict",
                [dynamics.t, dynamics.x, self.p],
                [ca.vertcat(positions, self.matrix @ dynamics.velocities + self.offset)],
                names,
            ),
            whole=whole,
            choose=None if dynamics.independent else self._choose,
        )

    def event(self) -> Event | None:
        """Return the event that asks for another choice; None where the problem gives its own."""
        if self.dynamics.independent:
            return None
        return Event("independent velocities", self.volume - DEGRADED, FALLING, Stop())

    def _choose(self, time: float, states: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Take those velocities whose part of the admissible ones has the largest volume."""
        own = len(self.dynamics.values)
        parts = self.dynamics.matrices(time, states, p[:own])
        inertia = np.sqrt(np.diag(parts["mass"]))
        admissible = np.linalg.svd(parts["jacobian"] / inertia)[2][len(parts["jacobian"]) :]
        _, order = cast(tuple[np.ndarray, np.ndarray], qr(admissible, mode="r", pivoting=True))
        matrix = np.zeros((self.count, len(inertia)))
        matrix[np.arange(self.count), np.sort(order[: self.count])] = 1.0
        numbers = np.concatenate([p[:own], matrix.ravel(), [1.0]])
        volume = ca.Function(
            "volume", [self.dynamics.t, self.dynamics.x, self.p], [self.volume], {"cse": True}
        )
        numbers[-1] = float(volume(time, states, numbers))
        return numbers


def _given(dynamics: Dynamics, count: int) -> tuple[ca.SX, ca.SX]:
    """Return W and c of the problem's own independent velocities."""
    given = dynamics.independent
    if len(given) != count:
        raise PosingError(
            f"{len(given)} independent velocities are given ({', '.join(given)}), but the "
            f"constraints leave {count} of {dynamics.velocity_count}"
        )
    stack = ca.vertcat(*given.values())
    still = ca.SX.zeros(dynamics.velocity_count)
    return ca.jacobian(stack, dynamics.velocities), ca.substitute(stack, dynamics.velocities, still)


def _directions(dynamics: Dynamics, saddle: Saddle, matrix: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return Y and G."""
    none = [ca.SX(0)] * len(dynamics.rows)
    columns = [saddle.solve(matrix[k, :].T, none, [])[0] for k in range(matrix.shape[0])]
    directions = ca.horzcat(ca.SX(dynamics.velocity_count, 0), *columns)
    return directions, matrix @ directions


def _determinant(matrix: ca.SX) -> ca.SX:
    """Return the determinant of a symmetric positive definite matrix."""
    entries = entries_of(matrix)
    order = minimum_degree_order(entries, range(matrix.shape[0]), {})
    product = ca.SX(1)
    for pivot in factorize(entries, order, symmetric=True).pivots.values():
        product = product * pivot
    return product
