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


def bouncing_ball(restitution: float = 0.5) -> ds.MechanicalSystem:
    """A ball above a table that goes by Gamma sin t; gravity is 1 m/s^2."""
    q, p = ds.coordinates(y="m"), ds.parameters(gamma=(1.3, "m"))
    table = p.gamma * ca.sin(ds.time)
    speed = p.gamma * ca.cos(ds.time)
    bounce = ds.Reset({"y_dot": (1 + restitution) * speed - restitution * q.dot.y})
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.y**2 / 2,
        potential=q.y,
        events=[ds.Event("bounce", q.y - table, ds.FALLING, bounce)],
    )


def rimless_wheel(alpha: float, slope: float, gravity: float, length: float) -> ds.MechanicalSystem:
    """A wheel of spokes 2 alpha apart that rolls down a slope from spoke to spoke."""
    q = ds.coordinates(theta="rad")
    p = ds.parameters(slope=(slope, "rad"))
    strike = ds.Reset(
        {"theta": q.theta - 2 * alpha, "theta_dot": float(ca.cos(2 * alpha)) * q.dot.theta}
    )
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.theta**2 / 2,
        potential=gravity / length * ca.cos(q.theta),
        events=[ds.Event("strike", q.theta - alpha - p.slope, ds.RISING, strike)],
    )


def driven_sleigh(bias: float = 0.0) -> ds.ControlSystem:
    """The sleigh of Chaplygin with friction, driven by a torque, by its speeds."""
    s = ds.states(x="m", y="m", psi="rad", u="m/s", omega="rad/s")
    torque = 0.3 * ca.cos(3 * ds.time) + bias
    return ds.ControlSystem(
        s,
        {
            "x": s.u * ca.cos(s.psi),
            "y": s.u * ca.sin(s.psi),
            "psi": s.omega,
            "u": 0.3 * s.omega**2 - 0.1 * s.u,
            "omega": (-0.3 * s.u * s.omega - 0.02 * s.omega + torque) / (0.05 + 0.3**2),
        },
    )


def bladed_sleigh(bias: float = 0.0) -> ds.MechanicalSystem:
    """The same with the blade as a constraint and its reaction."""
    q = ds.coordinates(x="m", y="m", psi="rad")
    sine, cosine = ca.sin(q.psi), ca.cos(q.psi)
    x_dot, y_dot = q.dot.x - 0.3 * sine * q.dot.psi, q.dot.y + 0.3 * cosine * q.dot.psi
    along = cosine * q.dot.x + sine * q.dot.y
    torque = 0.3 * ca.cos(3 * ds.time) + bias - 0.02 * q.dot.psi
    return ds.MechanicalSystem(
        q,
        kinetic=(x_dot**2 + y_dot**2) / 2 + 0.05 * q.dot.psi**2 / 2,
        force={"x": -0.1 * along * cosine, "y": -0.1 * along * sine, "psi": torque},
        goals=[ds.Nonholonomic("blade", cosine * q.dot.y - sine * q.dot.x, unit="N")],
    )


def belt(
    damping: float = 0.0, static: float = 0.4, sliding: float = 0.3, speed: float = 0.1
) -> ds.MechanicalSystem:
    """A mass of 1 kg on a belt, held by a spring of 100 N/m, with a load of 10 N."""
    q, sticks = ds.coordinates(x="m"), ds.discrete(sticks=0.0)
    p = ds.parameters(speed=(speed, "m/s"))
    stick, load = sticks.sticks, 10.0
    spring = -100 * q.x - damping * q.dot.x
    force = (1 - stick) * (spring + sliding * load)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2,
        force={"x": force},
        discrete=sticks,
        events=[
            ds.Event(
                "slip",
                stick * (100 * q.x + damping * q.dot.x - static * load) - (1 - stick),
                ds.RISING,
                ds.Reset({"sticks": 0.0}),
            ),
            ds.Event(
                "stick",
                (1 - stick) * (q.dot.x - p.speed) - stick,
                ds.RISING,
                ds.Reset({"sticks": 1.0, "x_dot": p.speed}),
            ),
        ],
    )


def forced(rate: ca.SX, restoring: ca.SX, drive: ca.SX) -> ca.SX:
    """The force of an oscillator."""
    return drive - rate - restoring


def duffing() -> ds.MechanicalSystem:
    """x'' + 0.1 x' + x + x^3 = 0.5 cos w t."""
    q, p = ds.coordinates(x="m"), ds.parameters(w=(1.3, "rad/s"))
    force = forced(0.1 * q.dot.x, q.x + q.x**3, 0.5 * ca.cos(p.w * ds.time))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})


def forced_pendulum() -> ds.MechanicalSystem:
    """theta'' + 0.5 theta' + sin theta = F cos(2 t / 3)."""
    q, p = ds.coordinates(theta="rad"), ds.parameters(F=(1.0, "1/s^2"))
    force = forced(0.5 * q.dot.theta, ca.sin(q.theta), p.F * ca.cos(2 * ds.time / 3))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.theta**2 / 2, force={"theta": force})


def van_der_pol() -> ds.MechanicalSystem:
    """x'' - 0.3 (1 - x^2) x' + x = F cos 1.25 t."""
    q, p = ds.coordinates(x="m"), ds.parameters(F=(1.0, "m/s^2"))
    force = forced(-0.3 * (1 - q.x**2) * q.dot.x, q.x, p.F * ca.cos(1.25 * ds.time))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})


def impact_oscillator() -> ds.MechanicalSystem:
    """x'' + 0.1 x' + x = F cos 2.8 t beside a wall at 1 m, restitution 0.8."""
    q, p = ds.coordinates(x="m"), ds.parameters(F=(7.0, "m/s^2"))
    force = forced(0.1 * q.dot.x, q.x, p.F * ca.cos(2.8 * ds.time))
    wall = ds.Event("wall", q.x - 1, ds.RISING, ds.Reset({"x_dot": -0.8 * q.dot.x}))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force}, events=[wall])
