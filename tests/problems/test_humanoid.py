"""A humanoid that falls and comes to rest, against free fall, balances, and statics by MuJoCo."""

from functools import cache

import numpy as np
import pytest
from daesolve_problems.robots.humanoid import FILE, LOWEST, SIDES, problem

GRAVITY, DROP, FRICTION = 9.81, 1.0, 1.0
JOINTS = ["neck", "waist_x", "waist_y"]
JOINTS += [
    f"{side}_{name}"
    for side in SIDES
    for name in ("shoulder_x", "shoulder_y", "elbow", "hip_x", "hip_y", "knee")
]
TOUCHING = ["chest", "head", "pelvis"]
TOUCHING += [f"{side}_{name}" for side in SIDES for name in ("elbow", "hand", "knee", "foot")]


@cache
def fallen():
    return problem.case("falls").solve()


@cache
def model():
    mujoco = pytest.importorskip("mujoco")
    return mujoco.MjModel.from_xml_path(str(FILE))


def weight():
    return float(model().body_subtreemass[0]) * GRAVITY


def placed(run, moment):
    """Return the state of MuJoCo's model at a sample of the run."""
    import mujoco

    data = mujoco.MjData(model())
    centre = [run[f"torso_{name}"][moment] for name in ("x", "y", "z")]
    turn, arm = np.array([run[f"torso_q{k}"][moment] for k in range(4)]), np.zeros(3)
    mujoco.mju_rotVecQuat(arm, model().body("torso").ipos, turn)
    data.qpos[:7] = [*(centre - arm), *turn]
    for joint in JOINTS:
        data.qpos[model().joint(joint).qposadr[0]] = run[f"{joint}_angle"][moment]
    mujoco.mj_forward(model(), data)
    return data


def heights(data):
    """Return how high the lowest point of each round geom is above the floor, by its name."""
    geoms = [model().geom(name).id for name in TOUCHING]
    lowest = data.geom_xpos[geoms, 2] - model().geom_size[geoms, 0]
    return dict(zip(TOUCHING, lowest.tolist(), strict=True))


@pytest.mark.long
def test_it_falls_freely_until_its_lowest_point_lands():
    run = fallen()
    begun, place = heights(placed(run, 0)), placed(run, 0).qpos
    assert min(begun, key=begun.__getitem__) == "right_hand"
    assert begun["right_hand"] == pytest.approx(DROP, abs=1e-12)
    assert place[2] == pytest.approx(LOWEST + DROP, abs=1e-12)
    first = run.events[0]
    assert first.name == "right_hand_floor_closed"
    assert first.time == pytest.approx(np.sqrt(2.0 * DROP / GRAVITY), abs=1e-12)
    # What falls freely has gained the work of its weight.
    assert first.impact.kinetic_before == pytest.approx(weight() * DROP, rel=1e-12)


@pytest.mark.long
def test_energy_only_falls_and_by_the_works_and_impacts_alone():
    run = fallen()
    energy, fall = run["energy"], weight() * DROP
    assert np.all(np.diff(energy) <= 1e-11 * fall)
    impacts = [event.impact for event in run.events if event.impact is not None]
    lost = [impact.kinetic_before - impact.kinetic_after for impact in impacts]
    assert min(lost) >= -1e-12 * fall
    change = energy[-1] - energy[0]
    assert change == pytest.approx(run["work"][-1] - sum(lost), abs=1e-10 * fall)


@pytest.mark.long
def test_it_comes_to_rest_on_the_floor_within_its_limits():
    run = fallen()
    assert run.outcome.value == "completed"
    assert run.audit().holds
    rates = np.array([run[f"{joint}_rate"] for joint in JOINTS])
    fastest = [np.max(np.abs(rates[:, np.searchsorted(run.times, t)])) for t in (2.0, 2.5, 3.0)]
    # The slowest motion is left, and decays as an exponential function does.
    assert fastest[2] < 2.5e-3
    assert fastest[2] / fastest[1] == pytest.approx(fastest[1] / fastest[0], rel=0.02)
    data = placed(run, -1)
    assert min(heights(data).values()) > -1e-9
    for joint in JOINTS:
        low, high = model().joint(joint).range
        assert low - 1e-9 <= run[f"{joint}_angle"][-1] <= high + 1e-9


@pytest.mark.long
def test_the_floor_carries_the_weight_and_statics_by_mujoco_gives_the_same_loads():
    import mujoco

    run = fallen()
    data = placed(run, -1)
    loads = {name: run[f"{name}_floor"][-1] for name in TOUCHING}
    assert min(loads.values()) >= 0.0
    # An arm of less than 2 kg and 0.6 m still sinks at 2e-3 rad/s, and slows down at 1.6 / s.
    assert sum(loads.values()) == pytest.approx(weight(), abs=4e-3)
    needed, arms = data.qfrc_bias - data.qfrc_passive, list[np.ndarray]()
    for name, load in loads.items():
        geom = model().geom(name).id
        lowest = data.geom_xpos[geom] - [0.0, 0.0, model().geom_size[geom, 0]]
        jacobian = np.zeros((3, model().nv))
        mujoco.mj_jac(model(), data, jacobian, None, lowest, model().geom_bodyid[geom])
        needed -= load * jacobian[2]
        rubs = [run[f"{name}_floor_friction_{k}"][-1] for k in (1, 2)]
        assert np.linalg.norm(rubs) <= FRICTION * load + 1e-9
        arms += [jacobian[0], jacobian[1]] if load > 0.0 else []
    for joint in JOINTS:
        place = int(model().joint(joint).dofadr[0])
        for end, way in (("lower", 1.0), ("upper", -1.0)):
            torque = run[f"{joint}_{end}"][-1]
            assert torque >= 0.0
            needed[place] -= way * torque
    # Friction is left to balance. The damper of an elbow, 4 N m s/rad, still takes 8e-3 N m.
    found, *_ = np.linalg.lstsq(np.array(arms).T, needed, rcond=None)
    assert np.max(np.abs(np.array(arms).T @ found - needed)) < 0.012
