"""What pairs of supports add to a system: reactions, how they rub, and what to watch.

A support p of a pair k pushes along its normal with t >= 0 and rubs against the slip,

    force = t (n + f tau),  n = J^T normal,  tau = -a J^T V - b spin dspin/dv,

J the derivative of its point's velocity by v, V the slip, and (a, b) the traction of its pad;
a point has a = 1 / |V|, b = 0. Which support is loaded is a discrete value, so that the motion
between two changes is smooth. In the plane so is the sense in which a support slides.

Source: V. V. Nikolskii, Yu. P. Smirnov, "On the forms of the equations of dynamics of a system with
dry friction".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from daesolve.errors import PosingError
from daesolve.events import FALLING, Event, Reset
from daesolve.friction.supports import Support, VariantPair, Vector
from daesolve.goals import Expression
from daesolve.symbols import Parameters, SymbolVector, discrete, reactions, time

SWITCH, AT_REST, JAM, SLOW = "support_switch", "at_rest", "jam", "slow"
"""Events that guides add: another support is loaded, the slip ends, reactions grow without bounds,
and the motion is so slow that it is followed to its end in scaled time."""
SMOOTHING, SLOW_ENERGY = "slip_smoothing", "slow_energy"
"""Values that guides add: the speed below which regularised friction fades, m/s, and the kinetic
energy below which a motion is slow, J."""
SHARP = 1e-150
"""The smoothing of dry friction, m/s: its square is a number still, so that friction without slip
is zero, and not undefined."""
FRICTION_WORK = "friction_work"
"""The output that guides add, J."""


@dataclass(frozen=True, eq=False)
class Rubbing:
    """How one support acts on the velocities.

    Parameters
    ----------
    normal, friction
        n and f tau, columns by velocity.
    slip
        The slip: a scalar along the guide in the plane, three components in space.
    sense
        In the plane: the discrete value that stands for its sign.
    """

    normal: ca.SX
    friction: ca.SX
    slip: ca.SX
    sense: ca.SX | None = None


@dataclass(frozen=True, eq=False)
class Guides:
    """What pairs of supports add to a system, in its symbols.

    Parameters
    ----------
    pairs
        As posed.
    reactions
        N, one for each pair.
    values
        The discrete values: `variant_<pair>` is 1 where the second support is loaded and -1 where
        the first is, `slip_<pair>_<support>` the sense of the slip in the plane; besides those of
        `SMOOTHING` and `SLOW_ENERGY`.
    variants
        The symbols of the former.
    supports
        For each pair the first (None for a unilateral one) and the second support.
    """

    pairs: tuple[VariantPair, ...]
    reactions: SymbolVector
    values: Parameters
    variants: ca.SX
    supports: tuple[tuple[Rubbing | None, Rubbing], ...]

    @property
    def smoothing(self) -> ca.SX:
        """The symbol of `SMOOTHING`."""
        return self.values[SMOOTHING]

    @property
    def planar(self) -> bool:
        """Whether all its supports slide along lines."""
        return all(pair.planar for pair in self.pairs)

    @property
    def force(self) -> ca.SX:
        """The force of the loaded supports, linear in the reactions."""
        total = ca.SX(self.supports[0][1].normal.numel(), 1)
        for k, (first, second) in enumerate(self.supports):
            loaded = (1 + self.variants[k]) / 2 * (second.normal + second.friction)
            if first is not None:
                loaded -= (1 - self.variants[k]) / 2 * (first.normal + first.friction)
            total += loaded * self.reactions.vector[k]
        return total

    def power(self, velocities: ca.SX) -> ca.SX:
        """Return the power of friction, W; never positive."""
        total = ca.SX(0)
        for k, (first, second) in enumerate(self.supports):
            loaded = (1 + self.variants[k]) / 2 * second.friction
            if first is not None:
                loaded -= (1 - self.variants[k]) / 2 * first.friction
            total += self.reactions.vector[k] * ca.dot(loaded, velocities)
        return total

    @property
    def rubbing(self) -> list[Rubbing]:
        """All supports, one after the other."""
        return [support for pair in self.supports for support in pair if support is not None]


def guides(
    pairs: Sequence[VariantPair],
    positions: tuple[ca.SX, ca.SX],
    velocities: ca.SX,
    written: Callable[[Expression], ca.SX],
) -> Guides:
    """Return what pairs add to a system.

    Parameters
    ----------
    pairs
        The pairs.
    positions
        The symbols of the coordinates and of their rates.
    velocities
        v.
    written
        Writes an expression of coordinates and rates in v.

    Raises
    ------
    PosingError
        A pair or a support is posed in a way that has no meaning; it is named.
    """
    _check(pairs)
    slips = [
        f"slip_{pair.name}_{place}"
        for pair in pairs
        if pair.planar
        for place in range(3 - pair.count, 3)
    ]
    names = [f"variant_{pair.name}" for pair in pairs]
    defaults = dict.fromkeys([*names, *slips], 1.0) | {SMOOTHING: SHARP, SLOW_ENERGY: 0.0}
    values = discrete(**defaults)
    found: list[tuple[Rubbing | None, Rubbing]] = []
    for pair in pairs:
        own: list[Rubbing | None] = [None] * (2 - pair.count)
        for place, support in enumerate(pair.supports, 3 - pair.count):
            velocity = written(_velocity(support, *positions))
            if pair.planar:
                sense = values[f"slip_{pair.name}_{place}"]
                own.append(_in_plane(support, velocity, velocities, sense, written))
            else:
                own.append(_in_space(support, velocity, velocities, values[SMOOTHING], written))
        found.append((own[0], own[1]))  # pyright: ignore[reportArgumentType]
    return Guides(
        pairs=tuple(pairs),
        reactions=reactions(**{pair.name: "N" for pair in pairs}).with_symbols(
            {pair.name: pair.reaction for pair in pairs}
        ),
        values=values,
        variants=ca.vertcat(*[values[name] for name in names]),
        supports=tuple(found),
    )


def guide_events(guides: Guides, kinetic: ca.SX) -> list[Event]:
    """Return the events at which supports change, or the motion ends.

    Parameters
    ----------
    guides
        What pairs add.
    kinetic
        The kinetic energy, J.
    """
    variants = [f"variant_{pair.name}" for pair in guides.pairs]

    def other_supports(fired: ca.SX) -> dict[str, ca.SX]:
        return {n: guides.values[n] * (1 - 2 * fired[k]) for k, n in enumerate(variants)}

    loaded = ca.vertsplit(guides.variants * guides.reactions.vector)
    events = [Event(SWITCH, loaded, FALLING, Reset(other_supports))]
    senses = [support.sense for support in guides.rubbing if support.sense is not None]
    if senses:
        slips = [s.sense * s.slip for s in guides.rubbing if s.sense is not None]

        def other_senses(fired: ca.SX) -> dict[str, ca.SX]:
            return {s.name(): s * (1 - 2 * fired[k]) for k, s in enumerate(senses)}

        events.append(Event(AT_REST, slips, FALLING, Reset(other_senses)))
    if not guides.planar:
        events.append(Event(SLOW, kinetic - guides.values[SLOW_ENERGY], FALLING, Reset()))
    return events


def _check(pairs: Sequence[VariantPair]) -> None:
    if isinstance(pairs, str | VariantPair) or not isinstance(pairs, Sequence):
        raise PosingError(f"pairs must be a list of VariantPairs, not {pairs!r}")
    for pair in pairs:
        if not isinstance(pair, VariantPair):
            raise PosingError(f"the pairs contain {pair!r}, which is no VariantPair")
    names = [pair.name for pair in pairs]
    for name in names:
        if names.count(name) > 1:
            raise PosingError(f"two pairs of supports are called {name!r}")


def _velocity(support: Support, coordinates: ca.SX, rates: ca.SX) -> ca.SX:
    if support.velocity is not None:
        return _column(support.velocity)
    assert support.point is not None
    point = _column(support.point)
    return ca.jtimes(point, coordinates, rates) + ca.jtimes(point, time, ca.SX(1))


def _column(entries: Vector) -> ca.SX:
    if isinstance(entries, ca.SX):
        return entries
    return ca.vertcat(*[ca.SX(entry) for entry in entries])


def _in_plane(
    support: Support,
    velocity: ca.SX,
    velocities: ca.SX,
    sense: ca.SX,
    written: Callable[[Expression], ca.SX],
) -> Rubbing:
    normal = written(_column(support.normal))
    tangent = ca.vertcat(normal[1], -normal[0])
    directions = ca.jacobian(velocity, velocities)
    return Rubbing(
        normal=directions.T @ normal,
        friction=-written(support.friction) * sense * (directions.T @ tangent),
        slip=ca.dot(tangent, velocity),
        sense=sense,
    )


def _in_space(
    support: Support,
    velocity: ca.SX,
    velocities: ca.SX,
    smoothing: ca.SX,
    written: Callable[[Expression], ca.SX],
) -> Rubbing:
    normal = written(_column(support.normal))
    slip = velocity - ca.dot(velocity, normal) * normal
    directions = ca.jacobian(slip, velocities)
    squared = ca.sumsqr(slip) + smoothing**2
    if support.pad is None:
        rubbing = directions.T @ slip / ca.sqrt(squared)
    else:
        spin = written(support.spin)  # pyright: ignore[reportArgumentType]
        along, about = support.pad.traction(squared, spin)
        rubbing = along * (directions.T @ slip) + about * spin * ca.gradient(spin, velocities)
    return Rubbing(
        normal=ca.jacobian(velocity, velocities).T @ normal,
        friction=-written(support.friction) * rubbing,
        slip=slip,
    )
