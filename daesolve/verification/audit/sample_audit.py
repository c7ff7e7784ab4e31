"""An audit of samples from elsewhere: of another program, an FMU or a measurement.

Samples are held against the posed expressions as they are. Groups of ten of them are taken for the
steps of a run, over which the equations of motion are balanced, with the reactions that the samples
tell, or else with those that the motion asks for: then only what no reaction explains is a defect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.polynomial import legendre

from daesolve.core.posing.goals import Goal
from daesolve.core.posing.measured import column_of
from daesolve.core.results.trajectory.findings import Audit, unchecked
from daesolve.core.results.trajectory.results import EventRecord
from daesolve.errors import OutOfRangeError, UnknownNameError
from daesolve.verification.audit.balances import check_equations, momenta_balance, reactions_of
from daesolve.verification.audit.certificate import NODES, PLACES, STEPS_OFF, Certificate, rates
from daesolve.verification.audit.expressions import (
    BESIDE,
    Expressions,
    UncheckableError,
    contacts_of,
    ideal_goals,
    names_of_states,
)
from daesolve.verification.audit.goal_checks import check_goals
from daesolve.verification.audit.jump_checks import changed_values
from daesolve.verification.audit.run_audit import Instants, check_passages

CLOCKS = "t", "time"
"""How a column of times may be called."""
REACTION = "reaction_"
"""Before the name of a reaction, where a column of the files of runs has one."""
MOST_NAMES = 6
"""Names in a sentence."""
TOUCHES = 1e-6
"""The part of its largest gap within which a contact may bear a force."""


def audit_samples(
    system: Any,
    table: Mapping[str, Any],
    *,
    parameters: Mapping[str, float] | None = None,
    events: Sequence[EventRecord] | None = None,
    tolerance: float = 1e-6,
) -> Audit:
    """Hold samples of a motion that another program made against a posed system.

    Parameters
    ----------
    system
        As posed.
    table
        Columns by name, (n,) each, such as a `pandas.DataFrame`: the time "t" (or "time"), all
        states, and as far as they are known reactions (by their names or as "reaction_<name>"),
        inputs and discrete values. Other columns do not count.
    parameters
        Numbers of the system by name, also inputs that are constant; others have their defaults.
    events
        The events of the motion, if they are known: then each passage of a guard must have one.
    tolerance
        The relative defect that the samples are allowed.

    Returns
    -------
    Audit
        Goals and contacts at the samples, the equations of motion over groups of ten of them. Where
        reactions are not told, they are those that the motion asks for.

    Raises
    ------
    UnknownNameError
        A state has no column.
    OutOfRangeError
        There are fewer than two samples, their times do not rise, or the tolerance is not positive.
    """
    if not tolerance > 0.0:
        raise OutOfRangeError(f"the tolerance is {tolerance!r}, but must be a number > 0")
    numbers = {**system.parameters.defaults, **dict(parameters or {})}
    at = _instants(system, table, numbers, events, tolerance)
    along = Expressions(at)
    findings = check_goals(along)
    if events is not None:
        findings += check_passages(at, along)
    elif system.events:
        findings.append(unchecked("event", "", "the samples tell no events"))
    whole = _steps(at, tolerance)
    steps = _smooth(whole, tolerance)
    if not len(steps.starts):
        said = f"no {NODES} samples in a row are so near that they show a smooth motion"
        return Audit((*findings, unchecked("equations of motion", "", said)))
    steps, missing = with_reactions(steps)
    said = [f"found from the motion, as they are not told: {_listed(missing)}"] * bool(missing)
    rough = len(whole.starts) - len(steps.starts)
    if rough:
        said.append(f"{rough} of {len(whole.starts)} groups of {NODES} samples are too far apart, "
                    "or something jumps there")  # fmt: skip
    return Audit((*findings, *check_equations(Expressions(steps))), "; ".join(said))


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _smooth(steps: Certificate, tolerance: float) -> Certificate:
    """Return those of the steps whose polynomials show the states to within a tolerance."""
    kept = np.ones(len(steps.starts), dtype=bool)
    for name in names_of_states(steps.system):
        largest = steps.scale(name, steps.columns[name]) + 1e-300
        kept &= steps.unresolved(steps.columns[name]) <= tolerance * largest
    return steps.only(kept)


def _instants(
    system: Any,
    table: Mapping[str, Any],
    numbers: Mapping[str, float],
    events: Sequence[EventRecord] | None,
    tolerance: float,
) -> Instants:
    """Return what of a table is of the system, sample by sample."""
    clock = next((name for name in CLOCKS if name in table), None)
    index = getattr(table, "index", None)
    if clock is None and getattr(index, "name", None) not in CLOCKS:
        raise UnknownNameError("the samples have no column 't' of their times")
    times = column_of("the times of the samples", index if clock is None else table[clock])
    states = names_of_states(system)
    missing = [name for name in states if name not in table]
    if missing:
        raise UnknownNameError(
            f"the samples have no column {missing[0]!r}, but an audit needs every state: "
            f"{', '.join(states)}"
        )
    if len(times) < 2 or not np.all(np.diff(times) > 0.0):
        raise OutOfRangeError("an audit needs at least two samples whose times rise")

    def told(name: str, column: str = "") -> np.ndarray:
        found = column_of(f"the samples of {name!r}", table[column or name])
        if len(found) != len(times):
            raise OutOfRangeError(
                f"there are {len(found)} samples of {name!r}, but {len(times)} times"
            )
        return found

    columns = {name: told(name) for name in states}
    labels = [goal.reaction_label for goal in ideal_goals(system)]
    for name in (*labels, *system.inputs.names):
        column = next((c for c in (name, f"{REACTION}{name}") if c in table), None)
        if column is not None:
            columns[name] = told(name, column)
    # What no event changes keeps its value; contacts are taken as they begin.
    changed = set(changed_values(system))
    for drive in system.drives:
        changed |= set(drive.values.names) if drive.period is not None else set()
    count = len(times)
    resets = np.sort([event.time for event in events or () if event.after is not None])
    return Instants(
        system=system,
        parameters=numbers,
        starts=times,
        lengths=np.full(count, (times[-1] - times[0]) / count),
        columns={name: row[:, None] for name, row in columns.items()},
        values={
            n: told(n) if n in table else np.full(count, usual)
            for n, usual in system.discrete.defaults.items()
            if n in table or n not in changed
        },
        events=tuple(events or ()),
        accuracy=tolerance / BESIDE,
        driven={goal.name: math.inf for goal in system.goals if isinstance(goal, Goal)},
        smooth=np.searchsorted(resets, times),
        within=np.ones(count, dtype=bool),
        turning=(),
    )


def _steps(at: Instants, tolerance: float) -> Certificate:
    """Return groups of samples in which no discrete value changes, with the nodes of steps."""
    times, last = at.starts, len(at.starts) - NODES
    firsts = np.append(np.arange(0, last + 1, NODES - 1), [last] if last >= 0 else [])
    groups = np.unique(firsts.astype(int))[:, None] + np.arange(NODES)
    for row in at.values.values():
        groups = groups[np.all(row[groups] == row[groups][:, :1], axis=1)]
    starts, lengths = times[groups[:, 0]], times[groups[:, -1]] - times[groups[:, 0]]
    weights = _interpolation((times[groups] - starts[:, None]) / lengths[:, None])
    return Certificate(
        system=at.system,
        parameters=at.parameters,
        starts=starts,
        lengths=lengths,
        columns={
            n: np.einsum("nij,nj->ni", weights, row[groups, 0]) for n, row in at.columns.items()
        },
        values={name: row[groups[:, 0]] for name, row in at.values.items()},
        events=(),
        accuracy=tolerance / STEPS_OFF,
    )


def _interpolation(places: np.ndarray) -> np.ndarray:
    """Return the matrices from values at places (n, NODES) to those at the nodes of steps."""
    values, wanted = (legendre.legvander(2.0 * p - 1.0, NODES - 1) for p in (places, PLACES))
    return np.linalg.solve(np.swapaxes(values, 1, 2), wanted.T).swapaxes(1, 2)


# -- reactions -------------------------------------------------------------------------------------


def with_reactions(steps: Certificate) -> tuple[Certificate, list[str]]:
    """Return steps with the reactions that their motion asks for, and the names of these.

    They are the least ones by which the rates of the momenta and the loads differ least. A contact
    that is open has none.
    """
    system = steps.system
    missing = [goal for goal in ideal_goals(system) if goal.reaction_label not in steps.columns]
    if not missing or not hasattr(system, "coordinates"):
        return steps, []
    nothing = {goal.reaction_label: np.zeros(steps.times.shape) for goal in missing}
    try:
        along = Expressions(replace(steps, columns={**steps.columns, **nothing}))
        balance = momenta_balance(along)
        symbols = ca.vertcat(*[goal.reaction for goal in missing])
        directions = ca.densify(ca.jacobian(reactions_of(along), symbols))
        # CasADi lists the entries of a matrix column by column.
        listed = along(ca.vertsplit(ca.vec(directions)))
        pushes = listed.reshape(len(missing), len(balance.names), *steps.times.shape)
        masks = np.array([_bears(along, goal) for goal in missing])[:, None]
    except UncheckableError:
        return steps, []
    owed = rates(np.asarray(balance.quantities)) / steps.lengths[:, None] - balance.load
    pushes = np.moveaxis(pushes * masks, (1, 0), (-2, -1))
    reactions = np.linalg.pinv(pushes, rcond=1e-10) @ np.moveaxis(owed, 0, -1)[..., None]
    rows = {g.reaction_label: reactions[..., k, 0] for k, g in enumerate(missing)}
    return replace(steps, columns={**steps.columns, **rows}), [*rows]


def _bears(along: Expressions, goal: Goal) -> np.ndarray:
    """Tell where a goal can have a reaction: always, or where its contact is closed."""
    for contact in contacts_of(along.system):
        if goal in (contact, *contact.sticking):
            gap = np.abs(along([along.written(ca.SX(contact.residual))])[0])
            return gap <= TOUCHES * max(float(np.max(gap, initial=0.0)), 1.0)
    return np.ones(along.certificate.times.shape)
