"""Random mechanical systems, each with equations of its own to be held against.

A sentence of the grammar is a system of two or three coordinates: masses, a potential, at most one
constraint, solved for the last coordinate, and some of drag, pulses, features and switches. What
switches is a symbol w in the expressions: in the system it stands for if_else, fabs, fmax or sign,
and in the equations of this module for what these are between two switches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .own import follow

KINDS = (
    *("free", "holonomic", "rheonomic", "nonholonomic", "affine"),
    *("free", "holonomic", "nonholonomic"),
)
END = 5.0


def _symbol(name: str) -> ca.SX:
    return ca.SX.sym(name)  # pyright: ignore[reportArgumentType]


@dataclass
class Switch:
    """w: `posed` in a system, `above` where its guard is positive, and `below` where it is not."""

    symbol: ca.SX
    posed: ca.SX
    guard: ca.SX
    above: ca.SX
    below: ca.SX


@dataclass
class Sentence:
    """A system while it is written."""

    seed: int
    draw: np.random.Generator = field(init=False)
    switches: list[Switch] = field(default_factory=list[Switch])
    places: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Times of pulses and their widths, s."""
    words: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng([2026, self.seed])
        self.kind = KINDS[self.seed % len(KINDS)]
        self.count = 2 + int(self.draw.integers(2))
        names = list("abc"[: self.count])
        self.angular = [bool(self.draw.random() < 0.4) for _ in names]
        if self.kind == "free" and self.seed % 3 == 0:
            self.angular[0] = True
        units = {n: ds.ANGLE if a else "m" for n, a in zip(names, self.angular, strict=True)}
        self.q = ds.coordinates(**units)
        self.x, self.v = self.q.vector, self.q.dot.vector
        self.kinetic = self._kinetic()
        self.potential = self._potential()
        self.constraint, self.position = self._constraint()
        self.force = [self._force(k) for k in range(self.count)]

    # -- words ------------------------------------------------------------------------------------

    def number(self, low: float, high: float) -> float:
        return float(self.draw.uniform(low, high))

    def one_of(self, *choices: Any) -> Any:
        return choices[int(self.draw.integers(len(choices)))]

    def bounded(self, k: int) -> ca.SX:
        """A smooth function of a coordinate, of size 1."""
        turns = int(self.draw.integers(1, 3))
        return self.one_of(ca.sin, ca.cos)(turns * self.x[k] + self.number(0, 6))

    def _kinetic(self) -> ca.SX:
        total = ca.SX(0)
        for k in range(self.count):
            mass = self.number(0.5, 2)
            if self.draw.random() < 0.5:
                mass = mass * (1 + 0.3 * self.bounded(int(self.draw.integers(self.count))))
            total += mass * self.v[k] ** 2 / 2
        mixed = self.v[0] + 0.5 * self.bounded(1) * self.v[1]
        return total + self.number(0, 0.5) * mixed**2 / 2

    def _potential(self) -> ca.SX:
        total = 0.2 * self.bounded(0) * self.bounded(1)
        for k, angle in enumerate(self.angular):
            if angle:
                total += self.number(0.2, 3) * self.bounded(k)
            else:
                total += self.number(0.5, 3) * self.x[k] ** 2 / 2
        if any(self.angular) and self.draw.random() < 0.3:
            self.words.append("half angle")
            total += 0.5 * ca.cos(self.x[self.angular.index(True)] / 2)
        return total

    def _constraint(self) -> tuple[Any, ca.SX | None]:
        """Return the constraint, and the last coordinate (or its rate) by the others."""
        last = self.count - 1
        own = 0.4 * self.bounded(0) + 0.3 * self.x[0] * (0 if self.angular[0] else 1)
        if self.kind in ("rheonomic", "affine"):
            own += self.one_of(
                0.2 * ca.sin(2 * ds.time),
                0.3 * ca.tanh(3 * (ds.time - 2)),
                0.2 * ca.exp(-(((ds.time - 2.5) / 0.3) ** 2)),
            )
        if self.kind in ("holonomic", "rheonomic"):
            return ds.Holonomic("goal", self.x[last] - own), own
        if self.kind in ("nonholonomic", "affine"):
            rate = (0.5 + own) * self.v[0] + (0.2 * ca.cos(ds.time) if self.kind == "affine" else 0)
            if self.count == 3:
                rate += 0.3 * self.bounded(0) * self.v[1]
            return ds.Nonholonomic("goal", self.v[last] - rate), rate
        return None, None

    def _force(self, k: int) -> ca.SX:
        total = ca.SX(0)
        if self.draw.random() < 0.4:
            self.words.append("drag")
            total -= self.number(0.05, 0.4) * self.v[k]
        if self.draw.random() < 0.35:
            total += self._pulse()
        if self.draw.random() < 0.25:
            total += self._feature()
        if self.draw.random() < 0.45:
            total += self._switched()
        return total

    def _pulse(self) -> ca.SX:
        at, width = self.number(0.5, 4.5), self.one_of(0.1, 0.01, 0.001)
        self.places.append((at, width))
        s = (ds.time - at) / width
        name = self.one_of("Gaussian", "sech^2", "hat")
        self.words.append(f"{name} of {width:g} s")
        size = self.number(0.2, 1) / width
        if name == "Gaussian":
            return size * ca.exp(-(s**2))
        if name == "sech^2":
            return size / (2 * ca.cosh(s) ** 2) if width == 0.1 else size * ca.exp(-(s**2))
        return size * (
            self._posed("window", ds.time - at) - self._posed("window", ds.time - at - width)
        )

    def _feature(self) -> ca.SX:
        name, k = self.one_of("logistic", "tanh of place", "tanh of speed"), 0
        sharp = self.one_of(10.0, 100.0)
        self.words.append(f"{name}, {sharp:g}")
        if name == "logistic":
            at = self.number(1, 4)
            self.places.append((at, 1 / sharp))
            return self.number(-1, 1) / (1 + ca.exp(-sharp * (ds.time - at)))
        where = ca.sin(self.x[k]) if self.angular[k] else self.x[k]
        if name == "tanh of speed":
            return -self.number(0.1, 0.5) * (1 + ca.tanh(sharp * (self.v[k] - 0.7))) * self.v[k]
        return self.number(-0.5, 0.5) * ca.tanh(sharp * (where - self.number(-0.3, 0.3)))

    def _switched(self) -> ca.SX:
        name, k = self.one_of("if_else", "fabs", "fmax", "fmin", "sign"), 0
        where = self.one_of(
            (ca.sin(self.x[k]) if self.angular[k] else self.x[k]) - self.number(-0.3, 0.3),
            ca.sin(3 * ds.time) - self.number(-0.5, 0.5),
            ds.time - self.number(1, 4),
            self.x[0] + 0.5 * ca.cos(ds.time) if not self.angular[0] else ca.cos(self.x[0]),
        )
        self.words.append(name)
        return self.number(-0.8, 0.8) * self._posed(name, where)

    def _posed(self, name: str, guard: ca.SX) -> ca.SX:
        symbol, one, zero = _symbol(f"w{len(self.switches)}"), ca.SX(1), ca.SX(0)
        posed, above, below = {
            "if_else": lambda: (ca.if_else(guard > 0, 1, -0.5), one, ca.SX(-0.5)),
            "window": lambda: (ca.if_else(guard > 0, 1, 0), one, zero),
            "fabs": lambda: (ca.fabs(guard), guard, -guard),
            "fmax": lambda: (ca.fmax(guard, 0), guard, zero),
            "fmin": lambda: (ca.fmin(0, guard), zero, guard),
            "sign": lambda: (ca.sign(guard), one, -one),
        }[name]()
        self.switches.append(Switch(symbol, posed, guard, above, below))
        return symbol

    # -- the system -------------------------------------------------------------------------------

    def posed(self, expression: ca.SX) -> ca.SX:
        """Put in what stands for the symbols of switches."""
        symbols = ca.vertcat(ca.SX(0, 1), *[switch.symbol for switch in self.switches])
        meant = ca.vertcat(ca.SX(0, 1), *[switch.posed for switch in self.switches])
        return ca.substitute(expression, symbols, meant)

    @cached_property
    def system(self) -> ds.MechanicalSystem:
        names = self.q.names
        force = {
            n: self.posed(f) for n, f in zip(names, self.force, strict=True) if not f.is_zero()
        }
        return ds.MechanicalSystem(
            self.q,
            kinetic=self.kinetic,
            potential=self.potential,
            force=force,
            goals=[] if self.constraint is None else [self.constraint],
        )

    @cached_property
    def start(self) -> np.ndarray:
        """A consistent state, (2n,)."""
        x = np.array([self.number(-0.8, 0.8) for _ in range(self.count)])
        v = np.array([self.number(-1, 1) for _ in range(self.count)])
        if self.angular[0] and self.seed % 2:
            v[0] *= 4
        if self.position is not None:
            if self.kind in ("holonomic", "rheonomic"):
                x[-1] = self._value(self.position, x, v)
                rate = ca.jtimes(self.position, self.x, self.v)
                rate += ca.gradient(self.position, ds.time)
                v[-1] = self._value(rate, x, v)
            else:
                v[-1] = self._value(self.position, x, v)
        return np.concatenate([x, v])

    def _value(self, expression: ca.SX, x: np.ndarray, v: np.ndarray) -> float:
        function = ca.Function("value", [ds.time, self.x, self.v], [expression])
        return float(function(0.0, x, v))

    @property
    def named_start(self) -> dict[str, float]:
        names = [*self.q.names, *[f"{name}_dot" for name in self.q.names]]
        return dict(zip(names, self.start.tolist(), strict=True))

    # -- its own equations ------------------------------------------------------------------------

    @cached_property
    def _functions(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """M v' - J^T u = h, J v' = -c as one dense system, and the guards."""
        t, x, v, n = ds.time, self.x, self.v, self.count
        modes = ca.SX.sym("modes", len(self.switches))  # pyright: ignore[reportArgumentType]
        momentum = ca.gradient(self.kinetic, v)
        mass = ca.jacobian(momentum, v)
        load = ca.gradient(self.kinetic - self.potential, x) - ca.jtimes(momentum, x, v)
        load += ca.vertcat(*self.force)
        symbols = ca.vertcat(ca.SX(0, 1), *[switch.symbol for switch in self.switches])
        meant = [
            modes[k] * switch.above + (1 - modes[k]) * switch.below
            for k, switch in enumerate(self.switches)
        ]
        load = ca.substitute(load, symbols, ca.vertcat(ca.SX(0, 1), *meant))
        if self.constraint is not None:
            residual = ca.SX(self.constraint.residual)
            if self.kind in ("holonomic", "rheonomic"):
                residual = ca.jtimes(residual, x, v) + ca.gradient(residual, t)
            row = ca.jacobian(residual, v)
            rest = ca.jtimes(residual, x, v) + ca.gradient(residual, t)
            mass = ca.blockcat([[mass, row.T], [row, ca.SX(1, 1)]])
            load = ca.vertcat(load, -rest)
        second = ca.solve(mass, load)[:n]
        state = ca.vertcat(x, v)
        rate = ca.Function("rate", [t, state, modes], [ca.vertcat(v, second)])
        guards = ca.vertcat(ca.SX(0, 1), *[switch.guard for switch in self.switches])
        return rate, ca.Function("guards", [t, state], [guards])

    def truth(self) -> np.ndarray:
        """Return the state at the end, (2n,)."""
        rate, guards = self._functions

        def of(t: float, state: np.ndarray, modes: tuple[bool, ...]) -> np.ndarray:
            return np.array(rate(t, state, np.array(modes, dtype=float))).ravel()

        def at(t: float, state: np.ndarray) -> np.ndarray:
            return np.array(guards(t, state)).ravel()

        pieces: list[tuple[float, float]] = []
        cuts = sorted({END, *(min(END, s + k * w) for s, w in self.places for k in (-9, 9))})
        low = 0.0
        for high in (cut for cut in cuts if cut > 0.0):
            middle = (low + high) / 2
            near = [w for s, w in self.places if abs(middle - s) < 9 * w]
            pieces.append((high, min(near) / 2 if near else 0.05))
            low = high
        return follow(of, at, self.start, pieces, len(self.switches))

    def __str__(self) -> str:
        return f"{self.seed} {self.kind}: {', '.join(self.words) or 'smooth'}"


def finite(values: np.ndarray) -> bool:
    """Return whether a truth is one, and no motion that has gone off."""
    return bool(np.all(np.isfinite(values))) and math.isfinite(float(np.abs(values).max()))
