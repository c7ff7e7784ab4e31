"""Contacts from model files: which geoms touch, with which friction, and how bodies move then."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import casadi as ca
import mujoco
import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody.bodies import at_start
from daesolve.multibody.model_files.contacts import candidates
from daesolve.multibody.model_files.parsing import parsed

FLOOR = '<geom name="floor" type="plane" size="1 1 1" {floor}/>'
FREE = """<mujoco><worldbody>{ground}
<body name="{kind}" pos="{pos}" euler="{euler}"><freejoint name="flies"/><geom {geom}/></body>
</worldbody></mujoco>"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.xml"
    path.write_text(text)
    return path


def thrown(
    tmp_path: Path,
    geom: str,
    pos: str = "0 0 1",
    euler: str = "0 0 0",
    floor: str = "",
    **options: Any,
) -> ds.multibody.FileMechanism:
    text = FREE.format(
        ground=FLOOR.format(floor=floor), kind="thing", pos=pos, euler=euler, geom=geom
    )
    return ds.multibody.read(written(tmp_path, text), **options)


OVERRIDING = (
    '<option o_margin="1.5" o_friction="0.3 0.2 0 0 0" o_solref="0.05 1">'
    '<flag override="enable"/></option>'
)


def some_model(seed: int) -> str:
    """Return bodies within each other, with geoms that all touch as far as their bits allow."""
    random = np.random.default_rng(seed)

    def geom(number: int) -> str:
        kinds = random.integers(0, 4, 2)
        return (
            f'<geom name="g{number}" size="0.5" contype="{kinds[0]}" conaffinity="{kinds[1]}" '
            f'condim="{random.choice([1, 3, 4, 6])}" priority="{random.integers(0, 2)}" '
            f'friction="{random.uniform():.2f} 0.01 0.01" margin="{random.uniform():.2f}" '
            f'solref="{random.uniform(0.02, 0.1):.3f} 1" solmix="{random.uniform():.2f}"/>'
        )

    bodies = {0: ""}
    parents = [0] + [int(random.integers(0, k)) for k in range(1, 8)]
    inner = {
        k: geom(2 * k) + geom(2 * k + 1) + ("<joint/>" if random.uniform() < 0.7 else "")
        for k in range(1, 8)
    }
    bodies = {k: inner[k] for k in inner}
    for k in reversed(range(1, 8)):
        text = f'<body name="b{k}">{bodies[k]}</body>'
        if parents[k]:
            bodies[parents[k]] += text
        else:
            bodies[0] = bodies.get(0, "") + text
    pairs = "".join(
        f'<pair geom1="g{2 * a}" geom2="g{2 * b}" friction="0.{a}{b}" margin="1"/>'
        for a, b in combinations(range(1, 8), 2)
        if random.uniform() < 0.1
    )
    excludes = "".join(
        f'<exclude body1="b{a}" body2="b{b}"/>'
        for a, b in combinations(range(1, 8), 2)
        if random.uniform() < 0.2
    )
    flag = '<option><flag filterparent="disable"/></option>' if seed % 2 else ""
    ground = geom(0) + geom(1)
    return (
        f"<mujoco>{flag}<worldbody>{ground}{bodies[0]}</worldbody>"
        f"<contact>{pairs}{excludes}</contact></mujoco>"
    )


@pytest.mark.parametrize(("seed", "option"), [*((n, "") for n in range(4)), (0, OVERRIDING)])
def test_pairs_are_watched_and_mixed_as_mujoco_does(tmp_path: Path, seed: int, option: str) -> None:
    path = written(tmp_path, some_model(seed).replace("<worldbody>", f"{option}<worldbody>"))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    expected = {}
    for k in range(data.ncon):
        contact = data.contact[k]
        first, second = sorted(map(int, contact.geom))
        if (
            model.body_weldid[model.geom_bodyid[first]]
            != (model.body_weldid[model.geom_bodyid[second]])
        ):
            own = contact.dim, *contact.friction[:2], *contact.solref, contact.includemargin
            expected[first, second] = own
    found = {
        (first, second): (
            mixture.dimension,
            *mixture.friction,
            *mixture.reference,
            mixture.margin,
        )
        for first, second, mixture in candidates(parsed(path))
    }
    assert len(expected) > 5
    assert found.keys() == expected.keys()
    for pair, own in expected.items():
        # MuJoCo's cones of friction are never narrower than 1e-5.
        dimension, *friction = found[pair]
        friction[:2] = np.maximum(friction[:2], 1e-5)
        assert (dimension, *friction) == pytest.approx(own, abs=1e-12)


