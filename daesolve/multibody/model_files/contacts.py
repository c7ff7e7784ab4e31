"""The contacts of a model file: which geoms may touch, and with which friction.

Which pairs are watched, and how the friction of two geoms is mixed, is MuJoCo's rule. The contacts
are not: these are rigid with Coulomb's friction, or compliant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np

from daesolve.core.posing.symbols import Interval, Parameters, parameters
from daesolve.errors import OutOfRangeError, PosingError, check_names, is_number
from daesolve.multibody.bodies import at_start
from daesolve.multibody.collision import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    HalfSpace,
    Shape,
    ShapeContact,
    TriaxialEllipsoid,
    can_touch,
    contacts_between,
)
from daesolve.multibody.collision.capsule_contact import CapsuleContact
from daesolve.multibody.compliance import ComplianceLaw, HuntCrossley
from daesolve.multibody.friction_laws import RegularisedCoulomb
from daesolve.multibody.model_files.assembly import Assembly
from daesolve.multibody.model_files.contact_reach import Reach
from daesolve.multibody.model_files.hidden_contacts import without_hidden
from daesolve.multibody.model_files.kinematics import matrix_of
from daesolve.multibody.model_files.left_out import Omissions
from daesolve.multibody.model_files.model import FileGeom, FileModel, Mixture
from daesolve.multibody.round_contact import RoundContact
from daesolve.multibody.surfaces import Sphere

ContactKind = Literal["rigid", "compliant", "none"]
"""How geoms touch."""
NO_CONTACTS, NO_PARENTS = 1 | 16, 1024
"""MuJoCo's bits of contacts that are disabled, and of parents that touch their children."""
PLANE = 0
"""MuJoCo's number of a geom that is a plane."""
MOST_CORNERS = 32
"""Corners of a mesh, each of which is a contact with a plane."""
MOST_RIGID = 40
"""Rigid contacts that are prepared with those between bodies that move."""
SLIDING = 3
"""MuJoCo's number of directions of a contact with friction against sliding only."""
CLOSED = Interval(0.0, 1.0)
NO_PARAMETERS = parameters()
STANDARD_GRAVITY = 9.81
SINKS = 1e-3
"""How far the weight of all bodies presses in one compliant contact, m, unless the file says it."""
DISSIPATION = 0.5
"""Of a compliant contact, s/m."""
CREEP = 1e-3
"""The slip at which the friction of a compliant contact is at its limit, m/s."""
OVERLAP = 1e-9
"""m; shapes that are further within each other where the file places them are in no contact."""
ENDS = (
    *("", "gap", "closed", "lost", "sticks", "slips", "reverses", "shares", "sets_out", "flat"),
    *("side", "friction", "friction_1", "friction_2", "slip_1", "slip_2", "state", "margin"),
    *("friction_work", "force", "work", "stuck", "stuck_1", "stuck_2"),
)
"""What is made of the name of a contact."""


def mixed(first: FileGeom, second: FileGeom) -> Mixture:
    """Return what two geoms have in common: of the one with priority, or of both."""
    margin = first.margin + second.margin
    if first.priority != second.priority:
        one = first if first.priority > second.priority else second
        both = (one,)
    else:
        both = (first, second)
    friction = max(float(geom.friction[0]) for geom in both)
    weight = first.mix / (first.mix + second.mix) if first.mix + second.mix > 0.0 else 0.5
    references = [geom.reference for geom in both]
    if len(both) == 1:
        reference = references[0]
    elif min(float(one[0]) for one in references) > 0.0:
        reference = weight * references[0] + (1.0 - weight) * references[1]
    else:
        reference = np.minimum(*references)
    dimension = max(geom.dimension for geom in both)
    return Mixture(dimension, (friction, friction), (reference[0], reference[1]), margin)


def candidates(model: FileModel) -> Iterator[tuple[int, int, Mixture]]:
    """Yield the pairs of geoms that may touch, by number, as MuJoCo would watch them."""
    for first, second, mixture in _watched(model):
        if len(model.overriding):
            margin, *both = model.overriding.tolist()
            friction, reference = (both[0], both[1]), (both[2], both[3])
            mixture = Mixture(mixture.dimension, friction, reference, margin)
        yield first, second, mixture


