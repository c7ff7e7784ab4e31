"""A plane body on three pairs of pads, by hand: Newton-Euler in minimal coordinates.

The body has the coordinates (x, y, phi) of its mass centre and its turn. Of the forces F_k on the
loaded pads, in r_k from the mass centre, and of the loads P, M in inertial axes,

    m a = P + sum F_k,   dL/dt = M + sum (r_k x F_k + e_z M_k),   L = (-J_xz w, -J_yz w, J w),
    F_k = N_k e_z - f' |N_k| V_k / |V_k|,   M_k = -r_s f'' |N_k| sgn w,

are six equations, linear in (x'', y'', w', N_1, N_2, N_3) once it is known which pad of each pair
is loaded: the lower one (2) where N_k > 0, the upper one (1) where N_k < 0. The products of inertia
turn with the body, J_xz' = -w J_yz and J_yz' = w J_xz.

Reduced friction of an even pressure, with Legendre's integrals of the parameter m = y^2,
y = min(X, 1/X), X = |V| / (r_s |w|), B = K - D, D = (K - E) / m and C = (D - B) / m:

    X <= 1:  f' / f = 4 X (B + E) / (3 pi),   f'' / f = 4 ((4 - 2 m) E - (1 - m) K) / (9 pi),
    X >= 1:  f' / f = 4 (B + E) / (3 pi),     f'' / f = 4 (C - D + 3 B) / (9 pi X).

The stop is an end of the motion where its equations are singular. Speed s = sqrt(2 T / m) and
direction u, |u| = 1, with dt = s dtau move on regularly until s = 0 for tau -> infinity.

What was found so for the numbers in ``PARAMETERS`` and ``START`` stands in ``SWITCHES``, ``STOP``,
``END`` and ``RATIOS``: with 64 binary digits, by extrapolation (`three_supports_digits`), whose
steps of 0.02 and 0.03 and tolerances of 5e-18 and 1e-16 agree to 1e-15. DOP853 in doubles, in time
or scaled time, agrees with that to 1e-14 until the velocity centre crosses the rim of a pad, where
friction has a term (1 - X) ln|1 - X|, and to 4e-12 after it. SI units, angles in rad.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipe, ellipk, elliprd, hyp2f1

Variant = tuple[int, ...]
Rate = Callable[[Sequence[Any]], list[Any]]
PAIRS: Final = (1, 2, 3)
STATES: Final = ("x", "y", "phi", "x_dot", "y_dot", "phi_dot")

UPPER: Final = ((0.11, 0.012), (-0.045, 0.11), (-0.035, -0.1))
LOWER: Final = ((0.13, -0.005), (-0.04, 0.105), (-0.03, -0.095))
PARAMETERS: Final[Mapping[str, float]] = {
    "mass": 1.5, "inertia": 0.02, "inertia_xz": 0.003, "inertia_yz": -0.002,
    "force_x": 0.0, "force_y": 0.0, "force_z": -14.715,
    "moment_x": 0.0, "moment_y": -1.15, "moment_z": 0.0,
    **{f"upper_a_{k}": place[0] for k, place in zip(PAIRS, UPPER, strict=True)},
    **{f"upper_b_{k}": place[1] for k, place in zip(PAIRS, UPPER, strict=True)},
    **{f"lower_a_{k}": place[0] for k, place in zip(PAIRS, LOWER, strict=True)},
    **{f"lower_b_{k}": place[1] for k, place in zip(PAIRS, LOWER, strict=True)},
    **{f"upper_height_{k}": 0.05 for k in PAIRS}, **{f"lower_height_{k}": -0.06 for k in PAIRS},
    **{f"upper_pad_radius_{k}": 0.015 for k in PAIRS},
    **{f"lower_pad_radius_{k}": 0.02 for k in PAIRS},
    **{f"upper_friction_{k}": 0.25 for k in PAIRS}, **{f"lower_friction_{k}": 0.3 for k in PAIRS},
}  # fmt: skip
START: Final = (0.0, 0.0, 0.3, 1.2, 0.5, 9.0)
SWITCHES: Final = (
    (0.0334765209923194, 1),
    (0.1670023836436291, 3),
    (0.2687322063131975, 3),
    (0.5632552917744612, 2),
)
"""Times and pairs, to 1e-15 s but for the last digit of the last two."""
STOP: Final = 0.8248380516608347
END: Final = {"x": 0.3537350251157164, "y": 0.3185340775449147, "phi": 4.108332105956138}
RATIOS: Final = (8.860814038247234, 14.078003335615546, 0.560077930772987)
"""rho / r of the loaded pads at the stop."""


def integrals(m: float) -> tuple[float, float, float, float]:
    """Return Legendre's K, E, D and C of the parameter m < 1.

    C, the integral of sin^2 cos^2 (1 - m sin^2)^(-3/2), is a series where D - B would cancel.
    """
    k, e, d = ellipk(m), ellipe(m), elliprd(0.0, 1.0 - m, 1.0) / 3.0
    c = (2 * d - k) / m if m > 0.25 else math.pi / 16 * hyp2f1(1.5, 1.5, 3.0, m)
    return float(k), float(e), float(d), float(c)


def reduced_friction(
    x: Any, integrals: Callable[[Any], tuple[Any, Any, Any, Any]] = integrals, pi: Any = math.pi
) -> tuple[Any, Any]:
    """Return f'/f and f''/f of an even pressure at X = `x`; see the module."""
    y = min(x, 1 / x) if x > 0 else x
    m = y * y
    k, e, d, c = integrals(m)
    b = k - d
    if x <= 1:
        return 4 * x * (b + e) / (3 * pi), 4 * ((4 - 2 * m) * e - (1 - m) * k) / (9 * pi)
    return 4 * (b + e) / (3 * pi), 4 * (c - d + 3 * b) / (9 * pi * x)


