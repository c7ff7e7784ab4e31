"""What a plugin says of a paper: its figures and tables, and what makes each of them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from daesolve.errors import PosingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Compared:
    """A number or a statement of a paper, beside what exact computation gives.

    Parameters
    ----------
    quantity
        What it is.
    published
        As it is printed.
    exact
        As it is computed: a number, or words.
    unit
        Of the number.
    why
        What differs and why; empty where nothing does.
    """

    quantity: str
    published: str
    exact: float | int | str
    unit: str = ""
    why: str = ""


@dataclass(frozen=True, eq=False)
class Shown:
    """A figure or a table, made again.

    Parameters
    ----------
    rows
        Published and exact values.
    figures
        Drawings by title.
    formulas
        Formulas by title, in LaTeX without delimiters.
    note
        What a reader should know of how it was made, in a sentence or two.
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
        (quick) -> what it shows, made again. A quick one takes a few seconds: a shorter run, fewer
        members of a family.
    commands
        The commands that give its parts.
    slow
        Whether it is left out where everything is to be quick.
    """

    name: str
    title: str
    make: Callable[[bool], Shown]
    commands: Sequence[str] = ()
    slow: bool = False


@dataclass(frozen=True, eq=False)
class Paper:
    """A publication that is made again.

    Parameters
    ----------
    name
        Lower case with hyphens.
    title, source
        Of the publication.
    items
        What is made again, in its order.
    missing
        What is not, by where it is, and why.

    Raises
    ------
    PosingError
        There is no item, or two have one name.
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
    """An item, and what came of it.

    Parameters
    ----------
    item
        Of the paper.
    shown
        What was made; None if nothing was.
    why
        Why nothing was made.
    failed
        Whether it was tried.
    """

    item: Item
    shown: Shown | None
    why: str = ""
    failed: bool = False


@dataclass(frozen=True, eq=False)
class Made:
    """A paper, and what came of its items.

    Parameters
    ----------
    paper
        What was made.
    items
        Each of its items, in order.
    quick
        Whether only what is quick was made.
    """

    paper: Paper
    items: tuple[MadeItem, ...]
    quick: bool

    @property
    def failed(self) -> tuple[MadeItem, ...]:
        """The items that could not be made."""
        return tuple(made for made in self.items if made.failed)
