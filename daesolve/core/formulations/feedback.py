"""Reactions as controls: each residual obeys (d/dt + rate)^r residual = 0, or its own law.

The reactions are eliminated symbolically. This leaves an explicit ordinary differential equation
whose solutions approach the constraint manifold. With ideal reactions and r = 2 it is Baumgarte's
stabilisation; with invariants and reactions of any direction it is Matrosov's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics, GoalRow, InvariantRow
from daesolve.core.equations.elimination.saddle import Saddle
from daesolve.core.equations.row_choice import DEGRADED, GRIP
from daesolve.core.expressions.linear import solve_small
from daesolve.core.expressions.translation import shares_already, sharing
from daesolve.core.formulations.formulation import Elimination, Formulation
from daesolve.core.formulations.laws import Law, check_laws, formula, rates_of, shape_of
from daesolve.core.formulations.problem import (
    MANY_INSTRUCTIONS,
    OdeProblem,
    Watched,
    functions_of,
)
from daesolve.core.formulations.rates import (
    Rate,
    Rates,
    check_rates,
    common_rate,
    constraint_rates,
    invariant_rates,
    with_single,
)
from daesolve.core.formulations.semi_explicit import pushed_momentum, semi_explicit
from daesolve.core.formulations.shares import overlap, with_shared_loads
from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.posing.symbols import Labels
from daesolve.core.posing.value_names import ValueKind

ROWS = "dependent goals"
"""The event at which other goals of a dependent group should be kept."""
DROPPED = "left out, because it follows from the others: monitored, not driven"
NOTHING = ca.SX(0, 1)
"""An empty column on which others are stacked."""


@dataclass(frozen=True)
class Feedback(Formulation):
    """Feedback linearisation with the reactions as controls.

    Parameters
    ----------
    rate
        The rate of every goal in 1/s. "auto" determines it by a short run without feedback; None
        uses the case's rate, or 10.
    rates
        Rates of single goals; None or zero: measured, not driven.
    laws
        Laws of single constraints, instead of a rate: the coefficients of the derivatives of the
        residual, highest first. {"contact": (50.0, 400.0)} imposes delta'' + 50 delta' + 400 delta
        = 0. The polynomial must be stable; `numpy.poly(poles)[1:]` gives it for chosen poles.

    Raises
    ------
    OutOfRangeError
        A rate is not a finite number >= 0, or a law is not stable.
    """

    rate: Rate = None
    rates: Rates = field(default_factory=dict[str, float | None])
    laws: Mapping[str, Law] = field(default_factory=dict[str, Law])
    name = "feedback"
    # Laws shape the functions; `shape` makes the mapping comparable.
    parameters_of_functions = ("rate", "rates", "laws")
    releases = True
    chooses_goals = True

    def __post_init__(self) -> None:
        check_rates(self.rate, self.rates)
        check_laws(self.laws, self.rates)
        # Equal settings make equal formulations, in whatever order they were listed.
        plain = {goal: tuple(map(float, law)) for goal, law in self.laws.items()}
        object.__setattr__(self, "laws", plain)

    @property
    def shape(self) -> tuple[object, ...]:
        """The settings that shape the functions: the laws, but not the rates."""
        return (*super().shape, *sorted(self.laws.items()))

    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Return the rate of each goal; see `Formulation.chosen_rates`."""
        common = common_rate(self.rate, default)
        chosen = constraint_rates((*dynamics.rows, *dynamics.implicit_rows), common)
        own = {**self.rates, **rates_of(self.laws, dynamics.rows)}
        return with_single(chosen | invariant_rates(dynamics.invariants, common), own)

    def notes(self, dynamics: Dynamics) -> tuple[str, ...]:
        """Return the laws given for single goals as formulas, with their roots."""
        return tuple(f"feedback {formula(goal, law)}" for goal, law in self.laws.items())

    def problem(self, elimination: Elimination) -> OdeProblem:
        """Eliminate the reactions and build the functions; see `Formulation.problem`."""
        shapes = {goal: shape_of(law) for goal, law in self.laws.items()}
        rows = elimination.dynamics.rows
        return controlled(elimination, [target(row, shapes.get(row.name)) for row in rows])


