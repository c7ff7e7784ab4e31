"""Reduced equations against closed forms, and against the equations that runs integrate."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.expressions.identities import vanishes
from daesolve.export.reduced_equations import reduced_equations
from daesolve.plugins import registry

EPS = float(np.finfo(float).eps)


def of(name, case=None, **changes):
    """Return the system of a case, its reduced equations and its numbers."""
    bound = registry.problem(name).case(case)
    bound = bound.changed(changes) if changes else bound
    system = bound.system
    values = {n: v for n, v in bound.values.items() if n in system.dynamics.values}
    return system, reduced_equations(system, system.dynamics, values), values


def same(one, other):
    return vanishes(ca.SX(one) - other)


def test_the_sleigh_has_the_equations_of_the_textbook():
    system, found, _ = of("chaplygin-sleigh")
    p = system.parameters
    m, a, inertia = p.mass, p.centre, p.inertia
    v, omega = ca.vertsplit(found.pseudo.w)
    v_rate, omega_rate = ca.vertsplit(found.rates)
    assert found.pseudo.names == ("speed", "phi_dot")
    assert same(found.mass, ca.diag(ca.vertcat(m, inertia + m * a**2)))
    assert same(found.lagrangian.brackets[0, 1], m * a * omega)
    assert same(found.lagrangian.slopes, ca.SX(2, 1))
    assert same(found.accelerations[0], a * omega**2)
    assert same(found.accelerations[1], -m * a * v * omega / (inertia + m * a**2))
    assert same(found.reactions["blade"], m * (v * omega + a * omega_rate))
    assert not ca.depends_on(found.reactions["blade"], v_rate)
    energy = (m * v**2 + (inertia + m * a**2) * omega**2) / 2
    assert same(found.integrals["energy"], energy)


def test_the_vehicle_on_one_wheel_is_a_sleigh_with_the_mass_of_the_rolling_wheel():
    system, found, _ = of("unicycle")
    p = system.parameters
    m, h, r_n, r_tau = p.mass, p.wheel_radius, p.centre_normal, p.centre_tangential
    _, omega = ca.vertsplit(found.pseudo.w)
    mass = m + p.wheel_inertia / h**2
    wanted = ca.vertcat(ca.horzcat(mass, m * r_n), ca.horzcat(m * r_n, p.inertia_about_contact))
    assert same(found.mass, wanted)
    assert same(found.lagrangian.brackets[0, 1], m * r_tau * omega)
    u_rate = found.accelerations[0] + m * r_n / mass * found.accelerations[1]
    assert same(mass * u_rate, m * r_tau * omega**2)


def test_a_hoop_on_a_circle_swings_like_a_pendulum_of_twice_the_length():
    q = ds.coordinates(x="m", z="m", theta="rad")
    p = ds.parameters(mass=1.0, radius=0.1, distance=0.9, gravity=9.81)
    length = ca.sqrt(q.x**2 + q.z**2)
    along = (q.x * q.dot.z - q.z * q.dot.x) / length
    hoop = ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.z**2 + (p.radius * q.dot.theta) ** 2) / 2,
        potential=p.mass * p.gravity * q.z,
        goals=[
            ds.Holonomic("contact", length - p.distance),
            ds.Nonholonomic("rolling", along + p.radius * q.dot.theta, unit="N"),
        ],
        independent={"swing": along},
    )
    found = reduced_equations(hoop, hoop.dynamics, {})
    angle = 0.7
    place = {"x": 0.9 * np.sin(angle), "z": -0.9 * np.cos(angle), "theta": 0.0}
    numbers = {"mass": 1.3, "radius": 0.1, "distance": 0.9, "gravity": 9.81, "swing": 0.4}
    known = {**place, **numbers}
    # 2 R phi'' = -g sin phi with R = 0.9; along = R phi', and the force on the contact from the
    # balance along the radius, m v^2 / R = lambda - m g cos phi for lambda that pushes inwards.
    swing = at(found.accelerations, known).item()
    assert abs(swing + 9.81 * np.sin(angle) / 2) <= 20 * EPS * 9.81
    rates = {"rate of swing": swing}
    contact, rolling = (at(found.reactions[n], known | rates).item() for n in found.reactions)
    assert abs(-contact - 1.3 * (0.4**2 / 0.9 + 9.81 * np.cos(angle))) <= 60 * EPS * 13.0
    assert abs(rolling - 1.3 * 9.81 * np.sin(angle) / 2) <= 60 * EPS * 13.0


def at(expression, known):
    """Evaluate an expression at named numbers."""
    symbols = ca.symvar(ca.SX(expression))
    function = ca.Function("f", [ca.vertcat(ca.SX(0, 1), *symbols)], [ca.densify(expression)])
    return np.asarray(function([known[symbol.name()] for symbol in symbols]))


CASES = [
    ("chaplygin-sleigh", None, {}),
    ("unicycle", None, {}),
    pytest.param("cart", None, {}, marks=pytest.mark.slow),
    ("bogies", None, {}),
    ("pendulum", None, {}),
    ("spinning-top", None, {}),
    ("roller-racer", None, {}),
    ("rattleback", None, {}),
    ("rolling-disc", None, {}),
    ("knife-edge", None, {}),
    pytest.param("n-trailer", None, {}, marks=pytest.mark.slow),
    pytest.param("omni-rolling", "spin", {"wheels": 3, "rollers": 4}, marks=pytest.mark.slow),
    pytest.param("omni-rolling", "mecanum", {}, marks=pytest.mark.slow),
    ("omni-inertialess", None, {}),
    ("robot-arm", None, {}),
    ("gyroscope", None, {}),
]


@pytest.mark.default_rows(1)
@pytest.mark.long_rows(
    "cart-None-changes2",
    "n-trailer-None-changes10",
    "omni-rolling-mecanum-changes12",
    "omni-rolling-spin-changes11",
    "rattleback-None-changes7",
    "roller-racer-None-changes6",
)
@pytest.mark.slow_rows(
    "bogies-None-changes3",
    "omni-inertialess-None-changes13",
    "robot-arm-None-changes14",
    "rolling-disc-None-changes8",
    "spinning-top-None-changes5",
    "gyroscope-None-changes15",
)
@pytest.mark.parametrize(("name", "case", "changes"), CASES)
def test_reduced_equations_are_those_that_a_run_integrates(name, case, changes):
    _, found, _ = of(name, case, **changes)
    assert found is not None
    dynamics = found.mode.dynamics
    p = found.mode.numbers
    generator = np.random.default_rng(11)
    positions, w, rates = found.positions, found.pseudo.w, found.rates
    compared = ca.Function(
        "compared",
        [dynamics.t, positions, w, rates, dynamics.p],
        [
            ca.densify(e)
            for e in (
                found.pseudo.velocities,
                found.mass,
                found.push,
                ca.vertcat(ca.SX(0, 1), *found.reactions.values()),
            )
        ],
    )
    meanings = found.pseudo.meanings
    along = ca.vertcat(positions, dynamics.t)
    moved = ca.jtimes(meanings, along, ca.vertcat(found.mode.written(dynamics.position_rates), 1))
    acceleration = ca.SX.sym("a", dynamics.velocity_count)
    turned = moved + ca.jacobian(meanings, dynamics.velocities) @ acceleration
    rate_of = ca.Function(
        "rate",
        [dynamics.t, dynamics.x, acceleration, dynamics.p],
        [
            turned,
            ca.fabs(moved)
            + ca.fabs(ca.jacobian(meanings, dynamics.velocities)) @ ca.fabs(acceleration),
        ],
    )
    for _ in range(3):
        q = generator.uniform(0.2, 0.9, positions.numel())
        speeds = generator.uniform(-1.0, 1.0, w.numel())
        v, *_ = (np.asarray(e) for e in compared(0.3, q, speeds, 0.0, p))
        state = np.concatenate([q, v.ravel()])
        a, u = saddle(dynamics, 0.3, state, p)
        w_rate, size = (np.asarray(e).ravel() for e in rate_of(0.3, state, a, p))
        _, mass, push, reactions = (np.asarray(e) for e in compared(0.3, q, speeds, w_rate, p))
        scale = np.abs(mass) @ size + np.abs(push).ravel()
        # Both sides lose a few roundings for each of some hundred operations, and the solution of
        # the saddle as many as its condition.
        assert np.all(np.abs(mass @ w_rate - push.ravel()) <= 1e-9 * (scale + np.max(scale)))
        places = [row.reaction for row in dynamics.rows if row.reaction is not None]
        largest = np.max(np.abs(u), initial=1.0)
        assert np.all(np.abs(reactions.ravel() - u[places]) <= 1e-9 * largest)


def saddle(dynamics, t, state, p):
    """Solve for accelerations and reactions with numbers alone."""
    parts = dynamics.matrices(t, state, p)
    nv, nu = parts["influence"].shape
    rows = parts["jacobian"].shape[0]
    whole = np.zeros((nv + rows, nv + nu))
    whole[:nv, :nv], whole[:nv, nv:] = parts["mass"], -parts["influence"]
    whole[nv:, :nv] = parts["jacobian"]
    right = np.concatenate([parts["force"].ravel(), -parts["bias"].ravel()])
    found = np.linalg.lstsq(whole, right, rcond=None)[0]
    return found[:nv], found[nv:]
