"""Tables and sampled laws in a system: the system takes over their discrete values and events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace

import casadi as ca

from daesolve.core.equations.drive_rows import DriveRow
from daesolve.core.posing.goals import Expression, Goal, Holonomic, Nonholonomic
from daesolve.core.posing.inputs import Drive, Inputs
from daesolve.core.posing.rewriting import expressions_in
from daesolve.core.posing.tables import Use, uses_in
from daesolve.core.system.piecewise import hashes
from daesolve.core.system.posed import PosedMechanics, PosedSystem
from daesolve.errors import PosingError


def take_drives(system: PosedSystem) -> None:
    """Add the parts of the tables in a system's expressions, and of its sampled laws.

    Parameters
    ----------
    system
        A system under construction.

    Raises
    ------
    PosingError
        The inputs are invalid, or two tables have the same name.
    """
    if not isinstance(system.inputs, Inputs):
        raise PosingError(f"inputs are declared by inputs(), not given as {system.inputs!r}")
    own = {entry.name: getattr(system, entry.name) for entry in fields(system)}
    del own["switching"]
    known = {name for drive in system.drives for name in drive.values.names}
    fixed = hashes(system.parameters.vector, system.inputs.vector)
    uses = uses_in(expressions_in(own))
    constraining = _constraining(system, uses)
    made = [
        use.drive(fixed, constrains=id(use) in constraining)
        for use in uses
        if use.values.names[0] not in known
    ]
    drives = (*system.drives, *made)
    names: set[str] = set()
    for drive in drives:
        if drive.name in names:
            raise PosingError(f"two tables or sampled laws are called {drive.name!r}")
        names.add(drive.name)
    new = [drive for drive in drives if drive.values.names[0] not in system.discrete]
    if not new:
        return
    discrete = system.discrete
    for drive in new:
        discrete = discrete.joined(drive.values)
    events = (*system.events, *(event for drive in new for event in drive.events))
    for name, value in {"drives": drives, "discrete": discrete, "events": events}.items():
        object.__setattr__(system, name, value)


def _constraining(system: PosedSystem, uses: Sequence[Use]) -> set[int]:
    """Return which tables constraints contain; refuse those whose velocities would jump at nodes.

    Raises
    ------
    PosingError
        A table is less smooth than a constraint in which it occurs.
    """
    found: set[int] = set()
    slips = [slip for goal in system.goals if isinstance(goal, Goal) for slip in goal.slips]
    for goal in system.goals if uses else ():
        if not isinstance(goal, Holonomic | Nonholonomic):
            continue
        needed = 1 if isinstance(goal, Holonomic) else 0
        residual = ca.SX(goal.residual)
        if isinstance(system, PosedMechanics) and len(named := system.auxiliaries):
            residual = ca.substitute(residual, named.vector, ca.SX(named.meanings))
        for use in uses_in([residual]):
            table = use.table
            found.add(id(use))
            # What sticks lets go of a slip that jumps.
            lets_go = goal in slips or _lets_go(system, goal, use)
            if table.smooth_to < needed and not lets_go:
                what = "kinks" if table.smooth_to == 0 else "jumps"
                raise PosingError(
                    f"the table {table.name!r} has {what} at its nodes, where the velocities of "
                    f"the constraint {goal.name!r} would jump: in a constraint a table must be "
                    "smooth (kind = 'cubic', and outside = 'refuse', which ends it at its nodes)"
                )
    return found


def _lets_go(system: PosedSystem, goal: Holonomic | Nonholonomic, use: Use) -> bool:
    """Return whether a table that puts a guard past zero releases a constraint."""
    return any(
        goal.held_by in event.then.reset.changes_where(event.name, ca.SX.zeros(event.count))
        and any(one is use for one in uses_in([event.guards]))
        for event in system.events
        if event.then.counts_past and event.then.reset is not None
    )


def drive_rows(
    drives: Iterable[Drive], written: Callable[[Expression], ca.SX]
) -> tuple[DriveRow, ...]:
    """Return the parts that tables and sampled laws add, in the symbols of the equations."""
    found: list[DriveRow] = []
    for drive in drives:
        begin = {name: written(value) for name, value in drive.begin.items()}
        law, names = drive.law, tuple(event.name for event in drive.events)
        if law is not None:
            seen = {name: written(value) for name, value in law.arguments.items()}
            law = replace(law, arguments=seen)
        leans = {name: written(value) for name, value in drive.leans.items()}
        lookup = drive.lookup
        if lookup is not None:
            lookup = replace(lookup, arguments=tuple(map(written, lookup.arguments)))
        own = drive.values.names
        found.append(DriveRow(drive.name, own, begin, law, names, drive.period, leans, lookup))
    return tuple(found)
