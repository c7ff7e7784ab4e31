"""The three models of the gyroscope, and their starts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.errors import SecondaryConstraintsError
from daesolve.typing import DifferentiableVector, Parameters

ANGLES = ("alpha", "beta")
SMALL = ("alpha_dot", "beta_dot")


def full() -> ds.MechanicalSystem:
    """Pose the gyroscope with the inertia of its rings: three angles, Lagrange's equations."""
    q = ds.coordinates(alpha=ds.ANGLE, beta=ds.ANGLE, gamma=ds.ANGLE)
    p = ds.parameters(
        ring_inertia_1=(0.5, "kg m^2", ds.NON_NEGATIVE),
        ring_inertia_2=(0.8, "kg m^2", ds.POSITIVE),
        ring_inertia_3=(0.3, "kg m^2", ds.POSITIVE),
        housing_inertia=(0.7, "kg m^2", ds.POSITIVE),
        rotor_inertia=(1.2, "kg m^2", ds.POSITIVE),
        momentum=(1.0, "N m s"),
        eps=(0.01, "", ds.POSITIVE),
        damping=(0.0, "N m s", ds.NON_NEGATIVE),
    )
    spin = q.dot.alpha * ca.sin(q.beta) + q.dot.gamma
    rings = ring_inertia(q, p) * q.dot.alpha**2 + p.housing_inertia * q.dot.beta**2
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.eps / 2 * (rings + p.rotor_inertia * spin**2),
        force=moments(q, p),
    )


def ring_inertia(q: DifferentiableVector, p: Parameters) -> ca.SX:
    """Return J(beta), kg m^2."""
    sine, cosine = ca.sin(q.beta), ca.cos(q.beta)
    return p.ring_inertia_1 + p.ring_inertia_2 * cosine**2 + p.ring_inertia_3 * sine**2


def moments(q: DifferentiableVector, p: Parameters) -> dict[str, ca.SX]:
    """Return Q_alpha and Q_beta, N m."""
    return {
        "alpha": 0.3 + 0.2 * ca.cos(ds.time) - p.damping * q.dot.alpha,
        "beta": -0.5 * ca.cos(q.beta) - 0.1 * q.alpha - p.damping * q.dot.beta,
    }


@cache
def reduction() -> ds.nonholonomic.DiracModel:
    """Return the full model, reduced through Dirac's primary constraints."""
    return ds.nonholonomic.small_velocities(full(), small=SMALL)


def dirac() -> ds.ControlSystem:
    """Pose Dirac's equations: only precession, correct to the order eps."""
    return reduction().system


def refined() -> ds.ControlSystem:
    """Pose the refined equations: precession correct to the order eps^2."""
    return reduction().refined


def full_start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Give the rotor its momentum, and rings without a given velocity that of the precession.

    Raises
    ------
    SecondaryConstraintsError
        Nothing determines the precession.
    """
    try:
        return _precessing(given, parameters)
    except SecondaryConstraintsError as error:
        raise SecondaryConstraintsError(
            "without spin, and in gimbal lock, the initial precession of the rings is "
            "undetermined: give both alpha_dot and beta_dot"
        ) from error


def _precessing(given: Mapping[str, float], parameters: Mapping[str, float]) -> dict[str, float]:
    start = dict(given)
    if not all(name in start for name in SMALL):
        slow = reduction().on_slow_manifold(_spun(start, parameters), parameters, order=0)
        start = {name: slow[name] for name in SMALL} | start
    return _spun(start, parameters)


def _spun(start: Mapping[str, float], parameters: Mapping[str, float]) -> dict[str, float]:
    inertia = parameters["eps"] * parameters["rotor_inertia"]
    turning = start.get("alpha_dot", 0.0) * math.sin(start["beta"])
    return {**start, "gamma_dot": parameters["momentum"] / inertia - turning}


def dirac_start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Keep the angles, and leave the velocities to the precession."""
    return reduction().start(_precessing(given, parameters), parameters, order=0)


def refined_start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Move the angles by what the fast motion from the given velocities does to them."""
    return reduction().start(_precessing(given, parameters), parameters, order=1)
