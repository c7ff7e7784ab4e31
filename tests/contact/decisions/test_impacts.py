"""Laws of impact: reference problems, closed forms of one contact, the balance of energy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import bisect

from daesolve.contact.decisions import (
    Contacts,
    ContactState,
    collide,
    newton,
    poisson,
    routh,
    sequential,
)
from daesolve.errors import (
    EnergyGain,
    OrderDecides,
    OutOfRangeError,
    PosingError,
    UndeterminedContact,
    UnknownNameError,
    UnsupportedError,
)
from tests.contact.decisions.bodies import GRAVITY, ball, balls, block, brick, double_pendulum, rod
from tests.contact.decisions.cases import agrees, case, cases

LAWS = ("newton", "poisson", "routh")
LETTERS = {
    ContactState.OPEN: "o",
    ContactState.STICKS: "s",
    ContactState.FORWARD: "+",
    ContactState.BACKWARD: "-",
}


def letters(impact):
    """Return what its only contact does, phase by phase, as the references write it."""
    return "".join(LETTERS[state] for (state,) in impact.phases)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("known", cases("first_impact"))
def test_the_first_impact_of_a_thrown_rod_is_that_of_the_reference(known, law):
    p, values = known["params"], known["values"]
    body = rod(p["phi"], p["mu"], p["m"], p["l"])
    before = np.array([p["gN"], p["gT"]])
    impact = collide(body.contacts, before, law, p["e"])
    assert agrees(impact.normal[0], values[f"{law}_LN"])
    assert agrees(impact.tangential[0, 0], values[f"{law}_LT"])
    assert agrees(impact.energy, values[f"{law}_dE"])
    assert letters(impact) == known[f"mode_{law}"]
    if law == "routh":
        assert agrees(impact.after[0], values["routh_gN_after"])
    # The balance of energy, by the velocities themselves.
    start = np.linalg.pinv(body.rows) @ before
    end = start + body.moved(impact.impulses)
    gained = (end @ body.mass @ end - start @ body.mass @ start) / 2.0
    assert impact.energy == pytest.approx(gained, abs=1e-14)


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("known", cases("kane_double_pendulum"))
def test_kanes_pendulum_gains_energy_by_newtons_law_and_is_refused(known, law):
    p, values = known["params"], known["values"]
    body = double_pendulum(math.pi / 9, math.pi / 6, p["mu"], p["m"], p["l"])
    speeds = np.array([p["u1"], p["u2"]])
    before = body.rates(speeds)
    impact = collide(body.contacts, before, law, p["e"], on_gain="report")
    energy = speeds @ body.mass @ speeds / 2.0
    assert agrees(impact.normal[0], values[f"{law}_LN"])
    assert agrees(impact.tangential[0, 0], values[f"{law}_LT"])
    assert agrees(impact.energy / energy, values[f"{law}_relative_energy_change"])
    assert letters(impact) == known[f"mode_{law}"]
    assert impact.gains is (law == "newton")
    if impact.gains:
        with pytest.raises(EnergyGain, match="'newton' would add energy"):
            collide(body.contacts, before, law, p["e"])
        instead = collide(body.contacts, before, law, p["e"], on_gain="poisson")
        assert agrees(instead.normal[0], values["poisson_LN"])


@pytest.mark.parametrize("known", cases("slip_stick_reverse_boundaries"))
def test_slip_sticks_and_reverses_between_the_bounds_of_the_reference(known):
    p, values = known["params"], known["values"]
    body = rod(p["phi"], p["mu"], p["m"], p["l"])
    assert agrees(body.contacts.matrix[0, 0], values["A_NN"])
    assert agrees(body.contacts.matrix[0, 1], values["A_NT"])

    def does(kappa):
        before = [-1.0, kappa * (1.0 + p["e"])]
        return newton(body.contacts, before, p["e"], tolerance=1e-15).phases[0][0]

    upper = bisect(lambda kappa: 1.0 if does(kappa) is ContactState.FORWARD else -1.0, -1.0, 2.0)
    lower = bisect(lambda kappa: -1.0 if does(kappa) is ContactState.BACKWARD else 1.0, -1.0, 2.0)
    assert agrees(upper, values["kappa_plus"])
    assert agrees(lower, values["kappa_minus"])
    # The closed forms of the same bounds.
    across, along = body.contacts.matrix[0, 1], body.contacts.matrix[1, 1]
    direct, mu = body.contacts.matrix[0, 0], p["mu"]
    assert upper == pytest.approx((mu * along - across) / (direct - mu * across), abs=1e-11)
    assert lower == pytest.approx((-mu * along - across) / (direct + mu * across), abs=1e-11)


def test_a_rod_that_drops_sticks_from_the_friction_of_the_reference_on():
    known = case("vertical_drop_stick_limit")
    phi = known["params"]["phi"]

    def sticks(mu):
        impact = newton(rod(phi, mu).contacts, [-1.0, 0.0], tolerance=1e-15)
        return 1.0 if impact.phases[0][0] is ContactState.STICKS else -1.0

    limit = bisect(sticks, 0.1, 1.0)
    assert agrees(limit, known["values"]["mu_stick"])
    assert limit == pytest.approx(3 * math.tan(phi) / (1 + 4 * math.tan(phi) ** 2), abs=1e-11)


@pytest.mark.slow
def test_a_thrown_rod_bounces_from_end_to_end_as_the_reference_says():
    """Flights in closed form but for the instants of landing, impacts by Newton's law."""
    known = case("thrown_rod")
    p, values = known["params"], known["values"]
    half, place, speed, time = p["l"], np.array(p["q0"]), np.array(p["v0"]), 0.0
    for index, (end, letter) in enumerate(known["impacts"], start=1):
        wait = _landing(place, speed, half, end)
        time += wait
        place = place + wait * speed - np.array([0.0, GRAVITY * wait**2 / 2.0, 0.0])
        speed = speed - np.array([0.0, GRAVITY * wait, 0.0])
        # The end B is A of a rod that is turned round.
        body = rod(place[2] + (math.pi if end == "B" else 0.0), p["mu"], p["m"], half)
        impact = collide(body.contacts, body.rates(speed), "newton", p["e"])
        speed = speed + body.moved(impact.impulses)
        assert letters(impact) == letter
        assert agrees(time, values[f"t{index}"], 12)
        assert agrees(impact.normal[0], values[f"LN{index}"], 11)
        assert agrees(impact.tangential[0, 0], values[f"LT{index}"], 10)
    wait = p["t_end"] - time
    end = place + wait * speed - np.array([0.0, GRAVITY * wait**2 / 2.0, 0.0])
    for value, name in zip(end, ("x", "y", "phi"), strict=True):
        assert agrees(value, values[f"{name}_end"], 9)


