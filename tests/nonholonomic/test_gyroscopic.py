"""Pendulum frequencies apart from nutation and precession, against the eigenvalues of it all.

With A = 1 and G of the kernel z the characteristic polynomial of three coordinates is known: its
roots are near 1/eps, 1 and eps, each with relative corrections of the order eps^2.
"""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, SecondaryConstraintsError
from daesolve.nonholonomic import (
    separate_gyroscopic,
    separate_small_velocities,
    small_velocities,
)

from .small_systems import gyroscope


def random_matrices(seed, count):
    rng = np.random.default_rng(seed)
    root = np.eye(count) + 0.3 * rng.normal(size=(count, count))
    springs = np.eye(count) + 0.3 * rng.normal(size=(count, count))
    upper = np.triu(rng.uniform(0.5, 1.5, (count, count)), 1)
    return root @ root.T, upper - upper.T, springs @ springs.T


def frequencies(a, g, c, eps):
    """Return |imaginary parts| of all eigenvalues of A q'' + G q'/eps + C q, rising."""
    n = len(a)
    inverse = np.linalg.inv(a)
    whole = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ c, -inverse @ g / eps]])
    return np.sort(np.abs(np.linalg.eigvals(whole).imag))[::2]


@settings(derandomize=True, max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([3, 5]))
def test_frequencies_are_those_of_the_whole_to_the_second_order(seed, count):
    a, g, c = random_matrices(seed, count)
    found = separate_gyroscopic(a, g, c)
    assert found.precessing == count - 1
    sizes, errors = (2e-3, 1e-3), []
    for eps in sizes:
        precession = np.sort(np.abs(found.precession(eps).imag))[::2]
        parts = [precession, np.sqrt(found.pendulum()), found.nutation(eps)]
        exact = frequencies(a, g, c, eps)
        errors.append(np.abs(np.sort(np.concatenate(parts)) / exact - 1))
    big = errors[1] > 1e-10  # what is smaller is rounding of the largest eigenvalue
    assert np.log2(errors[0] / errors[1])[big] == pytest.approx(2.0, abs=0.3)


