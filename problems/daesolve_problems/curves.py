"""Curves in the x-z plane on which a wheel rolls.

A curve is f(x, z, p) = 0, and the wheel is on the side where f < 0: n = grad f / |grad f| points
from its centre to the contact. Gravity acts along -z.

An explicit curve z = h(x), the wheel above it, is f = h(x) - z.

    cosine = curves.explicit(lambda x, p: p["depth"] * ca.cos(3 * x), depth=(0.1, "m"))
    ellipse = curves.implicit(lambda x, z, p: x**2 / 4 + z**2 - 1)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

import casadi as ca
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError
from daesolve.typing import Parameters

Array: TypeAlias = NDArray[np.float64]
Entry: TypeAlias = tuple[float, str] | tuple[float, str, ds.Interval]

FARTHEST: Final = 1000.0
"""The distance from the axes up to which a start contact is sought, m."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve f(x, z, p) = 0 with the wheel on the side where f < 0.

    Parameters
    ----------
    residual
        f as a function of x, z (m) and p, where p["name"] is a parameter: a CasADi expression.
    parameters
        The curve's own parameters: name -> (default, unit) or (default, unit, interval), as in
        `daesolve.parameters`.
    height
        h as a function of x and p if the curve is z = h(x) with the wheel above it.
    label
        A name for messages and figures.
    """

    residual: Callable[[Any, Any, Any], Any]
    parameters: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    height: Callable[[Any, Any], Any] | None = None
    label: str = "curve"

    def __str__(self) -> str:
        return self.label

    @cached_property
    def geometry(self) -> ca.Function:
        """The function (point, parameters) -> (f, f_x, f_z, f_xx, f_xz, f_zz).

        Raises
        ------
        PosingError
            The residual is not a scalar CasADi expression in x, z and the curve's parameters.
        """
        point = ca.SX.sym("point", 2)  # pyright: ignore[reportArgumentType, reportCallIssue]
        p = self._declared
        wanted = (
            f"the curve {self.label!r} must be one CasADi expression of x, z and its parameters"
        )
        try:
            value = ca.SX(self.residual(point[0], point[1], p))
            hessian, gradient = ca.hessian(value, point)
            rows = ca.vertcat(value, gradient, hessian[0, 0], hessian[0, 1], hessian[1, 1])
            function = ca.Function("geometry", [point, p.vector], [ca.densify(rows)])
        except UnknownNameError as error:
            raise PosingError(
                f"the curve {self.label!r} may contain only its own parameters: {error}"
            ) from None
        except (NotImplementedError, RuntimeError, TypeError) as error:
            reason = str(error).strip().splitlines()[-1]
            raise PosingError(f"{wanted}: {reason}") from error
        constants = (
            function.instruction_constant(k)
            for k in range(function.n_instructions())
            if function.instruction_id(k) == ca.OP_CONST
        )
        if any(math.isnan(constant) for constant in constants):
            raise PosingError(f"{wanted}, written with ca.cos and the like, not with math.cos")
        return function

    @cached_property
    def _declared(self) -> Parameters:
        return ds.parameters(**self.parameters)

    def own_values(self, values: Mapping[str, float]) -> Array:
        """Pick the curve's parameters from values by name; the rest keeps its defaults.

        Raises
        ------
        OutOfRangeError
            A value is outside its range.
        """
        declared = self._declared
        own = declared.values({name: values[name] for name in declared if name in values})
        return np.array([own[name] for name in declared])

    def evaluate(self, values: Mapping[str, float], points: ArrayLike) -> Array:
        """Return f and its derivatives f_x, f_z, f_xx, f_xz, f_zz, one row each.

        Parameters
        ----------
        values
            Parameters by name; those of others are ignored.
        points
            Shape (n, 2), in m.

        Returns
        -------
        Array
            Shape (6, n).
        """
        columns, own = np.asarray(points, dtype=float).T, self.own_values(values)
        if columns.shape != (2, 1):
            return self.geometry(columns, own).full()
        # For a single point the conversion of arrays would take longer than everything else.
        found, (buffer, evaluate) = np.empty((6, 1)), self.geometry.buffer()
        for index, array in enumerate((np.ascontiguousarray(columns), own)):
            buffer.set_arg(index, memoryview(array))  # pyright: ignore[reportArgumentType, reportCallIssue]
        buffer.set_res(0, memoryview(found))  # pyright: ignore[reportArgumentType, reportCallIssue]
        evaluate()
        return found


def explicit(
    height: Callable[[Any, Any], Any], /, *, label: str = "curve", **parameters: Entry
) -> Curve:
    """Describe the curve z = height(x, p), the wheel above it.

    Parameters
    ----------
    height
        A CasADi expression of x and p["name"].
    label
        A name for messages and figures.
    **parameters
        name=(default, unit) or name=(default, unit, interval).
    """
    return Curve(lambda x, z, p: height(x, p) - z, parameters, height, label)


def implicit(
    residual: Callable[[Any, Any, Any], Any], /, *, label: str = "curve", **parameters: Entry
) -> Curve:
    """Describe the curve residual(x, z, p) = 0, the wheel where the residual is negative.

    Parameters
    ----------
    residual
        A CasADi expression of x, z and p["name"].
    label
        A name for messages and figures.
    **parameters
        name=(default, unit) or name=(default, unit, interval).
    """
    return Curve(residual, parameters, None, label)


def _quartic(x: Any, p: Any) -> Any:
    a, b = p["curve_a"], p["curve_b"]
    return (((x + a) * x - b) * x - a) * x - (1 - b)


QUARTIC: Final = explicit(_quartic, label="quartic", curve_a=(0.13, ""), curve_b=(0.5, ""))
"""The paper's curve x^4 + a x^3 - b x^2 - a x - (1 - b), in Horner's form."""

CIRCLE: Final = implicit(
    lambda x, z, p: x**2 + z**2 - p["circle_radius"] ** 2,
    label="circle",
    circle_radius=(0.5, "m", ds.POSITIVE),
)
"""The inside of a circle about the origin."""


def contact_point(
    curve: Curve, values: Mapping[str, float], given: Mapping[str, float]
) -> tuple[float, float]:
    """Find the start contact (x, z), in m, from the start values of a case.

    Parameters
    ----------
    curve, values
        The curve, and its parameters by name.
    given
        `contact_x` (m): the point above or below which the curve is explicit, or else the lowest
        point on the vertical line in which f grows through zero downwards, so that the wheel lies
        on it. Or `polar_angle` (rad), for implicit curves: the first point in which f grows
        through zero along the ray from the origin that makes this angle with the downward
        vertical, positive towards +x. Points are looked for up to `FARTHEST` from the axes.
        Other names are ignored.

    Raises
    ------
    OutOfRangeError
        There is no such point, not exactly one of the two is given, or `polar_angle` is given for
        an explicit curve.
    """
    names = [name for name in ("contact_x", "polar_angle") if name in given]
    if curve.height is not None:
        if names != ["contact_x"]:
            raise OutOfRangeError(
                f"a start on the explicit curve {curve.label!r} needs contact_x"
                + (", not by polar_angle" if "polar_angle" in names else ", which is missing")
            )
        x = float(given["contact_x"])
        z = float(curve.evaluate(values, [(x, 0.0)])[0, 0])
        if not (math.isfinite(x) and math.isfinite(z)):
            raise OutOfRangeError(f"the curve {curve.label!r} has no point at contact_x = {x:g}")
        return x, z
    if len(names) != 1:
        raise OutOfRangeError(
            f"a start on the implicit curve {curve.label!r} needs exactly one of contact_x and "
            f"polar_angle, but has {'both' if names else 'neither'}"
        )
    value = float(given[names[0]])
    along_ray = names == ["polar_angle"]
    origin = (0.0, 0.0) if along_ray else (value, 0.0)
    direction = (math.sin(value), -math.cos(value)) if along_ray else (0.0, -1.0)
    found = _outward_crossings(curve, values, np.array(origin), np.array(direction), along_ray)
    if not found:
        raise OutOfRangeError(
            f"a wheel cannot touch the curve {curve.label!r} at {names[0]} = {value:g}: f does not "
            f"grow through zero {'along the ray from the origin' if along_ray else 'downwards'} "
            f"within {FARTHEST:g} m"
        )
    x, z = found[0 if along_ray else -1]
    return float(x), float(z)


def _outward_crossings(
    curve: Curve, values: Mapping[str, float], origin: Array, direction: Array, ray: bool
) -> list[Array]:
    """Return the points of a line in which f grows through zero, in their order."""
    if not np.isfinite([origin, direction]).all():
        return []
    # 0.06 mm apart about the origin, 0.6 % of their distance far from it
    distances = 0.01 * np.sinh(np.linspace(0.0, math.asinh(FARTHEST / 0.01), 2001))
    if not ray:
        distances = np.concatenate((-distances[:0:-1], distances))

    def residual(distance: Any) -> Any:
        return curve.evaluate(values, origin + np.multiply.outer(distance, direction))[0]

    f = residual(distances)
    found: list[Array] = []
    for k in np.flatnonzero((f[:-1] < 0.0) & (f[1:] >= 0.0)):
        root: Any = scipy.optimize.brentq(
            lambda d: float(residual(np.array([d]))[0]), distances[k], distances[k + 1], xtol=1e-15
        )
        # at a pole f changes its sign too, but is not small
        if abs(residual(np.array([root]))[0]) <= 1e-6 * max(-f[k], f[k + 1]):
            found.append(origin + root * direction)
    return found
