"""The page of a problem as Markdown: its docstrings, its figures and its animation beside it."""

from __future__ import annotations

import functools
import inspect
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from re import MULTILINE
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.solving.early_ends import reported_otherwise
from daesolve.errors import DegenerateConstraintError, VariantError
from daesolve.export.equation_sections import sections, symbols_of
from daesolve.export.forms import GREEK
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.family import Case, Choice
from daesolve.plugins.registry import GROUP, Problem
from daesolve.reporting import facts, repeating
from daesolve.reporting.animation import animate
from daesolve.reporting.document import (
    ReportError,
    document,
    file_stem,
    never_begun,
    replace_file,
    with_drawing,
)
from daesolve.reporting.gallery.pictures import ANIMATION, write_figures
from daesolve.reporting.opening import with_opening

if TYPE_CHECKING:
    from jinja2 import Template

EVENTS_SHOWN = 8
NOTES_SHOWN = 8
SECONDS = 8.0
PICTURES_A_SECOND = 20.0

CODE = "Modules"
"""The section of a docstring that describes the code, not the problem."""
SECTION = re.compile(r"(\w[\w ]*)\n-{3,}(?:\n|$)")
PRIMED = re.compile(rf"\b((?:[A-Za-z]|[A-Za-z]+_\w+|{'|'.join(sorted(GREEK))})|\))('+)(?!\w)")
BULLET = "* "
CODE_INDENT = 4


@dataclass(frozen=True)
class ParameterLine:
    """A parameter: its default, its value in the case, and its range."""

    name: str
    symbol: str
    default: str
    here: str
    unit: str
    range: str


@dataclass(frozen=True)
class StateLine:
    """A state: its symbol, unit and value at the start."""

    name: str
    symbol: str
    unit: str
    start: str


def write_page(
    problem: Problem,
    directory: Path | str,
    case: str | None = None,
    until: float | None = None,
) -> Path:
    """Run a case of a problem, verify it and write its page: equations, drift, figures.

    Parameters
    ----------
    problem
        The problem; `daesolve.plugins.registry(NAME)` returns an installed one.
    directory
        Receives `NAME.md` and the directory `NAME` with the figures and `animation.html`. It is
        created if it does not exist; files of an earlier page are replaced.
    case
        The case to run; None takes the first.
    until
        The end of the run, s; None takes the case's horizon.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    UnknownNameError, PosingError, InconsistentStateError
        The case is unknown, or cannot be posed or started.
    ReportError
        The problem's drawing fails for the run.

    Notes
    -----
    The page contains neither wall times nor versions: the same run gives the same text. A run that
    ends early is reported too.
    """
    bound = problem.case(case)
    horizon = bound.case.until if until is None else until
    run = _drawing_added(problem, _run(bound, horizon))
    equations = sections(bound.system, bound.system.dynamics)
    target, stem = Path(directory), file_stem(problem.name)
    beside = target / stem
    figures = write_figures(problem, run, beside)
    animation = _write_animation(problem, run, beside)
    text = _template().render(
        problem=problem,
        case=bound.case,
        model=bound.model,
        until=horizon,
        opening=opening(problem),
        mechanics=mechanics(problem),
        models=[(name, about_model(builder)) for name, builder in problem.models.items()],
        structure=_structure(problem, bound),
        sections=equations,
        conditions=any(r"\left[ " in section.text for section in equations),
        parameters=_parameters(bound),
        states=_states(bound, run),
        outputs=bound.system.dynamics.labels,
        cases=[(entry, _start(entry)) for entry in problem.cases],
        run=run | {"message": run["message"].removesuffix(".")},
        outcome=_outcome(run),
        digits=facts.agreement(run),
        agreeing=facts.agreeing(facts.agreement(run) or 0.0),
        separation=facts.separation(run) if run["verification"] else "",
        changes=facts.changes(run),
        remarks=_remarks(run),
        events=run["events"][:EVENTS_SHOWN],
        notes=_distinct(run.get("notes", [])),
        figures=figures,
        animation=animation,
        command=None if not run["times"] else repeating.command(run),
        python=None if not run["times"] else repeating.python(run),
    )
    return replace_file(target / f"{stem}.md", re.sub(r"\n{3,}", "\n\n", text))


def _run(bound: BoundCase, until: float) -> dict[str, Any]:
    """Return the document of the run, however it ended; of a Python file by its name alone."""
    try:
        with reported_otherwise():
            run = bound.solve(until, verify=True)
    except DegenerateConstraintError as error:
        run = cast(Trajectory, error.run)
    except VariantError as error:
        found = cast(Trajectory | None, error.run)
        if found is None:
            return never_begun(bound.identity(), bound.case.start_time, error)
        run = found
    path = bound.problem.path
    record = with_opening(document(run, bound.identity()), run)
    return record | {"path": None if path is None else path.name}


