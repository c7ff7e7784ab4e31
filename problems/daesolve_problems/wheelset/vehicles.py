"""The parts of a wheelset or a bogie, in normalised numbers or in SI units.

Y is the lateral place, Psi the angle of yaw, V the speed along the track, l half the track, R the
rolling radius, gamma the conicity, N the load of a wheel and kappa its coefficient of friction.
The slips of an axle that is mounted `ahead` of the centre are, with Ux the left wheel's,

    Ux = -(l Psi' + V gamma (Y + ahead Psi) / R),    Uy = Y' + ahead Psi' - V Psi,

and Uy is that of both wheels, while the right one slips by -Ux. With u = U / (eps V) the force on a
wheel is kappa N P(u); linear creep (Carter) has P = -u, with eps about 1e-2 for wheels on rails.

Normalised, t = om0 T, y = om0 Y / (eps V), psi = Psi / eps, with om0 = V sqrt(gamma / (R l)) the
frequency of kinematic oscillation, eta = l om0 / V, and Lambda from eps Lambda = om0 T1, T1 =
eps V M / (kappa N) the time in which creep takes up the motion; forces are in units of kappa N, and
moments of kappa N l.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Parameters

Loads = Callable[[Parameters], tuple[ca.SX, ca.SX]]
"""Parameters -> the lateral force and the moment about the vertical, expressions of time."""
Axles = Mapping[str, int]
"""Name of an axle, to which names of its slips are added -> whether it is ahead, +1, or behind."""
Creep = Callable[[ca.SX], ca.SX]

WHEELSET: Axles = {"": 0}
BOGIE: Axles = {"_front": 1, "_rear": -1}

GRAVITY = 9.81
FLANGE = math.radians(70.0)
"""The angle of a flange to the horizontal, of new wheels."""
STRAIGHT = dict.fromkeys(["force_mean", "force_amplitude", "moment_mean", "moment_amplitude"], 0.0)
"""Parameters with which only creep and springs act."""


@dataclass(frozen=True, eq=False)
class Flange:
    """The load of a wheel's flange at the end of the free play.

    Parameters
    ----------
    shift
        Y over the free play.
    pushed
        The force across besides creep.
    load
        N, of a wheel.
    limit
        Nadal's: a flange that is pressed harder climbs.
    """

    shift: ca.SX
    pushed: ca.SX
    load: ca.SX
    limit: ca.SX


def nadal_limit(angle: ca.SX, friction: ca.SX) -> ca.SX:
    """Return L / N at which a flange begins to slide up the rail.

    The rail presses with F along the normal of the flange, inclined by its angle to the vertical,
    and friction kappa F holds it back: the sum has the components L = F (sin - kappa cos) across
    and N = F (cos + kappa sin) upwards (M. J. Nadal, Annales des Mines 10 (1896)).
    """
    return (ca.tan(angle) - friction) / (1 + friction * ca.tan(angle))


@dataclass(frozen=True, eq=False)
class Vehicle:
    """One or two stiff axles on a straight track.

    Parameters
    ----------
    coordinates, parameters
        y, psi, and the numbers of the equations.
    mass, inertia
        Of y'^2 / 2 and psi'^2 / 2.
    rolling
        The energy of the rolling, which is prescribed and moves nothing.
    force, moment
        The loads besides creep.
    slips
        Name of an axle -> (2,): the slips u of its left wheel, along and across the track.
    levers
        Name of an axle -> how far it is ahead of the centre.
    grip, lever
        The force that multiplies the laws of creep, Coulomb's limit of a wheel, and half the track.
    scaled
        y and psi in normalised numbers.
    flange
        Of a single axle in SI units, otherwise none.
    """

    coordinates: DifferentiableVector
    parameters: Parameters
    mass: ca.SX
    inertia: ca.SX
    rolling: ca.SX
    force: ca.SX
    moment: ca.SX
    slips: Mapping[str, ca.SX]
    levers: Mapping[str, ca.SX]
    grip: ca.SX
    lever: ca.SX
    scaled: ca.SX
    flange: Flange | None = None


def linear(slip: ca.SX) -> ca.SX:
    """Return the creep force by Carter's linear law, without a limit."""
    return -slip


