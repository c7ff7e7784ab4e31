"""A system with its truth, and the verdict on a run of it."""

from __future__ import annotations

import math
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import daesolve as ds
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.results.trajectory.results import Verification
from daesolve.core.solvers import SOLVERS

Values = Mapping[str, float]
EXPLICIT = (
    *("taylor", "dop853", "cvodes", "lsoda", "radau"),
    *("sundae-cvode", "assimulo-cvode", "assimulo-radau5"),
)
"""Solvers of explicit equations; the last takes what index 1 makes."""
PER_TOLERANCE = {"index-2": 1e3, "ggl": 1e3, "overdetermined": 1e3, "index-3": 1e6}
"""Errors over the tolerance of a step that `tests/test_pairs.py` allows; else 1e4."""
STEPS = 1e4
"""Errors over the tolerance of a step: so many steps whose errors have one sign."""
LIMIT = 60.0
"""Seconds of a processor after which a run is taken not to return."""
DOUBT = re.compile(
    r"doubt|trusted|cannot trust|may be wrong|not resolved|unresolved|could not|cannot be|"
    r"not finite|not a number|not met|may have missed|rests on|differs? from|beyond rounding|"
    r"breach",
    re.IGNORECASE,
)
"""Words of a note that names a doubt."""


@dataclass(frozen=True, eq=False)
class Case:
    """A system, how it is run, and what comes out in truth.

    Parameters
    ----------
    name, of
        Its name, and that of its class.
    pose
        Makes the system.
    start, until
        The start by name and the end, s.
    truth
        Returns values at the end by name: of states, of outputs, `end_time`, or of `count NAME`,
        how often an event happened, and `last NAME`, the last sample. Empty where nothing is
        right: the run is to be refused, or is not to complete.
    condition
        How much errors of steps grow to the end, over `STEPS`.
    exact
        The error of the truth itself, relative to its size.
    unit
        The size below which values count as small.
    options
        Of `solve`.
    sound
        Whether nothing is to be doubted: a control.
    only
        Solvers that it is for; all where empty.
    analysis
        In place of a run, returns what is found by the names of the truth.
    """

    name: str
    of: str
    pose: Callable[[], Any]
    start: Values
    until: float
    truth: Callable[[], Values]
    condition: float = 1.0
    exact: float = 1e-11
    unit: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sound: bool = False
    only: tuple[str, ...] = ()
    analysis: Callable[[], Values] | None = None

    def __str__(self) -> str:
        return f"{self.of}: {self.name}"


@dataclass(frozen=True)
class Verdict:
    """What a run is worth: `right`, `refused`, `ended`, `doubted`, or one in capitals."""

    word: str
    detail: str = ""
    seconds: float = 0.0

    @property
    def silent(self) -> bool:
        """Whether nobody would see that it is wrong."""
        return self.word in ("WRONG", "HANGS", "CRASHED", "BROKEN")


class TookTooLongError(BaseException):
    """No `Exception`, which the run might take for its own."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give up after so many seconds of the processor, and again each second after them."""

    def give_up(*_: object) -> None:
        raise TookTooLongError

    if not hasattr(signal, "SIGPROF"):
        yield
        return
    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def measured(run: ds.Trajectory, names: list[str]) -> Values:
    """Return what a run says of the quantities of a truth."""
    found: dict[str, float] = {}
    for name in names:
        if name == "end_time":
            found[name] = run.end_time
        elif name.startswith("count "):
            found[name] = float(sum(event.name == name[6:] for event in run.events))
        elif name.startswith("last "):
            found[name] = float(run[name[5:]][-1])
        else:
            known = name in run.end_state
            found[name] = float(run.end_state[name] if known else run[name][-1])
    return found


def bound_of_solver(run: ds.Trajectory) -> float:
    """Return the error that many steps of a run may add up to, relative to the size of a value."""
    tolerances = run.description["tolerances"]
    tolerance = tolerances.get("rtol", tolerances.get("tolerance", 0.0))
    return PER_TOLERANCE.get(run.description["formulation"], STEPS) * tolerance


def bound_of(case: Case, run: ds.Trajectory) -> float:
    """Return the error that a run may have, relative to the size of a value."""
    return max(case.exact, case.condition * bound_of_solver(run))


def notes_of(run: ds.Trajectory) -> list[str]:
    """Return all that a run says in words."""
    drift = [f"{name}: {entry.note}" for name, entry in run.drift.items() if entry.note]
    return [*run.description["notes"], run.message, *drift]


def solve(case: Case, solver: str = "", formulation: str = "", verify: bool = False) -> Any:
    """Run a case; an empty name leaves the choice to the library."""
    options = dict(case.options)
    if solver:
        options["solver"] = SOLVERS[solver]()
    if formulation:
        options["formulation"] = FORMULATIONS[formulation]()
    if "at" not in options:
        options["at"] = ds.every(case.until / 4)
    return ds.solve(case.pose(), case.until, case.start, verify=verify, **options)


def judge(
    case: Case, solver: str = "", formulation: str = "", verify: bool = False, limit: float = LIMIT
) -> Verdict:
    """Run a case and say what the run is worth."""
    begin = time.process_time()
    try:
        with within(limit):
            if case.analysis is not None:
                word, detail = compared(case, case.analysis(), case.exact, [])
            else:
                word, detail = worth(case, solve(case, solver, formulation, verify))
    except TookTooLongError:
        word, detail = "HANGS", f"no return within {limit:g} s"
    except ds.DaesolveError as error:
        word, detail = "refused", f"{type(error).__name__}: {error}"
    except Exception as error:
        word, detail = "CRASHED", f"{type(error).__name__}: {error}"
    return Verdict(word, " ".join(detail.split()), time.process_time() - begin)


def worth(case: Case, run: ds.Trajectory) -> tuple[str, str]:
    """Return the word for a run, and why."""
    if not run.outcome.good:
        return "ended", f"{run.outcome.value}: {run.message}"
    truth, bound = case.truth(), bound_of(case, run)
    found = measured(run, list(truth))
    doubts = [note for note in notes_of(run) if DOUBT.search(note)]
    if run.verification is not None:
        doubts += unverified(case, found, run.verification, bound)
    return compared(case, found, bound, doubts)


def unverified(case: Case, found: Values, verification: Verification, bound: float) -> list[str]:
    """Return what a verification shows, unless it understates an error ten-fold."""
    truth, shown = case.truth(), verification.difference
    sizes = {name: max(case.unit, abs(truth.get(name, 0.0))) for name in shown}
    for name in shown.keys() & truth.keys():
        error = abs(found[name] - truth[name])
        if error > bound * sizes[name] and shown[name] < error / 10.0:
            return []
    return [
        f"verification: {name} differs by {value:.2g}"
        for name, value in shown.items()
        if math.isnan(value) or value > 10.0 * bound * sizes[name]
    ]


def compared(case: Case, found: Values, bound: float, doubts: list[str]) -> tuple[str, str]:
    """Return the word for what was found, and why."""
    truth = case.truth()
    errors = {
        name: abs(found[name] - value) / max(case.unit, abs(value)) for name, value in truth.items()
    }
    wrong = [name for name, error in errors.items() if not error <= bound]
    if doubts:
        return "doubted", "; ".join(doubts)
    if truth and not wrong:
        return "right", ""
    if not truth:
        return "WRONG", "completed, where nothing is right"
    worst = max(wrong, key=lambda name: errors[name])
    return (
        "WRONG",
        f"{worst} = {found[worst]:.10g}, truth {truth[worst]:.10g}, bound {bound:.1g}",
    )
