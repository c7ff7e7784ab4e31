"""Parts that move: points, pendulums, wheels, sleighs and rigid bodies."""

from __future__ import annotations

import numpy as np

from .parts import Draw, Part


def slider(draw: Draw) -> Part:
    """A body on a line."""
    x = draw.name("x")
    mass = draw.number(0.5, 3.0)
    return Part(
        "slider",
        {x: "m"},
        kinetic=[f"{mass} * q.dot.{x} ** 2 / 2"],
        initial={x: draw.number(-1.0, 1.0), f"{x}_dot": draw.number(-1.0, 1.0)},
    )


def particle(draw: Draw) -> Part:
    """A point in a vertical plane."""
    x, y = draw.name("x"), draw.name("y")
    mass = draw.number(0.5, 3.0)
    return Part(
        "particle",
        {x: "m", y: "m"},
        kinetic=[f"{mass} * (q.dot.{x} ** 2 + q.dot.{y} ** 2) / 2"],
        potential=[f"{mass} * 9.81 * q.{y}"],
        initial={
            x: draw.number(-1.0, 1.0),
            y: draw.number(0.5, 1.5),
            f"{x}_dot": draw.number(-2.0, 2.0),
            f"{y}_dot": draw.number(-1.0, 1.0),
        },
    )


def point_in_space(draw: Draw) -> Part:
    """A point in space, which may fall."""
    names = [draw.name(letter) for letter in "xyz"]
    mass, weight = draw.number(0.5, 3.0), draw.choice([9.81, 9.81, 0.0])
    square = " + ".join(f"q.dot.{name} ** 2" for name in names)
    places = {name: draw.number(-1.0, 1.0) for name in names}
    return Part(
        "point in space",
        dict.fromkeys(names, "m"),
        kinetic=[f"{mass} * ({square}) / 2"],
        potential=[f"{mass} * {weight} * q.{names[2]}"],
        initial=places | {f"{name}_dot": draw.number(-2.0, 2.0) for name in names},
    )


def rod_pendulum(draw: Draw) -> Part:
    """A pendulum in Cartesian coordinates."""
    x, y, rod = draw.name("x"), draw.name("y"), draw.name("rod")
    mass, length = draw.number(0.5, 3.0), draw.number(0.5, 1.5)
    first = draw.number(-0.9, 0.9) * length
    down = -((length**2 - first**2) ** 0.5)
    return Part(
        "pendulum in Cartesian coordinates",
        {x: "m", y: "m"},
        lines=[f'{rod} = ds.Holonomic("{rod}", q.{x} ** 2 + q.{y} ** 2 - {length**2!r})'],
        kinetic=[f"{mass} * (q.dot.{x} ** 2 + q.dot.{y} ** 2) / 2"],
        potential=[f"{mass} * 9.81 * q.{y}"],
        goals=[rod],
        initial={x: first, f"{x}_dot": draw.number(-1.0, 1.0)},
        guess={y: down},
    )


def pendulum(draw: Draw) -> Part:
    """A pendulum by its angle."""
    phi = draw.name("phi")
    mass, length = draw.number(0.5, 3.0), draw.number(0.5, 1.5)
    unit = draw.choice(["ds.ANGLE", "rad"])
    return Part(
        "pendulum",
        {phi: unit},
        kinetic=[f"{mass * length**2:.4g} * q.dot.{phi} ** 2 / 2"],
        potential=[f"-{mass * 9.81 * length:.4g} * ca.cos(q.{phi})"],
        initial={phi: draw.number(-2.0, 2.0), f"{phi}_dot": draw.number(-3.0, 3.0)},
    )


def cart_pendulum(draw: Draw) -> Part:
    """A cart with a pendulum: a mass matrix that depends on the angle."""
    x, phi = draw.name("x"), draw.name("phi")
    cart, bob, length = draw.number(0.5, 3.0), draw.number(0.3, 2.0), draw.number(0.4, 1.2)
    speed = f"q.dot.{x} + {length} * ca.cos(q.{phi}) * q.dot.{phi}"
    rise = f"{length} * ca.sin(q.{phi}) * q.dot.{phi}"
    return Part(
        "cart with a pendulum",
        {x: "m", phi: draw.choice(["ds.ANGLE", "rad"])},
        kinetic=[f"{cart} * q.dot.{x} ** 2 / 2", f"{bob} * (({speed}) ** 2 + ({rise}) ** 2) / 2"],
        potential=[f"-{bob * 9.81 * length:.4g} * ca.cos(q.{phi})"],
        initial={x: 0.0, phi: draw.number(-2.0, 2.0), f"{x}_dot": draw.number(-1.0, 1.0)},
    )


