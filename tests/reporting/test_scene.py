import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import same_color
from matplotlib.patches import Circle as Disc
from matplotlib.patches import FancyArrowPatch, Polygon

from daesolve.multibody.drawing import (
    Arrow,
    Circle,
    Dot,
    Drawing,
    Line,
    Outline,
    Polar,
    Trace,
    evaluate,
    from_json,
)
from daesolve.reporting import page, with_drawing
from daesolve.reporting.figures.renderer import COLOURS
from daesolve.reporting.figures.scene import INSTANTS, scene
from daesolve.reporting.figures.style import svg
from daesolve.reporting.sampling import columns

POINT = ("x", "y")


def rod(document):
    return Drawing(
        [
            Line([(0.0, 0.0), POINT], label="rod"),
            Dot(POINT, role="accent", label="point"),
            Trace(POINT, label="path"),
        ],
        y_label="y (m)",
    )


def rolling(count=201, size=0.01):
    """A wheel that rolls along the ground from x = 0 to 2 m within 4 s."""
    times = np.linspace(0.0, 4.0, count)
    return with_drawing(
        {
            "times": times.tolist(),
            "start_time": 0.0,
            "until": 4.0,
            "states": {
                "x": (0.5 * times).tolist(),
                "theta": (-0.5 * times / size).tolist(),
                "x_dot": [0.5] * count,
                "theta_dot": [-0.5 / size] * count,
            },
            "reactions": {"normal": [2.0] * count},
            "outputs": {},
            "parameters": {"radius": size},
            "notes": [],
        },
        lambda _: Drawing(
            [
                Line([(-0.1, 0.0), (2.1, 0.0)], role="ground", label="ground"),
                Circle(("x", "radius"), "radius", angle="theta", spokes=4, label="wheel"),
                Arrow(("x", 0.0), (0.0, "normal"), scale=size),
            ]
        ),
    )


def inside(axes, corners):
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    return bool(np.all(corners[0] >= low) and np.all(corners[1] <= high))


def patches(axes, kind):
    return [patch for patch in axes.patches if isinstance(patch, kind)]


def times_told(axes):
    return [text.get_text() for text in axes.texts]


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_there_is_no_scene_without_a_drawing_or_samples(told):
    assert scene(told) is None
    told = with_drawing(told, rod)
    empty = {kind: {name: [] for name in told[kind]} for kind in ("states", "outputs", "reactions")}
    assert scene({**told, **empty, "times": []}) is None


@pytest.mark.slow
def test_everything_that_moves_is_within_the_axes(told):
    told = with_drawing(told, rod)
    [axes] = scene(told).axes
    values = {name: entry.values for name, entry in columns(told).items()}
    for index in range(len(told["times"])):
        for entry in evaluate(from_json(told["drawing"]), values, told["parameters"], index):
            assert inside(axes, entry.box)


def test_one_scale_along_both_axes_with_their_labels(told):
    figure = scene(with_drawing(told, rod))
    figure.draw_without_rendering()
    [axes] = figure.axes
    (left, bottom), (right, top) = axes.transData.transform([(0.0, 0.0), (1.0, 1.0)])
    assert right - left == pytest.approx(top - bottom, rel=1e-6)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x (m)", "y (m)")


