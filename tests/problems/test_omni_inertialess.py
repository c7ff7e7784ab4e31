"""The vehicle without inertia of its rollers: equations, reactions, closed form, pictures."""

import math
from functools import cache

import numpy as np
import pytest
from daesolve_problems.omni_friction.comparing import matched
from daesolve_problems.omni_inertialess import closed_form, problem
from daesolve_problems.omni_inertialess.models import constrained, corrected
from daesolve_problems.omni_inertialess.pictures import drawing, motion
from daesolve_problems.omni_inertialess.vehicle import STATES
from daesolve_problems.omni_vehicle import problem as rolling
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import evaluate, from_json
from daesolve.reporting import document, with_drawing
from daesolve.reporting.sampling import columns
from tests.reference import omni_inertialess as truth

TIMES = (1.0, 5.0)
CASES = [case.name for case in problem.cases]
ODD = {
    "wheels": 5,
    "mass": 2.0,
    "inertia": 0.09,
    "wheel_inertia": 0.003,
    "centre_x": -0.04,
    "centre_y": 0.07,
    "roller_angle": 1.1,
    "wheel_x_1": 0.2,
    "wheel_y_1": 0.03,
    "heading_1": 0.3,
    "roller_angle_1": 2.0,
    "wheel_x_4": -0.1,
    "heading_4": 2.5,
    "roller_angle_4": -0.8,
}
START = {"x": 0.3, "y": -0.2, "theta": 0.7, "v_1": 0.4, "v_2": -0.9, "omega": 1.7}


def vehicle(bound):
    """Return the reference's vehicle with the numbers of a case."""
    p, count = bound.values, bound.full_structure["wheels"]
    names = ("wheel_x", "wheel_y", "heading", "roller_angle")
    return truth.Vehicle(
        [tuple(p[f"{name}_{i}"] for name in names) for i in range(1, count + 1)],
        p["mass"],
        p["inertia"],
        p["wheel_inertia"],
        p["wheel_radius"],
        (p["centre_x"], p["centre_y"]),
    )


@cache
def case_run(name, model):
    return problem.case(name, model=model).solve(10.0)


# -- the motion ----------------------------------------------------------------------------------


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("mecanum")
@pytest.mark.parametrize("name", CASES)
def test_states_and_reactions_are_those_of_bodies_with_multipliers(name):
    bound = problem.case(name)
    start = [bound.full_start.get(state, 0.0) for state in STATES]
    expected = truth.motion(vehicle(bound), start, TIMES)
    for model in ("corrected", "constrained"):
        run = problem.case(name, model=model).solve(5.0, at=TIMES)
        for quantity, values in expected.items():
            found = run[quantity][-len(TIMES) :]
            np.testing.assert_allclose(found, values, rtol=0.0, atol=1e-11, err_msg=quantity)


@pytest.mark.slow
def test_wheels_anywhere_with_any_rollers_move_as_bodies_with_multipliers():
    expected = None
    for model in ("corrected", "constrained"):
        bound = problem.case("spin", model=model, **ODD).starting(START)
        if expected is None:
            expected = truth.motion(vehicle(bound), list(START.values()), TIMES)
            assert np.ptp(expected["omega"]) > 0.1
        run = bound.solve(5.0, at=TIMES)
        for quantity, values in expected.items():
            found = run[quantity][-len(TIMES) :]
            np.testing.assert_allclose(found, values, rtol=0.0, atol=1e-11, err_msg=quantity)


@pytest.mark.default_rows(5)
@pytest.mark.parametrize("model", ["corrected", "constrained"])
@pytest.mark.parametrize("name", CASES)
def test_energy_is_kept(name, model):
    drift = case_run(name, model).drift["energy"]
    assert drift.max_relative <= 1e-12
    assert drift.note == ""


def test_the_printed_equations_keep_the_energy_of_a_vehicle_that_turns_the_other_way():
    """T(v, -w) = T(v, w) - 2 m w v . J r_C, so that T itself changes with the mass centre aside."""
    run, p = case_run("off-centre-mixed", "printed"), problem.case("off-centre-mixed").values
    across = p["centre_x"] * run["v_2"] - p["centre_y"] * run["v_1"]
    kept = run["energy"] - 2.0 * p["mass"] * run["omega"] * across
    np.testing.assert_allclose(kept, kept[0], rtol=1e-12)
    assert np.ptp(run["energy"]) > 0.1 * run["energy"][0]
    assert "energy" not in run.drift


