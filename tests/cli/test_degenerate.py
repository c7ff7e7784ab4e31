"""The command line ends with status 3 where constraints come to depend on each other."""

from __future__ import annotations

import json

import pytest

from tests.cli.calling import call

LYING = ["run", "four-bar", "--until", "1", "--at", "0.5"]
"""The bars lie down for the first time at 0.714 s."""


@pytest.mark.slow_rows("raise")
@pytest.mark.parametrize("rank_loss", ["stop", "raise"])
def test_a_loss_of_rank_is_reported_with_what_came_before(rank_loss):
    result = call(*LYING, "--rank-loss", rank_loss, "--json", code=3)
    told = json.loads(result.stdout)
    assert told["outcome"] == "degenerate"
    assert told["times"] == [0.5]
    found = told["degeneracy"]
    assert found["singular_value"] < found["threshold"]
    assert set(found["goals"]) <= set(found["null_vector"])
    assert [event["name"] for event in told["events"]] == ["degenerate"]
    assert "almost depend on each other" in result.stderr


def test_other_runs_have_no_degeneracy():
    assert (
        json.loads(call("run", "pendulum", "--until", "1", "--json").stdout)["degeneracy"] is None
    )


def test_a_budget_is_reported():
    words = ("run", "pendulum", "--until", "20", "--max-evaluations", "300", "--solver", "dop853")
    told = json.loads(call(*words, "--json", code=3).stdout)
    assert told["outcome"] == "failed"
    assert "the budget of 300 right-hand sides was spent" in told["message"]
