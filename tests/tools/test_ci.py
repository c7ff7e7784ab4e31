"""The run of all checks: order, needs, failures, and the commands of the README."""

from pathlib import Path

import pytest

from tools.ci.__main__ import beside
from tools.ci.parts import Selection, parts_of, printed
from tools.ci.schedule import FAILED, NOT_RUN, PASSED, STOPPED, Part, run, table

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def outcomes(parts, logs):
    return {name: verdict.outcome for name, verdict in run(parts, logs).items()}


def test_a_failing_part_is_shown_whole_and_what_needs_it_does_not_run(tmp_path, capfd):
    parts = [
        Part("bad", "seq 1 50; false; echo unreached"),
        Part("after", "touch after", needs=("bad",), folder=tmp_path),
        Part("last", "touch last", needs=("after",), folder=tmp_path),
        Part("good", "seq 101 150"),
    ]
    assert outcomes(parts, tmp_path) == {
        "bad": FAILED, "after": NOT_RUN, "last": NOT_RUN, "good": PASSED,
    }  # fmt: skip
    lines = capfd.readouterr().out.splitlines()
    assert {"1", "50", "150"} <= set(lines)
    assert not {"101", "unreached"} & set(lines)
    assert not (tmp_path / "after").exists()
    assert not (tmp_path / "last").exists()


def test_two_parts_run_beside_each_other_and_a_part_of_both_processors_alone(tmp_path):
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.01; done"
    parts = [
        Part("a", meet.format("a", "b"), folder=tmp_path),
        Part("b", meet.format("b", "a"), folder=tmp_path),
        Part("c", "[ -e a ] && [ -e b ]; rm a b; [ ! -e d ]", processors=2, folder=tmp_path),
        Part("d", "[ ! -e a ]; touch d", folder=tmp_path),
    ]
    assert set(outcomes(parts, tmp_path).values()) == {PASSED}


def test_a_part_that_mostly_waits_delays_no_other(tmp_path):
    meet = "touch {0}; until [ -e {1} ] && [ -e {2} ]; do sleep 0.01; done"
    parts = [
        Part("a", meet.format("a", "b", "waiting"), folder=tmp_path),
        Part("b", meet.format("b", "a", "waiting"), folder=tmp_path),
        Part("waiting", meet.format("waiting", "a", "b"), processors=0, folder=tmp_path),
    ]
    assert set(outcomes(parts, tmp_path).values()) == {PASSED}


def test_a_decisive_part_that_fails_stops_the_others(tmp_path):
    parts = [
        Part("endless", "touch began; sleep 1000 & wait", folder=tmp_path),
        Part(
            "linters",
            "until [ -e began ]; do sleep 0.01; done; false",
            decisive=True,
            folder=tmp_path,
        ),
        Part("tests", "touch tests", folder=tmp_path),
    ]
    assert outcomes(parts, tmp_path) == {"endless": STOPPED, "linters": FAILED, "tests": NOT_RUN}
    assert not (tmp_path / "tests").exists()


def test_the_table_has_the_outcome_and_the_seconds_of_each_part(tmp_path):
    parts = [Part("good", "true"), Part("bad", "exit 7")]
    rows = [line.split() for line in table(parts, run(parts, tmp_path)).splitlines()]
    assert [row[:2] for row in rows] == [["good", PASSED], ["bad", FAILED]]
    assert all(row[3] == "s" and float(row[2]) >= 0 for row in rows)


def test_the_commands_of_the_readme_run_as_they_are_printed():
    commands = {part.name: part.command for part in parts_of(Path("s"), README, Selection())}
    for mark, name in (("run", "README's first command"), ("test", "README's second command")):
        assert printed(README, mark) in README
        assert commands[name].startswith(printed(README, mark))
    with pytest.raises(ValueError, match="no command below"):
        printed(README, "nothing")


def test_every_part_needs_parts_before_it():
    before = set()
    for part in parts_of(Path("s"), README, Selection()):
        assert before.issuperset(part.needs)
        before.add(part.name)


@pytest.mark.parametrize(("status", "expected"), [(0, PASSED), (1, FAILED), (5, PASSED)])
def test_slow_tests_of_chosen_files_may_be_none_but_may_not_fail(tmp_path, status, expected):
    slow = parts_of(tmp_path, README, Selection(("tests/test_a.py",)))[-1]
    programs = tmp_path / "dev" / "bin"
    programs.mkdir(parents=True)
    (programs / "pytest").write_text(f'#!/bin/sh\necho "$@"\nexit {status}\n')
    (programs / "pytest").chmod(0o755)
    part = Part("slow", slow.command)
    assert outcomes([part], tmp_path) == {"slow": expected}
    assert "-m slow -n 2 --dist worksteal tests/test_a.py" in (tmp_path / "slow.log").read_text()


def slow_command(tests):
    return parts_of(Path("s"), README, tests)[-1].command


def test_the_slow_and_the_long_tests_of_a_selection_run():
    assert "-m slow" in slow_command(Selection())
    assert "-m long" not in slow_command(Selection())
    assert "-m long -n 2 --dist worksteal" in slow_command(Selection(None, None))
    some = slow_command(Selection(("tests/a.py", "tests/b.py"), ("tests/b.py",)))
    assert "worksteal tests/a.py tests/b.py || [ $? = 5 ]\n" in some
    assert some.endswith("-m long -n 2 --dist worksteal tests/b.py || [ $? = 5 ]")
    assert "reaches no tests" in slow_command(Selection((), ()))


def test_long_tests_run_beside_what_changed_alone():
    tests = [
        "tests/contact/decisions/test_impacts.py",
        "tests/contact/decisions/deep/test_x.py",
        "tests/test_pairs.py",
    ]
    assert beside(tests, ["daesolve/contact/decisions/impacts.py"]) == tests[:1]
    assert beside(tests, ["daesolve/errors.py", "README.md", tests[1]]) == [tests[1]]
    wheel = "tests/problems/test_rolling_wheel.py"
    assert beside([*tests, wheel], ["problems/daesolve_problems/cart/bodies.py"]) == [wheel]
