"""Which problems can be certified, until when, how narrowly, and at what cost.

The first case of each problem runs for `--until` seconds, or until its own horizon if that is
earlier, and is certified with at most `--budget` processor seconds. The table shows until when it
is proved, the half-width of the widest state there, the processor seconds of the enclosure, without
those of the run and of preparations, and why it ends earlier.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import daesolve as ds
from daesolve.core.run.integration.run_options import requested_by
from daesolve.plugins.registry import Problem, problems
from daesolve.verification.enclosure.certifying import certificate_of
from daesolve.verification.enclosure.crossings import NotCertifiedError

from .common.conditions import conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_until, add_update, options
from .common.tables import markdown

MARK = "enclosed gallery"
UNTIL, BUDGET = 1.0, 5.0
"""s, of the motion and of the processor."""


@dataclass(frozen=True)
class EnclosedCase:
    """What a certificate says of a case, and the processor seconds that it took.

    Parameters
    ----------
    name, states
        The problem, and how many states it has.
    begin, until, reached
        When the motion begins, when it ends, and until when it is proved, s.
    width
        The half-width of the widest state at the last sample.
    events
        How many events were proved.
    seconds
        Of the enclosure.
    message
        Why it ends.
    """

    name: str
    states: int
    begin: float
    until: float
    reached: float
    width: float
    events: int
    seconds: float
    message: str


def enclosed(problem: Problem, until: float, budget: float) -> EnclosedCase:
    """Certify the first case of a problem."""
    case = problem.case()
    begin = case.case.start_time
    until = min(case.case.until, begin + until)
    request, _ = requested_by(case, until, {})
    nothing = EnclosedCase(problem.name, 0, begin, until, begin, 0.0, 0, 0.0, "")
    try:
        run = case.solve(until)
        begun = time.process_time()

        def stop(moment: float) -> None:
            if time.process_time() - begun > budget:
                raise NotCertifiedError("more processor time is needed")

        found = certificate_of(case.system, request, run, {}, stop)
    except ds.DaesolveError as error:
        return replace(nothing, message=str(error))
    # The budget may be spent at the very end.
    message = "" if found.until == until else found.message
    width = found.width if len(found.times) else 0.0
    return EnclosedCase(
        problem.name, len(found.states), begin, until, float(found.until), width,
        len(found.events), found.seconds, message,
    )  # fmt: skip


def measured(names: list[str], until: float, budget: float) -> Iterator[EnclosedCase]:
    """Certify the problems with these names, or all."""
    for problem in problems()[0]:
        if not names or problem.name in names:
            found = enclosed(problem, until, budget)
            sys.stderr.write(f"{found}\n")
            yield found


def table(found: list[EnclosedCase]) -> str:
    """Return the cases as a table, those that are proved the furthest first."""
    rows = [
        (
            f"`{one.name}`",
            str(one.states),
            f"{one.reached - one.begin:.3g} of {one.until - one.begin:.3g} s",
            str(one.events),
            f"{one.width:.0e}",
            f"{one.seconds:.2f} s",
            one.message or "proved",
        )
        for one in sorted(found, key=lambda one: (bool(one.message), one.name))
    ]
    return markdown(
        ("problem", "states", "proved", "events", "half-width", "processor", "end"), rows
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = options("benchmarks.enclosed_gallery", __doc__)
    add_until(made, UNTIL)
    made.add_argument(
        "--budget", type=float, default=BUDGET, metavar="S", help="processor time of each, s (5)"
    )
    made.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these problems")
    add_json(made)
    add_read(made)
    add_update(made, MARK, "docs/benchmarks/enclosures.md")
    return made


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    warnings.simplefilter("ignore", ds.errors.EndedEarlyWarning)
    if given.read:
        known, found = from_json(given.read.read_text(), EnclosedCase)
    else:
        known = conditions("python-flint", "numba")
        found = list(measured(given.only, given.until, given.budget))
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
