"""Compares gradients with forward derivatives on a case of every installed problem.

    python -m tests.analysis.gradients.gallery [PROBLEM ...] [--part 0.05] [--seconds 60]

For each problem it prints the largest difference of the gradient of a sum of all states at the end
of a part of the horizon, for changes of each parameter by its own size, relative to the largest of
the states and of their changes; or why there is none.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Sequence

import numpy as np

import daesolve as ds
from daesolve.errors import DaesolveError

MOST = 3
"""Parameters by which a problem is differentiated."""


def weighed_states(states: Sequence[str]) -> ds.analysis.Objective:
    """Return the sum of all states at the end, each with another weight."""
    weights = dict(zip(states, np.linspace(1.0, -0.7, len(states)), strict=True))
    return ds.analysis.Objective(end=lambda now: sum(w * now[name] for name, w in weights.items()))


def difference(problem: str, part: float = 0.05) -> tuple[float, str]:
    """Return the largest difference for a problem, as above, and how its gradient was found."""
    case = ds.problem(problem).case()
    given = case.full_parameters
    # Zero is often the least value that is possible, where a derivative has one side.
    names = [name for name in given if name not in case.derived and given[name]][:MOST]
    if not names:
        return 0.0, "no parameter"
    begin = case.case.start_time
    until = begin + part * (case.case.until - begin)
    forward = case.sensitivity(names, until)
    found = case.gradient(weighed_states(forward.states), names, until)
    weights = np.linspace(1.0, -0.7, len(forward.states))
    sizes = np.abs([given[name] for name in names])
    expected = weights @ forward.matrix
    changes = np.max(np.abs(weights) @ np.abs(forward.matrix) * sizes)
    states = np.max(np.abs([*forward.final_state.values()]))
    how = "forwards" if "carried forwards" in " ".join(found.notes) else "backwards"
    count = len(found.run.events)
    apart = np.max(np.abs(found.vector - expected) * sizes) / (max(changes, states) or 1.0)
    return float(apart), f"{how}, {count} events"


def main() -> None:
    """Print the difference for every problem that is named, or installed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--part", type=float, default=0.05)
    parser.add_argument("--seconds", type=int, default=60)
    asked = parser.parse_args()

    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    for name in asked.problems or [problem.name for problem in ds.problems()[0]]:
        begun = time.perf_counter()
        signal.alarm(asked.seconds)
        try:
            apart, how = difference(name, asked.part)
            told = f"{apart:.1e}  {how}"
        except (DaesolveError, TimeoutError, KeyError, ValueError) as error:
            told = f"-        {type(error).__name__}: {error}"
        signal.alarm(0)
        print(f"{name:28s}{told}  ({time.perf_counter() - begun:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
