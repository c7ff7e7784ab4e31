"""How fast the rolling hoop is integrated for 1800 s, as ratios within one run.

The practical limit is the same motion in one minimal coordinate, integrated by the same Taylor
method and watched in the same way. Every contestant is warmed up; compile times stand apart;
figures are medians. The error is that of the state at the end against the exact quadrature.

    python -m benchmarks.rolling_wheel [--repeats N] [--skip-plain]
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.preparation import Request, prepare
from tests.reference.rolling_wheel import hoop_states

UNTIL = 1800.0
CONTACT_X, SPEED = 0.0, 1.5
END = {name: float(values[0]) for name, values in hoop_states([UNTIL], CONTACT_X, SPEED).items()}


@dataclass(frozen=True)
class Measurement:
    """One contestant: seconds of integration and of compilation, steps, error at the end."""

    name: str
    seconds: float
    compile_seconds: float
    steps: int
    error: float


def minimal_coordinate() -> ds.ControlSystem:
    """Pose the hoop by the abscissa of its contact and the speed of its centre."""
    x = ds.states(contact_x="m", speed="m/s")
    p = ds.parameters(radius=0.01, gravity=9.81, a=0.13, b=0.5)
    square = x.contact_x * x.contact_x
    slope = 2 * x.contact_x * (2 * square - p.b) + p.a * (3 * square - 1)
    height = (square - p.b) * square + p.a * x.contact_x * (square - 1) - (1 - p.b)
    bend = 12 * square + 6 * p.a * x.contact_x - 2 * p.b
    stretch = 1 + slope * slope
    length = ca.sqrt(stretch)
    clearance = 1 - p.radius * bend / (stretch * length)
    return ds.ControlSystem(
        x,
        {
            "contact_x": x.speed / (length * clearance),
            "speed": -p.gravity * slope / (2 * length),
        },
        p,
        goals=[ds.Invariant("energy", x.speed**2 + p.gravity * (height + p.radius / length))],
    )


def error_of(state: dict[str, float]) -> float:
    """Return the largest error over the states, relative to the size of each (at least 1)."""
    return max(abs(value - END[name]) / max(1.0, abs(END[name])) for name, value in state.items())


def measured(runs: dict[str, Callable[[], ds.Trajectory]], repeats: int) -> list[Measurement]:
    """Warm each up once, then run them in turn and take the median of each."""
    first = {name: run() for name, run in runs.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            seconds[name].append(run().statistics.wall_seconds)
    return [
        Measurement(
            name,
            statistics.median(seconds[name]),
            first[name].statistics.compile_seconds,
            first[name].statistics.steps,
            error_of(dict(first[name].end_state)),
        )
        for name in runs
    ]


def plain_python(rtol: float) -> Measurement:
    """Integrate by SciPy with the right-hand side called through CasADi's own Python types."""
    case = ds.problem("rolling-wheel").case("hoop")
    prepared = prepare(
        case.system,
        Request(UNTIL, parameters=case.full_parameters, guess=case.guess()[0]),
    )
    rate, values = prepared.problem.rhs, prepared.values

    def right_side(t: float, x: np.ndarray) -> np.ndarray:
        return np.asarray(rate(t, x, values)).ravel()

    begin = time.perf_counter()
    solution = solve_ivp(
        right_side, (0.0, UNTIL), prepared.initial, "DOP853", [UNTIL], rtol=rtol, atol=1e-14
    )
    seconds = time.perf_counter() - begin
    names = prepared.problem.labels.states
    state = dict(zip(names, solution.y[:, -1], strict=True))
    return Measurement(
        "SciPy DOP853, plain Python", seconds, 0.0, solution.nfev // 12, error_of(state)
    )


def contestants(repeats: int, with_plain: bool) -> list[Measurement]:
    """Measure every contestant, fastest first."""
    case = ds.problem("rolling-wheel").case("hoop")
    small = minimal_coordinate()
    start = {"contact_x": CONTACT_X, "speed": SPEED}
    unrolled, compact = ds.Taylor(code="unrolled"), ds.Taylor(code="compact")
    found = measured(
        {
            "minimal coordinate, taylor unrolled (the limit)": lambda: ds.solve(
                small, UNTIL, start, solver=unrolled
            ),
            "taylor unrolled": lambda: case.solve(solver=unrolled),
            "taylor compact": lambda: case.solve(solver=compact),
        },
        repeats,
    )
    found += measured(
        {
            "cvodes 1e-12": lambda: case.solve(solver=ds.Cvodes(1e-12, 1e-14)),
            "SciPy DOP853 1e-12, compiled": lambda: case.solve(solver=ds.Dop853(1e-12, 1e-14)),
        },
        1,
    )
    if with_plain:
        found.append(plain_python(1e-12))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--skip-plain", action="store_true", help="leave out the slowest")
    arguments = parser.parse_args()
    found = contestants(arguments.repeats, not arguments.skip_plain)
    limit, unrolled = found[0].seconds, found[1].seconds
    print(f"{'':48} {'s':>8} {'/ limit':>8} {'/ unrolled':>10} {'compile s':>9} {'steps':>8} error")
    for entry in found:
        compiled = (
            f"{entry.compile_seconds:.2f}" if not math.isclose(entry.compile_seconds, 0) else "-"
        )
        print(
            f"{entry.name:48} {entry.seconds:8.3f} {entry.seconds / limit:8.2f} "
            f"{entry.seconds / unrolled:10.2f} {compiled:>9} {entry.steps:8d} {entry.error:.1e}"
        )


if __name__ == "__main__":
    main()
