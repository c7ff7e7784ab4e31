"""The equations of the omni-wheel vehicle and its impacts, against bodies in space."""

from __future__ import annotations

import re
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.omni_vehicle import problem

import daesolve as ds
from daesolve.core.preparation.preparing import Request, prepare
from daesolve.errors import OutOfRangeError
from tests.reference.omni_bodies import Vehicle

SHAPES = ((3, 5), (4, 6), (5, 4), (3, 3))
WIDE = {"wheel_radius": 0.12}
"""Three rollers do not determine the wheel's radius."""


def given_start(rng, wheels, rollers):
    """Start values by the problem's own names, everything moving."""
    sector = np.pi / rollers
    start = {name: rng.normal() for name in ("x", "y", "theta", "nu_1", "nu_2", "nu_3")}
    start |= {f"chi_{i}": rng.uniform(-sector, sector) for i in range(1, wheels + 1)}
    start |= {f"contact_{i}": float(rng.integers(1, rollers + 1)) for i in range(1, wheels + 1)}
    names = [f"phi_dot_{i}_{j}" for i in range(1, wheels + 1) for j in range(1, rollers + 1)]
    return start | {name: 3.0 * rng.normal() for name in names}


def started(model, shape, start):
    """A case at a start, with its states and values as numbers."""
    wheels, rollers = shape
    own = WIDE if rollers == 3 else {}
    case = problem.case("twist", model=model, wheels=wheels, rollers=rollers, **own)
    case = replace(case, start=start)
    dynamics, guess = case.system.dynamics, case.guess()[0]
    x = np.array([guess.get(name, 0.0) for name in dynamics.labels.states])
    return case, x, dynamics.value_vector(case.values)


def evaluated(dynamics, expressions, x, p):
    function = ca.Function("f", [dynamics.x, dynamics.p], [ca.vertcat(*expressions)])
    return np.asarray(function(x, p)).ravel()


def body_rates(x, wheels, rollers, velocity_scale, radius=0.15):
    """q and q' of the bodies from the states of the model with all of them."""
    count = 3 + wheels * (rollers + 1)
    q, v = x[:count], x[count:]
    cosine, sine = np.cos(q[2]), np.sin(q[2])
    along = radius * np.array([cosine * v[0] - sine * v[1], sine * v[0] + cosine * v[1]])
    return q, np.concatenate([along, [v[2] / velocity_scale], v[3:]])


def in_velocities(q, rates, accelerations, velocity_scale, radius=0.15):
    """q'' of the bodies written in nu, chi' and phi'."""
    cosine, sine = np.cos(q[2]), np.sin(q[2])
    turn = np.array([[cosine, sine], [-sine, cosine]])
    around = rates[2] * np.array([-rates[1], rates[0]])
    along = turn @ (accelerations[:2] - around) / radius
    return np.concatenate([along, [velocity_scale * accelerations[2]], accelerations[3:]])


def state_rate(prepared, states):
    """The rate of all states by the equations that are integrated, whatever their coordinates."""
    problem, values = prepared.problem, prepared.values
    entered = ca.MX.sym("x", problem.size)
    shown, rate = entered, problem.rhs(0.0, entered, values)
    if problem.chart is not None:
        shown = problem.chart.embed(0.0, entered[: problem.chart.embed.nnz_in(1)], values)
    function = ca.Function("rate", [entered], [ca.jtimes(shown, entered, rate)])
    return np.asarray(function(problem.enter(0.0, states, values))).ravel()


def forces(wheels):
    return [f"force_{side}_{i}" for i in range(1, wheels + 1) for side in ("n", "tau")]


# -- equations -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: "{}-wheels-of-{}".format(*shape))
def moving(request):
    """Bodies in space at a random state, with the start that it belongs to."""
    wheels, rollers = shape = request.param
    start = given_start(np.random.default_rng(wheels * rollers), wheels, rollers)
    case, x, p = started("thesis", shape, start)
    contacts = tuple(int(start[f"contact_{i}"]) for i in range(1, wheels + 1))
    values = case.values
    car = Vehicle(wheels, rollers, contacts, wheel_radius=values["wheel_radius"])
    q, rates = body_rates(x, wheels, rollers, values["velocity_scale"])
    accelerations, reactions = car.accelerations(q, rates)
    expected = in_velocities(q, rates, accelerations, values["velocity_scale"])
    parts = [np.asarray(part) for part in car.matrices(q, rates)]
    return shape, start, (case, x, p), (parts, expected, reactions)


