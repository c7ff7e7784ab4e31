"""Prepared runs that take their steps in a lane beside other motions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daesolve.core.preparation.prepared import Prepared

if TYPE_CHECKING:
    from daesolve.core.solvers.lanes import Batch


def in_lane(prepared: Prepared, batch: Batch) -> Prepared:
    """Return a run with its steps in a lane of a batch, if possible."""
    solver = batch.solver(prepared.problem, prepared.solver, prepared.request.solver)
    if solver is prepared.solver:
        return prepared
    note = f"integrated together with other runs, {batch.width} at a time"
    return replace(prepared, solver=solver, notes=(*prepared.notes, note))
