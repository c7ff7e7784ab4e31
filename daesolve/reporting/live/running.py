"""Runs the module of a page outside of it, to check the page when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

import numpy as np

from daesolve.errors import MissingPackageError, UnsupportedError
from daesolve.reporting.live.compiling import ROWS

ENGINE = "wasmtime"


class Machine:
    """The module of a page, as the page runs it.

    Parameters
    ----------
    module
        Its bytes.

    Raises
    ------
    MissingPackageError
        The engine is not installed; the message says how to install it.
    """

    def __init__(self, module: bytes) -> None:
        if find_spec(ENGINE) is None:
            raise MissingPackageError(ENGINE, "live")
        import wasmtime

        engine = wasmtime.Engine()
        self._store = wasmtime.Store(engine)
        instance = wasmtime.Instance(self._store, wasmtime.Module(engine, module), [])
        self._exports: Any = instance.exports(self._store)
        self._memory: Any = self._exports["memory"]
        self._call("_initialize")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._store.close()

    def rows(
        self,
        span: tuple[float, float],
        count: int,
        tolerance: float,
        given: Mapping[int, float] | None = None,
        kept: Iterable[int] = (),
    ) -> np.ndarray:
        """Return the motion at even times, row by row as a page has it.

        Parameters
        ----------
        span
            The first and the last time, s.
        count
            How many intervals.
        tolerance
            Of a step.
        given
            The values to set before the start, by their references.
        kept
            References of states that keep their value when the start is made consistent.

        Raises
        ------
        UnsupportedError
            The unit refuses; the message is its sentence.
        """
        begin, end = span
        self._check(self._call("begin", tolerance, begin))
        for reference, value in (given or {}).items():
            self._check(self._call("put", reference, value))
        for reference in kept:
            self._call("keep", reference)
        self._check(self._call("start", begin))
        step, width, done = (end - begin) / count, self._call("width"), 0
        parts: list[np.ndarray] = []
        while done <= count and not self._call("ended"):
            found = self._call("go", begin, step, end, done, min(done + ROWS, count + 1))
            at = self._call("rows")
            table = np.frombuffer(self._memory.read(self._store, at, at + 8 * width * found))
            parts.append(table.reshape(found, width))
            done += found
        return np.concatenate(parts)

    @property
    def reason(self) -> str:
        """The last sentence of the unit; empty if it had nothing to say."""
        at = self._call("reason")
        return bytes(self._memory.read(self._store, at, at + 512)).split(b"\0")[0].decode()

    def _call(self, name: str, *arguments: float) -> Any:
        return self._exports[name](self._store, *arguments)

    def _check(self, status: int) -> None:
        if status > 1:  # neither fmi3OK nor fmi3Warning
            raise UnsupportedError(self.reason)
