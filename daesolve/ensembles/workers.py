"""Who runs the members: processes on this machine, or this process alone."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import types
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from daesolve.ensembles.chunks import (
    Chunk,
    ChunkResults,
    Task,
    WorkerError,
    check_worker,
    run_chunk,
    run_members,
)
from daesolve.errors import DaesolveError
from daesolve.plugins.bound_case import BoundCase

PATIENCE = 5.0
"""Seconds in which a process that has closed its end of the pipe should be gone."""


@dataclass(frozen=True)
class Lost:
    """A worker ended before it gave an answer."""

    reason: str


Finished = tuple[Chunk, ChunkResults | Lost]


class Workers(Protocol):
    """Run chunks of members. What ends is told by `finished`; `close` ends what is under way."""

    @property
    def count(self) -> int:
        """How many chunks run at once."""
        ...

    @property
    def free(self) -> int:
        """How many more chunks may be submitted now."""
        ...

    def submit(self, chunk: Chunk) -> None:
        """Let a chunk be run."""
        ...

    def finished(self, patience: float) -> list[Finished]:
        """Return what has ended, after some seconds at most; raises WorkerError."""
        ...

    def close(self) -> None:
        """End every worker, whatever it does."""
        ...


class ThisProcess:
    """Runs the members here, one chunk after the other."""

    count = 1

    def __init__(self, case: BoundCase, task: Task) -> None:
        self._case, self._task = case, task
        self._chunk: Chunk | None = None

    @property
    def free(self) -> int:
        """How many more chunks may be submitted now."""
        return int(self._chunk is None)

    def submit(self, chunk: Chunk) -> None:
        """Let a chunk be run."""
        self._chunk = chunk

    def finished(self, patience: float) -> list[Finished]:
        """Run what was submitted."""
        chunk, self._chunk = self._chunk, None
        if chunk is None:
            return []
        begin = time.perf_counter()
        results = run_members(self._case, self._task, chunk)
        return [(chunk, ChunkResults(results, time.perf_counter() - begin))]

    def close(self) -> None:
        """There is nothing to end."""


class LocalProcesses:
    """Runs the members in processes of this machine, each with one chunk at a time.

    A process that dies takes nothing with it but its chunk, and is replaced.
    """

    def __init__(self, task: Task, count: int) -> None:
        self.count = count
        self._task = pickle.dumps(task)
        self._idle: list[_Process] = []
        self._busy: dict[Connection, tuple[_Process, Chunk]] = {}

    @property
    def free(self) -> int:
        """How many more chunks may be submitted now."""
        return self.count - len(self._busy)

    def submit(self, chunk: Chunk) -> None:
        """Let a chunk be run."""
        process = self._idle.pop() if self._idle else _Process(self._task)
        process.send(chunk)
        self._busy[process.connection] = (process, chunk)

    def finished(self, patience: float) -> list[Finished]:
        """Return what has ended, after some seconds at most.

        Raises
        ------
        WorkerError
            A process cannot work for this sweep.
        """
        found: list[Finished] = []
        for connection in wait(list(self._busy), patience):
            process, chunk = self._busy[connection]  # pyright: ignore[reportArgumentType]
            answer = process.answer()
            if answer is None:
                continue
            del self._busy[process.connection]
            if isinstance(answer, ChunkResults):
                self._idle.append(process)
            found.append((chunk, answer))
        return found

    def close(self) -> None:
        """End every process, whatever it does."""
        for process in [*self._idle, *(process for process, _ in self._busy.values())]:
            process.end()


class _Process:
    """A process that runs members, seen from the one that started it."""

    def __init__(self, task: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        with _without_main(), _undisturbed():
            self._process.start()
        other.close()
        self._works = False
        self.connection.send_bytes(task)

    def send(self, chunk: Chunk) -> None:
        try:
            self.connection.send(chunk)
        except OSError:
            return  # It is gone: the end of the pipe tells.

    def answer(self) -> ChunkResults | Lost | None:
        """Return what the process sent, None where it is ready to work and no more."""
        try:
            sent = self.connection.recv()
        except (EOFError, OSError):
            return self._lost()
        if isinstance(sent, str):
            raise WorkerError(sent)
        if isinstance(sent, ChunkResults):
            return sent
        self._works = True
        return None

    def _lost(self) -> Lost:
        self._process.join(PATIENCE)
        code = self._process.exitcode
        self.end()
        how = f"ended with status {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        if not self._works:
            raise WorkerError(f"a worker process {how} before it could work")
        return Lost(f"the worker process {how}")

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _serve(connection: Connection) -> None:
    """Answer chunks until there are no more; what this process is for."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        task = _load(connection.recv_bytes())
        check_worker(task)
        connection.send(True)
        while True:
            connection.send(run_chunk(task, connection.recv()))
    except DaesolveError as error:
        connection.send(str(error))
    except (EOFError, BrokenPipeError):
        return


def _load(task: bytes) -> Task:
    try:
        return pickle.loads(task)
    except Exception as error:
        raise WorkerError(
            f"a worker process cannot load what it is to run ({type(error).__name__}: {error}): "
            "a solver, a formulation or a structure of your own must be importable"
        ) from error


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _without_main() -> Generator[None]:
    """Keep a new process from running the script that started the sweep: it needs none of it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _undisturbed() -> Generator[None]:
    """Let a new process not hear Ctrl-C, which a terminal tells everyone: the sweep ends it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before: Any = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
