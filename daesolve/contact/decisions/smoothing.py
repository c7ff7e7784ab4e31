"""Many contacts: reactions by Newton's method, from which the states of the contacts are read.

The conditions of a contact at rest say that two vectors lie in the cone of revolution L and are
orthogonal (De Saxce and Feng, Mathematical and Computer Modelling 28, 1998):

    x = (N, T / mu),    y = (gap rate + mu |slip rate|, mu slip rate),    L: first >= |rest|.

Newton's method first solves the equations of the projections

    N = max(least, N - gap rate),    T = disc(mu N) of T - slip rate / |A_TT|,

which takes a few steps unless shares of a load are undetermined. If it does not converge, the
conditions are smoothed (M. Fukushima, Z.-Q. Luo, P. Tseng, SIAM J. Optim. 12, 2002),

    x + y - (x^2 + y^2 + 2 s^2 e)^(1/2) = 0        with the products and roots of the cone,

and s falls to nearly zero. On this path undetermined reactions stay as far from the borders of
their cones as they can, so the states are clear. In both, the diagonal of A is a little larger,
as if contacts yielded: reactions are then determined. They suggest states only; the equations of
the states give reactions, and the conditions are checked by substitution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from daesolve.contact.decisions.answers import ContactState, States, sliding_state
from daesolve.contact.decisions.touching import ScaledProblem

YIELDING, LEAST_YIELDING = 1e-9, 1e-4
"""What is added to the diagonal of A, which is one; the least part of it, where springs differ."""
STEPS, SMOOTH_STEPS = 12, 50
"""The numbers of Newton steps on the projections, and along the path."""
SOLVED = 1e-7
"""A violation, relative to the largest reaction, from which states are read."""
STILL = 1e-6
"""A rate, relative to the largest reaction, that may be zero."""
SHRINKS, SMOOTH, SMOOTHEST = 0.05, 1e-4, 1e-6
"""The factor from one s to the next, the s from which states are read, and the last s."""
WITHIN = 0.3
"""The violation, relative to s, from which s falls."""
SUFFICIENT = 0.1
"""The part of the expected decrease of the squared violation with which a step is taken whole."""
HALVINGS = 6
DIVERGED = 1e9
"""The size of scaled reactions beyond which Newton's method has failed."""
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class _Cones:
    """What the conditions of contacts need, with a slightly larger diagonal of A.

    `known` says which contacts slide in given directions, (n,); `scales` are 1 / |A_TT|, (n,).
    """

    problem: ScaledProblem
    matrix: np.ndarray
    known: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, problem: ScaledProblem) -> _Cones:
        """Return the cones of a problem; contacts yield as equal springs do."""
        contacts, count = problem.contacts, problem.contacts.count
        units = (problem.reactions / np.max(problem.reactions)) ** 2
        stiffness = np.diag(contacts.matrix)[count:].reshape(count, -1).mean(axis=1)
        return cls(
            problem,
            contacts.matrix + YIELDING * np.diag(np.maximum(units, LEAST_YIELDING)),
            problem.known,
            1.0 / np.where(stiffness > YIELDING, stiffness, 1.0),
        )


def suggested_states(problem: ScaledProblem) -> Iterator[tuple[States, np.ndarray]]:
    """Yield states of all contacts with reactions (k,) near those of an answer.

    Parameters
    ----------
    problem
        A problem in its own units.
    """
    cones = _Cones.of(problem)
    projected = _projected(cones)
    if projected is not None:
        yield states_of_rates(problem, projected), projected
    if not problem.least.any():
        smoothed = _smoothed(cones)
        if smoothed is not None:
            yield states_of_rates(problem, smoothed), smoothed


def states_of_rates(problem: ScaledProblem, reactions: np.ndarray) -> States:
    """Return the states of contacts for reactions (k,) and their rates.

    What hardly parts is closed, and what hardly slides sticks: where reactions are not determined,
    these states leave most to share. Exact reactions show where they are wrong.
    """
    contacts, count = problem.contacts, problem.contacts.count
    rates = contacts.matrix @ reactions + problem.free
    normal, friction = reactions[:count] - problem.least, reactions[count:].reshape(count, -1)
    slips = rates[count:].reshape(count, -1)
    speeds, rubs = np.linalg.norm(slips, axis=1), np.linalg.norm(friction, axis=1)
    still = STILL * (1.0 + float(np.max(np.abs(reactions))))
    opened = (rates[:count] > np.maximum(normal, still)) & (problem.least == 0.0)
    spare = np.maximum(contacts.friction * reactions[:count] - rubs, still)
    known = problem.known
    sticks = (speeds <= spare) & (contacts.friction > 0.0) & ~known
    free = np.where(rubs[:, None] > 0.0, -friction, slips)
    ways = np.where(known[:, None], problem.sliding, free)
    return tuple(
        ContactState.OPEN if away else ContactState.STICKS if holds else sliding_state(way)
        for away, holds, way in zip(opened, sticks, ways, strict=True)
    )


