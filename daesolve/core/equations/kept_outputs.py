"""Outputs that a start keeps, such as the angle and the rate of a joint: the states follow them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.projection import Level

MET = 1e-9
"""The relative difference up to which a value is met."""


def can_keep(dynamics: Dynamics, name: str) -> bool:
    """Return whether a name is that of an output, and not of a state, that states determine."""
    if name in dynamics.labels.states or name not in dynamics.outputs:
        return False
    output = dynamics.outputs[name]
    known = ca.vertcat(dynamics.t, dynamics.x, dynamics.p)
    own = {symbol.element_hash() for symbol in ca.vertsplit(known)}
    determined = all(symbol.element_hash() in own for symbol in ca.symvar(output))
    return determined and ca.depends_on(output, dynamics.x)


def aimed(dynamics: Dynamics, level: Level, values: Mapping[str, float]) -> Level:
    """Return a level whose outputs, its last equations, have the values that are to be kept."""
    count = sum(name in values for name in level.goals[-len(values) :]) if values else 0
    if not count:
        return level
    names = level.goals[-count:]
    aims = np.array([values[name] for name in names])
    units = dynamics.labels.units()
    turns = np.array([units.get(name) == "rad" for name in names])

    def evaluate(t: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residual, jacobian = level.evaluate(t, x, p)
        apart = residual[-count:] - aims
        # An angle is the same after a whole turn.
        apart -= np.where(turns, 2 * np.pi * np.round(apart / (2 * np.pi)), 0.0)
        return np.append(residual[:-count], apart), jacobian

    def terms(t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        sizes = level.terms(t, x, p).copy()
        sizes[-count:] = np.maximum(sizes[-count:], np.abs(aims))
        return sizes

    return replace(level, evaluate=evaluate, terms=terms, column=None)


def met_by(
    dynamics: Dynamics,
    given: Mapping[str, float],
    guess: Mapping[str, float],
    values: Mapping[str, float],
    time: float,
) -> dict[str, float]:
    """Return those of some values that are of outputs which have them in a guess.

    Parameters
    ----------
    dynamics
        The equations.
    given
        Values by name.
    guess
        Values by state; missing ones are zero.
    values
        Parameters by name.
    time
        s
    """
    own = {name: value for name, value in given.items() if can_keep(dynamics, name)}
    if not own:
        return {}
    state = [guess.get(name, 0.0) for name in dynamics.labels.states]
    outputs = ca.vertcat(*[dynamics.outputs[name] for name in own])
    numbers = dynamics.value_vector({**dynamics.values, **values})
    found = dynamics.arrays("shown", outputs)(time, np.array(state), numbers)[0].ravel()
    return {
        name: value
        for (name, value), there in zip(own.items(), found, strict=True)
        if math.isclose(there, value, rel_tol=MET, abs_tol=MET)
    }
