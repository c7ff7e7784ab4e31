"""Settings of a package, tried from coarse to fine; whatever fails is told and left out."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from .figures import Figures


class BrokeDownError(Exception):
    """The package gave up, or its answer has nothing to do with the motion; says why."""


class Tried(Protocol):
    """A setting of a method; the coarsest of a method comes first."""

    @property
    def method(self) -> str:
        """What is tried from coarse to fine."""
        ...


Setting = TypeVar("Setting", bound=Tried)


@dataclass(frozen=True)
class Attempt(Generic[Setting]):
    """What a setting gave, or the reason why it gave nothing (else empty)."""

    setting: Setting
    figures: Figures | None = None
    reason: str = ""


def untyped(name: str) -> Any:
    """Import a package that has no types: where its calls begin, nothing is known of them."""
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
    """Measure settings one after the other.

    Parameters
    ----------
    settings
        The coarsest of each method first.
    measure
        Measures one; whatever it raises is the reason why there is no result.
    patience
        s; where an integration, or an attempt that failed, took longer, the finer settings of
        its method are left out.
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
        # whatever a package raises is its result here
        except Exception as error:
            attempt = Attempt(setting, reason=_words(error))
        figures = attempt.figures
        took = figures.seconds if figures else time.perf_counter() - begin
        if took > patience:
            left_out.add(setting.method)
        yield attempt


def _words(error: BaseException) -> str:
    """Return what went wrong, below what a package made of it."""
    cause: BaseException | None = error
    while cause and not isinstance(cause, BrokeDownError):
        cause = cause.__cause__ or cause.__context__
    words = str(cause or error).strip() or type(error).__name__
    return words.splitlines()[0]
