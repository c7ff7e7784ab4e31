from functools import cache

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import UnknownNameError
from tests.reference.rolling_wheel import hoop_reactions


@cache
def hoop():
    return ds.problem("rolling-wheel").case("hoop")


def test_exported_accelerations_and_reactions_are_those_of_the_reduced_equation():
    run = hoop().solve(until=10.0, at=[0.0, 3.3, 10.0])
    values = list(hoop().full_parameters.values())
    expected = hoop_reactions(run["contact_x"], run["speed"])
    accelerations, reactions = (
        hoop().system.function(name) for name in ("accelerations", "reactions")
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
    generator.add(hoop().system.function("rhs"))
    generator.generate()
    assert "rhs" in (tmp_path / "equations.c").read_text()


def test_an_unknown_quantity_is_named():
    with pytest.raises(UnknownNameError, match="accelerations"):
        hoop().system.function("acceleration")


@pytest.mark.parametrize("light", [1e-6, 1e-10])
@pytest.mark.parametrize("since", [0.0, 1.0])
def test_a_light_body_moves_with_its_partner_whenever_it_is_pushed(light, since):
    """Its own acceleration, if freed, is a million times that of both: 0.5 N over 1 kg."""
    q = ds.coordinates(x="m", w="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + light * q.dot.w**2) / 2,
        goals=[ds.Holonomic("tie", q.w - q.x)],
        force={"w": ca.if_else(ds.time >= since, 0.5, 0.0)},
    )
    run = ds.solve(system, 4.0, {"x": 0.0, "x_dot": 0.0}, max_evaluations=1000)
    assert run.outcome is ds.Outcome.COMPLETED
    for name in ("x_dot", "w_dot"):
        assert run.end_state[name] == pytest.approx(0.5 * (4.0 - since) / (1 + light), rel=1e-13)
