"""How a run is repeated: its command line, and the lines of Python that do the same."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from typing import Any

from daesolve.formulations import FORMULATIONS, Projected, Regularised, Viscous
from daesolve.integration.run_options import DEFAULT_SAMPLES
from daesolve.reporting.document import USUAL
from daesolve.reporting.sampling import Document
from daesolve.solvers import SOLVERS
from daesolve.storage.encoding import is_mapping

OPTIONS = {"tolerance": "--rtol", "rtol": "--rtol", "atol": "--atol", "fixed_step": "--fixed-step"}
OWN_NUMBER = {Viscous.name: "mobility", Regularised.name: "speed"}
"""What the number behind a formulation's name is."""
WIDTH = 88
"""Where a command is broken."""


def command(document: Document, *more: str) -> str | None:
    """Return the command line that repeats a run; None where no problem was run by name.

    Every choice that was made by itself is made explicitly, so that another machine does the same.

    Parameters
    ----------
    document
        Of the run.
    *more
        Further words.
    """
    problem = document.get("path") or document["problem"]
    if problem is None:
        return None
    asked: Mapping[str, Any] = document.get("asked") or {}
    options: list[tuple[str, ...]] = [("--case", str(document["case"]))] if document["case"] else []
    if document["model"]:
        options.append(("--model", str(document["model"])))
    options += [("--set", f"{k}={_word(v)}") for k, v in asked.get("set", {}).items()]
    options += [("--initial", f"{k}={_word(v)}") for k, v in asked.get("initial", {}).items()]
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
        f"formulation={_formulation(document)}",
        f"solver={_solver(document)}",
    ]
    settings += [f"{name}={_literal(asked[name])}" for name in USUAL if name in asked]
    settings += _sampling_setting(document)
    settings += ["verify=True"] if document["verification"] else []
    lines = ["import daesolve as ds", ""]
    problem = document.get("path") or document["problem"]
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
        settings.insert(1, f"initial={_literal(_first_state(document))}")
        if document.get("start_time"):
            settings.insert(1, f"start_time={_literal(document['start_time'])}")
        lines.append(_called("run = ds.solve", ["system", *settings]))
    return "\n".join(lines)


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


def _rates(document: Document) -> tuple[float | str | None, Mapping[str, float | None]]:
    """Return the common rate, None where it is the case's own, and those that differ.

    Where it is not known what was asked for, it is what most goals had in the end.
    """
    asked: Mapping[str, Any] = document.get("asked") or {}
    if "formulation" in asked:
        outer: Mapping[str, Any] = asked["formulation"] or {}
        settings: Mapping[str, Any] = outer.get("settings", {})
        inner: Mapping[str, Any] = settings.get("inner") or {}
        settings = inner.get("settings", settings)
        return settings.get("rate"), settings.get("rates") or {}
    rates: Mapping[str, float | None] = document["rates"]
    given = [rate for rate in rates.values() if rate is not None]
    if not given:
        return None, rates
    common = Counter(given).most_common(1)[0][0]
    return common, {name: rate for name, rate in rates.items() if rate != common}


def _takes_rates(document: Document) -> bool:
    name = document["formulation"]
    outer, _, inner = name.partition(":")
    kind = FORMULATIONS.get((inner or "feedback") if outer == Projected.name else outer)
    return "rate" in getattr(kind, "__dataclass_fields__", {})


def _rate_words(document: Document) -> list[str]:
    if not _takes_rates(document):
        return []
    common, others = _rates(document)
    words = [] if common is None else [_word(common)]
    return words + [f"{n}={'off' if rate is None else _word(rate)}" for n, rate in others.items()]


def _formulation(document: Document) -> str:
    outer, _, inner = document["formulation"].partition(":")
    if outer in OWN_NUMBER:
        return _plain_formulation(outer, document, f"{OWN_NUMBER[outer]}={inner}")
    if outer == Projected.name:
        return f"ds.Projected({_plain_formulation(inner or 'feedback', document)})"
    return _plain_formulation(outer, document)


def _plain_formulation(name: str, document: Document, *own: str) -> str:
    kind = FORMULATIONS.get(name)
    if kind is None:
        return repr(name)
    settings = [*own]
    if _takes_rates(document):
        common, others = _rates(document)
        settings += [] if common is None else [f"rate={_literal(common)}"]
        settings += [f"rates={_literal(others)}"] if others else []
    return f"ds.{kind.__name__}({', '.join(settings)})"


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
