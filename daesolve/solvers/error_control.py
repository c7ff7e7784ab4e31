"""What the solvers share that keep a relative and an absolute tolerance in every step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from daesolve.errors import OutOfRangeError
from daesolve.solvers.base import Solver, positive

TIGHTEST = 1e-15
"""The relative tolerance to which a run is verified at least, where a method names no other."""


@dataclass(frozen=True)
class ErrorControlled(Solver):
    """A solver whose steps keep tolerances.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    rtol: float = 1e-10
    atol: float = 1e-12

    def __post_init__(self) -> None:
        positive(self.name, rtol=self.rtol, atol=self.atol)

    @property
    def smallest_rtol(self) -> float:
        """The relative tolerance below which a run is not verified."""
        return TIGHTEST

    def refuse_below_smallest(self) -> None:
        """Refuse a relative tolerance that the method cannot do with.

        Raises
        ------
        OutOfRangeError
            It is smaller than that.
        """
        if self.rtol < self.smallest_rtol:
            raise OutOfRangeError(
                f"{self.name}: rtol is {self.rtol:g}, but must be at least {self.smallest_rtol:.3g}"
            )

    def tolerances(self) -> dict[str, float]:
        """Return rtol and atol."""
        return {"rtol": self.rtol, "atol": self.atol}

    def refined(self) -> Solver:
        """Return the method with a tenth of the tolerances."""
        return replace(self, rtol=max(self.rtol / 10, self.smallest_rtol), atol=self.atol / 10)


@dataclass(frozen=True)
class Multistep(ErrorControlled):
    """CVODE's multistep methods.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    method
        "adams" for smooth motion, "bdf" for stiff.
    """

    method: str = "adams"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in ("adams", "bdf"):
            raise OutOfRangeError(
                f"{self.name}: method is {self.method!r}, but must be 'adams' or 'bdf'"
            )
