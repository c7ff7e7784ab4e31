"""How fast daesolve integrates the rolling wheel, as ratios within one run.

The practical limit is the same motion in minimal coordinates, integrated by the same Taylor method
and with the same events: loss of contact, and the room on the curve. The limit without these events
is listed as well. Every contestant is warmed up. Runs by Taylor's method alternate and their
figures are medians; the others run once more. Seconds are wall-clock seconds of the integration;
compile times are listed separately. The error is that of the final state: for the hoop against the
exact quadrature, with the pendulum against an integration in quadruple precision.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.core.posing.symbols import Parameters, SymbolVector
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request
from tests.reference.rolling_wheel import hoop_states
from tests.reference.stored_pendulum import REGULAR_TIMES, stored_states

from .common.conditions import as_json, conditions
from .common.figures import errors_of
from .common.options import add_json, add_repeats, options
from .common.tables import aligned
from .common.timing import in_turn, wall_seconds

TIMES = tuple(int(time) for time in REGULAR_TIMES[1:])
"""s; the times at which the reference with the pendulum is stored."""
CASES = ("hoop", "pendulum")


LIMIT = "minimal coordinates, the kernel (the limit)"
UNROLLED_LIMIT = "minimal coordinates, heyoka unrolled (its limit)"


@dataclass(frozen=True)
class Measurement:
    """One contestant: seconds of integration and of compilation, steps, error at the end."""

    case: str
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
    x: SymbolVector,
    p: Parameters,
    sine_psi: ca.SX,
    cosine_psi: ca.SX,
    turning: ca.SX,
    centre: ca.SX,
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


def exact_end(case: str, until: float) -> dict[str, float]:
    """Return the final state; with the pendulum only at one of the stored times."""
    start = ds.problem("rolling-wheel").case(case).full_start
    if case == "hoop":
        states: Mapping[str, np.ndarray] = hoop_states([until], start["contact_x"], start["speed"])
    else:
        known = stored_states(case)
        at = list(known["times"]).index(until)
        states = {name: values[at : at + 1] for name, values in known.items() if name != "times"}
    return {name: float(values[0]) for name, values in states.items()}


def measured(
    case: str,
    runs: dict[str, Callable[[], ds.Trajectory]],
    exact: Mapping[str, float],
    repeats: int,
) -> list[Measurement]:
    """Warm up each contestant once, then alternate them and take the median of each."""
    first = {name: run() for name, run in runs.items()}
    again = in_turn(runs, repeats)
    return [
        Measurement(
            case,
            name,
            statistics.median(run.statistics.wall_seconds for run in again[name]),
            warm.statistics.compile_seconds,
            warm.statistics.steps,
            max(errors_of(warm.end_state, exact).values()),
        )
        for name, warm in first.items()
    ]


def plain_python(case: str, until: float, exact: Mapping[str, float], rtol: float) -> Measurement:
    """Integrate by SciPy, which calls the right-hand side through CasADi's Python types."""
    bound = ds.problem("rolling-wheel").case(case)
    request = Request(until, parameters=bound.full_parameters, guess=bound.guess()[0])
    prepared = prepare(bound.system, request)
    rate, values = prepared.problem.rhs, prepared.values

    def right_side(t: float, x: np.ndarray) -> np.ndarray:
        return np.asarray(rate(t, x, values)).ravel()

    seconds, solution = wall_seconds(
        lambda: solve_ivp(
            right_side, (0.0, until), prepared.initial, "DOP853", [until], rtol=rtol, atol=1e-14
        )
    )
    names = prepared.problem.labels.states
    state = dict(zip(names, solution.y[:, -1].tolist(), strict=True))
    error = max(errors_of(state, exact).values())
    return Measurement(case, "SciPy DOP853, plain Python", seconds, 0.0, solution.nfev // 12, error)


def contestants(case: str, until: float, repeats: int, with_plain: bool) -> list[Measurement]:
    """Measure every contestant, fastest first."""
    bound = ds.problem("rolling-wheel").case(case)
    exact = exact_end(case, until)
    pendulum = case != "hoop"
    small, unwatched = minimal_coordinates(pendulum), minimal_coordinates(pendulum, watched=False)
    kernel, unrolled = ds.Taylor(engine="kernel"), ds.Taylor(code="unrolled")
    start = bound.full_start
    found = measured(
        case,
        {
            LIMIT: lambda: ds.solve(small, until, start, solver=kernel),
            "the limit without events": lambda: ds.solve(unwatched, until, start, solver=kernel),
            "taylor, the kernel": lambda: bound.solve(until, solver=kernel),
            UNROLLED_LIMIT: lambda: ds.solve(small, until, start, solver=unrolled),
            "taylor, heyoka unrolled": lambda: bound.solve(until, solver=unrolled),
            "taylor, heyoka compact": lambda: bound.solve(until, solver=ds.Taylor(code="compact")),
        },
        exact,
        repeats,
    )
    found += measured(
        case,
        {
            "cvodes 1e-12": lambda: bound.solve(until, solver=ds.Cvodes(1e-12, 1e-14)),
            "SciPy DOP853 1e-12, compiled": lambda: bound.solve(
                until, solver=ds.Dop853(1e-12, 1e-14)
            ),
        },
        exact,
        1,
    )
    if with_plain:
        found.append(plain_python(case, until, exact, 1e-12))
    return found


def table(case: str, found: Sequence[Measurement]) -> str:
    """Return the table of a case; ratios are relative to the limit of the same engine."""
    limits = {entry.name: entry.seconds for entry in found}
    rows = [
        [
            entry.name,
            f"{entry.seconds:.3f}",
            f"{entry.seconds / limits[UNROLLED_LIMIT if 'heyoka' in entry.name else LIMIT]:.2f}",
            f"{entry.compile_seconds:.2f}" if entry.compile_seconds else "-",
            str(entry.steps),
            f"{entry.error:.1e}",
        ]
        for entry in found
    ]
    return aligned([case, "s", "/ limit", "compile s", "steps", "error"], rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.rolling_wheel", __doc__)
    parser.add_argument("--case", choices=CASES, action="append", help="repeatable (all)")
    help_text = "s; a time with a stored reference (%(default)s)"
    parser.add_argument("--until", type=int, choices=TIMES, default=TIMES[-1], help=help_text)
    add_repeats(parser, 7, "runs by Taylor's method; the median counts")
    help_text = "leave out the slowest, SciPy with a right-hand side in Python"
    parser.add_argument("--skip-plain", action="store_true", help=help_text)
    add_json(parser)
    return parser


def main() -> None:
    """Print a table for each case."""
    given = parser().parse_args()
    known = conditions("scipy", "casadi")
    print(known)
    everything: list[Measurement] = []
    for case in given.case or CASES:
        found = contestants(case, given.until, given.repeats, not given.skip_plain)
        everything += found
        print(f"\n{table(case, found)}", flush=True)
    if given.json:
        given.json.write_text(as_json(known, everything))


if __name__ == "__main__":
    main()
