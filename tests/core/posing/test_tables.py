"""Tables: what they are between nodes, what is refused, and what ends a run beyond them."""

import casadi as ca
import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline, PPoly
from scipy.interpolate import RectBivariateSpline as Surface

import daesolve as ds
from daesolve.errors import (
    DegenerateStartError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
    UnsupportedError,
)

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


@pytest.mark.slow_rows("cubic-dop853", "linear-dop853", "steps-dop853")
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    "no word": (("a pull", [0, 1], [0, 1]), PosingError, "must be a word"),
    "one node": (("pull", [0], [0]), PosingError, "needs at least two"),
    "nothing": (("pull", [], []), PosingError, "are empty"),
    "not rising": (("pull", [0, 2, 1], [0, 1, 2]), PosingError, "2 is followed by 1 at index 3"),
    "twice": (("pull", [0, 0, 1], [0, 1, 2]), PosingError, "do not rise"),
    "a gap": (("pull", [0, 1], [0, np.nan]), OutOfRangeError, "contain nan at index 2"),
    "lengths": (("pull", [0, 1, 2], [0, 1]), PosingError, "3 nodes, but 2 values"),
    "kind": (("pull", [0, 1], [0, 1], "spline"), OutOfRangeError, "must be one of steps"),
    "outside": (("pull", [0, 1], [0, 1], "linear", "nan"), OutOfRangeError, "'hold' or 'refuse'"),
    "period": (
        ("pull", [0, 1], [0, 1], "periodic cubic"),
        PosingError,
        "last value must equal its first",
    ),
    "no file": (("pull", ("no.csv", "t"), [0, 1]), PosingError, "cannot be read as a table"),
    "a table": (("pull", [[0, 1]], [0, 1]), PosingError, "one column of numbers"),
    "steep": (("pull", [0, 1e-310], [0, 1]), OutOfRangeError, "is too steep"),
    "masked": (
        ("pull", [0, 1], np.ma.array([0, 1], mask=[0, 1])),
        OutOfRangeError,
        "nan at index 2",
    ),
    "complex": (("pull", [0, 1], [1j, 2]), PosingError, "must be numbers"),
    "symbols": (("pull", [0, 1], [ca.SX.sym("a"), 2]), PosingError, "must be numbers"),
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


@pytest.mark.parametrize("first", [-8.0, 0.0, 1e6])
def test_a_table_that_refuses_ends_the_run_at_its_last_node_and_no_earlier(first):
    q, ticks = ds.coordinates(x="m"), ds.discrete(count=0.0)
    pull = ds.table("pull", [first, first + 1.0, first + 3.0], [1, 2, 3], outside="refuse")
    last = ds.Event(
        "last", ds.time - (first + 3.0), ds.RISING, ds.Reset({"count": ticks.count + 1})
    )
    cart = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, force={"x": pull(ds.time)}, discrete=ticks, events=[last]
    )
    run = ds.solve(cart, first + 3.0, start_time=first)
    assert run.outcome is ds.Outcome.COMPLETED
    assert [event.name for event in run.events] == ["last"]
    run = ds.solve(cart, first + 5.0, start_time=first)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert abs(run.end_time - first - 3.0) < 1e-7
    assert "the table 'pull' has no value here: its nodes go from" in run.message


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


@pytest.mark.slow
def test_a_step_in_space_of_an_energy_or_in_a_mass_is_refused_and_one_in_time_of_a_force_is_not():
    _, q = pushed(0.0)
    for energies in (
        {"potential": ds.table("step", [-1.0, 0.0, 1.0], [0.0, 0.3, 0.3], "steps")(q.x)},
        {"mass": ds.table("step", [-1.0, 0.0, 1.0], [1.0, 2.0, 2.0], "steps")(q.x)},
        {"mass": ds.table("step", [0.0, 0.5, 1.0], [1.0, 2.0, 2.0], "steps")(ds.time)},
    ):
        mass = energies.pop("mass", 1.0)
        system = ds.MechanicalSystem(q, kinetic=mass * q.dot.x**2 / 2, **energies)
        run = ds.solve(system, 2.0, {"x": -0.5, "x_dot": 1.0})
        assert run.outcome is ds.Outcome.FAILED
        assert abs(run.end_time - 0.5) < 1e-12
        assert "energy jumps where 'step_node' switches" in run.message
    pull = ds.table("pull", [0.0, 0.5, 1.0], [1.0, 3.0, 3.0], "steps")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=-pull(ds.time) * q.x)
    assert abs(ds.solve(system, 1.0).end_state["x_dot"] - 2.0) < 1e-14


def test_a_mass_that_rises_keeps_its_momentum():
    _, q = pushed(0.0)
    mass = ds.table("mass", [0.0, 1.0], [1.0, 2.0])
    system = ds.MechanicalSystem(q, kinetic=mass(ds.time) * q.dot.x**2 / 2)
    assert abs(ds.solve(system, 3.0, {"x_dot": 1.0}).end_state["x_dot"] - 0.5) < 1e-15


