import io

import pytest
from rich.console import Console

from daesolve.reporting import document, summary
from daesolve.reporting.facts import bounded, exact, power, short


def shown(told, width=80):
    console = Console(file=io.StringIO(), width=width, no_color=True)
    console.print(summary(told))
    return console.file.getvalue()


@pytest.mark.core
def test_says_what_matters(told):
    text = shown(told)
    for words in ("pendulum · swing · physical", "completed at t = 3 s", "feedback + taylor"):
        assert words in text
    for goal in told["drift"]:
        assert goal in text
    assert "digits agree" in text
    assert "Not verified" not in text


def test_fits_eighty_columns(told, told_measured):
    for run in (told, told_measured):
        assert max(map(len, shown(run).splitlines())) <= 80


@pytest.mark.core
def test_is_honest_without_verification(told_measured):
    text = " ".join(shown(told_measured).split())
    assert "Driven residuals are small at almost any accuracy" in text
    assert "--verify" in text
    assert "measured" in text


def test_is_quiet_about_what_is_not_there(told):
    assert "Events" not in shown(told)
    assert "Start made consistent" not in shown(told)
    told |= {"notes": [], "drift": {}}
    assert "Notes" not in shown(told)
    assert "Drift" not in shown(told)


def test_counts_events(told):
    events = [{"time": 0.1 * k, "name": "turn", "detail": {}} for k in range(9)]
    text = shown({**told, "events": events, "event_count": 9})
    assert "Events: 9" in text
    assert "and 4 more" in text


def test_square_brackets_are_no_markup(told):
    told |= {"outcome": "failed", "message": "at t = 1 s [bold]rod[/bold]", "notes": ["[red]"]}
    assert "[bold]rod[/bold]" in shown(told)
    assert "[red]" in shown(told)


def test_a_residual_beyond_bounds_is_named(told):
    told["drift"]["rod"]["max_relative"] = None
    assert "not finite" in shown(told)


@pytest.mark.parametrize(
    ("growth", "time", "sentence"),
    [
        ("regular", None, "no exponential growth"),
        ("exponential", 12.5, "e-fold in 12.5 s"),
        ("unknown", None, "was not measured"),
    ],
)
def test_tells_whether_it_is_chaotic(told, growth, time, sentence):
    told["verification"] |= {"lyapunov_time": time, "growth": growth}
    assert sentence in shown(told)


def test_a_system_without_a_problem(run):
    assert shown(document(run, {})).startswith("your own system\n")


def test_tells_what_was_changed_at_the_start(told):
    told["start_changes"] = {
        "x": {"given": 0.5, "value": 0.25},
        "y": {"given": 1.0, "value": 1.0 + 2.0**-40},
    }
    assert "x: 0.5 → 0.25 m" in shown(told)
    assert "y: 1, changed by 9.09e-13 m" in shown(told)


def test_names_the_pairs_of_which_another_support_took_over(told):
    after = {"x": 0.0, "variant_left": 1.0, "variant_right": -1.0}
    switch = {"time": 0.5, "name": "support_switch", "detail": {}, "fired": [1], "after": after}
    both = {**switch, "fired": [0, 1]}
    text = shown({**told, "events": [switch, both], "event_count": 2})
    assert "support_switch of right at t = 0.5 s" in text
    assert "support_switch of left, right at t = 0.5 s" in text


@pytest.mark.parametrize("value", [0.0, -0.0, 4.9e-324, -4.9e-324, 1e-310, -1e-310])
def test_what_is_zero_to_rounding_reads_as_zero(value):
    assert {short(value), bounded(value), exact(value), short(value, 6)} == {"0"}
    assert power(value) == "0e0"
    assert short(2.3e-308) == "2.3e-308"
    assert short(-1.5) == "-1.5"
