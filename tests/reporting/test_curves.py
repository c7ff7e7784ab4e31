"""Curves of one quantity over another are true to the motion, however sparse its samples are."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

import daesolve as ds
from daesolve.core.results.storage.files import OPENING
from daesolve.errors import ArchiveError, UnknownNameError
from daesolve.reporting import document, load, rebuild, with_opening
from daesolve.reporting.figures import outputs
from daesolve.reporting.figures.curves import draw_curve
from daesolve.reporting.opening import with_kept_opening

PERIOD = 2.0 * np.pi


def oscillator():
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        ds.parameters(mass=(1.0, "kg")),
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        outputs={"square": (q.x**2, "m^2")},
        peaks=["square"],
    )


@pytest.fixture(scope="module")
def sparse():
    """Samples 2.7 s apart, of a period of 6.28 s: joined, they are chords across the circle."""
    return ds.solve(oscillator(), until=270.0, initial={"x": 1.0}, at=ds.every(2.7))


@pytest.fixture(scope="module")
def told(sparse):
    return with_opening(document(sparse, {}), sparse)


def drawn(document, x, y):
    axes = Figure().add_subplot()
    draw_curve(axes, document, x, y)
    return [line for line in axes.lines if line.get_linestyle() != "None"], axes


def test_a_line_keeps_to_the_orbit_where_even_samples_do_not(told):
    (line,), axes = drawn(told, "x", "x_dot")
    points = line.get_xydata()
    middles = 0.5 * (points[1:] + points[:-1])
    # A chord of an arc of 2 pi / n leaves the circle by 1 - cos(pi / n); BETWEEN a half turn is 24.
    assert np.hypot(*middles.T).min() > np.cos(np.pi / 48)
    assert "the first" in line.get_label()
    (dots,) = [entry for entry in axes.lines if entry.get_linestyle() == "None"]
    assert len(dots.get_xdata()) == len(told["times"])


def test_what_is_computed_is_drawn_from_the_same_beginning(told):
    (line,), _ = drawn(told, "x", lambda part: -np.array(part["states"]["x"]))
    np.testing.assert_allclose(line.get_ydata(), -line.get_xdata())


def test_without_a_beginning_there_are_dots_and_no_line(sparse):
    lines, axes = drawn(document(sparse, {}), "x", "x_dot")
    assert not lines
    assert len(axes.lines) == 1


def test_close_samples_are_one_line_and_need_no_beginning():
    run = ds.solve(oscillator(), until=10.0, initial={"x": 1.0})
    told = with_opening(document(run, {}), run)
    assert "opening" not in told
    (line,), axes = drawn(told, "x", "x_dot")
    assert len(line.get_xdata()) == 1001
    assert len(axes.lines) == 1


def test_the_name_of_a_quantity_is_checked(told):
    with pytest.raises(UnknownNameError, match="'y'"):
        drawn(told, "x", "y")


@pytest.mark.slow
def test_a_stored_run_keeps_its_beginning_and_its_report_shows_it(tmp_path):
    ds.solve(
        oscillator(), until=270.0, initial={"x": 1.0}, at=ds.every(2.7), store=tmp_path / "run"
    )
    told = with_kept_opening(load(tmp_path / "run"), tmp_path / "run")
    begun = told["opening"]
    np.testing.assert_allclose(begun["states"]["x"], np.cos(begun["times"]), atol=1e-12)
    assert "the beginning" in rebuild([tmp_path / "run"]).read_text()


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"times": []}',
        b'{"times": [0.0], "states": {}, "reactions": {}, "outputs": {}}',
    ],
)
def test_a_damaged_beginning_is_refused(tmp_path, sparse, content):
    (tmp_path / OPENING).write_bytes(content)
    with pytest.raises(ArchiveError, match="does not contain the beginning"):
        with_kept_opening(document(sparse, {}), tmp_path)


def test_a_word_among_the_numbers_of_a_beginning_is_refused(tmp_path, told, sparse):
    begun = json.loads(json.dumps(told["opening"]))
    begun["states"]["x"][0] = "<script>"
    (tmp_path / OPENING).write_text(json.dumps(begun))
    with pytest.raises(ArchiveError, match="does not contain the beginning"):
        with_kept_opening(document(sparse, {}), tmp_path)


def test_peaks_between_samples_are_marked_within_the_panel(sparse):
    """Every sample of x^2 at the times n pi / 2 + pi / 4 is a half, and the peak is 1."""
    run = ds.solve(
        oscillator(), until=20.0, initial={"x": 1.0}, at=np.pi / 4 + np.pi / 2 * np.arange(12)
    )
    assert run["square"].max() == pytest.approx(0.5)
    (sheet,) = outputs([document(run, {})])
    axes = sheet.axes[0]
    marks = [line for line in axes.lines if line.get_marker() == "v"]
    assert [line.get_ydata()[0] for line in marks] == [run.peaks["square"].value]
    assert axes.get_ylim()[1] > run.peaks["square"].value > 0.99


def test_a_curve_ends_at_an_impact_and_begins_again_after_it():
    case = ds.problem("impact-oscillator").case()
    run = case.solve(10.0)
    told = with_opening(document(run, case.identity()), run)
    wall = told["parameters"]["clearance"]
    impacts = sum(event.name == "wall_closed" for event in run.events)
    (line,), _ = drawn(told, "x", "x_dot")
    x, speed = np.asarray(line.get_xydata()).T
    assert np.isnan(x).sum() == impacts > 2
    np.testing.assert_allclose(x[:-1][np.isnan(x[1:])], wall, rtol=1e-12)
    np.testing.assert_allclose(x[1:][np.isnan(x[:-1])], wall, rtol=1e-12)
    turned = (speed[:-1] > 0.0) & (speed[1:] < 0.0)
    assert np.all(x[:-1][turned] < wall - 0.1)
    (line,), _ = drawn(told, "x", lambda part: 2.0 * np.array(part["states"]["x_dot"]))
    assert np.isnan(line.get_ydata()).sum() == 3 * impacts
