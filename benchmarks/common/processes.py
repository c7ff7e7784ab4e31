"""Measurements in separate processes, which write a line of JSON for each.

A package that hangs or crashes stops only its own process, and peak memory is that of one run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ROOT = Path(__file__).parents[2]
ONE_THREAD: Mapping[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""The environment that limits linear algebra to one thread."""


def run_module(
    module: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
) -> tuple[list[dict[str, Any]], str]:
    """Run a module; return the fields that it wrote, and why it ended early (else empty).

    Parameters
    ----------
    module
        A module that runs in this directory; its first argument is the file that `write` receives.
    arguments
        All arguments after the first.
    environment
        Variables to set in addition to those of this process.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        ended = subprocess.run(
            [sys.executable, "-m", module, str(results), *arguments],
            cwd=folder,  # some packages write logs to the working directory
            env={**os.environ, **(environment or {}), "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
        )
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    reason = ""
    if ended.returncode != 0:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        reason = f"the process ended with status {ended.returncode}: {last}"
    return [json.loads(line) for line in lines], reason


def write(results: Path, measurements: Iterable[DataclassInstance]) -> None:
    """Write a line for each measurement as soon as it arrives."""
    with results.open("w", encoding="utf-8") as file:
        for measurement in measurements:
            print(json.dumps(asdict(measurement)), file=file, flush=True)
