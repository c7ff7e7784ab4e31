"""Compliant contact: the force between two bodies that are pressed into each other.

A law maps the depth d of penetration, m, and its rate to a force that never pulls. Contact begins
and ends at events, so that solvers keep their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import casadi as ca

from daesolve.core.posing.events import FALLING, RISING, Event, Reset
from daesolve.core.posing.goals import Expression
from daesolve.core.posing.symbols import Parameters
from daesolve.errors import OutOfRangeError, is_number
from daesolve.multibody.checks import check_size
from daesolve.multibody.contribution import SIGNED, SWITCHED, discrete_values


@dataclass(frozen=True, eq=False)
class Push:
    """The result of a law of compliant contact.

    Parameters
    ----------
    force
        N, not negative.
    discrete, events
        Its modes, and where they change.
    """

    force: ca.SX
    discrete: Parameters
    events: tuple[Event, ...]


@runtime_checkable
class ComplianceLaw(Protocol):
    """A law of compliant contact."""

    def push(self, name: str, depth: ca.SX, rate: ca.SX) -> Push:
        """Return the force of one contact.

        Parameters
        ----------
        name
            A word. The discrete value `contact_<name>` is 1.0 while the depth is above zero, and
            the events `<name>_closed` and `<name>_lost` say where that changes.
        depth, rate
            m and m/s, positive as it is pressed in.
        """
        ...


@dataclass(frozen=True)
class HuntCrossley:
    """F = k d^n (1 + 3/2 a d'), as for two elastic bodies (n = 3/2, Hertz) with small losses.

    The force is zero at the beginning and at the end of a contact. It never pulls: where
    1 + 3/2 a d' < 0 it is zero. After an impact with a small speed v, the restitution is 1 - a v.

    Parameters
    ----------
    stiffness
        k, N/m^n: a number or an expression of parameters.
    exponent
        n, a number >= 1.
    dissipation
        a, s/m: a number or an expression of parameters.

    Raises
    ------
    OutOfRangeError
        The stiffness is a number that is not positive, the exponent below 1, or the dissipation
        negative.

    References
    ----------
    K. H. Hunt, F. R. E. Crossley, "Coefficient of restitution interpreted as damping in
    vibroimpact", J. Appl. Mech. 42 (1975) 440-445.
    """

    stiffness: Expression
    exponent: float = 1.5
    dissipation: Expression = 0.0

    def __post_init__(self) -> None:
        check_size("the stiffness of a compliant contact", self.stiffness, "> 0")
        _check_exponent(self.exponent)
        check_size("the dissipation of a compliant contact", self.dissipation)

    def push(self, name: str, depth: ca.SX, rate: ca.SX) -> Push:
        """Return the force of one contact; see `ComplianceLaw`."""
        touch = f"contact_{name}"
        factor = 1 + 1.5 * ca.SX(self.dissipation) * rate
        elastic = self.stiffness * _power(depth, self.exponent)
        if ca.SX(self.dissipation).is_zero():
            values = discrete_values({touch: (0.0, SWITCHED)})
            return Push(values[touch] * elastic, values, _touching(name, values, depth, {}))
        pressing = f"presses_{name}"
        values = discrete_values(dict.fromkeys((touch, pressing), (0.0, SWITCHED)))
        touching, presses = values[touch], values[pressing]
        # What does not count is one, far from zero.
        guards = [
            touching * (presses * factor + 1 - presses) + 1 - touching,
            touching * (-(1 - presses) * factor + presses) + 1 - touching,
        ]
        changes = Reset({pressing: 1 - presses}, whenever_past=True)
        turned = Event(f"{name}_presses", guards, FALLING, changes, listed=False)
        events = (*_touching(name, values, depth, {pressing: factor > 0}), turned)
        return Push(touching * presses * elastic * factor, values, events)


@dataclass(frozen=True)
class KelvinVoigt:
    """F = k d^n + c d', with damping no larger than the spring: a spring and a damper that push.

    The force of the damper is limited to the force of the spring, so that contact begins without a
    jump and ends without a pull.

    Parameters
    ----------
    stiffness
        k, N/m^n: a number or an expression of parameters.
    damping
        c, N s/m: a number or an expression of parameters.
    exponent
        n, a number >= 1.

    Raises
    ------
    OutOfRangeError
        The stiffness is a number that is not positive, the damping negative, or the exponent
        below 1.
    """

    stiffness: Expression
    damping: Expression = 0.0
    exponent: float = 1.0

    def __post_init__(self) -> None:
        check_size("the stiffness of a compliant contact", self.stiffness, "> 0")
        check_size("the damping of a compliant contact", self.damping)
        _check_exponent(self.exponent)

    def push(self, name: str, depth: ca.SX, rate: ca.SX) -> Push:
        """Return the force of one contact; see `ComplianceLaw`."""
        touch, cut = f"contact_{name}", f"limit_{name}"
        spring, slowing = self.stiffness * _power(depth, self.exponent), self.damping * rate
        if ca.SX(self.damping).is_zero():
            values = discrete_values({touch: (0.0, SWITCHED)})
            return Push(values[touch] * spring, values, _touching(name, values, depth, {}))
        values = discrete_values({touch: (0.0, SWITCHED), cut: (0.0, SIGNED)})
        touching, limit = values[touch], values[cut]
        free = touching * (1 - limit**2)
        up, down = (touching * limit * (limit + side) / 2 for side in (1, -1))
        # What does not count is minus one, far from zero.
        guards = [
            free * (slowing - spring) - (1 - free),
            free * (-slowing - spring) - (1 - free),
            up * (spring - slowing) - (1 - up),
            down * (spring + slowing) - (1 - down),
        ]

        def changed(fired: ca.SX) -> dict[str, ca.SX]:
            return {cut: fired[0] - fired[1] + (1 - fired[2] - fired[3]) * limit}

        first = (slowing > spring) - (slowing < -spring)
        events = (
            *_touching(name, values, depth, {cut: first}),
            Event(f"{name}_limit", guards, RISING, Reset(changed, whenever_past=True),
                  listed=False),
        )  # fmt: skip
        whole = (1 + limit) * spring + (1 - limit**2) * slowing
        return Push(touching * whole, values, events)


def _check_exponent(exponent: object) -> None:
    if not is_number(exponent) or float(exponent) < 1.0:
        raise OutOfRangeError(
            f"the exponent of a compliant contact is {exponent!r}, but must be a number >= 1"
        )


def _touching(
    name: str, values: Parameters, depth: ca.SX, begins: Mapping[str, ca.SX]
) -> tuple[Event, Event]:
    """Return the events at which a contact begins and ends, with what else changes then."""
    touch = f"contact_{name}"
    touching = values[touch]
    closed = Reset({touch: 1.0, **begins}, whenever_past=True)
    lost = Reset({touch: 0.0}, whenever_past=True)
    return (
        Event(f"{name}_closed", (1 - touching) * depth - touching, RISING, closed),
        Event(f"{name}_lost", touching * depth + 1 - touching, FALLING, lost),
    )


def _power(depth: ca.SX, exponent: float) -> ca.SX:
    """Return d^n; if n is not a whole number, only where d is positive."""
    if float(exponent).is_integer():
        return depth ** int(exponent)
    return ca.fmax(depth, 0) ** exponent
