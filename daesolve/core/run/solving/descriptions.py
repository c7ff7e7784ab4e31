"""Formulations and solvers in the files of a run: names and settings, without executing anything.

    {"name": "two-gains", "settings": {...}}                      found by its name
    {"name": "mine", "class": "package.module:Mine", "settings": {...}}    found by its class

A class is used only if its module is already imported, or if `resume` receives an instance. The
file also names the versions of packages and the processor, on which a run depends too.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from daesolve.core.encoding import is_list, is_mapping, is_tuple, native
from daesolve.core.formulations import Formulation
from daesolve.core.formulations.formulation import settings_of
from daesolve.core.preparation.extensions import formulation_kind, installed_as, solver_kind
from daesolve.core.solvers import Solver
from daesolve.errors import DaesolveError, NotResumableError, UnsupportedError

Made = Solver | Formulation
CLASS = "class"
MADE_OF = {"name", "settings"}
"""What describes a solver or a formulation; `CLASS` may be there too."""
PACKAGES = ("daesolve", "casadi", "numpy", "scipy", "numba", "heyoka", "scikit-sundae", "Assimulo")
"""What computes; a run depends on their versions."""


def described(given: Made | None) -> dict[str, Any] | None:
    """Return a solver or a formulation by its name and settings.

    Raises
    ------
    UnsupportedError
        It could not be found again, or a setting is not a plain value.
    """
    if given is None:
        return None
    kind = type(given)
    settings = {name: _plain(kind, name, value) for name, value in settings_of(given).items()}
    if installed_as(kind) is not None:
        return {"name": given.name, "settings": settings}
    place = f"{kind.__module__}:{kind.__qualname__}"
    if kind.__module__ == "__main__" or _class_at(place) is not kind:
        raise UnsupportedError(
            f"a run with {kind.__name__} cannot be stored, because resuming would not find the "
            f"class in {kind.__module__!r}: define it at the top level of a module and import "
            "it from there, or install it with an entry point (see the guide to extending)"
        )
    return {"name": given.name, CLASS: place, "settings": settings}


def restored(saved: Mapping[str, Any] | None, base: type[Made], given: Sequence[Made] = ()) -> Any:
    """Return what a file describes.

    Parameters
    ----------
    saved
        From `described`.
    base
        `Formulation` or `Solver`.
    given
        Objects given from Python, whose classes may be used.

    Raises
    ------
    NotResumableError
        Its class is not available.
    """
    if saved is None:
        return None
    settings = {name: _value(value, given) for name, value in saved["settings"].items()}
    kind = _class_of(saved, base, given)
    try:
        return kind(**settings)
    except TypeError as error:
        raise NotResumableError(
            f"{saved['name']!r} of the run cannot be created from the settings in the manifest "
            f"({error}): resume with the version that wrote it"
        ) from error


def check_same(saved: Mapping[str, Any] | None, given: Made | None) -> None:
    """Refuse a solver or a formulation that is not the one with which a run began.

    Raises
    ------
    NotResumableError
        It is a different one, or has other settings.
    """
    if given is None:
        return
    settings = {n: _plain(type(given), n, value) for n, value in settings_of(given).items()}
    if saved is None or (given.name, settings) != (saved["name"], saved["settings"]):
        began = "one that was chosen automatically" if saved is None else saved
        raise NotResumableError(
            f"the run started with {began}, not with {given!r}: resume it with {began}"
        )


def _class_of(saved: Mapping[str, Any], base: type[Made], given: Sequence[Made]) -> type[Made]:
    for one in given:
        if isinstance(one, base) and one.name == saved["name"]:
            return type(one)
    option = "formulation" if base is Formulation else "solver"
    try:
        if CLASS not in saved:
            found = formulation_kind if base is Formulation else solver_kind
            return found(saved["name"])
        kind = _class_at(saved[CLASS])
    except DaesolveError as error:
        raise NotResumableError(
            f"the {option} {saved['name']!r} of the run is not available ({error}): install "
            f"it, or resume from Python with daesolve.resume(DIR, {option}=...)"
        ) from error
    if kind is None or not issubclass(kind, base):
        raise NotResumableError(
            f"the {option} {saved['name']!r} of the run is {saved[CLASS]}, which is not "
            "imported automatically, because that would execute code named by a file: resume "
            f"from Python with daesolve.resume(DIR, {option}=...)"
        )
    return kind


def _class_at(place: str) -> type[Made] | None:
    """Return the class at a place in a module that is imported already."""
    module, _, path = place.partition(":")
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return cast("type[Made]", found) if isinstance(found, type) else None


def _plain(kind: type, name: str, value: object) -> Any:
    """Return a setting as a file holds it."""
    value = native(value)
    if isinstance(value, Made):
        return described(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_mapping(value) and all(isinstance(key, str) for key in value):
        return {key: _plain(kind, name, entry) for key, entry in value.items()}
    if is_list(value) or is_tuple(value):
        return [_plain(kind, name, entry) for entry in value]
    raise UnsupportedError(
        f"a run with {kind.__name__} cannot be stored, because its setting {name!r} is a "
        f"{type(value).__name__}: give numbers, words, or tuples or mappings of them"
    )


def _value(saved: Any, given: Sequence[Made]) -> Any:
    """Return a setting as it was; a sequence is a tuple, so that settings can be compared."""
    if is_list(saved):
        return tuple(_value(entry, given) for entry in saved)
    if not is_mapping(saved):
        return saved
    if {*saved} - {CLASS} == MADE_OF and is_mapping(saved["settings"]):
        # A setting that is a formulation itself, as that which `Projected` wraps.
        return restored(cast("Mapping[str, Any]", saved), Formulation, given)
    return {name: _value(entry, given) for name, entry in saved.items()}


def versions() -> dict[str, str]:
    """Return the versions of the installed packages on which a run depends."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "python": platform.python_version()}


def processor() -> str:
    """Return the name of the processor: code compiled for another may round differently."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}".strip()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{platform.machine()} {names[0] if names else platform.processor()}".strip()
