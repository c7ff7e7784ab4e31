"""Figures whose panels are placed without Matplotlib's own layout."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure

from daesolve.reporting.figures.margins import INCH, panels_in_place
from daesolve.reporting.figures.style import common_legend, style, svg


def panels() -> Figure:
    """Return a figure with a wide panel above two others, words on each side, and a legend."""
    with style():
        figure = Figure(figsize=(8.0, 5.0))
        grid = figure.add_gridspec(2, 2, width_ratios=(2, 1))
        wide, left, right = (
            figure.add_subplot(cell) for cell in (grid[0, :], grid[1, 0], grid[1, 1])
        )
        for axes, size in ((wide, 1.0), (left, 1e-9), (right, 12345.0)):
            axes.plot(np.linspace(0.0, 10.0, 5), size * np.arange(5.0), label=f"{size:g}")
            axes.set_yticks(size * np.arange(5.0), [f"{size * n:.6g}" for n in range(5)])
            axes.set_xlabel("time (s)")
            axes.set_ylabel("what is\nmeasured")
        right.set_title("a title")
        wide.annotate("beside", (1.0, 0.5), xycoords="axes fraction")
        common_legend(figure)
    return figure


def test_panels_stand_where_the_constrained_layout_of_matplotlib_puts_them() -> None:
    figure, other = panels(), panels()
    svg(figure, "one")
    other.set_dpi(INCH)
    engine = other.get_layout_engine()
    assert engine is not None
    engine.execute(other)
    for ours, theirs in zip(figure.axes, other.axes, strict=True):
        np.testing.assert_allclose(
            ours.get_position().extents, theirs.get_position().extents, atol=0.03
        )


def test_no_word_of_a_panel_is_cut_or_lies_on_another_panel() -> None:
    figure = panels()
    figure.set_dpi(INCH)
    renderer = RendererSVG(*figure.bbox.size, io.StringIO())
    with style(), panels_in_place(figure, renderer) as placed:
        assert placed
        boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
        boxes += [legend.get_window_extent(renderer) for legend in figure.legends]
    for number, box in enumerate(boxes):
        assert box is not None
        assert box.x0 >= 0.0
        assert box.y0 >= 0.0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
        assert not any(other is not None and box.overlaps(other) for other in boxes[:number])


def test_a_drawn_figure_has_its_own_numbers_again() -> None:
    figure = panels()
    before = [len(axes.get_children()) for axes in figure.axes]
    assert svg(figure, "one") == svg(figure, "one")
    assert [len(axes.get_children()) for axes in figure.axes] == before
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == list("01234")


@pytest.mark.parametrize("number", ["0.2", "0.8"])
def test_numbers_of_an_axis_are_words_of_the_picture(number: str) -> None:
    with style():
        figure = Figure(figsize=(4.0, 3.0))
        figure.add_subplot().plot([0.0, 1.0], [0.0, 1.0])
    assert svg(figure, "one").count(f">{number}</text>") == 2


def test_a_figure_with_other_axes_is_left_to_matplotlib() -> None:
    with style():
        figure = Figure(figsize=(4.0, 3.0))
        axes = figure.add_subplot()
        axes.plot([0.0, 1.0], [0.0, 1.0])
        axes.tick_params(axis="x", rotation=30)
    renderer = RendererSVG(*figure.bbox.size, io.StringIO())
    with style(), panels_in_place(figure, renderer) as placed:
        assert not placed
    assert "rotate(-30" in svg(figure, "one")
