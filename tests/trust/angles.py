"""Angles that are no angles: something is not the same after a whole turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .case import Case, Values
from .own import motion, switched

OF = "periodicity by sampling"
sin, cos, tanh, exp = math.sin, math.cos, math.tanh, math.exp
START = {"phi": 0.0, "phi_dot": 1.0}


def rotor(potential: Any = None, force: Any = None, **more: Any) -> ds.MechanicalSystem:
    """A wheel of unit inertia; what acts on it is a function of its angle."""
    q = ds.coordinates(phi=ds.ANGLE)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.phi**2 / 2,
        potential=0.0 if potential is None else potential(q.phi),
        force={} if force is None else {"phi": force(q.phi)},
        **{name: value(q) for name, value in more.items()},
    )


def turned(torque: Callable[[float, float], float], until: Any, speed: float = 1.0, **by: Any):
    """Return where a wheel comes to under a torque (t, phi)."""

    def truth() -> Values:
        found = motion(lambda t, x: (x[1], torque(t, x[0])), (0.0, speed), until, **by)
        return {"phi": found[0], "phi_dot": found[1]}

    return truth


def toda() -> Values:
    energy = 0.5 + exp(-60.0)
    rate = math.sqrt(energy / 2.0)
    turning = math.acosh(math.sqrt(energy) * exp(30.0)) / rate
    past = rate * (100.0 - turning)
    return {
        "phi": 60.0 + math.log(energy) - 2.0 * math.log(math.cosh(past)),
        "phi_dot": -2.0 * rate * tanh(past),
    }


def heavy() -> ds.MechanicalSystem:
    q = ds.coordinates(phi=ds.ANGLE)
    return ds.MechanicalSystem(q, kinetic=(3 + ca.tanh(q.phi - 30)) / 4 * q.dot.phi**2)


def heavy_truth() -> Values:
    def rate(t: float, x: np.ndarray) -> tuple[float]:
        return (math.sqrt(2.0 / (3.0 + tanh(x[0] - 30.0))),)

    # At the start the mass is 1 but for exp(-60).
    return {"phi": motion(rate, (0.0,), 60.0, 0.1)[0], "phi_dot": math.sqrt(0.5)}


def cam(law: Callable[[Any], Any]) -> ds.MechanicalSystem:
    q = ds.coordinates(phi=ds.ANGLE, x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.phi**2 + q.dot.x**2) / 2,
        goals=[ds.Holonomic("cam", q.x - law(q.phi))],
    )


def cam_truth(law: Callable[[float], float], slope: Callable[[float], float], until: float):
    """By the energy, which is 1/2 (1 + slope^2) phi'^2."""

    def truth() -> Values:
        energy = 1.0 + slope(0.0) ** 2
        found = motion(
            lambda t, x: (math.sqrt(energy / (1.0 + slope(x[0]) ** 2)),), (0.0,), until, 0.05
        )
        return {"phi": found[0], "x": law(found[0])}

    return truth


def harmonic_past(place: float, stiffness: float, until: float) -> Values:
    """A spring that is felt from a place on, at which one arrives with speed 1 at t = place."""
    rate, passed = math.sqrt(stiffness), until - place
    return {"phi": place + sin(rate * passed) / rate, "phi_dot": cos(rate * passed)}


def staircase(phi: Any) -> Any:
    """A table by comparisons: the torque falls by 2e-3 each 10 rad."""
    return -sum(ca.if_else(phi > 10.0 * k, 2e-3, 0.0) for k in range(1, 9))


def staircase_truth() -> Values:
    phi, speed, time, torque = 0.0, 1.0, 0.0, 0.0
    for k in range(1, 9):
        reach = 10.0 * k - phi
        root = math.sqrt(speed**2 + 2.0 * torque * reach)
        step = 2.0 * reach / (speed + root)
        if time + step > 60.0:
            break
        phi, speed, time, torque = 10.0 * k, root, time + step, torque - 2e-3
    rest = 60.0 - time
    return {"phi": phi + speed * rest + torque * rest**2 / 2, "phi_dot": speed + torque * rest}


