"""`consistent_state`: a consistent state near a guess, with its accelerations and reactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import check_named, instantaneous, list_residuals
from daesolve.core.equations.consistent_start import start_with_modes
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import check_mass, undetermined_reactions
from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.symbols import velocity_name
from daesolve.core.system.driving import driven_by
from daesolve.core.system.system import ControlSystem, MechanicalSystem, System
from daesolve.errors import (
    InconsistentStateError,
    OutOfRangeError,
    PosingError,
    is_number,
    is_one_of,
    suggest_names,
    unknown_name,
)

UNMET = 1e-9
"""A larger acceleration of a goal, relative to its terms, means that the goal is not fulfilled."""


@dataclass(frozen=True)
class ConsistentState:
    """A state that fulfils every constraint, with accelerations and reactions.

    Parameters
    ----------
    time
        s
    state
        The values by name, to the last digit; pass them to `solve` as `initial`.
    accelerations
        v' by the names of the velocities.
    reactions
        The reactions by name. Those in `undetermined` are the choice of least norm.
    changes
        Values changed by more than rounding: name -> (guess, value).
    most_changed
        The name of the value that changed most, relative to the largest value with the same unit;
        None if nothing changed.
    residuals
        The remaining error of each goal and its derivatives, including accelerations, under the
        names used in drift reports (`rod`, `rod_dot`, `rod_dot_dot`).
    undetermined
        The reactions that the goals leave open, because constraints depend on each other here.
    """

    time: float
    state: Mapping[str, float]
    accelerations: Mapping[str, float]
    reactions: Mapping[str, float]
    changes: Mapping[str, tuple[float, float]]
    most_changed: str | None
    residuals: Mapping[str, float]
    undetermined: tuple[str, ...]

    def __post_init__(self) -> None:
        suggest_names(self, state="state", accelerations="velocity", reactions="reaction")
        suggest_names(self, changes="changed value", residuals="residual")


def consistent_state(
    system: System | Dynamics,
    guess: Mapping[str, float] | None = None,
    fixed: Iterable[str] = (),
    *,
    parameters: Mapping[str, object] | None = None,
    inputs: Mapping[str, Any] | None = None,
    time: float = 0.0,
) -> ConsistentState:
    """Find the consistent state nearest to a guess, then its accelerations and reactions.

    The function adjusts positions first, then velocities, then accelerations and reactions. The
    mass matrix M at the guess measures distance: positions move by the least d . M d, velocities by
    the least kinetic energy of their change. Hence the result does not depend on units, and the
    velocities equal those after a plastic impact against the constraints.

    Parameters
    ----------
    system
        The posed system, or its `dynamics`.
    guess
        Values of states by name; missing ones are zero.
    fixed
        The names of values in the guess that must not change.
    parameters
        Values that override the defaults.
    inputs
        The inputs by name, as in `solve`.
    time
        The time of the state, s.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name is unknown, or a value is out of range.
    InconsistentStateError
        No consistent state keeps the fixed values. The message gives the violated goals and
        amounts.
    ContradictoryGoalsError
        No state near the guess fulfils all goals, even with nothing fixed.
    PosingError
        The mass matrix is not positive definite.

    Notes
    -----
    Implicit unknowns have no mass and move before the coordinates. Coordinates for which S in q' =
    S v is not square, such as quaternions, move along S. Invariants on positions, such as the norm
    of a quaternion, keep their value at the guess.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m")
    >>> link = ds.Holonomic("link", q.x - q.y)
    >>> pair = ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + 3 * q.dot.y**2) / 2, goals=[link])
    >>> found = ds.consistent_state(pair, {"y": 1.0, "x_dot": 4.0})
    >>> round(found.state["x"], 12), round(found.state["x_dot"], 12)
    (0.75, 1.0)
    """
    numbers = check_named("parameters", parameters)
    if isinstance(system, Dynamics):
        dynamics = system
    else:
        check_system(system)
        system, numbers = driven_by(system, check_named("inputs", inputs), numbers)
        dynamics = system.dynamics
    start = check_named("guess", guess)
    names = dynamics.labels.states
    kept = (fixed,) if isinstance(fixed, str) else fixed
    if not isinstance(kept, Iterable) or isinstance(kept, ca.SX | ca.MX | ca.DM):
        raise OutOfRangeError(f"fixed must be a list of states, not {fixed!r}")
    kept = tuple(kept)
    for name in kept:
        if not is_one_of(name, names):
            raise unknown_name("state to fix", name, names)
        if name not in start:
            raise OutOfRangeError(f"the state {name!r} should be fixed, but has no value in guess")
    if not is_number(time):
        raise OutOfRangeError(f"the time is {time!r}, but must be a finite number of seconds")
    values = {**dynamics.values, **parameter_values(dynamics, numbers)}
    held = {name: start[name] for name in kept}
    found, values = start_with_modes(dynamics, values, held, guess=start, time=float(time))
    x, p = found.state, dynamics.value_vector(values)
    check_mass(dynamics, [(time, x)], p)
    accelerations, reactions = instantaneous(dynamics, time, x, p)
    parts = dynamics.matrices(time, x, p)
    left = _accelerations_left(dynamics, parts, accelerations)
    loose = np.any(undetermined_reactions(parts) != 0.0, axis=1)
    labels = dynamics.labels
    velocities = names[dynamics.position_count :]
    return ConsistentState(
        time=float(time),
        state=_by_name(names, x),
        accelerations=_by_name(velocities, accelerations),
        reactions=_by_name(labels.reactions, reactions)
        | _recovered(dynamics, float(time), x, p, reactions),
        changes=found.changes,
        most_changed=_most_changed(dynamics, found.changes, x),
        residuals=_residuals(dynamics, time, x, p) | left,
        undetermined=tuple(
            name for name, is_loose in zip(labels.reactions, loose, strict=True) if is_loose
        ),
    )


def _recovered(
    dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray, reactions: np.ndarray
) -> dict[str, float]:
    """Return the recovered reactions, which are not unknowns."""
    names = dynamics.labels.recovered
    function = function_of(
        "recovered",
        [dynamics.t, dynamics.x, dynamics.p, dynamics.reactions],
        [ca.vertcat(ca.SX(0, 1), *dynamics.recovered.values())],
        (["t", "x", "p", "u"], ["recovered"]),
    )
    return _by_name(names, np.asarray(function(t, x, p, reactions)).ravel()) if names else {}


def check_system(system: object) -> None:
    """Refuse anything other than a system.

    Raises
    ------
    PosingError
        It is something else, such as a case.
    """
    if not isinstance(system, MechanicalSystem | ControlSystem):
        raise PosingError(
            "a system must be a MechanicalSystem or a ControlSystem, not "
            f"{type(system).__name__}; a problem's case has its own solve()"
        )


def parameter_values(dynamics: Dynamics, given: Mapping[str, Any]) -> dict[str, float]:
    """Return the given parameters and discrete values as numbers.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        There is no such parameter, or its value is not a number or is out of range.
    """
    known = dynamics.posed_ranges
    found: dict[str, float] = {}
    for name, value in given.items():
        if name not in known:
            raise unknown_name("parameter", name, known)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise OutOfRangeError(f"parameter {name!r} must be a number, not {value!r}")
        if float(value) not in known[name]:
            raise OutOfRangeError(f"parameter {name!r} is {value!r}, but must be {known[name]}")
        found[name] = float(value)
    return found


def _by_name(names: Iterable[str], values: np.ndarray) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def _most_changed(
    dynamics: Dynamics, changes: Mapping[str, tuple[float, float]], x: np.ndarray
) -> str | None:
    units = dict(zip(dynamics.labels.states, map(str, dynamics.labels.state_units), strict=True))
    largest: dict[str, float] = {}
    for (name, unit), value in zip(units.items(), x, strict=True):
        pair = np.abs([*changes.get(name, (0.0,)), value])
        largest[unit] = max(largest.get(unit, 0.0), float(np.max(pair)))
    shares = {name: abs(b - a) / largest[units[name]] for name, (a, b) in changes.items()}
    return max(shares, key=lambda name: shares[name]) if shares else None


def _residuals(dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Return the residuals of constraints, hidden constraints and implicit equations by name."""
    expressions: dict[str, ca.SX] = {}
    for row in dynamics.rows:
        name = row.name
        for link in row.chain:
            expressions[name] = link
            name = velocity_name(name)
    expressions |= {row.name: row.residual for row in dynamics.implicit_rows}
    function = function_of(
        "residuals",
        [dynamics.t, dynamics.x, dynamics.p],
        [ca.vertcat(ca.SX(0, 1), *expressions.values())],
        (["t", "x", "p"], ["residuals"]),
    )
    return _by_name(expressions, np.asarray(function(t, x, p)).ravel())


