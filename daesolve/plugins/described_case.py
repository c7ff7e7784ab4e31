"""What a run stores about its case: names, structure, units, and how to pose the system again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daesolve.core.system.system import System
from daesolve.plugins.family import Case, Family


def identity_of(
    problem: Family,
    case: Case,
    model: str,
    structure: Mapping[str, Any],
    system: System,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the identity of a run for the report, and the units of its parameters.

    Parameters
    ----------
    problem, case, model, structure, system
        What is run.
    asked
        The changes to the case, and the options of the case itself.
    """
    plain = {
        name: value if isinstance(value, bool | int | float | str) else str(value)
        for name, value in structure.items()
    }
    return {
        "problem": problem.name,
        "case": case.name,
        "model": model,
        "structure": plain,
        "path": None if problem.path is None else str(problem.path.resolve()),
        "asked": dict(asked),
        "parameter_units": {
            name: str(unit)
            for own in (system.parameters, system.inputs)
            for name, unit in zip(own.names, own.units, strict=True)
        },
    }


def source_of(problem: Family, model: str, structure: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how to pose a system again; None if a structure is not a plain value."""
    if not all(isinstance(value, bool | int | float | str) for value in structure.values()):
        return None
    return {
        "problem": problem.name,
        "path": None if problem.path is None else str(problem.path.resolve()),
        "digest": problem.digest,
        "papers": [str(paper) for paper in problem.sources],
        "model": model,
        "structure": structure,
    }
