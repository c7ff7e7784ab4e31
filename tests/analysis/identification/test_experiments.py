"""Identification from several experiments, and from tables with gaps and turning angles."""

import math

import numpy as np
import pytest
import scipy

import daesolve as ds
from daesolve import errors
from daesolve.analysis import Experiment

from .test_identify import START, TIMES, closed_form

UNKNOWN = ["mass", "stiffness", "damping"]
LATER = np.linspace(0.1, 3.0, 25)


@pytest.fixture(scope="module")
def cart():
    """Return a cart on a spring with a damper and a load, (mass + load) x'' = -k x - c x'."""
    q = ds.coordinates(x="m")
    p = ds.parameters(
        mass=(1.1, "kg", ds.POSITIVE),
        stiffness=(3.5, "N/m", ds.POSITIVE),
        damping=(0.3, "N s/m", ds.NON_NEGATIVE),
        load=(0.0, "kg", ds.NON_NEGATIVE),
    )
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(p.mass + p.load) * q.dot.x**2 / 2,
        potential=p.stiffness * q.x**2 / 2,
        force={"x": -p.damping * q.dot.x},
    )


def pulls(times, mass, stiffness, damping, start=1.0):
    """Return x(t) from rest in closed form."""
    return closed_form(times, stiffness / mass, damping / mass, start)


BARE = {"time": TIMES, "x": pulls(TIMES, 1.0, 4.0, 0.2)}
LOADED = {"time": LATER, "x": pulls(LATER, 1.5, 4.0, 0.2, 0.7)}


def experiments(bare=BARE, loaded=LOADED, **options):
    return [
        Experiment(bare, "bare", initial=START),
        Experiment(
            loaded,
            "loaded",
            initial={"x": 0.6, "x_dot": 0.0},
            parameters={"load": 0.5},
            unknowns=["x"],
            **options,
        ),
    ]


def test_two_experiments_determine_what_each_alone_leaves_open(cart):
    both = experiments()
    for one in both:
        alone = ds.identify(cart, one, UNKNOWN, noise=1e-3, segments=1)
        (direction,) = alone.undetermined
        assert set(direction.changes) == set(UNKNOWN)
    found = ds.identify(cart, both, UNKNOWN, noise=1e-3, segments=1)
    assert not found.undetermined
    # Errors of the motions, 1e-14 relative, times the condition of the derivatives, below 1e3.
    assert np.allclose(found.values, [1.0, 4.0, 0.2, 0.7], rtol=1e-10)
    assert found.names == (*UNKNOWN, "loaded.x")
    assert [len(one.times) for one in found.experiments] == [41, 25]
    assert found.experiment("loaded").run.end_time == LATER[-1]
    with pytest.raises(errors.UnsupportedError, match="'bare', 'loaded'"):
        _ = found.residuals


