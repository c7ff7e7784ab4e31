"""Events at the seam of an orbit happen once a period, whatever begins and ends there."""

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import daesolve as ds
from daesolve.core.posing.events import Direction
from tests.analysis.orbits import systems

periodic_orbit, continue_orbit = ds.analysis.periodic_orbit, ds.analysis.continue_orbit
RISING, FALLING, EITHER = ds.RISING, ds.FALLING, ds.EITHER
SWING = np.array([[0.0, 1.0], [-1.0, -0.1]])
"""x'' = -x - 0.1 x'."""
PERIOD = 2 * math.pi / math.sqrt(1 - 0.05**2)
LEFT = math.exp(-0.05 * PERIOD)
"""The part of its speed that the oscillator keeps in a period without kicks."""
SPEED = 0.3 / (1 - LEFT)
"""After a kick of 0.3 m/s a period: v = LEFT v + 0.3."""


def oscillator(*events: ds.Event, **more: Any) -> ds.MechanicalSystem:
    """x'' + 0.1 x' + x = 0, with events in which X and V are the state."""
    return ds.MechanicalSystem(
        X, kinetic=X.dot.x**2 / 2, potential=X.x**2 / 2, force={"x": -0.1 * X.dot.x},
        events=[*events], **more,
    )  # fmt: skip


X = ds.coordinates(x="m")


def kick(name: str, guard: ca.SX, by: ca.SX | float, way: Direction) -> ds.Event:
    """The speed jumps."""
    return ds.Event(name, guard, way, ds.Reset({"x_dot": X.dot.x + by}))


def check(orbit: ds.analysis.PeriodicOrbit, speed: float, multiplier: float = LEFT) -> None:
    """Hold an orbit that begins at x = 0 against its closed form, and against what was posed."""
    assert abs(orbit.period - PERIOD) < 1e-13
    assert abs(orbit.state["x"]) < 1e-13
    assert abs(orbit.state["x_dot"] - speed) < 1e-13
    assert abs(orbit.multipliers - [multiplier]).max() < 1e-12
    assert orbit.verdict == "stable"


KICKED: list[tuple[dict[str, Any], dict[str, float]]] = [
    ({"section": "kick"}, {"x": 0.0, "x_dot": 1.1}),
    ({"section": X.x, "direction": RISING}, {"x": 0.0, "x_dot": 0.8}),
    ({"period": 6.3}, {"x": 0.0, "x_dot": 1.1}),
    ({"section": 2 * X.x, "direction": RISING}, {"x": 0.02, "x_dot": 1.1}),
    ({"section": "kick"}, {"x": -0.5, "x_dot": 0.8}),
    ({"section": "kick"}, {"x": -0.01, "x_dot": 0.9}),
    ({"section": "kick"}, {"x": 0.3, "x_dot": 0.9}),
]


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(("returns", "guess"), KICKED)
def test_a_kick_at_the_section_happens_once_a_period(
    returns: dict[str, Any], guess: dict[str, float]
) -> None:
    orbit = periodic_orbit(oscillator(kick("kick", X.x, 0.3, RISING)), guess, **returns)
    check(orbit, SPEED)
    assert [event.name for event in orbit.events if event.name != "section"] == ["kick"]
    assert orbit.digits > 12


@pytest.mark.slow
@pytest.mark.parametrize("direction", [RISING, EITHER])
def test_an_orbit_that_begins_at_its_kick_holds_against_what_was_posed(
    direction: Direction,
) -> None:
    by = 0.1 * ca.sign(X.dot.x)
    passages = 1 if direction is RISING else 2
    guess = {"x": 0.0, "x_dot": 0.7 if direction is EITHER else 0.4}
    system = oscillator(kick("kick", X.x, by, direction))
    orbit = periodic_orbit(system, guess, section="kick", passages=passages, verify=False)
    assert orbit.audit().holds
    with pytest.raises(ds.errors.OutOfRangeError, match="a whole number >= 1"):
        orbit.audit(0)


@pytest.mark.slow
@pytest.mark.parametrize("guess", [{"x": 0.5, "x_dot": 0.8}, {"x": -0.5, "x_dot": 0.8}])
def test_a_start_past_a_guard_does_not_kick(guess: dict[str, float]) -> None:
    orbit = periodic_orbit(oscillator(kick("kick", X.x, 0.3, RISING)), guess, period=6.3)
    assert abs(orbit.period - PERIOD) < 1e-13
    assert abs(orbit.multipliers - [LEFT]).max() < 1e-12
    (event,) = orbit.events
    assert abs(event.detail["x_dot"] - (SPEED - 0.3)) < 1e-12


