import doctest
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve.errors import DaesolveError, OutOfRangeError, PosingError, UnknownNameError
from daesolve.multibody import drawing as module
from daesolve.multibody.drawing import (
    Arrow,
    Camera,
    Circle,
    Cosine,
    Dot,
    Drawing,
    Line,
    Linear,
    Outline,
    Polar,
    Trace,
    angles,
    check,
    evaluate,
    from_json,
    moves,
    to_json,
)

SERIES = {
    "t": np.array([0.0, 1.0, 2.0]),
    "x": np.array([1.0, 2.0, 4.0]),
    "z": np.array([-1.0, 0.0, 3.0]),
    "phi": np.array([0.0, math.pi / 2, math.pi]),
}
PARAMETERS = {"radius": 0.5, "length": 2.0}
ROUNDING = 1e-14
"""A few units in the last place of coordinates of the size of 5."""

numbers = st.floats(-1e6, 1e6)
words = st.sampled_from([*SERIES, *PARAMETERS])
linear = st.builds(Linear, st.dictionaries(words, numbers, max_size=2), numbers)
cosines = st.builds(Cosine, numbers, st.one_of(numbers, words, linear), numbers)
quantities = st.one_of(numbers, words, linear, cosines)
pairs = st.tuples(quantities, quantities)
points = st.recursive(
    pairs, lambda inner: st.builds(Polar, inner, quantities, quantities), max_leaves=3
)
several = st.lists(points, min_size=2, max_size=4)
look = {
    "role": st.sampled_from(["body", "accent", "ground", "path", "force", "detail"]),
    "label": st.text(max_size=5),
    "shown": st.one_of(st.none(), quantities),
}
shapes = st.one_of(
    st.builds(Circle, points, quantities, **look),
    st.builds(Circle, points, quantities, quantities, st.integers(1, 9), **look),
    st.builds(Line, several, **look),
    st.builds(Outline, several, points, quantities, **look),
    st.builds(Dot, points, **look),
    st.builds(Trace, points, **look),
    st.builds(Arrow, points, pairs, quantities, **look),
)
columns = st.dictionaries(
    st.text(max_size=5), st.lists(st.one_of(st.none(), numbers), max_size=3), max_size=2
)
drawings = st.builds(
    Drawing,
    st.lists(shapes, min_size=1, max_size=4),
    st.text(),
    st.text(),
    columns,
    st.one_of(st.none(), st.builds(Camera, points, quantities)),
)


def only(shape, index=0, series=SERIES):
    [placed] = evaluate(Drawing([shape]), series, PARAMETERS, index)
    return placed


@pytest.mark.long
@settings(max_examples=100, derandomize=True, deadline=None)
@given(drawings)
def test_reads_back_from_json_as_it_was(drawing):
    assert from_json(json.loads(json.dumps(to_json(drawing), allow_nan=False))) == drawing


@pytest.mark.slow
@settings(max_examples=100, derandomize=True, deadline=None)
@given(drawings, st.integers(-3, 2))
def test_every_shape_finds_its_place(drawing, index):
    placed = evaluate(drawing, SERIES, PARAMETERS, index)
    assert [entry.shape for entry in placed] == list(drawing.shapes)
    for entry in placed:
        assert entry.points.shape == (len(entry.points), 2)
        low, high = entry.box
        assert np.all(entry.points.min(axis=0) - entry.radius == low)
        assert np.all(entry.points.max(axis=0) + entry.radius == high)


def test_the_example_holds():
    assert doctest.testmod(module).attempted > 0
    assert doctest.testmod(module).failed == 0


def test_a_term_may_be_called_kind():
    drawing = Drawing([Dot((Linear({"kind": 1.0}), 0.0))])
    assert from_json(to_json(drawing)) == drawing


def test_arrays_are_points_too():
    assert Line(np.array([[0.0, 1.0], [2.0, 3.0]])) == Line([(0, 1), (2, 3)])


def test_a_circle_rolls_with_its_spokes():
    wheel = only(Circle(("x", "z"), "radius", angle="phi", spokes=4), index=1)
    assert wheel.points.tolist() == [[2.0, 0.0]]
    assert (wheel.radius, wheel.angle) == (0.5, math.pi / 2)
    rim = [[2.0, 0.5], [1.5, 0.0], [2.0, -0.5], [2.5, 0.0]]
    np.testing.assert_allclose(wheel.spokes[:, 1], rim, atol=ROUNDING)
    assert wheel.spokes[:, 0].tolist() == [[2.0, 0.0]] * 4
    assert wheel.box.tolist() == [[1.5, -0.5], [2.5, 0.5]]


def test_a_circle_without_spokes_has_none():
    assert only(Circle(("x", "z"), 1.0)).spokes.shape == (0, 2, 2)


