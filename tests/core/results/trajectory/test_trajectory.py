"""What a trajectory tells of itself in a terminal."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.trajectory.results import Drift, Verification
from daesolve.errors import OutOfRangeError, UnknownNameError


def told(size, last=0.0, *, driven=True):
    return Drift(driven, size, size, last, 1.0, 0.0, None)


@pytest.fixture(scope="module")
def run():
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    pendulum = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod])
    return ds.solve(pendulum, until=0.1, initial={"x": 1.0}, guess={"y": 0.0})


def test_printed_it_tells_how_it_ended_and_the_residuals_farthest_first(run):
    run = replace(
        run,
        message="why",
        event_count=3,
        drift={"a": told(1e-16), "long": told(2e-9, 1e-12, driven=False), "b": told(float("nan"))},
    )
    assert str(run).splitlines() == [
        f"feedback with {run.description['solver']}: completed at t = 0.1 s",
        "why",
        "      largest     last  residual over its scale",
        "b         nan  0.0e+00  driven",
        "long  2.0e-09  1.0e-12  measured",
        "a     1.0e-16  0.0e+00  driven",
        "events: 3",
    ]


def test_printed_it_tells_which_start_values_were_moved_and_those_alone_that_went_far(run):
    """So a body that is declared above a contact that counts as closed does not fall in silence."""
    start = {"ball_z": (1.1, 0.1), "x": (0.0, 2e-10), "y": (5.0, 8.0)}
    line = str(replace(run, start=start, units={"ball_z": "m"})).splitlines()[1]
    assert line == "the start was moved: y from 5 to 8, ball_z from 1.1 to 0.1 m"
    many = {f"x_{k}": (0.0, 1.0 + k) for k in range(6)}
    line = str(replace(run, start=many)).splitlines()[1]
    assert line.endswith(
        "x_5 from 0 to 6, x_4 from 0 to 5, x_3 from 0 to 4, x_2 from 0 to 3, 2 more"
    )
    assert "moved" not in str(replace(run, start={}))


def test_of_many_residuals_thirty_are_printed_and_the_rest_counted(run):
    many = {f"goal_{number}": told(number * 1e-16) for number in range(400)}
    lines = str(replace(run, drift=many)).splitlines()
    assert [line.split()[0] for line in lines[2:-1]] == [f"goal_{399 - k}" for k in range(30)]
    assert lines[-1] == "and 370 more"
    assert len(repr(replace(run, drift=many))) < 100


def test_printed_it_tells_the_largest_difference_of_a_repeated_run_in_each_unit(run):
    found = Verification("taylor", {"x": 1e-12, "y": 3e-12, "x_dot": 2e-11, "y_dot": 1e-11}, None)
    verified = replace(run, verification=found)
    last = str(verified).splitlines()[-1]
    assert last == "against taylor: largest difference 3.0e-12 m, 2.0e-11 m/s"
    lost = replace(found, difference={"x": float("nan"), "y": 1e-12})
    assert str(replace(run, verification=lost)).endswith("unknown in m")
    stopped = replace(run, verification=replace(found, interrupted=True))
    assert str(stopped).endswith("taylor: not verified, because the repetition was interrupted")


UNKNOWN = {
    "drift": (lambda run: run.drift["enrgy"], "residual in the drift 'enrgy': did you mean 'energ"),
    "the run": (lambda run: run["y_dott"], "state, reaction or output 'y_dott': did you mean 'y_d"),
    "states": (lambda run: run.states["y_dott"], "state 'y_dott': did you mean 'y_dot'"),
    "reactions": (lambda run: run.reactions["rodd"], "reaction 'rodd': did you mean 'rod'"),
    "outputs": (lambda run: run.outputs["z"], "output 'z': there are 'energy'"),
    "peaks": (lambda run: run.peaks["z"], "output 'z': there are none"),
    "a point": (lambda run: run.at(0.05)["xx"], "state, reaction or output 'xx': did you mean 'x'"),
    "a point's values": (lambda run: run.at(0.05).values["rodd"], "'rodd': did you mean 'rod'"),
    "the end": (lambda run: run.end_state["xx"], "state 'xx': did you mean 'x'"),
    "the start": (lambda run: run.start["xx"], "changed start value 'xx'"),
    "units": (lambda run: run.units["rodd"], "'rodd': did you mean 'rod'"),
    "the grip": (lambda run: run.conditioning["rodd"], "goal 'rodd': did you mean 'rod'"),
    "what was run": (lambda run: run.description["solvr"], "'solvr': did you mean 'solver'"),
    "an event": (lambda run: run.events[0].detail["xx"], "state 'xx': did you mean 'x'"),
    "a repetition": (lambda run: run.verification.difference["xx"], "'xx': did you mean 'x'"),
}  # fmt: skip


@pytest.fixture(scope="module")
def full():
    """A run that has something in each of its dictionaries."""
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[rod],
        events=[ds.Event("level", q.y + 0.01, then=ds.Record())],
    )
    return ds.solve(system, until=0.1, initial={"x": 1.0}, guess={"y": 0.0}, verify=True)


@pytest.mark.slow_rows("drift")
@pytest.mark.parametrize("place", UNKNOWN)
def test_a_name_that_is_missing_is_reported_with_the_nearest_ones(full, place):
    index, words = UNKNOWN[place]
    with pytest.raises(UnknownNameError) as caught:
        index(full)
    assert isinstance(caught.value, KeyError)
    assert str(caught.value).startswith("unknown ")  # no quotes around, as a KeyError has
    assert words in str(caught.value)


def test_what_is_given_by_names_is_a_dictionary_as_ever(full):
    end = full.end_state
    assert end.get("wrong") is None
    assert "wrong" not in end
    assert "x" in end
    assert json.loads(json.dumps(end)) == end == dict(end)
    copied = pickle.loads(pickle.dumps(end))
    assert copied == end
    with pytest.raises(UnknownNameError, match="state 'xx': did you mean 'x'"):
        copied["xx"]


def test_a_run_and_a_point_tell_which_names_they_have(full):
    names = ("t", "x", "y_dot", "rod", "energy")
    assert all(name in full for name in names)
    assert all(name in full.at(0.05) for name in names[1:])
    assert "wrong" not in full
    assert "wrong" not in full.at(0.05)


def same(one, other):
    """Whether two runs tell the same, to the last bit."""
    series = ("states", "reactions", "outputs")
    return str(one) == str(other) and all(
        list(getattr(one, kind)) == list(getattr(other, kind))
        and all(np.array_equal(getattr(one, kind)[n], getattr(other, kind)[n]) for n in names)
        for kind in series
        for names in [list(getattr(one, kind))]
    )


def test_pickled_it_keeps_all_but_what_integrates_anew(full):
    found = pickle.loads(pickle.dumps(full))
    assert same(found, full)
    assert np.array_equal(found.times, full.times)
    assert found.events == full.events
    assert len(found.events) > 0
    for name in ("drift", "end_state", "description", "statistics", "verification", "outcome"):
        assert getattr(found, name) == getattr(full, name)
    with pytest.raises(OutOfRangeError, match=r"pickled.*daesolve.resume\(DIR\)"):
        found.at(0.05)
    with pytest.raises(UnknownNameError, match="did you mean 'energy'"):
        found.drift["enrgy"]


def test_copied_in_a_process_it_is_integrated_anew_as_before(full):
    assert copy.copy(full).at(0.05) == full.at(0.05)
    assert copy.deepcopy(full).at(0.05) == full.at(0.05)
    assert copy.deepcopy(full).end_state is not full.end_state


def test_a_run_on_disk_is_pickled_by_its_place(tmp_path):
    run = ds.problem("pendulum").case().solve(0.2, store=tmp_path / "run")
    sent = pickle.dumps(run)
    assert len(sent) < 100_000
    found = pickle.loads(sent)
    assert same(found, run)
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    with pytest.raises(ds.DaesolveError):
        found["x"]


@pytest.mark.long
def test_another_process_sends_its_run_back():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as others:
        sent = others.submit(swing, 9.0).result()
    assert same(sent, swing(9.0))


def swing(gravity):
    return ds.problem("pendulum").case(gravity=gravity).solve(0.2, solver="dop853")


def test_the_notes_of_a_run_are_those_of_its_description(run):
    assert isinstance(run.notes, tuple)
    assert list(run.notes) == run.description["notes"]
    assert replace(run, description={}).notes == ()
