"""Which method reaches an accuracy at the lowest cost, by system size and for a stiff system.

Each method runs at several relative tolerances (atol is a hundredth of each). The table shows the
processor milliseconds of a run after its preparation, with every step monitored (the shortest time
of the repeats), and the largest error of a state at the end, relative where the state exceeds one.
The reference is Taylor's method at 1e-18, or `radau` at 1e-11 for the stiff case. A tolerance
limits the error of a single step; the error at the end accumulates over all steps.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from daesolve_problems.mechanisms.pendulum_chain import chain, posed

import daesolve as ds
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.preparation.request import Request
from daesolve.core.run.integration.simulation import simulate

from .common.conditions import Conditions, conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_repeats, add_update, options
from .common.tables import markdown
from .common.timing import processor_seconds

MARK = "accuracy"
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9)
RODS = {"chain of 5": 5, "chain of 50": 50, "chain of 200": 200}
STIFF = "omni-friction"
PROBLEMS = {
    "pendulum": ("pendulum", None, 10.0),
    "hoop": ("rolling-wheel", "hoop", 60.0),
    "slider-crank": ("slider-crank", None, 10.0),
    STIFF: (STIFF, "straight", 0.2),
}
"""The cases other than chains, each for 1 s: the problem, its case, and s."""
CASES = (*PROBLEMS, *RODS)


@dataclass(frozen=True)
class Measurement:
    """A method on a case.

    Parameters
    ----------
    case, method, tolerance
        What was measured.
    seconds, steps, error
        Processor seconds, number of steps, and error at the end; NaN where the run did not finish.
    """

    case: str
    method: str
    tolerance: float
    seconds: float
    steps: int
    error: float


Prepare = Callable[[ds.Solver], tuple[Prepared, float]]


def prepared(case: str) -> Prepare:
    """Return a function that prepares a case for a solver and returns the horizon, s."""
    if case in RODS:
        rods = RODS[case]
        system = posed(rods)
        start = chain(rods, math.pi / 2).start_at(chain(rods).parameters.defaults)
        return lambda solver: (prepare(system, Request(1.0, initial=start, solver=solver)), 1.0)
    problem, name, until = PROBLEMS[case]
    bound = ds.problem(problem).case(*([name] if name else []))
    values, guess = bound.full_parameters, bound.guess()[0]

    def ready(solver: ds.Solver) -> tuple[Prepared, float]:
        request = Request(until, parameters=values, guess=guess, solver=solver)
        return prepare(bound.system, request), until

    return ready


def methods(case: str) -> Iterator[tuple[str, float, ds.Solver]]:
    """Yield methods and their tolerances."""
    for rtol in TOLERANCES:
        if case == STIFF:
            yield "radau", rtol, ds.RadauIIA(rtol=rtol, atol=rtol / 100)
        else:
            yield "taylor", rtol, ds.Taylor(tolerance=rtol)
            yield "dop853", rtol, ds.Dop853(rtol=rtol, atol=rtol / 100)
            if case not in RODS or RODS[case] <= 5:
                yield "cvodes", rtol, ds.Cvodes(rtol=rtol, atol=rtol / 100)
    if case != STIFF:
        yield "taylor", float(np.finfo(float).eps), ds.Taylor()


def measured(case: str, repeats: int) -> list[Measurement]:
    """Measure all methods on a case."""
    ready = prepared(case)

    def end(solver: ds.Solver) -> tuple[float, ds.Trajectory]:
        made, until = ready(solver)
        taken = [processor_seconds(lambda: simulate(made, [until])) for _ in range(repeats + 1)]
        return min(seconds for seconds, _ in taken[1:]), taken[0][1]

    reference = ds.RadauIIA(1e-11, 1e-13) if case == STIFF else ds.Taylor(tolerance=1e-18)
    exact = np.array(list(end(reference)[1].end_state.values()))
    found: list[Measurement] = []
    for method, tolerance, solver in methods(case):
        seconds, run = end(solver)
        error = math.nan
        if run.outcome is ds.Outcome.COMPLETED:
            state = np.array(list(run.end_state.values()))
            error = float(np.max(np.abs(state - exact) / np.maximum(1.0, np.abs(exact))))
        found.append(Measurement(case, method, tolerance, seconds, run.statistics.steps, error))
    return found


def table(found: list[Measurement]) -> str:
    """Return a row for each case and tolerance, a column for each method."""
    names = list(dict.fromkeys(one.method for one in found))
    rows: list[list[str]] = []
    for case in dict.fromkeys(one.case for one in found):
        here = [one for one in found if one.case == case]
        for tolerance in sorted({one.tolerance for one in here}, reverse=True):
            cells = {one.method: cell(one) for one in here if one.tolerance == tolerance}
            rows.append([case, f"{tolerance:.0e}", *[cells.get(name, "") for name in names]])
    return markdown(["case", "tolerance", *[f"{name}: ms, error" for name in names]], rows)


def cell(one: Measurement) -> str:
    """Return the cost and the error of a method."""
    if math.isnan(one.error):
        return "did not end"
    return f"{1e3 * one.seconds:.1f}, {one.error:.0e}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.accuracy", __doc__)
    parser.add_argument("--case", choices=CASES, action="append", help="repeatable (all)")
    add_repeats(parser, 5, "runs of each method; the shortest time counts")
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/how-to/choose-a-solver.md")
    return parser


def _measured(given: argparse.Namespace) -> tuple[Conditions, list[Measurement]]:
    chosen = [case for case in CASES if not given.case or case in given.case]
    known = conditions("scipy", "numba")
    return known, [one for case in chosen for one in measured(case, given.repeats)]


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = _measured(given)
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
