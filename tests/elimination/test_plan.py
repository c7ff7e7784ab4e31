import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import UnknownNameError
from tests.reference.rolling_wheel import hoop_reactions

CASE = ds.problem("rolling-wheel").case("hoop")


def test_exported_accelerations_and_reactions_are_those_of_the_reduced_equation():
    run = CASE.solve(until=10.0, at=[0.0, 3.3, 10.0])
    values = list(CASE.full_parameters.values())
    expected = hoop_reactions(run["contact_x"], run["speed"])
    accelerations, reactions = (
        CASE.system.function(name) for name in ("accelerations", "reactions")
    )
    for index in range(3):
        state = [run.states[name][index] for name in run.states]
        found = np.concatenate(
            [np.asarray(f(0.0, state, values)).ravel() for f in (accelerations, reactions)]
        )
        names = ("x_ddot", "z_ddot", "theta_ddot", "reaction_x", "reaction_z", "torque")
        wanted = np.array([expected[name][index] for name in names])
        assert found == pytest.approx(wanted, rel=1e-11, abs=1e-12)


def test_the_right_hand_side_exports_as_c(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = ca.CodeGenerator("equations.c")
    generator.add(CASE.system.function("rhs"))
    generator.generate()
    assert "rhs" in (tmp_path / "equations.c").read_text()


def test_an_unknown_quantity_is_named():
    with pytest.raises(UnknownNameError, match="accelerations"):
        CASE.system.function("acceleration")
