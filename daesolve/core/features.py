"""What features add to the core, which names the points where something can be added.

A feature registers a reference, `package.module:name`, that is imported when the core first asks
for it, or the thing itself. So the core imports no feature, and one that is not there adds nothing.
Those of daesolve are registered in `daesolve/__init__.py`; another package offers its own under the
entry point `daesolve.features`, as a mapping from points to references.

At a point for methods, each reference is a function. An `Extended` class has it as a method of the
same name: `system.to_c(path)` is `to_c(system, path)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from daesolve.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "daesolve.features"
_registered: dict[str, list[Reference]] = {}


def register(point: str, *additions: Any, when: str = "") -> None:
    """Add something at a point of the core, after what is there.

    Parameters
    ----------
    point
        Its name.
    additions
        References of the form `package.module:name`, or classes and functions themselves.
    when
        The attribute of what the core asks for without which they have nothing to do: they are
        imported where there is one.
    """
    _registered.setdefault(point, []).extend(_reference(one, when=when) for one in additions)
    references.cache_clear()


def added(point: str, of: object = None) -> tuple[Any, ...]:
    """Return what features add at a point: first those of other packages, then those of daesolve.

    Parameters
    ----------
    point
        Its name.
    of
        What is asked for; None asks for all.

    Raises
    ------
    PluginError
        What another package adds cannot be imported.
    """
    return tuple(one.load() for one in references(point) if one.serves(of))


class Reference(NamedTuple):
    """What is imported when it is first needed, if it is not `here`; `entry` says who offers it."""

    module: str
    name: str
    entry: EntryPoint | None = None
    here: Any = None
    when: str = ""

    def serves(self, asked: object) -> bool:
        """Return whether it has something to do."""
        return asked is None or not self.when or bool(getattr(asked, self.when))

    def load(self) -> Any:
        """Import it."""
        if self.here is not None:
            return self.here
        try:
            return getattr(import_module(self.module), self.name)
        except Exception as error:
            if self.entry is None:
                raise
            raise _unusable(self.entry, error) from error


@cache
def references(point: str) -> tuple[Reference, ...]:
    """Return what is offered at a point, before anything is imported."""
    own = _registered.get(point, ())
    there = (one for one in own if one.here is not None or _is_there(one.module))
    return *_installed(point), *there


def _reference(addition: Any, entry: EntryPoint | None = None, when: str = "") -> Reference:
    if isinstance(addition, str):
        module, _, name = addition.partition(":")
        return Reference(module, name, entry, when=when)
    return Reference(addition.__module__, addition.__name__, entry, addition, when)


def _installed(point: str) -> Iterator[Reference]:
    from importlib.metadata import entry_points  # which takes longer to import than daesolve

    for entry in entry_points(group=GROUP):
        try:
            points: Mapping[str, str | Iterable[Any]] = entry.load()
            given = points.get(point, ())
            additions = (given,) if isinstance(given, str) else given
            yield from [_reference(addition, entry) for addition in additions]
        except Exception as error:
            raise _unusable(entry, error) from error


def _unusable(entry: EntryPoint, error: Exception) -> PluginError:
    return PluginError(f"the feature {entry.name!r} ({entry.value}) cannot be imported: {error}")


def _is_there(module: str) -> bool:
    """Return whether there is a module, without importing the packages around it."""
    top, *inner = module.split(".")
    spec = find_spec(top)
    for part in inner:
        if spec is None:
            return False
        spec = PathFinder.find_spec(part, spec.submodule_search_locations)
    return spec is not None


def _methods(point: str) -> dict[str, Reference]:
    """Return the methods that features add at a point, by name.

    Raises
    ------
    PluginError
        Two of them have one name.
    """
    found: dict[str, Reference] = {}
    for one in references(point):
        other = found.setdefault(one.name, one)
        if other != one:
            raise PluginError(
                f"two features add {one.name!r} to the {point}: {other.module} and {one.module}"
            )
    return found


class _ExtendedType(type):
    """The type of extended classes, which show the added methods as `help` and documents ask."""

    _point = ""

    def __getattr__(cls, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            return super().__getattribute__(name)  # raises as usual
        if name in (methods := _methods(cls._point)):
            return methods[name].load()
        raise _unknown(f"type object {cls.__name__!r}", name, cls)

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *_methods(cls._point)})


class Extended(metaclass=_ExtendedType):
    """A class with the methods that features add at a point.

    Parameters
    ----------
    point
        Named where a class is defined: `class Trajectory(Extended, point="methods of runs")`.
    """

    _point: ClassVar[str]

    def __init_subclass__(cls, *, point: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if point:
            cls._point = point

    def __getattr__(self, name: str) -> Callable[..., Any]:
        kind = type(self)
        if name.startswith("_") or any(name in vars(base) for base in kind.__mro__):
            # Not there yet, or a property that failed: this raises why.
            return object.__getattribute__(self, name)
        if name in (methods := _methods(kind._point)):
            return MethodType(methods[name].load(), self)
        raise _unknown(f"{kind.__name__!r} object", name, self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_methods(type(self)._point)})


def _unknown(what: str, name: str, owner: object) -> AttributeError:
    known = [other for other in dir(owner) if not other.startswith("_")]
    close = get_close_matches(name, known)
    hint = f": did you mean {' or '.join(map(repr, close))}?" if close else ""
    # With `obj`, Python would print a second suggestion.
    return AttributeError(f"{what} has no attribute {name!r}{hint}", name=name)
