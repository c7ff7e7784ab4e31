"""What one member of an ensemble costs in lanes, compared with runs one by one.

The ensembles are hoops that roll in two hollows, and wheels with a pendulum; radius and speed
differ from member to member. `ds.sweep` sweeps each ensemble in this process, one by one
(`batch=False`) and with its default settings. Other measurements find sections, exponents (the
largest, or all three) or runs verified by the same method or by another, for each member alone and
for all together. Seconds are processor seconds (one thread works at a time), so other work on the
machine disturbs them little. Each figure is the shortest of several repeats after a first one, in
one process. Nothing prepared earlier is kept. "integration" covers all work within the segments of
a run: steps, the search through them for events, and monitors. The remainder, outside integration
and preparation, is what the problem derives from each member's values, the trajectory, the files,
and the algebra of exponents. "difference" is the largest difference of a state at the end, at the
last passage of a section, or of an exponent, divided by the largest such value in the ensemble, or
by 1 if that is larger.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

import daesolve as ds
from daesolve import analysis
from daesolve.core.preparation import lately
from daesolve.core.solvers.scaling import Scaling
from daesolve.core.solvers.taylor_kernel import lane_stepping
from daesolve.ensembles.batches import run_batch
from daesolve.plugins.bound_case import BoundCase

from .common.conditions import conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_repeats, add_update, options, whole
from .common.tables import markdown
from .common.timing import seconds_in_parts

MARK = "lanes"
Found = TypeVar("Found")
WAYS = {"one by one": False, "in lanes": True}
"""Whether members run side by side."""
PARTS: dict[str, tuple[object, str]] = {
    "integrate": (Scaling, "segment"),
    "steps": (lane_stepping, "take_steps"),
}
"""The separately timed parts: name and location. Steps are part of the integration."""
FEW = 16
"""How many members an ensemble has if each takes long."""
Members = Sequence[Mapping[str, float]]


@dataclass(frozen=True)
class Measurement:
    """Processor seconds per member, total and by part, and the difference between results."""

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
        """The time outside the named parts."""
        return self.total - self.prepare - self.integrate


def members(count: int) -> list[dict[str, float]]:
    """Return wheels of 1 to 2 cm; larger ones are slower."""
    parts = [number / count for number in range(count)]
    return [{"radius": 0.01 * (1.0 + part), "speed": 1.5 - 0.3 * part} for part in parts]


def swept(case: BoundCase, ensemble: Members, until: float, lanes: bool) -> list[np.ndarray]:
    """Sweep a case; return the final states."""
    with tempfile.TemporaryDirectory() as out:
        batch = None if lanes else False
        found = ds.sweep(case, ensemble, until=until, workers=0, batch=batch, out=out)
        table: Any = found.to_pandas()
    names = [f"end_{name}" for name in case.system.dynamics.labels.states]
    return list(table[names].to_numpy())


def sectioned(case: BoundCase, ensemble: Members, until: float, lanes: bool) -> list[np.ndarray]:
    """Take sections where the wheel passes the middle of a hollow; return their last points."""
    system: Any = case.system
    guard = system.coordinates.x
    if lanes:
        found = analysis.many_sections(case, guard, ensemble, until)
    else:
        found = [analysis.sections(case.with_values(values), guard, until) for values in ensemble]
    return [np.array([series[-1] for series in member(one).states.values()]) for one in found]


def measured_exponents(
    count: int | None, case: BoundCase, ensemble: Members, until: float, lanes: bool
) -> list[np.ndarray]:
    """Measure exponents, all or the largest."""
    if lanes:
        found = analysis.many_exponents(case, ensemble, until, count=count)
    else:
        found = [
            analysis.lyapunov_exponent(case.with_values(m), until, count=count) for m in ensemble
        ]
    return [member(one).spectrum for one in found]


def verified(
    verify: bool | str, case: BoundCase, ensemble: Members, until: float, lanes: bool
) -> list[np.ndarray]:
    """Run and verify; return the final states."""
    if lanes:
        found = run_batch(case, ensemble, until, verify=verify)
    else:
        found = [case.with_values(values).solve(until, verify=verify) for values in ensemble]
    return [np.array(list(member(run).end_state.values())) for run in found]


def member(found: Found | ds.errors.DaesolveError) -> Found:
    """Return the results; raise if a member failed, because that is an error of this program."""
    if isinstance(found, Exception):
        raise found
    return found


@dataclass(frozen=True)
class Ensemble:
    """An ensemble: the work, the module that prepares members, and their largest number."""

    case: str
    until: float
    work: Callable[[BoundCase, Members, float, bool], list[np.ndarray]] = swept
    prepares: object = lately
    most: int | None = None


def module(name: str) -> object:
    """Return a module of the analyses; some share their name with a function."""
    return importlib.import_module(f"daesolve.analysis.{name}")


EXPONENTS = module("exponents")
ENSEMBLES = {
    "hoop-300": Ensemble("hoop", 300.0),
    "hoop-1800": Ensemble("hoop", 1800.0),
    "pendulum-300": Ensemble("pendulum", 300.0),
    "sections-300": Ensemble("hoop", 300.0, sectioned, module("sections")),
    "exponent-300": Ensemble("hoop", 300.0, partial(measured_exponents, 1), EXPONENTS, FEW),
    "exponents-300": Ensemble("hoop", 300.0, partial(measured_exponents, None), EXPONENTS, FEW),
    "same-300": Ensemble("hoop", 300.0, partial(verified, "same"), most=FEW),
    "other-300": Ensemble("hoop", 300.0, partial(verified, True), most=FEW),
}
"""By name."""


def measured(name: str, most: int, until: float | None, repeats: int) -> list[Measurement]:
    """Measure an ensemble in both ways."""
    one = ENSEMBLES[name]
    count = min(most, one.most or most)
    end, ensemble = until or one.until, members(count)
    parts = {"prepare": (one.prepares, "prepare"), **PARTS}
    found: list[Measurement] = []
    alone: np.ndarray | None = None
    for way, lanes in WAYS.items():

        def run(lanes: bool = lanes) -> list[np.ndarray]:
            lately.forget()
            return one.work(ds.problem("rolling-wheel").case(one.case), ensemble, end, lanes)

        states = np.array(run())
        alone = states if alone is None else alone
        off = np.max(np.abs(states - alone), axis=0) / np.maximum(
            np.max(np.abs(alone), axis=0), 1.0
        )
        spent = [seconds_in_parts(run, parts) for _ in range(repeats)]
        least = min(spent, key=lambda seconds: seconds["total"])
        cost = {part: seconds / count for part, seconds in least.items()}
        found.append(Measurement(name, way, count, end, **cost, difference=float(np.max(off))))
    return found


def table(found: Sequence[Measurement]) -> str:
    """Return milliseconds per member, and the speed-up over runs one by one."""
    rows = [
        [
            f"{one.ensemble}, {one.members}" if one is alone else "",
            one.name,
            *(
                f"{1e3 * seconds:.1f}"
                for seconds in (one.total, one.prepare, one.integrate, one.steps, one.other)
            ),
            f"{alone.total / one.total:.2f}",
            f"{alone.integrate / one.integrate:.2f}",
            "" if one is alone else f"{one.difference:.1e}",
        ]
        for one in found
        for alone in found
        if (alone.ensemble, alone.name) == (one.ensemble, next(iter(WAYS)))
    ]
    heads = ["total", "prepare", *PARTS, "other", "faster", "in integration", "difference"]
    return markdown(["ensemble, members", "", *heads], rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.batches", __doc__)
    help_text = f"wheels in an ensemble (%(default)s); at most {FEW} if each takes long"
    parser.add_argument("--members", type=whole, default=64, metavar="N", help=help_text)
    help_text = "horizon that replaces those of the ensembles, s"
    parser.add_argument("--until", type=float, metavar="S", help=help_text)
    add_repeats(parser, 3, "runs after a first one; the shortest time counts")
    help_text = f"an ensemble to measure; repeatable ({', '.join(ENSEMBLES)})"
    parser.add_argument("--ensemble", action="append", choices=list(ENSEMBLES), help=help_text)
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/how-to/ensembles.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = conditions("numba"), list[Measurement]()
        for name in given.ensemble or ENSEMBLES:
            found += measured(name, given.members, given.until, given.repeats)
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
