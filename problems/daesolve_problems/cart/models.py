"""The cart's equations: `wheels`, and `skates`, in which the wheels' rotation is substituted.

The origin of the moving frame has the velocity v = (v_1, v_2) in its axes, and the frame is turned
by psi. Wheel pair k hangs on it at the pivot r_k and is turned against it by theta_k. Its own axes
are n_k, along the axle, and tau_k = e_z x n_k, across it. There the pivot has the velocity
v_k = (v_n, v_tau), and the pair's mass centre R_k and the middle of its axle rho_k are fixed:

    v_k = v + psi' e_z x r_k,  omega_k = psi' + theta_k'                                     (2.2)

    T = m_f v^2 / 2 + m_f psi' (R_f x v) . e_z + I_f psi'^2 / 2
        + sum_k (m_k v_k^2 / 2 + m_k omega_k (R_k x v_k) . e_z + j_k omega_k^2 / 2
                 + i_k (phi_k_1'^2 + phi_k_2'^2) / 2)                                        (2.1)
    V = sum_k spring_k theta_k^2 / 2

    skate_k      v_k . n_k + omega_k (e_z x rho_k) . n_k = 0                                 (2.4)
    rolling_k_i  v_k . tau_k + omega_k (e_z x (rho_k +- l_k n_k)) . tau_k + h_k phi_k_i' = 0

I_f is taken about the origin, j_k about the pivot, of the whole pair. A wheel has the radius h_k
and the moment i_k about its axle, and stands l_k from the middle of it. Reactions are forces of the
ground: on both wheels along the axle (`skate_k`) and on each across it (`rolling_k_i`).
`torque_k_i` turns a wheel, and nothing else.

In `skates` the phi_k_i' of `rolling_k_i` are substituted in energy and forces. The result is a
sleigh whose skate k has the mass m_k + 2 i_k / h_k^2, because a pair has two wheels, (3.13); the
phi_k_i are quadratures. The force that keeps that skate on its line is not the force on the wheels:

    skate_k_apparent = skate_k + omega_k (phi_k_1' + phi_k_2') i_k / h_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Parameters, SymbolVector

PAIRS = (1, 2)
SIDES = {1: 1.0, 2: -1.0}
"""On which side of the middle of its axle a wheel stands."""
WHEELS = tuple(f"{k}_{i}" for k in PAIRS for i in SIDES)
TURNS = tuple(f"phi_{wheel}" for wheel in WHEELS)
"""The angles of the wheels."""
MASS = ("kg", ds.POSITIVE)
INERTIA = ("kg m^2", ds.POSITIVE)
LENGTH = ("m", ds.POSITIVE)
PLACE = ("m", ds.Interval())
PAIR = {
    "pivot_x": PLACE,
    "pivot_y": PLACE,
    "pair_mass": MASS,
    "pair_inertia": INERTIA,
    "pair_centre_n": PLACE,
    "pair_centre_tau": PLACE,
    "axle_centre_n": PLACE,
    "axle_centre_tau": PLACE,
    "wheel_radius": LENGTH,
    "half_track": LENGTH,
    "wheel_inertia": INERTIA,
    "spring": ("N m/rad", ds.NON_NEGATIVE),
}
"""The parameters of a wheel pair, with their units and ranges."""
DEFAULTS = {
    1: (0.1, 0.9, 0.7, 0.25, 0.05, -0.12, 0.03, -0.2, 0.3, 0.4, 0.05, 0.0),
    2: (-0.15, -0.8, 0.9, 0.3, -0.04, 0.1, 0.02, 0.15, 0.25, 0.35, 0.04, 0.0),
}


@dataclass(frozen=True, eq=False)
class Pair:
    """The motion of a wheel pair, in its own axes.

    Parameters
    ----------
    number
        k
    along, across
        The velocity of its pivot along the axle (n) and across it (tau), m/s.
    turning
        omega_k, rad/s.
    spins
        The rates of its wheels, rad/s.
    p
        The parameters of the cart.
    """

    number: int
    along: ca.SX
    across: ca.SX
    turning: ca.SX
    spins: tuple[ca.SX, ...]
    p: Parameters

    def __getitem__(self, name: str) -> ca.SX:
        """Return one of its parameters."""
        return self.p[f"{name}_{self.number}"]

    @property
    def kinetic(self) -> ca.SX:
        """Its kinetic energy, J."""
        centre = (self["pair_centre_n"], self["pair_centre_tau"])
        plane = _plane_energy(
            self["pair_mass"], self["pair_inertia"], centre, (self.along, self.across), self.turning
        )
        return plane + self["wheel_inertia"] * sum(spin**2 for spin in self.spins) / 2

    @property
    def goals(self) -> list[ds.Nonholonomic]:
        """The constraints that keep its wheels from slipping."""
        k = self.number
        sideways = self.along - self.turning * self["axle_centre_tau"]
        goals = [ds.Nonholonomic(f"skate_{k}", sideways, unit="N")]
        for (i, side), spin in zip(SIDES.items(), self.spins, strict=True):
            arm = self["axle_centre_n"] + side * self["half_track"]
            slip = self.across + self.turning * arm + self["wheel_radius"] * spin
            goals.append(ds.Nonholonomic(f"rolling_{k}_{i}", slip, unit="N"))
        return goals


def wheels() -> ds.MechanicalSystem:
    """Pose the cart with wheels that turn: nine coordinates, six constraints."""
    q = ds.coordinates(
        x="m", y="m", psi=ds.ANGLE, theta_1="rad", theta_2="rad", **dict.fromkeys(TURNS, ds.ANGLE)
    )
    v = ds.velocities(
        v_1="m/s", v_2="m/s", psi_dot="rad/s", theta_dot_1="rad/s", theta_dot_2="rad/s",
        **{f"phi_dot_{wheel}": "rad/s" for wheel in WHEELS},
    )  # fmt: skip
    p = parameters()
    sine, cosine = ca.sin(q.psi), ca.cos(q.psi)
    pairs = [_pair(q, v, p, k) for k in PAIRS]
    centre = (p.frame_centre_x, p.frame_centre_y)
    frame = _plane_energy(p.frame_mass, p.frame_inertia, centre, (v.v_1, v.v_2), v.psi_dot)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=sum((pair.kinetic for pair in pairs), frame),
        potential=(p.spring_1 * q.theta_1**2 + p.spring_2 * q.theta_2**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(
            cosine * v.v_1 - sine * v.v_2, sine * v.v_1 + cosine * v.v_2, v.vector[2:]
        ),
        force={f"phi_dot_{wheel}": p[f"torque_{wheel}"] for wheel in WHEELS},
        goals=[goal for pair in pairs for goal in pair.goals],
    )


def skates() -> ds.MechanicalSystem:
    """Pose the cart with skates instead of wheels: five velocities, two constraints."""
    return ds.nonholonomic.eliminate(wheels(), TURNS).system


def parameters() -> Parameters:
    """Declare the parameters: of the frame in its axes, of a pair in its own."""
    entries: dict[str, tuple[float, str, ds.Interval]] = {
        "frame_mass": (3.0, *MASS),
        "frame_inertia": (1.7, *INERTIA),
        "frame_centre_x": (0.2, *PLACE),
        "frame_centre_y": (-0.1, *PLACE),
    }
    for k, values in DEFAULTS.items():
        for (name, (unit, interval)), value in zip(PAIR.items(), values, strict=True):
            entries[f"{name}_{k}"] = (value, unit, interval)
    entries |= {f"torque_{wheel}": (0.0, "N m", ds.Interval()) for wheel in WHEELS}
    return ds.parameters(**entries)


def _plane_energy(
    mass: ca.SX,
    inertia: ca.SX,
    centre: tuple[ca.SX, ca.SX],
    velocity: tuple[ca.SX, ca.SX],
    turning: ca.SX,
) -> ca.SX:
    """Return the kinetic energy of a body that moves in the plane, J.

    Parameters
    ----------
    mass, inertia
        kg, and about the vertical through a point of it, kg m^2.
    centre
        From that point to the mass centre, in axes of the body, m.
    velocity, turning
        Of that point in these axes, m/s, and the angular velocity, rad/s.
    """
    moment = centre[0] * velocity[1] - centre[1] * velocity[0]
    return (
        mass * (velocity[0] ** 2 + velocity[1] ** 2) / 2
        + mass * turning * moment
        + inertia * turning**2 / 2
    )


def _pair(q: DifferentiableVector, v: SymbolVector, p: Parameters, k: int) -> Pair:
    sine, cosine = ca.sin(q[f"theta_{k}"]), ca.cos(q[f"theta_{k}"])
    pivot_1 = v.v_1 - v.psi_dot * p[f"pivot_y_{k}"]
    pivot_2 = v.v_2 + v.psi_dot * p[f"pivot_x_{k}"]
    return Pair(
        number=k,
        along=cosine * pivot_1 + sine * pivot_2,
        across=cosine * pivot_2 - sine * pivot_1,
        turning=v.psi_dot + v[f"theta_dot_{k}"],
        spins=tuple(v[f"phi_dot_{k}_{i}"] for i in SIDES),
        p=p,
    )
