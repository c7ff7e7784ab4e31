"""The files of a tree by the names of their modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from tools.reach.code import Named

ROOTS = ("", "problems/", "docs/", "tools/")
"""The folders from which modules of the repository are imported."""


def names_of_module(path: str) -> list[str]:
    """Return the names by which a Python file can be imported; none if it is no Python file."""
    if not path.endswith((".py", ".pyi")):
        return []
    names: list[str] = []
    for root in ROOTS:
        if path.startswith(root):
            parts = PurePosixPath(path[len(root) :]).with_suffix("").parts
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [name for name in names if name]


@dataclass(frozen=True)
class Reached:
    """The files that a name leads to.

    Parameters
    ----------
    followed
        Files whose own names count in turn.
    held
        Files that alone count: the `__init__` of each package on the way. It runs as well, but
        what it imports for others is not used; whatever breaks there breaks the tests that use it.
    """

    followed: set[str] = field(default_factory=set[str])
    held: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class Modules:
    """The modules of a tree.

    Parameters
    ----------
    named
        What each Python file names.
    """

    named: Mapping[str, Named]

    @cached_property
    def files(self) -> dict[str, list[str]]:
        """The file of each module, and the stub beside it."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.named):
            for name in names_of_module(path):
                found.setdefault(name, []).append(path)
        return found

    @cached_property
    def packages(self) -> set[str]:
        """Names with modules below them."""
        return {
            ".".join(name.split(".")[:end])
            for name in self.files
            for end in range(1, len(name.split(".")))
        }

    def below(self, package: str) -> set[str]:
        """Return the files of all modules of a package."""
        start = f"{package}."
        return {
            path
            for name, paths in self.files.items()
            if name == package or name.startswith(start)
            for path in paths
        }

    def find(self, names: Iterable[str]) -> Reached:
        """Return the files that full names lead to, with what packages pass on from elsewhere."""
        found = Reached()
        left, seen = list(names), set[str]()
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left.extend(self._find_one(name, found))
        return found

    def _find_one(self, name: str, found: Reached) -> list[str]:
        """Add the files of a name; return the names for which it stands."""
        here, stands_for = "", list[str]()
        parts = name.split(".")
        for count, part in enumerate(parts):
            if part == "*":
                found.followed.update(self.below(here))
                return stands_for
            files = self.files.get(here, [])
            exported = [
                self.named[path].exports[part] for path in files if self._exports(path, part)
            ]
            inner = f"{here}.{part}" if here else part
            if inner in self.files or inner in self.packages:
                stands_for += [full for full in exported if full != inner]
                here = inner
                if inner in self.packages:
                    found.held.update(self.files.get(inner, []))
                continue
            stands_for += [".".join([full, *parts[count + 1 :]]) for full in exported]
            if not exported:
                known = [path for path in files if part in self.named[path].defined]
                found.followed.update(known if here in self.packages and known else files)
            return stands_for
        found.followed.update(self.files.get(here) or self.below(here))
        return stands_for

    def _exports(self, path: str, name: str) -> bool:
        """Return whether a package passes on a name; other modules are followed as a whole."""
        is_package = PurePosixPath(path).stem == "__init__"
        return is_package and name in self.named[path].exports
