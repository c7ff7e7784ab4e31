"""How a run on supports begins: at rest, sliding, or refused by the kind of the reason."""

from __future__ import annotations

import pytest

import daesolve as ds
from daesolve.errors import (
    AmbiguousVariant,
    NoValidVariant,
    SupportLost,
    UnphysicalVariant,
    VariantError,
)
from tests.sliding_bodies import BLOCK, DISC, disc

KINDS = {
    "none-jam": (NoValidVariant, "homotopy"),
    "unique-but-negative-det": (UnphysicalVariant, "homotopy"),
    "three-solutions": (AmbiguousVariant, "strict"),
}


@pytest.mark.parametrize(("name", "kind", "policy"), [(n, *kind) for n, kind in KINDS.items()])
def test_a_start_without_one_physical_answer_is_refused_by_its_kind(name, kind, policy):
    case = ds.problem("prism").case(name)
    with pytest.raises(kind) as refused:
        case.solve(variant_policy=policy)
    assert isinstance(refused.value, VariantError)


@pytest.mark.parametrize("push", [7.8, -7.8, 7.9, -7.9])
def test_a_block_rests_up_to_the_friction_that_its_weight_gives(push):
    """0.4 m g = 7.848 N."""
    run = ds.solve(
        BLOCK(), 1.0, {"x": 0.0, "x_dot": 0.0}, parameters={"slope": 0.0, "push": push}, at=[1.0]
    )
    if abs(push) < 7.848:
        assert (run.end_time, run.events[0].name) == (0.0, "at_rest")
        assert run.end_state["x_dot"] == 0.0
        return
    sense = 1.0 if push > 0.0 else -1.0
    assert run["x_dot"][0] == pytest.approx((push - sense * 7.848) / 2.0, rel=1e-12)


@pytest.mark.long
def test_a_body_at_rest_waits_until_a_load_that_grows_breaks_it_loose():
    values = {"slope": 0.0, "rate": 4.0}
    run = ds.solve(BLOCK(), 5.0, {"x": 0.0, "x_dot": 0.0}, parameters=values, at=[1.0, 5.0])
    (loose,) = [event.time for event in run.events if event.name == "breaks_loose"]
    assert loose == pytest.approx(7.848 / 4.0, rel=1e-12)
    assert run["x"][0] == 0.0
    gained = (2.0 * (25.0 - loose**2) - 7.848 * (5.0 - loose)) / 2.0
    assert run["x_dot"][1] == pytest.approx(gained, rel=1e-12)
    late = ds.solve(
        BLOCK(), 2.5, {"x": 0.0, "x_dot": 0.0}, parameters=values, start_time=2.0, at=[2.5]
    )
    assert late["x_dot"][0] == pytest.approx((2.0 * (2.5**2 - 4.0) - 7.848 * 0.5) / 2, rel=1e-12)


def test_a_body_that_is_lifted_off_its_only_support_is_refused():
    q = ds.coordinates(x="m", y="m")
    floor = ds.friction.Support(normal=(0.0, 1.0), point=(q.x, q.y), friction=0.3)
    lifted = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"y": 1.0},
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("normal", [floor], kind="unilateral")],
    )
    with pytest.raises(SupportLost, match="which can only push"):
        ds.solve(lifted, 1.0, {"x_dot": 1.0})


@pytest.mark.slow
def test_how_far_a_start_from_rest_is_off_does_not_depend_on_the_horizon():
    ends = [
        ds.solve(DISC(), until, {}, parameters={"push": 4.0}, at=[1.0])["x"][0]
        for until in (1.0, 1000.0)
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_without_friction_a_disc_sets_out_under_any_load():
    run = ds.solve(disc(), 1.0, {}, parameters={"friction": 0.0, "push": 1e-3}, at=[1.0])
    assert run["x_dot"][0] == pytest.approx(1e-3, rel=1e-9)
