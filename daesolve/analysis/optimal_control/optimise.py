"""`optimise`: controls that bring a system from start to end at the least cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.analysis.gradients import Objective
from daesolve.analysis.optimal_control.collocation import CollocatedMotion, Mesh
from daesolve.analysis.optimal_control.controlled_equations import Expression
from daesolve.analysis.optimal_control.optimum import Optimum, largest_difference
from daesolve.analysis.optimal_control.refinement import refined, resampled
from daesolve.analysis.optimal_control.replay import Replay, controls_of, replay
from daesolve.analysis.optimal_control.search import (
    NEAR,
    PLACING,
    WAVES,
    placed,
    search,
    straight,
    with_waves,
)
from daesolve.analysis.optimal_control.subject import ControllableCase, duration_of, subject_of
from daesolve.analysis.optimal_control.task import ControlTask, Range, pose_task
from daesolve.core.system.system import System
from daesolve.errors import NoOptimumError, OutOfRangeError, check_names

SAME = 10.0
"""By how much more than the cost may change a motion with placed switches may cost more than one
that is searched with all bounds, whose controls swing on arcs and are not quite at their bounds."""
Progress = Callable[[int, int, float, float], None]
BEYOND = 100.0
"""By how much more than the cost may change a bound may be exceeded between points."""


def optimise(
    source: System | ControllableCase,
    objective: Objective | Expression = "time",
    *,
    time: Range | None = None,
    controls: Iterable[str] | None = None,
    start: Mapping[str, Range] | None = None,
    end: Mapping[str, Range] | None = None,
    bounds: Mapping[str, Range] | None = None,
    path: Mapping[str, tuple[Expression, float, float]] | None = None,
    periodic: Sequence[str] = (),
    event: str | None = None,
    mode: Mapping[str, float] | None = None,
    parameters: Mapping[str, Range] | None = None,
    inputs: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | None = None,
    start_time: float | None = None,
    nodes: int = 21,
    stages: int = 4,
    degree: int | None = None,
    tolerance: float = 1e-8,
    refinements: int = 5,
    iterations: int = 500,
    verify: bool = True,
    store: str | Path | None = None,
    progress: Progress | None = None,
) -> Optimum:
    """Find the controls that bring a system from a start to an end at the least cost.

    Parameters
    ----------
    source
        A system with inputs, or a case of a problem.
    objective
        "time"; or what is integrated over the motion: a function of the quantities by name, such as
        `lambda now: now["force"] ** 2`, or an expression of them as text, "force**2"; or an
        `analysis.Objective` with `running` and `end`.
    time
        The duration in s, or its least and largest value; by default the duration of the case.
    controls
        The inputs that are found; by default all that `inputs` does not give.
    start
        States at the start, as in `solve`: a number, or a range (least, largest). States left out
        are as in `solve`, if the start has no range; otherwise they are found with it. A case has
        its own start, which these replace.
    end
        States at the end: a number or a range. Those left out are free.
    bounds
        The least and the largest value of a control, a state, an output or a reaction, by name, all
        along the motion.
    path
        Bounds of other quantities: name -> (function or expression, least, largest).
    periodic
        States that end with the value with which they start. Those that `start` does not give are
        found.
    event
        An event of the system with a reset, with which the motion ends: its guard is zero there.
        `periodic` then holds for the states after its reset, as for a step from impact to impact.
    mode
        Discrete values during the motion where they differ from those at the start.
    parameters
        Values that replace the defaults; a range is a parameter that is found.
    inputs
        Inputs that are no controls, as in `solve`.
    guess
        Where the search begins: by the name of a state, a control or an unknown parameter, a
        number or even samples over the duration; "time" is the duration.
    start_time
        s; by default 0, or that of the case.
    nodes
        The nodes of the first mesh, both ends among them.
    stages
        The points of collocation on an interval; the order is twice as high.
    degree
        The degree of the controls' polynomials on each interval, by default `stages - 1`; with 0
        they are steps, which are held.
    tolerance
        The mesh is refined until the run differs from the motion, and the cost changes, by less
        than this, relative to their sizes; and bounds of states are exceeded by less than a hundred
        times this between the points where they are imposed.
    refinements, iterations
        The most meshes after the first one, and iterations on each.
    verify
        Whether the last run is repeated and audited, as in `solve`.
    store
        A directory for the last run, as in `solve`.
    progress
        Called with the number of each mesh, its intervals, the cost along the run, and how far the
        run differs from the motion.

    Returns
    -------
    Optimum
        The cost, the controls, and the run that replays the motion.

    Raises
    ------
    InfeasibleTaskError
        No motion near the guess fulfils the task; the message names what is missed most.
    NoOptimumError
        The search ended without an optimum, or the tolerance was not reached.
    OutOfRangeError, UnknownNameError, InconsistentStateError, UnsupportedError, DaesolveError
        The task makes no sense, as the message says.

    Notes
    -----
    Gauss collocation with all constraints exact at the nodes, and Ipopt. The optimum is local.
    """
    first = _samples(guess or {})
    subject = subject_of(
        source,
        controls=controls,
        parameters=parameters or {},
        inputs=inputs or {},
        begin=start_time,
    )
    task = pose_task(
        subject.system,
        objective,
        duration_of(subject, time),
        controls=controls,
        start={**subject.kept, **(start or {})},
        end=end or {},
        bounds=bounds or {},
        path=path or {},
        periodic=periodic,
        parameters=subject.parameters,
        inputs=subject.inputs,
        guess=first,
        begin=subject.begin,
        near=subject.near,
        event=event,
        mode=mode or {},
    )
    mesh = _first_mesh(nodes, stages, degree)
    begun = straight(task, mesh, first, _duration(task, first))
    limit = {"ipopt.max_iter": iterations}
    motion = search(task, mesh, _sizes(task, begun), _guesses(task, mesh, begun), limit)
    costs: list[float] = []
    while True:
        sizes = _sizes(task, motion)
        shown = replay(subject, task, mesh, motion, sizes, {})
        gain = _change(costs, shown.cost)
        costs.append(shown.cost)
        if progress is not None:
            progress(len(costs), mesh.intervals, shown.cost, float(shown.differences.max()))
        if _agrees(shown, gain, tolerance):
            break
        if len(costs) > refinements:
            raise _refusal(shown, gain, tolerance)
        mesh, begun, entries = _finer(task, mesh, motion, sizes)
        motion = search(task, mesh, sizes, iter([begun]), {**limit, **NEAR}, entries)
        if begun.cost - motion.cost <= SAME * tolerance * abs(begun.cost):
            motion = begun
    if verify or store is not None:
        last = {"verify": verify, "store": store}
        shown = replay(subject, task, mesh, motion, sizes, last)
    return _optimum(task, mesh, motion, shown, gain, costs, sizes)


def _optimum(
    task: ControlTask,
    mesh: Mesh,
    motion: CollocatedMotion,
    shown: Replay,
    gain: float,
    costs: Sequence[float],
    sizes: np.ndarray,
) -> Optimum:
    repeated = shown.run.verification
    scales = dict(zip(task.equations.states, sizes.tolist(), strict=True))
    return Optimum(
        shown.cost,
        motion.duration,
        shown.run,
        controls_of(task, mesh, motion),
        dict(zip(task.unknowns.names, motion.unknowns.tolist(), strict=True)),
        float(shown.differences.max()),
        None if repeated is None else largest_difference(repeated, scales),
        gain,
        shown.excesses,
        mesh,
        tuple(costs),
    )


def _finer(
    task: ControlTask, mesh: Mesh, motion: CollocatedMotion, sizes: np.ndarray
) -> tuple[Mesh, CollocatedMotion, np.ndarray | None]:
    """Return a finer mesh with nodes where bounds begin and end to act, and a motion on it.

    Where such nodes are found, those at which the path comes to a bound are the third.
    """
    finer, arcs = refined(task, mesh, motion)
    begun, entries = resampled(mesh, motion, finer), None
    if finer.moving:
        found = placed(task, finer, sizes, arcs, begun, PLACING)
        if found is not None:
            begun, entries = found, arcs.entries
    return replace(finer, nodes=tuple(begun.nodes.tolist()), moving=()), begun, entries


def _first_mesh(nodes: int, stages: int, degree: int | None) -> Mesh:
    for name, value, least in (("nodes", nodes, 2), ("stages", stages, 1), ("degree", degree, 0)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (whole and value >= least):
            raise OutOfRangeError(f"{name} is {value!r}, but must be a whole number >= {least}")
    degree = stages - 1 if degree is None else degree
    if degree >= stages:
        raise OutOfRangeError(
            f"the degree {degree} of the controls needs more stages than {stages}: their values at "
            "the points of collocation would not determine them"
        )
    return Mesh(tuple(np.linspace(0.0, 1.0, nodes).tolist()), (), stages, degree)


def _samples(guess: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in guess.items()}


def _duration(task: ControlTask, guess: Mapping[str, np.ndarray]) -> float:
    known = (*task.equations.states, *task.controls.names, *task.unknowns.names, "time")
    check_names("quantity to guess", guess, known)
    low, high = task.duration
    if "time" in guess:
        return min(max(float(guess["time"][0]), low), high)
    return math.sqrt(low * high) if low > 0.0 else high / 2.0


def _guesses(task: ControlTask, mesh: Mesh, begun: CollocatedMotion) -> Iterator[CollocatedMotion]:
    yield begun
    for number in range(WAVES):
        yield with_waves(begun, task, mesh, number)


def _sizes(task: ControlTask, motion: CollocatedMotion) -> np.ndarray:
    """Return the size of each state: of its values on a motion and at both ends."""
    largest = np.max(np.abs(motion.states), axis=1)
    return np.where(largest > 1e-3, largest, 1.0)


def _change(costs: Sequence[float], cost: float) -> float:
    """Return by how much the cost changed, relative to it; infinite for the first."""
    if not costs:
        return math.inf
    return abs(cost - costs[-1]) / max(abs(cost), abs(costs[-1]), 1e-300)


def _agrees(shown: Replay, gain: float, tolerance: float) -> bool:
    agrees = max(float(shown.differences.max()), gain) <= tolerance
    return agrees and float(shown.beyond.max()) <= BEYOND * tolerance


def _refusal(shown: Replay, gain: float, tolerance: float) -> NoOptimumError:
    met = dict.fromkeys(one.name for one in shown.run.events)
    if met:
        return NoOptimumError(
            f"the run differs by {shown.differences.max():.1e} from the collocated motion, which "
            f"follows no events, but the run has {', '.join(map(repr, met))}: choose a guess or "
            "bounds that avoid them, or end before the first"
        )
    return NoOptimumError(
        f"the tolerance {tolerance:g} was not reached: the run differs by "
        f"{shown.differences.max():.1e} from the collocated motion, bounds are exceeded by "
        f"{shown.beyond.max():.1e} of their size, and the cost still changes by {gain:.1e}; allow "
        "more refinements or nodes, or a larger tolerance"
    )
