"""The docstrings of a problem: as they are, and as Markdown."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from re import MULTILINE
from types import ModuleType
from typing import Any, cast

from daesolve.gallery.letters import GREEK
from daesolve.plugins.registry import GROUP, Problem

CODE = "Modules"
"""The section of a docstring that says where things are in the code, and not what they are."""
SECTION = re.compile(r"(\w[\w ]*)\n-{3,}(?:\n|$)")
PRIMED = re.compile(rf"\b((?:[A-Za-z]|[A-Za-z]+_\w+|{'|'.join(sorted(GREEK))})|\))('+)(?!\w)")
BULLET = "* "
CODE_INDENT = 4


def summary(problem: Problem) -> str:
    """Return what a problem is: how its docstring opens, before what is set apart.

    That is the docstring of the module that defines the problem, as far as its file or an entry
    point names it; else of the module of its first model.
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
    """Return what a model is: how its docstring opens, as Markdown."""
    paragraphs = _opening(_split(inspect.getdoc(_plain(builder))))
    return " ".join(prose(_primed(block)) for block in paragraphs)


def prose(text: Any) -> str:
    """Return words such that Markdown shows them as they are, on one line; names stay code."""
    parts = re.split(r"(`[\w.]+`)", " ".join(str(text).split()))  # every other one is a name
    parts[::2] = [re.sub(r"([\\`*_<>\[\]|$])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _primed(text: str) -> str:
    """Return words with primes in place of the apostrophes behind symbols."""
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
        if isinstance(module, ModuleType):  # which some packages put objects in place of
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
