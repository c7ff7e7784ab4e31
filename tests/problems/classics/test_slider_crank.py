import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError
from tests.reference.slider_crank import slider_crank_states

PROBLEM = ds.problem("slider-crank")


def test_states_agree_with_the_quadrature_of_the_one_freedom():
    table = slider_crank_states()
    run = PROBLEM.case("spin").solve(at=table["times"])
    for name in set(table) - {"times"}:
        size = max(1.0, np.max(np.abs(table[name])))
        assert np.max(np.abs(run[name] - table[name])) < 1e-13 * size, name
    assert np.max(np.abs(run["energy"] - 12.0)) < 1e-12
    for joint in ("pivot", "pin", "wrist"):
        for axis in "xy":
            assert run.drift[f"{joint}_{axis}"].max_abs < 1e-14


@pytest.mark.parametrize("angle", [0.0, 0.7, math.pi / 2, 4.0])
def test_reactions_of_pivot_and_guide_carry_all_bodies(angle):
    case = PROBLEM.case("spin").starting({"phi_1": angle})
    state, parameters = case.consistent_start().state, list(case.full_parameters.values())
    labels = case.system.dynamics.labels

    def found(quantity: str, names: tuple[str, ...]) -> dict[str, float]:
        column = case.system.function(quantity)(0.0, state, parameters)
        return dict(zip(names, np.array(column).ravel(), strict=True))

    acceleration = found("accelerations", labels.accelerations)
    reaction = found("reactions", labels.reactions)
    size = max(map(abs, reaction.values()))
    sideways = sum(acceleration[f"x_dot_{i}'"] for i in (1, 2, 3))
    assert abs(reaction["pivot_x"] - sideways) < 1e-13 * size
    upwards = sum(acceleration[f"y_dot_{i}'"] + 9.81 for i in (1, 2))
    assert abs(reaction["pivot_y"] - reaction["wrist_y"] - upwards) < 1e-13 * size


@pytest.mark.parametrize("angle", [0.0, 0.7, math.pi / 2, 4.0])
def test_the_start_rule_closes_the_loop(angle):
    case = PROBLEM.case("spin").starting({"phi_1": angle, "phi_dot_1": -3.0})
    guess, _ = case.guess()
    start = case.consistent_start()
    names = case.system.dynamics.labels.states
    for name, value in zip(names, start.state, strict=True):
        assert abs(value - guess[name]) < 1e-14, name


def test_a_rod_that_is_too_short_is_reported():
    case = PROBLEM.case("spin", rod_length=0.3).starting({"phi_1": 1.5})
    with pytest.raises(OutOfRangeError, match=r"0\.498747 m off .* 0\.3 m rod"):
        case.solve()
