"""Parts that happen: events with all kinds of guards, directions and actions."""

from __future__ import annotations

from fractions import Fraction

from .parts import Draw, Part

DIRECTIONS = ("ds.RISING", "ds.FALLING", "ds.EITHER")
RATIOS = (Fraction(1), Fraction(2), Fraction(3), Fraction(1, 2), Fraction(3, 2), Fraction(4, 3))


def _guard(draw: Draw) -> str:
    """Return a guard: of a state, also where it starts, or of time, also where the run ends."""
    x = draw.choice(draw.coordinates())
    ratio = draw.choice(RATIOS)
    turns = float(2 * ratio / draw.choice([1, 2])) / draw.length
    return draw.choice(
        [
            f"q.{x} - {draw.number(-0.8, 0.8)}",
            f"q.{x} - {draw.value(x)!r}",
            f"q.dot.{x}",
            f"q.dot.{x} - {draw.number(-0.5, 0.5)}",
            f"q.{x} * q.dot.{x}",
            f"ca.sin({turns!r} * 2 * np.pi * {draw.time()})",
            f"ca.cos({turns!r} * 2 * np.pi * {draw.time()})",
            f"{draw.time()} - {float(ratio) * draw.length / 4!r}",
            f"ca.sin(10 * np.pi * {draw.time()})",
            f"q.{x} - 0.1 * ca.sin(9.0 * {draw.time()})",
        ]
    )


def _pushes(part: Part) -> bool:
    return any("ds.Contact" in line for line in part.lines)


def _counters(draw: Draw) -> list[str]:
    return [name for part in draw.parts for name in part.discrete]


def counter(draw: Draw) -> Part:
    """Counts the passages of a guard, or of several."""
    event, count = draw.name("passes"), draw.name("count")
    guards = [_guard(draw) for _ in range(draw.choice([1, 1, 1, 2, 3]))]
    guard = guards[0] if len(guards) == 1 else f"[{', '.join(guards)}]"
    then = f'ds.Reset({{"{count}": d.{count} + 1.0}})'
    return Part(
        "counter",
        discrete={count: 0.0},
        events=[f'ds.Event("{event}", {guard}, {draw.choice(DIRECTIONS)}, {then})'],
        forward=True,
    )


def mark(draw: Draw) -> Part:
    """Records passages."""
    event = draw.name("marks")
    guards = [_guard(draw) for _ in range(draw.choice([1, 1, 2]))]
    guard = guards[0] if len(guards) == 1 else f"[{', '.join(guards)}]"
    return Part("mark", events=[f'ds.Event("{event}", {guard}, {draw.choice(DIRECTIONS)})'])


def stop(draw: Draw) -> Part:
    """Stops the run, perhaps after a reset."""
    event = draw.name("stops")
    direction = draw.choice(DIRECTIONS)
    return Part("stop", events=[f'ds.Event("{event}", {_guard(draw)}, {direction}, ds.Stop())'])


def kick(draw: Draw) -> Part:
    """Changes a velocity where a guard passes: a blow or a rebound."""
    event, x = draw.name("kicks"), draw.choice(draw.coordinates("m", "rad", "ds.ANGLE") or [""])
    if not x or any(part.velocities for part in draw.parts):
        return counter(draw)
    change = draw.choice([f"q.dot.{x} + 0.3", f"-0.8 * q.dot.{x}", f"q.dot.{x} / 2 - 0.1"])
    held = [goal for part in draw.parts for goal in part.goals if not _pushes(part)]
    imposed = f", impose=[{', '.join(map(repr, held))}]" if held else ""
    then = f'ds.Reset({{"{x}_dot": {change}}}{imposed})'
    direction = draw.choice(DIRECTIONS[:2])
    return Part(
        "kick", events=[f'ds.Event("{event}", {_guard(draw)}, {direction}, {then})'], forward=True
    )


def mode(draw: Draw) -> Part:
    """A force that a clock or a state switches."""
    event, on, x = draw.name("switches"), draw.name("on"), draw.choice(draw.coordinates())
    then = f'ds.Reset({{"{on}": 1.0 - d.{on}}})'
    return Part(
        "switched force",
        discrete={on: draw.choice([0.0, 1.0])},
        force=[(x, f"{draw.number(-3.0, 3.0)} * d.{on}")],
        events=[f'ds.Event("{event}", {_guard(draw)}, {draw.choice(DIRECTIONS)}, {then})'],
        forward=True,
    )


def chain(draw: Draw) -> Part:
    """Happens because a reset changed a discrete value."""
    counts = _counters(draw)
    if not counts:
        return mode(draw)
    event, seen, count = draw.name("follows"), draw.name("seen"), draw.choice(counts)
    then = f'ds.Reset({{"{seen}": d.{seen} + 1.0}})'
    guard = f"d.{count} - {draw.choice([0.5, 1.5])}"
    return Part(
        "caused by a reset",
        discrete={seen: 0.0},
        events=[f'ds.Event("{event}", {guard}, {draw.choice(DIRECTIONS)}, {then})'],
        forward=True,
    )


def wall(draw: Draw) -> Part:
    """Throws a coordinate back by an impulse."""
    x, event = draw.choice(draw.coordinates()), draw.name("strikes")
    side = draw.choice([1.0, -1.0])
    gap = f"{side} * (q.{x} - {draw.value(x) - side * draw.number(0.05, 0.6)!r})"
    imposed = f'ds.Holonomic("{event}_wall", {gap})'
    then = f"ds.Reset(impose=[{imposed}], restitution={draw.choice([0.5, 0.9, 1.0])})"
    return Part("wall", events=[f'ds.Event("{event}", {gap}, ds.FALLING, {then})'], forward=True)


HAPPENINGS = {counter: 3.0, mark: 2.0, stop: 0.4, kick: 1.5, mode: 1.5, chain: 1.0, wall: 1.0}
