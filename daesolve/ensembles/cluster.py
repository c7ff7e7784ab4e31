"""Members run by the workers of a Dask cluster that exists already."""

from __future__ import annotations

import itertools
import queue
import time
from contextlib import suppress
from typing import Any

from daesolve.ensembles.chunks import Chunk, ChunkResults, Task, WorkerError, run_chunk
from daesolve.ensembles.workers import Finished, Lost
from daesolve.errors import MissingPackageError, OutOfRangeError

ANSWERS_WITHIN = 10.0
"""Seconds in which a scheduler must answer."""
AHEAD = 2
"""Chunks a worker has at most: the one that it runs, and the next."""
SPARE = 8
"""Further chunks that wait, so that a cluster that adapts to its work sees a reason to grow."""
COUNTED_EVERY = 2.0
"""Seconds after which the workers are counted again."""


class Cluster:
    """Runs the members on a Dask cluster, with few chunks under way.

    Dask itself runs a chunk again whose worker is lost, and gives up where this happens often.

    Parameters
    ----------
    task
        What the members have in common.
    address
        Of the scheduler.

    Raises
    ------
    MissingPackageError
        The package distributed is missing.
    OutOfRangeError
        No scheduler answers at the address.
    """

    def __init__(self, task: Task, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingPackageError("distributed", "sweep") from None
        try:
            self._client: Any = distributed.Client(
                address, timeout=ANSWERS_WITHIN, set_as_default=False
            )
        except (OSError, ValueError, TypeError) as error:
            raise OutOfRangeError(
                f"no Dask scheduler answers at {address!r} ({error}): start one with `dask "
                "scheduler`, and give the address that it prints, such as tcp://host:8786"
            ) from None
        self._task, self._address = task, address
        self._chunks: dict[Any, Chunk] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._numbers = itertools.count()
        self._workers, self._counted = 1, -COUNTED_EVERY

    @property
    def count(self) -> int:
        """How many chunks run at once: one a worker, whatever its threads."""
        if time.monotonic() - self._counted > COUNTED_EVERY:
            with suppress(OSError):
                self._workers = max(len(self._client.nthreads()), 1)
            self._counted = time.monotonic()
        return self._workers

    @property
    def free(self) -> int:
        """How many more chunks may be submitted now."""
        return AHEAD * self.count + SPARE - len(self._chunks)

    def submit(self, chunk: Chunk) -> None:
        """Let a chunk be run."""
        key = f"daesolve-sweep-{id(self):x}-{next(self._numbers)}"
        future = self._client.submit(run_chunk, self._task, chunk, key=key, pure=False)
        self._chunks[future] = chunk
        future.add_done_callback(self._ended.put)

    def finished(self, patience: float) -> list[Finished]:
        """Return what has ended, after some seconds at most.

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
        if future.status not in ("finished", "error"):
            raise self._gone()
        try:
            answer = self._answer(future, patience)
        except TimeoutError:  # its worker was lost with the answer, which is computed again
            self._ended.put(future)
            return []
        return [(self._chunks.pop(future), answer)]

    def _answer(self, future: Any, patience: float) -> ChunkResults | Lost:
        from distributed.scheduler import KilledWorker

        try:
            return future.result(timeout=patience)
        except KilledWorker as error:
            return Lost(f"{error.allowed_failures + 1} workers died while they ran it")
        except (WorkerError, TimeoutError):
            raise
        except Exception as error:
            raise WorkerError(
                f"the workers at {self._address} cannot run members ({type(error).__name__}: "
                f"{error}): they need the same packages as here"
            ) from error

    def _gone(self) -> WorkerError:
        return WorkerError(
            f"the Dask scheduler at {self._address} is gone; what has been computed is kept, and "
            "the same sweep goes on from there"
        )

    def close(self) -> None:
        """Cancel what is under way."""
        with suppress(OSError):
            self._client.cancel(list(self._chunks), force=True)
        self._client.close(timeout=ANSWERS_WITHIN)
