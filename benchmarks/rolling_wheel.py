"""How fast the rolling wheel is integrated for 1800 s, as ratios within one run.

The practical limit is the same motion in minimal coordinates, integrated by the same Taylor method
and watched in the same way, for the loss of contact and for the room on the curve too; the limit
without these events stands beside it. Every contestant is warmed up; compile times stand apart;
figures are medians. The error is that of the state at the end: of the hoop against the exact
quadrature, with the pendulum against an integration in quadruple precision.

    python -m benchmarks.rolling_wheel [--case hoop|pendulum]... [--repeats N] [--skip-plain]
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.preparation import Request, prepare
from tests.reference.rolling_wheel import hoop_states
from tests.reference.stored_pendulum import stored_states

UNTIL = 1800.0
CASES = ("hoop", "pendulum")


@dataclass(frozen=True)
class Measurement:
    """One contestant: seconds of integration and of compilation, steps, error at the end."""

    name: str
    seconds: float
    compile_seconds: float
    steps: int
    error: float


def minimal_coordinates(pendulum: bool, watched: bool = True) -> ds.ControlSystem:
    """Pose the wheel by the abscissa of its contact, the speed of its centre, and the pendulum."""
    swing = {"phi": "rad", "phi_dot": "rad/s"} if pendulum else {}
    x = ds.states(contact_x="m", speed="m/s", **swing)
    p = ds.parameters(
        radius=0.01, gravity=9.81, a=0.13, b=0.5, wheel=1.0, bob=0.5 * pendulum, length=0.008
    )
    square = x.contact_x * x.contact_x
    slope = 2 * x.contact_x * (2 * square - p.b) + p.a * (3 * square - 1)
    height = (square - p.b) * square + p.a * x.contact_x * (square - 1) - (1 - p.b)
    bend = 12 * square + 6 * p.a * x.contact_x - 2 * p.b
    stretch = 1 + slope * slope
    length = ca.sqrt(stretch)
    clearance = 1 - p.radius * bend / (stretch * length)
    turning = bend / (stretch * length * clearance)
    centre = height + p.radius / length
    rates = {"contact_x": x.speed / (length * clearance)}
    if pendulum:
        more, energy, pressure = _with_pendulum(x, p, slope / length, 1 / length, turning, centre)
    else:
        more = {"speed": -p.gravity * slope / (2 * length)}
        energy = x.speed**2 + p.gravity * centre
        pressure = x.speed**2 * turning + p.gravity / length
    events = [
        ds.Event("contact_lost", pressure, ds.FALLING, ds.Stop()),
        ds.Event("not_admissible", clearance, ds.FALLING, ds.Stop()),
    ]
    return ds.ControlSystem(
        x,
        rates | more,
        p,
        goals=[ds.Invariant("energy", energy)],
        events=events if watched else [],
    )


def _with_pendulum(
    x: Any, p: Any, sine_psi: ca.SX, cosine_psi: ca.SX, turning: ca.SX, centre: ca.SX
) -> tuple[dict[str, ca.SX], ca.SX, ca.SX]:
    """Return the rates, the energy and the normal reaction; psi is the angle of the slope."""
    sine, cosine = ca.sin(x.phi), ca.cos(x.phi)
    along = cosine * cosine_psi + sine * sine_psi  # cos(phi - psi)
    across = sine * cosine_psi - cosine * sine_psi
    total, pull = p.wheel + p.bob, p.bob * p.length
    first, mixed, second = total + p.wheel, pull * along, pull * p.length
    right = (
        pull * x.phi_dot**2 * across - total * p.gravity * sine_psi,
        -pull * (x.speed**2 * turning * across + p.gravity * sine),
    )
    determinant = first * second - mixed * mixed
    phi_ddot = (first * right[1] - mixed * right[0]) / determinant
    rates = {
        "speed": (second * right[0] - mixed * right[1]) / determinant,
        "phi": x.phi_dot,
        "phi_dot": phi_ddot,
    }
    energy = (
        first * x.speed**2 / 2
        + second * x.phi_dot**2 / 2
        + mixed * x.speed * x.phi_dot
        + p.gravity * (total * centre - pull * cosine)
    )
    pressure = total * (x.speed**2 * turning + p.gravity * cosine_psi) + pull * (
        phi_ddot * across + x.phi_dot**2 * along
    )
    return rates, energy, pressure


def exact_end(case: str) -> dict[str, float]:
    """Return the state at the end."""
    start = ds.problem("rolling-wheel").case(case).full_start
    if case == "hoop":
        states: Mapping[str, np.ndarray] = hoop_states([UNTIL], start["contact_x"], start["speed"])
    else:
        states = stored_states(case)
    return {name: float(values[-1]) for name, values in states.items() if name != "times"}


def error_of(state: Mapping[str, float], exact: Mapping[str, float]) -> float:
    """Return the largest error over the states, relative to the size of each (at least 1)."""
    return max(
        abs(value - exact[name]) / max(1.0, abs(exact[name])) for name, value in state.items()
    )


def measured(
    runs: dict[str, Callable[[], ds.Trajectory]], exact: Mapping[str, float], repeats: int
) -> list[Measurement]:
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
            error_of(first[name].end_state, exact),
        )
        for name in runs
    ]


def plain_python(case: str, exact: Mapping[str, float], rtol: float) -> Measurement:
    """Integrate by SciPy with the right-hand side called through CasADi's own Python types."""
    bound = ds.problem("rolling-wheel").case(case)
    prepared = prepare(
        bound.system,
        Request(UNTIL, parameters=bound.full_parameters, guess=bound.guess()[0]),
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
        "SciPy DOP853, plain Python", seconds, 0.0, solution.nfev // 12, error_of(state, exact)
    )


