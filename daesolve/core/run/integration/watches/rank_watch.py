"""Where constraints come to depend on each other along a motion, sharply.

With J M^-1/2 and its rows of unit length, which no choice of units changes, sigma is the smallest
singular value over the largest one met. Rounding of the state alone turns the accelerations that
reactions leave by u / sigma^2 (u is the rounding unit). Where the equations hold independent
velocities W v that a nearly dependent constraint does not move, u / sigma is left. In between, with
s the part of W along the right singular vector,

    error = u / sigma + s u / sigma^2.

The smallest sigma that is accurate enough is where this error equals the relative tolerance; below
it the run adds a note. At a third of it an error control begins to mistake rounding for the error
of its step: the run ends. It ends as well where the combination of rows that nearly vanishes turns
round within a step: there it passed through zero, or so near by that the step cannot have seen it,
whatever the accelerations were (they may stay finite).

Singular values are computed only where a pivot of the elimination, about sigma^2, is small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import time_states
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import Samples
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.singular_values import SingularDirections, singular_directions
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.watches.vanishing_gradients import LEAST, VanishingGradients

ROUNDING_UNIT = float(np.finfo(float).eps) / 2.0
STOP = 1.0 / 3.0
"""A run ends at this fraction of the smallest sigma that is accurate enough."""
SIEVE = 1e-3
"""A pivot below this fraction of the largest so far makes the run compute the singular values: many
times what is needed, since in larger systems pivots are larger than the square of the smallest
one."""
NEAR = 0.1
"""A singular value below this part of the usual one has to do with a pivot that came to zero."""
SAME = 0.5
"""The product of unit vectors beyond which a null vector is that of the step before."""
SHARED = 1e-8
"""A singular value below this fraction of the largest counts as zero: goals that share depend to
rounding."""
STEADY = 0.9
"""The same beyond which the direction that it leaves has not turned."""
TAKES_PART = 1e-2
"""Goals with at least this fraction of the largest entry of the null vector are named."""


@dataclass(frozen=True)
class Dependence:
    """How near constraints are to depending on each other at a step.

    Parameters
    ----------
    time, state
        When, s, and the problem's x.
    singular_value
        The smallest one over the largest met.
    threshold
        What it must not fall below.
    null_vector
        Of each goal, what it adds to the combination that vanishes, of unit length.
    """

    time: float
    state: np.ndarray
    singular_value: float
    threshold: float
    null_vector: dict[str, float]

    @property
    def goals(self) -> tuple[str, ...]:
        """The goals that take part, in the order of the system."""
        largest = max(map(abs, self.null_vector.values()))
        return tuple(n for n, v in self.null_vector.items() if abs(v) >= TAKES_PART * largest)

    @property
    def sharp(self) -> bool:
        """Whether it is below its limit."""
        return self.singular_value < self.threshold

    @property
    def sentence(self) -> str:
        """What was found, without a word about what to do."""
        if len(self.null_vector) == 1:
            (goal,) = self.null_vector
            return (
                f"the gradient of the goal {goal!r} vanishes: it is {self.singular_value:.3g} of "
                "its usual size there"
            )
        return (
            f"the goals {', '.join(map(repr, self.goals))} almost depend on each other: their "
            f"smallest singular value is {self.singular_value:.3g} of its usual size"
        )


@dataclass(frozen=True)
class SmallestSingularValues:
    """Singular values at some steps, (k,), and the least accurate ones.

    With left and right singular vectors, (k, goals) and (k, velocities).
    """

    smallest: np.ndarray
    accurate: np.ndarray
    null: np.ndarray
    direction: np.ndarray


@dataclass(frozen=True)
class _Before:
    """The singular vectors at the last step, and whether they were steady from the one before."""

    null: np.ndarray
    direction: np.ndarray
    steady: bool


class RankWatch:
    """Judges the rank of the constraints along the steps of a run.

    Parameters
    ----------
    dynamics, problem
        The equations, and what is integrated.
    values
        p as numbers.
    samples
        Consistent states, which show what is usual.
    tolerance
        The required relative accuracy of the motion.
    surplus
        Goals that depend on the others everywhere.
    shares
        Whether goals that hold at times may depend on each other from where they begin to: as many
        are independent then as at the first step of the mode.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        problem: OdeProblem,
        values: np.ndarray,
        samples: Samples,
        tolerance: float,
        surplus: tuple[str, ...] = (),
        *,
        shares: bool = False,
    ) -> None:
        self.problem = problem
        self._shares = shares
        self._rank_here: int | None = None
        self.tolerance = tolerance
        rows = {row.name: row for row in dynamics.rows}
        self.goals = tuple(n for n in problem.pivot_goals if rows[n].typical is None)
        self._columns = [
            problem.pivot_goals.index(name) for name in self.goals if name not in surplus
        ]
        self._rank = len(self._columns)
        independent = tuple(problem.pivot_goals[column] for column in self._columns)
        self._gradients = VanishingGradients(dynamics, independent)
        self._parameters = len(dynamics.values)
        holds = {name: rows[name].hold for name in self.goals}
        self._holds = [(name, hold) for name, hold in holds.items() if hold is not None]
        self._velocities = dynamics.velocity_count + len(self._holds)
        self._independent = _independent(dynamics, problem)
        self._dynamics, self._values, self._samples = dynamics, values, samples
        self.strongest = self._usual_grips()
        self.largest: float | None = None
        self.warned: Dependence | None = None
        self._before: _Before | None = None

    @property
    def watches(self) -> bool:
        """Whether there are constraints that may come to depend on each other."""
        return self._rank > 1

    @property
    def exact(self) -> bool:
        """Whether rounding may be as little as u / sigma."""
        return bool(self._independent.shape[0])

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {
            "strongest": self.strongest,
            "gradients": self._gradients.largest,
            "largest": self.largest,
            "rank": self._rank_here,
            "warned": None if self.warned is None else asdict(self.warned),
            "before": None if self._before is None else asdict(self._before),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self.strongest = np.array(saved["strongest"], dtype=float)
        self._gradients.largest = np.array(saved.get("gradients", self._gradients.largest))
        self.largest = None if saved["largest"] is None else float(saved["largest"])
        self._rank_here = saved.get("rank")
        self.warned = restored_dependence(saved["warned"])
        if saved["before"] is not None:
            null, direction = (
                np.array(saved["before"][name], dtype=float) for name in ("null", "direction")
            )
            self._before = _Before(null, direction, bool(saved["before"]["steady"]))

    def usual_grips(self) -> dict[str, float]:
        """Return the largest relative pivots met so far, by goal."""
        names = [self.problem.pivot_goals[column] for column in self._columns]
        return dict(zip(names, self.strongest.tolist(), strict=True))

    def _usual_grips(self) -> np.ndarray:
        """Return the largest pivots at the samples."""
        times, visible = time_states(self._samples)
        pairs = zip(times, visible, strict=True)
        states = np.array([self.problem.enter(t, x, self._values) for t, x in pairs])
        table = self.problem.block("residuals", times, states, self._values)[0]
        grips = table[:, len(self.problem.watched) + 1 :][:, self._columns]
        return np.max(np.nan_to_num(grips), axis=0, initial=0.0)

    def _usual(self) -> float:
        """Return the largest singular value so far, at first that at the samples."""
        if self.largest is None:
            found = self._measure(*time_states(self._samples), self._values).smallest
            self.largest = float(np.max(found[np.isfinite(found)], initial=0.0))
        return self.largest

    @cached_property
    def _metric(self) -> ca.Function:
        """(t, x, p) -> M, J and W, each a column, row after row."""
        dynamics, independent = self._dynamics, self._independent
        rows = {row.name: row.jacobian for row in dynamics.rows}
        gradients = ca.vertcat(*[rows[name] for name in self.goals])
        mass = dynamics.mass
        if self._holds:
            # A released goal moves along a direction of its own, away from all others.
            own = ca.vertcat(*[1.0 - hold for _, hold in self._holds])
            places = [self.goals.index(name) for name, _ in self._holds]
            aside = ca.SX(len(self.goals), len(places))
            for column, place in enumerate(places):
                aside[place, column] = own[column]
            gradients = ca.horzcat(gradients, aside)
            mass = ca.diagcat(mass, ca.SX.eye(len(places)))
            independent = ca.horzcat(independent, ca.SX(independent.shape[0], len(places)))
        return function_of(
            "metric",
            [dynamics.t, dynamics.x, dynamics.p],
            [ca.vec(part.T) for part in (mass, gradients, independent)],
            (["t", "x", "p"], ["mass", "gradients", "independent"]),
        )

    def observe(
        self, block: StepBlock, grips: np.ndarray, values: np.ndarray
    ) -> tuple[int, Dependence] | None:
        """Look at accepted steps; return the first at which the run is to end, and why.

        Parameters
        ----------
        block
            The steps.
        grips
            Relative pivots, (k, pivot_goals).
        values
            p, the same for all of them.
        """
        vanished = self._vanished(block, values)
        if not self.watches:
            return vanished
        if self._shares and self._rank_here is None:
            visible = self.problem.visible(block.times[:1], block.states[:1], values)
            self._rank_here = self._independent_at(block.times[:1], visible, values)
        grips = grips[:, self._columns]
        self.strongest = np.maximum(self.strongest, grips.max(axis=0))
        weak = np.flatnonzero(np.any(grips < SIEVE * self.strongest, axis=1))
        if not weak.size:
            self._before = None
            return vanished
        times, states = block.times[weak], block.states[weak]
        found = self._measure(times, self.problem.visible(times, states, values), values)
        finite = np.isfinite(found.smallest)
        self.largest = float(np.max(found.smallest[finite], initial=self._usual()))
        relative = found.smallest / self.largest if self.largest > 0.0 else found.smallest
        least = STOP * found.accurate
        turned = self._turned(found, weak, len(block.times))
        near = np.flatnonzero(relative < found.accurate)
        lost = np.flatnonzero((relative < least) | turned)
        if near.size and self.warned is None:
            at = int(near[0])
            self.warned = self._dependence(times, states, relative, found, at, found.accurate[at])
        if not lost.size or (vanished is not None and vanished[0] <= weak[lost[0]]):
            return vanished
        at = int(lost[0])
        return int(weak[at]), self._dependence(times, states, relative, found, at, least[at])

    def _vanished(self, block: StepBlock, values: np.ndarray) -> tuple[int, Dependence] | None:
        """Return the first step at which the gradient of a goal has vanished, and how."""
        if not self._gradients.goals:
            return None
        visible = self.problem.visible(block.times, block.states, values)
        seen = self._gradients.first(block.times, visible, values)
        if seen is None:
            return None
        step, goal, length = seen
        time, state = float(block.times[step]), block.states[step].copy()
        return step, Dependence(time, state, length, LEAST, {goal: 1.0})

    def forget(self) -> None:
        """Continue with a state whose meaning has changed."""
        self._before = self._rank_here = None
        self._gradients.forget()

    def _turned(self, found: SmallestSingularValues, weak: np.ndarray, count: int) -> np.ndarray:
        """Return at which steps the combination that nearly vanishes has turned round since before.

        The vectors are known up to a common sign; a body that spins turns them step by step.
        """
        before = self._before or _Before(found.null[0], found.direction[0], steady=False)
        null = np.vstack([before.null, found.null])
        direction = np.vstack([before.direction, found.direction])
        same = np.sum(null[1:] * null[:-1], axis=1)
        known = (np.diff(weak, prepend=-1) == 1) & (np.abs(same) > SAME)
        known[0] &= self._before is not None
        along = np.sign(same) * np.sum(direction[1:] * direction[:-1], axis=1)
        steady = known & (along > STEADY)
        if weak[-1] == count - 1:
            self._before = _Before(found.null[-1], found.direction[-1], bool(steady[-1]))
        else:
            self._before = None
        return known & (along < 0.0) & np.append(before.steady, steady[:-1])

    def judge(self, block: StepBlock, values: np.ndarray) -> Dependence | None:
        """Return how near constraints are to depending on each other at the nearest of some steps.

        None if they are not: then it is something else that made a grip weak.
        """
        if not self.watches:
            return None
        visible = self.problem.visible(block.times, block.states, values)
        found = self._measure(block.times, visible, values)
        usual = self._usual()
        relative = found.smallest / usual if usual > 0.0 else found.smallest
        at = int(np.argmin(relative))
        if not relative[at] < NEAR:
            return None
        least = float(STOP * found.accurate[at])
        return self._dependence(block.times, block.states, relative, found, at, least)

    def _dependence(
        self,
        times: np.ndarray,
        states: np.ndarray,
        relative: np.ndarray,
        found: SmallestSingularValues,
        at: int,
        threshold: float,
    ) -> Dependence:
        null = dict(zip(self.goals, found.null[at].tolist(), strict=True))
        size = float(relative[at])
        return Dependence(float(times[at]), states[at].copy(), size, float(threshold), null)

    def _singular(
        self, times: np.ndarray, visible: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, SingularDirections, np.ndarray]:
        """Return which states are usable, and of these the singular directions and W, scaled."""
        count, size = len(times), self._velocities
        tables = evaluate_block(self._metric, times, visible, values[: self._parameters])
        mass, gradients, independent = (
            table.reshape(count, -1, size) for table in (tables[0], tables[1], tables[2])
        )
        usable = np.all(np.isfinite(np.hstack(tables)), axis=1)
        inertia, axes = np.linalg.eigh(mass[usable])
        light = np.finfo(float).tiny
        roots = np.sqrt(np.maximum(inertia, light))[:, None, :]
        root = (axes / roots) @ axes.swapaxes(1, 2)
        found = singular_directions(_unit(gradients[usable] @ root))
        return usable, found, _unit(independent[usable] @ root)

    def _independent_at(self, time: np.ndarray, visible: np.ndarray, values: np.ndarray) -> int:
        """Return how many goals are independent at a state, (1,) and (1, n)."""
        usable, found, _ = self._singular(time, visible, values)
        if not usable.all():
            return self._rank
        singular = found.values[0]
        return int(np.count_nonzero(singular > SHARED * np.max(singular)))

    def _measure(
        self, times: np.ndarray, visible: np.ndarray, values: np.ndarray
    ) -> SmallestSingularValues:
        """Return the smallest singular values at some states, infinite if there are none."""
        count = len(times)
        smallest, accurate = np.full(count, np.inf), np.zeros(count)
        null, direction = np.zeros((count, len(self.goals))), np.zeros((count, self._velocities))
        if not self.watches:
            return SmallestSingularValues(smallest, accurate, null, direction)
        usable, found, independent = self._singular(times, visible, values)
        if not np.any(usable):
            return SmallestSingularValues(smallest, accurate, null, direction)
        left, singular, right = found.left, found.values, found.right
        rank = self._rank if self._rank_here is None else self._rank_here
        full = np.zeros((len(singular), max(rank, singular.shape[1])))
        full[:, : singular.shape[1]] = singular
        last = rank - 1
        smallest[usable] = full[:, last]
        null[usable] = left[:, :, last]
        direction[usable] = right[:, min(last, right.shape[1] - 1)]
        moved = np.ones(len(singular))
        if independent.shape[1]:
            along = independent @ direction[usable][:, :, None]
            moved = np.minimum(np.max(np.abs(along), axis=(1, 2)), 1.0)
        accurate[usable] = _least_accurate(moved, self.tolerance)
        return SmallestSingularValues(smallest, accurate, null, direction)


def restored_dependence(saved: Mapping[str, Any] | None) -> Dependence | None:
    """Return what `asdict` made of it."""
    if saved is None:
        return None
    return Dependence(
        float(saved["time"]),
        np.array(saved["state"], dtype=float),
        float(saved["singular_value"]),
        float(saved["threshold"]),
        {name: float(part) for name, part in saved["null_vector"].items()},
    )


def _independent(dynamics: Dynamics, problem: OdeProblem) -> ca.SX:
    """Return W of the velocities that the problem gives and x holds, (nw, nv)."""
    if problem.chart is None or problem.chart.choose is not None or not dynamics.independent:
        return ca.SX(0, dynamics.velocity_count)
    return ca.jacobian(ca.vertcat(*dynamics.independent.values()), dynamics.velocities)


def _unit(rows: np.ndarray) -> np.ndarray:
    """Return rows of unit length."""
    lengths = np.linalg.norm(rows, axis=2, keepdims=True)
    return rows / np.where(lengths > 0.0, lengths, 1.0)


def _least_accurate(moved: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the sigma at which u / sigma + s u / sigma^2 is the tolerance."""
    unit = ROUNDING_UNIT
    return (unit + np.sqrt(unit**2 + 4.0 * tolerance * moved * unit)) / (2.0 * tolerance)
