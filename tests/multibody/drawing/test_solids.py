"""Bodies in space: their points are where rotations by another package put them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from daesolve.errors import PosingError
from daesolve.multibody.drawing import (
    Circle,
    Dot,
    Drawing,
    Line,
    Outline,
    Pose,
    Trace,
    axes_by_quaternions,
    axes_by_turns,
    evaluate,
    ring,
    tiles,
    wheel,
)

PARTS = st.floats(-3.0, 3.0)
DIRECTION = arrays(float, 3, elements=PARTS).filter(lambda v: np.linalg.norm(v) > 0.1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=4), arrays(float, 4, elements=PARTS))
def test_turns_one_after_the_other_are_those_of_scipy(order, angles):
    own = axes_by_turns([(k, angles[n : n + 1]) for n, k in enumerate(order)])[0]
    letters = "".join("XYZ"[k] for k in order)
    other = np.eye(3)
    for letter, angle in zip(letters, angles, strict=False):
        other = other @ Rotation.from_euler(letter, angle).as_matrix()
    np.testing.assert_allclose(own, other, atol=1e-14)


@settings(max_examples=50, deadline=None)
@given(arrays(float, 4, elements=PARTS).filter(lambda v: np.linalg.norm(v) > 0.1))
def test_quaternions_turn_as_those_of_scipy(quaternion):
    own = axes_by_quaternions(quaternion[None, :])[0]
    np.testing.assert_allclose(own, Rotation.from_quat(np.roll(quaternion, -1)).as_matrix(),
                               atol=1e-14)  # fmt: skip


@settings(max_examples=50, deadline=None)
@example(np.array([6.2e-162, 0.0, 1.0]), np.ones(3), np.zeros(3), np.ones(3))
@given(DIRECTION, DIRECTION, arrays(float, 3, elements=PARTS), DIRECTION)
def test_a_point_of_a_body_is_seen_where_it_is_from_any_side(eye, turn, place, point):
    pose = Pose("body")
    axes = Rotation.from_rotvec(turn).as_matrix()
    drawing = Drawing(
        [Dot(pose.place(point)), Line([(0, 0, 0), pose.place(point)]), Trace(pose.place(point))],
        series=pose.series(place[None, :], axes[None, :, :]),
        eye=tuple(eye),
    )
    series = {name: np.array(values) for name, values in drawing.series.items()}
    where = place + axes @ point
    towards = eye / np.linalg.norm(eye)
    for shown in evaluate(drawing, series, {}, 0):
        seen = np.append(shown.points[-1], shown.depth[-1])
        assert abs(np.linalg.norm(seen) - np.linalg.norm(where)) < 1e-12 * 20
        assert abs(seen[2] - towards @ where) < 1e-12 * 20
    # What is above is seen above: the third axis of space has no part across.
    assert abs(drawing.axes[0, 2]) < 1e-15
    assert drawing.axes[1, 2] > -1e-15
    np.testing.assert_allclose(drawing.axes @ drawing.axes.T, np.eye(3), atol=1e-14)


def test_a_ball_is_a_circle_from_everywhere_and_a_disc_an_ellipse():
    pose = Pose("disc")
    drawing = Drawing(
        [Circle((1.0, 2.0, 3.0), 0.5), *wheel(pose, 2.0, normal=2)],
        series=pose.series(np.zeros((1, 3)), np.eye(3)[None]),
        eye=(0.0, -1.0, 1.0),
    )
    assert drawing.in_space
    series = {name: np.array(values) for name, values in drawing.series.items()}
    ball, disc, *spokes = evaluate(drawing, series, {}, 0)
    assert ball.radius == 0.5
    half = np.ptp(disc.points, axis=0) / 2
    np.testing.assert_allclose(half, (2.0, 2.0 * np.sqrt(0.5)), rtol=1e-12)
    for spoke in spokes:
        ends = np.column_stack([spoke.points, spoke.depth])
        assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(4.0)


def test_an_ellipse_lies_in_its_plane_and_has_its_half_axes():
    points = ring((3.0, 2.0, 1.0), normal=0, middle=(5.0, 0.0, 0.0))
    assert set(points[:, 0]) == {5.0}
    np.testing.assert_allclose((points[:, 1] / 2) ** 2 + points[:, 2] ** 2, 1.0, rtol=1e-12)


def test_a_floor_is_made_of_squares_and_reaches_beyond_all_places():
    places = np.array([[0.0, 0.0, 1.0], [4.0, 0.5, 0.0]])
    lines = np.array([line.points for line in tiles(places, 0.25, height=-1.0)], dtype=float)
    assert set(lines[:, :, 2].ravel()) == {-1.0}
    corners = lines.reshape(-1, 3)[:, :2]
    assert np.all(corners.min(axis=0) <= (-0.25, -0.25))
    assert np.all(corners.max(axis=0) >= (4.25, 0.75))
    across = np.unique(lines[lines[:, 0, 0] == lines[:, 1, 0]][:, 0, 0].round(12))
    along = np.unique(lines[lines[:, 0, 1] == lines[:, 1, 1]][:, 0, 1].round(12))
    np.testing.assert_allclose(np.diff(across), np.diff(across)[0], rtol=1e-9)
    np.testing.assert_allclose(np.diff(along), np.diff(across)[0], rtol=1e-9)


def test_series_of_another_shape_are_refused_by_the_name_of_the_body():
    with pytest.raises(PosingError, match=r"'disc' needs positions \(k, 3\) and axes \(k, 3, 3\)"):
        Pose("disc").series(np.zeros((2, 3)), np.zeros((3, 3, 3)))


def test_a_drawing_in_space_is_the_same_after_it_was_stored():
    from daesolve.multibody.drawing import from_json, to_json

    pose = Pose("body")
    drawing = Drawing([Outline(pose.places(ring(1.0)))], series={}, eye=(1.0, 2.0, 3.0))
    assert from_json(to_json(drawing)) == drawing
