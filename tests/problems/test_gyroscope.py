"""The gyroscope: the full model, its precession, and with which order they agree."""

import json

import numpy as np
import pytest
from daesolve_problems.gyroscope import problem
from daesolve_problems.gyroscope.models import ANGLES, SMALL, reduction
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import OutOfRangeError, SecondaryConstraintsError
from daesolve.multibody.drawing import Dot, evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.reference import gyroscope as truth

EPSILON = float(np.finfo(float).eps)
EPS = (0.04, 0.02, 0.01, 0.005)
MOMENTS = np.linspace(0.0, 1.0, 101)
CASES = tuple(truth.CASES)
each_case = pytest.mark.parametrize("name", CASES)


def run_of(name, model="full", **changes):
    return problem.case(name, model=model, **changes).solve(1.0, at=MOMENTS)


def moments(run, damping):
    """Q_alpha and Q_beta along a run."""
    return (
        0.3 + 0.2 * np.cos(run.times) - damping * run["alpha_dot"],
        -0.5 * np.cos(run["beta"]) - 0.1 * run["alpha"] - damping * run["beta_dot"],
    )


# -- the full model ------------------------------------------------------------------------------


@each_case
def test_the_full_model_agrees_with_newton_and_euler_in_quadruple_precision(name):
    run, table = problem.case(name).solve(at=truth.TIMES), truth.gyroscope_states()[name]
    # Some 150 steps, each of which rounds; a nutation's rates are its frequency, about 100 / s,
    # times as wrong as its angles. The rotor turns at 83 rad/s.
    for angle in ("alpha", "beta"):
        assert np.max(np.abs(run[angle] - table[angle])) < 150 * EPSILON, angle
        rate = f"{angle}_dot"
        assert np.max(np.abs(run[rate] - table[rate])) < 100 * 150 * EPSILON, rate
    for rotor in ("gamma", "gamma_dot"):
        assert np.max(np.abs(run[rotor] - table[rotor])) < 83 * 150 * EPSILON, rotor


@pytest.mark.slow
@each_case
def test_the_stored_motion_is_what_newton_and_euler_give(name):
    rows = truth.integrate(name).T
    for column, entry in zip(rows, truth.NAMES, strict=True):
        stored = truth.gyroscope_states()[name][entry]
        np.testing.assert_allclose(column, stored, rtol=4 * EPSILON)


@each_case
def test_the_rotor_keeps_its_momentum_and_the_energy_changes_by_the_work(name):
    run = run_of(name)
    spin = 0.01 * 1.2 * (run["alpha_dot"] * np.sin(run["beta"]) + run["gamma_dot"])
    assert spin == pytest.approx(1.0, abs=1e-13)
    gained = run["energy"] - run["energy"][0]
    assert np.max(np.abs(gained - run["work"])) < 1e-13 * run["energy"][0]
    assert np.max(np.abs(gained)) > 1e-4


def started(name, start, **changes):
    case = problem.case(name, **changes).starting(start)
    return dict(zip(truth.NAMES, case.consistent_start().state, strict=True))


def test_the_rings_start_with_the_precession_unless_they_are_told_otherwise():
    slow = truth.precession(0.0, *truth.PLACE, 0.0)
    left = started("on-manifold", {})
    assert [left[name] for name in SMALL] == pytest.approx(slow, rel=1e-14)
    kicked = started("on-manifold", {"alpha_dot": 1.5})
    assert [kicked[name] for name in SMALL] == pytest.approx([1.5, slow[1]], rel=1e-14)


def test_the_rotor_starts_with_its_momentum():
    start = started("nutation", {}, momentum=2.0, eps=0.005)
    turning = 2.0 / (0.005 * 1.2) - 1.5 * np.sin(0.3)
    assert start["gamma_dot"] == pytest.approx(turning, rel=1e-14)


# -- the reduced models --------------------------------------------------------------------------


@each_case
def test_dirac_s_model_is_the_theory_of_precession(name):
    damping = truth.CASES[name][0]
    run = run_of(name, "dirac")
    about_outer, about_inner = moments(run, damping)
    grip = np.cos(run["beta"])
    assert grip * run["beta_dot"] == pytest.approx(about_outer, abs=1e-14)
    assert -grip * run["alpha_dot"] == pytest.approx(about_inner, abs=1e-14)
    expected = truth.angles(
        lambda t, alpha, beta: truth.precession(t, alpha, beta, damping), truth.PLACE, MOMENTS
    )
    for angle, series in zip(ANGLES, expected, strict=True):
        assert run[angle] == pytest.approx(series, abs=1e-12), angle
    assert run["gamma_dot"] == pytest.approx(
        1.0 / 0.012 - run["alpha_dot"] * np.sin(run["beta"]), rel=1e-14
    )


