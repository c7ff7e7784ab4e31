"""Systems with periodic motions that are known in closed form or to many digits."""

import casadi as ca

import daesolve as ds


def pendulum() -> ds.MechanicalSystem:
    """A plane pendulum by its angle, of length 1 m."""
    q = ds.coordinates(theta="rad")
    return ds.MechanicalSystem(q, kinetic=q.dot.theta**2 / 2, potential=-9.81 * ca.cos(q.theta))


def rod_pendulum() -> ds.MechanicalSystem:
    """The same in Cartesian coordinates."""
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod])


def walker() -> ds.MechanicalSystem:
    """The simplest walker: Garcia, Chatterjee, Ruina, Coleman, J. Biomech. Eng. 120 (1998) 281."""
    q, armed = ds.coordinates(theta="rad", phi="rad"), ds.discrete(armed=0.0)
    p = ds.parameters(slope=(0.009, "rad"))
    stance, rate = q.theta, q.dot.theta
    fall = ca.sin(stance - p.slope)
    swing = fall + ca.sin(q.phi) * (rate**2 - ca.cos(stance - p.slope))
    cosine = ca.cos(2 * stance)
    exchange = ds.Reset(
        {
            "theta": -stance,
            "phi": -2 * stance,
            "theta_dot": cosine * rate,
            "phi_dot": cosine * (1 - cosine) * rate,
            "armed": 0.0,
        }
    )
    # The swing leg passes the ground beside the stance leg too, which does not count.
    guard = armed.armed * (q.phi - 2 * stance) - (1 - armed.armed)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(rate**2 + q.dot.phi**2) / 2,
        force={"theta": fall, "phi": swing},
        discrete=armed,
        events=[
            ds.Event("arm", stance + 0.05, ds.FALLING, ds.Reset({"armed": 1.0})),
            ds.Event("strike", guard, ds.RISING, exchange),
        ],
    )
