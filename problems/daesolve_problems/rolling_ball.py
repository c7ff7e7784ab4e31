"""A heavy ball on a surface in space, rolling without slip, with or without a pendulum inside.

A homogeneous ball under its weight rolls without slip on a rough surface at rest; nothing resists
its rolling or its turning about the normal. Six quantities are unknown: the three components of the
force of the surface at the contact and the three of its moment about the centre, which three
equations tie to the force. The energy is conserved; without the pendulum there are more integrals
on some surfaces.

The surface is f(x, y, z) = 0 and the ball is where f < 0. c = (x, y, z) is the centre, omega the
angular velocity in space, a = (contact_x, contact_y, contact_z) the contact and nu = grad f /
|grad f| the normal there, from the centre to the contact:

    contact_point   c + r nu(a) - a = 0                       defines a
    contact         f(a) = 0
    rolling         s_x + s_z nu_x / (1 - nu_z) = 0,  s = c' + omega x r nu,
                    s_y + s_z nu_y / (1 - nu_z) = 0
    torque_balance  torque = r nu x R

No chart of directions is needed: a tracks the foot of the ball whichever way the surface turns.
`rolling` is the slip s along the unit tangents t_x, t_y that the reflection of e_z to nu makes of
e_x, e_y, but for a multiple of s . nu, which `contact` keeps at zero; together they say s = 0 as
long as nu_z < 1: on every surface z = h(x, y), where nu points downwards, on a vertical wall and
under an overhang, but not where a ball hangs straight under a ceiling. The reaction R and the
torque are free unknowns; a separate equation makes the torque the moment of R.

The ball is homogeneous (moment of inertia 2/5 M r^2), its orientation a unit quaternion. The
pendulum is a point mass on a massless arm that turns without friction about an axle through the
centre, fixed in the ball: the ball's own y axis, without loss of generality because all axes of a
ball are equivalent. phi is the angle of the arm from the ball's own -z axis, right-handed about the
axle.

On an incline the bare ball has the acceleration g sin(slope) / (1 + 2/5) and keeps its spin about
the normal; on a surface of revolution it has Routh's two integrals, linear in the velocities. With
the pendulum only the energy is conserved. Where all of it moves in a plane down an incline, the
momentum (1 + 2/5) M v + m v_bob along the slope grows by (M + m) g sin(slope) t.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import InconsistentStateError, OutOfRangeError, PosingError
from daesolve.multibody.drawing import (
    Circle,
    Dot,
    Drawing,
    Line,
    Outline,
    Pose,
    Shape,
    Trace,
    axes_by_quaternions,
    ring,
    series_of,
)
from daesolve.typing import DifferentiableVector, Parameters, SymbolVector
from daesolve_problems.figures import draw_curve, new_figure
from daesolve_problems.surfaces import INCLINE, PARABOLOID, SURFACES, Surface, lines_on

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = ("x", "y", "z")
NEWTON_STEPS = 50
alike: Any = ca
"""CasADi's functions: they treat numbers and symbols alike, which its stub does not say."""


# -- the system ----------------------------------------------------------------------------------


def ball_on_surface(surface: Surface, pendulum: bool, one_sided: bool) -> ds.MechanicalSystem:
    """Pose the ball by its centre and a quaternion, with its contact as implicit unknowns."""
    if not isinstance(surface, Surface):
        raise PosingError(
            f"the surface must be {' or '.join(map(repr, SURFACES))} or a Surface of "
            f"daesolve_problems.rolling_ball, not {surface!r}"
        )
    q, v, p = _symbols(surface, pendulum)
    w = ds.implicit(contact_x="m", contact_y="m", contact_z="m")
    u = ds.reactions(
        reaction_x="N", reaction_y="N", reaction_z="N",
        torque_x="N m", torque_y="N m", torque_z="N m",
    )  # fmt: skip
    state = {name: q[name] for name in q} | {name: v[name] for name in v}
    reaction = _vector(u, "reaction_{}")
    level = surface.level(w.contact_x, w.contact_y, w.contact_z, p)
    gradient = ca.gradient(level, w.vector)
    nu = gradient / ca.norm_2(gradient)
    if (1 - nu[2]).is_zero():
        raise _hanging()
    kinetic, potential = energies(state, p, pendulum)
    outputs = _outputs(state, p, nu, reaction, pendulum)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=potential,
        velocities=v,
        kinematics=_kinematics(state, pendulum),
        implicit=w,
        reactions=u,
        force={f"{n}_dot": u[f"reaction_{n}"] for n in AXES}
        | {f"omega_{n}": u[f"torque_{n}"] for n in AXES},
        goals=[
            ds.Holonomic("contact", level, ideal=False),
            *_contact_point(_vector(state, "{}") + p.radius * nu - w.vector, w),
            *_rolling(state, p.radius * nu, nu),
            *_torque_balance(_vector(u, "torque_{}") - p.radius * ca.cross(nu, reaction)),
            ds.Invariant(
                "orientation_norm", alike.sumsqr(_orientation(state)), drive=True, on="positions"
            ),
        ],
        outputs=outputs,
        events=[
            ds.Event(
                "contact_lost",
                outputs["normal"][0],
                ds.FALLING,
                then=ds.Stop() if one_sided else ds.Record(),
            )
        ],
        peaks=["required_friction"],
    )


