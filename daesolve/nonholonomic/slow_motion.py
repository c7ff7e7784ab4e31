"""The slow motion at one state: its small velocities, its start, how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from daesolve.algebra.translation import function_of
from daesolve.errors import NoSlowManifoldError
from daesolve.nonholonomic.dirac import DiracEquations
from daesolve.nonholonomic.slow_manifold import Balance, grips, in_units_of_inertia

Kind = Literal["strong", "weak", "invalid"]

ROUNDING = 1e-7
"""Real parts that are smaller than this share of an eigenvalue count as zero."""
FAR_APART = 0.25
"""Up to this ratio of slow rates to fast ones a reduced model is taken to hold."""

BESIDE = 1e-3
"""How far from a state its surroundings are looked at, relative to the state, and in its units."""
NEARLY_LINEAR = 1e-8
"""The share of its first size to which a fast motion has decayed where it counts as linear."""
ACCURACY = 1e-10
"""Of the way there, relative to its size."""
LONG = 1e4
"""How long a fast motion may take to decay, in units of its slowest rate where it is linear."""


@dataclass(frozen=True, eq=False)
class FastSpectrum:
    """How small velocities come to those of the slow motion: S lambda' = M (lambda - lambda0).

    Parameters
    ----------
    eigenvalues
        Of S^-1 M, (m,), 1/s.
    kinds
        Of each: "strong" (it decays, in a boundary layer), "weak" (it oscillates on, a nutation)
        or "invalid" (it grows: the motion leaves the slow one).
    """

    eigenvalues: np.ndarray
    kinds: tuple[Kind, ...]

    @property
    def kind(self) -> Kind:
        """The worst of the kinds."""
        worst: tuple[Kind, ...] = ("invalid", "weak", "strong")
        return next(kind for kind in worst if kind in self.kinds)


@dataclass(frozen=True, eq=False)
class Validity:
    """How far a reduced model can be trusted at a state.

    Parameters
    ----------
    kind
        As in `FastSpectrum.kind`.
    separation
        The fastest rate of the slow motion over the slowest of the fast one. Errors of order 0 are
        about as large, those of the refinement as its square.
    correction
        What the refinement changes in the small velocities, relative to them, in the metric S.
    grip
        The smallest singular value of M over its typical size: zero where secondary constraints
        follow.
    lengthening
        The rate at which the time that the fast motion takes becomes longer or shorter: where it
        comes to one a run ends, for the slow motion is lost.
    """

    kind: Kind
    separation: float
    correction: float
    grip: float
    lengthening: float

    @property
    def holds(self) -> bool:
        """Whether the fast motion does not grow, and is and stays fast enough."""
        return self.kind != "invalid" and max(self.separation, self.lengthening) <= FAR_APART

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        """Say it in a sentence."""
        fast = {
            "strong": "decays",
            "weak": "oscillates without decay, so that velocities hold on average only",
            "invalid": "grows, so that motions leave the slow one",
        }[self.kind]
        return (
            f"the reduced model {'holds' if self.holds else 'does not hold'}: the fast motion "
            f"{fast}; slow rates are {self.separation:.3g} of the fast ones, and the refinement "
            f"changes the small velocities by {self.correction:.3g} of their size"
        )


class Quantities:
    """Dirac's equations as a function of numbers.

    Parameters
    ----------
    equations
        The equations, symbolic.
    """

    def __init__(self, equations: DiracEquations) -> None:
        self._equations = e = equations
        parts = {
            "velocities": e.velocities,
            "inertia": e.inertia,
            "balance": e.balance,
            "solvability": e.solvability,
            "drift": e.drift,
            "carried": e.carried,
            "rate": e.rate,
            "rate_by_slow": ca.jacobian(e.rate, e.slow),
            "rate_by_multipliers": ca.jacobian(e.rate, e.multipliers),
            "balance_by_slow": ca.jacobian(e.balance, e.slow),
        }
        names = ["t", "x", "multipliers", "p"]
        self._names = tuple(parts)
        self._function = function_of("dirac", e.arguments(), [*parts.values()], (names, [*parts]))
        self.linear = not ca.depends_on(e.solvability, e.multipliers)
        self.affine = self.linear and not ca.depends_on(parts["rate_by_multipliers"], e.multipliers)

    def __call__(
        self, t: float, x: np.ndarray, multipliers: np.ndarray, p: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return what is named in `DiracEquations`, and derivatives; columns as (n,)."""
        found = dict(zip(self._names, map(np.asarray, self._function(t, x, multipliers, p)),
                         strict=True))  # fmt: skip
        for name in ("velocities", "balance", "drift", "carried", "rate"):
            found[name] = found[name].ravel()
        return found

    @cached_property
    def lengthening(self) -> ca.Function:
        """(t, x, lambda, p) -> T' as in `DiracEquations`, where M is not singular everywhere."""
        e = self._equations
        names = (["t", "x", "multipliers", "p"], ["lengthening"])
        return function_of("lengthening", e.arguments(), [e.lengthening(e.changing)], names)


