"""What is changed in right runs, one thing at a time."""

from dataclasses import replace

import numpy as np


def scaled(name, factor):
    def damage(certificate):
        columns = {**certificate.columns, name: certificate.columns[name] * factor}
        return replace(certificate, columns=columns)

    return damage


def shifted(name, by, node=4):
    """Move one value at one node."""

    def damage(certificate):
        column = certificate.columns[name].copy()
        column[len(column) // 2, node] += by
        return replace(certificate, columns={**certificate.columns, name: column})

    return damage


def in_a_step(name, by):
    def damage(certificate):
        column = certificate.columns[name].copy()
        column[len(column) // 2] += by
        return replace(certificate, columns={**certificate.columns, name: column})

    return damage


def moved(name, by):
    """Let a column be another one from the start on."""

    def damage(certificate):
        columns = {**certificate.columns, name: certificate.columns[name] + by}
        return replace(certificate, columns=columns)

    return damage


def stepped(name, by):
    """Let a state jump where nothing happens, from one step on."""

    def damage(certificate):
        column = certificate.columns[name].copy()
        column[len(column) // 2 :] += by
        return replace(certificate, columns={**certificate.columns, name: column})

    return damage


def exchanged(one, other):
    def damage(certificate):
        columns = certificate.columns
        return replace(certificate, columns={**columns, one: columns[other], other: columns[one]})

    return damage


def without_event(certificate):
    middle = len(certificate.events) // 2
    events = [*certificate.events[:middle], *certificate.events[middle + 1 :]]
    return replace(certificate, events=events)


def without_events(certificate):
    return replace(certificate, events=[])


def twice(certificate):
    """Repeat an event where nothing passes."""
    first, *others = certificate.events
    again = replace(first, time=first.time + 0.1)
    return replace(certificate, events=[first, again, *others])


def of_event(place, **changes):
    """Change what is recorded of an event."""

    def damage(certificate):
        events = [*certificate.events]
        events[place] = replace(events[place], **changes)
        return replace(certificate, events=events)

    return damage


def later(by):
    def damage(certificate):
        first, *others = certificate.events
        return replace(certificate, events=[replace(first, time=first.time + by), *others])

    return damage


def after(name, by):
    """Let the first reset do something else than it says."""

    def damage(certificate):
        first, *others = certificate.events
        changed = {**first.after, name: first.after[name] + by}
        return replace(certificate, events=[replace(first, after=changed), *others])

    return damage


def impulse(name, factor):
    def damage(certificate):
        first, *others = certificate.events
        impulses = {**first.impact.impulses, name: first.impact.impulses[name] * factor}
        hit = replace(first, impact=replace(first.impact, impulses=impulses))
        return replace(certificate, events=[hit, *others])

    return damage


def kinetic(factor):
    """Let the first impact report another kinetic energy than that of its states."""

    def damage(certificate):
        first, *others = certificate.events
        impact = replace(first.impact, kinetic_after=first.impact.kinetic_after * factor)
        return replace(certificate, events=[replace(first, impact=impact), *others])

    return damage


def thrown(name, factor):
    """Let the first impact throw a body faster, by impulses that balance its momenta."""

    def damage(certificate):
        first, *others = certificate.events
        before, gap, impact = first.detail[name], certificate.system.goals[0], first.impact
        after = {**first.after, name: first.after[name] * factor}
        jumps = (after[name] - before) / (first.after[name] - before)
        impulses = {**impact.impulses, gap.name: impact.impulses[gap.name] * jumps}
        impact = replace(impact, impulses=impulses, kinetic_after=impact.kinetic_after * factor**2)
        return replace(certificate, events=[replace(first, after=after, impact=impact), *others])

    return damage


def forgotten(certificate):
    """Leave out every event that changes something, but not what it changes."""
    events = [replace(event, after=None) for event in certificate.events]
    return replace(certificate, events=events)


def kept(name, value):
    def damage(certificate):
        values = {**certificate.values, name: np.full_like(certificate.values[name], value)}
        return replace(certificate, values=values)

    return damage


def held_longer(name):
    """Let a discrete value change one step too late."""

    def damage(certificate):
        row = certificate.values[name].copy()
        change = int(np.flatnonzero(np.diff(row))[0])
        row[change + 1] = row[change]
        return replace(certificate, values={**certificate.values, name: row})

    return damage


def late_clock(by):
    def damage(certificate):
        return replace(certificate, starts=certificate.starts + by)

    return damage


def parameter(name, value):
    def damage(certificate):
        return replace(certificate, parameters={**certificate.parameters, name: value})

    return damage


def slower(factor):
    def damage(certificate):
        return replace(certificate, lengths=certificate.lengths * factor)

    return damage


def creeping(speed):
    """Let a body creep while friction holds it, as its velocity says."""

    def damage(certificate):
        still = np.abs(certificate.columns["x_dot"]) < 1e-12
        moved = {
            "x": certificate.columns["x"] + np.where(still, speed * certificate.times, 0.0),
            "x_dot": certificate.columns["x_dot"] + speed * still,
        }
        return replace(certificate, columns={**certificate.columns, **moved})

    return damage


def another_piece(certificate):
    name = next(name for name in certificate.values if name.endswith("_1"))
    values = {**certificate.values, name: np.roll(certificate.values[name], 1)}
    return replace(certificate, values=values)


def another_start(name, value):
    def damage(certificate):
        return replace(certificate, given={**certificate.given, name: value})

    return damage


def without_step(certificate):
    """Leave out a step in the middle and let time go on as if there were none."""
    kept = np.arange(len(certificate.starts)) != len(certificate.starts) // 2
    lengths = certificate.lengths[kept]
    starts = certificate.starts[0] + np.append(0.0, np.cumsum(lengths[:-1]))
    return replace(
        certificate,
        starts=starts,
        lengths=lengths,
        columns={name: rows[kept] for name, rows in certificate.columns.items()},
        values={name: row[kept] for name, row in certificate.values.items()},
    )
