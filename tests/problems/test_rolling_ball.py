import casadi as ca
import numpy as np
import pytest
from daesolve_problems.rolling_ball import Surface, problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.errors import InconsistentStateError, OutOfRangeError, PosingError, UnknownNameError
from daesolve.reporting.document import document
from tests.reference import rolling_ball as truth
from tests.reference import rolling_ball_pendulum as bodies

MEASURED_ONLY = ds.Feedback(rates={"energy": None})
CASES = ("incline", "paraboloid", "level-with-pendulum", "paraboloid-with-pendulum")
P = truth.DEFAULT_PARAMETERS
UPRIGHT_TUBE = Surface(
    lambda x, y, z, p: x**2 + y**2 - p["tube_radius"] ** 2, {"tube_radius": (0.6, "m", ds.POSITIVE)}
)
DOME = Surface(
    lambda x, y, z, p: p["dome_radius"] ** 2 - x**2 - y**2 - z**2, {"dome_radius": (1.0, "m")}
)


def largest_error(run, expected):
    """The largest error of each series, relative to its size or to 1 where that is smaller."""
    return {
        name: np.max(np.abs(run[name] - series)) / max(1.0, np.max(np.abs(series)))
        for name, series in expected.items()
    }


# -- every case ----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=CASES)
def whole(request):
    return request.param, problem.case(request.param).solve()


@pytest.mark.slow
def test_residuals_stay_at_rounding_level(whole):
    """The contact is measured by the radius; a coordinate is no better known than to rounding."""
    _, run = whole
    assert run.outcome is ds.Outcome.COMPLETED
    farthest = max(np.max(np.abs(run[name])) for name in ("x", "y", "z"))
    rounding = np.finfo(float).eps * max(1.0, farthest / P.radius)
    for name, drift in run.drift.items():
        assert drift.driven, name
        assert drift.max_relative <= 10 * rounding, name


@pytest.mark.slow
def test_energy_is_kept_without_being_driven(whole):
    name, _ = whole
    drift = problem.case(name).solve(formulation=MEASURED_ONLY).drift["energy"]
    assert not drift.driven
    assert drift.max_relative <= 1e-12


@pytest.mark.long_rows("paraboloid-with-pendulum")
@pytest.mark.slow_rows("level-with-pendulum", "paraboloid")
def test_the_reaction_balances_the_torque_and_its_parts_are_reported(whole):
    _, run = whole
    normal = (truth.vector(run, "{}") - truth.vector(run, "contact_{}")) / P.radius
    reaction, torque = truth.vector(run, "reaction_{}"), truth.vector(run, "torque_{}")
    size = np.max(np.abs(reaction))
    assert np.max(np.abs(torque + P.radius * np.cross(normal.T, reaction.T).T)) < 1e-13 * size
    assert run["normal"] == pytest.approx(np.sum(normal * reaction, axis=0), abs=1e-13 * size)
    along = reaction - run["normal"] * normal
    friction = np.linalg.norm(along, axis=0)
    # Centre and contact are known to rounding, which the radius between them magnifies.
    farthest = max(np.max(np.abs(run[name])) for name in ("x", "y", "z"))
    rounding = 2 * np.finfo(float).eps * max(1.0, farthest / P.radius)
    assert run["friction"] == pytest.approx(friction, abs=rounding * size)
    assert run["required_friction"] == pytest.approx(friction / run["normal"], abs=rounding)
    assert np.min(run["normal"]) > 0.0
    assert np.max(run["friction"]) > 0.1


def test_the_start_needs_no_correction_beyond_rounding(whole):
    _, run = whole
    assert all(abs(value - guess) < 1e-15 for guess, value in run.start.values())


def test_the_figures_of_each_case_are_drawn(whole):
    name, run = whole
    told = document(run, problem.case(name).identity())
    for draw in problem.figures.values():
        (axes,) = draw(told).axes
        lines = [line.get_label() for line in axes.lines]
        bob = any(str(label).startswith("bob") for label in lines)
        assert bob == ("with-pendulum" in name)


# -- the bare ball on an incline -----------------------------------------------------------------


