"""Checks of the names and goals of a system."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import (
    AnyGoal,
    Expression,
    Goal,
    Holonomic,
    Implicit,
    Invariant,
    Nonholonomic,
    as_scalar,
    check_constants,
)
from daesolve.core.posing.symbols import DifferentiableVector, SymbolVector
from daesolve.errors import (
    NoInfluenceError,
    PosingError,
    UndefinedDegreeError,
    is_one_of,
    unknown_name,
)

KINEMATICS = "the kinematics"


def check_entries(goals: Sequence[AnyGoal], events: Sequence[Event]) -> None:
    """Refuse anything other than a list of goals or events, and duplicate names.

    Raises
    ------
    PosingError
        The message names the invalid entry, or what was given instead of a list.
    """
    _check_entries("goal", goals, AnyGoal)
    _check_entries("event", events, Event)


def check_names(
    vectors: Iterable[SymbolVector],
    goals: Sequence[AnyGoal],
    events: Sequence[Event],
    outputs: Iterable[str],
    recovered: Iterable[str],
    meters: Iterable[str],
) -> None:
    """Refuse vectors and outputs of the wrong kind, and names that are used twice.

    Parameters
    ----------
    vectors
        Vectors of symbols.
    goals
        The goals; each is known to be a goal.
    events
        All events, including those added by parts of the system.
    outputs, recovered, meters
        By name.

    Raises
    ------
    PosingError
        An entry is of the wrong kind, a name is not a word, or two symbols or events have one name.
    """
    vectors = list(vectors)
    check_vectors(vectors)
    _check_entries("event", events, Event)
    reported = (("output", outputs), ("recovered reaction", recovered), ("meter", meters))
    for what, entries in reported:
        if not isinstance(entries, Mapping):
            raise PosingError(f"{what}s must be names with expressions, not {entries!r}")
        for name in entries:
            _check_name(what, name)
    names = [(name, vector.kind) for vector in vectors for name in vector]
    names += [
        (goal.reaction_label, "reaction") for goal in goals if isinstance(goal, Goal) and goal.ideal
    ]
    names += [(name, "output") for name in outputs]
    names += [(name, "recovered reaction") for name in recovered]
    names += [(name, "meter") for name in meters]
    seen = {"t": "time"}
    for name, kind in names:
        if name in seen:
            raise PosingError(f"the name {name!r} is used twice: as {seen[name]} and as {kind}")
        seen[name] = kind


def check_vectors(vectors: Iterable[object]) -> None:
    """Refuse anything other than vectors of symbols.

    Raises
    ------
    PosingError
        An entry is not a vector of symbols.
    """
    for vector in vectors:
        if not isinstance(vector, SymbolVector):
            raise PosingError(
                f"{vector!r} contains no symbols: declare them with coordinates(), "
                "parameters(), states(), reactions(), ..."
            )


def _check_entries(what: str, entries: Sequence[AnyGoal] | Sequence[Event], kind: Any) -> None:
    """Refuse anything other than a list of goals or events, and duplicate names.

    An iterator is refused too, because it could be read only once.
    """
    if isinstance(entries, str | kind) or not isinstance(entries, Collection):
        raise PosingError(f"{what}s must be a list of {what}s, not {type(entries).__name__}")
    seen: set[str] = set()
    for entry in entries:
        if not isinstance(entry, kind):
            one = "an event" if what == "event" else f"a {what}"
            raise PosingError(f"the {what}s contain {entry!r}, which is not {one}")
        _check_name(what, entry.name)
        if entry.name in seen:
            raise PosingError(f"two {what}s are called {entry.name!r}")
        seen.add(entry.name)
        if isinstance(entry, Invariant) and entry.on not in ("velocities", "positions"):
            raise PosingError(
                f"the invariant {entry.name!r} acts on {entry.on!r}, but on must be 'velocities' "
                "or 'positions'"
            )


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise PosingError(f"the {what} name {name!r} is not a word")


def check_goals(goals: Sequence[AnyGoal], moving: ca.SX) -> None:
    """Refuse goals of a mechanical system that are posed as the wrong kind.

    Parameters
    ----------
    goals
        The goals.
    moving
        The symbols of all velocities.

    Raises
    ------
    PosingError
        The message names the goal and the right kind.
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
            "Holonomic if it depends on coordinates, and leave it out if it does not"
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
    """Refuse symbols unknown to the system, and constants that are not numbers.

    Parameters
    ----------
    expressions
        The expressions to check, each with the name of its owner.
    known
        Every symbol that may appear in them.

    Raises
    ------
    PosingError
        A symbol is not a state, reaction, parameter or discrete value, or a constant is not finite.
    """
    hashes = {symbol.element_hash() for symbol in ca.symvar(known)}
    expressions = list(expressions)
    # Rates of massless unknowns divide by a quantity that `check_degrees` names if it is zero.
    check_constants(entry for entry in expressions if entry[0] != KINEMATICS)
    for owner, expression in expressions:
        for symbol in ca.symvar(ca.SX(expression)):
            if symbol.element_hash() not in hashes:
                raise PosingError(
                    f"{owner} contains the symbol {symbol.name()!r}, which the system does not "
                    "know: pass its vector to the system (parameters=, implicit=, reactions=, "
                    "discrete=, inputs=, auxiliaries=, ...)"
                )


