"""What a URDF file contains and MuJoCo's parser, which reads it, passes over without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

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
    "joint": {**ORIGIN, "parent": {}, "child": {}, "axis": {}, "dynamics": {}, "limit": {}},
    **COLOURED,
}
"""The elements that are read."""
ATTRIBUTES = {"dynamics": {"damping", "friction"}, "limit": {"lower", "upper", "effort"}}
"""The attributes of a joint's elements that are read."""
NAMED = {
    "loop_joint": "loop joints",
    "mimic": "joints that mimic others",
    "velocity": "limits of velocities at joints",
}
"""What elements and attributes that are not read are called, if they have a kind of their own."""
OTHERS = "elements that MuJoCo does not read"


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
            if tag == "limit" and _cannot_move(joint, element):
                yield "limits of joints", ""


def _cannot_move(joint: ElementTree.Element, limit: ElementTree.Element) -> bool:
    """Return whether MuJoCo takes limits for none, since they leave no range or one is missing."""
    given = limit.attrib.keys() & {"lower", "upper"}
    if joint.get("type") not in ("revolute", "prismatic") or not given:
        return False
    return len(given) == 1 or float(limit.attrib["lower"]) >= float(limit.attrib["upper"])