def bent_slider(draw: Draw) -> Part:
    """A body on a line whose inertia grows with its place."""
    x, growth = draw.name("x"), draw.number(0.1, 1.0)
    return Part(
        "slider with an inertia that grows",
        {x: "m"},
        kinetic=[f"(1.0 + {growth} * q.{x} ** 2) * q.dot.{x} ** 2 / 2"],
        initial={x: draw.number(-1.0, 1.0), f"{x}_dot": draw.number(-1.0, 1.0)},
    )


def sleigh(draw: Draw) -> Part:
    """Chaplygin's sleigh: a knife edge, with the centre of mass ahead of it."""
    x, y, turn, knife = (draw.name(stem) for stem in ("x", "y", "turn", "knife"))
    mass, inertia, ahead = draw.number(0.5, 2.0), draw.number(0.1, 0.5), draw.number(0.0, 0.3)
    across = f"-q.dot.{x} * ca.sin(q.{turn}) + q.dot.{y} * ca.cos(q.{turn})"
    return Part(
        "sleigh",
        {x: "m", y: "m", turn: "ds.ANGLE"},
        lines=[f'{knife} = ds.Nonholonomic("{knife}", {across} - {ahead} * q.dot.{turn})'],
        kinetic=[
            f"{mass} * (q.dot.{x} ** 2 + q.dot.{y} ** 2) / 2",
            f"{inertia} * q.dot.{turn} ** 2 / 2",
        ],
        goals=[knife],
        initial={x: 0.0, y: 0.0, turn: draw.number(-1.0, 1.0), f"{turn}_dot": draw.number(-2, 2)},
        guess={f"{x}_dot": draw.number(-1.0, 1.0)},
    )


def skate(draw: Draw) -> Part:
    """A knife edge in quasi-velocities: it moves along itself and turns."""
    x, y, turn, along, spin = (draw.name(stem) for stem in ("x", "y", "turn", "along", "spin"))
    mass, inertia = draw.number(0.5, 2.0), draw.number(0.1, 0.5)
    return Part(
        "skate in quasi-velocities",
        {x: "m", y: "m", turn: "ds.ANGLE"},
        velocities={along: "m/s", spin: "rad/s"},
        rates={
            x: f"v.{along} * ca.cos(q.{turn})",
            y: f"v.{along} * ca.sin(q.{turn})",
            turn: f"v.{spin}",
        },
        kinetic=[f"{mass} * v.{along} ** 2 / 2", f"{inertia} * v.{spin} ** 2 / 2"],
        potential=[f"{mass * draw.number(0.0, 3.0):.3g} * q.{x}"],
        initial={
            x: 0.0,
            y: 0.0,
            turn: draw.number(-1.0, 1.0),
            along: draw.number(-1.0, 1.0),
            spin: draw.number(-2.0, 2.0),
        },
    )


def rolling_disc(draw: Draw) -> Part:
    """A disc that rolls along a line."""
    x, turn, rolls = (draw.name(stem) for stem in ("x", "turn", "rolls"))
    mass, radius = draw.number(0.5, 3.0), draw.number(0.2, 1.0)
    return Part(
        "rolling disc",
        {x: "m", turn: draw.choice(["ds.ANGLE", "rad"])},
        lines=[f'{rolls} = ds.Nonholonomic("{rolls}", q.dot.{x} - {radius} * q.dot.{turn})'],
        kinetic=[
            f"{mass} * q.dot.{x} ** 2 / 2",
            f"{mass * radius**2 / 2:.4g} * q.dot.{turn} ** 2 / 2",
        ],
        potential=[f"{mass * draw.number(0.0, 4.0):.3g} * q.{x}"],
        goals=[rolls],
        initial={x: draw.number(-1.0, 1.0), turn: 0.0, f"{x}_dot": draw.number(-2.0, 2.0)},
    )


def _quaternion(draw: Draw) -> tuple[list[str], list[str], dict[str, float]]:
    """Return the names of four parameters, body rates from their rates, and a start."""
    names = [draw.name(f"e{letter}") for letter in "abcd"]
    a, b, c, d = names
    rates = [
        f"2 * (q.{a} * q.dot.{b} - q.{b} * q.dot.{a} + q.{d} * q.dot.{c} - q.{c} * q.dot.{d})",
        f"2 * (q.{a} * q.dot.{c} - q.{c} * q.dot.{a} + q.{b} * q.dot.{d} - q.{d} * q.dot.{b})",
        f"2 * (q.{a} * q.dot.{d} - q.{d} * q.dot.{a} + q.{c} * q.dot.{b} - q.{b} * q.dot.{c})",
    ]
    start = draw.rng.normal(size=4)
    start /= np.linalg.norm(start)
    return names, rates, dict(zip(names, start.tolist(), strict=True))


