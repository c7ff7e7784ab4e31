"""Audits allow what bounces a run leaves out, as lower than a gap of zero, and no others."""

import math
from dataclasses import replace

import pytest

import daesolve as ds
from daesolve.verification.audit import audit

from .damage import moved
from .motions import certified

GRAVITY, MASS, REBOUND = 9.81, 2.0, 0.2


def dropped(height, friction, load=0.0):
    """A body falls on a floor, pressed by a load, and slides."""
    q = ds.coordinates(x="m", y="m")
    rubs = {"slip": q.dot.x, "friction": 0.3} if friction else {}
    body = ds.MechanicalSystem(
        q,
        kinetic=MASS * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=(MASS * GRAVITY + load) * q.y,
        goals=[ds.Contact("floor", q.y, restitution=REBOUND, closed=False, **rubs)],
    )
    return ds.solve(body, 0.1, {"y": height, "x_dot": 0.02})


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("load", [0.0, 1e5])
def test_a_bounce_may_be_left_out_exactly_where_it_is_lower_than_a_gap_of_zero(load, friction):
    """Each impact is told without its rebound; the fall through 1e-12 m tells which may be."""
    run = dropped(5e-4, friction, load)
    assert run.audit().holds, str(run.audit())
    certificate = certified(run)
    lowest = math.sqrt(2.0 * (GRAVITY + load / MASS) * 1e-12)
    impacts = [k for k, event in enumerate(certificate.events) if event.impact]
    objected = []
    for k in impacts:
        event = certificate.events[k]
        approach = -event.detail["y_dot"]
        pushed = {**event.impact.impulses, "floor": MASS * approach}
        left = MASS * event.after["x_dot"] ** 2 / 2
        impact = replace(event.impact, impulses=pushed, kinetic_after=left)
        stopped = replace(event, after={**event.after, "y_dot": 0.0}, impact=impact)
        events = [*certificate.events[:k], stopped, *certificate.events[k + 1 :]]
        found = audit(replace(certificate, events=events, scales={})).contradictions
        objects = any(f.subject == "restitution of floor" for f in found)
        assert objects is (REBOUND * approach > lowest), (k, approach)
        objected.append(objects)
    assert objected == [True] * (len(impacts) - 1) + [False]


def test_a_contact_may_push_over_a_gap_that_counts_as_zero_and_over_no_other():
    """What closes while another contact bounces out may stay as far away as counts as zero."""
    q = ds.coordinates(y="m")
    block = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=GRAVITY * q.y,
        goals=[ds.Contact("floor", q.y)],
    )
    certificate = certified(ds.solve(block, 1e-3, {"y": 0.0}))
    for height, holds in {0.9e-12: True, -0.9e-12: True, 3e-12: False, -3e-12: False}.items():
        found = audit(moved("y", height)(replace(certificate, given={}, scales={})))
        subjects = {f.subject for f in found.contradictions if f.check == "contact"}
        wrong = "pushes while it is open" if height > 0.0 else "overlaps"
        assert (f"floor never {wrong}" in subjects) is not holds, (height, str(found))


CAR = """<mujoco><worldbody>
<geom name="floor" type="plane" size="1 1 1" friction="1"/>
<body name="car" pos="0 0 .5">
  <joint name="x" type="slide" axis="1 0 0"/>
  <joint name="z" type="slide" axis="0 0 1" range="-.35 .5"/>
  <joint name="pitch" axis="0 1 0" range="-20 20" stiffness="5"/>
  <geom type="box" size=".2 .1 .05" mass="2" contype="0" conaffinity="0"/>
  <body name="wheel" pos=".1 0 -.1">
    <joint name="w" axis="0 1 0" armature=".01" damping=".01"/>
    <geom name="tyre" type="sphere" size=".08" mass=".2" friction=".7"/>
  </body>
</body>
</worldbody></mujoco>"""


@pytest.mark.slow
def test_joints_share_what_stops_a_bounce_that_is_left_out(tmp_path):
    """A wheel and the limit of its carriage strike by turns, ever faster, and come to rest."""
    path = tmp_path / "car.xml"
    path.write_text(CAR)
    model = ds.multibody.read(path)
    run = ds.solve(model.system(), 0.5, guess=model.start)
    assert "accumulated" in [event.name for event in run.events]
    assert run.audit().holds, str(run.audit())
