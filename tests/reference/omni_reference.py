"""Motions of the vehicle with three omni-wheels of five massive rollers, from two sources.

`stored_motion` gives those of `CASES` in quadruple precision (``omni_reference.json``): the 21
velocities and 6 reactions of Lagrange's equations with multipliers as power series, nothing reduced
by hand (``omni_multipliers.c`` and ``omni_series.h``). Every case was integrated at two tolerances,
10^-26 and 10^-31 a step; ``difference`` is the largest between the two, over everything stored.
"straight" is stored to 60 s: its two wheels reach their borders together, and rounding that sets
them apart grows by exp(0.25 t), from 1e-33 on; its closed form lasts. To make the table again takes
a C compiler with quadruple precision and three minutes:

    python -m tests.reference.omni_reference

"spin" (turning on the spot) and "straight" (ahead along the axis of wheel 1) leave the vehicle one
freedom. With w its speed, psi >= 0 the angle that the wheels have turned, psi' = k w, and chi that
of the rollers in contact in the sense of psi, m(chi) w^2 / 2 is the energy of all but the free
rollers, so that

    sqrt(m) w = const while the rollers stay the same,
    m w+ = (m - c B b^2) w- + c b p_new at a switch: c wheels together, a roller's p = B b w.

    spin      w = omega  k = R / l            c = N  b = -sin chi
    straight  w = v      k = sqrt(3) / (2 l)  c = 2  b = -1 / (2 rho), rho = l cos chi - r

`switches` and `rolled` follow these quadratures in `DIGITS` digits.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

import mpmath

SOURCE: Final = Path(__file__).with_name("omni_multipliers.c")
TABLE: Final = Path(__file__).with_suffix(".json")
CASES: Final = {"spin": 1000, "straight": 60, "twist": 1000}
"""How far they are stored, s."""
TOLERANCES: Final = ("26", "31")
"""Digits of a step, coarse and fine."""
DIGITS: Final = 30
N: Final = 3
ROLLERS: Final = 5

mp: Any = mpmath.mp.clone()
mp.dps = DIGITS


@dataclass(frozen=True, slots=True)
class Vehicle:
    """Constants (kg, m), as multiple-precision numbers.

    Parameters
    ----------
    R, r, l
        Centre of the platform to the wheels, wheel's axis to those of its rollers, and radius of a
        wheel.
    M, I_S, J, B
        Mass; inertia about the vertical, of a wheel, and of a roller about its own axis.
    border
        Angle from the middle of a roller to its end.
    velocity_scale
        nu_3 / theta'.
    """

    R: Any
    r: Any
    l: Any  # noqa: E741 - its usual letter
    M: Any
    I_S: Any
    J: Any
    B: Any
    border: Any
    velocity_scale: Any

    @property
    def turning(self) -> Any:
        """Inertia about the vertical less that of the rollers' spins."""
        return self.I_S - self.B * N * ROLLERS / 2

    def arm(self, chi: Any) -> Any:
        """Return the radius of a roller where it touches the floor."""
        return self.l * mp.cos(chi) - self.r


@cache
def vehicle() -> Vehicle:
    """Return the vehicle with rollers cut off a wheel of one roller fewer."""
    platform, hub, roller = mp.mpf(1), mp.mpf("0.15"), mp.mpf("0.05")
    big, small, width = mp.mpf("0.15"), mp.mpf("0.05"), mp.mpf("0.01")
    radius = small / mp.cos(mp.pi / (ROLLERS - 1))
    thickness, length = (radius - small) / 2, 2 * radius * mp.sin(mp.pi / ROLLERS)
    own = roller * thickness**2 / 2
    across = roller * (3 * thickness**2 + length**2) / 12
    mass = platform + N * (hub + ROLLERS * roller)
    inertia = (
        platform * big**2 / 2
        + N * hub * (big**2 + (3 * small**2 + width**2) / 12)
        + N * ROLLERS * ((across + own) / 2 + roller * (big**2 + small**2 / 2))
    )
    wheel = hub * small**2 / 2 + ROLLERS * (across + roller * small**2)
    border, scale = mp.pi / ROLLERS, inertia / (mass * radius**2)
    return Vehicle(big, small, radius, mass, inertia, wheel, own, border, scale)


@dataclass(frozen=True, slots=True)
class Rolling:
    """A motion with one freedom, as in the text of the module.

    Parameters
    ----------
    advance
        k, rad/m or rad/rad.
    bare
        m without the rollers that change.
    together
        c, wheels that change rollers together.
    share
        b, a function of chi.
    speed
        w at the start, where chi = 0.
    waiting
        Momenta of the free rollers at the start, in the order in which they will come into contact.
    """

    advance: Any
    bare: Any
    together: int
    share: Callable[[Any], Any]
    speed: Any
    waiting: tuple[Any, ...]

    def inertia(self, chi: Any) -> Any:
        """Return m(chi)."""
        return self.bare + self.together * vehicle().B * self.share(chi) ** 2

    def passed(self, low: Any, high: Any) -> Any:
        """Return the integral of sqrt(m) over chi."""
        return mp.quad(lambda chi: mp.sqrt(self.inertia(chi)), [low, high])


