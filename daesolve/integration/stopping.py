"""The end of a run that slides in guides: from where it is slow to its stop, in scaled time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from daesolve.algebra.evaluation import Evaluator
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import VariantError
from daesolve.formulations import OdeProblem
from daesolve.friction.coming_to_rest import Rest, RestStatus
from daesolve.friction.coming_to_rest import come_to_rest as slow_motion
from daesolve.friction.scaled_time import Rate, SlidingMotion
from daesolve.friction.sliding import Sliding, refuse_open
from daesolve.friction.stiction import stiction_at
from daesolve.friction.variants import with_variant
from daesolve.integration import endings
from daesolve.integration.endings import Verdict
from daesolve.integration.record import Boundary, Happening, Record
from daesolve.integration.run_state import Course
from daesolve.posing.guides import AT_REST, SLOW_ENERGY, SLOW_PART, SWITCH
from daesolve.preparation.initial_contact import first_speed
from daesolve.trajectory.results import Outcome, StepBlock


def come_to_rest(
    course: Course, sliding: Sliding, here: Boundary
) -> tuple[Boundary, Verdict | None]:
    """Follow a slow motion to its stop; return where that is, and how the run ends if it does.

    Parameters
    ----------
    course
        The run.
    sliding
        What chooses the loaded supports.
    here
        Where the motion has become slow.
    """
    prepared, record, until = course.prepared, course.record, course.prepared.until
    values = course.values(here)
    follow = partial(
        follow_to_rest, sliding, prepared.problem, here.time, here.state, values, until
    )
    rest = follow()
    times = course.schedule.up_to(record.taken, rest.time)
    if len(times):
        rest = follow(times)
    events = len(record.events)
    end, blocks = written_down(record, rest, here, times)
    for event in record.events[events:]:
        course.sample_event(event.at)
    course.unwatched.extend(blocks)
    if rest.error is not None:
        return end, without_variant(course, end, rest.error)
    if rest.status is RestStatus.AT_REST and rest.time < until:
        try:
            again = set_out_again(sliding, rest, until)
        except VariantError as error:
            return end, without_variant(course, end, error)
        if again is not None:
            return course.in_mode(end, *again), None
    return end, endings.slow(rest, timed=course.timed())


def without_variant(course: Course, here: Boundary, error: VariantError) -> Verdict:
    """Write down where no choice of loaded supports goes on; say how the run ends."""
    course.record.events.append(Happening(here.time, error.event, here))
    course.sample_event(here)
    return Outcome.DEGENERATE, str(error)


def follow_to_rest(
    sliding: Sliding,
    problem: OdeProblem,
    time: float,
    state: np.ndarray,
    values: np.ndarray,
    until: float,
    times: Sequence[float] | np.ndarray = (),
) -> Rest:
    """Follow a slow motion to its stop.

    Parameters
    ----------
    sliding
        What chooses the loaded supports.
    problem
        What is integrated.
    time, state, values
        Where the motion has become slow: s, the problem's state and values.
    until
        The end of the run, s.
    times
        When states are wanted, s.
    """
    dynamics = sliding.dynamics
    split, count = dynamics.position_count, len(dynamics.labels.states)
    own = len(dynamics.values)
    rate, guards = Evaluator(problem.rhs), Evaluator(problem.guards)
    firsts = np.cumsum([0, *[event.count for event in problem.events]])
    index = [event.name for event in problem.events].index(SWITCH)
    loaded = slice(int(firsts[index]), int(firsts[index + 1]))
    variants = [list(dynamics.values).index(f"variant_{name}") for name in sliding.problem.names]

    def switched(moment: float, x: np.ndarray, p: np.ndarray, guard: int) -> np.ndarray:
        asked = p.copy()
        asked[variants[guard]] *= -1.0
        _, after, _ = sliding.settle(moment, {SWITCH}, x[:count], p[:own], asked[:own])
        return np.concatenate([after, p[own:]])

    motion = SlidingMotion(
        rate=lambda moment, x, p: rate(moment, x, p)[0],
        guards=lambda moment, x, p: guards(moment, x, p)[0][loaded],
        switch=switched,
        velocities=slice(split, count),
        metric=dynamics.matrices(time, state[:count], values[:own])["mass"],
        project=_projection(dynamics),
    )
    return slow_motion(motion, time, state, values, until=until, times=times)


def set_out_again(
    sliding: Sliding, rest: Rest, until: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return state and values with which a body that has stopped moves on; None where it rests.

    Parameters
    ----------
    sliding
        What chooses the loaded supports.
    rest
        How the body stopped.
    until
        The end of the run, s.

    Raises
    ------
    VariantError
        Neither rest nor any sliding is an answer.
    """
    dynamics = sliding.dynamics
    split, count = dynamics.position_count, len(dynamics.labels.states)
    own = len(dynamics.values)
    problem = sliding.problem.with_numbers(rest.values[:own])
    held = stiction_at(problem, rest.state[:count], rest.time)
    if held.sticks:
        return None
    refuse_open(dynamics, held.answer.signs, f"at t = {rest.time:.10g} s")
    direction = np.array([held.direction[name] for name in problem.velocity_names])
    state, values = rest.state.copy(), rest.values.copy()
    state[split:count] = first_speed(held.growth, until - rest.time) * direction
    mass = dynamics.matrices(rest.time, state[:count], values[:own])["mass"]
    kinetic = 0.5 * float(state[split:count] @ mass @ state[split:count])
    found = with_variant({SLOW_ENERGY: SLOW_PART * kinetic}, held.answer)
    found |= sliding.sticking.headed(rest.time, state[:count], values[:own])
    names = list(dynamics.values)
    for name, value in found.items():
        values[names.index(name)] = value
    return state, values


