"""What a periodic orbit costs, and how exact it is, beside a loop of `solve_ivp` and `fsolve`.

The motions are the simplest walker on a slope of 0.009 rad, from strike to strike, and Duffing's
oscillator x'' + 0.1 x' + x + x^3 = 0.5 cos 1.3 t over a period of its drive. Neither has
constraints, which SciPy does not support. With SciPy, DOP853 integrates to the strike or for a
period, `fsolve` finds the start, and differences of 1e-7 give the multipliers. "with slopes" means
that the multipliers come from the variational equation and, at the strike, a saltation matrix;
both were derived by hand.

Digits are those of the worst entry of the state, and of the multipliers. The reference is DOP853
with variational equations at a tolerance of 3e-14 and, for the walker, heyoka; the two agree to
2e-15 in the state. For Duffing, a collocation with 256 points agrees to 4e-13, which is the size of
its own error. Seconds are processor seconds. daesolve's first call includes preparation and
compilation; for the others the best of several counts. `verify` repeats the last step with another
tolerance and runs ten periods.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy
from scipy.integrate import solve_ivp

import daesolve as ds

from .common.conditions import conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_update, options, whole
from .common.tables import markdown
from .common.timing import processor_seconds

MARK = "orbits"
SLOPE, DRIVE = 0.009, 1.3
PERIOD = 2.0 * math.pi / DRIVE
ASIDE = 1e-7
"""How far a start is moved for a difference quotient."""
TOLERANCES = (1e-8, 1e-10, 1e-13)
GUESSES = {"walker": (0.2, -0.2), "Duffing": (0.5, 1.0)}
EXACT = {
    "walker": (
        np.array([0.2003109005442455, -0.1998324730049506]),
        np.array([-0.19009984106603 + 0.55759877668188j, -0.19009984106603 - 0.55759877668188j]),
    ),
    "Duffing": (
        np.array([1.149612263280001, 0.5940398536895053]),
        np.array([-0.0021047878979777 + 0.7853195570503565j,
                  -0.0021047878979777 - 0.7853195570503565j]),
    ),
}  # fmt: skip

Answer = tuple[np.ndarray, np.ndarray]
"""State and multipliers of the reference."""


@dataclass(frozen=True)
class Measurement:
    """The cost and the errors of an orbit.

    Parameters
    ----------
    case, method
        The motion and the method.
    seconds
        Processor seconds.
    state, multipliers
        The largest errors.
    """

    case: str
    method: str
    seconds: float
    state: float
    multipliers: float


# -- daesolve --------------------------------------------------------------------------------------


def walker() -> ds.MechanicalSystem:
    """Pose the walker of Garcia, Chatterjee, Ruina and Coleman (1998)."""
    q, leg = ds.coordinates(theta="rad", phi="rad"), ds.discrete(armed=0.0)
    fall = ca.sin(q.theta - SLOPE)
    swing = fall + ca.sin(q.phi) * (q.dot.theta**2 - ca.cos(q.theta - SLOPE))
    cosine = ca.cos(2 * q.theta)
    exchange = ds.Reset(
        {
            "theta": -q.theta,
            "phi": -2 * q.theta,
            "theta_dot": cosine * q.dot.theta,
            "phi_dot": cosine * (1 - cosine) * q.dot.theta,
            "armed": 0.0,
        }
    )
    guard = leg.armed * (q.phi - 2 * q.theta) - (1 - leg.armed)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.theta**2 + q.dot.phi**2) / 2,
        force={"theta": fall, "phi": swing},
        discrete=leg,
        events=[
            ds.Event("arm", q.theta + 0.05, ds.FALLING, ds.Reset({"armed": 1.0})),
            ds.Event("strike", guard, ds.RISING, exchange),
        ],
    )


def duffing() -> ds.MechanicalSystem:
    """Pose Duffing's oscillator."""
    q = ds.coordinates(x="m")
    force = 0.5 * ca.cos(DRIVE * ds.time) - 0.1 * q.dot.x - q.x - q.x**3
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force})


