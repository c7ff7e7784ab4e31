"""Scripts: a composition as a Python program that runs alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .composing import Composition
from .parts import Part

HEAD = """import tempfile

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.verification.audit import audit_samples
from daesolve.verification.audit.guard_passages import posed_events
"""
TAIL = """
print(run.outcome.value, run.message)
for event in run.events:
    print(event.name, event.time)
for name, other in others.items():
    print(name, {state: (value, run.end_state[state]) for state, value in other.items()})
if run.auditor is not None:
    print(run.audit())
"""
SOLVE = "run = ds.solve(system, until, initial, **options)"
MIDDLE = "middle = begin + 0.4 * (until - begin)"
CASE = [
    'problem = ds.Problem("composed", title="", models={"one": lambda: system}, cases=[',
    '    ds.Case("one", start=initial, until=until, start_time=begin)])',
]
WAYS = {
    "solve": [SOLVE, "others = {}"],
    "verified": [
        "run = ds.solve(system, until, initial, verify=True, **options)",
        "off = {} if run.verification is None else run.verification.difference",
        "others = {'verification': {s: run.end_state[s] + off[s] for s in off}}",
    ],
    "other": [
        SOLVE,
        "again = ds.solve(system, until, initial, **(options | OTHER))",
        "others = {'other': again.end_state}",
    ],
    "sampled": [
        SOLVE,
        "again = ds.solve(system, until, initial, at=np.linspace(begin, until, 7), **options)",
        "others = {'samples': again.end_state}",
    ],
    "continued": [
        SOLVE,
        MIDDLE,
        "first = ds.solve(system, middle, initial, **options)",
        "later = {n: v for n, v in options.items() if n not in ('guess', 'start_time')}",
        "done = first.outcome.name == 'COMPLETED'",
        "again = ds.solve(system, until, first, **later) if done else first",
        "others = {'continued': again.end_state}",
    ],
    "stored": [
        SOLVE,
        MIDDLE,
        "folder = tempfile.TemporaryDirectory()",
        "again = ds.solve(system, middle, initial, store=folder.name + '/run', **options)",
        "if again.outcome.name == 'COMPLETED':",
        "    drives = options.get('inputs')",
        "    again = ds.resume(folder.name + '/run', until, source=system, inputs=drives)",
        "others = {'resumed': again.end_state}",
    ],
    "stepped": [
        SOLVE,
        "simulator = ds.Simulator(system, initial, **options)",
        "try:",
        "    for _ in range(7):",
        "        simulator.step((until - begin) / 7)",
        "except (ds.errors.RunEndedError, ds.errors.StepFailedError):",
        "    pass",
        "again = simulator.trajectory()",
        "others = {'simulator': again.end_state}",
    ],
    "lanes": [
        *CASE,
        "from daesolve.ensembles.batches import run_batch",
        "first = [*initial.items()][:1]",
        "members = [{name: value + 0.001 * k for name, value in first} for k in range(16)]",
        "more = {n: v for n, v in options.items() if n != 'start_time'}",
        "again = run_batch(problem.case('one'), members, until=until, **more)[0]",
        "if isinstance(again, Exception):",
        "    raise again",
        SOLVE,
        "others = {'lane': again.end_state}",
    ],
    "swept": [
        *CASE,
        SOLVE,
        "others, audits = {}, {}",
        "more = {n: v for n, v in options.items() if n != 'start_time'}",
        "if initial:",
        "    name = next(iter(initial))",
        "    members = [{name: initial[name] + 0.001 * k} for k in range(3)]",
        "    folder = tempfile.TemporaryDirectory()",
        "    from daesolve.ensembles import sweep",
        "    swept = sweep(",
        "        problem.case('one'), members, out=folder.name, until=until, workers=0, **more)",
        "    found = swept.member(0)",
        "    if found['outcome'] == run.outcome.value:",
        "        others = {'sweep': {s: found['end_' + s] for s in run.end_state}}",
        "    elif found['outcome'] != 'failed':",
        "        raise AssertionError('swept: ' + found['outcome'] + ': ' + found['message'])",
        "    audits = {f'member {k}': one for k, one in swept.audit().audits.items()}",
    ],
    "orbit": [
        SOLVE,
        "others, audits = {}, {}",
        "names = [event.name for event in run.events]",
        "seen = [event for event in run.events if names.count(event.name) > 1]",
        "seen = [event for event in seen if event.name in {e.name for e in posed_events(system)}]",
        "if seen and 'inputs' not in options:",
        "    last = seen[-1].after or seen[-1].detail",
        "    start = {name: last[name] for name in run.end_state if name in last}",
        "    try:",
        "        orbit = ds.analysis.periodic_orbit(system, start, section=seen[-1].name)",
        "        audits['orbit'] = orbit.audit()",
        "    except ds.DaesolveError as error:",
        "        print(type(error).__name__, error)",
    ],
    "unit": [
        SOLVE,
        "import fmpy",
        "with tempfile.TemporaryDirectory() as folder:",
        "    exact = {n: v for n, v in options.items() if n in ('inputs', 'guess', 'start_time')}",
        "    unit = system.to_fmu(folder + '/unit.fmu', initial, **exact)",
        "    found = fmpy.simulate_fmu(",
        "        folder + '/unit.fmu', fmi_type='CoSimulation', start_time=begin,",
        "        stop_time=until, output_interval=(until - begin) / 400, relative_tolerance=1e-12,",
        "        record_events=False)",
        "again = {s: float(found[s][-1]) for s in run.end_state if s in found.dtype.names}",
        "others = {'unit': again}",
        "table = {name: found[name] for name in found.dtype.names}",
        "audits = {'unit': audit_samples(run.auditor.prepared.system, table)}",
    ],
}
"""Ways to run, and states at the end that should be the same."""


def script_of(composition: Composition) -> str:
    """Return the program that poses and runs a system."""
    way = [line.replace("OTHER", composition.other) for line in WAYS[composition.way]]
    lines = [*_posed(composition.parts), *_settings(composition), *way]
    return f"{HEAD}\n" + "\n".join(lines) + "\n"


def _posed(parts: Sequence[Part]) -> list[str]:
    named = {name: unit for part in parts for name, unit in part.coordinates.items()}
    lines, arguments = [f"q = ds.coordinates({_units(named)})"], []
    rates = {name: text for part in parts for name, text in part.rates.items()}
    if rates:
        speeds = {name: unit for part in parts for name, unit in part.velocities.items()}
        speeds |= {f"{name}_rate": "1/s" for name in named if name not in rates}
        lines.append(f"v = ds.velocities({_units(speeds)})")
        column = ", ".join(rates.get(name, f"v.{name}_rate") for name in named)
        arguments += ["velocities=v", f"kinematics=ca.vertcat({column})"]
    values = {name: value for part in parts for name, value in part.discrete.items()}
    laws = [name for part in parts for name in part.laws]
    if values:
        lines.append(f"d = ds.discrete({', '.join(f'{n}={v!r}' for n, v in values.items())})")
    if inputs := {name: unit for part in parts for name, unit in part.inputs.items()}:
        lines.append(f"u = ds.inputs({_units(inputs)})")
        arguments.append("inputs=u")
    for part in parts:
        lines += [f"# {part.kind}", *part.lines] if part.lines else []
    arguments.append(f"kinetic={_sum(term for part in parts for term in part.kinetic)}")
    arguments.append(f"potential={_sum(term for part in parts for term in part.potential)}")
    forces: dict[str, list[str]] = {}
    for name, term in (pair for part in parts for pair in part.force):
        forces.setdefault(name, []).append(term)
    if forces:
        rows = ", ".join(f'"{name}": {_sum(terms)}' for name, terms in forces.items())
        arguments.append(f"force={{{rows}}}")
    for word in ("goals", "events", "pairs"):
        listed = [text for part in parts for text in getattr(part, word)]
        listed += [f"*{name}.{word}" for name in laws if word != "pairs"]
        arguments += [f"{word}=[{', '.join(listed)}]"] if listed else []
    lists = [*(["d"] if values else []), *(f"{name}.discrete" for name in laws)]
    if lists:
        arguments.append(f"discrete=[{', '.join(lists)}]" if laws else "discrete=d")
    body = "".join(f"    {argument},\n" for argument in arguments)
    return [*lines, f"system = ds.MechanicalSystem(\n    q,\n{body})"]


def _units(named: dict[str, str]) -> str:
    shown = (f"{n}={u if u.startswith('ds.') else chr(34) + u + chr(34)}" for n, u in named.items())
    return ", ".join(shown)


def _sum(terms: Iterable[str]) -> str:
    return " + ".join(terms) or "0.0"


def _settings(composition: Composition) -> list[str]:
    parts = composition.parts
    initial = {name: value for part in parts for name, value in part.initial.items()}
    guess = {name: value for part in parts for name, value in part.guess.items()}
    freed = {name for part in parts for name in part.frees}
    guess |= {name: value for name, value in initial.items() if name in freed}
    initial = {name: value for name, value in initial.items() if name not in freed}
    if any(part.velocities for part in parts):
        initial, guess = (_of_velocities(given, parts) for given in (initial, guess))
    options = dict(composition.options)
    for part in parts:
        options |= part.options
    if guess:
        options["guess"] = repr(guess)
    if composition.begin != 0.0:
        options["start_time"] = "begin"
    if drives := [f'"{name}": {text}' for part in parts for name, text in part.drives.items()]:
        options["inputs"] = f"{{{', '.join(drives)}}}"
    listed = "".join(f"    {name}={text},\n" for name, text in options.items())
    return [
        f"begin, until = {composition.begin!r}, {composition.begin + composition.length!r}",
        f"initial = {initial}",
        f"options = dict(\n{listed})" if listed else "options = {}",
    ]


def _of_velocities(given: dict[str, float], parts: Sequence[Part]) -> dict[str, float]:
    """Name rates of coordinates by quasi-velocities; leave those out that are none."""
    bound = {f"{name}_dot" for part in parts for name in part.rates}
    kept = {name: value for name, value in given.items() if name not in bound}
    return {name.replace("_dot", "_rate"): value for name, value in kept.items()}
