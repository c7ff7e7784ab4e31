"""Which systems have slow motions of their own: checks, each of which names the obstacle."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca

from daesolve.core.posing.goals import AnyGoal, Implicit, Invariant, Relation
from daesolve.core.system.system import MechanicalSystem, unswitched
from daesolve.errors import PosingError, check_names


def check_goals(system: MechanicalSystem) -> None:
    """Refuse what does not determine all reactions at each instant, in one mode.

    Raises
    ------
    PosingError
        The message names the obstacle.
    """
    for goal in system.goals:
        reason = _obstacle(goal)
        if reason:
            raise PosingError(f"no slow motion is derived here: the goal {goal.name!r} {reason}")
    dynamics = unswitched(system).dynamics
    if dynamics.recovered:
        raise PosingError(
            f"no slow motion is derived here: {next(iter(dynamics.recovered))!r} is recovered "
            "from a larger system: leave that one its coordinates"
        )
    for row in dynamics.rows:
        if ca.depends_on(row.jacobian, dynamics.velocities):
            raise PosingError(
                f"no slow motion is derived here: the goal {row.name!r} is not linear in the "
                "velocities, so independent velocities have no momenta"
            )
    if dynamics.additions:
        raise PosingError(
            "no slow motion is derived here: dry friction sticks and slides, each with its own "
            "slow motion; write a law of creep instead"
        )


def _obstacle(goal: AnyGoal) -> str:
    """Return why reactions do not follow from a goal at each instant; empty if they do."""
    if isinstance(goal, Invariant):
        return "is conserved and has no reaction: watch it as an output"
    if isinstance(goal, Implicit):
        return "defines an unknown without inertia: write its solution instead"
    if isinstance(goal, Relation):
        return ""
    if goal.held_by:
        return "is released at times, and each mode has its own slow motion: pose one that holds"
    if goal.from_start:
        return "is measured from its value at the start, which the fast motion changes"
    if goal.singular_at_rest:
        return "leaves its reaction undetermined at rest, which small velocities come near"
    return ""


def check_reducible(system: MechanicalSystem) -> None:
    """Refuse systems that have no such reduction.

    Raises
    ------
    PosingError
        The message names the obstacle.
    """
    if not isinstance(system, MechanicalSystem):
        raise PosingError(
            f"small velocities need a MechanicalSystem, not a {type(system).__name__}"
        )
    if system.kinetic is None:
        raise PosingError(
            "small velocities need Lagrange's equations: pose the system by kinetic=, not by "
            "mass_matrix="
        )
    check_goals(system)
    if len(system.inputs):
        raise PosingError(
            f"small velocities need to know how forces change, but {system.inputs.names[0]!r} "
            "is an input: write an expression of time or a table instead"
        )
    laws = [repr(drive.name) for drive in system.drives if drive.law is not None]
    if laws:
        raise PosingError(
            f"the reduced system cannot contain the law {laws[0]}: integrate the full system"
        )
    tables = {event.name for drive in system.drives for event in drive.events}
    resets = [
        repr(event.name)
        for event in system.events
        if event.then.reset is not None and event.name not in tables
    ]
    if resets:
        raise PosingError(
            f"the reduced system does not support the resets of {', '.join(resets)}, because "
            "its states differ: integrate the full system"
        )


def checked_names(system: MechanicalSystem, small: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the small velocities.

    Raises
    ------
    PosingError, UnknownNameError
        A name is not a velocity of the system, there are none, or one is named twice.
    """
    if isinstance(small, str):
        raise PosingError(f"small must be a list of names, [{small!r}] for a single one")
    if not isinstance(small, Iterable):
        raise PosingError(f"small must be a list of names of velocities, not {small!r}")
    names = tuple(small)
    check_names("velocity", names, system.v.names)
    if not names or len(set(names)) < len(names):
        raise PosingError(f"small must name at least one velocity, each once, not {list(names)!r}")
    return names
