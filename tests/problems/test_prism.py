"""The prism in its guide: the loaded supports, how it slides, and where it cannot."""

import json

import numpy as np
import pytest
from daesolve_problems.prism import problem
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import (
    AmbiguousVariant,
    NoValidVariant,
    OutOfRangeError,
    UnphysicalVariant,
    VariantError,
)
from daesolve.multibody.drawing import Arrow, Dot, Outline, evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.reference.prisms import CASES as PRISMS
from tests.reference.prisms import Prism, random_prism
from tests.reference.yielding_prism import YieldingPrism, told_prism

CASES = tuple(case.name for case in problem.cases)
SIDES = {1: "upper", 2: "lower"}
NONE = {"none-jam": NoValidVariant, "unique-but-negative-det": UnphysicalVariant}
"""Cases in which the prism cannot slide."""
SLIDING = tuple(name for name in CASES if name not in NONE)
each_case = pytest.mark.parametrize("name", CASES)


def truth(case):
    return told_prism(case.values)


def started(case):
    """The equations for the reactions, and the start."""
    guess, initial = case.guess()
    return ds.friction.variant_problem(case.system, case.values), {**guess, **initial}


def physical(prism, variant):
    """Whether the determinant is positive, as that without friction is in all cases."""
    return bool(prism.determinant(variant) > 0.0)


def assert_answers(found, prism):
    expected = prism.answers()
    assert {answer.variant for answer in found.answers} == set(expected)
    for answer, accelerations in zip(found.answers, found.accelerations, strict=True):
        reactions = expected[answer.variant]
        size = np.max(np.abs(reactions))
        assert answer.reactions == pytest.approx(reactions, rel=1e-12, abs=1e-12 * size)
        assert answer.physical is physical(prism, answer.variant)
        x = prism.acceleration(answer.variant)
        assert accelerations["x_dot"] == pytest.approx(x, rel=1e-12, abs=1e-12 * size / prism.mass)
        for held in ("y_dot", "phi_dot"):
            assert abs(accelerations[held]) < 1e-12 * size


def parameters(prism: Prism) -> dict[str, float]:
    tables = {"a": prism.along, "b": prism.height, "friction": prism.friction}
    named = {
        f"{side}_{letter}_{k + 1}": float(table[k, p - 1])
        for letter, table in tables.items()
        for p, side in SIDES.items()
        for k in range(2)
    }
    load = {name: getattr(prism, name) for name in ("force_x", "force_y", "moment", "mass")}
    return {**named, **load, "slip_sign": float(prism.slip)}


# -- the loaded supports -------------------------------------------------------------------------


@each_case
def test_a_case_has_the_measures_and_the_load_of_its_prism(name):
    prism, known = truth(problem.case(name)), PRISMS[name]
    for measure in ("along", "height", "friction", "slip", "force_y", "moment"):
        np.testing.assert_array_equal(getattr(prism, measure), getattr(known, measure))


@each_case
def test_all_answers_are_those_of_the_closed_form(name):
    case = problem.case(name)
    equations, start = started(case)
    assert_answers(equations.solve(start, policy="all"), truth(case))


@pytest.mark.slow
def test_so_are_those_of_random_prisms():
    generator = np.random.default_rng(7)
    counts = set()
    for _ in range(50):
        prism = random_prism(generator)
        case = problem.case(**parameters(prism))
        equations, start = started(case)
        found = equations.solve(start, policy="all")
        assert_answers(found, prism)
        counts.add(len(found.answers))
    assert counts >= {0, 1, 2}


@pytest.mark.parametrize(
    ("name", "answers", "valid"),
    [
        ("unique-lower", 1, 1),
        ("unique-mixed", 1, 1),
        ("two-solutions", 2, 1),
        ("none-jam", 0, 0),
        ("three-solutions", 3, 2),
        ("unique-but-negative-det", 1, 0),
        ("tall-rough-upper-two", 2, 1),
    ],
)
def test_a_case_has_the_answers_that_its_name_says(name, answers, valid):
    equations, start = started(problem.case(name))
    solution = equations.solve(start, policy="all").solution
    assert (len(solution.answers), len(solution.physical)) == (answers, valid)
    assert solution.complete


def test_several_answers_are_refused_where_one_is_asked_for():
    for name in ("two-solutions", "three-solutions"):
        equations, start = started(problem.case(name))
        with pytest.raises(AmbiguousVariant):
            equations.solve(start, policy="strict")


# -- which answer is real ------------------------------------------------------------------------


ANSWERS = [(name, variant) for name, prism in PRISMS.items() for variant in prism.answers()]


