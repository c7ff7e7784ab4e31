"""The optimum as a run of the library: its controls are piecewise polynomials of time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.analysis.optimal_control.collocation import CollocatedMotion, Mesh
from daesolve.analysis.optimal_control.subject import ControlSubject
from daesolve.analysis.optimal_control.task import ControlTask
from daesolve.core.posing.symbols import time
from daesolve.core.posing.tables import horner, table
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import DaesolveError

SAMPLES = 10
"""The samples in each interval. They are points of Gauss' method, so that integrals over a smooth
motion are exact to rounding."""
BEYOND_EVENT = 0.01
"""The part of the duration for which the run goes on after the event with which a motion ends."""


@dataclass(frozen=True, eq=False)
class Replay:
    """A motion, as a run shows it.

    Parameters
    ----------
    run
        The run, with samples at the nodes and at Gauss' points between them.
    cost
        The objective along the run.
    differences
        (n + 1,) how far it is from the motion at the nodes, in sizes of the states.
    excesses
        By how much the run misses each end, period and bound, in its own units.
    """

    run: Trajectory
    cost: float
    differences: np.ndarray
    excesses: Mapping[str, float]
    beyond: np.ndarray


def replay(
    subject: ControlSubject,
    task: ControlTask,
    mesh: Mesh,
    motion: CollocatedMotion,
    sizes: np.ndarray,
    options: Mapping[str, Any],
) -> Replay:
    """Run a system or a case with the controls of a motion.

    Raises
    ------
    DaesolveError
        The run cannot be made, or ends early.
    """
    names, equations = task.equations.states, task.equations
    nodes = task.begin + motion.duration * motion.nodes
    roots, weights = np.polynomial.legendre.leggauss(SAMPLES)
    inner = nodes[:-1, None] + np.diff(nodes)[:, None] * (roots + 1.0) / 2.0
    times = np.unique(np.concatenate([nodes, inner.ravel()]))
    until = float(nodes[-1])
    if task.event:  # The run goes on through it.
        until += BEYOND_EVENT * motion.duration
        times = np.append(times[:-1], until)
    numbers = {
        name: float(value) for name, value in zip(equations.values, equations.defaults, strict=True)
    }
    unknowns = dict(zip(task.unknowns.names, motion.unknowns.tolist(), strict=True))
    numbers |= unknowns
    run = subject.run(
        until,
        dict(zip(names, motion.states[:, 0].tolist(), strict=True)),
        {n: numbers[n] for n in subject.system.parameters.names},
        unknowns,
        controls_of(task, mesh, motion),
        {"at": times, **options},
    )
    if len(run.times) != len(times):
        raise DaesolveError(f"the motion ends early when it is replayed: {run.message}")
    states = np.array([run[name] for name in names])
    at_nodes = states[:, np.searchsorted(times, nodes)]
    after, late = at_nodes[:, -1], 0.0
    if task.event:
        at_nodes[:, -1], after, late = _landed(task, run, float(nodes[-1]), motion.duration)
    own = (np.abs(at_nodes - motion.states) / sizes[:, None]).max(axis=0)
    own[-1] += late
    between = np.searchsorted(times, inner.ravel())
    p = np.tile(equations.defaults[:, None], (1, inner.size))
    for place, value in zip(task.places[1], motion.unknowns.tolist(), strict=True):
        p[place] = value
    shown = mesh.controls_at((roots + 1.0) / 2.0)
    for place, rows in zip(task.places[0], motion.controls, strict=True):
        p[place] = (shown @ rows).T.ravel()
    x = states[:, between]
    cost = 0.0
    if task.running is not None:
        powers = np.asarray(task.running(inner.reshape(1, -1), x, p)).reshape(inner.shape)
        cost += float(np.sum(powers @ weights / 2.0 * np.diff(nodes)))
    if task.final is not None:
        last = p[:, -1].copy()
        for place, rows in zip(task.places[0], motion.controls, strict=True):
            last[place] = rows[-1, -1]
        given = [ca.DM(float(nodes[-1])), ca.DM(at_nodes[:, -1]), ca.DM(last)]
        values: list[ca.DM] = list(task.final.call(given))
        cost += float(values[0])
    cost += motion.duration if task.shortest else 0.0
    excesses, beyond = _excesses(task, at_nodes, after, inner, x, p)
    return Replay(run, cost, own, excesses, beyond)


def _landed(
    task: ControlTask, run: Trajectory, time: float, duration: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the states before and after the event of the end, and how early or late it came."""
    names = task.equations.states
    for event in run.events:
        late = abs(event.time - time) / duration
        if event.name == task.event and late <= BEYOND_EVENT and event.after is not None:
            before = np.array([event.detail[name] for name in names])
            return before, np.array([event.after[name] for name in names]), late
    lost = np.full(len(names), np.inf)
    return lost, lost, math.inf


def _excesses(
    task: ControlTask,
    at_nodes: np.ndarray,
    after: np.ndarray,
    inner: np.ndarray,
    x: np.ndarray,
    p: np.ndarray,
) -> tuple[dict[str, float], np.ndarray]:
    """Return what is missed by name, and the largest excess of a bound in each interval."""
    names = task.equations.states
    found: dict[str, float] = {}
    last = at_nodes[:, -1]
    for k, name in enumerate(names):
        low, high = task.end.low[k], task.end.high[k]
        if np.isfinite(low) or np.isfinite(high):
            found[f"end of {name}"] = float(max(low - last[k], last[k] - high, 0.0))
        if k in task.periodic:
            found[f"period of {name}"] = float(abs(after[k] - at_nodes[k, 0]))
    values = np.asarray(task.path(inner.reshape(1, -1), x, p)).T.reshape(inner.size, -1)
    controls = p[task.places[0]].T
    beyond = np.zeros(len(inner))
    for limits, column in ((task.along, values), (task.controls, controls)):
        excess = limits.excess(column)
        for k, name in enumerate(limits.names):
            if np.isfinite(limits.low[k]) or np.isfinite(limits.high[k]):
                found[name] = float(excess[:, k].max() * limits.sizes[k])
                own = excess[:, k].reshape(inner.shape).max(axis=1)
                beyond = np.maximum(beyond, own)
    return found, beyond


def controls_of(task: ControlTask, mesh: Mesh, motion: CollocatedMotion) -> dict[str, ca.SX]:
    """Return the controls as expressions of time, polynomials on each interval."""
    nodes = task.begin + motion.duration * motion.nodes
    begins = table("began", nodes, np.append(nodes[:-1], nodes[-2]), "steps")(time)
    found: dict[str, ca.SX] = {}
    for name, rows in zip(task.controls.names, motion.controls, strict=True):
        sampled = mesh.controls_at(mesh.points) @ rows
        monomials: np.ndarray = mesh.points[:, None] ** np.arange(mesh.degree + 1)
        powers = np.array(np.linalg.solve(monomials, sampled), dtype=np.float64)
        powers /= np.diff(nodes) ** np.arange(mesh.degree + 1)[:, None]
        tables = [
            table(f"{name}_{k}", nodes, np.append(row, row[-1]), "steps")(time)
            for k, row in enumerate(list(powers))
        ]
        found[name] = horner(tables, time - begins) if mesh.degree else tables[0]
    return found
