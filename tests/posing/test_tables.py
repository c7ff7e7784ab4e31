"""Tables: what they are between nodes, what is refused, and what ends a run beyond them."""

import casadi as ca
import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline, PPoly
from scipy.interpolate import RectBivariateSpline as Surface

import daesolve as ds
from daesolve.errors import DegenerateStartError, OutOfRangeError, PosingError, UnknownNameError

TIMES = np.cumsum(np.random.default_rng(2).uniform(0.05, 0.15, 40)) - 0.1
VALUES = np.random.default_rng(3).normal(size=40)


def polynomial(kind, times, values):
    """The same table by SciPy."""
    if kind == "steps":
        return PPoly(values[None, :-1], times)
    if kind == "linear":
        return PPoly(np.array([np.diff(values) / np.diff(times), values[:-1]]), times)
    return CubicSpline(times, values)


def pushed(force):
    """A cart of 1 kg."""
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force}), q


@pytest.mark.parametrize("solver", ["taylor", "dop853"])
@pytest.mark.parametrize("kind", ["steps", "linear", "cubic"])
def test_a_force_over_time_moves_a_cart_by_its_integrals(kind, solver):
    cart, _ = pushed(ds.table("pull", TIMES, VALUES, kind)(ds.time))
    end = float(TIMES[-1])
    run = ds.solve(cart, end, start_time=float(TIMES[0]), at=[end], solver=solver)
    speed = polynomial(kind, TIMES, VALUES).antiderivative()
    # Forty pieces of terms of order one: a few hundred roundings, by DOP853 to its 1e-13.
    assert abs(run.end_state["x_dot"] - speed(end)) < 1e-13
    assert abs(run.end_state["x"] - speed.antiderivative()(end)) < 1e-12


def test_values_at_the_ends_hold_beyond_them():
    cart, _ = pushed(ds.table("pull", [1.0, 2.0], [3.0, 5.0])(ds.time))
    run = ds.solve(cart, 3.0, at=[3.0])
    assert abs(run.end_state["x_dot"] - (3.0 + 4.0 + 5.0)) < 1e-13


def test_a_periodic_table_goes_on_from_period_to_period_in_both_ways():
    nodes = np.linspace(0.5, 2.5, 9)
    values = np.append(np.random.default_rng(5).normal(size=8), 0.0)
    values[0] = 0.0
    spline = CubicSpline(nodes, values, bc_type="periodic")
    table = ds.table("rail", nodes, values, "periodic cubic")
    _, q = pushed(0.0)
    for speed in (1.7, -1.7):
        system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, outputs={"height": table(q.x)})
        run = ds.solve(system, 7.0, {"x": 0.1, "x_dot": speed})
        wanted = spline((0.1 + speed * run.times - 0.5) % 2.0 + 0.5)
        # Within three periods an argument is rounded by 1e-15, where slopes are of order 10.
        assert np.max(np.abs(run["height"] - wanted)) < 1e-13


def test_a_spring_with_kinks_swings_as_long_as_its_halves():
    """Stiffness 1 N/m to the left, 4 N/m to the right: half a period of each."""
    _, q = pushed(0.0)
    spring = ds.table("spring", [-3.0, 0.0, 3.0], [-3.0, 0.0, 12.0])
    system, _ = (
        ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": -spring(q.x)}),
        None,
    )
    # It begins at the node itself, and goes to the left.
    period = np.pi + np.pi / 2
    run = ds.solve(system, 20 * period, {"x": 0.0, "x_dot": -1.0}, at=[np.pi / 2, 20 * period])
    assert abs(run["x"][0] + 1.0) < 1e-14
    assert abs(run.end_state["x"]) < 1e-12
    assert abs(run.end_state["x_dot"] + 1.0) < 1e-12


