"""The numbers of live pages against `ds.solve`, outside of a browser but with the same module."""

from __future__ import annotations

import base64
import gzip
import json
import re

import numpy as np
import pytest

import daesolve as ds
from daesolve.reporting.live.checking import TOLERANCE
from daesolve.reporting.live.compiling import compiled
from daesolve.reporting.live.drawings import live_drawing
from daesolve.reporting.live.page import live
from daesolve.reporting.live.posing import live_run
from daesolve.reporting.live.running import Machine

from .pendulum import END, PENDULUM, START, run

pytest.importorskip("ziglang", reason="the compiler of live pages is not installed")
pytest.importorskip("wasmtime", reason="the engine that checks live pages is not installed")

pytestmark = pytest.mark.slow
SAME = 1e-11
"""What a page promises, relative to the largest value of each state, at least 1."""
ADDED = 250_000
"""Bytes that a page may add."""


@pytest.fixture(scope="module")
def known():
    return live_run(run())


@pytest.fixture(scope="module")
def module(known):
    return compiled(known, live_drawing(known))


def ends(known, module, given=(), end=END, kept=()):
    """Return the end of a motion with other values, by name."""
    sliders = {(slider.kind, slider.name): slider.reference for slider in known.sliders}
    values = {sliders[name]: value for name, value in dict(given).items()}
    with Machine(module) as machine:
        row = machine.rows((0.0, end), 7, TOLERANCE, values, kept)[-1]
    return dict(zip([state.name for state in known.states], row[1:], strict=False))


def test_other_parameters_and_inputs_give_the_motion_that_solve_gives(known, module):
    # The start follows: y of the rod's length, and the impacts come at other times.
    given = {("parameter", "length"): 1.2, ("parameter", "gravity"): 7.0, ("input", "wind"): 0.8}
    assert known.kept == [1]
    found = ends(known, module, given, kept=known.kept)
    other = run(parameters={"length": 1.2, "gravity": 7.0}, inputs={"wind": 0.8})
    assert other.event_count > 2
    for name, value in found.items():
        assert value == pytest.approx(other.end_state[name], abs=SAME * 10)


def test_another_start_is_made_consistent_and_moves_as_solve_moves_it(known, module):
    given = {("start", "x"): 0.5, ("start", "x_dot"): 0.3}
    found = ends(known, module, given)
    other = ds.solve(
        PENDULUM, END, {"x": 0.5, "x_dot": 0.3}, guess={"y": -0.4}, inputs={"wind": 0.0}
    )
    for name, value in found.items():
        assert value == pytest.approx(other.end_state[name], abs=SAME * 10)


def test_a_page_is_checked_when_it_is_made_and_says_what_was_found(known):
    page = live(known.run)
    assert page.difference < SAME
    assert re.search(r"when this page was made: at\s+t = 5 s its motion is\s+\S+", page.text)
    assert "<strong>" not in page.text.split('id="trust"')[1].split("</section>")[0]
    assert len(page.text.encode()) < ADDED
    assert page.name in repr(page)


def test_the_page_says_how_far_it_is_from_a_run_that_is_elsewhere(known):
    from dataclasses import replace

    end = {**known.run.end_state, "x": known.run.end_state["x"] + 1e-6}
    page = live(replace(known.run, end_state=end))
    assert page.difference == pytest.approx(1e-6, rel=1e-3)
    assert "<strong>1e-6 from the stored run</strong>" in page.text
    # Another solver ends where the run did, before its end was moved.
    assert "Repeated with another solver, the run itself ends 1e-6 away." in page.text


def test_the_module_in_the_page_needs_nothing_from_outside(known):
    import wasmtime

    data = json.loads(re.search(r'id="live"[^>]*>(.*?)</script>', live(known.run).text, re.S)[1])
    module = gzip.decompress(base64.b64decode(data["module"]))
    assert list(wasmtime.Module(wasmtime.Engine(), module).imports) == []
    assert not re.search(r"https?://(?!www\.w3\.org)", live(known.run).text)


