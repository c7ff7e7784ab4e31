"""A rate of the state before its linear system is solved, for exact derivatives of the rate.

    x' = f(t, x, z, p),    K(t, x, p) z = r(t, x, p)

z contains accelerations, reactions and other quantities that keep r simple. By the implicit
function theorem

    dx'/dx = df/dx + df/dz dz/dx,    K dz/dx = d(r - K z)/dx with z held,

where each derivative is as sparse as the system: no elimination code is differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics, InvariantRow
from daesolve.core.equations.elimination.saddle import Saddle
from daesolve.core.expressions.translation import sharing
from daesolve.core.posing.symbols import symbol
from daesolve.core.posing.value_names import ValueKind

CROWDED = 16
"""The number of derivatives beyond which a row is differentiated backwards, separately."""


@dataclass(frozen=True, eq=False)
class SemiExplicit:
    """The equations of a problem before the elimination.

    Parameters
    ----------
    t, x, z, p
        Symbols.
    rate
        f, (size, 1).
    matrix, right_side
        K, (m, m), and r, (m, 1).
    shift, refinements
        The term added to K before factorisation, and the number of refinements of a solution with K
        itself (see `elimination`); None if K is factorised without it.
    """

    t: ca.SX
    x: ca.SX
    z: ca.SX
    p: ca.SX
    rate: ca.SX
    matrix: ca.SX
    right_side: ca.SX
    shift: ca.SX | None = None
    refinements: int = 0

    @cached_property
    def residual(self) -> ca.Function:
        """(t, (x, z), p) -> f and r - K z, one column."""
        rest = self.right_side - self.matrix @ self.z
        shared = sharing([ca.densify(ca.vertcat(self.rate, rest))])
        return ca.Function("residual", [self.t, ca.vertcat(self.x, self.z), self.p], shared)

    @cached_property
    def shifts(self) -> ca.Function:
        """(t, x, p) -> the shift, sparse."""
        shift = ca.SX(*self.matrix.shape) if self.shift is None else self.shift
        return ca.Function("shifts", [self.t, self.x, self.p], [shift])


def sparse_jacobian(expression: ca.SX, variables: ca.SX) -> ca.SX:
    """Differentiate a column; treat the few rows that depend on nearly everything separately.

    One such row would make CasADi's colouring need as many sweeps as there are variables.
    """
    pattern = ca.jacobian_sparsity(expression, variables)
    counts = np.bincount(np.array(pattern.row(), dtype=int), minlength=expression.numel())
    crowded = [int(row) for row in np.flatnonzero(counts > CROWDED)]
    if not crowded or len(crowded) > len(counts) // 4:
        return ca.jacobian(expression, variables)
    others = [row for row in range(expression.numel()) if row not in set(crowded)]
    parts = ca.vertcat(
        ca.jacobian(expression[others], variables),
        *[ca.jacobian(expression[row], variables) for row in crowded],
    )
    places = np.argsort(np.array([*others, *crowded]))
    return parts[places.tolist(), :]


def semi_explicit(
    dynamics: Dynamics,
    saddle: Saddle,
    targets: Sequence[ca.SX],
    driven: Sequence[InvariantRow],
    state: ca.SX,
    metered: tuple[Sequence[InvariantRow], ca.SX],
) -> SemiExplicit:
    """Return the equations of reactions as controls before the elimination.

    Parameters
    ----------
    dynamics, saddle
        The equations, and their elimination.
    targets
        The values required of J v'.
    driven
        The invariants that are fed back.
    state
        x of the problem: the states, then the metered work.
    metered
        The metered invariants, and the powers of the meters in the reactions.
    """
    count = dynamics.velocity_count
    system = _freed(dynamics, saddle, targets)
    accelerations = system.z[:count]
    if len(driven) == 1 and driven[0].twice_kinetic is not None:
        system = _pushed_along_momentum(dynamics, system, driven[0])
    elif driven:
        size = system.z.numel()
        system = _corrected(dynamics, system, driven)
        accelerations = accelerations - system.z[size : size + count]
    rows, powers = metered
    rate = ca.vertcat(
        dynamics.position_rates,
        accelerations,
        *[row.bias + row.jacobian @ accelerations for row in rows],
        powers,
    )
    return SemiExplicit(
        dynamics.t,
        state,
        system.z,
        dynamics.p,
        rate,
        ca.sparsify(system.matrix),
        system.right_side,
        ca.sparsify(system.shift) if saddle.plan.proximal else None,
        saddle.plan.refinements if saddle.plan.proximal else 0,
    )


@dataclass(frozen=True, eq=False)
class _Linear:
    """K z = r and the shift of K."""

    z: ca.SX
    matrix: ca.SX
    right_side: ca.SX
    shift: ca.SX


def _freed(dynamics: Dynamics, saddle: Saddle, targets: Sequence[ca.SX]) -> _Linear:
    """Return M v' - B u = h, J v' = rho, D u = -e."""
    count, reactions = dynamics.velocity_count, dynamics.reactions
    ties = [row.jacobian for row in dynamics.relations]
    matrix = ca.vertcat(
        ca.horzcat(dynamics.mass, -dynamics.influence),
        ca.horzcat(dynamics.gradients, _where_let_go(dynamics)),
        ca.horzcat(ca.SX(len(ties), count), ca.vertcat(ca.SX(0, reactions.numel()), *ties)),
    )
    offsets = [-row.offset for row in dynamics.relations]
    return _Linear(
        ca.vertcat(symbol("acceleration", count), reactions),
        matrix,
        ca.vertcat(dynamics.force, *targets, *offsets),
        _shift(dynamics, saddle),
    )


def pushed_momentum(dynamics: Dynamics, row: InvariantRow) -> tuple[ca.SX, ca.SX]:
    """Return M v, along which the energy's error acts, and its grip v . M v, without idle v."""
    assert row.twice_kinetic is not None
    moving = dynamics.moving_velocities
    return dynamics.mass @ moving, ca.substitute(row.twice_kinetic, dynamics.velocities, moving)


