"""Which of several dependent goals are kept; they change when the kept ones lose their grip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from daesolve.core.equations.alternatives import Alternatives
from daesolve.core.equations.row_choice import DEGRADED, GRIP
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.law import Jump, Setting, SwitchingLaw
from daesolve.core.formulations import OdeProblem
from daesolve.core.formulations.feedback import ROWS


def chosen_rows(
    problem: OdeProblem,
    alternatives: Alternatives,
    time: float,
    x: np.ndarray,
    p: np.ndarray,
) -> np.ndarray:
    """Return the values with which those goals are kept that have the best grip here.

    Parameters
    ----------
    problem, alternatives
        What is integrated, and what chooses.
    time, x, p
        When (s), the problem's state and the values.
    """
    here = problem.visible(np.array([time]), x[None, :], p)
    values = alternatives.values(alternatives.dropped(np.array([time]), here, p))
    names = list(problem.values)
    p = p.copy()
    for name, value in (values | {GRIP: 0.0}).items():
        p[names.index(name)] = value
    guard = [event.name for event in problem.guarded].index(ROWS)
    grip = float(np.asarray(problem.guards(time, x, p)).ravel()[guard]) + np.log(DEGRADED)
    p[names.index(GRIP)] = -grip if np.isfinite(grip) else 0.0
    return p


class RowLaw(SwitchingLaw):
    """Exchanges the kept goals, of those that depend on each other, when they lose their grip.

    Parameters
    ----------
    setting, event
        The problem, and the event that asks for it.
    """

    of_motion = False

    def __init__(self, setting: Setting, event: int) -> None:
        super().__init__([event])
        self.problem = setting.problem
        assert setting.dynamics.alternatives is not None
        self.alternatives = setting.dynamics.alternatives

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> RowLaw | None:
        """Return the law of a problem with dependent goals."""
        if setting.dynamics.alternatives is None:
            return None
        names = [event.name for event in setting.problem.events]
        return cls(setting, names.index(ROWS)) if ROWS in names else None

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        """Continue with other goals."""
        if fired:
            visible = self.problem.visible(np.array([time]), x[None, :], p)[0]
            states = self.alternatives.settled(time, visible, p)
            x = np.concatenate([states, x[len(states) :]])
            yield Jump({}, x, chosen_rows(self.problem, self.alternatives, time, x, p), None)
