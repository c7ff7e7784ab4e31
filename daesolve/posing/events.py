"""What may happen to a system: guards that pass through zero, and what is done there.

Between events the motion is smooth; discrete values are constant. At an event they may change,
and so may the state: constraints that are imposed at once are an impact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, get_args

import casadi as ca

from daesolve.errors import PosingError
from daesolve.posing.goals import COMPARISONS, Expression, Goal, Holonomic, Nonholonomic, as_scalar

Changes = Mapping[str, Expression]
Energies = Sequence[Expression]
Order = Literal["simultaneous", "sequential"]


class Direction(Enum):
    """In which direction a guard must pass through zero to count."""

    FALLING = -1
    EITHER = 0
    RISING = 1


FALLING, EITHER, RISING = Direction.FALLING, Direction.EITHER, Direction.RISING


@dataclass(frozen=True, eq=False)
class Action:
    """What an event does; actions are joined by `|`."""

    @property
    def stops(self) -> bool:
        """Whether the run ends there."""
        return any(isinstance(part, Stop) for part in self.parts)

    @property
    def breakdown(self) -> str:
        """Why the motion cannot go on after the event, where it cannot."""
        return next((part.why for part in self.parts if isinstance(part, Stop)), "")

    @property
    def reset(self) -> Reset | None:
        """What changes there."""
        return next((part for part in self.parts if isinstance(part, Reset)), None)

    @property
    def counts_past(self) -> bool:
        """Whether it is done wherever the guard is past zero, and not only where it passes."""
        return any(getattr(part, "whenever_past", False) for part in self.parts)

    @property
    def series_vanish(self) -> bool:
        """Whether forces may be constant until then, so that the motion's series may end early."""
        return any(getattr(part, "forces_may_be_constant", False) for part in self.parts)

    @property
    def interrupts(self) -> bool:
        """Whether the smooth motion ends there, for a reset or for good."""
        return self.stops or self.reset is not None

    @property
    def parts(self) -> tuple[Action, ...]:
        """The actions that were joined."""
        return (self,)

    def __or__(self, other: Action) -> Action:
        if not isinstance(other, Action):
            raise PosingError(
                f"an event's actions are Stop(), Record() and Reset(...), not {other!r}"
            )
        return Joined((*self.parts, *other.parts))


@dataclass(frozen=True, eq=False)
class Joined(Action):
    """Several actions at one event: it is reset, then the run ends if one of them stops it."""

    actions: tuple[Action, ...]

    def __post_init__(self) -> None:
        if sum(isinstance(part, Reset) for part in self.actions) > 1:
            raise PosingError("an event can have only one Reset: put all changes into it")

    @property
    def parts(self) -> tuple[Action, ...]:
        """The actions that were joined."""
        return self.actions


def joined(actions: Sequence[Action]) -> Action:
    """Return several actions as one, in their order."""
    first, *others = actions
    for other in others:
        first = first | other
    return first


@dataclass(frozen=True, eq=False)
class Record(Action):
    """Write the event down and go on."""


@dataclass(frozen=True, eq=False)
class Stop(Action):
    """End the run at the event (which is written down as well).

    Parameters
    ----------
    why
        Where the equations do not determine how the motion goes on: why, as the rest of a
        sentence that begins with the time. The outcome is then `degenerate`, not
        `stopped_by_event`.
    whenever_past
        Whether the run ends wherever the guard is past zero, after a reset as well, and not only
        where it passes; a start there is refused.
    """

    why: str = ""
    whenever_past: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.why, str):
            raise PosingError(f"the reason why a run stops for good must be text, not {self.why!r}")


