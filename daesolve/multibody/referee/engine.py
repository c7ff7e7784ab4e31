"""MuJoCo for the referee: adapts its model, measures states, closes the loops of the start."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.errors import DaesolveError, MissingPackageError
from daesolve.multibody.model_files.child import specified
from daesolve.multibody.model_files.contacts import SLIDING, GeomPair
from daesolve.multibody.model_files.left_out import LeftOut
from daesolve.multibody.model_files.parsing import places_of

UNNAMED = "daesolve geom number"

CLOSED = 1e-14
"""The largest gap of a loop at the start, over the extent of the model."""
TORQUE_SCALE = 10
"""The place of that number among those of a weld."""
TRIES = 50
SINGULAR = 1e-9
"""Singular values below this part of the largest belong to rows that say the same twice."""
DAMPED = 1.0
STIFFEST = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""MuJoCo limits the impedance to 0.9999."""
SHORTEST = 2.0
"""The time constant of a constraint in steps: MuJoCo's documentation advises no less."""
NEAR = 0.1
"""How far apart geoms may be for their distance to be known, over the extent of the model."""
STICKS = 1e4
"""How much harder friction is than what pushes in hard contacts: MuJoCo's impratio."""


class OpenLoopError(DaesolveError, ValueError):
    """The loops of the start cannot be closed from the positions in the file."""


def engine() -> Any:
    """Return MuJoCo.

    Raises
    ------
    MissingPackageError
        It is not installed.
    """
    if find_spec("mujoco") is None:
        raise MissingPackageError("mujoco", "import")
    return import_module("mujoco")


@contextmanager
def heard() -> Generator[list[str]]:
    """Collect MuJoCo's warnings, which otherwise go to a file in the working directory."""
    package = engine()
    said: list[str] = []
    before = package.get_mju_user_warning()
    package.set_mju_user_warning(said.append)
    try:
        yield said
    finally:
        package.set_mju_user_warning(before)


@dataclass(frozen=True, eq=False)
class CommonStart:
    """The common start.

    Parameters
    ----------
    qpos, qvel
        Positions and speeds of MuJoCo's joints, (nq,) and (nv,).
    moved
        How far closing the loops moved the positions at most, in their units.
    ctrl, inputs
        What is held of actuators: for MuJoCo, (nu,), zeros if it is None; and what of it is not
        zero, by daesolve's names of inputs.
    """

    qpos: np.ndarray
    qvel: np.ndarray
    moved: float = 0.0
    ctrl: np.ndarray | None = None
    inputs: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class EqualityRows:
    """The rows of one equality of the file.

    Parameters
    ----------
    name
        Of the equality.
    unit
        "m", or "rad" of a turn.
    rows
        Their places among the rows of equalities.
    scale
        Of the turn of a weld, whose rows are this times the sine of half the angle; else None.
    """

    name: str
    unit: str
    rows: tuple[int, ...]
    scale: float | None = None

    def gap(self, residuals: np.ndarray) -> float:
        """Return how far the two ends are apart, m or rad, by all residuals."""
        size = float(np.linalg.norm(residuals[list(self.rows)]))
        if self.scale is None:
            return size
        return 2.0 * float(np.arcsin(min(1.0, size / self.scale)))


