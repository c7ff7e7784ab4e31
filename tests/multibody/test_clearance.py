"""Joints with play, against contacts posed by hand, closed forms and the joints without play."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, UnsupportedError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.clearance import Clearance
from daesolve.multibody.compliance import HuntCrossley, KelvinVoigt
from daesolve.multibody.friction_laws import RegularisedCoulomb
from daesolve.multibody.joints import Prismatic, Revolute, Spherical
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND
from daesolve.multibody.round_contact import RoundContact

GRAVITY = (0.0, -9.81)


def rod_and_hinge(**start):
    """A rod of 1 kg and 1 m with a pin at its end."""
    rod = PlanarBody("rod", 1.0, 1 / 12, **({"position": (0.5, 0.0)} | start))
    return rod, Revolute("hinge", GROUND.frame((0.0, 0.0)), rod.frame((-0.5, 0.0)))


@pytest.mark.slow
def test_a_pin_falls_through_its_play_and_is_thrown_back_by_newtons_law():
    rod, hinge = rod_and_hinge()
    play = Clearance("play", hinge, 1e-3, restitution=0.5)
    mechanism = Mechanism([rod], [play], gravity=GRAVITY)
    system = mechanism.system(outputs={"pin": hinge.second.velocity[1]})
    run = ds.solve(system, 0.02, guess=mechanism.start, at=[0.01428, 0.02])
    first = run.events[0]
    # From the middle of the hole, where its normal has no direction: g t^2 / 2 = c.
    time = math.sqrt(2e-3 / 9.81)
    assert first.name == "play_closed"
    assert first.time == pytest.approx(time, rel=1e-13)
    assert first.impact is not None
    # The pin of a rod bears a quarter of its mass: 1 / m + l^2 / 4 I = 4 / m.
    assert first.impact.impulses["play"] == pytest.approx(1.5 * 9.81 * time / 4, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("radius", "friction"), [(0.0, None), (0.02, 0.3)])
def test_a_pin_in_its_hole_moves_as_one_that_is_posed_as_a_contact_of_circles(radius, friction):
    """From where it lies in the hole: sliding, sticking and leaving it as that says."""
    ends = []
    for by_hand in (False, True):
        rod, hinge = rod_and_hinge(position=(0.5, -1e-3), velocity=(0.0, 0.0), rate=0.0)
        if by_hand:
            part = RoundContact(
                "play", hinge.second, hinge.first, (radius, radius + 1e-3), inside=True,
                unilateral=True, friction=friction,
            )  # fmt: skip
        else:
            part = Clearance("play", hinge, 1e-3, radius, friction=friction)
        mechanism = Mechanism([rod], [part], gravity=GRAVITY)
        run = ds.solve(mechanism.system(), 0.6, initial=mechanism.start)
        ends.append([run[name][-1] for name in ("rod_x", "rod_y", "rod_angle", "rod_angle_dot")])
    # The pin swings in its hole with some 100 1/s, for 0.6 s.
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


@pytest.mark.slow
def test_a_compliant_pin_goes_to_and_fro_through_the_middle_of_its_hole():
    """Each way takes 2 c / v, each blow half a swing: to rounding after eight of them."""
    play, speed, stiffness, mass = 1e-3, 0.2, 1e5, 1.0
    puck = PlanarBody("puck", mass, 0.1, velocity=(speed, 0.0))
    hinge = Revolute("hinge", GROUND.frame((0.0, 0.0)), puck.frame())
    part = Clearance("play", hinge, play, compliance=KelvinVoigt(stiffness))
    mechanism = Mechanism([puck], [part])
    run = ds.solve(mechanism.system(), 0.17, guess=mechanism.start)
    closed = [event.time for event in run.events if event.name == "play_closed"]
    period = 2 * play / speed + math.pi * math.sqrt(mass / stiffness)
    expected = play / speed + period * np.arange(len(closed))
    assert len(closed) == 9
    # Ten roundings of the time each blow.
    np.testing.assert_allclose(closed, expected, rtol=1e-13)
    assert np.max(run["play_gap"]) <= play


@pytest.mark.slow
def test_friction_of_a_compliant_pin_keeps_the_moment_of_momentum():
    pin = PlanarBody("pin", 1.0, 0.02, position=(0.5, 0.0), velocity=(2.0, 0.0), rate=30.0)
    hole = PlanarBody("hole", 2.0, 0.05, position=(0.5, 0.0), rate=-5.0)
    play = Clearance(
        "play", Revolute("hinge", hole.frame(), pin.frame()), 1e-2, 0.1,
        friction=RegularisedCoulomb(0.4, 1e-2), compliance=KelvinVoigt(1e4, 10.0),
    )  # fmt: skip
    mechanism = Mechanism([pin, hole], [play])
    run = ds.solve(mechanism.system(), 0.5, guess=mechanism.start, solver=ds.Dop853())
    assert np.min(run["play_gap"]) < -5e-3
    moments = [
        sum(
            mass
            * (run[f"{n}_x"][k] * run[f"{n}_y_dot"][k] - run[f"{n}_y"][k] * run[f"{n}_x_dot"][k])
            + own * run[f"{n}_angle_dot"][k]
            for n, mass, own in (("pin", 1.0, 0.02), ("hole", 2.0, 0.05))
        )
        for k in (0, -1)
    ]
    # Of dop853 at 1e-11, over some hundred steps.
    assert moments[1] == pytest.approx(moments[0], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rigid", "compliant"])
def test_a_hinge_with_play_tends_to_one_without_as_the_play_does(kind):
    ends = []
    for play in (None, 2e-3, 2e-4):
        rod, hinge = rod_and_hinge()
        law = None if kind == "rigid" else HuntCrossley(1e7, 1.5, 5.0)
        part = hinge if play is None else Clearance("play", hinge, play, compliance=law)
        mechanism = Mechanism([rod], [part], gravity=GRAVITY)
        run = ds.solve(mechanism.system(), 0.5, guess=mechanism.start)
        ends.append(run["rod_angle"][-1])
    far, near = abs(ends[1] - ends[0]), abs(ends[2] - ends[0])
    assert 1e-4 < far < 2e-2
    assert near < far / 5


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
def test_a_block_in_its_guide_rubs_to_rest_and_is_held_at_its_corners(axis):
    """v^2 / 2 mu g along the guide, with half its weight at each lower corner."""
    speed, friction = 1.0, 0.2
    along = np.eye(2)[axis]
    down = -9.81 * np.array([-along[1], along[0]])
    block = PlanarBody(
        "b", 1.0, 0.01, position=tuple(down / 9.81 * 1e-3), velocity=tuple(speed * along)
    )
    rail = Prismatic("rail", GROUND.frame((0.0, 0.0)), block.frame(), axis=axis)
    part = Clearance("play", rail, 2e-3, length=0.2, friction=friction)
    mechanism = Mechanism([block], [part], gravity=tuple(down))
    run = ds.solve(mechanism.system(), 1.0, guess=mechanism.start)
    # In its lowest position it lies on both lower corners from the start on.
    way = run["b_x" if axis == 0 else "b_y"]
    assert way[-1] == pytest.approx(speed**2 / (2 * friction * 9.81), rel=1e-12)
    half = run.at(0.1)
    assert [half["play_1"], half["play_2"]] == pytest.approx([9.81 / 2] * 2, rel=1e-11)
    assert run["play_3_gap"][-1] == pytest.approx(2e-3, abs=1e-15)


def test_a_compliant_guide_gives_in_by_half_the_weight_at_each_corner_and_stops_a_turn():
    """A block that starts with a turn comes to rest along its guide."""
    block = PlanarBody("b", 1.0, 0.01, position=(0.1, 0.0), velocity=(1.0, 0.0), rate=1.0)
    rail = Prismatic("rail", GROUND.frame((0.0, 0.0)), block.frame())
    law = KelvinVoigt(1e5, 100.0)
    part = Clearance("play", rail, 2e-3, length=0.2, compliance=law)
    mechanism = Mechanism([block], [part], gravity=GRAVITY)
    run = ds.solve(mechanism.system(), 0.5, guess=mechanism.start)
    # Damped at 100 1/s, after 0.4 s.
    assert run["b_y"][-1] == pytest.approx(-1e-3 - 9.81 / 2 / 1e5, abs=1e-12)
    assert run["b_angle"][-1] == pytest.approx(0.0, abs=1e-12)
    assert run["b_x"][-1] == pytest.approx(0.6, abs=1e-12)


ROD, HINGE = rod_and_hinge()
RAIL = Prismatic("rail", GROUND.frame((0.0, 0.0)), ROD.frame())
BOX = Body("box", 1.0, (1, 1, 1))
BALL, DEEP = Spherical("s", GROUND.frame(), BOX.centre), Revolute("r", GROUND.frame(), BOX.frame())


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Clearance("a b", HINGE, 1e-3), PosingError, "must be a word"),
        (lambda: Clearance("c", BALL, 1e-3), PosingError, "a revolute or prismatic joint"),
        (lambda: Clearance("c", DEEP, 1e-3), UnsupportedError, "in space"),
        (lambda: Clearance("c", HINGE, 0.0), OutOfRangeError, "clearance .* is 0.0"),
        (lambda: Clearance("c", HINGE, 1e-3, -1.0), OutOfRangeError, "radius .* is -1.0"),
        (lambda: Clearance("c", HINGE, 1e-3, length=0.1), PosingError, "block for a slider"),
        (lambda: Clearance("c", RAIL, 1e-3), PosingError, "block for a slider"),
        (lambda: Clearance("c", RAIL, 1e-3, 0.1, 0.2), PosingError, "block for a slider"),
        (lambda: Clearance("c", RAIL, 1e-3, length=0.0), OutOfRangeError, "length .* is 0.0"),
        (
            lambda: Clearance("c", HINGE, 1e-3, compliance=HuntCrossley(1.0), restitution=0.1),
            PosingError,
            "only to rigid contacts",
        ),
    ],
)
def test_play_that_has_no_meaning_is_refused(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()
