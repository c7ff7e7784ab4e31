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
from typing import ClassVar

import casadi as ca

from daesolve.posing.events import FALLING, RISING, Event, Reset
from daesolve.posing.goals import Expression
from daesolve.posing.supports import Support, VariantPair, Vector
from daesolve.posing.symbols import Parameters, SymbolVector, discrete, reactions, time
from daesolve.posing.value_names import ValueKind

SWITCH, AT_REST, JAM = "support_switch", "at_rest", "jam"
"""Events that guides add: another support is loaded, the slip ends, reactions grow without bounds.
"""
RELEASED = "breaks_loose"
"""What a run writes down where a body that friction held begins to slide."""
SLOW, QUICK, TURNED = "slow", "quick", "slip_turned"
"""In space: the motion is so slow that it is followed to its end in scaled time, it has become so
quick that another speed is slow, a slip has turned by 60 degrees or has come to an end."""
OF_THEIR_OWN = frozenset({SLOW, QUICK, TURNED})
"""Events that are the library's own business, and are not written down."""
SLOW_PART = 1e-4
"""Of the kinetic energy at the start, that of a slow motion."""
QUICKER = 100.0
"""Times the kinetic energy at the start beyond which that of a slow motion is taken anew."""
SMOOTHING, SLOW_ENERGY = "slip_smoothing", "slow_energy"
"""Values that guides add: the speed below which regularised friction fades, m/s, and the kinetic
energy below which a motion is slow, J."""
SHARP = 1e-150
"""The smoothing of dry friction, m/s: its square is a number still, so that friction without slip
is zero, and not undefined."""
FRICTION_WORK = "friction_work"
"""The output that guides add, J."""
SLIDES_AND_SPINS = 3
"""How many velocities a pad rubs against: with no more, nothing moves where it sticks."""


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
        In the plane: the discrete value that holds its sign.
    spin
        Of a pad: the rate of turn about the normal.
    heading
        In space, where it may stick while the body moves on: the discrete values that hold
        the direction in which it slid when that was last taken, (3, 1).
    """

    normal: ca.SX
    friction: ca.SX
    slip: ca.SX
    sense: ca.SX | None = None
    spin: ca.SX | None = None
    heading: ca.SX | None = None


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
    still
        Whether the guides stand still, so that a body of which nothing slides may be at rest.
    """

    pairs: tuple[VariantPair, ...]
    reactions: SymbolVector
    values: Parameters
    variants: ca.SX
    supports: tuple[tuple[Rubbing | None, Rubbing], ...]
    still: bool

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
        """Return the power of friction, W; never positive where the guides stand still."""
        total = ca.SX(0)
        for k, (first, second) in enumerate(self.supports):
            loaded = (1 + self.variants[k]) / 2 * second.friction
            if first is not None:
                loaded -= (1 - self.variants[k]) / 2 * first.friction
            total += self.reactions.vector[k] * ca.dot(loaded, velocities)
        return total

    @property
    def turning(self) -> list[tuple[ca.SX, ca.SX]]:
        """The slips, and the headings, of the supports that have one."""
        return [(s.slip, s.heading) for s in self.rubbing if s.heading is not None]

    @property
    def rubbing(self) -> list[Rubbing]:
        """All supports, one after the other."""
        return [support for pair in self.supports for support in pair if support is not None]