def test_on_an_incline_the_acceleration_is_five_sevenths_of_that_of_sliding():
    run = problem.case("incline").solve(at=ds.every(0.1))
    down = truth.tangents(truth.on_incline(0.0, 0.0).normal)[0]
    force = down @ truth.vector(run, "reaction_{}") - P.ball_mass * P.gravity * down[2]
    expected = 5.0 / 7.0 * P.gravity * np.sin(P.slope)
    assert force / P.ball_mass == pytest.approx(expected, rel=1e-13)
    assert run["spin"] == pytest.approx(5.0, rel=1e-12)


def test_on_an_incline_states_and_reactions_agree_with_the_closed_form():
    run = problem.case("incline").solve(at=ds.every(0.1))
    errors = largest_error(run, truth.incline_motion(run.times, 0.0, 1.0, 5.0))
    assert max(errors.values()) < 2e-13, errors


def test_from_rest_the_ball_turns_about_the_axis_across_the_slope():
    run = problem.case("incline").solve(initial={"speed_y": 0.0, "spin": 0.0}, at=[0.5, 2.0, 10.0])
    turned = truth.incline_acceleration() * run.times**2 / 2 / P.radius
    expected = {"w": np.cos(turned / 2), "x": 0.0, "y": np.sin(turned / 2), "z": 0.0}
    for axis, series in expected.items():
        # The angle, 1036 rad at the end, is known to rounding; so is half of it.
        assert run[f"orientation_{axis}"] == pytest.approx(series, abs=1e-12), axis


# -- the bare ball in the bowl -------------------------------------------------------------------


HALF_SECONDS = np.arange(0.0, 60.5, 0.5)


@pytest.fixture(scope="module")
def reduced():
    start = truth.ball_state(truth.on_paraboloid(0.8, 0.0), 0.3, 1.2, 10.0)
    return truth.paraboloid_motion(HALF_SECONDS, start)


@pytest.fixture(scope="module", params=[None, MEASURED_ONLY], ids=["driven", "measured"])
def bowl(request):
    return problem.case("paraboloid").solve(at=HALF_SECONDS, formulation=request.param)


@pytest.mark.slow
def test_in_the_bowl_states_agree_with_the_reduced_equations_in_quadruple_precision(bowl, reduced):
    # Errors of the orientation add up from those of an angular velocity of about 15 rad/s.
    for name, error in largest_error(bowl, reduced).items():
        assert error < (5e-12 if name.startswith("orientation") else 5e-13), name


def test_in_the_bowl_routh_s_integrals_are_kept(bowl):
    integrals = truth.routh_integrals(bowl.states)
    assert np.ptp(bowl["contact_z"]) > 0.1
    for series in integrals:
        assert series == pytest.approx(series[0], rel=1e-13)


@pytest.mark.slow
def test_the_reduced_equations_keep_routh_s_integrals_and_the_energy(reduced):
    """The references agree with each other: two derivations, one in polar coordinates."""
    for series in truth.routh_integrals(reduced):
        assert series == pytest.approx(series[0], rel=2e-14)
    speed, turning = truth.vector(reduced, "{}_dot"), truth.vector(reduced, "omega_{}")
    inertia = P.inertia_ratio * P.radius**2
    energy = (np.sum(speed**2, axis=0) + inertia * np.sum(turning**2, axis=0)) / 2
    energy += P.gravity * reduced["z"]
    assert energy == pytest.approx(energy[0], rel=2e-14)


@pytest.mark.slow
def test_through_the_bottom_of_the_bowl():
    """There the azimuth of polar coordinates jumps; the contact point does not mind."""
    begin = {"contact_x": 0.5, "speed_x": 0.0, "speed_y": 0.0, "spin": 0.0}
    run = problem.case("paraboloid").solve(until=10.0, initial=begin, at=ds.every(0.1))
    start = truth.ball_state(truth.on_paraboloid(0.5, 0.0), 0.0, 0.0, 0.0)
    errors = largest_error(run, truth.paraboloid_motion(run.times, start))
    assert max(errors.values()) < 1e-13, errors
    assert np.min(run["contact_x"]) < -0.49


