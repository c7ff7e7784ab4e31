"""Cases export their system with their own values, start and inputs."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from tests.export.modules import loaded


@pytest.mark.slow
def test_a_case_exports_its_own_values_and_start(tmp_path):
    case = ds.problem("rolling-wheel").case("hoop", gravity=9.80)
    module = loaded(case.to_python(tmp_path / "hoop.py", rate=10.0))
    assert module.VALUES["gravity"] == 9.80
    start = case.consistent_start().state
    assert np.array_equal(list(module.START.values()), start)
    run = case.solve(until=1e-3)
    assert module.outputs(0.0, {})[0] == pytest.approx(run["contact_x"][0], abs=1e-15)
    ours = case.system.function("rhs", rate=10.0)(0.0, start, [*case.values.values()])
    assert module.rhs(0.0, {}) == pytest.approx(np.asarray(ours).ravel(), rel=1e-15)
    assert (case.to_c(tmp_path / "hoop") / "hoop.h").exists()


def test_numbers_of_a_case_are_the_defaults_of_its_inputs(tmp_path):
    module = loaded(ds.problem("clutches").case().to_python(tmp_path / "clutches.py"))
    assert module.VALUES["torque"] == 60.0


@pytest.mark.long
def test_goals_that_a_case_drops_are_left_out(tmp_path):
    """Bricard's loop has hinges too many. From rest v(h) = a h, but for a term in h^3."""
    case = ds.problem("bricard").case("benchmark", model="hinges")
    module = loaded(case.to_python(tmp_path / "bricard.py"))
    dynamics = case.system.dynamics
    assert len(module.ENTRIES["jacobian"]) < len(dynamics.rows)
    step = 1e-4
    run = case.solve(until=step, at=[0.0, step])
    rates = module.rhs(0.0, {})[dynamics.position_count :]
    moved = [run.states[n][-1] / step for n in dynamics.labels.states[dynamics.position_count :]]
    assert np.max(np.abs(rates)) > 0.1
    assert rates == pytest.approx(moved, abs=1e-6 * np.max(np.abs(rates)))


def test_a_case_is_written_as_text(tmp_path):
    case = ds.problem("pendulum").case()
    module = case.to_python(tmp_path / "pendulum.py", rate=2.0)
    assert case.written("python", rate=2.0) == module.read_text()
    assert "void pendulum_rhs(" in case.written("c")
    with pytest.raises(ds.errors.OutOfRangeError, match="'python' or 'c'"):
        case.written("fortran")


@pytest.mark.slow
def test_values_are_those_of_the_mode_in_which_the_case_starts(tmp_path):
    """Both clutches stick: three shafts turn as one. 1e-5 s change the rate by less than 1e-5."""
    case = ds.problem("clutches").case("overload")
    module = loaded(case.to_python(tmp_path / "clutches.py"))
    assert module.VALUES["sticks_clutch_1"] == module.VALUES["sticks_clutch_2"] == 1.0
    run = case.solve(until=1e-5, at=[0.0, 1e-5], inputs={"resistance": 0.0})
    moved = run.states["engine_dot"][-1] - run.states["engine_dot"][0]
    found = module.named("rhs", module.rhs(0.0, {}))
    assert found["engine_dot'"] == pytest.approx(moved / 1e-5, rel=1e-5)
    assert found["load_dot'"] == pytest.approx(found["engine_dot'"], rel=1e-14)


def test_a_case_with_piecewise_forces_is_written_in_branches_that_the_state_decides(tmp_path):
    """The switches of a run are none of the module's values."""
    q = ds.coordinates(x="m")
    pull = -ca.if_else(q.x > 0.2, 100 * (q.x - 0.2), 0) - ca.fabs(q.dot.x) * q.dot.x
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": pull})
    problem = ds.Problem(
        "stop", title="Stop", models={"free": lambda: system}, cases=[ds.Case("start", until=1.0)]
    )
    module = loaded(problem.case().to_python(tmp_path / "stop.py"))
    assert not module.VALUES
    for x, speed in ((0.1, 2.0), (0.3, 2.0), (0.3, -2.0)):
        force = -100 * max(x - 0.2, 0.0) - abs(speed) * speed
        assert module.rhs(0.0, [x, speed]) == pytest.approx([speed, force], rel=1e-14)
