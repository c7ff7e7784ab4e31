"""What the benchmarks share: attempts, processes, timing, errors, tables."""

import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.common.attempts import BrokeDownError, attempts, installed
from benchmarks.common.conditions import as_json, conditions, from_json
from benchmarks.common.figures import Figures, cheapest_as_exact, errors_of
from benchmarks.common.processes import run_module
from benchmarks.common.tables import aligned, folded, markdown, replaced
from benchmarks.common.timing import in_turn, least, seconds_in_parts

from . import crashing


@dataclass(frozen=True)
class Setting:
    method: str
    fine: int


def figures(seconds, error=1e-3):
    return Figures(0.0, seconds, 1, error, 0.0, 0.0)


def test_finer_settings_are_left_out_after_one_that_took_long_and_failures_are_reported():
    def measure(setting):
        if setting == Setting("b", 1):
            raise RuntimeError("of the package") from BrokeDownError("it gave up\nin detail")
        return figures(9.0 if setting == Setting("a", 2) else 1.0)

    settings = [Setting(method, fine) for method in "ab" for fine in (1, 2, 3)]
    found = {entry.setting: entry for entry in attempts(settings, measure, 5.0)}
    assert [setting for setting in settings if found[setting].figures] == [
        *(Setting("a", 1), Setting("a", 2), Setting("b", 2), Setting("b", 3))
    ]
    assert found[Setting("a", 3)].reason == "left out for time: a coarser one took over 5 s"
    assert found[Setting("b", 1)].reason == "it gave up"


def test_a_package_that_is_not_installed_is_reported():
    with pytest.raises(BrokeDownError, match="not installed: no module 'no_such_package'"):
        installed("no_such_package")


def test_a_process_that_crashes_leaves_what_it_wrote_and_why_it_ended():
    told, reason = run_module(crashing.__name__, ["7"])
    assert told == [{"number": 7}]
    assert reason == "the process ended with status 1: ValueError: no more"


def test_the_best_counts_and_repeats_end_in_time():
    again = iter([4.0, 2.0, 3.0])
    assert least(3.0, lambda: next(again), 4, 1e9) == 2.0
    assert least(3.0, lambda: pytest.fail("it was to end"), 4, 1.0) == 3.0


def test_runs_take_turns():
    order = []
    found = in_turn({name: lambda name=name: order.append(name) or len(order) for name in "ab"}, 2)
    assert order == ["a", "b", "a", "b"]
    assert found == {"a": [1, 3], "b": [2, 4]}


def test_parts_of_a_run_are_timed_and_functions_are_themselves_again():
    def busy(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            math.sqrt(2.0)

    class Owner:
        part = staticmethod(busy)

    found = seconds_in_parts(lambda: (Owner.part(0.02), busy(0.03)), {"part": (Owner, "part")})
    assert Owner.part is busy
    assert found["part"] >= 0.02
    assert found["total"] - found["part"] >= 0.03


def test_errors_are_relative_where_values_exceed_one():
    assert errors_of({"a": 0.5, "b": 9.0}, {"a": 0.25, "b": 10.0, "c": 1.0}) == {
        "a": 0.25,
        "b": 0.1,
    }
    with pytest.raises(KeyError):
        errors_of({"unknown": 1.0}, {"a": 1.0})


def test_the_cheapest_of_no_larger_error_is_found():
    found = [figures(1.0, 1e-2), figures(3.0, 1e-9), figures(2.0, 1e-6)]
    assert cheapest_as_exact(found, 1e-6) is found[2]
    assert cheapest_as_exact(found, 1e-10) is None


def test_measurements_are_read_back_as_they_were():
    known = conditions("no such package")
    assert list(known.versions)[:2] == ["Python", "daesolve"]
    assert known.versions["Python"] == sys.version.split()[0]
    read, found = from_json(as_json(known, [figures(0.1), figures(1 / 3)]), Figures)
    assert (read, found) == (known, [figures(0.1), figures(1 / 3)])


def test_tables_are_aligned_and_a_reason_takes_the_rest_of_its_line():
    heads, rows = ["name", "s", "steps"], [["slow", "10.5", "3"], ["broken one", "it gave up"]]
    assert aligned(heads, rows).splitlines() == [
        "name           s  steps",
        "slow        10.5      3",
        "broken one  it gave up",
    ]
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_tables_of_a_document_are_replaced_between_their_marks():
    begin, end = "<!-- chain: begin -->", "<!-- chain: end -->"
    once = replaced(f"before {begin} old {end} after", "chain", "new\n")
    assert once == f"before {begin}\n\nnew\n\n{end} after"
    assert replaced(once, "chain", "new") == once
    with pytest.raises(ValueError, match="has no lines <!-- peers: begin -->"):
        replaced(once, "peers", "new")


def test_everything_is_measured_from_the_sources_beside_the_tests():
    assert Path(sys.modules["benchmarks"].__file__).parents[1] == Path(__file__).parents[2]


def test_a_folded_table_is_markdown_between_blank_lines():
    text = folded("The table", "| a |\n| --- |")
    assert text == "<details>\n<summary>The table</summary>\n\n| a |\n| --- |\n\n</details>"
