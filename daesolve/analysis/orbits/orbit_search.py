"""Finding and verifying periodic orbits of a system, with constraints, events and symmetries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Unpack

import casadi as ca
import numpy as np

from daesolve.analysis.orbits.curve import away_from_events
from daesolve.analysis.orbits.first_period import (
    ASIDE,
    ReturnCondition,
    after_event,
    check_is_steady,
    check_mode,
    check_moves,
    divided,
    first_look,
    in_family,
    needed_pieces,
    onto_family,
)
from daesolve.analysis.orbits.flow import SEAM, Flow
from daesolve.analysis.orbits.monodromy import (
    CONTINUOUS,
    REST,
    Multipliers,
    jump_between,
    multipliers,
)
from daesolve.analysis.orbits.newton import NewtonSolution, solve
from daesolve.analysis.orbits.nodes import Node, Passage
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.orbits.remarks import remarks
from daesolve.analysis.orbits.shooting import Shot, Task, one_period, slopes_of
from daesolve.analysis.orbits.steady_states import far_note, prepared_near, steadied
from daesolve.analysis.orbits.symmetry import UpTo
from daesolve.analysis.orbits.verification import (
    check_by_run,
    check_clocks,
    confirmed,
    multiple_of_least,
)
from daesolve.analysis.sections import guarded
from daesolve.core.equations.consistency import check_named, start_value
from daesolve.core.interruptions import noted_interruptions
from daesolve.core.posing.events import EITHER, Direction
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.preparation.request import Request
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import (
    BoundProblem,
    RunOptions,
    Source,
    check_options,
    requested_of,
)
from daesolve.core.solvers import Solver
from daesolve.core.system.consistent_state import check_system, parameter_values
from daesolve.core.system.system import System
from daesolve.errors import (
    InconsistentStateError,
    NotPeriodicError,
    OutOfRangeError,
    UnsupportedError,
    check_counts,
    is_number,
)

AMISS = 1e-5
"""The largest distance, in sizes, by which an orbit may miss itself, for example near grazing."""
UNFOLDED = 1e-8
"""Integrals with a larger unfolding parameter are not conserved."""
CONSERVED = 1e-12
"""With a smaller unfolding parameter, an integral is conserved to rounding."""

RETURNS = (
    "a period or a section must be given: period= (--period) in seconds, or section= (--section), "
    "such as the name of an event"
)


@noted_interruptions()
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
    steady: bool = False,
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
        The guess: a state near the orbit by name, with discrete values if the mode is known (it is
        moved to the nearest consistent state if needed); a run, whose end is used; an orbit; or
        None for the start of a case.
    period
        In seconds. If the equations contain time: the period, a multiple of the drive's period, or
        an expression of parameters, such as 2 * ca.pi / p.w, which it follows along a branch.
        Otherwise an approximate period, which is then corrected; a guess that stands at an event
        begins right after it. With a section it is optional.
    section
        An expression of the states, or the name of an event: the orbit starts where it passes,
        after any reset at that instant, and ends after those of a later passage.
    direction
        The direction in which an expression must pass through zero to count.
    passages
        The number of passages after which the orbit closes.
    up_to
        Symmetries up to which the motion repeats: `Shift`, `Relabel`, `Reflect`, or several.
    family
        If first integrals make orbits form families: the value of each integral by name, or the
        value of a state at the start instead of an integral. If orbits form families for another
        reason, such as their speed, the value of a state at the start for each.
    steady
        Whether the motion follows its symmetry, such as riding in a circle: each state is the first
        one, shifted and turned. The period is then arbitrary and kept; a short one takes less time.
        Without a symmetry the motion is an equilibrium.
    pieces
        The number of pieces into which the period is divided; None lets the growth of changes
        decide.
    verify
        Whether to repeat the last step with a tightened tolerance and to follow one run over ten
        periods. A solver given here repeats the step instead of the tightened tolerance.
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
        The request is not meaningful.

    Examples
    --------
    The period of a pendulum grows with its amplitude; at 1 rad it is 2.1391376005586888 s:

    >>> import daesolve as ds
    >>> q = ds.coordinates(theta="rad")
    >>> gravity = {"kinetic": q.dot.theta**2 / 2, "potential": -9.81 * ca.cos(q.theta)}
    >>> pendulum = ds.MechanicalSystem(q, **gravity)
    >>> guess = {"theta": 1.0, "theta_dot": 0.0}
    >>> orbit = ds.analysis.periodic_orbit(pendulum, guess, 2.2, family={"theta": 1.0})
    >>> round(orbit.period, 12)
    2.139137600559
    """
    check_options("periodic_orbit", options, {"at": "its run chooses its own samples"})
    rule = period if isinstance(period, ca.SX) else None
    period = None if isinstance(period, ca.SX) else period
    _check(period, passages, pieces)
    if section is None and period is None and rule is None:
        raise OutOfRangeError(RETURNS)
    given = _initial(options.pop("guess", None) if near is None else near)
    discrete = _discrete(source, given)
    initial = None if given is None else {n: v for n, v in given.items() if n not in discrete}
    system, request, _ = requested_of(source, period or 1.0, initial, options)
    follows = None if rule is None else _rule(system, rule)
    if follows is not None:
        period = _period_by(follows, system, request)
    passage = None
    if section is not None:
        system, name = guarded(system, section, direction)
        passage = Passage(name, passages)
    begin = request.start_time
    end = begin + (period or request.until - begin)
    prepared, said = _prepared(system, replace(request, until=end), steady=steady)
    flow = Flow(prepared)
    if not flow.autonomous and period is None:
        raise UnsupportedError(
            "the equations contain time, which a section ignores: instead of the section, give "
            "the period, a multiple of the drive's period"
        )
    if not flow.autonomous and section is not None:
        raise UnsupportedError(
            "the equations contain time: give the period alone, without a section"
        )
    if steady:
        _check_steady(flow, passage)
    start = _in_mode(flow, given or {}, discrete)
    wanted = family or {}
    settled = bool(discrete)
    ending = ReturnCondition(period, passage, up_to, None if flow.autonomous else follows, steady)
    ending, noted = after_event(flow, start, ending)
    notes = [*said, *noted]
    return found_from(flow, start, ending, wanted, pieces, verify, settled=settled, notes=notes)


