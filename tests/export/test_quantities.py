"""Quantities by name: they make up the equations, and say what their entries are."""

import math
import pickle

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import (
    OutOfRangeError,
    RedundantConstraintsError,
    UnknownNameError,
    UnsupportedError,
)
from tests.export.plants import controlled, driven, quaternion, switched


def pendulum(**further) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(2.0, "kg"), length=(1.5, "m"), gravity=(9.81, "m/s^2"))
    rod = ds.Holonomic("rod", (q.x**2 + q.y**2 - p.length**2) / 2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[rod],
        outputs={"tension": (-p.length * rod.reaction, "N")},
        **further,
    )


def hanging(angle: float, speed: float) -> dict[str, float]:
    sine, cosine = math.sin(angle), math.cos(angle)
    return {
        "x": 1.5 * sine,
        "y": -1.5 * cosine,
        "x_dot": 1.5 * speed * cosine,
        "y_dot": 1.5 * speed * sine,
    }


def test_quantities_of_a_pendulum_are_those_of_its_closed_form():
    system, state = pendulum(), hanging(0.4, 1.1)
    tension = 2.0 * (9.81 * math.cos(0.4) + 1.5 * 1.1**2)
    assert system.function("outputs").at(state)["tension"] == pytest.approx(tension, rel=1e-14)
    energy = system.function("energy").at(state)
    assert energy["kinetic"] == pytest.approx(2.0 * (1.5 * 1.1) ** 2 / 2, rel=1e-15)
    assert energy["potential"] == pytest.approx(-2.0 * 9.81 * 1.5 * math.cos(0.4), rel=1e-15)
    assert energy["total"] == energy["kinetic"] + energy["potential"]
    # phi'' = -g/l sin(phi), and x'' = l (phi'' cos - phi'^2 sin).
    turning = -9.81 / 1.5 * math.sin(0.4)
    found = system.function("accelerations").at(state)
    wanted = 1.5 * (turning * math.cos(0.4) - 1.1**2 * math.sin(0.4))
    assert found["x_dot'"] == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("pose", [pendulum, driven, quaternion])
def test_mass_forces_influence_jacobian_and_bias_make_up_the_accelerations(pose):
    system = pose()
    names = ("mass_matrix", "forces", "influence", "jacobian", "bias", "accelerations")
    x = np.random.default_rng(2).normal(size=len(system.dynamics.labels.states))
    p = [0.3 if e.default is None else e.default for e in system.function("rhs").inputs["p"].rows]
    m, h, b_, j, b, a = (np.asarray(system.function(name)(0.3, x, p)) for name in names)
    u = np.asarray(system.function("reactions")(0.3, x, p))
    size = np.abs(m) @ np.abs(a) + np.abs(h) + np.abs(b_) @ np.abs(u)
    assert np.all(np.abs(m @ a - h - b_ @ u) <= 1e-14 * size)
    assert np.all(np.abs(j @ a + b) <= 1e-14 * (np.abs(j) @ np.abs(a) + np.abs(b)))


@pytest.mark.slow
def test_entries_have_names_units_kinds_and_defaults():
    found = driven().function("rhs").inputs
    assert found["x"].names == ("x", "y", "x_dot", "y_dot")
    kinds = {entry.name: (entry.unit, entry.kind, entry.default) for entry in found["p"].rows}
    assert kinds["mass"] == ("kg", "parameter", 2.0)
    assert kinds["push"] == ("N", "input", None)
    assert kinds["brake"] == ("N s/m", "input", 0.25)
    assert list(kinds) == ["mass", "stiffness", "push", "brake"]  # nothing of tables
    assert switched().function("rhs").inputs["p"].rows[2].kind == "discrete value"
    jacobian = driven().function("jacobian").outputs["jacobian"]
    assert jacobian.names == ("slot",)
    assert jacobian.columns is not None
    assert [entry.name for entry in jacobian.columns] == ["x_dot", "y_dot"]
    assert [e.kind for e in quaternion().function("rhs").inputs["x"].rows[3:5]] == [
        "coordinate",
        "velocity",
    ]
    assert controlled().function("rhs").inputs["x"].rows[0].kind == "state"


def test_a_function_keeps_its_names_when_it_is_pickled():
    function = pendulum().function("rhs")
    copied = pickle.loads(pickle.dumps(function))
    assert copied.inputs == function.inputs
    assert copied.at(hanging(0.4, 1.1)) == function.at(hanging(0.4, 1.1))


@pytest.mark.parametrize(
    "quantity", ["mass_matrix", "forces", "influence", "jacobian", "bias", "energy"]
)
def test_a_control_system_names_what_it_has_not(quantity):
    with pytest.raises(UnsupportedError, match="a control system has no"):
        controlled().function(quantity)


def test_an_unknown_quantity_is_refused_with_those_that_there_are():
    with pytest.raises(UnknownNameError, match="mass_matrix"):
        pendulum().function("mass")


@pytest.mark.parametrize("rate", [-1.0, math.inf, math.nan, "fast"])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(OutOfRangeError, match="rate"):
        pendulum().function("rhs", rate=rate)


def test_numbers_by_name_are_checked():
    rhs = driven().function("rhs")
    state = dict.fromkeys(("x", "y", "x_dot", "y_dot"), 0.5)
    with pytest.raises(OutOfRangeError, match="'push' is not given"):
        rhs.at(state)
    with pytest.raises(UnknownNameError, match="pusch"):
        rhs.at(state, {"pusch": 1.0})
    with pytest.raises(OutOfRangeError, match="'y_dot' is not given"):
        rhs.at(dict.fromkeys(("x", "y", "x_dot"), 1.0), {"push": 1.0})


def test_goals_that_follow_from_others_are_named():
    q = ds.coordinates(x="m", y="m")
    twice = [ds.Holonomic("once", q.x - q.y), ds.Holonomic("again", 2 * q.x - 2 * q.y)]
    system = ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, goals=twice)
    with pytest.raises(RedundantConstraintsError, match=r"without\(\['again'\]\)"):
        system.function("rhs")
    left = system.without(["again"])
    assert left.function("jacobian").outputs["jacobian"].names == ("once",)


def test_constraints_attract_at_the_rate_that_is_asked_for():
    """f = (x^2 + y^2 - l^2)/2 obeys f'' + 2 r f' + r^2 f = 0 off the constraint, too."""
    system, state = pendulum(), hanging(0.4, 1.1) | {"x": 0.7, "x_dot": 0.2}
    found = system.function("rhs", rate=3.0).at(state)
    x, y, u, v = (state[name] for name in ("x", "y", "x_dot", "y_dot"))
    f, slope = (x**2 + y**2 - 1.5**2) / 2, x * u + y * v
    bend = u**2 + v**2 + x * found["x_dot'"] + y * found["y_dot'"]
    assert bend == pytest.approx(-6.0 * slope - 9.0 * f, rel=1e-13)
