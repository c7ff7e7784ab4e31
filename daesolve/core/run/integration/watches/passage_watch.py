"""Whether a run that passes a loss of rank still follows the same motion.

Near such a position a goal's grip g (its relative pivot, about the square of the smallest singular
value of the scaled constraint matrix) goes to zero, and branches of motion cross. Three things are
watched from where g falls below `WEAK` to the first step after it:

* Residuals. By the theorem of Newton and Kantorovich a consistent position is near, and is the
  only one near, while |J^+ delta| |J^+| |J'| <= 1/2. With residuals relative to their scales that
  is delta / g <= 1/2: beyond it a residual is as large as what separates the branches. A velocity's
  residual counts with the root of g, for it is divided by J once.
* Invariants. The proximal shift epsilon lets go of the constraints within a distance sqrt(epsilon)
  of the position, in units of the system; an invariant that jumps by a larger part of its scale
  (and further than it was off before) did not get there along the branch.
* Accelerations. A motion that passes has bounded ones. Where y is a coordinate that the others
  reach with speed, y ~ tau^(1/m) before the moment tau = 0, the accelerations of that coordinate
  grow as tau^(1/m - 2), and the root of its grip falls as tau^(1 - 1/m): their product with g
  grows beyond all bounds, while it vanishes for every motion that passes, and for one that leaves
  its branch (g reaches about delta there, and the accelerations delta^(-1/2)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from daesolve.core.equations.elimination.saddle import PROXIMAL_EPSILON
from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.probing import WEAK
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.watches.watch import Loss, MeasuredSteps, Watch

UNIQUE = 0.5
"""Kantorovich's bound."""
REACH = math.sqrt(PROXIMAL_EPSILON)
"""The distance from a position of lower rank within which the proximal shift releases
constraints."""

BRANCH_LOST = "branch_lost"
UNBOUNDED = "unbounded_reaction"
INDEPENDENT = "independent_goal"


@dataclass(frozen=True)
class Breach(Loss):
    """Where a run leaves the motion that it followed.

    Parameters
    ----------
    event
        "branch_lost" or "unbounded_reaction" where it passes positions of lower rank,
        "independent_goal" where a goal does not follow from others any more.
    goals
        Whose grip was weak there, or which ceased to follow.
    reason
        What was seen, in words.
    """

    event: str
    goals: tuple[str, ...]
    reason: str

    @property
    def sentence(self) -> str:
        """What happened, and what to change."""
        names = ", ".join(map(repr, self.goals))
        if self.event == UNBOUNDED:
            return (
                f"at t = {self.time:.10g} s the reactions of {names} grow without bound "
                f"({self.reason}): the motion reaches, at nonzero speed, a position that it "
                "cannot pass; end earlier, or choose another start"
            )
        if self.event == INDEPENDENT:
            return (
                f"at t = {self.time:.10g} s the goal {names} is violated ({self.reason}): near "
                "the start it followed from the others, like a redundant goal, but here it is "
                "independent of them; leave it out, pose it so that it never depends on the "
                "others, or end earlier"
            )
        return (
            f"at t = {self.time:.10g} s, where {names} lose their influence, the motion left "
            f"its branch ({self.reason}): use the formulation 'projected', raise the rate, for "
            "instance to 'auto', or tighten the tolerance"
        )


@dataclass(frozen=True)
class _Entry:
    """The last step before a passage, with the residuals at its end relative to their scales."""

    time: float
    state: np.ndarray
    residuals: np.ndarray


