"""Formulations times solvers times tolerances: cost, error, drift, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, Unpack

import numpy as np

from daesolve.core.formulations import Formulation
from daesolve.core.interruptions import interruption_left
from daesolve.core.results.displayable import Displayable
from daesolve.core.results.trajectory.results import Continuable, Drift, Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import Initial, RunOptions, check_options
from daesolve.core.run.integration.sampling import sample_times
from daesolve.core.run.solving.early_ends import reported_otherwise
from daesolve.core.run.solving.solving import solve
from daesolve.core.solvers import Solver
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.system import System
from daesolve.errors import (
    DaesolveError,
    MissingBackendError,
    Named,
    OutOfRangeError,
    UnsupportedError,
    check_names,
    is_number,
    readable,
)
from daesolve.verification.attempts import Attempt, Refused, attempts
from daesolve.verification.reference_run import ReferenceRun, reference_run
from daesolve.verification.second_run import (
    Difference,
    End,
    SampledRun,
    difference,
    resets_sentence,
)

ROUNDING = 2.0**-53
"""The relative error of a number next to which a double is."""

SAMPLES = 21
"""So few that taking them costs little beside the steps."""

VARIED = {
    "formulation": "give a list of `formulations`",
    "solver": "give a list of `solvers`",
    "rtol": "give a list of `tolerances`",
    "atol": "give a list of `tolerances`",
}
"""Options of a run that a comparison varies."""

Reference = Mapping[str, float] | Trajectory | ReferenceRun | Literal["quad"] | None
"""The reference for errors: states at the end, a run, or one in quadruple precision."""

Progress = Callable[[int, int, str], None]
"""Called before each run with the number done, the total, and the next run."""


@dataclass(frozen=True)
class Largest:
    """The largest of several relative sizes, and its name."""

    name: str
    size: float


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """One run of a pair.

    Parameters
    ----------
    formulation, solver
        Their names, distinguished by their settings if two are of the same kind.
    tolerance
        The chosen tolerance (`Taylor.tolerance` or `rtol`), or the solver's own; None for a solver
        without one.
    trajectory
        The result, whatever its outcome; None if there is none.
    failure
        The error of a solver without a result.
    residual, invariant
        The constraint and the invariant that drifted most, over their scales, over every accepted
        step.
    difference
        From the reference over the common samples; None without a reference.
    """

    formulation: str
    solver: str
    tolerance: float | None
    trajectory: Trajectory | None
    failure: str = ""
    residual: Largest | None = None
    invariant: Largest | None = None
    difference: Difference | None = None

    @property
    def pair(self) -> str:
        """The formulation and the solver."""
        return f"{self.formulation} + {self.solver}"

    @property
    def outcome(self) -> Outcome:
        """How the run ended."""
        return Outcome.FAILED if self.trajectory is None else self.trajectory.outcome

    @property
    def message(self) -> str:
        """Why it ended so."""
        return self.failure if self.trajectory is None else self.trajectory.message

    @property
    def error(self) -> float | None:
        """The largest relative difference from the reference; see `Difference.largest`."""
        return None if self.difference is None else self.difference.largest

    @property
    def digits(self) -> float | None:
        """The number of correct digits: -log10 of the error, limited to those of a double."""
        return None if self.error is None else max(0.0, -math.log10(max(self.error, ROUNDING)))


@dataclass(frozen=True)
class Agreement:
    """How far the best runs of two pairs differ."""

    first: str
    second: str
    difference: Difference


@dataclass(frozen=True, eq=False)
class Standard:
    """The reference for errors.

    Parameters
    ----------
    kind
        "quad", "given", "run" (the tightest of the runs, which then has no error) or "none".
    note
        A description, in a sentence.
    samples
        Its states; None if there is none.
    """

    kind: Literal["quad", "given", "run", "none"]
    note: str
    samples: SampledRun | None = None


@dataclass(frozen=True, eq=False)
class Comparison(Displayable):
    """Runs of pairs of formulations and solvers.

    Parameters
    ----------
    runs
        In the order of formulations, solvers and tolerances.
    refused
        Pairs that could not run.
    standard
        The reference for errors.
    agreement
        For each two pairs, from their completed runs with the smallest tolerance.
    interrupted
        Whether Ctrl-C ended it; the results so far are kept.
    """

    runs: tuple[ComparedRun, ...]
    refused: tuple[Refused, ...]
    standard: Standard
    agreement: tuple[Agreement, ...]
    interrupted: bool

    @property
    def pairs(self) -> Mapping[str, tuple[ComparedRun, ...]]:
        """The runs of each pair."""
        found: dict[str, list[ComparedRun]] = {}
        for run in self.runs:
            found.setdefault(run.pair, []).append(run)
        return Named({pair: tuple(runs) for pair, runs in found.items()}, "pair")

    def __str__(self) -> str:
        lines = [f"{'pair':32} {'tolerance':>9} {'error':>8} {'wall s':>9} {'steps':>8}  outcome"]
        for run in self.runs:
            cost = f"{'':>9} {'':>8}"
            if run.trajectory is not None:
                statistics = run.trajectory.statistics
                cost = f"{statistics.wall_seconds:9.3g} {statistics.steps:8d}"
            numbers = f"{_in_digits(run.tolerance):>9} {_in_digits(run.error):>8} {cost}"
            ending = f"{run.outcome.value}: {run.message}" if run.message else run.outcome.value
            lines.append(f"{run.pair:32} {numbers}  {ending}")
        lines += [f"{entry.formulation} + {entry.solver}: {entry.reason}" for entry in self.refused]
        return "\n".join([*lines, self.standard.note])


def _in_digits(value: float | None) -> str:
    return "" if value is None else f"{readable(value):.1e}"


def compare(
    system: System,
    formulations: Sequence[Formulation | str] | None = None,
    solvers: Sequence[Solver | str] | None = None,
    until: float | None = None,
    initial: Initial | None = None,
    *,
    tolerances: Sequence[float] | None = None,
    reference: Reference = None,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Run every formulation with every solver at every tolerance, and measure error and cost.

    `Comparison.refused` lists pairs that do not fit, solvers that are not installed, and tolerances
    that a solver does not have; a run that fails is kept with its outcome. Ctrl-C ends the
    comparison after the current segment.

    Parameters
    ----------
    system, until, initial
        As in `daesolve.solve`.
    formulations, solvers
        Objects or names. By default the usual ones are compared in all pairs that fit: `feedback`,
        `null-space`, `index-1`, `index-2` and `ggl`, with `taylor`, `dop853` and `idas`.
    tolerances
        Set in each solver in turn, as `Taylor.tolerance` or as `rtol`, with `atol` in the same
        ratio (1/100 if the solver is given by name). None takes each solver's own tolerance, or
        five from 1e-4 to 1e-12 if formulations or solvers are left out. A solver with a fixed step
        runs once.
    reference
        States at the end by name; a trajectory with some of the same sample times; or "quad", a run
        in quadruple precision, which is refused if it is not possible. None takes "quad" if
        possible, or else the completed run with the smallest tolerance, and says so.
    progress
        Called before each run.
    **options
        See `RunOptions`, the same for all runs. States are compared at the sample times `at`; by
        default at 21 even ones, because samples are expensive for some solvers. `max_evaluations`
        does not limit the reference in quadruple precision.

    Raises
    ------
    UnknownNameError
        A formulation or solver is unknown, or the reference has a state that the system does not
        have.
    OutOfRangeError
        There is no formulation or no solver, or a tolerance is not positive.
    DaesolveError
        No pair can run the request; see `daesolve.solve`.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    >>> compared = ds.compare(
    ...     spring, [ds.Feedback()], [ds.Taylor(), ds.Dop853()], until=10.0, initial={"x": 1.0}
    ... )
    >>> [run.error < 1e-8 for run in compared.runs]
    [True, True]
    """
    check_options("compare", options, VARIED)
    check_system(system)
    _check_reference(reference, system)
    planned, refused = attempts(formulations, solvers, tolerances)
    if until is None:
        raise OutOfRangeError("until is missing: give the end time of the runs, in s")
    start, at = options.get("start_time"), options.get("at")
    if start is None:
        start = initial.continuation.time if isinstance(initial, Continuable) else 0.0
    for name, value in (("until", until), ("the start time", start)):
        if not is_number(value):
            raise OutOfRangeError(f"{name} is {value!r}, but must be a finite time in s")
    options["at"] = np.linspace(start, until, SAMPLES)
    if at is not None:
        options["at"] = sample_times(at, start, until)

    def quad() -> Standard:
        bounded: RunOptions = {**options, "max_evaluations": None}
        return _quad(reference_run(system, until, initial, progress=_heed_ctrl_c, **bounded))

    def run(attempt: Attempt) -> Trajectory:
        pair = {"formulation": attempt.formulation, "solver": attempt.solver}
        settings: dict[str, Any] = {**options, **pair}
        with reported_otherwise():
            return solve(system, until, initial, **settings)

    asked = quad() if isinstance(reference, str) else None
    invariants = [row.name for row in system.dynamics.invariants]
    series = _Series(planned, refused, invariants)
    series.run(run, progress)
    standard = asked or _standard(reference, series, until, quad, progress)
    runs = tuple(_with_error(entry, standard) for entry in series.runs)
    resets = resets_sentence(
        {
            f"{run.pair} at {_in_digits(run.tolerance) or 'its step'}": run.difference
            for run in runs
            if run.difference is not None
        }
    )
    return Comparison(
        runs=runs,
        refused=tuple(series.refused),
        standard=replace(standard, note=f"{standard.note}; {resets}" if resets else standard.note),
        agreement=tuple(_agreement(series.runs)),
        interrupted=series.interrupted,
    )