def _watched(model: FileModel) -> Iterator[tuple[int, int, Mixture]]:
    """Yield the same with what each pair has in common by itself."""
    listed: set[tuple[int, int]] = set()
    for pair in model.pairs:
        first, second = sorted((pair.first, pair.second))
        if (first, second) in listed or _carriers(model, first) == _carriers(model, second):
            continue
        listed.add((first, second))
        friction = float(pair.friction[0]), float(pair.friction[1])
        reference = float(pair.reference[0]), float(pair.reference[1])
        yield first, second, Mixture(pair.dimension, friction, reference, pair.margin)
    excluded = {frozenset(map(int, pair)) for pair in model.excludes}
    parents = model.switched_off(NO_PARENTS)
    for second, other in enumerate(model.geoms):
        for first, one in enumerate(model.geoms[:second]):
            meets = int(one.collides[0]) & int(other.collides[1])
            meets |= int(other.collides[0]) & int(one.collides[1])
            if not meets or (first, second) in listed:
                continue
            if frozenset((one.body, other.body)) in excluded:
                continue
            if _carriers(model, first) == _carriers(model, second):
                continue
            own, its = model.bodies[one.body].root, model.bodies[other.body].root
            if not parents and 0 not in (own, its) and _related(model, own, its):
                continue
            yield first, second, mixed(one, other)


def _carriers(model: FileModel, geom: int) -> int:
    return model.bodies[model.geoms[geom].body].welded


def _related(model: FileModel, first: int, second: int) -> bool:
    """Return whether one body that moves, or that a program moves, is the parent of the other."""
    above = [model.bodies[model.bodies[one].parent].root for one in (first, second)]
    return above[0] == second or above[1] == first


def shape_of(geom: FileGeom) -> Shape | None:
    """Return the shape of a geom; None if it is of a kind that does not touch."""
    sizes = tuple(map(float, geom.size))
    match geom.kind:
        case 0:
            return HalfSpace()
        case 2:
            return Sphere(sizes[0])
        case 3:
            return Capsule(sizes[0], sizes[1])
        case 4:
            return TriaxialEllipsoid(sizes)
        case 5:
            return Cylinder(sizes[0], sizes[1])
        case 6:
            return Box(sizes)
        case 7 if len(geom.vertices):
            return ConvexHull(geom.vertices)
        case _:
            return None


@dataclass(frozen=True, eq=False)
class GeomContacts:
    """How the geoms of a file touch.

    Parameters
    ----------
    kind
        "rigid", "compliant" or "none".
    restitution
        Of rigid contacts.
    compliance
        The law of compliant contacts; None takes it from the file.

    Raises
    ------
    UnknownNameError
        There is no such kind.
    OutOfRangeError
        The restitution is not between 0 and 1.
    PosingError
        The compliance is not a law, or the other arguments do not fit it.
    """

    kind: ContactKind = "rigid"
    restitution: float = 0.0
    compliance: ComplianceLaw | None = None

    def __post_init__(self) -> None:
        check_names("kind of contacts", [self.kind], get_args(ContactKind))
        if not is_number(self.restitution) or not 0.0 <= self.restitution <= 1.0:
            raise OutOfRangeError(
                f"the restitution is {self.restitution!r}, but must be a number from 0 to 1"
            )
        if self.restitution and self.kind != "rigid":
            raise PosingError(
                f'a restitution needs contacts="rigid", not {self.kind!r}: a compliant contact '
                "loses energy by its own law"
            )
        if self.compliance is not None and self.kind != "compliant":
            raise PosingError(f'a compliance needs contacts="compliant", not {self.kind!r}')


