"""Supports that stick, and whether the whole body is then at rest.

If a slip passes through zero while the body moves on, friction reverses with it. A support sticks
if its slip stays zero, as for a rolling wheel. The friction that holds it is a separate reaction,
which the equations of sliding do not contain. A motion therefore ends where a loaded support
sticks, unless the whole body is at rest, or moving guides carry it along.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np
import scipy

from daesolve.contact.friction.planar_slips import PlanarSlips, linear_function
from daesolve.contact.posing.guides import the_guides
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.singular_values import rank, singular_values
from daesolve.core.posing.value_names import ValueKind
from daesolve.errors import SupportSticks

STUCK = 1e-7
"""The slip, relative to the fastest that the kinetic energy allows, that counts as zero at its
end."""
STILL = 1e-12
"""A singular value, relative to the largest, that counts as zero."""


class StickingSearch:
    """Finds which supports stick, and whether the body is at rest then.

    Parameters
    ----------
    dynamics
        The equations of a system with pairs of supports.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        guides = the_guides(dynamics)
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
        self._owners = [
            (name, places[ValueKind.VARIANT.name_of(name)], place) for name, place, _ in owners
        ]
        # A spinning pad does not stick.
        parts = [
            ca.vertcat(s.slip, ca.SX(0, 1) if s.spin is None else s.spin) for _, _, s in owners
        ]
        self._counts = [part.numel() for part in parts]
        self._turning = linear_function(dynamics, "turning", ca.vertcat(ca.SX(0, 1), *parts))
        self._slips = PlanarSlips(dynamics, guides)
        slips = [s.slip for s in guides.rubbing]
        slips += [s.spin for s in guides.rubbing if s.spin is not None]
        # A released goal holds nothing.
        held = [
            row.chain[-1] if row.hold is None else row.hold * row.chain[-1] for row in dynamics.rows
        ]
        self._held = ca.vertcat(*slips, *held)
        self._all = linear_function(dynamics, "all", self._held)

    @property
    def carried(self) -> ca.SX:
        """The rates of slips and constraints due to time alone."""
        return ca.jacobian(self._held, self.dynamics.t)

    def pushes(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the largest acceleration of each slip by a force on each velocity: (slips, nv)."""
        mass = self.dynamics.matrices(time, x, p)["mass"]
        _, slopes = self._slips.at(time, x, p)
        return np.abs(np.linalg.solve(mass, slopes.T).T)

    @cached_property
    def _held_rates(self) -> ca.Function:
        """(t, x, p) -> rates of slips and constraints without accelerations, and their slopes."""
        dynamics = self.dynamics
        still = ca.SX.zeros(dynamics.velocity_count)
        moved = ca.vertcat(dynamics.position_rates, still)
        rates = ca.jtimes(self._held, dynamics.x, moved) + ca.jacobian(self._held, dynamics.t)
        slopes = ca.jacobian(self._held, dynamics.velocities)
        return dynamics.function("held_rates", rates, slopes)

    def velocities(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray | None:
        """Return the velocities without any slip; None if these are not determined.

        Parameters
        ----------
        time, x, p
            s, (nx,), whose positions are used, and the values.
        """
        carried, scaled = self._nothing_slides(time, x, p)
        if scaled is None:
            return None
        if not np.any(carried):
            return np.zeros(len(scaled.T))
        found: np.ndarray = np.asarray(
            np.linalg.lstsq(scaled, -carried, rcond=STILL)[0], dtype=float
        )
        missed = np.linalg.norm(scaled @ found + carried)
        return found if missed <= STILL * np.linalg.norm(carried) * len(carried) else None

    def is_driven(self, time: float, x: np.ndarray, p: np.ndarray) -> bool:
        """Return whether constraints alone determine the motion in a state, as for a cam."""
        parts = self.dynamics.matrices(time, x, p)
        return rank(parts["jacobian"]) == len(parts["mass"])

    def accelerations(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the accelerations (nv,) with which slips that are zero stay zero."""
        rates, slopes = (np.asarray(part) for part in self._held_rates(time, x, p))
        found: np.ndarray = np.linalg.lstsq(slopes, -rates.ravel(), rcond=STILL)[0]
        return found

    def senses(self, time: float, x: np.ndarray, p: np.ndarray, sign: float) -> dict[str, float]:
        """Return the sense of each slip in the plane for a moving body with one degree of freedom.

        Parameters
        ----------
        time, x, p
            s, (nx,) and the values.
        sign
            +1 or -1: one of the two directions.

        Raises
        ------
        SupportSticks
            The body has more than one degree of freedom.
        """
        rows = self.dynamics.matrices(time, x, p)["jacobian"]
        free = np.asarray(scipy.linalg.null_space(rows)) if len(rows) else np.eye(rows.shape[1])
        if free.shape[1] != 1:
            raise sticks(time, [pair.name for pair in self.guides.pairs])
        direction = sign * free[:, 0]
        moved = self._slips.at(time, x, p)[1] @ direction
        return dict(zip(self._slips.senses, np.where(moved < 0.0, -1.0, 1.0).tolist(), strict=True))

    def _nothing_slides(
        self, time: float, x: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return slips at rest and their normalised slopes; None if the rank is too low."""
        still = x.copy()
        still[self.dynamics.position_count :] = 0.0
        carried, slopes = (np.asarray(part) for part in self._all(time, still, p))
        lengths = np.linalg.norm(slopes, axis=1)
        mass = self.dynamics.matrices(time, x, p)["mass"]
        rows = lengths > 0.0
        plain = slopes[rows] / lengths[rows, None]
        whitened = np.asarray(np.linalg.solve(np.linalg.cholesky(mass), plain.T), dtype=float)
        scaled = whitened.T
        scaled = scaled / np.linalg.norm(scaled, axis=1)[:, None]
        values = singular_values(scaled)
        whole = len(values) == len(mass) and bool(values[-1] > STILL * values[0])
        return carried.ravel()[rows] / lengths[rows], plain if whole else None

    def turned(self, time: float, x: np.ndarray, before: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the values with updated headings of slips that have turned.

        Parameters
        ----------
        time, x, before
            s, (nx,), and the values before.
        p
            The values with the current headings of the slips.

        Raises
        ------
        SupportSticks
            A loaded support no longer slides.
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
                np.linalg.norm(slip) <= STUCK * speed * fastest(slope, mass)
                for slip, slope in parts
            ]
            if not ended[0]:
                continue
            if all(ended) and before[variant] == place:
                raise sticks(time, [name])
            # It slides back to where it came from.
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


def sticks(time: float, names: list[str]) -> SupportSticks:
    """Return the error that supports of these pairs stick."""
    listed = ", ".join(map(repr, names))
    return SupportSticks(
        f"at t = {time:.10g} s the supports of {listed} stop sliding while the body moves on, "
        "and the equations do not include sticking supports; use regularised friction there"
    )


def fastest(slopes: np.ndarray, mass: np.ndarray) -> float:
    """Return the fastest slip of a body with v . M v = 1."""
    if not len(slopes):
        return 0.0
    return float(np.sqrt(np.linalg.norm(slopes @ np.linalg.solve(mass, slopes.T), 2)))
