"""What a model file says and a mechanism does not have: named, and never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daesolve.errors import UnsupportedError
from daesolve.multibody.model_files.model import FileJoint, FileModel

MOST_NAMES = 6
"""Names of one kind that a sentence lists."""
EFFECTS = {
    "contacts between geoms": "bodies pass through each other and through the floor",
    "limits of joints": "joints go on beyond them",
    "tendons": "their springs, dampers and limits do not act",
    "actuators of other kinds": "they do not act",
    "actuators that are switched off": "they do not act",
    "ranges of controls": "inputs act as they are given",
    "ranges of forces": "forces are as large as inputs ask for",
    "limits of forces at joints": "forces are as large as inputs ask for",
    "equalities of tendons and flexes": "they do not hold",
    "equalities within one body": "they hold by themselves",
    "inactive equalities": "they do not hold",
    "bodies that a program moves": "they stand still where the file has them",
    "the fluid": "bodies move as in empty space",
    "plugins": "they do not act",
    "flexes": "they are not there",
    "skins": "they are not drawn",
    "height fields": "they are not drawn",
    "pairs of geoms": "they do not touch",
    "the constraint solver being off": "constraints hold all the same",
}
"""By the kind of what is left out, what follows."""


@dataclass(frozen=True)
class LeftOut:
    """Something that a file has and its mechanism has not.

    Parameters
    ----------
    kind
        What it is, in the plural.
    names
        Which, as far as they have names.
    effect
        What follows.
    """

    kind: str
    names: tuple[str, ...]
    effect: str

    def __str__(self) -> str:
        listed = ", ".join(self.names[:MOST_NAMES])
        more = len(self.names) - MOST_NAMES
        listed += f" and {more} more" if more > 0 else ""
        named = f" ({listed})" if self.names else ""
        return f"left out of the file: {self.kind}{named}; {self.effect}"


class Left:
    """What is left out, as it is found."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def add(self, kind: str, *names: str) -> None:
        """Leave something out, one of `EFFECTS`."""
        self._names.setdefault(kind, []).extend(names)

    @property
    def all(self) -> tuple[LeftOut, ...]:
        """All of it, by kind."""
        return tuple(
            LeftOut(kind, tuple(self._names[kind]), effect)
            for kind, effect in EFFECTS.items()
            if kind in self._names
        )


def add_what_is_not_read(model: FileModel, left: Left) -> None:
    """Name what no part of a mechanism is made of.

    Raises
    ------
    UnsupportedError
        A joint has a spring or a damper of another kind.
    """
    for number, joint in enumerate(model.joints):
        title = joint.name or f"number {number}"
        _check_joint(joint, title)
        if joint.limited and not model.switched_off(1, 8):
            left.add("limits of joints", title)
        if joint.force_limited:
            left.add("limits of forces at joints", title)
    left_geoms = _touching(model)
    if left_geoms and not model.switched_off(1, 16):
        left.add("contacts between geoms", *left_geoms)
    for number, tendon in enumerate(model.tendons):
        if tendon.acts:
            left.add("tendons", tendon.name or f"number {number}")
    for number, body in enumerate(model.bodies):
        if body.mocap:
            left.add("bodies that a program moves", body.name or f"number {number}")
    if model.density or model.viscosity:
        left.add("the fluid")
    counts = {"flex": "flexes", "plugin": "plugins", "skin": "skins", "hfield": "height fields"}
    for name, kind in counts.items():
        if model.counts[name]:
            left.add(kind)
    if model.counts["pair"] and not model.switched_off(1, 16):
        left.add("pairs of geoms")


def _check_joint(joint: FileJoint, title: str) -> None:
    """Refuse springs and dampers that would be other ones without what is not taken."""
    if joint.stiffness and joint.kind in ("ball", "free"):
        raise UnsupportedError(
            f"the joint {title} is a {joint.kind} joint with a spring, which is not taken: give it "
            "hinges, or take the spring out"
        )
    if joint.stiffness_more.any() or joint.damping_more.any() or joint.yields:
        raise UnsupportedError(
            f"the joint {title} has a spring or a damper that is not linear, or yields, which is "
            "not taken: give it one number"
        )


def _touching(model: FileModel) -> Sequence[str]:
    """Return the names of the geoms that may touch another one of another body."""
    found: list[str] = []
    for number, geom in enumerate(model.geoms):
        own = model.bodies[geom.body].welded
        kind, affinity = (int(bits) for bits in geom.collides)
        for other in model.geoms:
            if model.bodies[other.body].welded == own:
                continue
            if kind & int(other.collides[1]) or int(other.collides[0]) & affinity:
                body = model.bodies[geom.body].name or f"body {geom.body}"
                found.append(geom.name or f"number {number} of {body}")
                break
    return found
