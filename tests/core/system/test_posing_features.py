"""What features pose: parts that goals bring along, systems posed anew, additions to equations."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import casadi as ca
import pytest

import daesolve as ds
from daesolve.core import features
from daesolve.core.equations.additions import Addition
from daesolve.core.system.posed import PosedAddition
from daesolve.errors import PosingError, UnsupportedError
from tests.systems import pendulum

BESIDE = {"x": 1.0}


class Rod(ds.Holonomic):
    """A rod that counts how often it hangs down, and rubs in its hinge."""

    completed_at: ClassVar[str] = "rods that count"
    posed_at: ClassVar[str] = "rods that rub"


class Rubbing(Addition):
    hidden_events = frozenset({"hangs"})
    whole_motions = "rods that rub"


class PosedRubbing(PosedAddition):
    def completed(self, dynamics, system, written):
        return replace(dynamics, additions=(*dynamics.additions, Rubbing()))


def counted(system):
    if "count" in system.discrete:
        return {}
    own, x = ds.discrete(count=0.0), system.coordinates.x
    hangs = ds.Event("hangs", x, ds.EITHER, ds.Reset({"count": own.count + 1.0}))
    return {"discrete": system.discrete.joined(own), "events": (*system.events, hangs)}


def rubbed(system):
    if system.additions:
        return system
    force = system.applied_force - 0.5 * system.v.vector
    return replace(system, force=force, additions=(PosedRubbing(),))


@pytest.fixture
def registered(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(features, "_registered", {})
        features.references.cache_clear()
        features.register("rods that count", counted)
        features.register("rods that rub", rubbed)
        yield
    features.references.cache_clear()


def swinging(**more):
    q = ds.coordinates(x="m", y="m")
    rod = Rod("rod", q.x**2 + q.y**2 - 1.0)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod], **more)


@pytest.mark.usefixtures("registered")
def test_a_kind_of_goal_brings_values_events_and_forces_along():
    run = ds.solve(swinging(), 3.0, BESIDE)
    q = ds.coordinates(x="m", y="m")
    by_hand = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)],
        force=-0.5 * ca.vertcat(q.dot.x, q.dot.y),
        events=[ds.Event("hangs", q.x, ds.EITHER)],
    )
    same = ds.solve(by_hand, 3.0, BESIDE)
    assert run.end_values["count"] == len(same.events) > 1
    assert not run.events
    assert run.end_state["x"] == pytest.approx(same.end_state["x"], abs=1e-10)


@pytest.mark.usefixtures("registered")
def test_an_addition_says_which_motions_only_whole_runs_integrate():
    with pytest.raises(UnsupportedError, match="does not support rods that rub"):
        ds.Simulator(swinging(), BESIDE, horizon=0.1)


@pytest.mark.usefixtures("registered")
def test_pairs_that_no_feature_poses_are_refused():
    with pytest.raises(PosingError, match="no feature poses pairs"):
        swinging(pairs=["a pair"])


def test_options_that_concern_nothing_in_the_system_are_refused():
    for option in ({"variant_policy": "strict"}, {"impact": "poisson"}, {"on_jam": "impact"}):
        with pytest.raises(UnsupportedError, match=r"appl(y|ies) to (contacts|pairs)"):
            ds.solve(pendulum(), 1.0, {"x": 0.6}, **option)
