"""The wheelset against exponentials, closed forms and published orders."""

from __future__ import annotations

import json

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.wheelset import models, problem
from daesolve_problems.wheelset.vehicles import normalised_numbers, saturated
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import daesolve as ds
from daesolve.analysis.root_locus import root_locus
from daesolve.cli.app import app
from daesolve.errors import NoSlowManifoldError, OutOfRangeError
from daesolve.multibody.drawing import Outline, evaluate
from daesolve.nonholonomic import no_slip_closure
from daesolve.reporting.document import document as run_document
from tests.reference import wheelset as truth

STATES = ("y", "psi", "y_dot", "psi_dot")
TIMES = np.linspace(0.0, 6.0, 25)
FORCES = {"forced": truth.FORCED, "free": truth.FREE}
REST = dict.fromkeys(STATES, 0.0)
LOADED = {"axle_load": 220e3}
EPS = (0.04, 0.02, 0.01, 0.005, 0.0025)


def largest_error(run, expected, names=STATES, since=0.0):
    later = run.times >= since
    return max(np.max(np.abs(run[name] - expected[name])[later]) for name in names)


def eigenvalues(model, **parameters):
    """Those of the straight motion, by their real parts."""
    case = problem.case("free", model=model, **parameters)
    rest = dict.fromkeys(case.system.dynamics.labels.states, 0.0)
    return ds.analysis.linearize(case.system, rest, parameters=case.values).eigenvalues


def growth_and_lambda(**parameters):
    """The growth rates (1/s) of the full and the refined model, and Lambda."""
    found = {}
    for model in ("full", "refined"):
        case = problem.case("hunting", model=model, **parameters)
        rest = dict.fromkeys(case.system.dynamics.labels.states, 0.0)
        found[model] = np.max(
            np.real(ds.analysis.linearize(case.system, rest, parameters=case.values).eigenvalues)
        )
    return found["full"], found["refined"], case.derived["Lambda"]


# -- the models against exponentials -----------------------------------------------------------


@pytest.mark.parametrize("case", FORCES)
def test_the_full_model_is_the_exact_solution(case):
    run = problem.case(case).solve(until=6.0, at=TIMES)
    assert largest_error(run, truth.full(TIMES, 0.01, FORCES[case])) < 1e-12


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("case", FORCES)
def test_diracs_model_is_equations_17(case):
    run = problem.case(case, model="dirac").solve(until=6.0, at=TIMES)
    assert largest_error(run, truth.slow(TIMES, 0.0, FORCES[case])) < 1e-12


@pytest.mark.parametrize("case", FORCES)
def test_the_refined_model_is_equations_19_with_their_corrected_start(case):
    changed = {"eps": 0.02, "Lambda": 2.0, "eta": 0.4, "rho_z": 0.9}
    run = problem.case(case, model="refined", **changed).solve(until=6.0, at=TIMES)
    expected = truth.slow(TIMES, 0.04, FORCES[case], eta=0.4, rho_z=0.9)
    assert largest_error(run, expected) < 1e-11


def test_without_slip_it_oscillates_kinematically_and_the_rails_carry_the_forces():
    run = problem.case("forced", model="no_slip").solve(until=6.0, at=TIMES)
    expected = truth.rolling(TIMES)
    assert largest_error(run, expected) < 1e-12
    force = 0.8 + 0.5 * np.cos(0.7 * TIMES)  # eps Lambda y'' = force + rail_force, y'' = -y
    assert run.reactions["rail_force"] == pytest.approx(-0.01 * expected["y"] - force, abs=1e-12)
    for name in ("slip_x", "slip_y"):
        assert np.max(np.abs(run[name])) < 1e-13


def test_two_freedoms_are_left_without_slip():
    structure = problem.meaning(problem.default_structure())
    assert no_slip_closure(models.rolling(structure["units"])).dimension == 2


# -- orders ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def orders():
    return problem.case("forced").analyse("orders")


@pytest.mark.slow
def test_the_orders_are_one_and_two(orders):
    slopes = orders.values["slopes"]
    assert orders.values["eps"] == list(EPS)
    for group in ("positions", "velocities"):
        assert 0.9 <= slopes[f"dirac {group}"] <= 1.15
        assert 1.85 <= slopes[f"refined {group}"] <= 2.25


