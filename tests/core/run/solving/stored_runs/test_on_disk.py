"""What a run leaves on disk, and what can be asked of it, is the run in memory bit for bit."""

import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.storage import (
    Stored,
)
from daesolve.core.results.trajectory.results import Outcome
from daesolve.errors import OutOfRangeError
from tests.core.run.solving.stored_runs.runs import alike, interrupting, swing
from tests.hybrid_systems import bouncing_ball
from tests.systems import pendulum


@pytest.mark.slow
@pytest.mark.slow_rows("even", "events", "listed")
@pytest.mark.parametrize(
    "at",
    [None, ds.every(0.07), ds.every_event(), [3.0, 0.0, 3.0, 9.99]],
    ids=["even", "interval", "events", "listed"],
)
def test_a_stored_run_is_the_run_in_memory_bit_for_bit(tmp_path, at):
    system = pendulum(events=lambda q, p: [ds.Event("bottom", q.x, ds.EITHER)])
    options = {"until": 10.0, "initial": {"x": -1.0}, "at": at}
    stored = ds.solve(system, store=tmp_path / "run", **options)
    assert alike(stored, ds.solve(system, **options))
    assert stored.event_count > 5
    assert alike(ds.Trajectory.from_run(tmp_path / "run"), stored)


def test_samples_at_events_lie_at_the_events_and_at_both_ends(tmp_path):
    run = swing(
        tmp_path / "run", system=bouncing_ball(), initial={"y": 1.0}, at=ds.every_event(), until=4.0
    )
    times = [event.time for event in run.events]
    assert len(times) > 5
    assert run.times.tolist() == [0.0, *times, 4.0]
    assert max(abs(run["y"][1:-1])) < 1e-14


def test_a_part_has_states_outputs_reactions_and_signed_residuals(tmp_path):
    run = swing(tmp_path / "run", until=2.0)
    table = Stored(tmp_path / "run").table()
    assert table.column_names == [
        "t", "x", "y", "x_dot", "y_dot", "energy", "reaction_rod",
        "residual_rod", "residual_rod_dot", "residual_energy",
    ]  # fmt: skip
    x, y = run["x"], run["y"]
    residual = table.column("residual_rod").to_numpy()
    assert np.max(np.abs(residual - (x**2 + y**2 - 1.0))) < 1e-15
    assert min(residual) < 0.0


@pytest.mark.slow
def test_any_time_of_a_stored_run_can_be_asked_for(tmp_path):
    run, plain = swing(tmp_path / "run"), ds.solve(pendulum(), 10.0, {"x": -1.0})
    for moment in (0.0, 0.3, 1.0, 4.9999, 5.0, 9.7, 10.0):
        assert run.at(moment).values == plain.at(moment).values
    with pytest.raises(OutOfRangeError, match="covers 0 to 10 s"):
        run.at(11.0)
    with pytest.raises(OutOfRangeError, match="resume"):
        ds.Trajectory.from_run(tmp_path / "run").at(1.0)


@pytest.mark.slow
def test_a_run_backwards_is_stored_in_its_own_direction(tmp_path):
    run = swing(tmp_path / "run", interrupting(4.0), until=-6.0)
    assert run.outcome is Outcome.INTERRUPTED
    run = ds.resume(tmp_path / "run", source=pendulum())
    plain = ds.solve(pendulum(), -6.0, {"x": -1.0}, at=ds.every(0.1))
    assert alike(run, plain)
    assert run.times[0] == 0.0
    assert run.times[-1] == -6.0


@pytest.mark.slow
def test_a_stored_run_becomes_tables_with_units(tmp_path):
    run = swing(tmp_path / "run", until=2.0)
    table = run.to_pandas()
    assert table.index.name == "t"
    assert table["x"].to_numpy().tolist() == run["x"].tolist()
    assert table["reaction_rod"].to_numpy().tolist() == run.reactions["rod"].tolist()
    data = run.to_xarray()
    assert data["x_dot"].attrs["units"] == "m/s"
    assert data["t"].attrs["units"] == "s"


