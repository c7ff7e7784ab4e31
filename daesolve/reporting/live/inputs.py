"""Inputs that a run was given as expressions, and sliders for the numbers in these."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import casadi as ca

from daesolve.core.expressions.described_expressions import described, expressions
from daesolve.core.posing.symbols import parameters
from daesolve.core.posing.tables import uses_in
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.system.driving import named_symbols
from daesolve.core.system.system import System
from daesolve.errors import DaesolveError

LONGEST = 200
"""Characters of an expression."""


@dataclass(frozen=True)
class GivenInputs:
    """The inputs of a run that are no numbers.

    Parameters
    ----------
    words
        What each is, by name.
    labels
        Of the parameters that stand for numbers in them.
    """

    words: Mapping[str, str] = field(default_factory=dict[str, str])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


def opened_inputs(system: System, prepared: Prepared) -> tuple[Prepared, GivenInputs]:
    """Return a run with parameters instead of the numbers in its inputs, if these are expressions.

    Parameters
    ----------
    system
        As it was posed, with its inputs open.
    prepared
        The run.
    """
    names = [name for name in system.inputs.names if name not in prepared.system.inputs.names]
    outputs: Mapping[str, Any] = prepared.system.outputs
    meanings: dict[str, ca.SX] = {name: outputs[name][0] for name in names}
    seen = named_symbols(system)
    written = {
        name: _in_words(meaning)
        for name, meaning in meanings.items()
        if not uses_in([meaning]) and {entry.name() for entry in ca.symvar(meaning)} <= {*seen}
    }
    words = {name: written.get(name, "a table or a law over time") for name in names}
    plain = prepared, GivenInputs(words)
    if not names or len(written) < len(names):
        return plain
    numbers: list[tuple[str, float, str]] = []
    given = {name: _opened(name, meaning, seen, numbers) for name, meaning in meanings.items()}
    more = parameters(**{symbol: value for symbol, value, _ in numbers})
    symbols = ca.vertcat(ca.SX(0, 1), *[one for _, own in given.values() for one in own])
    try:
        request = replace(
            prepared.request,
            inputs={n: ca.substitute(v, symbols, more.vector) for n, (v, _) in given.items()},
        )
        opened = replace(system, parameters=system.parameters.joined(more))
        labels = {symbol: label for symbol, _, label in numbers}
        return prepare_once(opened, request), GivenInputs(words, labels)
    except DaesolveError:
        return plain


def _in_words(meaning: ca.SX) -> str:
    text = str(meaning)
    inner = text[1:-1]
    depths = list(accumulate((c == "(") - (c == ")") for c in inner))
    whole = text.startswith("(") and text.endswith(")") and min(depths, default=0) >= 0
    text = inner if whole else text
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _is_plain(number: float) -> bool:
    """Return whether a number is no choice of a user: 0, 1, or a multiple of pi."""
    return abs(number) in (0.0, 1.0) or (number / math.pi).is_integer()


def _opened(
    name: str, meaning: ca.SX, seen: Mapping[str, ca.SX], numbers: list[tuple[str, float, str]]
) -> tuple[ca.SX, list[ca.SX]]:
    """Return an expression with symbols instead of its numbers, and these."""
    saved = described([meaning])
    names = [str(entry) for entry in saved["names"]]
    symbols: list[ca.SX] = []
    steps = list(saved["steps"])
    exponents = {step[2] for step in steps if step[0] in ("pow", "constpow")}
    for place, (operation, *operands) in enumerate(steps):
        if operation == "const" and place not in exponents and not _is_plain(operands[0]):
            symbol = f"{name}_number_{len(symbols) + 1}"
            numbers.append((symbol, float(operands[0]), f"{operands[0]:g} in {name}"))
            symbols.append(ca.SX.sym(symbol))
            steps[place] = ["input", len(names) + len(symbols) - 1]
    (found,) = expressions({**saved, "steps": steps}, [*[seen[n] for n in names], *symbols])
    return found, symbols