def test_the_errors_are_those_of_the_exact_solutions(orders):
    names = {"positions": ("y", "psi"), "velocities": ("y_dot", "psi_dot")}
    for index, eps in enumerate(EPS):
        times = np.arange(601) / 100
        times = times[times >= max(0.25, 12 * eps)]
        full = truth.full(times, eps)
        slow = {"dirac": truth.slow(times, 0.0), "refined": truth.slow(times, eps)}
        for model, motion in slow.items():
            for group, states in names.items():
                expected = max(np.max(np.abs(motion[name] - full[name])) for name in states)
                found = orders.values["errors"][f"{model} {group}"][index]
                assert found == pytest.approx(expected, abs=1e-10), (model, group, eps)


def test_the_errors_are_those_published(orders):
    errors = {name: np.array(row) for name, row in orders.values["errors"].items()}
    published = {
        "dirac positions": [9.9e-2, 4.8e-2, 2.341e-2, 1.159e-2, 5.768e-3],
        "dirac velocities": [1.0e-1, 4.9e-2, 2.416e-2, 1.197e-2, 5.956e-3],
        "refined positions": [4.3e-3, 1.0e-3, 2.426e-4, 5.949e-5, 1.473e-5],
        "refined velocities": [4.5e-3, 1.1e-3, 2.570e-4, 6.313e-5, 1.564e-5],
    }
    for name, row in published.items():
        assert errors[name][2:] == pytest.approx(row[2:], rel=3e-4), name
        assert errors[name][:2] == pytest.approx(row[:2], rel=0.04), name  # two digits


def test_without_its_corrected_start_the_refinement_is_of_the_first_order_only():
    errors = []
    for eps in EPS:
        case = problem.case("forced", model="refined", eps=eps)
        # The correction vanishes where the fast motion does: started on (17).
        run = case.solve(6.0, at=TIMES, initial={"y_dot": 0.95, "psi_dot": -1 + 1 / 3})
        assert run["y"][0] == pytest.approx(1.0, abs=1e-14)
        assert run["psi"][0] == pytest.approx(0.3, abs=1e-14)
        expected = truth.full(TIMES, eps)
        errors.append(largest_error(run, expected, ("y", "psi"), max(0.25, 12 * eps)))
    assert 0.9 <= np.polyfit(np.log(EPS), np.log(errors), 1)[0] <= 1.15
    assert errors[2] == pytest.approx(1.1e-2, rel=0.05)


# -- eigenvalues -------------------------------------------------------------------------------


@pytest.mark.parametrize("rho_z", [1.0, 0.9])
def test_eigenvalues_are_those_published_and_those_of_closed_forms(rho_z):
    full = eigenvalues("full", rho_z=rho_z)
    slow, fast = full[np.real(full) > -1], full[np.real(full) < -1]
    assert slow[np.imag(slow) > 0] == pytest.approx([truth.FULL_SLOW[rho_z]], abs=1e-10)
    # Published to ten decimals.
    assert {*np.round(np.real(fast), 8)} == {*np.round(truth.FULL_FAST[rho_z], 8)}
    expected = truth.full_eigenvalues(0.01, rho_z)
    assert np.sort_complex(full) == pytest.approx(np.sort_complex(expected), abs=1e-10)
    refined = eigenvalues("refined", rho_z=rho_z)
    assert refined[np.imag(refined) > 0] == pytest.approx([truth.REFINED_SLOW[rho_z]], abs=1e-12)
    dirac = eigenvalues("dirac", rho_z=rho_z)
    assert dirac == pytest.approx([-1j, 1j], abs=1e-12)


@pytest.mark.slow
@settings(derandomize=True, max_examples=8, deadline=None)
@given(
    eps=st.floats(1e-3, 0.1),
    big=st.floats(0.1, 3.0),
    eta=st.floats(0.1, 1.0),
    rho_z=st.floats(0.5, 1.5),
)
def test_eigenvalues_are_those_of_closed_forms_for_any_parameters(eps, big, eta, rho_z):
    values = {"eps": eps, "Lambda": big, "eta": eta, "rho_z": rho_z}
    full, expected = eigenvalues("full", **values), truth.full_eigenvalues(eps * big, rho_z)
    scale = np.max(np.abs(expected))
    assert np.min(np.abs(full[:, None] - expected), axis=1) == pytest.approx(
        np.zeros(4), abs=1e-12 * scale
    )
    refined = eigenvalues("refined", **values)
    assert refined[np.imag(refined) > 0] == pytest.approx(
        [truth.refined_eigenvalue(eps * big, rho_z)], abs=1e-11
    )
    symmetric = eigenvalues("full", eps=eps, Lambda=big, eta=eta)
    distances = np.abs(symmetric - truth.symmetric_slow_eigenvalue(eps * big))
    assert np.min(distances) < 1e-12 * scale


