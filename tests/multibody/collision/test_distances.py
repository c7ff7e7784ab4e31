"""The gaps of contacts between shapes against MuJoCo's distances, at random positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import casadi as ca
import mujoco
import numpy as np
import pytest

from daesolve.errors import OutOfRangeError, PosingError, UnsupportedError
from daesolve.multibody import GROUND, Body, Frame
from daesolve.multibody.bodies import at_start, rate_of
from daesolve.multibody.collision import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    HalfSpace,
    TriaxialEllipsoid,
    can_touch,
    contacts_between,
)
from daesolve.multibody.collision.capsule_contact import CapsuleContact
from daesolve.multibody.contact_geometry import RoundOnRound
from daesolve.multibody.surfaces import Sphere

GEOMS = {
    "plane": (HalfSpace(), 'type="plane" size="1 1 1"'),
    "sphere": (Sphere(0.1), 'type="sphere" size="0.1"'),
    "capsule": (Capsule(0.06, 0.2), 'type="capsule" size="0.06 0.2"'),
    "long": (Capsule(0.03, 0.4), 'type="capsule" size="0.03 0.4"'),
    "box": (Box((0.1, 0.2, 0.3)), 'type="box" size="0.1 0.2 0.3"'),
    "cylinder": (Cylinder(0.15, 0.1), 'type="cylinder" size="0.15 0.1"'),
    "ellipsoid": (TriaxialEllipsoid((0.1, 0.2, 0.3)), 'type="ellipsoid" size="0.1 0.2 0.3"'),
}
PAIRS = [
    *[(name, "plane") for name in GEOMS if name != "plane"],
    *[("sphere", name) for name in ("sphere", "capsule", "box", "cylinder")],
    *[("capsule", name) for name in ("capsule", "long")],
]
NUMBER = 100
"""Positions of each pair."""
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Beside:
    """Two geoms, by MuJoCo and as contacts."""

    first: str
    second: str

    @cached_property
    def model(self) -> mujoco.MjModel:
        """A model of the geoms, which MuJoCo watches however far they are apart."""
        beside = f"<geom {GEOMS[self.second][1]}/>"
        if self.second != "plane":
            beside = f'<body name="other"><freejoint/>{beside}</body>'
        return mujoco.MjModel.from_xml_string(
            f'<mujoco><default><geom margin="100"/></default><worldbody>{beside}<body name="own">'
            f"<freejoint/><geom {GEOMS[self.first][1]}/></body></worldbody></mujoco>"
        )

    @cached_property
    def function(self) -> ca.Function:
        """Rows of the contacts and guards of their ends, by coordinates, velocities and values.

        A row has the gap, its rate, the middle point, the size of the slip, and the normal.
        """
        own, other = Body("own", 1.0, (1.0, 1.0, 1.0)), Body("other", 1.0, (1.0, 1.0, 1.0))
        its = GROUND.frame() if self.second == "plane" else other.frame()
        frame = own.frame()
        assert isinstance(its, Frame)
        assert isinstance(frame, Frame)
        shapes = GEOMS[self.first][0], GEOMS[self.second][0]
        contacts = contacts_between("touch", (frame, shapes[0]), (its, shapes[1]))
        values = [value for contact in contacts for value in ca.vertsplit(contact.values.vector)]
        guards = [
            guard
            for contact in contacts
            for event in contact.contribution.events
            if event.name == "touch_end"
            for guard in ca.vertsplit(event.guard)
        ]
        touches = [contact.touch for contact in contacts]
        upwards = ca.DM([0.0, 0.0, 1.0])
        normals = [t.normal if isinstance(t, RoundOnRound) else upwards for t in touches]
        rows = [
            ca.horzcat(
                touch.gap,
                rate_of(touch.gap, (own, other)),
                (touch.point - touch.gap / 2 * normal).T,
                ca.norm_2(touch.slip),
                normal.T,
            )
            for touch, normal in zip(touches, normals, strict=True)
        ]
        q = ca.vertcat(own.coordinates.vector, other.coordinates.vector)
        v = ca.vertcat(own.velocities.vector, other.velocities.vector)
        given = [q, v, ca.vertcat(*values)]
        return ca.Function("rows", given, [ca.vertcat(*rows), ca.vertcat(*guards)])

    def rows(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the rows, the nearest first, where the guards say which ends are nearest."""
        count = int(self.function.size1_in(2)) - 1
        fitting = []
        for ends in product((0.0, 1.0, -1.0), repeat=max(count, 0)):
            rows, guards = self.function(q.ravel(), v.ravel(), [1.0, *ends][: count + 1])
            if np.all(guards.full() >= 0.0):
                fitting.append(rows.full())
        (rows,) = fitting
        return rows[np.argsort(rows[:, 0])]

    def positions(self) -> Iterator[tuple[mujoco.MjData, np.ndarray]]:
        """Yield random motions, as MuJoCo sees them, with the rows of the contacts."""
        generator, data = np.random.default_rng(7), mujoco.MjData(self.model)
        for _ in range(NUMBER):
            turned = generator.normal(size=(2, 4))
            turned /= np.linalg.norm(turned, axis=1)[:, None]
            q = np.column_stack([generator.uniform(-0.6, 0.6, (2, 3)), turned])
            v = generator.normal(size=(2, 6))
            for row, name in enumerate(("own", "other")[: self.model.nbody - 1]):
                joint = self.model.joint(self.model.body(name).jntadr[0])
                data.qpos[joint.qposadr[0] : joint.qposadr[0] + 7] = q[row]
                data.qvel[joint.dofadr[0] : joint.dofadr[0] + 6] = v[row]
            mujoco.mj_forward(self.model, data)
            rows = self.rows(q, v)
            hidden = self.second in ("box", "cylinder") and rows[0, 0] <= -0.09
            if not hidden:  # where the centre of the sphere is within the other, there is no gap
                yield data, rows


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda name: name)
def test_gaps_and_places_are_those_of_mujoco(first: str, second: str) -> None:
    seen = 0
    for data, rows in Beside(first, second).positions():
        expected = [data.contact[k].dist for k in range(data.ncon)]
        assert rows[0, 0] == pytest.approx(min(expected), abs=TOLERANCE)
        # MuJoCo watches some corners of a box, and some points of a rim.
        for k in range(data.ncon if first != "cylinder" else 1):
            near = rows[np.argmin(np.abs(rows[:, 0] - expected[k]))]
            assert near[0] == pytest.approx(expected[k], abs=TOLERANCE)
            assert np.allclose(near[2:5], data.contact[k].pos, rtol=0.0, atol=TOLERANCE)
        seen += 1
    assert seen > NUMBER / 2


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda name: name)
def test_rates_of_gaps_and_slips_are_those_of_the_material(first: str, second: str) -> None:
    beside = Beside(first, second)
    for data, rows in beside.positions():
        for row in rows:
            place, normal = row[2:5], row[6:9]
            ends = []
            for name, side in (("own", 1.0), ("other", -1.0)):
                number = mujoco.mj_name2id(beside.model, mujoco.mjtObj.mjOBJ_BODY, name)
                jacobian = np.zeros((3, beside.model.nv))
                at = place + side * row[0] / 2 * normal
                if number >= 0:
                    mujoco.mj_jac(beside.model, data, jacobian, None, at, number)
                ends.append(jacobian @ data.qvel)
            over = ends[0] - ends[1]
            assert row[1] == pytest.approx(normal @ over, abs=TOLERANCE)
            along = over - normal @ over * normal
            assert row[5] == pytest.approx(np.linalg.norm(along), abs=1e-8)