def _landing(place, speed, half, end):
    """Return after what time the end lands: the first zero of its height that falls."""
    sign = 1.0 if end == "A" else -1.0

    def height(t):
        angle = place[2] + speed[2] * t
        return place[1] + speed[1] * t - GRAVITY * t**2 / 2.0 - sign * half * math.sin(angle)

    times = np.arange(1e-5, 2.0, 1e-4)
    heights = [height(t) for t in times]
    first = next(k for k in range(1, len(times)) if heights[k - 1] > 0.0 >= heights[k])
    return bisect(height, times[first - 1], times[first], xtol=1e-16, rtol=1e-15)


@pytest.mark.parametrize("known", cases("ball_with_spin_three_bounces"))
def test_a_ball_with_spin_bounces_three_times_as_the_reference_says(known):
    p, values = known["params"], known["values"]
    body = ball(p["m"], p["r"], p["J_over_mr2"], p["mu"])
    speed, place = np.array([*p["v"], *p["omega"]]), np.zeros(2)
    for bounce, kind in enumerate(known["modes"], start=1):
        impact = collide(body.contacts, body.rates(speed), "newton", p["e"])
        speed = speed + body.moved(impact.impulses)
        assert impact.phases[0][0] is (
            ContactState.SLIDES if kind == "slip" else ContactState.STICKS
        )
        assert agrees(impact.normal[0], values[f"b{bounce}_Ln"])
        assert agrees(impact.tangential[0, 0], values[f"b{bounce}_Lx"])
        assert agrees(impact.tangential[0, 1], values[f"b{bounce}_Ly"])
        assert impact.residual < 1e-14
        flight = 2.0 * speed[2] / GRAVITY
        place = place + flight * speed[:2]
        speed[2] = -speed[2]
    for name, value in (
        ("vx", speed[0]),
        ("vy", speed[1]),
        ("wx", speed[3]),
        ("wy", speed[4]),
        ("x_before_4th", place[0]),
        ("y_before_4th", place[1]),
    ):
        assert agrees(value, values[name])


@pytest.mark.parametrize("known", cases("brick_corner_impact"))
def test_the_corner_of_a_brick_slips_or_sticks_as_the_reference_says(known):
    p, values = known["params"], known["values"]
    body = brick(p)
    before = body.rates([*p["v"], *p["omega"]])
    impact = newton(body.contacts, before, p["e"])
    assert impact.phases[0][0] is (
        ContactState.SLIDES if known["mode"] == "slip" else ContactState.STICKS
    )
    assert agrees(impact.normal[0], values["Ln"])
    assert agrees(impact.tangential[0, 0], values["Lx"])
    assert agrees(impact.tangential[0, 1], values["Ly"])
    assert agrees(impact.after[1], values["slip_after_x"])
    assert agrees(impact.after[2], values["slip_after_y"])
    assert agrees(impact.energy, values["dE"])


