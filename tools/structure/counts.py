"""Counts of entries, lines, names and words."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from structure.sources import FUNCTIONS, Measures, Module, calls, docstrings

LONG = 60
"""Functions with more lines than this are long."""
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def top_entries(library: Path) -> Measures:
    """Count the top-level entries of a library."""
    packages = [path.parent.name for path in library.glob("*/__init__.py")]
    modules = [path for path in library.glob("*.py") if path.name != "__init__.py"]
    return {
        "entries at the top": len(packages) + len(modules),
        "packages at the top": len(packages),
        "modules at the top": len(modules),
    }


def span(node: ast.stmt) -> range:
    """Return the line numbers of statements."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def code_lines(module: Module) -> int:
    """Count the lines of a module that hold code."""
    lines: set[int] = set()
    for token in module.tokens:
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for docstring in docstrings(module):
        lines.difference_update(span(docstring))
    return len(lines)


def sizes(modules: list[Module]) -> Measures:
    """Count packages, modules, lines, and the functions that are long."""
    longest = max(modules, key=lambda module: len(module.text.splitlines()))
    lengths = {
        f"{module.name}:{node.name}": function_lines(node)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, FUNCTIONS)
    }
    long = [f"{place} ({lines})" for place, lines in lengths.items() if lines > LONG]
    return {
        "packages": sum(module.is_package for module in modules),
        "modules": len(modules),
        "lines of code": sum(code_lines(module) for module in modules),
        "lines with docstrings, comments and blanks": sum(
            len(module.text.splitlines()) for module in modules
        ),
        "lines of the longest module": len(longest.text.splitlines()),
        "the longest module": [longest.name],
        f"functions of more than {LONG} lines": len(long),
        "long functions": long,
    }


def function_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function without its docstring."""
    documented = ast.get_docstring(function) is not None
    return len(span(function)) - (len(span(function.body[0])) if documented else 0)


def repeated_names(modules: list[Module]) -> Measures:
    """Count names of classes and of files that occur more than once."""
    classes = Counter(
        node.name
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    files = Counter(module.path.name for module in modules if not module.is_package)
    twice = [sorted(name for name, n in names.items() if n > 1) for names in (classes, files)]
    return {
        "public class names that occur more than once": len(twice[0]),
        "repeated class names": twice[0],
        "file names that occur more than once": len(twice[1]),
        "repeated file names": twice[1],
    }


def prose(module: Module) -> Iterator[str]:
    """Yield the strings, docstrings and comments of a module."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    for token in module.tokens:
        if token.type == tokenize.COMMENT:
            yield token.string


def words(modules: list[Module]) -> Measures:
    """Count how often forms of a word occur."""
    written = "\n".join(piece for module in modules for piece in prose(module)).lower()
    counts: Measures = {
        f"`{word}` in strings and comments": len(re.findall(rf"\b{word}\b", written))
        for word in ("told", "tells", "tell")
    }
    counts["`told` in the whole text"] = sum(
        len(re.findall(r"\btold\b", module.text)) for module in modules
    )
    return counts


def other_counts(modules: list[Module]) -> Measures:
    """Count the modules that call an SVD, and those that write reports."""
    with_svd = [
        module.name for module in modules if any("svd" in name for name in calls(module.tree))
    ]
    return {
        "modules that call an SVD": len(with_svd),
        "modules with an SVD": with_svd,
        "modules of reporting": sum(module.stands_in("reporting") for module in modules),
    }
