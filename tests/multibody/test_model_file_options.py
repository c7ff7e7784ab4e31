"""What options and groups of a model file switch, and bodies that programs move: as in MuJoCo."""

from __future__ import annotations

from pathlib import Path

import pytest

import daesolve as ds
from daesolve.errors import UnsupportedError

mujoco = pytest.importorskip("mujoco")

from .model_rates import Beside, written  # noqa: E402

AGREE = 1e-10
"""Of the largest acceleration, as in `test_model_files`."""
ONE = """
<mujoco>{option}<worldbody>{beside}
  <body name="rod" gravcomp="{lifted}"><joint name="pin" axis="0 1 0" {joint}/>
    <geom type="capsule" fromto="0 0 0 0.1 0 -1" size="0.03"/></body>
</worldbody>{after}</mujoco>"""
GEARED = '<motor name="push" joint="pin" damping="0.7" armature="0.4" gear="3"/>'
SERVO = '<position name="servo" joint="pin" kp="5" kv="0.3" damping="0.2" group="2"/>'
HELD = """
<body name="hand" mocap="true" pos="1 1 1" euler="0 30 0"><geom size="0.1"/>
  <body name="palm" pos="0 0 0.1"><geom size="0.1"/>
    <body name="finger" pos="0.1 0 0"><joint name="knuckle" axis="1 0 0"/>
      <geom size="0.1" pos="0 0.3 0.2"/></body></body></body>"""


def text(  # what a case has not is empty
    option: str = "", beside: str = "", joint: str = "", actuator: str = "", lifted: float = 0.0
) -> str:
    after = f"<actuator>{actuator}</actuator>" if actuator else ""
    return ONE.format(option=option, beside=beside, joint=joint, after=after, lifted=lifted)


def flags(*names: str) -> str:
    switched = " ".join(f'{name}="disable"' for name in names)
    return f"<option><flag {switched}/></option>"


TEXTS = {
    "a damper and a rotor behind a gear": text(actuator=GEARED),
    "actuators without dampers": text(flags("damper"), actuator=GEARED),
    "weight without springs": text(flags("spring"), lifted=0.6),
    "weight without passive forces": text(flags("spring", "damper"), lifted=0.6),
    "weight by actuators": text(joint='actuatorgravcomp="true"', actuator=GEARED, lifted=0.6),
    "hand": text(beside=HELD),
}
SWITCHED_OFF = {
    "actuators": text(flags("actuation"), actuator=GEARED),
    "a group": text('<option actuatorgroupdisable="2"/>', actuator=SERVO),
}


@pytest.mark.long_beyond(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_options_act_as_in_mujoco(tmp_path: Path, name: str) -> None:
    beside = Beside(written(tmp_path, "one", TEXTS[name]))
    for qpos, qvel in beside.states(10):
        _, accelerations = beside.errors(qpos, qvel, qvel[: beside.model.nu])
        assert accelerations < AGREE


@pytest.mark.slow
@pytest.mark.parametrize("name", SWITCHED_OFF)
def test_of_actuators_that_are_switched_off_dampers_and_rotors_act(
    tmp_path: Path, name: str
) -> None:
    beside = Beside(written(tmp_path, "one", SWITCHED_OFF[name]))
    assert not beside.mechanism.inputs.names
    assert [entry.kind for entry in beside.mechanism.left_out] == [
        "actuators that are switched off"
    ]
    for qpos, qvel in beside.states(10):
        _, accelerations = beside.errors(qpos, qvel, qvel[:0])
        assert accelerations < AGREE


@pytest.mark.slow
def test_bodies_that_a_program_moves_stand_still_with_what_is_welded_to_them(
    tmp_path: Path,
) -> None:
    mechanism = ds.multibody.read(written(tmp_path, "hand", TEXTS["hand"]))
    assert sorted(body.name for body in mechanism.bodies) == ["finger", "rod"]


@pytest.mark.slow
def test_weight_that_no_actuator_takes_off_is_refused(tmp_path: Path) -> None:
    for option, actuator in (("", ""), (flags("actuation"), GEARED)):
        path = written(
            tmp_path, "lifted", text(option, "", 'actuatorgravcomp="true"', actuator, 0.6)
        )
        with pytest.raises(UnsupportedError, match="actuatorgravcomp"):
            ds.multibody.read(path)


def test_weight_that_a_range_of_forces_would_leave_is_refused(tmp_path: Path) -> None:
    joint = 'actuatorgravcomp="true" actuatorfrcrange="-1 1"'
    path = written(tmp_path, "lifted", text("", "", joint, GEARED, 0.6))
    with pytest.raises(UnsupportedError, match="remove actuatorgravcomp, or actuatorfrcrange"):
        ds.multibody.read(path)


@pytest.mark.slow
def test_a_weld_without_torques_lets_bodies_turn(tmp_path: Path) -> None:
    path = tmp_path / "weld.xml"
    path.write_text(
        """<mujoco><worldbody><body name="rod"><freejoint/>
          <geom type="capsule" fromto="0 0 0 0.1 0 -1" size="0.03" contype="0"/></body></worldbody>
        <equality><weld body1="rod" torquescale="0"/></equality></mujoco>"""
    )
    mechanism = ds.multibody.read(path)
    run = ds.solve(mechanism.system(), 0.5, guess=mechanism.start)
    # A pendulum about the origin: a(1 + cos) of energy, which a rod that is held has not.
    assert abs(run["rod_w2"][-1]) > 0.1
