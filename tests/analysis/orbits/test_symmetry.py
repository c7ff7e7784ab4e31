"""Orbits up to relabelling: a vehicle whose rollers take each other's place."""

import math

import numpy as np
import pytest

import daesolve as ds

Shift, Relabel = ds.analysis.Shift, ds.analysis.Relabel


def after(roller: int) -> int:
    """The roller that follows on a wheel of five."""
    return roller % 5 + 1


def before(roller: int) -> int:
    """The roller before."""
    return (roller - 2) % 5 + 1


def rollers() -> ds.analysis.Relabel:
    """Wheels 2 and 3 go on by one roller, in opposite senses."""
    mapping: dict[str, str | tuple[str, float]] = {
        "contact_2": ("contact_2", -1.0),
        "contact_3": ("contact_3", 1.0),
    }
    for roller in range(1, 6):
        for name in ("phi", "phi_dot"):
            mapping[f"{name}_2_{roller}"] = f"{name}_2_{after(roller)}"
            mapping[f"{name}_3_{roller}"] = f"{name}_3_{before(roller)}"
    return Relabel(mapping)


@pytest.mark.slow
def test_straight_rolling_on_omni_wheels_is_unstable() -> None:
    case = ds.problem("omni-rolling").case("straight")
    run = case.solve(until=21.0)
    switch = next(e for e in run.events if e.time > 15.0 and e.after["contact_2"] == 3.0)
    middle = run.at(switch.time + 0.7125541684 / 2)
    start = {name: middle[name] for name in run.end_state}
    start |= {f"contact_{k}": switch.after[f"contact_{k}"] for k in (1, 2, 3)}
    angles = [f"phi_{wheel}_{roller}" for wheel in (1, 2, 3) for roller in range(1, 6)]
    still = {f"roller_momentum_1_{roller}": 0.0 for roller in range(2, 6)}
    orbit = ds.analysis.periodic_orbit(
        case.system,
        start,
        0.7125,
        up_to=[rollers(), Shift("x", "y", "theta", *angles)],
        family={"nu_1": middle["nu_1"], **still},
        verify=False,
    )
    assert abs(orbit.period - 0.71255416842476) < 1e-9
    assert abs(orbit.state["nu_1"] - 0.96065529592375) < 1e-9
    # Own code with two matrices, one for each order of the wheels, right to 4e-7.
    expected = [
        1.01372939, 1.00118264, 1.00000087, 0.98459654,
        0.25717719 + 0.33900057j, 0.24977379 + 0.27294579j,
        -0.28563437 + 0.22936565j, -0.24102543 + 0.25386840j,
    ]  # fmt: skip
    found = orbit.multipliers[orbit.multipliers.imag >= 0.0]
    assert np.abs(found - expected).max() < 1e-6
    assert orbit.verdict == "one-sided"
    assert abs(math.log(abs(orbit.leading)) / orbit.period - 0.019136790) < 1e-6
    assert orbit.trivial["energy"] < 1e-12
    # Wheel 1 rolls idly: a change of its angle changes the motion by 3e-10 of itself in a period,
    # so that rounding, 1e-15, leaves 5 digits of it.
    assert orbit.residual < 1e-12
    assert 4.0 < orbit.digits < 6.0
    assert any("worst in 'chi_1'" in note for note in orbit.notes)
    # The orders are mirror images: their maps have one spectrum, and opposite cones.
    first, second = orbit.orders
    assert np.abs(first.values - second.values).max() < 1e-6
    assert np.abs(first.matrix - second.matrix).max() > 0.1
    assert np.abs(first.cone + second.cone).max() < 1e-8
    rates = orbit.directional_rates()
    assert rates is not None
    assert rates.leading == (True, True)
    assert np.abs(rates.rates - 0.0191368).max() < 1e-6
    assert set(rates.orders) == {0, 1}
    # What the problem's page says of rollers: 3.1, 29, 224 and 1440.
    grown = [orbit.growth(periods) for periods in (1, 10, 40, 100)]
    assert np.abs(np.array(grown) / [3.1, 29.3, 223.5, 1444.0] - 1).max() < 1e-2


