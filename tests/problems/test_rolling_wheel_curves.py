"""The wheel on curves other than the paper's: the bowl, curves of one's own, and where it fits."""

import casadi as ca
import numpy as np
import pytest
from daesolve_problems import curves

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError
from daesolve.multibody.drawing import Drawing, from_json
from daesolve.reporting import document, with_drawing
from tests.reference import bowl

PROBLEM = ds.problem("rolling-wheel")
STATES = ("x", "z", "alpha", "theta", "x_dot", "z_dot", "theta_dot")
DEPTH = 0.4
VALLEY = curves.explicit(lambda x, p: p["depth"] * x**2, depth=(DEPTH, "1/m"), label="valley")

BUMP = curves.explicit(lambda x, p: -75.0 * x**2, label="bump")  # curvature -150 1/m at its top


def throw(curve, *, radius=0.01, until=5.0, start=None, **options):
    case = PROBLEM.case("hoop", curve=curve, radius=radius)
    return case.solve(until=until, initial=start or {}, **options)


@pytest.mark.slow
def test_the_period_in_the_bowl_is_the_elliptic_integral():
    period = bowl.bowl_period(2.0, 0.0)
    quarter = 0.25 * period
    run = PROBLEM.case("bowl").solve(until=10.25 * period, at=[quarter, 10 * period + quarter])
    # at the quarter the speed is largest, so that lateness shows at first order
    late = (run["x"][1] - run["x"][0]) / run["x_dot"][0]
    assert abs(late) / 10 < 1e-11


@pytest.mark.slow
def test_states_in_the_bowl_agree_with_jacobis_functions():
    times = [1.0, 10.0, 30.0]
    run = PROBLEM.case("bowl").solve(at=times)
    expected = bowl.bowl_states(times, 2.0, 0.0)
    for state in STATES:
        error = np.abs(run[state] - expected[state])
        assert np.max(error) < 1e-11 * max(1.0, np.max(np.abs(expected[state]))), state


@pytest.mark.slow
@pytest.mark.slow_rows("1.5")
@pytest.mark.parametrize("strength", [1.5, 2.5])
def test_contact_in_a_loop_is_lost_at_the_exact_angle(strength):
    """V = v0^2 / (g Rc); contact is lost at cos psi = (1 - V) / 2."""
    speed = np.sqrt(strength * 9.81 * 0.49)
    run = PROBLEM.case("bowl", one_sided=True).solve(initial={"polar_angle": 0.0, "speed": speed})
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.events[-1].name == "contact_lost"
    angle = np.arctan2(run.end_state["x"], -run.end_state["z"])
    assert abs(angle - bowl.bowl_contact_loss_angle(speed)) < 1e-9
    assert run.end_time == pytest.approx(bowl.bowl_contact_loss_time(0.0, speed), abs=1e-9)


@pytest.mark.slow
def test_a_fast_wheel_loops_the_loop_in_contact():
    speed = np.sqrt(3.5 * 9.81 * 0.49)
    run = PROBLEM.case("bowl", one_sided=True).solve(
        until=10.0, initial={"polar_angle": 0.0, "speed": speed}
    )
    assert run.outcome is ds.Outcome.COMPLETED
    assert abs(run["theta"][-1]) > 2 * np.pi * 49
    assert run["alpha"][-1] > 4 * np.pi


def test_a_wheel_that_is_not_held_cannot_start_under_the_ceiling_of_the_bowl():
    run = PROBLEM.case("bowl", one_sided=True).solve()
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.end_time == 0.0
    assert "'contact_lost' already holds at the start" in run.message


@pytest.mark.slow
def test_an_explicit_curve_and_the_same_one_written_implicitly_give_one_motion():
    implicit = curves.implicit(lambda x, z, p: p["depth"] * x**2 - z, depth=(DEPTH, "1/m"))
    times = [1.0, 5.0]
    runs = [throw(curve, at=times) for curve in (VALLEY, implicit)]
    for state in STATES:
        assert runs[0][state] == pytest.approx(runs[1][state], rel=1e-12, abs=1e-12), state


@pytest.mark.slow
def test_a_residual_of_another_size_gives_the_same_motion():
    """f and exp(x) f have the same zeros; the goals differ, the motion does not."""
    scaled = curves.implicit(lambda x, z, p: ca.exp(x) * (DEPTH * x**2 - z))
    runs = [throw(curve, at=[1.0, 5.0]) for curve in (VALLEY, scaled)]
    for state in STATES:
        assert runs[0][state] == pytest.approx(runs[1][state], rel=1e-11, abs=1e-11), state


@pytest.mark.slow
def test_on_a_straight_slope_the_hoop_has_half_the_acceleration_of_a_sliding_body():
    slope = curves.explicit(lambda x, p: -0.5 * x)
    run = throw(slope, until=2.0, start={"speed": 0.0}, at=[2.0])
    tilt = np.arctan(0.5)
    assert run["speed"][0] == pytest.approx(9.81 * np.sin(tilt) / 2 * 2.0, rel=1e-13)
    assert run["required_friction"][0] == pytest.approx(np.tan(tilt) / 2, rel=1e-12)