@pytest.mark.parametrize(("pull", "stiffness"), [(-1.0, 1.0), (1.0, 4.0)])
def test_a_start_at_rest_on_a_node_takes_the_piece_into_which_it_goes(pull, stiffness):
    _, q = pushed(0.0)
    spring = ds.table("spring", [-3.0, 0.0, 3.0], [-3.0, 0.0, 12.0])
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": pull - spring(q.x)})
    run = ds.solve(system, 1.0, {"x": 0.0}, at=[1.0])
    wanted = pull / stiffness * (1.0 - np.cos(np.sqrt(stiffness)))
    assert abs(run.end_state["x"] - wanted) < 1e-14


def test_an_impact_carries_a_speed_past_nodes_at_once():
    """Drag v^3 / 400 as a cubic spline of itself is exact."""
    q = ds.coordinates(h="m")
    speeds = np.linspace(-20, 20, 41)
    drag = ds.table("drag", speeds, speeds**3 / 400, "cubic")
    floor = ds.Holonomic("floor", q.h)
    strike = ds.Reset(impose=[floor], restitution=0.8)
    end = []
    for force in (drag(q.dot.h), q.dot.h**3 / 400):
        ball = ds.MechanicalSystem(
            q,
            kinetic=q.dot.h**2 / 2,
            potential=10 * q.h,
            force={"h": -force},
            events=[ds.Event("strike", q.h, ds.FALLING, strike)],
        )
        end.append(ds.solve(ball, 3.0, {"h": 5.0}, at=[3.0]).end_state)
    assert abs(end[0]["h"] - end[1]["h"]) < 1e-12


def test_a_table_in_a_potential_pulls_by_its_slope():
    _, q = pushed(0.0)
    nodes = np.linspace(-2, 2, 9)
    valley = ds.table("valley", nodes, nodes**3 - 3 * nodes, "cubic")  # which a cubic spline meets
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=valley(q.x))
    plain = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**3 - 3 * q.x)
    one, other = (ds.solve(s, 5.0, {"x": 1.3}, at=[5.0]).end_state["x"] for s in (system, plain))
    assert abs(one - other) < 1e-12


def test_a_table_over_two_arguments_is_a_product_of_polynomials():
    generator = np.random.default_rng(7)
    x, y = np.sort(generator.uniform(-2, 2, 8)), np.sort(generator.uniform(-2, 2, 7))
    values = generator.normal(size=(8, 7))
    q = ds.coordinates(x="m", y="m")
    bent = ds.table2("bent", x, y, values, "cubic", outside="refuse")
    flat = ds.table2("flat", x, y, values)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=q.x**2 + 2 * q.y**2,
        outputs={"bent": bent(q.x, q.y), "flat": flat(q.x, q.y)},
    )
    start = {"x": x[1], "y": y[1] + 0.2, "x_dot": 0.3}
    run = ds.solve(system, 5.0, start)
    surface = Surface(x, y, values, s=0)  # not-a-knot in each argument
    assert np.max(np.abs(run["bent"] - surface(run["x"], run["y"], grid=False))) < 1e-12
    inner = [np.array([np.interp(b, y, row) for row in values]) for b in run["y"]]
    wanted = [np.interp(a, x, column) for a, column in zip(run["x"], inner, strict=True)]
    assert np.max(np.abs(run["flat"] - wanted)) < 1e-13


def test_tables_come_from_series_and_from_files(tmp_path):
    path = tmp_path / "measured.csv"
    frame = pd.DataFrame({"t": [0.0, 1.0, 3.0], "force": [1.0, 2.0, -1.0]})
    frame.to_csv(path, index=False)
    speed = []
    for columns in ((frame.t, frame.force), ((path, "t"), (str(path), "force"))):
        cart, _ = pushed(ds.table("pull", *columns)(ds.time))
        speed.append(ds.solve(cart, 3.0, at=[3.0]).end_state["x_dot"])
    assert speed[0] == speed[1]
    assert abs(speed[0] - (1.5 + 1.0)) < 1e-14


