"""Limits of joints of model files, beside closed forms and quadratures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

import daesolve as ds
from daesolve.errors import DaesolveError, ModelFileError, OutOfRangeError

pytest.importorskip("mujoco")

from ..model_rates import written

BAR = '<inertial pos="0 0 -1" mass="2" diaginertia="0.5 0.5 0.5"/>'
"""A body whose inertia about the origin is 2.5 kg m^2."""
MOMENT, WEIGHT = 2.5, 2 * 9.81


def model(joints: str, more: str = "", after: str = "") -> str:
    """Return a model of one body."""
    return (
        f'<mujoco><compiler angle="radian"/><worldbody><body name="bar">{joints}{BAR}{more}</body>'
        f"</worldbody>{after}</mujoco>"
    )


WEIGHTLESS = '<option gravity="0 0 0"/>'
PIN = '<joint name="pin" axis="0 1 0" range="-0.5 1"/>'
GRIPPER = """
<robot name="gripper"><link name="palm"/>
  <link name="left"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="one" type="revolute"><parent link="palm"/><child link="left"/><axis xyz="0 0 1"/>
    {one}</joint>
  <joint name="two" type="revolute"><parent link="palm"/><child link="right"/><axis xyz="0 0 1"/>
    {two}</joint></robot>"""


def solved(
    mechanism: ds.multibody.FileMechanism, until: float, values: Mapping[str, float], **further: Any
) -> ds.Trajectory:
    """Return a run from values of joints; its audit holds."""
    run = ds.solve(
        mechanism.system(),
        until,
        guess=mechanism.start_with(values),
        parameters={**mechanism.discrete_values_with(values), **further.pop("parameters", {})},
        **further,
    )
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.audit().holds
    return run


def test_a_bar_goes_to_and_fro_between_its_limits_with_the_restitution(tmp_path: Path) -> None:
    path = written(tmp_path, "bar", model(PIN, after=WEIGHTLESS))
    mechanism = ds.multibody.read(path, limit_restitution=0.5)
    run = solved(mechanism, 4.0, {"pin_rate": 2.0})
    met = [(event.name, event.time) for event in run.events]
    # 1 rad at 2 rad/s, then 1.5 rad at 1 rad/s, then at 1/2 rad/s.
    assert [name for name, _ in met] == ["pin_upper_closed", "pin_lower_closed"]
    assert np.allclose([time for _, time in met], [0.5, 2.0], rtol=1e-12)
    assert run["pin_angle"][-1] == pytest.approx(-0.5 + 2.0 * 0.5, rel=1e-12)
    impact = run.events[0].impact
    assert impact is not None
    assert impact.impulses["pin_upper"] == pytest.approx(MOMENT * 3.0, rel=1e-12)


@pytest.mark.slow
def test_a_pendulum_drops_on_its_limit_and_is_held_there(tmp_path: Path) -> None:
    path = written(tmp_path, "drops", model(PIN))
    run = solved(ds.multibody.read(path), 2.0, {"pin_angle": 0.9, "pin_rate": -0.3})
    (met,) = run.events

    def slowness(angle: float) -> float:
        energy = MOMENT * 0.3**2 / 2 + WEIGHT * (np.cos(angle) - np.cos(0.9))
        return float(1 / np.sqrt(2 * energy / MOMENT))

    fall = scipy.integrate.quad(slowness, -0.5, 0.9, epsabs=1e-13)[0]
    assert met.name == "pin_lower_closed"
    assert met.time == pytest.approx(fall, rel=1e-10)
    # It does not rise again: the momentum is gone, but the weight would turn it back.
    assert run.end_time > 1.5 * fall
    swings = np.abs(run["pin_angle"] + 0.5)[run.times > fall]
    assert np.max(swings) > 0.1


@pytest.mark.slow
def test_friction_rotors_springs_and_a_stop_together_as_by_hand(tmp_path: Path) -> None:
    joint = (
        '<joint name="rail" type="slide" axis="1 0 0" range="-2 0.3" stiffness="8" damping="0.4" '
        'armature="0.5" frictionloss="1.5"/>'
    )
    path = written(tmp_path, "rail", model(joint))
    run = solved(ds.multibody.read(path, limit_restitution=0.6), 3.0, {"rail_speed": 2.0})
    mass, expected = 2.5, list[float]()
    time, state = 0.0, np.array([0.0, 2.0])

    def motion(_: float, z: np.ndarray, sense: float) -> list[float]:
        return [z[1], (-8.0 * z[0] - 0.4 * z[1] - 1.5 * sense) / mass]

    def stop(_: float, z: np.ndarray, sense: float) -> float:
        return float(z[0] - 0.3) if sense > 0 else 1.0

    def turn(_: float, z: np.ndarray, sense: float) -> float:
        return float(sense * z[1])

    stop.terminal = turn.terminal = True  # pyright: ignore
    stop.direction, turn.direction = 1.0, -1.0  # pyright: ignore
    while True:
        sense = float(np.sign(state[1]))
        found = scipy.integrate.solve_ivp(
            motion, (time, 20.0), state, "DOP853", events=(stop, turn), args=(sense,),
            rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        time, state = float(found.t[-1]), found.y[:, -1].copy()
        if len(found.t_events[0]):
            expected.append(time)
            state[1] *= -0.6
            continue
        if abs(8.0 * state[0]) <= 1.5:
            break
        state[1] = -1e-16 * sense  # It turns, since the spring is stronger.
    met = [event.time for event in run.events if event.name == "rail_upper_closed"]
    assert np.allclose(met, expected, rtol=1e-9)
    assert run["rail_displacement"][-1] == pytest.approx(state[0], rel=1e-9)


@pytest.mark.slow
def test_whole_turns_count_at_a_limit_beyond_them(tmp_path: Path) -> None:
    joint = '<joint name="pin" axis="0 1 0" range="-0.5 20"/>'
    path = written(tmp_path, "turns", model(joint, after=WEIGHTLESS))
    run = solved(ds.multibody.read(path), 3.0, {"pin_rate": 10.0})
    assert [event.name for event in run.events] == ["pin_upper_closed"]
    assert run.events[0].time == pytest.approx(2.0, rel=1e-12)
    assert run["pin_angle"][-1] == pytest.approx(20.0, rel=1e-12)


@pytest.mark.slow
def test_a_ball_turns_up_to_its_limit_about_any_axis(tmp_path: Path) -> None:
    joint = '<joint name="neck" type="ball" range="0 1.2"/>'
    path = written(tmp_path, "ball", model(joint, after=WEIGHTLESS))
    axis = np.array([0.6, -0.8, 0.0])  # Of equal moments about the joint: it turns evenly.
    rates = {f"neck_w{k}": 3.0 * float(w) for k, w in enumerate(axis, 1)}
    run = solved(ds.multibody.read(path, limit_restitution=0.5), 1.0, rates)
    (met,) = run.events
    assert met.name == "neck_upper_closed"
    assert met.time == pytest.approx(0.4, rel=1e-12)
    impact = met.impact
    assert impact is not None
    assert impact.impulses["neck_upper"] == pytest.approx(MOMENT * 4.5, rel=1e-11)


@pytest.mark.slow
def test_a_loop_stops_where_one_of_its_joints_does(tmp_path: Path) -> None:
    """A four-bar linkage whose rocker has a stop, as a redundant loop in space."""
    bar = '<geom type="capsule" fromto="0 0 0 0 0 {}" size="0.02" contype="0"/>'
    text = (
        '<mujoco><compiler angle="radian"/><worldbody><body name="crank">'
        f'<joint name="drive" axis="0 1 0" range="-9 9"/>{bar.format(0.2)}<body name="coupler" '
        'pos="0 0 0.2"><joint name="upper" axis="0 1 0"/><geom type="capsule" contype="0" '
        'fromto="0 0 0 0.5 0 0.2" size="0.02"/></body></body><body name="rocker" pos="0.5 0 0">'
        f'<joint name="pivot" axis="0 1 0" range="-0.2 0.2"/>{bar.format(0.4)}</body></worldbody>'
        '<equality><connect name="pin" body1="coupler" body2="rocker" anchor="0.5 0 0.2"/>'
        "</equality></mujoco>"
    )
    mechanism = ds.multibody.read(written(tmp_path, "bar", text))
    run = solved(mechanism, 1.0, {"drive_rate": 3.0}, redundant="minimum-norm")
    assert [event.name for event in run.events] == ["pivot_upper_closed"]
    impact = run.events[0].impact
    assert impact is not None
    # Without restitution the only motion of the loop ends.
    assert impact.kinetic_after == pytest.approx(0.0, abs=1e-13)
    # The crank where the rocker is at 0.2 rad: both ends of the coupler keep their distance.
    tip = 0.5 + 0.4 * np.sin(0.2), 0.4 * np.cos(0.2)

    def closure(angle: float) -> float:
        foot = 0.2 * np.sin(angle), 0.2 * np.cos(angle)
        return float(np.hypot(tip[0] - foot[0], tip[1] - foot[1]) - np.hypot(0.5, 0.2))

    expected = scipy.optimize.brentq(closure, 0.0, 1.0, xtol=1e-14)
    assert run["drive_angle"][-1] == pytest.approx(expected, abs=1e-11)


def test_a_margin_shortens_a_range_as_far_as_mujoco_rests(tmp_path: Path) -> None:
    joint = PIN.replace("/>", ' margin="0.1"/>')
    mechanism = ds.multibody.read(written(tmp_path, "margin", model(joint)))
    assert np.allclose(mechanism.freedoms["pin"].joint.range, [-0.4, 0.9])


def test_the_range_of_a_joint_that_follows_limits_the_one_that_leads(tmp_path: Path) -> None:
    text = GRIPPER.format(
        one='<limit lower="0" upper="1" effort="1" velocity="1"/>',
        two='<limit lower="-1.5" upper="0.2" effort="1" velocity="1"/>'
        '<mimic joint="one" multiplier="-2" offset="0.1"/>',
    )
    mechanism = ds.multibody.read(written(tmp_path, "gripper", text))
    run = solved(mechanism, 1.0, {"one_angle": 0.2, "two_angle": -0.3, "one_rate": 1.0,
                                  "two_rate": -2.0})  # fmt: skip
    # two = 0.1 - 2 one: -1.5 is where one is 0.8, and one itself may go to 1.
    assert [event.name for event in run.events] == ["one_upper_closed"]
    assert run.events[0].time == pytest.approx(0.6, rel=1e-12)
    assert run["two_angle"][-1] == pytest.approx(-1.5, abs=1e-12)


def test_a_range_that_is_a_point_holds_its_joint(tmp_path: Path) -> None:
    text = GRIPPER.format(one='<limit lower="0" upper="0"/>', two='<limit upper="1"/>')
    mechanism = ds.multibody.read(written(tmp_path, "held", text))
    names = [goal.name for goal in mechanism.system().goals]
    assert "one_held" in names
    assert "one_lower" not in names
    assert {"two_lower", "two_upper"} <= {*names}  # What is not given is 0.


@pytest.mark.parametrize(
    ("one", "two", "word"),
    [
        ('<limit lower="1" upper="-1"/>', "", "no place within its limits"),
        ('<limit lower="nan" upper="1"/>', "", "not finite"),
        ("", '<mimic joint="two"/>', "'two' of .* mimics itself"),
        ('<mimic joint="two"/>', '<mimic joint="one"/>', "in a ring"),
        ("", '<mimic joint="three"/>', "which does not exist"),
        ('<limit lower="0" upper="1"/>', '<limit lower="2" upper="3"/><mimic joint="one"/>',
         "no place within its limits and those of 'two'"),
    ],
)  # fmt: skip
def test_what_limits_and_mimics_cannot_mean_is_refused(
    tmp_path: Path, one: str, two: str, word: str
) -> None:
    path = written(tmp_path, "odd", GRIPPER.format(one=one, two=two))
    with pytest.raises(ModelFileError, match=word):
        ds.multibody.read(path)


@pytest.mark.parametrize(
    ("joint", "word"),
    [
        ('<joint axis="0 1 0" limited="true" range="0 0"/>', "smaller than range"),
        ('<joint axis="0 1 0" limited="true" range="1 -1"/>', "smaller than range"),
        ('<joint name="pin" axis="0 1 0" range="nan 1"/>', "not finite"),
        ('<joint name="pin" axis="0 1 0" range="-1 1" margin="nan"/>', "not finite"),
        ('<joint name="pin" axis="0 1 0" range="-1 1" margin="1.1"/>', "from 0.1 to -0.1"),
        ('<joint name="pin" type="ball" range="0 1" margin="1"/>', "no place to turn"),
    ],
)
def test_ranges_without_a_place_are_refused(tmp_path: Path, joint: str, word: str) -> None:
    with pytest.raises(ModelFileError, match=word):
        ds.multibody.read(written(tmp_path, "odd", model(joint)))


def test_a_range_may_be_open_at_one_end_or_at_both(tmp_path: Path) -> None:
    pin = '<joint name="pin" axis="0 1 0" range="{}"/>'
    below = ds.multibody.read(written(tmp_path, "below", model(pin.format("-0.5 inf"))))
    (limit,) = (goal for goal in below.system().goals if isinstance(goal, ds.Contact))
    assert limit.name == "pin_lower"
    assert below.start_with({"pin_angle": 9.0})
    nowhere = ds.multibody.read(written(tmp_path, "nowhere", model(pin.format("-inf inf"))))
    assert not any(isinstance(goal, ds.Contact) for goal in nowhere.system().goals)


def test_ranges_count_only_where_the_file_says_so(tmp_path: Path) -> None:
    off = '<joint name="pin" axis="0 1 0" range="-1 1" limited="false"/>'
    for text in (model(off), model(PIN, after='<option><flag limit="disable"/></option>')):
        mechanism = ds.multibody.read(written(tmp_path, "off", text))
        assert not any(isinstance(goal, ds.Contact) for goal in mechanism.system().goals)
    text = model(PIN).replace('angle="radian"', 'angle="radian" autolimits="false"')
    with pytest.raises(ModelFileError, match="autolimits"):
        ds.multibody.read(written(tmp_path, "unsaid", text))


def test_starts_beyond_a_limit_are_refused_and_rounding_is_none(tmp_path: Path) -> None:
    mechanism = ds.multibody.read(written(tmp_path, "bar", model(PIN)))
    with pytest.raises(OutOfRangeError, match=r"pin starts at 1\.5 rad, beyond its upper limit 1"):
        mechanism.start_with({"pin_angle": 1.5})
    # A whole turn further the bar would look the same.
    with pytest.raises(OutOfRangeError, match=r"beyond its lower limit -0\.5"):
        mechanism.start_with({"pin_angle": 0.2 - 2 * np.pi})
    assert mechanism.start_with({"pin_angle": 1.0 + 1e-10}) == mechanism.start_with(
        {"pin_angle": 1.0}
    )
    for value in (-0.1, 1.5, np.nan):
        with pytest.raises(OutOfRangeError, match="limit_restitution"):
            ds.multibody.read(mechanism.path, limit_restitution=value)


def test_states_of_bodies_beyond_a_limit_start_no_run(tmp_path: Path) -> None:
    mechanism = ds.multibody.read(written(tmp_path, "bar", model(PIN)))
    free = ds.multibody.read(written(tmp_path, "free", model(PIN.replace("range", "userdata"))
                                     .replace(' userdata="-0.5 1"', "")))  # fmt: skip
    beyond = free.start_with({"pin_angle": 1.5})
    with pytest.raises(DaesolveError, match="pin_upper"):
        ds.solve(mechanism.system(), 0.1, guess=beyond)


def test_names_of_limits_make_way_for_those_of_joints(tmp_path: Path) -> None:
    more = '<body name="tip"><joint name="pin_lower" axis="0 1 0"/>' + BAR + "</body>"
    mechanism = ds.multibody.read(written(tmp_path, "names", model(PIN, more=more)))
    names = [goal.name for goal in mechanism.system().goals]
    assert "pin_lower" in mechanism.freedoms
    assert {"pin_lower_limit", "pin_upper"} <= {*names}