def test_the_fast_motion_is_strong_and_the_model_knows_where_it_holds():
    case = problem.case("hunting")
    reduced = models.reduced(**problem.meaning(case.full_structure))
    spectrum = reduced.fast_spectrum(REST, case.values)
    time = case.derived["Lambda"] * 0.01 / (20 * np.sqrt(0.05 / 0.475 / 0.79))
    assert spectrum.kind == "strong"
    assert np.sort(spectrum.eigenvalues) == pytest.approx([-2 / 0.95**2 / time, -2 / time])
    assert reduced.validity(REST, case.values)
    light = problem.case("hunting", axle_load=1500 * 9.81)
    assert not reduced.validity(REST, light.values)


# -- slipping ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_motion_is_near_that_without_slip_only_where_nothing_but_creep_acts():
    free = problem.case("free").analyse("no-slip").values
    shown = [EPS.index(eps) for eps in (0.04, 0.01, 0.0025)]
    assert np.array(free["slip_y"])[shown] == pytest.approx([0.0223, 0.0053, 0.0013], rel=0.01)
    assert np.array(free["distance"])[shown] == pytest.approx([0.126, 0.030, 0.0074], rel=0.002)
    for name in ("slip_x", "slip_y", "distance"):
        assert np.polyfit(np.log(EPS), np.log(free[name]), 1)[0] == pytest.approx(1.0, abs=0.05)
    forced = problem.case("forced").analyse("no-slip").values
    assert forced["slip_y"][-1] == pytest.approx(0.647, abs=5e-4)
    assert forced["slip_x"][-1] == pytest.approx(0.300, abs=5e-4)
    assert forced["distance"][-1] == pytest.approx(1.54, abs=5e-3)
    for name in ("slip_x", "slip_y", "distance"):  # no limit of zero
        assert forced[name][-1] == pytest.approx(forced[name][0], rel=0.03)


@pytest.mark.slow
def test_saturated_creep_that_cannot_hold_the_forces_is_refused_by_the_reduced_models():
    beyond = {"force_mean": 1.8, "force_amplitude": 0.0,
              "moment_mean": 1.2, "moment_amplitude": 0.0}  # fmt: skip
    for model in ("dirac", "refined"):
        with pytest.raises(NoSlowManifoldError):
            problem.case("forced", model=model, creep="saturated", **beyond).solve(1.0)
    full = problem.case("forced", creep="saturated", **beyond).solve(1.0)
    assert full.outcome is ds.Outcome.COMPLETED
    assert full["slip_y"][-1] > 10.0  # it slides ever faster
    within = {"force_mean": 1.4, "moment_mean": 1.2, "force_amplitude": 0.0,
              "moment_amplitude": 0.0}  # fmt: skip
    run = problem.case("forced", model="dirac", creep="saturated", **within).solve(1.0)
    pushed = np.array([-0.6, 0.7])  # creep on each wheel balances half the force, half the moment
    assert run["slip_x"][0] == pytest.approx(pushed[0] / np.sqrt(1 - pushed @ pushed), rel=1e-10)
    assert run["slip_y"][0] == pytest.approx(pushed[1] / np.sqrt(1 - pushed @ pushed), rel=1e-10)


@pytest.mark.slow
@pytest.mark.slow_rows("refined")
@pytest.mark.parametrize("model", ["dirac", "refined"])
def test_a_motion_on_which_forces_come_to_exceed_saturated_creep_stops_before(model):
    growing = {"force_mean": 1.4, "moment_amplitude": 1.6}
    case = problem.case("forced", model=model, creep="saturated", **growing)
    run = case.solve(solver=ds.Dop853())
    assert run.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in run.events] == ["slow_manifold_lost"]
    phase = 0.7 * run.end_time
    force, moment = 1.4 + 0.5 * np.cos(phase), 0.2 + 1.6 * np.sin(phase)
    assert 3.6 < force**2 + moment**2 < 4.0


def test_validity_is_asked_for():
    told = problem.case("forced", eps=1.2).analyse("validity").values
    assert told["holds"] is False
    assert told["separation"] == pytest.approx(0.6, rel=1e-12)  # slow rates of 1, fast ones of 2/e
    assert told["fast_eigenvalues"]["real"] == pytest.approx([-2 / 1.2] * 2, rel=1e-12)