@pytest.mark.default_rows(4)
@pytest.mark.parametrize(("name", "variant"), ANSWERS)
def test_supports_that_yield_bear_the_physical_answers_alone(name, variant):
    # The gap is many times the deflection of 0.5 mm, so that no other support is touched.
    prism = PRISMS[name]
    supports = YieldingPrism(prism, gap=1e-2)
    bearing = supports.bearing(variant)
    assert supports.reactions(bearing) == pytest.approx(prism.reactions(variant), rel=1e-9)
    touched = bearing + np.array([0.0, 1e-6, 0.0, 0.0])
    reactions = supports.reactions(supports.after(0.3, touched))
    # A stable deflection has forgotten the touch of 1e-6 rad, 0.02 N, after 0.3 s.
    stays = np.max(np.abs(reactions - prism.reactions(variant))) < 1e-3
    assert stays == physical(prism, variant)


# -- how it slides -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SLIDING)
def test_a_run_slides_as_the_closed_form_says(name):
    case = problem.case(name)
    prism = truth(case)
    variant = next(v for v in prism.answers() if physical(prism, v))
    x = prism.acceleration(variant)
    run = case.solve(until=0.2, at=[0.0, 0.1, 0.2])
    gained = np.diff(run["x_dot"]) / np.diff(run.times)
    assert gained == pytest.approx([x, x], rel=1e-12)
    assert run["x"] == pytest.approx(prism.slip * run.times + x * run.times**2 / 2.0, abs=1e-12)
    for k, reaction in enumerate(prism.reactions(variant), 1):
        assert run.reactions[f"normal_{k}"] == pytest.approx(reaction, rel=1e-12)
    for held in ("y", "phi", "y_dot", "phi_dot"):
        assert np.max(np.abs(run[held])) < 1e-14


@pytest.mark.parametrize("name", ["unique-lower", "unique-mixed", "tall-rough-upper-two"])
def test_the_prism_stops_when_and_where_its_deceleration_says_and_stays(name):
    case = problem.case(name)
    prism = truth(case)
    variant = next(v for v in prism.answers() if physical(prism, v))
    x = prism.acceleration(variant)
    run = case.solve()
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert [event.name for event in run.events] == ["at_rest"]
    assert run.end_time == pytest.approx(1.0 / -x, abs=1e-12)
    assert run.end_state["x"] == pytest.approx(0.5 / -x, abs=1e-12)
    assert "dry friction holds it" in run.message


def test_the_tallest_prism_turns_round_where_friction_cannot_hold_it():
    case = problem.case("three-solutions")
    there = truth(case).acceleration((1, 2))
    back = truth(problem.case("three-solutions", slip_sign=1.0))
    (variant,) = (v for v in back.answers() if physical(back, v))
    run = case.solve(at=[0.0, 1.0, 2.0])
    (turn,) = run.events
    stop = 1.0 / there
    assert turn.time == pytest.approx(stop, abs=1e-12)
    x = back.acceleration(variant)
    assert run["x_dot"][1:] == pytest.approx(x * (run.times[1:] - stop), rel=1e-12)
    expected = -0.5 / there + x * (run.times[1:] - stop) ** 2 / 2.0
    assert run["x"][1:] == pytest.approx(expected, abs=1e-12)


def test_friction_of_4_n_holds_the_prism_at_rest_against_less():
    held = problem.case("unique-lower", force_x=-3.99).solve(initial={"x_dot": 0.0})
    assert held.end_time == 0.0
    assert "at rest from the start on" in held.message
    run = problem.case("unique-lower", force_x=-10.0).solve(
        1.0, initial={"x_dot": 0.0}, at=[0.0, 0.5, 1.0]
    )
    assert run["x_dot"] == pytest.approx(-3.0 * run.times, abs=1e-12)


def test_what_friction_takes_is_metered():
    case = problem.case("unique-lower")
    run = case.solve(at=[0.0, 1.0, 1.9])
    assert run.outputs["friction_work"] == pytest.approx(-4.0 * run["x"], abs=1e-12)
    pushed = case.values["force_x"] * run["x"]
    gained = run.outputs["energy"] - run.outputs["energy"][0]
    assert gained == pytest.approx(pushed + run.outputs["friction_work"], abs=1e-12)


def test_the_prism_starts_with_the_given_slip():
    _, start = started(problem.case("unique-lower", slip_sign=-1))
    assert start == {"x": 0.0, "x_dot": -1.0}
    _, start = started(problem.case("unique-lower").starting({"x": 2.0, "x_dot": 0.5}))
    assert start == {"x": 2.0, "x_dot": 0.5}
    with pytest.raises(OutOfRangeError, match="must be 1 or -1"):
        problem.case("unique-lower", slip_sign=0.5)


