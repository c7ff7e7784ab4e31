"""The linear algebra of the reactions: a saddle matrix, factorised as straight-line code.

    [M  B] [ v']   [ h ]
    [J  0] [-u ] = [rho]        D u = -e for relations between reactions

Ideal reactions have B = J^T, so the matrix is symmetric. L D L^T needs no pivoting in a
minimum-degree order in which a multiplier follows all coordinates in its constraint: its pivot is
the remainder of -J M^-1 J^T. If `Dynamics.after` names what a constraint can influence alone, the
multiplier follows only that. If forces depend on reactions, the factorisation is L U in the same
order. Reactions without their own goal (directed by the forces) have no safe pivot; they come last
and are solved by orthogonal rows.

The row and the column of a goal that is released at times have a factor of 1 or 0, and one minus
this factor is an additional entry: if the goal does not hold, the row states u = 0.

If constraints lose rank, the multipliers' pivots get -epsilon (a proximal term) and the solution is
refined with the exact residual. The bias of epsilon disappears, dependent constraints get their
minimum-norm share, and the motion passes isolated positions of lower rank.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.linear import (
    Entries,
    Factorization,
    entries_of,
    factorize,
    is_zero,
    less,
    merge,
    minimum_degree_order,
    times,
)
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.posing.value_names import ValueKind

REFINED = 2
"""The number of refinements with which rounding grows like the inverse of the smallest singular
value of the constraints, instead of its square, for singular values above about 1e-7."""
PROXIMAL_EPSILON = 3e-10
"""A small shift, with which positions of lower rank are passed quickly.

