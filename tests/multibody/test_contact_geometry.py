"""Where bodies would touch, and how fast their material passes there: against rotations by hand."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody import GROUND, Body, Disc, Ellipsoid, PlanarBody, PlaneContact, RoundContact
from daesolve.multibody.contact_geometry import tangents_of
from daesolve.multibody.surfaces import Sphere

from .placing import matrix

ROUNDING = 1e-13
"""Of numbers of the order of ten: some hundred roundings."""


def body_in_space(name: str, random: np.random.Generator) -> tuple[Body, dict[str, Any]]:
    """A body, with its place, rotation, velocity and angular velocity in space as numbers."""
    turn = random.normal(size=4)
    turn /= np.linalg.norm(turn)
    state = {"p": random.normal(size=3), "q": turn, "v": random.normal(size=3),
             "w": random.normal(size=3) * 5.0}  # fmt: skip
    own = Body(name, 1.0, (1.0, 1.0, 1.0))
    return own, state | {"R": matrix(turn), "omega": matrix(turn) @ state["w"]}


def values(bodies: dict[str, tuple[Body, dict[str, Any]]], expressions: list[ca.SX]):
    """Evaluate at the states of bodies; rates of the coordinates come with their kinematics."""
    symbols = ca.vertcat(
        *[ca.vertcat(b.coordinates.vector, b.velocities.vector) for b, _ in bodies.values()]
    )
    state = np.concatenate(
        [np.concatenate([s["p"], s["q"], s["v"], s["w"]]) for _, s in bodies.values()]
    )
    found = ca.Function("f", [symbols], [ca.densify(e) for e in expressions])(state)
    found = found if isinstance(found, tuple) else (found,)
    return [np.array(ca.DM(f)).squeeze() for f in found]


def rate(bodies: dict[str, tuple[Body, dict[str, Any]]], expression: ca.SX) -> ca.SX:
    """The rate of an expression of coordinates."""
    return sum(
        (ca.jacobian(expression, b.coordinates.vector) @ b.kinematics for b, _ in bodies.values()),
        start=ca.SX(1, 1),
    )


def at(state: dict[str, Any], place: np.ndarray) -> np.ndarray:
    """The velocity of the material of a body at a place in space."""
    return state["v"] + np.cross(state["omega"], place - state["p"])


SURFACES = {"sphere": Sphere(0.3), "disc": Disc(0.3), "egg": Ellipsoid(0.2, 0.4), "point": None}


@pytest.mark.parametrize("kind", SURFACES)
def test_the_slip_on_a_plane_of_another_body_is_the_velocity_of_material_over_material(kind):
    random = np.random.default_rng(3)
    bodies = {name: body_in_space(name, random) for name in ("upper", "lower")}
    (upper, own), (lower, other) = bodies.values()
    origin = (0.1, -0.2, 0.3)
    place = upper.point(*origin) if SURFACES[kind] is None else upper.frame(origin)
    plane = lower.frame((0.3, 0.1, -0.2), axes=(1.0, 2.0, -0.5))
    touch = PlaneContact("c", place, SURFACES[kind], plane=plane).touch
    gap, point, slip, speed, axes = values(
        bodies, [touch.gap, touch.point, touch.slip, rate(bodies, touch.gap), plane.rotation]
    )
    # The lowest of many points of the surface is the point, and as far away as the gap.
    normal = axes[:, 2]
    centre = own["p"] + own["R"] @ origin
    foot = other["p"] + other["R"] @ (0.3, 0.1, -0.2)
    around, along = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(0, np.pi, 361))
    ring = np.array([np.cos(around) * np.sin(along), np.sin(around) * np.sin(along)])
    shapes = {
        "sphere": 0.3 * np.array([*ring, np.cos(along)]),
        "disc": 0.3 * np.array([np.cos(around), np.sin(around), 0.0 * along]),
        "egg": np.array([*(0.2 * ring), 0.4 * np.cos(along)]),
        "point": np.zeros((3, 1, 1)),
    }
    surface = centre + shapes[kind].reshape(3, -1).T @ own["R"].T
    heights = (surface - foot) @ normal
    assert normal @ (point - foot) == pytest.approx(gap, abs=ROUNDING)
    # Half a degree of the grid, squared, and halved, of 0.4 m.
    assert -ROUNDING <= np.min(heights) - gap <= 0.4 * np.deg2rad(0.5) ** 2
    over = at(own, point) - at(other, point)
    np.testing.assert_allclose(slip, axes[:, :2].T @ over, atol=ROUNDING)
    assert speed == pytest.approx(normal @ over, abs=ROUNDING)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_slip_of_round_bodies_is_the_velocity_of_material_over_material(side, inside):
    random = np.random.default_rng(4)
    bodies = {name: body_in_space(name, random) for name in ("ball", "other")}
    (ball, own), (other_body, other) = bodies.values()
    radii = (0.2, 4.0) if inside else (0.2, 0.3)
    centres = (0.1, 0.2, -0.1), (0.4, -0.3, 0.2)
    contact = RoundContact(
        "c", ball.frame(centres[0]), other_body.frame(centres[1]), radii, inside=inside
    )
    touch = contact.touch
    pieces = [touch.gap, touch.point, touch.slip, rate(bodies, touch.gap), touch.tangents]
    pieces = [ca.substitute(piece, contact.values.vector, side) for piece in pieces]
    gap, point, slip, speed, tangents = values(bodies, pieces)
    first = own["p"] + own["R"] @ centres[0]
    second = other["p"] + other["R"] @ centres[1]
    out = (first - second) / np.linalg.norm(first - second)
    nearest = second + radii[1] * out
    np.testing.assert_allclose(point, first + radii[0] * (out if inside else -out), atol=ROUNDING)
    normal = -out if inside else out
    assert normal @ (point - nearest) == pytest.approx(gap, abs=ROUNDING)
    np.testing.assert_allclose(
        np.column_stack([tangents, normal]).T @ np.column_stack([tangents, normal]),
        np.eye(3),
        atol=ROUNDING,
    )
    assert np.linalg.det(np.column_stack([tangents, normal])) == pytest.approx(1.0, abs=ROUNDING)
    over = at(own, point) - at(other, nearest)
    np.testing.assert_allclose(slip, tangents.T @ over, atol=ROUNDING)
    assert speed == pytest.approx(normal @ over, abs=ROUNDING)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_directions_of_slip_are_the_axes_turned_the_short_way(side):
    """Onto the end of the axis itself nothing turns: x stays, and y with it for z."""
    normal = np.array([0.0, 0.0, side])
    np.testing.assert_array_equal(
        ca.DM(tangents_of(ca.SX(normal), side)).full(), [[1.0, 0.0], [0.0, side], [0.0, 0.0]]
    )


def test_in_the_plane_slips_are_velocities_of_material_over_material():
    """A wheel and a hub, a wheel and a line that turns, a point and a ring."""
    wheel, other = PlanarBody("wheel", 1.0, 1.0), PlanarBody("other", 1.0, 1.0)
    symbols = ca.vertcat(
        *[b.coordinates.vector for b in (wheel, other)],
        *[b.coordinates.dot.vector for b in (wheel, other)],
    )
    random = np.random.default_rng(5)
    state = random.normal(size=12)
    (p, turn), (p2, turn2) = (state[:2], state[2]), (state[3:5], state[5])
    v, w, v2, w2 = state[6:8], state[8], state[9:11], state[11]

    def turned(angle, place):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, -s], [s, c]]) @ place

    def cross(rate, arm):
        return rate * np.array([-arm[1], arm[0]])

    centre = p + turned(turn, (0.1, 0.2))
    line = PlaneContact(
        "line", wheel.frame((0.1, 0.2)), Disc(0.3), plane=other.frame((0.3, 0.4), angle=0.5)
    )
    along, normal = turned(turn2 + 0.5, (1.0, 0.0)), turned(turn2 + 0.5, (0.0, 1.0))
    low = centre - 0.3 * normal
    over = v + cross(w, low - p) - v2 - cross(w2, low - p2)
    gap = normal @ (low - p2 - turned(turn2, (0.3, 0.4)))
    cases = [(line, gap, along @ over)]
    for inside in (False, True):
        radii = (0.1, 5.0) if inside else (0.1, 0.2)
        ring = RoundContact(
            "ring", wheel.frame((0.1, 0.2)), other.frame((0.3, 0.4)), radii, inside=inside
        )
        hub = p2 + turned(turn2, (0.3, 0.4))
        distance = np.linalg.norm(centre - hub)
        out = (centre - hub) / distance
        normal = -out if inside else out
        over = v + cross(w, centre - 0.1 * normal - p) - v2 - cross(w2, hub + radii[1] * out - p2)
        gap = 4.9 - distance if inside else distance - 0.3
        cases.append((ring, gap, np.array([normal[1], -normal[0]]) @ over))
    for contact, gap, slip in cases:
        touch = contact.touch
        speed = ca.jacobian(touch.gap, symbols[:6]) @ symbols[6:]
        found = ca.Function("f", [symbols], [touch.gap, touch.slip, speed])(state)
        assert float(found[0]) == pytest.approx(gap, abs=ROUNDING)
        assert float(found[1]) == pytest.approx(slip, abs=ROUNDING)


def test_places_of_the_ground_move_as_time_says():
    """A table that goes round and turns about an axis: its velocity is by hand."""
    angle = 2.0 * ds.time
    turn = ca.vertcat(
        ca.horzcat(ca.cos(angle), -ca.sin(angle), 0),
        ca.horzcat(ca.sin(angle), ca.cos(angle), 0),
        ca.horzcat(0, 0, 1),
    )
    table = GROUND.frame((ca.sin(3.0 * ds.time), 0.0, ds.time**2), axes=turn)
    found = ca.Function("f", [ds.time], [table.velocity, table.angular_velocity])(0.7)
    np.testing.assert_allclose(found[0].full().ravel(), [3 * np.cos(2.1), 0, 1.4], atol=1e-15)
    np.testing.assert_allclose(found[1].full().ravel(), [0, 0, 2.0], atol=1e-15)
    line = GROUND.frame((0.0, ds.time), angle=ca.sin(ds.time))
    rates = ca.Function("f", [ds.time], [line.velocity, line.rate])(0.7)
    np.testing.assert_allclose(rates[0].full().ravel(), [0, 1], atol=1e-15)
    assert float(rates[1]) == pytest.approx(np.cos(0.7), abs=1e-15)
    assert GROUND.frame((0, 0, 0)).velocity.nnz() == 0