def test_a_superball_turns_its_slip_round_and_keeps_its_energy():
    known = case("superball")
    p, values = known["params"], known["values"]
    speed = np.array([*p["v"], *p["omega"]])
    for bounce in range(3):
        body = ball(p["m"], p["r"], p["J_over_mr2"], 10.0)
        before = body.rates(speed)
        impact = collide(body.contacts, before, "newton", p["eN"], p["eT"])
        speed = speed + body.moved(impact.impulses)
        np.testing.assert_allclose(impact.after, -before, atol=1e-13)
        assert abs(impact.energy) < 1e-14
        if bounce == 0:
            needed = abs(impact.tangential[0, 0]) / impact.normal[0]
            assert agrees(needed, values["mu_needed"])
        if bounce == 0:
            for axis in range(3):
                assert agrees(speed[axis], values[f"v{axis}"])
                assert agrees(speed[3 + axis], values[f"w{axis}"])
        speed[2] = -speed[2]


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("known0")
@pytest.mark.parametrize("known", cases("three_touching_balls"))
def test_three_balls_that_touch_part_as_exact_rationals_say(known):
    p = known["params"]
    body, speed = balls(p["m"]), np.array(p["u"])
    before = body.rates(speed)

    def after(impact):
        return speed + body.moved(impact.impulses)

    laws = {
        "newton": newton(body.contacts, before, p["e"]),
        "poisson": poisson(body.contacts, before, p["e"]),
        "seq_left": sequential(body.contacts, before, p["e"], ("1", "2")),
        "seq_right": sequential(body.contacts, before, p["e"], ("2", "1")),
    }
    for name, impact in laws.items():
        exact = [float(Fraction(text)) for text in known[f"exact_{name}"]]
        np.testing.assert_allclose(after(impact), exact, atol=1e-14)
    for name in ("seq_left", "seq_right"):
        assert len(laws[name].phases) == known["values"][f"{name}_count"]["value"]
    if known["exact_seq_left"] == known["exact_seq_right"]:
        alike = sequential(body.contacts, before, p["e"])
        np.testing.assert_allclose(after(alike), after(laws["seq_left"]), atol=1e-14)
    else:
        with pytest.raises(OrderDecides, match="2 ways"):
            sequential(body.contacts, before, p["e"])


@pytest.mark.long
def test_a_sequence_of_impacts_has_no_end_below_the_restitution_of_the_reference():
    """Two impacts in turn map the rates of the gaps linearly; they turn them round, or shrink them.

    The sequence ends where the eigenvalues of the map are not real.
    """
    body = balls([1.0, 1.0, 1.0])

    def turning(restitution):
        maps = []
        for contact in range(2):
            closing = np.zeros(4)
            closing[contact] = -1.0
            names = ("1", "2") if contact == 0 else ("2", "1")
            # The first impact alone: the other gap opens fast enough to stay open.
            closing[1 - contact] = 10.0
            impact = sequential(body.contacts, closing, restitution, names)
            assert len(impact.phases) == 1
            moved = np.eye(2)
            moved[:, contact] -= (impact.after - impact.before)[:2]
            maps.append(moved)
        both = maps[1] @ maps[0]
        return np.trace(both) ** 2 / 4.0 - np.linalg.det(both)

    critical = bisect(turning, 0.05, 0.1)
    assert critical == pytest.approx(7.0 - 4.0 * math.sqrt(3.0), abs=1e-11)
    assert agrees(critical, case("sequential_collapse_threshold")["values"]["e_crit"])
    before = np.array([-1.0, 0.0, 0.0, 0.0])
    for restitution, ends in ((critical - 0.005, False), (critical + 0.005, True)):
        impact = sequential(body.contacts, before, restitution, ("1", "2"), ended=1e-100)
        assert bool(np.all(impact.after[:2] >= 0.0)) is ends


@pytest.mark.slow
def test_a_sequence_without_an_end_leads_to_a_common_velocity():
    body, speed = balls([1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0])
    impact = sequential(body.contacts, body.rates(speed), 0.0)
    np.testing.assert_allclose(speed + body.moved(impact.impulses), 1.0 / 3.0, atol=1e-14)


def test_a_rocking_block_keeps_the_part_of_its_rate_that_housner_says():
    """It lands on its other foot and sticks there; the foot on which it turned opens."""
    known = case("housner_rest")
    p, values = known["params"], known["values"]
    body = block(p["b"], p["h"], p["mu"])
    # Turning about the foot at -b, clockwise: the foot at +b comes down.
    turning = np.array([p["h"], -p["b"], -1.0])
    before = body.rates(-turning * -1.0)
    assert before[1] < 0.0
    impact = collide(body.contacts, before, "newton", 0.0)
    after = turning + body.moved(impact.impulses)
    assert impact.phases == ((ContactState.OPEN, ContactState.STICKS),)
    assert agrees(after[2] / turning[2], values["ratio_rate"])
    ratio = abs(impact.tangential[1, 0] / impact.normal[1])
    assert agrees(ratio, values["impulse_ratio_T_over_N"])