def _projection(dynamics: Dynamics) -> Rate:
    """Return what takes the velocities back to the constraints, in the metric of the masses."""
    split, count, own = (
        dynamics.position_count,
        len(dynamics.labels.states),
        len(dynamics.values),
    )

    def project(time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        parts = dynamics.matrices(time, x[:count], p[:own])
        rows = parts["jacobian"]
        back = np.linalg.solve(parts["mass"], rows.T)
        velocities = x[split:count]
        projected = x.copy()
        projected[split:count] -= back @ np.linalg.solve(rows @ back, rows @ velocities)
        return projected

    return project


def written_down(
    record: Record, rest: Rest, here: Boundary, times: np.ndarray
) -> tuple[Boundary, list[tuple[StepBlock, int]]]:
    """Write the end of a motion into the record of its run.

    Parameters
    ----------
    record
        What the run has gathered.
    rest
        How the motion ended.
    here
        Where it had become slow.
    times
        When samples were asked for, s.

    Returns
    -------
    Boundary
        Where it ended.
    list
        The accepted steps, each block with the index of its values.
    """
    record.boundaries.append(here)
    places = [here]
    for switch in rest.switches:
        before = Boundary(switch.time, switch.state, here.turns, places[-1].mode)
        record.modes.append(switch.values)
        after = replace(before, mode=len(record.modes) - 1)
        record.events.append(Happening(switch.time, SWITCH, before, after, fired=(switch.guard,)))
        record.boundaries.append(after)
        places.append(after)

    def place_at(moment: float) -> Boundary:
        return next(place for place in reversed(places) if place.time <= moment)

    blocks: list[tuple[StepBlock, int]] = []
    for piece in rest.pieces:
        record.steps += len(piece.steps.times)
        blocks.append((piece.steps, place_at(float(piece.steps.times[0])).mode))
    for moment, sample in zip(times.tolist(), rest.samples, strict=False):
        record.take(moment, sample, place_at(moment))
        record.taken += 1
    record.rhs_evaluations += rest.evaluations
    end = replace(places[-1], time=rest.time, state=rest.limit)
    if rest.status is RestStatus.AT_REST:
        record.events.append(Happening(rest.time, AT_REST, end))
    return end, blocks
