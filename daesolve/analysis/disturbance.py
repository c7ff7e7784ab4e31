"""A motion that is kicked off its constraints: its residuals compared with their laws.

With feedback, each residual of relative degree r obeys its own linear equation, (d/dt + rate)^r
delta = 0 or a given law, whatever the motion. Its values at the kick therefore determine it for all
times in closed form; an integration differs from this only by its own error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import scipy

from daesolve.core.equations.consistency import check_named
from daesolve.core.equations.dynamics import GoalRow
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import Feedback
from daesolve.core.formulations.laws import formula, shape_of
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.run.integration.run_options import (
    RunOptions,
    Source,
    check_options,
    requested_of,
)
from daesolve.core.run.integration.simulation import simulate_recorded
from daesolve.errors import UnsupportedError, check_names, suggest_names


@dataclass(frozen=True, eq=False)
class Disturbance:
    """Residuals after a kick.

    Parameters
    ----------
    times
        (k,) s, starting at the kick.
    residuals
        (k,) each, by the name of a goal or of its hidden constraint.
    closed
        The same for constraints, in closed form from their laws.
    laws
        The law of each constraint, as a formula with its roots.
    """

    times: np.ndarray
    residuals: Mapping[str, np.ndarray]
    closed: Mapping[str, np.ndarray]
    laws: Mapping[str, str]

    def __post_init__(self) -> None:
        suggest_names(self, residuals="residual", closed="constraint", laws="constraint")

    @property
    def error(self) -> float:
        """The largest deviation of residuals from their laws, over their size after the kick."""
        apart = [
            float(np.max(np.abs(self.residuals[name] - closed))) / size
            for name, closed in self.closed.items()
            if (size := float(np.max(np.abs(closed)))) > 0.0
        ]
        return max(apart, default=0.0)


def disturbance(
    source: Source,
    kick: Mapping[str, float],
    until: float | None = None,
    initial: Mapping[str, float] | None = None,
    **options: Unpack[RunOptions],
) -> Disturbance:
    """Kick a motion off its constraints at the start, and return how the residuals decay.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    kick
        Changes added to states of the consistent start, by name.
    until
        The end, s; None uses the horizon of a case.
    initial
        Start values to keep.
    **options
        Options of `RunOptions`; the formulation must be `Feedback`.

    Raises
    ------
    UnsupportedError
        The formulation has no feedback, or switches make the residuals jump.
    UnknownNameError
        A kick does not name a state.

    Examples
    --------
    `disturbance(case, {"z": 1e-3}, until=2.0, formulation=ds.Feedback(laws={...})).error`
    """
    check_options("disturbance", options)
    system, request, at = requested_of(source, until, initial, options)
    prepared = prepare(system, request)
    if not isinstance(prepared.formulation, Feedback):
        raise UnsupportedError(
            f"the formulation {prepared.formulation.title!r} does not drive residuals to zero "
            "by a law: a disturbance needs Feedback"
        )
    if prepared.transitions is not None:
        raise UnsupportedError(
            "the motion is switched, so that residuals jump: a disturbance needs a smooth motion"
        )
    state = prepared.start.state.copy()
    names = prepared.problem.labels.states
    for name, size in check_named("kick", kick).items():
        check_names("state", [name], names)
        state[names.index(name)] += size
    kicked = replace(prepared, start=replace(prepared.start, state=state))
    _, record = simulate_recorded(kicked, at)
    sign = 1.0 if prepared.until >= prepared.start_time else -1.0
    order = np.argsort(sign * np.array(record.sample_times), kind="stable")
    times = np.array(record.sample_times)[order]
    table, _ = evaluate_block(
        prepared.problem.residuals, times, np.array(record.samples)[order], prepared.values
    )
    columns = {
        watched.name: table[:, place].copy()
        for place, watched in enumerate(prepared.problem.watched)
    }
    rows = _rows(prepared)
    laws = {row.name: formula(row.name, _law(prepared, row.name, row.degree)) for row in rows}
    closed = _closed(prepared, columns, times - prepared.start_time)
    return Disturbance(times, columns, closed, laws)


def _rows(prepared: Prepared) -> list[GoalRow]:
    """Return the driven constraints that always hold."""
    rows = prepared.dynamics.rows
    return [row for row in rows if prepared.rates.get(row.name) is not None and row.hold is None]


def _law(prepared: Prepared, name: str, degree: int) -> tuple[float, ...]:
    """Return the coefficients of a goal's law forward in time, highest first."""
    assert isinstance(prepared.formulation, Feedback)
    own = prepared.formulation.laws.get(name)
    if own is not None:
        return tuple(own)
    rate = prepared.rates[name] or 0.0
    return tuple(math.comb(degree, k) * rate ** (degree - k) for k in reversed(range(degree)))


def _closed(
    prepared: Prepared, columns: Mapping[str, np.ndarray], since: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the closed-form residuals that the laws give after the kick."""
    closed: dict[str, np.ndarray] = {}
    sign = 1.0 if prepared.until >= prepared.start_time else -1.0
    for row in _rows(prepared):
        law, degree = _law(prepared, row.name, row.degree), row.degree
        rate = sign * float(law[-1]) ** (1.0 / degree)
        companion = np.diag(np.ones(degree - 1), 1)
        factors = [c * rate ** (degree - k) for k, c in enumerate(shape_of(law))]
        companion[-1] = -np.array(factors)
        links = list(row.links)
        start = np.array([columns[name][0] for name in links])
        moved: Any = scipy.linalg.expm(companion * since[:, None, None])
        flow = np.asarray(moved) @ start
        closed |= {name: flow[:, place] for place, name in enumerate(links)}
    return closed
