"""Closes the loops of a start: joints with given values keep them, and the others move.

In the coordinates of the file the joints of the tree hold anyway. With r the residuals of the
equalities and J their slopes along the velocities of the file, Newton's method moves the others
by the smallest -J^+ r, and their rates by the smallest change that fulfils J v = 0. Joints that
carry a loop as a whole, such as that of a free trunk, stay: their slopes vanish where it is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.posing.goals import Expression, Holonomic
from daesolve.core.posing.symbols import SymbolVector
from daesolve.errors import InconsistentStateError
from daesolve.multibody.contribution import Part
from daesolve.multibody.model_files.assembly import Assembly
from daesolve.multibody.model_files.freedoms import Freedom
from daesolve.multibody.model_files.kinematics import matrix_of, quaternion_of, turned_about

CLOSED = 1e-13
"""What a residual may be, m or rad."""
OPEN = 1e-9
"""What one may not be, m or rad; of rates as a part of the fastest."""
TRIES = 100
LARGEST = 0.3
"""The largest step, rad or m."""
SINGULAR = 1e-9
"""Singular values below this part of the largest belong to rows that say the same twice."""


@dataclass(frozen=True, eq=False)
class Loops:
    """The residuals of the parts that close loops.

    Parameters
    ----------
    names
        Of the goals.
    residuals
        (coordinates and velocities of the file) -> residuals and their rates.
    within
        Which velocities of the file belong to the loop of a residual, (rows, velocities).
    """

    names: Sequence[str]
    residuals: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    within: np.ndarray

    def slopes(self, qpos: np.ndarray) -> np.ndarray:
        """Return the rates of the residuals by each velocity of the file, (rows, velocities)."""
        units = np.eye(self.within.shape[1])
        return self.within * np.array([self.residuals(qpos, unit)[1] for unit in units]).T

    def may_move(self, kept: np.ndarray) -> np.ndarray:
        """Return which velocities of the file close loops and are not kept."""
        return self.within.any(axis=0) & ~kept


def loops_of(
    assembly: Assembly,
    moving: tuple[SymbolVector, SymbolVector, ca.SX],
    states_at: Callable[[np.ndarray, np.ndarray], dict[str, float]],
) -> Loops:
    """Return the loops of a mechanism.

    Parameters
    ----------
    assembly
        Its bodies and joints, and the parts that close loops.
    moving
        The coordinates and velocities of all bodies, and the rates of the coordinates.
    states_at
        The states of the bodies and the discrete values, by coordinates and velocities of the file.
    """
    coordinates, velocities, rates = moving
    rows: dict[str, Expression] = {}
    within: list[np.ndarray] = []
    for part in assembly.loops:
        own = [goal for goal in part.contribution.goals if isinstance(goal, Holonomic)]
        rows |= {goal.name: goal.residual for goal in own}
        within += [_within(assembly, part)] * len(own)
    column = ca.vertcat(ca.SX(0, 1), *rows.values())
    known = {*coordinates.names, *velocities.names}
    further = [symbol for symbol in ca.symvar(column) if symbol.name() not in known]
    names = [*coordinates.names, *velocities.names, *[symbol.name() for symbol in further]]
    inside = ca.vertcat(coordinates.vector, velocities.vector, *further)
    changes = ca.jtimes(column, coordinates.vector, rates)
    function = ca.Function("loops", [inside], [ca.densify(column), ca.densify(changes)])

    def residuals(qpos: np.ndarray, qvel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = states_at(qpos, qvel)
        both = function([states[name] for name in names])
        one, other = (np.array(part, dtype=float).ravel() for part in both)  # pyright: ignore
        return one, other

    return Loops(list(rows), residuals, np.array(within))


def _within(assembly: Assembly, part: Part) -> np.ndarray:
    """Return which velocities of the file move one end of a part against the other."""
    model, joins = assembly.model, part.contribution.joins
    if joins is None:  # Between angles or lengths, which what carries the joints leaves alone.
        return np.ones(model.rates, dtype=bool)
    named = {carrier.body.name: number
             for number, carrier in assembly.carriers.items() if carrier.body}  # fmt: skip
    one, other = ({*model.line_to_ground(named.get(name, 0))} for name in joins)
    within = np.zeros(model.rates, dtype=bool)
    for freedom in assembly.freedoms.values():
        if freedom.joint.body in one ^ other:
            first = freedom.joint.rate
            within[first : first + len(freedom.rates)] = True
    return within


def close_loops(
    loops: Loops,
    freedoms: Sequence[Freedom],
    given: Collection[str],
    qpos: np.ndarray,
    qvel: np.ndarray,
) -> None:
    """Move the coordinates and velocities of all joints that are not given, until loops close.

    Parameters
    ----------
    loops
        What they fulfil in the end.
    freedoms
        All of the file.
    given
        The names of the start values to keep.
    qpos, qvel
        Coordinates and velocities of the file; they are changed.

    Raises
    ------
    InconsistentStateError
        With these values the loops cannot be closed, or do not stay closed.
    """
    hard = [_hard(freedom, given) for freedom in freedoms]
    _close_positions(loops, freedoms, np.concatenate([places for places, _ in hard]), qpos)
    kept = np.concatenate([rates for _, rates in hard])
    slopes = loops.slopes(qpos)
    moves = loops.may_move(kept)
    qvel[moves] -= _smallest(slopes[:, moves], slopes @ qvel)
    apart = np.abs(slopes @ qvel)
    if np.max(apart, initial=0.0) > OPEN * np.max(np.abs(qvel), initial=0.0):
        names = [name for _, own in (f.start_names for f in freedoms) for name in own]
        _refuse(loops, apart, "m/s or rad/s", given, names)


def _hard(freedom: Freedom, given: Collection[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return which velocities of a joint its given places determine, and its given rates."""
    places, rates = freedom.start_names
    own = np.array([name in given for name in places])
    if freedom.joint.kind in ("ball", "free"):
        own = np.concatenate([own[:-4], np.full(3, own[-4:].any())])
    return own, np.array([name in given for name in rates])


