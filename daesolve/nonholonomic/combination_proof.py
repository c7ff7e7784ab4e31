"""Proof that N and each [g_i] are combinations of the remaining constraints.

Random states can only refute this: even if all of them agree, a factor that matters only elsewhere,
such as exp(x - 60) or tanh(x - 40), goes unnoticed. In a finite field nothing is large or small.
Time, parameters and functions that are not rational become random elements of a field
(`identities`); positions and velocities fulfil the constraints. An identity that holds there holds
wherever f = 0 and the df/dw keep their rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import casadi as ca
import numpy as np

from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.value_names import ValueKind
from daesolve.errors import UnsupportedError
from daesolve.nonholonomic.identities import (
    PRIME,
    Echelon,
    Matrix,
    RandomPoint,
    element,
    inverse,
    square_root,
)
from daesolve.nonholonomic.solved_rates import Substitution

POINTS = 2
"""The number of random places; each misses a false identity with a probability of about 1e-15."""
POINTS_OF_ROOTS = 30
"""The same number if positions are square roots, whose two signs may belong to different
surfaces."""
TRIALS = 200
"""The number of random places searched for such roots, which do not exist at half of all places."""


@dataclass(frozen=True)
class Proof:
    """The combinations of the df/dw that are proved to hold wherever f = 0.

    Parameters
    ----------
    whole
        Whether N is a combination.
    each
        Whether each [g_i] is a combination.
    """

    whole: bool
    each: tuple[bool, ...]

    @property
    def listed(self) -> list[bool]:
        """The entry for N, then those for each [g_i]."""
        return [self.whole, *self.each]


def proved_combinations(solution: Substitution, numbers: np.ndarray, *, vary: bool) -> Proof:
    """Return the combinations that can be proved.

    Parameters
    ----------
    solution
        The expressions.
    numbers
        p, including the references of invariants.
    vary
        Whether to prove them for all values of p except these references.
    """
    function, generator = _function(solution), Random(25)
    surface, wanted = _Surface(solution), POINTS
    proofs: list[Proof] = []
    for _ in range(TRIALS):
        point = RandomPoint(generator)
        inputs = _random_inputs(solution, numbers, point, vary=vary)
        try:
            met = surface.meet(point, inputs)
            if met is None:
                continue
            wanted = POINTS_OF_ROOTS if met else wanted
            proofs.append(_at_point(solution, function, point, inputs))
        except (ZeroDivisionError, UnsupportedError):
            break
        if len(proofs) == wanted or not (proofs[-1].whole or any(proofs[-1].each)):
            break
    enough = len(proofs) >= wanted
    each = [enough and all(one.each[i] for one in proofs) for i in range(len(solution.eliminated))]
    return Proof(enough and all(one.whole for one in proofs), tuple(each))


def _random_inputs(
    solution: Substitution, numbers: np.ndarray, point: RandomPoint, *, vary: bool
) -> list[list[int]]:
    """Return t, x, p and accelerations."""
    d = solution.dynamics
    inputs = [point.column(count.numel()) for count in (d.t, d.x, d.p, solution.accelerations)]
    references = {
        ValueKind.REFERENCE.place(row.name, d.values)
        for row in d.invariants
        if row.on == "positions"
    }
    for index in references if vary else range(len(numbers)):
        inputs[2][index] = element(float(numbers[index]))
    return inputs


class _Surface:
    """The positions that holonomic constraints and invariants leave.

    Each residual is solved for a coordinate in which it is linear or quadratic and which no earlier
    residual contains. Residuals that cannot be solved are left out; the proof must then show more.
    """

    def __init__(self, solution: Substitution) -> None:
        d = solution.dynamics
        rows = [row for row in d.rows if row.name in solution.remaining and row.kind == "holonomic"]
        residuals = [d.without_feedback(row.chain[0]) for row in rows]
        residuals += [d.without_feedback(row.residual) for row in d.implicit_rows]
        residuals += [
            row.value - d.p[ValueKind.REFERENCE.place(row.name, d.values)]
            for row in d.invariants
            if row.on == "positions"
        ]
        self._functions: list[ca.Function] = []
        self._own: list[list[int]] = []
        known = ca.SX(0, 1)
        for residual in residuals:
            places = [
                index
                for index in range(d.position_count)
                if ca.depends_on(residual, d.x[index])
                and not (known.numel() and ca.depends_on(known, d.x[index]))
            ]
            if places:
                known = ca.vertcat(known, residual)
                names = (["t", "x", "p"], ["residual"])
                self._functions.append(function_of("residual", [d.t, d.x, d.p], [residual], names))
                self._own.append(places)

    def meet(self, point: RandomPoint, inputs: list[list[int]]) -> bool | None:
        """Move positions to the surface; return whether roots were used, None if one is missing."""
        rooted = False
        for function, places in zip(self._functions, self._own, strict=True):
            for index in places:
                c, b, a = self._polynomial(function, point, inputs, index)
                if a is None or not (a or b):
                    continue
                if not a:
                    inputs[1][index] = -c * inverse(b) % PRIME
                    break
                root = square_root((b * b - 4 * a * c) % PRIME)
                if root is None:
                    return None
                rooted, sign = True, point.random.choice((1, -1))
                inputs[1][index] = (sign * root - b) * inverse(2 * a) % PRIME
                break
        return rooted

    def _polynomial(
        self, function: ca.Function, point: RandomPoint, inputs: list[list[int]], index: int
    ) -> tuple[int, int, int | None]:
        """Return the coefficients in a coordinate; the last is None if it is not quadratic."""
        column, values = list(inputs[1]), list[int]()
        for number in range(5):
            column[index] = number
            found = point.evaluate(function, [inputs[0], column, inputs[2]])
            values.append(found["residual"][0][0])
        a = (values[2] - 2 * values[1] + values[0]) * inverse(2) % PRIME
        b = (values[1] - values[0] - a) % PRIME
        same = all((values[0] + b * k + a * k * k - values[k]) % PRIME == 0 for k in (3, 4))
        return values[0], b, a if same else None


def _function(solution: Substitution) -> ca.Function:
    d, w = solution.dynamics, solution.velocities
    parts = {
        "gradients": solution.gradients,
        "still": ca.substitute(solution.f, w, ca.SX.zeros(*w.shape)),
        "hamel": solution.hamel,
        "extra": solution.extra,
    }
    return function_of(
        "combination",
        [d.t, d.x, d.p, solution.accelerations],
        [*parts.values()],
        (["t", "x", "p", "accelerations"], [*parts]),
    )


def _at_point(
    solution: Substitution, function: ca.Function, point: RandomPoint, inputs: list[list[int]]
) -> Proof:
    d = solution.dynamics
    own = [d.position_count + index for index in solution.kept]
    # Constraints that are not linear in w are left out; the proof then shows more than needed.
    if solution.remaining and not ca.depends_on(solution.gradients, solution.velocities):
        parts = point.evaluate(function, inputs)
        rows = [
            [*row, rest[0]] for row, rest in zip(parts["gradients"], parts["still"], strict=True)
        ]
        moving = Echelon(rows).solution([inputs[1][index] for index in own])
        if moving is None:
            return Proof(False, (False,) * len(solution.eliminated))
        for index, value in zip(own, moving, strict=True):
            inputs[1][index] = value
    parts = point.evaluate(function, inputs)
    space = Echelon(parts["gradients"])
    each = [space.spans(column) for column in _columns(parts["hamel"])]
    return Proof(space.spans(_columns(parts["extra"])[0]), tuple(each))


def _columns(matrix: Matrix) -> list[Sequence[int]]:
    return [list(column) for column in zip(*matrix, strict=True)]