def _check_reference(
    reference: Mapping[str, float] | SampledRun | str | None, system: System
) -> None:
    if isinstance(reference, str):
        if reference != "quad":
            raise OutOfRangeError(
                f"the reference is {reference!r}, but must be 'quad', states at the end by name, "
                "or a trajectory"
            )
    elif reference is not None:
        if not isinstance(reference, Mapping) and not hasattr(reference, "states"):
            raise OutOfRangeError(
                f"the reference is {reference!r}, but must be 'quad', states at the end by name, "
                "or a trajectory"
            )
        states = system.dynamics.labels.states
        named: Iterable[str] = reference if isinstance(reference, Mapping) else reference.states
        check_names("state in the reference", named, states)


class _Series:
    """The runs of a comparison, one after the other."""

    def __init__(
        self, planned: Sequence[Attempt], refused: Sequence[Refused], invariants: Sequence[str]
    ) -> None:
        self.planned = planned
        self.invariants = invariants
        self.runs: list[ComparedRun] = []
        self.refused = list(refused)
        self.interrupted = False

    def run(self, run: Callable[[Attempt], Trajectory], progress: Progress | None) -> None:
        """Make every run; a pair that is refused is refused at every tolerance.

        Raises
        ------
        DaesolveError
            No pair could run, for a reason other than that formulation and solver do not fit.
        """
        impossible: set[tuple[str, str]] = set()
        wrong: DaesolveError | None = None
        try:
            for number, attempt in enumerate(self.planned):
                names = attempt.formulation_name, attempt.solver_name
                if names in impossible:
                    continue
                if progress is not None:
                    progress(number, len(self.planned), str(attempt))
                try:
                    outcome = run(attempt)
                except DaesolveError as error:
                    if not isinstance(error, UnsupportedError):
                        wrong = wrong or error
                    impossible.add(names)
                    self.refused.append(Refused(*names, None, str(error)))
                    continue
                except Exception as error:  # a backend's own; it must not cost the other runs
                    outcome = f"{type(error).__name__}: {error}"
                self.runs.append(_measured(attempt, outcome, self.invariants))
                if self.runs[-1].outcome is Outcome.INTERRUPTED:
                    self.interrupted = True
                    return
        except KeyboardInterrupt:
            self.interrupted = True
            interruption_left()
        if wrong is not None and not self.runs:
            raise wrong


