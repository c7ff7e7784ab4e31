"""What of a run becomes live: its unit, what a reader may change in it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isclose, nan
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.formulations import Feedback
from daesolve.core.formulations.problem import OdeProblem
from daesolve.core.posing.symbols import Interval, symbol
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.samples import StoredSamples
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.system.system import System
from daesolve.errors import DaesolveError, Named, Tell, UnsupportedError
from daesolve.export.fmu.exporting import Unit, unit_of_prepared
from daesolve.export.fmu.variables import (
    FIXED,
    INPUT,
    TUNABLE,
    UnitState,
    UnitValue,
)
from daesolve.export.named import StartRule
from daesolve.multibody.drawing.traced import Traced, expression_of
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.resuming import problem_of, reopened
from daesolve.plugins.ruled_starts import settled as read_by
from daesolve.reporting.filming import Origin, origin_of
from daesolve.reporting.live.inputs import GivenInputs, opened_inputs
from daesolve.verification.auditor import Auditor

CHANGED = (0.5, 0.9, 0.999, 1.001, 1.1, 2.0)
"""Factors by which a parameter is changed to see whether derived values follow."""
SAME = 1e-12
"""How far an expression may be from what it stands for, relative to its size or to 1."""
SPREAD = 2.0
"""How far a slider without declared bounds goes, in its stored value."""


@dataclass(frozen=True)
class Slider:
    """What a reader may change: a parameter, an input, or the start of a state.

    Parameters
    ----------
    name, unit, kind
        The kind is "parameter", "input" or "start".
    reference
        Of its variable in the unit.
    value
        The stored one.
    low, high
        The ends of its slider.
    declared
        The range as declared.
    locked
        Why it cannot be changed; empty if it can.
    label
        What a page calls it, if not by its name.
    """

    name: str
    unit: str
    kind: str
    reference: int
    value: float
    low: float
    high: float
    declared: Interval | None = None
    locked: str = ""
    label: str = ""


@dataclass(frozen=True, eq=False)
class LiveRun:
    """A run whose motion a page can compute again.

    Parameters
    ----------
    run
        The stored run, with its equations.
    origin
        What reports call it, and what draws it.
    case
        Its case; None if it is of a system.
    unit
        Its unit.
    given
        Its inputs that are no numbers.
    """

    run: Trajectory
    origin: Origin
    case: BoundCase | None
    unit: Unit
    given: GivenInputs

    @property
    def prepared(self) -> Prepared:
        """The run as it was prepared for the unit."""
        return self.unit.prepared

    @property
    def states(self) -> Sequence[UnitState]:
        """The states that have names, without work integrals."""
        return self.unit.sheet.variables.states[: len(self.prepared.problem.labels.states)]

    @property
    def kept(self) -> list[int]:
        """The references of the states that the run was given to keep."""
        given = self.prepared.request.initial
        return [1 + place for place, state in enumerate(self.states) if state.name in given]

    @property
    def titles(self) -> list[list[str]]:
        """What messages call the constraints on the positions of a start, and on its velocities."""
        rates = {
            link: f"the rate of the goal {row.name!r}"
            for row in self.prepared.dynamics.rows
            if row.kind == "holonomic"
            for link in [*row.links][1:]
        }
        functions = self.unit.sheet.functions
        both = functions.positions.names, functions.velocities.names
        return [[rates.get(name, f"the goal {name!r}") for name in names] for names in both]

    @cached_property
    def following(self) -> tuple[ca.Function, Mapping[str, str]]:
        """The values that follow from others, and the parameters that the page must not change."""
        return _following(self.case, self.prepared.problem)

    @cached_property
    def sliders(self) -> tuple[Slider, ...]:
        """What a reader may change, in the order of the unit."""
        variables = self.unit.sheet.variables
        kinds = {FIXED: "parameter", TUNABLE: "parameter", INPUT: "input"}
        found = [
            self._slider(value, kinds[value.kind], variables.first_value + place)
            for place, value in enumerate(variables.values)
            if value.kind in kinds
        ]
        for place, state in enumerate(self.states):
            # What begins at zero may go as far as the motion does.
            reach = SPREAD * (abs(state.start) or state.nominal)
            ends = state.start - reach, state.start + reach
            found.append(Slider(state.name, state.unit, "start", 1 + place, state.start, *ends))
        return tuple(found)

    def _slider(self, value: UnitValue, kind: str, reference: int) -> Slider:
        default, declared = value.default, value.range
        reach = SPREAD * abs(default) or 1.0
        low, high = min(0.0, default - reach / 2), max(0.0, default) + reach
        if default < 0.0:
            low, high = default - reach, max(0.0, default + reach / 2)
        low = max(low, declared.low) if np.isfinite(declared.low) else low
        high = min(high, declared.high) if np.isfinite(declared.high) else high
        if declared.open_low and low == declared.low:
            low += (high - low) / 100
        why, label = self.following[1].get(value.name, ""), self.given.labels.get(value.name, "")
        ends = low, high
        kind = "input" if label else kind
        return Slider(value.name, value.unit, kind, reference, default, *ends, declared, why, label)

    @cached_property
    def drift(self) -> ca.Function:
        """(t, x, p) -> the residuals of the goals, as the drift of a run has them."""
        problem = self.prepared.problem
        t, x, p = (problem.rhs.sx_in(k) for k in range(3))
        column = problem.residuals(t, x, p)[0][: len(problem.watched)]
        return ca.Function("page_drift", [t, x, p], [ca.densify(column)], {"cse": True})


def live_run(
    run: Trajectory | Path | str, source: Path | str | None = None, tell: Tell | None = None
) -> LiveRun:
    """Return what of a run becomes live.

    Parameters
    ----------
    run
        A run of this process, or the directory of a stored one.
    source, tell
        As in `daesolve.reporting.animate`.

    Raises
    ------
    UnsupportedError
        A unit cannot compute its motion; the message names the cause.
    DaesolveError
        The run on disk is damaged, or its problem is not available.
    """
    known = Trajectory.from_run(run) if isinstance(run, Path | str) else run
    origin = origin_of(known, None, source, tell)
    if isinstance(known.samples, StoredSamples):
        stored = known.samples.stored
        problem = problem_of(stored, source, tell)
        known = reopened(stored.directory, problem, tell)
    auditor = known.auditor
    if not isinstance(auditor, Auditor):
        raise UnsupportedError(
            "this trajectory was read from disk or pickled, so it has no equations: store the run "
            "and give its directory, or ask the run that daesolve.solve returns"
        )
    prepared = auditor.prepared
    if known.end_time <= prepared.start_time:
        what = "goes back in time" if known.end_time < prepared.start_time else "has no duration"
        raise UnsupportedError(f"the run {what}, but a page only computes forwards")
    request = replace(prepared.request, formulation=Feedback(), solver=None, rtol=None, atol=None)
    anew, given = prepare_once(prepared.system, request), GivenInputs()
    case = known.origin if isinstance(known.origin, BoundCase) else None
    posed = known.origin if case is None else case.system
    if isinstance(posed, System):
        anew, given = opened_inputs(posed, anew)
    return LiveRun(known, origin, case, unit_of_prepared(anew, rule=_rule(case)), given)


def _rule(case: BoundCase | None) -> StartRule | None:
    """Return how the start of a case follows from parameters; None if only code says it."""
    if case is None:
        return None
    return case.settled[1] or _followed_rule(case)


def _followed_rule(case: BoundCase) -> StartRule | None:
    """Return the same, followed with numbers that carry expressions through functions of NumPy."""
    rule = case.problem.start_rule(case.model)
    if rule is None:
        return None
    start, parameters = case.full_start, case.full_parameters
    structure = case.problem.meaning(case.full_structure)
    symbols = {name: symbol(name) for name in parameters}
    # What follows from others is not set: its own value says that it follows.
    free = {*case.system.parameters.names} - {*case.derived}
    traced = {
        name: Traced(value, symbols[name]) if name in free else value
        for name, value in parameters.items()
    }
    try:
        found: Any = rule(start, Named(traced, "parameter"), structure)
        states = {str(name): expression_of(value) for name, value in found.items()}
    except Exception:  # It is a plugin's, and made for plain numbers.
        return None
    own = ca.Function("own", [*symbols.values()], [ca.vertcat(ca.SX(0, 1), *states.values())])
    read = sorted(read_by([rule], start, parameters, structure) & free)
    for changed in [{}, *_changed(read, parameters)]:
        values = {**parameters, **changed}
        try:
            known: Any = rule(start, Named(values, "parameter"), structure)
        except (DaesolveError, ArithmeticError, ValueError):
            continue
        numbers = np.asarray(own(*values.values())).ravel()
        wanted = np.array([float(known[name]) for name in states])
        if np.any(np.abs(numbers - wanted) > SAME * np.maximum(1.0, np.abs(wanted))):
            return None
    return StartRule(symbols, states)


def _changed(names: Sequence[str], parameters: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """Return changes of one parameter each."""
    for name in names:
        for factor in CHANGED:
            yield {name: parameters[name] * factor or factor - 1.0}


def _following(case: BoundCase | None, problem: OdeProblem) -> tuple[ca.Function, dict[str, str]]:
    """Return the values that a problem derives from others, and what a page must not change.

    Returns
    -------
    tuple
        p -> p with these values, named "page_derived"; and by the name of a parameter the reason
        why it is fixed: values follow from it by code alone.
    """
    p = problem.rhs.sx_in(2)
    follows = ca.SX(p)
    if case is None or case.problem.derived is None:
        return ca.Function("page_derived", [p], [p]), {}
    names = list(problem.values)
    fixed = {
        name: f"{name} follows from the other values" for name in case.derived if name in names
    }
    given = case.full_start, case.full_parameters, case.problem.meaning(case.full_structure)
    derive = partial(_derived, case, given)
    read = sorted((read_by([case.problem.derived], *given) & {*names}) - {*case.derived})
    traced = {name: Traced(given[1][name], p[names.index(name)]) for name in read}
    found: Mapping[str, float] = case.derived
    with suppress(Exception):  # It is a plugin's, and may be made for plain numbers.
        found = derive(traced)
    expressions = {name: expression_of(found.get(name, case.derived[name])) for name in fixed}
    function = ca.Function("found", [p], [ca.vertcat(ca.SX(0, 1), *expressions.values())])
    for name in read:
        followed = _unfollowed(derive, function, list(expressions), (name, given[1][name]), problem)
        if followed:
            fixed[name] = f"{', '.join(followed)} would follow from {name} by code that is not here"
    for name, expression in expressions.items():
        follows[names.index(name)] = expression
    return ca.Function("page_derived", [p], [ca.densify(follows)], {"cse": True}), fixed


def _derived(
    case: BoundCase,
    given: tuple[Mapping[str, float], Mapping[str, float], Mapping[str, Any]],
    changed: Mapping[str, float],
) -> Mapping[str, float]:
    """Return the derived values of a case with other values of parameters."""
    start, parameters, structure = given
    rule = case.problem.derived
    assert rule is not None
    return rule(start, Named({**parameters, **changed}, "parameter"), structure)


def _unfollowed(
    derive: Callable[[Mapping[str, float]], Mapping[str, float]],
    function: ca.Function,
    names: Sequence[str],
    parameter: tuple[str, float],
    problem: OdeProblem,
) -> list[str]:
    """Return the derived values that change with a parameter, but whose expressions do not."""
    name, value = parameter
    found: dict[str, None] = {}
    base = problem.value_vector(problem.values)
    for factor in CHANGED:
        other = value * factor or factor - 1.0
        try:
            known = derive({name: other})
        except (DaesolveError, ArithmeticError, ValueError):
            continue
        p = base.copy()
        p[list(problem.values).index(name)] = other
        own = np.asarray(function(p)).ravel()
        for one, number in zip(names, own.tolist(), strict=True):
            if not isclose(number, known.get(one, nan), rel_tol=1e-12, abs_tol=1e-300):
                found[one] = None
    return list(found)
