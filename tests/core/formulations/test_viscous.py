"""Friction in place of constraints: near to the constrained motion, and never without a word."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.cli import options
from daesolve.core.formulations import Viscous
from daesolve.errors import OutOfRangeError, UnsupportedError
from tests.bogie_cart import LIMIT, MASS, PASSING, cart, collapsing, farthest, near_miss, state
from tests.systems import pendulum, wheel, wheel_state

BDF = ds.Cvodes(method="bdf")


def regular():
    return state(np.array([0.0, 0.0, 0.2, 0.3, -0.5], dtype=np.longdouble), (0.9, -0.4))


@pytest.mark.slow
def test_far_from_degenerate_points_the_error_is_the_mobility():
    known = ds.solve(cart(), 0.2, regular(), at=[0.2]).end_state
    errors = [
        farthest(
            ds.solve(
                cart(), 0.2, regular(), at=[0.2], formulation=Viscous(mobility), solver=BDF
            ).end_state,
            known,
        )
        for mobility in (1e-4, 1e-5, 1e-6)
    ]
    # the slip is mobility * reaction, and friction is of first order in it
    slopes = np.diff(np.log10(errors))
    assert slopes == pytest.approx([-1.0, -1.0], abs=0.02)


@pytest.mark.slow_rows("0.025-1e-07", "0.1-1e-06")
@pytest.mark.parametrize(("distance", "mobility"), [(0.1, 1e-6), (0.05, 1e-6), (0.025, 1e-7)])
def test_the_error_after_a_near_miss_grows_as_its_distance_cubed_falls(distance, mobility):
    """The mobility of a unit mass over distance^3, times 4 to 6."""
    start, end = near_miss(distance)
    run = ds.solve(
        cart(),
        0.3,
        start,
        start_time=-0.3,
        formulation=Viscous(mobility / MASS),
        solver=BDF,
        at=[0.3],
    )
    assert run.outcome is ds.Outcome.COMPLETED
    velocities = ("v_1", "v_2", "psi_dot")
    error = farthest(run.end_state, {name: end[name] for name in velocities})
    assert 4.0 < error / (mobility / distance**3) < 6.0


@pytest.mark.core
def test_a_reaction_is_the_slip_over_the_mobility():
    run = ds.solve(cart(), 0.2, regular(), formulation=Viscous(1e-3), solver=BDF, at=[0.1, 0.2])
    known = ds.solve(cart(), 0.2, regular(), at=[0.1, 0.2])
    for k, arm in ((1, 1.0), (2, -0.8)):
        slip = np.cos(run[f"theta_{k}"]) * (run["v_1"] - arm * run["psi_dot"])
        slip += np.sin(run[f"theta_{k}"]) * run["v_2"]
        np.testing.assert_allclose(run.reactions[f"skate_{k}"], -slip / 1e-3, rtol=1e-9)
        # and near to the multiplier, of which it is an approximation of first order
        np.testing.assert_allclose(
            run.reactions[f"skate_{k}"], known.reactions[f"skate_{k}"], atol=0.1
        )


def test_what_friction_takes_is_metered():
    run = ds.solve(cart(), 0.2, regular(), formulation=Viscous(1e-3), solver=BDF, at=[0.2])
    assert run.drift["energy"].max_relative < 1e-8
    assert run.outputs["work"][-1] < 0.0
    assert "friction" in run.drift["skate_1"].note
    assert not run.drift["skate_1"].driven


def test_a_meter_of_a_reaction_is_near_to_that_of_the_constraint():
    """Uphill at 0.3 m/s^2 and turning at 1/s, a sleigh slows down as u' = -0.3 cos t, and its skate
    pushes with u - 0.3 sin t: 1 - 0.6 (1 - cos 1) J in the first second."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    skate = ds.Nonholonomic("skate", q.dot.y * ca.cos(q.phi) - q.dot.x * ca.sin(q.phi))
    sleigh = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.phi**2) / 2,
        potential=0.3 * q.x,
        goals=[skate],
        meters={"side": (skate.reaction * q.dot.phi, "J")},
    )
    start = {"x_dot": 1.0, "phi_dot": 1.0}
    errors = [
        ds.solve(sleigh, 1.0, start, at=[1.0], formulation=Viscous(mobility), solver=BDF)["side"][0]
        - (1.0 - 0.6 * (1.0 - np.cos(1.0)))
        for mobility in (1e-3, 1e-4)
    ]
    # friction is of first order in the mobility
    assert np.log10(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.02)
    assert abs(errors[1]) < 2e-4


