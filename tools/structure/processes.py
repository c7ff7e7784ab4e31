"""Measurements in new processes: the library's run, its import, its names."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from structure.sources import Measures

BUILDS_ON = "numpy, casadi, heyoka"
LIBRARY = "daesolve"
RUN = ("run", "rolling-wheel", "--case", "hoop")


def python(tree: Path, *arguments: str, folder: str | None = None) -> str:
    """Run Python on a checkout; return what it prints."""
    paths = [str(tree), str(tree / "problems"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-P", *arguments]  # neither the script's folder nor this one
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def measure_run(tree: Path) -> Measures:
    """Trace the run, with no options and with its report."""
    measured: Measures = {}
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "calls.json")
        stored = ("--out", str(Path(folder, "run")))
        for run, options in (("the run", ()), ("the run with a report", stored)):
            script = str(Path(__file__).resolve().with_name("calls.py"))
            python(tree, script, str(result), *RUN, *options, folder=folder)
            counts: dict[str, int] = json.loads(result.read_text(encoding="utf-8"))
            measured[f"modules passed in {run}"] = counts["modules"]
            measured[f"functions called in {run}"] = counts["functions"]
            measured[f"depth of calls in {run}"] = counts["depth"]
    return measured


LOOK = f"""
import json, sys
import {LIBRARY} as library
print(json.dumps({{
    "file": library.__file__,
    "names in dir": len(dir(library)),
    "names in __all__": len(library.__all__),
    "modules loaded by the import": len(sys.modules),
    "the import loads matplotlib": "matplotlib" in sys.modules,
}}))
"""


def measure_import(tree: Path, repeats: int) -> Measures:
    """Inspect the names of the library, and time its import."""
    looked: dict[str, Any] = json.loads(python(tree, "-c", LOOK))
    if not Path(looked.pop("file")).resolve().is_relative_to(tree):
        raise SystemExit(f"Python does not import the library of {tree}")
    seconds: dict[str, list[float]] = {LIBRARY: [], BUILDS_ON: []}
    for _ in range(repeats):
        for names, taken in seconds.items():
            timed = (
                f"from time import process_time as now; s = now(); import {names}; print(now() - s)"
            )
            taken.append(float(python(tree, "-c", timed)))
    own, others = (statistics.median(taken) for taken in seconds.values())
    return {
        **looked,
        f"seconds of `import {LIBRARY}`": round(own, 3),
        f"seconds of `import {BUILDS_ON}`": round(others, 3),
        "ratio of the two imports": round(own / others, 3),
    }
