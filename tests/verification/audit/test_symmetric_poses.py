"""Verdicts on goals do not depend on the axes in which a pose is written.

In a plane through the axes of space most terms of the rows of hinges vanish; in turned axes they
are as large as the rows' other terms. Both are one motion, which may be off by the same.
"""

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import daesolve as ds
from daesolve.multibody import GROUND, Body, Mechanism, Revolute
from daesolve.verification.audit import audit

from .motions import certified

UPPER, LOWER = np.array([0.15, 0.0, -0.2]), np.array([0.1, 0.0, -0.25])
"""From the hinge of each rod to its mass centre, m."""
TURNS = {"along the axes": Rotation.identity(), "askew": Rotation.from_rotvec([0.3, -0.7, 0.5])}


@cache
def swung(turn):
    """Two rods below each other on parallel hinges, in axes that are turned."""
    turn = TURNS[turn]
    standing = np.roll(turn.as_quat(), 1).tolist()

    def placed(name, centre):
        moments = (0.02, 0.02, 0.001)
        return Body(name, 1.0, moments, position=turn.apply(centre).tolist(), rotation=standing)

    upper, lower = placed("upper", UPPER), placed("lower", 2.0 * UPPER + LOWER)
    hinges = [
        Revolute("hip", GROUND.frame((0, 0, 0), ca.DM(turn.as_matrix())), upper.frame(-UPPER), 1),
        Revolute("knee", upper.frame(UPPER), lower.frame(-LOWER), 1),
    ]
    gravity = turn.apply([0.0, 0.0, -9.81]).tolist()
    mechanism = Mechanism([upper, lower], hinges, gravity=gravity)
    return certified(ds.solve(mechanism.system(), until=0.2, guess=mechanism.start))


def tilted(certificate, angle):
    """Turn the lower rod about its own x axis, out of the plane in which it swings."""
    names = [f"lower_q{k}" for k in range(4)]
    q0, q1, q2, q3 = (certificate.columns[name] for name in names)
    half = angle / 2.0
    turned = (q0 - half * q1, q1 + half * q0, q2 + half * q3, q3 - half * q2)
    columns = {**certificate.columns, **dict(zip(names, turned, strict=True))}
    return replace(certificate, columns=columns, scales={})


def objections(certificate):
    found = audit(certificate)
    return {f.subject for f in found.contradictions if f.check == "goal"}


@pytest.mark.parametrize("turn", TURNS)
def test_a_tilt_that_feedback_may_leave_holds_and_a_larger_one_is_objected_to(turn):
    # A tilt d leaves the cosines d off. By each of two quaternions of length one a cosine has a
    # slope of length 2, whose entries sum to between 2 and 4; of its own it has three products of
    # entries of rotations, whose terms sum to 1 at most. So d is between 1/11 and 1/4 of its terms,
    # of which a driven residual may be 1e-8.
    assert not objections(tilted(swung(turn), 3e-8))
    assert objections(tilted(swung(turn), 1.2e-7)) & {"knee_4", "knee_5"}
