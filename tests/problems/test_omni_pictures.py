"""The vehicle's drawing and figures: turning wheels, rollers, and what lies between impacts."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from daesolve_problems.figures import column
from daesolve_problems.omni_vehicle import problem
from daesolve_problems.omni_vehicle.motion import pieces, sizes, turns
from daesolve_problems.omni_vehicle.pictures import drawing, motion

from daesolve.multibody.drawing import Outline, evaluate, from_json
from daesolve.reporting import document, style, with_drawing
from daesolve.reporting.figures.scene import scene
from daesolve.reporting.sampling import columns

PITCH = 2.0 * math.pi / 5.0


def told(case, model, until, **options):
    bound = problem.case(case, model=model, **options.pop("changes", {}))
    run = bound.solve(until, **options)
    return with_drawing(document(run, bound.identity()), drawing)


@pytest.fixture(scope="module")
def twist():
    """Ten seconds with about forty impacts, both directions among them."""
    return told("twist", "compact", 10.0)


@pytest.fixture(scope="module")
def sparse():
    """The same motion in few samples, which lie several rollers apart."""
    return told("twist", "compact", 10.0, at=np.linspace(0.0, 10.0, 21))


def seen(document, index):
    found = from_json(document["drawing"])
    values = {n: entry.values for n, entry in columns(document, found.series).items()}
    return evaluate(found, values, document["parameters"], index)


def test_a_wheel_goes_on_where_its_angle_is_measured_from_another_roller(twist):
    """Within a step of 0.01 s no wheel turns by more than its largest rate allows."""
    angles, rates = turns(twist)
    for i in (1, 2, 3):
        steps = np.abs(np.diff(angles[f"turn_{i}"]))
        assert steps.max() < 0.01 * np.abs(rates[f"turn_dot_{i}"]).max() * 1.001
        whole = (angles[f"turn_{i}"] - column(twist, f"chi_{i}")) / PITCH
        np.testing.assert_allclose(whole, np.round(whole), atol=1e-12)
    jumps = np.abs(np.diff(column(twist, "chi_1")))
    assert jumps.max() > 0.9 * PITCH


def test_few_samples_give_the_same_turns_as_many(twist, sparse):
    many, few = turns(twist)[0], turns(sparse)[0]
    for i in (1, 2, 3):
        np.testing.assert_allclose(few[f"turn_{i}"], many[f"turn_{i}"][::50], atol=1e-9)


def test_each_wheel_stands_on_one_roller_which_is_where_its_angle_says(twist):
    car = sizes(twist)
    for index in (0, 123, 500, 777):
        bodies = seen(twist, index)
        touching = [b for b in bodies if b.shown and b.shape.role == "accent"]
        assert len(touching) == 3
        theta = column(twist, "theta")[index]
        centre = np.array([column(twist, name)[index] for name in "xy"])
        for i, (body, wheel) in enumerate(zip(touching, car.wheels, strict=True), start=1):
            chi = column(twist, f"chi_{i}")[index]
            turned = theta + wheel.heading
            axle = np.array([math.cos(turned), math.sin(turned)])
            across = np.array([-axle[1], axle[0]])
            middle = centre + car.platform_radius * axle
            # the outline is symmetric about the roller's middle
            found = body.points.mean(axis=0) - middle
            assert found @ axle == pytest.approx(0.0, abs=1e-12)
            expected = car.roller_axis_radius * math.sin(chi)
            assert found @ across == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_rollers_are_seen_on_the_upper_side_alone(twist):
    found = from_json(twist["drawing"])
    upper = [shape for shape in found.shapes if isinstance(shape, Outline) and shape.shown]
    assert len(upper) == 2 * 3 * 5
    for index in (0, 400, 900):
        bodies = [b for b in seen(twist, index) if b.shape.role == "detail" and b.shape.shown]
        assert 3 * 2 <= sum(body.shown for body in bodies) <= 3 * 3


@pytest.mark.long
def test_the_drawing_is_kept_as_plain_numbers(twist):
    assert from_json(json.loads(json.dumps(twist["drawing"], allow_nan=False)))
    assert scene(twist) is not None


@pytest.mark.slow_rows("thesis")
@pytest.mark.parametrize("model", ["thesis", "compact"])
def test_rates_of_rollers_between_impacts_are_those_of_the_run(model):
    """From three samples, against the model's own rates at the same times.

    The angle of a wheel is a cubic through the ends of a sector of h = 0.71 s, off by at most
    h^4 / 384 of its fourth derivative, (2 pi / h)^3 times what its rate changes by, 0.05 rad/s:
    5e-4 rad, where the roller's rate changes by up to 30 rad/s a radian.
    """
    few = told("straight", model, 3.0, at=[0.0, 1.5, 3.0])
    found = pieces(few, 0.0, 3.0)
    assert len(found) == few["event_count"] + 1
    times = np.concatenate([piece.times[1:-1] for piece in found])
    exact = told("straight", model, 3.0, at=times)
    for i in (1, 2, 3):
        for j in range(1, 6):
            rates = np.concatenate([piece.rates[i - 1, j - 1, 1:-1] for piece in found])
            np.testing.assert_allclose(rates, column(exact, f"phi_dot_{i}_{j}"), atol=0.015)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("model", ["thesis", "compact"])
def test_energy_of_a_piece_is_that_of_the_run(model):
    run = told("twist", model, 2.0)
    energy, times = column(run, "energy"), np.array(run["times"])
    for piece in pieces(run, 0.0, 2.0):
        inside = (times > piece.times[0] + 1e-9) & (times < piece.times[-1] - 1e-9)
        np.testing.assert_allclose(energy[inside], piece.energy, rtol=1e-9)


def test_the_speed_between_samples_loses_no_energy():
    """After the first impact of the straight run, v is least at the reference's 0.98529726."""
    run = told("straight", "compact", 1.0, at=[0.0, 0.5, 1.0])
    last = pieces(run, 0.0, 1.0)[-1]
    assert np.hypot(last.nu[0], last.nu[1]).min() == pytest.approx(0.98529726, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["spin", "straight", "twist"])
