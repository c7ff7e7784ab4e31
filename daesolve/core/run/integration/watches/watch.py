"""What watches a run: it sees every accepted step, may end the run, and may add notes to it.

Each kind says with `of` whether there is something to watch in a run; where it returns None, it is
never asked again. The run holds one list of watches, which the monitor shows the steps in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.record import RunRecord
from daesolve.core.solvers import EventHit

LEAST_TOLERANCE = 1e-10
"""Steps are trusted to no smaller one: solvers keep it only far from degeneracy."""
AGREED_STEPS = 1e3
"""The factor on the accuracy of a step by which what follows from others may be off: errors of
steps add up in what is not driven."""


@dataclass(frozen=True)
class Loss:
    """Where a run must end.

    Parameters
    ----------
    time
        When that was seen, s.
    last_time, last_state
        The last step that it keeps.
    """

    time: float
    last_time: float
    last_state: np.ndarray


@dataclass(frozen=True, eq=False)
class MeasuredSteps:
    """Accepted steps, and what was measured at their ends.

    Parameters
    ----------
    times, states
        (k,) s, and (k, size).
    values
        p, (np,); or that of each, (k, np), where several modes follow each other.
    residuals, kinetic, grips, influences
        The residuals, the kinetic energy, the relative pivots of goals, and the influences of
        singular ones: (k, n), (k,), (k, goals), (k, m).
    scales
        Of the residuals, (n,).
    """

    times: np.ndarray
    states: np.ndarray
    values: np.ndarray
    residuals: np.ndarray
    kinetic: np.ndarray
    grips: np.ndarray
    influences: np.ndarray
    scales: np.ndarray

    @property
    def joined(self) -> bool:
        """Whether they are of several modes."""
        return self.values.ndim == 2

    @property
    def block(self) -> StepBlock:
        """The steps alone."""
        return StepBlock(self.times, self.states)

    def before(self, loss: Loss) -> MeasuredSteps:
        """Return those up to the last that is kept."""
        count = int(np.sum(np.flatnonzero(self.times == loss.last_time)[:1] + 1))
        return replace(
            self,
            times=self.times[:count],
            states=self.states[:count],
            values=self.values[:count] if self.joined else self.values,
            residuals=self.residuals[:count],
            kinetic=self.kinetic[:count],
            grips=self.grips[:count],
            influences=self.influences[:count],
        )


class Watch:
    """Looks at a run as far as it defines these methods; one that it leaves out costs nothing.

    Attributes
    ----------
    name
        Under which checkpoints keep its state; empty if it has none.
    when
        The attribute of a prepared run, perhaps of its problem, without which it is not asked.
    needs_stops
        Whether the solver must stop at each reset, since steps are not all that it needs to see.
    """

    name: ClassVar[str] = ""
    when: ClassVar[str] = ""
    needs_stops: ClassVar[bool] = False

    @classmethod
    def of(cls, prepared: Prepared) -> Self | None:
        """Return a watch over a run, from its start; None if there is nothing to watch."""
        raise NotImplementedError

    def take(self, block: StepBlock, p: np.ndarray) -> None:
        """Take in accepted steps.

        Parameters
        ----------
        block
            Their ends, at least one.
        p
            The values in force, (np,), or of each step, (k, np).
        """

    def judge(self, steps: MeasuredSteps) -> Loss | None:
        """Return where the run must end by what was measured at accepted steps."""

    def needs_modes(self, grips: np.ndarray) -> bool:
        """Return whether it must judge steps of several modes one mode after the other.

        Parameters
        ----------
        grips
            Relative pivots, (k, goals).
        """
        return False

    def forget(self) -> None:
        """Continue with a state whose meaning has changed."""

    def unsettled(self) -> tuple[float, int] | None:
        """Return since when steps may yet be taken back, s, and how many blocks at most."""

    def give_up(
        self, time: float, state: np.ndarray, p: np.ndarray, goals: tuple[str, ...]
    ) -> Loss | None:
        """Return where the run must end, since no solver could continue from a state.

        Parameters
        ----------
        time, state, p
            Where it came to, and the values there.
        goals
            Those whose grip has been weak.
        """

    def pass_guards(self, hits: Sequence[EventHit], since: float, p: np.ndarray) -> None:
        """Take in the guards that passed zero in a segment.

        Parameters
        ----------
        hits, since, p
            The passages, the start of the segment, s, and the values in it.
        """

    def contradiction(self, record: RunRecord) -> str | None:
        """Say how the run, since this was asked last, contradicts what was posed; None if not.

        Parameters
        ----------
        record
            What it has gathered; it is between two segments.
        """

    def notes(self, *, ended: bool) -> list[str]:
        """Return notes for the report.

        Parameters
        ----------
        ended
            Whether a watch has ended the run.
        """
        return []

    def saved(self) -> Any:
        """Return all that is known, so that another process can resume."""

    def restore(self, saved: Any) -> None:
        """Restore what `saved` returned."""


def step_accuracy(prepared: Prepared) -> float:
    """Return the relative accuracy of a step."""
    solver = prepared.solver
    return max(solver.step_tolerance, LEAST_TOLERANCE) * solver.converges_to(prepared.problem)


def saved_states(watches: Sequence[Watch]) -> dict[str, Any]:
    """Return the states of watches by name."""
    return {watch.name: watch.saved() for watch in watches if watch.name}


def restore_states(watches: Sequence[Watch], saved: Mapping[str, Any]) -> None:
    """Restore what `saved_states` returned; a watch that was not there begins anew."""
    for watch in watches:
        if watch.name and saved.get(watch.name) is not None:
            watch.restore(saved[watch.name])
