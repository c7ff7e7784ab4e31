"""Turns a touch into a constraint that holds both ways, or into a contact that opens and rubs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property

import casadi as ca

from daesolve.contact.posing.contacts import Contact
from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.posing.goals import Expression, Holonomic, as_scalar
from daesolve.core.posing.symbols import Parameters
from daesolve.errors import PosingError
from daesolve.multibody.bodies import rate_of
from daesolve.multibody.checks import check_name
from daesolve.multibody.compliance import ComplianceLaw, Push
from daesolve.multibody.contact_geometry import Touch
from daesolve.multibody.contribution import NO_VALUES, AppliedForce, Contribution, merged
from daesolve.multibody.friction_laws import FrictionLaw, RegularisedCoulomb

Rubs = FrictionLaw | Expression | None
"""A law of friction, the coefficient of a contact that decides itself, or none."""


@dataclass(frozen=True, eq=False)
class BodySupport:
    """How one body supports another where they touch.

    Parameters
    ----------
    name, friction, unilateral, restitution, closed, static_friction, tangential_restitution
        As in `PlaneContact`.
    compliance
        A law of compliant contact instead of a constraint.

    Raises
    ------
    PosingError
        The name is not a word, the options fit neither a contact nor a constraint, or a coefficient
        is not a scalar.
    """

    name: str
    friction: Rubs = None
    unilateral: bool = False
    restitution: Expression = 0.0
    closed: bool = True
    static_friction: Expression | None = None
    tangential_restitution: Expression = 0.0
    compliance: ComplianceLaw | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "a contact")
        own = f"the contact {self.name!r}"
        if self.compliance is not None:
            self._check_compliance(own)
            return
        if self.coefficient is not None:
            as_scalar(f"the friction of {own}", self.coefficient)
        if not self.unilateral and not (self.closed and _is_zero(self.restitution)):
            raise PosingError(
                f"{own} always touches: restitution and closed=False need unilateral=True"
            )
        if not self.unilateral and self.coefficient is not None:
            raise PosingError(
                f"{own} always touches: its friction must be a law, such as "
                f"Coulomb({self.friction}); a coefficient alone needs unilateral=True"
            )
        alone = self.static_friction is None and _is_zero(self.tangential_restitution)
        if self.coefficient is None and not alone:
            raise PosingError(
                f"{own} has static_friction or tangential_restitution, which need "
                "unilateral=True and a coefficient as friction; a law of friction has its own"
            )

    def _check_compliance(self, own: str) -> None:
        if not isinstance(self.compliance, ComplianceLaw):
            raise PosingError(
                f"the compliance of {own} must be a law such as HuntCrossley(stiffness), not "
                f"{self.compliance!r}"
            )
        rigid = (self.restitution, self.tangential_restitution, self.static_friction or 0.0)
        if self.unilateral or not self.closed or not all(_is_zero(number) for number in rigid):
            raise PosingError(
                f"{own} is compliant: unilateral, closed, restitution and static_friction "
                "apply only to rigid contacts, because its law determines the rebound"
            )
        if self.friction is not None and not isinstance(self.friction, RegularisedCoulomb):
            raise PosingError(
                f"{own} is compliant, so it has no constraint to make it stick: its friction "
                "must be None or RegularisedCoulomb(coefficient, slip_velocity)"
            )

    @property
    def law(self) -> FrictionLaw | None:
        """The law of friction, which acts while it is closed, and not at impacts."""
        return self.friction if isinstance(self.friction, FrictionLaw) else None

    @property
    def coefficient(self) -> Expression | None:
        """Mu of a contact that decides with all others whether it sticks, at impacts as well."""
        return None if isinstance(self.friction, FrictionLaw) else self.friction

    def goal(self, touch: Touch) -> Holonomic:
        """Return the gap, which is kept at zero or not negative."""
        if not self.unilateral:
            return Holonomic(self.name, touch.gap, unit="N")
        if self.coefficient is None:
            return Contact(
                self.name, touch.gap, unit="N", restitution=self.restitution, closed=self.closed
            )
        return Contact(
            self.name,
            touch.gap,
            unit="N",
            restitution=self.restitution,
            closed=self.closed,
            slip=ca.vertsplit(touch.slip),
            friction=self.coefficient,
            static_friction=self.static_friction,
            tangential_restitution=self.tangential_restitution,
        )

    def contribution(
        self, touch: Touch, goal: Holonomic, discrete: Parameters = NO_VALUES
    ) -> Contribution:
        """Return its contribution to a mechanism.

        Parameters
        ----------
        touch
            Of the bodies.
        goal
            That it made of it.
        discrete
            Values of the touch itself.
        """
        name, slip = self.name, touch.slip
        outputs = {f"{name}_gap": (touch.gap, "m")}
        events = self._lost(goal)
        if self.coefficient is not None:
            # Contacts with friction are described by their system: slip, friction, and the work of
            # that.
            return Contribution((goal,), events=events, outputs=outputs, discrete=discrete)
        outputs |= _slips(name, slip)
        if self.law is None:
            return Contribution((goal,), events=events, outputs=outputs, discrete=discrete)
        touching = goal.touching if isinstance(goal, Contact) else 1.0
        own = Contribution((goal,), events=events, outputs=outputs, discrete=discrete)
        return merged([own, self._rubbing(self.law, slip, goal.reaction, touching)])

    def compliant(
        self, touch: Touch, push: Push, rate: ca.SX, discrete: Parameters
    ) -> Contribution:
        """Return the contribution of a compliant contact to a mechanism.

        Parameters
        ----------
        touch
            Of the bodies.
        push
            The force between them.
        rate
            Of the gap, m/s.
        discrete
            Values of the touch itself.
        """
        name, force, slip = self.name, push.force, touch.slip
        outputs = {f"{name}_gap": (touch.gap, "m"), f"{name}_force": (force, "N")}
        own = Contribution(
            forces=[AppliedForce(rate, force)],
            events=push.events,
            discrete=discrete.joined(push.discrete),
            outputs=outputs | _slips(name, slip),
            meters={f"{name}_work": (force * rate, "J")},
        )
        return own if self.law is None else merged([own, self._rubbing(self.law, slip, force)])

    def _rubbing(
        self, law: FrictionLaw, slip: ca.SX, normal: ca.SX, touching: Expression = 1.0
    ) -> Contribution:
        """Return the contribution of a law of friction, whose force the slip shows."""
        friction = law.act(self.name, slip, normal, touching)
        return replace(friction.contribution(self.name, "N"), outputs={})

    def _lost(self, goal: Holonomic) -> tuple[Event, ...]:
        if self.unilateral:
            return ()
        why = f"the other body would have to pull at the contact {self.name!r}; make it unilateral"
        return (Event(f"{self.name}_lost", goal.reaction, FALLING, Stop(why)),)


class Supporting(ABC):
    """What contacts share that are dataclasses with the fields of a `BodySupport`."""

    name: str
    compliance: ComplianceLaw | None

    @cached_property
    @abstractmethod
    def values(self) -> Parameters:
        """Discrete values of the touch."""

    @cached_property
    @abstractmethod
    def touch(self) -> Touch:
        """Its geometry."""

    @property
    @abstractmethod
    def _owners(self) -> list[object]:
        """Bodies that touch, or the ground."""

    @abstractmethod
    def _events(self, discrete: Parameters) -> tuple[Event, ...]:
        """Return events of the touch, which may change discrete values of the contact."""

    @cached_property
    def support(self) -> BodySupport:
        """How one body supports the other."""
        return BodySupport(**{part.name: getattr(self, part.name) for part in fields(BodySupport)})

    @cached_property
    def goal(self) -> Holonomic:
        """The gap, which is kept at zero."""
        return self.support.goal(self.touch)

    @cached_property
    def _gap_rate(self) -> ca.SX:
        return rate_of(self.touch.gap, self._owners)

    @cached_property
    def push(self) -> Push | None:
        """The force of a compliant contact; None for a rigid one."""
        if self.compliance is None:
            return None
        return self.compliance.push(self.name, -self.touch.gap, -self._gap_rate)

    @property
    def normal(self) -> ca.SX:
        """The normal force, N: a symbol, or the expression of a compliance."""
        return self.goal.reaction if self.push is None else self.push.force

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        if self.push is None:
            contribution = self.support.contribution(self.touch, self.goal, self.values)
        else:
            contribution = self.support.compliant(
                self.touch, self.push, self._gap_rate, self.values
            )
        return replace(
            contribution, events=(*self._events(contribution.discrete), *contribution.events)
        )


def _slips(name: str, slip: ca.SX) -> dict[str, tuple[ca.SX, str]]:
    """Return a slip as outputs, by the names that contacts give theirs that rub."""
    if slip.numel() == 1:
        return {f"{name}_slip": (slip, "m/s")}
    return {f"{name}_slip_{k}": (part, "m/s") for k, part in enumerate(ca.vertsplit(slip), 1)}


def _is_zero(number: Expression) -> bool:
    return ca.SX(number).is_zero()