def test_weights_shift_the_fit_and_widen_its_intervals_as_they_should(cart):
    random, noise, weight = np.random.default_rng(8), 1e-3, 5.0
    bare, loaded = (
        {**data, "x": data["x"] + noise * random.standard_normal(len(data["x"]))}
        for data in (BARE, LOADED)
    )
    weighted = experiments(bare, loaded, weight=weight)
    found = ds.identify(cart, weighted, UNKNOWN, noise=noise, segments=1)

    def gaps(values):
        mass, stiffness, damping, start = values
        first = pulls(TIMES, mass, stiffness, damping) - bare["x"]
        return np.concatenate(
            [first, pulls(LATER, mass + 0.5, stiffness, damping, start) - loaded["x"]]
        )

    weights = np.repeat([1.0, weight], [len(TIMES), len(LATER)])
    exact = scipy.optimize.least_squares(
        lambda values: np.sqrt(weights) * gaps(values),
        [1.0, 4.0, 0.2, 0.7],
        "3-point",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    assert np.allclose(found.values, exact.x, rtol=1e-6)
    # Of the weighted fit p = -A gaps: cov = noise^2 A A^T, with A = (J^T W J)^-1 J^T W.
    slopes = exact.jac / np.sqrt(weights)[:, None]
    answer = np.linalg.solve(slopes.T @ (weights[:, None] * slopes), slopes.T * weights)
    assert np.allclose(found.deviations, noise * np.linalg.norm(answer, axis=1), rtol=1e-4)
    profile = found.profile("stiffness")
    moved = (profile.values - found["stiffness"]) / found.deviations[1]
    # Intervals are 1 % wide: so large is what is not quadratic.
    assert np.allclose(profile.rises, moved**2, atol=0.1)


def test_each_experiment_has_noise_of_its_own(cart):
    random = np.random.default_rng(4)
    bare, loaded = (
        {**data, "x": data["x"] + noise * random.standard_normal(len(data["x"]))}
        for data, noise in ((BARE, 1e-2), (LOADED, 1e-4))
    )
    found = ds.identify(cart, experiments(bare, loaded), UNKNOWN, segments=1)
    levels = [one.noise["x"] for one in found.experiments]
    # Four deviations of an estimate from 41 and from 25 values.
    for level, noise, count in zip(levels, (1e-2, 1e-4), (41, 25), strict=True):
        assert abs(level / noise - 1.0) < 4 / math.sqrt(2 * (count - 4))
    # What the noise of each leaves adds up to the values less the unknowns.
    assert math.isclose(found.cost, 41 + 25 - 4, rel_tol=1e-2)


def test_noise_that_no_residual_shows_is_not_estimated(cart):
    few = experiments(loaded={"time": LATER[:1], "x": LOADED["x"][:1]})
    with pytest.raises(errors.TooFewRowsError, match="'x' of the experiment 'loaded'"):
        ds.identify(cart, few, ["stiffness", "damping"], segments=1)


def test_columns_may_have_times_of_their_own(cart):
    run = ds.solve(cart, 4.0, START, parameters={"stiffness": 4.0}, at=TIMES)
    thin = np.where(np.arange(len(TIMES)) % 3 == 0, run["x_dot"], np.nan)
    dense = np.where(np.arange(len(TIMES)) % 3 == 0, np.nan, run["x"])
    data = {"time": TIMES, "x": dense, "x_dot": thin}
    with pytest.raises(errors.MeasurementGapError, match="missing='skip'"):
        ds.identify(cart, data, ["stiffness"], initial=START)
    found = ds.identify(cart, data, ["stiffness"], initial=START, noise=1e-3, missing="skip")
    assert math.isclose(found["stiffness"], 4.0, rel_tol=1e-11)
    assert found.freedom == len(TIMES) - 1
    assert "x has values in 27 of 41 rows: the others are skipped" in found.notes
    assert np.array_equal(np.isnan(found.residuals["x"]), np.isnan(dense))


@pytest.mark.parametrize("segments", [None, 3])
def test_an_angle_may_be_measured_within_one_turn(segments):
    q = ds.coordinates(phi=ds.ANGLE)
    p = ds.parameters(drag=(0.3, "1/s", ds.NON_NEGATIVE))
    rotor = ds.MechanicalSystem(q, p, kinetic=q.dot.phi**2 / 2, force={"phi": -p.drag * q.dot.phi})
    times, drag = np.linspace(0.0, 4.0, 201), 0.2
    turned = 12.0 * -np.expm1(-drag * times) / drag
    encoder = np.mod(turned + math.pi, 2 * math.pi) - math.pi
    start = {"phi": 0.0, "phi_dot": 11.5}
    found = ds.identify(
        rotor,
        {"time": times, "phi": encoder},
        {"drag": 0.22, "phi_dot": 11.8},
        initial=start,
        noise=1e-3,
        segments=segments,
    )
    assert np.allclose(found.values, [drag, 12.0], rtol=1e-10)
    assert any("within one turn" in note for note in found.notes)


def test_single_wrong_values_are_noted(cart):
    x = BARE["x"] + 1e-3 * np.random.default_rng(2).standard_normal(len(TIMES))
    x[17] += 0.05
    found = ds.identify(cart, {**BARE, "x": x}, UNKNOWN[1:], initial=START)
    (note,) = [note for note in found.notes if "farther from the fit" in note]
    assert f"t = {TIMES[17]:.10g} s" in note


def test_wrong_experiments_are_refused(cart):
    for data, kind, words in (
        ([], errors.OutOfRangeError, "no data"),
        ([Experiment(BARE, "a"), Experiment(BARE, "a")], errors.OutOfRangeError, "two experiments"),
        (Experiment(BARE, weight=-1.0), errors.OutOfRangeError, "weight"),
        (Experiment(BARE, unknowns=["mass"]), errors.OutOfRangeError, "of all"),
        (Experiment(BARE, parameters={"mass": 2.0}), errors.OutOfRangeError, "gives its value"),
        (Experiment(BARE, options={"rule": 1}), errors.UnknownNameError, "'rule'"),
        (experiments(noise={"y": 1.0}), errors.UnknownNameError, "'y'"),
    ):
        with pytest.raises(kind, match=words):
            ds.identify(cart, data, ["mass", "stiffness"], initial=START)
