"""What is asked for: start, end, bounds and objective, checked, in the order of the equations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import casadi as ca
import numpy as np

from daesolve.analysis.gradients import Objective
from daesolve.analysis.optimal_control.controlled_equations import (
    TXP,
    ControlledEquations,
    Expression,
    as_function,
)
from daesolve.analysis.state_field import kernel
from daesolve.core.equations.consistency import complete_start
from daesolve.core.expressions.translation import function_of
from daesolve.core.system.consistent_state import check_system, consistent_state, parameter_values
from daesolve.core.system.driving import driven
from daesolve.core.system.system import System
from daesolve.errors import OutOfRangeError, UnsupportedError, check_names, is_number

Range = float | tuple[float, float]
"""A number, or the least and the largest value."""
DEPENDENT = 1e-8
"""The part of a fixed value that its constraints leave free, below which it follows from others."""


@dataclass(frozen=True)
class TaskLimits:
    """The least and the largest values of some quantities.

    Parameters
    ----------
    names
        As they are named in messages.
    low, high
        (n,)
    """

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """The size of each: of what is finite in it; one if that is zero."""
        both = np.abs(np.stack([self.low, self.high]))
        found = np.max(np.where(np.isfinite(both), both, 0.0), axis=0, initial=0.0)
        return np.where(found > 0.0, found, 1.0)

    def excess(self, values: np.ndarray) -> np.ndarray:
        """Return by how much values, (k, n), are outside, in sizes, (k, n)."""
        outside: np.ndarray = np.maximum(self.low - values, values - self.high)
        return np.maximum(outside, 0.0) / self.sizes


@dataclass(frozen=True, eq=False)
class ControlTask:
    """A motion that is wanted.

    Parameters
    ----------
    equations
        The equations, whose values p include the controls.
    controls, unknowns
        The limits of the controls, and of the parameters that are found.
    start, end
        The limits of the states at both ends; at the end, those that follow from others are
        infinite.
    began, ended
        Consistent states at both ends, from which the search begins.
    periodic
        The states that end as they began, as far as they do not follow from others.
    closures
        The rows of the constraints that the start must be made to fulfil.
    begin, duration
        The time of the start, and the limits of the duration.
    path
        (t, x, p) -> quantities along the motion, within `along`.
    landing
        (t, x, p) -> the guard of the event with which the motion ends, and the states after it;
        None if it ends with none.
    event
        Its name; "" without one.
    running, final
        (t, x, p) -> what is integrated, and what is added at the end; None if there is none.
    """

    equations: ControlledEquations
    controls: TaskLimits
    unknowns: TaskLimits
    start: TaskLimits
    end: TaskLimits
    began: np.ndarray
    ended: np.ndarray
    periodic: tuple[int, ...]
    closures: tuple[int, ...]
    begin: float
    duration: tuple[float, float]
    path: ca.Function
    along: TaskLimits
    running: ca.Function | None
    final: ca.Function | None
    landing: ca.Function | None = None
    event: str = ""

    @property
    def shortest(self) -> bool:
        """Whether the objective is the duration."""
        return self.running is None and self.final is None

    @cached_property
    def path_rates(self) -> ca.Function:
        """(t, x, p) -> the rates of the path, as far as controls do not appear in it."""
        t, x, p = (self.path.sx_in(k) for k in range(3))
        path, rates = self.path(t, x, p), self.equations.rates(t, x, p)
        found = ca.jtimes(path, t, ca.SX(1)) + ca.jtimes(path, x, rates)
        return function_of("path_rates", [t, x, p], [found], (TXP, ["rates"]))

    @cached_property
    def driven_rates(self) -> frozenset[int]:
        """The rows of the path whose rates depend on controls: they may come to a bound at once."""
        t, x, p = (self.path.sx_in(k) for k in range(3))
        rates, controls = ca.vertsplit(self.path_rates(t, x, p)), p[self.places[0]]
        found = [k for k, rate in enumerate(rates) if ca.depends_on(rate, controls)]
        path = ca.vertsplit(self.path(t, x, p))
        return frozenset(found) | {k for k, row in enumerate(path) if ca.depends_on(row, controls)}

    @property
    def places(self) -> tuple[list[int], list[int]]:
        """The places of controls and unknowns in p."""
        names = self.equations.values
        return (
            [names.index(name) for name in self.controls.names],
            [names.index(name) for name in self.unknowns.names],
        )


# Long: each argument is checked and put in the order of the equations once.
def pose_task(
    system: System,
    objective: object,
    time: object,
    *,
    controls: Iterable[str] | None,
    start: Mapping[str, Any],
    end: Mapping[str, Any],
    bounds: Mapping[str, Any],
    path: Mapping[str, tuple[Expression, float, float]],
    periodic: Sequence[str],
    parameters: Mapping[str, Any],
    inputs: Mapping[str, Any],
    guess: Mapping[str, np.ndarray],
    begin: float,
    near: Mapping[str, float],
    event: str | None,
    mode: Mapping[str, float],
) -> ControlTask:
    """Check what is asked for; see `optimise`."""
    check_system(system)
    system, others = driven(system, inputs)
    names = _control_names(system, controls, others)
    ranges = {name: _range(f"the parameter {name!r}", value) for name, value in parameters.items()}
    known = {name: low for name, (low, high) in ranges.items() if low == high}
    unknown = {name: one for name, one in ranges.items() if name not in known}
    limits = {name: _range(f"the bound of {name!r}", value) for name, value in bounds.items()}
    within = {name: limits.get(name, (-math.inf, math.inf)) for name in names}
    check_names("parameter to find", unknown, system.parameters)
    check_names("discrete value of the mode", mode, system.dynamics.discrete)
    numbers = {
        **known,
        **mode,
        **others,
        **{name: _inside(*one, system.parameters.defaults[name]) for name, one in unknown.items()},
        **{name: _inside(*one) for name, one in within.items()},
    }
    parameter_values(system.dynamics, {n: numbers[n] for n in (*known, *unknown)})
    states = system.dynamics.labels.states
    check_names("state at the start", start, states)
    check_names("state at the end", end, states)
    check_names("state that is periodic", periodic, states)
    first = {name: _range(f"the start of {name!r}", one) for name, one in start.items()}
    last = {name: _range(f"the end of {name!r}", one) for name, one in end.items()}
    free = {name for name in periodic if name not in start}
    nearby = [{n: float(guess[n][k]) for n in states if n in guess} for k in (0, -1)]
    began = _consistent(system, numbers, {**near, **nearby[0]}, first, free, begin)
    equations = ControlledEquations(system, began, numbers)
    x = np.array([began[name] for name in states])
    repeated = [states.index(n) for n in periodic]
    _refuse_controlled_constraints(equations, names)
    where = _Ends(equations, begin, x, first, last, free, repeated, nearby[1])
    duration = _range("the time", time)
    if not 0.0 < duration[1] < math.inf or duration[0] < 0.0:
        raise OutOfRangeError(f"the time is {time!r}, but must be a duration above 0 s, or a range")
    rows: dict[str, tuple[Expression, float, float]] = {
        name: (_quantity(name), *one) for name, one in limits.items() if name not in names
    }
    rows |= {name: (row[0], *_range(f"the path {name!r}", row[1:])) for name, row in path.items()}
    running, final = _terms(equations, objective)
    return ControlTask(
        equations,
        _limits(within),
        _limits(unknown),
        where.start,
        where.end,
        x,
        where.ended,
        where.periodic,
        where.closures,
        begin,
        duration,
        equations.of("a bound of the path", [row[0] for row in rows.values()]),
        _limits({name: row[1:] for name, row in rows.items()}),
        running,
        final,
        None if event is None else equations.landing(event),
        event or "",
    )


def _refuse_controlled_constraints(equations: ControlledEquations, names: Sequence[str]) -> None:
    t, x, p = (equations.constraints.sx_in(k) for k in range(3))
    rows = equations.constraints(t, x, p)
    for name in names:
        if ca.depends_on(rows, p[equations.values.index(name)]):
            raise UnsupportedError(
                f"the control {name!r} is in a constraint, so its rates would be controls, too: "
                "let it be a coordinate with a velocity that a control drives"
            )


def _quantity(name: str) -> Expression:
    return lambda now: now[name]


def _terms(
    equations: ControlledEquations, objective: object
) -> tuple[ca.Function | None, ca.Function | None]:
    """Return what is integrated and what is added at the end; neither for the duration."""
    if isinstance(objective, str) and objective == "time":
        return None, None
    if callable(objective) or isinstance(objective, str):
        running = as_function("the objective", cast("Expression", objective))
        objective = Objective(running=running)
    if not isinstance(objective, Objective):
        raise OutOfRangeError(
            f"the objective is {objective!r}, but must be 'time', an expression or a function of "
            "the quantities that is integrated, such as 'force**2' or lambda now: now['force'] "
            "** 2, or an analysis.Objective"
        )
    if objective.at or objective.samples is not None:
        raise UnsupportedError(
            "an optimum minimises the terms running and end of an objective, not at or samples"
        )
    found = [
        None if term is None else equations.of("a term of the objective", [term])
        for term in (objective.running, objective.end)
    ]
    return found[0], found[1]


def _control_names(
    system: System, controls: Iterable[str] | None, others: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the inputs that are found: by default all that have no value."""
    if controls is None:
        names = tuple(name for name in system.inputs.names if name not in others)
    else:
        names = (controls,) if isinstance(controls, str) else tuple(controls)
    check_names("input to control", names, system.inputs)
    unset = [n for n in system.inputs.unset if n not in others and n not in names]
    if unset:
        raise OutOfRangeError(
            f"the input {unset[0]!r} is neither a control nor given: name it in controls or inputs"
        )
    return names


