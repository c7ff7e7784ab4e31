import errno
import json
import os
import signal
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import daesolve as ds
from daesolve import monitors, preparation, stored_runs, verification
from daesolve.archive import (
    ArchiveError,
    FormatError,
    LockedRunError,
    MissingCheckpointError,
    NotARunError,
    StorageError,
    Stored,
    Writer,
    files,
)
from daesolve.errors import NotResumableError, OutOfRangeError, OutputExistsError, UnsupportedError
from daesolve.results import Outcome
from daesolve.sampling import Schedule

from .hybrid_systems import bouncing_ball, peg_pendulum, thermostat
from .systems import pendulum

SEGMENT = 0.5


@pytest.fixture(autouse=True)
def _short_segments(monkeypatch):
    """Let a run of seconds have many parts."""
    monkeypatch.setattr(preparation, "segment_length", lambda *_, **__: SEGMENT)
    monkeypatch.setattr(stored_runs, "segments_per_part", lambda *_: 2)


def tables(directory):
    """Return the content of every finished part, byte by byte."""
    found = {}
    for kind in ("samples", "events"):
        for file in sorted(Path(directory, kind).glob("*.parquet")):
            found[f"{kind}/{file.name}"] = file.read_bytes()
    return found


def interrupting(after):
    """Return a progress that presses Ctrl-C once the run has come so far."""
    pressed = []

    def progress(time, monitor, events):
        if abs(time) >= after and not pressed:
            pressed.append(time)
            os.kill(os.getpid(), signal.SIGINT)

    return progress


def swing(directory, progress=None, system=None, **options):
    options = {"until": 10.0, "initial": {"x": -1.0}, "at": ds.every(0.1), **options}
    return ds.solve(system or pendulum(), store=directory, progress=progress, **options)


def alike(run, other):
    """Tell whether two runs have the same samples, events and drift in every bit."""
    return (
        np.array_equal(run.times, other.times)
        and all(np.array_equal(run.states[n], other.states[n]) for n in other.states)
        and all(np.array_equal(run.reactions[n], other.reactions[n]) for n in other.reactions)
        and all(np.array_equal(run.outputs[n], other.outputs[n]) for n in other.outputs)
        and tuple(run.events) == tuple(other.events)
        and run.drift == other.drift
        and run.end_state == other.end_state
    )


# -- what is on disk ------------------------------------------------------------------------------


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


def test_any_time_of_a_stored_run_can_be_asked_for(tmp_path):
    run, plain = swing(tmp_path / "run"), ds.solve(pendulum(), 10.0, {"x": -1.0})
    for moment in (0.0, 0.3, 1.0, 4.9999, 5.0, 9.7, 10.0):
        assert run.at(moment).values == plain.at(moment).values
    with pytest.raises(OutOfRangeError, match="covers 0 to 10 s"):
        run.at(11.0)
    with pytest.raises(OutOfRangeError, match="resume"):
        ds.Trajectory.from_run(tmp_path / "run").at(1.0)


def test_a_run_backwards_is_stored_in_its_own_direction(tmp_path):
    run = swing(tmp_path / "run", interrupting(4.0), until=-6.0)
    assert run.outcome is Outcome.INTERRUPTED
    run = ds.resume(tmp_path / "run", source=pendulum())
    plain = ds.solve(pendulum(), -6.0, {"x": -1.0}, at=ds.every(0.1))
    assert alike(run, plain)
    assert run.times[0] == 0.0
    assert run.times[-1] == -6.0


def test_a_stored_run_becomes_tables_with_units(tmp_path):
    run = swing(tmp_path / "run", until=2.0)
    table = run.to_pandas()
    assert table.index.name == "t"
    assert table["x"].to_numpy().tolist() == run["x"].tolist()
    assert table["reaction_rod"].to_numpy().tolist() == run.reactions["rod"].tolist()
    data = run.to_xarray()
    assert data["x_dot"].attrs["units"] == "m/s"
    assert data["t"].attrs["units"] == "s"


