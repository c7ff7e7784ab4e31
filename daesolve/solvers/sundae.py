"""SUNDIALS CVODE and IDA through scikit-sundae, which hands over their steps."""

from __future__ import annotations

import io
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.core.formulations import DaeProblem, OdeProblem, implicit
from daesolve.core.solvers.dense_segments import INNER, AcceptedSteps
from daesolve.core.solvers.error_control import IdaControlled, Multistep, consistent_start, control
from daesolve.core.solvers.jacobians import exact_jacobian
from daesolve.core.solvers.segment import NO_RATE, STALLED, State, StepError
from daesolve.core.solvers.stepping import Step, Stepper
from daesolve.errors import MissingBackendError

STEP_LIMIT = 20_000
"""Steps that must have covered `LEAST` of the segment."""
LEAST = 1.0 / 512.0
SPARSE_FROM, SPARSE_UP_TO = 100, 0.1
"""IDA's matrices are sparse from so many unknowns on, if at most this fraction of the entries is
not zero."""


class _Unread(io.TextIOBase):
    """Discards printed text."""

    def write(self, text: str) -> int:
        return len(text)


_UNREAD = _Unread()
_PRINTING = threading.Lock()
"""Held while standard output is turned away, which is one for all threads."""


def available() -> bool:
    """Return whether scikit-sundae is installed."""
    return find_spec("sksundae") is not None


def _sundae() -> Any:
    """Return scikit-sundae, which takes long to import."""
    return import_module("sksundae")


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

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        """Return the integrator at work."""
        rate = _Called(problem.rhs, start.p)
        jacobian = exact_jacobian(problem, start.p)
        sign = direction(start, until)

        def rhsfn(s: float, y: np.ndarray, ys: np.ndarray) -> None:
            ys[:] = sign * rate(sign * s, y)

        def jacfn(s: float, y: np.ndarray, ys: np.ndarray, matrix: np.ndarray) -> None:
            matrix[:] = sign * jacobian(sign * s, y)

        integrator = _sundae().cvode.CVODE(
            rhsfn,
            jacfn=jacfn,
            method=self.method,
            rtol=self.rtol,
            atol=self.atol,
            **_step_limits(start, until),
        )
        origin = [start.x] if np.all(np.isfinite(rate(start.time, start.x))) else None
        order = 12 if self.method == "adams" else 5
        return _Stepper(problem, start.p, integrator, origin, order)


@dataclass(frozen=True)
class SundaeIda(IdaControlled):
    """Backward differentiation formulas of variable order and step for index 1, 2 and 3.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance; the test of a step gets a part of them, see
        `error_control`.
    """

    name = "sundae-ida"
    forms = frozenset({"index-1", "index-2", "index-3"})

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.name)

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        """Return the integrator at work."""
        assert isinstance(problem, DaeProblem)
        form = implicit(problem)
        residual, entries = _Called(form.residual, start.p), _Called(form.jacobian, start.p)
        judged = control(problem, self.rtol, self.atol, start.x)
        begin = consistent_start(problem, start, until - start.time, judged)

        sign = direction(start, until)

        def resfn(s: float, y: np.ndarray, ys: np.ndarray, res: np.ndarray) -> None:
            res[:] = residual(sign * s, y, sign * ys)

        def jacfn(
            s: float, y: np.ndarray, ys: np.ndarray, res: np.ndarray, c: float, matrix: np.ndarray
        ) -> None:
            matrix[where] = entries(sign * s, y, sign * ys, sign * c)

        where, way = _filled(form.jacobian)
        with warnings.catch_warnings():
            # A pattern has another use as well, if no Jacobian is given.
            warnings.filterwarnings("ignore", "Custom sparse Jacobian", UserWarning)
            integrator = _sundae().ida.IDA(
                resfn,
                jacfn=jacfn,
                rtol=judged.rtol,
                atol=judged.atol,
                max_order=judged.highest_order,
                first_step=begin.first_step,
                **_step_limits(start, until),
                algebraic_idx=np.flatnonzero(~form.differential),
                **way,
            )
        y = np.concatenate([start.x, begin.unknowns])
        rate = np.concatenate([sign * begin.rate, np.zeros(len(begin.unknowns))])
        origin = [y, rate] if begin.finite else None
        return _Stepper(problem, start.p, integrator, origin, judged.highest_order)


