"""Feet that stick share friction: a folding ladder passes it on from half to half by its hinge."""

from dataclasses import replace

import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody import Body, Mechanism, PointForce, Revolute, feet
from daesolve.verification.audit import audit

MASS, WIDE = 2.0, 0.6
"""kg and m, of each half."""
PULL = np.array((0.7, 0.5, -9.81))
"""The weight of a kilogram on a floor that is not level, N."""


def put(height, friction, above=0.01):
    """Return the run of a ladder that stands, or falls on its feet by a centimetre, and stays."""
    inertia, side = (0.2, 0.3, 0.1), WIDE / 2.0
    left, right = (
        Body(name, MASS, inertia, position=(way * side, 0.0, height / 2.0 + above))
        for name, way in (("left", -1.0), ("right", 1.0))
    )
    top = height / 2.0
    hinge = Revolute("top", left.frame((side, 0.0, top)), right.frame((-side, 0.0, top)), axis=1)
    ends = [
        half.point(way * side, across, -top)
        for half, way in ((left, -1.0), (right, 1.0))
        for across in (-0.2, 0.3)
    ]
    parts = [hinge, *feet("foot", ends, friction, closed=above == 0.0)]
    mechanism = Mechanism([left, right], parts, gravity=tuple(PULL))
    return ds.solve(mechanism.system(), 0.3, guess=mechanism.start, redundant="minimum-norm")


@pytest.mark.slow
@pytest.mark.parametrize("above", [0.0, 0.01])
def test_a_hinge_passes_on_the_friction_that_feet_share(above):
    height = 1.0
    run = put(height, 0.8, above)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.audit().holds
    bears = [
        sum(
            np.array([run[name][-1] for name in (f"{foot}_friction_1", f"{foot}_friction_2", foot)])
            for foot in both
        )
        for both in (("foot_1", "foot_2"), ("foot_3", "foot_4"))
    ]
    # Each half is at rest under its weight, its feet and the hinge.
    hinge = np.array([run[f"top_{k}"][-1] for k in (1, 2, 3)])
    np.testing.assert_allclose(bears[0] + MASS * PULL, hinge, atol=1e-9)
    np.testing.assert_allclose(bears[1] + MASS * PULL, -hinge, atol=1e-9)
    # Moments of each half about its feet, across the hinge: their sum, and their difference.
    assert hinge[0] == pytest.approx(-MASS * PULL[2] * WIDE / 2.0 / height, rel=1e-9)
    assert hinge[2] == pytest.approx(-MASS * PULL[0] * height / 2.0 / WIDE, rel=1e-9)
    # Friction of two feet that pull at each other twists the hinge: what it bears tells.
    certificate = run.auditor.certificate(run)
    pulled = {f"split_foot_{foot}_2": way * 1e-3 for foot, way in ((1, 1.0), (3, -1.0))}
    values = {**certificate.values}
    for name, more in pulled.items():
        values[name] = values[name] + more
    damaged = audit(replace(certificate, values=values, scales={}))
    assert "equations of motion" in {finding.check for finding in damaged.contradictions}


def test_feet_of_a_flat_ladder_do_not_creep():
    """Its hinge hardly resists their slips together, so the elimination converges slowly."""
    run = put(0.02, 40.0)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.audit().holds


@pytest.mark.slow
def test_a_ladder_ends_where_its_joint_depends_on_how_friction_is_shared():
    """Two boxes hinged at the top are pushed aside: the share of springs reaches one cone first.

    Until then all reactions balance what was posed, which the audit shows.
    """
    height, side = 1.0, 0.3
    left, right = (
        Body(name, 2.0, (0.2, 0.3, 0.1), position=(sign * side, 0, height / 2))
        for name, sign in (("left", -1), ("right", 1))
    )
    top = [body.frame((sign * side, 0, height / 2)) for body, sign in ((left, 1), (right, -1))]
    feet_of = [
        body.point(sign * side, y, -height / 2)
        for body, sign in ((left, -1), (right, 1))
        for y in (-0.2, 0.3)
    ]
    push = [PointForce(body.point(0, 0, 0), (0.0, 8.0 * ds.time, 0.0)) for body in (left, right)]
    ladder = Mechanism(
        [left, right],
        [Revolute("top", *top, axis=1), *feet("foot", feet_of, 0.5), *push],
        gravity=(0.2, 0.1, -9.81),
    )
    run = ds.solve(ladder.system(), 2.0, ladder.start, redundant="minimum-norm")
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "changes the reactions of the joints between them" in run.message
    assert run.audit().holds, str(run.audit())
    used = [
        np.hypot(run[f"foot_{k}_friction_1"][-1], run[f"foot_{k}_friction_2"][-1])
        / (0.5 * run[f"foot_{k}"][-1])
        for k in range(1, 5)
    ]
    assert max(used) == pytest.approx(1.0, abs=1e-9)