def _range(what: str, value: object) -> tuple[float, float]:
    """Return a number, or a pair of numbers that may be infinite, as a pair."""
    if is_number(value):
        return float(value), float(value)
    pair = list(cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else []
    if len(pair) == 2 and all(isinstance(one, int | float | np.number) for one in pair):
        low, high = float(pair[0]), float(pair[1])
        if low <= high and low < math.inf and high > -math.inf:
            return low, high
    raise OutOfRangeError(
        f"{what} is {value!r}, but must be a number, or a pair of the least and the largest one"
    )


def _inside(low: float, high: float, near: float = 0.0) -> float:
    """Return the number of a range that is nearest to one."""
    return min(max(near, low), high)


def _limits(ranges: Mapping[str, tuple[float, float]]) -> TaskLimits:
    pairs = np.array(list(ranges.values()), dtype=float).reshape(-1, 2)
    return TaskLimits(tuple(ranges), pairs[:, 0], pairs[:, 1])


def _consistent(
    system: System,
    numbers: Mapping[str, float],
    nearby: Mapping[str, float],
    first: Mapping[str, tuple[float, float]],
    free: set[str],
    begin: float,
) -> Mapping[str, float]:
    """Return a consistent state at the start; names in `free` have any value."""
    guess = {
        **nearby,
        **{name: _inside(*one, nearby.get(name, 0.0)) for name, one in first.items()},
    }
    fixed = [name for name, (low, high) in first.items() if low == high and name not in free]
    own = {name: numbers[name] for name in system.inputs.names if name in numbers}
    others = {name: value for name, value in numbers.items() if name not in own}
    found = consistent_state(system, guess, fixed, parameters=others, inputs=own, time=begin)
    return found.state


class _Ends:
    """Which states are fixed at both ends, without those that follow from the constraints.

    At the start, states that are not given have the values of the consistent state, unless they
    follow from a state that is periodic or in a range.
    """

    def __init__(
        self,
        equations: ControlledEquations,
        begin: float,
        began: np.ndarray,
        first: Mapping[str, tuple[float, float]],
        last: Mapping[str, tuple[float, float]],
        free: set[str],
        periodic: Sequence[int],
        nearby: Mapping[str, float],
    ) -> None:
        names = equations.states
        self._equations, self._begin, self._names = equations, begin, names
        self.start, self.closures = self._started(began, first, free)
        near = {**dict(zip(names, began.tolist(), strict=True)), **nearby}
        goal = {name: _inside(*one, near[name]) for name, one in last.items()}
        fixed = {name: goal[name] for name, (low, high) in last.items() if low == high}
        whole = equations.dynamics.value_vector(
            dict(zip(equations.values, equations.defaults.tolist(), strict=True))
        )
        self.ended = complete_start(
            equations.dynamics, whole, fixed, guess={**near, **goal}, time=begin
        ).state
        tied = self._independent(self.ended, [names.index(name) for name in fixed])
        ranges = {
            name: last[name]
            if name in last and (name not in fixed or names.index(name) in tied)
            else (-math.inf, math.inf)
            for name in names
        }
        self.end = _limits(ranges)
        self.periodic = tuple(self._independent(began, list(periodic)))

    def _tangents(self, x: np.ndarray) -> np.ndarray:
        """Return directions in which a state may change, (n, dimension)."""
        equations = self._equations
        if not equations.constraints.numel_out(0):
            return np.eye(len(x))
        return kernel(np.asarray(equations.grips(self._begin, x, equations.defaults)))

    def _independent(self, x: np.ndarray, places: Sequence[int]) -> list[int]:
        """Return the places whose values do not follow from the constraints and earlier places."""
        tangents = self._tangents(x)
        return independent_rows(tangents[list(places)], places)

    def _started(
        self,
        began: np.ndarray,
        first: Mapping[str, tuple[float, float]],
        free: set[str],
    ) -> tuple[TaskLimits, tuple[int, ...]]:
        names, equations = self._names, self._equations
        ranges = {name: (value, value) for name, value in zip(names, began.tolist(), strict=True)}
        loose = [name for name in first if first[name][0] < first[name][1]]
        loose += [name for name in names if name in free and name not in loose]
        if not loose:
            return _limits(ranges), ()
        ranges |= {name: first.get(name, (-math.inf, math.inf)) for name in loose}
        # What is left out keeps its value unless it follows from the constraints and the others.
        given = [name for name in first if name not in loose]
        order = [*given, *loose, *[n for n in names if n not in given and n not in loose]]
        places = [names.index(name) for name in order]
        tied = self._independent(began, places)
        ranges |= {
            name: (-math.inf, math.inf)
            for name, place in zip(order, places, strict=True)
            if name not in first and place not in tied
        }
        if not equations.constraints.numel_out(0):
            return _limits(ranges), ()
        moving = [k for k, name in enumerate(names) if ranges[name][0] < ranges[name][1]]
        slopes = np.asarray(equations.grips(self._begin, began, equations.defaults))
        return _limits(ranges), tuple(independent_rows(slopes[:, moving], range(len(slopes))))


def independent_rows(rows: np.ndarray, places: Sequence[int]) -> list[int]:
    """Return the places of rows that are no combination of those before them."""
    basis = np.empty((0, rows.shape[1]))
    found: list[int] = []
    for place, row in zip(places, rows, strict=True):
        rest = row - basis.T @ (basis @ row)
        rest -= basis.T @ (basis @ rest)
        size = float(np.linalg.norm(rest))
        if size > DEPENDENT * max(float(np.linalg.norm(row)), DEPENDENT):
            basis = np.vstack([basis, rest / size])
            found.append(place)
    return found
