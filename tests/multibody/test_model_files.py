"""Mechanisms from MJCF and URDF files: their accelerations are those of MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, UnknownNameError, UnsupportedError

mujoco = pytest.importorskip("mujoco")

from .model_rates import Beside, written  # noqa: E402
from .model_texts import CHAINS, DRIVEN, TREES, URDF  # noqa: E402

AGREE = 1e-10
"""Of the largest acceleration: twelve digits less those that the conditioning of a chain takes."""
ONE = """
<mujoco><compiler angle="radian"/><worldbody><body name="rod">
  <joint name="pin" axis="0 1 0" {joint}/>
  <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02"/>{more}
</body></worldbody>{after}</mujoco>"""


@pytest.mark.long_rows("chains")
@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_accelerations_of_trees_are_those_of_mujoco_at_a_hundred_states(
    tmp_path: Path, name: str
) -> None:
    beside = Beside(written(tmp_path, name, TREES[name]))
    random = np.random.default_rng(2)
    for qpos, qvel in beside.states(100):
        rates, accelerations = beside.errors(qpos, qvel, random.normal(size=beside.model.nu))
        assert rates < AGREE
        assert accelerations < AGREE


@pytest.mark.slow
def test_a_run_from_a_keyframe_stays_with_mujoco(tmp_path: Path) -> None:
    # Fourth-order steps of 1e-4 s over 0.5 s: their error is far below 1e-9.
    path = written(tmp_path, "driven", DRIVEN)
    mechanism = ds.multibody.read(path)
    start = mechanism.starts["up"]
    run = ds.solve(
        mechanism.system(),
        0.5,
        guess=mechanism.start_with(start.values),
        parameters=mechanism.discrete_values_with(start.values),
        inputs=start.inputs,
    )
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for _ in range(5000):
        mujoco.mj_step(model, data)
    found = [run["luff_angle"][-1], run["ride_displacement"][-1]]
    assert np.allclose(found, data.qpos, rtol=0.0, atol=1e-9)


@pytest.mark.slow
def test_angles_count_whole_turns_where_a_spring_is_wound(tmp_path: Path) -> None:
    text = ONE.format(joint='stiffness="0.5"', more="", after='<option gravity="0 0 0"/>')
    mechanism = ds.multibody.read(written(tmp_path, "wound", text))
    values = {"pin_angle": 20.0}
    run = ds.solve(
        mechanism.system(),
        6.0,
        guess=mechanism.start_with(values),
        parameters=mechanism.discrete_values_with(values),
        at=np.linspace(0.0, 6.0, 25),
    )
    # An oscillation about 0, of the inertia about the pin.
    model = mujoco.MjModel.from_xml_path(str(mechanism.path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    full = np.zeros((1, 1))
    mujoco.mj_fullM(model, data, full)
    expected = 20.0 * np.cos(np.sqrt(0.5 / full[0, 0]) * run.times)
    assert np.allclose(run["pin_angle"], expected, rtol=0.0, atol=1e-10)
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.slow
def test_dry_friction_of_a_joint_sticks_and_slides_as_it_must(tmp_path: Path) -> None:
    text = ONE.format(joint='frictionloss="2"', more="", after='<option gravity="0 0 0"/>')
    mechanism = ds.multibody.read(written(tmp_path, "rubs", text))
    run = ds.solve(mechanism.system(), 3.0, guess=mechanism.start_with({"pin_rate": 1.0}))
    model = mujoco.MjModel.from_xml_path(str(mechanism.path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    full = np.zeros((1, 1))
    mujoco.mj_fullM(model, data, full)
    stop = next(event for event in run.events if event.name == "pin_rub_sticks")
    assert stop.time == pytest.approx(full[0, 0] / 2.0, rel=1e-12)
    assert run["pin_rate"][-1] == pytest.approx(0.0, abs=1e-12)


def test_what_a_parser_of_urdf_passes_over_is_named(tmp_path: Path) -> None:
    more = (
        '<loop_joint name="loop" type="continuous"><link1 link="jib"/></loop_joint>'
        '<transmission name="gears"><type>simple</type></transmission><gazebo/>'
        '<gazebo reference="jib"><mu1>0.2</mu1></gazebo>'
    )
    text = URDF.replace("</robot>", more + "</robot>")
    text = text.replace(
        'friction="0"/>', 'friction="0" spring_stiffness="2"/><mimic joint="luff"/>'
    )
    text = text.replace('<mass value="1"/>', '<mass value="1"/><density>7800</density>')
    text = text.replace('lower="0" upper="0.6"', 'upper="0.6"')
    path = tmp_path / "crane.urdf"
    path.write_text(text)
    left_out = ds.multibody.read(path).left_out
    assert {entry.kind: entry.names for entry in left_out} == {
        "limits of forces at joints": ("luff", "out"),
        "limits of velocities at joints": ("luff", "out"),
        "loop joints": ("loop",),
        "elements that MuJoCo does not read": (
            "density of jib",
            "transmission gears",
            "gazebo",
            "dynamics spring_stiffness of slew",
        ),
    }
    assert "left out of the file: loop joints (loop); the loops that they close are open" in map(
        str, left_out
    )


@pytest.mark.slow
def test_what_is_left_out_is_named_and_reported_with_every_run(tmp_path: Path) -> None:
    more = '<body name="tip"><joint name="end" limited="true" range="-1 1" axis="0 1 0"/>'
    more += '<geom name="ball" size="0.1"/><site name="a"/></body><site name="b" pos="0 0 1"/>'
    after = (
        '<tendon><spatial name="cord" stiffness="3"><site site="a"/><geom geom="ball"/>'
        '<site site="b"/></spatial><spatial name="rope"><site site="a"/><site site="b"/></spatial>'
        '</tendon><actuator><muscle name="biceps" joint="end" lengthrange="0 1"/>'
        '<motor name="push" joint="pin" ctrlrange="0 1"/><motor name="pull" tendon="rope"/>'
        '</actuator><option density="1.2"/>'
    )
    path = written(tmp_path, "much", ONE.format(joint="", more=more, after=after))
    mechanism = ds.multibody.read(path)
    assert {entry.kind: entry.names for entry in mechanism.left_out} == {
        "tendons": ("cord",),
        "actuators of other kinds": ("biceps",),
        "the fluid": (),
    }
    run = ds.solve(mechanism.system(), 0.1, guess=mechanism.start)
    notes = run.description["notes"]
    assert list(notes[:3]) == [str(entry) for entry in mechanism.left_out]
    assert "left out of the file: tendons (cord); their springs, dampers and limits do not act" in (
        notes
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("joint", "more", "word"),
    [
        ('stiffness="1 2 0"', "", "nonlinear"),
        ('damping="1 2 0"', "", "nonlinear"),
        ("", '<body><joint type="ball" stiffness="1"/><geom size="0.1"/></body>', "ball"),
        (
            "",
            '<body><joint axis="0 1 0"/><joint axis="0 1 0" pos="1 0 0"/><geom size="0.1"/></body>',
            "parallel",
        ),
        (
            "",
            '<body><joint axis="0 1 0"/><joint type="ball"/><geom size="0.1"/></body>',
            "one ball",
        ),
    ],
)
def test_joints_that_would_be_others_are_refused(
    tmp_path: Path, joint: str, more: str, word: str
) -> None:
    path = written(tmp_path, "odd", ONE.format(joint=joint, more=more, after=""))
    with pytest.raises(UnsupportedError, match=word):
        ds.multibody.read(path)


@pytest.mark.slow
def test_start_values_are_those_of_joints_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    mechanism = ds.multibody.read(written(tmp_path, "chains", CHAINS))
    assert mechanism.start_values["root_z_displacement"] == 1.0
    start = mechanism.start_with({"eye_ball_q0": 0.0, "eye_ball_q1": 1.0})
    assert abs(start["eye_q1"]) == pytest.approx(1.0)
    with pytest.raises(UnknownNameError, match="hip_x_angle"):
        mechanism.start_with({"hip_x_angel": 0.1})
    with pytest.raises(OutOfRangeError, match="eye_ball_q0 to eye_ball_q3 are all zero"):
        mechanism.start_with({"eye_ball_q0": 0.0})


@pytest.mark.slow
def test_sites_are_places_of_bodies(tmp_path: Path) -> None:
    more = '<site name="end" pos="0 0 -1" euler="0 1.5707963267948966 0"/>'
    mechanism = ds.multibody.read(
        written(tmp_path, "site", ONE.format(joint="", more=more, after=""))
    )
    end = mechanism.sites["end"]
    outputs = {f"end_{letter}": (end.position[k], "m") for k, letter in enumerate("xyz")}
    run = ds.solve(
        mechanism.system(outputs=outputs), 0.5, guess=mechanism.start_with({"pin_angle": 0.3})
    )
    assert np.allclose(run["end_x"], -np.sin(run["pin_angle"]), rtol=0.0, atol=1e-12)
    assert np.allclose(run["end_z"], -np.cos(run["pin_angle"]), rtol=0.0, atol=1e-12)


@pytest.mark.slow
def test_what_a_file_switches_off_does_not_act(tmp_path: Path) -> None:
    after = '<option><flag gravity="disable" damper="disable" spring="disable"/></option>'
    text = ONE.format(joint='damping="1" stiffness="1"', more="", after=after)
    mechanism = ds.multibody.read(written(tmp_path, "off", text))
    run = ds.solve(mechanism.system(), 1.0, guess=mechanism.start_with({"pin_rate": 1.0}))
    assert run["pin_rate"][-1] == pytest.approx(1.0, abs=1e-12)