def test_a_root_locus_of_another_case_is_not_taken_for_what_was_set():
    with pytest.raises(OutOfRangeError, match="'eps' would have no effect"):
        problem.case("forced", eps=0.02).analyse("root-locus")


@settings(derandomize=True, max_examples=30)
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_saturated_creep_opposes_the_slip_and_stays_below_friction(along, across):
    slip = np.array([along, across])
    force = np.asarray(ca.DM(saturated(ca.SX(slip)))).ravel()
    assert np.linalg.norm(force) <= 1.0
    assert force @ slip <= 0.0
    assert np.linalg.norm(force + slip) <= np.linalg.norm(slip) ** 3 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("model", ["dirac", "refined"])
def test_with_saturated_creep_the_reduced_models_keep_their_orders(model):
    """Creep that depends on the slip in a non-linear way; the reference is the full model."""
    errors = []
    values = EPS[1:4]
    for eps in values:
        changed = {"creep": "saturated", "eps": eps}
        full = problem.case("forced", **changed).solve(2.0, at=TIMES[:9])
        run = problem.case("forced", model=model, **changed).solve(2.0, at=TIMES[:9])
        errors.append(largest_error(run, full, since=1.0))
    order = np.polyfit(np.log(values), np.log(errors), 1)[0]
    assert order == pytest.approx({"dirac": 1.0, "refined": 2.0}[model], abs=0.2)


# -- in SI units -------------------------------------------------------------------------------


def test_dimensional_and_normalised_equations_are_one_motion():
    case = problem.case("hunting", speed=9.0)
    numbers = case.full_parameters
    same = problem.case("free", **normalised_numbers(numbers))
    om0 = 9.0 * np.sqrt(0.05 / 0.475 / 0.79)
    width = 0.01 * 9.0 / om0
    start = {"y": width, "psi": 0.3 * 0.01, "y_dot": -0.4 * width * om0, "psi_dot": 0.9e-2 * om0}
    run = case.solve(TIMES[-1] / om0, at=TIMES / om0, initial=start)
    scaled = same.solve(6.0, at=TIMES)
    for name in ("y", "psi"):
        assert np.max(np.abs(run[f"scaled_{name}"] - scaled[name])) < 5e-11
    for name in ("slip_x", "slip_y"):
        assert np.max(np.abs(run[name] - scaled[name])) < 5e-11


def test_dimensional_equations_are_newtons():
    springs = {"lateral_stiffness": 3e5, "lateral_damping": 2e3, "yaw_stiffness": 1e5}
    case = problem.case("hunting", **springs)
    found = ds.analysis.linearize(case.system, REST, parameters=case.values)
    assert found.names == STATES
    assert found.matrix == pytest.approx(truth.dimensional_matrix(case.values), rel=1e-12)


def test_what_follows_from_dimensional_parameters_is_reported_and_cannot_be_set():
    case = problem.case("hunting")
    assert case.values["Lambda"] == pytest.approx(7.96, abs=5e-3)
    assert case.values["eta"] == pytest.approx(0.79 * np.sqrt(0.05 / 0.475 / 0.79))
    with pytest.raises(OutOfRangeError, match="'Lambda' follows from the other values"):
        problem.case("hunting", Lambda=2.0).solve(1.0)


@pytest.mark.slow
def test_growth_rates_over_speed_and_load_are_those_published():
    own = {"axle_load": 1500 * 9.81}
    assert growth_and_lambda(speed=1.83, **own)[2] == pytest.approx(1.0, abs=5e-3)
    assert growth_and_lambda(speed=7.1)[2] == pytest.approx(1.0, abs=5e-3)
    full, refined, big = growth_and_lambda(speed=20.0)
    om0 = 20 * np.sqrt(0.05 / 0.475 / 0.79)
    assert full == pytest.approx(0.275, abs=5e-4)
    assert full / om0 == pytest.approx(0.03761, abs=5e-6)
    assert refined / om0 == pytest.approx(0.03788, abs=5e-6)
    full, refined, big = growth_and_lambda(speed=20.0, **own)
    assert big * 0.01 == pytest.approx(1.19, abs=5e-3)
    assert full / om0 == pytest.approx(0.281, abs=5e-4)
    assert refined / om0 == pytest.approx(0.566, abs=5e-4)


