"""Rewrite what was posed in other symbols: every expression changes, all else stays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, cast

import casadi as ca

from daesolve.core.encoding import is_list, is_mapping, is_tuple
from daesolve.core.posing.symbols import Auxiliaries, SymbolVector

OWN = "daesolve."


class Rewriting:
    """Changes every expression in an object; objects without expressions keep their identity.

    Parameters
    ----------
    change
        Maps an expression to its replacement, or returns the same object to leave it unchanged.
    """

    def __init__(self, change: Callable[[ca.SX], ca.SX]) -> None:
        self.change = change
        self._known: dict[int, tuple[object, Any]] = {}

    def __call__(self, value: Any) -> Any:
        """Return the value with its expressions changed."""
        if value is None or isinstance(value, bool | int | float | str | bytes | type | ca.DM):
            return value
        if isinstance(value, ca.SX):
            return self.change(value)
        if id(value) not in self._known:
            # Objects held here keep their identity.
            self._known[id(value)] = value, self._compound(value)
        return self._known[id(value)][1]

    def _compound(self, value: Any) -> Any:
        if isinstance(value, Auxiliaries):
            meanings = self(value.meanings)
            if meanings is value.meanings:
                return value
            other = copy.copy(value)
            other.meanings = meanings
            return other
        if isinstance(value, SymbolVector):
            return value
        if is_mapping(value):
            entries = {key: self(entry) for key, entry in value.items()}
            return entries if any(entries[key] is not value[key] for key in value) else value
        if is_list(value) or is_tuple(value):
            listed = [self(entry) for entry in value]
            changed = any(new is not old for new, old in zip(listed, value, strict=True))
            kept = listed if is_list(value) else tuple(listed)
            return kept if changed else value
        if is_dataclass(value) and type(value).__module__.startswith(OWN):
            return self._dataclass(value)
        if callable(value):
            return self._function(value)
        return value

    def _dataclass(self, value: Any) -> Any:
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        changed = {name: self(entry) for name, entry in own.items()}
        if all(changed[name] is own[name] for name in own):
            return value
        # Symbols that the object created, such as the reaction of a goal, must stay the same.
        other: Any = object.__new__(cast("type[Any]", type(value)))
        for name, entry in changed.items():
            object.__setattr__(other, name, entry)
        return other

    def _function(self, value: Any) -> Any:
        """Wrap a function, such as that of a reset, to change the expressions it returns."""

        def rewritten(*given: Any) -> Any:
            return Rewriting(self.change)(value(*given))

        return rewritten


def substitution(symbols: ca.SX, meanings: ca.SX) -> Callable[[ca.SX], ca.SX]:
    """Return a function that substitutes expressions for symbols."""

    def change(expression: ca.SX) -> ca.SX:
        if not ca.depends_on(expression, symbols):
            return expression
        return ca.substitute(expression, symbols, meanings)

    return change


def expressions_in(value: Any) -> Iterator[ca.SX]:
    """Return every expression in an object; a reset's function is called for only one guard."""
    found: list[ca.SX] = []

    def take(expression: ca.SX) -> ca.SX:
        found.append(expression)
        return expression

    walk = Rewriting(take)
    walk(value)
    yield from found
