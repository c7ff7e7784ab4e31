"""``python -m tests.composer --minutes 30 --seed 1``: compose, run, audit, shrink, print."""

from __future__ import annotations

import argparse
import collections
import itertools
import sys
import time
from collections.abc import Iterator

from .composing import Composition, compose
from .running import Job, Result, begin, judge
from .shrinking import shrink
from .writing import TAIL, script_of

KEPT = 2
"""Findings of one kind that are shrunk and printed."""


def main() -> None:
    """Compose systems until the time is over, and print what is wrong with their runs."""
    parser = argparse.ArgumentParser(prog="python -m tests.composer", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--only", type=int, metavar="INDEX", help="repeat one system")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="INDEX")
    given = parser.parse_args()
    _warm()
    if given.only is not None:
        composition = compose(given.seed, given.only)
        sys.stdout.write(script_of(composition) + TAIL)
        _show(given.only, composition, begin(script_of(composition)).result())
        return
    ends: collections.Counter[str] = collections.Counter()
    keys: collections.Counter[str] = collections.Counter()
    begun, used = time.monotonic(), 0.0
    for index, composition, result in _results(given.seed, given.first, given.jobs):
        ends[result.ended] += 1
        used += result.seconds
        fresh = [key for key in sorted(result.keys) if keys[key] < KEPT]
        keys.update(result.keys)
        if fresh:
            _show(index, composition, result)
        if time.monotonic() - begun > 60.0 * given.minutes:
            break
    count = ends.total()
    sys.stdout.write(f"\n# {count} systems, {used / count:.2f} s of CPU each\n")
    for counts in (ends, keys):
        sys.stdout.writelines(f"{number:6} {text}\n" for text, number in counts.most_common())


def _warm() -> None:
    """Import and compile what most systems need, before processes begin with it."""
    for index in range(4):
        judge(script_of(compose(0, index)))


def _results(seed: int, first: int, jobs: int) -> Iterator[tuple[int, Composition, Result]]:
    """Compose and run one system after the other, so many at once, in order."""
    waiting: collections.deque[tuple[int, Composition, Job]] = collections.deque()
    for index in itertools.count(first):
        composition = compose(seed, index)
        waiting.append((index, composition, begin(script_of(composition))))
        if len(waiting) == jobs:
            number, composition, job = waiting.popleft()
            yield number, composition, job.result()


def _show(index: int, composition: Composition, result: Result) -> None:
    """Print what is wrong with a system, and the smallest program that shows it."""
    for finding in result.findings:
        sys.stdout.write(f"\n# {index}: {finding.kind}: {finding.sentence}\n")
    if not result.findings:
        return
    smallest = shrink(composition, result.keys)
    sys.stdout.write(script_of(smallest) + TAIL)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
