"""`small_velocities`: systems with small velocities, reduced by Dirac's primary constraints.

Source of the method: A. V. Vlakhova, On "non-holonomic motions" of gyroscopic and wheeled systems,
Vestnik Moskovskogo Universiteta, Ser. 1, Mat. Mekh. (2013) no. 5, 67-73.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import (
    check_named,
    complete_start,
    sample_states,
    start_value,
)
from daesolve.core.equations.drives import drive_values_at_start
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import RANK_TOLERANCE, check_mass
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.posing.symbols import SymbolVector
from daesolve.core.system.consistent_state import parameter_values
from daesolve.core.system.system import ControlSystem, MechanicalSystem, unswitched
from daesolve.errors import (
    OutOfRangeError,
    SecondaryConstraintsError,
    check_names,
    is_number,
)
from daesolve.nonholonomic.constraint_forms import parameter_vector
from daesolve.nonholonomic.dirac import DiracEquations, dirac_equations
from daesolve.nonholonomic.independent_motion import IndependentMotion, independent_motion
from daesolve.nonholonomic.reduced_systems import (
    added_names,
    leading_system,
    moved_names,
    refined_system,
)
from daesolve.nonholonomic.reducible import check_reducible, checked_names
from daesolve.nonholonomic.slow_manifold import grips, strength
from daesolve.nonholonomic.slow_motion import FastSpectrum, Quantities, SlowMotion
from daesolve.nonholonomic.validity import Validity

Values = Mapping[str, float]
Order = Literal[0, 1]


@dataclass(frozen=True, eq=False)
class DiracModel:
    """A system whose small velocities follow from its positions and large momenta.

    Parameters
    ----------
    full
        The original system.
    multipliers
        The names of the m small velocities, which are Dirac's multipliers in the slow motion.
    rank
        The rank of the Hessian of the singular Lagrangian L0: the number of large velocities,
        because A11 is positive definite wherever A is.
    momenta
        Symbols of the momenta, `momentum_<coordinate>` or `momentum_<quasi-velocity>`.
    primary_constraints
        Phi by the name of its small velocity, each an expression of coordinates and momenta.
    motion
        The velocities that the goals of the system leave free: all if it has none.
    equations
        Dirac's equations, and the refinement.
    states
        Symbols of the states of `system`: positions, momenta of large velocities, small velocities.

    Notes
    -----
    In every method, `state` is a state of the full system, of `system` or of `refined`: values by
    name, where missing ones are zero, with either large velocities or their momenta (small
    velocities of order 0 are recomputed). `parameters` contains values that differ from the
    defaults; `time` is in s. Each method may raise

    SecondaryConstraintsError
        M is singular at the state.
    NoSlowManifoldError
        No small velocities balance the forces; or, in `start`, the fast motion grows or its rates
        change as fast as it decays. Runs that reach such a place end with the event
        `slow_manifold_lost`.
    UnknownNameError, OutOfRangeError
        A name is unknown, or a value is not a number.
    """

    full: MechanicalSystem
    multipliers: tuple[str, ...]
    rank: int
    momenta: SymbolVector
    primary_constraints: Mapping[str, ca.SX]
    motion: IndependentMotion
    equations: DiracEquations
    states: SymbolVector

    @cached_property
    def system(self) -> ControlSystem:
        """Order 0: Dirac's equations, with goals `balance_<coordinate>` that keep R = 0.

        Large velocities are outputs under their own names.
        """
        return leading_system(self.full, self.motion, self.equations, self.states, self._small)

    @cached_property
    def refined(self) -> ControlSystem:
        """The refinement, with errors of second order.

        The small velocities are lambda1. The states of `system` are followed by the small
        velocities of order 0, `<small velocity>_leading`, and their rates, `<small
        velocity>_leading_dot`.
        """
        return refined_system(self.full, self.motion, self.equations, self.states, self._small)

    def start(
        self,
        state: Values,
        parameters: Values | None = None,
        time: float = 0.0,
        *,
        order: Order = 0,
    ) -> dict[str, float]:
        """Return the start of `system` (order 0) or `refined` (order 1).

        The small velocities are those of the slow motion. For the refinement, positions and momenta
        include the change due to the fast motion, x - g_lambda M^-1 S (lambda - lambda0) if x' =
        g(x, lambda) is linear; without it, errors would be of first order.
        """
        motion = self._motion(state, parameters, time)
        motion.check_slow()
        if _checked(order) == 0:
            return _by_name(self.states.names, np.concatenate([motion.slow, motion.leading]))
        motion = motion.after_layer()
        motion.check_slow()
        columns = [motion.slow, motion.refined, motion.leading, motion.changing]
        names = self.states.names + added_names(self.multipliers)
        return _by_name(names, np.concatenate(columns))

    def on_slow_manifold(
        self,
        state: Values,
        parameters: Values | None = None,
        time: float = 0.0,
        *,
        order: Order = 1,
    ) -> dict[str, float]:
        """Return a full state with the small velocities of the slow motion.

        Positions and the momenta of large velocities stay the same; small velocities become lambda0
        (order 0) or lambda1 (order 1).
        """
        motion = self._motion(state, parameters, time)
        small = motion.leading if _checked(order) == 0 else motion.refined
        positions = motion.slow[: self._dynamics.position_count]
        names = self._dynamics.labels.states
        return _by_name(names, np.concatenate([positions, motion.at(small)["velocities"]]))

    def solvability_matrix(
        self, state: Values, parameters: Values | None = None, time: float = 0.0
    ) -> np.ndarray:
        """Return M = dR/dlambda, (m, m), at the small velocities of the state."""
        motion = self._motion(state, parameters, time)
        return motion.at(motion.multipliers)["solvability"]

    def small_inertia(
        self, state: Values, parameters: Values | None = None, time: float = 0.0
    ) -> np.ndarray:
        """Return S = A22 - A21 A11^-1 A12, (m, m)."""
        motion = self._motion(state, parameters, time)
        return motion.at(motion.multipliers)["inertia"]

    def fast_spectrum(
        self, state: Values, parameters: Values | None = None, time: float = 0.0
    ) -> FastSpectrum:
        """Return the eigenvalues of S^-1 M, on the slow manifold, and their kinds."""
        return self._motion(state, parameters, time).spectrum()

    def validity(
        self,
        state: Values,
        parameters: Values | None = None,
        time: float = 0.0,
        *,
        horizon: float | None = None,
    ) -> Validity:
        """Compare the slow motion with the fast one, and the kept terms with the neglected ones.

        All slow rates of order 0 are compared with those of the refinement, and the finite
        velocities are tested for their part in the slips (the columns of B). The verdict concerns
        this state; `Validity.failures` lists the objections to the model. A `horizon` in s counts
        as a slow motion: the fast motion must end long before it.

        Raises
        ------
        OutOfRangeError
            The horizon is not positive.
        """
        if horizon is not None and not (is_number(horizon) and horizon > 0.0):
            raise OutOfRangeError(f"the horizon is {horizon!r}, but must be a positive number of s")
        motion = self._motion(state, parameters, time)
        return motion.validity(np.inf if horizon is None else horizon)

    @cached_property
    def _dynamics(self) -> Dynamics:
        return self.motion.dynamics

    @cached_property
    def _small(self) -> tuple[int, ...]:
        return tuple(self.full.v.names.index(name) for name in self.multipliers)

    @cached_property
    def _large(self) -> tuple[int, ...]:
        return tuple(i for i in self.motion.independent if i not in self._small)

    @cached_property
    def _quantities(self) -> Quantities:
        return Quantities(self.equations, self._large)

    @cached_property
    def _momenta(self) -> ArrayFunction:
        """(t, x, p) of the full system -> the momenta of large velocities."""
        dynamics, places = self._dynamics, self.motion.independent
        momenta = self.motion.momenta[[places.index(k) for k in self._large], :]
        return ArrayFunction("momenta", [dynamics.t, dynamics.x, dynamics.p], [momenta])

    def _motion(self, state: Values, parameters: Values | None, time: float) -> SlowMotion:
        dynamics = self._dynamics
        changed = parameter_values(dynamics, check_named("parameters", parameters))
        p = dynamics.value_vector(changed)
        t = start_value("time", time)
        x = self._full_state(check_named("state", state), t, p)
        if dynamics.drives:
            # Each table is in the piece of this time and state.
            p = dynamics.value_vector({**changed, **drive_values_at_start(dynamics, changed, x, t)})
        return self._motion_at(t, x, p, self._scale(t, x, p))

    def _motion_at(self, t: float, x: np.ndarray, p: np.ndarray, scale: float) -> SlowMotion:
        count = self._dynamics.position_count
        momenta = self._momenta(t, x, p)[0].ravel()
        slow = np.concatenate([x[:count], momenta])
        small = x[count:][list(self._small)]
        names = self.full.v.names
        return SlowMotion(self._quantities, self.multipliers, names, t, slow, small, p, scale)

    def _full_state(self, state: Values, t: float, p: np.ndarray) -> np.ndarray:
        """Return the full state, with large velocities from momenta if these are given.

        Raises
        ------
        OutOfRangeError
            Both velocities and momenta are given.
        """
        names = self._dynamics.labels.states
        large = [self.full.v.names[index] for index in self._large]
        momenta = [self.momenta.names[index] for index in self._large]
        known = dict.fromkeys([*names, *momenta, *added_names(self.multipliers)])
        values = {name: start_value(name, value) for name, value in state.items()}
        check_names("state", values, known)
        x = np.array([values.get(name, 0.0) for name in names])
        given = [name for name in momenta if name in values]
        if self.motion.dependent:
            x = self._consistent(values, given, t, p)
        if not given:
            return x
        both = [name for name in large if name in values]
        if both:
            raise OutOfRangeError(
                f"the state has {both[0]!r} and {given[0]!r}: give large velocities or their "
                "momenta, not both"
            )
        count = self._dynamics.position_count
        slow = np.concatenate([x[:count], [values.get(name, 0.0) for name in momenta]])
        small = x[count:][list(self._small)]
        x[count:] = self._quantities(t, slow, small, p)["velocities"]
        return x

    def _consistent(
        self, values: Values, momenta: Sequence[str], t: float, p: np.ndarray
    ) -> np.ndarray:
        """Complete a state to one that fulfils the goals; velocities follow from momenta later."""
        names, count = self._dynamics.labels.states, self._dynamics.position_count
        known = names[:count] if momenta else names
        start = {name: values[name] for name in known if name in values}
        x = complete_start(self._dynamics, p, start, time=t).state
        for index in self._small if momenta else ():
            x[count + index] = values.get(names[count + index], 0.0)
        return x

    def _scale(self, t: float, x: np.ndarray, p: np.ndarray) -> float:
        """Return the typical size of M in units of S near a state, 1/s."""
        samples = sample_states(self._dynamics, p, around=x, time=t)
        return strength(self.matrices(samples, p))

    def check_solvable(self, samples: Iterable[tuple[float, np.ndarray]], p: np.ndarray) -> None:
        """Refuse a matrix M that is singular at every sample, unless it may be regular elsewhere.

        If M depends on the small velocities, random ones may saturate the creep forces; then the
        state decides.

        Raises
        ------
        SecondaryConstraintsError
            It is singular everywhere.
        """
        matrices = self.matrices(samples, p)
        scale = strength(matrices)
        smallest = [grips(*pair)[0][-1] for pair in matrices if np.all(np.isfinite(pair[1]))]
        if not self._quantities.linear or max(smallest, default=np.inf) > RANK_TOLERANCE * scale:
            return
        listed = ", ".join(map(repr, self.multipliers))
        raise SecondaryConstraintsError(
            f"the rates of the primary constraints never determine {listed}: their matrix is "
            "singular in every state, as for an odd number of velocities coupled only by "
            "gyroscopic forces; choose other small velocities"
        )

    def matrices(
        self, samples: Iterable[tuple[float, np.ndarray]], p: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return S and M at some states."""
        motions = [self._motion_at(t, x, p, 0.0) for t, x in samples]
        values = [motion.at(motion.multipliers) for motion in motions]
        return [(parts["inertia"], parts["solvability"]) for parts in values]


