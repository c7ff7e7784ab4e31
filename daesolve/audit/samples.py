"""An audit of samples from elsewhere: of another program, an FMU or a measurement.

Samples are held against the posed expressions as they are. Groups of ten of them are taken for the
steps of a run, over which the equations of motion are balanced, with the reactions that the samples
tell, or else with those that the motion asks for: then only what no reaction explains is a defect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daesolve.audit.certificate import NODES, PLACES, Certificate, rates
from daesolve.audit.equations import (
    STEPS_OFF,
    check_equations,
    momenta_balance,
    moving_of,
    reactions_of,
)
from daesolve.audit.expressions import Expressions, UnknownSymbolsError, names_of_states
from daesolve.audit.glancing import Instants, check_passages
from daesolve.audit.goals import check_goals
from daesolve.audit.jumps import changed_values
from daesolve.audit.rounding import BESIDE
from daesolve.errors import OutOfRangeError, UnknownNameError
from daesolve.posing.goals import Goal
from daesolve.posing.measured import column_of
from daesolve.trajectory.findings import Audit, Finding, unchecked
from daesolve.trajectory.results import EventRecord

CLOCKS = "t", "time"
"""How a column of times may be called."""
REACTION = "reaction_"
"""Before the name of a reaction, where a column of the files of runs has one."""
MOST_NAMES = 6
"""Names in a sentence."""
TOUCHES = 1e-6
"""The part of its largest gap within which a contact may bear a force."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of a motion by name, in the order of time.

    Parameters
    ----------
    times
        (n,) s.
    columns
        (n,) of each state, and of reactions and inputs that are told.
    values
        (n,) of each discrete value that is told.
    """

    times: np.ndarray
    columns: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]


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
    samples = _samples(system, table)
    numbers = {**system.parameters.defaults, **dict(parameters or {})}
    at, found = _instants(system, samples, numbers, events, tolerance), list[Finding]()
    along = Expressions(at)
    found += check_goals(at, along)
    if events is not None:
        found += check_passages(at, along)
    elif system.events:
        found.append(unchecked("event", "", "the samples tell no events"))
    whole = _steps(system, samples, numbers, tolerance)
    steps = _smooth(whole, tolerance)
    if not len(steps.starts):
        said = f"no {NODES} samples in a row are so near that they show a smooth motion"
        return Audit((*found, unchecked("equations of motion", "", said)))
    steps, missing = with_reactions(steps)
    said = [f"found from the motion, as they are not told: {_listed(missing)}"] * bool(missing)
    rough = len(whole.starts) - len(steps.starts)
    if rough:
        said.append(f"{rough} of {len(whole.starts)} groups of {NODES} samples are too far apart, "
                    "or something jumps there")  # fmt: skip
    return Audit((*found, *check_equations(steps, Expressions(steps))), "; ".join(said))


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _smooth(steps: Certificate, tolerance: float) -> Certificate:
    """Return those of the steps whose polynomials show the states to within a tolerance."""
    kept = np.ones(len(steps.starts), dtype=bool)
    for name in names_of_states(steps.system):
        column = steps.columns[name]
        largest = float(np.max(np.abs(column), initial=0.0)) + 1e-300
        kept &= steps.unresolved(column) <= tolerance * largest
    return replace(
        steps,
        starts=steps.starts[kept],
        lengths=steps.lengths[kept],
        columns={name: rows[kept] for name, rows in steps.columns.items()},
        values={name: rows[kept] for name, rows in steps.values.items()},
    )


def _samples(system: Any, table: Mapping[str, Any]) -> Samples:
    """Return what of a table is of the system."""
    clock = next((name for name in CLOCKS if name in table), None)
    index = getattr(table, "index", None)
    if clock is not None:
        times = column_of("the times of the samples", table[clock])
    elif getattr(index, "name", None) in CLOCKS:
        times = column_of("the times of the samples", index)
    else:
        raise UnknownNameError("the samples have no column 't' of their times")
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
    for name in (*(goal.reaction_label for goal in _reacting(system)), *system.inputs.names):
        column = next((c for c in (name, f"{REACTION}{name}") if c in table), None)
        if column is not None:
            columns[name] = told(name, column)
    # What no event changes keeps its value; contacts are taken as they begin.
    changed = set(changed_values(system))
    for drive in system.drives:
        changed |= set(drive.values.names) if drive.period is not None else set()
    values = {
        n: told(n) if n in table else np.full(len(times), usual)
        for n, usual in system.discrete.defaults.items()
        if n in table or n not in changed
    }
    return Samples(times, columns, values)


def _reacting(system: Any) -> list[Goal]:
    return [goal for goal in system.goals if isinstance(goal, Goal) and goal.ideal]


def _instants(
    system: Any,
    samples: Samples,
    numbers: Mapping[str, float],
    events: Sequence[EventRecord] | None,
    tolerance: float,
) -> Instants:
    """Return the samples, one by one."""
    times, count = samples.times, len(samples.times)
    resets = np.sort([event.time for event in events or () if event.after is not None])
    return Instants(
        system=system,
        parameters=numbers,
        starts=times,
        lengths=np.full(count, (times[-1] - times[0]) / count),
        columns={name: row[:, None] for name, row in samples.columns.items()},
        values=samples.values,
        events=tuple(events or ()),
        accuracy=tolerance / BESIDE,
        driven=frozenset(goal.name for goal in system.goals if isinstance(goal, Goal)),
        smooth=np.searchsorted(resets, times),
        within=np.ones(count, dtype=bool),
        turning=(),
    )


def _steps(
    system: Any, samples: Samples, numbers: Mapping[str, float], tolerance: float
) -> Certificate:
    """Return groups of samples in which no discrete value changes, with the nodes of steps."""
    times, last = samples.times, len(samples.times) - NODES
    firsts = np.append(np.arange(0, last + 1, NODES - 1), [last] if last >= 0 else [])
    groups = np.unique(firsts.astype(int))[:, None] + np.arange(NODES)
    same = np.ones(len(groups), dtype=bool)
    for row in samples.values.values():
        same &= np.all(row[groups] == row[groups][:, :1], axis=1)
    groups = groups[same]
    starts, lengths = times[groups[:, 0]], times[groups[:, -1]] - times[groups[:, 0]]
    places = (times[groups] - starts[:, None]) / lengths[:, None]
    weights = _interpolation(places)
    return Certificate(
        system=system,
        parameters=numbers,
        starts=starts,
        lengths=lengths,
        columns={
            n: np.einsum("nij,nj->ni", weights, r[groups]) for n, r in samples.columns.items()
        },
        values={name: row[groups[:, 0]] for name, row in samples.values.items()},
        events=(),
        accuracy=tolerance / STEPS_OFF,
    )


def _interpolation(places: np.ndarray) -> np.ndarray:
    """Return the matrices from values at places (n, NODES) to those at the nodes of steps."""
    apart = places[:, :, None] - places[:, None, :]
    apart[:, np.arange(NODES), np.arange(NODES)] = 1.0
    weights = 1.0 / np.prod(apart, axis=2)
    away = PLACES[None, :, None] - places[:, None, :]
    hit = away == 0.0
    terms: np.ndarray = weights[:, None, :] / np.where(hit, 1.0, away)
    terms = np.where(hit.any(axis=2, keepdims=True), hit.astype(float), terms)
    return np.asarray(terms / np.sum(terms, axis=2, keepdims=True))


# -- reactions -------------------------------------------------------------------------------------


def with_reactions(steps: Certificate) -> tuple[Certificate, list[str]]:
    """Return steps with the reactions that their motion asks for, and the names of these.

    They are the least ones by which the rates of the momenta and the loads differ least. A contact
    that is open has none.
    """
    system = steps.system
    missing = [goal for goal in _reacting(system) if goal.reaction_label not in steps.columns]
    if not missing or not hasattr(system, "coordinates"):
        return steps, []
    nothing = np.zeros(steps.times.shape)
    columns = {goal.reaction_label: nothing for goal in missing}
    asked = replace(steps, columns={**steps.columns, **columns})
    try:
        along = Expressions(asked)
        balance = momenta_balance(asked, along)
        if balance is None:
            return steps, []
        symbols = ca.vertcat(*[goal.reaction for goal in missing])
        directions = ca.jacobian(reactions_of(along, moving_of(system)), symbols)
        shape = (len(balance.names), len(missing), *nothing.shape)
        # CasADi lists the entries of a matrix column by column.
        listed = along(ca.vertsplit(ca.vec(ca.densify(directions))))
        pushes = np.moveaxis(listed.reshape(shape[1], shape[0], *nothing.shape), 0, 1)
        masks = np.array([_bears(along, goal) for goal in missing])
    except UnknownSymbolsError:
        return steps, []
    owed = rates(balance.held) / steps.lengths[:, None] - balance.load
    pushes = np.moveaxis(pushes * masks, (0, 1), (-2, -1))
    found = np.linalg.pinv(pushes, rcond=1e-10) @ np.moveaxis(owed, 0, -1)[..., None]
    rows = {g.reaction_label: found[..., k, 0] for k, g in enumerate(missing)}
    return replace(steps, columns={**steps.columns, **rows}), [*rows]


def _bears(along: Expressions, goal: Goal) -> np.ndarray:
    """Tell where a goal can have a reaction: always, or where its contact is closed."""
    ones = np.ones(along.certificate.times.shape)
    for contact in along.system.goals:
        if hasattr(contact, "sticking") and goal in (contact, *contact.sticking):
            gap = along([along.written(ca.SX(contact.residual))])[0]
            largest = float(np.max(np.abs(gap), initial=0.0))
            return np.where(np.abs(gap) <= TOUCHES * max(largest, 1.0), ones, 0.0)
    return ones
