"""What hits a body that dry friction holds moves it: a finite force bears no impulse."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import pytest

import daesolve as ds
from daesolve.contact.posing.brakes import Sticking
from daesolve.core.results.trajectory.findings import Verdict

BLOCK, BALL, SPEED, HELD = 0.5, 0.4, 0.1, 1.0
TOGETHER = BALL * SPEED / (BLOCK + BALL)
"""m/s, after an impact without restitution."""
BRAKED = (BLOCK + BALL) * TOGETHER / HELD
"""s, until the friction of the block has stopped both: the ball pushes on."""
PATH = TOGETHER * BRAKED / 2
EXACT = 1e-12
"""The accuracy of an arc of uniform deceleration: rounding."""

BODIES = """<mujoco><worldbody>
<body name="block" pos="0.16 0 1">
  <joint name="rail" type="slide" axis="1 0 0" frictionloss="1"/>
  <geom name="pad" type="{kind}" size="{size}" mass="0.5"/>
</body>
<body name="ball" pos="0 0 1">
  <joint name="wire" type="slide" axis="1 0 0"/>
  <geom name="round" size=".1" mass=".4" condim="{condim}"/>
</body>
</worldbody></mujoco>"""
LIMITED = """<mujoco><worldbody>
<body name="block"><joint name="rail" type="slide" axis="1 0 0" frictionloss="1"/>
  <geom size=".05" mass=".5"/>
  <body name="ball" pos="0 0 .2">
    <joint name="wire" type="slide" axis="1 0 0" range="-.01 .01" limited="true"/>
    <geom size=".1" mass=".4"/>
  </body>
</body>
</worldbody></mujoco>"""


START = {"block": 0.01, "ball": 0.0, "block_dot": 0.0, "ball_dot": SPEED}


def block_and_ball(restitution: float | None = None) -> ds.MechanicalSystem:
    """Pose a block that friction holds, and a ball that meets it, or that a latch catches."""
    q = ds.coordinates(block="m", ball="m")
    rub = ds.multibody.Coulomb(1.0).act("rail", q.dot.block, ca.SX(HELD))
    caught = ds.discrete(caught=0.0)
    hold = ds.Nonholonomic("hold", q.dot.block - q.dot.ball, held_by="caught")
    catch = ds.Reset({"caught": 1.0}, impose=["hold"])
    latch = ds.Event("latch", q.block - q.ball, ds.FALLING, catch)
    bounces = restitution is not None
    gap = ds.Contact("gap", q.block - q.ball, restitution=restitution or 0.0, closed=False)
    return ds.MechanicalSystem(
        q,
        kinetic=(BLOCK * q.dot.block**2 + BALL * q.dot.ball**2) / 2,
        goals=[gap if bounces else hold, *rub.goals],
        force={"block": rub.force},
        discrete=rub.discrete if bounces else [rub.discrete, caught],
        events=rub.events if bounces else [*rub.events, latch],
    )


def check_audit(run: ds.Trajectory) -> None:
    wrong = [one for one in run.audit().findings if one.verdict is Verdict.CONTRADICTED]
    assert not wrong


def test_a_ball_that_stays_at_a_block_pushes_it_until_friction_stops_both() -> None:
    run = ds.solve(block_and_ball(0.0), 0.5, START)
    times = {event.name: event.time for event in run.events}
    assert times["gap_closed"] == pytest.approx(0.1, abs=EXACT)
    assert times["rail_sticks"] == pytest.approx(0.1 + BRAKED, abs=EXACT)
    assert run["block"][-1] == pytest.approx(0.01 + PATH, abs=EXACT)
    check_audit(run)


def test_a_ball_that_rebounds_leaves_the_block_its_momentum() -> None:
    run = ds.solve(block_and_ball(1.0), 0.5, START)
    thrown = 2.0 * TOGETHER
    assert run["block"][-1] == pytest.approx(0.01 + BLOCK * thrown**2 / 2 / HELD, abs=EXACT)
    assert run["ball_dot"][-1] == pytest.approx(SPEED - BLOCK / BALL * thrown, abs=EXACT)
    check_audit(run)


def test_a_latch_that_catches_the_ball_moves_the_block() -> None:
    run = ds.solve(block_and_ball(), 0.5, START)
    assert run["block"][-1] == pytest.approx(0.01 + PATH, abs=EXACT)
    assert run["ball"][-1] == pytest.approx(0.01 + PATH, abs=EXACT)
    check_audit(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "size", "condim"),
    [("sphere", ".05", 1), ("sphere", ".05", 3), ("box", ".05 .1 .1", 3)],
)
def test_bodies_of_a_file_move_by_what_hits_them(
    tmp_path: Path, kind: str, size: str, condim: int
) -> None:
    path = tmp_path / "hit.xml"
    path.write_text(BODIES.format(kind=kind, size=size, condim=condim))
    model = ds.multibody.read(path)
    run = ds.solve(model.system(), 0.3, guess=model.start_with({"wire_speed": SPEED}))
    times = {event.name: event.time for event in run.events}
    assert times["rail_rub_sticks"] == pytest.approx(0.1 + BRAKED, abs=1e-9)
    assert run["block_x"][-1] == pytest.approx(0.16 + PATH, abs=1e-9)
    check_audit(run)


def test_a_limit_that_is_hit_moves_the_joint_before_it(tmp_path: Path) -> None:
    path = tmp_path / "limit.xml"
    path.write_text(LIMITED)
    model = ds.multibody.read(path, contacts="none")
    run = ds.solve(model.system(), 0.3, guess=model.start_with({"wire_speed": SPEED}))
    assert run["block_x"][-1] == pytest.approx(PATH, abs=1e-9)
    check_audit(run)


def thrown_back() -> ds.Trajectory:
    """Run a block and a ball that rebounds from it by an event of its own."""
    q = ds.coordinates(block="m", ball="m")
    rub = ds.multibody.Coulomb(1.0).act("rail", q.dot.block, ca.SX(HELD))
    meet = ds.Nonholonomic("meet", q.dot.block - q.dot.ball)
    rebound = ds.Reset(impose=[meet], restitution=1.0)
    system = ds.MechanicalSystem(
        q,
        kinetic=(BLOCK * q.dot.block**2 + BALL * q.dot.ball**2) / 2,
        goals=rub.goals,
        force={"block": rub.force},
        discrete=rub.discrete,
        events=[*rub.events, ds.Event("hit", q.block - q.ball, ds.FALLING, rebound)],
    )
    return ds.solve(system, 0.5, START)


def test_the_auditor_objects_to_friction_that_holds_in_an_impact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = thrown_back()
    path = BLOCK * (2.0 * TOGETHER) ** 2 / 2 / HELD
    assert right["block"][-1] == pytest.approx(0.01 + path, abs=EXACT)
    check_audit(right)
    with monkeypatch.context() as patch:
        patch.setattr(Sticking, "bears_impulses", True)
        wrong = thrown_back()
    assert wrong["block"][-1] == 0.01
    found = [one for one in wrong.audit().findings if one.verdict is Verdict.CONTRADICTED]
    assert [(one.check, one.subject) for one in found] == [("impulses", "rail_stick_1 bears none")]
