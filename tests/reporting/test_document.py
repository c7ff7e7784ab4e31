import json
import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.results.trajectory.results import EventRecord, Impact
from daesolve.errors import DaesolveError
from daesolve.reporting import ReportError, document, dump, load, without_series
from daesolve.reporting.document import EVENTS_WITH_STATES, plain
from tests.reporting.conftest import IDENTITY

CONTRACT = [
    *("problem", "case", "model", "structure", "parameters", "formulation", "solver", "rates"),
    *("tolerances", "versions", "outcome", "message", "end_time", "times", "states", "reactions"),
    *("outputs", "drift", "events", "event_count", "verification", "statistics"),
]
DRIFT = [
    *("driven", "max_abs", "max_relative", "final_relative", "scale", "correction"),
    *("growth_exponent", "note"),
]
VERIFICATION = [*("against", "difference", "lyapunov_time", "growth", "apart_from")]
STATISTICS = [
    *("steps", "rhs_evaluations", "compile_seconds", "compile_cached", "wall_seconds"),
    "instructions",
]
ADDED = [
    *("start_time", "until", "notes", "start_changes", "end_state", "derived", "units"),
    *("drift_history", "parameter_units", "conditioning", "peaks", "path", "asked", "degeneracy"),
    *("impact", "inputs", "continues", "audit", "certificate"),
]


def with_events(run, events):
    samples = replace(run.samples, events=tuple(events))
    return replace(run, samples=samples, event_count=len(events))


@pytest.mark.slow
@pytest.mark.core
def test_keys_of_the_contract_in_their_order(told):
    assert list(told) == CONTRACT + ADDED
    assert list(told["statistics"]) == STATISTICS
    assert list(told["drift"]) == ["rod", "rod_dot", "energy"]
    for entry in told["drift"].values():
        assert list(entry) == DRIFT
    assert list(told["verification"]) == VERIFICATION
    assert {"daesolve", "casadi", "numpy", "scipy", "python"} <= set(told["versions"])


def test_identity_may_be_absent(run):
    told = document(run, {})
    assert [told[key] for key in ("problem", "case", "model")] == [None] * 3
    assert told["structure"] == {}


def test_numbers_are_those_of_the_run(run, told):
    again = json.loads(dump(told))
    for name, values in run.states.items():
        np.testing.assert_array_equal(again["states"][name], values)
    assert again["drift"]["energy"]["max_abs"] == run.drift["energy"].max_abs
    history = again["drift_history"]["energy"]
    assert list(zip(history["times"], history["rms"], strict=True)) == list(
        run.drift["energy"].history
    )


def test_events_and_changes(run):
    event = EventRecord(0.5, "turn", {"x": np.float64(1.0)})
    told = document(
        replace(run, samples=with_events(run, [event]), event_count=1, start={"y": (0.1, 0.0)}),
        IDENTITY,
    )
    assert told["events"] == [{"time": 0.5, "name": "turn", "detail": {"x": 1.0}}]
    assert told["start_changes"] == {"y": {"given": 0.1, "value": 0.0}}


def test_what_is_not_finite_is_null(run):
    x = run.states["x"].copy()
    x[:3] = [math.nan, math.inf, -math.inf]
    broken = replace(run.drift["rod"], max_abs=math.inf, growth_exponent=math.nan)
    told = document(
        replace(
            run, samples=replace(run.samples, states={**run.states, "x": x}), drift={"rod": broken}
        ),
        IDENTITY,
    )
    text = dump(told)
    assert "NaN" not in text
    assert "Infinity" not in text
    again = json.loads(text)
    assert again["states"]["x"][:4] == [None, None, None, x[3]]
    assert again["drift"]["rod"]["max_abs"] is None
    assert again["drift"]["rod"]["growth_exponent"] is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_doubles_read_back_exactly(values):
    for given_as in (values, np.array(values), [np.float64(value) for value in values]):
        again = json.loads(dump(plain({"values": given_as})))["values"]
        assert [value.hex() for value in map(float, again)] == [float(v).hex() for v in values]


def test_report_is_the_object_without_series(told):
    short = without_series(told)
    assert set(told) - set(short) == {"times", "states", "reactions", "outputs"}


