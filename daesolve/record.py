"""What a run gathers while it goes on, and the trajectory that is made of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daesolve.monitors import Monitor
from daesolve.preparation import Prepared
from daesolve.trajectory import (
    EventRecord,
    Impact,
    Outcome,
    Point,
    Statistics,
    Trajectory,
)
from daesolve.translation import evaluate_block


@dataclass
class Boundary:
    """The state at the start of a segment.

    `turns` are whole turns taken out of its angles, `mode` is the index of p in the record.
    """

    time: float
    state: np.ndarray
    turns: np.ndarray
    mode: int = 0


@dataclass(frozen=True)
class Happening:
    """An event: when it happened, what it was called, the state there, and where it went on."""

    time: float
    name: str
    at: Boundary
    after: Boundary | None = None
    fired: tuple[int, ...] = (0,)
    impact: Impact | None = None


@dataclass
class Record:
    """What a run has gathered so far; `modes` are the values of p that were in force."""

    modes: list[np.ndarray]
    samples: list[np.ndarray] = field(default_factory=list)
    sampled_at: list[Boundary] = field(default_factory=list)
    events: list[Happening] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    steps: int = 0
    rhs_evaluations: int = 0
    wall_seconds: float = 0.0

    def mode_table(self, places: Sequence[Boundary]) -> np.ndarray:
        """Return p at each place: (np,) where it is one, else (k, np)."""
        if len(self.modes) == 1:
            return self.modes[0]
        rows = [self.modes[place.mode] for place in places]
        return np.array(rows).reshape(len(places), len(self.modes[0]))


@dataclass(frozen=True)
class Assembly:
    """Makes the trajectory of a run.

    Parameters
    ----------
    prepared, record, monitor
        What was run, what it gathered, what was watched.
    times, order
        The sample times that were asked for, and their order in the direction of the run.
    evaluate
        Integrates to any time of the run.
    """

    prepared: Prepared
    record: Record
    monitor: Monitor
    times: np.ndarray
    order: np.ndarray
    evaluate: Callable[[float], Point]

    def trajectory(self, outcome: Outcome, message: str, *, lost_for_good: bool) -> Trajectory:
        """Return the trajectory."""
        prepared, problem = self.prepared, self.prepared.problem
        count = len(self.record.samples)
        reached = np.sort(self.order[:count])
        position = np.argsort(self.order[:count], kind="stable")
        times = self.times[reached]
        table, reactions, outputs = self._tables(times, position)
        labels = problem.labels
        last = self.record.boundaries[-1]
        drift = self.monitor.drift()
        untrusted = [n for n, d in drift.items() if not d.max_relative <= 1e-2 and not d.note]
        description = describe(prepared)
        description["notes"] += self._notes(untrusted, lost_for_good=lost_for_good)
        return Trajectory(
            times=times,
            states=_by_name(labels.states, table),
            reactions=_by_name(labels.reactions, reactions),
            outputs=_by_name(labels.outputs, outputs),
            drift=drift,
            events=self._events(),
            event_count=len(self.record.events),
            outcome=outcome,
            message=message,
            end_time=last.time,
            start=prepared.start.changes,
            end_state=self.named([last])[0],
            units=labels.units(),
            description=description,
            statistics=Statistics(
                steps=self.record.steps,
                rhs_evaluations=self.record.rhs_evaluations,
                compile_seconds=prepared.compilation.seconds,
                compile_cached=prepared.compilation.cached,
                wall_seconds=self.record.wall_seconds,
                instructions=problem.rhs.n_instructions(),
            ),
            _evaluate=self.evaluate,
        )

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
        turns = np.array([place.turns for place in places], dtype=float)
        states[:, list(self.prepared.wrapped)] += 2.0 * math.pi * turns
        return [dict(zip(problem.labels.states, row, strict=True)) for row in states.tolist()]

    def _events(self) -> tuple[EventRecord, ...]:
        events = self.record.events
        discrete = [
            (list(self.prepared.problem.values).index(name), name)
            for name in self.prepared.dynamics.discrete
        ]
        afters = [event.after for event in events if event.after is not None]
        found = iter(zip(afters, self.named(afters), strict=True))

        def reached(event: Happening) -> dict[str, float] | None:
            if event.after is None:
                return None
            place, states = next(found)
            p = self.record.modes[place.mode]
            return states | {name: float(p[index]) for index, name in discrete}

        details = self.named([event.at for event in events])
        return tuple(
            EventRecord(event.time, event.name, detail, reached(event), event.fired, event.impact)
            for event, detail in zip(events, details, strict=True)
        )

    def _tables(
        self, times: np.ndarray, position: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return states, reactions and outputs at the samples, each with the p of its time."""
        problem = self.prepared.problem
        places = [self.record.sampled_at[index] for index in position]
        table = np.array(self.record.samples).reshape(len(places), problem.size)[position]
        values = self.record.mode_table(places)
        angles = list(self.prepared.wrapped)
        turns = np.array([p.turns for p in places], dtype=float).reshape(len(places), len(angles))
        states = problem.visible(times, table, values)
        _, reactions, outputs = evaluate_block(problem.recover, times, table, values)
        states[:, angles] += 2.0 * math.pi * turns
        return states, reactions, outputs

    def _notes(self, untrusted: Sequence[str], *, lost_for_good: bool) -> list[str]:
        """Say what happened on the way that a reader should know."""
        prepared, monitor = self.prepared, self.monitor
        notes: list[str] = []
        chart = prepared.problem.chart
        if len(self.record.modes) > 1 and chart is not None and chart.choose is not None:
            notes.append(f"independent velocities chosen anew {len(self.record.modes) - 1} times")
        if monitor.passages and monitor.breach is None:
            notes.append(f"passed positions where constraints lose rank {monitor.passages} times")
        lost = monitor.lost_grip
        if lost is not None and not monitor.passages and not lost_for_good:
            at_rest = set(lost.goals) <= set(prepared.problem.singular_goals)
            notes.append(
                f"went on past t = {lost.time:.10g} s, where {', '.join(lost.goals)} lost their "
                "grip, and wherever else they did"
                + (": at rest the goals do not tell how the motion goes on" if at_rest else "")
            )
        notes += _impact_notes([e.impact for e in self.record.events if e.impact is not None])
        if untrusted:
            notes.append(
                f"not to be trusted: the residual of {', '.join(untrusted)} grew beyond a "
                "hundredth of its scale"
            )
        return notes


