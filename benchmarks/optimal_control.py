"""What an optimal motion costs to find, and how exact it is, beside CasADi, SciPy and dymos.

Three tasks have closed forms: the brachistochrone, a loop of Brockett's integrator around an area
of 1, and the shortest time from rest to rest with another bound for either direction. The fourth is
the shortest motion of a crane with its load, from rest to rest with three switches; its time comes
from shooting from switch to switch (`tests/problems/test_crane_rest_to_rest.py`). CasADi's is
the collocation of its example `direct_collocation`, three Legendre points and a constant control
on each interval, solved by Ipopt. SciPy shoots once with a Runge-Kutta step for each constant
control, and SLSQP. dymos collocates on Radau's points of order 3 and uses SLSQP; it is left out if
it is not installed, and for the crane, where it ends without a solution after 500 iterations.
Digits are those of the cost that each program reports, and of the cost along the run for daesolve,
which refines its mesh by itself. Seconds are processor seconds, with all preparation.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .common.attempts import BrokeDownError, installed, untyped
from .common.conditions import conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_update, options
from .common.tables import markdown
from .common.timing import processor_seconds

MARK = "optimal"
Rates = Callable[[Any, Any, Any], list[Any]]
"""States, controls and a module with sin and cos -> rates."""


@dataclass(frozen=True)
class Task:
    """A task with a closed form; without a duration it is the shortest time."""

    rates: Rates
    start: tuple[float, ...]
    end: tuple[float | None, ...]
    bounds: tuple[tuple[float, float], ...]
    duration: float | None
    exact: float
    guess: tuple[tuple[float, float], ...]


def _crane(x: Any, u: Any, m: Any) -> list[Any]:
    """Return the rates of a trolley of 5 kg with a load of 10 kg on a rope of 2 m."""
    sine, cosine = m.sin(x[1]), m.cos(x[1])
    pushed = u[0] + 10.0 * sine * (2.0 * x[3] ** 2 + 9.81 * cosine)
    across = pushed / (5.0 + 10.0 * sine**2)
    return [x[2], x[3], across, -(cosine * across + 9.81 * sine) / 2.0]


BENT = math.pi * math.sqrt(0.5 / 9.81)
TASKS = {
    "brachistochrone": Task(
        lambda x, u, m: [x[2] * m.sin(u[0]), -x[2] * m.cos(u[0]), 9.81 * m.cos(u[0])],
        (0.0, 0.0, 0.0),
        (math.pi / 2, -1.0, None),
        ((0.0, math.pi),),
        None,
        BENT,
        ((0.1, 1.5),),
    ),
    "Brockett's loop": Task(
        lambda x, u, m: [u[0], u[1], (x[0] * u[1] - x[1] * u[0]) / 2],
        (0.0, 0.0, 0.0),
        (0.0, 0.0, 1.0),
        ((-100.0, 100.0), (-100.0, 100.0)),
        1.0,
        4 * math.pi,
        ((3.0, -3.0), (-1.0, 1.0)),
    ),
    "two arcs": Task(
        lambda x, u, m: [x[1], u[0]],
        (0.0, 0.0),
        (1.0, 0.0),
        ((-1.0, 2.0),),
        None,
        math.sqrt(3.0),
        ((2.0, -1.0),),
    ),
    "crane": Task(
        _crane,
        (0.0, 0.0, 0.0, 0.0),
        (5.0, 0.0, 0.0, 0.0),
        ((-40.0, 40.0),),
        None,
        2.831706131333697,
        ((40.0, -40.0),),
    ),
}


@dataclass(frozen=True)
class Measurement:
    """What a program took, and the error of its cost, relative."""

    task: str
    method: str
    seconds: float
    error: float


def by_daesolve(task: Task, verify: bool) -> float:
    """Return the cost along the run of the optimum."""
    names, inputs = (
        [f"x{k}" for k in range(len(task.start))],
        [f"u{k}" for k in range(len(task.bounds))],
    )
    x, u = ds.states(**dict.fromkeys(names, "")), ds.inputs(**dict.fromkeys(inputs, ""))
    rates = task.rates([x[n] for n in names], [u[n] for n in inputs], ca)
    found = ds.optimise(
        ds.ControlSystem(x, dict(zip(names, rates, strict=True)), inputs=u),
        "time" if task.duration is None else lambda now: sum(now[n] ** 2 for n in inputs),
        time=task.duration or (0.1, 5.0),
        start=dict(zip(names, task.start, strict=True)),
        end={n: value for n, value in zip(names, task.end, strict=True) if value is not None},
        bounds=dict(zip(inputs, task.bounds, strict=True)),
        guess={n: np.array(given) for n, given in zip(inputs, task.guess, strict=True)},
        verify=verify,
    )
    return found.cost


def by_casadi(task: Task, intervals: int) -> float:
    """Return the cost by CasADi's own example of collocation."""
    points = np.append(0.0, ca.collocation_points(3, "legendre"))
    slopes, ends, weights = (np.asarray(one) for one in ca.collocation_coeff(points[1:].tolist()))
    opti = ca.Opti()
    length: Any = opti.variable() if task.duration is None else task.duration
    h = length / intervals
    x = opti.variable(len(task.start))
    opti.subject_to(x == ca.DM(task.start))
    cost: Any = length if task.duration is None else 0.0
    if task.duration is None:
        opti.subject_to(opti.bounded(0.1, length, 5.0))
        opti.set_initial(length, math.sqrt(0.5))
    for k in range(intervals):
        u, inner = opti.variable(len(task.bounds)), opti.variable(len(task.start), 3)
        share = (k + 0.5) / intervals
        for j, (low, high) in enumerate(task.bounds):
            opti.subject_to(opti.bounded(low, u[j], high))
            opti.set_initial(u[j], task.guess[j][0] + share * (task.guess[j][1] - task.guess[j][0]))
        states = ca.horzcat(x, inner)
        columns: list[Any] = [
            ca.vertcat(*task.rates(ca.vertsplit(inner[:, j]), ca.vertsplit(u), ca))
            for j in range(3)
        ]
        rates = untyped("casadi").horzcat(*columns)
        misses = untyped("casadi").vec(states @ ca.DM(slopes) - h * rates)
        opti.subject_to(misses == 0)
        if task.duration is not None:
            cost += h * ca.sumsqr(u) * float(np.sum(weights))
        x = opti.variable(len(task.start))
        opti.subject_to(x == states @ ca.DM(ends))
    for j, value in enumerate(task.end):
        if value is not None:
            opti.subject_to(x[j] == value)
    opti.minimize(cost)
    opti.solver(
        "ipopt",
        {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-12},
    )
    return float(opti.solve().value(cost))


