"""Derivatives of states, outputs and reactions at the samples of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from daesolve.analysis.propagation import Propagation
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.samples import column_names, places_as_listed
from daesolve.core.run.integration.record import Boundary, RunRecord
from daesolve.core.run.integration.sampling import At, Every, EveryEvent
from daesolve.errors import check_names, optional_package, suggest_names, unknown_name

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class SampleDerivatives:
    """Derivatives at the m samples of a run: `along["x", "length"]` is d x / d length, (m,).

    Parameters
    ----------
    times
        (m,) s, those of the run.
    by
        The names of the k columns.
    states, outputs, reactions
        Name -> (m, k).

    Notes
    -----
    A sample has a fixed time, and shows the motion before an event at that time, as in a run. Two
    kinds move: samples that `every_event()` takes, and the last one where an event ends the run;
    they have the derivatives of what is sampled at the event, whose time varies.
    """

    times: np.ndarray
    by: tuple[str, ...]
    states: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    reactions: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        suggest_names(self, states="state", outputs="output", reactions="reaction")

    def __getitem__(self, name: str | tuple[str, str]) -> np.ndarray:
        """Return the derivatives of a state, an output or a reaction: (m, k), or (m,) by one name.

        Raises
        ------
        UnknownNameError
            A name is unknown.
        """
        of, by = (name, None) if isinstance(name, str) else name
        if by is not None:
            check_names("parameter or start value of the derivatives", [by], self.by)
        for series in (self.states, self.outputs, self.reactions):
            if of in series:
                return series[of] if by is None else series[of][:, self.by.index(by)]
        known = [*self.states, *self.outputs, *self.reactions]
        raise unknown_name("state, reaction or output", of, known)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table over the time `t`, with a column `x_by_length` for each derivative.

        A reaction is called `reaction_<name>`, as in the table of a run.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        pandas = optional_package("pandas", "tables")
        return pandas.DataFrame(self._columns(), index=pandas.Index(self.times, name="t"))

    def rows(self) -> list[dict[str, float]]:
        """Return the table of `to_pandas` as rows by column, the time as `t`."""
        columns = {"t": self.times, **self._columns()}
        table = np.array([*columns.values()]).T.tolist()
        return [dict(zip(columns, row, strict=True)) for row in table]

    def _columns(self) -> dict[str, np.ndarray]:
        named = column_names(self.states, self.outputs, self.reactions)
        return {
            f"{column}_by_{by}": getattr(self, kind)[name][:, k]
            for kind in ("states", "outputs", "reactions")
            for name, column in named[kind].items()
            for k, by in enumerate(self.by)
        }


def derivatives_at_samples(
    propagation: Propagation,
    sampled: Mapping[int, tuple[np.ndarray, np.ndarray]],
    at: At,
    ended: tuple[Outcome, np.ndarray],
) -> SampleDerivatives:
    """Return the derivatives at the samples of a run that was followed to its end.

    Parameters
    ----------
    propagation, sampled
        What was followed, and what it gathered at samples.
    at
        The requested sample times.
    ended
        How the run ended, and the derivatives of the end time, (k,).
    """
    order, changes = changes_at_samples(propagation, sampled, at, ended)
    table = _slopes_at(propagation, [propagation.sample(k) for k in order], changes)
    labels = propagation.problem.labels
    kinds = (labels.states, labels.reactions, labels.outputs)
    parts = np.split(table, np.cumsum([len(names) for names in kinds])[:-1], axis=1)
    states, reactions, outputs = (
        {name: part[:, row] for row, name in enumerate(names)}
        for names, part in zip(kinds, parts, strict=True)
    )
    times = np.array(propagation.record.sample_times)[order]
    return SampleDerivatives(times, propagation.nominal, states, outputs, reactions)


SampleChange = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The derivatives of state and values at a fixed time, and of the time of a sample."""


