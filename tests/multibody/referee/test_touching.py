"""Thrown bodies and limits by both programs: against closed forms, and MuJoCo's softness."""

from dataclasses import replace
from math import e, sqrt

import numpy as np
import pytest

from daesolve.multibody import read
from daesolve.multibody.referee import refereed
from daesolve.multibody.referee.barriers import Barriers, Touches, TouchLog
from daesolve.multibody.referee.engine import CommonStart, Gauge, compiled_with, harden
from daesolve.multibody.referee.mujoco_run import Motion, stepped
from daesolve.multibody.referee.refereeing import RefereeReport
from daesolve.multibody.referee.verdict import side
from daesolve.reporting import referee_document
from daesolve.reporting.refereeing import runs_table, sentences, touches_table

pytest.importorskip("mujoco")
G, DROP, MU, SPEED = 9.81, 0.3, 0.4, 1.5
LANDS, FALLS = sqrt(2 * DROP / G), sqrt(2 * G * DROP)
THROWN = """<mujoco><option timestep="0.001"/><worldbody><geom name="floor" type="plane"
size="1 1 1" friction="{mu}"/><body name="one" pos="0 0 {high}"><freejoint name="flies"/>
<geom name="one" {shape} friction="{mu}"/></body></worldbody></mujoco>"""
SHAPES = {
    "ball": ('type="sphere" size="0.1"', 0.1),
    "box": ('type="box" size="0.1 0.07 0.05"', 0.05),
    "capsule": ('type="capsule" size="0.05" fromto="-0.1 0 0 0.1 0 0"', 0.05),
}
STEPS = (1e-3, 5e-4, 2.5e-4)


def written(tmp_path, shape):
    path = tmp_path / f"{shape}.xml"
    words, height = SHAPES[shape]
    path.write_text(THROWN.format(shape=words, high=DROP + height, mu=MU))
    return path


def way(shape, time):
    """Return how far a shape is after a time, thrown at SPEED and dropped without spin.

    The impact takes MU times the speed of fall, or what makes a ball roll: 2/7 of its speed, which
    is less here. What then slides stops after v / (MU g).
    """
    after = time - LANDS
    if shape == "ball":
        assert 2 / 7 * SPEED < MU * FALLS
        return SPEED * LANDS + 5 / 7 * SPEED * after
    slides = SPEED - MU * FALLS
    until = min(after, slides / (MU * G))
    return SPEED * LANDS + slides * until - MU * G * until**2 / 2


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_thrown_body_lands_and_slides_or_rolls_as_in_closed_form_and_hard_contacts_come_to_that(
    shape, tmp_path
):
    found = refereed(
        written(tmp_path, shape), 0.6, initial={"flies_x_dot": SPEED}, hard=True, samples=50
    )
    own, verdict = found.own.motion, found.verdict
    assert own.message == ""
    assert own.touches.first == pytest.approx([LANDS], rel=1e-12)
    assert own.touches.depths.max() <= 1e-14
    assert own.positions[-1, 0, 0] == pytest.approx(way(shape, own.times[-1]), rel=1e-11)
    assert verdict.own.drift <= 1e-13
    assert verdict.own.growth <= 1e-13
    for other, step in zip(verdict.others, STEPS, strict=True):
        motion = other.motion
        # Critically damped with a time constant T of two steps, a body sinks in by v T / e; until
        # MuJoCo sees it, it falls for a step.
        assert 0.0 < motion.touches.depths.max() <= FALLS * (2 * step / e + step)
        assert abs(motion.touches.first[0] - LANDS) <= 2 * step
        # Within ten time constants the contact is at rest; until then it moves at most at SPEED.
        assert abs(motion.positions[-1, 0, 0] - way(shape, motion.times[-1])) <= 20 * step * SPEED
        assert other.drift is None


