"""The wheelset under loads by tables: limits, and what is asked of its flanges."""

from __future__ import annotations

import math
from functools import partial

import casadi as ca
import numpy as np
import pytest
import scipy
from daesolve_problems.wheelset import models, vehicles

import daesolve as ds
from daesolve.errors import OutOfRangeError

STATES = ("y", "psi", "y_dot", "psi_dot")


def largest_error(run, expected, names=STATES):
    return max(float(np.max(np.abs(run[name] - expected[name]))) for name in names)


@pytest.mark.slow
def test_loads_by_a_table_keep_the_orders_of_the_reduced_models():
    at = np.linspace(0.5, 6.0, 12)
    problem, sizes = ds.problem("wheelset"), (0.02, 0.005)
    errors = {"dirac": [], "refined": []}
    for eps in sizes:
        runs = {
            model: problem.case("forced", model=model, loads="gust", eps=eps).solve(6.0, at=at)
            for model in ("full", *errors)
        }
        for model, found in errors.items():
            found.append(largest_error(runs[model], runs["full"], ("y", "psi")))
    slopes = {name: np.log2(a / b) / 2 for name, (a, b) in errors.items()}
    # Of two values a factor of four apart, which the next order bends by a tenth at most.
    assert slopes == pytest.approx({"dirac": 1.0, "refined": 2.0}, abs=0.1)


@pytest.mark.slow
def test_loads_by_a_table_are_those_of_the_formula_that_it_samples():
    nodes = np.linspace(0.0, 7.0, 281)
    loads = vehicles.Tabulated(nodes, np.cos(nodes), np.sin(nodes))
    units = partial(vehicles.normalised, vehicles.WHEELSET)
    at, start = np.linspace(0.0, 6.0, 13), {"y": 1.0, "psi": 0.3}
    by_table, by_formula = (
        ds.solve(models.full(units, vehicles.linear, own), 6.0, start, at=at)
        for own in (loads, vehicles.harmonic)
    )
    # The spline is off by 5/384 h^4 (and 1/24 h^4 at its ends), h = 0.025: below 2e-8.
    assert largest_error(by_table, by_formula) < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "kind", "orders"), [("forced", "dirac", [0.0, 0.0]), ("free", "rolling", [1.0, 1.0])]
)
def test_the_limit_is_diracs_where_loads_act_and_rolling_where_none_do(case, kind, orders):
    found = ds.problem("wheelset").case(case).analyse("limit").values
    assert found["kind"] == found["sweep"]["kind"] == kind
    assert [one["order"] for one in found["principal"]] == pytest.approx(orders, abs=0.01)
    assert found["sweep"]["orders"] == pytest.approx(orders, abs=0.05)
    assert set(found["combinations"]) == {"slip_x", "slip_y", "slip_x, slip_y"}


def pushed_by_hand(p, force, moment, place):
    """Return (17) in SI units from a place (Y, Psi): Y and Psi as functions of time."""
    c = p["friction"] * p["axle_load"] / (2 * p["eps"] * p["speed"])
    om0 = p["speed"] * np.sqrt(p["conicity"] / (p["radius"] * p["half_track"]))
    middle = moment * p["radius"] / (2 * c * p["half_track"] * p["speed"] * p["conicity"])
    across = -force / (2 * c * p["speed"])
    width, turn = place[0] - middle, place[1] - across

    def shift(t):
        return middle + width * np.cos(om0 * t) + p["speed"] / om0 * turn * np.sin(om0 * t)

    def yaw(t):
        return across + turn * np.cos(om0 * t) - om0 / p["speed"] * width * np.sin(om0 * t)

    return shift, yaw


def test_the_flange_comes_to_its_rail_and_is_pressed_as_by_hand():
    force, moment = 4000.0, 9000.0
    case = ds.problem("wheelset").case(
        "hunting",
        model="dirac",
        force_mean=force,
        moment_mean=moment,
        speed=5.0,
    )
    p = case.full_parameters
    shift, yaw = pushed_by_hand(p, force, moment, (0.005, 0.0))
    run = case.solve()
    first = next(event.time for event in run.events if event.name == "flange")
    by_hand = scipy.optimize.brentq(lambda t: abs(shift(t)) - p["play"], 0.9 * first, 1.1 * first)
    assert first == pytest.approx(by_hand, rel=1e-8)
    before = np.linspace(0.0, 0.9 * first, 101)
    assert np.all(np.abs(shift(before)) < p["play"])
    pressed = np.sign(shift(run.times)) * (
        force + p["friction"] * p["axle_load"] / p["eps"] * yaw(run.times)
    )
    # A sign changes where y does, at no sample.
    assert run["flange_quotient"] == pytest.approx(pressed / (p["axle_load"] / 2), abs=1e-6)


def test_nadals_limit_is_that_of_a_block_on_an_inclined_rail():
    angle, friction = math.radians(70.0), 0.3
    limit = float(vehicles.nadal_limit(ca.SX(angle), ca.SX(friction)))
    # The resultant leans back from the normal by the angle of friction.
    assert limit == pytest.approx(math.tan(angle - math.atan(friction)), rel=1e-14)


@pytest.mark.slow
def test_a_wheelset_that_is_pressed_too_hard_for_its_load_derails():
    light = ds.problem("wheelset").case(
        "gust", creep="saturated", axle_load=20e3, force_amplitude=25e3
    )
    found = light.analyse("derailment").values
    assert found["nadal_limit"] == pytest.approx(math.tan(math.radians(70.0) - math.atan(0.25)))
    assert found["derailment_at"]
    assert found["derailment_at"] >= found["flange_at"][0]
    # Creep adds twice Coulomb's friction of a wheel at most: L is F_y but for that.
    assert found["nadal_limit"] < found["largest_quotient_at_the_rail"] < 2.5 + 2 * 0.25
    loaded = ds.problem("wheelset").case("gust").analyse("derailment").values
    assert loaded["flange_at"]
    assert loaded["derailment_at"] is None
    with pytest.raises(OutOfRangeError, match="no free play"):
        ds.problem("wheelset").case().analyse("derailment")