@dataclass(frozen=True)
class GeomPair:
    """Two geoms that may touch.

    Parameters
    ----------
    geoms
        Their numbers, that of a plane last.
    title
        What they are called.
    dimension
        1 without friction, 3 with it.
    contacts
        The names of their contacts, of those that others do not always keep open.
    """

    geoms: tuple[int, int]
    title: str
    dimension: int
    contacts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FileContacts:
    """The contacts of a file.

    Parameters
    ----------
    parts
        Of the mechanism.
    parameters
        The restitution, if there are rigid contacts.
    notes
        What is said of them in every run.
    pairs
        The geoms that they are between.
    """

    parts: Sequence[ShapeContact] = ()
    parameters: Parameters = NO_PARAMETERS
    notes: tuple[str, ...] = ()
    pairs: tuple[GeomPair, ...] = ()


def contacts_of(assembly: Assembly, choice: GeomContacts, omissions: Omissions) -> FileContacts:
    """Return the contacts of a file, and name what is left out of them."""
    model = assembly.model
    pairs = [] if model.switched_off(NO_CONTACTS) else [*candidates(model)]
    touching = sorted({number for first, second, _ in pairs for number in (first, second)})
    if choice.kind == "none":
        _leave_out(model, "contacts between geoms", touching, omissions)
        return FileContacts()
    pulling = [number for number in touching if model.geoms[number].pulls]
    _leave_out(model, "adhesion and moving surfaces of geoms", pulling, omissions)
    known = parameters(restitution=(choice.restitution, "", CLOSED))
    reach, shapes = Reach.of(model), [shape_of(geom) for geom in model.geoms]
    laws = _Laws(model, choice)
    parts: list[tuple[ShapeContact, tuple[int, int]]] = []
    mixtures: dict[tuple[int, int], Mixture] = {}
    for first, second, mixture in pairs:
        title = f"{title_of(model, first)} and {title_of(model, second)}"
        own, other = shapes[first], shapes[second]
        if own is None or other is None or not can_touch(own, other):
            omissions.add("contacts between geoms of other kinds", title)
            continue
        if max(_corners(own), _corners(other)) > MOST_CORNERS:
            omissions.add("contacts of meshes with many corners", title)
            continue
        if not reach.meet((first, own), (second, other), mixture.margin):
            continue
        planar = HalfSpace() in (own, other)
        options = laws.options(mixture, known.restitution, planar=planar)
        made = _made(assembly, {first: own, second: other}, mixture, options)
        if _overlap(assembly, made, own, other):
            omissions.add("contacts between geoms that overlap", title)
            continue
        _name_what_is_not_taken(mixture, title, omissions)
        geoms = (second, first) if own == HalfSpace() else (first, second)
        mixtures[geoms] = mixture
        parts += [(one, geoms) for one in made]
    if not parts:
        return FileContacts()
    watched = without_hidden(parts, mixtures, assembly, reach)
    if choice.kind == "rigid":
        watched = _few(watched, omissions)
    return FileContacts(
        watched,
        known if choice.kind == "rigid" else NO_PARAMETERS,
        laws.notes,
        tuple(_pairs(model, parts, watched, mixtures)),
    )


def _pairs(
    model: FileModel,
    parts: Sequence[tuple[ShapeContact, tuple[int, int]]],
    watched: Sequence[ShapeContact],
    mixtures: Mapping[tuple[int, int], Mixture],
) -> Iterator[GeomPair]:
    """Yield the pairs of geoms that touch, also those that others always keep apart."""
    shown = {id(part) for part in watched}
    for geoms, mixture in mixtures.items():
        own = [part for part, pair in parts if pair == geoms]
        names = tuple(part.name for part in own if id(part) in shown)
        if names or not any(isinstance(part, RoundContact) for part in own):
            title = " and ".join(title_of(model, number) for number in geoms)
            yield GeomPair(geoms, title, min(mixture.dimension, SLIDING), names)


def _leave_out(model: FileModel, kind: str, geoms: Sequence[int], omissions: Omissions) -> None:
    if geoms:
        omissions.add(kind, *[title_of(model, number) for number in geoms])


def _few(watched: Sequence[ShapeContact], omissions: Omissions) -> Sequence[ShapeContact]:
    """Return rigid contacts, of too many only those with planes."""
    if len(watched) <= MOST_RIGID:
        return watched
    beside = [part for part in watched if isinstance(part, RoundContact)]
    if beside:
        omissions.add("contacts beside those with planes", *[part.name for part in beside])
    return [part for part in watched if not isinstance(part, RoundContact)]