SIDES: list[tuple[list[ds.Event], float, dict[str, Any]]] = [
    ([kick("kick", X.x, -0.3, FALLING)], -SPEED, {}),
    ([kick("kick", X.x, 0.1, RISING), kick("two", X.x, 0.2, RISING)], SPEED, {}),
    ([kick("kick", X.x, 0.1, RISING), kick("two", 2 * X.x, 0.2, RISING)], SPEED, {}),
    ([kick("two", 2 * X.x, 0.2, RISING), kick("kick", X.x, 0.1, RISING)], SPEED, {}),
    (
        [kick("kick", X.x, 0.1 * ca.sign(X.dot.x), EITHER)],
        0.1 / (1 - math.sqrt(LEFT)),
        {"passages": 2},
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("events", "speed", "returns"), SIDES)
def test_kicks_of_every_direction_and_at_one_instant_happen_once(
    events: list[ds.Event], speed: float, returns: dict[str, Any]
) -> None:
    guess = {"x": 0.0, "x_dot": 0.9 * speed}
    check(periodic_orbit(oscillator(*events), guess, section="kick", **returns), speed)


@pytest.mark.slow
def test_a_push_at_a_section_of_speed_zero_happens_once() -> None:
    top = ds.Event("top", X.dot.x, FALLING, ds.Reset({"x": X.x + 0.3}))
    ends: list[dict[str, Any]] = [
        {"section": "top"},
        {"section": X.dot.x, "direction": FALLING},
    ]
    for returns in ends:
        orbit = periodic_orbit(oscillator(top), {"x": 1.0, "x_dot": 0.0}, **returns)
        assert abs(orbit.period - PERIOD) < 1e-13
        assert abs(orbit.state["x"] - SPEED) < 1e-13
        assert abs(orbit.multipliers - [LEFT]).max() < 1e-12


@pytest.mark.slow
def test_a_branch_begins_at_its_kick() -> None:
    p = ds.parameters(by=(0.3, "m/s"))
    system = oscillator(kick("kick", X.x, p.by, RISING), parameters=p)
    orbit = periodic_orbit(system, {"x": 0.0, "x_dot": 1.1}, section="kick", verify=False)
    branch = continue_orbit(orbit, {"by": (0.3, 0.6)}, step=0.2)
    assert abs(branch.points["x_dot"] - branch.points["by"] / (1 - LEFT)).max() < 1e-12
    assert branch.ends == ("reached by = 0.6",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "pieces"), [(0.0, None), (0.0, 2), (4.0, None), (1.0, None), (3.3, None)]
)
def test_a_clock_ticks_once_in_each_of_its_periods(start: float, pieces: int | None) -> None:
    # y+ = e^(4 A) y + (0, 0.3) from tick to tick.
    tick = kick("tick", ca.sin(math.pi * ds.time / 2), 0.3, RISING)
    guess = {"x": 0.1, "x_dot": 0.1}
    orbit = periodic_orbit(oscillator(tick), guess, period=4.0, start_time=start, pieces=pieces)
    after = np.linalg.solve(np.eye(2) - expm(4 * SWING), [0.0, 0.3])
    exact = expm(start % 4.0 * SWING) @ after
    assert abs(np.array([orbit.state["x"], orbit.state["x_dot"]]) - exact).max() < 1e-13
    expected = np.linalg.eigvals(expm(4 * SWING))
    assert abs(np.sort_complex(orbit.multipliers) - np.sort_complex(expected)).max() < 1e-12
    assert [event.name for event in orbit.events] == ["tick"]
    assert orbit.audit().holds


def timer() -> ds.MechanicalSystem:
    """A kick 0.8 s after the one before: the clock is a part of the state."""
    clock = ds.discrete(last=0.0)
    reset = ds.Reset({"x_dot": X.dot.x + 0.3, "last": ds.time})
    tick = ds.Event("tick", ds.time - clock.last - 0.8, RISING, reset)
    return oscillator(tick, discrete=clock)


@pytest.mark.slow
def test_an_orbit_that_begins_where_its_clock_is_set_is_found() -> None:
    orbit = periodic_orbit(timer(), {"x": 0.3, "x_dot": 0.1}, section="tick")
    after = np.linalg.solve(np.eye(2) - expm(0.8 * SWING), [0.0, 0.3])
    assert abs(np.array([orbit.state["x"], orbit.state["x_dot"]]) - after).max() < 1e-13
    assert abs(orbit.period - 0.8) < 1e-14
    # Beside the clock no direction of the state is that of the motion.
    expected = np.linalg.eigvals(expm(0.8 * SWING))
    assert abs(np.sort_complex(orbit.multipliers) - np.sort_complex(expected)).max() < 1e-12
    assert orbit.verdict == "stable"


