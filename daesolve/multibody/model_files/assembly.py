"""The bodies and parts of a mechanism from a compiled model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import casadi as ca
import numpy as np

from daesolve.multibody.bodies import Body
from daesolve.multibody.contribution import Part
from daesolve.multibody.joint_rows import direction
from daesolve.multibody.joints import Joint, Prismatic, Revolute, Spherical
from daesolve.multibody.model_files.chains import Chain
from daesolve.multibody.model_files.freedoms import Freedom
from daesolve.multibody.model_files.kinematics import (
    composed,
    matrix_of,
    poses,
    quaternion_of,
    relative_to_root,
)
from daesolve.multibody.model_files.model import FileJoint, FileModel
from daesolve.multibody.places import GROUND, Frame, axes_with_third

ROUNDING = 1e-15
"""An entry of an inertia counts as zero below this fraction of the largest."""
BODY = (
    "",
    "x",
    "y",
    "z",
    "q0",
    "q1",
    "q2",
    "q3",
    "x_dot",
    "y_dot",
    "z_dot",
    "w1",
    "w2",
    "w3",
    "norm",
)
"""What is made of the name of a body."""
JOINT = (
    *("", "1", "2", "3", "4", "5", "6", "angle", "rate", "displacement", "speed", "locked"),
    *("friction", "rub", "friction_work", "actuation", "actuation_force", "actuation_work"),
    *BODY[1:],
)
"""What is made of the name of a joint."""
TENDON = (
    *("", "length", "speed", "friction", "rub", "friction_work"),
    *("actuation", "actuation_force", "actuation_work"),
)
"""What is made of the name of a tendon."""
CONTACT = ("", "lost", "closed")
"""What is made of the name of a contact."""
ACTUATOR = ("", "force", "work")
"""What is made of the name of an actuator."""
TAKEN = ("ground", "energy", "work", "t", "time", "jacobi_integral", "limit_restitution")
"""What other things are called."""


@dataclass(frozen=True, eq=False)
class Carrier:
    """What moves as one: a body with everything that is welded to it, or the ground.

    Parameters
    ----------
    body
        None for the ground.
    centre
        The mass centre in the frame of its outermost body, m.
    """

    body: Body | None
    centre: np.ndarray

    def frame(self, position: np.ndarray, axes: np.ndarray) -> Frame:
        """Return a frame of it, by position and axes in the frame of its outermost body."""
        if self.body is None:
            frame = GROUND.frame(position.tolist(), ca.DM(axes))  # pyright: ignore
        else:
            frame = self.body.frame((position - self.centre).tolist(), ca.DM(axes))  # pyright: ignore
        assert isinstance(frame, Frame)
        return frame


class Known(TypedDict):
    """How the angle of a joint is known."""

    counted: bool
    unique: bool


@dataclass(frozen=True)
class Angles:
    """The numbers of the hinges whose angles are known, not only up to whole turns.

    Parameters
    ----------
    counted
        Whose whole turns are counted.
    unique
        Which limits keep within half a turn.
    """

    counted: set[int]
    unique: set[int]

    def of(self, joint: int) -> Known:
        """Return how the angle of a joint is known."""
        return {"counted": joint in self.counted, "unique": joint in self.unique}


@dataclass(eq=False)
class Assembly:
    """Bodies and parts during assembly.

    Parameters
    ----------
    model
        The model in the file.
    words
        That are given out.
    carriers
        By the number of the outermost body of each.
    relative
        Position and axes of each body in the frame of the outermost one that it is welded to.
    joints
        Rigid joints.
    freedoms
        By the number of the joint in the file.
    tendons
        By the number of the tendon in the file.
    parts
        What else there is.
    loops
        Those of its joints and parts that close loops.
    """

    model: FileModel
    words: UniqueWords
    carriers: dict[int, Carrier] = field(default_factory=dict[int, Carrier])
    relative: Sequence[tuple[np.ndarray, np.ndarray]] = ()
    joints: list[Joint] = field(default_factory=list[Joint])
    freedoms: dict[int, Freedom] = field(default_factory=dict[int, Freedom])
    tendons: dict[int, Freedom] = field(default_factory=dict[int, Freedom])
    parts: list[Part] = field(default_factory=list[Part])
    loops: list[Part] = field(default_factory=list[Part])

    def frame(self, body: int, position: np.ndarray, axes: np.ndarray) -> Frame:
        """Return a frame of a body of the file, by position and axes in its frame."""
        place, own = self.relative[body]
        carrier = self.carriers[self.model.bodies[body].welded]
        return carrier.frame(place + own @ position, own @ axes)


def assembled(model: FileModel, angles: Angles) -> Assembly:
    """Return the bodies and joints of a model.

    Parameters
    ----------
    model
        The model in the file.
    angles
        Which angles are known beyond half a turn, and which within it.
    """
    assembly = Assembly(model, UniqueWords(TAKEN), relative=relative_to_root(model))
    assembly.carriers[0] = Carrier(None, np.zeros(3))
    placed = poses(model, model.qpos0, np.zeros(model.rates))
    for number, body in enumerate(model.bodies):
        if number == 0 or body.welded != number:
            continue
        mass, centre, inertia = composed(_masses(model, number, assembly.relative))
        inertia[np.abs(inertia) < ROUNDING * np.max(np.abs(inertia))] = 0.0
        pose = placed[number].then(centre, np.eye(3))
        name = assembly.words.word(body.name, f"body_{number}", BODY)
        assembly.carriers[number] = Carrier(
            Body(
                name,
                mass,
                inertia,
                position=pose.position.tolist(),
                rotation=quaternion_of(pose.rotation).tolist(),
            ),
            centre,
        )
    numbers = {id(joint): number for number, joint in enumerate(model.joints)}
    for number in assembly.carriers:
        links = model.joints_of(number)
        if links:
            _join(assembly, number, {numbers[id(link)]: link for link in links}, angles)
    return assembly


def _masses(
    model: FileModel, root: int, relative: Sequence[tuple[np.ndarray, np.ndarray]]
) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Return mass, centre and inertia of all that is welded to a body, in the frame of it."""
    masses: list[tuple[float, np.ndarray, np.ndarray]] = []
    for number in model.welded_to[root]:
        body = model.bodies[number]
        if body.mass == 0.0:
            continue
        place, own = relative[number]
        turned = own @ matrix_of(body.axes)
        masses.append(
            (body.mass, place + own @ body.centre, turned @ np.diag(body.moments) @ turned.T)
        )
    return masses


