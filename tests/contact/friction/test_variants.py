"""The equations for the reactions of supports, however a system is posed."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.friction import Support, VariantPair, variant_problem
from daesolve.errors import OutOfRangeError, PosingError
from tests.sliding_bodies import BLOCK, block


def train(*, quasi: bool = False, rise: float = 0.0) -> ds.MechanicalSystem:
    """A prism in a guide along x that a rod ties to a car; quasi-velocities mix the rates."""
    q = ds.coordinates(x="m", y="m", phi="rad", car="m")
    lifted = rise * ds.time
    c, s = ca.cos(q.phi), ca.sin(q.phi)

    def support(a, side):
        b = -0.5 * side
        return Support(
            point=(q.x + a * c - b * s, q.y - lifted + a * s + b * c),
            normal=(0.0, side),
            friction=0.2,
        )

    more = {}
    if quasi:
        v = ds.velocities(u="m/s", w="m/s", turn="rad/s", drive="m/s")
        more = {
            "velocities": v,
            "kinematics": ca.vertcat(2.0 * v.u + v.turn, v.w, v.turn, v.drive - v.u),
        }
    return ds.MechanicalSystem(
        q,
        kinetic=(2.0 * (q.dot.x**2 + q.dot.y**2) + q.dot.phi**2 + 3.0 * q.dot.car**2) / 2,
        force=[0.0, -20.0, 4.0, 0.0] if quasi else {"y": -20.0, "phi": 4.0},
        goals=[
            ds.Holonomic("rod", q.car - q.x - 1.0),
            ds.Holonomic("height", q.y - lifted, ideal=False, scale=1.0),
            ds.Holonomic("turn_", q.phi, ideal=False, scale=1.0),
        ],
        pairs=[
            VariantPair(n, [support(a, -1.0), support(a, 1.0)])
            for n, a in (("rear", -1.0), ("front", 1.0))
        ],
        **more,
    )


def test_an_ideal_rod_besides_shares_the_acceleration():
    """Both lower supports carry: N = 10 -+ (4 + f b P)/2 as without the rod, over both masses."""
    found = variant_problem(train()).solve(
        {"x": 0.0, "car": 1.0, "y": 0.0, "phi": 0.0, "x_dot": 1.0}
    )
    assert found.chosen is not None
    assert found.chosen.variant == (2, 2)
    rear, front = found.chosen.reactions
    assert rear + front == pytest.approx(20.0, rel=1e-14)
    # Moments about the mass centre: -N_1 + N_2 + M - f (N_1 + N_2) / 2 = 0.
    assert front - rear == pytest.approx(-4.0 + 0.2 * 20.0 * 0.5, rel=1e-13)
    (accelerations,) = found.accelerations
    assert accelerations["x_dot"] == pytest.approx(-0.2 * 20.0 / 5.0, rel=1e-13)
    assert accelerations["car_dot"] == pytest.approx(accelerations["x_dot"], rel=1e-13)


def test_quasi_velocities_pose_the_same_equations():
    plain, quasi = (variant_problem(train(quasi=choice)) for choice in (False, True))
    state = {"x": 0.0, "car": 1.0, "y": 0.0, "phi": 0.0}
    one = plain.at({**state, "x_dot": 1.0, "car_dot": 1.0}).complementarity
    other = quasi.at({**state, "u": 0.5, "drive": 1.5}).complementarity
    for name in ("first", "second", "load"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-14)


@pytest.mark.long
def test_a_guide_that_rises_at_a_constant_rate_changes_nothing_but_the_frame():
    start = {"x": 0.0, "car": 1.0, "y": 0.0, "phi": 0.0}
    solver = ds.Dop853(rtol=1e-12, atol=1e-14)
    still, rising, ended = (
        ds.solve(train(rise=rise), until, {**start, "x_dot": 2.0}, solver=solver, at=[1.0])
        for rise, until in ((0.0, 1.0), (0.4, 1.0), (0.4, 5.0))
    )
    assert rising["x"][0] == pytest.approx(still["x"][0], rel=1e-11)
    assert rising["y"][0] == pytest.approx(0.4, rel=1e-11)
    assert rising["rear"][0] == pytest.approx(still["rear"][0], rel=1e-9)
    assert ended.events[-1].name == "at_rest"
    assert ended.end_state["y_dot"] == pytest.approx(0.4, rel=1e-11)


def test_a_state_at_rest_needs_a_direction():
    problem = variant_problem(BLOCK())
    rest = {"x": 0.0, "y": 0.0, "x_dot": 0.0}
    with pytest.raises(OutOfRangeError, match="give the direction"):
        problem.solve(rest)
    up = problem.solve(rest, direction={"x_dot": 1.0}).accelerations[0]["x_dot"]
    down = problem.solve(rest, direction={"x_dot": -7.0}).accelerations[0]["x_dot"]
    g, c, s = 9.81, np.cos(0.2), np.sin(0.2)
    assert (up, down) == pytest.approx((-g * (s + 0.4 * c), -g * (s - 0.4 * c)), rel=1e-13)


def test_parameters_and_other_values_count():
    problem = variant_problem(BLOCK(), {"gravity": 1.0})
    found = problem.solve({"x": 0.0, "y": 0.0, "x_dot": 1.0}).chosen
    assert found is not None
    assert found.reactions[0] == pytest.approx(2.0 * np.cos(0.2), rel=1e-14)
    other = problem.with_numbers(variant_problem(BLOCK(), {"gravity": 3.0}).numbers)
    again = other.solve({"x": 0.0, "y": 0.0, "x_dot": 1.0}).chosen
    assert again is not None
    assert again.reactions[0] == pytest.approx(6.0 * np.cos(0.2), rel=1e-14)


def test_a_report_lists_every_variant():
    told = variant_problem(block()).report({"x": 0.0, "y": 0.0, "x_dot": 1.0})
    assert [entry["variant"] for entry in told["answers"]] == [[1], [2]]
    assert [entry["valid"] for entry in told["answers"]] == [False, True]
    assert (told["count"], told["chosen"], told["degree"], told["w_property"]) == (1, [2], 1, True)


def test_a_system_without_pairs_is_refused():
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="has no pairs of supports"):
        variant_problem(ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2))
