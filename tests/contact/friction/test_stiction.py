import itertools

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.friction import Support, VariantPair, pad_nodes
from daesolve.contact.friction.direction_flow import RestingBody, attraction, attractor_from
from daesolve.contact.friction.stiction import stiction, stiction_limit
from daesolve.contact.friction.support_balance import VariantState
from daesolve.errors import NoFreedomError, OutOfRangeError, UnknownNameError
from tests.reference.stiction_cones import largest_factor

from .bodies import HEEL, LOADS, TURNED, WEIGHT, patches, three_supports

AT = {"phi": TURNED}
AGREE = 1e-7
"""The cone programme ends with a relative gap of 1e-10, and an infeasibility of as much."""


def rings(radius):
    """Few nodes, closed under reflection in any slip: the same in both computations."""
    return pad_nodes(radius, rings=2, spokes=8)


def many_rings(radius):
    return pad_nodes(radius, rings=8, spokes=24)


@pytest.fixture(scope="module")
def on_nodes():
    return three_supports(rings)


@pytest.fixture(scope="module")
def on_pads():
    return three_supports()


def by_cones(limit, load, parameter, nodes=rings, sign=1.0):
    """The largest factor of a load parameter under which the tractions balance the load."""
    steady = np.array([load.get(name, 0.0) for name in LOADS])
    growing = np.array([sign * (name == parameter) for name in LOADS])
    found = largest_factor(patches(limit.variant, nodes, limit.direction), steady, growing)
    assert found is not None
    return sign * found[0]


