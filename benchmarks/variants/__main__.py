"""How often algorithms find the loaded supports of trains of prisms, and what that costs.

Every algorithm gets the same members of a seeded family (tests/reference/prism_trains.py): those
for which friction changes no determinant's sign, so that each load has one answer, and others.
Milliseconds are those of the processor (one thread works at a time), medians over the members.

    python -m benchmarks.variants [--pairs M]... [--members N] [--method NAME]... [--json FILE]
        [--read FILE] [--update docs/theory/variants-algorithms.md]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .measuring import METHODS, Measurement, measured

PAIRS = (2, 4, 8, 12, 16)
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
TITLES = {
    True: "Friction changes no determinant's sign: each load has exactly one answer",
    False: "Friction changes some determinant's sign: loads may have no answer, or several",
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.variants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pairs", type=int, action="append")
    parser.add_argument("--members", type=int, default=60)
    parser.add_argument("--method", choices=METHODS, action="append")
    parser.add_argument("--read", type=Path, help="measure nothing: read what --json wrote")
    parser.add_argument("--json", type=Path, help="write everything here")
    parser.add_argument("--update", type=Path, help="replace the tables in this document")
    return parser.parse_args()


def _all(pairs: Sequence[int], members: int, methods: Sequence[str]) -> list[Measurement]:
    found: list[Measurement] = []
    for unique in (True, False):
        for count in pairs:
            print(f"{count} pairs; {TITLES[unique]} ...", file=sys.stderr, flush=True)
            found += measured(count, unique=unique, members=members, methods=methods)
    return found


def _table(found: Sequence[Measurement], unique: bool) -> list[str]:
    pairs = sorted({one.pairs for one in found})
    one_of = {(one.method, one.pairs): one for one in found if one.unique == unique}
    heads = ["method", *(f"m = {count}" for count in pairs)]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for method in dict.fromkeys(one.method for one in found):
        cells = [_cell(one_of[method, count]) for count in pairs]
        lines.append(f"| {' | '.join([method, *cells])} |")
    solvable = [one_of[found[0].method, count] for count in pairs]
    counts = [f"{one.solvable} of {one.members}" for one in solvable]
    lines.append(f"| *members with an answer* | {' | '.join(counts)} |")
    return lines


def _cell(one: Measurement) -> str:
    """Return the share of the answers found, how much of what was told is wrong, and the cost."""
    share = f"{100 * one.found / one.solvable:.3g} %" if one.solvable else "-"
    wrong = f", **{one.wrong} wrong**" if one.wrong else ""
    digits = max(0, 1 - math.floor(math.log10(one.milliseconds)))
    return f"{share}{wrong}, {one.milliseconds:.{digits}f} ms"


def _tables(found: Sequence[Measurement]) -> str:
    lines: list[str] = []
    for unique, title in TITLES.items():
        lines += [f"{title}:", "", *_table(found, unique), ""]
    return "\n".join(lines)


def _update(document: Path, tables: str) -> None:
    before, rest = document.read_text().split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    document.write_text(f"{before}{BEGIN}\n{tables}{END}{after}")


def main() -> None:
    """Measure or read, print, and write what was asked for."""
    arguments = _arguments()
    if arguments.read:
        found = [Measurement(**one) for one in json.loads(arguments.read.read_text())]
    else:
        methods = arguments.method or list(METHODS)
        found = _all(arguments.pairs or PAIRS, arguments.members, methods)
    print(_tables(found))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in found], indent=1))
    if arguments.update:
        _update(arguments.update, _tables(found))


if __name__ == "__main__":
    main()
