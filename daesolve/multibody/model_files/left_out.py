"""What a model file contains and a mechanism does not: it is reported, never dropped silently.

MuJoCo's parser passes over elements and attributes of URDF; they are looked for in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from daesolve.errors import ModelFileError, UnsupportedError
from daesolve.multibody.model_files.model import FileJoint, FileModel

OTHERS = "elements that MuJoCo does not read"
"""What else is passed over in a file."""
MOST_NAMES = 6
"""Names of one kind that a sentence lists."""
EFFECTS = {
    "contacts between geoms": "bodies pass through each other and through the floor",
    "contacts between geoms of other kinds": "they pass through each other",
    "contacts between geoms that overlap": "they pass through each other",
    "contacts of meshes with many corners": "they pass through each other",
    "contacts beside those with planes": (
        "they are too many to be rigid, and pass through each other: make them compliant, or "
        "exclude pairs"
    ),
    "friction against torsion and rolling": "contacts rub only where they slide",
    "adhesion and moving surfaces of geoms": "they do not act",
    "friction that differs by direction": "the first coefficient holds for all",
    "tendons": "their springs, dampers and limits do not act",
    "actuators of other kinds": "they do not act",
    "actuators that are switched off": "they do not act",
    "limits of forces at joints": "no actuator of the file acts there",
    "limits of forces at joints that tendons move": "forces of actuators along tendons exceed them",
    "limits of velocities at joints": "joints move faster",
    "loop joints": "the loops that they close are open",
    "equalities of tendons and flexes": "they do not hold",
    "equalities within one body": "they always hold",
    "inactive equalities": "they do not hold",
    "bodies that a program moves": "they stay where the file places them",
    "the fluid": "bodies move as in empty space",
    "plugins": "they do not act",
    "files that are missing": "what they show is not drawn, and does not touch anything",
    "skins": "they are not drawn",
    "height fields": "they are not drawn",
    OTHERS: "they have no effect",
}
"""The effect of leaving something out, by kind."""
ATTRIBUTES = {"dynamics": {"damping", "friction"}, "limit": {"lower", "upper", "effort"}}
"""The attributes of a joint's elements that are read."""
NAMED = {
    "loop_joint": "loop joints",
    "velocity": "limits of velocities at joints",
}
"""What elements and attributes that are not read are called, if they have a kind of their own."""


@dataclass(frozen=True)
class LeftOut:
    """Something in a file that its mechanism does not have.

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


class Omissions:
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


def add_what_is_not_read(model: FileModel, omissions: Omissions) -> None:
    """List everything that does not become part of the mechanism.

    Raises
    ------
    ModelFileError
        A friction is negative.
    UnsupportedError
        A joint has a spring or a damper of another kind, or there are deformable bodies.
    """
    if model.counts["flex"]:
        raise UnsupportedError(
            "the file has flexes (deformable bodies), which are not supported: without them it "
            "would be a different mechanism"
        )
    _check_motions(model)
    listed = {
        "bodies that a program moves": [(body.name, body.mocap) for body in model.bodies],
    }
    for kind, entries in listed.items():
        found = [name or f"number {n}" for n, (name, there) in enumerate(entries) if there]
        if found:
            omissions.add(kind, *found)
    for kind, names in model.unread.items():
        omissions.add(kind, *names)
    if model.density or model.viscosity:
        omissions.add("the fluid")
    counts = {"plugin": "plugins", "skin": "skins", "hfield": "height fields"}
    for name, kind in counts.items():
        if model.counts[name]:
            omissions.add(kind)
    if model.missing:
        omissions.add("files that are missing", *model.missing)


def _check_motions(model: FileModel) -> None:
    for number, joint in enumerate(model.joints):
        _check_joint(joint, joint.name or f"number {number}")
    for motion in (*model.joints, *(tendon.motion for tendon in model.tendons)):
        if (motion.friction < 0.0).any():
            raise ModelFileError(
                f"the friction of {motion.name!r} is negative, and would drive instead of braking"
            )


def _check_joint(joint: FileJoint, title: str) -> None:
    """Refuse springs and dampers that omitted parts of the model would change."""
    if joint.stiffness and joint.kind in ("ball", "free"):
        raise UnsupportedError(
            f"the joint {title} is a {joint.kind} joint with a spring, which is not supported: "
            "use hinges, or remove the spring"
        )
    if joint.stiffness_more.any() or joint.damping_more.any() or joint.yields:
        raise UnsupportedError(
            f"the joint {title} has a nonlinear or yielding spring or damper, which is not "
            "supported: give one number"
        )


Elements = Mapping[str, "Elements"]
"""Elements within each other."""
ORIGIN: Elements = {"origin": {}}
SHAPES: Elements = {
    "geometry": {"box": {}, "cylinder": {}, "sphere": {}, "capsule": {}, "mesh": {}}
}
COLOURED: Elements = {"material": {"color": {}}}
READ: Elements = {
    "mujoco": {"compiler": {}, "option": {"flag": {}}, "size": {}},
    "link": {
        "inertial": {**ORIGIN, "mass": {}, "inertia": {}},
        "visual": {**ORIGIN, **SHAPES, **COLOURED},
        "collision": {**ORIGIN, **SHAPES},
    },
    "joint": {
        **ORIGIN,
        "parent": {},
        "child": {},
        "axis": {},
        "dynamics": {},
        "limit": {},
        "mimic": {},
    },
    **COLOURED,
}
"""The elements that are read."""


def unread(path: Path) -> Mapping[str, Sequence[str]]:
    """Return the names of what is passed over, by kind; nothing for another kind of file.

    Parameters
    ----------
    path
        Of a file that `sources` has checked.
    """
    root = ElementTree.parse(path).getroot()
    found: dict[str, dict[str, None]] = {}
    if root.tag != "robot":
        return {}
    for kind, name in _passed_over(root, READ, ""):
        found.setdefault(kind, {})[name] = None
    for joint in root.iterfind("joint"):
        name = joint.get("name", "")
        for kind, what in _attributes(joint):
            found.setdefault(kind, {})[f"{what} of {name}" if what else name] = None
    return {kind: tuple(names) for kind, names in found.items()}


def _passed_over(
    element: ElementTree.Element, read: Elements, owner: str
) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each outermost element that is not read."""
    for child in element:
        inner, name = read.get(child.tag), child.get("name", "")
        if inner is not None:
            yield from _passed_over(child, inner, name or owner)
        elif child.tag in NAMED:
            yield NAMED[child.tag], name or owner
        else:
            named = f"{child.tag} {name}" if name else child.tag
            yield OTHERS, named if name or not owner else f"{named} of {owner}"


def _attributes(joint: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yield the kind of each part of a joint's elements that does not act, and what it is."""
    for tag, own in ATTRIBUTES.items():
        for element in joint.iterfind(tag):
            for attribute in (key for key in element.attrib if key not in own):
                kind = NAMED.get(attribute, OTHERS)
                yield kind, "" if kind != OTHERS else f"{tag} {attribute}"