@dataclass(frozen=True, slots=True)
class Piece:
    """Motion on the same rollers.

    Parameters
    ----------
    time, chi
        Of its beginning, s and rad.
    action
        sqrt(m) w.
    free
        Energy of the free rollers, J.
    """

    time: Any
    chi: Any
    action: Any
    free: Any


@cache
def spin() -> Rolling:
    """Return the motion from nu_3 = 1, rollers at rest in their wheels."""
    car = vehicle()
    speed = 1 / car.velocity_scale
    return Rolling(
        advance=car.R / car.l,
        bare=car.turning + N * car.J * (car.R / car.l) ** 2,
        together=N,
        share=lambda chi: -mp.sin(chi),
        speed=speed,
        waiting=tuple(car.B * speed * mp.sin(2 * k * car.border) for k in range(1, ROLLERS)),
    )


@cache
def straight() -> Rolling:
    """Return the motion from nu_1 = 1, rollers at rest in their wheels."""
    car = vehicle()
    return Rolling(
        advance=mp.sqrt(3) / (2 * car.l),
        bare=car.M + 3 * car.J / (2 * car.l**2) + car.B / car.arm(0) ** 2,
        together=2,
        share=lambda chi: -1 / (2 * car.arm(chi)),
        speed=car.R,
        waiting=(mp.zero,) * (ROLLERS - 1),
    )


def pieces(rolling: Rolling) -> Iterator[Piece]:
    """Follow the motion from switch to switch, without end."""
    car = vehicle()
    waiting = list(rolling.waiting)
    half, edge = rolling.passed(0, car.border), rolling.inertia(car.border)
    leaves, enters = rolling.share(car.border), rolling.share(-car.border)
    piece = Piece(
        mp.zero, mp.zero, mp.sqrt(rolling.inertia(0)) * rolling.speed, _free(rolling, waiting)
    )
    while True:
        yield piece
        duration = (half if piece.chi == 0 else 2 * half) / (rolling.advance * piece.action)
        speed = piece.action / mp.sqrt(edge)
        momentum = waiting.pop(0)
        waiting.append(car.B * leaves * speed)
        kept = (edge - rolling.together * car.B * enters**2) * speed
        speed = (kept + rolling.together * enters * momentum) / edge
        piece = Piece(
            piece.time + duration,
            -car.border,
            mp.sqrt(edge) * speed,
            _free(rolling, waiting),
        )


def _free(rolling: Rolling, momenta: list[Any]) -> Any:
    return rolling.together * sum(p * p for p in momenta) / (2 * vehicle().B)


def switches(rolling: Rolling, until: float) -> list[Any]:
    """Return the times, s, at which rollers change, up to one."""
    found = []
    for piece in pieces(rolling):
        if piece.time > until:
            return found[1:]
        found.append(piece.time)
    return []


@dataclass(frozen=True, slots=True)
class Rolled:
    """Where a motion with one freedom is.

    Parameters
    ----------
    way
        Integral of w.
    chi
        Angle of the rollers in contact in the sense of the motion, rad.
    speed, energy
        w; kinetic energy, J.
    """

    way: Any
    chi: Any
    speed: Any
    energy: Any


def rolled(rolling: Rolling, time: float) -> Rolled:
    """Return where the motion is at a time, s: Newton's method on the quadrature of time."""
    car = vehicle()
    count, piece = -1, Piece(mp.zero, mp.zero, mp.zero, mp.zero)
    for following in pieces(rolling):
        if following.time > time:
            break
        count, piece = count + 1, following
    wanted = rolling.advance * piece.action * (time - piece.time)
    chi = piece.chi
    for _ in range(8):  # each doubles the digits; sqrt(m) hardly changes
        missing = wanted - rolling.passed(piece.chi, chi)
        chi += missing / mp.sqrt(rolling.inertia(chi))
    speed = piece.action / mp.sqrt(rolling.inertia(chi))
    return Rolled(
        (2 * car.border * count + chi) / rolling.advance,
        chi,
        speed,
        piece.action**2 / 2 + piece.free,
    )


def remaining_energy() -> Any:
    """Return T / T_0 = v / v_0 (at one chi) that "straight" tends to.

    m(border) w + c b times the sum of p over the free rollers is the same before and after every
    switch; it starts with p = 0, and in the end all rollers have p = B b w.
    """
    car, motion = vehicle(), straight()
    left = motion.together * (ROLLERS - 1) * car.B * motion.share(car.border) ** 2
    return 1 / (1 + left / motion.inertia(car.border))


