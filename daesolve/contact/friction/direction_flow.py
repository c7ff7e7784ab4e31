"""The direction in which a body begins to slide: the flow of directions at zero velocity.

If friction depends only on the direction u of the velocities and the body is at rest, the speed s
and the direction of v' = A(u) obey

    u' = A(u) - u (u . A),   (ln s)' = u . A      (products in the metric of the masses)

in the time d(tau) = dt / s. If the direction tends to a limit with A = g u, the body can start to
slide along it if the growth g is positive: v = g u t. If g is negative, any small slip comes to
rest again. The zero of g as a function of a load is the limit of stiction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy

from daesolve.contact.complementarity.answers import VariantAnswer, answer_at
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity, Variant, signs_of
from daesolve.contact.complementarity.policies import solve
from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.errors import BranchLost, NoFreedomError, VariantError

FLOW_ERROR = 1e-4
"""Relative and absolute error of a step of the flow; Newton's method does the rest."""
NEAR = 1e-2
"""The turning of a direction, relative to accelerations, at which Newton's method is tried."""
NEARER = 0.1
"""The reduction of this before it is tried again."""
SETTLED = 1e-11
"""The turning of a direction that has settled, relative to accelerations."""
MOST_ACCELERATIONS = 600
"""The number of accelerations after which a flow is abandoned; a limit takes about 150."""
NEWTON_STEPS = 20
FAR = 0.3
"""The distance beyond which the iteration tends to another limit."""
DIFFERENCE = 1e-6
"""The difference for derivatives by central differences, for unit directions."""
NUDGE = 1e-2
"""The distance by which a direction that repels the flow is moved aside."""
LEFT = 0.1
"""The distance that the flow must then cover before it can have another limit."""


class Supported(Protocol):
    """The equations of the supports for one direction of sliding, such as `VariantState`."""

    @property
    def complementarity(self) -> HorizontalComplementarity:
        """The complementarity problem of the reactions."""
        ...

    @property
    def first(self) -> np.ndarray:
        """The contribution of a unit reaction of each first support to v', (nv, m)."""
        ...

    @property
    def second(self) -> np.ndarray:
        """The same for the second supports."""
        ...

    def accelerations(self, reactions: np.ndarray) -> np.ndarray:
        """Return v' (nv,) from signed reactions (m,)."""
        ...


At = Callable[[np.ndarray], Supported]


class RestingBody:
    """A body at rest, with the action of its supports for each possible direction of sliding.

    Parameters
    ----------
    at
        Velocities (nv,), of any length -> the equations for the direction of their slips.
    mass
        (nv, nv)
    guides
        (m, nv) J of the motions that the guides prevent, J v = 0.
    ideal
        (c, nv) the same for constraints without friction; none by default.

    Raises
    ------
    NoFreedomError
        The constraints leave no velocity.
    """

    def __init__(
        self, at: At, mass: np.ndarray, guides: np.ndarray, ideal: np.ndarray | None = None
    ) -> None:
        self.at, self.mass = at, mass
        allowed = np.eye(len(mass)) if ideal is None else scipy.linalg.null_space(ideal)
        free = allowed @ scipy.linalg.null_space(guides @ allowed)
        if not free.shape[1]:
            raise NoFreedomError("the constraints leave the body no direction to slide in")
        self.basis = _orthogonal(free, mass)
        # Motions that only the guides prevent: orthogonal to the basis, which the slip may also
        # contain.
        lifting = allowed @ scipy.linalg.null_space(free.T @ mass @ allowed)
        self.lifting = _orthogonal(lifting, mass)

    @property
    def freedom(self) -> int:
        """The number of independent directions."""
        return self.basis.shape[1]

    def velocities(self, reduced: np.ndarray) -> np.ndarray:
        """Return velocities (nv,) from their components in the basis."""
        return self.basis @ reduced

    def reduced(self, velocities: np.ndarray) -> np.ndarray:
        """Return the components of velocities or accelerations (nv,) in the basis."""
        return self.basis.T @ (self.mass @ velocities)

    @cached_property
    def all_round(self) -> np.ndarray:
        """Accelerations in orthogonal directions and their opposites, reduced.

        The directions are oblique, because along basis directions some support might not slide at
        all.
        """
        oblique = np.random.default_rng(1).standard_normal((self.freedom, self.freedom))
        axes = np.linalg.qr(oblique)[0]
        return np.array([_Field(self)(axis) for axis in (*axes, *-axes)])

    @cached_property
    def size(self) -> float:
        """The size of accelerations, in the metric of the mass matrix."""
        return float(np.max(np.linalg.norm(self.all_round, axis=1)))


