"""Kept volumes against closed forms of the literature, and against shrinking motions."""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.analysis import invariant_measure, reducing_multiplier
from daesolve.errors import (
    DegenerateStartError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
    UnsupportedError,
)
from tests.nonholonomic.tables import ball


def on_a_rail(stiffness=0.0):
    """z' = y x', with a spring along x."""
    q = ds.coordinates(x="m", y="", z="m")
    energy = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2
    rail = ds.Nonholonomic("rail", q.dot.z - q.y * q.dot.x)
    return ds.MechanicalSystem(q, kinetic=energy, potential=stiffness * q.x**2 / 2, goals=[rail])


def system(name, **choices):
    return ds.problem(name).case(**choices).system


def test_a_rail_keeps_a_density_in_closed_form() -> None:
    # (1 + y^2) x'' + y x' y' = 0: div = -y y' / (1 + y^2), so that rho = sqrt(1 + y^2).
    found = invariant_measure(on_a_rail(), velocities=["x_dot", "y_dot"])
    assert found.exists is True
    assert found.evidence == "proved"
    for y in (-2.0, 0.3, 1.0):
        assert found.ratio({"y": y, "x": 0.4}, {}) == pytest.approx(math.hypot(1.0, y), rel=1e-12)
        assert found.gradient({"y": y})["y"] == pytest.approx(y / (1 + y * y), rel=1e-13)


@pytest.mark.slow
def test_chaplygins_ball_keeps_his_density() -> None:
    # In the angular velocity: rho = sqrt(1 - D (g, A g)), A = (I + D)^-1, D = m R^2, g vertical;
    # Chaplygin's 1 / sqrt(...) in the angular momentum, times the determinant between the two.
    inertia, heaviness = np.array([0.2, 0.3, 0.4]), 0.9 * 0.8**2
    solved = ball(tuple(inertia), rubber=False).system
    found = invariant_measure(solved, velocities=["wx", "wy", "wz"], at={"w": 1.0})
    assert found.exists is True
    quaternion = ca.SX.sym("q", 4)
    w, axis = quaternion[0], quaternion[1:]
    up = ca.DM([0, 0, 1])
    vertical = up - 2 * w * ca.cross(axis, up) + 2 * ca.cross(axis, ca.cross(axis, up))
    square = 1 - heaviness * ca.dot(vertical, vertical / (ca.DM(inertia) + heaviness))
    rate = ca.Function("rate", [quaternion], [ca.gradient(ca.log(square) / 2, quaternion)])
    generator = np.random.default_rng(1)
    for _ in range(5):
        at = generator.normal(size=4)
        at /= np.linalg.norm(at)
        names = dict(zip("wijk", at, strict=True))
        own = np.array([found.gradient(names)[name] for name in "wijk"])
        aside = np.linalg.qr(np.column_stack([at, generator.normal(size=(4, 3))]))[0][:, 1:]
        expected = np.array(rate(at)).ravel()
        # Rounding of symbolic derivatives of order ten, each of a few hundred operations.
        assert np.max(np.abs((own - expected) @ aside)) < 1e-11
    with pytest.raises(UnsupportedError, match="bind the positions"):
        found.ratio({"w": 1.0}, {"i": 1.0})


@pytest.mark.slow
def test_known_systems_keep_a_volume() -> None:
    for name in ("knife-edge", "rolling-disc", "pendulum"):
        found = invariant_measure(system(name))
        assert (found.exists, found.evidence) == (True, "proved"), name
    centred = invariant_measure(system("chaplygin-sleigh"), parameters={"centre": 0.0})
    assert (centred.exists, centred.evidence) == (True, "proved at these parameters")


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("cart")
@pytest.mark.parametrize("name", ["chaplygin-sleigh", "bogies", "cart", "unicycle"])
def test_known_systems_keep_none_at_all(name: str) -> None:
    found = invariant_measure(system(name))
    assert (found.exists, found.none_at_all, found.evidence) == (False, True, "refuted")
    with pytest.raises(UnsupportedError, match="no density"):
        found.gradient({})


@pytest.mark.slow
def test_the_sleigh_has_none_by_its_reduced_equations_either() -> None:
    # u' = a w^2, w' = -m a u w / (I + m a^2): straight motion is a point of rest with div != 0.
    x = ds.states(u="m/s", w="rad/s")
    p = ds.parameters(lag=(0.5, "1/m"))
    sleigh = ds.ControlSystem(x, {"u": 0.1 * x.w**2, "w": -p.lag * x.u * x.w}, p)
    found = invariant_measure(sleigh)
    assert (found.exists, found.none_at_all) == (False, True)
    assert "w = 0" in found.said
    assert invariant_measure(sleigh, parameters={"lag": 0.0}).exists is True


def test_the_bogies_attracting_motion_says_what_brackets_say() -> None:
    # The multiplier of the circle map at its fixed point: a second route to "none at all".
    found = invariant_measure(on_a_rail(), multipliers=[0.48234060450977])
    assert (found.exists, found.none_at_all) == (False, True)
    assert "0.482341" in found.said
    assert invariant_measure(on_a_rail(), multipliers=[2.0, 0.5]).exists is True


