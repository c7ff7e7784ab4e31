"""What robots share: mechanisms of model files with further parts, their starts and drawings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from daesolve.core.posing.inputs import Inputs
from daesolve.multibody.contribution import Part
from daesolve.multibody.drawing import Drawing
from daesolve.multibody.drawing.mechanism_drawing import drawing_of
from daesolve.multibody.model_files import FileMechanism
from daesolve.multibody.places import Vector
from daesolve.plugins.family import Structure, Values
from daesolve.typing import Parameters


def with_parts(
    read: FileMechanism,
    parts: Sequence[Part],
    parameters: Parameters,
    inputs: Inputs,
    gravity: Vector | None = None,
) -> FileMechanism:
    """Return the mechanism of a file with further parts, parameters and inputs.

    Parameters
    ----------
    read
        As the file poses it.
    parts, parameters, inputs
        What is added.
    gravity
        m/s^2; None leaves that of the file.
    """
    return replace(
        read,
        parts=[*read.parts, *parts],
        parameters=read.parameters.joined(parameters),
        inputs=read.inputs.joined(inputs),
        gravity=read.gravity if gravity is None else gravity,
    )


@dataclass(frozen=True, eq=False)
class Starts:
    """How the cases of a robot begin.

    Parameters
    ----------
    mechanism
        Returns that of the file.
    values
        Returns the values of joints and of the trunk for those that are given and parameters.
    further
        The names of given values that are no joint's.
    """

    mechanism: Callable[[], FileMechanism]
    values: Callable[[Values, Values], dict[str, float]]
    further: tuple[str, ...] = ()

    def states(self, given: Values, parameters: Values, structure: Structure) -> dict[str, float]:
        """Return the states of a start; loops are closed."""
        return self.mechanism().start_with(self.values(given, parameters))

    def counts(self, given: Values, parameters: Values, structure: Structure) -> dict[str, float]:
        """Return the discrete values of a start: from where turns of joints are counted."""
        return self.mechanism().discrete_values_with(self.values(given, parameters))

    def names(self, structure: Structure) -> list[str]:
        """Return the names of start values: further ones, and those of joints and of the trunk."""
        return [*self.further, *self.mechanism().start_values]


def torques_towards(
    mechanism: FileMechanism, angles: Mapping[str, Any], stiffness: ca.SX, damping: ca.SX
) -> dict[str, ca.SX]:
    """Return the torques that hold joints at angles, rad, by the names of the motors."""
    joints = {name: mechanism.freedoms[name] for name in angles}
    return {
        f"{name}_torque": stiffness * (angles[name] - joint.place) - damping * joint.rates[0]
        for name, joint in joints.items()
    }


def drawn(
    mechanism: Callable[[], FileMechanism], towards_the_eye: Sequence[float]
) -> Callable[[Mapping[str, Any]], Drawing]:
    """Return a rule that draws runs by the geoms of a file, which is read for the first drawing.

    Parameters
    ----------
    mechanism
        Returns that of the file.
    towards_the_eye
        As in `daesolve.drawing.drawing_of`.
    """

    def rule(document: Mapping[str, Any]) -> Drawing:
        return drawing_of(mechanism(), towards_the_eye)(document)

    return rule
