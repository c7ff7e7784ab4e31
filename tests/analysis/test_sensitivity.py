"""Derivatives of the final state of smooth motions, of ends and of cases, and what has none."""

from __future__ import annotations

import itertools
import json
import math

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import (
    InconsistentStateError,
    NoDerivativeError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
)
from tests.derivatives import ROUNDING, ball, check, differences, exact
from tests.systems import chain, chain_state, oscillator, pendulum, projectile

# -- smooth motions ------------------------------------------------------------------------------


def swing(x0, length, gravity, time):
    """x of a pendulum released from rest at x0, by Jacobi's elliptic functions."""
    modulus = mp.sin(mp.asin(mp.mpf(x0) / length) / 2)
    phase = mp.sqrt(mp.mpf(gravity) / length) * time
    cd = mp.ellipfun("cd", phase, k=abs(modulus))
    return length * mp.sin(2 * mp.asin(modulus * cd))


@pytest.mark.slow_rows(
    "feedback-cvodes-1e-08",
    "feedback-dop853-1e-10",
    "index-1-idas-1e-06",
    "null-space-taylor-2e-13",
    "projected-taylor-2e-13",
)
@pytest.mark.parametrize(
    ("formulation", "solver", "within"),
    [
        (ds.Feedback(), ds.Taylor(), 2e-13),
        (ds.NullSpace(), ds.Taylor(), 2e-13),
        (ds.Projected(), ds.Taylor(), 2e-13),
        (ds.Feedback(), ds.Dop853(rtol=1e-12, atol=1e-13), 1e-10),
        (ds.Feedback(), ds.Cvodes(rtol=1e-12, atol=1e-13), 1e-8),
        (ds.Index1(), ds.Idas(), 1e-6),
    ],
    ids=lambda option: getattr(option, "name", None),
)
def test_pendulum_follows_the_elliptic_functions_whatever_integrates_it(
    formulation, solver, within
):
    found = ds.analysis.sensitivity(
        pendulum(),
        3.0,
        {"x": -0.6},
        guess={"y": -0.8},
        by=["x", "length", "gravity", "mass"],
        formulation=formulation,
        solver=solver,
    )
    expected = exact(lambda *values: swing(*values, 3), [-0.6, 1.0, 9.81])
    for by, slope in zip(("x", "length", "gravity"), expected, strict=True):
        assert found["x", by] == pytest.approx(slope, rel=within)
    assert abs(found["x", "mass"]) < 1e-12
    assert found.end_time == dict.fromkeys(found.by, 0.0)


def test_derivative_by_gravity_of_a_long_swing_is_that_of_its_time_scale():
    found = ds.analysis.sensitivity(
        pendulum(), 200.0, {"x": -0.9}, guess={"y": -0.1}, by=["gravity"]
    )
    for name in ("x", "y"):
        expected = found.final_state[f"{name}_dot"] * 200.0 / (2 * 9.81)
        assert found[name, "gravity"] == pytest.approx(expected, rel=1e-11)


def test_an_angle_that_a_whole_number_makes_periodic_is_differentiated_by_that_number():
    """The equations of phi in 2 phi are those of a pendulum; their derivative by 2 grows with phi.

    With u = k phi, u'' = -0.2 k^2 sin u: k stands for a frequency, whatever its value.
    """
    p = ds.parameters(k=2.0)

    def end(kind):
        q = ds.coordinates(phi=kind)
        kinetic, potential = q.dot.phi**2 / 2, -0.2 * ca.cos(p.k * q.phi)
        system = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential)
        start = {"phi": 0.0, "phi_dot": 3.0}
        found = ds.analysis.sensitivity(system, 40.0, start, by=["k"])
        return [found[name, "k"] for name in ("phi", "phi_dot")]

    # Over 19 turns an angle that is wrapped loses none of the digits that one in radians has left.
    assert end(ds.ANGLE) == pytest.approx(end("rad"), rel=1e-9)


