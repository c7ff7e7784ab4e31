"""Parts that happen: events with all directions, guards and actions."""

from __future__ import annotations

from .parts import Draw, Part

DIRECTIONS = ("ds.RISING", "ds.FALLING", "ds.EITHER")


def counter(draw: Draw) -> Part:
    """Counts the passages of a coordinate."""
    event, count = draw.name("passes"), draw.name("count")
    x = draw.choice(draw.coordinates())
    guard = draw.choice([f"q.{x} - {draw.number(-0.5, 0.5)}", f"q.dot.{x}", f"q.{x}"])
    then = f'ds.Reset({{"{count}": d.{count} + 1.0}})'
    return Part(
        "counter",
        discrete={count: 0.0},
        events=[f'ds.Event("{event}", {guard}, {draw.choice(DIRECTIONS)}, {then})'],
        forward=True,
    )


HAPPENINGS = {counter: 1.0}
