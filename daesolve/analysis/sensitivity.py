"""Dependence of a motion on parameters and start values, through events and impacts.

The motion is run once; then `propagation` carries the derivatives of its start along it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from daesolve.analysis.propagation import Propagation
from daesolve.analysis.sample_derivatives import SampleDerivatives, derivatives_at_samples
from daesolve.analysis.start_derivatives import differentiated_start
from daesolve.analysis.state_field import kinks_at
from daesolve.core.equations.consistency import check_named, start_value
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.preparation.request import Request, with_inputs
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.record import RunRecord
from daesolve.core.run.integration.run_options import RunOptions, check_options, requested
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.simulation import simulate_recorded
from daesolve.core.system.consistent_state import check_system, parameter_values
from daesolve.core.system.system import System
from daesolve.errors import (
    NoDerivativeError,
    OutOfRangeError,
    check_names,
    suggest_names,
    unknown_name,
)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of the final state: `found["x", "length"]` is d x / d length.

    Parameters
    ----------
    states, by
        The names of the rows and of the columns.
    matrix
        (n, k) derivatives of the final state. If an event ends the run, they apply to the state at
        the event, whose time varies.
    start
        (n, k) derivatives of the start.
    end_time
        The derivative of the final time by name: zero unless an event ends the run.
    event_times
        (number of events, k) derivatives of the times of `run.events`.
    run
        The motion.
    notes
        Notes on the method, and on one-sided derivatives.
    along
        The derivatives at the samples of `run`; None if `at` was not given.
    event_states
        For each of `run.events`, the derivatives of the state before and after it, (n, k), at its
        own time, which varies; both are the same if nothing changed there.
    """

    states: tuple[str, ...]
    by: tuple[str, ...]
    matrix: np.ndarray
    start: np.ndarray
    end_time: Mapping[str, float]
    event_times: np.ndarray
    run: Trajectory
    notes: tuple[str, ...]
    along: SampleDerivatives | None = None
    event_states: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def __post_init__(self) -> None:
        suggest_names(self, end_time="parameter or start value of the derivatives")

    @property
    def final_state(self) -> Mapping[str, float]:
        """The final state by name."""
        return self.run.end_state

    def __getitem__(self, names: tuple[str, str]) -> float:
        """Return the derivative of a state by a parameter or a start value.

        Raises
        ------
        UnknownNameError
            A name is not a row or column.
        """
        state, by = names
        check_names("state", [state], self.states)
        check_names("parameter or start value of the derivatives", [by], self.by)
        return float(self.matrix[self.states.index(state), self.by.index(by)])

    def __str__(self) -> str:
        lines = [f"derivatives of the state at t = {self.run.end_time:.10g} s"]
        for index, by in enumerate(self.by):
            column = zip(self.states, self.matrix[:, index].tolist(), strict=True)
            lines.append(
                f"  by {by}: " + ", ".join(f"{name} {value:.6g}" for name, value in column)
            )
        return "\n".join(lines)


def sensitivity(
    system: System,
    until: float,
    initial: Mapping[str, float] | None = None,
    *,
    by: Sequence[str],
    **options: Unpack[RunOptions],
) -> Sensitivity:
    """Differentiate a motion by parameters and start values, including events.

    Parameters
    ----------
    system, until, initial
        As in `solve`.
    by
        Names of parameters, and of start values kept by `initial`.
    **options
        See `RunOptions`. With `at`, the derivatives at these samples are found as well.

    Returns
    -------
    Sensitivity
        The derivatives, and the run.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name is unknown, or is a start value that follows from the others.
    InconsistentStateError
        The start values do not let the start follow a change.
    NoDerivativeError
        The run did not reach its end, or a guard has no slope where it passes zero.
    DaesolveError
        The request cannot be run.

    Notes
    -----
    Where constraints and start values that follow from others move the start, it is differentiated
    by extrapolated differences, everything else exactly. The same
    solver integrates the variational equations. If it solves only differential-algebraic equations,
    another solver is chosen and a note names it.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(y="m")
    >>> p = ds.parameters(gravity=(10.0, "m/s^2"), restitution=(0.5, ""))
    >>> floor = ds.Event("floor", q.y, ds.FALLING, ds.Reset({"y_dot": -p.restitution * q.dot.y}))
    >>> kinetic, potential = q.dot.y**2 / 2, p.gravity * q.y
    >>> ball = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, events=[floor])
    >>> start = {"y": 5.0, "y_dot": 0.0}
    >>> found = ds.analysis.sensitivity(ball, 1.5, start, by=["y", "restitution"])
    >>> [round(found["y", name], 12) for name in found.by]
    [0.25, 5.0]
    """
    check_options("sensitivity", options)
    return sensitivity_of(*varied_system(system, by, until, initial, options))


Varied = tuple[System, Callable[[Mapping[str, float]], Request], dict[str, float], At]
"""A system, the request for some of the numbers, all of them, and the sample times."""


