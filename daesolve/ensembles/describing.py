"""What is swept, as a manifest describes it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from daesolve.ensembles.chunks import Task, digest_of
from daesolve.ensembles.members import Over, described
from daesolve.errors import NotResumableError, PluginError
from daesolve.formulations import FORMULATIONS, Formulation
from daesolve.formulations.formulation import settings_of
from daesolve.integration.run_options import Every, EveryEvent
from daesolve.plugins import registry
from daesolve.plugins.bound_case import BoundCase
from daesolve.preparation.extensions import (
    FORMULATION_GROUP,
    SOLVER_GROUP,
    formulation_kind,
    installed_as,
    solver_kind,
)
from daesolve.solvers import SOLVERS, Solver
from daesolve.storage.encoding import is_array, is_list, is_mapping, is_tuple, native

KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (*SOLVERS.values(), *FORMULATIONS.values(), Every, EveryEvent)
}
"""Whose values a manifest holds whole."""
KIND_KEY, WORDS_KEY = "kind", "in_words"


def contents(task: Task, over: Over, samples: int | None, seed: int) -> dict[str, Any]:
    """Return what is swept; of two sweeps with the same contents every member is the same."""
    return {
        "identity": {
            "problem": task.problem,
            "digest": task.digest,
            "case": task.case,
            "model": task.model,
            "structure": saved(task.structure),
        },
        "parameters": saved(task.parameters),
        "start": saved(task.start),
        "initial": saved(task.initial),
        "over": described(over),
        "samples": samples,
        "seed": seed,
        "until": task.until,
        "at": saved(task.at),
        "options": saved(task.options),
        "batch": task.batch,
        "versions": dict(task.versions),
    }


def case_from(directory: Path, manifest: Mapping[str, Any]) -> BoundCase:
    """Return the case that is swept.

    Raises
    ------
    NotResumableError
        The problem is not here, is another by now, or cannot be described by a manifest.
    """
    identity = manifest["identity"]
    name = identity["problem"]
    try:
        if identity["digest"] and digest_of(Path(name)) != identity["digest"]:
            raise NotResumableError(
                f"{str(directory)!r} was swept with another {name}: restore it, or sweep anew in "
                "another directory"
            )
        case = registry.problem(name).case(identity["case"], model=identity["model"])
    except (OSError, PluginError, LookupError) as error:
        raise NotResumableError(
            f"{str(directory)!r} sweeps the problem {name!r}, which is not here ({error}): ask for "
            "the same sweep from Python"
        ) from error
    return replace(
        case,
        structure=restored(identity["structure"]),
        parameters=restored(manifest["parameters"]),
        start=restored(manifest["start"]),
        initial=restored(manifest["initial"]),
    )


def saved(value: Any) -> Any:
    """Return a value of an option as JSON can hold it; what it cannot hold, in words."""
    value = native(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_array(value):
        return value.tolist()
    if is_mapping(value):
        return {name: saved(entry) for name, entry in value.items()}
    if is_list(value) or is_tuple(value):
        return [saved(entry) for entry in value]
    if is_dataclass(value) and KINDS.get(type(value).__name__) is type(value):
        settings = {entry.name: saved(getattr(value, entry.name)) for entry in fields(value)}
        return {KIND_KEY: type(value).__name__, **settings}
    if isinstance(value, Formulation | Solver) and installed_as(type(value)) is not None:
        settings = {name: saved(entry) for name, entry in settings_of(value).items()}
        return {KIND_KEY: f"{_group(value)}:{value.name}", **settings}
    return {WORDS_KEY: repr(value)}


def restored(value: Any) -> Any:
    """Return a value from a manifest.

    Raises
    ------
    NotResumableError
        The manifest holds it in words only.
    """
    if is_list(value):
        return [restored(entry) for entry in value]
    if not is_mapping(value):
        return value
    if WORDS_KEY in value:
        raise NotResumableError(
            f"the manifest describes {value[WORDS_KEY]} in words alone: ask for the same sweep "
            "from Python to go on with it"
        )
    found = {name: restored(entry) for name, entry in value.items() if name != KIND_KEY}
    return _kind(value[KIND_KEY])(**found) if KIND_KEY in value else found


def _group(value: Formulation | Solver) -> str:
    return FORMULATION_GROUP if isinstance(value, Formulation) else SOLVER_GROUP


def _kind(named: str) -> Any:
    """Return a class by its name, that of an installed package by its group and its name."""
    if named in KINDS:
        return KINDS[named]
    group, _, name = named.partition(":")
    try:
        return formulation_kind(name) if group == FORMULATION_GROUP else solver_kind(name)
    except (LookupError, PluginError) as error:
        raise NotResumableError(
            f"the sweep uses {name!r}, which is not here ({error}): install it to go on"
        ) from error
