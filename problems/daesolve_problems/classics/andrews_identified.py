"""Andrews' squeezing mechanism, identified: its spring and its motor from two measured angles.

The mechanism is that of the problem `andrews`. The angles beta of the crank and gamma of the plate
that the spring pulls are measured a hundred times within 0.03 s, with normal noise. The stiffness
c0 of the spring and the torque mom of the motor are unknown, and so are the reactions of the loops;
the motor works, so energy is not conserved. The case begins 10 % beside both, with
a motion that soon turns at other times than the measured one.

One motion over the whole time goes astray from there, because its misfit has many minima. In
segments that begin near the data, each a motion that closes the three loops, it does not. The
analysis `identification` shows what is found with noise, and with none. Both unknowns are strongly
correlated, because a stiffer spring slows the crank much as a weaker motor does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.plugins.bound_case import BoundCase
from daesolve_problems.classics import andrews
from daesolve_problems.figures import Document, panels_over_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH = {"c0": 4530.0, "mom": 0.033}
BESIDE = 1.1
"""By how much both unknowns of the case are too large."""
NOISE = {"beta": 1e-2, "gamma": 1e-3}
"""The standard deviations of the measured angles, rad."""
ROWS = 100
SEED = 1


def measurements(noisy: bool = True) -> dict[str, np.ndarray]:
    """Return the angles of the true motion, with noise that is the same each time."""
    case = problem.case().changed(TRUTH)
    times = np.linspace(0.0, case.case.until, ROWS + 1)[1:]
    run, generator = case.solve(at=times), np.random.default_rng(SEED)
    data: dict[str, np.ndarray] = {"time": times}
    for name, size in NOISE.items():
        data[name] = run[name] + noisy * size * generator.standard_normal(ROWS)
    return data


def identification(case: BoundCase) -> ds.Answer:
    """Identify both unknowns from noisy and from exact rows."""
    noisy = ds.identify(case, measurements(), list(TRUTH), noise=NOISE)
    exact = ds.identify(case, measurements(noisy=False), list(TRUTH), noise=NOISE)
    values: dict[str, Any] = {
        name: {
            "truth": truth,
            "found": noisy[name],
            "interval": list(noisy.interval(name)),
            "from_exact_rows": exact[name],
        }
        for name, truth in TRUTH.items()
    }
    values["correlation"] = float(noisy.correlations[0, 1])
    values["segments"] = noisy.segments
    return ds.Answer(values, {"identified": _drawn(noisy, None)})


def identified(document: Document) -> Figure:
    """Draw the data, the motion of the case, and the fit that the search finds from there."""
    found = ds.identify(problem.case(), measurements(), list(TRUTH), noise=NOISE)
    return _drawn(found, document)


def _drawn(found: ds.analysis.Identification, document: Document | None) -> Figure:
    figure, (crank, plate, left) = panels_over_time(3)
    for place, name in ((crank, "beta"), (plate, "gamma")):
        if document is not None:
            states = document["states"][name]
            place.plot(document["times"], states, "--", color="0.6", label="before")
        place.plot(found.times, found.measured[name], ".", markersize=3, label="data")
        place.plot(found.times, found.outputs[name], linewidth=1.2, label="fit")
        place.set_ylabel(f"{name} (rad)")
        left.plot(found.times, found.residuals[name] / found.noise[name], ".", label=name)
    crank.legend()
    left.legend()
    left.set_ylabel("residual / noise")
    return figure


_start = andrews.problem.case().case
problem = ds.Problem(
    "andrews-identified",
    title="Andrews' squeezing mechanism, identified from measurements",
    models={"angles": andrews.bodies},
    sources=list(andrews.problem.sources),
    analyses={"identification": identification},
    figures={"identified": identified},
    drawing=andrews.drawing,
    cases=[
        ds.Case(
            "beside",
            parameters={name: BESIDE * value for name, value in TRUTH.items()},
            start=dict(_start.start),
            until=_start.until,
            rate=_start.rate,
            note="both unknowns are 10 % too large at first",
        )
    ],
)