def rigid_body(draw: Draw) -> Part:
    """A heavy top in Euler parameters, whose length is a constraint."""
    names, rates, start = _quaternion(draw)
    unit, (a, b, c, d) = draw.name("unit"), names
    square = " + ".join(f"q.{name} ** 2" for name in names)
    along = " + ".join(f"q.{name} * q.dot.{name}" for name in names)
    inertias = [draw.number(0.5, 2.0) for _ in rates]
    height = f"(q.{a} ** 2 - q.{b} ** 2 - q.{c} ** 2 + q.{d} ** 2)"
    speeds = {f"{name}_dot": draw.number(-1.0, 1.0) for name in names}
    return Part(
        "rigid body in Euler parameters",
        dict.fromkeys(names, ""),
        lines=[f'{unit} = ds.Holonomic("{unit}", {square} - 1.0)'],
        kinetic=[
            *(f"{j} * ({rate}) ** 2 / 2" for j, rate in zip(inertias, rates, strict=True)),
            f"2.0 * ({along}) ** 2",
        ],
        potential=[f"{draw.number(0.0, 5.0)} * {height}"],
        goals=[unit],
        guess=start | speeds,
    )


def turning_body(draw: Draw) -> Part:
    """A heavy top in Euler parameters and body rates."""
    names, _, start = _quaternion(draw)
    a, b, c, d = (f"q.{name}" for name in names)
    spins = [draw.name(f"w{letter}") for letter in "abc"]
    p, q, r = (f"v.{name}" for name in spins)
    rates = [
        f"(-{b} * {p} - {c} * {q} - {d} * {r}) / 2",
        f"({a} * {p} - {d} * {q} + {c} * {r}) / 2",
        f"({d} * {p} + {a} * {q} - {b} * {r}) / 2",
        f"(-{c} * {p} + {b} * {q} + {a} * {r}) / 2",
    ]
    terms = [f"{draw.number(0.5, 2.0)} * {spin} ** 2 / 2" for spin in (p, q, r)]
    height = f"({a} ** 2 - {b} ** 2 - {c} ** 2 + {d} ** 2)"
    return Part(
        "rigid body in body rates",
        dict.fromkeys(names, ""),
        velocities=dict.fromkeys(spins, "rad/s"),
        rates=dict(zip(names, rates, strict=True)),
        kinetic=terms,
        potential=[f"{draw.number(0.0, 5.0)} * {height}"],
        initial=start | {name: draw.number(-3.0, 3.0) for name in spins},
    )


def guided_slider(draw: Draw) -> Part:
    """A slider between two sides with dry friction, of which one is loaded."""
    x, y, side, pair = (draw.name(stem) for stem in ("x", "y", "side", "pair"))
    friction, push = draw.number(0.1, 0.6), draw.number(-4.0, 4.0)
    speed = f"(q.dot.{x}, q.dot.{y})"
    support = f"ds.friction.Support(velocity={speed}, normal=(0.0, %s), friction={friction})"
    both = ", ".join(support % sign for sign in ("-1.0", "1.0"))
    return Part(
        "slider in a guide with friction",
        {x: "m", y: "m"},
        lines=[f'{side} = ds.Holonomic("{side}", q.{y}, ideal=False)'],
        kinetic=[f"(q.dot.{x} ** 2 + q.dot.{y} ** 2) / 2"],
        potential=[f"9.81 * q.{y}"],
        force=[(x, f"{push} * ca.cos({draw.number(1.0, 9.0)} * {draw.time()})")],
        goals=[side],
        pairs=[f'ds.friction.VariantPair("{pair}", [{both}])'],
        initial={x: 0.0, f"{x}_dot": draw.number(0.2, 2.0)},
        forward=True,
    )


BODIES = {
    slider: 3.0,
    particle: 3.0,
    point_in_space: 1.5,
    rod_pendulum: 3.0,
    pendulum: 2.0,
    cart_pendulum: 1.0,
    bent_slider: 1.0,
    sleigh: 1.0,
    skate: 1.0,
    rolling_disc: 1.0,
    rigid_body: 0.7,
    turning_body: 0.7,
    guided_slider: 0.2,
}