def test_no_series_is_lost_in_a_table_where_names_meet(tmp_path):
    system = pendulum(outputs={"reaction_rod": (ds.time, "s")})
    for run in (swing(tmp_path / "run", system=system), ds.solve(system, 1.0, {"x": -1.0})):
        table = run.to_pandas()
        assert table["reaction_rod"].to_numpy().tolist() == run.outputs["reaction_rod"].tolist()
        forces = table["reaction_reaction_rod"].to_numpy().tolist()
        assert forces == run.reactions["rod"].tolist()


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


@pytest.mark.parametrize("options", AGAIN.values(), ids=AGAIN)
def test_any_time_of_a_stored_run_is_that_of_the_run_in_memory_bit_for_bit(tmp_path, options):
    run, plain = swing(tmp_path / "run", **options), swing(None, **options)
    for moment in (0.0, 0.3, 1.25, 5.0, 10.0):
        assert run.at(moment) == plain.at(moment)


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


def test_a_run_stays_where_it_is_when_the_working_directory_changes(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    run = swing("run", lambda *_: os.chdir(tmp_path / "elsewhere"))
    assert run.outcome is Outcome.COMPLETED
    assert run.times[-1] == run.at(10.0).time == 10.0
    assert not list((tmp_path / "elsewhere").iterdir())


# -- interrupted, and gone on with ----------------------------------------------------------------

CASES = {
    "feedback": (pendulum, {"initial": {"x": -1.0}}),
    "charts": (pendulum, {"formulation": ds.NullSpace(), "initial": {"x": -1.0}}),
    "projected": (pendulum, {"formulation": ds.Projected(), "initial": {"x": -1.0}}),
    "dop853": (pendulum, {"solver": ds.Dop853(), "initial": {"x": -1.0}}),
    "radau": (pendulum, {"solver": ds.RadauIIA(rtol=1e-6, atol=1e-6), "initial": {"x": -1.0}}),
    "lsoda": (pendulum, {"solver": ds.Lsoda(), "initial": {"x": -1.0}}),
    "cvodes": (pendulum, {"solver": ds.Cvodes(), "initial": {"x": -1.0}}),
    "idas": (pendulum, {"solver": ds.Idas(), "formulation": ds.Index1(), "initial": {"x": -1.0}}),
    "sundae": (
        pendulum,
        {"solver": ds.SundaeIda(), "formulation": ds.GGL(), "initial": {"x": -1.0}},
    ),
    "impacts": (bouncing_ball, {"initial": {"y": 1.0}}),
    "impacts-dop853": (bouncing_ball, {"initial": {"y": 1.0}, "solver": ds.Dop853()}),
    "switches": (peg_pendulum, {"initial": {"theta": -1.0}}),
    "control": (thermostat, {}),
}


SELDOM = ("charts", "radau", "lsoda", "idas", "sundae", "impacts-dop853", "control")


@pytest.mark.parametrize(
    "case",
    [pytest.param(n, marks=pytest.mark.slow) if n in SELDOM else n for n in CASES],
)
def test_a_run_that_was_interrupted_goes_on_as_if_it_had_not_been(tmp_path, case):
    build, options = CASES[case]
    system = build()
    options = {"until": 6.0, "at": ds.every(0.1), **options}
    names = system.dynamics.labels.states
    options["initial"] = {n: v for n, v in options.get("initial", {}).items() if n in names}
    whole = ds.solve(system, store=tmp_path / "whole", **options)
    assert whole.outcome is Outcome.COMPLETED, whole.message
    broken = ds.solve(system, store=tmp_path / "broken", progress=interrupting(3.4), **options)
    assert broken.outcome is Outcome.INTERRUPTED
    assert broken.times[-1] == pytest.approx(3.5, abs=0.11)
    assert "daesolve resume" in broken.message
    assert (tmp_path / "broken/samples/000004.parquet.partial").is_file()
    run = ds.resume(tmp_path / "broken", source=system)
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")
    assert alike(run, whole)
    assert run.statistics.steps == whole.statistics.steps
    assert not list(tmp_path.glob("broken/*/*.partial"))


def test_a_passage_of_lost_rank_is_gone_on_with(tmp_path):
    case = ds.problem("four-bar").case()
    options = {"until": 6.0, "at": ds.every(0.1)}
    whole = case.solve(store=tmp_path / "whole", **options)
    assert any("lose rank" in note for note in whole.description["notes"])
    case.solve(store=tmp_path / "broken", progress=interrupting(2.4), **options)
    run = ds.resume(tmp_path / "broken")
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")
    assert alike(run, whole)
    assert run.description == whole.description


def test_a_part_is_gone_on_with_many_times(tmp_path):
    whole = swing(tmp_path / "whole")
    swing(tmp_path / "broken", interrupting(0.2))
    for after in (0.7, 2.1, 2.2, 6.0):
        run = ds.resume(tmp_path / "broken", source=pendulum(), progress=interrupting(after))
        assert run.outcome is Outcome.INTERRUPTED
    run = ds.resume(tmp_path / "broken", source=pendulum())
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")
    assert alike(run, whole)


def test_verification_is_made_up_for_when_a_run_goes_on(tmp_path):
    whole = swing(tmp_path / "whole", verify=True)
    swing(tmp_path / "broken", interrupting(5.0), verify=True)
    run = ds.resume(tmp_path / "broken", source=pendulum())
    assert run.verification == whole.verification
    assert run.verification is not None
    assert ds.Trajectory.from_run(tmp_path / "broken").verification == whole.verification


def test_a_verification_that_is_interrupted_is_made_up_for(tmp_path, monkeypatch):
    whole = swing(tmp_path / "whole", verify=True)
    with monkeypatch.context() as pressed:
        repeat = verification.simulate
        pressed.setattr(verification, "simulate", lambda p, at: repeat(p, at, interrupting(5.0)))
        run = swing(tmp_path / "run", verify=True)
    assert run.outcome is Outcome.INTERRUPTED
    assert run.verification is None
    assert "daesolve resume" in run.message
    assert ds.resume(tmp_path / "run", source=pendulum()).verification == whole.verification


def test_a_verification_at_events_is_that_of_the_run_in_memory(tmp_path):
    options = {"system": bouncing_ball(), "initial": {"y": 1.0}, "at": ds.every_event()}
    stored = swing(tmp_path / "run", verify=True, until=3.0, **options)
    assert stored.verification == swing(None, verify=True, until=3.0, **options).verification


def test_how_to_go_on_can_be_pasted_into_a_shell(tmp_path):
    run = swing(tmp_path / "a run", interrupting(3.0))
    command = f"`daesolve resume '{tmp_path}/a run'` goes on"
    assert command in run.message
    assert command in ds.Trajectory.from_run(tmp_path / "a run").message


# -- extended -------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [5.0, 5.3, 4.9])
def test_an_extension_changes_nothing_of_what_was_there(tmp_path, first):
    swing(tmp_path / "run", until=first)
    before = tables(tmp_path / "run")
    run = ds.resume(tmp_path / "run", until=10.0, source=pendulum())
    after = tables(tmp_path / "run")
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)
    assert run.outcome is Outcome.COMPLETED
    assert run.end_time == run.times[-1] == 10.0
    assert np.all(np.diff(run.times) > 0.0)
    assert set(np.round(np.arange(0.0, 10.05, 0.1), 9)) <= set(np.round(run.times, 9))
    plain = ds.solve(pendulum(), 10.0, {"x": -1.0})
    assert max(abs(run.at(t)["x"] - plain.at(t)["x"]) for t in (3.0, 7.7, 10.0)) < 1e-12


