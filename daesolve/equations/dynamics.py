"""What every system becomes: one linear system for accelerations and reactions.

    M v' - B u = h            motion freed of its constraints, u the reactions
    J v' + b   = 0            each goal, differentiated until v' appears
    D u  + e   = 0            relations between reactions

with positions (q, s), q' = S v and s' tracking the implicit equations. A `ControlSystem` is the
same with M = 1, no positions and v its whole state.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import ArrayFunction
from daesolve.algebra.linear import entries_of, is_zero
from daesolve.equations.contact_rows import ContactRow
from daesolve.equations.drive_rows import DriveRow
from daesolve.errors import unknown_name
from daesolve.posing.events import Event
from daesolve.posing.guides import OF_THEIR_OWN, Guides
from daesolve.posing.inputs import NO_INPUTS, Inputs
from daesolve.posing.symbols import Interval, Labels, velocity_name
from daesolve.posing.value_names import ValueKind


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
        The index of its own reaction, None where reactions are directed by the forces.
    chosen_rate, scale
        The goal's own rate and scale, None where the defaults hold.
    from_start
        Whether the residual is measured from its value at the start, `reference_<name>`.
    at_start
        Whether a control system starts where it is met.
    typical
        For a goal that is singular at rest, the symbol of its typical influence, against which its
        grip is measured; None for others.
    hold
        For a goal that is let go of at times, the symbol among p that is 1.0 while it holds and
        0.0 while its reaction is zero; chain, jacobian and bias carry it as a factor.
    posed
        For a goal that may follow from others, its chain without the factor by which it is let go
        of, if it has one: what is watched. None for others.
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
        v . M v for the automatic one, whose gradient M v needs no projection.
    on, drive, automatic
        As in `Invariant`; whether the library added it.
    rate, reference, floor
        Symbols: feedback rate, value to hold, and what keeps the correction bounded where the
        gradient vanishes.
    note
        What a reader of the report should know about it.
    doubt
        Why samples cannot show that it is conserved: forces or an explicit time that may act
        where no sample lies. Empty where nothing but reactions acts.
    by_relation
        Whether a relation between reactions drives it.
    fixed
        The value to hold, where that is not the one at the start.
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
        """What its reference is taken from: its value now, or the one that is known."""
        return self.value if self.fixed is None else ca.SX(self.fixed)


@dataclass(frozen=True, eq=False)
class ResetRow:
    """What changes at an event, in the symbols of the equations.

    Parameters
    ----------
    fired
        Which of the event's guards passed, a column of symbols that are 1.0 or 0.0.
    states, values
        New states by their index in x, and new discrete values by name.
    imposed
        The names of the goals whose constraints are imposed; none where velocities are not
        projected.
    momentary
        Constraints that hold for the instant alone.
    restitution
        With what part of the speed imposed constraints are left.
    sequential
        Whether what several guards ask for is imposed one after the other.
    energies
        T before and after, and that of the lost velocities, where the changes are an impact; or
        nothing.
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
class Alternatives:
    """Goals that depend on each other, of which some are kept at a time.

    Parameters
    ----------
    groups, surplus
        Their names, group by group, and how many of each are left out.
    dropped
        (times, states, p) -> the goals that are best left out, from here, the first state, along a
        path, (k,) and (k, nx).
    settled
        (time, states, p) -> the nearest states that meet all goals, those left out as well.
    directed
        What reactions do beside acting along the gradients of their goals, (nv, nu), where a load
        is shared among all of a group; None where those that are kept carry it.
    """

    groups: tuple[tuple[str, ...], ...]
    surplus: tuple[int, ...]
    dropped: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[str, ...]]
    settled: Callable[[float, np.ndarray, np.ndarray], np.ndarray]
    directed: ca.SX | None = None

    @property
    def shared(self) -> bool:
        """Whether a load is shared among all of a group."""
        return self.directed is not None

    def values(self, dropped: Collection[str]) -> dict[str, float]:
        """Return the discrete values that keep all of them but some."""
        kept = ValueKind.KEPT.name_of
        return {kept(name): float(name not in dropped) for own in self.groups for name in own}


