"""Analyses of the vehicle besides its motion."""

from __future__ import annotations

import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.bogies.pictures import passing, sides
from daesolve_problems.bogies.reduction import check
from daesolve_problems.bogies.theory import NEAR, LocalTheory, Root


def degeneracy(case: BoundCase) -> ds.Answer:
    """Report by the local theory how motions with these integrals meet the degenerate points.

    Points with S = sin theta_1 sin theta_2 = 1 and with S = -1 are distinguished.
    """
    given, parameters = case.full_start, case.full_parameters
    check(given, parameters)
    theory = LocalTheory.of(given, parameters)
    return ds.Answer(
        {
            "difference": theory.difference,
            "critical_difference": theory.critical_difference,
            "drift": theory.drift,
            "window": None if theory.window is None else list(theory.window),
            "collapsing": theory.collapsing,
            "central_square": theory.square - parameters["centre"] ** 2,
            **{
                f"sine_product_{name}": {
                    "collapses": any(root.slope > 0.0 for root in _before(theory, product)),
                    "before": [_root(root) for root in _before(theory, product)],
                    "after": [_root(root) for root in _after(theory, product)],
                }
                for name, product in (("plus", 1.0), ("minus", -1.0))
            },
        },
        {"roots": sides(theory)},
    )


def _before(theory: LocalTheory, product: float) -> list[Root]:
    return theory.roots(-theory.sign * product)


def _after(theory: LocalTheory, product: float) -> list[Root]:
    return theory.roots(theory.sign * product)


def _root(root: Root) -> dict[str, float]:
    return {"x": root.x, "slope": root.slope, "psi_dot": root.turning}


def passage(case: BoundCase) -> ds.Answer:
    """Run from a start near a degenerate point to either side of it, and return the forces.

    The runs are in independent velocities; `distance` is that of the start.

    Raises
    ------
    OutOfRangeError
        The case does not start near a degenerate point, or runs into it.
    """
    if case.model != "full":
        raise OutOfRangeError("'passage' reports the forces of the skates: use the model 'full'")
    guess, _ = case.guess()
    distance = max(abs(float(np.cos(guess[f"theta_{k}"]))) for k in (1, 2))
    if distance > NEAR:
        raise OutOfRangeError(
            "'passage' runs to either side of a start near a degenerate point, but here the "
            f"larger of |cos theta_1| and |cos theta_2| is {distance:.2g}; use the case "
            "near-miss"
        )
    begin, until = case.case.start_time, abs(case.case.until - case.case.start_time)
    away = np.geomspace(distance / 100, until, 400)
    after, before = (_passed(case, begin + way * until, begin + way * away) for way in (1.0, -1.0))
    forces = {name: _peak(after[name], before[name]) for name in ("skate_1", "skate_2")}
    resultant = _peak(after["resultant"], before["resultant"])
    mass = case.full_parameters["mass"]
    return ds.Answer(
        {
            "distance": distance,
            "largest_force": forces,
            "largest_resultant": resultant,
            "forces_by_mass_distance_squared": {
                name: force / mass * distance**2 for name, force in forces.items()
            },
            "resultant_by_mass_distance": resultant / mass * distance,
            "psi_dot_before": float(before["psi_dot"][-1]),
            "psi_dot_after": float(after["psi_dot"][-1]),
        },
        {"forces": passing(before, after)},
    )


def _passed(case: BoundCase, until: float, at: np.ndarray) -> ds.Trajectory:
    run = case.solve(until, at=at, formulation=ds.NullSpace())
    if run.outcome is not ds.Outcome.COMPLETED:
        raise OutOfRangeError(
            "the motion does not pass the degenerate point, so 'passage' has no forces to "
            f"report: {run.message}; start farther from it"
        )
    return run


def _peak(*series: np.ndarray) -> float:
    return max(float(np.max(np.abs(part))) for part in series)
