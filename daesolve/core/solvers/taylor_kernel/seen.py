"""What is known of steps that were looked through together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepScreening:
    """What is known of steps before anybody looks closely.

    Parameters
    ----------
    first, last
        From which to before which of them a guard comes near to zero.
    sound
        Whether all of them are known to agree with the equations.
    """

    first: int
    last: int
    sound: bool

    @property
    def calm(self) -> bool:
        """Whether nothing asks for a closer look."""
        return self.sound and self.first == self.last


CALM = StepScreening(0, 0, sound=True)
