"""How close sliding contacts are to a jam: a ratio that is one without friction, and zero there.

While contacts slide, their gaps respond to their reactions by S = J P (J^T + F), with the rows J of
the gaps, their friction F, and the response P of the bodies under all other constraints. Without
friction S is S0 = J P J^T. Where the ratio

    r = det S / det S0 = det(1 + S0^-1 J P F)

falls to zero, reactions grow without bound while the bodies still slide. Only nonzero columns of F
matter. An open contact has a row and a column of the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.equations.elimination.saddle import EliminationPlan, Saddle
from daesolve.core.expressions.linear import determinant, solve_definite

NEAR = 1e-6
"""The ratio below which a jam is so near that time no longer measures the distance."""
LARGEST = 12
"""The number of contacts beyond which the ratio is too long an expression to monitor."""


def jam_ratio(gaps: Sequence[GoalRow], dynamics: Dynamics, plan: EliminationPlan) -> ca.SX:
    """Return r, an expression of (t, x, p).

    It is one if no jam is monitored: with more than `LARGEST` contacts, without friction, or if
    contacts share undetermined loads, so that det S0 is zero.

    Parameters
    ----------
    gaps
        Those of the contacts, among the rows.
    dynamics, plan
        The equations, and the elimination of the reactions.
    """
    if len(gaps) > LARGEST or plan.proximal:
        return ca.SX(1.0)
    own = [row.reaction for row in gaps if row.reaction is not None]
    normals = [row.jacobian.T for row in gaps]
    tractions = [
        ca.SX(ca.sparsify(ca.simplify(dynamics.influence[:, reaction] - normal)))
        for reaction, normal in zip(own, normals, strict=True)
    ]
    rubbing = [k for k, traction in enumerate(tractions) if traction.nnz()]
    if not rubbing:
        return ca.SX(1.0)
    saddle = Saddle(_without(dynamics, gaps), replace(plan, refinements=0, proximal=False))
    still = [ca.SX(0)] * len(saddle.dynamics.rows)
    none = [ca.SX(0)] * len(saddle.dynamics.relations)

    def answer(push: ca.SX) -> ca.SX:
        return ca.vertcat(*normals_of(saddle.solve(push, still, none)[0]))

    def normals_of(accelerations: ca.SX) -> list[ca.SX]:
        return [normal.T @ accelerations for normal in normals]

    open_ = [ca.SX(0) if row.hold is None else 1 - row.hold for row in gaps]
    smooth = ca.horzcat(*[answer(normal) for normal in normals]) + ca.diag(ca.vertcat(*open_))
    caused = ca.horzcat(*[answer(tractions[k]) for k in rubbing])
    shares = solve_definite(smooth, caused)[rubbing, :]
    return determinant(ca.SX.eye(len(rubbing)) + shares)


def _without(dynamics: Dynamics, gone: Sequence[GoalRow]) -> Dynamics:
    """Return the equations without some goals and their reactions."""
    names = {row.name for row in gone}
    dropped = {row.reaction for row in gone}
    kept = [k for k in range(dynamics.reactions.numel()) if k not in dropped]
    places = {old: new for new, old in enumerate(kept)}
    return replace(
        dynamics,
        rows=tuple(
            replace(row, reaction=None if row.reaction is None else places[row.reaction])
            for row in dynamics.rows
            if row.name not in names
        ),
        reactions=dynamics.reactions[kept],
        influence=dynamics.influence[:, kept],
        relations=tuple(replace(row, jacobian=row.jacobian[:, kept]) for row in dynamics.relations),
        after={
            name: tuple(other for other in before if other not in names)
            for name, before in dynamics.after.items()
            if name not in names
        },
    )
