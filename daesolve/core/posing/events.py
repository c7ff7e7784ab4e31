"""Events of a system: guards that pass through zero, and the actions taken there.

Between events the motion is smooth and discrete values are constant. At an event both may change.
An impact imposes constraints at that instant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Literal, get_args

import casadi as ca

from daesolve.core.posing.goals import (
    COMPARISONS,
    Expression,
    Goal,
    Holonomic,
    Nonholonomic,
    as_scalar,
)
from daesolve.errors import PosingError

Changes = Mapping[str, Expression]
Energies = Sequence[Expression]
Order = Literal["simultaneous", "sequential"]


class Direction(Enum):
    """The direction in which a guard must pass through zero for the event to happen."""

    FALLING = -1
    EITHER = 0
    RISING = 1


FALLING, EITHER, RISING = Direction.FALLING, Direction.EITHER, Direction.RISING
AT_REST = "at_rest"
"""The event under which a run records that a body has come to rest and something holds it."""


@dataclass(frozen=True, eq=False)
class Action:
    """The action of an event; join several with `|`."""

    @property
    def stops(self) -> bool:
        """Whether the action ends the run."""
        return any(isinstance(part, Stop) for part in self.parts)

    @property
    def breakdown(self) -> str:
        """Why the motion cannot continue after the event; empty if it can."""
        return next((part.why for part in self.parts if isinstance(part, Stop)), "")

    @property
    def reset(self) -> Reset | None:
        """The changes made at the event."""
        return next((part for part in self.parts if isinstance(part, Reset)), None)

    @property
    def counts_past(self) -> bool:
        """Whether the action applies wherever the guard is past zero, not only at the passage."""
        return any(isinstance(part, Stop | Reset) and part.whenever_past for part in self.parts)

    @property
    def leaves_motion(self) -> bool:
        """Whether the motion beyond the event is the one before it, so that steps may pass it."""
        return any(isinstance(part, Reset) and part.changes_no_motion for part in self.parts)

    @property
    def interrupts(self) -> bool:
        """Whether the smooth motion ends at the event, because of a reset or a stop."""
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
    """Several actions at one event: first the reset, then the stop, if there is one."""

    actions: tuple[Action, ...]

    def __post_init__(self) -> None:
        if sum(isinstance(part, Reset) for part in self.actions) > 1:
            raise PosingError("an event can have only one Reset: put all changes into it")

    @property
    def parts(self) -> tuple[Action, ...]:
        """The actions that were joined."""
        return self.actions


def joined(actions: Sequence[Action]) -> Action:
    """Join several actions into one, in order."""
    first, *others = actions
    for other in others:
        first = first | other
    return first


@dataclass(frozen=True, eq=False)
class Record(Action):
    """Record the event and continue."""


@dataclass(frozen=True, eq=False)
class Stop(Action):
    """End the run at the event, and record the event.

    Parameters
    ----------
    why
        Why the equations do not determine the motion after the event, if they do not: the rest of a
        sentence that begins with the time. The outcome is then `degenerate` instead of
        `stopped_by_event`.
    whenever_past
        Whether the run ends wherever the guard is past zero (also after a reset), not only where
        the guard passes zero. A run that starts there is refused.
    """

    why: str = ""
    whenever_past: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.why, str):
            raise PosingError(f"the reason why a run stops for good must be text, not {self.why!r}")


@dataclass(frozen=True, eq=False)
class Reset(Action):
    """Change discrete values and the state at an instant, and impose constraints: an impact.

    Parameters
    ----------
    changes
        Expressions of time, states, parameters and discrete values before the event, keyed by the
        state or discrete value that they replace. Values not listed stay the same. If the changes
        depend on which guards of a vector passed, give a function of these: it receives a column of
        1.0 and 0.0.
    impose
        Goals whose constraints on velocities are imposed at once, by name; or separate constraints,
        such as a floor, which hold only at that instant. All velocities are then projected in the
        metric of the mass matrix,

            v+ = v - M^-1 J^T (J M^-1 J^T)^-1 (J v + b),

        where J v + b = 0 collects all constraints of the system after the changes and the imposed
        ones.
    restitution
        e, a number or an expression of parameters. The bodies leave imposed constraints at -e times
        the approach speed (Newton's law).
    order
        If several guards pass at one instant, "simultaneous" imposes all their constraints
        together, "sequential" one after another in the order of the guards. These are different
        impact models.
    energies
        For changes of velocities that already describe an impact, as in coordinates without
        constraints: T before, T after, and the energy of the lost velocities, in J. Event records
        report these for the impact. Give expressions, or a function of the guards that passed.
    whenever_past
        Whether the guard marks states that contradict the mode. The reset then applies wherever the
        guard is past zero, including the start and after other resets, not only where the guard
        passes zero. Such an event counts in one direction and may change only discrete values.

    Notes
    -----
    Each reset redefines the references of invariants, so their drift measures only the smooth
    pieces.

    Examples
    --------
    A ball leaves the floor at half its approach speed and switches a lamp:

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
    changes_no_motion: ClassVar[bool] = False
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
        has_energies = callable(self.energies) or len(self.energies) > 0
        if has_energies and self.impose:
            raise PosingError(
                "the energies of imposed constraints follow from the masses: leave energies out"
            )

    def energies_where(self, event: str, fired: ca.SX) -> tuple[ca.SX, ...]:
        """Return T before, T after and the energy of the lost velocities; () if none are given.

        Raises
        ------
        PosingError
            There are not exactly three expressions.
        """
        energies = self.energies(fired) if callable(self.energies) else self.energies
        if not isinstance(energies, Sequence) or len(energies) not in (0, 3):
            raise PosingError(
                f"the energies of the event {event!r} must be three: before, after, and of the "
                f"lost velocities, not {energies!r}"
            )
        return tuple(as_scalar(f"an energy at the event {event!r}", value) for value in energies)

    def changes_where(self, event: str, fired: ca.SX) -> dict[str, ca.SX]:
        """Return the changes for the guards that passed.

        Raises
        ------
        PosingError
            The function of the guards returns something other than expressions by name.
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
    """A guard, and the action taken where it passes through zero.

    Parameters
    ----------
    name
        The event's name.
    guard
        A CasADi scalar of time, states, parameters and reactions; or several, which together count
        as one event per instant, however many of them pass.
    direction
        `FALLING`, `RISING` or `EITHER`.
    then
        `Stop()`, `Record()`, `Reset(...)`, or several joined with `|`. The default records the
        event.
    listed
        Whether runs list the event. Set False for bookkeeping events.

    Notes
    -----
    An event is a passage of its guard by the motion. Where a start, a reset or a step of an input
    puts the guard past zero, the event happens there too, unless the guard is on its way back; then
    it happens only after the guard was before zero again. Notes of the run name these events. This
    holds for resets and stops in one direction; a run ends at its start wherever the guard of a
    stop without a reset is past zero.

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