def guides(
    pairs: Sequence[VariantPair],
    positions: tuple[ca.SX, ca.SX],
    velocities: ca.SX,
    freedom: int,
    still: bool,
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
    freedom
        How many of them the constraints leave.
    still
        Whether the constraints do not depend on time.
    written
        Writes an expression of coordinates and rates in v.
    """
    supports = [
        (pair, f"slip_{pair.name}_{place}", support, written(_velocity(support, *positions)))
        for pair in pairs
        for place, support in enumerate(pair.supports, 3 - pair.count)
    ]
    still &= not any(_carried(velocity, velocities) for *_, velocity in supports)
    names = [ValueKind.VARIANT.name_of(pair.name) for pair in pairs]
    defaults = dict.fromkeys(names, 1.0)
    for pair, name, support, _ in supports:
        if pair.planar:
            defaults[name] = 1.0
        elif support.pad is None or freedom > SLIDES_AND_SPINS or not still:
            defaults |= {f"{name}_{axis}": float(axis == "x") for axis in "xyz"}
    values = discrete(**defaults, **{SMOOTHING: SHARP, SLOW_ENERGY: 1.0})
    rubbing: list[Rubbing] = []
    for pair, name, support, velocity in supports:
        if pair.planar:
            rubbing.append(_in_plane(support, velocity, velocities, values[name], written))
            continue
        turns = f"{name}_x" in defaults
        heading = ca.vertcat(*[values[f"{name}_{axis}"] for axis in "xyz"]) if turns else None
        smoothing = values[SMOOTHING]
        rubbing.append(_in_space(support, velocity, velocities, (smoothing, heading), written))
    ordered = iter(rubbing)
    found = tuple((next(ordered) if pair.count == 2 else None, next(ordered)) for pair in pairs)
    return Guides(
        pairs=tuple(pairs),
        reactions=reactions(**{pair.name: "N" for pair in pairs}).with_symbols(
            {pair.name: pair.reaction for pair in pairs}
        ),
        values=values,
        variants=ca.vertcat(*[values[name] for name in names]),
        supports=found,
        still=still,
    )


@dataclass(frozen=True, eq=False)
class _OtherSupports(Reset):
    """Other supports are loaded; until then friction along a straight line is constant."""

    forces_may_be_constant: ClassVar[bool] = True


def guide_events(guides: Guides, kinetic: ca.SX) -> list[Event]:
    """Return the events at which supports change, or the motion ends.

    Parameters
    ----------
    guides
        What pairs add.
    kinetic
        The kinetic energy, J.
    """
    variants = [ValueKind.VARIANT.name_of(pair.name) for pair in guides.pairs]

    def other_supports(fired: ca.SX) -> dict[str, ca.SX]:
        return {n: guides.values[n] * (1 - 2 * fired[k]) for k, n in enumerate(variants)}

    loaded = ca.vertsplit(guides.variants * guides.reactions.vector)
    events = [Event(SWITCH, loaded, FALLING, _OtherSupports(other_supports))]
    senses = [support.sense for support in guides.rubbing if support.sense is not None]
    if senses:
        slips = [s.sense * s.slip for s in guides.rubbing if s.sense is not None]

        def other_senses(fired: ca.SX) -> dict[str, ca.SX]:
            return {s.name(): s * (1 - 2 * fired[k]) for k, s in enumerate(senses)}

        events.append(Event(AT_REST, slips, FALLING, Reset(other_senses)))
    if not guides.planar and guides.still:
        slow = guides.values[SLOW_ENERGY]
        quick = Reset({SLOW_ENERGY: QUICKER * slow})
        # As ratios, so that they are not lost beside other numbers where the motion is slow.
        events.append(Event(SLOW, kinetic / slow - 1.0, FALLING, Reset()))
        events.append(Event(QUICK, kinetic / slow - QUICKER / SLOW_PART, RISING, quick))
    if guides.turning:
        events.append(_turns(guides))
    return events


def _turns(guides: Guides) -> Event:
    """Return the event at which slips have turned by 60 degrees.

    A slip that comes to its end is passed in no time, and friction has the other direction then: no
    function of the state alone would cross zero there, but the part along a heading does.
    """
    turning, smoothing = guides.turning, guides.smoothing
    sizes = [ca.sqrt(ca.sumsqr(slip) + smoothing**2) for slip, _ in turning]

    def headings(fired: ca.SX) -> dict[str, ca.SX]:
        changed: dict[str, ca.SX] = {}
        for k, (slip, heading) in enumerate(turning):
            after = heading + fired[k] * (slip / sizes[k] - heading)
            changed |= {heading[axis].name(): after[axis] for axis in range(3)}
        return changed

    ahead = [
        ca.dot(heading, slip) - size / 2
        for (slip, heading), size in zip(turning, sizes, strict=True)
    ]
    return Event(TURNED, ahead, FALLING, Reset(headings))


def _carried(velocity: ca.SX, velocities: ca.SX) -> bool:
    """Return whether a point has a velocity against its guide while the body is at rest."""
    at_rest = ca.substitute(velocity, velocities, ca.SX.zeros(*velocities.shape))
    return ca.sparsify(ca.simplify(at_rest)).nnz() > 0


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
    values: tuple[ca.SX, ca.SX | None],
    written: Callable[[Expression], ca.SX],
) -> Rubbing:
    smoothing, heading = values
    spin = None if support.spin is None else written(support.spin)
    normal = written(_column(support.normal))
    slip = velocity - ca.dot(velocity, normal) * normal
    directions = ca.jacobian(slip, velocities)
    squared = ca.sumsqr(slip) + smoothing**2
    if support.pad is None or spin is None:
        rubbing = directions.T @ slip / ca.sqrt(squared)
    else:
        along, about = support.pad.traction(squared, spin)
        rubbing = along * (directions.T @ slip) + about * spin * ca.gradient(spin, velocities)
    return Rubbing(
        normal=ca.jacobian(velocity, velocities).T @ normal,
        friction=-written(support.friction) * rubbing,
        slip=slip,
        spin=spin,
        heading=heading,
    )
