"""The vehicle with wheels anywhere against rigid bodies in space, and against the symmetric one."""

import math
from dataclasses import dataclass, replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.omni_vehicle import problem, wheels
from daesolve_problems.omni_vehicle.general import general, start
from daesolve_problems.omni_vehicle.thesis import thesis
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import OutOfRangeError
from tests.reference import omni_general_bodies as truth
from tests.reference.omni_general_bodies import Vehicle


def symmetric(wheels, rollers=5, contact=None):
    azimuths = [math.tau * i / wheels for i in range(wheels)]
    places = [(0.15 * math.cos(a), 0.15 * math.sin(a), a, 0.0) for a in azimuths]
    radius = 0.05 / math.cos(math.pi / (rollers - 1))
    return Vehicle(wheels=places, rollers=rollers, contact=contact, wheel_radius=radius)


ODD = Vehicle(
    wheels=[(0.2, 0.03, 0.3, 0.5), (-0.1, 0.15, 1.9, -0.7), (-0.05, -0.17, -1.4, 0.0)],
    contact=(2, 5, 1),
    platform_centre=(0.03, -0.05),
    platform_radius=0.18,
    wheel_radius=0.068,
    roller_inertia=2e-5,
    roller_transverse_inertia=7e-5,
)
QUARTER = math.pi / 4
MECANUM = Vehicle(
    wheels=[
        (0.2, 0.15, math.pi / 2, QUARTER),
        (0.2, -0.15, math.pi / 2, -QUARTER),
        (-0.2, 0.15, math.pi / 2, -QUARTER),
        (-0.2, -0.15, math.pi / 2, QUARTER),
    ],
    contact=(1, 4, 5, 2),
)
ROUNDING = 2e-15
"""Of places of the order of a metre."""
VEHICLES = {"symmetric": symmetric(3), "odd": ODD, "mecanum": MECANUM}


# -- the model as functions of numbers -----------------------------------------------------------


def parameters_of(vehicle):
    found = {
        "platform_radius": vehicle.platform_radius,
        "platform_mass": vehicle.platform_mass,
        "platform_centre_x": vehicle.platform_centre[0],
        "platform_centre_y": vehicle.platform_centre[1],
        "roller_axis_radius": vehicle.roller_axis_radius,
        "wheel_radius": vehicle.wheel_radius,
        "hub_mass": vehicle.hub_mass,
        "hub_width": vehicle.hub_width,
        "roller_mass": vehicle.roller_mass,
        "roller_inertia": vehicle.roller_inertia,
        "roller_transverse_inertia": vehicle.roller_transverse_inertia,
    }
    found = {name: value for name, value in found.items() if value is not None}
    for i, wheel in enumerate(vehicle.wheels, start=1):
        names = (f"wheel_x_{i}", f"wheel_y_{i}", f"heading_{i}", f"roller_angle_{i}")
        found |= dict(zip(names, wheel, strict=True))
    return found


@cache
def posed(wheels, rollers):
    return general(wheels, rollers, "simultaneous")


@cache
def measured(system):
    dynamics, count = system.dynamics, len(system.dynamics.ranges)
    jacobian = ca.vertcat(*[row.jacobian for row in dynamics.rows])
    return ca.Function("at", [dynamics.x, dynamics.p[:count]], [dynamics.kinetic, jacobian])


