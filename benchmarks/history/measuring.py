"""Times figures and loops in turn, in a process of its own; `__main__` starts it for a checkout.

`python -m benchmarks.history.measuring RESULTS CHECKOUT REPEATS FIGURE ...` writes a sample for
each repeat. The benchmark is the one beside this module; the library and its problems are those of
the checkout.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.processes import write
from benchmarks.common.timing import processor_seconds

from .loops import LOOPS


@dataclass(frozen=True)
class Sample:
    """A figure between two runs of its loop.

    Parameters
    ----------
    figure
        Its name.
    seconds, before, after
        Processor seconds of the figure, and of the loop before and after it.
    reason
        Why the checkout cannot run the figure (else empty).
    """

    figure: str
    seconds: float = 0.0
    before: float = 0.0
    after: float = 0.0
    reason: str = ""

    @property
    def ratio(self) -> float:
        """The figure's time over its loop's."""
        return 2 * self.seconds / (self.before + self.after)


def timed(run: Callable[[], object]) -> float:
    """Return the processor seconds of a function, or what it measured itself of another process.

    Garbage is collected before and not meanwhile, so that a loop does not pay for the objects of
    the library.
    """
    gc.collect()
    gc.disable()
    try:
        seconds, own = processor_seconds(run)
    finally:
        gc.enable()
    return own if isinstance(own, float) else seconds


def samples(
    name: str, run: Callable[[], object], loop: Callable[[], None], repeats: int
) -> Iterator[Sample]:
    """Time a figure between runs of its loop; one call before prepares and compiles."""
    run()
    loop()
    before = timed(loop)
    for _ in range(repeats):
        seconds, after = timed(run), timed(loop)
        yield Sample(name, seconds, before, after)
        before = after


def measured(checkout: Path, repeats: int, names: Sequence[str]) -> Iterator[Sample]:
    """Time figures by the library of a checkout.

    Raises
    ------
    RuntimeError
        The library was imported from elsewhere.
    """
    paths = [str(checkout), str(checkout / "problems")]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # for the figure with its own process
    own = importlib.import_module("daesolve").__file__ or ""
    if not Path(own).is_relative_to(checkout):
        raise RuntimeError(f"daesolve was imported from {own}, which is not in {checkout}")
    figures = importlib.import_module("benchmarks.history.figures").FIGURES
    for name in names:
        figure = figures[name]
        try:
            yield from samples(name, figure.ready(), LOOPS[figure.loop], repeats)
        # An earlier commit may lack what a figure needs, in any way.
        except Exception as error:
            yield Sample(name, reason=f"{type(error).__name__}: {error}")


def main() -> None:
    """Measure, and write each sample as soon as it is there."""
    results, checkout, repeats, *names = sys.argv[1:]
    write(Path(results), measured(Path(checkout), int(repeats), names))


if __name__ == "__main__":
    main()