def small_velocities(
    system: MechanicalSystem,
    small: Iterable[str],
    *,
    parameters: Values | None = None,
    dependent: Iterable[str] | None = None,
) -> DiracModel:
    """Reduce a system in which some velocities are small.

    Parameters
    ----------
    system
        A system posed by its kinetic energy. It may have goals that always hold, and forces that
        contain their reactions, such as a normal load in a force of creep.
    small
        The names of the small velocities: rates of coordinates, or quasi-velocities such as slips.
    parameters
        Parameter values, overriding the defaults, at which the system is examined.
    dependent
        The names of the velocities that goals determine, as many as there are goals; by default
        those that they determine best. The others are independent.

    Raises
    ------
    PosingError
        The system is of another kind, or a velocity carries no inertia; the message gives details.
    UnknownNameError, OutOfRangeError
        A name is unknown, or a value is out of range.
    SecondaryConstraintsError
        The matrix M is singular everywhere, as for an odd number of small velocities coupled only
        by gyroscopic forces.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> sliding = ds.MechanicalSystem(q, kinetic=0.005 * q.dot.x**2, force={"x": 3 - 2 * q.dot.x})
    >>> ds.nonholonomic.small_velocities(sliding, ["x_dot"]).start({"x": 1.0})
    {'x': 1.0, 'x_dot': 1.5}
    """
    model, samples, p = _examined(system, small, parameters, dependent)
    model.check_solvable(samples, p)
    return model


