"""Rolling without slip: a surface of revolution on a plane that is rough enough."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from daesolve.errors import PosingError
from daesolve.multibody.mechanism import Contribution
from daesolve.multibody.places import Frame
from daesolve.multibody.plane_contact import LEVEL, Touch
from daesolve.multibody.surfaces import Surface
from daesolve.posing.goals import Holonomic, Nonholonomic, is_word


@dataclass(frozen=True, eq=False)
class Rolling:
    """A surface of revolution that rolls on a plane without slip.

    Its goals are `<name>_normal`, which keeps the gap at zero, and `<name>_1`, `<name>_2`, which
    keep the material that touches from moving along the plane's first and second axis. Their
    reactions are the force of the plane along its normal and these axes, N. The plane may pull;
    an event on `normal` shows where it does.

    Parameters
    ----------
    name
        A word.
    frame
        Of the body: its third axis is that of the surface, its origin the surface's centre.
    surface
        Of revolution, and of one piece.
    plane
        A frame whose third axis is the normal of the plane, towards the surface; z = 0 else.

    Raises
    ------
    PosingError
        The name is no word, or the surface has ends, over which it would roll.
    """

    name: str
    frame: Frame
    surface: Surface
    plane: Frame = LEVEL

    def __post_init__(self) -> None:
        if not is_word(self.name):
            raise PosingError(f"the name of a contact is a word, not {self.name!r}")
        if self.surface.ends is not None:
            raise PosingError(
                f"{self.name!r} cannot roll on a {type(self.surface).__name__}, over whose ends "
                "rolling does not go on: take a PlaneContact with friction"
            )

    @cached_property
    def touch(self) -> Touch:
        """Its geometry."""
        return Touch(self.frame, self.surface, self.plane)

    @cached_property
    def goals(self) -> tuple[Holonomic, Nonholonomic, Nonholonomic]:
        """The gap and the two slips."""
        slip = self.touch.slip
        return (
            Holonomic(f"{self.name}_normal", self.touch.gap, unit="N"),
            Nonholonomic(f"{self.name}_1", slip[0], unit="N"),
            Nonholonomic(f"{self.name}_2", slip[1], unit="N"),
        )

    @cached_property
    def contribution(self) -> Contribution:
        """What it adds to a mechanism."""
        outputs = {
            f"{self.name}_{letter}": (self.touch.point[k], "m") for k, letter in enumerate("xyz")
        }
        return Contribution(self.goals, outputs=outputs)
