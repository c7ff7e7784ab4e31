"""What a member of a sweep costs in lanes, beside runs one by one.

Hoops that roll in two hollows, and wheels with a pendulum: radius and speed differ from member to
member. Each ensemble is swept by `ds.sweep` in this process, one by one (`batch=False`) and as it
goes by itself. Seconds are those of the processor (one thread works at a time), so that other work
on the machine disturbs little; each figure is the least of some repeats after a first one, in one
process. Nothing is kept of what was prepared before. "integration" is all within the segments of a
run: steps, the look through them, the search for events, and monitors. What is left beside it and
preparation is what the problem derives of each member's values, the trajectory, and the files.
"difference" is the largest of a state at the end, over the largest of that state in the ensemble.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import daesolve as ds
from daesolve.integration.run_state import RunState
from daesolve.preparation import lately
from daesolve.taylor_kernel import marching

from .common.conditions import as_json, conditions
from .common.options import add_json, add_repeats, options, whole
from .common.tables import aligned
from .common.timing import seconds_in_parts

ENSEMBLES = {
    "hoop-300": ("hoop", 300.0),
    "hoop-1800": ("hoop", 1800.0),
    "pendulum-300": ("pendulum", 300.0),
}
"""Case and horizon, by name."""
WAYS = {"one by one": False, "in lanes": None}
"""What `batch` is."""
PARTS: dict[str, tuple[object, str]] = {
    "prepare": (lately, "prepare"),
    "integrate": (RunState, "solve"),
    "steps": (marching, "take_steps"),
}
"""What is timed by itself: its name, and where it is. Steps are a part of the integration."""


@dataclass(frozen=True)
class Measurement:
    """Seconds of the processor a member, in all and in each part; and how far results differ."""

    ensemble: str
    name: str
    members: int
    until: float
    total: float
    prepare: float
    integrate: float
    steps: float
    difference: float

    @property
    def other(self) -> float:
        """What is left beside the parts."""
        return self.total - self.prepare - self.integrate


def members(count: int) -> list[dict[str, float]]:
    """Return wheels of 1 to 2 cm, the larger the slower."""
    parts = [number / count for number in range(count)]
    return [{"radius": 0.01 * (1.0 + part), "speed": 1.5 - 0.3 * part} for part in parts]


def swept(
    case: str, ensemble: Sequence[Mapping[str, float]], until: float, *, batch: bool | None
) -> np.ndarray:
    """Sweep a case anew; return the states at the ends, (members, states)."""
    lately.forget()
    bound = ds.problem("rolling-wheel").case(case)
    with tempfile.TemporaryDirectory() as out:
        found = ds.sweep(bound, ensemble, until=until, workers=0, batch=batch, out=out)
        table: Any = found.to_pandas()
    return table[[f"end_{name}" for name in bound.system.dynamics.labels.states]].to_numpy()


def measured(name: str, count: int, until: float | None, repeats: int) -> list[Measurement]:
    """Measure an ensemble in both ways."""
    case, horizon = ENSEMBLES[name]
    end, ensemble = until or horizon, members(count)
    found: list[Measurement] = []
    alone: np.ndarray | None = None
    for way, batch in WAYS.items():

        def run(batch: bool | None = batch) -> np.ndarray:
            return swept(case, ensemble, end, batch=batch)

        states = run()
        alone = states if alone is None else alone
        off = np.max(np.abs(states - alone), axis=0) / np.maximum(
            np.max(np.abs(alone), axis=0), 1.0
        )
        spent = [seconds_in_parts(run, PARTS) for _ in range(repeats)]
        least = min(spent, key=lambda seconds: seconds["total"])
        cost = {part: seconds / count for part, seconds in least.items()}
        found.append(Measurement(name, way, count, end, **cost, difference=float(np.max(off))))
    return found


def table(found: Sequence[Measurement]) -> str:
    """Return milliseconds a member, and how much faster than one by one."""
    rows = [
        [
            one.ensemble,
            one.name,
            *(
                f"{1e3 * seconds:.1f}"
                for seconds in (one.total, one.prepare, one.integrate, one.steps, one.other)
            ),
            f"{alone.total / one.total:.2f}",
            f"{alone.integrate / one.integrate:.2f}",
            f"{one.difference:.1e}",
        ]
        for one in found
        for alone in found
        if (alone.ensemble, alone.name) == (one.ensemble, next(iter(WAYS)))
    ]
    heads = ["total", *PARTS, "other", "faster", "in integration", "difference"]
    return aligned(["", "", *heads], rows)


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = options("benchmarks.batches", __doc__)
    told = "wheels of an ensemble (%(default)s)"
    parser.add_argument("--members", type=whole, default=64, metavar="N", help=told)
    told = "in place of the horizons of the ensembles, s"
    parser.add_argument("--until", type=float, metavar="S", help=told)
    add_repeats(parser, 3, "after a first run, of which the least counts")
    told = f"one of them; repeatable ({', '.join(ENSEMBLES)})"
    parser.add_argument("--ensemble", action="append", choices=list(ENSEMBLES), help=told)
    add_json(parser)
    return parser


def main() -> None:
    """Measure and print."""
    given = parser().parse_args()
    known = conditions()
    print(known)
    print(f"{given.members} members; ms of the processor a member")
    found: list[Measurement] = []
    for name in given.ensemble or ENSEMBLES:
        found += measured(name, given.members, given.until, given.repeats)
    print(f"\n{table(found)}", flush=True)
    if given.json:
        given.json.write_text(as_json(known, found))


if __name__ == "__main__":
    main()
