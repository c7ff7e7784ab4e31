"""A rattleback reverses its spin: proved, and compared with Newton-Euler's equations in forty
digits.
"""

import daesolve_problems.classics.rattleback as celt
import flint
import pytest

import daesolve as ds

FAST = {"alpha": 0.05, "beta": 0.05, "w1": 0.0, "w2": 0.0, "w3": -0.5}
"""It turns round within a fraction of a second."""
TERMS = 40
"""Of Taylor's series."""


def vector(function, *columns):
    return [function(*entries) for entries in zip(*columns, strict=True)]


def cross(a, b):
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def squares():
    return [flint.arb(axis) ** 2 for axis in (0.2, 0.03, 0.02)]


def rates(state):
    """Return the rates of the vertical and of the angular velocity, as the body sees them.

    I w' + w x I w = r x F with the force of the plane F = (r x w)' + w x (r x w) - g mu, for 1 kg,
    mu' = mu x w and r = s mu/eps - h e3; linear in w'. See `tests.reference.rattleback`.
    """
    arb, mu, w = flint.arb, state[:3], state[3:]
    s, gravity, none = squares(), arb(9.81), arb(0)
    inertia = [
        [arb(0.0002), arb(-0.00002), none],
        [arb(-0.00002), arb(0.0016), none],
        [none, none, arb(0.0017)],
    ]
    mu_dot = cross(mu, w)
    reach = dot(s, vector(lambda m, _: m * m, mu, mu)).sqrt()
    arm = [s[k] * mu[k] / reach for k in range(3)]
    slope = dot(s, [mu[k] * mu_dot[k] for k in range(3)]) / reach**3
    arm_dot = [s[k] * (mu_dot[k] / reach - mu[k] * slope) for k in range(3)]
    arm[2] -= arb(0.01)
    moved, turned = cross(arm_dot, w), cross(w, cross(arm, w))
    known = [moved[k] + turned[k] - gravity * mu[k] for k in range(3)]
    spins = [dot(row, w) for row in inertia]
    right = vector(lambda a, b: a - b, cross(arm, known), cross(w, spins))
    # r x (r x w') = r (r . w') - r^2 w' stands on the right.
    left = [
        [inertia[i][j] - arm[i] * arm[j] + (dot(arm, arm) if i == j else 0) for j in range(3)]
        for i in range(3)
    ]
    columns = list(zip(*left, strict=True))
    whole = dot(columns[0], cross(columns[1], columns[2]))
    # Cramer's rule.
    w_dot = [
        dot(right, cross(columns[1], columns[2])) / whole,
        dot(right, cross(columns[2], columns[0])) / whole,
        dot(right, cross(columns[0], columns[1])) / whole,
    ]
    return [*mu_dot, *w_dot]


def after(state, length):
    """Return the state after a time, by Taylor's series: each pass gives one term more."""
    left = flint.arb(length)
    while left > 0:
        series = [flint.arb_series([x]) for x in state]
        for terms in range(2, TERMS + 1):
            flint.ctx.cap = terms
            found = zip(state, rates(series), strict=True)
            series = [flint.arb_series([x]) + rate.integral() for x, rate in found]
        # The last terms are 1e-36, and those that are left out are smaller.
        last = max(float(abs(one[TERMS - 1])) for one in series)
        h = min(left, flint.arb((1e-36 / last) ** (1.0 / (TERMS - 1))))
        state = [sum(one[k] * h**k for k in range(TERMS)).mid() for one in series]
        left = (left - h).mid()
    return state


def states_of(state):
    """Return the states of the problem that follow from the vertical and the angular velocity."""
    mu, w = state[:3], state[3:]
    s = squares()
    reach = dot(s, vector(lambda m, _: m * m, mu, mu)).sqrt()
    arm = [s[k] * mu[k] / reach for k in range(3)]
    arm[2] -= flint.arb(0.01)
    v = cross(arm, w)
    return {
        "alpha": mu[1].asin(),
        "beta": (-mu[0] / mu[2]).atan(),
        "z": -dot(arm, mu),
        **{f"v{k + 1}": v[k] for k in range(3)},
        **{f"w{k + 1}": w[k] for k in range(3)},
        "spin": dot(mu, w),
    }


def box(certificate, name, sample):
    parts = (certificate.centres, certificate.offsets, certificate.radii)
    high, low, radius = (float(part[name][sample]) for part in parts)
    return flint.arb(high) + flint.arb(low) + flint.arb(0, radius)


def certified(start, times):
    run = ds.solve(celt.ellipsoid(), times[-1], start, at=times, certify=True)
    assert run.certificate.complete, run.certificate.message
    return run.certificate


@pytest.fixture
def precision():
    """Return a setter of the bits of flint, which are put back afterwards."""
    before = flint.ctx.prec, flint.ctx.cap
    yield lambda bits: setattr(flint.ctx, "prec", bits)
    flint.ctx.prec, flint.ctx.cap = before


@pytest.mark.slow
def test_boxes_of_a_rattleback_contain_the_motion_in_forty_digits(precision):
    certificate = certified(FAST, [0.0, 0.015625])
    # Coefficients of series lose a digit in two orders.
    precision(400)
    alpha, beta = flint.arb(0.05), flint.arb(0.05)
    mu = [-alpha.cos() * beta.sin(), alpha.sin(), alpha.cos() * beta.cos()]
    w = [flint.arb(FAST[f"w{k}"]) for k in (1, 2, 3)]
    for name, value in states_of(after([*mu, *w], 0.015625)).items():
        here = box(certificate, name, -1)
        assert here.contains(value), name
        assert float(here.rad()) < 1e-22
        assert not here.contains(value * (1 + flint.arb(2) ** -60)), name


def reverses(certificate):
    """Return whether its spin is proved to be negative first, and positive later."""
    low, high = certificate.bounds("spin")
    return bool(high[0] < 0.0 < low[-1])


@pytest.mark.long
def test_a_rattleback_that_rattles_reverses_its_spin():
    assert reverses(certified(FAST, [0.0, 0.6]))


@pytest.mark.long
def test_the_rattleback_of_kane_and_levinson_reverses_its_spin():
    # From -5 rad/s, at half a degree; about 100 s of processor time.
    (case,) = (one for one in celt.problem.cases if one.name == "reversal")
    certificate = certified(case.start, [0.0, 3.2])
    assert reverses(certificate)
    assert certificate.width < 1e-8
