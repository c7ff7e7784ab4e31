"""A system as functions of (t, x, p): its equations, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import casadi as ca
import numpy as np

from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.core.equations.consistency import sample_states
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.plan import choose_plan
from daesolve.core.equations.elimination.saddle import EliminationPlan, Saddle
from daesolve.core.equations.rank import constraint_rank
from daesolve.core.equations.scaled_rows import are_independent
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations.feedback import target
from daesolve.core.formulations.laws import Law, check_laws, formula, rates_of, shape_of
from daesolve.core.posing.value_names import ValueKind
from daesolve.errors import (
    OutOfRangeError,
    RedundantConstraintsError,
    UnsupportedError,
    is_number,
    unknown_name,
)
from daesolve.export.named import Entries, Entry, LabelledShape, NamedFunction

Quantity = Literal[
    "accelerations",
    "reactions",
    "rhs",
    "residuals",
    "mass_matrix",
    "forces",
    "influence",
    "jacobian",
    "bias",
    "energy",
    "outputs",
    "guards",
]
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
FORCE_UNITS = {"m/s": "N", "rad/s": "N m"}
"""The unit of a generalised force, by the unit of its velocity."""

Written = tuple[ca.SX, LabelledShape]
"""An expression and what its entries are."""


def per_second(unit: str) -> str:
    """Return the unit of a rate."""
    if unit.endswith("/s"):
        return f"{unit}^2"
    return f"{unit}/s" if unit else "1/s"


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of a system with its reactions eliminated, as functions of (t, x, p).

    Parameters
    ----------
    dynamics
        The equations.
    units
        Of parameters, inputs and discrete values, by name.
    around
        A consistent state by name, near which the elimination is checked; by default, random
        consistent states.
    rate
        In 1/s. With a rate, constraints attract the motion, as with `Feedback`. Without one,
        rounding and errors of steps make the motion drift off.
    defaults
        Values by name, instead of the declared ones.
    laws
        Laws of single constraints instead of the rate, as `Feedback` takes them.

    Raises
    ------
    UnknownNameError
        A default is not in p, or a law names no constraint.
    OutOfRangeError
        A state has no value in `around`, the rate is not a number >= 0, or a law is not stable.
    RedundantConstraintsError
        Goals follow from others, so the reactions are not determined.
    """

    dynamics: Dynamics
    units: Mapping[str, str]
    around: Mapping[str, float] | None = None
    rate: float = 0.0
    defaults: Mapping[str, float] = field(default_factory=dict[str, float])
    laws: Mapping[str, Law] = field(default_factory=dict[str, Law])

    def __post_init__(self) -> None:
        check_laws(self.laws, ())
        _ = self._own_rates
        for name in self.defaults:
            if name not in self.dynamics.ranges:
                raise unknown_name("value", name, self.dynamics.ranges)
        if not is_number(self.rate) or not 0.0 <= self.rate < float("inf"):
            raise OutOfRangeError(f"the rate is {self.rate!r}, but must be a number >= 0")

    @property
    def _own_rates(self) -> dict[str, float]:
        """The rates of the goals that have laws of their own."""
        return rates_of(self.laws, self.dynamics.rows)

    @property
    def attraction(self) -> tuple[str, ...]:
        """How constraints act on a motion that is off them, a sentence each."""
        if not self.rate and not self.laws:
            return ("Nothing pulls a drifting motion back to its constraints.",)
        said = [f"Residuals obey {formula(goal, law)}." for goal, law in self.laws.items()]
        if self.rate:
            others = "Other constraints" if self.laws else "Constraints"
            said.append(f"{others} attract the motion at a rate of {self.rate:g} 1/s.")
        return tuple(said)

    # -- what goes in ------------------------------------------------------------------------------

    @cached_property
    def states(self) -> Entries:
        """The entries of x."""
        dynamics, labels = self.dynamics, self.dynamics.labels
        kinds = ["coordinate"] * dynamics.coordinate_count
        kinds += ["quadrature"] * dynamics.quadrature_count
        kinds += ["implicit unknown"] * len(dynamics.implicit_rows)
        kinds += ["state" if dynamics.kinetic is None else "velocity"] * dynamics.velocity_count
        return tuple(map(Entry, labels.states, labels.state_units, kinds))

    @cached_property
    def values(self) -> Entries:
        """The entries of p: parameters, discrete values and inputs, as they were declared.

        Whether a closed contact slides or sticks has no default: it depends on the state.
        """
        dynamics = self.dynamics
        without = dynamics.inputs.unset | self._undecided
        found: list[Entry] = []
        for name in dynamics.ranges:
            kind = "discrete value" if name in dynamics.discrete else "parameter"
            kind = "input" if name in dynamics.inputs else kind
            default = None if name in without else dynamics.values[name]
            default = self.defaults.get(name, default)
            found.append(Entry(name, self.units.get(name, ""), kind, default))
        return tuple(found)

    @property
    def _undecided(self) -> frozenset[str]:
        """The values that say whether closed contacts slide or stick, if none of them is given."""
        names = list(self.dynamics.values)
        found: set[str] = set()
        for row in contacts_in(self.dynamics):
            closed = self.defaults.get(names[row.hold], self.dynamics.values[names[row.hold]])
            if row.rubbing is not None and closed:
                found |= {names[k] for k in (row.rubbing.slides, *row.rubbing.holds)}
        settled = any(self.defaults.get(n, self.dynamics.values[n]) for n in found)
        return frozenset() if settled else frozenset(found)

    @property
    def inputs(self) -> dict[str, LabelledShape]:
        """The inputs of every function."""
        return {
            "t": LabelledShape((Entry("time", "s", "time"),)),
            "x": LabelledShape(self.states),
            "p": LabelledShape(self.values),
        }

    # -- the elimination ---------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> np.ndarray:
        """Every value as a number, the rates among them."""
        dynamics, names = self.dynamics, list(self.dynamics.values)
        numbers = dynamics.value_vector(self.defaults)
        attracting = [row.name for row in dynamics.rows if not row.from_start]
        attracting += [row.name for row in dynamics.implicit_rows]
        attracting += [
            row.name
            for row in dynamics.invariants
            if row.on == "positions" and row.fixed is not None
        ]
        for name, rate in {**dict.fromkeys(attracting, self.rate), **self._own_rates}.items():
            place = ValueKind.RATE.name_of(name)
            if place in names:
                numbers[names.index(place)] = rate
        return numbers

    @cached_property
    def samples(self) -> list[tuple[float, np.ndarray]]:
        """Times and consistent states, near which the elimination is checked."""
        state = None
        if self.around is not None:
            for name in self.dynamics.labels.states:
                if name not in self.around:
                    raise OutOfRangeError(f"around has no value for the state {name!r}")
            state = np.array([float(self.around[name]) for name in self.dynamics.labels.states])
        return sample_states(self.dynamics, self.numbers, state)

    @cached_property
    def surplus(self) -> tuple[str, ...]:
        """Goals that follow from the others everywhere, so that reactions are not determined."""
        held, numbers = self.dynamics.in_mode(self.numbers), self.numbers
        dependent = [(t, x) for t, x in self.samples if not are_independent(held, t, x, numbers)]
        if len(dependent) < max(len(self.samples), 1):
            return ()
        return constraint_rank(held, dependent, numbers).droppable

    @cached_property
    def plan(self) -> EliminationPlan:
        """How the reactions are eliminated."""
        if self.surplus:
            names = ", ".join(map(repr, self.surplus))
            raise RedundantConstraintsError(
                f"the goals {names} follow from the others at every state tried, so the reactions "
                f"are not determined: leave them out with system.without([{names}]), or give a "
                f"state where they are independent with around={{...}}"
            )
        return choose_plan(self.dynamics, self.samples, self.numbers, proximal=False)

    @cached_property
    def _solved(self) -> tuple[ca.SX, ca.SX]:
        """The accelerations and the reactions."""
        dynamics = self.dynamics
        shapes = {goal: shape_of(law) for goal, law in self.laws.items()}
        targets = [target(row, shapes.get(row.name)) for row in dynamics.rows]
        offsets = [row.offset for row in dynamics.relations]
        return Saddle(dynamics, self.plan).solve(dynamics.force, targets, offsets)

    def _eliminated(self, expression: ca.SX) -> ca.SX:
        """Put the reactions into an expression."""
        return ca.substitute(expression, self.dynamics.reactions, self._solved[1])

    def given(self, expression: ca.SX) -> ca.SX:
        """Put the numbers that the library adds to p into an expression."""
        own, numbers = len(self.dynamics.ranges), self.numbers
        rest = ca.SX(ca.DM(numbers[own:])) if len(numbers) > own else ca.SX(0, 1)
        return ca.substitute(expression, self.dynamics.p[own:, :], rest)

    # -- what comes out ----------------------------------------------------------------------------

    def written(self, quantity: str) -> Written:
        """Return a quantity and its entries.

        Raises
        ------
        UnknownNameError
            There is no such quantity.
        UnsupportedError
            The system does not have it.
        """
        known: dict[str, Callable[[], Written]] = {
            "accelerations": self._accelerations,
            "reactions": self._reactions,
            "rhs": self._rhs,
            "residuals": self._residuals,
            "mass_matrix": self._mass_matrix,
            "forces": self._forces,
            "influence": self._influence,
            "jacobian": self._jacobian,
            "bias": self._bias,
            "energy": self._energy,
            "outputs": self._outputs,
            "guards": self._guards,
        }
        if quantity not in known:
            raise unknown_name("quantity", quantity, QUANTITIES)
        expression, shape = known[quantity]()
        return self.given(ca.SX(expression)), shape

    def function(self, quantity: str) -> NamedFunction:
        """Return a quantity as a function of (t, x, p); see `written`.

        Tables are looked up at every call; the values with which a run follows them are not in p.
        """
        expression, shape = self.written(quantity)
        dynamics, tables = self.dynamics, self._tables
        own = zip(dynamics.ranges, ca.vertsplit(dynamics.p[: len(dynamics.ranges)]), strict=True)
        left = [symbol for name, symbol in own if name not in tables]
        made = function_of(
            quantity,
            [dynamics.t, dynamics.x, ca.vertcat(ca.SX(0, 1), *left)],
            [self._looked_up(expression)],
            (["t", "x", "p"], [quantity]),
        )
        values = LabelledShape(tuple(entry for entry in self.values if entry.name not in tables))
        return NamedFunction(made, {**self.inputs, "p": values}, {quantity: shape})

    @cached_property
    def _tables(self) -> frozenset[str]:
        """The discrete values by which tables follow their arguments."""
        rows = self.dynamics.drives
        return frozenset(name for row in rows if row.lookup is not None for name in row.values)

    def _looked_up(self, expression: ca.SX) -> ca.SX:
        """Put what tables say at their arguments into an expression."""
        dynamics = self.dynamics
        symbols = dict(zip(dynamics.values, ca.vertsplit(dynamics.p), strict=True))
        for row in reversed(dynamics.drives):  # those in the arguments of others come first
            if row.lookup is not None:
                own = [symbols[name] for name in row.values]
                began = ca.vertcat(*[symbols[name] for name in row.begin])
                expression = ca.substitute(expression, began, ca.vertcat(*row.begin.values()))
                expression = ca.substitute(expression, ca.vertcat(*own), ca.SX.zeros(len(own)))
        return self.given(expression)

    @property
    def has(self) -> tuple[str, ...]:
        """The quantities that the system has."""
        control = self.dynamics.kinetic is None
        mechanical = {"mass_matrix", "forces", "influence", "jacobian", "bias", "energy"}
        return tuple(name for name in QUANTITIES if not (control and name in mechanical))

    @property
    def velocities(self) -> Entries:
        """The entries of v."""
        return self.states[self.dynamics.position_count :]

    def _of_mechanics(self, what: str) -> None:
        if self.dynamics.kinetic is None:
            raise UnsupportedError(
                f"a control system has no {what}: request 'rhs', 'accelerations', 'reactions', "
                "'residuals', 'outputs' or 'guards'"
            )

    def _accelerations(self) -> Written:
        names, units = self.dynamics.labels.accelerations, [e.unit for e in self.velocities]
        rows = [Entry(n, per_second(u), "acceleration") for n, u in zip(names, units, strict=True)]
        return self._solved[0], LabelledShape(tuple(rows))

    @property
    def unknowns(self) -> Entries:
        """The reactions that are unknowns."""
        labels = self.dynamics.labels
        return tuple(
            Entry(n, u, "reaction")
            for n, u in zip(labels.reactions, labels.reaction_units, strict=True)
        )

    def _reactions(self) -> Written:
        labels, dynamics = self.dynamics.labels, self.dynamics
        others = [self._eliminated(expression) for expression in dynamics.recovered.values()]
        rows = [
            Entry(n, u, "reaction")
            for n, u in zip(labels.recovered, labels.recovered_units, strict=True)
        ]
        return ca.vertcat(self._solved[1], *others), LabelledShape((*self.unknowns, *rows))

    def _rhs(self) -> Written:
        rows = [Entry(f"{e.name}'", per_second(e.unit), "rate") for e in self.states]
        return ca.vertcat(self.dynamics.position_rates, self._solved[0]), LabelledShape(tuple(rows))

    def _residuals(self) -> Written:
        found: list[ca.SX] = []
        rows: list[Entry] = []
        for row in self.dynamics.rows:
            found += row.chain
            rows += [Entry(name, "", "residual") for name in row.links]
        for row in self.dynamics.implicit_rows:
            found.append(row.residual)
            rows.append(Entry(row.name, "", "residual"))
        return ca.vertcat(ca.SX(0, 1), *found), LabelledShape(tuple(rows))

    def _mass_matrix(self) -> Written:
        self._of_mechanics("mass matrix")
        return self.dynamics.mass, LabelledShape(self.velocities, self.velocities)

    def _forced(self) -> Entries:
        return tuple(Entry(e.name, FORCE_UNITS.get(e.unit, ""), "force") for e in self.velocities)

    def _forces(self) -> Written:
        self._of_mechanics("generalised forces")
        return self.dynamics.force, LabelledShape(self._forced())

    def _influence(self) -> Written:
        self._of_mechanics("influence of reactions on generalised forces")
        return self.dynamics.influence, LabelledShape(self._forced(), self.unknowns)

    def _constraints(self) -> Entries:
        return tuple(Entry(row.name, "", "constraint") for row in self.dynamics.rows)

    def _jacobian(self) -> Written:
        self._of_mechanics("Jacobian of constraints")
        empty = ca.SX(0, self.dynamics.velocity_count)
        rows = ca.vertcat(empty, *[row.jacobian for row in self.dynamics.rows])
        return rows, LabelledShape(self._constraints(), self.velocities)

    def _bias(self) -> Written:
        self._of_mechanics("bias of constraints")
        biases = ca.vertcat(ca.SX(0, 1), *[row.bias for row in self.dynamics.rows])
        return biases, LabelledShape(self._constraints())

    def _energy(self) -> Written:
        self._of_mechanics("energy")
        kinetic, potential = self.dynamics.kinetic, self.dynamics.potential
        assert kinetic is not None
        names, parts = ["kinetic"], [kinetic]
        if potential is not None:
            names += ["potential", "total"]
            parts += [potential, kinetic + potential]
        return ca.vertcat(*parts), LabelledShape(
            tuple(Entry(name, "J", "energy") for name in names)
        )

    def _outputs(self) -> Written:
        labels, outputs = self.dynamics.labels, self.dynamics.outputs
        units = dict(zip(labels.outputs, labels.output_units, strict=True))
        found = [self._eliminated(ca.SX(value)) for value in outputs.values()]
        rows = [Entry(name, units[name], "output") for name in outputs]
        return ca.vertcat(ca.SX(0, 1), *found), LabelledShape(tuple(rows))

    def _guards(self) -> Written:
        found: list[ca.SX] = []
        rows: list[Entry] = []
        for event in self.dynamics.events:
            found.append(self._eliminated(event.guards))
            names = [f"{event.name}_{k + 1}" for k in range(event.count)]
            names = [event.name] if event.count == 1 else names
            rows += [Entry(name, "", "guard") for name in names]
        return ca.vertcat(ca.SX(0, 1), *found), LabelledShape(tuple(rows))
