"""Every formulation on every solver that takes it: the same system, the same answer.

Three problems over 10 s against a closed form or a quadrature. ODE formulations are to meet 1e-6 at
a tolerance of 1e-9, index 1 1e-5 at 1e-9, index 2, GGL and the overdetermined form 1e-4 at 1e-7,
index 3 1e-3 at 1e-9. Errors are differences of states, over the largest value where that exceeds 1.
"""

from __future__ import annotations

import functools

import pytest

import daesolve as ds
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.solvers import SOLVERS

from .reference.chaplygin_sleigh import sleigh_states
from .reference.pendulum import pendulum_states
from .reference.slider_crank import slider_crank_states
from .systems import WITHOUT_ASSIMULO

END = 10.0
BOUNDS = {
    "feedback": (1e-9, 1e-6),
    "null-space": (1e-9, 1e-6),
    "projected": (1e-9, 1e-6),
    "index-1": (1e-9, 1e-5),
    "index-1 with a rate of 10": (1e-9, 1e-5),
    "index-2": (1e-7, 1e-4),
    "ggl": (1e-7, 1e-4),
    "index-3": (1e-9, 1e-3),
    "overdetermined": (1e-7, 1e-4),
}
"""The tolerance, and the error that is allowed."""
FORMULATED = {name: kind() for name, kind in FORMULATIONS.items()}
FORMULATED["index-1 with a rate of 10"] = ds.Index1(rate=10.0)
PAIRS = [
    (formulation, solver)
    for formulation in BOUNDS
    for solver, kind in SOLVERS.items()
    if FORMULATED[formulation].form in kind.forms
]


def of_the_core() -> list[tuple[str, str]]:
    """Choose pairs so that every solver and every formulation is in one."""
    by_solver = {solver: formulation for formulation, solver in reversed(PAIRS)}
    by_formulation = {
        formulation: solver for formulation, solver in reversed(PAIRS) if solver != "taylor"
    }
    pairs = [(formulation, solver) for solver, formulation in by_solver.items()]
    return list(dict.fromkeys([*pairs, *by_formulation.items()]))


CORE = of_the_core()


@functools.cache
def case(problem: str):
    return ds.problem(problem).case()


@functools.cache
def truth(problem: str) -> dict[str, float]:
    """The states at the end, from outside of the library."""
    if problem == "slider-crank":
        table = slider_crank_states()
        last = list(table["times"]).index(END)
        return {name: float(v[last]) for name, v in table.items() if name != "times"}
    found = pendulum_states([END], -1.0, 0.0) if problem == "pendulum" else sleigh_states([END])
    states = case(problem).system.dynamics.labels.states
    return {name: float(found[name][0]) for name in states if name in found}


@pytest.mark.default_rows(10)
@pytest.mark.slow_rows("index-3 sundae-ida", "index-1 sundae-ida")
@pytest.mark.core
@pytest.mark.parametrize(("formulation", "solver"), CORE, ids=map(" ".join, CORE))
def test_every_formulation_and_every_solver_finds_the_motion_of_a_pendulum(formulation, solver):
    check_the_end("pendulum", formulation, solver)


@pytest.mark.long_rows("index-3 sundae-ida-slider-crank")
@pytest.mark.long_beyond(26)
@pytest.mark.slow
@pytest.mark.parametrize("problem", ["pendulum", "slider-crank", "chaplygin-sleigh"])
@pytest.mark.parametrize(("formulation", "solver"), PAIRS, ids=map(" ".join, PAIRS))
def test_every_pair_finds_the_same_motion(formulation, solver, problem):
    check_the_end(problem, formulation, solver)


def check_the_end(problem: str, formulation: str, solver: str) -> None:
    """Run a pair, and compare its last state with that from outside of the library."""
    if WITHOUT_ASSIMULO and solver.startswith("assimulo"):
        pytest.skip("Assimulo is not installed")
    tolerance, bound = BOUNDS[formulation]
    kind = SOLVERS[solver]
    made = kind(tolerance) if solver == "taylor" else kind(rtol=tolerance, atol=tolerance)  # type: ignore[call-arg]
    run = case(problem).solve(END, formulation=FORMULATED[formulation], solver=made, at=[END])
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    expected = truth(problem)
    assert len(expected) >= 3
    for name, value in expected.items():
        assert abs(run.end_state[name] - value) <= bound * max(1.0, abs(value)), name


def test_every_formulation_has_a_solver_and_every_solver_a_formulation():
    taken = {form for kind in SOLVERS.values() for form in kind.forms}
    assert {formulation.form for formulation in FORMULATED.values()} == taken


@pytest.mark.core
def test_every_formulation_and_every_solver_is_in_the_core():
    """Friction in place of constraints has another motion, and core tests in files of its own."""
    assert {solver for _, solver in CORE} == set(SOLVERS)
    assert {formulation for formulation, _ in CORE} - {"index-1 with a rate of 10"} == (
        set(FORMULATIONS) - {"viscous", "regularised"}
    )
