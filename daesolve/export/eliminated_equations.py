"""The matrices of the equations of motion, and the resulting equations for the reactions.

M v' = h + B u,  J v' + b = 0,  D u + e = 0   =>   A u = c,
A = [J M^-1 B; D],  c = -[J M^-1 h + b; e]
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.export.mode import InMode
from daesolve.export.readable_expressions import LARGEST_BLOCK, simplified, solved

MOST_REACTIONS = 8
"""The number of reactions up to which each is written down as a function of the state."""


@dataclass(frozen=True, eq=False)
class Matrices:
    """M, h, B, J, b, D and e, as expressions of time and state.

    Parameters
    ----------
    mode
        The mode in which they hold.
    mass, force, influence, jacobian, bias, ties, offsets
        M, h, B, J, b, D and e.
    """

    mode: InMode
    mass: ca.SX
    force: ca.SX
    influence: ca.SX
    jacobian: ca.SX
    bias: ca.SX
    ties: ca.SX
    offsets: ca.SX

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the reactions u."""
        return self.mode.dynamics.labels.reactions

    @property
    def positions(self) -> ca.SX:
        """The symbols of the positions."""
        dynamics = self.mode.dynamics
        return dynamics.x[: dynamics.position_count, :]


def matrices(dynamics: Dynamics, values: Mapping[str, float]) -> Matrices:
    """Return the matrices of the equations of motion.

    Parameters
    ----------
    dynamics
        The equations.
    values
        Parameters and discrete values by name that differ from their defaults.

    Raises
    ------
    UnknownNameError
        There is no such value.
    """
    return matrices_in(InMode.of(dynamics, values))


def matrices_in(mode: InMode) -> Matrices:
    """Return the matrices of the equations of motion in a mode."""
    own = mode.dynamics
    positions = own.x[: own.position_count, :]

    def tidy(matrix: ca.SX) -> ca.SX:
        return simplified(mode.written(matrix), positions)

    count = own.reactions.numel()
    return Matrices(
        mode,
        tidy(own.mass),
        tidy(own.force),
        tidy(own.influence),
        tidy(ca.vertcat(ca.SX(0, own.velocity_count), *[row.jacobian for row in own.rows])),
        tidy(ca.vertcat(ca.SX(0, 1), *[row.bias for row in own.rows])),
        tidy(ca.vertcat(ca.SX(0, count), *[row.jacobian for row in own.relations])),
        tidy(ca.vertcat(ca.SX(0, 1), *[row.offset for row in own.relations])),
    )


@dataclass(frozen=True, eq=False)
class ReactionEquations:
    """A u = c.

    Parameters
    ----------
    matrix, right
        A, (nu, nu), and c, (nu, 1).
    reactions
        The reactions u, (nu, 1); None if they are too many to be written down.
    """

    matrix: ca.SX
    right: ca.SX
    reactions: ca.SX | None


def eliminated(found: Matrices) -> ReactionEquations | None:
    """Return the equations of the reactions; None if M is too large to invert symbolically."""
    blocks = found.mass.sparsity().btf()[3]
    if max((end - start for start, end in itertools.pairwise(blocks)), default=0) > LARGEST_BLOCK:
        return None
    positions = found.positions
    moved = solved(found.mass, ca.horzcat(found.force, found.influence), positions)
    free, pushed = moved[:, :1], moved[:, 1:]
    matrix = simplified(ca.vertcat(found.jacobian @ pushed, found.ties), positions)
    right = -ca.vertcat(found.jacobian @ free + found.bias, found.offsets)
    right = simplified(right, positions)
    reactions = None
    if matrix.shape[0] == matrix.shape[1] and 0 < matrix.shape[0] <= MOST_REACTIONS:
        reactions = solved(matrix, right, positions)
    return ReactionEquations(matrix, right, reactions)