@dataclass(frozen=True)
class Posed:
    """The model with the numbers of a vehicle; states in the order of the model's."""

    vehicle: Vehicle

    @property
    def system(self):
        return posed(len(self.vehicle.wheels), self.vehicle.rollers)

    @property
    def structure(self):
        return {"wheels": len(self.vehicle.wheels), "rollers": self.vehicle.rollers}

    @property
    def parameters(self):
        return self.system.parameters.defaults | parameters_of(self.vehicle)

    @property
    def contacts(self):
        touching = enumerate(self.vehicle.touching, start=1)
        return {f"contact_{i}": float(j + 1) for i, j in touching}

    @property
    def numbers(self):
        values = self.system.dynamics.value_vector(self.parameters | self.contacts)
        return values[: len(self.system.dynamics.ranges)]

    @property
    def scale(self):
        """Lambda."""
        return wheels.vehicle(self.parameters, *self.structure.values()).velocity_scale

    def values(self, x):
        """The kinetic energy, and the Jacobian of the conditions of no slip."""
        return [np.asarray(e) for e in measured(self.system)(x, self.numbers)]

    def rolling(self, generator):
        """A random state without slip."""
        names = ("x", "y", "theta", "nu_1", "nu_2", "nu_3")
        given = dict(zip(names, generator.normal(size=6), strict=True)) | self.contacts
        for i, j in np.ndindex(*self.structure.values()):
            given[f"phi_dot_{i + 1}_{j + 1}"] = 10.0 * generator.normal()
        for i in range(len(self.vehicle.wheels)):
            given[f"chi_{i + 1}"] = generator.uniform(-1, 1) * math.pi / self.vehicle.rollers
        found = start(given, self.parameters | self.contacts, self.structure)
        return self.ordered(found)

    def ordered(self, state):
        return np.array([state.get(name, 0.0) for name in self.system.dynamics.labels.states])

    def bodies(self, x):
        """The coordinates and their rates as the reference has them."""
        count = self.vehicle.size
        return x[:count], self.kinematics(x) @ x[count:]

    def kinematics(self, x):
        """S of q' = S v."""
        radius = self.vehicle.platform_radius
        cosine, sine = radius * np.cos(x[2]), radius * np.sin(x[2])
        matrix = np.eye(self.vehicle.size)
        matrix[:3, :3] = [[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1 / self.scale]]
        return matrix


@pytest.fixture(scope="module", params=list(VEHICLES))
def vehicle(request):
    return Posed(VEHICLES[request.param])


# -- against rigid bodies in space ---------------------------------------------------------------


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("mecanum-0", "symmetric-0", "mecanum-2", "odd-1")
@pytest.mark.parametrize("seed", range(5))
def test_the_kinetic_energy_is_the_sum_over_the_bodies(vehicle, seed):
    """At any velocities, with slip too."""
    x = np.random.default_rng(seed).normal(size=2 * vehicle.vehicle.size)
    energy, _ = vehicle.values(x)
    expected = truth.kinetic(vehicle.vehicle, *vehicle.bodies(x))
    assert energy.item() == pytest.approx(expected, rel=1e-14)


@pytest.mark.slow_rows("mecanum-2")
@pytest.mark.parametrize("seed", range(5))
def test_what_slips_is_the_material_point_at_the_contact(vehicle, seed):
    """Which has no velocity upwards either."""
    generator = np.random.default_rng(seed)
    x = vehicle.rolling(generator)
    _, found = vehicle.values(x)
    for wheel in range(len(vehicle.vehicle.wheels)):
        jacobian = truth.contact_jacobian(vehicle.vehicle, wheel, x[: vehicle.vehicle.size])
        expected = jacobian @ vehicle.kinematics(x)
        assert np.max(np.abs(found[2 * wheel : 2 * wheel + 2] - expected[:2])) < ROUNDING
        assert np.max(np.abs(expected[2])) < ROUNDING


@pytest.mark.parametrize("angle", [0.0, 0.3, QUARTER, -1.1])
@pytest.mark.parametrize("chi", [-0.6, -0.2, 0.0, 0.45])
def test_the_contact_lies_on_a_roller_that_fills_the_wheel_s_cylinder(angle, chi):
    """The circle about the roller's axis that touches the cylinder there is the contact's."""
    wheel = Vehicle(wheels=[(0.0, 0.0, 0.0, angle)])
    q = np.zeros(wheel.size)
    q[3] = chi
    middle, axes = truth.roller_place(wheel, 0, 0, q)
    point = truth.contact_point(wheel, 0, q)
    along = (point - middle) @ axes[:, 1]
    radius = np.linalg.norm(point - middle - along * axes[:, 1])
    assert truth.inscribed_radius(wheel, angle, along) == pytest.approx(radius, rel=1e-12)
    assert point[0] == pytest.approx(-0.05 * math.tan(chi) * math.tan(angle), abs=1e-16)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("seed", range(3))
