"""Which tools simulate an exported unit, and how far from a run of daesolve they end.

Cases of the gallery are exported, and simulated by each tool that is here: FMPy by Co-Simulation,
with event mode and early return, and by Model Exchange with its CVode; the importer of the FMI
reference project, whose C sources `--reference` names (a checkout of modelica/Reference-FMUs). The
table shows the largest difference from a run at 101 even times, away from events, relative to the
largest value of each state. CasADi's importer differentiates the unit instead: the number is how
far its derivatives forwards and backwards disagree, relative to their terms. `--gallery` lets FMPy
validate every case of every problem that can be exported.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import casadi as ca
import fmpy
import numpy as np

import daesolve as ds
from daesolve.errors import UnsupportedError, VariantError
from daesolve.export.fmu import findings
from daesolve.export.fmu.building import compiler, platform_tuple, suffix
from daesolve.plugins.registry import problems

from ..common.conditions import conditions, from_json
from ..common.ending import end
from ..common.options import add_json, add_read, add_update, options
from ..common.tables import markdown

MARK = "importers"
CASES = {
    "rolling-wheel hoop": 10.0,
    "omni-rolling twist": 30.0,
    "block-on-belt stick-slip": 5.0,
    "thrown-rod thrown": 3.0,
    "woodpecker cycle": 1.0,
    "bouncing-ball rides": 3.0,
}
"""Cases and their horizons, s: constraints, impacts, friction, several contacts."""
VALIDATION, REFUSED, NONE = "FMPy's validation", "export refused", "no motion"
SAMPLES = 100
TOLERANCE = 1e-13
AWAY = 1e-6
"""s, how far a sample is from an event, which a unit shows as it is after it."""


@dataclass(frozen=True)
class Measurement:
    """How far a tool is from a run with a case; what it says if it does not get there."""

    case: str
    tool: str
    apart: float | None
    says: str


@dataclass(frozen=True, eq=False)
class Task:
    """A unit, the run beside it, and its states at the times of the run."""

    path: Path
    times: np.ndarray
    names: Sequence[str]

    @property
    def interval(self) -> float:
        """Between two times, s."""
        return float(self.times[1] - self.times[0])


States = Callable[[Task], np.ndarray]
"""(samples, states) by a tool."""


def by_fmpy(kind: str, parts: int, task: Task, **more: Any) -> np.ndarray:
    """Return the states by FMPy."""
    found = fmpy.simulate_fmu(
        str(task.path),
        fmi_type=kind,
        stop_time=float(task.times[-1]),
        output_interval=task.interval / parts,
        relative_tolerance=TOLERANCE,
        record_events=False,
        output=[*task.names],
        **more,
    )
    # Where a step has ended early there are further rows.
    rows = np.searchsorted(found["time"], task.times - 1e-9 * task.interval)
    return np.array([found[name][rows] for name in task.names]).T


def by_reference(sources: Path, task: Task) -> np.ndarray:
    """Return the states by the importer of the reference project, compiled from its sources."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(task.path) as packed:
        packed.extractall(folder)
        (library,) = Path(folder, "binaries", platform_tuple()).glob(f"*{suffix()}")
        about = fmpy.read_model_description(str(task.path))
        own, program = Path(__file__).with_name("reference.c"), Path(folder, "importer")
        written = [str(sources / "src" / name) for name in ("FMI.c", "FMI3.c")]
        include = f"-I{sources / 'include'}"
        command = [compiler(), "-DFMI_VERSION=3", include, str(own), *written, "-ldl", "-o"]
        _done([*command, str(program)])
        count = sum(variable.derivative is not None for variable in about.modelVariables)
        steps = [str(count), "0", repr(task.interval), str(SAMPLES), repr(TOLERANCE)]
        printed = _done([str(program), str(library), str(about.instantiationToken), *steps])
    rows = [[float(word) for word in line.split()] for line in printed.splitlines()]
    return np.array(rows)[:, : len(task.names)]


def _done(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [str(done.returncode)])[-1]
        raise RuntimeError(last)
    return done.stdout


def derivatives_apart(task: Task) -> float:
    """Return how far CasADi's derivatives of a unit along a direction and back disagree."""
    about = ca.DaeBuilder("unit", str(task.path), {})
    function = about.create("f", ["x", "u"], ["ode", "y"])
    draw = np.random.default_rng(0).standard_normal
    place = [np.array([about.start(name) for name in about.x()]).ravel(), draw(about.nu())]
    values = function(*place)
    along, back = [draw(part.size) for part in place], [draw(part.numel()) for part in values]
    forward = function.forward(1)(*place, *values, *along)
    reverse = function.reverse(1)(*place, *values, *back)
    one = [back_ * np.ravel(part) for back_, part in zip(back, forward, strict=True)]
    other = [along_ * np.ravel(part) for along_, part in zip(along, reverse, strict=True)]
    terms = np.concatenate(one + other)
    difference = sum(map(np.sum, one)) - sum(map(np.sum, other))
    return float(abs(difference) / np.sum(np.abs(terms)))


