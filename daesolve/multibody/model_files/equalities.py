"""Equalities between two bodies or two joints of a model file: connect, weld, joint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.posing.goals import Holonomic
from daesolve.multibody.contribution import Contribution
from daesolve.multibody.joints import Fixed, Spherical
from daesolve.multibody.model_files.assembly import JOINT as JOINT_NAMES
from daesolve.multibody.model_files.assembly import Assembly
from daesolve.multibody.model_files.freedoms import Freedom
from daesolve.multibody.model_files.kinematics import matrix_of
from daesolve.multibody.model_files.left_out import Omissions
from daesolve.multibody.model_files.model import FileEquality, FileModel
from daesolve.multibody.places import Frame

CONNECT, WELD, JOINT = 0, 1, 2
SITES = 6
"""MuJoCo's number of sites, as what an equality is between."""
TURNING = 10
"""Where the numbers of a weld have by how much turns count in it, `torquescale`."""
OFF = 1, 2
"""MuJoCo's bits of constraints and equalities, where they are disabled."""


@dataclass(frozen=True, eq=False)
class JointEquality:
    """A polynomial between the coordinates of two joints, or a joint that is held.

    With x and y their ways from their references, x - (a_0 + a_1 y + ... + a_4 y^4) is zero. Its
    reaction acts on the first joint.

    Parameters
    ----------
    name
        A word.
    first, second
        The joints; the second is None if the first is held.
    coefficients
        a_0 to a_4.
    """

    name: str
    first: Freedom
    second: Freedom | None
    coefficients: np.ndarray

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        held = self.first.place - float(self.first.joint.reference[0])
        if self.second is None:
            held = held - float(self.coefficients[0])
        else:
            way = self.second.place - float(self.second.joint.reference[0])
            follows = ca.SX(0)
            for coefficient in reversed(self.coefficients.tolist()):
                follows = follows * way + coefficient
            held = held - follows
        unit = "N m" if self.first.turns else "N"
        return Contribution(goals=(Holonomic(self.name, held, unit=unit),))


def holding(model: FileModel) -> list[tuple[int, FileEquality]]:
    """Return the equalities that hold, with their numbers."""
    if model.switched_off(*OFF):
        return []
    return [(number, entry) for number, entry in enumerate(model.equalities) if entry.active]


def counted_by_equalities(model: FileModel) -> set[int]:
    """Return the numbers of the joints between which equalities are."""
    return {
        joint
        for _, entry in holding(model)
        if entry.kind == JOINT
        for joint in (entry.first, entry.second)
        if joint >= 0
    }


def add_equalities(assembly: Assembly, omissions: Omissions) -> None:
    """Add the equalities of a model to its mechanism."""
    model = assembly.model
    held = holding(model)
    numbers = {number for number, _ in held}
    for number, entry in enumerate(model.equalities):
        if number not in numbers:
            omissions.add("inactive equalities", entry.name or f"number {number}")
    for number, entry in held:
        if entry.kind not in (CONNECT, WELD, JOINT):
            omissions.add("equalities of tendons and flexes", entry.name or f"number {number}")
            continue
        if entry.kind == JOINT:
            first = assembly.freedoms[entry.first]
            second = assembly.freedoms[entry.second] if entry.second >= 0 else None
            name = assembly.words.word(entry.name, f"{first.name}_equality", JOINT_NAMES)
            assembly.loops.append(JointEquality(name, first, second, entry.data[:5]))
            continue
        places = _places(assembly, entry)
        kind = "connect" if entry.kind == CONNECT else "weld"
        if places[0].body is places[1].body:
            omissions.add("equalities within one body", entry.name or f"number {number}")
            continue
        pair = "_".join(place.body.name for place in places)
        name = assembly.words.word(entry.name, f"{pair}_{kind}", JOINT_NAMES)
        turns = entry.kind == CONNECT or entry.data[TURNING] == 0.0
        made = Spherical if turns else Fixed
        assembly.loops.append(made(name, *places))


def _places(assembly: Assembly, entry: FileEquality) -> tuple[Frame, Frame]:
    """Return the two frames that an equality holds together."""
    data = entry.data
    if entry.between == SITES:
        sites = [assembly.model.sites[number] for number in (entry.first, entry.second)]
        frames = [
            assembly.frame(site.body, site.position, matrix_of(site.rotation)) for site in sites
        ]
        return frames[0], frames[1]
    if entry.kind == CONNECT:
        return (
            assembly.frame(entry.first, data[:3], np.eye(3)),
            assembly.frame(entry.second, data[3:6], np.eye(3)),
        )
    return (
        assembly.frame(entry.first, data[3:6], matrix_of(data[6:10])),
        assembly.frame(entry.second, data[:3], np.eye(3)),
    )
