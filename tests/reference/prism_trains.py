"""Trains of prisms in one straight guide: reactions of supports from Newton's and Euler's laws.

K prisms slide one behind the other along x between two rough planes. Prism i (mass m, inertia J) is
held by two pairs of antipodal supports at (a, b) beside its mass centre: a < 0 behind, a > 0 ahead,
b > 0 above, b < 0 below. Neighbours are joined by rods of constant length, massless, hinged off the
mass centres, so that their forces P make moments and push the prisms up and down. The prisms do not
turn; all supports slip in one sense s. A support with the reaction t gives the prism

    above: force (-s f t, -t),   moment -a t + s f b t
    below: force (-s f t, +t),   moment +a t + s f b t

With W the columns of these, R the rods' rows (rates of their lengths) and D the matrix of masses

    D w' = Q + W1 t1 + W2 t2 + R^T P,   R w' = 0,   y'' = phi'' = 0 of each prism.

The rods' forces are eliminated, y'' = phi'' = 0 is A1 t1 + A2 t2 = b: m = 2 K pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from daesolve.contact.complementarity.horizontal import HorizontalComplementarity

FRICTION = (0.3, 0.6, 1.0)
"""Largest coefficients of friction of the members, in turn."""


def train(
    prisms: int, generator: np.random.Generator, friction: float
) -> HorizontalComplementarity:
    """Return a random train; coefficients of friction are below the one given."""
    size, pairs = 3 * prisms, 2 * prisms
    masses = generator.uniform(0.5, 2.0, prisms)
    mass = np.diag(np.column_stack([masses, masses, 0.36 * masses]).ravel())
    normals, columns = np.zeros((2, size, pairs)), np.zeros((2, size, pairs))
    sense = generator.choice((-1.0, 1.0))
    for pair, side in itertools.product(range(pairs), range(2)):
        ahead, up = 2 * (pair % 2) - 1, 2 * side - 1  # side 0 is above, its normal points down
        a, b = ahead * generator.uniform(0.1, 1.0), -up * generator.uniform(0.1, 2.0)
        rub = generator.uniform(0.0, friction) * sense
        rows = slice(3 * (pair // 2), 3 * (pair // 2) + 3)
        normals[side, rows, pair] = (0.0, up, a * up)
        columns[side, rows, pair] = (-rub, up, a * up + rub * b)
    rods = np.zeros((prisms - 1, size))
    for rod in range(prisms - 1):
        arms, heights = generator.uniform(0.3, 1.0, 2), generator.uniform(-0.6, 0.6, 2)
        along = np.array([1.0, heights[1] - heights[0]])
        along /= np.linalg.norm(along)
        for end, (hinge, way) in enumerate(((arms[0], -1.0), (-arms[1], 1.0))):
            turn = hinge * along[1] - heights[end] * along[0]
            rods[rod, 3 * (rod + end) : 3 * (rod + end) + 3] = way * np.array([*along, turn])
    force = generator.normal(size=size)
    moving = np.linalg.inv(mass)
    if prisms > 1:
        moving -= moving @ rods.T @ np.linalg.solve(rods @ moving @ rods.T, rods @ moving)
    held = np.arange(size) % 3 > 0
    response = moving[held]
    return HorizontalComplementarity(
        first=response @ columns[0],
        second=response @ columns[1],
        load=-response @ force,
        first_normal=response @ normals[0],
        second_normal=response @ normals[1],
    )


def trains(pairs: int, *, unique: bool, seed: int = 1) -> Iterator[HorizontalComplementarity]:
    """Yield trains without end: those with one answer for each load, or the others."""
    generator = np.random.default_rng((seed, pairs, unique))
    for friction in itertools.cycle(FRICTION):
        member = train(pairs // 2, generator, friction)
        if has_unique_answers(member) == unique:
            yield member


def has_unique_answers(problem: HorizontalComplementarity) -> bool:
    """Tell whether the determinants of all variants have the sign that they have without friction.

    Then each load has exactly one answer. All of them may change their signs together, too: then
    each load has one answer that does not happen, and the train counts among the others.
    """
    normal = problem.second_normal
    assert normal is not None
    without = np.linalg.slogdet(normal)[0]
    for signs in _batches(problem.count):
        matrices = np.where(signs[:, None, :] > 0, problem.second, -problem.first)
        if np.any(np.linalg.slogdet(matrices)[0] != without):
            return False
    return True


def reactions_of_all_variants(problem: HorizontalComplementarity) -> list[np.ndarray]:
    """Return the reactions N of every variant that have its signs."""
    found = []
    for signs in _batches(problem.count):
        matrices = np.where(signs[:, None, :] > 0, problem.second, -problem.first)
        reactions = np.linalg.solve(matrices, problem.load[:, None])[..., 0]
        found += list(reactions[np.all(signs * reactions >= 0.0, axis=1)])
    return found


def is_one_of(reactions: np.ndarray, answers: list[np.ndarray]) -> bool:
    """Tell whether reactions are one of some, to what rounding leaves of a hundred pairs."""
    return any(np.max(np.abs(reactions - n)) <= 1e-9 * np.max(np.abs(n)) for n in answers)


def _batches(count: int) -> Iterator[np.ndarray]:
    """Yield the signs of all variants, some thousands at a time."""
    for start in range(0, 2**count, 4096):
        numbers = np.arange(start, min(start + 4096, 2**count))
        yield 2 * ((numbers[:, None] >> np.arange(count)) & 1) - 1