def test_the_printed_equations_turn_the_velocity_of_the_symmetric_vehicle_the_other_way():
    printed, right = case_run("mixed", "printed"), case_run("mixed", "corrected")
    np.testing.assert_allclose(printed["v_1"], right["v_1"], atol=1e-12)
    np.testing.assert_allclose(printed["v_2"], -right["v_2"], atol=1e-12)
    assert abs(printed["y"][-1] - right["y"][-1]) > 1.0


# -- the equations -------------------------------------------------------------------------------

SIGNED = st.floats(0.05, 0.3).flatmap(lambda size: st.sampled_from([size, -size]))
RATES = st.floats(-3.0, 3.0)


@cache
def accelerations(model, wheels):
    system = {"corrected": corrected, "constrained": constrained}[model](wheels)
    return system.parameters.names, system.function("accelerations")


@st.composite
def vehicles(draw):
    """Draw parameters by name, and velocities."""
    wheels = draw(st.sampled_from([1, 2, 3, 5]))
    p = {
        "mass": draw(st.floats(0.5, 5.0)),
        "wheel_inertia": draw(st.floats(1e-4, 0.05)),
        "wheel_radius": draw(st.floats(0.03, 0.2)),
        "platform_radius": 0.15,
        "centre_x": draw(SIGNED),
        "centre_y": draw(SIGNED),
        "roller_angle": draw(st.floats(0.3, 2.8)),
    }
    least = p["mass"] * (p["centre_x"] ** 2 + p["centre_y"] ** 2)
    p["inertia"] = least + draw(st.floats(0.02, 1.0))
    for i in range(1, wheels + 1):
        p |= {f"wheel_{axis}_{i}": draw(SIGNED) for axis in "xy"}
        p[f"heading_{i}"] = draw(st.floats(-math.pi, math.pi))
        p[f"roller_angle_{i}"] = draw(st.sampled_from([0.0, 0.4, -1.2, 2.2]))
    return wheels, p, np.array([draw(RATES) for _ in range(3)])


def thesis_terms(wheels, p, u, u_dot):
    """Return the terms of section 3.1 with J, R, I_i and I set right, one column each."""
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    mass, centre = p["mass"], np.array([p["centre_x"], p["centre_y"]])
    gamma, arm, inertia = np.zeros((2, 2)), np.zeros(2), p["inertia"]
    for i in range(1, wheels + 1):
        angle = p[f"roller_angle_{i}"] or p["roller_angle"]
        # Across the line at the angle delta to the wheel's plane.
        heading = p[f"heading_{i}"] + math.pi - angle
        axis = np.array([math.cos(heading), math.sin(heading)])
        weight = p["wheel_inertia"] / (math.sin(angle) * p["wheel_radius"]) ** 2
        lever = (turn @ [p[f"wheel_x_{i}"], p[f"wheel_y_{i}"]]) @ axis
        gamma += weight * np.outer(axis, axis)
        arm += weight * lever * axis / mass
        inertia += weight * lever**2
    v, omega = u[:2], u[2]
    rate, turning = u_dot[:2], u_dot[2]
    coupling = mass * (turn @ centre + arm)
    return np.column_stack(
        [
            [*((gamma + mass * np.eye(2)) @ rate), inertia * turning],
            [*(coupling * turning), coupling @ rate],
            [*(mass * omega * turn @ (v + omega * turn @ centre)), mass * omega * v @ centre],
        ]
    )


@pytest.mark.slow
@settings(derandomize=True, max_examples=20, deadline=None)
@given(vehicles(), st.sampled_from(["corrected", "constrained"]))
def test_accelerations_meet_the_equations_of_the_thesis_with_its_misprints_set_right(drawn, model):
    wheels, p, u = drawn
    names, function = accelerations(model, wheels)
    state = np.concatenate([[0.1, -0.3, 0.8], u])
    if model == "corrected":
        state = np.concatenate([state[:3], np.zeros(wheels), u])
    else:
        state = np.concatenate([state[:3], np.zeros(wheels), u, turning(wheels, p, u)])
    found = np.asarray(function(0.0, state, [p[name] for name in names])).ravel()
    terms = thesis_terms(wheels, p, u, found[:3])
    assert np.abs(terms.sum(axis=1)).max() <= 1e-12 * (1.0 + np.abs(terms).max())


def turning(wheels, p, u):
    """Return the rates of wheels that meet the constraints."""
    names = ("wheel_x", "wheel_y", "heading")
    places = [
        (*(p[f"{n}_{i}"] for n in names), p[f"roller_angle_{i}"] or p["roller_angle"])
        for i in range(1, wheels + 1)
    ]
    jacobian = truth.Vehicle(places, 1.0, 1.0, 1.0, p["wheel_radius"]).constraints(0.0)
    return -(jacobian[:, :3] @ u) / np.diag(jacobian[:, 3:])