Within sqrt(epsilon) of them the shift releases the constraints, and the motion may leave its branch
by about epsilon. On the other hand, a rounding error in a constraint throws the motion off by that
error over sqrt(epsilon). With two refinements the sum is smallest between 1e-10 and 1e-9.
"""
SHARING_EPSILON = 1e-6
"""A larger shift: the shares of dependent reactions are exact to rounding over this."""
SHARED_ROUNDING = 2.0**-52 / SHARING_EPSILON
"""The part of a shared load that counts as rounding."""


@dataclass(frozen=True)
class EliminationPlan:
    """How the linear system is solved; decided once, from sample states, by `choose_plan`.

    Parameters
    ----------
    refinements
        The number of refinements of the solution with the exact residual.
    proximal
        Whether the pivots of multipliers are shifted (by the values `regularisation_*`).
    block_scales
        Sizes (powers of two) of the reactions without their own goal, by their index.
    """

    refinements: int = 0
    proximal: bool = False
    block_scales: Mapping[int, float] = field(default_factory=dict[int, float])


@dataclass(frozen=True, eq=False)
class _Substitution:
    """A reaction given by a relation: u_k = -(e + sum of others) / coefficient.

    `column` is its column of B, and `shares` are its factors in the other relations, where it was
    substituted.
    """

    relation: int
    reaction: int
    coefficient: float
    others: dict[int, ca.SX]
    column: ca.SX
    shares: dict[int, ca.SX]


@dataclass(frozen=True)
class _Places:
    """The positions of goals, relations and reactions in the matrix, after the accelerations.

    Parameters
    ----------
    goals
        The row of each goal, which is also the column of its own reaction.
    relations
        The row of each relation without a substitution, by its index.
    reactions
        The column of each reaction without a substitution, by its index: those with their own goal
        first.
    free
        Those of these reactions that have no goal.
    """

    goals: range
    relations: Mapping[int, int]
    reactions: Mapping[int, int]
    free: tuple[int, ...]

    @property
    def paired(self) -> set[int]:
        """The positions of goals with their own reaction, used as pivots."""
        return set(self.goals).intersection(self.reactions.values())

    @property
    def unpaired_rows(self) -> list[int]:
        """The remaining rows: goals without a reaction, and relations."""
        paired = self.paired
        return [row for row in self.goals if row not in paired] + [*self.relations.values()]

    @property
    def free_columns(self) -> list[int]:
        """The remaining columns."""
        return [self.reactions[reaction] for reaction in self.free]


def _places(dynamics: Dynamics, substitutions: Sequence[_Substitution]) -> _Places:
    replaced = {substitution.reaction for substitution in substitutions}
    solved = {substitution.relation for substitution in substitutions}
    first = dynamics.velocity_count
    goals = range(first, first + len(dynamics.rows))
    relations = range(goals.stop, goals.stop + len(dynamics.relations))
    own = {
        row.reaction: place
        for row, place in zip(dynamics.rows, goals, strict=True)
        if row.reaction is not None and row.reaction not in replaced
    }
    taken = replaced.union(own)
    free = tuple(r for r in range(dynamics.reactions.numel()) if r not in taken)
    return _Places(
        goals,
        {number: place for number, place in enumerate(relations) if number not in solved},
        own | {reaction: place for place, reaction in enumerate(free, relations.stop)},
        free,
    )


@built_once
def _factorizations(
    dynamics: Dynamics,
) -> dict[tuple[bool, tuple[tuple[int, float], ...]], Factorization]:
    """Return where to keep factors, by what shapes them."""
    return {}


class Saddle:
    """The factorised system of a `Dynamics`, for several right-hand sides.

    Parameters
    ----------
    dynamics
        The equations.
    plan
        Refinements and scales.
    """

    def __init__(self, dynamics: Dynamics, plan: EliminationPlan) -> None:
        self.dynamics = dynamics
        self.plan = plan
        self._count = dynamics.velocity_count
        self._influence = ca.SX(dynamics.influence)
        ties = [ca.SX(row.jacobian) for row in dynamics.relations]
        held = {row.reaction for row in dynamics.rows if row.hold is not None}
        self._substitutions = _substitute_relations(self._influence, ties, held)
        self._places = places = _places(dynamics, self._substitutions)
        self.entries = self._assemble(ties)
        self.symmetric = not (places.unpaired_rows or self._substitutions) and self._is_symmetric()
        self.factors = self._factorized()

    def _factorized(self) -> Factorization:
        """Return the factors, which plans with more refinements share."""
        plan, places = self.plan, self._places
        scales = {places.reactions[r]: plan.block_scales.get(r, 1.0) for r in places.free}
        known = _factorizations(self.dynamics)
        key = (plan.proximal, tuple(scales.items()))
        if key not in known:
            known[key] = factorize(
                self.entries,
                self._order(),
                symmetric=self.symmetric,
                shifts=self._shifts() if plan.proximal else None,
                block_rows=places.unpaired_rows,
                block_columns=places.free_columns,
                block_scales=scales,
            )
        return known[key]

    def _assemble(self, ties: Sequence[ca.SX]) -> Entries:
        parts = [entries_of(self.dynamics.mass)]
        reactions = self._places.reactions
        for reaction, column in reactions.items():
            parts.append(entries_of(self._influence[:, reaction], 0, column))
        for row, place in zip(self.dynamics.rows, self._places.goals, strict=True):
            parts.append(entries_of(row.jacobian, place, 0))
            if row.hold is not None:
                parts.append({place: {place: -(1.0 - row.hold)}})
        for number, place in self._places.relations.items():
            tie = ties[number]
            parts.append(
                {place: {reactions[r]: tie[0, r] for r in reactions if not is_zero(tie[0, r])}}
            )
        return merge(*parts)

    def _order(self) -> list[int]:
        """Return the pivots in order: each multiplier after the variables in its constraint."""
        paired = self._places.paired
        touched = self._touched(paired)
        after = {place: frozenset(touched[place]) for place in paired} | self._chosen(touched)
        nodes = [*range(self._count), *sorted(paired)]
        return minimum_degree_order(self.entries, nodes, after, self.dynamics.x)

    def _is_symmetric(self) -> bool:
        for row in self.dynamics.rows:
            assert row.reaction is not None
            difference = self._influence[:, row.reaction] - row.jacobian.T
            if not is_zero(ca.SX(ca.sparsify(difference))):
                return False
        return True

    def _touched(self, paired: set[int]) -> dict[int, set[int]]:
        """Return the accelerations in each multiplier's row or column."""
        touched: dict[int, set[int]] = {index: set() for index in paired}
        for row, columns in self.entries.items():
            if row in paired:
                touched[row].update(column for column in columns if column < self._count)
            elif row < self._count:
                for column in paired.intersection(columns):
                    touched[column].add(row)
        return touched

    def _chosen(self, touched: Mapping[int, set[int]]) -> dict[int, frozenset[int]]:
        """Return the predecessors of those multipliers that `Dynamics.after` names."""
        velocities = self.dynamics.labels.states[-self._count :]
        places = {name: index for index, name in enumerate(velocities)}
        rows = zip(self.dynamics.rows, self._places.goals, strict=True)
        goals = {row.name: place for row, place in rows}
        found: dict[int, frozenset[int]] = {}
        for goal, before in self.dynamics.after.items():
            index = goals[goal]
            first = {places[name] for name in before if name in places} & touched.get(index, set())
            others = {goals[name] for name in before if name in goals} & touched.keys()
            if index in touched and first:
                found[index] = frozenset(first | others)
        return found

    def _shifts(self) -> dict[int, ca.SX]:
        names, paired = self.dynamics.values, self._places.paired
        return {
            place: -self.dynamics.p[ValueKind.REGULARISATION.place(row.name, names)]
            for row, place in zip(self.dynamics.rows, self._places.goals, strict=True)
            if place in paired
        }

    def solve(
        self, force: ca.SX, targets: Sequence[ca.SX], offsets: Sequence[ca.SX]
    ) -> tuple[ca.SX, ca.SX]:
        """Return v' and u.

        Parameters
        ----------
        force
            h, (nv, 1).
        targets
            rho, the required value of J v', a scalar for each goal.
        offsets
            e, a scalar for each relation.
        """
        zero = ca.SX(0)
        offsets = list(offsets)
        for substitution in self._substitutions:
            known = offsets[substitution.relation] / substitution.coefficient
            force = force - substitution.column * known
            for other, share in substitution.shares.items():
                offsets[other] = offsets[other] - share * known
        right: dict[int, ca.SX] = {i: force[i] for i in range(self._count)}
        right |= dict(zip(self._places.goals, targets, strict=True))
        right |= {place: offsets[number] for number, place in self._places.relations.items()}
        solution = self.factors.solve(right)
        for _ in range(self.plan.refinements):
            correction = self.factors.solve(self._residual(right, solution))
            solution = {index: solution[index] + correction[index] for index in solution}
        accelerations = ca.vertcat(*[solution[i] for i in range(self._count)])
        reactions: dict[int, ca.SX] = {
            r: -solution[column] for r, column in self._places.reactions.items()
        }
        for substitution in reversed(self._substitutions):
            total = offsets[substitution.relation]
            for other, coefficient in substitution.others.items():
                total = total + coefficient * reactions.get(other, zero)
            reactions[substitution.reaction] = -total / substitution.coefficient
        ordered = [reactions[r] for r in range(self.dynamics.reactions.numel())]
        return accelerations, ca.vertcat(ca.SX(0, 1), *ordered)

    def _residual(
        self, right: Mapping[int, ca.SX], solution: Mapping[int, ca.SX]
    ) -> dict[int, ca.SX]:
        residual: dict[int, ca.SX] = {}
        for row, columns in self.entries.items():
            total = right.get(row, ca.SX(0))
            for column, entry in columns.items():
                total = less(total, times(entry, solution[column]))
            residual[row] = total
        return residual

    def singular_influences(self) -> ca.SX:
        """Return, concatenated, the influences of the reactions on goals that are singular at rest.

        It is linear in the velocities and changes sign where the motion passes through rest.
        """
        basis = self.factors.block_basis
        matrices = (
            {} if basis is None else dict(zip(self.factors.block_rows, basis.matrix, strict=True))
        )
        parts = [
            ca.vertcat(*matrices.get(place, [row.jacobian.T]))
            for row, place in zip(self.dynamics.rows, self._places.goals, strict=True)
            if row.typical is not None
        ]
        return ca.vertcat(ca.SX(0, 1), *parts)

    def relative_pivots(self) -> list[ca.SX]:
        """Return, for each goal, its remaining grip on the accelerations, from 0 to about 1.

        For a multiplier it is its pivot over the sum |J_j B_j| / M_jj; for an orthogonal row it is
        the remaining length over its length. It is zero if the goal depends on the others or no
        reaction influences it. For a goal that is singular at rest, it is the square of the
        remaining length over the typical length, because a pivot is quadratic too.
        """
        basis = self.factors.block_basis
        lengths = (
            dict(zip(self.factors.block_rows, zip(basis.norms, basis.row_norms, strict=True),
                     strict=True))
            if basis is not None
            else {}
        )  # fmt: skip
        grips: list[ca.SX] = []
        masses = ca.densify(ca.diag(self.dynamics.mass))
        for row, place in zip(self.dynamics.rows, self._places.goals, strict=True):
            if place in lengths:
                norm, whole = lengths[place]
                if row.typical is not None:
                    grips.append((norm / row.typical) ** 2)
                else:
                    grips.append(ca.fabs(norm) / ca.fmax(ca.fabs(whole), 1e-300))
                continue
            assert row.reaction is not None
            if row.typical is not None:
                grips.append(ca.fabs(self.factors.pivots[place]) / row.typical**2)
                continue
            columns = row.jacobian.sparsity().get_col()
            products = row.jacobian.nz[:].T * ca.densify(self._influence[columns, row.reaction])
            whole = ca.sum1(ca.fabs(products) / masses[columns])
            if row.hold is not None:
                whole = whole + (1.0 - row.hold)
            grips.append(ca.fabs(self.factors.pivots[place]) / ca.fmax(whole, 1e-300))
        return grips


