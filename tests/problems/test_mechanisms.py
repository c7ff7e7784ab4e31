"""Mechanisms assembled from bodies and joints, against motions that were found without them."""

from __future__ import annotations

import numpy as np
import pytest
from daesolve_problems.mechanisms import bricard, governor, pendulum_chain, rolling_coin
from daesolve_problems.mechanisms import spinning_top as spinning

import daesolve as ds
from daesolve.errors import OutOfRangeError, RedundantConstraintsError
from daesolve.multibody.drawing import Line, evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.reference.mechanisms_bricard import Rods, points
from tests.reference.mechanisms_chain import chain_angles
from tests.reference.mechanisms_governor import Governor
from tests.reference.mechanisms_top import Top
from tests.reference.rolling_disc import Disc

CORNERS = [f"p{number}_{axis}" for number in range(2, 6) for axis in "xyz"]


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


def largest_drift(run, but=()):
    return max(entry.max_relative for name, entry in run.drift.items() if name not in but)


# ---- the top


def lagrange(parameters):
    p = parameters
    across = p["across"] + p["mass"] * p["distance"] ** 2
    return Top(p["mass"], p["distance"], across, p["along"], p["gravity"])


def direction(run):
    return np.stack([run[f"top_{axis}"] for axis in "xyz"]) / 0.05


@pytest.mark.slow
@pytest.mark.slow_rows("cusps")
@pytest.mark.parametrize("name", ["cusps", slow("loops"), "steady", slow("sleeping")])
def test_the_top_moves_as_lagrange_found(name):
    times = np.array([0.0, 0.3, 1.1, 2.0])
    case = spinning.problem.case(name)
    run = case.solve(until=2.0, at=times)
    top, start = lagrange(case.full_parameters), case.full_start
    slow = top.steady_precession(start["spin"], start["tilt"])
    truth = top.axis(times, start["spin"], start["tilt"], start.get("precession", slow))
    # Some 200 steps, each with a rounding of a direction of length one.
    assert np.max(np.abs(direction(run) - truth)) < 1e-14
    assert run.drift["energy"].max_relative < 1e-14
    assert run.drift["vertical_momentum"].max_relative < 1e-14
    assert run["top_spin"][-1] == start["spin"]


@pytest.mark.slow
def test_a_fast_top_costs_no_more_turns_than_its_nutation_has():
    """Ten thousand rad/s for 100 s: the body's axes do not spin with it."""
    case = spinning.problem.case("fast")
    run = case.solve(until=100.0, at=np.array([0.0, 100.0]))
    top, start = lagrange(case.full_parameters), case.full_start
    truth = top.axis(run.times, start["spin"], start["tilt"],
                     top.steady_precession(start["spin"], start["tilt"]))  # fmt: skip
    # A steady motion: the precession of 4.9 rad is accurate to the rounding of its rate.
    assert np.max(np.abs(direction(run) - truth)) < 1e-12
    assert largest_drift(run) < 1e-12


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(("factor", "least", "most"), [(1.02, 0.0, 6e-6), (0.9, 0.1, 2.0)])
def test_an_upright_top_sleeps_above_the_bound_alone(factor, least, most):
    """With w^2 = m g l/A it sways by 1e-6/sqrt(1 - 1/1.02^2), or grows as exp(0.44 w t)."""
    case = spinning.problem.case("sleeping")
    bound = lagrange(case.full_parameters).sleeping_spin()
    run = case.solve(until=4.0, initial={"spin": factor * bound}, at=np.linspace(0.0, 4.0, 401))
    assert least <= np.max(run["tilt"]) < most


def test_steady_precession_is_refused_where_there_is_none():
    with pytest.raises(OutOfRangeError, match=r"spin is 50 rad/s.*at least 75\.379 rad/s"):
        spinning.problem.case("steady").solve(initial={"spin": 50.0})


# ---- the coin