@dataclass(frozen=True, eq=False)
class Dynamics:
    """The equations of a system, symbolic and not yet eliminated.

    Parameters
    ----------
    labels
        Names and units.
    t, x, p
        Symbols: time, the state (positions, implicit unknowns, velocities), and every number that
        may vary between runs, by the names in `values`.
    values
        The names of p and their defaults: parameters, discrete values, and those of `ValueKind`.
    ranges
        The ranges of the parameters.
    position_count
        How many of the states are positions (implicit unknowns included).
    position_rates
        q' and s'.
    mass, force, influence
        M, h and B.
    reactions
        u.
    relations, rows, implicit_rows, invariants
        The goals.
    outputs, events
        What is computed and watched, as functions of (t, x, p, u).
    resets, discrete
        What changes at an event, by its index; the names of discrete values.
    kinetic
        The kinetic energy, None for a control system.
    potential
        The potential where the motion follows from both energies, else None.
    independent
        Velocities by which the problem would have all others expressed, linear in v.
    recovered
        Reactions that are no unknowns, as functions of (t, x, p, u).
    quadrature_count
        How many of the positions, behind the coordinates, are quadratures.
    meters
        Powers, as functions of (t, x, p, u), whose integrals are outputs, each with the unit of its
        integral.
    guides
        Supports of which it is unknown which are loaded; None where there are none.
    contacts
        The supports that can only push.
    peaks
        Outputs whose largest magnitude over every accepted step is reported.
    after
        By goal, the velocities and goals after which the elimination may take its reaction.
    switches
        The names of discrete values, and of the events that change them, which piecewise
        expressions have brought in.
    alternatives
        What chooses among goals that depend on each other; None where all are kept.
    aside
        Goals that were left out, since they seemed to follow from the others: they are watched.
    inputs
        What acts from outside, which a run gives.
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
    guides: Guides | None = None
    contacts: tuple[ContactRow, ...] = ()
    peaks: tuple[str, ...] = ()
    after: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    switches: tuple[str, ...] = ()
    alternatives: Alternatives | None = None
    aside: tuple[GoalRow, ...] = ()
    inputs: Inputs = NO_INPUTS
    drives: tuple[DriveRow, ...] = ()

    @property
    def velocities(self) -> ca.SX:
        """v, the part of the state that is no position."""
        return self.x[self.position_count :]

    @property
    def coordinate_count(self) -> int:
        """The number of positions that are coordinates, which come first."""
        return self.position_count - len(self.implicit_rows) - self.quadrature_count

    @property
    def velocity_count(self) -> int:
        """The number of velocities."""
        return self.x.numel() - self.position_count

    @cached_property
    def idle_velocities(self) -> tuple[int, ...]:
        """Velocities that nothing changes, by structure: no force, no reaction, no constraint.

        v' = 0 is integrated without an error: what is amiss with an invariant is not theirs.
        """
        mass = entries_of(self.mass)
        moved = {k for k in range(self.velocity_count) if not is_zero(self.force[k])}
        moved |= set(entries_of(self.influence))
        moved |= {k for row in self.rows for k in entries_of(row.jacobian.T)}
        while reached := {k for k in mass if k not in moved and not moved.isdisjoint(mass[k])}:
            moved |= reached
        return tuple(k for k in range(self.velocity_count) if k not in moved)

    @property
    def moving_velocities(self) -> ca.SX:
        """The velocities, with zeros for the idle ones."""
        moving = ca.SX(self.velocities)
        for k in self.idle_velocities:
            moving[k] = 0
        return moving

    def pushed_gradient(self, row: InvariantRow) -> ca.SX:
        """Return the gradient along which an invariant is driven, (1, nv).

        It leaves out the idle velocities: to push them as well would put the others' error where
        there is none, and where it stays. So do all invariants, of which several are driven at
        once: their products with each other in the metric are definite only if all of them do.
        """
        gradient = ca.SX(row.jacobian)
        for k in self.idle_velocities:
            gradient[0, k] = 0
        return gradient

    @property
    def posed_ranges(self) -> dict[str, Interval]:
        """The ranges of parameters and discrete values, without those that the library adds."""
        added = {*self.switches, *(() if self.guides is None else self.guides.values.names)}
        added.update(name for row in self.drives for name in row.values)
        return {name: range_ for name, range_ in self.ranges.items() if name not in added}

    @cached_property
    def hidden_events(self) -> frozenset[str]:
        """The names of events that only keep account of the motion, and are not written down."""
        own = frozenset[str]() if self.guides is None else OF_THEIR_OWN
        return own | {event.name for event in self.events if not event.listed}

    @property
    def goal_names(self) -> tuple[str, ...]:
        """Every goal's name, in the order of the reports."""
        groups = (self.rows, self.implicit_rows, self.relations, self.invariants)
        return tuple(row.name for group in groups for row in group)

    def value_vector(self, overrides: Mapping[str, float]) -> np.ndarray:
        """Return p as numbers: the defaults, some of them overridden by name."""
        for name in overrides:
            if name not in self.values:
                raise unknown_name("value", name, self.values)
        return np.array([overrides.get(name, value) for name, value in self.values.items()])

    def lasting(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the values of p that no mode changes, by name: those of the parameters.

        Discrete values, references and rates may change on the way.
        """
        changing = {*self.discrete, *(list(self.values)[row.hold] for row in self.contacts)}
        if self.guides is not None:
            changing.update(self.guides.values.names)
        return {n: values[n] for n in self.ranges if n in values and n not in changing}

    def _holds(self) -> dict[str, int]:
        """Return the places among p of what holds goals that are let go of at times, by goal."""
        names = list(self.values)
        return {row.name: names.index(row.hold.name()) for row in self.rows if row.hold is not None}

    def all_held(self, p: np.ndarray) -> np.ndarray:
        """Return p with every goal held that is let go of at times."""
        places = [*self._holds().values()]
        if not places:
            return p
        p = p.copy()
        p[places] = 1.0
        return p

    def all_rubbing(self, p: np.ndarray) -> np.ndarray:
        """Return p with every contact closed, and sliding where it rubs."""
        p = p.copy()
        for row in self.contacts:
            p[row.hold] = 1.0
            if row.rubbing is not None:
                p[row.rubbing.slides], p[[*row.rubbing.holds]] = 1.0, 0.0
        return p

    def in_mode(self, p: np.ndarray) -> Dynamics:
        """Return the equations without the goals that p lets go of; their reactions stay."""
        holds = self._holds()
        free = {name for name, place in holds.items() if p[place] == 0.0}
        if not free:
            return self
        return replace(self, rows=tuple(row for row in self.rows if row.name not in free))

    def without_feedback(self, expression: ca.SX) -> ca.SX:
        """Write an expression of (t, x, p) in parameters and discrete values alone.

        Rates of feedback, references and whatever else the library adds to p become zero.
        """
        added = self.p[len(self.ranges) :]
        return ca.substitute(expression, added, ca.SX.zeros(*added.shape))

    @cached_property
    def matrices(self) -> Callable[..., dict[str, np.ndarray]]:
        """(t, x, p) -> M, h, B, J, b, D, e and the rates of the positions, as arrays."""
        rows = ca.vertcat(ca.SX(0, self.velocity_count), *[row.jacobian for row in self.rows])
        biases = ca.vertcat(ca.SX(0, 1), *[row.bias for row in self.rows])
        count = self.reactions.numel()
        ties = ca.vertcat(ca.SX(0, count), *[row.jacobian for row in self.relations])
        offsets = ca.vertcat(ca.SX(0, 1), *[row.offset for row in self.relations])
        parts = {
            "mass": self.mass,
            "force": self.force,
            "influence": self.influence,
            "jacobian": rows,
            "bias": biases,
            "ties": ties,
            "offsets": offsets,
            "position_rates": self.position_rates,
        }
        function = ArrayFunction("matrices", [self.t, self.x, self.p], list(parts.values()))

        def evaluate(t: float, x: np.ndarray, p: np.ndarray) -> dict[str, np.ndarray]:
            return dict(zip(parts, function(t, x, p), strict=True))

        return evaluate
