"""Where the gradient of a constraint vanishes, several motions continue: a run ends or goes on."""

import warnings

import casadi as ca
import numpy as np
import pytest

import daesolve as ds


def bead(curve, *, rank_loss="stop", until=5.0, **start):
    """Move a free bead along a plane curve F(x, y) = 0."""
    q = ds.coordinates(x="m", y="m")
    goal = ds.Holonomic("curve", curve(q.x, q.y))
    system = ds.MechanicalSystem(q, kinetic=ca.sumsqr(q.dot.vector) / 2, goals=[goal])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ds.solve(system, until, start, rank_loss=rank_loss)


def lemniscate(x, y):
    """Gerono's, which crosses itself at the origin."""
    return x**4 - x**2 + y**2


EDGE = {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 1.0}


def quarter_length():
    """Return the length of the lemniscate from x = 1 to its node: x = sin s, y = sin s cos s."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s = (nodes + 1.0) * np.pi / 4.0
    return float(np.pi / 4.0 * weights @ np.hypot(np.cos(s), np.cos(2.0 * s)))


def test_a_curve_that_crosses_itself_ends_the_run_at_its_node():
    run = bead(lemniscate, **EDGE)
    assert run.outcome is ds.Outcome.DEGENERATE
    # It ends within the last step before the node, or where the gradient is 1e-5 of its size.
    assert run.end_time == pytest.approx(quarter_length(), abs=0.2)
    assert run.end_time < quarter_length()
    assert run.degeneracy.goals == ("curve",)
    assert "the gradient of the goal 'curve' vanishes" in run.message


@pytest.mark.parametrize("far", [10.0, 1e3])
def test_a_gradient_that_becomes_short_without_turning_round_does_not_end_a_run(far):
    # On x y = 1 the gradient (y, x) is as long as the bead is far; it is shortest at the vertex.
    start = {"x": 1.0 / far, "y": far, "x_dot": 1.0 / far**2, "y_dot": -1.0}
    run = bead(lambda x, y: x * y - 1.0, until=2.0 * far, **start)
    assert run.outcome is ds.Outcome.COMPLETED


def test_a_bead_that_turns_about_a_circle_many_times_ends_no_run():
    start = {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 40.0}
    run = bead(lambda x, y: x**2 + y**2 - 1.0, **start)
    assert run.outcome is ds.Outcome.COMPLETED


BARS = ("left", "left_rod", "right", "right_rod")


def test_all_bars_of_a_linkage_on_one_line_end_its_run():
    run = ds.problem("five-bar").case("falls").solve(0.3)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert np.abs(np.sin([run.end_state[name] for name in BARS])).max() < 1e-4
    assert run.degeneracy.goals == ("joint_x",)


def test_the_linkage_passes_straight_through_where_that_is_asked_for():
    run = ds.problem("five-bar").case("falls").solve(0.3, rank_loss="pass", at=[0.275, 0.2756])
    assert run.outcome is ds.Outcome.COMPLETED
    speeds = [run.states[f"{name}_dot"] for name in BARS]
    # Accelerations are below 40 rad/s^2; the other motion turns three of the bars round.
    assert np.abs(np.diff(speeds, axis=1)).max() < 40.0 * 0.0006