def geared() -> ds.MechanicalSystem:
    q = ds.coordinates(phi=ds.ANGLE, chi=ds.ANGLE)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.phi**2 + q.dot.chi**2) / 2,
        potential=-0.3 * ca.cos(q.phi - q.chi / 2),
    )


def geared_truth() -> Values:
    def rate(t: float, x: np.ndarray) -> tuple[float, ...]:
        torque = -0.3 * sin(x[0] - x[1] / 2)
        return (x[2], x[3], torque, -torque / 2)

    return dict(zip(("phi", "chi"), motion(rate, (0.0, 0.0, 1.0, -1.3), 40.0), strict=False))


def with_parameter() -> ds.MechanicalSystem:
    q, p = ds.coordinates(phi=ds.ANGLE), ds.parameters(turns=2.0)
    return ds.MechanicalSystem(
        q, p, kinetic=q.dot.phi**2 / 2, potential=-0.2 * ca.cos(p.turns * q.phi)
    )


def reset_to_half() -> ds.MechanicalSystem:
    q, d = ds.coordinates(phi=ds.ANGLE), ds.discrete(turns=1.0)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.phi**2 / 2,
        potential=-0.2 * ca.cos(d.turns * q.phi),
        discrete=d,
        events=[ds.Event("other", ds.time - 10.0, ds.RISING, ds.Reset({"turns": 0.5}))],
    )


def reset_to_half_truth() -> Values:
    x = motion(lambda t, x: (x[1], -0.2 * sin(x[0])), (0.0, 1.0), 10.0)
    x = motion(lambda t, x: (x[1], -0.1 * sin(x[0] / 2)), x, 40.0, begin=10.0)
    return {"phi": x[0], "phi_dot": x[1]}


def rolling(law: Callable[[Any], Any]) -> ds.MechanicalSystem:
    q = ds.coordinates(phi=ds.ANGLE, x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.phi**2 + q.dot.x**2) / 4,
        goals=[ds.Nonholonomic("roll", q.dot.x - q.dot.phi)],
        force={"phi": law(q.phi)},
    )


def integral(reads: bool) -> ds.MechanicalSystem:
    """An integral along the motion: of the angle; or of its rate, and the torque reads it."""
    q, s = ds.coordinates(phi=ds.ANGLE), ds.states(s="rad")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.phi**2 / 2,
        quadratures=s,
        integrands={"s": q.dot.phi if reads else q.phi},
        force={"phi": -0.01 * s.s} if reads else {},
    )


def stop_at(guard: Callable[[Any], Any]) -> ds.MechanicalSystem:
    return rotor(events=lambda q: [ds.Event("there", guard(q.phi), ds.RISING, ds.Stop())])


def brake_at(guard: Callable[[Any], Any]) -> ds.MechanicalSystem:
    q, d = ds.coordinates(phi=ds.ANGLE), ds.discrete(on=0.0)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.phi**2 / 2,
        discrete=d,
        force={"phi": -0.005 * d.on},
        events=[ds.Event("brake", guard(q.phi), ds.RISING, ds.Reset({"on": 1.0}))],
    )


def braked(place: float, until: float) -> Values:
    rest = until - place
    return {"phi": until - 0.0025 * rest**2, "phi_dot": 1.0 - 0.005 * rest}


def sawtooth_truth() -> Values:
    """A spring whose rest moves on by a turn at each odd multiple of pi."""
    rate = math.sqrt(0.1)
    energy, time, phi, speed = 1.125, 0.0, 0.0, 1.5
    phase = math.atan2(rate * phi, speed)
    size = math.sqrt(2 * energy) / rate
    turns = 0
    while True:
        step = (math.asin(math.pi / size) - phase) / rate
        if time + step > 40.0:
            break
        time, turns, phase = time + step, turns + 1, -math.asin(math.pi / size)
    phase += rate * (40.0 - time)
    return {
        "phi": 2 * math.pi * turns + size * sin(phase),
        "phi_dot": size * rate * cos(phase),
    }


