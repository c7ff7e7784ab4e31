"""A reference in quadruple precision: the same equations by Taylor's method with 113 bits.

Start values and parameters are taken as the doubles they are. The reactions are eliminated as for
`Feedback`; constraints are driven at their rates, invariants are not driven, so that they tell how
good the run is. Three things are done anew in quadruple precision, since each would cost half of
the digits: the start is moved to the nearest state that fulfils every constraint (the double one
misses them by about 1e-16 of their size), and what invariants and errors are measured from is
evaluated there, as are the residuals.

Numbers that stand in the equations themselves, not as parameters, may have been folded in double
precision while the equations were built; then `ReferenceRun.residuals` show about 1e-16.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.dynamics import Dynamics
from daesolve.errors import MissingBackendError, OutOfRangeError, UnsupportedError
from daesolve.formulations import Feedback
from daesolve.preparation import (
    DEFAULT_RATE,
    Prepared,
    RankLoss,
    Redundant,
    Request,
    prepare,
)
from daesolve.sampling import At, sample_times
from daesolve.solvers import Dop853, Taylor
from daesolve.solvers.heyoka_code import heyoka_table as taylor_table
from daesolve.solvers.heyoka_code import hy
from daesolve.system import System
from daesolve.translation import translate

PRECISION = 113
"""Bits, as in IEEE's quadruple precision."""
TOLERANCE = 1e-30
FINEST_TOLERANCE = 1e-33
"""About five times the rounding of 113 bits."""
PIECE = 200
"""Steps between which progress is told and Ctrl-C is heard."""
STUCK = 1e-6
"""A piece that covers less than this part of the run leads nowhere."""
POLISHING_STEPS = 8
"""Of Newton's method with a Jacobian in double precision: each gains about 14 digits."""

Told = Callable[[float], None]
"""Called with the time reached."""


def available() -> bool:
    """Tell whether heyoka is here, and was built with quadruple precision."""
    return hy is not None and hasattr(hy, "real")


@dataclass(frozen=True, eq=False)
class ReferenceRun:
    """A trajectory in quadruple precision.

    Parameters
    ----------
    times
        (k,) the sample times that were reached, s.
    states
        Name -> (k,) values, each the double next to what was computed; angles are unwrapped.
    decimals
        Name -> k decimal numbers with every digit that was computed.
    units
        The unit of each state.
    residuals
        The largest |residual| over its scale at the samples, for every constraint, hidden
        constraint and conserved quantity; invariants were not driven.
    start_moved
        The largest change of a start value that consistency in quadruple precision took.
    tolerance
        Relative tolerance of a step.
    message
        Why it ended early; empty where every sample was reached.
    steps, compile_seconds, wall_seconds
        What it cost.
    """

    times: np.ndarray
    states: Mapping[str, np.ndarray]
    decimals: Mapping[str, tuple[str, ...]]
    units: Mapping[str, str]
    residuals: Mapping[str, float]
    start_moved: float
    tolerance: float
    message: str
    steps: int
    compile_seconds: float
    wall_seconds: float

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the samples of a state."""
        return self.states[name]


def reference_run(
    system: System,
    until: float,
    initial: Mapping[str, float] | None = None,
    *,
    at: At = None,
    start_time: float = 0.0,
    guess: Mapping[str, float] | None = None,
    parameters: Mapping[str, object] | None = None,
    default_rate: float = DEFAULT_RATE,
    scales: Mapping[str, float] | None = None,
    redundant: Redundant = "error",
    rank_loss: RankLoss = "stop",
    tolerance: float = TOLERANCE,
    progress: Told | None = None,
) -> ReferenceRun:
    """Integrate a system in quadruple precision; events are not looked for.

    Parameters
    ----------
    system, until, initial, at, start_time, guess, parameters, default_rate, scales, redundant, \