def test_a_system_without_any_number_is_differentiated_by_its_start():
    x = ds.states(a="", b="")
    rotation = ds.ControlSystem(x, {"a": x.b, "b": -x.a})
    found = ds.analysis.sensitivity(rotation, 1.0, {"a": 1.0, "b": 0.0}, by=["a"])
    assert found["a", "a"] == pytest.approx(math.cos(1.0), rel=1e-13)


def test_run_backwards_is_differentiated_too():
    found = ds.analysis.sensitivity(oscillator(), -2.0, {"x": 0.3, "x_dot": 1.0}, by=["x", "x_dot"])
    expected = [[np.cos(2.0), -np.sin(2.0)], [np.sin(2.0), np.cos(2.0)]]
    assert found.matrix == pytest.approx(np.array(expected), abs=ROUNDING)


@settings(derandomize=True, max_examples=5, deadline=None)
@given(st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=2))
@pytest.mark.slow
def test_chain_follows_its_own_differences(angles):
    system, start = chain(2), chain_state(angles)
    masses = [name for name in system.dynamics.ranges if "mass" in name][:1]
    found = ds.analysis.sensitivity(system, 1.0, start, by=[*masses, "gravity"])
    values = {name: system.dynamics.values[name] for name in found.by}

    def end(**changed):
        return ds.solve(system, 1.0, start, parameters=changed, at=[1.0]).end_state

    check(found, differences(end, values, part=0.005), 1e-8)


@pytest.mark.slow
def test_start_moves_along_with_what_makes_it_consistent():
    guess = {"x": 1.3, "y": -1.1, "x_dot": 0.4, "y_dot": 0.9}
    found = ds.analysis.sensitivity(pendulum(), 0.1, {}, guess=guess, by=["length"])
    away = np.hypot(guess["x"], guess["y"])
    starts = dict(zip(found.states, found.start[:, 0], strict=True))
    # The nearest point of the circle: along the radius; nearest velocity: across it, whatever l.
    assert starts["x"] == pytest.approx(guess["x"] / away, rel=1e-8)
    assert starts["y"] == pytest.approx(guess["y"] / away, rel=1e-8)
    assert starts["x_dot"] == pytest.approx(0.0, abs=1e-8)


# -- ends, moments, several guards ---------------------------------------------------------------


def test_stop_moves_the_end_of_the_run():
    system = projectile(
        events=lambda q: [
            ds.Event("top", q.dot.y, ds.FALLING, ds.Record()),
            ds.Event("ground", q.y, ds.FALLING, ds.Stop()),
        ]
    )
    found = ds.analysis.sensitivity(
        system, 10.0, {"y": 0.5, "y_dot": 3.0}, by=["y", "y_dot", "gravity"]
    )
    speed = np.sqrt(3.0**2 + 2 * 9.81 * 0.5)
    by_gravity = 0.5 / (9.81 * speed) - (3.0 + speed) / 9.81**2
    expected = [1.0 / speed, (1.0 + 3.0 / speed) / 9.81, by_gravity]
    assert [*found.end_time.values()] == pytest.approx(expected, rel=ROUNDING)
    assert found.event_times[0] == pytest.approx([0.0, 1 / 9.81, -3.0 / 9.81**2], rel=ROUNDING)
    assert found.event_times[1] == pytest.approx(expected, rel=ROUNDING)
    # At the ground, wherever it started: y stays zero, y' = -sqrt(v^2 + 2 g h).
    assert found.matrix[0] == pytest.approx([0.0, 0.0, 0.0], abs=ROUNDING)
    assert found.matrix[1] == pytest.approx([-9.81 / speed, -3 / speed, -0.5 / speed], rel=ROUNDING)


def test_reset_that_stops_too_gives_the_state_after_it():
    system = projectile(
        events=lambda q: [
            ds.Event("ground", q.y, ds.FALLING, ds.Reset({"y_dot": -q.dot.y / 2}) | ds.Stop())
        ]
    )
    found = ds.analysis.sensitivity(system, 10.0, {"y": 0.5, "y_dot": 0.0}, by=["y"])
    speed = np.sqrt(9.81)
    assert found.end_time["y"] == pytest.approx(1.0 / speed, rel=ROUNDING)
    assert found["y_dot", "y"] == pytest.approx(9.81 / speed / 2, rel=ROUNDING)