def sharp(phi: float) -> float:
    return 1.0 / math.cosh(phi - 30.0) ** 2


def table(phi: Any) -> Any:
    return ca.pw_lin(phi, ca.DM([0.0, 20.0, 24.0, 1e4]), ca.DM([0.0, 0.0, -0.02, -0.02]))


def table_truth() -> Values:
    def torque(x: float, on: tuple[bool, ...]) -> float:
        return -0.02 if on[1] else -0.005 * (x - 20.0) if on[0] else 0.0

    guards = [lambda t, x: x[0] - 20.0, lambda t, x: x[0] - 24.0]
    found = switched(lambda t, x, on: (x[1], torque(x[0], on)), guards, (0.0, 1.0), 40.0, 0.5)
    return {"phi": found[0], "phi_dot": found[1]}


_case = partial(Case, of=OF, start=START)


def _wheel(name: str, until: float, truth: Callable[[], Values], **by: Any) -> Case:
    law = {key: by.pop(key) for key in ("potential", "force") if key in by}
    return _case(name, pose=lambda: rotor(**law), until=until, truth=truth, **by)


CASES = [
    _wheel("exp", 100.0, toda, potential=lambda a: ca.exp(a - 60), condition=100.0),
    _wheel(
        "tanh",
        80.0,
        turned(lambda t, a: -0.005 * (1 + tanh(a - 40)), 80.0, longest=0.1),
        force=lambda a: -0.005 * (1 + ca.tanh(a - 40)),
    ),
    _wheel(
        "polynomial",
        50.0,
        turned(lambda t, a: -0.4 * (a / 30) ** 11, 50.0, longest=0.2),
        potential=lambda a: (a / 30) ** 12,
        condition=10.0,
    ),
    _wheel(
        "half angle",
        40.0,
        turned(lambda t, a: -0.1 * sin(a / 2), 40.0),
        potential=lambda a: -0.2 * ca.cos(a / 2),
        condition=10.0,
    ),
    _wheel(
        "1.0000001 of an angle",
        60.0,
        turned(lambda t, a: -20.0000020 * sin(1.0000001 * a), 60.0, 10.0),
        potential=lambda a: -20.0 * ca.cos(1.0000001 * a),
        condition=100.0,
        exact=1e-9,
        start={"phi": 0.0, "phi_dot": 10.0},
    ),
    _wheel(
        "if_else",
        50.0,
        lambda: {"phi": 50.0 - 0.005 * 30.0**2, "phi_dot": 0.7},
        force=lambda a: ca.if_else(a > 20, -0.01, 0),
    ),
    _wheel("staircase", 60.0, staircase_truth, force=staircase),
    _wheel("pw_lin", 40.0, table_truth, force=table),
    _wheel(
        "sin of the angle times time",
        12.0,
        turned(lambda t, a: 0.05 * sin(a * t), 12.0, longest=0.02),
        force=lambda a: 0.05 * ca.sin(a * ds.time),
        condition=10.0,
    ),
    _wheel(
        "spring felt after 20 s",
        50.0,
        lambda: {
            "phi": 20 * cos(3.0) + 10 * sin(3.0),
            "phi_dot": -2 * sin(3.0) + cos(3.0),
        },
        force=lambda a: ca.if_else(ds.time > 20, -0.01 * a, 0),
    ),
    _wheel(
        "fmod by 5",
        12.0,
        lambda: switched_fmod(),
        force=lambda a: -0.02 * ca.fmod(a, 5),
    ),
    _wheel("atan2 of sine and cosine", 40.0, sawtooth_truth, condition=10.0,
           force=lambda a: -0.1 * ca.atan2(ca.sin(a), ca.cos(a)),
           start={"phi": 0.0, "phi_dot": 1.5}),
    _wheel(
        "softplus",
        60.0,
        turned(lambda t, a: -0.01 / (1 + exp(20 - a)), 60.0, longest=0.1),
        potential=lambda a: 0.01 * ca.log(1 + ca.exp(a - 20)),
    ),
    _case("mass", pose=heavy, until=60.0, truth=heavy_truth),
    _case(
        "cam by tanh",
        pose=lambda: cam(lambda a: ca.tanh(a - 30)),
        until=60.0,
        truth=cam_truth(lambda a: tanh(a - 30), sharp, 60.0),
        start={**START},
    ),
    _case(
        "cam by a half angle",
        pose=lambda: cam(lambda a: 2 * ca.sin(a / 2)),
        until=40.0,
        truth=cam_truth(lambda a: 2 * sin(a / 2), lambda a: cos(a / 2), 40.0),
        start={**START},
        condition=10.0,
    ),
    _case("two angles", pose=geared, until=40.0, truth=geared_truth, condition=10.0,
          start={"phi": 0.0, "chi": 0.0, "phi_dot": 1.0, "chi_dot": -1.3}),
    _case(
        "parameter 1.5",
        pose=with_parameter,
        until=40.0,
        truth=turned(lambda t, a: -0.3 * sin(1.5 * a), 40.0),
        options={"parameters": {"turns": 1.5}},
        condition=10.0,
    ),
    _case("discrete 0.5", pose=reset_to_half, until=40.0, truth=reset_to_half_truth,
          condition=10.0),
    *[
        _case(
            f"if_else, {formulation}",
            pose=lambda: rolling(lambda a: ca.if_else(a > 20, -0.01, 0)),
            until=50.0,
            truth=lambda: {"phi": 50.0 - 0.005 * 30.0**2, "x": 50.0 - 0.005 * 30.0**2},
            options={"formulation": formulation},
            start={**START, "x": 0.0},
        )
        for formulation in ("null-space", "projected")
    ],
    _case("integral of the angle", pose=lambda: integral(False), until=50.0,
          truth=lambda: {"phi": 50.0, "s": 1250.0}, start={**START, "s": 0.0}),
    _case("integral that is read", pose=lambda: integral(True), until=50.0, condition=10.0,
          truth=lambda: {"phi": 10 * sin(5.0), "s": 10 * sin(5.0), "phi_dot": cos(5.0)},
          start={**START, "s": 0.0}),
    *[
        _case(f"stop at {name}", pose=lambda law=law: stop_at(law), until=150.0,
              truth=lambda: {"end_time": 100.0, "phi": 100.0})
        for name, law in {
            "tanh": lambda a: ca.tanh(a - 100),
            "the angle": lambda a: a - 100,
            "its logarithm": lambda a: ca.log(1 + a**2) - math.log(10001.0),
        }.items()
    ],
    *[
        _case(f"brake at {name}", pose=lambda law=law: brake_at(law), until=60.0,
              truth=lambda: braked(30.0, 60.0))
        for name, law in {
            "exp": lambda a: ca.exp(a - 30) - 1,
            "the angle": lambda a: a - 30,
            "if_else": lambda a: ca.if_else(a > 29, a - 30, -1),
        }.items()
    ],
    *[
        _case(f"output {name}", pose=lambda law=law: rotor(outputs=lambda q: {"o": law(q.phi)}),
              until=60.0, truth=lambda value=value: {"last o": value})
        for name, law, value in (
            ("square", lambda a: a**2, 3600.0),
            ("logarithm", lambda a: ca.log(1 + a**2), math.log(3601.0)),
            ("half angle", lambda a: ca.sin(a / 2), sin(30.0)),
            ("if_else", lambda a: ca.if_else(a > 50, 1, 0), 1.0),
        )
    ],
]  # fmt: skip


def switched_fmod() -> Values:
    """The torque is -0.02 times what is left over of fives."""
    rate = math.sqrt(0.02)
    time, speed, low = 0.0, 1.0, 0.0
    while True:
        size = math.hypot(speed / rate, 0.0)
        step = math.asin(5.0 / size) / rate if size > 5.0 else math.inf
        if time + step > 12.0:
            break
        time, speed, low = time + step, speed * cos(rate * step), low + 5.0
    rest = rate * (12.0 - time)
    return {"phi": low + speed / rate * sin(rest), "phi_dot": speed * cos(rest)}
