"""What a run hands to its archive, part by part, and how it resumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.storage import Stored, Writer, resuming
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.samples import StoredSamples, row_of_event
from daesolve.core.run.integration.assembly import TrajectoryAssembly
from daesolve.core.run.integration.record import Boundary, RunRecord

ENERGIES = ["kinetic_before", "kinetic_after", "carnot"]
"""The columns of an impact besides its impulses."""
FEWEST_PARTS = 25
"""The least number of parts of a run: if it is killed, at most one part is lost."""
SHORTEST_PART = 2_000
LONGEST_PART = 20_000
"""Steps, about a quarter of a second of Taylor's method."""
MOST_PARTS = 1_000
"""Beyond which parts become longer, so that files do not become too many."""
LAST_RESORT = 5_000_000
"""The largest number of steps in a part."""
MOST_ROWS = 100_000
"""About the largest number of samples in a part."""


def segments_per_part(prepared: Prepared, samples: float) -> int:
    """Return how many segments make a part.

    Parameters
    ----------
    prepared
        The run.
    samples
        How many samples were requested.
    """
    span = abs(prepared.until - prepared.start_time)
    steps = span / prepared.mean_step
    wanted = min(max(steps / FEWEST_PARTS, SHORTEST_PART), LONGEST_PART)
    wanted = min(max(wanted, steps / MOST_PARTS), LAST_RESORT)
    share = min(wanted / max(steps, 1.0), MOST_ROWS / max(samples, 1.0))
    return max(round(share * span / prepared.segment), 1)


def event_columns(prepared: Prepared) -> dict[str, list[str]]:
    """Return the names under which events have numbers: before, after, impulses, and energies.

    Those of impacts are not named where they come with impulses.
    """
    dynamics, labels = prepared.dynamics, prepared.problem.labels
    if not prepared.problem.events:
        return {"detail": [], "after": [], "impulses": []}
    after, impulses = [], []
    if dynamics.resets:
        after = [*labels.states, *dynamics.discrete]
        momentary = [row.name for reset in dynamics.resets.values() for row in reset.momentary]
        imposes = any(reset.imposed for reset in dynamics.resets.values())
        impulses = list(dict.fromkeys([*dynamics.labels.reactions, *momentary])) if imposes else []
    named = {"detail": list(labels.states), "after": after, "impulses": impulses}
    metered = any(reset.energies for reset in dynamics.resets.values())
    return named | ({"energies": ENERGIES} if metered and not impulses else {})


