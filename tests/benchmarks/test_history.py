"""Losses of speed are told from noise, rows come back as kept, and the page shows them."""

import argparse
import subprocess

import pytest

from benchmarks.history import __main__ as history
from benchmarks.history.figures import FIGURES
from benchmarks.history.loops import LOOPS
from benchmarks.history.measuring import Sample, samples
from benchmarks.history.rows import Ratio, Row, append, changes, place_of, read

from .programs import ROOT


def row(commit, **ratios):
    """A row whose quartiles are 5 % from the median, or as given."""
    made = {
        name: Ratio(*given)
        if isinstance(given, tuple)
        else Ratio(0.95 * given, given, 1.05 * given)
        for name, given in ratios.items()
    }
    day = f"2026-01-{int(commit, 16):02}T00:00:00+00:00"
    return Row(commit, day, "2026-02-01", "one", {"numpy": "2"}, 1, 0.02, made)


def lost(*rows):
    return {one.figure: one.since for one in changes(rows, len(rows) - 1) if one.lost}


def test_a_loss_is_more_than_20_percent_and_beyond_the_quartiles():
    assert lost(row("1", hoop=1.0, chain=1.0), row("2", hoop=1.3, chain=1.19)) == {"hoop": "1"}
    assert lost(row("1", hoop=(0.9, 1.0, 1.4)), row("2", hoop=(1.25, 1.3, 1.35))) == {}
    assert lost(row("1", hoop=1.0), row("2", hoop=(1.0, 1.3, 1.5))) == {}
    assert lost(row("1", hoop=1.0), row("2", hoop=0.5)) == {}


def test_rows_from_a_busy_machine_show_large_losses_only():
    busy = [Row(**{**vars(row("2", hoop=now)), "spread": 0.4}) for now in (1.3, 1.5)]
    assert [lost(row("1", hoop=1.0), one) for one in busy] == [{}, {"hoop": "1"}]


def test_small_losses_that_add_up_are_seen_and_old_rows_forgotten():
    creeping = [row(f"{i + 1:x}", hoop=1.09**i) for i in range(4)]
    assert lost(*creeping[:2]) == {}
    assert lost(*creeping) == {"hoop": "1"}
    assert lost(row("1", hoop=1.0), *(row(f"{i}", hoop=2.0) for i in range(2, 8))) == {}


def test_rows_of_other_loops_and_of_the_same_commit_are_not_compared():
    other = Row(**{**vars(row("1", hoop=1.0)), "loops": 2})
    assert changes([other, row("2", hoop=9.0)], 1) == []
    assert changes([row("2", hoop=1.0), row("2", hoop=9.0)], 1) == []


def test_rows_come_back_in_the_order_of_their_commits(tmp_path):
    file = tmp_path / "rows.jsonl"
    kept = [row("3", hoop=1.5), row("1", hoop=(1.0, 2.0, 3.0), chain=4.0)]
    for one in kept:
        append(one, file)
    found = read(file)
    assert [one.commit for one in found] == ["1", "3"]
    assert found[0] == kept[1]
    assert place_of(found, "3") == 1
    with pytest.raises(ValueError, match="5 has no row"):
        place_of(found, "5")


def test_a_comparison_ends_with_status_1_if_a_figure_is_lost(tmp_path, capsys):
    file = tmp_path / "rows.jsonl"
    for one in (row("1", hoop=1.0), row("2", hoop=1.0), row("3", hoop=1.5)):
        append(one, file)
    given = argparse.Namespace(rows=file, revision=None)
    assert history.compare(given) == 1
    assert "hoop: 50% slower than at 1" in capsys.readouterr().out
    append(row("4", hoop=1.5), file)
    append(row("5", hoop=1.0), file)
    assert history.compare(given) == 0


@pytest.mark.long
def test_a_figure_stands_between_two_runs_of_its_loop():
    order = []
    found = list(
        samples("own", lambda: order.append("figure") or 6.0, lambda: order.append("loop"), 2)
    )
    assert order == ["figure", "loop", "loop", "figure", "loop", "figure", "loop"]
    assert [one.seconds for one in found] == [6.0, 6.0]  # what the figure measured itself
    assert found[0].after == found[1].before
    assert Sample("own", 6.0, 1.0, 2.0).ratio == 4.0


def test_changes_that_are_not_committed_are_refused(tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "daesolve").mkdir()
    (tmp_path / "daesolve" / "a.py").write_text("")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "daesolve" / "a.py").write_text("1")
    given = history.parser().parse_args(["measure", "--checkout", str(tmp_path)])
    with pytest.raises(SystemExit, match="not committed, so no commit has this speed"):
        history.measure(given)


def test_every_figure_has_a_loop_and_there_are_ten():
    assert len(FIGURES) == 10
    assert {figure.loop for figure in FIGURES.values()} == set(LOOPS)


def test_the_page_shows_the_last_row():
    page = (ROOT / "docs/benchmarks/history.md").read_text(encoding="utf-8")
    rows = read()
    assert history.page_text(rows) in page
    drawn = (ROOT / "docs/_static/speed-history.svg").read_text(encoding="utf-8")
    assert all(f">{one.commit}<" in drawn for one in rows)
