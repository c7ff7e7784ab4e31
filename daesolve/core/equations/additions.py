"""What features add to the equations of a system, with what the core asks of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

import casadi as ca


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
    def added_values(self) -> Collection[str]:
        """The names of discrete values that are none of the user's."""
        return ()

    @property
    def expressions(self) -> Sequence[ca.SX]:
        """What its laws read at an instant, besides the equations."""
        return ()