def test_an_extension_to_a_boundary_is_the_longer_run(tmp_path):
    swing(tmp_path / "short", until=5.0)
    run = ds.resume(tmp_path / "short", until=10.0, source=pendulum())
    assert alike(run, swing(tmp_path / "long"))
    assert tables(tmp_path / "short") == tables(tmp_path / "long")


def test_an_extension_that_is_interrupted_goes_on(tmp_path):
    for name in ("whole", "broken"):
        swing(tmp_path / name, until=4.3)
    whole = ds.resume(tmp_path / "whole", until=10.0, source=pendulum())
    ds.resume(tmp_path / "broken", until=10.0, source=pendulum(), progress=interrupting(7.2))
    assert ds.Trajectory.from_run(tmp_path / "broken").outcome is Outcome.INTERRUPTED
    run = ds.resume(tmp_path / "broken", source=pendulum())
    assert alike(run, whole)
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")


@pytest.mark.parametrize("longer", [1e-9, 1e-13])
def test_the_smallest_extension_has_its_end_as_a_sample(tmp_path, longer):
    swing(tmp_path / "run", until=2.0)
    run = ds.resume(tmp_path / "run", until=2.0 + longer, source=pendulum())
    assert run.times[-1] == run.end_time == 2.0 + longer
    run = ds.resume(tmp_path / "run", until=3.0, source=pendulum())
    assert np.all(np.diff(run.times) > 0.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_extension_asks_for_no_sample_before_its_start(sign):
    """The grid's last time before 1e5 + 1e-8 is nearer to it than the end of a run may be."""
    after = sign * (1e5 + 1e-8)
    schedule = Schedule(ds.every(0.1), 0.0, sign * (1e5 + 1.0), after)
    assert abs(schedule.up_to(0, sign * (1e5 + 0.5))[0]) == pytest.approx(1e5 + 0.1, rel=1e-12)


@pytest.mark.parametrize("step", ["rewrite_manifest", "remove_result"])
def test_an_extension_that_is_killed_at_once_has_no_result_of_the_shorter_run(
    tmp_path, monkeypatch, step
):
    def killed(*_):
        raise KeyboardInterrupt

    swing(tmp_path / "run", until=2.0)
    with monkeypatch.context() as kill:
        kill.setattr(Writer, step, killed)
        with pytest.raises(KeyboardInterrupt):
            ds.resume(tmp_path / "run", until=4.0, source=pendulum())
    run = ds.resume(tmp_path / "run", source=pendulum())
    assert run.end_time == run.times[-1] == Stored(tmp_path / "run").manifest["horizons"][-1]


def test_what_cannot_be_extended_says_why(tmp_path):
    swing(tmp_path / "run", until=3.0)
    with pytest.raises(OutOfRangeError, match="goes to 3 s"):
        ds.resume(tmp_path / "run", until=2.0, source=pendulum())
    system = pendulum(events=lambda q, p: [ds.Event("bottom", q.x, ds.RISING, ds.Stop())])
    stopped = swing(tmp_path / "stopped", system=system)
    assert stopped.outcome is Outcome.STOPPED_BY_EVENT
    again = ds.resume(tmp_path / "stopped", source=system)
    assert (again.outcome, again.message) == (stopped.outcome, stopped.message)
    assert alike(again, stopped)
    with pytest.raises(NotResumableError, match="cannot be extended"):
        ds.resume(tmp_path / "stopped", until=20.0, source=system)


# -- damaged --------------------------------------------------------------------------------------


def torn(directory, number):
    file = directory / f"samples/{number:06}.parquet"
    file.write_bytes(file.read_bytes()[:-100])


def missing(directory, number):
    (directory / f"checkpoints/{number:06}.json").unlink()


@pytest.mark.parametrize("numbers", [(3, 4), (10,)])
@pytest.mark.parametrize("damage", [torn, missing])
def test_damaged_parts_are_told_and_computed_again(tmp_path, damage, numbers):
    whole = swing(tmp_path / "run")
    before, told = tables(tmp_path / "run"), []
    for number in numbers:
        damage(tmp_path / "run", number)
    run = ds.resume(tmp_path / "run", source=pendulum(), tell=told.append)
    assert tables(tmp_path / "run") == before
    assert alike(run, whole)
    if damage is torn or numbers != (10,):
        assert [sentence.split()[1] for sentence in told] == [str(n) for n in numbers]
    if damage is torn:
        assert len(list((tmp_path / "run/samples").glob("*.torn"))) == len(numbers)


def full_disk(monkeypatch, after):
    """Let writing fail for want of space after so many files."""
    count = []
    fsync = os.fsync

    def failing(number):
        count.append(number)
        if len(count) > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(number)

    monkeypatch.setattr(files.os, "fsync", failing)
    return lambda: monkeypatch.setattr(files.os, "fsync", fsync)


@pytest.mark.parametrize("after", [9, 31])
def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path, monkeypatch, after):
    whole = swing(tmp_path / "whole", system=pendulum())
    relieve = full_disk(monkeypatch, after)
    run = swing(tmp_path / "run")
    assert run.outcome is Outcome.INTERRUPTED
    assert "No space left" in run.message
    assert "daesolve resume" in run.message
    relieve()
    run = ds.resume(tmp_path / "run", source=pendulum())
    assert tables(tmp_path / "run") == tables(tmp_path / "whole")
    assert alike(run, whole)