class Gauge:
    """Measures states of a model, apart from the data with which MuJoCo steps.

    Parameters
    ----------
    model
        MuJoCo's. A copy of it supplies dense Jacobians and energies.
    """

    def __init__(self, model: Any) -> None:
        self.model, self._mj = copy(model), engine()
        self.model.opt.jacobian = self._mj.mjtJacobian.mjJAC_DENSE
        self.model.opt.enableflags |= int(self._mj.mjtEnableBit.mjENBL_ENERGY)
        self.model.pair_gap[:] = NEAR * float(model.stat.extent)  # without a force
        self.data = self._mj.MjData(self.model)

    def look(self, qpos: np.ndarray, qvel: np.ndarray, ctrl: np.ndarray | None = None) -> None:
        """Evaluate everything at a state."""
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        if ctrl is not None:
            self.data.ctrl[:] = ctrl
        self._mj.mj_forward(self.model, self.data)

    @property
    def residuals(self) -> np.ndarray:
        """What the equalities leave open, row by row; m, rad."""
        return np.array(self.data.efc_pos[self._equalities])

    @property
    def jacobian(self) -> np.ndarray:
        """Of the equalities, (rows, nv)."""
        whole = np.array(self.data.efc_J).reshape(-1, self.model.nv)
        return whole[self._equalities]

    @property
    def _equalities(self) -> np.ndarray:
        kind = int(self._mj.mjtConstraint.mjCNSTR_EQUALITY)
        return np.flatnonzero(np.asarray(self.data.efc_type) == kind)

    @cached_property
    def roots(self) -> list[int]:
        """The numbers of the bodies that move and have mass; of welded ones, the first."""
        masses = self._masses
        return [int(root) for root in np.unique(self._welded) if root and np.sum(masses[root])]

    @cached_property
    def _welded(self) -> np.ndarray:
        welded = np.array(self.model.body_weldid)
        moved = np.array(self.model.body_mocapid)[welded] >= 0  # by a program: they stand still
        return np.where(moved, 0, welded)

    @cached_property
    def _masses(self) -> np.ndarray:
        """(bodies, bodies) what each body has of the mass of what is welded to another."""
        together = np.array([self._welded == root for root in range(int(self.model.nbody))])
        return np.where(together, np.array(self.model.body_mass)[None, :], 0.0)

    @property
    def positions(self) -> np.ndarray:
        """(roots, 3) the mass centres of what moves in one piece, m."""
        return self.together(np.array(self.data.xipos))

    def together(self, values: np.ndarray) -> np.ndarray:
        """Return the means over what moves in one piece, by mass: (bodies, 3) -> (roots, 3)."""
        shares = self._masses[self.roots]
        return shares @ values / np.sum(shares, axis=1)[:, None]

    @property
    def energies(self) -> tuple[float, float]:
        """Potential and kinetic, J."""
        potential, kinetic = self.data.energy
        return float(potential), float(kinetic)

    @property
    def power(self) -> float:
        """Of dampers, dry friction, fluids, weights that are borne, and actuators, W."""
        d = self.data
        forces = d.qfrc_passive - d.qfrc_spring + d.qfrc_actuator
        kind = int(self._mj.mjtConstraint.mjCNSTR_FRICTION_DOF)
        rubbing = np.flatnonzero(np.asarray(d.efc_type) == kind)
        dofs = np.asarray(d.efc_id)[rubbing]
        lost = np.asarray(d.efc_force)[rubbing] @ np.asarray(d.qvel)[dofs]
        return float(forces @ d.qvel + lost)

    @property
    def rows(self) -> list[EqualityRows]:
        """What the rows of the equalities are, in their order."""
        found: list[EqualityRows] = []
        at = 0
        ids = np.asarray(self.data.efc_id)[self._equalities]
        for number in dict.fromkeys(int(one) for one in ids):
            count = int(np.sum(ids == number))
            name = self.model.equality(number).name or f"equality_{number}"
            rows = tuple(range(at, at + count))
            if self.model.eq_type[number] == self._mj.mjtEq.mjEQ_WELD:
                found.append(EqualityRows(name, "m", rows[:3]))
                scale = float(self.model.eq_data[number, TORQUE_SCALE])
                found += [EqualityRows(name, "rad", rows[3:], scale)] if scale else []
            else:
                found.append(EqualityRows(name, self._unit(number), rows))
            at += count
        return found

    def _unit(self, number: int) -> str:
        model = self.model
        if model.eq_type[number] != self._mj.mjtEq.mjEQ_JOINT:
            return "m"
        slides = model.jnt_type[model.eq_obj1id[number]] == self._mj.mjtJoint.mjJNT_SLIDE
        return "m" if slides else "rad"

    def gaps(self, rows: Sequence[EqualityRows]) -> np.ndarray:
        """Return how far each part of the equalities gapes, m or rad."""
        residuals = self.residuals
        return np.array([row.gap(residuals) for row in rows])


def closed(gauge: Gauge, qpos: np.ndarray, qvel: np.ndarray) -> CommonStart:
    """Return the nearest start with closed loops, by Newton's method in the joints.

    The speeds change least in the kinetic energy.

    Parameters
    ----------
    gauge
        Of the model.
    qpos, qvel
        Where the file puts the joints, (nq,) and (nv,).

    Raises
    ------
    OpenLoopError
        The loops do not close from there.
    """
    model = gauge.model
    place, bound = np.array(qpos, dtype=float), CLOSED * max(1.0, float(model.stat.extent))
    gauge.look(place, qvel)
    least, best = np.inf, place.copy()
    for _ in range(TRIES):
        open_ = gauge.residuals
        size = float(np.max(np.abs(open_), initial=0.0))
        if size >= least:
            break
        least, best = size, place.copy()
        if not size:
            break
        step = -np.linalg.pinv(gauge.jacobian, rcond=SINGULAR) @ open_
        engine().mj_integratePos(model, place, step, 1.0)
        gauge.look(place, qvel)
    if least > 100.0 * bound:
        raise OpenLoopError(
            f"the loops do not close from the start of the file: {least:.3g} remains in the "
            "equalities; give another start, with a keyframe or --initial"
        )
    gauge.look(best, qvel)
    moved = float(np.max(np.abs(best - qpos), initial=0.0))
    return CommonStart(best, _admissible(gauge, np.asarray(qvel, dtype=float)), moved)