@pytest.mark.slow_rows("on-manifold")
@each_case
def test_the_refinement_agrees_with_the_second_order_by_hand(name):
    damping, kick = truth.CASES[name]
    run = run_of(name, "refined")
    slow = truth.precession(0.0, *truth.PLACE, damping)
    start = truth.refined_place(damping, 0.01, slow if kick is None else kick)
    expected = truth.angles(
        lambda t, alpha, beta: truth.refined_precession(t, alpha, beta, damping, 0.01),
        start,
        MOMENTS,
    )
    assert [run["alpha"][0], run["beta"][0]] == pytest.approx(start, abs=1e-15)
    for angle, series in zip(ANGLES, expected, strict=True):
        assert run[angle] == pytest.approx(series, abs=1e-12), angle
    assert (kick is None) == (tuple(start) == pytest.approx(truth.PLACE, abs=1e-12))


def test_nutation_has_its_frequency_and_dies_out_with_damping():
    state = {"alpha": 0.1, "beta": 0.3, "momentum_gamma": 1.0}
    free = reduction().fast_spectrum(state, {"eps": 0.02})
    frequency = truth.nutation_frequency(0.3, 0.02)
    assert np.sort(free.eigenvalues.imag) == pytest.approx([-frequency, frequency], rel=1e-13)
    assert np.max(np.abs(free.eigenvalues.real)) < 1e-13 * frequency
    inertia = np.diag([truth.ring_inertia(0.3)[0], truth.B0])
    expected = np.linalg.eigvals(np.linalg.solve(0.02 * inertia, truth.solvability(0.3, 0.6)))
    damped = reduction().fast_spectrum(state, {"eps": 0.02, "damping": 0.6})
    assert np.sort_complex(damped.eigenvalues) == pytest.approx(np.sort_complex(expected))
    assert np.all(damped.eigenvalues.real < 0.0)
    kinds = {name: problem.case(name).analyse("validity").values["kinds"] for name in CASES}
    assert kinds == {
        "on-manifold": ["weak", "weak"],
        "nutation": ["weak", "weak"],
        "damped": ["strong", "strong"],
    }


@pytest.mark.parametrize("model", ["dirac", "refined"])
@pytest.mark.parametrize(
    ("start", "changes"), [({"beta": np.pi / 2}, {}), ({}, {"momentum": 0.0})], ids=["lock", "spin"]
)
def test_in_gimbal_lock_and_without_spin_there_is_no_precession(model, start, changes):
    case = problem.case("nutation", model=model, **changes)
    with pytest.raises(SecondaryConstraintsError, match="primary constraints do not determine"):
        case.solve(initial=start)


# -- orders --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured():
    return {name: problem.case(name).analyse("orders") for name in CASES}


def told(answer, curve):
    return [f"{error:.1e}" for error in answer.values["errors"][curve]]


@pytest.mark.slow
def test_on_the_slow_motion_the_orders_are_one_and_two(measured):
    answer = measured["on-manifold"]
    assert answer.values["since"] == 0.0
    assert answer.values["eps"] == list(EPS)
    assert told(answer, "dirac angles") == ["7.8e-03", "3.8e-03", "1.9e-03", "9.5e-04"]
    assert told(answer, "refined angles") == ["1.1e-03", "2.6e-04", "7.3e-05", "1.7e-05"]
    assert 0.9 <= answer.values["slopes"]["dirac angles"] <= 1.15
    assert 1.85 <= answer.values["slopes"]["refined angles"] <= 2.25


@pytest.mark.slow
def test_with_damping_the_orders_are_one_and_two_behind_the_layer(measured):
    answer = measured["damped"]
    assert answer.values["since"] == 0.3
    assert told(answer, "dirac angles") == ["4.4e-02", "2.2e-02", "1.1e-02", "5.4e-03"]
    assert told(answer, "refined angles") == ["4.3e-04", "6.2e-05", "1.6e-05", "4.0e-06"]
    assert 0.9 <= answer.values["slopes"]["dirac angles"] <= 1.15
    assert 1.85 <= answer.values["slopes"]["refined angles"] <= 2.25


def test_in_nutation_angles_converge_and_velocities_do_not(measured):
    answer = measured["nutation"]
    assert told(answer, "dirac angles") == ["1.5e-01", "7.7e-02", "3.8e-02", "1.9e-02"]
    slopes = answer.values["slopes"]
    assert 0.9 <= slopes["dirac angles"] <= 1.15
    assert 0.9 <= slopes["refined angles"] <= 1.15  # no better: the mean motion is another one
    # The velocities go round those of the precession as fast as they were kicked.
    excess = np.abs(np.array(truth.KICK) - truth.precession(0.0, *truth.PLACE, 0.0))
    for model in ("dirac", "refined"):
        assert abs(slopes[f"{model} velocities"]) < 0.01
        assert min(answer.values["errors"][f"{model} velocities"]) > np.max(excess)