def test_a_disk_that_is_full_from_the_start_is_told(tmp_path, monkeypatch):
    full_disk(monkeypatch, 0)
    with pytest.raises(StorageError, match="No space left"):
        swing(tmp_path / "run")


def test_what_a_run_takes_back_is_taken_back_on_disk_too(tmp_path):
    """The sleigh's reactions lose their grip: the last steps before are not to be trusted."""
    swing(tmp_path / "run", until=5.0)
    with Writer.open(tmp_path / "run") as writer:
        from daesolve.checkpoints import Keeper

        keeper = Keeper(writer, 6)
        assert keeper.cut(3.25, 1.0) == 0
    run = Stored(tmp_path / "run")
    assert run.column("t")[-1] == pytest.approx(3.2)
    assert len(run.column("t")) == 33


@pytest.fixture
def lost(monkeypatch):
    """Let a goal lose its grip just before the end of a part, and be seen to just after it."""

    def loss(times, grip, lost):
        return int(np.searchsorted(times, 0.99)) if times[0] < 0.99 and times[-1] > 1.01 else None

    monkeypatch.setattr(monitors, "_loss", loss)
    tick = ds.time - 0.99
    system = pendulum(events=lambda q, p: [ds.Event("tick", tick, ds.RISING)])
    return system, {"solver": ds.Dop853(), "at": ds.every(0.01), "until": 3.0, "system": system}