def test_the_energy_scale_is_the_energy_above_the_lowest_point():
    run = problem.case("paraboloid").solve(until=0.1)
    start = truth.ball_state(truth.on_paraboloid(0.8, 0.0), 0.3, 1.2, 10.0)
    omega = truth.vector(start, "omega_{}")
    kinetic = (0.3**2 + 1.2**2 + P.inertia_ratio * P.radius**2 * omega @ omega) / 2
    scale = kinetic + P.gravity * (start["z"] - P.radius)
    assert run.drift["energy"].scale == pytest.approx(scale, rel=1e-14)


# -- surfaces of one's own -----------------------------------------------------------------------


@pytest.mark.slow
def test_in_an_upright_tube_the_ball_does_not_fall_down():
    """The wall is vertical: no height z = h(x, y) there, and nu_z = 0 all along."""
    begin = {"contact_x": 0.6, "speed_x": 0.2, "speed_y": 3.0, "spin": 4.0}
    run = problem.case("incline", surface=UPRIGHT_TUBE).solve(initial=begin, at=ds.every(0.05))
    expected = truth.tube_motion(run.times, 0.6, 0.2, 3.0, 4.0)
    errors = largest_error(run, expected)
    assert max(errors.values()) < 1e-12, errors
    assert -2.0 < np.min(run["z"]) < -1.0


@pytest.mark.slow
@pytest.mark.parametrize("one_sided", [True, False])
def test_off_a_dome_contact_is_lost_at_ten_seventeenths(one_sided):
    """From rest near the top; on a two-sided surface the event is only written down."""
    begin = {
        "contact_x": np.sin(0.1), "contact_z": 1.0, "speed_x": 0.0, "speed_y": 0.0, "spin": 0.0
    }  # fmt: skip
    case = problem.case("incline", surface=DOME, one_sided=one_sided)
    run = case.solve(until=1.5, initial=begin)
    (event,) = run.events
    assert event.name == "contact_lost"
    cosine = event.detail["contact_z"]
    assert cosine == pytest.approx(truth.cosine_where_dome_is_left(0.1), abs=1e-12)
    assert cosine == pytest.approx(10.0 / 17.0 * np.cos(0.1), abs=1e-12)
    assert run.outcome is (ds.Outcome.STOPPED_BY_EVENT if one_sided else ds.Outcome.COMPLETED)


