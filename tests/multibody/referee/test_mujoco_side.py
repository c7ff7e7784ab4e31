"""What the referee sees of MuJoCo: starts, energy, work, gaps, and how motions come apart."""

from dataclasses import replace

import numpy as np
import pytest

from daesolve.multibody.referee.barriers import Touches
from daesolve.multibody.referee.engine import CommonStart, Gauge, OpenLoopError, closed
from daesolve.multibody.referee.mujoco_run import Motion, stepped
from daesolve.multibody.referee.verdict import divergence, order

from .models import LINKAGE, PENDULUM

mujoco = pytest.importorskip("mujoco")


def linkage():
    model = mujoco.MjModel.from_xml_string(LINKAGE)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    return model


def test_a_start_with_open_loops_is_closed_and_its_speeds_are_the_nearest_in_kinetic_energy():
    gauge = Gauge(linkage())
    given = np.array([0.3, -0.2, 0.1]), np.array([5.0, 0.0, 1.0])
    found = closed(gauge, *given)
    gauge.look(found.qpos, found.qvel)
    assert np.abs(gauge.residuals).max() <= 1e-15
    assert found.moved == pytest.approx(np.abs(found.qpos - given[0]).max(), rel=1e-12)
    # The loop of rows J is at rest, and M (v - given) is a combination of the rows.
    rows = gauge.jacobian
    assert np.abs(rows @ found.qvel).max() <= 1e-14
    mass = np.zeros((3, 3))
    mujoco.mj_fullM(gauge.model, gauge.data, mass)
    lost = mass @ (found.qvel - given[1])
    left = lost - rows.T @ np.linalg.lstsq(rows.T, lost, rcond=1e-9)[0]
    assert np.abs(left).max() <= 1e-13 * np.abs(lost).max()


def test_a_loop_that_cannot_be_closed_is_refused():
    text = LINKAGE.replace(
        '<connect name="pin" body1="coupler" body2="rocker" anchor="0.2 0 0.2"/>',
        '<connect name="pin" site1="a" site2="b"/>',
    )
    for body, site in (('name="rocker" pos="0.3 0 0"', "b"), ('name="coupler" pos="0.1 0 0"', "a")):
        place = body.replace("0.3", "3")
        text = text.replace(f"<body {body}>", f'<body {place}><site name="{site}"/>')
    gauge = Gauge(mujoco.MjModel.from_xml_string(text))
    with pytest.raises(OpenLoopError, match="do not close"):
        closed(gauge, np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_energy_without_the_work_of_dampers_stays_to_the_order_of_the_rule_that_sums_it(damping):
    model = mujoco.MjModel.from_xml_string(PENDULUM.format(damping=damping))
    start = CommonStart(np.array([2.0]), np.zeros(1))
    left = []
    for parts in (1, 2):
        found = stepped(model, start, [0, 50 * parts, 100 * parts], 0.01 / parts).motion
        left.append(abs(found.energy[-1] - found.energy[0] - found.work[-1]))
        assert found.times.tolist() == [0.0, 0.5, 1.0]
        assert (found.work[-1] < 0.0) == (damping > 0.0)
    # The trapezoidal rule is of order 2, the steps are of order 4.
    assert np.log2(left[0] / left[1]) == pytest.approx(2.0 if damping else 4.0, abs=0.5)


def test_gaps_are_those_of_the_two_ends():
    model = linkage()
    gauge = Gauge(model)
    start = closed(gauge, model.key_qpos[0], model.key_qvel[0])
    found = stepped(model, start, [0, 100, 200], 0.002)
    data = mujoco.MjData(model)
    data.qpos[:] = found.last
    mujoco.mj_kinematics(model, data)
    ends = [
        data.body(name).xpos + data.body(name).xmat.reshape(3, 3) @ anchor
        for name, anchor in (("coupler", [0.2, 0.0, 0.2]), ("rocker", [0.0, 0.0, 0.2]))
    ]
    assert found.motion.gaps[-1, 0] == pytest.approx(np.linalg.norm(ends[0] - ends[1]), rel=1e-9)
    assert found.motion.gaps[0, 0] <= 1e-15
    assert found.integrator == "RK4"


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_the_turn_of_a_weld_is_reported_in_radians_whatever_its_rows_are_scaled_by(scale):
    text = f"""<mujoco><worldbody><body name="a"><joint type="ball"/><geom size="0.1"/></body>
    </worldbody><equality><weld body1="a" torquescale="{scale}"/></equality></mujoco>"""
    gauge = Gauge(mujoco.MjModel.from_xml_string(text))
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    for angle in (1e-9, 0.3, 2.0):
        gauge.look(np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)]), np.zeros(3))
        assert [row.unit for row in gauge.rows] == ["m", "rad"]
        assert gauge.gaps(gauge.rows) == pytest.approx([0.0, angle], rel=1e-12, abs=1e-15)


def motion(x):
    times = np.linspace(0.0, 1.0, len(x))
    zeros = np.zeros(len(x))
    places = np.stack([np.stack([x, zeros, zeros], 1)], 1)
    none = Touches(np.zeros(0), np.zeros(0))
    return Motion(times, places, zeros, zeros, np.zeros((len(x), 0)), none, 1.0, 0.0)


def test_motions_are_apart_beyond_the_tolerance_and_come_nearer_by_the_order_of_the_errors():
    times = np.linspace(0.0, 1.0, 101)
    own = motion(np.sin(times))
    others = [divergence(own, motion(np.sin(times) + 0.1 * h**3 * times**4), h)
              for h in (1.0, 0.5, 0.25)]  # fmt: skip
    assert others[0].leaves(1e-3) == pytest.approx(0.32)  # 0.1 t^4 = 1e-3 at 0.316
    assert others[-1].leaves(1e-3) == pytest.approx(0.90)  # 0.1 t^4 / 64 > 1e-3 from 0.894 on
    assert order(others) == pytest.approx([3.0, 3.0], abs=1e-6)
    soft = [replace(one, distances=others[0].distances) for one in others]
    assert order(soft) == pytest.approx([0.0, 0.0])