def varied_system(
    system: System,
    by: Sequence[str],
    until: float,
    initial: Mapping[str, float] | None,
    options: RunOptions,
) -> Varied:
    """Return what `sensitivity_of` takes, for a system; see `sensitivity`."""
    check_system(system)
    chosen = check_named("initial", initial)
    request, at = requested(until, chosen, options)
    system, request = with_inputs(system, request)
    dynamics = system.dynamics
    given = parameter_values(dynamics, request.parameters)
    request = replace(request, parameters=given)
    numbers = {name: dynamics.values[name] for name in dynamics.posed_ranges} | given

    def changed(values: Mapping[str, float]) -> Request:
        mine = {name: value for name, value in values.items() if name in numbers}
        others = {name: value for name, value in values.items() if name not in numbers}
        return replace(
            request,
            parameters={**request.parameters, **mine},
            initial={**request.initial, **others},
        )

    nominal = nominal_values(by, numbers, chosen, dynamics.labels.states)
    return system, changed, nominal, at


def nominal_values(
    by: Sequence[str],
    parameters: Mapping[str, float],
    starts: Mapping[str, float],
    open_names: Sequence[str],
) -> dict[str, float]:
    """Return the values of the numbers to differentiate by.

    Parameters
    ----------
    by
        The requested names.
    parameters, starts
        The available numbers, with their values.
    open_names
        Start values that are not given.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        As in `sensitivity`.
    """
    if isinstance(by, str) or not isinstance(by, Sequence) or not len(by):
        raise OutOfRangeError(
            f"by is {by!r}, but must be a list of at least one name of a parameter or start value"
        )
    known = {**starts, **parameters}
    for name in by:
        if name in known:
            continue
        if name in open_names:
            raise OutOfRangeError(
                f"the start value {name!r} is not fixed, but follows from the others; give it "
                "in initial, or use one of " + ", ".join(map(repr, known))
            )
        raise unknown_name(
            "parameter or start value", name, list(dict.fromkeys([*known, *open_names]))
        )
    return {name: start_value(name, known[name]) for name in by}


def sensitivity_of(
    system: System,
    request: Callable[[Mapping[str, float]], Request],
    nominal: Mapping[str, float],
    at: At = None,
) -> Sensitivity:
    """Differentiate a run by the numbers on which its request depends.

    Parameters
    ----------
    system
        The posed system, which does not depend on them.
    request
        Returns the request for some of the numbers, by name; the others are nominal.
    nominal
        The numbers.
    at
        Sample times of the run.

    Raises
    ------
    DaesolveError
        As in `sensitivity`.
    """
    prepared, start_slopes, start_note = differentiated_start(system, request, nominal)
    run, record = recorded_run(prepared, at)
    propagation = Propagation(prepared, record, prepared.request.solver, start_slopes, nominal)
    propagation.sides = []
    sampled: dict[int, tuple[np.ndarray, np.ndarray]] | None = None if at is None else {}
    final, end_time = propagation.to_end(run.outcome, sampled)
    along = None
    if sampled is not None:
        along = derivatives_at_samples(propagation, sampled, at, (run.outcome, end_time))
    hidden, count = prepared.dynamics.hidden_events, len(prepared.problem.labels.states)
    shown = [k for k, event in enumerate(record.events) if event.name not in hidden]
    event_times = [propagation.event_times[k] for k in shown]
    sides = [propagation.sides[k] for k in shown]
    notes = (
        start_note,
        *propagation.notes(),
        *kink_notes(prepared, record),
    )
    return Sensitivity(
        states=prepared.problem.labels.states,
        by=tuple(nominal),
        matrix=final[:count],
        start=start_slopes[:count],
        end_time=dict(zip(nominal, end_time.tolist(), strict=True)),
        event_times=np.array(event_times).reshape(len(run.events), len(nominal)),
        run=run,
        notes=notes,
        along=along,
        event_states=tuple(
            (before[:count], (before if after is None else after)[:count])
            for before, after in sides
        ),
    )


def recorded_run(prepared: Prepared, at: At) -> tuple[Trajectory, RunRecord]:
    """Run what is to be differentiated.

    Raises
    ------
    NoDerivativeError
        The run did not reach its end.
    """
    run, record = simulate_recorded(prepared, at)
    if not run.outcome.good:
        raise NoDerivativeError(
            f"the run has no end to differentiate, because it is {run.outcome.value}: {run.message}"
        )
    return run, record


def kink_notes(prepared: Prepared, record: RunRecord) -> list[str]:
    """Return notes on the kinks and jumps of the equations that the motion meets."""
    dynamics = prepared.dynamics
    passed = [event for event in record.events if event.name in dynamics.switches]
    sentences: list[str] = []
    if passed:
        names = ", ".join(dict.fromkeys(event.name for event in passed))
        sentences.append(
            f"the motion passes kinks or jumps of the equations, by {names}, first at t = "
            f"{passed[0].time:.10g} s: the derivative is that of motions which pass them alike"
        )
    own = prepared.values[: dynamics.p.numel()]
    begun = kinks_at(dynamics, own, prepared.start_time, prepared.start.state)
    if begun:
        sentences.append(
            f"the motion begins at a kink or a jump of the equations, by {', '.join(begun)}: the "
            "derivative is that of one side"
        )
    return sentences


def nothing_to_differentiate_by(known: Sequence[str]) -> OutOfRangeError:
    """Return the error for a missing name, which lists the available ones."""
    return OutOfRangeError(
        "sensitivity needs the names of parameters or start values to differentiate by "
        f"(of=[...], --of NAME): there are {', '.join(map(repr, dict.fromkeys(known)))}"
    )