@pytest.mark.slow
def test_straight_under_a_ceiling_the_run_ends_and_names_the_goals():
    """Held to the dome the ball would swing round to its lowest point, where nu = e_z."""
    begin = {
        "contact_x": np.sin(0.1), "contact_z": 1.0, "speed_x": 0.0, "speed_y": 0.0, "spin": 0.0
    }  # fmt: skip
    run = problem.case("incline", surface=DOME, one_sided=False).solve(until=3.0, initial=begin)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "rolling_x" in run.message
    assert run.end_state["contact_z"] == pytest.approx(-1.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.slow_rows("paraboloid")
@pytest.mark.parametrize("surface", ["incline", "paraboloid"])
def test_a_surface_of_one_s_own_is_the_same_as_the_named_one(surface):
    """As an implicit surface that is neither in metres nor solved for z."""
    same = {
        "incline": Surface(
            lambda x, y, z, p: -3.0 * (ca.sin(p["slope"]) * x + ca.cos(p["slope"]) * z),
            {"slope": 0.3},
        ),
        "paraboloid": Surface(lambda x, y, z, p: ca.exp(x**2 + y**2 - 2.0 * z) - 1.0),
    }[surface]
    expected = problem.case(surface).solve(until=2.0, at=[1.0, 2.0])
    run = problem.case(surface, surface=same).solve(until=2.0, at=[1.0, 2.0])
    errors = largest_error(run, {**expected.states, **expected.reactions})
    assert max(errors.values()) < 1e-12, errors


@pytest.mark.parametrize(
    ("choices", "initial", "error", "words"),
    [
        ({"surface": "sphere"}, {}, UnknownNameError, "'incline', 'paraboloid'"),
        ({"surface": 3.0}, {}, PosingError, "'incline' or 'paraboloid' or a Surface"),
        (
            {"surface": Surface(lambda x, y, z, p: -z, {"radius": 1.0})}, {},
            PosingError, "'radius' is reserved for the ball",
        ),
        ({"surface": "paraboloid", "radius": 1.2}, {"contact_x": 0.0}, OutOfRangeError, "not fit"),
        ({"surface": DOME}, {"contact_x": 2.0}, InconsistentStateError, "no height at"),
        (
            {"surface": Surface(lambda x, y, z, p: z)}, {},
            InconsistentStateError, "hangs straight under",
        ),
        ({"radius": -0.1}, {}, OutOfRangeError, "'radius'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_words(choices, initial, error, words):
    with pytest.raises(error, match=words):
        problem.case("incline", **choices).solve(until=0.1, initial=initial)


# -- with a pendulum -----------------------------------------------------------------------------


def with_pendulum(surface, **more):
    return problem.case("paraboloid-with-pendulum", surface=surface, **more)


@pytest.fixture(scope="module", params=["incline", "paraboloid"])
def posed(request):
    """v' and u of the system as functions of the state by name; and the place on its surface."""
    system = with_pendulum(request.param).system
    place_on = {"incline": truth.on_incline, "paraboloid": truth.on_paraboloid}[request.param]
    around = truth.ball_state(place_on(0.2, 0.1), 0.3, -0.2, 1.0, phi=0.4, phi_dot=1.0)
    functions = [system.function(name, around) for name in ("accelerations", "reactions")]
    numbers = system.dynamics.value_vector({})[: len(system.dynamics.ranges)]

    def solved(state):
        x = [state[name] for name in system.dynamics.labels.states]
        return [np.asarray(function(0.0, x, numbers)).ravel() for function in functions]

    return solved, place_on


FLOATS = st.floats(-1.0, 1.0)


@pytest.mark.default_rows(1)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.tuples(FLOATS, FLOATS, FLOATS, FLOATS, FLOATS),
    st.lists(FLOATS, min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 0.1),
    st.tuples(st.floats(-3.0, 3.0), FLOATS),
)
def test_accelerations_and_reactions_are_those_of_newton_and_euler(posed, rolling, turned, arm):
    solved, place_on = posed
    x, y, speed_x, speed_y, spin = rolling
    place = place_on(x, y)
    state = truth.ball_state(
        place,
        2.0 * speed_x,
        2.0 * speed_y,
        20.0 * spin,
        orientation=np.array(turned) / np.linalg.norm(turned),
        phi=arm[0],
        phi_dot=20.0 * arm[1],
    )
    accelerations, reactions = solved(state)
    expected = bodies.newton_euler(state, place)
    turning = [*expected.angular_acceleration, expected.phi_ddot]
    torque = -P.radius * np.cross(place.normal, expected.reaction)
    for found, right in (
        (accelerations[:3], expected.acceleration),
        (accelerations[3:], turning),
        (reactions[:3], expected.reaction),
        (reactions[3:], torque),
    ):
        assert np.linalg.norm(found - right) <= 1e-11 * max(np.linalg.norm(right), P.gravity)


@pytest.mark.long
def test_with_a_pendulum_states_agree_with_newton_and_euler_integrated():
    case = problem.case("level-with-pendulum", slope=0.05)
    run = case.solve(until=3.0, at=np.linspace(0.0, 3.0, 31))
    slope = truth.RollingBallParameters(slope=0.05)
    names = tuple(run.states)

    def rate(_time, x):
        state = dict(zip(names, x, strict=True))
        place = truth.on_incline(state["contact_x"], state["contact_y"], slope)
        solved = bodies.newton_euler(state, place, slope)
        velocity, omega = truth.vector(state, "{}_dot"), truth.vector(state, "omega_{}")
        scalar, axis = state["orientation_w"], truth.vector(state, "orientation_{}")
        quaternion = [-omega @ axis, *(scalar * omega + np.cross(omega, axis))]
        return np.concatenate(
            [
                velocity, np.array(quaternion) / 2, [state["phi_dot"]], velocity,
                solved.acceleration, solved.angular_acceleration, [solved.phi_ddot],
            ]
        )  # fmt: skip

    begin = [run[name][0] for name in names]
    found = solve_ivp(
        rate, (0.0, 3.0), begin, method="DOP853", t_eval=run.times, rtol=1e-12, atol=1e-12
    )
    errors = largest_error(run, dict(zip(names, found.y, strict=True)))
    assert max(errors.values()) < 1e-9, errors


@pytest.mark.slow
def test_in_the_plane_of_symmetry_the_momentum_down_the_slope_grows_by_the_weight_alone():
    begin = {
        "contact_x": 0.0, "contact_y": 0.0, "speed_x": 0.5, "speed_y": 0.0, "spin": 0.0,
        "axle_azimuth": 0.0, "axle_tilt": 0.0, "phi": 2.0, "phi_dot": 0.0,
    }  # fmt: skip
    run = with_pendulum("incline", slope=0.1).solve(20.0, initial=begin, at=ds.every(0.1))
    for name in ("y", "bob_y", "omega_x", "omega_z"):
        assert np.max(np.abs(run[name])) < 1e-14, name
    down = np.array([np.cos(0.1), 0.0, -np.sin(0.1)])
    arm = truth.vector(run, "bob_{}") - truth.vector(run, "{}")
    rate = run["omega_y"] + run["phi_dot"]
    bob_velocity = truth.vector(run, "{}_dot") + rate * np.array([arm[2], 0 * rate, -arm[0]])
    momentum = (1.0 + P.inertia_ratio) * P.ball_mass * (down @ truth.vector(run, "{}_dot"))
    momentum += P.bob_mass * (down @ bob_velocity)
    pull = (P.ball_mass + P.bob_mass) * P.gravity * np.sin(0.1)
    expected = momentum[0] + pull * run.times
    assert momentum == pytest.approx(expected, rel=1e-13)
    assert np.ptp(run["bob_z"] - run["z"] + np.tan(0.1) * (run["bob_x"] - run["x"])) > 0.05


def test_a_pendulum_takes_the_spin_and_routh_s_integrals_away():
    floor = problem.case("level-with-pendulum").solve(until=5.0)
    assert np.ptp(floor["spin"]) > 1.0
    bowl = problem.case("paraboloid-with-pendulum").solve(until=5.0)
    assert np.all(np.ptp(truth.routh_integrals(bowl.states), axis=1) > 0.1)


@pytest.mark.slow
def test_a_bob_without_weight_leaves_the_ball_alone():
    light = with_pendulum("paraboloid", bob_mass=1e-9)
    begin = problem.case("paraboloid").full_start
    run = light.solve(until=1.0, initial={**begin, "phi": 0.0}, at=[0.5, 1.0])
    bare = problem.case("paraboloid").solve(until=1.0, at=[0.5, 1.0])
    errors = largest_error(run, {name: bare[name] for name in ("x", "y", "omega_z", "normal")})
    assert max(errors.values()) < 1e-7, errors


def test_the_start_values_are_those_of_the_case():
    begin = {
        "contact_x": 0.4, "contact_y": -0.3, "speed_x": 0.2, "speed_y": -0.5, "spin": 3.0,
        "axle_azimuth": 0.7, "axle_tilt": 0.2, "phi": 0.3, "phi_dot": -1.0,
    }  # fmt: skip
    run = with_pendulum("paraboloid").solve(until=0.1, initial=begin, at=[0.0])
    state = {name: series[0] for name, series in run.states.items()}
    place = truth.on_paraboloid(0.4, -0.3)
    assert truth.vector(state, "contact_{}") == pytest.approx(place.contact, abs=1e-15)
    velocity = truth.vector(state, "{}_dot")
    assert truth.tangents(place.normal) @ velocity == pytest.approx([0.2, -0.5], abs=1e-14)
    assert run["speed"][0] == pytest.approx(np.hypot(0.2, 0.5), rel=1e-14)
    assert run["spin"][0] == pytest.approx(3.0, rel=1e-14)
    axle, arm = bodies.arm_directions(state)
    raised = [-np.sin(0.7) * np.cos(0.2), np.cos(0.7) * np.cos(0.2), np.sin(0.2)]
    assert axle == pytest.approx(raised, abs=1e-15)
    bob = truth.vector(state, "{}") + P.pendulum_length * arm
    assert [run[f"bob_{axis}"][0] for axis in "xyz"] == pytest.approx(bob, abs=1e-15)
    assert state["phi_dot"] == -1.0
