import json
import math

import numpy as np
import pytest
from daesolve_problems.bogies import problem
from daesolve_problems.bogies.pictures import drawing
from daesolve_problems.bogies.reduction import Turned, central_square
from daesolve_problems.bogies.theory import LocalTheory
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.core.solvers import Dop853, Lsoda
from daesolve.errors import DegenerateConstraintError, OutOfRangeError
from daesolve.multibody.drawing import evaluate
from daesolve.reporting.document import document
from tests.reference import bogies as truth

STATES = (*truth.COORDINATES, *truth.VELOCITIES)
MODELS = ("full", "reduced")
SKATES = ("skate_1", "skate_2")
REGULAR = list(truth.REGULAR_TIMES)
"""When the regular motion is compared, s."""
MASS, LEVEL = truth.DEFAULT_PARAMETERS.mass, 1.1
COLLAPSING = -1.0770551
"""The limit of psi_dot in the case collapse, where F = 0 and F' > 0."""
each_distance = pytest.mark.parametrize(
    "distance",
    [d if d == 1e-6 else pytest.param(d, marks=pytest.mark.slow) for d in truth.DISTANCES],
)
each_model = pytest.mark.parametrize("model", MODELS)
each_way = pytest.mark.parametrize("way", [0, 1], ids=["ahead", "back"])


def largest_error(run, expected, rows=slice(None)):
    return max(np.max(np.abs(run[name] - expected[name][rows])) for name in STATES)


def near_miss(distance, model="full"):
    return problem.case("near-miss", model=model).starting({"distance": distance})


def passed(distance, way, model="full", **options):
    """The largest error of a state at the end of a pass, against quadruple precision."""
    until = truth.PASSED[way]
    run = near_miss(distance, model).solve(until, at=[until], **options)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    return largest_error(run, truth.table()[f"{distance:g}"], [way])


# -- a regular motion ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def regular():
    """The regular motion by model."""
    return {model: problem.case("regular", model=model).solve(at=REGULAR) for model in MODELS}


@each_model
def test_a_regular_motion_is_that_of_quadruple_precision(regular, model):
    run = regular[model]
    assert run.outcome is ds.Outcome.COMPLETED
    assert largest_error(run, truth.table()["regular"]) < 1e-12


@pytest.mark.parametrize("formulation", [ds.Feedback, ds.NullSpace])
def test_energy_and_integrals_are_kept_without_being_driven(formulation):
    run = problem.case("regular").solve(at=REGULAR, formulation=formulation(rates={"energy": None}))
    assert largest_error(run, truth.table()["regular"]) < 1e-12
    for name in ("energy", "integral_1", "integral_2"):
        assert not run.drift[name].driven
        assert run.drift[name].max_relative < 1e-14, name


def test_both_models_tell_the_same_by_the_same_names(regular):
    full, reduced = regular["full"], regular["reduced"]
    assert {*full.drift} - {*SKATES} == {*reduced.drift} == {"energy", "integral_1", "integral_2"}
    assert not [note for note in reduced.description["notes"] if "conserved" in note]
    for name in ("energy", "resultant"):
        assert full[name] == pytest.approx(reduced[name], rel=1e-11), name


@pytest.mark.slow
def test_the_forces_are_those_of_three_bodies(regular):
    bodies = truth.absolute_motion(problem.case("regular").guess()[0], truth.REGULAR_TIMES)
    for index, name in enumerate(SKATES):
        assert regular["full"].reactions[name] == pytest.approx(
            bodies.forces[:, index], abs=1e-10
        ), name


def test_the_reduced_velocities_slip_at_neither_skate(regular):
    run = regular["reduced"]
    for k, arm in ((1, 1.0), (2, -0.8)):
        angle = run[f"theta_{k}"]
        slip = (run["v_1"] - arm * run["psi_dot"]) * np.cos(angle) + run["v_2"] * np.sin(angle)
        assert np.max(np.abs(slip)) < 1e-15 * 8 * LEVEL


