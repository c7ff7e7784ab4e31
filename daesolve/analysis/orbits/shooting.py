"""Multiple shooting on the consistent states: the equations of a periodic motion and their slopes.

The unknowns are K places x_k, each varied along the tangent space of the consistent states, the
period T if it is free, the amounts gamma of a symmetry, and one unfolding parameter alpha for each
first integral:

    B_(k+1)^T (phi(x_k, T/K) - x_(k+1)) = 0,    B_1^T (g^-1 phi(x_K) + sum alpha_j w_j - x_1) = 0
    f . B_1 z_1 = 0 (free period),  generator . B_1 z_1 = 0,  I_j(x_1) = I_j*

w_j is tangent with dI_j . w_j > 0. Because the flow conserves the integrals, alpha is zero at a
solution. With alpha, there are as many equations as unknowns, and they are independent in every
regular family.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import casadi as ca
import numpy as np

from daesolve.analysis.manifold import Manifold
from daesolve.analysis.orbits.flight_derivatives import Derivatives, derivatives
from daesolve.analysis.orbits.flow import Flow
from daesolve.analysis.orbits.integrals import Integral
from daesolve.analysis.orbits.nodes import Flight, Node, Passage, flown
from daesolve.analysis.orbits.symmetry import Group
from daesolve.core.results.trajectory.trajectory import Trajectory

BY_DIFFERENCE = 1e-6
"""The change of a free amount for differentiating by it; the group is smooth."""
LATER = (1e-15, 1e-12, 1e-9)
"""The parts of a period by which its last events may be late."""
BESIDE_SECTION = 0.1
"""How far from its section, as a part of the period, a first place is moved onto it."""


Slope = TypeVar("Slope", float, np.ndarray)


@dataclass(frozen=True, eq=False)
class Task:
    """The definition of a periodic motion.

    Parameters
    ----------
    flow, manifold, group
        The motions, their consistent states, and the symmetry up to which one returns.
    pieces
        K, the number of pieces.
    free_period
        Whether the time is unknown and no guard ends it.
    passage
        The passage at which it ends; None if it ends at a time.
    integrals
        The first integrals, with alpha.
    family
        The quantities with prescribed values at the first place.
    rule
        The period as a function of parameters; None if it is a number or free.
    steady
        Whether the motion follows its symmetry: each state is the first one, shifted and turned.
    seam
        The guard at whose zero the first place lies, after its event; None if it lies elsewhere.
    """

    flow: Flow
    manifold: Manifold
    group: Group
    pieces: int
    free_period: bool
    passage: Passage | None
    integrals: tuple[Integral, ...] = ()
    family: tuple[tuple[Integral, float], ...] = ()
    rule: ca.Function | None = None
    steady: bool = False
    seam: int | None = None

    def begun(self, node: Node, period: float) -> Node:
        """Return the first place at its section, along the motion through a place near by."""
        if self.seam is None:
            return node
        return self.flow.onto(self.seam, node, BESIDE_SECTION * period) or node

    @property
    def conserves(self) -> bool:
        """Whether neighbouring orbits differ in the values of an integral."""
        own = self.flow.quadratures
        return any(integral.name not in own for integral in self.integrals)

    def period_at(self, node: Node, otherwise: float) -> float:
        """Return the period for the parameters at a place, or the given one without a rule."""
        if self.rule is None:
            return otherwise
        return float(self.rule(node.p[: self.own])[0])

    def period_slope(self, node: Node, name: str) -> float:
        """Return the derivative of the period by a parameter."""
        if self.rule is None:
            return 0.0
        slopes = np.asarray(self.rule(node.p[: self.own])[1]).ravel()
        return float(slopes[self.flow.value_names.index(name)])

    def doubled_rule(self) -> ca.Function | None:
        """Return the rule of twice the period."""
        if self.rule is None:
            return None
        p = self.rule.sx_in(0)
        period, slopes = self.rule(p)
        return ca.Function("period", [p], [2 * period, 2 * slopes])

    @property
    def own(self) -> int:
        """The number of values that belong to the equations."""
        return len(self.flow.dynamics.values)

    @property
    def sizes(self) -> np.ndarray:
        """The sizes of the states."""
        return self.manifold.sizes

    def basis(self, node: Node) -> np.ndarray:
        """Return orthonormal directions of the state, (n, d), in their sizes."""
        return self.manifold.basis(node.time, node.x, node.p)

    def whole(self, node: Node) -> np.ndarray:
        """Return (x, p) of a place."""
        return np.concatenate([node.x, node.p])

    def part(self, y: np.ndarray) -> np.ndarray:
        """Return the state from (x, p), or its rows of a matrix."""
        return y[: len(self.flow.names)]


@dataclass(frozen=True, eq=False)
class Guess:
    """The unknowns: K places, the time of all pieces in s, the amounts of the symmetry, alpha."""

    nodes: tuple[Node, ...]
    period: float
    amounts: np.ndarray
    alpha: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Shot:
    """The result of a guess: flights, defects, and the bases at the places.

    `defects` are (K, n) in the sizes of the states; `period` is the duration of the flights.
    """

    guess: Guess
    flights: tuple[Flight, ...]
    defects: np.ndarray
    bases: tuple[np.ndarray, ...]
    period: float
    amounts: np.ndarray

    @property
    def spans(self) -> tuple[slice, ...]:
        """The coordinates of each place among those of all: modes differ in their number."""
        ends = np.cumsum([0, *(basis.shape[1] for basis in self.bases)]).tolist()
        return tuple(slice(*pair) for pair in itertools.pairwise(ends))

    @property
    def rows(self) -> tuple[slice, ...]:
        """The same at the ends of the pieces: those of the first place come last."""
        first = self.spans[0].stop
        moved = [slice(span.start - first, span.stop - first) for span in self.spans[1:]]
        return (*moved, slice(self.count - first, self.count))

    @property
    def count(self) -> int:
        """The number of coordinates of all places."""
        return sum(basis.shape[1] for basis in self.bases)

    def missing(self) -> np.ndarray:
        """Return what the defects lack, in the coordinates of the places at which pieces end."""
        onto = (*self.bases[1:], self.bases[0])
        pairs = zip(onto, self.defects, strict=True)
        return np.concatenate([-(basis.T @ defect) for basis, defect in pairs])

    @property
    def residual(self) -> float:
        """The largest defect, in sizes."""
        return float(np.max(np.abs(self.defects)))

    @property
    def sequence(self) -> tuple[object, ...]:
        """The events that change something, piece by piece."""
        return tuple(flight.sequence for flight in self.flights)


def shoot(task: Task, guess: Guess) -> Shot:
    """Fly all pieces.

    Raises
    ------
    NotPeriodicError
        A piece does not reach its end.
    """
    flow, flights = task.flow, list[Flight]()
    piece = guess.period / task.pieces
    passages = 0
    for k, node in enumerate(guess.nodes):
        last = k == task.pieces - 1
        if last and task.passage is not None:
            left = replace(task.passage, count=task.passage.count - passages)
            flights.append(flow.fly_to(node, left, piece))
        else:
            flights.append(flow.fly(node, piece))
            if task.passage is not None:
                names = [event.name for event in flights[-1].record.events]
                passages += names.count(task.passage.event)
    first = guess.nodes[0]
    end = flights[-1].end
    amounts = guess.amounts
    if not len(amounts):
        amounts = task.group.nearest(task.whole(first), task.whole(end))
    back = task.part(task.group.undo(amounts, task.whole(end)))
    ends = [flight.end.x for flight in flights[:-1]] + [back]
    starts = [node.x for node in (*guess.nodes[1:], first)]
    defects = np.array([(e - s) / task.sizes for e, s in zip(ends, starts, strict=True)])
    period = end.time - first.time
    bases = tuple(task.basis(node) for node in guess.nodes)
    return Shot(replace(guess, amounts=amounts), tuple(flights), defects, bases, period, amounts)


@dataclass(frozen=True, eq=False)
class Slopes:
    """The derivatives of a shot.

    Parameters
    ----------
    pieces
        (e, d) for each piece, from the coordinates of its place to those of the next; the last
        leads back to the first place.
    by_period
        (e,) for each piece: derivatives of its end by the period; zero if a guard ends it.
    by_amounts
        (d, m) derivatives of the last end by the amounts.
    parameters
        (e, q) for each piece: derivatives of its end by q parameters, with the places held.
    end
        (n, d + q) derivatives of the state at the end of the last piece, before the symmetry.
    notes
        Notes on guards that pass together.
    apart
        (m, d) derivatives of the times between these guards, in order, by the coordinates of the
        first place: the order stays the same as long as none is negative.
    """

    pieces: tuple[np.ndarray, ...]
    by_period: tuple[np.ndarray, ...]
    by_amounts: np.ndarray
    parameters: tuple[np.ndarray, ...]
    end: np.ndarray
    notes: tuple[str, ...]
    apart: np.ndarray

    @property
    def monodromy(self) -> np.ndarray:
        """The derivative of the whole period, (d, d)."""
        product = np.eye(len(self.pieces[0].T))
        for piece in self.pieces:
            product = piece @ product
        return product


def slopes_of(
    task: Task,
    shot: Shot,
    parameters: Mapping[str, int] | None = None,
    *,
    backwards: bool = False,
) -> Slopes:
    """Differentiate a shot by its places, period, amounts and parameters.

    Parameters
    ----------
    task, shot
        The task, and the shot.
    parameters
        Names with their indices in p.
    backwards
        Whether guards that pass together are processed in reverse order.
    """
    by = parameters or {}
    pieces: list[np.ndarray] = []
    by_period: list[np.ndarray] = []
    by_parameters: list[np.ndarray] = []
    notes: list[str] = []
    inverse = np.linalg.inv(task.group.matrix(shot.amounts))
    end, apart, so_far = np.zeros((0, 0)), list[np.ndarray](), np.eye(shot.bases[0].shape[1])
    for k, flight in enumerate(shot.flights):
        last = k == task.pieces - 1
        start, basis = shot.guess.nodes[k], shot.bases[k]
        onto = shot.bases[0] if last else shot.bases[k + 1]
        slopes = _start_slopes(task, start, basis, by)
        derivative = derivatives(task.flow, flight, slopes, backwards=backwards)
        notes, end = notes + derivative.notes, derivative.state
        back = inverse if last else np.eye(len(inverse))
        at_end = onto.T @ (_part_of(task, back, derivative) / task.sizes[:, None])
        apart.append(derivative.apart[:, : basis.shape[1]] @ so_far)
        pieces.append(at_end[:, : basis.shape[1]])
        so_far = pieces[-1] @ so_far
        by_parameters.append(at_end[:, basis.shape[1] :])
        rate = np.concatenate([task.flow.rate(flight.end), np.zeros(len(flight.end.p))])
        timed = task.passage is None or not last
        along = onto.T @ (task.part(back @ rate) / task.sizes)
        by_period.append(along / task.pieces if timed else np.zeros(len(along)))
    return Slopes(
        tuple(pieces),
        tuple(by_period),
        _by_amounts(task, shot),
        tuple(by_parameters),
        end,
        tuple(dict.fromkeys(notes)),
        np.vstack(apart),
    )


def _start_slopes(task: Task, node: Node, basis: np.ndarray, by: Mapping[str, int]) -> np.ndarray:
    """Return (n + np, d + q) derivatives of a place by its coordinates and by parameters."""
    count = len(node.x)
    values = len(task.flow.whole.values)
    slopes = np.zeros((count + values, basis.shape[1] + len(by)))
    slopes[:count, : basis.shape[1]] = task.sizes[:, None] * basis
    for column, index in enumerate(by.values()):
        slopes[count + index, basis.shape[1] + column] = 1.0
        slopes[:count, basis.shape[1] + column] = follows(task, node, index)
    return slopes


def follows(task: Task, node: Node, index: int) -> np.ndarray:
    """Return the derivative by a parameter of the consistent state nearest to a place, (n,)."""
    if task.manifold.dimension == len(node.x):
        return np.zeros(len(node.x))
    step = 1e-5 * max(abs(node.p[index]), 1.0)

    def states(change: float) -> np.ndarray:
        p = node.p.copy()
        p[index] += change
        return task.flow.consistent(node.time, node.x, p).x

    return central_slope(states, step)


def _part_of(task: Task, back: np.ndarray, derivative: Derivatives) -> np.ndarray:
    """Return derivatives of the state from those of (x, p), taken back by the symmetry."""
    values = np.zeros((len(task.flow.value_names), derivative.state.shape[1]))
    values[: len(derivative.values)] = derivative.values
    return task.part(back @ np.vstack([derivative.state, values]))


def one_period(task: Task, shot: Shot) -> Trajectory:
    """Run an orbit for a period, the events at its end included, whatever rounding makes of it."""
    first, happened = shot.guess.nodes[0], sum(len(flight.happened) for flight in shot.flights)
    run = flown(task.flow.beginning(first, shot.period))
    for later in LATER:
        if len(run.events) >= happened:
            break
        longer = flown(task.flow.beginning(first, (1.0 + later) * shot.period))
        run = longer if len(longer.events) > len(run.events) else run
    return run


def _by_amounts(task: Task, shot: Shot) -> np.ndarray:
    end, onto = task.whole(shot.flights[-1].end), shot.bases[0]
    columns: list[np.ndarray] = []
    for direction in np.eye(len(shot.amounts)):

        def start(step: float, direction: np.ndarray = direction) -> np.ndarray:
            return task.part(task.group.undo(shot.amounts + step * direction, end))

        columns.append(onto.T @ (central_slope(start, BY_DIFFERENCE) / task.sizes))
    return np.array(columns).reshape(len(columns), onto.shape[1]).T


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions that fix the first place along the orbit, in its symmetry and its families.

    `rows`, (c, d), act on the coordinates of the first place; `right`, (c,), are their required
    values; `unfolding`, (d, j), are the columns of alpha.
    """

    rows: np.ndarray
    right: np.ndarray
    unfolding: np.ndarray