def test_without_springs_growth_is_that_of_the_cube_of_the_speed():
    case = problem.case("hunting")
    locus = root_locus(case.system, {"speed": [1.0, 2.0, 4.0]}, parameters=LOADED)
    assert locus.critical == ()
    assert locus.growth[1:] / locus.growth[:-1] == pytest.approx([8.0, 8.0], rel=0.005)
    with_law = 2 * np.array([1, 2, 4.0]) ** 3 * 0.05 / 0.475 / 0.79 * 1500 / (0.25 * 220e3)
    assert locus.growth == pytest.approx(0.01 * (1 + 0.95**2) / 4 * with_law, rel=0.005)


@pytest.mark.slow
@settings(derandomize=True, max_examples=5, deadline=None)
@given(
    stiffness=st.floats(1e5, 1e6),
    yaw=st.floats(0.0, 5e4),
    load=st.floats(1e5, 3e5),
    conicity=st.floats(0.03, 0.2),
)
def test_the_critical_speed_is_that_of_routh_and_hurwitz(stiffness, yaw, load, conicity):
    springs = {"lateral_stiffness": stiffness, "yaw_stiffness": yaw}
    case = problem.case("suspended", axle_load=load, conicity=conicity, **springs)
    speed, frequency = truth.critical_speed(case.full_parameters)
    values = case.full_parameters
    speeds = {"speed": [0.6 * speed, 1.5 * speed]}
    (critical,) = root_locus(case.system, speeds, parameters=values).critical
    assert critical.lost
    assert critical.value == pytest.approx(speed, rel=1e-10)
    assert critical.frequency == pytest.approx(frequency, rel=1e-10)


# -- what is asked and drawn -------------------------------------------------------------------


@pytest.mark.long
def test_the_root_locus_tells_the_critical_speed_and_whose_it_is(tmp_path):
    directory = tmp_path / "answer"
    result = CliRunner().invoke(
        app, ["analyse", "wheelset", "root-locus", "--json", "--out", str(directory)]
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["of_case"] == "suspended"
    speed, _ = truth.critical_speed(told["with"])
    assert told["full"]["critical"][0]["speed"] == pytest.approx(speed, rel=1e-10)
    assert told["refined"]["critical"][0]["speed"] == pytest.approx(speed, rel=0.02)
    assert told["dirac"]["critical"] == []  # springs damp where inertia is neglected
    assert (directory / "root-locus.svg").is_file()


@pytest.mark.parametrize("analysis", ["orders", "no-slip"])
def test_what_varies_eps_needs_normalised_parameters(analysis):
    with pytest.raises(OutOfRangeError, match="units=normalised"):
        problem.case("hunting").analyse(analysis)


@pytest.mark.slow_rows("hunting")
@pytest.mark.parametrize("case", ["forced", "hunting"])
def test_the_wheels_stand_on_the_ends_of_the_axle_across_the_path(case):
    run = problem.case(case).solve(4.0)
    document = {
        "times": run.times,
        "states": {name: run[name] for name in STATES},
        "outputs": {name: run[name] for name in ("slip_x", "slip_y", "scaled_y", "scaled_psi")},
        "parameters": run.description["parameters"],
        "structure": {},
    }
    drawn = problem.drawing(document)
    placed = evaluate(drawn, dict(drawn.series), document["parameters"], 500)
    labels = [shape.label for shape in drawn.shapes]
    axle = placed[labels.index("axle")].points
    assert np.linalg.norm(axle[1] - axle[0]) == pytest.approx(3.0)
    along = np.array([drawn.series["along"], drawn.series["across"]])
    towards = along[:, 501] - along[:, 499]
    wheels = [shape.points for shape in placed if isinstance(shape.shape, Outline)]
    assert np.array([wheel.mean(axis=0) for wheel in wheels]) == pytest.approx(axle)
    if case == "hunting":  # it slips little: the axle stands across the path
        assert abs((axle[1] - axle[0]) @ towards) < 0.1 * 3.0 * np.linalg.norm(towards)
    told = run_document(run, problem.case(case).identity())
    for figure in problem.figures.values():
        assert figure(told).axes


@pytest.mark.slow
def test_models_are_asked_for_at_the_command_line():
    ends = {}
    for model in problem.models:
        arguments = ["run", "wheelset", "--model", model, "--set", "eps=0.005", "--json"]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        ends[model] = np.array([json.loads(result.stdout)["states"][n][-1] for n in STATES])
    assert np.max(np.abs(ends["refined"] - ends["full"])) < 1e-4
    assert 1e-3 < np.max(np.abs(ends["dirac"] - ends["full"])) < 2e-2
    assert np.max(np.abs(ends["no_slip"] - ends["full"])) > 0.5
