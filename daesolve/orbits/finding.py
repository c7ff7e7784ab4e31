"""Periodic orbits of a system, with constraints, events and symmetries: found and verified."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Unpack

import casadi as ca
import numpy as np

from daesolve.analysis.manifold import Manifold
from daesolve.analysis.sections import OWN_NAME, with_guard
from daesolve.equations.consistency import check_named, start_value
from daesolve.errors import (
    InconsistentStateError,
    NotPeriodicError,
    OutOfRangeError,
    PosingError,
    UnsupportedError,
    is_number,
    unknown_name,
)
from daesolve.integration.run_options import (
    BoundProblem,
    RunOptions,
    Source,
    check_options,
    requested_of,
)
from daesolve.integration.simulation import simulate
from daesolve.orbits.flights import Flow, Node, Passage
from daesolve.orbits.integrals import Integral, candidates, independent, pinned
from daesolve.orbits.monodromy import multipliers
from daesolve.orbits.newton import Found, solve
from daesolve.orbits.orbit import PeriodicOrbit
from daesolve.orbits.shooting import Guess, Shot, Slopes, Task, cotangent, shoot, slopes_of
from daesolve.orbits.symmetry import UpTo, group_of
from daesolve.orbits.verification import check_by_run, confirmed_digits
from daesolve.posing.events import EITHER, Direction
from daesolve.preparation.preparing import Prepared, prepare
from daesolve.preparation.request import Request
from daesolve.solvers import Solver
from daesolve.system.consistent_state import check_system, parameter_values
from daesolve.system.system import System
from daesolve.trajectory.trajectory import Trajectory

GROWTH = 1e3
"""By how much changes may grow in a piece."""
AT_FIRST = 1e-6
"""To which a first integral shows in the derivative of the first guess."""
REST = 1e-9
"""Of the largest gradient in sizes, a rate of all states that is none."""
UNFOLDED = 1e-8
"""The unfolding parameter above which an integral is none."""
LOOKED_AT = 5
"""Places at which symmetries are looked at."""


def periodic_orbit(
    source: Source,
    near: Mapping[str, float] | Trajectory | PeriodicOrbit | None = None,
    /,
    period: float | ca.SX | None = None,
    *,
    section: ca.SX | str | None = None,
    direction: Direction = EITHER,
    passages: int = 1,
    up_to: UpTo = None,
    family: Mapping[str, float] | None = None,
    pieces: int | None = None,
    verify: bool | Solver = True,
    **options: Unpack[RunOptions],
) -> PeriodicOrbit:
    """Find a periodic motion near a guess, with its multipliers.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    near
        The guess: a state near the orbit by name, with discrete values where the mode is known,
        moved to the nearest consistent one where that is needed; a run, whose end is taken; an
        orbit; None takes the start of a case.
    period
        s. Where the equations contain time: the period, a multiple of that of the drive, or an
        expression of parameters, as 2 * ca.pi / p.w, which it follows along a branch. Else
        about the period, which is found. With a section it may be left out.
    section
        An expression of the states, or the name of an event: the orbit starts where it passes,
        after what it resets, and ends at a later passage.
    direction
        In which direction an expression must pass through zero to count.
    passages
        After how many passages the orbit closes.
    up_to
        Symmetries up to which the motion repeats itself: `Shift`, `Relabel`, `Reflect`, or several.
    family
        Where first integrals let orbits come in families: the value of each integral by its name,
        or that of a state at the start in place of one. Where orbits come in families for another
        reason, as by their speed, the value of a state at the start for each of these.
    pieces
        Into how many pieces the period is divided; None lets the growth of changes decide.
    verify
        Whether to repeat the last step with a tightened tolerance and to run ten periods; a solver
        repeats it in its place.
    **options
        See `RunOptions`; `until` and `at` follow from the period.

    Returns
    -------
    PeriodicOrbit
        The orbit.

    Raises
    ------
    NotPeriodicError
        No orbit was found, or it is not the only one nearby; the message says what to change.
    OutOfRangeError, UnknownNameError, PosingError, UnsupportedError
        What was asked for has no meaning.

    Examples
    --------
    The pendulum's period grows with its amplitude; at 1 rad it is 2.1391376005586888 s:

    >>> import daesolve as ds
    >>> q = ds.coordinates(theta="rad")
    >>> gravity = {"kinetic": q.dot.theta**2 / 2, "potential": -9.81 * ca.cos(q.theta)}
    >>> pendulum = ds.MechanicalSystem(q, **gravity)
    >>> guess = {"theta": 1.0, "theta_dot": 0.0}
    >>> orbit = ds.analysis.periodic_orbit(pendulum, guess, 2.2, family={"theta": 1.0})
    >>> round(orbit.period, 12)
    2.139137600559
    """
    check_options("periodic_orbit", options, {"at": "its run has samples of its own"})
    rule = period if isinstance(period, ca.SX) else None
    period = None if isinstance(period, ca.SX) else period
    _check(period, passages, pieces)
    if section is None and period is None and rule is None:
        raise OutOfRangeError("a period or a section must be given")
    given = _initial(options.pop("guess", None) if near is None else near)
    discrete = _discrete(source, given)
    initial = None if given is None else {n: v for n, v in given.items() if n not in discrete}
    system, request, _ = requested_of(source, period or 1.0, initial, options)
    follows = None if rule is None else _rule(system, rule)
    if follows is not None:
        period = _period_by(follows, system, request)
    passage = None
    if section is not None:
        name = section if isinstance(section, str) else OWN_NAME
        if not isinstance(section, str):
            system = with_guard(system, section, direction)
        elif name not in [event.name for event in system.events]:
            raise unknown_name("event", name, [event.name for event in system.events])
        elif direction is not EITHER:
            raise PosingError(f"the event {name!r} has a direction of its own: leave it out here")
        passage = Passage(name, passages)
    begin = request.start_time
    end = begin + (period or request.until - begin)
    flow = Flow(_prepared(system, replace(request, until=end)))
    if not flow.autonomous and period is None:
        raise UnsupportedError(
            "the equations contain time, of which a section keeps no account: give the period, a "
            "multiple of that of the drive, in place of the section"
        )
    if not flow.autonomous and section is not None:
        raise UnsupportedError(
            "the equations contain time: give the period alone, without a section"
        )
    start = _in_mode(flow, given or {}, discrete)
    wanted = family or {}
    settled = bool(discrete)
    ending = Ending(period, passage, up_to, None if flow.autonomous else follows)
    return found_from(flow, start, ending, wanted, pieces, verify, settled=settled)


@dataclass(frozen=True, eq=False)
class Ending:
    """When a motion is to have returned.

    Parameters
    ----------
    period
        s, or about that; None where a passage ends it.
    passage
        The passage that ends it.
    up_to
        The symmetry up to which it returns.
    rule
        The period as a function of parameters, where it is one.
    """

    period: float | None
    passage: Passage | None
    up_to: UpTo
    rule: ca.Function | None = None


def found_from(
    flow: Flow,
    start: Node,
    ending: Ending,
    family: Mapping[str, float],
    pieces: int | None,
    verify: bool | Solver,
    *,
    settled: bool = False,
) -> PeriodicOrbit:
    """Find the orbit near a place; `settled` where its mode is given. See `periodic_orbit`."""
    task, shot, slopes = _first_look(flow, start, ending, settled=settled)
    task = _in_family(task, shot, slopes, family)
    count = pieces or _pieces(slopes)
    guess = _divided(task, shot, count)
    task = replace(task, pieces=count)
    return finished(task, solve(task, guess), verify)


def finished(task: Task, found: Found, verify: bool | Solver) -> PeriodicOrbit:
    """Return the orbit of a solution, once it is seen to be one.

    Raises
    ------
    NotPeriodicError
        An integral is none, the mode is another after a period, or its own run leaves it.
    """
    shot, flow = found.shot, task.flow
    for integral, alpha in zip(task.integrals, shot.guess.alpha, strict=True):
        if not abs(alpha) <= UNFOLDED:
            raise NotPeriodicError(
                f"{integral.name!r} is no first integral of this motion: it is {alpha:.2g} of its "
                "size off after a period"
            )
    _check_mode(task, shot)
    spectrum = multipliers(task, shot, found.slopes)
    notes = list(found.slopes.notes)
    orders = (spectrum,)
    if notes:
        other = multipliers(task, shot, slopes_of(task, shot, backwards=True))
        # Where rounding has parted the guards, the order is that in which they were met.
        orders = (spectrum,) if np.array_equal(other.values, spectrum.values) else (spectrum, other)
    digits = math.nan
    if verify is not False:
        notes.append(check_by_run(task, found, spectrum))
        digits, how = confirmed_digits(task, found, None if verify is True else verify)
        notes.append(how)
    first = shot.guess.nodes[0]
    run = simulate(replace(_starting_at(flow, first), until=first.time + shot.period))
    doubt = 10.0 * found.accuracy
    verdict = "one-sided" if found.slopes.notes else spectrum.verdict(doubt)
    if verdict == "stable" and task.integrals:
        # Orbits beside it, with other values of the integrals, part from it with time.
        verdict = "neutral"
    return PeriodicOrbit(
        period=shot.period,
        state=dict(zip(flow.names, first.x.tolist(), strict=True)),
        values=dict(zip(flow.value_names, first.p.tolist(), strict=True)),
        shift=dict(zip(task.group.names, shot.amounts.tolist(), strict=True)),
        multipliers=spectrum.values,
        trivial=spectrum.trivial,
        group=spectrum.group,
        verdict=verdict,
        residual=shot.residual,
        unfolding={
            integral.name: float(alpha)
            for integral, alpha in zip(task.integrals, shot.guess.alpha, strict=True)
        },
        digits=digits,
        run=run,
        events=tuple(run.events),
        pieces=task.pieces,
        notes=tuple(notes),
        task=task,
        found=found,
        spectrum=spectrum,
        orders=orders,
    )


def _prepared(system: System, request: Request) -> Prepared:
    """Prepare a request; start values that no consistent state keeps are but near one."""
    try:
        return prepare(system, request)
    except InconsistentStateError:
        near = {**request.guess, **request.initial}
        return prepare(system, replace(request, initial={}, guess=near))


def _starting_at(flow: Flow, node: Node) -> Prepared:
    start = replace(flow.prepared.start, state=node.x)
    return replace(flow.prepared, start=start, values=node.p, start_time=node.time)


# -- the guess -------------------------------------------------------------------------------------


def _check(period: float | None, passages: int, pieces: int | None) -> None:
    if period is not None and not (is_number(period) and math.isfinite(period) and period > 0.0):
        raise OutOfRangeError(f"the period is {period!r}, but must be a positive number of seconds")
    for name, number in (("passages", passages), ("pieces", pieces)):
        if number is not None and not (
            isinstance(number, int) and not isinstance(number, bool) and number >= 1
        ):
            raise OutOfRangeError(f"{name} is {number!r}, but must be a whole number from 1 on")


def _initial(
    guess: Mapping[str, float] | Trajectory | PeriodicOrbit | None,
) -> Mapping[str, float] | None:
    if isinstance(guess, PeriodicOrbit):
        return guess.state
    if isinstance(guess, Trajectory):
        return guess.end_state
    if guess is not None and not isinstance(guess, Mapping):
        raise OutOfRangeError(
            f"the guess is {guess!r}, but must be a mapping of names to values, a run or an orbit"
        )
    return guess


def _rule(system: System, period: ca.SX) -> ca.Function:
    """Return a period and its slopes as functions of the values.

    Raises
    ------
    OutOfRangeError
        It contains something else than parameters of the system.
    """
    p = system.dynamics.p
    strange = [s.name() for s in ca.symvar(period) if not ca.depends_on(ca.vertcat(p), s)]
    if strange or not period.is_scalar():
        raise OutOfRangeError(
            f"the period is {period}, but must be a number or an expression of parameters"
        )
    return ca.Function("period", [p], [period, ca.densify(ca.jacobian(period, p))])


def _period_by(rule: ca.Function, system: System, request: Request) -> float:
    dynamics = system.dynamics
    given = parameter_values(dynamics, check_named("parameters", request.parameters))
    period = float(rule(dynamics.value_vector({**dynamics.values, **given}))[0])
    _check(period, 1, None)
    return period


def _discrete(source: Source, given: Mapping[str, float] | None) -> dict[str, float]:
    """Return the discrete values that a guess names."""
    system = source.system if isinstance(source, BoundProblem) else source
    check_system(system)
    known = system.dynamics.discrete
    return {name: start_value(name, v) for name, v in (given or {}).items() if name in known}


def _in_mode(flow: Flow, given: Mapping[str, float], discrete: Mapping[str, float]) -> Node:
    """Return the start; where its mode is given, the consistent state of that mode nearest."""
    start = flow.start
    if not discrete:
        return start
    x = start.x.copy()
    for name, value in given.items():
        if name in flow.names:
            x[flow.names.index(name)] = float(value)
    return flow.consistent(start.time, x, flow.with_parameters(start, discrete).p)


def _first_look(
    flow: Flow, start: Node, ending: Ending, *, settled: bool
) -> tuple[Task, Shot, Slopes]:
    """Fly from the guess for a period; see what is remembered, and what the symmetries are.

    Raises
    ------
    NotPeriodicError
        The guess is an equilibrium, a symmetry is none, or the motion does not get there.
    """
    manifold = Manifold(flow.prepared)
    passage = ending.passage
    foreseen = ending.period or 20.0 * flow.prepared.mean_step
    if flow.autonomous:
        _check_moving(flow, manifold, start)
    lag = 0.0 if flow.autonomous else foreseen
    group = group_of(flow, ending.up_to, _places(flow, start), lag)
    free = flow.autonomous and passage is None
    task = Task(flow, manifold, group, 1, free, passage, rule=ending.rule)
    shot = shoot(task, Guess((start,), foreseen, np.zeros(0)))
    if not settled:
        # The mode belongs to what came before the start: the end of a period shows it.
        again = shoot(task, Guess((_in_mode_of_end(task, shot),), foreseen, np.zeros(0)))
        shot = again if not _modes(task, again) else shot
    shot = replace(shot, guess=replace(shot.guess, period=shot.period))
    slopes = slopes_of(task, shot)
    return task, shot, slopes


def _places(flow: Flow, start: Node) -> list[Node]:
    """Return consistent places near the start, in its mode."""
    near = flow.prepared.samples[:LOOKED_AT]
    return [start, *(Node(time, x[: len(flow.names)], start.p) for time, x in near)]


def _check_moving(flow: Flow, manifold: Manifold, start: Node) -> None:
    rate = np.abs(flow.rate(start) / manifold.sizes)
    if float(np.max(rate, initial=0.0)) * flow.prepared.mean_step <= REST:
        raise NotPeriodicError(
            "the guess is an equilibrium: its period is free; ds.analysis.linearize tells about it"
        )


def _in_family(task: Task, shot: Shot, slopes: Slopes, family: Mapping[str, float]) -> Task:
    """Return the task with the integrals that there are, and the values that were asked for.

    Raises
    ------
    NotPeriodicError
        An integral is left open.
    OutOfRangeError
        A value is no number.
    """
    possible = candidates(task.flow, task.group.names)
    start, basis, end = shot.guess.nodes[0], shot.bases[0], shot.flights[-1].end
    states = len(start.x)
    inverse = np.linalg.inv(task.group.matrix(shot.amounts))[:states, :states]
    returned = task.group.undo(shot.amounts, task.whole(end))
    back = Node(end.time, returned[:states], returned[states:])
    gradients: list[np.ndarray] = []
    changes: list[np.ndarray] = []
    for integral in possible:
        row = cotangent(task, integral.gradient(start, task.own), basis)
        gradients.append(row)
        changes.append(integral.gradient(back, task.own) @ inverse @ slopes.end - row)
    count = basis.shape[1]
    shape = len(possible), count
    chosen = independent(
        np.array(gradients).reshape(shape), np.array(changes).reshape(shape), AT_FIRST
    )
    integrals = tuple(possible[k] for k in chosen)
    names = [integral.name for integral in integrals]
    for name, value in family.items():
        if name not in names and name not in task.flow.names:
            raise unknown_name("first integral or state", name, (*names, *task.flow.names))
        if not is_number(value) or not math.isfinite(value):
            raise OutOfRangeError(f"the family has {name!r} = {value!r}, but must have a number")
    if len(family) < len(integrals):
        listed = " and ".join(map(repr, names))
        first = next(name for name in names if name not in family)
        value = integrals[names.index(first)].value(start, task.own)
        raise NotPeriodicError(
            f"{listed} {'is' if len(names) == 1 else 'are'} conserved, so orbits come in families: "
            f"name a value, family={{{first!r}: {value:.6g}}}, or continue over it"
        )
    by_name = dict(zip(names, integrals, strict=True))
    wanted: list[tuple[Integral, float]] = [
        (by_name.get(name) or pinned(task.flow, name), float(value))
        for name, value in family.items()
    ]
    return replace(task, integrals=integrals, family=tuple(wanted))


def _pieces(slopes: Slopes) -> int:
    growth = float(np.linalg.norm(slopes.monodromy, 2))
    return max(1, math.ceil(math.log(max(growth, 1.0)) / math.log(GROWTH)))


def _divided(task: Task, shot: Shot, count: int) -> Guess:
    """Return the places along the first flight where pieces begin."""
    start, nodes = shot.guess.nodes[0], list[Node]()
    nodes.append(start)
    for _ in range(count - 1):
        nodes.append(task.flow.fly(nodes[-1], shot.period / count).end)
    alpha = np.zeros(len(task.integrals))
    return Guess(tuple(nodes), shot.period, shot.amounts, alpha)


def _modes(task: Task, shot: Shot) -> list[tuple[str, int, float, float]]:
    """Return the discrete values that are others after a period: name, place, before, after."""
    first, end = task.whole(shot.guess.nodes[0]), task.whole(shot.flights[-1].end)
    back = task.group.undo(shot.amounts, end)
    states = len(task.flow.names)
    found: list[tuple[str, int, float, float]] = []
    for name in task.flow.dynamics.discrete:
        index = task.flow.value_names.index(name)
        before, after = float(first[states + index]), float(back[states + index])
        if index not in task.remembered and abs(after - before) > 1e-9 * max(1.0, abs(before)):
            found.append((name, index, before, after))
    return found


def _in_mode_of_end(task: Task, shot: Shot) -> Node:
    """Return the start of a shot with the discrete values that it came back with."""
    node = shot.guess.nodes[0]
    p = node.p.copy()
    for _, index, _, after in _modes(task, shot):
        p[index] = after
    return Node(node.time, node.x, p)


def _other_mode(task: Task, shot: Shot) -> str:
    name, _, before, after = _modes(task, shot)[0]
    return (
        f"the motion returns in another mode: {name!r} is {after:.6g} in place of {before:.6g}; "
        "ask for more passages, a longer period, or a symmetry (up_to)"
    )


def _check_mode(task: Task, shot: Shot) -> None:
    """Refuse an orbit that comes back in another mode."""
    if _modes(task, shot):
        raise NotPeriodicError(_other_mode(task, shot))
