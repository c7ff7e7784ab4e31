"""Rolling or Dirac's constraints, against structure that was planted, hand calculation and motions.

For a body on a wheel, u = x' - c z' with creep u / eps and a force F on the body, creep balances
P = -u / eps = -F J/(J + c^2 m) in the slow motion, whose terms are x' and c z': so |u| / |terms| is
eps / c as long as z' is finite, and of the order 1 - a for c = eps^a, a <= 1.
"""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import NoSlowManifoldError, OutOfRangeError, PosingError, UnknownNameError
from daesolve.nonholonomic import Slip, creep_limit, creep_limits, slip_shares
from daesolve.nonholonomic.constraint_forms import state_vector
from daesolve.nonholonomic.slow_slips import SlipEquations, with_creep

from .small_systems import gyroscope

MOVING = {"x_dot": 1.0, "z_dot": 1.0}


def body_on_wheel(law=lambda u: -u):
    """Return a pushed body on a wheel, and its slip."""
    q = ds.coordinates(x="m", z="m")
    p = ds.parameters(eps=1.0, column=1.0, mass=0.7, push=1.0)
    system = ds.MechanicalSystem(
        q, p, kinetic=(p.mass * q.dot.x**2 + 1.3 * q.dot.z**2) / 2, force={"x": p.push}
    )
    slip = q.dot.x - p.column * q.dot.z
    return system, [Slip("along", slip, law(slip / p.eps))]


def of_order(power, **values):
    return lambda eps: (MOVING, {"eps": eps, "column": eps**power, **values})


@pytest.mark.parametrize(
    ("power", "order", "kind"),
    [(0.0, 1.0, "rolling"), (0.5, 0.5, "rolling"), (1.0, 0.0, "dirac"), (2.0, 0.0, "dirac")],
)
def test_columns_of_finite_velocities_decide(power, order, kind):
    found = creep_limit(*body_on_wheel(), of_order(power))
    assert found.kind == kind
    # The next term of an order p is eps^(p + 1/2) at most: it bends the line by less than this.
    assert found.principal[0].order == pytest.approx(order, abs=0.03)
    assert found.column_orders["along"] == pytest.approx({"x_dot": 0.0, "z_dot": power})
    assert found.slip_orders["along"] == pytest.approx(1.0, abs=0.03)
    assert found.velocity_orders["z_dot"] == pytest.approx(0.0, abs=0.03)
    assert found.fast_orders == pytest.approx([-1.0], abs=0.01)
    assert "z_dot" in found.finite


def test_the_slip_is_that_of_the_balance_by_hand():
    # One state alone cannot tell: shares are root mean squares over factors of the velocities, so
    # the hand calculation is repeated at each of them.
    system, slips = body_on_wheel()
    eps, column, mass, inertia = 1e-4, 0.4, 0.7, 1.3
    states = {"x": [0.0], "z": [0.0], "x_dot": [0.4 + 1e-5], "z_dot": [1.0]}
    share = slip_shares(system, slips, states, [0.0], {"eps": eps, "column": column})
    assert share == pytest.approx([1e-5 / math.hypot(0.4 + 1e-5, 0.4)], rel=1e-6)
    found = creep_limit(system, slips, lambda size: (MOVING, {"eps": size, "column": column}))
    held = inertia / (inertia + column**2 * mass)  # of the push, by creep
    factors = np.random.default_rng(13).uniform(0.5, 1.5, (4, 4))[:, 2:]
    factors[0] = 1.0
    # Creep keeps the momentum c m x' + J z' ... of what rolls: c x' m + z' J.
    rolling = (column * mass * factors[:, 0] + inertia * factors[:, 1]) / (
        column**2 * mass + inertia
    )
    last = 1e-3 / 16
    expected = last * held * 2.0 / math.sqrt(2.0 * float(np.sum((column * rolling) ** 2)))
    # To the next order in eps, which is the ratio of slip and velocity.
    assert found.principal[0].share == pytest.approx(expected, rel=4 * last / column)


def test_no_push_no_slip_rolling_is_right_even_where_columns_are_small():
    found = creep_limit(*body_on_wheel(), of_order(1.0, push=0.0))
    assert found.kind == "rolling"
    assert found.principal[0].order == math.inf  # zero to rounding: no slope is fitted


def test_half_orders_of_a_law_of_creep_are_found():
    # P = -(u / eps)^3: the balance has u = eps F^(1/3), as stiff as the linear law; the slope of
    # P grows with the load, and with c = eps^(1/2) the order is 1/2 again.
    found = creep_limit(*body_on_wheel(lambda s: -(s**3) - s), of_order(0.5))
    assert found.principal[0].order == pytest.approx(0.5, abs=0.03)
    assert found.kind == "rolling"