def tools(reference: Path | None) -> dict[str, States]:
    """Return the tools that are here."""
    known: dict[str, States] = {
        "FMPy, Co-Simulation": partial(by_fmpy, "CoSimulation", 1),
        "FMPy, event mode and early return": partial(
            by_fmpy, "CoSimulation", 1, use_event_mode=True, early_return_allowed=True
        ),
        "FMPy, Model Exchange": partial(by_fmpy, "ModelExchange", 40),
    }
    if reference is not None:
        known["FMI reference importer"] = partial(by_reference, reference)
    return known


def measured(name: str, until: float, reference: Path | None) -> list[Measurement]:
    """Export a case, and simulate it by every tool."""
    problem, case = name.split()
    bound, times = ds.problem(problem).case(case), np.linspace(0.0, until, SAMPLES + 1)
    run: ds.Trajectory = bound.solve(until, at=times)
    found: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        path = bound.to_fmu(Path(folder, "unit.fmu"), horizon=until).path
        task = Task(path, times, [*run.states])
        said = findings(path)
        found.append(Measurement(name, VALIDATION, float(len(said)), "; ".join(said)))
        for tool, states in tools(reference).items():
            try:
                found.append(Measurement(name, tool, apart(states(task), run), ""))
            except Exception as error:  # a tool may fail in any way
                found.append(Measurement(name, tool, None, str(error)))
        found.append(Measurement(name, "CasADi, derivatives", derivatives_apart(task), ""))
    return found


def validated(name: str) -> Measurement:
    """Export a case and let FMPy validate it; say why it cannot be exported."""
    problem, case = name.split()
    # The description is validated, not the library: there is none to compile.
    library = patch("daesolve.export.fmu.exporting.compiled", return_value=b"")
    with tempfile.TemporaryDirectory() as folder, library:
        try:
            path = ds.problem(problem).case(case).to_fmu(Path(folder, "unit.fmu"), horizon=1.0).path
        except UnsupportedError as error:
            return Measurement(name, REFUSED, None, str(error))
        except VariantError as error:
            return Measurement(name, NONE, None, str(error))
        said = findings(path)
    return Measurement(name, VALIDATION, float(len(said)), "; ".join(said))


def gallery() -> list[str]:
    """Return all cases of all problems."""
    return [f"{problem.name} {case.name}" for problem in problems()[0] for case in problem.cases]


def apart(states: np.ndarray, run: ds.Trajectory) -> float:
    """Return how far states are from a run, relative to the largest of each, at least one."""
    own = np.array([run[name] for name in run.states]).T
    events = np.array([event.time for event in run.events])
    clear = np.min(np.abs(run.times[:, None] - events), axis=1, initial=np.inf) > AWAY
    sizes = np.maximum(1.0, np.max(np.abs(own), axis=0))
    return float(np.max(np.abs(states - own)[clear] / sizes))


def table(found: Sequence[Measurement]) -> str:
    """Return the measurements of simulated cases, one line a case, and a line on all others."""
    simulated = [one.case for one in found if one.tool not in (VALIDATION, REFUSED, NONE)]
    shown = [one for one in found if one.case in simulated]
    heads = list(dict.fromkeys(one.tool for one in shown))
    known = {(one.case, one.tool): one for one in shown}
    rows = [
        [case, *[_cell(known.get((case, tool))) for tool in heads]]
        for case in dict.fromkeys(simulated)
    ]
    lines = [markdown(["case", *heads], rows)] if rows else []
    refused, still = (sum(one.tool == tool for one in found) for tool in (REFUSED, NONE))
    if refused or len({one.case for one in found}) > len(rows):
        checked = [one for one in found if one.tool == VALIDATION]
        wrong = [f"{one.case}: {one.says}" for one in checked if one.says]
        says = "; ".join(wrong) if wrong else "no finding"
        lines.append(
            f"All {len(checked)} cases of the gallery that can be exported: {says} of FMPy's "
            f"validation. {refused} cases are refused, and {still} have no motion."
        )
    return "\n\n".join(lines)


def _cell(one: Measurement | None) -> str:
    if one is None:
        return ""
    if one.apart is None:
        return f"fails: {one.says}"
    if "validation" in one.tool:
        return one.says or "no finding"
    return f"{one.apart:.0e}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.importers", __doc__)
    parser.add_argument("--case", choices=CASES, action="append", help="repeatable (all)")
    parser.add_argument(
        "--reference", type=Path, metavar="DIR", help="a checkout of modelica/Reference-FMUs"
    )
    parser.add_argument(
        "--gallery", action="store_true", help="validate every case that can be exported"
    )
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/how-to/fmu.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known = conditions("fmpy", "casadi")
        cases = given.case or CASES
        found = [row for name in cases for row in measured(name, CASES[name], given.reference)]
        if given.gallery:
            found += [validated(name) for name in gallery() if name not in cases]
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