def test_a_hand_that_a_program_moves_does_not_touch_its_fingers(tmp_path: Path) -> None:
    text = """<mujoco><default><geom size="0.1"/></default><worldbody>
      <body mocap="true"><geom name="hand"/><body><geom name="palm"/>
        <body><joint/><geom name="finger"/><body><joint/><geom name="tip"/></body></body></body>
      </body><body><freejoint/><geom name="ball"/></body></worldbody></mujoco>"""
    path = written(tmp_path, text)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    touching = {tuple(sorted(map(int, contact.geom))) for contact in data.contact}
    assert {(first, second) for first, second, _ in candidates(parsed(path))} == touching
    assert len(touching) == 6


def test_hull_of_a_mesh_is_as_far_from_a_plane_as_mujoco_says(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    points = " ".join(f"{x:.6f}" for x in random.normal(size=60))
    text = (
        f'<mujoco><asset><mesh name="stone" vertex="{points}"/></asset><default><geom margin="9"/>'
        '</default><worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="stone" '
        'pos="0 0 4" euler="{euler}"><freejoint/><geom type="mesh" mesh="stone"/></body>'
        "</worldbody></mujoco>"
    )
    for turned in random.uniform(-180.0, 180.0, (3, 3)):
        path = written(tmp_path, text.replace("{euler}", " ".join(map(str, turned))))
        mechanism = ds.multibody.read(path)
        gaps = [
            float(ca.DM(at_start(part.touch.gap, mechanism.bodies)))
            for part in mechanism.parts
            if isinstance(part, ds.multibody.PlaneContact)
        ]
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        expected = [data.contact[k].dist for k in range(data.ncon)]
        # The sum of the margins, which are kept, is no part of MuJoCo's distance.
        assert min(gaps) + 18.0 == pytest.approx(min(expected), abs=1e-10)
        assert all(np.min(np.abs(np.array(gaps) + 18.0 - one)) < 1e-10 for one in expected)


def test_what_is_not_taken_of_contacts_is_named(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" condim="6"/>
      <body name="a" pos="0 0 1"><freejoint/><geom name="brick" type="box" size="1 1 1"/></body>
      <body name="b" pos="4 0 1"><freejoint/><geom name="can" type="cylinder" size="1 1"/></body>
      <body name="c" pos="9 0 1"><freejoint/><geom name="ball" size="0.1"/></body>
      <body name="d" pos="9 0 1.1"><freejoint/><geom name="dab" size="0.1"/></body></worldbody>
      <contact><pair geom1="ball" geom2="floor" friction="0.1 0.2"/></contact></mujoco>"""
    path = written(tmp_path, text)
    named = {entry.kind: entry.names for entry in ds.multibody.read(path).left_out}
    assert named == {
        "contacts between geoms of other kinds": ("brick and can",),
        "contacts between geoms that overlap": ("ball and dab",),
        "friction against torsion and rolling": (
            "floor and brick",
            "floor and can",
            "floor and dab",
        ),
        "friction that differs by direction": ("floor and ball",),
    }
    alone = ds.multibody.read(path, contacts="none")
    assert [(entry.kind, entry.names) for entry in alone.left_out] == [
        ("contacts between geoms", ("floor", "brick", "can", "ball", "dab"))
    ]
    assert not alone.parameters.names


def test_pairs_that_never_meet_and_hidden_spheres_are_not_watched(tmp_path: Path) -> None:
    text = """<mujoco><default><geom type="capsule" size="0.05"/></default><worldbody>
      <geom name="floor" type="plane" size="1 1 1"/><geom name="post" pos="3 0 0.5" size="0.1 0.4"/>
      <body name="upper" pos="0 0 {height}"><joint axis="0 1 0"/>
        <geom name="arm" fromto="0 0 0 0.5 0 0"/>
        <body name="lower" pos="0.5 0 0"><joint axis="0 1 0"/>
          <geom name="hand" fromto="0 0 0 0.5 0 0" size="{size}"/></body></body>
      </worldbody></mujoco>"""

    def contacts(height: float, size: float) -> list[str]:
        given = text.format(height=height, size=size)
        parts = ds.multibody.read(written(tmp_path, given)).parts
        kinds = ds.multibody.PlaneContact, ds.multibody.RoundContact
        return [part.name for part in parts if isinstance(part, kinds)]

    # Nothing reaches the floor from above 1.05 m, and the arm not from above 0.55 m; nothing ever
    # reaches the post.
    assert contacts(1.06, 0.05) == []
    assert contacts(1.04, 0.05) == ["hand_floor_1", "hand_floor_2"]
    # At the shoulder nothing moves; at the elbow one sphere of both is enough, the larger one.
    ends = [contacts(0.5, size) for size in (0.05, 0.06)]
    assert [len(both) for both in ends] == [2, 2]
    assert [name[:4] for name in ends[0]] == ["arm_", "hand"]
    assert [name[:4] for name in ends[1]] == ["hand", "hand"]


@pytest.mark.parametrize(
    ("small", "pair", "shown"),
    [
        ('size="0.06"', "", ["big"]),
        ('size="0.06"', 'margin="0.1"', ["small"]),
        ('size="0.1"', 'condim="1"', ["big", "small"]),
    ],
)
def test_a_sphere_hides_another_by_the_margins_of_their_pairs_and_only_if_it_rubs_as_much(
    tmp_path: Path, small: str, pair: str, shown: list[str]
) -> None:
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body pos="0 0 1"><freejoint/><geom name="big" size="0.1"/><geom name="small" {small}/>
      </body></worldbody>
      <contact><pair geom1="small" geom2="floor" friction="1 1 0 0 0" {pair}/></contact></mujoco>"""
    touching = ds.multibody.read(written(tmp_path, text)).touching
    assert sorted(part.name for part in touching.parts) == [f"{name}_floor" for name in shown]


def test_wrong_choices_of_contacts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ds.errors.UnknownNameError, match="soft"):
        thrown(tmp_path, 'size="0.1"', contacts="soft")
    with pytest.raises(ds.errors.OutOfRangeError, match="from 0 to 1"):
        thrown(tmp_path, 'size="0.1"', restitution=1.5)
    with pytest.raises(ds.errors.PosingError, match='needs contacts="rigid"'):
        thrown(tmp_path, 'size="0.1"', restitution=0.5, contacts="compliant")
    with pytest.raises(ds.errors.PosingError, match='needs contacts="compliant"'):
        thrown(tmp_path, 'size="0.1"', compliance=ds.multibody.HuntCrossley(1.0))


def test_ball_bounces_and_rolls_as_by_hand(tmp_path: Path) -> None:
    mechanism = thrown(tmp_path, 'size="0.1" friction="0.3"', restitution=0.5)
    start = {"flies_x_dot": 2.0, "flies_w2": -5.0}
    run = ds.solve(mechanism.system(), 0.9, guess=mechanism.start_with(start))
    fall = np.sqrt(2 * 0.9 / 9.81)
    mass = float(ca.DM(mechanism.bodies[0].mass))
    first, second, *_ = run.events
    assert first.name == "thing_floor_closed"
    assert first.time == pytest.approx(fall, rel=1e-14)
    assert second.time == pytest.approx(2 * fall, rel=1e-13)
    # The slip of 2.5 m/s needs 2/7 m 2.5 m/s to stop, more than friction has in the impact.
    assert first.impact is not None
    normal = 1.5 * 9.81 * fall * mass
    pushes = first.impact.impulses
    assert pushes["thing_floor"] == pytest.approx(normal, rel=1e-13)
    assert 2 / 7 * mass * 2.5 < 0.3 * normal
    assert pushes["thing_floor_stuck_1"] == pytest.approx(-2 / 7 * mass * 2.5, rel=1e-12)
    rolling = 2.0 - 2 / 7 * 2.5
    assert run["thing_x_dot"][-1] == pytest.approx(rolling, rel=1e-12)
    assert run["thing_w2"][-1] == pytest.approx(rolling / 0.1, rel=1e-12)


@pytest.mark.slow
def test_capsule_lands_on_one_end_as_by_hand(tmp_path: Path) -> None:
    geom, floor = 'type="capsule" size="0.05 0.2" friction="0.2"', 'friction="0.1"'
    mechanism = thrown(tmp_path, geom, euler="0 60 0", floor=floor)
    run = ds.solve(mechanism.system(), 0.43, guess=mechanism.start)
    landed = run.events[0]
    assert landed.name == "thing_floor_1_closed"
    # The lower end is 0.2 cos 60 + 0.05 below the centre.
    arm = np.array([-0.2 * np.sin(np.pi / 3), 0.0, -0.1 - 0.05])
    assert landed.time == pytest.approx(np.sqrt(2 * (1.0 + arm[2]) / 9.81), rel=1e-13)
    mass = float(ca.DM(mechanism.bodies[0].mass))
    moment = float(ca.DM(mechanism.bodies[0].inertia[1, 1]))
    # In the plane x z: the rates of slip and gap by pushes P along x and z at the end of the arm.
    rows = np.array([[1.0, 0.0, arm[2]], [0.0, 1.0, -arm[0]]])
    mobility = rows @ np.diag([1 / mass, 1 / mass, 1 / moment]) @ rows.T
    speed = np.array([0.0, -9.81 * landed.time])
    stuck = np.linalg.solve(mobility, -speed)
    assert abs(stuck[0]) > 0.2 * stuck[1]  # so it slides, the way that the push would hold it
    direction = np.array([0.2 * np.sign(stuck[0]), 1.0])
    push = direction * -speed[1] / (mobility @ direction)[1]
    assert (mobility @ push)[0] * push[0] < 0.0  # against the slip that it leaves
    assert landed.impact is not None
    assert landed.impact.impulses["thing_floor_1"] == pytest.approx(push[1], rel=1e-12)
    assert run["thing_w2"][-1] != 0.0
    assert run.audit().holds


def test_compliant_contact_takes_its_stiffness_from_the_file_or_from_the_weight(
    tmp_path: Path,
) -> None:
    geom = 'size="0.1" mass="2" friction="0"'
    soft = thrown(tmp_path, geom, floor='solref="-500 -1" friction="0"', contacts="compliant")
    assert "stiffness=500.0" in soft.touching.notes[0]
    usual = thrown(tmp_path, geom, floor='friction="0"', contacts="compliant")
    assert "stiffness=20000.0" in usual.touching.notes[0]
    assert not usual.parameters.names
    law = ds.multibody.KelvinVoigt(800.0, 0.0)
    own = thrown(
        tmp_path,
        geom,
        floor='friction="0"',
        pos="0 0 0.6",
        contacts="compliant",
        compliance=law,
    )
    run = ds.solve(own.system(), 0.6, guess=own.start)
    closed, lost = run.events
    # A spring without a damper under the weight: for half a period and what the weight adds.
    rate, speed = np.sqrt(800.0 / 2.0), np.sqrt(2 * 9.81 * 0.5)
    expected = 2 * (np.pi - np.arctan2(rate * speed, 9.81)) / rate
    assert lost.time - closed.time == pytest.approx(expected, rel=1e-11)
    assert run.audit().holds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("geom", "until"),
    [
        ('type="sphere" size="0.1"', 0.3),
        ('type="capsule" size="0.05 0.2"', 0.2),
        ('type="box" size="0.1 0.15 0.05"', 0.19),
        ('type="ellipsoid" size="0.1 0.15 0.05"', 0.3),
    ],
)
def test_thrown_bodies_move_as_in_mujoco_with_steps_going_to_zero(
    tmp_path: Path, geom: str, until: float
) -> None:
    # Where a body sticks as it lands. Where it slides, MuJoCo's convex law of impacts lifts it.
    speeds = [0.5, 0.2, -0.5, 0.0, 0.0, 0.0]

    def text(step: float) -> str:
        # Contacts that take all of the speed in one step, and do not push back where they began.
        return (
            f'<mujoco><option timestep="{step}" cone="elliptic" impratio="100" iterations="200" '
            f'tolerance="1e-14"/><default><geom friction="3" solref="-0.001 {-1 / step}" '
            'solimp="0.99 0.99 1e-9"/></default><worldbody><geom name="floor" type="plane" '
            'size="1 1 1"/><body name="thing" pos="0 0 0.3" euler="10 20 30"><freejoint '
            f'name="flies"/><geom {geom}/></body></worldbody></mujoco>'
        )

    mechanism = ds.multibody.read(written(tmp_path, text(1e-3)))
    rates = (f"flies_{name}" for name in ("x_dot", "y_dot", "z_dot", "w1", "w2", "w3"))
    start = mechanism.start_with(dict(zip(rates, speeds, strict=True)))
    run = ds.solve(mechanism.system(), until, guess=start)
    assert run.event_count > 0
    assert run.audit().holds
    names = ("x", "y", "z", "q0", "q1", "q2", "q3")
    own = np.array([run.end_state[f"thing_{name}"] for name in names])
    for step in (2.5e-4, 6.25e-5):
        model = mujoco.MjModel.from_xml_string(text(step))
        data = mujoco.MjData(model)
        data.qvel[:] = speeds
        mujoco.mj_step(model, data, round(until / step))
        other = data.qpos.copy()
        other[3:] *= np.sign(other[3:] @ own[3:])
        # It finds a landing up to a step late, where rates jump by less than 20 m/s or 1/s.
        assert np.max(np.abs(other - own)) < 20.0 * step


