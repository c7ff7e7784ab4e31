"""Actuators of a model file: a force along a joint, by an input of the actuator's name.

The force is the gain times the input, plus the bias: numbers, or linear in the place and the rate
of the joint, each times the gear. A motor has a gain, a position servo kp (input - place), a
velocity servo kv (input - rate).

Ranges saturate: of the control, of the force, and at a joint of the sum of its actuators. Where one
is reached the force has a kink, which is an event, like everything piecewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.core.posing.inputs import Inputs
from daesolve.multibody.model_files.assembly import ACTUATOR, Assembly
from daesolve.multibody.model_files.freedoms import Freedom, FreedomForce, saturated
from daesolve.multibody.model_files.left_out import Omissions
from daesolve.multibody.model_files.model import FileActuator, FileModel, FileTendon
from daesolve.multibody.model_files.tendons import SITE, TRANSMISSION, is_taken

JOINT, JOINT_IN_PARENT = 0, 1
"""MuJoCo's numbers of what an actuator acts on."""
NO_CLAMPING, NO_ACTUATION = 256, 2048
"""MuJoCo's bits of ranges of controls and of actuators, where they are disabled."""
LAST_GROUP = 30
"""The highest group of actuators that can be switched off."""


def _taken(model: FileModel, actuator: FileActuator) -> bool:
    """Return whether an actuator is of a kind that is taken."""
    return (
        _reaches(model, actuator)
        and actuator.gain_kind in (0, 1)
        and actuator.bias_kind in (0, 1)
        and actuator.dynamics == 0
        and actuator.controls == 1
        and actuator.plugin < 0
        and not actuator.delay
        and not np.any(actuator.damping_more)
    )


def _reaches(model: FileModel, actuator: FileActuator) -> bool:
    """Return whether an actuator acts along a motion that is taken."""
    if actuator.transmission == TRANSMISSION:
        return is_taken(model, model.tendons[actuator.target])
    joints = (JOINT, JOINT_IN_PARENT)
    return actuator.transmission in joints and model.joints[actuator.target].kind in (
        "hinge",
        "slide",
    )


def _acts(model: FileModel, actuator: FileActuator) -> bool:
    """Return whether neither an actuator is switched off nor its group."""
    group = actuator.group
    idle = 0 <= group <= LAST_GROUP and model.idle >> group & 1
    return not idle and not model.switched_off(NO_ACTUATION)


def with_rotors(model: FileModel) -> FileModel:
    """Return a model in which the dampers and rotors of actuators are those of their joints.

    Those of actuators that are switched off as well, as in MuJoCo.
    """
    joints, tendons = list(model.joints), list(model.tendons)
    for actuator in model.actuators:
        if not _taken(model, actuator):
            continue
        number, squared = actuator.target, float(actuator.gear[0]) ** 2
        along_tendon = actuator.transmission == TRANSMISSION
        motion = tendons[number].motion if along_tendon else joints[number]
        motion = replace(
            motion,
            damping=motion.damping + squared * actuator.damping,
            armature=motion.armature + squared * actuator.armature,
        )
        if along_tendon:
            acts = tendons[number].acts or bool(motion.damping.any() or motion.armature.any())
            tendons[number] = replace(tendons[number], motion=motion, acts=acts)
        else:
            joints[number] = motion
    return replace(model, joints=joints, tendons=tendons)


def counted_by_actuators(model: FileModel) -> set[int]:
    """Return the numbers of the joints of whose place the force of an actuator depends."""
    return {
        actuator.target
        for actuator in model.actuators
        if actuator.transmission != TRANSMISSION
        and _taken(model, actuator)
        and _acts(model, actuator)
        and ((actuator.gain_kind and actuator.gain[1]) or (actuator.bias_kind and actuator.bias[1]))
    }


