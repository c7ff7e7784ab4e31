"""Where a run starts: a consistent state, the values of p there, the mode in which it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.equations.consistency import Start, check_named, complete_start
from daesolve.equations.dynamics import Dynamics
from daesolve.formulations import Formulation
from daesolve.modes.law import Beginning
from daesolve.modes.transitions import begin
from daesolve.posing.value_names import ValueKind
from daesolve.preparation.request import Request
from daesolve.system.consistent_state import parameter_values


@dataclass(frozen=True, eq=False)
class InitialState:
    """Where a run starts.

    Parameters
    ----------
    start
        The consistent start and what was changed for it.
    values
        p by name.
    resting
        Whether dry friction holds the body at rest from the start on.
    energy
        The kinetic energy that a body in guides has or would reach, J; None without guides.
    notes
        What the laws of its modes have chosen, in words.
    """

    start: Start
    values: dict[str, float]
    resting: bool
    energy: float | None
    notes: tuple[str, ...]


def initial_state(dynamics: Dynamics, formulation: Formulation, request: Request) -> InitialState:
    """Choose the mode and the discrete values that fit the consistent start.

    Raises
    ------
    DaesolveError
        A parameter cannot be, no consistent state agrees with the start values, or no motion goes
        on from there.
    """
    start, values = starting_point(dynamics, request)
    values |= formulation.values(dynamics)
    beginning = Beginning(
        request.start_time, request.until, start.state, values, request.variant_policy
    )
    begun = begin(dynamics, beginning)
    return InitialState(
        start=replace(start, state=begun.state),
        values=dict(begun.values),
        resting=begun.resting,
        energy=begun.energy,
        notes=begun.notes,
    )


def starting_point(dynamics: Dynamics, request: Request) -> tuple[Start, dict[str, float]]:
    """Return the consistent start, and the values of p by name, the references there included.

    Raises
    ------
    DaesolveError
        A parameter cannot be, or no consistent state agrees with the start values.
    """
    values = dict(dynamics.values)
    values |= parameter_values(dynamics, check_named("parameters", request.parameters))
    start = complete_start(
        dynamics,
        dynamics.value_vector(values),
        request.initial,
        guess=request.guess,
        time=request.start_time,
    )
    return start, values | _references(dynamics, start.state, request.start_time, values)


def _references(
    dynamics: Dynamics, state: np.ndarray, time: float, values: Mapping[str, float]
) -> dict[str, float]:
    held = {row.name: row.held for row in dynamics.invariants}
    held |= {row.name: row.chain[0] for row in dynamics.rows if row.from_start}
    if not held:
        return {}
    function = ca.Function(
        "held", [dynamics.t, dynamics.x, dynamics.p], [ca.vertcat(*held.values())]
    )
    names = [ValueKind.REFERENCE.name_of(name) for name in held]
    numbers = dynamics.value_vector({**values, **dict.fromkeys(names, 0.0)})
    found = np.asarray(function(time, state, numbers)).ravel()
    return {name: float(value) for name, value in zip(names, found, strict=True)}