@pytest.mark.slow
def test_small_swings_in_a_valley_have_the_frequency_of_the_centres_curve():
    """The centre moves on radius 1/kappa - r, at half the weight."""
    bend = 2 * DEPTH
    radius = 0.3
    rate = np.sqrt(9.81 * bend / (2 * (1 - radius * bend)))
    run = throw(VALLEY, radius=radius, start={"contact_x": 0.0, "speed": 1e-4},
                until=np.pi / rate, at=[np.pi / rate])  # fmt: skip
    assert abs(run["x"][0]) < 1e-4 / rate * 1e-6
    assert run["x_dot"][0] == pytest.approx(-1e-4, rel=1e-6)


def test_the_largest_radius_on_the_papers_curve_is_that_of_its_sharpest_bend():
    answer = PROBLEM.case("hoop").analyse("admissibility").values
    assert answer["admissible"]
    assert answer["largest_radius"] == pytest.approx(0.2912, abs=5e-5)
    assert answer["largest_local_radius"] == pytest.approx(answer["largest_radius"], rel=1e-9)
    assert answer["second_contacts"] == []


@pytest.mark.slow
def test_a_wheel_too_large_for_the_bend_is_stopped_where_it_touches_twice():
    case = PROBLEM.case("hoop", radius=0.35)
    answer = case.analyse("admissibility").values
    assert not answer["admissible"]
    run = case.solve(until=5.0)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.events[-1].name == "not_admissible"
    reached = np.array([run.at(run.end_time)[f"contact_{axis}"] for axis in "xz"])
    places = [second["contact"] for second in answer["second_contacts"]]
    assert min(np.linalg.norm(reached - place) for place in places) < 1e-9
    other = next(
        second["other"]
        for second in answer["second_contacts"]
        if np.linalg.norm(reached - second["contact"]) < 1e-9
    )
    centre = np.array([run.end_state["x"], run.end_state["z"]])
    assert np.linalg.norm(centre - other) == pytest.approx(0.35, abs=1e-9)


@pytest.mark.slow
def test_a_neck_stops_a_wheel_for_which_the_curve_bends_nowhere_too_much():
    """Inside of a Cassini oval: two lobes and a neck between them."""
    cassini = curves.implicit(
        lambda x, z, p: ((x - 1) ** 2 + z**2) * ((x + 1) ** 2 + z**2) - 1.02**4, label="cassini"
    )
    neck = np.sqrt(np.sqrt(1.02**4) - 1.0)  # half its width, at x = 0
    case = PROBLEM.case("hoop", curve=cassini, radius=1.05 * neck)
    answer = case.starting({"contact_x": 1.0, "speed": 0.0}).analyse("admissibility").values
    assert answer["admissible"]  # at rest at the bottom of a lobe it goes nowhere
    thrown = case.starting({"contact_x": 1.0, "speed": 3.0})
    answer = thrown.analyse("admissibility").values
    assert answer["largest_local_radius"] > case.full_parameters["radius"]
    assert not answer["admissible"]
    assert answer["largest_radius"] == pytest.approx(neck, rel=1e-9)
    run = thrown.changed({"one_sided": False}).solve(until=10.0)
    assert run.events[-1].name == "not_admissible"


@pytest.mark.slow
def test_a_wheel_that_does_not_fit_at_its_start_is_refused():
    with pytest.raises(OutOfRangeError, match="does not fit"):
        PROBLEM.case("hoop", radius=0.5).solve(until=1.0, initial={"contact_x": 0.6})


@pytest.mark.slow
def test_a_hoop_at_rest_on_flat_ground_stays_and_keeps_its_energy_driven():
    run = throw(curves.explicit(lambda x, p: 0.0 * x), start={"speed": 0.0})
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.drift["energy"].driven
    assert not any("not conserved" in note for note in run.description["notes"])
    # cos(alpha) is 6e-17 in place of 0: a slope of which 5 s make g 6e-17 5^2 / 4
    assert np.max(np.abs(run["x"] - run["x"][0])) < 4e-15


@pytest.mark.slow
def test_at_rest_in_the_lowest_point_nothing_is_called_untrustworthy():
    run = PROBLEM.case("pendulum", curve=VALLEY).solve(
        until=2.0, initial={"contact_x": 0.0, "speed": 0.0}
    )
    assert max(drift.max_relative for drift in run.drift.values()) < 1e-3
    assert not any("not to be trusted" in note for note in run.description["notes"])