def by_scipy(task: Task, intervals: int) -> float:
    """Return the cost by single shooting with constant controls and SLSQP."""
    count = len(task.bounds)

    def ended(w: np.ndarray) -> np.ndarray:
        duration = task.duration or w[-1]
        h, x = duration / intervals, np.array(task.start)
        for u in w[: count * intervals].reshape(intervals, count):
            a = np.array(task.rates(x, u, np))
            b = np.array(task.rates(x + h / 2 * a, u, np))
            c = np.array(task.rates(x + h / 2 * b, u, np))
            d = np.array(task.rates(x + h * c, u, np))
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return x

    def cost(w: np.ndarray) -> float:
        if task.duration is None:
            return float(w[-1])
        return float(np.sum(w**2)) * task.duration / intervals

    def missed(w: np.ndarray) -> np.ndarray:
        return ended(w)[fixed] - aim

    fixed = [k for k, value in enumerate(task.end) if value is not None]
    aim = np.array([task.end[k] for k in fixed], dtype=float)
    shares = (np.arange(intervals) + 0.5) / intervals
    begun = np.array([a + shares * (b - a) for a, b in task.guess]).T.ravel()
    limits: Sequence[tuple[float, float]] = [*task.bounds] * intervals
    if task.duration is None:
        begun, limits = np.append(begun, math.sqrt(0.5)), [*limits, (0.1, 5.0)]
    found = untyped("scipy.optimize").minimize(
        cost,
        begun,
        method="SLSQP",
        bounds=limits,
        constraints={"type": "eq", "fun": missed},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return float(found.fun) if np.max(np.abs(missed(found.x))) < 1e-6 else math.nan


def _plant(task: Task, om: Any) -> Any:
    """Return the equations as a component of OpenMDAO."""

    class Plant(om.ExplicitComponent):
        def initialize(self) -> None:
            self.options.declare("num_nodes", types=int)

        def setup(self) -> None:
            n = self.options["num_nodes"]
            for k in range(len(task.start)):
                self.add_input(f"x{k}", shape=(n,))
                self.add_output(f"r{k}", shape=(n,))
            for k in range(len(task.bounds)):
                self.add_input(f"u{k}", shape=(n,))
            self.add_output("power", shape=(n,))
            rows = np.arange(int(n))
            self.declare_partials("*", "*", method="cs", rows=rows, cols=rows)
            self.declare_coloring(wrt="*", method="cs", show_summary=False)

        def compute(self, inputs: Any, outputs: Any) -> None:
            x = [inputs[f"x{k}"] for k in range(len(task.start))]
            u = [inputs[f"u{k}"] for k in range(len(task.bounds))]
            for k, rate in enumerate(task.rates(x, u, np)):
                outputs[f"r{k}"] = rate
            outputs["power"] = sum(one**2 for one in u)

    return Plant


def by_dymos(task: Task, segments: int) -> float:
    """Return the cost by dymos, with derivatives by complex steps."""
    om, dm = installed("openmdao.api"), installed("dymos")

    problem = om.Problem(reports=False)
    problem.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-12, maxiter=500, disp=False)
    problem.driver.declare_coloring(show_summary=False)
    phase = dm.Phase(
        ode_class=_plant(task, om), transcription=dm.Radau(num_segments=segments, order=3)
    )
    trajectory = problem.model.add_subsystem("traj", dm.Trajectory())
    trajectory.add_phase("phase", phase)
    fixed = task.duration is not None
    phase.set_time_options(
        fix_initial=True, fix_duration=fixed, duration_bounds=(None, None) if fixed else (0.1, 5.0)
    )
    for k, value in enumerate(task.end):
        phase.add_state(f"x{k}", rate_source=f"r{k}", targets=f"x{k}", fix_initial=True,
                        fix_final=value is not None)  # fmt: skip
    for k, (low, high) in enumerate(task.bounds):
        phase.add_control(f"u{k}", lower=low, upper=high, continuity=False, rate_continuity=False)
    if fixed:
        phase.add_state("cost", rate_source="power", fix_initial=True)
        phase.add_objective("cost", loc="final")
    else:
        phase.add_objective("time", loc="final")
    problem.setup()
    phase.set_time_val(initial=0.0, duration=task.duration or math.sqrt(0.5))
    for k, (first, last) in enumerate(zip(task.start, task.end, strict=True)):
        phase.set_state_val(f"x{k}", [first, first if last is None else last])
    for k, given in enumerate(task.guess):
        phase.set_control_val(f"u{k}", [*given])
    dm.run_problem(problem, run_driver=True)
    name = "cost" if fixed else "time"
    return float(np.ravel(problem.get_val(f"traj.phase.timeseries.{name}"))[-1])


