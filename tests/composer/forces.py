"""Parts that push: springs, dampers, drives, tables, inputs and dry friction."""

from __future__ import annotations

import numpy as np

from .parts import Draw, Part

LAWS = {
    "linear": "-{c} * q.dot.{x}",
    "quadratic": "-{c} * q.dot.{x} * ca.fabs(q.dot.{x})",
    "saturated": "-ca.fmax(-{c}, ca.fmin({c}, 4.0 * q.dot.{x}))",
    "smooth friction": "-{c} * ca.tanh(5.0 * q.dot.{x})",
    "one-sided": "-{c} * ca.fmax(q.dot.{x}, 0.0)",
}
"""Of dampers."""
PUSHES = {
    "sine": "{a} * ca.sin({w} * {t})",
    "growing against friction": "ca.fmax({t} - 0.5 * ca.fabs(q.dot.{x}), -3.0)",
    "switched on": "ca.if_else({t} > {late}, {a}, 0.0)",
    "square": "{a} * ca.sign(ca.sin({w} * {t}))",
    "pulse": "{a} * ca.exp(-(({t} - {late}) / 0.05) ** 2)",
    "ramp": "ca.fmax({t} - {late}, 0.0) * {a}",
    "constant": "{a}",
}
"""Forces over time."""
KINDS = ("steps", "linear", "cubic", "periodic cubic")


def spring(draw: Draw) -> Part:
    """A spring to the ground or to another coordinate, straight, stiffening or one-sided."""
    x = draw.choice(draw.coordinates())
    others = [name for name in draw.coordinates("m") if name != x]
    rest = f"q.{draw.choice(others)}" if others and draw.chance(0.4) else f"{draw.number(-1, 1)}"
    stretch, stiffness = f"(q.{x} - {rest})", draw.number(1.0, 60.0)
    form = draw.choice(
        [
            "{k} * {s} ** 2 / 2",
            "{k} * {s} ** 2 / 2",
            "{k} * {s} ** 4 / 4",
            "{k} * ca.fmax({s}, 0.0) ** 2 / 2",
            "{k} * ca.fmax(ca.fabs({s}) - 0.2, 0.0) ** 2 / 2",
        ]
    )
    return Part("spring", potential=[form.format(k=stiffness, s=stretch)])


def damper(draw: Draw) -> Part:
    """A force against a velocity."""
    law, x = draw.choice([*LAWS]), draw.choice(draw.coordinates())
    return Part(f"{law} damper", force=[(x, LAWS[law].format(c=draw.number(0.1, 3.0), x=x))])


def push(draw: Draw) -> Part:
    """A force over time."""
    law, x = draw.choice([*PUSHES]), draw.choice(draw.coordinates())
    late = draw.number(0.1, 0.9 * draw.length)
    amount, pace = draw.number(-5.0, 5.0), draw.number(1.0, 12.0)
    text = PUSHES[law].format(a=amount, w=pace, t=draw.time(), late=late, x=x)
    return Part(f"push, {law}", force=[(x, text)])


def _table(draw: Draw, name: str, nodes: np.ndarray) -> str:
    kind = draw.choice(KINDS)
    values = np.round(draw.rng.uniform(-4.0, 4.0, len(nodes)), 2)
    if kind == "periodic cubic":
        values[-1] = values[0]
    outside = draw.choice(["hold", "hold", "refuse"])
    listed = f"{np.round(nodes, 9).tolist()}, {values.tolist()}"
    return f'ds.table("{name}", {listed}, "{kind}", outside="{outside}")'


def _times(draw: Draw) -> np.ndarray:
    """Return nodes over the time of the run, which may end before it, with it or after it."""
    count = int(draw.rng.integers(4, 8))
    span = draw.length * draw.choice([0.6, 1.0, 1.3])
    nodes = np.linspace(0.0, span, count)
    nodes[1:-1] += draw.rng.uniform(-0.1, 0.1, count - 2) * span / count
    return draw.begin + nodes


def table_of_time(draw: Draw) -> Part:
    """A force by a table over time."""
    name, x = draw.name("table"), draw.choice(draw.coordinates())
    line = f"{name} = {_table(draw, name, _times(draw))}"
    return Part("table of time", lines=[line], force=[(x, f"{name}(ds.time)")], forward=True)


def table_of_place(draw: Draw) -> Part:
    """A force by a table over a coordinate or a velocity."""
    name, x = draw.name("table"), draw.choice(draw.coordinates())
    nodes = np.sort(draw.rng.uniform(-2.0, 2.0, int(draw.rng.integers(4, 7))))
    line = f"{name} = {_table(draw, name, nodes)}"
    argument = draw.choice([f"q.{x}", f"q.dot.{x}"])
    return Part("table of a state", lines=[line], force=[(x, f"{name}({argument})")], forward=True)


def entering(draw: Draw) -> Part:
    """An input: a number, an expression, a table, or a sampled law."""
    name, x = draw.name("push"), draw.choice(draw.coordinates())
    ratio = draw.choice([0.1, 0.2, 0.25, 1 / 3])
    delay = draw.choice([0.0, 0.0, 0.3, 1.0]) * ratio
    law = f"-2.0 * q.{x} - q.dot.{x}"
    summed = f"lambda seen: (-seen.sum, {{'sum': seen.sum + seen.{x}}})"
    sampled = [f"law={law}", f"law={summed}, states={{'sum': 0.0}}", f"law={law}, limits=(-1, 1)"]
    drives = [
        f"{draw.number(-3.0, 3.0)}",
        f"ca.sin(5.0 * {draw.time()})",
        f"-0.5 * q.dot.{x}",
        _table(draw, f"{name}_table", _times(draw)),
        *(f'ds.sampled("{name}_law", {ratio!r}, {each}, delay={delay!r})' for each in sampled),
    ]
    drive = draw.choice(drives)
    return Part(
        "input",
        inputs={name: "N"},
        force=[(x, f"u.{name}")],
        drives={name: drive},
        forward="ds." in drive.replace("ds.time", ""),
    )


def friction(draw: Draw) -> Part:
    """Coulomb's law of a coordinate with a given load, regularised or not."""
    name, x = draw.name("rubs"), draw.choice(draw.coordinates())
    coefficient = draw.number(0.1, 0.8)
    belt = draw.choice(["", "", f" - {draw.number(-0.5, 0.5)}"])
    law = draw.choice(
        [
            f"Coulomb({coefficient})",
            f"Coulomb({coefficient}, {coefficient * 1.3:.3g})",
            f"RegularisedCoulomb({coefficient}, 0.05)",
            f"RegularisedCoulomb({coefficient}, 0.05, smooth=True)",
        ]
    )
    load = draw.number(1.0, 10.0)
    line = f'{name} = ds.multibody.{law}.act("{name}", q.dot.{x}{belt}, ca.SX({load}))'
    force = [(x, f"{name}.force")]
    return Part("dry friction", lines=[line], force=force, laws=[name], forward=True)


FORCES = {
    spring: 3.0,
    damper: 2.0,
    push: 2.5,
    table_of_time: 1.0,
    table_of_place: 1.0,
    entering: 1.5,
    friction: 1.0,
}