def _substitute_relations(
    influence: ca.SX, ties: list[ca.SX], kept: Collection[int | None] = ()
) -> list[_Substitution]:
    """Solve relations for a reaction with a constant coefficient, and substitute it everywhere.

    Reactions of goals that are released at times are kept.
    """
    substitutions: list[_Substitution] = []
    solved: set[int] = set()
    for number, tie in enumerate(ties):
        candidates = [
            (abs(float(tie[0, r])), r)
            for r in range(tie.numel())
            if r not in kept and not is_zero(tie[0, r]) and tie[0, r].is_constant()
        ]
        if not candidates:
            continue
        _, reaction = max(candidates)
        coefficient = float(tie[0, reaction])
        others = {
            r: tie[0, r] for r in range(tie.numel()) if r != reaction and not is_zero(tie[0, r])
        }
        column = influence[:, reaction]
        for other, entry in others.items():
            influence[:, other] = influence[:, other] - column * (entry / coefficient)
        solved.add(number)
        shares: dict[int, ca.SX] = {}
        for index, remaining in enumerate(ties):
            share = remaining[0, reaction]
            if index in solved or is_zero(share):
                continue
            shares[index] = share
            for other, entry in others.items():
                remaining[0, other] = remaining[0, other] - share * entry / coefficient
            remaining[0, reaction] = 0
        substitutions.append(_Substitution(number, reaction, coefficient, others, column, shares))
    return substitutions
