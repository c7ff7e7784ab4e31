"""Sliding in guides: which supports are loaded at the start, and what follows where that changes.

Between two changes the loaded supports are discrete values and the motion is smooth. Where a
reaction falls to zero, the pair's other support takes over: reactions and accelerations are
continuous there as long as the determinant of the equations for the reactions keeps its sign.
Otherwise the branch of solutions folds back, and the choice made so far has no continuation.

Where a slip passes through zero while the body moves on, friction turns with it. A support sticks
where its slip stays zero, as that of a wheel that rolls. Friction that holds it is a reaction of
its own, which the equations of sliding do not have. So a motion ends where a loaded support sticks,
unless the whole body is at rest there.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Literal

import casadi as ca
import numpy as np

from daesolve.algebra.singular_values import singular_values
from daesolve.algebra.translation import function_of
from daesolve.complementarity.answers import VariantAnswer
from daesolve.complementarity.enumeration import enumerate_variants
from daesolve.complementarity.horizontal import HorizontalComplementarity
from daesolve.complementarity.policies import solve
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import BranchLost, NoValidVariant, SupportLost, SupportSticks, VariantError
from daesolve.friction.support_balance import VariantState
from daesolve.friction.variants import VariantProblem, with_variant
from daesolve.posing.guides import AT_REST, SWITCH, TURNED
from daesolve.posing.symbols import symbol
from daesolve.posing.value_names import ValueKind

STUCK = 1e-7
"""Of the fastest slip that the kinetic energy could make, what counts as none where it ends."""
STILL = 1e-12
"""Of the largest, a singular value that counts as zero."""


class Sticking:
    """Finds which supports stick, and whether the body is at rest then.

    Parameters
    ----------
    dynamics
        The equations of a system with pairs of supports.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        guides = dynamics.guides
        assert guides is not None
        self.dynamics, self.guides = dynamics, guides
        places = {name: index for index, name in enumerate(dynamics.values)}
        self._headings = [
            (k, [places[heading[axis].name()] for axis in range(3)])
            for k, (_, heading) in enumerate(guides.turning)
        ]
        owners = [
            (pair.name, place, support)
            for pair, both in zip(guides.pairs, guides.supports, strict=True)
            for place, support in zip((-1.0, 1.0), both, strict=True)
            if support is not None and support.heading is not None
        ]
        self._owners = [
            (name, places[ValueKind.VARIANT.name_of(name)], place) for name, place, _ in owners
        ]
        # A pad that spins does not stick.
        parts = [
            ca.vertcat(s.slip, ca.SX(0, 1) if s.spin is None else s.spin) for _, _, s in owners
        ]
        self._counts = [part.numel() for part in parts]
        self._turning = self._linear("turning", ca.vertcat(ca.SX(0, 1), *parts))
        slips = [s.slip for s in guides.rubbing]
        slips += [s.spin for s in guides.rubbing if s.spin is not None]
        held = [row.chain[-1] for row in dynamics.rows]
        self._all = self._linear("all", ca.vertcat(*slips, *held))

    def rests(self, time: float, x: np.ndarray, p: np.ndarray) -> bool:
        """Return whether a body at this place is at rest where nothing of it slides.

        Parameters
        ----------
        time, x, p
            s, (nx,) of which the positions count, and the values.
        """
        still = x.copy()
        still[self.dynamics.position_count :] = 0.0
        carried, slopes = (np.asarray(part) for part in self._all(time, still, p))
        if np.any(carried):
            return False
        lengths = np.linalg.norm(slopes, axis=1)
        mass = self.dynamics.matrices(time, x, p)["mass"]
        scaled: np.ndarray = slopes[lengths > 0.0] / lengths[lengths > 0.0, None]
        scaled = np.linalg.solve(np.linalg.cholesky(mass), scaled.T).T
        scaled /= np.linalg.norm(scaled, axis=1)[:, None]
        values = singular_values(scaled)
        return len(values) == len(mass) and bool(values[-1] > STILL * values[0])

    def turned(self, time: float, x: np.ndarray, before: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the values with the headings of slips that have turned.

        Parameters
        ----------
        time, x, before
            s, (nx,), and the values before.
        p
            The values with the headings that slips have now.

        Raises
        ------
        SupportSticks
            A loaded support does not slide any more.
        """
        slips, slopes = (np.asarray(part) for part in self._turning(time, x, p))
        mass = self.dynamics.matrices(time, x, p)["mass"]
        v = x[self.dynamics.position_count :]
        speed = float(np.sqrt(max(v @ mass @ v, 0.0)))
        values, first = p.copy(), 0
        for (k, places), (name, variant, place) in zip(self._headings, self._owners, strict=True):
            count = self._counts[k]
            own = slice(first, first + count)
            first += count
            if np.array_equal(before[places], p[places]):
                continue
            parts = [(slips[own][part], slopes[own][part]) for part in (slice(3), slice(3, None))]
            ended = [
                np.linalg.norm(slip) <= STUCK * speed * _fastest(slope, mass)
                for slip, slope in parts
            ]
            if not ended[0]:
                continue
            if all(ended) and before[variant] == place:
                raise sticks(time, [name])
            # It slides on to where it came from.
            values[places] = -before[places]
        return values

    def headed(self, time: float, x: np.ndarray, p: np.ndarray) -> dict[str, float]:
        """Return the headings of slips by name, for a start."""
        found: dict[str, float] = {}
        names, first = list(self.dynamics.values), 0
        if not self._headings:
            return found
        slips = np.asarray(self._turning(time, x, p)[0]).ravel()
        for k, places in self._headings:
            slip = slips[first : first + 3]
            first += self._counts[k]
            size = float(np.linalg.norm(slip))
            if size > 0.0:
                found |= dict(zip([names[i] for i in places], (slip / size).tolist(), strict=True))
        return found

    def _linear(self, name: str, expression: ca.SX) -> ca.Function:
        dynamics = self.dynamics
        slopes = ca.jacobian(expression, dynamics.velocities)
        return function_of(
            name,
            [dynamics.t, dynamics.x, dynamics.p],
            [ca.densify(expression), ca.densify(slopes)],
            (["t", "x", "p"], ["slips", "slopes"]),
        )


def sticks(time: float, names: list[str]) -> SupportSticks:
    """Return the error that supports of these pairs stick."""
    listed = ", ".join(map(repr, names))
    return SupportSticks(
        f"at t = {time:.10g} s the supports of {listed} stop sliding while the body moves on, and "
        "supports that stick are not part of the equations; regularised friction goes on there"
    )


def _fastest(slopes: np.ndarray, mass: np.ndarray) -> float:
    """Return the fastest slip of a body with v . M v = 1."""
    if not len(slopes):
        return 0.0
    return float(np.sqrt(np.linalg.norm(slopes @ np.linalg.solve(mass, slopes.T), 2)))


VariantPolicy = Literal["continuity", "homotopy", "strict"]

FOLD = 1e-6
"""Of the largest reaction, how far the reactions of another answer lie from those of a fold."""


def refuse_open(dynamics: Dynamics, signs: np.ndarray, when: str) -> None:
    """Refuse to go on where a body has left a support.

    Parameters
    ----------
    dynamics
        The equations.
    signs
        +1 or -1 for each pair, as the discrete values are.
    when
        The beginning of the sentence.

    Raises
    ------
    SupportLost
        A unilateral pair is open.
    """
    assert dynamics.guides is not None
    for pair, sign in zip(dynamics.guides.pairs, signs, strict=True):
        if pair.kind == "unilateral" and sign < 0:
            raise SupportLost(
                f"{when} the body leaves the support {pair.name!r}, which can only push; pose the "
                "constraint as a Contact to follow the motion beyond that"
            )


class Sliding:
    """Chooses the loaded supports of a system along its motion.

    Parameters
    ----------
    dynamics
        The equations.
    policy
        What to do where a branch ends: "continuity" ends the run, "homotopy" goes on with another
        answer if there is a physical one, "strict" ends it as soon as there are several answers.
    """

    def __init__(self, dynamics: Dynamics, policy: VariantPolicy = "continuity") -> None:
        assert dynamics.guides is not None
        self.dynamics, self.policy = dynamics, policy
        self.problem = VariantProblem(dynamics)
        self.sticking = Sticking(dynamics)
        self._places = {name: index for index, name in enumerate(dynamics.values)}
        names = self.problem.names
        self._variants = [ValueKind.VARIANT.place(name, dynamics.values) for name in names]

    def settle(
        self,
        time: float,
        events: Collection[str],
        x: np.ndarray,
        before: np.ndarray,
        p: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return state and values after supports have changed, and whether the body rests.

        Parameters
        ----------
        time
            s
        events
            The names of what happened.
        x
            (nx,) the state.
        before, p
            The values before, and with every support switched and every sense turned that asked
            for it.

        Raises
        ------
        VariantError
            The motion has no continuation, by its kind.
        """
        if AT_REST in events:
            return self._stopped(time, x, before, p)
        if SWITCH in events:
            p = self._switched(time, x, before, p)
        if TURNED in events:
            p = self.sticking.turned(time, x, before, p)
        return x, p, False

    # -- another support takes over -----------------------------------------------------------

    def _switched(
        self, time: float, x: np.ndarray, before: np.ndarray, p: np.ndarray
    ) -> np.ndarray:
        refuse_open(self.dynamics, p[self._variants], f"at t = {time:.10g} s")
        equations = self.problem.at(x, time, numbers=p).complementarity
        if self.policy == "strict":
            return self._with(solve(equations, policy="strict").chosen, p)
        if self._continues(equations, before, p):
            return p
        where = f"at t = {time:.10g} s the choice of loaded supports ends where it folds back"
        if self.policy == "continuity":
            raise BranchLost(
                f"{where}: the supports of {self._changed(before, p)} cannot take over, and the "
                "motion has no continuous reactions; ask for the variant policy 'homotopy' to go "
                "on with another answer, if there is one"
            )
        return self._with(self._elsewhere(equations, before, where), p)

    def _continues(
        self, equations: HorizontalComplementarity, before: np.ndarray, p: np.ndarray
    ) -> bool:
        """Return whether the determinant keeps its sign, against that without friction."""
        old, new = (self._ratio(equations, values[self._variants]) for values in (before, p))
        return old * new > 0.0

    def _ratio(self, equations: HorizontalComplementarity, signs: np.ndarray) -> float:
        signs = signs.astype(int)
        return equations.determinant(signs) / equations.frictionless_determinant(signs)

    def _elsewhere(
        self, equations: HorizontalComplementarity, before: np.ndarray, where: str
    ) -> VariantAnswer:
        """Return a physical answer other than that which has come to its end."""
        signs = before[self._variants].astype(int)
        ended = np.linalg.solve(equations.orthant(signs), equations.load)
        size = FOLD * np.max(np.abs(ended))
        others = [
            answer
            for answer in enumerate_variants(equations)
            if answer.physical and np.max(np.abs(answer.reactions - ended)) > size
        ]
        if not others:
            raise NoValidVariant(f"{where}, and no other answer is physical: the supports lock")
        if len(others) == 1:
            return others[0]
        chosen = solve(equations, policy="homotopy").chosen
        assert chosen is not None
        aim = chosen.reactions
        return min(others, key=lambda answer: float(np.max(np.abs(answer.reactions - aim))))

    def _changed(self, before: np.ndarray, p: np.ndarray) -> str:
        names = [
            name
            for name, place in zip(self.problem.names, self._variants, strict=True)
            if before[place] != p[place]
        ]
        return ", ".join(map(repr, names))

    def _with(self, answer: VariantAnswer | None, p: np.ndarray) -> np.ndarray:
        assert answer is not None
        values = p.copy()
        for name, value in with_variant({}, answer).items():
            values[self._places[name]] = value
        return values

    # -- the slip ends ------------------------------------------------------------------------

    def _stopped(
        self, time: float, x: np.ndarray, before: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Turn round where friction lets the body, else rest."""
        split = self.dynamics.position_count
        turned = [n for n in self._senses if before[self._places[n]] != p[self._places[n]]]
        if len(turned) < len(self._senses) or not self.sticking.rests(time, x, before):
            return x, self._reversed(time, x, before, turned), False
        still = x.copy()
        still[split:] = 0.0
        for values in (p, before):
            found = self._sliding_on(time, still, values)
            if found is not None:
                return still, found, False
        return still, before, True

    def _reversed(
        self, time: float, x: np.ndarray, before: np.ndarray, turned: list[str]
    ) -> np.ndarray:
        """Return the values with which slips go on through zero while the body moves on.

        All supports without a slip there turn round, as both of a pair on one slider do; friction
        turns with them, so that others may be loaded.

        Raises
        ------
        SupportSticks
            Friction holds them: none of them turns round.
        """
        slips, slopes = (np.asarray(part) for part in self._slips(time, x, before))
        mass = self.dynamics.matrices(time, x, before)["mass"]
        v = x[self.dynamics.position_count :]
        speed = float(np.sqrt(max(v @ mass @ v, 0.0)))
        values, still = before.copy(), list[int]()
        for k, name in enumerate(self._senses):
            none = abs(float(slips[k, 0])) <= STUCK * speed * _fastest(slopes[k : k + 1], mass)
            if name in turned or none:
                still.append(k)
                values[self._places[name]] *= -1.0
        here = self._in_senses(time, x, values)
        try:
            chosen = solve(here.complementarity, policy="homotopy").chosen
        except VariantError:
            chosen = None
        if chosen is not None:
            accelerations = here.accelerations(chosen.reactions)
            rates = np.asarray(self._rates(time, x, before, accelerations)).ravel()
            senses = np.array([values[self._places[name]] for name in self._senses])
            if np.all((senses * rates)[still] > 0.0):
                return self._with(chosen, values)
        raise sticks(time, sorted({name[5:].rsplit("_", 1)[0] for name in turned}))

    def _sliding_on(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray | None:
        """Return the values with which the body slides in the senses that p holds, if it does."""
        here = self._in_senses(time, x, p)
        try:
            chosen = solve(here.complementarity, policy="homotopy").chosen
        except VariantError:
            return None
        assert chosen is not None
        split = self.dynamics.position_count
        moved = x.copy()
        moved[split:] = here.accelerations(chosen.reactions)
        senses = np.array([p[self._places[n]] for n in self._senses])
        slips = self.problem.planar_slips(moved, time)
        return self._with(chosen, p) if np.all(senses * slips > 0.0) else None

    @cached_property
    def _slips(self) -> ca.Function:
        """(t, x, p) -> the slips in the plane, and their gradients by the velocities."""
        dynamics, slips = self.dynamics, self._planar
        slopes = ca.jacobian(slips, dynamics.velocities)
        parts = [ca.densify(slips), ca.densify(slopes)]
        arguments = [dynamics.t, dynamics.x, dynamics.p]
        return function_of("planar", arguments, parts, (["t", "x", "p"], ["slips", "slopes"]))

    @cached_property
    def _rates(self) -> ca.Function:
        """(t, x, p, v') -> the rates of the slips in the plane."""
        dynamics, slips = self.dynamics, self._planar
        moved = symbol("accelerations", dynamics.velocity_count)
        rates = ca.jtimes(slips, dynamics.x, ca.vertcat(dynamics.position_rates, moved))
        rates += ca.jacobian(slips, dynamics.t)
        arguments = [dynamics.t, dynamics.x, dynamics.p, moved]
        names = ["t", "x", "p", "a"], ["rates"]
        return function_of("slip_rates", arguments, [ca.densify(rates)], names)

    @property
    def _planar(self) -> ca.SX:
        guides = self.dynamics.guides
        assert guides is not None
        own = [support.slip for support in guides.rubbing if support.sense is not None]
        return ca.vertcat(ca.SX(0, 1), *own)

    @property
    def _senses(self) -> list[str]:
        guides = self.dynamics.guides
        assert guides is not None
        return [s.sense.name() for s in guides.rubbing if s.sense is not None]

    def _in_senses(self, time: float, x: np.ndarray, p: np.ndarray) -> VariantState:
        return self.problem.at(
            x, time, numbers=p, senses={n: p[self._places[n]] for n in self._senses}
        )