def solvability_samples(
    system: MechanicalSystem, small: Iterable[str], parameters: Values | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return S and M at some states, whether or not M is singular."""
    model, samples, p = _examined(system, small, parameters)
    return model.matrices(samples, p)


def _examined(
    system: MechanicalSystem,
    small: Iterable[str],
    parameters: Values | None,
    dependent: Iterable[str] | None = None,
) -> tuple[DiracModel, list[tuple[float, np.ndarray]], np.ndarray]:
    """Return a model before solvability is checked, states, and the numbers in p."""
    check_reducible(system)
    names = checked_names(system, small)
    plain = unswitched(system)
    dynamics = plain.dynamics
    chosen = [system.v.names.index(name) for name in names]
    p = parameter_vector(dynamics, parameters)
    samples = sample_states(dynamics, p)
    check_mass(dynamics, samples, p)
    motion = independent_motion(plain, chosen, samples, p, dependent)
    large = [index for index in motion.independent if index not in chosen]
    momenta = _momenta_of(system)
    kept = momenta.part(momenta.names[index] for index in large)
    states = _states(system, kept, names)
    split = len(states) - len(names)
    equations = dirac_equations(
        plain,
        motion,
        chosen,
        slow=states.vector[:split],
        multipliers=states.vector[split:],
        constrained=momenta.vector[chosen],
    )
    positions = dynamics.x[: dynamics.position_count]
    constraints = ca.substitute(
        equations.constraints, equations.slow, ca.vertcat(positions, kept.vector)
    )
    model = DiracModel(
        full=system,
        multipliers=names,
        rank=len(large),
        momenta=momenta,
        primary_constraints={name: constraints[i] for i, name in enumerate(names)},
        motion=motion,
        equations=equations,
        states=states,
    )
    return model, samples, p


def _momenta_of(system: MechanicalSystem) -> SymbolVector:
    """Return symbols of the momenta dT/dv."""
    if system.velocities is None:
        units = [f"J s/{unit}" if unit else "J s" for unit in system.coordinates.units]
    else:
        units = [f"J/({unit})" if unit else "J" for unit in system.v.units]
    names = [f"momentum_{name}" for name in moved_names(system)]
    return SymbolVector(tuple(names), tuple(units), "momentum")


def _states(system: MechanicalSystem, momenta: SymbolVector, small: Sequence[str]) -> SymbolVector:
    """Return symbols of the positions, the momenta of large velocities and the small velocities."""
    labels, count = system.dynamics.labels, system.dynamics.position_count
    moving = system.v.part(small)
    return SymbolVector(
        (*labels.states[:count], *momenta.names, *moving.names),
        (*labels.state_units[:count], *momenta.units, *moving.units),
        "state",
    )


def _checked(order: Order) -> Order:
    if order not in (0, 1):
        raise OutOfRangeError(f"the order is {order!r}, but must be 0 or 1")
    return order


def _by_name(names: Iterable[str], values: np.ndarray) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=True)}
