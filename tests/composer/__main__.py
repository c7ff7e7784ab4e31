"""``python -m tests.composer --minutes 30 --seed 1``: compose, run, audit, shrink, print."""

from __future__ import annotations

import argparse
import collections
import itertools
import sys
import time
from collections.abc import Iterator

from .composing import Composition, compose
from .running import Job, Result, begin, warm
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
    parser.add_argument("--hang", type=int, default=60, help="CPU seconds after which a run hangs")
    parser.add_argument("--whole", action="store_true", help="print systems without shrinking")
    given = parser.parse_args()
    warm()
    if given.only is not None:
        composition = compose(given.seed, given.only)
        sys.stdout.write(script_of(composition) + TAIL)
        asked = script_of(composition), given.hang
        result = begin(*asked, must_run=composition.must_run).result()
        sys.stdout.write(f"\n# {result.ended}, {result.seconds:.1f} s of CPU\n")
        _show(given.only, composition, result, given.whole)
        return
    ends: collections.Counter[str] = collections.Counter()
    keys: collections.Counter[str] = collections.Counter()
    ways: collections.Counter[str] = collections.Counter()
    kinds: collections.Counter[str] = collections.Counter()
    begun, used = time.monotonic(), 0.0
    for index, composition, result in _results(given):
        ends[result.ended] += 1
        ways[f"run as: {composition.way}"] += 1
        kinds.update({f"with: {part.kind}" for part in composition.parts})
        kinds.update(["that must run"] * composition.must_run)
        sys.stderr.write(f"{index} {result.seconds:.1f} {result.ended}\n")
        used += result.seconds
        fresh = [key for key in sorted(result.keys) if keys[key] < KEPT]
        keys.update(result.keys)
        if fresh:
            _show(index, composition, result, given.whole)
        if time.monotonic() - begun > 60.0 * given.minutes:
            break
    count = ends.total()
    sys.stdout.write(f"\n# {count} systems, {used / count:.2f} s of CPU each\n")
    for counts in (ways, kinds, ends, keys):
        sys.stdout.writelines(f"{number:6} {text}\n" for text, number in counts.most_common())


def _results(given: argparse.Namespace) -> Iterator[tuple[int, Composition, Result]]:
    """Compose and run one system after the other, so many at once, in order."""
    waiting: collections.deque[tuple[int, Composition, Job]] = collections.deque()
    for index in itertools.count(given.first):
        composition = compose(given.seed, index)
        job = begin(script_of(composition), given.hang, must_run=composition.must_run)
        waiting.append((index, composition, job))
        if len(waiting) == given.jobs:
            number, composition, job = waiting.popleft()
            yield number, composition, job.result()


def _show(index: int, composition: Composition, result: Result, whole: bool) -> None:
    """Print what is wrong with a system, and the smallest program that shows it."""
    for finding in result.findings:
        sys.stdout.write(f"\n# {index}: {finding.kind}: {finding.sentence}\n")
    if not result.findings:
        return
    sys.stdout.flush()
    smallest = composition if whole else shrink(composition, result.keys)
    sys.stdout.write(script_of(smallest) + TAIL)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
