"""Dirac's equations and their refinement as control systems, which keep R = 0 along the motion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import casadi as ca

from daesolve.algebra.linear import is_zero
from daesolve.nonholonomic.dirac import DiracEquations
from daesolve.posing.events import RISING, Event, Stop
from daesolve.posing.goals import Goal
from daesolve.posing.symbols import SymbolVector, velocity_name
from daesolve.system.system import ControlSystem, MechanicalSystem, Output

LOST = "slow_manifold_lost"
"""The event that ends a run where fast and slow motions can no longer be distinguished."""
NOTHING_SLOW = (
    "the fast motion becomes so slow that the small velocities are no longer determined by the "
    "forces; end before, or integrate the full system"
)


def leading_system(
    full: MechanicalSystem, equations: DiracEquations, states: SymbolVector, small: Sequence[int]
) -> ControlSystem:
    """Pose Dirac's equations: x' = g(x, lambda), R(x, lambda) = 0.

    Parameters
    ----------
    full
        The system they come from.
    equations
        The equations, in the symbols of the states.
    states
        x = (positions, p1) and the small velocities.
    small
        The indices of the small velocities among all.
    """
    names = [full.coordinates.names[index] for index in small]
    goals = [
        Goal(f"balance_{name}", equations.balance[index], ideal=False, at_start=True)
        for index, name in enumerate(names)
    ]
    e = equations
    return _posed(full, states, e.rate, e.velocities, goals, e.lengthening(e.changing))


def added_names(small: Iterable[str]) -> tuple[str, ...]:
    """Name what the refinement has besides: the small velocities of order 0, and their rates."""
    leading = [f"{name}_leading" for name in small]
    return (*leading, *[velocity_name(name) for name in leading])


def refined_system(
    full: MechanicalSystem, equations: DiracEquations, states: SymbolVector, small: Sequence[int]
) -> ControlSystem:
    """Pose the refinement: x' = g(x, lambda1) + neglected terms, with goals for lambda1.

    These are R = 0 for lambda0, M lambda0' + drift = 0, and M (lambda1 - lambda0) = S lambda0' +
    carried. With lambda0 and lambda0' as states none of it need be solved for, and where M is
    singular the goals lose their grip.

    Parameters
    ----------
    full, equations, states, small
        As in `leading_system`. The small velocities become lambda1; lambda0 and lambda0' are
        added to the states, by their `added_names`.
    """
    e, count = equations, len(small)
    units = states.units[-count:]
    both = SymbolVector(
        states.names + added_names(states.names[-count:]),
        states.units + units + tuple(f"{unit}/s" for unit in units),
        "state",
    )
    moving, leading, changing = ca.vertsplit(both.vector[len(both) - 3 * count :], count)

    def written(expression: ca.SX, multipliers: ca.SX) -> ca.SX:
        own = ca.vertcat(both.vector[: e.slow.numel()], multipliers)
        return ca.substitute(expression, ca.vertcat(e.slow, e.multipliers), own)

    solvability, inertia = written(e.solvability, leading), written(e.inertia, leading)
    residuals = {
        "balance": written(e.balance, leading),
        "drift": solvability @ changing + written(e.drift, leading),
        "lag": solvability @ (moving - leading) - inertia @ changing - written(e.carried, leading),
    }
    goals = [
        Goal(f"{kind}_{full.coordinates.names[index]}", residual[place], ideal=False, at_start=True)
        for kind, residual in residuals.items()
        for place, index in enumerate(small)
    ]
    rate = written(e.rate + e.neglected, moving)
    lengthening = written(e.lengthening(changing), leading)
    return _posed(full, both, rate, written(e.velocities, moving), goals, lengthening)


def _posed(
    full: MechanicalSystem,
    states: SymbolVector,
    rate: ca.SX,
    velocities: ca.SX,
    goals: Sequence[Goal],
    lengthening: ca.SX,
) -> ControlSystem:
    """Pose a control system whose last states, the small velocities, change as the goals have it.

    Parameters
    ----------
    rate
        Of the states that are no small velocities.
    velocities
        Those of the full system.
    lengthening
        T' as in `DiracEquations`: at 1 a run ends.
    """
    dynamics = full.dynamics
    count = dynamics.position_count
    moving = states.names[rate.numel() :]
    units = tuple(f"{unit}/s" for unit in states.units[rate.numel() :])
    controls = SymbolVector(tuple(f"{name}_rate" for name in moving), units, "reaction")

    def written(expression: ca.SX) -> ca.SX:
        return ca.substitute(expression, dynamics.x, ca.vertcat(states.vector[:count], velocities))

    labels = dynamics.labels
    outputs: dict[str, Output] = {
        name: (velocities[index], unit)
        for index, (name, unit) in enumerate(zip(full.v.names, full.v.units, strict=True))
        if name not in states
    }
    outputs |= {
        name: (written(expression), unit)
        for (name, expression), unit in zip(
            dynamics.outputs.items(), labels.output_units, strict=True
        )
    }
    events = [replace(event, guard=written(event.guards)) for event in dynamics.events]
    if not is_zero(lengthening):
        events.append(Event(LOST, lengthening**2 - 1, RISING, Stop(NOTHING_SLOW)))
    return ControlSystem(
        states,
        ca.vertcat(rate, controls.vector),
        parameters=full.parameters,
        controls=controls,
        goals=goals,
        discrete=full.discrete,
        events=events,
        outputs=outputs,
    )
