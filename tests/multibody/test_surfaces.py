"""Where surfaces of revolution touch a plane, against a search among all of their points."""

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from daesolve.errors import OutOfRangeError
from daesolve.multibody.surfaces import (
    Disc,
    Ellipsoid,
    Sphere,
    Spindle,
    Surface,
    Torus,
    lowest_point,
)

POSES = 200
POINTED = Spindle(0.05, 0.05 * np.cos(np.pi / 4))
TRUNCATED = Spindle(0.05, 0.025, 0.05 * np.sin(np.pi / 4))

Profile = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Points (along the axis, off the axis) of a meridian, by a number in [-1, 1]."""


def spindle_profile(spindle: Spindle) -> Profile:
    length = float(spindle.ends.half_length)

    def points(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return s * length, np.sqrt(float(spindle.arc) ** 2 - (s * length) ** 2) - spindle.offset

    return points


PROFILES: dict[str, tuple[Surface, Profile]] = {
    "sphere": (Sphere(0.3), lambda s: (0.3 * np.sin(np.pi * s / 2), 0.3 * np.cos(np.pi * s / 2))),
    "disc": (Disc(0.3), lambda s: (0.0 * s, 0.3 * np.ones_like(s))),
    "torus": (
        Torus(0.3, 0.1),
        lambda s: (0.1 * np.sin(np.pi * s), 0.3 + 0.1 * np.cos(np.pi * s)),
    ),
    "flat ellipsoid": (
        Ellipsoid(0.3, 0.1),
        lambda s: (0.1 * np.sin(np.pi * s / 2), 0.3 * np.cos(np.pi * s / 2)),
    ),
    "pointed spindle": (POINTED, spindle_profile(POINTED)),
    "truncated spindle": (TRUNCATED, spindle_profile(TRUNCATED)),
}


def lower_end(surface: Surface, cosine: float) -> float:
    """Return which end touches: the formulas (2.4) and what follows them."""
    if surface.ends is None or abs(cosine) <= float(surface.ends.edge):
        return 0.0
    return -np.sign(cosine)


def searched(profile: Profile, cosine: float) -> tuple[float, float, float]:
    """Return the least height of a meridian, and where along and off the axis it is, by search.

    A ternary search about the best of many points; the lowest point of a ring lies straight below
    the axis.
    """
    sine = np.sqrt(1.0 - cosine**2)

    def height(s: np.ndarray) -> np.ndarray:
        along, off = profile(s)
        return along * cosine - off * sine

    grid = np.linspace(-1.0, 1.0, 2001)
    best = grid[np.argmin(height(grid))]
    low, high = max(best - 1e-3, -1.0), min(best + 1e-3, 1.0)
    for _ in range(60):
        third = (high - low) / 3
        if height(np.array(low + third)) < height(np.array(high - third)):
            high -= third
        else:
            low += third
    place = np.array((low + high) / 2)
    along, off = profile(place)
    return float(height(place)), float(along), float(off)


def directions(count: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, 3))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def evaluated(surface: Surface) -> ca.Function:
    axis, normal = (ca.SX.sym(name, 3) for name in ("axis", "normal"))  # pyright: ignore
    end = ca.SX.sym("end")  # pyright: ignore
    return ca.Function(
        "lowest", [axis, normal, end], [*lowest_point(surface, axis, normal, end)]
    )  # fmt: skip


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("name", PROFILES)
def test_the_lowest_point_is_the_one_that_a_search_finds(name: str) -> None:
    surface, profile = PROFILES[name]
    function = evaluated(surface)
    for axis, normal in zip(directions(POSES, 1), directions(POSES, 2), strict=True):
        cosine = float(axis @ normal)
        height, point = function(axis, normal, lower_end(surface, cosine))
        point = np.asarray(point).ravel()
        lowest, along, off = searched(profile, cosine)
        # A disc that is nearly flat has a slope of cosine / sine.
        rounding = 1e-15 / np.sqrt(1.0 - cosine**2)
        assert float(height) == pytest.approx(-lowest, abs=1e-15)
        assert point @ normal == pytest.approx(lowest, abs=rounding)
        # A search among heights finds a place to the root of their rounding.
        assert point @ axis == pytest.approx(along, abs=3e-8)
        assert np.linalg.norm(point - (point @ axis) * axis) == pytest.approx(off, abs=3e-8)


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("name", PROFILES)
def test_the_gap_opens_with_the_normal_velocity_of_the_point_that_touches(name: str) -> None:
    surface, _ = PROFILES[name]
    axis, omega, end = (ca.SX.sym(n, k) for n, k in (("e", 3), ("w", 3), ("end", 1)))  # pyright: ignore
    normal = ca.DM(directions(1, 5)[0])
    height, point = lowest_point(surface, axis, ca.SX(normal), end)
    rate = -ca.jtimes(height, axis, ca.cross(omega, axis))
    speed = ca.dot(normal, ca.cross(omega, point))
    function = ca.Function("rates", [axis, omega, end], [rate, speed])
    for place, turning in zip(directions(POSES, 3), 10 * directions(POSES, 4), strict=True):
        chosen = lower_end(surface, float(place @ np.asarray(normal).ravel()))
        found, expected = function(place, turning, chosen)
        assert float(found) == pytest.approx(float(expected), abs=2e-14)


@pytest.mark.parametrize("spindle", [POINTED, TRUNCATED], ids=["pointed", "truncated"])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_arc_and_the_end_meet_where_the_contact_changes_over(
    spindle: Spindle, side: float
) -> None:
    function = evaluated(spindle)
    cosine = side * float(spindle.ends.edge)
    axis, normal = [np.sqrt(1 - cosine**2), 0.0, cosine], [0.0, 0.0, 1.0]
    arc, end = function(axis, normal, 0.0), function(axis, normal, -side)
    for one, other in zip(arc, end, strict=True):
        assert np.asarray(one) == pytest.approx(np.asarray(other), abs=1e-16)


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (lambda: Sphere(0.0), "radius of a Sphere is 0 m, but must be > 0"),
        (lambda: Torus(0.3, -0.1), "tube of a Torus is -0.1 m, but must be > 0"),
        (lambda: Spindle(0.05, 0.06), "arc - offset of a Spindle is -0.01 m, but must be > 0"),
        (lambda: Spindle(0.05, 0.03, 0.045), "what half_length cuts off of a Spindle is -0.005 m"),
    ],
)
def test_sizes_that_cannot_be_are_refused(made: Callable[[], Surface], wrong: str) -> None:
    with pytest.raises(OutOfRangeError, match=wrong.replace("(", r"\(")):
        made()
