import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError
from daesolve.nonholonomic.quasi_holonomic import is_quasi_holonomic, quasi_holonomic_report

from .tables import unicycle


def contains(**changes):
    """A unicycle-like system with one thing changed that the elimination of y does not allow."""
    q = ds.coordinates(x="m", y="m", z="m")
    posed = {
        "kinetic": (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        "goals": [ds.Nonholonomic("rolling", q.dot.y - q.x * q.dot.z)],
    }
    return ds.MechanicalSystem(q, **(posed | {name: of(q) for name, of in changes.items()}))


REFUSED = {
    "the kinetic energy contains 'y' itself": {
        "kinetic": lambda q: (q.dot.x**2 + (1 + q.y**2) * q.dot.y**2 + q.dot.z**2) / 2
    },
    "the potential contains 'y' itself": {"potential": lambda q: q.y**2},
    "the goal 'rolling' contains 'y' itself": {
        "goals": lambda q: [ds.Nonholonomic("rolling", q.dot.y - q.y * q.dot.z)]
    },
    "the goal 'rod' contains 'y' itself": {
        "goals": lambda q: [
            ds.Nonholonomic("rolling", q.dot.y - q.x * q.dot.z),
            ds.Holonomic("rod", q.y**2 + q.z**2 - 1),
        ]
    },
    "not linear in the rates": {
        "goals": lambda q: [ds.Nonholonomic("rolling", q.dot.y + q.dot.y**3 - q.dot.z)]
    },
    "determine 0 of 1 rates": {"goals": lambda q: [ds.Nonholonomic("rolling", q.dot.x - q.dot.z)]},
    "'speed' is measured from its value at the start": {
        "goals": lambda q: [
            ds.Nonholonomic("rolling", q.dot.y - q.x * q.dot.z),
            ds.Nonholonomic("speed", q.dot.x, from_start=True),
        ]
    },
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_eliminated_is_reported(words):
    with pytest.raises(PosingError, match=words):
        is_quasi_holonomic(contains(**REFUSED[words]), ["y"])


def test_goals_whose_reactions_the_forces_direct_are_refused():
    q, r = ds.coordinates(x="m", y="m"), ds.reactions(push="N")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        reactions=r,
        force={"y": r.push},
        goals=[ds.Nonholonomic("rolling", q.dot.y - q.x * q.dot.x, ideal=False)],
    )
    with pytest.raises(PosingError, match="'rolling' is not ideal"):
        is_quasi_holonomic(system, ["y"])


def test_a_rate_that_is_no_velocity_of_its_own_is_refused():
    q = ds.coordinates(x="m", y="m")
    v = ds.velocities(a="m/s", b="m/s")
    system = ds.MechanicalSystem(
        q,
        kinetic=(v.a**2 + v.b**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(v.a + v.b, v.b),
        goals=[ds.Nonholonomic("rolling", v.b - q.x * v.a)],
    )
    with pytest.raises(PosingError, match="rate of 'y' must be a separate velocity"):
        is_quasi_holonomic(system, ["y"])


def test_systems_and_names_that_cannot_be_asked_about():
    solved = unicycle()
    q = ds.coordinates(x="m", y="m")
    newton = ds.MechanicalSystem(
        q, mass_matrix=ca.SX.eye(2), goals=[ds.Nonholonomic("tie", q.dot.x - q.dot.y)]
    )
    with pytest.raises(PosingError, match="kinetic="):
        is_quasi_holonomic(newton, ["y"])
    with pytest.raises(UnknownNameError, match="phi"):
        is_quasi_holonomic(solved.system, ["fi"])
    with pytest.raises(UnknownNameError, match="phi"):
        is_quasi_holonomic(solved.system, [["phi"]])
    with pytest.raises(PosingError, match="a list"):
        quasi_holonomic_report(solved.system, "phi")
    for names, words in (([], "at least one"), ("phi", "a list"), (["phi", "phi"], "twice")):
        with pytest.raises(PosingError, match=words):
            is_quasi_holonomic(solved.system, names)
    with pytest.raises(PosingError, match="no coordinate would be left"):
        is_quasi_holonomic(solved.system, ["x", "y", "psi", "phi"])
    for wrong in ({"points": 0}, {"points": 2.5}, {"tolerance": 0.0}, {"parameters": {"x": 1.0}},
                  {"at": 5}, {"time": "now"}, {"time": np.nan}):  # fmt: skip
        with pytest.raises((OutOfRangeError, UnknownNameError)):
            is_quasi_holonomic(solved.system, ["phi"], **wrong)
