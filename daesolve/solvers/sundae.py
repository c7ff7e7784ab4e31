"""SUNDIALS CVODE and IDA through scikit-sundae, which hands over their steps."""

from __future__ import annotations

import contextlib
import io
import threading
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.errors import MissingBackendError
from daesolve.formulations import DaeProblem, OdeProblem, implicit
from daesolve.solvers.base import (
    EventHit,
    Observer,
    Pace,
    SegmentEnd,
    State,
    Status,
)
from daesolve.solvers.error_control import Multistep
from daesolve.solvers.guards import INNER, Steps, find_events
from daesolve.solvers.ida_control import (
    IdaControlled,
    consistent_start,
    control,
)
from daesolve.solvers.jacobians import exact_jacobian
from daesolve.trajectory.results import StepBlock

try:
    import sksundae
except ImportError:
    sksundae = None

sun: Any = sksundae

BLOCK = 500
"""Steps after which events are looked for, at the latest."""
STEP_LIMIT = 20_000
"""Steps that must have covered `LEAST` of the segment."""
LEAST = 1.0 / 512.0
_PRINTING = threading.Lock()
"""Held while standard output is turned away, which is one for all threads."""


def available() -> bool:
    """Tell whether scikit-sundae is installed."""
    return sun is not None


def _require(name: str) -> None:
    if not available():
        raise MissingBackendError(
            f"{name} needs scikit-sundae, which is not installed; pip install 'daesolve[sundials]'"
        )


