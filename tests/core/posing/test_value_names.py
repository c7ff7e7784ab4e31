import pytest

import daesolve as ds
from daesolve.core.posing.value_names import ValueKind


@pytest.mark.parametrize("kind", ValueKind)
def test_a_name_leads_back_to_its_owner(kind):
    name = kind.name_of("the_rod")
    assert name == f"{kind.value}_the_rod"
    assert kind.owner_of(name) == "the_rod"
    assert [other for other in ValueKind if other.is_a(name)] == [kind]
    assert kind.place("the_rod", {"mass": 1.0, name: 2.0}) == 1


def test_every_value_that_a_system_adds_belongs_to_a_goal():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(1.0, "kg"))
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    speed = ds.Nonholonomic("speed", q.dot.x - q.dot.y, from_start=True)
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[rod, speed],
    )
    added = [name for name in system.dynamics.values if name not in p.names]
    kinds = [next(kind for kind in ValueKind if kind.is_a(name)) for name in added]
    owners = {kind.owner_of(name) for kind, name in zip(kinds, added, strict=True)}
    assert owners == set(system.dynamics.goal_names)
    assert {ValueKind.RATE, ValueKind.REFERENCE, ValueKind.FLOOR} <= set(kinds)
