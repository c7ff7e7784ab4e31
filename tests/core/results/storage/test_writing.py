"""Unfinished parts are read, torn ones found and set aside, the last one shortened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from daesolve import errors
from daesolve.core.results.storage import Stored, Writer
from daesolve.errors import OutputExistsError
from tests.core.results.storage.parts import (
    ROWS,
    contents,
    events,
    expected,
    same_bits,
    samples,
    shorten,
    write,
)


def test_an_unfinished_part_is_read_until_it_is_committed(run):
    with Writer.open(run) as writer:
        writer.write_partial(4, samples(4, 5), events(4, 1))
        stored = Stored(run)
        assert (stored.last, stored.rows, len(stored.events())) == (3, 3 * ROWS + 5, 10)
        writer.write_partial(4, samples(4, 9), None)
        assert len(Stored(run).events()) == 9
        write(writer, 4)
        assert not list(run.rglob("*.partial"))
        assert stored.rows == len(stored.column("t")) == 3 * ROWS + 5
        assert same_bits(stored.column("t")[-5:], samples(4, 5)["t"])
    assert Stored(run).rows == 4 * ROWS


@pytest.mark.parametrize("number", [2, 5])
def test_an_unfinished_part_that_does_not_follow_is_not_read(run, number):
    with Writer.open(run) as writer:
        writer.write_partial(number, samples(number, 5), None)
    assert Stored(run).rows == 3 * ROWS


def test_an_unfinished_part_that_cannot_be_read_does_not_count(run):
    (run / "samples" / "000004.parquet.partial").write_bytes(b"PAR1 and then nothing")
    assert Stored(run).rows == 3 * ROWS


def spoil_footer(path):
    content = path.read_bytes()
    path.write_bytes(content[:-40] + b"\0" * 36 + content[-4:])


def miscount(path):
    """Let the checkpoint tell of a row that the file does not have."""
    told = path.parent.parent / "checkpoints" / "000002.json"
    told.write_text(told.read_text().replace(f'"rows":{ROWS}', f'"rows":{ROWS + 1}'))


@pytest.mark.parametrize(
    ("damage", "name", "reason"),
    [
        (shorten, "samples/000002.parquet", "bytes, not the"),
        (Path.unlink, "samples/000002.parquet", "cannot be found"),
        (spoil_footer, "samples/000002.parquet", "its digest differs"),
        (miscount, "samples/000002.parquet", "40 rows, not the 41"),
        (shorten, "events/000002.parquet", "bytes, not the"),
        (Path.unlink, "events/000002.parquet", "cannot be found"),
    ],
)
def test_a_torn_part_is_found_and_reported(run, damage, name, reason):
    damage(run / name)
    stored = Stored(run)
    [(number, told)] = stored.damaged()
    assert number == 2
    assert name in told
    assert reason in told
    with pytest.raises(errors.TornPartError, match=r"part 2 .*`daesolve resume .*run` computes"):
        stored.table() if name.startswith("samples") else stored.events()


def test_a_flipped_bit_is_found_when_it_is_read(run):
    path = run / "samples" / "000002.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 4] ^= 1
    path.write_bytes(content)
    with pytest.raises(errors.TornPartError, match="part 2 "):
        Stored(run).table()


@pytest.mark.parametrize("content", [b"", b"{", b'{"files":{"samples":', b"[1]", b"\xff" * 600])
def test_a_spoilt_checkpoint_is_found_and_reported(run, content):
    (run / "checkpoints" / "000002.json").write_bytes(content)
    stored = Stored(run)
    assert stored.damaged() == [(2, "its checkpoint cannot be read")]
    for read in (lambda: stored.checkpoint(2), lambda: stored.column("t"), stored.events):
        with pytest.raises(errors.TornPartError, match=r"part 2 .*checkpoint cannot be read"):
            read()


def test_a_missing_checkpoint_is_found_and_reported(run):
    (run / "checkpoints" / "000002.json").unlink()
    stored = Stored(run)
    assert stored.numbers == (1, 3)
    assert stored.damaged() == [(2, "its checkpoint is missing")]
    for read in (lambda: stored.checkpoint(2), lambda: stored.column("t"), stored.events):
        with pytest.raises(errors.MissingCheckpointError, match=r"part 2 .*has no checkpoint"):
            read()


def test_a_torn_part_is_set_aside_and_computed_again(run):
    pandas = pytest.importorskip("pandas")
    whole = contents(run)
    with Writer.open(run) as writer:
        for attempt in (1, 2):
            shorten(run / "samples" / "000002.parquet")
            assert [number for number, _ in Stored(run).damaged()] == [2]
            torn = (run / "samples" / "000002.parquet").read_bytes()
            writer.set_aside(2)
            assert len(list(run.rglob("*.torn"))) == 3 * attempt
            assert torn in [path.read_bytes() for path in (run / "samples").glob("_*.torn")]
            write(writer, 2)
            assert Stored(run).damaged() == []
        writer.set_aside(9)
    assert whole.items() <= contents(run).items()
    assert same_bits(pandas.read_parquet(run / "samples")["t"], expected("t", 1, 2, 3))


def test_a_part_that_is_cut_is_as_if_it_had_been_written_shorter(run, tmp_path):
    with Writer.open(run) as writer:
        writer.write_partial(4, samples(4, 5), events(4))
        before = Stored(run)
        told = Stored(run).checkpoint(3)
        writer.cut(3, 7, 2, {**told, "taken_back": 1.5})
        assert not list(run.rglob("*.partial"))
        after = Stored(run)
        assert (after.rows, len(after.events())) == (2 * ROWS + 7, 8)
        assert after.checkpoint(3)["taken_back"] == 1.5
        assert after.damaged() == []
        with pytest.raises(errors.ArchiveError, match="read the run again"):
            before.column("t")
    with Writer.create(tmp_path / "shorter", {}) as writer:
        writer.write_part(3, samples(3, 7), events(3, 2), {})
    for folder in ("samples", "events"):
        name = f"{folder}/000003.parquet"
        assert contents(run)[name] == contents(tmp_path / "shorter")[name]


def test_a_part_without_its_last_events_has_no_file_of_events(run):
    with Writer.open(run) as writer:
        writer.cut(3, 0, 0, {})
        shorten(run / "events" / "000002.parquet")
        with pytest.raises(errors.TornPartError, match="part 2"):
            writer.cut(2, 1, 1, {})
        with pytest.raises(errors.TornPartError, match=r"part 5 .*000005\.parquet' is missing"):
            writer.cut(5, 1, 1, {})
    assert not (run / "events" / "000003.parquet").exists()
    assert Stored(run).rows == 2 * ROWS


def test_the_manifest_is_to_the_first_process_what_it_is_to_the_next(tmp_path):
    with Writer.create(tmp_path, {"horizons": (1.0,), "state": np.array([np.nan])}) as writer:
        begun = writer.manifest
    with Writer.open(tmp_path) as writer:
        assert str(writer.manifest) == str(begun) == str(Stored(tmp_path).manifest)


def test_a_run_does_not_begin_where_something_is(run, tmp_path):
    with pytest.raises(OutputExistsError, match=r"already contains a run.*daesolve resume"):
        Writer.create(run, {})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(OutputExistsError, match=r"'thesis\.tex'"):
        Writer.create(tmp_path / "full", {})
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.tex"]
    for place in (run / "manifest.json", run / "manifest.json" / "below"):
        with pytest.raises(OutputExistsError):
            Writer.create(place, {})