def contestants(case: str, repeats: int, with_plain: bool) -> list[Measurement]:
    """Measure every contestant, fastest first."""
    bound = ds.problem("rolling-wheel").case(case)
    exact = exact_end(case)
    pendulum = case != "hoop"
    small, unwatched = minimal_coordinates(pendulum), minimal_coordinates(pendulum, watched=False)
    unrolled, compact = ds.Taylor(code="unrolled"), ds.Taylor(code="compact")
    found = measured(
        {
            "minimal coordinates, taylor unrolled (the limit)": lambda: ds.solve(
                small, UNTIL, bound.full_start, solver=unrolled
            ),
            "the limit without events": lambda: ds.solve(
                unwatched, UNTIL, bound.full_start, solver=unrolled
            ),
            "taylor unrolled": lambda: bound.solve(solver=unrolled),
            "taylor compact": lambda: bound.solve(solver=compact),
        },
        exact,
        repeats,
    )
    found += measured(
        {
            "cvodes 1e-12": lambda: bound.solve(solver=ds.Cvodes(1e-12, 1e-14)),
            "SciPy DOP853 1e-12, compiled": lambda: bound.solve(solver=ds.Dop853(1e-12, 1e-14)),
        },
        exact,
        1,
    )
    if with_plain:
        found.append(plain_python(case, exact, 1e-12))
    return found


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--skip-plain", action="store_true", help="leave out the slowest")
    arguments = parser.parse_args()
    for case in arguments.case or CASES:
        found = contestants(case, arguments.repeats, not arguments.skip_plain)
        limit, unrolled = found[0].seconds, found[2].seconds
        heads = f"{'s':>8} {'/ limit':>8} {'/ unrolled':>10} {'compile s':>9} {'steps':>8} error"
        print(f"{case:49} {heads}")
        for entry in found:
            compiled = (
                f"{entry.compile_seconds:.2f}"
                if not math.isclose(entry.compile_seconds, 0)
                else "-"
            )
            print(
                f"{entry.name:49} {entry.seconds:8.3f} {entry.seconds / limit:8.2f} "
                f"{entry.seconds / unrolled:10.2f} {compiled:>9} {entry.steps:8d} {entry.error:.1e}"
            )


if __name__ == "__main__":
    main()