@runtime_checkable
class EliminationEvents(Protocol):
    """What a feature adds with events whose guards follow from how reactions are eliminated."""

    def events(self, elimination: Elimination) -> Sequence[Event]:
        """Return the events."""
        ...


def controlled(elimination: Elimination, targets: Sequence[ca.SX]) -> OdeProblem:
    """Build the problem in which the reactions control the motion as targets request.

    Driven invariants are corrected too; for quantities that are not conserved, the work is metered.

    Parameters
    ----------
    elimination
        The equations and the decisions made about them.
    targets
        The values required of J v' for each goal, in the order of `dynamics.rows`; `target` returns
        those of `Feedback`.
    """
    plan, shares = elimination.plan, None
    if elimination.dynamics.alternatives is not None and elimination.dynamics.alternatives.shared:
        loaded, shares = with_shared_loads(elimination.dynamics, plan)
        elimination = replace(elimination, dynamics=loaded)
    dynamics = elimination.dynamics
    closed = _closed_loop(elimination, list(targets), shares)
    watched, residuals, influences = closed.watched()
    outputs = closed.outputs()
    watching = ca.vertcat(NOTHING, *[event.guards for event in dynamics.events])
    guards, events = closed.of_state(watching), dynamics.events
    borne = ca.which_depends(watching, dynamics.reactions, 1, True)
    if dynamics.alternatives is not None:
        events = (*events, Event(ROWS, closed.grip(), FALLING, Stop()))
        guards = ca.vertcat(guards, events[-1].guards)
    for addition in dynamics.additions:
        own = addition.events(elimination) if isinstance(addition, EliminationEvents) else ()
        guards = ca.vertcat(guards, *[event.guards for event in own])
        events = (*events, *own)
    arguments = [dynamics.t, closed.state, dynamics.p]
    named = ca.vertcat(NOTHING, *outputs.values())
    moving = [closed.rhs(), closed.accelerations, closed.recovered(), named]
    parts = [*moving, residuals, influences, guards]
    functions = functions_of(arguments, parts)
    if not shares_already(functions["rhs"]):
        parts = sharing(parts)
        functions = functions_of(arguments, parts)
    many = functions["rhs"].n_instructions() >= MANY_INSTRUCTIONS
    return OdeProblem(
        labels=_labels(dynamics, outputs),
        size=closed.state.numel(),
        values=dynamics.values,
        rhs=functions["rhs"],
        recover=functions["recover"],
        residuals=functions["residuals"],
        guards=functions["guards"],
        watched=watched,
        pivot_goals=tuple(row.name for row in dynamics.rows),
        singular_goals=tuple(row.name for row in dynamics.rows if row.typical is not None),
        events=events,
        plan=plan,
        equations=semi_explicit(
            dynamics,
            closed.saddle,
            closed.targets,
            elimination.driven_invariants,
            closed.state,
            (elimination.metered_invariants, meter_powers(dynamics)),
        ),
        holds=tuple(dynamics.holds.values()),
        borne=tuple(np.flatnonzero(borne).tolist()),
        whole=ca.Function("whole", arguments, parts) if many and dynamics.holds else None,
    )


