"""Dirac's reduction of small velocities, against closed forms, Lagrange and the full systems."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.core.equations.consistency import instantaneous
from daesolve.errors import NoSlowManifoldError, OutOfRangeError, PosingError, UnknownNameError
from daesolve.nonholonomic.small_velocities import small_velocities

from .small_systems import general_model, gyroscope_model, wheelset_model

EPSILON = float(np.finfo(float).eps)
SMALL_ANGLES = ("alpha_dot", "beta_dot")
PLACE = {"alpha": 0.1, "beta": 0.3, "momentum_gamma": 1.0}
KICKED = {"y": 1.0, "psi": 0.3, "y_dot": -0.4, "psi_dot": 0.9}
numbers = st.floats(-1.5, 1.5)


def evaluated(model, *expressions):
    e = model.equations
    function = ca.Function("found", [e.t, e.slow, e.multipliers, e.p], list(expressions))
    p = model.full.dynamics.value_vector({})

    def evaluate(t, slow, multipliers):
        return [np.asarray(value).squeeze() for value in function.call([t, slow, multipliers, p])]

    return evaluate


# -- Dirac's equations ---------------------------------------------------------------------------


@settings(derandomize=True, max_examples=20, deadline=None)
@given(st.lists(numbers, min_size=7, max_size=7))
def test_the_gyroscope_has_the_equations_of_precession(values):
    model = gyroscope_model()
    t, alpha, beta, gamma, h, *small = values
    evaluate = evaluated(model, model.equations.balance, model.equations.inertia)
    balance, inertia = evaluate(t, [alpha, beta, gamma, h], small)
    about = (0.3 + 0.2 * np.cos(t), -0.5 * np.cos(beta) - 0.1 * alpha)
    grip = h * np.cos(beta)
    expected = [about[0] - grip * small[1], about[1] + grip * small[0]]
    np.testing.assert_allclose(balance, expected, atol=10 * EPSILON)
    ring = 0.5 + 0.8 * np.cos(beta) ** 2 + 0.3 * np.sin(beta) ** 2
    np.testing.assert_allclose(inertia, 0.01 * np.diag([ring, 0.7]), atol=10 * EPSILON)


def test_the_gyroscope_has_dirac_s_primary_constraints():
    model = gyroscope_model()
    constraints = ca.vertcat(*model.primary_constraints.values())
    coordinates, momenta = model.full.coordinates, model.momenta
    beta = coordinates.beta
    known = ca.vertcat(
        momenta.momentum_alpha - ca.sin(beta) * momenta.momentum_gamma, momenta.momentum_beta
    )
    symbols = [coordinates.vector, momenta.vector, model.full.parameters.vector]
    missed = ca.Function("missed", symbols, [constraints - known])
    found = np.asarray(missed([0.2, 0.7, 3.0], [0.4, -0.6, 1.3], [0.01, 0.0]))
    np.testing.assert_allclose(found, 0.0, atol=4 * EPSILON)
    assert tuple(model.primary_constraints) == model.multipliers == SMALL_ANGLES
    assert model.rank == 1


@settings(derandomize=True, max_examples=10, deadline=None)
@given(st.lists(numbers, min_size=7, max_size=7))
def test_what_dirac_s_equations_neglect_is_all_that_lagrange_s_have_besides(values):
    """S lambda' + carried' = R, with Lagrange's accelerations for lambda'."""
    model = general_model()
    t, *x = values
    dynamics, e = model.full.dynamics, model.equations
    p = dynamics.value_vector({})
    accelerations, _ = instantaneous(dynamics, t, np.array(x), p)
    motion = model._motion(dict(zip(dynamics.labels.states, x, strict=True)), None, t)
    # `carried` holds with x' of order 0; the exact one has the neglected terms besides.
    besides = ca.jtimes(e.inertia @ e.multipliers, e.slow, e.neglected)
    evaluate = evaluated(
        model, e.inertia, e.carried + besides, e.balance, e.velocities, e.rate + e.neglected
    )
    inertia, carried, balance, velocities, rate = evaluate(t, motion.slow, motion.multipliers)
    np.testing.assert_allclose(velocities, x[3:], atol=20 * EPSILON)
    rounding = 100 * EPSILON * (1.0 + np.max(np.abs(accelerations)))
    np.testing.assert_allclose(inertia @ accelerations[1:] + carried, balance, atol=rounding)
    momentum = ca.gradient(dynamics.kinetic, dynamics.velocities)[0]
    following = ca.jtimes(
        momentum, ca.vertcat(dynamics.t, dynamics.x), ca.DM([1.0, *x[3:], *accelerations])
    )
    exact = ca.Function("p1", [dynamics.t, dynamics.x, dynamics.p], [following])
    assert rate[3] == pytest.approx(float(exact(t, x, p)), abs=rounding)


def wheelset_equations(order, eps, rho, eta=0.3):
    """Return y' and psi' by Vlakhova's equations (17), or (19) as they follow by hand."""
    e, e_psi = (eps, eps * rho**2) if order else (0.0, 0.0)

    def rate(t, state):
        y, psi = state
        force, moment = 0.8 + 0.5 * np.cos(0.7 * t), 0.2 + 0.4 * np.sin(0.7 * t)
        force_dot, moment_dot = -0.35 * np.sin(0.7 * t), 0.28 * np.cos(0.7 * t)
        turning = moment / (2 * eta)
        return [
            e / 2 * y + psi + force / 2 - e * force_dot / 4 - e / 2 * turning,
            e_psi / 2 * psi - y + turning - e_psi * moment_dot / (4 * eta) + e_psi * force / 4,
        ]

    start = [
        1.0 + e / 2 * (-0.4 - 0.3 - 1.3 / 2),
        0.3 + e_psi / 2 * (0.9 + 1.0 - 0.2 / (2 * eta)),
    ]
    return rate, start


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("rho", [1.0, 0.9])
def test_the_wheelset_has_the_equations_of_the_paper_to_both_orders(order, rho):
    model = wheelset_model()
    parameters, times = {"rho": rho}, np.linspace(0.0, 6.0, 61)
    system = model.refined if order else model.system
    start = model.start(KICKED, parameters, order=order)
    run = ds.solve(system, 6.0, start, parameters=parameters, at=times)
    rate, initial = wheelset_equations(order, 0.01, rho)
    np.testing.assert_allclose([start["y"], start["psi"]], initial, rtol=4 * EPSILON)
    known = solve_ivp(rate, (0, 6), initial, "DOP853", times, rtol=1e-13, atol=1e-14)
    velocities = np.array([rate(t, x) for t, x in zip(times, known.y.T, strict=True)]).T
    # DOP853 at 1e-13 for six units of time.
    np.testing.assert_allclose([run["y"], run["psi"]], known.y, atol=5e-12)
    np.testing.assert_allclose([run["y_dot"], run["psi_dot"]], velocities, atol=5e-12)


