"""Initial values of tables and sampled laws, and calls of laws in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import instantaneous
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.posing.inputs import PythonLaw
from daesolve.core.posing.symbols import symbol


def drive_values_at_start(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, time: float
) -> dict[str, float]:
    """Return the discrete values of tables and sampled laws at the start.

    Tables come first, one after another; then sampled laws together, as at any instant.

    Parameters
    ----------
    dynamics, values
        The equations, and p by name as given.
    state, time
        (nx,) and s at the start of the run.
    """
    found = dict(values)
    changed: dict[str, float] = {}
    for row in sorted(dynamics.drives, key=lambda row: row.together):
        seen = dict(found)
        called, column = _functions(dynamics)[row.name]
        if called is not None:
            changed |= called(time, state, dynamics.value_vector(seen))
            seen |= changed
        numbers = np.asarray(column(time, state, dynamics.value_vector(seen))).ravel()
        changed |= dict(zip(row.begin, numbers.tolist(), strict=True))
        found = found if row.together else found | changed
    return changed


@lru_cache(maxsize=16)
def _functions(dynamics: Dynamics) -> dict[str, tuple[CalledLaw | None, ca.Function]]:
    """Return, by drive, the caller of its law, and (t, x, p) -> its values at the start."""
    return {
        row.name: (
            None if row.law is None else CalledLaw(dynamics, row.law),
            _column(dynamics, row.begin.values()),
        )
        for row in dynamics.drives
    }


def falling_arguments(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, time: float
) -> dict[str, float]:
    """Return which arguments of tables fall at the start; at rest the second rate decides.

    Parameters
    ----------
    dynamics, values, state, time
        As in `drive_values_at_start`.
    """
    leans = {name: value for row in dynamics.drives for name, value in row.leans.items()}
    if not leans:
        return {}
    p = dynamics.value_vector(values)
    accelerations = instantaneous(dynamics, time, state, p)[0]
    fixed = symbol("a", dynamics.velocity_count)
    where = ca.vertcat(dynamics.x, dynamics.t)
    along = ca.vertcat(dynamics.position_rates, fixed, 1)
    arguments = ca.vertcat(*leans.values())
    rates = ca.jtimes(arguments, where, along)
    both = ca.horzcat(rates, ca.jtimes(rates, where, along))
    function = dynamics.function("leans", both, further=[fixed])
    found = np.asarray(function(time, state, p, accelerations)).reshape(len(leans), 2)
    first = np.where(found[:, 0] != 0.0, found[:, 0], found[:, 1])
    return {name: float(rate < 0.0) for name, rate in zip(leans, first, strict=True)}


class CalledLaw:
    """A law in Python, with the functions for its arguments.

    Parameters
    ----------
    dynamics, law
        The equations, and the law.
    """

    def __init__(self, dynamics: Dynamics, law: PythonLaw) -> None:
        self.law = law
        self._seen = _column(dynamics, law.arguments.values())

    def __call__(self, time: float, state: np.ndarray, p: np.ndarray) -> dict[str, float]:
        """Return the results of the law, by the names of the values that hold them.

        Raises
        ------
        ResetError
            A result is not a finite number.
        """
        numbers = np.asarray(self._seen(time, state, p)).ravel().tolist()
        found = self.law.call(dict(zip(self.law.arguments, numbers, strict=True)))
        return dict(zip(self.law.results, found, strict=True))


def _column(dynamics: Dynamics, parts: Iterable[ca.SX]) -> ca.Function:
    return dynamics.function("drive", ca.vertcat(ca.SX(0, 1), *parts))
