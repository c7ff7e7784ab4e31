"""How the three models pass turning points, where the paper's residuals determine nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.core.equations.rank import decoupling
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HORIZON, INTERVAL = 60.0, 0.02
"""How long the models run, and how often they are sampled, s."""
WINDOW = 0.1
"""Half the time about the first turning point that is drawn, s."""
WRONG = 0.5
"""Slip beyond this part of the speed means that a wheel spins the wrong way (its slip is twice the
speed; the printed residuals alone slip by a few per cent)."""


@dataclass(frozen=True)
class Attempt:
    """A model with a solver and a rate (1/s) to pass turning points with."""

    name: str
    model: str
    solver: ds.Solver | None
    rate: float

    def run(self, case: BoundCase, until: float, at: np.ndarray) -> ds.Trajectory:
        """Integrate the case by this model."""
        bound = replace(case, model=self.model)
        feedback = ds.Feedback(rate=self.rate)
        return bound.solve(until, at=at, solver=self.solver, formulation=feedback)


def attempts(rate: float) -> tuple[Attempt, ...]:
    """Return the models to compare; the last is the paper's method with too little feedback."""
    controlled = ds.Dop853(1e-10, 1e-12)
    return (
        Attempt("physical", "physical", None, rate),
        Attempt("blend", "blend", None, rate),
        Attempt("printed, error control", "printed", controlled, rate),
        Attempt("printed, fixed step 2 ms", "printed", ds.Dop853(fixed_step=0.002), rate),
        Attempt("printed, fixed step 20 ms, rate 1", "printed", ds.Dop853(fixed_step=0.02), 1.0),
    )


def turning_points(case: BoundCase) -> ds.Answer:
    """Run the models over turning points: how each ends, its period, its slip, its spin.

    Raises
    ------
    OutOfRangeError
        A model was chosen: all of them are compared.
    """
    if case.model != "physical":
        raise OutOfRangeError(
            f"turning-points compares all models: leave out the model {case.model!r}"
        )
    until = min(HORIZON, case.case.until)
    samples = np.arange(0.0, until, INTERVAL)
    runs: dict[str, ds.Trajectory] = {}
    outcomes: dict[str, Any] = {}
    chosen = attempts(case.case.rate)
    for attempt in chosen:
        try:
            runs[attempt.name] = attempt.run(case, until, samples)
        except ds.DaesolveError as error:
            if attempt.model == "physical":
                raise
            outcomes[attempt.name] = {"outcome": "refused", "message": str(error)}
            continue
        outcomes[attempt.name] = _attempt(runs[attempt.name])
    turns = outcomes["physical"]["turning_times"]
    figures = {"spin": _spin(runs)}
    later = [time for time in turns if time > WINDOW]
    if later:
        figures["turning point"] = _closely(case, chosen, runs, later[0])
    return ds.Answer({"until": until, "attempts": outcomes}, figures)


def _attempt(run: ds.Trajectory) -> dict[str, Any]:
    speed, slip = run["speed"], run["slip"]
    turns = _turning_times(run)
    moving = np.abs(speed) > 0.01 * np.max(np.abs(speed))
    wrong = np.abs(slip[moving]) > WRONG * np.abs(speed[moving])
    pairs = max(len(turns) - 1, 0) // 2
    return {
        "outcome": run.outcome.value,
        "message": run.message,
        "end_time": run.end_time,
        "turning_points": len(turns),
        "period": (turns[2 * pairs] - turns[0]) / pairs if pairs else None,
        "largest_slip": float(np.max(np.abs(slip))),
        "wrong_spin": float(np.mean(wrong)) if wrong.size else 0.0,
        "largest_torque": float(np.max(np.abs(run["torque"]))),
        "energy_error": run.drift["energy"].max_relative,
        "turning_times": turns,
    }


def _turning_times(run: ds.Trajectory) -> list[float]:
    """Return where the speed changes its sign, the start at rest left out."""
    if len(run.times) < 4 or not np.any(run["speed"]):
        return []
    from scipy.interpolate import CubicSpline  # which takes long to import

    roots = CubicSpline(run.times, run["speed"]).roots(extrapolate=False)
    return [float(root) for root in roots if math.isfinite(root) and root > run.times[0] + INTERVAL]


def _closely(
    case: BoundCase, chosen: tuple[Attempt, ...], runs: dict[str, ds.Trajectory], turn: float
) -> Figure:
    """Draw speed, torque, slip and condition about the first turning point."""
    moments = np.linspace(turn - WINDOW, turn + WINDOW, 201)
    figure = new_figure(8.0, 8.0)
    panels = figure.subplots(4, 1, sharex=True)
    wide: dict[str, float] = {"linewidth": 4.0, "alpha": 0.4}
    thin: dict[str, float] = {}
    for attempt, look in zip(chosen[:-1], (wide, thin, wide, thin), strict=True):
        if attempt.name not in runs:
            continue
        run = attempt.run(case, float(moments[-1]), moments)
        since = 1e3 * (run.times - turn)
        shown = {
            "v·t (m/s)": run["speed"],
            "torque (N m)": run["torque"],
            "slip (m/s)": run["slip"],
            "condition": _conditions(replace(case, model=attempt.model), run),
        }
        for panel, (label, series) in zip(panels, shown.items(), strict=True):
            panel.plot(since, series, label=attempt.name, **look)
            panel.set_ylabel(label)
            if not run.outcome.good:
                panel.plot(since[-1:], series[-1:], "kx", label=f"{run.outcome.value} here")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3)
    panels[-1].set_yscale("log")
    panels[-1].set_xlabel("time from the turning point of the physical model (ms)")
    return figure


def _conditions(case: BoundCase, run: ds.Trajectory) -> np.ndarray:
    """Return the condition of the decoupling matrix along a run."""
    dynamics = case.system.dynamics
    p = dynamics.value_vector(case.full_parameters)
    states = np.column_stack([run[name] for name in dynamics.labels.states])
    return np.array(
        [
            decoupling(dynamics, time, state, p).condition
            for time, state in zip(run.times, states, strict=True)
        ]
    )


def _spin(runs: dict[str, ds.Trajectory]) -> Figure:
    """Draw the slip over time: a wheel that spins the wrong way slips at twice its speed."""
    figure = new_figure(8.0, 3.4)
    axes = figure.add_subplot()
    for name, run in reversed(runs.items()):
        axes.plot(run.times, run["slip"], linewidth=0.8, label=name)
    axes.set_xlabel("t (s)")
    axes.set_ylabel("slip (m/s)")
    figure.legend(loc="outside upper left", ncols=3)
    return figure
