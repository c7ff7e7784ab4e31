"""A quadruped that lands, is pushed and slides, against free fall, balances, statics by MuJoCo."""

from functools import cache

import numpy as np
import pytest
from daesolve_problems.robots.quadruped import (
    FEET,
    FILE,
    JOINTS,
    LEGS,
    PERIOD,
    PUSH,
    PUSHED,
    problem,
)

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


# -- pushed ----------------------------------------------------------------------------------------

FIRST, LAST = PUSHED
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
WITHIN = FIRST + (LAST - FIRST) * (NODES + 1.0) / 2.0
"""Gauss's nodes while the push acts: nothing switches there."""


@pytest.fixture(scope="module", name="pushed_run")
def _pushed_run():
    return problem.case("pushed").solve(until=5.0, at=[0.0, FIRST, *WITHIN, LAST, 1.0, 5.0])


def momentum(run, axis, k):
    """Return the momentum of all bodies at a sample, kg m/s, with the masses of MuJoCo."""
    file = model(0.0)
    names = [file.body(number).name for number in range(1, file.nbody)]
    masses = [float(file.body(name).mass[0]) for name in names]
    rates = [run[f"{name}_{axis}_dot"][k] for name in names]
    return float(np.dot(masses, rates))


def test_a_push_changes_the_momentum_by_its_impulse_and_that_of_the_feet(pushed_run):
    run = pushed_run
    begin, end = (int(np.argmin(np.abs(run.times - t))) for t in PUSHED)
    between = slice(begin + 1, begin + 1 + len(WITHIN))
    assert np.allclose(run.times[between], WITHIN, rtol=0.0, atol=1e-14)
    for axis, push, own in (("x", 0.0, 1), ("y", PUSH, 2)):
        rubbed = np.sum([run[f"{foot}_friction_{own}"][between] for foot in FEET], axis=0)
        impulse = (LAST - FIRST) * (push + np.dot(WEIGHTS, rubbed) / 2.0)
        change = momentum(run, axis, end) - momentum(run, axis, begin)
        # What decays fastest, with about 4 / 0.05 1/s, is a polynomial of degree 79 to 1e-12.
        assert change == pytest.approx(impulse, abs=1e-9 * PUSH)
    loads = np.sum([run[foot][between] for foot in FEET], axis=0)
    lifted = (LAST - FIRST) * (np.dot(WEIGHTS, loads) / 2.0 - weight())
    change = momentum(run, "z", end) - momentum(run, "z", begin)
    assert change == pytest.approx(lifted, abs=1e-9 * weight())


def test_a_pushed_quadruped_keeps_its_feet_and_comes_back_to_rest(pushed_run):
    run = pushed_run
    assert run.outcome.value == "completed"
    assert run.audit().holds
    for foot in FEET:
        rubbed = np.hypot(run[f"{foot}_friction_1"], run[f"{foot}_friction_2"])
        assert np.all(rubbed[1:] < 0.8 * run[foot][1:])
    swayed = np.argmin(np.abs(run.times - LAST))
    assert run["trunk_y"][swayed] > 1e-3
    # The slowest motion decays with 1 / 1.2 s, from the end of the push on.
    decay = np.exp(-1.2 * (5.0 - LAST))
    speeds = np.abs([run[f"trunk_{axis}_dot"][-1] for axis in "xyz"])
    assert np.max(speeds) < 2.0 * decay * np.max(np.abs(run["trunk_y_dot"]))
    assert abs(run["trunk_y"][-1] - run["trunk_y"][0]) < 2.0 * decay * run["trunk_y"][swayed]


# -- slope -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="sloped_run")
def _sloped_run():
    ticks = np.arange(1, 10)
    times = PERIOD * np.sort([0.0, *ticks, *(ticks + 0.25), *(ticks + 0.75)])
    return problem.case("slope").solve(until=0.2, at=times)


def test_a_sampled_law_holds_the_torques_between_its_ticks(sloped_run):
    run = sloped_run
    assert run.outcome.value == "completed"
    assert run.audit().holds
    at = {round(time / PERIOD, 6): k for k, time in enumerate(run.times)}
    for name, wanted in zip(NAMES, np.tile([0.0, 0.6, -1.2], len(LEGS)), strict=True):
        for tick in range(1, 10):
            angle, rate = (run[f"{name}_{what}"][at[tick]] for what in ("angle", "rate"))
            for part in (0.25, 0.75):
                torque = run[f"{name}_torque"][at[tick + part]]
                assert torque == pytest.approx(120.0 * (wanted - angle) - 4.0 * rate, abs=1e-9)


INCLINE, SLIDES = 0.75, (0.25, 0.4)
"""A slope steeper than friction, rad; when all feet slide, s. It is low, lest it tip over."""


@pytest.fixture(scope="module", name="sliding_run")
def _sliding_run():
    case = problem.case("stands", incline=INCLINE, swing=1.0, knee=-2.0)
    return case.solve(until=SLIDES[1], at=np.linspace(*SLIDES, 9))


def test_on_a_slope_that_is_steeper_than_friction_all_feet_slide_at_their_limit(sliding_run):
    run = sliding_run
    assert run.outcome.value == "completed"
    assert run.audit().holds
    for foot in FEET:
        rubbed = np.array([run[f"{foot}_friction_{k}"] for k in (1, 2)])
        assert np.all(run[foot] > 0.0)
        assert np.allclose(np.linalg.norm(rubbed, axis=0), 0.8 * run[foot], rtol=1e-9)


def test_the_momentum_of_what_slides_down_grows_by_weight_less_friction(sliding_run):
    """With g (sin a - mu cos a), and mu times what the loads carry beyond the weight."""
    run, time = sliding_run, SLIDES[1] - SLIDES[0]
    straight = 1.0
    for foot in FEET:
        rubbed = np.array([run[f"{foot}_friction_{k}"] for k in (1, 2)])
        straight = min(straight, float(np.min(-rubbed[0] / np.linalg.norm(rubbed, axis=0))))
    # Feet slide down almost straight: friction has at least this part along the slope.
    assert straight > 0.99
    gained, lifted = (momentum(run, axis, -1) - momentum(run, axis, 0) for axis in "xz")
    carried = lifted + time * weight() * np.cos(INCLINE)
    pulled = time * weight() * np.sin(INCLINE)
    assert pulled - 0.8 * carried - 1e-9 < gained < pulled - 0.8 * straight * carried
