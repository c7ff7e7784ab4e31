"""What a member of an ensemble costs in the lanes of a batch, beside runs one by one.

A hoop rolls in two hollows; radius and speed differ from member to member. Seconds are those of
the processor (one thread works at a time), so that other work on the machine disturbs little; each
figure is the least of some repeats after a first one, in one process. Preparation is the same for
both. What is left beside preparation, monitors and the search for events is the integration itself,
with its samples.

    python -m benchmarks.batches [--members N] [--until S] [--repeats N] [--lanes N]...
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import heyoka

import daesolve as ds
from daesolve import solving
from daesolve.batches import run_batch
from daesolve.monitors import Monitor
from daesolve.solvers import taylor

PARTS = {"prepare": (solving, "prepare"), "monitors": (Monitor, "observe")}
PARTS["events"] = (taylor, "find_events")
"""What is timed by itself: its name, and where it is."""


def members(count: int) -> list[dict[str, float]]:
    """Return hoops of 1 to 2 cm, the larger the slower."""
    parts = [number / count for number in range(count)]
    return [{"radius": 0.01 * (1.0 + part), "speed": 1.5 - 0.3 * part} for part in parts]


def spent(run: Callable[[], object], repeats: int) -> dict[str, float]:
    """Return the least seconds of the processor, in all and in each part."""
    run()
    return min((_spent(run) for _ in range(repeats)), key=lambda found: found["total"])


def _spent(run: Callable[[], object]) -> dict[str, float]:
    found = dict.fromkeys(PARTS, 0.0)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            begin = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                found[name] += time.process_time() - begin

        return call

    with ExitStack() as stack:
        for name, (owner, attribute) in PARTS.items():
            replaced = timed(name, getattr(owner, attribute))
            stack.enter_context(patch.object(owner, attribute, replaced))
        begin = time.process_time()
        run()
        found["total"] = time.process_time() - begin
    found["integrate"] = 2.0 * found["total"] - sum(found.values())
    return found


def contestants(
    ensemble: Sequence[Mapping[str, float]], until: float, lanes: Sequence[int], code: str
) -> dict[str, Callable[[], object]]:
    """Return what is measured: the members one by one, then in batches."""
    case = ds.problem("rolling-wheel").case("hoop")
    solver = ds.Taylor(code=code, optimisation=3)

    def one_by_one() -> None:
        for member in ensemble:
            numbers = {name: value for name, value in member.items() if name != "speed"}
            started = case.changed(numbers).starting({"speed": member["speed"]})
            started.solve(until, solver=solver)

    def together(width: int) -> Callable[[], object]:
        return lambda: run_batch(case, ensemble, until, lanes=width, solver=solver)

    return {"one by one": one_by_one} | {f"{width} lanes": together(width) for width in lanes}


def main() -> None:
    """Print a table for each kind of code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--until", type=float, default=1800.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--lanes", type=int, action="append")
    parser.add_argument("--code", choices=("compact", "unrolled"), action="append")
    arguments = parser.parse_args()
    ensemble = members(arguments.members)
    print(f"{arguments.members} members, {arguments.until:g} s; ms of the processor a member")
    print(f"registers hold {heyoka.recommended_simd_size()} numbers")
    columns = ("total", *PARTS, "integrate")
    for code in arguments.code or ("unrolled", "compact"):
        print(f"{code:14}" + "".join(f"{name:>11}" for name in (*columns, "faster", "unprepared")))
        alone: dict[str, float] = {}
        runs = contestants(ensemble, arguments.until, arguments.lanes or (1, 2, 4, 8), code)
        for name, run in runs.items():
            found = spent(run, arguments.repeats)
            alone = alone or found
            figures = "".join(f"{1e3 * found[c] / len(ensemble):11.1f}" for c in columns)
            work, before = (each["total"] - each["prepare"] for each in (found, alone))
            print(f"{name:14}{figures}{alone['total'] / found['total']:11.2f}{before / work:11.2f}")


if __name__ == "__main__":
    main()
