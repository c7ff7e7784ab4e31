"""What can be said about a case besides its motion, as numbers and words."""

from __future__ import annotations

from typing import Any

import numpy as np

from daesolve.dynamics import Dynamics
from daesolve.linearization import linearize_equations
from daesolve.rank import Decoupling, decoupling
from daesolve.sensitivity import Sensitivity


def rank_report(
    dynamics: Dynamics, time: float, state: np.ndarray, p: np.ndarray
) -> dict[str, Any]:
    """Tell whether the reactions influence all goals independently, in motion and at rest.

    Parameters
    ----------
    dynamics
        The equations.
    time, state
        s, and (nx,): a consistent state. At rest its velocities are set to zero.
    p
        (np,)

    Returns
    -------
    dict
        `degrees` (the relative degree of each goal), and for `start` and `at_rest`: `rank`, `of`,
        `dependent` (the goals that take part in dependences), `singular_values` (of the decoupling
        matrix with rows and columns of unit length) and `condition` (None where it is singular;
        columns of unit length alone, since the lengths of rows tell of goals that lose their grip).
    """
    resting = state.copy()
    resting[dynamics.position_count :] = 0.0
    degrees = {row.name: row.degree for row in dynamics.rows}
    degrees |= {row.name: 1 for row in dynamics.implicit_rows}
    degrees |= {row.name: 0 for row in dynamics.relations}
    return {
        "degrees": degrees,
        "start": _told(decoupling(dynamics, time, state, p)),
        "at_rest": _told(decoupling(dynamics, time, resting, p)),
    }


def linearization_report(
    dynamics: Dynamics, time: float, state: np.ndarray, p: np.ndarray
) -> dict[str, Any]:
    """Linearize about a state; see `daesolve.linearize`, also for what is raised.

    Parameters
    ----------
    dynamics
        The equations.
    time, state
        s, and (nx,): a consistent state, an equilibrium or a steady motion.
    p
        (np,)

    Returns
    -------
    dict
        `names` of the coordinates of small motions, `matrix` (by name, the row of its rate),
        `eigenvalues` (`real` and `imaginary` parts, 1/s), `modes` (by name, `real` and `imaginary`
        components in the motion of each eigenvalue), the rates of the `cyclic` coordinates, and
        the relative `residual` of the rates of all others.
    """
    found = linearize_equations(dynamics, state, p, time=time)
    return {
        "names": list(found.names),
        "matrix": dict(zip(found.names, found.matrix.tolist(), strict=True)),
        "eigenvalues": _parts(found.eigenvalues),
        "modes": {name: _parts(found.modes[name]) for name in found.names},
        "cyclic": {name: found.rates[name] for name in found.cyclic},
        "residual": found.residual,
    }


def sensitivity_report(found: Sensitivity) -> dict[str, Any]:
    """Return derivatives of the final state as a table.

    Parameters
    ----------
    found
        From `daesolve.sensitivity`.

    Returns
    -------
    dict
        `end_time`, `final_state`, `derivatives` (by what, then of which state), those of the end
        time (`end_time_derivatives`), `events` (each with its derivatives by name), and `notes`.
    """
    columns = found.matrix.T.tolist()
    return {
        "end_time": found.run.end_time,
        "final_state": dict(found.final_state),
        "derivatives": {
            by: dict(zip(found.states, column, strict=True))
            for by, column in zip(found.by, columns, strict=True)
        },
        "end_time_derivatives": dict(found.end_time),
        "events": [
            {
                "name": event.name,
                "time": event.time,
                "derivatives": dict(zip(found.by, row, strict=True)),
            }
            for event, row in zip(found.run.events, found.event_times.tolist(), strict=True)
        ],
        "notes": list(found.notes),
    }


def _parts(numbers: np.ndarray) -> dict[str, list[float]]:
    return {"real": np.real(numbers).tolist(), "imaginary": np.imag(numbers).tolist()}


def _told(matrix: Decoupling) -> dict[str, Any]:
    condition = matrix.condition
    return {
        "rank": matrix.rank,
        "of": len(matrix.goals),
        "dependent": list(matrix.dependent),
        "singular_values": [float(value) for value in matrix.singular_values],
        "condition": condition if np.isfinite(condition) else None,
    }
