"""A mechanism from a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.posing.inputs import NO_INPUTS, Inputs
from daesolve.core.posing.symbols import Parameters
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import ModelFileError, OutOfRangeError, UnsupportedError, check_names
from daesolve.multibody.bodies import Body
from daesolve.multibody.compliance import ComplianceLaw
from daesolve.multibody.contribution import Contribution
from daesolve.multibody.joints import Joint
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.model_files.actuators import (
    NO_ACTUATION,
    add_actuators,
    controls_of,
    counted_by_actuators,
    with_rotors,
)
from daesolve.multibody.model_files.assembly import Angles, Assembly, UniqueWords, assembled
from daesolve.multibody.model_files.chains import Chain
from daesolve.multibody.model_files.closing import Loops, close_loops, loops_of
from daesolve.multibody.model_files.contacts import (
    ContactKind,
    FileContacts,
    GeomContacts,
    contacts_of,
)
from daesolve.multibody.model_files.equalities import add_equalities, counted_by_equalities
from daesolve.multibody.model_files.freedoms import Freedom
from daesolve.multibody.model_files.kinematics import matrix_of, poses, quaternion_of
from daesolve.multibody.model_files.left_out import LeftOut, Omissions, add_what_is_not_read
from daesolve.multibody.model_files.limits import (
    RESTITUTION,
    JointLimits,
    add_limits,
    check_start,
    restitution_parameter,
    unique_angle,
    with_ranges,
)
from daesolve.multibody.model_files.model import FileJoint, FileModel, with_motions
from daesolve.multibody.model_files.parsing import parsed
from daesolve.multibody.model_files.tendons import add_tendons, counted_by_tendons
from daesolve.multibody.places import Frame
from daesolve.multibody.supports import Supporting

NO_PARAMETERS = Parameters({}, {}, {})
RIGID, NO_CONTACTS = GeomContacts(), FileContacts()
MOST_DETERMINED = 3
"""Contacts of a body whose loads its motion determines: three feet."""
NO_FRICTION, NO_SPRINGS, NO_DAMPERS, NO_GRAVITY = 1 | 4, 32, 64, 128
"""MuJoCo's bits for disabled features."""


@dataclass(frozen=True, eq=False)
class FileStart:
    """A start by a name.

    Parameters
    ----------
    values
        Start values of joints that differ from those where nothing is moved and all is at rest.
    inputs
        Values of inputs that are not zero.
    """

    values: Mapping[str, float]
    inputs: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Weightless:
    """Bodies with compensated weight.

    Parameters
    ----------
    lifted
        Mass centres, each with the compensated mass, kg.
    gravity
        m/s^2, (3,).
    """

    lifted: list[tuple[ca.SX, float]]
    gravity: np.ndarray

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        total = ca.SX(0)
        for position, mass in self.lifted:
            total = total + mass * ca.dot(ca.SX(self.gravity), position)
        return Contribution(potential=total)


