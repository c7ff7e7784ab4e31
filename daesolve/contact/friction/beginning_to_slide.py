"""Nikolskii and Smirnov's criteria for whether, and how, a body at rest begins to slide.

At the end of their section 4 they test for stagnation: with zero accelerations, and tangential
reactions R_k along the accelerations that the system would have without friction, the body stays at
rest if R_k <= f_k N_k for all k. Otherwise they find the accelerations by successive
approximations, which start without friction and take the directions of friction from the previous
accelerations.

The test constructs forces that hold the body, so the verdict "stays" is right. Other forces may
hold it where these do not. The approximations need not converge. `stiction` is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import casadi as ca
import numpy as np

from daesolve.contact.complementarity.policies import solve
from daesolve.contact.friction.variant_forms import FormMatrices, SupportBalance
from daesolve.contact.friction.variants import VariantProblem, variant_problem
from daesolve.contact.posing.supports import Support
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import NoFreedomError, NoValidVariant, OutOfRangeError, PosingError

MOST = 200
"""The number of approximations after which the method gives up."""
CONVERGED = 1e-12
"""The relative change of accelerations at which they have converged."""
State = Mapping[str, float] | np.ndarray


@dataclass(frozen=True, eq=False)
class Stagnation:
    """The result of the test of stagnation.

    Parameters
    ----------
    stays
        Whether the test shows that the body stays at rest.
    variant
        The loaded support of each pair with which it stays; otherwise the variant of least ratio;
        empty if none balances the loads.
    normal, tangential
        N_k and R_k of this variant, N.
    ratio
        The largest |R_k| / (f_k N_k): at most one if the body stays; infinite without a variant.
    """

    stays: bool
    variant: tuple[int, ...]
    normal: np.ndarray
    tangential: np.ndarray
    ratio: float


@dataclass(frozen=True, eq=False)
class Approximations:
    """Successive approximations of the accelerations with which a body begins to slide.

    Parameters
    ----------
    converged
        Whether they converged.
    accelerations
        (k, nv) successive accelerations, the first without friction.
    variant
        The loaded support of each pair in the last approximation.
    """

    converged: bool
    accelerations: np.ndarray
    variant: tuple[int, ...]

    @property
    def last(self) -> np.ndarray:
        """The last accelerations, (nv,)."""
        return self.accelerations[-1]


def stagnation_test(
    system: MechanicalSystem,
    state: State,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Stagnation:
    """Test for stagnation as in the paper: a sufficient but not necessary condition for rest.

    Parameters
    ----------
    system, state, parameters, time
        As in `stiction`.

    Raises
    ------
    PosingError
        The number of pairs differs from the degrees of freedom, so the test does not determine its
        reactions.
    OutOfRangeError
        The body moves.
    NoFreedomError
        Without friction nothing accelerates.
    """
    problem = variant_problem(system, parameters)
    x = _at_rest(problem, state, time)
    balance = problem.balance(x, time, np.ones(len(problem.velocity_names)))
    pairs = len(problem.names)
    if balance.freedom != pairs:
        raise PosingError(
            "the test of stagnation needs as many pairs of supports as degrees of freedom, "
            f"but there are {pairs} and {balance.freedom}: use stiction, which is exact"
        )
    direction = _frictionless(balance)
    slips, coefficients = _slips(problem, x, time, direction)
    best: Stagnation | None = None
    for variant in itertools.product((1, 2), repeat=pairs):
        found = _tested(balance, slips, coefficients, variant)
        if found is not None and (best is None or found.ratio < best.ratio):
            best = found
    if best is None:
        nothing: np.ndarray = np.empty(0)
        return Stagnation(False, (), nothing, nothing, np.inf)
    return best


def successive_approximations(
    system: MechanicalSystem,
    state: State,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Approximations:
    """Find the accelerations with which a body begins to slide, as in the paper.

    Parameters
    ----------
    system, state, parameters, time
        As in `stiction`.

    Raises
    ------
    OutOfRangeError
        The body moves.
    NoFreedomError
        Without friction nothing accelerates.
    VariantError
        For the direction of an approximation, no choice of loaded supports exists.
    """
    problem = variant_problem(system, parameters)
    x = _at_rest(problem, state, time)
    balance = problem.balance(x, time, np.ones(len(problem.velocity_names)))
    found, variant = [_frictionless(balance)], tuple[int, ...]()
    for _ in range(MOST):
        here = problem.at(x, time, found[-1])
        chosen = solve(here.complementarity, policy="homotopy").chosen
        assert chosen is not None
        found.append(here.accelerations(chosen.reactions))
        variant = tuple(chosen.variant)
        change = np.max(np.abs(found[-1] - found[-2]))
        if change <= CONVERGED * np.max(np.abs(found[-1])):
            return Approximations(True, np.array(found), variant)
    return Approximations(False, np.array(found), variant)


def _at_rest(problem: VariantProblem, state: State, time: float) -> np.ndarray:
    x = problem.state(state, time)
    if problem.sliding(x, time):
        raise OutOfRangeError("beginning to slide needs a state at rest, but the body moves")
    return x


def _frictionless(balance: SupportBalance) -> np.ndarray:
    """Return the accelerations without friction.

    Raises
    ------
    NoFreedomError
        They are zero.
    """
    count = balance.normals.shape[-1]
    for variant in itertools.product((0, 1), repeat=count):
        columns = np.column_stack([balance.normals[p][:, k] for k, p in enumerate(variant)])
        rows, signs = (balance.jacobian, balance.bias, balance.others), np.ones(count)
        matrices = FormMatrices(balance.mass, balance.force, columns, *rows, signs)
        accelerations, reactions = matrices.solve()
        if np.all(reactions >= -1e-12 * max(1.0, float(np.max(np.abs(balance.force))))):
            break
    else:
        raise NoValidVariant("no choice of loaded supports bears the loads without friction")
    size = np.max(np.abs(balance.force / np.diag(balance.mass)), initial=0.0)
    if np.max(np.abs(accelerations)) <= 1e-12 * size or size == 0.0:
        raise NoFreedomError("without friction nothing accelerates, so there is no direction")
    return accelerations


def _slips(
    problem: VariantProblem, x: np.ndarray, time: float, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return unit tangential reactions against a direction, (2, nv, m), and coefficients (2, m)."""
    dynamics, v = problem.dynamics, problem.dynamics.velocities
    columns: list[ca.SX] = []
    frictions: list[ca.SX] = []
    for pair, supports in zip(problem.guides.pairs, problem.guides.supports, strict=True):
        posed: list[Support | None] = [None] * (2 - pair.count)
        posed += list(pair.supports)
        for support, rubbing in zip(posed, supports, strict=True):
            if support is None or rubbing is None:
                columns.append(ca.SX.zeros(v.numel()))
                frictions.append(ca.SX(0.0))
                continue
            slip = rubbing.slip
            columns.append(-ca.jacobian(slip, v).T @ slip / ca.sqrt(ca.sumsqr(slip)))
            frictions.append(ca.SX(support.friction))
    function = dynamics.function("slips", ca.horzcat(*columns), ca.vertcat(*frictions))
    moved = x.copy()
    moved[dynamics.position_count :] = direction
    found, numbers = (np.asarray(part) for part in function(time, moved, problem.numbers))
    return (
        np.stack([found[:, 0::2], found[:, 1::2]]),
        np.stack([numbers.ravel()[0::2], numbers.ravel()[1::2]]),
    )