def agrees(found, expected):
    return np.max(np.abs(found - expected)) <= 1e-11 * np.max(np.abs(expected))


@pytest.mark.slow_rows("4-wheels-of-6", "5-wheels-of-4")
def test_the_start_rolls_without_slipping_and_without_leaving_the_ground(moving):
    _, _, (case, x, p), (parts, *_) = moving
    dynamics = case.system.dynamics
    slip = dynamics.matrices(0.0, x, p)["jacobian"] @ x[dynamics.position_count :]
    assert np.max(np.abs(slip)) <= 1e-14
    assert np.max(np.abs(parts[5])) <= 1e-14


@pytest.mark.default_rows(1)
def test_the_energy_is_that_of_the_bodies(moving):
    shape, start, (case, x, p), (parts, *_) = moving
    expected = pytest.approx(parts[4].item(), rel=1e-13)
    dynamics = case.system.dynamics
    assert evaluated(dynamics, [dynamics.outputs["energy"]], x, p)[0] == expected
    case, x, p = started("compact", shape, start)
    dynamics = case.system.dynamics
    assert evaluated(dynamics, [dynamics.outputs["energy"]], x, p)[0] == expected


@pytest.mark.default_rows(2)
def test_accelerations_and_forces_are_those_of_the_bodies(moving):
    _, _, (case, x, p), (_, expected, reactions) = moving
    own = p[: len(case.system.dynamics.ranges)]
    accelerations = case.system.function("accelerations")(0.0, x, own)
    assert agrees(np.asarray(accelerations).ravel(), expected)
    found = case.system.function("reactions")(0.0, x, own)
    assert agrees(np.asarray(found).ravel(), reactions)


def rate_error(moving, formulation):
    """The error of a formulation's accelerations, relative to the largest of them."""
    _, _, (case, x, _), (_, expected, _) = moving
    request = Request(
        until=1.0, guess=case.guess()[0], parameters=case.values, formulation=formulation
    )
    found = state_rate(prepare(case.system, request), x)[-len(expected) :]
    return np.max(np.abs(found - expected)) / np.max(np.abs(expected))


@pytest.mark.slow_rows("4-wheels-of-6", "5-wheels-of-4")
def test_feedback_moves_as_the_bodies_do(moving):
    assert rate_error(moving, ds.Feedback()) <= 1e-11


@pytest.mark.long_rows("moving2", "moving3")
@pytest.mark.parametrize(
    "moving",
    [*(shape for shape in SHAPES if shape[0] == 3),
     *(pytest.param(shape, marks=pytest.mark.slow) for shape in SHAPES if shape[0] > 3)],
    indirect=True,
)  # fmt: skip
@pytest.mark.slow
def test_independent_velocities_move_as_the_bodies_do(moving):
    assert rate_error(moving, ds.NullSpace()) <= 1e-11


def test_the_three_velocities_move_as_those_of_the_bodies(moving):
    shape, start, (_, full, _), (_, expected, reactions) = moving
    wheels, rollers = shape
    case, x, p = started("compact", shape, start)
    dynamics = case.system.dynamics
    own = p[: len(dynamics.ranges)]
    found = np.asarray(case.system.function("rhs")(0.0, x, own)).ravel()
    assert agrees(found[-3:], expected[:3])
    assert agrees(found[3:-3], full[3 + wheels * (rollers + 1) :][3 : 3 + wheels])
    found = evaluated(dynamics, [dynamics.outputs[name] for name in forces(wheels)], x, p)
    assert agrees(found, reactions)
    names = [f"phi_dot_{i}_{j}" for i in range(1, wheels + 1) for j in range(1, rollers + 1)]
    found = evaluated(dynamics, [dynamics.outputs[name] for name in names], x, p)
    assert agrees(found, full[-wheels * rollers :])


def test_inertias_may_be_given_in_place_of_masses_and_sizes():
    derived = problem.case("spin").derived
    assert derived["vehicle_inertia"] == pytest.approx(0.0397185914837360377, rel=1e-14)
    assert derived["wheel_inertia"] == pytest.approx(9.6315685827815457e-4, rel=1e-14)
    assert derived["roller_inertia"] == pytest.approx(2.6808261758407797e-6, rel=1e-14)
    assert derived["velocity_scale"] == pytest.approx(3.6107810439760034, rel=1e-14)
    names = [name for name in derived if "_" in name and not name[-1].isdigit()]
    other = problem.case("spin", platform_mass=7.0, **{name: derived[name] for name in names})
    case = problem.case("spin")
    x = np.linspace(-0.3, 0.4, len(case.system.dynamics.x.elements()))
    ranges = case.system.dynamics.ranges
    rates = [
        case.system.function("rhs")(0.0, x, [chosen.values[name] for name in ranges])
        for chosen in (case, other)
    ]
    assert np.array_equal(np.asarray(rates[0]), np.asarray(rates[1]))