@pytest.mark.slow
@pytest.mark.parametrize("name", [slow("circle"), "wobble", slow("straight")])
def test_the_coin_rolls_as_euler_s_equations_say(name):
    times = np.linspace(0.0, 4.0, 5)
    case = rolling_coin.problem.case(name)
    run = case.solve(until=4.0, at=times)
    start, p = dict(case.full_start), case.full_parameters
    if "circle_radius" in start:
        rates = rolling_coin.steady_circle(start["beta"], start["circle_radius"], p)
        start = {"beta": start["beta"], "beta_dot": 0.0, **rates}
    moment = p["mass"] * p["radius"] ** 2 / 4
    truth = Disc(p["mass"], p["radius"], moment, 2 * moment, p["gravity"]).states(times, start)
    # The reference holds 3e-14 a step, over some 500 steps of it.
    assert np.max(np.abs(run["coin_x"] - truth["x"])) < 1e-12
    assert np.max(np.abs(run["coin_y"] - start.get("y", 0.0) - truth["y"])) < 1e-12
    assert np.max(np.abs(run["lean"] - truth["beta"])) < 1e-12
    assert np.max(np.abs(run.reactions["ground_normal"] - truth["normal"])) < 1e-12
    assert run.drift["energy"].max_relative < 1e-14


def test_the_coin_stays_on_its_circle():
    case = rolling_coin.problem.case("circle")
    run = case.solve(until=10.0, at=np.linspace(0.0, 10.0, 11))
    centre = 0.1 - case.full_parameters["radius"] * np.sin(0.2)
    assert np.max(np.abs(np.hypot(run["coin_x"], run["coin_y"]) - centre)) < 1e-14
    assert np.ptp(run["lean"]) < 1e-13


@pytest.mark.parametrize("beta", [-0.2, 0.0])
def test_a_circle_needs_a_lean_to_the_inside(beta):
    with pytest.raises(OutOfRangeError, match=r"no steady circle.*must lean inwards"):
        rolling_coin.problem.case("circle").solve(initial={"beta": beta})


# ---- the chain


@pytest.mark.slow
@pytest.mark.parametrize("rods", [2, slow(5), slow(20)])
def test_the_chain_moves_as_its_angles(rods):
    times = np.linspace(0.0, 2.0, 5)
    run = pendulum_chain.problem.case("swing", rods=rods).solve(until=2.0, at=times)
    truth = chain_angles(rods, times, 1.0)
    found = np.stack([run[f"rod_{i}_angle"] for i in range(1, rods + 1)])
    # Chaos makes a rounding grow by some exp(3 t).
    assert np.max(np.abs(found - truth)) < 1e-12
    assert largest_drift(run) < 1e-13


def test_a_chain_without_rods_is_refused():
    with pytest.raises(OutOfRangeError, match="rods is 0, but must be at least 1"):
        pendulum_chain.problem.case("swing", rods=0)


# ---- Bricard's mechanism


@pytest.mark.slow
def test_bricard_s_six_hinges_have_one_row_too_many():
    case = bricard.problem.case("benchmark", model="hinges")
    with pytest.raises(RedundantConstraintsError, match=r"hinge_1_\d.*leave out 'hinge_6_\d', or"):
        case.solve(until=0.01, redundant="error")


def largest_corner_error(run, case):
    angles = Rods(width=case.full_parameters["width"]).angles(run.times)
    truth = np.concatenate(points(angles)[1:5])
    found = np.stack([run[name] for name in CORNERS])
    return np.max(np.abs(found - truth))


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("model", ["cross", "hinges"])
def test_bricard_s_mechanism_starts_on_the_edges_of_a_cube(model):
    assert bricard.problem.case("benchmark", model=model).consistent_start().changes == {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "model", "redundant", "error"),
    [
        ("benchmark", "cross", "error", 1e-12),
        ("benchmark", "hinges", "drop", 1e-12),
        ("bars", "hinges", "minimum-norm", 1e-8),
    ],
)
def test_bricard_s_mechanism_moves_as_by_energy(name, model, redundant, error):
    """Through two periods, however the redundant row is dealt with.

    The reference is right to some 1e-12. Shares of a load leave more: what the shift of the
    elimination lets go in the rows that depend on each other.
    """
    case = bricard.problem.case(name, model=model)
    run = case.solve(at=np.linspace(0.0, 10.0, 11), redundant=redundant)
    assert run.outcome is ds.Outcome.COMPLETED
    assert largest_corner_error(run, case) < error
    assert run.drift["energy"].max_relative < 0.1 * error