def test_the_wheelset_s_refinement_grows_as_the_paper_has_it():
    model = wheelset_model()
    eps, rho = 0.01, 0.9
    parameters = {"rho": rho, "force": 0.0, "moment": 0.0, "swing": 0.0}
    run = ds.solve(
        model.refined,
        12.0,
        model.start({"y": 1.0, "psi": 0.5}, parameters, order=1),
        parameters=parameters,
        at=ds.every(0.5),
    )
    states = np.array([run["y"], run["psi"]])
    step = np.linalg.lstsq(states[:, :-1].T, states[:, 1:].T, rcond=None)[0].T
    found = np.log(np.linalg.eigvals(step).astype(complex)) / 0.5
    growth = eps * (1 + rho**2) / 4
    frequency = np.sqrt(1 - (eps * (1 - rho**2) / 4) ** 2)
    expected = [growth - 1j * frequency, growth + 1j * frequency]
    np.testing.assert_allclose(np.sort_complex(found), expected, rtol=1e-12)


# -- against the full systems --------------------------------------------------------------------


def error(run, full, names, since):
    late = full.times >= since
    return max(float(np.max(np.abs(run[name] - full[name])[late])) for name in names)


def measured_errors(model, start, until, since, names, eps):
    """Return the largest errors of both models after a time `since(eps)`, a row for each eps."""
    errors = []
    for value in eps:
        parameters = {"eps": value}
        options = {"parameters": parameters, "at": np.linspace(0.0, until, 201)}
        full = ds.solve(model.full, until, start, **options)
        leading = ds.solve(model.system, until, model.start(start, parameters), **options)
        refined = ds.solve(model.refined, until, model.start(start, parameters, order=1), **options)
        errors.append([error(run, full, names, since(value)) for run in (leading, refined)])
    return np.array(errors)


