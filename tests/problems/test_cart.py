"""The cart with wheels, with skates, and a sleigh that was derived by hand."""

import json

import numpy as np
import pytest
from daesolve_problems.cart import problem
from daesolve_problems.cart.models import PAIRS, WHEELS
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.multibody.drawing import Line, evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.reference.cart import STATES, cart_states

CASES = ("free", "springs", "torques")
MODELS = ("wheels", "skates")
FORCES = tuple(f"skate_{k}" for k in PAIRS) + tuple(f"rolling_{wheel}" for wheel in WHEELS)
APPARENT = tuple(f"skate_{k}_apparent" for k in PAIRS)
FREE = ("theta_1", "theta_2", "theta_dot_1", "theta_dot_2")
SAME = 1e-10
"""What two right models may differ by: errors of 1e-14 grow 1300-fold in the free case."""
INDEPENDENT = 1e-9
"""The same where velocities follow from independent ones, which makes them right to 5e-14: at each
of some 90 steps, grown 1300-fold, that is sqrt(90) * 5e-14 * 1300 = 6e-10."""


def times(case):
    return np.arange(0.0, problem.case(case).case.until + 0.5)


@pytest.fixture(scope="module")
def truth():
    """Every case by hand."""
    found = {}
    for name in CASES:
        case = problem.case(name)
        found[name] = cart_states(case.full_start, times(name), case.full_parameters)
    return found


@pytest.fixture(scope="module")
def runs():
    return {
        (name, model): problem.case(name, model=model).solve(at=times(name))
        for name in CASES
        for model in MODELS
    }


def difference(found, expected):
    """Differences relative to the largest value, and to 1 where that is smaller."""
    return np.max(np.abs(found - expected)) / max(1.0, np.max(np.abs(expected)))


@pytest.mark.slow_rows("free")
@pytest.mark.parametrize("name", CASES)
def test_wheels_move_as_skates_do_and_bear_the_same_forces(name, runs):
    wheels, skates = runs[name, "wheels"], runs[name, "skates"]
    for state in STATES:
        assert difference(skates[state], wheels[state]) < SAME, state
    for force in FORCES:
        assert difference(skates.reactions[force], wheels.reactions[force]) < SAME, force
    for wheel in WHEELS:
        spin = f"phi_dot_{wheel}"
        assert difference(skates.outputs[spin], wheels[spin]) < SAME, spin


@pytest.mark.long_rows("free-wheels")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CASES)
def test_states_and_forces_are_those_of_the_sleigh_by_hand(name, model, runs, truth):
    run, expected = runs[name, model], truth[name]
    assert run.outcome is ds.Outcome.COMPLETED
    for state in STATES:
        assert difference(run[state], expected[state]) < SAME, state
    for force in FORCES + (APPARENT if model == "skates" else ()):
        assert difference(run.reactions[force], expected[force]) < SAME, force


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("torques", "skates"),
        pytest.param("springs", "wheels", marks=pytest.mark.slow),
        pytest.param("free", "wheels", marks=pytest.mark.slow),
        pytest.param("free", "skates", marks=pytest.mark.slow),
        pytest.param("springs", "skates", marks=pytest.mark.slow),
        pytest.param("torques", "wheels", marks=pytest.mark.slow),
    ],
)
def test_independent_velocities_give_the_same_motion(name, model, truth):
    """No multiplier enters it: an independent derivation."""
    run = problem.case(name, model=model).solve(at=times(name), formulation=ds.NullSpace())
    for state in STATES:
        assert difference(run[state], truth[name][state]) < INDEPENDENT, state
    for force in FORCES:
        assert difference(run.reactions[force], truth[name][force]) < INDEPENDENT, force


def test_a_skate_that_weighs_no_more_than_its_wheels_moves_otherwise(runs):
    """Wheels without a moment about their axles leave the skate the bare mass of the pair."""
    bare = problem.case("springs", model="skates", wheel_inertia_1=1e-12, wheel_inertia_2=1e-12)
    run, right = bare.solve(at=times("springs")), runs["springs", "wheels"]
    assert abs(run["x"][-1] - right["x"][-1]) > 1.0
    assert abs(run["v_1"][-1] - right["v_1"][-1]) > 0.1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["free", "springs"])
def test_energy_is_kept_without_being_driven(name, model, runs):
    """Torques stand in the equations, so that it is measured: it must not be held against them."""
    drift = runs[name, model].drift["energy"]
    assert not drift.driven
    assert drift.max_relative < 1e-13
    energy = runs[name, model].outputs["energy"]
    assert np.ptp(energy) < 1e-13 * energy[0]


@pytest.mark.parametrize("model", MODELS)
def test_torques_do_the_work_that_is_metered(model, runs):
    run, torques = runs["torques", model], problem.case("torques").full_parameters
    turned = [torques[f"torque_{w}"] * (run[f"phi_{w}"] - run[f"phi_{w}"][0]) for w in WHEELS]
    work = np.sum(turned, axis=0)
    assert np.ptp(work) > 3.0
    np.testing.assert_allclose(run.outputs["work"], work, atol=1e-12 * np.max(np.abs(work)))
    gained = run.outputs["energy"] - run.outputs["energy"][0]
    np.testing.assert_allclose(gained, work, atol=1e-12 * np.max(np.abs(work)))
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CASES)
def test_constraints_are_kept(name, model, runs):
    for goal, drift in runs[name, model].drift.items():
        assert drift.max_relative < 1e-13, goal


