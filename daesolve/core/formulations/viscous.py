"""Friction instead of constraints on velocities: u = -residual / mobility.

As the mobility (the slip per unit of the reaction) goes to zero, the motion tends to the
constrained motion wherever the constraints are independent. Where they become dependent, it does
not: the continuation depends on what replaces them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations.feedback import Feedback
from daesolve.core.formulations.formulation import Elimination, Formulation
from daesolve.core.formulations.problem import OdeProblem, Watched
from daesolve.core.formulations.rates import Rate, Rates, check_rates, refuse_rates
from daesolve.core.posing.symbols import symbol
from daesolve.errors import UnsupportedError, check_positive

SLIPS = "replaced by friction: the report shows the slip"


@dataclass(frozen=True)
class Viscous(Formulation):
    """Viscous friction replaces every constraint on velocities; those on positions are held.

    Parameters
    ----------
    mobility
        The residual per unit of its reaction; for a skate, with a residual in m/s, in m/(s N). The
        friction acts within about mobility * mass, which requires a solver for stiff equations.
    rate
        The rate of goals on positions and of driven invariants of positions in 1/s; None uses the
        case's rate, or 10.
    rates
        Rates of single goals; None or zero: measured, not driven.
    """

    mobility: float = 1e-6
    rate: Rate = None
    rates: Rates = field(default_factory=dict[str, float | None])
    name = "viscous"
    number = "mobility"
    replaces_constraints = True
    stiff = True

    def __post_init__(self) -> None:
        check_positive(**{"viscous: mobility": self.mobility})
        check_rates(self.rate, self.rates)

    def notes(self, dynamics: Dynamics) -> tuple[str, ...]:
        """Return a note that names the replaced constraints."""
        names = ", ".join(row.name for row in dynamics.rows if _slips(row))
        return (
            f"friction of mobility {self.mobility:g} instead of {names}: once these become "
            "dependent, the motion depends on the mobility",
        )

    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Return the rate of each goal; goals on velocities are not driven.

        Raises
        ------
        UnsupportedError
            A rate is given for a goal on velocities.
        """
        idle = [row.name for row in dynamics.rows if _slips(row)]
        idle += [row.name for row in dynamics.invariants if row.on != "positions"]
        refuse_rates(self.name, self.rates, idle, "which drives nothing on velocities")
        chosen = Feedback(self.rate, self.rates).chosen_rates(dynamics, default)
        return chosen | dict.fromkeys(idle)

    def problem(self, elimination: Elimination) -> OdeProblem:
        """Build the functions; see `Formulation.problem`.

        Raises
        ------
        UnsupportedError
            There is no constraint on velocities, reactions are not ideal, or events reset.
        """
        dynamics = elimination.dynamics
        rows = tuple(row for row in dynamics.rows if _slips(row))
        _refuse(dynamics, rows)
        quantities = {row.name: row.on == "positions" for row in dynamics.invariants}
        conserved = elimination.conserved
        kept = {name: found and quantities[name] for name, found in conserved.items()}
        freed = _freed(dynamics, rows, self.mobility)
        base = Feedback().problem(replace(elimination, dynamics=freed, conserved=kept))
        works = symbol("work", base.size - dynamics.x.numel())
        arguments = [dynamics.t, ca.vertcat(dynamics.x, works), dynamics.p]
        table, influences = base.residuals.call(arguments)
        known = {entry.name: table[place] for place, entry in enumerate(base.watched)}
        entries = {entry.name: entry for entry in base.watched}
        for row in rows:
            known[row.name] = row.chain[0]
            entries[row.name] = Watched(row.name, row.name, "residual", False, None, SLIPS)
        order = [name for row in dynamics.rows for name in row.links]
        order += [name for name in entries if name not in order]
        rest = table[len(base.watched) :]
        return replace(
            base,
            watched=tuple(entries[name] for name in order),
            residuals=function_of(
                "residuals",
                arguments,
                [ca.vertcat(*[known[name] for name in order], rest), influences],
                (["t", "x", "p"], ["residuals", "influences"]),
            ),
            stiff=True,
        )


def _slips(row: GoalRow) -> bool:
    """Return whether a goal is a constraint on velocities."""
    return row.degree == 1


def _refuse(dynamics: Dynamics, rows: tuple[GoalRow, ...]) -> None:
    others = "take feedback"
    if not rows or any(row.kind == "control" for row in rows):
        raise UnsupportedError(
            "viscous replaces constraints on velocities by friction, but the system has none; "
            f"{others}"
        )
    if dynamics.relations or any(row.reaction is None for row in dynamics.rows):
        raise UnsupportedError(
            "viscous needs a separate reaction for each constraint on velocities; here forces "
            f"or relations direct them: {others}"
        )
    if dynamics.resets:
        raise UnsupportedError(
            f"viscous does not support resets, which need exact constraints; {others}"
        )


def _freed(dynamics: Dynamics, rows: tuple[GoalRow, ...], mobility: float) -> Dynamics:
    """Return the system with friction instead of some constraints."""
    labels = dynamics.labels
    gone = {row.reaction: -row.chain[0] / mobility for row in rows if row.reaction is not None}
    stay = [index for index in range(dynamics.reactions.numel()) if index not in gone]
    force = dynamics.force
    for index, push in gone.items():
        force = force + dynamics.influence[:, index] * push
    symbols = ca.vertcat(*[dynamics.reactions[index] for index in gone])
    pushes = ca.vertcat(*gone.values())

    place = {old: new for new, old in enumerate(stay)}
    forces = {labels.reactions[index]: push for index, push in gone.items()}
    units = {labels.reactions[index]: labels.reaction_units[index] for index in gone}
    shown = dynamics.shown_by(lambda value: ca.substitute(value, symbols, pushes))
    return replace(
        shown,
        labels=replace(
            labels,
            reactions=tuple(labels.reactions[index] for index in stay),
            reaction_units=tuple(labels.reaction_units[index] for index in stay),
            recovered=(*forces, *labels.recovered),
            recovered_units=(*units.values(), *labels.recovered_units),
        ),
        rows=tuple(
            replace(row, reaction=place[row.reaction])
            for row in dynamics.rows
            if row not in rows and row.reaction is not None
        ),
        reactions=ca.vertcat(ca.SX(0, 1), *[dynamics.reactions[index] for index in stay]),
        influence=dynamics.influence[:, stay],
        force=force,
        recovered={**forces, **shown.recovered},
    )
