"""What a file reaches that no import shows: commands, entry points, fixtures, folders and data."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import PurePosixPath

from tools.reach.code import Named
from tools.structure.sources import last_name

LIBRARY, PROBLEMS, DOCS = "daesolve/", "problems/", "docs/"

EVERYTHING = ("pyproject.toml", "problems/pyproject.toml", ".ci/*", "tools/ci/*", "tools/reach/*")
"""What decides how tests run, and which ones."""

PLUGIN = "daesolve_pytest.py"
"""pytest loads it beside every test, but only its fixtures import the library."""

PROSE = ("*.md", "docs/*", ".github/*", "LICENSE", "*/LICENSE", "CITATION.cff")
"""Files that only those use that name them, or their folder; perhaps nobody."""

COMMAND = "daesolve.__main__"
LISTING = (
    COMMAND,
    "daesolve.cli",
    "daesolve.reporting.gallery",
    "daesolve.reporting.papers",
    "daesolve.problems",
    "daesolve.plugins.template",
    "daesolve.plugins.registry.problems",
)
"""What goes through all installed problems or papers, or opens one whose name no constant says."""

OPENING = (
    "daesolve.problem",
    "daesolve.plugins.registry.problem",
    "daesolve.plugins.registry.installed",
)

REGISTRY = "daesolve/__init__.py"
"""Where the features of the library are registered."""
METHODS = "methods of "
"""How the names of points begin at which each function becomes a method of its name."""

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.\w+)+(:\w+)?")
_FILE = re.compile(r"[\w.*/-]*\.\w+")


def entry_points(texts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the names of modules by entry point, in their groups, as all distributions say."""
    found: dict[str, dict[str, str]] = {}
    for path, text in texts.items():
        if PurePosixPath(path).name == "pyproject.toml":
            groups = tomllib.loads(text).get("project", {}).get("entry-points", {})
            for group, points in groups.items():
                found.setdefault(group, {}).update(
                    {name: target.partition(":")[0] for name, target in points.items()}
                )
    return found


