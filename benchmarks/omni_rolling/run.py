"""How fast the vehicle with omni-wheels is integrated for 1000 s, as ratios within one run.

The practical limit is a program in C for this vehicle alone (compact.c: the compact equations,
DOP853 with error control, switches located by true steps), compiled here by the system's compiler
for this machine. Every contestant is warmed up and all take turns; figures are the best of each,
integration alone; compile times stand apart. Errors are those of velocities (nu) and of the whole
state at the end: of "twist" against an integration in quadruple precision, of the others against
quadratures.

    python -m benchmarks.omni_rolling.run [--case spin|straight|twist]... [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import daesolve as ds
from tests.reference.omni_reference import body_states, stored_motion

CASES = ("twist", "spin", "straight")
UNTIL = 1000
SOURCE = Path(__file__).with_name("compact.c")
TOLERANCES = ("1e-12", "3e-14", "1e-8")
"""Of the program in C; the first is the limit."""
FAST = ds.Taylor(code="unrolled", optimisation=3)
MODELS: dict[str, tuple[str, ds.Formulation | None, ds.Taylor]] = {
    "compact": ("compact", None, ds.Taylor()),
    "compact, optimised": ("compact", None, FAST),
    "compact, optimised, 1e-12": ("compact", None, replace(FAST, tolerance=1e-12)),
    "thesis, feedback": ("thesis", ds.Feedback(), ds.Taylor()),
    "thesis, null-space": ("thesis", ds.NullSpace(), ds.Taylor()),
}
"""Name -> model, formulation (None: the default) and solver."""


@dataclass(frozen=True)
class Outcome:
    """One run: seconds of integration and compilation, steps, switches, errors at the end."""

    seconds: float
    compile_seconds: float
    steps: int
    switches: int
    error_of_nu: float
    error: float


@dataclass(frozen=True)
class Measurement:
    """One contestant: its first run, its best seconds, or why it has none."""

    name: str
    first: Outcome | None
    seconds: float = float("nan")
    reason: str = ""


def built(folder: Path) -> Path:
    """Compile the program in C into a folder."""
    program = folder / SOURCE.stem
    command = ["cc", "-O3", "-march=native", "-o", str(program), str(SOURCE), "-lm"]
    subprocess.run(command, check=True)
    return program


def by_hand(
    program: Path, case: str, tolerance: str, until: float = UNTIL, repeats: int = 5
) -> dict[str, Any]:
    """Run the program in C; what it tells."""
    command = [str(program), case, tolerance, repr(until), str(repeats)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def exact_end(case: str) -> dict[str, float]:
    """Return the platform's and the wheels' state at the end."""
    if case == "twist":
        state = stored_motion(case).samples[UNTIL].state
        return {name: value for name, value in state.items() if not name.startswith("phi_dot")}
    state = body_states(case, UNTIL)
    del state["energy"]
    return state


def errors_of(state: Mapping[str, float], exact: Mapping[str, float]) -> tuple[float, float]:
    """Return the largest error of nu and of all, relative to the size of each (at least 1)."""
    errors = {
        name: abs(state[name] - value) / max(1.0, abs(value)) for name, value in exact.items()
    }
    return max(errors[name] for name in ("nu_1", "nu_2", "nu_3")), max(errors.values())


def _by_hand(program: Path, case: str, tolerance: str, exact: Mapping[str, float]) -> Outcome:
    told = by_hand(program, case, tolerance)
    errors = errors_of(told["state"], exact)
    return Outcome(told["seconds"], 0.0, told["steps"], told["switches"], *errors)


def _by_daesolve(
    case: str,
    model: str,
    formulation: ds.Formulation | None,
    solver: ds.Taylor,
    exact: Mapping[str, float],
) -> Outcome:
    bound = ds.problem("omni-rolling").case(case, model=model)
    run = bound.solve(formulation=formulation, solver=solver)
    cost = run.statistics
    if run.end_time < UNTIL:
        raise ds.DaesolveError(f"ended at t = {run.end_time:.6g} s: {run.message}")
    return Outcome(
        cost.wall_seconds,
        cost.compile_seconds,
        cost.steps,
        run.event_count,
        *errors_of(run.end_state, exact),
    )


def measured(runs: Mapping[str, Callable[[], Outcome]], repeats: int) -> list[Measurement]:
    """Warm each up once, then run those that can in turn and take the best of each."""
    found: dict[str, Measurement] = {}
    for name, run in runs.items():
        try:
            found[name] = Measurement(name, run())
        except ds.DaesolveError as error:
            found[name] = Measurement(name, None, reason=str(error))
    able = [name for name, entry in found.items() if entry.first]
    seconds: dict[str, list[float]] = {name: [] for name in able}
    for _ in range(repeats):
        for name in able:
            seconds[name].append(runs[name]().seconds)
    for name in able:
        found[name] = Measurement(name, found[name].first, min(seconds[name]))
    return list(found.values())


def contestants(case: str, program: Path, repeats: int) -> list[Measurement]:
    """Measure every contestant, the limit first."""
    exact = exact_end(case)
    runs: dict[str, Callable[[], Outcome]] = {}
    for tolerance in TOLERANCES:
        runs[f"C by hand, DOP853 {tolerance}"] = partial(_by_hand, program, case, tolerance, exact)
    for name, chosen in MODELS.items():
        runs[f"daesolve {name}, taylor"] = partial(_by_daesolve, case, *chosen, exact=exact)
    return measured(runs, repeats)


def table(case: str, found: list[Measurement]) -> str:
    """Return the figures of a case as text."""
    limit = found[0].seconds
    heads = (
        f"{'s':>9} {'/ limit':>8} {'compile s':>9} {'steps':>8} {'switches':>8} {'of nu':>7} error"
    )
    lines = [f"{case:35} {heads}"]
    for entry in found:
        if not entry.first:
            lines.append(f"{entry.name:35} {entry.reason}")
            continue
        first = entry.first
        compiled = f"{first.compile_seconds:.2f}" if first.compile_seconds else "-"
        lines.append(
            f"{entry.name:35} {entry.seconds:9.4f} {entry.seconds / limit:8.2f} {compiled:>9} "
            f"{first.steps:8d} {first.switches:8d} {first.error_of_nu:.1e} {first.error:.1e}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        for case in arguments.case or CASES[:1]:
            print(table(case, contestants(case, program, arguments.repeats)), flush=True)


if __name__ == "__main__":
    main()