def _filled(jacobian: ca.Function) -> tuple[Any, dict[str, Any]]:
    """Return where the entries of a Jacobian go, and IDA's options for the cheaper matrix."""
    pattern = jacobian.sparsity_out(0)
    # SuperLU takes these integers alone.
    rows, columns = (np.array(part, dtype=np.int32) for part in pattern.get_triplet())
    size = pattern.size1()
    if size < SPARSE_FROM or len(rows) > SPARSE_UP_TO * size**2:
        return (rows, columns), {}
    ones = np.ones(len(rows))
    sparsity = scipy.sparse.csc_array((ones, (rows, columns)), shape=(size, size))
    return slice(None), {"linsolver": "sparse", "sparsity": sparsity}


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
        # CasADi stores column by column, and only the entries of a sparse matrix.
        sparse = function.nnz_out(0) < rows * columns
        shape = (function.nnz_out(0), 1) if sparse else (rows, columns)
        self._result = np.zeros(shape, order="F")
        self._shown = self._result[:, 0] if shape[1] == 1 else self._result
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


class _Stepper(Stepper):
    """One of scikit-sundae's integrators at work.

    Parameters
    ----------
    problem, p
        The functions, and the values.
    integrator, origin
        The integrator, and what it starts from; None if that is not finite.
    order
        The highest of its polynomials.
    """

    samples_each_step = True

    def __init__(
        self,
        problem: OdeProblem,
        p: np.ndarray,
        integrator: Any,
        origin: list[np.ndarray] | None,
        order: int,
    ) -> None:
        super().__init__(problem, p)
        self._integrator, self._origin = integrator, origin
        self._nodes = _Nodes(order)
        self._between: list[np.ndarray] = []
        self._evaluations = 0
        self._sign = 1.0
        self._looked = False

    @property
    def evaluations(self) -> int:
        """How many right-hand sides were evaluated."""
        return self._evaluations

    def steps(self, start: State, until: float) -> Iterator[Step]:
        """Yield the ends of steps that move."""
        if self._origin is None:
            raise StepError(NO_RATE)
        self._sign = direction(start, until)
        self._integrator.init_step(self._sign * start.time, *self._origin)
        time, x = marked, _ = start.time, start.x
        count = 0
        while time != until:
            before = time, x
            result = self._step(until, method="onestep", tstop=self._sign * until)
            count += 1
            self._evaluations = int(result.nfev)
            time, x = self._sign * float(result.t), result.y[: self.problem.size].copy()
            if not result.success:
                raise StepError(str(result.message).rstrip("."))
            if not count % STEP_LIMIT:
                if abs(time - marked) < LEAST * abs(until - start.time):
                    raise StepError(STALLED)
                marked = time
            if time != before[0]:
                self._looked = False
                if self.problem.events:
                    self._look_into(before, (time, x))
                yield time, x
                if self._looked:
                    # The integrator would else return to where it was asked last.
                    self.within(time)

    def _step(self, until: float, **how: Any) -> Any:
        """Call the integrator, which prints its complaints, and then returns them as well."""
        with _PRINTING:
            shown, sys.stdout = sys.stdout, _UNREAD
            try:
                return self._integrator.step(self._sign * until, **how)
            finally:
                sys.stdout = shown

    def _look_into(self, before: Step, after: Step) -> None:
        """Keep the polynomial of a step by its values at nodes."""
        inner = self._nodes.within(before[0], after[0]).tolist()
        self._between.append(np.array([before[1], *map(self.within, inner), after[1]]))

    def within(self, time: float) -> np.ndarray:
        """Return the state at a time in the last step."""
        self._looked = True
        result = self._step(time, method="normal", tstop=None)
        return result.y[: self.problem.size].copy()

    def resolve(self, times: np.ndarray, states: np.ndarray) -> AcceptedSteps:
        """Return what lies between the ends of steps."""
        values, self._between = np.array(self._between[: len(times) - 1]), []
        sign = self._sign

        def dense(moments: np.ndarray) -> np.ndarray:
            steps = np.searchsorted(sign * times, sign * moments, side="right") - 1
            steps = np.clip(steps, 0, len(times) - 2)
            parts = (moments - times[steps]) / (times[steps + 1] - times[steps])
            return self._nodes.at(parts, values[steps])

        def advance(step: int, time: float) -> np.ndarray:
            return dense(np.array([time]))[0]

        inner = self._nodes.at(np.full(len(values), INNER), values)
        return AcceptedSteps(times, states, inner, dense, advance)
