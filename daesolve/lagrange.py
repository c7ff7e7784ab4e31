"""The equations of motion of a freed system: Lagrange, Hamel (quasi-velocities), Newton-Euler."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.errors import PosingError
from daesolve.linear import solve_definite, solve_small
from daesolve.symbols import time

WHOLE = 1e-13
"""Entries that miss whole numbers by less at every sample, by rounding, are taken for these."""


@dataclass(frozen=True, eq=False)
class Motion:
    """M v' = h of a system without its constraints: the mass matrix (nv, nv) and h (nv, 1)."""

    mass: ca.SX
    force: ca.SX


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Coordinates q, velocities v and q' as an expression of both.

    Parameters
    ----------
    q, v
        Symbols.
    q_dot
        S(q) v; v itself where velocities are the rates of the coordinates.
    massless
        Symbols that energies must not contain: implicit unknowns and their rates.
    quasi
        Whether velocities are other than the rates of the coordinates.
    """

    q: ca.SX
    v: ca.SX
    q_dot: ca.SX
    massless: ca.SX
    quasi: bool


def lagrange(kinetic: ca.SX, potential: ca.SX, k: Kinematics) -> Motion:
    """Derive d/dt dT/dv = S^T d(T - V)/dq (+ brackets), solved for M v' = h.

    Parameters
    ----------
    kinetic, potential
        T(t, q, v) and V(t, q), in J.
    k
        The kinematics.

    Raises
    ------
    PosingError
        An energy depends on what it must not.
    """
    if k.massless.numel() and ca.depends_on(kinetic, k.massless):
        raise PosingError("the kinetic energy must not depend on implicit unknowns")
    momentum = ca.gradient(kinetic, k.v)
    mass = ca.jacobian(momentum, k.v)
    if ca.depends_on(mass, k.v):
        raise PosingError("the kinetic energy must be quadratic in the velocities")
    directions = ca.jacobian(k.q_dot, k.v)
    force = (
        directions.T @ ca.gradient(kinetic, k.q)
        - ca.jtimes(momentum, k.q, k.q_dot)
        - ca.jtimes(momentum, time, ca.SX(1))
    )
    if k.quasi:
        force = force + _bracket_force(momentum, directions, k)
    return Motion(mass, force + _potential_force(potential, k))


def newton_euler(mass: ca.SX, potential: ca.SX, k: Kinematics) -> Motion:
    """Take the mass matrix as given; what else acts is in the forces.

    Raises
    ------
    PosingError
        The matrix has the wrong shape, or the potential depends on what it must not.
    """
    count = k.v.numel()
    if mass.shape != (count, count):
        raise PosingError(f"the mass matrix must be {count} by {count}, not {mass.shape}")
    return Motion(mass, _potential_force(potential, k))


def _potential_force(potential: ca.SX, k: Kinematics) -> ca.SX:
    if ca.depends_on(potential, ca.vertcat(k.v, k.massless)):
        raise PosingError("the potential must depend on coordinates and time alone")
    return -ca.jacobian(k.q_dot, k.v).T @ ca.gradient(potential, k.q)


def _bracket_force(momentum: ca.SX, directions: ca.SX, k: Kinematics) -> ca.SX:
    """Return the sum over b, c of v_b p_c c^c_ba, where [S_b, S_a] = sum S_c c^c_ba."""
    if not vanishes(k.q_dot - directions @ k.v, ca.vertcat(k.q, k.v)):
        raise PosingError("kinematics must be linear in the quasi-velocities: q' = S(q) v")
    brackets = [
        ca.jtimes(directions[:, a], k.q, k.q_dot) - ca.jtimes(k.q_dot, k.q, directions[:, a])
        for a in range(k.v.numel())
    ]
    columns = ca.horzcat(*brackets)
    if directions.shape[0] == directions.shape[1]:
        structure = solve_small(directions, columns)
    else:
        structure = solve_definite(directions.T @ directions, directions.T @ columns)
    return _with_whole_numbers(structure, k.v).T @ momentum


def _with_whole_numbers(structure: ca.SX, v: ca.SX) -> ca.SX:
    """Write entries that are whole-numbered combinations of velocities everywhere as such.

    The structure constants of a rotation are 0 and 1, which its quaternion hides.
    """
    by_velocity = ca.jacobian(ca.vec(structure), v)
    free = ca.vertcat(*ca.symvar(by_velocity))
    function = ca.Function("structure", [free], [ca.densify(by_velocity)])
    generator = np.random.default_rng(5)
    found = np.array(
        [np.asarray(function(generator.uniform(0.5, 1.5, size=free.numel()))) for _ in range(4)]
    )
    whole = np.round(found[0])
    error = np.abs(found - whole).max(axis=(0, 2), initial=0.0)
    rows = [
        ca.dot(ca.sparsify(ca.DM(whole[index])), v) if miss < WHOLE else ca.vec(structure)[index]
        for index, miss in enumerate(error)
    ]
    return ca.reshape(ca.vertcat(*rows), structure.shape)


def vanishes(expression: ca.SX, arguments: ca.SX) -> bool:
    """Tell whether an expression is zero at random arguments (and random free symbols)."""
    free = ca.symvar(ca.vertcat(ca.vec(expression), arguments))
    function = ca.Function("vanishes", free, [expression])
    generator = np.random.default_rng(2)
    for _ in range(4):
        value = np.asarray(function(*generator.uniform(0.5, 1.5, size=len(free))))
        if np.all(np.isfinite(value)) and np.max(np.abs(value), initial=0.0) > 1e-12:
            return False
    return True