def changes_at_samples(
    propagation: Propagation,
    sampled: Mapping[int, tuple[np.ndarray, np.ndarray]],
    at: At,
    ended: tuple[Outcome, np.ndarray],
) -> tuple[list[int], list[SampleChange]]:
    """Return which sample of the record each sample of the run is, and its derivatives.

    The parameters are those of `derivatives_at_samples`.
    """
    record, last = propagation.record, propagation.record.boundaries[-1]
    order, listed = order_of_samples(record, at, propagation.prepared.sign)
    times = record.sample_times
    stopped, ends = ended[0] is Outcome.STOPPED_BY_EVENT, (propagation.state, propagation.values)
    moved: dict[float, np.ndarray] = {}
    if isinstance(at, EveryEvent):
        pairs = zip(record.events, propagation.event_times, strict=True)
        moved = {event.time: change for event, change in pairs}
    elif stopped and (listed is None or last.time not in listed):
        moved = {last.time: ended[1]}
    still = np.zeros(len(propagation.nominal))
    changes: list[SampleChange] = []
    for k in order:
        moves = record.sampled_at[k] is not last or stopped
        changes.append((*sampled.get(k, ends), moved.get(times[k], still) if moves else still))
    return order, changes


def order_of_samples(record: RunRecord, at: At, sign: float) -> tuple[list[int], np.ndarray | None]:
    """Return which sample of the record each sample of the run is, and the times listed, if any."""
    times = np.array(record.sample_times)
    order = np.argsort(sign * times, kind="stable")
    listed = None if at is None or isinstance(at, Every | EveryEvent) else np.ravel(at)
    if listed is not None:
        order = order[places_as_listed(times[order], listed.astype(float), sign)]
    return order.tolist(), listed


def _slopes_at(
    propagation: Propagation,
    places: Sequence[Boundary],
    changes: Sequence[SampleChange],
) -> np.ndarray:
    """Return the derivatives of everything sampled at some places, (m, rows, k).

    `changes` has the derivatives of state and values there, and of the time.
    """
    function = sample_slopes(propagation.problem, tuple(propagation.flow.changing))
    wholes = [propagation.place(place) for place in places]
    columns: list[np.ndarray] = []
    for k in range(len(propagation.nominal)):
        rows = [
            (
                np.concatenate([whole.x, state[:, k], times[k : k + 1]]),
                np.concatenate([whole.p, values[propagation.flow.changing, k]]),
            )
            for whole, (state, values, times) in zip(wholes, changes, strict=True)
        ]
        if not rows:
            columns.append(np.zeros((0, function.nnz_out(0))))
            continue
        given = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        moments = np.array([whole.time for whole in wholes])
        columns.append(evaluate_block(function, moments, *given)[0])
    return np.moveaxis(np.array(columns), 0, -1)


@built_once
def sample_slopes(problem: OdeProblem, changing: tuple[int, ...]) -> ca.Function:
    """(t, (x, dx, dt), (p, dp)) -> the changes of states, reactions and outputs.

    Parameters
    ----------
    problem
        In all states, without a chart.
    changing
        The indices of values in p that change.
    """
    t, x, p = (problem.recover.sx_in(k) for k in range(3))
    change, moved, late = (
        symbol("change", x.numel()),
        symbol("moved", len(changing)),
        symbol("dt", 1),
    )
    along = ca.SX.zeros(p.numel())
    along[list(changing)] = moved
    _, reactions, outputs = problem.recover(t, x, p)
    shown = ca.vertcat(x[: len(problem.labels.states)], reactions, outputs)
    motion = change + problem.rhs(t, x, p) * late
    slopes = ca.jtimes(shown, ca.vertcat(t, x, p), ca.vertcat(late, motion, along))
    arguments = [t, ca.vertcat(x, change, late), ca.vertcat(p, moved)]
    return function_of("sample_slopes", arguments, [slopes], (["t", "x", "p"], ["slopes"]))