@dataclass(frozen=True, eq=False)
class _ClosedLoop:
    """The system with its reactions as functions of the state.

    Parameters
    ----------
    elimination, saddle, targets
        The equations, their solver, and the values required of J v' for each goal.
    accelerations, reactions
        v' and u.
    shares
        The reactions to show, in the symbols of u; None shows u itself.
    """

    elimination: Elimination
    saddle: Saddle
    targets: list[ca.SX]
    accelerations: ca.SX
    reactions: ca.SX
    shares: ca.SX | None

    @property
    def dynamics(self) -> Dynamics:
        return self.elimination.dynamics

    @property
    def state(self) -> ca.SX:
        return ca.vertcat(self.dynamics.x, self.elimination.works)

    def of_state(self, expression: ca.SX) -> ca.SX:
        """Substitute the reactions in an expression."""
        return ca.substitute(expression, self.dynamics.reactions, self.reactions)

    def rhs(self) -> ca.SX:
        powers = self.elimination.powers(self.accelerations, self.reactions)
        return ca.vertcat(self.dynamics.position_rates, self.accelerations, powers)

    def recovered(self) -> ca.SX:
        """Return the reactions, and those recovered from them."""
        others = [self.of_state(expression) for expression in self.dynamics.recovered.values()]
        own = self.reactions if self.shares is None else self.of_state(self.shares)
        return ca.vertcat(own, *others)

    def grip(self) -> ca.SX:
        """Return a guard that falls to zero where the kept goals lose their grip.

        It is the logarithm of the squared volume of their rows, relative to all such sets and to
        its value when they were chosen.
        """
        reference = self.dynamics.p[list(self.dynamics.values).index(GRIP)]
        return reference - math.log(DEGRADED) - overlap(self.dynamics, self.saddle)

    def works(self) -> dict[InvariantRow, ca.SX]:
        """Return the work done on each metered invariant."""
        rows, works = self.elimination.metered_invariants, self.elimination.works
        return {row: works[place] for place, row in enumerate(rows)}

    def outputs(self) -> dict[str, ca.SX]:
        """Return the outputs by name, including work and meters."""
        outputs = {name: self.of_state(e) for name, e in self.dynamics.outputs.items()}
        works = self.works()
        for row, work in works.items():
            free = "work" not in outputs
            outputs["work" if free else f"work_{row.name}"] = work
        places = enumerate(self.dynamics.meters, len(works))
        return outputs | {name: self.elimination.works[place] for place, name in places}

    def watched(self) -> tuple[tuple[Watched, ...], ca.SX, ca.SX]:
        """Return the watched residuals, T and the pivots; the influences of singular goals."""
        watched, residuals = _watched(self.elimination, self.reactions, self.works())
        kinetic = ca.SX(0) if self.dynamics.kinetic is None else self.dynamics.kinetic
        pivots = self.saddle.relative_pivots()
        return (
            watched,
            ca.vertcat(*residuals, kinetic, *pivots),
            self.saddle.singular_influences(),
        )


def _closed_loop(
    elimination: Elimination, targets: list[ca.SX], shares: ca.SX | None
) -> _ClosedLoop:
    """Eliminate the reactions with every residual's law built in."""
    saddle = Saddle(elimination.dynamics, elimination.plan)
    accelerations, reactions = _accelerations(saddle, elimination.driven_invariants, targets)
    return _ClosedLoop(elimination, saddle, targets, accelerations, reactions, shares)


def _accelerations(
    saddle: Saddle, driven: list[InvariantRow], targets: list[ca.SX]
) -> tuple[ca.SX, ca.SX]:
    """Solve for v' and u with every residual's law built in."""
    dynamics = saddle.dynamics
    offsets = [row.offset for row in dynamics.relations]
    energy = [row for row in driven if row.twice_kinetic is not None]
    if energy and len(driven) == 1:
        # The gradient M v acts like a force: the same solve projects it on the admissible
        # velocities, so no second solve is needed.
        row = energy[0]
        error = row.rate * (row.value - row.reference)
        momentum, twice_kinetic = pushed_momentum(dynamics, row)
        push = -error / (twice_kinetic + row.floor) * momentum
        return saddle.solve(dynamics.force + push, targets, offsets)
    accelerations, reactions = saddle.solve(dynamics.force, targets, offsets)
    return accelerations - _correction(saddle, driven), reactions


