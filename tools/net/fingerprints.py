"""The fingerprint of a result: hashes of its bits, and some of its values in full."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

import daesolve as ds

Fingerprint = dict[str, Any]
"""Names with hashes, sentences, numbers, or fingerprints of parts."""

DIGITS = 16
"""Length of a hash: long enough that two different results never share one by chance."""
READABLE = 12
"""For how many states the last values are kept in full."""
COSTS = frozenset({"wall_seconds", "compile_seconds", "compile_cached"})
"""Keys that change from one recording to the next, wherever they occur."""
SURROUNDINGS = frozenset({"versions", "machine", "processor", "path", "directory", "created"})
"""Keys that belong to the machine and not to the result."""


def digest(value: Any) -> str:
    """Return a hash of every bit of a value, based on the result of `exact`."""
    text = json.dumps(exact(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def exact(value: Any) -> Any:
    """Return a value in a form that JSON keeps to the last bit; the order of names does not count.

    Raises
    ------
    TypeError
        The content of this type is unknown.
    """
    if isinstance(value, Enum):
        return exact(value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, complex):
        return [value.real.hex(), value.imag.hex()]
    if isinstance(value, np.generic):
        return exact(value.item())
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping):
        return {str(name): exact(entry) for name, entry in value.items()}
    if is_dataclass(value):
        return {entry.name: exact(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Sequence):
        return [exact(entry) for entry in value]
    raise TypeError(f"a fingerprint cannot be taken of {type(value).__name__}")


def _array(values: np.ndarray) -> list[Any]:
    if values.dtype.kind == "O":
        return [exact(entry) for entry in values.tolist()]
    raw = np.ascontiguousarray(values).tobytes()
    return [values.dtype.str, list(values.shape), hashlib.sha256(raw).hexdigest()]


def readable(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the first numbers as Python writes them, which preserves every bit."""
    return {name: repr(float(values[name])) for name in list(values)[:READABLE]}


def of_run(run: ds.Trajectory) -> Fingerprint:
    """Return the fingerprint of a run."""
    described, cost = run.description, run.statistics
    bits = {
        "times": run.times,
        "states": dict(run.states),
        "reactions": dict(run.reactions),
        "outputs": dict(run.outputs),
        "events": list(run.events),
        "end_state_bits": dict(run.end_state),
        "drift": dict(run.drift),
        "conditioning": dict(run.conditioning),
        "peaks": dict(run.peaks),
        "start": dict(run.start),
        "degeneracy": run.degeneracy,
        "verification": run.verification,
        "units": dict(run.units),
        "parameters": described["parameters"],
        "rates": described["rates"],
        "tolerances": described["tolerances"],
        # The message of an interrupted run names its directory.
        "text": str(run).replace(run.message, ""),
    }
    return {
        "outcome": run.outcome.value,
        "message": run.message,
        "end_time": repr(float(run.end_time)),
        "formulation": described["formulation"],
        "solver": described["solver"],
        "steps": cost.steps,
        "rhs_evaluations": cost.rhs_evaluations,
        "instructions": cost.instructions,
        "event_count": run.event_count,
        "event_names": _counted(event.name for event in run.events),
        "samples": len(run.times),
        "end_state": readable(run.end_state),
        "notes": list(described["notes"]),
        **{name: digest(value) for name, value in bits.items()},
    }


def _counted(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


def of_fields(result: Any, leave: Iterable[str] = ()) -> Fingerprint:
    """Return the fingerprint of a dataclass: each field's hash, and numbers in full.

    Parameters
    ----------
    result
        Runs among its fields get the fingerprint of a run.
    leave
        Fields without data.
    """
    names = [entry.name for entry in fields(result) if entry.name not in {*leave, *COSTS}]
    return {name: _told(getattr(result, name)) for name in names if not name.startswith("_")}


def _told(value: Any) -> Any:
    if isinstance(value, ds.Trajectory):
        return of_run(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return repr(float(value))
    return digest(value)


def of_document(document: Mapping[str, Any]) -> Fingerprint:
    """Return the fingerprint of a JSON object that the command line prints or a report contains."""
    kept = without_costs(document)
    short = {name: value for name, value in kept.items() if _is_short(value)}
    return {**short, **{name: digest(value) for name, value in kept.items() if name not in short}}


def _is_short(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def without_costs(value: Any) -> Any:
    """Return a JSON value without what changes between recordings or machines."""
    if isinstance(value, Mapping):
        left = COSTS | SURROUNDINGS
        return {name: without_costs(entry) for name, entry in value.items() if name not in left}
    if isinstance(value, list):
        return [without_costs(entry) for entry in value]
    return masked(value) if isinstance(value, str) else value


MASKS = {
    r"[\d.e+-]+ (s|ms|µs) wall[^\n<]*": "WALL",
    r"compiled in [^\n<]*": "COMPILED",
    r"[\d.e+-]+ s, residuals": "WALL, residuals",
    r"(daesolve|casadi|numpy|scipy|heyoka|scikit-sundae|Assimulo|python) \d[\w.+]*": "VERSION",
}
"""Patterns of texts about the cost and the versions of a run, and their replacements."""


def masked(text: str) -> str:
    """Return a text without computing times and versions."""
    for pattern, word in MASKS.items():
        text = re.sub(pattern, word, text)
    return text
