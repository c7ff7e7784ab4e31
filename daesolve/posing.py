"""What can be wrong with the names and the goals of a system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca
import numpy as np

from daesolve.dynamics import Dynamics
from daesolve.errors import NoInfluenceError, PosingError, UndefinedDegreeError
from daesolve.goals import AnyGoal, Event, Goal, Holonomic, Implicit, Invariant, Nonholonomic
from daesolve.symbols import DifferentiableVector, SymbolVector


def check_names(
    vectors: Iterable[SymbolVector],
    goals: Sequence[AnyGoal],
    events: Sequence[Event],
    outputs: Iterable[str],
) -> None:
    """Refuse names that are used twice.

    Raises
    ------
    PosingError
        Two symbols, two goals or two events have one name.
    """
    names = [(name, vector.kind) for vector in vectors for name in vector]
    names += [(goal.name, "reaction") for goal in goals if isinstance(goal, Goal) and goal.ideal]
    names += [(name, "output") for name in outputs]
    seen: dict[str, str] = {}
    for name, kind in names:
        if name in seen:
            raise PosingError(f"the name {name!r} is used twice: as {seen[name]} and as {kind}")
        seen[name] = kind
    for what, named in (("goal", goals), ("event", events)):
        called = [entry.name for entry in named]
        twice = [name for name in called if called.count(name) > 1]
        if twice:
            raise PosingError(f"two {what}s are called {twice[0]!r}")


def check_goals(goals: Sequence[AnyGoal], moving: ca.SX) -> None:
    """Refuse goals of a mechanical system that are posed as the wrong kind.

    Parameters
    ----------
    goals
        The goals.
    moving
        The symbols of everything that is a velocity.

    Raises
    ------
    PosingError
        The goal at fault is named, with the kind that would be right.
    """
    for goal in goals:
        if isinstance(goal, Invariant):
            continue
        advice = _advice(goal, ca.depends_on(goal.residual, moving))
        if advice:
            raise PosingError(advice)


def _advice(goal: AnyGoal, fast: bool) -> str:
    if isinstance(goal, Holonomic) and fast:
        return f"the holonomic goal {goal.name!r} depends on velocities: pose it as Nonholonomic"
    if isinstance(goal, Nonholonomic) and not fast:
        return (
            f"the non-holonomic goal {goal.name!r} does not depend on velocities: pose it as "
            "Holonomic"
        )
    if isinstance(goal, Implicit) and fast:
        return (
            f"the implicit goal {goal.name!r} depends on velocities; it may use positions, time "
            "and parameters"
        )
    if type(goal) is Goal:
        return (
            f"goal {goal.name!r} of a mechanical system must be Holonomic, Nonholonomic, "
            "Implicit, Relation or Invariant"
        )
    return ""


def check_symbols(expressions: Iterable[tuple[str, ca.SX]], known: ca.SX) -> None:
    """Refuse symbols that the system was not told of.

    Parameters
    ----------
    expressions
        What to look at, each with the name of what it belongs to.
    known
        Every symbol that may stand in it.

    Raises
    ------
    PosingError
        A symbol is no state, reaction, parameter or discrete value.
    """
    hashes = {symbol.element_hash() for symbol in ca.symvar(known)}
    for owner, expression in expressions:
        for symbol in ca.symvar(ca.SX(expression)):
            if symbol.element_hash() not in hashes:
                raise PosingError(
                    f"{owner} contains the symbol {symbol.name()!r}, which the system does not "
                    "know: hand its vector to the system (parameters=, implicit=, reactions=, "
                    "discrete=, auxiliaries=, ...)"
                )


def expressions_of(dynamics: Dynamics) -> Iterable[tuple[str, ca.SX]]:
    """Return every expression of a system with the name of what it belongs to."""
    yield from ((f"the goal {row.name!r}", row.chain[0]) for row in dynamics.rows)
    yield from ((f"the goal {row.name!r}", row.residual) for row in dynamics.implicit_rows)
    yield from ((f"the relation {row.name!r}", row.jacobian) for row in dynamics.relations)
    yield from ((f"the relation {row.name!r}", row.offset) for row in dynamics.relations)
    yield "the kinetic energy or the mass matrix", ca.vec(dynamics.mass)
    yield "the kinematics", dynamics.position_rates
    yield "the force, the rate or the potential", dynamics.force
    yield "the force or the rate", ca.vec(dynamics.influence)
    yield from ((f"the invariant {row.name!r}", row.value) for row in dynamics.invariants)
    yield from ((f"the output {name!r}", value) for name, value in dynamics.outputs.items())
    yield from ((f"the event {e.name!r}", ca.SX(e.guard)) for e in dynamics.events)


def implicit_goals(goals: Sequence[AnyGoal], unknowns: DifferentiableVector) -> list[Implicit]:
    """Return the equations of the implicit unknowns, in the order of the unknowns.

    Raises
    ------
    PosingError
        An unknown has no equation or two, or an equation defines none of them.
    """
    equations = [goal for goal in goals if isinstance(goal, Implicit)]
    ordered: list[Implicit] = []
    for name in unknowns:
        own = [goal for goal in equations if ca.is_equal(unknowns[name], goal.unknown)]
        if len(own) != 1:
            raise PosingError(
                f"the implicit unknown {name!r} needs exactly one Implicit goal, not {len(own)}"
            )
        ordered += own
    if len(ordered) != len(equations):
        stray = next(goal.name for goal in equations if goal not in ordered)
        raise PosingError(
            f"the implicit goal {stray!r} defines no symbol of the system's implicit unknowns"
        )
    return ordered


def _random_states(dynamics: Dynamics, count: int = 6) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [generator.normal(size=dynamics.x.numel()) for _ in range(count)]


def check_degrees(dynamics: Dynamics) -> None:
    """Refuse goals whose relative degree is not the same in motion and at rest.

    A residual that is quadratic in the velocities has a gradient that vanishes with them, so no
    reaction influences it at rest, and integration breaks down at every turning point.
    """
    values = dynamics.value_vector({})
    for index, row in enumerate(dynamics.rows):
        if row.kind == "control" or row.typical is not None:
            continue
        moving: list[float] = []
        resting: list[float] = []
        for state in _random_states(dynamics):
            still = state.copy()
            still[dynamics.position_count :] = 0.0
            for place, sizes in ((state, moving), (still, resting)):
                gradient = dynamics.matrices(0.3, place, values)["jacobian"][index]
                if np.all(np.isfinite(gradient)):
                    sizes.append(float(np.linalg.norm(gradient)))
        if not moving:
            continue
        if max(moving) == 0.0:
            raise NoInfluenceError(
                f"no reaction influences the goal {row.name!r}: its residual does not change "
                "with the velocities"
            )
        if resting and max(resting) < 1e-12 * max(moving):
            raise UndefinedDegreeError(
                f"the relative degree of the goal {row.name!r} is undefined: it is {row.degree} "
                "in motion, but at rest no reaction influences it; pose the residual linear in "
                "the velocities (or accept that with singular_at_rest=True)"
            )
