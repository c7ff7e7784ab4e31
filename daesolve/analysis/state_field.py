"""The rate of a state as a field: its gradient, steady motions, kinks, the response to inputs.

The equations F(x, y) = 0 of a system, y = (v', u), are differentiated directly,

    K dy = -F_x dx,    K = F_y,

so the reactions are eliminated together with their derivatives and without feedback. A coordinate
is cyclic if it affects no rates except those of other cyclic coordinates: it may move while the
motion is steady.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.impacts import changed_by
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.singular_values import null_space, unit_length
from daesolve.core.posing.symbols import symbol
from daesolve.errors import NotStationaryError, UnsupportedError

RANK_TOLERANCE = 1e-10
"""Singular values of constraints with rows of unit length below this count as zero."""
INFLUENCE_TOLERANCE = 1e-10
"""Derivatives below this share of the largest count as zero."""
SHIFTS = (0.7, -1.9)
"""Shifts of a coordinate, in its own size or 1, under which a cyclic one changes nothing."""
MOMENTS = (0.37, 1.1)
"""Later times (s) at which a steady motion is examined again."""
AT_BORDER = 1e-12
"""A guard is at zero if the largest state (1 in SI units if all are zero) moves it so much."""
DIFFERS = 1e-9
"""The part of the largest rate or gradient by which those of another mode differ."""


@dataclass(frozen=True, eq=False)
class FieldValues:
    """Values at a state: x' (nx,), its gradient f_x (nx, nx), that of the constraints (nc, nx)."""

    rate: np.ndarray
    gradient: np.ndarray
    constraints: np.ndarray