REFUSED = {
    "no word": (("a pull", [0, 1], [0, 1]), PosingError, "is a word"),
    "one node": (("pull", [0], [0]), PosingError, "needs two at least"),
    "nothing": (("pull", [], []), PosingError, "are empty"),
    "not rising": (("pull", [0, 2, 1], [0, 1, 2]), PosingError, "2 is followed by 1, in place 3"),
    "twice": (("pull", [0, 0, 1], [0, 1, 2]), PosingError, "do not rise"),
    "a gap": (("pull", [0, 1], [0, np.nan]), OutOfRangeError, "contain nan in place 2"),
    "lengths": (("pull", [0, 1, 2], [0, 1]), PosingError, "3 nodes, but 2 values"),
    "kind": (("pull", [0, 1], [0, 1], "spline"), OutOfRangeError, "must be one of steps"),
    "outside": (("pull", [0, 1], [0, 1], "linear", "nan"), OutOfRangeError, "'hold' or 'refuse'"),
    "period": (("pull", [0, 1], [0, 1], "periodic cubic"), PosingError, "last value is its first"),
    "no file": (("pull", ("no.csv", "t"), [0, 1]), PosingError, "cannot be read as a table"),
    "a table": (("pull", [[0, 1]], [0, 1]), PosingError, "one column of numbers"),
    "words": (("pull", ["a", "b"], [0, 1]), PosingError, "must be numbers, a pandas series"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_is_no_table_is_refused_in_a_sentence(fault):
    arguments, kind, words = REFUSED[fault]
    with pytest.raises(kind, match=words):
        ds.table(*arguments)


def test_a_column_that_a_file_lacks_is_named(tmp_path):
    path = tmp_path / "measured.csv"
    path.write_text("t,force\n0,1\n1,oops\n")
    with pytest.raises(UnknownNameError, match="did you mean 'force'"):
        ds.table("pull", (path, "t"), (path, "forse"))
    with pytest.raises(PosingError, match="has 'oops' in row 3"):
        ds.table("pull", (path, "t"), (path, "force"))


def test_a_table_that_refuses_ends_the_run_at_its_last_node_and_no_earlier():
    cart, _ = pushed(ds.table("pull", [0.0, 1.0, 2.0], [1, 2, 3], outside="refuse")(ds.time))
    assert ds.solve(cart, 2.0).outcome is ds.Outcome.COMPLETED
    run = ds.solve(cart, 5.0)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert abs(run.end_time - 2.0) < 1e-9
    assert "the table 'pull' has no value: its nodes go from 0 to 2" in run.message


def test_a_start_before_the_first_node_of_a_table_that_refuses_is_refused():
    cart, _ = pushed(ds.table("pull", [1.0, 2.0], [1, 2], outside="refuse")(ds.time))
    with pytest.raises(DegenerateStartError, match="the table 'pull' has no value"):
        ds.solve(cart, 2.0)


def test_two_tables_of_one_name_are_refused():
    pull = ds.table("pull", [0, 1], [0, 1])(ds.time)
    with pytest.raises(PosingError, match="two tables or sampled laws are called 'pull'"):
        pushed(pull + ds.table("pull", [0, 1], [0, 1])(ds.time))


def test_a_table_may_stand_in_the_argument_of_another():
    warped = ds.table("warp", [0.0, 1.0, 4.0], [0.0, 2.0, 3.0])
    system, _ = pushed(ds.table("pull", [0.0, 2.0, 3.0], [0.0, 1.0, 5.0])(warped(ds.time)))
    run = ds.solve(system, 4.0, at=[4.0])
    # The force: t / 1 ... from (0, 0) to (1, 1), then to (4, 5).
    assert abs(run.end_state["x_dot"] - (0.5 + 3 * 3.0)) < 1e-13


def test_an_expression_with_a_table_is_one_of_casadi():
    _, q = pushed(0.0)
    table = ds.table("bend", [0, 1, 2], [0, 1, 4], "cubic")  # x^2
    slope = ca.jacobian(table(q.x), q.x)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, outputs={"slope": slope})
    run = ds.solve(system, 1.0, {"x": 0.5, "x_dot": 1.0})
    assert np.max(np.abs(run["slope"] - 2 * run["x"])) < 1e-14
