"""Given start values of joints are kept where a model file closes loops."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import InconsistentStateError, OutOfRangeError

pytest.importorskip("mujoco")

from ..model_rates import written
from ..model_texts import FOUR_BAR, WELDED

KEY = '<keyframe><key name="bent" qpos="0.3 -0.3 0.149" qvel="1 -1 0.5"/></keyframe>'

NO_CONTACTS = '<option><flag contact="disable"/></option>'


LEG = """
<mujoco>
  <worldbody>
    <body name="trunk" pos="0 0 1">
      <freejoint name="base"/>
      <geom type="box" size="0.1 0.1 0.1"/>
      <body name="thigh">
        <joint name="hip" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02"/>
        <body name="shank" pos="0 0 -0.3">
          <joint name="knee" axis="0 1 0"/>
          <geom type="capsule" fromto="-0.1 0 0 0 0 -0.3" size="0.02"/>
        </body>
      </body>
      <body name="crank">
        <joint name="drive" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 -0.1 0 0" size="0.02"/>
        <body name="rod" pos="-0.1 0 0">
          <joint name="pin" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02"/>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><connect name="loop" body1="rod" body2="shank" anchor="0 0 -0.3"/></equality>
</mujoco>"""


@pytest.fixture(name="bar")
def _bar(tmp_path: Path) -> ds.multibody.FileMechanism:
    """A crank of 0.2 m, a rocker of 0.4 m, and a coupler, all upright."""
    text = FOUR_BAR.replace("</mujoco>", KEY + NO_CONTACTS + "</mujoco>")
    return ds.multibody.read(written(tmp_path, "bar", text))


def joint_values(
    mechanism: ds.multibody.FileMechanism, values: dict[str, float]
) -> dict[str, float]:
    """Return the places and rates of all hinges of a start, from the states of the bodies."""
    known = mechanism.start_with(values) | mechanism.discrete_values_with(values)
    found: dict[str, float] = {}
    for freedom in mechanism.freedoms.values():
        for name, (value, _) in freedom.outputs.items():
            symbols = ca.symvar(value)
            function = ca.Function("value", symbols, [value])
            found[name] = float(function(*[known[symbol.name()] for symbol in symbols]))
    return found


def turned(angle: float) -> np.ndarray:
    """Return the rotation in the plane of x and z by an angle about y."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def test_the_rate_of_a_crank_is_kept_and_the_others_follow(
    bar: ds.multibody.FileMechanism,
) -> None:
    found = joint_values(bar, {"drive_rate": 3.0})
    # Crank and rocker are parallel: the coupler does not turn.
    for name, rate in {"drive_rate": 3.0, "upper_rate": -3.0, "pivot_rate": 1.5}.items():
        assert found[name] == pytest.approx(rate, rel=1e-13)


def test_the_angle_of_a_crank_is_kept_and_the_loop_closes(bar: ds.multibody.FileMechanism) -> None:
    found = joint_values(bar, {"drive_angle": 0.3, "pivot_rate": -2.0})
    crank, rocker = found["drive_angle"], found["pivot_angle"]
    coupler = crank + found["upper_angle"]
    end = turned(crank) @ [0.0, 0.2] + turned(coupler) @ [0.5, 0.2]
    assert np.allclose(end, np.array([0.5, 0.0]) + turned(rocker) @ [0.0, 0.4], atol=1e-13)
    assert crank == pytest.approx(0.3, rel=1e-14)
    assert found["pivot_rate"] == pytest.approx(-2.0, rel=1e-13)


def test_a_keyframe_gives_way_and_what_differs_from_it_does_not(
    bar: ds.multibody.FileMechanism,
) -> None:
    key = bar.starts["bent"].values
    assert joint_values(bar, dict(key))["drive_angle"] == pytest.approx(0.3, rel=1e-14)
    found = joint_values(bar, {**key, "drive_angle": 0.35})
    assert found["drive_angle"] == pytest.approx(0.35, rel=1e-14)
    assert found["upper_angle"] == pytest.approx(-0.35, abs=0.05)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"drive_angle": 0.3, "upper_angle": 0.5}, "with drive_angle, upper_angle the loop"),
        ({"drive_rate": 1.0, "pivot_rate": 1.0}, "with drive_rate, pivot_rate the loop"),
    ],
)
def test_values_that_leave_a_loop_open_are_refused(
    bar: ds.multibody.FileMechanism, values: dict[str, float], word: str
) -> None:
    with pytest.raises(InconsistentStateError, match=word):
        bar.start_with(values)
    with pytest.raises(OutOfRangeError, match="must be finite"):
        bar.start_with({"drive_angle": float("nan")})


def test_what_carries_a_loop_as_a_whole_stays_while_it_closes(tmp_path: Path) -> None:
    """A parallelogram: the rod is parallel to the thigh, and the shank turns with the crank."""
    leg = ds.multibody.read(written(tmp_path, "leg", LEG), contacts="none")
    given = {"hip_angle": -0.5, "drive_angle": 0.7, "hip_rate": 1.0, "drive_rate": -2.0}
    found = joint_values(leg, given)
    expected = given | {"knee_angle": 1.2, "pin_angle": -1.2, "knee_rate": -3.0, "pin_rate": 3.0}
    # The loop is closed within 1e-13 m, on levers of 0.1 m, and is turned at 3 rad/s.
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-10)
    start = leg.start_with(given)
    alone = leg.start_with({})
    for name in ("q0", "q1", "q2", "q3", "x", "z", "x_dot", "z_dot", "w2"):
        assert start[f"trunk_{name}"] == alone[f"trunk_{name}"]


def test_a_loop_at_rest_without_gravity_stays_where_it_is(tmp_path: Path) -> None:
    """Its surplus constraints agree to rounding, though nothing else has a size there."""
    text = FOUR_BAR.replace("<option", '<option gravity="0 0 0"')
    text = text.replace("</mujoco>", NO_CONTACTS + "</mujoco>")
    mechanism = ds.multibody.read(written(tmp_path, "bar", text))
    guess = mechanism.start_with({"drive_angle": 0.3})
    run = ds.solve(mechanism.system(), 0.1, guess=guess, redundant="minimum-norm", at=[0.0, 0.1])
    assert run["drive_angle"][-1] == pytest.approx(0.3, abs=1e-12)
    assert run["drive_rate"][-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_runs_begin_with_the_given_values(bar: ds.multibody.FileMechanism, tmp_path: Path) -> None:
    run = ds.problem(str(bar.path)).case().solve(0.01, {"drive_rate": 3.0}, at=[0.0, 0.01])
    assert run["drive_rate"][0] == pytest.approx(3.0, rel=1e-13)
    mechanism = ds.multibody.read(written(tmp_path, "welded", WELDED), contacts="none")
    values = {"left_hinge_angle": 0.3, "right_ball_w2": 1.0}
    run = ds.solve(
        mechanism.system(),
        0.01,
        guess=mechanism.start_with(values),
        parameters=mechanism.discrete_values_with(values),
        redundant="minimum-norm",
        at=[0.0, 0.01],
    )
    assert run["left_hinge_angle"][0] == pytest.approx(0.3, rel=1e-13)
