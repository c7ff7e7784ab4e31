"""The vehicle with its two skates as constraints, and its reduced motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Parameters, SymbolVector
from daesolve_problems.bogies.reduction import Turned, square_of_speed

Named = Mapping[str, ca.SX] | SymbolVector

OPEN = "both skates hold the vehicle in one direction, so its direction of motion is open"
LEAST_DISTANCE = 1e-7
"""sqrt(cos^2 theta_1 + cos^2 theta_2) below which the reduced model has fewer than nine digits."""


def full() -> ds.MechanicalSystem:
    """Pose the vehicle with its two skates as constraints; the C_k are measured, never driven."""
    q, p = _coordinates(), _parameters()
    v = ds.velocities(
        v_1="m/s",
        v_2="m/s",
        psi_dot="rad/s",
        theta_dot_1="rad/s",
        theta_dot_2="rad/s",
    )
    along = Turned.of(q, p)
    skates = [
        ds.Nonholonomic(f"skate_{k}", slip, unit="N") for k, slip in enumerate(_slips(q, p, v), 1)
    ]
    level = along.momentum(v) / along.length
    turning = {f"integral_{k}": v.psi_dot + v[f"theta_dot_{k}"] for k in (1, 2)}
    forces = [goal.reaction for goal in skates]
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=_kinetic(p, v),
        velocities=v,
        kinematics=ca.vertcat(_carried(q.psi, v), v.vector[2:]),
        goals=[*skates, *(ds.Invariant(name, value) for name, value in turning.items())],
        independent={"level": level, **{f"turning_{k}": turning[f"integral_{k}"] for k in (1, 2)}},
        outputs={"resultant": (ca.norm_2(_resultant(q, forces)), "N")},
    )


def reduced() -> ds.ControlSystem:
    """Pose the motion reduced by constraints and integrals, without multipliers.

    Its states `level` (with the sign of the motion), `integral_1` and `integral_2` are constants;
    the velocities are outputs. There is no slip to measure, because N has none by construction.
    """
    x = ds.states(
        x="m",
        y="m",
        psi="rad",
        theta_1="rad",
        theta_2="rad",
        level="m/s",
        integral_1="rad/s",
        integral_2="rad/s",
    )
    p = _parameters()
    v = Turned.of(x, p).velocities(x)
    carried = _carried(x.psi, v)
    rates = {"x": carried[0], "y": carried[1], "psi": v["psi_dot"]}
    rates |= {f"theta_{k}": v[f"theta_dot_{k}"] for k in (1, 2)}
    distance = ca.cos(x.theta_1) ** 2 + ca.cos(x.theta_2) ** 2
    return ds.ControlSystem(
        x,
        rates,
        p,
        goals=[
            ds.Invariant("energy", _kinetic(p, v)),
            *(ds.Invariant(f"integral_{k}", x[f"integral_{k}"]) for k in (1, 2)),
        ],
        events=[ds.Event("degenerate", distance - LEAST_DISTANCE**2, ds.FALLING, ds.Stop(OPEN))],
        outputs={
            **{name: (v[name], "m/s") for name in ("v_1", "v_2")},
            **{name: (v[name], "rad/s") for name in ("psi_dot", "theta_dot_1", "theta_dot_2")},
            "energy": (_kinetic(p, v), "J"),
            "resultant": (ca.norm_2(_push(x, p, v)), "N"),
        },
    )


def _coordinates() -> DifferentiableVector:
    return ds.coordinates(x="m", y="m", psi=ds.ANGLE, theta_1=ds.ANGLE, theta_2=ds.ANGLE)


def _parameters() -> Parameters:
    return ds.parameters(
        mass=(3.0, "kg", ds.POSITIVE),
        centre=(0.2, "m"),
        front=(1.0, "m", ds.POSITIVE),
        rear=(0.8, "m", ds.POSITIVE),
        bogie_inertia=(0.3, "kg m^2", ds.POSITIVE),
        inertia=(2.1, "kg m^2", ds.POSITIVE),
    )


def _carried(psi: ca.SX, v: Named) -> ca.SX:
    """Return x' and y'."""
    cosine, sine = ca.cos(psi), ca.sin(psi)
    return ca.vertcat(cosine * v["v_1"] - sine * v["v_2"], sine * v["v_1"] + cosine * v["v_2"])


def _slips(q: Named, p: Parameters, v: Named) -> list[ca.SX]:
    """Return the velocities of the pivots along the normals of the skates."""
    return [
        (v["v_1"] - arm * v["psi_dot"]) * ca.cos(angle) + v["v_2"] * ca.sin(angle)
        for angle, arm in ((q["theta_1"], p.front), (q["theta_2"], -p.rear))
    ]


def _kinetic(p: Parameters, v: Named) -> ca.SX:
    """Return T; `inertia` contains that of both bogies."""
    turning = sum((v["psi_dot"] + v[f"theta_dot_{k}"]) ** 2 for k in (1, 2))
    return (p.mass * square_of_speed(p, v) + p.bogie_inertia * turning) / 2


def _resultant(q: Named, forces: Sequence[ca.SX]) -> ca.SX:
    """Return the sum of the skates' forces, in the axes of the frame."""
    angles = [q[f"theta_{k}"] for k in (1, 2)]
    return sum(
        (u * ca.vertcat(ca.cos(a), ca.sin(a)) for u, a in zip(forces, angles, strict=True)),
        ca.SX(2, 1),
    )


def _push(x: SymbolVector, p: Parameters, v: Named) -> ca.SX:
    """Return the mass times the acceleration of its centre, in the axes of the frame."""
    angles = ca.vertcat(x.theta_1, x.theta_2)
    rates = ca.vertcat(v["theta_dot_1"], v["theta_dot_2"])
    centre = ca.vertcat(v["v_1"], v["v_2"] + p.centre * v["psi_dot"])
    turned = v["psi_dot"] * ca.vertcat(-centre[1], centre[0])
    return p.mass * (ca.jtimes(centre, angles, rates) + turned)
