"""Constraints that are let go of where contacts open, in every formulation that can."""

from __future__ import annotations

from functools import cache

import pytest

import daesolve as ds
from tests.rubbing import block, standing

RTOL = 1e-9
IDA = ds.solvers.SundaeIda(RTOL, RTOL)
EXACT = {
    "front_sticks": 0.061571538818007,
    "rear_closed": 0.71842374472,
}
"""When a block that is pushed along does so, s: 13 and 11 digits of two other programs."""


@cache
def _tipped() -> ds.MechanicalSystem:
    return block(0.1, 0.2, 0.7)


def _times(formulation: str, solver: ds.Solver) -> tuple[dict[str, float], ds.Trajectory]:
    run = ds.solve(
        _tipped(), until=1.0, initial=standing(0.2, 1.0), formulation=formulation, solver=solver
    )
    assert run.outcome is ds.Outcome.COMPLETED
    names = [event.name for event in run.events]
    assert names == ["rear_lost", "front_sticks", "rear_closed", "front_lost"]
    return {event.name: event.time for event in run.events}, run


@pytest.mark.slow
@pytest.mark.slow_rows(
    "ggl-solver4",
    "index-1-solver0",
    "index-1-solver1",
    "index-2-solver2",
    "index-3-solver3",
    "projected:index-1-solver6",
)
@pytest.mark.parametrize(
    ("formulation", "solver"),
    [
        ("index-1", IDA),
        ("index-1", ds.Idas(RTOL, RTOL)),
        # IDA may fail to begin anew on velocities with a smaller tolerance.
        ("index-2", ds.solvers.SundaeIda(10 * RTOL, 10 * RTOL)),
        ("index-3", IDA),
        ("ggl", IDA),
        ("projected", ds.Dop853(RTOL, RTOL)),
        ("projected:index-1", IDA),
    ],
)
def test_a_block_that_tips_opens_and_closes_its_contacts(
    formulation: str, solver: ds.Solver
) -> None:
    times, run = _times(formulation, solver)
    # Errors of steps add up over some hundred of them, and index 3 loses two orders.
    allowed = (1e4 if formulation == "index-3" else 1e2) * RTOL
    for name, exact in EXACT.items():
        assert times[name] == pytest.approx(exact, abs=allowed)
    assert run["front"][-1] == pytest.approx(0.0, abs=RTOL)
    assert run["rear"][-1] > 0.0


def test_projected_series_are_as_exact_as_driven_ones() -> None:
    times, _ = _times("projected", ds.Taylor())
    assert times["front_sticks"] == pytest.approx(EXACT["front_sticks"], abs=1e-14)
    assert times["rear_closed"] == pytest.approx(EXACT["rear_closed"], abs=1e-11)


@pytest.mark.slow
@pytest.mark.slow_rows("index-3")
@pytest.mark.parametrize("formulation", ["index-1", "index-2", "index-3", "ggl"])
def test_the_multiplier_of_what_is_let_go_of_is_zero(formulation: str) -> None:
    start = standing(0.2, 1.0)
    run = ds.solve(_tipped(), until=0.5, initial=start, formulation=formulation, solver=IDA)
    assert abs(run["rear"][1:]).max() <= RTOL * run["front"].max()
