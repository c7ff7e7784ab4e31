"""What it costs to drive a system by measured forces and sampled laws, and how exact it is.

The first case is a cart with a pendulum under a force from a thousand measured points, with linear
and cubic interpolation. One run with a table is compared with an integration piece by piece, where
each piece is a separate run with its own polynomial, and with `solve_ivp` (DOP853, rtol 1e-10),
which interpolates and does not know the nodes. The table shows the largest difference of the final
state from the integration piece by piece, and the processor seconds.

The second case is a cart on a spring under a sampled law with an integral state, limits, and a
delay of less than a period. The table shows processor microseconds per sample, compared with a loop
that calls `solve_ivp` (DOP853, rtol 1e-10) from instant to instant. It also shows by how many
megabytes the peak memory grew from a run with a hundredth of the samples to the whole run. The
variant without limits is compared after a thousand samples with an exact discretisation by matrix
exponentials.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline, PPoly

import daesolve as ds
from daesolve.core.posing.symbols import DifferentiableVector
from daesolve.core.posing.tables import Kind

from .common.conditions import conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_update, options, whole
from .common.tables import markdown
from .common.timing import processor_seconds

MARK = "driven"
POINTS, EXACT, LOOP = 1000, 1000, 500
PERIOD, DELAY, LIMITS = 0.01, 0.004, (-1.0, 1.0)
A, B = np.array([[0.0, 1.0], [-2.0, -0.3]]), np.array([[0.0], [1.0]])
STATES = ("x", "phi", "x_dot", "phi_dot")


@dataclass(frozen=True)
class Measurement:
    """The cost and the error of a run.

    Parameters
    ----------
    case, method
        The motion and the method.
    seconds
        Processor seconds, per run or per sample.
    error
        Error of the final state; NaN where it is not measured.
    megabytes
        Growth of the peak memory; NaN where it is not measured.
    """

    case: str
    method: str
    seconds: float
    error: float = math.nan
    megabytes: float = math.nan


def measured_force(count: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Return times (s) and forces (N): a swing and noise."""
    generator = np.random.default_rng(3)
    times = np.cumsum(generator.uniform(0.005, 0.015, count))
    times -= times[0]
    return times, 5 * np.sin(3 * times) + generator.normal(size=count)


def _pendulum(force: ca.SX, q: DifferentiableVector, **further: Any) -> ds.MechanicalSystem:
    """Pose a cart of 2 kg with a pendulum of 0.7 kg and 1 m."""
    across = q.dot.x + q.dot.phi * ca.cos(q.phi)
    kinetic = q.dot.x**2 + 0.35 * (across**2 + (q.dot.phi * ca.sin(q.phi)) ** 2)
    weight = -0.7 * 9.81 * ca.cos(q.phi)
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=weight, force={"x": force}, **further)


def _as_pieces(kind: Kind, times: np.ndarray, values: np.ndarray) -> PPoly:
    if kind == "cubic":
        return CubicSpline(times, values)
    return PPoly(np.array([np.diff(values) / np.diff(times), values[:-1]]), times)


def _by_pieces(pieces: PPoly) -> dict[str, float]:
    """Integrate piece by piece, with one run for each polynomial."""
    q = ds.coordinates(x="m", phi="rad")
    p = ds.parameters(c_0=0.0, c_1=0.0, c_2=0.0, c_3=0.0, base=0.0)
    away = ds.time - p.base
    force = p.c_0 + away * (p.c_1 + away * (p.c_2 + away * p.c_3))
    system, state = _pendulum(force, q, parameters=p), {"phi": 0.4}
    for k, (begin, until) in enumerate(zip(pieces.x[:-1], pieces.x[1:], strict=True)):
        given = dict.fromkeys(("c_0", "c_1", "c_2", "c_3"), 0.0)
        given |= {f"c_{power}": float(c) for power, c in enumerate(pieces.c[::-1, k])}
        given["base"] = float(begin)
        run = ds.solve(system, float(until), state, start_time=float(begin), at=[],
                       parameters=given, solver="taylor")  # fmt: skip
        state = {name: run.end_state[name] for name in STATES}
    return state


def _by_scipy(pieces: PPoly) -> dict[str, float]:
    """Integrate in one go by a method that does not know the nodes."""

    def rate(time: float, y: np.ndarray) -> list[float]:
        _, phi, speed, turning = y
        sine, cosine = math.sin(phi), math.cos(phi)
        push = float(pieces(time)) + 0.7 * turning**2 * sine
        along = (push + 0.7 * 9.81 * sine * cosine) / (2.7 - 0.7 * cosine**2)
        return [speed, turning, along, -along * cosine - 9.81 * sine]

    span = float(pieces.x[0]), float(pieces.x[-1])
    found = solve_ivp(rate, span, [0.0, 0.4, 0.0, 0.0], "DOP853", rtol=1e-10, atol=1e-12)
    return dict(zip(STATES, found.y[:, -1].tolist(), strict=True))


