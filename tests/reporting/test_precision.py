"""A comparison as a document, a table and a figure."""

from __future__ import annotations

import copy
import io
import json

import pytest
from matplotlib.figure import Figure
from rich.console import Console

import daesolve as ds
from daesolve.reporting import comparison_document, comparison_text, dump, write_comparison
from daesolve.reporting.figures.accuracy import work_precision
from daesolve.reporting.figures.style import svg

from .conftest import pendulum

IDENTITY = {"problem": "pendulum", "case": "swing", "until": 2.0}


@pytest.fixture(scope="module")
def compared():
    told = ds.compare(
        pendulum(),
        ["feedback"],
        ["taylor", "dop853"],
        2.0,
        {"x": -1.0},
        tolerances=[1e-6, 1e-10, 1e-15],
    )
    return comparison_document(told, IDENTITY)


@pytest.fixture
def document(compared):
    return copy.deepcopy(compared)


def text(document, width=80):
    console = Console(width=width, file=io.StringIO())
    console.print(comparison_text(document))
    return console.file.getvalue()


@pytest.mark.slow
def test_the_document_reads_back_and_holds_cost_error_and_drift(document):
    assert json.loads(dump(document)) == document
    assert [run["tolerance"] for run in document["runs"]] == [1e-6, 1e-10, 1e-15, 1e-6, 1e-10]
    for run in document["runs"]:
        assert run["difference"]["largest"] == run["error"] > 0
        assert run["wall_seconds"] > 0
        assert run["rhs_evaluations"] > run["steps"] > 10
        assert run["residual"]["max_relative"] > 0
    assert document["refused"][0]["tolerance"] == 1e-15
    assert document["reference"]["kind"] == "quad"
    assert len(document["agreement"]) == 1


@pytest.mark.slow
def test_the_figure_has_a_line_for_each_pair_in_both_panels(document):
    figure = work_precision(document)
    by_work, by_tolerance = figure.axes
    for axes in (by_work, by_tolerance):
        labels = [line.get_label() for line in axes.lines if "+" in str(line.get_label())]
        assert labels == ["feedback + taylor", "feedback + dop853"]
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert list(by_tolerance.lines[0].get_xdata()) == [1e-6, 1e-10, 1e-15]
    assert list(by_work.lines[1].get_ydata()) == [run["error"] for run in document["runs"][3:]]
    assert by_tolerance.get_xlim()[0] > by_tolerance.get_xlim()[1]
    assert "<svg" in svg(figure, "work")


def test_errors_of_zero_and_runs_without_one_can_be_drawn(document):
    document["runs"][0]["error"] = 0.0
    document["runs"][1]["error"] = None
    document["runs"][2]["outcome"] = "failed"
    document["runs"][3]["tolerance"] = None
    by_work, _ = work_precision(document).axes
    assert list(by_work.lines[0].get_ydata()) == [2.0**-53]
    document["runs"] = []
    assert "no errors to show" in work_precision(document).texts[0].get_text()


def test_the_table_fits_a_terminal_and_tells_errors_refusals_and_agreement(document):
    told = text(document)
    assert max(map(len, told.splitlines())) <= 80
    assert told.count("feedback + taylor") == 2  # in the table and in the agreement
    assert "quadruple precision" in told
    assert "rtol is 1e-15" in told
    assert "feedback + taylor and feedback + dop853" in told


def test_the_table_tells_what_failed_and_what_was_interrupted(document):
    document["interrupted"] = True
    document["runs"][0] |= {"outcome": "failed", "message": "out of order", "error": None}
    document["agreement"][0]["largest"] = None
    told = text(document)
    assert "feedback + taylor at 1e-6 failed: out of order" in told
    assert "interrupted" in told
    assert "not finite" in told


@pytest.mark.slow
def test_a_directory_gets_the_document_and_the_figure(document, tmp_path):
    files = write_comparison(tmp_path / "new", document)
    assert [file.name for file in files] == [
        "comparison.json",
        "work-precision.svg",
        "work-precision.png",
    ]
    assert json.loads(files[0].read_text()) == document
    assert all(file.stat().st_size > 1000 for file in files)
    assert isinstance(work_precision(document), Figure)