@dataclass(frozen=True)
class SundaeCvode(Multistep):
    """Variable-order, variable-step multistep method that shows its steps.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    method
        "adams" for smooth motion, "bdf" for stiff.
    """

    name = "sundae-cvode"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.name)

    def segment(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        rate = _Called(problem.rhs, state.p)
        jacobian = exact_jacobian(problem, state.p)
        sign = direction(state, until)

        def rhsfn(s: float, y: np.ndarray, ys: np.ndarray) -> None:
            ys[:] = sign * rate(sign * s, y)

        def jacfn(s: float, y: np.ndarray, ys: np.ndarray, matrix: np.ndarray) -> None:
            matrix[:] = sign * jacobian(sign * s, y)

        integrator = sun.cvode.CVODE(
            rhsfn,
            jacfn=jacfn,
            method=self.method,
            rtol=self.rtol,
            atol=self.atol,
            **_step_limits(state, until),
        )
        start = rate(state.time, state.x)
        stepping = _Stepping(
            problem, state, until, at, integrator, 12 if self.method == "adams" else 5
        )
        return stepping.run(observe, [state.x], finite=bool(np.all(np.isfinite(start))))


@dataclass(frozen=True)
class SundaeIda(IdaControlled):
    """Backward differentiation formulas of variable order and step for index 1, 2 and 3.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance; the test of a step gets a part of them, see
        `ida_control`.
    """

    name = "sundae-ida"
    forms = frozenset({"index-1", "index-2", "index-3"})

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.name)

    def segment(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        assert isinstance(problem, DaeProblem)
        form = implicit(problem)
        residual, jacobian = _Called(form.residual, state.p), _Called(form.jacobian, state.p)
        judged = control(problem, self.rtol, self.atol, state.x)
        start = consistent_start(problem, state, until - state.time, judged)

        sign = direction(state, until)

        def resfn(s: float, y: np.ndarray, ys: np.ndarray, res: np.ndarray) -> None:
            res[:] = residual(sign * s, y, sign * ys)

        def jacfn(
            s: float, y: np.ndarray, ys: np.ndarray, res: np.ndarray, c: float, matrix: np.ndarray
        ) -> None:
            matrix[:] = jacobian(sign * s, y, sign * ys, sign * c)

        integrator = sun.ida.IDA(
            resfn,
            jacfn=jacfn,
            rtol=judged.rtol,
            atol=judged.atol,
            max_order=judged.highest_order,
            first_step=start.first_step,
            **_step_limits(state, until),
            algebraic_idx=np.flatnonzero(~form.differential),
        )
        y = np.concatenate([state.x, start.unknowns])
        rate = np.concatenate([sign * start.rate, np.zeros(len(start.unknowns))])
        stepping = _Stepping(problem, state, until, at, integrator, judged.highest_order)
        return stepping.run(observe, [y, rate], finite=start.finite)


def direction(state: State, until: float) -> float:
    """Return the sign of s = +-t, in which is integrated: IDA takes a first step forwards only."""
    return 1.0 if until >= state.time else -1.0


def _step_limits(state: State, until: float) -> dict[str, float]:
    """Return steps that move the time: of shorter ones SUNDIALS warns on standard output."""
    span = abs(until - state.time)
    shortest = 4.0 * float(np.finfo(float).eps) * max(abs(state.time), abs(until))
    return {"min_step": min(shortest, span), "max_step": span}


class _Called:
    """A CasADi function of some arguments and p, called through its buffers."""

    def __init__(self, function: ca.Function, p: np.ndarray) -> None:
        self._buffer, self._trigger = function.buffer()
        count = function.n_in() - 1
        self._arguments = [np.zeros(function.nnz_in(index)) for index in range(count)]
        self._p = np.ascontiguousarray(p, dtype=float)
        rows, columns = function.size_out(0)
        # CasADi stores columns first.
        self._result = np.zeros((rows, columns), order="F")
        self._shown = self._result[:, 0] if columns == 1 else self._result
        for index, array in enumerate([*self._arguments, self._p]):
            self._buffer.set_arg(index, memoryview(array))  # pyright: ignore[reportArgumentType, reportCallIssue]
        self._buffer.set_res(0, memoryview(self._result.ravel(order="K")))  # pyright: ignore[reportArgumentType, reportCallIssue]

    def __call__(self, *arguments: float | np.ndarray) -> np.ndarray:
        """Evaluate; the result, a vector or a matrix, is overwritten by the next call."""
        for array, argument in zip(self._arguments, arguments, strict=True):
            array[:] = argument
        self._trigger()
        return self._shown


class _Nodes:
    """The polynomials that a multistep method passes through its steps, by their values at nodes.

    Parameters
    ----------
    order
        Their highest degree.
    """

    def __init__(self, order: int) -> None:
        count = np.arange(order + 1)
        self.parts = (1.0 - np.cos(np.pi * count / order)) / 2.0
        self._weights = (-1.0) ** count
        self._weights[[0, -1]] /= 2.0

    def within(self, start: float, end: float) -> np.ndarray:
        """Return the times of the inner nodes of a step."""
        return start + (end - start) * self.parts[1:-1]

    def at(self, parts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Evaluate by the barycentric formula (J.-P. Berrut, L. N. Trefethen, SIAM Rev. 46, 2004).

        Parameters
        ----------
        parts
            (j,) parts of steps.
        values
            (j, nodes, size), those of the step of each part.
        """
        distances = parts[:, None] - self.parts
        on_node = distances == 0.0
        with np.errstate(divide="ignore"):
            factors = np.where(np.any(on_node, axis=1)[:, None], on_node, self._weights / distances)
        return np.einsum("jn,jns->js", factors / factors.sum(axis=1)[:, None], values)


class _Stepping:
    """One segment of one of scikit-sundae's integrators, step by step."""

    def __init__(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        integrator: Any,
        order: int,
    ) -> None:
        self.problem, self.start, self.until, self.at = problem, state, until, at
        self.integrator = integrator
        self.sign = direction(state, until)
        self.nodes = _Nodes(order)
        self.times = [state.time]
        self.states = [state.x.copy()]
        self.between: list[np.ndarray] = []
        self.samples = [state.x.copy() for time in at if time == state.time]
        self.hits: list[EventHit] = []
        self.total = 0
        self.evaluations = 0
        self.told = 0
        self.marked = state.time

    def run(self, observe: Observer, start: list[np.ndarray], *, finite: bool) -> SegmentEnd:
        """Step to the end, or as far as it goes; `start` is what the integrator starts from."""
        status, message = Status.REACHED, ""
        if not finite:
            status, message = Status.FAILED, "the rate of the state is not finite"
        else:
            self.integrator.init_step(self.sign * self.start.time, *start)
        while status is Status.REACHED and self.times[-1] != self.until:
            # The integrator prints what it complains of, and then returns it as well.
            with _PRINTING, contextlib.redirect_stdout(io.StringIO()):
                message = self._block()
            if message:
                status = Status.FAILED
            if self._stopped():
                status, message = Status.STOPPED, ""
            if self._hand_over(observe) and status is Status.REACHED:
                status = Status.HALTED
        return SegmentEnd(
            status,
            message,
            self.times[-1],
            self.states[-1],
            np.array(self.samples).reshape(len(self.samples), self.problem.size),
            tuple(self.hits),
            self.total,
            self.evaluations,
        )

    def _block(self) -> str:
        """Take some steps, and the samples in them; return why it cannot go on."""
        end = self.sign * self.until
        pace, due = Pace(BLOCK), False
        while not due and self.times[-1] != self.until:
            result = self.integrator.step(end, method="onestep", tstop=end)
            self.total += 1
            self.evaluations = int(result.nfev)
            time, state = self.sign * float(result.t), result.y[: self.problem.size].copy()
            if not result.success:
                return str(result.message).rstrip(".")
            if not np.all(np.isfinite(state)):
                return "the state is no longer finite"
            if self._stuck(time):
                return "the steps have become too small to go on"
            if time != self.times[-1]:
                due = pace.due(time - self.times[-1])
                self._take(time, state)
        return ""

    def _stuck(self, time: float) -> bool:
        """Tell whether many steps have led nowhere."""
        if self.total % STEP_LIMIT:
            return False
        moved, self.marked = abs(time - self.marked), time
        return moved < LEAST * abs(self.until - self.start.time)

    def _take(self, end: float, state: np.ndarray) -> None:
        """Write a step down, with the samples in it and its polynomial."""
        rest = self.at[len(self.samples) :]
        inside = rest[self.sign * (rest - end) <= 0.0]
        self.samples.extend(state.copy() if t == end else self._look(t) for t in inside.tolist())
        if self.problem.events:
            inner = self.nodes.within(self.times[-1], end)
            looks = [self._look(time) for time in inner.tolist()]
            self.between.append(np.array([self.states[-1], *looks, state]))
        if len(inside) or self.problem.events:
            self._look(end)
        self.times.append(end)
        self.states.append(state)

    def _look(self, time: float) -> np.ndarray:
        """Return the state at a time in the last step; the next step starts where the last looks.

        The integrator would else return to the end of the step before it takes another.
        """
        result = self.integrator.step(self.sign * time, method="normal", tstop=None)
        return result.y[: self.problem.size].copy()

    def _stopped(self) -> bool:
        """Write the events of a block down; end at the first one that stops, if any does."""
        if not self.between:
            return False
        for hit in find_events(self.problem, self.start.p, self._steps()):
            self.hits.append(hit)
            if self.problem.guarded[hit.index].then.interrupts:
                times = np.array(self.times)
                kept = max(int(np.sum(self.sign * (times - hit.time) < 0.0)), 1)
                self.total -= len(times) - 1 - kept
                self.times[kept:], self.states[kept:] = [hit.time], [hit.state]
                reached = self.sign * (self.at[: len(self.samples)] - hit.time) <= 0.0
                del self.samples[int(np.sum(reached)) :]
                return True
        return False

    def _steps(self) -> Steps:
        times, values = np.array(self.times), np.array(self.between)

        def dense(moments: np.ndarray) -> np.ndarray:
            ends = self.sign * times
            steps = np.searchsorted(ends, self.sign * moments, side="right") - 1
            steps = np.clip(steps, 0, len(times) - 2)
            parts = (moments - times[steps]) / (times[steps + 1] - times[steps])
            return self.nodes.at(parts, values[steps])

        def advance(step: int, time: float) -> np.ndarray:
            return dense(np.array([time]))[0]

        inner = self.nodes.at(np.full(len(values), INNER), values)
        return Steps(times, np.array(self.states), inner, dense, advance)

    def _hand_over(self, observe: Observer) -> bool:
        """Give the steps of a block away; return whether they are to be the last."""
        halts = False
        if len(self.times) > 1:
            spent, self.told = self.evaluations - self.told, self.evaluations
            times, states = np.array(self.times[1:]), np.array(self.states[1:])
            halts = observe(StepBlock(times, states, spent)) is True
        del self.times[:-1], self.states[:-1], self.between[:]
        return halts
