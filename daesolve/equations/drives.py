"""What tables and sampled laws are at the start of a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daesolve.algebra.translation import function_of
from daesolve.equations.dynamics import Dynamics


def begun(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, time: float
) -> dict[str, float]:
    """Return the discrete values of tables and sampled laws at the start.

    One after the other: a law that is sampled sees what tables before it are.

    Parameters
    ----------
    dynamics, values
        The equations, and p by name as it was given.
    state, time
        (nx,) and s, where the run starts.
    """
    found = dict(values)
    arguments = [dynamics.t, dynamics.x, dynamics.p]
    for row in dynamics.drives:
        names = list(row.begin)
        function = function_of(
            "begin", arguments, list(row.begin.values()), (["t", "x", "p"], names)
        )
        results = function(time, state, dynamics.value_vector(found))
        numbers = results if isinstance(results, (list, tuple)) else [results]
        found |= {name: float(number) for name, number in zip(names, numbers, strict=True)}
    own = {name for row in dynamics.drives for name in row.begin}
    return {name: found[name] for name in own}
