"""The common form of every system: one linear system for accelerations and reactions.

    M v' - B u = h            motion freed of its constraints, u the reactions
    J v' + b   = 0            each goal, differentiated until v' appears
    D u  + e   = 0            relations between reactions

with positions (q, s), q' = S v and s' tracking the implicit equations. A `ControlSystem` is the
same with M = 1, no positions and v its whole state.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.equations.additions import Addition, UnilateralRow
from daesolve.core.equations.alternatives import Alternatives
from daesolve.core.equations.drive_rows import DriveRow
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import entries_of, is_zero
from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.events import Event
from daesolve.core.posing.inputs import NO_INPUTS, Inputs
from daesolve.core.posing.symbols import Interval, Labels, symbol, velocity_name
from daesolve.errors import check_names


@dataclass(frozen=True, eq=False)
class GoalRow:
    """A goal that reactions fulfil, differentiated until accelerations appear.

    Parameters
    ----------
    name, kind, unit
        The goal's name, "holonomic", "nonholonomic" or "control", and its reaction's unit.
    chain
        The residual and its derivatives below the relative degree: the hidden constraints.
    jacobian, bias
        The derivative of that order is `jacobian @ v' + bias`; jacobian is (1, nv).
    rate
        The symbol of its feedback rate, 1/s.
    reaction
        The index of its own reaction; None if the forces direct the reactions.
    chosen_rate, scale
        The goal's own rate and scale; None for the defaults.
    from_start
        Whether the residual is measured from its value at the start, `reference_<name>`.
    at_start
        Whether a control system starts where the goal holds.
    typical
        For a goal that is singular at rest, the symbol of its typical influence, the reference for
        its grip; None for others.
    hold
        For a goal that is released at times, the symbol in p that is 1.0 while it holds and 0.0
        while its reaction is zero; chain, jacobian and bias contain it as a factor.
    bears_impulses
        Whether it holds in an impact that imposes other goals.
    posed
        For a goal that may follow from others, its monitored chain without the factor for its
        release, if it has one. None for others.
    """

    name: str
    kind: str
    unit: str
    chain: tuple[ca.SX, ...]
    jacobian: ca.SX
    bias: ca.SX
    rate: ca.SX
    reaction: int | None
    chosen_rate: float | None
    scale: float | None
    from_start: bool = False
    at_start: bool = False
    typical: ca.SX | None = None
    hold: ca.SX | None = None
    bears_impulses: bool = True
    posed: tuple[ca.SX, ...] | None = None

    @property
    def degree(self) -> int:
        """The relative degree."""
        return len(self.chain)

    @property
    def links(self) -> dict[str, ca.SX]:
        """The residual and its derivatives below the relative degree, by name, lowest first."""
        chain = self.chain if self.posed is None else self.posed
        names = list(itertools.accumulate(chain, lambda n, _: velocity_name(n), initial=self.name))
        return dict(zip(names, chain, strict=False))


@dataclass(frozen=True, eq=False)
class RelationRow:
    """A relation `jacobian @ u + offset = 0` between reactions; jacobian is (1, nu)."""

    name: str
    jacobian: ca.SX
    offset: ca.SX
    scale: float | None


@dataclass(frozen=True, eq=False)
class ImplicitRow:
    """An equation of an implicit unknown; its residual g obeys g' = -rate g."""

    name: str
    residual: ca.SX
    rate: ca.SX
    chosen_rate: float | None
    scale: float | None


@dataclass(frozen=True, eq=False)
class InvariantRow:
    """A conserved quantity.

    Parameters
    ----------
    value
        The quantity as a function of time and state.
    jacobian, bias
        Its rate is `jacobian @ v' + bias`.
    twice_kinetic
        v . M v for the automatic invariant, whose gradient M v needs no projection.
    on, drive, automatic
        As in `Invariant`; and whether the library added it.
    rate, reference, floor
        Symbols: feedback rate, value to hold, and a term that bounds the correction where the
        gradient vanishes.
    note
        A remark for the reader of the report.
    doubt
        Why samples cannot show that it is conserved: forces or an explicit time that may act where
        no sample lies. Empty if only reactions act.
    by_relation
        Whether a relation between reactions drives it.
    fixed
        The value to hold, if it differs from the value at the start.
    """

    name: str
    value: ca.SX
    jacobian: ca.SX
    bias: ca.SX
    twice_kinetic: ca.SX | None
    on: str
    drive: bool
    automatic: bool
    rate: ca.SX
    reference: ca.SX
    floor: ca.SX
    chosen_rate: float | None
    scale: float | None
    note: str = ""
    doubt: str = ""
    by_relation: bool = False
    fixed: float | None = None

    @property
    def held(self) -> ca.SX:
        """The source of its reference: its current value, or the known one."""
        return self.value if self.fixed is None else ca.SX(self.fixed)