def saturated(slip: ca.SX) -> ca.SX:
    """Return a creep force with the same slope that stays below Coulomb's friction."""
    return -slip / ca.sqrt(1 + ca.sumsqr(slip))


def normalised(axles: Axles, loads: Loads) -> Vehicle:
    """Pose a vehicle in normalised numbers; `wheelbase` is the axle's distance / half the track."""
    q = ds.coordinates(y="", psi="")
    p = ds.parameters(
        eps=(0.01, "", ds.POSITIVE),
        Lambda=(1.0, "", ds.POSITIVE),
        eta=(0.3, "", ds.POSITIVE),
        rho=(1.0, "", ds.POSITIVE),
        rho_z=(1.0, "", ds.POSITIVE),
        force_mean=0.8,
        force_amplitude=0.5,
        moment_mean=0.2,
        moment_amplitude=0.4,
        frequency=0.7,
        **({"wheelbase": (1.25 / 0.79, "", ds.POSITIVE)} if len(axles) > 1 else {}),
    )
    levers = {name: p.wheelbase * side if side else ca.SX(0) for name, side in axles.items()}
    slips = {
        name: ca.vertcat(
            -p.eta * (q.dot.psi + q.y + lever * p.eta * q.psi),
            q.dot.y + lever * p.eta * q.dot.psi - q.psi,
        )
        for name, lever in levers.items()
    }
    small, (force, moment) = p.eps * p.Lambda, loads(p)
    return Vehicle(
        q,
        p,
        mass=small,
        inertia=small * p.eta * p.rho_z**2,
        rolling=(1 + p.rho**2) / 2,
        force=force,
        moment=moment,
        slips=slips,
        levers=levers,
        grip=ca.SX(1),
        lever=ca.SX(1),
        scaled=q.vector,
    )


def dimensional(axles: Axles, loads: Loads, lifts: Sequence[str] = ()) -> Vehicle:
    """Pose a vehicle in SI units, with further coordinates for the lifts of its wheels, m."""
    q = ds.coordinates(y="m", psi="rad", **dict.fromkeys(lifts, "m"))
    p = _dimensional_parameters(axles, bool(lifts))
    levers = {name: p.half_wheelbase * side if side else ca.SX(0) for name, side in axles.items()}
    slips = {
        name: ca.vertcat(
            -(p.half_track * q.dot.psi + p.speed * p.conicity * (q.y + lever * q.psi) / p.radius),
            q.dot.y + lever * q.dot.psi - p.speed * q.psi,
        )
        / (p.eps * p.speed)
        for name, lever in levers.items()
    }
    om0 = p.speed * ca.sqrt(p.conicity / (p.radius * p.half_track))
    force, moment = loads(p)
    held = force - p.lateral_stiffness * q.y
    flange = None
    if len(axles) == 1:
        limit = nadal_limit(p.flange_angle, p.friction)
        flange = Flange(q.y / p.play, held, p.axle_load / 2, limit)
    return Vehicle(
        q,
        p,
        mass=p.mass,
        inertia=p.mass * (p.rho_z * p.half_track) ** 2,
        rolling=p.mass * p.speed**2 * (1 + p.rho**2) / 2,
        force=held - p.lateral_damping * q.dot.y,
        moment=moment - p.yaw_stiffness * q.psi,
        slips=slips,
        levers=levers,
        grip=p.friction * p.axle_load / 2,
        lever=p.half_track,
        scaled=ca.vertcat(q.y * om0 / (p.eps * p.speed), q.psi / p.eps),
        flange=flange,
    )