def test_names_that_are_mapped_twice_are_refused() -> None:
    q = ds.coordinates(x="m", y="m")
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    twins = ds.MechanicalSystem(q, kinetic=kinetic, potential=(q.x**2 + q.y**2) / 2)
    guess = {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.5}
    with pytest.raises(ds.errors.PosingError, match="takes one place twice"):
        ds.analysis.periodic_orbit(twins, guess, 6.0, up_to=Relabel({"x": "y"}))
    with pytest.raises(ds.errors.UnknownNameError, match="unknown state or value 'z'"):
        ds.analysis.periodic_orbit(twins, guess, 6.0, up_to=Relabel({"z": "y"}))
    with pytest.raises(ds.errors.PosingError, match="must be Shift, Relabel, Reflect, or several"):
        ds.analysis.periodic_orbit(twins, guess, 6.0, up_to="x")  # pyright: ignore[reportArgumentType]


# Lean, steer, yaw rate, speed of the rear contact, its radius, pitch, eigenvalue > 0: a balance in
# the turning frame, without equations of motion; the eigenvalue by small motions.
CIRCLES = [
    (0.1, 0.02910841874574, 0.163649429132, 5.997805608965, 36.650330164776, -0.000225908884,
     0.0155205107),
    (0.2, 0.06015738456987, 0.338549938489, 5.908324285295, 17.451854552563, -0.000921476914,
     0.0671386216),
    (0.30630835385309, 0.1, 0.558456004007, 5.692010383903, 10.192406103723, -0.002272768668,
     0.1895654474),
    (0.41822371567727, 0.2, 0.988668724331, 4.783378601187, 4.838201597229, -0.005445297586,
     0.7412460457),
    (0.24984054188129, 0.6, 1.391667949433, 2.129387530894, 1.530097414230, -0.007816461859,
     2.7470178005),
    (0.03912536284540, 1.2, 0.977626994147, 0.428616124899, 0.438425010219, -0.007827652390,
     4.1353910011),
]  # fmt: skip
FURTHER = [
    (0.34962382882842, 0.4, 1.316610639450, 3.148033951484, 2.391013605055, -0.007479645479),
    (0.16744734941543, 0.8, 1.371712930939, 1.428519415881, 1.041412808511, -0.007864491313),
    (0.09903313677387, 1.0, 1.265595052680, 0.889872464448, 0.703125745129, -0.007852937239),
]
TURNING = Shift("x", "y", "rear_rotation", "front_rotation", "yaw")


def check_circle(row: tuple[float, ...]) -> None:
    """Find the circle of a row from a guess that is 2 % off, and compare all its columns."""
    lean, steer, turn, speed, radius, pitch = row[:6]
    guess = {
        "lean": 0.98 * lean,
        "steer": steer,
        "pitch": pitch,
        "z": -0.3 * math.cos(lean),
        "yaw_dot": turn,
        "speed": speed - 0.3 * math.sin(lean) * turn,  # of the rear hub
        "rear_rotation_dot": -speed / 0.3,
        "front_rotation_dot": -speed / 0.35 * math.hypot(radius, 1.02) / radius,
    }
    case = ds.problem("bicycle").case("steady")
    orbit = case.periodic_orbit(
        guess, 0.2, up_to=TURNING, family={"steer": steer}, steady=True, verify=False
    )
    # The last digits of the table, of which lean and steer have fourteen.
    assert abs(orbit.state["lean"] - lean) < 1e-13
    assert abs(orbit.state["steer"] - steer) < 1e-13
    assert abs(orbit.state["pitch"] - pitch) < 1e-12
    assert abs(orbit.state["yaw_dot"] - turn) < 1e-12
    assert abs(orbit.shift["yaw"] / orbit.period - turn) < 1e-12
    # The rear wheel rolls: its contact goes as fast along the ground as along its rim, and the hub,
    # which leans inwards, in a smaller circle.
    rolled = -0.3 * orbit.state["rear_rotation_dot"]
    # Far out, the radius changes by 1300 m for each radian of steer, which is known to 1e-14.
    assert abs(rolled - speed) < 3e-12
    assert abs(rolled / orbit.state["yaw_dot"] - radius) < 2e-11
    hub = orbit.state["speed"] + 0.3 * math.sin(lean) * orbit.state["yaw_dot"]
    assert abs(hub - speed) < 1e-11
    if len(row) > 6:
        assert abs(orbit.exponents[0] - row[6]) < 1e-9
    assert orbit.verdict == "unstable"