def by_daesolve(case: str, verify: bool) -> Callable[[], Answer]:
    """Return a function that finds an orbit."""
    first, second = GUESSES[case]
    if case == "walker":
        system, names = walker(), ("theta", "theta_dot")
        swing = (1 - math.cos(2 * first)) * second
        guess = {"theta": first, "phi": 2 * first, "theta_dot": second, "phi_dot": swing}
        how: dict[str, Any] = {"section": "strike"}
    else:
        system, names = duffing(), ("x", "x_dot")
        guess, how = {"x": first, "x_dot": second}, {"period": PERIOD}

    def find() -> Answer:
        orbit = ds.analysis.periodic_orbit(system, guess, verify=verify, **how)
        return np.array([orbit.state[name] for name in names]), orbit.multipliers

    return find


# -- SciPy -----------------------------------------------------------------------------------------


def _walks(t: float, y: np.ndarray) -> list[float]:
    fall = math.sin(y[0] - SLOPE)
    return [y[2], y[3], fall, fall + math.sin(y[1]) * (y[2] ** 2 - math.cos(y[0] - SLOPE))]


def _strikes(t: float, y: np.ndarray) -> float:
    # The swing leg also passes zero next to the stance leg, and at the start.
    return y[1] - 2.0 * y[0] if y[0] < -0.05 else -1.0


_strikes.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
_strikes.direction = 1.0  # pyright: ignore[reportFunctionMemberAccess]


def _struck(y: np.ndarray) -> np.ndarray:
    cosine = math.cos(2.0 * y[0])
    return np.array([-y[0], cosine * y[2]])


def _placed(z: np.ndarray) -> np.ndarray:
    return np.array([z[0], 2.0 * z[0], z[1], (1.0 - math.cos(2.0 * z[0])) * z[1]])


