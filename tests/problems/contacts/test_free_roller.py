"""A roller alone on the floor: closed forms, other equations, and where its energy goes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from daesolve_problems.contacts import free_roller
from daesolve_problems.spindle import Spindle

from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.reference.roller_on_plane import Roller

ROLLER = free_roller.problem


def reference_of(case) -> Roller:
    """Return the same roller by its reference."""
    p = case.full_parameters
    shape = free_roller.shape_of(p, case.full_structure)
    return Roller(
        shape.wheel_radius,
        shape.axis_distance,
        p["mass"],
        p["mass"] * shape.across,
        p["mass"] * shape.along,
        p["friction"],
        p["gravity"],
    )


def seen_from_space(state) -> np.ndarray:
    """Return place, axis, velocity and angular velocity, (4, 3), of a state of the library."""
    quaternion = np.array([state[f"roller_q{k}"] for k in range(4)])
    turned = scipy.spatial.transform.Rotation.from_quat(np.roll(quaternion, -1)).as_matrix()
    own = np.array([state["roller_w1"], state["roller_w2"], state["roller_spin"]])
    place = [state[f"roller_{axis}"] for axis in "xyz"]
    velocity = [state[f"roller_{axis}_dot"] for axis in "xyz"]
    return np.array([place, turned[:, 2], velocity, turned @ own])


def followed(rates, start, until):
    """Return the end of a motion by DOP853; its error is of the order of its tolerance."""
    found = scipy.integrate.solve_ivp(rates, (0.0, until), start, "DOP853", rtol=1e-13, atol=1e-14)
    return found.y[:, -1]


@pytest.mark.slow
def test_it_slides_as_newton_and_euler_say():
    case = ROLLER.case("slides-across").starting(
        {"tilt": 0.3, "speed_x": 0.5, "speed_y": 0.4, "spin": 3.0, "pitch": 1.0}
    )
    run = case.solve(until=0.04)
    assert run.events == ()
    start = seen_from_space(case.guess()[0])
    end = followed(reference_of(case).slides, start.ravel(), 0.04)
    np.testing.assert_allclose(seen_from_space(run.end_state).ravel(), end, rtol=1e-11, atol=1e-11)


@pytest.mark.long
def test_it_rolls_as_coordinates_without_reactions_say():
    """As long as it neither slips nor leaves its arc: 2 s of rocking, six turns of its axis."""
    case = ROLLER.case("rocks")
    run = case.solve()
    assert run.events == ()
    start = seen_from_space(case.guess()[0])
    end = followed(reference_of(case).rolls, start[[0, 1, 3]].ravel(), case.case.until)
    found = seen_from_space(run.end_state)
    np.testing.assert_allclose(found[[0, 1, 3]].ravel(), end, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_across_its_axis_it_slides_and_rolls_as_a_cylinder_does():
    case = ROLLER.case("slides-across")
    run = case.solve()
    p, shape = case.full_parameters, free_roller.shape_of(case.full_parameters, case.full_structure)
    share = shape.middle_radius**2 / shape.along
    (sticks,) = run.events
    assert sticks.name == "floor_sticks"
    assert sticks.time == pytest.approx(
        0.5 / (p["friction"] * p["gravity"] * (1.0 + share)), rel=1e-12
    )
    assert run["roller_y_dot"][-1] == pytest.approx(-0.5 * share / (1.0 + share), rel=1e-12)


@pytest.mark.slow
def test_it_lands_with_the_impact_of_a_fall_and_comes_to_rest():
    case = ROLLER.case("dropped")
    run = case.solve()
    p, height = case.full_parameters, 0.1
    fall, e = math.sqrt(2.0 * height / p["gravity"]), p["restitution"]
    first = run.events[0]
    assert first.time == pytest.approx(fall, rel=1e-12)
    impulse = p["mass"] * (1.0 + e) * p["gravity"] * fall
    assert first.impact.impulses["floor"] == pytest.approx(impulse, rel=1e-12)
    assert [event.name for event in run.events[-2:]] == ["accumulated", "rest"]
    # The last bounce is lower than what counts as a gap of zero, 1e-12 of the largest.
    assert run.events[-1].time == pytest.approx(fall * (1.0 + e) / (1.0 - e), rel=1e-9)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("dropped")
@pytest.mark.parametrize("name", ["dropped", "slides-across", "rocks"])
def test_energy_goes_to_friction_and_impacts(name):
    found = ROLLER.analyses["balance"](ROLLER.case(name)).values
    assert abs(found["missing"]) <= 1e-10 * found["energy_at_the_start"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["thrown", "cut-off"])
def test_energy_goes_to_friction_and_impacts_over_edges(name):
    found = ROLLER.analyses["balance"](ROLLER.case(name)).values
    assert found["impacts"] > 5
    assert found["edges"] > 5
    assert abs(found["missing"]) <= 1e-10 * found["energy_at_the_start"]


@pytest.mark.long
def test_what_touches_changes_exactly_where_the_arc_ends():
    case = ROLLER.case("thrown")
    run = case.solve()
    limit = math.sin(math.pi / 4)
    edges = [event for event in run.events if event.name == "floor_edge"]
    assert edges
    for event in edges:
        axis = seen_from_space(event.detail)[1]
        assert abs(axis[2]) == pytest.approx(limit, abs=1e-12)
        # The end that touches is the lower one.
        ends = event.after["floor_end"]
        assert ends in (0.0, -math.copysign(1.0, axis[2]))


@pytest.mark.parametrize("end_radius", [0.0, 0.004])
def test_its_lowest_point_is_that_of_a_cloud_of_points(end_radius):
    shape = Spindle(0.05, 4, end_radius)
    angles = np.linspace(-shape.half_angle, shape.half_angle, 20001)
    along, radii = 0.05 * np.sin(angles), 0.05 * np.cos(angles) - shape.axis_distance
    for tilt in (0.0, 0.4, -0.7, 0.785, 1.2, -1.5):
        sine, cosine = math.cos(tilt), math.sin(tilt)
        heights = along * cosine - radii * sine
        high, (upwards, lengthwise) = shape.lowest(cosine)
        # The cloud misses the lowest point by half a step, and its height by a square of that.
        assert high == pytest.approx(-heights.min(), abs=1e-9)
        assert upwards + lengthwise * cosine == pytest.approx(-high, abs=1e-15)


@pytest.mark.slow
def test_a_start_on_an_end_touches_there():
    case = ROLLER.case("dropped").starting({"height": 0.0, "tilt": 1.3})
    values = case.values
    assert (values["floor_end"], values["contact_floor"]) == (-1.0, 1.0)
    run = case.solve(until=0.02)
    assert run["floor_gap"] == pytest.approx(0.0, abs=1e-15)


def test_ends_that_are_cut_off_have_a_radius():
    case = ROLLER.case("cut-off").changed({"end_radius": 0.0})
    with pytest.raises(OutOfRangeError, match=r"'end_radius' is 0\.0, but must be above 0"):
        case.consistent_start()


@pytest.mark.slow
def test_every_case_has_its_pictures_and_is_drawn_on_the_floor():
    for own in ROLLER.cases:
        bound = ROLLER.case(own.name)
        run = bound.solve(until=0.04, at=np.linspace(0.0, 0.04, 5))
        told = document(run, bound.identity())
        stored = with_drawing(told, ROLLER.drawing)
        assert "drawing" in stored, stored["notes"]
        for figure in ROLLER.figures.values():
            assert figure(told).axes
        drawing = from_json(stored["drawing"])
        series = {**run.states, **run.outputs, **run.reactions, **drawing.series}
        series = {name: np.array(values, dtype=float) for name, values in series.items()}
        for index in range(len(run.times)):
            placed = evaluate(drawing, series, bound.full_parameters, index)
            roller = next(entry for entry in placed if entry.shape.label == "roller")
            middle = drawing.axes @ [run[f"roller_{axis}"][index] for axis in "xyz"]
            seen = np.column_stack([roller.points, roller.depth])
            np.testing.assert_allclose(seen.mean(axis=0), middle, atol=1e-14)
