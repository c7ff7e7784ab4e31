"""Painleve's paradox: sliding rods that no motion, or several, lets go on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import bisect

from daesolve.contact.decisions import ContactState, decide, impact_without_collision
from daesolve.errors import AmbiguousMotion, NoMotion, PosingError
from tests.contact.decisions.bodies import reactions_of, rod
from tests.contact.decisions.cases import agrees, case, cases


def lifted(phi, params):
    """Return how the gap of a rod that slides backwards answers to its reaction, 1/kg."""
    matrix = rod(phi, params["mu"], params["m"], params["l"]).contacts.matrix
    return matrix[0, 0] + params["mu"] * matrix[0, 1]


@pytest.mark.parametrize("known", cases("painleve_region"))
def test_a_sliding_rod_has_none_or_two_motions_where_the_reference_says(known):
    p, values = known["params"], known["values"]
    steep = math.atan(2.0)

    assert agrees(bisect(lifted, 0.5, steep, p, xtol=1e-15), values["phi1"], 12)
    assert agrees(bisect(lifted, steep, 1.5, p, xtol=1e-15), values["phi2"], 12)

    def decision(angle, rate=0.0):
        body = rod(angle, p["mu"], p["m"], p["l"], rate)
        return decide(body.contacts, body.free, [-1.0])

    def motions(rate):
        body = rod(steep, p["mu"], p["m"], p["l"], rate)
        # Near the limit both motions are hardly different: they are reported as states of one.
        answers = decide(body.contacts, body.free, [-1.0], tolerance=1e-15).answers
        return sum(len(answer.candidates) for answer in answers) - 1

    limit = bisect(motions, 1, 9, xtol=1e-15)
    assert agrees(limit, values["omega_limit_at_tan2"], 12)
    below, above = decision(steep, limit - 0.1), decision(steep, limit + 0.1)
    assert len(below.answers) == len(known["count_below"])
    states = {answer.states for answer in above.answers}
    assert states == {(ContactState.OPEN,), (ContactState.BACKWARD,)}
    with pytest.raises(NoMotion):
        below.only()
    with pytest.raises(AmbiguousMotion):
        above.only()
    # Outside the region there is one motion.
    for angle in (values["phi1"]["value"] - 1e-3, values["phi2"]["value"] + 1e-3):
        assert len(decision(angle).answers) == 1


def test_the_paradox_begins_with_the_friction_of_the_reference():
    """At tan phi = 2, where it comes first."""
    body = rod(math.atan(2.0), 1.0)
    entry = case("painleve_critical_mu")["values"]["mu_P"]
    assert agrees(-body.contacts.matrix[0, 0] / body.contacts.matrix[0, 1], entry)

    def kind(mu):
        answers = decide(rod(math.atan(2.0), mu).contacts, body.free, [-1.0]).answers
        return 1.0 if answers else -1.0

    assert agrees(bisect(kind, 1.0, 2.0, xtol=1e-15), entry, 9)


def test_an_impact_without_collision_ends_the_slip_as_the_reference_says():
    known = case("impact_without_collision")
    p, values = known["params"], known["values"]
    body = rod(p["phi"], p["mu"], p["m"], p["l"])
    impact = impact_without_collision(body.contacts, [p["gN_dot"], p["slip_speed"]])
    (normal, tangential) = impact.impulses
    # The compliant floor of the reference is known to few digits, the closed form to all.
    assert agrees(normal, values["LN"])
    assert agrees(tangential, values["LT"])
    assert agrees(tangential / normal, values["ratio"], 3)
    assert agrees(impact.energy, values["dE_compression"])
    assert agrees(p["omega"] + body.moved(impact.impulses)[2], values["omega_after"])
    np.testing.assert_allclose(impact.after, 0.0, atol=1e-15)
    assert normal == pytest.approx(0.90955845429704, rel=1e-13)
    assert tangential == pytest.approx(1.2129362430877, rel=1e-13)
    with pytest.raises(NoMotion, match="without collision"):
        impact_without_collision(rod(p["phi"], 0.5).contacts, [0.0, p["slip_speed"]])
    with pytest.raises(PosingError, match="do not change"):
        impact_without_collision(body.contacts, [-1.0, p["slip_speed"]])


def test_a_rod_jams_where_the_reference_says_with_an_impulse_on_the_edge_of_its_cone():
    known = case("dynamic_jam")
    p, values = known["params"], known["values"]

    angle = bisect(lifted, p["phi0"], 1.0, p, xtol=1e-15)
    assert agrees(angle, values["phi_jam"])
    # The exponent with which N grows there, N ~ (phi_jam - phi)^(C - 1).
    s, c = math.sin(angle), math.cos(angle)
    exponent = 2 * s * (p["mu"] * s - c) / (2 * s * c + p["mu"] * math.cos(2 * angle))
    assert agrees(exponent, values["exponent_C"])
    # The edge of the cone: so much friction more that an impulse agrees, rounding apart.
    body = rod(angle, p["mu"] * (1.0 + 1e-9), p["m"], p["l"])
    impact = impact_without_collision(body.contacts, [0.0, values["slip_at_jam"]["value"]])
    assert agrees(impact.normal[0], values["jam_impulse_LN"])
    used = impact.tangential[0, 0] / impact.normal[0]
    assert used == pytest.approx(p["mu"], abs=1e-12)


@pytest.mark.slow
def test_the_time_at_which_a_rod_jams_is_that_of_the_reference():
    """Newton and Euler until 1e-6 before the angle of the jam, and on at the rate it turns with."""
    known = case("dynamic_jam")
    p, values = known["params"], known["values"]

    def slope(t, x):
        angle, rate, _ = x
        body = rod(angle, p["mu"], p["m"], p["l"], rate)
        reactions = reactions_of(body.contacts, body.free, [-1.0])
        slip_rate = (body.contacts.matrix @ reactions + body.free)[1]
        return [rate, body.moved(reactions)[2], slip_rate]

    def near(t, x):
        return values["phi_jam"]["value"] - 1e-6 - x[0]

    near.terminal = True
    run = solve_ivp(
        slope,
        (0.0, 0.2),
        [p["phi0"], p["omega0"], p["slip_speed0"]],
        method="DOP853",
        rtol=1e-12,
        atol=1e-14,
        events=near,
    )
    rate, slip = run.y[1:, -1]
    assert agrees(run.t[-1] + 1e-6 / rate, values["t_jam"])
    assert agrees(rate, values["omega_at_eta_1e-6"])
    assert slip == pytest.approx(-0.547105439, abs=1e-8)
