"""How the cost of a step grows with the number of bodies, beside Exudyn and MuJoCo.

A planar chain of N rods swings down from the horizontal: daesolve and Exudyn take its bodies and
joints as they are (3 N coordinates, 2 N constraints), MuJoCo N joint angles without constraints.
Costs are processor times on one thread, the best of several; building and compiling stand apart.
An exponent is the slope of the cost over N, log-log. A ratio compares with daesolve's cheapest
setting whose error is no larger. Packages that are not installed are told and left out:
`pip install -e ".[benchmarks]"`.

    python -m benchmarks.pendulum_chain [--rods N]... [--package NAME]... [--until SECONDS]
        [--patience SECONDS] [--update docs/benchmarks/chains.md]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from .chain.measuring import PACKAGES, Measurement, measure
from .chain.tables import markdown, updated
from .peers.comparing import machine, versions

RODS = (5, 10, 20, 50, 100, 200)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pendulum_chain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rods", type=int, action="append")
    parser.add_argument("--package", choices=PACKAGES, action="append", help="daesolve always runs")
    parser.add_argument("--until", type=float, default=1.0, help="simulated seconds")
    parser.add_argument(
        "--patience", type=float, default=8.0,
        help="seconds; where one setting of a method took longer, the finer ones are left out",
    )  # fmt: skip
    parser.add_argument("--update", type=Path, help="replace the tables in this document")
    return parser.parse_args()


def _title(until: float, found: Sequence[Measurement]) -> str:
    shown = {"Python", "numpy", "heyoka", *(one.package for one in found)}
    known = ", ".join(f"{name} {number}" for name, number in versions().items() if name in shown)
    return f"Measured on {datetime.now(UTC):%Y-%m-%d}, {until:g} s of motion: {machine()}. {known}."


def main() -> None:
    """Measure, print, and write what was asked for."""
    arguments = _arguments()
    chosen = [p for p in PACKAGES if p == PACKAGES[0] or p in (arguments.package or PACKAGES)]
    found: list[Measurement] = []
    for rods in arguments.rods or RODS:
        for package in chosen:
            print(f"{rods} rods: {package} ...", file=sys.stderr, flush=True)
            found += measure(package, rods, arguments.until, arguments.patience)
    tables = markdown(found, _title(arguments.until, found))
    print(tables)
    if arguments.update:
        arguments.update.write_text(updated(arguments.update.read_text(), tables))


if __name__ == "__main__":
    main()