@pytest.mark.parametrize(("index", "bob"), [(0, (1.0, -3.0)), (1, (4.0, 0.0)), (2, (4.0, 5.0))])
def test_a_pendulum_hangs_from_a_moving_point(index, bob):
    end = Polar(("x", "z"), "length", Linear({"phi": 1.0}, -math.pi / 2))
    arm = only(Line([("x", "z"), end]), index)
    pivot = (SERIES["x"][index], SERIES["z"][index])
    np.testing.assert_allclose(arm.points, [pivot, bob], atol=ROUNDING)


def test_a_linear_form_adds_up():
    dot = only(Dot((Linear({"x": 2.0, "length": -1.0}, 0.25), Linear({}, 3.0))), index=2)
    assert dot.points.tolist() == [[2.0 * 4.0 - 2.0 + 0.25, 3.0]]


def test_a_point_of_a_turning_wheel_is_seen_edge_on():
    """It goes to and fro along the wheel, and shows on one side of it."""
    seen = Cosine(0.5, Linear({"phi": 1.0}, math.pi / 4), 1.0)
    for index, phi in enumerate(SERIES["phi"]):
        point = only(Dot((seen, 0.0), shown=Cosine(1.0, "phi", 0.5)), index)
        assert point.points[0, 0] == pytest.approx(
            1.0 + 0.5 * math.cos(phi + math.pi / 4), abs=1e-15
        )
        assert point.shown == (math.cos(phi) > -0.5)


def test_what_says_nothing_is_always_shown():
    assert only(Dot((0.0, 0.0))).shown
    assert not only(Dot((0.0, 0.0), shown=0.0)).shown


def test_a_series_of_its_own_has_gaps_where_there_is_no_value():
    drawing = Drawing([Dot((0.0, 0.0))], series={"turn": np.array([1.0, math.nan, 2.0])})
    assert drawing.series == {"turn": (1.0, None, 2.0)}


def test_every_angle_is_found_once():
    arm = Polar(Polar((0.0, 0.0), 1.0, "phi"), Cosine(1.0, "theta"), "phi")
    shapes = [Line([(0.0, 0.0), arm]), Circle(arm, 1.0, angle=Linear({"phi": 2.0}), spokes=1)]
    assert angles(Drawing(shapes)) == ["phi", "theta", Linear({"phi": 2.0})]
    assert angles(Drawing([Dot((0.0, 0.0))])) == []


def test_an_outline_turns_with_its_body():
    flag = only(Outline([(0.0, 0.0), ("length", 0.0), (0.0, 1.0)], ("x", "z"), "phi"), index=1)
    np.testing.assert_allclose(flag.points, [(2.0, 0.0), (2.0, 2.0), (1.0, 0.0)], atol=ROUNDING)


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 2), min_size=2, max_size=5), st.floats(-9, 9))
def test_a_chain_of_two_is_a_point_of_the_body(corners, turn):
    outline = only(Outline(corners, ("x", "z"), turn))
    across = turn + math.pi / 2
    chain = [Polar(Polar(("x", "z"), a, turn), b, across) for a, b in corners]
    np.testing.assert_allclose(only(Line(chain)).points, outline.points, atol=ROUNDING)


def test_an_arrow_ends_at_its_vector_in_scale():
    arrow = only(Arrow(("x", 0.0), ("z", "length"), scale=0.1), index=2)
    np.testing.assert_allclose(arrow.points, [(4.0, 0.0), (4.3, 0.2)], atol=ROUNDING)


def test_a_trace_goes_from_the_first_sample_to_this_one():
    trace = Trace(Polar(("x", 0.0), "radius", math.pi / 2))
    np.testing.assert_allclose(only(trace, 1).points, [(1.0, 0.5), (2.0, 0.5)], atol=ROUNDING)
    assert len(only(trace, 0).points) == 1
    assert only(Trace((1.0, "length")), 2).points.tolist() == [[1.0, 2.0]]


def test_the_last_sample_is_the_one_before_the_first():
    assert only(Trace(("x", "z")), -1).points.tolist() == only(Trace(("x", "z")), 2).points.tolist()


def test_a_series_goes_before_a_parameter_of_its_name():
    [dot] = evaluate(Drawing([Dot(("x", 0.0))]), SERIES, {"x": 9.0}, 0)
    assert dot.points.tolist() == [[1.0, 0.0]]


def test_an_unknown_place_is_no_place():
    series = SERIES | {"x": np.array([np.nan, 1.0, 2.0])}
    assert np.isnan(only(Dot(("x", "z")), series=series).box).all()
    assert only(Trace(("x", "z")), 2, series).box.tolist() == [[1.0, 0.0], [2.0, 3.0]]


