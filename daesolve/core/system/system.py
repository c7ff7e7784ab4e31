"""Systems as users pose them: mechanics by Lagrange or Newton-Euler, and control systems."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.features import Extended, added
from daesolve.core.posing.events import Event, joined
from daesolve.core.posing.goals import (
    Expression,
    Goal,
    Holonomic,
    Implicit,
    Nonholonomic,
    Relation,
    as_scalar,
)
from daesolve.core.posing.symbols import DifferentiableVector
from daesolve.core.results.displayable import Displayable
from daesolve.core.system.checking import (
    check_degrees,
    check_entries,
    check_goals,
    check_names,
    check_reactions,
    check_symbols,
    check_vectors,
    expressions_of,
)
from daesolve.core.system.drives import take_drives
from daesolve.core.system.equations_of_motion import control_equations, equations_of_motion
from daesolve.core.system.named_forces import by_velocity
from daesolve.core.system.posed import (
    Forces,
    Output,
    PosedControl,
    PosedMechanics,
    is_empty,
    outputs_changed,
)
from daesolve.core.system.rows import check_resets
from daesolve.errors import PosingError

__all__ = ["ControlSystem", "Forces", "MechanicalSystem", "Output", "System"]

METHODS = "methods of systems"
"""The point at which features add methods."""
PAIRS = "pairs of systems"
"""The point at which a feature poses what is handed over as `pairs`."""


@dataclass(frozen=True, eq=False)
class MechanicalSystem(PosedMechanics, Extended, Displayable, point=METHODS):
    """A constrained mechanical system.

    If the mass matrix is given, the equations are `mass_matrix @ v' = force` (Newton-Euler).
    Otherwise they are Lagrange's, or Hamel's in quasi-velocities.

    Parameters
    ----------
    coordinates
        q, from `coordinates`.
    parameters
        Numbers that may vary from run to run without recompiling.
    kinetic, potential
        T(t, q, v) and V(t, q), in J.
    mass_matrix
        (nv, nv). With it, `kinetic` is optional and defines the energy to be monitored.
    gyroscopic
        With a mass matrix: inertial forces that do no work, such as -w x I w in body axes, given
        like `force`; or, if the mass matrix depends on the positions, inertial forces that conserve
        v . M v / 2.
    goals
        Constraints, implicit equations, relations between reactions, invariants.
    force
        Generalised forces by the name of a coordinate or a velocity, or as a column, one for each
        velocity. Their power is force times rate: with quasi-velocities v, q' = S v, a force on a
        coordinate acts as S^T force. They may contain time, states, parameters and, linearly,
        reactions.
    implicit, reactions, discrete
        Massless unknowns; reactions whose directions follow from where they enter `force`; discrete
        values. Each may be a list of several, such as those of friction laws.
    velocities, kinematics
        Quasi-velocities v and q' = S(q) v as a column.
    auxiliaries
        Names for expressions of time and positions, from `auxiliaries`.
    independent
        For the formulation `null-space`: as many velocities as the constraints leave, by name and
        linear in v, such as the speed and rate of turn of a vehicle.
    quadratures, integrands
        Quantities integrated along the motion, from `states`, and their rates by name or as a
        column: the angle of a wheel, work. They are states of the run. Forces, events, outputs and
        invariants may contain them; energies and constraints may not.
    events
        The events to watch for.
    outputs
        Further quantities by name: an expression, or (expression, unit).
    meters
        Powers by name, which may contain reactions: (expression, unit of the integral). The
        integral since the start is an output of this name.
    pairs
        Pairs of supports that hold the body when it is unknown which of them are loaded. They keep
        an equal number of constraints, posed with `ideal=False`.
    peaks
        Names of outputs whose largest magnitude a run reports, within accepted steps as well.
    switches
        Whether piecewise expressions switch modes at instants that solvers find (see `smooth`). If
        False, they stay unchanged and steps cross jumps and kinks.
    switching
        The switches; the library fills this in.
    inputs
        External actions, from `inputs`; forces, goals, events and outputs may contain them.
    drives, additions
        What tables and sampled laws add, and features; the library fills these in.
    after
        For a goal, by name: the velocities (of those in the goal) and goals that the elimination
        treats before its reaction. The reaction must influence what these leave, wherever the
        motion goes. By default, all velocities in the goal.
    guess
        Numbers or expressions of parameters, by state: near them a start is searched where neither
        `initial` nor `guess` of a run has the state. By default 0.
    recovered
        Reactions that are not unknowns, such as those of eliminated constraints, by name: an
        expression of time, states and reactions, or (expression, unit).
    notes
        A list of sentences to add to the notes of every run.

    Raises
    ------
    PosingError
        The system is not meaningful as posed; the message names the goal or the name at fault.
    UndefinedDegreeError, NoInfluenceError
        A goal has no relative degree, or no reaction influences it.

    Notes
    -----
    The automatic invariant is Jacobi's integral v . dL/dv - L, unless a goal is called `energy` or
    `jacobi_integral`. Before a run, the library proves that it is conserved, or refutes this at
    consistent states, or else assumes conservation and monitors the invariant.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m")
    >>> p = ds.parameters(length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    >>> rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    >>> pendulum = ds.MechanicalSystem(
    ...     q,
    ...     p,
    ...     kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
    ...     potential=p.gravity * q.y,
    ...     goals=[rod],
    ...     outputs={"tension": (-2 * p.length * rod.reaction, "N")},
    ... )
    >>> run = ds.solve(pendulum, until=10.0, initial={"x": 1.0}, guess={"y": 0.0})
    >>> run.drift["energy"].max_relative < 1e-9
    True
    >>> print(f"{run['tension'].max():.2f} N")  # three times the weight
    29.43 N
    """

    def __post_init__(self) -> None:
        if not isinstance(self.coordinates, DifferentiableVector) or not len(self.coordinates):
            raise PosingError(
                f"coordinates must be at least one, from coordinates(), not {self.coordinates!r}"
            )
        as_scalar("the potential", self.potential)
        if self.kinetic is not None:
            as_scalar("the kinetic energy", self.kinetic)
        if self.kinetic is None and self.mass_matrix is None:
            raise PosingError("give kinetic (Lagrange) or mass_matrix (Newton-Euler)")
        if self.mass_matrix is None and not is_empty(self.gyroscopic):
            raise PosingError(
                "gyroscopic forces need a mass matrix: a kinetic energy already determines them"
            )
        if (self.velocities is None) != (self.kinematics is None):
            raise PosingError("quasi-velocities need both velocities= and kinematics=")
        if self.kinematics is not None and not isinstance(self.kinematics, ca.SX):
            raise PosingError("kinematics must be q' as a column: a CasADi SX, S @ v.vector")
        self._take_forces()
        check_entries(self.goals, self.events)
        self._complete()
        own = (self.parameters, self.discrete, self.reactions, self.implicit, self.quadratures)
        check_vectors([*own, self.v])
        take_drives(self)
        posed = self.posed
        check_names(
            [
                self.parameters,
                self.inputs,
                posed.discrete,
                self.coordinates,
                self.v,
                self.implicit,
                self.quadratures,
                posed.reactions,
            ],
            self.goals,
            posed.events,
            self.outputs,
            self.recovered,
            posed.meters,
        )
        moving = [self.coordinates.dot.vector, self.implicit.dot.vector]
        moving.append(self.auxiliaries.dot.vector)
        if self.velocities is not None:
            moving.append(self.velocities.vector)
        check_goals(self.goals, ca.vertcat(*moving))
        dynamics = self.dynamics
        known = ca.vertcat(dynamics.t, dynamics.x, dynamics.p, dynamics.reactions)
        check_symbols(expressions_of(dynamics), known)
        check_reactions(dynamics)
        check_degrees(dynamics)
        check_resets(dynamics)
        _ = self.digest

    def _take_forces(self) -> None:
        """Let forces have the names of velocities, whatever they were named after."""
        for name, owner in (("force", "the force"), ("gyroscopic", "the gyroscopic force")):
            given: Forces = getattr(self, name)
            if isinstance(given, Mapping):
                named = by_velocity(
                    owner, given, self.coordinates, self.velocities, self.kinematics
                )
                object.__setattr__(self, name, named)

    def _complete(self) -> None:
        """Add what goals bring along: values, events, further goals, outputs."""
        points = (goal.completed_at for goal in self.goals if isinstance(goal, Goal))
        for point in dict.fromkeys(point for point in points if point):
            for complete in added(point):
                for name, value in complete(self).items():
                    object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return _in_short(self, self.coordinates.names)

    @cached_property
    def posed(self) -> MechanicalSystem:
        """The system with what features add to it, and its piecewise expressions."""
        for pose in self._posers:
            if (whole := pose(self)) is not self:
                return whole.posed
        return _switched(self)

    @property
    def _posers(self) -> Iterator[Callable[[MechanicalSystem], MechanicalSystem]]:
        """What features register for such goals, and for `pairs`."""
        points = (goal.posed_at for goal in self.goals if isinstance(goal, Goal))
        for point in dict.fromkeys(point for point in points if point):
            yield from added(point)
        if self.pairs != ():
            posers = added(PAIRS)
            if not posers:
                raise PosingError("no feature poses pairs: leave out pairs, or add the feature")
            yield from posers

    @cached_property
    def dynamics(self) -> Dynamics:
        """The equations, symbolic and not yet eliminated."""
        return equations_of_motion(self) if self.posed is self else self.posed.dynamics

    def without(self, names: Iterable[str]) -> MechanicalSystem:
        """Return the system without some goals; their reactions are zero wherever they occur."""
        dropped = set(names)
        gone = [
            goal.reaction
            for goal in self.goals
            if isinstance(goal, Goal) and goal.ideal and goal.name in dropped
        ]
        reactions = ca.vertcat(ca.SX(0, 1), *gone)

        def freed(expression: Expression) -> ca.SX:
            return ca.substitute(ca.SX(expression), reactions, ca.SX.zeros(*reactions.shape))

        force = self.force
        if isinstance(force, Mapping):
            force = {name: freed(value) for name, value in force.items()}
        elif isinstance(force, ca.SX):
            force = freed(force)
        else:
            force = [freed(value) for value in force]
        return replace(
            self,
            force=force,
            goals=tuple(
                replace(goal, residual=freed(goal.residual)) if isinstance(goal, Relation) else goal
                for goal in self.goals
                if goal.name not in dropped
            ),
            events=tuple(_without(event, dropped, freed, self) for event in self.events),
            outputs=outputs_changed(freed, self.outputs),
            recovered=outputs_changed(freed, self.recovered),
            meters=outputs_changed(freed, self.meters),
            after={
                name: [other for other in before if other not in dropped]
                for name, before in self.after.items()
                if name not in dropped
            },
        )


@dataclass(frozen=True, eq=False)
class ControlSystem(PosedControl, Extended, Displayable, point=METHODS):
    """x' = f(t, x) + G(t, x) u with goals that the controls u fulfil.

    Parameters
    ----------
    states
        x, from `states`.
    rate
        x' by the name of a state or as a column; linear in the controls.
    parameters, discrete, events, outputs, switches, switching, inputs, drives, notes
        As in `MechanicalSystem`.
    controls
        u, from `reactions`.
    goals
        `Goal`s (Lie derivatives give their relative degrees), `Relation`s, `Invariant`s.

    Raises
    ------
    PosingError, UndefinedDegreeError, NoInfluenceError
        As in `MechanicalSystem`.

    Examples
    --------
    A cart follows sin t from its initial position:

    >>> import casadi as ca
    >>> import daesolve as ds
    >>> x, u = ds.states(position="m", speed="m/s"), ds.reactions(force="N")
    >>> track = ds.Goal("track", x.position - ca.sin(ds.time))
    >>> rate = {"position": x.speed, "speed": u.force / 2.0}
    >>> cart = ds.ControlSystem(x, rate, controls=u, goals=[track])
    >>> run = ds.solve(cart, until=5.0)
    >>> abs(run.end_state["position"] - float(ca.sin(5.0))) < 1e-9
    True
    """

    def __post_init__(self) -> None:
        check_entries(self.goals, self.events)
        check_vectors([self.parameters, self.discrete, self.states, self.controls])
        take_drives(self)
        vectors = [self.parameters, self.inputs, self.discrete, self.states, self.controls]
        own = [replace(goal, ideal=False) for goal in self.goals if isinstance(goal, Goal)]
        check_names(vectors, own, self.events, self.outputs, {}, {})
        for goal in self.goals:
            if isinstance(goal, Implicit | Holonomic | Nonholonomic):
                raise PosingError(
                    f"goal {goal.name!r} of a control system must be a Goal, a Relation or an "
                    f"Invariant, not {type(goal).__name__}"
                )
        check_reactions(self.dynamics)
        check_degrees(self.dynamics)
        check_resets(self.dynamics)
        _ = self.digest

    def __repr__(self) -> str:
        return _in_short(self, self.states.names)

    @cached_property
    def posed(self) -> ControlSystem:
        """The system with the parts that its piecewise expressions add."""
        return _switched(self)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The equations, symbolic and not yet eliminated."""
        return control_equations(self) if self.posed is self else self.posed.dynamics

    def without(self, names: Iterable[str]) -> ControlSystem:
        """Return the system without some goals."""
        dropped = set(names)
        return replace(self, goals=tuple(goal for goal in self.goals if goal.name not in dropped))


System = MechanicalSystem | ControlSystem
_Posed = TypeVar("_Posed", bound=System)


def unswitched(system: _Posed) -> _Posed:
    """Return a system with its piecewise expressions as posed.

    Use it to evaluate expressions at single states, or to build new systems from the equations: no
    switch must then agree with a state or be known to the new system.
    """
    return replace(system, switches=False) if system.dynamics.switches else system


def _in_short(system: System, names: tuple[str, ...]) -> str:
    """Return a short form that distinguishes systems in a terminal."""
    goals = tuple(goal.name for goal in system.goals)
    return f"{type(system).__name__}({reprlib.repr(names)}, goals={reprlib.repr(goals)})"


def _without(
    event: Event, dropped: set[str], freed: Callable[[ca.SX], ca.SX], whole: MechanicalSystem
) -> Event:
    """Return an event without the dropped goals in its list of imposed ones.

    The event of a switch imposes the remaining goals that contain the switch.

    Raises
    ------
    PosingError
        It would no longer impose anything.
    """
    reset = event.then.reset
    if reset is not None and reset.impose and dropped.issuperset(reset.impose):
        if event.name in whole.switch_names:
            others = [goal for goal in whole.switched_goals(event.name) if goal not in dropped]
            return replace(event, then=joined([replace(reset, impose=others[:1])]))
        raise PosingError(
            f"the event {event.name!r} imposes only goals that are dropped as redundant, "
            f"{', '.join(map(repr, reset.impose))}: impose one that they depend on, or set "
            "redundant = 'minimum-norm'"
        )
    guard = freed(event.guards)
    if reset is None or dropped.isdisjoint(reset.impose):
        # Features know their events by being the same ones.
        return event if ca.is_equal(guard, event.guards, 1) else replace(event, guard=guard)
    left = replace(reset, impose=[goal for goal in reset.impose if goal not in dropped])
    parts = [left if part is reset else part for part in event.then.parts]
    return replace(event, guard=guard, then=joined(parts))


def _switched(system: _Posed) -> _Posed:
    """Return the system with the discrete values and the events of its switches, if it has any."""
    if system.switching is not None or not system.switches:
        return system
    found = system.found_switches()
    if found.plain:
        return system
    return replace(
        system,
        discrete=system.discrete.joined(found.values),
        events=(*system.events, *found.events),
        switching=found,
    )
