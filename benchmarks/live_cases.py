"""Every case of the gallery as a live page: how far its motion ends from `solve`, or why not.

Each case runs to its end, at most for 60 s, and its page is made; the module of the page then
computes the same motion, row by row as in a browser. The difference is that of the ends, relative
to the largest value of each state, at least 1. Where it is above 1e-11, the run is repeated with
another solver: a motion that amplifies errors has no more digits than that shows.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import daesolve as ds
from daesolve.errors import DaesolveError
from daesolve.reporting.live.page import live

from .common.conditions import as_json, conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_update, options
from .common.processes import run_module, write
from .common.tables import folded, markdown

MARK = "live cases"
SECONDS = 60.0
WANTED = 1e-11


@dataclass(frozen=True)
class Measurement:
    """A case: its end in s, its events, the size of its page in kB, and what was found.

    Parameters
    ----------
    difference, repeated
        Of its page, and of a second run, from the run; None where there is none.
    worst
        The state that is farthest off.
    says
        Why it is not live, or where its motion ends; empty if there is nothing to say.
    """

    case: str
    until: float
    events: int = 0
    kilobytes: float = 0.0
    difference: float | None = None
    repeated: float | None = None
    worst: str = ""
    says: str = ""


def measured(problem: str, case: str) -> Measurement:
    """Run a case, make its page, and return what was found."""
    bound = ds.problem(problem).case(case)
    name, until = f"{problem} {case}", min(bound.case.until, SECONDS)
    try:
        run = bound.solve(until)
        page = live(run)
    except DaesolveError as error:
        return Measurement(name, until, says=str(error))
    check, size = page.checks[0], len(page.text.encode()) / 1e3
    apart, repeated = _finite(check.difference), _finite(check.repeated)
    return Measurement(name, run.end_time, run.event_count, size, apart, repeated, check.worst)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def in_process(problem: str, cases: Sequence[str]) -> Iterator[Measurement]:
    """Measure cases of a problem in a process of their own; one that breaks ends at its case."""
    left = list(cases)
    while left:
        lines, reason = run_module("benchmarks.live_cases", ["--measure", problem, *left])
        for line in lines:
            yield Measurement(**line)
        left = left[len(lines) :]
        if reason and left:
            yield Measurement(f"{problem} {left.pop(0)}", math.nan, says=reason)


def table(found: Sequence[Measurement]) -> str:
    """Return a summary, and the cases behind it."""
    lives = [one for one in found if one.kilobytes]
    within = [one for one in lives if one.difference is not None and one.difference <= WANTED]
    heads = ["case", "s", "events", "kB", "from `solve`", "a second run", ""]
    all_cases = sum(len(problem.cases) for problem in ds.problems()[0])
    words = (
        f"{len(found)} of {all_cases} cases: {len(lives)} are live, and {len(within)} of these end "
        f"within {WANTED:g} of `solve`; {len(found) - len(lives)} are refused"
    )
    return folded(words, markdown(heads, [_row(one) for one in found]))


def _row(one: Measurement) -> list[str]:
    if not one.kilobytes:
        return [f"`{one.case}`", "", "", "", "", "", one.says.replace("|", "\\|")]
    far = one.difference is None or one.difference > WANTED
    cells = [f"{one.until:.4g}", str(one.events), f"{one.kilobytes:.0f}", _size(one.difference)]
    return [f"`{one.case}`", *cells, _size(one.repeated) if far else "", one.worst if far else ""]


def _size(number: float | None) -> str:
    return "elsewhere" if number is None else f"{number:.0e}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.live_cases", __doc__)
    parser.add_argument("--problem", action="append", metavar="NAME", help="repeatable (all)")
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/live.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    if sys.argv[2:3] == ["--measure"]:
        warnings.simplefilter("ignore")
        problem, *cases = sys.argv[3:]
        write(Path(sys.argv[1]), (measured(problem, case) for case in cases))
        return
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = conditions("wasmtime", "ziglang"), list[Measurement]()
        for name in given.problem or [problem.name for problem in ds.problems()[0]]:
            begun = time.perf_counter()
            found += in_process(name, [case.name for case in ds.problem(name).cases])
            print(f"{name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
            if given.json:
                given.json.write_text(as_json(known, found))
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