def _drawing_added(problem: Problem, run: dict[str, Any]) -> dict[str, Any]:
    """Return the document with its drawing.

    Raises
    ------
    ReportError
        The problem's rule for it fails.
    """
    drawn = with_drawing(run, problem.drawing)
    if len(drawn["notes"]) > len(run["notes"]):
        raise ReportError(f"the problem {problem.name!r}: {drawn['notes'][-1]}")
    return drawn


def _write_animation(problem: Problem, run: dict[str, Any], directory: Path) -> str | None:
    """Write the player of a run's drawing, and return its file; None if nothing is drawn."""
    if "drawing" not in run or len(run["times"]) < 2:
        return None
    animate(
        run,
        directory / ANIMATION,
        seconds=SECONDS,
        rate=PICTURES_A_SECOND,
        drawing=problem.drawing,
    )
    return f"{directory.name}/{ANIMATION}"


def _structure(problem: Problem, bound: BoundCase) -> list[tuple[str, str, str]]:
    """Return for each structural choice its options, and the choice of the case."""
    taken = bound.full_structure
    lines: list[tuple[str, str, str]] = []
    for name, entry in problem.structure.items():
        if isinstance(entry, Choice):
            options = ", ".join(entry.options)
        else:
            options = "yes, no" if isinstance(entry, bool) else "a whole number"
        lines.append((name, options, facts.exact(taken[name])))
    return lines


def _parameters(bound: BoundCase) -> list[ParameterLine]:
    """Return a line for each parameter that does not follow from others."""
    system = bound.system
    symbols, dynamics = symbols_of(system), system.dynamics
    units = dict(zip(system.parameters.names, system.parameters.units, strict=True))
    values, derived = bound.full_parameters, bound.derived
    return [
        ParameterLine(
            name,
            symbols.get(name, ""),
            facts.exact(dynamics.values[name]),
            facts.exact(values[name]),
            str(units.get(name, "")),
            str(interval),
        )
        for name, interval in dynamics.posed_ranges.items()
        if name not in derived
    ]


def _states(bound: BoundCase, run: Mapping[str, Any]) -> list[StateLine]:
    symbols, labels = symbols_of(bound.system), bound.system.dynamics.labels
    start = facts.start_state(run) if run["times"] else {}
    units = zip(labels.states, labels.state_units, strict=True)
    return [
        StateLine(name, symbols.get(name, ""), str(unit), _value(start.get(name)))
        for name, unit in units
    ]


def _value(value: float | None) -> str:
    """Return a number for reading, without the sign of a zero."""
    return facts.NOTHING if value is None else facts.short(value + 0.0, 6)


def _start(case: Case) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in case.start.items())


def _outcome(run: Mapping[str, Any]) -> str:
    """Say how the run ended, and why where it did not reach its end."""
    words = facts.OUTCOMES.get(run["outcome"]) or run["outcome"]
    return f"{words[:1].upper()}{words[1:]} at t = {facts.short(run['end_time'], 10)} s"


def _remarks(run: Mapping[str, Any]) -> list[str]:
    """Return the notes of the goals, those that several share with all their names."""
    shared: dict[str, list[str]] = {}
    for name, entry in run["drift"].items():
        if entry["note"]:
            shared.setdefault(entry["note"], []).append(name)
    return [f"{', '.join(names)}: {note}" for note, names in shared.items()]


def _distinct(notes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(notes))[:NOTES_SHOWN]


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=False, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters.update(
        prose=prose, short=facts.short, bounded=facts.bounded, correction=facts.correction
    )
    own: dict[str, Callable[..., Any]] = {"code": code, "cell": cell, "fenced": fenced}
    environment.filters.update(own | {"quoted": shlex.quote})
    source = files("daesolve.reporting.gallery").joinpath("page.md.jinja").read_text("utf-8")
    return environment.from_string(source)


def code(name: Any) -> str:
    """Return a name as Markdown code, whatever it contains."""
    text = " ".join(str(name).split())
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


def cell(name: Any) -> str:
    """Return a name as code for a table, where a bar would end the cell."""
    return code(name).replace("|", "\\|")


