"""Tendons of model files, beside MuJoCo and a closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import daesolve as ds

mujoco = pytest.importorskip("mujoco")

from ..model_rates import Beside, written  # noqa: E402

ARM = """
<mujoco><compiler angle="radian"/><option><flag contact="disable"/></option><worldbody>
  <site name="top" pos="0.6 0.1 0.5"/>
  <body name="arm">
    <joint name="one" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03"/>
    <site name="mid" pos="0.3 0 0.05"/><site name="mid2" pos="0.4 0 0.05"/>
    <body name="fore" pos="0.5 0 0">
      <joint name="two" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
      <site name="end" pos="0.4 0 0.02"/>
    </body>
  </body></worldbody>
  <tendon>
    <spatial name="cord" stiffness="30" damping="1.5" armature="0.2" {cord}>
      <site site="top"/><site site="mid"/><site site="mid2"/><site site="end"/></spatial>
    <spatial name="tackle" stiffness="8"><site site="top"/><site site="mid"/>
      <pulley divisor="2"/><site site="mid"/><site site="end"/>
      <pulley divisor="2"/><site site="top"/><site site="end"/></spatial>
    <fixed name="both" stiffness="2" damping="0.3" armature="0.1">
      <joint joint="one" coef="1"/><joint joint="two" coef="-0.7"/></fixed>
  </tendon>
  <actuator><motor name="pull" tendon="cord" gear="2" ctrlrange="-1 1"/>
    <position name="hold" tendon="both" kp="5" kv="0.5" {hold}/></actuator>
</mujoco>"""
STRING = """
<mujoco><option gravity="0 0 0"/><worldbody>
  <site name="nail" pos="0 0 0.3"/>
  <body name="bead"><joint name="rail" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/><site name="eye"/></body></worldbody>
  <tendon><spatial name="string" range="0 0.5" limited="true">
    <site site="nail"/><site site="eye"/></spatial></tendon>
</mujoco>"""


@pytest.mark.slow
def test_accelerations_under_tendons_are_those_of_mujoco(tmp_path: Path) -> None:
    beside = Beside(written(tmp_path, "arm", ARM.format(cord="", hold="")))
    assert not beside.mechanism.left_out
    for qpos, qvel in beside.states(20):
        _, accelerations = beside.errors(qpos, qvel, np.array([0.5, 0.2]))
        assert accelerations < 1e-12


@pytest.mark.slow
def test_slack_springs_and_saturated_servos_of_tendons_stay_with_mujoco(tmp_path: Path) -> None:
    text = ARM.format(cord='springlength="0.3 1.2"', hold='forcerange="-2 2"')
    path = written(tmp_path, "arm", text)
    mechanism = ds.multibody.read(path)
    values = {"one_rate": 1.0}
    run = ds.solve(
        mechanism.system(),
        1.0,
        guess=mechanism.start_with(values),
        parameters=mechanism.discrete_values_with(values),
        inputs={"pull": "1.5", "hold": "0.9"},
    )
    assert run.audit().holds
    assert sum("switch" in event.name for event in run.events) > 1
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qvel[0], data.ctrl[:] = 1.0, [1.5, 0.9]
    for _ in range(10_000):
        mujoco.mj_step(model, data)
    # A step of 1e-4 s that passes a kink of the force is off by its square at most.
    found = [run["one_angle"][-1], run["two_angle"][-1]]
    assert np.allclose(found, data.qpos, rtol=0.0, atol=1e-7)
    mujoco.mj_forward(model, data)
    assert run["cord_length"][-1] == pytest.approx(float(data.ten_length[0]), abs=1e-7)


@pytest.mark.slow
def test_a_string_pulls_taut_at_its_length(tmp_path: Path) -> None:
    mechanism = ds.multibody.read(written(tmp_path, "string", STRING), limit_restitution=0.5)
    run = ds.solve(mechanism.system(), 1.0, guess=mechanism.start_with({"rail_speed": 1.0}))
    assert run.audit().holds
    # 0.5 m from the nail at 0.3 m: after 0.4 m, with 4/5 of the impulse along the rail.
    (met,) = run.events
    assert met.name == "string_upper_closed"
    assert met.time == pytest.approx(0.4, rel=1e-12)
    impact = met.impact
    assert impact is not None
    assert impact.impulses["string_upper"] == pytest.approx(2 * 1.5 / 0.8, rel=1e-11)
    assert run["rail_displacement"][-1] == pytest.approx(0.4 - 0.5 * 0.6, rel=1e-11)


def test_a_joint_and_its_tendon_brake_together(tmp_path: Path) -> None:
    """Dry friction of a tendon that runs twice as fast counts twice: 1 N + 2 * 1 N for 1 kg."""
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body name="block">
      <joint name="rail" type="slide" axis="1 0 0" frictionloss="1"/><geom size=".05" mass="1"/>
    </body></worldbody><tendon>
      <fixed name="cord" frictionloss="1"><joint joint="rail" coef="2"/></fixed>
    </tendon></mujoco>"""
    model = ds.multibody.read(written(tmp_path, "brakes", text))
    run = ds.solve(model.system(), 1.0, guess=model.start_with({"rail_speed": 1.0}))
    assert [event.time for event in run.events] == pytest.approx([1 / 3, 1 / 3], abs=1e-12)
    assert run["block_x"][-1] == pytest.approx(1 / 6, abs=1e-12)
