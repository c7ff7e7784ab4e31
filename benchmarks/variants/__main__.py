"""How often algorithms find the loaded supports of trains of prisms, and at what cost.

Every algorithm gets the same members of a seeded family (tests/reference/prism_trains.py): members
for which friction changes no determinant's sign, so that each load has one answer, and others.
Milliseconds are processor milliseconds (one thread works at a time): medians over the members of
the best of three. The results are compared with the reactions of all variants, each solved for.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from benchmarks.common.conditions import Conditions, as_json, conditions, from_json
from benchmarks.common.options import add_json, add_read, add_update, options, whole
from benchmarks.common.tables import markdown, update

from .measuring import METHODS, Measurement, measured

PAIRS = (2, 4, 8, 12, 16)
MARK = "measured"
TITLES = {
    True: "Friction changes no determinant's sign: each load has exactly one answer",
    False: "Friction changes some determinant's sign: loads may have no answer, or several",
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.variants", __doc__)
    help_text = (
        f"number of pairs of supports; repeatable ({', '.join(str(count) for count in PAIRS)})"
    )
    parser.add_argument("--pairs", type=whole, action="append", metavar="M", help=help_text)
    help_text = "trains for each number of pairs (%(default)s)"
    parser.add_argument("--members", type=whole, default=60, metavar="N", help=help_text)
    parser.add_argument("--method", choices=METHODS, action="append", help="repeatable (all)")
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/theory/variants-algorithms.md")
    return parser


def _measured(given: argparse.Namespace) -> tuple[Conditions, list[Measurement]]:
    found: list[Measurement] = []
    for unique in (True, False):
        for count in given.pairs or PAIRS:
            print(f"{count} pairs; {TITLES[unique]} ...", file=sys.stderr, flush=True)
            methods = given.method or list(METHODS)
            found += measured(count, unique=unique, members=given.members, methods=methods)
    return conditions("scipy"), found


def _table(found: Sequence[Measurement]) -> str:
    pairs = sorted({one.pairs for one in found})
    one_of = {(one.method, one.pairs): one for one in found}
    rows = [
        [method, *(_cell(one_of[method, count]) for count in pairs)]
        for method in dict.fromkeys(one.method for one in found)
    ]
    solvable = [one_of[found[0].method, count] for count in pairs]
    counts = [f"{one.solvable} of {one.members}" for one in solvable]
    rows.append(["*members with an answer*", *counts])
    return markdown(["method", *(f"m = {count}" for count in pairs)], rows)


def _cell(one: Measurement) -> str:
    """Return the share of answers found, the number of wrong statements, and the cost."""
    share = f"{100 * one.found / one.solvable:.3g} %" if one.solvable else "-"
    wrong = f", **{one.wrong} wrong**" if one.wrong else ""
    digits = max(0, 1 - math.floor(math.log10(one.milliseconds)))
    return f"{share}{wrong}, {one.milliseconds:.{digits}f} ms"


def tables(found: Sequence[Measurement]) -> str:
    """Return a table for each kind of trains."""
    parts = [
        f"{title}:\n\n{_table([one for one in found if one.unique == unique])}"
        for unique, title in TITLES.items()
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = _measured(given)
    text = f"{known}\n\n{tables(found)}"
    print(text)
    if given.json:
        given.json.write_text(as_json(known, found))
    if given.update:
        update(given.update, MARK, text)


if __name__ == "__main__":
    main()