@pytest.mark.slow
@pytest.mark.parametrize("known", cases("squat_threshold"))
def test_a_block_rocks_on_only_if_it_is_slender(known):
    height, friction = known["params"]["h"], known["params"]["mu"]

    def stops(width):
        body = block(width, height, friction)
        turning = np.array([height, -width, -1.0])
        impact = newton(body.contacts, body.rates(turning), tolerance=1e-15)
        return 1.0 if impact.normal[0] > 0.0 else -1.0

    (name,) = known["values"]
    assert agrees(bisect(stops, 0.1 * height, 3.0 * height) / height, known["values"][name])


@pytest.mark.long
def test_laws_with_coulombs_friction_gain_energy_only_where_the_page_says():
    """Random rods: Newton's law gains now and then, the others never."""
    known = case("energy_statistics")
    random, gained, count = np.random.default_rng(3), dict.fromkeys((*LAWS, "same"), 0), 600
    for _ in range(count):
        body = rod(random.uniform(0.05, 1.5), random.uniform(0.05, 1.2))
        before = np.array([-1.0, random.normal()])
        restitution = random.uniform(0.0, 1.0)
        for law in LAWS:
            impact = collide(body.contacts, before, law, restitution, on_gain="report")
            gained[law] += impact.gains
        same = newton(body.contacts, before, restitution, restitution)
        gained["same"] += same.gains
        # Carnot's inequality: dT <= -(1 - e) / (1 + e) |v+ - v-|^2 / 2.
        lost = same.impulses @ body.contacts.matrix @ same.impulses / 2.0
        assert same.energy <= -lost * (1.0 - restitution) / (1.0 + restitution) + 1e-14
    share = known["values"]["share_gaining_newton"]["value"]
    # Three standard deviations of a share of 2.1 % among 600.
    assert gained["newton"] / count == pytest.approx(share, abs=3 * math.sqrt(share / count))
    assert [gained[law] for law in ("poisson", "routh", "same")] == [0, 0, 0]


@pytest.mark.slow
def test_impulses_that_are_not_determined_are_said_to_be():
    """A block lands flat on two feet and a third between them: their shares are open."""
    body = block(0.1, 0.2, 0.0)
    rows = np.vstack([body.normal, body.normal.mean(axis=0)])
    contacts = Contacts.of_rows(body.mass, rows, np.zeros((3, 3)), 0.0)
    before = np.concatenate([rows @ [0.0, -1.0, 0.0], np.zeros(3)])
    impact = newton(contacts, before, 0.5)
    assert not impact.determined
    np.testing.assert_allclose(impact.after[:3], 0.5, atol=1e-14)
    assert impact.normal.sum() == pytest.approx(1.5)
    with pytest.raises(UndeterminedContact, match="use Newton's law"):
        poisson(contacts, before, 0.5)


def test_a_contact_that_opens_by_itself_takes_no_part():
    body = rod(0.5, 0.3)
    for law in (*LAWS, "sequential"):
        impact = collide(body.contacts, [0.1, 1.0], law, 0.5)
        np.testing.assert_array_equal(impact.impulses, 0.0)
        assert impact.energy == 0.0


def test_bad_input_is_refused_by_name():
    body = rod(0.5, 0.3)
    with pytest.raises(UnknownNameError, match="newton"):
        collide(body.contacts, [-1.0, 0.0], "newten")
    with pytest.raises(UnknownNameError, match="refuse"):
        collide(body.contacts, [-1.0, 0.0], on_gain="refused")
    with pytest.raises(OutOfRangeError, match="between 0 and 1"):
        collide(body.contacts, [-1.0, 0.0], restitution=1.5)
    with pytest.raises(UnsupportedError, match="Newton's"):
        collide(body.contacts, [-1.0, 0.0], "poisson", 0.5, 0.5)
    with pytest.raises(UnsupportedError, match="sequential"):
        collide(body.contacts, [-1.0, 0.0], order=("1",))
    with pytest.raises(UnsupportedError, match="contacts in the plane"):
        routh(ball(0.1, 0.03, 0.4, 0.3).contacts, [-1.0, 0.0, 0.0])
    with pytest.raises(PosingError, match="each of the contacts"):
        sequential(body.contacts, [-1.0, 0.0], 0.5, ("2",))
    with pytest.raises(UnsupportedError, match="give an order"):
        sequential(balls([1.0] * 6).contacts, -np.ones(10), 0.5)
