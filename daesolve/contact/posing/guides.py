"""The parts that pairs of supports add to a system: reactions, friction and events.

A support p of a pair k pushes along its normal with t >= 0 and rubs against the slip,

    force = t (n + f tau),  n = J^T normal,  tau = -a J^T V - b spin dspin/dv,

where J is the derivative of the velocity of its point by v, V the slip, and (a, b) the traction of
its pad; a point has a = 1 / |V|, b = 0. A discrete value holds which support is loaded, so the
motion between two changes is smooth. In the plane, another holds the sense in which a support
slides.

Source: V. V. Nikolskii, Yu. P. Smirnov, "On the forms of the equations of dynamics of a system with
dry friction".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca

from daesolve.contact.posing.guided_brakes import GuidedBrake
from daesolve.contact.posing.supports import Support, VariantPair, Vector
from daesolve.core.equations.additions import Addition
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.posing.events import AT_REST, FALLING, RISING, Event, Reset
from daesolve.core.posing.goals import Expression
from daesolve.core.posing.symbols import Parameters, SymbolVector, discrete, reactions, time
from daesolve.core.posing.value_names import ValueKind

SWITCH = "support_switch"
"""The event that guides add, besides `AT_REST`, where another support is loaded."""
RELEASED = "breaks_loose"
"""The name under which a run records that a body held by friction begins to slide."""
SLOW, QUICK, TURNED = "slow", "quick", "slip_turned"
"""Events in space: the motion is slow enough to follow to its end in scaled time; it has become
so fast that another speed counts as slow; a slip has turned by 60 degrees or has ended."""
LET_GO = "laws_let_go"
"""The event in the plane at which a body at rest has been set in motion at once, and laws of
friction with its supports bear less."""
OF_THEIR_OWN = frozenset({SLOW, QUICK, TURNED, LET_GO})
"""Internal events of the library, which runs do not list."""
SLOW_PART = 1e-4
"""The energy of a slow motion as a fraction of the kinetic energy at the start."""
QUICKER = 100.0
"""The factor over the kinetic energy at the start beyond which the energy of a slow motion is
updated."""
SMOOTHING, SLOW_ENERGY = "slip_smoothing", "slow_energy"
"""Values that guides add: the speed below which regularised friction fades, m/s, and the kinetic
energy below which a motion is slow, J."""
SHARP = 1e-150
"""The smoothing of dry friction, m/s. Its square is still a number, so friction without slip is
zero instead of undefined."""
FRICTION_WORK = "friction_work"
"""The output that guides add, J."""
SLIDES_AND_SPINS = 3
"""The number of velocities that a pad resists; if there are no more, nothing moves while it
sticks."""


@dataclass(frozen=True, eq=False)
class SupportAction:
    """The action of one support on the velocities.

    Parameters
    ----------
    normal, friction
        n and f tau, columns in the order of the velocities.
    slip
        The slip: in the plane a scalar along the guide, in space three components.
    sense
        In the plane: the discrete value that holds the sign of the slip.
    spin
        The rate of turn of a pad about the normal.
    heading
        In space, if it may stick while the body moves on: the discrete values that hold the
        direction of its slip when last updated, (3, 1).
    """

    normal: ca.SX
    friction: ca.SX
    slip: ca.SX
    sense: ca.SX | None = None
    spin: ca.SX | None = None
    heading: ca.SX | None = None


@dataclass(frozen=True, eq=False)
class Guides(Addition):
    """The parts that pairs of supports add to a system, in the symbols of the system.

    Parameters
    ----------
    pairs
        The pairs as posed.
    reactions
        N, one for each pair.
    values
        The discrete values: `variant_<pair>` is 1 if the second support is loaded and -1 if the
        first is; `slip_<pair>_<support>` is the sense of the slip in the plane. The values of
        `SMOOTHING` and `SLOW_ENERGY` are added.
    variants
        The symbols of `variant_<pair>`.
    supports
        The first support (None for a unilateral pair) and the second support of each pair.
    still
        Whether the guides are fixed, so that the body can be at rest when nothing slides.
    brakes
        Laws of friction that slide and rest with the supports in the plane.
    """

    pairs: tuple[VariantPair, ...]
    reactions: SymbolVector
    values: Parameters
    variants: ca.SX
    supports: tuple[tuple[SupportAction | None, SupportAction], ...]
    still: bool
    brakes: tuple[GuidedBrake, ...] = ()
    hidden_events: ClassVar[Collection[str]] = OF_THEIR_OWN
    recorded_events: ClassVar[Collection[str]] = (AT_REST,)
    options: ClassVar[Collection[str]] = ("variant_policy",)
    needs_own_units: ClassVar[bool] = True
    whole_motions: ClassVar[str] = (
        "pairs of supports, because a body coming to rest between them is integrated in one piece; "
        "use solve, or contacts with friction"
    )

    @property
    def added_values(self) -> tuple[str, ...]:
        """The names of its discrete values."""
        return self.values.names

    @property
    def expressions(self) -> list[ca.SX]:
        """The normals and the friction of its supports."""
        return [part for support in self.rubbing for part in (support.normal, support.friction)]

    def faded_values(self, speed: float) -> dict[str, float]:
        """Return the values of a run whose friction fades below a slip, m/s."""
        return {SMOOTHING: speed}

    def faded(self, dynamics: Dynamics) -> Dynamics:
        """Return the equations without a stop, with smooth slip directions in the plane."""
        faded = [(sense, slip / ca.sqrt(slip**2 + self.smoothing**2)) for slip, sense in self.lines]
        senses = ca.vertcat(ca.SX(0, 1), *[sense for sense, _ in faded])
        smooth = ca.vertcat(ca.SX(0, 1), *[slip for _, slip in faded])

        def written(expression: ca.SX) -> ca.SX:
            return ca.substitute(expression, senses, smooth)

        never = {AT_REST, *OF_THEIR_OWN}
        return replace(
            dynamics,
            force=written(dynamics.force) if self.brakes else dynamics.force,
            influence=written(dynamics.influence),
            events=tuple(
                replace(
                    event, guard=(-1.0 if event.name == LET_GO else 1.0) * ca.SX.ones(event.count)
                )
                if event.name in never
                else replace(event, guard=written(event.guards))
                for event in dynamics.events
            ),
            outputs={name: written(value) for name, value in dynamics.outputs.items()},
            recovered={name: written(value) for name, value in dynamics.recovered.items()},
            meters={
                name: (written(power), unit) for name, (power, unit) in dynamics.meters.items()
            },
        )

    @property
    def smoothing(self) -> ca.SX:
        """The symbol of `SMOOTHING`."""
        return self.values[SMOOTHING]

    @property
    def planar(self) -> bool:
        """Whether all supports slide along lines."""
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
        """Return the power of friction, W; never positive if the guides are fixed."""
        total = ca.SX(0)
        for k, (first, second) in enumerate(self.supports):
            loaded = (1 + self.variants[k]) / 2 * second.friction
            if first is not None:
                loaded -= (1 - self.variants[k]) / 2 * first.friction
            total += self.reactions.vector[k] * ca.dot(loaded, velocities)
        return total

    @property
    def turning(self) -> list[tuple[ca.SX, ca.SX]]:
        """The slips and the headings of the supports that have a heading."""
        return [(s.slip, s.heading) for s in self.rubbing if s.heading is not None]

    @property
    def lines(self) -> list[tuple[ca.SX, ca.SX]]:
        """The slips along lines, of supports and of laws with them, and what holds their senses."""
        own = [(s.slip, s.sense) for s in self.rubbing if s.sense is not None]
        return [*own, *((brake.slip, brake.sense) for brake in self.brakes)]

    @property
    def rubbing(self) -> list[SupportAction]:
        """All supports in order."""
        return [support for pair in self.supports for support in pair if support is not None]


def guides_in(dynamics: Dynamics) -> Guides | None:
    """Return the guides of a system; None if it has no pairs of supports."""
    return next((part for part in dynamics.additions if isinstance(part, Guides)), None)


def the_guides(dynamics: Dynamics) -> Guides:
    """Return the guides of a system with pairs of supports."""
    found = guides_in(dynamics)
    assert found is not None
    return found


def guides(
    pairs: Sequence[VariantPair],
    positions: tuple[ca.SX, ca.SX],
    velocities: ca.SX,
    freedom: int,
    still: bool,
    written: Callable[[Expression], ca.SX],
    brakes: Sequence[GuidedBrake] = (),
) -> Guides:
    """Return the parts that pairs add to a system.

    Parameters
    ----------
    pairs
        The pairs.
    positions
        The symbols of the coordinates and of their rates.
    velocities
        v.
    freedom
        The number of velocities that the constraints leave free.
    still
        Whether the constraints are independent of time.
    written
        Writes an expression of coordinates and rates in terms of v.
    brakes
        Laws of friction that slide and rest with the supports.
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
    rubbing: list[SupportAction] = []
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
        brakes=tuple(replace(brake, slip=written(brake.slip)) for brake in brakes),
    )


