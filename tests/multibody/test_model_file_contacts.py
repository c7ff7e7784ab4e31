"""Contacts from model files: which geoms touch, with which friction, and how bodies move then."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest

import daesolve as ds
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
    **options: float,
) -> ds.multibody.FileMechanism:
    text = FREE.format(
        ground=FLOOR.format(floor=floor), kind="thing", pos=pos, euler=euler, geom=geom
    )
    return ds.multibody.read(written(tmp_path, text), **options)  # type: ignore[arg-type]


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


@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_watched_and_mixed_as_mujoco_does(tmp_path: Path, seed: int) -> None:
    path = written(tmp_path, some_model(seed))
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


def test_ball_bounces_and_rolls_as_by_hand(tmp_path: Path) -> None:
    mechanism = thrown(tmp_path, 'size="0.1" friction="0.3"', restitution=0.5)
    start = {"flies_x_dot": 2.0, "flies_w2": -5.0}
    run = ds.solve(mechanism.system(), 1.2, guess=mechanism.start_with(start))
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
    assert run.audit().holds
