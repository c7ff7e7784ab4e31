"""A quadruped that lands and stands, against free fall, balances, and statics by MuJoCo."""

from functools import cache

import numpy as np
import pytest
from daesolve_problems.robots.quadruped import FEET, FILE, JOINTS, LEGS, problem

GRAVITY, DROP = 9.81, 0.04
NAMES = [f"{leg}_{joint}" for leg in LEGS for joint in JOINTS]

pytestmark = pytest.mark.slow


@cache
def stood(incline):
    """Return a run that ends at rest: the slowest motion decays with about 1 / 1.2 s."""
    return problem.case("stands", incline=incline).solve(until=40.0)


@cache
def model(incline):
    mujoco = pytest.importorskip("mujoco")
    found = mujoco.MjModel.from_xml_path(str(FILE))
    found.opt.gravity[:] = GRAVITY * np.array([np.sin(incline), 0.0, -np.cos(incline)])
    return found


def weight():
    return float(model(0.0).body_subtreemass[0]) * GRAVITY


def forces_of_feet(run):
    """Return load and friction of each foot at the end, N."""
    loads = np.array([run[foot][-1] for foot in FEET])
    rubs = [[run[f"{foot}_friction_{k}"][-1] for k in (1, 2)] for foot in FEET]
    return loads, np.array(rubs)


def statics(run, incline):
    """Return the forces (4, 3) by which feet balance motors and weight, and what is left over.

    The eighteen rows are the equations of motion of the file at rest, by MuJoCo; the torques follow
    from the angles alone.
    """
    import mujoco

    file = model(incline)
    data = mujoco.MjData(file)
    places = [f"trunk_{name}" for name in ("x", "y", "z", "q0", "q1", "q2", "q3")]
    angles = np.array([run[f"{name}_angle"][-1] for name in NAMES])
    data.qpos[:] = [*(run[name][-1] for name in places), *angles]
    mujoco.mj_forward(file, data)
    wanted = np.tile([0.0, 0.6, -1.2], len(LEGS))
    needed = data.qfrc_bias - np.concatenate([np.zeros(6), 120.0 * (wanted - angles)])
    arms = []
    for leg in LEGS:
        geom = mujoco.mj_name2id(file, mujoco.mjtObj.mjOBJ_GEOM, f"{leg}_foot")
        lowest = data.geom_xpos[geom] - [0.0, 0.0, file.geom_size[geom, 0]]
        jacobian = np.zeros((3, file.nv))
        mujoco.mj_jac(file, data, jacobian, None, lowest, file.geom_bodyid[geom])
        arms.append(jacobian.T)
    arms = np.hstack(arms)
    forces, *_ = np.linalg.lstsq(arms, needed, rcond=None)
    return forces.reshape(-1, 3), arms @ forces - needed


def test_all_feet_land_when_a_body_that_falls_freely_would():
    landings = stood(0.0).events
    assert {event.name for event in landings} == {f"{foot}_closed" for foot in FEET}
    expected = np.sqrt(2.0 * DROP / GRAVITY)
    assert all(abs(event.time - expected) < 1e-12 for event in landings)
    # What falls freely has gained the work of its weight; the impact takes a part of it.
    (impact,) = [event.impact for event in landings if event.impact is not None][:1]
    assert impact.kinetic_before == pytest.approx(weight() * DROP, rel=1e-12)
    assert 0.0 < impact.kinetic_after < impact.kinetic_before


def test_energy_changes_by_the_works_and_by_the_impact():
    run = stood(0.0)
    impact = run.events[0].impact
    lost = impact.kinetic_before - impact.kinetic_after
    change = run["energy"][-1] - run["energy"][0]
    assert change == pytest.approx(run["work"][-1] - lost, abs=1e-11 * weight() * DROP)


@pytest.mark.parametrize("incline", [0.0, 0.2])
def test_the_feet_carry_the_weight_and_statics_by_mujoco_gives_the_same_forces(incline):
    run = stood(incline)
    assert run.outcome.value == "completed"
    assert run.audit().holds
    loads, rubs = forces_of_feet(run)
    # 40 s are 30 of the slowest decay, e^-30 = 1e-13; what is off are the angles' 1e-11 rad of
    # feedback, times 120 N m/rad, by an arm of about 0.1 m.
    assert abs(np.sum(loads) - weight() * np.cos(incline)) < 1e-8
    assert np.all(np.linalg.norm(rubs, axis=1) < 0.8 * loads)
    forces, rest = statics(run, incline)
    assert np.max(np.abs(rest)) < 1e-7
    assert np.allclose(forces[:, 2], loads, rtol=0.0, atol=1e-7)
    rubbed = np.linalg.norm(rubs, axis=1)
    assert np.allclose(np.linalg.norm(forces[:, :2], axis=1), rubbed, rtol=0.0, atol=1e-7)
    assert np.sum(forces[:, 0]) == pytest.approx(-weight() * np.sin(incline), abs=1e-7)