@pytest.mark.slow
def test_where_the_curve_was_not_traced_to_its_end_admissibility_is_left_open():
    """A tube that narrows to nothing at x = 200: the wheel would be stopped far off."""
    tube = curves.implicit(lambda x, z, p: (z + 0.5 * x) ** 2 - (1 - x / 200) ** 2)
    answer = PROBLEM.case("hoop", curve=tube, radius=0.3).analyse("admissibility").values
    assert answer["admissible"] is None
    assert answer["reach"][1] == pytest.approx(64.0)


@pytest.mark.slow
def test_a_wheel_that_never_moves_has_no_turning_points_and_no_wrong_spin():
    case = PROBLEM.case("hoop", gravity=0.0).starting({"speed": 0.0})
    told = case.analyse("turning-points").values["attempts"]
    assert told["physical"]["turning_points"] == 0
    assert told["physical"]["wrong_spin"] == 0.0
    assert told["printed, error control"]["outcome"] == "refused"


def test_a_place_that_is_given_goes_before_that_of_the_case():
    run = PROBLEM.case("bowl").solve(until=0.1, initial={"contact_x": 0.1}, at=[0.0])
    assert run["contact_x"][0] == pytest.approx(0.1)
    assert run["contact_z"][0] == pytest.approx(-np.sqrt(0.25 - 0.01))


@pytest.mark.slow_rows("<lambda>-OutOfRangeError-does not fit")
@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        (lambda: PROBLEM.case("hoop", curve=7), PosingError, "explicit, implicit"),
        (
            lambda: PROBLEM.case("hoop", curve=curves.explicit(lambda x, p: x, radius=(1.0, "m"))),
            PosingError,
            "reserved for the wheel",
        ),
        (
            lambda: throw(curves.explicit(lambda x, p: p["radius"] * x)),
            PosingError,
            "only its own parameters",
        ),
        (
            lambda: PROBLEM.case("hoop", stop_radius_1=0.1).solve(until=1.0),
            OutOfRangeError,
            "follows from the other values",
        ),
        (
            lambda: PROBLEM.case("hoop").solve(until=1.0, initial={"phi": 1.0}),
            OutOfRangeError,
            "no pendulum",
        ),
        (
            lambda: PROBLEM.case("hoop", model="printed", curve=BUMP).solve(until=1.0),
            OutOfRangeError,
            "bends more sharply than the wheel",
        ),
        (
            lambda: PROBLEM.case("hoop", radius=5.0).analyse("turning-points"),
            OutOfRangeError,
            "does not fit",
        ),
        (
            lambda: PROBLEM.case("hoop", model="blend").analyse("turning-points"),
            OutOfRangeError,
            "all models",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(request_, error, words):
    with pytest.raises(error, match=words):
        request_()


def test_starts_that_a_curve_does_not_have_are_refused_in_a_sentence():
    with pytest.raises(OutOfRangeError, match="contact_x"):
        PROBLEM.case("bowl", curve="quartic").solve(until=1.0)
    with pytest.raises(UnknownNameError, match="circle"):
        PROBLEM.case("hoop", curve="sine")


@pytest.mark.slow_rows("pendulum")
@pytest.mark.parametrize("name", ["pendulum", "bowl"])
def test_the_drawing_shows_ground_wheel_and_reaction_and_is_kept_with_the_run(name):
    case = PROBLEM.case(name)
    run = case.solve(until=3.0)
    stored = with_drawing(document(run, case.identity()), PROBLEM.drawing)
    drawing = from_json(stored["drawing"])
    assert isinstance(drawing, Drawing)
    labels = [shape.label for shape in drawing.shapes]
    assert {"wheel", "reaction"} <= set(labels)
    assert ("bob" in labels) == (name == "pendulum")


@pytest.mark.long
@pytest.mark.parametrize("case", ["hoop", "pendulum"])
def test_the_models_are_compared_at_turning_points(case):
    answer = PROBLEM.case(case).analyse("turning-points")
    told = answer.values["attempts"]
    assert told["physical"]["outcome"] == told["blend"]["outcome"] == "completed"
    assert told["printed, error control"]["outcome"] == "degenerate"
    passed = told["printed, fixed step 2 ms"]
    assert passed["outcome"] == "completed"
    assert passed["wrong_spin"] == told["physical"]["wrong_spin"] == 0.0
    # How much energy is lost where it leaps over points at rest is for rounding to decide.
    coarse = told["printed, fixed step 20 ms, rate 1"]
    assert coarse["wrong_spin"] > 0.1
    assert coarse["energy_error"] > 1e3 * passed["energy_error"]
    assert coarse["outcome"] == ("completed" if coarse["energy_error"] <= 0.01 else "failed")
    assert ("not to be trusted" in coarse["message"]) == (coarse["outcome"] == "failed")
    assert set(answer.figures) == {"spin", "turning point"}
    if case == "hoop":
        ratio = passed["period"] / told["physical"]["period"]
        assert ratio == pytest.approx(1.00596, abs=1e-5)
