"""Runs of scripts in processes of their own, and what is wrong with them."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import resource
import signal
import time
import traceback
import warnings
from dataclasses import asdict, dataclass

CPU_SECONDS = 60
"""A run that uses more hangs."""


@dataclass(frozen=True)
class Finding:
    """Something wrong: its kind and a sentence; `key` is the same for the same fault."""

    kind: str
    sentence: str

    @property
    def key(self) -> str:
        """The sentence without numbers."""
        return f"{self.kind}: {_skeleton(self.sentence)}"


def _skeleton(sentence: str) -> str:
    bare = re.sub(r"(?<=[a-z])\d+\b", "", sentence)
    return re.sub(r"[-+]?\d+\.?\d*(e[-+]?\d+)?", "#", bare)


@dataclass(frozen=True)
class Result:
    """What a script did: how it ended, in what CPU time, and what is wrong with it."""

    ended: str
    seconds: float
    findings: tuple[Finding, ...] = ()


def run_script(script: str) -> Result:
    """Run a script in a process of its own."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        _work(script, writer)
    writer.close()
    try:
        told = reader.recv() if reader.poll(None) else None
    except EOFError:
        told = None
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    if told is not None:
        found = json.loads(told)
        listed = tuple(Finding(**each) for each in found["findings"])
        return Result(found["ended"], seconds, listed)
    cause = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    if cause in (signal.SIGXCPU, signal.SIGKILL):
        return Result("hang", seconds, (Finding("hang", f"more than {CPU_SECONDS} s of CPU"),))
    return Result("crash", seconds, (Finding("crash", f"the process died, {status}"),))


def _work(script: str, writer: multiprocessing.connection.Connection) -> None:
    """Run a script, tell what became of it, and end the process."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    ended, findings = judge(script)
    writer.send(json.dumps({"ended": ended, "findings": [asdict(f) for f in findings]}))
    writer.close()
    os._exit(0)


def judge(script: str) -> tuple[str, list[Finding]]:
    """Run a script in this process; return how it ended and what is wrong."""
    import daesolve as ds

    names: dict[str, object] = {}
    warnings.simplefilter("ignore")
    try:
        exec(compile(script, "<composed>", "exec"), names)
    except ds.DaesolveError as error:
        return f"refused: {type(error).__name__}: {_skeleton(str(error))}", []
    except Exception as error:  # noqa: BLE001
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.name}"
        return "error", [Finding("error", f"{type(error).__name__} in {place}: {error}")]
    run = names["run"]
    ended = run.outcome.value
    found: list[Finding] = []
    if not run.outcome.good:
        ended = f"{ended}: {_skeleton(run.message)}"
    try:
        audited = run.audit()
    except Exception as error:  # noqa: BLE001
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.name}"
        return ended, [Finding("audit error", f"{type(error).__name__} in {place}: {error}")]
    found += [Finding("audit", f"{f.check}: {f.sentence}") for f in audited.findings if f.verdict.name == "CONTRADICTED"]
    return ended, found