def test_the_multiplier_of_a_skate_is_not_the_force_on_its_wheels(runs):
    run, numbers = runs["free", "skates"], problem.case().full_parameters
    for k in PAIRS:
        spins = run.outputs[f"phi_dot_{k}_1"] + run.outputs[f"phi_dot_{k}_2"]
        turning = run["psi_dot"] + run[f"theta_dot_{k}"]
        lever = numbers[f"wheel_inertia_{k}"] / numbers[f"wheel_radius_{k}"]
        excess = run.reactions[f"skate_{k}_apparent"] - run.reactions[f"skate_{k}"]
        assert difference(excess, turning * spins * lever) < 1e-13
        assert np.max(np.abs(excess)) > 0.5


@pytest.mark.parametrize("model", MODELS)
def test_the_wheels_of_a_pair_part_as_the_pair_turns(model, runs):
    """Two combinations of the constraints are integrable, (3.9), and no residual holds them."""
    run, numbers = runs["free", model], problem.case().full_parameters
    for k in PAIRS:
        parted = numbers[f"wheel_radius_{k}"] * (run[f"phi_{k}_1"] - run[f"phi_{k}_2"])
        turned = 2 * numbers[f"half_track_{k}"] * (run["psi"] + run[f"theta_{k}"])
        assert np.ptp(turned) > 1.0
        assert np.ptp(parted + turned) < 1e-13


@pytest.mark.parametrize("model", MODELS)
def test_the_command_line_tells_states_and_forces_of_both_models_by_the_same_names(model):
    words = ["run", "cart", "--case", "torques", "--model", model, "--at", "0,1", "--json"]
    told = json.loads(CliRunner().invoke(app, words).stdout)
    assert set(STATES) <= set(told["states"])
    assert set(FORCES) <= set(told["reactions"])
    assert told["times"] == [0.0, 1.0]


@pytest.mark.slow
@given(
    numbers=st.fixed_dictionaries(
        {
            "wheel_inertia_1": st.floats(0.01, 1.0),
            "wheel_radius_2": st.floats(0.1, 1.0),
            "axle_centre_n_1": st.floats(-0.3, 0.3),
            "pair_centre_tau_2": st.floats(-0.3, 0.3),
            "spring_1": st.floats(0.0, 5.0),
            "torque_1_1": st.floats(-2.0, 2.0),
            "torque_2_2": st.floats(-2.0, 2.0),
        }
    ),
    theta=st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
    rates=st.tuples(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0)),
)
@settings(derandomize=True, max_examples=10, deadline=None)
def test_both_models_agree_on_start_accelerations_and_forces(numbers, theta, rates):
    """Also where the start violates the constraints: it is mended alike."""
    initial = dict(zip(FREE, theta + rates, strict=True))
    found = []
    for model in MODELS:
        case = problem.case(model=model, **numbers).starting(initial)
        guess, _ = case.guess()
        found.append(ds.consistent_state(case.system, guess, parameters=case.values))
    wheels, skates = found
    for name, value in skates.state.items():
        assert wheels.state[name] == pytest.approx(value, rel=1e-11, abs=1e-11), name
    for name, value in skates.accelerations.items():
        assert wheels.accelerations[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name
    for name in FORCES:
        expected = pytest.approx(wheels.reactions[name], rel=1e-9, abs=1e-9)
        assert skates.reactions[name] == expected, name


@pytest.mark.parametrize("model", MODELS)
def test_the_drawn_axles_move_across_themselves_and_keep_their_lengths(model):
    case = problem.case("springs", model=model)
    step = 0.001
    run = case.solve(at=[time + later for time in (0.0, 0.5, 1.0, 5.0) for later in (0.0, step)])
    told = with_drawing(document(run, case.identity()), problem.drawing)
    drawing = from_json(told["drawing"])
    numbers = case.full_parameters

    def axles(index):
        """The ends of both axles: after each pair's drawbar."""
        placed = evaluate(drawing, {**run.states, **drawing.series}, numbers, index)
        lines = [p.points for p in placed if isinstance(p.shape, Line) and p.shape.role == "body"]
        return lines[1::2]

    for index in range(0, 8, 2):
        before, after = axles(index), axles(index + 1)
        for k, a, b in zip(PAIRS, before, after, strict=True):
            axle = a[0] - a[1]
            assert np.linalg.norm(axle) == pytest.approx(2 * numbers[f"half_track_{k}"])
            moved = np.mean(b - a, axis=0)
            turned = step * np.max(np.abs(run["psi_dot"] + run[f"theta_dot_{k}"]))
            assert abs(moved @ axle) < turned * np.linalg.norm(moved) * np.linalg.norm(axle)


@pytest.mark.parametrize("model", MODELS)
def test_figures_show_what_a_skate_would_bear_beside_the_force_on_the_wheels(model, runs, truth):
    told = document(runs["torques", model], problem.case("torques", model=model).identity())
    figures = {title: draw(told) for title, draw in problem.figures.items()}
    for k, axes in zip(PAIRS, figures["forces along the axles"].axes, strict=True):
        shown = {line.get_label(): line.get_ydata() for line in axes.lines}
        expected = truth["torques"]
        assert difference(shown["on the wheels"], expected[f"skate_{k}"]) < SAME
        assert difference(shown["on a skate"], expected[f"skate_{k}_apparent"]) < SAME