def _accelerations_left(
    dynamics: Dynamics, parts: Mapping[str, np.ndarray], accelerations: np.ndarray
) -> dict[str, float]:
    """Return the remaining error of each goal's highest derivative.

    Raises
    ------
    InconsistentStateError
        The constraints depend on each other here and require different accelerations.
    """
    jacobian, bias = parts["jacobian"], parts["bias"].ravel()
    left = jacobian @ accelerations + bias
    factor = np.linalg.cholesky(parts["mass"])
    free = np.linalg.solve(factor, parts["force"].ravel())
    lengths = np.linalg.norm(np.linalg.solve(factor, jacobian.T), axis=0)
    reach = np.linalg.norm(factor.T @ accelerations) + np.linalg.norm(free)
    size = lengths * reach + np.abs(bias)
    named: dict[str, float] = {}
    for row, value in zip(dynamics.rows, left, strict=True):
        name = row.name
        for _ in row.chain:
            name = velocity_name(name)
        named[name] = float(value)
    unmet = {
        f"the acceleration of the goal {row.name!r}": float(value)
        for row, value, of in zip(dynamics.rows, left, size, strict=True)
        if abs(value) > UNMET * of
    }
    if unmet:
        raise InconsistentStateError(
            f"no reactions fulfil {list_residuals(unmet)} in this state, because the "
            "constraints depend on each other here; choose another state"
        )
    return named