def test_bodies_at_the_first_instant_the_last_and_between(told):
    [axes] = scene(with_drawing(told, rod)).axes
    told_times = times_told(axes)
    assert len(told_times) == INSTANTS
    assert (told_times[0], told_times[-1]) == ("0 s", "3 s")
    assert told_times == sorted(told_times, key=lambda text: float(text.split()[0]))
    ends = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert len(ends) == INSTANTS
    strengths = [line.get_alpha() for line in ends]
    assert strengths == sorted(strengths)
    assert len(set(strengths)) == INSTANTS
    assert strengths[-1] == 1.0
    rods = [line for line in axes.lines if len(line.get_xdata()) == 2]
    assert len(rods) == INSTANTS
    for line in rods:
        x, y = line.get_data()
        assert math.hypot(x[1] - x[0], y[1] - y[0]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_texts_are_within_the_axes_and_apart(told):
    figure = scene(with_drawing(told, rod))
    figure.draw_without_rendering()
    [axes] = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    for place, box in enumerate(boxes):
        assert axes.bbox.contains(box.x0, box.y0)
        assert axes.bbox.contains(box.x1, box.y1)
        assert not any(box.overlaps(other) for other in boxes[:place])


def test_the_legend_names_what_has_a_label(told):
    [axes] = scene(with_drawing(told, rod)).axes
    assert labels(axes) == ["rod", "point", "path"]


def test_colours_follow_roles(told):
    [axes] = scene(with_drawing(told, rod)).axes
    named = {line.get_label(): line.get_color() for line in axes.lines}
    for label, role in (("rod", "body"), ("point", "accent"), ("path", "path")):
        assert same_color(named[label], COLOURS[role])


def test_a_path_with_dense_samples_is_a_line(told):
    [axes] = scene(with_drawing(told, rod)).axes
    assert len(told["times"]) in [len(line.get_xdata()) for line in axes.lines]


def test_a_path_with_sparse_samples_is_not_joined(sparse):
    [axes] = scene(with_drawing(sparse, rod)).axes
    count = len(sparse["times"])
    paths = [line for line in axes.lines if len(line.get_xdata()) == count]
    assert [line.get_linestyle() for line in paths] == ["None"]
    assert "path (samples)" in labels(axes)


def test_bodies_that_can_be_recognized_are_not_enlarged():
    [axes] = scene(rolling(size=0.2)).axes
    assert len(patches(axes, Disc)) == len(patches(axes, FancyArrowPatch)) == INSTANTS
    assert all(disc.get_radius() == 0.2 for disc in patches(axes, Disc))


@pytest.mark.slow
def test_tiny_bodies_are_enlarged_by_as_much_as_is_reported():
    figure = scene(rolling())
    figure.draw_without_rendering()
    whole, *panels = figure.axes
    assert len(panels) == INSTANTS
    assert [panel.get_title(loc="left") for panel in panels] == [
        f"t = {text}" for text in times_told(whole)
    ]
    for panel, far in zip(panels, patches(whole, Disc), strict=True):
        [disc] = patches(panel, Disc)
        assert disc.center == far.center
        [arrow] = patches(panel, FancyArrowPatch)
        assert inside(panel, np.add.outer([-0.01, 0.01], disc.center))
        assert inside(panel, arrow.get_path().get_extents().get_points())
    scales = [
        np.diff(axes.transData.transform([(0.0, 0.0), (1.0, 0.0)])[:, 0])[0]
        for axes in (panels[0], whole)
    ]
    words = panels[0].get_ylabel().split()
    assert words[1:] == ["times", "larger"]
    # constrained layout takes up to a tenth of the planned width for what surrounds the axes
    assert float(words[0]) == pytest.approx(scales[0] / scales[1], rel=0.1)


def test_the_ground_is_there_in_panels_that_none_of_its_points_is_in():
    _, *panels = scene(rolling()).axes
    for panel in panels:
        [ground] = [line for line in panel.lines if same_color(line.get_color(), COLOURS["ground"])]
        assert np.isfinite(ground.get_ydata()).all()


def test_a_loop_that_shows_corners_when_enlarged_is_not_joined_there():
    told = rolling()
    steps = np.minimum(np.arange(201), 12)
    told["states"] |= {"turn": (steps * math.pi / 4).tolist()}
    told["states"] |= {"x": (0.01 * np.maximum(0, np.arange(201) - 12)).tolist()}
    del told["states"]["x_dot"]
    loop = Trace(Polar(("x", "radius"), "radius", "turn"), role="accent")
    drawn = from_json(told["drawing"])
    told = with_drawing(told, lambda _: replace(drawn, shapes=[*drawn.shapes, loop]))
    whole, first, *_, last = scene(told).axes
    for axes, style in ((whole, "-"), (first, "None"), (last, "-")):
        [path] = [line for line in axes.lines if same_color(line.get_color(), COLOURS["accent"])]
        assert path.get_linestyle() == style


def test_an_outline_is_a_polygon_that_turns(told):
    square = [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2)]
    told = with_drawing(told, lambda _: Drawing([Outline(square, POINT, angle="x")]))
    [axes] = scene(told).axes
    polygons = patches(axes, Polygon)
    assert len(polygons) == INSTANTS
    for polygon in polygons:
        middle = polygon.get_xy()[:4].mean(axis=0)
        turn = np.array([math.cos(middle[0]), math.sin(middle[0])])
        expected = middle - 0.2 * turn + 0.2 * np.array([turn[1], -turn[0]])
        np.testing.assert_allclose(polygon.get_xy()[0], expected, atol=1e-14)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    "shape",
    [
        Line([(0.0, 0.0), ("length", 0.0)], role="ground"),
        Trace(POINT),
        Dot((0.0, 0.0)),
        Arrow(POINT, (0.0, 0.0)),
        Dot(("t", 0.0)),
    ],
)
def test_draws_whatever_there_is(told, shape):
    figure = scene(with_drawing(told, lambda _: Drawing([shape])))
    assert "<svg" in svg(figure, "scene")


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("3")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_draws_few_samples(count):
    assert "<svg" in svg(scene(rolling(count)), "scene")


