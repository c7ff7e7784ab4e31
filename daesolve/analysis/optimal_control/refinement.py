"""Finer meshes: intervals that err are halved, and nodes move to where controls switch."""

from __future__ import annotations

import numpy as np

from daesolve.analysis.optimal_control.replay import Replay
from daesolve.analysis.optimal_control.task import Task
from daesolve.analysis.optimal_control.transcription import Mesh, Motion, gauss, lagrange


def refined(
    task: Task, mesh: Mesh, motion: Motion, shown: Replay, sizes: np.ndarray, tolerance: float
) -> Mesh:
    """Return a finer mesh."""
    nodes = motion.nodes
    middles = (nodes[1:] + nodes[:-1]) / 2.0
    whole = np.sort(np.concatenate([nodes, middles]))
    return Mesh(tuple(whole.tolist()), (), mesh.stages, mesh.degree)


def resampled(mesh: Mesh, motion: Motion, finer: Mesh) -> Motion:
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
    return Motion(
        motion.duration,
        nodes,
        of(nodes, whole, values),
        stages.transpose(0, 2, 1),
        finer.coefficients(controls.transpose(0, 2, 1)),
        motion.unknowns,
    )
