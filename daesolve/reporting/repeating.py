"""How to repeat a run: its command line, and the equivalent lines of Python."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from daesolve.core.encoding import is_list, is_mapping
from daesolve.core.formulations import FORMULATIONS, Formulation
from daesolve.core.preparation.naming import formulation_named, named_in
from daesolve.core.run.integration.sampling import DEFAULT_SAMPLES
from daesolve.core.run.solving.descriptions import CLASS, MADE_OF, described
from daesolve.core.solvers import SOLVERS
from daesolve.errors import DaesolveError
from daesolve.reporting.document import USUAL, plain
from daesolve.reporting.sampling import Document

RATES = ("rate", "rates")
OPEN: tuple[object, ...] = (None, {})
"""Settings that leave the choice to the library."""
OPTIONS = {"tolerance": "--rtol", "rtol": "--rtol", "atol": "--atol", "fixed_step": "--fixed-step"}
OPTION = re.compile(r"(--[a-z-]+)")
WIDTH = 88
"""Where a command is broken."""


def marked_up(words: str | None) -> Markup | None:
    """Return a command for a page, unbroken at the hyphens of its options; None stays None."""
    if words is None:
        return None
    option = Markup('<span class="option">{}</span>')
    pieces = OPTION.split(words)
    return Markup("").join(
        option.format(piece) if place % 2 else escape(piece) for place, piece in enumerate(pieces)
    )


def command(document: Document, *more: str) -> str | None:
    """Return the command line that repeats a run; None if there is none.

    There is none if no problem was run by name, if the formulation has settings that the command
    line does not support, or if the run continues one that is not on disk, or at another time.

    Every automatic choice becomes explicit, so that another machine does the same.

    Parameters
    ----------
    document
        Of the run.
    *more
        Further words.
    """
    problem = document.get("path") or document["problem"]
    after = _after_words(document)
    if problem is None or after is None or not _has_words(document):
        return None
    asked: Mapping[str, Any] = document.get("asked") or {}
    options: list[tuple[str, ...]] = [("--case", str(document["case"]))] if document["case"] else []
    if document["model"]:
        options.append(("--model", str(document["model"])))
    options += [("--set", f"{k}={_word(v)}") for k, v in asked.get("set", {}).items()]
    options += [("--initial", f"{k}={_word(v)}") for k, v in asked.get("initial", {}).items()]
    options += after
    options.append(("--until", _word(_until(document))))
    options += _sampling_words(document)
    options.append(("--formulation", document["formulation"]))
    options += [("--rate", rate) for rate in _rate_words(document)]
    options.append(("--solver", document["solver"]))
    options += [
        (OPTIONS[name], _word(value))
        for name, value in document["tolerances"].items()
        if name in OPTIONS
    ]
    options += [
        (f"--{name.replace('_', '-')}", str(asked[name])) for name in USUAL if name in asked
    ]
    options += [("--verify",)] if document["verification"] and "--verify" not in more else []
    options += [(word,) for word in more]
    return _broken(["daesolve run " + shlex.quote(str(problem)), *map(shlex.join, options)])


def python(document: Document) -> str:
    """Return the lines of Python that repeat a run."""
    asked: Mapping[str, Any] = document.get("asked") or {}
    settings = [
        f"until={_literal(_until(document))}",
        f"formulation={_made(_formulation(document))}",
        f"solver={_solver(document)}",
    ]
    settings += [f"{name}={_literal(asked[name])}" for name in USUAL if name in asked]
    settings += _sampling_setting(document)
    settings += ["verify=True"] if document["verification"] else []
    lines = ["import daesolve as ds", *_imports(_formulation(document)), ""]
    problem = document.get("path") or document["problem"]
    before, settings[1:1] = _before(document)
    lines += before
    if problem is not None:
        chosen = [_literal(document["case"])] if document["case"] else []
        chosen += [f"model={_literal(document['model'])}"] if document["model"] else []
        chosen += [f"{name}={_literal(value)}" for name, value in asked.get("set", {}).items()]
        if asked.get("initial"):
            settings.insert(1, f"initial={_literal(asked['initial'])}")
        lines.append(_called(f"case = ds.problem({_literal(problem)}).case", chosen))
        lines.append(_called("run = case.solve", settings))
    else:
        settings.insert(1, f"parameters={_literal(document['parameters'])}")
        if not document.get("continues"):
            settings.insert(1, f"initial={_literal(_first_state(document))}")
            if document.get("start_time"):
                settings.insert(1, f"start_time={_literal(document['start_time'])}")
        lines.append(_called("run = ds.solve", ["system", *settings]))
    return "\n".join(lines)


def _after_words(document: Document) -> list[tuple[str, str]] | None:
    """Return the words for the run that this one continues; None if there are none for it."""
    before: Mapping[str, Any] | None = document.get("continues")
    if before is None:
        return []
    if not before["directory"] or document.get("start_time") != before["time"]:
        return None
    words = [("--after", before["directory"])]
    within = before["time"] != before["end_time"]
    return [*words, ("--from", _word(before["time"]))] if within else words


def _before(document: Document) -> tuple[list[str], list[str]]:
    """Return lines for the run that this one continues, and the settings that continue it."""
    before: Mapping[str, Any] | None = document.get("continues")
    if before is None:
        return [], []
    place, directory = _literal(before["time"]), _literal(before["directory"])
    within = before["time"] != before["end_time"]
    lines: list[str] = []
    if not before["directory"]:
        lines = ["# before: the run that this one continues, which was not stored"]
        run = f"before.at({place})" if within else "before"
    else:
        file = f", source={_literal(document['path'])}" if document.get("path") else ""
        run = f"ds.resume({directory}{file}).at({place})" if within else ""
        run = run or f"ds.Trajectory.from_run({directory})"
    moved = document.get("start_time") != before["time"]
    time = [f"start_time={_literal(document['start_time'])}"] if moved else []
    return lines, [f"initial={run}", *time]


def _sampling(document: Document) -> Mapping[str, Any]:
    """Return when samples were taken; nothing where that was left open or is not known."""
    asked: Mapping[str, Any] = document.get("sampling") or {}
    if asked.get("kind") == "every":
        span = abs(_until(document) - document.get("start_time", 0.0))
        if asked["interval"] == span / (DEFAULT_SAMPLES - 1):
            return {}
    return asked


def _sampling_words(document: Document) -> list[tuple[str, str]]:
    asked = _sampling(document)
    if not asked:
        return []
    if asked["kind"] == "every":
        return [("--every", _word(asked["interval"]))]
    times = asked.get("times")
    return [("--at", "events" if times is None else ",".join(map(_word, times)))]


def _sampling_setting(document: Document) -> list[str]:
    asked = _sampling(document)
    if not asked:
        return []
    if asked["kind"] == "every":
        return [f"at=ds.every({asked['interval']!r})"]
    times = asked.get("times")
    return ["at=ds.every_event()" if times is None else f"at={times!r}"]


def _until(document: Document) -> float:
    return document.get("until", document["end_time"])


def _word(value: Any) -> str:
    """Return a value as the command line takes it, which reads back to the same."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _formulation(document: Document) -> Mapping[str, Any]:
    """Return the formulation by its name and settings, as a run on disk keeps it.

    Of a run in memory its title is known, and the rates that most goals had in the end.
    """
    asked: Mapping[str, Any] = document.get("asked") or {}
    if asked.get("formulation"):
        return asked["formulation"]
    rates = {} if "formulation" in asked else _common(document["rates"])
    return _titled(document["formulation"], rates)