def test_accelerations_and_forces_are_those_of_the_bodies(vehicle, seed):
    """Momenta change as the forces at the contacts, and nothing else, ask for."""
    x = vehicle.rolling(np.random.default_rng(seed))
    size = vehicle.vehicle.size
    around = dict(zip(vehicle.system.dynamics.labels.states, x, strict=True))
    accelerations, reactions = (
        np.asarray(vehicle.system.function(name, around)(0.0, x, vehicle.numbers)).ravel()
        for name in ("accelerations", "reactions")
    )
    q, rates = vehicle.bodies(x)
    turned = np.zeros(size)
    turned[:2] = rates[2] * np.array([-rates[1], rates[0]])
    second = vehicle.kinematics(x) @ accelerations + turned
    found = truth.inertia_forces(vehicle.vehicle, q, rates, second)
    jacobian = np.vstack(
        [truth.contact_jacobian(vehicle.vehicle, i, q)[:2] for i in range(len(reactions) // 2)]
    )
    expected = jacobian.T @ reactions
    assert np.max(np.abs(found - expected)) < 1e-10 * np.max(np.abs(expected))
    assert np.max(np.abs(jacobian @ rates)) < ROUNDING * np.max(np.abs(rates))


# -- against the symmetric model -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("wheels", "rollers"), [(3, 5), (4, 3)])
def test_the_symmetric_vehicle_is_that_of_the_thesis(wheels, rollers):
    generator = np.random.default_rng(wheels)
    contact = generator.integers(1, rollers + 1, size=wheels).tolist()
    if rollers == 3:
        car = replace(symmetric(wheels, 4, contact), rollers=3, wheel_radius=0.12)
    else:
        car = symmetric(wheels, rollers, contact)
    ours, other = Posed(car), thesis(wheels, rollers, "simultaneous")
    given = {"wheel_radius": car.wheel_radius} | ours.contacts
    theirs = other.dynamics.value_vector(other.parameters.defaults | given)
    theirs = theirs[: len(other.dynamics.ranges)]
    assert other.dynamics.labels == ours.system.dynamics.labels
    here, there = ours.system.function("rhs"), other.function("rhs")
    for _ in range(20):
        x = ours.rolling(generator)
        found = np.asarray(here(0.0, x, ours.numbers)).ravel()
        expected = np.asarray(there(0.0, x, theirs)).ravel()
        assert np.max(np.abs(found - expected)) < 1e-13 * np.max(np.abs(expected))


# -- runs ----------------------------------------------------------------------------------------


SOLVER = ds.Taylor()
MEASURED_ONLY = ds.Feedback(rates={"energy": None})
START = {"x": 0.1, "y": -0.2, "theta": 0.4, "nu_1": 1.0, "nu_2": 0.0, "nu_3": 1.0}
SPINS = {"nu_2": 0.7, "phi_dot_1_3": 5.0, "phi_dot_2_1": -3.0, "chi_1": 0.2}
PROBLEM = replace(
    problem,
    cases=[
        ds.Case("moving", model="general", start=START, until=10.0),
        ds.Case("spinning", model="general", start=START | SPINS, until=5.0),
    ],
)
FEW = replace(ODD, rollers=3, contact=(2, 1, 3), wheel_radius=0.12)


def case_of(name, vehicle, **more):
    choices = Posed(vehicle).structure | parameters_of(vehicle) | Posed(vehicle).contacts
    return PROBLEM.case(name, **choices, **more)


@cache
def run_of(name):
    case, vehicle = {
        "odd": ("spinning", ODD),
        "few rollers": ("spinning", FEW),
        "mecanum": ("moving", MECANUM),
    }[name]
    run = case_of(case, vehicle).solve(solver=SOLVER, at=[5.0], formulation=MEASURED_ONLY)
    return vehicle, run


@pytest.fixture(scope="module", params=["odd", "few rollers", "mecanum"])
def moved(request):
    return run_of(request.param)


@pytest.mark.long_rows("odd")
@pytest.mark.slow
def test_between_impacts_energy_and_the_momenta_of_free_rollers_are_kept(moved):
    _, run = moved
    assert run.outcome is ds.Outcome.COMPLETED
    assert not run.drift["energy"].driven
    assert run.drift["energy"].max_relative < 1e-14
    for name, drift in run.drift.items():
        # Momenta are those of spins of up to 50 rad/s.
        assert drift.max_relative < 1e-13, name


@pytest.mark.long_rows("mecanum", "odd")
@pytest.mark.slow
def test_impacts_are_those_of_the_bodies(moved):
    """Velocities and impulses, by the bodies' mass matrix and the new contact points."""
    vehicle, run = moved
    assert len(run.events) >= 5
    for event in run.events:
        labels = [name for name in event.after if name.startswith("contact")]
        car = replace(vehicle, contact=[round(event.after[name]) for name in labels])
        here = Posed(car)
        before, after = here.ordered(event.detail), here.ordered(event.after)
        q, found = here.bodies(after)
        coming = here.kinematics(before) @ before[car.size :]
        mass = truth.mass_matrix(car, q)
        contacts = [truth.contact_jacobian(car, i, q)[:2] for i in range(len(car.wheels))]
        jacobian = np.vstack(contacts)
        expected, impulses = truth.impact(mass, jacobian, coming)
        size = math.sqrt(coming @ mass @ coming)
        missed = (found - expected) * np.sqrt(np.diag(mass))
        assert np.max(np.abs(missed)) < 1e-13 * size
        told = list(event.impact.impulses.values())
        assert told == pytest.approx(impulses, abs=1e-11 * np.max(np.abs(impulses)))


def test_impacts_lose_the_energy_of_the_lost_velocities(moved):
    _, run = moved
    for event in run.events:
        assert event.impact.kinetic_after < event.impact.kinetic_before
        assert abs(event.impact.carnot) < 1e-14


def test_each_wheel_rolls_on_to_the_roller_that_comes_next(moved):
    vehicle, run = moved
    border = math.pi / vehicle.rollers
    contacts = Posed(vehicle).contacts
    for event in run.events:
        for i in range(1, len(vehicle.wheels) + 1):
            left, met = contacts[f"contact_{i}"], event.after[f"contact_{i}"]
            side = np.sign(event.detail[f"chi_{i}"]) if i - 1 in event.fired else 0
            assert (met - left + side) % vehicle.rollers == 0
            chi = event.detail[f"chi_{i}"]
            assert event.after[f"chi_{i}"] == pytest.approx(chi - 2 * side * border, abs=1e-15)
            if side:
                assert abs(chi) == pytest.approx(border, abs=1e-13)
            contacts[f"contact_{i}"] = met


def test_the_four_mecanum_wheels_switch_sixty_times_in_ten_seconds():
    _, run = run_of("mecanum")
    assert run.event_count == 60


@pytest.mark.slow
def test_independent_velocities_give_the_same_motion():
    vehicle, run = run_of("few rollers")
    other = case_of("spinning", vehicle).solve(solver=SOLVER, at=[5.0], formulation=ds.NullSpace())
    assert [event.time for event in other.events] == pytest.approx(
        [event.time for event in run.events], abs=1e-12
    )
    for name, series in run.states.items():
        assert other[name] == pytest.approx(series, abs=1e-11), name


@pytest.mark.long
def test_run_and_impacts_of_the_symmetric_vehicle_are_those_of_the_thesis():
    """Turning on the spot, where all wheels switch together; and one after the other."""
    for imposition in ("simultaneous", "sequential"):
        begin = {"nu_1": 0.0, "nu_2": 0.0, "nu_3": 1.0, "x": 0.0, "y": 0.0, "theta": 0.0}
        case = case_of("moving", symmetric(3), imposition=imposition)
        run = case.solve(4.0, initial=begin, solver=SOLVER, at=[4.0])
        other = problem.case("spin", model="thesis", imposition=imposition)
        expected = other.solve(4.0, solver=SOLVER, at=[4.0])
        # One after the other they get out of step, and reach the next border apart.
        assert len(run.events) == {"simultaneous": 2, "sequential": 4}[imposition]
        for event, right in zip(run.events, expected.events, strict=True):
            assert event.fired == right.fired
            assert event.after == pytest.approx(right.after, abs=1e-12)
            energy = right.impact.kinetic_after
            assert event.impact.kinetic_after == pytest.approx(energy, rel=1e-13)


# -- what cannot be ------------------------------------------------------------------------------


def on_rims(turned):
    """Radial axles, turned by as much."""
    return {f"heading_{i}": math.tau * (i - 1) / 3 + turned for i in (1, 2, 3)}


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"roller_angle_2": math.pi / 2}, "roller_angle_2 is 1.5708 rad, but must lie between"),
        ({"roller_angle_1": -2.0}, "roller_angle_1 is -2 rad, but must lie between"),
        (on_rims(math.pi / 2), r"all pass through the point \(-?0, -?0\) m"),
        ({f"heading_{i}": 0.3 for i in (1, 2, 3)}, "are all parallel, so the vehicle slides"),
        (
            {f"wheel_{a}_{i}": 0.1 * i + 0.02 for i in (1, 2, 3) for a in "xy"},
            "the wheels stand on one line",
        ),
        ({"wheel_radius": 0.06}, "wheel_radius is 0.06 m, but must be more than 0.0618034 m"),
        ({"rollers": 3}, "give wheel_radius"),
        ({"wheels": 2}, "wheels is 2, but must be at least 3"),
        ({"contact_1": 6.0}, "contact_1 is 6, but must be a whole number from 1 to 5"),
    ],
)
def test_what_cannot_be_is_refused_in_words(choices, words):
    with pytest.raises(OutOfRangeError, match=words):
        PROBLEM.case(**choices).guess()


