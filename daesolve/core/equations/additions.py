"""What features add to the equations of a system, with what the core asks of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

TOUCHING = 1e-12
"""The least distance, m, that counts as a closed gap, even if no gap was ever larger."""


@dataclass(frozen=True, eq=False)
class UnilateralRow:
    """A goal whose reaction can only push; where it would pull, a law releases the goal.

    Parameters
    ----------
    name
        The name of its goal, whose residual is a gap.
    row, hold
        The index of its goal among the rows, and in p of the value that holds it.
    closed
        The index of the event at which it closes. The guard is the gap while it is open, otherwise
        one.
    restitution
        The fraction of the approach speed at which bodies separate.
    """

    name: str
    row: int
    hold: int
    closed: int
    restitution: ca.SX

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"the unilateral goal {self.name!r}"

    @property
    def opening_advice(self) -> str:
        """How a run starts with it open, as a sentence."""
        return ""

    @property
    def slips(self) -> tuple[int, ...]:
        """The indices of further rows, on the slip of its bodies, that hold at times."""
        return ()

    @property
    def slip_holds(self) -> tuple[int, ...]:
        """The indices in p of the values that hold them."""
        return ()

    @property
    def shares_loads(self) -> bool:
        """Whether it and others like it may share a load that nothing determines."""
        return False


class Addition:
    """What a feature adds to the equations of a system; a subclass answers what concerns it.

    Attributes
    ----------
    hidden_events
        The names of events, besides unlisted ones, that runs do not list.
    recorded_events
        The names under which runs record more than the events of the equations.
    options
        The names of the options of a run that concern it.
    needs_own_units
        Whether the states must stay in the units of the system, because its laws set the scales.
    whole_motions
        Why only whole runs integrate it, not a simulator's steps; empty if these do, too.
    """

    hidden_events: ClassVar[Collection[str]] = ()
    recorded_events: ClassVar[Collection[str]] = ()
    options: ClassVar[Collection[str]] = ()
    needs_own_units: ClassVar[bool] = False
    whole_motions: ClassVar[str] = ""

    @property
    def unilateral(self) -> Sequence[UnilateralRow]:
        """The goals whose reactions can only push."""
        return ()

    @property
    def restitutions(self) -> Mapping[str, ca.SX]:
        """Its coefficients of restitution, by what they belong to in messages."""
        return {}

    def in_motion(self, p: np.ndarray) -> np.ndarray:
        """Return p with everything that may rub in motion, against friction."""
        return p

    @property
    def added_values(self) -> Collection[str]:
        """The names of discrete values that are none of the user's."""
        return ()

    @property
    def expressions(self) -> Sequence[ca.SX]:
        """What its laws read at an instant, besides the equations."""
        return ()
