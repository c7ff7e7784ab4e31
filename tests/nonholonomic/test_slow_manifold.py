"""Where there is no slow motion: what refuses to start, and what ends runs on their way there."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import InconsistentStateError, NoSlowManifoldError, SecondaryConstraintsError
from daesolve.nonholonomic.small_velocities import small_velocities

from .small_systems import gyroscope, gyroscope_model, spinning, wheelset_model

SMALL_ANGLES = ("alpha_dot", "beta_dot")

PLACE = {"alpha": 0.1, "beta": 0.3, "momentum_gamma": 1.0}
KICKED = {"y": 1.0, "psi": 0.3, "y_dot": -0.4, "psi_dot": 0.9}
numbers = st.floats(-1.5, 1.5)


def test_gimbal_lock_leaves_the_multipliers_undetermined():
    model = gyroscope_model()
    locked = {**PLACE, "beta": np.pi / 2}
    # Both singular values are equal, so that no condition number tells.
    assert np.linalg.cond(model.solvability_matrix(locked)) == pytest.approx(1.0)
    for ask in (
        model.start,
        model.validity,
        model.fast_spectrum,
    ):
        with pytest.raises(SecondaryConstraintsError, match="'alpha_dot', 'beta_dot' here"):
            ask(locked)
    near = {**PLACE, "beta": np.pi / 2 - 1e-6}
    assert model.fast_spectrum(near).kind == "weak"
    with pytest.raises(NoSlowManifoldError, match="there is no slow motion"):
        model.start(near)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("solver0-1")
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "solver", [ds.Taylor(), ds.Dop853(), pytest.param(ds.Cvodes(), marks=pytest.mark.slow)]
)
def test_a_motion_into_gimbal_lock_stops_before(order, solver):
    """T = sqrt(2) S / cos beta and beta' = Q / cos beta, so that T' = T Q sin / cos^2."""
    q = ds.coordinates(alpha="rad", beta="rad")
    kinetic = 0.005 * ca.sumsqr(q.dot.vector) + ca.sin(q.beta) * q.dot.alpha
    system = ds.MechanicalSystem(q, kinetic=kinetic, force={"alpha": 0.5})
    model = small_velocities(system, SMALL_ANGLES)
    start = model.start({"beta": 1.0}, order=order)
    run = ds.solve(model.refined if order else model.system, 5.0, start, solver=solver)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.events[-1].name == "slow_manifold_lost"
    cosine = np.cos(run.end_state["beta"])
    lengthening = 0.01 * np.sqrt(2) * 0.5 * np.sin(run.end_state["beta"]) / cosine**3
    assert lengthening == pytest.approx(1.0, rel=1e-7)
    if order == 0:  # sin beta grows by 0.5 in a second
        lost = (np.sqrt(1 - cosine**2) - np.sin(1.0)) / 0.5
        # CVODES at 1e-10, over a hundred steps.
        assert run.end_time == pytest.approx(lost, rel=1e-8)


@pytest.mark.slow
@pytest.mark.slow_rows("1")
@pytest.mark.parametrize("order", [0, 1])
def test_a_motion_on_which_forces_come_to_exceed_creep_stops_before(order):
    """S u' = t - u / sqrt(1 + u^2): T = S (1 + u^2)^(3/2), u = t / sqrt(1 - t^2)."""
    q = ds.coordinates(x="m")
    u = q.dot.x
    system = ds.MechanicalSystem(
        q, kinetic=0.005 * u**2, force={"x": ds.time - u / ca.sqrt(1 + u**2)}
    )
    model = small_velocities(system, ["x_dot"])
    reduced = model.refined if order else model.system
    run = ds.solve(reduced, 2.0, model.start({"x_dot": 0.1}, order=order))
    assert [event.name for event in run.events] == ["slow_manifold_lost"]
    share = np.sqrt(1 - run.end_time**2)
    assert 0.01 * 3 * run.end_time / share**5 == pytest.approx(1.0, rel=1e-9)


