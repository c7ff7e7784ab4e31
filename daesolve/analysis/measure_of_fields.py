"""Whether a field x' = f(x) preserves a volume: excluding rest points, proving candidates.

With a density rho, f . grad(ln rho) = -div f, so div f = 0 where f = 0. The module tests whether
rho = sum c_k phi_k, or ln rho = sum c_k phi_k, for candidates phi_k; both are linear in c.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.analysis.logarithmic_gradient import evidence_of, hashed_values
from daesolve.core.equations.consistent_start import refuse_drives
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.identities import vanishes
from daesolve.core.expressions.singular_values import singular_directions
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.system import System
from daesolve.errors import PosingError
from daesolve.nonholonomic.constraint_forms import parameter_vector

POINTS = 4
"""The least number of random states for each candidate."""
STARTS = 40
"""The number of starts of the search for rest points."""
RESTS = 1e-13
"""|f| at a rest point, relative to its usual size."""
NEWTON, FAR = 60, 1e3
"""The number of steps, each of which at least halves the distance to a double root, and the
range of the search."""
NOTEWORTHY = 1e-2
"""The divergence at a rest point, relative to its usual size, that counts."""
LEFT = 1e-9
"""The accepted remainder of div(rho f), relative to its terms."""
ROUNDED = 1e-10
"""The distance within which a coefficient is replaced by a fraction."""
DENOMINATOR = 24


@dataclass(frozen=True, eq=False)
class _Field:
    dynamics: Dynamics
    x: ca.SX
    rates: ca.SX
    p: np.ndarray

    @property
    def divergence(self) -> ca.SX:
        return ca.trace(ca.jacobian(self.rates, self.x))

    def along(self, values: ca.SX) -> ca.SX:
        """Return the rates of functions along the field."""
        return ca.jacobian(values, self.x) @ self.rates

    @property
    def known(self) -> dict[int, float]:
        return hashed_values(self.dynamics.p, self.p)

    def function(self, value: ca.SX) -> Callable[[np.ndarray], np.ndarray]:
        function = ArrayFunction("field", [self.dynamics.t, self.x, self.dynamics.p], [value])
        return lambda x: function(0.0, x, self.p)[0]


def measure_of_field(
    system: System,
    parameters: Mapping[str, float] | None,
    candidates: Sequence[ca.SX] | None,
) -> dict[str, Any]:
    """Return the entries of an `InvariantMeasure`.

    Raises
    ------
    PosingError
        The states do not have their own rates.
    """
    field = _field(system, parameters)
    generator = np.random.default_rng(11)
    samples = [generator.normal(size=field.x.numel()) for _ in range(STARTS)]
    names = field.dynamics.labels.states
    if candidates is None and (refusal := _refusal(field, samples)):
        return refusal
    divergence = field.divergence
    given = list(candidates) if candidates is not None else _usual(field.x)
    family = f"rho or ln rho a combination of {len(given)} candidates"
    for logarithmic in (True, False):
        weights = _combination(field, given, logarithmic=logarithmic)
        if weights is None:
            continue
        coefficients, residual = weights
        value = ca.dot(ca.DM(coefficients), ca.vertcat(*given))
        log = value if logarithmic else ca.log(ca.fabs(value))
        change = field.along(log) + divergence
        evidence = evidence_of(partial(vanishes, change), field.known)
        written = " + ".join(
            f"{c:.6g}*({phi})" for c, phi in zip(coefficients, given, strict=True) if c
        )
        said = "the volume itself is preserved, rho = 1"
        if np.any(coefficients):
            said = f"{'ln rho' if logarithmic else 'rho'} = {written}"
        entries = _entries(True, evidence, family, False, said, names, residual)
        return entries | {"_gradient": _gradient(field, log), "positions": tuple(names)}
    # A user's density may be singular where the motion rests, so this check comes last.
    if candidates is not None and (refusal := _refusal(field, samples)):
        return refusal
    said = "no combination of the candidates is a density; others may be"
    return _entries(None, "sampled", family, False, said, names, 1.0)


def _refusal(field: _Field, samples: Sequence[np.ndarray]) -> dict[str, Any] | None:
    """Return the entries if a rest point excludes every density that is smooth there."""
    excluded = _excluded(field, samples)
    if excluded is None:
        return None
    place, value = excluded
    names = field.dynamics.labels.states
    where = ", ".join(f"{name} = {x:.6g}" for name, x in zip(names, place, strict=True))
    said = f"{where} is a point of rest, where the divergence is {value:.6g}, not zero"
    return _entries(False, "refuted", "smooth positive densities", True, said, names, 1.0)


def _gradient(field: _Field, log: ca.SX) -> Callable[[np.ndarray], np.ndarray]:
    function = field.function(ca.jacobian(log, field.x))
    return lambda x: function(x)[0]


def _entries(
    exists: bool | None,
    evidence: str,
    family: str,
    every: bool,
    said: str,
    names: Sequence[str],
    residual: float,
) -> dict[str, Any]:
    return {
        "exists": exists,
        "evidence": evidence,
        "family": family,
        "none_at_all": every,
        "said": said,
        "variables": tuple(names),
        "residual": residual,
    }


def _field(system: System, parameters: Mapping[str, float] | None) -> _Field:
    check_system(system)
    dynamics = system.dynamics
    if dynamics.switches:
        raise PosingError(
            "piecewise expressions switch the motion, but volumes need a smooth motion"
        )
    refuse_drives(dynamics, "volumes")
    if dynamics.reactions.numel() or dynamics.rows:
        raise PosingError(
            "goals direct the motion, but a volume needs states with their own equations"
        )
    rates = ca.SX(dynamics.without_feedback(dynamics.force))
    if ca.depends_on(rates, dynamics.t):
        raise PosingError("the rates contain time: make time a separate state with a rate")
    return _Field(dynamics, dynamics.x, rates, parameter_vector(dynamics, parameters))


def _excluded(field: _Field, samples: Sequence[np.ndarray]) -> tuple[np.ndarray, float] | None:
    """Return a rest point with nonzero divergence, and the divergence."""
    rates, slopes = field.function(field.rates), field.function(ca.jacobian(field.rates, field.x))
    divergence = field.function(field.divergence)
    usual = np.median([abs(float(divergence(x)[0, 0])) for x in samples])
    size = float(np.median([np.linalg.norm(rates(x)) for x in samples])) or 1.0
    generator = np.random.default_rng(2)
    for start in samples:
        x = start.copy()
        # Rest points come in families, of which Newton's method finds corners: it moves only some
        # states.
        moved = np.flatnonzero(generator.random(len(x)) < 0.6)
        for _ in range(NEWTON):
            f = rates(x)[:, 0]
            if not np.all(np.isfinite(f)) or np.linalg.norm(x) > FAR or not np.any(f):
                break
            x[moved] -= np.linalg.lstsq(slopes(x)[:, moved], f, rcond=1e-10)[0]
        if np.all(np.isfinite(x)) and np.linalg.norm(rates(x)) <= RESTS * size:
            value = float(divergence(x)[0, 0])
            if abs(value) > NOTEWORTHY * max(usual, 1e-300):
                return x, value
    return None


def _usual(x: ca.SX) -> list[ca.SX]:
    """Return the default candidates."""
    states = [x[k] for k in range(x.numel())]
    products = [a * b for a, b in itertools.combinations_with_replacement(states, 2)]
    waves = [wave(state) for state in states for wave in (ca.sin, ca.cos)]
    return [*[ca.log(ca.fabs(state)) for state in states], *states, *products, *waves]


def _combination(
    field: _Field, candidates: Sequence[ca.SX], *, logarithmic: bool
) -> tuple[np.ndarray, float] | None:
    """Return the coefficients of a density, and the remainder of the condition.

    If there are several, it returns one with few terms, scaled by the largest.
    """
    column, divergence = ca.vertcat(*candidates), field.divergence
    terms = field.along(column)
    if not logarithmic:
        terms = terms + column * divergence
    function, target = field.function(terms.T), field.function(divergence)
    generator = np.random.default_rng(7)
    rows: list[np.ndarray] = []
    right: list[float] = []
    for _ in range(POINTS * len(candidates) + 20):
        x = generator.normal(size=field.x.numel()) * np.exp(generator.normal())
        row, value = function(x)[0], float(target(x)[0, 0])
        size = float(np.linalg.norm(row)) + abs(value)
        if np.isfinite(size) and size > 0.0:
            rows.append(row / size)
            right.append(-value / size)
    matrix, vector = np.array(rows), np.array(right)
    if not rows:  # Nothing changes, and so no volume does.
        return (np.zeros(len(candidates)), 0.0) if logarithmic else None
    if logarithmic:
        weights = _sparse(matrix, vector)
        residual = float(np.max(np.abs(matrix @ weights - vector)))
    else:
        spanned = singular_directions(matrix)
        sizes, directions = spanned.values, spanned.right
        dropped = np.zeros(len(candidates))
        dropped[: len(sizes)] = sizes
        null = directions[dropped < LEFT * max(sizes[0], 1.0)]
        null = [own for own in null if _signed(field, candidates, own)]
        if not null:
            return None
        weights = null[-1] / null[-1][np.argmax(np.abs(null[-1]))]
        residual = float(np.max(np.abs(matrix @ weights)))
    fractions = np.round(weights * DENOMINATOR) / DENOMINATOR
    weights = np.where(np.abs(weights - fractions) < ROUNDED, fractions, weights)
    return (weights, residual) if residual < LEFT else None


def _sparse(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Solve with the columns chosen by pivoting, so that few terms remain."""
    weights, kept = np.zeros(matrix.shape[1]), list[int]()
    rest = vector
    while len(kept) < matrix.shape[1] and np.max(np.abs(rest)) > LEFT:
        lengths = np.linalg.norm(matrix, axis=0)
        scores = np.abs(rest @ matrix) / np.where(lengths > 0.0, lengths, np.inf)
        scores[kept] = -1.0
        best = int(np.argmax(scores))
        if scores[best] <= 0.0:
            break
        kept.append(best)
        part = scipy.linalg.lstsq(matrix[:, kept], vector)[0]
        rest = vector - matrix[:, kept] @ part
    for index in list(kept):  # Remove the columns that later ones made superfluous.
        fewer = [k for k in kept if k != index]
        part = scipy.linalg.lstsq(matrix[:, fewer], vector)[0] if fewer else np.zeros(0)
        left = vector - (matrix[:, fewer] @ part if fewer else 0.0)
        if np.max(np.abs(left)) < LEFT:
            kept = fewer
    if kept:
        weights[kept] = scipy.linalg.lstsq(matrix[:, kept], vector)[0]
    return weights


def _signed(field: _Field, candidates: Sequence[ca.SX], coefficients: np.ndarray) -> bool:
    """Return whether a combination keeps its sign at all examined states."""
    function = field.function(ca.dot(ca.DM(coefficients), ca.vertcat(*candidates)))
    generator = np.random.default_rng(3)
    values = [function(generator.normal(size=field.x.numel()))[0, 0] for _ in range(60)]
    return bool(np.all(np.array(values) > 0.0) or np.all(np.array(values) < 0.0))
