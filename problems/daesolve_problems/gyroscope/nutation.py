"""The mean motion of a gyroscope that nutates without damping.

Nutation goes round the guiding centre, the place X = (alpha, beta) - M^-1 S (v - lambda), where v
are the velocities of the rings, lambda those of the precession, S = eps diag(J, B0) and
M = h cos(beta) [[0, -1], [1, 0]]. Its action I = E / omega, with E = (v - lambda).S (v - lambda)/2
and omega = h cos(beta) / (eps sqrt(J B0)), moves the guiding centre off the slow motion: it is felt
as a moment about the inner axis and is not kept where the moments have a curl,

    Q_beta -> Q_beta - I d omega/d beta,
    I' = I (dQ_beta/dalpha - dQ_alpha/dbeta) / (h cos beta).

The action is of the order eps^2, omega of the order 1/eps: so the moment is as large as what the
refinement adds to Dirac's model.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.figures import new_figure
from daesolve_problems.gyroscope.models import (
    ANGLES,
    SMALL,
    full,
    full_start,
    moments,
    ring_inertia,
)
from daesolve_problems.gyroscope.questions import EPS, SAMPLES
from daesolve_problems.orders import Orders

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@cache
def watched() -> ds.MechanicalSystem:
    """Pose the full model with its guiding centre and its action as outputs."""
    system = full()
    q, p = system.coordinates, system.parameters
    grip, at_rest = p.momentum * ca.cos(q.beta), moments(q, p)
    excess_alpha = q.dot.alpha + at_rest["beta"] / grip
    excess_beta = q.dot.beta - at_rest["alpha"] / grip
    inertia_alpha, inertia_beta = p.eps * ring_inertia(q, p), p.eps * p.housing_inertia
    energy = (inertia_alpha * excess_alpha**2 + inertia_beta * excess_beta**2) / 2
    centre = {
        "centre_alpha": (q.alpha - inertia_beta * excess_beta / grip, "rad"),
        "centre_beta": (q.beta + inertia_alpha * excess_alpha / grip, "rad"),
        "action": (energy / _frequency(system), "J s"),
    }
    return replace(system, outputs=centre)


@cache
def guided() -> ds.nonholonomic.DiracModel:
    """Reduce the full model with the moment of nutation, its action integrated beside it."""
    system = full()
    q, p, action = system.coordinates, system.parameters, ds.states(action="J s")
    force = moments(q, p)
    steep = ca.gradient(_frequency(system), q.beta)
    curl = ca.gradient(force["beta"], q.alpha) - ca.gradient(force["alpha"], q.beta)
    moved = replace(
        system,
        force={**force, "beta": force["beta"] - action.action * steep},
        quadratures=action,
        integrands={"action": action.action * curl / (p.momentum * ca.cos(q.beta))},
    )
    return ds.nonholonomic.small_velocities(moved, small=SMALL)


def _frequency(system: ds.MechanicalSystem) -> ca.SX:
    """Return omega, rad/s."""
    q, p = system.coordinates, system.parameters
    size = ca.sqrt(ring_inertia(q, p) * p.housing_inertia)
    return p.momentum * ca.cos(q.beta) / (p.eps * size)


def guiding_centre(case: BoundCase) -> ds.Answer:
    """Measure how far the guiding centre is from the refined motion, with and without its drift.

    Raises
    ------
    OutOfRangeError
        There is damping, so that nutation dies out.
    """
    if case.full_parameters["damping"] > 0.0:
        raise OutOfRangeError("nutation dies out with damping: set damping to 0")
    at = np.linspace(0.0, case.case.until, SAMPLES)
    followed = [_followed(case.changed({"eps": eps}), at) for eps in EPS]
    largest, runs = followed[0]
    errors = {name: tuple(_off(moved[name], centre) for centre, moved in followed) for name in runs}
    found = Orders("eps", EPS, errors)
    return ds.Answer(
        {"until": case.case.until} | found.described(),
        {"orders": found.figure(), "guiding centre": _drawn(largest, runs)},
    )


def _off(run: ds.Trajectory, centre: ds.Trajectory) -> float:
    """Return the largest distance of an angle from the guiding centre's."""
    return max(float(np.max(np.abs(run[name] - centre[f"centre_{name}"]))) for name in ANGLES)


def _followed(case: BoundCase, at: np.ndarray) -> tuple[ds.Trajectory, dict[str, ds.Trajectory]]:
    """Run the full model, and the refined one without and with the moment of nutation."""
    parameters = case.full_parameters
    start = full_start(case.full_start, parameters, case.full_structure)
    until = float(at[-1])
    centre = ds.solve(watched(), until, start, parameters=parameters, at=at)
    model = guided()
    runs: dict[str, ds.Trajectory] = {}
    for name, action in (("refined", 0.0), ("refined, with drift", centre["action"][0])):
        begun = model.start({**start, "action": float(action)}, parameters, order=1)
        runs[name] = ds.solve(model.refined, until, begun, parameters=parameters, at=at)
    return centre, runs


def _drawn(centre: ds.Trajectory, runs: dict[str, ds.Trajectory]) -> Figure:
    """Draw the way of the rotor's axis, its guiding centre and the refined motions."""
    figure = new_figure(6.4, 5.0)
    axes = figure.add_subplot()
    axes.plot(centre["alpha"], centre["beta"], linewidth=0.6, color="0.7", label="rotor's axis")
    axes.plot(centre["centre_alpha"], centre["centre_beta"], linewidth=2.5, label="guiding centre")
    for name, run in runs.items():
        axes.plot(run["alpha"], run["beta"], linewidth=1.0, label=name)
    axes.set_xlabel("alpha (rad)")
    axes.set_ylabel("beta (rad)")
    axes.legend()
    return figure