def test_a_part_that_was_cut_is_cut_when_it_is_mended(tmp_path, lost):
    system, options = lost
    run, plain = swing(tmp_path / "run", **options), swing(None, **options)
    before = tables(tmp_path / "run")
    assert run.outcome is Outcome.DEGENERATE
    assert Stored(tmp_path / "run").checkpoint(1)["taken_back"] == run.end_time < 0.99
    assert alike(run, plain)
    torn(tmp_path / "run", 1)
    assert alike(ds.resume(tmp_path / "run", source=system), plain)
    assert tables(tmp_path / "run") == before


def test_a_run_that_is_killed_after_a_cut_counts_its_events_once(tmp_path, lost):
    system, options = lost
    run = swing(tmp_path / "run", **options)
    for name in ("result.json", "checkpoints/000002.json"):
        (tmp_path / "run" / name).unlink()
    again = ds.resume(tmp_path / "run", source=system)
    assert again.event_count == run.event_count == 0
    assert alike(again, run)


def test_a_disk_that_is_full_at_a_cut_loses_nothing(tmp_path, monkeypatch, lost):
    def full(*_):
        raise StorageError("No space left on device")

    system, options = lost
    with monkeypatch.context() as disk:
        disk.setattr(Writer, "cut", full)
        run = swing(tmp_path / "run", **options)
    assert run.outcome is Outcome.INTERRUPTED
    assert "daesolve resume" in run.message
    assert alike(ds.resume(tmp_path / "run", source=system), swing(None, **options))


def test_a_finished_run_without_its_last_part_is_not_taken_for_whole(tmp_path):
    swing(tmp_path / "run")
    missing(tmp_path / "run", 10)
    with pytest.raises(MissingCheckpointError, match="part 10"):
        ds.Trajectory.from_run(tmp_path / "run")["x"]


