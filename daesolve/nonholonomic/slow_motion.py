"""The slow motion at one state: its small velocities, its start, and how far to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.translation import function_of
from daesolve.errors import InconsistentStateError, NoSlowManifoldError, SecondaryConstraintsError
from daesolve.nonholonomic.dirac import DiracEquations
from daesolve.nonholonomic.slow_manifold import SmallVelocityEquations, grips, in_units_of_inertia
from daesolve.nonholonomic.validity import Coupling, Kind, Validity, lasting_directions

ROUNDING = 1e-7
"""Real parts below this share of an eigenvalue count as zero."""
AHEAD = (0.7, 1.9, 3.1, 5.3, 8.9, 13.7, 18.2, 24.0)
"""Further points along the slow motion where its rates are examined, in units of the fast time.
They are not equidistant, because an oscillation in step with them would appear constant."""
BESIDE = 1e-3
"""The size of the examined neighbourhood of a state, relative to the state and in its units."""
NEARLY_LINEAR = 1e-8
"""The share of its first size to which a fast motion must decay to count as linear."""
ACCURACY = 1e-10
"""The relative tolerance on the way there."""
ROUNDINGS = 16 * np.finfo(float).eps
"""The rounding of a rate, relative."""
PHASES = 0.618033988749895 * 61.0 * np.arange(1, 129)
"""Where averages over an oscillation are sampled, in units of its slowest rate. The golden
section avoids sampling any frequency at only a few phases."""
QUIET = 0.1
"""The share of velocities in an oscillation that has at most 1 % of their energy."""
LONG = 1e4
"""The time in which a fast motion must decay, in units of its slowest rate where it is linear."""


@dataclass(frozen=True, eq=False)
class FastSpectrum:
    """How small velocities approach those of the slow motion: S lambda' = M (lambda - lambda0).

    Parameters
    ----------
    eigenvalues
        The eigenvalues of S^-1 M, (m,), 1/s.
    kinds
        For each: "strong" (it decays in a boundary layer), "weak" (it keeps oscillating, a
        nutation) or "invalid" (it grows, and the motion leaves the slow one).
    """

    eigenvalues: np.ndarray
    kinds: tuple[Kind, ...]

    @property
    def kind(self) -> Kind:
        """The worst of the kinds."""
        worst: tuple[Kind, ...] = ("invalid", "weak", "strong")
        return next(kind for kind in worst if kind in self.kinds)


class Quantities:
    """Dirac's equations as a function of numbers.

    Parameters
    ----------
    equations
        The equations, symbolic.
    large
        The indices of the large velocities.
    """

    def __init__(self, equations: DiracEquations, large: Sequence[int]) -> None:
        self._equations = e = equations
        self.large = list(large)
        momenta = e.slow[e.slow.numel() - len(large) :]
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
            "neglected": e.neglected,
            "neglected_by_multipliers": ca.jacobian(e.neglected, e.multipliers),
            "mobility": ca.jacobian(e.velocities, momenta)[self.large, :],
        }
        self._names = tuple(parts)
        self._function = ArrayFunction("dirac", e.arguments(), [*parts.values()])
        self.linear = not ca.depends_on(e.solvability, e.multipliers)
        pushing = [parts["rate_by_multipliers"], e.neglected]
        bends = any(ca.depends_on(part, e.multipliers) for part in pushing)
        self.affine = self.linear and not bends

    def __call__(
        self, t: float, x: np.ndarray, multipliers: np.ndarray, p: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return the quantities of `DiracEquations`, and derivatives; columns as (n,)."""
        values = dict(zip(self._names, self._function(t, x, multipliers, p), strict=True))
        for name in ("velocities", "balance", "drift", "carried", "rate", "neglected"):
            values[name] = values[name].ravel()
        return values

    @cached_property
    def lengthening(self) -> ca.Function:
        """(t, x, lambda, p) -> T' as in `DiracEquations`, unless M is singular everywhere."""
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
    velocities
        The names of all velocities.
    t, slow, multipliers, p
        Time, x = (positions, p1), the small velocities of the full motion, and p.
    scale
        As in `SmallVelocityEquations`.
    """

    quantities: Quantities
    names: tuple[str, ...]
    velocities: tuple[str, ...]
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
            values = self.at(multipliers)
            return values["balance"], values["solvability"]

        def beside(multipliers: np.ndarray) -> np.ndarray:
            part = BESIDE * np.random.default_rng(11).normal(size=len(self.slow))
            return replace(self, slow=self.slow * (1.0 + part) + part).at(multipliers)[
                "solvability"
            ]

        balance = SmallVelocityEquations(
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
        values = self.on_manifold
        lag = values["inertia"] @ self.changing + values["carried"]
        return self.leading + np.linalg.solve(values["solvability"], lag)

    def after_layer(self) -> SlowMotion:
        """Return the slow motion that starts at x, and the change that the fast motion adds.

        If forces or rates are not linear in the small velocities, a decaying fast motion is
        followed until they are. One of these is (lambda.S lambda)_q/2: with finite S and stiff
        friction, it changes the large momenta in the layer by as much as lambda changes the
        positions.
        """
        values, spectrum = self.on_manifold, self.spectrum()
        slow, multipliers, pushed = self.slow, self.multipliers, values["rate_by_multipliers"]
        if spectrum.kind == "strong":
            pushed = pushed + values["neglected_by_multipliers"]
        if not self.quantities.affine and spectrum.kind == "strong":
            slowest = float(np.min(np.abs(np.real(spectrum.eigenvalues))))
            slow, multipliers = self._along_layer(LONG / slowest)
        missed = values["inertia"] @ (multipliers - self.leading)
        impulse = np.linalg.solve(values["solvability"], missed)
        moved = slow - pushed @ impulse
        return replace(self, slow=moved, multipliers=self.leading)

    def _along_layer(self, until: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the x reached, and lambda, where S lambda' = R(x, lambda) is nearly linear.

        The equations hold x constant, because the boundary layer is short.

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
            run = self.at(multipliers_of(both[count:]))
            moving = sum(run[name] - self.on_manifold[name] for name in ("rate", "neglected"))
            return np.concatenate([moving, np.linalg.solve(root, run["balance"])])

        def near(_: float, both: np.ndarray) -> float:
            return float(np.linalg.norm(both[count:])) - NEARLY_LINEAR * away

        near.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
        start = np.concatenate([np.zeros(count), first])
        sizes = np.abs(motion(0.0, start)[:count]) / self.scale + np.finfo(float).tiny
        # What the fast motion does not move changes by the rounding of its rate.
        rounding = ROUNDINGS * np.abs(self.on_manifold["rate"]) / self.scale
        run = scipy.integrate.solve_ivp(
            motion,
            (0.0, until),
            start,
            method="LSODA",
            events=near,
            rtol=ACCURACY,
            atol=np.append(
                np.maximum(ACCURACY * sizes, rounding), np.full(len(first), ACCURACY * away)
            ),
        )
        if run.status != 1:
            raise NoSlowManifoldError(
                f"the fast motion from the small velocities {', '.join(map(repr, self.names))} "
                "of the start does not lead to those that balance the forces; start closer to "
                "these"
            )
        return self.slow + run.y[:count, -1], multipliers_of(run.y[count:, -1])

    def spectrum(self) -> FastSpectrum:
        """Return the eigenvalues of S^-1 M on the slow manifold."""
        found = self.on_manifold
        values = np.linalg.eigvals(in_units_of_inertia(found["inertia"], found["solvability"]))
        values = np.asarray(np.sort_complex(values), dtype=complex)
        return FastSpectrum(values, tuple(_kind(value) for value in values))

    def validity(self, horizon: float) -> Validity:
        """Compare the slow motion with the fast one, at this state.

        Parameters
        ----------
        horizon
            The remaining duration of the motion, s; infinite if unknown.
        """
        spectrum, values, inertia = self.spectrum(), self.on_manifold, self.on_manifold["inertia"]
        following = np.linalg.solve(values["solvability"], values["balance_by_slow"])
        slow = np.linalg.eigvals(values["rate_by_slow"] - values["rate_by_multipliers"] @ following)
        fastest = max(float(np.max(np.abs(slow))), 1.0 / horizon)
        slowest = float(np.min(np.abs(spectrum.eigenvalues)))
        change, ahead = self.refined - self.leading, self._ahead(1.0 / slowest)
        usual = max(_size(inertia, one.leading) for one in ahead)
        size = max(_size(inertia, self.leading), _size(inertia, self.refined))
        late = max(_size(inertia, one.refined - one.leading) for one in ahead)
        coupling, missed = self._coupling, self.multipliers - self.leading
        given = max(size, _size(inertia, self.multipliers))
        added = coupling.carried @ np.linalg.cholesky(inertia).T @ missed
        heavy = coupling.velocity_size(values["velocities"][self.quantities.large])
        return Validity(
            kind=spectrum.kind,
            separation=float(fastest / slowest),
            correction=_ratio(_size(inertia, change), size),
            lag=_ratio(late, max(usual, late)),
            grip=float(grips(inertia, values["solvability"])[0][-1] / self.scale),
            lengthening=self.lengthening(),
            rates=self._changed_rates(ahead, fastest),
            columns=dict(zip(self._large_names(), coupling.columns.tolist(), strict=True)),
            left_out=coupling.left_out,
            jump=_ratio(float(np.linalg.norm(added)), float(np.hypot(given, heavy))),
            nutation=self._nutation(ahead, fastest),
            lasting=lasting_directions(
                inertia, values["solvability"], missed, given, fastest, self.names
            ),
        )

    def _ahead(self, time: float) -> list[SlowMotion]:
        """Return this state and some along the slow motion, as far as it exists.

        A quantity that vanishes by chance at one of them has its usual size at another.

        Parameters
        ----------
        time
            The time of the fast motion, s.
        """
        motions: list[SlowMotion] = [self]
        for step in AHEAD:
            slow = self.slow + step * time * self.on_manifold["rate"]
            one = replace(self, t=self.t + step * time, slow=slow, multipliers=self.leading)
            try:
                if not np.all(np.isfinite(one.leading)):
                    break
            except (NoSlowManifoldError, SecondaryConstraintsError, InconsistentStateError):
                break
            motions.append(one)
        return motions

    @cached_property
    def _coupling(self) -> Coupling:
        values, count = self.on_manifold, len(self.slow) - len(self.quantities.large)
        return Coupling(
            mobility=values["mobility"],
            inertia=values["inertia"],
            solvability=values["solvability"],
            pull=values["rate_by_multipliers"][count:],
            following=values["balance_by_slow"][:, count:],
        )

    def _large_names(self) -> list[str]:
        return [self.velocities[index] for index in self.quantities.large]

    def _changed_rates(self, ahead: Sequence[SlowMotion], fastest: float) -> dict[str, float]:
        """Return the changes by the refinement in large velocities and in the rates of momenta."""
        large, sizes = self.quantities.large, self._coupling
        if not large:
            return {}
        count = len(self.slow) - len(large)
        before, after = self.on_manifold, self.at(self.refined)
        moved = (after["velocities"] - before["velocities"])[large]
        pushed = (after["rate"] + after["neglected"] - before["rate"])[count:]
        usual = [one.on_manifold for one in ahead] + [after]
        velocity = max(sizes.velocity_size(one["velocities"][large]) for one in usual)
        force = max(self._usual_force(usual, fastest), sizes.force_size(pushed))
        mobility = sizes.mobility
        heavy = np.sqrt(np.diag(np.linalg.inv(mobility)))
        shares: dict[str, float] = {}
        for index, name in enumerate(self._large_names()):
            shares[name] = _ratio(abs(moved[index]) * heavy[index], velocity)
            shares[f"{name}'s momentum"] = _ratio(abs(pushed[index]) / heavy[index], force)
        return shares

    def _usual_force(self, usual: Sequence[dict[str, np.ndarray]], fastest: float) -> float:
        """Return the size of p1' in units of kinetic energy."""
        sizes, count = self._coupling, len(self.slow) - len(self.quantities.large)
        force = max(sizes.force_size(one["rate"][count:]) for one in usual)
        return max(force, fastest * sizes.force_size(self.slow[count:]))

    def _nutation(self, ahead: Sequence[SlowMotion], fastest: float) -> dict[str, float]:
        """Return the average change of p1' due to a persistent oscillation.

        With u = lambda - lambda0 and S u' = M u, positions and momenta swing with u about their
        means by g_lambda M^-1 S u. A force that grows along such a swing does not vanish on
        average, nor does (u.S u)_q/2. Both are of the order of the oscillation's energy.
        """
        large, sizes, found = self.quantities.large, self._coupling, self.on_manifold
        missed = self.multipliers - self.leading
        spectrum = self.spectrum()
        if not large or "weak" not in spectrum.kinds:
            return {}
        moving = max(
            sizes.velocity_size(found["velocities"][large]),
            _size(found["inertia"], self.multipliers),
        )
        if _size(found["inertia"], missed) <= QUIET * moving:
            return {}
        count = len(self.slow) - len(large)
        flow = np.linalg.solve(found["inertia"], found["solvability"])
        swings = found["rate_by_multipliers"] @ np.linalg.inv(flow)
        values: np.ndarray = np.linalg.eig(flow)[0].astype(complex)
        vectors: np.ndarray = np.linalg.eig(flow)[1].astype(complex)
        parts = np.linalg.solve(vectors, missed.astype(complex))
        lasting = [kind == "weak" for kind in map(_kind, values)]
        turning, parts = 1j * np.imag(values), np.where(lasting, parts, 0.0)
        mean = np.zeros(len(large))
        for phase in PHASES / np.min(np.abs(spectrum.eigenvalues)):
            moved = np.real(vectors @ (np.exp(turning * phase) * parts))
            for own in (moved, -moved):
                one = replace(self, slow=self.slow + swings @ own).at(self.leading + own)
                mean += (one["rate"] + one["neglected"])[count:] / (2 * len(PHASES))
        pushed = mean - (found["rate"] + found["neglected"])[count:]
        force = self._usual_force([one.on_manifold for one in ahead], fastest)
        force = max(force, sizes.force_size(pushed))
        heavy = np.sqrt(np.diag(np.linalg.inv(sizes.mobility)))
        return {
            name: _ratio(abs(pushed[index]) / heavy[index], force)
            for index, name in enumerate(self._large_names())
        }

    def lengthening(self) -> float:
        """Return |T'| on the slow manifold, T as in `DiracEquations.lengthening`."""
        return abs(float(self.quantities.lengthening(self.t, self.slow, self.leading, self.p)))

    def check_slow(self) -> None:
        """Refuse a place where motions do not stay near a slow one.

        Raises
        ------
        NoSlowManifoldError
            The fast motion grows, or its rates change as fast as it decays.
        """
        names, spectrum = ", ".join(map(repr, self.names)), self.spectrum()
        if spectrum.kind == "invalid":
            growth = float(np.max(np.real(spectrum.eigenvalues)))
            raise NoSlowManifoldError(
                f"the fast motion of {names} grows here, by {growth:.3g} 1/s, so motions leave "
                "the slow one; start elsewhere, or integrate the full system"
            )
        lengthening = self.lengthening()
        if not lengthening < 1.0:
            raise NoSlowManifoldError(
                f"there is no slow motion of {names} here: during the fast motion its duration "
                f"changes by a relative {lengthening:.3g}, but must change by less than 1; start "
                "elsewhere, or integrate the full system"
            )


def _size(inertia: np.ndarray, velocities: np.ndarray) -> float:
    """Return |lambda| in the metric S."""
    return float(np.sqrt(max(velocities @ inertia @ velocities, 0.0)))


def _ratio(part: float, whole: float) -> float:
    """Divide, with 0/0 = 0."""
    return float(part / whole) if whole > 0.0 else 0.0


def _kind(eigenvalue: complex) -> Kind:
    if abs(eigenvalue.real) <= ROUNDING * abs(eigenvalue):
        return "weak"
    return "strong" if eigenvalue.real < 0.0 else "invalid"
