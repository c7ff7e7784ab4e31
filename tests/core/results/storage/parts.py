"""Parts of a run with known samples, events and checkpoints, and what is compared with them."""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np

ROWS = 40


def samples(number, rows=ROWS):
    """The samples of a part: they go on where those of the part before ended."""
    t = 0.1 * (np.arange(rows) + (number - 1) * ROWS)
    return {"t": t, "x": np.sin(t), "reaction_rod.1": np.cos(t)}


def events(number, count=3):
    if not count:
        return None
    t = [0.1 * (number - 1) * ROWS + 0.01 * k for k in range(count)]
    fired = [[0], [1, 2], []] * count
    after = [None if k % 2 else math.sin(k) for k in range(count)]
    return {"t": t, "event": ["bounce"] * count, "fired": fired[:count], "after_x": after}


def checkpoint(number):
    return {"state": np.array([number / 3.0, -0.0, math.nan]), "words": ["nan", "\\inf"]}


def write(writer, number):
    writer.write_part(number, samples(number), events(number), checkpoint(number))


def write_for_ever(writer):
    for number in itertools.count(1):
        writer.write_partial(number, samples(number, 3), events(number, 1))
        write(writer, number)
        if number == 2:
            print("under way", flush=True)


def contents(directory):
    """What the files of a run hold, by name."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def expected(name, *numbers):
    return np.concatenate([samples(number)[name] for number in numbers])


def same_bits(first, second):
    return np.array_equal(
        np.asarray(first, dtype=float).view(np.uint64),
        np.asarray(second, dtype=float).view(np.uint64),
    )


def identical(first, second):
    """Equal in type and in every bit; whatever is not a number is the same."""
    if type(first) is not type(second):
        return False
    if isinstance(first, float):
        both = math.isnan(first) and math.isnan(second)
        return both or struct.pack("d", first) == struct.pack("d", second)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(identical, first, second))
    if isinstance(first, dict):
        return list(first) == list(second) and all(identical(first[k], second[k]) for k in first)
    return first == second


def shorten(path):
    path.write_bytes(path.read_bytes()[:-10])