@pytest.mark.slow
def test_a_balance_that_folds_is_not_left_for_another_branch():
    """S u' = 0.8 cos t + u - u^3 / 3 balances up to the fold at u = 1."""
    q = ds.coordinates(x="m")
    force = 0.8 * ca.cos(ds.time) + q.dot.x - q.dot.x**3 / 3
    system = ds.MechanicalSystem(q, kinetic=0.005 * q.dot.x**2, force={"x": force})
    model = small_velocities(system, ["x_dot"])
    for order, reduced in enumerate((model.system, model.refined)):
        run = ds.solve(reduced, 5.0, model.start({"x_dot": 2.0}, order=order))
        assert [event.name for event in run.events] == ["slow_manifold_lost"]
        balanced = run.end_state["x_dot_leading"] if order else run.end_state["x_dot"]
        assert 1.0 < balanced < 1.2


def test_a_fast_motion_whose_time_is_constant_can_lose_nothing():
    model = wheelset_model()
    assert not model.system.events
    assert model.validity(KICKED).lengthening == 0.0


def test_a_rotor_that_turns_slowly_is_not_taken_for_gimbal_lock():
    """What counts is the momentum beside that of nearby states, not its size."""
    model = gyroscope_model()
    scaled = {**PLACE, "momentum_gamma": 1e-3}
    fast = model.fast_spectrum(scaled).eigenvalues
    np.testing.assert_allclose(fast, model.fast_spectrum(PLACE).eigenvalues / 1e3, rtol=1e-13)


def test_an_odd_number_of_gyroscopic_velocities_is_never_determined():
    system = spinning(3, lambda q: {"x_0": 1.0})
    with pytest.raises(SecondaryConstraintsError, match=r"never determine .* odd number"):
        small_velocities(system, system.v.names)
    with pytest.raises(SecondaryConstraintsError, match="never determine 'alpha_dot'"):
        small_velocities(gyroscope(), ["alpha_dot"])
    damped = spinning(3, lambda q: {"x_0": 1.0 - q.dot.x_0})
    assert small_velocities(damped, damped.v.names).fast_spectrum({}).kind == "strong"


def test_an_even_number_is():
    system = spinning(4, lambda q: {"x_0": 1.0})
    assert small_velocities(system, system.v.names).fast_spectrum({}).kind == "weak"


@pytest.mark.slow
@settings(derandomize=True, max_examples=15, deadline=None)
@given(st.floats(0.0, 2.5), st.floats(0.0, 6.3), st.lists(numbers, min_size=4, max_size=4))
def test_forces_beyond_those_of_coulomb_have_no_slow_manifold(size, angle, values):
    if abs(size - 2.0) < 1e-3:
        size = 1.99
    y, psi, *small = values
    state = {"y": y, "psi": psi, "y_dot": 5 * small[0], "psi_dot": 20 * small[1]}
    force, moment = size * np.cos(angle), size * np.sin(angle)
    parameters = {"force": force, "moment": moment, "swing": 0.0}
    if size > 2.0:
        with pytest.raises(
            NoSlowManifoldError, match="these exceed the forces that small velocities"
        ):
            wheelset_model(saturated=True).start(state, parameters)
        return
    found = wheelset_model(saturated=True).start(state, parameters)
    creep = np.array([found["y_dot"] - psi, 0.3 * (found["psi_dot"] + y)])
    pull = 2 * creep / max(1.0, float(np.linalg.norm(creep)))
    np.testing.assert_allclose(pull, [force, moment], atol=1e-9)


def test_gimbal_lock_is_distinguished_from_saturation_where_forces_are_not_linear():
    q = ds.coordinates(alpha="rad", beta="rad", x="m")
    kinetic = 0.005 * ca.sumsqr(q.dot.vector) + ca.sin(q.beta) * q.dot.alpha
    force = {"alpha": 0.3, "beta": 0.2, "x": 1.0 - q.dot.x - q.dot.x**3}
    model = small_velocities(
        ds.MechanicalSystem(q, kinetic=kinetic, force=force), [*SMALL_ANGLES, "x_dot"]
    )
    assert model.start({"beta": 0.3})["beta_dot"] == pytest.approx(0.3 / np.cos(0.3))
    with pytest.raises(SecondaryConstraintsError, match="'alpha_dot', 'beta_dot' here"):
        model.start({"beta": np.pi / 2})


def test_forces_without_a_derivative_at_the_start_are_reported():
    q = ds.coordinates(x="m")
    sliding = ds.MechanicalSystem(
        q, kinetic=0.005 * q.dot.x**2, force={"x": 1.0 - q.dot.x / ca.sqrt(q.dot.x**2)}
    )
    with pytest.raises(InconsistentStateError, match="not finite"):
        small_velocities(sliding, ["x_dot"]).start({"x": 1.0})
