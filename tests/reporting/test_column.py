"""Figures in a column of text: narrow, panels in a stack, words as large, nothing cut off."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from daesolve.reporting.figures.column import stack
from daesolve.reporting.figures.style import (
    COLUMN,
    PANEL_WIDTH,
    in_a_column,
    narrow,
    panel_width,
    strip,
    style,
    svg,
)


def beside(count: int, width: float = 8.0, sharey: bool = False) -> Figure:
    figure = Figure(figsize=(width, 3.0), layout="constrained")
    for number, axes in enumerate(figure.subplots(1, count, squeeze=False, sharey=sharey).ravel()):
        axes.plot([0.0, 1.0], [0.0, number + 1.0], label="a curve")
        axes.set_xlabel("t (s)")
    figure.axes[0].set_ylabel("x (m)")
    return figure


def tops(figure: Figure) -> list[float]:
    figure.draw_without_rendering()
    return [axes.get_position().y0 for axes in figure.axes]


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_panels_side_by_side_stand_below_each_other(count: int):
    figure = beside(count)
    stack(figure)
    assert figure.get_figwidth() == COLUMN
    heights = tops(figure)
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == count
    lefts = [axes.get_position().x0 for axes in figure.axes]
    assert np.ptp(lefts) < 0.1


@pytest.mark.slow
def test_panels_of_a_grid_are_stacked_in_the_order_of_reading():
    figure = Figure(figsize=(10.4, 6.0), layout="constrained")
    grid = figure.subplots(2, 2)
    stack(figure)
    heights = tops(figure)
    assert heights == sorted(heights, reverse=True)
    assert [axes.get_subplotspec().rowspan.start for axes in grid.ravel()] == [0, 1, 2, 3]


def test_a_panel_that_shared_its_axis_gets_label_and_numbers():
    figure = beside(2, sharey=True)
    stack(figure)
    second = figure.axes[1]
    assert second.get_ylabel() == "x (m)"
    assert any(label.get_visible() for label in second.get_yticklabels())


def test_a_figure_that_fits_stays_as_it_is():
    figure = beside(2, width=COLUMN)
    stack(figure)
    assert tuple(figure.get_size_inches()) == (COLUMN, 3.0)
    assert len(set(tops(figure))) == 1


def test_twins_stay_upon_each_other():
    figure = beside(1)
    figure.axes[0].twinx()
    stack(figure)
    assert len(set(tops(figure))) == 1


def test_a_plane_keeps_its_shape():
    figure = beside(1)
    figure.axes[0].set_aspect("equal")
    stack(figure)
    assert figure.get_figheight() == pytest.approx(3.0 * COLUMN / 8.0)


@pytest.mark.parametrize("where", ["axes", "figure"])
def test_a_legend_fits_into_the_figure(where: str):
    figure = beside(1, width=10.4)
    axes = figure.axes[0]
    for number in range(6):
        axes.plot([0, 1], [0, number], label=f"a curve with many words, {number}")
    if where == "axes":
        axes.legend(ncols=4)
    else:
        figure.legend(loc="outside upper left", ncols=4)
    stack(figure)
    figure.draw_without_rendering()
    legend = axes.get_legend() or figure.legends[0]
    box = legend.get_window_extent()
    assert box.x1 <= figure.bbox.width
    assert where == "figure" or box.y0 >= axes.get_window_extent().y1


def test_inside_a_column_figures_are_narrow_and_afterwards_wide_again():
    with in_a_column():
        assert narrow()
        assert panel_width() == COLUMN
        with style():
            figure = Figure(figsize=(panel_width(), 2.0))
            axes = figure.add_subplot()
            for number in range(6):
                axes.plot([0, 1], label=f"roller_momentum_{number}")
            strip(axes)
        figure.draw_without_rendering()
        legend = axes.get_legend()
        assert legend is not None
        assert legend.get_window_extent().x1 <= figure.bbox.width
    assert not narrow()
    assert panel_width() == PANEL_WIDTH


@pytest.mark.parametrize("noise", [0.0, 4e-15])
def test_rounding_of_a_constant_is_not_magnified(noise: float):
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot([0.0, 1.0, 2.0], [4.7415 - noise, 4.7415 + noise, 4.7415])
    svg(figure, "constant")
    assert np.ptp(axes.get_ylim()) > 0.1
    assert axes.get_xlim() == (-0.1, 2.1)
    small = figure.add_subplot()
    small.plot([0.0, 1.0], [-1e-15, 1e-15])
    svg(figure, "small")
    assert np.ptp(small.get_ylim()) < 1e-14