def measured(name: str, *, others: bool = True) -> list[Measurement]:
    """Return what each program takes for a task."""
    task = TASKS[name]
    runs: dict[str, Callable[[], float]] = {
        "daesolve, not verified": lambda: by_daesolve(task, False),
        "daesolve, verified": lambda: by_daesolve(task, True),
    }
    if others:
        for count in (20, 80):
            runs[f"CasADi, {count} intervals"] = lambda count=count: by_casadi(task, count)
        runs["SciPy, 20 controls"] = lambda: by_scipy(task, 20)
        for count in (10, 30) if name != "crane" else ():  # It does not end there.
            runs[f"dymos, {count} segments"] = lambda count=count: by_dymos(task, count)
    found: list[Measurement] = []
    for method, run in runs.items():
        try:
            seconds, cost = processor_seconds(run)
        except BrokeDownError:
            continue
        found.append(Measurement(name, method, seconds, abs(cost / task.exact - 1.0)))
    return found


def table(found: list[Measurement]) -> str:
    """Return the results as a table."""
    rows = [
        [one.task, one.method, f"{one.seconds:.2f}", f"{-math.log10(max(one.error, 1e-16)):.1f}"]
        for one in found
    ]
    return markdown(["task", "by", "s", "digits of the cost"], rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.optimal_control", __doc__)
    parser.add_argument("--own", action="store_true", help="leave the other programs out")
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/optimal-control.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known = conditions("casadi", "scipy", "dymos")
        found = [one for name in TASKS for one in measured(name, others=not given.own)]
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
