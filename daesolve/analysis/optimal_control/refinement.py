"""Finer meshes: intervals that err are halved, and nodes move to where controls switch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from daesolve.analysis.optimal_control.collocation import (
    HIGH,
    LOW,
    Arcs,
    CollocatedMotion,
    Mesh,
    gauss,
    lagrange,
)
from daesolve.analysis.optimal_control.task import ControlTask

ACTIVE = 1e-6
"""A control or a path is at its bound if it is nearer than this, relative to the bound's size."""
LEAST_SHARE = 0.05
"""A control that jumps in this part of an interval next to a node jumps at the node."""


def refined(task: ControlTask, mesh: Mesh, motion: CollocatedMotion) -> tuple[Mesh, Arcs]:
    """Return a mesh with every interval halved, and the arcs on it on which bounds act.

    Where a bound begins or ends to act, the controls have a kink or jump. No polynomial follows it,
    unless it falls on a node; so the node there moves, while the arcs are kept.
    """
    nodes = motion.nodes
    whole = np.sort(np.concatenate([nodes, (nodes[1:] + nodes[:-1]) / 2.0]))
    bounded = list(_bounded(task, mesh, motion))
    count = len(task.controls.names)
    apart = np.ones(mesh.intervals, dtype=bool)
    for low, high, values in bounded[count:]:
        apart &= ~(_near(low, values) | _near(high, values)).any(axis=0)
    paths = [_arcs(*own, np.zeros(mesh.intervals, dtype=bool))[0] for own in bounded[count:]]
    controls: list[np.ndarray] = []
    for own in bounded[:count]:
        labels, shares = _arcs(*own, apart)
        controls.append(labels)
        # The node between two arcs begins where the mean of the control puts the jump.
        middles = nodes[:-1] + shares * np.diff(nodes)
        whole[1::2] = np.where(np.isnan(shares), whole[1::2], middles)
    places = nodes[:-1] + np.diff(nodes) * _path_points(mesh)[:, None]
    # A path stays at its bound by a control that is free.
    driven = np.count_nonzero([*controls, *paths], axis=0) <= count
    paths = [np.where(driven, row, 0) for row in paths]
    entries = [_entries(row) for row in paths]
    touches = [
        np.maximum(_touches(*own, places, whole), entry)
        for own, entry in zip(bounded[count:], entries, strict=True)
    ]
    found = Arcs(
        np.array(controls, dtype=int).reshape(count, len(whole) - 1),
        np.array(paths, dtype=int).reshape(-1, len(whole) - 1),
        np.array(touches, dtype=int).reshape(-1, len(whole)),
        np.array(entries, dtype=int).reshape(-1, len(whole)),
    )
    finer = Mesh(tuple(whole.tolist()), found.switches, mesh.stages, mesh.degree)
    return finer, found


