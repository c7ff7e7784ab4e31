"""Sliding in guides: the supports loaded at the start, and the consequences of changes.

Between two changes the loaded supports are discrete values and the motion is smooth. If a reaction
falls to zero, the pair's other support takes over. Reactions and accelerations are continuous there
as long as the determinant of the equations for the reactions keeps its sign. Otherwise the branch
of solutions folds back, and the current choice has no continuation.

If a slip passes through zero, the motion reverses if the slips then grow in the other sense, and
comes to rest if they grow in neither; see `sticking`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.contact.complementarity.answers import VariantAnswer
from daesolve.contact.complementarity.enumeration import enumerate_variants
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.policies import solve
from daesolve.contact.friction.sticking import STUCK, StickingSearch, fastest, sticks
from daesolve.contact.friction.support_balance import VariantState
from daesolve.contact.friction.variants import VariantProblem, with_variant
from daesolve.contact.posing.guides import (
    AT_REST,
    LET_GO,
    SHARP,
    SMOOTHING,
    SWITCH,
    TURNED,
    the_guides,
)
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.choices import VariantPolicy
from daesolve.core.posing.symbols import symbol
from daesolve.core.posing.value_names import ValueKind
from daesolve.errors import BranchLost, NoValidVariant, SupportLost, VariantError

SAME = 1e-3
"""The size of another slip that ends at the same time, relative to the tolerance for a slip that
ends."""
FOLD = 1e-6
"""The distance of another answer's reactions from those at a fold, relative to the largest
reaction."""


def refuse_open(dynamics: Dynamics, signs: np.ndarray, when: str) -> None:
    """Refuse to continue after a body has left a support.

    Parameters
    ----------
    dynamics
        The equations.
    signs
        +1 or -1 for each pair, like the discrete values.
    when
        The beginning of the sentence.

    Raises
    ------
    SupportLost
        A unilateral pair is open.
    """
    for pair, sign in zip(the_guides(dynamics).pairs, signs, strict=True):
        if pair.kind == "unilateral" and sign < 0:
            raise SupportLost(
                f"{when} the body leaves the support {pair.name!r}, which can only push; pose "
                "the constraint as a Contact to simulate the motion after that"
            )


class Sliding:
    """Chooses the loaded supports of a system along its motion.

    Parameters
    ----------
    dynamics
        The equations.
    policy
        What to do if a branch ends: "continuity" ends the run, "homotopy" continues with another
        answer if there is a physical one, "strict" ends it as soon as there are several answers.
    """

    def __init__(self, dynamics: Dynamics, policy: VariantPolicy = "continuity") -> None:
        self.dynamics, self.policy, self.guides = dynamics, policy, the_guides(dynamics)
        self.problem = VariantProblem(dynamics)
        self.sticking = StickingSearch(dynamics)
        self._slips = self.problem.slips
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
        zero: float = np.inf,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return state and values after supports have changed, and whether the body rests.

        Parameters
        ----------
        time
            s
        events
            The names of the events.
        x
            (nx,) the state.
        before, p
            The values before; and the values with every requested support switched and every
            requested sense reversed.
        zero
            The largest slip that counts as ending, m/s; a larger one has jumped through zero, for
            example because a guide is suddenly set in motion.

        Raises
        ------
        VariantError
            The motion has no continuation, for a reason given by the kind.
        """
        if AT_REST in events:
            return self._stopped(time, x, before, p, zero)
        if SWITCH in events:
            p = self._switched(time, x, before, p)
        if LET_GO in events:
            p = self.let_go(time, x, p)
        if TURNED in events:
            p = self.sticking.turned(time, x, before, p)
        return x, p, False

    # -- another support takes over -----------------------------------------------------------

    def _switched(
        self, time: float, x: np.ndarray, before: np.ndarray, p: np.ndarray
    ) -> np.ndarray:
        refuse_open(self.dynamics, p[self._variants], f"at t = {time:.10g} s")
        # Supports may take over while friction holds the body, where no slip tells its sense.
        sharp = p[self._places[SMOOTHING]] <= SHARP
        here = self._in_senses(time, x, p) if sharp else self.problem.at(x, time, numbers=p)
        equations = here.complementarity
        if self.policy == "strict":
            return self._with(solve(equations, policy="strict").chosen, p)
        if self._continues(equations, before, p):
            return p
        where = f"at t = {time:.10g} s the choice of loaded supports ends where it folds back"
        if self.policy == "continuity":
            raise BranchLost(
                f"{where}: the supports of {self._changed(before, p)} cannot take over, and "
                "the motion has no continuous reactions; set the variant policy 'homotopy' to "
                "continue with another answer, if one exists"
            )
        return self._with(self._elsewhere(equations, before, where), p)

    def _continues(
        self, equations: HorizontalComplementarity, before: np.ndarray, p: np.ndarray
    ) -> bool:
        """Return whether the determinant keeps its sign relative to that without friction."""
        old, new = (self._ratio(equations, values[self._variants]) for values in (before, p))
        return old * new > 0.0

    def _ratio(self, equations: HorizontalComplementarity, signs: np.ndarray) -> float:
        signs = signs.astype(int)
        return equations.determinant(signs) / equations.frictionless_determinant(signs)

    def _elsewhere(
        self, equations: HorizontalComplementarity, before: np.ndarray, where: str
    ) -> VariantAnswer:
        """Return a physical answer other than the one that has ended."""
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
        self, time: float, x: np.ndarray, before: np.ndarray, p: np.ndarray, zero: float
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Reverse if friction permits, otherwise rest; keep sliding if a slip has jumped."""
        split = self.dynamics.position_count
        sizes, _ = self._slips.at(time, x, before)
        turned = [n for n in self.senses if before[self._places[n]] != p[self._places[n]]]
        left = dict(zip(self.senses, sizes.tolist(), strict=True))
        if any(abs(left[name]) > zero for name in turned):
            return x, self._jumped(time, x, p, left, zero), False
        if zero < np.inf:
            # Slips that are equal except for rounding end together although their guards do not.
            ended = np.abs(sizes) <= SAME * zero
            turned = [n for n, at in zip(self.senses, ended, strict=True) if at or n in turned]
            p = p.copy()
            for name in turned:
                p[self._places[name]] = -before[self._places[name]]
        held = (
            self.sticking.velocities(time, x, before) if len(turned) == len(self.senses) else None
        )
        if held is None:
            return x, self._reversed(time, x, before, turned), False
        still = x.copy()
        still[split:] = held
        for values in (p, before):
            found = self._sliding_on(time, still, values)
            if found is not None:
                return still, found, False
        return still, self._slips.braked(before, at_rest=True), True

    def slid_off(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the values for a body that slides on guides that have jumped beneath it."""
        sizes, _ = self._slips.at(time, x, p)
        return self._jumped(time, x, p, dict(zip(self.senses, sizes.tolist(), strict=True)), 0.0)

    def let_go(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the values for a body that begins to slide, where laws may bear less."""
        if not self.guides.brakes:
            return p
        return self.slid_off(time, x, self._slips.braked(p, at_rest=False))

    def _jumped(
        self, time: float, x: np.ndarray, p: np.ndarray, slips: Mapping[str, float], zero: float
    ) -> np.ndarray:
        """Return the values for slips that have jumped.

        Coulomb friction is bounded: if a guide or the body suddenly moves, friction cannot make the
        body follow immediately.
        """
        values = p.copy()
        for name, slip in slips.items():
            if abs(slip) > zero:
                values[self._places[name]] = np.sign(slip)
        chosen = solve(self._in_senses(time, x, values).complementarity, policy="homotopy").chosen
        return self._with(chosen, values)

    def _reversed(
        self, time: float, x: np.ndarray, before: np.ndarray, turned: list[str]
    ) -> np.ndarray:
        """Return the values for slips that pass through zero while the body moves on.

        All supports whose slip is zero there reverse, like both supports of a pair on one slider.
        Friction reverses with them, so other supports may become loaded.

        Raises
        ------
        SupportSticks
            Friction holds them: none of them reverses.
        NoValidVariant
            Other constraints reverse them, and no choice of supports is consistent with that.
        """
        slips, slopes = self._slips.at(time, x, before)
        mass = self.dynamics.matrices(time, x, before)["mass"]
        v = x[self.dynamics.position_count :]
        speed = float(np.sqrt(max(v @ mass @ v, 0.0)))
        values, still = before.copy(), list[int]()
        for k, name in enumerate(self.senses):
            none = abs(float(slips[k])) <= STUCK * speed * fastest(slopes[k : k + 1], mass)
            if name in turned or none:
                still.append(k)
                values[self._places[name]] *= -1.0
        stopped = [self.senses[k] for k in still]
        here = self._in_senses(time, x, self._slips.braked(values, at_rest=True, among=stopped))
        try:
            chosen = solve(here.complementarity, policy="homotopy").chosen
        except VariantError as lost:
            chosen = None
            if self.sticking.is_driven(time, x, before):
                when = f"at t = {time:.10g} s the slip turns round, and the supports would lock"
                raise type(lost)(f"{when}: {lost}", lost.solution) from lost
        if chosen is not None:
            accelerations = here.accelerations(chosen.reactions)
            rates = self.slip_rates(time, x, before, accelerations)
            senses = np.array([values[self._places[name]] for name in self.senses])
            if np.all((senses * rates)[still] > 0.0):
                return self.let_go(time, x, self._with(chosen, values))
        supports = {name[5:].rsplit("_", 1)[0] for name in turned if name.startswith("slip_")}
        laws = {brake.name for brake in self.guides.brakes if brake.sense.name() in turned}
        raise sticks(time, sorted(supports or laws))

    def _sliding_on(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray | None:
        """Return the values for sliding in the senses of p, if the body does slide."""
        here = self._in_senses(time, x, self._slips.braked(p, at_rest=True))
        try:
            chosen = solve(here.complementarity, policy="homotopy").chosen
        except VariantError:
            return None
        assert chosen is not None
        rates = self.slip_rates(time, x, p, here.accelerations(chosen.reactions))
        senses = np.array([p[self._places[n]] for n in self.senses])
        if not np.all(senses * rates > 0.0):
            return None
        return self.let_go(time, x, self._with(chosen, p))

    def slip_rates(
        self, time: float, x: np.ndarray, p: np.ndarray, accelerations: np.ndarray
    ) -> np.ndarray:
        """Return the rates of the slips in the plane, m/s^2.

        Parameters
        ----------
        time, x, p, accelerations
            s, (nx,), the values, and (nv,).
        """
        return np.asarray(self._rates(time, x, p, accelerations)).ravel()

    @property
    def guides_stand_still(self) -> bool:
        """Whether all guides are fixed."""
        return self.guides.still

    @cached_property
    def _rates(self) -> ca.Function:
        """(t, x, p, v') -> the rates of the slips in the plane."""
        dynamics, slips = self.dynamics, self._slips.expression
        moved = symbol("accelerations", dynamics.velocity_count)
        rates = ca.jtimes(slips, dynamics.x, ca.vertcat(dynamics.position_rates, moved))
        rates += ca.jacobian(slips, dynamics.t)
        return dynamics.function("slip_rates", rates, further=[moved])

    @property
    def senses(self) -> list[str]:
        """The discrete values that hold the senses of the slips in the plane."""
        return self._slips.senses

    def _in_senses(self, time: float, x: np.ndarray, p: np.ndarray) -> VariantState:
        return self.problem.at(
            x, time, numbers=p, senses={n: p[self._places[n]] for n in self.senses}
        )
