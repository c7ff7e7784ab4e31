"""The trajectory of a run, made from what it has gathered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import (
    Degeneracy,
    EventRecord,
    Outcome,
    Statistics,
)
from daesolve.core.results.trajectory.samples import Recorded, Samples, places_as_listed
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.dense_output import Piece
from daesolve.core.run.integration.record import Boundary, Happening, RunRecord
from daesolve.core.run.integration.watches.grip_watch import LostGrip
from daesolve.core.run.integration.watches.monitor import Monitor


@dataclass(frozen=True)
class TrajectoryAssembly:
    """Makes the trajectory of a run, and the tables of its parts.

    Parameters
    ----------
    prepared, record, monitor
        The run, what it gathered, and what was watched.
    further
        Notes from what switches its modes.
    """

    prepared: Prepared
    record: RunRecord
    monitor: Monitor
    further: tuple[str, ...] = ()

    @property
    def sign(self) -> float:
        """+1 forwards in time, -1 backwards."""
        return self.prepared.sign

    def trajectory(self, outcome: Outcome, message: str, samples: Recorded) -> Trajectory:
        """Return the trajectory with its samples."""
        prepared = self.prepared
        description = describe(prepared)
        description["notes"] += self._notes()
        last = self.record.boundaries[-1]
        return Trajectory(
            samples=samples,
            drift=self.monitor.drift(),
            event_count=self.record.event_count,
            outcome=outcome,
            message=message,
            end_time=last.time,
            start=prepared.start.changes,
            end_state=self.named([last])[0],
            end_values=self.discrete(last),
            units=prepared.problem.labels.units(),
            description=description,
            statistics=self._statistics(),
            conditioning=self.monitor.conditioning(),
            peaks=self.monitor.peaks(),
            degeneracy=self._degeneracy(),
        )

    def _degeneracy(self) -> Degeneracy | None:
        """Return where constraints began to depend on each other, or None."""
        lost = self.monitor.loss
        if not isinstance(lost, LostGrip) or lost.dependence is None:
            return None
        seen, before = lost.dependence, self.record.boundaries[-2:][0]
        place = Boundary(seen.time, seen.state, before.whole_turns, before.mode)
        return Degeneracy(
            time=seen.time,
            state=self.named([place])[0],
            goals=seen.goals,
            singular_value=seen.singular_value,
            threshold=seen.threshold,
            null_vector=seen.null_vector,
        )

    def so_far(self, here: Boundary) -> dict[str, Any]:
        """Return what is known of the run up to here, for reading while it is under way."""
        return {
            "end_time": here.time,
            "end_state": self.named([here])[0],
            "end_values": self.discrete(here),
            "event_count": self.record.event_count,
            "drift": {name: asdict(drift) for name, drift in self.monitor.drift().items()},
            "conditioning": self.monitor.conditioning(),
            "peaks": {name: asdict(peak) for name, peak in self.monitor.peaks().items()},
            "statistics": asdict(self._statistics()),
            "notes": self._notes(),
        }

    def _statistics(self) -> Statistics:
        prepared, record = self.prepared, self.record
        return Statistics(
            steps=record.steps,
            rhs_evaluations=record.rhs_evaluations,
            compile_seconds=prepared.compilation.seconds,
            compile_cached=prepared.compilation.cached,
            wall_seconds=record.wall_seconds,
            instructions=prepared.problem.rhs.n_instructions(),
        )

    def samples(self, listed: np.ndarray | None = None) -> Samples:
        """Return what is in memory.

        Parameters
        ----------
        listed
            The requested sample times, if they were not in the order of the run.
        """
        times, states, reactions, outputs = self.tables()
        if listed is not None:
            position = places_as_listed(times, listed, self.sign)
            times, states = times[position], states[position]
            reactions, outputs = reactions[position], outputs[position]
        labels = self.prepared.problem.labels
        return Samples(
            times,
            _by_name(labels.states, states),
            _by_name(labels.reactions, reactions),
            _by_name(labels.outputs, outputs),
            self.events(),
        )

    def columns(self, piece: Piece, times: np.ndarray, table: np.ndarray) -> dict[str, np.ndarray]:
        """Return states, reactions and outputs by name at times within kept steps."""
        labels = self.prepared.problem.labels
        names = (labels.states, labels.reactions, labels.outputs)
        shown = self.shown(times, table, piece.values, piece.whole_turns)
        return {
            name: column
            for named, values in zip(names, shown, strict=True)
            for name, column in _by_name(named, values).items()
        }

    def named(self, places: Sequence[Boundary]) -> list[dict[str, float]]:
        """Return the states at some places by name, with their whole turns."""
        problem = self.prepared.problem
        if not places:
            return []
        states = problem.visible(
            np.array([place.time for place in places]),
            np.array([place.state for place in places]),
            self.record.mode_table(places),
        )
        whole_turns = np.array([place.whole_turns for place in places], dtype=float)
        states[:, list(self.prepared.wrapped)] += 2.0 * math.pi * whole_turns
        return [dict(zip(problem.labels.states, row, strict=True)) for row in states.tolist()]

    @cached_property
    def _discrete_places(self) -> dict[str, int]:
        places = {name: place for place, name in enumerate(self.prepared.problem.values)}
        return {name: places[name] for name in self.prepared.dynamics.discrete}

    def discrete(self, place: Boundary) -> dict[str, float]:
        """Return the discrete values at a place by name."""
        p = self.record.modes[place.mode]
        return {name: float(p[index]) for name, index in self._discrete_places.items()}

    def events(self) -> tuple[EventRecord, ...]:
        """Return the events in memory, except hidden ones."""
        hidden = self.prepared.dynamics.hidden_events
        events = [event for event in self.record.events if event.name not in hidden]
        afters = [event.after for event in events if event.after is not None]
        found = iter(zip(afters, self.named(afters), strict=True))

        def reached(event: Happening) -> dict[str, float] | None:
            if event.after is None:
                return None
            place, states = next(found)
            return states | self.discrete(place)

        details = self.named([event.at for event in events])
        return tuple(
            EventRecord(event.time, event.name, detail, reached(event), event.fired, event.impact)
            for event, detail in zip(events, details, strict=True)
        )

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return times, states, reactions and outputs at the samples in memory.

        In the direction of the run.
        """
        times, table, places = self._in_order()
        shape = len(places), len(self.prepared.wrapped)
        whole_turns = np.array([p.whole_turns for p in places], dtype=float).reshape(shape)
        return times, *self.shown(times, table, self.record.mode_table(places), whole_turns)

    def residuals(self) -> np.ndarray:
        """Return the residuals at the samples in memory, in the direction of the run."""
        problem, (times, table, places) = self.prepared.problem, self._in_order()
        found, _ = problem.block("residuals", times, table, self.record.mode_table(places))
        return found[:, : len(problem.watched)]

    def _in_order(self) -> tuple[np.ndarray, np.ndarray, list[Boundary]]:
        """Return times, (k,), states as they are integrated, (k, size), and their segments."""
        record = self.record
        times = np.array(record.sample_times)
        order = np.argsort(self.sign * times, kind="stable")
        indices: list[int] = order.tolist()
        places = [record.sampled_at[index] for index in indices]
        table = np.array(record.samples).reshape(len(places), self.prepared.problem.size)
        return times[order], table[order], places

    def shown(
        self, times: np.ndarray, table: np.ndarray, values: np.ndarray, whole_turns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return states, reactions and outputs at some times.

        Parameters
        ----------
        times, table
            (k,) s, and the states as they are integrated, (k, size).
        values, whole_turns
            p, and the turns that were taken out of angles: of all, or of each, (k, ...).
        """
        problem, angles = self.prepared.problem, list(self.prepared.wrapped)
        states = problem.visible(times, table, values)
        _, reactions, outputs = problem.block("recover", times, table, values)
        states[:, angles] += 2.0 * math.pi * whole_turns
        return states, reactions, outputs

    def not_finite(self) -> tuple[str, int] | None:
        """Return the first reaction or output that is infinite or NaN at two samples in a row.

        At a single one, between others, it passes a singular position. If there is only one
        sample, it counts. With its name comes the place in the record, in the direction of the run.
        """
        if not self.record.samples:
            return None
        labels = self.prepared.problem.labels
        _, _, reactions, outputs = self.tables()
        bad = ~np.isfinite(np.hstack([reactions, outputs]))
        if not bad.any():
            return None
        lasting = bad.copy()
        if len(bad) > 1:
            lasting[:-1] &= bad[1:]
            lasting[-1] = False
        rows, columns = np.nonzero(lasting)
        if not rows.size:
            return None
        kinds = [*(f"the reaction {name!r}" for name in labels.reactions)]
        kinds += [f"the output {name!r}" for name in labels.outputs]
        return kinds[int(columns[0])], int(rows[0])

    def _notes(self) -> list[str]:
        """Say what happened during the run that a reader should know."""
        notes: list[str] = []
        chart, tally = self.prepared.problem.chart, self.record.tally_so_far()
        if tally.charts and chart is not None and chart.choose is not None:
            notes.append(f"independent velocities chosen anew {tally.charts} times")
        notes += [*self.monitor.notes(), *self.further, *tally.notes()]
        untrusted = self.monitor.untrusted_sentence()
        return [*notes, untrusted] if untrusted else notes


def describe(prepared: Prepared) -> dict[str, Any]:
    """Return a description of a run, in words and numbers, for the report."""
    return {
        "parameters": dict(prepared.parameters),
        "formulation": prepared.formulation.title,
        "solver": prepared.solver.name,
        "rates": dict(prepared.rates),
        "tolerances": prepared.solver.tolerances(),
        "start_time": prepared.start_time,
        "until": prepared.until,
        "segment": prepared.segment,
        "impact": prepared.request.impact if prepared.dynamics.unilateral else None,
        "inputs": list(prepared.dynamics.inputs.posed),
        "continues": prepared.request.continues,
        "notes": list(prepared.notes),
    }


def _by_name(names: Sequence[str], table: np.ndarray) -> dict[str, np.ndarray]:
    return {name: table[:, index].copy() for index, name in enumerate(names)}