@dataclass(frozen=True, eq=False)
class Reset(Action):
    """Change discrete values and the state at once, and impose constraints: an impact.

    Parameters
    ----------
    changes
        Expressions of time, states, parameters and discrete values before the event, by the name
        of a state or of a discrete value; what is not named keeps its value. Where it depends on
        which guards of a vector passed, a function of these: a column of 1.0 and 0.0.
    impose
        Goals whose constraint on velocities is imposed at once, by name; or constraints that are
        no goals of the system, which hold for the instant alone (a floor). Then all velocities
        are projected in the metric of the masses,

            v+ = v - M^-1 J^T (J M^-1 J^T)^-1 (J v + b),

        J v + b = 0 all constraints of the system after the changes, and those imposed.
    restitution
        e, a number or an expression of parameters: imposed constraints leave with -e times the
        speed with which they are met (Newton's law).
    order
        "simultaneous" imposes what several guards ask for at one instant together, "sequential"
        one after the other, in the order of the guards. These are different models of an impact.
    energies
        Where the changes of velocities are an impact themselves, as in coordinates that leave
        constraints out: T before, T after, and the energy of the velocities that are lost, in J.
        They are what records of events report of impacts; as expressions, or as a function of which
        guards passed.
    whenever_past
        Whether the guard says that a mode does not agree with the state: it is then reset wherever
        it is past zero, at the start and after other resets as well, and not only where it passes.
        It counts in one direction, and discrete values alone change.

    Notes
    -----
    The references of invariants are taken anew after each reset, so that their drift is that of
    the smooth pieces.

    Examples
    --------
    A ball leaves the floor with half the speed with which it meets it; a lamp is switched:

    >>> import daesolve as ds
    >>> q, lamp = ds.coordinates(height="m"), ds.discrete(lit=0.0)
    >>> floor = ds.Holonomic("floor", q.height)  # no goal of the system
    >>> strike = ds.Reset({"lit": 1 - lamp.lit}, impose=[floor], restitution=0.5)
    >>> ball = ds.MechanicalSystem(
    ...     q,
    ...     kinetic=q.dot.height**2 / 2,
    ...     potential=10 * q.height,
    ...     discrete=lamp,
    ...     events=[ds.Event("strike", q.height, ds.FALLING, strike)],
    ... )
    >>> run = ds.solve(ball, until=1.2, initial={"height": 5.0})
    >>> after = run.events[0].after
    >>> round(after["height_dot"], 6), after["lit"]
    (5.0, 1.0)
    """

    changes: Changes | Callable[[ca.SX], Changes] = field(default_factory=dict[str, Expression])
    impose: Sequence[str | Goal] = ()
    restitution: Expression = 0.0
    order: Order = "simultaneous"
    whenever_past: bool = False
    energies: Energies | Callable[[ca.SX], Energies] = ()

    def __post_init__(self) -> None:
        if not (callable(self.changes) or isinstance(self.changes, Mapping)):
            raise PosingError(
                "the changes of a reset must be expressions by names, or a function of the "
                f"guards that passed, which returns them, not {self.changes!r}"
            )
        if isinstance(self.impose, str | Goal) or not isinstance(self.impose, Sequence):
            raise PosingError(f"impose must be a list of goals, not {self.impose!r}")
        for goal in self.impose:
            if not isinstance(goal, str | Holonomic | Nonholonomic):
                raise PosingError(
                    f"impose must list names of goals, Holonomic or Nonholonomic, not {goal!r}"
                )
        constant = as_scalar("the restitution", self.restitution, finite=False)
        if constant.is_constant() and not 0.0 <= float(constant) <= 1.0:
            raise PosingError(f"the restitution is {float(constant)!r}, but must lie in [0, 1]")
        if self.order not in get_args(Order):
            raise PosingError(
                f"the order is {self.order!r}, but must be one of {', '.join(get_args(Order))}"
            )
        told = callable(self.energies) or len(self.energies) > 0
        if told and self.impose:
            raise PosingError(
                "the energies of imposed constraints follow from the masses: leave energies out"
            )

    def energies_where(self, event: str, fired: ca.SX) -> tuple[ca.SX, ...]:
        """Return T before, T after and that of the lost velocities; nothing where none are given.

        Raises
        ------
        PosingError
            They are not three expressions.
        """
        told = self.energies(fired) if callable(self.energies) else self.energies
        if not isinstance(told, Sequence) or len(told) not in (0, 3):
            raise PosingError(
                f"the energies of the event {event!r} must be three: before, after, and of the "
                f"lost velocities, not {told!r}"
            )
        return tuple(as_scalar(f"an energy at the event {event!r}", value) for value in told)

    def changes_where(self, event: str, fired: ca.SX) -> dict[str, ca.SX]:
        """Return what changes where these guards passed.

        Raises
        ------
        PosingError
            The function of which guards passed returns no expressions by names.
        """
        changes = self.changes(fired) if callable(self.changes) else self.changes
        if not isinstance(changes, Mapping):
            raise PosingError(
                f"the changes of the event {event!r} must be expressions by names, not {changes!r}"
            )
        return {
            name: as_scalar(f"the change of {name!r} at the event {event!r}", value)
            for name, value in changes.items()
        }


