"""Finds the angles that can be wrapped: a whole turn of them changes no function.

This is proved from the structure of the expressions, for all states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.structure import ROUNDED, Turned, after_a_turn
from daesolve.core.formulations import OdeProblem
from daesolve.core.formulations.problem import DaeProblem

CSE = {"cse": True}
"""Equal subexpressions are walked once."""


def periodic_angles(
    dynamics: Dynamics, problem: OdeProblem, values: Mapping[str, float], notes: list[str]
) -> tuple[int, ...]:
    """Return the angles of which a whole turn provably changes no function.

    Parameters
    ----------
    dynamics, problem
        The equations, and what is integrated.
    values
        p by name, of which parameters keep their value for the whole run.
    notes
        Receives notes about angles that are not wrapped, and why.
    """
    angles = problem.labels.angles
    if not angles:
        return ()
    broken = _broken_for_some(problem, dynamics)
    if broken:
        lasting = dynamics.lasting(values)
        numbers = np.array([lasting.get(name, np.nan) for name in problem.values])
        broken = _broken(dynamics, problem, numbers)
    notes += [
        f"the angle {problem.labels.states[angle]!r} is not wrapped: {what} may differ after a "
        "whole turn"
        for angle, what in broken.items()
    ]
    return tuple(angle for angle in angles if angle not in broken)


@built_once
def _broken_for_some(problem: OdeProblem, dynamics: Dynamics) -> dict[int, str]:
    """Return the angles without a proof for all parameters at once: angle -> what may differ."""
    return _broken(dynamics, problem, np.full(len(problem.values), np.nan))


def _broken(dynamics: Dynamics, problem: OdeProblem, numbers: np.ndarray) -> dict[int, str]:
    """Return the angles without a proof: angle -> what may differ after a turn of it.

    numbers: (np,) the entries of p that keep their value, not a number for others.
    """
    broken: dict[int, str] = {}
    angles = problem.labels.angles
    for what, found, own in _turned(dynamics, problem, angles, numbers):
        same = _same(found, angles, own=own)
        for place, angle in enumerate(angles):
            if not same[place]:
                broken.setdefault(angle, what)
    return broken


def _turned(
    dynamics: Dynamics, problem: OdeProblem, angles: Sequence[int], numbers: np.ndarray
) -> Iterator[tuple[str, list[list[Turned]], bool]]:
    """Yield each function with turns taken out, and whether its outputs are states themselves."""
    functions: list[tuple[str, ca.Function | None, bool]] = [
        ("the equations", problem.rhs, False),
        ("reactions or outputs", problem.recover, False),
        ("residuals", problem.residuals, False),
        ("the guard of an event", problem.guards, False),
        ("the projection", problem.project, True),
    ]
    if problem.chart is not None:
        functions += [("the chart", problem.chart.embed, True)]
        functions += [("the chart", problem.chart.restrict, True)]
    if isinstance(problem, DaeProblem):
        parts = (problem.differential, problem.algebraic, problem.surplus, problem.consistent)
        functions += [("the equations", part, False) for part in parts]
    for what, function, own in functions:
        if function is not None and function.nnz_out() > 0:
            yield what, after_a_turn(function, angles, numbers), own
    own_numbers = numbers[: len(dynamics.values)]
    yield from (
        (what, after_a_turn(function, angles, own_numbers), False)
        for what, function in _at_instants(dynamics)
    )
    yield from _resets(dynamics, angles, own_numbers)
    for what, function in _of_laws_in_python(dynamics):
        yield what, after_a_turn(function, angles, own_numbers), False


def _same(found: list[list[Turned]], angles: Sequence[int], *, own: bool) -> np.ndarray:
    """Return after which turns all outputs are the same; a state that is an angle turns with it."""
    same = np.ones(len(angles), dtype=bool)
    for column in found:
        for element, value in enumerate(column):
            kept = value.same
            if own and element in angles:
                place = angles.index(element)
                whole = abs(value.turns[place] - 1.0) <= ROUNDED
                kept = kept.copy()
                kept[place] = bool(whole and value.sign[place] > 0.0)
            same &= kept
    return same


def _at_instants(dynamics: Dynamics) -> Iterator[tuple[str, ca.Function]]:
    """Yield the expressions that laws of modes read besides the problem's functions."""
    parts = [part for addition in dynamics.additions for part in addition.expressions]
    for reset in dynamics.resets.values():
        for row in reset.momentary:
            parts += [*row.chain, row.jacobian, row.bias]
    parts += [dynamics.mass, dynamics.force, dynamics.influence]
    inputs = [dynamics.t, dynamics.x, dynamics.reactions, dynamics.p]
    yield "what acts at an instant", ca.Function("instant", inputs, [ca.veccat(*parts)], CSE)


def _of_laws_in_python(dynamics: Dynamics) -> Iterator[tuple[str, ca.Function]]:
    """Yield what laws see that are called in Python: what they make of it is not known."""
    inputs = [dynamics.t, dynamics.x, dynamics.reactions, dynamics.p]
    for row in dynamics.drives:
        if row.law is not None:
            column = ca.veccat(*row.law.arguments.values())
            yield f"what the law {row.name!r} does in Python", ca.Function("law", inputs, [column])


def _resets(
    dynamics: Dynamics, angles: Sequence[int], numbers: np.ndarray
) -> Iterator[tuple[str, list[list[Turned]], bool]]:
    """Yield resets with turns taken out; an angle that one changes gets its turns back first."""
    for index, reset in dynamics.resets.items():
        column = ca.veccat(*reset.states.values(), *reset.values.values(), reset.restitution)
        inputs = [dynamics.t, dynamics.x, dynamics.reactions, reset.fired, dynamics.p]
        function = ca.Function("reset", inputs, [column], CSE)
        found = after_a_turn(function, angles, numbers)
        changed = np.array([angle in reset.states for angle in angles])
        for column_found in found:
            for place, value in enumerate(column_found):
                column_found[place] = Turned(
                    np.where(changed, 1.0, value.sign), np.where(changed, 0.0, value.turns)
                )
        yield f"the reset of {dynamics.events[index].name!r}", found, False
