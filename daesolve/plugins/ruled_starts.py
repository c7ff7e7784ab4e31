"""From which parameters the start of a case follows by its problem's own rules."""

from __future__ import annotations

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    ValuesView,
)
from typing import Any

from daesolve.errors import Named


class Noted(Named[Any]):
    """Values by name that note which of them are read.

    Parameters
    ----------
    values
        The values.

    Attributes
    ----------
    read
        The names of those that were.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values, "parameter")
        self.read = set[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:  # pyright: ignore
        """Return a value, or the default where there is none."""
        self.read.add(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.read.update(super().keys())
        return super().__iter__()

    def keys(self) -> KeysView[str]:  # pyright: ignore
        """Return the names; all values count as read then."""
        self.read.update(super().keys())
        return super().keys()  # pyright: ignore

    def items(self) -> ItemsView[str, Any]:  # pyright: ignore
        """Return names and values; all count as read then."""
        self.read.update(super().keys())
        return super().items()  # pyright: ignore

    def values(self) -> ValuesView[Any]:  # pyright: ignore
        """Return the values; all count as read then."""
        self.read.update(super().keys())
        return super().values()  # pyright: ignore


def settled(
    rules: Iterable[Callable[..., object] | None],
    start: Mapping[str, float],
    parameters: Mapping[str, float],
    structure: Mapping[str, Any],
) -> frozenset[str]:
    """Return the parameters that rules read.

    Parameters
    ----------
    rules
        Functions of start values, parameters and structure; each is called once.
    start, parameters, structure
        What they are called with.
    """
    noted = Noted(parameters)
    for rule in rules:
        if rule is not None:
            rule(start, noted, structure)
    return frozenset(noted.read & {*parameters})
