"""Problems: installed ones by name, and those in Python files by path."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from daesolve.core.preparation.extensions import BrokenPlugin, load, offered
from daesolve.core.preparation.request import Redundant
from daesolve.core.results.displayable import Displayable
from daesolve.core.system.system import ControlSystem, MechanicalSystem
from daesolve.errors import (
    ModelFileError,
    PluginError,
    Tell,
    UnknownNameError,
    in_words,
    is_one_of,
    unknown_name,
)
from daesolve.multibody.drawing.mechanism_drawing import drawing_of
from daesolve.multibody.model_files import ContactKind, FileMechanism, FileStart, read
from daesolve.multibody.model_files.parsing import SUFFIXES, digest_of_model
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.family import Case, Family, Structure, Values, choice

GROUP = "daesolve.problems"
HORIZON = 10.0
"""s"""


@dataclass(frozen=True, eq=False)
class Problem(Family, Displayable):
    """A family of systems with its cases.

    Parameters
    ----------
    name
        Lower case with hyphens.
    title
        A line for the list.
    models
        Name -> function of the structure that poses the system; the first is the default.
    cases
        At least one; the first is the default.
    sources
        Papers and books.
    structure
        Choices that rebuild the equations, with their defaults: a bool, an int or a `Choice`.
    start
        (start values, parameters, structure) -> guess of the states, or a mapping of models to such
        rules. Without it, start values are states, and are kept unchanged.
    start_values
        structure -> further names of start values, besides those that its cases use.
    scales
        (start values, parameters, structure) -> scale of goals by name, such as the energy scale.
    derived
        (start values, parameters, structure) -> parameters and discrete values that follow from the
        others unless they are given.
    analyses
        Name -> function that computes an `Answer` for a case.
    figures
        Name -> function of a run's document that draws a figure.
    measures
        Name -> `Measure`, a number that is computed for every member of a sweep.
    drawing
        Function of a run's document that describes what the bodies look like; None if there is
        nothing to draw. By default, points and rods are found automatically
        (`daesolve.multibody.drawing.drawing_of`).
    path, digest
        The file that defines it and the SHA-256 of its content; None for an installed plugin.

    Raises
    ------
    PosingError
        There is no model or no case, or two cases have the same name.

    Examples
    --------
    >>> import daesolve as ds
    >>> def oscillator():
    ...     q, p = ds.coordinates(x="m"), ds.parameters(stiffness=(4.0, "N/m"))
    ...     return ds.MechanicalSystem(
    ...         q, p, kinetic=q.dot.x**2 / 2, potential=p.stiffness * q.x**2 / 2
    ...     )
    >>> problem = ds.Problem(
    ...     name="oscillator",
    ...     title="A mass on a spring",
    ...     models={"cartesian": oscillator},
    ...     cases=[ds.Case("release", until=10.0, start={"x": 1.0})],
    ... )
    >>> run = problem.case("release", stiffness=9.0).solve(until=1.0)
    >>> round(run.end_state["x"], 6)  # cos 3
    -0.989992
    """

    def __repr__(self) -> str:
        models, cases = list(self.models), [case.name for case in self.cases]
        return f"Problem({self.name!r}, {self.title!r}, models={models}, cases={cases})"

    def case(
        self, name: str | None = None, *, model: str | None = None, **overrides: Any
    ) -> BoundCase:
        """Return a case, ready to run, with some parameters or structure changed.

        Parameters
        ----------
        name
            The case; None takes the first.
        model
            The model; None takes the case's model.
        **overrides
            Parameters and structure by name.

        Raises
        ------
        UnknownNameError, OutOfRangeError
            A name is unknown, or a value is not possible.
        """
        chosen = self.find_case(name)
        model = self.find_model(chosen.model if model is None else model)
        bound = BoundCase(self, chosen, model, {}, {}, {}, {})
        return bound.changed({**chosen.structure, **chosen.parameters, **overrides})


def problems() -> tuple[tuple[Problem, ...], tuple[BrokenPlugin, ...]]:
    """Load every installed problem; a broken one is named and does not affect the others.

    Returns
    -------
    problems
        Those that could be loaded, in the order of their names.
    broken
        The names of the others, each with the reason.
    """
    return offered(GROUP, _wrong)


def problem(name: str) -> Problem:
    """Return an installed problem by its name, or the problem in a file by its path.

    Parameters
    ----------
    name
        A name from `daesolve list`; a path that ends in `.py` to a file that defines `problem`,
        which is executed; or a path of a model file, MJCF or URDF (`.xml`, `.mjcf`, `.urdf`), which
        is read.

    Raises
    ------
    UnknownNameError
        No plugin offers a problem of this name.
    PluginError
        The plugin or the file could not be loaded, or defines no problem.
    ModelFileError, MissingPackageError
        The model file cannot be read (`daesolve.multibody.read`).
    """
    if is_model_file(name):
        return of_model_file(Path(name))
    if isinstance(name, str | Path) and str(name).endswith(".py"):
        return of_file(Path(name))
    return installed(name)


def installed(name: str) -> Problem:
    """Return an installed problem by its name; a path is not a name, and nothing is executed.

    Raises
    ------
    UnknownNameError
        No plugin offers a problem of this name.
    PluginError
        The plugin could not be loaded.
    """
    points = {point.name: point for point in entry_points(group=GROUP)}
    if is_one_of(name, points):
        return load(points[name], _wrong)
    if isinstance(name, str | Path) and (Path(name) / "manifest.json").is_file():
        raise UnknownNameError(
            f"{str(name)!r} is the directory of a run, not a problem: `daesolve report` shows it, "
            "and `daesolve resume` continues it"
        )
    raise unknown_name("problem", name, points)


def _wrong(name: str, given: object) -> str | None:
    if isinstance(given, Problem):
        return None
    return f"gives a {type(given).__name__}, but must give a daesolve.Problem"


def of_model_file(path: Path, digest: str | None = None) -> Problem:
    """Return the problem that a model file poses; nothing is executed.

    Parameters
    ----------
    path
        Of an MJCF or URDF file.
    digest
        The digest of the file and of those that it includes when a run began; None accepts any.

    Raises
    ------
    ModelFileError, MissingPackageError
        It cannot be read, or has changed.
    """
    found = digest_of(path)
    if digest is not None and found != digest:
        raise ModelFileError(
            f"{path}, or a file that it includes, has changed since the run began: give the "
            f"original files, whose SHA-256 begins with {digest[:12]}"
        )
    return Problem(**fields_of(path), path=path, digest=found)


def of_file(path: Path, digest: str | None = None, tell: Tell | None = None) -> Problem:
    """Execute a Python file and return the problem that it defines; a model file is read.

    The file may import the modules beside it, also later, when a model is posed. An installed
    module of the same name comes first, because a file must not replace what daesolve imports.

    Parameters
    ----------
    path
        Of the file.
    digest
        The SHA-256 that its content must have; None accepts any. The content that was checked is
        executed.
    tell
        Called with a sentence before the file is executed.

    Raises
    ------
    PluginError
        The file does not exist, has changed, cannot be executed, or defines no problem.
    """
    if is_model_file(path):
        return of_model_file(path, digest)
    content = _content(path)
    found = hashlib.sha256(content).hexdigest()
    if digest is not None and found != digest:
        raise PluginError(
            f"{path} has changed since the run began: give the original file, whose SHA-256 "
            f"begins with {digest[:12]}"
        )
    if tell is not None:
        tell(f"running {path}, the file that defines the problem")
    specification = importlib.util.spec_from_file_location(f"daesolve_file_{path.stem}", path)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)
    try:
        exec(compile(content, str(path), "exec", dont_inherit=True), vars(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(f"{path} cannot be run: {in_words(error)}") from error
    problem = getattr(module, "problem", None)
    if not isinstance(problem, Problem):
        raise PluginError(f"{path} must define `problem`, a daesolve.Problem{_wrapped(module)}")
    return replace(problem, path=path, digest=found)


def _wrapped(module: ModuleType) -> str:
    """Return how a problem is made of the first system of a module; nothing if there is none."""
    for name, value in vars(module).items():
        if isinstance(value, ControlSystem | MechanicalSystem):
            given = f'problem = ds.Problem({name.replace("_", "-").lower()!r}, title="...", '
            given += f'models={{"model": lambda: {name}}}, '
            given += 'cases=[ds.Case("start", start={...}, until=10.0)])'
            return f"; to run the system {name!r}, add `{given}`"
    return ""


def digest_of(path: Path) -> str:
    """Return the SHA-256 of the content of a file.

    For a model file it covers all files that belong to it.

    Raises
    ------
    PluginError, ModelFileError
        The file does not exist, or cannot be read.
    """
    if is_model_file(path):
        return digest_of_model(path)
    return hashlib.sha256(_content(path)).hexdigest()


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise PluginError(f"the file {path} does not exist")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise PluginError(f"{str(path)!r} cannot be read: {error}") from None


def is_model_file(name: object) -> bool:
    """Return whether a name is the name of a model file, by its suffix."""
    return isinstance(name, str | Path) and str(name).lower().endswith(SUFFIXES)


def fields_of(path: Path) -> dict[str, Any]:
    """Return the fields of the `Problem` of a model file.

    Raises
    ------
    ModelFileError, MissingPackageError
        As in `daesolve.multibody.read`.
    """

    @cache
    def touching(contacts: ContactKind) -> FileMechanism:
        return read(path, contacts=contacts)

    def posed(contacts: ContactKind) -> MechanicalSystem:
        return touching(contacts).system()

    mechanism = touching("rigid")

    def start(values: Values, parameters: Values, structure: Structure) -> dict[str, float]:
        return mechanism.start_with(values)

    def derived(values: Values, parameters: Values, structure: Structure) -> dict[str, float]:
        return mechanism.discrete_values_with(values)

    def start_values(structure: Structure) -> list[str]:
        return list(mechanism.start_values)

    return {
        "name": path.stem,
        "title": f"The model file {path.name}",
        "models": {"mechanism": posed},
        "structure": {"contacts": choice(**{kind: kind for kind in get_args(ContactKind)})},
        "cases": _cases(mechanism),
        "start": start,
        "start_values": start_values,
        "derived": derived,
        "drawing": drawing_of(mechanism),
    }


def _cases(mechanism: FileMechanism) -> list[Case]:
    """Return the starts of a model: where nothing is moved, and its keyframes."""
    name = "default" if "default" not in mechanism.starts else "unmoved"
    shared = mechanism.has_loops or mechanism.stands
    closed: Redundant = "minimum-norm" if shared else "error"
    starts = {name: FileStart({}, {}), **mechanism.starts}
    return [
        Case(name, HORIZON, start=start.values, inputs=start.inputs, redundant=closed)
        for name, start in starts.items()
    ]
