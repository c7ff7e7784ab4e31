"""Charts: coordinates of a reduced state that are valid for a while, and are then replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.law import Jump, Setting, SwitchingLaw
from daesolve.core.formulations import OdeProblem


def visible_state(problem: OdeProblem, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the states that labels name, and the work integrals, whatever the chart."""
    if problem.chart is None:
        return x
    works = x[problem.chart.embed.nnz_in(1) :]
    return np.concatenate([problem.visible(np.array([time]), x[None, :], p)[0], works])


def enter(
    problem: OdeProblem,
    time: float,
    states: np.ndarray,
    p: np.ndarray,
    path: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the problem's state and values, in a chart that is chosen here.

    Parameters
    ----------
    problem
        With or without a chart.
    time, states, p
        When (s), the states that labels name followed by the work integrals, and the values.
    path
        (k, n) states along which the chart is to serve; those alone if it is None.
    """
    if problem.chart is None:
        return states, p
    count = len(problem.labels.states)
    named, works = states[:count], states[count:]
    if problem.chart.choose is not None:
        p = problem.chart.choose(time, named, p, named[None, :] if path is None else path)
    return problem.enter(time, named, p, works), p


class ChartLaw(SwitchingLaw):
    """Chooses new independent velocities where the old ones cease to describe the motion.

    Parameters
    ----------
    setting
        The problem.
    """

    of_motion = False

    def __init__(self, setting: Setting) -> None:
        super().__init__([len(setting.problem.events) - 1])
        self.problem, self.path = setting.problem, setting.path

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> ChartLaw | None:
        """Return the law of a chart if there are others."""
        chart = setting.problem.chart
        return cls(setting) if chart is not None and chart.choose is not None else None

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        """Continue in another chart."""
        if fired:
            states = visible_state(self.problem, time, x, p)
            x, p = enter(self.problem, time, states, p, self.path)
            yield Jump({}, x, p, None)