class Keeper:
    """Keeps a run on disk, part by part.

    Parameters
    ----------
    writer
        Of its archive.
    number
        Of the part that comes next, from 1.
    resumed
        The checkpoint from which it resumes; None at the start.
    stage
        The number of the run's horizon: how often it was extended before.
    last_number
        Of the last part to be written; with None the run continues to its end.
    """

    def __init__(
        self,
        writer: Writer,
        number: int = 1,
        resumed: Mapping[str, Any] | None = None,
        stage: int = 0,
        last_number: int | None = None,
    ) -> None:
        self.writer, self.number, self.resumed = writer, number, resumed
        self.last_number = last_number
        manifest = writer.manifest
        self.extended_from = float(manifest["horizons"][stage - 1]) if stage else None
        self._columns = manifest["columns"]
        self._event_columns = _event_table_columns(manifest["event_columns"])
        self._per_part = int(manifest["segments_per_part"][stage])

    @property
    def advice(self) -> str:
        """How to resume."""
        return f"`{resuming(self.writer.directory)}` resumes it"

    @property
    def done(self) -> bool:
        """Whether the last requested part is on disk."""
        return self.last_number is not None and self.number > self.last_number

    def full(self, segments: int) -> bool:
        """Return whether a part ends with this segment, counted from the start."""
        return segments % self._per_part == 0

    def write(
        self,
        assembly: TrajectoryAssembly,
        here: Boundary,
        saved: Mapping[str, Any],
        verdict: tuple[Outcome, str] | None,
    ) -> None:
        """Write what is in memory as a part, with its checkpoint.

        Parameters
        ----------
        assembly
            Of the run.
        here
            The end of the part.
        saved
            The checkpoint to continue from.
        verdict
            How the run ended, where it did.

        Raises
        ------
        StorageError
            It could not be written; everything written before is intact.
        """
        checkpoint = {
            **saved,
            "tally": asdict(saved["tally"]),
            "ended": None if verdict is None else [verdict[0].value, verdict[1]],
            "so_far": assembly.so_far(here),
        }
        self.writer.write_part(
            self.number, self._samples(assembly), self._events(assembly), checkpoint
        )
        self.number += 1

    def write_partial(self, assembly: TrajectoryAssembly) -> None:
        """Write what is in memory for reading; it is computed again when the run resumes."""
        self.writer.write_partial(self.number, self._samples(assembly), self._events(assembly))

    def cut(self, until: float, sign: float, numbers: Sequence[int] | None = None) -> int:
        """Withdraw what lies beyond a time in the last parts on disk, or in the last of some.

        Returns
        -------
        int
            How many events are left on disk.
        """
        stored = self.stored()
        for number in reversed(stored.numbers if numbers is None else numbers):
            checkpoint = stored.checkpoint(number)
            if sign * (checkpoint["here"]["time"] - until) <= 0.0:
                break
            samples, events = stored.part_times(number)
            kept = int(np.sum(sign * (samples - until) <= 0.0))
            kept_events = int(np.sum(sign * (events - until) <= 0.0))
            self.writer.cut(number, kept, kept_events, {**checkpoint, "taken_back": until})
        return self.stored().event_rows

    def around(self, moment: float, sign: float) -> tuple[Mapping[str, Any] | None, float]:
        """Return the last checkpoint before a time, None at the start, and the stage's end."""
        stored = self.stored()
        ends = (float(end) for end in stored.manifest["horizons"])
        until = next(end for end in ends if sign * (end - moment) >= 0.0)
        low, high = 0, len(stored.numbers)
        while low < high:
            middle = (low + high) // 2
            time = stored.checkpoint(stored.numbers[middle])["here"]["time"]
            if sign * (time - moment) < 0.0:
                low = middle + 1
            else:
                high = middle
        return stored.checkpoint(stored.numbers[low - 1]) if low else None, until

    def stages(self) -> Iterator[tuple[Mapping[str, Any] | None, float]]:
        """Return where each stage begins, None at the start, and its end."""
        begin = float(self.stored().manifest["request"]["start_time"])
        for end in map(float, self.stored().manifest["horizons"]):
            sign = 1.0 if end >= begin else -1.0
            yield self.around(float(np.nextafter(begin, sign * np.inf)), sign)
            begin = end

    def last_sample_time(self) -> float | None:
        """Return when the last sample on disk was taken, s; None if there is none."""
        stored = self.stored()
        for number in range(self.number - 1, 0, -1):
            times, _ = stored.part_times(number)
            if times.size:
                return float(times[-1])
        return None

    def stored(self) -> Stored:
        """Return the archive for reading."""
        return Stored(self.writer.directory)

    def samples(self) -> StoredSamples:
        """Return the samples on disk."""
        return StoredSamples(self.stored())

    def _samples(self, assembly: TrajectoryAssembly) -> dict[str, np.ndarray]:
        times, states, reactions, outputs = assembly.tables()
        columns = {"t": times}
        tables = {
            "states": states,
            "outputs": outputs,
            "reactions": reactions,
            "residuals": assembly.residuals(),
        }
        for kind, table in tables.items():
            for place, column in enumerate(self._columns[kind].values()):
                columns[column] = np.ascontiguousarray(table[:, place])
        return columns

    def _events(self, assembly: TrajectoryAssembly) -> dict[str, list[Any]] | None:
        rows = [row_of_event(event) for event in assembly.events()]
        if not rows:
            return None
        return {column: [row.get(column) for row in rows] for column in self._event_columns}


def _event_table_columns(columns: Mapping[str, Sequence[str]]) -> list[str]:
    impact = ENERGIES if columns["impulses"] else columns.get("energies", [])
    return [
        *("t", "event", "fired"),
        *(f"before_{name}" for name in columns["detail"]),
        *(f"after_{name}" for name in columns["after"]),
        *(f"impulse_{name}" for name in columns["impulses"]),
        *impact,
    ]


def saved_boundary(here: Boundary, record: RunRecord) -> dict[str, Any]:
    """Return a boundary with the values in force there."""
    return {
        "time": here.time,
        "state": here.state,
        "turns": here.whole_turns,
        "values": record.modes[here.mode],
    }


def restored_boundaries(
    *saved: Mapping[str, Any],
) -> list[tuple[Boundary, np.ndarray]]:
    """Return boundaries, each with the values in force there."""
    return [
        (
            Boundary(
                float(entry["time"]),
                np.array(entry["state"], dtype=float),
                np.array(entry["turns"], dtype=int),
            ),
            np.array(entry["values"], dtype=float),
        )
        for entry in saved
    ]