class Arithmetic(NamedTuple):
    """What the equations need of numbers: of doubles, or of more digits."""

    number: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    sin: Callable[[Any], Any]
    reduced_friction: Callable[[Any], tuple[Any, Any]]
    solve: Callable[[list[list[Any]], list[Any]], Sequence[Any]]
    integrate: Callable[[Rate, Sequence[Any], Any], list[Any]]
    epsilon: float


def _solve(matrix: list[list[float]], right: list[float]) -> Sequence[float]:
    return np.linalg.solve(np.array(matrix), np.array(right)).tolist()


def dop853(rate: Rate, state: Sequence[float], length: float) -> list[float]:
    """Integrate over `length`, in rounding."""
    if length == 0.0:
        return list(state)
    found = solve_ivp(
        lambda _, x: rate(x.tolist()), (0.0, length), state, "DOP853", rtol=3e-14, atol=1e-18,
        first_step=abs(length),
    )  # fmt: skip
    assert found.success, found.message
    return found.y[:, -1].tolist()


DOUBLE: Final = Arithmetic(
    float, math.sqrt, math.cos, math.sin, reduced_friction, _solve, dop853, 2.3e-16
)


@dataclass(frozen=True)
class Moment:
    """What the body does at one state with one variant.

    accelerations: x'', y'', phi''; reactions: N_1..N_3; power of friction (W); ratios: the
    distances of the loaded pads' centres from the velocity centre over the pads' radii.
    """

    accelerations: tuple[Any, ...]
    reactions: tuple[Any, ...]
    power: Any
    ratios: tuple[Any, ...]


