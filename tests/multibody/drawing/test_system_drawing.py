"""Points and rods of systems that were posed by hand: which are found, and which are not."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.multibody.drawing import Dot, Line, Trace, drawing_of, evaluate
from daesolve.multibody.drawing.system_drawing import drawing_of_points, points_of
from daesolve.reporting import document
from daesolve.reporting.document import with_drawing

PARAMETERS = {"length": 1.0, "side": 0.3}


def double(**goals):
    q = ds.coordinates(x1="m", y1="m", x2="m", y2="m")
    p = ds.parameters(length=(1.0, "m"), side=(0.3, "m"))
    made = [ds.Holonomic(name, rule(q, p)) for name, rule in goals.items()]
    return ds.MechanicalSystem(q, p, kinetic=ca.sumsqr(q.dot.vector) / 2, goals=made)


def lines(system, parameters=PARAMETERS):
    shapes = drawing_of(system)({"parameters": parameters}).shapes
    return [shape.points for shape in shapes if isinstance(shape, Line)]


def test_two_points_in_metres_are_a_point_by_any_of_the_usual_names():
    units = [("x", "m"), ("y", "m"), ("tip_x", "m"), ("tip_z", "m"), ("x_1", "m"), ("y_1", "m"),
             ("z_1", "m"), ("a_x", "rad"), ("a_y", "m"), ("mixed", "m"), ("y2", "m")]  # fmt: skip
    assert points_of(units) == {
        "point": ("x", "y"),
        "tip": ("tip_x", "tip_z"),
        "1": ("x_1", "y_1", "z_1"),
    }


SQUARED, ROOT = lambda a, b: a**2 + b**2, lambda a, b: ca.sqrt(a**2 + b**2)


@pytest.mark.parametrize("size", [SQUARED, ROOT])
def test_a_rod_is_found_however_its_distance_is_written(size):
    system = double(
        held=lambda q, p: size(q.x1 - p.side, q.y1 + 1.0) - p.length,
        between=lambda q, p: 3.0 * (p.length - size(q.x1 - q.x2, q.y1 - q.y2)),
    )
    (fixed, first), between = lines(system)
    assert first == ("x1", "y1")
    # The centre is found where gradients meet, to some roundings.
    np.testing.assert_allclose(fixed, (0.3, -1.0), atol=1e-12)
    assert between == (("x1", "y1"), ("x2", "y2"))
    moved = lines(system, {"length": 2.0, "side": -0.7})
    np.testing.assert_allclose(moved[0][0], (-0.7, -1.0), atol=1e-12)


def test_what_holds_no_distance_of_points_is_no_rod():
    system = double(
        line=lambda q, p: q.y1 - 0.5 * q.x1,
        parabola=lambda q, p: q.y1 - q.x1**2,
        ellipse=lambda q, p: q.x2**2 + 2 * q.y2**2 - 1,
        level=lambda q, p: q.y1 - q.y2,
        stretched=lambda q, p: (q.x1 - q.x2) ** 2 + 2 * (q.y1 - q.y2) ** 2 - 1,
    )
    # Too many constraints to move, but enough to look at.
    assert lines(system) == []


def test_a_rod_whose_end_is_led_or_that_is_a_contact_is_none():
    q = ds.coordinates(x="m", y="m")
    led = ds.Holonomic("led", (q.x - ca.sin(ds.time)) ** 2 + q.y**2 - 1)
    string = ds.Contact("string", 1 - ca.sqrt(q.x**2 + q.y**2), closed=False)
    kinetic = ca.sumsqr(q.dot.vector) / 2
    for goal in (led, string):
        assert lines(ds.MechanicalSystem(q, kinetic=kinetic, goals=[goal]), {}) == []


def test_points_in_space_are_seen_from_where_the_eye_is_and_outputs_are_points_as_well():
    q = ds.coordinates(x="m", y="m", z="m")
    ball = ds.Holonomic("rod", ca.sumsqr(q.vector - ca.vertcat(0.0, 0.0, 1.0)) - 1.0)
    system = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        goals=[ball],
        outputs={"end_x": (2 * q.x, "m"), "end_y": (q.y, "m"), "end_z": (q.z, "m")},
    )
    made = drawing_of(system, (0.0, -1.0, 0.0))({"parameters": {}})
    (line,) = [shape for shape in made.shapes if isinstance(shape, Line)]
    np.testing.assert_allclose(line.points[0], (0.0, 0.0, 1.0), atol=1e-12)
    assert line.points[1] == ("x", "y", "z")
    series = {name: np.array([value]) for name, value in (("x", 0.3), ("y", 0.4), ("z", 0.5))}
    ends = {f"end_{axis}": series[axis] for axis in "xyz"}
    seen = next(one for one in evaluate(made, series | ends, {}, 0) if one.shape is line)
    np.testing.assert_allclose(seen.points, [(0.0, 1.0), (0.3, 0.5)], atol=1e-12)
    np.testing.assert_allclose(seen.depth, [0.0, -0.4], atol=1e-12)
    assert {shape.label for shape in made.shapes if isinstance(shape, Dot)} == {"", "point", "end"}
    assert (made.x_label, made.y_label) == ("across (m)", "up (m)")


def pendulum():
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    kinetic = ca.sumsqr(q.dot.vector) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod])


def test_a_problem_without_a_drawing_is_drawn_by_its_points_and_rods():
    cases = [ds.Case("swing", until=0.5, start={"x": 1.0, "y": 0.0})]
    problem = ds.Problem(
        name="rod", title="A rod", models={"cartesian": lambda: pendulum()}, cases=cases
    )
    bound = problem.case()
    run = document(bound.solve(), bound.identity())
    kinds = [shape["kind"] for shape in with_drawing(run, problem.drawing)["drawing"]["shapes"]]
    assert kinds == ["line", "dot", "trace", "dot"]


def test_a_run_without_a_problem_is_drawn_by_its_points():
    run = ds.solve(pendulum(), 0.5, {"x": 1.0, "y": 0.0})
    made = drawing_of_points(document(run, {}))
    assert made is not None
    trace, dot = made.shapes
    assert isinstance(trace, Trace)
    assert isinstance(dot, Dot)
    assert dot.at == ("x", "y")


def test_of_two_points_without_rods_each_has_a_colour_of_its_own():
    q = ds.coordinates(x1="m", y1="m", x2="m", y2="m")
    pair = ds.MechanicalSystem(q, kinetic=ca.sumsqr(q.dot.vector) / 2)
    made = drawing_of_points(document(ds.solve(pair, 0.5, {"x1": 1.0, "y1_dot": 1.0}), {}))
    assert made is not None
    assert [dot.role for dot in made.shapes if isinstance(dot, Dot)] == ["body", "body-2"]


def test_what_has_no_points_is_not_drawn():
    q = ds.coordinates(theta=ds.ANGLE)
    system = ds.MechanicalSystem(q, kinetic=q.dot.theta**2 / 2)
    with pytest.raises(PosingError, match="no points to draw"):
        drawing_of(system)
    problem = ds.Problem(
        name="wheel", title="A wheel", models={"plain": lambda: system},
        cases=[ds.Case("spin", until=0.5, start={"theta_dot": 1.0})],
    )  # fmt: skip
    run = {"times": [0.0], "model": "plain", "structure": {}, "notes": []}
    assert with_drawing(run, problem.drawing) is run