@dataclass(frozen=True, eq=False)
class _QuickerMotion(Reset):
    """Another energy counts as slow."""

    changes_no_motion: ClassVar[bool] = True


def guide_events(guides: Guides, kinetic: ca.SX) -> list[Event]:
    """Return the events at which the loaded supports change or the motion ends.

    Parameters
    ----------
    guides
        The parts that pairs add.
    kinetic
        The kinetic energy, J.
    """
    variants = [ValueKind.VARIANT.name_of(pair.name) for pair in guides.pairs]

    def other_supports(fired: ca.SX) -> dict[str, ca.SX]:
        return {n: guides.values[n] * (1 - 2 * fired[k]) for k, n in enumerate(variants)}

    loaded = ca.vertsplit(guides.variants * guides.reactions.vector)
    events = [Event(SWITCH, loaded, FALLING, Reset(other_supports))]
    senses = [sense for _, sense in guides.lines]
    if senses:
        slips = [sense * slip for slip, sense in guides.lines]

        def other_senses(fired: ca.SX) -> dict[str, ca.SX]:
            return {s.name(): s * (1 - 2 * fired[k]) for k, s in enumerate(senses)}

        events.append(Event(AT_REST, slips, FALLING, Reset(other_senses)))
    if guides.brakes:
        beyond = [
            brake.rests * (brake.slip**2 - brake.still**2) / (brake.slip**2 + brake.still**2)
            - (1.0 - brake.rests)
            for brake in guides.brakes
        ]
        free = Reset({brake.rests.name(): 0.0 for brake in guides.brakes}, whenever_past=True)
        events.append(Event(LET_GO, beyond, RISING, free, listed=False))
    if not guides.planar and guides.still:
        slow = guides.values[SLOW_ENERGY]
        quick = _QuickerMotion({SLOW_ENERGY: QUICKER * slow})
        # Ratios, so that rounding does not hide them when the motion is slow.
        events.append(Event(SLOW, kinetic / slow - 1.0, FALLING, Reset()))
        events.append(Event(QUICK, kinetic / slow - QUICKER / SLOW_PART, RISING, quick))
    if guides.turning:
        events.append(_turns(guides))
    return events


def _turns(guides: Guides) -> Event:
    """Return the event at which slips have turned by 60 degrees.

    A slip passes through zero in an instant, and friction then reverses. No function of the state
    alone crosses zero there, but the component along a heading does.
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
    """Return whether a point moves against its guide while the body is at rest."""
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
) -> SupportAction:
    normal = written(_column(support.normal))
    tangent = ca.vertcat(normal[1], -normal[0])
    directions = ca.jacobian(velocity, velocities)
    return SupportAction(
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
) -> SupportAction:
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
    return SupportAction(
        normal=ca.jacobian(velocity, velocities).T @ normal,
        friction=-written(support.friction) * rubbing,
        slip=slip,
        spin=spin,
        heading=heading,
    )
