"""A Gough-Stewart platform for 2 s: whole runs compared with Exudyn, and the cost of preparation.

The platform has 13 bodies, 72 constraints, and damped springs along the legs (see
benchmarks/stewart/platform.py). All runs alternate in one process. For daesolve, the seconds are
processor seconds of a whole call of `solve` for a model that was prepared earlier, the shortest of
several; for Exudyn, of building and solving with its sparse factors (which are faster here). The
error is the largest of position, velocity and angular velocity of the plate at the end, in m, m/s
and rad/s, against daesolve at machine precision. The formulation `null-space` with dop853 at 1e-13
ends within 3e-14 of that, and Exudyn approaches it with the order 2 of its methods. Preparation is
measured in two processes, one after the other, that keep prepared models in a temporary directory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.common.attempts import BrokeDownError, installed
from benchmarks.common.conditions import Conditions, conditions, from_json
from benchmarks.common.ending import end
from benchmarks.common.options import add_json, add_read, add_repeats, add_update, options
from benchmarks.common.tables import markdown
from benchmarks.common.timing import in_turn, processor_seconds

from .platform import Ended

MARK = "stewart"
PACKAGES = ("daesolve", "exudyn")


@dataclass(frozen=True)
class Measurement:
    """One setting of a package, or one stage of preparation.

    Parameters
    ----------
    package, method, setting
        The run; for a stage, the method is "preparation".
    seconds
        Processor seconds.
    steps, error
        Accepted steps; error of the plate at the end. Zero for a stage.
    """

    package: str
    method: str
    setting: str
    seconds: float
    steps: int = 0
    error: float = 0.0


def runs(packages: list[str], repeats: int) -> list[Measurement]:
    """Alternate all settings and measure them."""
    tried: dict[tuple[str, str, str], Callable[[], tuple[float, Ended]]] = {}
    for package in packages:
        try:
            settings = installed(f"benchmarks.stewart.{package}").settings()
        except BrokeDownError as missing:
            print(f"{package}: {missing}", file=sys.stderr)
            continue
        for name, run in settings.items():
            tried[(package, *name)] = partial(processor_seconds, run)
    truth = next(iter(tried.values()))()[1][0]
    for run in tried.values():
        run()
    return [
        Measurement(
            *name,
            seconds=min(seconds for seconds, _ in results),
            steps=results[0][1][1],
            error=float(np.max(np.abs(results[0][1][0] - truth))),
        )
        for name, results in in_turn(tried, repeats).items()
    ]


def preparation() -> list[Measurement]:
    """Measure everything before a run, in two processes."""
    found: list[Measurement] = []
    with tempfile.TemporaryDirectory() as kept:
        for process in ("a process", "the next process"):
            printed = subprocess.run(
                [sys.executable, "-m", "benchmarks.stewart.preparing"],
                env={**os.environ, "DAESOLVE_CACHE": kept},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            found += [
                Measurement("daesolve", "preparation", f"{process}: {stage}", seconds)
                for stage, seconds in json.loads(printed).items()
            ]
    return found


def tables(found: list[Measurement]) -> str:
    """Return a table of runs, the most accurate last, and one of preparation."""
    solved = [one for one in found if one.method != "preparation"]
    own = [one for one in solved if one.package == PACKAGES[0]]
    rows: list[list[str]] = []
    for one in sorted(solved, key=lambda one: (PACKAGES.index(one.package), -one.error)):
        exact = [other.seconds for other in own if other.error <= one.error]
        ratio = f"{one.seconds / min(exact):.2g}" if exact and one.package != PACKAGES[0] else ""
        error = f"{one.error:.1e}" if one.error else "the reference"
        rows.append(
            [
                one.package,
                one.method,
                one.setting,
                str(one.steps),
                error,
                f"{one.seconds:.3f}",
                ratio,
            ]
        )
    heads = ["package", "method", "setting", "steps", "error", "s", "s / daesolve as exact"]
    parts = [markdown(heads, rows)] if rows else []
    parts += [f"{order}" for order in orders(solved)]
    stages = [[one.setting, f"{one.seconds:.3f}"] for one in found if one.method == "preparation"]
    parts += [markdown(["preparation in", "s"], stages)] if stages else []
    return "\n\n".join(parts)


def orders(found: list[Measurement]) -> list[str]:
    """Return sentences with the powers of the step by which the errors of Exudyn's methods fall."""
    sentences: list[str] = []
    for method in dict.fromkeys(one.method for one in found if one.package == "exudyn"):
        known = [one for one in found if one.method == method]
        powers = [
            np.log(coarse.error / fine.error) / np.log(fine.steps / coarse.steps)
            for coarse, fine in pairwise(sorted(known, key=lambda one: one.steps))
        ]
        numbers = ", ".join(f"{power:.2f}" for power in powers)
        sentences.append(
            f"From step to step the errors of {method} fall with the powers {numbers}."
        )
    return sentences


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.stewart", __doc__)
    parts = ("runs", "preparation")
    parser.add_argument("--part", choices=parts, action="append", help="repeatable (all)")
    parser.add_argument(
        "--package",
        choices=PACKAGES[1:],
        action="append",
        help="package to compare with daesolve (all)",
    )
    add_repeats(parser, 5, "runs of each setting, in turn")
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/index.md")
    return parser


def _measured(given: argparse.Namespace) -> tuple[Conditions, list[Measurement]]:
    found: list[Measurement] = []
    parts = given.part or ["runs", "preparation"]
    packages = [PACKAGES[0], *(given.package or PACKAGES[1:])]
    found += runs(packages, given.repeats) if "runs" in parts else []
    found += preparation() if "preparation" in parts else []
    return conditions("exudyn", "numba"), found


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = _measured(given)
    end(given, known, found, tables(found), MARK)


if __name__ == "__main__":
    main()
