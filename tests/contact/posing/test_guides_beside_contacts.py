"""Pairs of supports beside contacts: a valve whose stem runs in a guide, a block along a rail."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import UnsupportedError
from tests.reference import valve as reference

SIDE = 20.0


def valve(restitution, rubs, packing):
    """Return the reference valve, with its stem in a guide, and a packing on it."""
    q = ds.coordinates(lift="m", across="m")
    law = ds.multibody.Coulomb(*packing).act("packing", q.dot.lift, ca.SX(1.0))
    seat, stop = (
        ds.Contact(name, gap, restitution=restitution, closed=False)
        for name, gap in (("seat", q.lift), ("stop", reference.TOP - q.lift))
    )
    sides = [ds.friction.Support((0.0, way), (q.lift, q.across), rubs) for way in (-1.0, 1.0)]
    push = reference.PUSH + reference.PULSE * ca.sin(reference.OMEGA * ds.time)
    return ds.MechanicalSystem(
        q,
        kinetic=reference.MASS * ca.sumsqr(q.dot.vector) / 2,
        potential=reference.STIFFNESS * q.lift**2 / 2,
        force={"lift": push + law.force, "across": -SIDE},
        goals=[
            *(seat, stop, ds.Holonomic("line", q.across, ideal=False)),
            *law.goals,
        ],
        pairs=[ds.friction.VariantPair("stem", sides)],
        discrete=law.discrete,
        events=law.events,
        meters={"heat": (-law.power, "J")},
    )


@pytest.mark.parametrize("solver", ["taylor", "dop853"])
@pytest.mark.parametrize(("restitution", "until"), [(0.0, 0.3), (0.3, 0.12)])
def test_a_valve_moves_as_under_one_law_with_the_sum_of_the_friction(restitution, until, solver):
    """The guide bears 1 N, the packing 1 N in motion and 2 N at rest; both stops are struck."""
    system = valve(restitution, 1.0 / SIDE, (1.0, 2.0))
    run = ds.solve(system, until, {"lift": reference.START, "lift_dot": 0.0}, solver=solver)
    wanted = reference.motion(restitution, until)
    states = np.array([wanted.state(time) for time in run.times])
    assert run["lift"] == pytest.approx(states[:, 0], abs=1e-12)
    # Of bounces that wear off, the reference sums up another part.
    assert run["lift_dot"] == pytest.approx(states[:, 1], abs=1e-10)
    struck = [event.time for event in run.events if event.name in ("seat_closed", "stop_closed")]
    assert struck[:3] == pytest.approx([time for time, _ in wanted.impacts[:3]], abs=1e-12)
    # Both slide under 1 N.
    assert run["friction_work"][-1] == pytest.approx(-run["heat"][-1], rel=1e-9)
    assert any("share their load" in note for note in run.notes)
    assert run.reactions["stem"] == pytest.approx(SIDE, rel=1e-14)
    assert run.audit().holds, run.audit()


def rail(push, floor_rubs, side, rubs=0.5):
    """Return a block on a rough floor, along a rail that bears a load from the side."""
    q = ds.coordinates(x="m", y="m", z="m")
    floor = ds.Contact("floor", q.z, slip=q.dot.x, friction=floor_rubs)
    sides = [ds.friction.Support((0.0, way), (q.x, q.y), rubs) for way in (-1.0, 1.0)]
    return ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        force={"x": push, "y": side, "z": -10.0},
        goals=[floor, ds.Holonomic("side", q.y, ideal=False)],
        pairs=[ds.friction.VariantPair("rail", sides)],
    )


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_block_on_a_rough_floor_rests_with_its_rail(way):
    """The floor bears 2 N and the rail 2 N, until the push exceeds 4 N; then it stops again."""
    start = {"x": 0.0, "x_dot": 0.0, "z": 0.0, "z_dot": 0.0}
    push = way * 8.0 * ca.sin(ds.time)
    run = ds.solve(rail(push, 0.2, -4.0), 3.5, start)
    begins = math.asin(0.5)
    moments = [event.time for event in run.events if event.name in ("floor_slips", "rail_slips")]
    assert moments[:1] == pytest.approx([begins], abs=1e-9)

    def speed(time):
        return 8.0 * (math.cos(begins) - math.cos(time)) - 4.0 * (time - begins)

    at = run.times[(run.times > begins) & (run.times < 3.0)]
    speeds = way * run["x_dot"][np.isin(run.times, at)]
    assert speeds == pytest.approx([speed(time) for time in at], abs=1e-12)
    assert run.audit().holds, run.audit()


def test_the_other_support_takes_over_while_the_block_slides():
    """The load from the side changes its sign: f |N| goes on."""
    start = {"x": 0.0, "x_dot": 5.0, "z": 0.0, "z_dot": 0.0}
    run = ds.solve(rail(ca.SX(0.0), 0.2, 4.0 - 8.0 * ds.time), 1.0, start)
    assert [event.time for event in run.events if event.name == "support_switch"][-1:] == (
        pytest.approx([0.5], abs=1e-12)
    )
    # 2 N of the floor, and 1/2 |4 - 8 t| N of the rail
    assert run["x_dot"][-1] == pytest.approx(5.0 - 2.0 - 1.0, abs=1e-12)
    assert run["friction_work"][-1] < 0.0
    assert run.audit().holds, run.audit()


def test_pairs_whose_supports_do_not_face_each_other_are_refused_beside_contacts():
    """A body of some width turns under the friction of its sides."""
    q = ds.coordinates(x="m", y="m", z="m")
    sides = [
        ds.friction.Support((0.0, way), (q.x, q.y), rubs) for way, rubs in ((-1.0, 0.1), (1.0, 0.2))
    ]
    with pytest.raises(UnsupportedError, match="'floor' is combined with pairs of supports"):
        _ = ds.MechanicalSystem(
            q,
            kinetic=ca.sumsqr(q.dot.vector) / 2,
            force={"z": -10.0},
            goals=[ds.Contact("floor", q.z), ds.Holonomic("side", q.y, ideal=False)],
            pairs=[ds.friction.VariantPair("rail", sides)],
        )