def _symbols(
    surface: Surface, pendulum: bool
) -> tuple[DifferentiableVector, SymbolVector, Parameters]:
    """Return coordinates, velocities (angular ones in space) and parameters."""
    positions = dict.fromkeys(AXES, "m") | {f"orientation_{n}": "" for n in ("w", *AXES)}
    rates = {f"{n}_dot": "m/s" for n in AXES} | {f"omega_{n}": "rad/s" for n in AXES}
    entries: dict[str, Any] = {
        "ball_mass": (1.0, "kg", ds.POSITIVE),
        "radius": (0.1, "m", ds.POSITIVE),
        "inertia_ratio": (0.4, "", ds.POSITIVE),
        "gravity": (9.81, "m/s^2"),
    }
    if pendulum:
        positions["phi"] = ds.ANGLE
        rates["phi_dot"] = "rad/s"
        entries["bob_mass"] = (0.3, "kg", ds.POSITIVE)
        entries["pendulum_length"] = (0.08, "m", ds.POSITIVE)
    taken = sorted(entries.keys() & surface.parameters.keys())
    if taken:
        raise PosingError(
            f"the surface's parameter {taken[0]!r} is reserved for the ball; rename it"
        )
    return (
        ds.coordinates(**positions),
        ds.velocities(**rates),
        ds.parameters(**entries, **surface.parameters),
    )


def _vector(names: Any, pattern: str) -> Any:
    return alike.vertcat(*[names[pattern.format(axis)] for axis in AXES])


def _orientation(state: Mapping[str, Any]) -> Any:
    return alike.vertcat(state["orientation_w"], _vector(state, "orientation_{}"))


def _kinematics(state: Mapping[str, Any], pendulum: bool) -> ca.SX:
    """Return q' = S(q) v; the quaternion's rate is (0, omega) times it, over two."""
    omega, axis = _vector(state, "omega_{}"), _vector(state, "orientation_{}")
    scalar = -alike.dot(omega, axis) / 2
    turning = (state["orientation_w"] * omega + alike.cross(omega, axis)) / 2
    swinging = [state["phi_dot"]] if pendulum else []
    return alike.vertcat(_vector(state, "{}_dot"), scalar, turning, *swinging)


def _contact_point(miss: ca.SX, unknowns: DifferentiableVector) -> list[ds.Implicit]:
    return [
        ds.Implicit(f"contact_point_{n}", miss[i], unknowns[f"contact_{n}"])
        for i, n in enumerate(AXES)
    ]


def _rolling(state: Mapping[str, Any], arm: ca.SX, nu: ca.SX) -> list[ds.Nonholonomic]:
    slip = _vector(state, "{}_dot") + ca.cross(_vector(state, "omega_{}"), arm)
    return [
        ds.Nonholonomic(f"rolling_{n}", slip[i] + slip[2] * nu[i] / (1 - nu[2]), ideal=False)
        for i, n in enumerate(AXES[:2])
    ]


def _torque_balance(difference: ca.SX) -> list[ds.Relation]:
    return [ds.Relation(f"torque_balance_{n}", difference[i]) for i, n in enumerate(AXES)]


