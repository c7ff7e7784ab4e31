"""``python -m tests.composer --minutes 30 --seed 1``: compose, run, audit, shrink, print."""

from __future__ import annotations

import argparse
import collections
import time

from .composing import compose
from .running import judge, run_script
from .writing import TAIL, script_of


def main() -> None:
    """Compose systems until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.composer")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    judge(script_of(compose(0, 0)))  # so that processes begin with all that is imported

    begun = time.monotonic()
    ends = collections.Counter()
    index = given.only or 0
    while time.monotonic() - begun < 60 * given.minutes:
        script = script_of(compose(given.seed, index))
        result = run_script(script)
        ends[result.ended] += 1
        for finding in result.findings:
            print(f"# {index}: {finding.kind}: {finding.sentence}\n{script}{TAIL}", flush=True)
        if given.only is not None:
            print(script + TAIL, result)
            break
        index += 1
    print(ends, index)


main()
