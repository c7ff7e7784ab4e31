"""A stiff bogie: no motion without slip, and the classical wavelength by Dirac's model."""

from __future__ import annotations

import numpy as np
import pytest
from daesolve_problems.wheelset import models
from daesolve_problems.wheelset.bogie import problem
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.nonholonomic import no_slip_closure


def small_motions(model="dirac", **changes):
    case = problem.case(model=model, **changes)
    rest = dict.fromkeys(case.system.dynamics.labels.states, 0.0)
    return ds.analysis.linearize(case.system, rest, parameters=case.values)


@pytest.mark.parametrize("units", ["dimensional", "normalised"])
def test_without_slip_no_freedom_is_left(units):
    structure = problem.meaning({"units": units, "creep": "linear"})
    assert no_slip_closure(models.rolling(structure["units"])).dimension == 0


def test_the_frequency_is_the_classical_one():
    om0 = 2.56 * np.sqrt(0.05 / 0.475 / 0.79)
    assert om0 == pytest.approx(0.93447, abs=5e-6)
    expected = om0 / np.sqrt(1 + (1.25 / 0.79) ** 2)
    assert expected == pytest.approx(0.49924, abs=5e-6)
    assert small_motions().eigenvalues == pytest.approx([-1j * expected, 1j * expected], abs=1e-14)


@settings(derandomize=True, max_examples=8, deadline=None)
@given(
    half_wheelbase=st.floats(0.2, 3.0),
    half_track=st.floats(0.4, 1.0),
    speed=st.floats(1.0, 60.0),
    conicity=st.floats(0.01, 0.3),
)
def test_the_frequency_is_the_classical_one_for_any_sizes(**sizes):
    found = small_motions(**sizes).eigenvalues
    length = 0.475 * sizes["half_track"] / sizes["conicity"]
    ratio = sizes["half_wheelbase"] / sizes["half_track"]
    expected = sizes["speed"] / np.sqrt(length * (1 + ratio**2))
    assert found == pytest.approx([-1j * expected, 1j * expected], rel=1e-12)


def test_in_normalised_numbers_the_frequency_is_that_of_the_wheelbase_alone():
    found = small_motions(units="normalised", **dict.fromkeys(["force_mean", "moment_mean"], 0.0),
                          force_amplitude=0.0, moment_amplitude=0.0)  # fmt: skip
    assert np.max(np.imag(found.eigenvalues)) == pytest.approx(0.79 / np.hypot(1.25, 0.79))


@pytest.mark.slow
def test_its_motion_is_the_kinematic_oscillation_that_grows_slowly():
    """Y' = V Psi, Psi' = -V gamma l Y / (R (l^2 + a^2)): Y = Y0 cos(om t)."""
    times = np.linspace(0.0, 10.0, 21)
    rate = 2.56 * np.sqrt(0.05 * 0.79 / 0.475 / (0.79**2 + 1.25**2))
    dirac = problem.case(model="dirac").solve(10.0, at=times)
    assert dirac["y"] == pytest.approx(0.005 * np.cos(rate * times), abs=1e-14)
    full = problem.case().solve(10.0, at=times)
    refined = problem.case(model="refined").solve(10.0, at=times)
    assert np.max(np.abs(full["y"] - dirac["y"])) < 0.005 * 0.03
    assert np.max(np.abs(full["y"] - refined["y"])) < 0.005 * 3e-4


@pytest.mark.slow
def test_the_orders_are_one_and_two():
    answer = problem.case(units="normalised").analyse("orders")
    for name, slope in answer.values["slopes"].items():
        low, high = (0.9, 1.15) if name.startswith("dirac") else (1.85, 2.25)
        assert low <= slope <= high, name
    assert [line.get_label() for line in answer.figures["trajectories"].axes[0].lines] == [
        "full", "dirac", "refined",
    ]  # fmt: skip


def test_creep_of_both_axles_resists_a_turn_on_the_spot():
    """The rate of yaw dies away by (l^2 + a^2) 4 c / V, c the creep coefficient of a wheel."""
    case = problem.case("free", conicity=1e-9)
    values = case.full_parameters
    creep = values["friction"] * values["axle_load"] / 2 / (values["eps"] * values["speed"])
    inertia = values["mass"] * (values["rho_z"] * 0.79) ** 2
    found = small_motions("full", conicity=1e-9).eigenvalues
    assert found[0] == pytest.approx(-4 * creep * (0.79**2 + 1.25**2) / inertia, rel=1e-6)
