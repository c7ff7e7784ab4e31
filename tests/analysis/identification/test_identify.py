"""Identification from measured outputs: values, intervals, and what the data do not determine."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy

import daesolve as ds
from daesolve import errors

TIMES = np.linspace(0.0, 4.0, 41)


def oscillator():
    """Return a spring with a damper, x'' = -(k x + c x') / m, whose motion is known."""
    q = ds.coordinates(x="m")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        stiffness=(3.5, "N/m", ds.POSITIVE),
        damping=(0.3, "N s/m", ds.NON_NEGATIVE),
    )
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * q.dot.x**2 / 2,
        potential=p.stiffness * q.x**2 / 2,
        force={"x": -p.damping * q.dot.x},
        outputs={"pull": (p.stiffness * q.x, "N")},
    )


@pytest.fixture(scope="module")
def spring():
    return oscillator()


def closed_form(times, stiffness, damping, start=1.0):
    """Return x(t) from rest, for unit mass."""
    decay = damping / 2
    turn = math.sqrt(stiffness - decay**2)
    return (
        start
        * np.exp(-decay * times)
        * (np.cos(turn * times) + decay / turn * np.sin(turn * times))
    )


START = {"x": 1.0, "x_dot": 0.0}


def test_exact_samples_give_the_values_and_an_unknown_start(spring):
    data = {"time": TIMES, "x": closed_form(TIMES, 4.0, 0.2, 1.25)}
    unknown = ["stiffness", "damping", "x"]
    found = ds.identify(spring, data, unknown, initial=START, noise=1e-3, segments=1)
    # What is left is the error of the motions, 1e-14 relative, times the condition, below 100.
    assert np.allclose(found.values, [4.0, 0.2, 1.25], rtol=1e-11)
    assert found.names == tuple(unknown)
    assert not found.undetermined


def test_values_and_intervals_agree_with_scipy_on_the_closed_form(spring):
    noise = 1e-2
    x = closed_form(TIMES, 4.0, 0.2) + noise * np.random.default_rng(5).standard_normal(len(TIMES))
    table = pd.DataFrame({"x": x}, index=pd.Index(TIMES, name="time"))
    found = ds.identify(spring, table, ["stiffness", "damping"], initial=START)
    referee, covariance = scipy.optimize.curve_fit(
        closed_form, TIMES, x, (3.5, 0.3), ftol=1e-14, xtol=1e-14
    )
    # SciPy's own derivatives are differences: its minimum is found to about 1e-8.
    assert np.allclose(found.values, referee, rtol=1e-6)
    assert np.allclose(found.deviations, np.sqrt(np.diag(covariance)), rtol=1e-4)
    low, high = found.interval("damping")
    quantile = scipy.stats.t.ppf(0.975, len(TIMES) - 2)
    assert math.isclose(high - low, 2 * quantile * found.deviations[1], rel_tol=1e-12)
    assert math.isclose(found.noise["x"] ** 2, np.sum((x - found.outputs["x"]) ** 2) / 39)


def test_a_profile_of_small_noise_is_the_parabola_of_the_interval(spring):
    x = closed_form(TIMES, 4.0, 0.2)
    x += 1e-4 * np.random.default_rng(3).standard_normal(len(TIMES))
    data, search = {"time": TIMES, "x": x}, {"stiffness": 3.9, "damping": 0.3}
    found = ds.identify(spring, data, search, None, START, noise=1e-4)
    profile = found.profile("stiffness")
    deviations = (profile.values - found["stiffness"]) / found.deviations[0]
    # The relative width of the intervals is below 1e-3; so large is what is not quadratic.
    assert np.allclose(profile.rises, deviations**2, atol=1e-2)


def test_a_common_factor_is_named(spring):
    data = {"time": TIMES, "x": closed_form(TIMES, 4.0, 0.2)}
    unknown = ["mass", "stiffness", "damping"]
    found = ds.identify(spring, data, unknown, initial=START, noise=1e-3)
    (direction,) = found.undetermined
    assert direction.relative
    assert direction.exact
    assert str(direction) == (
        "the motion does not change if mass -> mass * s, stiffness -> stiffness * s, damping -> "
        "damping * s: only stiffness / mass, damping / mass can be found"
    )
    assert np.all(np.isinf(found.deviations))
    assert math.isclose(found["stiffness"] / found["mass"], 4.0, rel_tol=1e-10)
    # They stay near the start of the search, as nothing draws them away.
    assert abs(found["mass"] - 1.0) < 0.5


def test_a_parameter_without_influence_is_named(spring):
    still = {"time": TIMES, "x": np.zeros(len(TIMES))}
    found = ds.identify(spring, still, ["stiffness"], initial={"x": 0.0, "x_dot": 0.0}, noise=1.0)
    assert list(map(str, found.undetermined)) == [
        "stiffness does not influence the measured outputs"
    ]


