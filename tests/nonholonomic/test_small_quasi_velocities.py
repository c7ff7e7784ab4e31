"""Small quasi-velocities: the same model as in coordinates, and slips in axes of the body."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.nonholonomic import small_velocities

from .small_systems import general

AT = np.linspace(0.0, 1.0, 6)


def in_quasi_velocities():
    """Return `general` in velocities of which the last two are combinations of its small ones."""
    plain = general()
    q = plain.coordinates
    w = ds.velocities(along="m/s", turning="1/s", rising="m/s")
    rates = ca.vertcat(
        w.along / (1 + 0.2 * ca.cos(q.a)) - 0.4 * q.b * w.turning,
        w.turning * (1 + 0.3 * ca.sin(q.b)),
        w.rising + 0.2 * q.r * w.turning,
    )

    def written(expression):
        return ca.substitute(ca.SX(expression), q.dot.vector, rates)

    pushed = ca.vertcat(*[written(plain.force[name]) for name in q.names])
    force = ca.jacobian(rates, w.vector).T @ pushed
    return plain, ds.MechanicalSystem(
        q,
        plain.parameters,
        kinetic=written(plain.kinetic),
        potential=plain.potential,
        velocities=w,
        kinematics=rates,
        force=dict(zip(w.names, ca.vertsplit(force), strict=True)),
    )


@pytest.mark.long
def test_small_velocities_of_one_space_have_models_of_the_same_orders():
    plain, quasi = in_quasi_velocities()
    first = small_velocities(plain, ["a_dot", "b_dot"])
    second = small_velocities(quasi, ["turning", "rising"])
    start = {"r": 0.3, "a": 0.2, "b": -0.4}
    rates = {"r_dot": 0.5, "a_dot": -0.4, "b_dot": 0.8}
    turning = -0.4 / (1 + 0.3 * np.sin(-0.4))
    same = {
        "turning": turning,
        "rising": 0.8 - 0.2 * 0.3 * turning,
        "along": (0.5 + 0.4 * -0.4 * turning) * (1 + 0.2 * np.cos(0.2)),
    }
    sizes, apart = (0.01, 0.005, 0.0025), {0: [], 1: []}
    for eps in sizes:
        values = {"eps": eps}
        for order, found in apart.items():
            runs = [
                ds.solve(
                    (model.system, model.refined)[order],
                    1.0,
                    model.start({**start, **own}, values, order=order),
                    parameters=values,
                    at=AT,
                )
                for model, own in ((first, rates), (second, same))
            ]
            found.append(max(np.max(np.abs(runs[0][n] - runs[1][n])) for n in ("r", "a", "b")))
    slopes = {order: np.polyfit(np.log(sizes), np.log(row), 1)[0] for order, row in apart.items()}
    # What one keeps and the other leaves out is of the order of their errors.
    assert slopes == pytest.approx({0: 1.0, 1: 2.0}, abs=0.2)
    assert apart[1][-1] < 1e-5


def sleigh():
    """Return a sleigh whose blade is held across by stiff creep, in axes of its own."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    w = ds.velocities(ahead="m/s", across="m/s", turn="rad/s")
    p = ds.parameters(eps=(0.01, "", ds.POSITIVE), mass=1.2, offset=0.4, inertia=0.5)
    cosine, sine = ca.cos(q.phi), ca.sin(q.phi)
    kinetic = p.mass / 2 * (w.ahead**2 + (w.across + p.offset * w.turn) ** 2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic + p.inertia / 2 * w.turn**2,
        velocities=w,
        kinematics=ca.vertcat(
            w.ahead * cosine - w.across * sine, w.ahead * sine + w.across * cosine, w.turn
        ),
        force={"across": -w.across / p.eps},
    )


@pytest.mark.slow
def test_the_slip_of_a_sleigh_is_reduced_in_its_own_axes():
    system = sleigh()
    model = small_velocities(system, ["across"])
    assert model.momenta.names == ("momentum_ahead", "momentum_across", "momentum_turn")
    start = {"ahead": 0.7, "turn": 0.9, "across": 0.2}
    sizes, errors = (0.02, 0.01, 0.005), {0: [], 1: []}
    at = np.linspace(0.5, 3.0, 6)
    for eps in sizes:
        values = {"eps": eps}
        full = ds.solve(system, 3.0, start, parameters=values, at=at)
        for order, reduced in enumerate((model.system, model.refined)):
            begun = model.start(start, values, order=order)
            run = ds.solve(reduced, 3.0, begun, parameters=values, at=at)
            errors[order].append(max(np.max(np.abs(run[n] - full[n])) for n in ("x", "y", "phi")))
    slopes = {order: np.polyfit(np.log(sizes), np.log(row), 1)[0] for order, row in errors.items()}
    assert slopes == pytest.approx({0: 1.0, 1: 2.0}, abs=0.2)


def test_the_limit_of_the_sleigh_is_chaplygins():
    # m u' = m a w^2, (J + m a^2) w' = -m a u w: the energy is kept, and u -> its root.
    model = small_velocities(sleigh(), ["across"])
    small = {"eps": 1e-9}
    start = model.start({"ahead": 0.0, "turn": 1.0}, small)
    run = ds.solve(model.system, 2.0, start, parameters=small, at=np.linspace(0.0, 2.0, 5))
    mass, offset, inertia = 1.2, 0.4, 0.5
    whole = inertia + mass * offset**2
    rate = offset * np.sqrt(mass / whole)  # of the angle of (u sqrt(m), w sqrt(J + m a^2))
    top = np.sqrt(whole / mass)
    exact = top * np.tanh(rate * run.times)
    # The creep of order zero is eps times a force of order one.
    assert run["ahead"] == pytest.approx(exact, abs=1e-7)
    assert run["turn"] == pytest.approx(1 / np.cosh(rate * run.times), abs=1e-7)
