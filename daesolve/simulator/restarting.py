"""A prepared run with another start: nothing is built, chosen or compiled again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from daesolve.core.events.let_go import LettingGo
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.examination import InitialState, initial_state, parameter_values
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.redundant_rows import with_rows
from daesolve.core.preparation.request import Request
from daesolve.errors import InconsistentStateError

CHOSEN = (
    ValueKind.RATE,
    ValueKind.FLOOR,
    ValueKind.REGULARISATION,
    ValueKind.TYPICAL,
    ValueKind.KEPT,
)
"""Values that are chosen once, before a run, whatever its start."""


def restarted(
    prepared: Prepared,
    time: float,
    initial: Mapping[str, float],
    guess: Mapping[str, float],
    inputs: Mapping[str, float],
) -> Prepared:
    """Return a run that starts elsewhere.

    Parameters
    ----------
    prepared
        What was prepared.
    time
        The start, s.
    initial, guess
        States by name: to keep, and to stay near to.
    inputs
        Inputs that are numbers, in force there.

    Raises
    ------
    DaesolveError
        No consistent state agrees with `initial`, or no motion continues from there.
    """
    dynamics, problem = prepared.dynamics, prepared.problem
    request = replace(
        prepared.request,
        start_time=time,
        until=time + 1.0,
        initial=dict(initial),
        guess={name: value for name, value in guess.items() if name not in initial},
        parameters={**prepared.request.parameters, **inputs},
        inputs={},
    )
    begin = _begun(prepared, request)
    values = dict(zip(problem.values, prepared.values.tolist(), strict=True))
    found = begin.values.items()
    values |= {n: v for n, v in found if n in values and not any(kind.is_a(n) for kind in CHOSEN)}
    if dynamics.alternatives is not None:
        values = with_rows(dynamics.alternatives, problem, time, begin.start.state, values)
    numbers = problem.value_vector(values)
    if problem.chart is not None and problem.chart.choose is not None:
        path = begin.start.state[None, :]
        numbers = problem.chart.choose(time, begin.start.state, numbers, path)
    if prepared.transitions is not None:
        x = problem.enter(time, begin.start.state, numbers)
        prepared.transitions.check_start(time, x, numbers)
    return replace(
        prepared,
        # The motion comes here from nowhere: it has not passed the guards that are past zero.
        request=replace(prepared.request, begun=None, initial=dict(initial)),
        start=begin.start,
        start_time=time,
        values=np.asarray(numbers, dtype=float),
        resting=begin.resting,
    )


def _begun(prepared: Prepared, request: Request) -> InitialState:
    """Return the start, without goals that the state which is asked for does not let close."""
    try:
        return initial_state(prepared.dynamics, prepared.formulation, request)
    except InconsistentStateError:
        opened = _opened(prepared, request)
        if not opened:
            raise
    parameters = {**request.parameters, **dict.fromkeys(opened, 0.0)}
    request = replace(request, parameters=parameters)
    return initial_state(prepared.dynamics, prepared.formulation, request)


def _opened(prepared: Prepared, request: Request) -> list[str]:
    """Return the discrete values of unilateral goals whose gap is open or moves in a state."""
    dynamics = prepared.dynamics
    if prepared.transitions is None or not dynamics.unilateral:
        return []
    given = {**request.guess, **request.initial}
    if not given.keys() >= {*dynamics.labels.states}:
        return []
    state = np.array([given[name] for name in dynamics.labels.states])
    p = dynamics.value_vector(parameter_values(dynamics, request.parameters))
    leaves = LettingGo(prepared.transitions.setting).leaves(request.start_time, state, p)
    names = list(dynamics.values)
    return [names[row.hold] for row, gone in zip(dynamics.unilateral, leaves, strict=True) if gone]
