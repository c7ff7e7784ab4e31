"""Periodic motions of cases: their start is the guess, their values hold."""

import inspect
import math

import pytest

import daesolve as ds


@pytest.mark.slow
def test_a_case_finds_its_orbit_and_follows_it() -> None:
    case = ds.problem("rimless-wheel").case()
    orbit = case.periodic_orbit(section="strike", verify=False)
    slope = orbit.values["slope"]
    branch = case.continue_orbit({"slope": (slope, 1.1 * slope)}, section="strike", step=0.5)
    assert abs(branch.points["slope"][-1] - 1.1 * slope) < 1e-15
    assert abs(branch.points["period"][0] - orbit.period) < 1e-12 * orbit.period
    # cos^2 of the angle between spokes at every slope; derivatives are taken before the last
    # correction, of at most 1e-10.
    leading = [abs(row[0]) for row in branch.multipliers]
    assert max(leading) - min(leading) < 1e-10
    assert math.isnan(orbit.digits)


@pytest.mark.slow
def test_values_of_a_call_hold_for_the_branch() -> None:
    case = ds.problem("rimless-wheel").case()
    slope = 1.05 * case.full_parameters["slope"]
    over = {"slope": (slope, 1.1 * slope)}
    branch = case.continue_orbit(over, section="strike", step=0.5, parameters={"slope": slope})
    assert branch.points["slope"][0] == slope
    with pytest.raises(ds.errors.OutOfRangeError, match="must lie in the range"):
        case.continue_orbit(over, section="strike")


@pytest.mark.parametrize("name", ["periodic_orbit", "continue_orbit"])
def test_methods_take_what_the_functions_take(name: str) -> None:
    method = inspect.signature(getattr(type(ds.problem("rimless-wheel").case()), name)).parameters
    function = inspect.signature(getattr(ds.analysis, name)).parameters
    first = {"periodic_orbit": "source", "continue_orbit": "orbit"}[name]
    for parameter, described in function.items():
        if parameter != first:
            assert method[parameter].default == described.default