def check_reactions(dynamics: Dynamics) -> None:
    """Refuse reactions in expressions that must be known before the reactions.

    Raises
    ------
    PosingError
        An energy, a mass, a constraint, a goal or an invariant depends on a reaction.
    """
    for owner, expression in _known_before_reactions(dynamics):
        if not ca.depends_on(expression, dynamics.reactions):
            continue
        entering = ca.which_depends(expression, dynamics.reactions, 1, False)
        name = dynamics.labels.reactions[entering.index(True)]
        raise PosingError(
            f"{owner} depends on the reaction {name!r}, which follows from the motion: "
            "reactions may appear only in forces, relations, events and outputs"
        )


def _known_before_reactions(dynamics: Dynamics) -> Iterable[tuple[str, ca.SX]]:
    yield from ((f"the goal {row.name!r}", row.chain[0]) for row in dynamics.rows)
    yield from ((f"the goal {row.name!r}", row.residual) for row in dynamics.implicit_rows)
    yield "the kinetic energy or the mass matrix", ca.vec(dynamics.mass)
    yield KINEMATICS, dynamics.position_rates
    yield "the potential", dynamics.force
    yield from ((f"the invariant {row.name!r}", row.value) for row in dynamics.invariants)
    for addition in dynamics.additions:
        yield from (
            (f"the restitution of {n}", value) for n, value in addition.restitutions.items()
        )


def expressions_of(dynamics: Dynamics) -> Iterable[tuple[str, ca.SX]]:
    """Return every expression of a system with the name of its owner."""
    yield from ((f"the goal {row.name!r}", row.chain[0]) for row in dynamics.rows)
    yield from ((f"the goal {row.name!r}", row.residual) for row in dynamics.implicit_rows)
    yield from ((f"the relation {row.name!r}", row.jacobian) for row in dynamics.relations)
    yield from ((f"the relation {row.name!r}", row.offset) for row in dynamics.relations)
    yield "the kinetic energy or the mass matrix", ca.vec(dynamics.mass)
    yield KINEMATICS, dynamics.position_rates
    yield "the force, the rate or the potential", dynamics.force
    yield "the force or the rate", ca.vec(dynamics.influence)
    yield from ((f"the invariant {row.name!r}", row.value) for row in dynamics.invariants)
    yield from ((f"the output {name!r}", value) for name, value in dynamics.outputs.items())
    yield from ((f"the reaction {name!r}", value) for name, value in dynamics.recovered.items())
    yield from ((f"the meter {name!r}", power) for name, (power, _) in dynamics.meters.items())
    yield from ((f"the event {e.name!r}", e.guards) for e in dynamics.events)
    for index, reset in dynamics.resets.items():
        owner = f"the reset of the event {dynamics.events[index].name!r}"
        still = ca.SX.zeros(*reset.fired.shape)
        changes = [*reset.states.values(), *reset.values.values(), *reset.energies]
        for change in (*changes, reset.restitution):
            yield owner, ca.substitute(change, reset.fired, still)
        yield from ((f"the constraint {row.name!r}", row.chain[0]) for row in reset.momentary)


