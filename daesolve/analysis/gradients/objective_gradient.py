"""The gradient of an objective by many numbers at once, at the cost of a few runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, Unpack, runtime_checkable

import numpy as np

from daesolve.analysis.gradients.backward_flow import BackwardFlow
from daesolve.analysis.gradients.forward_gradient import ForwardGradient
from daesolve.analysis.gradients.objective import (
    Expression,
    Objective,
    expression_slopes,
    sample_cotangents,
)
from daesolve.analysis.gradients.reversal import Pull, Reversal
from daesolve.analysis.propagation import Propagation
from daesolve.analysis.run_events import RunEvents
from daesolve.analysis.sample_derivatives import order_of_samples
from daesolve.analysis.sensitivity import (
    Varied,
    kink_notes,
    recorded_run,
    varied_system,
)
from daesolve.analysis.start_derivatives import Requests, differentiated_start
from daesolve.analysis.variational import changing_values
from daesolve.analysis.variational_flow import WholeState
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.record import RunRecord
from daesolve.core.run.integration.run_options import RunOptions, check_options
from daesolve.core.run.integration.sampling import At, Every, EveryEvent
from daesolve.core.solvers import Solver
from daesolve.core.system.system import System
from daesolve.errors import NoDerivativeError, OutOfRangeError, check_names, unknown_name

EVENT_TIMES = "event_times"
"""Under this name, a term of samples has its derivatives by the times of events."""


@runtime_checkable
class DifferentiableCase(Protocol):
    """A case of a problem that can be differentiated."""

    def varied(
        self,
        by: Sequence[str],
        until: float | None,
        initial: Mapping[str, float] | None,
        options: RunOptions,
        /,
    ) -> Varied:
        """Return its system, the request for some numbers, all of them, and the sample times."""
        ...


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient of an objective: `found["length"]` is its derivative by the length.

    Parameters
    ----------
    value
        The objective.
    by
        The names of the k numbers.
    vector
        (k,) the derivatives by them.
    run
        The motion.
    notes
        Notes on the method, and on one-sided derivatives.
    """

    value: float
    by: tuple[str, ...]
    vector: np.ndarray
    run: Trajectory
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        """Return the derivative by a parameter or a start value.

        Raises
        ------
        UnknownNameError
            The objective was not differentiated by it.
        """
        check_names("parameter or start value of the derivatives", [name], self.by)
        return float(self.vector[self.by.index(name)])

    def __str__(self) -> str:
        pairs = zip(self.by, self.vector.tolist(), strict=True)
        return f"objective {self.value:.10g}; by " + ", ".join(
            f"{name} {slope:.6g}" for name, slope in pairs
        )


def gradient(
    source: System | DifferentiableCase,
    objective: Objective,
    until: float | None = None,
    initial: Mapping[str, float] | None = None,
    *,
    by: Sequence[str],
    **options: Unpack[RunOptions],
) -> Gradient:
    """Differentiate an objective by many parameters and start values, including events.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    objective
        What is differentiated.
    until, initial
        As in `solve`; None takes those of a case.
    by
        Names as in `sensitivity`.
    **options
        See `RunOptions`; `at` sets the samples of the objective.

    Returns
    -------
    Gradient
        The objective, its derivatives, and the run.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name is unknown, or a term of the objective is not a number of the quantities.
    NoDerivativeError
        As in `sensitivity`.
    DaesolveError
        The request cannot be run.

    Notes
    -----
    The derivatives of the objective are carried back once, whatever the number of names;
    `sensitivity` carries those of all states forwards, for each name. Both agree to rounding. Where
    laws decide what contacts do and there are few names, or no derivative goes back in every
    direction, the gradient is found from forward derivatives; a note says so.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> p = ds.parameters(stiffness=(4.0, "N/m"))
    >>> kinetic, potential = q.dot.x**2 / 2, p.stiffness * q.x**2 / 2
    >>> spring = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential)
    >>> objective = ds.analysis.Objective(end=lambda now: now["x"])
    >>> found = ds.analysis.gradient(spring, objective, 1.0, {"x": 1.0, "x_dot": 0.0}, by=["x"])
    >>> round(found.value, 12) == round(found["x"], 12)
    True
    """
    check_options("gradient", options)
    return gradient_of(
        objective, *differentiated_case(source, objective, by, until, initial, options)
    )


def differentiated_case(
    source: System | DifferentiableCase,
    objective: Objective,
    by: Sequence[str],
    until: float | None,
    initial: Mapping[str, float] | None,
    options: RunOptions,
) -> Varied:
    """Return what `gradient_of` takes; see `gradient`."""
    if not isinstance(objective, Objective):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OutOfRangeError(f"objective is {objective!r}, but must be an Objective")
    if isinstance(source, DifferentiableCase):
        return source.varied(by, until, initial, options)
    if until is None:
        raise OutOfRangeError("until is missing: a system has no horizon")
    return varied_system(source, by, until, initial, options)


