"""The body of `three_supports` under loads that change with time: stuck, sliding, stuck again.

A body at rest can stay there as long as tractions within the friction of its loaded pads balance
the loads. The limit is a convex programme; its multipliers are velocities v of all freedoms with

    h + sum N_k (n_k - f_k d_k'(v)) = 0,    n_k v = f_k d_k(v),

d_k the mean speed of the pad k (which Euler's theorem gives by its slopes d_k'). These nine
equations with |v| = 1 determine v, N and the instant of the release together. The motion then
begins along v = s u with M u' = 0: A(u) = g u. From there DOP853 integrates in scaled time, in
which nothing is stiff, while the body is slow, and in time otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root

from tests.reference.three_supports import PARAMETERS, Body, Variant, reduced_friction

Loads = Callable[[float], tuple[float, float, float]]
"""Time -> force along x and y, and moment about the vertical."""
SCALES = np.array([1.0, 1.0, 1.0, 10.0, 10.0, 10.0])


def loaded_body(loads: Loads, time: float) -> Body:
    """Return the body under the loads of an instant."""
    push_x, push_y, twist = loads(time)
    return Body({**PARAMETERS, "force_x": push_x, "force_y": push_y, "moment_z": twist})


def pad_slopes(k: int, side: int, phi: float, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the normal and f d' of a pad by the velocities (x, y, z, about x, y, z)."""
    name = {1: "upper", 2: "lower"}[side]
    a, b, height, radius, friction = (
        PARAMETERS[f"{name}_{what}_{k}"] for what in ("a", "b", "height", "pad_radius", "friction")
    )
    arm = np.array([a * np.cos(phi) - b * np.sin(phi), a * np.sin(phi) + b * np.cos(phi), height])
    up = np.array([0.0, 0.0, 1.0 if side == 2 else -1.0])
    slip = (v[:3] + np.cross(v[3:], arm))[:2]
    speed, spin = float(np.hypot(*slip)), v[5]
    along, turning = reduced_friction(speed / (radius * abs(spin)))
    drag = np.array([*(along * slip / speed), 0.0])
    twist = np.array([0.0, 0.0, radius * turning * np.sign(spin)])
    normal = np.concatenate([up, np.cross(arm, up)])
    return normal, friction * np.concatenate([drag, np.cross(arm, drag) + twist])