def found_from(
    flow: Flow,
    start: Node,
    ending: ReturnCondition,
    family: Mapping[str, float],
    pieces: int | None,
    verify: bool | Solver,
    *,
    settled: bool = False,
    notes: Sequence[str] = (),
) -> PeriodicOrbit:
    """Find the orbit near a place; `settled` if its mode is given. See `periodic_orbit`."""
    task, shot, slopes, faster = first_look(flow, start, ending, settled=settled)
    later = away_from_events(task, shot)
    if task.free_period and later is not None and not any(name in flow.names for name in family):
        start = flow.at_time(flow.fly(shot.guess.nodes[0], later).end, start.time)
        task, shot, slopes, _ = first_look(flow, start, ending, settled=True)
    task = in_family(task, shot, slopes, family)
    steady = steadied(task, shot) if task.steady else None
    shot, slopes = steady or onto_family(task, shot, slopes)
    count = pieces or needed_pieces(slopes)
    guess = divided(task, shot, count)
    task = replace(task, pieces=count)
    if faster:
        notes = [*notes, f"the guess did not reach its end, so it was made {faster:+.0%} faster"]
    solution = solve(task, guess)
    if task.steady:
        given = {**flow.prepared.request.guess, **flow.prepared.request.initial}
        notes = [*notes, *far_note(task, solution.shot.guess.nodes[0], given)]
    return finished(task, solution, verify, notes)


def finished(
    task: Task, solution: NewtonSolution, verify: bool | Solver, before: Sequence[str] = ()
) -> PeriodicOrbit:
    """Return the orbit of a solution after checking that it is one.

    Raises
    ------
    NotPeriodicError
        An integral is not conserved, the mode differs after a period, or the orbit's run leaves it.
    """
    shot, flow = solution.shot, task.flow
    _check_is_orbit(task, shot)
    check_clocks(task, shot)
    spectrum = multipliers(task, shot, solution.slopes)
    notes = [*before, *solution.slopes.notes]
    orders = (spectrum,)
    if solution.slopes.notes:
        other = multipliers(task, shot, slopes_of(task, shot, backwards=True))
        # If rounding has separated the guards, the order is that in which they passed.
        orders = (spectrum,) if np.array_equal(other.values, spectrum.values) else (spectrum, other)
        notes += _jumps(orders)
    notes += [*_nearly_conserved(task, shot), *remarks(task, shot, spectrum)]
    first = shot.guess.nodes[0]
    run = one_period(task, shot)
    notes += _of_least(task, shot, run)
    digits, of_multipliers, said = _how_exact(task, solution, spectrum, verify)
    notes += said
    doubt = 10.0 * solution.accuracy
    verdict = "one-sided" if solution.slopes.notes else spectrum.verdict(doubt)
    if verdict == "stable" and task.conserves:
        # Neighbouring orbits, with other values of the integrals, separate from it with time.
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
        multiplier_digits=of_multipliers,
        run=run,
        events=tuple(e for e in run.events if e.time - first.time > SEAM * shot.period),
        pieces=task.pieces,
        notes=tuple(notes),
        task=task,
        found=solution,
        spectrum=spectrum,
        orders=orders,
    )


def _check_is_orbit(task: Task, shot: Shot) -> None:
    """Refuse solutions of the equations that are not orbits; see `finished`."""
    for integral, alpha in zip(task.integrals, shot.guess.alpha, strict=True):
        if not abs(alpha) <= UNFOLDED:
            raise NotPeriodicError(
                f"{integral.name!r} is not a first integral of this motion: it is off by "
                f"{alpha:.2g} of its size after a period"
            )
    if not shot.residual <= AMISS:
        raise NotPeriodicError(
            f"this is not an orbit: the state misses itself by {shot.residual:.2g} of its size"
        )
    check_mode(task, shot)
    if task.steady:
        check_is_steady(task, shot)
    else:
        check_moves(task, shot)


