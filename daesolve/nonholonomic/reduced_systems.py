"""Dirac's equations and their refinement, posed as control systems that keep R = 0 (`dirac`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import casadi as ca

from daesolve.core.expressions.linear import is_zero
from daesolve.core.posing.events import RISING, Event, Stop
from daesolve.core.posing.goals import Goal
from daesolve.core.posing.inputs import Drive
from daesolve.core.posing.rewriting import Rewriting, substitution
from daesolve.core.posing.symbols import SymbolVector, velocity_name
from daesolve.core.system.system import ControlSystem, MechanicalSystem, Output
from daesolve.errors import PosingError
from daesolve.nonholonomic.dirac import DiracEquations
from daesolve.nonholonomic.independent_motion import IndependentMotion

LOST = "slow_manifold_lost"
"""The event that ends a run where fast and slow motions can no longer be distinguished."""
NOTHING_SLOW = (
    "the fast motion becomes so slow that the small velocities are no longer determined by the "
    "forces; end earlier, or integrate the full system"
)


def moved_names(system: MechanicalSystem) -> tuple[str, ...]:
    """Return the names that momenta and balances refer to: coordinates or quasi-velocities."""
    return system.coordinates.names if system.velocities is None else system.v.names


def leading_system(
    full: MechanicalSystem,
    motion: IndependentMotion,
    equations: DiracEquations,
    states: SymbolVector,
    small: Sequence[int],
) -> ControlSystem:
    """Pose Dirac's equations: x' = g(x, lambda), R(x, lambda) = 0.

    Parameters
    ----------
    full, motion
        The original system, and its independent velocities.
    equations
        The equations, in the symbols of the states.
    states
        x = (positions, p1) and the small velocities.
    small
        The indices of the small velocities among all.

    Raises
    ------
    PosingError
        A table has steps.
    """
    names = [moved_names(full)[index] for index in small]
    goals = [
        Goal(f"balance_{name}", equations.balance[index], ideal=False, at_start=True)
        for index, name in enumerate(names)
    ]
    _check_tables(full, 1, "order 0 needs small velocities without jumps")
    e = equations

    def same(expression: ca.SX) -> ca.SX:
        return expression

    return _posed(full, motion, e, states, e.rate, same, goals, e.lengthening(e.changing))


def added_names(small: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the refinement's further states: lambda0 and lambda0'."""
    leading = [f"{name}_leading" for name in small]
    return (*leading, *[velocity_name(name) for name in leading])


def refined_system(
    full: MechanicalSystem,
    motion: IndependentMotion,
    equations: DiracEquations,
    states: SymbolVector,
    small: Sequence[int],
) -> ControlSystem:
    """Pose the refinement: x' = g(x, lambda1) + neglected terms, with goals for lambda1.

    The goals are R = 0 for lambda0, M lambda0' + drift = 0, and M (lambda1 - lambda0) = S lambda0'
    + carried. With lambda0 and lambda0' as states, nothing must be solved explicitly; where M is
    singular the goals lose their grip.

    Parameters
    ----------
    full, motion, equations, states, small
        As in `leading_system`. The small velocities become lambda1; lambda0 and lambda0' are added
        to the states under their `added_names`.

    Raises
    ------
    PosingError
        A table has steps or kinks.
    """
    _check_tables(full, 2, "the refinement needs the rates of small velocities")
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
        Goal(f"{kind}_{moved_names(full)[index]}", residual[place], ideal=False, at_start=True)
        for kind, residual in residuals.items()
        for place, index in enumerate(small)
    ]
    rate = written(e.rate + e.neglected, moving)
    lengthening = written(e.lengthening(changing), leading)

    def at(expression: ca.SX) -> ca.SX:
        return written(expression, moving)

    return _posed(full, motion, e, both, rate, at, goals, lengthening)


def _check_tables(full: MechanicalSystem, degree: int, why: str) -> None:
    """Refuse tables that are not smooth enough.

    Raises
    ------
    PosingError
        A table has pieces of too low a degree.
    """
    for drive in full.drives:
        if drive.lookup is not None and min(axis.degree for axis in drive.lookup.axes) < degree:
            raise PosingError(
                f"{why}, and the table {drive.name!r} has {'kinks' if degree > 1 else 'steps'}: "
                f"make it {'cubic' if degree > 1 else 'linear or cubic'}"
            )


def _posed(
    full: MechanicalSystem,
    motion: IndependentMotion,
    equations: DiracEquations,
    states: SymbolVector,
    rate: ca.SX,
    at: Callable[[ca.SX], ca.SX],
    goals: Sequence[Goal],
    lengthening: ca.SX,
) -> ControlSystem:
    """Pose a control system whose last states, the small velocities, follow from the goals.

    Goals on positions keep their names: corrections across them, zero but for rounding, replace
    their reactions, which become outputs.

    Parameters
    ----------
    rate
        The rates of the states other than the small velocities.
    at
        What writes an expression of (t, x, lambda) at the small velocities of the motion.
    lengthening
        T' as in `DiracEquations`: a run ends where it reaches 1.
    """
    dynamics = motion.dynamics
    count = dynamics.position_count
    velocities, pushes = at(equations.velocities), at(equations.reactions)
    moving = states.names[rate.numel() :]
    units = [f"{unit}/s" for unit in states.units[rate.numel() :]]
    names = [f"{name}_rate" for name in moving]
    for name, (residual, _) in equations.restoring.items():
        goals = [*goals, Goal(name, at(residual), ideal=False, at_start=True)]
        names.append(f"correction_of_{name}")
        units.append("")
    controls = SymbolVector(tuple(names), tuple(units), "reaction")
    for place, (_, across) in enumerate(equations.restoring.values(), len(moving)):
        rate = rate + controls.vector[place] * ca.vertcat(
            at(across), ca.SX(rate.numel() - count, 1)
        )

    def written(expression: ca.SX) -> ca.SX:
        old = ca.vertcat(dynamics.x, dynamics.reactions)
        return ca.substitute(expression, old, ca.vertcat(states.vector[:count], velocities, pushes))

    labels = dynamics.labels
    outputs: dict[str, Output] = {
        name: (velocities[index], unit)
        for index, (name, unit) in enumerate(zip(full.v.names, full.v.units, strict=True))
        if name not in states
    }
    outputs |= {
        f"{name}_reaction" if name in equations.restoring else name: (pushes[index], unit)
        for index, (name, unit) in enumerate(
            zip(labels.reactions, labels.reaction_units, strict=True)
        )
    }
    outputs |= {
        name: (written(expression), unit)
        for (name, expression), unit in zip(
            dynamics.outputs.items(), labels.output_units, strict=True
        )
    }
    # The parts added by tables were rewritten with their arguments, resets included.
    own = Rewriting(substitution(dynamics.x, ca.vertcat(states.vector[:count], velocities)))
    drives: tuple[Drive, ...] = own(tuple(full.drives))
    nodes = {event.name: event for drive in drives for event in drive.events}
    events = [
        nodes.get(event.name, replace(event, guard=written(event.guards)))
        for event in dynamics.events
    ]
    events += motion.lost(written)
    if not is_zero(lengthening):
        events.append(Event(LOST, lengthening**2 - 1, RISING, Stop(NOTHING_SLOW)))
    return ControlSystem(
        states,
        ca.vertcat(rate, controls.vector[: len(moving), :]),
        parameters=full.parameters,
        controls=controls,
        goals=goals,
        discrete=full.discrete,
        events=events,
        outputs=outputs,
        switches=full.switches,
        drives=drives,
    )