def release(
    loads: Loads, phi: float, variant: Variant, guess: tuple[float, np.ndarray, np.ndarray]
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the instant of the release, the velocities (6,) of the limit, and N.

    Parameters
    ----------
    loads, phi, variant
        The loads, the turn of the body, and its loaded pads.
    guess
        The same three, roughly.
    """

    def residuals(unknown: np.ndarray) -> np.ndarray:
        time, v, reactions = float(unknown[0]), unknown[1:7] * SCALES, unknown[7:]
        push_x, push_y, twist = loads(time)
        n = PARAMETERS
        h = [push_x, push_y, n["force_z"], n["moment_x"], n["moment_y"], twist]
        balance, gaps = np.array(h), []
        for k, side, reaction in zip((1, 2, 3), variant, reactions, strict=True):
            normal, rubs = pad_slopes(k, side, phi, v)
            balance += reaction * (normal - rubs)
            gaps.append((normal - rubs) @ v)
        return np.array([*balance, *gaps, v[:2] @ v[:2] + (v[5] / 10.0) ** 2 - 1.0])

    time, v, reactions = guess
    found = root(residuals, [time, *(v / SCALES), *reactions], method="hybr", tol=1e-14)
    assert np.max(np.abs(found.fun)) < 1e-11, found.message
    assert np.all(found.x[7:] > 0.0)
    return float(found.x[0]), found.x[1:7] * SCALES, found.x[7:]


def sliding_direction(body: Body, phi: float, variant: Variant, guess: np.ndarray) -> np.ndarray:
    """Return the velocities (3,) with A(u) = g u, of length one in the metric of the masses."""
    level = body.radius_of_inertia

    def residuals(unknown: np.ndarray) -> np.ndarray:
        u, growth = unknown[:3], unknown[3]
        state = [0.0, 0.0, phi, u[0], u[1], u[2] / level]
        x, y, turn = body.at(state, variant).accelerations
        return np.array(
            [x - growth * u[0], y - growth * u[1], level * turn - growth * u[2], u @ u - 1.0]
        )

    start = np.array([guess[0], guess[1], level * guess[2]])
    found = root(residuals, [*(start / np.linalg.norm(start)), 0.0], tol=1e-14)
    assert np.max(np.abs(found.fun)) < 1e-11, found.message
    return np.array([found.x[0], found.x[1], found.x[2] / level])


def _reactions(loads: Loads, time: float, state: Any, variant: Variant) -> np.ndarray:
    signs = np.where(np.array(variant) == 2, 1.0, -1.0)
    return signs * np.array(loaded_body(loads, time).at(state, variant).reactions)


def _flipped(variant: Variant, pair: int) -> Variant:
    return tuple(3 - side if k == pair else side for k, side in enumerate(variant))


def slide(
    loads: Loads, time: float, state: np.ndarray, variant: Variant, until: float
) -> tuple[float, np.ndarray, Variant, list[tuple[str, float]]]:
    """Follow a sliding body to its stop or the end: time, state, loaded pads, what happened."""
    told: list[tuple[str, float]] = []
    slow, stiff = 1e-4, True
    while True:

        def rate(t: float, y: np.ndarray, pads: Variant = variant) -> list[float]:
            return loaded_body(loads, t).rate(y, pads)[:6]

        def lifts(k: int, pads: Variant = variant) -> Any:
            def guard(t: float, y: np.ndarray) -> float:
                return float(_reactions(loads, t, y, pads)[k])

            guard.terminal, guard.direction = True, -1.0
            return guard

        def slows(t: float, y: np.ndarray) -> float:
            return float(np.hypot(np.hypot(y[3], y[4]), 0.1 * y[5])) - slow

        slows.terminal, slows.direction = True, 1.0 if stiff else -1.0
        method = (
            {"method": "Radau", "rtol": 1e-11, "atol": 1e-14}
            if stiff
            else {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14}
        )
        guards = [*(lifts(k) for k in range(3)), slows]
        found = solve_ivp(rate, (time, until), state, events=guards, **method)
        assert found.status >= 0, found.message
        time, state = float(found.t[-1]), found.y[:, -1]
        if found.status == 0:
            return time, state, variant, told
        fired = next(k for k, times in enumerate(found.t_events) if len(times))
        if fired < 3:
            variant = _flipped(variant, fired)
            told.append(("support_switch", time))
        elif stiff:
            stiff = False
        else:
            time, state, variant, further = _stop(loads, time, state, variant)
            return time, state, variant, [*told, *further]


def _stop(
    loads: Loads, time: float, state: np.ndarray, variant: Variant
) -> tuple[float, np.ndarray, Variant, list[tuple[str, float]]]:
    """Follow a slow body to its stop in scaled time."""
    begin = time
    scaled = loaded_body(loads, time).scaled([*state, 0.0], 0.0)
    told: list[tuple[str, float]] = []
    while True:

        def rate(_: float, y: np.ndarray, pads: Variant = variant) -> list[float]:
            return loaded_body(loads, begin + y[8]).scaled_rate(y, pads)

        def lifts(k: int, pads: Variant = variant) -> Any:
            def guard(_: float, y: np.ndarray) -> float:
                body = loaded_body(loads, begin + y[8])
                return float(_reactions(loads, begin + y[8], body.unscaled(y), pads)[k])

            guard.terminal, guard.direction = True, -1.0
            return guard

        def stops(_: float, y: np.ndarray) -> float:
            return float(np.log(y[7] / 1e-15))

        stops.terminal = True
        guards = [*(lifts(k) for k in range(3)), stops]
        found = solve_ivp(rate, (0.0, 1e4), scaled, "DOP853", events=guards, rtol=1e-12, atol=1e-16)
        assert found.status == 1, found.message
        scaled = found.y[:, -1]
        fired = next(k for k, times in enumerate(found.t_events) if len(times))
        if fired < 3:
            variant = _flipped(variant, fired)
            told.append(("support_switch", begin + scaled[8]))
            continue
        body = loaded_body(loads, begin + scaled[8])
        state = np.array(body.unscaled(scaled)[:6])
        stop = begin + scaled[8] - scaled[7] ** 2 / rate(0.0, scaled)[7]
        return stop, state, variant, [*told, ("at_rest", stop)]
