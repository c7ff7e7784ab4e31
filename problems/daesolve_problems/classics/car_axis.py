"""The car axis: a rod whose ends ride on springs, the right wheel on a bumpy road.

A car's mass sits half at either end of a massless rod of constant length, which stands on two
springs without damping. The left spring stands on level ground, the right one on a road that goes
up and down, and the left end may move only across the line through the feet of the springs. The two
unknown reactions are the force in the rod and the force of that guide, both without friction.
Nothing is conserved: the road, which moves in time, does work.

The left wheel stays at the origin, the right one at (xb, yb) = (sqrt(L^2 - yb^2), r sin(w t)). The
axis from (xl, yl) to (xr, yr) has the length L, and the left chassis moves along the normal of the
line through the wheels:

    xl xb + yl yb = 0                        lateral
    (xl - xr)^2 + (yl - yr)^2 - L^2 = 0      axis

Half of the car's mass, eps^2 M / 2, sits at each end of the axis, on a spring of unit stiffness
whose length at rest is L0. The quantities have no units.
"""

import casadi as ca

import daesolve as ds
from daesolve_problems.classics import pictures


def axis() -> ds.MechanicalSystem:
    """Pose the ends of the axis in Cartesian coordinates, on a road that moves in time."""
    q = ds.coordinates(xl="", yl="", xr="", yr="")
    p = ds.parameters(
        L=(1.0, "", ds.POSITIVE),
        L0=(0.5, "", ds.POSITIVE),
        eps=(1e-2, "", ds.POSITIVE),
        M=(10.0, "", ds.POSITIVE),
        r=0.1,
        w=10.0,
        g=1.0,
    )
    mass = p.eps**2 * p.M / 2
    yb = p.r * ca.sin(p.w * ds.time)
    xb = ca.sqrt(p.L**2 - yb**2)
    left = ca.sqrt(q.xl**2 + q.yl**2)
    right = ca.sqrt((q.xr - xb) ** 2 + (q.yr - yb) ** 2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=mass * ca.sumsqr(q.dot.vector) / 2,
        potential=((left - p.L0) ** 2 + (right - p.L0) ** 2) / 2 + mass * p.g * (q.yl + q.yr),
        goals=[
            ds.Holonomic("lateral", q.xl * xb + q.yl * yb),
            ds.Holonomic("axis", (q.xl - q.xr) ** 2 + (q.yl - q.yr) ** 2 - p.L**2),
        ],
        outputs={"xb": xb, "yb": yb},
    )


problem = ds.Problem(
    "car-axis",
    title="A car axis on a bumpy road",
    models={"axis": axis},
    sources=[
        "S. Schneider, Intégration de systèmes d'équations différentielles raides et "
        "différentielles-algébriques par des méthodes de collocations et méthodes générales "
        "linéaires, thesis, University of Geneva (1994)",
        "F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4, "
        "University of Bari (2008)",
    ],
    drawing=pictures.car_axis,
    cases=[
        ds.Case(
            "road",
            start={
                "xl": 0.0,
                "yl": 0.5,
                "xr": 1.0,
                "yr": 0.5,
                "xl_dot": -0.5,
                "yl_dot": 0.0,
                "xr_dot": -0.5,
                "yr_dot": 0.0,
            },
            until=3.0,
            note="the published start",
        ),
    ],
)
