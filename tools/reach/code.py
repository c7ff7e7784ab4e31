"""What the code of a file names: modules, their attributes, and strings."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tools.structure.sources import DOCUMENTED, last_name

SILENT = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
"""Nodes that name nothing."""
IMPORTING = {"import_module", "__import__", "find_spec"}
OPENING = {"problem", "installed"}
"""Functions that open a problem by its name."""

_IMPORT_IN_TEXT = re.compile(r"^[ \t]*(?:import|from) +([\w.]+)", re.MULTILINE)
_MODULE_RUN = re.compile(r"-m +([\w.]+)")


@dataclass(frozen=True)
class Named:
    """What a file names.

    Parameters
    ----------
    dotted
        Full names of what it imports, with the attributes that it uses:
        `daesolve.core.run.solving.solve`; `package.*` is every module of a package.
    strings
        Its string constants, without docstrings.
    attributes
        The attributes that it uses of any object.
    functions
        The functions and methods that it defines.
    arguments
        Parameters of its functions, which may be fixtures.
    opened
        The problems that it opens by name; None stands for a name that is not a constant.
    exports
        The names that importing it offers from elsewhere, with their full names.
    defined
        The names that its top level defines itself.
    """

    dotted: frozenset[str] = frozenset()
    strings: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()
    opened: frozenset[str | None] = frozenset()
    exports: dict[str, str] = field(default_factory=dict[str, str])
    defined: frozenset[str] = frozenset()


@dataclass
class _Reading:
    """What has been read of a file so far."""

    package: str
    module: str
    dotted: set[str] = field(default_factory=set[str])
    aliases: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    chains: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    strings: set[str] = field(default_factory=set[str])
    attributes: set[str] = field(default_factory=set[str])
    functions: set[str] = field(default_factory=set[str])
    arguments: set[str] = field(default_factory=set[str])
    opened: set[str | None] = field(default_factory=set[str | None])


def read(text: str, module: str, *, is_package: bool) -> Named:
    """Read what a file names.

    Parameters
    ----------
    text
        Its source.
    module
        Its name.
    is_package
        Whether it is an `__init__`, from which relative imports start one level lower.
    """
    tree = ast.parse(text)
    package = module if is_package else module.rpartition(".")[0]
    reading = _Reading(package, module)
    _read_nodes(tree, reading)
    exports = {
        alias: full
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias, full in _imported(node, package)
    }
    return Named(
        dotted=frozenset(_used(reading)),
        strings=frozenset(reading.strings),
        attributes=frozenset(reading.attributes),
        functions=frozenset(reading.functions),
        arguments=frozenset(reading.arguments),
        opened=frozenset(reading.opened),
        exports=exports,
        defined=frozenset(_defined(tree)),
    )


def _read_nodes(tree: ast.Module, reading: _Reading) -> None:  # noqa: C901
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                _read_string(node.value, reading)
        elif isinstance(node, ast.Name):
            reading.chains.add((node.id,))
        elif isinstance(node, ast.Attribute):
            chain, rest = _chain(node, reading)
            reading.chains.add(chain)
            left.extend(rest)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias, full in _imported(node, reading.package):
                reading.aliases.setdefault(alias, set()).add(full)
        else:
            if isinstance(node, ast.Call):
                _read_call(node, reading)
            elif isinstance(node, ast.FunctionDef):
                reading.functions.add(node.name)
            elif isinstance(node, ast.arg):
                reading.arguments.add(node.arg)
            left.extend(part for part in _inside(node) if not isinstance(part, SILENT))


def _inside(node: ast.AST) -> Iterable[ast.AST]:
    """Return the parts of a node that count: no docstring, nothing for type checkers alone."""
    if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
        return node.orelse
    if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        return [part for part in ast.iter_child_nodes(node) if part is not node.body[0]]
    return ast.iter_child_nodes(node)


def _chain(node: ast.Attribute, reading: _Reading) -> tuple[tuple[str, ...], list[ast.AST]]:
    """Return a dotted name in parts; or nothing, and the object whose attribute it is."""
    parts: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        reading.attributes.add(inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name):
        return (inner.id, *reversed(parts)), []
    return (), [inner]


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, str]]:
    """Yield the names that an import binds, with their full names; "" binds nothing of use."""
    if isinstance(node, ast.Import):
        for name in node.names:
            if name.asname or "." not in name.name:
                yield name.asname or name.name, name.name
            else:
                yield name.name.partition(".")[0], name.name.partition(".")[0]
                yield name.name, name.name
        return
    base = node.module or ""
    if node.level:
        parents = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*parents, *filter(None, [base])])
    for name in node.names:
        if name.name == "*":
            yield "", base
        else:
            yield name.asname or name.name, f"{base}.{name.name}"


def _used(reading: _Reading) -> set[str]:
    """Return the full names of everything imported, with the attributes that are used."""
    found = set(reading.dotted)
    uses: dict[str, list[tuple[str, ...]]] = {}
    for chain in reading.chains:
        if chain:
            uses.setdefault(chain[0], []).append(chain[1:])
    for alias, fulls in reading.aliases.items():
        first, *rest = alias.split(".")
        # `import a.b` binds a; when a.b is used, the chains of a say so.
        if rest and any(list(use[: len(rest)]) == rest for use in uses.get(first, [])):
            continue
        if alias not in uses and any(other.startswith(f"{alias}.") for other in reading.aliases):
            continue
        # A name that is never used is imported for its effect, or for others to import.
        for use in uses.get(alias, [()]):
            found |= {".".join([full, *use]) for full in fulls}
    return found


def _read_call(call: ast.Call, reading: _Reading) -> None:
    name = last_name(call.func)
    first = call.args[0] if call.args else None
    if name in OPENING:
        reading.opened.add(str(first.value) if isinstance(first, ast.Constant) else None)
    if name in IMPORTING and isinstance(first, ast.JoinedStr):
        start = first.values[0]
        if isinstance(start, ast.Constant):
            reading.dotted.add(f"{str(start.value).rpartition('.')[0]}.*")
        elif isinstance(start, ast.FormattedValue) and last_name(start.value) == "__name__":
            reading.dotted.add(f"{reading.module}.*")


def _read_string(value: str, reading: _Reading) -> None:
    """Keep a string; if it is code, what it names counts like the names of the file."""
    reading.strings.add(value)
    reading.dotted.update(_MODULE_RUN.findall(value))
    names = _IMPORT_IN_TEXT.findall(value)
    if not names:
        return
    try:
        tree = ast.parse(textwrap.dedent(value))
    except (SyntaxError, ValueError):
        reading.dotted.update(names)  # a piece of code: all of the modules
        return
    inner = _Reading("", "")
    _read_nodes(tree, inner)
    reading.dotted |= _used(inner)
    reading.strings |= inner.strings
    reading.opened |= inner.opened
    reading.attributes |= inner.attributes


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))
