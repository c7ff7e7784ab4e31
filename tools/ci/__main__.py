"""Run every check of a clone of HEAD, and print the verdict and the time of each part."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.ci.parts import parts_of
from tools.ci.schedule import PASSED, run, table
from tools.reach.__main__ import find
from tools.reach.changes import UnknownBaseError

ROOT = Path(__file__).resolve().parents[2]


def parser() -> argparse.ArgumentParser:
    """Describe the command."""
    made = argparse.ArgumentParser(prog=".ci/run", description=(__doc__ or "").strip())
    which = made.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="all slow tests")
    which.add_argument(
        "--since",
        metavar="REF",
        help="the slow tests that changes since this commit reach (default: origin/main; all slow "
        "tests where HEAD is a commit of it)",
    )
    return made


def slow_tests(*, everything: bool, since: str | None) -> list[str] | None:
    """Return the files whose slow tests are to run; None for all.

    Raises
    ------
    UnknownBaseError
        The given commit is unknown.
    """
    if everything:
        return None
    try:
        reached, text = find(ROOT, since)
    except UnknownBaseError as error:
        if since is not None:
            raise
        print(f"== all slow tests: {error}")
        return None
    print(f"== slow tests of what the change reaches\n{text}")
    return reached


def main() -> int:
    """Run everything; 0 if all parts passed."""
    asked = parser().parse_args()
    if subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT):
        print(".ci/run: commit your changes first; a clone of HEAD is checked", file=sys.stderr)
        return 2
    try:
        tests = slow_tests(everything=asked.all, since=asked.since)
    except UnknownBaseError as error:
        print(f".ci/run: {error}", file=sys.stderr)
        return 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name in ("main", "release"):
            subprocess.run(["git", "clone", "-q", ROOT, scratch / name], check=True)
        parts = parts_of(scratch, (ROOT / "README.md").read_text(encoding="utf-8"), tests)
        verdicts = run(parts, scratch)
    print(f"== all parts in {time.monotonic() - began:.0f} s\n{table(parts, verdicts)}")
    return 0 if all(verdict.outcome == PASSED for verdict in verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
