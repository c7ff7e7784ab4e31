"""Branches and their special points against closed forms and two other routes.

Folds, doublings, Neimark-Sacker points: shooting by DOP853 beside Fourier collocation, which
agree to 2e-13; the walker's doublings by DOP853 beside heyoka.
"""

import cmath
import math
import re
from pathlib import Path
from typing import Literal

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import daesolve as ds
from tests.analysis.orbits import systems
from tests.analysis.orbits.test_orbit_search import period_of_a_pendulum, start

periodic_orbit, continue_orbit = ds.analysis.periodic_orbit, ds.analysis.continue_orbit


@pytest.mark.long
def test_the_period_of_a_pendulum_grows_along_its_family() -> None:
    guess = {"theta": 0.5, "theta_dot": 0.0}
    orbit = periodic_orbit(systems.pendulum(), guess, 2.0, family={"theta": 0.5}, verify=False)
    branch = continue_orbit(orbit, {"energy": (-9.81 * math.cos(0.5), 9.81 * 0.9)}, step=0.1)
    energies, periods = branch.points["energy"], branch.points["period"]
    exact = [period_of_a_pendulum(math.acos(-energy / 9.81)) for energy in energies]
    # A point is right to the last correction, 1e-10; the next would be its square.
    assert np.abs(periods / exact - 1).max() < 1e-12
    assert not branch.special
    assert set(branch.verdicts) == {"neutral"}
    assert branch.ends == ("reached energy = 8.829",)


@pytest.mark.long
def test_a_walker_doubles_its_period_and_again() -> None:
    orbit = periodic_orbit(systems.walker(), start(0.2, -0.2), section="strike", verify=False)
    branch = continue_orbit(orbit, {"slope": (0.009, 0.0155)}, step=0.05)
    (doubling,) = branch.special
    assert str(doubling).startswith("period doubling at slope = 0.01508843794")
    # heyoka finds -1.000000000013 there, and the multiplier falls by 60 for each radian.
    assert abs(doubling.value - 0.0150884379411163) < 4e-13
    assert abs(doubling.orbit.period - 3.9124092124805) < 1e-11
    assert abs(doubling.orbit.multipliers - [-1.0, -0.29762136168466]).max() < 1e-10
    double = doubling.switch()
    assert double.verdict == "stable"
    onward = continue_orbit(double, {"slope": (double.values["slope"], 0.0178)}, step=0.05)
    assert abs(onward.special[-1].value - 0.01766937486246) < 1e-13
    two = onward.at(0.0153884379411163)
    assert abs(two.period - 7.8179201941788) < 1e-12
    assert abs(two.multipliers - [0.726294469, 0.120683580]).max() < 1e-8
    with pytest.raises(ds.errors.OutOfRangeError, match=r"the branch covers slope from .* not 1"):
        onward.at(1.0)


@pytest.mark.long
def test_a_duffing_oscillator_folds_twice() -> None:
    system = systems.duffing()
    period = 2 * ca.pi / system.parameters.w
    orbit = periodic_orbit(system, {"x": 0.5, "x_dot": 1.0}, period, verify=False)
    branch = continue_orbit(orbit, {"w": (1.3, 2.5)}, step=0.1)
    upper, lower = branch.special
    assert upper.kind == lower.kind == "fold"
    assert abs(upper.value - 2.2119353170197) < 2e-13
    assert abs(lower.value - 1.4386701455142) < 2e-13
    assert abs(upper.orbit.leading - 1.0) < 1e-7  # the square root of how exactly it is found
    assert abs(upper.orbit.state["x"] + 0.0596724168) < 1e-9
    with pytest.raises(ds.errors.UnsupportedError, match="this is a fold"):
        upper.switch()


@pytest.mark.long
def test_a_forced_pendulum_breaks_its_symmetry_and_doubles() -> None:
    orbit = periodic_orbit(
        systems.forced_pendulum(),
        {"theta": -1.0, "theta_dot": 1.9},
        1.5 * math.pi,
        parameters={"F": 0.99},
        up_to=ds.analysis.Reflect("theta"),
        verify=False,
    )
    (breaking,) = continue_orbit(orbit, {"F": (0.99, 1.02)}, step=0.1).special
    assert breaking.kind == "symmetry breaking"
    assert abs(breaking.value - 1.00431947742647) < 2e-13
    bent = breaking.switch(side=-1)
    assert abs(bent.period - 3 * math.pi) < 1e-14
    special = continue_orbit(bent, {"F": (1.0, 1.07)}, step=0.1).special
    assert {point.kind for point in special} == {"period doubling"}
    for point in special:  # on both sides of the symmetric orbit
        assert abs(point.value - 1.0663728624553) < 3e-13