def _arcs(
    low: float, high: float, values: np.ndarray, jumps: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which bound acts on each half of an interval: 0 none, `LOW` or `HIGH`.

    Where a bound acts on a part of an interval, it acts on the half next to where it acts wholly.
    Where it may jump, a control goes from one bound to the other at once, if it has both: then its
    mean tells the share of the interval before the jump, which comes second; NaN elsewhere.
    """
    count = values.shape[1]
    acts, shares = np.zeros(count, dtype=int), np.full(count, np.nan)
    ends, partly = np.zeros((2, count), dtype=int), np.zeros(count, dtype=bool)
    for number, bound in ((LOW, low), (HIGH, high)):
        near = _near(bound, values)
        acts[near.all(axis=0)] = number
        ends[0][near[0]], ends[1][near[-1]] = number, number
        # A single value at an end is where a bound ends to act at the node.
        alone = (near.sum(axis=0) == 1) & (near[0] | near[-1])
        partly |= near.any(axis=0) & ~near.all(axis=0) & ~alone
    found = np.repeat(acts, 2)
    for k in np.flatnonzero(acts == 0):
        beside = acts[k - 1] if k > 0 else 0, acts[k + 1] if k + 1 < count else 0
        before = ends[0, k] or (ends[1, k - 1] if k > 0 else 0)
        after = ends[1, k] or (ends[0, k + 1] if k + 1 < count else 0)
        if jumps[k] and before and after and before != after:
            first, last = (low if one == LOW else high for one in (before, after))
            share = (float(np.mean(values[:, k])) - last) / (first - last)
            found[2 * k : 2 * k + 2] = before, after
            if LEAST_SHARE < share < 1.0 - LEAST_SHARE:
                shares[k] = share
            else:  # The jump is at the node.
                found[2 * k : 2 * k + 2] = after if share < 0.5 else before
        elif partly[k] and beside[0] != beside[1]:
            found[2 * k : 2 * k + 2] = beside
    return found, shares


def _entries(arcs: np.ndarray) -> np.ndarray:
    """Return at which nodes a path comes to its bound, to stay there: 0 none, `LOW` or `HIGH`."""
    begins = (arcs != np.concatenate([[0], arcs[:-1]])) & (arcs != 0)
    begins[0] = False  # The start is what is asked for.
    return np.append(np.where(begins, arcs, 0), 0)


def _near(bound: float, values: np.ndarray) -> np.ndarray:
    """Return which values are at a bound."""
    if not np.isfinite(bound):
        return np.zeros(values.shape, dtype=bool)
    return np.abs(values - bound) <= ACTIVE * max(abs(bound), ACTIVE)


def _touches(
    low: float, high: float, values: np.ndarray, places: np.ndarray, whole: np.ndarray
) -> np.ndarray:
    """Return the nodes, of all in `whole`, near which a bound of the path acts for an instant."""
    found = np.zeros(len(whole), dtype=int)
    for number, bound in ((LOW, low), (HIGH, high)):
        near = _near(bound, values)
        on_arc = np.flatnonzero(near.all(axis=0))
        for k in on_arc:
            near[:, max(k - 1, 0) : k + 2] = False
        beside = np.flatnonzero(near.any(axis=0))
        for group in np.split(beside, np.flatnonzero(np.diff(beside) > 1) + 1):
            if 0 < len(group) <= 2:
                middle = places[:, group][near[:, group]].mean()
                found[1 + int(np.argmin(np.abs(whole[1:-1] - middle)))] = number
    return found


def _path_points(mesh: Mesh) -> np.ndarray:
    """Return where the path is bounded on an interval: at the points of collocation and its end."""
    return np.append(gauss(mesh.stages)[0], 1.0)


def _bounded(
    task: ControlTask, mesh: Mesh, motion: CollocatedMotion
) -> Iterator[tuple[float, float, np.ndarray]]:
    """Yield the bounds of each control and path, and its values on each interval, (m, n)."""
    for k, column in enumerate(motion.controls):
        yield task.controls.low[k], task.controls.high[k], column
    if not task.along.names:
        return
    c = _path_points(mesh)
    nodes = task.begin + motion.duration * motion.nodes
    moments = nodes[:-1, None] + np.diff(nodes)[:, None] * c
    p = np.tile(task.equations.defaults[:, None], (1, moments.size))
    for place, value in zip(task.places[1], motion.unknowns, strict=True):
        p[place] = value
    for place, rows in zip(task.places[0], motion.controls, strict=True):
        p[place] = (mesh.controls_at(c) @ rows).T.ravel()
    states = np.concatenate([motion.stages, motion.states[:, None, 1:]], axis=1)
    x = states.transpose(0, 2, 1).reshape(len(motion.states), -1)
    values = np.asarray(task.path(moments.reshape(1, -1), x, p))
    for k, row in enumerate(values):
        yield task.along.low[k], task.along.high[k], row.reshape(moments.shape).T


def resampled(mesh: Mesh, motion: CollocatedMotion, finer: Mesh) -> CollocatedMotion:
    """Return a motion on another mesh, by the polynomials of its own one."""
    c = gauss(mesh.stages)[0]
    nodes = np.array(finer.nodes)
    inner = nodes[:-1, None] + np.diff(nodes)[:, None] * c
    handles = nodes[:-1, None] + np.diff(nodes)[:, None] * finer.points

    def of(places: np.ndarray, points: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return values at points of each interval, (m, k, n), at places, (m, len(places))."""
        interval = np.clip(
            np.searchsorted(motion.nodes, places, "right") - 1, 0, mesh.intervals - 1
        )
        widths = np.diff(motion.nodes)
        local = (places - motion.nodes[interval]) / widths[interval]
        weights = lagrange(points, local)
        return np.einsum("pk,mkp->mp", weights, values[:, :, interval])

    whole = np.concatenate([[0.0], c, [1.0]])
    values = np.concatenate(
        [motion.states[:, None, :-1], motion.stages, motion.states[:, None, 1:]], axis=1
    )
    count, inputs = len(motion.states), len(motion.controls)
    stages = of(inner.ravel(), whole, values).reshape(count, finer.intervals, -1)
    # Each point lies within its interval, so that a switch at a node stays sharp.
    aside = np.clip(handles, nodes[:-1, None] + 1e-12, nodes[1:, None] - 1e-12)
    samples = np.einsum("pk,mkn->mpn", mesh.controls_at(mesh.points), motion.controls)
    controls = of(aside.ravel(), mesh.points, samples).reshape(inputs, finer.intervals, -1)
    return CollocatedMotion(
        motion.duration,
        nodes,
        of(nodes, whole, values),
        stages.transpose(0, 2, 1),
        finer.coefficients(controls.transpose(0, 2, 1)),
        motion.unknowns,
    )