def block(above=0.0):
    """A block of 4 kg between rails with supports 1 m ahead and behind, pushed at a height."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    p = ds.parameters(push=(1.0, "N"), weight=(10.0, "N"), friction=(0.3, ""))
    supports = {
        name: [
            Support(point=(q.x + a, q.y + a * q.phi), normal=(0.0, up), friction=p.friction)
            for up in (-1.0, 1.0)
        ]
        for name, a in (("rear", -1.0), ("front", 1.0))
    }
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(4.0 * (q.dot.x**2 + q.dot.y**2) + q.dot.phi**2) / 2,
        force={"x": p.push, "y": -p.weight, "phi": -above * p.push},
        goals=[ds.Holonomic("height", q.y, ideal=False), ds.Holonomic("turn", q.phi, ideal=False)],
        pairs=[VariantPair(name, both) for name, both in supports.items()],
    )


def test_a_block_sticks_up_to_coulombs_limit():
    system = block()
    held = stiction(system, {"x": 0.0}, {"push": 2.9})
    assert held.sticks
    assert held.certain
    # Along the unit of the metric, 1/sqrt(m): the growth is what is missing over the root of m.
    assert held.growth == pytest.approx(-0.1 / 2.0, rel=1e-12)
    assert held.direction["x_dot"] == pytest.approx(0.5, rel=1e-14)
    slides = stiction(system, {"x": 0.0}, {"push": -3.1})
    assert not slides.sticks
    assert slides.growth * slides.direction["x_dot"] == pytest.approx(-0.1 / 4.0, rel=1e-12)
    limit = stiction_limit(system, {"x": 0.0}, "push", (0.0, 20.0))
    assert limit.value == limit.slides_from == pytest.approx(3.0, rel=1e-11)
    assert limit.variant == (2, 2)
    assert limit.certain


def test_a_block_that_heels_presses_on_both_rails():
    # The couple h P of the push lifts the rear: the reactions are (W -+ h P / L) / 2, and their
    # sizes add up to h P / L.
    push, lever = 20.0, 3.0
    system = block(above=lever)
    slides = stiction(system, {"x": 0.0}, {"push": push})
    assert not slides.sticks
    assert slides.variant == (1, 2)
    np.testing.assert_allclose(slides.answer.reactions, (-25.0, 35.0), rtol=1e-12)
    assert slides.growth == pytest.approx((push - 0.3 * lever * push) / 2.0, rel=1e-12)
    coefficient = stiction_limit(system, {"x": 0.0}, "friction", (0.9, 0.0), {"push": push})
    assert coefficient.value == pytest.approx(1.0 / lever, rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "parameter", "between"),
    [
        ({"force_z": WEIGHT, "force_x": 1.0}, "moment_z", (0.0, 2.0)),
        pytest.param(
            {"force_z": WEIGHT}, "force_x", (0.0, 9.0), marks=pytest.mark.slow
        ),
        pytest.param(
            {"force_z": 14.0, "force_y": 1.0, "moment_x": 0.2}, "force_x", (0.0, 8.0),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"force_z": 14.0, "force_x": 1.0}, "moment_z", (0.0, -2.0), marks=pytest.mark.slow
        ),
    ],
)  # fmt: skip
def test_the_limit_is_that_of_a_convex_programme(on_nodes, load, parameter, between):
    limit = stiction_limit(on_nodes, AT, parameter, between, load)
    cones = by_cones(limit, load, parameter, sign=np.sign(between[1]))
    assert limit.certain
    assert limit.value == pytest.approx(cones, rel=AGREE)
    # All loaded supports lie at one height: where it can slide it cannot rest.
    assert limit.slides_from == limit.value


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameter", "least", "most"),
    [("force_x", 4e-5, 6e-5), ("force_y", 7e-3, 9e-3), ("moment_z", 3e-3, 5e-3)],
)
def test_on_supports_at_two_heights_it_may_slide_before_it_must(on_pads, parameter, least, most):
    load = {"force_z": WEIGHT, "moment_y": HEEL}
    limit = stiction_limit(on_pads, AT, parameter, (0.0, 12.0), load)
    assert limit.variant == (1, 2, 2)
    assert limit.value == pytest.approx(by_cones(limit, load, parameter, many_rings), rel=1e-6)
    assert least < 1.0 - limit.slides_from / limit.value < most
    between = (limit.slides_from + limit.value) / 2.0
    held = stiction(on_pads, AT, {**load, parameter: between})
    assert held.sticks
    assert held.growth > 0.0
    assert "could also slide" in held.sentence
    beyond = stiction(on_pads, AT, {**load, parameter: 1.001 * limit.value})
    assert not beyond.sticks


@pytest.mark.slow
def test_it_sticks_where_tractions_can_balance_the_load(on_pads):
    def nodes(radius):
        return pad_nodes(radius, rings=4, spokes=12)

    random = np.random.default_rng(3)
    verdicts = []
    for _ in range(10):
        across = random.uniform(-1.0, 1.0, 3) * (5.0, 5.0, 0.4)
        steady = np.array([0.0, 0.0, WEIGHT, 0.0, random.choice([0.0, HEEL, 0.9]), 0.0])
        growing = np.array([across[0], across[1], 0.0, 0.0, 0.0, across[2]])
        verdict = stiction(on_pads, AT, dict(zip(LOADS, steady + growing, strict=True)))
        assert verdict.certain
        factors = [
            largest_factor(patches(variant, nodes), steady, growing)
            for variant in itertools.product((1, 2), repeat=3)
        ]
        # None of the loads drawn lies within 1e-3 of its limit, where the nodes would tell.
        largest = max(found[0] for found in factors if found is not None)
        assert abs(largest - 1.0) > 1e-3
        assert verdict.sticks == (largest > 1.0)
        verdicts.append(verdict.sticks)
    assert set(verdicts) == {True, False}


@pytest.mark.slow
def test_the_flow_leaves_a_direction_that_does_not_attract(on_pads):
    # Half of the load that would push it along x: pure translation is a saddle of the flow.
    held = stiction(on_pads, AT, {"force_z": WEIGHT, "force_x": 2.2})
    assert held.sticks
    assert held.certain
    assert abs(held.direction["phi_dot"]) > 1.0


def test_a_support_that_opens_lets_go_of_the_body():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(lift=(12.0, "N"), push=(1.0, "N"))
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": p.push, "y": p.lift - 10.0},
        goals=[ds.Holonomic("height", q.y, ideal=False)],
        pairs=[
            VariantPair(
                "floor",
                [Support(point=(q.x, q.y), normal=(0.0, 1.0), friction=0.3)],
                kind="unilateral",
            )
        ],
    )
    assert not stiction(system, {"x": 0.0}).sticks
    assert "leaves its support floor" in stiction(system, {"x": 0.0}).sentence
    assert stiction(system, {"x": 0.0}, {"lift": 5.0}).sticks


@pytest.mark.parametrize(
    ("error", "words", "ask"),
    [
        (OutOfRangeError, "the body moves", lambda: stiction(block(), {"x": 0.0, "x_dot": 1.0})),
        (
            OutOfRangeError,
            "stays at rest at push = 0 and 1",
            lambda: stiction_limit(block(), {"x": 0.0}, "push", (0.0, 1.0)),
        ),
        (
            OutOfRangeError,
            "two different numbers",
            lambda: stiction_limit(block(), {"x": 0.0}, "push", (1.0, 1.0)),
        ),
        (
            UnknownNameError,
            "'push'",
            lambda: stiction_limit(block(), {"x": 0.0}, "pusch", (0.0, 1.0)),
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(error, words, ask):
    with pytest.raises(error, match=words):
        ask()


# -- the flow alone --------------------------------------------------------------------------------


def isotropic(load, friction, weight=1.0):
    """A point of unit mass on a table, by its equations: A(u) = load - friction weight u/|u|."""

    def at(direction):
        normal = np.array([[0.0], [0.0], [1.0]])
        rub = np.array([*(-friction * direction[:2] / np.hypot(*direction[:2])), 0.0])[:, None]
        return VariantState(
            HorizontalComplementarity(np.array([[-1.0]]), np.array([[1.0]]), np.array([weight])),
            np.array([*load, -weight]),
            rub - normal,
            rub + normal,
            {},
            np.eye(3),
        )

    return RestingBody(at, np.eye(3), np.array([[0.0, 0.0, 1.0]]))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.floats(0.1, 3.0), st.floats(-3.1, 3.1), st.floats(0.0, 2.0))
def test_a_point_sets_out_along_its_load(size, angle, friction):
    load = size * np.array([np.cos(angle), np.sin(angle)])
    found = attraction(isotropic(load, friction)).strongest
    assert found.settled
    np.testing.assert_allclose(found.direction, [*(load / size), 0.0], atol=1e-10)
    assert found.growth == pytest.approx(size - friction, abs=1e-12 * (size + friction))


@pytest.mark.slow
def test_a_limit_at_a_jump_of_friction_is_not_called_certain():
    """Two bodies, of which one holds and the other is pushed: the first has no direction."""
    q = ds.coordinates(x_1="m", x_2="m", y_1="m", y_2="m")
    p = ds.parameters(push=(4.0, "N"))
    supports = {
        f"normal_{k}": Support(point=(q[f"x_{k}"], q[f"y_{k}"]), normal=(0.0, 1.0), friction=0.3)
        for k in (1, 2)
    }
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        force={"x_1": p.push, "y_1": -10.0, "y_2": -10.0},
        goals=[ds.Holonomic(f"floor_{k}", q[f"y_{k}"], ideal=False) for k in (1, 2)],
        pairs=[VariantPair(n, [one], kind="unilateral") for n, one in supports.items()],
    )
    moves = stiction(system, {"x_1": 0.0})
    assert not moves.sticks
    assert not moves.certain
    assert moves.growth == pytest.approx(1.0, abs=0.05)


def test_the_direction_opposite_to_the_load_is_no_limit():
    found = attractor_from(isotropic((1.0, 0.0), 0.5), np.array([-1.0, 0.0, 0.0]))
    np.testing.assert_allclose(found.direction, (1.0, 0.0, 0.0), atol=1e-10)


def test_a_body_without_freedom_has_no_direction():
    body = isotropic((1.0, 0.0), 0.5)
    with pytest.raises(NoFreedomError, match="no direction"):
        RestingBody(body.at, np.eye(3), np.eye(3))
