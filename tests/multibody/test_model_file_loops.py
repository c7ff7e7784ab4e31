"""Loops of model files: closed by connect, weld and joint equalities, redundant ones as well."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import InconsistentStateError, RedundantConstraintsError

pytest.importorskip("mujoco")

from .model_rates import Beside, written
from .model_texts import FOUR_BAR, GEARED, LOOPS, WELDED

GAP = 1e-13
"""m or rad: some hundreds of roundings of lengths of a metre."""
STARTS = {
    "four_bar": {"drive_rate": 4.0},
    "welded_bar": {"drive_rate": 4.0},
    "welded": {"left_hinge_rate": 1.0},
    "geared": {"shaft_rate": 3.0},
}
SECONDS = {"four_bar": 5.0, "welded_bar": 2.0, "welded": 0.4, "geared": 5.0}
"""The parallelogram lies flat after 0.5 s, where it may go on in two ways."""
CLOSED = {
    "four_bar": ["pin"],
    "welded_bar": ["pin"],
    "welded": ["glued"],
    "geared": ["mesh", "curve"],
}


@pytest.mark.long_rows("four_bar", "welded_bar")
@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_loops_stay_closed_and_conserve_energy(tmp_path: Path, name: str) -> None:
    case = ds.problem(str(written(tmp_path, name, LOOPS[name]))).case(contacts="none")
    run = case.solve(SECONDS[name], STARTS[name])
    assert run.outcome is ds.Outcome.COMPLETED
    for goal in CLOSED[name]:
        gaps = [entry.max_abs for key, entry in run.drift.items() if key.startswith(goal)]
        assert max(gaps) < GAP
    assert run.drift["energy"].max_relative < 1e-12


@pytest.mark.slow
def test_a_planar_loop_in_space_is_refused_by_name_unless_a_rule_is_given(tmp_path: Path) -> None:
    mechanism = ds.multibody.read(written(tmp_path, "four_bar", FOUR_BAR), contacts="none")
    with pytest.raises(RedundantConstraintsError, match="pin_2"):
        ds.solve(mechanism.system(), 1.0, guess=mechanism.start)
    run = ds.solve(mechanism.system(), 1.0, guess=mechanism.start, redundant="drop")
    assert run.outcome is ds.Outcome.COMPLETED


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "start",
    [
        {"drive_angle": 0.3},
        {"drive_rate": 3.0},
        {"pivot_rate": 2.0},
        {"upper_angle": 0.1, "drive_rate": -1.0},
    ],
)
def test_a_start_value_of_a_joint_is_kept_and_the_loop_closed(
    tmp_path: Path, start: dict[str, float]
) -> None:
    case = ds.problem(str(written(tmp_path, "four_bar", FOUR_BAR))).case(contacts="none")
    run = case.solve(0.01, start)
    gaps = [entry.max_abs for key, entry in run.drift.items() if key.startswith("pin")]
    assert max(gaps) < GAP
    assert {name: run[name][0] for name in start} == pytest.approx(start, abs=1e-13)


@pytest.mark.slow
def test_start_values_that_a_loop_does_not_allow_together_are_refused(tmp_path: Path) -> None:
    case = ds.problem(str(written(tmp_path, "four_bar", FOUR_BAR))).case(contacts="none")
    with pytest.raises(InconsistentStateError, match="with drive_rate, pivot_rate the loop of"):
        case.solve(0.01, {"drive_rate": 3.0, "pivot_rate": 0.7})


@pytest.mark.long
def test_initial_takes_outputs_of_states(tmp_path: Path) -> None:
    mechanism = ds.multibody.read(written(tmp_path, "four_bar", FOUR_BAR), contacts="none")
    system, guess = mechanism.system(), mechanism.start
    run = ds.solve(system, 0.01, {"drive_rate": 3.0}, guess=guess, redundant="drop")
    assert run["drive_rate"][0] == pytest.approx(3.0, abs=1e-13)


@pytest.mark.slow
def test_the_motion_of_a_closed_loop_is_that_of_its_minimal_coordinate(tmp_path: Path) -> None:
    """The four-bar by its crank angle: T = I(a) a'^2 / 2, V(a), with lengths and angles."""
    case = ds.problem(str(written(tmp_path, "four_bar", FOUR_BAR))).case(contacts="none")
    run = case.solve(2.0, {"drive_rate": 4.0}, at=np.linspace(0.0, 2.0, 41))
    angle = np.unwrap(run["drive_angle"])
    crank, base, rocker = 0.2, 0.5, 0.4
    coupler = np.hypot(0.5, 0.2)
    # Places of the pins in (x, z): the crank's end, and the rocker's, above the line between.
    end = np.stack([crank * np.sin(angle), crank * np.cos(angle)])
    way = np.array([[base], [0.0]]) - end
    length = np.hypot(*way)
    along = (coupler**2 - rocker**2 + length**2) / (2 * length)
    normal = np.stack([-way[1], way[0]]) / length
    pin = end + along * way / length + np.sqrt(coupler**2 - along**2) * normal
    turned = np.arctan2(pin[0] - base, pin[1])
    assert np.allclose(run["pivot_angle"], turned, rtol=0.0, atol=1e-12)


@pytest.mark.slow
def test_a_gear_between_joints_moves_as_its_reduced_mass_does(tmp_path: Path) -> None:
    """Without springs and weight, x and y = p(x) share the kinetic energy of one freedom."""
    text = GEARED.replace('stiffness="30"', "").replace(
        "<worldbody>", '<option gravity="0 0 0"/><worldbody>'
    )
    path = written(tmp_path, "geared", text)
    beside, case = Beside(path), ds.problem(str(path)).case(contacts="none")
    run = case.solve(4.0, {"shaft_rate": 3.0})
    shaft, goes, cam = (run[name] for name in ("shaft_angle", "goes_displacement", "cam_angle"))
    assert np.allclose(goes, 0.1 * shaft, rtol=0.0, atol=1e-13)
    assert np.allclose(
        cam, 2 * goes + goes**2 - 0.5 * goes**3 + 0.3 * goes**4, rtol=0.0, atol=1e-12
    )
    import mujoco

    mujoco.mj_forward(beside.model, beside.data)
    full = np.zeros((3, 3))
    mujoco.mj_fullM(beside.model, beside.data, full)
    slope = 0.1 * (2 + 2 * goes - 1.5 * goes**2 + 1.2 * goes**3)
    inertia = full[0, 0] + 0.01 * full[1, 1] + slope**2 * full[2, 2]
    energy = inertia * run["shaft_rate"] ** 2 / 2
    assert np.allclose(energy, energy[0], rtol=1e-12)


@pytest.mark.slow
def test_a_weld_holds_directions_too(tmp_path: Path) -> None:
    mechanism = ds.multibody.read(written(tmp_path, "welded", WELDED), contacts="none")
    run = ds.problem(str(mechanism.path)).case(contacts="none").solve(0.4, {"left_hinge_rate": 1.0})
    deck = np.array([run[f"deck_q{k}"][-1] for k in range(4)])
    cap = np.array([run[f"cap_q{k}"][-1] for k in range(4)])
    assert abs(deck @ cap) == pytest.approx(1.0, abs=1e-13)
