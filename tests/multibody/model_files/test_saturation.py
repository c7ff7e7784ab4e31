"""Ranges of actuators of model files, beside SciPy and MuJoCo's own steps."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import scipy

import daesolve as ds

mujoco = pytest.importorskip("mujoco")

from ..model_rates import written  # noqa: E402

SERVO = """
<mujoco><compiler angle="radian"/><option gravity="0 0 0"/>
  <worldbody><body name="bar">
    <joint name="pin" axis="0 1 0" {range} damping="0.1"/>
    <inertial pos="0 0 -1" mass="2" diaginertia="0.5 0.5 0.5"/>
  </body></worldbody>
  <actuator>
    <position name="servo" joint="pin" kp="20" kv="1" ctrlrange="-0.5 0.8" forcerange="-2 3"/>
    <motor name="push" joint="pin" gear="2" ctrlrange="-1 0.4"/>
  </actuator>
</mujoco>"""
SHARED = """
<mujoco><option gravity="0 0 0"/><worldbody>
  <site name="top" pos="0 0 1"/>
  <body name="upper"><joint name="one" axis="0 1 0" {one}/><geom size="0.1" pos="0 0 -0.3"/>
    <body name="lower" pos="0 0 -0.5"><joint name="two" axis="0 1 0" {two}/>
      <geom size="0.1" pos="0 0 -0.3"/><site name="end" pos="0.1 0 -0.3"/></body></body>
  </worldbody>
  <tendon><fixed name="both" {both}>
      <joint joint="one" coef="2"/><joint joint="two" coef="-0.7"/></fixed>
    <spatial name="cord"><site site="top"/><site site="end"/></spatial></tendon>
  <actuator><motor name="pull" tendon="both" gear="3"/>
    <motor name="push" tendon="both" gear="{gear}"/>
    <motor name="turn" joint="one" gear="-2"/>{cord}</actuator>
</mujoco>"""
RANGE = 'actuatorfrcrange="-3 2"'
BOUNDED = 'actuatorfrcrange="-3 2.5"'
MOMENT = 2.5


def run_of(path: Path, until: float, inputs: dict[str, str]) -> ds.Trajectory:
    mechanism = ds.multibody.read(path)
    assert not mechanism.left_out
    start = mechanism.start_with({"pin_rate": 1.0})
    run = ds.solve(mechanism.system(), until, guess=start, inputs=inputs)
    assert run.audit().holds
    return run


@pytest.mark.slow
def test_controls_forces_and_their_sum_saturate_as_by_hand(tmp_path: Path) -> None:
    path = written(tmp_path, "servo", SERVO.format(range=BOUNDED))
    run = run_of(path, 3.0, {"servo": "1.2*sin(4*t)", "push": "0.6*cos(5*t)"})

    def torque(t: float, angle: float, rate: float) -> float:
        servo = np.clip(1.2 * np.sin(4 * t), -0.5, 0.8)
        force = np.clip(20 * (servo - angle) - rate, -2.0, 3.0)
        push = 2 * np.clip(0.6 * np.cos(5 * t), -1.0, 0.4)
        return float(np.clip(force + push, -3.0, 2.5))

    # Steps of 1 ms limit the error of those that pass a kink to (1e-3)^3 each, and they are few.
    found = scipy.integrate.solve_ivp(
        lambda t, z: [z[1], (torque(t, z[0], z[1]) - 0.1 * z[1]) / MOMENT],
        (0.0, 3.0), [0.0, 1.0], "DOP853", rtol=1e-12, atol=1e-13, max_step=1e-3,
    )  # fmt: skip
    assert run["pin_angle"][-1] == pytest.approx(found.y[0, -1], abs=1e-9)
    total = np.array([torque(*row) for row in zip(run.times, run["pin_angle"], run["pin_rate"],
                                                  strict=True)])  # fmt: skip
    assert np.allclose(run["pin_actuation_force"], total, rtol=0.0, atol=1e-9)
    assert np.any(total == -3.0)
    # What it does to the bar, whose energy is known, and what the damper takes.
    energy = MOMENT * (run["pin_rate"] ** 2 - 1.0) / 2
    assert np.all(run["pin_actuation_work"] >= energy - 1e-9)


@pytest.mark.slow
def test_a_saturated_servo_stays_with_mujoco(tmp_path: Path) -> None:
    path = written(tmp_path, "servo", SERVO.format(range=""))
    run = run_of(path, 1.0, {"servo": "0.9", "push": "0.7"})
    assert any("switch" in event.name for event in run.events)
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qvel[:], data.ctrl[:] = 1.0, [0.9, 0.7]
    for _ in range(10_000):
        mujoco.mj_step(model, data)
    # A step of 1e-4 s that passes a kink of the force is off by its square at most.
    assert run["pin_angle"][-1] == pytest.approx(float(data.qpos[0]), abs=1e-7)
    assert run["pin_rate"][-1] == pytest.approx(float(data.qvel[0]), abs=1e-7)


@pytest.mark.slow_rows("both with one gear", "all")
@pytest.mark.parametrize(
    ("ranges", "gear"),
    [
        pytest.param({"both": RANGE}, 3, id="both with one gear"),
        pytest.param({"both": RANGE}, -1.5, id="both"),
        pytest.param({"two": RANGE}, 0.5, id="two"),
        pytest.param({"one": RANGE, "two": RANGE, "both": RANGE}, -1.5, id="all"),
    ],
)
def test_ranges_of_tendons_and_of_joints_limit_what_mujoco_limits(
    tmp_path: Path, ranges: dict[str, str], gear: float
) -> None:
    places = {"one": "", "two": "", "both": "", "cord": ""} | ranges
    path = written(tmp_path, "shared", SHARED.format(**places, gear=gear))
    mechanism = ds.multibody.read(path)
    assert not mechanism.left_out
    both = mechanism.tendons["both"]
    along = [sum(freedom.driven.values(), start=ca.SX(0)) for freedom in (
        mechanism.freedoms["one"], mechanism.freedoms["two"], both)]  # fmt: skip
    forces = ca.Function("forces", [mechanism.inputs.vector], [ca.vertcat(*along)])
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    random = np.random.default_rng(0)
    for _ in range(200):
        data.ctrl[:] = random.normal(size=3) * 3
        mujoco.mj_forward(model, data)
        one, two, tendon = np.asarray(forces(data.ctrl)).ravel()
        found = [one, two] if both.handed_on else [one + 2 * tendon, two - 0.7 * tendon]
        assert found == pytest.approx(list(data.qfrc_actuator), abs=1e-12)


def test_what_tendons_along_sites_do_at_joints_with_a_range_is_named(tmp_path: Path) -> None:
    text = SHARED.format(
        one="", two=RANGE, both="", gear=1, cord='<motor name="wind" tendon="cord"/>'
    )
    (entry,) = ds.multibody.read(written(tmp_path, "cord", text), contacts="none").left_out
    assert str(entry).endswith(
        "joints that tendons move (two); forces of actuators along tendons exceed them"
    )


def test_ranges_of_controls_that_are_switched_off_do_not_act(tmp_path: Path) -> None:
    text = SERVO.format(range="").replace(
        "<worldbody>", '<option><flag clampctrl="disable"/></option><worldbody>'
    )
    mechanism = ds.multibody.read(written(tmp_path, "off", text))
    freedom = mechanism.freedoms["pin"]
    assert "fmax" not in str(freedom.drives[1].force)
