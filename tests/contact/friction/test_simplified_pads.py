"""Simplified coefficients of a pad against the exact ones: where they are good, and where not."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.friction import SimplifiedPad, reduced_friction, simplified_lengths
from daesolve.errors import OutOfRangeError

RATIOS = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0])


def coefficients(pad, ratios):
    """f' and f'' by the traction, at |V| = ratio and omega = 1 of a pad of radius 1."""
    speed, spin = ca.SX.sym("speed"), ca.SX.sym("spin")
    along, about = pad.traction(speed**2, spin)
    function = ca.Function("traction", [speed, spin], [along * speed, about * spin])
    return np.array([[float(part) for part in function(ratio, 1.0)] for ratio in ratios]).T


def test_the_traction_is_the_papers_exponentials():
    slides, turns = coefficients(SimplifiedPad(0.5, 0.6, 1.1), RATIOS)
    assert slides == pytest.approx(1.0 - np.exp(-RATIOS / 0.5), rel=1e-12)
    assert turns == pytest.approx(0.6 * np.exp(-RATIOS / 1.1), rel=1e-12, abs=1e-300)


@pytest.mark.slow
@pytest.mark.parametrize(("exponent", "slide", "turn"), [(0.0, 0.070, 0.060), (1.0, 0.054, 0.042)])
def test_the_nearest_lengths_have_the_least_largest_error(exponent, slide, turn):
    """Known: 7 % and 6 % of f for a uniform pressure, 5.4 % and 4.2 % for n = 1."""
    found = simplified_lengths(exponent)
    ratios = np.geomspace(1e-3, 1e3, 2001)
    exact = reduced_friction(ratios, exponent=exponent)
    near = coefficients(SimplifiedPad(found.slide, found.turn, found.decay), ratios)
    errors = np.max(np.abs(near - np.array(exact)), axis=1)
    # The finer grid sees a peak between the points of the coarser one.
    assert errors == pytest.approx([found.slide_error, found.turn_error], rel=1e-3)
    assert errors[0] < slide
    assert errors[1] < turn
    for factor in (0.97, 1.03):
        other = coefficients(SimplifiedPad(factor * found.slide, 0.5, 1.0), ratios)
        assert np.max(np.abs(other[0] - exact[0])) > errors[0]


def test_far_from_the_velocity_centre_the_moment_is_lost():
    """f'' falls as 1 / (2 x) times the mean square of the radius; the exponential has none left."""
    slides, turns = coefficients(SimplifiedPad.nearest(1.0, 0.0), [30.0])
    exact = reduced_friction([30.0], exponent=0.0)
    assert exact[1][0] == pytest.approx(0.5 / (2.0 * 30.0), rel=1e-3)
    assert turns[0] < 1e-9
    assert slides[0] == pytest.approx(exact[0][0], abs=2e-4)


def test_a_pad_that_only_turns_has_a_moment_that_is_a_tenth_too_large():
    """f''(0) = 2/3 for a uniform pressure."""
    assert reduced_friction([0.0], exponent=0.0)[1][0] == pytest.approx(2.0 / 3.0)
    assert simplified_lengths(0.0).turn == pytest.approx(1.09 * 2.0 / 3.0, rel=5e-3)


@pytest.mark.slow
def test_a_body_on_simplified_pads_slides_and_stops_near_to_where_it_does_on_exact_ones():
    stops = []
    for pad in (ds.friction.Pad(0.1), SimplifiedPad.nearest(0.1, 0.0)):
        q = ds.coordinates(x="m", z="m", phi="rad")
        support = ds.friction.Support(
            point=(q.x, 0.0, q.z), normal=(0.0, 0.0, 1.0), friction=0.3, pad=pad, spin=q.dot.phi
        )
        disc = ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.z**2 + 0.005 * q.dot.phi**2) / 2,
            force={"z": -9.81},
            goals=[ds.Holonomic("table", q.z, ideal=False, scale=1.0)],
            pairs=[ds.friction.VariantPair("normal", [support], kind="unilateral")],
        )
        run = ds.solve(disc, 3.0, {"x_dot": 1.0, "phi_dot": 8.0})
        assert run.message.startswith("the body came to rest")
        stops.append((run.end_time, run.end_state["x"]))
    # An error of 7 % of f in friction, over the part of the way where both compare.
    assert stops[1] == pytest.approx(stops[0], rel=0.07)
    assert stops[1] != pytest.approx(stops[0], rel=1e-3)


@pytest.mark.parametrize("length", [0.0, -1.0, float("nan"), "1"])
def test_lengths_are_positive_numbers(length):
    with pytest.raises(OutOfRangeError, match="length slide"):
        SimplifiedPad(length, 0.5, 1.0)
