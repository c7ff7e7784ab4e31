"""Orbits up to relabelling: a vehicle whose rollers take each other's place."""

import math

import casadi as ca
import numpy as np
import pytest
import scipy
from daesolve_problems.omni_vehicle.geometry import vehicle

import daesolve as ds
from daesolve.analysis.orbits.shooting import Guess, shoot

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


@pytest.mark.long
def test_straight_rolling_on_omni_wheels_is_unstable() -> None:
    case = ds.problem("omni-rolling").case("straight")
    run = case.solve(until=21.0)
    switch = next(e for e in run.events if e.time > 15.0 and e.after["contact_2"] == 3.0)
    middle = run.at(switch.time + 0.7125541684 / 2)
    start = {name: middle[name] for name in run.end_state}
    start |= {f"contact_{k}": switch.after[f"contact_{k}"] for k in (1, 2, 3)}
    angles = [f"phi_{wheel}_{roller}" for wheel in (1, 2, 3) for roller in range(1, 6)]
    still = {f"roller_momentum_1_{roller}": 0.0 for roller in range(2, 6)}
    # Wheels 2 and 3 switch at one instant; where rounding makes it two, there is one order.
    for nudge in range(20):
        orbit = ds.analysis.periodic_orbit(
            case.system,
            start,
            0.7125,
            up_to=[rollers(), Shift("x", "y", "theta", *angles)],
            family={"nu_1": middle["nu_1"] + 1e-12 * nudge, **still},
            verify=False,
        )
        if len(orbit.orders) == 2:
            break
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
    # The maps of both orders differ where the wheels pass at once: see the test below.
    assert not rates.continuous
    assert abs(rates.jump - 0.01037) < 1e-4
    assert any("the map jumps by 1 %" in note for note in orbit.notes)
    check_limits(orbit)
    assert np.abs(rates.rates - 0.0191368).max() < 1e-6
    assert set(rates.orders) == {0, 1}
    # What the problem's page says of rollers: 3.1, 29, 224 and 1440.
    grown = [orbit.growth(periods) for periods in (1, 10, 40, 100)]
    assert np.abs(np.array(grown) / [3.1, 29.3, 223.5, 1444.0] - 1).max() < 1e-2


def check_limits(orbit: ds.analysis.PeriodicOrbit) -> None:
    """The exact map, of a change of 1e-5, has the limit of each order where both wheels pass."""
    task, shot, (first, second) = orbit.task, orbit.found.shot, orbit.orders
    node, basis = shot.guess.nodes[0], shot.bases[0]
    row = first.cone[0] / np.linalg.norm(first.cone[0])
    onto = np.eye(len(row)) - np.outer(row, row)
    _, values, directions = np.linalg.svd((first.reduced - second.reduced) @ onto)
    along = directions[0]  # both wheels pass at once, and the orders differ most

    def after(z: np.ndarray) -> np.ndarray:
        change = (task.sizes * (basis @ (first.quotient @ (1e-5 * z))))[: len(node.x)]
        start = task.flow.consistent(node.time, node.x + change, node.p)
        moved = shoot(task, Guess((start,), shot.period, shot.amounts))
        ends = [
            task.part(task.group.undo(shot.amounts, task.whole(one.flights[-1].end)))
            for one in (moved, shot)
        ]
        return first.quotient.T @ (basis.T @ ((ends[0] - ends[1]) / task.sizes / 1e-5))

    for order, other, aside in ((first, second, 1e-3), (second, first, -1e-3)):
        z = along + aside * row
        found = after(z)
        # Second derivatives take 1e-5 or so of the change, and the other order is 0.03 away.
        assert np.linalg.norm(found - order.reduced @ z) < 1e-5
        assert abs(np.linalg.norm(found - other.reduced @ z) - values[0]) < 1e-3
    # At one instant they are imposed together, and neither order comes of it.
    at_once = after(along)
    assert min(np.linalg.norm(at_once - one.reduced @ along) for one in orbit.orders) > 0.01


