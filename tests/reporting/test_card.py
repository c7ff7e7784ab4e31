"""The picture on a card: one instant, bodies large, one size for all."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody.drawing import Circle, Drawing, Line, Trace
from daesolve.reporting.document import document, with_drawing
from daesolve.reporting.figures.card import LEAST, ROOM, SIZE, TRAIL, card


def drawn(rule, until=3.0):
    """Return the document of a point that goes 100 m a second, with its drawing."""
    x = ds.states(x="m")
    run = ds.solve(ds.ControlSystem(x, {"x": 100.0}), until, {"x": 0.0})
    return with_drawing(document(run, {}), rule)


@pytest.mark.parametrize("radius", [1.0, 40.0])
def test_a_card_shows_the_bodies_large_wherever_they_go(radius):
    def rule(document):
        ground = Line([(-100.0, -radius), (500.0, -radius)], role="ground")
        return Drawing([ground, Trace(("x", 0.0)), Circle(("x", 0.0), radius)])

    figure = card(drawn(rule))
    (axes,) = figure.axes
    assert tuple(figure.get_size_inches()) == SIZE
    height = np.ptp(axes.get_ylim())
    # The scene is 600 m wide: a card shows at least a hundredth of it.
    assert height == pytest.approx(max(2 * radius * ROOM, 600.0 * LEAST), rel=0.1)
    assert np.ptp(axes.get_xlim()) / height == pytest.approx(SIZE[0] / SIZE[1])
    assert not axes.axison
    assert not figure.legends


def test_the_way_of_a_body_is_shown_as_far_as_it_does_not_fill_the_card():
    """The circle is run round ten times; a trace of all of it would be as long as 60 radii."""

    def rule(document):
        angle = np.array(document["states"]["x"]) * 2 * np.pi / 30.0
        series = {"u": 10.0 * np.cos(angle), "v": 10.0 * np.sin(angle)}
        return Drawing([Trace(("u", "v")), Circle(("u", "v"), 10.0)], series=series)

    run = drawn(rule)
    (axes,) = card(run).axes
    (way,) = (line.get_xydata() for line in axes.lines if len(line.get_xydata()) > 2)
    length = np.nansum(np.linalg.norm(np.diff(way, axis=0), axis=1))
    assert 0.0 < length <= TRAIL * np.ptp(axes.get_xlim())


def test_what_is_little_larger_than_the_bodies_is_shown_whole():
    def rule(document):
        rail = Line([(0.0, 0.0), (500.0, 0.0)], role="ground")
        return Drawing([rail, Line([(0.0, 0.0), (200.0, "x")])])

    (axes,) = card(drawn(rule)).axes
    assert axes.get_xlim()[0] < 0.0
    assert axes.get_xlim()[1] > 500.0


def test_of_two_legs_the_instant_is_shown_in_which_they_are_apart():
    def rule(document):
        angle = np.abs(np.array(document["states"]["x"]) / 150.0 - 1.0)  # closed in the middle
        feet = [(0.0, 0.0), ("foot", -1.0)]
        return Drawing([Line(feet)], series={"foot": angle})

    (axes,) = card(drawn(rule)).axes
    assert np.ptp(axes.get_xlim()) > 1.0


def test_without_a_drawing_or_a_motion_there_is_no_card():
    assert card(drawn(None)) is None
    assert card(drawn(lambda document: Drawing([Line([(0.0, 0.0), (1.0, 1.0)])]))) is None
