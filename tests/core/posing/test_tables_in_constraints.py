"""Tables in constraints: smooth ones up to their ends, and no others."""

import pytest

import daesolve as ds


def on_a_road(kind, heights, outside="hold"):
    """A mass that moves along a road given by a table."""
    q = ds.coordinates(x="m", y="m")
    road = ds.table("road", [0, 1, 2, 3], heights, kind, outside)
    on_it = ds.Holonomic("on_it", q.y - road(q.x))
    return ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, goals=[on_it])


ROUGH = [0.0, 0.1, 0.5, 0.2]
SMOOTH = "in a constraint a table must be smooth"


@pytest.mark.parametrize(("kind", "what"), [("steps", "jumps"), ("linear", "kinks")])
def test_a_table_that_a_constraint_cannot_follow_is_refused(kind, what):
    with pytest.raises(ds.errors.PosingError, match=f"'road' has {what} .* 'on_it'.*{SMOOTH}"):
        on_a_road(kind, ROUGH)


def test_a_table_with_jumps_is_refused_in_a_constraint_on_velocities_and_one_with_kinks_is_not():
    for kind in ("steps", "linear"):
        q = ds.coordinates(x="m")
        pace = ds.Nonholonomic(
            "pace", q.dot.x - ds.table("pace", [0, 1, 2], [0, 1, 3], kind)(ds.time)
        )
        kinetic = q.dot.x**2 / 2
        if kind == "steps":
            with pytest.raises(ds.errors.PosingError, match=f"'pace' has jumps.*{SMOOTH}"):
                ds.MechanicalSystem(q, kinetic=kinetic, goals=[pace])
        else:
            run = ds.solve(ds.MechanicalSystem(q, kinetic=kinetic, goals=[pace]), 2.0)
            assert run.end_state["x"] == pytest.approx(2.5, abs=1e-12)
            assert run.audit().holds


def test_a_refused_table_may_be_given_as_an_input_no_more_than_in_the_system():
    q, u = ds.coordinates(x="m", y="m"), ds.inputs(length=(1.0, "m"))
    rope = ds.Holonomic("rope", q.x**2 + q.y**2 - u.length**2)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=10 * q.y, goals=[rope], inputs=u)
    hoist = ds.table("hoist", [0.0, 1.0, 2.0], [1.0, 0.8, 1.0])
    with pytest.raises(ds.errors.PosingError, match=r"'hoist' has kinks .* 'rope'"):
        ds.solve(system, 2.0, {"x": 0.1}, guess={"y": -1.0}, inputs={"length": hoist})


def test_a_straight_table_has_no_kinks_and_a_smooth_one_ends_where_it_is_held():
    run = ds.solve(on_a_road("linear", [0.0, 0.5, 1.0, 1.5]), 2.0, {"x": 0.1, "x_dot": 1.0})
    assert run.end_state["y"] == pytest.approx(1.05, abs=1e-12)
    run = ds.solve(on_a_road("cubic", ROUGH), 9.0, {"x": 0.1, "x_dot": 1.0})
    assert run.outcome is ds.Outcome.FAILED
    assert SMOOTH in run.message


@pytest.mark.parametrize(
    ("begin", "until", "outcome"),
    [
        (0.0, 3.0, ds.Outcome.COMPLETED),  # it ends at the last node, and does not pass it
        (0.0, 3.1, ds.Outcome.FAILED),
        (3.5, 5.0, ds.Outcome.COMPLETED),
        (-1.0, 0.5, ds.Outcome.FAILED),  # what lies behind the kink says nothing of its size
    ],
)
def test_a_smooth_table_in_a_constraint_may_be_held_up_to_its_ends_but_not_across(
    begin, until, outcome
):
    q = ds.coordinates(x="m", y="m")
    length = ds.table("hoist", [0, 1, 2, 3], [1.0, 1.2, 1.1, 1.4], "cubic")(ds.time)
    rope = ds.Holonomic("rope", q.x**2 + q.y**2 - length**2)
    system = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=9.81 * q.y, goals=[rope]
    )
    run = ds.solve(system, until, {"x": 0.6}, guess={"y": -0.8}, start_time=begin)
    assert run.outcome is outcome
    if outcome is ds.Outcome.FAILED:
        assert SMOOTH in run.message
    assert run.audit().holds
