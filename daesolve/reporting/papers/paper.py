"""A paper in a plugin: its figures and tables, and the functions that reproduce them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from daesolve.core.preparation.extensions import BrokenPlugin, load, offered
from daesolve.errors import PosingError, is_one_of, unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUP = "daesolve.papers"


@dataclass(frozen=True)
class Compared:
    """A number or a statement of a paper, beside its exact value.

    Parameters
    ----------
    quantity
        What is compared.
    published
        The printed value.
    exact
        The computed value: a number, or words.
    unit
        Of the number.
    why
        What differs and why; empty if nothing does.
    """

    quantity: str
    published: str
    exact: float | int | str
    unit: str = ""
    why: str = ""


@dataclass(frozen=True, eq=False)
class Shown:
    """A reproduced figure or table.

    Parameters
    ----------
    rows
        Published and exact values.
    figures
        Drawings by title.
    formulas
        Formulas by title, in LaTeX without delimiters.
    note
        What a reader should know about its computation, in a sentence or two.
    """

    rows: Sequence[Compared] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict[str, "Figure"])
    formulas: Mapping[str, str] = field(default_factory=dict[str, str])
    note: str = ""


@dataclass(frozen=True, eq=False)
class Item:
    """A figure or a table of a paper.

    Parameters
    ----------
    name
        Where it is: "figure 2.4", "(4.1)".
    title
        What it shows.
    make
        (quick) -> the reproduced contents. A quick one takes a few seconds, with a shorter run or
        fewer members of a family.
    commands
        The commands that compute its parts.
    slow
        Whether quick runs leave it out.
    """

    name: str
    title: str
    make: Callable[[bool], Shown]
    commands: Sequence[str] = ()
    slow: bool = False


@dataclass(frozen=True, eq=False)
class Paper:
    """A publication to reproduce.

    Parameters
    ----------
    name
        Lower case with hyphens.
    title, source
        Of the publication.
    items
        The items to reproduce, in order.
    missing
        What is not reproduced, by its place, and why.

    Raises
    ------
    PosingError
        There are no items, or two have the same name.
    """

    name: str
    title: str
    source: str
    items: Sequence[Item]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        names = [item.name for item in self.items]
        if not names:
            raise PosingError(f"the paper {self.name!r} needs at least one item")
        if len(set(names)) < len(names):
            raise PosingError(f"two items of the paper {self.name!r} have the same name")


@dataclass(frozen=True, eq=False)
class MadeItem:
    """An item, and its result.

    Parameters
    ----------
    item
        Of the paper.
    shown
        The reproduced contents; None if there are none.
    why
        Why there are none.
    failed
        Whether the item failed.
    """

    item: Item
    shown: Shown | None
    why: str = ""
    failed: bool = False


@dataclass(frozen=True, eq=False)
class PaperResults:
    """A paper, and the results of its items.

    Parameters
    ----------
    paper
        The paper.
    items
        Each of its items, in order.
    quick
        Whether only quick items were reproduced.
    """

    paper: Paper
    items: tuple[MadeItem, ...]
    quick: bool

    @property
    def failed(self) -> tuple[MadeItem, ...]:
        """The items that failed."""
        return tuple(made for made in self.items if made.failed)


def papers() -> tuple[tuple[Paper, ...], tuple[BrokenPlugin, ...]]:
    """Load every installed paper; a broken one is named and does not affect the others.

    Returns
    -------
    papers
        Those that could be loaded, in the order of their names.
    broken
        The names of the others, each with the reason.
    """
    return offered(GROUP, _wrong)


def names() -> list[str]:
    """Return the names of the installed papers without loading them."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def paper(name: str) -> Paper:
    """Return an installed paper by its name.

    Raises
    ------
    UnknownNameError
        No plugin offers a paper of this name; the message lists the nearest.
    PluginError
        The plugin could not be loaded.
    """
    points = {point.name: point for point in entry_points(group=GROUP)}
    if not is_one_of(name, points):
        raise unknown_name("paper", name, points)
    return load(points[name], _wrong)


def _wrong(name: str, given: object) -> str | None:
    if not isinstance(given, Paper):
        return f"gives a {type(given).__name__}, but must give a daesolve.reporting.papers.Paper"
    if given.name != name:
        return f"gives a paper of the name {given.name!r}: use one name for both"
    return None
