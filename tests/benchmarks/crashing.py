"""A process that measures once and crashes."""

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.processes import write


@dataclass(frozen=True)
class Measurement:
    number: int


def measurements():
    yield Measurement(int(sys.argv[2]))
    raise ValueError("no more")


if __name__ == "__main__":
    write(Path(sys.argv[1]), measurements())