@each_model
def test_the_sign_turns_the_velocity_round(model):
    case = problem.case("regular", model=model)
    ahead, back = (case.starting({"sign": sign}).guess()[0] for sign in (1.0, -1.0))
    for name in ("v_1", "v_2", "psi_dot") if model == "full" else ("level",):
        assert back[name] == -ahead[name] != 0.0


# -- near misses ---------------------------------------------------------------------------------


@each_way
def test_a_near_miss_is_passed_with_multipliers(way):
    assert passed(1e-2, way) < 1e-12


@pytest.mark.long_beyond(2)
@each_way
@each_distance
def test_a_near_miss_is_passed_in_independent_velocities(distance, way):
    assert passed(distance, way, formulation=ds.NullSpace()) < 1e-12


@pytest.mark.long_beyond(2)
@each_way
@each_distance
def test_a_near_miss_is_passed_without_a_multiplier(distance, way):
    assert passed(distance, way, "reduced") < 1e-12


@each_way
@pytest.mark.parametrize("solver", [Dop853, Lsoda])
def test_independent_velocities_serve_other_solvers(solver, way):
    assert passed(1e-6, way, formulation=ds.NullSpace(), solver=solver(rtol=1e-11)) < 1e-9


def test_the_turn_is_the_sharper_the_nearer_the_point():
    """psi'' = V D / (B distance) where delta = 0, to leading order."""
    expected = LEVEL * 1.3 / 1.8
    assert expected == pytest.approx(0.7944, abs=5e-5)
    for distance in (1e-2, 1e-3, 1e-4):
        case = near_miss(distance)
        start = ds.consistent_state(case.system, case.guess()[0])
        assert start.accelerations["psi_dot"] * distance == pytest.approx(
            expected, rel=2 * distance
        )
        told = truth.table()[f"{distance:g}"]
        assert told["psi_dot"][0] > 0.89
        assert told["psi_dot"][1] < -0.74


def test_forces_grow_with_the_square_of_the_nearness_and_their_resultant_with_the_nearness():
    for distance in (1e-3, 1e-5):
        told = near_miss(distance).analyse("passage").values
        for name in SKATES:
            size = told["forces_by_mass_distance_squared"][name]
            assert size == pytest.approx(2.33, abs=0.02), (name, distance)
        assert told["resultant_by_mass_distance"] == pytest.approx(3.35, abs=0.03)


def test_the_motion_turns_from_one_limit_of_the_local_theory_to_the_other():
    case = near_miss(1e-6, "reduced")
    told = case.analyse("degeneracy").values["sine_product_plus"]
    (before,), (after,) = told["before"], told["after"]
    assert before["psi_dot"] == pytest.approx(-0.7500941, abs=1e-7)
    assert after["psi_dot"] == pytest.approx(0.8989868, abs=1e-7)
    for time, limit in ((-1e-3, before), (1e-3, after)):
        run = case.solve(time, at=[time])
        assert run["psi_dot"][0] == pytest.approx(limit["psi_dot"], abs=1e-3)


# -- the collapse --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def collapse():
    return problem.case("collapse").solve()


def test_the_collapse_ends_degenerate_and_nothing_is_continued(collapse):
    assert collapse.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in collapse.events] == ["degenerate"]
    assert -5e-3 < collapse.end_time < 0.0
    assert collapse.times[-1] <= collapse.end_time
    assert collapse.end_state["psi_dot"] == pytest.approx(COLLAPSING, abs=1e-3)
    assert collapse.statistics.rhs_evaluations < 5000


def test_the_collapse_names_both_skates_and_how_they_share(collapse):
    """Where both normals are equal, equal and opposite forces do nothing."""
    told = collapse.degeneracy
    assert {*told.goals} == {*SKATES}
    shares = [told.null_vector[name] for name in SKATES]
    assert abs(shares[0] + shares[1]) < 1e-2 * abs(shares[0])
    assert 0.0 < told.singular_value <= told.threshold