def _tested(
    balance: SupportBalance, slips: np.ndarray, coefficients: np.ndarray, variant: tuple[int, ...]
) -> Stagnation | None:
    """Return N and R of a variant at rest; None if a normal would pull."""
    loaded = [p - 1 for p in variant]
    pick = partial(_picked, loaded)
    normals, tangents = pick(balance.normals), pick(slips)
    whole = np.column_stack([normals, tangents, balance.others])
    found = np.linalg.lstsq(whole, -balance.force, rcond=None)[0]
    left = whole @ found + balance.force
    size = max(float(np.max(np.abs(balance.force))), 1e-300)
    count = len(variant)
    normal, tangential = found[:count], found[count : 2 * count]
    if np.any(normal < 0.0) or np.max(np.abs(left)) > 1e-9 * size:
        return None
    limits = np.array([coefficients[p, k] for k, p in enumerate(loaded)]) * normal
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(np.abs(tangential) <= 1e-12 * size, 0.0, np.abs(tangential) / limits)
    ratio = float(np.max(ratios))
    return Stagnation(ratio <= 1.0, variant, normal, tangential, ratio)


def _picked(loaded: list[int], columns: np.ndarray) -> np.ndarray:
    return np.column_stack([columns[p][:, k] for k, p in enumerate(loaded)])