def _join(assembly: Assembly, number: int, links: Mapping[int, FileJoint], angles: Angles) -> None:
    """Put the joints of a body between it and its parent."""
    model = assembly.model
    body, carrier = model.bodies[number], assembly.carriers[number]
    own = carrier.body
    assert own is not None
    names = {
        place: assembly.words.word(link.name, f"{own.name}_{link.kind}", JOINT)
        for place, link in links.items()
    }
    base = assembly.frame(body.parent, body.position, matrix_of(body.rotation))
    tip = carrier.frame(np.zeros(3), np.eye(3))
    if len(links) > 1:
        name = assembly.words.word(f"{own.name}_chain", "chain", JOINT)
        chain = Chain(name, base, tip, tuple(links.values()))
        assembly.joints.append(chain)
        ways, turns = iter(chain.slides), iter(chain.turns)
        speeds, spins = iter(chain.slide_rates), iter(chain.turn_rates)
        for place, link in links.items():
            about = (names[place], link)
            if link.kind == "ball":
                made = Freedom(*about, list(spins), half_turn=_half_turn(base, tip))
            elif link.kind == "slide":
                made = Freedom(*about, [next(speeds)], way=next(ways))
            else:
                made = Freedom(*about, [next(spins)], direction=next(turns), **angles.of(place))
            assembly.freedoms[place] = made
        return
    ((place, link),) = links.items()
    assembly.freedoms[place] = _single(assembly, number, names[place], link, angles.of(place))


def _half_turn(first: Frame, second: Frame) -> ca.SX:
    """Return the cosine of half the angle between two frames."""
    return ca.sqrt(1 + ca.trace(first.rotation.T @ second.rotation)) / 2


def _single(assembly: Assembly, number: int, name: str, link: FileJoint, known: Known) -> Freedom:
    """Put the only joint of a body in its place, and return the motion that it leaves."""
    body, carrier = assembly.model.bodies[number], assembly.carriers[number]
    tip = carrier.frame(np.zeros(3), np.eye(3))
    if link.kind == "free":
        turning = tip.rotation.T @ tip.angular_velocity
        return Freedom(name, link, [*ca.vertsplit(tip.velocity), *ca.vertsplit(turning)])
    axes = np.eye(3) if link.kind == "ball" else axes_with_third(link.axis.tolist())
    base = matrix_of(body.rotation)
    first = assembly.frame(body.parent, body.position + base @ link.position, base @ axes)
    second = carrier.frame(link.position, axes)
    if link.kind == "ball":
        assembly.joints.append(Spherical(name, first, second))
        turning = second.angular_velocity - first.angular_velocity
        spins = ca.vertsplit(tip.rotation.T @ turning)
        return Freedom(name, link, spins, half_turn=_half_turn(first, second))
    if link.kind == "slide":
        slide = Prismatic(name, first, second, axis=2)
        assembly.joints.append(slide)
        return Freedom(name, link, [slide.speed], way=slide.displacement)
    hinge = Revolute(name, first, second)
    assembly.joints.append(hinge)
    turned = direction(first, second, hinge.axis)
    return Freedom(name, link, [hinge.rate], direction=turned, **known)


class UniqueWords:
    """Words that are assigned, each once, with all names that begin with them."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def word(self, name: str, otherwise: str, makes: Iterable[str] = ("",)) -> str:
        """Return a word for a name.

        Parameters
        ----------
        name
            Any text; what is not a letter, digit or underscore becomes an underscore.
        otherwise
            The word where there is nothing left of it; its last part is put behind one that is
            taken.
        makes
            The ends of the names that are made of it, "" for itself.
        """
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        word = re.sub(r"\W", "_", plain).strip("_")
        if not re.match("[A-Za-z]", word):
            word = f"{otherwise}_{word}" if word else otherwise
        kind = next((part for part in reversed(otherwise.split("_")) if part.isalpha()), "")
        tried, number = word, 1
        while not self._taken.isdisjoint(_made(tried, makes)):
            number += 1
            tried = f"{word}_{kind}" if number == 2 else f"{word}_{kind}{number - 1}"
        self._taken |= {*_made(tried, makes)}
        return tried


def _made(word: str, makes: Iterable[str]) -> list[str]:
    return [f"{word}_{end}" if end else word for end in makes]