class Body:
    """The equations, for given numbers."""

    def __init__(
        self, parameters: Mapping[str, float] = PARAMETERS, arithmetic: Arithmetic = DOUBLE
    ) -> None:
        self.numbers = {name: arithmetic.number(value) for name, value in parameters.items()}
        self.arithmetic = arithmetic
        self.mass, self.inertia = self.numbers["mass"], self.numbers["inertia"]
        self.radius_of_inertia = arithmetic.sqrt(self.inertia / self.mass)

    def at(self, state: Sequence[Any], variant: Variant) -> Moment:
        """Solve the six equations."""
        n = self.numbers
        phi, w = state[2], state[5]
        cosine, sine = self.arithmetic.cos(phi), self.arithmetic.sin(phi)
        j_xz = cosine * n["inertia_xz"] - sine * n["inertia_yz"]
        j_yz = sine * n["inertia_xz"] + cosine * n["inertia_yz"]
        rows = [
            [self.mass, 0, 0],
            [0, self.mass, 0],
            [0, 0, 0],
            [0, 0, -j_xz],
            [0, 0, -j_yz],
            [0, 0, self.inertia],
        ]
        right = [n["force_x"], n["force_y"], n["force_z"]]
        right += [n["moment_x"] - j_yz * w * w, n["moment_y"] + j_xz * w * w, n["moment_z"]]
        rates, ratios = [], []
        for k, side in zip(PAIRS, variant, strict=True):
            pad = self._pad(k, side, cosine, sine, state)
            ratios.append(pad.ratio)
            rates.append(pad.rate)
            rows = [[*row, -entry] for row, entry in zip(rows, pad.column, strict=True)]
        found = list(self.arithmetic.solve(rows, right))
        power = sum(rate * reaction for rate, reaction in zip(rates, found[3:], strict=True))
        return Moment(tuple(found[:3]), tuple(found[3:]), power, tuple(ratios))

    def _pad(self, k: int, side: int, cosine: Any, sine: Any, state: Sequence[Any]) -> _Pad:
        """Return force and moment about the mass centre of one loaded pad, over N_k."""
        name = {1: "upper", 2: "lower"}[side]
        a, b, height, radius, friction = (
            self.numbers[f"{name}_{what}_{k}"]
            for what in ("a", "b", "height", "pad_radius", "friction")
        )
        v_x, v_y, w = state[3:6]
        arm = (a * cosine - b * sine, a * sine + b * cosine, height)
        slip = (v_x - w * arm[1], v_y + w * arm[0])
        speed = self.arithmetic.sqrt(slip[0] ** 2 + slip[1] ** 2)
        ratio = speed / (radius * abs(w))
        along, turning = self.arithmetic.reduced_friction(ratio)
        sign = 1 if side == 2 else -1  # |N| = sign N
        drag = sign * friction * along / speed
        force = (-drag * slip[0], -drag * slip[1], 1)
        twist = -sign * radius * friction * turning * (1 if w > 0 else -1)
        moment = _cross(arm, force)
        column = [*force, moment[0], moment[1], moment[2] + twist]
        return _Pad(column, ratio, force[0] * slip[0] + force[1] * slip[1] + twist * w)

    def variants(self, state: Sequence[Any]) -> list[Variant]:
        """Return the variants whose reactions have the signs that they assume."""
        found = []
        for variant in itertools.product((1, 2), repeat=len(PAIRS)):
            reactions = self.at(state, variant).reactions
            if all((n > 0) == (side == 2) for n, side in zip(reactions, variant, strict=True)):
                found.append(variant)
        return found

    def energy(self, state: Sequence[Any]) -> Any:
        """Return the kinetic energy and that of the constant loads, J."""
        n = self.numbers
        x, y, phi, v_x, v_y, w = state[:6]
        kinetic = (self.mass * (v_x**2 + v_y**2) + self.inertia * w**2) / 2
        return kinetic - n["force_x"] * x - n["force_y"] * y - n["moment_z"] * phi

    # -- time, and scaled time: rates of (x, y, phi, x', y', phi', work) and of
    # (x, y, phi, u_1, u_2, u_3, work, s, t)

    def rate(self, state: Sequence[Any], variant: Variant) -> list[Any]:
        """Return the rates with time."""
        moment = self.at(state, variant)
        return [*state[3:6], *moment.accelerations, moment.power]

    def scaled(self, state: Sequence[Any], time: Any) -> list[Any]:
        """Split velocities into speed and direction."""
        level = self.radius_of_inertia
        along = (state[3], state[4], level * state[5])
        speed = self.arithmetic.sqrt(sum(part * part for part in along))
        return [*state[:3], *(part / speed for part in along), state[6], speed, time]

    def unscaled(self, state: Sequence[Any]) -> list[Any]:
        """Undo `scaled`, without the time."""
        speed = state[7]
        turning = speed * state[5] / self.radius_of_inertia
        return [*state[:3], speed * state[3], speed * state[4], turning, state[6]]

    def scaled_rate(self, state: Sequence[Any], variant: Variant) -> list[Any]:
        """Return the rates with tau, dt = s dtau; u is drawn to |u| = 1."""
        plain = self.unscaled(state)
        moment = self.at(plain, variant)
        speed, along = state[7], state[3:6]
        push = [*moment.accelerations[:2], self.radius_of_inertia * moment.accelerations[2]]
        square = sum(part * part for part in along)
        growth = sum(p * u for p, u in zip(push, along, strict=True)) / square
        pull = 1 - square
        turned = [p - u * (growth - pull) for p, u in zip(push, along, strict=True)]
        moved = [speed * rate for rate in plain[3:6]]
        return [*moved, *turned, speed * moment.power, speed * (growth - pull), speed]


class _Pad(NamedTuple):
    """Of one pad, over the signed reaction: force and moment, and the power of friction."""

    column: list[Any]
    ratio: Any
    rate: Any


def _cross(r: Sequence[Any], f: Sequence[Any]) -> tuple[Any, Any, Any]:
    return (
        r[1] * f[2] - r[2] * f[1],
        r[2] * f[0] - r[0] * f[2],
        r[0] * f[1] - r[1] * f[0],
    )


# -- motions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Switch:
    """Another pad of a pair is loaded from `time` on."""

    time: Any
    pair: int
    variant: Variant


@dataclass(frozen=True)
class Motion:
    """A motion from the start to rest.

    stop: the time; end: where the body rests and the work of friction, (x, y, phi, work); ratios:
    rho / r of the last moments; balance: the largest change of energy minus work over the energy at
    the start; samples: (x, y, phi, x', y', phi', work) at each time that was asked for, at rest
    after the stop.
    """

    switches: tuple[Switch, ...]
    stop: Any
    end: tuple[Any, ...]
    ratios: tuple[Any, ...]
    balance: Any
    samples: list[list[Any]]