rank_loss
        As for `daesolve.solve`.
    tolerance
        Relative tolerance of a step, from 1e-33.
    progress
        Called now and then with the time reached.

    Raises
    ------
    MissingBackendError
        heyoka is not installed, or was built without quadruple precision.
    UnsupportedError
        The equations have an operation without a Taylor series; it is named.
    DaesolveError
        The request cannot be run; see `daesolve.solve`.
    """
    if not available():
        raise MissingBackendError(
            "a reference in quadruple precision needs heyoka with its type `real`; install it "
            "from conda-forge (conda install heyoka.py), or give a reference of your own"
        )
    if not FINEST_TOLERANCE <= tolerance <= 1e-2:
        raise OutOfRangeError(
            f"the tolerance of the reference is {tolerance!r}, but must lie in "
            f"[{FINEST_TOLERANCE:g}, 0.01]"
        )
    times = sample_times(at, start_time, until)
    invariants = {row.name: None for row in system.dynamics.invariants if not row.by_relation}
    prepared = prepare(
        system,
        Request(
            until=until,
            start_time=start_time,
            parameters=parameters or {},
            initial=initial or {},
            guess=guess or {},
            formulation=Feedback(rates=invariants),
            # One that compiles nothing: what integrates is made below.
            solver=Dop853(),
            default_rate=default_rate,
            scales=scales or {},
            redundant=redundant,
            rank_loss=rank_loss,
        ),
    )
    refusal = Taylor().refusal(prepared.problem)
    if refusal is not None:
        raise UnsupportedError(refusal)
    return _Run(prepared, tolerance).trajectory(times, progress)


def _quad(value: float) -> Any:
    return hy.real(float(value), PRECISION)


def _quads(values: Sequence[float] | np.ndarray) -> Any:
    return np.array([_quad(value) for value in values], dtype=hy.real)


class _Run:
    """A prepared run carried over to quadruple precision."""

    def __init__(self, prepared: Prepared, tolerance: float) -> None:
        self.prepared = prepared
        self.tolerance = tolerance
        self.p = list(_quads(prepared.values))
        self.start = _quads(prepared.initial)
        self._make_consistent()
        self._measure_references()

    def trajectory(self, times: np.ndarray, progress: Told | None) -> ReferenceRun:
        """Integrate over the sample times, in whatever order they are."""
        begin = time.perf_counter()
        integrator = self._integrator()
        compiled = time.perf_counter()
        backwards = self.prepared.until < self.prepared.start_time
        ordered = np.unique(times)[:: -1 if backwards else 1]
        states, steps, message = self._integrate(integrator, ordered, progress)
        ended = time.perf_counter()
        reached = ordered[: len(states)]
        kept = np.isin(times, reached)
        place = {moment: index for index, moment in enumerate(reached)}
        table = states[[place[moment] for moment in times[kept]]]
        labels = self.prepared.problem.labels
        columns = dict(zip(labels.states, table.T, strict=False))
        return ReferenceRun(
            times=times[kept],
            states={name: column.astype(float) for name, column in columns.items()},
            decimals={name: tuple(map(str, column)) for name, column in columns.items()},
            units={name: labels.units()[name] for name in labels.states},
            residuals=self._residuals(reached, states),
            start_moved=float(np.max(np.abs(self.start - _quads(self.prepared.initial)))),
            tolerance=self.tolerance,
            message=message,
            steps=steps,
            compile_seconds=compiled - begin,
            wall_seconds=ended - compiled,
        )

    # -- translation --------------------------------------------------------------------------

    def _expressions(self, function: ca.Function) -> tuple[list[Any], list[Any]]:
        """Return the variables and a function's first output; parameters become numbers."""
        variables = [hy.expression(f"x{index}") for index in range(function.nnz_in(1))]
        numbers = [hy.expression(value) for value in self.p]
        found = translate(
            function, [[hy.time], variables, numbers], taylor_table(), hy.expression, "taylor"
        )
        return variables, found[0]

    def _evaluate(
        self, times: Sequence[float] | np.ndarray, states: Any, expression: ca.SX, x: ca.SX
    ) -> Any:
        """Evaluate (k, size) states; return (k, outputs)."""
        dynamics = self.prepared.dynamics
        function = ca.Function("f", [dynamics.t, x, dynamics.p], [ca.densify(expression)])
        variables, expressions = self._expressions(function)
        if not expressions:
            return np.empty((len(states), 0), dtype=hy.real)
        compiled = hy.cfunc(
            expressions, variables, fp_type=hy.real, prec=PRECISION, compact_mode=True, opt_level=0
        )
        return compiled(np.ascontiguousarray(states.T), time=_quads(times)).T

    # -- the start ----------------------------------------------------------------------------

    def _make_consistent(self) -> None:
        """Move the start least until every constraint holds: positions first, then velocities."""
        for residuals, columns in _levels(self.prepared.dynamics):
            if residuals.numel():
                self._project(residuals, columns)

    def _project(self, residuals: ca.SX, columns: np.ndarray) -> None:
        dynamics, moment = self.prepared.dynamics, self.prepared.start_time
        size = dynamics.x.numel()
        slopes = ca.jacobian(residuals, dynamics.x)[:, columns.tolist()]
        function = ca.Function("slopes", [dynamics.t, dynamics.x, dynamics.p], [slopes])
        point = self.start[:size].astype(float)
        inverse = np.linalg.pinv(
            np.asarray(function(moment, point, self.prepared.values)), rcond=1e-12
        )
        last = np.inf
        for _ in range(POLISHING_STEPS):
            error = self._evaluate([moment], self.start[None, :size], residuals, dynamics.x)[0]
            largest = float(np.max(np.abs(error)))
            if largest == 0.0 or largest >= last:
                return
            last = largest
            # The error keeps its leading 16 digits as a double, however small it is.
            self.start[columns] -= _quads(inverse @ error.astype(float))

    def _measure_references(self) -> None:
        """Evaluate what is measured from the start."""
        dynamics = self.prepared.dynamics
        held = {row.name: row.value for row in dynamics.invariants}
        held |= {row.name: row.chain[0] for row in dynamics.rows if row.from_start}
        places = [list(dynamics.values).index(f"reference_{name}") for name in held]
        for place in places:
            self.p[place] = _quad(0.0)
        found = self._evaluate(
            [self.prepared.start_time],
            self.start[None, : dynamics.x.numel()],
            ca.vertcat(ca.SX(0, 1), *held.values()),
            dynamics.x,
        )[0]
        for place, value in zip(places, found, strict=True):
            self.p[place] = value

    # -- integration --------------------------------------------------------------------------

    def _integrator(self) -> Any:
        variables, rates = self._expressions(self.prepared.problem.rhs)
        return hy.taylor_adaptive(
            list(zip(variables, rates, strict=True)),
            self.start.copy(),
            time=_quad(self.prepared.start_time),
            tol=_quad(self.tolerance),
            fp_type=hy.real,
            high_accuracy=True,
            compact_mode=True,
            opt_level=0,
        )

    def _integrate(
        self, integrator: Any, times: np.ndarray, progress: Told | None
    ) -> tuple[Any, int, str]:
        """Return (k, size) states at the times that were reached, the steps, and why it ended."""
        found, steps = np.empty((0, len(self.start)), dtype=hy.real), 0
        span = abs(self.prepared.until - self.prepared.start_time)
        while len(found) < len(times):
            here = integrator.time
            # heyoka's grids begin where the integrator stands.
            grid = _quads(times[len(found) :])
            ahead = [] if grid[0] == here else [here]
            outcome, _, _, count, _, states = integrator.propagate_grid(
                np.array([*ahead, *grid], dtype=hy.real), max_steps=PIECE
            )
            found = np.concatenate([found, states[len(ahead) :]])
            steps += count
            covered = abs(float(integrator.time - here))
            if outcome == hy.taylor_outcome.err_nf_state:
                return found, steps, _ended(integrator, "the state is no longer finite")
            if outcome == hy.taylor_outcome.step_limit and covered < STUCK * span:
                return found, steps, _ended(integrator, "the steps have become too small to go on")
            if progress is not None:
                progress(float(integrator.time))
        return found, steps, ""

    def _residuals(self, times: np.ndarray, states: Any) -> dict[str, float]:
        """Return the largest of each residual over its scale."""
        problem, prepared = self.prepared.problem, self.prepared
        if not len(states):
            return {}
        t, x, p = (problem.residuals.sx_in(k) for k in range(3))
        whole = ca.substitute(problem.residuals(t, x, p)[0], ca.vertcat(t, p), self._symbols())
        count = len(problem.watched)
        sizes = np.abs(self._evaluate(times, states, whole[: count + 1], x)).astype(float)
        largest = np.max(sizes, axis=0)
        # An energy without a scale of its own takes the largest kinetic energy, if there is any.
        scales = np.where(np.isnan(prepared.scales), largest[count] or 1.0, prepared.scales)
        return {
            watched.name: float(size / scale)
            for watched, size, scale in zip(problem.watched, largest[:count], scales, strict=True)
        }

    def _symbols(self) -> ca.SX:
        return ca.vertcat(self.prepared.dynamics.t, self.prepared.dynamics.p)


def _ended(integrator: Any, why: str) -> str:
    return f"at t = {float(integrator.time):.10g} s {why}"


def _levels(dynamics: Dynamics) -> Iterator[tuple[ca.SX, np.ndarray]]:
    """Yield residuals and the states that fulfil them: of the positions, then of the velocities."""
    holonomic = [row for row in dynamics.rows if row.kind == "holonomic"]
    slow = [row.chain[0] for row in holonomic] + [row.residual for row in dynamics.implicit_rows]
    fast = [row.chain[1] for row in holonomic]
    fast += [
        row.chain[0] for row in dynamics.rows if row.kind == "nonholonomic" and not row.from_start
    ]
    split = dynamics.position_count
    yield ca.vertcat(ca.SX(0, 1), *slow), np.arange(split)
    yield ca.vertcat(ca.SX(0, 1), *fast), np.arange(split, dynamics.x.numel())