def check_orders(errors, eps):
    leading, refined = np.polyfit(np.log(eps), np.log(errors), 1)[0]
    assert 0.9 < leading < 1.15
    assert 1.85 < refined < 2.25


@pytest.mark.slow
def test_both_models_of_a_general_system_have_their_orders_from_a_start_far_off():
    start = {"r": 0.4, "a": 0.3, "b": -0.5, "r_dot": 0.7, "a_dot": 2.5, "b_dot": -3.0}
    names = ("r", "a", "b", "a_dot", "b_dot", "r_dot")
    eps = [0.01, 0.0025]
    errors = measured_errors(general_model(), start, 2.0, lambda _: 0.5, names, eps)
    check_orders(errors, eps)
    assert errors[-1, 0] > 100 * errors[-1, 1]


@pytest.mark.slow
def test_creep_that_is_saturated_at_the_start_keeps_the_orders():
    start = {"y": 1.0, "psi": 0.3, "y_dot": 4.0, "psi_dot": -12.0}
    eps = [0.01, 0.0025]
    model = wheelset_model(saturated=True)
    check_orders(measured_errors(model, start, 3.0, lambda _: 0.5, ("y", "psi"), eps), eps)


# Errors of y and psi after max(0.25, 12 eps), computed by another program.
WHEELSET_ERRORS = {0.04: (9.9e-2, 4.3e-3), 0.01: (2.341e-2, 2.426e-4), 0.0025: (5.768e-3, 1.473e-5)}


@pytest.mark.slow
@pytest.mark.parametrize(("drag", "turn"), [(1.0, 1.0), (0.0, -1.5), (-2.0, 0.4)])
def test_the_force_of_a_finite_inertia_in_the_layer_is_part_of_the_start(drag, turn):
    # A bead on a wire that turns against stiff friction: while the turn decays, z phi_dot^2 throws
    # the bead outwards by about eps z turn^2/2. With `drag` the friction depends on the turn.
    q, p = ds.coordinates(phi="rad", z="m"), ds.parameters(eps=(0.01, "", ds.POSITIVE))
    friction = q.dot.phi * (1 + 0.1 * drag * q.dot.phi) / p.eps
    bead = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.z**2 + q.z**2 * q.dot.phi**2) / 2,
        potential=q.z**2 / 2,
        force={"phi": 0.3 - friction},
    )
    model, start = small_velocities(bead, ["phi_dot"]), {"z": 1.0, "phi_dot": turn}
    sizes, errors = (0.02, 0.01, 0.005), []
    for eps in sizes:
        values = {"eps": eps}
        full = ds.solve(bead, 1.0, start, parameters=values, at=[1.0])
        begun = model.start(start, values, order=1)
        run = ds.solve(model.refined, 1.0, begun, parameters=values, at=[1.0])
        errors.append(max(abs(full[name][0] - run[name][0]) for name in q.names))
    # Without it the order is 1, and the errors are 100 times as large.
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.3), errors


@pytest.mark.slow
def test_the_wheelset_s_errors_are_those_of_another_program():
    eps, expected = list(WHEELSET_ERRORS), list(WHEELSET_ERRORS.values())

    def late(value):
        return max(0.25, 12 * value)

    errors = measured_errors(wheelset_model(), KICKED, 6.0, late, ("y", "psi"), eps)
    # The other program's samples lie elsewhere, and its numbers have two to four digits.
    np.testing.assert_allclose(errors, expected, rtol=0.02)
    check_orders(errors, eps)