def test_the_forces_of_a_collapse_are_equal_and_opposite_and_grow_as_one_over_the_time(collapse):
    near = (collapse.times > -0.03) & (collapse.times < -0.005)
    assert np.sum(near) > 10
    first, second = (collapse[name][near] * np.abs(collapse.times[near]) / MASS for name in SKATES)
    assert np.abs(first) == pytest.approx(0.683, rel=0.1)
    assert np.abs(first + second) == pytest.approx(0.0, abs=0.1)
    assert np.max(collapse["resultant"][near]) < 3.0


def test_the_command_line_tells_of_the_collapse_by_its_exit_status():
    result = CliRunner().invoke(app, ["run", "bogies", "--case", "collapse", "--json"])
    assert result.exit_code == 3, (result.output, result.exception)
    told = json.loads(result.stdout)
    assert told["outcome"] == "degenerate"
    assert [event["name"] for event in told["events"]] == ["degenerate"]
    assert {*told["degeneracy"]["goals"]} == {*SKATES}


def test_the_collapse_raises_where_that_is_asked_for():
    with pytest.raises(DegenerateConstraintError, match="skate_1") as caught:
        problem.case("collapse").solve(rank_loss="raise")
    assert caught.value.run.end_time < 0.0


def test_a_run_that_passes_the_collapse_tells_that_nothing_determines_what_follows():
    run = problem.case("collapse").solve(rank_loss="pass")
    assert run.outcome is ds.Outcome.COMPLETED
    assert "do not determine how the motion continues" in run.description["notes"][-1]


def test_the_reduced_collapse_ends_degenerate_by_its_event():
    run = problem.case("collapse", model="reduced").solve()
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "its direction of motion is open" in run.message
    assert [event.name for event in run.events] == ["degenerate"]
    assert abs(run.end_time) < 1e-6
    distance = np.hypot(*(np.cos(run.end_state[f"theta_{k}"]) for k in (1, 2)))
    assert distance == pytest.approx(1e-7, rel=1e-6)
    velocities = Turned.of(run.end_state, problem.case("collapse").full_parameters).velocities(
        run.end_state
    )
    assert velocities["psi_dot"] == pytest.approx(COLLAPSING, abs=1e-6)


# -- the local theory ----------------------------------------------------------------------------


def degeneracy(name):
    return problem.case(name).analyse("degeneracy").values


def test_the_numbers_of_the_local_theory():
    """Published to these digits, for V = 1.1 and the default vehicle."""
    told = degeneracy("collapse")
    assert told["central_square"] == pytest.approx(0.46, abs=1e-15)
    assert told["critical_difference"] == pytest.approx(1.524205, abs=5e-7)
    assert told["window"] == pytest.approx([1.51134, 2.80821], abs=5e-6)
    assert told["collapsing"]
    roots = told["sine_product_plus"]["before"]
    assert [root["x"] for root in roots] == pytest.approx([-1.83888, -0.22108, 0.14614], abs=5e-6)
    assert roots[1]["slope"] == pytest.approx(3.566, abs=5e-4)
    assert roots[1]["psi_dot"] == pytest.approx(COLLAPSING, abs=5e-8)
    assert not told["sine_product_minus"]["collapses"]


@pytest.mark.parametrize("name", ["regular", "near-miss"])
def test_no_open_set_of_the_other_cases_collapses(name):
    assert not degeneracy(name)["collapsing"]


sizes = st.floats(0.1, 10.0)
signed = st.builds(lambda size, sign: size * sign, sizes, st.sampled_from([-1.0, 1.0]))


