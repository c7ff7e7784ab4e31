"""Tries the settings of a package from coarse to fine; reports and skips those that fail."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from .figures import Figures


class BrokeDownError(Exception):
    """The package gave up, or its answer does not describe the motion; the message says why."""


class Tried(Protocol):
    """A setting of a method; the coarsest of a method comes first."""

    @property
    def method(self) -> str:
        """The method of a setting."""
        ...


Setting = TypeVar("Setting", bound=Tried)


@dataclass(frozen=True)
class Attempt(Generic[Setting]):
    """The result of a setting, or the reason why there is none (else empty)."""

    setting: Setting
    figures: Figures | None = None
    reason: str = ""


def untyped(name: str) -> Any:
    """Import a package without types: the type checker knows nothing about its calls."""
    return importlib.import_module(name)


def installed(name: str) -> ModuleType:
    """Import the module of a package.

    Raises
    ------
    BrokeDownError
        The package is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        raise BrokeDownError(f"not installed: no module {missing.name!r}") from missing


def attempts(
    settings: Iterable[Setting], measure: Callable[[Setting], Figures], patience: float
) -> Iterator[Attempt[Setting]]:
    """Measure settings one after another.

    Parameters
    ----------
    settings
        The coarsest setting of each method first.
    measure
            Measures one setting; an exception becomes the reason why there is no result.
        patience
            s; after an integration or a failed attempt that takes longer, the finer settings of its
            method are skipped.
    """
    left_out: set[str] = set()
    for setting in settings:
        if setting.method in left_out:
            reason = f"left out for time: a coarser one took over {patience:g} s"
            yield Attempt(setting, reason=reason)
            continue
        begin = time.perf_counter()
        try:
            attempt = Attempt(setting, measure(setting))
        # any exception of a package is its result here
        except Exception as error:
            attempt = Attempt(setting, reason=_words(error))
        figures = attempt.figures
        took = figures.seconds if figures else time.perf_counter() - begin
        if took > patience:
            left_out.add(setting.method)
        yield attempt


def _words(error: BaseException) -> str:
    """Return the message of the error beneath the package's own exception."""
    cause: BaseException | None = error
    while cause and not isinstance(cause, BrokeDownError):
        cause = cause.__cause__ or cause.__context__
    words = str(cause or error).strip() or type(error).__name__
    return words.splitlines()[0]