# -- what is measured -------------------------------------------------------------------------


def _measured(attempt: Attempt, run: Trajectory | str, invariants: Sequence[str]) -> ComparedRun:
    names = attempt.formulation_name, attempt.solver_name
    if isinstance(run, str):
        return ComparedRun(*names, attempt.tolerance, None, failure=run)
    held = {name: entry for name, entry in run.drift.items() if name in invariants}
    others = {name: entry for name, entry in run.drift.items() if name not in invariants}
    return ComparedRun(
        *names, attempt.tolerance, run, residual=_largest(others), invariant=_largest(held)
    )


def _largest(drift: Mapping[str, Drift]) -> Largest | None:
    sizes = {name: entry.max_relative for name, entry in drift.items()}
    if not sizes:
        return None
    name = max(sizes, key=lambda n: math.inf if math.isnan(sizes[n]) else sizes[n])
    return Largest(name, sizes[name])


# -- errors and agreement ----------------------------------------------------------------------


def _heed_ctrl_c(_: float) -> None:
    """Raise the interruption that CasADi has dropped."""
    if interruption_left():
        raise KeyboardInterrupt


def _quad(run: ReferenceRun) -> Standard:
    worst = max(run.residuals.values(), default=0.0)
    note = (
        f"errors against a run in quadruple precision ({run.steps} steps, "
        f"{run.wall_seconds:.3g} s, residuals up to {worst:.1e})"
    )
    return Standard("quad", f"{note}; {run.message}" if run.message else note, run)


