"""daesolve beside other packages, in one run: cost, drift, error at the end, and ratios.

The cost is that of the integration (the best of several); import, and building and compiling the
model, stand apart. A ratio compares with daesolve's cheapest setting whose error is no larger.
Other work on the machine spoils ratios: take an idle one, and several rounds.
Packages that are not installed are told and left out: `pip install -e ".[benchmarks]"`.

    python -m benchmarks.peers [--quick] [--task NAME]... [--peer NAME]... [--repeats N]
        [--rounds N] [--patience SECONDS] [--read FILE] [--json FILE] [--markdown FILE]
        [--update docs/benchmarks/index.md]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .comparing import Session, best_of, session, stored
from .measuring import PEERS, Effort, Measurement, measure
from .tables import as_json, markdown, text, updated
from .tasks import TASKS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="one short task, coarse settings")
    parser.add_argument("--task", choices=TASKS, action="append")
    parser.add_argument("--peer", choices=PEERS, action="append", help="daesolve always runs")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=1, help="of everything; the best counts")
    parser.add_argument("--patience", type=float, default=4.0)
    parser.add_argument("--read", type=Path, help="measure nothing: read what --json wrote")
    parser.add_argument("--json", type=Path, help="write everything here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    parser.add_argument("--update", type=Path, help="replace the tables in this document")
    return parser.parse_args()


def _measured(arguments: argparse.Namespace) -> Session:
    tasks = arguments.task or (["pendulum-10"] if arguments.quick else list(TASKS))
    effort = Effort(arguments.repeats, arguments.patience)
    if arguments.quick:
        effort = Effort(repeats=3, patience=0.3)
    chosen = [peer for peer in PEERS if peer == PEERS[0] or peer in (arguments.peer or PEERS)]
    found: list[Measurement] = []
    for turn in range(1, arguments.rounds + 1):
        for task in tasks:
            for peer in chosen:
                print(f"round {turn}, {task}: {peer} ...", file=sys.stderr, flush=True)
                found += measure(peer, task, effort)
    return session(best_of(found))


def main() -> None:
    """Measure or read, print, and write what was asked for."""
    arguments = _arguments()
    run = stored(arguments.read.read_text()) if arguments.read else _measured(arguments)
    print(text(run))
    if arguments.json:
        arguments.json.write_text(as_json(run))
    if arguments.markdown:
        arguments.markdown.write_text(markdown(run))
    if arguments.update:
        arguments.update.write_text(updated(arguments.update.read_text(), run))


if __name__ == "__main__":
    main()
