"""What of a run becomes live: its unit, what a reader may change in it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.formulations import Feedback
from daesolve.core.posing.symbols import Interval
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.samples import StoredSamples
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import DaesolveError, Tell, UnsupportedError
from daesolve.export.fmu.exporting import Unit, unit_of_prepared
from daesolve.export.fmu.variables import (
    FIXED,
    INPUT,
    TUNABLE,
    UnitState,
    UnitValue,
)
from daesolve.export.named import StartRule
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.resuming import problem_of, reopened
from daesolve.plugins.ruled_starts import settled as read_by
from daesolve.reporting.filming import Origin, origin_of
from daesolve.verification.auditor import Auditor

CHANGED = (0.5, 0.9, 0.999, 1.001, 1.1, 2.0)
"""Factors by which a parameter is changed to see whether derived values follow."""
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
    """

    run: Trajectory
    origin: Origin
    case: BoundCase | None
    unit: Unit

    @property
    def prepared(self) -> Prepared:
        """The run as it was prepared for the unit."""
        return self.unit.prepared

    @property
    def states(self) -> Sequence[UnitState]:
        """The states that have names, without work integrals."""
        return self.unit.sheet.variables.states[: len(self.prepared.problem.labels.states)]

    @cached_property
    def locked(self) -> Mapping[str, str]:
        """The parameters that the page must not change, with the reason."""
        return {} if self.case is None else _locked(self.case)

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
        why = self.locked.get(value.name, "")
        return Slider(value.name, value.unit, kind, reference, default, low, high, declared, why)

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
    anew = prepare_once(prepared.system, request)
    case = known.origin if isinstance(known.origin, BoundCase) else None
    return LiveRun(known, origin, case, unit_of_prepared(anew, rule=_rule(case)))


def _rule(case: BoundCase | None) -> StartRule | None:
    return None if case is None else case.settled[1]


def _locked(case: BoundCase) -> dict[str, str]:
    """Return the parameters from which values follow that only the problem's code computes."""
    derived = case.problem.derived
    given = case.full_start, case.full_parameters, case.problem.meaning(case.full_structure)
    found = {
        name: f"{name} follows from the other values, by code that is not in this page"
        for name in case.derived
    }
    if derived is None:
        return found
    start, parameters, structure = given
    for name in sorted(read_by([derived], *given)):
        followed = _followed(case, name, parameters, structure, start)
        if followed:
            found[name] = (
                f"{', '.join(followed)} would follow from {name} by code that is not in this "
                "page: run the case again with another value"
            )
    return found


def _followed(
    case: BoundCase,
    name: str,
    parameters: Mapping[str, float],
    structure: Mapping[str, Any],
    start: Mapping[str, float],
) -> list[str]:
    """Return the derived values that change with a parameter."""
    derived = case.problem.derived
    assert derived is not None
    found: dict[str, None] = {}
    for factor in CHANGED:
        value = parameters[name] * factor or factor - 1.0
        try:
            values = derived(start, {**parameters, name: value}, structure)
        except (DaesolveError, ArithmeticError, ValueError):
            continue
        found |= {key: None for key, one in values.items() if one != case.derived.get(key)}
    return list(found)