def test_lines_that_pass_each_other_by_a_little_are_enough():
    tilted = {f"roller_angle_{i}": 1e-3 for i in (1, 2, 3)}
    guess, _ = PROBLEM.case(**on_rims(math.pi / 2), **tilted).guess()
    assert guess["chi_dot_1"] != 0.0


def test_the_lines_that_meet_are_described_by_where_they_meet():
    """Mecanum rollers the other way round, on a square: nothing keeps it from turning."""
    square = replace(
        MECANUM,
        wheels=[
            (x * 0.2 + 0.05, y * 0.2, math.pi / 2, -x * y * QUARTER)
            for x in (1, -1)
            for y in (1, -1)
        ],
    )
    with pytest.raises(OutOfRangeError, match=r"point \(0.05, -?[0-9e.-]*\) m .* turns about it"):
        case_of("moving", square).guess()


@pytest.mark.slow
def test_a_wheel_without_a_place_stands_where_the_symmetric_vehicle_has_it():
    found = PROBLEM.case(platform_radius=0.3, wheel_x_3=-0.2, wheel_y_3=-0.25).derived
    assert found["wheel_x_1"] == 0.3
    assert (found["wheel_x_2"], found["wheel_y_2"]) == pytest.approx((-0.15, 0.15 * math.sqrt(3)))
    assert "wheel_x_3" not in found