@pytest.mark.long
@settings(derandomize=True, max_examples=25, deadline=None)
@given(
    st.integers(0, 2**31),
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=3),
    st.integers(0, 2),
)
def test_planted_structure_is_found_for_any_columns(seed, powers, free):
    """Slips R (D C v1 + v2), rows mixed by R, D the planted orders: as many combinations roll.

    v1 are finite, v2 is held: in a combination of rank k of order a, terms are eps^a and slips
    eps, so that 1 - a is the order of its share.
    """
    rng = np.random.default_rng(seed)
    count = len(powers)
    large = count + free
    q = ds.coordinates(**{f"a{k}": "" for k in range(large)}, **{f"s{k}": "" for k in range(count)})
    p = ds.parameters(eps=1.0)
    v = q.dot.vector
    root = np.eye(large + count) + 0.2 * rng.normal(size=(large + count, large + count))
    kinetic = ca.sumsqr(ca.DM(root) @ v) / 2
    columns = rng.normal(size=(count, large)) + 2.0 * np.eye(count, large)
    mixed = np.eye(count) + 0.3 * rng.uniform(-1, 1, (count, count))
    held = ca.vertcat(*[p.eps**a for a in powers]) * (ca.DM(columns) @ v[:large]) + v[large:]
    u = ca.DM(mixed) @ held
    stiffness = rng.uniform(0.5, 2.0, count)
    push = {name: float(value) for name, value in zip(q.names, rng.normal(size=large + count),
                                                      strict=True)}  # fmt: skip
    moved = {"push": ca.vertcat(*push.values()) * (1 + 0.5 * ca.sin(3.0 * q.vector))}
    system = ds.MechanicalSystem(q, p, kinetic=kinetic, force=moved["push"])
    slips = [Slip(f"u{k}", u[k], -stiffness[k] * u[k] / p.eps) for k in range(count)]
    state = dict(zip([*q.names, *q.rates.names], rng.uniform(0.6, 1.6, 2 * (large + count)),
                     strict=True))  # fmt: skip
    found = creep_limit(system, slips, lambda eps: (state, {"eps": eps}))
    planted = sorted(1.0 - a for a in powers)
    assert sum(one.kind == "rolling" for one in found.principal) == sum(a < 1.0 for a in powers)
    assert sorted(one.order for one in found.principal) == pytest.approx(planted, abs=0.15)
    expected = "rolling" if 1.0 not in powers else "dirac" if set(powers) == {1.0} else "mixed"
    assert found.kind == expected


@pytest.mark.slow
def test_the_orders_are_those_of_motions():
    # The other route: integrate, and measure. One combination rolls, one is Dirac's.
    q = ds.coordinates(x="", y="", z="", w="")
    p = ds.parameters(eps=1.0)
    v = q.dot
    system = ds.MechanicalSystem(
        q, p, kinetic=(v.x**2 + v.y**2 + v.z**2 + 0.6 * v.w**2) / 2,
        force={"x": 1.0 + 0.4 * ca.cos(q.z), "y": 0.7 * ca.sin(2 * ds.time) + 0.8},
    )  # fmt: skip
    along, across = v.x - v.z, v.y - p.eps * v.w + 0.3 * p.eps * v.z
    slips = [Slip("one", along, -along / p.eps), Slip("two", across + along, -across / p.eps)]
    # Each creep is along a mixture: forces are those on the slips as they are posed.
    slips = [
        Slip("one", along, -along / p.eps),
        Slip("two", across + 0.5 * along, -(across + 0.5 * along) / p.eps),
    ]
    start = {"z_dot": 0.5, "w_dot": 1.0, "x_dot": 0.5}
    found = creep_limit(system, slips, lambda eps: (start, {"eps": eps}), times=(0.3, 1.0))
    assert found.kind == "mixed"
    whole = ds.MechanicalSystem(
        q, p, kinetic=system.kinetic,
        force={
            "x": 1.0 + 0.4 * ca.cos(q.z) + slips[0].force + 0.5 * slips[1].force,
            "y": 0.7 * ca.sin(2 * ds.time) + 0.8 + slips[1].force,
            "z": -slips[0].force + (0.3 * p.eps - 0.5) * slips[1].force,
            "w": -p.eps * slips[1].force,
        },
    )  # fmt: skip
    sizes = [0.02, 0.01, 0.005, 0.0025]
    shares = []
    for eps in sizes:
        run = ds.solve(whole, 2.0, start, parameters={"eps": eps}, at=np.linspace(0.4, 2.0, 41))
        states = {name: run[name] for name in whole.dynamics.labels.states}
        shares.append(slip_shares(system, slips, states, run.times, {"eps": eps}))
    slopes = [np.polyfit(np.log(sizes), np.log(row), 1)[0] for row in np.array(shares).T]
    assert slopes == pytest.approx([one.order for one in found.principal], abs=0.1)
    assert [round(slope) for slope in slopes] == [0, 1]


