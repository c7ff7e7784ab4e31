"""The search for the optimum on a mesh, by Ipopt, and what is missed where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from daesolve.analysis.optimal_control.collocation import Arcs, CollocatedMotion, Mesh, gauss
from daesolve.analysis.optimal_control.task import ControlTask
from daesolve.analysis.optimal_control.transcription import Transcription
from daesolve.errors import InfeasibleTaskError, NoOptimumError

MISSED = 1e-6
"""What is missed by more than this, in its size, makes a task infeasible."""
WAVES = 2
"""How many further guesses are tried if the search fails from the straight one."""
NEAR: Mapping[str, Any] = {
    "ipopt.mu_init": 1e-5,
    "ipopt.bound_push": 1e-7,
    "ipopt.bound_frac": 1e-7,
    "ipopt.slack_bound_push": 1e-7,
    "ipopt.slack_bound_frac": 1e-7,
}
"""Options for a guess that is nearly optimal."""
PLACING: Mapping[str, Any] = {
    **NEAR,
    "ipopt.max_iter": 150,
    "ipopt.tol": 1e-11,
    "ipopt.compl_inf_tol": 1e-12,
    "ipopt.acceptable_tol": 1e-8,
    "ipopt.acceptable_compl_inf_tol": 1e-8,
}
"""Options for moving nodes, after which the optimum is searched with all bounds."""
OPTIONS: Mapping[str, Any] = {
    "print_time": False,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    # Relaxed bounds would be exceeded by 1e-8 of their size, and the cost be wrong by as much.
    "ipopt.bound_relax_factor": 0.0,
    "ipopt.tol": 1e-12,
    "ipopt.dual_inf_tol": 1e-8,
    "ipopt.compl_inf_tol": 1e-14,
    "ipopt.constr_viol_tol": 1e-11,
    "ipopt.acceptable_tol": 1e-10,
    "ipopt.acceptable_iter": 5,
    "ipopt.acceptable_dual_inf_tol": 1e-6,
    "ipopt.acceptable_compl_inf_tol": 1e-10,
    "ipopt.acceptable_constr_viol_tol": 1e-10,
}


def search(
    task: ControlTask,
    mesh: Mesh,
    sizes: np.ndarray,
    guesses: Iterator[CollocatedMotion],
    options: Mapping[str, Any],
    entries: np.ndarray | None = None,
) -> CollocatedMotion:
    """Return the optimum on a mesh from the first guess that leads to one.

    `entries` are those of `Arcs`.

    Raises
    ------
    InfeasibleTaskError, NoOptimumError
        No guess does; the message names what is missed most, or why the search ended.
    """
    posed = Transcription(task, mesh, sizes, entries=entries)
    solver = ca.nlpsol("optimum", "ipopt", posed.programme, {**OPTIONS, **options})
    reason, last = "", None
    for guess in guesses:
        found = solver(x0=posed.guess(guess), **posed.limits)
        if solver.stats()["success"]:
            return posed.motion(found["x"])
        reason, last = str(solver.stats()["return_status"]), guess
    assert last is not None
    _refuse_infeasible(task, mesh, sizes, last)
    raise NoOptimumError(
        f"the search for an optimum ended without one ({reason.replace('_', ' ').lower()}), "
        "although motions exist that fulfil the task: give a guess nearer to the optimum, bounds "
        "for what may grow, more nodes or more iterations"
    )


def placed(
    task: ControlTask,
    mesh: Mesh,
    sizes: np.ndarray,
    arcs: Arcs,
    guess: CollocatedMotion,
    options: Mapping[str, Any],
) -> CollocatedMotion | None:
    """Return the optimum on given arcs of bounds, whose ends move; None if there is none."""
    posed = Transcription(task, mesh, sizes, arcs=arcs)
    if posed.surplus:
        return None
    solver = ca.nlpsol("placed", "ipopt", posed.programme, {**OPTIONS, **options})
    found = solver(x0=posed.guess(guess), **posed.limits)
    return posed.motion(found["x"]) if solver.stats()["success"] else None


def _refuse_infeasible(
    task: ControlTask, mesh: Mesh, sizes: np.ndarray, guess: CollocatedMotion
) -> None:
    """Raise if a motion that misses as little as possible of what is asked still misses some."""
    posed = Transcription(task, mesh, sizes, elastic=True)
    solver = ca.nlpsol("nearest", "ipopt", posed.programme, {**OPTIONS, "ipopt.max_iter": 1000})
    found = solver(x0=posed.guess(guess), **posed.limits)
    misses = posed.misses(found["x"])
    worst = max(misses, key=misses.__getitem__, default=None)
    if worst is None or misses[worst] <= MISSED or not solver.stats()["success"]:
        return
    size = _size_of(task, sizes, worst)
    others = [
        _titled(task, name) for name, miss in misses.items() if miss > MISSED and name != worst
    ]
    also = (
        f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} missed, too" if others else ""
    )
    what = _titled(task, worst)
    raise InfeasibleTaskError(
        f"no motion fulfils the task: the nearest one found misses {what} by "
        f"{misses[worst] * size:.3g}, more than anything else{also}"
    )


def _titled(task: ControlTask, name: str) -> str:
    return f"the bound of {name!r}" if name in task.along.names else name


def _size_of(task: ControlTask, sizes: np.ndarray, name: str) -> float:
    if name in task.along.names:
        return float(task.along.sizes[task.along.names.index(name)])
    if name == f"the guard of {task.event}":
        return 1.0
    return float(sizes[task.equations.states.index(name.rsplit(" ", 1)[-1])])


# -- guesses ---------------------------------------------------------------------------------------


def straight(
    task: ControlTask, mesh: Mesh, given: Mapping[str, np.ndarray], duration: float
) -> CollocatedMotion:
    """Return a motion along straight lines, or through given even samples of some quantities."""
    nodes = np.array(mesh.nodes)
    names = task.equations.states
    low, high = task.controls.low, task.controls.high
    # Midway between bounds if both are finite, otherwise zero or the bound that is nearest to it.
    rest = np.clip(0.0, low, high)
    between = np.isfinite(low) & np.isfinite(high)
    rest[between] = (low[between] + high[between]) / 2.0
    controls = rest[:, None] * np.ones(2)
    states = np.stack([task.began, task.ended], axis=1)
    rows = [_sampled(given.get(name, row)) for name, row in zip(names, states, strict=True)]
    pushes = [
        _sampled(given.get(name, row))
        for name, row in zip(task.controls.names, controls, strict=True)
    ]
    unknowns = [
        float(given[name][0]) if name in given else task.equations.defaults[place]
        for name, place in zip(task.unknowns.names, task.places[1], strict=True)
    ]
    c, points = gauss(mesh.stages)[0], mesh.points
    inner = nodes[:-1, None] + np.diff(nodes)[:, None] * c
    handles = nodes[:-1, None] + np.diff(nodes)[:, None] * points
    return CollocatedMotion(
        duration,
        nodes,
        np.array([_along(nodes, row) for row in rows]),
        np.array([_along(inner.T, row) for row in rows]),
        np.array([_along(handles.T, row) for row in pushes]).reshape(
            -1, len(points), len(nodes) - 1
        ),
        np.array(unknowns),
    )


def _sampled(values: object) -> np.ndarray:
    return np.atleast_1d(np.asarray(values, dtype=float))


def _along(places: np.ndarray, samples: np.ndarray) -> np.ndarray:
    return np.interp(places, np.linspace(0.0, 1.0, len(samples)), samples)


def with_waves(
    guess: CollocatedMotion, task: ControlTask, mesh: Mesh, number: int
) -> CollocatedMotion:
    """Return a guess off the straight one, in which no symmetry keeps a state or a control still.

    Each state that is not fixed all along, and each control, gets a wave of its own phase.
    """
    rng = np.random.default_rng(number)
    nodes = guess.nodes
    c, points = gauss(mesh.stages)[0], mesh.points
    inner = (nodes[:-1, None] + np.diff(nodes)[:, None] * c).T
    handles = (nodes[:-1, None] + np.diff(nodes)[:, None] * points).T
    heights = 0.3 * np.maximum(np.max(np.abs(guess.states), axis=1), 1.0)
    shifts = rng.uniform(0.0, 2.0 * np.pi, len(heights) + len(guess.controls))
    states, stages, controls = guess.states.copy(), guess.stages.copy(), guess.controls.copy()
    for k, height in enumerate(heights):
        # The ends stay where they are.
        states[k] += height * np.sin(np.pi * nodes) * np.sin(2 * np.pi * nodes + shifts[k])
        stages[k] += height * np.sin(np.pi * inner) * np.sin(2 * np.pi * inner + shifts[k])
    span = np.where(
        np.isfinite(task.controls.low) & np.isfinite(task.controls.high),
        (task.controls.high - task.controls.low) / 4.0,
        1.0,
    )
    for k, height in enumerate(span):
        wave = height * np.sin(2 * np.pi * handles + shifts[len(heights) + k])
        controls[k] = np.clip(controls[k] + wave, task.controls.low[k], task.controls.high[k])
    return replace(guess, states=states, stages=stages, controls=controls)
