"""Draw the figure of the first page, docs/_static/drift.svg: `python docs/figures.py`.

A pendulum of 1 m, released from the horizontal, three times: as index reduction leaves it, with
Baumgarte's stabilisation, and as daesolve takes it. IDAS integrates the first two, to 1e-10. The
third measures the energy and does not drive it, so that its drift proves something. On the left
is what a user sees, on the right what counts: the distance from the closed form.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipj, ellipk

import daesolve as ds

HALF = np.sin(np.pi / 4)  # of the amplitude, a right angle
WANTED = Path(__file__).parent / "_static" / "drift.svg"
RUNS = {
    "index 1, as reduced": (ds.Index1(), ds.Idas(rtol=1e-10, atol=1e-10), 1e3, "#c44e52"),
    "index 1, Baumgarte": (ds.Index1(rate=10.0), ds.Idas(rtol=1e-10, atol=1e-10), 1e3, "#dd8452"),
    "daesolve, energy not driven": (
        ds.Feedback(rates={"energy": None}),
        ds.Taylor(),
        1e5,
        "#1f77b4",
    ),
}


def pendulum() -> ds.MechanicalSystem:
    """Pose a point mass on a rod of 1 m."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(1.0, "kg"), length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)],
    )


def angle(times: np.ndarray) -> np.ndarray:
    """Return the angle from the downward vertical, released at a right angle."""
    sine = ellipj(ellipk(HALF**2) - np.sqrt(9.81) * times, HALF**2)[0]
    return 2 * np.arcsin(HALF * sine)


def worst_so_far(run: ds.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Return decades in tenths, and the largest distance from the closed form up to then."""
    exact = angle(run.times)
    distance = np.hypot(run["x"] - np.sin(exact), run["y"] + np.cos(exact))
    times = np.geomspace(1.0, run.end_time, 10 * round(np.log10(run.end_time)) + 1)
    worst = np.maximum.accumulate(distance)
    return times, worst[np.searchsorted(run.times, times * (1 + 1e-12)) - 1]


def draw() -> None:
    """Run the pendulum three times and draw what became of it."""
    figure, (drift, error) = plt.subplots(
        1, 2, figsize=(9.0, 3.6), layout="constrained", sharex=True
    )
    system = pendulum()
    for label, (formulation, solver, until, colour) in RUNS.items():
        run = ds.solve(
            system,
            until=until,
            initial={"x": 1.0, "y": 0.0, "x_dot": 0.0},
            formulation=formulation,
            solver=solver,
            at=ds.every(0.1),
        )
        drift.loglog(*np.array(run.drift["energy"].history).T, color=colour, label=label)
        error.loglog(*worst_so_far(run), color=colour)
        off = worst_so_far(run)[1][-1]
        print(
            f"{label}: {until:g} s, energy {run.drift['energy'].max_relative:.1e}, {off:.1e} m off"
        )
    drift.set(xlim=(1.0, 1e5), ylim=(1e-17, 1.0), xlabel="t (s)", ylabel="energy drift, relative")
    error.set(ylim=(1e-17, 1.0), xlabel="t (s)", ylabel="distance from the closed form (m)")
    drift.legend(loc="upper left", frameon=False, fontsize="small")
    for axes in (drift, error):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(WANTED, metadata={"Date": None})


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "daesolve"
    draw()
