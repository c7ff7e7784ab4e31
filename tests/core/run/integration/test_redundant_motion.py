"""Runs with dependent constraints: what is chosen, what is refused, what is watched."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, UndeterminedMotionError, UnknownNameError
from tests.core.equations.test_redundancy import floors, point, rubbing

MOVING = {"until": 1.0, "initial": {"x": 0.0, "y": 0.0, "x_dot": 5.0}}


@pytest.mark.parametrize("rule", ["error", "drop"])
def test_friction_on_undetermined_reactions_is_refused_unless_they_are_chosen(rule):
    with pytest.raises(UndeterminedMotionError, match=r"'floor', 'again'.*minimum-norm"):
        ds.solve(point(floors, rubbing), **MOVING, redundant=rule)


@pytest.mark.parametrize(("weight", "share"), [(1.0, 0.5), (3.0, 0.75)])
def test_the_choice_decides_the_motion_and_is_reported(weight, share):
    """Shares of the weight by 1 : weight, friction 0.1 and 0.3, over 1 s."""
    run = ds.solve(
        point(floors, rubbing),
        **MOVING,
        redundant="minimum-norm",
        redundant_weights={"again": weight},
    )
    # rounding over the shift of 1e-6
    assert run.reactions["again"] == pytest.approx(9.81 * share, rel=1e-9)
    slowed = 9.81 * (0.1 * (1 - share) + 0.3 * share)
    assert run["x_dot"][-1] == pytest.approx(5.0 - slowed, abs=1e-9)
    assert any("the motion depends on this choice" in note for note in run.description["notes"])


def test_friction_that_is_the_same_however_it_is_shared_is_no_obstacle():
    run = ds.solve(
        point(floors, rubbing),
        **MOVING,
        redundant="drop",
        parameters={"friction": 0.2, "friction_again": 0.2},
    )
    assert run["x_dot"][-1] == pytest.approx(5.0 - 0.2 * 9.81, abs=1e-13)


def test_a_dropped_reaction_counts_as_zero_in_outputs_and_guards():
    q = ds.coordinates(x="m", y="m")
    goals = floors(q)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=goals,
        outputs={"load": (goals[0].reaction + goals[1].reaction, "N")},
        events=[ds.Event("lifts", goals[1].reaction + q.x - 2.0)],
    )
    run = ds.solve(system, **MOVING, redundant="drop")
    assert run.outputs["load"] == pytest.approx(9.81, rel=1e-14)
    assert [event.time for event in run.events] == pytest.approx([0.4], abs=1e-12)


@pytest.mark.slow_rows("minimum-norm")
@pytest.mark.parametrize("rule", ["drop", "minimum-norm"])
def test_a_bead_on_a_wire_stated_twice_goes_all_the_way(rule):
    """The gradient of y - x^2 grows sixfold along the way: the pivot is no sign of lost rank."""

    def bead(names):
        q = ds.coordinates(x="m", y="m")
        return ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            potential=9.81 * q.y,
            goals=[ds.Holonomic(name, q.y - q.x**2) for name in names],
        )

    start = {"x": 0.0, "x_dot": 8.0}
    right = ds.solve(bead(["wire"]), 10.0, start)
    run = ds.solve(bead(["wire", "again"]), 10.0, start, redundant=rule)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    for name in ("x", "y", "x_dot"):
        assert np.max(np.abs(run[name] - right[name])) <= 1e-10, name


def test_groups_are_reported_one_by_one():
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        goals=[
            ds.Holonomic("x_1", q.x),
            ds.Holonomic("y_1", q.y),
            ds.Holonomic("x_2", q.x),
            ds.Holonomic("y_2", 2 * q.y),
        ],
    )
    words = r"'x_1', 'x_2' depend on each other everywhere, and so do 'y_1', 'y_2'.*'x_2', 'y_2'"
    with pytest.raises(ds.DaesolveError, match=words):
        ds.solve(system, 1.0, {})


@pytest.mark.parametrize(
    ("weights", "kind"),
    [({"agin": 2.0}, UnknownNameError), ({"again": -1.0}, OutOfRangeError),
     ([2.0], OutOfRangeError)],
)  # fmt: skip
def test_weights_without_meaning_are_refused(weights, kind):
    with pytest.raises(kind, match="redundant"):
        ds.solve(point(floors), **MOVING, redundant="minimum-norm", redundant_weights=weights)


def linkage():
    """A crank (0.1 m), a coupler and a rocker (0.2 m each) in the plane of x and z, in space."""
    from daesolve.multibody import GROUND, Body, Mechanism, Revolute, Spherical

    corners = np.array([[0.0, 0.0], [0.1, 0.0], [0.3, 0.2], [0.3, 0.0]])
    about = (0.0, 1.0, 0.0)
    bodies = []
    for name, one, other in zip(("crank", "coupler", "rocker"), corners, corners[1:], strict=False):
        (x, z), length = (one + other) / 2, np.linalg.norm(other - one)
        slender = length**2 / 12
        angle = -np.arctan2(*(other - one)[::-1])
        turned = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)
        bodies.append(
            Body(name, 1.0, (1e-5, slender, slender), position=(x, 0, z), rotation=turned)
        )
    half = [np.linalg.norm(corners[k + 1] - corners[k]) / 2 for k in range(3)]
    crank, coupler, rocker = bodies
    knee = crank.frame((half[0], 0, 0), about), coupler.frame((-half[1], 0, 0), about)
    parts = [
        Revolute("foot", GROUND.frame((0, 0, 0), about), crank.frame((-half[0], 0, 0), about)),
        Revolute("knee", *knee),
        Revolute("other", GROUND.frame((0.3, 0, 0), about), rocker.frame((half[2], 0, 0), about)),
        Spherical("pin", coupler.point(half[1], 0, 0), rocker.point(-half[2], 0, 0)),
    ]  # fmt: skip
    return Mechanism(bodies, parts, gravity=(0, 0, -9.81))


@pytest.mark.long_rows("minimum-norm")
@pytest.mark.slow
@pytest.mark.parametrize("rule", ["drop", "minimum-norm"])
def test_a_planar_loop_in_space_goes_on_where_the_row_that_was_left_out_becomes_needed(rule):
    """Each share of a row in the dependence passes zero, at one attitude of the crank or another.

    The crank turns round some four times. What rows have of the velocities in the plane is
    rounding, from a start that is not turned by whole quarters on.
    """
    mechanism = linkage()
    turning = {"crank_w2": 25.0}
    run = ds.solve(mechanism.system(), 2.0, turning, guess=mechanism.start, redundant=rule)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert np.ptp(np.unwrap(2 * np.arctan2(run["crank_q2"], run["crank_q0"]))) > 4 * np.pi
    assert max(entry.max_relative for entry in run.drift.values()) <= 1e-14


@pytest.mark.parametrize("rubs", [False, True])
def test_dependent_goals_are_dropped_beside_a_contact(rubs):
    """A ball falls 1 m, and bounces to half its speed, beside a pendulum with its rod twice."""
    q = ds.coordinates(x="m", y="m", height="m")
    rods = [ds.Holonomic(name, q.x**2 + q.y**2 - 1.0) for name in ("rod", "again")]
    rough = {"slip": q.dot.x, "friction": 0.0} if rubs else {}
    floor = ds.Contact("floor", q.height, restitution=0.5, closed=False, **rough)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.height**2) / 2,
        potential=9.81 * (q.y + q.height),
        goals=[*rods, floor],
    )
    start = {"x": 0.6, "height": 1.0, "height_dot": 0.0}
    run = ds.solve(system, 0.9, start, guess={"y": -0.8}, redundant="drop")
    fall = np.sqrt(2.0 / 9.81)
    assert [event.name for event in run.events if event.impact] == ["floor_closed"]
    assert run.events[0].time == pytest.approx(fall, abs=1e-12)
    flight = 0.9 - fall
    risen = 0.5 * 9.81 * fall * flight - 9.81 * flight**2 / 2
    assert run["height"][-1] == pytest.approx(risen, abs=1e-12)