# -- the symmetric vehicle -----------------------------------------------------------------------


@pytest.mark.parametrize(("wheels", "angle"), [(3, math.pi / 2), (4, 0.9), (7, 2.0)])
def test_the_symmetric_vehicle_moves_as_its_closed_form_says(wheels, angle):
    bound = problem.case("mixed", wheels=wheels, roller_angle=angle, wheel_inertia=0.002)
    run = bound.starting(START).solve(10.0)
    expected = closed_form(run.times, START, bound.values, wheels)
    for name, values in expected.items():
        np.testing.assert_allclose(run[name], values, rtol=0.0, atol=1e-12, err_msg=name)


def test_the_centre_of_the_symmetric_vehicle_moves_on_a_circle():
    parameters = {
        "mass": 1.45,
        "wheel_inertia": 0.004,
        "wheel_radius": 0.05,
        "roller_angle": math.pi / 2,
    }
    added = 3 * 0.004 / (2 * 0.05**2)
    turn = START["omega"] * added / (1.45 + added)
    speed = math.hypot(START["v_1"], START["v_2"])
    found = closed_form(np.linspace(0.0, math.tau / turn, 50), START, parameters, 3)
    centre = np.mean([found["x"][:-1], found["y"][:-1]], axis=1)
    distances = np.hypot(found["x"] - centre[0], found["y"] - centre[1])
    np.testing.assert_allclose(distances, speed / turn, rtol=1e-13)


def test_the_closed_form_keeps_its_digits_where_the_vehicle_hardly_turns():
    parameters = problem.case("straight").full_parameters
    slow = closed_form([10.0], {"v_1": 1.0, "omega": 1e-12}, parameters, 3)
    still = closed_form([10.0], {"v_1": 1.0}, parameters, 3)
    assert still["x"][0] == 10.0
    assert slow["x"][0] == pytest.approx(10.0, rel=1e-15)
    added = 3 * 0.00011 / (2 * 0.05**2)
    bend = added / (1.45 + added) * 1e-12 * 10.0**2 / 2
    assert slow["y"][0] == pytest.approx(bend, rel=1e-12)


@pytest.mark.slow
def test_the_closed_form_is_the_limit_of_rollers_that_roll_without_slipping():
    """What massive rollers change falls in proportion to their moment of inertia B."""
    p = problem.case("mixed").full_parameters
    expected = closed_form([2.0], {"v_1": 1.0, "omega": 1.0}, p, 3)
    found = []
    for inertia in (1e-10, 1e-12):
        bound = rolling.case(
            "twist",
            model="compact",
            total_mass=p["mass"],
            vehicle_inertia=p["inertia"],
            wheel_inertia=p["wheel_inertia"],
            roller_inertia=inertia,
            wheel_radius=p["wheel_radius"],
            roller_axis_radius=0.03,
            velocity_scale=1.0,
        )
        start = {"nu_1": 1.0 / p["platform_radius"], "nu_3": 1.0}
        state = bound.starting(start).solve(2.0, at=[2.0]).end_state
        found.append([state[name] - expected[name][0] for name in STATES[:3]])
    coarse, fine = np.array(found)
    assert 0.0 < np.abs(fine).max() < 1e-7
    np.testing.assert_allclose(coarse / fine, 100.0, rtol=1e-3)


@pytest.mark.parametrize(
    ("wheels", "centre", "said"), [(2, 0.0, "needs at least 3 wheels"), (3, 0.01, "in the middle")]
)
def test_no_other_vehicle_is_given_the_closed_form(wheels, centre, said):
    parameters = problem.case("mixed").full_parameters | {"centre_y": centre}
    with pytest.raises(OutOfRangeError, match=said):
        closed_form([1.0], START, parameters, wheels)


# -- what a vehicle with rollers comes near to ---------------------------------------------------

WITH_ROLLERS = {
    "platform_mass": 1.0,
    "platform_radius": 0.15,
    "platform_centre_x": 0.0,
    "platform_centre_y": 0.0,
    "wheel_mass": 0.15,
    "roller_share": 0.1,
    "wheel_radius": 0.05,
    "roller_end_radius": 0.0,
}
COUNTS = {"wheels": 3, "rollers": 4}