def test_passes_over_samples_without_a_place(told):
    told = with_drawing(told, rod)
    told["states"]["x"] = [None, *told["states"]["x"][1:-1], None]
    [axes] = scene(told).axes
    assert "0 s" not in times_told(axes)
    assert len(times_told(axes)) == INSTANTS
    told["states"]["x"] = [None] * len(told["times"])
    [axes] = scene(told).axes
    assert times_told(axes) == []


def test_a_run_backwards_begins_at_its_start(told):
    told = with_drawing({**told, "start_time": 3.0, "until": 0.0}, rod)
    assert columns(told)["t"].values[[0, -1]].tolist() == [3.0, 0.0]
    assert times_told(scene(told).axes[0])[0] == "3 s"


@pytest.mark.slow
def test_the_same_scene_is_the_same_text(told):
    told = with_drawing(told, rod)
    assert svg(scene(told), "a") == svg(scene(told), "a")


@pytest.mark.slow
def test_stands_before_the_other_figures(told):
    text = page([with_drawing(told, rod)])
    assert text.index("<h3>Scene</h3>") < text.index("<h3>Residuals</h3>")


@pytest.mark.long
def test_each_run_has_its_own_scene(told, told_measured):
    runs = [with_drawing(told, rod), with_drawing(told_measured, rod)]
    assert page(runs).count("<h3>Scene</h3>") == 2
    assert "<h3>Scene</h3>" not in page([told])


@pytest.mark.slow
def test_a_broken_drawing_costs_nothing_else(told):
    text = page([{**told, "drawing": {"kind": "blob"}}])
    assert "could not be drawn: UnknownNameError" in text
    assert "<h3>Positions</h3>" in text


def test_a_rule_that_fails_costs_a_note(told):
    def broken(document):
        raise KeyError("contact_x")

    assert with_drawing(told, None) is told
    noted = with_drawing(told, broken)
    assert "drawing" not in noted
    assert noted["notes"][-1] == "there is no picture of the scene: KeyError: 'contact_x'"
    noted = with_drawing(told, lambda _: Drawing([Dot(("x", "height"), label="bob")]))
    assert "drawing" not in noted
    assert "Dot 'bob' of the drawing: unknown series or parameter 'height'" in noted["notes"][-1]


def crowd(way, count=16):
    """A wheel of many parts that goes some way while it turns."""
    told = rolling(size=0.1)
    told["states"]["x"] = (way * np.linspace(0.0, 1.0, 201)).tolist()
    square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    parts = [
        Outline((0.1 + 0.001 * k) * square, ("x", 0.0), "theta", label="part" * (k == 0))
        for k in range(count)
    ]
    return with_drawing(told, lambda _: Drawing([*parts, Trace(("x", 0.0))]))


@pytest.mark.slow
def test_many_bodies_on_the_spot_are_shown_side_by_side():
    figure = scene(crowd(way=0.0))
    assert len(figure.axes) == INSTANTS
    assert all(axes.get_title(loc="left").startswith("t = ") for axes in figure.axes)
    assert len(scene(crowd(way=0.0, count=3)).axes) == 1


@pytest.mark.slow
def test_many_bodies_that_come_near_themselves_are_shown_on_their_way_and_enlarged():
    assert len(scene(crowd(way=0.3)).axes) == 1 + INSTANTS
    assert len(scene(crowd(way=1.0)).axes) == 1


def test_what_is_not_shown_is_not_drawn():
    told = rolling(size=0.2)
    [axes] = scene(told).axes
    drawn = from_json(told["drawing"])
    hidden = [replace(shape, shown=-1.0) for shape in drawn.shapes]
    told = with_drawing(told, lambda _: replace(drawn, shapes=hidden))
    [bare] = scene(told).axes
    assert len(patches(axes, Disc)) == INSTANTS
    assert patches(bare, Disc) == []


def test_a_legend_is_not_wider_than_the_scene(told):
    labels = ["a rather long name of a part", "another one of these", "and a third, longer still"]
    shapes = [Dot(POINT, label=label) for label in labels]
    figure = scene(with_drawing(told, lambda _: Drawing(shapes)))
    figure.draw_without_rendering()
    [axes] = figure.axes
    assert axes.get_position().width > 0.5
