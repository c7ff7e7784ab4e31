"""Mechanisms are drawn where their places are."""

from itertools import pairwise

import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody import (
    GROUND,
    Body,
    Clearance,
    Damper,
    Mechanism,
    PlanarBody,
    Revolute,
    Skate,
    Spherical,
    Spring,
    SpringDamper,
    WheelPair,
)
from daesolve.multibody.drawing import Dot, Line, evaluate
from daesolve.multibody.drawing.mechanism_drawing import drawing_of
from daesolve.reporting.figures.renderer import COLOURS, MARKS

SOLVER = ds.Dop853()


def _lines(mechanism: Mechanism, drawing, document) -> list[np.ndarray]:
    series = {name: np.array(values) for name, values in drawing.series.items()}
    placed = evaluate(drawing, series, document["parameters"], index=-1)
    return [shape.points for shape in placed if isinstance(shape.shape, Line)]


def test_bodies_in_the_plane_are_lines_from_their_centres_to_their_joints() -> None:
    p = ds.parameters(length=(2.0, "m"))
    rod = PlanarBody("rod", 1.0, 0.3, position=(p.length / 2, 0), rate=0.7)
    pin = Revolute("pin", GROUND.frame((0, 0)), rod.frame((-p.length / 2, 0)))
    free = PlanarBody("free", 1.0, 0.1, position=(5, 1))
    mechanism = Mechanism([rod, free], [pin], p)
    run = ds.solve(
        mechanism.system(), 1.0, {"rod_angle_dot": 0.7}, guess=mechanism.start, solver=SOLVER
    )
    document = {"parameters": {"length": 2.0}, "states": run.states}
    drawing = drawing_of(mechanism)(document)
    (line,) = _lines(mechanism, drawing, document)
    angle = run.end_state["rod_angle"]
    # From the given start to the end of a second, within the tolerance of the run.
    np.testing.assert_allclose(line[0], [np.cos(angle), np.sin(angle)], atol=1e-7)
    np.testing.assert_allclose(line[1], [0.0, 0.0], atol=1e-7)
    assert [shape.label for shape in drawing.shapes if shape.label] == ["rod", "free"]


@pytest.mark.parametrize(
    ("eye", "seen"), [((0, -1, 0), (0.5, -0.2)), ((1, 0, 0), (0.3, -0.2)), ((0, 0, 1), (0.5, 0.3))]
)
def test_bodies_in_space_are_seen_from_the_eye(eye, seen) -> None:
    ball = Body("ball", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0.3, -0.2))
    socket = Spherical("socket", GROUND.point(0, 0, 0), ball.point(-0.5, -0.3, 0.2))
    mechanism = Mechanism([ball], [socket])
    start = mechanism.start
    document = {"parameters": {}, "states": {name: [start[name]] for name in start}}
    drawing = drawing_of(mechanism, eye)(document)
    ((centre, end),) = _lines(mechanism, drawing, document)
    np.testing.assert_allclose(centre, seen, atol=1e-15)
    np.testing.assert_allclose(end, [0.0, 0.0], atol=1e-15)


def test_wheels_are_drawn_with_their_axle_and_play_as_the_joint_that_has_it():
    cart = PlanarBody("cart", 1.0, 1.0, angle=0.3)
    arm = PlanarBody("arm", 1.0, 1.0, position=(1.0, 0.0))
    hinge = Revolute("hinge", cart.frame((0.5, 0.0)), arm.frame((-0.5, 0.0)))
    parts = [
        WheelPair("axle", cart.frame((-0.2, 0.0)), 0.1, 0.6),
        Clearance("play", hinge, 1e-3),
        Skate("blade", arm.frame((0.2, 0.0))),
    ]
    mechanism = Mechanism([cart, arm], parts)
    start = mechanism.start
    document = {"parameters": {}, "states": {name: [value] for name, value in start.items()}}
    made = drawing_of(mechanism)(document)
    series = {name: np.array(column) for name, column in made.series.items()}
    placed = [entry for entry in evaluate(made, series, {}, 0) if isinstance(entry.shape, Line)]
    turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    axle, one, other = (entry.points for entry in placed if entry.shape.role == "accent")
    np.testing.assert_allclose(axle, [turn @ (-0.2, 0.3), turn @ (-0.2, -0.3)], atol=1e-15)
    np.testing.assert_allclose(one, [turn @ (-0.1, 0.3), turn @ (-0.3, 0.3)], atol=1e-15)
    np.testing.assert_allclose(other, [turn @ (-0.1, -0.3), turn @ (-0.3, -0.3)], atol=1e-15)
    # From both centres to the pin, and from each to its axle or blade.
    assert sum(entry.shape.role.startswith("body") for entry in placed) == 4


def test_colours_and_marks_tell_bodies_apart_and_the_legend_has_them() -> None:
    bodies = [PlanarBody(f"link_{k}", 1.0, 0.1, position=(k, 0.0)) for k in range(6)]
    pins = [
        Revolute(f"pin_{k}", one.frame((0.5, 0.0)), other.frame((-0.5, 0.0)))
        for k, (one, other) in enumerate(pairwise(bodies))
    ]
    made, _ = _placed(Mechanism(bodies, pins))
    named = [shape for shape in made.shapes if shape.label]
    assert [shape.label for shape in named] == [body.name for body in bodies]
    assert all(isinstance(shape, Dot) for shape in named)
    roles = [shape.role for shape in named]
    assert len({COLOURS[role] for role in roles}) == 6
    assert len({MARKS.get(role, "o") for role in roles}) == 6
    lines = {shape.role for shape in made.shapes if isinstance(shape, Line)}
    assert lines == set(roles)


@pytest.mark.parametrize("kind", [PlanarBody, Body])
def test_springs_and_dampers_lead_from_end_to_end(kind) -> None:
    planar = kind is PlanarBody
    inertia, far = (0.1, (3.0, 4.0)) if planar else ((0.1,) * 3, (3.0, 4.0, 0.0))
    body = kind("body", 1.0, inertia, position=far)
    origin = GROUND.point(*[0.0] * len(far))
    parts = [
        Spring("spring", origin, body.centre, 1.0, 2.0),
        Damper("damper", origin, body.centre, 1.0),
        SpringDamper("both", origin, body.centre, 1.0, 1.0, 2.0),
    ]
    _, placed = _placed(Mechanism([body], parts))
    shown = [e.points for e in placed if isinstance(e.shape, Line) and e.shape.role == "detail"]
    assert len(shown) == 4
    end = placed[-1].points[0]
    along = end / np.linalg.norm(end)
    for points in shown:
        assert np.isclose(np.linalg.norm(points, axis=1).min(), 0.0)
        assert np.isclose(np.linalg.norm(points - end, axis=1).min(), 0.0)
        aside = np.abs(points @ [-along[1], along[0]]).max()
        assert 0.1 < aside < 0.7
    # A zigzag, and in space a coil, changes sides twice a turn.
    sides = shown[0] @ [-along[1], along[0]]
    sides = sides[np.abs(sides) > 1e-9]
    assert np.count_nonzero(np.diff(np.sign(sides))) >= 11


def _placed(mechanism: Mechanism):
    document = {"parameters": {}, "states": {name: [v] for name, v in mechanism.start.items()}}
    made = drawing_of(mechanism, (0, 0, 1))(document)
    series = {name: np.array(column) for name, column in made.series.items()}
    return made, evaluate(made, series, {}, 0)
