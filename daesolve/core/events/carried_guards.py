"""Guards past zero where no motion took them: at a start, and after a jump.

An event is a passage of its guard by the motion. Where a start or a jump has put a guard past zero,
the way that it is on decides: unless it is on its way back, it counts as passed there. On its way
back it has not passed, and does not before it was before zero. Guards of modes and contacts are
judged by the state alone. A guard that itself jumps through zero, where one of its piecewise
expressions does, has passed, whatever way it is on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from daesolve.core.events.guard_table import GuardTable, GuardTraits

PASSES = "it counts as passed, and the event happens there"
RETURNS = "it is on its way back, and the event happens only after its guard was before zero again"


@dataclass(eq=False)
class CarriedGuards:
    """Judges guards that are past zero without a passage, and takes note of them.

    Parameters
    ----------
    table, traits
        Whose guards they are, and how they are watched.
    passed, returning
        By event, when its guard was first found there, s: counted as passed, and on its way back.
    said
        What laws say of the motion, each in a sentence, and since when, s.
    """

    table: GuardTable
    traits: GuardTraits
    passed: dict[str, float] = field(default_factory=dict[str, float])
    returning: dict[str, float] = field(default_factory=dict[str, float])
    said: dict[str, float] = field(default_factory=dict[str, float])

    @cached_property
    def judged(self) -> np.ndarray:
        """Which guards are judged here."""
        traits = self.traits
        return traits.posed & (traits.ways != 0) & ~traits.constant

    def judge(self, time: float, past: Sequence[int], rates: np.ndarray) -> list[bool]:
        """Return whether each of some guards counts as passed.

        Parameters
        ----------
        time
            s
        past
            Guards that are past zero without a passage.
        rates
            Those of all guards, or those a moment later where these are zero.
        """
        passes = [bool(self.traits.ways[guard] * rates[guard] >= 0.0) for guard in past]
        for guard, passed in zip(past, passes, strict=True):
            event = self.table.guarded[guard]
            if event.listed:
                noted = self.passed if passed else self.returning
                noted.setdefault(event.name, time)
        return passes

    def may_be_taken(self, by: Sequence[int]) -> bool:
        """Return whether guards may pass at once where these have fired."""
        return self._any_constant or self._may_jump(by)

    def taken(
        self, before: np.ndarray, after: np.ndarray, zeros: np.ndarray, by: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which guards have passed zero because values have changed, (guards,) each.

        Parameters
        ----------
        before, after, zeros
            (guards,) their values, and what counts as zero.
        by
            The guards that fired.

        Returns
        -------
        tuple
            Those of values alone, and those that contain a piecewise expression which has jumped.
        """
        ways = self.traits.directions
        rising = (before < 0.0) & (after >= 0.0) & (ways >= 0)
        falling = (before > 0.0) & (after <= 0.0) & (ways <= 0)
        passed = rising | falling
        far = np.minimum(np.abs(before), np.abs(after)) > zeros
        jumped = passed & far & self.traits.jumping & self._may_jump(by)
        return passed & self.traits.constant, jumped

    @cached_property
    def _any_constant(self) -> bool:
        return bool(self.traits.constant.any())

    @cached_property
    def _any_jumping(self) -> bool:
        return bool(self.traits.jumping.any())

    def _may_jump(self, by: Sequence[int]) -> bool:
        """Return whether guards of piecewise expressions alone have fired."""
        return self._any_jumping and len(by) > 0 and bool(self.traits.switching[[*by]].all())

    def notes(self) -> list[str]:
        """Return notes that name the events, and what laws say."""
        said = [f"from t = {time:.10g} s on, {what}" for what, time in self.said.items()]
        return said + [
            f"no motion took the guard of the event {name!r} past zero, where it is at t = "
            f"{time:.10g} s: {what}"
            for found, what in ((self.passed, PASSES), (self.returning, RETURNS))
            for name, time in found.items()
        ]

    def saved(self) -> dict[str, dict[str, float]]:
        """Return all that is known, so that another process can resume."""
        kinds = {"passed": self.passed, "returning": self.returning, "said": self.said}
        return {kind: dict(times) for kind, times in kinds.items()}

    def restore(self, saved: Mapping[str, Mapping[str, float]]) -> None:
        """Restore what `saved` returned."""
        self.passed, self.returning = (
            {str(name): float(time) for name, time in saved.get(each, {}).items()}
            for each in ("passed", "returning")
        )
        self.said = {what: float(time) for what, time in saved.get("said", {}).items()}
