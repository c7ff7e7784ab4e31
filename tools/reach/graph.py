"""The graph of what reaches what, and the tests that a change reaches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

from tools.reach import rules
from tools.reach.code import Named, read
from tools.reach.modules import Modules, names_of_module

FOLDERS = (rules.LIBRARY, rules.PROBLEMS, rules.DOCS, "benchmarks/", "tests/", "tools/")
"""Nodes of their own: who names a folder reaches all that is in it."""


@dataclass(frozen=True)
class Graph:
    """Who uses which file.

    Parameters
    ----------
    files
        All files of the tree.
    followers
        By file: those that a change of it changes, and through them their own followers.
    holders
        By file: those that a change of it changes, but no change of what it imports.
    """

    files: frozenset[str]
    followers: Mapping[str, set[str]]
    holders: Mapping[str, set[str]]

    @property
    def tests(self) -> frozenset[str]:
        """The files that pytest collects."""
        return frozenset(path for path in self.files if rules.is_test(path))

    def reached(self, changed: Iterable[str]) -> frozenset[str]:
        """Return the test files that a change of files can reach."""
        found: set[str] = set()
        for path in changed:
            starts = self._first_reached(path)
            if starts is None:
                return self.tests
            found |= starts
        left = list(found)
        while left:
            new = self.followers.get(left.pop(), set[str]()) - found
            found |= new
            left += new
        return frozenset(found & self.tests)

    def _first_reached(self, path: str) -> set[str] | None:
        """Return a changed file with what uses it at once; None for everything."""
        if rules.reaches_everything(path):
            return None
        holders = self.holders.get(path, set[str]())
        if path.endswith((".py", ".pyi")):
            return {path} | holders
        holders = holders | self.followers.get(path, set[str]())
        if rules.is_prose(path):
            return {path} | holders
        beside = rules.readers_beside(path, self.files)
        return {path} | holders | beside if beside or holders else None


def graph_of(texts: Mapping[str, str], named: Mapping[str, Named]) -> Graph:
    """Make the graph of a tree.

    Parameters
    ----------
    texts
        The text of each file, of which only those of `pyproject.toml` files and of the registry of
        features are used.
    named
        What each Python file names; nothing for one that was deleted.
    """
    files = frozenset(texts)
    modules, points = Modules(named), rules.entry_points(texts)
    by_name: dict[str, list[str]] = {}
    for path in texts:
        if PurePosixPath(path).name not in ("__init__.py", "conftest.py"):
            by_name.setdefault(PurePosixPath(path).name, []).append(path)
    followers: dict[str, set[str]] = {}
    holders: dict[str, set[str]] = {}
    known = modules.files.keys() | modules.packages
    added = rules.added_by_features(texts)
    upward = [*rules.upward_imports(texts), *_through_points(named, added)]
    for path, its in named.items():
        names = _with_upward(path, its, upward, modules) | rules.added_methods(path, its, added)
        reached = modules.find(names | rules.names_beside_imports(path, its, points, known))
        followed = reached.followed | rules.folders_in_strings(path, its, FOLDERS)
        followed |= rules.files_in_strings(path, its, by_name)
        followed = {other for other in followed if rules.can_use(path, other)}
        held = reached.held | _packages_of(path, files)
        if rules.is_test(path):
            run = rules.conftests(path, files)
            held |= run | rules.mirrored(path, files)
            followed |= run - {"tests/conftest.py"}
        for other in followed:
            followers.setdefault(other, set()).add(path)
        for other in held:
            holders.setdefault(other, set()).add(path)
    for path, folder in ((path, folder) for path in texts for folder in FOLDERS):
        if path.startswith(folder):
            followers.setdefault(path, set()).add(folder)
    # The pages print programs, and pages are made from all problems.
    for folder in (rules.LIBRARY, rules.PROBLEMS):
        followers.setdefault(folder, set()).add(rules.DOCS)
    return Graph(files, followers, holders)


def _through_points(
    named: Mapping[str, Named], added: Mapping[str, Iterable[str]]
) -> list[tuple[str, str]]:
    """Return each module that asks what is added at a point, with each thing that is.

    They count as imports against the order of layers. Methods do not: who uses one names it.
    """
    return [
        (names_of_module(path)[-1], name)
        for path, its in named.items()
        if path.startswith(rules.LIBRARY) and path != rules.REGISTRY
        for point in its.strings & added.keys()
        if not point.startswith(rules.METHODS)
        for name in added[point]
    ]


def _with_upward(
    path: str, named: Named, upward: Iterable[tuple[str, str]], modules: Modules
) -> set[str]:
    """Return what a file names: of imports against the order of layers, those that it uses."""
    names = set(named.dotted)
    for module, above in upward:
        files = modules.files.get(module, [])
        if path in files:
            names = {name for name in names if not f"{name}.".startswith(f"{above}.")}
        elif any(
            (named.attributes | named.strings) & modules.named[file].functions for file in files
        ):
            names.add(above)
    return names


def _packages_of(path: str, files: Collection[str]) -> set[str]:
    """Return the `__init__` files that run before a module."""
    return {f"{parent}/__init__.py" for parent in PurePosixPath(path).parents} & set(files)


def read_all(texts: Mapping[str, str], *, processes: int = 1) -> dict[str, Named]:
    """Read what each Python file names."""
    paths = sorted(path for path in texts if names_of_module(path) and texts[path])
    empty = {path: Named() for path in texts if names_of_module(path)}
    jobs = [paths[start::8] for start in range(8)]
    pieces = [[(path, texts[path]) for path in job] for job in jobs]
    if processes == 1:
        return empty | dict(chain.from_iterable(map(_read_some, pieces)))
    with ProcessPoolExecutor(processes) as pool:
        return empty | dict(chain.from_iterable(pool.map(_read_some, pieces)))


def _read_some(files: Iterable[tuple[str, str]]) -> list[tuple[str, Named]]:
    found: list[tuple[str, Named]] = []
    for path, text in files:
        is_package = PurePosixPath(path).stem == "__init__"
        found.append((path, read(text, names_of_module(path)[-1], is_package=is_package)))
    return found


def tree_at(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the texts of the files of a checkout that the graph needs; "" for all others."""
    return {
        path: (root / path).read_text(encoding="utf-8")
        if names_of_module(path) or path.endswith("pyproject.toml")
        else ""
        for path in paths
    }