@settings(derandomize=True, max_examples=30, deadline=None)
@given(sizes, st.sampled_from([-1.0, 1.0]), sizes, sizes, signed, signed)
def test_the_window_is_where_the_theory_has_an_attracting_root(
    level, sign, wheelbase, square, drift, difference
):
    theory = LocalTheory(level, sign, wheelbase, square, drift, difference)
    rising = [root for side in (-1.0, 1.0) for root in theory.roots(side) if root.slope > 0.0]
    assert len(rising) == theory.collapsing
    for side in (-1.0, 1.0):
        roots = theory.roots(side)
        assert len(roots) in (1, 3)
        for root in roots:
            reach = wheelbase * level / math.sqrt(square) + abs(drift)
            assert abs(theory.value(root.x, side)) < 1e-13 * reach * max(1.0, abs(root.slope))
            limit = level * difference / math.hypot(root.x, math.sqrt(square) * difference)
            assert root.turning == pytest.approx(side * limit, rel=1e-9, abs=1e-12)


# -- what is refused, and what is drawn -----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("regular", {"sign": 0.5}, "must be 1 or -1"),
        ("regular", {"level": 0.0}, "must be positive"),
        ("regular", {"distance": 0.1}, "leave it out"),
        ("near-miss", {"distance": 0.0}, "its direction of motion is open"),
    ],
)
@each_model
def test_a_start_that_cannot_be_is_refused(model, name, values, message):
    with pytest.raises(OutOfRangeError, match=message):
        problem.case(name, model=model).solve(initial=values)


def test_a_body_that_cannot_be_is_refused():
    with pytest.raises(OutOfRangeError, match="it must be more than"):
        problem.case("regular", inertia=0.5).solve()


def test_questions_that_have_no_answer_are_refused():
    with pytest.raises(OutOfRangeError, match="does not change"):
        near_miss(0.1).starting({"integral_1": 0.9}).analyse("degeneracy")
    with pytest.raises(OutOfRangeError, match="use the case near-miss"):
        problem.case("regular").analyse("passage")
    with pytest.raises(OutOfRangeError, match="the motion does not pass the degenerate point"):
        near_miss(1e-7).analyse("passage")
    with pytest.raises(OutOfRangeError, match="use the model 'full'"):
        near_miss(0.1, "reduced").analyse("passage")


@pytest.mark.default_rows(1)
@each_model
def test_the_figures_of_each_case_are_drawn(model):
    for case in problem.cases:
        bound = problem.case(case.name, model=model)
        told = document(bound.solve(case.until), bound.identity())
        for name, draw in problem.figures.items():
            lines = [line for axes in draw(told).axes for line in axes.lines]
            drawn = [line.get_label() for line in lines]
            assert np.all(np.isfinite(lines[0].get_ydata())), (case.name, name)
            if name.startswith("reactions"):
                assert drawn == [*(SKATES if model == "full" else ()), "resultant"]


def test_the_skates_are_drawn_in_the_directions_in_which_they_move(regular):
    """Each end of a skate lies off its pivot along the velocity of the pivot."""
    run = regular["full"]
    told = document(run, problem.case("regular").identity())
    series = {**run.states, "t": run.times}
    for index in range(len(run.times)):
        shapes = evaluate(drawing(told), series, told["parameters"], index)
        _, frame, *skates = [shape.points for shape in shapes[:4]]
        v = {name: run[name][index] for name in STATES}
        for pivot, skate, arm in zip(frame, skates, (1.0, -0.8), strict=True):
            moving = complex(v["v_1"] - arm * v["psi_dot"], v["v_2"]) * np.exp(1j * v["psi"])
            along = complex(*(skate[1] - skate[0]))
            assert np.mean(skate, axis=0) == pytest.approx(pivot, abs=1e-14)
            assert abs((moving * along.conjugate()).imag) < 1e-12


def test_the_radius_of_inertia_leaves_out_the_bogies_and_the_offset():
    assert central_square(problem.case("regular").full_parameters) == pytest.approx(0.46, abs=1e-15)
