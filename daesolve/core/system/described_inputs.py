"""Inputs of a run as plain data: for a manifest, and for sweeps in other processes.

    {"number": 2.0}  {"text": "sin(t)"}  {"table": {...}}  {"expression": {...}}
    {"sampled": {..., "law": {"expression": {...}}}}       {"anew": "the law 'c' in Python"}

For expressions see `described_expressions`: reading them executes nothing. An input marked "anew"
cannot be stored; the user gives it again to resume the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from daesolve.core.encoding import is_mapping
from daesolve.core.expressions.described_expressions import described, expressions
from daesolve.core.posing.goals import as_scalar
from daesolve.core.posing.sampled import LawArguments, SampledLaw, split
from daesolve.core.posing.symbols import symbol
from daesolve.core.posing.tables import Table, data_of, uses_in, with_data
from daesolve.errors import NotResumableError, PosingError, is_number

KINDS = ("number", "text", "table", "expression", "sampled", "anew")


def described_inputs(given: Mapping[str, Any], seen: Mapping[str, ca.SX]) -> dict[str, Any]:
    """Return the inputs of a run as plain data.

    Parameters
    ----------
    given
        The inputs by name; see `driving`.
    seen
        The symbols by name that expressions and laws may contain.
    """
    return {name: _described(value, seen) for name, value in given.items()}


def restored_input(saved: Mapping[str, Any]) -> Any:
    """Return the input that data describes.

    It is a number, a text, a table, a law or `StoredExpressions`.

    Raises
    ------
    NotResumableError
        The input was not stored, or this version does not know its format.
    """
    kind = next(iter(saved), "")
    if kind == "anew":
        raise NotResumableError(
            f"{saved['anew']} is not stored on disk: give it again (inputs={{...}})"
        )
    if kind not in KINDS:
        raise NotResumableError(f"{saved!r} does not describe an input")
    if kind == "table":
        return with_data(saved["table"])
    if kind == "expression":
        return StoredExpressions(saved["expression"])
    if kind == "sampled":
        law = saved["sampled"]
        written = StoredExpressions(law["law"]["expression"])
        low, high = (float(end) for end in law["limits"])
        states = {str(name): float(value) for name, value in law["states"].items()}
        numbers = [float(law[name]) for name in ("period", "delay", "before")]
        stored_law = WrittenLaw(written, tuple(states))
        return SampledLaw(
            str(law["name"]), numbers[0], stored_law, numbers[1], states, (low, high), numbers[2]
        )
    return saved[kind]


@dataclass(frozen=True, eq=False)
class StoredExpressions:
    """Stored expressions.

    Parameters
    ----------
    saved
        The data, as stored by `described_expressions`.
    """

    saved: Mapping[str, Any]

    def of(self, symbols: Mapping[str, ca.SX]) -> list[ca.SX]:
        """Return the expressions in the given symbols."""
        names = [str(name) for name in self.saved.get("names", ())]
        for name in names:
            if name not in symbols:
                raise PosingError(
                    f"an input is written in {name!r}, which the system does not have"
                )
        return expressions(self.saved, [symbols[name] for name in names])


@dataclass(frozen=True, eq=False)
class WrittenLaw:
    """A stored sampled law, traced like the original function."""

    written: StoredExpressions
    states: tuple[str, ...]

    def __call__(self, seen: Mapping[str, ca.SX]) -> Any:
        """Return the value, and the next states if there are any."""
        value, *following = self.written.of(seen)
        return (value, dict(zip(self.states, following, strict=True))) if self.states else value


def _described(value: Any, seen: Mapping[str, ca.SX]) -> dict[str, Any]:
    if is_mapping(value):
        return dict(value)
    if is_number(value):
        return {"number": float(value)}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, Table):
        return {"table": data_of(value)}
    if isinstance(value, ca.SX):
        return _expression([value]) or {"anew": f"the expression {value}"}
    if isinstance(value, SampledLaw):
        return _sampled(value, seen)
    return {"anew": f"{value!r}"}


def _sampled(law: SampledLaw, seen: Mapping[str, ca.SX]) -> dict[str, Any]:
    owner = f"the sampled law {law.name!r}"
    parts: list[Any] = [law.law]
    if callable(law.law):
        if not law.traced:
            return {"anew": owner}
        own = {state: symbol(state) for state in law.states}
        value, following = split(owner, law.law(LawArguments({**seen, **own})), law.states)
        parts = [value, *(following[state] for state in law.states)]
    written = _expression([as_scalar(owner, part) for part in parts])
    if written is None:
        return {"anew": owner}
    words = {"name": law.name, "period": law.period, "delay": law.delay, "before": law.before}
    ends = [str(end) if math.isinf(end) else end for end in law.limits]
    return {"sampled": {**words, "states": dict(law.states), "limits": ends, "law": written}}


def _expression(parts: Sequence[ca.SX]) -> dict[str, Any] | None:
    """Return expressions as data; None if they contain tables."""
    return None if uses_in(parts) else {"expression": described(parts)}
