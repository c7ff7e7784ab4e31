"""A LaTeX for the tests of documents, or the reason why there is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REQUIRED = "DAESOLVE_REQUIRE_LATEX"
WIDE = re.compile(r"Overfull \\hbox \(([\d.]+)pt too wide\)")


def compiled(text: str, directory: Path) -> float:
    """Compile a document, and return by how many points its widest line is too wide.

    Where no LaTeX is installed the test is skipped, or fails if the environment has
    ``DAESOLVE_REQUIRE_LATEX=1``.
    """
    program = shutil.which("pdflatex")
    if program is None:
        reason = "no LaTeX is installed: pdflatex is not on the path"
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    file = directory / "document.tex"
    file.write_text(text, encoding="utf-8")
    command = [program, "-interaction=batchmode", "-halt-on-error", "-no-shell-escape", file.name]
    done = subprocess.run(command, cwd=directory, capture_output=True, check=False, timeout=120)
    log = (directory / "document.log").read_text(encoding="utf-8", errors="replace")
    faults = [line for line in log.splitlines() if line.startswith("!")]
    assert not done.returncode, faults
    assert "Missing character" not in log
    return max(map(float, WIDE.findall(log)), default=0.0)