def test_each_combination_has_its_own_limit_and_the_others_slide():
    q = ds.coordinates(x="", y="", z="")
    p = ds.parameters(eps=1.0)
    v = q.dot
    system = ds.MechanicalSystem(q, p, kinetic=ca.sumsqr(v.vector) / 2, force={"x": 1.0, "y": 1.0})
    along, across = v.x - v.z, v.y - p.eps * v.z
    slips = [
        Slip("along", along, -along / p.eps, sliding=-0.1),
        Slip("across", across, -across / p.eps, sliding=-0.1),
    ]
    state = {"x_dot": 1.0, "z_dot": 1.0}
    found = creep_limits(system, slips, lambda eps: (state, {"eps": eps}))
    kinds = {names: one.kind for names, one in found.items()}
    assert kinds == {("along",): "rolling", ("across",): "dirac", ("along", "across"): "mixed"}
    assert set(found["along", "across"].principal[0].weights) == {"across"}


def test_constraints_that_contradict_each_other_do_not_roll():
    # Two slips of one velocity: x' - 1 and x' - 2 cannot both vanish; their sum about does.
    q, p = ds.coordinates(x=""), ds.parameters(eps=1.0)
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2)
    slips = [Slip(f"u{k}", q.dot.x - k, -(q.dot.x - k) / p.eps) for k in (1, 2)]
    found = creep_limit(system, slips, lambda eps: ({"x_dot": 1.5}, {"eps": eps}))
    # 1.5 - 1 and 1.5 - 2: the sum of slips is zero, the difference is one.
    assert found.kind == "mixed"
    assert found.principal[0].kind == "dirac"
    assert found.principal[-1].weights == pytest.approx({"u1": 1.0, "u2": 1.0})


def test_fast_rotation_leads_to_precession_and_not_to_rings_at_rest():
    system = gyroscope()
    rates = system.coordinates.dot
    slips = [Slip("outer", rates.alpha), Slip("inner", rates.beta)]

    def family(eps):
        return {"alpha": 0.1, "beta": 0.3, "gamma_dot": 1 / (1.2 * eps)}, {"eps": eps}

    found = creep_limit(system, slips, family)
    assert found.kind == "dirac"
    assert found.fast_orders == pytest.approx([-1.0, -1.0], abs=1e-3)
    assert found.velocity_orders == pytest.approx(
        {"alpha_dot": 0.0, "beta_dot": 0.0, "gamma_dot": -1.0}, abs=1e-2
    )
    # A single ring is an odd number: its velocity alone is not held.
    assert creep_limits(system, slips, family)[("outer",)].kind == "none"


def test_the_kind_is_said_in_words():
    found = creep_limit(*body_on_wheel(), of_order(1.0))
    assert str(found).startswith(
        "the limit of stiff creep by along is Dirac's constraints; 1 along"
    )


def test_a_fast_motion_that_grows_has_no_limit():
    system, _ = body_on_wheel()
    q, p = system.coordinates, system.parameters
    slip = q.dot.x - q.dot.z
    pushing = [Slip("along", slip, slip / p.eps)]
    with pytest.raises(NoSlowManifoldError, match="grows"):
        creep_limit(system, pushing, of_order(0.0))
    kind = creep_limits(system, pushing, of_order(0.0))[("along",)]
    assert kind.kind == "none"
    assert "grows" in str(kind)


def refused(case):  # noqa: C901
    system, slips = body_on_wheel()
    q = system.coordinates
    family = of_order(0.0)
    if case == "soft":
        slips = [Slip("along", slips[0].velocity, -slips[0].velocity)]
    elif case == "square":
        slips = [Slip("along", q.dot.x**2)]
    elif case == "place":
        slips = [Slip("along", q.x)]
    elif case == "twice":
        slips = [*slips, *slips]
    elif case == "none":
        slips = []
    elif case == "rest":
        slips, family = (
            [Slip("along", q.dot.x, -q.dot.x / system.parameters.eps)],
            (lambda eps: ({}, {"eps": eps, "push": 0.0})),
        )
    elif case == "goal":
        system = ds.MechanicalSystem(
            q, system.parameters, kinetic=system.kinetic,
            goals=[ds.Nonholonomic("rolls", q.dot.x - q.dot.z)],
        )  # fmt: skip
    elif case == "name":
        return creep_limit(system, slips, lambda eps: ({"speed": 1.0}, {"eps": eps}))
    elif case == "sizes":
        return creep_limit(system, slips, family, sizes=[1e-3, 1e-2, 1e-4])
    elif case == "times":
        return creep_limit(system, slips, family, times=[])
    return creep_limit(system, slips, family)