def _nearly_conserved(task: Task, shot: Shot) -> list[str]:
    """Describe the integrals that change slightly, so that the motion only nearly repeats."""
    return [
        f"{integral.name!r} changes by {abs(alpha):.2g} of its size in a period: it is not "
        "conserved, and the motion repeats only to this accuracy"
        for integral, alpha in zip(task.integrals, shot.guess.alpha, strict=True)
        if abs(alpha) > CONSERVED and shot.residual > CONSERVED
    ]


def _of_least(task: Task, shot: Shot, run: Trajectory) -> list[str]:
    """Describe the period if it is a multiple of the least one, or if nothing moves."""
    moved = np.array([np.ptp(run[name]) for name in task.flow.names]) / task.manifold.sizes
    if np.max(moved) <= REST:
        return ["nothing moves: this is an equilibrium, and every time is a period of it"]
    times = multiple_of_least(task, shot)
    if times == 1:
        return []
    return [
        (
            f"the period is {times} times the shortest one, {shot.period / times:.12g} s: "
            "request that"
        )
    ]


def _jumps(orders: Sequence[Multipliers]) -> list[str]:
    """Return a sentence if the map of a period is discontinuous between orders of guards."""
    if len(orders) != 2 or any(len(order.cone) != 1 for order in orders):
        return []
    jump = jump_between(orders)
    if jump <= CONTINUOUS:
        return []
    return [
        f"the map jumps by {100.0 * jump:.2g} % where they pass at one instant, because the "
        "impulse at one acts on the other: nearby, each order has its own limit"
    ]


def _how_exact(
    task: Task, solution: NewtonSolution, spectrum: Multipliers, verify: bool | Solver
) -> tuple[float, float, list[str]]:
    """Return the known digits of orbit and multipliers, and how they were determined.

    They are NaN if verification was not requested.
    """
    digits, of_multipliers, notes = math.nan, math.nan, list[str]()
    if verify is not False:
        notes.append(check_by_run(task, solution, spectrum))
        other = confirmed(task, solution, spectrum, None if verify is True else verify)
        digits, of_multipliers = other.digits, other.multipliers
        notes.append(other.how)
    if solution.least:
        known = -math.log10(solution.accuracy)
        digits = float(np.fmin(digits, known))
        notes.append(
            f"it is known to {known:.1f} digits of its size, worst in {solution.least!r}: "
            "rounding hides the effect of smaller changes over a period"
        )
    return digits, of_multipliers, notes


def _prepared(system: System, request: Request, *, steady: bool) -> tuple[Prepared, list[str]]:
    """Prepare a request; start values that no consistent state keeps become approximate.

    If no consistent state is near, for example beyond a barrier, velocities are made slightly
    larger or smaller, and a note reports this.
    """
    try:
        return prepare_once(system, request), []
    except InconsistentStateError as refusal:
        if steady:
            with suppress(InconsistentStateError):
                return prepared_near(system, request), []
        near = {**request.guess, **request.initial}
        moving = system.dynamics.labels.states[system.dynamics.position_count :]
        for part in (0.0, *ASIDE):
            guess = {name: (1.0 + part * (name in moving)) * v for name, v in near.items()}
            with suppress(InconsistentStateError):
                prepared = prepare_once(system, replace(request, initial={}, guess=guess))
                return prepared, [
                    f"the guess was made {part:+.0%} faster: {refusal}"
                ] if part else []
        raise


# -- the guess -------------------------------------------------------------------------------------


def _check(period: float | None, passages: int, pieces: int | None) -> None:
    if period is not None and not (is_number(period) and period > 0.0):
        raise OutOfRangeError(f"the period is {period!r}, but must be a positive number of seconds")
    check_counts(1, passages=passages, pieces=1 if pieces is None else pieces)


def _check_steady(flow: Flow, passage: Passage | None) -> None:
    if not flow.autonomous or passage is not None:
        raise UnsupportedError(
            "a steady motion has neither a period nor a section: give any period, and name the "
            "shifted states (up_to=Shift(...)), unless it is an equilibrium"
        )


def _initial(
    guess: Mapping[str, float] | Trajectory | PeriodicOrbit | None,
) -> Mapping[str, float] | None:
    if isinstance(guess, PeriodicOrbit):
        return guess.state
    if isinstance(guess, Trajectory):
        return {**guess.end_values, **guess.end_state}
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
        It contains something other than parameters of the system.
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
    """Return the discrete values in a guess."""
    system = source.system if isinstance(source, BoundProblem) else source
    check_system(system)
    known = system.dynamics.discrete
    return {name: start_value(name, v) for name, v in (given or {}).items() if name in known}


def _in_mode(flow: Flow, given: Mapping[str, float], discrete: Mapping[str, float]) -> Node:
    """Return the start; if its mode is given, the nearest consistent state in that mode."""
    start = flow.start
    if not discrete:
        return start
    x = start.x.copy()
    for name, value in given.items():
        if name in flow.names:
            x[flow.names.index(name)] = float(value)
    return flow.consistent(start.time, x, flow.with_parameters(start, discrete).p)
