"""Positive functions given by the gradient of their logarithm: densities, multipliers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import casadi as ca
import numpy as np
import scipy

from daesolve.core.equations.consistency import check_named
from daesolve.errors import UnsupportedError, check_names

Rates = Callable[[np.ndarray], np.ndarray]
"""A place -> the derivatives of the logarithm there."""


class LogarithmicGradient(ABC):
    """A positive function that may exist, by the gradient of its logarithm."""

    said: str
    _gradient: Rates | None
    _called: ClassVar[tuple[str, str]]
    """What it is, and what one of its variables is, for messages."""
    _bound: bool = False

    @property
    @abstractmethod
    def _variables(self) -> Sequence[str]:
        """The names of its variables."""

    def gradient(self, state: Mapping[str, float]) -> dict[str, float]:
        """Return the derivatives of its logarithm at a state; missing names are zero.

        Raises
        ------
        UnsupportedError
            It does not exist.
        UnknownNameError
            A name is not one of its variables.
        """
        found = self._rates(self._place(state)).tolist()
        return dict(zip(self._variables, found, strict=True))

    def ratio(self, state: Mapping[str, float], reference: Mapping[str, float]) -> float:
        """Return its ratio at two states, integrated along the straight line between them.

        Raises
        ------
        UnsupportedError
            It does not exist, or constraints restrict the positions.
        UnknownNameError
            A name is not one of its variables.
        """
        if self._bound:
            raise UnsupportedError(
                "constraints bind the positions, so no straight line joins two of them: use "
                "gradient() along a motion"
            )
        end, begin = self._place(state), self._place(reference)
        total, _ = scipy.integrate.quad(
            lambda s: float(self._rates(begin + s * (end - begin)) @ (end - begin)),
            *(0.0, 1.0),
            epsabs=1e-13,
            limit=200,
        )
        return float(np.exp(total))

    def _rates(self, place: np.ndarray) -> np.ndarray:
        if self._gradient is None:
            raise UnsupportedError(f"there is no {self._called[0]} to evaluate: {self.said}")
        return self._gradient(place)

    def _place(self, state: Mapping[str, float]) -> np.ndarray:
        given = check_named("state", state)
        check_names(self._called[1], given, self._variables)
        return np.array([given.get(name, 0.0) for name in self._variables])


def hashed_values(p: ca.SX, values: np.ndarray) -> dict[int, float]:
    """Return the numbers of symbols by the hashes of these."""
    return {p[k].__hash__(): float(value) for k, value in enumerate(values)}


def evidence_of(
    proved: Callable[[Mapping[int, float] | None], bool], known: dict[int, float]
) -> str:
    """Return what proves an identity: with known values of parameters, or for all of them."""
    if not proved(known):
        return "sampled"
    return "proved" if proved(None) else "proved at these parameters"