@pytest.mark.slow
def test_no_series_is_lost_in_a_table_where_names_meet(tmp_path):
    system = pendulum(outputs={"reaction_rod": (ds.time, "s")})
    for run in (swing(tmp_path / "run", system=system), ds.solve(system, 1.0, {"x": -1.0})):
        table = run.to_pandas()
        assert table["reaction_rod"].to_numpy().tolist() == run.outputs["reaction_rod"].tolist()
        forces = table["reaction_reaction_rod"].to_numpy().tolist()
        assert forces == run.reactions["rod"].tolist()


@pytest.mark.slow
def test_a_thinned_run_keeps_the_first_and_the_last_sample(tmp_path):
    stored, plain = (
        swing(tmp_path / "run"),
        ds.solve(pendulum(), 10.0, {"x": -1.0}, at=ds.every(0.1)),
    )
    for rows in (2, 7, 50, 101, 1000):
        thin, other = stored.thinned(rows), plain.thinned(rows)
        assert len(thin.times) <= rows
        assert (thin.times[0], thin.times[-1]) == (0.0, 10.0)
        assert np.array_equal(thin["x"], other["x"])
        assert np.array_equal(
            thin["x"], [plain.states["x"][list(plain.times).index(t)] for t in thin.times]
        )


AGAIN = {
    "projected-lsoda": {"formulation": ds.Projected(), "solver": ds.Lsoda()},
    "index-1-idas": {"formulation": ds.Index1(), "solver": ds.Idas()},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", AGAIN.values(), ids=AGAIN)
def test_any_time_of_a_stored_run_is_that_of_the_run_in_memory_bit_for_bit(tmp_path, options):
    run, plain = swing(tmp_path / "run", **options), swing(None, **options)
    for moment in (0.0, 0.3, 1.25, 5.0, 10.0):
        assert run.at(moment) == plain.at(moment)


@pytest.mark.slow
def test_a_thinned_run_keeps_the_order_in_which_times_were_listed(tmp_path):
    times = [3.0, 0.0, 3.0, 1.9, 0.5, 1.0]
    stored, plain = swing(tmp_path / "run", at=times), swing(None, at=times)
    for rows in (2, 3, 6):
        thin, other = stored.thinned(rows), plain.thinned(rows)
        assert thin.times.tolist() == other.times.tolist()
        assert thin["x"].tolist() == other["x"].tolist()
        assert (thin.times[0], thin.times[-1]) == (3.0, 1.0)


NUMBERS = {
    "until": {"until": np.float32(3.3), "at": ds.every(np.float64(0.1))},
    "parameter": {"until": 3.0, "parameters": {"mass": Fraction(3, 2)}},
    "start": {"until": 3.0, "initial": {"x": np.longdouble(-1.0), "x_dot": Decimal("0")}},
    "goal's name": {"until": 3.0, "formulation": ds.Feedback(rates={"settings": 3.0})},
}


@pytest.mark.slow_rows("goal's name", "start")
@pytest.mark.parametrize("options", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_any_type_are_stored_and_gone_on_with(tmp_path, options):
    system = pendulum()
    if "formulation" in options:
        q = ds.coordinates(x="m", y="m")
        system = ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            potential=9.81 * q.y,
            goals=[ds.Holonomic("settings", q.x**2 + q.y**2 - 1)],
        )
    swing(tmp_path / "run", interrupting(1.2), system, **options)
    assert alike(ds.resume(tmp_path / "run", source=system), swing(None, None, system, **options))


@pytest.mark.slow
def test_a_run_stays_where_it_is_when_the_working_directory_changes(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    run = swing("run", lambda *_: os.chdir(tmp_path / "elsewhere"))
    assert run.outcome is Outcome.COMPLETED
    assert run.times[-1] == run.at(10.0).time == 10.0
    assert not list((tmp_path / "elsewhere").iterdir())
