"""Compares gradients with forward derivatives on a case of every installed problem.

    python -m tests.analysis.gradients.gallery [PROBLEM ...] [--part 0.05] [--seconds 60]

For each problem it prints the largest difference of the gradient of a sum of all states at the end
of a part of the horizon, for changes of each parameter by its own size, relative to the largest of
the states and of their changes; or why nothing goes back. The gradient is carried back wherever
that is possible, also where `gradient` would choose forward derivatives because they are less work.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Sequence
from unittest import mock

import numpy as np

import daesolve as ds
from benchmarks.common.conditions import conditions
from benchmarks.common.options import add_update
from benchmarks.common.tables import markdown, update
from daesolve.analysis.gradients.reversal import Reversal
from daesolve.errors import DaesolveError

MARK = "gradients"
MOST = 3
"""Parameters by which a problem is differentiated."""
HEADS = ["problem", "way", "events", "difference"]


def weighed_states(states: Sequence[str]) -> ds.analysis.Objective:
    """Return the sum of all states at the end, each with another weight."""
    weights = dict(zip(states, np.linspace(1.0, -0.7, len(states)), strict=True))
    return ds.analysis.Objective(end=lambda now: sum(w * now[name] for name, w in weights.items()))


def names_of(problem: str) -> list[str]:
    """Return the parameters by which a problem is differentiated."""
    case = ds.problem(problem).case()
    given = case.full_parameters
    # Zero is often the least value that is possible, where a derivative has one side.
    return [name for name in given if name not in case.derived and given[name]][:MOST]


def difference(problem: str, part: float = 0.05) -> tuple[float, str, int]:
    """Return the largest difference for a problem, as above, the way, and the number of events."""
    case, names = ds.problem(problem).case(), names_of(problem)
    given, begin = case.full_parameters, case.case.start_time
    until = begin + part * (case.case.until - begin)
    forward = case.sensitivity(names, until)
    with mock.patch.object(Reversal, "directions", 0):
        found = case.gradient(weighed_states(forward.states), names, until)
    weights = np.linspace(1.0, -0.7, len(forward.states))
    sizes = np.abs([given[name] for name in names])
    expected = weights @ forward.matrix
    changes = np.max(np.abs(weights) @ np.abs(forward.matrix) * sizes)
    states = np.max(np.abs([*forward.final_state.values()]))
    because = " carried forwards, because "
    reasons = [note.split(because)[1] for note in found.notes if because in note]
    way = f"forwards: {reasons[0]}" if reasons else "backwards"
    apart = np.max(np.abs(found.vector - expected) * sizes) / (max(changes, states) or 1.0)
    return float(apart), way, len(found.run.events)


def row_of(problem: str, part: float, seconds: int) -> list[str]:
    """Return the row of a problem; a problem that takes too long has no figures."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not found within {seconds} s")

    if not names_of(problem):
        return [problem, "no parameter other than zero", "", ""]
    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        apart, way, events = difference(problem, part)
    except (DaesolveError, TimeoutError) as error:
        return [problem, f"none: {error}", "", ""]
    finally:
        signal.alarm(0)
    return [problem, way, str(events), f"{apart:.1e}" if way == "backwards" else ""]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    asked = argparse.ArgumentParser()
    asked.add_argument("problems", nargs="*")
    asked.add_argument("--part", type=float, default=0.05)
    asked.add_argument("--seconds", type=int, default=60)
    add_update(asked, MARK, "docs/benchmarks/gradients.md")
    return asked


def main() -> None:
    """Print the difference for every problem that is named, or installed."""
    asked = parser().parse_args()
    rows: list[list[str]] = []
    for name in asked.problems or [problem.name for problem in ds.problems()[0]]:
        begun = time.perf_counter()
        rows.append(row_of(name, asked.part, asked.seconds))
        print("  ".join(rows[-1]), f"({time.perf_counter() - begun:.1f} s)", flush=True)
    if asked.update:
        update(asked.update, MARK, f"{conditions('casadi')}\n\n{markdown(HEADS, rows)}")


if __name__ == "__main__":
    main()
