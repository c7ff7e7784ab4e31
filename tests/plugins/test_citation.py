from importlib import import_module

import pytest

import daesolve as ds
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.solvers import SOLVERS

PAPERS = import_module("daesolve.plugins.citation")  # `daesolve.citation` is the function


def test_every_formulation_and_every_solver_has_its_papers():
    assert set(PAPERS.literature().formulations) == set(FORMULATIONS)
    assert set(PAPERS.literature().solvers) == set(SOLVERS)


def told(capsys, run=None):
    capsys.readouterr()
    ds.citation(run)
    return capsys.readouterr().out


def test_the_last_run_is_cited_with_its_problem(capsys):
    case = ds.problem("pendulum").case()
    case.solve(until=0.1, formulation=ds.Projected(ds.Index1()), solver=ds.Idas())
    text = told(capsys)
    assert text.startswith("To cite for projected:index-1 with idas:\n  [1] daesolve")
    for name in ("CasADi", "Eich", "Baumgarte", "SUNDIALS", ds.problem("pendulum").sources[0]):
        assert name in text


def test_a_run_on_disk_is_cited_with_its_problem(capsys, tmp_path):
    ds.problem("pendulum").case().solve(until=0.1, store=tmp_path / "run")
    kept = ds.Trajectory.from_run(tmp_path / "run")
    ds.problem("rattleback").case().solve(until=0.01)
    text = told(capsys, kept)
    assert "Biscani" in text
    assert ds.problem("pendulum").sources[0] in text
    assert ds.problem("rattleback").sources[0] not in text


@pytest.mark.slow
def test_a_resumed_run_is_the_last_one_with_its_problem(capsys, tmp_path):
    ds.problem("pendulum").case().solve(until=0.1, store=tmp_path / "run")
    ds.problem("rattleback").case().solve(until=0.01)
    ds.resume(tmp_path / "run", until=0.2)
    text = told(capsys)
    assert ds.problem("pendulum").sources[0] in text
    assert ds.problem("rattleback").sources[0] not in text


def test_what_projection_wraps_is_cited_too(capsys):
    ds.problem("pendulum").case().solve(until=0.1, formulation=ds.Projected())
    text = told(capsys)
    assert "Eich" in text
    assert "Baumgarte" in text


def test_a_system_of_ones_own_is_cited_without_a_problem(capsys):
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    ds.solve(system, until=0.1, initial={"x": 1.0}, solver=ds.Dop853())
    text = told(capsys)
    assert "[6]" in text
    assert "[7]" not in text  # the library, CasADi, two papers of the formulation, two of SciPy's


def test_where_nothing_was_run_it_says_so(monkeypatch):
    monkeypatch.setattr("daesolve.core.results.trajectory.trajectory._latest", [])
    with pytest.raises(ds.DaesolveError, match="nothing has been run yet"):
        ds.citation()
