"""A switching law of one's own: one class and one place in the list, and a run follows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.events import transitions
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import Role
from daesolve.core.events.law import Beginning, Jump, Setting, SwitchingLaw
from daesolve.errors import ResetError, VariantError

WALL = "wall"


class Elastic(SwitchingLaw):
    """Throws a body back from a wall, with the part of its speed that is a discrete value."""

    def __init__(self, setting: Setting, events: Sequence[int]) -> None:
        super().__init__(events)
        self.kept = list(setting.dynamics.values).index("kept")

    @classmethod
    def begin(cls, dynamics, beginning: Beginning) -> Beginning:
        values = {**beginning.values, "kept": 0.5}
        return Beginning(
            beginning.time, beginning.until, beginning.state, values, notes=("it keeps a half",)
        )

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> Elastic | None:
        events = [k for k in free if setting.problem.events[k].name == WALL]
        return cls(setting, events) if events else None

    def role(self, event: int) -> Role:
        return Role(barrier=True, bars_start=True)

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        if fired:
            after = x.copy()
            after[1] *= -p[self.kept]
            yield Jump({self.events[0]: (0,)}, after, p, None)


class Stuck(Elastic):
    """Follows no motion beyond the wall."""

    error: Exception = ResetError("the wall gives way")

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        if fired:
            raise self.error
        yield from ()


def ball() -> ds.MechanicalSystem:
    """A body that moves evenly towards a wall at zero, whose reset stands for the law's."""
    q = ds.coordinates(x="m")
    kept = ds.discrete(kept=1.0)
    hit = ds.Event(WALL, q.x, ds.FALLING, ds.Reset({"x_dot": -kept.kept * q.dot.x}))
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=kept, events=[hit])


START = {"x": 1.0, "x_dot": -2.0}


def run_with(law: type[SwitchingLaw], monkeypatch: pytest.MonkeyPatch) -> ds.Trajectory:
    laws = law, *transitions.all_laws()
    monkeypatch.setattr(transitions, "all_laws", lambda: laws)
    return ds.solve(ball(), 1.5, START, at=[0.25, 1.5])


def test_a_law_in_the_list_chooses_the_first_mode_and_what_follows(monkeypatch):
    """It arrives after 1/2 s at 2 m/s, and leaves at 1 m/s."""
    run = run_with(Elastic, monkeypatch)
    (event,) = run.events
    assert event.name == WALL
    assert event.time == pytest.approx(0.5, rel=1e-14)
    assert run["x"] == pytest.approx([0.5, 1.0], rel=1e-13)
    assert run["x_dot"] == pytest.approx([-2.0, 1.0], rel=1e-13)
    assert "it keeps a half" in run.description["notes"]


def test_without_it_the_event_is_reset_as_posed():
    run = ds.solve(ball(), 1.5, START, at=[1.5])
    assert run["x_dot"] == pytest.approx([2.0], rel=1e-13)


def test_a_law_without_an_answer_ends_the_run_by_the_kind_of_its_error(monkeypatch):
    run = run_with(Stuck, monkeypatch)
    assert run.outcome is ds.Outcome.FAILED
    assert "gives way" in run.message
    assert run.end_time == pytest.approx(0.5, rel=1e-14)
    monkeypatch.setattr(Stuck, "error", VariantError("no mode continues the motion"))
    run = ds.solve(ball(), 1.5, START, at=[])
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "no mode continues" in run.message


def test_a_start_beyond_what_a_law_bars_is_refused(monkeypatch):
    laws = Elastic, *transitions.all_laws()
    monkeypatch.setattr(transitions, "all_laws", lambda: laws)
    with pytest.raises(ds.DaesolveError, match="beyond the barrier of the event 'wall'"):
        ds.solve(ball(), 1.5, {"x": -1.0, "x_dot": 2.0})
