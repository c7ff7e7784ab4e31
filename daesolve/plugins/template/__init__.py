"""A template project: your own problem as a plugin, with its tests."""

from __future__ import annotations

import keyword
import re
from importlib.metadata import entry_points, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from daesolve.errors import OutOfRangeError, OutputExistsError
from daesolve.plugins.registry import GROUP

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 50
"""A longer name would not fit into the lines of the files."""

FILES = {
    "pyproject.toml": "pyproject.toml.jinja",
    "README.md": "README.md.jinja",
    ".gitignore": "gitignore.jinja",
    ".github/workflows/tests.yml": "tests.yml.jinja",
    "src/{module}/__init__.py": "problem.py.jinja",
    "src/{module}/py.typed": "py.typed.jinja",
    "tests/test_motion.py": "test_motion.py.jinja",
    "tests/test_page.py": "test_page.py.jinja",
}
"""The files to write, and their templates."""


def new_project(name: str, directory: str | Path = ".") -> Path:
    """Write a project with a problem to start from, its tests and its page.

    Parameters
    ----------
    name
        The name of the project and its problem: lower case with hyphens. The module has the same
        name with underscores.
    directory
        The parent of the project's directory.

    Returns
    -------
    The directory of the project.

    Raises
    ------
    OutOfRangeError
        The name is invalid, or already installed.
    OutputExistsError
        The directory is not empty, or cannot be created.
    """
    module = _module(name)
    project = Path(directory) / name
    _refuse_occupied(project)
    environment = Environment(
        autoescape=False, undefined=StrictUndefined, keep_trailing_newline=True
    )
    sources = files("daesolve.plugins.template") / "files"
    for target, source in FILES.items():
        text = environment.from_string((sources / source).read_text(encoding="utf-8")).render(
            name=name, module=module, daesolve_version=version("daesolve")
        )
        _write(project / target.format(module=module), text)
    return project


def _module(name: str) -> str:
    """Return the name of the module, or refuse that of the project."""
    if not NAME.fullmatch(name):
        raise OutOfRangeError(
            f"the name {name!r} must be lower case with hyphens and begin with a letter, "
            "as in 'my-problem'"
        )
    if len(name) > LONGEST:
        raise OutOfRangeError(f"the name {name!r} is longer than {LONGEST} letters")
    module = name.replace("-", "_")
    if keyword.iskeyword(module):
        raise OutOfRangeError(f"the name {name!r} is a Python keyword: choose another")
    for point in entry_points(group=GROUP):
        if point.name == name:
            raise OutOfRangeError(
                f"a problem {name!r} is already installed ({point.value}): choose another name"
            )
    if find_spec(module) is not None:
        raise OutOfRangeError(
            f"a module {module!r}, which {name!r} would hide, already exists: choose another name"
        )
    return module


def _refuse_occupied(project: Path) -> None:
    """Refuse a directory in which something would be overwritten."""
    if project.is_dir():
        if any(project.iterdir()):
            raise OutputExistsError(
                f"the directory {str(project)!r} is not empty: choose another name, or remove it"
            )
    elif project.exists():
        raise OutputExistsError(f"{str(project)!r} is a file: choose another name, or remove it")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputExistsError(f"{str(path)!r} cannot be written: {error.strerror}") from None