@dataclass(frozen=True, eq=False)
class SlowMotion:
    """Dirac's equations at one state.

    Parameters
    ----------
    quantities
        The equations.
    names
        The m small velocities.
    t, slow, multipliers, p
        Time, x = (positions, p1), the small velocities of the full motion, and p.
    scale
        As in `Balance`.
    """

    quantities: Quantities
    names: tuple[str, ...]
    t: float
    slow: np.ndarray
    multipliers: np.ndarray
    p: np.ndarray
    scale: float

    def at(self, multipliers: np.ndarray) -> dict[str, np.ndarray]:
        """Evaluate the equations at other small velocities."""
        return self.quantities(self.t, self.slow, multipliers, self.p)

    @cached_property
    def leading(self) -> np.ndarray:
        """lambda0, where R = 0."""

        def evaluate(multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = self.at(multipliers)
            return found["balance"], found["solvability"]

        def beside(multipliers: np.ndarray) -> np.ndarray:
            part = BESIDE * np.random.default_rng(11).normal(size=len(self.slow))
            return replace(self, slow=self.slow * (1.0 + part) + part).at(multipliers)[
                "solvability"
            ]

        balance = Balance(
            names=self.names,
            inertia=self.at(self.multipliers)["inertia"],
            evaluate=evaluate,
            linear=self.quantities.linear,
            beside=beside,
            scale=self.scale,
        )
        return balance.solve(self.multipliers)

    @cached_property
    def on_manifold(self) -> dict[str, np.ndarray]:
        """The equations at lambda0."""
        return self.at(self.leading)

    @cached_property
    def changing(self) -> np.ndarray:
        """lambda0', along Dirac's equations."""
        return -np.linalg.solve(self.on_manifold["solvability"], self.on_manifold["drift"])

    @cached_property
    def refined(self) -> np.ndarray:
        """lambda1."""
        found = self.on_manifold
        lag = found["inertia"] @ self.changing + found["carried"]
        return self.leading + np.linalg.solve(found["solvability"], lag)

    def after_layer(self) -> SlowMotion:
        """Return the slow motion that starts at x and what the fast motion adds to it.

        Where forces or rates are not linear in the small velocities, a fast motion that decays is
        followed until they are.
        """
        found, spectrum = self.on_manifold, self.spectrum()
        slow, multipliers = self.slow, self.multipliers
        if not self.quantities.affine and spectrum.kind == "strong":
            slowest = float(np.min(np.abs(np.real(spectrum.eigenvalues))))
            slow, multipliers = self._along_layer(LONG / slowest)
        missed = found["inertia"] @ (multipliers - self.leading)
        impulse = np.linalg.solve(found["solvability"], missed)
        moved = slow - found["rate_by_multipliers"] @ impulse
        return replace(self, slow=moved, multipliers=self.leading)

    def _along_layer(self, until: float) -> tuple[np.ndarray, np.ndarray]:
        """Return what x is moved to, and lambda, where S lambda' = R(x, lambda) is nearly linear.

        x is held in the equations, for the boundary layer is short.

        Raises
        ------
        NoSlowManifoldError
            The fast motion leads elsewhere.
        """
        # In units of S all small velocities are comparable: |fast|^2/2 is an energy.
        root = np.linalg.cholesky(self.on_manifold["inertia"])
        first = root.T @ (self.multipliers - self.leading)
        away = float(np.linalg.norm(first))
        if away <= NEARLY_LINEAR * float(np.linalg.norm(root.T @ self.leading)):
            return self.slow, self.multipliers
        count = len(self.slow)

        def multipliers_of(fast: np.ndarray) -> np.ndarray:
            return self.leading + np.linalg.solve(root.T, fast)

        def motion(_: float, both: np.ndarray) -> np.ndarray:
            found = self.at(multipliers_of(both[count:]))
            moving = found["rate"] - self.on_manifold["rate"]
            return np.concatenate([moving, np.linalg.solve(root, found["balance"])])

        def near(_: float, both: np.ndarray) -> float:
            return float(np.linalg.norm(both[count:])) - NEARLY_LINEAR * away

        near.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
        start = np.concatenate([np.zeros(count), first])
        sizes = np.abs(motion(0.0, start)[:count]) / self.scale + np.finfo(float).tiny
        found = solve_ivp(
            motion,
            (0.0, until),
            start,
            method="LSODA",
            events=near,
            rtol=ACCURACY,
            atol=ACCURACY * np.concatenate([sizes, np.full(len(first), away)]),
        )
        if found.status != 1:
            raise NoSlowManifoldError(
                f"the fast motion from the small velocities {', '.join(map(repr, self.names))} of "
                "the start does not lead to those that balance the forces; start nearer to these"
            )
        return self.slow + found.y[:count, -1], multipliers_of(found.y[count:, -1])

    def spectrum(self) -> FastSpectrum:
        """Return the eigenvalues of S^-1 M on the slow manifold."""
        found = self.on_manifold
        values = np.linalg.eigvals(in_units_of_inertia(found["inertia"], found["solvability"]))
        values = np.asarray(np.sort_complex(values), dtype=complex)
        return FastSpectrum(values, tuple(_kind(value) for value in values))

    def validity(self) -> Validity:
        """Compare the slow motion with the fast one."""
        spectrum, found, own = self.spectrum(), self.on_manifold, self.on_manifold["inertia"]
        following = np.linalg.solve(found["solvability"], found["balance_by_slow"])
        slow = np.linalg.eigvals(found["rate_by_slow"] - found["rate_by_multipliers"] @ following)
        change = self.refined - self.leading
        size = max(self.leading @ own @ self.leading, self.refined @ own @ self.refined)
        return Validity(
            kind=spectrum.kind,
            separation=float(np.max(np.abs(slow)) / np.min(np.abs(spectrum.eigenvalues))),
            correction=float(np.sqrt(change @ own @ change / size)) if size > 0.0 else 0.0,
            grip=float(grips(own, found["solvability"])[0][-1] / self.scale),
            lengthening=self.lengthening(),
        )

    def lengthening(self) -> float:
        """Return |T'| on the slow manifold, T as in `DiracEquations.lengthening`."""
        return abs(float(self.quantities.lengthening(self.t, self.slow, self.leading, self.p)))

    def check_slow(self) -> None:
        """Refuse a place where motions are not near a slow one.

        Raises
        ------
        NoSlowManifoldError
            The fast motion grows, or changes as fast as it goes.
        """
        names, spectrum = ", ".join(map(repr, self.names)), self.spectrum()
        if spectrum.kind == "invalid":
            growth = float(np.max(np.real(spectrum.eigenvalues)))
            raise NoSlowManifoldError(
                f"the fast motion of {names} grows here, by {growth:.3g} 1/s, so that motions "
                "leave the slow one; start elsewhere, or integrate the full system"
            )
        found = self.lengthening()
        if not found < 1.0:
            raise NoSlowManifoldError(
                f"there is no slow motion of {names} here: while the fast one runs its course, "
                f"the time that it takes changes by {found:.3g} of itself, where less than 1 is "
                "needed; start elsewhere, or integrate the full system"
            )


def _kind(eigenvalue: complex) -> Kind:
    if abs(eigenvalue.real) <= ROUNDING * abs(eigenvalue):
        return "weak"
    return "strong" if eigenvalue.real < 0.0 else "invalid"