@pytest.mark.slow
def test_the_fast_motion_chooses_among_several_balances_and_moves_positions_by_its_integral():
    """S u' = u - u^3 leads to the sign of u; x moves by -S sign ln((1 + |u|) / (2 |u|))."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=0.005 * q.dot.x**2, force={"x": q.dot.x - q.dot.x**3})
    model = small_velocities(system, ["x_dot"])
    for first in (0.1, -20.0, 1e3):
        start = model.start({"x": 0.0, "x_dot": first}, order=1)
        side, size = np.sign(first), abs(first)
        assert start["x_dot"] == pytest.approx(side, rel=1e-12)
        # LSODA at 1e-10, over hundreds of steps.
        expected = -0.01 * side * np.log((1 + size) / (2 * size))
        assert start["x"] == pytest.approx(expected, rel=1e-7)
    assert model.fast_spectrum({"x_dot": 0.0}).kind == "invalid"


# -- starts --------------------------------------------------------------------------------------


def test_large_velocities_are_kept_as_momenta_and_shown_as_outputs():
    start = {"alpha": 0.1, "beta": 0.3, "alpha_dot": 0.5, "beta_dot": -0.2, "gamma_dot": 80.0}
    momentum = 0.012 * (80.0 + 0.5 * np.sin(0.3))
    reduced = gyroscope_model().start(start)
    assert reduced["momentum_gamma"] == pytest.approx(momentum, rel=4 * EPSILON)
    run = ds.solve(gyroscope_model().system, 0.1, reduced)
    turning = momentum / 0.012 - run["alpha_dot"] * np.sin(run["beta"])
    np.testing.assert_allclose(run.outputs["gamma_dot"], turning, rtol=1e-14)


def test_a_start_of_order_0_meets_the_balance_and_moves_nothing_else():
    model = gyroscope_model()
    start = {**PLACE, "alpha_dot": 1.5, "beta_dot": -0.7}
    found = model.start(start)
    assert {name: found[name] for name in PLACE} == pytest.approx(PLACE, rel=4 * EPSILON)
    grip = np.cos(0.3)
    assert found["alpha_dot"] == pytest.approx((0.5 * grip + 0.01) / grip, rel=1e-14)
    assert found["beta_dot"] == pytest.approx(0.5 / grip, rel=1e-14)
    assert tuple(found) == model.system.states.names


@pytest.mark.parametrize("order", [0, 1])
def test_on_the_slow_manifold_a_state_starts_where_it_is(order):
    model = general_model()
    slow = model.on_slow_manifold({"r": 0.4, "a": 0.3, "b": -0.5, "r_dot": 0.7}, order=order)
    assert tuple(slow) == model.full.dynamics.labels.states
    again = model.on_slow_manifold(slow, order=order)
    assert again == pytest.approx(slow, rel=1e-12)
    started = model.start(slow, order=order)
    # Twice the order 1 leaves what is of the second order: eps^2.
    assert started["a_dot"] == pytest.approx(slow["a_dot"], abs=1e-4 if order else 1e-13)


@pytest.mark.slow
def test_the_states_of_runs_are_taken_as_states():
    model = general_model()
    run = ds.solve(model.refined, 0.5, model.start({"r": 0.4, "a": 0.3}, order=1))
    later = model.on_slow_manifold(run.end_state, time=0.5)
    assert later["a_dot"] == pytest.approx(run.end_state["a_dot"], rel=1e-9)


# -- fast motion and validity --------------------------------------------------------------------


def test_creep_lets_slip_decay():
    fast = wheelset_model().fast_spectrum(KICKED, {"rho": 0.8})
    np.testing.assert_allclose(fast.eigenvalues, [-2 / 0.0064, -2 / 0.01], rtol=1e-14)
    assert fast.kind == "strong"


def test_the_nutation_of_a_gyroscope_is_weak():
    fast = gyroscope_model().fast_spectrum(PLACE)
    ring = 0.5 + 0.8 * np.cos(0.3) ** 2 + 0.3 * np.sin(0.3) ** 2
    frequency = np.cos(0.3) / (0.01 * np.sqrt(0.7 * ring))
    np.testing.assert_allclose(fast.eigenvalues, [-1j * frequency, 1j * frequency], rtol=1e-14)
    assert fast.kinds == ("weak", "weak")
    assert gyroscope_model().fast_spectrum(PLACE, {"damping": 0.01}).kind == "strong"


def test_a_fast_motion_that_grows_makes_a_model_invalid():
    found = gyroscope_model().validity(PLACE, {"damping": -0.01})
    assert found.kind == "invalid"
    assert not found
    assert "does not hold: the fast motion grows" in str(found)
    for order in (0, 1):
        with pytest.raises(NoSlowManifoldError, match=r"fast motion of 'alpha_dot', .* grows here"):
            gyroscope_model().start(PLACE, {"damping": -0.01}, order=order)


def test_validity_compares_slow_and_fast_rates():
    """The slow motion has the rate 1, the fast one 2 / eps."""
    near = wheelset_model().validity(KICKED, {"eps": 0.01})
    assert near
    assert near.separation == pytest.approx(0.005, rel=1e-12)
    assert near.grip == pytest.approx(1.0, rel=1e-12)
    far = wheelset_model().validity(KICKED, {"eps": 1.2})
    assert not far
    assert far.separation == pytest.approx(0.6, rel=1e-12)
    assert far.correction == pytest.approx(120 * near.correction, rel=0.5)


def test_nothing_is_corrected_where_nothing_moves():
    rest = {"force": 0.0, "moment": 0.0, "swing": 0.0}
    assert wheelset_model().validity({}, rest).correction == 0.0


# -- what is carried over, and what is refused ---------------------------------------------------


def test_events_outputs_and_quadratures_go_with_the_reduced_systems():
    q, done = ds.coordinates(x="m", y="m"), ds.states(done="J")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + 0.01 * q.dot.y**2) / 2,
        force={"x": -q.x - q.y, "y": q.dot.x - q.dot.y},
        quadratures=done,
        integrands={"done": q.dot.y**2},
        events=[ds.Event("turned", q.dot.x, ds.FALLING, ds.Stop())],
        outputs={"twice": (2 * q.dot.x, "m/s")},
    )
    model = small_velocities(system, ["y_dot"])
    start = model.on_slow_manifold({"x_dot": 1.0})
    full = ds.solve(system, 20.0, start)
    assert [event.name for event in full.events] == ["turned"]
    # Ten times the ratio of rates, 0.01, and its square.
    for reduced, order, accuracy in ((model.system, 0, 0.1), (model.refined, 1, 1e-3)):
        run = ds.solve(reduced, 20.0, model.start(start, order=order))
        assert run.end_time == pytest.approx(full.end_time, rel=accuracy)
        np.testing.assert_allclose(run["twice"], 2 * run["x_dot"], atol=4 * EPSILON)
        assert run.end_state["done"] == pytest.approx(full.end_state["done"], rel=accuracy)


def slider(**changes):
    q = ds.coordinates(x="m", y="m")
    given = {"kinetic": (q.dot.x**2 + 0.01 * q.dot.y**2) / 2, "force": {"y": -q.dot.y}}
    return ds.MechanicalSystem(q, **(given | {name: make(q) for name, make in changes.items()}))


@pytest.mark.parametrize(
    ("system", "small", "kind", "told"),
    [
        (slider(), ["z_dot"], UnknownNameError, "unknown velocity 'z_dot'"),
        (slider(), ["y"], UnknownNameError, "there are 'x_dot', 'y_dot'"),
        (slider(), [], PosingError, "small must name at least one velocity"),
        (slider(), ["y_dot", "y_dot"], PosingError, "each once"),
        (slider(), "y_dot", PosingError, r"\['y_dot'\] for a single one"),
        (slider(), None, PosingError, "must be a list of names of velocities, not None"),
        (
            slider(kinetic=lambda q: q.dot.x**2, potential=lambda q: q.y**2),
            ["y_dot"],
            PosingError,
            "'y_dot' carry no inertia",
        ),
        (
            slider(
                events=lambda q: [ds.Event("back", q.x, ds.FALLING, ds.Reset({"x_dot": -q.dot.x}))]
            ),
            ["y_dot"],
            PosingError,
            "does not support the resets of 'back'",
        ),
        (
            slider(kinetic=lambda q: None, mass_matrix=lambda q: ca.SX.eye(2)),
            ["y_dot"],
            PosingError,
            "pose the system by kinetic=",
        ),
        (
            ds.ControlSystem(ds.states(x="m"), {"x": 1.0}),
            ["x"],
            PosingError,
            "not a ControlSystem",
        ),
    ],
)
def test_what_has_no_small_velocities_is_refused_in_a_sentence(system, small, kind, told):
    with pytest.raises(kind, match=told):
        small_velocities(system, small)


@pytest.mark.parametrize(
    ("state", "parameters", "kind", "told"),
    [
        ({"delta": 1.0}, None, UnknownNameError, "unknown state 'delta'"),
        ({**PLACE, "gamma_dot": 1.0}, None, OutOfRangeError, "not both"),
        ({"alpha": np.nan}, None, OutOfRangeError, "'alpha' is nan"),
        (PLACE, {"epsilon": 0.1}, UnknownNameError, "did you mean 'eps'"),
        (PLACE, {"eps": -0.1}, OutOfRangeError, "'eps' is -0.1"),
    ],
)
def test_states_that_cannot_be_are_refused(state, parameters, kind, told):
    with pytest.raises(kind, match=told):
        gyroscope_model().start(state, parameters)


def test_an_order_that_there_is_not_is_refused():
    with pytest.raises(OutOfRangeError, match="must be 0 or 1"):
        gyroscope_model().start(PLACE, order=2)


def blown(kind):
    """Return a light body in a wind by a table of time, on a slope by one of its place."""
    q = ds.coordinates(x="m")
    p = ds.parameters(eps=(0.01, "", ds.POSITIVE))
    wind = ds.table("wind", [0.0, 0.7, 1.0, 2.0, 2.5], [1.0, 3.0, 2.5, 0.0, -1.0], kind)
    slope = ds.table("slope", [-1.0, 0.1, 0.5, 1.0, 2.0], [0.0, 0.5, 1.5, 1.7, 1.5], kind)
    pushed = wind(ds.time) - slope(q.x) - 2 * q.dot.x
    return ds.MechanicalSystem(q, p, kinetic=p.eps / 2 * q.dot.x**2, force={"x": pushed})


@pytest.mark.slow
def test_tables_over_time_and_place_go_with_the_reduced_systems():
    system = blown("cubic")
    model, start = small_velocities(system, ["x_dot"]), {"x": -0.2, "x_dot": 2.0}
    at, errors = np.array([0.4, 0.8, 1.2, 1.9]), {0: [], 1: []}
    sizes = (0.02, 0.01, 0.005)
    for eps in sizes:
        values = {"eps": eps}
        full = ds.solve(system, 1.9, start, parameters=values, at=at)
        assert full["x"][-1] > 0.5  # so that nodes of both are passed
        for order, reduced in enumerate((model.system, model.refined)):
            begun = model.start(start, values, order=order)
            run = ds.solve(reduced, 1.9, begun, parameters=values, at=at)
            errors[order].append(np.max(np.abs(run["x"] - full["x"])))
    slopes = {order: np.polyfit(np.log(sizes), np.log(row), 1)[0] for order, row in errors.items()}
    assert slopes == pytest.approx({0: 1.0, 1: 2.0}, abs=0.2)


def test_a_table_is_read_at_the_time_and_place_of_a_state():
    model = small_velocities(blown("linear"), ["x_dot"])
    # In the third pieces of both: 2 x' = 2.5 - 2.5 (t - 1) - 1.5 - 0.4 (x - 0.5).
    by_hand = (2.5 - 2.5 * 0.5 - 1.5 - 0.4 * 0.25) / 2
    assert model.start({"x": 0.75}, time=1.5)["x_dot"] == pytest.approx(by_hand, abs=1e-14)


def test_tables_with_kinks_and_steps_are_refused_where_rates_are_needed():
    with pytest.raises(PosingError, match="'wind' has kinks"):
        _ = small_velocities(blown("linear"), ["x_dot"]).refined
    with pytest.raises(PosingError, match="'wind' has steps"):
        _ = small_velocities(blown("steps"), ["x_dot"]).system


def test_inputs_are_refused():
    q, u = ds.coordinates(x="m"), ds.inputs(push=(0.0, "N"))
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 200, force={"x": u.push - q.dot.x}, inputs=u
    )
    with pytest.raises(PosingError, match="'push' is an input"):
        small_velocities(system, ["x_dot"])
