"""Calls of plugin functions; the errors that they raise are attributed to the plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from daesolve.errors import DaesolveError, PluginError, in_words

Answered = TypeVar("Answered")


def called(what: str, function: Callable[..., Answered], *arguments: Any) -> Answered:
    """Call a function of a plugin.

    Parameters
    ----------
    what
        The name of the function in messages.
    function, *arguments
        The function and its arguments.

    Raises
    ------
    DaesolveError, KeyboardInterrupt
        If the function raises them.
    PluginError
        The function raises anything else, which becomes the cause, also if it tries to exit.
    """
    try:
        return function(*arguments)
    except (DaesolveError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginError(f"{what} fails: {in_words(error)}") from error


def numbers_by_name(what: str, found: object) -> dict[str, Any]:
    """Return the result of a plugin function, which must be numbers by names.

    Raises
    ------
    PluginError
        It is something else.
    """
    if not isinstance(found, Mapping):
        raise PluginError(f"{what} must return numbers by names, not {type(found).__name__}")
    named: dict[str, Any] = {}
    for name, value in found.items():  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(name, str):
            raise PluginError(f"{what} must return numbers by names, but {name!r} is not a name")
        try:
            float(value)  # pyright: ignore[reportUnknownArgumentType]
        except (TypeError, ValueError, RuntimeError):
            raise PluginError(
                f"{what} must return numbers by names, but {name!r} is a {type(value).__name__}"  # pyright: ignore[reportUnknownArgumentType]
            ) from None
        named[name] = value
    return named