def body_states(case: str, time: float) -> dict[str, float]:
    """Return x, y, theta, chi_i, nu_1, nu_2, nu_3 and energy of "spin" or "straight" at a time."""
    car = vehicle()
    if case == "spin":
        at = rolled(spin(), time)
        turned = {"theta": at.way, "nu_3": car.velocity_scale * at.speed}
        turned |= {f"chi_{i + 1}": -at.chi for i in range(N)}
    else:
        at = rolled(straight(), time)
        turned = {"x": at.way, "nu_1": at.speed / car.R, "chi_2": at.chi, "chi_3": -at.chi}
    names = ("x", "y", "theta", "chi_1", "chi_2", "chi_3", "nu_1", "nu_2", "nu_3")
    return {name: float(turned.get(name, 0)) for name in names} | {"energy": float(at.energy)}


@dataclass(frozen=True, slots=True)
class Sample:
    """A state between switches.

    Parameters
    ----------
    time
        s.
    events
        Switches before it, one an instant.
    energy
        J.
    state
        x, y (m), theta, chi_i (rad), nu_1, nu_2, nu_3 (1/s), phi_dot_i_j (rad/s).
    contacts
        Number of the roller in contact of each wheel, from 1.
    """

    time: float
    events: int
    energy: float
    state: dict[str, float]
    contacts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredMotion:
    """A motion over as long as `CASES` says.

    Parameters
    ----------
    samples
        By the time in s.
    event_count, wheel_switches
        Instants of switching, and wheels that switched.
    max_nu_3, max_nu_3_time
        The first of the largest.
    first_event_times, first_energies
        Of the first five switches, s, and the energy after each, J.
    shortest_time_between_events, nearest_turning
        s; how near to its border a wheel turned back or ahead, rad (1: none did).
    energy_drift, largest_relative_gain
        Relative, between switches; of a switch.
    difference
        Between two tolerances, relative to the size of each number (at least 1).
    """

    samples: dict[int, Sample]
    event_count: int
    wheel_switches: int
    max_nu_3: float
    max_nu_3_time: float
    first_event_times: tuple[float, ...]
    first_energies: tuple[float, ...]
    shortest_time_between_events: float
    nearest_turning: float
    energy_drift: float
    largest_relative_gain: float
    difference: float


@cache
def stored_motion(case: str) -> StoredMotion:
    """Return the stored motion of one of `CASES`."""
    entry = json.loads(TABLE.read_text())[case]
    samples = {
        int(sample["time"]): Sample(**sample | {"contacts": tuple(sample["contacts"])})
        for sample in entry.pop("samples")
    }
    lists = ("first_event_times", "first_energies")
    return StoredMotion(samples, **entry | {name: tuple(entry[name]) for name in lists})


def speed(state: dict[str, float]) -> float:
    """Return the speed of the platform's centre in the unit of nu, 1/s (times R: m/s)."""
    return float(mp.hypot(state["nu_1"], state["nu_2"]))


def integrated(case: str, digits: str, until: int, program: Path) -> dict[str, Any]:
    """Run the compiled `SOURCE`; numbers with all their digits."""
    command = [str(program), case, digits, str(until)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(output, parse_float=Decimal)


def built(folder: Path) -> Path:
    """Compile `SOURCE` into a folder by the system's C compiler."""
    program = folder / SOURCE.stem
    command = ["cc", "-O3", "-march=native", "-o", str(program), str(SOURCE), "-lquadmath", "-lm"]
    subprocess.run(command, check=True)
    return program


def _numbers(tree: Any) -> Iterator[Decimal]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from _numbers(branch)
    else:
        yield Decimal(tree)


COST: Final = ("steps", "order")
QUALITY: Final = ("energy_drift", "largest_relative_gain", "nearest_turning")


def _table_entry(case: str, program: Path) -> dict[str, Any]:
    coarse, fine = (integrated(case, digits, CASES[case], program) for digits in TOLERANCES)
    compared = [
        list(_numbers({k: v for k, v in run.items() if k not in COST + QUALITY}))
        for run in (coarse, fine)
    ]
    difference = max(abs(a - b) / max(1, abs(b)) for a, b in zip(*compared, strict=True))
    return {k: v for k, v in fine.items() if k not in COST} | {"difference": difference}


def make_table() -> None:
    """Integrate all the cases and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        table = {case: _table_entry(case, program) for case in CASES}
    TABLE.write_text(json.dumps(table, indent=1, default=float) + "\n")
    for case, entry in table.items():
        print(f"{case}: {float(entry['difference']):.1e}", file=sys.stderr)


if __name__ == "__main__":
    make_table()
