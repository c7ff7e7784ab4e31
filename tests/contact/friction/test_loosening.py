"""Bodies in space that friction holds while loads change: when they break loose, and how.

The second route is event code of our own: for a disc closed forms, for three pairs of pads the
module `tests.reference.three_supports_shaken`, which shares nothing with the library.
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import daesolve as ds
from tests.reference.three_supports import PARAMETERS
from tests.reference.three_supports_shaken import loaded_body, release, slide, sliding_direction

GRIP, RADIUS = 0.3 * 9.81, 0.1


def disc(push, pad=True, **more):
    """A disc of 1 kg on a table, pushed along x."""
    q = ds.coordinates(x="m", y="m", z="m", phi="rad")
    face = {"pad": ds.friction.Pad(RADIUS), "spin": q.dot.phi} if pad else {}
    table = ds.friction.Support(point=(q.x, q.y, q.z), normal=(0.0, 0.0, 1.0), friction=0.3, **face)
    inertia = RADIUS**2 / 2
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2 + inertia * q.dot.phi**2) / 2,
        force={"x": push, "z": -9.81},
        goals=[ds.Holonomic("table", q.z, ideal=False)],
        pairs=[ds.friction.VariantPair("normal", [table], kind="unilateral")],
        **more,
    )


def happened(run):
    return [(event.name, event.time) for event in run.events]


def swung(until):
    """Return what happens to a disc under 4 sin t, and where it ends, in closed form."""
    told, x, time, sense = [("at_rest", 0.0)], 0.0, 0.0, 1.0
    while True:
        loose = math.asin(GRIP / 4.0) + math.pi * round(time / math.pi)
        told.append(("breaks_loose", loose))

        def speed(t, a=loose, s=sense):
            return 4.0 * (math.cos(a) - math.cos(t)) - s * GRIP * (t - a)

        def way(t, a=loose, s=sense):
            return (
                4.0 * (math.cos(a) * (t - a) - math.sin(t) + math.sin(a))
                - s * GRIP * (t - a) ** 2 / 2
            )

        end = brentq(speed, loose + 1.5, loose + 3.0, xtol=1e-15)
        if end > until:
            return told, x + way(until)
        told.append(("at_rest", end))
        x, time, sense = x + way(end), end, -sense


@pytest.mark.slow
def test_a_disc_breaks_loose_sticks_and_breaks_loose_the_other_way_again_and_again():
    run = ds.solve(disc(4.0 * ca.sin(ds.time)), 8.0, {}, at=[8.0])
    told, x = swung(8.0)
    assert run.outcome is ds.Outcome.COMPLETED
    assert [name for name, _ in happened(run)] == [name for name, _ in told]
    found = [time for _, time in happened(run)]
    assert found == pytest.approx([time for _, time in told], abs=1e-11)
    assert run["x"][-1] == pytest.approx(x, abs=1e-10)


def loads(time, sine=math.sin, cosine=math.cos):
    return 1.0, 7.0 * sine(2.0 * time), 0.1 * cosine(2.0 * time)


def own_code(begins, phi, guess):
    """Follow the body from a release near a time to its stop: the instants, and where it ends."""
    time, v, _ = release(loads, phi, (1, 2, 2), (begins, *guess))
    body = loaded_body(loads, time)
    u = sliding_direction(body, phi, (1, 2, 2), v[[0, 1, 5]])
    (pads,) = body.variants([0.0, 0.0, phi, *u])
    stop, state, _, _ = slide(loads, time, np.array([0.0, 0.0, phi, *(1e-12 * u)]), pads, 9.0)
    return time, float(stop), state[:3]


@pytest.mark.slow
def test_three_pairs_of_pads_break_loose_at_the_limit_of_the_convex_programme():
    """The pads press at two heights: the body could slide earlier, and rests up to the limit."""
    push, twist = (part for part in loads(ds.time, ca.sin, ca.cos)[1:])
    case = ds.problem("three-supports").case("shaken")
    run = case.solve(until=1.5, inputs={"push_x": 1.0, "push_y": push, "twist": twist}, at=[1.5])
    guess = np.array([0.17, 0.75, 0.1, -0.3, 3.3, 1.87]), np.array([4.2, 10.6, 8.3])
    loose, stop, place = own_code(0.58, 0.0, guess)
    assert [name for name, _ in happened(run)] == ["at_rest", "breaks_loose", "at_rest"]
    assert [time for _, time in happened(run)[1:]] == pytest.approx([loose, stop], abs=1e-10)
    assert [run[name][-1] for name in ("x", "y", "phi")] == pytest.approx(place, abs=1e-10)
    assert PARAMETERS["moment_y"] == case.values["moment_y"]


@pytest.mark.slow
def test_a_table_of_steps_and_a_sampled_law_set_a_held_disc_in_motion_at_their_instants():
    """Pushed by 4 N from 1 s on, then by -4 N from 2 s on; by 3.6, 5.4 and 7.2 N from 1.5 s on."""
    given = ds.inputs(push="N")
    system = disc(given.push, inputs=given)
    steps = ds.table("pull", [0.0, 1.0, 2.0, 3.0], [0.0, 4.0, -4.0, -4.0], "steps")
    run = ds.solve(system, 3.0, {}, inputs={"push": steps}, at=[3.0])
    stop = 2.0 + (4.0 - GRIP) / (4.0 + GRIP)
    assert [time for _, time in happened(run)] == pytest.approx([0.0, 1.0, stop], abs=1e-11)
    assert run["x_dot"][-1] == pytest.approx(-(4.0 - GRIP) * (3.0 - stop), abs=1e-9)
    law = ds.sampled(
        "hand", period=0.5, law=lambda seen: (6.0 * seen.n - 6.0, {"n": seen.n + 0.3}),
        states={"n": 0.7},
    )  # fmt: skip
    run = ds.solve(system, 3.0, {}, inputs={"push": law}, at=[3.0])
    assert happened(run)[1] == ("breaks_loose", pytest.approx(1.5, abs=1e-12))
    assert run["x_dot"][-1] == pytest.approx(0.5 * (3.6 + 5.4 + 7.2 - 3.0 * GRIP), abs=1e-9)
