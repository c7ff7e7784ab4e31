"""What a member of an ensemble costs in the lanes of a batch, beside runs one by one.

A hoop rolls in two hollows; radius and speed differ from member to member. Seconds are those of
the processor (one thread works at a time), so that other work on the machine disturbs little; each
figure is the least of some repeats after a first one, in one process. Preparation is the same for
both. What is left beside preparation, monitors and the search for events is the integration itself,
with its samples. "faster" is against one by one, "unprepared" the same without preparation. Nothing
is kept of what was prepared before. Results are those of single runs up to rounding, as
`tests/ensembles/test_batches.py` shows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import daesolve as ds
from daesolve.diagnostics.monitor import Monitor
from daesolve.ensembles.batches import run_batch
from daesolve.preparation.lately import forget
from daesolve.solvers import guards
from daesolve.solving import solving

from .common.conditions import as_json, conditions
from .common.options import add_json, add_repeats, add_until, options, whole
from .common.tables import aligned
from .common.timing import seconds_in_parts

PARTS: dict[str, tuple[object, str]] = {
    "prepare": (solving, "prepare_once"),
    "monitors": (Monitor, "observe"),
    "events": (guards, "find_events"),
}
"""What is timed by itself: its name, and where it is."""
LANES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Measurement:
    """Seconds of the processor a member, in all and in each part."""

    name: str
    members: int
    until: float
    total: float
    prepare: float
    monitors: float
    events: float

    @property
    def integrate(self) -> float:
        """What is left beside the parts."""
        return self.total - self.prepare - self.monitors - self.events

    @property
    def unprepared(self) -> float:
        """All but preparation."""
        return self.total - self.prepare


def members(count: int) -> list[dict[str, float]]:
    """Return hoops of 1 to 2 cm, the larger the slower."""
    parts = [number / count for number in range(count)]
    return [{"radius": 0.01 * (1.0 + part), "speed": 1.5 - 0.3 * part} for part in parts]


def spent(run: Callable[[], object], repeats: int) -> dict[str, float]:
    """Return the least seconds of the processor, in all and in each part."""

    def anew() -> object:
        forget()
        return run()

    anew()
    found = (seconds_in_parts(anew, PARTS) for _ in range(repeats))
    return min(found, key=lambda seconds: seconds["total"])


def contestants(
    ensemble: Sequence[Mapping[str, float]], until: float, lanes: Sequence[int]
) -> dict[str, Callable[[], object]]:
    """Return what is measured: the members one by one, then in batches."""
    case = ds.problem("rolling-wheel").case("hoop")
    solver = ds.Taylor(engine="kernel")

    def one_by_one() -> None:
        for member in ensemble:
            numbers = {name: value for name, value in member.items() if name != "speed"}
            started = case.changed(numbers).starting({"speed": member["speed"]})
            started.solve(until, solver=solver)

    def together(width: int) -> Callable[[], object]:
        return lambda: run_batch(case, ensemble, until, lanes=width)

    return {"one by one": one_by_one} | {f"{width} lanes": together(width) for width in lanes}


def table(found: Sequence[Measurement]) -> str:
    """Return milliseconds a member, and how much faster batches are than the first contestant."""
    alone = found[0]
    rows = [
        [
            one.name,
            *(
                f"{1e3 * seconds:.1f}"
                for seconds in (one.total, one.prepare, one.monitors, one.events, one.integrate)
            ),
            f"{alone.total / one.total:.2f}",
            f"{alone.unprepared / one.unprepared:.2f}",
        ]
        for one in found
    ]
    return aligned(["", "total", *PARTS, "integrate", "faster", "unprepared"], rows)


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = options("benchmarks.batches", __doc__)
    told = "hoops of the ensemble (%(default)s)"
    parser.add_argument("--members", type=whole, default=64, metavar="N", help=told)
    add_until(parser, 1800.0)
    add_repeats(parser, 3, "after a first run, of which the least counts")
    told = f"members in a batch; repeatable ({', '.join(str(width) for width in LANES)})"
    parser.add_argument("--lanes", type=whole, action="append", metavar="N", help=told)
    add_json(parser)
    return parser


def main() -> None:
    """Measure and print."""
    given = parser().parse_args()
    ensemble = members(given.members)
    known = conditions()
    print(known)
    print(f"{given.members} members, {given.until:g} s; ms of the processor a member")
    found: list[Measurement] = []
    for name, run in contestants(ensemble, given.until, given.lanes or LANES).items():
        cost = {part: s / len(ensemble) for part, s in spent(run, given.repeats).items()}
        found.append(Measurement(name, len(ensemble), given.until, **cost))
    print(f"\n{table(found)}", flush=True)
    if given.json:
        given.json.write_text(as_json(known, found))


if __name__ == "__main__":
    main()
