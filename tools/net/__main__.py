"""The commands `record` and `compare` of the net."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Each run gets a fresh preparation.
os.environ["DAESOLVE_CACHE"] = "off"

from tools.net.comparing import differences, summary
from tools.net.registry import NET, fingerprint


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return the exit status: 1 where two recordings differ.

    Parameters
    ----------
    arguments
        Of the command line; those of the process by default.
    """
    given = parser().parse_args(arguments)
    if given.command == "record":
        return record(given.file, given.only)
    return compare(given.before, given.after)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m tools.net", description=__doc__)
    commands = made.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="run everything and write fingerprints")
    recording.add_argument("file", type=Path, metavar="FILE.json")
    recording.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="only runs whose name contains one of these",
    )
    comparing = commands.add_parser("compare", help="show how two recordings differ")
    comparing.add_argument("before", type=Path, metavar="BEFORE.json")
    comparing.add_argument("after", type=Path, metavar="AFTER.json")
    return made


def record(file: Path, only: Sequence[str] = ()) -> int:
    """Write the fingerprints of all runs, or of those whose name contains one of several words."""
    from tools.net import analyses, commands, motions, stored  # noqa: F401

    chosen = [name for name in NET if not only or any(word in name for word in only)]
    found: dict[str, Any] = {}
    for name in chosen:
        begin = time.perf_counter()
        found[name] = fingerprint(name)
        word = next((k for k in ("raised", "skipped") if k in found[name]), "")
        print(f"{time.perf_counter() - begin:7.2f} s  {name} {word}".rstrip(), flush=True)
    others = foreign()
    if others:
        print(f"modules come from another checkout, so nothing is written: {', '.join(others)}")
        return 1
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def foreign() -> list[str]:
    """Return the modules of daesolve and its problems that lie outside their package.

    They come from another installed checkout if something imports what this one lacks.
    """
    found: list[str] = []
    for name, module in sorted(sys.modules.items()):
        package = sys.modules.get(name.partition(".")[0])
        if name.startswith(("daesolve.", "daesolve_problems.")) and package is not None:
            home = Path(str(package.__file__)).parent
            places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
            if any(place and not Path(place).is_relative_to(home) for place in places):
                found.append(name)
    return found


def compare(before: Path, after: Path) -> int:
    """Print how two recordings differ; return 1 if they do."""
    first, second = (json.loads(file.read_text(encoding="utf-8")) for file in (before, after))
    lines = differences(first, second)
    print(*lines, summary(first, second), sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
