"""The ground truth of the classics is checked: against laws of mechanics and published numbers."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from . import andrews, car_axis, four_bar, slider_crank


def relative(found: object, expected: object) -> float:
    wanted = np.asarray(expected, dtype=float)
    return float(np.max(np.abs(np.asarray(found, dtype=float) - wanted) / np.abs(wanted)))


def test_andrews_loops_close_at_the_published_start() -> None:
    published = (
        "0", "0.455279819163070380255912382449", "0.222668390165885884674473185609",
        "0.487364979543842550225598953530", "-0.222668390165885884674473185609",
        "1.23054744454982119249735015568",
    )  # fmt: skip
    with mpmath.workdps(34):
        angles = andrews.Mechanism().angles(mpmath.mpf(andrews.START))
        for found, expected in zip(angles[1:], published, strict=True):
            assert abs(found - mpmath.mpf(expected)) < mpmath.mpf("1e-29")


def test_andrews_starts_with_the_published_acceleration() -> None:
    with mpmath.workdps(50):
        step = mpmath.mpf("1e-16")
        rate = andrews.Mechanism().rate(mpmath.mpf(andrews.START) + step)
        # beta'^2 = 2 beta'' step (1 + O(step))
        assert abs(rate**2 / (2 * step) / mpmath.mpf("14222.4439199541138705911625887") - 1) < 1e-13


def test_andrews_end_agrees_with_the_published_one_as_far_as_it_is_right() -> None:
    table = andrews.andrews_states()
    for name, expected in andrews.PUBLISHED_END.items():
        limit = 1e-7 if name.endswith("_dot") else 1e-9
        assert abs(table[name][-1] / expected - 1) < limit, name


def test_andrews_rates_are_derivatives_of_its_angles() -> None:
    with mpmath.workdps(30):
        mechanism = andrews.Mechanism()
        for beta in (mpmath.mpf("0.3"), mpmath.mpf(2)):
            rates = mechanism.rates(mechanism.angles(beta))
            step = mpmath.mpf("1e-10")
            before, after = mechanism.angles(beta - step), mechanism.angles(beta + step)
            for low, high, rate in zip(before, after, rates, strict=True):
                assert abs((high - low) / (2 * step) - rate) < mpmath.mpf("1e-16")


def test_car_axis_end_agrees_with_the_published_one_as_far_as_it_is_right() -> None:
    table = car_axis.car_axis_states()
    positions = [table[name][-1] for name in car_axis.NAMES]
    rates = [table[f"{name}_dot"][-1] for name in car_axis.NAMES]
    assert relative(positions, car_axis.PUBLISHED_END[:4]) < 1e-12
    assert relative(rates, car_axis.PUBLISHED_END[4:]) < 1e-9


def test_slider_crank_obeys_its_constraints_and_keeps_twelve_joules() -> None:
    table = slider_crank.slider_crank_states()
    gap_x = table["x_3"] - table["x_2"] - np.cos(table["phi_2"]) / 2
    gap_y = table["y_2"] + np.sin(table["phi_2"]) / 2
    assert np.max(np.abs([gap_x, gap_y])) < 1e-15
    moving = sum(table[name] ** 2 for name in ("x_dot_1", "y_dot_1", "x_dot_2", "y_dot_2"))
    moving = moving + table["x_dot_3"] ** 2
    turning = (table["phi_dot_1"] ** 2 / 4 + table["phi_dot_2"] ** 2) / 12
    energy = (moving + turning) / 2 + 9.81 * (table["y_1"] + table["y_2"])
    np.testing.assert_allclose(energy, 12.0, rtol=1e-15)


@pytest.mark.slow
def test_slider_crank_is_at_its_angles_in_time() -> None:
    table = slider_crank.slider_crank_states()

    def rate(_: float, theta: np.ndarray) -> list[float]:
        with mpmath.workdps(17):
            return [float(slider_crank.rate(mpmath.mpf(float(theta[0]))))]

    found = solve_ivp(rate, (0.0, 1.0), [0.0], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    assert abs(found - table["phi_1"][1]) < 1e-10


def test_four_bar_agrees_with_numerical_integration() -> None:
    times = np.array([1.0, 4.0, 10.0])
    for windows in (1, 2, 40):
        stiffness = 9.81 * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
        swing = solve_ivp(
            lambda _, state, k=stiffness: [state[1], -k * np.cos(state[0])],
            (0.0, 10.0), [np.pi / 2, -1.0], method="DOP853", t_eval=times, rtol=1e-13, atol=1e-13,
        )  # fmt: skip
        theta, turn = swing.y
        states = four_bar.four_bar_states(windows, times)
        assert np.max(np.abs(states["x_1"] - np.cos(theta))) < 1e-9
        assert np.max(np.abs(states["y_2"] - np.sin(theta))) < 1e-9
        assert np.max(np.abs(states["y_dot_1"] - turn * np.cos(theta))) < 1e-8