def _orthogonal(columns: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return columns with the same span, orthonormal in the metric of the mass matrix."""
    return scipy.linalg.solve_triangular(
        scipy.linalg.cholesky(columns.T @ mass @ columns).T, columns.T, lower=True
    ).T


@dataclass(frozen=True, eq=False)
class Attractor:
    """A direction to which the flow tends.

    Parameters
    ----------
    direction
        (nv,) velocities, of length one in the metric of the mass matrix.
    growth
        g with A = g u, in units of that length per second.
    answer
        The loaded supports and their reactions.
    settled
        Whether the direction has an attracting limit.
    """

    direction: np.ndarray
    growth: float
    answer: VariantAnswer
    settled: bool


class BranchFollower:
    """Chooses the loaded supports, following a branch if there is one."""

    def __init__(self) -> None:
        self.variant: Variant | None = None

    def answer(self, problem: HorizontalComplementarity) -> VariantAnswer:
        """Return the answer.

        Raises
        ------
        VariantError
            There is no answer.
        """
        found = self._same(problem) or self._next(problem)
        self.variant = found.variant
        return found

    def _same(self, problem: HorizontalComplementarity) -> VariantAnswer | None:
        if self.variant is None:
            return None
        signs = signs_of(self.variant, problem.count)
        try:
            reactions = np.linalg.solve(problem.orthant(signs), problem.load)
        except np.linalg.LinAlgError:
            return None
        if np.all(signs * reactions >= 0.0):
            return answer_at(problem, reactions, self.variant)
        return None

    def _next(self, problem: HorizontalComplementarity) -> VariantAnswer:
        chosen = None
        if self.variant is not None:
            with suppress(BranchLost):
                chosen = solve(problem, policy="continuity", warm=self.variant).chosen
        chosen = chosen or solve(problem, policy="homotopy").chosen
        assert chosen is not None
        return chosen


class _Field:
    """The acceleration as a function of the direction."""

    def __init__(self, body: RestingBody) -> None:
        self.body, self.branch = body, BranchFollower()
        self.count = 0

    def __call__(self, reduced: np.ndarray) -> np.ndarray:
        return self.acceleration(reduced)[0]

    def acceleration(self, reduced: np.ndarray) -> tuple[np.ndarray, VariantAnswer]:
        """Return the reduced acceleration, and the loaded supports."""
        self.count += 1
        here = self.body.at(self.body.velocities(reduced))
        answer = self.branch.answer(here.complementarity)
        return self.body.reduced(here.accelerations(answer.reactions)), answer


def attractor_from(body: RestingBody, start: np.ndarray) -> Attractor:
    """Follow the flow of directions to its limit.

    Parameters
    ----------
    body
        A body at rest.
    start
        (nv,) velocities, of any length.

    Raises
    ------
    VariantError
        For some direction on the way, no choice of loaded supports exists.
    """
    field = _Field(body)
    reduced = body.reduced(start)
    reduced = reduced / np.linalg.norm(reduced)
    settled = body.freedom == 1
    if not settled:
        reduced, settled = _followed(field, reduced)
        reduced = reduced / np.linalg.norm(reduced)
    acceleration, answer = field.acceleration(reduced)
    growth = float(reduced @ acceleration)
    return Attractor(body.velocities(reduced), growth, answer, settled)


class _GivenUpError(Exception):
    """The flow chatters, or circles forever."""


def _followed(field: _Field, start: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return where the flow leads, and whether it stays there."""
    size = field.body.size
    if size == 0.0:
        return start, True
    here, near, left = start, NEAR, None
    try:
        stepper = _stepper(field, start)
        while stepper.status == "running":
            away_from_saddle = left is None or np.linalg.norm(here - left) > LEFT
            if away_from_saddle and np.linalg.norm(_turning(field(here), here)) <= near * size:
                near *= NEARER
                found, away = _limit(field, here)
                if found is not None and away is None:
                    return found, True
                if found is not None and away is not None:
                    stepper, near, left = _stepper(field, found + NUDGE * away), NEAR, found
            stepper.step()
            here = stepper.y / np.linalg.norm(stepper.y)
    except _GivenUpError:
        pass
    return here, False


def _stepper(field: _Field, start: np.ndarray) -> scipy.integrate.RK45:
    def flow(_tau: float, reduced: np.ndarray) -> np.ndarray:
        # Where the acceleration jumps, a step is refused very often.
        if field.count > MOST_ACCELERATIONS:
            raise _GivenUpError
        return _turning(field(reduced), reduced)

    return scipy.integrate.RK45(flow, 0.0, start, np.inf, rtol=FLOW_ERROR, atol=FLOW_ERROR)


def _turning(acceleration: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return acceleration - direction * (direction @ acceleration) / (direction @ direction)


def _limit(field: _Field, start: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the limit near a direction by Broyden's method, and a direction leading away.

    The first is None if the method finds no limit nearby, the second if the limit attracts.
    """

    def balance(reduced: np.ndarray) -> np.ndarray:
        length = 1.0 - reduced @ reduced
        return _turning(field(reduced), reduced) / field.body.size + length * reduced

    here, value = start, balance(start)
    gradient = _gradient(balance, here)
    for _ in range(NEWTON_STEPS):
        if np.linalg.norm(value) <= SETTLED:
            return here, _away(_gradient(balance, here))
        step = -shortest_solution(gradient, value)
        here, before = here + step, value
        if np.linalg.norm(here - start) > FAR:
            break
        value = balance(here)
        gradient += np.outer(value - before - gradient @ step, step) / (step @ step)
    return None, None


def _away(gradient: np.ndarray) -> np.ndarray | None:
    """Return the direction in which the flow leaves a limit fastest; None if it attracts."""
    values, vectors = np.linalg.eig(gradient)
    fastest = int(np.argmax(np.real(values)))
    away = np.real(vectors[:, fastest])
    return away / np.linalg.norm(away) if np.real(values)[fastest] > 0.0 else None


def _gradient(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
    sides = DIFFERENCE * np.eye(len(at))
    return np.array([(function(at + d) - function(at - d)) / (2 * DIFFERENCE) for d in sides]).T


def starts(body: RestingBody) -> list[np.ndarray]:
    """Return directions (nv,) from which to follow the flow.

    The load comes first: the acceleration from which friction cancels between opposite directions.
    Its single components and one more direction follow.
    """
    axes = np.eye(body.freedom)
    load = body.all_round.sum(axis=0)
    if not np.any(load):
        load = axes[0]
    load /= np.linalg.norm(load)
    if body.freedom == 1:
        return [body.velocities(load), body.velocities(-load)]
    aside = np.random.default_rng(0).standard_normal((2, body.freedom))
    tilted = NUDGE * aside[0]
    sides = [np.where(load[k] < 0.0, -axis, axis) + tilted for k, axis in enumerate(axes)]
    return [body.velocities(found) for found in (load + tilted, *sides, aside[1])]


@dataclass(frozen=True, eq=False)
class Attraction:
    """Where the flow leads from several starts.

    Parameters
    ----------
    attractors
        The limits, largest growth first.
    failures
        Why the flow could not be followed from other starts.
    """

    attractors: tuple[Attractor, ...]
    failures: tuple[VariantError, ...]

    @property
    def strongest(self) -> Attractor:
        """The attractor along which the body slides, if it slides."""
        return self.attractors[0]


def attraction(body: RestingBody, extra: Sequence[np.ndarray] = ()) -> Attraction:
    """Follow the flow from several starts, until the body slides along one of its limits.

    If it slides along none, the directions opposite to the limits are tried as well: if reactions
    do not depend on the direction, a second limit can only lie on the other side.

    Parameters
    ----------
    body
        A body at rest.
    extra
        Directions (nv,) to try first.

    Raises
    ------
    VariantError
        No start leads to a limit.
    """
    found: list[Attractor] = []
    failures: list[VariantError] = []

    def follow(directions: Sequence[np.ndarray]) -> bool:
        for direction in directions:
            try:
                found.append(attractor_from(body, direction))
            except VariantError as failure:
                failures.append(failure)
            else:
                if found[-1].settled and found[-1].growth > 0.0:
                    return True
        return False

    if not follow([*extra, *starts(body)]) and body.freedom > 1:
        follow([-found[0].direction] if found else [])
    if not found:
        raise failures[0]
    return Attraction(tuple(sorted(found, key=lambda one: -one.growth)), tuple(failures))
