"""How firmly kept goals hold the dependent ones, and how all of them share a load.

Of m dependent rows, r are kept, and only their reactions carry the loads w. T, (m, r), expresses
all rows by the kept ones, so all reactions u with T^T u = w have the same effect on the motion.
Those with the least sum of a_k u_k^2 are

    u = A^-1 T (T^T A^-1 T)^-1 w,

exactly, however light the body; a_k is in `regularisation_<goal>`. To find a row's part of T, apply
the row's gradient as a force: the part is minus the reactions that hold it at rest.
"""

from __future__ import annotations

import math
from dataclasses import replace

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.equations.elimination.saddle import EliminationPlan, Saddle
from daesolve.core.expressions.linear import definite_determinant, solve_definite
from daesolve.core.posing.value_names import ValueKind


def with_shared_loads(dynamics: Dynamics, plan: EliminationPlan) -> tuple[Dynamics, ca.SX]:
    """Return the equations in the loads alone, and all reactions in terms of the loads.

    Parameters
    ----------
    dynamics, plan
        The equations, and the elimination of their reactions.

    Returns
    -------
    Dynamics
        Equations whose reactions are loads; outputs, events and forces contain the shares.
    casadi.SX
        (nu, 1) the shares, in the symbols of the reactions.
    """
    alternatives = dynamics.alternatives
    assert alternatives is not None
    rows = {row.name: row for row in dynamics.rows}
    gradients = ca.SX(*dynamics.influence.shape)
    for row in rows.values():
        if row.reaction is not None:
            gradients[:, row.reaction] = row.jacobian.T
    saddle = Saddle(dynamics.ideal(), plan)
    sharing = ca.SX.eye(dynamics.reactions.numel())
    for names in alternatives.groups:
        group = [rows[name] for name in names]
        places = [_place(row) for row in group]
        matrix = _sharing(saddle, group)
        for i, first in enumerate(places):
            for j, second in enumerate(places):
                sharing[first, second] = matrix[i, j]
    shares = sharing @ dynamics.reactions

    def shared(expression: ca.SX) -> ca.SX:
        return ca.substitute(expression, dynamics.reactions, shares)

    directed = alternatives.directed
    assert directed is not None
    influence = gradients + directed @ sharing if directed.nnz() else gradients
    ties = tuple(replace(row, jacobian=row.jacobian @ sharing) for row in dynamics.relations)
    changed = replace(dynamics.shown_by(shared), influence=influence, relations=ties)
    return changed, shares


def overlap(dynamics: Dynamics, saddle: Saddle) -> ca.SX:
    """Return how poorly the omitted rows follow from the kept ones, 0 at best.

    With rows of unit length in the metric of the mass matrix, and T expressing the omitted rows by
    the kept ones, it is the logarithm of det(1 + T T^T): the squared volumes of all sets of rows,
    over that of the kept rows. Values of p determine which rows are omitted, so T is computed for
    fixed mixtures, as many as there are omitted rows.
    """
    alternatives = dynamics.alternatives
    assert alternatives is not None
    if not saddle.symmetric:
        saddle = Saddle(dynamics.ideal(), saddle.plan)
    rows = {row.name: row for row in dynamics.rows}
    known = {name for names in alternatives.groups for name in names}
    columns = {row.name: _place(row) for row in saddle.dynamics.rows if row.name in known}
    still = [ca.SX(0)] * len(dynamics.rows)
    total = ca.SX(0)
    for names, surplus in zip(alternatives.groups, alternatives.surplus, strict=True):
        group = [rows[name] for name in names]
        gradients = [ca.jacobian(own[-1], dynamics.velocities) for own in map(_posed, group)]
        lengths = [_length(gradient, dynamics) for gradient in gradients]
        mixed: list[list[ca.SX]] = []
        follows: list[ca.SX] = []
        for order in range(surplus):
            shares = [
                math.cos(math.pi * (2 * number + 1) * order / (2 * len(group))) * (1 - row.hold)
                for number, row in enumerate(group)
                if row.hold is not None
            ]
            force = sum(
                (s / n * g for s, n, g in zip(shares, lengths, gradients, strict=True)),
                ca.SX(1, dynamics.velocity_count),
            )
            held = saddle.solve(force.T, still, [])[1]
            own = [held[columns[row.name]] * n for row, n in zip(group, lengths, strict=True)]
            follows.append(ca.vertcat(*own))
            mixed.append(shares)
        mixture = ca.vertcat(*[ca.horzcat(*shares) for shares in mixed])
        all_of_it = ca.horzcat(mixture, ca.vertcat(*[own.T for own in follows]))
        total = total + ca.log(definite_determinant(all_of_it @ all_of_it.T))
        total = total - ca.log(definite_determinant(mixture @ mixture.T))
    return total


def _place(row: GoalRow) -> int:
    assert row.reaction is not None
    return row.reaction


def _posed(row: GoalRow) -> tuple[ca.SX, ...]:
    assert row.posed is not None
    return row.posed


def _length(gradient: ca.SX, dynamics: Dynamics) -> ca.SX:
    """Return the approximate length of a row in the metric of the mass matrix."""
    columns = gradient.sparsity().get_col()
    return ca.sqrt(sum((gradient[0, k] ** 2 / dynamics.mass[k, k] for k in columns), ca.SX(0)))


def _sharing(saddle: Saddle, group: list[GoalRow]) -> ca.SX:
    """Return A^-1 T (T^T A^-1 T)^-1 of a group; zero for loads of omitted goals."""
    dynamics, count = saddle.dynamics, len(group)
    still = [ca.SX(0)] * len(dynamics.rows)
    names = dynamics.values
    known = {row.name for row in group}
    columns = {row.name: _place(row) for row in dynamics.rows if row.name in known}
    follows = ca.SX(count, count)
    weights: list[ca.SX] = []
    for number, row in enumerate(group):
        assert row.hold is not None
        gradient = ca.jacobian(_posed(row)[-1], dynamics.velocities)
        held = saddle.solve(gradient.T, still, [])[1]
        for other, own in enumerate(group):
            follows[number, other] = -(1 - row.hold) * held[columns[own.name]]
        follows[number, number] += row.hold
        place = ValueKind.REGULARISATION.place(row.name, names)
        weights.append(1 / dynamics.p[place])
    inverse = ca.diag(ca.vertcat(*weights))
    free = ca.diag(ca.vertcat(*[1 - row.hold for row in group if row.hold is not None]))
    gram = follows.T @ inverse @ follows + free
    return inverse @ follows @ solve_definite(gram, ca.SX.eye(count))
