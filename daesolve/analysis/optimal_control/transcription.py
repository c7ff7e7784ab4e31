"""A task as a nonlinear programme: Gauss collocation, with ends of intervals on the constraints.

On each interval X_j = x + h sum_i a_ji f(X_i), and the next node is

    x+ = x + h sum_j b_j f(X_j) + F_x(x)^T m,    F(x+) = 0,

where m is as small as the error of collocation, and leaves its order 2s unchanged. R. Bordalba, T.
Schoels, L. Ros, J. M. Porta, M. Diehl, Direct collocation methods for trajectory optimization in
constrained robotic systems, IEEE Trans. Robotics 39 (2023) 183-202.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import casadi as ca
import numpy as np

from daesolve.analysis.optimal_control.collocation import (
    Arcs,
    CollocatedMotion,
    Mesh,
    gauss,
    on_arcs,
)
from daesolve.analysis.optimal_control.task import ControlTask
from daesolve.core.posing.symbols import symbol

PUSH = 1e-2
"""How far, in sizes, the end of an interval may be from its constraints before projection."""
LEAST = 0.01
"""The part of their distance that two moving nodes keep."""


class Transcription:
    """A task on a mesh as a nonlinear programme.

    Parameters
    ----------
    task, mesh
        What is wanted, and where.
    sizes
        (nx,) the sizes of the states.
    arcs
        On which intervals bounds act; None leaves this open.
    entries
        (m, n + 1) where the path comes to a bound to stay there; None if this is not known.
    elastic
        Whether the ends, the bounds and periods may be missed, which alone is minimised.
    """

    def __init__(
        self,
        task: ControlTask,
        mesh: Mesh,
        sizes: np.ndarray,
        *,
        arcs: Arcs | None = None,
        entries: np.ndarray | None = None,
        elastic: bool = False,
    ) -> None:
        self.task, self.mesh, self.arcs, self.elastic = task, mesh, arcs, elastic
        self._tangents = entries if arcs is None else arcs.touches
        self._variables: list[ca.MX] = []
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []
        self._rows: list[tuple[ca.MX, np.ndarray, np.ndarray]] = []
        self._slack_names: list[str] = []
        self._slacks: list[ca.MX] = []
        self._slack_rows: list[ca.MX] = []
        self._sizes = sizes
        count, stages, intervals = len(sizes), mesh.stages, mesh.intervals
        start, controls = task.start, task.controls
        states = self._variable(count * (intervals + 1))
        self._bound(0, start.low / sizes, start.high / sizes)
        self.states = sizes * ca.reshape(states, count, intervals + 1)
        inner = self._variable(count * stages * intervals)
        self.stages = ca.reshape(
            ca.DM(np.tile(sizes, stages * intervals)) * inner, count * stages, intervals
        )
        self._control_sizes = controls.sizes
        wide = (mesh.degree + 1) * intervals
        own = np.tile(self._control_sizes, wide)
        low, high = (self._tiled(part, mesh.degree + 1) for part in self._limits_of("controls"))
        column = self._variable(len(own), low / own, high / own)
        self.controls = ca.reshape(
            ca.DM(own) * column, len(controls.names) * (mesh.degree + 1), intervals
        )
        unknowns = task.unknowns
        self._unknown_sizes = unknowns.sizes
        self.unknowns = ca.DM(self._unknown_sizes) * self._variable(
            len(unknowns.names), unknowns.low / unknowns.sizes, unknowns.high / unknowns.sizes
        )
        self._longest = task.duration[1]
        shortest = np.array([task.duration[0] / self._longest])
        self.duration = self._longest * self._variable(1, shortest, np.ones(1))
        self.nodes = self._placed_nodes()
        self._cost = self._collocated()
        self._at_ends()

    # -- variables and rows ------------------------------------------------------------------------

    def _variable(
        self, count: int, low: np.ndarray | None = None, high: np.ndarray | None = None
    ) -> ca.MX:
        found = ca.MX.sym(f"w{len(self._variables)}", count)  # pyright: ignore[reportArgumentType]
        self._variables.append(found)
        self._low.append(np.full(count, -np.inf) if low is None else low.copy())
        self._high.append(np.full(count, np.inf) if high is None else high.copy())
        return found

    def _bound(self, first: int, low: np.ndarray, high: np.ndarray) -> None:
        self._low[-1][first : first + len(low)] = low
        self._high[-1][first : first + len(high)] = high

    def _require(self, row: ca.MX, low: np.ndarray, high: np.ndarray) -> None:
        self._rows.append((row, low, high))

    def _ask(self, names: Sequence[str], row: ca.MX, low: np.ndarray, high: np.ndarray) -> None:
        """Require what the task asks for, which an elastic programme may miss."""
        if self.elastic and row.numel():
            count = row.numel()
            slack = self._variable(2 * count, np.zeros(2 * count))
            row = row + slack[:count] - slack[count:]
            self._slacks.append(slack)
            self._slack_rows.append(slack[:count] + slack[count:])
            self._slack_names += names
        self._require(row, low, high)

    def _limits_of(self, what: Literal["controls", "path"]) -> tuple[np.ndarray, np.ndarray]:
        """Return the limits of controls or path on each interval, (m, n)."""
        limits = self.task.controls if what == "controls" else self.task.along
        if self.arcs is not None:
            return on_arcs(limits, self.arcs.controls if what == "controls" else self.arcs.path)
        still = np.ones(self.mesh.intervals)
        return np.outer(limits.low, still), np.outer(limits.high, still)

    @staticmethod
    def _tiled(limits: np.ndarray, times: int) -> np.ndarray:
        """Return limits on each interval, (m, n), for the points of each interval in turn."""
        return np.repeat(limits.T[:, None, :], times, axis=1).ravel()

    def _placed_nodes(self) -> ca.MX:
        """Return the nodes: those between two that move are spaced as they were."""
        mesh, own = self.mesh, np.array(self.mesh.nodes)
        if not mesh.moving:
            return ca.MX(ca.DM(own))
        places = [0, *mesh.moving, mesh.intervals]
        knots = ca.vertcat(0.0, self._variable(len(mesh.moving)), 1.0)
        steps = knots[1:] - knots[:-1]
        least = LEAST * np.diff(own[places])
        self._require(steps, least, np.full(len(least), np.inf))
        parts: list[ca.MX] = []
        for k, (first, last) in enumerate(itertools.pairwise(places)):
            shares = (own[first:last] - own[first]) / (own[last] - own[first])
            parts.append(knots[k] + steps[k] * ca.DM(shares))
        return ca.vertcat(*parts, 1.0)

    # -- the programme -----------------------------------------------------------------------------

    def _values(self, controls: ca.SX, unknowns: ca.SX) -> ca.SX:
        """Return p with controls and unknowns in their places."""
        p = ca.SX(ca.DM(self.task.equations.defaults))
        for places, column in zip(self.task.places, (controls, unknowns), strict=True):
            for k, place in enumerate(places):
                p[place] = column[k]
        return p

    def _interval(self) -> ca.Function:
        """(x, stages, controls, unknowns, t, h) -> defects, end, cost, path."""
        task, mesh, equations = self.task, self.mesh, self.task.equations
        count, inputs = len(self._sizes), len(task.controls.names)
        c, a, b = gauss(mesh.stages)
        x, stages = symbol("x", count), symbol("X", count * mesh.stages)
        u = symbol("u", inputs * (mesh.degree + 1))
        s = symbol("s", len(task.unknowns.names))
        t, h = symbol("t"), symbol("h")
        shown = ca.reshape(u, inputs, mesh.degree + 1) @ ca.DM(mesh.controls_at(c).T)
        at = [stages[k * count : (k + 1) * count] for k in range(mesh.stages)]
        moments = [t + h * own for own in c]
        p = [self._values(shown[:, k], s) for k in range(mesh.stages)]
        rates = ca.horzcat(
            *[equations.rates(m, X, own) for m, X, own in zip(moments, at, p, strict=True)]
        )
        defects = ca.horzcat(*at) - x - h * (rates @ ca.DM(a.T))
        end = x + h * (rates @ ca.DM(b))
        cost = ca.SX(0)
        if task.running is not None:
            for weight, m, X, own in zip(b, moments, at, p, strict=True):
                cost += weight * h * task.running(m, X, own)
        path = [task.path(m, X, own) for m, X, own in zip(moments, at, p, strict=True)]
        path.append(task.path(t + h, end, self._values(u[u.numel() - inputs :], s)))
        scaled = ca.vec(defects / ca.DM(self._sizes))
        outputs = [scaled, end, cost, ca.vertcat(ca.SX(0, 1), *path)]
        return ca.Function("interval", [x, stages, u, s, t, h], outputs, {"cse": True})

    def _collocated(self) -> ca.MX:
        """Impose the equations on all intervals; return the integral of the objective."""
        task, mesh, sizes = self.task, self.mesh, self._sizes
        n, equations = mesh.intervals, task.equations
        begins, ends = self.states[:, :n], self.states[:, 1:]
        times = task.begin + self.duration * self.nodes.T
        lengths = times[1:] - times[:n]
        unknowns = ca.repmat(self.unknowns, 1, n)
        given = [begins, self.stages, self.controls, unknowns, times[:n], lengths]
        found: list[ca.MX] = list(self._interval().map(n).call(given))
        defects, arrived, costs, path = found
        self._require(ca.MX(ca.vec(defects)), *_zeros(defects.numel()))
        gaps = ca.MX((ends - arrived) / ca.DM(np.tile(sizes[:, None], (1, n))))
        if equations.constraints.numel_out(0):
            gaps -= self._projected(times)
        self._require(ca.MX(ca.vec(gaps)), *_zeros(gaps.numel()))
        if task.along.names:
            self._bound_path(path)
            self._touch(times)
        return ca.sum2(costs)

    def _projected(self, times: ca.MX) -> ca.MX:
        """Put the nodes on the constraints; return what moves the ends of intervals there."""
        task, sizes, n = self.task, self._sizes, self.mesh.intervals
        equations, rows = task.equations, task.equations.constraints.numel_out(0)
        # A projection that is no small error could reach another branch of the constraints.
        grips = np.asarray(equations.grips(task.begin, task.began, equations.defaults)) * sizes
        norms = np.linalg.norm(grips, axis=1)
        most = np.tile(PUSH / np.where(norms > PUSH, norms, 1.0), n)
        pushes = ca.reshape(self._variable(rows * n, -most, most), rows, n)
        p, t, m = symbol("p", len(task.unknowns.names)), symbol("t", 2), symbol("m", rows)
        x, y = symbol("x", len(sizes)), symbol("y", len(sizes))
        values = self._values(ca.SX.zeros(len(task.controls.names)), p)
        grip = ca.reshape(ca.SX(equations.grips(t[0], x, values)), rows, len(sizes))
        pushed = (grip * ca.repmat(ca.DM(sizes).T, rows, 1)).T @ m
        closure = equations.constraints(t[1], y, values)
        on = ca.Function("on", [x, y, p, t, m], [pushed, closure], {"cse": True}).map(n)
        both = ca.vertcat(times[:n], times[1:])
        begins, ends = self.states[:, :n], self.states[:, 1:]
        found: list[ca.MX] = list(
            on.call([begins, ends, ca.repmat(self.unknowns, 1, n), both, pushes])
        )
        self._require(ca.MX(ca.vec(found[1])), *_zeros(rows * n))
        return found[0]

    def _bound_path(self, path: ca.MX) -> None:
        """Bound the path at the points of collocation and at the end of each interval."""
        limits, n, points = self.task.along, self.mesh.intervals, self.mesh.stages + 1
        sizes = np.tile(limits.sizes, points * n)
        low, high = (self._tiled(part, points) for part in self._limits_of("path"))
        if self.arcs is not None:
            touched = on_arcs(limits, self.arcs.touches[:, 1:])
            # Along an arc, the points of collocation alone keep the ends of intervals there.
            along = (self.arcs.path != 0) & (self.arcs.touches[:, 1:] == 0)
            ends = np.where(along, -np.inf, touched[0]), np.where(along, np.inf, touched[1])
            for own, at_node in zip((low, high), ends, strict=True):
                own.reshape(n, points, -1)[:, -1] = at_node.T
        names = limits.names * (points * n)
        self._ask(names, ca.MX(ca.vec(path) / ca.DM(sizes)), low / sizes, high / sizes)

    def _touch(self, times: ca.MX) -> None:
        """Let the path turn where it touches a bound, or comes to it to stay there.

        A node then finds this instant. A path that came to its bound with a rate would stay there
        only at the points of collocation, while the controls swing from each one to the next.
        """
        if self._tangents is None:
            return
        task = self.task
        for row, node in np.argwhere(self._tangents).tolist():
            if row in task.driven_rates:
                continue
            values = self._values_after(node - 1)
            rates = task.path_rates(times[node], self.states[:, node], values)
            scale = task.along.sizes[row] / self._longest
            self._require(ca.MX(rates[row] / scale), *_zeros(1))

    def _at_ends(self) -> None:
        task, sizes, names = self.task, self._sizes, self.task.equations.states
        first, last = self.states[:, 0], self.states[:, -1]
        asked = np.flatnonzero(np.isfinite(task.end.low) | np.isfinite(task.end.high)).tolist()
        if asked:
            low, high = task.end.low[asked], task.end.high[asked]
            own = sizes[asked]
            titles = [f"the end of {names[k]}" for k in asked]
            self._ask(titles, ca.MX(last[asked] / ca.DM(own)), low / own, high / own)
        periodic = list(task.periodic)
        end = last
        if task.landing is not None:
            landed = task.landing(task.begin + self.duration, last, self._values_after(-1))
            self._ask([f"the guard of {task.event}"], ca.MX(landed[0]), *_zeros(1))
            end = landed[1:]
        if periodic:
            gap = ca.MX((end - first)[periodic] / ca.DM(sizes[periodic]))
            self._ask([f"the period of {names[k]}" for k in periodic], gap, *_zeros(len(periodic)))
        if task.closures:
            closed = task.equations.constraints(task.begin, first, self._values_after(-1))
            self._require(closed[list(task.closures)], *_zeros(len(task.closures)))
        if task.final is not None:
            self._cost += task.final(task.begin + self.duration, last, self._values_after(-1))
        if task.shortest:
            self._cost += self.duration

    def _values_after(self, interval: int) -> ca.MX:
        """Return p at the end of an interval."""
        values = ca.MX(ca.DM(self.task.equations.defaults))
        inputs = len(self.task.controls.names)
        for k, place in enumerate(self.task.places[0]):
            values[place] = self.controls[k - inputs, interval]
        for k, place in enumerate(self.task.places[1]):
            values[place] = self.unknowns[k]
        return values

    # -- numbers -----------------------------------------------------------------------------------

    @property
    def programme(self) -> dict[str, ca.MX]:
        """Variables, objective and rows."""
        cost = self._cost
        if self.elastic:
            cost = sum((ca.sum1(slack) for slack in self._slacks), ca.MX(0))
        return {
            "x": ca.vertcat(*self._variables),
            "f": cost,
            "g": ca.vertcat(*[row for row, _, _ in self._rows]),
        }

    @property
    def surplus(self) -> bool:
        """Whether there are more equations than variables."""
        limits = self.limits
        fixed = np.count_nonzero(limits["lbx"] == limits["ubx"])
        equations = np.count_nonzero(limits["lbg"] == limits["ubg"])
        return bool(equations > len(limits["lbx"]) - fixed)

    @property
    def limits(self) -> dict[str, np.ndarray]:
        """The limits of variables and rows."""
        return {
            "lbx": np.concatenate(self._low),
            "ubx": np.concatenate(self._high),
            "lbg": np.concatenate([low for _, low, _ in self._rows]),
            "ubg": np.concatenate([high for _, _, high in self._rows]),
        }

    def guess(self, motion: CollocatedMotion) -> np.ndarray:
        """Return a motion as the values of the variables."""
        moved = motion.nodes[list(self.mesh.moving)]
        parts = [
            (motion.states / self._sizes[:, None]).T.ravel(),
            (motion.stages / self._sizes[:, None, None]).transpose(2, 1, 0).ravel(),
            (motion.controls / self._control_sizes[:, None, None]).transpose(2, 1, 0).ravel(),
            motion.unknowns / self._unknown_sizes,
            np.array([motion.duration / self._longest]),
            *([moved] if len(moved) else []),
        ]
        rest = sum(variable.numel() for variable in self._variables[len(parts) :])
        return np.concatenate([*parts, np.zeros(rest)])

    def motion(self, values: ca.DM) -> CollocatedMotion:
        """Return the motion that the variables describe."""
        outputs = [self.duration, self.nodes, self.states, self.stages, self.controls]
        outputs += [self.unknowns, self._cost]
        read = ca.Function("motion", [self.programme["x"]], outputs)
        duration, nodes, states, stages, controls, unknowns, cost = (
            np.asarray(one.full()) for one in read(values)
        )
        n, s, d = self.mesh.intervals, self.mesh.stages, self.mesh.degree + 1
        return CollocatedMotion(
            float(duration[0, 0]),
            nodes.ravel(),
            states,
            stages.T.reshape(n, s, -1).transpose(2, 1, 0),
            controls.T.reshape(n, d, -1).transpose(2, 1, 0),
            unknowns.ravel(),
            float(cost[0, 0]),
        )

    def misses(self, values: ca.DM) -> dict[str, float]:
        """Return by how much an elastic programme misses what is asked, in sizes, by name."""
        read = ca.Function("misses", [self.programme["x"]], [ca.vertcat(*self._slack_rows)])
        found: dict[str, float] = {}
        for name, miss in zip(self._slack_names, read(values).full().ravel(), strict=True):
            found[name] = max(found.get(name, 0.0), float(miss))
        return found


def _zeros(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(count), np.zeros(count)