def _pushed_along_momentum(dynamics: Dynamics, freed: _Linear, row: InvariantRow) -> _Linear:
    """Let the energy's error act along M v, with the push as an additional unknown.

    Only its row then depends on the whole state.
    """
    size = freed.z.numel()
    momentum, twice_kinetic = pushed_momentum(dynamics, row)
    column = ca.vertcat(momentum, ca.SX(size - dynamics.velocity_count, 1))
    push = row.rate * (row.value - row.reference) / (twice_kinetic + row.floor)
    return _Linear(
        ca.vertcat(freed.z, symbol("push")),
        ca.blockcat([[freed.matrix, column], [ca.SX(1, size), ca.SX(1)]]),
        ca.vertcat(freed.right_side, push),
        ca.diagcat(freed.shift, ca.SX(1, 1)),
    )


def _corrected(dynamics: Dynamics, freed: _Linear, driven: Sequence[InvariantRow]) -> _Linear:
    """Add the correction of the accelerations, which the same matrix projects.

    Its unknowns are the correction, the reactions to it, and the share of each invariant in it.
    """
    size, shares = freed.z.numel(), len(driven)
    gradients = ca.vertcat(*[row.jacobian for row in driven])
    pushes = ca.vertcat(*[dynamics.pushed_gradient(row) for row in driven])
    rest = ca.SX(size - dynamics.velocity_count, shares)
    none = ca.SX(size, size)
    errors = [row.rate * (row.value - row.reference) for row in driven]
    floors = ca.diag(ca.vertcat(*[row.floor for row in driven]))
    matrix = ca.blockcat(
        [
            [freed.matrix, none, ca.SX(size, shares)],
            [none, freed.matrix, ca.vertcat(-pushes.T, rest)],
            [ca.SX(shares, size), ca.horzcat(gradients, rest.T), floors],
        ]
    )
    unknowns = symbol("correction", size + shares)
    return _Linear(
        ca.vertcat(freed.z, unknowns),
        matrix,
        ca.vertcat(freed.right_side, ca.SX(size, 1), *errors),
        ca.diagcat(freed.shift, freed.shift, ca.SX(shares, shares)),
    )


def _where_let_go(dynamics: Dynamics) -> ca.SX:
    """Return the terms that turn rows of released goals into the condition of zero reactions."""
    block = ca.SX(len(dynamics.rows), dynamics.reactions.numel())
    for number, row in enumerate(dynamics.rows):
        if row.hold is not None:
            assert row.reaction is not None
            block[number, row.reaction] = 1.0 - row.hold
    return block


def _shift(dynamics: Dynamics, saddle: Saddle) -> ca.SX:
    """Return the proximal term: the reaction of a goal in the goal's own row."""
    count = dynamics.velocity_count
    size = count + dynamics.reactions.numel()
    shift = ca.SX(count + len(dynamics.rows) + len(dynamics.relations), size)
    if not saddle.plan.proximal:
        return shift
    for number, row in enumerate(dynamics.rows):
        if row.reaction is not None and count + number in saddle.factors.pivots:
            place = ValueKind.REGULARISATION.place(row.name, dynamics.values)
            shift[count + number, count + row.reaction] = dynamics.p[place]
    return shift
