"""Repeats a run in another way: with other choices, or cheaply with a tighter tolerance.

A driven residual is small at almost any accuracy; only another run shows how far the trajectory
itself can be trusted. The states of two runs are compared at the times that both sampled.

Two runs meet a reset at times that differ by their errors. A sample between these times is before
the reset in one run and after it in the other; the difference there comes from the reset, not from
the runs, so the sample is left out and counted. The resets themselves are compared one by one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Protocol

import numpy as np

from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.results import EventRecord, Outcome, Verification
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import By
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.simulation import simulate
from daesolve.core.solvers import Dop853, Solver
from daesolve.errors import suggest_names
from daesolve.verification.error_growth import lyapunov_time
from daesolve.verification.second_preparation import prepare_differently

ANOTHER_METHOD = Dop853(rtol=1e-13, atol=1e-13)
ROUNDED = 1e-9
"""A state below this fraction of the largest counts as zero."""
AT_ONCE = 1e-12
"""Resets closer than this part of the time are at one instant, in whatever order they come."""
APART = 1e-6
"""A difference above this fraction of the size of a state is reported with its name and the
time."""
NEAR_THE_END = 10.0
"""Within this many times the largest difference of reset times from the end, one run may not have
met a reset."""


def verify(prepared: Prepared, run: Trajectory, at: At = None, by: By = True) -> Verification:
    """Repeat a run and compare the samples.

    Parameters
    ----------
    prepared
        What was run.
    run
        Its trajectory.
    at
        The sample times of the run.
    by
        How to repeat it. True uses other choices (`second_preparation`). "same" tightens the
        tolerance of the run's own solver and keeps every choice, so it cannot check assumptions
        that both runs share. If that reproduces every digit (finite series along straight flights),
        it proves nothing, and another method repeats the run.

    Raises
    ------
    UnsupportedError
        The requested solver cannot integrate this run.
    """
    if by == "same":
        solver = prepared.solver.refined()
        steps = float(run.statistics.steps)
        other = replace(prepared, solver=solver.configured(prepared.problem, steps))
        other.scaling.compiled(other.solver, other.problem)
    else:
        other = prepare_differently(prepared, None if by is True else by)
    repeated = simulate(other, at)
    found = difference(run, repeated, run.units, ignored=prepared.dynamics.switches)
    differences = _differences(run, repeated, found)
    if by == "same" and not any(differences.values()) and _takes(prepared, ANOTHER_METHOD):
        return verify(prepared, run, at, ANOTHER_METHOD)
    interrupted = repeated.outcome is Outcome.INTERRUPTED
    growth = math.nan if interrupted else lyapunov_time(prepared)
    against = ", ".join(_in_words(other.solver, run, repeated, found))
    apart: Mapping[str, float] = {} if found is None else found.apart_from
    return Verification(against, differences, growth, interrupted, apart)


def _in_words(
    solver: Solver, run: Trajectory, repeated: Trajectory, apart: Difference | None
) -> Iterator[str]:
    """Say which run repeated a run, how it ended, and what differs."""
    yield solver.name
    yield from (f"{name} {value:.3g}" for name, value in solver.tolerances().items())
    if repeated.outcome is not run.outcome:
        why = f": {repeated.message}" if repeated.message else ""
        yield f"up to t = {repeated.end_time:.10g} s where it ended {repeated.outcome.value}{why}"
    if apart is None:
        return
    if apart.resets is not None:
        left_out = f" ({apart.omitted} samples between these times are left out)"
        yield f"{apart.resets}{left_out if apart.omitted else ''}"
    if apart.apart_from:
        state = min(apart.apart_from, key=lambda name: apart.apart_from[name])
        yield (
            f"{state} differs by more than {APART:g} of its size from t = "
            f"{apart.apart_from[state]:.10g} s on"
        )


def _takes(prepared: Prepared, solver: Solver) -> bool:
    """Return whether a solver can take what was run."""
    return prepared.formulation.form in solver.forms and solver.refusal(prepared.problem) is None


def _differences(
    run: Trajectory, repeated: Trajectory, apart: Difference | None
) -> Mapping[str, float]:
    """Return how far the states differ over the samples, without any at the end.

    They are NaN where the repetition ended otherwise: what it did not reach is unknown.
    """
    if repeated.outcome is not run.outcome:
        return dict.fromkeys(run.states, math.nan)
    if apart is not None:
        return apart.by_state
    return {name: abs(value - repeated.end_state[name]) for name, value in run.end_state.items()}


class SampledRun(Protocol):
    """Anything that has states at sample times."""

    @property
    def times(self) -> np.ndarray:
        """(k,) s."""
        ...

    @property
    def states(self) -> Mapping[str, np.ndarray]:
        """Name -> (k,)."""
        ...

    @property
    def events(self) -> Sequence[EventRecord]:
        """The events, in the order of time."""
        ...

    @property
    def end_time(self) -> float:
        """When it ended, s."""
        ...


@dataclass(frozen=True, eq=False)
class End:
    """Only states at the end of a run."""

    end_time: float
    end_state: Mapping[str, float]

    @property
    def times(self) -> np.ndarray:
        """(1,) s."""
        return np.array([self.end_time])

    @property
    def states(self) -> Mapping[str, np.ndarray]:
        """Name -> (1,)."""
        return {name: np.array([value]) for name, value in self.end_state.items()}

    @property
    def events(self) -> Sequence[EventRecord]:
        """The events, which are unknown."""
        return ()


@dataclass(frozen=True)
class ResetAgreement:
    """Whether two runs went through the same resets, as far as both go.

    Parameters
    ----------
    same
        How many instants of resets are the same in both.
    count, standard_count
        How many each had in all.
    apart_from
        The time of the first reset that differs between them, s; None if all agree. A difference of
        the states after it is not an error of a run but a different motion.
    farthest
        The largest difference of the times of a reset that is the same in both, s.
    """

    same: int
    count: int
    standard_count: int
    apart_from: float | None
    farthest: float

    def __str__(self) -> str:
        if self.apart_from is not None:
            return (
                f"{self.count} resets in the run and {self.standard_count} in the other, "
                f"different from t = {self.apart_from:.10g} s on"
            )
        resets = "reset" if self.same == 1 else "resets"
        return f"the same {self.same} {resets}, at times up to {self.farthest:.1e} s apart"


@dataclass(frozen=True)
class Difference:
    """How far two runs differ.

    Parameters
    ----------
    largest
        The largest difference of a state over the common samples, relative to the largest value
        among the states of its unit; infinite where a state is not finite.
    state
        The state with this difference.
    by_state
        The largest difference of each state, in its unit.
    resets
        How the resets agree; None if neither run has any.
    omitted
        The samples left out, because one run met a reset before them and the other after them.
    apart_from
        The first common time, s, at which a state differs by more than 1e-6 of its size, for each
        state that ever does.
    """

    largest: float
    state: str
    by_state: Mapping[str, float]
    resets: ResetAgreement | None = None
    omitted: int = 0
    apart_from: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        suggest_names(self, by_state="state")


def difference(
    run: SampledRun, standard: SampledRun, units: Mapping[str, str], ignored: Collection[str] = ()
) -> Difference | None:
    """Compare the states of a standard with those of a run; None if no time is common.

    Parameters
    ----------
    run
        It has all states of the standard.
    standard
        The sizes of states are taken from it.
    units
        The unit of each state; states of one unit share a size.
    ignored
        The names of events that change no state, and that one of them need not have.
    """
    times, here, there = np.intersect1d(run.times, standard.times, return_indices=True)
    resets, windows = compare_resets(run, standard, ignored)
    between = np.any([(low <= times) & (times <= high) for low, high in windows], axis=0)
    apart = ~np.broadcast_to(between, times.shape)
    here, there = here[apart], there[apart]
    if not here.size:
        return None
    errors = {
        name: np.abs(run.states[name][here] - values[there])
        for name, values in standard.states.items()
    }
    absolute = {name: float(np.max(error)) for name, error in errors.items()}
    sizes = _sizes(standard, units)
    # What is not a number is apart as well.
    parted = {name: np.flatnonzero(~(errors[name] <= APART * sizes[name])) for name in errors}
    apart_from = {
        name: float(times[apart][places[0]]) for name, places in parted.items() if places.size
    }
    quotients = {name: error / sizes[name] for name, error in absolute.items()}
    relative = {n: math.inf if math.isnan(value) else value for n, value in quotients.items()}
    worst = max(relative, key=lambda name: relative[name])
    omitted = len(times) - len(here)
    return Difference(relative[worst], worst, absolute, resets, omitted, apart_from)


def compare_resets(
    run: SampledRun, standard: SampledRun, ignored: Collection[str] = ()
) -> tuple[ResetAgreement | None, list[tuple[float, float]]]:
    """Compare the resets of two runs, one instant after the other.

    Returns
    -------
    ResetAgreement or None
        None if neither run has any, or one is an end alone.
    list of (float, float)
        The times between which one run has met a reset and the other has not, as long as they
        have the same ones and such times do not overlap.
    """
    if isinstance(run, End) or isinstance(standard, End):
        return None, []
    first, second = _instants(run, ignored), _instants(standard, ignored)
    if not (first or second):
        return None, []
    # What is reset runs forwards in time.
    end = min(run.end_time, standard.end_time)
    windows: list[tuple[float, float]] = []
    farthest, apart = 0.0, None
    for one, other in zip_longest(first, second):
        moments = sorted(instant.time for instant in (one, other) if instant is not None)
        same = one is not None and other is not None and one.events == other.events
        left = end - moments[0]
        if left < 0.0 or not (same or left > NEAR_THE_END * farthest + AT_ONCE * abs(end)):
            break
        window = moments[0], moments[-1]
        if not same or (windows and window[0] <= windows[-1][1]):
            apart = window[0]
            break
        windows.append(window)
        farthest = max(farthest, window[1] - window[0])
    return ResetAgreement(len(windows), len(first), len(second), apart, farthest), windows


@dataclass(frozen=True)
class _Instant:
    time: float
    events: tuple[tuple[str, tuple[int, ...]], ...]


def _instants(run: SampledRun, ignored: Collection[str]) -> list[_Instant]:
    """Return the resets of a run, those at one instant together."""
    rounds: list[list[EventRecord]] = []
    for event in run.events:
        if event.after is None or event.name in ignored:
            continue
        if rounds and abs(event.time - rounds[-1][0].time) <= AT_ONCE * max(1.0, abs(event.time)):
            rounds[-1].append(event)
        else:
            rounds.append([event])
    return [
        _Instant(events[0].time, tuple(sorted((e.name, e.fired) for e in events)))
        for events in rounds
    ]


def resets_sentence(differences: Mapping[str, Difference]) -> str:
    """Say whether the named runs went through the resets of their standard."""
    known = {name: one.resets for name, one in differences.items() if one.resets is not None}
    if not known:
        return ""
    same = [resets for resets in known.values() if resets.apart_from is None]
    lines = [f"{name}: {resets}" for name, resets in known.items() if resets not in same]
    if same:
        farthest = max(same, key=lambda resets: resets.farthest)
        whose = "all runs" if len(same) == len(known) else f"{len(same)} of {len(known)} runs"
        lines.append(f"{whose} had {farthest}")
    omitted = max(one.omitted for one in differences.values())
    if omitted:
        lines.append(f"up to {omitted} samples of a run, between such times, were left out")
    return "; ".join(lines)


def _sizes(run: SampledRun, units: Mapping[str, str]) -> dict[str, float]:
    """Return for each state the largest value among all states of its unit."""
    largest: dict[str, float] = {}
    for name, values in run.states.items():
        unit = units.get(name, name)
        largest[unit] = max(largest.get(unit, 0.0), float(np.max(np.abs(values), initial=0.0)))
    # What a constraint holds at zero is rounding, which does not count as a size.
    rounded = ROUNDED * max(largest.values(), default=0.0)
    return {name: max(largest[units.get(name, name)], rounded) or 1.0 for name in run.states}


def verified(
    prepared: Prepared, run: Trajectory, by: By = True, rows: int | None = None
) -> Trajectory:
    """Return a run with its repetition and its audit; see `verify` and `audited`.

    Parameters
    ----------
    prepared, run, by
        As in `verify`.
    rows
        At how many samples the repetition is compared at most; None for all.
    """
    shown = run if rows is None else run.thinned(rows)
    verification = verify(prepared, shown, shown.times, by)
    run = replace(run, verification=verification)
    if verification.interrupted:
        return run
    try:
        return audited(run)
    except KeyboardInterrupt:
        return replace(run, verification=replace(verification, interrupted=True))


def audited(run: Trajectory) -> Trajectory:
    """Return a run with its audit; one that contradicts what was posed ends as `contradicted`.

    What cannot be audited, a run in lanes or one that a test made up, stays as it is.
    """
    if run.auditor is None:
        return run
    audit = run.audit()
    if audit.holds:
        return replace(run, audited=audit)
    return replace(run, audited=audit, outcome=Outcome.CONTRADICTED, message=audit.objection)
