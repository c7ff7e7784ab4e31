"""A reference in quadruple precision: the same equations by Taylor's method with 113 bits.

Start values and parameters are the given doubles. The reactions are eliminated as in `Feedback`;
constraints are driven at their rates, invariants are not driven, so they show how good the run is.
Three things are repeated in quadruple precision, because each would cost half of the digits: the
start is moved to the nearest state that fulfils every constraint (the double one misses them by
about 1e-16 of their size), the references of invariants and errors are evaluated there, and so are
the residuals.

Events are located and resets evaluated in the same arithmetic; which guards pass together is
decided in the same way as in double precision (see `quadruple.QuadTransitions`). An event that
stops the motion ends the run.

Numbers in the equations themselves, which are not parameters, may have been folded in double
precision while the equations were built; then `ReferenceRun.residuals` show about 1e-16.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

import casadi as ca
import numpy as np

from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import Feedback
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.results.trajectory.results import EventRecord
from daesolve.core.run.integration.run_options import Initial, RunOptions, check_options, requested
from daesolve.core.run.integration.sampling import sample_times
from daesolve.core.solvers import Dop853, Taylor
from daesolve.core.system.system import System
from daesolve.errors import MissingBackendError, OutOfRangeError, UnsupportedError, suggest_names
from daesolve.verification.constraint_levels import constraint_levels
from daesolve.verification.quadruple import Moment, array_of, available, evaluate, quad, quads
from daesolve.verification.reference_motion import (
    MotionRecord,
    Progress,
    QuadMotion,
    QuadrupleState,
    ReferenceEvent,
)

TOLERANCE = 1e-30
FINEST_TOLERANCE = 1e-33
"""About five times the rounding of 113 bits."""
FIXED = {
    "formulation": "it eliminates the reactions, like feedback",
    "solver": "it integrates by Taylor's method in quadruple precision",
    "rtol": "give its `tolerance`",
    "atol": "give its `tolerance`",
    "max_evaluations": "its steps are not counted",
}
"""Options of a run that make no sense here, and why."""
POLISHING_STEPS = 8
"""Steps of Newton's method with a Jacobian in double precision: each gains about 14 digits."""


