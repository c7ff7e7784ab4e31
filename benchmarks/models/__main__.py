"""Other authors' model files: how long it takes until they run, and how the runs compare.

The user supplies the files, because the project may not redistribute them. Each file is read,
prepared and run without contacts and limits, from its first keyframe or its default pose, with
random speeds of all joints (1 rad/s, 1 m/s) that its loops allow. MuJoCo then runs it with the
file's step. Accelerations are those of mass centres and rotations at 20 random states, against
MuJoCo's, with open loops and without dry friction, over the largest of their kind. The gap is the
largest of all joints and loops over every accepted step; MuJoCo's is that of its loops at samples.
The drift of the energy, less the work of dampers and motors, is relative to the largest kinetic
energy; MuJoCo's work is summed by the trapezoidal rule over its steps. Seconds are wall-clock
seconds, in a separate process for each file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common.conditions import conditions, from_json
from benchmarks.common.ending import end
from benchmarks.common.options import (
    add_json,
    add_read,
    add_until,
    add_update,
    options,
)
from benchmarks.common.processes import run_module
from benchmarks.common.tables import markdown

from .measuring import Measurement, title

MARK = "models"
HEADS = (
    "model", "bodies", "joints", "loops", "reading, s", "equations, s", "preparation, s", "run, s",
    "MuJoCo, s", "acceleration", "gap", "MuJoCo's gap", "drift", "MuJoCo's drift",
)  # fmt: skip


def measured(file: Path, until: float) -> Measurement:
    """Measure a file in a separate process, which finds nothing prepared."""
    with tempfile.TemporaryDirectory() as kept:
        lines, reason = run_module(
            "benchmarks.models.measuring",
            [str(file.resolve()), str(until)],
            {"DAESOLVE_CACHE": kept},
        )
    if not lines:
        return Measurement(title(file), reason=reason)
    last: dict[str, Any] = {**lines[-1]}
    last["left_out"] = tuple(last["left_out"])
    return Measurement(**last)


def tables(found: list[Measurement]) -> str:
    """Return a table of the files that ran, and what each of them lost."""
    rows = [
        [
            one.name, str(one.bodies), str(one.joints), str(one.rows), f"{one.reading:.1f}",
            f"{one.equations:.1f}", f"{one.preparation:.1f}", f"{one.run:.2f}", f"{one.mujoco:.2f}",
            _size(one.acceleration), _size(one.gap), _size(one.soft_gap), _size(one.drift),
            _size(one.soft_drift),
        ]
        for one in found
        if not one.reason
    ]  # fmt: skip
    parts = [markdown(HEADS, rows)] if rows else []
    gone = [f"- {one.name}: {', '.join(one.left_out)}" for one in found if one.left_out]
    parts += ["Left out:\n\n" + "\n".join(gone)] if gone else []
    failed = [f"- {one.name}: {one.reason}" for one in found if one.reason]
    parts += ["Without a result:\n\n" + "\n".join(failed)] if failed else []
    return "\n\n".join(parts)


def _size(value: float | None) -> str:
    return "" if value is None else f"{value:.0e}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.models", __doc__)
    parser.add_argument(
        "file", nargs="*", type=Path, metavar="FILE", help="a model in MJCF or URDF"
    )
    add_until(parser, 1.0)
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/models.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = conditions("mujoco"), list[Measurement]()
        for file in given.file:
            found.append(measured(file, given.until))
            print(f"{found[-1].name}: {found[-1].reason or 'measured'}", file=sys.stderr)
    end(given, known, found, tables(found), MARK)


if __name__ == "__main__":
    main()
