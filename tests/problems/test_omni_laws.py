"""One omni-wheel vehicle under three laws of contact: its equations, its starts, its refusals."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from daesolve_problems import omni_inertialess, omni_vehicle
from daesolve_problems.omni_friction import problem as pointed
from daesolve_problems.omni_laws import problem
from daesolve_problems.omni_laws.description import described, law_of
from daesolve_problems.omni_laws.starting import loads

import daesolve as ds
from daesolve.errors import OutOfRangeError, UndeterminedMotionError, UnknownNameError
from tests.reference.omni_laws_bodies import VehicleAnywhere

LAWS = ("inertialess", "impacts", "friction")
ANYWHERE = {
    "wheel_x_1": 0.21, "wheel_y_1": -0.02, "heading_1": 0.3, "roller_angle_1": 0.6,
    "wheel_x_2": -0.1, "wheel_y_2": 0.17, "heading_2": 2.2, "roller_angle_2": -0.4,
    "wheel_x_3": -0.12, "wheel_y_3": -0.16, "heading_3": 4.0, "roller_angle_3": 0.2,
    "platform_centre_x": 0.01, "platform_centre_y": -0.02, "slope": 0.1,
}  # fmt: skip


def random_state(case: Any, generator: np.random.Generator) -> dict[str, float]:
    """Return a state with wheels anywhere on random rollers."""
    labels = case.system.dynamics.labels
    edge = math.pi / case.full_structure["rollers"]
    state = {name: float(generator.uniform(-3.0, 3.0)) for name in labels.states}
    state |= {name: value / 3.0 for name, value in state.items() if name in ("v_1", "v_2", "omega")}
    for i in range(1, case.full_structure["wheels"] + 1):
        state[f"chi_{i}"] = float(generator.uniform(-edge, edge))
        state[f"contact_{i}"] = float(generator.integers(1, case.full_structure["rollers"] + 1))
    return state


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("pointed", "mecanum")
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("mixed", {}),
        ("mixed", {"slip_velocity": 2.0, "roller_angle": 0.5, "slope": -0.2}),
        ("mixed", ANYWHERE),
        ("mixed", {"rollers": 5, "roller_share": 0.5, "friction": 1.5, "roller_end_radius": 0.0}),
        ("mecanum", {"friction": 0.8}),
    ],
    ids=["level", "viscous", "anywhere", "pointed", "mecanum"],
)
def test_the_equations_of_friction_are_those_of_all_bodies_by_newton_and_euler(name, changes):
    case = problem.case(name, model="friction", **changes)
    dynamics, structure = case.system.dynamics, case.full_structure
    wheels, rollers = structure["wheels"], structure["rollers"]
    accelerations, reactions = (case.system.function(k) for k in ("accelerations", "reactions"))
    kinetic = ca.Function("kinetic", [dynamics.x, dynamics.p], [dynamics.kinetic])
    velocities = dynamics.labels.states[dynamics.position_count :]
    # Equal springs under a stiff rectangle: diagonals carry the same.
    shares = np.array([[1.0, -1.0, -1.0, 1.0]]) if wheels == 4 else None
    generator = np.random.default_rng(5)
    for _ in range(8):
        state = random_state(case, generator)
        values = {**case.values, **{k: v for k, v in state.items() if k.startswith("contact")}}
        found = VehicleAnywhere(values, state, wheels, rollers).solve(shares)
        for i, slip in enumerate(found.slips, start=1):
            values[f"saturated_{i}"] = float(np.linalg.norm(slip) > values["slip_velocity"])
        x = [state[label] for label in dynamics.labels.states]
        p = [values[label] for label in dynamics.ranges]
        told = np.array(accelerations(0.0, x, p)).ravel()
        expected = np.array([found.accelerations[label] for label in velocities])
        # The condition of the bodies' equations, whose masses and moments lie 1e5 apart.
        assert np.max(np.abs(told - expected)) < 1e-11 * np.max(np.abs(expected))
        normals = np.array(reactions(0.0, x, p)).ravel()
        assert np.max(np.abs(normals - found.normals)) < 1e-11 * np.max(np.abs(normals))
        energy = float(kinetic(x, dynamics.value_vector(values)))
        assert energy == pytest.approx(found.energy, rel=1e-12)
        car = described("friction", values, wheels, rollers)
        touching = [int(state[f"contact_{i}"]) for i in range(1, wheels + 1)]
        assert loads(car, values, touching, state)[0] == pytest.approx(found.normals, rel=1e-9)


def matched(case: Any) -> tuple[Any, dict[str, float]]:
    """Return what `description` makes of a case, and its values."""
    structure, values = case.full_structure, case.values
    law = law_of(values)
    return described(law, values, structure["wheels"], structure["rollers"]), dict(values)


@pytest.mark.long_rows("mecanum")
@pytest.mark.slow
@pytest.mark.slow_rows("level")
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("mixed", {}),
        ("mixed", {k: v for k, v in ANYWHERE.items() if k != "slope"}),
        ("mecanum", {}),
    ],
    ids=["level", "anywhere", "mecanum"],
)
def test_rolling_with_impacts_is_the_general_model_of_omni_rolling(name, changes):
    case = problem.case(name, model="impacts", roller_share=1.0, **changes)
    car, p = matched(case)
    kept = ("wheel_x_", "wheel_y_", "heading_", "roller_angle_", "platform_centre_")
    poses = {name: value for name, value in p.items() if name[:-1] in kept}
    other = omni_vehicle.problem.case(
        "mecanum" if name == "mecanum" else "twist",
        model="general",
        wheels=case.full_structure["wheels"],
        rollers=case.full_structure["rollers"],
        platform_mass=p["platform_mass"],
        platform_radius=p["platform_radius"],
        hub_mass=0.0,
        roller_mass=p["wheel_mass"] / case.full_structure["rollers"],
        wheel_radius=p["wheel_radius"],
        roller_axis_radius=car.frame.roller_axis_radius,
        roller_inertia=car.frame.along,
        roller_transverse_inertia=car.frame.across,
        velocity_scale=1.0,
        **poses,
    )
    until = 0.6
    run = case.solve(until)
    same = other.solve(until, initial={"nu_1": 1.0 / p["platform_radius"], "nu_3": 1.0})
    assert run.event_count == same.event_count > 5
    for state in ("x", "y", "theta"):
        # Both are integrated to rounding, over a dozen impacts.
        assert run.end_state[state] == pytest.approx(same.end_state[state], abs=1e-12)


@pytest.mark.slow
def test_rolling_with_impacts_is_the_compact_model_of_a_symmetric_vehicle():
    case = problem.case("mixed", model="impacts")
    car, p = matched(case)
    wheels, rollers = case.full_structure["wheels"], case.full_structure["rollers"]
    other = omni_vehicle.problem.case(
        "twist",
        model="compact",
        rollers=rollers,
        platform_radius=p["platform_radius"],
        roller_axis_radius=car.frame.roller_axis_radius,
        wheel_radius=p["wheel_radius"],
        total_mass=car.mass,
        vehicle_inertia=car.inertia + car.frame.along * wheels * rollers / 2.0,
        wheel_inertia=car.axial[0],
        roller_inertia=car.frame.along,
        velocity_scale=1.0,
    )
    run = case.solve(1.5)
    same = other.solve(1.5, initial={"nu_1": 1.0 / p["platform_radius"], "nu_3": 1.0})
    for state in ("x", "y", "theta"):
        assert run.end_state[state] == pytest.approx(same.end_state[state], abs=1e-12)


@pytest.mark.slow
def test_the_law_without_inertia_is_the_thesis_model_where_rollers_are_not_inclined():
    case = problem.case("mixed", model="inertialess", slope=0.0, platform_centre_x=0.02)
    car, p = matched(case)
    other = omni_inertialess.problem.case(
        "mixed",
        mass=car.mass,
        inertia=car.inertia,
        wheel_inertia=car.axial[0],
        wheel_radius=p["wheel_radius"],
        platform_radius=p["platform_radius"],
        centre_x=car.centre[0],
    )
    run, same = case.solve(2.0), other.solve(2.0)
    assert all(event.impact is not None for event in run.events)
    for state in ("x", "y", "theta", "v_1", "v_2", "omega"):
        assert run.end_state[state] == pytest.approx(same.end_state[state], abs=1e-12)


@pytest.mark.slow
def test_inclined_rollers_lose_energy_at_their_changes_even_without_inertia():
    run = problem.case("mecanum", model="inertialess").solve(0.5)
    impacts = [event.impact for event in run.events]
    lost = sum(impact.kinetic_before - impact.kinetic_after for impact in impacts)
    assert lost == pytest.approx(run["energy"][0] - run["energy"][-1], rel=1e-12)
    assert lost > 1e-4 * run["energy"][0]
    # Carnot's theorem, to rounding.
    assert max(impact.carnot for impact in impacts) < 1e-14


@pytest.mark.long
def test_sliding_is_the_reduced_model_of_omni_friction():
    case = problem.case("mixed", model="friction", roller_end_radius=0.0)
    solver = ds.RadauIIA(rtol=1e-8, atol=1e-10)
    run = case.solve(0.3, solver=solver)
    same = pointed.case("mixed").solve(0.3, solver=solver)
    assert run.event_count == same.event_count
    for state in ("x", "y", "theta"):
        assert run.end_state[state] == pytest.approx(same.end_state[state], abs=1e-8)


@pytest.mark.slow
@pytest.mark.slow_rows("friction")
@pytest.mark.parametrize("law", LAWS)
def test_on_a_slope_the_energy_that_gravity_gives_is_in_the_balance(law):
    run = problem.case("slope", model=law, roller_angle=0.3).solve(0.4)
    assert run["speed"][-1] > 0.1
    assert run.drift["energy"].max_relative < 1e-11


@pytest.mark.parametrize(
    ("law", "changes", "told"),
    [
        ("impacts", {"roller_end_radius": 0.0}, "on its tip a roller would have to turn"),
        ("impacts", {"roller_angle": 1.6}, "roller_angle_1 is 1.6 rad, but must lie between"),
        ("friction", {"roller_end_radius": 0.04}, "must be less than 0.0353553 m"),
        ("friction", {"platform_centre_x": -0.3}, "pull wheel 1 down"),
        ("friction", {"imposition": "sequential"}, "the law 'friction' imposes nothing"),
        ("inertialess", {"wheels": 2}, "wheels is 2, but must be at least 3"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(law, changes, told):
    with pytest.raises(OutOfRangeError, match=told):
        problem.case("straight", model=law, **changes).solve(0.1)


def test_four_wheels_that_rub_need_a_rule_of_how_they_share_the_load():
    with pytest.raises(UndeterminedMotionError, match="set compliant"):
        problem.case("mecanum", model="friction", compliant=False).solve(0.1)


@pytest.mark.parametrize(
    ("law", "name", "owners"),
    [
        ("impacts", "friction", "it belongs to the model 'friction'"),
        ("inertialess", "roller_inertia", "it belongs to the models 'impacts' and 'friction'"),
    ],
)
def test_a_parameter_that_a_law_has_no_use_for_is_refused_with_those_that_have(law, name, owners):
    with pytest.raises(UnknownNameError, match=owners):
        problem.case("mixed", model=law, **{name: 0.1})