def soft_and_hard(path, step):
    mechanism = read(path)
    found = []
    for hard in (False, True):
        model = compiled_with(path, mechanism.touching.pairs)
        if hard:
            harden(model, step)
        gauge = Gauge(model)
        start = mechanism_start(mechanism, gauge)
        counts = [0, round(0.5 / step)]
        found.append(stepped(model, start, counts, step, Barriers.of(mechanism)).motion)
    return found


def mechanism_start(mechanism, gauge):
    qpos, qvel = np.zeros(int(gauge.model.nq)), np.zeros(int(gauge.model.nv))
    values = {**mechanism.start_values, "flies_x_dot": SPEED}
    for freedom in mechanism.freedoms.values():
        freedom.put(values, qpos, qvel)
    return CommonStart(qpos, qvel)


def test_as_the_step_goes_to_zero_mujocos_ball_sinks_in_as_far_as_ever_and_a_hard_one_does_not(
    tmp_path,
):
    path = written(tmp_path, "ball")
    depths = np.array(
        [[one.touches.depths[0] for one in soft_and_hard(path, step)] for step in (1e-3, 1e-4)]
    )
    # Its time constant is 0.02 s, with any step; the impedance of 0.9 to 0.95 adds a little.
    assert depths[:, 0] == pytest.approx(FALLS * 0.02 / e, rel=0.15)
    assert depths[1, 1] <= 3e-4 * FALLS


def test_only_pairs_that_daesolve_watches_touch_in_mujoco_and_rub_alike(tmp_path):
    path = tmp_path / "pairs.xml"
    path.write_text("""<mujoco><worldbody><geom type="plane" size="1 1 1" friction="0.3"/>
    <body pos="0 0 0.049"><freejoint/><geom type="sphere" size="0.05" condim="6" priority="1"
    friction="0.7" margin="0.002"/></body>
    <body pos="0 0 0.06"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
    <body pos="1 0 0.049"><freejoint/><geom name="c" type="capsule" size="0.05 0.1"/></body>
    <body pos="1 0 0.26"><freejoint/><geom name="d" type="sphere" size="0.05"/></body></worldbody>
    <contact><pair geom1="c" geom2="d" friction="0.2 0.1" margin="0.01"/></contact></mujoco>""")
    mechanism = read(path)
    listed = [entry for entry in mechanism.left_out if entry.kind.endswith("that overlap")]
    assert listed  # the sphere within the box
    model = compiled_with(path, mechanism.touching.pairs)
    geoms = {frozenset(pair.geoms) for pair in mechanism.touching.pairs}
    pairs = zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), strict=True)
    rubbing = {frozenset(pair): friction for pair, friction in
               zip(pairs, model.pair_friction[:, 0].tolist(), strict=True)}  # fmt: skip
    assert set(rubbing) == geoms
    assert rubbing[frozenset((0, 1))] == 0.7
    assert rubbing[frozenset((3, 4))] == 0.2
    assert model.pair_friction[:, 1].tolist() == model.pair_friction[:, 0].tolist()
    assert model.pair_dim.max() == 3
    gauge = Gauge(model)
    gauge.look(np.array(model.qpos0), np.zeros(int(model.nv)))
    barriers = Barriers.of(mechanism)
    depths = dict(zip([one.name for one in barriers.listed], barriers.depths(gauge.data),
                      strict=True))  # fmt: skip
    sphere = next(name for name in depths if name.startswith("number 1 of body 1 and number 0"))
    assert depths[sphere] == pytest.approx(0.001 + 0.002, abs=1e-15)
    assert depths["c and d"] == pytest.approx(0.05 + 0.05 + 0.01 + 0.1 - 0.211, abs=1e-12)


def test_a_log_has_the_deepest_state_and_the_first_that_touched():
    log = TouchLog(3)
    log.add(0.0, np.array([-1.0, -np.inf, 0.0]))
    log.add(0.5, np.array([0.2, -np.inf, -0.1]))
    log.add(1.0, np.array([0.1, -0.3, 0.4]))
    assert log.touches.depths.tolist() == [0.2, -0.3, 0.4]
    assert log.touches.first.tolist()[0] == 0.5
    assert np.isnan(log.touches.first[1])
    assert log.touches.first[2] == 0.0