@pytest.mark.core
def test_reads_a_run_on_disk(stored):
    run, told = ds.Trajectory.from_run(stored), load(stored)
    for name, values in run.states.items():
        np.testing.assert_array_equal(told["states"][name], values)
    assert told["finished"]
    assert told["samples"] == len(told["times"]) == 401
    assert "opening" not in told
    assert told["drift"]["energy"]["max_abs"] == run.drift["energy"].max_abs


@pytest.mark.parametrize("rows", [2, 41, 100])
def test_of_a_long_run_few_samples_are_kept_evenly_and_the_first_stretch_whole(stored, rows):
    whole, told = load(stored), load(stored, rows)
    assert len(told["times"]) <= rows
    assert (told["times"][0], told["times"][-1]) == (0.0, 4.0)
    places = [whole["times"].index(time) for time in told["times"]]
    assert len(set(np.diff(places)[:-1])) <= 1, "evenly, but for the last"
    for name, values in told["states"].items():
        assert values == [whole["states"][name][place] for place in places]
    opening = told["opening"]
    assert opening["times"] == whole["times"][: len(opening["times"])]
    assert opening["states"]["x"] == whole["states"]["x"][: len(opening["times"])]
    assert told["samples"] == 401


def test_the_opening_is_bounded(stored, monkeypatch):
    monkeypatch.setattr(import_module("daesolve.core.results.trajectory.curves"), "OPENING", 30)
    opening = load(stored, 41)["opening"]
    assert 15 < len(opening["times"]) == len(opening["outputs"]["energy"]) <= 30
    np.testing.assert_allclose(np.diff(opening["times"]), opening["times"][1], rtol=1e-12)


def test_figures_alone_are_not_in_the_report(stored):
    short = without_series(load(stored, 41))
    assert not {"opening", "event_statistics", "directory", "times"} & set(short)
    dump(short)


def test_a_missing_directory_is_reported(tmp_path):
    with pytest.raises(ReportError, match="there is no directory"):
        load(tmp_path / "nowhere")


def test_a_directory_without_a_run_is_reported(tmp_path):
    with pytest.raises(DaesolveError, match="contains no run"):
        load(tmp_path)


def impact(place):
    return EventRecord(
        0.01 * place,
        "knock",
        {"x": float(place), "y": 1.0},
        after={"x": float(place), "y": -1.0, "side": 2.0},
        fired=(0, 2),
        impact=Impact({"rod": 1.0}, 2.0 - 0.001 * place, 1.999 - 0.001 * place, 1e-16),
    )


def test_every_event_is_reported_with_its_states(run):
    events = tuple(impact(place) for place in range(2000))
    told = document(with_events(run, events), IDENTITY)
    assert [event["time"] for event in told["events"]] == [event.time for event in events]
    assert all(event["detail"] and event["after"] for event in told["events"])
    assert told["events"][1000]["impact"]["impulses"] == {"rod": 1.0}


def test_without_series_every_event_is_reported_and_states_are_kept_at_both_ends(run):
    events = tuple(impact(place) for place in range(2000))
    short = without_series(document(with_events(run, events), IDENTITY))
    assert [event["time"] for event in short["events"]] == [event.time for event in events]
    whole = [place for place, event in enumerate(short["events"]) if "after" in event]
    ends = [*range(EVENTS_WITH_STATES), *range(2000 - EVENTS_WITH_STATES, 2000)]
    assert whole == ends
    assert [place for place, event in enumerate(short["events"]) if event["detail"]] == ends
    middle = short["events"][1000]["impact"]
    assert middle == pytest.approx(
        {"kinetic_before": 1.0, "kinetic_after": 0.999, "carnot": 1e-16}, rel=1e-12
    )
    assert len(dump(short["events"])) < 200 * 2000


def test_an_event_that_resets_nothing_is_reported_as_it_was(run):
    told = document(with_events(run, [EventRecord(1.0, "turn", {"x": 1.0})]), IDENTITY)
    assert told["events"] == [{"time": 1.0, "name": "turn", "detail": {"x": 1.0}}]
