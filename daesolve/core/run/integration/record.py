"""What a run gathers on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.results import (
    Impact,
)

ROUNDING = 1e-13
"""A change below this fraction of the largest part of a state is rounding."""


@dataclass
class Boundary:
    """The state at the start of a segment.

    `whole_turns` are those taken out of its angles, `mode` is the index of p in the record.
    """

    time: float
    state: np.ndarray
    whole_turns: np.ndarray
    mode: int = 0


@dataclass(frozen=True)
class Happening:
    """An event: its time and name, the state there, and where the motion continued.

    `fired` are guards of the event; `asked` are those, of all events, because of which a law
    decided what follows, and `zeros` is what counted as zero of each then.
    """

    time: float
    name: str
    at: Boundary
    after: Boundary | None = None
    fired: tuple[int, ...] = (0,)
    impact: Impact | None = None
    asked: tuple[int, ...] = ()
    zeros: np.ndarray | None = None


@dataclass(frozen=True)
class Tally:
    """What is left of events and modes that are no longer in memory.

    Parameters
    ----------
    events, charts
        How many events there were, and how often independent velocities were chosen again.
    impacts, lost, worst
        How many impacts, the energy that they took in J, and Carnot's theorem's largest miss.
    rises, highest
        How many impacts raised the energy, and by which part of it at most.
    """

    events: int = 0
    charts: int = 0
    impacts: int = 0
    lost: float = 0.0
    worst: float = 0.0
    rises: int = 0
    highest: float = 0.0

    def after(self, impacts: Sequence[Impact], events: int, charts: int) -> Tally:
        """Return the tally with more impacts, events and charts."""
        lost = self.lost
        rises: list[float] = []
        for impact in impacts:
            lost += impact.kinetic_before - impact.kinetic_after
            if impact.kinetic_after > impact.kinetic_before > 0.0:
                rises.append(impact.kinetic_after / impact.kinetic_before - 1.0)
        return Tally(
            self.events + events,
            self.charts + charts,
            self.impacts + len(impacts),
            lost,
            max([self.worst, *(impact.carnot for impact in impacts)]),
            self.rises + len(rises),
            max([self.highest, *rises]),
        )

    def notes(self) -> list[str]:
        """Report the number of impacts, their energy, and how well Carnot's theorem held."""
        if not self.impacts:
            return []
        count = f"{self.impacts} impacts" if self.impacts > 1 else "1 impact"
        did = f"took {self.lost:.6g}" if self.lost >= 0.0 else f"added {-self.lost:.6g}"
        raised = (
            f"; {self.rises} of them raised it, by at most a factor of {1.0 + self.highest:.3g}"
        )
        return [
            f"{count} {did} J; Carnot's theorem missed by at most {self.worst:.2g} of the kinetic "
            "energy" + (raised if self.rises else "")
        ]