def gradient_of(
    objective: Objective, system: System, request: Requests, nominal: Mapping[str, float], asked: At
) -> Gradient:
    """Differentiate an objective by the numbers on which a request depends."""
    return carried_objective(objective, system, request, nominal, asked).gradient


def carried_objective(
    objective: Objective, system: System, request: Requests, nominal: Mapping[str, float], asked: At
) -> Carried:
    """Run what an objective judges, and carry its derivatives."""
    prepared, start_slopes, start_note = differentiated_start(system, request, nominal)
    if objective.expressions:
        prepared = replace(prepared, wrapped=())  # Expressions see whole turns.
    at = _sample_times(objective, asked, prepared)
    run, record = recorded_run(prepared, at)
    events = RunEvents(prepared, record)
    active = _active(prepared, record, start_slopes)
    terms = _terms(objective, events, run, at)
    carried = _Carried(events, active, start_slopes, nominal, objective, (run.outcome, at), terms)
    value, vector, notes = carried.found()
    notes = (start_note, *notes, *kink_notes(prepared, record))
    found = Gradient(terms.value + value, tuple(nominal), vector, run, notes)
    return Carried(events, active, start_slopes, at, found)


@dataclass(frozen=True, eq=False)
class Carried:
    """A run and the gradient of an objective.

    Parameters
    ----------
    events
        The run.
    active
        The indices of values that may change.
    start_slopes
        (n + np, k) the derivatives of the start.
    at
        The sample times.
    gradient
        The gradient.
    """

    events: RunEvents
    active: list[int]
    start_slopes: np.ndarray
    at: At
    gradient: Gradient


@dataclass(frozen=True, eq=False)
class _Terms:
    """The value of the terms of samples, their derivatives, and those by all event times."""

    value: float
    pulls: dict[int, Pull]
    by_event: np.ndarray


Carriage = tuple[float, np.ndarray, Sequence[str]]
"""The value of the terms of the end and of what is integrated, the gradient, and notes."""


@dataclass(frozen=True, eq=False)
class _Carried:
    """What the derivatives of an objective are carried along, back or forwards."""

    events: RunEvents
    active: list[int]
    start_slopes: np.ndarray
    nominal: Mapping[str, float]
    objective: Objective
    ended: tuple[Outcome, At]
    terms: _Terms

    @property
    def solver(self) -> Solver | None:
        return self.events.prepared.request.solver

    def found(self) -> Carriage:
        """Carry them back, or forwards where that is less work, or the way back is closed."""
        moves = isinstance(self.ended[1], EveryEvent)
        running = self.objective.running
        ended = self.ended[0], moves
        try:
            reversal = Reversal(self.events, self.active, running, self.solver, ended)
            if reversal.directions < len(self.nominal):
                return self.backwards(reversal)
            return self.forwards("laws decide what contacts do, and the numbers are few")
        except NoDerivativeError as refusal:
            return self.forwards(str(refusal))

    def backwards(self, reversal: Reversal) -> Carriage:
        """Carry them back once, whatever the number of names."""
        terms, end = self.terms, self.objective.end
        slopes = None if end is None else expression_slopes(self.events.problem, end)
        value, start = reversal.to_start(slopes, terms.pulls, terms.by_event)
        visible = len(self.start_slopes) - len(start.values)
        explicit = np.concatenate([start.state[:visible], start.values])
        return value, explicit @ self.start_slopes, reversal.notes()

    def forwards(self, why: str) -> Carriage:
        """Carry those by each name forwards, and say why."""
        prepared, record = self.events.prepared, self.events.record
        propagation = Propagation(prepared, record, self.solver, self.start_slopes, self.nominal)
        carried = ForwardGradient(propagation, *self.ended, self.active)
        value, vector = 0.0, carried.of_samples(self.terms.pulls, self.terms.by_event)
        if self.objective.end is not None:
            more, slopes = carried.of_end(self.objective.end)
            value, vector = value + more, vector + slopes
        if (running := self.objective.running) is not None:
            flow = BackwardFlow(self.events, self.active, running, self.solver)
            more, slopes = carried.of_running(running, flow)
            value, vector = value + more, vector + slopes
        own = f"derivatives by each number carried forwards, because {why}"
        return value, vector, [own, *propagation.notes()]