@pytest.mark.slow
def test_an_orbit_that_begins_elsewhere_than_its_clock_is_refused() -> None:
    with pytest.raises(ds.errors.NotPeriodicError, match="another time since 'last' was set"):
        periodic_orbit(timer(), {"x": 0.3, "x_dot": 0.1}, section=X.dot.x, direction=FALLING)


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, 1e-6, 1e-3])
def test_a_driven_ball_may_begin_at_the_instant_of_its_impact(off: float) -> None:
    # Gamma cos(phase) = pi / 3 for a restitution of 0.5; it leaves with pi, up to gravity.
    phase = math.acos(math.pi / 3 / 1.3)
    guess = {"y": 1.3 * math.sin(phase), "y_dot": math.pi}
    orbit = periodic_orbit(
        systems.bouncing_ball(), guess, 2 * math.pi, parameters={"gamma": 1.3},
        start_time=phase + off,
    )  # fmt: skip
    assert abs(orbit.state["y_dot"] - (math.pi - off)) < 1e-12
    assert abs(np.prod(orbit.multipliers) - 0.25) < 1e-12
    assert [event.name for event in orbit.events] == ["bounce"]


FLIGHT = 2 * math.sqrt(2 / 9.81)
"""Between two bounces from 1 m, s."""


def elastic(kind: str) -> ds.MechanicalSystem:
    """A ball that keeps its energy when it bounces."""
    q = ds.coordinates(y="m")
    bounce = ds.Event("bounce", q.y, FALLING, ds.Reset({"y_dot": -q.dot.y}))
    contact = ds.Contact("floor", q.y, restitution=1.0, closed=False)
    more: dict[str, Any] = {"events": [bounce]} if kind == "event" else {"goals": [contact]}
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=9.81 * q.y, **more)


@pytest.mark.slow_rows("contact-0.98", "event-1.0", "contact-1.0")
@pytest.mark.parametrize("times", [0.98, 1.0])
@pytest.mark.parametrize("kind", ["event", "contact"])
def test_an_elastic_ball_has_an_orbit_from_its_apex(kind: str, times: float) -> None:
    family = {"energy": 9.81}
    guess = {"y": 1.0, "y_dot": 0.0}
    orbit = periodic_orbit(elastic(kind), guess, times * FLIGHT, family=family, verify=False)
    assert abs(orbit.period - FLIGHT) < 1e-14
    assert orbit.unfolding["energy"] == pytest.approx(0.0, abs=1e-12)
    assert orbit.verdict == "neutral"


# By the exact flow of stick and slip, see the problem.
BELT: dict[str, Any] = {
    "mass": 2, "stiffness": 50, "damping": 1, "load": 15, "static_friction": 0.5,
    "kinetic_friction": 0.35, "belt_speed": 0.08,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("section", ["belt_slips", "belt_sticks"])
@pytest.mark.parametrize("x", [None, 0.1484, 0.15, 0.12])
def test_a_mass_on_a_belt_returns_to_where_it_slips_and_sticks(
    section: str, x: float | None
) -> None:
    case = ds.problem("belt-oscillator").case("undamped", **BELT)
    guess = None if x is None else {"x": x, "x_dot": 0.08}
    orbit = case.periodic_orbit(guess, section=section)
    assert abs(orbit.period - 1.776156814240456) < 1e-13
    assert orbit.verdict == "stable"
    assert len(orbit.multipliers) == 0


@pytest.mark.long
@pytest.mark.parametrize("returns", [{"section": "lower_slips"}, {"period": 0.146}])
def test_a_woodpecker_comes_down_its_rod_from_any_start(returns: dict[str, Any]) -> None:
    # The cycle and its factor are those of the problem, from runs alone.
    case = ds.problem("woodpecker").case("cycle")
    shift = ds.analysis.Shift("y")
    orbit = case.periodic_orbit(case.solve(until=1.46), up_to=shift, **returns)
    assert abs(orbit.period - 0.145976065144) < 1e-10
    assert abs(orbit.leading + 0.83915565) < 1e-7


@pytest.mark.slow
def test_places_that_pieces_begin_at_may_have_other_freedoms() -> None:
    case = ds.problem("belt-oscillator").case("undamped", **BELT)
    orbit = case.periodic_orbit({"x": 0.15, "x_dot": 0.08}, section="belt_slips", pieces=3)
    freedoms = {basis.shape[1] for basis in orbit.found.shot.bases}
    assert len(freedoms) == 2
    assert abs(orbit.period - 1.776156814240456) < 1e-13