def test_refusals_are_the_sentences_of_the_unit(known, module):
    with pytest.raises(ds.errors.UnsupportedError, match="no start with the given values"):
        ends(known, module, {("start", "x"): 2.0})
    with pytest.raises(ds.errors.UnsupportedError, match="mass is -1, beyond its range"):
        ends(known, module, {("parameter", "mass"): -1.0})


def test_another_number_in_an_input_gives_the_motion_that_solve_gives():
    known = live_run(run(inputs={"wind": "0.2 * sin(3 * t)"}))
    module = compiled(known, live_drawing(known))
    given = {("input", "wind_number_1"): 0.5, ("input", "wind_number_2"): 2.0}
    found = ends(known, module, given, kept=known.kept)
    other = run(inputs={"wind": "0.5 * sin(2 * t)"})
    for name, value in found.items():
        assert value == pytest.approx(other.end_state[name], abs=SAME * 10)


def test_derived_values_follow_in_the_page():
    case = ds.problem("omni-rolling").case("twist")
    known = live_run(case.solve(10.0))
    module = compiled(known, live_drawing(known))
    found = ends(known, module, {("parameter", "platform_mass"): 1.3}, 10.0)
    other = case.changed({"platform_mass": 1.3}).solve(10.0)
    largest = [max(1.0, float(np.max(np.abs(other.states[name])))) for name in found]
    off = [abs(found[name] - other.end_state[name]) for name in found]
    assert max(np.array(off) / largest) < SAME
    fixed = {slider.name for slider in known.sliders if slider.locked}
    assert fixed == {
        *("wheel_radius", "total_mass", "vehicle_inertia", "wheel_inertia"),
        *("roller_inertia", "velocity_scale"),
    }


def test_a_start_value_of_the_run_is_that_of_the_page(known):
    assert dict(START)["x"] == next(one.value for one in known.sliders if one.name == "x")


def test_what_a_drawing_adds_up_over_events_follows_another_motion():
    """The way of the walker's foot on another slope is the sum of its strides there."""
    case = ds.problem("walker").case("long")
    known = live_run(case.solve(20.0))
    drawing = live_drawing(known)
    (slope,) = [slider.reference for slider in known.sliders if slider.name == "slope"]
    with Machine(compiled(known, drawing)) as machine:
        row = machine.rows((0.0, 20.0), 9, TOLERANCE, {slope: 0.0095})[-1]
    other = case.changed({"slope": 0.0095}).solve(20.0)
    strides = [
        2.0 * np.sin(event.after["theta"]) for event in other.events if event.name == "heel_strike"
    ]
    assert len(strides) > 3
    drawn = dict(zip(drawing.columns, row[len(row) - len(drawing.columns) :], strict=True))
    assert drawn["foot_x"] == pytest.approx(sum(strides) * np.cos(0.0095), rel=1e-10)


class _Metered(Machine):
    """The module, which counts its instructions."""

    def __init__(self, module):
        import wasmtime

        config = wasmtime.Config()
        config.consume_fuel = True
        engine = wasmtime.Engine(config)
        self._store = wasmtime.Store(engine)
        self._store.set_fuel(10**13)
        instance = wasmtime.Instance(self._store, wasmtime.Module(engine, module), [])
        self._exports = instance.exports(self._store)
        self._memory = self._exports["memory"]
        self._call("_initialize")

    def work(self, tolerance):
        before = self._store.get_fuel()
        self.rows((0.0, 4.0), 1, tolerance)
        return before - self._store.get_fuel()


def test_rounding_of_rates_does_not_cut_steps():
    """A block that sticks and slips turns by nothing but rounding, which no step makes smaller.

    Were that an error of steps, their lengths would go with the tolerance: 67 times as many.
    """
    known = live_run(ds.problem("block-on-belt").case("stick-slip").solve(4.0))
    with _Metered(compiled(known, live_drawing(known))) as machine:
        assert machine.work(3e-15) < 67.0 / 3.0 * machine.work(2e-13)
