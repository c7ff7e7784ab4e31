"""What a run may cost: a budget of right-hand sides, and no steps that lead nowhere."""

from __future__ import annotations

from collections.abc import Sequence

from daesolve.results import StepBlock

CRAWL = 1e-6
"""Of the mean step of a short run: many steps in a row shorter than this lead nowhere."""
MANY = {False: 2000, True: 200}
"""How many steps that takes, without and with reactions that have a weak grip."""


class Effort:
    """Counts right-hand sides and steps, and tells where a run is to end for them.

    Parameters
    ----------
    most
        How many right-hand sides there may be; None sets no bound.
    mean_step
        Of a short run at the start, s.
    """

    def __init__(self, most: int | None, mean_step: float) -> None:
        self.most, self.mean_step = most, mean_step
        self.reason = ""
        self._mark: float | None = None
        self._steps = 0

    @property
    def spent(self) -> bool:
        """Whether it is the budget that is at its end."""
        return self.reason.startswith("the budget")

    def saved(self) -> list[float | int | None]:
        """Return all that is known, to go on from in another process."""
        return [self._mark, self._steps]

    def restore(self, saved: Sequence[float | int | None]) -> None:
        """Go on from what `saved` returned."""
        mark, steps = saved
        self._mark = None if mark is None else float(mark)
        self._steps = int(steps or 0)

    def begin(self, time: float) -> None:
        """Take in the start of a stretch that is integrated by itself."""
        if self._mark is None or not self._steps:
            self._mark = time

    def take(self, block: StepBlock, spent: int, *, weak: bool) -> bool:
        """Take in a block of steps; return whether the run is to end with it.

        Parameters
        ----------
        block
            The steps.
        spent
            Right-hand sides from the start of the run.
        weak
            Whether a reaction has a weak grip.
        """
        if self._mark is None or not len(block.times):
            return bool(self.reason)
        self._steps += len(block.times)
        if self._steps >= MANY[weak]:
            reached = float(block.times[-1])
            if abs(reached - self._mark) < CRAWL * self.mean_step * self._steps:
                step = abs(reached - self._mark) / self._steps
                self.reason = (
                    f"the steps have shrunk to {step:.2g} s, less than a millionth of those at the "
                    "start"
                )
            self._mark, self._steps = reached, 0
        return self.over(spent)

    def over(self, spent: int) -> bool:
        """Tell whether the run is to end."""
        if self.most is not None and spent >= self.most and not self.reason:
            self.reason = f"the budget of {self.most} right-hand sides was spent"
        return bool(self.reason)
