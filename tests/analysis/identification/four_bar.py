"""A four-bar linkage of three uniform rods, on a horizontal table, driven by a torque and damped.

The crank and the rocker turn about fixed pivots, so their masses act only through their moments of
inertia about these: inertia_k + mass_k length_k^2 / 4.
"""

import casadi as ca

import daesolve as ds

LENGTHS = {"crank": 0.3, "coupler": 0.9, "rocker": 0.7}


def linkage() -> ds.MechanicalSystem:
    """Pose the rods by their angles."""
    q = ds.coordinates(**dict.fromkeys(LENGTHS, ds.ANGLE))
    p = ds.parameters(
        **{f"length_{rod}": (value, "m", ds.POSITIVE) for rod, value in LENGTHS.items()},
        **{f"mass_{rod}": (value, "kg", ds.POSITIVE) for rod, value in LENGTHS.items()},
        **{
            f"inertia_{rod}": (value**3 / 12, "kg m^2", ds.POSITIVE)
            for rod, value in LENGTHS.items()
        },
        base=(0.8, "m", ds.POSITIVE),
        torque=(0.5, "N m"),
        damping=(0.1, "N m s", ds.NON_NEGATIVE),
    )
    rods = {rod: p[f"length_{rod}"] * _along(q[rod]) for rod in LENGTHS}
    centres = {
        "crank": rods["crank"] / 2,
        "coupler": rods["crank"] + rods["coupler"] / 2,
        "rocker": ca.vertcat(p.base, 0) + rods["rocker"] / 2,
    }
    kinetic = ca.SX(0)
    for rod, centre in centres.items():
        speed = ca.jtimes(centre, q.vector, q.dot.vector)
        kinetic += p[f"mass_{rod}"] * ca.sumsqr(speed) / 2
        kinetic += p[f"inertia_{rod}"] * q.dot[rod] ** 2 / 2
    gap = rods["crank"] + rods["coupler"] - rods["rocker"] - ca.vertcat(p.base, 0)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        force={"crank": p.torque - p.damping * q.dot.crank},
        goals=[ds.Holonomic("loop_x", gap[0]), ds.Holonomic("loop_y", gap[1])],
    )


def _along(angle: ca.SX) -> ca.SX:
    return ca.vertcat(ca.cos(angle), ca.sin(angle))


problem = ds.Problem(
    "driven-four-bar",
    title="A driven four-bar linkage",
    models={"rods": linkage},
    cases=[
        ds.Case("start", start={"crank": 1.0, "coupler": 0.6, "rocker": 1.9}, until=4.0, rate=50.0)
    ],
)
