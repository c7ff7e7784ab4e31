"""Derivatives of the start of a run: of its consistent state, and of the values of p there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.analysis.state_field import manifold
from daesolve.analysis.variational import (
    FIRST_STEP,
    cannot_follow,
    differentiated,
    start_slope,
)
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.examination import starting_point
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.preparation.request import Request, with_inputs
from daesolve.core.preparation.wrapping import periodic_angles
from daesolve.core.system.system import System
from daesolve.errors import DaesolveError, UnsupportedError, is_number

ASIDE = (1.07, 0.94)
"""The factors of a number at which a request shows what else it changes."""
BENT = 1e-8
"""The change of a second derivative after which no smaller step is tried: rounding grows with the
inverse of its square, and may look like convergence."""
Requests = Callable[[Mapping[str, float]], Request]
"""Some of the numbers, by name -> the request of a run; the others are nominal."""


def differentiated_start(
    system: System, request: Requests, nominal: Mapping[str, float]
) -> tuple[Prepared, np.ndarray, str]:
    """Prepare a run, and differentiate its start.

    Parameters
    ----------
    system
        The posed system, which does not depend on the numbers.
    request
        Returns the request for some of the numbers, by name; the others are nominal.
    nominal
        The numbers.

    Returns
    -------
    tuple
        The prepared run, the derivatives of states and values at the start, (n + np, k), and a note
        on their accuracy.

    Raises
    ------
    InconsistentStateError
        The start cannot follow a change.
    """
    system, asked = with_inputs(system, request({}))
    if any(row.law is not None for row in system.dynamics.drives):
        raise UnsupportedError(
            "a law called in Python has no derivative: have it traced (traced=True)"
        )
    prepared = prepare(system, asked)
    direct, start = DirectChanges(prepared, asked, request), _starts(prepared, asked, request)
    slopes: list[np.ndarray] = []
    errors: list[float] = []
    for name, value in nominal.items():

        def one(number: float, name: str = name) -> np.ndarray:
            return start({name: number})

        slope = direct.slope(name, value)
        if slope is None:
            slope, error = start_slope(name, one, value)
            errors.append(error)
        slopes.append(slope)
    start_slopes = np.array(slopes).T
    note = (
        f"derivatives of the start by extrapolated differences, which left {max(errors):.2g} of "
        "the largest"
        if errors
        else "derivatives of the start are exact"
    )
    return _unwrapped(prepared, start_slopes), start_slopes, note


def _starts(
    prepared: Prepared, asked: Request, request: Requests
) -> Callable[[Mapping[str, float]], np.ndarray]:
    """Return the function from some of the numbers to states and values at the start, (n + np,)."""
    dynamics, names = prepared.system.dynamics, list(prepared.dynamics.values)
    # Which of dependent goals are kept is chosen after the start.
    chosen = dict(zip(names, prepared.values.tolist(), strict=False))

    def start(numbers: Mapping[str, float]) -> np.ndarray:
        changed = replace(asked, **_numbers(request(numbers)))
        state, values = starting_point(dynamics, changed)
        own = {**chosen, **values}
        return np.concatenate([state.state, [own[entry] for entry in names]])

    return start


def second_start_slopes(
    prepared: Prepared,
    request: Requests,
    nominal: Mapping[str, float],
    weights: np.ndarray,
    direction: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Differentiate the start by each number and in a direction of all.

    Parameters
    ----------
    prepared, request, nominal
        The prepared run, and as in `differentiated_start`.
    weights
        (n + np,) of states and values at the start, of which a sum is taken.
    direction
        (k,) a change of the numbers, by no more than about their sizes.

    Returns
    -------
    slopes, errors
        (k,) each; zero where the start is as straight as its numbers.

    Raises
    ------
    InconsistentStateError
        The start cannot follow a change.
    """
    asked = with_inputs(prepared.system, request({}))[1]
    direct, names = DirectChanges(prepared, asked, request), list(nominal)
    values = np.array([*nominal.values()])
    if not direct.has_references and all(
        direct.slope(name, value) is not None for name, value in nominal.items()
    ):
        return np.zeros(len(names)), np.zeros(len(names))
    start = _starts(prepared, asked, request)
    slopes, errors = np.zeros(len(names)), np.zeros(len(names))
    for k, name in enumerate(names):
        size = abs(values[k]) or 1.0
        own = size * np.eye(len(names))[k]

        def bend(part: float, own: np.ndarray = own) -> np.ndarray:
            """Return a quarter of the four corners' alternating sum by the part: it is odd."""
            ends = 0.0
            for ahead, sign in ((direction, 1.0), (-direction, -1.0)):
                for aside, other in ((own, 1.0), (-own, -1.0)):
                    numbers = values + part * (ahead + aside)
                    found = start(dict(zip(names, numbers.tolist(), strict=True)))
                    ends += sign * other * float(weights @ found)
            return np.array([ends / (4.0 * part)])

        try:
            slope, error = differentiated(bend, 0.0, FIRST_STEP, BENT)
        except DaesolveError as refusal:
            raise cannot_follow(name, refusal) from refusal
        slopes[k], errors[k] = slope[0] / size, error * abs(slope[0]) / size
    return slopes, errors


