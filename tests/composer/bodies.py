"""Parts that move: points, pendulums, wheels, sleighs and rigid bodies."""

from __future__ import annotations

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
    unit = draw.choice(["ds.ANGLE", '"rad"'])
    return Part(
        "pendulum",
        {phi: unit},
        kinetic=[f"{mass * length**2:.4g} * q.dot.{phi} ** 2 / 2"],
        potential=[f"-{mass * 9.81 * length:.4g} * ca.cos(q.{phi})"],
        initial={phi: draw.number(-2.0, 2.0), f"{phi}_dot": draw.number(-3.0, 3.0)},
    )


BODIES = {slider: 2.0, particle: 2.0, rod_pendulum: 2.0, pendulum: 2.0}
