"""The tree of a mechanism: which joints lead outwards, and to which bodies.

If elimination goes from the outermost bodies inwards, its cost is proportional to the number of
bodies: each body is followed by the joint that leads to it, and each joint by the body before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Joint = TypeVar("Joint", bound=Hashable)


def outer_bodies(
    bodies: Sequence[str], joints: Mapping[Joint, tuple[str, str]]
) -> dict[Joint, str]:
    """Return the body that each joint of the tree leads to; joints that close loops have none.

    Parameters
    ----------
    bodies
        The names of those that move.
    joints
        The two names that each joint holds together; another name than those of bodies is fixed.
    """
    beside: dict[str, list[tuple[Joint, str]]] = {}
    for joint, (one, other) in joints.items():
        beside.setdefault(one, []).append((joint, other))
        beside.setdefault(other, []).append((joint, one))
    fixed = [name for name in beside if name not in set(bodies)]
    found: dict[Joint, str] = {}
    reached = set(fixed)
    for root in [*fixed, *_inmost(bodies, beside)]:
        if root in reached and root not in fixed:
            continue
        reached.add(root)
        waiting = [root]
        for place in waiting:
            for joint, further in beside.get(place, ()):
                if further not in reached:
                    reached.add(further)
                    found[joint] = further
                    waiting.append(further)
    return found


def _inmost(bodies: Sequence[str], beside: Mapping[str, list[tuple[Joint, str]]]) -> list[str]:
    """Return bodies in the order in which they serve as roots: those in the middle first.

    The outermost are taken away, again and again; what is left longest is in the middle.
    """
    degrees = {name: len(beside.get(name, ())) for name in bodies}
    order: list[str] = []
    ends = [name for name, degree in degrees.items() if degree <= 1]
    while ends:
        further: list[str] = []
        for name in ends:
            order.append(name)
            for _, other in beside.get(name, ()):
                if other in degrees:
                    degrees[other] -= 1
                    if degrees[other] == 1:
                        further.append(other)
        ends = [name for name in dict.fromkeys(further) if name not in order]
    rings = [name for name in bodies if name not in order]
    return [*rings, *reversed(order)]