def test_event_that_holds_at_the_start_leaves_the_start():
    system = projectile(events=lambda q: [ds.Event("low", q.y - 1.0, ds.FALLING, ds.Stop())])
    found = ds.analysis.sensitivity(system, 1.0, {"y": 0.5, "y_dot": 0.0}, by=["y"])
    assert found.matrix[:, 0].tolist() == [1.0, 0.0]
    assert found.end_time["y"] == 0.0


def two_balls() -> ds.MechanicalSystem:
    q = ds.coordinates(a="m", b="m")
    p = ds.parameters(gravity=(9.81, "m/s^2"))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=p.gravity * (q.a + q.b),
        events=[
            ds.Event(
                "bounce",
                [q.a, q.b],
                ds.FALLING,
                ds.Reset(
                    lambda fired: {
                        f"{name}_dot": (1 - 2 * fired[k]) * q.dot[name]
                        for k, name in enumerate(("a", "b"))
                    }
                ),
            )
        ],
    )


def test_guards_that_pass_together_by_chance_are_reported():
    start = {"a": 1.0, "b": 1.0, "a_dot": 0.0, "b_dot": 0.0}
    system = two_balls()
    always = ds.analysis.sensitivity(system, 0.6, start, by=["gravity"])
    assert always.run.events[0].fired == (0, 1)
    assert not any("pass together" in note for note in always.notes)
    parted = ds.analysis.sensitivity(system, 0.6, start, by=["b"])
    (reported,) = [note for note in parted.notes if "pass together" in note]
    assert "'bounce' (1) and 'bounce' (2)" in reported
    assert "where 'b' changes" in reported


def test_event_at_the_start_is_reported_as_one_sided():
    start = {"y": 0.0, "y_dot": -1.0}
    found = ds.analysis.sensitivity(ball(), 0.05, start, by=["y_dot", "restitution", "y"])
    assert found.matrix[0] == pytest.approx([-0.8 * 0.05, 0.05, 1.0], rel=ROUNDING)
    (reported,) = [note for note in found.notes if "pass together" in note]
    assert "'bounce' and the start pass together at t = 0 s, but not where 'y' changes" in reported


# -- cases of problems ---------------------------------------------------------------------------


def swinging(**more) -> ds.Problem:
    def start(given, parameters, structure):
        angle, length = given["angle"], parameters["length"]
        return {"x": length * np.sin(angle), "y": -length * np.cos(angle)}

    return ds.Problem(
        "swinging",
        title="A pendulum by its angle",
        models={"cartesian": pendulum},
        start=start,
        cases=[ds.Case("release", start={"angle": 0.7}, until=2.0)],
        **more,
    )


def test_case_is_differentiated_through_its_start_rule():
    found = swinging().case().sensitivity(["angle", "length", "gravity"])
    # x = l X(angle, t sqrt(g / l)): by scaling, l x_l + g x_g = x.
    x, slopes = found.final_state["x"], {by: found["x", by] for by in found.by}
    assert slopes["length"] + 9.81 * slopes["gravity"] == pytest.approx(x, rel=1e-11)
    (by_angle,) = exact(lambda angle: swing(mp.sin(angle), 1, mp.mpf(9.81), 2), [0.7])
    assert slopes["angle"] == pytest.approx(by_angle, rel=1e-11)


def test_case_is_differentiated_through_its_derived_values():
    def derived(given, parameters, structure):
        return {"gravity": 9.81 * parameters["length"]}

    case = swinging(derived=derived).case()
    found = case.sensitivity(["length"], until=1.0)
    # With g proportional to l the motion is that of l = 1, enlarged.
    for name, value in found.final_state.items():
        assert found[name, "length"] == pytest.approx(value, rel=1e-11)
    with pytest.raises(OutOfRangeError, match="'gravity' follows from the other values"):
        case.sensitivity(["gravity"])


