"""Print the tests that a change can reach."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Collection
from pathlib import Path, PurePosixPath

import tools.reach
from tools.reach.changes import UnknownBaseError, changed_files, tracked_files
from tools.reach.graph import graph_of, read_all, tree_at

ROOT = Path(__file__).resolve().parents[2]


def parser() -> argparse.ArgumentParser:
    """Describe the command."""
    made = argparse.ArgumentParser(
        prog="python -m tools.reach", description=(tools.reach.__doc__ or "").partition("\n")[0]
    )
    made.add_argument("files", nargs="*", metavar="FILE", help="changed files, instead of git's")
    made.add_argument(
        "--base", metavar="REF", help="compare with this commit (default: origin/main)"
    )
    made.add_argument("--paths", action="store_true", help="print paths of tests alone")
    return made


def report(reached: Collection[str], tests: Collection[str]) -> str:
    """Write the reached tests by folder, and name what was left out."""
    by_folder: dict[str, list[str]] = {}
    for path in sorted(tests):
        by_folder.setdefault(str(PurePosixPath(path).parent), []).append(path)
    lines: list[str] = []
    left_out: list[str] = []
    for folder, files in by_folder.items():
        inside = [PurePosixPath(path).name for path in files if path in reached]
        if not inside:
            left_out.append(folder)
        elif len(inside) == len(files):
            lines.append(f"{folder}: all {len(files)}")
        else:
            lines.append(f"{folder}: {len(inside)} of {len(files)}: {', '.join(inside)}")
    count = f"{len(reached)} of {len(tests)} test files"
    folders = f"{len(by_folder) - len(left_out)} of {len(by_folder)} folders"
    rest = f"; left out: {', '.join(left_out)}" if left_out else ""
    return "\n".join([*lines, f"reaches {count} in {folders}{rest}"])


def _in_tree(names: list[str]) -> set[str]:
    return {Path(os.path.relpath(Path(name).resolve(), ROOT)).as_posix() for name in names}


def find(
    root: Path, base: str | None = None, changed: Collection[str] = ()
) -> tuple[list[str], str]:
    """Return the test files that a change reaches, and a report of them.

    Parameters
    ----------
    root
        The checkout.
    base
        As in `changed_files`.
    changed
        The changed files, if not those that git names.

    Raises
    ------
    UnknownBaseError
        Nothing tells where the change began.
    """
    changed = set(changed) or set(changed_files(root, base))
    paths = tracked_files(root)
    texts = tree_at(root, paths) | {path: "" for path in changed if path not in paths}
    graph = graph_of(texts, read_all(texts, processes=os.cpu_count() or 1))
    tests = graph.tests & set(paths)
    reached = sorted(graph.reached(changed) & tests)
    return reached, report(reached, tests)


def main(arguments: list[str] | None = None) -> int:
    """Print the tests that a change can reach."""
    asked = parser().parse_args(arguments)
    gc.disable()  # a third of the time, in a process that ends at once
    try:
        reached, text = find(ROOT, asked.base, _in_tree(asked.files))
    except UnknownBaseError as error:
        print(f"tools.reach: {error}", file=sys.stderr)
        return 2
    print("\n".join(reached) if asked.paths else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
