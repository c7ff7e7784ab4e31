"""The workers that do parts of a task: this process, local processes, or a Dask cluster.

The processes are our own: pools of others take longer to start (loky twice, Dask eight times as
long), and loky loses the parts of all processes with the one that dies.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from daesolve.ensembles.chunks import (
    Chunk,
    ChunkResults,
    SweepTask,
    WorkerError,
    check_worker,
    run_chunk,
    run_members,
)
from daesolve.errors import DaesolveError, MissingPackageError, OutOfRangeError
from daesolve.plugins.bound_case import BoundCase

PATIENCE = 5.0
"""Seconds in which a process that has closed its end of the pipe should be gone."""

ANSWERS_WITHIN = 10.0
"""Seconds in which a scheduler must answer."""
AHEAD = 2
"""Parts a worker has at most: the one that it does, and the next."""
SPARE = 8
"""Further parts that wait, so that a cluster that adapts to its work sees a reason to grow."""
COUNTED_EVERY = 2.0
"""Seconds after which the workers are counted again."""


@dataclass(frozen=True)
class Lost:
    """A worker ended before it answered."""

    reason: str


Finished = tuple[Any, Any]
"""A part of a task, and the answer of a worker, or `Lost`."""


class Workers(Protocol):
    """Do parts of a task. `finished` returns those that have ended; `close` ends the others."""

    @property
    def count(self) -> int:
        """How many parts are done at once."""
        ...

    @property
    def free(self) -> int:
        """How many more parts may be submitted now."""
        ...

    def submit(self, part: Any) -> None:
        """Submit a part."""
        ...

    def finished(self, patience: float) -> list[Finished]:
        """Return what has ended, waiting at most some seconds; raises WorkerError."""
        ...

    def close(self) -> None:
        """End every worker, whatever it does."""
        ...


class ThisProcess:
    """Runs the members here, one chunk after the other."""

    count = 1

    def __init__(self, case: BoundCase, task: SweepTask) -> None:
        self._case, self._task = case, task
        self._chunk: Chunk | None = None

    @property
    def free(self) -> int:
        """How many more parts may be submitted now."""
        return int(self._chunk is None)

    def submit(self, part: Any) -> None:
        """Submit a part."""
        self._chunk = part

    def finished(self, patience: float) -> list[Finished]:
        """Run the submitted chunks."""
        chunk, self._chunk = self._chunk, None
        if chunk is None:
            return []
        begin = time.perf_counter()
        results = run_members(self._case, self._task, chunk)
        return [(chunk, ChunkResults(results, time.perf_counter() - begin))]

    def close(self) -> None:
        """Do nothing: no worker has to end."""


class LocalProcesses:
    """Does parts of a task in local processes, each with one at a time.

    If a process dies, only its part is lost, and the process is replaced.

    Parameters
    ----------
    task
        What the parts have in common; it has `versions`.
    count
        The number of processes.
    work
        The function that is called with the task and each part; importable.
    """

    def __init__(
        self, task: SweepTask, count: int, work: Callable[[Any, Any], Any] = run_chunk
    ) -> None:
        self.count = count
        self._task, self._work = pickle.dumps(task), work
        self._idle: list[WorkerProcess] = []
        self._busy: dict[Connection, tuple[WorkerProcess, Any]] = {}

    @property
    def free(self) -> int:
        """How many more parts may be submitted now."""
        return self.count - len(self._busy)

    def submit(self, part: Any) -> None:
        """Submit a part."""
        process = self._idle.pop() if self._idle else WorkerProcess(self._task, self._work)
        process.send(part)
        self._busy[process.connection] = (process, part)

    def finished(self, patience: float) -> list[Finished]:
        """Return what has ended, waiting at most some seconds.

        Raises
        ------
        WorkerError
            A process cannot work for this task.
        """
        found: list[Finished] = []
        for connection in wait(list(self._busy), patience):
            process, part = self._busy[connection]  # pyright: ignore[reportArgumentType]
            answer = process.answer()
            if answer is None:
                continue
            del self._busy[process.connection]
            if not isinstance(answer, Lost):
                self._idle.append(process)
            found.append((part, answer))
        return found

    def close(self) -> None:
        """End every process, whatever it does."""
        for process in [*self._idle, *(process for process, _ in self._busy.values())]:
            process.end()


class WorkerProcess:
    """A process that works on parts of a pickled task, seen from the one that started it."""

    def __init__(self, task: bytes, work: Callable[[Any, Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, work), daemon=True)
        with _without_main(), _undisturbed():
            self._process.start()
        other.close()
        self._works = False
        self.connection.send_bytes(task)

    def send(self, part: object) -> None:
        """Submit a part."""
        try:
            self.connection.send(part)
        except OSError:
            return  # It is gone: the end of the pipe shows it.

    def answer(self) -> Any:
        """Return the result of a part, or None if the process has only become ready.

        Raises
        ------
        WorkerError
            The process cannot work.
        """
        try:
            sent = self.connection.recv()
        except (EOFError, OSError):
            return self._lost()
        if isinstance(sent, str):
            raise WorkerError(sent)
        if sent is True:
            self._works = True
            return None
        return sent

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
        """End it, whatever it does."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _serve(connection: Connection, work: Callable[[Any, Any], Any]) -> None:
    """Do parts until there are no more: the purpose of this process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        task = _load(connection.recv_bytes())
        check_worker(task)
        connection.send(True)
        while True:
            connection.send(work(task, connection.recv()))
    except DaesolveError as error:
        connection.send(str(error))
    except (EOFError, BrokenPipeError):
        return


def _load(task: bytes) -> SweepTask:
    try:
        return pickle.loads(task)
    except Exception as error:
        raise WorkerError(
            f"a worker process cannot load its task ({type(error).__name__}: {error}): your "
            "own solver, formulation or structure must be importable"
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
    """Shield a new process from Ctrl-C, which a terminal sends to all: the sweep ends it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before: Any = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def connected(address: str) -> Any:
    """Return a client of a Dask cluster.

    Raises
    ------
    MissingPackageError
        The package distributed is missing.
    OutOfRangeError
        No scheduler answers at the address.
    """
    try:
        import distributed
    except ImportError:
        raise MissingPackageError("distributed", "sweep") from None
    try:
        return distributed.Client(address, timeout=ANSWERS_WITHIN, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise OutOfRangeError(
            f"no Dask scheduler answers at {address!r} ({error}): start one with `dask "
            "scheduler`, and give the address that it prints, such as tcp://host:8786"
        ) from None


class Cluster:
    """Does parts of a task on a Dask cluster, with few in progress.

    If a worker is lost, Dask does its part again, and gives up if this happens often.

    Parameters
    ----------
    task
        What the parts have in common.
    address
        Of the scheduler.
    work
        The function that is called with the task and each part; importable.

    Raises
    ------
    MissingPackageError
        The package distributed is missing.
    OutOfRangeError
        No scheduler answers at the address.
    """

    def __init__(
        self, task: SweepTask, address: str, work: Callable[[Any, Any], Any] = run_chunk
    ) -> None:
        self._client = connected(address)
        self._task, self._address, self._work = task, address, work
        self._parts: dict[Any, Any] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._numbers = itertools.count()
        self._workers, self._counted = 1, -COUNTED_EVERY

    @property
    def count(self) -> int:
        """How many parts are done at once: one per worker, however many threads it has."""
        if time.monotonic() - self._counted > COUNTED_EVERY:
            with suppress(OSError):
                self._workers = len(self._client.nthreads())
            self._counted = time.monotonic()
        return self._workers

    @property
    def free(self) -> int:
        """How many more parts may be submitted now."""
        return AHEAD * self.count + SPARE - len(self._parts)

    def submit(self, part: Any) -> None:
        """Submit a part."""
        key = f"daesolve-sweep-{id(self):x}-{next(self._numbers)}"
        future = self._client.submit(self._work, self._task, part, key=key, pure=False)
        self._parts[future] = part
        self._await(future)

    def _await(self, future: Any) -> None:
        future.add_done_callback(self._ended.put)

    def finished(self, patience: float) -> list[Finished]:
        """Return what has ended, waiting at most some seconds.

        Raises
        ------
        WorkerError
            The scheduler is gone, or its workers cannot work for this sweep.
        """
        try:
            future = self._ended.get(timeout=patience)
        except queue.Empty:
            if self._client.status == "closed":
                raise self._gone() from None
            return []
        try:
            answer = self._answer(future, patience)
        except TimeoutError:  # its worker was lost with the answer, which is computed again
            self._await(future)
            return []
        return [(self._parts.pop(future), answer)]

    def _answer(self, future: Any, patience: float) -> Any:
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            return future.result(timeout=patience)
        except KilledWorker as error:
            return Lost(f"{error.allowed_failures + 1} workers died while they ran it")
        except (DaesolveError, TimeoutError):
            raise
        except CommClosedError as error:
            raise self._gone() from error
        except Exception as error:
            if future.status == "cancelled":  # as Dask does where it loses its scheduler
                raise self._gone() from error
            raise WorkerError(
                f"the workers at {self._address} cannot run members ({type(error).__name__}: "
                f"{error}): they need the same packages as here"
            ) from error

    def _gone(self) -> WorkerError:
        return WorkerError(
            f"the Dask scheduler at {self._address} is gone; the results so far are kept, and "
            "the same sweep resumes from there"
        )

    def close(self) -> None:
        """Cancel the parts in progress."""
        with suppress(OSError):
            self._client.cancel(list(self._parts), force=True)
        self._client.close(timeout=ANSWERS_WITHIN)
