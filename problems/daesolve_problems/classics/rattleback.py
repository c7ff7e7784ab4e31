"""The rattleback: an ellipsoid on a plane whose axes of inertia are skew to those of its surface.

A rigid body with the surface of an ellipsoid rolls on a rough level plane without slip; nothing
resists its rolling or its turning about the vertical, and contact is not lost. The three unknown
reactions are the components of the force of the plane at the contact, none of which does work. The
energy is conserved, but not the angular momentum about the vertical, so the body can reverse its
spin.

x, y, z is the mass centre, z downwards, the plane at z = 0; v1, v2, v3 its velocity and w1, w2, w3
the angular velocity, all along axes 1, 2, 3 of the body, which are those of the ellipsoid
(semi-axes a, b, c). The body is turned by gamma (about the vertical), alpha (about 1) and beta
(about 2). With the vertical mu as the body sees it, the ellipsoid touches the plane in

    (a^2 mu1, b^2 mu2, c^2 mu3) / eps,  eps = sqrt(a^2 mu1^2 + b^2 mu2^2 + c^2 mu3^2),

seen from its centre, below which the mass centre lies by h. Its inertia about the mass centre is
A, B, C with the entry D in row 1, column 2. It rolls without slip:

    clearance -(z + eps - h mu3) = 0,  and no velocity of the point of contact along the plane.

The reactions are the forces of the plane: upwards, along the heading gamma, to its right. Spun
against its sense, it starts to rattle and turns round, with its energy unchanged.

Kane, Levinson, Realistic mathematical modeling of the rattleback, Int. J. Non-Linear Mech. 17
(1982) 175-186: its equations, parameters and names.
"""

import casadi as ca

import daesolve as ds
from daesolve_problems.classics import pictures


def ellipsoid() -> ds.MechanicalSystem:
    """Pose the rattleback by its mass centre, its angles and its velocities along its own axes."""
    q = ds.coordinates(x="m", y="m", z="m", alpha=ds.ANGLE, beta=ds.ANGLE, gamma=ds.ANGLE)
    v = ds.velocities(v1="m/s", v2="m/s", v3="m/s", w1="rad/s", w2="rad/s", w3="rad/s")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
        a=(0.2, "m", ds.POSITIVE),
        b=(0.03, "m", ds.POSITIVE),
        c=(0.02, "m", ds.POSITIVE),
        h=(0.01, "m"),
        A=(0.0002, "kg m^2", ds.POSITIVE),
        B=(0.0016, "kg m^2", ds.POSITIVE),
        C=(0.0017, "kg m^2", ds.POSITIVE),
        D=(-0.00002, "kg m^2"),
    )
    tilted, turned = _tilt(q.alpha, q.beta), _turn(q.gamma)
    moving, spinning = v.vector[:3], v.vector[3:]
    ahead = v.w3 * ca.cos(q.beta) - v.w1 * ca.sin(q.beta)
    kinematics = ca.vertcat(
        turned @ tilted @ moving,
        v.w1 * ca.cos(q.beta) + v.w3 * ca.sin(q.beta),
        v.w2 - ca.tan(q.alpha) * ahead,
        ahead / ca.cos(q.alpha),
    )
    down = tilted[2, :].T
    squares = ca.vertcat(p.a, p.b, p.c) ** 2
    reach = ca.sqrt(ca.dot(squares, down**2))
    contact = squares * down / reach - ca.vertcat(0, 0, p.h)
    slipping = tilted[:2, :] @ (moving + ca.cross(spinning, contact))
    skew = p.A * v.w1**2 + p.B * v.w2**2 + p.C * v.w3**2 + 2 * p.D * v.w1 * v.w2
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(p.mass * ca.sumsqr(moving) + skew) / 2,
        potential=-p.mass * p.gravity * q.z,
        velocities=v,
        kinematics=kinematics,
        goals=[
            ds.Holonomic("normal", -(q.z + reach - p.h * down[2]), unit="N"),
            ds.Nonholonomic("longitudinal", slipping[0], unit="N"),
            ds.Nonholonomic("lateral", slipping[1], unit="N"),
        ],
        outputs={
            "delta": (ca.acos(down[2]), "rad"),
            "spin": (ca.dot(down, spinning), "rad/s"),
        },
    )


def _tilt(alpha: ca.SX, beta: ca.SX) -> ca.SX:
    """Return the axes of the body, seen along the heading, as columns."""
    s1, c1, s2, c2 = ca.sin(alpha), ca.cos(alpha), ca.sin(beta), ca.cos(beta)
    return ca.vertcat(
        ca.horzcat(c2, 0, s2),
        ca.horzcat(s1 * s2, c1, -s1 * c2),
        ca.horzcat(-c1 * s2, s1, c1 * c2),
    )


def _turn(gamma: ca.SX) -> ca.SX:
    sine, cosine = ca.sin(gamma), ca.cos(gamma)
    return ca.vertcat(ca.horzcat(cosine, -sine, 0), ca.horzcat(sine, cosine, 0), ca.DM([[0, 0, 1]]))


HALF_A_DEGREE = float(ca.pi) / 360


def _spun(name: str, w3: float, until: float, note: str) -> ds.Case:
    start = {"alpha": HALF_A_DEGREE, "beta": HALF_A_DEGREE, "w1": 0.0, "w2": 0.0, "w3": w3}
    return ds.Case(name, start=start, until=until, note=note)


problem = ds.Problem(
    "rattleback",
    title="The rattleback, or celt",
    models={"ellipsoid": ellipsoid},
    sources=[
        "T. R. Kane, D. A. Levinson, Realistic mathematical modeling of the rattleback, "
        "Int. J. Non-Linear Mech. 17 (1982) 175-186",
    ],
    drawing=pictures.rattleback,
    cases=[
        _spun("reversal", -5.0, 20.0, "spun against its sense by 5 rad/s, tilted by half a degree"),
        _spun("sense", 5.0, 20.0, "spun in its sense; without friction it turns round as well"),
    ],
)
