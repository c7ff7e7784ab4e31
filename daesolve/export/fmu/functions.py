"""The functions of a prepared run that its unit evaluates in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeVar

import casadi as ca
import numpy as np

from daesolve.contact.laws.contact_law import ContactLaw
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.equations.elimination.saddle import Saddle
from daesolve.core.events.jumps import JumpFunction, settle_function, with_references
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.posing.symbols import symbol
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.solvers.phase_splitting import FAR
from daesolve.core.solvers.unresolved_terms import Kind, phases, unresolved_terms
from daesolve.export.fmu.contacts import UnitContacts
from daesolve.export.fmu.guards import BoundedGuards
from daesolve.export.named import StartRule

Law = TypeVar("Law")
MOST_JOINT = 4
"""Events that impose constraints, of which all sets are in a unit: they may happen together."""
NONE = ca.SX(0, 1)
"""A column without entries."""
TURNS = Kind(-np.inf, np.inf, FAR)
"""The phase of a sine or cosine in a guard."""


@dataclass(frozen=True, eq=False)
class UnitOutput:
    """A variable that a unit shows besides its states.

    Parameters
    ----------
    name, unit, what
        Its name, its unit, and a description.
    expression
        Of (t, x, p).
    """

    name: str
    unit: str
    what: str
    expression: ca.SX


@dataclass(frozen=True, eq=False)
class Links:
    """Constraints that a start fulfils: their names, and (t, x, p) -> (links, their Jacobian)."""

    names: tuple[str, ...]
    function: ca.Function


class UnitFunctions:
    """The functions of a unit.

    Parameters
    ----------
    prepared
        A run that can become a unit; see `admission`.
    rule
        The rule by which its start follows from parameters; None if there is none.
    """

    def __init__(self, prepared: Prepared, rule: StartRule | None = None) -> None:
        self.rule = rule
        self.prepared, self.dynamics, self.problem = prepared, prepared.dynamics, prepared.problem
        self.t, self.x, self.p = (self.problem.rhs.sx_in(k) for k in range(3))

    @cached_property
    def shown(self) -> tuple[UnitOutput, ...]:
        """Reactions, outputs, and what is conserved or metered."""
        labels = self.problem.labels
        _, reactions, outputs = self.problem.recover(self.t, self.x, self.p)
        found = [
            *_listed("reaction", labels.reactions, labels.reaction_units, reactions),
            *_listed("output", labels.outputs, labels.output_units, outputs),
        ]
        # An input is a variable of its own.
        found = [entry for entry in found if entry.name not in self.dynamics.inputs.names]
        taken = {*labels.states, *self.problem.values, *(entry.name for entry in found)}
        for row in self.dynamics.invariants:
            if row.name not in taken:
                value = self._of_state(row.value)
                unit = "J" if row.automatic else ""
                found.append(UnitOutput(row.name, unit, "invariant", value))
        return tuple(found)

    def _of_state(self, expression: ca.SX) -> ca.SX:
        """Write an expression of the equations in the arguments of the problem."""
        dynamics = self.dynamics
        own = [dynamics.t, dynamics.x, dynamics.p]
        function = ca.Function("own", own, [expression])
        return function(self.t, self.x[: dynamics.x.numel()], self.p)

    @cached_property
    def reset_law(self) -> ResetLaw | None:
        """What resets events as posed; None if nothing does."""
        return self._law(ResetLaw)

    @cached_property
    def contact_law(self) -> ContactLaw | None:
        """The law that opens and closes a smooth contact; None if there is none, or are others."""
        return None if self.contacts is not None else self._law(ContactLaw)

    @cached_property
    def contacts(self) -> UnitContacts | None:
        """The contacts that are decided on together; None if there are none."""
        return UnitContacts.of(self.prepared)

    def _law(self, kind: type[Law]) -> Law | None:
        transitions = self.prepared.transitions
        laws = () if transitions is None else transitions.laws
        return next((law for law in laws if type(law) is kind), None)

    @cached_property
    def jumps(self) -> dict[int, JumpFunction]:
        """The reset of each event, by its index."""
        law = self.reset_law
        return {} if law is None else {event: law.function((event,)) for event in law.events}

    @cached_property
    def joint(self) -> dict[tuple[int, ...], JumpFunction]:
        """The joint resets of events that impose constraints at one instant, by their indices."""
        law = self.reset_law
        imposing = [event for event, jump in self.jumps.items() if jump.imposes]
        if law is None or len(imposing) > MOST_JOINT:
            return {}
        sets = [
            events
            for count in range(2, len(imposing) + 1)
            for events in combinations(imposing, count)
        ]
        return {events: law.function(events) for events in sets}

    def all(self) -> list[ca.Function]:
        """Return the functions under the names by which the C code calls them."""
        t, x, p = self.t, self.x, self.p
        rate, shown, guards = self._parts
        arguments = ca.vertcat(NONE, *[argument for argument, _ in self.arguments])
        # With weights the terms of a sum do not cancel.
        weights = _weights(x.numel() + 1)
        terms = ca.jtimes(guards, x, weights[1:] * x) + ca.jtimes(guards, t, weights[0] * t)
        found = [
            _dense("model_rate", [t, x, p], [rate]),
            _dense("model_guards", [t, x, p], [guards, self._moving(guards)]),
            _dense("model_terms", [t, x, p], [terms]),
            _dense("model_arguments", [t, x, p], [arguments, self._moving(arguments)]),
            _dense("model_shown", [t, x, p], [shown]),
            _dense("model_poles", [t, x, p], [self._pole_signs]),
            *self._derivatives(rate, shown, guards),
            _dense("model_refer", [t, x, p], [self._referred()]),
            _dense("model_begin", [t, x, p], [self._begun()]),
            _dense("model_rule", [x, p], [self._ruled()]),
            self.positions.function,
            self.velocities.function,
        ]
        found += [self._reset(f"model_reset_{k}", jump) for k, jump in self.jumps.items()]
        if self.contacts is not None:
            dynamics = self.dynamics
            column = self.contacts.function()(dynamics.t, dynamics.x, dynamics.p)
            found.append(_dense("model_contacts", [t, x, p], [self._of_state(column)]))
        joint = enumerate(self.joint.values())
        found += [self._reset(f"model_joint_{number}", jump) for number, jump in joint]
        return found + ([] if self.contact_law is None else self._contact())

    @cached_property
    def dependencies(self) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
        """The places in (t, x, p) on which each rate, each variable shown and each guard depends.

        A rate of which CasADi sees nothing depends on nothing.
        """
        where = ca.vertcat(self.t, self.x, self.p)
        rates, shown, guards = (
            [ca.jacobian_sparsity(entry, where).get_col() for entry in ca.vertsplit(column)]
            for column in self._parts
        )
        return rates, shown, guards

    @cached_property
    def _parts(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Rates, variables shown, and guards."""
        arguments = self.t, self.x, self.p
        shown = ca.vertcat(NONE, *[entry.expression for entry in self.shown])
        return self.problem.rhs(*arguments), shown, self.bounded.values

    @cached_property
    def bounded(self) -> BoundedGuards:
        """The guards, without poles."""
        guards = self.problem.guards(self.t, self.x, self.p)
        return BoundedGuards.of(self.prepared, guards, self.p)

    def _derivatives(self, *parts: ca.SX) -> list[ca.Function]:
        """Return the derivatives of parts along (t, x, p), and the gradient of a sum of theirs."""
        places = [self.t, self.x, self.p]
        where = ca.vertcat(*places)
        sizes = [place.numel() for place in places]
        along = [symbol(f"along_{k}", size) for k, size in enumerate(sizes)]
        tangents = [ca.jtimes(part, where, ca.vertcat(*along)) for part in parts]
        weights = [symbol(f"weights_{k}", part.numel()) for k, part in enumerate(parts)]
        column, own = ca.vertcat(NONE, *parts), ca.vertcat(NONE, *weights)
        gradient = ca.vertcat(*along) + ca.jtimes(column, where, own, True)
        gradients = ca.vertsplit(gradient, [0, *np.cumsum(sizes).tolist()])
        return [
            _dense("model_tangent", [*places, *along], tangents),
            _dense("model_adjoint", [*places, *along, *weights], gradients),
        ]

    @property
    def _pole_signs(self) -> ca.SX:
        return ca.vertcat(NONE, *[1 if sign is None else sign for sign in self.bounded.signs])

    def _moving(self, column: ca.SX) -> ca.SX:
        """Return the rates of expressions of (t, x, p) along the motion."""
        rate = self._parts[0]
        return ca.jtimes(column, self.x, rate) + ca.jtimes(column, self.t, ca.SX(1))

    @cached_property
    def arguments(self) -> tuple[tuple[ca.SX, Kind], ...]:
        """The arguments of terms that a step may not see, and where and how far they matter."""
        t, x, p, guards = self.t, self.x, self.p, self.problem.guards
        found: list[tuple[ca.SX, Kind]] = []
        turning = phases(guards)
        if turning is not None:
            found += [(phase, TURNS) for phase in ca.vertsplit(turning(t, x, p))]
        terms = unresolved_terms(self.problem.rhs, guards)
        if terms is not None:
            entries = ca.vertsplit(terms.arguments(t, x, p))
            found += zip(entries, terms.kinds, strict=True)
        # Kinks are met where steps do not resolve them.
        return tuple((entry, kind) for entry, kind in found if kind.width > 0.0)

    def _reset(self, name: str, jump: JumpFunction) -> ca.Function:
        t, x, p = self.t, self.x, self.p
        fired = symbol("fired", jump.function.nnz_in(3))
        after, values, _, _, before, left = jump.function(t, x, p, fired)
        return _dense(name, [t, x, p, fired], [after, values, before, left])

    def _referred(self) -> ca.SX:
        """Return p with what is held or measured taken from its value now."""
        dynamics = self.dynamics
        works = symbol("works", self.x.numel() - dynamics.x.numel())
        values = with_references(dynamics, dynamics.t, dynamics.x, dynamics.p, works)
        arguments = [dynamics.t, dynamics.x, works, dynamics.p]
        function = ca.Function("referred", arguments, [values])
        own = dynamics.x.numel()
        return function(self.t, self.x[:own], self.x[own:], self.p)

    def _begun(self) -> ca.SX:
        """Return p with tables and sampled laws as they are at a start; see `equations.drives`."""
        dynamics, names = self.dynamics, list(self.dynamics.values)
        before = ca.SX(self.p)
        for name in (name for row in dynamics.drives for name in row.values):
            # The values in p may be those of another start.
            before[names.index(name)] = dynamics.values[name]
        leans = {name: value for row in dynamics.drives for name, value in row.leans.items()}
        if leans:
            falls = self._fall(ca.vertcat(*leans.values()), self._with_drives(before))
            for place, name in enumerate(leans):
                before[names.index(name)] = falls[place]
        return self._with_drives(before)

    def _with_drives(self, before: ca.SX) -> ca.SX:
        """Return values with tables first, one after another, then sampled laws together."""
        dynamics, names = self.dynamics, list(self.dynamics.values)
        p, changed = ca.SX(before), ca.SX(before)
        for row in sorted(dynamics.drives, key=lambda row: row.together):
            column = ca.vertcat(NONE, *row.begin.values())
            function = ca.Function("begin", [dynamics.t, dynamics.x, dynamics.p], [column])
            numbers = function(self.t, self.x[: dynamics.x.numel()], p)
            for place, name in enumerate(row.begin):
                changed[names.index(name)] = numbers[place]
            p = p if row.together else ca.SX(changed)
        return changed

    def _fall(self, arguments: ca.SX, p: ca.SX) -> ca.SX:
        """Return which arguments of tables fall at a start; at rest the second rate decides."""
        rate = self.problem.rhs(self.t, self.x, p)

        def moved(column: ca.SX) -> ca.SX:
            return ca.jtimes(column, self.x, rate) + ca.jtimes(column, self.t, ca.SX(1))

        once = moved(ca.substitute(self._of_state(arguments), self.p, p))
        return ca.if_else(once == 0, moved(once) < 0, once < 0)

    @property
    def ruling(self) -> frozenset[str]:
        """The parameters from which the start follows by the rule."""
        if self.rule is None:
            return frozenset()
        column = ca.vertcat(NONE, *self.rule.states.values())
        symbols = self.rule.parameters
        return frozenset(name for name in symbols if ca.depends_on(column, symbols[name]))

    def _ruled(self) -> ca.SX:
        """Return the states of a start by the rule, as far as it says."""
        guess = ca.SX(self.x)
        if self.rule is None:
            return guess
        names, states = list(self.problem.values), self.problem.labels.states
        known = {name: own for name, own in self.rule.parameters.items() if name in names}
        symbols = ca.vertcat(NONE, *known.values())
        values = ca.vertcat(NONE, *[self.p[names.index(name)] for name in known])
        for name, state in self.rule.states.items():
            if name in states:
                guess[states.index(name)] = ca.substitute(state, symbols, values)
        return guess

    # -- starts ------------------------------------------------------------------------------------

    @cached_property
    def positions(self) -> Links:
        """The constraints on the positions of a start."""
        links = [link for link in self._links() if not self._of_velocities(link[1])]
        links += [(row.name, row.residual) for row in self.dynamics.implicit_rows]
        links += [
            (row.name, row.value - row.reference)
            for row in self.dynamics.invariants
            if row.on == "positions" and row.fixed is not None
        ]
        return self._start_links("model_positions", links)

    @cached_property
    def velocities(self) -> Links:
        """The constraints on the velocities of a start."""
        links = [link for link in self._links() if self._of_velocities(link[1])]
        return self._start_links("model_velocities", links)

    def _links(self) -> list[tuple[str, ca.SX]]:
        rows: list[GoalRow] = [
            row
            for row in self.dynamics.rows
            if not row.from_start and (row.kind != "control" or row.at_start)
        ]
        names = [list(row.links) for row in rows]
        return [
            (name, link)
            for row, own in zip(rows, names, strict=True)
            for name, link in zip(own, row.chain, strict=True)
        ]

    def _of_velocities(self, link: ca.SX) -> bool:
        return bool(ca.depends_on(link, self.dynamics.velocities))

    def _start_links(self, name: str, links: Sequence[tuple[str, ca.SX]]) -> Links:
        column = ca.vertcat(NONE, *[self._of_state(link) for _, link in links])
        jacobian = ca.jacobian(column, self.x)
        count = self.dynamics.position_count
        keep = ca.DM.zeros(1, self.x.numel())
        own = range(count) if name == "model_positions" else range(count, self.dynamics.x.numel())
        for k in own:
            keep[0, k] = 1.0
        kept = ca.densify(jacobian) * ca.repmat(keep, column.numel(), 1)
        function = _dense(name, [self.t, self.x, self.p], [column, kept])
        return Links(tuple(link for link, _ in links), function)

    # -- a contact ---------------------------------------------------------------------------------

    def _contact(self) -> list[ca.Function]:
        """Return what decides on the one contact: rates of its gap, its answer, its impact."""
        dynamics, (contact,) = self.dynamics, contacts_in(self.dynamics)
        t, x, p = dynamics.t, dynamics.x, dynamics.p
        row = dynamics.rows[contact.row]
        speed = row.chain[1]
        slope = ca.jacobian(speed, dynamics.velocities)
        terms = ca.fabs(slope) @ ca.fabs(dynamics.velocities)
        normal, size = self._answer(dynamics, contact.row, contact.hold)
        measured = [speed, terms, contact.restitution, normal, size]
        found = ca.vertcat(*[self._of_state(part) for part in measured])
        factors = symbol("factors", len(dynamics.rows))
        own = x.numel()
        after, _, _ = settle_function(dynamics, self.problem.plan, ())(t, x, p, factors)
        function = ca.Function("collide", [t, x, p, factors], [after])
        collided = ca.vertcat(function(self.t, self.x[:own], self.p, factors), self.x[own:])
        arguments = [self.t, self.x, self.p]
        return [
            _dense("model_touch", arguments, [found]),
            _dense("model_collide", [*arguments, factors], [collided]),
        ]

    def _answer(self, dynamics: Dynamics, place: int, hold: int) -> tuple[ca.SX, ca.SX]:
        """Return how the gap answers its reaction, and the size of what loads it."""
        row = dynamics.rows[place]
        saddle = Saddle(dynamics, self.problem.plan)
        push = symbol("push", dynamics.velocity_count)
        targets = [-other.bias for other in dynamics.rows]
        still = [ca.SX(0)] * len(dynamics.rows)
        offsets = [relation.offset for relation in dynamics.relations]
        none = [ca.SX(0)] * len(offsets)
        free = saddle.solve(dynamics.force, targets, offsets)[0]
        pushed = saddle.solve(push, still, none)[0]
        arguments = [dynamics.t, dynamics.x, dynamics.p]
        answers = ca.Function("answers", [*arguments, push], [free, pushed])
        gap = ca.Function("gap", arguments, [row.jacobian, row.bias])
        closed, open_ = ca.SX(dynamics.p), ca.SX(dynamics.p)
        closed[hold], open_[hold] = 1.0, 0.0
        gradient, bias = gap(dynamics.t, dynamics.x, closed)
        free, pushed = answers(dynamics.t, dynamics.x, open_, gradient.T)
        return gradient @ pushed, ca.fabs(gradient) @ ca.fabs(free) + ca.fabs(bias)


def _listed(
    what: str, names: Sequence[str], units: Sequence[str], column: ca.SX
) -> list[UnitOutput]:
    entries = ca.vertsplit(column) if column.numel() else []
    return [
        UnitOutput(name, str(unit), what, entry)
        for name, unit, entry in zip(names, units, entries, strict=True)
    ]


def _weights(count: int) -> ca.DM:
    """Return weights from 1 to 3 of either sign, none of which is a simple ratio of others."""
    drawn = np.random.default_rng(0).uniform(-2.0, 2.0, count)
    return ca.DM(drawn + np.sign(drawn))


def _dense(name: str, arguments: Sequence[ca.SX], results: Sequence[ca.SX]) -> ca.Function:
    return ca.Function(name, list(arguments), [ca.densify(part) for part in results], {"cse": True})
