"""The problems' own figures: none joins samples that do not follow the motion, none warns."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from matplotlib.figure import Figure

import daesolve as ds
from daesolve.errors import DaesolveError
from daesolve.reporting import document, style, with_opening
from daesolve.reporting.sampling import resolved

NAMES = [problem.name for problem in ds.problems()[0] if problem.figures]
QUICK = ["rolling-wheel", "omni-inertialess", "gyroscope"]
FEW = 25


def ran(name, until, **options):
    """Run the first case of a problem, as far as it gets."""
    case = ds.problem(name).case()
    try:
        run = case.solve(until, **options)
    except DaesolveError as error:
        run = getattr(error, "run", None)
        if run is None:
            raise
    return with_opening(document(run, case.identity()), run)


def figures(name, told):
    with style():
        found = [rule(told) for rule in ds.problem(name).figures.values()]
    return [figure for figure in found if isinstance(figure, Figure)]


def lines(figure):
    return [
        line
        for axes in figure.axes
        for line in axes.lines
        if line.get_linestyle() not in ("None", "") and len(line.get_xdata()) > 2
    ]


def joined_across(line, told):
    """Whether a line goes through every sample, over a quantity that is none but time."""
    across = np.asarray(line.get_xdata(), dtype=float)
    monotonous = np.all(np.diff(across) >= 0.0) or np.all(np.diff(across) <= 0.0)
    return len(across) == len(told["times"]) and not monotonous


@pytest.mark.default_rows(1)
@pytest.mark.long_rows("omni-lifting", "three-supports")
@pytest.mark.long_beyond(5)
@pytest.mark.slow_rows("rolling-wheel")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in NAMES]
)
def test_no_figure_joins_samples_that_lie_farther_apart_than_the_motion_turns(name):
    case = ds.problem(name).case()
    told = ran(name, case.case.until, at=np.linspace(case.case.start_time, case.case.until, FEW))
    if resolved(told):
        return
    found = [line for figure in figures(name, told) for line in lines(figure)]
    assert not [line.get_label() for line in found if joined_across(line, told)]


@pytest.mark.long_beyond(6)
@pytest.mark.long_rows("omni-lifting")
@pytest.mark.slow_rows("omni-inertialess", "rolling-wheel")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in NAMES]
)
def test_matplotlib_has_nothing_to_warn_of(name, caplog, tmp_path):
    """A warning is an error in tests; of some things Matplotlib tells by its log, when it draws."""
    told = ran(name, ds.problem(name).case().case.until)
    with caplog.at_level(logging.WARNING, logger="matplotlib"):
        for number, figure in enumerate(figures(name, told)):
            figure.savefig(tmp_path / f"{number}.svg")
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.slow
@pytest.mark.parametrize("case", ["spin", "straight"])
def test_a_vehicle_that_stays_or_goes_straight_is_drawn_without_a_warning(case, caplog, tmp_path):
    bound = ds.problem("omni-inertialess").case(case)
    run = bound.solve(1.0)
    with caplog.at_level(logging.WARNING, logger="matplotlib"):
        for figure in figures("omni-inertialess", document(run, bound.identity())):
            figure.savefig(tmp_path / "figure.svg")
            (path,) = [axes for axes in figure.axes if axes.get_ylabel() == "y (m)"]
            assert np.ptp(path.get_xlim()) < 2.0 * (1.0 + 2.0 * abs(run["x"][-1] - run["x"][0]))
    assert not caplog.records