def fenced(text: str, language: str) -> str:
    """Return lines of a program as a block of Markdown."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def summary(problem: Problem) -> str:
    """Return the description of a problem: the opening of its docstring, before any section.

    The docstring is that of the module that defines the problem, if its file or an entry point
    names it; otherwise of the module of its first model.
    """
    return " ".join(" ".join(block.split()) for block in _opening(_blocks(_home(problem))))


def opening(problem: Problem) -> list[str]:
    """Return the same as paragraphs of Markdown."""
    return [prose(_primed(block)) for block in _opening(_blocks(_home(problem)))]


def mechanics(problem: Problem) -> str:
    """Return the rest of its docstring and of that of its first model's module, as Markdown.

    Indented blocks stay as they are set.
    """
    home, posed = _home(problem), _module(next(iter(problem.models.values())))
    blocks = _blocks(home)
    rest = blocks[len(_opening(blocks)) :]
    if posed is not home:
        rest += _blocks(posed)[1:]
    return _markdown(rest)


def about_model(builder: Callable[..., Any]) -> str:
    """Return the description of a model: the opening of its docstring, as Markdown."""
    paragraphs = _opening(_split(inspect.getdoc(_plain(builder))))
    return " ".join(prose(_primed(block)) for block in paragraphs)


def prose(text: Any) -> str:
    """Return words on one line so that Markdown shows them literally; names stay code."""
    parts = re.split(r"(`[\w.]+`)", " ".join(str(text).split()))  # every other one is a name
    parts[::2] = [re.sub(r"([\\`*_<>\[\]|$]|&(?=#?\w+;))", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _primed(text: str) -> str:
    """Return words with primes instead of the apostrophes behind symbols."""
    return PRIMED.sub(lambda found: found[1] + "\N{PRIME}" * len(found[2]), text)


def _home(problem: Problem) -> ModuleType | None:
    """Return the module that defines a problem."""
    if problem.path is not None:
        return _module_of_file(problem.path.resolve())
    for point in entry_points(group=GROUP, name=problem.name):
        module = sys.modules.get(point.module)
        if module is not None and getattr(module, point.attr, None) is problem:
            return module
    return _module(next(iter(problem.models.values())))


def _module_of_file(path: Path) -> ModuleType | None:
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):  # some packages put other objects there
            file: str | None = vars(module).get("__file__")
            if file is not None and Path(file).resolve() == path:
                return module
    return None


def _module(builder: Callable[..., Any]) -> ModuleType | None:
    return inspect.getmodule(_plain(builder))


def _plain(builder: Any) -> Any:
    while isinstance(builder, functools.partial):
        builder = cast(Any, builder).func
    return builder


def _blocks(module: ModuleType | None) -> list[str]:
    """Return the paragraphs and indented blocks of a module's docstring, without where code is."""
    return _split(None if module is None else module.__doc__)


def _split(docstring: str | None) -> list[str]:
    text = inspect.cleandoc(docstring or "").split(f"{CODE}\n{'-' * len(CODE)}")[0]
    return [block for block in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")) if block.strip()]


def _opening(blocks: list[str]) -> list[str]:
    """Return the first paragraph, and the second where it is words."""
    wordy = len(blocks) > 1 and not blocks[1].startswith((" ", BULLET, "-"))
    return blocks[: 2 if wordy and not SECTION.match(blocks[1]) else 1]


def _markdown(blocks: list[str]) -> str:
    """Return paragraphs, lists and indented blocks as Markdown."""
    parts: list[str] = []
    margin = 0
    for block in blocks:
        indent = len(block) - len(block.lstrip(" "))
        if indent < CODE_INDENT:
            margin = 2 if block.startswith((BULLET, " ")) else 0
            parts.append(_paragraph(block))
            continue
        lines = [line[CODE_INDENT + margin :] for line in block.splitlines()]
        fence = " " * margin + "```"
        body = "\n".join(" " * margin + line for line in lines)
        if parts and parts[-1].endswith(f"\n{fence}"):
            parts[-1] = f"{parts[-1].removesuffix(fence)}\n{body}\n{fence}"
        else:
            parts.append(f"{fence}text\n{body}\n{fence}")
    return "\n\n".join(parts)


def _paragraph(block: str) -> str:
    """Return a paragraph, items of a list, or a section of a docstring, whose title is set bold."""
    section = SECTION.match(block)
    if section:
        return f"**{section[1]}**\n\n{prose(_primed(block[section.end() :]))}".strip()
    items = re.split(rf"^{re.escape(BULLET)}", _primed(block), flags=MULTILINE)
    margin = "  " if block.startswith(" ") else ""
    lines = [margin + prose(items[0])] if items[0].strip() else []
    return "\n".join([*lines, *(BULLET + prose(item) for item in items[1:])])
