"""Guards that a start or a jump carries past zero: which of them pass, and what a run says of it.

An event is a passage of its guard, in its direction, from before zero to past zero. A jump makes
one as well as a motion does, whatever the rate behind it. What was before a start is unknown: there
a guard that is past zero and on its way out counts as passed just then, any other as passed long
ago. Guards of modes and contacts are judged by the state instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daesolve.modes.guard_table import GuardTable, GuardTraits


@dataclass(eq=False)
class CarriedGuards:
    """Judges guards that were carried past zero, and takes note of them.

    Parameters
    ----------
    table, traits
        Whose guards they are, and how they are watched.
    begun
        By event, whether it happened at the start, where its guard was past zero.
    jumped
        By event, when a jump first carried its guard past zero, s.
    """

    table: GuardTable
    traits: GuardTraits
    begun: dict[str, bool] = field(default_factory=dict[str, bool])
    jumped: dict[str, float] = field(default_factory=dict[str, float])

    def begin(
        self, values: np.ndarray, rates: np.ndarray, least: np.ndarray
    ) -> tuple[list[int], list[int]]:
        """Return the guards that are past zero at a start: by rounding, and since long ago.

        The former must not be past zero there, and would not pass again.

        Parameters
        ----------
        values, rates
            The guards and their rates there.
        least
            How far from zero each must be to be past it.
        """
        ways = self.traits.ways
        beyond = ways * values > least
        past, barred = self._moving & beyond, self.traits.bars_start & self.traits.stays & beyond
        out = ways * rates > 0.0
        for guard in np.flatnonzero(past).tolist():
            event = self.table.guarded[guard]
            if event.listed:
                self.begun[event.name] = self.begun.get(event.name, False) or bool(out[guard])
        return np.flatnonzero(barred).tolist(), np.flatnonzero(past & ~out).tolist()

    def across(
        self,
        time: float,
        jump: tuple[np.ndarray, np.ndarray],
        zeros: np.ndarray,
        armed: np.ndarray,
    ) -> list[int]:
        """Return the guards that a jump has carried from before zero to past it.

        Parameters
        ----------
        time
            s
        jump
            The guards before and after it.
        zeros, armed
            What counts as zero, and which have been before zero since they fired last.
        """
        (before, after), ways, directions = jump, self.traits.ways, self.traits.directions
        along = armed & (ways * before <= zeros) & (ways * after > zeros)
        rising = (before < -zeros) & (after > zeros) & (directions >= 0)
        falling = (before > zeros) & (after < -zeros) & (directions <= 0)
        carried = np.where(ways == 0, rising | falling, along) & self._moving
        for guard in np.flatnonzero(carried).tolist():
            event = self.table.guarded[guard]
            if event.listed:
                self.jumped.setdefault(event.name, time)
        rising = (before < 0.0) & (after >= 0.0) & (directions >= 0)
        falling = (before > 0.0) & (after <= 0.0) & (directions <= 0)
        return np.flatnonzero(carried | self.traits.constant & (rising | falling)).tolist()

    @property
    def _moving(self) -> np.ndarray:
        return self.traits.posed & ~self.traits.constant

    def notes(self) -> list[str]:
        """Return notes that name the events."""
        how = {
            True: "and on its way out: it counts as passed, and the event happens there",
            False: "and not on its way out: the event does not happen before its guard was back",
        }
        return [
            *(
                f"the guard of the event {name!r} is past zero at the start {how[happens]}"
                for name, happens in self.begun.items()
            ),
            *(
                f"a jump at t = {time:.10g} s carries the guard of the event {name!r} past zero: "
                "that is a passage, and the event happens there"
                for name, time in self.jumped.items()
            ),
        ]

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {"begun": self.begun, "jumped": self.jumped}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self.begun = {str(name): bool(happens) for name, happens in saved["begun"].items()}
        self.jumped = {str(name): float(time) for name, time in saved["jumped"].items()}