def add_actuators(assembly: Assembly, omissions: Omissions) -> Inputs:
    """Add the actuators of a model to its mechanism, and return their inputs."""
    defaults: dict[str, float | None] = {}
    units: dict[str, str] = {}
    taken: dict[int, str] = {}
    for number, actuator in enumerate(assembly.model.actuators):
        title = actuator.name or f"number {number}"
        if not _acts(assembly.model, actuator):
            omissions.add("actuators that are switched off", title)
            continue
        if not _taken(assembly.model, actuator):
            omissions.add("actuators of other kinds", title)
            continue
        freedom = _motion(assembly, actuator)
        name = assembly.words.word(actuator.name, f"{freedom.name}_drive", ACTUATOR)
        defaults[name], units[name] = 0.0, _unit(actuator, freedom.units[0])
        taken[number] = name
    inputs = Inputs(defaults, units)
    for number, name in taken.items():
        actuator = assembly.model.actuators[number]
        freedom = _motion(assembly, actuator)
        gear = float(actuator.gear[0])
        control = inputs[name]
        if actuator.control_limited and not assembly.model.switched_off(NO_CLAMPING):
            control = saturated(control, actuator.control_range)
        force = _force(actuator, control, gear, freedom.place, freedom.rates[0])
        if actuator.force_limited:
            force = saturated(force, actuator.force_range)
        freedom.drives.append(FreedomForce(name, force, gear))
    passed = _hand_on(assembly)
    limited = [(n, free) for n, free in assembly.freedoms.items() if free.joint.force_limited]
    for kind, own in (
        ("limits of forces at joints that tendons move", [f for n, f in limited if n in passed]),
        ("limits of forces at joints", [f for n, f in limited if not f.drives and n not in passed]),
    ):
        if own:
            omissions.add(kind, *[free.joint.name or free.name for free in own])
    return inputs


def _hand_on(assembly: Assembly) -> set[int]:
    """Hand drives of sums of joints on to these, if the forces of one are limited.

    Returns
    -------
    passed
        The numbers of the joints that driven tendons of other kinds move.
    """
    passed: set[int] = set()
    for number, tendon in assembly.tendons.items():
        entry = assembly.model.tendons[number]
        if not tendon.drives:
            continue
        if tendon.joint.kind == "tendon":
            passed |= _moved_by(assembly.model, entry)
            continue
        places = [(assembly.freedoms[int(joint)], float(factor))
                  for joint, factor in zip(entry.over, entry.numbers, strict=True)]  # fmt: skip
        if not any(freedom.joint.force_limited for freedom, _ in places):
            continue
        for freedom, factor in places:
            for name, force in tendon.driven.items():
                own = assembly.words.word(f"{name}_{freedom.name}", "share", ACTUATOR)
                freedom.drives.append(FreedomForce(own, force, factor))
        assembly.tendons[number] = replace(tendon, handed_on=True)
    return passed


def _moved_by(model: FileModel, tendon: FileTendon) -> set[int]:
    """Return the numbers of the joints that move some of the sites of a tendon and not others."""
    lines: list[set[int]] = []
    for kind, site in zip(tendon.kinds, tendon.over, strict=True):
        if kind == SITE:
            line = [model.sites[int(site)].body]
            while line[-1]:
                line.append(model.bodies[line[-1]].parent)
            lines.append(set(line))
    bodies = set[int]().union(*lines) - set.intersection(*lines)
    return {number for number, joint in enumerate(model.joints) if joint.body in bodies}


def _motion(assembly: Assembly, actuator: FileActuator) -> Freedom:
    tendon = actuator.transmission == TRANSMISSION
    return (assembly.tendons if tendon else assembly.freedoms)[actuator.target]


def _unit(actuator: FileActuator, unit: str) -> str:
    """Return the unit of the control, as far as its bias determines it."""
    if actuator.bias_kind and actuator.bias[1] and actuator.bias[1] == -actuator.gain[0]:
        return unit
    if actuator.bias_kind and actuator.bias[2] and actuator.bias[2] == -actuator.gain[0]:
        return f"{unit or 1}/s"
    return ""


def _force(actuator: FileActuator, control: ca.SX, gear: float, place: ca.SX, rate: ca.SX) -> ca.SX:
    """Return the force of an actuator before its gear."""
    length, speed = gear * place, gear * rate

    def linear(kind: int, numbers: np.ndarray) -> ca.SX:
        constant, by_length, by_speed = (float(number) for number in numbers[:3])
        found = ca.SX(constant)
        if kind and by_length:
            found = found + by_length * length
        return found + by_speed * speed if kind and by_speed else found

    gain = linear(actuator.gain_kind, actuator.gain)
    bias = linear(1, actuator.bias) if actuator.bias_kind else ca.SX(0)
    return gain * control + bias


def controls_of(assembly: Assembly, inputs: Inputs, ctrl: np.ndarray) -> Mapping[str, float]:
    """Return the nonzero values of inputs in the controls of a keyframe."""
    names = iter(inputs.posed)
    values: dict[str, float] = {}
    for actuator in assembly.model.actuators:
        if _taken(assembly.model, actuator) and _acts(assembly.model, actuator):
            name = next(names)
            if ctrl[actuator.control]:
                values[name] = float(ctrl[actuator.control])
    return values
