"""Elements between two places: bushings, a spring in series with a damper, and stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.posing.goals import Expression, as_scalar
from daesolve.core.posing.symbols import SymbolVector
from daesolve.core.system.system import Output
from daesolve.errors import PosingError
from daesolve.multibody.checks import check_part, check_places, check_size
from daesolve.multibody.compliance import KelvinVoigt
from daesolve.multibody.contact_geometry import over_plane
from daesolve.multibody.contribution import AppliedForce, Contribution
from daesolve.multibody.joint_rows import AnyFrame
from daesolve.multibody.loads import WOUND, line_between, met
from daesolve.multibody.places import Frame, Place, PlanarFrame, array, column


@dataclass(frozen=True, eq=False)
class Bushing:
    """A rubber bushing between two frames: springs and dampers in every direction.

    Let d be the vector from the first origin to the second in axes of the first frame, and a the
    angles of the second frame against it. The second body then feels, at its origin, the force -k d
    - c d' along the axes of the first, the torques of the potential sum k a^2 / 2, and the torques
    -c w of dampers, where w is the angular velocity against the first in its axes. The first body
    feels the opposite at the same place. In space the angles are the Cardan angles of successive
    turns about the first, the second and the third axis: about a single axis the torque is exactly
    -k a.

    Outputs are `<name>_force_1`, `_2`, `_3`, N, and `<name>_torque_1`, `_2`, `_3`, N m, which act
    on the second body in axes of the first frame; in the plane `<name>_force_1`, `_2` and
    `<name>_torque`. The work of the dampers is metered as `<name>_damping_work` (J).

    Parameters
    ----------
    name
        A word.
    first, second
        Frames of two bodies, or of a body and the ground.
    stiffness
        Six: along the axes of the first frame, N/m, and about them, N m/rad. In the plane three.
        Numbers or expressions of parameters; zero for a free direction.
    damping
        As many, N s/m and N m s/rad; by default none.

    Raises
    ------
    PosingError
        The name is not a word, a place is not a frame or belongs to an axisymmetric body, the
        frames do not fit together, or the number of stiffnesses or dampings is wrong.
    OutOfRangeError
        A stiffness or a damping is negative.

    Notes
    -----
    Angles are unique only until the second turn reaches a quarter, or another turn that is not free
    reaches a half: there the event `<name>_turned` ends the run. About a free axis (a stiffness of
    0, as in a bearing) it turns without limit, as it does in the plane. Make the third axis the
    free one: the springs about the other two then stay fixed in the first frame.
    """

    name: str
    first: AnyFrame
    second: AnyFrame
    stiffness: Sequence[Expression]
    damping: Sequence[Expression] | None = None

    def __post_init__(self) -> None:
        what = check_part(self)
        for place in (self.first, self.second):
            if not isinstance(place, Frame | PlanarFrame):
                raise PosingError(
                    f"the {what} must connect two frames: use frame(...), not {place!r}"
                )
            if isinstance(place, Frame) and place.turning:
                raise PosingError(
                    f"the {what} needs axes that spin with {place.body.name!r}: create that "
                    "body with axisymmetric=False"
                )
        check_places(what, self.first, self.second)
        for title, given in (("stiffness", self.stiffness), ("damping", self._dampings)):
            for entry in ca.vertsplit(column(given, (self._size,), f"the {title} of the {what}")):
                check_size(f"a {title} of the {what}", entry)

    @property
    def _size(self) -> int:
        return 3 if isinstance(self.first, PlanarFrame) else 6

    @property
    def _dampings(self) -> Sequence[Expression]:
        return (0.0,) * self._size if self.damping is None else self.damping

    @cached_property
    def displacement(self) -> ca.SX:
        """Position of the second origin, m, and the angles, rad: (6, 1); in the plane (3, 1)."""
        first, second = self.first, self.second
        way = second.position - first.position
        if isinstance(first, Frame) and isinstance(second, Frame):
            turned = first.rotation.T @ second.rotation
            return ca.vertcat(first.rotation.T @ way, *_cardan(turned))
        assert isinstance(first, PlanarFrame)
        assert isinstance(second, PlanarFrame)
        return ca.vertcat(_axes(first).T @ way, second.angle - first.angle)

    @cached_property
    def rates(self) -> ca.SX:
        """The velocity of the second origin over the first body, m/s, and how it turns, rad/s.

        Both in axes of the first frame: (6, 1); in the plane (3, 1).
        """
        first, second = self.first, self.second
        if isinstance(first, Frame) and isinstance(second, Frame):
            turning = first.rotation.T @ (second.angular_velocity - first.angular_velocity)
            return ca.vertcat(over_plane(second.position, second.velocity, first), turning)
        assert isinstance(first, PlanarFrame)
        assert isinstance(second, PlanarFrame)
        way = second.position - first.position
        moving = second.velocity - first.velocity - first.rate * ca.vertcat(-way[1], way[0])
        return ca.vertcat(_axes(first).T @ moving, second.rate - first.rate)

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        size = (self._size,)
        stiffness = column(self.stiffness, size, "the stiffness")
        pull = stiffness * self.displacement
        potential = ca.dot(pull, self.displacement) / 2
        slowing = -column(self._dampings, size, "the damping") * self.rates
        damped = not slowing.is_zero()
        forces = [AppliedForce(self.rates, slowing)] if damped else []
        half = 2 if size == (3,) else 3
        spring = ca.vertcat(-pull[:half], self._twist(-pull[half:]))
        whole = ca.vertsplit(slowing + spring)
        outputs: dict[str, Output] = {
            f"{self.name}_force_{k}": (force, "N") for k, force in enumerate(whole[:half], 1)
        }
        for k, torque in enumerate(whole[half:], 1):
            outputs[f"{self.name}_torque" + (f"_{k}" if half == 3 else "")] = (torque, "N m")
        meters: dict[str, Output] = {}
        if damped:
            meters[f"{self.name}_damping_work"] = (ca.dot(slowing, self.rates), "J")
        return Contribution(
            potential=potential,
            forces=forces,
            events=self._turned(),
            outputs=outputs,
            meters=meters,
        )

    def _twist(self, about: ca.SX) -> ca.SX:
        """Return the torque of springs in axes of the first frame, from those about the turns.

        With w = E a', the columns of E the axes of the three turns, its power is t . w = s . a'.
        """
        if self._size == 3 or about.is_zero():
            return about
        one, two, _ = ca.vertsplit(self.displacement[3:])
        s_1, s_2, s_3 = ca.vertsplit(about)
        across = (s_3 - s_1 * ca.sin(two)) / ca.cos(two)
        sine, cosine = ca.sin(one), ca.cos(one)
        return ca.vertcat(s_1, cosine * s_2 - sine * across, sine * s_2 + cosine * across)

    def _turned(self) -> list[Event]:
        springs = [not ca.SX(entry).is_zero() for entry in ca.vertsplit(array(self.stiffness))[3:]]
        if not any(springs):
            return []
        angles = ca.vertsplit(self.displacement[3:])
        why = (
            f"the bushing {self.name!r} is turned so far that its angles do not determine its "
            "position"
        )
        guards = [ca.cos(angles[1]) - WOUND]
        guards += [1 + ca.cos(angles[k]) - WOUND**2 / 2 for k in (0, 2) if springs[k]]
        return [Event(f"{self.name}_turned", guards, FALLING, Stop(why, whenever_past=True))]


@dataclass(frozen=True, eq=False)
class SpringDamperSeries:
    """A spring in series with a damper, along the line between two points (Maxwell element).

    The same tension T acts in both: T = k (d - l - s), where d is the distance of the points and s
    the extension of the damper, with c s' = T. So s is a state of the run, `<name>_damper` (m).
    Fast motions stretch the spring, slow ones the damper. Outputs are `<name>_length` (m) and
    `<name>_tension` (N, negative where it pushes); its work is metered as `<name>_work` (J).

    Parameters
    ----------
    name
        A word.
    first, second
        The points, of two bodies or of one and the ground.
    stiffness, damping
        k, N/m, and c, N s/m, positive: numbers or expressions of parameters.
    length
        l, its length with a slack spring and the damper at zero, m.
    damper
        s at the start, m.

    Raises
    ------
    PosingError
        The name is not a word, or the points do not fit together.
    OutOfRangeError
        The stiffness or the damping is not positive, or the length is negative.

    Notes
    -----
    Where the points meet (within a thousandth of the length) the force has no direction: there the
    event `<name>_met` ends the run.
    """

    name: str
    first: Place
    second: Place
    stiffness: Expression
    damping: Expression
    length: Expression
    damper: Expression = 0.0

    def __post_init__(self) -> None:
        what = check_part(self, stiffness="> 0", damping="> 0", length=">= 0")
        check_places(what, self.first, self.second)
        as_scalar(f"the damper of the {what} at the start", self.damper)

    @cached_property
    def state(self) -> SymbolVector:
        """The extension of the damper, m."""
        return SymbolVector((f"{self.name}_damper",), ("m",), "quadrature")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        distance, speed = line_between(self.first, self.second)
        (drawn,) = ca.vertsplit(self.state.vector)
        tension = self.stiffness * (distance - self.length - drawn)
        return Contribution(
            forces=[AppliedForce(speed, -tension)],
            quadratures=self.state,
            integrands={self.state.names[0]: tension / self.damping},
            start={self.state.names[0]: self.damper},
            events=[met(self.name, self.first, self.second, ca.SX(self.length))],
            outputs={
                f"{self.name}_length": (distance, "m"),
                f"{self.name}_tension": (tension, "N"),
            },
            meters={f"{self.name}_work": (-tension * speed, "J")},
        )


@dataclass(frozen=True, eq=False)
class ElastoGap:
    """A stop between two points: it pushes them apart when they are closer than a length.

    If they are closer by d, it pushes with k d^n + c d', with damping no larger than the spring
    (`KelvinVoigt`); beyond the length it does not push. Outputs are `<name>_length` (m) and
    `<name>_force` (N, positive where it pushes); `<name>_work` (J) is metered. The discrete value
    `contact_<name>` is 1.0 while it pushes; `<name>_closed` and `<name>_lost` are the events at
    which that changes.

    Parameters
    ----------
    name
        A word.
    first, second
        The points, of two bodies or of one and the ground.
    stiffness, damping
        k, N/m^n, and c, N s/m: numbers or expressions of parameters.
    length
        The distance of the points where it begins to push, m.
    exponent
        n, a number >= 1.

    Raises
    ------
    PosingError
        The name is not a word, or the points do not fit together.
    OutOfRangeError
        The stiffness or the length is not positive, the damping is negative, or the exponent is
        below 1.

    Notes
    -----
    Where the points meet (within a thousandth of the length) the force has no direction: there the
    event `<name>_met` ends the run. For both directions, use two stops.
    """

    name: str
    first: Place
    second: Place
    stiffness: Expression
    damping: Expression
    length: Expression
    exponent: float = 1.0

    def __post_init__(self) -> None:
        what = check_part(self, stiffness="> 0", damping=">= 0", length="> 0")
        check_places(what, self.first, self.second)
        _ = self._law

    @property
    def _law(self) -> KelvinVoigt:
        return KelvinVoigt(self.stiffness, self.damping, self.exponent)

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        distance, speed = line_between(self.first, self.second)
        push = self._law.push(self.name, self.length - distance, -speed)
        return Contribution(
            forces=[AppliedForce(speed, push.force)],
            events=[*push.events, met(self.name, self.first, self.second, ca.SX(self.length))],
            discrete=push.discrete,
            outputs={
                f"{self.name}_length": (distance, "m"),
                f"{self.name}_force": (push.force, "N"),
            },
            meters={f"{self.name}_work": (push.force * speed, "J")},
        )


def _axes(frame: PlanarFrame) -> ca.SX:
    return ca.horzcat(frame.direction(0), frame.direction(1))


def _cardan(turned: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return the angles of turns about axes 0, 1 and 2, one after the other, by their product."""
    return (
        ca.atan2(-turned[1, 2], turned[2, 2]),
        ca.atan2(turned[0, 2], ca.sqrt(turned[0, 0] ** 2 + turned[0, 1] ** 2)),
        ca.atan2(-turned[0, 1], turned[0, 0]),
    )