def test_analysis_names_what_it_differentiates_by():
    pytest.importorskip("daesolve_problems")
    reported = CliRunner().invoke(
        app, ["analyse", "pendulum", "sensitivity", "--of", "gravity", "--json"]
    )
    assert reported.exit_code == 0, reported.output
    answer = json.loads(reported.output)
    moved = answer["final_state"]["x_dot"] * answer["end_time"] / (2 * 9.81)
    assert answer["derivatives"]["gravity"]["x"] == pytest.approx(moved, rel=1e-10)
    without = CliRunner().invoke(app, ["analyse", "pendulum", "sensitivity"])
    assert without.exit_code == 2
    assert "--of NAME" in without.output
    other = CliRunner().invoke(app, ["analyse", "pendulum", "rank", "--of", "gravity"])
    assert other.exit_code == 2
    assert "'rank' does not use names" in other.output


@pytest.fixture
def omni_vehicle() -> ds.Problem:
    return pytest.importorskip("daesolve_problems.omni_vehicle").problem


@pytest.mark.slow
@pytest.mark.parametrize("imposition", ["simultaneous", "sequential"])
def test_vehicle_that_switches_all_wheels_at_once_follows_its_differences(omni_vehicle, imposition):
    case = omni_vehicle.case("spin", model="compact", imposition=imposition, roller_inertia=1e-5)
    found = case.sensitivity(["roller_inertia"], until=20.0)
    assert found.run.event_count >= 8
    assert not any("pass together" in note for note in found.notes)

    def end(**changed):
        return case.changed(changed).solve(until=20.0, at=[20.0]).end_state

    expected = differences(end, {"roller_inertia": 1e-5}, part=0.02)
    check(found, expected, 1e-9)


@pytest.mark.long
def test_vehicle_follows_its_differences_in_both_models_through_a_hundred_impacts(omni_vehicle):
    values = {"roller_inertia": 1e-5, "platform_mass": 1.0, "nu_1": 1.0}
    cases = {
        model: omni_vehicle.case("twist", model=model, roller_inertia=1e-5)
        for model in ("compact", "thesis")
    }
    found = {name: case.sensitivity([*values], until=50.0) for name, case in cases.items()}
    shared = [name for name in found["compact"].states if name in found["thesis"].states]
    thesis, compact = found["thesis"], found["compact"]
    for pair in itertools.product(shared, values):
        assert thesis[pair] == pytest.approx(compact[pair], rel=1e-9)

    def end(**changed):
        numbers = {name: value for name, value in changed.items() if name != "nu_1"}
        case = cases["compact"].changed(numbers)
        case = case.starting({"nu_1": changed.get("nu_1", 1.0)})
        run = case.solve(until=50.0, at=[50.0])
        assert run.event_count == compact.run.event_count
        return run.end_state

    assert compact.run.event_count > 90
    check(compact, differences(end, values, part=1e-4), 1e-7)


# -- bad input -----------------------------------------------------------------------------------


def test_what_cannot_be_differentiated_is_refused_in_one_sentence():
    system = pendulum()
    start = {"x": -0.6}

    def refused(error, words, **options):
        with pytest.raises(error, match=words):
            ds.analysis.sensitivity(
                system, 1.0, options.pop("initial", start), guess={"y": -0.8}, **options
            )

    refused(OutOfRangeError, "at least one", by=[])
    refused(OutOfRangeError, "list of at least one name", by="length")
    refused(UnknownNameError, "did you mean 'length'", by=["lenght"])
    refused(OutOfRangeError, "'y' is not fixed, but follows from the others", by=["y"])
    refused(
        InconsistentStateError,
        "the start cannot be adjusted to a change of 'length': .*leave one of x, y open",
        initial={"x": -0.6, "y": -0.8},
        by=["length"],
    )
    with pytest.raises(PosingError, match="has its own"):
        ds.analysis.sensitivity(swinging().case(), 1.0, by=["length"])  # pyright: ignore