@settings(derandomize=True, max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([2, 3, 4, 5]))
def test_what_swings_feels_no_gyroscopic_force_and_no_inertia_of_the_rest(seed, count):
    a, g, c = random_matrices(seed, count)
    found = separate_gyroscopic(a, g, c)
    k = found.precessing
    assert k == 2 * (count // 2)
    assert np.max(np.abs(found.gyroscopic[k:]), initial=0.0) < 1e-12
    assert np.max(np.abs(found.inertia[k:, :k]), initial=0.0) < 1e-12
    assert np.linalg.cond(found.gyroscopic[:k, :k]) < 1e9
    t = found.transformation
    assert t.T @ g @ t == pytest.approx(found.gyroscopic)


def coupled(stiff=1.0, damped=0.0):
    """Return three light coordinates that fast rotation couples, on springs that are not even."""
    q = ds.coordinates(a="m", b="m", c="m")
    p = ds.parameters(eps=(0.01, "", ds.POSITIVE))
    x, v = q.vector, q.dot.vector
    skew = ca.DM([[0.0, -1.0, 0.6], [1.0, 0.0, -0.8], [-0.6, 0.8, 0.0]])
    springs = ca.DM([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])
    force = -skew @ v - stiff * springs @ x - damped * v
    return ds.MechanicalSystem(
        q, p, kinetic=p.eps / 2 * (ca.sumsqr(v) + 0.4 * v[0] * v[2]), force=force,
        outputs={"energy_of_springs": ca.dot(x, springs @ x) / 2},
    )  # fmt: skip


def test_an_odd_number_of_small_velocities_is_separated_and_reduced():
    system, small = coupled(), ["a_dot", "b_dot", "c_dot"]
    with pytest.raises(SecondaryConstraintsError, match="odd number"):
        small_velocities(system, small)
    found = separate_small_velocities(system, small)
    assert len(found.small) == 2
    model = small_velocities(found.system, found.small)
    assert len(model.multipliers) == 2
    # Along the kernel the equation has no gyroscopic force: z = (0.8, 0.6, 1).
    kernel = found.transformation[:, 2]
    assert kernel / kernel[2] == pytest.approx([0.8, 0.6, 1.0])
    # The frequencies of the reduced system are the pendulum's and the precession's.
    sizes, errors = (4e-3, 2e-3, 1e-3), []
    rest = dict.fromkeys(model.system.states.names, 0.0)
    for eps in sizes:
        own = system.dynamics
        mass = np.asarray(ca.Function("m", [own.p], [own.mass])([eps])).reshape(3, 3)
        slopes = [ca.jacobian(own.force, own.velocities), ca.jacobian(own.force, own.x[:3])]
        damping, springs = (-np.asarray(m) for m in ca.Function("s", [own.p], slopes)([eps]))
        exact = frequencies(mass, damping, springs, 1.0)[:2]
        values = ds.analysis.linearize(model.system, rest, parameters={"eps": eps}).eigenvalues
        errors.append(np.abs(np.unique(np.round(np.abs(values.imag), 12))[-2:] / exact - 1))
    slopes = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert slopes == pytest.approx(1.0, abs=0.1)


def test_the_motion_is_the_same_in_the_new_coordinates():
    system = coupled()
    found = separate_small_velocities(system, ["a_dot", "b_dot", "c_dot"])
    start = {"a": 0.3, "b": -0.2, "c": 0.5, "a_dot": 0.1, "c_dot": 1.0}
    at = np.linspace(0.0, 1.0, 5)
    old = ds.solve(system, 1.0, start, at=at)
    new = ds.solve(found.system, 1.0, found.start(start), at=at)
    names = (*found.precessing, *found.swinging)
    moved = found.transformation @ np.array([new[name] for name in names])
    # Ten periods of nutation and more, of runs that are precise to a few units of 1e-13.
    assert moved == pytest.approx(np.array([old[name] for name in found.old]), abs=1e-11)
    assert new["energy_of_springs"] == pytest.approx(old["energy_of_springs"], abs=1e-11)


def test_what_cannot_be_separated_is_refused():
    with pytest.raises(PosingError, match="holds all of"):
        separate_small_velocities(gyroscope(), ["alpha_dot", "beta_dot"])
    q = ds.coordinates(a="m", b="m", c="m")
    v = q.dot
    turning = ds.MechanicalSystem(
        q, kinetic=0.005 * ca.sumsqr(v.vector),
        force={"a": -ca.cos(q.c) * v.b, "b": ca.cos(q.c) * v.a - ca.sin(q.c) * v.c,
               "c": ca.sin(q.c) * v.b},
    )  # fmt: skip
    with pytest.raises(PosingError, match="change their direction"):
        separate_small_velocities(turning, ["a_dot", "b_dot", "c_dot"])
    r = ds.coordinates(a="m", b="m", c="m", d="m")
    tied = ds.MechanicalSystem(
        r, kinetic=0.005 * ca.sumsqr(r.dot.vector), goals=[ds.Holonomic("rod", r.d - r.c)],
        force={"a": -r.dot.b, "b": r.dot.a},
    )  # fmt: skip
    with pytest.raises(PosingError, match="'rod' is written in the old coordinates"):
        separate_small_velocities(tied, ["a_dot", "b_dot", "c_dot"])


@pytest.mark.parametrize(
    ("matrices", "told"),
    [
        ((np.eye(2), np.eye(2)), "not skew"),
        ((np.array([[1.0, 1.0], [0.0, 1.0]]), np.zeros((2, 2))), "not symmetric"),
        ((-np.eye(2), np.zeros((2, 2))), "positive definite"),
        ((np.eye(2), np.zeros((3, 3))), "shapes"),
        ((np.ones((2, 3)), np.eye(2)), "not square"),
        ((np.eye(2), "G"), "not a matrix"),
        ((np.eye(2) * np.nan, np.zeros((2, 2))), "not finite"),
    ],
)
def test_matrices_of_another_kind_are_refused(matrices, told):
    with pytest.raises(OutOfRangeError, match=told):
        separate_gyroscopic(*matrices)


def test_without_stiffness_there_is_no_precession_apart():
    found = separate_gyroscopic(*random_matrices(1, 3)[:2])
    with pytest.raises(SecondaryConstraintsError, match="no stiffness"):
        found.precession(0.01)
