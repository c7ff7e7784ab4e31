"""What the robots share: mechanisms of model files with further parts, and their drawings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from daesolve.core.posing.inputs import Inputs
from daesolve.multibody.contribution import Part
from daesolve.multibody.drawing import Drawing
from daesolve.multibody.drawing.mechanism_drawing import drawing_of
from daesolve.multibody.model_files import FileMechanism
from daesolve.multibody.places import Vector
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