def implicit_goals(goals: Sequence[AnyGoal], unknowns: DifferentiableVector) -> list[Implicit]:
    """Return the equations of the implicit unknowns, in the order of the unknowns.

    Raises
    ------
    PosingError
        An unknown does not have exactly one equation, or an equation defines no unknown.
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


def _random_states(dynamics: Dynamics) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [generator.normal(size=dynamics.x.numel()) for _ in range(6)]


def check_degrees(dynamics: Dynamics) -> None:
    """Refuse goals without a relative degree, or with a different one in motion and at rest.

    A residual that is quadratic in the velocities has a gradient that vanishes with them, so no
    reaction influences it at rest, and integration breaks down at every turning point.

    Raises
    ------
    PosingError
        The rates of positions contain a constant that is not finite.
    NoInfluenceError
        No reaction can influence a goal, or an implicit equation does not contain its unknown.
    UndefinedDegreeError
        A goal is influenced in motion, but not at rest. A control system is at rest where the
        states on which controls act directly are zero: one of them, or all if the influence is
        proportional to them.
    """
    first_unknown = dynamics.position_count - len(dynamics.implicit_rows)
    for index, row in enumerate(dynamics.implicit_rows):
        if not ca.depends_on(row.residual, dynamics.x[first_unknown + index]):
            raise NoInfluenceError(
                f"the implicit goal {row.name!r} does not contain the unknown that it should define"
            )
    for row in dynamics.rows:
        if not ca.depends_on(row.chain[0], dynamics.x):
            raise NoInfluenceError(
                f"no reaction can influence the goal {row.name!r}: its residual contains no "
                "coordinate and no velocity"
            )
        if row.kind == "control" and row.typical is None:
            _check_control(dynamics, row, _influence(dynamics, row))
    check_constants([(KINEMATICS, dynamics.position_rates)])
    if any(row.kind != "control" for row in dynamics.rows):
        _check_mechanical(dynamics)


def _check_mechanical(dynamics: Dynamics) -> None:
    """Refuse constraints whose residual never changes with the velocities, or not at rest."""
    values = dynamics.all_held(dynamics.value_vector({}))
    moving: list[np.ndarray] = []
    resting: list[np.ndarray] = []
    for state in _random_states(dynamics):
        still = state.copy()
        still[dynamics.position_count :] = 0.0
        for place, sizes in ((state, moving), (still, resting)):
            gradients = dynamics.matrices(0.3, place, values)["jacobian"]
            sizes.append(np.linalg.norm(gradients, axis=1))
    for row, going, still in zip(
        dynamics.rows, np.stack(moving, axis=1), np.stack(resting, axis=1), strict=True
    ):
        if row.typical is None:
            _check_gradient(row, going[np.isfinite(going)], still[np.isfinite(still)])


def _check_gradient(row: GoalRow, moving: np.ndarray, resting: np.ndarray) -> None:
    """Check the length of a constraint's gradient in motion and at rest, where it is finite."""
    if moving.size and np.max(moving) == 0.0:
        raise NoInfluenceError(
            f"no reaction influences the goal {row.name!r}: its residual does not change "
            "with the velocities"
        )
    if moving.size and resting.size and np.max(resting) < 1e-12 * np.max(moving):
        raise _undefined(row, "at rest")


def _undefined(row: GoalRow, where: str) -> UndefinedDegreeError:
    return UndefinedDegreeError(
        f"the relative degree of the goal {row.name!r} is undefined: it is {row.degree} in "
        f"motion, but {where} no reaction influences it; write the residual linear in the "
        "velocities (or accept this with singular_at_rest=True)"
    )


