"""Where supports stick: their slip ends while the body moves on, as that of a wheel that rolls.

Friction that holds a support is a reaction of its own, which the equations of sliding do not have.
So a motion ends where a loaded support sticks, unless the whole body is at rest there.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.algebra.singular_values import singular_values
from daesolve.algebra.translation import function_of
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import SupportSticks
from daesolve.posing.value_names import ValueKind

STUCK = 1e-7
"""Of the fastest slip that the kinetic energy could make, what counts as none where it ends."""
STILL = 1e-12
"""Of the largest, a singular value that counts as zero."""


class Sticking:
    """Finds which supports stick, and whether the body is at rest then.

    Parameters
    ----------
    dynamics
        The equations of a system with pairs of supports.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        guides = dynamics.guides
        assert guides is not None
        self.dynamics, self.guides = dynamics, guides
        places = {name: index for index, name in enumerate(dynamics.values)}
        self._headings = [
            (k, [places[heading[axis].name()] for axis in range(3)])
            for k, (_, heading) in enumerate(guides.turning)
        ]
        owners = [
            (pair.name, place, support)
            for pair, both in zip(guides.pairs, guides.supports, strict=True)
            for place, support in zip((-1.0, 1.0), both, strict=True)
            if support is not None and support.heading is not None
        ]
        variant = ValueKind.VARIANT.name_of
        self._owners = [(name, places[variant(name)], place) for name, place, _ in owners]
        # A pad that spins does not stick.
        parts = [
            ca.vertcat(s.slip, ca.SX(0, 1) if s.spin is None else s.spin) for _, _, s in owners
        ]
        self._counts = [part.numel() for part in parts]
        self._turning = self._linear("turning", ca.vertcat(ca.SX(0, 1), *parts))
        slips = [s.slip for s in guides.rubbing]
        slips += [s.spin for s in guides.rubbing if s.spin is not None]
        held = [row.chain[-1] for row in dynamics.rows]
        self._all = self._linear("all", ca.vertcat(*slips, *held))

    def rests(self, time: float, x: np.ndarray, p: np.ndarray) -> bool:
        """Return whether a body at this place is at rest where nothing of it slides.

        Parameters
        ----------
        time, x, p
            s, (nx,) of which the positions count, and the values.
        """
        still = x.copy()
        still[self.dynamics.position_count :] = 0.0
        carried, slopes = (np.asarray(part) for part in self._all(time, still, p))
        if np.any(carried):
            return False
        lengths = np.linalg.norm(slopes, axis=1)
        mass = self.dynamics.matrices(time, x, p)["mass"]
        scaled: np.ndarray = slopes[lengths > 0.0] / lengths[lengths > 0.0, None]
        scaled = np.linalg.solve(np.linalg.cholesky(mass), scaled.T).T
        scaled /= np.linalg.norm(scaled, axis=1)[:, None]
        values = singular_values(scaled)
        return len(values) == len(mass) and bool(values[-1] > STILL * values[0])

    def turned(self, time: float, x: np.ndarray, before: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the values with the headings of slips that have turned.

        Parameters
        ----------
        time, x, before
            s, (nx,), and the values before.
        p
            The values with the headings that slips have now.

        Raises
        ------
        SupportSticks
            A loaded support does not slide any more.
        """
        slips, slopes = (np.asarray(part) for part in self._turning(time, x, p))
        mass = self.dynamics.matrices(time, x, p)["mass"]
        v = x[self.dynamics.position_count :]
        speed = float(np.sqrt(max(v @ mass @ v, 0.0)))
        values, first = p.copy(), 0
        for (k, places), (name, variant, place) in zip(self._headings, self._owners, strict=True):
            count = self._counts[k]
            own = slice(first, first + count)
            first += count
            if np.array_equal(before[places], p[places]):
                continue
            parts = [(slips[own][part], slopes[own][part]) for part in (slice(3), slice(3, None))]
            ended = [
                np.linalg.norm(slip) <= STUCK * speed * _fastest(slope, mass)
                for slip, slope in parts
            ]
            if not ended[0]:
                continue
            if all(ended) and before[variant] == place:
                raise sticks(time, [name])
            # It slides on to where it came from.
            values[places] = -before[places]
        return values

    def headed(self, time: float, x: np.ndarray, p: np.ndarray) -> dict[str, float]:
        """Return the headings of slips by name, for a start."""
        found: dict[str, float] = {}
        names, first = list(self.dynamics.values), 0
        if not self._headings:
            return found
        slips = np.asarray(self._turning(time, x, p)[0]).ravel()
        for k, places in self._headings:
            slip = slips[first : first + 3]
            first += self._counts[k]
            size = float(np.linalg.norm(slip))
            if size > 0.0:
                found |= dict(zip([names[i] for i in places], (slip / size).tolist(), strict=True))
        return found

    def _linear(self, name: str, expression: ca.SX) -> ca.Function:
        dynamics = self.dynamics
        slopes = ca.jacobian(expression, dynamics.velocities)
        return function_of(
            name,
            [dynamics.t, dynamics.x, dynamics.p],
            [ca.densify(expression), ca.densify(slopes)],
            (["t", "x", "p"], ["slips", "slopes"]),
        )


def sticks(time: float, names: list[str]) -> SupportSticks:
    """Return the error that supports of these pairs stick."""
    listed = ", ".join(map(repr, names))
    return SupportSticks(
        f"at t = {time:.10g} s the supports of {listed} stop sliding while the body moves on, and "
        "supports that stick are not part of the equations; regularised friction goes on there"
    )


def _fastest(slopes: np.ndarray, mass: np.ndarray) -> float:
    """Return the fastest slip of a body with v . M v = 1."""
    if not len(slopes):
        return 0.0
    return float(np.sqrt(np.linalg.norm(slopes @ np.linalg.solve(mass, slopes.T), 2)))
