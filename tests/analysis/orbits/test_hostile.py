"""Invalid orbits and requests are refused in one sentence; multiples are reported."""

import math
import re
from collections.abc import Mapping
from typing import Any

import casadi as ca
import pytest

import daesolve as ds
from daesolve.analysis.orbits.orbit import known
from tests.analysis.orbits import systems
from tests.analysis.orbits.test_orbit_search import aside, period_of_a_pendulum, start

periodic_orbit, continue_orbit = ds.analysis.periodic_orbit, ds.analysis.continue_orbit
Shift, Reflect = ds.analysis.Shift, ds.analysis.Reflect
PERIOD = 6.663286859323
"""Of van der Pol's oscillator at mu = 1."""


def oscillator() -> ds.MechanicalSystem:
    """x'' = mu (1 - x^2) x' - x, with a parameter on which nothing depends."""
    q, p = ds.coordinates(x="m"), ds.parameters(mu=(1.0, "1/s"), idle=(1.0, ""))
    force = p.mu * (1 - q.x**2) * q.dot.x - q.x
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})


def damped() -> ds.MechanicalSystem:
    """Nothing but rest is periodic."""
    q = ds.coordinates(x="m")
    force = -0.3 * q.dot.x
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force={"x": force})


def lorenz() -> ds.ControlSystem:
    """Lorenz' equations."""
    s = ds.states(x="", y="", z="")
    rate = {"x": 10 * (s.y - s.x), "y": s.x * (28 - s.z) - s.y, "z": s.x * s.y - 8 * s.z / 3}
    return ds.ControlSystem(s, rate)


AT = {"x": 2.0, "x_dot": 0.0}
OUT: Mapping[str, Any] = {"section": "strike"}
HOSTILE: list[tuple[Any, Mapping[str, float], float | None, Mapping[str, Any], str]] = [
    (oscillator, {"x": 0.0, "x_dot": 0.0}, 6.6, {}, "the guess is an equilibrium"),
    (oscillator, {"x": 1e-3, "x_dot": 0.0}, 6.6, {}, "leads to an equilibrium"),
    (damped, {"x": 0.1, "x_dot": 0.0}, 6.28, {}, "leads to an equilibrium"),
    (damped, {"x": 10.0, "x_dot": 0.0}, 6.28, {}, "leads to an equilibrium"),
    (oscillator, AT, 6.6, {"up_to": Shift("x")}, "does not have this symmetry"),
    (oscillator, AT, 6.6, {"up_to": Reflect("x")}, "leads to an equilibrium"),
    (oscillator, AT, 0.5, {}, "no orbit was found"),
    (oscillator, AT, 1e-6, {}, "neighbouring orbits cannot be distinguished"),
    (oscillator, AT, None, {}, "a period or a section must be given"),
    (oscillator, AT, math.nan, {}, "must be a positive number"),
    (oscillator, {"x": math.nan, "x_dot": 0.0}, 6.6, {}, "not a finite number"),
    (oscillator, AT, 6.6, {"parameters": {"nu": 1.0}}, "unknown parameter 'nu'"),
    (oscillator, AT, 6.6, {"family": {"y": 1.0}}, "unknown first integral or state 'y'"),
    (systems.pendulum, {"theta": 1.0}, 2.2, {}, "'energy' is conserved"),
    (systems.pendulum, {"theta": 1.0}, 2.2, {"family": {"enrgy": 1.0}}, "did you mean 'energy'"),
    (systems.pendulum, {"theta": 1.0}, 2.2, {"family": {"energy": 50.0}}, "no orbit was found"),
    (systems.duffing, {"x": 0.5, "x_dot": 1.0}, math.pi / 1.3, {}, "going on by .* changes the"),
    (systems.walker, start(0.2, -0.2), None, {"section": "strik"}, "did you mean 'strike'"),
    (systems.walker, start(0.2, -0.05), None, OUT, "passes 0 times"),
    (systems.bouncing_ball, {"y": 1.0}, 2 * math.pi, {"parameters": {"gamma": 0.5}}, "no orbit"),
    (lorenz, {"x": -8.0, "y": -8.0, "z": 27.0}, 30.0, {}, "no orbit was found"),
]


