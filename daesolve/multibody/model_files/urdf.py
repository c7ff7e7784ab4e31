"""What MuJoCo's parser takes differently in a URDF file than the format means it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from daesolve.errors import ModelFileError

LIMITED = "revolute", "prismatic"
"""The types of joints that a range limits."""
MOVING = (*LIMITED, "continuous")
"""The types of joints that another one may mimic."""


def limited_joints(path: Path) -> frozenset[str]:
    """Return the joints whose limits a URDF file gives, one of them or both; another file has none.

    A limit that is not given is 0. MuJoCo ignores a range that ends where it begins, or at one side
    only.

    Parameters
    ----------
    path
        Of a file that `sources` has checked.

    Raises
    ------
    ModelFileError
        Two joints have one name; or one mimics itself, another that does not move or does not
        exist, or in a ring.
    """
    root = ElementTree.parse(path).getroot()
    if root.tag != "robot":
        return frozenset()
    joints: dict[str, ElementTree.Element] = {}
    for joint in root.iterfind("joint"):
        name = joint.get("name", "")
        if name in joints:
            raise ModelFileError(f"two joints of {path} are called {name!r}")
        joints[name] = joint
    _check_mimics(path, joints)
    ranged = {name for name, joint in joints.items() if joint.get("type") in LIMITED}
    ends = {name: joints[name].find("limit") for name in ranged}
    return frozenset(
        name
        for name, limit in ends.items()
        if limit is not None and limit.attrib.keys() & {"lower", "upper"}
    )


def _check_mimics(path: Path, joints: Mapping[str, ElementTree.Element]) -> None:
    moving = {name for name, joint in joints.items() if joint.get("type") in MOVING}
    mimics = {name: joint.find("mimic") for name, joint in joints.items() if name in moving}
    leaders = {name: mimic.get("joint", "") for name, mimic in mimics.items() if mimic is not None}
    for name, leader in leaders.items():
        if leader not in moving:
            what = "does not move" if leader in joints else "does not exist"
            raise ModelFileError(f"the joint {name!r} of {path} mimics {leader!r}, which {what}")
        chain = [name]
        while leader in leaders and leader not in chain:
            chain.append(leader)
            leader = leaders[leader]
        if leader == name:
            ring = " and ".join(map(repr, chain))
            raise ModelFileError(
                f"joints of {path} mimic each other in a ring ({ring}): one of them must lead"
                if len(chain) > 1
                else f"the joint {name!r} of {path} mimics itself"
            )
