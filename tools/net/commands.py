"""Commands of the net, each run in a separate directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.net.fingerprints import Fingerprint, digest, masked, of_document
from tools.net.registry import NET, named
from tools.net.surroundings import daesolve_says

SPENT = {"wall_seconds": 1.0, "compile_seconds": 0.5, "compile_cached": True}
"""Replaces the measured costs of a run, so that its page is reproducible."""


def _typed(*arguments: str) -> Any:
    """Return a run that executes a command and returns its output as text, or as JSON."""

    def run(scratch: Path) -> Fingerprint:
        said = daesolve_says(scratch, *arguments)
        errors = masked(said.stderr).strip()
        status: Fingerprint = {"status": said.returncode, "errors": errors}
        if "--json" in arguments and said.stdout.startswith("{"):
            return {**status, **of_document(json.loads(said.stdout))}
        text = masked(said.stdout)
        return {**status, "lines": len(text.splitlines()), "text": digest(text)}

    return run


TYPED = {
    "run": "run slider-crank --until 2 --rate 50 --rate energy=off --verify --json",
    "run degenerate": "run bogies --case collapse --json",
    "compare": "compare pendulum --formulations feedback,index-2 --solvers taylor,idas "
    "--tolerances 1e-6,1e-8 --until 2 --json",
    "sweep": "sweep pendulum --over gravity=linspace(5,15,3) --until 2 --workers 0 --json",
    "analyse sensitivity": "analyse pendulum sensitivity --of gravity --until 3 --json",
    "analyse variants": "analyse prism variants --case three-solutions --json",
    "list": "list",
    "show": "show rolling-wheel",
}
"""The commands; each takes the time to start a process."""
NET.update({f"command {name}": _typed(*words.split()) for name, words in TYPED.items()})


@named("command report")
def report(scratch: Path) -> Fingerprint:
    """Store a run with its report, rebuild the report with fixed costs, and animate it."""
    words = "run slider-crank --until 2 --solver dop853 --rtol 1e-9 --verify --every 0.04 --out run"
    said = daesolve_says(scratch, *words.split())
    first = json.loads((scratch / "run" / "report.json").read_text(encoding="utf-8"))
    file = scratch / "run" / "result.json"
    result = json.loads(file.read_text(encoding="utf-8"))
    result["statistics"] |= SPENT
    del result["sha256"]  # hash of the measured results
    file.write_text(json.dumps(result), encoding="utf-8")
    again = daesolve_says(scratch, "report", "run")
    moving = daesolve_says(scratch, "animate", "run", "--to", "page.html")
    page = (scratch / "run" / "report.html").read_text(encoding="utf-8")
    player = (scratch / "page.html").read_text(encoding="utf-8")
    return {
        "status": [said.returncode, again.returncode, moving.returncode],
        "text": digest(masked(said.stdout)),
        "report.json": of_document(first),
        "report.html": digest(page.replace(str(scratch), "SCRATCH")),
        "length of report.html": len(page),
        "page.html": digest(masked(player)),
        "length of page.html": len(player),
    }


@named("command new")
def new(scratch: Path) -> Fingerprint:
    """Write a starter project."""
    said = daesolve_says(scratch, "new", "my-problem")
    files = sorted(file for file in scratch.rglob("*") if file.is_file())
    texts = {str(file.relative_to(scratch)): file.read_text(encoding="utf-8") for file in files}
    return {"status": said.returncode, **{name: digest(text) for name, text in texts.items()}}
