"""Samples that another program made are held against a posed system."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, UnknownNameError
from daesolve.verification.audit import audit_samples
from tests.systems import pendulum

from .motions import bouncing, gliding, kicked, sliding, spinning, swinging, turning
from .test_glance import oscillator


def told(motion):
    """Return the system and the samples of a motion: times and states alone."""
    run = motion()
    return run.auditor.prepared.system, {"t": run.times, **run.states}


@pytest.mark.parametrize(
    "motion",
    [swinging, turning, spinning, gliding, sliding, bouncing, kicked],
    ids=lambda motion: motion.__name__,
)
def test_samples_of_a_right_motion_hold_with_the_reactions_that_they_ask_for(motion):
    system, table = told(motion)
    found = audit_samples(system, table)
    assert found.holds, str(found)
    checks = {finding.check for finding in found.findings}
    assert {"rates of positions", "equations of motion"} <= checks
    reacting = [goal.reaction_label for goal in system.goals if isinstance(goal, ds.Holonomic)]
    assert all(name in found.left_out for name in reacting)


DAMAGE = {
    "another weight": (swinging, {}, {"gravity": 9.811}, "equations of motion"),
    "another length": (swinging, {}, {"length": 1.001}, "goal"),
    "faster": (swinging, {"x_dot": lambda v: v * 1.0001}, {}, "rates of positions"),
    "another clock": (swinging, {"t": lambda v: v * 1.0001}, {}, "rates of positions"),
    "spin": (turning, {"w3": lambda v: v + 1e-3}, {}, "rates of positions"),
    "sideways": (gliding, {"y_dot": lambda v: v + 1e-4}, {}, "goal"),
    "through the floor": (sliding, {"y": lambda v: v - 1e-3}, {}, "contact"),
    "no bounce": (bouncing, {"y": lambda v: v - 0.1}, {}, "contact"),
    "another work": (gliding, {"work": lambda v: v * 1.001}, {}, "rates of quadratures"),
}


@pytest.mark.parametrize(("motion", "changes", "numbers", "check"), DAMAGE.values(), ids=DAMAGE)
def test_samples_of_another_motion_do_not_hold(motion, changes, numbers, check):
    system, table = told(motion)
    table |= {name: change(table[name]) for name, change in changes.items()}
    found = audit_samples(system, table, parameters=numbers)
    assert check in {finding.check for finding in found.contradictions}, str(found)


def test_a_force_that_no_reaction_explains_is_a_defect_and_one_along_a_constraint_is_not():
    """A pendulum that another program drives: along its rod nothing can be told, across it can."""
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    kinetic, potential = (q.dot.x**2 + q.dot.y**2) / 2, 9.81 * q.y

    def posed(force):
        return ds.MechanicalSystem(
            q, kinetic=kinetic, potential=potential, force=force, goals=[rod]
        )

    run = ds.solve(posed({}), 2.0, {"x": 0.6}, guess={"y": -0.8})
    table = {"t": run.times, **run.states}
    assert audit_samples(posed({"x": q.x, "y": q.y}), table).holds
    found = audit_samples(posed({"x": 1e-4 * q.y, "y": -1e-4 * q.x}), table)
    assert [finding.check for finding in found.contradictions] == ["equations of motion"] * 2


def test_reactions_that_are_told_are_checked():
    run = swinging()
    table = {"t": run.times, **run.states, "reaction_rod": run.reactions["rod"]}
    system = run.auditor.prepared.system
    assert audit_samples(system, table).holds
    table["reaction_rod"] = 1.001 * table["reaction_rod"]
    assert not audit_samples(system, table).holds


def test_events_that_are_known_are_held_against_the_passages_of_guards():
    system = oscillator()
    run = ds.solve(system, 10.0, {"x": 1.0})
    table = {"t": run.times, **run.states}
    assert audit_samples(system, table, events=run.events).holds
    found = audit_samples(system, table, events=run.events[1:])
    assert found.contradictions[0].owner == "event, up"
    assert [f.owner for f in audit_samples(system, table).unchecked] == ["event"]


def test_an_input_may_change_from_sample_to_sample():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2, force={"x": u.push}, inputs=u)
    run = ds.solve(system, 3.0, {"x": 0.0}, inputs={"push": ca.sin(2.0 * ds.time)})
    table = {"t": run.times, **run.states, "push": np.sin(2.0 * run.times)}
    assert audit_samples(system, table).holds
    assert not audit_samples(system, table | {"push": np.cos(run.times)}).holds


def test_a_data_frame_of_a_run_is_a_table():
    pytest.importorskip("pandas")
    run = swinging()
    assert audit_samples(run.auditor.prepared.system, run.to_pandas()).holds


def test_samples_that_are_too_far_apart_are_not_checked():
    system, table = told(swinging)
    found = audit_samples(system, {name: row[::100] for name, row in table.items()})
    assert [f.sentence for f in found.unchecked] == [
        "no 10 samples in a row are so near that they show a smooth motion"
    ]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"t": None}, UnknownNameError, "no column 't'"),
        ({"y_dot": None}, UnknownNameError, "no column 'y_dot'.* x, y, x_dot, y_dot"),
        ({"t": np.zeros(4)}, OutOfRangeError, "times rise"),
    ],
)
def test_a_table_that_is_no_motion_is_refused(change, error, said):
    table = {name: np.arange(4.0) for name in ("t", "x", "y", "x_dot", "y_dot")} | change
    table = {name: row for name, row in table.items() if row is not None}
    with pytest.raises(error, match=said):
        audit_samples(pendulum(), table)