class PassageWatch(Watch):
    """Judges the steps of a run wherever the grip of a goal is weak.

    Parameters
    ----------
    problem
        What is integrated.
    slips
        Whether constraints on velocities are among the goals.
    """

    name, when = "passages", "passes"

    def __init__(self, problem: OdeProblem, *, slips: bool = False) -> None:
        self.problem, self._slips = problem, slips
        self.count = 0
        kinds = np.array([watched.kind for watched in problem.watched])
        goals = [watched.goal for watched in problem.watched]
        self._invariant = kinds == "invariant"
        self._residual = kinds == "residual"
        hidden = [w.goal for w in problem.watched if w.kind == "hidden"]
        self._degrees = np.array([1 + hidden.count(goal) for goal in goals])[self._residual]
        velocities = problem.recover.nnz_out(0)
        units = [str(unit) for unit in problem.labels.state_units[-velocities:]]
        self._same_unit = np.array(
            [[unit == other for unit in units] for other in sorted(set(units))]
        )
        self._strongest = np.zeros(len(problem.pivot_goals))
        self._invariants = np.zeros(int(self._invariant.sum()))
        self._fastest = np.zeros(len(self._same_unit))
        self._entry: _Entry | None = None
        self._weak = False
        self._last: tuple[float, np.ndarray] | None = None

    @classmethod
    def of(cls, prepared: Prepared) -> Self | None:
        """Watch runs that pass where constraints lose rank."""
        if not prepared.problem.pivot_goals:
            return None
        slips = any(row.kind == "nonholonomic" for row in prepared.dynamics.rows)
        return cls(prepared.problem, slips=slips)

    def judge(self, steps: MeasuredSteps) -> Loss | None:
        """Return where the motion left its branch, or cannot pass."""
        block, grips = steps.block, steps.grips
        states = self.problem.visible(block.times, block.states, steps.values)
        velocities = states[:, -self.problem.recover.nnz_out(0) :]
        sizes = np.abs(steps.residuals)
        residuals = np.where(np.isnan(sizes), np.inf, sizes) / steps.scales
        self._strongest = np.maximum(self._strongest, grips.max(axis=0))
        shares = grips / np.where(self._strongest > 0.0, self._strongest, 1.0)
        weak = shares.min(axis=1) < WEAK
        before = np.concatenate([[self._weak], weak[:-1]])
        self._weak = bool(weak[-1])
        self.count += int(np.sum(weak & ~before))
        accelerations = self._accelerations(block.times, velocities)
        inside = weak | before
        for part in np.split(np.arange(len(weak)), np.flatnonzero(np.diff(inside)) + 1):
            if not inside[part[0]]:
                self._learn(block, residuals, accelerations, part)
            elif self._entry is not None:
                found = self._judge(residuals[part], shares[part], accelerations[part])
                if found is not None:
                    return self._breach(*found, block.times[part], shares[part])
        return None

    def needs_modes(self, grips: np.ndarray) -> bool:
        """Judge mode by mode: a passage ends where a mode does."""
        return True

    def forget(self) -> None:
        """Continue with a state whose meaning has changed."""
        self._entry = None

    def give_up(
        self, time: float, state: np.ndarray, p: np.ndarray, goals: tuple[str, ...]
    ) -> Loss | None:
        """Return where the branch was lost if the solver fails within a passage: at its begin."""
        if not self._weak or self._entry is None:
            return None
        reason = "no step across it agrees with the equations"
        entry = self._entry
        return Breach(time, entry.time, entry.state, BRANCH_LOST, goals, reason)

    @property
    def inside(self) -> bool:
        """Whether a passage is under way: its end may yet show that it was never made."""
        return self._weak

    def unsettled(self) -> tuple[float, int] | None:
        """Return the begin of the passage that is under way: all is taken back to there."""
        return (self._entry.time, 1) if self._weak and self._entry is not None else None

    def notes(self, *, ended: bool) -> list[str]:
        """Say how often such positions were passed."""
        if not self.count or ended:
            return []
        open_end = ": constraints on velocities do not determine how the motion continues"
        return [
            f"passed positions where constraints lose rank {self.count} times"
            + (open_end if self._slips else "")
        ]

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {
            "count": self.count,
            "strongest": self._strongest,
            "invariants": self._invariants,
            "fastest": self._fastest,
            "weak": self._weak,
            "entry": None if self._entry is None else asdict(self._entry),
            "last": self._last,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self.count, self._weak = int(saved["count"]), bool(saved["weak"])
        self._strongest = np.array(saved["strongest"], dtype=float)
        self._invariants = np.array(saved["invariants"], dtype=float)
        self._fastest = np.array(saved["fastest"], dtype=float)
        entry, last = saved["entry"], saved["last"]
        if entry is not None:
            state, residuals = (np.array(entry[k], dtype=float) for k in ("state", "residuals"))
            self._entry = _Entry(float(entry["time"]), state, residuals)
        if last is not None:
            self._last = (float(last[0]), np.array(last[1], dtype=float))

    def _breach(
        self, step: int, event: str, reason: str, times: np.ndarray, shares: np.ndarray
    ) -> Breach:
        assert self._entry is not None
        weakest = shares[max(step - 1, 0) : step + 1].min(axis=0)
        named = zip(self.problem.pivot_goals, weakest, strict=True)
        goals = tuple(name for name, share in named if share < WEAK)
        entry = self._entry
        return Breach(float(times[step]), entry.time, entry.state, event, goals, reason)

    def _accelerations(self, times: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """Return the largest mean acceleration over each step among velocities of each unit."""
        first = (times[0], velocities[0]) if self._last is None else self._last
        self._last = (float(times[-1]), velocities[-1].copy())
        steps = np.abs(np.diff(times, prepend=first[0]))[:, None]
        changes = np.abs(np.diff(velocities, axis=0, prepend=first[1][None, :]))
        rates = changes / np.where(steps > 0.0, steps, np.inf)
        columns = [rates[:, same].max(axis=1) for same in self._same_unit]
        return np.array(columns).reshape(len(columns), len(times)).T

    def _learn(
        self, block: StepBlock, residuals: np.ndarray, accelerations: np.ndarray, part: np.ndarray
    ) -> None:
        """Remember the usual values where the grip is good."""
        invariants = residuals[part][:, self._invariant]
        self._invariants = np.maximum(self._invariants, invariants.max(axis=0))
        self._fastest = np.maximum(self._fastest, accelerations[part].max(axis=0, initial=0.0))
        last = part[-1]
        self._entry = _Entry(float(block.times[last]), block.states[last].copy(), residuals[last])

    def _judge(
        self, residuals: np.ndarray, shares: np.ndarray, accelerations: np.ndarray
    ) -> tuple[int, str, str] | None:
        """Return the first step of a passage at which a bound is broken: which, and how."""
        assert self._entry is not None
        grip = np.maximum(shares.min(axis=1), 1e-300)
        usual = np.where(self._fastest > 0.0, self._fastest, np.inf)
        growth = (accelerations / usual).max(axis=1, initial=0.0)
        off = residuals[:, self._residual] / grip[:, None] ** (self._degrees / 2.0)
        separate = off.max(axis=1, initial=0.0)
        rises = residuals[:, self._invariant] - self._entry.residuals[self._invariant]
        jumps = rises.max(axis=1, initial=0.0)
        allowed = np.maximum(REACH, self._invariants)
        jumped = np.any(rises > allowed, axis=1)
        signs = (
            (~(separate <= UNIQUE) | jumped, BRANCH_LOST),
            ((grip < WEAK) & ~(growth * grip <= 1.0), UNBOUNDED),
        )
        broken = [(int(np.flatnonzero(sign)[0]), event) for sign, event in signs if np.any(sign)]
        if not broken:
            return None
        place, event = min(broken, key=lambda found: found[0])
        if event == UNBOUNDED:
            return place, event, f"accelerations grew to {growth[place]:.2g} times the usual ones"
        if jumped[place]:
            return place, event, f"an invariant jumped by {jumps[place]:.2g} of its scale"
        return place, event, "a residual became as large as the distance between the branches"
