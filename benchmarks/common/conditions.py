"""When, where and with which versions the measurements were made, and their results, as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DISTRIBUTIONS = {"sksundae": "scikit-sundae", "pinocchio": "pin"}
"""A package's module -> its distribution, if the names differ."""
ALWAYS = ("numpy", "heyoka")

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Conditions:
    """Date, processors, and versions by distribution."""

    date: str
    machine: str
    versions: dict[str, str]

    def __str__(self) -> str:
        """Return the line that stands above a table."""
        known = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"Measured on {self.date}: {self.machine}. {known}."


def conditions(*packages: str) -> Conditions:
    """Return the present conditions, with the versions of daesolve and some packages."""
    names = ("daesolve", *packages, *ALWAYS)
    return Conditions(datetime.now(UTC).date().isoformat(), _machine(), _versions(names))


def _machine() -> str:
    """Return the model and number of processors."""
    names = Path("/proc/cpuinfo")
    lines = names.read_text().splitlines() if names.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def _versions(names: Sequence[str]) -> dict[str, str]:
    """Return the installed versions; missing packages are skipped."""
    found = {"Python": platform.python_version()}
    for name in (DISTRIBUTIONS.get(name, name) for name in names):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def as_json(known: Conditions, measurements: Sequence[DataclassInstance]) -> str:
    """Return conditions and measurements as JSON."""
    fields = asdict(known) | {"measurements": [asdict(one) for one in measurements]}
    return json.dumps(fields, indent=1) + "\n"


def from_json(text: str, kind: type[Kind]) -> tuple[Conditions, list[Kind]]:
    """Return conditions and measurements from JSON."""
    document = json.loads(text)
    measurements = [kind(**one) for one in document.pop("measurements")]
    return Conditions(**document), measurements