def _admissible(gauge: Gauge, qvel: np.ndarray) -> np.ndarray:
    """Return speeds that the closed loops allow: the nearest ones, in the kinetic energy."""
    model = gauge.model
    rows = gauge.jacobian
    if not rows.size or not np.any(qvel):
        return qvel.copy()
    mass: np.ndarray = np.zeros((model.nv, model.nv))
    engine().mj_fullM(model, gauge.data, mass)
    root = np.linalg.cholesky(mass)
    scaled = np.linalg.solve(root, rows.T).T
    lost = np.linalg.pinv(scaled, rcond=SINGULAR) @ (rows @ qvel)
    return qvel - np.linalg.solve(root.T, lost)


def switch_off(model: Any, left_out: Sequence[LeftOut]) -> None:
    """Switch off in MuJoCo what daesolve leaves out, so that both run the same.

    Parameters
    ----------
    model
        MuJoCo's; it is changed.
    left_out
        What daesolve's mechanism leaves out.
    """
    model.opt.density = model.opt.viscosity = 0.0
    gone = {entry.kind: set(entry.names) for entry in left_out}
    slack = gone.get("tendons", set[str]())
    for number in range(int(model.ntendon)):
        if (model.tendon(number).name or f"number {number}") in slack:
            for numbers in (model.tendon_stiffness, model.tendon_damping, model.tendon_limited,
                            model.tendon_frictionloss, model.tendon_armature):  # fmt: skip
                numbers[number] = 0
    idle = gone.get("actuators of other kinds", set[str]())
    for number in range(int(model.nactuator)):
        if (model.actuator(number).name or f"number {number}") in idle:
            model.actuator_gainprm[number], model.actuator_biasprm[number] = 0.0, 0.0
    open_ = gone.get("equalities of tendons and flexes", set[str]())
    for number in range(int(model.neq)):
        if (model.equality(number).name or f"number {number}") in open_:
            model.eq_active0[number] = False


def compiled_with(path: Path, pairs: Sequence[GeomPair]) -> Any:
    """Return MuJoCo's model of a file, in which none but some pairs of geoms touch.

    Friction, margin and softness of each are what MuJoCo mixes from its geoms, or those of the
    pair in the file; none of them rubs against torsion and rolling, or by direction.

    Parameters
    ----------
    path
        Of the file.
    pairs
        Those that touch.
    """
    spec, model, _ = specified(path, places_of(path))
    wanted = {frozenset(pair.geoms): pair for pair in pairs}
    geoms = list(spec.geoms)
    for geom in geoms:
        geom.name = geom.name or f"{UNNAMED} {geom.id}"
    names = {int(geom.id): geom.name for geom in geoms}
    numbers = {name: number for number, name in names.items()}
    for pair in list(spec.pairs):
        if wanted.pop(frozenset((numbers[pair.geomname1], numbers[pair.geomname2])), None) is None:
            spec.delete(pair)
    for pair in wanted.values():
        own, other = (names[number] for number in pair.geoms)
        added = spec.add_pair(geomname1=own, geomname2=other)
        added.condim, added.margin, added.solreffriction = pair.dimension, np.nan, np.zeros(2)
        added.friction, added.solref = np.full(5, np.nan), np.full(2, np.nan)
        added.solimp = np.full(5, np.nan)
    model = spec.compile()
    for mask in (model.geom_contype, model.geom_conaffinity, model.body_contype,
                 model.body_conaffinity):  # fmt: skip
        mask[:] = 0
    model.pair_dim[:] = np.minimum(model.pair_dim, SLIDING)
    model.pair_friction[:, 1] = model.pair_friction[:, 0]
    return model


def harden(model: Any, step: float) -> None:
    """Make all equalities, contacts and limits of a model as hard as its step allows.

    Parameters
    ----------
    model
        MuJoCo's; it is changed.
    step
        s
    """
    for softness, impedance in (
        (model.eq_solref, model.eq_solimp),
        (model.pair_solref, model.pair_solimp),
        (model.jnt_solref, model.jnt_solimp),
        (model.tendon_solref_lim, model.tendon_solimp_lim),
    ):
        softness[:, 0], softness[:, 1], impedance[:] = SHORTEST * step, DAMPED, STIFFEST
    if model.npair:
        model.opt.cone, model.opt.impratio = engine().mjtCone.mjCONE_ELLIPTIC, STICKS
    model.opt.solver = engine().mjtSolver.mjSOL_NEWTON
    model.opt.tolerance, model.opt.iterations = 1e-15, 100