def _corners(shape: Shape) -> int:
    return len(shape.vertices) if isinstance(shape, ConvexHull) else 0


def _name_what_is_not_taken(mixture: Mixture, title: str, omissions: Omissions) -> None:
    if mixture.dimension > SLIDING:
        omissions.add("friction against torsion and rolling", title)
    if mixture.dimension > 1 and mixture.friction[0] != mixture.friction[1]:
        omissions.add("friction that differs by direction", title)


class _Laws:
    """The options of the contacts of a file, and what is said of them."""

    def __init__(self, model: FileModel, choice: GeomContacts) -> None:
        self._choice = choice
        weight = sum(body.mass for body in model.bodies[1:]) * STANDARD_GRAVITY
        self._usual = HuntCrossley(float(f"{weight / SINKS:.1e}"), 1.0, DISSIPATION)
        self._used: dict[ComplianceLaw, None] = {}

    def options(self, mixture: Mixture, restitution: ca.SX, *, planar: bool) -> dict[str, Any]:
        """Return the options of a contact; `planar` says whether it is with a plane."""
        friction = mixture.friction[0] if mixture.dimension > 1 else 0.0
        if self._choice.kind == "rigid":
            # Places of one body may depend on each other on a plane: contacts with a coefficient,
            # even zero, share loads then.
            rubs = friction if friction or planar else None
            return {"restitution": restitution, "friction": rubs}
        law = self._law(mixture)
        self._used[law] = None
        rubs = RegularisedCoulomb(friction, CREEP) if friction else None
        return {"compliance": law, "friction": rubs}

    def _law(self, mixture: Mixture) -> ComplianceLaw:
        if self._choice.compliance is not None:
            return self._choice.compliance
        if mixture.reference[0] < 0.0:
            return HuntCrossley(-float(mixture.reference[0]), 1.0, DISSIPATION)
        return self._usual

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said of compliant contacts."""
        if not self._used:
            return ()
        laws = ", ".join(map(repr, self._used))
        return (
            f"contacts between geoms are compliant, not MuJoCo's: {laws}; friction grows to its "
            f"limit within a slip of {CREEP:g} m/s",
        )


def _made(
    assembly: Assembly, shapes: Mapping[int, Shape], mixture: Mixture, options: Mapping[str, Any]
) -> Sequence[ShapeContact]:
    """Return the contacts of two geoms, the one that moves first."""
    model = assembly.model
    numbers = sorted(shapes, key=lambda number: _carriers(model, number) == 0)
    named = "_".join(_name_of(model, number) for number in numbers)
    name = assembly.words.word(named, "contact", ENDS)
    placed = [
        (assembly.frame(geom.body, geom.position, matrix_of(geom.rotation)), shapes[number])
        for number, geom in ((number, model.geoms[number]) for number in numbers)
    ]
    return contacts_between(name, *placed, margin=mixture.margin, **options)


def _name_of(model: FileModel, number: int) -> str:
    geom = model.geoms[number]
    if geom.name:
        return geom.name
    if geom.body:
        return model.bodies[geom.body].name or f"body_{geom.body}"
    return "floor" if geom.kind == PLANE else "ground"


def title_of(model: FileModel, number: int) -> str:
    """Return what a geom is called."""
    geom = model.geoms[number]
    body = model.bodies[geom.body].name or f"body {geom.body}"
    return geom.name or f"number {number} of {body}"


def _overlap(
    assembly: Assembly, contacts: Sequence[ShapeContact], first: Shape, second: Shape
) -> bool:
    """Return whether two shapes, neither of them a plane, overlap wherever the file places them.

    A body within a plane is no design: its run is refused, unless it starts elsewhere.
    """
    if isinstance(first, HalfSpace) or isinstance(second, HalfSpace):
        return False
    bodies = [carrier.body for carrier in assembly.carriers.values()]
    gaps = [
        contact.gap_at_start(bodies)
        if isinstance(contact, CapsuleContact)
        else float(at_start(contact.touch.gap, bodies))
        for contact in contacts
    ]
    return min(gaps) < -OVERLAP