def test_a_circle_of_a_bicycle_has_every_column_of_a_balance() -> None:
    check_circle(CIRCLES[0])


@pytest.mark.slow
@pytest.mark.parametrize("row", [*CIRCLES[1:], *FURTHER])
def test_circles_of_a_bicycle_have_every_column_of_a_balance(row: tuple[float, ...]) -> None:
    check_circle(row)


@pytest.mark.slow
def test_a_branch_of_circles_of_a_bicycle_folds_where_it_leans_most() -> None:
    case = ds.problem("bicycle").case("steady")
    guess = {"lean": 0.1, "steer": 0.03, "pitch": 0.0, "yaw_dot": 0.16, "rear_rotation_dot": -20.0}
    branch = case.continue_orbit(
        {"lean": (0.03, 0.45)},
        guess,
        0.2,
        up_to=TURNING,
        family={"lean": 0.1},
        steady=True,
        step=0.03,
    )
    assert len(branch) > 200
    saddle, fold = branch.special
    assert (saddle.kind, fold.kind) == ("neutral saddle", "fold")
    assert abs(saddle.orbit.exponents[0] + saddle.orbit.exponents[-1]) < 1e-5
    # It leans most there: rows on both sides lean less.
    assert 0.418 < fold.value < 0.4201
    assert 0.2 < fold.orbit.state["steer"] < 0.25
    points = branch.points
    for lean, steer, turn, _, _, pitch, eigenvalue in CIRCLES:
        # Lean returns to the same values beyond the fold: steer does not, and tells which is near.
        k = int(np.argmin(np.abs(points["steer"] - steer)))
        near = {name: float(points[name][k]) for name in branch.orbit(k).state}
        orbit = case.periodic_orbit(
            near, 0.2, up_to=TURNING, family={"steer": steer}, steady=True, verify=False
        )
        assert abs(orbit.state["lean"] - lean) < 1e-12
        assert abs(orbit.state["pitch"] - pitch) < 1e-12
        assert abs(orbit.shift["yaw"] / orbit.period - turn) < 1e-11
        assert abs(orbit.exponents[0] - eigenvalue) < 1e-9


@pytest.mark.slow
def test_a_bicycle_goes_in_circles_hands_free() -> None:
    # A balance in the turning frame without equations of motion; the multiplier is that of the
    # eigenvalue of small motions, exp(0.0155205107469496 T).
    system = ds.problem("bicycle").case("steady").system
    lean, steer = 0.1, 0.02910841874574084
    held = {"lean": lean, "steer": steer, "rear_rotation_dot": -19.99268536321728}
    still = dict.fromkeys(("lean_dot", "steer_dot", "pitch_dot", "yaw"), 0.0)
    circle = ds.analysis.linearize(
        system,
        {**held, **still, "pitch": -0.0002259088841206},
        coordinates=("lean", "steer", "rear_rotation_dot"),
    )
    orbit = ds.analysis.periodic_orbit(
        system,
        circle.state,
        38.4,
        up_to=Shift("x", "y", "rear_rotation", "front_rotation", yaw=2 * math.pi),
        family={"lean": lean},
        verify=False,
    )
    # A turn takes 38 s, in which changes along it grow a hundredfold.
    assert abs(orbit.period - 2 * math.pi / 0.1636494291320079) < 1e-10
    assert abs(orbit.state["steer"] - steer) < 1e-12
    assert abs(orbit.leading - math.exp(0.015520510746949597 * orbit.period)) < 1e-9
    assert orbit.verdict == "unstable"
    assert {"flow", "energy", "forgotten"} <= set(orbit.trivial)
