"""Verdicts on systems before they move: quasi-holonomic constraints, small velocities."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca

import daesolve as ds

from .case import Case, Values


def skate(wheels: int, kept: bool, rates: bool = False) -> ds.MechanicalSystem:
    """A sleigh with passive wheels across, which its blade keeps at rest: their momentum vanishes.

    Without the blade they turn with the sideways motion, which may not be substituted.
    """
    names = [f"spin_{k}" for k in range(wheels)]
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, **dict.fromkeys(names, ds.ANGLE))
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    if rates:
        side, turning = q.dot.y * c - q.dot.x * s, q.dot.psi
        along = q.dot.x * c + q.dot.y * s
        spins: list[Any] = [q.dot[name] for name in names]
        more: dict[str, Any] = {}
    else:
        rolling = [f"rate_{k}" for k in range(wheels)]
        v = ds.velocities(side="", along="", turning="", **dict.fromkeys(rolling, ""))
        side, along, turning = v.side, v.along, v.turning
        spins = [v[name] for name in rolling]
        kinematics = ca.vertcat(c * along - s * side, s * along + c * side, turning, *spins)
        more = {"velocities": v, "kinematics": kinematics}
    kinetic = 1.3 * (along**2 + side**2) + 0.9 * turning**2
    kinetic += sum((0.2 + 0.1 * k) * spin**2 for k, spin in enumerate(spins))
    goals: list[Any] = [
        ds.Nonholonomic(f"rolling_{k}", (0.3 + 0.1 * k) * spin - side - 0.0 * k * turning)
        for k, spin in enumerate(spins)
    ]
    if kept:
        goals.append(ds.Nonholonomic("blade", side))
    return ds.MechanicalSystem(q, kinetic=kinetic / 2, goals=goals, **more)


def massless() -> ds.MechanicalSystem:
    """A counter with next to no place in the energy: its momentum (y' - x' z) vanishes."""
    q = ds.coordinates(x="m", z="m", y="m")
    v = q.dot
    slip = v.y - q.z * v.x
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.z**2 + slip**2) / 2,
        goals=[ds.Nonholonomic("counter", slip)],
    )


def substitutable(system: Callable[[], Any], names: list[str]) -> Callable[[], Values]:
    def find() -> Values:
        return {"holds": float(bool(ds.nonholonomic.is_quasi_holonomic(system(), names)))}

    return find


def creeping(law: Callable[[Any, Any], Any], eps: float, **more: Any) -> ds.MechanicalSystem:
    """A mass eps on friction of 1, pushed by a law of time and place."""
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=eps * q.dot.x**2 / 2,
        force={"x": law(ds.time, q.x) - q.dot.x},
        **more,
    )


def pair(eps: float, own: float) -> ds.MechanicalSystem:
    """Two velocities whose difference dies out fast, and whose sum slowly."""
    q = ds.coordinates(x="m", y="m")
    creep = 50 * (q.dot.x - q.dot.y)
    return ds.MechanicalSystem(
        q,
        kinetic=eps * (q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": 1 - creep - own * q.dot.x, "y": creep - own * q.dot.y},
    )


def wheel(inertia: float, creep: float) -> ds.MechanicalSystem:
    """A driven wheel that creeps on a rail: speed and rim both stay of order one."""
    q = ds.coordinates(x="m", rim="m")
    slip = creep * (q.dot.rim - q.dot.x)
    return ds.MechanicalSystem(
        q,
        kinetic=inertia * (q.dot.x**2 + q.dot.rim**2) / 2,
        force={
            "x": slip - q.dot.x * (1 + 0.3 * ca.sin(q.x)),
            "rim": 1.5 - slip - 0.3 * q.dot.rim,
        },
    )


def held(system: Callable[[], Any], small: list[str], state: Values) -> Callable[[], Values]:
    def find() -> Values:
        model = ds.nonholonomic.small_velocities(system(), small=small)
        return {"holds": float(bool(model.validity(state)))}

    return find


def really(
    system: Callable[[], Any], small: list[str], state: Values, until: float, near: float
) -> Callable[[], Values]:
    """Whether the model of order 0 is near the full system, by runs of both in solvers for them."""

    def find() -> Values:
        model = ds.nonholonomic.small_velocities(system(), small=small)
        full = ds.solve(system(), until, state, solver="radau", at=[until])
        start = model.start(state)
        reduced = ds.solve(model.system, until, start, solver="radau", at=[until])
        far = max(abs(full.end_state[n] - reduced.end_state[n]) for n in state if "dot" not in n)
        return {"holds": float(far <= near)}

    return find


_quasi = partial(Case, of="quasi-holonomic test", pose=lambda: None, start={}, until=0.0)
_small = partial(Case, of="small velocities", pose=lambda: None, start={}, until=0.0)


def small_case(name: str, system: Callable[[], Any], small: list[str], state: Values, holds: bool):
    return _small(name, truth=lambda: {"holds": float(holds)}, analysis=held(system, small, state))


AT = {"x": 0.3, "x_dot": 0.2}
CASES = [
    *[
        _quasi(f"{wheels} wheels{', rates' if rates else ''}{'' if kept else ', no blade'}",
               analysis=substitutable(lambda w=wheels, k=kept, r=rates: skate(w, k, r),
                                      [f"spin_{n}" for n in range(wheels)]),
               truth=lambda kept=kept: {"holds": float(kept)})
        for wheels, kept, rates in ((1, True, False), (1, True, True), (2, True, False),
                                    (1, False, False), (2, False, True))
    ],
    _quasi("momentum that vanishes on the constraint", truth=lambda: {"holds": 1.0},
           analysis=substitutable(massless, ["y"])),
    small_case("pushed in time as fast as it dies out",
               lambda: creeping(lambda t, x: ca.sin(10 * t), 0.1), ["x_dot"], AT, False),
    small_case("pushed in place as fast as it dies out",
               lambda: creeping(lambda t, x: ca.sin(9 * x), 0.1), ["x_dot"], AT, False),
    small_case("sum that dies out slowly", lambda: pair(0.1, 0.05), ["x_dot", "y_dot"],
               {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}, False),
    small_case("wheel that creeps", lambda: wheel(1.0, 100.0), ["x_dot", "rim_dot"],
               {"x": 0.0, "rim": 0.0, "x_dot": 0.5, "rim_dot": 0.5}, False),
    small_case("wheel of 1 kg, little creep", lambda: wheel(1.0, 2.0), ["x_dot", "rim_dot"],
               {"x": 0.0, "rim": 0.0, "x_dot": 0.5, "rim_dot": 0.5}, False),
    small_case("slow push", lambda: creeping(lambda t, x: ca.sin(t / 2 - x), 0.01), ["x_dot"], AT,
               True),
    small_case("light wheel", lambda: wheel(0.005, 3.0), ["x_dot", "rim_dot"],
               {"x": 0.0, "rim": 0.0, "x_dot": 0.5, "rim_dot": 0.5}, True),
]  # fmt: skip