@dataclass(frozen=True, eq=False)
class Field:
    """The rate of the state, without feedback.

    Parameters
    ----------
    dynamics, p
        The equations, and their numbers (np,).
    """

    dynamics: Dynamics
    p: np.ndarray

    def at(self, time: float, state: np.ndarray) -> FieldValues:
        """Evaluate at a consistent state (nx,)."""
        count = self.dynamics.velocity_count
        unknowns, solve = self.unknowns(time, state)
        _, _, by_state, rates, by_position, constraints = self._arrays(time, state, unknowns)
        return FieldValues(
            rate=np.concatenate([rates.ravel(), unknowns[:count]]),
            gradient=np.vstack([by_position, -solve(by_state)[:count]]),
            constraints=constraints,
        )

    def unknowns(
        self, time: float, state: np.ndarray
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Return accelerations and reactions, stacked, and the solver for them."""
        unknowns = np.zeros(self.dynamics.velocity_count + self.dynamics.reactions.numel())
        balance, matrix, *_ = self._arrays(time, state, unknowns)
        solve = _inverse(matrix)
        return -solve(balance).ravel(), solve

    def _arrays(self, time: float, state: np.ndarray, unknowns: np.ndarray) -> list[np.ndarray]:
        return _function(self.dynamics)(time, state, self.p, unknowns)


@lru_cache(maxsize=16)
def _function(dynamics: Dynamics) -> ArrayFunction:
    """(t, x, p, y) -> F, F_y, F_x, the rates of the positions and their gradient, C_x."""
    x = dynamics.x
    y, balance = balance_of(dynamics)
    outputs = [
        balance,
        ca.jacobian(balance, y),
        ca.jacobian(balance, x),
        dynamics.position_rates,
        ca.jacobian(dynamics.position_rates, x),
        ca.jacobian(ca.vertcat(ca.SX(0, 1), *manifold(dynamics)), x),
    ]
    return ArrayFunction("field", [dynamics.t, x, dynamics.p, y], outputs)


def balance_of(dynamics: Dynamics) -> tuple[ca.SX, ca.SX]:
    """Return y, accelerations and reactions, and F, which is zero."""
    u, accelerations = dynamics.reactions, symbol("a", dynamics.velocity_count)
    balance = ca.vertcat(
        dynamics.mass @ accelerations - dynamics.force - dynamics.influence @ u,
        *[row.jacobian @ accelerations + row.bias for row in dynamics.rows],
        *[row.jacobian @ u + row.offset for row in dynamics.relations],
    )
    return ca.vertcat(accelerations, u), balance


def manifold(dynamics: Dynamics) -> list[ca.SX]:
    """Return every function that is zero on consistent states, and invariants of positions.

    Goals measured from their value at the start are left to that start.
    """
    links = [link for row in dynamics.rows for link in row.chain[1 if row.from_start else 0 :]]
    links += [row.residual for row in dynamics.implicit_rows]
    return links + [row.value for row in dynamics.invariants if row.on == "positions"]


def _inverse(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a least-squares solver with one refinement; dependent rows are allowed."""
    rows: np.ndarray = np.linalg.norm(matrix, axis=1, keepdims=True)
    rows[rows == 0.0] = 1.0
    columns: np.ndarray = np.linalg.norm(matrix / rows, axis=0)
    columns[columns == 0.0] = 1.0
    inverse = np.linalg.pinv(matrix / rows / columns, rcond=1e-13)

    def solve(right: np.ndarray) -> np.ndarray:
        solution = (inverse @ (right / rows)) / columns[:, None]
        correction = inverse @ ((right - matrix @ solution) / rows)
        return solution + correction / columns[:, None]

    return solve


# -- the tangent space ---------------------------------------------------------------------------


def kernel(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the directions that a matrix maps to zero, as columns."""
    return null_space(unit_length(matrix, 1), RANK_TOLERANCE)


def tangent_space(constraints: np.ndarray, kept: Sequence[int]) -> np.ndarray:
    """Return a basis of the consistent small motions of some states, as columns (nx, n)."""
    basis = kernel(_shared(constraints, kept)[:, kept])
    tangent = np.zeros((constraints.shape[1], basis.shape[1]))
    tangent[kept] = basis
    return tangent


def influential(gradient: np.ndarray) -> np.ndarray:
    """Return which derivatives are large enough to count."""
    return np.greater(np.abs(gradient), INFLUENCE_TOLERANCE * np.max(np.abs(gradient), initial=0.0))


def _shared(constraints: np.ndarray, states: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the rows of constraints that contain some states."""
    return constraints[np.any(influential(constraints)[:, states], axis=1)]


# -- steady motions ------------------------------------------------------------------------------


def cyclic_coordinates(field: Field, time: float, state: np.ndarray) -> list[int]:
    """Return the coordinates that affect only their own rates and constraints."""
    here = field.at(time, state)
    split = field.dynamics.position_count - len(field.dynamics.implicit_rows)
    cyclic = _closed(here, range(split))
    held = np.max(np.abs(kernel(here.constraints)), axis=1, initial=0.0) <= RANK_TOLERANCE
    for index in np.flatnonzero(held):
        # A coordinate fixed by constraints is not a freedom, although nothing depends on it.
        fewer = [i for i in cyclic if i != index]
        cyclic = fewer if _closed(here, fewer) == fewer else cyclic
    for index in tuple(cyclic):
        others = np.setdiff1d(np.arange(len(state)), cyclic)
        for shift in SHIFTS:
            beside = state.copy()
            beside[index] += shift * max(1.0, abs(state[index]))
            if index in cyclic and not _alike(here, field.at(time, beside), others):
                cyclic = _closed(here, [i for i in cyclic if i != index])
    return cyclic


def _closed(point: FieldValues, candidates: Sequence[int]) -> list[int]:
    """Drop candidates until none affects a rate or constraint outside the set."""
    kept = list(candidates)
    while True:
        others = np.setdiff1d(np.arange(len(point.rate)), kept)
        acting = np.any(influential(point.gradient)[others], axis=0)
        acting |= np.any(influential(_shared(point.constraints, others)), axis=0)
        left = [index for index in kept if not acting[index]]
        if left == kept:
            return kept
        kept = left


def _alike(first: FieldValues, second: FieldValues, states: np.ndarray) -> bool:
    """Compare the rates of some states and their constraints, to first order."""
    least = INFLUENCE_TOLERANCE * np.max(np.abs(first.gradient), initial=1.0)
    pairs = (
        (first.rate[states], second.rate[states]),
        (first.gradient[states], second.gradient[states]),
        (_shared(first.constraints, states), _shared(second.constraints, states)),
    )
    return all(
        one.shape == other.shape and bool(np.all(np.abs(one - other) <= least))
        for one, other in pairs
    )


def check_stationary(
    field: Field, time: float, state: np.ndarray, cyclic: Sequence[int], tolerance: float
) -> float:
    """Return the largest relative rate of the states that are not cyclic.

    It is relative to the rate caused by changing every state by its own size.

    Raises
    ------
    NotStationaryError
        The rate exceeds the tolerance, now or, if the equations contain time, later.
    """
    dynamics = field.dynamics
    names, split = dynamics.labels.states, dynamics.position_count
    others = np.setdiff1d(np.arange(len(state)), cyclic)
    sizes = np.concatenate([_sizes(state[:split]), _sizes(state[split:])])
    here = field.at(time, state)
    scales = np.abs(here.gradient) @ sizes
    for block in (slice(0, split), slice(split, None)):
        scales[block] = np.max(scales[block], initial=0.0) or 1.0
    later = [field.at(time + after, state).rate for after in MOMENTS]
    rates = np.max(np.abs([here.rate, *later]), axis=0)
    shares = rates[others] / scales[others]
    residual = float(np.max(shares, initial=0.0))
    if not residual <= tolerance:
        worst = others[int(np.argmax(np.where(np.isfinite(shares), shares, np.inf)))]
        steady = f" other than {', '.join(names[index] for index in cyclic)}" if cyclic else ""
        raise NotStationaryError(
            f"the state is neither an equilibrium nor a steady motion: {names[worst]!r} changes at "
            f"{rates[worst]:.3g} per second ({residual:.2g} of its size, at most {tolerance:g} is "
            f"allowed); give a state in which every state{steady} keeps its value"
        )
    return residual


def _sizes(part: np.ndarray) -> np.ndarray:
    return np.full(len(part), np.max(np.abs(part), initial=0.0) or 1.0)


@dataclass(frozen=True, eq=False)
class Response:
    """The effects of inputs and small motions on rates and outputs, at a state.

    Parameters
    ----------
    inputs, outputs
        Their names; inputs do not count as outputs.
    rates
        (nx, m), the derivatives of x' with respect to inputs.
    by_state, by_inputs
        (k, nx) and (k, m), the derivatives of the outputs; reactions follow from the motion.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rates: np.ndarray
    by_state: np.ndarray
    by_inputs: np.ndarray


def response(field: Field, time: float, state: np.ndarray) -> Response:
    """Return the response of a consistent state (nx,).

    Raises
    ------
    UnsupportedError
        A constraint contains an input, so its rates matter too.
    """
    dynamics, count = field.dynamics, field.dynamics.velocity_count
    unknowns, solve = field.unknowns(time, state)
    parts = _response_function(dynamics)(time, state, field.p, unknowns)
    balance_x, balance_u, rates_u, constraints_u, out_x, out_u, out_reactions = parts
    for name, column in zip(dynamics.inputs, constraints_u.T, strict=True):
        if np.any(column):
            raise UnsupportedError(
                f"the input {name!r} appears in a constraint, so small motions depend on its "
                "rates as well: make it a force, or an expression of time in a run"
            )
    by_input, by_state = -solve(balance_u), -solve(balance_x)
    return Response(
        dynamics.inputs.names,
        _output_names(dynamics),
        np.vstack([rates_u, by_input[:count]]),
        out_x + out_reactions @ by_state[count:],
        out_u + out_reactions @ by_input[count:],
    )


def _output_names(dynamics: Dynamics) -> tuple[str, ...]:
    return tuple(name for name in dynamics.outputs if name not in dynamics.inputs)


@lru_cache(maxsize=16)
def _response_function(dynamics: Dynamics) -> ArrayFunction:
    """(t, x, p, y) -> derivatives of F, q', C and outputs."""
    x, reactions, names = dynamics.x, dynamics.reactions, list(dynamics.values)
    u = ca.vertcat(ca.SX(0, 1), *[dynamics.p[names.index(name)] for name in dynamics.inputs.names])
    y, balance = balance_of(dynamics)
    outputs = ca.vertcat(ca.SX(0, 1), *[dynamics.outputs[name] for name in _output_names(dynamics)])
    held = ca.vertcat(ca.SX(0, 1), *manifold(dynamics))
    slopes = [
        ca.jacobian(balance, x),
        ca.jacobian(balance, u),
        ca.jacobian(dynamics.position_rates, u),
        ca.jacobian(held, u),
        ca.jacobian(outputs, x),
        ca.jacobian(outputs, u),
        ca.jacobian(outputs, reactions),
    ]
    # Reactions are the last of the unknowns.
    unknown = ca.reshape(y[dynamics.velocity_count :], reactions.shape)
    parts = [ca.substitute(part, reactions, unknown) for part in slopes]
    return ArrayFunction("response", [dynamics.t, x, dynamics.p, y], parts)


def kinks_at(dynamics: Dynamics, p: np.ndarray, time: float, state: np.ndarray) -> tuple[str, ...]:
    """Return the switches and tables whose other side has other rates or gradients.

    Parameters
    ----------
    dynamics, p
        The equations, and their numbers (np,).
    time, state
        s, and the consistent state (nx,).
    """
    here, sentences = _field(dynamics, p, time, state), dict[str, None]()
    for name, index, late in _piecewise(dynamics):
        guards = dynamics.events[index].guards
        for place in _at_border(dynamics, guards, (time, state, p), late):
            other = _other_side(dynamics, index, place, (time, state, p))
            if name not in sentences and _differ(here, _field(dynamics, other, time, state)):
                sentences[name] = None
    return tuple(sentences)


def _piecewise(dynamics: Dynamics) -> Iterator[tuple[str, int, float]]:
    """Yield names, the indices of their events, and how far beyond zero their guards switch."""
    named = {event.name: index for index, event in enumerate(dynamics.events)}
    for name in dynamics.switches:
        yield name, named[name], 0.0
    for row in dynamics.drives:
        if row.lookup is not None:
            late = max(axis.late for axis in row.lookup.axes)
            yield from ((row.name, named[event], late) for event in row.events)


def _at_border(
    dynamics: Dynamics, guards: ca.SX, place: tuple[float, np.ndarray, np.ndarray], late: float
) -> list[int]:
    """Return which guards are zero in a state, and change with it."""
    t, x, p = dynamics.t, dynamics.x, dynamics.p
    slopes = ca.sum2(ca.fabs(ca.jacobian(guards, x)))
    function = ca.Function("guards", [t, x, p], [ca.densify(guards), ca.densify(slopes)])
    values, moved = (np.asarray(part).ravel() for part in function(*place))
    size = float(np.max(np.abs(place[1]), initial=0.0)) or 1.0
    near = np.abs(values) <= 2.0 * late + AT_BORDER * moved * size
    return np.flatnonzero(near & (moved > 0.0)).tolist()


def _other_side(
    dynamics: Dynamics, index: int, guard: int, place: tuple[float, np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the values after a guard of an event has passed."""
    t, x, p, reset = dynamics.t, dynamics.x, dynamics.p, dynamics.resets[index]
    values = ca.densify(changed_by(dynamics, reset, x, p)[1])
    fired = np.zeros(reset.fired.numel())
    fired[guard] = 1.0
    function = ca.Function("values", [t, x, p, reset.fired], [values])
    return np.asarray(function(*place, fired)).ravel()


def _field(dynamics: Dynamics, p: np.ndarray, time: float, state: np.ndarray) -> FieldValues:
    return Field(dynamics.in_mode(p), p).at(time, state)


def _differ(one: FieldValues, other: FieldValues) -> bool:
    pairs = [(getattr(one, of), getattr(other, of)) for of in ("rate", "gradient", "constraints")]
    return any(
        np.max(np.abs(a - b), initial=0.0)
        > DIFFERS * np.max(np.abs(a), initial=np.finfo(float).tiny)
        for a, b in pairs
    )
