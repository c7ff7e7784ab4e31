"""Independent velocities: a choice that the constraints leave free, and the others from these.

    J v + b = 0,  W v + c = w

where b and c do not depend on v. The problem gives w (such as speed and rate of turn of a vehicle),
or w is a selection of the velocities, chosen so that the others follow from them best. With the
metric projection P on the admissible velocities, P M^-1 W^T = Y and G = W Y,

    v = v0 + Y G^-1 (w - c - W v0),  J v0 = -b.

det G is the squared volume of W on the admissible velocities. The choice prefers velocities that
keep their volume along the whole motion, as shown by a short run. A choice holds while the volume
exceeds a tenth of its first value; then velocities are chosen again, so nothing beyond matters.
Beyond that point G is kept regular, so a step that overshoots finds a tame continuation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.saddle import Saddle
from daesolve.core.equations.row_choice import DEGRADED, LOOKED_AT, candidate_sets
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.linear import (
    definite_determinant,
    entries_of,
    minimum_degree_order,
    solve_definite,
)
from daesolve.core.expressions.singular_values import singular_directions
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations.problem import Chart, OdeProblem
from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.posing.symbols import symbol
from daesolve.errors import PosingError

STEEP = 2.5
"""How fast G is regularised beyond `DEGRADED`: by exp(-STEEP^4), below rounding where the choice
ends."""
ALL_TO = 500
"""The number of choices up to which all are compared."""
USABLE = 1e-3
"""The least accepted ratio of the volume of a choice to the largest volume."""
VOLUME = "independent_volume"


@dataclass(frozen=True, eq=False)
class IndependentVelocities:
    """The independent velocities w of a system, and all velocities in terms of them.

    Parameters
    ----------
    dynamics
        The equations.
    values
        The names of p and their defaults: those of the dynamics and the coefficients of a choice.
    p
        p, symbolic.
    matrix, offset
        W, (nw, nv), and c, (nw, 1).
    saddle
        [M J^T; J 0], factorised.
    directions, gram
        Y, (nv, nw), and G, (nw, nw), which is regular everywhere.
    volume
        det G relative to its value when the velocities were chosen.
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
        """Use the problem's own w, or else coefficients that are chosen numerically."""
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
        chosen = ca.vertcat(*[symbol(n) for n in (*entries, VOLUME)])
        matrix = ca.reshape(chosen[:-1], len(names), count).T
        directions, gram = _directions(dynamics, saddle, matrix)
        volume = (
            definite_determinant(gram, minimum_degree_order(entries_of(gram), range(count), {}))
            / chosen[-1]
        )
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
        """Return the maps between (positions, w) and all states."""
        dynamics = self.dynamics
        positions = dynamics.x[: dynamics.position_count, :]
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
        """Return the event that asks for another choice; None if the problem gives w."""
        if self.dynamics.independent:
            return None
        return Event("independent velocities", self.volume - DEGRADED, FALLING, Stop())

    def _choose(
        self, time: float, states: np.ndarray, p: np.ndarray, path: np.ndarray
    ) -> np.ndarray:
        """Choose velocities that work along the whole path, else those of largest volume here."""
        numbers = p[: len(self.dynamics.values)]
        table = np.vstack([states, path[:: max(len(path) // LOOKED_AT, 1)]])
        bases = self._admissible(time, table, numbers)
        candidates = candidate_sets(bases[0], self.count, ALL_TO)
        volumes, *others = np.linalg.det(bases[:, candidates]) ** 2
        lasting = np.min(others, axis=0, initial=np.inf)
        usable = volumes > USABLE * np.max(volumes)
        lasting = np.where(usable, lasting / np.where(usable, volumes, 1.0), 0.0)
        best = int(np.argmax(lasting))
        if not np.isfinite(lasting[best]) or lasting[best] < 2 * DEGRADED:
            best = int(np.argmax(volumes))
        matrix = np.zeros((self.count, bases.shape[1]))
        matrix[np.arange(self.count), candidates[best]] = 1.0
        return np.concatenate([numbers, matrix.ravel(), [volumes[best]]])

    def _admissible(self, time: float, table: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return orthonormal bases, (k, nv, nw), of admissible velocities in the mass metric."""
        times = np.full(len(table), time)
        nv, held = self.dynamics.velocity_count, len(self.dynamics.rows)
        mass, rows = evaluate_block(self._metric, times, table, numbers)
        root = np.linalg.cholesky(mass.reshape(-1, nv, nv))
        gradients = np.linalg.solve(root, rows.reshape(len(table), nv, held))
        free = singular_directions(gradients).left[:, :, held:]
        return np.linalg.solve(root.swapaxes(1, 2), free)

    @cached_property
    def _metric(self) -> ca.Function:
        """(t, x, p) -> M and J, each a column."""
        dynamics = self.dynamics
        return dynamics.function("metric", ca.vec(dynamics.mass), ca.vec(dynamics.gradients))


def _given(dynamics: Dynamics, count: int) -> tuple[ca.SX, ca.SX]:
    """Return W and c of the independent velocities given by the problem."""
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