@pytest.fixture(scope="module")
def bar(tmp_path_factory) -> RefereeReport:
    path = tmp_path_factory.mktemp("bar") / "bar.xml"
    path.write_text("""<mujoco><option timestep="0.0005"/><worldbody><body name="bar">
    <joint name="pin" axis="0 1 0" range="-30 60"/>
    <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02"/></body></worldbody></mujoco>""")
    return refereed(path, 0.8, initial={"pin_rate": 4.0}, hard=True, halvings=1, samples=40)


@pytest.mark.slow
def test_a_bar_comes_to_its_limit_at_the_time_of_the_quadrature_and_stays_there_a_while(bar):
    """The time is the integral of dphi / rate(phi) by the energy, with no integrator."""
    own = bar.own.motion
    model = bar.mechanism.assembly.model
    mass = model.bodies[1].mass
    centre = 0.5
    # A capsule from 0 to -1 about its end: the inertia is that of its body about the pin.
    moment = float(np.max(model.bodies[1].moments)) + mass * centre**2
    phi, weights = np.polynomial.legendre.leggauss(60)
    ends = np.pi / 3
    phi = ends * (phi + 1) / 2
    rate = np.sqrt(16.0 - 2 * mass * G * centre * (1 - np.cos(phi)) / moment)
    time = float(np.sum(weights / rate)) * ends / 2
    upper = [one.name for one in bar.verdict.barriers].index("pin_upper")
    assert own.touches.first[upper] == pytest.approx(time, rel=1e-10)
    assert own.touches.depths[upper] <= 1e-12
    for other, step in zip(bar.others, (5e-4, 2.5e-4), strict=True):
        speed = float(np.sqrt(16.0 - mass * G * centre / moment))
        depth = other.motion.touches.depths[upper]
        assert 0.0 < depth <= speed * (2 * step / e + step)
        assert abs(other.motion.touches.first[upper] - time) <= 3 * step


@pytest.mark.slow
def test_the_document_says_how_far_when_and_that_soft_limits_need_not_converge(bar):
    document = referee_document(bar.verdict)
    own, soft, _ = document["runs"]
    assert own["touches"]["pin_upper"]["first"] == bar.own.motion.touches.first[-1]
    assert soft["touches"]["pin_lower"]["first"] is None
    assert soft["energy_drift"] is None
    assert own["energy_drift"] <= 1e-13
    heads = runs_table(document).heads
    assert "passes by" in heads
    assert "0.0001 m apart at" in heads
    assert "loop gap" not in heads
    listed = touches_table(document)
    assert listed is not None
    assert [row[0] for row in listed.rows] == ["pin_upper"]
    assert any("need not become" in words for words in sentences(document))


def test_a_rise_of_the_energy_is_found_with_its_times_and_a_fall_is_none():
    times, zeros = np.linspace(0.0, 1.0, 11), np.zeros(11)
    energy = np.array([5.0, 4.0, 3.0, 1.0, 1.5, 3.0, 2.9, 2.0, 2.2, 2.0, 1.0])
    touched = Touches(np.array([0.1]), np.array([0.3]))
    places = np.zeros((11, 1, 3))
    motion = Motion(times, places, energy, zeros, np.zeros((11, 0)), touched, 4.0, 0.0)
    found = side("MuJoCo", "Euler", 0.1, motion, [], 4.0)
    assert found.growth == pytest.approx((3.0 - 1.0) / 4.0)
    assert found.grows == pytest.approx((0.3, 0.5))
    assert found.drift is None
    falls = replace(motion, energy=np.sort(energy)[::-1])
    assert side("MuJoCo", "Euler", 0.1, falls, [], 4.0).growth == 0.0
