"""A pendulum with a wind and a wall, which the tests of live pages run."""

from __future__ import annotations

import daesolve as ds

q, u = ds.coordinates(x="m", y="m"), ds.inputs(wind=(0.0, "N"))
p = ds.parameters(
    mass=(1.0, "kg", ds.Interval(0.0, open_low=True)),
    length=(1.0, "m"),
    gravity=(9.81, "m/s^2"),
    wall=(0.0, "m"),
)
PENDULUM = ds.MechanicalSystem(
    q,
    p,
    kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
    potential=p.mass * p.gravity * q.y,
    goals=[
        ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2),
        ds.Contact("wall_contact", q.x - p.wall, restitution=0.8, closed=False),
    ],
    force={"x": u.wind},
    inputs=u,
)
START = {"x": 0.9}
END = 5.0


def run(**options: object) -> ds.Trajectory:
    """Return the motion of the pendulum."""
    return ds.solve(PENDULUM, END, initial=START, guess={"y": -0.4}, **options)
