"""How fast daesolve integrates the vehicle with omni-wheels, as ratios within one run.

The practical limit is a program in C for this vehicle alone (compact.c: the compact equations,
DOP853 with error control, switches located by true steps), which the system's compiler compiles
here for this machine; each of its turns is the best of five. Every contestant is warmed up, and all
alternate. Figures are the best of each contestant, in wall-clock seconds of the integration alone;
compile times are listed separately. Errors are those of velocities (nu) and of the whole state at
the end: for "twist" against an integration in quadruple precision, for the others against
quadratures. The program needs a C compiler (`cc`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import daesolve as ds
from benchmarks.common.conditions import as_json, conditions
from benchmarks.common.figures import errors_of
from benchmarks.common.options import add_json, add_repeats, options
from benchmarks.common.tables import aligned
from benchmarks.common.timing import in_turn
from tests.reference.omni_reference import body_states, stored_motion

CASES = ("twist", "spin", "straight")
TIMES = (1, 10, 50, 60, 300, 1000)
"""s; the times at which the reference for "twist" is stored."""
UNTIL = TIMES[-1]
SOURCE = Path(__file__).with_name("compact.c")
TOLERANCES = ("1e-12", "3e-14", "1e-8")
"""Tolerances of the program in C; the first is the limit."""
FAST = ds.Taylor(code="unrolled", optimisation=3)
MODELS: dict[str, tuple[str, ds.Formulation | None, ds.Taylor]] = {
    "compact": ("compact", None, ds.Taylor()),
    "compact, 1e-11": ("compact", None, ds.Taylor(tolerance=1e-11)),
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
    """One contestant: its first run and its best seconds, or why it has none."""

    case: str
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
    """Run the program in C; return what it prints."""
    command = [str(program), case, tolerance, repr(until), str(repeats)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def exact_end(case: str, until: int) -> dict[str, float]:
    """Return the final state of the platform and the wheels."""
    if case == "twist":
        state = stored_motion(case).samples[until].state
        return {name: value for name, value in state.items() if not name.startswith("phi_dot")}
    state = body_states(case, until)
    del state["energy"]
    return state


def _errors(state: Mapping[str, float], exact: Mapping[str, float]) -> tuple[float, float]:
    """Return the largest error of nu, and of all known states."""
    errors = errors_of({name: state[name] for name in exact}, exact)
    return max(errors[name] for name in ("nu_1", "nu_2", "nu_3")), max(errors.values())


def _by_hand(
    program: Path, case: str, until: int, tolerance: str, exact: Mapping[str, float]
) -> Outcome:
    result = by_hand(program, case, tolerance, until)
    errors = _errors(result["state"], exact)
    return Outcome(result["seconds"], 0.0, result["steps"], result["switches"], *errors)


def _by_daesolve(
    case: str,
    until: int,
    model: str,
    formulation: ds.Formulation | None,
    solver: ds.Taylor,
    exact: Mapping[str, float],
) -> Outcome:
    bound = ds.problem("omni-rolling").case(case, model=model)
    run = bound.solve(until, formulation=formulation, solver=solver)
    cost = run.statistics
    if run.end_time < until:
        raise ds.DaesolveError(f"ended at t = {run.end_time:.6g} s: {run.message}")
    return Outcome(
        cost.wall_seconds,
        cost.compile_seconds,
        cost.steps,
        run.event_count,
        *_errors(run.end_state, exact),
    )


def measured(
    case: str, runs: Mapping[str, Callable[[], Outcome]], repeats: int
) -> list[Measurement]:
    """Warm up each contestant once, alternate those that can run, and take the best of each."""
    found: dict[str, Measurement] = {}
    for name, run in runs.items():
        try:
            found[name] = Measurement(case, name, run())
        except ds.DaesolveError as error:
            found[name] = Measurement(case, name, None, reason=str(error))
    able = {name: runs[name] for name, entry in found.items() if entry.first}
    for name, again in in_turn(able, repeats).items():
        found[name] = replace(found[name], seconds=min(outcome.seconds for outcome in again))
    return list(found.values())


def contestants(case: str, until: int, program: Path, repeats: int) -> list[Measurement]:
    """Measure every contestant, the limit first."""
    exact = exact_end(case, until)
    runs: dict[str, Callable[[], Outcome]] = {}
    for tolerance in TOLERANCES:
        runs[f"C by hand, DOP853 {tolerance}"] = partial(
            _by_hand, program, case, until, tolerance, exact
        )
    for name, chosen in MODELS.items():
        runs[f"daesolve {name}, taylor"] = partial(_by_daesolve, case, until, *chosen, exact=exact)
    return measured(case, runs, repeats)


def table(case: str, found: Sequence[Measurement]) -> str:
    """Return the table of a case as text."""
    limit = found[0].seconds
    heads = [case, "s", "/ limit", "compile s", "steps", "switches", "of nu", "error"]
    return aligned(heads, [_row(entry, limit) for entry in found])


def _row(entry: Measurement, limit: float) -> list[str]:
    first = entry.first
    if first is None:
        return [entry.name, entry.reason]
    return [
        entry.name,
        f"{entry.seconds:.4f}",
        f"{entry.seconds / limit:.2f}",
        f"{first.compile_seconds:.2f}" if first.compile_seconds else "-",
        str(first.steps),
        str(first.switches),
        f"{first.error_of_nu:.1e}",
        f"{first.error:.1e}",
    ]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.omni_rolling.run", __doc__)
    help_text = f"repeatable ({CASES[0]})"
    parser.add_argument("--case", choices=CASES, action="append", help=help_text)
    help_text = "s; a time with a stored reference (%(default)s)"
    parser.add_argument("--until", type=int, choices=TIMES, default=UNTIL, help=help_text)
    add_repeats(parser, 5, "runs after the first; the best counts")
    add_json(parser)
    return parser


def main() -> None:
    """Print a table for each case."""
    given = parser().parse_args()
    known = conditions()
    print(known)
    everything: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        for case in given.case or CASES[:1]:
            found = contestants(case, given.until, program, given.repeats)
            everything += found
            print(f"\n{table(case, found)}", flush=True)
    if given.json:
        given.json.write_text(as_json(known, everything))


if __name__ == "__main__":
    main()