def test_what_depends_on_a_series_moves():
    assert moves(Line([(0.0, 0.0), Polar((0.0, 0.0), "length", Linear({"phi": 1.0}))]), SERIES)
    assert not moves(Line([(0.0, 0.0), ("length", 0.0)], label="x", role="path"), SERIES)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Circle(("x", "z"), None, label="wheel"), "Circle 'wheel' of the drawing: its rad"),
        (lambda: Circle(("x", "z"), math.nan), "its radius must be a finite number"),
        (lambda: Circle(("x", "z"), True), "its radius must be a finite number"),
        (lambda: Circle(("x",), 1.0), "its centre must be two or three coordinates"),
        (lambda: Circle("xz", 1.0), "its centre must be two or three"),
        (lambda: Circle(("x", "z"), 1.0, spokes=3), "give both, or neither"),
        (lambda: Circle(("x", "z"), 1.0, angle="phi"), "give both, or neither"),
        (lambda: Circle(("x", "z"), 1.0, "phi", 2.5), "its spokes must be a whole number"),
        (lambda: Line([("x", "z")]), "its points must be at least two points"),
        (lambda: Line(np.zeros((2, 4))), "its points must be two or three coordinates"),
        (
            lambda: Drawing([Line([("x", "z"), (0, 0, 0)])]),
            "Line of the drawing has points in space and Line of the drawing in a plane",
        ),
        (
            lambda: Drawing([Dot((0, 0, 0), label="a"), Arrow(("x", "z"), ("x", "z"), label="b")]),
            "Dot 'a' of the drawing has points in space and Arrow 'b' of the drawing in a plane",
        ),
        (lambda: Drawing([Dot((0, 0, 0))], eye=(0, 0, 0)), "its eye must be a direction"),
        (lambda: Drawing([Dot((0, 0, 0))], eye=(0, 1)), "its eye must be three numbers"),
        (lambda: Outline(np.zeros((3, 3)), at=("x", "z")), "leave out at= and angle="),
        (lambda: Dot(("x", "z"), role="red"), "its role must be one of body, body-2"),
        (lambda: Dot(("x", "z"), label=3), "its label must be text"),
        (lambda: Linear({"x": "y"}), "its terms must be a finite number, not 'y'"),
        (lambda: Linear("x"), "its terms must be names with their coefficients"),
        (lambda: Cosine("x", "phi"), "its amplitude must be a finite number"),
        (lambda: Dot(("x", "z"), shown=True), "its shown must be a finite number, a name"),
        (lambda: Drawing([Dot(("x", "z"))], camera=("x", "z")), "its camera must be a Camera"),
        (lambda: Drawing([Dot(("x", "z"))], series={"a": 1.0}), "must be a value for each time"),
        (lambda: Drawing([Dot(("x", "z"))], series={"a": [math.inf]}), "a finite number, not inf"),
        (lambda: Drawing([]), "its shapes must be shapes"),
        (lambda: Drawing(["x"]), "its shapes must be shapes"),
        (lambda: Drawing(Dot(("x", "z"))), "its shapes must be shapes"),
    ],
)
def test_what_is_no_drawing_is_refused_by_name(make, sentence):
    with pytest.raises(PosingError) as caught:
        make()
    assert sentence in str(caught.value)


def test_an_unknown_series_is_reported_with_its_shape():
    drawing = Drawing([Circle(("x", "zz"), "radius", label="wheel")])
    with pytest.raises(UnknownNameError) as caught:
        evaluate(drawing, SERIES, PARAMETERS, 0)
    assert "Circle 'wheel'" in str(caught.value)
    assert "unknown series or parameter 'zz': did you mean 'z'" in str(caught.value)
    check(drawing, ["x", "zz", "radius"])
    with pytest.raises(UnknownNameError, match="Camera of the drawing: unknown"):
        check(Drawing([Dot(("x", "z"))], camera=Camera(("x", "y"), 1.0)), SERIES)


@pytest.mark.parametrize("index", [3, -4])
def test_there_is_no_sample_beyond_the_last(index):
    with pytest.raises(OutOfRangeError, match=f"no sample {index} of 3"):
        only(Dot(("x", "z")), index)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "blob"},
        {"kind": "dot", "at": [0.0, 0.0]},
        {"kind": "drawing"},
        {"kind": "drawing", "shapes": [{"kind": "circle", "centre": [0, 0]}]},
        {"kind": "drawing", "shapes": [{"kind": "dot", "at": [0, 0], "size": 3}]},
        {"kind": "drawing", "shapes": [{"kind": "dot", "at": {"x": 1}}]},
    ],
)
def test_a_broken_file_is_reported(stored):
    with pytest.raises(DaesolveError):
        from_json(stored)