def test_consistent_states_and_small_motions_take_the_piece_in_which_they_are():
    q = ds.coordinates(x="m", y="m")
    nodes = [-1.0, 0.0, 1.0, 2.0, 3.0]
    road = ds.table("road", nodes, np.square(nodes), "cubic")  # y = x^2
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    on_it = ds.Holonomic("on_it", q.y - road(q.x))
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=10 * q.y, goals=[on_it])
    found = ds.consistent_state(system, {"x": 2.5, "x_dot": 1.0}, fixed=["x", "x_dot"])
    assert abs(found.state["y"] - 6.25) < 1e-12
    # y'' = 2 x x'' + 2 x'^2, and x'' = -2 x R, y'' = R - 10.
    reaction = (10 + 2) / (1 + 4 * 6.25)
    assert abs(found.accelerations["x_dot"] + 2 * 2.5 * reaction) < 1e-11
    _, q = pushed(0.0)
    spring = ds.table("spring", [-3.0, 0.0, 3.0], [-3.0, 0.0, 12.0])
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": 4 - spring(q.x)})
    small = ds.analysis.linearize(system, {"x": 1.0})
    assert np.max(np.abs(small.matrix - [[0, 1], [-4, 0]])) < 1e-14


def test_what_knows_no_tables_refuses_them():
    q = ds.coordinates(y="m", psi="rad")
    heading = ds.table("heading", [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.5], "cubic")(q.psi)
    across = ds.Nonholonomic("across", q.dot.y - heading)
    wheelset = ds.MechanicalSystem(q, kinetic=(q.dot.y**2 + q.dot.psi**2) / 2)
    with pytest.raises(UnsupportedError, match="cannot follow tables and sampled laws"):
        ds.nonholonomic.no_slip_closure(wheelset, [across])


def test_spans_of_time_are_seconds_and_dates_are_refused():
    spans = pd.to_timedelta([0, 500, 1500], unit="ms")
    assert ds.table("pull", spans, [0, 1, 2]).axes[0].nodes.tolist() == [0.0, 0.5, 1.5]
    dates = pd.Series([0.0, 1.0], index=pd.date_range("2020-01-01", periods=2, freq="s"))
    with pytest.raises(PosingError, match="are dates: give the seconds since a reference date"):
        ds.table("pull", dates.index, dates)
    seconds = (dates.index - dates.index[0]) / pd.Timedelta(seconds=1)
    assert ds.table("pull", seconds, dates).axes[0].nodes.tolist() == [0.0, 1.0]


def test_columns_of_one_name_and_lines_are_reported(tmp_path):
    path = tmp_path / "measured.csv"
    path.write_text("t,force,force\n0,1,2\n1,2,3\n")
    with pytest.raises(PosingError, match="has 2 columns 'force'"):
        ds.table("pull", (path, "t"), (path, "force"))
    path.write_text("t,force\n\n0,1\n\n1,x\n")
    with pytest.raises(PosingError, match="'x' in row 5"):
        ds.table("pull", (path, "t"), (path, "force"))


def test_a_motion_that_turns_round_on_a_node_goes_back_in_its_piece():
    """It stops at x = 1 to rounding, where the force would be another beyond."""
    _, q = pushed(0.0)
    brake = ds.table("brake", [-3, 0, 1, 2, 3], [-0.5, 0.5, 7.0, 7.0, 7.0], "steps")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": -brake(q.x)})
    run = ds.solve(system, 16.0, {"x": 0.0, "x_dot": 1.0})  # two periods of 8 s
    assert abs(run.end_state["x"]) < 1e-13
    assert abs(run.end_state["x_dot"] - 1.0) < 1e-13
    assert run["x"].max() == 1.0


