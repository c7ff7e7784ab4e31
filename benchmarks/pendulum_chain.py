"""How the cost of a step grows with the number of bodies, compared with Exudyn and MuJoCo.

A planar chain of N rods swings down from the horizontal. daesolve and Exudyn use its bodies and
joints directly (3 N coordinates, 2 N constraints); MuJoCo uses N joint angles without constraints.
Costs are processor times on one thread, the best of several; building and compiling are listed
separately. Errors are those of mass centres at the end, against an integration in the rods' angles.
An exponent is the slope of the cost over N, log-log. A ratio compares a setting with daesolve's
cheapest setting whose error is no larger. Missing packages are listed and skipped:
`pip install -e ".[benchmarks]"` adds them.
"""

from __future__ import annotations

import argparse
import sys

from .chain.measuring import PACKAGES, Measurement, measure
from .chain.tables import tables
from .common.conditions import Conditions, as_json, conditions, from_json
from .common.options import above_zero, add_json, add_read, add_until, add_update, options, whole
from .common.tables import update

RODS = (5, 10, 20, 50, 100, 200)
MARK = "chain"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.pendulum_chain", __doc__)
    help_text = f"number of rods; repeatable ({', '.join(str(rods) for rods in RODS)})"
    parser.add_argument("--rods", type=whole, action="append", metavar="N", help=help_text)
    help_text = "package to compare with daesolve, which always runs; repeatable (all)"
    parser.add_argument("--package", choices=PACKAGES, action="append", help=help_text)
    add_until(parser, 1.0, "motion")
    help_text = (
        "s; after a setting that takes longer, finer ones of its method are skipped (%(default)g)"
    )
    parser.add_argument("--patience", type=above_zero, default=8.0, metavar="S", help=help_text)
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/chains.md")
    return parser


def _measured(given: argparse.Namespace) -> tuple[Conditions, list[Measurement]]:
    chosen = [p for p in PACKAGES if p == PACKAGES[0] or p in (given.package or PACKAGES)]
    found: list[Measurement] = []
    for rods in given.rods or RODS:
        for package in chosen:
            print(f"{rods} rods: {package} ...", file=sys.stderr, flush=True)
            found += measure(package, rods, given.until, given.patience)
    return conditions(*chosen[1:]), found


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = _measured(given)
    text = f"{known} {found[0].until:g} s of motion.\n\n{tables(found)}"
    print(text)
    if given.json:
        given.json.write_text(as_json(known, found))
    if given.update:
        update(given.update, MARK, text)


if __name__ == "__main__":
    main()
