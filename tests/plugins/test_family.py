import pytest
from daesolve_problems.classics.pendulum import point_on_a_rod

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError

WHEEL = ds.problem("rolling-wheel")


def test_a_parameter_changes_the_run_but_not_the_system():
    light = WHEEL.case("hoop", gravity=9.0)
    heavy = WHEEL.case("hoop")
    assert light.system is heavy.system
    runs = [case.solve(until=1.0, at=[1.0]) for case in (light, heavy)]
    assert runs[0]["x"][0] != runs[1]["x"][0]


@pytest.mark.slow
def test_in_a_terminal_problems_and_systems_are_described_in_a_line():
    pendulum = ds.problem("pendulum")
    assert repr(pendulum) == (
        "Problem('pendulum', 'A point on a rigid rod', models=['cartesian'], cases=['release'])"
    )
    assert repr(pendulum.case().system) == "MechanicalSystem(('x', 'y'), goals=('rod',))"
    chain = ds.problem("pendulum-chain").case("long").system
    assert "hinge_1_1" in repr(chain)
    assert len(repr(chain)) < 300
    x = ds.states(a="m")
    assert repr(ds.ControlSystem(x, {"a": 1.0})) == "ControlSystem(('a',), goals=())"


def test_structure_rebuilds_the_system():
    assert "phi" in WHEEL.case("hoop", pendulum=True).system.dynamics.labels.states
    assert "phi" not in WHEEL.case("hoop").system.dynamics.labels.states


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        (lambda: ds.problem("rolling-weel"), UnknownNameError, "rolling-wheel"),
        (lambda: WHEEL.case("hop"), UnknownNameError, "'hoop'"),
        (lambda: WHEEL.case("hoop", model="physica"), UnknownNameError, "physical"),
        (lambda: WHEEL.case("hoop", gravty=1.0), UnknownNameError, "gravity"),
        (lambda: WHEEL.case("hoop", radius=-1.0), OutOfRangeError, "> 0"),
        (lambda: WHEEL.case("hoop", radius=float("nan")), OutOfRangeError, "radius"),
        (lambda: WHEEL.case("hoop", radius="big"), OutOfRangeError, "radius"),
        (lambda: WHEEL.case("hoop", pendulum=3), OutOfRangeError, "true or false"),
        (lambda: WHEEL.case("hoop").solve(initial={"sped": 1.0}), UnknownNameError, "speed"),
        (lambda: WHEEL.case("hoop").solve(initial={"speed": float("inf")}), OutOfRangeError, "inf"),
        (lambda: WHEEL.case("hoop").solve(until=0.0), OutOfRangeError, "horizon"),
        (
            lambda: WHEEL.case("hoop").solve(formulation=ds.Feedback(rates={"enery": 1.0})),
            UnknownNameError,
            "energy",
        ),
    ],
)
def test_a_wrong_request_is_reported_in_one_sentence(request_, error, words):
    with pytest.raises(error, match=words) as told:
        request_()
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (lambda case: case.parameters["gravty"], "changed parameter 'gravty': did you mean"),
        (lambda case: case.full_parameters["gravty"], "parameter 'gravty': did you mean"),
        (lambda case: case.values["gravty"], "parameter 'gravty': did you mean 'gravity'"),
        (lambda case: case.derived["gravty"], "derived value 'gravty'"),
        (lambda case: case.start["sped"], "start value 'sped'"),
        (lambda case: case.full_start["sped"], "start value 'sped': did you mean 'speed'"),
        (lambda case: case.initial["phj"], "state 'phj'"),
        (lambda case: case.structure["pendulm"], "structure 'pendulm': did you mean 'pendulum'"),
        (lambda case: case.full_structure["curv"], "structure 'curv': did you mean 'curve'"),
        (lambda case: case.case.start["sped"], "start value 'sped': did you mean 'speed'"),
        (lambda case: case.problem.models["fysical"], "model 'fysical': did you mean 'physical'"),
        (lambda case: case.problem.structure["curv"], "structure 'curv': did you mean 'curve'"),
        (lambda case: case.problem.structure["curve"].options["quartc"], "option 'quartc'"),
        (lambda case: case.problem.analyses["x"], "analysis 'x'"),
        (lambda case: ds.Answer({"speed": 1.0}).values["sped"], "answer 'sped': did you mean"),
    ],
)
def test_a_name_that_a_case_or_a_problem_lacks_is_reported_with_the_nearest(index, words):
    case = WHEEL.case("hoop", gravity=9.0)
    with pytest.raises(UnknownNameError) as caught:
        index(case)
    assert isinstance(caught.value, KeyError)
    assert words in str(caught.value)


def test_what_is_chosen_in_a_case_is_a_dictionary_as_ever():
    case = WHEEL.case("hoop", gravity=9.0)
    assert case.parameters.get("wrong") is None
    assert "wrong" not in case.values
    assert case.parameters == {"gravity": 9.0}
    assert case.full_parameters | {"gravity": 1.0} == {**case.full_parameters, "gravity": 1.0}


def test_a_case_at_its_sample_times_keeps_them_exactly():
    problem = ds.Problem(
        "rod",
        title="a rod",
        models={"only": point_on_a_rod},
        cases=[ds.Case("a", start={"x": 1.0}, until=2.0, times=(0.3, 1.7))],
    )
    assert list(problem.case().solve().times) == [0.3, 1.7]


def test_two_cases_of_one_name_are_refused():
    with pytest.raises(PosingError, match="the same name"):
        ds.Problem(
            "rod",
            title="a rod",
            models={"only": point_on_a_rod},
            cases=[ds.Case("a", until=1.0), ds.Case("a", until=2.0)],
        )


def test_a_structural_choice_is_taken_by_name_or_by_value():
    posed = []

    def model(shape):
        posed.append(shape)
        return point_on_a_rod()

    problem = ds.Problem(
        "rod",
        title="a rod",
        models={"only": model},
        structure={"shape": ds.choice(flat=1, round=2)},
        cases=[ds.Case("a", start={"x": 1.0}, until=1.0)],
    )
    problem.case()
    problem.case(shape="round")
    problem.case(shape=7)
    assert posed == [1, 2, 7]
    with pytest.raises(UnknownNameError, match="round"):
        problem.case(shape="rund")


def test_a_case_is_shown_by_its_names_and_what_was_changed():
    case = ds.problem("pendulum").case(length=2.0)
    assert repr(case) == "BoundCase('pendulum', 'release', model='cartesian', length=2.0)"


@pytest.mark.slow
def test_a_start_value_among_the_parameters_is_reported_where_it_belongs():
    with pytest.raises(UnknownNameError, match=r"give it as initial=\{'nu_1': \.\.\.\}"):
        ds.problem("omni-rolling").case(nu_1=2.5)
    with pytest.raises(UnknownNameError, match="--initial speed=") as told:
        ds.problem("rolling-wheel").case("hoop", speed=2.5)
    assert "unknown parameter" not in str(told.value)


def test_what_is_derived_is_not_offered_as_a_parameter():
    with pytest.raises(UnknownNameError) as told:
        ds.problem("rolling-wheel").case("hoop", wheel_diameter_in_inches=2.5)
    assert "stop_" not in str(told.value)