@pytest.mark.slow
def test_a_collapse_is_left_in_a_way_that_the_friction_chooses():
    """The run goes on, says what it depends on, and comes out elsewhere with another mobility."""
    runs = [
        ds.solve(
            cart(),
            0.5,
            collapsing(),
            start_time=-1.0,
            at=[-0.02, 0.5],
            solver=BDF,
            formulation=Viscous(mobility),
        )
        for mobility in (1e-5, 1e-6)
    ]
    ends = []
    for run in runs:
        assert run.outcome is ds.Outcome.COMPLETED
        assert run["psi_dot"][0] == pytest.approx(LIMIT, abs=0.05)
        assert any("depends on the mobility" in note for note in run.description["notes"])
        ends.append(run["psi_dot"][1])
    assert abs(ends[0] - ends[1]) > 1e-3


def test_a_rank_loss_may_ask_for_it():
    start, _ = near_miss(0.05)
    run = ds.solve(cart(), -0.2, start, start_time=-0.3, rank_loss="viscous", at=[-0.2])
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.description["formulation"] == "viscous:1e-06"
    assert run.description["solver"] == "radau"


def test_a_degenerate_start_is_none_for_friction():
    start = state(np.array([0.0, 0.0, 0.0, 1.2, 1.4], dtype=np.longdouble), PASSING)
    start |= {"theta_1": np.pi / 2, "theta_2": np.pi / 2}
    run = ds.solve(cart(), 1e-3, guess=start, rank_loss="viscous", at=[1e-3], solver=BDF)
    assert run.outcome is ds.Outcome.COMPLETED


def test_another_formulation_besides_is_refused():
    with pytest.raises(UnsupportedError, match="leave one of them out"):
        ds.solve(cart(), 1.0, regular(), rank_loss="viscous", formulation=ds.Feedback())


@pytest.mark.parametrize("mobility", [0.0, -1.0, np.inf, "much", True])
def test_a_mobility_is_a_positive_number(mobility):
    with pytest.raises(OutOfRangeError, match="mobility"):
        Viscous(mobility)


def test_a_rate_of_a_skate_has_no_meaning():
    with pytest.raises(UnsupportedError, match="skate_1"):
        ds.solve(cart(), 1.0, regular(), formulation=Viscous(rates={"skate_1": 5.0}))


def test_constraints_on_positions_alone_are_refused():
    with pytest.raises(UnsupportedError, match="the system has none"):
        ds.solve(pendulum(), 1.0, {"x": -1.0}, formulation=Viscous())


def test_directed_reactions_are_refused():
    with pytest.raises(UnsupportedError, match="viscous"):
        ds.solve(wheel(), 1.0, wheel_state(0.1, 1.0), formulation=Viscous())


@pytest.mark.slow
def test_constraints_on_positions_are_held():
    """A skate on a rod: the point moves on a circle, and the skate's normal is along the radius."""
    q = ds.coordinates(x="m", y="m", turn=ds.ANGLE)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + 0.1 * q.dot.turn**2) / 2,
        goals=[
            ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0),
            ds.Nonholonomic("wheel", q.x * q.dot.y - q.y * q.dot.x - 0.5 * q.dot.turn),
        ],
    )
    start = {"x": 1.0, "y": 0.0, "turn": 0.0, "turn_dot": 2.0}
    run = ds.solve(system, 1.0, start, formulation=Viscous(1e-7), solver=BDF, at=[1.0])
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.drift["rod"].max_abs < 1e-8
    assert abs(run["x"][0] - np.cos(1.0)) < 1e-5
    assert abs(run["y"][0] - np.sin(1.0)) < 1e-5


def test_the_command_line_tells_the_mobility():
    assert options.formulation("viscous:1e-7", []) == Viscous(1e-7)
    assert options.formulation("viscous", []) == Viscous()
    with pytest.raises(OutOfRangeError, match="viscous:MOBILITY"):
        options.formulation("viscous:some", [])
