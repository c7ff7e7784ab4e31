"""Derivatives carried along a flight to its end."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from daesolve.analysis.orbits.flow import Flow
from daesolve.analysis.orbits.nodes import Flight
from daesolve.analysis.propagation import Propagation
from daesolve.analysis.run_events import TOGETHER
from daesolve.analysis.run_legs import legs_of
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.run.integration.record import Happening


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Derivatives of the end of a flight.

    Parameters
    ----------
    state, values
        (n, k) and (np, k): derivatives of the end state and of the values there.
    notes
        Guards that pass together, and one-sided derivatives.
    apart
        (m, k) derivatives of the times between guards that pass together, in order.
    """

    state: np.ndarray
    values: np.ndarray
    notes: list[str]
    apart: np.ndarray


def derivatives(
    flow: Flow, flight: Flight, slopes: np.ndarray, *, backwards: bool = False
) -> Derivatives:
    """Carry derivatives of the start, (n + np, k), to the end of a flight.

    Guards that pass together are processed in order, or `backwards`.
    """
    if not slopes.shape[1]:  # A start without freedom, such as a follower on its cam.
        states = len(flow.names)
        return Derivatives(slopes[:states], slopes[states:], [], np.zeros((0, 0)))
    names = {f"direction {k + 1}": 1.0 for k in range(slopes.shape[1])}
    solver = flight.prepared.request.solver
    carried = Propagation(flight.prepared, flight.record, solver, slopes, names)
    carried.backwards = backwards
    for row in flow.dynamics.invariants:
        # Motions of another energy are possible: nothing may draw the motion back.
        if row.on != "positions":
            carried.rates[ValueKind.RATE.place(row.name, carried.problem.values)] = 0.0
    if flight.closing is None:
        state, _ = carried.to_end(flight.run.outcome)
    else:
        state = _to_closing(flow, carried, flight, flight.closing)
    return _result(flow, carried, flight, state)


def _to_closing(flow: Flow, carried: Propagation, flight: Flight, closing: Happening) -> np.ndarray:
    """Return the derivatives of the state at the end: at an event, or at a time beside one."""
    record = flight.record
    boundaries, legs = record.boundaries, legs_of(record, flight.prepared)
    carried.happen(legs[0], {}, np.zeros(len(carried.sizes)))
    for here, there, happened in zip(boundaries, boundaries[1:], legs[1:], strict=False):
        passing = [event.time for event in happened if event.after is None]
        changes = carried.advance(here, there.time, passing)
        place = next((k for k, event in enumerate(happened) if event is closing), None)
        if place is None:
            carried.happen(happened, changes, None)
            continue
        carried.happen(happened[: place + 1], changes, None)
        state = changes[closing.time] if closing.after is None else carried.state
        state = state[: len(flow.names)]
        if flight.stop is None:
            return state
        stop = next(k for k, event in enumerate(record.events) if event is flight.stop)
        return state + np.outer(flow.rate(flight.end), carried.event_times[stop])
    raise AssertionError("the event lies beyond the run")


def _result(flow: Flow, carried: Propagation, flight: Flight, state: np.ndarray) -> Derivatives:
    notes = [
        f"{guards} pass together: multipliers depend on their order"
        for guards in dict.fromkeys(guards for _, guards, _ in carried.parted)
    ]
    apart = [*carried.apart]
    changing = [
        (event, moved)
        for event, moved in zip(flight.happened, carried.event_times, strict=False)
        if event.after is not None and event not in flight.bends
    ]
    elapsed = abs(flight.end.time - flight.start.time)
    for (one, first), (other, second) in itertools.pairwise(changing):
        # One instant, which rounding has made two.
        if abs(other.time - one.time) <= TOGETHER * elapsed and one.after is not other.after:
            apart.append(second - first)
            notes.append(
                f"{_called(one)} and {_called(other)} pass together: multipliers depend on "
                "their order"
            )
    rows = np.array(apart).reshape(len(apart), state.shape[1])
    return Derivatives(state[: len(flow.names)], carried.values, notes, rows)


def _called(event: Happening) -> str:
    """Return the name of an event with its guards."""
    return f"{event.name!r} ({', '.join(str(guard + 1) for guard in event.fired)})"