@dataclass(frozen=True, eq=False, kw_only=True)
class FileMechanism(Mechanism):
    """A mechanism from a model file; create it with `daesolve.multibody.read`.

    Parameters
    ----------
    path
        Of the file.
    assembly
        The bodies and parts made from the file.
    inputs
        Of its actuators, each with the default 0.
    left_out
        What the file contains and the mechanism does not.
    touching
        Its contacts between geoms.

    Examples
    --------
    `read("arm.xml").system()` is an ordinary system; `start_with({"elbow_angle": 0.3})` returns its
    states from values of joints; `starts` has the keyframes of the file.
    """

    path: Path
    assembly: Assembly
    inputs: Inputs = NO_INPUTS
    left_out: tuple[LeftOut, ...] = ()
    touching: FileContacts = NO_CONTACTS

    @property
    def freedoms(self) -> Mapping[str, Freedom]:
        """The motions of its joints, by name."""
        return {freedom.name: freedom for freedom in self.assembly.freedoms.values()}

    @property
    def tendons(self) -> Mapping[str, Freedom]:
        """The motions along its tendons, by name."""
        return {freedom.name: freedom for freedom in self.assembly.tendons.values()}

    @property
    def has_loops(self) -> bool:
        """Whether something besides the joints of the tree holds bodies together."""
        return bool(self.assembly.loops)

    @property
    def stands(self) -> bool:
        """Whether bodies may touch others at more places than determine the loads there."""
        return sum(isinstance(part, Supporting) for part in self.parts) > MOST_DETERMINED

    @cached_property
    def sites(self) -> Mapping[str, Frame]:
        """The sites of the file, by name: frames of bodies or of the ground."""
        words = UniqueWords()
        return {
            words.word(site.name, f"site_{number}"): self.assembly.frame(
                site.body, site.position, matrix_of(site.rotation)
            )
            for number, site in enumerate(self.assembly.model.sites)
        }

    @cached_property
    def starts(self) -> Mapping[str, FileStart]:
        """The keyframes of the file, by name."""
        words = UniqueWords()
        starts: dict[str, FileStart] = {}
        for number, key in enumerate(self.assembly.model.keys):
            usual = self.start_values
            values = self.values_at(key.qpos, key.qvel)
            starts[words.word(key.name, f"key_{number}")] = FileStart(
                {name: value for name, value in values.items() if value != usual[name]},
                controls_of(self.assembly, self.inputs, key.ctrl),
            )
        return starts

    @cached_property
    def start_values(self) -> Mapping[str, float]:
        """The start values of joints in the reference position, at rest."""
        values: dict[str, float] = {}
        for freedom in self.freedoms.values():
            values |= freedom.start_values
        return values

    def start_with(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the states of all bodies from start values of joints: a `guess` for `solve`.

        Given values stay as they are. Where loops have to be closed the other joints move, by no
        more than they must; of a keyframe, all may move.

        Parameters
        ----------
        values
            Values that differ from `start_values`.

        Raises
        ------
        InconsistentStateError
            With these values loops cannot be closed.
        UnknownNameError
            No joint has a value of this name.
        OutOfRangeError
            A joint would start beyond a limit, or a value is not finite.
        """
        qpos, qvel = self._coordinates_of(values)
        return self.start_from(qpos, qvel)

    def discrete_values_with(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the discrete values that belong to start values: `parameters` for `solve`.

        They hold the angles from which turns are counted, and the side on which the middle hinge
        of three lies.

        Parameters
        ----------
        values
            As in `start_with`.
        """
        return self._discrete_values_at(self._coordinates_of(values)[0])

    def _discrete_values_at(self, qpos: np.ndarray) -> dict[str, float]:
        """Return the discrete values by the coordinates of the file."""
        found: dict[str, float] = {}
        for freedom in self.freedoms.values():
            turned = qpos[freedom.joint.place] - freedom.joint.reference[0]
            found |= {name: float(turned) for name in freedom.counted_from.names}
        for joint in self.assembly.joints:
            if isinstance(joint, Chain) and len(joint.side):
                middle = [link for link in joint.links if link.kind == "hinge"][1]
                turned = float(qpos[middle.place] - middle.reference[0])
                found |= dict.fromkeys(joint.side.names, joint.side_at(turned))
        return found

    def _coordinates_of(self, values: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and velocities as the file orders them."""
        check_names("start value", values, self.start_values)
        for name, value in values.items():
            if not np.isfinite(value):
                raise OutOfRangeError(f"the start value {name} is {value}, but must be finite")
        model = self.assembly.model
        qpos, qvel = np.array(model.qpos0), np.zeros(model.rates)
        for freedom in self.freedoms.values():
            freedom.put(values, qpos, qvel)
            if freedom.joint.kind in ("ball", "free"):
                last = freedom.joint.place + len(freedom.joint.reference)
                if not qpos[last - 4 : last].any():
                    raise OutOfRangeError(
                        f"the start values {freedom.name}_q0 to {freedom.name}_q3 are all zero, "
                        "which is no orientation"
                    )
        freedoms = [self.assembly.freedoms[number] for number in sorted(self.assembly.freedoms)]
        check_start(freedoms, qpos)
        hard = values.keys() - self._of_keyframe(values)
        if self.has_loops and hard:
            close_loops(self._loops, freedoms, hard, qpos, qvel)
            check_start(freedoms, qpos)
        return qpos, qvel

    def _of_keyframe(self, values: Mapping[str, float]) -> set[str]:
        """Return which start values are those of a keyframe, whose loops need not close."""
        found: set[str] = set()
        for start in self.starts.values():
            same = {name for name, value in start.values.items() if values.get(name) == value}
            if 2 * len(same) > len(start.values):
                found |= same
        return found

    @cached_property
    def _loops(self) -> Loops:
        def states_at(qpos: np.ndarray, qvel: np.ndarray) -> dict[str, float]:
            return self.start_from(qpos, qvel) | self._discrete_values_at(qpos)

        rates = ca.vertcat(*[body.kinematics for body in self.bodies if isinstance(body, Body)])
        moving = self._coordinates, self._velocities, rates
        return loops_of(self.assembly, moving, states_at)

    def system(self, **further: Any) -> MechanicalSystem:
        """Return the equations of motion; see `Mechanism.system`.

        The notes of every run list what was left out of the file.
        """
        own: dict[str, Any] = {"inputs": self.inputs} if self.inputs.names else {}
        own["notes"] = (*map(str, self.left_out), *self.touching.notes)
        return super().system(**own, **further)

    def values_at(self, qpos: np.ndarray, qvel: np.ndarray) -> dict[str, float]:
        """Return the start values of all degrees of freedom.

        Parameters
        ----------
        qpos, qvel
            As MuJoCo orders them.
        """
        values: dict[str, float] = {}
        for freedom in self.freedoms.values():
            values |= freedom.values_of(qpos, qvel)
        return values

    def start_from(self, qpos: np.ndarray, qvel: np.ndarray) -> dict[str, float]:
        """Return the states of all bodies, by the coordinates and velocities of the file.

        Parameters
        ----------
        qpos, qvel
            As MuJoCo orders them.
        """
        found: dict[str, float] = {}
        placed = poses(self.assembly.model, qpos, qvel)
        for number, carrier in self.assembly.carriers.items():
            if carrier.body is None:
                continue
            pose = placed[number].then(carrier.centre, np.eye(3))
            values = [
                *pose.position,
                *quaternion_of(pose.rotation),
                *pose.velocity,
                *(pose.rotation.T @ pose.angular_velocity),
            ]
            names = (*carrier.body.coordinates.names, *carrier.body.velocities.names)
            found |= dict(zip(names, map(float, values), strict=True))
        return found


def read(
    path: str | Path,
    *,
    within: str | Path | None = None,
    limit_restitution: float = 0.0,
    contacts: ContactKind = "rigid",
    restitution: float = 0.0,
    compliance: ComplianceLaw | None = None,
) -> FileMechanism:
    """Return the mechanism of a model file, MJCF or URDF.

    MuJoCo's compiler reads the file: it resolves defaults and includes, and computes masses and
    inertias of geoms. The mechanism takes over bodies, joints, springs, dampers, friction, rotors
    and limits of joints, equalities, actuators of joints, contacts of geoms, sites, keyframes and
    gravity; `left_out` lists everything else.

    Parameters
    ----------
    path
        Of the file.
    within
        The directory that must contain all files of the model, including those of its shapes; None
        means the directory of the file.
    limit_restitution
        Of the contacts at the limits of joints, from 0 to 1: the default of the mechanism's
        parameter of this name.
    contacts
        How geoms touch: "rigid", with Coulomb's friction; "compliant", with a force that grows as
        they are pressed into each other; "none".
    restitution
        Of rigid contacts, the default of the parameter `restitution`.
    compliance
        The law of compliant contacts, `HuntCrossley` or `KelvinVoigt`. None takes a stiffness from
        the file where its `solref` gives one, and otherwise one with which the weight of all bodies
        presses in a contact by a millimetre; the notes of a run say which.

    Raises
    ------
    ModelFileError
        The file does not exist, or contains no model with moving bodies; or limits leave a joint
        no place.
    OutOfRangeError
        The restitution is not a number from 0 to 1.
    UnsupportedError
        A joint is not supported.
    MissingPackageError
        MuJoCo, whose parser reads it, is not installed.
    """
    home = path if within is None else within
    for given in (path, home):
        if not isinstance(given, str | Path):
            raise ModelFileError(
                f"the path of a model file must be a string or a Path, not {given!r}"
            )
    home = None if within is None else Path(within)
    at_limits = restitution_parameter(limit_restitution)
    choice = GeomContacts(contacts, restitution, compliance)
    return mechanism_of(parsed(Path(path), home), Path(path), at_limits, choice)


def mechanism_of(
    model: FileModel,
    path: Path,
    restitution: Parameters | None = None,
    choice: GeomContacts = RIGID,
) -> FileMechanism:
    """Return the mechanism of a compiled model; see `read`."""
    model = with_ranges(_switched(with_rotors(model)))
    restitution = restitution or restitution_parameter(0.0)
    omissions = Omissions()
    add_what_is_not_read(model, omissions)
    assembly = assembled(model, _angles(model))
    bodies = [carrier.body for carrier in assembly.carriers.values() if carrier.body is not None]
    if not bodies:
        raise ModelFileError(f"{path} has no body that can move")
    add_equalities(assembly, omissions)
    add_tendons(assembly, omissions)
    inputs = add_actuators(assembly, omissions)
    add_limits(assembly, restitution[RESTITUTION])
    limited = any(isinstance(part, JointLimits) for part in assembly.parts)
    at_limits = restitution if limited else NO_PARAMETERS
    touching = contacts_of(assembly, choice, omissions)
    gravity = np.zeros(3) if model.switched_off(NO_GRAVITY) else model.gravity
    _check_lifting(model, gravity)
    weightless = Weightless(_lifted(assembly), gravity)
    lifting = [weightless] if weightless.lifted and gravity.any() else []
    return FileMechanism(
        bodies,
        [
            *assembly.joints,
            *(part for part in assembly.loops if isinstance(part, Joint)),
            *assembly.freedoms.values(),
            *assembly.tendons.values(),
            *(part for part in assembly.loops if not isinstance(part, Joint)),
            *assembly.parts,
            *lifting,
            *touching.parts,
        ],
        parameters=at_limits.joined(touching.parameters),
        gravity=gravity.tolist(),
        path=path,
        assembly=assembly,
        inputs=inputs,
        left_out=omissions.all,
        touching=touching,
    )


def _switched(model: FileModel) -> FileModel:
    """Return a model without the springs, dampers and friction that it disables."""

    def effective(joint: FileJoint) -> FileJoint:
        if model.switched_off(NO_FRICTION):
            joint = replace(joint, friction=np.zeros_like(joint.friction))
        if model.switched_off(NO_SPRINGS):
            joint = replace(joint, stiffness=0.0)
        if model.switched_off(NO_DAMPERS):
            joint = replace(joint, damping=np.zeros_like(joint.damping))
        return joint

    return with_motions(model, effective)


def _angles(model: FileModel) -> Angles:
    """Return how the angles are known of which a force or a goal depends."""
    unique = {number for number, joint in enumerate(model.joints) if unique_angle(joint)}
    limited = {number for number, joint in enumerate(model.joints) if joint.limited}
    sprung = {number for number, joint in enumerate(model.joints) if joint.stiffness}
    found = sprung | limited | counted_by_equalities(model) | counted_by_actuators(model)
    found |= counted_by_tendons(model)
    hinges = {number for number in found if model.joints[number].kind == "hinge"}
    return Angles(hinges - unique, unique)


def _check_lifting(model: FileModel, gravity: np.ndarray) -> None:
    """Refuse weights that actuators would take off, where none of these acts, or not fully."""
    lifts = gravity.any() and any(body.weightless for body in model.bodies)
    through = [joint.name or f"number {n}" for n, joint in enumerate(model.joints) if joint.lifts]
    if lifts and through and (model.switched_off(NO_ACTUATION) or not model.actuators):
        raise UnsupportedError(
            f"the actuators of the joint {through[0]} should compensate gravity, but there are "
            "none, or they are switched off: remove actuatorgravcomp, or gravcomp"
        )
    bounded = [joint.name for joint in model.joints if joint.lifts and joint.force_limited]
    if lifts and bounded:
        raise UnsupportedError(
            f"the range of forces of the joint {bounded[0]!r} would limit what compensates gravity "
            "there, which is not supported: remove actuatorgravcomp, or actuatorfrcrange"
        )


def _lifted(assembly: Assembly) -> list[tuple[ca.SX, float]]:
    found: list[tuple[ca.SX, float]] = []
    if assembly.model.switched_off(NO_SPRINGS) and assembly.model.switched_off(NO_DAMPERS):
        return found  # As in MuJoCo, which has no passive forces then.
    for number, body in enumerate(assembly.model.bodies):
        carried = assembly.carriers[body.welded].body
        if body.weightless and carried is not None:
            place = assembly.frame(number, body.centre, np.eye(3))
            found.append((place.position, body.weightless * body.mass))
    return found