def test_a_bound_holds_and_is_noted(spring):
    data = {"time": TIMES, "x": closed_form(TIMES, 4.0, 0.2)}
    bounds = {"stiffness": (3.0, 3.8)}
    found = ds.identify(
        spring, data, ["stiffness", "damping"], initial=START, noise=1e-3, bounds=bounds
    )
    assert found["stiffness"] == pytest.approx(3.8)
    assert any("stiffness is at its upper bound" in note for note in found.notes)
    assert any("times the given noise" in note for note in found.notes)


def bounces(times, gravity, restitution, height):
    """Return the height of a ball that falls from rest, by flights between its bounces."""
    fall = math.sqrt(2 * height / gravity)
    found = height - gravity * times**2 / 2
    begin, speed = fall, restitution * gravity * fall
    while begin < times[-1]:
        late = times - begin
        found = np.where(late > 0.0, speed * late - gravity * late**2 / 2, found)
        begin, speed = begin + 2 * speed / gravity, restitution * speed
    return found


@pytest.mark.parametrize("segments", [None, 4])
def test_impacts_in_between_do_not_matter(segments):
    q = ds.coordinates(y="m")
    p = ds.parameters(gravity=(9.0, "m/s^2"), restitution=(0.55, ""))
    ground = ds.Holonomic("ground", q.y)
    impact = ds.Reset(impose=[ground], restitution=p.restitution)
    bounce = ds.Event("bounce", q.y, ds.FALLING, impact)
    kinetic, potential = q.dot.y**2 / 2, p.gravity * q.y
    ball = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, events=[bounce])
    times = np.linspace(0.02, 2.4, 120)
    data = {"time": times, "y": bounces(times, 10.0, 0.5, 5.0)}
    start = {"y": 4.8, "y_dot": 0.0}
    unknown = ["gravity", "restitution", "y"]
    found = ds.identify(ball, data, unknown, initial=start, noise=1e-3, segments=segments)
    # Three bounces, 1e-14 each, times the condition of the derivatives, below 100.
    assert np.allclose(found.values, [10.0, 0.5, 5.0], rtol=1e-11)


def _with(**columns):
    return {"time": TIMES, "x": closed_form(TIMES, 4.0, 0.2), **columns}


GAP = np.where(TIMES[7] == TIMES, np.nan, closed_form(TIMES, 4.0, 0.2))
WRONG = {
    "unknown column": (_with(xx=TIMES), errors.UnknownColumnError, "'xx'.*'x'"),
    "no time": ({"x": TIMES}, errors.UnknownColumnError, "no column 'time'"),
    "NaN": (_with(x=GAP), errors.MeasurementGapError, "'x' has no finite number in row 8"),
    "lengths": (_with(x=TIMES[1:]), errors.MeasurementGapError, "40 values"),
    "backwards": (_with(time=-TIMES), errors.ClockError, "do not increase"),
    "another zero": (_with(time=TIMES + 1.7e9), errors.ClockError, "another clock"),
    "milliseconds": (_with(time=1e3 * TIMES), errors.ClockError, "must be in s"),
    "late": (_with(time=TIMES + 1.0), errors.HorizonError, "10 of 41 rows"),
    "unit": (_with(x=1e3 * closed_form(TIMES, 4.0, 0.2)), errors.WrongUnitError, "must be in m"),
    "few": ({"time": [1.0], "x": [0.5]}, errors.TooFewRowsError, "at least 2"),
    "none": ({"time": []}, errors.TooFewRowsError, "no measured values"),
    "words": (_with(x=["a"] * 41), errors.PosingError, "numbers"),
    "not a table": (3.0, errors.OutOfRangeError, "pandas table"),
}


def test_wrong_data_are_refused_each_with_a_sentence(spring):
    for what, (data, kind, words) in WRONG.items():
        with pytest.raises(kind, match=words) as refusal:
            ds.identify(spring, data, ["stiffness"], 4.0, START)
        assert type(refusal.value) is kind, what
        assert "\n" not in str(refusal.value), what


def test_wrong_requests_are_refused(spring):
    data = _with()
    for options, kind, words in (
        ({"noise": -1.0}, errors.OutOfRangeError, "noise of 'x'"),
        ({"noise": {"y": 1.0}}, errors.UnknownNameError, "'y'"),
        ({"bounds": {"mass": (1, 2)}}, errors.UnknownNameError, "'mass'"),
        ({"bounds": {"stiffness": (5, 9)}}, errors.OutOfRangeError, "outside its bounds"),
        ({"segments": 0}, errors.OutOfRangeError, "segments"),
        ({"at": [1.0]}, errors.UnsupportedError, "'at'"),
    ):
        with pytest.raises(kind, match=words):
            ds.identify(spring, data, ["stiffness"], 4.0, START, **options)
    with pytest.raises(errors.UnknownNameError, match="stifness"):
        ds.identify(spring, data, ["stifness"], 4.0, START)