@dataclass(frozen=True, eq=False)
class ResetRow:
    """The changes at an event, in the symbols of the equations.

    Parameters
    ----------
    fired
        Which of the event's guards passed: a column of symbols that are 1.0 or 0.0.
    states, values
        New states by their index in x, and new discrete values by name.
    imposed
        The names of the goals whose constraints are imposed; none if velocities are not projected.
    momentary
        Constraints that hold only for the instant.
    restitution
        The fraction of the approach speed after imposed constraints.
    sequential
        Whether constraints of several guards are imposed one after another.
    energies
        T before and after, and the energy of the lost velocities, if the changes are an impact;
        otherwise empty.
    """

    fired: ca.SX
    states: Mapping[int, ca.SX]
    values: Mapping[str, ca.SX]
    imposed: tuple[str, ...]
    momentary: tuple[GoalRow, ...]
    restitution: ca.SX
    sequential: bool
    energies: tuple[ca.SX, ...] = ()


@dataclass(frozen=True, eq=False)
class Dynamics:
    """The equations of a system, symbolic and not yet eliminated.

    Parameters
    ----------
    labels
        Names and units.
    t, x, p
        Symbols: time, the state (positions, implicit unknowns, velocities), and every number that
        may vary between runs, named in `values`.
    values
        The names of p and their defaults: parameters, discrete values, and values of `ValueKind`.
    ranges
        The ranges of the parameters.
    position_count
        The number of states that are positions (including implicit unknowns).
    position_rates
        q' and s'.
    mass, force, influence
        M, h and B.
    reactions
        u.
    relations, rows, implicit_rows, invariants
        The goals.
    outputs, events
        Computed and watched quantities, as functions of (t, x, p, u).
    resets, discrete
        The changes at an event, by its index; the names of discrete values.
    kinetic
        The kinetic energy; None for a control system.
    potential
        The potential if the motion follows from both energies, otherwise None.
    independent
        The independent velocities given by the problem, linear in v.
    recovered
        Reactions that are not unknowns, as functions of (t, x, p, u).
    quadrature_count
        The number of positions, after the coordinates, that are quadratures.
    meters
        Powers, as functions of (t, x, p, u), whose integrals are outputs, with the units of the
        integrals.
    additions
        What features add.
    peaks
        Outputs whose largest magnitude is reported, within accepted steps as well.
    after
        For a goal, the velocities and goals that the elimination treats before its reaction.
    guess
        Near which a start is searched unless a run says otherwise, by state, as functions of p.
    switches
        The names of discrete values, and of the events that change them, that piecewise expressions
        add.
    alternatives
        The choice among dependent goals; None if all are kept.
    aside
        Goals that were omitted because they appear to follow from the others; they are monitored.
    inputs
        External actions, which a run gives.
    drives
        Tables and sampled laws.
    """

    labels: Labels
    t: ca.SX
    x: ca.SX
    p: ca.SX
    values: Mapping[str, float]
    ranges: Mapping[str, Interval]
    position_count: int
    position_rates: ca.SX
    mass: ca.SX
    force: ca.SX
    influence: ca.SX
    reactions: ca.SX
    rows: tuple[GoalRow, ...]
    relations: tuple[RelationRow, ...]
    implicit_rows: tuple[ImplicitRow, ...]
    invariants: tuple[InvariantRow, ...]
    outputs: Mapping[str, ca.SX]
    events: tuple[Event, ...]
    kinetic: ca.SX | None
    potential: ca.SX | None = None
    independent: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    recovered: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    quadrature_count: int = 0
    resets: Mapping[int, ResetRow] = field(default_factory=dict[int, ResetRow])
    discrete: tuple[str, ...] = ()
    meters: Mapping[str, tuple[ca.SX, str]] = field(default_factory=dict[str, tuple[ca.SX, str]])
    additions: tuple[Addition, ...] = ()
    peaks: tuple[str, ...] = ()
    after: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    guess: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    switches: tuple[str, ...] = ()
    alternatives: Alternatives | None = None
    aside: tuple[GoalRow, ...] = ()
    inputs: Inputs = NO_INPUTS
    drives: tuple[DriveRow, ...] = ()

    @property
    def velocities(self) -> ca.SX:
        """v, the part of the state that is not a position."""
        return self.x[self.position_count :]

    @property
    def coordinate_count(self) -> int:
        """The number of positions that are coordinates; these come first."""
        return self.position_count - len(self.implicit_rows) - self.quadrature_count

    @property
    def velocity_count(self) -> int:
        """The number of velocities."""
        return self.x.numel() - self.position_count

    @cached_property
    def idle_velocities(self) -> tuple[int, ...]:
        """Velocities that are constant by structure: no force, no reaction, no constraint.

        v' = 0 is integrated without error, so they do not contribute to the error of an invariant.
        """
        mass = entries_of(self.mass)
        moved = {k for k in range(self.velocity_count) if not is_zero(self.force[k])}
        moved |= set(entries_of(self.influence))
        moved |= {k for row in self.rows for k in entries_of(row.jacobian.T)}
        while reached := {k for k in mass if k not in moved and not moved.isdisjoint(mass[k])}:
            moved |= reached
        return tuple(k for k in range(self.velocity_count) if k not in moved)

    @property
    def gradients(self) -> ca.SX:
        """J, the gradients of the goals, (goals, nv)."""
        return ca.vertcat(ca.SX(0, self.velocity_count), *[row.jacobian for row in self.rows])

    @property
    def moving_velocities(self) -> ca.SX:
        """The velocities, with zeros for the idle ones."""
        moving = ca.SX(self.velocities)
        for k in self.idle_velocities:
            moving[k] = 0
        return moving

    def pushed_gradient(self, row: InvariantRow) -> ca.SX:
        """Return the gradient along which an invariant is driven, (1, nv).

        It omits the idle velocities, because correcting them would introduce an error there that
        persists. All invariants omit them: if several are driven at once, their products in the
        metric are definite only if all do.
        """
        gradient = ca.SX(row.jacobian)
        for k in self.idle_velocities:
            gradient[0, k] = 0
        return gradient

    @property
    def posed_ranges(self) -> dict[str, Interval]:
        """The ranges of parameters and discrete values, without those that the library adds."""
        added = {*self.switches}
        added.update(name for addition in self.additions for name in addition.added_values)
        added.update(name for row in self.drives for name in row.values)
        return {name: range_ for name, range_ in self.ranges.items() if name not in added}

    @cached_property
    def unilateral(self) -> tuple[UnilateralRow, ...]:
        """The goals whose reactions can only push."""
        return tuple(row for addition in self.additions for row in addition.unilateral)

    @property
    def shares_loads(self) -> bool:
        """Whether goals may come to share a load that nothing determines."""
        return any(row.shares_loads for row in self.unilateral)

    @property
    def needs_own_units(self) -> bool:
        """Whether the states must stay in the units of the system; see `Addition`."""
        return any(addition.needs_own_units for addition in self.additions)

    @cached_property
    def hidden_events(self) -> frozenset[str]:
        """The names of internal events, which are not listed."""
        unlisted = (event.name for event in self.events if not event.listed)
        return frozenset(unlisted).union(*(addition.hidden_events for addition in self.additions))

    @property
    def goal_names(self) -> tuple[str, ...]:
        """Every goal's name, in the order of the reports."""
        groups = (self.rows, self.implicit_rows, self.relations, self.invariants)
        return tuple(row.name for group in groups for row in group)

    def value_vector(self, overrides: Mapping[str, float]) -> np.ndarray:
        """Return p as numbers: the defaults, with some overridden by name."""
        check_names("value", overrides, self.values)
        return np.array([overrides.get(name, value) for name, value in self.values.items()])

    def lasting(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the values of p that no mode changes, by name: the parameters.

        Discrete values, references and rates may change during a run.
        """
        return {n: values[n] for n in self.ranges if n in values and n not in self.discrete}

    @cached_property
    def holds(self) -> dict[str, int]:
        """The indices in p of the values that hold goals released at times, by goal."""
        names = list(self.values)
        return {row.name: names.index(row.hold.name()) for row in self.rows if row.hold is not None}

    def all_held(self, p: np.ndarray) -> np.ndarray:
        """Return p with every goal held that may be released."""
        places = [*self.holds.values()]
        if not places:
            return p
        p = p.copy()
        p[places] = 1.0
        return p

    def in_motion(self, p: np.ndarray) -> np.ndarray:
        """Return p with everything that may rub in motion, against friction."""
        for addition in self.additions:
            p = addition.in_motion(p)
        return p

    def in_mode(self, p: np.ndarray) -> Dynamics:
        """Return the equations without the goals that p releases; their reactions stay."""
        holds = self.holds
        free = {name for name, place in holds.items() if p[place] == 0.0}
        if not free:
            return self
        return replace(self, rows=tuple(row for row in self.rows if row.name not in free))

    def without_feedback(self, expression: ca.SX) -> ca.SX:
        """Write an expression of (t, x, p) in parameters and discrete values only.

        Feedback rates, references and all other values that the library adds to p become zero.
        """
        added = self.p[len(self.ranges) :]
        return ca.substitute(expression, added, ca.SX.zeros(*added.shape))

    def ideal(self) -> Dynamics:
        """Return the equations with only one reaction, along the gradient, for each goal."""
        rows = tuple(replace(row, reaction=index) for index, row in enumerate(self.rows))
        return replace(
            self,
            rows=rows,
            relations=(),
            reactions=symbol("push", len(rows)),
            influence=self.gradients.T,
        )

    def shown_by(self, write: Callable[[ca.SX], ca.SX]) -> Dynamics:
        """Return the equations with other expressions for all that is shown and watched."""
        return replace(
            self,
            outputs={name: write(value) for name, value in self.outputs.items()},
            recovered={name: write(value) for name, value in self.recovered.items()},
            meters={name: (write(power), unit) for name, (power, unit) in self.meters.items()},
            events=tuple(replace(event, guard=write(event.guards)) for event in self.events),
        )

    def function(
        self, name: str, *outputs: ca.SX, further: Sequence[ca.SX] = (), share: bool = True
    ) -> ca.Function:
        """Return (t, x, p, further symbols) -> dense outputs; `share` as in `function_of`."""
        names = ["t", "x", "p", *[f"further_{k}" for k in range(len(further))]]
        shown = [f"output_{k}" for k in range(len(outputs))]
        inputs = [self.t, self.x, self.p, *further]
        return function_of(name, inputs, outputs, (names, shown), share=share)

    def arrays(self, name: str, *outputs: ca.SX, share: bool = True) -> ArrayFunction:
        """Return (t, x, p) -> arrays."""
        return ArrayFunction(name, [self.t, self.x, self.p], outputs, share=share)

    @cached_property
    def matrices(self) -> Callable[..., dict[str, np.ndarray]]:
        """(t, x, p) -> M, h, B, J, b, D, e and the rates of the positions, as arrays."""
        count = self.reactions.numel()
        ties = ca.vertcat(ca.SX(0, count), *[row.jacobian for row in self.relations])
        offsets = ca.vertcat(ca.SX(0, 1), *[row.offset for row in self.relations])
        parts = {
            "mass": self.mass,
            "force": self.force,
            "influence": self.influence,
            "jacobian": self.gradients,
            "bias": ca.vertcat(ca.SX(0, 1), *[row.bias for row in self.rows]),
            "ties": ties,
            "offsets": offsets,
            "position_rates": self.position_rates,
        }
        function = self.arrays("matrices", *parts.values())

        def evaluate(t: float, x: np.ndarray, p: np.ndarray) -> dict[str, np.ndarray]:
            return dict(zip(parts, function(t, x, p), strict=True))

        return evaluate
