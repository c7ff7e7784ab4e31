"""What makes no support and no pair of them is refused in one sentence that names it."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import pytest

import daesolve as ds
from daesolve.contact.friction import Pad, Support, VariantPair
from daesolve.contact.posing.guides import guides_in
from daesolve.errors import (
    NoDerivativeError,
    OutOfRangeError,
    PosingError,
    UnsupportedError,
)

Q = ds.coordinates(x="m", y="m", z="m", phi="rad")
FLAT: dict[str, Any] = {"normal": (0.0, 1.0), "point": (Q.x, Q.y)}
SPACE: dict[str, Any] = {"normal": (0.0, 0.0, 1.0), "point": (Q.x, Q.y, Q.z)}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({**FLAT, "normal": (1.0,)}, "must have 2 or 3"),
        ({"normal": (0.0, 1.0)}, "its point, or the velocity"),
        ({**FLAT, "velocity": (Q.dot.x, Q.dot.y)}, "its point, or the velocity"),
        ({**FLAT, "point": (Q.x, Q.y, Q.z)}, "must have 2 entries, like its normal"),
        ({**FLAT, "normal": "up"}, "must be a list of expressions"),
        ({**SPACE, "pad": 0.1, "spin": Q.dot.phi}, "must be a Pad or PadNodes"),
        (
            {**FLAT, "pad": Pad(0.1), "spin": Q.dot.phi},
            "a pad needs a support in space",
        ),
        ({**SPACE, "pad": Pad(0.1)}, "both a pad and a spin"),
    ],
)
def test_what_makes_no_support_is_refused(given, sentence):
    with pytest.raises(PosingError, match=sentence):
        Support(**given)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("two words", [Support(**FLAT)] * 2), "is not a word"),
        (("pair", [Support(**FLAT)] * 2, "loose"), "must be two-sided or unilateral"),
        (("pair", [Support(**FLAT)]), "takes 2 supports, not 1"),
        (("pair", [Support(**FLAT)] * 2, "unilateral"), "takes 1 support, not 2"),
        (
            ("pair", [Support(**FLAT), Support(**SPACE)]),
            "all lie in the plane or all in space",
        ),
        (("pair", [FLAT, FLAT]), "needs a list of Supports"),
    ],
)
def test_what_makes_no_pair_is_refused(arguments, sentence):
    with pytest.raises(PosingError, match=sentence):
        VariantPair(*arguments)


PLATE = ds.coordinates(x="m", y="m", turn="rad")
SIDE = ds.Holonomic("side", PLATE.y, ideal=False)
LEVEL = ds.Holonomic("level", PLATE.turn, ideal=False)


def corner(along, across, **given):
    point = (PLATE.x + along - across * PLATE.turn, PLATE.y + across + along * PLATE.turn)
    normal = (0.0, -1.0 if across > 0.0 else 1.0)
    return ds.friction.Support(**{"point": point, "normal": normal, "friction": 0.3, **given})


def pair(name, along, **given):
    return ds.friction.VariantPair(name, [corner(along, 0.2, **given), corner(along, -0.2)])


def drawer(pairs=None, goals=(SIDE, LEVEL), pull=0.1, **given):
    return ds.MechanicalSystem(
        PLATE,
        kinetic=(PLATE.dot.x**2 + PLATE.dot.y**2) / 2 + PLATE.dot.turn**2 / 20,
        force={"x": pull, "y": -1.0},
        goals=goals,
        pairs=[pair("front", 0.5), pair("back", -0.5)] if pairs is None else pairs,
        **given,
    )


def with_front(**given):
    return drawer([pair("front", 0.5, **given), pair("back", -0.5)])


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ({"normal": (0.0, -2.0)}, OutOfRangeError, "has the length 2, but must be of length 1"),
        ({"normal": (0, 0)}, OutOfRangeError, "has the length 0"),
        ({"normal": ca.SX([0.0, math.nan])}, OutOfRangeError, "has the length nan"),
        ({"friction": -0.3}, OutOfRangeError, "the friction of the first support of 'front' is -0"),
        ({"friction": math.inf}, OutOfRangeError, "is inf, but must be >= 0"),
        ({"point": (0.0, 0.2)}, PosingError, "does not depend on the coordinates"),
        ({"point": (PLATE.dot.x, PLATE.y)}, PosingError, "contains velocities"),
        (
            {"point": None, "velocity": (PLATE.x, PLATE.y)},
            PosingError,
            "does not depend on the velocities",
        ),
        ({"point": None, "velocity": (PLATE.dot.x**2, PLATE.dot.y)}, PosingError, "is not linear"),
    ],
)
def test_a_support_that_cannot_be_is_named(given, kind, told):
    with pytest.raises(kind, match=r"first support of 'front'") as caught:
        with_front(**given)
    assert told in str(caught.value)


def test_normals_of_length_one_are_taken_as_numbers_and_as_columns():
    for normal in ((0, -1), ca.SX([0.0, -1.0]), (0.0, -ca.cos(PLATE.turn))):
        assert guides_in(with_front(normal=normal).dynamics) is not None


@pytest.mark.parametrize(
    ("goals", "told"),
    [
        ([], "but there are none"),
        (
            [ds.Holonomic("side", PLATE.y), ds.Holonomic("level", PLATE.turn)],
            "but there are none",
        ),
        ([ds.Holonomic("side", PLATE.y), LEVEL], "but there is 1: 'level'"),
    ],
)
def test_pairs_without_as_many_goals_to_keep_are_refused(goals, told):
    with pytest.raises(PosingError, match=r"2 pairs of supports \(front, back\)") as caught:
        drawer(goals=goals)
    assert "ideal=False" in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (pair("front", 0.5), "must be a list of VariantPairs, not a VariantPair"),
        ([corner(0.5, 0.2)], "one is a Support"),
        (
            [pair("front", 0.5), pair("front", -0.5)],
            "two pairs of supports have the same name, 'front'",
        ),
        ([pair("front", 0.5)], "1 pair of supports (front)"),
    ],
)
def test_pairs_that_are_none_are_refused(pairs, told):
    with pytest.raises(PosingError) as caught:
        drawer(pairs)
    assert told in str(caught.value)


@pytest.mark.parametrize("goals", [None, SIDE])
def test_goals_beside_pairs_are_a_list(goals):
    with pytest.raises(PosingError, match="goals must be a list"):
        drawer(goals=goals)


def test_points_in_auxiliary_quantities_are_refused():
    places = ds.auxiliaries(ahead=(PLATE.x + 0.5, "m"))
    with pytest.raises(PosingError, match="the point of the first support of 'front' contains aux"):
        drawer(
            [pair("front", 0.5, point=(places.ahead, PLATE.y)), pair("back", -0.5)],
            auxiliaries=places,
        )


@pytest.mark.parametrize("spin", [2.0, PLATE.dot.turn**2])
def test_a_spin_is_linear_in_the_velocities(spin):
    q = ds.coordinates(x="m", y="m", z="m", phi="rad")
    spin = spin if isinstance(spin, float) else q.dot.phi**2
    table = ds.friction.Support((0.0, 0.0, 1.0), (q.x, q.y, q.z), 0.3, ds.friction.Pad(0.1), spin)
    with pytest.raises(PosingError, match=r"the spin of the support of 'table'"):
        ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2 + q.dot.phi**2) / 2,
            goals=[ds.Holonomic("height", q.z, ideal=False)],
            pairs=[ds.friction.VariantPair("table", [table], kind="unilateral")],
        )


def test_a_policy_needs_pairs():
    free = ds.MechanicalSystem(
        PLATE, kinetic=(PLATE.dot.x**2 + PLATE.dot.y**2 + PLATE.dot.turn**2) / 2
    )
    with pytest.raises(UnsupportedError, match="variant_policy = 'strict'"):
        ds.solve(free, until=1.0, variant_policy="strict")


@pytest.mark.slow
def test_what_is_smooth_alone_is_refused_at_rest():
    system, start = drawer(), {"x": 0.0, "x_dot": 0.1}
    with pytest.raises(UnsupportedError, match="dry friction of pairs of supports is not smooth"):
        ds.analysis.linearize(system, {"x": 0.0})
    with pytest.raises(NoDerivativeError, match="holds the body at rest from the start on"):
        ds.analysis.lyapunov_exponent(system, until=1.0, initial={"x": 0.0, "x_dot": 0.0})
    with pytest.raises(NoDerivativeError, match=r"to rest at t = 0\.5 s"):
        ds.analysis.sensitivity(system, until=1.0, initial=start, by=["x_dot"])


@pytest.mark.slow
def test_a_reference_passes_over_guards_that_do_not_change():
    found = ds.analysis.reference_run(drawer(pull=1.3), until=0.5, initial={"x": 0.0, "x_dot": 1.0})
    assert found.states["x"][-1] == pytest.approx(0.5 + 0.5 * 1.0 * 0.5**2, abs=1e-15)
