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


@pytest.mark.parametrize("written", ["apart", "together"])
def test_a_rod_in_two_rings_is_held_by_both_up_to_its_stop(written):
    """A load of 6 N at 0.2 m from the middle of rings 1 m apart: 4.2 N and 1.8 N, of 0.5 each.

    It slides into a stop, under 7 N - 3 N, and rests there as long as it is pushed.
    """
    q = ds.coordinates(x="m", y="m", turn="rad")

    def ring(name, along):
        speed = (q.dot.x, q.dot.y + along * q.dot.turn)
        sides = [
            ds.friction.Support(velocity=speed, normal=(0.0, way), friction=0.5)
            for way in (-1.0, 1.0)
        ]
        return ds.friction.VariantPair(name, sides)

    level = (q.y, q.turn) if written == "apart" else (q.y + q.turn, 3.0 * q.turn - q.y)
    rod = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2 + q.dot.turn**2 / 24,
        force={"x": 7.0, "y": -6.0, "turn": 6.0 * 0.2},
        goals=[
            ds.Contact("stop", 0.5 - q.x, closed=False, restitution=0.0),
            *(ds.Holonomic(f"level_{k}", part, ideal=False) for k, part in enumerate(level)),
        ],
        pairs=[ring("ahead", 0.5), ring("behind", -0.5)],
    )
    run = ds.solve(rod, 1.0, {"x": 0.0, "x_dot": 0.0})
    assert run.reactions["ahead"][0] == pytest.approx(3.0 - 1.2, rel=1e-12)
    assert run.reactions["behind"][0] == pytest.approx(3.0 + 1.2, rel=1e-12)
    struck = [event.time for event in run.events if event.name == "stop_closed"]
    assert struck == pytest.approx([0.5], abs=1e-12)
    assert run["x"][-1] == pytest.approx(0.5, abs=1e-15)
    assert run["friction_work"][-1] == pytest.approx(-3.0 * 0.5, rel=1e-12)
    assert run.audit().holds, run.audit()


@pytest.mark.parametrize("rubs", [(0.1, 0.2), (0.1, 0.1)])
def test_pairs_that_are_no_laws_are_refused_beside_contacts(rubs):
    """Two coefficients, or a body of some width, which turns under the friction of a side."""
    q = ds.coordinates(x="m", y="m", z="m", turn="rad")
    sides = [
        ds.friction.Support(
            velocity=(q.dot.x + way * (rubs[0] == rubs[1]) * q.dot.turn, q.dot.y),
            normal=(0.0, way),
            friction=one,
        )
        for way, one in zip((-1.0, 1.0), rubs, strict=True)
    ]
    with pytest.raises(UnsupportedError, match=r"'floor' is combined with pairs.*face each other"):
        _ = ds.MechanicalSystem(
            q,
            kinetic=ca.sumsqr(q.dot.vector) / 2,
            force={"z": -10.0},
            goals=[ds.Contact("floor", q.z), ds.Holonomic("side", q.y, ideal=False)],
            pairs=[ds.friction.VariantPair("rail", sides)],
        )