def test_a_table_whose_argument_has_a_parameter_has_its_derivative():
    _, q = pushed(0.0)
    p = ds.parameters(late=0.1)
    pull = ds.table("pull", [0, 1, 2, 3], [0.0, 1.0, -1.0, 2.0], "steps")(ds.time - p.late)
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": pull})
    found = ds.analysis.sensitivity(system, by=["late"], until=2.7, initial={"x": 0.0})
    # The speed is 0 (t - late) ... + 1 (1) - (2.7 - 2 - late): each jump shifts by it.
    assert np.max(np.abs(found.matrix.ravel() - [-0.4, 1.0])) < 1e-12


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["steps", "linear", "cubic"])
def test_derivatives_by_the_values_of_a_table_are_those_by_what_is_added_to_them(kind):
    """A pendulum under a measured torque: each value by a parameter, against differences."""
    times, values, places = np.linspace(0, 2, 9), VALUES[:9], (0, 3, 7)
    q = ds.coordinates(phi="rad")
    p = ds.parameters(**{f"bump_{k}": 0.0 for k in places})
    torque = ds.table("pull", times, values, kind)(ds.time)
    for k in places:
        torque += p[f"bump_{k}"] * ds.table(f"unit_{k}", times, np.eye(9)[k], kind)(ds.time)
    energies = {"kinetic": q.dot.phi**2 / 2, "potential": -9 * ca.cos(q.phi)}
    system = ds.MechanicalSystem(q, p, force={"phi": torque}, **energies)
    found = ds.analysis.sensitivity(system, by=p.names, until=2.0, initial={"phi": 0.5})
    u = ds.inputs(torque="N m")
    plain = ds.MechanicalSystem(q, force={"phi": u.torque}, inputs=u, **energies)

    def end(k, step):
        changed = ds.table("pull", times, values + step * np.eye(9)[k], kind)
        run = ds.solve(plain, 2.0, {"phi": 0.5}, inputs={"torque": changed}, at=[2.0])
        return np.array([run.end_state["phi"], run.end_state["phi_dot"]])

    # Central differences: h^2 of third derivatives below one, and 1e-15 / h.
    h = 1e-5
    wanted = [(end(k, h) - end(k, -h)) / (2 * h) for k in places]
    assert np.max(np.abs(found.matrix - np.array(wanted).T)) < 1e-9


@pytest.mark.long
@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_a_motion_that_comes_to_rest_on_a_node_stays_there(kind):
    # A car that swings back to driving straight: both tyres end at the node without slip, which
    # they reach only to rounding.
    shares = np.array([-0.9, -0.4, 0.0, 0.4, 0.9])
    tyre = ds.table("tyre", np.radians([-9.0, -2.0, 0.0, 2.0, 9.0]), shares, kind)
    x = ds.states(side="m/s", turn="rad/s")
    p = ds.parameters(speed=(25.0, "m/s"))
    front = -7900.0 * tyre(ca.atan((x.side + 1.2 * x.turn) / p.speed))
    rear = -6800.0 * tyre(ca.atan((x.side - 1.4 * x.turn) / p.speed))
    rate = {
        "side": (front + rear) / 1500.0 - p.speed * x.turn,
        "turn": (1.2 * front - 1.4 * rear) / 2500.0,
    }
    run = ds.solve(ds.ControlSystem(x, rate, p), 300.0, {"side": 0.6, "turn": 0.1})
    assert run.outcome is ds.Outcome.COMPLETED
    assert abs(run.end_state["side"]) < 1e-12


@pytest.mark.slow
def test_a_late_change_of_the_piece_is_below_rounding():
    # A kink that is passed at speed: a spring with two stiffnesses swings 500 times.
    q = ds.coordinates(x="m")
    spring = ds.table("spring", [-5.0, 0.0, 5.0], [-5.0, 0.0, 20.0])
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": -spring(q.x)})
    period = np.pi + np.pi / 2
    run = ds.solve(system, 500 * period, {"x": -1.0}, at=[500 * period])
    # Rounding of the time of each passage adds up: 1000 times a few eps of the time there.
    assert abs(run.end_state["x"] + 1.0) < 1e-11
    assert abs(run.end_state["x_dot"]) < 1e-11


def test_a_piece_much_narrower_than_its_table_is_left_where_it_ends():
    # Dry friction with a steep piece: once the load is greater, the body slides away.
    load, steep, wide = 1.1, 1e-8, 100.0
    q = ds.coordinates(x="m")
    friction = ds.table("friction", [-wide, -steep, steep, wide], [-1.0, -1.0, 1.0, 1.0])
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": load - friction(q.dot.x)})
    run = ds.solve(system, 1.0, {"x": 0.0, "x_dot": 0.0}, solver="radau")
    # x'' = load - x' / steep up to the node, and load - 1 from there on.
    node = steep * np.log(load / (load - 1.0))
    assert abs(run.end_state["x_dot"] - (steep + (load - 1.0) * (1.0 - node))) < 1e-9


def test_far_ends_of_a_table_do_not_move_its_kink():
    q = ds.coordinates(x="m")
    spring = ds.table("spring", [-1e9, 0.0, 1e9], [-1e9, 0.0, 4e9])
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, force={"x": -spring(q.x)}, outputs={"pull": (spring(q.x), "N")}
    )
    run = ds.solve(system, 2.0, {"x": -1.0}, solver="dop853", at=[np.pi / 2 + 0.05])
    # The place there is sin(2 s) / 2, and 4 x is rounded as 1e9 is; the kink is 2 mm late.
    assert abs(run["pull"][0] - 4.0 * run["x"][0]) < 1e-5
    assert abs(run["x"][0] - np.sin(0.1) / 2) < 1e-5
