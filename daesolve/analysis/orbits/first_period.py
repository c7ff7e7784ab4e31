"""Findings from the first period after a guess: mode, symmetries, first integrals, growth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.analysis.manifold import Manifold
from daesolve.analysis.orbits.flow import Flow
from daesolve.analysis.orbits.integrals import Integral, candidates, independent, pinned
from daesolve.analysis.orbits.monodromy import REST
from daesolve.analysis.orbits.newton import EQUILIBRIUM, still
from daesolve.analysis.orbits.nodes import Node, Passage
from daesolve.analysis.orbits.shooting import (
    BESIDE_SECTION,
    Guess,
    Shot,
    Slopes,
    Task,
    cotangent,
    shoot,
    slopes_of,
)
from daesolve.analysis.orbits.steady_states import rate_beside_symmetry
from daesolve.analysis.orbits.symmetry import UpTo, group_of
from daesolve.errors import (
    DaesolveError,
    NotPeriodicError,
    OutOfRangeError,
    is_number,
    unknown_name,
)

GROWTH = 1e3
"""The largest accepted growth of changes in a piece."""
AT_FIRST = 1e-6
"""The accuracy to which a first integral shows in the derivative of the first guess."""
STEADY = 1e-8
"""A rate beside the symmetry, relative to the largest rate in sizes, that counts as none."""
TOWARDS_FAMILY = 12
"""Steps of the search for the values of a family near a guess."""
AT_ABOUT = 0.25
"""How far a period may be from that of its guess, if it begins at an event."""
STEPS = 20.0
"""The number of steps in which a motion is first expected to return."""
SEEN, SAMPLES = 2, 32
"""The states of a preparation that do not show sizes, as it ended at an event at the start; the
states of the first flight that show them then."""
LOOKED_AT = 5
"""The number of places at which symmetries are tested."""
ASIDE = (0.02, -0.02, 0.05, -0.05, 0.1, -0.1)
"""The relative changes of speed tried if the motion of the guess does not reach its end."""


@dataclass(frozen=True, eq=False)
class ReturnCondition:
    """When a motion should have returned.

    Parameters
    ----------
    period
        s, possibly approximate; None if a passage ends the motion.
    passage
        The passage that ends the motion.
    up_to
        The symmetry up to which it returns.
    rule
        The period as a function of parameters, if it is one.
    steady
        Whether the motion follows its symmetry, with an arbitrary period.
    """

    period: float | None
    passage: Passage | None
    up_to: UpTo
    rule: ca.Function | None = None
    steady: bool = False


def first_look(
    flow: Flow, start: Node, ending: ReturnCondition, *, settled: bool
) -> tuple[Task, Shot, Slopes, float]:
    """Fly from the guess for a period, and determine the symmetries.

    If the motion of the guess does not reach its end, for example because it is too slow to pass a
    top, a slightly faster or slower one is used; the last result is the relative change of its
    rates.

    Raises
    ------
    NotPeriodicError
        The guess is an equilibrium, a symmetry does not hold, or the motion does not reach its end.
    """
    manifold = Manifold(flow.prepared)
    passage = ending.passage
    foreseen = ending.period or STEPS * _mean_step(flow, start)
    if flow.autonomous and not ending.steady:
        _check_moving(flow, manifold, start)
    lag = 0.0 if flow.autonomous else foreseen
    group = group_of(flow, ending.up_to, places(flow, start), lag)
    free = flow.autonomous and passage is None and not ending.steady
    task = Task(flow, manifold, group, 1, free, passage, rule=ending.rule, steady=ending.steady)
    start = start if settled else flow.entered(start, foreseen)
    shot, faster = _first_shot(task, start, foreseen)
    if not settled and _modes(task, shot):
        # The mode belongs to the time before the start: the end of a period shows it.
        again = shoot(task, Guess((_in_mode_of_end(task, shot),), foreseen, np.zeros(0)))
        shot = again if not _modes(task, again) else shot
    shot = replace(shot, guess=replace(shot.guess, period=shot.period))
    if len(flow.prepared.path) < SEEN:
        task = replace(task, manifold=Manifold(flow.prepared, _path(task, shot)))
        shot = shoot(task, shot.guess)
    task, shot = _on_section(task, shot, max(shot.period, foreseen))
    slopes = slopes_of(task, shot)
    return task, shot, slopes, faster


def _mean_step(flow: Flow, start: Node) -> float:
    """Return the length of steps, s, which a preparation that ends at its start does not show."""
    prepared = flow.prepared
    if len(prepared.path) >= SEEN:
        return prepared.mean_step
    duration = prepared.until - prepared.start_time
    return duration / max(flow.run(start, duration)[2].steps, 1)


def _path(task: Task, shot: Shot) -> np.ndarray:
    """Return states on the way of a shot, (k, n)."""
    flow, start = task.flow, shot.guess.nodes[0]
    times = start.time + np.linspace(0.0, shot.period, SAMPLES)
    prepared, _, record = flow.run(start, shot.period, times)
    samples = zip(record.sample_times, record.samples, record.sampled_at, strict=True)
    places = [replace(at, time=time, state=x) for time, x, at in samples]
    return np.array([flow.node(prepared, record, place).x for place in places])


def after_event(
    flow: Flow, start: Node, ending: ReturnCondition
) -> tuple[ReturnCondition, list[str]]:
    """Return how an orbit ends whose guess stands where an event has just happened, and a note.

    Its period then ends with a later passage of the same guard, if there is one at about the time.
    """
    if not flow.autonomous or ending.period is None or ending.passage is not None or ending.steady:
        return ending, []
    for name in flow.passed(start, ending.period):
        with suppress(NotPeriodicError):
            record = flow.fly(start, (1.0 + AT_ABOUT) * ending.period).record
            times = [event.time - start.time for event in record.events if event.name == name]
            off = np.abs(np.array(times) - ending.period)
            if len(off) and np.min(off) <= AT_ABOUT * ending.period:
                passage = Passage(name, int(np.argmin(off)) + 1)
                note = f"the guess stands at the event {name!r}, so the orbit starts right after it"
                return replace(ending, passage=passage), [note]
    return ending, []


def _on_section(task: Task, shot: Shot, foreseen: float) -> tuple[Task, Shot]:
    """Return the task and the shot from a start at its section, if the event leaves it there."""
    last, start = shot.flights[-1], shot.guess.nodes[0]
    guard = task.flow.at_section(last)
    if guard is None:
        return task, shot
    task = replace(task, seam=guard)
    beside = task.flow.onto(guard, start, BESIDE_SECTION * foreseen)
    moved = beside or task.flow.at_time(last.end, start.time)
    if moved is start:
        return task, shot
    again = shoot(task, Guess((moved,), foreseen, np.zeros(0)))
    return task, replace(again, guess=replace(again.guess, period=again.period))


def _first_shot(task: Task, start: Node, foreseen: float) -> tuple[Shot, float]:
    """Fly from the guess, or from a faster or slower start; return the relative change."""
    try:
        return shoot(task, Guess((start,), foreseen, np.zeros(0))), 0.0
    except NotPeriodicError as refusal:
        split = task.flow.dynamics.position_count
        for part in ASIDE:
            x = start.x.copy()
            x[split:] *= 1.0 + part
            # An inconsistent state, or a flight that does not end, is not a guess.
            with suppress(DaesolveError):
                moved = task.flow.consistent(start.time, x, start.p)
                return shoot(task, Guess((moved,), foreseen, np.zeros(0))), part
        raise NotPeriodicError(
            f"{refusal} (nor do motions that are up to {max(ASIDE):.0%} faster or slower)"
        ) from refusal


def places(flow: Flow, start: Node) -> list[Node]:
    """Return consistent places near the start, in its mode."""
    near = flow.prepared.samples[:LOOKED_AT]
    return [start, *(Node(time, x[: len(flow.names)], start.p) for time, x in near)]


def _check_moving(flow: Flow, manifold: Manifold, start: Node) -> None:
    rate = np.abs(flow.rate(start) / manifold.sizes)
    if float(np.max(rate, initial=0.0)) * flow.prepared.mean_step <= REST:
        raise NotPeriodicError(f"the guess is an equilibrium: {EQUILIBRIUM}")


def in_family(task: Task, shot: Shot, slopes: Slopes, family: Mapping[str, float]) -> Task:
    """Return the task with the existing integrals and the requested values.

    Raises
    ------
    NotPeriodicError
        The value of an integral is missing.
    OutOfRangeError
        A value is not a number.
    """
    # A state that only continues from where it began is conserved from period to period.
    held = [pinned(task.flow, n) for n in task.flow.quadratures if n not in task.group.names]
    possible = [*held, *candidates(task.flow, task.group.names)]
    start, basis, end = shot.guess.nodes[0], shot.bases[0], shot.flights[-1].end
    states = len(start.x)
    inverse = np.linalg.inv(task.group.matrix(shot.amounts))[:states, :states]
    returned = task.group.undo(shot.amounts, task.whole(end))
    back = Node(end.time, returned[:states], returned[states:])
    gradients: list[np.ndarray] = []
    changes: list[np.ndarray] = []
    for integral in possible:
        row = cotangent(task, integral, start, basis)
        gradients.append(row)
        changes.append(integral.gradient(back) @ inverse @ slopes.end - row)
    count = basis.shape[1]
    shape = len(possible), count
    chosen = independent(
        np.array(gradients).reshape(shape), np.array(changes).reshape(shape), AT_FIRST
    )
    integrals = tuple(possible[k] for k in chosen)
    names = [integral.name for integral in integrals]
    held = [integral for integral in integrals if integral in held and integral.name not in family]
    family = {**family, **{integral.name: integral.value(start) for integral in held}}
    for name, value in family.items():
        if name not in names and name not in task.flow.names:
            raise unknown_name("first integral or state", name, (*names, *task.flow.names))
        if not is_number(value) or not math.isfinite(value):
            raise OutOfRangeError(f"the family has {name!r} = {value!r}, but must have a number")
    if len(family) < len(integrals):
        listed = " and ".join(map(repr, names))
        first = next(name for name in names if name not in family)
        value = integrals[names.index(first)].value(start)
        raise NotPeriodicError(
            f"{listed} {'is' if len(names) == 1 else 'are'} conserved, so orbits form "
            f"families: give a value, family={{{first!r}: {value:.6g}}}, or continue over it"
        )
    by_name = dict(zip(names, integrals, strict=True))
    wanted: list[tuple[Integral, float]] = [
        (by_name.get(name) or pinned(task.flow, name), float(value))
        for name, value in family.items()
    ]
    return replace(task, integrals=integrals, family=tuple(wanted))


def onto_family(task: Task, shot: Shot, slopes: Slopes) -> tuple[Shot, Slopes]:
    """Return the flight from a state near the guess with the values of the family.

    If no such state is found, the flight from the guess is returned.
    """
    node = shot.guess.nodes[0]
    moved = node
    with suppress(DaesolveError):
        for _ in range(TOWARDS_FAMILY):
            missing = np.array([
                value - integral.value(moved) for integral, value in task.family
            ])  # fmt: skip
            basis = task.basis(moved)
            rows = np.array([
                cotangent(task, integral, moved, basis)
                for integral, _ in task.family
            ])  # fmt: skip
            if not len(missing) or np.linalg.norm(missing) <= AT_FIRST * np.linalg.norm(rows):
                break
            step = task.sizes * (basis @ np.linalg.lstsq(rows, missing, rcond=1e-6)[0])
            if not np.max(np.abs(step) / task.sizes) <= 1.0:
                return shot, slopes
            moved = task.flow.consistent(node.time, moved.x + step, moved.p)
        else:
            return shot, slopes
        if moved is not node:
            again = shoot(task, replace(shot.guess, nodes=(moved,), amounts=np.zeros(0)))
            return again, slopes_of(task, again)
    return shot, slopes


def needed_pieces(slopes: Slopes) -> int:
    """Return the number of pieces of a period within which changes grow little."""
    growth = float(np.linalg.norm(slopes.monodromy, 2))
    return max(1, math.ceil(math.log(max(growth, 1.0)) / math.log(GROWTH)))


def divided(task: Task, shot: Shot, count: int) -> Guess:
    """Return the places along the first flight at which pieces begin."""
    start, nodes = shot.guess.nodes[0], list[Node]()
    nodes.append(start)
    for _ in range(count - 1):
        nodes.append(task.flow.fly(nodes[-1], shot.period / count).end)
    alpha = np.zeros(len(task.integrals))
    return Guess(tuple(nodes), shot.period, shot.amounts, alpha)


def _modes(task: Task, shot: Shot) -> list[tuple[str, int, float, float]]:
    """Return the discrete values that differ after a period: name, place, before, after."""
    first, end = task.whole(shot.guess.nodes[0]), task.whole(shot.flights[-1].end)
    back = task.group.undo(shot.amounts, end)
    states = len(task.flow.names)
    modes: list[tuple[str, int, float, float]] = []
    for name in task.flow.dynamics.discrete:
        index = task.flow.value_names.index(name)
        before, after = float(first[states + index]), float(back[states + index])
        # The pieces of tables follow from the place.
        if name in task.flow.clocks or name in task.flow.of_tables:
            continue
        if abs(after - before) > 1e-9 * max(1.0, abs(before)):
            modes.append((name, index, before, after))
    return modes


def _in_mode_of_end(task: Task, shot: Shot) -> Node:
    """Return the start of a shot with its discrete values after a period.

    A passage determines more: its state is another one if its mode is.
    """
    node = shot.guess.nodes[0]
    if task.passage is not None:
        end, states = shot.flights[-1].end, len(node.x)
        back = task.group.undo(shot.amounts, task.whole(end))
        return task.flow.at_time(Node(end.time, back[:states], back[states:]), node.time)
    p = node.p.copy()
    for _, index, _, after in _modes(task, shot):
        p[index] = after
    return Node(node.time, node.x, p)


def _other_mode(task: Task, shot: Shot) -> str:
    name, _, before, after = _modes(task, shot)[0]
    return (
        f"the motion returns in another mode: {name!r} is {after:.6g} instead of {before:.6g}; "
        "request more passages, a longer period, or a symmetry (up_to)"
    )


def check_is_steady(task: Task, shot: Shot) -> None:
    """Refuse a motion that does not follow its symmetry."""
    node = shot.guess.nodes[0]
    rate, rest = task.flow.rate(node) / task.sizes, rate_beside_symmetry(task, node)
    if not np.max(np.abs(rest)) <= STEADY * max(float(np.max(np.abs(rate))), 1.0 / shot.period):
        worst = task.flow.names[int(np.argmax(np.abs(rest)))]
        raise NotPeriodicError(
            f"the motion is not steady, because {worst!r} changes: find it as a periodic "
            "motion (steady=False), or shift this state too (up_to=Shift(...))"
        )


def check_moves(task: Task, shot: Shot) -> None:
    """Refuse an equilibrium, for which any time is a period.

    Raises
    ------
    NotPeriodicError
        Nothing moves.
    """
    if task.flow.autonomous and still(task, shot) <= REST:
        raise NotPeriodicError(f"the result is an equilibrium: {EQUILIBRIUM}")


def check_mode(task: Task, shot: Shot) -> None:
    """Refuse an orbit that returns in another mode."""
    if _modes(task, shot):
        raise NotPeriodicError(_other_mode(task, shot))