@pytest.mark.parametrize(
    ("first", "second"), [("sphere", "capsule"), ("capsule", "long")], ids=lambda name: name
)
def test_distance_at_the_start_is_mujocos_whichever_end_is_nearest(first: str, second: str) -> None:
    beside, generator = Beside(first, second), np.random.default_rng(11)
    data, within = mujoco.MjData(beside.model), 0
    for _ in range(20):
        turned = generator.normal(size=(2, 4))
        turned /= np.linalg.norm(turned, axis=1)[:, None]
        places = generator.uniform(-0.2, 0.2, (2, 3))
        bodies = [
            Body(name, 1.0, (1.0, 1.0, 1.0), position=place, rotation=quaternion)
            for name, place, quaternion in zip(
                ("own", "other"), places.tolist(), turned.tolist(), strict=True
            )
        ]
        shapes = GEOMS[first][0], GEOMS[second][0]
        placed = [(body.frame(), shape) for body, shape in zip(bodies, shapes, strict=True)]
        (contact,) = contacts_between("touch", *placed)
        assert isinstance(contact, CapsuleContact)
        for row, name in enumerate(("own", "other")):
            joint = beside.model.joint(beside.model.body(name).jntadr[0])
            data.qpos[joint.qposadr[0] : joint.qposadr[0] + 7] = [*places[row], *turned[row]]
        mujoco.mj_forward(beside.model, data)
        expected = data.contact[0].dist
        assert contact.gap_at_start(bodies) == pytest.approx(expected, abs=TOLERANCE)
        within += expected < 0.0
    assert 3 < within < 17


def test_hull_has_a_contact_for_each_vertex_and_a_margin_lifts_it() -> None:
    body = Body("stone", 1.0, (1.0, 1.0, 1.0), position=(0.0, 0.0, 1.0))
    vertices = np.array([[0.0, 0.0, -0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 0.2]])
    frame, floor = body.frame(), GROUND.frame()
    assert isinstance(frame, Frame)
    assert isinstance(floor, Frame)
    contacts = contacts_between(
        "stone", (floor, HalfSpace()), (frame, ConvexHull(vertices)), margin=0.1
    )
    gaps = [float(at_start(contact.touch.gap, (body,))) for contact in contacts]
    assert gaps == pytest.approx([0.4, 0.9, 0.9, 1.1], abs=1e-15)


def test_shapes_without_a_contact_between_them_and_wrong_sizes_are_refused() -> None:
    body = Body("stone", 1.0, (1.0, 1.0, 1.0))
    frame, floor = body.frame(), GROUND.frame()
    assert isinstance(frame, Frame)
    assert isinstance(floor, Frame)
    box = Box((0.1, 0.1, 0.1))
    assert not can_touch(box, box)
    with pytest.raises(UnsupportedError, match="between a Box and a Box"):
        contacts_between("both", (frame, box), (floor, box))
    with pytest.raises(OutOfRangeError, match="half_length of a Capsule is 0"):
        Capsule(0.1, 0)
    with pytest.raises(PosingError, match="needs three lengths"):
        Box((0.1, 0.2))
    with pytest.raises(PosingError, match="four or more rows"):
        ConvexHull(np.zeros((3, 3)))
    with pytest.raises(OutOfRangeError, match="finite"):
        ConvexHull(np.full((4, 3), np.nan))
