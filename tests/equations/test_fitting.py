"""Events that count wherever their guard is past zero: at the start, and after other resets."""

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import DegenerateStartError, InconsistentStateError, PosingError


def point(events, discrete, force=0.0):
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, events=events(q), discrete=discrete, force=[force]
    )


def branch(d):
    """`beyond` is 1.0 where x > 1."""
    return lambda q: [
        ds.Event(
            "changes",
            (1 - 2 * d.beyond) * (q.x - 1),
            ds.RISING,
            ds.Reset({"beyond": 1 - d.beyond}, whenever_past=True),
        )
    ]


def test_a_start_has_the_mode_that_its_state_asks_for():
    # Towards the border, so that no rate shows that it has been passed.
    d = ds.discrete(beyond=0.0)
    run = ds.solve(point(branch(d), d), until=2.0, initial={"x": 2.0, "x_dot": -1.0})
    assert run.description["parameters"]["beyond"] == 1.0
    assert [event.time for event in run.events] == pytest.approx([1.0], abs=1e-14)


def test_another_reset_that_leaves_a_mode_behind_is_followed_by_the_one_that_puts_it_right():
    d = ds.discrete(beyond=0.0)

    def events(q):
        thrown = ds.Event("thrown", ds.time - 0.5, ds.RISING, ds.Reset({"x": 3.0, "x_dot": -1.0}))
        return [thrown, *branch(d)(q)]

    run = ds.solve(point(events, d), until=3.0, initial={"x": 0.0})
    assert [event.name for event in run.events] == ["thrown", "changes", "changes"]
    assert [event.time for event in run.events] == pytest.approx([0.5, 0.5, 2.5], abs=1e-14)


def test_a_stop_counts_after_a_reset_and_at_the_start():
    d = ds.discrete(beyond=0.0)

    def events(q):
        thrown = ds.Event("thrown", ds.time - 0.5, ds.RISING, ds.Reset({"x": 3.0, "x_dot": -1.0}))
        out = ds.Event("out", q.x - 1, ds.RISING, ds.Stop("it is out", whenever_past=True))
        return [thrown, out]

    system = point(events, d)
    run = ds.solve(system, until=3.0, initial={"x": 0.0})
    assert run.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in run.events] == ["thrown", "out"]
    assert run.end_time == 0.5
    with pytest.raises(DegenerateStartError, match="at the start it is out"):
        ds.solve(system, until=3.0, initial={"x": 2.0, "x_dot": -1.0})


def test_modes_that_ask_for_each_other_without_end_are_reported():
    d = ds.discrete(on=0.0)

    def events(q):
        return [
            ds.Event(
                "toggles", 1 + 0 * d.on, ds.RISING, ds.Reset({"on": 1 - d.on}, whenever_past=True)
            )
        ]

    with pytest.raises(InconsistentStateError, match="the events 'toggles' ask for others"):
        ds.solve(point(events, d), until=1.0)


@pytest.mark.parametrize(
    ("direction", "changes"), [(ds.EITHER, {"on": 1.0}), (ds.RISING, {"x": 1.0})]
)
def test_what_is_reset_whenever_it_is_past_has_a_direction_and_discrete_values(direction, changes):
    def events(q):
        return [ds.Event("odd", q.x - 1, direction, ds.Reset(changes, whenever_past=True))]

    with pytest.raises(PosingError, match="counts in one direction and changes discrete values"):
        point(events, ds.discrete(on=0.0))


def test_a_guard_of_reactions_is_read_from_the_start():
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(pulls=0.0)
    wall = ds.Nonholonomic("wall", q.dot.x)
    sign = (1 - 2 * d.pulls) * -wall.reaction
    event = ds.Event("turns", sign, ds.RISING, ds.Reset({"pulls": 1 - d.pulls}, whenever_past=True))
    held = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        goals=[wall],
        discrete=d,
        events=[event],
        force=[2.0, 0.0],
    )
    run = ds.solve(held, until=1.0)
    assert run.description["parameters"]["pulls"] == 1.0
    assert run.events == ()