def _close_positions(
    loops: Loops, freedoms: Sequence[Freedom], kept: np.ndarray, qpos: np.ndarray
) -> None:
    best, tried, moves = np.inf, qpos.copy(), loops.may_move(kept)
    for _ in range(TRIES):
        residuals = loops.residuals(tried, np.zeros(len(kept)))[0]
        size = float(np.max(np.abs(residuals), initial=0.0))
        if size < best:
            best, qpos[:] = size, tried
        elif best <= OPEN:
            return  # Rounding.
        if size <= CLOSED:
            return
        step = np.zeros(len(kept))
        step[moves] = -_smallest(loops.slopes(tried)[:, moves], residuals)
        step *= min(1.0, LARGEST / max(float(np.max(np.abs(step))), 1e-300))
        for freedom in freedoms:
            _move(freedom, tried, step)
    if best > OPEN:
        names = [name for own, _ in (f.start_names for f in freedoms) for name in own]
        open_ = np.abs(loops.residuals(qpos, np.zeros(len(kept)))[0])
        hard = {name for name in names if kept[_first_rate(freedoms, name)]}
        _refuse(loops, open_, "m or rad", hard, names)


def _first_rate(freedoms: Sequence[Freedom], name: str) -> int:
    """Return the place of the last velocity that a start value of a joint determines."""
    for freedom in freedoms:
        if name in (places := freedom.start_names[0]):
            return freedom.joint.rate + min(places.index(name), len(freedom.rates) - 1)
    raise AssertionError(name)


def _smallest(slopes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq(slopes, wanted, rcond=SINGULAR)[0], dtype=float)


def _move(freedom: Freedom, qpos: np.ndarray, step: np.ndarray) -> None:
    """Move the coordinates of a joint by a step of its velocities."""
    joint = freedom.joint
    first, own = joint.place, step[joint.rate : joint.rate + len(freedom.rates)]
    if joint.kind in ("hinge", "slide"):
        qpos[first] += own[0]
        return
    if joint.kind == "free":
        qpos[first : first + 3] += own[:3]
        first, own = first + 3, own[3:]
    if (angle := float(np.linalg.norm(own))) > 0.0:
        turned = matrix_of(qpos[first : first + 4]) @ turned_about(own / angle, angle)
        qpos[first : first + 4] = quaternion_of(turned)


def _refuse(
    loops: Loops, apart: np.ndarray, unit: str, given: Collection[str], names: Sequence[str]
) -> None:
    """Refuse given start values.

    Raises
    ------
    InconsistentStateError
        Always.
    """
    worst = int(np.argmax(apart))
    own = ", ".join(name for name in names if name in given) or "the places in the file"
    raise InconsistentStateError(
        f"with {own} the loop of {loops.names[worst]!r} misses by {apart[worst]:.3g} {unit}: give "
        "other start values, or fewer"
    )
