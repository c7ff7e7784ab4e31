"""Other authors' model files: how long it takes until they run, and how the runs compare.

The user supplies the files, because the project may not redistribute them. Each file is read,
prepared and run with rigid contacts and limits of joints, or where that has no result with limits
alone, from its first keyframe or its default pose, lifted off the planes into which that places it,
with random speeds of all joints (1 rad/s, 1 m/s) that its loops allow. MuJoCo then runs it with the
file's step and its own soft contacts, of the same pairs of geoms. Accelerations are those of mass
centres and rotations at 20 random states, against MuJoCo's, with open loops and without dry
friction or contacts, over the largest of their kind. Seconds are processor seconds, in a separate
process for each file, which may use 60 of them and finds nothing prepared.
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
from daesolve.multibody.model_files import ContactKind

from .measuring import Measurement, title

KINDS: tuple[ContactKind, ...] = ("rigid", "none")
"""How geoms touch; the second where the first has no result."""
MARK, UNFINISHED = "models", ("it was not prepared",)
HEADS = (
    "model", "contacts are", "bodies", "joints", "loops", "contacts", "method", "first run, s",
    "again, s", "events", "residual", "drift", "sinks in, m", "beyond limits", "MuJoCo, s",
    "its sinks in, m", "its beyond limits", "its loops", "touches at, s", "1 mm apart at, s",
    "acceleration",
)  # fmt: skip
LIMIT = 60


def measured(file: Path, until: float, limit: int, kind: ContactKind) -> Measurement:
    """Measure a file in a separate process, which finds nothing prepared."""
    with tempfile.TemporaryDirectory() as kept:
        lines, reason = run_module(
            "benchmarks.models.measuring",
            [str(file.resolve()), str(until), str(limit), kind],
            {"DAESOLVE_CACHE": kept},
        )
    if not lines:
        return Measurement(title(file), kind, reason=reason)
    last: dict[str, Any] = {**lines[-1]}
    last["left_out"] = tuple(last["left_out"])
    if last["reason"] in UNFINISHED or last["reason"].startswith("it was prepared in"):
        last["reason"] += f" in {limit} s" if "status -" in reason else f": {reason}"
    return Measurement(**last)


def tables(found: list[Measurement]) -> str:
    """Return a table of the files that ran, and what each of them lost."""
    rows = [
        [
            one.name, one.kind, str(one.bodies), str(one.joints), str(one.rows), str(one.contacts),
            one.solver, f"{one.first:.1f}", "" if one.again is None else f"{one.again:.2f}",
            str(one.events), _size(one.residual), _size(one.drift), _size(one.depth),
            _size(one.beyond), f"{one.mujoco:.3f}", _size(one.soft_depth), _size(one.soft_beyond),
            _size(one.soft_gap), _time(one.touched), _time(one.apart), _size(one.acceleration),
        ]
        for one in found
        if not one.reason
    ]  # fmt: skip
    parts = [markdown(HEADS, rows)] if rows else []
    gone = [
        f"- {one.name}: {', '.join(one.left_out)}"
        for one in found
        if one.left_out and one.kind == "rigid"
    ]
    parts += ["Left out:\n\n" + "\n".join(gone)] if gone else []
    failed = [
        # The sentences that follow list numbers, or say what to change.
        f"- {one.name}, {_said(one)}: {one.reason.split(';')[0]}"
        for one in found
        if one.reason
    ]
    parts += ["Without a result:\n\n" + "\n".join(failed)] if failed else []
    return "\n\n".join(parts)


def _said(one: Measurement) -> str:
    return f"{one.contacts} {one.kind} contacts" if one.kind != "none" else "without contacts"


def _size(value: float | None) -> str:
    return "" if value is None else f"{value:.0e}"


def _time(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.models", __doc__)
    parser.add_argument(
        "file", nargs="*", type=Path, metavar="FILE", help="a model in MJCF or URDF"
    )
    add_until(parser, 1.0)
    parser.add_argument(
        "--limit", type=int, default=LIMIT, help="processor seconds that a file may use (60)"
    )
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
            for kind in KINDS:
                found.append(measured(file, given.until, given.limit, kind))
                said = found[-1].reason or "measured"
                print(f"{found[-1].name}, {kind}: {said}", file=sys.stderr)
                if not found[-1].reason:
                    break
    end(given, known, found, tables(found), MARK)


if __name__ == "__main__":
    main()