def _titled(title: str, rates: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a formulation by its title, with the one that it wraps, and rates if it takes them."""
    try:
        kind, behind = named_in(title)
    except DaesolveError:
        return {"name": title, "settings": {}}
    settings = dict(rates) if _takes_rates(kind) else {}
    if kind.wraps is not None:
        settings[kind.wraps[0]] = _titled(behind, rates)
    elif behind and kind.number is not None:
        settings[kind.number] = float(behind)
    return {"name": kind.name, "settings": settings}


def _common(rates: Mapping[str, float | None]) -> dict[str, Any]:
    """Return the rate that most goals have, None if none has one, and those that differ."""
    given = [rate for rate in rates.values() if rate is not None]
    common = Counter(given).most_common(1)[0][0] if given else None
    others = {name: rate for name, rate in rates.items() if rate != common or not given}
    return {"rate": common, "rates": others}


def _takes_rates(kind: type[Formulation]) -> bool:
    return "rate" in getattr(kind, "__dataclass_fields__", {})


def _rates(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rates of a formulation, or of the one that it wraps, that are not left open."""
    settings: Mapping[str, Any] = made["settings"]
    for value in settings.values():
        if _is_made(value):
            return _rates(value)
    return {name: settings[name] for name in RATES if settings.get(name) not in OPEN}


def _has_words(document: Document) -> bool:
    """Return whether the command line makes the same formulation."""
    asked: Mapping[str, Any] = document.get("asked") or {}
    wanted = asked.get("formulation")
    try:
        found = formulation_named(document["formulation"], _rates(_formulation(document)))
        return wanted is None or plain(described(found)) == plain(wanted)
    except DaesolveError:
        return False


def _rate_words(document: Document) -> list[str]:
    rates = _rates(_formulation(document))
    words = [_word(rates["rate"])] if "rate" in rates else []
    others: Mapping[str, float | None] = rates.get("rates", {})
    return words + [f"{n}={'off' if rate is None else _word(rate)}" for n, rate in others.items()]


def _is_made(value: Any) -> bool:
    """Return whether a setting is a formulation itself."""
    return is_mapping(value) and {*value} - {CLASS} == MADE_OF and is_mapping(value["settings"])


def _imports(made: Mapping[str, Any]) -> list[str]:
    """Return the lines that import a user's formulation and the one that it wraps."""
    inner = [line for v in made["settings"].values() if _is_made(v) for line in _imports(v)]
    if made["name"] in FORMULATIONS:
        return inner
    module, _, name = _place(made).partition(":")
    if module:
        return [f"from {module} import {name.partition('.')[0]}", *inner]
    return [
        f"# {made['name']} is not installed here: create it with its original settings",
        *inner,
    ]


def _place(made: Mapping[str, Any]) -> str:
    """Return the module and the class of a formulation of one's own; "" where it is not known."""
    if CLASS in made:
        return made[CLASS]
    try:
        kind, _ = named_in(made["name"])
    except DaesolveError:
        return ""
    return f"{kind.__module__}:{kind.__qualname__}"


def _made(made: Mapping[str, Any]) -> str:
    """Return a formulation as Python; one of the library without settings that are left open."""
    kind, settings = FORMULATIONS.get(made["name"]), dict(made["settings"])
    if kind is None:
        name = _place(made).partition(":")[2]
        if not name:
            return _literal(made["name"])
    else:
        name = f"ds.{kind.__name__}"
        settings = {key: value for key, value in settings.items() if value not in OPEN}
    return f"{name}({', '.join(f'{key}={_setting(v)}' for key, v in settings.items())})"


def _setting(value: Any) -> str:
    """Return a setting as Python reads it back; a file holds a tuple as a list."""
    if is_list(value):
        return f"({''.join(f'{_setting(entry)}, ' for entry in value).rstrip(' ')})"
    return _made(value) if _is_made(value) else _literal(value)


def _solver(document: Document) -> str:
    kind = SOLVERS.get(document["solver"])
    if kind is None:
        return repr(document["solver"])
    given = [f"{name}={_literal(value)}" for name, value in document["tolerances"].items()]
    return f"ds.{kind.__name__}({', '.join(given)})"


def _first_state(document: Document) -> dict[str, float]:
    return {name: values[0] for name, values in document["states"].items() if values}


def _literal(value: Any) -> str:
    """Return a value as Python reads it back."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if is_mapping(value):
        return f"{{{', '.join(f'{_literal(k)}: {_literal(v)}' for k, v in value.items())}}}"
    return repr(value)


def _called(name: str, arguments: list[str]) -> str:
    """Return a call, on one line where it fits, else with an argument a line."""
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(_wrapped(f"    {argument},") for argument in arguments), ")"])


def _wrapped(line: str) -> str:
    """Return a line of a call, broken before an entry of a dictionary where it is too long."""
    first, *entries = re.split(r'(?<=,) (?="[^"]*": )', line)
    lines = [first]
    for entry in entries:
        if len(lines[-1]) + len(entry) + 1 <= WIDTH:
            lines[-1] += f" {entry}"
        else:
            lines.append(f"        {entry}")
    return "\n".join(lines)


def _broken(words: list[str]) -> str:
    """Return words in lines that fit, each but the last continued."""
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 <= WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}")
    return " \\\n".join(lines)