def _influence(dynamics: Dynamics, row: GoalRow) -> Callable[[np.ndarray], np.ndarray]:
    """Return each control's influence on a goal of a control system, as a function of the state."""
    function = function_of(
        "influence",
        [dynamics.t, dynamics.x, dynamics.p],
        [row.jacobian @ dynamics.influence],
        (["t", "x", "p"], ["influence"]),
    )
    values = dynamics.value_vector({})
    return lambda x: np.asarray(function(0.3, x, values)).ravel()


def _check_control(
    dynamics: Dynamics, row: GoalRow, influence: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Refuse a goal of a control system that no control influences at rest."""
    direct = sorted(set(ca.SX(ca.sparsify(dynamics.influence)).sparsity().row()))
    states = _random_states(dynamics)
    names = dynamics.labels.states
    for chosen in [[state] for state in direct] + [direct] * (len(direct) > 1):
        moving = [influence(state) for state in states]
        usual = max((np.linalg.norm(u) for u in moving if np.all(np.isfinite(u))), default=0.0)
        zeroed = [influence(_scaled(state, chosen, 0.0)) for state in states]
        resting = [u for u in zeroed if np.all(np.isfinite(u))]
        gone = bool(resting) and all(np.linalg.norm(u) <= 1e-12 * usual for u in resting)
        proportional = len(chosen) == 1 or all(
            np.allclose(influence(_scaled(state, chosen, 2.0)), 2.0 * whole, rtol=1e-9)
            for state, whole in zip(states, moving, strict=True)
        )
        if usual > 0.0 and gone and proportional:
            still = " = ".join([*(names[index] for index in chosen), "0"])
            raise _undefined(row, f"where {still}")


def _scaled(state: np.ndarray, chosen: Sequence[int], factor: float) -> np.ndarray:
    scaled = state.copy()
    scaled[list(chosen)] *= factor
    return scaled


def checked_peaks(names: Sequence[str], outputs: Collection[str]) -> tuple[str, ...]:
    """Return the outputs whose peaks a run reports.

    Raises
    ------
    PosingError
        They are not a list of names.
    UnknownNameError
        There is no such output.
    """
    if isinstance(names, str) or not isinstance(names, Sequence | Set):
        raise PosingError(f"peaks must be a list of outputs, not {names!r}")
    for name in names:
        if not is_one_of(name, outputs):
            raise unknown_name("output", name, outputs)
    return tuple(names)


def checked_guess(
    guess: Mapping[str, Expression], states: Sequence[str], parameters: ca.SX
) -> dict[str, ca.SX]:
    """Return the guess of a system by state.

    Raises
    ------
    UnknownNameError
        There is no such state.
    PosingError
        It contains more than parameters.
    """
    known = {symbol.element_hash() for symbol in ca.vertsplit(parameters)}
    for name, value in guess.items():
        if not is_one_of(name, states):
            raise unknown_name("state", name, states)
        for symbol in ca.symvar(as_scalar(f"the guess of {name!r}", value)):
            if symbol.element_hash() not in known:
                raise PosingError(
                    f"the guess of {name!r} may contain only numbers and parameters, not "
                    f"{symbol.name()!r}"
                )
    return {name: ca.SX(value) for name, value in guess.items()}


def checked_after(
    after: Mapping[str, Sequence[str]], goals: Sequence[AnyGoal], velocities: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the velocities and goals eliminated before the reactions of goals.

    Raises
    ------
    UnknownNameError
        There is no such goal or velocity.
    """
    named = [goal.name for goal in goals]
    for goal, before in after.items():
        if goal not in named:
            raise unknown_name("goal", goal, named)
        for name in before:
            if name not in named and name not in velocities:
                raise unknown_name("velocity or goal", name, [*velocities, *named])
    return {goal: tuple(before) for goal, before in after.items()}
