"""Trailers, casters and a roller racer, against closed forms and the fewest coordinates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from daesolve_problems.steered import caster, n_trailer, roller_racer

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.reference import plane_vehicles as plane


def axle_of(run, body, centre):
    """Return x and y of an axle that is `centre` behind the mass centre."""
    angle = run[f"{body}_angle"]
    return run[f"{body}_x"] - centre * np.cos(angle), run[f"{body}_y"] - centre * np.sin(angle)


# ---- trailers


@pytest.mark.slow_rows("2-changes2", "3-changes1")
@pytest.mark.parametrize(
    ("trailers", "changes"),
    [(1, {"hitch": 0.0}), (3, {}), (2, {"hitch": -0.3, "steer": 0.2, "wheel_inertia": 0.0})],
)
def test_a_train_moves_as_in_one_speed_and_an_angle_for_each_body(trailers, changes):
    times = np.linspace(0.0, 12.0, 5)
    start = {"hitch_1": 0.5} | ({"hitch_2": -0.4} if trailers > 1 else {})
    case = n_trailer.problem.case("slalom", trailers=trailers, **changes).starting(start)
    run, p = case.solve(until=12.0, at=times), case.full_parameters
    assert case.consistent_start().changes == {}

    def steering(t):
        return p["steer"] + p["swing"] * np.sin(2 * np.pi * t / p["period"])

    angles = [0.0, 0.0, 0.0, *np.cumsum([0.5, -0.4, 0.0][:trailers])]
    velocities = plane.train(p, trailers, steering)

    def force(q, s, t):  # the torque on both rear wheels, along the speed of the steered one
        return np.array([2 * p["drive"] / p["wheel_radius"] * np.cos(steering(t))])

    truth = plane.motion(velocities, force, np.array(angles), np.array([2.0]), times)
    # DOP853 at 1e-13 takes some 200 steps: 2e-11 of a way of 40 m at most.
    bodies = ["tractor", *[f"trailer_{k}" for k in range(1, trailers + 1)]]
    for number, body in enumerate(bodies):
        assert run[f"{body}_angle"] == pytest.approx(truth[2 + number], abs=2e-11), body
    x, y = axle_of(run, "tractor", p["tractor_centre"])
    assert x == pytest.approx(truth[0], abs=1e-10)
    assert y == pytest.approx(truth[1], abs=1e-10)
    assert run["axle_0_speed"] == pytest.approx(truth[-1] * np.cos(steering(times)), abs=2e-11)
    gained = run["energy"] - run["energy"][0]
    assert run["axle_0_work"] == pytest.approx(gained, rel=1e-13, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["expression", "cubic", "linear"])
def test_a_driver_is_followed_by_words_and_by_tables(kind):
    """A spline through points of a cubic is that cubic, a table of two points a line."""
    times = np.linspace(0.0, 8.0, 5)
    bent = 0.0 if kind == "linear" else -0.0015

    def steering(t):
        return 0.1 * t + bent * t**3

    nodes = np.array([0.0, 8.0]) if kind == "linear" else np.linspace(0.0, 8.0, 9)
    given = f"0.1 * t + {bent} * t**3"
    if kind != "expression":
        given = ds.table("wheel", nodes, steering(nodes), kind)
    case = n_trailer.problem.case("straight", trailers=1, swing=0.0).starting({"hitch_1": 0.0})
    run = case.solve(until=8.0, at=times, inputs={"steer": given})
    velocities = plane.train(case.full_parameters, 1, steering)
    truth = plane.motion(
        velocities, lambda q, s, t: np.zeros(1), np.zeros(4), np.array([3.0]), times
    )
    assert run["steering"] == pytest.approx(steering(times), abs=1e-14)
    for number, body in enumerate(("tractor", "trailer_1")):
        assert run[f"{body}_angle"] == pytest.approx(truth[2 + number], abs=2e-11), body


def test_the_ground_and_the_hitch_hold_the_last_trailer_by_newtons_law():
    """m a of the mass centre, by differences of the motion, is what the forces give."""
    case, h = n_trailer.problem.case("slalom", wheel_inertia=0.0), 1e-3
    run, p = case.solve(until=6.0, at=5.0 + h * np.arange(-3, 4)), case.full_parameters
    weights = np.array([1, -9, 45, 0, -45, 9, -1]) / (-60 * h)
    velocity = np.stack([run["trailer_3_x_dot"], run["trailer_3_y_dot"]])
    angle = run["trailer_3_angle"][3]
    across = np.array([-np.sin(angle), np.cos(angle)])
    hitch = np.array([run[f"hitch_3_{k}"][3] for k in (1, 2)])
    force = hitch + run["axle_3"][3] * across
    # Sixth order: h^6 v^(7) and rounding eps v/h, times 900 kg.
    assert p["trailer_mass"] * velocity @ weights == pytest.approx(force, abs=900 * 2e-12 * 10)


def test_the_first_hitch_angle_dies_out_with_the_way_alone():
    run = n_trailer.problem.case("straight").solve()
    way = run["tractor_x"] - run["tractor_x"][0]
    truth = 2 * np.arctan(np.tan(0.6) * np.exp(-way / 2.0))
    assert run["hitch_angle_1"] == pytest.approx(truth, abs=1e-14)
    assert run.drift["energy"].max_relative < 1e-14


def test_a_train_that_is_pushed_back_folds_up_after_the_way_of_the_closed_form():
    """One trailer: ln(tan(0.95)/tan(0.0005)) drawbars."""
    case = n_trailer.problem.case("back", trailers=1)
    run = case.solve(until=100.0)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert [event.name for event in run.events] == ["folded"]
    way = run.end_state["tractor_x"] - run["tractor_x"][0]
    assert way == pytest.approx(-2.0 * np.log(np.tan(0.95) / np.tan(0.0005)), abs=1e-11)


@pytest.mark.slow
def test_on_a_circle_the_trailers_come_to_their_own_circles():
    """After 24 turns what is left of the start is below exp(-40)."""
    case = n_trailer.problem.case("straight", steer=0.4)
    assert case.consistent_start().changes == {}
    run = case.solve(until=200.0, at=[200.0])
    radius = case.full_parameters["wheelbase"] / np.tan(0.4)
    for k in range(4):
        body = f"trailer_{k}" if k else "tractor"
        radius = np.sqrt(radius**2 + 0.6**2 - 2.0**2) if k else radius
        found = run[f"axle_{k}_speed"][0] / run[f"{body}_angle_dot"][0]
        assert found == pytest.approx(radius, rel=1e-12)


def test_trains_that_have_no_meaning_are_refused():
    with pytest.raises(OutOfRangeError, match="trailers is 0, but must be at least 1"):
        n_trailer.problem.case("slalom", trailers=0)
    with pytest.raises(OutOfRangeError, match=r"hitch_1 is 2 rad .* folded at 1\.9 rad"):
        n_trailer.problem.case("slalom").starting({"hitch_1": 2.0}).solve(until=1.0)


# ---- casters


@pytest.mark.slow_rows("trails")
@pytest.mark.parametrize("name", ["trails", "pushed"])
def test_a_caster_turns_with_the_way_alone_and_the_energy_tells_its_speed(name):
    case = caster.problem.case(name)
    run, p = case.solve(), case.full_parameters
    theta = run["fork_angle"]
    way, trail = run["cart_x"], p["trail"]
    truth = 2 * np.arctan(np.tan(theta[0] / 2) * np.exp(-way / trail))
    assert theta == pytest.approx(truth, abs=1e-13)
    moment = p["inertia"] + p["wheel_inertia"] * p["track"] ** 2 / 2 / p["wheel_radius"] ** 2
    turning = moment + p["mass"] * p["centre"] * (p["centre"] - 2 * trail)
    mass = p["cart_mass"] + p["mass"] + turning * (np.sin(theta) / trail) ** 2
    mass += 2 * p["wheel_inertia"] * (np.cos(theta) / p["wheel_radius"]) ** 2
    speed = case.full_start["speed"] * np.sqrt(mass[0] / mass)
    assert run["cart_x_dot"] == pytest.approx(speed, rel=1e-13)
    assert run.drift["energy"].max_relative < 1e-14


@pytest.mark.slow
def test_a_caster_on_a_soft_pin_moves_as_in_two_speeds():
    times = np.linspace(0.0, 0.8, 5)
    changes = {"swivel_damping": 0.01, "damping": 3.0}
    case = caster.problem.case("shimmy", **changes).starting(
        {"theta": 0.3, "y": 2e-3, "y_dot": 0.1}
    )
    run, p = case.solve(until=0.8, at=times), case.full_parameters
    velocities = plane.soft_caster(p)

    def force(q, s, t):
        across = -p["stiffness"] * q[1] - p["damping"] * s[1]
        rates = [velocities(q, unit, t)[2][2] for unit in np.eye(2)]
        torque = -p["swivel_damping"] * velocities(q, s, t)[2][2]
        return np.array([0.0, across]) + torque * np.array(rates)

    start = np.array([0.0, 2e-3, 0.3]), np.array([3.0, 0.1])
    truth = plane.motion(velocities, force, *start, times)
    # Shimmy makes an error grow by at most some exp(5.4 t).
    for name, row in {"cart_x": 0, "pin_y": 1, "fork_angle": 2, "cart_x_dot": 3}.items():
        assert run[name] == pytest.approx(truth[row], abs=1e-10), name


@pytest.mark.slow_rows("3.0")
@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_small_shimmy_moves_by_its_characteristic_equation(damping):
    """What is left is of the third order: 1e-16 of 1e-8 m, grown by exp(5.4/2)."""
    case = caster.problem.case("shimmy", damping=damping).starting({"y": 1e-8})
    run = case.solve(until=0.5, at=np.linspace(0.0, 0.5, 6))
    p, speed = case.full_parameters, 3.0
    a, b, c, d = caster.characteristic(p, speed)
    # y' = l theta' + V theta; the equation itself holds for y, with y'' from the second order.
    stiff, viscous, trail = p["stiffness"], p["damping"], p["trail"]
    matrix = np.zeros((3, 3))
    matrix[0] = [0.0, speed, trail]
    matrix[1, 2] = 1.0
    matrix[2] = [-trail * stiff, -trail * viscous * speed, -b]
    matrix[2] /= a
    assert np.poly(matrix) == pytest.approx(np.array([a, b, c, d]) / a, rel=1e-12)
    truth = [scipy.linalg.expm(matrix * t) @ [1e-8, 0.0, 0.0] for t in run.times]
    assert run["pin_y"] == pytest.approx([x[0] for x in truth], abs=1e-20 + 1e-10 * 1e-8)
    assert run["fork_angle"] == pytest.approx([x[1] for x in truth], abs=1e-10 * 1e-8 / trail)


def test_shimmy_begins_and_ends_at_the_critical_speeds():
    p = caster.problem.case("shimmy").full_parameters
    slow, fast = caster.critical_speeds(p)
    for speed, grows in ((0.99, False), (1.01, True)):
        assert (np.roots(caster.characteristic(p, speed * slow)).real.max() > 0) == grows
        assert (np.roots(caster.characteristic(p, speed * fast)).real.max() > 0) != grows
    answer = caster.problem.case("shimmy").analyse("shimmy")
    assert answer.values["critical speeds"] == pytest.approx([slow, fast])


@pytest.mark.parametrize(("share", "grows"), [(0.98, False), (1.02, True)])
def test_without_dampers_the_inertia_alone_decides_at_any_speed(share, grows):
    p = dict(caster.problem.case("shimmy", damping=0.0).full_parameters)
    twins = p["wheel_inertia"] * p["track"] ** 2 / 2 / p["wheel_radius"] ** 2
    p["inertia"] = share * p["mass"] * p["centre"] * (p["trail"] - p["centre"]) - twins
    for speed in (0.3, 3.0, 30.0):
        assert (np.roots(caster.characteristic(p, speed)).real.max() > 0) == grows


# ---- the roller racer


def racer_at(run, p):
    x, y = axle_of(run, "seat", p["seat_centre"])
    return np.stack([x, y, run["seat_angle"], run["rear_speed"], run["seat_angle_dot"]])


@pytest.mark.slow
def test_the_steered_racer_moves_as_in_one_speed_and_its_rider_feels_the_torque():
    times = np.linspace(0.0, 6.0, 4)
    case = roller_racer.problem.case("wriggle", mean=0.2)
    run, p = case.solve(until=6.0, at=times), case.full_parameters
    assert case.consistent_start().changes == {}
    w = 2 * np.pi / p["period"]

    def wave(t):
        return p["mean"] + p["swing"] * np.sin(w * t), p["swing"] * w * np.cos(w * t)

    phi, phi_dot = wave(0.0)
    lever = p["rear_length"] * np.cos(phi) + p["front_length"]
    # At rest v = 0 is the speed of the rear axle: along * lever = sin * least.
    least = -p["front_length"] * phi_dot / (lever**2 + np.sin(phi) ** 2)
    along = np.sin(phi) * least / lever
    velocities = plane.steered_racer(p, wave)
    nothing = lambda q, s, t: np.zeros(1)  # noqa: E731
    truth = plane.motion(velocities, nothing, np.zeros(3), np.array([along]), times)
    speeds = plane.allowed(p, *wave(times), truth[3])
    found = racer_at(run, p)
    for row, other in zip(found, [*truth[:3], *speeds], strict=True):
        assert row == pytest.approx(other, abs=1e-10)
    gained = run["energy"] - run["energy"][0]
    assert run["rider_work"] == pytest.approx(gained, abs=1e-11)
    # It goes ahead.
    assert run["rear_speed"][-1] > 0.1


@pytest.mark.slow
def test_the_momentum_changes_as_krishnaprasad_and_tsakiris_found():
    """p' = <dT/dq', xi'>, integrated with the reconstruction of the speed from p."""
    case = roller_racer.problem.case("wriggle")
    times = np.linspace(0.0, 3.0, 4)
    run, p = case.solve(until=3.0, at=times), case.full_parameters
    w, h = 2 * np.pi / p["period"], 1e-200
    q = np.zeros(3)

    def parts(phi, phi_dot):
        """In axes of the seat: the masses' velocities along xi, by phi', and weights."""
        xi, mu = plane.racer(p, q, *plane.allowed(p, phi, 0.0, 1.0), phi, 0.0)
        own, _ = plane.racer(p, q, *plane.allowed(p, phi, phi_dot, 0.0), phi, phi_dot)
        return xi, own, mu

    def rate(t, x):
        phi, phi_dot = p["swing"] * np.sin(w * t), p["swing"] * w * np.cos(w * t)
        xi, own, mu = parts(phi, phi_dot)
        along = (x[0] - np.sum(mu * xi * own)) / np.sum(mu * xi * xi)
        turning = plane.allowed(p, phi, phi_dot, along)[1]
        # xi' in space: the axes of the seat turn with it.
        turned, _ = plane.racer(
            p,
            q + 1j * h * np.array([0.0, 0.0, turning]),
            *plane.allowed(p, phi + 1j * h * phi_dot, 0.0, 1.0),
            phi + 1j * h * phi_dot,
            0.0,
        )
        return [np.sum(mu * (along * xi + own) * turned.imag / h)]

    options = {"method": "DOP853", "t_eval": times, "rtol": 1e-13, "atol": 1e-13}
    truth = scipy.integrate.solve_ivp(rate, (0.0, 3.0), [run["momentum"][0]], **options)
    assert run["momentum"] == pytest.approx(truth.y[0], abs=1e-11)
    assert np.ptp(run["momentum"]) > 1.0