def test_each_case_has_its_figure(case):
    with style():
        figure = motion(told(case, "compact", 2.5))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title[0] for title in titles] == list("abcdefghi")[: len(titles)]
    assert all(axes.lines or axes.patches for axes in figure.axes)
    figure.draw_without_rendering()


@pytest.mark.slow
def test_a_run_without_an_impact_has_its_figure_too():
    run = told("twist", "thesis", 0.1)
    assert run["event_count"] == 0
    with style():
        motion(run).draw_without_rendering()


@pytest.mark.slow
def test_wheels_anywhere_are_drawn_where_they_stand():
    changes = {"wheels": 4, "heading_1": math.pi / 2, "wheel_x_1": 0.3, "roller_angle_1": 0.5}
    run = told("twist", "general", 0.5, changes=changes)
    wheel = sizes(run).wheels[0]
    assert (wheel.x, wheel.y, wheel.heading, wheel.tilt) == (0.3, 0.0, math.pi / 2, 0.5)
    assert sizes(run).wheels[1].y == pytest.approx(0.15, abs=1e-15)
    angles, _ = turns(run)
    np.testing.assert_allclose(angles["turn_1"][0], run["states"]["chi_1"][0])
    rates = [run["states"][f"chi_dot_{i}"] for i in (1, 2, 3, 4)]
    np.testing.assert_allclose(
        [turns(run)[1][f"turn_dot_{i}"] for i in (1, 2, 3, 4)], rates, atol=1e-12
    )
    outlines = [b for b in seen(run, 0) if isinstance(b.shape, Outline) and b.shape.role == "body"]
    np.testing.assert_allclose(outlines[1].points.mean(axis=0), [0.3, 0.0], atol=1e-12)