@pytest.mark.parametrize("model", ["thesis", "compact"])
def test_a_given_inertia_of_the_rollers_enters_that_of_the_vehicle(model):
    plain = problem.case("spin", model=model)
    other = problem.case("spin", model=model, roller_inertia=1e-5)
    change = other.derived["vehicle_inertia"] - plain.derived["vehicle_inertia"]
    assert change == pytest.approx(15 * (1e-5 - plain.derived["roller_inertia"]) / 2, rel=1e-9)


# -- impacts -------------------------------------------------------------------------------------


def next_contacts(contacts, steps, rollers):
    """Contact rollers after wheels left theirs forwards (1), backwards (-1) or not at all (0)."""
    return [(int(c) - 1 - int(s)) % rollers + 1 for c, s in zip(contacts, steps, strict=True)]


def compact_impact(dynamics):
    """(fired, x, p) -> x and the discrete values after the event of the compact model."""
    (row,) = dynamics.resets.values()
    x = [row.states.get(k, dynamics.x[k]) for k in range(dynamics.x.numel())]
    names = list(dynamics.values)
    p = [row.values.get(name, dynamics.p[names.index(name)]) for name in names]
    inputs = [row.fired, dynamics.x, dynamics.p]
    return ca.Function("impact", inputs, [ca.vertcat(*x), ca.vertcat(*p)])


def at_border(rng, shape):
    """A start with some wheels leaving their rollers; which, and in what direction."""
    wheels, rollers = shape
    start = given_start(rng, wheels, rollers)
    steps = np.zeros(wheels, dtype=int)
    while not np.any(steps):
        steps = rng.integers(-1, 2, size=wheels)
    for i in np.flatnonzero(steps):
        start[f"chi_{i + 1}"] = steps[i] * np.pi / rollers
    return start, steps


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("shape2")
@pytest.mark.parametrize("shape", SHAPES)
def test_an_impact_is_one_projection_however_it_is_written(shape):
    wheels, rollers = shape
    rng = np.random.default_rng(7)
    for _ in range(10):
        start, steps = at_border(rng, shape)
        case, x, p = started("thesis", shape, start)
        dynamics = case.system.dynamics
        mass = dynamics.matrices(0.0, x, p)["mass"]
        (row,) = dynamics.resets.values()
        names = list(dynamics.values)
        changed = ca.Function(
            "changed",
            [row.fired, dynamics.x, dynamics.p],
            [ca.vertcat(*row.states.values()), ca.vertcat(*row.values.values())],
        )
        angles, contacts = (np.asarray(v).ravel() for v in changed(np.abs(steps), x, p))
        before = [start[f"contact_{i}"] for i in range(1, wheels + 1)]
        assert list(contacts) == next_contacts(before, steps, rollers)
        after, new_p = x.copy(), p.copy()
        after[list(row.states)] = angles
        new_p[[names.index(name) for name in row.values]] = contacts
        parts = dynamics.matrices(0.0, after, new_p)
        assert np.allclose(parts["mass"], mass, rtol=0.0, atol=1e-18)
        velocities, rows = x[dynamics.position_count :], parts["jacobian"]
        projected = metric_projection(mass, rows, velocities)
        free = null_space_impact(mass, rows, velocities, wheels, rollers, contacts)
        assert agrees(free, projected)
        assert agrees(saddle_impact(mass, rows, velocities), projected)
        found, rollers_found = compact_velocities(shape, start, steps)
        assert agrees(found, projected[:3])
        assert agrees(rollers_found, projected[3 + wheels :])


def metric_projection(mass, rows, velocities):
    inverse = np.linalg.inv(mass)
    impulses = np.linalg.solve(rows @ inverse @ rows.T, rows @ velocities)
    return velocities - inverse @ rows.T @ impulses


def saddle_impact(mass, rows, velocities):
    count = len(rows)
    saddle = np.block([[mass, -rows.T], [rows, np.zeros((count, count))]])
    right = np.concatenate([mass @ velocities, np.zeros(count)])
    return np.linalg.solve(saddle, right)[: len(mass)]


