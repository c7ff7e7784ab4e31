"""The steady motion near a guess, solved as equations: the rates beside its symmetry vanish.

A motion is steady where its rate is a motion of its symmetry: everything else rests. That is a
system of equations in the state alone, without a flight. Damped steps of Gauss and Newton along the
constraints (Levenberg and Marquardt) stay near the guess, where a flight of a guess that is a
little off may fall into the reach of another motion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from daesolve.analysis.orbits.flow import Node
from daesolve.analysis.orbits.shooting import (
    Shot,
    Slopes,
    Task,
    central_slope,
    shoot,
    slopes_of,
    unit,
)
from daesolve.core.expressions.singular_values import null_space
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.preparation.request import Request
from daesolve.core.system.system import System
from daesolve.errors import DaesolveError, InconsistentStateError

STEPS = 80
"""The most damped steps."""
ASIDE = 1e-6
"""The difference, in sizes, for differentiating rates."""
DAMPED, LEAST_DAMPED, MOST_DAMPED = 1e-3, 1e-12, 1e9
"""The first damping, in squares of the largest slope, and its bounds."""
SOLVED = 1e-11
"""The largest rate and miss of the family, of the largest slope, at a solution."""
HELD = 1e-10
"""The part of a direction that counts as no change of positions."""
FAR = 0.1
"""The distance from a guess, in sizes, beyond which a note calls a steady motion far."""


def steadied(task: Task, shot: Shot) -> tuple[Shot, Slopes] | None:
    """Return the flight from the steady motion near the start of another; None if none is found.

    Parameters
    ----------
    task
        With the values of the family.
    shot
        A flight of the guess.
    """
    try:
        node = _solved(task, shot.guess.nodes[0])
        if node is None:
            return None
        shot_there = shoot(task, replace(shot.guess, nodes=(node,), amounts=np.zeros(0)))
    except (DaesolveError, np.linalg.LinAlgError):
        return None
    return shot_there, slopes_of(task, shot_there)


def _solved(task: Task, node: Node) -> Node | None:
    """Return the place of a steady motion near a place."""
    near, _ = _improved(task, node, held=True)
    for start in (near, node):
        found, off = _improved(task, start, held=False)
        if off <= SOLVED:
            return found
    return None


def _improved(task: Task, node: Node, *, held: bool) -> tuple[Node, float]:
    """Return the place nearby at which least is missing, and how much; positions may be held."""
    damping, sizes = DAMPED, task.manifold.sizes
    basis = _directions(task, node, held=held)
    units = _units(task, _slopes(task, node, basis))
    slopes, missing = _slopes(task, node, basis) / units[:, None], _missing(task, node) / units
    for _ in range(STEPS):
        if np.max(np.abs(missing)) <= SOLVED or damping > MOST_DAMPED or not basis.shape[1]:
            break
        least = damping * float(np.linalg.norm(slopes, 2)) ** 2
        square = slopes.T @ slopes + least * np.eye(basis.shape[1])
        change = sizes * (basis @ np.linalg.solve(square, -slopes.T @ missing))
        other = _moved(task, node, change)
        left = missing if other is None else _missing(task, other) / units
        if other is None or not np.linalg.norm(left) < np.linalg.norm(missing):
            damping *= 10.0
            continue
        node, missing, damping = other, left, max(damping / 10.0, LEAST_DAMPED)
        basis = _directions(task, node, held=held)
        slopes = _slopes(task, node, basis) / units[:, None]
    return node, float(np.max(np.abs(missing)))


def _units(task: Task, slopes: np.ndarray) -> np.ndarray:
    """Return the units of what is missing: rates of positions and of velocities have their own."""
    split, count = task.flow.dynamics.position_count, len(task.manifold.sizes)
    units = np.ones(len(slopes))
    for block in (slice(0, split), slice(split, count)):
        units[block] = float(np.linalg.norm(slopes[block])) or 1.0
    return units


def _directions(task: Task, node: Node, *, held: bool) -> np.ndarray:
    """Return orthonormal directions along the constraints, in sizes, (n, d)."""
    basis = task.manifold.basis(node.time, node.x, node.p)
    if not held:
        return basis
    return basis @ null_space(basis[: task.flow.dynamics.position_count], HELD)


def _moved(task: Task, node: Node, change: np.ndarray) -> Node | None:
    """Return the consistent place beside another; None if there is none."""
    try:
        return task.flow.consistent(node.time, node.x + change, node.p)
    except DaesolveError:
        return None


def _missing(task: Task, node: Node) -> np.ndarray:
    """Return the rates beside the symmetry, in sizes per s, and the misses of a family."""
    sizes = task.manifold.sizes
    family = [
        (integral.value(node) - value)
        / (float(np.linalg.norm(integral.gradient(node) * sizes)) or 1.0)
        for integral, value in task.family
    ]
    return np.concatenate([rate_beside_symmetry(task, node), family])


def rate_beside_symmetry(task: Task, node: Node) -> np.ndarray:
    """Return the rate without what the symmetry makes of it, in sizes, per s."""
    sizes = task.manifold.sizes
    rate = task.flow.rate(node) / sizes
    generators = task.part(task.group.generators(task.whole(node))) / sizes[:, None]
    return rate - generators @ np.linalg.lstsq(generators, rate, rcond=None)[0]


def _slopes(task: Task, node: Node, basis: np.ndarray) -> np.ndarray:
    """Return the derivatives of what is missing along the constraints, rates first."""
    rates = slopes_along(task, node, basis, partial(rate_beside_symmetry, task))
    family = [unit(one.gradient(node) * task.sizes)[None, :] @ basis for one, _ in task.family]
    return np.vstack([rates, *family])


def slopes_along(
    task: Task, node: Node, basis: np.ndarray, function: Callable[[Node], np.ndarray]
) -> np.ndarray:
    """Return the derivatives of a function of places along directions in sizes, as columns."""

    def beside(direction: np.ndarray, step: float) -> np.ndarray:
        return function(Node(node.time, node.x + step * task.sizes * direction, node.p))

    return np.array([central_slope(partial(beside, d), ASIDE) for d in basis.T]).T


def prepared_near(system: System, request: Request) -> Prepared:
    """Prepare a request from a consistent state with the positions that are given, or near them.

    Velocities that do not fit them would else move the positions far away.
    """
    split = system.dynamics.position_count
    places = system.dynamics.labels.states[:split]
    given = {**request.guess, **request.initial}
    kept = {name: value for name, value in given.items() if name in places}
    rest = {name: value for name, value in given.items() if name not in kept}
    with suppress(InconsistentStateError):
        return prepare_once(system, replace(request, initial=kept, guess=rest))
    near = prepare_once(system, replace(request, initial={}, guess=kept)).start.state[:split]
    kept = dict(zip(places, near.tolist(), strict=True))
    return prepare_once(system, replace(request, initial=kept, guess=rest))


def far_note(task: Task, node: Node, given: Mapping[str, float]) -> list[str]:
    """Return a note if a steady motion lies far from the values that were given for it."""
    names, sizes = task.flow.names, task.manifold.sizes
    apart = {
        name: abs(float(node.x[names.index(name)]) - value) / sizes[names.index(name)]
        for name, value in given.items()
        if name in names and name not in task.group.names
    }
    worst = max(apart, key=lambda name: apart[name], default="")
    if not worst or apart[worst] <= FAR:
        return []
    return [
        f"this steady motion lies far from the guess: {worst!r} is "
        f"{node.x[names.index(worst)]:.6g} instead of {given[worst]:.6g}"
    ]