def test_the_figure_of_orders_shows_all_curves_with_slopes_one_and_two(measured):
    for answer in measured.values():
        (axes,) = answer.figures["orders"].axes
        curves = [line for line in axes.lines if len(line.get_xdata()) == len(EPS)]
        assert len(curves) == 4
        assert len(axes.lines) == 6


@pytest.mark.slow
def test_the_drift_of_nutation_makes_the_guiding_centre_right_to_the_second_order():
    answer = problem.case("nutation").analyse("guiding-centre")
    slopes, errors = answer.values["slopes"], answer.values["errors"]
    assert told(answer, "refined")[-1] == "3.1e-03"
    assert 0.9 <= slopes["refined"] <= 1.15
    assert 1.85 <= slopes["refined, with drift"] <= 2.25
    assert errors["refined, with drift"][-1] < errors["refined"][-1] / 25.0
    assert len(answer.figures["guiding centre"].axes[0].lines) == 4


def test_where_nutation_dies_out_there_is_no_guiding_centre():
    with pytest.raises(OutOfRangeError, match="set damping to 0"):
        problem.case("damped").analyse("guiding-centre")


# -- what is shown -------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_models_are_shown_side_by_side():
    answer = problem.case("nutation").analyse("models")
    for model in problem.models:
        run = run_of("nutation", model)
        for name in (*ANGLES, "gamma", *SMALL, "gamma_dot"):
            assert answer.values["end"][model][name] == pytest.approx(run[name][-1], abs=1e-11)
    for figure in answer.figures.values():
        for axes in figure.axes:
            assert [line.get_label() for line in axes.lines] == list(problem.models)


@pytest.mark.slow_rows("refined")
@pytest.mark.parametrize("model", list(problem.models))
def test_the_drawing_points_the_rotor_s_axis_where_it_is(model):
    case = problem.case("nutation", model=model)
    run = case.solve(1.0, at=np.linspace(0.0, 1.0, 5))
    stored = with_drawing(document(run, case.identity()), problem.drawing)
    shapes = from_json(stored["drawing"])
    columns = run.states | {name: np.array(values) for name, values in shapes.series.items()}
    for index in range(5):
        alpha, beta = run["alpha"][index], run["beta"][index]
        placed = evaluate(shapes, columns, case.full_parameters, index)
        (tip,) = [place for place in placed if isinstance(place.shape, Dot)]
        along = [np.cos(beta) * np.cos(alpha), np.cos(beta) * np.sin(alpha), np.sin(beta)]
        seen = np.append(tip.points[0], tip.depth)
        np.testing.assert_allclose(seen, 0.8 * shapes.axes @ along, atol=1e-12)
    (figure,) = [draw(stored) for draw in problem.figures.values()]
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), run["beta"])


def test_the_full_model_asks_for_velocities_where_there_is_no_precession():
    with pytest.raises(SecondaryConstraintsError, match="give both alpha_dot and beta_dot"):
        problem.case("on-manifold", momentum=0.0).solve(0.1)
    kicked = problem.case("nutation", momentum=0.0).solve(0.1)
    assert kicked.outcome is ds.Outcome.COMPLETED


@pytest.mark.slow_rows("refined")
@pytest.mark.parametrize("model", ["dirac", "refined"])
def test_a_motion_into_gimbal_lock_ends_before(model):
    run = problem.case("on-manifold", model=model).solve(3.0, initial={"beta": 1.3})
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.events[-1].name == "slow_manifold_lost"
    assert "no longer determined" in run.message
    assert 1.35 < run["beta"][-1] < 1.45  # cos^3 beta is about eps


def call(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    return result.stdout


def test_the_command_line_runs_a_reduced_model_and_judges_it():
    words = (
        "run",
        "gyroscope",
        "--case",
        "nutation",
        "--model",
        "dirac",
        "--at",
        ".25,.5,.75,1",
        "--json",
    )
    ran = json.loads(call(*words))
    assert ran["states"]["beta"] == pytest.approx(run_of("nutation", "dirac")["beta"][25::25])
    answer = json.loads(call("analyse", "gyroscope", "validity", "--case", "damped", "--json"))
    assert answer["holds"] is True
    assert max(answer["fast_eigenvalues"]["real"]) < 0.0


@pytest.mark.slow
def test_the_command_line_writes_the_orders_and_their_figure(tmp_path):
    call("analyse", "gyroscope", "orders", "--out", tmp_path / "orders")
    answer = json.loads((tmp_path / "orders" / "answer.json").read_text())
    assert answer["slopes"]["refined angles"] == pytest.approx(1.98, abs=0.01)
    assert (tmp_path / "orders" / "orders.svg").exists()