def test_case_of_a_file_chooses_its_contacts(tmp_path: Path) -> None:
    text = FREE.format(
        ground=FLOOR.format(floor=""), kind="thing", pos="0 0 1", euler="0 0 0", geom='size="0.1"'
    )
    problem = ds.problem(str(written(tmp_path, text)))
    known = {
        kind: {*problem.case(contacts=kind).system.dynamics.ranges}
        for kind in ("rigid", "compliant", "none")
    }
    assert {"restitution", "contact_thing_floor"} <= known["rigid"]
    assert "contact_thing_floor" in known["compliant"]
    assert "restitution" not in known["compliant"]
    assert not known["none"] & {"restitution", "contact_thing_floor"}
    assert problem.case(restitution=0.25).full_parameters["restitution"] == 0.25


@pytest.mark.slow
def test_box_without_friction_slides_on_its_four_corners(tmp_path: Path) -> None:
    geom, floor = 'type="box" size="0.1 0.15 0.05" condim="1"', 'condim="1"'
    mechanism = thrown(tmp_path, geom, pos="0 0 0.3", euler="10 20 30", floor=floor)
    start = mechanism.start_with({"flies_x_dot": 0.5, "flies_y_dot": 0.2})
    run = ds.solve(mechanism.system(), 0.6, guess=start, redundant="minimum-norm")
    assert run.outcome is ds.Outcome.COMPLETED
    # Nothing acts along the floor, and the box comes to lie on it.
    assert run["thing_x"][-1] == pytest.approx(0.5 * 0.6, rel=1e-12)
    assert run["thing_y"][-1] == pytest.approx(0.2 * 0.6, rel=1e-12)
    assert run["thing_z"][-1] == pytest.approx(0.05, abs=1e-9)
    assert run.audit().holds
