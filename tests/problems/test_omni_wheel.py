"""One omni-wheel: few coordinates, closed forms, and where its energy goes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from daesolve_problems import omni_wheel
from daesolve_problems.omni_wheel.models import wheel_of

from daesolve.errors import OutOfRangeError, PosingError
from daesolve.reporting import document, with_drawing
from tests.reference.one_omni_wheel import Wheel

WHEEL = omni_wheel.problem


def reference_of(case) -> Wheel:
    """Return the same wheel by its reference."""
    p, rollers = case.full_parameters, case.full_structure["rollers"]
    wheel = wheel_of(p, rollers)
    return Wheel(
        rollers,
        p["wheel_radius"],
        wheel.roller.axis_distance,
        p["mass"],
        wheel.axial,
        wheel.upright,
        wheel.roller_along,
        p.get("friction", 0.0),
        p["gravity"],
    )


def axes_of(state) -> np.ndarray:
    """Return the wheel's axes in space, columns."""
    quaternion = [state[f"wheel_q{k}"] for k in (1, 2, 3, 0)]
    return scipy.spatial.transform.Rotation.from_quat(quaternion).as_matrix()


def in_few(state, rollers) -> np.ndarray:
    """Return (x, y, theta, chi, v, theta', chi', W_j) as the reference counts them.

    Its rollers turn about the other ends of their axes.
    """
    axes = axes_of(state)
    axle, first = axes[:, 2], axes[:, 0]
    theta = math.atan2(-axle[0], axle[1])
    ahead = np.array([axle[1], -axle[0], 0.0])
    chi = math.atan2(-first[2], float(first @ ahead))
    turning = axes @ [state[f"wheel_w{k}"] for k in (1, 2, 3)]
    spins = [-state[f"spin_{j}"] for j in range(1, rollers + 1)]
    place = [state[f"wheel_{name}"] for name in ("x", "y")]
    velocity = [state[f"wheel_{name}_dot"] for name in ("x", "y")]
    return np.array([*place, theta, chi, *velocity, turning[2], float(turning @ axle), *spins])


def first_of(run) -> dict[str, float]:
    """Return the states of the first sample."""
    return {name: float(values[0]) for name, values in run.states.items()}


def slid(case, until):
    """Run a case that only slides on one roller, by the library and by the reference."""
    run = case.solve(until=until)
    rollers = case.full_structure["rollers"]
    contact = next(j for j in range(rollers) if case.values[f"contact_roller_{j + 1}"] == 1.0)
    found = scipy.integrate.solve_ivp(
        reference_of(case).slides(contact),
        (0.0, until),
        in_few(first_of(run), rollers),
        "DOP853",
        rtol=1e-13,
        atol=1e-14,
    )
    return run, in_few(run.end_state, rollers), found.y[:, -1]


@pytest.mark.long
@pytest.mark.parametrize("rollers", [4, 5])
def test_it_slides_as_few_coordinates_say(rollers):
    case = (
        WHEEL.case("held")
        .changed({"rollers": rollers})
        .starting(
            {"turn": 0.2, "rate": 12.0, "spin_1": 15.0, "spin_2": 30.0, "yaw": 2.0, "heading": 0.3}
        )
    )
    run, found, wanted = slid(case, 0.02)
    assert run.events == ()
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("rollers", [4, 5])
def test_without_slip_it_rolls_and_changes_rollers_as_few_coordinates_say(rollers):
    """Twelve impacts and more; a double error at each would grow to some 1e-11."""
    case = WHEEL.case("ideal").changed({"rollers": rollers})
    run = case.solve()
    reference = reference_of(case)
    start = in_few(first_of(run), rollers)
    theta, v = start[2], start[4:6]
    axle = np.array([-math.sin(theta), math.cos(theta)])
    u = [v @ axle, v @ [-axle[1], axle[0]], start[6]]
    contact = int(case.values["contact"]) - 1
    momenta = reference.along * start[8:]
    end, changes = reference.rolls([*start[:4], *u, *momenta], contact, case.case.until)
    assert len(changes) >= 12
    assert [event.time for event in run.events] == pytest.approx(changes, abs=1e-10)
    found = in_few(run.end_state, rollers)
    np.testing.assert_allclose(found[:2], end[:2], atol=1e-10)
    turned = found[2:4] - end[2:4]
    np.testing.assert_allclose(np.remainder(turned + math.pi, 2 * math.pi), math.pi, atol=1e-10)
    np.testing.assert_allclose(found[6], end[6], atol=1e-9)


@pytest.mark.slow
def test_an_impact_of_rollers_takes_what_carnots_theorem_says():
    """It takes the kinetic energy of the lost velocities; free rollers keep their spins."""
    case = WHEEL.case("ideal")
    run = case.solve()
    wheel = wheel_of(case.full_parameters, 4)
    weights = [wheel.mass] * 3 + [wheel.upright] * 2 + [wheel.axial] + [wheel.roller_along] * 4
    names = [f"wheel_{axis}_dot" for axis in "xyz"] + [f"wheel_w{k}" for k in (1, 2, 3)]
    spins = [f"spin_{j}" for j in range(1, 5)]
    for event in run.events:
        lost = [event.detail[name] - event.after[name] for name in (*names, *spins)]
        taken = event.impact.kinetic_before - event.impact.kinetic_after
        assert taken == pytest.approx(np.dot(weights, np.square(lost)) / 2.0, abs=1e-15)
        entering = int(event.after["contact"])
        for number, name in enumerate(spins, start=1):
            if number != entering:
                assert event.detail[name] == pytest.approx(event.after[name], abs=1e-12)