@pytest.mark.default_rows(3)
@pytest.mark.long_rows("bouncing_ball-guess19-6.283185307179586-options19-no orbit")
@pytest.mark.slow_rows("lorenz-guess20-30.0-options20-no orbit was found")
@pytest.mark.parametrize(("system", "guess", "period", "options", "sentence"), HOSTILE)
def test_what_is_no_orbit_is_refused_in_a_sentence(
    system: Any,
    guess: Mapping[str, float],
    period: float | None,
    options: Mapping[str, Any],
    sentence: str,
) -> None:
    with pytest.raises(ds.errors.DaesolveError, match=sentence):
        periodic_orbit(system(), guess, period, **options)


def test_a_section_that_is_never_crossed_is_reported() -> None:
    q = ds.coordinates(x="m")
    force = (1 - q.x**2) * q.dot.x - q.x
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force})
    with pytest.raises(ds.errors.NotPeriodicError, match="'section' passes 0 times"):
        periodic_orbit(system, AT, section=q.x - 5)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        ({"nu": (0.0, 2.0)}, "unknown parameter or first integral to vary 'nu'"),
        ({"idle": (0.0, 2.0)}, "nothing depends on 'idle'"),
        ({"mu": (2.0, 3.0)}, "the orbit has mu = 1"),
        ({"mu": ("a", 2.0)}, "must be a pair of numbers"),
    ],
)
def test_a_branch_over_what_cannot_be_varied_is_refused(
    over: dict[str, tuple[float, float]], sentence: str
) -> None:
    orbit = periodic_orbit(oscillator(), AT, PERIOD, verify=False)
    with pytest.raises(ds.errors.DaesolveError, match=sentence):
        continue_orbit(orbit, over)


@pytest.mark.slow
def test_what_a_family_shrinks_to_ends_it() -> None:
    guess = {"theta": 1.0, "theta_dot": 0.0}
    orbit = periodic_orbit(systems.pendulum(), guess, 2.2, family={"theta": 1.0}, verify=False)
    branch = continue_orbit(orbit, {"energy": (-9.9, -5.0)}, step=0.1)
    assert branch.ends[0].endswith("the orbit shrinks to an equilibrium")
    assert branch.points["energy"][0] > -9.81
    assert branch.points["energy"][0] < -9.7


@pytest.mark.slow
@pytest.mark.parametrize("times", [2, 3, 6])
def test_a_period_that_is_a_multiple_of_the_least_one_is_reported(times: int) -> None:
    cycle = periodic_orbit(oscillator(), AT, times * PERIOD, verify=False)
    assert abs(cycle.period - times * PERIOD) < 1e-9
    drive = 2 * math.pi / 1.3
    guess = {"x": 0.5, "x_dot": 1.0}
    forced = periodic_orbit(systems.duffing(), guess, times * drive, verify=False)
    (note,) = [note for note in forced.notes if "the shortest one" in note]
    assert note.startswith(f"the period is {times} times the shortest one, {drive:.12g} s")
    assert any(f"{times} times the shortest one" in note for note in cycle.notes)


@pytest.mark.slow
def test_passages_and_half_periods_that_are_too_many_are_reported() -> None:
    steps = periodic_orbit(
        systems.walker(), start(0.2, -0.2), section="strike", passages=2, verify=False
    )
    assert any("2 times the shortest one" in note for note in steps.notes)
    halves = periodic_orbit(
        systems.duffing(),
        {"x": 0.5, "x_dot": 1.0},
        3 * math.pi / 1.3,
        up_to=Reflect("x"),
        verify=False,
    )
    assert any("3 times the shortest one" in note for note in halves.notes)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("2.0")