def _step(z: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the state after the next strike."""
    found = solve_ivp(
        _walks, (0.0, 10.0), _placed(z), "DOP853", events=_strikes, rtol=tolerance,
        atol=tolerance / 100,
    )  # fmt: skip
    return _struck(found.y[:, -1])


def _walks_with_slopes(t: float, y: np.ndarray) -> np.ndarray:
    theta, phi, rate = y[0], y[1], y[2]
    sine, cosine = math.sin(theta - SLOPE), math.cos(theta - SLOPE)
    slopes = np.zeros((4, 4))
    slopes[0, 2] = slopes[1, 3] = 1.0
    slopes[2, 0] = cosine
    slopes[3] = [cosine + math.sin(phi) * sine, math.cos(phi) * (rate**2 - cosine),
                 2.0 * math.sin(phi) * rate, 0.0]  # fmt: skip
    return np.concatenate([_walks(t, y), (slopes @ y[4:].reshape(4, 2)).ravel()])


def _step_with_slopes(z: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    sine, cosine = math.sin(2.0 * z[0]), math.cos(2.0 * z[0])
    start = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0 * sine * z[1], 1.0 - cosine]])
    found = solve_ivp(
        _walks_with_slopes, (0.0, 10.0), np.concatenate([_placed(z), start.ravel()]), "DOP853",
        events=_strikes, rtol=tolerance, atol=tolerance / 100,
    )  # fmt: skip
    y, changes = found.y[:4, -1], found.y[4:, -1].reshape(4, 2)
    rate, guard = np.array(_walks(0.0, y)), np.array([-2.0, 1.0, 0.0, 0.0])
    changes = changes - np.outer(rate, guard @ changes) / (guard @ rate)
    sine, cosine = math.sin(2.0 * y[0]), math.cos(2.0 * y[0])
    reset = np.array([[-1.0, 0.0, 0.0, 0.0], [-2.0 * sine * y[2], 0.0, cosine, 0.0]])
    return _struck(y), reset @ changes


def _swings(t: float, y: np.ndarray) -> list[float]:
    return [y[1], 0.5 * math.cos(DRIVE * t) - 0.1 * y[1] - y[0] - y[0] ** 3]


def _swing(z: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the state after a period."""
    span = (0.0, PERIOD)
    return solve_ivp(_swings, span, z, "DOP853", rtol=tolerance, atol=tolerance / 100).y[:, -1]


def _swing_with_slopes(z: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    def rate(t: float, y: np.ndarray) -> np.ndarray:
        slopes = np.array([[0.0, 1.0], [-1.0 - 3.0 * y[0] ** 2, -0.1]])
        return np.concatenate([_swings(t, y), (slopes @ y[2:].reshape(2, 2)).ravel()])

    start = np.concatenate([z, np.eye(2).ravel()])
    found = solve_ivp(
        rate, (0.0, PERIOD), start, "DOP853", rtol=tolerance, atol=tolerance / 100
    )  # fmt: skip
    return found.y[:2, -1], found.y[2:, -1].reshape(2, 2)


def by_scipy(case: str, tolerance: float) -> Callable[[], Answer]:
    """Return a function that finds an orbit by `fsolve`, and multipliers by differences."""
    step = _step if case == "walker" else _swing

    def find() -> Answer:
        def miss(z: np.ndarray) -> np.ndarray:
            return step(z, tolerance) - z

        state = np.asarray(scipy.optimize.fsolve(miss, GUESSES[case], xtol=1e-13))
        columns = [
            (step(state + aside, tolerance) - step(state - aside, tolerance)) / (2.0 * ASIDE)
            for aside in ASIDE * np.eye(2)
        ]
        return state, np.linalg.eigvals(np.column_stack(columns))

    return find


def by_scipy_with_slopes(case: str, tolerance: float) -> Callable[[], Answer]:
    """Return a function that finds an orbit by `fsolve` with derivatives written by hand."""
    step = _step_with_slopes if case == "walker" else _swing_with_slopes

    def find() -> Answer:
        known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

        def at(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            key = z.tobytes()
            if key not in known:
                known[key] = step(z, tolerance)
            return known[key]

        state = np.asarray(
            scipy.optimize.fsolve(
                lambda z: at(z)[0] - z, GUESSES[case], xtol=1e-13,
                fprime=lambda z: at(z)[1] - np.eye(2),
            )
        )  # fmt: skip
        return state, np.linalg.eigvals(at(state)[1])

    return find


# -- measuring -------------------------------------------------------------------------------------


def measured(case: str, repeats: int) -> list[Measurement]:
    """Measure a case by all methods."""
    ways: list[tuple[str, Callable[[], Answer]]] = [
        ("daesolve, the first call", by_daesolve(case, verify=False)),
        ("daesolve, not verified", by_daesolve(case, verify=False)),
        ("daesolve, verified", by_daesolve(case, verify=True)),
    ]
    ways += [(f"SciPy, {tolerance:g}", by_scipy(case, tolerance)) for tolerance in TOLERANCES]
    ways += [
        (f"SciPy with slopes, {tolerance:g}", by_scipy_with_slopes(case, tolerance))
        for tolerance in TOLERANCES
    ]
    found: list[Measurement] = []
    for name, way in ways:
        seconds, answer = processor_seconds(way)
        for _ in range(repeats if name != "daesolve, the first call" else 0):
            seconds = min(seconds, processor_seconds(way)[0])
        state, multipliers = (np.max(np.abs(off)) for off in _errors(case, answer))
        found.append(Measurement(case, name, seconds, float(state), float(multipliers)))
    return found


def _errors(case: str, answer: Answer) -> tuple[np.ndarray, np.ndarray]:
    state, multipliers = EXACT[case]
    order = np.argsort(-np.imag(answer[1]))
    return answer[0] - state, answer[1][order] - multipliers


def table(found: list[Measurement]) -> str:
    """Return a row for each method, with the ratio to daesolve without verification."""
    rows: list[list[str]] = []
    own = {one.case: one.seconds for one in found if one.method == "daesolve, not verified"}
    for one in found:
        errors = [f"{-math.log10(max(e, 1e-16)):.1f}" for e in (one.state, one.multipliers)]
        ratio = f"{one.seconds / own[one.case]:.2g}"
        rows.append([one.case, one.method, f"{1e3 * one.seconds:.3g}", ratio, *errors])
    heads = ["case", "by", "ms", "of daesolve", "digits of the state", "of the multipliers"]
    return markdown(heads, rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.periodic_orbits", __doc__)
    parser.add_argument("--repeats", type=whole, default=10, metavar="N",
                        help="runs of each; the fastest counts (%(default)s)")  # fmt: skip
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/periodic-orbits.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known = conditions("scipy")
        found = [one for case in GUESSES for one in measured(case, given.repeats)]
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