@dataclass(frozen=True, eq=False)
class ReferenceRun:
    """A trajectory in quadruple precision.

    Parameters
    ----------
    times
        (k,) the sample times that were reached, s.
    states
        Name -> (k,) values rounded to doubles; angles are unwrapped.
    decimals
        Name -> k decimal numbers with all computed digits.
    units
        The unit of each state.
    events, event_count
        The events, with doubles for all numbers.
    event_decimals
        Their times, with all computed digits.
    residuals
        The largest |residual| over its scale at the samples, for every constraint, hidden
        constraint and conserved quantity; invariants were not driven, and are measured from their
        value after the last reset.
    start_moved
        The largest change of a start value to make it consistent in quadruple precision.
    tolerance
        Relative tolerance of a step.
    end_time
        The time reached, s.
    message
        Why it ended early; empty where every sample was reached.
    steps, compile_seconds, wall_seconds
        How many steps it took, and how long compiling and integrating took, s.
    """

    times: np.ndarray
    states: Mapping[str, np.ndarray]
    decimals: Mapping[str, tuple[str, ...]]
    units: Mapping[str, str]
    events: tuple[EventRecord, ...]
    event_count: int
    event_decimals: tuple[str, ...]
    residuals: Mapping[str, float]
    start_moved: float
    tolerance: float
    end_time: float
    message: str
    steps: int
    compile_seconds: float
    wall_seconds: float

    def __post_init__(self) -> None:
        suggest_names(self, states="state", decimals="state", units="state", residuals="residual")

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the samples of a state."""
        return self.states[name]


def reference_run(
    system: System,
    until: float,
    initial: Initial | None = None,
    *,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> ReferenceRun:
    """Integrate a system in quadruple precision, through its events, to the last sample time.

    Parameters
    ----------
    system, until, initial
        As in `daesolve.solve`.
    tolerance
        Relative tolerance of a step, from 1e-33.
    progress
        Called from time to time with the time reached.
    **options
        See `RunOptions`; the formulation, the solver and its tolerances are fixed.

    Raises
    ------
    MissingBackendError
        heyoka is not installed, or was built without quadruple precision.
    UnsupportedError
        The equations or the guard of an event contain an operation without a Taylor series; the
        message names it.
    DaesolveError
        The request cannot be run; see `daesolve.solve`.
    """
    check_options("reference_run", options, FIXED)
    if not available():
        raise MissingBackendError(
            "a reference in quadruple precision needs heyoka with its type `real`; install it "
            "from conda-forge (conda install heyoka.py), or give your own reference"
        )
    if not FINEST_TOLERANCE <= tolerance <= 1e-2:
        raise OutOfRangeError(
            f"the tolerance of the reference is {tolerance!r}, but must lie in "
            f"[{FINEST_TOLERANCE:g}, 0.01]"
        )
    invariants = {row.name: None for row in system.dynamics.invariants if not row.by_relation}
    # A solver that compiles nothing: what integrates is made below.
    fixed: RunOptions = {"formulation": Feedback(rates=invariants), "solver": Dop853()}
    request, at = requested(until, initial, {**options, **fixed})
    times = sample_times(at, request.start_time, until)
    prepared = prepare(system, request)
    refusal = Taylor().refusal(prepared.problem)
    if refusal is not None:
        raise UnsupportedError(refusal)
    return _QuadRun(prepared, tolerance).trajectory(times, progress)


class _QuadRun:
    """A prepared run carried over to quadruple precision."""

    def __init__(self, prepared: Prepared, tolerance: float) -> None:
        self.prepared = prepared
        self.tolerance = tolerance
        self.p = quads(prepared.values)
        self.start = quads(prepared.initial)
        self._make_consistent()
        self._measure_references()

    def trajectory(self, times: np.ndarray, progress: Progress | None) -> ReferenceRun:
        """Integrate over the sample times, which may be in any order."""
        begin = time.perf_counter()
        motion = QuadMotion(self.prepared, self.start, self.p, self.tolerance)
        compiled = time.perf_counter()
        backwards = self.prepared.until < self.prepared.start_time
        ordered = np.unique(times)[:: -1 if backwards else 1]
        record = motion.through(ordered, progress)
        ended = time.perf_counter()
        reached = ordered[: len(record.samples)]
        kept = np.isin(times, reached)
        place = {moment: index for index, moment in enumerate(reached)}
        samples = [record.samples[place[moment]] for moment in times[kept]]
        labels = self.prepared.problem.labels
        columns = {
            name: array_of([sample.x[index] for sample in samples])
            for index, name in enumerate(labels.states)
        }
        return ReferenceRun(
            times=times[kept],
            states={name: column.astype(float) for name, column in columns.items()},
            decimals={name: tuple(map(str, column)) for name, column in columns.items()},
            units={name: labels.units()[name] for name in labels.states},
            events=tuple(self._event(record, event) for event in record.events),
            event_count=len(record.events),
            event_decimals=tuple(str(event.at.time) for event in record.events),
            residuals=self._residuals(record),
            start_moved=float(np.max(np.abs(self.start - quads(self.prepared.initial)))),
            tolerance=self.tolerance,
            end_time=float(motion.here.time),
            message=record.message,
            steps=record.steps,
            compile_seconds=compiled - begin,
            wall_seconds=ended - compiled,
        )

    def _event(self, record: MotionRecord, event: ReferenceEvent) -> EventRecord:
        """Return an event with doubles for all its numbers."""
        labels, values = self.prepared.problem.labels, list(self.prepared.problem.values)

        def named(place: QuadrupleState) -> dict[str, float]:
            return dict(zip(labels.states, map(float, place.x), strict=False))

        after = None
        if event.after is not None:
            p = record.modes[event.after.mode]
            discrete = self.prepared.dynamics.discrete
            after = named(event.after) | {n: float(p[values.index(n)]) for n in discrete}
        impact = None if event.jump is None else event.jump.impact
        time = float(event.at.time)
        return EventRecord(time, event.name, named(event.at), after, event.fired, impact)

    # -- the start ----------------------------------------------------------------------------

    def _make_consistent(self) -> None:
        """Move the start least until every constraint holds: positions first, then velocities."""
        for residuals, columns in constraint_levels(self.prepared.dynamics):
            if residuals.numel():
                self._project(residuals, columns)

    def _project(self, residuals: ca.SX, columns: np.ndarray) -> None:
        dynamics, moment = self.prepared.dynamics, self.prepared.start_time
        size = dynamics.x.numel()
        slopes = ca.jacobian(residuals, dynamics.x)[:, columns.tolist()]
        function = ca.Function("slopes", [dynamics.t, dynamics.x, dynamics.p], [slopes])
        point: np.ndarray = self.start[:size].astype(float)
        inverse = np.linalg.pinv(
            np.asarray(function(moment, point, self.prepared.values)), rcond=1e-12
        )
        missed = self._function(residuals)
        last = np.inf
        for _ in range(POLISHING_STEPS):
            error = evaluate(missed, moment, self.start[:size], self.p)[0]
            largest = float(np.max(np.abs(error)))
            if largest == 0.0 or largest >= last:
                return
            last = largest
            # The error keeps its leading 16 digits as a double, however small it is.
            self.start[columns] -= quads(inverse @ error.astype(float))

    def _measure_references(self) -> None:
        """Evaluate the quantities that are measured from the start."""
        dynamics = self.prepared.dynamics
        held = {row.name: row.value for row in dynamics.invariants}
        held |= {row.name: row.chain[0] for row in dynamics.rows if row.from_start}
        places = [ValueKind.REFERENCE.place(name, dynamics.values) for name in held]
        for place in places:
            self.p[place] = quad(0.0)
        function = self._function(ca.vertcat(ca.SX(0, 1), *held.values()))
        start = self.start[: dynamics.x.numel()]
        values = evaluate(function, self.prepared.start_time, start, self.p)[0]
        for place, value in zip(places, values, strict=True):
            self.p[place] = value

    def _function(self, expression: ca.SX) -> ca.Function:
        dynamics = self.prepared.dynamics
        return ca.Function("f", [dynamics.t, dynamics.x, dynamics.p], [ca.densify(expression)])

    def _residuals(self, record: MotionRecord) -> dict[str, float]:
        """Return the largest of each residual over its scale."""
        problem, prepared = self.prepared.problem, self.prepared
        if not record.samples:
            return {}
        count = len(problem.watched)
        t, x, p = (problem.residuals.sx_in(k) for k in range(3))
        watched = problem.residuals(t, x, p)[0][: count + 1]
        function = function_of("watched", [t, x, p], [watched], (["t", "x", "p"], ["watched"]))
        rows = [
            evaluate(function, Moment(sample.time), sample.x, record.modes[sample.mode])[0]
            for sample in record.samples
        ]
        largest = np.max(np.abs(np.array([entry.astype(float) for entry in rows])), axis=0)
        # An energy without a scale of its own takes the largest kinetic energy, if there is any.
        scales = np.where(np.isnan(prepared.scales), largest[count] or 1.0, prepared.scales)
        return {
            watched.name: float(size / scale)
            for watched, size, scale in zip(problem.watched, largest[:count], scales, strict=True)
        }
