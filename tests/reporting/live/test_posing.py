"""What of a run becomes live: sliders in declared ranges, refusals, what a drawing follows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import MissingPackageError
from daesolve.multibody.drawing import (
    Circle,
    Dot,
    Drawing,
    Line,
    Polar,
    Trace,
    sum_over_events,
)
from daesolve.reporting.live import compiling
from daesolve.reporting.live.drawings import live_drawing
from daesolve.reporting.live.page import live
from daesolve.reporting.live.posing import live_run

from .pendulum import run


@pytest.fixture(scope="module")
def pendulum():
    return live_run(run(inputs={"wind": 0.5}))


def test_there_is_a_slider_for_each_parameter_input_and_start(pendulum):
    found = {(slider.kind, slider.name) for slider in pendulum.sliders}
    assert found == {
        *(("parameter", name) for name in ("mass", "length", "gravity", "wall")),
        ("input", "wind"),
        *(("start", name) for name in ("x", "y", "x_dot", "y_dot")),
    }
    sliders = {slider.name: slider for slider in pendulum.sliders}
    assert sliders["wind"].value == 0.5
    for slider in pendulum.sliders:
        assert slider.low < slider.value < slider.high or slider.value == slider.low == 0.0
        assert slider.declared is None or {slider.low, slider.high} <= _in(slider)
    assert sliders["mass"].low > 0.0


def _in(slider):
    return {end for end in (slider.low, slider.high) if end in slider.declared}


def test_declared_bounds_end_a_slider():
    x = ds.states(x="m")
    p = ds.parameters(share=(0.2, "", ds.Interval(-0.5, 0.25)))
    found = live_run(ds.solve(ds.ControlSystem(x, {"x": -p.share * x.x}, p), 1.0, {"x": 1.0}))
    (slider,) = [one for one in found.sliders if one.kind == "parameter"]
    assert (slider.low, slider.high) == (0.0, 0.25)


def test_what_a_unit_cannot_do_is_named_when_the_page_is_made():
    law = ds.sampled("relay", 0.1, lambda s: 1.0 if s.x < 0.5 else 0.0, traced=False)
    with pytest.raises(ds.errors.UnsupportedError, match="'relay' is a Python function"):
        live_run(run(inputs={"wind": law}))


def test_a_run_that_goes_back_or_has_lost_its_equations_is_refused():
    import pickle

    x = ds.states(x="m")
    back = ds.solve(ds.ControlSystem(x, {"x": -x.x}), -0.1, {"x": 1.0})
    with pytest.raises(ds.errors.UnsupportedError, match="goes back in time"):
        live_run(back)
    with pytest.raises(ds.errors.UnsupportedError, match="store the run and give its directory"):
        live_run(pickle.loads(pickle.dumps(run())))


def test_without_the_compiler_one_sentence_names_the_command(monkeypatch):
    monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'daesolve\[live\]'"):
        live(run())


@pytest.mark.parametrize("until", [0.0, -1.0, 5.1, math.nan, True, "5"])
def test_a_page_ends_within_the_run(until):
    if compiling.find_spec("ziglang") is None:
        pytest.skip("the compiler of live pages, ziglang, is not installed")
    with pytest.raises(ds.errors.OutOfRangeError, match="the run goes from 0 s to 5 s"):
        live(run(), until=until)


def test_an_input_by_an_expression_stays_it_and_its_numbers_can_be_changed():
    known = live_run(run(inputs={"wind": "0.2 * sin(2 * pi * t) + 3 * (1 + x**2)**1.5"}))
    assert known.given.words == {"wind": "(0.2*sin((6.28319*t)))+(3*pow((1+sq(x)),1.5))"}
    inputs = {slider.label: slider for slider in known.sliders if slider.kind == "input"}
    assert {label: slider.value for label, slider in inputs.items()} == {
        "0.2 in wind": 0.2,
        "3 in wind": 3.0,
    }
    plain, prepared = known.run.auditor.prepared, known.prepared
    rates = [np.asarray(one.problem.rhs(0.3, one.initial, one.values)) for one in (plain, prepared)]
    assert rates[1] == pytest.approx(rates[0], rel=1e-14, abs=1e-14)


def test_an_input_by_a_table_is_named_and_fixed():
    known = live_run(run(inputs={"wind": ds.table("gusts", [0.0, 1.0, 9.0], [0.0, 0.4, 0.0])}))
    assert known.given.words == {"wind": "a table or a law over time"}
    assert not [slider for slider in known.sliders if slider.kind == "input"]


# -- drawings ------------------------------------------------------------------------------------


def _drawn(rule):
    """Return the live drawing of a pendulum that a rule draws."""
    from dataclasses import replace

    moved = live_run(run())
    return moved, live_drawing(replace(moved, origin=replace(moved.origin, rule=rule)))


def _values(moved, drawing, parameters=()):
    """Return the numbers of a drawing at the start, by name."""
    problem = moved.prepared.problem
    p = problem.value_vector({**problem.values, **dict(parameters)})
    shown = np.zeros(len(moved.unit.sheet.variables.shown))
    numbers = np.asarray(drawing.function(0.0, moved.prepared.initial, p, shown, [])).ravel()
    return dict(zip(drawing.columns, numbers, strict=True))


def test_series_and_sizes_of_a_drawing_follow_states_and_parameters():
    def rule(document):
        x, y = (document["states"][name] for name in "xy")
        angle = np.arctan2(y, x)
        size = 0.1 * document["parameters"]["length"]
        bob = Polar((0.0, 0.0), "length", "angle")
        return Drawing(
            [Line([(0, 0), bob]), Circle(bob, size), Trace(bob)], series={"angle": angle}
        )

    moved, drawing = _drawn(rule)
    assert drawing.columns[0] == "angle"
    assert drawing.fixed == ((), (), ())
    assert drawing.notes == ()
    found = _values(moved, drawing, {"length": 3.0})
    assert found["angle"] == pytest.approx(math.atan2(-math.sqrt(0.19), 0.9), rel=1e-12)
    assert found[drawing.stored["shapes"][1]["radius"]] == pytest.approx(0.3, rel=1e-15)


def test_parts_that_follow_from_the_whole_run_are_left_out_and_named():
    def rule(document):
        way = np.cumsum(np.abs(np.array(document["states"]["x"], dtype=float)))
        return Drawing([Dot(("x", "y")), Dot(("way", 0.0))], series={"way": way})

    _, drawing = _drawn(rule)
    assert [shape["kind"] for shape in drawing.stored["shapes"]] == ["dot"]
    (note,) = drawing.notes
    assert "follow from the whole run" in note


def test_sums_over_events_follow_what_events_add_after_their_resets():
    def rule(document):
        length = document["parameters"]["length"]
        strikes = sum_over_events(
            document,
            "wall_contact_closed",
            lambda event: event["after"]["x_dot"] * event["detail"]["y"] / length,
        )
        return Drawing([Dot(("strikes", 0.0))], series={"strikes": strikes})

    moved, drawing = _drawn(rule)
    assert drawing.notes == ()
    names = [event.name for event in moved.prepared.problem.events]
    assert [names[place] for place in drawing.counted] == ["wall_contact_closed"]
    size = moved.prepared.problem.size
    before, after = np.zeros(size), np.zeros(size)
    states = [state.name for state in moved.states]
    before[states.index("y")], after[states.index("x_dot")] = -0.8, 3.0
    values = moved.prepared.problem.value_vector({"length": 2.0})
    added = float(drawing.added(1.0, before, after, values))
    assert added == pytest.approx(-0.8 * 3.0 / 2.0, rel=1e-15)
    shown = np.zeros(len(moved.unit.sheet.variables.shown))
    assert float(drawing.function(0.0, moved.prepared.initial, values, shown, [7.0])) == 7.0


def test_a_sum_of_plain_numbers_that_change_is_left_out():
    def rule(document):
        # The function of the standard library knows no expressions.
        strikes = sum_over_events(
            document, "wall_contact_closed", lambda event: math.cos(event["time"])
        )
        return Drawing([Dot(("x", "y")), Dot(("strikes", 0.0))], series={"strikes": strikes})

    _, drawing = _drawn(rule)
    assert [shape["at"] for shape in drawing.stored["shapes"]] == [["x", "y"]]
    assert "follow from the whole run" in drawing.notes[0]


def test_a_shape_that_does_not_follow_a_parameter_says_so():
    def rule(document):
        # The function of the standard library knows no expressions.
        size = math.cos(document["parameters"]["length"])
        return Drawing([Dot(("x", "y")), Circle(("x", "y"), size)])

    _, drawing = _drawn(rule)
    assert drawing.fixed == ((), ("length",))


def test_parameters_from_which_values_follow_by_code_alone_are_fixed():
    """What follows from a rule that knows only plain numbers must not stay behind in silence."""

    def system():
        x = ds.states(x="m")
        p = ds.parameters(width=(2.0, "m"), other=(1.0, "1"), area=(0.0, "m^2"))
        return ds.ControlSystem(x, {"x": -p.area * p.other * x.x}, p)

    def derived(start, parameters, structure):
        return {"area": math.pow(float(parameters["width"]), 2)}

    problem = ds.Problem(
        "squares",
        title="Squares",
        models={"one": system},
        derived=derived,
        start=lambda given, parameters, structure: {"x": 1.0},
        cases=[ds.Case("only", until=1.0)],
    )
    found = live_run(problem.case().solve())
    assert found.run.end_state["x"] == pytest.approx(math.exp(-4.0), rel=1e-12)
    locked = {slider.name: slider.locked for slider in found.sliders if slider.locked}
    assert set(locked) == {"width", "area"}
    assert "area would follow from width by code that is not here" in locked["width"]