@dataclass(frozen=True, eq=False)
class DirectChanges:
    """The numbers that change the start in no other way than by their own value.

    Parameters
    ----------
    prepared, asked, request
        The prepared run, its request, and those for other numbers.
    """

    prepared: Prepared
    asked: Request
    request: Requests

    @cached_property
    def _plain(self) -> bool:
        """Whether the start is what is asked for, and nothing else follows from it."""
        dynamics, states = self.prepared.dynamics, self.prepared.problem.labels.states
        return (
            self.prepared.system.dynamics is dynamics
            and not (dynamics.drives or dynamics.switches or self.asked.begun)
            and not self.prepared.start.changes
            and all(name in states for name in self.asked.initial)
        )

    @cached_property
    def _references(self) -> tuple[list[int], np.ndarray, np.ndarray]:
        """The places of references in p, and their derivatives by states and by p."""
        dynamics = self.prepared.dynamics
        p = self.prepared.values[: dynamics.p.numel()]
        places, function = reference_slopes(dynamics)
        numbers = p.copy()
        numbers[places] = 0.0
        by_state, by_values = function(self.prepared.start_time, self.prepared.start.state, numbers)
        return places, np.asarray(by_state), np.asarray(by_values)

    @property
    def has_references(self) -> bool:
        """Whether values in p follow from the start."""
        return bool(self._references[0])

    def slope(self, name: str, value: float) -> np.ndarray | None:
        """Return the derivatives of states and values by a number, (n + np,).

        None if it may move the start in another way.
        """
        dynamics, states = self.prepared.dynamics, self.prepared.problem.labels.states
        if not self._plain or not self._alone(name, value):
            return None
        places, by_state, by_values = self._references
        own = np.zeros(len(states) + dynamics.p.numel())
        if name in dynamics.posed_ranges:
            place = list(dynamics.values).index(name)
            if constrained_by(dynamics)[place]:
                return None
            own[len(states) + place] = 1.0
            references = by_values[:, place]
        else:
            if any(link.numel() for link in manifold(dynamics)):
                return None
            place = states.index(name)
            own[place] = 1.0
            references = by_state[:, place]
        own[[len(states) + k for k in places]] = references
        return own

    def _alone(self, name: str, value: float) -> bool:
        """Return whether a request for another number differs in this number alone."""
        here = _numbers(self.asked)
        kind = "parameters" if name in self.prepared.dynamics.posed_ranges else "initial"
        if kind == "initial" and name not in here["initial"]:
            return False
        for factor in ASIDE:
            other = factor * value if value else factor - 1.0
            try:
                there = _numbers(self.request({name: other}))
            except DaesolveError:
                return False
            if there != {**here, kind: {**here[kind], name: other}}:
                return False
        return True


@built_once
def constrained_by(dynamics: Dynamics) -> list[bool]:
    """Return which values in p a constraint contains."""
    links = ca.vertcat(ca.SX(0, 1), *manifold(dynamics))
    if not links.numel():
        return [False] * dynamics.p.numel()
    return list(ca.which_depends(links, dynamics.p, 1, False))


@built_once
def reference_slopes(dynamics: Dynamics) -> tuple[list[int], ca.Function]:
    """Return the places of references in p, and (t, x, p) -> their derivatives by x and p."""
    held = {row.name: row.held for row in dynamics.invariants}
    held |= {row.name: row.chain[0] for row in dynamics.rows if row.from_start}
    names = list(dynamics.values)
    places = [ValueKind.REFERENCE.place(name, names) for name in held]
    expressions = ca.vertcat(ca.SX(0, 1), *held.values())
    slopes = [ca.jacobian(expressions, by) for by in (dynamics.x, dynamics.p)]
    given = [dynamics.t, dynamics.x, dynamics.p]
    return places, ca.Function("reference_slopes", given, slopes)


def _numbers(asked: Request) -> dict[str, Mapping[str, Any]]:
    """Return the numbers in a request; those of inputs count as parameters."""
    moving = {name for name, value in asked.inputs.items() if not is_number(value)}
    numbers = {n: value for n, value in asked.parameters.items() if n not in moving}
    return {"parameters": numbers, "initial": asked.initial, "guess": asked.guess}


def _unwrapped(prepared: Prepared, start_slopes: np.ndarray) -> Prepared:
    """Leave angles unwrapped that are periodic only for certain values of parameters.

    For whole k, sin(k phi) repeats after a turn, but its derivative by k does not.
    """
    names = list(prepared.dynamics.values)
    of_values = start_slopes[len(start_slopes) - len(names) :]
    varied = {name for name, slopes in zip(names, of_values, strict=True) if np.any(slopes)}
    if not varied or not prepared.wrapped:
        return prepared
    numbers = dict(zip(prepared.problem.values, prepared.values.tolist(), strict=True))
    kept = {name: value for name, value in numbers.items() if name not in varied}
    return replace(prepared, wrapped=periodic_angles(prepared.dynamics, prepared.problem, kept, []))
