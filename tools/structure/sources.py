"""The source text of modules, and what they call."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)

Value = int | float | bool | list[str]
Measures = dict[str, Value]
"""Measured values by their names in the table."""


@dataclass(frozen=True)
class Module:
    """The source of a module.

    Parameters
    ----------
    name
        With dots; a package's `__init__.py` has the name of the package.
    path
        Its file.
    text
        The source text.
    """

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text)

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        """Its tokens."""
        return list(tokenize.generate_tokens(io.StringIO(self.text).readline))

    @property
    def is_package(self) -> bool:
        """Whether it is the `__init__.py` of a package."""
        return self.path.name == "__init__.py"

    def stands_in(self, package: str) -> bool:
        """Return whether the module is a package of this name or lies in one."""
        parents = self.name.split(".")
        return package in (parents if self.is_package else parents[:-1])


def modules_of(library: Path) -> list[Module]:
    """Read all modules of a library.

    Parameters
    ----------
    library
        The folder of its package.
    """
    found: list[Module] = []
    for path in sorted(library.rglob("*.py")):
        parts = path.relative_to(library.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        found.append(Module(".".join(parts), path, path.read_text(encoding="utf-8")))
    return found


def docstrings(module: Module) -> Iterator[ast.Expr]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(module.tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            first = node.body[0]
            if isinstance(first, ast.Expr):
                yield first


def called(call: ast.Call) -> str:
    """Return the last part of the name of a called object."""
    return last_name(call.func)


def last_name(node: ast.AST) -> str:
    """Return the last part of a dotted name; empty if it is not a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def calls(node: ast.AST) -> set[str]:
    """Return the names of everything that a piece of code calls."""
    return {called(part) for part in ast.walk(node) if isinstance(part, ast.Call)}
