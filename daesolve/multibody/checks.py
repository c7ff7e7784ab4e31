"""Checks of what users hand over to parts of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import casadi as ca

from daesolve.core.posing.goals import Expression, as_scalar, is_word
from daesolve.errors import OutOfRangeError, PosingError, is_number
from daesolve.multibody.places import Ground, PlanarPoint, Point

Wanted = Literal["> 0", ">= 0", "a number other than 0"]
"""What is wanted of a number, in words."""
WANTED: Mapping[Wanted, Callable[[float], bool]] = {
    "> 0": lambda number: number > 0.0,
    ">= 0": lambda number: number >= 0.0,
    "a number other than 0": lambda number: number != 0.0,
}


def title_of(part: object) -> str:
    """Return what a part is called in messages: its class and its name."""
    return f"{type(part).__name__} {getattr(part, 'name', '')!r}"


def check_name(name: object, what: str) -> None:
    """Refuse a name that is not a word."""
    if not is_word(name):
        raise PosingError(f"the name of {what} must be a word, not {name!r}")


def check_size(
    what: str, value: Expression, wanted: Wanted = ">= 0", unit: str = "", advice: str = ""
) -> ca.SX:
    """Return a number or an expression, of which a number must be as wanted.

    Raises
    ------
    OutOfRangeError
        It is not; the message contains its name and the number.
    """
    size = as_scalar(what, value, finite=False)
    if size.is_constant():
        number = float(size)
        if not (is_number(number) and WANTED[wanted](number)):
            shown = f"{number:g} {unit}" if unit else f"{number!r}"
            raise OutOfRangeError(f"{what} is {shown}, but must be {wanted}{advice}")
    return size


def check_part(part: object, **sizes: Wanted) -> str:
    """Refuse a part whose name is no word, or whose sizes are not as wanted; return its title."""
    what = title_of(part)
    check_name(getattr(part, "name", None), f"a {type(part).__name__}")
    for name, wanted in sizes.items():
        check_size(f"the {name} of the {what}", getattr(part, name), wanted)
    return what


def is_of_ground(place: object) -> bool:
    """Return whether a place belongs to the ground."""
    return isinstance(place, Point | PlanarPoint) and isinstance(place.body, Ground)


def check_places(what: str, first: object, second: object) -> None:
    """Refuse two places between which nothing can act."""
    if not (isinstance(first, Point | PlanarPoint) and isinstance(second, Point | PlanarPoint)):
        raise PosingError(
            f"the {what} must connect points of bodies or of the ground, not {first!r} and "
            f"{second!r}"
        )
    if first.position.shape != second.position.shape:
        raise PosingError(f"the {what} connects a point in the plane with one in space")
    if first.body is second.body or (is_of_ground(first) and is_of_ground(second)):
        raise PosingError(f"the {what} joins {first.body.name!r} with itself")
