"""The linear algebra of the reactions: a saddle matrix, factorised symbolically, straight line.

    [M  B] [ v']   [ h ]
    [J  0] [-u ] = [rho]        D u = -e for relations between reactions

Ideal reactions have B = J^T: the matrix is symmetric, and L D L^T in a minimum-degree order, in
which a multiplier comes after all coordinates that its constraint touches, needs no other
pivoting: its pivot is what is left of -J M^-1 J^T. Where it is known what a constraint has a grip
on by itself (`Dynamics.after`), it comes after that alone. Forces that depend on reactions make it
L U in the same order. Reactions without a goal of their own (directed by the forces) have no safe
pivot; they are left to the end and solved by orthogonal rows.

The row and the column of a goal that is let go of at times carry a factor of 1 or 0, and one minus
this factor is an entry of its own: where it does not hold, the row says u = 0.

Where constraints lose rank, the multipliers' pivots get -epsilon (a proximal term) and the
solution is refined with the exact residual: the bias of epsilon disappears, dependent constraints
get their minimum-norm share, and isolated positions of lower rank are passed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import casadi as ca

from daesolve.algebra.linear import (
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
from daesolve.equations.dynamics import Dynamics
from daesolve.posing.value_names import ValueKind

REFINED = 2
"""Refinements with which rounding grows like one over the smallest singular value of the
constraints, and not like one over its square, as far as that is above 1e-7 or so."""
PROXIMAL_EPSILON = 3e-10
"""Small, so that positions of lower rank are passed quickly.

Within sqrt(epsilon) of them the shift lets go of the constraints, and the motion may leave its
branch by about epsilon; yet an error of rounding in a constraint throws it off by that over
sqrt(epsilon). With two refinements the sum is least between 1e-10 and 1e-9.
"""
SHARING_EPSILON = 1e-6
"""Larger: the shares of dependent reactions are right to rounding over this."""
SHARED_ROUNDING = 2.0**-52 / SHARING_EPSILON
"""Of a load that is shared, what is rounding."""


_factorized: WeakKeyDictionary[
    Dynamics, dict[tuple[bool, tuple[tuple[int, float], ...]], Factorization]
] = WeakKeyDictionary()


@dataclass(frozen=True)
class EliminationPlan:
    """How the linear system is solved; decided once, from sample states, in `elimination_plan`.

    Parameters
    ----------
    refinements
        How often the solution is refined with the exact residual.
    proximal
        Whether the pivots of multipliers are shifted (by the values `regularisation_*`).
    block_scales
        Sizes (powers of two) of the reactions that have no goal of their own, by their index.
    """

    refinements: int = 0
    proximal: bool = False
    block_scales: Mapping[int, float] = field(default_factory=dict[int, float])


@dataclass(frozen=True, eq=False)
class _Substitution:
    """A reaction given by a relation: u_k = -(e + sum of others) / coefficient.

    `column` is its column of B, and `shares` its factors in the other relations, into which it was
    put.
    """

    relation: int
    reaction: int
    coefficient: float
    others: dict[int, ca.SX]
    column: ca.SX
    shares: dict[int, ca.SX]


@dataclass(frozen=True)
class _Places:
    """Where goals, relations and reactions are in the matrix, behind the accelerations.

    Parameters
    ----------
    goals
        The row of each goal, which is the column of its own reaction as well.
    relations
        The row of each relation that no substitution solves, by its number.
    reactions
        The column of each reaction that no substitution replaces, by its number: those with a goal
        of their own first.
    free
        The reactions among them without a goal of their own.
    """

    goals: range
    relations: Mapping[int, int]
    reactions: Mapping[int, int]
    free: tuple[int, ...]

    @property
    def paired(self) -> set[int]:
        """The places of goals with a reaction of their own, on which to pivot."""
        return set(self.goals).intersection(self.reactions.values())

    @property
    def unpaired_rows(self) -> list[int]:
        """The rows that are left to the end: goals without a reaction, and relations."""
        paired = self.paired
        return [row for row in self.goals if row not in paired] + [*self.relations.values()]

    @property
    def free_columns(self) -> list[int]:
        """The columns that are left to the end."""
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


class Saddle:
    """The factorised system of a `Dynamics`, to be solved for several right-hand sides.

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
        """Return the factors, which plans with more refinements have in common."""
        plan, places = self.plan, self._places
        scales = {places.reactions[r]: plan.block_scales.get(r, 1.0) for r in places.free}
        known = _factorized.setdefault(self.dynamics, {})
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
        """Return the pivots in their order: each multiplier after what its constraint touches."""
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
        """Return the accelerations that each multiplier's row or column touches."""
        touched: dict[int, set[int]] = {index: set() for index in paired}
        for row, columns in self.entries.items():
            if row in paired:
                touched[row].update(column for column in columns if column < self._count)
            elif row < self._count:
                for column in paired.intersection(columns):
                    touched[column].add(row)
        return touched

    def _chosen(self, touched: Mapping[int, set[int]]) -> dict[int, frozenset[int]]:
        """Return what comes before those multipliers that `Dynamics.after` names."""
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
            rho, what J v' is to be, a scalar for each goal.
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
        """Return, one after the other, what the reactions do to goals that are singular at rest.

        It is linear in the velocities: it turns round where the motion passes through rest.
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
        """Return, for each goal, what is left of its grip on the accelerations, 0 to about 1.

        For a multiplier it is its pivot over the sum |J_j B_j| / M_jj, for an orthogonal row the
        length that is left over its length: zero where the goal depends on the others or no
        reaction influences it. Where a goal is singular at rest, the square of what is left over
        the typical length: a pivot is quadratic too.
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
    """Solve relations for a reaction whose coefficient is a number, and put it in everywhere.

    Not for one that is kept: that of a goal that is let go of at times.
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
