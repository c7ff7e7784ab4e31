"""The environment of processes that the net starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECKOUT = [str(ROOT), str(ROOT / "problems")]
"""Where the net finds the library and the problems."""


def environment() -> dict[str, str]:
    """Return the environment of a process that imports the same modules as this one."""
    paths = [*CHECKOUT, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    wide = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}
    return {**os.environ, **wide, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def daesolve_says(scratch: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory, and return its output and its status."""
    command = [sys.executable, "-m", "daesolve", *arguments]
    return subprocess.run(
        command, cwd=scratch, env=environment(), capture_output=True, text=True, check=False
    )
