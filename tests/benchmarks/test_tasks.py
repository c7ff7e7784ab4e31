"""The motions that packages are judged by, and their models in points and in joints."""

import math

import mpmath
import numpy as np
import pytest

from benchmarks.chain.motion import Bodies, jointed, judged
from benchmarks.common.attempts import BrokeDownError
from benchmarks.peers.contestant import thinned
from benchmarks.peers.scipy import right_side
from benchmarks.peers.stabilised import Stabilised
from benchmarks.peers.tasks import GRAVITY, TASKS
from benchmarks.peers.tree import TREES
from tests.reference.mechanisms_chain import chain_angles

MECHANISMS = {task.kind: task.mechanism for task in TASKS.values()}


@pytest.mark.parametrize("name", ["pendulum-10", "pendulum-1000"])
def test_the_pendulum_ends_where_elliptic_functions_say(name):
    task = TASKS[name]
    with mpmath.workdps(30):  # sin(theta / 2) = k sn(K + w t), from -pi / 2 at rest
        square = mpmath.mpf(1) / 2
        rate = mpmath.sqrt(mpmath.mpf("9.81"))
        phase = mpmath.ellipk(square) + rate * mpmath.mpf(task.until)
        half = -mpmath.sqrt(square) * mpmath.ellipfun("sn", phase, m=square)
        cosine = mpmath.ellipfun("cn", phase, m=square)
        angle = 2 * mpmath.asin(half)
        speed = -2 * mpmath.sqrt(square) * rate * cosine
        x, y = mpmath.sin(angle), -mpmath.cos(angle)
        exact = [float(value) for value in (x, y, -y * speed, x * speed)]
    assert task.end == pytest.approx(exact, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_the_tree_of_links_starts_where_the_points_do(kind):
    mechanism, tree = MECHANISMS[kind], TREES[kind]
    motion = tree.motion(tree.start[None], tree.start_rate[None], 0)
    assert motion.positions[0] == pytest.approx(mechanism.start, abs=1e-15)
    assert motion.velocities[0] == pytest.approx(mechanism.start_rate, abs=1e-15)
    assert motion.gaps is None or np.max(motion.gaps) < 1e-15
    assert mechanism.gaps(mechanism.start) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("integrated", [False, True])
def test_the_stabilised_equations_hold_at_the_start_and_have_right_jacobians(kind, integrated):
    posed = Stabilised(MECHANISMS[kind], integrated)
    y, rate = posed.start
    assert np.max(np.abs(posed.residual(y, rate))) < 1e-13
    random = np.random.default_rng(1)
    y, rate = y + random.normal(size=posed.size), rate + random.normal(size=posed.size)
    by_y, by_rate = posed.jacobians(y, rate)
    # R is quadratic in each of y and y': central differences have no error but rounding
    for k, unit in enumerate(np.eye(posed.size)):
        change = posed.residual(y + unit, rate) - posed.residual(y - unit, rate)
        assert by_y[:, k] == pytest.approx(change / 2, abs=1e-12)
        change = posed.residual(y, rate + unit) - posed.residual(y, rate - unit)
        assert by_rate[:, k] == pytest.approx(change / 2, abs=1e-12)


@pytest.mark.parametrize("kind", ["pendulum", "slider-crank"])
def test_equations_by_hand_have_the_accelerations_of_the_stabilised_ones(kind):
    mechanism = MECHANISMS[kind]
    start = np.concatenate((mechanism.start, mechanism.start_rate))
    found = right_side(mechanism, np.linalg.solve)(0.0, start)
    _, rate = Stabilised(mechanism, integrated=True).start
    assert found == pytest.approx(rate[: len(found)], abs=1e-12)


def test_the_scale_of_the_energy_is_what_lies_above_the_lowest_place():
    for task in TASKS.values():
        mechanism = task.mechanism
        (energy,) = mechanism.energy(mechanism.start[None], mechanism.start_rate[None])
        # lowest: the bob 1 m down; the crank upright downwards, its rod beside; the bars hanging
        lowest = {"pendulum": -1.0, "slider-crank": -0.5, "four-bar": -3.5}[task.kind]
        assert task.height == pytest.approx(energy - lowest * GRAVITY, rel=1e-14)


def test_the_chain_is_judged_by_the_distance_of_its_mass_centres_and_its_gaps():
    until, rods = 0.25, 3
    moments = until + np.array([-1e-4, 0.0, 1e-4])
    angles = chain_angles(rods, moments, math.pi / 2) - math.pi / 2
    true = jointed(angles[:, 1], (angles[:, 2] - angles[:, 0]) / 2e-4)
    error, gap, energy = judged(true, until)
    # rates are differences, with an error of h^2 theta''' / 6 ~ 1e-8 x 1e2
    assert (error, gap) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert energy < 1e-5
    moved = true.places.copy()
    moved[1, :2] += (0.03, 0.04)
    error, gap, _ = judged(Bodies(moved, true.rates), until)
    assert (error, gap) == pytest.approx((0.05, 0.05), rel=1e-12)
    with pytest.raises(BrokeDownError, match="infinite"):
        judged(Bodies(true.places * math.nan, true.rates), until)


def test_thinned_rows_end_in_the_last_one():
    assert list(thinned(5)) == [0, 1, 2, 3, 4]
    assert thinned(10_001)[-1] == 10_000
    assert len(thinned(10_001)) <= 1001
