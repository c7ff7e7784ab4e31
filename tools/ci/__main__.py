"""Run every check of a clone of HEAD, and print the verdict and the time of each part."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tools.ci.parts import Selection, parts_of
from tools.ci.schedule import PASSED, run, table
from tools.reach.__main__ import find
from tools.reach.changes import UnknownBaseError, changed_files

ROOT = Path(__file__).resolve().parents[2]


def parser() -> argparse.ArgumentParser:
    """Describe the command."""
    made = argparse.ArgumentParser(prog=".ci/run", description=(__doc__ or "").strip())
    which = made.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="all slow and long tests")
    which.add_argument(
        "--since",
        metavar="REF",
        help="the slow tests that changes since this commit reach, and the long ones beside what "
        "changed (default: origin/main; all slow tests where HEAD is a commit of it)",
    )
    return made


def selected_tests(*, everything: bool, since: str | None) -> Selection:
    """Return the tests that are to run besides those of the default tier.

    Raises
    ------
    UnknownBaseError
        The given commit is unknown.
    """
    if everything:
        return Selection(None, None)
    try:
        reached, text = find(ROOT, since)
        changed = changed_files(ROOT, since, moved=False)
    except UnknownBaseError as error:
        if since is not None:
            raise
        print(f"== all slow tests: {error}")
        return Selection()
    print(f"== slow tests of what the change reaches\n{text}")
    return Selection(tuple(reached), tuple(beside(reached, changed)))


def _folder_of_tests(source: PurePosixPath) -> PurePosixPath | None:
    """Return where the tests of a source are; None if they are in no folder of their own."""
    match source.parts:
        case ("daesolve", *rooms, _) if rooms:
            return PurePosixPath("tests", *rooms)
        case ("problems", *_):
            return PurePosixPath("tests/problems")
        case _:
            return None


def beside(tests: Iterable[str], changed: Iterable[str]) -> list[str]:
    """Return the tests that changed, and those in the folders of what changed."""
    changed = set(changed)
    folders = {_folder_of_tests(PurePosixPath(path)) for path in changed}
    return [path for path in tests if path in changed or PurePosixPath(path).parent in folders]


def main() -> int:
    """Run everything; 0 if all parts passed."""
    asked = parser().parse_args()
    if subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT):
        print(".ci/run: commit your changes first; a clone of HEAD is checked", file=sys.stderr)
        return 2
    try:
        tests = selected_tests(everything=asked.all, since=asked.since)
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