# -- refused --------------------------------------------------------------------------------------


def changed(directory, **entries):
    file = directory / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


def test_a_run_of_other_versions_is_gone_on_with_only_when_allowed(tmp_path):
    swing(tmp_path / "run", interrupting(3.0))
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    changed(tmp_path / "run", versions={**manifest["versions"], "casadi": "3.0.0"})
    with pytest.raises(NotResumableError, match=r"casadi 3\.0\.0 \(here .*--any-version"):
        ds.resume(tmp_path / "run", source=pendulum())
    assert ds.resume(tmp_path / "run", source=pendulum(), any_version=True).end_time == 10.0


def test_a_run_of_other_equations_is_not_gone_on_with(tmp_path):
    swing(tmp_path / "run", interrupting(3.0))
    other = pendulum(events=lambda q, p: [ds.Event("bottom", q.x, ds.EITHER)])
    with pytest.raises(NotResumableError, match="the equations are not those"):
        ds.resume(tmp_path / "run", source=other)
    with pytest.raises(NotResumableError, match="source=system"):
        ds.resume(tmp_path / "run")


def test_what_is_no_run_or_has_another_format_is_named(tmp_path):
    with pytest.raises(NotARunError, match="nowhere"):
        ds.resume(tmp_path / "nowhere")
    swing(tmp_path / "run", until=1.0)
    changed(tmp_path / "run", format=99)
    with pytest.raises(ds.DaesolveError, match="99"):
        ds.resume(tmp_path / "run", source=pendulum())


@pytest.mark.parametrize("name", ["manifest.json", "result.json"])
def test_a_file_of_something_else_is_named(tmp_path, name):
    swing(tmp_path / "run", until=1.0)
    (tmp_path / "run" / name).write_text('{"format": 1}')
    for use in (ds.Trajectory.from_run, lambda run: ds.resume(run, source=pendulum())):
        with pytest.raises(FormatError, match=f"{name}' is none of a run"):
            use(tmp_path / "run")
    (tmp_path / "run" / name).write_text("[" * 100_000)
    with pytest.raises(ArchiveError, match="nested too deeply"):
        ds.Trajectory.from_run(tmp_path / "run")


@pytest.mark.parametrize("place", [123, b"run", "", True, [], "a\0b"])
def test_a_directory_that_is_no_path_is_refused(place):
    for use in (swing, ds.resume, ds.Trajectory.from_run):
        with pytest.raises(ArchiveError, match="must be a path like"):
            use(place)


def test_more_samples_than_a_segment_can_hold_are_refused(tmp_path):
    with pytest.raises(OutOfRangeError, match=r"more than 1e.08 samples in a segment"):
        swing(tmp_path / "run", at=ds.every(1e-300))
    assert not (tmp_path / "run").exists()


def test_a_directory_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(OutputExistsError, match="cannot be made: File name too long"):
        swing(tmp_path / ("x" * 300))


def test_a_directory_in_use_is_refused(tmp_path):
    swing(tmp_path / "run", until=1.0)
    with pytest.raises(OutputExistsError, match="daesolve resume"):
        swing(tmp_path / "run", until=1.0)
    with Writer.open(tmp_path / "run"), pytest.raises(LockedRunError, match=str(os.getpid())):
        ds.resume(tmp_path / "run", source=pendulum())


def test_a_solver_that_cannot_be_had_again_is_refused(tmp_path):
    class Mine(ds.Dop853):
        pass

    with pytest.raises(UnsupportedError, match="Mine is none of the library's own"):
        swing(tmp_path / "run", solver=Mine())


def test_a_run_under_way_can_be_read(tmp_path):
    seen = []

    def look(time, monitor, events):
        if time == 5.0:
            run = ds.Trajectory.from_run(tmp_path / "run")
            seen.append((run.outcome, run.message, run.times[-1], run.end_time))

    swing(tmp_path / "run", look)
    assert seen == [(Outcome.INTERRUPTED, "under way, at t = 4 s so far", 4.0, 4.0)]