def null_space_impact(mass, rows, velocities, wheels, rollers, contacts):
    """nu and the rates of the rollers that are free determine all velocities."""
    first = 3 + wheels
    met = [first + i * rollers + int(contacts[i]) - 1 for i in range(wheels)]
    held = [*range(3, first), *met]
    free = [k for k in range(len(mass)) if k not in held]
    basis = np.zeros((len(mass), len(free)))
    basis[free] = np.eye(len(free))
    basis[held] = -np.linalg.solve(rows[:, held], rows[:, free])
    return basis @ np.linalg.solve(basis.T @ mass @ basis, basis.T @ mass @ velocities)


def compact_velocities(shape, start, steps):
    """nu and the rates of all rollers after an impact, by the compact model."""
    wheels, rollers = shape
    case, x, p = started("compact", shape, start)
    dynamics = case.system.dynamics
    x, p = (np.asarray(v).ravel() for v in compact_impact(dynamics)(np.abs(steps), x, p))
    names = [f"phi_dot_{i}_{j}" for i in range(1, wheels + 1) for j in range(1, rollers + 1)]
    return x[-3:], evaluated(dynamics, [dynamics.outputs[name] for name in names], x, p)


IMPACTS_A_SHAPE = 600


@pytest.mark.long_rows("8-4", "8-6")
@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize("wheels", [3, 4, 5, 6])
@pytest.mark.parametrize("rollers", [4, 5, 6, 7, 8])
def test_what_an_impact_costs_is_the_energy_of_the_velocities_lost(wheels, rollers):
    """Carnot: T- - T+ = (v+ - v-) . M (v+ - v-) / 2, so that T never rises; 12 000 impacts in all.

    Sizes, masses, states, the wheels that switch and their directions are random.
    """
    shape, rng = (wheels, rollers), np.random.default_rng(100 * wheels + rollers)
    plain = problem.case("twist", model="compact", wheels=wheels, rollers=rollers)
    dynamics = plain.system.dynamics
    impact = compact_impact(dynamics)
    for _ in range(6):
        sizes = {
            "platform_radius": rng.uniform(0.1, 0.3),
            "roller_axis_radius": rng.uniform(0.02, 0.08),
            "platform_mass": rng.uniform(0.0, 2.0),
            "hub_mass": rng.uniform(0.01, 0.5),
            "roller_mass": rng.uniform(0.01, 0.5),
        }
        case = plain.changed(sizes)
        columns = [border_column(case, rng, shape) for _ in range(IMPACTS_A_SHAPE // 6)]
        fired, x, p = (np.array(part).T for part in zip(*columns, strict=True))
        x_after, p_after = (np.asarray(part) for part in impact(fired, x, p))
        car = case.derived
        old, chi = bodies_velocities(dynamics, shape, x, p, car)
        new, _ = bodies_velocities(dynamics, shape, x_after, p_after, car)
        radius = sizes["platform_radius"]
        before, after, lost = (twice_kinetic(v, chi, car, radius) for v in (old, new, new - old))
        assert np.max(np.abs(before - after - lost) / before) <= 1e-13
        assert np.max((after - before) / before) <= 1e-15
        assert np.median(lost / before) > 1e-9


def border_column(case, rng, shape):
    start, steps = at_border(rng, shape)
    chosen = replace(case, start=start)
    dynamics, guess = case.system.dynamics, chosen.guess()[0]
    x = [guess[name] for name in dynamics.labels.states]
    return np.abs(steps), x, dynamics.value_vector(chosen.values)


def bodies_velocities(dynamics, shape, x, p, car):
    """All velocities (nu, chi', phi') by columns, and the angles of all rollers."""
    wheels, rollers = shape
    names, states = list(dynamics.values), dynamics.labels.states
    function = ca.Function(
        "rates", [dynamics.x, dynamics.p],
        [ca.vertcat(dynamics.velocities, dynamics.position_rates[3:], *[
            dynamics.outputs[f"phi_dot_{i}_{j}"]
            for i in range(1, wheels + 1) for j in range(1, rollers + 1)
        ])],
    )  # fmt: skip
    angles = [
        x[states.index(f"chi_{i}")] + 2 * np.pi / rollers * (j - p[names.index(f"contact_{i}")])
        for i in range(1, wheels + 1)
        for j in range(1, rollers + 1)
    ]
    return np.asarray(function(x, p)), np.array(angles)


def twice_kinetic(v, chi, car, platform_radius):
    """2 T of columns of velocities, as in the thesis."""
    theta_dot = v[2] / car["velocity_scale"]
    wheels = len(v) - 3 - len(chi)
    spins = v[3 + wheels :]
    return (
        car["total_mass"] * platform_radius**2 * np.sum(v[:2] ** 2, axis=0)
        + car["vehicle_inertia"] * theta_dot**2
        + car["wheel_inertia"] * np.sum(v[3 : 3 + wheels] ** 2, axis=0)
        + car["roller_inertia"] * np.sum(spins * (spins + 2 * theta_dot * np.sin(chi)), axis=0)
    )


# -- the start, and what is refused --------------------------------------------------------------


def test_the_rates_of_wheels_and_contact_rollers_follow_from_the_constraints():
    case = replace(problem.case("twist"), start={"chi_2": 0.3, "contact_2": 4.0})
    found = case.consistent_start()
    assert found.changes == {}
    state = dict(zip(case.system.dynamics.labels.states, found.state, strict=True))
    car = case.derived
    rho = car["wheel_radius"] * np.cos(0.3) - 0.05
    assert state["phi_dot_2_4"] == pytest.approx(-0.5 * 0.15 / rho, rel=1e-14)
    assert state["phi_dot_2_1"] == pytest.approx(0.0, abs=1e-15)
    assert state["chi_dot_1"] == pytest.approx(
        -0.15 / car["velocity_scale"] / car["wheel_radius"], rel=1e-14
    )


@pytest.mark.parametrize("model", ["thesis", "compact"])
@pytest.mark.parametrize(
    ("changes", "start", "sentence"),
    [
        ({"wheels": 2}, {}, "wheels is 2, but must be at least 3"),
        ({"rollers": 0}, {}, "rollers is 0, but must be at least 3"),
        ({"rollers": 2}, {}, "rollers is 2, but must be at least 3"),
        ({"rollers": 3}, {}, "give wheel_radius, more than 0.1 m"),
        ({"rollers": 3, "wheel_radius": 0.09}, {}, "must be more than 0.1 m: with 3 rollers"),
        ({"wheel_radius": 0.05}, {}, "must be more than roller_axis_radius, 0.05 m"),
        ({"wheel_radius": -0.1}, {}, "'wheel_radius' is -0.1"),
        ({}, {"contact_2": 6.0}, "contact_2 is 6, but must be a whole number from 1 to 5"),
        ({}, {"contact_1": 1.5}, "contact_1 is 1.5, but must be a whole number"),
        ({"contact_3": 0.0}, {}, "contact_3 is 0, but"),
        ({}, {"chi_1": 0.7}, "chi_1 is 0.7 rad at the start, but must lie within 0.628319"),
        ({}, {"chi_3": -0.63}, "the wheel stands on another roller, contact_3"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(model, changes, start, sentence):
    def begin():
        return replace(
            problem.case("twist", model=model, **changes), start=start
        ).consistent_start()

    with pytest.raises(OutOfRangeError, match=re.escape(sentence)):
        begin()


def test_a_wheel_may_stand_on_the_border_of_its_roller():
    border = np.pi / 5
    state = replace(problem.case("twist"), start={"chi_1": border}).consistent_start().state
    assert state[3] == border


@pytest.mark.slow
@pytest.mark.slow_rows(
    "spin-sequential",
    "straight-sequential",
    "straight-simultaneous",
    "twist-sequential",
    "twist-simultaneous",
)
@pytest.mark.parametrize("imposition", ["simultaneous", "sequential"])
@pytest.mark.parametrize("name", ["spin", "straight", "twist"])
def test_the_reduced_equations_tell_what_each_impact_takes(name, imposition, tmp_path):
    problem = ds.problem("omni-rolling")
    case = problem.case(name, model="compact", imposition=imposition)
    run = case.solve(12.0, store=tmp_path / "run")
    bodies = problem.case(name, model="thesis", imposition=imposition).solve(12.0)
    told = [event.impact for event in run.events]
    expected = [event.impact for event in bodies.events]
    assert len(told) == len(expected) > 4
    whole = run["energy"][0]
    for one, other in zip(told, expected, strict=True):
        assert one.impulses == {}
        # Both models are integrated to rounding; an energy is 1e-16 of itself off an impact.
        assert one.kinetic_before == pytest.approx(other.kinetic_before, abs=1e-13 * whole)
        assert one.kinetic_after == pytest.approx(other.kinetic_after, abs=1e-13 * whole)
        assert one.carnot < 1e-14
    lost = sum(one.kinetic_before - one.kinetic_after for one in told)
    assert lost == pytest.approx(whole - run["energy"][-1], abs=1e-13 * whole)
    stored = ds.resume(tmp_path / "run")
    assert [event.impact for event in stored.events] == told
    assert any("Carnot" in note for note in run.description["notes"])