def motion(
    body: Body,
    start: Sequence[float] = START,
    times: Sequence[float] = (),
    *,
    scaled_from: float = 0.0,
    step: Any = 0.05,
    rest: float = 1e-18,
) -> Motion:
    """Slide from `start` until the speed is below `rest`.

    It goes in time up to `scaled_from`, in steps of `step` s after which the reactions are looked
    at, and then in scaled time. What lies within a step (a switch, a time that was asked for) is
    reached by integrating up to it, never by interpolation.
    """
    plain = [body.arithmetic.number(value) for value in start] + [body.arithmetic.number(0)]
    (variant,) = body.variants(plain)
    way = _Way(body, plain, variant, tuple(times))
    while way.time < scaled_from:
        way.advance(min(step, scaled_from - way.time), scaled=False)
    while way.speed > rest:
        way.advance(step, scaled=True)
    return way.ended()


class _Way:
    """A motion as far as it has come."""

    def __init__(
        self, body: Body, plain: list[Any], variant: Variant, times: tuple[float, ...]
    ) -> None:
        self.body, self.variant, self.times = body, variant, times
        self.state = body.scaled(plain, body.arithmetic.number(0))
        self.first, self.balance = body.energy(plain), 0.0
        self.switches: list[Switch] = []
        self.samples: list[list[Any]] = []

    @property
    def time(self) -> Any:
        return self.state[8]

    @property
    def speed(self) -> Any:
        return self.state[7]

    def advance(self, step: Any, *, scaled: bool) -> None:
        """Integrate over a step of time or scaled time, or up to the first switch in it."""
        after = self._moved(step, scaled)
        pair = self._lifted(after)
        if pair is not None:
            step = self._place(lambda c: self._loads(self._moved(c, scaled))[pair], step)
            after = self._moved(step, scaled)
        for wanted in self.times[len(self.samples) :]:
            if wanted > after[8]:
                break
            place = self._place(lambda c, t=wanted: t - self._moved(c, scaled)[8], step)
            self.samples.append(self.body.unscaled(self._moved(place, scaled)))
        self.state = after
        plain = self.body.unscaled(after)
        change = abs(self.body.energy(plain) - plain[6] - self.first) / self.first
        self.balance = max(self.balance, change)
        if pair is not None:
            self._switch(pair)

    def ended(self) -> Motion:
        moment = self.body.at(self.body.unscaled(self.state), self.variant)
        growth = sum(
            push * part
            for push, part in zip(
                (*moment.accelerations[:2], self.body.radius_of_inertia * moment.accelerations[2]),
                self.state[3:6],
                strict=True,
            )
        )
        still = [*self.state[:3], *(0 * part for part in self.state[3:6]), self.state[6]]
        samples = self.samples + [still] * (len(self.times) - len(self.samples))
        return Motion(
            tuple(self.switches),
            self.time - self.speed / growth,
            (*self.state[:3], self.state[6]),
            moment.ratios,
            self.balance,
            samples,
        )

    def _moved(self, step: Any, scaled: bool) -> list[Any]:
        integrate = self.body.arithmetic.integrate
        if scaled:
            return integrate(lambda x: self.body.scaled_rate(x, self.variant), self.state, step)
        plain = integrate(
            lambda x: self.body.rate(x, self.variant), self.body.unscaled(self.state), step
        )
        return self.body.scaled(plain, self.time + step)

    def _loads(self, state: Sequence[Any]) -> list[Any]:
        """Return the reactions, positive where the pad presses as the variant says."""
        reactions = self.body.at(self.body.unscaled(state), self.variant).reactions
        return [n if p == 2 else -n for n, p in zip(reactions, self.variant, strict=True)]

    def _lifted(self, state: Sequence[Any]) -> int | None:
        """Return the index of the pair whose pad would have to pull, if there is one."""
        loads = self._loads(state)
        return loads.index(min(loads)) if min(loads) < 0 else None

    def _place(self, function: Callable[[Any], Any], high: Any) -> Any:
        """Return where a function that falls through zero before `high` is zero (Illinois)."""
        low, at_low, at_high = 0 * high, function(0 * high), function(high)
        if at_low <= 0:
            return low
        if at_high == 0:
            return high
        side = 0
        while high - low > self.body.arithmetic.epsilon * high:
            middle = (low * at_high - high * at_low) / (at_high - at_low)
            at = function(middle)
            if at == 0 or not low < middle < high:
                return middle
            if at > 0:
                at_high, low, at_low, side = at_high / (1 + (side > 0)), middle, at, 1
            else:
                at_low, high, at_high, side = at_low / (1 + (side < 0)), middle, at, -1
        return high

    def _switch(self, pair: int) -> None:
        flipped = list(self.variant)
        flipped[pair] = 3 - flipped[pair]
        self.variant = tuple(flipped)
        self.switches.append(Switch(self.time, pair + 1, self.variant))
        assert min(self._loads(self.state)) > -1e-9, "more than one pair has to switch"