def test_rollers_take_part_in_mass_and_moments_but_for_their_own_spin():
    found = matched(WITH_ROLLERS, COUNTS)
    assert found["mass"] == pytest.approx(1.45, rel=1e-15)
    assert found["wheel_inertia"] == pytest.approx(1.06601002354e-4, rel=1e-11)
    assert found["inertia"] == pytest.approx(0.0215349015035, rel=1e-11)
    assert (found["centre_x"], found["centre_y"], found["wheels"]) == (0.0, 0.0, 3)


def test_a_platform_whose_mass_centre_is_elsewhere_moves_that_of_the_whole():
    middle = matched(WITH_ROLLERS, COUNTS)
    aside = {"platform_centre_x": 0.03, "platform_centre_y": 0.02}
    found = matched(WITH_ROLLERS | aside, COUNTS)
    assert found["centre_x"] == pytest.approx(0.03 / 1.45, rel=1e-15)
    assert found["centre_y"] == pytest.approx(0.02 / 1.45, rel=1e-15)
    added = found["inertia"] - middle["inertia"]
    assert added == pytest.approx(1.0 * (0.03**2 + 0.02**2), rel=1e-12)


def test_what_is_matched_can_be_run():
    run = problem.case("off-centre-mixed", **matched(WITH_ROLLERS, COUNTS)).solve(1.0)
    expected = closed_form([1.0], {"v_1": 1.0, "omega": 1.0}, run.description["parameters"], 3)
    assert run["x"][-1] == pytest.approx(expected["x"][0], abs=1e-13)


# -- what cannot be, and what it looks like ------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"roller_angle_2": math.pi}, "roller_angle_2 is 3.14159 rad, but must not be"),
        ({"roller_angle": 0.0}, "roller_angle is 0 rad, but must not be"),
        ({"centre_x": 0.2}, "inertia is 0.0215 kg m\\^2, but must be more than .* 0.058 kg m\\^2"),
    ],
)
def test_impossible_vehicles_are_refused(changed, said):
    with pytest.raises(OutOfRangeError, match=said):
        problem.case("mixed", **changed).solve(1.0)


def test_a_vehicle_without_wheels_is_refused():
    with pytest.raises(OutOfRangeError, match="wheels is 0, but must be at least 1"):
        problem.case("mixed", wheels=0)


def told(run, bound):
    return with_drawing(document(run, bound.identity()), drawing)


@pytest.mark.parametrize("name", ["off-centre-mixed", "mecanum"])
def test_contacts_move_across_the_axes_that_are_drawn(name):
    """The drawn axis of each roller is at right angles to the velocity of the contact."""
    bound, run = problem.case(name), case_run(name, "corrected")
    shown = told(run, bound)
    found = from_json(shown["drawing"])
    values = {n: entry.values for n, entry in columns(shown, found.series).items()}
    index = 321
    bodies = evaluate(found, values, shown["parameters"], index)
    axes = [body.points for body in bodies if body.shape.role == "accent"]
    count = bound.full_structure["wheels"]
    assert len(axes) == count
    own = vehicle(bound)
    state = {n: run[n][index] for n in STATES}
    for i, ends in enumerate(axes):
        x, y, heading, _ = own.wheels[i]
        middle = ends.mean(axis=0) - [state["x"], state["y"]]
        turned = complex(x, y) * np.exp(1j * state["theta"])
        np.testing.assert_allclose(middle, [turned.real, turned.imag], atol=1e-12)
        velocity = complex(state["v_1"], state["v_2"]) + 1j * state["omega"] * complex(x, y)
        across = 1j * np.exp(1j * heading)
        velocity += own.wheel_radius * run[f"chi_dot_{i + 1}"][index] * across
        velocity *= np.exp(1j * state["theta"])
        along = (ends[1] - ends[0]) @ [velocity.real, velocity.imag]
        assert abs(along) <= 1e-12
        assert abs(velocity) > 1e-3


@pytest.mark.parametrize("name", ["spin", "straight", "off-centre-mixed"])
def test_the_figure_shows_every_wheel(name):
    bound = problem.case(name)
    panels = motion(told(case_run(name, "corrected"), bound)).axes
    assert len(panels) == 5
    assert len(panels[3].lines) == len(panels[4].lines) == 3
    mass_centre = [line.get_label() for line in panels[0].lines]
    assert ("mass centre" in mass_centre) == name.startswith("off-centre")


def test_the_path_of_a_vehicle_that_stays_is_not_magnified():
    panel = motion(told(case_run("spin", "corrected"), problem.case("spin"))).axes[0]
    assert np.ptp(panel.get_xlim()) >= 1e-12