def of_points(kind: Kind, count: int) -> list[Measurement]:
    """Measure a force given by points."""
    times, values = measured_force(count)
    pieces = _as_pieces(kind, times, values)
    q, u = ds.coordinates(x="m", phi="rad"), ds.inputs(push="N")
    system, table = _pendulum(u.push, q, inputs=u), ds.table("pull", times, values, kind)

    def run() -> Mapping[str, float]:
        last = float(times[-1])
        return ds.solve(system, last, {"phi": 0.4}, inputs={"push": table}, at=[]).end_state

    run()  # the first run prepares, which does not count
    ways: dict[str, Callable[[], Mapping[str, float]]] = {
        "piece by piece": lambda: _by_pieces(pieces),
        "a table": run,
        "solve_ivp": lambda: _by_scipy(pieces),
    }
    took = {name: processor_seconds(way) for name, way in ways.items()}
    right = took["piece by piece"][1]
    return [
        Measurement(f"{kind}, {count} points", name, seconds,
                    max(abs(found[state] - right[state]) for state in STATES))
        for name, (seconds, found) in took.items()
    ]  # fmt: skip


def _law(seen: Any) -> tuple[Any, dict[str, Any]]:
    value = -2.0 * seen.pos - 0.5 * seen.vel - 0.5 * seen.sum
    return value, {"sum": seen.sum + PERIOD * seen.pos}


def _controlled(samples: int, limits: tuple[float, float] | None, **more: Any) -> Mapping[str, Any]:
    x, u = ds.states(pos="m", vel="m/s"), ds.inputs(push="N")
    rate = {"pos": x.vel, "vel": -2 * x.pos - 0.3 * x.vel + u.push}
    system = ds.ControlSystem(x, rate, inputs=u)
    law = ds.sampled("loop", PERIOD, _law, delay=DELAY, states={"sum": 0.0}, limits=limits)
    last = samples * PERIOD
    return ds.solve(system, last, {"pos": 1.0}, inputs={"push": law}, at=[last], **more).end_state


def _by_loop(samples: int) -> None:
    """Call SciPy from one instant to the next."""
    y, total, held = np.array([1.0, 0.0]), 0.0, 0.0
    for k in range(samples):
        value = min(max(-2.0 * y[0] - 0.5 * y[1] - 0.5 * total, LIMITS[0]), LIMITS[1])
        total += PERIOD * y[0]
        for begin, until, acting in ((0.0, DELAY, held), (DELAY, PERIOD, value)):
            span = k * PERIOD + begin, k * PERIOD + until
            y = solve_ivp(
                lambda t, y, u=acting: (y[1], -2 * y[0] - 0.3 * y[1] + u),
                span, y, "DOP853", rtol=1e-10, atol=1e-12,
            ).y[:, -1]  # fmt: skip
        held = value


def _exact(samples: int) -> np.ndarray:
    """Return the state after a number of samples without limits, by matrix exponentials."""

    def step(span: float) -> tuple[np.ndarray, np.ndarray]:
        both = scipy.linalg.expm(np.block([[A, B], [np.zeros((1, 3))]]) * span)
        return both[:2, :2], both[:2, 2]

    (first, before), (last, after) = step(DELAY), step(PERIOD - DELAY)
    y, total, held = np.array([1.0, 0.0]), 0.0, 0.0
    for _ in range(samples):
        value = -2.0 * y[0] - 0.5 * y[1] - 0.5 * total
        total += PERIOD * y[0]
        y = last @ (first @ y + before * held) + after * value
        held = value
    return y


def _peak() -> float:
    """Return the peak memory so far, MB."""
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def of_samples(count: int) -> list[Measurement]:
    """Measure sampled laws."""
    fewer = max(1, count // 100)
    short, _ = processor_seconds(lambda: _controlled(fewer, LIMITS))
    short, _ = processor_seconds(lambda: _controlled(fewer, LIMITS))
    before = _peak()
    long, _ = processor_seconds(lambda: _controlled(count, LIMITS))
    grown, case = _peak() - before, f"{count} samples"
    looped, _ = processor_seconds(lambda: _by_loop(LOOP))
    exact = min(count, EXACT)
    found = _controlled(exact, None, solver="taylor")
    off = np.abs(np.array([found["pos"], found["vel"]]) - _exact(exact))
    each = (long - short) / max(1, count - fewer)
    return [
        Measurement(case, "a sampled law", each, float(np.max(off)), grown),
        Measurement(case, "solve_ivp", looped / LOOP),
    ]


def table(found: list[Measurement]) -> str:
    """Return a row for each measurement."""

    def shown(value: float, form: str) -> str:
        return "" if math.isnan(value) else f"{value:{form}}"

    rows: list[list[str]] = []
    for one in found:
        per = "samples" in one.case
        cost = f"{1e6 * one.seconds:.0f} µs a sample" if per else f"{one.seconds:.2f} s"
        rows.append(
            [one.case, one.method, cost, shown(one.error, ".0e"), shown(one.megabytes, ".0f")]
        )
    return markdown(["case", "by", "processor", "error of the end", "memory, more MB"], rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.driven", __doc__)
    parser.add_argument("--points", type=whole, default=POINTS, metavar="N",
                        help="of the measured force (%(default)s)")  # fmt: skip
    parser.add_argument("--samples", type=whole, default=1_000_000, metavar="N",
                        help="of the law (%(default)s)")  # fmt: skip
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/driven.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = conditions("scipy", "numba"), list[Measurement]()
        kinds: tuple[Kind, ...] = ("linear", "cubic")
        for kind in kinds:
            found += of_points(kind, given.points)
        found += of_samples(given.samples)
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