@pytest.mark.slow
def test_impulses_of_wheels_that_switch_together_depend_on_their_order() -> None:
    """Without an impulse on the orbit the map of its neighbours jumps all the same.

    A switch projects the velocities, v+ = P v, in the metric of the mass onto those of the new
    contacts. On the orbit P v = v. Beside it, the roller that takes over turns at a rate of its
    own, so that an impulse proportional to the change acts. Wheel 2 before wheel 3 gives P P_2, the
    other order P P_3, both at once P: equal where the reactions of the two contacts do not act on
    each other, which is not so here. The time between the switches is in none of them.
    """
    case = ds.problem("omni-rolling").case("straight")
    car = vehicle(case.full_parameters, 3, 5)
    angle = [0.0, math.pi / 5, -math.pi / 5]  # of the contact rollers: 2 and 3 are to switch
    # vx, vy, turning, three wheels, then old and new rollers of wheels 1 (one), 2 and 3.
    mass = np.diag(
        [car.total_mass] * 2
        + [car.vehicle_inertia]
        + [car.wheel_inertia] * 3
        + [car.roller_inertia] * 5
    )
    places = {6: 0.0, 7: angle[1], 8: angle[1] - 2 * math.pi / 5, 9: angle[2],
              10: angle[2] + 2 * math.pi / 5}  # fmt: skip
    for column, at in places.items():
        mass[2, column] = mass[column, 2] = car.roller_inertia * math.sin(at)

    def rows(*contacts: int) -> np.ndarray:
        found = np.zeros((6, 11))
        for wheel, roller in enumerate(contacts):
            cosine, sine = math.cos(2 * math.pi * wheel / 3), math.sin(2 * math.pi * wheel / 3)
            rho = car.wheel_radius * math.cos(angle[wheel]) - car.roller_axis_radius
            found[2 * wheel, [0, 1, roller]] = cosine, sine, -rho
            found[2 * wheel + 1, [0, 1, 2]] = -sine, cosine, car.platform_radius
            found[2 * wheel + 1, 3 + wheel] = car.wheel_radius
        return found

    def onto(*contacts: int) -> np.ndarray:
        jacobian = rows(*contacts)
        lifted = np.linalg.solve(mass, jacobian.T)
        return np.eye(11) - lifted @ np.linalg.solve(jacobian @ lifted, jacobian)

    whole, second, third = onto(6, 8, 10), onto(6, 8, 9), onto(6, 7, 10)
    before = scipy.linalg.null_space(rows(6, 7, 9))
    # Straight on, with all rollers at the rate of their contacts: no impulse, in any order.
    straight = scipy.linalg.null_space(np.vstack([rows(6, 7, 9), rows(6, 8, 10), np.eye(11)[2]]))
    straight = straight[:, np.argmax(np.abs(straight[0]))]
    assert abs(straight[0]) > 1e-3
    for impact in (whole, second, third):
        assert np.abs(impact @ straight - straight).max() < 1e-14
    # Changes of it that are possible before: projected, and differently so.
    assert np.linalg.norm(whole @ before - before) > 0.1
    jump = whole @ (second - third) @ before
    assert np.linalg.matrix_rank(jump, 1e-10) == 2  # as the library's maps differ
    assert np.linalg.norm(jump, 2) > 1e-3
    assert np.linalg.norm(whole @ (second - np.eye(11)) @ before, 2) > 1e-3


def test_names_that_are_mapped_twice_are_refused() -> None:
    q = ds.coordinates(x="m", y="m")
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    twins = ds.MechanicalSystem(q, kinetic=kinetic, potential=(q.x**2 + q.y**2) / 2)
    guess = {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.5}
    with pytest.raises(ds.errors.PosingError, match="uses a name twice"):
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


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.002, 0.03])
def test_a_circle_near_a_lean_is_found_though_speeds_are_missing_or_do_not_fit(off: float) -> None:
    # Steered by 0.4 at the case's own speed, 5 m/s, the other circle leans by 0.6 and more.
    lean, steer, turn, speed = FURTHER[0][:4]
    case = ds.problem("bicycle").case("steady")
    more = {"yaw_dot": turn, "rear_rotation_dot": -speed / 0.3}
    for given in ({}, more):
        orbit = case.periodic_orbit(
            {"lean": (1.0 - off) * lean, "steer": steer, **given},
            0.2,
            up_to=TURNING,
            family={"steer": steer},
            steady=True,
            verify=False,
        )
        assert abs(orbit.state["lean"] - lean) < 1e-12


def test_a_steady_motion_is_found_from_afar_and_its_distance_is_noted() -> None:
    """A pendulum on a shaft that a motor drives to 5 rad/s leans out to cos(theta) = g / 25."""
    q = ds.coordinates(theta="rad", phi="rad")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.theta**2 + (1 + ca.sin(q.theta) ** 2) * q.dot.phi**2) / 2,
        potential=-9.81 * ca.cos(q.theta),
        force={"phi": 5.0 - q.dot.phi, "theta": -0.1 * q.dot.theta},
    )
    lean = math.acos(9.81 / 25.0)
    for guess, far in ((0.99 * lean, False), (0.7, True)):
        orbit = ds.analysis.periodic_orbit(
            system,
            {"theta": guess, "phi_dot": 5.0},
            0.2,
            up_to=Shift("phi"),
            steady=True,
            verify=False,
        )
        assert abs(orbit.state["theta"] - lean) < 1e-12
        assert abs(orbit.state["phi_dot"] - 5.0) < 1e-12
        assert any("far from the guess: 'theta'" in note for note in orbit.notes) is far


@pytest.mark.long
def test_a_circle_of_a_bicycle_has_every_column_of_a_balance() -> None:
    check_circle(CIRCLES[0])


@pytest.mark.long_rows("row4")
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=pytest.mark.slow if row == CIRCLES[-1] else pytest.mark.long)
        for row in (*CIRCLES[1:], *FURTHER)
    ],
)
def test_circles_of_a_bicycle_have_every_column_of_a_balance(row: tuple[float, ...]) -> None:
    check_circle(row)


@pytest.mark.long
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
    # From steer 0.03 on, it first comes to lean most.
    fold, saddle = branch.special
    assert (fold.kind, saddle.kind) == ("fold", "neutral saddle")
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


@pytest.mark.long
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