@pytest.mark.parametrize("amplitude", [0.5, 1.0, 2.0, 3.0])
def test_digits_that_are_printed_are_those_of_the_exact_period(amplitude: float) -> None:
    exact = period_of_a_pendulum(amplitude)
    guess, family = {"theta": amplitude, "theta_dot": 0.0}, {"theta": amplitude}
    orbit = periodic_orbit(systems.pendulum(), guess, 1.02 * exact, family=family)
    (printed,) = re.findall(r"period ([\d.]+) s, neutral", str(orbit))
    # To one of the last digit, and there are many.
    assert len(printed) > 12
    places = len(printed.partition(".")[2])
    assert abs(float(printed) - exact) < 1.5 * 10.0**-places
    unverified = periodic_orbit(systems.pendulum(), guess, exact, family=family, verify=False)
    assert f"period {exact:.6g} s" in str(unverified)


@pytest.mark.parametrize(
    ("value", "uncertainty", "printed"),
    [
        (3.88246375285139, 3e-13, "3.882463752851"),
        (-1.9e-30, 1e-14, "0"),
        (0.0, 1e-10, "0"),
        (6.02e23, 1e21, "6.02e+23"),
        (1234.5678, 0.1, "1234.6"),
        (-0.05, 1.0, "0"),
        (math.nan, 1e-3, "nan"),
    ],
)
def test_numbers_are_printed_to_what_is_known(
    value: float, uncertainty: float, printed: str
) -> None:
    assert known(value, uncertainty) == printed


@pytest.mark.long
def test_guesses_off_by_five_percent_lead_to_orbits_near_to_the_top_and_beyond_a_barrier() -> None:
    exact, energy = period_of_a_pendulum(3.0), -9.81 * math.cos(3.0)
    for off in aside(20, 3, seed=11):
        # Some begin beyond the top, which is 4.7 % farther.
        guess = {"theta": 3.0 * (1 + off[0]), "theta_dot": 3.0 * off[1]}
        family, about = {"energy": energy}, exact * (1 + off[2])
        orbit = periodic_orbit(systems.pendulum(), guess, about, family=family, verify=False)
        assert abs(orbit.period - exact) < 1e-12
    quicker = 0
    for off in aside(20, 2, seed=11):
        # A mass that overtakes the belt is beyond the guard at which it sticks.
        guess = {"x": 0.04 * (1 + off[0]), "x_dot": 0.1 * (1 + off[1])}
        orbit = periodic_orbit(systems.belt(), guess, section="slip", verify=False)
        assert abs(orbit.period - 0.671238898038469) < 1e-14
        quicker += any("the guess was made -" in note for note in orbit.notes)
    assert quicker > 0


@pytest.mark.long
def test_a_branch_never_has_a_point_that_is_no_orbit() -> None:
    # r sin a = sin b with r > 1: a cannot turn. What misses a turn is not taken for an orbit.
    q, p = ds.coordinates(a="rad", b="rad"), ds.parameters(r=(0.995, ""))
    link = ds.Holonomic("link", p.r * ca.sin(q.a) - ca.sin(q.b))
    system = ds.MechanicalSystem(q, p, kinetic=(q.dot.a**2 + q.dot.b**2) / 2, goals=[link])
    guess = {"a": 0.3, "b": math.asin(0.995 * math.sin(0.3)), "a_dot": 1.0}
    turn = Shift(a=2 * math.pi)
    orbit = periodic_orbit(system, guess, 6.0, up_to=turn, family={"energy": 1.0}, verify=False)
    branch = continue_orbit(orbit, {"r": (0.995, 1.01)}, step=1.0, most=3)
    assert branch.points["r"].max() < 1.0


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("every", [0.25, 0.3], ids=["commensurate", "not"])
def test_a_law_that_takes_samples_is_refused_also_without_verification(every, traced):
    """What the law holds was frozen in an orbit, and multipliers were those without the law."""
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    force = u.push - 0.8 * q.dot.x + ca.cos(2 * math.pi * ds.time)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force}, inputs=u)
    law = ds.sampled("push", every, lambda seen: -4 * seen.x, traced=traced)
    with pytest.raises(ds.errors.UnsupportedError, match="the law 'push' takes samples"):
        ds.analysis.periodic_orbit(system, {"x": 0.1}, 1.0, inputs={"push": law}, verify=False)
