"""What is reported about a run of any package, and how its error is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar


@dataclass(frozen=True)
class Figures:
    """One setting that completed its run.

    Parameters
    ----------
    setup_seconds, seconds
        For building and compiling, and for the integration.
    steps
        Accepted steps.
    error
        At the end, against the reference.
    gap
        The largest constraint residual, as a length, m.
    energy
        The energy error over the scale of its motion.
    """

    setup_seconds: float
    seconds: float
    steps: int
    error: float
    gap: float
    energy: float


class Costed(Protocol):
    """Anything with a known cost and error."""

    @property
    def seconds(self) -> float:
        """The cost."""
        ...

    @property
    def error(self) -> float:
        """The error."""
        ...


Run = TypeVar("Run", bound=Costed)


def cheapest_as_exact(found: Iterable[Run], error: float) -> Run | None:
    """Return the cheapest one whose error is no larger, if there is one."""
    as_exact = (one for one in found if one.error <= error)
    return min(as_exact, key=lambda one: one.seconds, default=None)


def errors_of(found: Mapping[str, float], exact: Mapping[str, float]) -> dict[str, float]:
    """Return the error of each given state, relative to its size (at least 1)."""
    return {
        name: abs(value - exact[name]) / max(1.0, abs(exact[name])) for name, value in found.items()
    }
