"""A run reads back bit for bit; anything else, or another format, is reported."""

from __future__ import annotations

import math
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve import errors
from daesolve.core.results.storage import FORMAT, Stored, Writer
from daesolve.errors import DaesolveError, UnknownNameError
from tests.core.results.storage.parts import (
    ROWS,
    contents,
    events,
    expected,
    identical,
    same_bits,
    samples,
    write,
)

doubles = st.floats(width=64)
awkward = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -2.3e-308, 1.8e308])
columns = st.lists(doubles | awkward, max_size=30)
event = st.tuples(doubles, st.text(), st.lists(st.integers(0, 9), max_size=3), st.none() | doubles)


@pytest.mark.slow
@settings(derandomize=True, max_examples=15, deadline=None)
@given(st.lists(st.tuples(columns, st.lists(event, max_size=5)), min_size=1, max_size=3))
def test_any_samples_and_events_come_back_bit_for_bit(parts):
    with tempfile.TemporaryDirectory() as place:
        with Writer.create(place, {}) as writer:
            for number, (column, happened) in enumerate(parts, 1):
                names = ("t", "event", "fired", "after_x")
                table = {name: [row[k] for row in happened] for k, name in enumerate(names)}
                writer.write_part(number, {"t": np.array(column, dtype=float)}, table, {})
        stored = Stored(place)
        assert same_bits(stored.column("t"), [t for column, _ in parts for t in column])
        rows = [row for _, happened in parts for row in happened]
        assert len(stored.events()) == len(rows)
        for found, row in zip(stored.events(), rows, strict=True):
            assert identical(list(found.values()), [*row[:2], list(row[2]), row[3]])
        assert stored.damaged() == []


def test_a_run_is_read_as_it_was_written(run):
    stored = Stored(run)
    assert stored.manifest == {"problem": "pendulum", "horizons": [10.0], "format": FORMAT}
    assert stored.numbers == (1, 2, 3)
    assert (stored.last, stored.rows, stored.result, stored.locked) == (3, 3 * ROWS, None, False)
    for name in ("t", "x", "reaction_rod.1"):
        assert same_bits(stored.column(name), expected(name, 1, 2, 3))
    told = stored.checkpoint(2)
    assert same_bits(told["state"], [2 / 3.0, -0.0, math.nan])
    assert told["words"] == ["nan", "\\inf"]
    assert told["files"]["samples"] == {
        "rows": ROWS,
        "bytes": (run / "samples" / "000002.parquet").stat().st_size,
    }
    times, happened = stored.part_times(2)
    assert same_bits(times, samples(2)["t"])
    assert same_bits(happened, events(2)["t"])


@pytest.mark.parametrize("every", [1, 2, 7, ROWS, ROWS + 3, 2 * ROWS + 1, 1000])
def test_a_stride_counts_over_the_whole_run(run, every):
    with Writer.open(run) as writer:
        writer.write_partial(4, samples(4, 11), None)
    stored = Stored(run)
    found = stored.columns(["x", "t", "x"], every)
    assert list(found) == ["x", "t"]
    whole = np.concatenate([expected("x", 1, 2, 3), samples(4, 11)["x"]])
    assert same_bits(found["x"], whole[::every])
    assert len(found["t"]) == len(found["x"])


def test_events_come_in_order_up_to_a_limit(run):
    stored = Stored(run)
    assert [len(batch) for batch in stored.event_batches()] == [3, 3, 3]
    assert [row["t"] for row in stored.events()] == [t for n in (1, 2, 3) for t in events(n)["t"]]
    assert stored.events(4) == stored.events()[:4]
    assert stored.events(0) == []
    assert stored.events(1)[0] == {"t": 0.0, "event": "bounce", "fired": [0], "after_x": 0.0}
    assert stored.events(2)[1]["after_x"] is None


def test_parts_without_rows_and_without_events_are_parts(directory):
    with Writer.create(directory, {}) as writer:
        writer.write_part(1, samples(1, 0), None, {})
        writer.write_part(2, samples(2), events(2), {})
        writer.write_part(3, samples(3, 0), {"t": [], "event": []}, {})
    stored = Stored(directory)
    assert stored.rows == ROWS
    assert same_bits(stored.column("x"), samples(2)["x"])
    assert len(stored.events()) == 3
    assert [path.name for path in (directory / "events").iterdir()] == ["000002.parquet"]
    assert stored.part_times(3)[0].shape == stored.part_times(3)[1].shape == (0,)
    assert stored.table(["t"]).num_rows == ROWS


def test_a_run_without_parts_has_no_samples(directory):
    with Writer.create(directory, {}):
        stored = Stored(directory)
    assert (stored.rows, stored.last, stored.numbers, stored.events()) == (0, 0, (), [])
    assert stored.column("t").shape == (0,)
    assert stored.damaged() == []
    with pytest.raises(errors.ArchiveError, match="no samples yet"):
        stored.table()


def test_the_same_parts_are_the_same_bytes(tmp_path):
    for name in ("one", "other"):
        with Writer.create(tmp_path / name, {}) as writer:
            write(writer, 1)
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_an_unknown_column_is_named(run):
    with pytest.raises(UnknownNameError, match=r"did you mean 'reaction_rod\.1'"):
        Stored(run).column("reaction_rod")


def test_a_column_of_events_keeps_its_type_where_it_is_empty(directory):
    """Else the parts could not be read together."""
    pandas = pytest.importorskip("pandas")
    with Writer.create(directory, {}) as writer:
        for number, after in ((1, [None, None]), (2, [None, 1.5])):
            table = {**events(number, 2), "after_x": after}
            writer.write_part(number, samples(number), table, {})
    found = pandas.read_parquet(directory / "events")
    assert found["after_x"].isna().tolist() == [True, True, True, False]


def test_the_result_comes_and_goes(run):
    with Writer.open(run) as writer:
        writer.write_result({"outcome": "completed", "end_time": math.inf})
        expected = {"outcome": "completed", "end_time": math.inf, "parts": 3}
        assert Stored(run).result == expected
        writer.remove_result()
        writer.remove_result()
        assert Stored(run).result is None
        writer.rewrite_manifest({**writer.manifest, "horizons": [10.0, 20.0]})
    assert Stored(run).manifest["horizons"] == [10.0, 20.0]


@pytest.mark.parametrize("opened", [Stored, Writer.open])
def test_what_holds_no_run_is_refused(tmp_path, opened):
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file", tmp_path / "absent"):
        with pytest.raises(errors.NotARunError, match=r"contains no run.*give the directory"):
            opened(place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_sweep_is_named_as_one(run):
    (run / "manifest.json").write_text(f'{{"format": {FORMAT}, "kind": "sweep"}}')
    with pytest.raises(errors.NotARunError, match=r"contains a sweep.*Sweep\.from_directory"):
        Stored(run)


@pytest.mark.parametrize("opened", [Stored, Writer.open])
@pytest.mark.parametrize(
    ("content", "reason"),
    [("{", "damaged"), ("[1]", "damaged"), ("{}", "format None"), ('{"format": 99}', "format 99")],
)
def test_another_format_is_refused(run, opened, content, reason):
    (run / "manifest.json").write_text(content)
    with pytest.raises(errors.FormatError, match=reason):
        opened(run)


def test_a_spoilt_result_is_reported(run):
    (run / "result.json").write_text("{")
    with pytest.raises(errors.ArchiveError, match=r"result.json.*delete it"):
        Stored(run)


def test_every_error_is_one_of_the_librarys():
    assert issubclass(errors.ArchiveError, DaesolveError)
    assert len(errors.ArchiveError.__subclasses__()) == 6
