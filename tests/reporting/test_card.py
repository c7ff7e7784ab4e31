"""The picture on a card: one instant, bodies large, one size for all."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody.drawing import Circle, Drawing, Line, Trace
from daesolve.reporting.document import document, with_drawing
from daesolve.reporting.figures.card import ROOM, SIZE, card


def drawn(rule, until=3.0):
    """Return the document of a point that goes 100 m a second, with its drawing."""
    x = ds.states(x="m")
    run = ds.solve(ds.ControlSystem(x, {"x": 100.0}), until, {"x": 0.0})
    return with_drawing(document(run, {}), rule)


@pytest.mark.parametrize("radius", [4.0, 40.0])
def test_a_card_shows_the_bodies_large_wherever_they_go(radius):
    def rule(document):
        ground = Line([(-100.0, -radius), (500.0, -radius)], role="ground")
        return Drawing([ground, Trace(("x", 0.0)), Circle(("x", 0.0), radius)])

    figure = card(drawn(rule))
    (axes,) = figure.axes
    assert tuple(figure.get_size_inches()) == SIZE
    height = np.ptp(axes.get_ylim())
    # The scene is 600 m wide: a small body takes at least a thirtieth of it.
    assert height == pytest.approx(max(2 * radius * ROOM, 18.0), rel=0.1)
    assert np.ptp(axes.get_xlim()) / height == pytest.approx(SIZE[0] / SIZE[1])
    assert not axes.axison
    assert not figure.legends


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
