"""Brings the members of a sweep from the queue to the workers and their results to disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daesolve.core.encoding import is_mapping
from daesolve.core.interruptions import interruptible
from daesolve.ensembles.chunks import Chunk, ChunkResults, MemberResult, WorkerError, failure
from daesolve.ensembles.members import Table, count_of, values_of
from daesolve.ensembles.sweep_files import SweepStore
from daesolve.ensembles.sweep_results import Sweep, has_failed, outcomes
from daesolve.ensembles.workers import Lost, Workers

CHUNK_SECONDS = 0.5
BATCH_SECONDS = 5.0
"""What the members of a chunk take together, about: much against the way to a worker and back. A
batch compiles for itself and ends with its slowest member, so that it is worth being longer."""
FIRST_BATCH = 16
"""Members of a batch while it is not known how long one takes: one for each lane."""
LARGEST_CHUNK = 1_000
SHARES = 4
"""The rest of the members makes at least so many chunks for each worker, so that all end at about
the same time; for batches, whose lanes should be filled, one."""
POLL = 0.2
"""Seconds after which an interruption is looked for."""


def checked_answer(chunk: Chunk, answer: object) -> ChunkResults:
    """Return the message of a worker, which must be the results of its members.

    Raises
    ------
    WorkerError
        It is something else.
    """
    if not isinstance(answer, ChunkResults):
        raise WorkerError(
            f"a worker answered with a {type(answer).__name__} instead of results: it needs "
            "the same version of daesolve as here"
        )
    rows: list[Any] = [getattr(result, "row", None) for result in answer.results]
    members = [row.get("member") if is_mapping(row) else None for row in rows]
    if members != [number for number, _ in chunk]:
        raise WorkerError(
            f"a worker answered with results of the members {members}, but should have run "
            f"{[number for number, _ in chunk]}: it needs the same version of daesolve as here"
        )
    return answer


@dataclass(frozen=True)
class SweepState:
    """The progress of a sweep.

    Parameters
    ----------
    count, done, failed
        How many members there are, how many have run, and how many failed.
    before
        How many had run before this process started.
    """

    count: int
    done: int
    failed: int
    before: int


Progress = Callable[[SweepState], None]
"""Called whenever members have run."""


def run_members(
    store: SweepStore,
    table: Table,
    workers: Callable[[int], Workers],
    progress: Progress | None,
    *,
    batch: bool,
) -> Sweep:
    """Run the members that have not run yet.

    Parameters
    ----------
    store
        Where results go.
    table
        The values of every member.
    workers
        Returns the workers for a given number of members.
    progress, batch
        As in `sweep`.

    Raises
    ------
    WorkerError
        The workers do not fit this sweep, or all are gone; the results so far are kept.
    """
    ended = outcomes(store.directory)
    count = count_of(table)
    failed = sum(has_failed(outcome) for outcome in ended.values())
    left = [number for number in range(count) if number not in ended]
    if not left:
        return Sweep(store.directory, count, len(ended), failed)
    running = workers(len(left))
    queue = _Queue(left, table, batch=batch)
    done = len(ended)
    interrupted = False
    with interruptible(by_termination=True) as pressed:
        try:
            while (queue or queue.under_way) and not pressed():
                for _ in range(running.free):
                    if queue:
                        running.submit(queue.next_chunk(max(running.count, 1)))
                for chunk, answer in running.finished(POLL):
                    results = queue.results(chunk, answer)
                    store.add(results)
                    done += len(results)
                    failed += sum(has_failed(result.row["outcome"]) for result in results)
                    if progress is not None:
                        progress(SweepState(count, done, failed, len(ended)))
                store.flush_in_time()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            running.close()
    store.flush()
    return Sweep(store.directory, count, done, failed, interrupted or done < count)


class _Queue:
    """The members that have not run yet."""

    def __init__(self, numbers: list[int], table: Table, *, batch: bool) -> None:
        self._table, self._total = table, len(numbers)
        self._aim, self._first, self._shares = (
            (BATCH_SECONDS, FIRST_BATCH, 1) if batch else (CHUNK_SECONDS, 1, SHARES)
        )
        self._new = deque(numbers)
        self._again: deque[int] = deque()
        self._lost: set[int] = set()
        self._run, self._seconds = 0, 0.0
        self.under_way = 0

    def __bool__(self) -> bool:
        return bool(self._new or self._again)

    def next_chunk(self, workers: int) -> Chunk:
        """Return the members to run next; one whose worker was lost runs alone."""
        self.under_way += 1
        if self._again:
            numbers = [self._again.popleft()]
        else:
            size = min(self._size(workers), len(self._new))
            numbers = [self._new.popleft() for _ in range(size)]
        return [(number, values_of(self._table, number)) for number in numbers]

    def _size(self, workers: int) -> int:
        left = self._total if self._shares == 1 else len(self._new)
        share = max(left // (self._shares * workers), 1)
        if not self._run:
            return min(self._first, share)
        wanted = int(min(self._aim * self._run / max(self._seconds, 1e-9), LARGEST_CHUNK))
        # A few lanes take as long as all: no member should be alone in the last round.
        return min(max(wanted - wanted % self._first, self._first), share)

    def results(self, chunk: Chunk, answer: object) -> list[MemberResult]:
        """Return the results of the members of a chunk that has ended."""
        self.under_way -= 1
        if not isinstance(answer, Lost):
            answer = checked_answer(chunk, answer)
            self._run += len(answer.results)
            self._seconds += answer.seconds
            return list(answer.results)
        found: list[MemberResult] = []
        for number, values in chunk:
            if number in self._lost:
                found.append(
                    failure(number, values, f"{answer.reason}, and again when it ran alone")
                )
            else:
                self._lost.add(number)
                self._again.append(number)
        return found
