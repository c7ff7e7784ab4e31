"""Tendons of a model file: sums of places of joints, or lengths along sites and over pulleys.

Along each acts what may act along a joint: a spring, which is slack in a range of lengths, a
damper, friction, an inertia, limits and actuators.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.multibody.model_files.assembly import TENDON, Assembly
from daesolve.multibody.model_files.freedoms import Freedom
from daesolve.multibody.model_files.kinematics import matrix_of
from daesolve.multibody.model_files.left_out import Omissions
from daesolve.multibody.model_files.model import FileModel, FileTendon
from daesolve.multibody.places import Frame

JOINT, PULLEY, SITE = 1, 2, 3
"""MuJoCo's numbers of what a tendon runs over."""
TRANSMISSION = 3
"""MuJoCo's number of actuators that act on tendons."""


def is_taken(model: FileModel, tendon: FileTendon) -> bool:
    """Return whether a tendon runs over nothing but joints, or sites and pulleys."""
    kinds = {int(kind) for kind in tendon.kinds}
    moves = all(
        model.joints[int(joint)].kind in ("hinge", "slide")
        for joint, kind in zip(tendon.over, tendon.kinds, strict=True)
        if kind == JOINT
    )
    simple = not (tendon.motion.stiffness_more.any() or tendon.motion.damping_more.any())
    return simple and moves and (kinds == {JOINT} or kinds <= {SITE, PULLEY})


def _acting(model: FileModel) -> list[tuple[int, FileTendon]]:
    """Return the tendons that act, or on which actuators do, with their numbers."""
    driven = {entry.target for entry in model.actuators if entry.transmission == TRANSMISSION}
    return [
        (number, tendon)
        for number, tendon in enumerate(model.tendons)
        if tendon.acts or number in driven
    ]


def counted_by_tendons(model: FileModel) -> set[int]:
    """Return the numbers of the joints of whose places tendons are sums."""
    return {
        int(joint)
        for _, tendon in _acting(model)
        for joint, kind in zip(tendon.over, tendon.kinds, strict=True)
        if kind == JOINT
    }


def add_tendons(assembly: Assembly, omissions: Omissions) -> None:
    """Add the tendons of a model to its mechanism."""
    for number, tendon in _acting(assembly.model):
        if not is_taken(assembly.model, tendon):
            if tendon.acts:
                omissions.add("tendons", tendon.name or f"number {number}")
            continue
        name = assembly.words.word(tendon.name, f"tendon_{number}", TENDON)
        length, rate = (_sum if tendon.motion.kind == "sum" else _path)(assembly, tendon)
        assembly.tendons[number] = Freedom(name, tendon.motion, [rate], way=length)


def _sum(assembly: Assembly, tendon: FileTendon) -> tuple[ca.SX, ca.SX]:
    """Return the sum of places of joints, and its rate."""
    length, rate = ca.SX(0), ca.SX(0)
    for joint, factor in zip(tendon.over, tendon.numbers, strict=True):
        freedom = assembly.freedoms[int(joint)]
        length = length + float(factor) * freedom.place
        rate = rate + float(factor) * freedom.rates[0]
    return length, rate


def _path(assembly: Assembly, tendon: FileTendon) -> tuple[ca.SX, ca.SX]:
    """Return the length of a way along sites, and its rate; pulleys divide what follows."""
    length, rate, divisor = ca.SX(0), ca.SX(0), 1.0
    before: tuple[int, np.ndarray, Frame] | None = None
    for kind, over, number in zip(tendon.kinds, tendon.over, tendon.numbers, strict=True):
        if kind == PULLEY:
            before, divisor = None, float(number)
            continue
        here = _site(assembly, int(over))
        if before is not None and before[0] == here[0]:
            length = length + float(np.linalg.norm(here[1] - before[1])) / divisor
        elif before is not None:
            way = here[2].position - before[2].position
            distance = ca.norm_2(way)
            length = length + distance / divisor
            speed = ca.dot(way, here[2].velocity - before[2].velocity) / distance
            rate = rate + speed / divisor
        before = here
    return length, rate


def _site(assembly: Assembly, number: int) -> tuple[int, np.ndarray, Frame]:
    """Return what a site moves with, its place there, and its frame."""
    site = assembly.model.sites[number]
    place, own = assembly.relative[site.body]
    frame = assembly.frame(site.body, site.position, matrix_of(site.rotation))
    return assembly.model.bodies[site.body].welded, place + own @ site.position, frame