# -- where it cannot slide -----------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), NONE.items())
def test_without_an_answer_the_reason_is_reported(name, kind):
    case = problem.case(name)
    equations, start = started(case)
    with pytest.raises(kind) as refused:
        equations.solve(start)
    assert isinstance(refused.value, VariantError)
    assert refused.value.solution.chosen is None


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("name", NONE)
def test_the_command_line_ends_with_status_3_and_says_why(name):
    result = call("run", "prism", "--case", name)
    assert result.exit_code == 3, (result.output, result.exception)
    told = " ".join(result.stderr.split())
    assert "self-locking" in told if name == "none-jam" else "diverges" in told


def test_the_command_line_runs_the_prism():
    result = call("run", "prism", "--at", "0.5,1,1.5", "--json")
    assert result.exit_code == 0, (result.output, result.exception)
    told = json.loads(result.stdout)
    times = np.array([0.5, 1.0, 1.5])
    assert told["states"]["x"] == pytest.approx(times - times**2 / 4.0, abs=1e-12)
    assert told["reactions"]["normal_1"] == pytest.approx([11.0] * 3, rel=1e-12)


@pytest.mark.slow_rows("none-jam")
@pytest.mark.parametrize("name", ["none-jam", "three-solutions"])
def test_the_command_line_lists_the_variants(name):
    result = call("analyse", "prism", "variants", "--case", name, "--json")
    assert result.exit_code == 0, (result.output, result.exception)
    told = json.loads(result.stdout)
    prism = truth(problem.case(name))
    taken = {
        tuple(each["variant"]) for each in told["answers"] if each["valid"] and each["physical"]
    }
    assert taken == {variant for variant in prism.answers() if physical(prism, variant)}
    for answer in told["answers"]:
        variant = tuple(answer["variant"])
        assert answer["physical"] is physical(prism, variant)
        assert answer["acceleration"]["x_dot"] == pytest.approx(prism.acceleration(variant))


# -- what is shown -------------------------------------------------------------------------------


@pytest.mark.slow_rows("unique-lower")
@pytest.mark.parametrize("name", ["unique-lower", "unique-mixed", "two-solutions"])
def test_the_drawing_marks_the_loaded_supports(name):
    case = problem.case(name)
    prism = truth(case)
    (variant, *_) = (v for v in prism.answers() if physical(prism, v))
    run = case.solve(until=0.5, at=[0.0, 0.25, 0.5])
    stored = with_drawing(document(run, case.identity()), problem.drawing)
    drawing = from_json(stored["drawing"])
    series = {**run.states, **run.reactions, **{k: np.array(v) for k, v in drawing.series.items()}}
    placed = evaluate(drawing, series, case.full_parameters, 2)
    marks = [p for p in placed if isinstance(p.shape, Dot) and p.shape.role == "accent" and p.shown]
    places = [
        (run["x"][2] + prism.along[k, p - 1], prism.height[k, p - 1]) for k, p in enumerate(variant)
    ]
    assert np.array([mark.points[0] for mark in marks]) == pytest.approx(np.array(places))
    arrows = [p for p in placed if isinstance(p.shape, Arrow) and p.shown]
    forces = np.array([np.diff(arrow.points, axis=0)[0] for arrow in arrows])
    reactions = prism.reactions(variant)
    rubbing = [-prism.slip * prism.friction[k, p - 1] for k, p in enumerate(variant)]
    expected = np.column_stack([rubbing * np.abs(reactions), reactions])
    assert forces / forces[0, 1] == pytest.approx(expected / expected[0, 1])
    (body,) = [p for p in placed if isinstance(p.shape, Outline)]
    ends = run["x"][2] + np.array([np.min(prism.along), np.max(prism.along)])
    assert [np.min(body.points[:, 0]), np.max(body.points[:, 0])] == pytest.approx(ends)


def test_the_figures_of_a_run_show_its_motion_and_its_reactions():
    case = problem.case("unique-lower")
    run = case.solve(until=1.0, at=np.linspace(0.0, 1.0, 11))
    stored = document(run, case.identity())
    sliding, reactions = (draw(stored) for draw in problem.figures.values())
    np.testing.assert_array_equal(sliding.axes[0].lines[0].get_ydata(), run["x"])
    np.testing.assert_array_equal(sliding.axes[1].lines[0].get_ydata(), run["x_dot"])
    for k in (1, 2):
        series = reactions.axes[0].lines[k - 1].get_ydata()
        np.testing.assert_array_equal(series, run.reactions[f"normal_{k}"])
    labels = [label.get_text() for label in reactions.axes[1].get_yticklabels()]
    bands = [bool(band.get_paths()) for band in reactions.axes[1].collections]
    assert labels == ["lower 2", "upper 2", "lower 1", "upper 1"]
    assert bands.count(True) == 2
