"""What a step of Taylor's method costs with the kernel and with heyoka's compiled code.

Each case is integrated at machine precision by the kernel in one lane and in eight, and by heyoka:
unrolled code (up to 600 instructions) and compact code, both optimised, and compact code at the
level that compiles fastest. The figures are processor seconds of the steps alone, the shortest of
several alternating repeats. Set-up is listed separately and ignores what either engine keeps on
disk for a model (the kernel itself is compiled beforehand). "apart" is the largest difference
between the kernel's final state and that of compact code, over the size of the state.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import heyoka
import numpy as np

import daesolve as ds
from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.preparing import prepare
from daesolve.core.run.integration.run_options import requested_by
from daesolve.core.solvers import State
from daesolve.core.solvers.heyoka_code import translated
from daesolve.core.solvers.taylor_kernel.instructions import instructions
from daesolve.core.solvers.taylor_kernel.lane_stepping import LaneStepper
from daesolve.plugins.bound_case import BoundCase

from .common.conditions import Conditions, conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_repeats, add_update, options
from .common.tables import markdown
from .common.timing import in_turn, processor_seconds

MARK = "taylor-engines"
CASES: Mapping[str, tuple[str, str, Mapping[str, Any], float]] = {
    "pendulum": ("pendulum", "release", {}, 100.0),
    "hoop": ("rolling-wheel", "hoop", {}, 40.0),
    "wheel with pendulum": ("rolling-wheel", "pendulum", {}, 30.0),
    "rattleback": ("rattleback", "reversal", {}, 3.0),
    "chain of 5": ("pendulum-chain", "swing", {"rods": 5}, 20.0),
    "chain of 20": ("pendulum-chain", "swing", {"rods": 20}, 3.0),
    "chain of 50": ("pendulum-chain", "swing", {"rods": 50}, 1.0),
}
"""The cases: the problem, its case and structure, and s."""
LANES = 8
UNROLLED_TO = 600
"""Above this number of instructions, unrolled code takes minutes to compile."""
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Measurement:
    """One engine on one case.

    Parameters
    ----------
    case, instructions, engine
        The case, its size, and the engine.
    setup
        Processor seconds.
    step
        Processor seconds of one step of one motion.
    apart
        The largest relative difference of the final state from that of heyoka's compact code.
    """

    case: str
    instructions: int
    engine: str
    setup: float
    step: float
    apart: float


Marching = Callable[[], tuple[int, np.ndarray]]
"""A function that integrates; it returns the steps of one motion, and its final state."""


def kernel(problem: OdeProblem, start: State, until: float, lanes: int) -> Marching:
    """Return a function that integrates by the kernel in a number of lanes."""
    stepper = LaneStepper(instructions(problem.rhs), EPSILON, lanes)

    def run() -> tuple[int, np.ndarray]:
        for lane in range(lanes):
            stepper.begin(lane, start.x, start.p, start.time)
        stepper.end[:] = until
        steps = 0
        while stepper.time[0, 0] != until:
            steps += len(stepper.steps(200).when)
        return lanes * steps, stepper.x[:, 0].copy()

    return run


def compiled(
    problem: OdeProblem, start: State, until: float, *, compact: bool, level: int
) -> Marching:
    """Return a function that integrates by heyoka's code."""
    rates = translated(problem.rhs)
    pairs = list(zip(rates.variables, rates.expressions, strict=True))
    integrator: Any = heyoka.taylor_adaptive(
        pairs,
        [0.0] * problem.size,
        tol=EPSILON,
        high_accuracy=True,
        compact_mode=compact,
        opt_level=level,
    )
    numbers = np.concatenate([start.p, rates.parameters(start.p)])

    def run() -> tuple[int, np.ndarray]:
        integrator.time, integrator.state[:] = start.time, start.x
        integrator.pars[:] = numbers[: len(integrator.pars)]
        steps = integrator.propagate_until(until, c_output=True)[3]
        return int(steps), np.array(integrator.state)

    return run


def case_of(name: str) -> BoundCase:
    """Return a case."""
    problem, case, structure, _ = CASES[name]
    return ds.problem(problem).case(case, **structure)


def measured(name: str, repeats: int) -> list[Measurement]:
    """Alternate all engines on a case and measure them."""
    until = CASES[name][3]
    bound = case_of(name)
    prepared = prepare(bound.system, requested_by(bound, until, {})[0])
    problem, start = prepared.problem, State(0.0, prepared.initial, prepared.values)
    size = problem.rhs.n_instructions()
    engines: dict[str, Callable[[], Marching]] = {
        "kernel": lambda: kernel(problem, start, until, 1),
        "kernel, 8 lanes": lambda: kernel(problem, start, until, LANES),
        "compact": lambda: compiled(problem, start, until, compact=True, level=3),
        "compact, level 0": lambda: compiled(problem, start, until, compact=True, level=0),
    }
    if size <= UNROLLED_TO:
        engines["unrolled"] = lambda: compiled(problem, start, until, compact=False, level=3)
    setups: dict[str, float] = {}
    runs: dict[str, Marching] = {}
    for engine, make in engines.items():
        setups[engine], runs[engine] = processor_seconds(make)
        runs[engine]()
    timed = {engine: partial(processor_seconds, run) for engine, run in runs.items()}
    found = in_turn(timed, repeats)
    reference = found["compact"][0][1][1]
    scale = max(1.0, float(np.max(np.abs(reference))))
    return [
        Measurement(
            name,
            size,
            engine,
            setups[engine],
            min(seconds / steps for seconds, (steps, _) in results),
            float(np.max(np.abs(results[0][1][1] - reference))) / scale,
        )
        for engine, results in found.items()
    ]


def table(found: list[Measurement]) -> str:
    """Return microseconds per step, and set-up seconds, for each case and engine."""
    engines = ("unrolled", "compact", "compact, level 0", "kernel", "kernel, 8 lanes")
    rows: list[list[str]] = []
    for name in dict.fromkeys(one.case for one in found):
        of_case = {one.engine: one for one in found if one.case == name}
        steps = [f"{1e6 * of_case[e].step:.2f}" if e in of_case else "" for e in engines]
        shown = ("unrolled", "compact", "compact, level 0", "kernel")
        setups = [f"{of_case[e].setup:.3f}" if e in of_case else "–" for e in shown]
        kernel = of_case["kernel"]
        label = f"{name} ({kernel.instructions})"
        rows.append([label, *steps, " / ".join(setups), f"{kernel.apart:.1e}"])
    heads = ["case (instructions)", "heyoka unrolled, µs", "compact, µs", "compact at level 0, µs"]
    heads += ["kernel, µs", "kernel in 8 lanes, µs"]
    heads += ["set-up in the order of the columns, s", "apart"]
    return markdown(heads, rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.taylor_engines", __doc__)
    parser.add_argument("--case", choices=list(CASES), action="append", help="repeatable (all)")
    add_repeats(parser, 5, "runs of each engine, in turn")
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/how-to/choose-a-solver.md")
    return parser


def _measured(given: argparse.Namespace) -> tuple[Conditions, list[Measurement]]:
    heyoka.llvm_state.set_diskcache_enabled(False)  # so that compilation counts
    known = conditions("heyoka", "numba")
    found: list[Measurement] = []
    for name in given.case or CASES:
        found += measured(name, given.repeats)
    return known, found


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