# -- projections -------------------------------------------------------------------------------


def _projected(cones: _Cones) -> np.ndarray | None:
    """Return reactions by Newton's method on the projections; None if it does not converge."""
    reactions = np.zeros(len(cones.problem.free))
    missed, slopes = _projection(cones, reactions)
    for _ in range(STEPS):
        size = 1.0 + float(np.max(np.abs(reactions)))
        if float(np.max(np.abs(missed))) <= SOLVED * size:
            return reactions
        if not size < DIVERGED:
            return None
        try:
            step = np.linalg.solve(slopes, -missed)
        except np.linalg.LinAlgError:
            return None
        before = float(missed @ missed)
        for halving in range(HALVINGS):
            part = 0.5**halving
            further = reactions + part * step
            missed, slopes = _projection(cones, further)
            if float(missed @ missed) <= (1.0 - SUFFICIENT * part) * before:
                break
        else:
            return None
        reactions = further
    return None


def _projection(cones: _Cones, reactions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what the projections change of reactions (k,), and its slopes."""
    problem, matrix = cones.problem, cones.matrix
    contacts, count, width = problem.contacts, problem.contacts.count, problem.contacts.directions
    size = len(reactions)
    rates, one = matrix @ reactions + problem.free, np.eye(size)
    normal, friction = reactions[:count], reactions[count:].reshape(count, width)
    slips = rates[count:].reshape(count, width)
    pushed = normal - rates[:count]
    closed = pushed > problem.least
    pressing = np.maximum(pushed, problem.least)
    aims = friction - cones.scales[:, None] * slips
    lengths = np.linalg.norm(aims, axis=1)
    sticks = ~cones.known & (lengths <= contacts.static * pressing) & (pressing > 0.0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    ways = np.where(cones.known[:, None], -problem.sliding, aims / lengths[:, None])
    limits = contacts.friction * np.maximum(normal, problem.least)
    missed = np.concatenate(
        [
            np.where(closed, rates[:count], normal - problem.least),
            np.where(sticks[:, None], slips, friction - limits[:, None] * ways).ravel(),
        ]
    )
    across, own = (rows[count:].reshape(count, width, size) for rows in (matrix, one))
    along = np.where(sticks[:, None, None], across, own)
    slides = np.flatnonzero(~sticks)
    rubs = contacts.friction * (normal >= problem.least)
    along[slides, :, slides] -= (rubs[:, None] * ways)[slides]
    turns = np.flatnonzero(~sticks & ~cones.known & (limits > 0.0))
    if width > 1 and turns.size:
        aside = np.eye(width) - ways[turns][:, :, None] * ways[turns][:, None, :]
        aside *= (limits / lengths)[turns][:, None, None]
        along[turns] -= aside @ (own[turns] - cones.scales[turns][:, None, None] * across[turns])
    gaps = np.where(closed[:, None], matrix[:count], one[:count])
    return missed, np.concatenate([gaps, along.reshape(count * width, size)])


# -- the smoothed path -------------------------------------------------------------------------


def _smoothed(cones: _Cones) -> np.ndarray | None:
    """Return reactions near the end of the smoothed path; None if Newton's method loses it."""
    reached: np.ndarray | None = None
    path, count = _Path.of(cones), cones.problem.contacts.count
    shares, smooth = np.zeros(len(cones.problem.free)), 1.0
    shares[:count] = 1.0
    pairs = path.pairs(shares, smooth)
    for _ in range(SMOOTH_STEPS):
        missed = path.residual(shares, pairs)
        size = 1.0 + float(np.max(np.abs(shares)))
        if not size < DIVERGED:
            break
        if float(np.max(np.abs(missed))) <= max(WITHIN * smooth, SOLVED * size):
            reached = path.acting @ shares if smooth <= SMOOTH else None
            if smooth <= SMOOTHEST:
                break
            smooth = max(smooth * SHRINKS, SMOOTHEST)
            pairs = path.pairs(shares, smooth)
            missed = path.residual(shares, pairs)
        try:
            step = np.linalg.solve(path.slopes(pairs), -missed)
        except np.linalg.LinAlgError:
            break
        before, start = float(missed @ missed), shares
        for halving in range(HALVINGS):
            shares = start + 0.5**halving * step
            pairs = path.pairs(shares, smooth)
            missed = path.residual(shares, pairs)
            if float(missed @ missed) <= before:
                break
    return reached


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The vectors x and y of all contacts, (n, m), the smoothed root, and ways of slips."""

    first: np.ndarray
    second: np.ndarray
    root: np.ndarray
    ways: np.ndarray

    @property
    def missed(self) -> np.ndarray:
        """The residuals of the smoothed conditions: (n, m)."""
        return self.first + self.second - self.root


@dataclass(frozen=True, eq=False)
class _Path:
    """The smoothed conditions for shares (N, T / mu), where sliding contacts have only N.

    `acting` gives reactions for shares, `response` rates, and `friction` is that at rest.
    """

    cones: _Cones
    acting: np.ndarray
    response: np.ndarray
    friction: np.ndarray

    @classmethod
    def of(cls, cones: _Cones) -> _Path:
        """Return the conditions of cones."""
        problem, contacts = cones.problem, cones.problem.contacts
        count, width = contacts.count, contacts.directions
        friction = np.where(cones.known, 0.0, contacts.friction)
        acting = np.diag(np.concatenate([np.ones(count), np.repeat(friction, width)]))
        rubs = -contacts.friction[:, None] * problem.sliding
        acting[count + np.arange(rubs.size), np.repeat(np.arange(count), width)] += rubs.ravel()
        return cls(cones, acting, cones.matrix @ acting, friction)

    def pairs(self, shares: np.ndarray, smooth: float) -> _Pairs:
        """Return x and y of all contacts; those that slide in a given way have only x_1 and y_1."""
        count = len(self.friction)
        rates = self.response @ shares + self.cones.problem.free
        slips, own = (part[count:].reshape(count, -1) for part in (rates, shares))
        own = np.where(self.cones.known[:, None], 0.0, own)
        speeds = np.linalg.norm(slips, axis=1)
        first = np.column_stack([shares[:count], own])
        second = np.column_stack(
            [rates[:count] + self.friction * speeds, self.friction[:, None] * slips]
        )
        ways = slips / np.where(speeds > 0.0, speeds, 1.0)[:, None]
        return _Pairs(first, second, _root(first, second, smooth), ways)

    def residual(self, shares: np.ndarray, pairs: _Pairs) -> np.ndarray:
        """Return the residuals, (k,): without friction of its own a contact has no share of it."""
        count, missed = len(self.friction), pairs.missed
        own = np.where(self.cones.known[:, None], shares[count:].reshape(count, -1), missed[:, 1:])
        return np.concatenate([missed[:, 0], own.ravel()])

    def slopes(self, pairs: _Pairs) -> np.ndarray:
        """Return the slopes of the residuals by shares, (k, k)."""
        count, size, width = len(self.friction), len(self.response), pairs.ways.shape[1]
        both = np.concatenate([_product(pairs.first), _product(pairs.second)], axis=2)
        of_root = np.linalg.solve(_product(pairs.root), both)
        one = np.eye(1 + width)
        by_first, by_second = one - of_root[:, :, : 1 + width], one - of_root[:, :, 1 + width :]
        across = self.response[count:].reshape(count, width, size)
        change = np.empty((count, 1 + width, size))
        change[:, 0] = self.response[:count]
        change[:, 0] += self.friction[:, None] * (pairs.ways[:, None, :] @ across)[:, 0]
        change[:, 1:] = self.friction[:, None, None] * across
        slopes, each = by_second @ change, np.arange(count)
        slopes[each, :, each] += by_first[:, :, 0]
        for direction in range(width):
            slopes[each, :, count + width * each + direction] += by_first[:, :, 1 + direction]
        known = self.cones.known
        slopes[known, 1:] = np.eye(size)[count:].reshape(count, width, size)[known]
        return np.concatenate([slopes[:, 0], slopes[:, 1:].reshape(count * width, size)])


def _root(first: np.ndarray, second: np.ndarray, smooth: float) -> np.ndarray:
    """Return the root (first^2 + second^2 + 2 s^2 e)^(1/2) in the cone, by its spectrum."""
    whole = np.sum(first**2, axis=1) + np.sum(second**2, axis=1) + 2.0 * smooth**2
    rest = 2.0 * (first[:, :1] * first[:, 1:] + second[:, :1] * second[:, 1:])
    length = np.linalg.norm(rest, axis=1)
    larger = np.sqrt(whole + length)
    smaller = np.maximum(np.sqrt(np.maximum(whole - length, TINY)), 1e-12 * larger)
    way = rest / np.where(length > 0.0, length, 1.0)[:, None]
    return np.column_stack([(larger + smaller) / 2.0, ((larger - smaller) / 2.0)[:, None] * way])


def _product(vectors: np.ndarray) -> np.ndarray:
    """Return the matrices of the product with vectors (n, m) in the cone: (n, m, m)."""
    count, size = vectors.shape
    table = np.zeros((count, size, size))
    table[:, range(size), range(size)] = vectors[:, :1]
    table[:, 0, 1:] = table[:, 1:, 0] = vectors[:, 1:]
    return table
