"""daesolve and other packages, in one run: cost, drift, error at the end, and ratios.

The cost is the wall-clock time of the integration (the best of several); import, and building and
compiling the model, are listed separately. Errors are those of a point at the end, against elliptic
functions or a Taylor series in 28 digits. A ratio compares a setting with daesolve's cheapest
setting whose error is no larger. Other work on the machine spoils ratios, so use an idle machine
and several rounds. Missing packages are listed and skipped: `pip install -e ".[benchmarks]"` adds
them.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.common.conditions import Conditions, as_json, conditions, from_json
from benchmarks.common.options import (
    above_zero,
    add_json,
    add_read,
    add_repeats,
    add_update,
    new_file,
    options,
    whole,
)
from benchmarks.common.tables import update

from .comparing import best_of
from .measuring import PEERS, Effort, Measurement, measure
from .tables import tables, text
from .tasks import TASKS

MARK = "peers"
QUICK = Effort(repeats=3, patience=0.3)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.peers", __doc__)
    help_text = "one short task, 3 repeats, a patience of 0.3 s: about a minute"
    parser.add_argument("--quick", action="store_true", help=help_text)
    parser.add_argument(
        "--task", choices=TASKS, action="append", help="task to run; repeatable (all)"
    )
    help_text = "package to compare with daesolve, which always runs; repeatable (all)"
    parser.add_argument("--peer", choices=PEERS, action="append", help=help_text)
    add_repeats(parser, 25, "integrations, as many as 2 s allow; the best counts")
    help_text = "rounds of all measurements; the best counts (%(default)s)"
    parser.add_argument("--rounds", type=whole, default=1, metavar="N", help=help_text)
    help_text = (
        "s; after a setting that takes longer, finer ones of its method are skipped (%(default)g)"
    )
    parser.add_argument("--patience", type=above_zero, default=4.0, metavar="S", help=help_text)
    add_read(parser)
    add_json(parser)
    help_text = "write the tables to this file as Markdown"
    parser.add_argument("--markdown", type=new_file, metavar="FILE", help=help_text)
    add_update(parser, MARK, "docs/benchmarks/index.md")
    return parser


def _measured(given: argparse.Namespace) -> tuple[Conditions, list[Measurement]]:
    tasks = given.task or (["pendulum-10"] if given.quick else list(TASKS))
    effort = QUICK if given.quick else Effort(given.repeats, given.patience)
    chosen = [peer for peer in PEERS if peer == PEERS[0] or peer in (given.peer or PEERS)]
    found: list[Measurement] = []
    for turn in range(1, given.rounds + 1):
        for task in tasks:
            for peer in chosen:
                print(f"round {turn}, {task}: {peer} ...", file=sys.stderr, flush=True)
                found += measure(peer, task, effort)
    return conditions(*chosen[1:]), best_of(found)


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = _measured(given)
    print(f"{known}\n\n{text(found)}")
    document = f"{known}\n\n{tables(found)}\n"
    if given.json:
        given.json.write_text(as_json(known, found))
    if given.markdown:
        given.markdown.write_text(document)
    if given.update:
        update(given.update, MARK, document)


if __name__ == "__main__":
    main()