def _impact_notes(impacts: Sequence[Impact]) -> list[str]:
    """Say how many impacts there were, what they cost, and how well Carnot's theorem held."""
    if not impacts:
        return []
    lost = sum(impact.kinetic_before - impact.kinetic_after for impact in impacts)
    worst = max(impact.carnot for impact in impacts)
    rises = [
        impact.kinetic_after / impact.kinetic_before - 1.0
        for impact in impacts
        if impact.kinetic_after > impact.kinetic_before > 0.0
    ]
    count = f"{len(impacts)} impacts" if len(impacts) > 1 else "1 impact"
    return [
        f"{count} took {lost:.6g} J; Carnot's theorem missed by at most "
        f"{worst:.2g} of the kinetic energy"
        + (f", which {len(rises)} of them raised by at most {max(rises):.2g}" if rises else "")
    ]


def describe(prepared: Prepared) -> dict[str, Any]:
    """Return what a run is, in words and numbers, for the report."""
    return {
        "parameters": dict(prepared.parameters),
        "formulation": prepared.formulation.title,
        "solver": prepared.solver.name,
        "rates": dict(prepared.rates),
        "tolerances": prepared.solver.tolerances(),
        "start_time": prepared.start_time,
        "until": prepared.until,
        "segment": prepared.segment,
        "notes": list(prepared.notes),
    }


def _by_name(names: Sequence[str], table: np.ndarray) -> dict[str, np.ndarray]:
    return {name: table[:, index].copy() for index, name in enumerate(names)}
