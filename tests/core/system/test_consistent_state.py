"""The public `consistent_state`: nearest in the metric of the masses, with what happens there."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.system.consistent_state import consistent_state
from daesolve.errors import (
    ContradictoryGoalsError,
    InconsistentStateError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
)
from tests.systems import (
    EPSILON,
    four_bar_state,
    four_bar_windows,
    free_body,
    pendulum,
    wheel,
    wheel_state,
)


def pair(light=1.0, heavy=3.0, goals=None):
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(light * q.dot.x**2 + heavy * q.dot.y**2) / 2,
        goals=[ds.Holonomic("link", q.x - q.y)] if goals is None else goals(q),
    )


def test_two_masses_meet_in_their_centre_of_mass_and_keep_their_momentum():
    found = consistent_state(pair(1.0, 3.0), {"x": 0.0, "y": 1.0, "x_dot": 4.0})
    assert found.state == pytest.approx(
        {"x": 0.75, "y": 0.75, "x_dot": 1.0, "y_dot": 1.0}, rel=8 * EPSILON
    )


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.floats(0.1, 10.0), st.floats(0.3, 3.0),
    st.floats(0.3, 3.0),
)  # fmt: skip
@pytest.mark.slow
def test_no_state_of_an_ellipse_is_nearer_in_the_metric_of_the_masses(x, y, heavy, a, b):
    system = pair(1.0, heavy, lambda q: [ds.Holonomic("ring", (q.x / a) ** 2 + (q.y / b) ** 2 - 1)])
    if np.hypot(x / a, y / b) < 0.2:
        return  # near the centre the nearest state of the neighbourhood need not be nearest of all
    found = consistent_state(system, {"x": x, "y": y})
    angle = np.arctan2(found.state["y"] / b, found.state["x"] / a)

    def distance(turn):
        points = a * np.cos(angle + turn) - x, b * np.sin(angle + turn) - y
        return np.hypot(points[0], np.sqrt(heavy) * points[1])

    beside = np.array([-1e-2, -1e-3, -1e-4, 1e-4, 1e-3, 1e-2])
    assert np.all(distance(beside) >= distance(0.0) * (1 - 1e-12))


def test_a_guess_on_an_axis_of_symmetry_does_not_end_where_the_distance_is_largest():
    """x^2/4 + y^2 = 1 from (0.1, 0), y weighing 3: 4 cos^2 - 0.4 cos + 3 sin^2 is least at 0.2."""
    system = pair(1.0, 3.0, lambda q: [ds.Holonomic("ring", q.x**2 / 4 + q.y**2 - 1)])
    found = consistent_state(system, {"x": 0.1, "y": 0.0})
    assert found.state["x"] == pytest.approx(0.4, abs=1e-7)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_state_does_not_depend_on_the_unit_of_a_coordinate(unit):
    """The same pair with y in other units: its inertia goes with the square."""
    q = ds.coordinates(x="m", y="")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + 3 * (unit * q.dot.y) ** 2) / 2,
        goals=[ds.Holonomic("ring", q.x**2 + (unit * q.y) ** 2 - 1)],
    )
    found = consistent_state(system, {"x": 1.0, "y": 1.0 / unit, "x_dot": 1.0})
    right = consistent_state(
        pair(1.0, 3.0, lambda q: [ds.Holonomic("ring", q.x**2 + q.y**2 - 1)]),
        {"x": 1.0, "y": 1.0, "x_dot": 1.0},
    )
    # the nearest state is found to 1e-9 of the displacement over one minus its curvature
    for name in ("x", "x_dot"):
        assert found.state[name] == pytest.approx(right.state[name], abs=1e-8)
    for name in ("y", "y_dot"):
        assert found.state[name] * unit == pytest.approx(right.state[name], abs=1e-8)


def test_a_rolling_hoop_splits_speed_and_spin_like_an_impact():
    """Slip v, no spin: the impulse m (1 - s) v r = m r^2 w and s v = r w leave s = 1/2."""
    on_curve = wheel_state(0.0, 0.0)
    cosine = wheel_state(0.0, 1.0)["x_dot"]
    sine = wheel_state(0.0, 1.0)["z_dot"]
    found = consistent_state(wheel(), on_curve | {"x_dot": cosine, "z_dot": sine})
    assert np.hypot(found.state["x_dot"], found.state["z_dot"]) == pytest.approx(0.5, rel=1e-12)
    assert found.state["theta_dot"] == pytest.approx(-0.5 / 0.01, rel=1e-12)
    assert {name: found.state[name] for name in ("x", "z", "alpha")} == pytest.approx(
        {name: on_curve[name] for name in ("x", "z", "alpha")}, rel=1e-12
    )


def test_an_implicit_unknown_moves_before_the_coordinates():
    """A wheel on its curve with a wrong angle of contact stays where it is."""
    right = wheel_state(0.3, 0.0)
    found = consistent_state(wheel(), right | {"alpha": right["alpha"] + 0.2})
    for name in ("x", "z", "alpha"):
        assert found.state[name] == pytest.approx(right[name], abs=1e-5), name
    assert found.most_changed == "alpha"


def test_a_quaternion_is_turned_not_stretched():
    system = free_body(
        goals=lambda q, w, p: [ds.Holonomic("tilt", q.i**2 + q.j**2 - 0.25 * ca.sumsqr(q.vector))]
    )
    found = consistent_state(system, {"w": 1.0, "i": 0.1, "wx": 1.0, "wz": 3.0})
    parts = [found.state[name] for name in "wijk"]
    assert np.sum(np.square(parts)) == pytest.approx(1.01, rel=1e-13)
    assert found.state["i"] == pytest.approx(0.5 * np.sqrt(1.01), rel=1e-12)
    assert found.state["wx"] == pytest.approx(0.0, abs=1e-14)
    assert found.state["wz"] == 3.0


def test_accelerations_and_reactions_are_those_of_the_pendulum():
    found = consistent_state(
        pendulum(), {"x": 0.6, "y": -0.8, "x_dot": 1.6, "y_dot": 1.2}, parameters={"mass": 2.0}
    )
    # m q'' = -m g e_y + 2 q u and q.q'' + v.v = 0: 2 u = m (g y - v.v) / l^2
    reaction = 2.0 * (9.81 * -0.8 - 4.0) / 2.0
    assert found.reactions["rod"] == pytest.approx(reaction, rel=1e-14)
    assert found.accelerations["x_dot"] == pytest.approx(2 * 0.6 * reaction / 2.0, rel=1e-14)
    assert found.accelerations["y_dot"] == pytest.approx(
        2 * -0.8 * reaction / 2.0 - 9.81, rel=1e-14
    )
    assert not found.changes
    assert found.most_changed is None
    assert list(found.residuals) == ["rod", "rod_dot", "rod_dot_dot"]
    assert max(map(abs, found.residuals.values())) <= 1e-14


def test_a_state_that_was_found_is_consistent_to_the_bit():
    found = consistent_state(pendulum(), {"x": 1.0, "y": -2.0, "x_dot": 1.0})
    again = consistent_state(pendulum(), found.state)
    assert again.state == pytest.approx(found.state, rel=2 * EPSILON)
    assert not again.changes


def test_what_is_fixed_is_kept_to_the_bit():
    found = consistent_state(
        pendulum(), {"x": 0.3, "y": -1.0, "x_dot": 0.7, "y_dot": 0.1}, fixed=["x", "x_dot"]
    )
    assert (found.state["x"], found.state["x_dot"]) == (0.3, 0.7)
    assert set(found.changes) == {"y", "y_dot"}
    assert found.state["y"] == pytest.approx(-np.sqrt(1 - 0.09), rel=1e-14)


def test_reactions_that_the_goals_leave_open_are_named():
    flat = {
        "x_0": 1.0, "y_0": 0.0, "x_1": 2.0, "y_1": 0.0, "x_dot_0": 0.0, "y_dot_0": 1.0,
        "x_dot_1": 0.0, "y_dot_1": 1.0,
    }  # fmt: skip
    assert not consistent_state(four_bar_windows(1), four_bar_state(1)).undetermined
    found = consistent_state(four_bar_windows(1), flat)
    assert set(found.undetermined) == {"crank_0", "crank_1", "coupler_1"}
    with pytest.raises(InconsistentStateError, match=r"goal 'crank_0' \(by 2\)"):
        consistent_state(four_bar_windows(1), flat | {"y_dot_1": 3.0})


def both(q):
    return [ds.Holonomic("low", q.y), ds.Holonomic("high", q.y - 1.0)]


REFUSED = {
    "no such state": (UnknownNameError, "'xx'", {"guess": {"xx": 1.0}}),
    "no such fixed": (UnknownNameError, "'z'", {"guess": {"x": 1.0}, "fixed": ["z"]}),
    "fixed without value": (OutOfRangeError, "'y'.*no value", {"guess": {"x": 1.0}, "fixed": "y"}),
    "guess a list": (OutOfRangeError, "guess must be a mapping", {"guess": [1.0]}),
    "no number": (OutOfRangeError, "'x' must be a number", {"guess": {"x": "1"}}),
    "not finite": (OutOfRangeError, "'x' is nan", {"guess": {"x": np.nan}}),
    "time": (OutOfRangeError, "the time is 'x'", {"time": "x"}),
    "parameter": (OutOfRangeError, "'mass' is -1.0, but must be > 0",
                  {"parameters": {"mass": -1.0}}),
    "no parameter": (UnknownNameError, "'mss'", {"parameters": {"mss": 1.0}}),
    "too far": (InconsistentStateError, r"'rod' \(by 1.25\).*together with x",
                {"guess": {"x": 1.5, "y": 3.0}, "fixed": ["x"]}),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_a_wrong_request_is_refused_by_name(fault):
    kind, words, request = REFUSED[fault]
    with pytest.raises(kind, match=words):
        consistent_state(pendulum(), **request)


def test_what_is_no_system_is_refused():
    with pytest.raises(PosingError, match="not Problem; a problem's case has its own"):
        consistent_state(ds.problem("pendulum"))


def test_contradictory_goals_are_named_with_what_they_miss_by():
    words = r"'low' \(by 0.5\) and the goal 'high' \(by 0.5\) together"
    with pytest.raises(ContradictoryGoalsError, match=words):
        consistent_state(pair(goals=both))


def test_a_mass_matrix_that_is_none_is_refused():
    with pytest.raises(PosingError, match="'y_dot' move with negative inertia"):
        consistent_state(pair(1.0, -3.0), {"x": 1.0, "y": 1.0})


def test_the_guess_of_a_system_chooses_the_branch_unless_a_run_does():
    p = ds.parameters(length=(1.0, "m", ds.POSITIVE))
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    system = ds.MechanicalSystem(
        q, p, kinetic=q.dot.x**2 + q.dot.y**2, goals=[rod], guess={"y": -p.length}
    )
    given = {"x": 0.6}
    assert consistent_state(system, given, ["x"]).state["y"] == pytest.approx(-0.8, abs=1e-15)
    below = consistent_state(system, {"x": 1.2}, ["x"], parameters={"length": 2.0})
    assert below.state["y"] == pytest.approx(-1.6, abs=1e-15)
    above = consistent_state(system, given | {"y": 0.7}, ["x"])
    assert above.state["y"] == pytest.approx(0.8, abs=1e-15)
    run = ds.solve(system, 0.1, given, solver=ds.Dop853(), at=[0.0, 0.1])
    assert run["y"][0] == pytest.approx(-0.8, abs=1e-15)


def test_a_guess_of_a_system_that_means_nothing_is_refused():
    with pytest.raises(UnknownNameError, match="'z'"):
        pendulum(guess={"z": 1.0})
    length = ds.parameters(size=(1.0, "m"))
    with pytest.raises(PosingError, match="only numbers and parameters, not 'size'"):
        pendulum(guess={"y": length.size})