@pytest.mark.parametrize(
    ("case", "kind", "told"),
    [
        ("soft", PosingError, "nothing holds the slips"),
        ("square", PosingError, "not linear"),
        ("place", PosingError, "contains no velocity"),
        ("twice", PosingError, "each once"),
        ("none", PosingError, "must name at least one slip"),
        ("rest", PosingError, "a moving state"),
        ("goal", PosingError, "the goals determine the slip 'along'"),
        ("name", UnknownNameError, "speed"),
        ("sizes", OutOfRangeError, "falling"),
        ("times", OutOfRangeError, "at least one instant"),
    ],
)
def test_what_has_no_limit_is_refused_in_a_sentence(case, kind, told):
    with pytest.raises(kind, match=told):
        refused(case)


def loaded_body():
    """Return a pushed body on a wheel whose creep is proportional to the load of the floor.

    The body rests on the floor by a goal. Its rise h and its way x share an inertia of 0.3, so the
    load 9.8 + 0.3 x'' contains the acceleration that creep causes. A mass s follows it by a goal.
    """
    q = ds.coordinates(x="m", z="m", h="m", s="m")
    p = ds.parameters(eps=1.0, column=1.0, push=1.0)
    v = q.dot
    floor = ds.Holonomic("floor", q.h)
    kinetic = (0.7 * v.x**2 + 1.3 * v.z**2 + v.h**2 + 0.4 * v.s**2) / 2 + 0.3 * v.x * v.h
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=9.8 * q.h,
        force={"x": p.push},
        goals=[floor, ds.Holonomic("follows", q.s - q.x - q.x**2 / 2)],
    )
    slip = v.x - p.column * v.z
    return system, [Slip("along", slip, -floor.reaction * slip / p.eps)]


@pytest.mark.parametrize(
    ("power", "kind", "order"), [(0.0, "rolling", 1.0), (0.5, "rolling", 0.5), (1.0, "dirac", 0.0)]
)
def test_goals_and_loads_by_releasing_them_leave_the_orders_as_they_are(power, kind, order):
    """From equations, and from motions of the full system after its fast part."""
    system, slips = loaded_body()
    family = of_order(power)
    found = creep_limit(system, slips, family)
    assert found.kind == kind
    assert found.principal[0].order == pytest.approx(order, abs=0.02)
    assert found.fast_orders == pytest.approx((-1.0,), abs=0.02)
    shares, sizes = [], (4e-3, 1e-3)
    whole = with_creep(system, slips, slips)
    for eps in sizes:
        start, values = family(eps)
        at = np.linspace(0.3, 0.6, 7)
        run = ds.solve(whole, 0.6, {**start, "s_dot": 1.0}, parameters=values, at=at)
        shares.append(slip_shares(system, slips, run.states, at, values)[0])
    # Of two values a factor of four apart.
    assert np.log(shares[0] / shares[1]) / np.log(4.0) == pytest.approx(order, abs=0.1)


def test_the_slip_of_a_loaded_wheel_is_the_one_by_hand():
    """Rolling: 2 x'' .. = push with all masses that move along, and creep P gives u = -eps P / N.

    With c = 1 and x = 0, s' = x' and s'' = x'' + x'^2, so (0.7 + 0.4 + 1.3) x'' = 1 - 0.4 x'^2, the
    creep on the wheel is P = -1.3 x'', and the floor carries N = 9.8 + 0.3 x''.
    """
    system, slips = loaded_body()
    eps = 1e-6
    equations = SlipEquations(with_creep(system, slips, slips), slips)
    values = equations.values({"eps": eps})
    x = state_vector(equations.dynamics.labels.states, {**MOVING, "s_dot": 1.0})
    v, _ = equations.slow(0.0, x, equations.numbers(values, 0.0, x))
    speed = v[0]
    gained = (1.0 - 0.4 * speed**2) / 2.4
    assert (v[0] - v[1]) / eps == pytest.approx(1.3 * gained / (9.8 + 0.3 * gained), rel=1e-5)
    assert v[2:] == pytest.approx([0.0, speed], abs=1e-12)


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e9])
def test_orders_do_not_depend_on_units(size):
    q, p = ds.coordinates(x="m", z="m"), ds.parameters(eps=1.0, column=1.0)
    body = ds.MechanicalSystem(q, p, kinetic=(q.dot.x**2 + q.dot.z**2) / 2, force={"x": size})
    slip = q.dot.x - p.column * q.dot.z
    moving = {"x_dot": size, "z_dot": size}
    found = creep_limit(
        body,
        [Slip("along", slip, -slip / p.eps)],
        lambda eps: (moving, {"eps": eps, "column": eps}),
    )
    assert found.kind == "dirac"
    assert found.finite == ("z_dot",)
    assert found.velocity_orders["x_dot"] == pytest.approx(1.0, abs=0.01)
    assert found.slip_orders["along"] == pytest.approx(1.0, abs=0.01)
