"""Stiff model files of other authors: the error after a second, over processor seconds.

The user supplies the files. Each is run from random speeds of all joints, without contacts, as in
`benchmarks.models`: by daesolve at several tolerances, by its explicit method where that is asked
for, and by MuJoCo with `implicitfast` at steps of 2 to 0.1 ms. The error is the largest of a mass
centre's position at the end, in metres: against daesolve at a tolerance of 1e-11, and for MuJoCo
also against its own run with steps of 0.0125 ms, since its loops and its dry friction are soft.
Seconds are processor seconds without preparation: of the second of two runs, in which nothing is
built any more.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.common.conditions import conditions, from_json
from benchmarks.common.ending import end
from benchmarks.common.options import add_json, add_read, add_until, add_update, options
from benchmarks.common.processes import run_module
from benchmarks.common.tables import markdown

from .contest import Precision
from .measuring import title

MARK = "models-precision"
HEADS = ("model", "by", "steps", "seconds", "error, m", "from its own limit, m")


def tables(found: list[Precision]) -> str:
    """Return the table, and what has no result."""
    rows = [
        [one.name, one.by, str(one.steps), f"{one.seconds:.2f}", _size(one.error),
         _size(one.own_error)]
        for one in found
        if not one.reason
    ]  # fmt: skip
    failed = [f"- {one.name}: {one.reason}" for one in found if one.reason]
    parts = [markdown(HEADS, rows)] if rows else []
    return "\n\n".join([*parts, *(["Without a result:\n\n" + "\n".join(failed)] if failed else [])])


def _size(value: float | None) -> str:
    return "" if value is None else f"{value:.0e}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.models.precision", __doc__)
    parser.add_argument("file", nargs="*", type=Path, metavar="FILE", help="a model in MJCF")
    parser.add_argument("--explicit", action="store_true", help="run Taylor's method as well")
    add_until(parser, 1.0)
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/models.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Precision)
    else:
        known, found = conditions("mujoco"), list[Precision]()
        for file in given.file:
            more = ["explicit"] if given.explicit else []
            arguments = [str(file.resolve()), str(given.until), *more]
            lines, reason = run_module("benchmarks.models.contest", arguments)
            found += [Precision(**line) for line in lines]
            found += [Precision(title(file), reason=reason)] if reason else []
            print(f"{title(file)}: {reason or 'measured'}", file=sys.stderr)
    end(given, known, found, tables(found), MARK)


if __name__ == "__main__":
    main()