def conditions(task: Task, shot: Shot) -> Conditions:
    """Return the conditions on the first place."""
    node, basis = shot.guess.nodes[0], shot.bases[0]
    rows: list[np.ndarray] = []
    right: list[float] = []
    if task.free_period:
        rows.append(unit(tangent(task, task.flow.rate(node), basis)))
        right.append(0.0)
    generators = task.part(task.group.generators(task.whole(node)))
    for column in generators.T:
        rows.append(unit(basis.T @ (column / task.sizes)))
        right.append(0.0)
    for integral, value in task.family:
        row = cotangent(task, integral, node, basis)
        size = float(np.linalg.norm(row)) or 1.0
        rows.append(row / size)
        right.append((value - integral.value(node)) / size)
    columns = [unit(cotangent(task, integral, node, basis)) for integral in task.integrals]
    count = basis.shape[1]
    return Conditions(
        np.array(rows).reshape(len(rows), count),
        np.array(right),
        np.array(columns).reshape(len(columns), count).T,
    )


def tangent(task: Task, rate: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return a rate of the state in the coordinates of a basis."""
    return basis.T @ (rate / task.sizes)


def cotangent(task: Task, integral: Integral, node: Node, basis: np.ndarray) -> np.ndarray:
    """Return the gradient of an integral at a place in the coordinates of a basis."""
    return basis.T @ (integral.gradient(node) * task.sizes)


def central_slope(function: Callable[[float], Slope], step: float) -> Slope:
    """Return the derivative of a function at zero, by a central difference."""
    return (function(step) - function(-step)) / (2.0 * step)


def unit(vector: np.ndarray) -> np.ndarray:
    """Return a vector of length one; zero stays."""
    return vector / (float(np.linalg.norm(vector)) or 1.0)


def moved(task: Task, shot: Shot, step: np.ndarray, part: float) -> Guess:
    """Return the guess after a fraction of a step of all unknowns."""
    guess, at = shot.guess, shot.count
    step = part * step
    period = float(guess.period)
    if task.free_period:
        period, at = period + float(step[at]), at + 1
    amounts = guess.amounts + step[at : at + len(guess.amounts)]
    at += len(guess.amounts)
    pairs = zip(shot.bases, shot.spans, strict=True)
    changes = [task.sizes * (basis @ step[span]) for basis, span in pairs]
    nodes = displaced(task, guess.nodes, changes, period)
    return Guess(nodes, period, amounts, step[at : at + len(task.integrals)])


def displaced(
    task: Task, nodes: Sequence[Node], changes: Sequence[np.ndarray], period: float
) -> tuple[Node, ...]:
    """Return places after changes of their states, at their times in a period."""
    begin = nodes[0].time
    first, *others = (
        task.flow.consistent(begin + k * period / task.pieces, node.x + change, node.p)
        for k, (node, change) in enumerate(zip(nodes, changes, strict=True))
    )
    return (task.begun(first, period), *others)


def assembled(
    task: Task, shot: Shot, slopes: Slopes, given: Conditions
) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix and the right side of the step of all unknowns."""
    size, spans, rows = shot.count, shot.spans, shot.rows
    border = int(task.free_period) + len(shot.amounts) + len(task.integrals)
    matrix = np.zeros((size + len(given.right), size + border))
    right = np.concatenate([shot.missing(), given.right])
    for k, (own, onto) in enumerate(zip(spans, (*spans[1:], spans[0]), strict=True)):
        matrix[rows[k], own] += slopes.pieces[k]
        matrix[rows[k], onto] -= np.eye(len(slopes.pieces[k]))
        if task.free_period:
            matrix[rows[k], size] = slopes.by_period[k]
    last, at = rows[-1], size + int(task.free_period)
    matrix[last, at : at + len(shot.amounts)] = slopes.by_amounts
    matrix[last, at + len(shot.amounts) :] = given.unfolding
    matrix[size:, spans[0]] = given.rows
    return matrix, right