@pytest.mark.long
def test_the_next_roller_takes_over_without_an_impact_and_is_spun_up():
    case = WHEEL.case("held")
    run = case.solve()
    assert not [event for event in run.events if event.impact]
    assert run.outcome.name == "COMPLETED"
    lost = [event for event in run.events if event.name.endswith("_lost")]
    assert len(lost) >= 6
    for event in lost:
        cosine = abs(axes_of(event.detail)[2, 0])
        # At a change two neighbours are at the same angle from straight below, pi / 4 here.
        assert cosine == pytest.approx(math.sin(math.pi / 4), abs=1e-9)
        others = [other.name for other in run.events if other.time == event.time]
        assert any(name.endswith("_closed") for name in others)
    weight = case.full_parameters["mass"] * case.full_parameters["gravity"]
    total = sum(run[f"roller_{j}"] for j in range(1, 5))
    np.testing.assert_allclose(total, weight, rtol=1e-9)
    np.testing.assert_allclose(run["wheel_z"], case.full_parameters["wheel_radius"], atol=1e-12)


@pytest.mark.long
def test_it_falls_lands_and_goes_on():
    case = WHEEL.case("dropped")
    run = case.solve()
    first = run.events[0]
    closed = next(event for event in run.events if event.impact)
    gravity = case.full_parameters["gravity"]
    assert closed.time == pytest.approx(math.sqrt(0.2 / gravity), rel=1e-12)
    assert first.time <= closed.time
    assert any(event.name.endswith("_sticks") for event in run.events)
    found = WHEEL.analyses["balance"](case).values
    assert abs(found["missing"]) <= 1e-10 * found["energy_at_the_start"]


@pytest.mark.long_rows("held")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["held", "ideal"])
def test_energy_goes_to_friction_and_impacts(name):
    found = WHEEL.analyses["balance"](WHEEL.case(name)).values
    assert found["taken_by_friction" if name == "held" else "taken_by_impacts"] > 1e-3
    assert abs(found["missing"]) <= 1e-12 * found["energy_at_the_start"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["free", "thrown"])
def test_energy_goes_to_friction_and_impacts_where_nothing_holds_it(name):
    found = WHEEL.analyses["balance"](WHEEL.case(name)).values
    assert found["impacts"] > 10
    assert abs(found["missing"]) <= 1e-10 * found["energy_at_the_start"]


@pytest.mark.slow
def test_in_flight_it_keeps_its_moment_of_momentum_and_the_spins_of_its_rollers():
    case = WHEEL.case("thrown")
    until = 0.5 * next(event.time for event in case.solve(until=0.2).events if event.impact)
    run = case.solve(until=until)
    wheel = wheel_of(case.full_parameters, 3)
    along = np.array([[math.cos(k), math.sin(k), 0.0] for k in 2.0 * math.pi * np.arange(3) / 3])

    def momentum(state):
        spins = np.array([state[f"spin_{j}"] for j in (1, 2, 3)])
        rates = np.array([state[f"wheel_w{k}"] for k in (1, 2, 3)])
        own = np.array([wheel.upright, wheel.upright, wheel.axial]) * rates
        return axes_of(state) @ (own + wheel.roller_along * spins @ along), spins

    before, after = momentum(first_of(run)), momentum(run.end_state)
    np.testing.assert_allclose(after[0], before[0], rtol=1e-12)
    np.testing.assert_allclose(after[1], before[1], rtol=1e-13)


@pytest.mark.long
def test_a_wheel_that_leans_rolls_at_the_start():
    """Its start has neither slip nor a gap that opens or closes."""
    case = WHEEL.case("free").starting({"lean": 0.2, "turn": 0.5, "lean_rate": 0.4, "yaw": 1.0})
    run = case.solve(until=1e-4)
    assert run.events == ()
    lowest = next(j for j in range(1, 5) if case.values[f"contact_roller_{j}"] == 1.0)
    assert abs(run[f"roller_{lowest}_slip_1"][0]) <= 1e-15
    assert abs(run[f"roller_{lowest}_slip_2"][0]) <= 1e-15


@pytest.mark.slow
def test_what_cannot_be_posed_is_refused():
    with pytest.raises(OutOfRangeError, match="rollers is 2, but must be at least 3"):
        WHEEL.system("rubs", {"rollers": 2, "upright": True})
    with pytest.raises(PosingError, match="stands on one roller at a time"):
        WHEEL.system("rolls", {"rollers": 4, "upright": False})
    ideal = WHEEL.case("ideal")
    with pytest.raises(OutOfRangeError, match="'roller_end_radius' is 0"):
        ideal.changed({"roller_end_radius": 0.0}).consistent_start()
    with pytest.raises(OutOfRangeError, match=r"height is 0\.1, but must be 0"):
        ideal.starting({"height": 0.1}).consistent_start()
    with pytest.raises(OutOfRangeError, match="must be below"):
        WHEEL.case("held").changed({"roller_end_radius": 0.04}).consistent_start()


@pytest.mark.long
def test_every_case_has_its_pictures():
    for own in WHEEL.cases:
        bound = WHEEL.case(own.name)
        run = bound.solve(until=0.01, at=np.linspace(0.0, 0.01, 5))
        told = document(run, bound.identity())
        stored = with_drawing(told, WHEEL.drawing)
        assert "drawing" in stored, stored["notes"]
        for figure in WHEEL.figures.values():
            assert figure(told).axes