def _sample_times(objective: Objective, asked: At, prepared: Prepared) -> At:
    """Return the sample times: those asked for, and those of terms at given times.

    Raises
    ------
    OutOfRangeError
        Terms at given times meet samples that are not listed, or samples are missing.
    """
    times = [float(time) for time in objective.at]
    if asked is None:
        if objective.samples is not None and not times:
            raise OutOfRangeError(
                "the objective has a term of samples, but at is not given: list their times"
            )
        return np.array(times) if times else None
    if isinstance(asked, Every | EveryEvent):
        if times:
            raise OutOfRangeError(
                "the objective has terms at given times, so the times of other samples must be a "
                "list of numbers as well (at=[...])"
            )
        return asked
    listed = np.ravel(np.asarray(asked, dtype=float))
    return np.concatenate([listed, [time for time in times if time not in listed]])


def _active(prepared: Prepared, record: RunRecord, start_slopes: np.ndarray) -> list[int]:
    """Return the indices of values that may depend on the numbers of the derivatives."""
    names = list(prepared.dynamics.values)
    varied = np.any(start_slopes[len(start_slopes) - len(names) :], axis=1)
    modes = np.array(record.modes)[:, : len(names)]
    varied |= np.any(modes != modes[0], axis=0)
    if any(event.after is not None for event in record.events):
        known = {*prepared.dynamics.discrete}
        varied |= np.array([name in known or name.startswith("reference_") for name in names])
    return [k for k in changing_values(prepared.dynamics) if varied[k]]


def _terms(objective: Objective, events: RunEvents, run: Trajectory, at: At) -> _Terms:
    """Return the terms of samples.

    Raises
    ------
    OutOfRangeError
        As in `timed_terms`.
    """
    problem, record = events.problem, events.record
    order, _ = order_of_samples(record, at, events.prepared.sign)
    value, pulls = 0.0, dict[int, Pull]()
    by_event = np.zeros(len(record.events))
    if objective.samples is not None:
        own, partials = objective.samples(run)
        value += float(own)
        weights, by_event = _weights(partials, events, run)
        function = sample_cotangents(problem)

        def pull(row: np.ndarray, place: WholeState) -> tuple[float, np.ndarray, np.ndarray]:
            late, by_state, by_values = function(*place, row)
            return float(late[0]), by_state, by_values

        pulls |= {k: partial(pull, weights[m]) for m, k in enumerate(order) if np.any(weights[m])}
    for k, expression in timed_terms(objective, events, run, at):
        slopes = expression_slopes(problem, expression)
        value += float(slopes(*events.place(events.sample(k)))[0][0])
        pulls[k] = partial(pull_together, slopes, pulls.get(k))
    return _Terms(value, pulls, by_event)


def timed_terms(
    objective: Objective, events: RunEvents, run: Trajectory, at: At
) -> list[tuple[int, Expression]]:
    """Return the samples of the record at which an objective has terms, and these.

    Raises
    ------
    OutOfRangeError
        The run does not reach one of them.
    """
    record = events.record
    order, _ = order_of_samples(record, at, events.prepared.sign)
    known = {record.sample_times[k]: k for k in reversed(order)}
    for time in objective.at:
        if float(time) not in known:
            raise OutOfRangeError(
                f"the objective has a term at t = {time:g} s, but the run ends at "
                f"t = {run.end_time:.10g} s"
            )
    return [(known[float(time)], expression) for time, expression in objective.at.items()]


def pull_together(
    slopes: Evaluator, other: Pull | None, place: WholeState
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the derivatives of a term at a place, and of another one there."""
    _, late, by_state, by_values = slopes(*place)
    if other is None:
        return float(late[0]), by_state, by_values
    more = other(place)
    return float(late[0]) + more[0], by_state + more[1], by_values + more[2]


def _weights(
    partials: Mapping[str, Any], events: RunEvents, run: Trajectory
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives by what is sampled, (m, rows), and by the times of all events.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name is unknown, or there are not as many derivatives as samples or events.
    """
    labels, count = events.problem.labels, len(run.times)
    rows = [*labels.states, *labels.reactions, *labels.outputs]
    weights = np.zeros((count, len(rows)))
    hidden = events.prepared.dynamics.hidden_events
    shown = [k for k, event in enumerate(events.record.events) if event.name not in hidden]
    by_event = np.zeros(len(events.record.events))
    for name, given in partials.items():
        column = np.asarray(given, dtype=float).ravel()
        wanted = len(shown) if name == EVENT_TIMES else count
        if len(column) != wanted:
            raise OutOfRangeError(
                f"the objective has {len(column)} derivatives by {name!r}, but the run has "
                f"{wanted} of them"
            )
        if name == EVENT_TIMES:
            by_event[shown] = column
        elif name in rows:
            weights[:, rows.index(name)] += column
        else:
            raise unknown_name("state, reaction or output", name, [*rows, EVENT_TIMES])
    return weights, by_event