@dataclass
class RunRecord:
    """What a run has gathered so far, or since its last part went to disk.

    `modes` are the values of p in force, the first `carried` since before; `tally` and `recent` are
    of earlier parts; `step` is in s; `taken` counts samples; `held`: friction held the body once.
    """

    modes: list[np.ndarray]
    sample_times: list[float] = field(default_factory=list[float])
    samples: list[np.ndarray] = field(default_factory=list[np.ndarray])
    sampled_at: list[Boundary] = field(default_factory=list[Boundary])
    events: list[Happening] = field(default_factory=list[Happening])
    boundaries: list[Boundary] = field(default_factory=list[Boundary])
    taken: int = 0
    steps: int = 0
    step: float = 1.0
    rhs_evaluations: int = 0
    wall_seconds: float = 0.0
    carried: int = 1
    held: bool = False
    tally: Tally = field(default_factory=Tally)
    recent: list[tuple[str, float, tuple[int, ...]]] = field(
        default_factory=list[tuple[str, float, tuple[int, ...]]]
    )

    @property
    def event_count(self) -> int:
        """How many events there were from the start."""
        return self.tally.events + len(self.events)

    def mode_table(self, places: Sequence[Boundary]) -> np.ndarray:
        """Return p at each place: (np,) where it is one, else (k, np)."""
        if len(self.modes) == 1:
            return self.modes[0]
        rows = [self.modes[place.mode] for place in places]
        return np.array(rows).reshape(len(places), len(self.modes[0]))

    def places(self, sign: float) -> list[tuple[float, np.ndarray, int]]:
        """Return times, states and modes in memory, in the order of the run."""
        places = [(b.time, b.state, b.mode) for b in self.boundaries]
        sampled = zip(self.sample_times, self.samples, self.sampled_at, strict=True)
        places += [(time, state, place.mode) for time, state, place in sampled]
        return sorted(places, key=lambda place: sign * place[0])

    def take(self, times: Sequence[float], states: Sequence[np.ndarray], place: Boundary) -> None:
        """Keep samples, with the start of the segment in which they lie."""
        self.sample_times.extend(times)
        self.samples.extend(states)
        self.sampled_at.extend([place] * len(times))

    def begin_in(self, here: Boundary) -> None:
        """Let the samples at the start be in the mode in which the motion begins.

        A mode that ends where it begins is not part of the motion: its reactions act at no time.
        Samples before a reset at the start are in the mode that the reset ends. A gap that opens
        there is given a speed of rounding, by which it does not close.
        """
        rounding = ROUNDING * float(np.max(np.abs(here.state), initial=0.0))
        for place in (*(event.at for event in self.events), here):
            for k, (time, sample) in enumerate(zip(self.sample_times, self.samples, strict=True)):
                # A body that is held has the same state for a time.
                if time == place.time and np.all(np.abs(sample - place.state) <= rounding):
                    self.sampled_at[k] = place

    def take_end(self, here: Boundary, *, arrivals: bool) -> None:
        """Keep the end of the run as the last sample.

        Parameters
        ----------
        here
            The end, after all that happened there.
        arrivals
            Whether a sample before a reset is one at an event, which stays; else it gives way.
        """
        known = [k for k, time in enumerate(self.sample_times) if time == here.time]
        reset = any(event.time == here.time and event.after is not None for event in self.events)
        if known and not reset:
            return
        if not known or arrivals:
            self.take([here.time], [here.state], here)
            return
        for place in known:
            self.samples[place], self.sampled_at[place] = here.state, here

    def cut(self, until: float, sign: float) -> None:
        """Drop everything beyond a time."""
        kept = [k for k, time in enumerate(self.sample_times) if sign * (time - until) <= 0.0]
        self.sample_times = [self.sample_times[k] for k in kept]
        self.samples = [self.samples[k] for k in kept]
        self.sampled_at = [self.sampled_at[k] for k in kept]
        self.events = [event for event in self.events if sign * (event.time - until) <= 0]

    # -- from part to part --------------------------------------------------------------------

    def tally_so_far(self) -> Tally:
        """Return the tally that includes the part in memory."""
        impacts = [event.impact for event in self.events if event.impact is not None]
        return self.tally.after(impacts, len(self.events), len(self.modes) - self.carried)

    def near(self, time: float) -> float:
        """Return how far apart times may be to count as the same, s."""
        return 1e-14 * max(abs(time), self.step)

    def at_instant(self, time: float) -> list[tuple[str, float, tuple[int, ...]]]:
        """Return the events at this instant: name, time, and the guards that fired."""
        near = self.near(time)
        events = [event for event in self.events if abs(event.time - time) <= near]
        return [(event.name, event.time, event.fired) for event in events]

    def known(self, name: str, time: float, near: float, guard: int) -> bool:
        """Return whether an event of an earlier part, at its very end, is this one."""
        return any(
            known == name and abs(moment - time) <= near and guard in fired
            for known, moment, fired in self.recent
        )

    def flushed(self, here: Boundary) -> Boundary:
        """Forget what has been written to disk; return where the run continues."""
        self.tally, self.recent = self.tally_so_far(), self.at_instant(here.time)
        before = self.boundaries[-1]
        self.sample_times, self.samples, self.sampled_at, self.events = [], [], [], []
        modes = self.modes[before.mode], self.modes[here.mode]
        return self.goes_on((before, modes[0]), (here, modes[1]))

    def goes_on(
        self, before: tuple[Boundary, np.ndarray], here: tuple[Boundary, np.ndarray]
    ) -> Boundary:
        """Return where the run continues after a part, given the start of its last segment.

        Each with the values in force there.
        """
        same = np.array_equal(before[1], here[1])
        self.modes = [here[1]] if same else [before[1], here[1]]
        self.carried = len(self.modes)
        self.boundaries = [replace(before[0], mode=0)]
        return replace(here[0], mode=len(self.modes) - 1)

    def restore(self, tally: Mapping[str, Any], recent: Sequence[Sequence[Any]]) -> None:
        """Continue after parts that are on disk."""
        self.tally = Tally(**tally)
        self.recent = [(name, float(time), tuple(fired)) for name, time, fired in recent]

    def forget(self, here: Boundary) -> None:
        """Forget the boundaries before here, and values in force that nothing in memory needs.

        Samples and events stay.
        """
        self.boundaries = [self.boundaries[-1]]
        places = [*self.sampled_at, *self.boundaries, here]
        for event in self.events:
            places += [event.at] if event.after is None else [event.at, event.after]
        changes = len(self.modes) - self.carried
        self.tally = replace(self.tally, charts=self.tally.charts + changes)
        known: dict[int, int] = {}
        kept: list[np.ndarray] = []
        for place in {id(place): place for place in places}.values():
            if place.mode not in known:
                known[place.mode] = len(kept)
                kept.append(self.modes[place.mode])
            place.mode = known[place.mode]
        # The values in force come last.
        self.modes, self.carried = [*kept, kept[here.mode]], len(kept) + 1
        here.mode = len(kept)