def test_run_that_fails_has_no_derivative():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force=ca.vertcat(6 * q.x**2))
    with pytest.raises(NoDerivativeError, match="no end to differentiate, because it is failed"):
        ds.analysis.sensitivity(system, 5.0, {"x": 1.0, "x_dot": 2.0}, by=["x"])


@pytest.mark.slow
def test_guard_without_a_slope_gives_its_event_no_time():
    system = projectile(
        events=lambda q: [ds.Event("low", ca.sign(q.y - 0.3), ds.FALLING)], switches=False
    )
    with pytest.raises(NoDerivativeError, match="the guard of the event 'low' has no slope"):
        ds.analysis.sensitivity(system, 1.0, {"y": 0.5, "y_dot": 0.0}, by=["y"], solver=ds.Dop853())


@pytest.mark.slow
def test_guard_that_jumps_gives_its_event_the_time_of_its_jump():
    system = projectile(events=lambda q: [ds.Event("low", ca.sign(q.y - 0.3), ds.FALLING)])
    start = {"y": 0.5, "y_dot": 0.0}
    found = ds.analysis.sensitivity(system, 1.0, start, by=["y"], solver=ds.Dop853())
    fallen = math.sqrt(2.0 * 0.2 / 9.81)
    assert found.run.events[-1].name == "low"
    assert found.event_times[-1] == pytest.approx([1.0 / (9.81 * fallen)], rel=1e-12)


def test_names_of_the_answer_are_checked():
    found = ds.analysis.sensitivity(oscillator(), 1.0, {"x": 0.3, "x_dot": 1.0}, by=["x"])
    with pytest.raises(UnknownNameError, match="unknown state 'z'"):
        found["z", "x"]
    with pytest.raises(UnknownNameError, match="parameter or start value of the derivatives"):
        found["x", "x_dot"]


def test_a_budget_that_ends_the_run_leaves_nothing_to_differentiate():
    with pytest.raises(NoDerivativeError, match="budget of 100 right-hand sides"):
        ds.analysis.sensitivity(
            pendulum(), 1.0, {"x": -1.0}, by=["gravity"], solver="taylor", max_evaluations=100
        )


@pytest.mark.slow
def test_directions_in_lanes_beside_each_other_give_the_derivatives_of_each_by_itself():
    """The kernel that is asked for by name integrates one direction after the other."""
    start, by = {"x": 0.6}, ["x", "length", "gravity"]
    together, alone = (
        ds.analysis.sensitivity(pendulum(), 5.0, start, by=by, solver=solver)
        for solver in (None, ds.Taylor(engine="kernel"))
    )
    limit = 1e-12 * np.max(np.abs(alone.matrix))
    np.testing.assert_allclose(together.matrix, alone.matrix, rtol=0.0, atol=limit)


@pytest.mark.parametrize(
    ("x", "slope", "said"),
    [
        (1.0, (3.5 - math.pi / 4) / math.sqrt(2.0), "passes kinks"),
        (-0.5, 2.5, ""),
        (0.0, 2.5, "begins at a kink"),
    ],
)
def test_a_sensitivity_says_on_which_kinks_it_rests(x, slope, said):
    """A spring pushes back where x is positive. From x = 1, x = cos t + v sin t up to x = 0.

    That is at t = atan(-1 / v), and from there x' = -(1 + v^2)^(1/2); here v = -1.
    """
    q, p = ds.coordinates(x="m"), ds.parameters(k=(1.0, "N/m"))
    force = {"x": -p.k * ca.fmax(q.x, 0.0)}
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force=force)
    found = ds.analysis.sensitivity(system, 2.5, {"x": x, "x_dot": -1.0}, by=["x_dot"])
    assert found.matrix[0, 0] == pytest.approx(slope, rel=1e-9)
    notes = [note for note in found.notes if "kink" in note]
    assert len(notes) == bool(said)
    assert all(said in note for note in notes)
