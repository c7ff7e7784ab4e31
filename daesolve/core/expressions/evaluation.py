"""CasADi functions evaluated through their buffers, without conversions."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np


class Evaluator:
    """A CasADi function called through its buffers, with all arguments given each time.

    Parameters
    ----------
    function
        A function of dense columns.
    """

    def __init__(self, function: ca.Function) -> None:
        self._buffer, self._trigger = function.buffer()
        self._arguments = [np.zeros(function.nnz_in(k)) for k in range(function.n_in())]
        self._results = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
        for index, array in enumerate(self._arguments):
            self._buffer.set_arg(index, memoryview(array))  # pyright: ignore[reportArgumentType, reportCallIssue]
        for index, array in enumerate(self._results):
            self._buffer.set_res(index, memoryview(array))  # pyright: ignore[reportArgumentType, reportCallIssue]

    def __call__(self, *arguments: np.ndarray | float) -> list[np.ndarray]:
        """Evaluate; the results are new arrays."""
        for place, given in zip(self._arguments, arguments, strict=True):
            place[:] = given
        self._trigger()
        return [result.copy() for result in self._results]


class BufferedFunction(Evaluator):
    """A CasADi function of (t, x, p) called with the same p each time.

    Parameters
    ----------
    function
        (t, x, p) -> one dense output.
    p
        The parameters of all calls.
    """

    def __init__(self, function: ca.Function, p: np.ndarray) -> None:
        super().__init__(function)
        self._time, self._state, own = self._arguments
        (self._result,) = self._results
        own[:] = p[: len(own)]
        self._shape = function.size_out(0)
        self.calls = 0

    def __call__(self, t: float | np.ndarray, x: np.ndarray) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Evaluate; the result is a new array."""
        self._time[:] = t
        self._state[:] = x
        self._trigger()
        self.calls += 1
        return self._result.copy()

    def matrix(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the result as a matrix (CasADi stores columns first)."""
        return self(t, x).reshape(self._shape, order="F")


class ArrayFunction:
    """A function from numbers to dense arrays that computes only the non-zeros.

    It is called through buffers: CasADi's own conversion takes longer than the evaluation.

    Parameters
    ----------
    name
        The name for CasADi.
    inputs
        Columns of symbols.
    outputs
        Expressions, of any shape.
    share
        Whether to share common subexpressions, which takes longer than a few evaluations.
    """

    def __init__(
        self, name: str, inputs: Sequence[ca.SX], outputs: Sequence[ca.SX], *, share: bool = True
    ) -> None:
        sparse = [ca.SX(ca.sparsify(output)) for output in outputs]
        function = ca.Function(name, list(inputs), sparse, {"cse": share})
        self._evaluate = Evaluator(function)
        self._shapes = [output.shape for output in sparse]
        self._places = [
            tuple(np.array(index, dtype=int) for index in output.sparsity().get_triplet())
            for output in sparse
        ]

    def __call__(self, *given: float | np.ndarray) -> list[np.ndarray]:
        """Evaluate; the arrays are new."""
        arrays = [np.zeros(shape) for shape in self._shapes]
        for array, place, values in zip(arrays, self._places, self._evaluate(*given), strict=True):
            array[place] = values
        return arrays