@pytest.mark.slow
def test_a_rattleback_that_spins_has_none_by_its_eigenvalues_either() -> None:
    # Upright spinning at w3 is steady up to the turn: small motions of it shrink or grow volumes.
    spinning = system("rattleback")
    found = invariant_measure(spinning)
    assert (found.exists, found.none_at_all) == (False, False)  # it has weight: no rest everywhere
    spun = ds.analysis.linearize(
        spinning, {"w3": 5.0, "z": -0.01}, coordinates=("alpha", "beta", "w1", "w2", "w3")
    )
    shrunk = invariant_measure(spinning, eigenvalues=spun.eigenvalues)
    assert (shrunk.exists, shrunk.none_at_all) == (False, True)


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_friction_shrinks_every_volume(friction: float) -> None:
    q = ds.coordinates(angle=ds.ANGLE)
    p = ds.parameters(friction=(friction, "N m s"))
    swing = ds.MechanicalSystem(
        q, p, kinetic=q.dot.angle**2 / 2, force={"angle": -p.friction * q.dot.angle}
    )
    found = invariant_measure(swing)
    assert found.exists is (friction == 0.0)
    assert found.none_at_all is (friction > 0.0)


@pytest.mark.slow
def test_candidates_give_volterras_density_and_eulers_volume() -> None:
    x = ds.states(prey="", hunters="")
    rates = {"prey": x.prey * (1 - x.hunters), "hunters": x.hunters * (x.prey - 1)}
    logs = [ca.log(ca.fabs(x.prey)), ca.log(ca.fabs(x.hunters))]
    found = invariant_measure(ds.ControlSystem(x, rates), candidates=logs)
    assert (found.exists, found.evidence) == (True, "proved")
    # rho = 1 / (prey hunters)
    assert found.ratio({"prey": 2.0, "hunters": 3.0}, {"prey": 1.0, "hunters": 1.0}) == (
        pytest.approx(1.0 / 6.0, rel=1e-12)
    )
    # With other rates no density is smooth at the origin; 1 / (prey hunters) is none there.
    faster = ds.ControlSystem(x, {**rates, "prey": 2.0 * x.prey * (1 - x.hunters)})
    assert invariant_measure(faster, candidates=logs).exists is True
    assert invariant_measure(faster).none_at_all is True
    own = invariant_measure(ds.ControlSystem(x, rates), candidates=[x.prey**2])
    assert own.exists is None
    x = ds.states(a="", b="", c="")
    top = {"a": 0.3 * x.b * x.c, "b": -0.5 * x.a * x.c, "c": 0.2 * x.a * x.b}
    found = invariant_measure(ds.ControlSystem(x, top))
    assert (found.exists, found.evidence, found.said[:17]) == (True, "proved", "the volume itself")


def test_reducing_multipliers_are_chaplygins() -> None:
    found = reducing_multiplier(on_a_rail(), ["x", "y"])
    assert (found.exists, found.evidence) == (True, "proved")
    assert found.ratio({"y": 1.3}, {}) == pytest.approx(1.0 / math.hypot(1.0, 1.3), rel=1e-12)
    edge = reducing_multiplier(system("knife-edge"), ["x", "phi"])
    assert edge.ratio({"phi": 1.0}, {}) == pytest.approx(math.cos(1.0), rel=1e-12)
    sleigh = reducing_multiplier(system("chaplygin-sleigh"), ["x", "phi"])
    assert sleigh.exists is False
    assert sleigh.curl > 0.1


def test_in_chaplygins_time_the_rail_moves_by_lagranges_equations() -> None:
    # d tau = N dt with L = T*(y, N dx/d tau, N dy/d tau), integrated as a system of its own.
    # T* = ((1 + y^2) x'^2 + y'^2) / 2, N^2 = 1 / (1 + y^2); y = c t, tau = asinh(c t) / c.
    c, until = 1.1, 2.0
    run = ds.solve(on_a_rail(), until, {"x_dot": 0.7, "y_dot": c})
    q = ds.coordinates(x="m", y="")
    own = ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2 / (1 + q.y**2)) / 2)
    end = ds.solve(own, math.asinh(c * until) / c, {"x_dot": 0.7, "y_dot": c}).end_state
    assert end["x"] == pytest.approx(run.end_state["x"], abs=1e-11)
    assert end["y"] == pytest.approx(run.end_state["y"], abs=1e-11)


@pytest.mark.slow
def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(OutOfRangeError, match="two coordinates"):
        reducing_multiplier(on_a_rail(), ["x"])
    with pytest.raises(DegenerateStartError, match="do not determine"):
        reducing_multiplier(on_a_rail(), ["x", "z"])
    with pytest.raises(OutOfRangeError, match="contain 'x'"):
        reducing_multiplier(on_a_rail(2.0), ["y", "z"])
    with pytest.raises(UnknownNameError, match="velocity"):
        invariant_measure(on_a_rail(), velocities=["x_dot", "v"])
    with pytest.raises(OutOfRangeError, match="leave 2"):
        invariant_measure(on_a_rail(), velocities=["x_dot"])
    with pytest.raises(PosingError, match="contain time"):
        invariant_measure(system("roller-racer", model="torque"))


def test_the_command_says_whether_a_volume_is_kept() -> None:
    told = ds.problem("knife-edge").case().analyse("invariant-measure").values
    assert (told["exists"], told["evidence"]) == (True, "proved")
    assert set(told["gradient_of_log_density"]) == {"x", "y", "phi"}
    told = ds.problem("bogies").case().analyse("invariant-measure").values
    assert (told["exists"], told["none_at_all"]) == (False, True)
    assert told["gradient_of_log_density"] is None
