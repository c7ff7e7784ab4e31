"""Runs of scripts in processes of their own, and what is wrong with them."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import re
import resource
import signal
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any

from .composing import compose
from .writing import script_of

APART = 1e-5
"""By how much two runs of one system may differ, relative to a state, or absolutely if it is less
than one: the solvers are precise to 1e-10, and resets and impacts amplify errors."""
LOOSE = 1e-3
"""The same with multipliers, whose solvers are precise to 1e-8."""

GOOD = ("completed", "stopped_by_event")
EXPECTED = re.compile(
    "|".join(
        [
            # starts that composed constraints, barriers and tables do not allow
            "InconsistentStateError|ContradictoryGoalsError|RedundantConstraintsError",
            "NoFreedomError|NoInfluenceError|DegenerateStartError|NoMotion|AmbiguousMotion",
            # what the documentation says is not supported
            "cannot release constraints|batches do not support|batches need|are decided together",
            "does not support pairs",
            "resets cannot be undone|it only takes|needs ideal|the FMU|an FMU|to_fmu",
            # motions that cannot go on as they were posed
            "times at one instant|has no value here|would add energy|leaves the goal",
            "stop sliding while|lost rank|depend on each other|lose their grip|jam|not determined",
            "does not respond|no motion|lies beyond|hold each other|within each other",
            "beyond the barrier|undetermined reactions|include sticking supports",
            "decided by complementarity",
        ]
    )
)
"""Refusals and early ends to which a composition may lead; others are findings."""


@dataclass(frozen=True)
class Finding:
    """Something wrong: its kind and a sentence."""

    kind: str
    sentence: str

    @property
    def key(self) -> str:
        """The same for findings of one fault: the sentence without numbers."""
        return f"{self.kind}: {skeleton(self.sentence)}"


def skeleton(sentence: str) -> str:
    """Return a sentence without its numbers."""
    bare = re.sub(r"(?<=[a-z])\d+\b|(?<=[a-z])\d+(?=_)", "", sentence)
    return re.sub(r"[-+]?\d+\.?\d*(e[-+]?\d+)?", "#", bare)


@dataclass(frozen=True)
class Result:
    """What a script did: how it ended, in what CPU time, and what is wrong with it."""

    ended: str
    seconds: float
    findings: tuple[Finding, ...] = ()

    @property
    def keys(self) -> set[str]:
        """What is wrong, without numbers."""
        return {finding.key for finding in self.findings}


@dataclass(frozen=True, eq=False)
class Job:
    """A script that runs in a process of its own, which may use so many seconds of CPU."""

    process: int
    reader: Connection
    seconds: int

    def result(self) -> Result:
        """Wait for the end."""
        try:
            told = json.loads(self.reader.recv())
        except EOFError:
            told = None
        self.reader.close()
        _, status, usage = os.wait4(self.process, 0)
        used = usage.ru_utime + usage.ru_stime
        if told is not None:
            found = tuple(Finding(**each) for each in told["findings"])
            return Result(told["ended"], used, found)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
            return Result("hang", used, (Finding("hang", "it does not end"),))
        return Result("crash", used, (Finding("crash", f"the process died with status {status}"),))


def begin(script: str, seconds: int = 60, *, must_run: bool = False) -> Job:
    """Begin a script in a process that has all that this one has imported and compiled.

    Parameters
    ----------
    script
        The program.
    seconds
        Of CPU, after which it hangs.
    must_run
        Whether a refusal or an early end of its run is wrong, whatever it says.
    """
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = os.fork()
    if process == 0:
        _work(script, writer, seconds, must_run)
    writer.close()
    return Job(process, reader, seconds)


def _work(script: str, writer: Connection, seconds: int, must_run: bool) -> None:
    """Run a script, tell what became of it, and end the process."""
    begun = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(begun.ru_utime + begun.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    ended, findings = judge(script)
    if must_run and not findings and ended not in GOOD:
        findings = [Finding("must run", ended)]
    writer.send(json.dumps({"ended": ended, "findings": [asdict(f) for f in findings]}))
    writer.close()
    os._exit(0)


def warm() -> None:
    """Import and compile what most systems need, before processes begin with it."""
    for index in range(4):
        judge(script_of(compose(0, index)))


def judge(script: str) -> tuple[str, list[Finding]]:
    """Run a script in this process; return how it ended and what is wrong."""
    names: dict[str, Any] = {}
    try:
        return _judged(script, names)
    finally:
        names.clear()  # with it go temporary folders


def _judged(script: str, names: dict[str, Any]) -> tuple[str, list[Finding]]:
    import daesolve as ds

    warnings.simplefilter("ignore")
    try:
        exec(compile(script, "<composed>", "exec"), names)
    except ds.DaesolveError as error:
        ended = f"refused: {type(error).__name__}: {skeleton(str(error))}"
        return ended, [] if EXPECTED.search(ended) else [Finding("refused", str(error))]
    except Exception as error:
        return "error", [Finding("error", _told(error))]
    run = names["run"]
    ended = run.outcome.value
    found: list[Finding] = []
    if not run.outcome.good:
        ended = f"{ended}: {skeleton(run.message)}"
        if ended[:12] != "contradicted" and not EXPECTED.search(ended):
            found.append(Finding("ended", f"{run.outcome.value}, {run.message or 'no reason'}"))
    for motion in (run, names.get("again")):
        if motion is None or getattr(motion, "auditor", None) is None:
            continue
        try:
            audited = motion.audit()
        except Exception as error:
            return ended, [*found, Finding("audit error", _told(error))]
        found += [Finding("audit", f"{f.check}: {f.sentence}") for f in audited.contradictions]
    for way, audited in names.get("audits", {}).items():
        told = audited.contradictions
        found += [Finding("audit", f"{way}: {f.check}: {f.sentence}") for f in told]
    return ended, [*dict.fromkeys([*found, *_apart(run, names)])]


def _told(error: Exception) -> str:
    """Return an exception with the place where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next((f for f in reversed(frames) if "daesolve" in f.filename), frames[-1])
    place = f"{os.path.basename(last.filename)}:{last.name}"
    return f"{type(error).__name__} in {place}: {str(error)[:300]}"


def _apart(run: Any, names: Mapping[str, Any]) -> list[Finding]:
    """Compare a run with another of the same system."""
    found: list[Finding] = []
    again = names.get("again")
    ends = [each.outcome.value for each in (again, run) if hasattr(each, "outcome")]
    if len({*ends} - {"interrupted"}) > 1:
        way = next(iter(names["others"]))
        said = f"{way} ended {ends[0]}, {again.message!r}; the run {ends[1]}, {run.message!r}"
        return [Finding("outcomes", said)]
    if run.outcome.value != "completed":
        return []
    bound = LOOSE if "index" in str(names["options"].get("formulation")) else APART
    for way, states in names["others"].items():
        for name, value in states.items():
            off = abs(value - run.end_state[name]) / max(1.0, abs(value))
            if off > bound or math.isnan(off):
                found.append(Finding("differs", f"{way} differs by {off:.1g} in {name}"))
                break
    return found
