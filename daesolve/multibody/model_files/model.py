"""A compiled model file: bodies, joints, equalities and actuators by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

Kind = Literal["free", "ball", "slide", "hinge", "tendon", "sum"]
"""The kinds of joints, and those of tendons: along sites, or sums of the places of joints."""


@dataclass(frozen=True, eq=False)
class _Entry:
    """Anything that is read by the names of its fields; lists become arrays."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return it from plain data."""
        return cls(**{entry.name: _plain(given[entry.name]) for entry in fields(cls)})


def _plain(value: Any) -> Any:
    return np.array(value, dtype=float) if isinstance(value, list) else value  # pyright: ignore


@dataclass(frozen=True, eq=False)
class FileBody(_Entry):
    """A body: its frame in that of its parent, and its inertia about its mass centre.

    Parameters
    ----------
    parent, welded, root
        Numbers of bodies: of the parent, of the outermost one without a joint between, or the
        ground where a program moves that, and of that one anyway.
    position, rotation
        Of its frame in the parent's, m, and a quaternion.
    mass, centre, axes, moments
        kg; the mass centre, m, and the axes of inertia, a quaternion, in its frame; kg m^2.
    weightless
        Which part of its weight is taken off it.
    mocap
        Whether a program moves it.
    """

    name: str
    parent: int
    welded: int
    root: int
    position: np.ndarray
    rotation: np.ndarray
    mass: float
    centre: np.ndarray
    axes: np.ndarray
    moments: np.ndarray
    weightless: float
    mocap: bool


@dataclass(frozen=True, eq=False)
class FileJoint(_Entry):
    """A joint of a body with its parent; several of one body follow each other.

    Parameters
    ----------
    position, axis
        In the frame of its body, where all joints of it are at their reference.
    place, rate
        Where its entries in qpos and in qvel begin.
    reference, slack
        Its qpos where nothing is moved, and where its spring is slack.
    stiffness, damping, armature, friction
        N m/rad or N/m; the others by component.
    stiffness_more, damping_more
        Coefficients of higher powers.
    yields, limited, force_limited
        Whether its spring yields, and whether there are limits of it and of its actuators.
    range, margin
        Of its motion, rad or m, and how much of it is left out at both ends.
    force_range
        Of the sum of its actuators, N or N m.
    lifts
        Whether its actuators take weight off bodies.
    """

    name: str
    kind: Kind
    body: int
    position: np.ndarray
    axis: np.ndarray
    place: int
    rate: int
    reference: np.ndarray
    slack: np.ndarray
    stiffness: float
    stiffness_more: np.ndarray
    yields: bool
    limited: bool
    range: np.ndarray
    margin: float
    force_limited: bool
    force_range: np.ndarray
    lifts: bool
    damping: np.ndarray
    damping_more: np.ndarray
    armature: np.ndarray
    friction: np.ndarray


@dataclass(frozen=True, eq=False)
class FileEquality(_Entry):
    """What holds two bodies or two joints together.

    Parameters
    ----------
    kind, between
        MuJoCo's numbers of the kind and of what it is between.
    first, second
        The numbers of these.
    active, data
        Whether it holds at the start, and its numbers.
    """

    name: str
    kind: int
    between: int
    first: int
    second: int
    active: bool
    data: np.ndarray


@dataclass(frozen=True, eq=False)
class FileActuator(_Entry):
    """What drives a joint, or something else.

    Parameters
    ----------
    transmission, target, gear
        MuJoCo's number of what it acts on, which one that is, and by how much.
    gain_kind, gain, bias_kind, bias
        Its force is gain . (1, length, velocity) times the control, plus bias . the same.
    dynamics, controls, control, delay, plugin
        Of its control: how it gets to the force, how many there are, which the first is.
    control_limited, control_range, force_limited, force_range
        Whether there are bounds, and which.
    damping, damping_more, armature
        What it adds to the joint, before its gear.
    group
        By which it may be switched off.
    """

    name: str
    transmission: int
    target: int
    gear: np.ndarray
    gain_kind: int
    gain: np.ndarray
    bias_kind: int
    bias: np.ndarray
    dynamics: int
    controls: int
    control: int
    control_limited: bool
    control_range: np.ndarray
    force_limited: bool
    force_range: np.ndarray
    damping: float
    damping_more: np.ndarray
    armature: float
    delay: float
    plugin: int
    group: int


@dataclass(frozen=True, eq=False)
class FilePlace(_Entry):
    """A site: a frame of a body."""

    name: str
    body: int
    position: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True, eq=False)
class FileGeom(_Entry):
    """The appearance of a body, and the shape with which it touches others.

    Parameters
    ----------
    kind, size
        MuJoCo's number of its kind; half its lengths, m.
    box
        The middle of the box about it and half the lengths of that, m.
    collides
        Its bits, of what touches and of what is touched.
    group
        As viewers show it or not.
    priority, friction, dimension, mix, reference, margin
        Of contacts: whose values count, Coulomb's coefficient and those of torsion and of rolling,
        MuJoCo's number of directions, the weight in a mean, solref, and the distance that is kept.
    vertices
        Of the convex hull of a mesh, m.
    pulls
        Whether it adheres to others, or its surface moves like a belt.
    """

    name: str
    body: int
    position: np.ndarray
    rotation: np.ndarray
    kind: int
    size: np.ndarray
    box: np.ndarray
    collides: np.ndarray
    group: int
    priority: int
    friction: np.ndarray
    dimension: int
    mix: float
    reference: np.ndarray
    margin: float
    vertices: np.ndarray
    pulls: bool