@pytest.mark.slow
def test_the_racer_with_a_torque_moves_as_in_two_speeds():
    times = np.linspace(0.0, 5.0, 4)
    case = roller_racer.problem.case("push")
    run, p = case.solve(until=5.0, at=times), case.full_parameters

    def force(q, s, t):
        swing = p["torque"] * np.sin(2 * np.pi * t / p["period"])
        return np.array([0.0, swing - p["stiffness"] * q[3] - p["damping"] * s[1]])

    truth = plane.motion(plane.driven_racer(p), force, np.zeros(4), np.zeros(2), times)
    assert run["handlebar"] == pytest.approx(truth[3], abs=1e-11)
    for row, other in zip(racer_at(run, p)[:3], truth[:3], strict=True):
        assert row == pytest.approx(other, abs=1e-10)


def test_a_racer_whose_axles_meet_is_refused():
    case = roller_racer.problem.case("push", front_length=-0.5)
    with pytest.raises(OutOfRangeError, match="start at another angle"):
        case.solve(until=1.0)


@pytest.mark.parametrize(
    ("problem", "name", "start", "sentence"),
    [
        (caster.problem, "trails", {"y": 1e-3}, "pin is fixed to the cart, so y must be 0"),
        (
            roller_racer.problem,
            "wriggle",
            {"angle": 0.1},
            "angle of the start follows from the rider's",
        ),
    ],
)
def test_start_values_of_the_other_model_are_refused(problem, name, start, sentence):
    with pytest.raises(OutOfRangeError, match=sentence):
        problem.case(name).starting(start).solve(until=1.0)


# ---- pictures


@pytest.mark.slow_rows("problem0-slalom", "problem3-wriggle")
@pytest.mark.parametrize(
    ("problem", "name"),
    [
        (n_trailer.problem, "slalom"),
        (caster.problem, "trails"),
        (caster.problem, "shimmy"),
        (roller_racer.problem, "wriggle"),
    ],
)
def test_what_is_drawn_has_its_place(problem, name):
    case = problem.case(name)
    run = case.solve(until=0.05, at=np.array([0.0, 0.05]))
    stored = with_drawing(document(run, case.identity()), problem.drawing)
    series = {**run.states, **run.outputs}
    for shape in evaluate(from_json(stored["drawing"]), series, case.full_parameters, 1):
        assert np.all(np.isfinite(shape.points))
    for rule in problem.figures.values():
        assert rule(stored).axes