def axle_and_arm(state: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the unit vectors of the axle and of the pendulum's arm, in space.

    They are the columns of the rotation by the unit quaternion: the ball's own y axis, and
    -x sin(phi) - z cos(phi) of its own x and z.
    """
    w, x, y, z = (state[f"orientation_{n}"] for n in ("w", *AXES))
    own_x = alike.vertcat(1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y))
    own_y = alike.vertcat(2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x))
    own_z = alike.vertcat(2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y))
    return own_y, -alike.sin(state["phi"]) * own_x - alike.cos(state["phi"]) * own_z


def energies(state: Mapping[str, Any], p: Any, pendulum: bool) -> tuple[Any, Any]:
    """Return the kinetic and the potential energy, J, of symbols as of numbers."""
    velocity, omega = _vector(state, "{}_dot"), _vector(state, "omega_{}")
    inertia = p["inertia_ratio"] * p["ball_mass"] * p["radius"] ** 2
    kinetic = (p["ball_mass"] * alike.sumsqr(velocity) + inertia * alike.sumsqr(omega)) / 2
    potential = p["ball_mass"] * p["gravity"] * state["z"]
    if pendulum:
        axle, arm = axle_and_arm(state)
        turning = omega + state["phi_dot"] * axle
        bob_velocity = velocity + p["pendulum_length"] * alike.cross(turning, arm)
        kinetic += p["bob_mass"] * alike.sumsqr(bob_velocity) / 2
        height = state["z"] + p["pendulum_length"] * arm[2]
        potential += p["bob_mass"] * p["gravity"] * height
    return kinetic, potential


def _outputs(
    state: Mapping[str, Any], p: Any, nu: ca.SX, reaction: ca.SX, pendulum: bool
) -> dict[str, tuple[ca.SX, str]]:
    normal = -ca.dot(reaction, nu)
    friction = ca.norm_2(reaction + normal * nu)
    outputs: dict[str, tuple[ca.SX, str]] = {
        "normal": (normal, "N"),
        "friction": (friction, "N"),
        "required_friction": (ca.fabs(friction / normal), ""),
        "speed": (alike.norm_2(_vector(state, "{}_dot")), "m/s"),
        "spin": (-alike.dot(_vector(state, "omega_{}"), nu), "rad/s"),
    }
    if pendulum:
        bob = _vector(state, "{}") + p["pendulum_length"] * axle_and_arm(state)[1]
        outputs |= {f"bob_{n}": (bob[i], "m") for i, n in enumerate(AXES)}
    return outputs


# -- its start -----------------------------------------------------------------------------------


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Place the ball on the surface at `contact_x`, `contact_y`, rolling.

    `contact_z` is where the search for the height begins. `speed_x`, `speed_y` are the centre's
    velocity along the tangents t_x, t_y, `spin` the angular velocity about the normal towards the
    ball. The axle lies along y, turned by `axle_azimuth` about the vertical and raised by
    `axle_tilt`.
    """
    contact, gradient = _contact(given, parameters, structure["surface"])
    nu, radius = gradient / np.linalg.norm(gradient), parameters["radius"]
    tangents = np.eye(3)[:2] - np.outer(nu[:2], nu - np.eye(3)[2]) / (1.0 - nu[2])
    velocity = np.array([given["speed_x"], given["speed_y"]]) @ tangents
    omega = -np.cross(nu, velocity) / radius - given["spin"] * nu
    azimuth, tilt = given.get("axle_azimuth", 0.0) / 2, given.get("axle_tilt", 0.0) / 2
    orientation = (
        math.cos(azimuth) * math.cos(tilt),
        math.cos(azimuth) * math.sin(tilt),
        math.sin(azimuth) * math.sin(tilt),
        math.sin(azimuth) * math.cos(tilt),
    )
    guess = {f"orientation_{n}": value for n, value in zip(("w", *AXES), orientation, strict=True)}
    for pattern, vector in (
        ("{}", contact - radius * nu),
        ("contact_{}", contact),
        ("{}_dot", velocity),
        ("omega_{}", omega),
    ):
        guess |= {pattern.format(n): float(value) for n, value in zip(AXES, vector, strict=True)}
    if structure["pendulum"]:
        guess |= {"phi": given.get("phi", 0.0), "phi_dot": given.get("phi_dot", 0.0)}
    return guess


def _contact(
    given: Mapping[str, float], parameters: Mapping[str, float], surface: Surface
) -> tuple[np.ndarray, np.ndarray]:
    """Return the contact and the gradient of f there, or say why the ball cannot touch there."""
    place = ca.SX.sym("a", 3)  # pyright: ignore[reportArgumentType]
    level = ca.SX(surface.level(place[0], place[1], place[2], parameters))
    slope = ca.gradient(level, place)
    bend = ca.jacobian(slope / ca.norm_2(slope), place)
    function = ca.Function("surface", [place], [level, slope, bend])
    contact = np.array([given["contact_x"], given["contact_y"], given.get("contact_z", 0.0)])
    for _ in range(NEWTON_STEPS):
        with np.errstate(all="ignore"):
            height, gradient, curvature = (np.asarray(e).squeeze() for e in function(contact))
            distance = abs(height) / np.linalg.norm(gradient)
            if distance <= 1e-14 * max(1.0, float(np.max(np.abs(contact)))):
                _check_place(gradient, curvature, parameters["radius"])
                return contact, gradient
            contact[2] -= height / gradient[2]
    raise InconsistentStateError(
        f"the surface has no height at contact_x = {contact[0]:g}, contact_y = {contact[1]:g}, "
        "searched from contact_z; give another place or another contact_z"
    )


def _hanging() -> InconsistentStateError:
    return InconsistentStateError(
        "the ball hangs straight under the surface at the start, where rolling_x and "
        "rolling_y do not determine its motion; turn the surface"
    )


def _check_place(gradient: np.ndarray, curvature: np.ndarray, radius: float) -> None:
    """Refuse a place where the ball cannot be; the curvature is the derivative of nu."""
    sharpest = float(np.max(np.linalg.eigvals(curvature).real))
    if radius * sharpest >= 1.0:
        raise OutOfRangeError(
            f"the ball does not fit: its radius is {radius:g} m, but where it starts the surface "
            f"has a radius of curvature of {1.0 / sharpest:g} m; make radius smaller"
        )
    if gradient[2] > (1.0 - 1e-9) * np.linalg.norm(gradient):
        raise _hanging()


def scales(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Scale the contact by the radius, and the energy by E0 - V_min if there is a lowest V.

    There is one in the bowl and on the level; elsewhere the ball may fall without end.
    """
    surface, pendulum = structure["surface"], structure["pendulum"]
    _, gradient = _contact(given, parameters, surface)
    found = {"contact": float(np.linalg.norm(gradient)) * parameters["radius"]}
    level = surface is INCLINE and parameters["slope"] == 0.0
    if not (level or surface is PARABOLOID) or parameters["gravity"] < 0.0:
        return found
    state = start(given, parameters, structure)
    upright = dict.fromkeys((f"orientation_{n}" for n in AXES), 0.0) | {"orientation_w": 1.0}
    lowest = {**state, **upright, "z": parameters["radius"], "phi": 0.0}
    kinetic, potential = energies(state, parameters, pendulum)
    energy = float(kinetic + potential - energies(lowest, parameters, pendulum)[1])
    return found | ({"energy": energy} if energy > 0.0 else {})


# -- its figures ---------------------------------------------------------------------------------


def path_from_above(document: Mapping[str, Any]) -> Figure:
    """Draw the paths of the contact and of the bob from above, with lines of equal height."""
    states, outputs = document["states"], document["outputs"]
    figure = new_figure(6.0, 6.0)
    axes = figure.add_subplot()
    if "bob_x" in outputs:
        draw_curve(axes, document, "bob_x", "bob_y", "bob", color="C1", linewidth=0.6)
    x, y = np.array(states["contact_x"]), np.array(states["contact_y"])
    draw_curve(axes, document, "contact_x", "contact_y", "contact", color="C0", linewidth=1.2)
    axes.plot(x[0], y[0], "o", color="C3", markersize=6, label="contact at the start")
    axes.set_aspect("equal", adjustable="datalim")
    surface = SURFACES.get(document["structure"].get("surface"))
    if surface is not None:
        reach = max(float(np.ptp(x)), float(np.ptp(y))) / 2
        across = [np.linspace(np.mean(e) - reach, np.mean(e) + reach, 81) for e in (x, y)]
        grid_x, grid_y = np.meshgrid(*across)
        height = surface.level(grid_x, grid_y, 0.0, document["parameters"])
        if np.ptp(height) > 0.0:
            axes.contour(*across, height, levels=12, colors="0.85", linewidths=0.8, zorder=0)
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def height_profile(document: Mapping[str, Any]) -> Figure:
    """Draw the heights of the centre and of the bob over time."""
    figure = new_figure(8.0, 3.6)
    axes = figure.add_subplot()
    times, outputs = document["times"], document["outputs"]
    if "bob_z" in outputs:
        axes.plot(times, outputs["bob_z"], color="C1", linewidth=0.6, label="bob")
    axes.plot(times, document["states"]["z"], color="C0", linewidth=1.2, label="centre")
    axes.set_xlabel("t (s)")
    axes.set_ylabel("z (m)")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the ball with marks that show its turning, the path of its contact, and the surface."""
    states, p, pose = document["states"], document["parameters"], Pose("ball")
    centre = np.column_stack(series_of(document, *AXES))
    turns = np.column_stack(series_of(document, *(f"orientation_{n}" for n in ("w", *AXES))))
    contact = np.column_stack(series_of(document, *(f"contact_{n}" for n in AXES)))
    shapes: list[Shape] = [
        *lines_on(document, contact, 2.0 * p["radius"]),
        Trace(tuple(f"contact_{n}" for n in AXES), label="path of the contact"),  # pyright: ignore
        Circle(AXES, "radius", label="ball"),
        *[Outline(pose.places(ring(p["radius"], normal)), role="detail") for normal in range(3)],
    ]
    if "phi" in states:
        bob = ("bob_x", "bob_y", "bob_z")
        shapes += [Line([AXES, bob], role="accent"), Dot(bob, role="accent", label="bob")]
    series = pose.series(centre, axes_by_quaternions(turns))
    return Drawing(shapes, series=series, eye=(0.5, -1.0, 0.6))


problem = ds.Problem(
    "rolling-ball",
    title="A heavy ball on a surface",
    models={"physical": ball_on_surface},
    sources=[
        "E. J. Routh, The Advanced Part of a Treatise on the Dynamics of a System of Rigid Bodies, "
        "6th ed. (1905)",
        "A. V. Borisov, I. S. Mamaev, A. A. Kilin, Rolling of a ball on a surface. New integrals "
        "and hierarchy of dynamics, Regular and Chaotic Dynamics 7 (2002) 201-219",
        "Yu. V. Morozov, I. V. Matrosov, A. V. Pesterev, The use of control theory for the "
        "numerical integration of the equations of rolling of robotic systems (in Russian)",
    ],
    structure={"surface": ds.choice(**SURFACES), "pendulum": False, "one_sided": True},
    start=start,
    scales=scales,
    figures={"path from above": path_from_above, "heights": height_profile},
    drawing=drawing,
    cases=[
        ds.Case(
            "incline",
            start={
                "contact_x": 0.0,
                "contact_y": 0.0,
                "contact_z": 0.0,
                "speed_x": 0.0,
                "speed_y": 1.0,
                "spin": 5.0,
            },
            until=10.0,
            note="thrown across the slope: a parabola, with 5/7 of the acceleration of sliding",
        ),
        ds.Case(
            "paraboloid",
            structure={"surface": "paraboloid"},
            start={
                "contact_x": 0.8,
                "contact_y": 0.0,
                "speed_x": 0.3,
                "speed_y": 1.2,
                "spin": 10.0,
            },
            until=60.0,
            note="a tilted orbit in the bowl, turned by the spin about the normal; it has Routh's "
            "two integrals",
        ),
        ds.Case(
            "level-with-pendulum",
            structure={"pendulum": True},
            parameters={"slope": 0.0},
            start={
                "contact_x": 0.0,
                "contact_y": 0.0,
                "speed_x": 0.0,
                "speed_y": 0.0,
                "spin": 0.0,
                "axle_azimuth": 0.0,
                "axle_tilt": 0.3,
                "phi": 1.5,
                "phi_dot": 0.0,
            },
            until=60.0,
            note="released from rest on a level floor, the axle tilted and the bob held aside: the "
            "ball weaves to and fro",
        ),
        ds.Case(
            "paraboloid-with-pendulum",
            structure={"surface": "paraboloid", "pendulum": True},
            start={
                "contact_x": 0.3,
                "contact_y": 0.0,
                "speed_x": 0.0,
                "speed_y": 0.3,
                "spin": 0.0,
                "axle_azimuth": 0.0,
                "axle_tilt": 0.0,
                "phi": 0.5,
                "phi_dot": 0.0,
            },
            until=60.0,
            note="chaotic: small errors grow e-fold in about 3 s",
        ),
    ],
)