# -- any vehicle ---------------------------------------------------------------------------------


PLACES = st.tuples(st.floats(0.01, 0.3), st.floats(-0.3, 0.3))
ANGLES = st.tuples(st.floats(-3.0, 3.0), st.floats(-1.5, 1.5))


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(PLACES, ANGLES), min_size=3, max_size=3),
    st.tuples(st.floats(-0.2, 0.2), st.floats(-0.2, 0.2)),
    st.integers(0, 1000),
)
def test_of_any_vehicle_energy_and_contacts_are_those_of_the_bodies(placed, centre, seed):
    generator = np.random.default_rng(seed)
    car = replace(FEW, wheels=[(*p, *a) for p, a in placed], platform_centre=centre)
    x = generator.normal(size=2 * car.size)
    x[3:6] *= 0.3
    here = Posed(car)
    energy, found = here.values(x)
    assert energy.item() == pytest.approx(truth.kinetic(car, *here.bodies(x)), rel=1e-13)
    for i, (_, (_, tilt)) in enumerate(placed):
        expected = truth.contact_jacobian(car, i, x[: car.size]) @ here.kinematics(x)
        size = ROUNDING / math.cos(tilt)
        assert np.max(np.abs(found[2 * i : 2 * i + 2] - expected[:2])) < size