def _dimensional_parameters(axles: Axles, lifts: bool) -> Parameters:
    """Declare sizes, loads and springs.

    Lambda and eta follow from the others (`derived`), and nothing depends on them:
    they are reported only.
    """
    bogie = len(axles) > 1
    mass = 6000.0 if bogie else 1500.0
    numbers = {
        "eps": 0.01,
        "speed": 2.56 if bogie else 20.0,
        "conicity": 0.05,
        "half_track": 0.79,
        "radius": 0.475,
        "mass": mass,
        "rho": 1.0,
        "rho_z": 0.95,
        "friction": 0.25,
        "axle_load": mass * GRAVITY / len(axles),
    }
    units = {
        "speed": "m/s", "half_track": "m", "radius": "m", "mass": "kg", "axle_load": "N",
    }  # fmt: skip
    follows = normalised_numbers(numbers)
    climbing: dict[str, Any] = {
        "restitution": (0.0, "", ds.NON_NEGATIVE), "flange_height": (0.028, "m", ds.POSITIVE),
    }  # fmt: skip
    return ds.parameters(
        **{name: (value, units.get(name, ""), ds.POSITIVE) for name, value in numbers.items()},
        **(
            {"half_wheelbase": (1.25, "m", ds.POSITIVE)}
            if bogie
            else {"play": (0.015, "m", ds.POSITIVE), "flange_angle": (FLANGE, "rad", ds.POSITIVE)}
        ),
        **(climbing if lifts else {}),
        lateral_stiffness=(0.0, "N/m", ds.NON_NEGATIVE),
        lateral_damping=(0.0, "N s/m", ds.NON_NEGATIVE),
        yaw_stiffness=(0.0, "N m/rad", ds.NON_NEGATIVE),
        force_mean=(0.0, "N"),
        force_amplitude=(0.0, "N"),
        moment_mean=(0.0, "N m"),
        moment_amplitude=(0.0, "N m"),
        frequency=(1.0, "rad/s"),
        Lambda=(follows["Lambda"], "", ds.POSITIVE),
        eta=(follows["eta"], "", ds.POSITIVE),
    )


def kinematic_frequency(numbers: Mapping[str, float]) -> float:
    """Return om0 in rad/s, the frequency of a wheelset that rolls without slipping."""
    slope = numbers["conicity"] / (numbers["radius"] * numbers["half_track"])
    return numbers["speed"] * slope**0.5


def normalised_numbers(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return the normalised parameters that follow from dimensional ones."""
    om0 = kinematic_frequency(numbers)
    same = {name: numbers[name] for name in ("eps", "rho", "rho_z")}
    return same | {
        "Lambda": 2 * numbers["mass"] * numbers["speed"] * om0
        / (numbers["friction"] * numbers["axle_load"]),
        "eta": numbers["half_track"] * om0 / numbers["speed"],
    }  # fmt: skip


def derived(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return Lambda and eta if the parameters are dimensional."""
    if "speed" not in parameters:
        return {}
    follows = normalised_numbers(parameters)
    return {name: follows[name] for name in ("Lambda", "eta")}


def ramp(p: Parameters) -> tuple[ca.SX, ca.SX]:
    """Return a force that grows by its amplitude in the time 1 / frequency, and a steady moment."""
    return p.force_mean + p.force_amplitude * p.frequency * ds.time, p.moment_mean


def harmonic(p: Parameters) -> tuple[ca.SX, ca.SX]:
    """Return a force and a moment that swing about their means."""
    phase = p.frequency * ds.time
    return (
        p.force_mean + p.force_amplitude * ca.cos(phase),
        p.moment_mean + p.moment_amplitude * ca.sin(phase),
    )


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A force and a moment by tables of measurements: arrays, series or columns of a file.

    Parameters
    ----------
    nodes
        (n,) of frequency * time, so that it is the time in s where the frequency is 1 rad/s.
    force, moment
        (n,) in units of the amplitudes; the means are added.
    kind
        As in `daesolve.table`: "cubic" is smooth, as the paper has these functions.
    """

    nodes: Any
    force: Any
    moment: Any
    kind: Literal["steps", "linear", "cubic", "periodic cubic"] = "cubic"

    def __call__(self, p: Parameters) -> tuple[ca.SX, ca.SX]:
        """Return them as expressions of time."""
        phase = p.frequency * ds.time
        force = ds.table("force_table", self.nodes, self.force, self.kind)
        moment = ds.table("moment_table", self.nodes, self.moment, self.kind)
        return (
            p.force_mean + p.force_amplitude * force(phase),
            p.moment_mean + p.moment_amplitude * moment(phase),
        )


gust = Tabulated(
    nodes=[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0],
    force=[0.0, 0.1, 0.55, 1.0, 0.7, 0.25, 0.05, 0.0, 0.0],
    moment=[0.0, 0.15, 0.4, 0.1, -0.3, -0.2, -0.05, 0.0, 0.0],
)
"""The loads of a side wind that comes and goes, at first ahead of the centre and then behind it."""
