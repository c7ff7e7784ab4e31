"""Numbers from CasADi expressions, as dense arrays."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np


def shortest_solution(
    matrix: np.ndarray, right: np.ndarray, rcond: float | None = None
) -> np.ndarray:
    """Return the shortest x for which matrix @ x misses the right side least.

    Singular values below `rcond` of the largest count as none; rounding alone without it.
    """
    return np.linalg.lstsq(matrix, right, rcond)[0]


class ArrayFunction:
    """A function from numbers to dense arrays, of which it computes the non-zeros alone.

    It is called through buffers: CasADi's own conversion takes longer than the evaluation.

    Parameters
    ----------
    name
        What CasADi is to call it.
    inputs
        Columns of symbols.
    outputs
        Expressions, of any shape.
    """

    def __init__(self, name: str, inputs: Sequence[ca.SX], outputs: Sequence[ca.SX]) -> None:
        sparse = [ca.SX(ca.sparsify(output)) for output in outputs]
        function = ca.Function(name, list(inputs), sparse, {"cse": True})
        self._buffer, self._trigger = function.buffer()
        self._arguments = [np.zeros(function.nnz_in(k)) for k in range(function.n_in())]
        self._results = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
        self._shapes = [output.shape for output in sparse]
        self._places = [
            tuple(np.array(index, dtype=int) for index in output.sparsity().get_triplet())
            for output in sparse
        ]
        for index, array in enumerate(self._arguments):
            self._buffer.set_arg(index, memoryview(array))  # pyright: ignore
        for index, array in enumerate(self._results):
            self._buffer.set_res(index, memoryview(array))  # pyright: ignore

    def __call__(self, *given: float | np.ndarray) -> list[np.ndarray]:
        """Evaluate; the arrays are new."""
        for array, value in zip(self._arguments, given, strict=True):
            array[:] = value
        self._trigger()
        arrays = [np.zeros(shape) for shape in self._shapes]
        for array, place, values in zip(arrays, self._places, self._results, strict=True):
            array[place] = values
        return arrays
