"""Run the battery and print what came out: `python -m tests.trust --help`."""

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import resource
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence

from . import battery
from .case import EXPLICIT, LIMIT, Case, Verdict, judge

KILLED = Verdict("HANGS", "killed after it was asked to end")


def apart(case: Case, solver: str, formulation: str, verify: bool, limit: float) -> Verdict:
    """Judge in a process of its own, which is killed where it does not end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime + limit + 10)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        with os.fdopen(writing, "wb") as pipe:
            try:
                found = judge(case, solver, formulation, verify, limit)
            except BaseException as error:
                found = Verdict("BROKEN", f"{type(error).__name__}: {error}")
            pickle.dump(found, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(sent) if sent else KILLED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; the status is 1 where something is silently wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust", description=main.__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of cases")
    parser.add_argument("--of", nargs="*", default=[], help="parts of the names of classes")
    parser.add_argument("--solvers", nargs="*", default=[""], help="names, `all`, or `` by default")
    parser.add_argument("--again", action="store_true", help="verify what is silently wrong")
    parser.add_argument("--quiet", action="store_true", help="the table alone")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of the processor")
    asked = parser.parse_args(arguments)
    solvers = ["", *EXPLICIT] if asked.solvers == ["all"] else asked.solvers
    results: dict[str, list[tuple[Case, str, Verdict]]] = defaultdict(list)
    warnings.simplefilter("ignore")
    for case in battery.cases():
        if asked.only and not any(part in case.name for part in asked.only):
            continue
        if asked.of and not any(part in case.of for part in asked.of):
            continue
        for solver in solvers:
            if case.only and solver not in ("", *case.only):
                continue
            formulation = "index-1" if solver in battery.IMPLICIT else ""
            if formulation and "formulation" in case.options:
                continue
            found = apart(case, solver, formulation, case.sound and not solver, asked.limit)
            if asked.again and found.word == "WRONG" and not solver:
                again = apart(case, solver, formulation, True, asked.limit)
                found = again if again.word != "WRONG" else found
            results[case.of].append((case, solver, found))
            bad = found.silent or found.word == "BROKEN" or (case.sound and found.word != "right")
            if bad or not asked.quiet:
                name = solver or "default"
                print(
                    f"{found.word:8} {found.seconds:5.1f} s  {case} [{name}]  {found.detail[:230]}",
                    flush=True,
                )
    print(table(results), flush=True)
    return int(any(found.silent for rows in results.values() for *_, found in rows))


def table(results: dict[str, list[tuple[Case, str, Verdict]]]) -> str:
    """Return what came out by class, in Markdown."""
    lines = ["", "| class | forms | runs | right | refused or ended | doubted | silently wrong | "]
    lines[-1] += "controls that are not right |"
    lines.append("|---|---|---|---|---|---|---|---|")
    total: list[tuple[Case, str, Verdict]] = []
    for of, rows in [*results.items(), ("all", total)]:
        words = Counter(found.word for *_, found in rows)
        numbers = [
            len({case.name for case, *_ in rows}),
            len(rows),
            words["right"],
            words["refused"] + words["ended"],
            words["doubted"],
            sum(found.silent for *_, found in rows),
            sum(case.sound and found.word != "right" for case, _, found in rows),
        ]
        lines.append(f"| {of} | {' | '.join(map(str, numbers))} |")
        total += rows
    return "\n".join(lines)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
