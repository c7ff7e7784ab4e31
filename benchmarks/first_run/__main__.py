"""What the first run on a machine costs, and the first run in a process, by parts.

Each task runs in a process of its own: with empty caches (those of numba, daesolve and Matplotlib),
and again with what that left there. The tasks are the README's command, a pendulum solved from
Python, its sensitivity, and sixteen hoops in lanes. Seconds are processor seconds since the process
began, so other work on the machine disturbs them less than wall time. "start" is the interpreter
and the imports of numba and daesolve; "compile" is what numba compiles, and no other part includes
it; "rest" holds the later imports, the files and the command line.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.common.conditions import as_json, conditions
from benchmarks.common.options import above_zero, add_json, options
from benchmarks.common.processes import ONE_THREAD, run_module
from benchmarks.common.tables import markdown

from .measuring import TASKS, Measurement

PARTS = ("start", "compile", "prepare", "integrate", "report", "rest")


def measured(task: str, until: float) -> list[Measurement]:
    """Measure a task with empty caches, and with filled ones."""
    found: list[Measurement] = []
    with tempfile.TemporaryDirectory() as caches:
        variables = ("NUMBA_CACHE_DIR", "DAESOLVE_CACHE", "MPLCONFIGDIR", "XDG_CACHE_HOME", "HOME")
        empty = {name: f"{caches}/{name}" for name in variables}
        for state in ("cold", "warm"):
            arguments = [task, str(until), state]
            lines, why = run_module(
                "benchmarks.first_run.measuring", arguments, {**ONE_THREAD, **empty}
            )
            if why:
                sys.exit(why)
            found += [Measurement(**line) for line in lines]
    return found


def table(found: Sequence[Measurement]) -> str:
    """Return all measurements, and below them what was compiled."""
    rows = [
        [one.task, "cold" if one.cold else "warm", f"{one.total:.2f}"]
        + [f"{asdict(one)[part]:.2f}" for part in PARTS]
        for one in found
    ]
    compiled = [
        f"{one.task}: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in longest)
        for one in found
        if (longest := sorted(one.compiled.items(), key=lambda item: -item[1])[:8])
    ]
    return "\n\n".join([markdown(["task", "caches", "s", *PARTS], rows), *compiled])


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.first_run", __doc__)
    parser.add_argument("--task", choices=list(TASKS), action="append", help="repeatable (all)")
    parser.add_argument(
        "--until", type=above_zero, metavar="S", help="horizon, s (that of each task)"
    )
    add_json(parser)
    return parser


def main() -> None:
    """Measure and print."""
    given = parser().parse_args()
    known = conditions("casadi", "numba")
    found = [
        one for task in given.task or TASKS for one in measured(task, given.until or TASKS[task][1])
    ]
    print(f"{known}\n\n{table(found)}")
    if given.json:
        given.json.write_text(as_json(known, found))


if __name__ == "__main__":
    main()
