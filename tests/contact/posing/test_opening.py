"""How the goals of unilateral pairs are written does not change the answers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.friction import Pad, Support, VariantPair, variant_problem
from daesolve.errors import PosingError, UnknownNameError

Q = ds.coordinates(x="m", y="m", z="m", phi="rad", tilt_x="rad", tilt_y="rad")
P = ds.parameters(height=(0.3, "m"))
FEET = {"one": (0.2, 0.0), "two": (-0.1, 0.17), "three": (-0.1, -0.17)}


def foot(a, b):
    """The foot of a body whose tilts are small."""
    cosine, sine = ca.cos(Q.phi), ca.sin(Q.phi)
    ahead, aside = a * cosine - b * sine, a * sine + b * cosine
    x = Q.x + ahead - P.height * Q.tilt_y
    y = Q.y + aside + P.height * Q.tilt_x
    return x, y, Q.z - P.height + aside * Q.tilt_x - ahead * Q.tilt_y


def table(residuals, normal=(0.0, 0.0, 1.0)):
    supports = {
        name: Support(normal, foot(*place), 0.3, Pad(0.02), Q.dot.phi)
        for name, place in FEET.items()
    }
    linear = Q.dot.x**2 + Q.dot.y**2 + Q.dot.z**2
    angular = Q.dot.phi**2 + Q.dot.tilt_x**2 + Q.dot.tilt_y**2
    return ds.MechanicalSystem(
        Q,
        P,
        kinetic=5.0 * linear / 2 + 0.1 * angular / 2,
        force={"z": -49.05},
        goals=[ds.Holonomic(f"goal_{k}", r, ideal=False) for k, r in enumerate(residuals)],
        pairs=[VariantPair(name, [one], kind="unilateral") for name, one in supports.items()],
    )


GAPS = [foot(*place)[2] for place in FEET.values()]
LEVEL = [Q.z - P.height, Q.tilt_x, Q.tilt_y]
SLIDING = {"x": 0.0, "x_dot": 1.0, "y_dot": 0.2, "phi_dot": 2.0}


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows(
    "0.3-residuals0", "0.3-residuals1", "0.3-residuals3", "1.5-residuals0", "1.5-residuals1"
)
@pytest.mark.parametrize("residuals", [GAPS[::-1], [-gap for gap in GAPS], LEVEL, LEVEL[::-1]])
@pytest.mark.parametrize("height", [0.3, 1.5])
def test_gaps_open_whatever_the_goals_are_that_close_them(residuals, height):
    plain, other = (
        variant_problem(table(given), {"height": height}).solve(SLIDING, policy="all").answers
        for given in (GAPS, residuals)
    )
    assert [answer.variant for answer in plain] == [answer.variant for answer in other]
    assert len(plain) == (1 if height < 1.0 else 0)  # The high one would tip over, and cannot.
    for one, same in zip(plain, other, strict=True):
        np.testing.assert_allclose(one.reactions, same.reactions, rtol=1e-12)
        assert one.physical == same.physical


def test_a_support_pushes_where_a_constraint_holds():
    with pytest.raises(PosingError, match="a support of 'one' pushes in a direction"):
        variant_problem(table(GAPS, (0.0, 0.6, 0.8))).solve(SLIDING)


def test_directions_are_named_as_velocities():
    with pytest.raises(UnknownNameError, match="unknown velocity 'xdot'"):
        variant_problem(table(GAPS)).solve({"x": 0.0}, direction={"xdot": 1.0})