# ---- the governor


def largest_governor_error(run, case):
    p = case.full_parameters
    truth = Governor(stiffness=p["stiffness"], damping=p["damping"]).states(run.times)
    pairs = (("slider_z", "height"), ("right_angle", "right"), ("left_angle", "left"))
    return max(np.max(np.abs(run[name] - truth[own])) for name, own in pairs)


@pytest.mark.long_rows("soft-3.0-None")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "until", "solver"), [("soft", 3.0, None), ("benchmark", 0.5, ds.RadauIIA())]
)
def test_the_governor_swings_as_its_angles(name, until, solver):
    case = governor.problem.case(name)
    run = case.solve(until=until, at=np.linspace(0.0, until, 11), solver=solver)
    # The reference holds 1e-11.
    assert largest_governor_error(run, case) < 1e-10
    assert run.drift["vertical_momentum"].max_relative < 1e-11


@pytest.mark.slow
def test_the_governor_starts_turning_as_one_body():
    """Springs unstretched, and nothing to be changed: no joint is torn."""
    case = governor.problem.case("benchmark")
    start = case.consistent_start()
    assert start.changes == {}
    height = case.system.dynamics.labels.states.index("slider_z")
    assert abs(start.state[height] - 0.5) < 1e-15


# ---- pictures

DRAWN = {
    "bricard": (bricard.problem, "bars"),
    "chain": (pendulum_chain.problem, "double"),
    "top": (spinning.problem, "loops"),
    "coin": (rolling_coin.problem, "wobble"),
}


def columns(drawing):
    return {name: np.array(values) for name, values in drawing.series.items()}


def in_space(placed):
    return np.column_stack([placed.points, placed.depth])


@pytest.mark.long_rows("bricard")
@pytest.mark.parametrize("name", [slow("bricard"), "chain", "top", "coin"])
def test_what_is_drawn_has_its_place(name):
    problem, case_name = DRAWN[name]
    case = problem.case(case_name)
    run = case.solve(until=0.05, at=np.array([0.0, 0.05]), solver=ds.Dop853())
    stored = with_drawing(document(run, case.identity()), case.problem.drawing)
    drawing = from_json(stored["drawing"])
    series = {**run.states, **run.outputs, **columns(drawing)}
    for shape in evaluate(drawing, series, case.full_parameters, 1):
        assert np.all(np.isfinite(shape.points))
    for rule in case.problem.figures.values():
        assert rule(stored).axes


@pytest.mark.slow
def test_the_rods_of_the_governor_are_drawn_as_long_as_they_are():
    case = governor.problem.case("soft")
    run = case.solve(until=0.05, at=np.array([0.0, 0.05]), solver=ds.Dop853())
    stored = with_drawing(document(run, case.identity()), case.problem.drawing)
    assert governor.slider_and_turning(stored).axes
    drawing = from_json(stored["drawing"])
    series = {**run.states, **run.outputs, **columns(drawing)}
    placed = evaluate(drawing, series, case.full_parameters, 1)
    rods = [s for s in placed if isinstance(s.shape, Line) and s.shape.role == "body"]
    balls = [in_space(s) @ drawing.axes for s in placed if s.shape.label.endswith("ball")]
    assert len(rods) == len(balls) == 2
    for rod, ball, name in zip(rods, balls, governor.SIDES, strict=True):
        ends = in_space(rod) @ drawing.axes
        assert abs(np.linalg.norm(np.diff(ends, axis=0)) - 1) < 1e-12
        assert np.max(np.abs(ends[1] - ball)) < 1e-12
        assert np.sign(ball.ravel()[0]) == governor.SIDES[name]