@dataclass(frozen=True, eq=False)
class Event:
    """A guard, and what to do where it passes through zero.

    Parameters
    ----------
    name
        The event's name.
    guard
        A CasADi scalar of time, states, parameters and reactions; or several of them, which make
        one event an instant however many of them pass together.
    direction
        `FALLING`, `RISING` or `EITHER`.
    then
        `Stop()`, `Record()`, `Reset(...)` or some of them by `|`; it is recorded where nothing is
        given.
    listed
        Whether a run lists it; one that only keeps account of the motion need not be.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", height="m")
    >>> lands = ds.Event("lands", q.height, ds.FALLING, ds.Stop())
    >>> stone = ds.MechanicalSystem(
    ...     q,
    ...     kinetic=(q.dot.x**2 + q.dot.height**2) / 2,
    ...     potential=10 * q.height,
    ...     events=[lands],
    ... )
    >>> run = ds.solve(stone, until=100.0, initial={"height": 5.0, "x_dot": 3.0})
    >>> run.outcome.value, round(run.end_time, 6), round(run.end_state["x"], 6)
    ('stopped_by_event', 1.0, 3.0)
    """

    name: str
    guard: Expression | Sequence[Expression]
    direction: Direction = EITHER
    then: Action = field(default_factory=Record)
    listed: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "guard", _column(f"the guard of {self.name!r}", self.guard))
        if any(entry.op() in COMPARISONS for entry in ca.vertsplit(self.guards)):
            raise PosingError(
                f"the guard of {self.name!r} is a comparison, which jumps between 0 and 1: give "
                "the expression that passes through zero"
            )
        for field_name, kind in (("direction", Direction), ("then", Action)):
            if not isinstance(getattr(self, field_name), kind):
                raise PosingError(
                    f"the event {self.name!r}: {field_name} must be "
                    + (
                        "FALLING, EITHER or RISING"
                        if kind is Direction
                        else "Stop(), Record() or Reset(...)"
                    )
                    + f", not {getattr(self, field_name)!r}"
                )

    @property
    def guards(self) -> ca.SX:
        """The guards as a column."""
        return ca.SX(self.guard)  # pyright: ignore[reportArgumentType, reportCallIssue]

    @property
    def count(self) -> int:
        """The number of guards."""
        return self.guards.numel()


def _column(owner: str, guard: Expression | Sequence[Expression]) -> ca.SX:
    if isinstance(guard, ca.SX) and guard.numel() > 1 and guard.is_column():
        return guard
    if isinstance(guard, Sequence) and not isinstance(guard, str):
        if not len(guard):
            raise PosingError(f"{owner} must be at least one expression")
        return ca.vertcat(*[as_scalar(owner, entry) for entry in guard])
    return as_scalar(owner, guard)  # pyright: ignore[reportArgumentType]
