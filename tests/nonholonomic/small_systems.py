"""Systems with small velocities."""

from functools import cache

import casadi as ca

import daesolve as ds
from daesolve.nonholonomic.small_velocities import small_velocities


def gyroscope():
    """In gimbals, with moments about both axes of the rings."""
    q = ds.coordinates(alpha="rad", beta="rad", gamma="rad")
    p = ds.parameters(eps=(0.01, "", ds.POSITIVE), damping=0.0)
    ring = 0.5 + 0.8 * ca.cos(q.beta) ** 2 + 0.3 * ca.sin(q.beta) ** 2
    spin = q.dot.alpha * ca.sin(q.beta) + q.dot.gamma
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.eps / 2 * (ring * q.dot.alpha**2 + 0.7 * q.dot.beta**2 + 1.2 * spin**2),
        force={
            "alpha": 0.3 + 0.2 * ca.cos(ds.time) - p.damping * q.dot.alpha,
            "beta": -0.5 * ca.cos(q.beta) - 0.1 * q.alpha - p.damping * q.dot.beta,
        },
    )


def wheelset(*, saturated=False):
    """A wheelset with creep forces, normalised; saturated ones are at most those of Coulomb."""
    q = ds.coordinates(y="", psi="")
    p = ds.parameters(eps=0.01, eta=0.3, rho=1.0, force=0.8, moment=0.2, swing=1.0)
    sideways, lengthways = q.dot.y - q.psi, p.eta * (q.dot.psi + q.y)
    share = 1 / ca.sqrt(ca.fmax(1, sideways**2 + lengthways**2)) if saturated else 1.0
    force = p.force + p.swing * 0.5 * ca.cos(0.7 * ds.time)
    moment = p.moment + p.swing * 0.4 * ca.sin(0.7 * ds.time)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.eps / 2 * (q.dot.y**2 + p.eta * p.rho**2 * q.dot.psi**2),
        force={"y": force - 2 * sideways * share, "psi": moment - 2 * lengthways * share},
    )


def general():
    """Two small velocities and a large one, nothing of them constant, with cubic friction."""
    q = ds.coordinates(r="m", a="rad", b="m")
    p = ds.parameters(eps=(0.01, "", ds.POSITIVE))
    t, v = ds.time, q.dot
    along = v.r + (0.5 * ca.sin(q.b) + 0.3 * q.r) * v.a
    along += (0.4 * q.a**2 + 0.2 * ca.cos(q.r + 0.5 * t)) * v.b
    small = (1 + 0.4 * ca.cos(q.r + q.b)) * v.a**2
    small += (1.5 + 0.3 * ca.sin(q.a) + 0.2 * ca.sin(t)) * v.b**2
    small += 0.6 * ca.sin(q.a + q.r) * v.a * v.b
    linear = 0.3 * q.a * v.b - 0.2 * q.b**2 * v.r + 0.1 * ca.sin(t) * q.r * v.a
    heavy = (1 + 0.3 * ca.sin(q.a) + 0.2 * q.r**2) / 2
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=heavy * along**2 + p.eps / 2 * small + linear + 0.05 * q.r**2,
        potential=0.5 * q.r**2 + 0.2 * q.a**2 + 0.1 * q.b**2 * q.a,
        force={
            "r": -0.2 * v.r,
            "a": 0.3 * ca.cos(t) - v.a - 0.4 * v.a**3,
            "b": 0.2 - 1.3 * v.b - 0.4 * v.b * ca.sqrt(1 + v.a**2 + v.b**2),
        },
    )


@cache
def gyroscope_model():
    """The gyroscope, reduced where its rings turn slowly."""
    return small_velocities(gyroscope(), ["alpha_dot", "beta_dot"])


@cache
def wheelset_model(*, saturated=False):
    """The wheelset, reduced where it creeps slowly."""
    return small_velocities(wheelset(saturated=saturated), ["y_dot", "psi_dot"])


@cache
def general_model():
    """The general system, reduced by its small velocities."""
    return small_velocities(general(), ["a_dot", "b_dot"])


def spinning(count, force):
    """Coordinates x_0, x_1, ... that gyroscopic forces couple in a ring."""
    q = ds.coordinates(**{f"x_{index}": "m" for index in range(count)})
    x, v = ca.vertsplit(q.vector), ca.vertsplit(q.dot.vector)
    gyroscopic = sum((1 + 0.2 * i) * x[i] * v[(i + 1) % count] for i in range(count))
    kinetic = 0.005 * ca.sumsqr(q.dot.vector) + gyroscopic
    return ds.MechanicalSystem(q, kinetic=kinetic, force=force(q))