def target(row: GoalRow, shape: Sequence[float] | None = None) -> ca.SX:
    """Return the value of J v' for which (d/dt + rate)^r residual = 0.

    Parameters
    ----------
    row
        The goal.
    shape
        c_0, ..., c_(r-1) of another law; see `laws`.
    """
    degree = row.degree
    factors = [math.comb(degree, k) for k in range(degree)] if shape is None else shape
    total = row.bias
    for order, (factor, link) in enumerate(zip(factors, row.chain, strict=True)):
        total = total + factor * row.rate ** (degree - order) * link
    return -total


def _correction(saddle: Saddle, driven: list[InvariantRow]) -> ca.SX:
    """Sum rate * error along the projected metric gradients, for all invariants at once."""
    dynamics = saddle.dynamics
    if not driven:
        return ca.SX(dynamics.velocity_count, 1)
    still = [ca.SX(0)] * len(dynamics.rows)
    none = [ca.SX(0)] * len(dynamics.relations)
    directions = [saddle.solve(dynamics.pushed_gradient(row).T, still, none)[0] for row in driven]
    gram = ca.vertcat(
        *[ca.horzcat(*[row.jacobian @ d for d in directions]) for row in driven]
    ) + ca.diag(ca.vertcat(*[row.floor for row in driven]))
    errors = ca.vertcat(*[row.rate * (row.value - row.reference) for row in driven])
    return ca.horzcat(*directions) @ solve_small(gram, errors)


def meter_powers(dynamics: Dynamics) -> ca.SX:
    """Return the integrands of the meters, in the reactions."""
    return ca.vertcat(ca.SX(0, 1), *[power for power, _ in dynamics.meters.values()])


def _watched(
    elimination: Elimination, reactions: ca.SX, works: Mapping[InvariantRow, ca.SX]
) -> tuple[tuple[Watched, ...], list[ca.SX]]:
    dynamics = elimination.dynamics
    rates, conserved = elimination.rates, elimination.conserved
    watched: list[Watched] = []
    residuals: list[ca.SX] = []

    def watch(name: str, goal: str, kind: str, residual: ca.SX, note: str = "") -> None:
        rate = rates.get(goal)
        driven = kind == "relation" or (rate is not None and conserved.get(goal, True))
        driven = driven and goal not in aside
        rate_name = ValueKind.RATE.name_of(goal) if goal in rates and driven else None
        watched.append(Watched(name, goal, kind, driven, rate_name, note, goal in dependent))
        residuals.append(residual)

    aside = [row.name for row in dynamics.aside]
    dependent = {*aside, *[row.name for row in dynamics.rows if row.posed is not None]}
    for row in (*dynamics.rows, *dynamics.aside):
        note = DROPPED if row.name in aside else ""
        for name, link in row.links.items():
            watch(name, row.name, "residual" if name == row.name else "hidden", link, note)
    for row in dynamics.implicit_rows:
        watch(row.name, row.name, "implicit", row.residual)
    for row in dynamics.relations:
        watch(row.name, row.name, "relation", row.jacobian @ reactions + row.offset)
    for row in dynamics.invariants:
        residual = row.value - row.reference
        note = row.note
        if row in works:
            residual = residual - works[row]
            note = (note + "; " if note else "") + (
                "not conserved: forces or reactions do work, which is integrated; the report "
                "shows the quantity minus this work"
            )
        elif not conserved[row.name]:
            note = "not conserved, measured only"
        watch(row.name, row.name, "invariant", residual, note)
    return tuple(watched), residuals


def _labels(dynamics: Dynamics, outputs: Mapping[str, ca.SX]) -> Labels:
    """Return the labels of a run; here all reactions are functions of the state."""
    units = dict(zip(dynamics.labels.outputs, dynamics.labels.output_units, strict=True))
    units |= {name: unit for name, (_, unit) in dynamics.meters.items()}
    return replace(
        dynamics.labels,
        reactions=dynamics.labels.shown_reactions,
        reaction_units=dynamics.labels.shown_reaction_units,
        recovered=(),
        recovered_units=(),
        outputs=tuple(outputs),
        output_units=tuple(units.get(name, "J") for name in outputs),
    )
