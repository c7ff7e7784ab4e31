"""Which solver is chosen, and what is told of it."""

import pytest

import daesolve as ds
from daesolve.formulations import Feedback
from daesolve.preparation.choosing import Stiffness, choose_solver, stiffness
from daesolve.solvers import RadauIIA, Solver

from ..solvers.test_stiff import RATE, block
from ..systems import oscillator, prepared_run

EASY = ds.Lsoda(rtol=1e-6)
"""What prepares a run without a look at stiffness being of consequence."""


def seen(until: float, rate: float = RATE) -> Stiffness:
    """What the Jacobian at the start says of the block on the belt."""
    run = prepared_run(block(), until, {"x_dot": 0.0}, parameters={"mass": 1e3 / rate}, solver=EASY)
    found = stiffness(run.problem, run.values, 0.0, run.initial, until, 10.0)
    assert found is not None
    return found


def chosen(asked: Solver | None, found: Stiffness | None) -> tuple[Solver, list[str]]:
    notes: list[str] = []
    problem = prepared_run(block(), 1.0, {"x_dot": 0.0}, solver=EASY).problem
    return choose_solver(asked, Feedback(), problem, 100.0, notes, found), notes


def test_the_fastest_decay_is_the_slope_of_friction_over_the_mass() -> None:
    found = seen(2.0)
    assert found.decay == pytest.approx(RATE, rel=1e-9)
    assert found.steps == pytest.approx(RATE * 2.0 / 6.4, rel=1e-9)


def test_stiff_equations_go_to_radau_and_the_note_says_why() -> None:
    solver, notes = chosen(None, seen(2.0))
    assert isinstance(solver, RadauIIA)
    assert notes == ["stiff: fastest rate 1e+06 1/s over 2 s; solver radau with the exact Jacobian"]


def test_a_run_too_short_for_many_steps_is_not_stiff() -> None:
    assert not seen(1e-3).recognised


def test_an_oscillation_is_no_stiffness() -> None:
    run = prepared_run(oscillator(), 1e6, {"x_dot": 1.0})
    found = stiffness(run.problem, run.values, 0.0, run.initial, 1e6, 10.0)
    assert found is not None
    assert not found.recognised
    assert not isinstance(chosen(None, found)[0], RadauIIA)


@pytest.mark.parametrize("solver", [ds.Dop853(), ds.Cvodes()], ids=lambda solver: solver.name)
def test_an_explicit_solver_is_warned_of_with_its_steps(solver: Solver) -> None:
    taken, notes = chosen(solver, seen(2.0))
    assert taken is solver
    assert notes == [
        f"the equations are stiff for {solver.name}: fastest rate 1e+06 1/s over 2 s; stability "
        "alone asks for about 3e+05 steps; radau takes far fewer"
    ]


def test_an_implicit_solver_is_taken_without_a_word() -> None:
    assert chosen(ds.Cvodes(method="bdf"), seen(2.0))[1] == []
