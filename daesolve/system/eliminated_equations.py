"""Equations of motion with the reactions eliminated, and the reactions as functions of the state.

M v' = h + B u,  J v' + b = 0,  D u + e = 0   =>   A u = c,
A = [J M^-1 B; D],  c = -[J M^-1 h + b; e]
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from daesolve.algebra.reading import LARGEST_BLOCK, simplified, solved
from daesolve.equations.dynamics import Dynamics
from daesolve.system.mode import InMode


@dataclass(frozen=True, eq=False)
class EliminatedEquations:
    """A u = c, as expressions of time and state.

    Parameters
    ----------
    mode
        What they hold in.
    names
        Of the reactions u.
    mass, force, influence, jacobian, bias
        M, h, B, J and b.
    matrix, right
        A, (nu, nu), and c, (nu, 1); None where M is too large to be inverted by hand.
    reactions
        The reactions u, (nu, 1); None where they are too many to be written down.
    """

    mode: InMode
    names: tuple[str, ...]
    mass: ca.SX
    force: ca.SX
    influence: ca.SX
    jacobian: ca.SX
    bias: ca.SX
    matrix: ca.SX | None
    right: ca.SX | None
    reactions: ca.SX | None


def eliminated_equations(dynamics: Dynamics, values: Mapping[str, float]) -> EliminatedEquations:
    """Return the equations of a system with its reactions eliminated.

    Parameters
    ----------
    dynamics
        The equations.
    values
        Of parameters and discrete values, by name, where they differ from the defaults.

    Raises
    ------
    UnknownNameError
        There is no such value.
    """
    mode = InMode.of(dynamics, values)
    own = mode.dynamics
    positions = own.x[: own.position_count, :]

    def tidy(matrix: ca.SX) -> ca.SX:
        return simplified(mode.written(matrix), positions)

    mass, force, influence = tidy(own.mass), tidy(own.force), tidy(own.influence)
    count = own.reactions.numel()
    jacobian = tidy(ca.vertcat(ca.SX(0, own.velocity_count), *[row.jacobian for row in own.rows]))
    bias = tidy(ca.vertcat(ca.SX(0, 1), *[row.bias for row in own.rows]))
    ties = tidy(ca.vertcat(ca.SX(0, count), *[row.jacobian for row in own.relations]))
    offsets = tidy(ca.vertcat(ca.SX(0, 1), *[row.offset for row in own.relations]))
    matrix = right = reactions = None
    blocks = mass.sparsity().btf()[3]
    largest = max((end - start for start, end in itertools.pairwise(blocks)), default=0)
    if largest <= LARGEST_BLOCK:
        moved = solved(mass, ca.horzcat(force, influence), positions)
        free, pushed = moved[:, :1], moved[:, 1:]
        matrix = simplified(ca.vertcat(jacobian @ pushed, ties), positions)
        right = simplified(-ca.vertcat(jacobian @ free + bias, offsets), positions)
        square = matrix.shape[0] == matrix.shape[1]
        if square and 0 < matrix.shape[0] <= LARGEST_BLOCK:
            reactions = solved(matrix, right, positions)
    return EliminatedEquations(
        mode, own.labels.reactions, mass, force, influence, jacobian, bias, matrix, right, reactions
    )