def _standard(
    reference: Mapping[str, float] | SampledRun | str | None,
    series: _Series,
    until: float,
    quad: Callable[[], Standard],
    progress: Progress | None,
) -> Standard:
    """Return what errors are measured against."""
    if isinstance(reference, Mapping):
        end = End(until, {name: float(value) for name, value in reference.items()})
        return Standard("given", "errors of the states at the end", end)
    if reference is not None and not isinstance(reference, str):
        return Standard("given", "errors against the given trajectory", reference)
    why = "the comparison was interrupted"
    if not series.interrupted:
        if progress is not None:
            progress(len(series.planned), len(series.planned), "reference in quadruple precision")
        try:
            return quad()
        except KeyboardInterrupt:
            series.interrupted = True
            interruption_left()
        except (UnsupportedError, MissingBackendError) as error:
            why = str(error)
    good = [run for run in series.runs if run.outcome.good and run.tolerance is not None]
    if not good:
        return Standard("none", f"no errors: {why}, and no run finished")
    best = min(good, key=lambda run: run.tolerance or math.inf)
    note = f"errors against {best.pair} at {best.tolerance:.1e}, the tightest run: {why}"
    return Standard("run", note, best.trajectory)


def _with_error(run: ComparedRun, standard: Standard) -> ComparedRun:
    trajectory, samples = run.trajectory, standard.samples
    if trajectory is None or samples is None or samples is trajectory:
        return run
    whole: SampledRun = trajectory
    if isinstance(samples, End):
        whole = End(trajectory.end_time, trajectory.end_state)
    return replace(run, difference=difference(whole, samples, trajectory.units))


def _agreement(runs: Iterable[ComparedRun]) -> Iterator[Agreement]:
    best: dict[str, ComparedRun] = {}
    for run in runs:
        if run.outcome.good:
            known = best.get(run.pair)
            if known is None or (run.tolerance or 0.0) < (known.tolerance or 0.0):
                best[run.pair] = run
    for first, second in combinations(best.values(), 2):
        if first.trajectory is not None and second.trajectory is not None:
            difference_of_both = difference(
                first.trajectory, second.trajectory, second.trajectory.units
            )
            if difference_of_both is not None:
                yield Agreement(first.pair, second.pair, difference_of_both)
