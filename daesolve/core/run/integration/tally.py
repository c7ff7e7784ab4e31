"""What is left of events and impacts that are no longer in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daesolve.core.results.trajectory.results import Impact


@dataclass(frozen=True)
class Tally:
    """What is left of events and modes that are no longer in memory.

    Parameters
    ----------
    events, charts
        How many events there were, and how often independent velocities were chosen again.
    impacts, lost, worst
        How many impacts, the energy that they took in J, and Carnot's theorem's largest miss.
    rises, highest
        How many impacts raised the energy, and by which part of it at most.
    """

    events: int = 0
    charts: int = 0
    impacts: int = 0
    lost: float = 0.0
    worst: float = 0.0
    rises: int = 0
    highest: float = 0.0

    def after(self, impacts: Sequence[Impact], events: int, charts: int) -> Tally:
        """Return the tally with more impacts, events and charts."""
        lost = self.lost
        rises: list[float] = []
        for impact in impacts:
            lost += impact.kinetic_before - impact.kinetic_after
            if impact.kinetic_after > impact.kinetic_before > 0.0:
                rises.append(impact.kinetic_after / impact.kinetic_before - 1.0)
        return Tally(
            self.events + events,
            self.charts + charts,
            self.impacts + len(impacts),
            lost,
            max([self.worst, *(impact.carnot for impact in impacts)]),
            self.rises + len(rises),
            max([self.highest, *rises]),
        )

    def notes(self) -> list[str]:
        """Report the number of impacts, their energy, and how well Carnot's theorem held."""
        if not self.impacts:
            return []
        count = f"{self.impacts} impacts" if self.impacts > 1 else "1 impact"
        did = f"took {self.lost:.6g}" if self.lost >= 0.0 else f"added {-self.lost:.6g}"
        raised = (
            f"; {self.rises} of them raised it, by at most a factor of {1.0 + self.highest:.3g}"
        )
        return [
            f"{count} {did} J; Carnot's theorem missed by at most {self.worst:.2g} of the kinetic "
            "energy" + (raised if self.rises else "")
        ]
