"""Results of a run besides its series: how it ended, drift, events, verification, cost."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from daesolve.errors import readable, suggest_names, unknown_name

SAME = 1e-14
"""Times that differ by this fraction are the same."""


class Outcome(Enum):
    """How a run ended; the value is its name in JSON."""

    COMPLETED = "completed"
    STOPPED_BY_EVENT = "stopped_by_event"
    INTERRUPTED = "interrupted"
    DEGENERATE = "degenerate"
    CONTRADICTED = "contradicted"
    FAILED = "failed"

    @property
    def good(self) -> bool:
        """Whether the run reached its intended end."""
        return self in (Outcome.COMPLETED, Outcome.STOPPED_BY_EVENT)


class Dense(Protocol):
    """The states within accepted steps."""

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        ...

    def __call__(self, moments: np.ndarray, /) -> np.ndarray:
        """Return the states, (j, size), at times, (j,), in the order of the steps."""
        ...


@dataclass(frozen=True)
class StepBlock:
    """Accepted steps in the order of integration: the time and state at the end of each.

    Parameters
    ----------
    times
        (k,)
    states
        (k, size)
    evaluations
        Right-hand sides since the block before, as far as the solver reports them.
    taken
        How many steps the method took, if the times are those of a grid.
    dense
        What gives the states within them, in memory of its own; None if the method does not know,
        or its observer does not keep it.
    """

    times: np.ndarray
    states: np.ndarray
    evaluations: int = 0
    taken: int | None = None
    dense: Dense | None = None


@dataclass(frozen=True)
class Degeneracy:
    """Where constraints began to depend on each other, which ended the run.

    Parameters
    ----------
    time, state
        The step at which this was seen, s, and the state there by name; the run itself ends at the
        step before.
    goals
        The goals that depend on each other there.
    singular_value
        The smallest one of J M^-1/2 with rows of unit length, relative to the largest so far.
    threshold
        The threshold below which the tolerance of the run cannot be kept.
    null_vector
        By goal, the combination of their rows (of unit length) that vanishes; of unit length.
    """

    time: float
    state: Mapping[str, float]
    goals: tuple[str, ...]
    singular_value: float
    threshold: float
    null_vector: Mapping[str, float]

    def __post_init__(self) -> None:
        suggest_names(self, state="state", null_vector="goal")


@dataclass(frozen=True)
class Drift:
    """The drift of a residual from zero, over every accepted step of the integration.

    Parameters
    ----------
    driven
        Whether errors were fed back; then a small residual proves nothing about the rest.
    max_abs, max_relative, final_relative
        The largest |residual|, the same relative to the scale, and the last one relative to the
        scale.
    scale
        The size by which relative values are divided.
    correction
        The integral of |rate * residual| over time, relative to the scale: the total feedback.
    growth_exponent
        The slope, in log-log, of the root mean square per bin over the last two decades of time;
        None if the residual is at rounding level or the run too short.
    note
        A note for the reader.
    history
        Pairs (elapsed time in s, root mean square over the scale), ten bins per decade of time.
    """

    driven: bool
    max_abs: float
    max_relative: float
    final_relative: float
    scale: float
    correction: float
    growth_exponent: float | None
    note: str = ""
    history: tuple[tuple[float, float], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Impact:
    """Constraints that were imposed in an instant.

    Parameters
    ----------
    impulses
        Of every reaction, by name; N s or N m s.
    kinetic_before, kinetic_after
        J
    carnot
        The residual of Carnot's theorem, relative to the kinetic energy before: the energy lost is
        the energy of the lost velocities, minus the work of constraints that move or rebound.
    """

    impulses: Mapping[str, float]
    kinetic_before: float
    kinetic_after: float
    carnot: float

    def __post_init__(self) -> None:
        suggest_names(self, impulses="reaction")


@dataclass(frozen=True)
class EventRecord:
    """An event that happened.

    Parameters
    ----------
    time, name
        The time, s, and the name of the event.
    detail
        The state there, by name; before what the event resets.
    after
        The state and the discrete values after a reset; None if there was none.
    fired
        Which of the event's guards passed, from 0.
    impact
        The imposed impact, if there was one.
    """

    time: float
    name: str
    detail: Mapping[str, float]
    after: Mapping[str, float] | None = None
    fired: tuple[int, ...] = (0,)
    impact: Impact | None = None

    def __post_init__(self) -> None:
        suggest_names(self, detail="state", after="state or discrete value")


def fired_at(events: Sequence[EventRecord], time: float) -> dict[str, tuple[int, ...]]:
    """Return which guards of some events, in the order of a run, passed at a time, by name."""
    if not events:
        return {}
    near, sign = SAME * abs(time), -1.0 if events[-1].time < events[0].time else 1.0
    first = bisect_left(events, sign * time - near, key=lambda event: sign * event.time)
    found: dict[str, tuple[int, ...]] = {}
    for place in range(first, len(events)):
        if sign * (events[place].time - time) > near:
            break
        name = events[place].name
        found[name] = (*found.get(name, ()), *events[place].fired)
    return found


@dataclass(frozen=True)
class Verification:
    """A run repeated in another way.

    Parameters
    ----------
    against
        The solver and the changes.
    difference
        The largest difference of each state over the samples.
    lyapunov_time
        The time in which small errors grow e-fold, s; None if the motion is regular, NaN if it
        ended, or touched a guard, before this could be determined.
    interrupted
        Whether the repetition was interrupted, so that it shows nothing.
    apart_from
        The first sample time, s, at which a state differs by more than 1e-6 of its size, by the
        name of each state that does.
    """

    against: str
    difference: Mapping[str, float]
    lyapunov_time: float | None
    interrupted: bool = False
    apart_from: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        suggest_names(self, difference="state")

    @property
    def growth(self) -> str:
        """How small errors grow: "exponential", "regular" or "unknown"."""
        if self.lyapunov_time is None:
            return "regular"
        return "unknown" if math.isnan(self.lyapunov_time) else "exponential"

    @property
    def unverified(self) -> str:
        """Why the repetition shows nothing; empty if it shows something."""
        if self.interrupted:
            return "not verified, because the repetition was interrupted"
        if self.difference and all(math.isnan(size) for size in self.difference.values()):
            return "not verified, because the repetition ended otherwise than the run"
        return ""

    def __str__(self) -> str:
        if self.unverified:
            return f"against {self.against}: {self.unverified}"
        growth = f"small errors grow: {self.growth}"
        if self.growth == "exponential":
            growth += f", e-fold in {self.lyapunov_time:.3g} s"
        lines = [
            f"against {self.against}",
            *(
                f"  {name} differs by at most {readable(size):.2g}"
                for name, size in self.difference.items()
            ),
            *(f"  {name} is lost from t = {t:.6g} s on" for name, t in self.apart_from.items()),
            growth,
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Peak:
    """The value of largest magnitude of an output, and its time in s."""

    value: float
    time: float


@dataclass(frozen=True)
class Statistics:
    """The cost of a run; `wall_seconds` is the integration without building and compiling."""

    steps: int
    rhs_evaluations: int
    compile_seconds: float
    compile_cached: bool
    wall_seconds: float
    instructions: int


@dataclass(frozen=True)
class Continuation:
    """A place in a run from which another run can continue.

    Parameters
    ----------
    time
        s
    state, values
        The state and the discrete values there, by name.
    outcome, message, end_time
        How and when that run ended.
    directory
        Of that run; "" if it is in memory.
    drift
        Its largest residuals by name, relative: its states are off their goals by so much.
    firing
        Returns `fired`: events on disk are read when they are needed.
    """

    time: float
    state: Mapping[str, float]
    values: Mapping[str, float]
    outcome: Outcome = Outcome.COMPLETED
    message: str = ""
    end_time: float = math.nan
    directory: str = ""
    drift: Mapping[str, float] = field(default_factory=dict[str, float])
    firing: Callable[[], Mapping[str, tuple[int, ...]]] = field(
        default=dict[str, tuple[int, ...]], repr=False, compare=False
    )

    @property
    def fired(self) -> Mapping[str, tuple[int, ...]]:
        """Which guards of its events passed at that time, by the name of the event, from 0."""
        return self.firing()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: no other part of the run."""
        return {**self.__dict__, "firing": partial(dict, self.fired)}

    def described(self) -> dict[str, Any]:
        """Return which run is continued and from where, as plain values for a manifest."""
        return {
            "directory": self.directory,
            "time": self.time,
            "end_time": self.end_time,
            "outcome": self.outcome.value,
            "message": self.message,
            "drift": dict(self.drift),
            "fired": {name: list(guards) for name, guards in self.fired.items()},
        }


@runtime_checkable
class Continuable(Protocol):
    """A run, or a point of one, at which another run can begin."""

    @property
    def continuation(self) -> Continuation:
        """What that run takes over."""
        ...


@dataclass(frozen=True)
class TrajectoryPoint:
    """The state, reactions and outputs at one time, by name.

    A run can begin there: `daesolve.solve(system, until, run.at(12.5))`.

    Parameters
    ----------
    time
        s
    values
        By name.
    continuation
        What such a run takes over, the discrete values included.
    """

    time: float
    values: Mapping[str, float]
    continuation: Continuation = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        suggest_names(self, values="state, reaction or output")

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            raise unknown_name("state, reaction or output", name, self.values)
        return self.values[name]
