"""Parts that hold: constraints of all kinds, and contacts that only push."""

from __future__ import annotations

from .parts import Draw, Part


def _freed(*names: str) -> list[str]:
    return [state for name in names for state in (name, f"{name}_dot")]


def coupling(draw: Draw) -> Part | None:
    """Two coordinates in a fixed ratio, straight or bent."""
    names = draw.coordinates("m")
    if len(names) < 2:
        return None
    first, second = draw.rng.choice(names, 2, replace=False).tolist()
    goal, ratio = draw.name("couples"), draw.number(0.5, 2.0)
    bend = draw.choice(["", "", f" - 0.3 * q.{first} ** 2"])
    return Part(
        "coupling",
        lines=[f'{goal} = ds.Holonomic("{goal}", q.{second} - {ratio} * q.{first}{bend})'],
        goals=[goal],
        frees=_freed(first, second),
    )


def distance(draw: Draw) -> Part | None:
    """A rod between two points, or to the ground, of a length that may change with time."""
    points = draw.points()
    if not points:
        return None
    x, y = draw.choice(points)
    others = [point for point in points if point != (x, y)]
    goal = draw.name("link")
    to = draw.choice(others) if others else None
    ends = (f"q.{to[0]}", f"q.{to[1]}") if to else (str(draw.number(-1, 1)), "3.0")
    length = f"{draw.number(1.0, 2.0)}"
    if draw.chance(0.4):
        length = f"({length} + 0.1 * ca.sin({draw.number(1.0, 8.0)} * {draw.time()}))"
    residual = f"(q.{x} - {ends[0]}) ** 2 + (q.{y} - {ends[1]}) ** 2 - {length} ** 2"
    return Part(
        "rod",
        lines=[f'{goal} = ds.Holonomic("{goal}", {residual})'],
        goals=[goal],
        frees=_freed(x, y, *(to or ())),
    )


def driven(draw: Draw) -> Part | None:
    """A coordinate that follows a function of time, in its place or in its speed."""
    names = draw.coordinates("m")
    if not names:
        return None
    x, goal = draw.choice(names), draw.name("driven")
    pace = draw.number(1.0, 8.0)
    if draw.chance(0.5):
        line = f'ds.Holonomic("{goal}", q.{x} - 0.5 * ca.sin({pace} * {draw.time()}))'
    else:
        line = f'ds.Nonholonomic("{goal}", q.dot.{x} - 0.5 * ca.cos({pace} * {draw.time()}))'
    return Part("driven", lines=[f"{goal} = {line}"], goals=[goal], frees=_freed(x))


def bent_rolling(draw: Draw) -> Part | None:
    """A non-holonomic relation of two velocities, whose ratio depends on a place."""
    names = draw.coordinates("m", "rad", "ds.ANGLE")
    if len(names) < 2:
        return None
    first, second = draw.rng.choice(names, 2, replace=False).tolist()
    third, goal = draw.choice(names), draw.name("bends")
    ratio = draw.choice([f"(1.0 + 0.5 * q.{third})", f"ca.cos(q.{third})", "0.7"])
    residual = f"q.dot.{second} - {ratio} * q.dot.{first}"
    return Part(
        "non-holonomic relation",
        lines=[f'{goal} = ds.Nonholonomic("{goal}", {residual})'],
        goals=[goal],
        frees=[f"{first}_dot", f"{second}_dot"],
    )


def repeated(draw: Draw) -> Part | None:
    """A constraint once more, in another form."""
    goals = [
        goal
        for part in draw.parts
        for goal in part.goals
        for line in part.lines
        if line.startswith(f"{goal} = ds.Holonomic") and "ideal" not in line
    ]
    if not goals:
        return None
    goal = draw.choice(goals)
    name = draw.name("again")
    again = draw.choice(["2.0 * {}", "{}", "-0.5 * {}"]).format(f"{goal}.residual")
    return Part(
        "redundant constraint",
        lines=[f'{name} = ds.Holonomic("{name}", {again})'],
        goals=[name],
        options={"redundant": draw.choice(['"drop"', '"minimum-norm"'])},
    )


CONSTRAINTS = {coupling: 1.0, distance: 1.0, driven: 0.7, bent_rolling: 0.7, repeated: 0.7}


def support(draw: Draw) -> Part | None:
    """A floor or a wall at some distance, smooth or rough, at rest or moving."""
    names = draw.coordinates("m", "rad", "ds.ANGLE")
    if not names:
        return None
    x, contact = draw.choice(names), draw.name("touches")
    side = draw.choice([1.0, 1.0, -1.0])
    away = draw.choice([0.0, draw.number(0.05, 0.8), draw.number(0.05, 0.8)])
    place = draw.value(x) - side * away
    gap = f"{side} * (q.{x} - {place!r})"
    if away and draw.chance(0.25):
        gap += f" - 0.02 * ca.sin({draw.number(2.0, 12.0)} * {draw.time()})"
    more = []
    if draw.chance(0.7):
        more.append(f"restitution={draw.choice([0.0, 0.3, 0.5, 0.8, 1.0])}")
    others = [name for name in draw.coordinates("m") if name != x]
    if others and draw.chance(0.5):
        belt = draw.choice(["", "", " - 0.3"])
        more += [f"slip=q.dot.{draw.choice(others)}{belt}", f"friction={draw.number(0.1, 0.7)}"]
    if away:
        more.append("closed=False")
    return Part(
        "contact",
        lines=[f"{contact} = ds.Contact({', '.join([repr(contact), gap, *more])})"],
        goals=[contact],
        frees=[] if away else _freed(x),
        forward=True,
    )


def string(draw: Draw) -> Part | None:
    """A string to the ground, which goes slack."""
    points = draw.points()
    if not points:
        return None
    x, y = draw.choice(points)
    contact = draw.name("string")
    reach = float((draw.value(x) ** 2 + (draw.value(y) - 1.0) ** 2) ** 0.5)
    length = f"{reach + draw.number(0.05, 0.5):.3g}"
    gap = f"{length} - ca.sqrt(q.{x} ** 2 + (q.{y} - 1.0) ** 2)"
    more = f"restitution={draw.choice([0.0, 0.5])}, closed=False"
    return Part(
        "string",
        lines=[f'{contact} = ds.Contact("{contact}", {gap}, {more})'],
        goals=[contact],
        forward=True,
    )


def ground(draw: Draw) -> Part | None:
    """A level floor under a point in space, on which it slides in two directions."""
    names = draw.coordinates("m")
    heights = [name for name in names if name.startswith("z")]
    if not heights:
        return None
    z, contact = draw.choice(heights), draw.name("ground")
    x, y = z.replace("z", "x"), z.replace("z", "y")
    away = draw.choice([0.0, draw.number(0.05, 0.8)])
    gap = f"q.{z} - {draw.value(z) - away!r}"
    if away and draw.chance(0.25):
        gap += f" - 0.02 * ca.sin({draw.number(2.0, 12.0)} * {draw.time()})"
    belt = draw.choice(["", "", " - 0.3"])
    more = [f"slip=[q.dot.{x}{belt}, q.dot.{y}]", f"friction={draw.number(0.1, 0.7)}"]
    if draw.chance(0.5):
        more.append(f"restitution={draw.choice([0.0, 0.5, 0.8])}")
    if away:
        more.append("closed=False")
    return Part(
        "contact in space",
        lines=[f"{contact} = ds.Contact({', '.join([repr(contact), gap, *more])})"],
        goals=[contact],
        frees=[] if away else _freed(z),
        forward=True,
    )


CONTACTS = {support: 3.0, ground: 2.0, string: 1.0}