def upward_imports(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pairs of modules that import against the order of the layers, when called.

    Such a module offers a method, as `run.plot`, of something far above it. Only who uses one of
    its methods reaches what is above.
    """
    tool = tomllib.loads(texts.get("pyproject.toml", "")).get("tool", {}).get("importlinter", {})
    lines = {
        line
        for contract in tool.get("contracts", ())
        for line in contract.get("ignore_imports", ())
    }
    pairs = (line.partition("->") for line in sorted(lines))
    return [(module.strip(), above.strip()) for module, _, above in pairs]


def added_by_features(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the full names of what features add to the core, by point."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(ast.parse(texts.get(REGISTRY, ""))):
        if isinstance(node, ast.Call) and last_name(node.func) == "register":
            point, *names = (str(a.value) for a in node.args if isinstance(a, ast.Constant))
            found.setdefault(point, []).extend(name.replace(":", ".") for name in names)
    return found


def added_methods(path: str, named: Named, added: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the full names of the methods of features that a file uses.

    The library uses none, but calls their functions.
    """
    if path.startswith(LIBRARY):
        return set()
    used = named.attributes | named.strings
    return {
        name
        for point, names in added.items()
        for name in names
        if point.startswith(METHODS) and name.rpartition(".")[2] in used
    }


def names_beside_imports(
    path: str, named: Named, points: Mapping[str, Mapping[str, str]], modules: Collection[str]
) -> set[str]:
    """Return full names that a file reaches by its strings and its fixtures.

    Parameters
    ----------
    path, named
        The file, and what it names.
    points
        As `entry_points` returns them.
    modules
        The names of all modules and packages.
    """
    if path == REGISTRY:  # whose names count where they are asked for
        return set()
    names = {text.replace(":", ".") for text in named.strings if _DOTTED.fullmatch(text)}
    if path.startswith(LIBRARY):
        # Others are groups of entry points and the like.
        return {name for name in names if ".".join(name.split(".")[:2]) in modules}
    names |= {
        COMMAND for text in named.strings if text == "daesolve" or text.startswith("daesolve ")
    }
    if "drift" in named.arguments | named.strings:
        names.add("daesolve_pytest")
    return names | set(_modules_of_plugins(named.dotted | names, named, points))


def _modules_of_plugins(
    names: Iterable[str], named: Named, points: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Yield the modules of the problems that a file opens; of all of them in doubt."""
    names = set(names)
    targets = {name: target for group in points.values() for name, target in group.items()}
    opens = any(name in OPENING for name in names)
    doubtful = opens and (not named.opened or not named.opened <= set(targets))
    lists = any(f"{name}.".startswith(f"{listed}.") for name in names for listed in LISTING)
    if lists or doubtful:
        yield from targets.values()
    elif opens:
        yield from (targets[name] for name in named.opened if name is not None)
    for group in names & set(points):
        yield from points[group].values()


def folders_in_strings(path: str, named: Named, folders: Iterable[str]) -> set[str]:
    """Return the top folders that a file outside the library names alone, as in `ROOT / "docs"`."""
    if path.startswith(LIBRARY):
        return set()
    return {f"{text.strip('/')}/" for text in named.strings} & set(folders)


def files_in_strings(path: str, named: Named, by_name: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the files that a file outside the library names: by their name, a path or a pattern.

    Parameters
    ----------
    path, named
        The file, and what it names.
    by_name
        The paths of all files by their last part.
    """
    if path.startswith(LIBRARY):
        return set()
    found: set[str] = set()
    for text in named.strings:
        for token in _FILE.findall(text) if "." in text else ():
            last = token.rpartition("/")[2]
            if "*" in last:
                found.update(
                    name for paths in by_name.values() for name in paths if fnmatch(name, token)
                )
            else:
                found.update(name for name in by_name.get(last, ()) if f"/{name}".endswith(token))
    return found


def conftests(path: str, files: Iterable[str]) -> set[str]:
    """Return the `conftest.py` files that pytest runs for a file.

    What that of `tests/` itself imports does not count: it only skips tests and empties a cache.
    """
    parents = [f"{parent}/" if str(parent) != "." else "" for parent in PurePosixPath(path).parents]
    return {f"{parent}conftest.py" for parent in parents} & set(files)


def mirrored(path: str, files: Iterable[str]) -> set[str]:
    """Return the files of the library's folder that the folder of a test mirrors."""
    parts = path.split("/")
    if len(parts) < 3:
        return set()
    return {other for other in files if other.startswith(f"{LIBRARY}{parts[1]}/")}


def readers_beside(path: str, files: Iterable[str]) -> set[str]:
    """Return the Python files that may read a file of data: of its folder, or the next above."""
    files = set(files)
    for parent in PurePosixPath(path).parents:
        beside = {
            name for name in files if PurePosixPath(name).parent == parent and name.endswith(".py")
        }
        if str(parent) == "." or beside:
            return beside if str(parent) != "." else set()
    return set()


def can_use(path: str, other: str) -> bool:
    """Return whether a file can use another: the library uses only itself, problems only both."""
    if path.startswith(LIBRARY):
        return other.startswith(LIBRARY)
    return not path.startswith(PROBLEMS) or other.startswith((LIBRARY, PROBLEMS))


def is_prose(path: str) -> bool:
    """Return whether only those use a file that name it."""
    return any(fnmatch(path, pattern) for pattern in PROSE)


def reaches_everything(path: str) -> bool:
    """Return whether a change of a file can change any test."""
    return path == PLUGIN or any(fnmatch(path, pattern) for pattern in EVERYTHING)


def is_test(path: str) -> bool:
    """Return whether pytest collects a file."""
    return fnmatch(path, "tests/*") and fnmatch(PurePosixPath(path).name, "test_*.py")