@pytest.mark.slow
def test_a_van_der_pol_oscillator_loses_its_lock() -> None:
    orbit = periodic_orbit(
        systems.van_der_pol(),
        {"x": -1.36, "x_dot": -0.51},
        2 * math.pi / 1.25,
        parameters={"F": 0.9},
        verify=False,
    )
    (torus,) = continue_orbit(orbit, {"F": (0.7, 0.95)}, step=0.1).special
    assert torus.kind == "Neimark-Sacker"
    assert abs(torus.value - 0.8420307370057) < 2e-13
    # det = exp(-int 0.3 (x^2 - 1)) = 1: the mean of x^2 is one.
    assert abs(torus.orbit.leading - (0.3574285962 + 0.9339404685j)) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("stiffness", "kind"), [(2.0, "Neimark-Sacker"), (-1.0, "neutral saddle")])
def test_pairs_on_the_circle_are_distinguished_from_neutral_saddles(
    stiffness: float, kind: str
) -> None:
    # x'' + c x' + k x = cos t: det M = exp(-2 pi c) whatever k; for k < 0 multipliers are real.
    q, p = ds.coordinates(x="m"), ds.parameters(c=(0.1, "1/s"))
    force = ca.cos(ds.time) - p.c * q.dot.x - stiffness * q.x
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})
    orbit = periodic_orbit(system, {"x": 0.0, "x_dot": 0.0}, 2 * math.pi, verify=False)
    (found,) = continue_orbit(orbit, {"c": (-0.1, 0.15)}, step=0.2).special
    assert found.kind == kind
    # Rounding of the entries of M, up to 270 for the saddle, is squared in det M.
    assert abs(found.value) < (1e-13 if stiffness > 0 else 270**2 * 2.2e-16)
    root = cmath.sqrt(-stiffness)
    assert abs(abs(found.orbit.leading) - abs(cmath.exp(2 * math.pi * root))) < 1e-9 * abs(
        found.orbit.leading
    )


@pytest.mark.slow
def test_a_branch_ends_where_the_orbit_touches_the_wall() -> None:
    orbit = periodic_orbit(
        systems.impact_oscillator(),
        {"x": -0.9, "x_dot": 0.1},
        2 * math.pi / 2.8,
        parameters={"F": 6.5},
        verify=False,
    )
    branch = continue_orbit(orbit, {"F": (6.5, 7.0)})
    amplitude = math.hypot(1 - 2.8**2, 0.1 * 2.8)
    assert branch.special[-1].kind == "grazing"
    assert abs(branch.special[-1].value - amplitude) < 1e-12
    assert "the orbit touches 'wall'" in branch.ends[-1]


@pytest.mark.slow
def test_a_cycle_of_the_belt_ends_by_grazing() -> None:
    system = systems.belt(damping=0.4, speed=0.1)
    orbit = periodic_orbit(system, {"x": 0.039, "x_dot": 0.1}, section="slip", verify=False)
    branch = continue_orbit(orbit, {"speed": (0.1, 0.3)})
    assert abs(branch.special[-1].value - 0.188327991447274) < 1e-11
    assert "the orbit touches 'stick'" in branch.ends[-1]


@pytest.mark.long
@pytest.mark.parametrize(("alpha", "gravity"), [(0.3, 1.0), (math.pi / 8, 9.81)])
def test_a_rimless_wheel_stops_where_it_would_stand_upright(alpha: float, gravity: float) -> None:
    # w^2 = 2 g (1 - cos(slope - alpha)) with w^2 = mu^2 4 g sin(alpha) sin(slope) / (1 - mu^2).
    mu = math.cos(2 * alpha)
    least, most = 1e-3, alpha
    for _ in range(60):
        slope = (least + most) / 2
        kinetic = mu**2 * 4 * math.sin(alpha) * math.sin(slope) / (1 - mu**2)
        least, most = (
            (slope, most) if kinetic < 2 * (1 - math.cos(slope - alpha)) else (least, slope)
        )
    slope = 1.5 * most
    speed = math.sqrt(mu**2 * 4 * gravity * math.sin(alpha) * math.sin(slope) / (1 - mu**2))
    wheel = systems.rimless_wheel(alpha, slope, gravity, 1.0)
    guess = {"theta": slope - alpha, "theta_dot": speed}
    orbit = periodic_orbit(wheel, guess, section="strike", verify=False)
    branch = continue_orbit(orbit, {"slope": (0.5 * most, slope)})
    assert "the period grows without bounds" in branch.ends[0]
    # A spoke stands upright.
    named = re.search(r"rest point theta = (\S+), theta_dot = (\S+) ", branch.ends[0])
    assert named is not None
    assert max(abs(float(value)) for value in named.groups()) < 1e-8
    assert abs(branch.points["slope"][0] - most) < 1e-8
    assert not branch.special


