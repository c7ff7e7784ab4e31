"""Run parts beside each other on a number of processors, and report each."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PASSED, FAILED, STOPPED, NOT_RUN = "passed", "FAILED", "stopped", "not run"
TAIL = 20
"""The lines that are printed of a part that passed."""


@dataclass(frozen=True)
class Part:
    """A command of the run.

    Parameters
    ----------
    name
        For the table.
    command
        For bash; it fails at the first command that fails.
    needs
        The parts that must pass before.
    processors
        How many it claims; it may use more while others leave them. 0 keeps one that mostly
        waits from delaying others.
    live
        Whether it prints as it goes, not at its end.
    decisive
        Whether nothing else is worth running if it fails.
    folder
        Where it runs.
    environment
        Variables that it gets besides those of this process.
    """

    name: str
    command: str
    needs: tuple[str, ...] = ()
    processors: int = 1
    live: bool = False
    decisive: bool = False
    folder: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass
class _Running:
    part: Part
    process: subprocess.Popen[bytes]
    began: float
    log: Path | None


@dataclass(frozen=True)
class Verdict:
    """How a part ended, and after how many seconds."""

    outcome: str
    seconds: float = 0.0


def run(parts: Sequence[Part], logs: Path, processors: int = 2) -> dict[str, Verdict]:
    """Run parts in their order as far as their needs and the processors allow.

    Parameters
    ----------
    parts
        In the order in which they are to begin.
    logs
        A folder for their output.
    processors
        How many parts of one processor run beside each other.
    """
    verdicts: dict[str, Verdict] = {}
    running: list[_Running] = []
    stopping = False
    try:
        while len(verdicts) < len(parts):
            _give_up(parts, running, verdicts, stopping=stopping)
            free = processors - sum(one.part.processors for one in running)
            for part in () if stopping else _ready(parts, running, verdicts):
                # A part that waits for all processors does not let later ones pass it.
                if part.processors > free:
                    break
                free -= part.processors
                running.append(_start(part, logs))
            for one in [one for one in running if one.process.poll() is not None]:
                running.remove(one)
                verdicts[one.part.name] = verdict = _ended(one)
                stopping |= one.part.decisive and verdict.outcome == FAILED
            if stopping:
                verdicts |= {one.part.name: _stop(one) for one in running}
                running.clear()
            time.sleep(0.05)
    finally:
        for one in running:
            _stop(one)
    return verdicts


def table(parts: Iterable[Part], verdicts: Mapping[str, Verdict]) -> str:
    """Write the verdict and the time of each part."""
    return "\n".join(
        f"{part.name:<26}{verdicts[part.name].outcome:<10}{verdicts[part.name].seconds:>7.0f} s"
        for part in parts
    )


def _ready(
    parts: Iterable[Part], running: Iterable[_Running], verdicts: Mapping[str, Verdict]
) -> list[Part]:
    begun = {one.part.name for one in running} | set(verdicts)
    passed = {name for name, verdict in verdicts.items() if verdict.outcome == PASSED}
    return [part for part in parts if part.name not in begun and passed.issuperset(part.needs)]


def _give_up(
    parts: Iterable[Part],
    running: Iterable[_Running],
    verdicts: dict[str, Verdict],
    *,
    stopping: bool,
) -> None:
    """Mark the parts that cannot run any more: what they need failed, or all stops."""
    begun = {one.part.name for one in running}
    for part in parts:
        lost = any(need in verdicts and verdicts[need].outcome != PASSED for need in part.needs)
        if (lost or stopping) and part.name not in begun:
            verdicts.setdefault(part.name, Verdict(NOT_RUN))


def _start(part: Part, logs: Path) -> _Running:
    print(f"== {part.name} begins", flush=True)
    log = None if part.live else logs / f"{part.name.replace(' ', '-')}.log"
    output = None if log is None else log.open("wb")
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", part.command],
        cwd=part.folder,
        # Without its compiled modules, every process of a test would compile them anew.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **part.environment},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        start_new_session=True,
    )
    if output:
        output.close()
    return _Running(part, process, time.monotonic(), log)


def _ended(one: _Running) -> Verdict:
    seconds = time.monotonic() - one.began
    outcome = PASSED if one.process.returncode == 0 else FAILED
    text = one.log.read_text(errors="replace") if one.log else ""
    if outcome == PASSED:
        text = "\n".join(text.splitlines()[-TAIL:])
    ending = "" if outcome == PASSED else f" with status {one.process.returncode}"
    print(f"== {one.part.name} {outcome}{ending} after {seconds:.0f} s", flush=True)
    if text:
        print(text.rstrip(), flush=True)
    return Verdict(outcome, seconds)


def _stop(one: _Running) -> Verdict:
    """End a part and all processes that it started."""
    if one.process.poll() is None:
        os.killpg(one.process.pid, signal.SIGTERM)
        try:
            one.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(one.process.pid, signal.SIGKILL)
            one.process.wait()
    return Verdict(STOPPED, time.monotonic() - one.began)
