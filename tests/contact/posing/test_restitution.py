"""A restitution that parameters determine is checked before a run."""

import math

import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError


def ball(kind: str) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(bounce=(0.5, ""), more=(0.1, ""))
    floor = ds.Holonomic("floor", q.y)
    bounce = p.bounce + p.more
    rubs = {"slip": q.dot.x, "friction": 0.1}
    contact = {
        "smooth": ds.Contact("floor", q.y, restitution=bounce, closed=False),
        "rubbing": ds.Contact("floor", q.y, restitution=bounce, closed=False, **rubs),
        "sideways": ds.Contact("floor", q.y, tangential_restitution=bounce, closed=False, **rubs),
    }
    reset = ds.Reset(impose=[floor], restitution=bounce)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[contact[kind]] if kind in contact else [],
        events=[] if kind in contact else [ds.Event("floor", q.y, ds.FALLING, reset)],
    )


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("value", [-0.2, 0.91, math.pi])
@pytest.mark.parametrize("kind", ["smooth", "rubbing", "sideways", "event"])
def test_what_parameters_make_of_a_restitution_lies_between_zero_and_one(
    kind: str, value: float
) -> None:
    with pytest.raises(OutOfRangeError, match=r"floor' is .*, but must lie in \[0, 1\]"):
        ds.solve(ball(kind), 1.0, {"y": 1.0}, parameters={"bounce": value})
    assert ds.solve(ball(kind), 0.6, {"y": 1.0}, parameters={"bounce": 0.9}).outcome.good


def test_a_restitution_that_depends_on_the_speed_is_known_only_at_the_impact() -> None:
    q = ds.coordinates(y="m")
    soft = 1.0 + 0.1 * q.dot.y  # above one while the ball rises
    floor = ds.Contact("floor", q.y, restitution=soft, closed=False)
    system = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=9.81 * q.y, goals=[floor])
    run = ds.solve(system, 0.6, {"y": 1.0, "y_dot": 0.5})
    before, after = run.events[0].detail["y_dot"], run.events[0].after["y_dot"]
    assert after == pytest.approx(-(1.0 + 0.1 * before) * before, rel=1e-13)