@pytest.mark.long
def test_an_interrupted_branch_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    orbit = periodic_orbit(systems.walker(), start(0.2, -0.2), section="strike", verify=False)
    over = {"slope": (0.008, 0.0155)}
    whole = continue_orbit(orbit, over, step=0.1, out=tmp_path / "whole")
    lines = (tmp_path / "whole" / "branch.jsonl").read_text().splitlines()
    (tmp_path / "part").mkdir()
    # It was killed while it wrote a line.
    cut = "\n".join(lines[: len(lines) // 2]) + "\n" + lines[len(lines) // 2][:40]
    (tmp_path / "part" / "branch.jsonl").write_text(cut)
    resumed = continue_orbit(orbit, over, step=0.1, out=tmp_path / "part")
    for name, column in whole.points.items():
        assert np.array_equal(column, resumed.points[name])
    assert [str(point) for point in resumed.special] == [str(point) for point in whole.special]
    assert (tmp_path / "part" / "branch.jsonl").read_text().splitlines() == lines
    with pytest.raises(ds.errors.StorageError, match="contains another branch"):
        continue_orbit(orbit, over, step=0.2, out=tmp_path / "part")


@pytest.mark.slow
def test_orbits_of_another_period_are_another_branch(tmp_path: Path) -> None:
    system, over = systems.van_der_pol(), {"F": (0.88, 0.92)}
    for count in (1, 2):
        period, guess = count * 2 * math.pi / 1.25, {"x": -1.36, "x_dot": -0.51}
        orbit = periodic_orbit(system, guess, period, parameters={"F": 0.9}, verify=False)
        if count == 1:
            continue_orbit(orbit, over, step=0.5, out=tmp_path)
            continue
        with pytest.raises(ds.errors.StorageError, match="contains another branch"):
            continue_orbit(orbit, over, step=0.5, out=tmp_path)


@pytest.mark.slow
def test_a_branch_is_drawn_with_its_special_points() -> None:
    orbit = periodic_orbit(systems.walker(), start(0.2, -0.2), section="strike", verify=False)
    branch = continue_orbit(orbit, {"slope": (0.009, 0.0155)}, step=0.1)
    axes = branch.plot("slope", "theta").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("slope", "theta")
    assert [text.get_text() for text in axes.texts] == ["period doubling"]
    with pytest.raises(ds.errors.UnknownNameError, match="unknown column of the branch 'thet'"):
        branch.plot("slope", "thet")


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        ({"slope": (0.01, 0.02)}, "the orbit has slope = 0.009"),
        ({"slop": (0.01, 0.02)}, "unknown parameter or first integral to vary 'slop'"),
        ({"slope": (0.01, 0.01)}, "must have two ends"),
        ({"slope": 0.01}, "must be a pair of numbers"),
        ({}, "must map one name"),
    ],
)
def test_a_range_that_cannot_be_is_refused(over: dict[str, object], sentence: str) -> None:
    orbit = periodic_orbit(systems.walker(), start(0.2, -0.2), section="strike", verify=False)
    with pytest.raises(ds.errors.DaesolveError, match=sentence):
        continue_orbit(orbit, over)  # pyright: ignore[reportArgumentType]


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize("law", ["fmax", "linear", "cubic"])
def test_a_branch_goes_on_where_its_orbit_reaches_a_kink_or_a_node(
    law: Literal["fmax", "linear", "cubic"],
) -> None:
    # Stops that push from 0.6 m on: there the force has a kink, but no jump.
    q, p = ds.coordinates(x="m"), ds.parameters(w=(0.7, "rad/s"))
    nodes, values = [-2.0, -1.2, -0.6, 0.6, 1.2, 2.0], [-6.2, -3.0, -0.6, 0.6, 3.0, 6.2]
    if law == "fmax":
        spring = q.x + 3 * ca.fmax(q.x - 0.6, 0) - 3 * ca.fmax(-0.6 - q.x, 0)
    else:
        spring = ds.table("spring", nodes, values, law)(q.x)
    force = {"x": 0.2 * ca.cos(p.w * ds.time) - 0.1 * q.dot.x - spring}
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force=force)
    period = 2 * ca.pi / p.w
    orbit = ds.analysis.periodic_orbit(system, {"x": 0.4}, period, verify=False)
    branch = ds.analysis.continue_orbit(orbit, over={"w": (0.7, 1.1)}, step=0.2)
    assert (branch.ends, branch.special) == (("reached w = 1.1",), ())

    def rate(t: float, x: np.ndarray) -> list[float]:
        pull = float(np.interp(x[0], nodes, values))  # pyright: ignore
        if law == "cubic":
            pull = float(CubicSpline(nodes, values)(x[0]))  # pyright: ignore
        return [x[1], 0.2 * np.cos(1.1 * t) - 0.1 * x[1] - pull]

    far = branch.orbit(len(branch) - 1)
    assert max(abs(far.run["x"])) > 0.7
    start = [far.state["x"], far.state["x_dot"]]
    begun = float(far.run.times[0])  # A branch may move the start of its orbits.
    again = solve_ivp(rate, (begun, begun + far.period), start, "DOP853", rtol=1e-11, atol=1e-12).y[
        :, -1
    ]
    # Steps of DOP853 across the kinks are accurate to its tolerances, over some hundred steps.
    assert np.max(np.abs(again - start)) < 1e-8
    # Liouville: the damping alone shrinks areas.
    product = np.prod(far.multipliers).real
    assert abs(product - np.exp(-0.1 * far.period)) < 1e-11
