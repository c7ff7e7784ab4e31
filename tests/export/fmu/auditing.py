"""The trajectory of a unit as a certificate for the auditor: its motion, and its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import daesolve as ds
from daesolve.core.results.trajectory.results import EventRecord
from daesolve.verification.audit import Certificate
from tests.export.fmu.driving import Log, begun, opened

SAME = 1e-9
"""s, how far events of a unit may be from those of a run."""
RESTS = "rest"
"""What a run lists where friction holds a body, which is no event of a unit."""


@dataclass(frozen=True)
class Instant:
    """What a unit does at an instant: the names of its events, what it shows before and after."""

    time: float
    names: tuple[str, ...]
    before: Mapping[str, float]
    after: Mapping[str, float]


class Stepped:
    """A unit in event mode, which returns early at its events.

    Parameters
    ----------
    path
        The unit.
    start
        s
    """

    def __init__(self, path: Path, start: float) -> None:
        self.log, self.time = Log(), start
        options = {"eventModeUsed": True, "earlyReturnAllowed": True, "loggingOn": True}
        self.unit, self.variables = opened(path, log=self.log, **options)
        self.instants: list[Instant] = []
        begun(self.unit, start, tolerance=1e-13)
        self._happens()

    def shown(self) -> dict[str, float]:
        """Return all variables."""
        values = self.unit.getFloat64([*self.variables.values()])
        return dict(zip(self.variables, values, strict=True))

    def go_to(self, time: float) -> None:
        """Step to a time, through the events before it."""
        while self.time < time:
            happens, _, _, self.time = self.unit.doStep(self.time, time - self.time)
            if happens:
                self.unit.enterEventMode()
                self._happens()

    def _happens(self) -> None:
        before, known = self.shown(), len(self.log.lines)
        self.unit.updateDiscreteStates()
        self.unit.enterStepMode()
        lines = [line.split(" at t = ")[0] for line in self.log.lines[known:]]
        if lines:
            self.instants.append(Instant(self.time, tuple(lines), before, self.shown()))


def certificate_of(path: Path, run: ds.Trajectory) -> Certificate:
    """Return the certificate of a unit: everything that it shows, at the nodes of a run's steps.

    What only a run tells is from there: which guards fired, and impulses. The states around these
    are those of the unit.
    """
    model = _certificate(run)
    stepped = Stepped(path, float(model.starts[0]))
    names = [name for name in model.columns if name in stepped.variables]
    held = [name for name in model.values if name in stepped.variables]
    columns = {name: np.array(rows) for name, rows in model.columns.items()}
    values = {name: np.array(rows) for name, rows in model.values.items()}
    for step, nodes in enumerate(model.times):
        for node, time in enumerate(nodes.tolist()):
            stepped.go_to(time)
            shown = stepped.shown()
            for name in names:
                columns[name][step, node] = shown[name]
        last = stepped.shown()
        for name in held:
            values[name][step] = last[name]
    stepped.go_to(run.end_time)
    stepped.unit.freeInstance()
    assert {*run.states} <= {*names}
    events = _events(run.events, stepped.instants)
    return replace(model, columns=columns, values=values, events=events, scales={})


def _certificate(run: Any) -> Certificate:
    assert run.auditor is not None
    return run.auditor.certificate(run)


def _events(known: Sequence[EventRecord], instants: Sequence[Instant]) -> list[EventRecord]:
    """Return the events of a unit as records, each instant beside that of a run."""
    found, place = list[EventRecord](), 0
    for instant in instants:
        end = place
        while end < len(known) and known[end].time < instant.time + SAME:
            end += 1
        group, place = known[place:end], end
        here = [event for event in group if abs(event.time - instant.time) < SAME]
        own = [event for event in here if event.name != RESTS]
        assert sorted(event.name for event in own) == sorted(instant.names)
        assert all(event.name == RESTS for event in group if event not in here)
        found += [event for event in group if event not in here]
        first, last = here[0].detail, here[-1].after
        for event in here:
            detail, after = event.detail, event.after
            detail = _of(instant.before, detail) if detail == first else detail
            after = _of(instant.after, after) if after is not None and after == last else after
            found.append(replace(event, time=instant.time, detail=detail, after=after))
    assert all(event.name == RESTS for event in known[place:])
    return [*found, *known[place:]]


def _of(shown: Mapping[str, float], names: Mapping[str, float]) -> dict[str, float]:
    return {name: shown.get(name, value) for name, value in names.items()}