@dataclass(frozen=True, eq=False)
class FilePair(_Entry):
    """Two geoms, by number, that touch whatever else is said of them, with contacts of their own.

    The other fields are those of a `FileGeom`; the friction is that along two directions first.
    """

    first: int
    second: int
    dimension: int
    friction: np.ndarray
    reference: np.ndarray
    margin: float


@dataclass(frozen=True)
class Mixture:
    """What two geoms that touch have in common.

    Parameters
    ----------
    dimension
        1 without friction, 3 with it; 4 and 6 also with friction against torsion and rolling.
    friction
        Coulomb's coefficients along two directions.
    reference
        solref.
    margin
        The distance that is kept, m.
    """

    dimension: int
    friction: tuple[float, float]
    reference: tuple[float, float]
    margin: float

    @property
    def rubs(self) -> tuple[float, ...]:
        """What of it counts where contacts slide."""
        return self.friction if self.dimension > 1 else ()


@dataclass(frozen=True, eq=False)
class FileKey(_Entry):
    """A start by a name."""

    name: str
    time: float
    qpos: np.ndarray
    qvel: np.ndarray
    ctrl: np.ndarray


@dataclass(frozen=True, eq=False)
class FileTendon(_Entry):
    """A tendon.

    Parameters
    ----------
    acts
        Whether it is a spring, damps, rubs, is heavy or limited.
    motion
        What acts along it; `slack` is the range of lengths in which its spring is.
    kinds, over, numbers
        MuJoCo's numbers of the kinds of what it runs over, which ones these are, and a coefficient
        or divisor of each.
    """

    name: str
    acts: bool
    motion: FileJoint
    kinds: np.ndarray
    over: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return it from plain data."""
        return super().of({**given, "motion": FileJoint.of(given["motion"])})


@dataclass(frozen=True, eq=False)
class FileModel:
    """A compiled model.

    Parameters
    ----------
    gravity
        m/s^2, (3,).
    density, viscosity, wind, disabled
        Of the medium, and MuJoCo's bits of what is switched off.
    overriding
        Margin, two coefficients of friction and solref that hold for all contacts; empty where
        each has its own.
    idle
        The bits of the groups of actuators that are switched off.
    qpos0
        The coordinates where nothing is moved.
    bodies
        The first is the ground, and a parent comes before its children.
    joints, equalities, actuators, sites, geoms, tendons, keys
        In the order of the file.
    pairs, excludes
        Pairs of geoms that touch, and the numbers of bodies that do not.
    counts
        How many there are of each kind that is not read.
    missing
        The names of missing files that are not needed.
    unread
        The names of what the parser passes over, by kind.
    """

    gravity: np.ndarray
    density: float
    viscosity: float
    wind: np.ndarray
    disabled: int
    overriding: np.ndarray
    idle: int
    qpos0: np.ndarray
    bodies: Sequence[FileBody]
    joints: Sequence[FileJoint]
    equalities: Sequence[FileEquality]
    actuators: Sequence[FileActuator]
    sites: Sequence[FilePlace]
    geoms: Sequence[FileGeom]
    tendons: Sequence[FileTendon]
    keys: Sequence[FileKey]
    pairs: Sequence[FilePair]
    excludes: np.ndarray
    counts: Mapping[str, int]
    missing: Sequence[str]
    unread: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return it from plain data, as printed by the process that compiled it."""
        kinds: dict[str, type[_Entry]] = {
            "bodies": FileBody,
            "joints": FileJoint,
            "equalities": FileEquality,
            "actuators": FileActuator,
            "sites": FilePlace,
            "geoms": FileGeom,
            "tendons": FileTendon,
            "keys": FileKey,
            "pairs": FilePair,
        }
        found: dict[str, Any] = {
            name: tuple(kind.of(entry) for entry in given[name]) for name, kind in kinds.items()
        }
        others = [entry.name for entry in fields(cls) if entry.name not in kinds]
        for name in others:
            found[name] = tuple(given[name]) if name == "missing" else _plain(given[name])
        return cls(**found)

    def switched_off(self, *bits: int) -> bool:
        """Return whether one of MuJoCo's bits, by which parts of a model are disabled, is set."""
        return any(self.disabled & bit for bit in bits)

    @property
    def rates(self) -> int:
        """How many velocities there are."""
        return sum(len(joint.damping) for joint in self.joints)

    @cached_property
    def _joints_by_body(self) -> Mapping[int, list[FileJoint]]:
        found: dict[int, list[FileJoint]] = {}
        for joint in self.joints:
            found.setdefault(joint.body, []).append(joint)
        return found

    def joints_of(self, body: int) -> list[FileJoint]:
        """Return the joints of a body, from its parent outwards."""
        return self._joints_by_body.get(body, [])

    def line_to_ground(self, body: int) -> list[int]:
        """Return a body and those that carry it, inwards to the ground."""
        line = [body]
        while line[-1]:
            line.append(self.bodies[line[-1]].parent)
        return line

    @cached_property
    def welded_to(self) -> Mapping[int, list[int]]:
        """The numbers of the bodies that are welded to each outermost one, that one first."""
        found: dict[int, list[int]] = {}
        for number, body in enumerate(self.bodies):
            found.setdefault(body.welded, []).append(number)
        return found


def with_motions(model: FileModel, change: Callable[[FileJoint], FileJoint]) -> FileModel:
    """Return a model whose joints, and what acts along tendons, are changed."""
    tendons = [replace(tendon, motion=change(tendon.motion)) for tendon in model.tendons]
    return replace(model, joints=tuple(map(change, model.joints)), tendons=tendons)
